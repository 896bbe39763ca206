"""A journal node keeps its promises, its decisions, and what it acknowledged (FS-060, FS-061)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from howdah import errors
from howdah.journalnode.state.acceptor import Acceptor, Plan, RequestInfo, T
from howdah.journalnode.state.journal_state import (
    Accept,
    Append,
    BeginWriter,
    CloseSegment,
    Commit,
    Decision,
    Fetch,
    FinishSegment,
    Forget,
    Joined,
    JournalState,
    OpenSegment,
    Promise,
    ReopenSegment,
    Replace,
    SegmentState,
    SetAsideEmpty,
    Write,
)

NOW_MS = 1_000_000
LAYOUT = -66


class Node:
    """An acceptor, a disk that never fails, and a writer's serial numbers."""

    def __init__(self, state: JournalState | None = None) -> None:
        self.acceptor = Acceptor(state or JournalState(), NOW_MS, "ns1")
        self.serial = 0

    @property
    def state(self) -> JournalState:
        return self.acceptor.state

    def info(self, epoch: int, committed_txid: int | None = None, lease_ms: int = 0) -> RequestInfo:
        self.serial += 1
        return RequestInfo(epoch, self.serial, committed_txid, lease_ms)

    def run(self, plan: Plan[T]) -> T:
        for write in plan.writes:
            self.acceptor.apply(write)
        return plan.result()

    def restart(self, now_ms: int = NOW_MS) -> None:
        self.acceptor = Acceptor(self.state.restarted(), now_ms, "ns1")

    # What a writer does.

    def promise(self, epoch: int, now_ms: int = NOW_MS) -> None:
        self.run(self.acceptor.new_epoch(epoch, now_ms))

    def begin(self, epoch: int, first_txid: int, lease_ms: int = 0, now_ms: int = NOW_MS) -> None:
        info = self.info(epoch, lease_ms=lease_ms)
        self.run(self.acceptor.start_segment(info, first_txid, LAYOUT, now_ms))

    def beat(
        self, epoch: int, lease_ms: int, now_ms: int = NOW_MS, *, resigns: bool = False
    ) -> None:
        info = self.info(epoch, lease_ms=lease_ms)
        self.run(self.acceptor.heartbeat(info, now_ms, resigns=resigns))

    def lease_left_ms(self, epoch: int, now_ms: int) -> int:
        """What a writer hears that takes this epoch."""
        return self.run(self.acceptor.new_epoch(epoch, now_ms)).lease_left_ms

    def write(
        self, epoch: int, segment: int, first: int, count: int = 1, committed: int | None = None
    ) -> tuple[Write, ...]:
        info = self.info(epoch, committed)
        plan = self.acceptor.journal(info, segment, first, count, b"r" * count, NOW_MS)
        self.run(plan)
        return plan.writes

    def finish(self, epoch: int, first: int, last: int) -> None:
        plan = self.acceptor.finalize_segment(self.info(epoch), first, last, NOW_MS)
        self.run(plan)


def writing(epoch: int = 1, last_txid: int = 3) -> Node:
    """A node with segment 1 open, and transactions 1 to `last_txid` in it."""
    node = Node()
    node.promise(epoch)
    node.begin(epoch, 1)
    if last_txid:
        node.write(epoch, 1, 1, last_txid)
    return node


# Epochs.


def test_a_younger_epoch_is_promised() -> None:
    node = Node()
    plan = node.acceptor.new_epoch(3, NOW_MS)
    assert plan.writes == (Promise(3),)
    assert node.run(plan).last_segment_txid is None
    assert node.state.promised_epoch == 3


@pytest.mark.parametrize("epoch", [2, 3])
def test_an_epoch_that_is_not_younger_than_the_promise_is_refused(epoch: int) -> None:
    node = Node()
    node.promise(3)
    with pytest.raises(errors.WriterFenced, match="last promise 3"):
        node.acceptor.new_epoch(epoch, NOW_MS)


