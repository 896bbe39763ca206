"""Fencing: the methods run, in order, until one succeeds (shell).

`fencing` says which methods there are. A method that fails says why, and the next is tried.
sshfence uses the system's ssh: fuser kills what listens at the namenode's port; where fuser
finds nothing, nc has to say that nobody listens. Whatever else happens is no success. A command
that takes too long is killed with all that it started, and has failed: Hadoop waits for ever.
"""

from __future__ import annotations

import getpass
import logging
import math
import os
import shlex
import signal
import subprocess
import threading
from collections.abc import Sequence
from typing import IO, Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.failover.state.fencing import Method, ShellFence, SshFence, environment, parse_methods
from howdah.failover.state.service import Target

log = logging.getLogger(__name__)

_MAX_LINE_CHARACTERS: Final = 1000
_SSH_FAILED: Final = 255
_LAST_WORDS_S: Final = 1.0


class Fencer:
    """Runs the fencing methods of a configuration."""

    def __init__(self, conf: Configuration, *, ssh_program: str = "ssh") -> None:
        self._conf = conf
        self._ssh_program = ssh_program

    def fence(self, target: Target) -> None:
        """Stop a namenode that may still be active.

        Raises BadFencingConfiguration where no method is set, ServiceFailed where none
        succeeded, with the reason of each.
        """
        methods = parse_methods(target.fencing)
        failures = []
        for number, method in enumerate(methods, 1):
            log.info("fencing %s by method %d of %d: %s", target, number, len(methods), method)
            failure = self._try(method, target)
            if failure is None:
                log.info("%s is fenced by %s", target, method)
                return
            log.warning("%s did not fence %s: %s", method, target, failure)
            failures.append(f"{method}: {failure}")
        raise errors.ServiceFailed(
            f"Unable to fence {target}, which may still be active: {'; '.join(failures)}. "
            "No other namenode becomes active until it is fenced. If you are certain that it is "
            "down, let a method succeed"
        )

    def _try(self, method: Method, target: Target) -> str | None:
        """Why the method failed; None if the namenode is fenced."""
        if isinstance(method, ShellFence):
            code = self._run(["bash", "-e", "-c", method.command], target)
            return None if code == 0 else _exit_text(code)
        return self._by_ssh(method, target)

    def _by_ssh(self, method: SshFence, target: Target) -> str | None:
        host, port = target.address
        log_in = self._ssh(method, host)
        kill = f"PATH=$PATH:/sbin:/usr/sbin fuser -v -k -n tcp {port}"
        code = self._run([*log_in, kill], target)
        if code == 0:
            return None
        if code != 1:
            problem = "no connection" if code == _SSH_FAILED else "fuser failed"
            return f"{problem} ({_exit_text(code)})"
        # Nothing was found, or nothing that this user may see.
        code = self._run([*log_in, f"nc -z {shlex.quote(host)} {port}"], target)
        if code == 1:
            log.info("nobody listens at %s:%d", host, port)
            return None
        if code == 0:
            return "it is running but we cannot kill it"
        return f"whether it runs is not known: nc failed ({_exit_text(code)})"

    def _ssh(self, method: SshFence, host: str) -> list[str]:
        timeout_s = max(1, math.ceil(self._conf.get(keys.DFS_HA_FENCING_SSH_CONNECT_TIMEOUT)))
        words = [self._ssh_program, "-T", "-p", str(method.port)]
        words += ["-l", method.user or getpass.getuser()]
        for option in (
            "BatchMode=yes",
            "StrictHostKeyChecking=no",
            f"ConnectTimeout={timeout_s}",
            "ServerAliveInterval=5",
            "ServerAliveCountMax=3",
        ):
            words += ["-o", option]
        for file in self._conf.get(keys.DFS_HA_FENCING_SSH_PRIVATE_KEY_FILES):
            words += ["-i", file]
        return [*words, "--", host]

    def _run(self, command: Sequence[str], target: Target) -> int | str:
        """The exit code, or why there is none. What the command says goes to the log."""
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=os.environ | environment(self._expanded(), target),
                start_new_session=True,
            )
        except OSError as error:
            return f"{command[0]} cannot be run: {error}"
        assert process.stdout is not None
        assert process.stderr is not None
        readers = [
            threading.Thread(target=_log_lines, args=(process.pid, name, stream), daemon=True)
            for name, stream in (("stdout", process.stdout), ("stderr", process.stderr))
        ]
        try:
            for reader in readers:
                reader.start()
        except RuntimeError as error:
            # Nobody would read what it says: it would stop in the middle when a pipe is full.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return f"{command[0]} cannot be run: there is no thread for what it says: {error}"
        limit_s = self._conf.get(keys.HOWDAH_HA_FENCING_TIMEOUT_MS)
        try:
            code: int | str = process.wait(limit_s or None)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            code = f"it did not end within {limit_s:g} s"
        for reader in readers:
            # What it left running may keep these open; who reads closes them.
            reader.join(_LAST_WORDS_S)
        return code

    def _expanded(self) -> list[tuple[str, str]]:
        return [(name, self._conf.raw(name) or "") for name, _ in self._conf.items()]


def _exit_text(code: int | str) -> str:
    """The end of a command, for the log."""
    return f"exit code {code}" if isinstance(code, int) else code


def _log_lines(pid: int, name: str, stream: IO[bytes]) -> None:
    with stream:
        for line in stream:
            text = line.decode(errors="replace").rstrip()
            log.info("[fencing command %d] %s: %s", pid, name, text[:_MAX_LINE_CHARACTERS])
