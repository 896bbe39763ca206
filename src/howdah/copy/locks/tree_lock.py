"""The lock of a target tree: every job that changes the tree takes it.

1. The lock of `/a/b` is the file `/a/.howdah.lock.b`, held open for writing while the job runs.
   On HDFS (ours or Apache's) the lease on that file is the mutex: a second `create` finds the
   file, and an `append` to it is refused while the writer lives. The lease dies with its holder:
   after the soft limit of a minute the namenode gives the file to the next job. On the holder's
   own machine the next job need not wait (`locks.holders`). On `file://` the mutex is `flock` on
   the same file.
2. A job that may not write to `/a` takes `/a/b/.howdah.lock` instead. Each job first takes a
   lock where it may, then looks for others: at the second of the two places, and at both places
   of all directories above. If two jobs come at the same time, at least one sees the other.
3. A job does not look for locks below its own tree in advance; when it comes across one,
   `refuse_if_held` checks it.
4. The file is removed while it is open, so no other job can take a lock that is being released.
5. A holder that was cut off for so long that its lease was recovered finds out by `check`. It
   calls `check` before every step that cannot be undone.
6. Filesystems without leases and file locks (object stores and others of fsspec) have no lock,
   and `note` says so.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.copy.locks.files import HeldLock, LockMechanism, TreeLocked, mechanism_of
from howdah.copy.locks.holders import Holder
from howdah.fs import paths

if TYPE_CHECKING:
    from howdah.fs.api import FileSystem

PREFIX: Final = ".howdah.lock"
WAIT_S: Final = 75.0
"""For a holder that may be dead: the soft limit of a lease, and the time to recover the file."""
POLL_S: Final = 1.0
_LONGEST_NAME_BYTES: Final = 200


class LockLost(errors.HowdahError, OSError):
    """Another job has taken the lock."""


def is_lock(name: str) -> bool:
    """Whether a file of this name is the lock of a tree."""
    return name == PREFIX or name.startswith(f"{PREFIX}.")


def places_of(tree: str) -> tuple[str, ...]:
    """The two places of a tree's lock: beside the tree, then in it."""
    inside = paths.join(tree, PREFIX)
    parent = paths.parent_of(tree)
    if parent is None:
        return (inside,)
    name = paths.name_of(tree)
    encoded = name.encode("utf-8", "surrogateescape")
    if len(encoded) > _LONGEST_NAME_BYTES:
        name = hashlib.sha256(encoded).hexdigest()
    return (paths.join(parent, f"{PREFIX}.{name}"), inside)


class TreeLock:
    """A lock that is held; or none, and `note` says why."""

    def __init__(self, tree: str, taken: HeldLock | None, note: str | None = None) -> None:
        self.tree = tree
        self.note = note
        self._taken = taken

    @property
    def path(self) -> str | None:
        """The lock file's path; None without a lock."""
        return None if self._taken is None else self._taken.path

    @property
    def is_inside(self) -> bool:
        """Whether the file is in the tree itself; its removal then changes the tree's times."""
        return self._taken is not None and paths.parent_of(self._taken.path) == self.tree

    def check(self) -> None:
        """Raises `LockLost` if another job has the tree now."""
        if self._taken is not None and not self._taken.is_held():
            raise LockLost(
                f"the lock of {self.tree} ({self._taken.path}) was lost: this job was cut off "
                f"for so long that {self._taken.holder() or 'another job'} could take it. This job "
                "ends here; what it has done stays"
            )

    def release(self) -> None:
        """Release the lock; only the first call does anything."""
        taken, self._taken = self._taken, None
        if taken is not None:
            taken.release()


NO_LOCK: Final = TreeLock("", None)
"""The lock of a job that changes nothing."""


@contextmanager
def locked(
    fs: FileSystem,
    tree: str,
    job: str,
    *,
    wait_s: float = WAIT_S,
    tell: Callable[[str], None] | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[TreeLock]:
    """Hold the lock of a tree. `tell` gets a line if the job has to wait.

    Raises `TreeLocked`: at once if the holder is known to run, else after `wait_s`.
    """
    lock = _Taking(fs, tree, job, wait_s, tell, clock, sleep).acquire()
    try:
        yield lock
    except BaseException as error:
        try:
            lock.release()
        except (errors.HowdahError, OSError) as failure:
            error.add_note(f"the lock of {tree} could not be released: {failure}")
        raise
    lock.release()


def refuse_if_held(fs: FileSystem, path: str) -> None:
    """Check a lock file found in a tree. Raises `TreeLocked` if a job holds it."""
    mechanism = mechanism_of(fs)
    holder = None if mechanism is None else mechanism.holder(path)
    if holder is not None:
        raise TreeLocked(_holder_text(fs, path, holder))


def _holder_text(fs: FileSystem, path: str, holder: Holder) -> str:
    return (
        f"{fs.uri}{path} is held by {holder}: one job at a time changes a tree. "
        "Wait for its end, or end it"
    )


class _Taking:
    """One attempt to get the lock."""

    def __init__(
        self,
        fs: FileSystem,
        tree: str,
        job: str,
        wait_s: float,
        tell: Callable[[str], None] | None,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        self._fs = fs
        self._tree = tree
        self._note = Holder.this_process(job, getattr(fs, "user", None)).line()
        self._wait_s = wait_s
        self._tell = tell
        self._clock = clock
        self._sleep = sleep

    def acquire(self) -> TreeLock:
        mechanism = mechanism_of(self._fs)
        if mechanism is None:
            why = f"{self._fs.uri} has no leases and no file locks"
            return TreeLock(
                self._tree, None, f"{why}: a second job could change {self._tree} at the same time"
            )
        deadline_s = self._clock() + self._wait_s
        is_told = False
        while True:
            taken, blocker = self._once(mechanism)
            if taken is not None:
                return TreeLock(self._tree, taken)
            if blocker is None:
                continue  # it was released meanwhile
            where, holder = blocker
            if holder.is_of_this_machine or self._clock() >= deadline_s:
                raise TreeLocked(_holder_text(self._fs, where, holder))
            if self._tell is not None and not is_told:
                is_told = True
                self._tell(
                    f"{self._fs.uri}{where} is held by {holder}; waiting up to "
                    f"{self._wait_s:.0f} s, as that job may be dead"
                )
            self._sleep(POLL_S)

    def _once(self, mechanism: LockMechanism) -> tuple[HeldLock | None, tuple[str, Holder] | None]:
        """The lock; or the lock file and the holder that stand against it."""
        taken, where = self._first_possible(mechanism)
        if taken is None:
            holder = mechanism.holder(where)
            return None, None if holder is None else (where, holder)
        try:
            for other in self._others(where):
                holder = mechanism.holder(other)
                if holder is not None:
                    taken.release()
                    return None, (other, holder)
        except BaseException:
            taken.release()
            raise
        return taken, None

    def _first_possible(self, mechanism: LockMechanism) -> tuple[HeldLock | None, str]:
        *tried, last = places_of(self._tree)
        for place in tried:
            with suppress(errors.AccessDenied, errors.MaxDirectoryItemsExceeded):
                return mechanism.acquire(place, self._note), place
        return mechanism.acquire(last, self._note), last

    def _others(self, own: str) -> Iterator[str]:
        tree: str | None = self._tree
        while tree is not None:
            yield from (place for place in places_of(tree) if place != own)
            tree = paths.parent_of(tree)