def test_a_fenced_writer_gets_no_call_through() -> None:
    node = writing(epoch=1)
    node.promise(2)
    info = RequestInfo(1, 100)
    state = SegmentState(1, 3, True)
    for call in (
        lambda: node.acceptor.journal(info, 1, 4, 1, b"r", NOW_MS),
        lambda: node.acceptor.heartbeat(info, NOW_MS),
        lambda: node.acceptor.start_segment(info, 4, LAYOUT, NOW_MS),
        lambda: node.acceptor.finalize_segment(info, 1, 3, NOW_MS),
        lambda: node.acceptor.purge(info, 2, NOW_MS),
        lambda: node.acceptor.prepare_recovery(info, 1, NOW_MS),
        lambda: node.acceptor.accept_recovery(info, state, "http://b", NOW_MS),
    ):
        with pytest.raises(errors.WriterFenced, match="epoch 1 is less than the last promised"):
            call()


def test_a_call_of_a_younger_epoch_promises_it() -> None:
    node = Node()
    node.promise(1)
    plan = node.acceptor.heartbeat(node.info(4), NOW_MS)
    assert plan.writes == (Promise(4),)


def test_a_writer_that_began_no_segment_here_writes_nothing() -> None:
    node = writing(epoch=1)
    node.promise(2)
    with pytest.raises(errors.WriterFenced, match="not the current writer epoch"):
        node.write(2, 1, 4)


def test_calls_come_in_the_order_of_their_serial_numbers() -> None:
    node = writing()
    node.run(node.acceptor.heartbeat(RequestInfo(1, 50), NOW_MS))
    for serial in (49, 50):
        with pytest.raises(errors.JournalOutOfSync, match="was not higher"):
            node.acceptor.heartbeat(RequestInfo(1, serial), NOW_MS)


def test_serial_numbers_begin_again_with_an_epoch() -> None:
    node = Node()
    node.run(node.acceptor.heartbeat(RequestInfo(1, 50), NOW_MS))
    node.promise(2)
    node.run(node.acceptor.heartbeat(RequestInfo(2, 0), NOW_MS))
    with pytest.raises(errors.JournalOutOfSync):
        node.acceptor.heartbeat(RequestInfo(2, 0), NOW_MS)


def test_the_committed_transaction_never_goes_back() -> None:
    node = writing()
    node.run(node.acceptor.heartbeat(node.info(1, 3), NOW_MS))
    assert node.state.committed_txid == 3
    with pytest.raises(errors.IllegalArgument, match="backward from 3 to 2"):
        node.acceptor.heartbeat(node.info(1, 2), NOW_MS)


@pytest.mark.parametrize("number", [-1, 0, 1 << 63])
def test_numbers_that_are_none_of_javas_are_refused(number: int) -> None:
    node = Node()
    with pytest.raises(errors.IllegalArgument):
        node.acceptor.new_epoch(number, NOW_MS)
    with pytest.raises(errors.IllegalArgument):
        node.acceptor.start_segment(node.info(1), number, LAYOUT, NOW_MS)


# How long a former writer may still serve (LM-016). A lease of 500 ms ends 1 ms later than
# that, should the writer's clock be slow.


def test_a_node_that_never_had_a_writer_says_that_nobody_is_waited_for() -> None:
    assert Node().lease_left_ms(1, NOW_MS) == 0


@pytest.mark.req("LM-016")
def test_a_new_writer_hears_how_long_the_former_one_may_still_serve() -> None:
    node = writing()
    node.beat(1, 500, NOW_MS + 200)
    assert node.lease_left_ms(2, NOW_MS + 300) == 401


@pytest.mark.req("LM-016")
def test_the_lease_that_ends_last_counts_whoever_has_it() -> None:
    """Also when the writer behind it has a shorter one, or has named a shorter one since."""
    node = writing()
    node.beat(1, 60_000)
    node.beat(1, 500, NOW_MS + 100)
    assert node.lease_left_ms(2, NOW_MS + 100) == 59_960
    node.beat(2, 500, NOW_MS + 200)
    assert node.lease_left_ms(3, NOW_MS + 200) == 59_860
    assert node.lease_left_ms(4, NOW_MS + 70_000) == 0


def test_a_writer_that_names_no_lease_has_none() -> None:
    node = writing()
    assert node.lease_left_ms(2, NOW_MS) == 0


def test_a_writer_that_resigned_is_not_waited_for() -> None:
    node = writing()
    node.beat(1, 500, resigns=True)
    assert node.lease_left_ms(2, NOW_MS) == 0


