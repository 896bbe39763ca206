"""A disk that fails under a journal: nothing is acknowledged that is not there, and the node
finds itself again (LM-015)."""

from __future__ import annotations

import contextlib
import errno
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from howdah import errors
from howdah.journalnode.journal import Journal
from howdah.journalnode.journal_storage import Sink
from howdah.journalnode.state.journal_state import SegmentState
from howdah.runtime import disk
from howdah.runtime.disk import Operation
from tests.support.journal_writer import VERSION, Writer, journal_at, segment_bytes


class Broken:
    """The disk fails at an operation on a file, once."""

    def __init__(self, operation: Operation, name: str) -> None:
        self.operation = operation
        self.name = name
        self.happened = 0

    def enter(self, operation: Operation, path: Path) -> None:
        if operation is self.operation and self.name in path.name and not self.happened:
            self.happened += 1
            raise OSError(errno.EIO, "the disk is broken", str(path))

    def leave(self, operation: Operation, path: Path) -> None:
        """Nothing fails behind an operation."""

    def room(self, path: Path, length_bytes: int) -> int:
        return length_bytes


def fetched(url: str, sink: Sink) -> None:
    sink(segment_bytes(1, 5))


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    found = journal_at(tmp_path / "ns1", fetched)
    found.format(VERSION, force=False)
    yield found
    found.close()


@pytest.fixture
def writer(journal: Journal) -> Writer:
    writer = Writer(journal, 1)
    writer.promise()
    writer.start(1)
    writer.write(1, 1, 3)
    return writer


