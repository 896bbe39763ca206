"""A namenode writes and reads its log on real journal nodes, over sockets."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from howdah import errors
from howdah.formats.edits import edits
from howdah.formats.edits.codec import encode_record
from howdah.formats.edits.edits import LoggedEdit
from howdah.namenode.journal.quorum.channel import Channel, Listed
from howdah.namenode.journal.quorum.quorum_journal import QuorumJournal
from howdah.namenode.journal.quorum.quorum_log import FILES_REST
from howdah.namenode.journal.quorum.settings import boottime_ms
from howdah.namenode.state.edit_log.journal import Batch
from howdah.testing.waiting import wait_until
from howdah.web.http_client import fetch
from tests.support.journals.quorum import Quorum

LEASE = {"howdah.ha.lease.ms": "300"}


def record(txid: int, edit: edits.Edit | None = None) -> Batch:
    return Batch(txid, 1, encode_record(txid, edit or edits.SetReplicationOp(f"/{txid}", 2)))


def write(journal: QuorumJournal, first_txid: int, last_txid: int, *, ends: bool = True) -> None:
    """A segment."""
    journal.begin_segment(first_txid)
    journal.append(record(first_txid, edits.StartLogSegmentOp()))
    for txid in range(first_txid + 1, last_txid):
        journal.append(record(txid))
    journal.append(record(last_txid, edits.EndLogSegmentOp() if ends else None))
    journal.make_durable()
    if ends:
        journal.end_segment(last_txid)


def txids(found: Iterable[LoggedEdit]) -> list[int]:
    return [logged.txid for logged in found]


@pytest.mark.req("FS-060", "FS-061", "LM-015")
def test_edits_are_durable_and_read_while_one_node_is_down(quorum: Quorum) -> None:
    log = quorum.log()
    journal = log.take_over()
    write(journal, 1, 5)
    quorum.stop(1)
    write(journal, 6, 9)
    write(journal, 10, 12, ends=False)
    assert txids(log.edits(1, unfinished=False)) == list(range(1, 10))
    assert txids(log.edits(1, unfinished=True)) == list(range(1, 13))
    assert txids(log.edits(8, unfinished=True)) == list(range(8, 13))
    journal.close()


@pytest.mark.req("FS-061")
def test_a_writer_without_a_majority_is_at_its_end(quorum: Quorum) -> None:
    journal = quorum.log().take_over()
    write(journal, 1, 5)
    quorum.stop(0)
    quorum.stop(1)
    with pytest.raises(OSError, match="2 of 3 journal nodes"):
        write(journal, 6, 9)
    assert journal.lost is not None
    assert journal.lease_until_ms() == 0
    journal.close()


@pytest.mark.req("FS-070", "FS-071", "LM-016")
def test_a_second_writer_fences_the_first(quorum: Quorum) -> None:
    first = quorum.log(**LEASE).take_over()
    write(first, 1, 5, ends=False)
    lease_until_ms = first.lease_until_ms()
    log = quorum.log(**LEASE)
    second = log.take_over()
    assert second.epoch == 2
    # What the first one has acknowledged is there, and it may have answered reads until then.
    assert txids(log.edits(1, unfinished=False)) == [1, 2, 3, 4, 5]
    assert second.serve_from_ms() >= lease_until_ms
    first.append(record(6))
    with pytest.raises(errors.WriterFenced, match="another writer"):
        first.make_durable()
    second.truncate_to(5)
    with pytest.raises(errors.CorruptEditLog, match="5"):
        second.truncate_to(4)
    write(second, 6, 8)
    assert txids(log.edits(4, unfinished=False)) == [4, 5, 6, 7, 8]
    first.close()
    second.close()


@pytest.mark.req("LM-016", "LM-018")
def test_an_idle_writer_keeps_its_lease_and_learns_that_it_has_lost_the_log(
    quorum: Quorum,
) -> None:
    first = quorum.log(**LEASE).take_over()
    begun_ms = first.lease_until_ms()
    wait_until(lambda: first.lease_until_ms() > begun_ms + 300, 10, "heartbeats renew the lease")
    assert first.lost is None
    second = quorum.log(**LEASE).take_over()
    wait_until(lambda: first.lost is not None, 10, "a heartbeat says that the epoch is over")
    assert first.lease_until_ms() <= second.serve_from_ms()
    first.close()
    second.close()


@pytest.mark.req("LM-016")
def test_a_writer_waits_for_the_lease_of_one_that_has_a_longer_one(quorum: Quorum) -> None:
    first = quorum.log(**{"howdah.ha.lease.ms": "30s"}).take_over()
    write(first, 1, 5, ends=False)
    for number in range(3):
        quorum.stop(number)
        quorum.start(number)
    second = quorum.log(**LEASE).take_over()
    assert second.serve_from_ms() >= first.lease_until_ms() > boottime_ms() + 20_000
    # One that takes over from it, though it has not served, waits for the first one, too.
    third = quorum.log(**LEASE).take_over()
    assert third.serve_from_ms() >= first.lease_until_ms()
    for journal in (first, second, third):
        journal.close()


@pytest.mark.req("FS-068")
def test_nobody_waits_for_the_lease_of_a_writer_that_resigned(quorum: Quorum) -> None:
    first = quorum.log().take_over()
    write(first, 1, 5)
    first.close()
    first.close()
    assert first.lease_until_ms() == 0
    second = quorum.log().take_over()
    assert second.serve_from_ms() <= boottime_ms()
    second.close()


def test_a_node_that_was_down_joins_in_with_the_next_segment(quorum: Quorum) -> None:
    journal = quorum.log(**LEASE).take_over()
    write(journal, 1, 5, ends=False)
    quorum.stop(2)
    journal.append(record(6))
    journal.make_durable()
    wait_until(
        lambda: journal.reports()[2].out_of_sync is not None, 10, "the third node is left out"
    )
    assert not journal.wants_segment
    quorum.start(2)
    wait_until(lambda: journal.wants_segment, 10, "the node is back")
    journal.end_segment(6)
    write(journal, 7, 9)
    assert not journal.wants_segment
    wait_until(lambda: journal.reports()[2].acknowledged_txid == 9, 10, "it takes part")
    journal.close()


def test_a_reader_that_comes_late_reads_the_files_of_an_unfinished_segment(quorum: Quorum) -> None:
    journal = quorum.log().take_over()
    write(journal, 1, 3)
    write(journal, 4, 9, ends=False)
    # Memory is gone with the processes, on which the segment stays unfinished.
    for number in range(3):
        quorum.stop(number)
        quorum.start(number)
    wait_until(
        lambda: txids(quorum.log().edits(2, unfinished=True)) == list(range(2, 10)),
        10,
        "a heartbeat tells the nodes what is committed",
    )
    journal.close()


def test_a_reader_that_lacks_little_gets_finished_segments_without_a_file(
    quorum: Quorum, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What follows them is left out, as of files."""
    log = quorum.log()
    journal = log.take_over()
    write(journal, 1, 5)
    write(journal, 6, 9)
    write(journal, 10, 12, ends=False)

    def no_file(url: str, *args: Any, **options: Any) -> None:
        raise errors.Unreachable(f"{url} is asked for")

    with monkeypatch.context() as patch:
        patch.setattr("howdah.namenode.journal.quorum.quorum_log.fetch", no_file)
        assert txids(log.edits(1, unfinished=False)) == list(range(1, 10))
        assert txids(log.edits(7, unfinished=False)) == [7, 8, 9]
        assert txids(log.edits(10, unfinished=False)) == []
        patch.setattr("howdah.namenode.journal.quorum.quorum_log.MOST_FROM_MEMORY", 2)
        assert txids(log.edits(8, unfinished=False)) == [8, 9]
        with pytest.raises(OSError, match="is asked for"):
            list(log.edits(7, unfinished=False))
    # Memory is gone with the processes.
    for number in range(3):
        quorum.stop(number)
        quorum.start(number)
    assert txids(quorum.log().edits(7, unfinished=False)) == [7, 8, 9]
    journal.close()