def test_a_writer_that_resigned_speaks_for_none_before_it() -> None:
    node = writing()
    node.beat(1, 500, NOW_MS + 100)
    node.promise(2, NOW_MS + 150)
    node.beat(2, 500, NOW_MS + 160, resigns=True)
    assert node.lease_left_ms(3, NOW_MS + 200) == 401


@pytest.mark.req("LM-016")
def test_after_a_restart_leases_count_from_the_start_of_the_node() -> None:
    node = writing()
    node.beat(1, 500)
    node.restart(NOW_MS + 100)
    assert node.lease_left_ms(2, NOW_MS + 150) == 451


@pytest.mark.req("LM-016")
def test_a_length_is_kept_until_no_lease_of_that_length_can_be_held() -> None:
    node = writing()
    node.beat(1, 60_000)
    node.promise(2)
    node.begin(2, 4, lease_ms=500, now_ms=NOW_MS + 1000)
    assert node.state.lease_ms == 60_000
    node.begin(2, 5, lease_ms=500, now_ms=NOW_MS + 61_000)
    assert node.state.lease_ms == 500


def test_a_refused_writer_does_not_count_as_heard() -> None:
    node = writing()
    node.beat(1, 500)
    node.promise(2, NOW_MS)
    with pytest.raises(errors.WriterFenced):
        node.beat(1, 500, NOW_MS + 400)
    assert node.lease_left_ms(3, NOW_MS + 400) == 101


# Segments.


def test_a_segment_begins_with_the_epoch_of_its_writer() -> None:
    node = Node()
    node.promise(1)
    plan = node.acceptor.start_segment(node.info(1), 1, LAYOUT, NOW_MS)
    assert plan.writes == (BeginWriter(1), OpenSegment(1, LAYOUT))


def test_records_leave_no_gap() -> None:
    node = writing(last_txid=3)
    for first in (3, 5):
        with pytest.raises(errors.JournalOutOfSync, match="expecting nextTxId=4"):
            node.write(1, 1, first)
    node.write(1, 1, 4)
    assert node.state.segments[1] == SegmentState(1, 4, True)


def test_records_of_another_segment_close_the_one_that_is_open() -> None:
    node = writing()
    with pytest.raises(errors.JournalOutOfSync, match="thinks it is writing segment 4"):
        node.write(1, 4, 4)
    with pytest.raises(errors.JournalOutOfSync, match="no segment open"):
        node.write(1, 1, 4)


@pytest.mark.req("FS-061", "LM-015")
def test_a_writer_goes_on_with_its_segment_behind_a_start_of_the_node() -> None:
    node = writing(last_txid=3)
    node.restart()
    reopened, appended = node.write(1, 1, 4)
    assert reopened == ReopenSegment(1)
    assert isinstance(appended, Append)
    assert len(node.write(1, 1, 5)) == 1, "once"
    node.finish(1, 1, 5)


@pytest.mark.req("FS-061", "LM-015")
def test_a_writer_goes_on_with_a_segment_that_had_no_record_yet() -> None:
    node = writing(last_txid=0)
    node.restart()
    node.write(1, 1, 1)
    assert node.state.segments[1] == SegmentState(1, 1, True)


def _nothing(node: Node) -> None: ...


def _another_segment(node: Node) -> None:
    """It was refused a call, and begins anew."""
    node.begin(1, 4)
    node.restart()
    node.begin(1, 9)


def _damaged(node: Node) -> None:
    del node.state.segments[1]
    node.state.damaged[1] = "nobody can read it"


