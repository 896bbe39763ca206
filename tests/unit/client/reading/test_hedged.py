"""Hedged reads: races between nodes of a script, and between datanodes that hang."""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import Callable, Collection, Iterator
from concurrent import futures
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from howdah import errors
from howdah.client.reading.hedged import SILENT_LOSSES, HedgedReadMetrics, HedgedReads
from howdah.client.reading.readers import Cancellation, ReadCancelled
from howdah.protocol.data_transfer.blocks import DatanodeAddress
from howdah.testing.waiting import wait_until

FakeCluster = Any
DATA = random.Random(8).randbytes(200_001)
LONG_S = 3600.0


class Script:
    """A race whose nodes are functions, tried in their order."""

    def __init__(self, **nodes: Callable[[Cancellation], str]) -> None:
        self.nodes = nodes
        self.said: dict[str, str] = {}
        self.asked: list[str] = []
        self.cancellations: list[Cancellation] = []
        self.losers: list[tuple[str, bool]] = []
        self.hedges = self.wins = 0

    def first_node(self) -> str:
        node = self.other_node([])
        if node is None:
            raise errors.BlockMissing(f"none is left: {self.said}")
        return node

    def other_node(self, busy: Collection[str]) -> str | None:
        return next(
            (each for each in self.nodes if each not in busy and each not in self.said), None
        )

    def fetch(self, node: str, cancellation: Cancellation) -> str:
        self.asked.append(node)
        self.cancellations.append(cancellation)
        return self.nodes[node](cancellation)

    def failed(self, node: str, error: errors.HowdahError | OSError) -> None:
        self.said[node] = str(error)

    def lost(self, node: str, *, in_silence: bool) -> None:
        self.losers.append((node, in_silence))

    def hedged(self) -> None:
        self.hedges += 1

    def hedge_won(self) -> None:
        self.wins += 1


def answers(text: str) -> Callable[[Cancellation], str]:
    return lambda _: text


def fails(_: Cancellation) -> str:
    raise errors.Unreachable("gone")


def hangs(cancellation: Cancellation) -> str:
    """Until the read is not wanted any more."""
    wait_until(lambda: cancellation.is_cancelled)
    raise ReadCancelled("not wanted")


def test_a_quick_answer_is_not_hedged() -> None:
    reads, script = HedgedReads(2, LONG_S), Script(a=answers("A"), b=answers("B"))
    assert reads.read(script) == "A"
    assert script.asked == ["a"]
    assert reads.metrics() == HedgedReadMetrics()


def test_a_slow_node_gets_a_rival_and_the_first_answer_wins() -> None:
    reads, script = HedgedReads(2, 0.01), Script(a=hangs, b=answers("B"))
    assert reads.read(script) == "B"
    assert (script.hedges, script.wins) == (1, 1)
    assert reads.metrics() == HedgedReadMetrics(operations=1, wins=1)


def test_the_loser_is_cancelled_and_is_not_taken_for_dead() -> None:
    script = Script(a=hangs, b=answers("B"))
    HedgedReads(2, 0.01).read(script)
    assert script.cancellations[0].is_cancelled
    assert not script.said


def test_a_loser_that_was_asked_first_is_told() -> None:
    script = Script(a=hangs, b=answers("B"))
    HedgedReads(2, 0.01).read(script)
    assert script.losers == [("a", True)]


def test_one_that_fails_as_another_one_wins_has_failed() -> None:
    won = threading.Event()

    def fails_then(_: Cancellation) -> str:
        assert won.wait(20)
        raise errors.Unreachable("gone")

    def wins(_: Cancellation) -> str:
        won.set()
        return "B"

    class Slow(HedgedReads):
        def _wait(self, running: Any, *, hedging: bool) -> Any:
            done = super()._wait(running, hedging=hedging)
            return futures.wait(running, 20).done if done else done

    script = Script(a=fails_then, b=wins)
    assert Slow(2, 0.01).read(script) == "B"
    assert script.said == {"a": "gone"}


