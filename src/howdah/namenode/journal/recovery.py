"""The log that a start finds, put together from all edits directories (shell).

Each directory ought to hold everything, and a disk is why it may not: it was
dropped when it failed, its last write is torn, or bytes of it have rotted. So a
transaction is taken from whichever directory has it:

1. what a dead namenode left in progress is finished; a torn tail is cut
2. copies of a segment are those that begin at the same transaction; the longest
   goes first, and a damaged one is left for another copy at the very
   transaction where it breaks off
3. when all has been read, every directory is made like what was read: missing
   segments are copied, shorter ones set aside as `….stale`, damaged ones as
   `….corrupt`

What no copy holds stops the start. That a log once reached further is known from
a name, from `seen_txid`, or from whole records behind the damage.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from howdah import errors
from howdah.storage import disk
from howdah.storage.atomic import fsync_directory, replacing
from howdah.storage.edits.segment_scan import PlacedEdit, last_record
from howdah.storage.edits.segments import (
    Segment,
    list_segments,
    read_segment,
    recover_segment,
    scan_segment,
    select_segments,
)
from howdah.storage.layout import StorageDirectory

log = logging.getLogger(__name__)

STALE = ".stale"
CORRUPT = ".corrupt"
_COPY_BYTES = 1 << 20


@dataclass(slots=True)
class Copy:
    """One file of a segment. `reach_txid` is the last transaction that it is known to
    have held; `damage` says why it cannot be read to there."""

    segment: Segment
    reach_txid: int
    damage: errors.CorruptEditLog | OSError | None = None


class EditLog:
    """The edits of several directories as one log.

    >>> log = EditLog(directories, from_txid=1)
    >>> for segment, placed in log.edits():
    ...     namespace.apply(placed.logged.edit)
    >>> log.mend()
    """

    def __init__(self, directories: Sequence[StorageDirectory], from_txid: int) -> None:
        """Finish what is in progress, and find a way from `from_txid` to the end.

        Raises CorruptEditLog if there is none.
        """
        self._directories = directories
        self._from_txid = from_txid
        groups: dict[int, list[Copy]] = {}
        for directory in directories:
            for copy in _copies(directory):
                if copy.reach_txid >= from_txid:
                    groups.setdefault(copy.segment.first_txid, []).append(copy)
        for copies in groups.values():
            # Whole ones first among equals; sorting keeps the order of directories.
            copies.sort(key=lambda copy: (-copy.reach_txid, copy.damage is not None))
        longest = [
            Segment(first, copies[0].reach_txid, copies[0].segment.path)
            for first, copies in sorted(groups.items())
        ]
        self._chain = [groups[s.first_txid] for s in select_segments(longest, from_txid)]
        self._sound: dict[int, Segment] = {}

    def edits(self) -> Iterator[tuple[Segment, PlacedEdit]]:
        """Every edit once, in order, each with the file that it was read from.

        Raises CorruptEditLog or OSError when no copy holds what comes next.
        """
        next_txid = self._from_txid
        for copies in self._chain:
            for found in self._read(copies, next_txid):
                yield found
                next_txid = found[1].logged.txid + 1

    def _read(self, copies: list[Copy], next_txid: int) -> Iterator[tuple[Segment, PlacedEdit]]:
        end = copies[0].reach_txid
        failure: errors.CorruptEditLog | OSError | None = None
        for copy in copies:
            try:
                for placed in read_segment(copy.segment):
                    if placed.logged.txid >= next_txid:
                        yield copy.segment, placed
                        next_txid = placed.logged.txid + 1
            except (errors.CorruptEditLog, OSError) as error:
                copy.damage = error
                failure = failure or error
                log.error("another directory is asked for transaction %d: %s", next_txid, error)
                continue
            if next_txid > end:
                if copy.reach_txid == end and not copy.segment.in_progress:
                    self._sound[copy.segment.first_txid] = copy.segment
                return
        assert failure is not None, "the longest copy is whole, or it is damaged"
        raise failure

    def mend(self) -> None:
        """Make all directories hold what was read. A directory that cannot be mended is
        left: the journal will find it failing, or the next start does."""
        for directory in self._directories:
            try:
                self._mend(directory)
            except OSError as error:
                log.error("edits directory %s is not made whole: %s", directory.root, error)

    def _mend(self, directory: StorageDirectory) -> None:
        have = {copy.segment.path: copy for copies in self._chain for copy in copies}
        for segment in list_segments(directory.current):
            copy = have.get(segment.path)
            sound = self._sound.get(segment.first_txid)
            if copy is None or sound is None:
                continue
            if copy.damage is not None:
                set_aside(segment.path, CORRUPT)
            elif copy.reach_txid < (sound.last_txid or 0):
                set_aside(segment.path, STALE)
        for sound in self._sound.values():
            copy_missing(sound.path, directory.current)


def _copies(directory: StorageDirectory) -> Iterator[Copy]:
    """Raises OSError for what cannot be read and has no name to say how far it goes."""
    for segment in list_segments(directory.current):
        if segment.last_txid is not None:
            yield Copy(segment, segment.last_txid)
            continue
        try:
            end = scan_segment(segment)
        except errors.CorruptEditLog as error:
            # If no other copy reaches as far, something acknowledged is lost.
            reach = last_record(segment.path.read_bytes(), segment.first_txid)
            yield Copy(segment, segment.first_txid if reach is None else reach, error)
            continue
        if end.torn_bytes:
            log.warning(
                "cut %d torn bytes off %s: %s", end.torn_bytes, segment.path, end.torn_reason
            )
        try:
            finished, _ = recover_segment(segment)
        except OSError as error:
            log.error("%s can be read but not finished: %s", segment.path, error)
            finished = segment
        if finished is not None and end.last_txid is not None:
            yield Copy(finished, end.last_txid)


def set_aside(path: Path, suffix: str) -> None:
    """Keep a file that is not to be read any more under another name, durably."""
    target = path.with_name(path.name + suffix)
    log.warning("%s is set aside as %s", path, target.name)
    disk.rename(path, target)
    fsync_directory(path.parent)


def copy_missing(source: Path, directory: Path) -> None:
    """Copy a finished file into a directory that has none of that name, durably."""
    target = directory / source.name
    if target.exists():
        return
    log.info("copying %s to %s, which missed it", source, directory)
    with open(source, "rb") as whole, replacing(target) as file:
        shutil.copyfileobj(whole, file, _COPY_BYTES)
