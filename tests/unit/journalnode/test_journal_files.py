"""The files of a journal are Hadoop's, and what they say outlives the process (FS-060)."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.formats.version import JournalVersion
from howdah.journalnode.journal import Journal
from howdah.journalnode.journal_storage import Sink
from howdah.journalnode.pages import beans
from howdah.journalnode.state.formats import (
    decode_committed,
    decode_decision,
    decode_number,
    encode_committed,
    encode_decision,
)
from howdah.journalnode.state.journal_state import Decision, SegmentState
from tests.support.journal_writer import VERSION, Writer, journal_at, record, records, segment_bytes


@pytest.fixture
def root(tmp_path: Path) -> Path:
    journal = journal_at(tmp_path / "ns1")
    journal.format(VERSION, force=False)
    journal.close()
    return tmp_path / "ns1"


def test_the_files_are_hadoops_byte_for_byte(root: Path) -> None:
    journal = journal_at(root)
    writer = Writer(journal, 3)
    writer.promise()
    writer.start(1)
    writer.write(1, 1, 3)
    writer.finish(1, 3)
    writer.start(4)
    writer.write(4, 4, 5, committed=3)
    current = root / "current"
    assert {path.name for path in current.iterdir()} == {
        "VERSION",
        "committed-txid",
        "edits_0000000000000000001-0000000000000000003",
        "edits_inprogress_0000000000000000004",
        "last-promised-epoch",
        "last-writer-epoch",
        "paxos",
    }
    assert (current / "last-promised-epoch").read_bytes() == b"3\n"
    assert (current / "last-writer-epoch").read_bytes() == b"3\n"
    assert (current / "committed-txid").read_bytes() == bytes(7) + b"\x03"
    finished = current / "edits_0000000000000000001-0000000000000000003"
    assert finished.read_bytes() == segment_bytes(1, 3)
    unfinished = (current / "edits_inprogress_0000000000000000004").read_bytes()
    assert unfinished.rstrip(b"\xff") == segment_bytes(4, 5)
    version = (current / "VERSION").read_text().splitlines()
    assert version[1:] == [
        "namespaceID=77",
        "storageType=JOURNAL_NODE",
        "cTime=0",
        "clusterID=CID-1",
        "layoutVersion=-66",
    ]
    journal.close()


def test_a_decision_is_a_message_with_its_length_and_then_text() -> None:
    decision = Decision(SegmentState(7, 9, True), 4)
    content = encode_decision(decision)
    assert content == (
        b"\x0a\x0a\x06\x08\x07\x10\x09\x18\x01\x10\x04\n"
        b"segmentState {\n  startTxId: 7\n  endTxId: 9\n  isInProgress: true\n}\n"
        b"acceptedInEpoch: 4\n\n"
    )
    assert decode_decision(content, 7, "paxos/7") == decision


@pytest.mark.parametrize("content", [b"", b"\x0a", b"\x0a\x0a\x06\x08\x07", b"\xff" * 12, b"7\n"])
def test_a_decision_that_cannot_be_read_is_named(content: bytes) -> None:
    with pytest.raises(errors.InconsistentStorage, match="paxos/7"):
        decode_decision(content, 7, "paxos/7")


def test_a_decision_about_another_segment_is_refused() -> None:
    content = encode_decision(Decision(SegmentState(8, 9, True), 4))
    with pytest.raises(errors.InconsistentStorage, match="of transaction 8"):
        decode_decision(content, 7, "paxos/7")


def test_the_committed_transaction_may_be_unknown() -> None:
    assert decode_committed(encode_committed(None), "f") is None
    assert decode_committed(b"\0\0", "f") is None, "a crash came before it was written"
    assert decode_committed(encode_committed(5), "f") == 5
    with pytest.raises(errors.InconsistentStorage, match="committed-txid"):
        decode_committed(b"\xff" * 8, "committed-txid")


@pytest.mark.parametrize("content", [b"", b"x\n", b"-1\n", b"9223372036854775808\n"])
def test_an_epoch_that_cannot_be_read_is_named(content: bytes) -> None:
    with pytest.raises(errors.InconsistentStorage, match="last-promised-epoch"):
        decode_number(content, "last-promised-epoch", "an epoch")


def test_what_was_written_is_there_after_a_restart(root: Path) -> None:
    journal = journal_at(root)
    writer = Writer(journal, 1)
    writer.promise()
    writer.start(1)
    writer.write(1, 1, 4, committed=2)
    journal.close()
    again = journal_at(root)
    assert again.promised_epoch == 1
    segments, committed = again.manifest(1, in_progress_ok=True)
    assert (segments, committed) == ([SegmentState(1, 4, True)], 2)
    again.close()


@pytest.mark.req("FS-061", "LM-015")
@pytest.mark.parametrize("tail", [b"", b"\x16\x00\x00\x01 torn"], ids=["clean", "torn"])
def test_a_writer_goes_on_behind_a_restart_of_the_node(root: Path, tail: bytes) -> None:
    journal = journal_at(root)
    writer = Writer(journal, 1)
    writer.promise()
    writer.start(1)
    writer.write(1, 1, 4)
    journal.close()
    path = root / "current" / "edits_inprogress_0000000000000000001"
    with open(path, "r+b") as file:
        file.seek(len(segment_bytes(1, 4)))
        file.write(tail)
    again = journal_at(root)
    writer.target = again
    writer.write(1, 5, 6)
    assert again.edits(5, 10).count == 2, "readers get it from memory"
    assert again.edits(5, 10).log.startswith(segment_bytes(5, 6)[:8]), "with its layout"
    writer.write(1, 7, 7)
    assert again.segment_file(1, in_progress_ok=True) == (path, len(segment_bytes(1, 7)))
    writer.finish(1, 7)
    again.close()
    finished = root / "current" / "edits_0000000000000000001-0000000000000000007"
    assert finished.read_bytes() == segment_bytes(1, 7)


@pytest.mark.req("FS-061", "LM-015")
def test_a_change_that_fails_closes_the_segment_to_nobody(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node forgets what it knew, as at a start; a heartbeat that fails is no lost record."""
    journal = journal_at(root)
    writer = Writer(journal, 1)
    writer.promise()
    writer.start(1)
    writer.write(1, 1, 4)

    def fail(committed: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(journal._storage, "_write_committed", fail)
        with pytest.raises(errors.RemoteError):
            journal.heartbeat(writer.info(4), resigns=False)
    writer.write(1, 5, 5)
    writer.finish(1, 5)
    journal.close()


def test_a_torn_tail_is_cut_when_the_segment_is_finished(root: Path) -> None:
    journal = journal_at(root)
    writer = Writer(journal, 1)
    writer.promise()
    writer.start(1)
    writer.write(1, 1, 2)
    journal.close()
    path = root / "current" / "edits_inprogress_0000000000000000001"
    path.write_bytes(segment_bytes(1, 2) + record(3)[:9])
    again = journal_at(root)
    later = Writer(again, 2)
    later.promise()
    later.finish(1, 2)
    finished = root / "current" / "edits_0000000000000000001-0000000000000000002"
    assert finished.read_bytes() == segment_bytes(1, 2)
    again.close()


def test_damage_is_named_and_not_taken_for_an_end(root: Path) -> None:
    path = root / "current" / "edits_inprogress_0000000000000000001"
    whole = bytearray(segment_bytes(1, 5))
    whole[30] ^= 0xFF
    path.write_bytes(whole)
    journal = journal_at(root)
    with pytest.raises(errors.CorruptEditLog, match="edits_inprogress_0000000000000000001"):
        Writer(journal, 1).promise()
    journal.close()


def test_two_finished_segments_with_one_beginning_are_for_a_person(root: Path) -> None:
    for last in (2, 3):
        name = f"edits_0000000000000000001-{last:019d}"
        (root / "current" / name).write_bytes(segment_bytes(1, last))
    journal = journal_at(root)
    with pytest.raises(errors.InconsistentStorage, match="begin with the same one"):
        assert journal.promised_epoch
    journal.close()


def test_a_segment_that_sync_finished_puts_the_unfinished_one_aside(root: Path) -> None:
    current = root / "current"
    (current / "edits_inprogress_0000000000000000001").write_bytes(segment_bytes(1, 2))
    finished = current / "edits_0000000000000000001-0000000000000000003"
    finished.write_bytes(segment_bytes(1, 3))
    journal = journal_at(root)
    assert journal.manifest(1, in_progress_ok=True)[0] == [SegmentState(1, 3, False)]
    assert (current / "edits_inprogress_0000000000000000001.stale").exists()
    journal.close()


def test_purging_removes_the_files(root: Path) -> None:
    journal = journal_at(root)
    writer = Writer(journal, 1)
    writer.promise()
    for first in (1, 3):
        writer.start(first)
        writer.write(first, first, first + 1)
        writer.finish(first, first + 1)
    aside = root / "current" / "edits_inprogress_0000000000000000001.empty"
    aside.write_bytes(b"")
    journal.purge(writer.info(), 3)
    names = {path.name for path in (root / "current").iterdir()}
    assert "edits_0000000000000000001-0000000000000000002" not in names
    assert "edits_0000000000000000003-0000000000000000004" in names
    assert aside.name not in names
    journal.close()


def test_discarded_segments_keep_their_bytes(root: Path) -> None:
    journal = journal_at(root)
    writer = Writer(journal, 1)
    writer.promise()
    writer.start(1)
    writer.write(1, 1, 2)
    writer.finish(1, 2)
    journal.discard_segments(1)
    trash = root / "current" / "edits_0000000000000000001-0000000000000000002.trash"
    assert trash.read_bytes() == segment_bytes(1, 2)
    assert journal.manifest(1, in_progress_ok=True) == ([], None)
    journal.close()


def test_discarded_edits_are_not_told_from_memory_either(root: Path) -> None:
    journal = journal_at(root)
    writer = Writer(journal, 1)
    writer.promise()
    for first in (1, 3):
        writer.start(first)
        writer.write(first, first, first + 1)
        writer.finish(first, first + 1)
    assert journal.edits(3, 10).count == 2
    journal.discard_segments(3)
    assert journal.edits(3, 10).count == 0
    journal.close()


# Who may use it.


def test_a_journal_that_is_not_formatted_says_so(tmp_path: Path) -> None:
    journal = journal_at(tmp_path / "ns1")
    assert not journal.is_formatted()
    with pytest.raises(errors.JournalNotFormatted, match="not formatted"):
        assert journal.promised_epoch
    assert not (tmp_path / "ns1").exists(), "a question makes no directory"


def test_a_journal_is_formatted_over_another_one_by_force_alone(root: Path) -> None:
    journal = journal_at(root)
    Writer(journal, 5).promise()
    other = JournalVersion(88, "CID-2", 0, -66)
    with pytest.raises(errors.InconsistentStorage, match="not empty"):
        journal.format(other, force=False)
    assert journal.promised_epoch == 5
    journal.format(other, force=True)
    assert (journal.version(), journal.promised_epoch) == (other, 0)
    journal.close()


@pytest.mark.parametrize(
    "version",
    [JournalVersion(78, "CID-1", 0, -66), JournalVersion(77, "CID-2", 0, -66)],
    ids=["namespace", "cluster"],
)
def test_another_filesystem_gets_no_epoch(root: Path, version: JournalVersion) -> None:
    journal = journal_at(root)
    with pytest.raises(errors.InconsistentStorage, match="Incompatible"):
        journal.new_epoch(version, 1)
    assert journal.promised_epoch == 0
    journal.close()


def test_two_processes_do_not_share_a_journal(root: Path) -> None:
    journal = journal_at(root)
    assert journal.promised_epoch == 0
    other = journal_at(root)
    with pytest.raises(errors.StorageLocked):
        assert other.promised_epoch
    journal.close()
    assert other.promised_epoch == 0
    other.close()


def test_records_that_are_not_what_they_say_are_not_taken(root: Path) -> None:
    journal = journal_at(root)
    writer = Writer(journal, 1)
    writer.promise()
    writer.start(1)
    damaged = bytearray(records(1, 3))
    damaged[-1] ^= 1
    for count, data in (
        (3, bytes(damaged)),
        (2, records(1, 3)),
        (4, records(1, 3)),
        (2, records(2, 3)),
        (1, b""),
        (0, b"x"),
        (1, records(1, 1)[:-1]),
        (1 << 31, records(1, 3)),
    ):
        with pytest.raises(errors.CorruptEditLog):
            journal.journal(writer.info(), 1, 1, count, data)
    writer.write(1, 1, 3)
    journal.close()


# Reading.


def test_a_segment_is_handed_out_as_far_as_it_is_written(root: Path) -> None:
    journal = journal_at(root)
    writer = Writer(journal, 1)
    writer.promise()
    writer.start(1)
    writer.write(1, 1, 2)
    path, length = journal.segment_file(1, in_progress_ok=True)
    assert path.read_bytes()[:length] == segment_bytes(1, 2)
    with pytest.raises(errors.PathNotFound):
        journal.segment_file(1, in_progress_ok=False)
    with pytest.raises(errors.PathNotFound):
        journal.segment_file(2, in_progress_ok=True)
    writer.finish(1, 2)
    path, length = journal.segment_file(1, in_progress_ok=False)
    assert path.read_bytes()[:length] == segment_bytes(1, 2)
    journal.close()


def test_recent_edits_come_out_of_memory(root: Path) -> None:
    journal = journal_at(root)
    writer = Writer(journal, 1)
    writer.promise()
    writer.start(1)
    writer.write(1, 1, 2)
    writer.write(1, 3, 6)
    found = journal.edits(2, 3)
    assert (found.count, found.log) == (3, segment_bytes(2, 4))
    assert journal.edits(7, 10).count == 0
    with pytest.raises(errors.NewerTransaction, match="6, but requested txns starting at 8"):
        journal.edits(8, 10)
    journal.close()
    again = journal_at(root)
    with pytest.raises(errors.JournalCacheMiss):
        again.edits(2, 3)
    assert again.edits(7, 3).count == 0
    again.close()
    assert (journal.figures.transactions_told, journal.figures.empty_answers) == (3, 1)
    assert journal.figures.bytes_told == len(segment_bytes(2, 4))
    assert (again.figures.cache_misses, again.figures.missed_transactions) == (1, 0)


def test_a_miss_is_counted_with_how_far_it_is_from_what_is_in_memory(root: Path) -> None:
    journal = journal_at(root)
    writer = Writer(journal, 1)
    writer.promise()
    writer.start(1)
    writer.write(1, 1, 2)
    writer.finish(1, 2)
    writer.start(4)
    writer.write(4, 4, 5)
    with pytest.raises(errors.JournalCacheMiss):
        journal.edits(1, 10)
    assert (journal.figures.cache_misses, journal.figures.missed_transactions) == (1, 3)
    journal.close()


def bean_of(journal: Journal, name: str, now_s: float) -> dict[str, Any]:
    return next(
        bean
        for bean in beans([journal], "jn:8485", 7, now_s)
        if f"name={name}" in str(bean["name"])
    )


@pytest.mark.req("FS-260")
def test_every_sync_is_timed_and_told_by_percentiles_of_the_last_interval(root: Path) -> None:
    journal = journal_at(root)
    writer = Writer(journal, 1)
    writer.promise()
    writer.start(1)
    for txid in range(1, 11):
        writer.write(1, txid, txid)
    assert journal.figures.syncs.count == 10
    now_s = time.monotonic()
    told = bean_of(journal, "Journal-", now_s)
    assert (told["Syncs60sNumOps"], told["Syncs60s99thPercentileLatencyMicros"]) == (0, 0)
    told = bean_of(journal, "Journal-", now_s + 60)
    assert (told["Syncs60sNumOps"], told["Syncs300sNumOps"]) == (10, 0)
    middle, most = (told[f"Syncs60s{each}thPercentileLatencyMicros"] for each in (50, 99))
    assert 0 < middle <= most
    info = bean_of(journal, "JournalNodeInfo", now_s)
    version = journal.version()
    assert info["ClusterIds"] == [version.cluster_id]
    assert f"NamespaceId={version.namespace_id}, " in info["StorageInfos"][0]
    journal.close()


def fetched(url: str, sink: Sink) -> None:
    sink(segment_bytes(1, 2))


def test_what_a_recovery_replaced_is_not_read_from_memory(root: Path) -> None:
    journal = journal_at(root, fetched)
    writer = Writer(journal, 1)
    writer.promise()
    writer.start(1)
    writer.write(1, 1, 3)
    later = Writer(journal, 2)
    later.promise()
    journal.accept_recovery(later.info(), SegmentState(1, 2, True), "http://b/getJournal")
    with pytest.raises(errors.JournalCacheMiss):
        journal.edits(1, 10)
    journal.close()


def test_a_fetched_segment_that_ends_elsewhere_is_not_accepted(root: Path) -> None:
    journal = journal_at(root, fetched)
    later = Writer(journal, 2)
    later.promise()
    with pytest.raises(errors.CorruptEditLog, match="should end with 3"):
        journal.accept_recovery(later.info(), SegmentState(1, 3, True), "http://b/getJournal")
    prepared = journal.prepare_recovery(later.info(), 1)
    assert (prepared.segment, prepared.accepted_epoch) == (None, None)
    assert [p.name for p in (root / "current").glob("*.epoch=*")] == []
    journal.close()