def test_a_slow_node_may_still_be_first() -> None:
    asked = threading.Event()

    def slow(_: Cancellation) -> str:
        assert asked.wait(20)
        return "A"

    def late(cancellation: Cancellation) -> str:
        asked.set()
        return hangs(cancellation)

    reads, script = HedgedReads(2, 0.01), Script(a=slow, b=late)
    assert reads.read(script) == "A"
    assert not script.losers
    assert reads.metrics() == HedgedReadMetrics(operations=1, wins=0)


def test_two_slow_nodes_get_a_third() -> None:
    reads, script = HedgedReads(3, 0.01), Script(a=hangs, b=hangs, c=answers("C"))
    assert reads.read(script) == "C"
    assert reads.metrics() == HedgedReadMetrics(operations=2, wins=1)


def test_one_that_fails_is_noted_and_the_next_takes_its_place() -> None:
    reads, script = HedgedReads(2, LONG_S), Script(a=fails, b=answers("B"))
    assert reads.read(script) == "B"
    assert script.said == {"a": "gone"}
    assert reads.metrics() == HedgedReadMetrics()


def test_a_rival_that_fails_leaves_the_slow_one_to_it() -> None:
    failed = threading.Event()

    def slow(_: Cancellation) -> str:
        assert failed.wait(20)
        return "A"

    def fails_loudly(_: Cancellation) -> str:
        failed.set()
        raise errors.Unreachable("gone")

    script = Script(a=slow, b=fails_loudly)
    assert HedgedReads(2, 0.01).read(script) == "A"


def test_where_all_fail_the_error_is_that_of_the_choice_of_nodes() -> None:
    with pytest.raises(errors.BlockMissing, match="none is left"):
        HedgedReads(2, LONG_S).read(Script(a=fails, b=fails))


def test_where_no_thread_is_free_the_caller_reads_by_itself() -> None:
    reads = HedgedReads(1, 0.01)
    holding, let_go = threading.Event(), threading.Event()

    def hold(_: Cancellation) -> str:
        holding.set()
        assert let_go.wait(20)
        return "A"

    results: list[str] = []
    other = threading.Thread(target=lambda: results.append(reads.read(Script(a=hold))))
    other.start()
    assert holding.wait(20)
    assert reads.read(Script(a=fails, b=answers("B"))) == "B"
    let_go.set()
    other.join(20)
    assert results == ["A"]
    assert reads.metrics().in_current_thread == 1


def test_a_defect_is_not_taken_for_a_failed_node() -> None:
    def defect(_: Cancellation) -> str:
        raise AssertionError("a bug")

    with pytest.raises(AssertionError, match="a bug"):
        HedgedReads(2, LONG_S).read(Script(a=defect, b=answers("B")))


# --- on datanodes ------------------------------------------------------------------------


@pytest.fixture
def filled(cluster: FakeCluster) -> FakeCluster:
    cluster.put(DATA)
    return cluster


def test_a_positioned_read_does_not_wait_for_a_datanode_that_hangs(filled: FakeCluster) -> None:
    first = filled.datanodes[0]
    first.hang_reads = True
    first.let_acks_go.clear()
    with filled.open(hedged_read_threads=16, hedged_read_threshold_s=0.02) as stream:
        assert stream.pread(30_000, 100_000) == DATA[30_000:130_000]
        statistics = stream.statistics()
    # On a slow machine the second node of a block gets a rival too.
    assert statistics.hedged_reads >= statistics.hedged_wins == 2
    assert statistics.total_bytes == statistics.local_bytes == 100_000
    assert statistics.retries == 0


def test_the_connection_of_the_loser_is_not_kept(filled: FakeCluster) -> None:
    first = filled.datanodes[0]
    first.hang_reads = True
    first.let_acks_go.clear()
    client = filled.client(hedged_read_threads=4, hedged_read_threshold_s=0.02)
    with client.open("/f") as stream:
        assert stream.pread(0, 10) == DATA[:10]
        assert client._peers.pop(first.address.connect_to(use_hostname=False)) is None


def test_hedged_reads_come_through_corrupt_and_dead_replicas(filled: FakeCluster) -> None:
    filled.datanodes[0].stop()
    filled.datanodes[1].corrupt_at = 100
    with filled.open(hedged_read_threads=4, hedged_read_threshold_s=0.02) as stream:
        assert stream.pread(0, 1000) == DATA[:1000]
    assert [bad.block.block_id for bad in filled.namenode.bad_blocks] == [1000]


