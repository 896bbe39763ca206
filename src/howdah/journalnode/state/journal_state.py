"""What a journal node keeps of one journal, and every change that can be made to it (pure).

`JournalState` is what the files of a journal say. A `Write` is one change of them that a
crash leaves done or undone, never half done. The acceptor answers a call with writes;
whoever carries them out does so in their order, and tells the state of each with `apply`:

    plan = acceptor.journal(...)
    for write in plan.writes:
        storage.carry_out(write)        # files; or, in a simulation, a dictionary
        acceptor.apply(write)
    plan.result()                       # the answer, or the refusal

So the state is the fold of the writes that were done, and what a crash leaves is the fold of
some of the first of them. `restarted` is how a node finds that again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final, TypeAlias, TypeVar

from howdah import errors

T = TypeVar("T")

MAX_NUMBER: Final = (1 << 63) - 1
"""Of an epoch and of a transaction id: Java's long."""


@dataclass(frozen=True, slots=True)
class SegmentState:
    """One segment. Hadoop: SegmentStateProto. `last_txid` is `first_txid - 1` in one that has
    no record yet."""

    first_txid: int
    last_txid: int
    in_progress: bool

    @property
    def is_empty(self) -> bool:
        return self.last_txid < self.first_txid

    def holds(self, txid: int | None) -> bool:
        return txid is not None and self.first_txid <= txid <= self.last_txid


@dataclass(frozen=True, slots=True)
class Decision:
    """How a segment ends, as the writer of an epoch had it accepted. Hadoop:
    PersistedRecoveryPaxosData."""

    segment: SegmentState
    epoch: int


# The changes.


@dataclass(frozen=True, slots=True)
class Promise:
    """`last-promised-epoch`: writers of older epochs are refused."""

    epoch: int


@dataclass(frozen=True, slots=True)
class BeginWriter:
    """`last-writer-epoch`: the epoch of the last writer that began a segment here."""

    epoch: int


@dataclass(frozen=True, slots=True)
class KeepLease:
    """`howdah-lease-ms`: no writer that was answered so far has a longer lease than this."""

    lease_ms: int


@dataclass(frozen=True, slots=True)
class Commit:
    """`committed-txid`: the writer knows a majority to have everything up to here. It is a
    lower bound, and may be lost in a crash."""

    txid: int


@dataclass(frozen=True, slots=True)
class OpenSegment:
    """An `edits_inprogress_…` without records. One that was there is written over."""

    first_txid: int
    layout_version: int


@dataclass(frozen=True, slots=True)
class ReopenSegment:
    """An `edits_inprogress_…` that a start of the node closed takes records again, behind the
    last whole one. What a crash left behind that one is cut off, durably."""

    first_txid: int


@dataclass(frozen=True, slots=True)
class Append:
    """Records for the open segment. With `is_synced` they are durable before the answer;
    without it, only a later change makes them so, and a crash may lose them from any record
    on: the writer has them on a majority of other nodes already."""

    segment_txid: int
    first_txid: int
    count: int
    records: bytes
    is_synced: bool

    @property
    def last_txid(self) -> int:
        return self.first_txid + self.count - 1


@dataclass(frozen=True, slots=True)
class CloseSegment:
    """The open segment gets no more records. All that it has is durable."""

    first_txid: int


@dataclass(frozen=True, slots=True)
class FinishSegment:
    """`edits_inprogress_…` gets its final name; all that it has is durable."""

    first_txid: int
    last_txid: int


@dataclass(frozen=True, slots=True)
class SetAsideEmpty:
    """A segment without a record becomes `….empty`."""

    first_txid: int


@dataclass(frozen=True, slots=True)
class Fetch:
    """Bring a segment from another node to a file of its own (`….epoch=…`), durably. The
    segment has to end where it is said to. Nobody sees it before the decision is kept."""

    segment: SegmentState
    epoch: int
    from_url: str


@dataclass(frozen=True, slots=True)
class Accept:
    """`paxos/<first txid>`: the decision is kept."""

    decision: Decision


@dataclass(frozen=True, slots=True)
class Replace:
    """What was fetched takes the place of the unfinished segment."""

    first_txid: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Forget:
    """The decision about a segment is not needed any more."""

    first_txid: int


@dataclass(frozen=True, slots=True)
class Purge:
    """Segments, and decisions, of which nothing from `min_txid` on is left may go."""

    min_txid: int


@dataclass(frozen=True, slots=True)
class Joined:
    """A node that had lost its disk has a vote again: it has taken a record of a segment that
    a writer began at it, so the segments before are finished on a majority."""


@dataclass(frozen=True, slots=True)
class Discard:
    """Segments that begin with `from_txid` or later become `….trash`."""

    from_txid: int


Write: TypeAlias = (
    Promise
    | BeginWriter
    | KeepLease
    | Commit
    | OpenSegment
    | ReopenSegment
    | Append
    | CloseSegment
    | FinishSegment
    | SetAsideEmpty
    | Fetch
    | Accept
    | Replace
    | Forget
    | Purge
    | Joined
    | Discard
)


