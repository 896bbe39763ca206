"""What is sent to one journal node, and what is not sent to it any more."""

from __future__ import annotations

import pytest

from howdah import errors
from howdah.namenode.state.quorum.logger_queue import LoggerQueue
from howdah.namenode.state.quorum.messages import (
    Answer,
    FinalizeSegment,
    Heartbeat,
    Request,
    SendEdits,
    StartSegment,
)


class Asked:
    """Remembers what became of one request."""

    def __init__(self) -> None:
        self.outcome: str | None = None

    def answered(self, node: str, answer: Answer, now_ms: int) -> None:
        self.outcome = "answered"

    def failed(self, node: str, error: OSError) -> None:
        self.outcome = type(error).__name__


def put(queue: LoggerQueue, *requests: Request) -> list[Asked]:
    asked = [Asked() for _ in requests]
    for request, caller in zip(requests, asked, strict=True):
        queue.put(request, caller)
    return asked


def edits(first_txid: int, count: int = 1, segment_txid: int = 1) -> SendEdits:
    return SendEdits(segment_txid, first_txid, count, b"x" * count)


def outcomes(asked: list[Asked]) -> list[str | None]:
    return [each.outcome for each in asked]


def taken(queue: LoggerQueue) -> Request:
    item = queue.pop()
    assert item is not None
    return item.request


def test_one_request_is_under_way_at_a_time_and_all_keep_their_order() -> None:
    queue = LoggerQueue("jn", 100)
    put(queue, StartSegment(1), edits(1))
    assert taken(queue) == StartSegment(1)
    assert queue.pop() is None
    queue.answered(None, 0)
    assert taken(queue) == edits(1)
    queue.answered(None, 0)
    assert queue.is_idle
    assert queue.acknowledged_txid == 1


def test_edits_that_wait_together_are_sent_together_but_the_first_record_alone() -> None:
    queue = LoggerQueue("jn", 100)
    asked = put(queue, edits(1), edits(2), edits(3, 2), FinalizeSegment(1, 4))
    assert taken(queue) == edits(1)
    queue.answered(None, 0)
    assert taken(queue) == SendEdits(1, 2, 3, b"xxx")
    queue.answered(None, 0)
    assert outcomes(asked) == ["answered", "answered", "answered", None]
    assert queue.queued_bytes == 0


def test_a_node_that_fails_is_left_out_until_a_segment_begins() -> None:
    queue = LoggerQueue("jn", 100)
    asked = put(queue, edits(2), edits(9), FinalizeSegment(1, 9), StartSegment(10))
    later = put(queue, edits(10, segment_txid=10))
    queue.pop()
    queue.failed(errors.CallTimeout("silent"))
    assert outcomes(asked) == ["CallTimeout", "JournalOutOfSync", "JournalOutOfSync", None]
    # The next segment waits already, so the node takes part in it.
    assert queue.out_of_sync is None
    assert taken(queue) == StartSegment(10)
    queue.failed(errors.Unreachable("down"))
    assert outcomes(later) == ["JournalOutOfSync"]
    assert queue.out_of_sync == "down"
    assert outcomes(put(queue, edits(11, segment_txid=10))) == ["JournalOutOfSync"]
    assert queue.queued_bytes == 0
    put(queue, StartSegment(12))
    assert queue.out_of_sync is None


@pytest.mark.req("FS-071")
def test_a_node_that_has_promised_a_younger_writer_says_so_as_long_as_it_is_left_out() -> None:
    """Or a writer whose slowest node refused it early would count one refusal too few later, and
    take the loss of its log for a loss of nodes."""
    queue = LoggerQueue("jn", 100)
    asked = put(queue, edits(2), edits(9))
    queue.pop()
    queue.failed(errors.WriterFenced("epoch 8"))
    assert outcomes(asked) == ["WriterFenced", "WriterFenced"]
    assert outcomes(put(queue, edits(10))) == ["WriterFenced"]
    put(queue, StartSegment(11))
    queue.pop()
    queue.failed(errors.Unreachable("down"))
    assert outcomes(put(queue, edits(12, segment_txid=11))) == ["JournalOutOfSync"]


def test_a_heartbeat_that_fails_leaves_nobody_out() -> None:
    queue = LoggerQueue("jn", 100)
    put(queue, Heartbeat())
    queue.pop()
    queue.failed(errors.CallTimeout("silent"))
    assert queue.out_of_sync is None


@pytest.mark.req("FS-060")
def test_a_node_that_is_too_slow_gets_what_waits_and_nothing_more() -> None:
    queue = LoggerQueue("jn", 10)
    first, second, third = put(queue, edits(2, 6), edits(8, 6), edits(14, 1))
    assert outcomes([first, second, third]) == [None, "JournalOutOfSync", "JournalOutOfSync"]
    assert queue.out_of_sync is not None
    assert taken(queue) == edits(2, 6)
    queue.answered(None, 0)
    assert first.outcome == "answered"


def test_a_batch_that_is_longer_than_the_limit_is_sent_when_nothing_waits() -> None:
    queue = LoggerQueue("jn", 10)
    assert outcomes(put(queue, edits(2, 50))) == [None]
    assert taken(queue) == edits(2, 50)