def test_hedged_reads_keep_and_reuse_connections(filled: FakeCluster) -> None:
    with filled.open(hedged_read_threads=4, hedged_read_threshold_s=LONG_S) as stream:
        for offset in (0, 70_000, 199_000):
            assert stream.pread(offset, 300) == DATA[offset : offset + 300]
    assert filled.datanodes[0].connections == 1


def test_hedged_reads_are_off_unless_there_are_threads_for_them(filled: FakeCluster) -> None:
    assert filled.client().hedged_reads is None
    assert filled.client(hedged_read_threads=1).hedged_reads is not None


# --- on datanodes that swallow what is sent to them ----------------------------------------


@pytest.fixture
def black_hole() -> Iterator[DatanodeAddress]:
    """An address whose kernel answers no SYN, as that of a machine that lost its power."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, ExitStack() as fillers:
        port = listener.getsockname()[1]
        for _ in range(2):
            filler = fillers.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
        yield DatanodeAddress("127.0.0.1", "localhost", "uuid-hole", port)


def test_a_node_that_accepts_no_connection_costs_one_threshold_and_no_thread(
    filled: FakeCluster, black_hole: DatanodeAddress
) -> None:
    filled.datanodes[0].address = black_hole
    client = filled.client(
        hedged_read_threads=2, hedged_read_threshold_s=0.05, socket_timeout_s=30.0
    )
    with client.open("/f") as stream:
        for offset in range(0, 10_000, 1000):
            assert stream.pread(offset, 10) == DATA[offset : offset + 10]
        statistics = stream.statistics()
    metrics = client.hedged_reads.metrics()
    assert metrics.in_current_thread == 0, "a thread still waits for a node that is not wanted"
    assert statistics.retries == 0, "a read waited for it until the connection timed out"
    assert statistics.hedged_wins == SILENT_LOSSES, "the node is asked last after some reads"


def test_a_node_that_never_answers_first_is_asked_last_after_some_reads(
    filled: FakeCluster,
) -> None:
    """Its kernel accepts connections, but the process behind it does not move."""
    filled.datanodes[0].mute = True
    client = filled.client(
        hedged_read_threads=2, hedged_read_threshold_s=0.05, socket_timeout_s=30.0
    )
    with client.open("/f") as stream:
        for offset in range(0, 10_000, 1000):
            assert stream.pread(offset, 10) == DATA[offset : offset + 10]
        statistics = stream.statistics()
    assert statistics.hedged_wins == SILENT_LOSSES


def test_closing_a_stream_wakes_up_who_waits_for_a_connection(
    filled: FakeCluster, black_hole: DatanodeAddress
) -> None:
    filled.datanodes[:] = filled.datanodes[:1]
    filled.datanodes[0].address = black_hole
    stream = filled.client(socket_timeout_s=30.0).open("/f")
    with ThreadPoolExecutor(1) as thread:
        reading = thread.submit(stream.read, 10)
        wait_until(lambda: stream._closing._connection is not None)
        stream.close()
        with pytest.raises(errors.ClosedStream, match="/f was closed while it was read"):
            reading.result(10)


@pytest.mark.parametrize("hedged_read_threads", [0, 4])
def test_closing_a_stream_wakes_up_its_positioned_reads(
    filled: FakeCluster, hedged_read_threads: int
) -> None:
    for node in filled.datanodes:
        node.mute = True
    stream = filled.client(
        socket_timeout_s=60.0,
        hedged_read_threads=hedged_read_threads,
        hedged_read_threshold_s=LONG_S,
    ).open("/f")
    with ThreadPoolExecutor(2) as threads:
        reading = [threads.submit(stream.pread, offset, 10) for offset in (0, 500)]
        wait_until(lambda: len(filled.datanodes[0].reads) == 2)
        stream.close()
        for each in reading:
            with pytest.raises(errors.ClosedStream, match="/f was closed while it was read"):
                each.result(20)