@dataclass(slots=True)
class JournalState:
    """Holds what the files of one journal say.

    `segments` and `decisions` are by first transaction. `fetched` are segments that came from
    another node and wait for their decision. `damaged` are unfinished segments, by first
    transaction, with the reason why nobody can say where they end. `open_txid` is the segment
    that takes records; no file says it, and after a restart there is none, until its writer
    goes on with one.
    """

    promised_epoch: int = 0
    writer_epoch: int = 0
    committed_txid: int | None = None
    segments: dict[int, SegmentState] = field(default_factory=dict)
    decisions: dict[int, Decision] = field(default_factory=dict)
    fetched: dict[int, Decision] = field(default_factory=dict)
    damaged: dict[int, str] = field(default_factory=dict)
    open_txid: int | None = None
    is_joining: bool = False
    """It was formatted to take the place of a node that lost its disk: it does not know what
    that one acknowledged, and has no vote in a recovery (A13)."""
    lease_ms: int = 0
    """How long a writer may serve after it was answered, at the most."""

    def segment(self, first_txid: int) -> SegmentState | None:
        """Raises CorruptEditLog where there is one that nobody can read: to say that there is
        none would be to forget what this node has acknowledged."""
        damage = self.damaged.get(first_txid)
        if damage is not None:
            raise errors.CorruptEditLog(damage)
        return self.segments.get(first_txid)

    def latest(self) -> SegmentState | None:
        """Return the segment that begins last, of those that have a record. Raises
        CorruptEditLog."""
        for first_txid in sorted({*self.segments, *self.damaged}, reverse=True):
            segment = self.segment(first_txid)
            if segment is not None and not segment.is_empty:
                return segment
        return None

    @property
    def highest_txid(self) -> int:
        """The last transaction that was written; 0 if there is none."""
        return max((segment.last_txid for segment in self.segments.values()), default=0)

    @property
    def missing_count(self) -> int:
        """Transactions between the first segment and the last that are in no finished one, and
        not in the last either: journal sync is to bring them."""
        finished = [s for s in self.segments.values() if not s.in_progress]
        newest = max(self.segments.values(), key=lambda s: s.first_txid, default=None)
        if newest is not None and newest.in_progress:
            finished.append(newest)
        finished.sort(key=lambda segment: segment.first_txid)
        return sum(
            max(0, after.first_txid - before.last_txid - 1) for before, after in pairwise(finished)
        )

    def purgeable(self, min_txid: int) -> list[SegmentState]:
        """The segments that `Purge(min_txid)` removes."""
        return [
            segment
            for segment in self.segments.values()
            if segment.last_txid < min_txid and segment.first_txid != self.open_txid
        ]

    def apply(self, write: Write) -> None:
        """`write` has been carried out."""
        match write:
            case Promise(epoch):
                assert epoch > self.promised_epoch, "promises never go back"
                self.promised_epoch = epoch
            case BeginWriter(epoch):
                assert epoch <= self.promised_epoch, "a writer's epoch is promised first"
                self.writer_epoch = epoch
            case KeepLease(lease_ms):
                self.lease_ms = lease_ms
            case Commit(txid):
                self.committed_txid = txid
            case OpenSegment(first_txid):
                self.segments[first_txid] = SegmentState(first_txid, first_txid - 1, True)
                self.open_txid = first_txid
            case ReopenSegment(first_txid):
                assert self.open_txid is None, "one segment at a time is open"
                assert self.segments[first_txid].in_progress, "what is finished stays as it is"
                self.open_txid = first_txid
            case Append(segment_txid):
                segment = self.segments[segment_txid]
                assert self.open_txid == segment_txid, "records go to the open segment"
                assert write.first_txid == segment.last_txid + 1, "records leave no gap"
                self.segments[segment_txid] = replace(segment, last_txid=write.last_txid)
            case CloseSegment():
                self.open_txid = None
            case FinishSegment(first_txid, last_txid):
                assert self.segments[first_txid].last_txid == last_txid, "it ends as it is named"
                self.segments[first_txid] = SegmentState(first_txid, last_txid, False)
                if self.open_txid == first_txid:
                    self.open_txid = None
            case SetAsideEmpty(first_txid):
                assert self.segments[first_txid].is_empty, "nothing is set aside but what is empty"
                del self.segments[first_txid]
            case Fetch(segment, epoch):
                self.fetched[segment.first_txid] = Decision(segment, epoch)
            case Accept(decision):
                self.decisions[decision.segment.first_txid] = decision
            case Replace(first_txid):
                segment = self.fetched.pop(first_txid).segment
                self.segments[first_txid] = replace(segment, in_progress=True)
                self.damaged.pop(first_txid, None)
            case Forget(first_txid):
                del self.decisions[first_txid]
            case Purge(min_txid):
                self._purge(min_txid)
            case Joined():
                self.is_joining = False
            case Discard(from_txid):
                _drop(self.segments, lambda txid: txid >= from_txid)
                _drop(self.decisions, lambda txid: txid >= from_txid)
                _drop(self.fetched, lambda txid: txid >= from_txid)
                _drop(self.damaged, lambda txid: txid >= from_txid)
                if self.open_txid is not None and self.open_txid >= from_txid:
                    self.open_txid = None

    def _purge(self, min_txid: int) -> None:
        old = {segment.first_txid for segment in self.purgeable(min_txid)}
        _drop(self.segments, old.__contains__)
        _drop(self.damaged, lambda txid: txid < min_txid)
        _drop(self.decisions, lambda txid: txid < min_txid and txid not in self.segments)

    def restarted(self) -> JournalState:
        """What a node that starts makes of these files (A10). A segment that was fetched takes
        its place if its decision was kept, and is dropped if not. No segment is open."""
        state = JournalState(
            self.promised_epoch,
            self.writer_epoch,
            self.committed_txid,
            dict(self.segments),
            dict(self.decisions),
            {},
            dict(self.damaged),
            is_joining=self.is_joining,
            lease_ms=self.lease_ms,
        )
        for first_txid, fetched in self.fetched.items():
            decision = self.decisions.get(first_txid)
            if decision is not None and decision.epoch == fetched.epoch:
                state.fetched[first_txid] = fetched
                state.apply(Replace(first_txid, fetched.epoch))
        return state


def _drop(table: dict[int, T], is_meant: Callable[[int], bool]) -> None:
    for first_txid in [txid for txid in table if is_meant(txid)]:
        del table[first_txid]
