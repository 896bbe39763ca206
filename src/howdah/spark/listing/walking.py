"""Listing source and target side by side, as one task does it.

1. A directory of the source is listed together with the directory of the same place at
   the target, if there is one. Both lists are in the order of their names' bytes, so
   one walk over both pairs them and holds neither in memory.
2. What only the target has becomes a row where that is of use (`-delete`, `-xtrack`).
3. A task goes on with the directories that it finds, breadth first, until it has listed
   as many entries as it may. Those that are left become rows that wait for the next round,
   where they are spread over more tasks.
4. What a filter matches gets no row; what is below it is listed all the same. A filter
   is held against the full URI of a path, of the source and of the target.
5. A source itself has to be there. A directory below it that is gone when its turn comes
   is listed as empty; what the target has in its place is left to the next run, since the
   directory may have been renamed to where nobody has looked yet. One that cannot be
   listed ends the copy, or with `-i` is counted as a failure; Hadoop logs it and goes on.
   Nothing at the target is taken for missing because the source could not be read.
6. A symbolic link to a file is that file; one to a directory cannot be copied.
7. Of a report on snapshots each path is looked at, at the source and at the target. What
   was moved at the target has rows of its own, and is passed over where it is now.
8. Locks and staging directories of jobs are no files of anybody's. A lock that is come
   across at the target, and that somebody holds, ends the copy.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.fs.api import FileSystem
from howdah.fs.status import FileStatus
from howdah.spark.common.failures import (
    FAILURES,
    CopyFailed,
    ReadFailed,
    SourceGone,
    error_name,
    error_text,
)
from howdah.spark.common.filesystems import Place, status_of
from howdah.spark.common.rows import decode, encode
from howdah.spark.common.staging import is_staging
from howdah.spark.listing.entries import (
    WAITING,
    Entry,
    Found,
    Kind,
    Sums,
    batches,
    entries,
    found_of,
)
from howdah.spark.locks.files import TreeLocked
from howdah.spark.locks.tree_lock import is_lock, refuse_if_held

if TYPE_CHECKING:
    import pyarrow as pa

FIRST_ROUND: Final = 10_000
"""Entries that a task lists in the first round before it leaves the rest to others."""


@dataclass(frozen=True, slots=True)
class Walk:
    """What a task needs to know to list; called with the rows to begin with, unless
    these are `roots`."""

    sources: tuple[Place, ...]
    target: Place
    target_path: str
    wants_missing: bool
    filters: tuple[str, ...] = ()
    ignore_failures: bool = False
    threads: int = 1
    passed_over: frozenset[bytes] = frozenset()
    filter_beginnings: tuple[str, ...] = ()
    rehearses: bool = False
    own_lock: str | None = None
    """The lock file of this job; None to look at no others."""
    most_entries: int = FIRST_ROUND
    roots: tuple[Entry, ...] = ()

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if self.roots:
            waiting: Iterable[Entry] = self.roots
            for _ in given:
                pass  # the row that this task is there for
        else:
            waiting = (entry for batch in given for entry in entries(batch))
        yield from batches(Sums().counting(self._told(waiting)))

    def _told(self, waiting: Iterable[Entry]) -> Iterator[Entry]:
        try:
            yield from _Walker(self).walk(waiting)
        except FAILURES as error:
            yield failed(error)


def failed(error: Exception) -> Entry:
    """The row of what a task failed by."""
    return Entry(Kind.FAILED, 0, b"", b"", owner=error_text(error), group=error_name(error))


class _Walker:
    """One task's state."""

    def __init__(self, walk: Walk) -> None:
        self._walk = walk
        self._sources = [place.connect() for place in walk.sources]
        self._target = walk.target.connect()
        self._filters = [re.compile(pattern, re.DOTALL) for pattern in walk.filters]
        self._listed = 0

    def walk(self, waiting: Iterable[Entry]) -> Iterator[Entry]:
        """The rows below the directories that wait, then those that nobody has listed yet."""
        queue: deque[Entry] = deque()
        source = iter(waiting)
        threads = self._walk.threads
        with ThreadPoolExecutor(threads, thread_name_prefix="list") as pool:
            while True:
                while len(queue) < threads and (entry := next(source, None)) is not None:
                    if entry.kind in WAITING:
                        queue.append(entry)
                    else:
                        yield entry
                if not queue:
                    return
                if self._listed >= self._walk.most_entries:
                    yield from queue
                    yield from source
                    return
                some = [queue.popleft() for _ in range(min(threads, len(queue)))]
                for found in self._list_all(some, pool):
                    self._listed += 1
                    if found.kind in WAITING:
                        queue.append(found)
                    else:
                        yield found

    def _list_all(self, directories: list[Entry], pool: ThreadPoolExecutor) -> Iterator[Entry]:
        if len(directories) == 1:
            # Not through a thread: a huge directory is then never whole in memory.
            yield from self._list(directories[0])
            return
        for rows in pool.map(lambda entry: list(self._list(entry)), directories):
            yield from rows

    def _list(self, directory: Entry) -> Iterator[Entry]:
        if directory.kind == Kind.MISSING_PENDING:
            yield from self._missing_below(directory)
            return
        is_listed = directory.kind in (Kind.PENDING, Kind.ROOT)
        look = self._list_both if is_listed else self._look_up
        try:
            yield from look(self._sources[directory.filesystem], directory)
        except CopyFailed:
            raise
        except (errors.HowdahError, OSError) as error:
            if not self._walk.ignore_failures:
                raise ReadFailed(f"Cannot list {directory.path}: {error}") from error
            yield replace(directory, kind=Kind.UNREADABLE, owner=error_text(error))

    def _list_both(self, fs: FileSystem, directory: Entry) -> Iterator[Entry]:
        there: Iterator[FileStatus] = iter(())
        target_path = self._walk.target_path + decode(directory.relative)
        if directory.target == Found.DIRECTORY:
            there = _until_gone(_sorted(self._target, target_path or "/"))
        try:
            for status, other in _paired(_or_gone(_sorted(fs, directory.path)), there):
                if other is not None and is_lock(other.name):
                    self._pass_lock(other)
                elif status is None:
                    if other is not None and self._walk.wants_missing:
                        yield from self._missing(directory, other)
                elif not _is_of_a_job(status.name):
                    relative = directory.relative + b"/" + encode(status.name)
                    if relative not in self._walk.passed_over:
                        followed = _followed(fs, status)
                        yield from self._entry(fs, directory, relative, followed, other)
        except _Gone as error:
            if directory.kind == Kind.ROOT:
                raise SourceGone(f"{fs.uri}{directory.path} is gone") from error

    def _pass_lock(self, lock: FileStatus) -> None:
        if self._walk.own_lock in (None, lock.path):
            return
        try:
            refuse_if_held(self._target, lock.path)
        except TreeLocked as error:
            raise CopyFailed(error.message) from error

    def _look_up(self, fs: FileSystem, entry: Entry) -> Iterator[Entry]:
        """What a report names."""
        status = _followed(fs, fs.get_file_link_status(entry.path))
        path = self._walk.target_path + decode(entry.relative)
        if not self._walk.rehearses:
            other = status_of(self._target, path or "/")
        else:
            # Nothing is in its place yet.
            other = status if entry.kind == Kind.MODIFIED else None
        is_whole = entry.kind == Kind.CREATED
        yield from self._entry(fs, entry, entry.relative, status, other, goes_on=is_whole)

    def _entry(
        self,
        fs: FileSystem,
        directory: Entry,
        relative: bytes,
        status: FileStatus,
        other: FileStatus | None,
        goes_on: bool = True,
    ) -> Iterator[Entry]:
        kind = Kind.DIRECTORY if status.is_directory else Kind.FILE
        entry = Entry.of(kind, directory.filesystem, status, relative, other)
        if not self._is_filtered(fs, status.path, decode(relative)):
            yield entry
        elif other is not None and self._walk.wants_missing:
            # As if the source didn't have it; the target's own path may not be filtered.
            yield from self._missing(directory, other)
        if status.is_directory and goes_on:
            yield replace(entry, kind=Kind.PENDING)

    # --- what only the target has ------------------------------------------------------

    def _missing(self, directory: Entry, other: FileStatus) -> Iterator[Entry]:
        if _is_of_a_job(other.name):
            return
        relative = directory.relative + b"/" + encode(other.name)
        entry = Entry(
            Kind.MISSING,
            directory.filesystem,
            b"",
            relative,
            target=found_of(other),
            target_length=other.length,
            target_modification_time_ms=other.modification_time_ms,
        )
        if not self._is_filtered(self._target, other.path, decode(relative)):
            yield entry
        elif other.is_directory:
            # It is to stay, and not what is in it.
            yield replace(entry, kind=Kind.MISSING_PENDING)

    def _missing_below(self, directory: Entry) -> Iterator[Entry]:
        path = self._walk.target_path + decode(directory.relative)
        for other in _sorted(self._target, path or "/"):
            yield from self._missing(directory, other)

    def _is_filtered(self, fs: FileSystem, path: str, relative: str) -> bool:
        if not self._filters:
            return False
        names = [fs.uri + path]
        names += [beginning + relative for beginning in self._walk.filter_beginnings]
        return any(pattern.fullmatch(name) for pattern in self._filters for name in names)