@pytest.mark.req("FS-061", "LM-015")
@pytest.mark.parametrize(
    ("before", "epoch", "first_txid"),
    [
        pytest.param(_nothing, 1, 5, id="the node lost a record"),
        pytest.param(_nothing, 1, 3, id="the node has more than the writer heard of"),
        pytest.param(_nothing, 2, 4, id="the segment is another writer's"),
        pytest.param(lambda node: node.promise(2), 1, 4, id="another writer was promised"),
        pytest.param(lambda node: node.finish(1, 1, 3), 1, 4, id="the segment is finished"),
        pytest.param(_another_segment, 1, 4, id="another segment was begun since"),
        pytest.param(_damaged, 1, 4, id="the segment cannot be read"),
        pytest.param(
            lambda node: node.run(node.acceptor.discard_segments(99)), 1, 4, id="a rollback"
        ),
    ],
)
def test_no_other_segment_takes_records_behind_a_start(
    before: Callable[[Node], object], epoch: int, first_txid: int
) -> None:
    node = writing(last_txid=3)
    node.restart()
    before(node)
    known = dict(node.state.segments)
    with pytest.raises((errors.JournalOutOfSync, errors.WriterFenced)):
        node.write(epoch, 1, first_txid)
    assert node.state.segments == known


@pytest.mark.req("FS-061", "LM-015")
def test_a_segment_about_which_was_decided_takes_no_records_behind_a_start() -> None:
    node = writing(last_txid=3)
    node.promise(2)
    accept = node.acceptor.accept_recovery(node.info(2), SegmentState(1, 3, True), "", NOW_MS)
    node.run(accept)
    node.begin(2, 9)
    node.restart()
    with pytest.raises(errors.JournalOutOfSync, match="no segment open"):
        node.write(2, 1, 4)


def test_what_is_committed_elsewhere_is_not_synced() -> None:
    node = writing(last_txid=1)
    lagging = node.write(1, 1, 2, 2, committed=3)
    assert lagging == (Commit(3), Append(1, 2, 2, b"rr", is_synced=False))
    assert node.write(1, 1, 4) == (Append(1, 4, 1, b"r", is_synced=True),)


def test_no_records_at_all_tell_the_committed_transaction() -> None:
    node = writing()
    assert node.write(1, 1, 0, 0, committed=2) == (Commit(2),)


def test_a_segment_ends_where_its_records_end() -> None:
    node = writing(last_txid=3)
    with pytest.raises(errors.JournalOutOfSync, match="only written up to txid 3"):
        node.finish(1, 1, 4)
    node.finish(1, 1, 3)
    assert node.state.segments[1] == SegmentState(1, 3, False)
    assert node.state.open_txid is None


def test_to_finish_a_segment_again_changes_nothing() -> None:
    node = writing(last_txid=3)
    node.finish(1, 1, 3)
    assert node.acceptor.finalize_segment(node.info(1), 1, 3, NOW_MS).writes == ()
    with pytest.raises(errors.IllegalArgument, match="different endTxId"):
        node.finish(1, 1, 2)


def test_a_segment_that_is_not_there_cannot_be_finished() -> None:
    node = Node()
    with pytest.raises(errors.JournalOutOfSync, match="No log file to finalize"):
        node.finish(1, 7, 9)


def test_a_finished_segment_is_never_begun_again() -> None:
    node = writing(last_txid=3)
    node.finish(1, 1, 3)
    for first in (1, 2, 3):
        with pytest.raises(errors.RemoteError, match="finalized segment") as refused:
            node.begin(1, first)
        assert refused.value.remote_class == "java.lang.IllegalStateException"


def test_a_segment_of_one_record_may_be_begun_again() -> None:
    node = writing(last_txid=1)
    node.promise(2)
    node.begin(2, 1)
    assert node.state.segments[1].is_empty


def test_a_segment_of_two_records_is_not_written_over() -> None:
    node = writing(last_txid=2)
    node.promise(2)
    with pytest.raises(errors.RemoteError, match="valid transactions"):
        node.begin(2, 1)


def test_a_segment_that_begins_closes_the_one_before() -> None:
    node = writing(last_txid=3)
    plan = node.acceptor.start_segment(node.info(1), 4, LAYOUT, NOW_MS)
    assert plan.writes == (CloseSegment(1), OpenSegment(4, LAYOUT))


def test_a_new_epoch_says_which_segment_begins_last() -> None:
    node = writing(last_txid=3)
    node.finish(1, 1, 3)
    node.begin(1, 4)
    plan = node.acceptor.new_epoch(2, NOW_MS)
    assert plan.writes == (Promise(2), CloseSegment(4), SetAsideEmpty(4))
    assert plan.answer.last_segment_txid == 1


