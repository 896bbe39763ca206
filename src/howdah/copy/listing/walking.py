"""Listing source and target side by side, as one task does it (Hadoop's SimpleCopyListing).

1. A directory of the source is listed together with the target's directory of the same relative
   path, if there is one. Both listings are put into the order of their names' bytes, so one walk
   over both pairs the entries, and keeps neither listing of HDFS in memory.
2. An entry at the target only becomes a row if the options need it (`-delete`, `-xtrack`).
3. A task lists the directories that it finds, breadth first, until it has listed as many
   entries as it may. The directories that are left become rows for the next round, which
   spreads them over more tasks.
4. An entry that a filter matches gets no row; the entries below it are listed all the same. A
   filter is matched against the full URI of a path, at the source and at the target.
5. A source itself must exist. A directory below it that is gone when it is to be listed counts
   as empty; the target's entries in its place are left to the next run, since the directory may
   have been renamed to a place that is listed later. A directory that cannot be listed ends the
   copy, or with `-i` counts as a failure; Hadoop logs it and goes on. No entry of the target
   counts as missing because the source could not be read.
6. A symbolic link to a file is copied as that file; a link to a directory cannot be copied.
7. With a snapshot report, the status of each path in the report is read at source and target.
   An entry that was renamed at the target has a row of its own and is skipped here.
8. A task that lists alone what lies below its roots lists trees of object stores many directories
   in a request (`ListsAhead`). Tasks that have directories from here and there do not.
9. Lock files, staging directories and state files of jobs are not copied. A lock of the target that
   a job holds ends the copy.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.copy.common.arrow_rows import decode, encode
from howdah.copy.common.failures import (
    FAILURES,
    CopyFailed,
    ReadFailed,
    SourceGone,
    error_name,
    error_text,
)
from howdah.copy.common.filesystems import Place, status_of
from howdah.copy.common.staging import is_mirror_state, is_staging
from howdah.copy.listing.entries import (
    WAITING,
    Entry,
    Found,
    Kind,
    Sums,
    batches,
    entries,
    found_of,
)
from howdah.copy.locks.files import TreeLocked
from howdah.copy.locks.tree_lock import is_lock, refuse_if_held
from howdah.fs.api import FileSystem, ListOne, ListsAhead
from howdah.fs.hdfs.name_order import by_unsigned_bytes
from howdah.fs.status import FileStatus

if TYPE_CHECKING:
    import pyarrow as pa

FIRST_ROUND: Final = 10_000
"""Entries that a task lists in the first round; others list the rest."""


@dataclass(frozen=True, slots=True)
class Walk:
    """A task that lists; it is called with the rows to begin with, unless it has `roots`."""

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
    """The lock file of this job; None if other locks are not to be checked."""
    most_entries: int = FIRST_ROUND
    is_alone: bool = False
    """Whether this task lists what is below the roots, with no other one beside it."""
    roots: tuple[Entry, ...] = ()
    refuses_encrypted: bool = False
    """Whether an encrypted file of the source ends the copy."""

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if self.roots:
            waiting: Iterable[Entry] = self.roots
            for _ in given:
                pass  # the row that makes Spark run this task
        else:
            waiting = (entry for batch in given for entry in entries(batch))
        yield from batches(Sums().counting(self._reported(waiting)))

    def walked(self, waiting: Iterable[Entry]) -> Iterator[Entry]:
        """The rows below the directories to be listed. Raises what keeps one from being listed."""
        return _Walker(self).walk(waiting)

    def _reported(self, waiting: Iterable[Entry]) -> Iterator[Entry]:
        try:
            yield from self.walked(waiting)
        except FAILURES as error:
            yield failed(error)


def failed(error: Exception) -> Entry:
    """The row of an error that ends a task."""
    return Entry(Kind.FAILED, 0, b"", b"", owner=error_text(error), group=error_name(error))


class _Walker:
    """Lists directories for one task."""

    def __init__(self, walk: Walk) -> None:
        self._walk = walk
        self._sources = [place.connect() for place in walk.sources]
        self._target = walk.target.connect()
        self._filters = [re.compile(pattern, re.DOTALL) for pattern in walk.filters]
        self._listed = 0
        self._trees: dict[tuple[str, str], ListOne] = {}

    def walk(self, waiting: Iterable[Entry]) -> Iterator[Entry]:
        """Yield the rows below the directories to be listed, then the directories that are left."""
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
                for row in self._list_all(some, pool):
                    self._listed += 1
                    if row.kind in WAITING:
                        queue.append(row)
                    else:
                        yield row

    def _list_all(self, directories: list[Entry], pool: ThreadPoolExecutor) -> Iterator[Entry]:
        if len(directories) == 1:
            # Without a thread: a huge directory is never in memory as a whole.
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
            there = _until_gone(self._sorted_target(target_path))
        try:
            for status, other in _paired(_or_gone(self._sorted_source(fs, directory)), there):
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
        """The row of a path in a snapshot report."""
        status = _followed(fs, fs.get_file_link_status(entry.path))
        path = self._walk.target_path + decode(entry.relative)
        if not self._walk.rehearses:
            other = status_of(self._target, path or "/")
        else:
            # A dry run moves nothing, so renamed entries are not in place.
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
        if self._walk.refuses_encrypted and kind is Kind.FILE and status.is_encrypted:
            raise CopyFailed(
                f"{fs.uri}{status.path} is encrypted, and would be a plain file at the target: "
                "make an encryption zone of that, or say --decrypt"
            )
        entry = Entry.of(kind, directory.filesystem, status, relative, other)
        is_entered = status.is_directory and goes_on
        if not self._is_filtered(fs, status.path, decode(relative)):
            yield entry
        elif (
            other is not None
            and self._walk.wants_missing
            # It stays for what is copied into it, which no filter matches.
            and not (is_entered and other.is_directory)
        ):
            # As if the source did not have it, unless a filter matches the target's own path.
            yield from self._missing(directory, other)
        if is_entered:
            if other is not None and other.is_directory and self._walk.wants_missing:
                self._check_no_link(other)
            yield replace(entry, kind=Kind.PENDING)

    def _check_no_link(self, other: FileStatus) -> None:
        """Raise `CopyFailed` for a link to a directory in a target of local files: what only the
        target has would be deleted behind it, which is not in the target."""
        if self._target.scheme != "file":
            return
        if self._target.get_file_link_status(other.path).is_symlink:
            raise CopyFailed(
                f"{self._target.uri}{other.path} is a symbolic link to a directory, and what it "
                "leads to is not in the target: copy without -delete (or -xtrack)"
            )

    # --- entries at the target only ---------------------------------------------------

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
            # The directory stays; entries below it that no filter matches do not.
            yield replace(entry, kind=Kind.MISSING_PENDING)

    def _missing_below(self, directory: Entry) -> Iterator[Entry]:
        path = self._walk.target_path + decode(directory.relative)
        for other in self._sorted_target(path):
            yield from self._missing(directory, other)

    # --- listings -----------------------------------------------------------------------

    def _sorted_source(self, fs: FileSystem, directory: Entry) -> Iterator[FileStatus]:
        top = directory.path.removesuffix(decode(directory.relative))
        return _sorted(fs, directory.path, self._tree(fs, top or "/"))

    def _sorted_target(self, path: str) -> Iterator[FileStatus]:
        fs = self._target
        return _sorted(fs, path or "/", self._tree(fs, self._walk.target_path or "/"))

    def _tree(self, fs: FileSystem, top: str) -> ListOne | None:
        """What lists a tree in few requests, where that pays."""
        if not (self._walk.is_alone and self._walk.threads == 1 and isinstance(fs, ListsAhead)):
            return None
        key = fs.uri, top
        if key not in self._trees:
            self._trees[key] = fs.lister(top)
        return self._trees[key]

    def _is_filtered(self, fs: FileSystem, path: str, relative: str) -> bool:
        if not self._filters:
            return False
        names = [fs.uri + path]
        names += [beginning + relative for beginning in self._walk.filter_beginnings]
        return any(pattern.fullmatch(name) for pattern in self._filters for name in names)


class _Gone(Exception):
    """The directory being listed was deleted or renamed."""


def _or_gone(listing: Iterator[FileStatus]) -> Iterator[FileStatus]:
    try:
        yield from listing
    except errors.PathNotFound as error:
        raise _Gone from error


def _is_of_a_job(name: str) -> bool:
    """Whether a file or directory belongs to a job."""
    return is_staging(name) or is_lock(name) or is_mirror_state(name)


def _until_gone(listing: Iterator[FileStatus]) -> Iterator[FileStatus]:
    """A listing that ends early if the directory is deleted."""
    try:
        yield from listing
    except errors.PathNotFound:
        return


def _followed(fs: FileSystem, status: FileStatus) -> FileStatus:
    """The status of a link's target, with the link's own path."""
    if not status.is_symlink:
        return status
    there = fs.get_file_status(status.path)
    if there.is_directory:
        raise errors.UnsupportedOperation(
            f"{fs.uri}{status.path} is a symbolic link to a directory, which is not copied"
        )
    return replace(there, path=status.path)


def _sorted(fs: FileSystem, path: str, list_one: ListOne | None = None) -> Iterator[FileStatus]:
    """The entries of a directory in the order of their names' bytes. Raises `ReadFailed`."""
    listed = (list_one or fs.list_status_iter)(path)
    listing = (status for status in listed if status.path != path)
    if fs.scheme != "hdfs":
        yield from sorted(listing, key=lambda status: encode(status.name))
        return
    last = b""
    for name, status in by_unsigned_bytes(listing, lambda status: encode(status.name)):
        if name <= last:
            # Pairs would be made of it that are none, and the rest would seem to be missing.
            raise ReadFailed(
                f"{fs.uri}{path} is listed in no order: {status.name!r} comes behind {last!r}"
            )
        yield status
        last = name


def _paired(
    here: Iterator[FileStatus], there: Iterator[FileStatus]
) -> Iterator[tuple[FileStatus | None, FileStatus | None]]:
    """Two sorted listings merged; entries with the same name come as a pair."""
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
