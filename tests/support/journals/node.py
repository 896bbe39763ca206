"""A journal node in memory: the real acceptor, and a disk that a crash cuts short.

A crash comes before or after any change of the disk (`Crashes`). What was not synced may be
lost, from any record on; so may `committed-txid`, which is written with best effort.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from howdah import errors
from howdah.formats.edits.codec import LAYOUT_VERSION
from howdah.journalnode.state import journal_state
from howdah.journalnode.state.acceptor import Acceptor, Plan, Prepared, RequestInfo, T
from howdah.namenode.state.quorum import messages
from howdah.namenode.state.quorum.messages import Answer, Request, Stamp

Records = tuple[bytes, ...]
END = b"\n"
"""Behind each record."""


class Crashed(errors.Unreachable):
    """The node died while it worked on a request."""


class Crashes:
    """When a node dies: at `at`, counted over all changes of all disks, once before and once
    after each; or by chance."""

    def __init__(self, dice: random.Random, chance: float = 0.0, at: int | None = None) -> None:
        self._dice = dice
        self._chance = chance
        self._at = at
        self.seen = 0

    def point(self) -> None:
        """Raises Crashed, if it is to be here."""
        self.seen += 1
        if self.seen == self._at or (self._chance and self._dice.random() < self._chance):
            raise Crashed("the journal node died")


@dataclass(slots=True)
class Disk:
    """The files of one journal."""

    state: journal_state.JournalState = field(default_factory=journal_state.JournalState)
    records: dict[int, Records] = field(default_factory=dict)
    synced: dict[int, int] = field(default_factory=dict)
    fetched: dict[tuple[int, int], Records] = field(default_factory=dict)

    def lose_power(self, dice: random.Random) -> None:
        for first_txid, records in self.records.items():
            kept = dice.randint(self.synced.get(first_txid, 0), len(records))
            if kept < len(records):
                self.records[first_txid] = records[:kept]
                segment = self.state.segments[first_txid]
                self.state.segments[first_txid] = replace(segment, last_txid=first_txid + kept - 1)
        if self.state.committed_txid is not None and dice.random() < 0.3:
            self.state.committed_txid = None


class Node:
    """One journal node."""

    def __init__(self, name: str, dice: random.Random, crashes: Crashes) -> None:
        self.name = name
        self.disk = Disk()
        self.peers: Mapping[str, Node] = {}
        self.starts = 0
        self._dice = dice
        self._crashes = crashes
        self._acceptor: Acceptor | None = None
        self._memory: tuple[int, list[bytes]] = (0, [])

    def __repr__(self) -> str:
        return self.name

    @property
    def is_up(self) -> bool:
        return self._acceptor is not None

    def start(self, now_ms: int) -> None:
        """From what is on the disk."""
        if self._acceptor is None:
            self.starts += 1
            self._memory = (0, [])
            restarted = self.disk.state.restarted()
            for first_txid, fetched in self.disk.state.fetched.items():
                slot = first_txid, fetched.epoch
                decision = self.disk.state.decisions.get(first_txid)
                if decision is not None and decision.epoch == fetched.epoch:
                    self.disk.records[first_txid] = self.disk.fetched[slot]
                    self.disk.synced[first_txid] = len(self.disk.records[first_txid])
            self.disk.fetched.clear()
            # The acceptor has the disk's state as its own: a write is applied to both at once.
            self.disk.state = restarted
            self._acceptor = Acceptor(restarted, now_ms, "j")

    def use(self, crashes: Crashes) -> None:
        self._crashes = crashes

    def crash(self) -> None:
        self._acceptor = None
        self.disk.lose_power(self._dice)

    def replace(self, others: Iterable[Node], now_ms: int) -> None:
        """Its disk is lost, and a new node has joined in its place: it promises what the others
        have, and journal sync has brought it what they have finished."""
        peers = list(others)
        epoch = max(peer.disk.state.promised_epoch for peer in peers)
        self._memory = (0, [])
        self.disk = Disk(journal_state.JournalState(promised_epoch=epoch, is_joining=True))
        for peer in peers:
            for segment, records in peer.finished().items():
                self.disk.state.segments[segment.first_txid] = segment
                self.disk.records[segment.first_txid] = records
                self.disk.synced[segment.first_txid] = len(records)
        self._acceptor = None
        self.start(now_ms)

    def sync(self, peer: Node) -> None:
        """Journal sync: what the peer has finished, and all of it is committed."""
        known, committed_txid = self.disk.state, self.disk.state.committed_txid or 0
        for segment, records in peer.finished().items():
            first_txid = segment.first_txid
            if segment.last_txid > committed_txid or known.open_txid == first_txid:
                continue
            # Nearly always it has the very segment: all others are looked at where it has not.
            same = known.segments.get(first_txid)
            if same is not None and _is_finished_within(same, segment):
                continue
            if not any(_is_finished_within(mine, segment) for mine in known.segments.values()):
                self._check_outdated(known.decisions.pop(first_txid, None), segment)
                known.segments[first_txid] = segment
                self.disk.records[first_txid] = records
                self.disk.synced[first_txid] = len(records)

    def _check_outdated(
        self, decision: journal_state.Decision | None, finished: journal_state.SegmentState
    ) -> None:
        """What is finished and committed is what a majority has accepted or written last. A
        decision about another end is a minority's, of an epoch that was over before."""
        if decision is None or decision.segment.last_txid == finished.last_txid:
            return
        alike = {
            name
            for name, node in self.peers.items()
            if node.disk.state.decisions.get(finished.first_txid) == decision
        } | {self.name}
        assert 2 * len(alike) < len(self.peers), f"{alike} accepted {decision}, not {finished}"
        assert decision.epoch < self.disk.state.promised_epoch, f"{decision}, not {finished}"

    @property
    def is_joining(self) -> bool:
        return self.disk.state.is_joining

    def finished(self) -> dict[journal_state.SegmentState, Records]:
        """What a reader can fetch."""
        disk = self.disk
        return {
            segment: disk.records[first_txid]
            for first_txid, segment in disk.state.segments.items()
            if not segment.in_progress
        }

    def edits_from(self, txid: int) -> Sequence[bytes]:
        """getJournaledEdits: what came last from writers, since the node has started. Raises
        OSError."""
        first_txid, records = self._memory
        if self._acceptor is None or not records or txid < first_txid:
            raise errors.JournalCacheMiss(f"{txid} is not in the memory of {self.name}")
        if txid > first_txid + len(records):
            raise errors.NewerTransaction(f"{txid} is behind the end")
        return records[txid - first_txid :]

    def unfinished_from(self, txid: int) -> Sequence[bytes]:
        """The file of the unfinished segment that begins last. Raises OSError."""
        newest = max(self.disk.state.segments.values(), key=lambda s: s.first_txid, default=None)
        if self._acceptor is None or newest is None or not newest.in_progress:
            raise errors.Unreachable(f"{self.name} has no unfinished segment")
        if not newest.first_txid <= txid <= newest.last_txid:
            raise errors.NewerTransaction(f"{txid} is not in {newest}")
        return self.disk.records[newest.first_txid][txid - newest.first_txid :]

    def call(self, request: Request, stamp: Stamp | None, now_ms: int) -> Answer:
        """Raises OSError: what the node refuses, or Crashed."""
        if self._acceptor is None:
            raise errors.Unreachable(f"{self.name} is down")
        try:
            return self._answer(self._acceptor, request, stamp, now_ms)
        except Crashed:
            self.crash()
            raise
        except errors.IllegalArgument as error:
            # As the writer's channel tells it.
            raise errors.ProtocolViolation(str(error)) from error

    def _answer(
        self, acceptor: Acceptor, request: Request, stamp: Stamp | None, now_ms: int
    ) -> Answer:
        if isinstance(request, messages.GetState):
            return messages.NodeState(acceptor.promised_epoch())
        if isinstance(request, messages.NewEpoch):
            promise = self._carried_out(acceptor.new_epoch(request.epoch, now_ms))
            return messages.Promise(promise.last_segment_txid, promise.lease_left_ms)
        assert stamp is not None
        info = _info(stamp)
        if isinstance(request, messages.PrepareRecovery):
            return self._prepared(acceptor.prepare_recovery(info, request.segment_txid, now_ms))
        self._carried_out(_plan(acceptor, request, info, now_ms))
        return None

    def _prepared(self, plan: Plan[Prepared]) -> messages.Prepared:
        found = self._carried_out(plan)
        segment = found.segment
        return messages.Prepared(
            None
            if segment is None
            else messages.SegmentState(segment.first_txid, segment.last_txid, segment.in_progress),
            found.accepted_epoch,
            found.writer_epoch,
            found.committed_txid,
            self.name,
        )

    def _carried_out(self, plan: Plan[T]) -> T:
        acceptor = self._acceptor
        assert acceptor is not None
        for write in plan.writes:
            self._crashes.point()
            try:
                self._carry_out(write)
            except errors.Unreachable:
                # As the server does it after any error: from the disk, once more.
                self._acceptor = None
                raise
            acceptor.apply(write)
            self._crashes.point()
        return plan.result()

    def _carry_out(self, write: journal_state.Write) -> None:
        disk = self.disk
        match write:
            case journal_state.OpenSegment(first_txid):
                disk.records[first_txid] = ()
                disk.synced[first_txid] = 0
            case journal_state.ReopenSegment(first_txid):
                disk.synced[first_txid] = len(disk.records[first_txid])
            case journal_state.Append(segment_txid):
                new = tuple(write.records.split(END)[:-1])
                assert len(new) == write.count, "records are as many as is said"
                disk.records[segment_txid] += new
                self._remember(write.first_txid, new)
                if write.is_synced:
                    disk.synced[segment_txid] = len(disk.records[segment_txid])
            case journal_state.CloseSegment(first_txid) | journal_state.FinishSegment(first_txid):
                disk.synced[first_txid] = len(disk.records[first_txid])
            case journal_state.SetAsideEmpty(first_txid):
                del disk.records[first_txid]
            case journal_state.Fetch(segment, epoch, from_url):
                disk.fetched[segment.first_txid, epoch] = self.peers[from_url].offered(segment)
            case journal_state.Replace(first_txid, epoch):
                disk.records[first_txid] = disk.fetched.pop((first_txid, epoch))
                disk.synced[first_txid] = len(disk.records[first_txid])

    def _remember(self, first_txid: int, records: Records) -> None:
        begin_txid, remembered = self._memory
        if first_txid != begin_txid + len(remembered):
            self._memory = begin_txid, remembered = first_txid, []
        remembered += records

    def offered(self, wanted: journal_state.SegmentState) -> Records:
        """A segment over HTTP. Raises Unreachable."""
        have = self.disk.state.segments.get(wanted.first_txid)
        if not self.is_up or have is None or have.last_txid != wanted.last_txid:
            raise errors.Unreachable(f"{self.name} does not offer {wanted}")
        return self.disk.records[wanted.first_txid]