def test_purging_leaves_what_is_needed() -> None:
    node = writing(last_txid=3)
    node.finish(1, 1, 3)
    node.begin(1, 4)
    node.write(1, 4, 4, 2)
    # What a namenode says, Hadoop's too, whose log is shorter than what it keeps.
    node.run(node.acceptor.purge(node.info(1), 0, NOW_MS))
    assert list(node.state.segments) == [1, 4]
    node.run(node.acceptor.purge(node.info(1), 3, NOW_MS))
    assert list(node.state.segments) == [1, 4]
    node.run(node.acceptor.purge(node.info(1), 100, NOW_MS))
    assert list(node.state.segments) == [4], "the open one stays"


def test_the_manifest_names_finished_segments_and_the_last_unfinished_one() -> None:
    node = writing(last_txid=3)
    node.finish(1, 1, 3)
    node.begin(1, 4)
    node.write(1, 4, 4, 2)
    finished, unfinished = SegmentState(1, 3, False), SegmentState(4, 5, True)
    assert node.acceptor.manifest(1, in_progress_ok=False) == [finished]
    assert node.acceptor.manifest(2, in_progress_ok=True) == [finished, unfinished]
    assert node.acceptor.manifest(4, in_progress_ok=True) == [unfinished]


def test_discarded_segments_are_gone_and_so_is_what_was_committed() -> None:
    node = writing(last_txid=3)
    node.finish(1, 1, 3)
    node.begin(1, 4)
    with pytest.raises(errors.RemoteError, match="cannot be cut"):
        node.acceptor.discard_segments(2)
    node.write(1, 4, 4, 3)
    node.state.committed_txid = 5
    node.run(node.acceptor.discard_segments(4))
    assert (list(node.state.segments), node.state.committed_txid) == ([1], 3)


def test_a_node_counts_what_it_misses() -> None:
    node = writing(last_txid=3)
    assert node.state.missing_count == 0
    node.begin(1, 9)
    node.write(1, 9, 9)
    assert node.state.missing_count == 0, "nothing is known before the first finished segment"
    node.finish(1, 9, 9)
    node.begin(1, 15)
    node.write(1, 15, 15)
    assert node.state.missing_count == 5


# Recovery.


def test_a_node_says_what_it_has() -> None:
    node = writing(last_txid=3)
    node.promise(2)
    prepared = node.run(node.acceptor.prepare_recovery(node.info(2), 1, NOW_MS))
    assert prepared.segment == SegmentState(1, 3, True)
    assert (prepared.accepted_epoch, prepared.writer_epoch) == (None, 1)


def test_a_segment_of_the_same_length_is_accepted_as_it_is() -> None:
    node = writing(last_txid=3)
    node.promise(2)
    segment = SegmentState(1, 3, True)
    plan = node.acceptor.accept_recovery(node.info(2), segment, "http://b", NOW_MS)
    assert plan.writes == (Accept(Decision(segment, 2)),)
    node.run(plan)
    prepared = node.acceptor.prepare_recovery(node.info(2), 1, NOW_MS).answer
    assert (prepared.segment, prepared.accepted_epoch) == (segment, 2)


@pytest.mark.parametrize("last_txid", [2, 5])
def test_a_segment_of_another_length_is_fetched_before_it_is_accepted(last_txid: int) -> None:
    node = writing(last_txid=3)
    node.promise(2)
    segment = SegmentState(1, last_txid, True)
    plan = node.acceptor.accept_recovery(node.info(2), segment, "http://b", NOW_MS)
    assert plan.writes == (
        Fetch(segment, 2, "http://b"),
        Accept(Decision(segment, 2)),
        Replace(1, 2),
    )
    node.run(plan)
    assert node.state.segments[1].last_txid == last_txid


@pytest.mark.parametrize(("done", "last_txid"), [(0, 3), (1, 3), (2, 5), (3, 5)])
def test_a_decision_is_whole_or_not_there_after_a_crash(done: int, last_txid: int) -> None:
    node = writing(last_txid=3)
    node.promise(2)
    segment = SegmentState(1, 5, True)
    plan = node.acceptor.accept_recovery(node.info(2), segment, "http://b", NOW_MS)
    for write in plan.writes[:done]:
        node.acceptor.apply(write)
    node.restart()
    assert node.state.segments[1].last_txid == last_txid
    assert node.state.fetched == {}
    prepared = node.acceptor.prepare_recovery(node.info(2), 1, NOW_MS).answer
    assert prepared.accepted_epoch == (2 if done > 1 else None)