@pytest.mark.parametrize("operation", [Operation.WRITE, Operation.SYNC])
def test_records_that_did_not_reach_the_disk_are_not_acknowledged(
    journal: Journal, writer: Writer, operation: Operation, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = Broken(operation, "edits_inprogress")
    monkeypatch.setattr(disk, "gate", broken)
    with pytest.raises(errors.RemoteError, match=r"journal ns1: .*the disk is broken"):
        writer.write(1, 4, 5)
    assert broken.happened == 1
    with pytest.raises(errors.JournalOutOfSync, match="no segment open"):
        writer.write(1, 6, 6)
    later = Writer(journal, 2)
    later.promise()
    prepared = journal.prepare_recovery(later.info(), 1)
    # What the system shows after a failed sync was written once more, so it counts.
    last_txid = 3 if operation is Operation.WRITE else 5
    assert prepared.segment == SegmentState(1, last_txid, True)


def test_a_segment_whose_sync_failed_is_written_once_more(
    journal: Journal, writer: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ns1" / "current" / "edits_inprogress_0000000000000000001"
    inode = path.stat().st_ino
    monkeypatch.setattr(disk, "gate", Broken(Operation.SYNC, "edits_inprogress"))
    with pytest.raises(errors.RemoteError):
        writer.write(1, 4, 5)
    assert journal.promised_epoch == 1
    assert path.stat().st_ino != inode


def test_a_promise_that_was_not_written_is_none(
    journal: Journal, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "gate", Broken(Operation.WRITE, "last-promised-epoch"))
    with pytest.raises(errors.RemoteError, match="last-promised-epoch"):
        Writer(journal, 2).promise()
    assert journal.promised_epoch == 1
    Writer(journal, 2).promise()
    assert journal.promised_epoch == 2


def test_a_decision_that_was_not_written_leaves_the_segment_as_it_was(
    journal: Journal, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = Writer(journal, 2)
    later.promise()
    monkeypatch.setattr(disk, "gate", Broken(Operation.RENAME, "1.tmp"))
    decided = SegmentState(1, 5, True)
    with pytest.raises(errors.RemoteError):
        journal.accept_recovery(later.info(), decided, "http://b")
    prepared = journal.prepare_recovery(later.info(), 1)
    assert (prepared.segment, prepared.accepted_epoch) == (SegmentState(1, 3, True), None)
    journal.accept_recovery(later.info(), decided, "http://b")
    prepared = journal.prepare_recovery(later.info(), 1)
    assert (prepared.segment, prepared.accepted_epoch) == (decided, 2)


def test_a_node_that_cannot_be_asked_for_the_segment_accepts_nothing(tmp_path: Path) -> None:
    def nobody(url: str, sink: object) -> None:
        raise errors.Unreachable(f"{url}: nobody answers")

    journal = journal_at(tmp_path / "ns2", nobody)
    journal.format(VERSION, force=False)
    writer = Writer(journal, 1)
    writer.promise()
    with pytest.raises(errors.Unreachable, match="http://b"):
        journal.accept_recovery(writer.info(), SegmentState(1, 5, True), "http://b")
    assert journal.prepare_recovery(writer.info(), 1).segment is None
    journal.close()


class Slow:
    """Another node that hands out the segment when it is let."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.let = threading.Event()

    def __call__(self, url: str, sink: Sink) -> None:
        self.asked.set()
        assert self.let.wait(20)
        sink(segment_bytes(1, 5))


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[tuple[Slow, Journal, Writer]]:
    """A segment is being fetched for epoch 2."""
    source = Slow()
    journal = journal_at(tmp_path / "slow", source)
    journal.format(VERSION, force=False)
    writer = Writer(journal, 2)
    writer.promise()
    yield source, journal, writer
    source.let.set()
    journal.close()


def accepting(journal: Journal, writer: Writer) -> Future[None]:
    """`acceptRecovery`, on a thread."""
    outcome: Future[None] = Future()

    def accept() -> None:
        try:
            journal.accept_recovery(writer.info(), SegmentState(1, 5, True), "http://b")
            outcome.set_result(None)
        except errors.HowdahError as error:
            outcome.set_exception(error)

    threading.Thread(target=accept, daemon=True).start()
    return outcome


def test_another_writer_does_not_wait_for_a_segment_that_is_fetched(
    slow: tuple[Slow, Journal, Writer],
) -> None:
    source, journal, writer = slow
    outcome = accepting(journal, writer)
    assert source.asked.wait(20)
    Writer(journal, 3).promise()
    source.let.set()
    with pytest.raises(errors.JournalOutOfSync, match="changed while it was fetched for epoch 2"):
        outcome.result(20)
    prepared = journal.prepare_recovery(Writer(journal, 3).info(), 1)
    assert (prepared.segment, prepared.accepted_epoch) == (None, None)
    assert not list((journal.root / "current").glob("*.epoch=*"))


def test_heartbeats_are_answered_while_a_segment_is_fetched(
    slow: tuple[Slow, Journal, Writer],
) -> None:
    source, journal, writer = slow
    outcome = accepting(journal, writer)
    assert source.asked.wait(20)
    journal.heartbeat(writer.info(), resigns=False)
    with pytest.raises(errors.JournalOutOfSync, match="another segment is being fetched"):
        journal.accept_recovery(writer.info(), SegmentState(1, 4, True), "http://b")
    source.let.set()
    outcome.result(20)
    prepared = journal.prepare_recovery(writer.info(), 1)
    assert (prepared.segment, prepared.accepted_epoch) == (SegmentState(1, 5, True), 2)


@pytest.mark.req("FS-061")
def test_a_segment_that_is_fetched_for_a_decision_does_not_come_back_behind_a_rollback(
    slow: tuple[Slow, Journal, Writer],
) -> None:
    """The writer that gives the past up has a majority without this node, and does not wait."""
    source, journal, writer = slow
    outcome = accepting(journal, writer)
    assert source.asked.wait(20)
    journal.discard_segments(1)
    source.let.set()
    with pytest.raises(errors.JournalOutOfSync, match="changed while it was fetched"):
        outcome.result(20)
    assert journal.manifest(1, in_progress_ok=True)[0] == []
    prepared = journal.prepare_recovery(writer.info(), 1)
    assert (prepared.segment, prepared.accepted_epoch) == (None, None)
    assert not list((journal.root / "current").glob("*.epoch=*"))


def syncing(journal: Journal, segment: SegmentState) -> Future[bool]:
    """`fetch_missing`, on a thread."""
    outcome: Future[bool] = Future()

    def fetch() -> None:
        try:
            outcome.set_result(journal.fetch_missing(segment, "http://b"))
        except errors.HowdahError as error:
            outcome.set_exception(error)

    threading.Thread(target=fetch, daemon=True).start()
    return outcome


def given_up_and_written_anew(journal: Journal) -> None:
    """A rollback, and another past since, in which as many transactions are committed."""
    journal.discard_segments(1)
    heir = Writer(journal, 3)
    heir.promise()
    journal.heartbeat(heir.info(7), resigns=False)


@pytest.mark.req("FS-061")
@pytest.mark.parametrize(
    "change",
    [
        lambda journal: journal.discard_segments(1),
        given_up_and_written_anew,
        lambda journal: journal.format(VERSION, force=True),
        lambda journal: (journal.pre_upgrade(), journal.upgrade(1234, -67)),
    ],
    ids=["discarded", "discarded, and written anew", "formatted", "upgraded"],
)
def test_a_segment_that_is_synced_does_not_come_back_from_a_past_that_was_given_up(
    slow: tuple[Slow, Journal, Writer], change: Callable[[Journal], object]
) -> None:
    source, journal, writer = slow
    segment = SegmentState(1, 5, False)
    journal.heartbeat(writer.info(5), resigns=False)
    assert journal.missing([segment]) == [segment]
    outcome = syncing(journal, segment)
    assert source.asked.wait(20)
    change(journal)
    source.let.set()
    with contextlib.suppress(errors.RemoteError):
        # Who formats takes the file away that is being written.
        assert not outcome.result(20)
    assert journal.manifest(1, in_progress_ok=True)[0] == []
    assert not list((journal.root / "edits.sync").glob("*"))


@pytest.mark.req("FS-061")
def test_what_is_missing_is_asked_again_before_it_is_fetched(
    slow: tuple[Slow, Journal, Writer],
) -> None:
    source, journal, writer = slow
    segment = SegmentState(1, 5, False)
    journal.heartbeat(writer.info(5), resigns=False)
    assert journal.missing([segment]) == [segment]
    journal.format(VERSION, force=True)
    source.let.set()
    assert not journal.fetch_missing(segment, "http://b")
    assert journal.manifest(1, in_progress_ok=True)[0] == []


@pytest.mark.req("FS-061")
@pytest.mark.parametrize("accepted_txid", [3, 5])
def test_a_node_that_missed_the_end_of_a_recovery_gets_the_segment_by_sync(
    journal: Journal, writer: Writer, accepted_txid: int
) -> None:
    """It had accepted how the segment ends, and until the segment is purged nobody else ends it.
    Where a minority had accepted that alone, a later writer ended it elsewhere."""
    heir = Writer(journal, 2)
    heir.promise()
    journal.accept_recovery(heir.info(), SegmentState(1, accepted_txid, True), "http://b")
    later = Writer(journal, 3)
    later.promise()
    later.start(6)
    later.write(6, 6, 6)
    segment = SegmentState(1, 5, False)
    assert journal.missing([segment]) == [], "it is not known to be committed"
    journal.heartbeat(later.info(6), resigns=False)
    assert journal.missing([segment]) == [segment]
    assert journal.fetch_missing(segment, "http://b")
    for _ in ("now", "after a start"):
        assert journal.manifest(1, in_progress_ok=False)[0] == [segment]
        assert not list((journal.root / "current" / "paxos").iterdir())
        journal.close()
    last = Writer(journal, 4)
    last.promise()
    prepared = journal.prepare_recovery(last.info(), 1)
    assert (prepared.segment, prepared.accepted_epoch) == (segment, None)


@pytest.mark.req("FS-061")
def test_a_crash_may_come_before_the_decision_about_a_synced_segment_is_removed(
    journal: Journal, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    heir = Writer(journal, 2)
    heir.promise()
    journal.accept_recovery(heir.info(), SegmentState(1, 3, True), "http://b")
    journal.heartbeat(heir.info(5), resigns=False)
    segment = SegmentState(1, 5, False)
    with monkeypatch.context() as patched:
        patched.setattr(disk, "gate", Broken(Operation.UNLINK, "1"))
        with pytest.raises(errors.RemoteError):
            journal.fetch_missing(segment, "http://b")
    assert (journal.root / "current" / "paxos" / "1").exists()
    later = Writer(journal, 3)
    later.promise()
    prepared = journal.prepare_recovery(later.info(), 1)
    assert (prepared.segment, prepared.accepted_epoch) == (segment, None)
