"""A lease on a target whose filesystem has no locks, such as an object store (shell).

It is a small file beside the state file, which its holder writes again while it works. A mirror
that finds the lease of another one that was written lately is refused. Without locks this is no
mutex: two mirrors that begin within the same moment may both find none, so each waits a little
after it has written, and goes on only if the lease is still its own.

Clocks of machines differ. So a lease that seems to be old is watched until its holder, if it
lived, had renewed it. And a holder that could not renew its lease for as long as it counts ends
its copies, which would go on beside those of the next one.
"""

from __future__ import annotations

import json
import logging
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Final

from howdah import errors
from howdah.copy.locks.files import TreeLocked
from howdah.copy.locks.holders import Holder
from howdah.fs.api import FileSystem

_log = logging.getLogger(__name__)

LASTS_S: Final = 60.0
RENEWED_S: Final = 15.0
SETTLES_S: Final = 2.0
SUFFIX: Final = ".lease"


@dataclass(frozen=True, slots=True)
class Lease:
    """Who has a target, and until when."""

    token: str
    host: str
    pid: int
    until_ms: int


class LeaseLost(errors.HowdahError, OSError):
    """Another mirror has the lease."""


def read_lease(fs: FileSystem, path: str) -> Lease | None:
    """The lease in a file; None if there is none, or what is there is none."""
    try:
        found = Lease(**json.loads(fs.read_bytes(path)))
    except (errors.PathNotFound, errors.ParentNotDirectory):
        return None
    except (ValueError, TypeError):
        return None  # its writer died, or it is of another version
    return found if isinstance(found.until_ms, int) else None


def held_by(fs: FileSystem, path: str) -> str:
    """Who holds a lease now, for people; empty if nobody does."""
    found = read_lease(fs, path)
    if found is None or found.until_ms < _now_ms():
        return ""
    return f"{fs.uri}{path} is held by process {found.pid} of {found.host}"


class HeldLease:
    """A lease that is renewed on a thread until it is released."""

    note: str | None = None

    def __init__(self, fs: FileSystem, path: str) -> None:
        self._fs = fs
        self._path = path
        self._token = uuid.uuid4().hex
        self._me = Holder.this_process("mirror")
        self._stop = threading.Event()
        self._trouble = ""
        self._renewed_s = time.monotonic()
        self._thread = threading.Thread(target=self._renew, name="lease", daemon=True)

    def acquire(self, settles_s: float) -> None:
        """Raises TreeLocked if another mirror has the lease."""
        if said := held_by(self._fs, self._path):
            raise TreeLocked(f"{said}: one mirror at a time changes a target")
        if (old := read_lease(self._fs, self._path)) is not None:
            time.sleep(RENEWED_S + settles_s)
            now = read_lease(self._fs, self._path)
            if now is not None and now != old:
                raise TreeLocked(
                    f"{self._fs.uri}{self._path} is held by process {now.pid} of {now.host}, "
                    "whose clock differs from this machine's: one mirror at a time changes a target"
                )
        self._write()
        time.sleep(settles_s)
        self.check()
        self._thread.start()

    def check(self) -> None:
        """Raises LeaseLost unless the lease is this mirror's."""
        found = read_lease(self._fs, self._path)
        if found is None or found.token != self._token or self._trouble:
            why = self._trouble or "another mirror has it"
            raise LeaseLost(f"the lease {self._fs.uri}{self._path} was lost: {why}")

    def watch(self) -> None:
        """Raises LeaseLost if another mirror has the lease, or may have by now. Asks nobody."""
        why = self._trouble
        if not why and time.monotonic() - self._renewed_s > LASTS_S:
            why = f"it could not be renewed for {LASTS_S:.0f} s"
        if why:
            raise LeaseLost(f"the lease {self._fs.uri}{self._path} was lost: {why}")

    def release(self) -> None:
        """End renewing, and remove the file if it is still this mirror's."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()
        found = read_lease(self._fs, self._path)
        if found is not None and found.token == self._token:
            self._fs.delete(self._path)

    def _write(self) -> None:
        begun_s = time.monotonic()
        until_ms = _now_ms() + round(LASTS_S * 1000)
        lease = Lease(self._token, self._me.host, self._me.pid, until_ms)
        self._fs.write_bytes(self._path, json.dumps(asdict(lease)).encode() + b"\n")
        self._renewed_s = begun_s

    def _renew(self) -> None:
        while not self._stop.wait(RENEWED_S):
            try:
                self.check()
                self._write()
            except LeaseLost as error:
                self._trouble = str(error)
                return
            except (errors.HowdahError, OSError) as error:
                _log.warning("the lease %s could not be renewed: %s", self._path, error)


@contextmanager
def leased(fs: FileSystem, path: str, *, settles_s: float = SETTLES_S) -> Iterator[HeldLease]:
    """Hold a lease."""
    lease = HeldLease(fs, path)
    try:
        lease.acquire(settles_s)
        yield lease
    finally:
        lease.release()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