class _Gone(Exception):
    """The directory that is listed has been deleted, or renamed."""


def _or_gone(listing: Iterator[FileStatus]) -> Iterator[FileStatus]:
    try:
        yield from listing
    except errors.PathNotFound as error:
        raise _Gone from error


def _is_of_a_job(name: str) -> bool:
    """Whether something is there for as long as a job works."""
    return is_staging(name) or is_lock(name)


def _until_gone(listing: Iterator[FileStatus]) -> Iterator[FileStatus]:
    """What was deleted since its parent was listed has no entries."""
    try:
        yield from listing
    except errors.PathNotFound:
        return


def _followed(fs: FileSystem, status: FileStatus) -> FileStatus:
    """What a link stands for, under the link's own name."""
    if not status.is_symlink:
        return status
    there = fs.get_file_status(status.path)
    if there.is_directory:
        raise errors.UnsupportedOperation(
            f"{fs.uri}{status.path} is a symbolic link to a directory, which is not copied"
        )
    return replace(there, path=status.path)


def _sorted(fs: FileSystem, path: str) -> Iterator[FileStatus]:
    """The entries of a directory by the bytes of their names. HDFS gives them so."""
    listing = (status for status in fs.list_status_iter(path) if status.path != path)
    if fs.scheme == "hdfs":
        yield from listing
    else:
        yield from sorted(listing, key=lambda status: encode(status.name))


def _paired(
    here: Iterator[FileStatus], there: Iterator[FileStatus]
) -> Iterator[tuple[FileStatus | None, FileStatus | None]]:
    """Two sorted lists as one; of what both have the two entries come together."""
    other = next(there, None)
    for status in here:
        name = encode(status.name)
        while other is not None and encode(other.name) < name:
            yield None, other
            other = next(there, None)
        if other is not None and encode(other.name) == name:
            yield status, other
            other = next(there, None)
        else:
            yield status, None
    while other is not None:
        yield None, other
        other = next(there, None)
