"""Which end of a segment a new writer chooses, and how long it waits for the former one."""

from __future__ import annotations

import pytest

from howdah import errors
from howdah.namenode.state.quorum.majority import agreed, agreed_bytes, trusted_records
from howdah.namenode.state.quorum.messages import (
    Answer,
    Heartbeat,
    NodeState,
    Prepared,
    PrepareRecovery,
    Promise,
    SegmentState,
)
from howdah.namenode.state.quorum.quorum import Writer
from howdah.namenode.state.quorum.recovery import Recovered, choose, recover

NODES = ("a", "b", "c")


def prepared(
    last_txid: int | None,
    *,
    writer: int = 1,
    accepted: int | None = None,
    finished: bool = False,
    committed: int | None = None,
) -> Prepared:
    segment = None if last_txid is None else SegmentState(3, last_txid, not finished)
    return Prepared(segment, accepted, writer, committed, f"{last_txid} of {writer}")


def chosen(*answers: Prepared) -> str | None:
    best = choose(3, dict(zip(NODES, answers, strict=False)))
    return None if best is None else best.url


@pytest.mark.req("FS-055", "FS-071")
def test_what_a_majority_may_have_had_is_chosen() -> None:
    assert chosen(prepared(5), prepared(7)) == "7 of 1"
    # A later writer has decided on less: what is longer was never acknowledged.
    assert chosen(prepared(9, writer=1), prepared(4, writer=2)) == "4 of 2"
    assert chosen(prepared(9, writer=2), prepared(4, writer=1, accepted=3)) == "4 of 1"
    assert chosen(prepared(None), prepared(3)) == "3 of 1"
    assert chosen(prepared(9, writer=8), prepared(4, finished=True)) == "4 of 1"
    assert chosen(prepared(None), prepared(None)) is None


def test_nodes_that_contradict_each_other_are_not_believed() -> None:
    with pytest.raises(errors.CorruptEditLog, match="finished the segment 3"):
        chosen(prepared(4, finished=True), prepared(5, finished=True))
    with pytest.raises(errors.CorruptEditLog, match="had reached 6"):
        chosen(prepared(5), prepared(4, committed=6))
    with pytest.raises(errors.CorruptEditLog, match="had reached 3"):
        chosen(prepared(None), prepared(None, committed=3))


@pytest.mark.req("LM-016", "LM-018")
@pytest.mark.parametrize(
    ("left_ms", "waits_until_ms"),
    [
        ((900, 300), 5902),
        ((0, 0), 0),
        # The former writer has a longer lease than this one.
        ((60_000, 60_000), 65_062),
        # Hadoop's journal nodes don't say it: then it counts as ours, of just now.
        ((None, 0), 6003),
        # One was told that the writer resigned, and the other one was not.
        ((0, 600), 5602),
    ],
)
def test_a_new_writer_waits_for_the_lease_of_the_former_one(
    left_ms: tuple[int | None, int | None], waits_until_ms: int
) -> None:
    writer = Writer(NODES, queue_bytes=100, lease_ms=1000, heartbeat_ms=300)
    steps = recover(writer)
    next(steps)
    for node in NODES[:2]:
        tell(writer, node, NodeState(4))
    next(steps)
    for node, ms in zip(NODES, left_ms, strict=False):
        tell(writer, node, Promise(None, ms))
    next(steps)
    for node in NODES[:2]:
        tell(writer, node, Prepared(None, None, 0, None, ""))
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert end.value.value.epoch == writer.epoch == 5
    assert end.value.value.serve_from_ms == waits_until_ms
    # Nodes that did not hear of it hear it from this writer.
    writer.enqueue("heartbeat", Heartbeat())
    sending = writer.pop(NODES[0], 5000)
    assert sending is not None
    assert sending.stamp is not None
    assert sending.stamp.lease_ms == max(1000, waits_until_ms - 5000)


@pytest.mark.req("FS-055", "FS-071")
@pytest.mark.parametrize(
    ("begun", "known", "end_txid", "is_exact"),
    [
        # Nobody who answers has anything of the segment 8 any more.
        (8, None, 7, True),
        # Images have made all segments superfluous.
        (None, 20, 20, False),
        (None, None, 0, False),
    ],
)
def test_a_writer_knows_where_a_log_ends_that_has_nothing_to_recover(
    begun: int | None, known: int | None, end_txid: int, is_exact: bool
) -> None:
    writer = Writer(NODES, queue_bytes=100, lease_ms=1000, heartbeat_ms=300)
    steps = recover(writer)
    next(steps)
    for node in NODES[:2]:
        tell(writer, node, NodeState(4))
    next(steps)
    for node, segment_txid in zip(NODES, (begun, None), strict=False):
        tell(writer, node, Promise(segment_txid, 0))
    asked = next(steps)
    assert asked.request == PrepareRecovery(begun or 1)
    tell(writer, "b", Prepared(None, None, 0, known, ""))
    tell(writer, "a", Prepared(None, None, 0, None, ""))
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert end.value.value == Recovered(5, None, 0, end_txid, is_exact)


def tell(writer: Writer, node: str, answer: Answer) -> None:
    sending = writer.pop(node, 4000)
    assert sending is not None
    writer.answered(sending, answer, 5000)


# What readers believe.


@pytest.mark.parametrize(
    ("logs", "expected"),
    [
        (["abc", "abc", "abc"], "abc"),
        (["abc", "ab", ""], "ab"),
        (["abc", "abd", "a"], "ab"),
        # What one node has of a writer that never had a majority is not believed.
        (["xyz", "abc", "ab"], "ab"),
        (["xyz", "abc"], ""),
        (["abc", "", ""], ""),
        ([], ""),
        (["abcde", "abxde", "abcd", "abcd"], "abcd"),
    ],
)
def test_a_reader_believes_what_a_majority_has_alike(logs: list[str], expected: str) -> None:
    needed = max(len(logs) // 2 + 1, 2)
    records = [[record.encode() for record in log] for log in logs]
    assert b"".join(agreed(records, needed)) == expected.encode()
    assert agreed_bytes([log.encode() for log in logs], needed) == expected.encode()


@pytest.mark.parametrize(
    ("records", "committed_txid", "expected"),
    [("ab", 0, "ab"), ("abS", 0, "ab"), ("abS", 11, "ab"), ("abS", 12, "abS"), ("Sa", 0, "Sa")],
)
def test_a_record_that_every_writer_sends_alike_is_believed_when_it_is_committed(
    records: str, committed_txid: int, expected: str
) -> None:
    """`S` begins a segment; the first record is transaction 10."""
    found = trusted_records(
        [record.encode() for record in records], 10, committed_txid, lambda each: each == b"S"
    )
    assert b"".join(found) == expected.encode()
