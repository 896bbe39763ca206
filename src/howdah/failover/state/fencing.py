"""Fencing methods as they are configured (pure).

Mirrors how Hadoop's NodeFencer, SshFenceByTcpPort and ShellCommandFencer read
`dfs.ha.fencing.methods`: a method a line, tried in this order, `#` begins a comment.

    sshfence                     kill what listens at the namenode's port, through ssh
    sshfence(user)  sshfence(user:port)  sshfence(:port)
    shell(COMMAND)               COMMAND succeeds: the namenode is fenced

A command sees the configuration in its environment, `.` in names turned into `_`, and the
namenode to fence as `target_host`, `target_port`, `target_address`, `target_nameserviceid` and
`target_namenodeid`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from howdah import errors
from howdah.failover.state.service import Target

_LINES: Final = re.compile(r"\s*\n\s*")
_METHOD: Final = re.compile(r"([a-zA-Z0-9.$]+)(?:\((.+)\))?")
_LOGIN: Final = re.compile(r"([^:]+)?(?::(\d+))?", re.ASCII)
DEFAULT_SSH_PORT: Final = 22
_IDLE: Final = ("true", "/bin/true", "/usr/bin/true", ":", "exit 0")

_SHELL: Final = ("shell", "org.apache.hadoop.ha.ShellCommandFencer")
_SSH: Final = ("sshfence", "org.apache.hadoop.ha.SshFenceByTcpPort")


@dataclass(frozen=True, slots=True)
class ShellFence:
    """Run a command with bash."""

    command: str

    def __str__(self) -> str:
        return f"shell({self.command})"


@dataclass(frozen=True, slots=True)
class SshFence:
    """Log in, and kill what listens at the namenode's port; no user: who runs the controller."""

    user: str | None = None
    port: int = DEFAULT_SSH_PORT

    def __str__(self) -> str:
        return f"sshfence({self.user or ''}:{self.port})"


Method = ShellFence | SshFence


def parse_methods(text: str | None) -> tuple[Method, ...]:
    """The methods, in order. Raises BadFencingConfiguration for none, and for what is none."""
    lines = (line.partition("#")[0].strip() for line in _LINES.split(text or ""))
    methods = tuple(_parse(line) for line in lines if line)
    if not methods:
        raise errors.BadFencingConfiguration(
            "no fencing method is configured: set dfs.ha.fencing.methods. Where journal nodes keep "
            "the log, they admit one writer only, and shell(/bin/true) is enough"
        )
    return methods


def does_nothing(methods: Iterable[Method]) -> bool:
    """Whether the first method succeeds without doing anything: enough for a log on journal
    nodes, and no protection for one in a shared directory."""
    first = next(iter(methods))
    return isinstance(first, ShellFence) and first.command.strip() in _IDLE


def _parse(line: str) -> Method:
    match = _METHOD.fullmatch(line)
    if match is None:
        raise errors.BadFencingConfiguration(f"Unable to parse line: '{line}'")
    name, argument = match.groups()
    if name in _SHELL:
        if argument is None:
            raise errors.BadFencingConfiguration("No argument passed to 'shell' fencing method")
        return ShellFence(argument)
    if name in _SSH:
        return _login(argument or "")
    raise errors.BadFencingConfiguration(
        f"Could not find configured fencing method {name}: there are sshfence and shell(COMMAND)"
    )


def _login(argument: str) -> SshFence:
    match = _LOGIN.fullmatch(argument)
    user, port = match.groups() if match else (None, None)
    if match is None or (user or "").startswith("-") or (port and int(port) > 65535):
        raise errors.BadFencingConfiguration(f"Unable to parse user and SSH port: {argument}")
    return SshFence(user, int(port) if port else DEFAULT_SSH_PORT)


def environment(settings: Iterable[tuple[str, str]], target: Target) -> dict[str, str]:
    """Return what a command has in its environment, beside that of the controller."""
    variables = {
        name.replace(".", "_"): value
        for name, value in settings
        if "=" not in name and "\0" not in name + value
    }
    host, port = target.address
    variables |= {
        "target_host": host,
        "target_port": str(port),
        "target_address": f"{host}:{port}",
        "target_nameserviceid": target.nameservice,
        "target_namenodeid": target.namenode,
    }
    return variables