def _is_finished_within(
    mine: journal_state.SegmentState, other: journal_state.SegmentState
) -> bool:
    """Whether a segment is finished and has a transaction of the other one."""
    return (
        not mine.in_progress
        and mine.first_txid <= other.last_txid
        and other.first_txid <= mine.last_txid
    )


def _plan(acceptor: Acceptor, request: Request, info: RequestInfo, now_ms: int) -> Plan[None]:
    match request:
        case messages.AcceptRecovery(segment, from_url):
            wanted = journal_state.SegmentState(
                segment.first_txid, segment.last_txid, segment.in_progress
            )
            return acceptor.accept_recovery(info, wanted, from_url, now_ms)
        case messages.StartSegment(first_txid):
            return acceptor.start_segment(info, first_txid, LAYOUT_VERSION, now_ms)
        case messages.SendEdits(segment_txid, first_txid, count, records):
            return acceptor.journal(info, segment_txid, first_txid, count, records, now_ms)
        case messages.FinalizeSegment(first_txid, last_txid):
            return acceptor.finalize_segment(info, first_txid, last_txid, now_ms)
        case messages.Heartbeat(resigns):
            return acceptor.heartbeat(info, now_ms, resigns=resigns)
        case messages.Purge(min_txid):
            return acceptor.purge(info, min_txid, now_ms)
    raise AssertionError(f"{request} is asked without a stamp")


def _info(stamp: Stamp) -> RequestInfo:
    return RequestInfo(stamp.epoch, stamp.serial, stamp.committed_txid, stamp.lease_ms)
