"""Which copies of which segments make up the log from one transaction to another (pure).

Hadoop: what JournalSet.selectInputStreams and FileJournalManager.selectInputStreams choose.
Segments of several journals come as descriptions; what is chosen is the order in which to
read them (step 13 in docs/how-it-works/journal.md). Rules:

1. Copies of a segment are those that begin with the same transaction, whatever their end.
2. Of these the one that reaches furthest decides where the segment ends. It is read first;
   among equals a sound one before a damaged one, then a finished before an unfinished one,
   then as the journals are listed. The others stand by for where it breaks off.
3. Segments follow each other without a gap and without an overlap. Either is a problem that
   is named: a gap is a loss, and an overlap is two histories.
4. A damaged copy counts with all that it is known to have held. If it reaches further than
   the sound ones, something acknowledged is at stake, and it is for the reader to fail.
5. A segment without a record counts for nothing.

Nothing is opened here, and nothing mended: that is `log_reader` and `recovery`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from howdah import errors


@dataclass(frozen=True, slots=True)
class SegmentCopy:
    """One journal's copy of a segment. Hadoop: RemoteEditLog, EditLogFile.

    `last_txid` is what a finished one's name promises; None for one that is unfinished.
    `reach_txid` is the last transaction that it is known to have held, `first_txid - 1` if
    it has no record, and None if nobody has looked: it reaches as far as the log is durable.
    `damage` says why it cannot be read to there.
    """

    source: str
    path: str
    first_txid: int
    last_txid: int | None
    reach_txid: int | None
    damage: str | None = None

    @property
    def is_finished(self) -> bool:
        return self.last_txid is not None


@dataclass(frozen=True, slots=True)
class Part:
    """One segment of the log: its copies, best first. `last_txid` is the last transaction
    that is to be read of it."""

    first_txid: int
    last_txid: int
    copies: tuple[SegmentCopy, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The log as far as it goes without a gap; `problem` is why it goes no further, if it
    should."""

    parts: tuple[Part, ...]
    problem: str | None = None

    def complete(self) -> tuple[Part, ...]:
        """All parts. Raises CorruptEditLog if there is a problem."""
        if self.problem is not None:
            raise errors.CorruptEditLog(self.problem)
        return self.parts


def choose(
    copies: Iterable[SegmentCopy],
    from_txid: int,
    to_txid: int | None = None,
    *,
    unfinished: bool = True,
) -> Choice:
    """What to read for the transactions from `from_txid` to `to_txid`, or to the end.

    `from_txid` is the one behind the image's, and may lie inside a segment. With a `to_txid`
    the log has to reach it. Without one, each unfinished copy has to say how far it reaches,
    unless `unfinished` ones are not to be read.
    """
    parts: list[Part] = []
    next_txid = from_txid
    for part in _parts(copies, from_txid, to_txid, unfinished):
        if to_txid is not None and next_txid > to_txid:
            break
        if part.first_txid > next_txid:
            return Choice(
                tuple(parts),
                f"Edit log has no transactions {next_txid} to {part.first_txid - 1}: "
                f"they should be in the segment before {part.copies[0].path}",
            )
        if parts and part.first_txid < next_txid:
            return Choice(
                tuple(parts),
                f"Edit log segments overlap: {parts[-1].copies[0].path} and {part.copies[0].path}",
            )
        parts.append(part)
        next_txid = part.last_txid + 1
    if to_txid is not None and next_txid <= to_txid:
        return Choice(
            tuple(parts),
            f"Edit log has no transactions {next_txid} to {to_txid}: it ends before them",
        )
    return Choice(tuple(parts))


def first_readable(
    copies: Sequence[SegmentCopy],
    from_txid: int,
    to_txid: int | None = None,
    *,
    unfinished: bool = True,
) -> int:
    """Where to begin instead of `from_txid`, to have all from there on: later, if the
    beginning was purged. `from_txid` if nothing helps."""
    begins = {copy.first_txid for copy in copies if copy.first_txid > from_txid}
    for txid in (from_txid, *sorted(begins)):
        choice = choose(copies, txid, to_txid, unfinished=unfinished)
        if choice.parts and choice.problem is None:
            return txid
    return from_txid


def _parts(
    copies: Iterable[SegmentCopy], from_txid: int, to_txid: int | None, unfinished: bool
) -> list[Part]:
    """Return by first transaction the parts that have something from `from_txid` on."""
    groups: dict[int, list[SegmentCopy]] = {}
    for copy in copies:
        is_empty = copy.reach_txid is not None and copy.reach_txid < copy.first_txid
        if (copy.is_finished or unfinished) and not is_empty:
            groups.setdefault(copy.first_txid, []).append(copy)
    parts = []
    next_first: int | None = None
    for first_txid, group in sorted(groups.items(), reverse=True):
        latest = _latest(group, next_first, to_txid)
        next_first = first_txid
        reaches = [_reach(copy, latest, to_txid) for copy in group]
        last_txid = max(reaches)
        if last_txid >= max(from_txid, first_txid):
            # Sorting keeps the order of the journals among equals.
            ranks = sorted(range(len(group)), key=lambda n: _rank(group[n], reaches[n]))
            parts.append(Part(first_txid, last_txid, tuple(group[n] for n in ranks)))
    return parts[::-1]


def _rank(copy: SegmentCopy, reach_txid: int) -> tuple[int, bool, bool]:
    return -reach_txid, copy.damage is not None, not copy.is_finished


def _latest(
    group: Sequence[SegmentCopy], next_first: int | None, to_txid: int | None
) -> int | None:
    """Where an unfinished copy of a segment ends at the latest, if nobody has looked."""
    known = [copy.last_txid for copy in group if copy.last_txid is not None]
    ends = ([max(known)] if known else []) + ([next_first - 1] if next_first is not None else [])
    return min([*ends, to_txid] if to_txid is not None else ends, default=None)


def _reach(copy: SegmentCopy, latest: int | None, to_txid: int | None) -> int:
    if copy.reach_txid is not None:
        return copy.reach_txid if to_txid is None else min(copy.reach_txid, to_txid)
    assert to_txid is not None, f"nobody knows how far {copy.path} reaches"
    assert latest is not None, "there is an end to what is asked for"
    return latest
