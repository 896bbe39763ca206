"""What follows from the answers of a majority: calls, the lease, what is committed."""

from __future__ import annotations

import pytest

from howdah import errors
from howdah.namenode.state.edit_log.journal import Batch
from howdah.namenode.state.quorum.edits_sender import Sender
from howdah.namenode.state.quorum.messages import (
    Answer,
    FinalizeSegment,
    Heartbeat,
    Request,
    SendEdits,
    Stamp,
    StartSegment,
)
from howdah.namenode.state.quorum.quorum import QuorumCall, QuorumLost, Steps, Writer

NODES = ("a", "b", "c")


def writer(epoch: int = 7, queue_bytes: int = 100) -> Writer:
    made = Writer(NODES, queue_bytes=queue_bytes, lease_ms=1000, heartbeat_ms=300)
    made.begin_epoch(epoch)
    return made


def answer(made: Writer, node: str, now_ms: int = 0, answer: Answer = None) -> Request:
    sending = made.pop(node, now_ms)
    assert sending is not None
    made.answered(sending, answer, now_ms)
    return sending.request


def fail(made: Writer, node: str, error: OSError, now_ms: int = 0) -> None:
    sending = made.pop(node, now_ms)
    assert sending is not None
    made.failed(sending, error, now_ms)


@pytest.mark.req("FS-060", "FS-061")
def test_a_call_is_decided_by_a_majority_either_way() -> None:
    call = QuorumCall("it", StartSegment(1), NODES)
    call.answered("a", None, 1)
    assert not call.is_decided
    call.failed("b", errors.Unreachable("down"))
    assert not call.is_decided
    call.answered("c", None, 2)
    assert call.result().keys() == {"a", "c"}
    call = QuorumCall("it", StartSegment(1), NODES)
    call.failed("a", errors.Unreachable("down"))
    call.expire("it took too long")
    call.answered("b", None, 3)
    with pytest.raises(QuorumLost, match=r"2 of 3 journal nodes, and 0 answered: a: down; b: it"):
        call.result()


@pytest.mark.req("FS-071")
def test_a_call_that_a_younger_writer_has_fenced_says_so() -> None:
    call = QuorumCall("it", StartSegment(1), NODES)
    call.failed("a", errors.WriterFenced("epoch 8"))
    call.failed("b", errors.WriterFenced("epoch 8"))
    with pytest.raises(errors.WriterFenced, match="epoch 8"):
        call.result()


def test_requests_carry_the_epoch_a_rising_number_and_what_is_committed() -> None:
    made = writer()
    made.enqueue("start", StartSegment(1))
    made.enqueue("send", SendEdits(1, 1, 3, b"xyz"))
    first = made.pop("a", 0)
    assert first is not None
    assert first.stamp == Stamp(7, 0, None, 1000)
    made.answered(first, None, 0)
    answer(made, "a")
    assert made.committed_txid is None
    answer(made, "b")
    answer(made, "b")
    assert made.committed_txid == 3
    made.enqueue("finish", FinalizeSegment(1, 3))
    finish = made.pop("a", 0)
    assert finish is not None
    assert finish.stamp == Stamp(7, 2, 3, 1000)


@pytest.mark.req("LM-016", "LM-018")
def test_the_lease_runs_from_when_the_majority_was_asked() -> None:
    made = writer()
    assert made.lease_until_ms() == 0
    made.enqueue("start", StartSegment(1))
    sent = {node: made.pop(node, now_ms) for node, now_ms in (("a", 10), ("b", 20), ("c", 30))}
    for node, now_ms in (("c", 500), ("a", 600), ("b", 700)):
        sending = sent[node]
        assert sending is not None
        made.answered(sending, None, now_ms)
        # Of two that have answered the earlier question counts, of three the one between.
        assert made.lease_until_ms() == {"c": 0, "a": 1010, "b": 1020}[node]
        assert made.proved_at_ms() == {"c": 0, "a": 10, "b": 20}[node]


def test_an_idle_node_gets_heartbeats_and_one_that_is_busy_does_not() -> None:
    made = writer()
    assert answer(made, "a", now_ms=1000) == Heartbeat()
    assert made.pop("a", 1299) is None
    assert made.next_heartbeat_ms("a") == 1300
    made.enqueue("start", StartSegment(1))
    assert answer(made, "a", now_ms=1300) == StartSegment(1)
    assert made.pop("a", 1500) is None
    made.resigned = True
    assert made.pop("a", 9000) is None
    assert made.next_heartbeat_ms("a") is None


@pytest.mark.req("FS-070", "LM-016")
def test_a_writer_is_lost_when_no_majority_is_left_that_has_not_fenced_it() -> None:
    made = writer()
    fail(made, "a", errors.WriterFenced("epoch 8"))
    fail(made, "b", errors.Unreachable("down"))
    assert made.lost is None
    fail(made, "c", errors.WriterFenced("epoch 8"))
    assert made.lost is not None
    assert "epoch 8" in made.lost


def test_a_node_that_was_left_out_and_answers_again_wants_a_segment() -> None:
    made = writer()
    made.enqueue("start", StartSegment(1))
    fail(made, "a", errors.Unreachable("down"))
    assert not made.wants_segment
    assert answer(made, "a", now_ms=400) == Heartbeat()
    assert made.wants_segment
    assert made.reports(0)[0].out_of_sync == "down"
    made.enqueue("start", StartSegment(5))
    assert not made.wants_segment


