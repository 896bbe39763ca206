"""Any calls of any writers, with crashes anywhere: what an acceptor must never do (FS-061)."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from howdah import errors
from howdah.journalnode.state.acceptor import Acceptor, Plan, RequestInfo
from howdah.journalnode.state.journal_state import (
    Accept,
    Append,
    Discard,
    FinishSegment,
    JournalState,
    OpenSegment,
    Purge,
    ReopenSegment,
    SegmentState,
)

EPOCHS = st.integers(1, 5)
TXIDS = st.integers(1, 12)
COMMITTED = st.none() | st.integers(0, 12)
CUT = st.none() | st.integers(0, 6)


class AcceptorMachine(RuleBasedStateMachine):
    """Calls come as they like. `cut` is how many changes of a call a crash lets through."""

    @initialize()
    def start(self) -> None:
        self.acceptor = Acceptor(JournalState(), 0, "ns1")
        self.serial = 0
        self.now_ms = 0
        self.promised = 0
        self.heard_ms: int | None = None

    def info(self, epoch: int, committed: int | None) -> RequestInfo:
        self.serial += 1
        return RequestInfo(epoch, self.serial, committed)

    def run(self, epoch: int, plan: Any, cut: int | None) -> None:
        """Carry a call out, or break it off, and hold what changed against the rules."""
        before = deepcopy(self.acceptor.state)
        self.now_ms += 7
        refused: errors.HowdahError | None = None
        try:
            planned: Plan[Any] = plan()
        except errors.HowdahError as error:
            refused = error
        if refused is not None:
            assert self.acceptor.state == before, "a call that is refused at once changes nothing"
            is_fenced = isinstance(refused, errors.WriterFenced)
            assert is_fenced or epoch >= before.promised_epoch
            return
        assert epoch >= before.promised_epoch, "a fenced writer gets no answer"
        done = planned.writes if cut is None else planned.writes[:cut]
        for write in done:
            self.acceptor.apply(write)
        state = self.acceptor.state
        replaced = {w.decision.segment.first_txid for w in done if isinstance(w, Accept)}
        begun = {w.first_txid for w in done if isinstance(w, OpenSegment)}
        finished = {w.first_txid for w in done if isinstance(w, FinishSegment)}
        drops = any(isinstance(w, Purge | Discard) for w in done)
        for first_txid, old in before.segments.items():
            new = state.segments.get(first_txid)
            if drops:
                continue
            if not old.in_progress:
                assert new == old, "a finished segment stays as it is"
            elif new is None:
                assert old.is_empty, "only a segment without records is set aside"
            elif first_txid not in replaced | begun:
                assert new.last_txid >= old.last_txid, "records are not lost"
            elif first_txid in begun:
                assert old.last_txid <= first_txid, "at most one record is written over"
            if new is not None and first_txid in replaced and old.holds(before.committed_txid):
                assert new.holds(before.committed_txid), "what is committed is not cut off"
        for first_txid, decision in before.decisions.items():
            now = state.decisions.get(first_txid)
            if now is None:
                assert (
                    drops
                    or first_txid in begun | finished
                    or not state.segments[first_txid].in_progress
                ), "a decision stays until its segment is finished, or begun anew"
            else:
                assert now.epoch >= decision.epoch, "decisions are of ever later epochs"
        for write in done:
            if isinstance(write, Append):
                assert state.writer_epoch == epoch, "only the writer of the segment appends"
            if isinstance(write, ReopenSegment):
                assert before.open_txid is None
                assert before.writer_epoch == before.promised_epoch == epoch, "its writer goes on"
                assert write.first_txid not in before.decisions, "nobody has decided its end"
        if len(done) < len(planned.writes):
            self.restart()
        elif planned.refusal is None:
            self.acceptor_answered(planned)

    def acceptor_answered(self, plan: Plan[Any]) -> None:
        for write in plan.writes:
            if isinstance(write, Accept):
                segment = write.decision.segment
                assert self.acceptor.state.segments[segment.first_txid].last_txid == (
                    segment.last_txid
                ), "what was accepted is there"

    @rule()
    def restart(self) -> None:
        self.now_ms += 100
        self.acceptor = Acceptor(self.acceptor.state.restarted(), self.now_ms, "ns1")

    @rule(epoch=EPOCHS, cut=CUT)
    def new_epoch(self, epoch: int, cut: int | None) -> None:
        self.run(epoch, lambda: self.acceptor.new_epoch(epoch, self.now_ms), cut)

    @rule(epoch=EPOCHS, committed=COMMITTED, cut=CUT, resigns=st.booleans())
    def heartbeat(self, epoch: int, committed: int | None, cut: int | None, resigns: bool) -> None:
        info = self.info(epoch, committed)
        self.run(epoch, lambda: self.acceptor.heartbeat(info, self.now_ms, resigns=resigns), cut)

    @rule(epoch=EPOCHS, committed=COMMITTED, first=TXIDS, cut=CUT)
    def start_segment(self, epoch: int, committed: int | None, first: int, cut: int | None) -> None:
        info = self.info(epoch, committed)
        self.run(epoch, lambda: self.acceptor.start_segment(info, first, -66, self.now_ms), cut)

    @rule(
        epoch=EPOCHS, committed=COMMITTED, count=st.integers(0, 3), off=st.integers(-1, 4), cut=CUT
    )
    def journal(
        self, epoch: int, committed: int | None, count: int, off: int, cut: int | None
    ) -> None:
        state = self.acceptor.state
        segment = state.open_txid or 1
        next_txid = state.segments[segment].last_txid + 1 if segment in state.segments else 1
        first = next_txid if off > 0 else max(1, next_txid + off)
        info = self.info(epoch, committed)
        self.run(
            epoch,
            lambda: self.acceptor.journal(info, segment, first, count, b"r" * count, self.now_ms),
            cut,
        )

    @rule(epoch=EPOCHS, committed=COMMITTED, first=TXIDS, length=st.integers(0, 4), cut=CUT)
    def finalize(
        self, epoch: int, committed: int | None, first: int, length: int, cut: int | None
    ) -> None:
        known = self.acceptor.state.segments.get(first)
        last = known.last_txid if known is not None and length else first + length
        info = self.info(epoch, committed)
        self.run(
            epoch,
            lambda: self.acceptor.finalize_segment(info, first, last, self.now_ms),
            cut,
        )

    @rule(epoch=EPOCHS, first=TXIDS, cut=CUT)
    def prepare(self, epoch: int, first: int, cut: int | None) -> None:
        info = self.info(epoch, None)
        decision = self.acceptor.state.decisions.get(first)

        def planned() -> Plan[Any]:
            plan = self.acceptor.prepare_recovery(info, first, self.now_ms)
            known = self.acceptor.state.segments.get(first)
            if decision is not None and (known is None or known.in_progress):
                assert plan.answer.segment == decision.segment, "a decision is told"
                assert plan.answer.accepted_epoch == decision.epoch
            return plan

        self.run(epoch, planned, cut)

    @rule(epoch=EPOCHS, first=TXIDS, length=st.integers(0, 4), cut=CUT)
    def accept(self, epoch: int, first: int, length: int, cut: int | None) -> None:
        info = self.info(epoch, None)
        segment = SegmentState(first, first + length, True)
        self.run(
            epoch,
            lambda: self.acceptor.accept_recovery(info, segment, "http://b", self.now_ms),
            cut,
        )

    @rule(epoch=EPOCHS, min_txid=TXIDS, cut=CUT)
    def purge(self, epoch: int, min_txid: int, cut: int | None) -> None:
        info = self.info(epoch, None)
        self.run(epoch, lambda: self.acceptor.purge(info, min_txid, self.now_ms), cut)

    @invariant()
    def promises_never_go_back(self) -> None:
        promised = self.acceptor.state.promised_epoch
        assert promised >= self.promised
        self.promised = promised

    @invariant()
    def the_writer_was_promised_its_epoch(self) -> None:
        assert self.acceptor.state.writer_epoch <= self.acceptor.state.promised_epoch

    @invariant()
    def one_segment_at_most_is_open_and_it_is_unfinished(self) -> None:
        state = self.acceptor.state
        if state.open_txid is not None:
            assert state.segments[state.open_txid].in_progress


TestAcceptorMachine = AcceptorMachine.TestCase
TestAcceptorMachine.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)