def test_what_is_committed_is_never_cut_off() -> None:
    node = writing(last_txid=3)
    node.run(node.acceptor.heartbeat(node.info(1, 3), NOW_MS))
    node.promise(2)
    segment = SegmentState(1, 2, True)
    with pytest.raises(errors.RemoteError, match="already-committed txn 3"):
        node.run(node.acceptor.accept_recovery(node.info(2), segment, "http://b", NOW_MS))


def test_a_finished_segment_is_never_replaced() -> None:
    node = writing(last_txid=3)
    node.finish(1, 1, 3)
    node.promise(2)
    segment = SegmentState(1, 5, True)
    with pytest.raises(errors.RemoteError, match="is finished"):
        node.run(node.acceptor.accept_recovery(node.info(2), segment, "http://b", NOW_MS))


def test_a_finished_segment_is_no_decision_any_more() -> None:
    node = writing(last_txid=3)
    node.promise(2)
    segment = SegmentState(1, 3, True)
    node.run(node.acceptor.accept_recovery(node.info(2), segment, "http://b", NOW_MS))
    plan = node.acceptor.finalize_segment(node.info(2), 1, 3, NOW_MS)
    assert plan.writes == (FinishSegment(1, 3), Forget(1))


def test_an_empty_segment_is_no_decision() -> None:
    node = Node()
    segment = SegmentState(5, 4, True)
    plan = node.acceptor.accept_recovery(node.info(1), segment, "http://b", NOW_MS)
    with pytest.raises(errors.IllegalArgument, match="bad recovery state"):
        node.run(plan)


def test_a_damaged_segment_is_not_taken_for_a_missing_one() -> None:
    node = Node(JournalState(promised_epoch=1, damaged={1: "offset 8 is damaged"}))
    with pytest.raises(errors.CorruptEditLog, match="offset 8"):
        node.acceptor.new_epoch(2, NOW_MS)
    with pytest.raises(errors.CorruptEditLog, match="offset 8"):
        node.acceptor.prepare_recovery(node.info(1), 1, NOW_MS)


def test_a_segment_that_a_recovery_brings_takes_the_place_of_a_damaged_one() -> None:
    state = JournalState(promised_epoch=1, damaged={1: "offset 8 is damaged"})
    state.apply(Fetch(SegmentState(1, 5, True), 1, "http://b"))
    state.apply(Replace(1, 1))
    assert state.segment(1) == SegmentState(1, 5, True)


# A node in the place of one that lost its disk (LM-015).


def joining(promised_epoch: int = 3) -> Node:
    return Node(JournalState(promised_epoch=promised_epoch, is_joining=True))


def test_a_node_that_joins_has_no_vote() -> None:
    node = joining()
    with pytest.raises(errors.RetriableError, match="no vote until"):
        node.acceptor.promised_epoch()
    with pytest.raises(errors.RetriableError, match="no vote until"):
        node.acceptor.new_epoch(4, NOW_MS)
    with pytest.raises(errors.RetriableError, match="no vote until"):
        node.acceptor.prepare_recovery(node.info(4), 1, NOW_MS)


def test_a_node_that_joins_knows_what_the_others_promised() -> None:
    node = joining(promised_epoch=3)
    with pytest.raises(errors.WriterFenced):
        node.begin(2, 1)
    node.begin(3, 1)


def test_a_node_has_joined_with_the_first_record_of_a_new_segment() -> None:
    node = joining()
    node.begin(3, 7)
    node.restart()
    with pytest.raises(errors.RetriableError):
        node.acceptor.new_epoch(4, NOW_MS)
    node.begin(3, 7)
    # Synced though it is committed elsewhere: the vote rests on it.
    assert node.write(3, 7, 7, committed=7)[1:] == (Append(7, 7, 1, b"r", True), Joined())
    node.restart()
    assert node.acceptor.new_epoch(4, NOW_MS).answer.last_segment_txid == 7