@pytest.mark.req("LM-015")
def test_a_node_that_joins_in_and_fails_again_waits_longer_each_time() -> None:
    made = writer()
    now_ms, paused_ms = 0, []
    for _ in range(12):
        made.enqueue("start", StartSegment(1))
        fail(made, "a", errors.RemoteError("No space left on device"), now_ms)
        failed_ms = now_ms
        while not made.wants_segment:
            now_ms += 1000
            answer(made, "a", now_ms)
        paused_ms.append(now_ms - failed_ms)
    assert paused_ms[:5] == [1000, 2000, 4000, 8000, 16000]
    assert paused_ms[-1] == 600_000
    made.enqueue("start", StartSegment(1))
    answer(made, "a", now_ms)
    made.enqueue("finish", FinalizeSegment(1, 2))
    answer(made, "a", now_ms)
    # It has taken part in a whole segment: what was before is forgotten.
    made.enqueue("start", StartSegment(3))
    fail(made, "a", errors.Unreachable("down"), now_ms)
    answer(made, "a", now_ms + 1000)
    assert made.wants_segment


# How edits are sent.


def begun(made: Writer) -> Sender:
    sender = Sender(made)
    steps = sender.begin(1)
    next(steps)
    for node in NODES:
        assert answer(made, node) == StartSegment(1)
    finish(steps)
    return sender


def finish(steps: Steps[None]) -> None:
    with pytest.raises(StopIteration):
        next(steps)


def batch(first_txid: int, count: int = 1) -> Batch:
    return Batch(first_txid, count, b"%d" % (first_txid % 10) * count)


@pytest.mark.req("FS-060", "FS-071")
def test_the_first_record_is_on_a_majority_before_anything_else_is_sent() -> None:
    made = writer()
    sender = begun(made)
    sender.append(batch(1))
    sender.append(batch(2))
    steps = sender.flush()
    next(steps)
    assert answer(made, "a") == SendEdits(1, 1, 1, b"1")
    assert made.pop("a", 0) is None
    answer(made, "b")
    next(steps)
    assert answer(made, "a") == SendEdits(1, 2, 1, b"2")
    answer(made, "c")
    answer(made, "c")
    finish(steps)
    # From here on batches are sent as they come.
    sender.append(batch(3))
    assert answer(made, "a") == SendEdits(1, 3, 1, b"3")


def test_no_burst_is_too_much_for_all_nodes_at_once() -> None:
    made = writer(queue_bytes=20)
    sender = begun(made)
    sender.append(batch(1))
    for node in NODES:
        answer(made, node)
    for first_txid in range(2, 42, 4):
        sender.append(batch(first_txid, 4))
    steps = sender.flush()
    sent = 1
    while True:
        try:
            next(steps)
        except StopIteration:
            break
        for node in NODES:
            while (sending := made.pop(node, 0)) is not None:
                assert isinstance(sending.request, SendEdits)
                sent = max(sent, sending.request.last_txid)
                made.answered(sending, None, 0)
    assert (sent, made.committed_txid) == (41, 41)
    assert [report.out_of_sync for report in made.reports(0)] == [None] * 3


@pytest.mark.req("LM-016", "LM-018")
def test_only_who_has_ended_a_segment_and_could_serve_may_resign() -> None:
    made = writer()
    sender = Sender(made)
    assert not sender.may_resign(1000, serve_from_ms=0)
    steps = sender.begin(1)
    next(steps)
    for node in NODES:
        answer(made, node)
    finish(steps)
    sender.append(batch(1))
    assert not sender.may_resign(1000, serve_from_ms=0)
    for node in NODES:
        answer(made, node)
    steps = sender.end(1)
    next(steps)
    for node in NODES:
        answer(made, node)
    finish(steps)
    assert sender.may_resign(1000, serve_from_ms=1000)
    # The former writer may serve until then.
    assert not sender.may_resign(1000, serve_from_ms=1001)
    fail(made, "a", errors.WriterFenced("epoch 8"), 1000)
    fail(made, "b", errors.WriterFenced("epoch 8"), 1000)
    assert not sender.may_resign(1000, serve_from_ms=0)


@pytest.mark.req("LM-016")
def test_nodes_that_fail_or_say_nothing_are_named_also_where_nothing_is_written() -> None:
    made = writer()
    for node in NODES:
        answer(made, node, 0)
    assert made.silence(1999) is None
    assert made.silence(2000) is not None
    answer(made, "a", 2000)
    fail(made, "b", errors.Unreachable("down"), 2000)
    silence = made.silence(2000)
    assert silence is not None
    assert silence.reasons == "b: down; c: no answer for 2.0 s"
    assert not silence.is_certain, "c may be slow"
    fail(made, "c", errors.Unreachable("down, too"), 2000)
    silence = made.silence(2000)
    assert silence is not None
    assert silence.is_certain
    assert [report.silent for report in made.reports(2000)] == ["", "down", "down, too"]
    answer(made, "b", 2300)
    assert [report.silent for report in made.reports(2300)] == ["", "", "down, too"]


def test_nobody_is_said_to_be_silent_to_a_writer_that_has_resigned() -> None:
    """It asks nobody any more."""
    made = writer()
    for node in NODES:
        answer(made, node, 0)
    made.resigned = True
    assert made.silence(5000) is None