def test_nodes_that_are_slow_to_tell_of_memory_do_not_keep_files_from_being_read(
    quorum: Quorum, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = quorum.log().take_over()
    write(journal, 1, 5)
    log = quorum.log()
    listing, goes_on = Channel.manifest, threading.Event()
    slow, missing = sorted(node.name for node in log._end_readers._nodes.values())[:2]

    def list_slowly(channel: Channel, since_txid: int, *, unfinished: bool) -> Listed:
        if channel in log._end_readers._nodes.values() and channel.name == slow:
            goes_on.wait(20)
        return listing(channel, since_txid, unfinished=unfinished)

    def tell_slowly(channel: Channel, since_txid: int) -> tuple[bytes, ...]:
        if channel.name != missing:
            goes_on.wait(20)
        raise errors.JournalCacheMiss("it is in memory no more")

    monkeypatch.setattr(Channel, "manifest", list_slowly)
    monkeypatch.setattr(Channel, "edits", tell_slowly)
    try:
        assert txids(log.edits(1, unfinished=False)) == [1, 2, 3, 4, 5]
    finally:
        goes_on.set()
    journal.close()


def test_files_of_an_unfinished_segment_are_not_fetched_all_the_time(
    quorum: Quorum, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_ms, fetched = [1_000_000], []

    def slow(url: str, *args: Any, **options: Any) -> None:
        fetched.append(url)
        now_ms[0] += 100
        fetch(url, *args, **options)

    def forgotten(channel: Channel, since_txid: int) -> tuple[bytes, ...]:
        raise errors.JournalCacheMiss("it is in memory no more")

    monkeypatch.setattr("howdah.namenode.journal.quorum.quorum_log.fetch", slow)
    monkeypatch.setattr(Channel, "edits", forgotten)
    journal = quorum.log(**LEASE).take_over()
    write(journal, 1, 6, ends=False)
    log = quorum.log()
    log._settings = replace(log._settings, clock_ms=lambda: now_ms[0])

    def all_have_it() -> bool:
        listed = log._readers.ask_all("listing", lambda node: node.manifest(1, unfinished=True))
        return all(each.committed_txid == 6 and each.segments[0].last_txid == 6 for each in listed)

    wait_until(all_have_it, 10)
    assert txids(log.edits(1, unfinished=True)) == [1, 2, 3, 4, 5, 6]
    count = len(fetched)
    assert count in (2, 3)
    for _ in range(5):
        assert txids(log.edits(3, unfinished=True)) == []
    assert len(fetched) == count
    now_ms[0] += FILES_REST * count * 100
    assert txids(log.edits(3, unfinished=True)) == [3, 4, 5, 6]
    journal.close()


def test_a_reader_learns_of_a_segment_that_begins_when_it_is_known_to_be_committed(
    quorum: Quorum,
) -> None:
    log = quorum.log(**LEASE)
    journal = log.take_over()
    write(journal, 1, 3)
    journal.begin_segment(4)
    journal.append(record(4, edits.StartLogSegmentOp()))
    journal.make_durable()
    wait_until(lambda: txids(log.edits(2, unfinished=True)) == [2, 3, 4], 10, "a heartbeat says so")
    # Others may answer first this time, and know it later.
    wait_until(lambda: txids(log.edits(4, unfinished=True)) == [4], 10, "a heartbeat says so")
    # Of files, too.
    for number in range(3):
        quorum.stop(number)
        quorum.start(number)
    wait_until(lambda: txids(quorum.log().edits(4, unfinished=True)) == [4], 10, "it is read")
    journal.close()


def test_what_nobody_may_read_yet_is_there_all_the_same(quorum: Quorum) -> None:
    """As behind a writer of Hadoop's, which tells nobody what is committed before it writes on."""
    log = quorum.log(**{"howdah.ha.lease.ms": "1h"})
    # A node that gets a record late gets the word with it that the others have it.
    quorum.stop(2)
    journal = log.take_over()
    write(journal, 1, 3)
    journal.begin_segment(4)
    assert not log.keeps(4, 4)
    journal.append(record(4, edits.StartLogSegmentOp()))
    journal.make_durable()
    assert txids(log.edits(2, unfinished=True)) == [2, 3]
    assert log.keeps(4, 4)
    assert log.keeps(2, 3)
    assert not log.keeps(4, 5)
    # On a minority alone it is lost.
    for number in range(2):
        quorum.stop(number)
        current = quorum.directory(number) / "ns" / "current"
        (current / "edits_inprogress_0000000000000000004").unlink()
        quorum.start(number)
    assert not quorum.log().keeps(4, 4)
    journal.close()


def test_of_files_only_what_is_known_to_be_committed_is_read(quorum: Quorum) -> None:
    journal = quorum.log().take_over()
    write(journal, 1, 3)
    write(journal, 4, 9, ends=False)
    wait_until(
        lambda: all(node.acknowledged_txid == 9 for node in journal.reports()), 10, "all have it"
    )
    journal.close()
    for number in range(3):
        quorum.stop(number)
        current = quorum.directory(number) / "ns" / "current"
        (current / "committed-txid").write_bytes((6).to_bytes(8, "big"))
        quorum.start(number)
    # A recovery that was not finished may leave files alike on a majority, and lose them again.
    assert txids(quorum.log().edits(2, unfinished=True)) == [2, 3, 4, 5, 6]


def test_a_reader_does_not_wait_for_a_node_that_hangs(
    quorum: Quorum, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = quorum.log().take_over()
    write(journal, 1, 3, ends=False)
    log, goes_on = quorum.log(), threading.Event()
    hanging = f"127.0.0.1:{quorum.uri.nodes[2][1]}"
    lacking = f"127.0.0.1:{quorum.uri.nodes[1][1]}"
    ask = Channel.edits

    def edits_of(channel: Channel, since_txid: int) -> tuple[bytes, ...]:
        if channel.name == hanging:
            goes_on.wait(60)
        return () if channel.name == lacking else ask(channel, since_txid)

    monkeypatch.setattr(Channel, "edits", edits_of)
    # The two that answer have nothing in common, so the third one would be wanted.
    assert txids(log.edits(1, unfinished=True)) == []
    assert not goes_on.is_set()
    goes_on.set()
    journal.close()


def test_a_reader_reads_on_behind_a_moment_without_threads(
    quorum: Quorum, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a standby would follow the log no more, and could never take it over."""
    journal = quorum.log().take_over()
    write(journal, 1, 3)
    log, start = quorum.log(), threading.Thread.start

    def starts(thread: threading.Thread) -> None:
        if thread.name.startswith("journal reader"):
            raise RuntimeError("can't start new thread")
        start(thread)

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", starts)
        with pytest.raises(OSError, match="no thread for journal reader"):
            txids(log.edits(1, unfinished=False))
    assert txids(log.edits(1, unfinished=False)) == [1, 2, 3]
    journal.close()


def test_a_writer_goes_on_where_the_log_ends(quorum: Quorum) -> None:
    first = quorum.log().take_over()
    write(first, 1, 5)
    first.close()
    second = quorum.log().take_over()
    with pytest.raises(errors.CorruptEditLog, match="ends with transaction 5"):
        second.begin_segment(5)
    second.begin_segment(6)
    second.close()


def test_a_writer_that_lacks_the_end_of_a_log_without_segments_is_refused(
    quorum: Quorum,
) -> None:
    """Its image is an old one, and images of others have made the segments superfluous."""
    first = quorum.log(**LEASE).take_over()
    write(first, 1, 5)
    first.purge_before(6)
    wait_until(lambda: not quorum.log().source().segments(scans=False), 10, "all segments are gone")
    first.close()
    second = quorum.log(**LEASE).take_over()
    with pytest.raises(errors.CorruptEditLog, match="ends with transaction 5"):
        second.begin_segment(4)
    write(second, 6, 8)
    second.close()


def test_a_quorum_is_formatted_by_all_or_not_at_all(quorum: Quorum) -> None:
    log = quorum.log()
    assert log.is_formatted()
    quorum.stop(0)
    with pytest.raises(OSError, match="all journal nodes"):
        log.is_formatted()


def test_segments_that_images_make_superfluous_are_purged(quorum: Quorum) -> None:
    log = quorum.log()
    journal = log.take_over()
    write(journal, 1, 5)
    write(journal, 6, 9)
    log.purge_before(6)
    wait_until(
        lambda: [copy.first_txid for copy in log.source().segments(scans=False)] == [6, 6],
        10,
        "the first segment is gone",
    )
    journal.close()
