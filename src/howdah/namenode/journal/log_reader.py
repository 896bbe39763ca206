"""Reading the log, and nothing else (shell). Hadoop: EditLogFileInputStream for one segment,
RedundantEditLogInputStream for its copies, what EditLogTailer reads for a standby.

No byte, name or time of a file is changed, and no lock is taken: the directories may belong
to an active namenode that writes there at the same moment. Two ways to read:

- `StoredLog` reads a log that nobody writes, to the last whole record. A start reads so,
  under the locks that it holds (steps 12 to 14 in docs/how-it-works/journal.md). What it
  learns about the copies is for `recovery`.
- `LogReader` reads a log that somebody may be writing, to the last durable transaction, which
  the writer has told (steps 20 to 22). It looks at no byte behind that, as it may be half
  written. A reader that does not know what is durable gets the finished segments, which are.

Where a copy breaks off, the next copy of the segment goes on at that very transaction.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from howdah import errors
from howdah.formats.edits.segment_scan import HEADER_BYTES, PlacedEdit, SegmentReader
from howdah.namenode.state.edit_log.journal import SegmentSource
from howdah.namenode.state.edit_log.segment_selection import (
    Choice,
    Part,
    SegmentCopy,
    choose,
    first_readable,
)

log = logging.getLogger(__name__)

_REMEMBERED: Final = 64
_TRIES: Final = 3

Found = tuple[SegmentCopy, PlacedEdit]
"""An edit, and the copy that it was read from."""


class StoredLog:
    """The log that nobody writes, from a transaction to its end.

    >>> stored = StoredLog([DirectorySource(current) for current in directories], from_txid=1)
    >>> for copy, placed in stored.edits():
    ...     namespace.apply(placed.logged.edit)
    """

    def __init__(self, sources: Sequence[SegmentSource], from_txid: int) -> None:
        """Describe all segments (12), and choose a way (13) from `from_txid` to the end.

        Raises CorruptEditLog if there is none, OSError if a source cannot be read.
        """
        self._sources = {source.name: source for source in sources}
        self._from_txid = from_txid
        copies = [copy for source in sources for copy in source.segments(scans=True)]
        self.parts = choose(copies, from_txid).complete()
        self.damaged = {
            copy for part in self.parts for copy in part.copies if copy.damage is not None
        }
        """Copies that cannot be read, as far as is known."""
        self.sound: dict[int, SegmentCopy] = {}
        """By first transaction, a copy that was read to the segment's end."""

    @property
    def edit_count(self) -> int:
        """How many edits there are, as far as that is known before they are read."""
        return sum(
            max(0, part.last_txid + 1 - max(part.first_txid, self._from_txid))
            for part in self.parts
        )

    def edits(self) -> Iterator[Found]:
        """Every edit once, in order (14).

        Raises CorruptEditLog or OSError when no copy holds what comes next.
        """
        for part in self.parts:
            read = _read_part(part, self._from_txid, None, self._sources, self.damaged.add)
            sound = yield from read
            if sound is not None:
                self.sound[part.first_txid] = sound


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in a segment the record of a transaction begins."""

    txid: int
    segment_txid: int
    offset: int


class LogReader:
    """Reads the log that somebody may be writing. Any thread may ask.

    Where a reading ended is remembered, so that whoever goes on from there does not read
    the segment from its beginning.
    """

    def __init__(self, sources: Callable[[], Sequence[SegmentSource]]) -> None:
        """`sources` are those that work now, best first."""
        self._sources = sources
        self._lock = threading.Lock()
        self._places: OrderedDict[int, _Place] = OrderedDict()

    def edits(
        self, from_txid: int, to_txid: int | None, *, or_oldest: bool = False
    ) -> Generator[Found, None, None]:
        """Read the edits from one transaction to another, which is durable; with None, to the end
        of the finished segments. `or_oldest`: from the oldest that are left, if some have been
        purged.

        A segment that gets its final name meanwhile is looked for again. Raises
        CorruptEditLog or OSError if edits cannot be read.
        """
        next_txid, tries = from_txid, _TRIES
        last: tuple[Part, PlacedEdit] | None = None
        try:
            while to_txid is None or next_txid <= to_txid:
                begun_txid = next_txid
                place = self._place_of(next_txid - 1)
                sources = {source.name: source for source in self._sources()}
                try:
                    for part in _complete(sources, next_txid, to_txid, or_oldest):
                        at = place if place and place.segment_txid == part.first_txid else None
                        end_txid = None if to_txid is None else part.last_txid
                        for entry in _read_part(part, next_txid, end_txid, sources, at=at):
                            last = part, entry[1]
                            next_txid = entry[1].logged.txid + 1
                            yield entry
                    if to_txid is None:
                        return
                except OSError as error:
                    tries = _TRIES if next_txid > begun_txid else tries - 1
                    moved = isinstance(error, FileNotFoundError)
                    if not tries or not (moved or self._forget(place)):
                        raise
                    log.info("transaction %d is looked for again: %s", next_txid, error)
        finally:
            if last is not None:
                part, placed = last
                self._remember(_Place(placed.logged.txid, part.first_txid, placed.offset))

    def _place_of(self, txid: int) -> _Place | None:
        with self._lock:
            return self._places.get(txid)

    def _remember(self, place: _Place) -> None:
        with self._lock:
            self._places[place.txid] = place
            self._places.move_to_end(place.txid)
            while len(self._places) > _REMEMBERED:
                self._places.popitem(last=False)

    def _forget(self, place: _Place | None) -> bool:
        """What was remembered may be wrong: a log that was rolled back is another one."""
        with self._lock:
            return place is not None and self._places.pop(place.txid, None) is not None


def _complete(
    sources: Mapping[str, SegmentSource], from_txid: int, to_txid: int | None, or_oldest: bool
) -> tuple[Part, ...]:
    """The parts of the log. A name that changes while a directory is listed may be missed,
    so a problem is one when it stays."""
    unfinished = to_txid is not None
    copies: list[SegmentCopy] = []
    failure: OSError | None = None
    choice = Choice(())
    for _ in range(_TRIES):
        copies, failure = _listed(sources)
        choice = choose(copies, from_txid, to_txid, unfinished=unfinished)
        if choice.problem is None:
            return choice.parts
    if or_oldest:
        if failure is not None:
            # What is missing may be there: a reader would take it for purged.
            raise failure
        from_txid = first_readable(copies, from_txid, to_txid, unfinished=unfinished)
        choice = choose(copies, from_txid, to_txid, unfinished=unfinished)
    return choice.complete()


def _listed(
    sources: Mapping[str, SegmentSource],
) -> tuple[list[SegmentCopy], OSError | None]:
    """Of all sources that can be read, and why one cannot, if there is one. Raises OSError if none
    can."""
    copies: list[SegmentCopy] = []
    failures: dict[str, OSError] = {}
    for source in sources.values():
        try:
            copies += source.segments(scans=False)
        except OSError as error:
            failures[source.name] = error
    if failures and len(failures) == len(sources):
        raise next(iter(failures.values()))
    for name, failure in failures.items():
        log.warning("no edits are read from %s: %s", name, failure)
    return copies, next(iter(failures.values()), None)


def _read_part(
    part: Part,
    from_txid: int,
    to_txid: int | None,
    sources: Mapping[str, SegmentSource],
    on_damage: Callable[[SegmentCopy], object] = lambda copy: None,
    at: _Place | None = None,
) -> Generator[Found, None, SegmentCopy | None]:
    """The edits of one segment from `from_txid` on, with `to_txid` as the last to look at.

    Returns the copy that was read to the segment's end, if there is one that was.
    """
    next_txid = max(from_txid, part.first_txid)
    failure: OSError | None = None
    for copy in part.copies:
        try:
            for placed in _read_copy(sources[copy.source], copy, next_txid, to_txid, at):
                yield copy, placed
                next_txid = placed.logged.txid + 1
        except OSError as error:
            on_damage(copy)
            failure = failure or error
            log.error("another directory is asked for transaction %d: %s", next_txid, error)
            continue
        if next_txid > part.last_txid:
            return copy if copy.reach_txid == part.last_txid else None
    raise failure or errors.CorruptEditLog(
        f"Edit log has no transaction {next_txid}: {part.copies[0].path} should have it, "
        f"and transactions up to {part.last_txid}"
    )


def _read_copy(
    source: SegmentSource,
    copy: SegmentCopy,
    from_txid: int,
    to_txid: int | None,
    at: _Place | None,
) -> Iterator[PlacedEdit]:
    begin_txid, skipped = copy.first_txid, 0
    if at is not None:
        begin_txid, skipped = at.txid, at.offset - HEADER_BYTES
    with source.open(copy, skipped) as file:
        reader = SegmentReader(file, copy.path, first_txid=begin_txid, last_txid=copy.last_txid)
        for placed in reader:
            txid = placed.logged.txid
            if txid >= from_txid:
                yield PlacedEdit(placed.offset + skipped, placed.logged) if skipped else placed
            if txid == to_txid:
                return
