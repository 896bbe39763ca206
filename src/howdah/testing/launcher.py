"""The process that forks the servers of a MiniCluster.

Starting Python and importing a server takes a quarter of a second of CPU. This
process does it once; a fork then is a server at once.

It reads requests, a JSON object a line, from stdin, and writes events to stdout:

    -> {"number": 1, "arguments": ["datanode", …], "log": "/…/datanode0.log"}
    <- {"started": 1, "pid": 4711}
    <- {"ended": 4711, "status": -9}

When stdin ends, for the process which has the clusters is done or has died, all
servers that are left are killed. When the launcher itself dies,
the kernel kills them (Linux; elsewhere they stay).

It has one thread, or forking would not be safe.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import select
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

_PRELOADED = (
    "howdah.cli.namenode",
    "howdah.cli.servers",
    "howdah.namenode.server.process.server",
    "howdah.datanode.server",
    "howdah.failover.server",
    "howdah.journalnode.server",
)
_PR_SET_PDEATHSIG = 1


class Launcher:
    def __init__(self, requests: int, events: int) -> None:
        self._requests = requests
        self._events = events
        self._running: set[int] = set()
        self._wakeup, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._libc = ctypes.CDLL(None) if sys.platform == "linux" else None

    def run(self) -> None:
        """Serve requests until they end; then end the servers."""
        unread = b""
        try:
            while True:
                ready, _, _ = select.select([self._requests, self._wakeup], [], [])
                if self._wakeup in ready:
                    os.read(self._wakeup, 4096)
                    self._reap()
                if self._requests in ready:
                    received = os.read(self._requests, 65536)
                    if not received:
                        return
                    *lines, unread = (unread + received).split(b"\n")
                    for line in lines:
                        request = json.loads(line)
                        self._start(request["number"], request["arguments"], request["log"])
        finally:
            self._end_all()

    def _start(self, number: int, arguments: Sequence[str], log: str) -> None:
        launcher = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._become_server(launcher, arguments, log)
        self._running.add(pid)
        self._send_event({"started": number, "pid": pid})

    def _become_server(self, launcher: int, arguments: Sequence[str], log: str) -> NoReturn:
        status = 1
        try:
            os.setsid()
            self._die_with(launcher)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            nothing = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nothing, 0)
            os.dup2(output, 1)
            os.dup2(output, 2)
            for ours in (self._events, self._wakeup, self._wake, output, nothing):
                os.close(ours)
            from howdah.cli.main import main
            from howdah.testing import faults, storage_faults

            armed = faults.fault_directory(Path(log).parent.parent)
            if armed.is_dir():
                faults.install(armed, Path(log).stem)
                storage_faults.install(armed, Path(log).stem)
            status = main(arguments)
        except SystemExit as exit:
            status = exit.code if isinstance(exit.code, int) else 1
        except BaseException:  # noqa: BLE001 - nothing may get past: this is a fork
            traceback.print_exc()
        finally:
            with contextlib.suppress(OSError, ValueError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(status & 0xFF)

    def _die_with(self, launcher: int) -> None:
        if self._libc is None:
            return
        self._libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != launcher:
            os._exit(1)

    def _reap(self) -> None:
        for pid in sorted(self._running):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                self._running.discard(pid)
                # What the server itself had started ends with it.
                _kill_group(pid)
                self._send_event({"ended": pid, "status": os.waitstatus_to_exitcode(status)})

    def _end_all(self) -> None:
        for pid in self._running:
            _kill_group(pid)
            # A server that was forked a moment ago may not lead its group yet.
            os.kill(pid, signal.SIGKILL)
        for pid in self._running:
            os.waitpid(pid, 0)

    def _send_event(self, event: dict[str, object]) -> None:
        # Where nobody reads any more, stdin has ended as well.
        with contextlib.suppress(BrokenPipeError):
            os.write(self._events, json.dumps(event).encode() + b"\n")


def _kill_group(pid: int) -> None:
    # Some systems say EPERM where all that is left of a group is a dead leader.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def main() -> None:
    # Events go where stdout went; stdout itself joins stderr, so that no stray
    # print of a library can be taken for an event.
    events = os.dup(1)
    os.dup2(2, 1)
    launcher = Launcher(0, events)
    for module in _PRELOADED:
        importlib.import_module(module)
    gc.collect()
    # What is here now is shared by all servers: the collector shall not touch,
    # and so copy, their pages.
    gc.freeze()
    launcher.run()


if __name__ == "__main__":
    main()
