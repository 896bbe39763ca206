"""A fault at one change of metadata after the other, within one process.

    gate = Gate()
    with through(gate):
        history()               # takes down every site in gate.sites
    for at in range(len(gate.sites)):
        with through(Gate(Fault.EIO, at)):
            history()           # has to cope, or to say what is wrong

A site is a call of `howdah.runtime.disk`: everything that changes a file of a metadata
directory goes through it.
"""

from __future__ import annotations

import contextlib
import enum
import errno
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from howdah.runtime import disk
from howdah.runtime.disk import Operation


class Fault(enum.Enum):
    """What happens at a site."""

    EIO = errno.EIO
    ENOSPC = errno.ENOSPC
    SHORT = "half of it is written, and then the disk is full"
    CRASH_BEFORE = "the process ends before it"
    CRASH_AFTER = "the process ends behind it"


class Crash(BaseException):
    """The process has ended; no handler of the product's may be of use."""


@dataclass
class Gate:
    """Takes down all sites; at one of them, by number, a fault happens."""

    fault: Fault | None = None
    at: int = -1
    sites: list[tuple[Operation, Path]] = field(default_factory=list)
    hit: Path | None = None
    dead: threading.Event = field(default_factory=threading.Event)

    def enter(self, operation: Operation, path: Path) -> None:
        if self.dead.is_set():
            raise Crash
        self.sites.append((operation, path))
        if len(self.sites) - 1 != self.at:
            return
        self.hit = path
        match self.fault:
            case Fault.EIO | Fault.ENOSPC:
                raise OSError(self.fault.value, os.strerror(self.fault.value))
            case Fault.CRASH_BEFORE:
                self._die()

    def leave(self, operation: Operation, path: Path) -> None:
        if len(self.sites) - 1 == self.at:
            if self.fault is Fault.CRASH_AFTER:
                self._die()
            if self.fault is Fault.SHORT:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def room(self, path: Path, length_bytes: int) -> int:
        if self.fault is Fault.SHORT and len(self.sites) == self.at:
            return max(1, length_bytes // 2)
        return length_bytes

    def _die(self) -> None:
        self.dead.set()
        raise Crash


@contextlib.contextmanager
def through(gate: Gate) -> Iterator[None]:
    """Have all changes of metadata pass `gate`."""
    disk.gate = gate
    try:
        yield
    finally:
        disk.gate = None
