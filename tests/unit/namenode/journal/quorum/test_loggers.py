"""Threads around a writer: nodes that hang, fail or are closed hold up nobody else."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.namenode.journal.quorum import loggers, quorum_journal
from howdah.namenode.journal.quorum.loggers import Node
from howdah.namenode.journal.quorum.quorum_journal import QuorumJournal, take_over
from howdah.namenode.journal.quorum.settings import QuorumSettings
from howdah.namenode.state.edit_log.journal import Batch
from howdah.namenode.state.quorum.messages import (
    Answer,
    GetState,
    Heartbeat,
    NewEpoch,
    NodeState,
    Prepared,
    PrepareRecovery,
    Promise,
    Purge,
    Request,
    Stamp,
    StartSegment,
)
from howdah.namenode.state.quorum.quorum import QuorumLost, Sending, Writer
from howdah.runtime.background_threads import NoThread
from howdah.testing.waiting import wait_until


class Scripted:
    """A journal node that does what it is told."""

    def __init__(self) -> None:
        self.asked: list[Request] = []
        self.begun_txid: int | None = None
        self.closed = False
        self.go_on = threading.Event()
        self.go_on.set()
        self.fails: dict[type[Request], Exception] = {}

    def call(self, request: Request, stamp: Stamp | None) -> Answer:
        self.asked.append(request)
        self.go_on.wait(20)
        error = self.fails.get(type(request))
        if error is not None:
            raise error
        if isinstance(request, GetState):
            return NodeState(3)
        if isinstance(request, NewEpoch):
            return Promise(self.begun_txid, 0)
        if isinstance(request, PrepareRecovery):
            return Prepared(None, None, 0, None, "")
        return None

    def close(self) -> None:
        self.closed = True

    def has(self, kind: type[Request]) -> bool:
        return any(isinstance(request, kind) for request in self.asked)


@pytest.fixture
def nodes() -> Iterator[dict[str, Scripted]]:
    made = {name: Scripted() for name in ("a", "b", "c")}
    yield made
    for node in made.values():
        node.go_on.set()


def taken_over(nodes: Mapping[str, Node], **settings: str) -> QuorumJournal:
    conf = Configuration({"howdah.ha.lease.ms": "300", **settings})
    return take_over("the log", nodes, QuorumSettings.of(conf, None))


@pytest.mark.req("FS-055", "FS-071")
def test_a_writer_goes_on_behind_the_finished_segments_if_nobody_has_the_last_one(
    nodes: dict[str, Scripted],
) -> None:
    """A minority began it, and nothing of it was acknowledged."""
    nodes["a"].begun_txid = nodes["b"].begun_txid = nodes["c"].begun_txid = 6
    journal = taken_over(nodes)
    for wrong in (5, 7):
        with pytest.raises(errors.CorruptEditLog, match="ends with transaction 5"):
            journal.begin_segment(wrong)
    journal.begin_segment(6)
    journal.close()


def begun(journal: QuorumJournal) -> QuorumJournal:
    journal.begin_segment(1)
    journal.append(Batch(1, 1, b"start"))
    journal.make_durable()
    return journal


@pytest.mark.req("FS-061", "LM-015")
def test_a_node_that_hangs_holds_up_nobody(nodes: dict[str, Scripted]) -> None:
    nodes["b"].go_on.clear()
    journal = begun(taken_over(nodes))
    wait_until(lambda: nodes["b"].asked == [GetState()], 10, "it is asked as well")
    first_ms = journal.lease_until_ms()
    wait_until(lambda: journal.lease_until_ms() > first_ms, 10, "the others renew the lease")
    nodes["b"].go_on.set()
    wait_until(lambda: journal.reports()[1].acknowledged_txid == 1, 10, "it catches up")
    journal.close()


@pytest.mark.req("FS-061")
def test_a_majority_that_hangs_ends_the_writer_in_time(nodes: dict[str, Scripted]) -> None:
    journal = begun(taken_over(nodes, **{"dfs.qjournal.write-txns.timeout.ms": "50"}))
    nodes["a"].go_on.clear()
    nodes["c"].go_on.clear()
    journal.append(Batch(2, 1, b"edit"))
    with pytest.raises(QuorumLost, match=r"journal\(2-2\) needs 2 of 3.*no answer within 0.05 s"):
        journal.make_durable()
    assert journal.lost is not None
    with pytest.raises(errors.ClosedStream):
        journal.make_durable()
    journal.append(Batch(3, 1, b"ignored"))
    journal.purge_before(1)
    journal.close()


def test_a_writer_that_cannot_take_over_gives_up_its_nodes(nodes: dict[str, Scripted]) -> None:
    for name in ("a", "b"):
        nodes[name].fails[NewEpoch] = errors.WriterFenced("Proposed epoch 4 <= last promise 5")
    with pytest.raises(errors.WriterFenced):
        taken_over(nodes)
    assert all(node.closed for node in nodes.values())


def test_a_defect_in_a_channel_counts_as_a_node_that_fails(
    nodes: dict[str, Scripted], caplog: pytest.LogCaptureFixture
) -> None:
    nodes["a"].fails[StartSegment] = ZeroDivisionError("a bug")
    journal = begun(taken_over(nodes))
    wait_until(lambda: journal.reports()[0].out_of_sync, 10, "the node is left out")
    assert "ZeroDivisionError" in str(journal.reports()[0].out_of_sync)
    assert "a failed at a request on a defect" in caplog.text
    journal.close()


@pytest.mark.parametrize("step", ["pop", "answered", "next_heartbeat_ms"])
def test_a_defect_beside_a_channel_leaves_its_node_out_and_the_thread_goes_on(
    nodes: dict[str, Scripted], step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loggers, "_PAUSE_S", 0.01)
    journal = begun(taken_over(nodes))
    original, failed = getattr(Writer, step), threading.Event()

    def fail_once(writer: Writer, what: str | Sending, *more: object) -> object:
        node = what if isinstance(what, str) else what.node
        if node == "b" and not failed.is_set():
            failed.set()
            raise ZeroDivisionError("a bug")
        return original(writer, what, *more)

    with monkeypatch.context() as patched:
        patched.setattr(Writer, step, fail_once)
        journal.append(Batch(2, 1, b"edit"))
        journal.make_durable()
        wait_until(failed.is_set, 10, "it meets the defect")
        wait_until(lambda: journal.reports()[1].out_of_sync, 10, "the node is left out")
        wait_until(lambda: journal.wants_segment, 10, "it is heard of again")
    journal.append(Batch(3, 1, b"edit"))
    journal.end_segment(3)
    journal.begin_segment(4)
    journal.append(Batch(4, 1, b"start"))
    journal.make_durable()
    wait_until(lambda: journal.reports()[1].acknowledged_txid == 4, 10, "it takes part again")
    journal.close()


def test_whoever_waits_hears_of_a_defect_beside_a_majority(
    nodes: dict[str, Scripted], monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = begun(taken_over(nodes))
    original = Writer.answered

    def fail(writer: Writer, sending: Sending, answer: Answer, now_ms: int) -> None:
        if sending.node != "a":
            raise ZeroDivisionError("a bug")
        original(writer, sending, answer, now_ms)

    monkeypatch.setattr(Writer, "answered", fail)
    journal.append(Batch(2, 1, b"edit"))
    with pytest.raises(QuorumLost, match="ZeroDivisionError: a bug"):
        journal.make_durable()
    journal.close()


def test_without_threads_nobody_takes_over_and_the_nodes_are_given_up(
    nodes: dict[str, Scripted], monkeypatch: pytest.MonkeyPatch
) -> None:
    original = threading.Thread.start
    started: list[threading.Thread] = []

    def start(thread: threading.Thread) -> None:
        if started:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        original(thread)

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start)
        with pytest.raises(NoThread, match="no thread for journal node"):
            taken_over(nodes)
    assert all(node.closed for node in nodes.values())
    started[0].join(10)
    assert not started[0].is_alive()


def test_a_node_that_stays_away_is_said_once_and_so_is_its_return(
    nodes: dict[str, Scripted], caplog: pytest.LogCaptureFixture
) -> None:
    """An idle writer learns of it by heartbeats alone, and sends one several times a second."""
    caplog.set_level("INFO")
    journal = begun(taken_over(nodes, **{"howdah.ha.lease.ms": "30"}))
    nodes["a"].fails[Heartbeat] = errors.Unreachable("gone")
    nodes["a"].asked.clear()
    wait_until(lambda: len(nodes["a"].asked) > 4, 10, "it is asked again and again")
    del nodes["a"].fails[Heartbeat]
    wait_until(lambda: "journal node a answers again" in caplog.text, 10)
    assert caplog.text.count("journal node a failed at Heartbeat: gone") == 1
    journal.close()


def test_closing_ends_a_call_that_waits(nodes: dict[str, Scripted]) -> None:
    journal = begun(taken_over(nodes))
    for node in nodes.values():
        node.go_on.clear()
    journal.append(Batch(2, 1, b"edit"))
    told: list[BaseException] = []

    def wait() -> None:
        try:
            journal.make_durable()
        except OSError as error:
            told.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    journal.close()
    waiting.join(10)
    assert "the journal is closed" in str(told[0])


@pytest.mark.req("FS-068")
@pytest.mark.parametrize(
    ("act", "resigns"),
    [
        (lambda journal: None, False),
        (lambda journal: begun(journal), False),
        (lambda journal: begun(journal).end_segment(1), True),
    ],
)
def test_only_a_writer_that_has_ended_its_segment_resigns(
    nodes: dict[str, Scripted], act: Callable[[QuorumJournal], object], resigns: bool
) -> None:
    journal = taken_over(nodes)
    act(journal)
    journal.close()
    journal.close()
    assert all((Heartbeat(resigns=True) in node.asked) is resigns for node in nodes.values())
    assert journal.lease_until_ms() == 0 or not resigns


def resigning(journal: QuorumJournal) -> threading.Thread:
    """The journal is being closed, on a thread."""
    thread = threading.Thread(target=journal.close, daemon=True)
    thread.start()
    return thread


@pytest.mark.req("FS-068")
@pytest.mark.parametrize("failing", ["a", "b", "c", "abc"])
def test_a_writer_that_resigns_does_not_wait_for_a_node_that_failed(
    nodes: dict[str, Scripted], failing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its failure is all that will ever be heard of it."""
    monkeypatch.setattr(quorum_journal, "RESIGN_TIMEOUT_S", 3600)
    journal = begun(taken_over(nodes))
    journal.end_segment(1)
    for name in failing:
        nodes[name].fails[Heartbeat] = OSError("gone")
    thread = resigning(journal)
    wait_until(lambda: not thread.is_alive(), 20, "it has resigned")
    assert all(Heartbeat(resigns=True) in node.asked for node in nodes.values())


def test_nobody_waits_for_a_purge(nodes: dict[str, Scripted]) -> None:
    journal = begun(taken_over(nodes))
    for node in nodes.values():
        node.go_on.clear()
    journal.purge_before(1)
    for node in nodes.values():
        node.go_on.set()
    wait_until(lambda: all(node.has(Purge) for node in nodes.values()), 10, "it is sent")
    journal.close()
