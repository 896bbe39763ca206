"""The rules by which a journal node answers for one journal (pure). Hadoop: Journal.

The writer's side is Paxos by segments, and this is its acceptor. A call is answered in the
steps below, which docs/how-it-works/journal.md tells at length:

    A1  an older epoch than the promised one is refused; a younger one is promised
    A2  calls of an epoch come in the order of their serial numbers
    A3  the committed transaction never goes back
    A4  newEpoch      promise, and say which segment begins last
    A5  startLogSegment   the epoch becomes the writer's; a new unfinished segment
    A6  journal       records of the writer's epoch, to the open segment, without a gap; a start
                      of the node closes no segment to the writer that began it
    A7  finalizeLogSegment   the segment ends where the writer says, or the node is out of sync
    A8  prepareRecovery   say what is accepted, or else what is there
    A9  acceptRecovery    fetch what differs, keep the decision, then put it in place
    A10 a start, in `state` and `journal_storage`; A11 and A12 are `sync` and `edits_cache`
    A13 a node that lost its disk has no vote until it has a record of a new segment

What the writers get for it:

    - a promise never goes back, so a writer that is fenced never writes again
    - what was acknowledged is durable, and no recovery that asks this node misses it
    - a decision that was accepted stays until the segment is finished, or a later epoch's

Every call gives a `Plan`: the changes to carry out, in order, and then the answer or the
refusal. Nothing here waits or fails half-way; `howdah.journalnode.state.journal_state` says how
the two are brought together. `now_ms` is a clock that goes on while the machine sleeps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from howdah import errors
from howdah.journalnode.state.journal_state import (
    MAX_NUMBER,
    Accept,
    Append,
    BeginWriter,
    CloseSegment,
    Commit,
    Decision,
    Discard,
    Fetch,
    FinishSegment,
    Forget,
    Joined,
    JournalState,
    KeepLease,
    OpenSegment,
    Promise,
    Purge,
    ReopenSegment,
    Replace,
    SegmentState,
    SetAsideEmpty,
    Write,
)

T = TypeVar("T")

ILLEGAL_STATE: Final = "java.lang.IllegalStateException"
ILLEGAL_ARGUMENT: Final = "java.lang.IllegalArgumentException"


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """What a writer says with every call. Hadoop: RequestInfo."""

    epoch: int
    serial: int
    committed_txid: int | None = None
    lease_ms: int = 0
    """So long after it was answered the writer may serve."""


@dataclass(frozen=True, slots=True)
class Plan(Generic[T]):
    """The changes that come before the answer, and the answer. With a `refusal` the changes
    are carried out all the same, and the caller gets the refusal."""

    writes: tuple[Write, ...]
    answer: T
    refusal: errors.HowdahError | None = None

    def result(self) -> T:
        """What the caller gets when the changes are carried out. Raises the refusal."""
        if self.refusal is not None:
            raise self.refusal
        return self.answer


@dataclass(frozen=True, slots=True)
class NewEpoch:
    """The segment that begins last, if there is one, and how long writers of older epochs may
    still serve."""

    last_segment_txid: int | None
    lease_left_ms: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a node knows of the end of a segment. `accepted_epoch` is there if `segment` is a
    decision that was accepted."""

    segment: SegmentState | None
    accepted_epoch: int | None
    writer_epoch: int
    committed_txid: int | None


