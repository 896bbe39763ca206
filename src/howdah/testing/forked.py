"""Servers that a launcher forks, for clusters that live as long as a test.

`howdah.testing.launcher` is the program that has imported everything already; `Forked`
is our side of it, a `Spawner` like the one of `howdah up`.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import math
import os
import select
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from howdah.local.servers import ServerFailed, environment, tail


class Forked:
    """Servers forked by a launcher, which ends them when we are gone.

    Clusters share a launcher (`shared`): the second one in a test run starts at
    once, as everything is imported already.
    """

    _shared: ClassVar[dict[tuple[int, frozenset[tuple[str, str]]], Forked]] = {}
    _shared_lock: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self) -> None:
        descriptor, path = tempfile.mkstemp(prefix="howdah-launcher-", suffix=".log")
        self._log = Path(path)
        with open(descriptor, "ab") as output:
            self._launcher = subprocess.Popen(
                [sys.executable, "-P", "-m", "howdah.testing.launcher"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                env=environment(),
                start_new_session=True,
            )
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._unread = b""
        self._requests = 0
        self._started: dict[int, int] = {}
        self._ended: dict[int, int] = {}

    @classmethod
    def shared(cls) -> Forked:
        """The launcher of this process and environment; it ends with the process."""
        # pytest tells every test's name in the environment.
        env = frozenset(i for i in environment().items() if i[0] != "PYTEST_CURRENT_TEST")
        with cls._shared_lock:
            launcher = cls._shared.get((os.getpid(), env))
            if launcher is None or launcher._launcher.poll() is not None:
                launcher = cls._shared[os.getpid(), env] = cls()
                atexit.register(launcher.close)
            return launcher

    def start(self, name: str, arguments: Sequence[str], log: Path) -> int:
        assert self._launcher.stdin is not None
        with self._lock:
            self._requests += 1
            number = self._requests
            request = {"number": number, "arguments": list(arguments), "log": str(log)}
            try:
                self._launcher.stdin.write(json.dumps(request).encode() + b"\n")
                self._launcher.stdin.flush()
            except BrokenPipeError:
                raise self._ended_error() from None
            while number not in self._started:
                self._read(None)
            return self._started.pop(number)

    def exit_status(self, pid: int) -> int | None:
        with self._lock:
            self._read(0)
            return self._ended.get(pid)

    def close(self) -> None:
        """End the launcher, and with it every server that still runs."""
        if os.getpid() != self._owner:
            return  # a fork has our handlers of exit, but the launcher isn't its own
        assert self._launcher.stdin is not None
        assert self._launcher.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._launcher.stdin.close()
        try:
            self._launcher.wait(10)
        except subprocess.TimeoutExpired:
            self._launcher.kill()
            self._launcher.wait()
        self._launcher.stdout.close()
        self._log.unlink(missing_ok=True)

    def _read(self, timeout_s: float | None) -> None:
        assert self._launcher.stdout is not None
        if self._launcher.stdout.closed:
            raise self._ended_error()
        descriptor = self._launcher.stdout.fileno()
        # Not by select: a test may have more files open than that takes.
        arrival = select.poll()
        arrival.register(descriptor, select.POLLIN)
        if not arrival.poll(None if timeout_s is None else math.ceil(timeout_s * 1000)):
            return
        received = os.read(descriptor, 65536)
        if not received:
            raise self._ended_error()
        *lines, self._unread = (self._unread + received).split(b"\n")
        for line in lines:
            event = json.loads(line)
            if "started" in event:
                self._started[event["started"]] = event["pid"]
                self._ended.pop(event["pid"], None)  # the number of one that was before
            else:
                self._ended[event["ended"]] = event["status"]

    def _ended_error(self) -> ServerFailed:
        return ServerFailed(f"the launcher of the cluster has ended\n{tail(self._log)}")
