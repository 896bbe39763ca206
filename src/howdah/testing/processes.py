"""Server processes: starting them, watching them, telling one from another.

Two ways to start a server, with one face (`Spawner`):
* `Forked`: a launcher process that has imported everything already and forks, for
  clusters that live as long as a test (see `launcher`);
* `Detached`: a program of its own that outlives us, for `howdah up`.

Every server leads a process group, so that what it started itself is paused and
killed with it.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

import howdah
from howdah.errors import HowdahError
from howdah.local.processes import start_time, state_and_start

POLL_S = 0.002


class ServerFailed(HowdahError, RuntimeError):
    """A server of a local cluster did not do what it should; the message has its log's end."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server as its cluster sees it; `addresses` are known once it can serve."""

    name: str
    role: str
    pid: int | None
    addresses: dict[str, str]
    log: Path

    @property
    def alive(self) -> bool:
        return self.pid is not None and is_running(self.pid)

    @property
    def paused(self) -> bool:
        return self.pid is not None and is_paused(self.pid)


class Spawner(Protocol):
    """Starts servers and knows which of those it started have ended."""

    def start(self, name: str, arguments: Sequence[str], log: Path) -> int: ...
    def exit_status(self, pid: int) -> int | None: ...
    def close(self) -> None: ...


def environment() -> dict[str, str]:
    """Ours, without a configuration that isn't the cluster's, and able to import howdah."""
    found = dict(os.environ)
    found.pop("HADOOP_CONF_DIR", None)
    root = str(Path(howdah.__file__).parent.parent)
    paths = [path for path in found.get("PYTHONPATH", "").split(os.pathsep) if path]
    if root not in paths:
        found["PYTHONPATH"] = os.pathsep.join([root, *paths])
    return found


class Detached:
    """Each server a program of its own, in a session of its own."""

    def __init__(self) -> None:
        self._started: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, name: str, arguments: Sequence[str], log: Path) -> int:
        with log.open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "howdah", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment(),
                start_new_session=True,
            )
        self._started[process.pid] = process
        return process.pid

    def exit_status(self, pid: int) -> int | None:
        process = self._started.get(pid)
        return process.poll() if process else None

    def close(self) -> None:
        """Let go of the servers: they go on."""
        for process in self._started.values():
            # Else Python warns of a process that nobody waited for.
            process.returncode = process.poll() or 0
        self._started.clear()


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
            found = cls._shared.get((os.getpid(), env))
            if found is None or found._launcher.poll() is not None:
                found = cls._shared[os.getpid(), env] = cls()
                atexit.register(found.close)
            return found

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
                raise self._gone() from None
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
            raise self._gone()
        descriptor = self._launcher.stdout.fileno()
        if not select.select([descriptor], [], [], timeout_s)[0]:
            return
        received = os.read(descriptor, 65536)
        if not received:
            raise self._gone()
        *lines, self._unread = (self._unread + received).split(b"\n")
        for line in lines:
            event = json.loads(line)
            if "started" in event:
                self._started[event["started"]] = event["pid"]
                self._ended.pop(event["pid"], None)  # the number of one that was before
            else:
                self._ended[event["ended"]] = event["status"]

    def _gone(self) -> ServerFailed:
        return ServerFailed(f"the launcher of the cluster has ended\n{tail(self._log)}")


# -- any process ---------------------------------------------------------------------


def signal_group(pid: int, number: signal.Signals) -> bool:
    """Send a signal to the group that `pid` leads; False where there is none any more."""
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        return False
    return True


def signal_process(pid: int, number: signal.Signals) -> bool:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def is_paused(pid: int) -> bool:
    found = state_and_start(pid)
    return found is not None and found[0] == "T"


def is_running(pid: int) -> bool:
    return start_time(pid) is not None


def wait_until_ended(pids: Sequence[int], timeout_s: float) -> list[int]:
    """Wait until none of them runs; those that still do when time is up."""
    deadline = time.monotonic() + timeout_s
    left = [pid for pid in pids if is_running(pid)]
    while left and time.monotonic() < deadline:
        time.sleep(POLL_S)
        left = [pid for pid in left if is_running(pid)]
    return left


def tail(log: Path, lines: int = 40) -> str:
    """The end of a log, with its name in front."""
    try:
        text = log.read_text(errors="replace")
    except FileNotFoundError:
        return f"({log} does not exist)"
    return "\n".join([f"--- end of {log}", *text.splitlines()[-lines:]])
