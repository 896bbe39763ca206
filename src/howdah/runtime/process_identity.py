"""Which process one is, how many files it may open, when it is to end, and when another one on
this machine has died (shell; Linux).

A refused connection or a missing answer may have many reasons. That a process has died is
certain only from its kernel: a process is named by its id, the moment of its start and the boot
of the machine, and once such a process was seen to live, a descriptor of it tells its death at
once. Where the kernel does not say, as in another container, there is no such certainty.
"""

from __future__ import annotations

import os
import queue
import select
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_START_FIELD: Final = 22
"""Of /proc/PID/stat, counted from 1."""
MOST_DESCRIPTORS: Final = 1 << 20
"""More are never asked for, whatever the hard limit is: programs that a server starts may go
through all numbers up to the limit to close them, and containers grant a thousand times as many.
Linux grants no more than these by default (`fs.nr_open`)."""


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """No other process, before or after, has the same."""

    pid: int
    start_ticks: int
    boot_id: str


def identity_of(pid: int) -> ProcessIdentity | None:
    """Of a process that runs now; None if it does not, or the system does not say."""
    try:
        stat = (_PROC / str(pid) / "stat").read_bytes()
        boot_id = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        # The name of the program, in parentheses, may have anything in it.
        fields = stat[stat.rindex(b")") + 2 :].split()
        return ProcessIdentity(pid, int(fields[_START_FIELD - 3]), boot_id)
    except (OSError, ValueError, IndexError):
        return None


def this_process() -> ProcessIdentity | None:
    return identity_of(os.getpid())


def state_and_start(pid: int) -> tuple[str, str] | None:
    """A letter for what the process does, and when it started in the system's words."""
    if sys.platform == "linux":
        fields = stat_fields(Path(f"/proc/{pid}"))
        if not fields:
            return None
        state, threads, since = fields[0], fields[17], fields[19]
        # The first thread may have ended before the others, which hold files and locks.
        return "D" if state == "Z" and threads != "1" else state, since
    import subprocess  # loads slowly, and Linux does without

    answer = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout.strip()
    state, _, since = answer.partition(" ")
    return (state[0], since.strip()) if answer else None


def start_time(pid: int) -> str | None:
    """Return when a running process started, in whatever form the system has; None: not running.

    A process that has ended and that nobody waited for is not running.
    """
    process = state_and_start(pid)
    return None if process is None or process[0] in "ZX" else process[1]


def stat_fields(task: Path) -> list[str]:
    """State, parent, group and what follows in a process's or thread's `stat`; [] if it is gone."""
    try:
        # The second field is the name in brackets and may have blanks in it.
        return (task / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def descriptors_after_raise() -> int:
    """How many files a server that is started from here may open, once it has raised its limit."""
    import resource  # clients do without

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(_number(soft), min(_number(hard), MOST_DESCRIPTORS))


def raise_descriptor_limit() -> tuple[int, int]:
    """Let this process, and those that it starts, open as many files as it may: the soft limit
    becomes the hard one, or `MOST_DESCRIPTORS` if that is less. How many it could open before, and
    can now. A JVM does so at its start.

    Raises OSError or ValueError where the system does not let it.
    """
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = descriptors_after_raise()
    if _number(soft) < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return _number(soft), wanted


def _number(limit: int) -> int:
    import resource

    return sys.maxsize if limit == resource.RLIM_INFINITY else limit


class LivingProcess:
    """A process of this machine that was seen to live."""

    def __init__(self, descriptor: int) -> None:
        """The descriptor belongs to it from here on."""
        self._descriptor = descriptor

    @classmethod
    def find(cls, identity: ProcessIdentity) -> LivingProcess | None:
        """None if it does not live, or nothing is known of it here."""
        try:
            descriptor = os.pidfd_open(identity.pid)
        except (OSError, OverflowError, AttributeError):
            return None
        # Looked at in this order, the descriptor is of that very process.
        if identity_of(identity.pid) != identity:
            os.close(descriptor)
            return None
        return cls(descriptor)

    def wait_for_death(self, timeout_s: float | None = None) -> bool:
        """Whether it has died, at most `timeout_s` later."""
        died = select.poll()
        died.register(self._descriptor, select.POLLIN)
        return bool(died.poll(None if timeout_s is None else timeout_s * 1000))

    def close(self) -> None:
        os.close(self._descriptor)


class AskedToEnd(threading.Event):
    """An event that a signal's handler may set, while the same thread waits for it.

    Python's own has a lock, which its `wait` and its `set` take. A handler runs in the main
    thread, between any two steps: in `wait` it finds the lock taken, by its own thread, and waits
    for ever.
    """

    def __init__(self) -> None:
        super().__init__()
        # Of all queues the one that may be put to in the midst of anything.
        self._news: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._is_asked = False

    def set(self) -> None:
        self._is_asked = True
        self._news.put(None)

    def is_set(self) -> bool:
        return self._is_asked

    def wait(self, timeout: float | None = None) -> bool:
        if self._is_asked:
            return True
        try:
            self._news.get(timeout=None if timeout is None else max(timeout, 0))
        except queue.Empty:
            return self._is_asked
        # Others may wait as well.
        self._news.put(None)
        return True

    def clear(self) -> None:
        raise NotImplementedError("who was asked to end stays asked")