class Acceptor:
    """Plans the calls to one journal of a node, one at a time: the writes of one are applied, or
    the acceptor is thrown away, before the next."""

    def __init__(
        self, state: JournalState, now_ms: int, journal_id: str, *, may_reopen: bool = True
    ) -> None:
        """`state` is `restarted`. Who wrote before may have been answered a moment ago, and
        `may_reopen` the segment that the start closed."""
        assert state.open_txid is None, "no segment is open after a start"
        self.state = state
        self._journal_id = journal_id
        self._may_reopen = may_reopen
        """No segment was opened or closed since the start."""
        self._heard = (0, -1)
        """Epoch and serial number of the writer's latest call."""
        self._writer_until_ms = _end_of(state.lease_ms, now_ms)
        """Until then the writer may serve; 0 if it has resigned."""
        self._earlier_until_ms = 0
        """Until then one of an older epoch may. Who resigns speaks for itself alone."""

    def apply(self, write: Write) -> None:
        """`write` has been carried out."""
        if isinstance(write, OpenSegment | ReopenSegment | Accept | Discard):
            self._may_reopen = False
        self.state.apply(write)

    def promised_epoch(self) -> int:
        """What a writer asks before it chooses its epoch. A node without a vote does not tell:
        the writer is to hear those who have one."""
        self._check_vote()
        return self.state.promised_epoch

    def new_epoch(self, epoch: int, now_ms: int) -> Plan[NewEpoch]:
        """A4. The caller has to be of the same namespace; that is checked before."""
        state = self.state
        self._check_vote()
        _check_number("epoch", epoch)
        if epoch <= state.promised_epoch:
            raise errors.WriterFenced(
                f"Proposed epoch {epoch} <= last promise {state.promised_epoch} ; {self._journal}"
            )
        self._succeed()
        left_ms = max(0, self._earlier_until_ms - now_ms)
        latest = state.latest()
        writes = (Promise(epoch), *self._abort(), *self._set_aside_empty())
        return Plan(writes, NewEpoch(latest.first_txid if latest else None, left_ms))

    def _succeed(self) -> None:
        """The writer is one of an older epoch from here on."""
        self._earlier_until_ms = max(self._earlier_until_ms, self._writer_until_ms)
        self._writer_until_ms = 0

    def start_segment(
        self, info: RequestInfo, first_txid: int, layout_version: int, now_ms: int
    ) -> Plan[None]:
        """A5. What another writer began at the same transaction, and nobody recovered, had at
        most one record, and that was never acknowledged."""
        writes = self._check(info, now_ms)
        _check_number("transaction", first_txid)
        writes += self._abort()
        refusal = self._why_not_start(first_txid)
        if refusal is not None:
            return Plan(tuple(writes), None, refusal)
        if info.epoch != self.state.writer_epoch:
            writes.append(BeginWriter(info.epoch))
        writes += self._forget(first_txid)
        writes.append(OpenSegment(first_txid, layout_version))
        writes += self._shorten_lease(info.lease_ms, now_ms)
        return Plan(tuple(writes), None)

    def _shorten_lease(self, lease_ms: int, now_ms: int) -> list[Write]:
        """After a restart the kept length counts from then on: it may be shorter when whatever
        is left of leases ends within that time."""
        last_ms = max(self._earlier_until_ms, self._writer_until_ms)
        is_enough = last_ms <= _end_of(lease_ms, now_ms)
        return [KeepLease(lease_ms)] if lease_ms < self.state.lease_ms and is_enough else []

    def _why_not_start(self, first_txid: int) -> errors.HowdahError | None:
        for segment in self.state.segments.values():
            if not segment.in_progress and segment.holds(first_txid):
                return self._illegal(f"Already have a finalized segment {segment}")
        existing = self.state.segment(first_txid)
        if existing is not None and existing.last_txid > first_txid:
            return self._illegal(f"The segment {existing} seems to contain valid transactions")
        return None

    def journal(
        self,
        info: RequestInfo,
        segment_txid: int,
        first_txid: int,
        count: int,
        records: bytes,
        now_ms: int,
    ) -> Plan[None]:
        """A6. `records` are `count` whole records from `first_txid` on; that is checked
        before. None at all is a call that only tells the committed transaction."""
        writes = self._check(info, now_ms)
        state = self.state
        if info.epoch != state.writer_epoch:
            refusal = errors.WriterFenced(
                f"IPC's epoch {info.epoch} is not the current writer epoch  "
                f"{state.writer_epoch} ; {self._journal}"
            )
            return Plan(tuple(writes), None, refusal)
        if not count:
            return Plan(tuple(writes), None)
        open_txid = state.open_txid
        if open_txid is None and self._can_reopen(segment_txid, first_txid):
            open_txid = segment_txid
            writes.append(ReopenSegment(segment_txid))
        if open_txid is None:
            return self._out_of_sync(writes, "Can't write, no segment open")
        if open_txid != segment_txid:
            # The writer failed to end the one and to begin the other: it must not go on here.
            was_open = open_txid
            return self._out_of_sync(
                [*writes, *self._abort()],
                f"Writer out of sync: it thinks it is writing segment {segment_txid} but "
                f"current segment is {was_open}",
            )
        expected_txid = state.segments[segment_txid].last_txid + 1
        if first_txid != expected_txid:
            return self._out_of_sync(
                writes, f"Can't write txid {first_txid} expecting nextTxId={expected_txid}"
            )
        last_txid = first_txid + count - 1
        _check_number("transaction", last_txid)
        # What is committed is durable on a majority without this node, which catches up.
        committed = state.committed_txid if info.committed_txid is None else info.committed_txid
        is_synced = last_txid > (committed or 0) or state.is_joining
        writes.append(Append(segment_txid, first_txid, count, records, is_synced))
        if state.is_joining:
            writes.append(Joined())
        return Plan(tuple(writes), None)

    def _can_reopen(self, segment_txid: int, first_txid: int) -> bool:
        """Whether the writer of the node's epoch goes on, behind a start of the node, where it
        was. The segment is that writer's, since nobody else began one here after it, or has the
        one record with which that writer began it too. So what is here is the beginning of what
        the writer sent, and the records that come follow on it, if nothing of it was lost."""
        segment = self.state.segments.get(segment_txid)
        return (
            self._may_reopen
            and segment is not None
            and segment.in_progress
            and segment_txid not in self.state.decisions
            and segment_txid not in self.state.damaged
            and first_txid == segment.last_txid + 1
        )

    def heartbeat(self, info: RequestInfo, now_ms: int, *, resigns: bool = False) -> Plan[None]:
        """A1 to A3. A writer that `resigns` sends nothing any more."""
        writes = self._check(info, now_ms)
        if resigns:
            self._writer_until_ms = 0
        return Plan(tuple(writes), None)

    def finalize_segment(
        self, info: RequestInfo, first_txid: int, last_txid: int, now_ms: int
    ) -> Plan[None]:
        """A7. Once it is finished, nobody ever decides on another length."""
        writes = self._check(info, now_ms)
        segment = self.state.segment(first_txid)
        if segment is None:
            return self._out_of_sync(
                writes, f"No log file to finalize at transaction ID {first_txid}"
            )
        if segment.last_txid != last_txid and segment.in_progress:
            if first_txid == self.state.open_txid:
                writes += self._abort()
            return self._out_of_sync(
                writes,
                f"Trying to finalize in-progress log segment {first_txid} to end at txid "
                f"{last_txid} but only written up to txid {segment.last_txid}",
            )
        if segment.last_txid != last_txid:
            refusal = errors.IllegalArgument(
                f"Trying to re-finalize already finalized log {segment} with different "
                f"endTxId {last_txid} ; {self._journal}",
                java_class=ILLEGAL_ARGUMENT,
            )
            return Plan(tuple(writes), None, refusal)
        if segment.is_empty:
            return self._out_of_sync(writes, f"Segment {first_txid} has no record to end with")
        if segment.in_progress:
            writes.append(FinishSegment(first_txid, last_txid))
        writes += self._forget(first_txid)
        return Plan(tuple(writes), None)

    def purge(self, info: RequestInfo, min_txid: int, now_ms: int) -> Plan[None]:
        """Images have made everything before `min_txid` superfluous; 0 where nothing is."""
        writes = self._check(info, now_ms)
        _check_number("transaction", min_txid, least=0)
        return Plan((*writes, Purge(min_txid)), None)

    # Recovery.

    def prepare_recovery(self, info: RequestInfo, segment_txid: int, now_ms: int) -> Plan[Prepared]:
        """A8. A finished segment counts as a decision that everybody accepted."""
        self._check_vote()
        writes = self._check(info, now_ms)
        writes += self._abort()
        state = self.state
        segment = state.segment(segment_txid)
        decision = state.decisions.get(segment_txid)
        accepted_epoch = None
        if segment is not None and segment.is_empty:
            if decision is None:
                writes.append(SetAsideEmpty(segment_txid))
            segment = None
        if decision is not None and (segment is None or segment.in_progress):
            if segment is None or segment.last_txid != decision.segment.last_txid:
                raise errors.CorruptEditLog(
                    f"The segment that was accepted as {decision} is {segment} on disk ; "
                    f"{self._journal}"
                )
            segment, accepted_epoch = decision.segment, decision.epoch
        committed = state.committed_txid if info.committed_txid is None else info.committed_txid
        prepared = Prepared(segment, accepted_epoch, state.writer_epoch, committed)
        return Plan(tuple(writes), prepared)

    def accept_recovery(
        self, info: RequestInfo, segment: SegmentState, from_url: str, now_ms: int
    ) -> Plan[None]:
        """A9. The decision is the moment from which the node counts as having the segment: a
        crash before it leaves what was there, and one behind it is mended at the start."""
        writes = self._check(info, now_ms)
        writes += self._abort()
        state = self.state
        first_txid = segment.first_txid
        _check_number("transaction", first_txid)
        _check_number("transaction", segment.last_txid)
        refusal = self._why_not_accept(info, segment)
        if refusal is not None:
            return Plan(tuple(writes), None, refusal)
        accept = Accept(Decision(segment, info.epoch))
        current = state.segment(first_txid)
        if current is not None and current.last_txid == segment.last_txid:
            return Plan((*writes, accept), None)
        fetch = Fetch(segment, info.epoch, from_url)
        return Plan((*writes, fetch, accept, Replace(first_txid, info.epoch)), None)

    def _why_not_accept(
        self, info: RequestInfo, segment: SegmentState
    ) -> errors.HowdahError | None:
        state = self.state
        if segment.is_empty:
            return errors.IllegalArgument(
                f"bad recovery state for segment {segment.first_txid}: {segment} ; {self._journal}",
                java_class=ILLEGAL_ARGUMENT,
            )
        decision = state.decisions.get(segment.first_txid)
        if decision is not None and decision.epoch > info.epoch:
            return self._illegal(f"{decision} was accepted of a later epoch than {info.epoch}")
        current = state.segment(segment.first_txid)
        if current is None or current.last_txid == segment.last_txid:
            return None
        if not current.in_progress:
            return self._illegal(f"{current} is finished, and is never replaced by {segment}")
        committed = state.committed_txid
        if current.holds(committed) and not segment.holds(committed):
            return self._illegal(
                f"Cannot replace segment {current} with new segment {segment}: would discard "
                f"already-committed txn {committed}"
            )
        return None

    # Without an epoch.

    def manifest(self, since_txid: int, *, in_progress_ok: bool) -> list[SegmentState]:
        """Return the segments that hold something from `since_txid` on. The one that is written, or
        was written last, is the only unfinished one among them."""
        segments = self.state.segments.values()
        listed = [s for s in segments if not s.in_progress and s.last_txid >= since_txid]
        newest = max(segments, key=lambda segment: segment.first_txid, default=None)
        if in_progress_ok and newest is not None and newest.in_progress and not newest.is_empty:
            listed.append(newest)
        return sorted(listed, key=lambda segment: segment.first_txid)

    def discard_segments(self, from_txid: int) -> Plan[None]:
        """Give up everything from a transaction on, when an upgrade is rolled back. What is
        committed before it stays known; nothing is called committed that was not."""
        _check_number("transaction", from_txid)
        for segment in self.state.segments.values():
            if segment.first_txid < from_txid <= segment.last_txid:
                raise self._illegal(f"{segment} cannot be cut at transaction {from_txid}")
        committed = self.state.committed_txid
        given_up = committed is not None and committed >= from_txid
        commits = (Commit(from_txid - 1),) if given_up else ()
        open_txid = self.state.open_txid
        closes = self._abort() if open_txid is not None and open_txid >= from_txid else []
        return Plan((*closes, Discard(from_txid), *commits), None)

    def close(self) -> tuple[Write, ...]:
        """What comes before the directory is put away: the open segment takes no more records."""
        return tuple(self._abort())

    # The steps that calls have in common.

    def _check(self, info: RequestInfo, now_ms: int) -> list[Write]:
        """A1 to A3, and the changes that come of them. Raises what the caller is told; then
        nothing has changed."""
        state = self.state
        if info.epoch < state.promised_epoch:
            raise errors.WriterFenced(
                f"IPC's epoch {info.epoch} is less than the last promised epoch "
                f"{state.promised_epoch} ; {self._journal}"
            )
        _check_number("epoch", info.epoch)
        heard_epoch, heard_serial = self._heard
        if info.epoch == heard_epoch and info.serial <= heard_serial:
            raise errors.JournalOutOfSync(
                f"IPC serial {info.serial} was not higher than prior highest IPC serial "
                f"{heard_serial} ; {self._journal}"
            )
        writes: list[Write] = []
        if info.epoch > state.promised_epoch:
            self._succeed()
            writes.append(Promise(info.epoch))
        if info.committed_txid is not None and info.committed_txid != state.committed_txid:
            _check_number("committed transaction", info.committed_txid, least=0)
            if info.committed_txid < (state.committed_txid or 0):
                raise errors.IllegalArgument(
                    f"Client trying to move committed txid backward from "
                    f"{state.committed_txid} to {info.committed_txid} ; {self._journal}",
                    java_class=ILLEGAL_ARGUMENT,
                )
            writes.append(Commit(info.committed_txid))
        if info.lease_ms > state.lease_ms:
            writes.append(KeepLease(info.lease_ms))
        self._heard = (info.epoch, info.serial)
        self._writer_until_ms = max(self._writer_until_ms, _end_of(info.lease_ms, now_ms))
        return writes

    def _check_vote(self) -> None:
        """A13. Raises RetriableError."""
        if self.state.is_joining:
            raise errors.RetriableError(
                f"this journal node has taken the place of one that lost its disk, and has no "
                f"vote until a writer begins a segment at it ; {self._journal}"
            )

    def _abort(self) -> list[Write]:
        open_txid = self.state.open_txid
        return [] if open_txid is None else [CloseSegment(open_txid)]

    def _forget(self, first_txid: int) -> list[Write]:
        return [Forget(first_txid)] if first_txid in self.state.decisions else []

    def _set_aside_empty(self) -> list[Write]:
        latest = self.state.latest()
        after = latest.first_txid if latest is not None else 0
        empty = (s.first_txid for s in self.state.segments.values() if s.is_empty)
        return [SetAsideEmpty(first_txid) for first_txid in empty if first_txid > after]

    def _out_of_sync(self, writes: list[Write], reason: str) -> Plan[None]:
        return Plan(tuple(writes), None, errors.JournalOutOfSync(f"{reason} ; {self._journal}"))

    def _illegal(self, reason: str) -> errors.HowdahError:
        return errors.RemoteError(f"{reason} ; {self._journal}", java_class=ILLEGAL_STATE)

    @property
    def _journal(self) -> str:
        return f"journal id: {self._journal_id}"


def _end_of(lease_ms: int, now_ms: int) -> int:
    """When a lease ends at the latest whose holder is answered now. Its clock may be slower
    than this node's by a thousandth."""
    return now_ms + lease_ms + (lease_ms + 999) // 1000 if lease_ms else 0


def _check_number(name: str, number: int, least: int = 1) -> None:
    """Raise IllegalArgument for a number that is out of range."""
    if not least <= number <= MAX_NUMBER:
        raise errors.IllegalArgument(
            f"{number} is no {name}: it is from {least} to {MAX_NUMBER}",
            java_class=ILLEGAL_ARGUMENT,
        )
