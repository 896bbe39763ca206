"""A sync that failed leaves records in memory that the disk lacks. Whoever starts the node reads
them there; what it tells of them has to be so after a power cut, too (LM-015)."""

from __future__ import annotations

from pathlib import Path

import pytest

from howdah import errors
from howdah.journalnode.journal import Journal
from howdah.journalnode.state.journal_state import SegmentState
from howdah.storage.segments import Segment, scan_segment
from tests.support.journal_writer import VERSION, Writer, journal_at
from tests.support.page_cache import PageCache

UNFINISHED = "edits_inprogress_0000000000000000001"


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch) -> PageCache:
    return PageCache(monkeypatch)


def formatted(tmp_path: Path) -> tuple[Journal, Writer]:
    journal = journal_at(tmp_path / "ns1")
    journal.format(VERSION, force=False)
    writer = Writer(journal, 1)
    writer.promise()
    writer.start(1)
    writer.write(1, 1, 3)
    return journal, writer


def last_told(journal: Journal) -> SegmentState | None:
    recovering = Writer(journal, 2)
    recovering.promise()
    return journal.prepare_recovery(recovering.info(), 1).segment


def last_txid_after_a_cut(cache: PageCache, journal: Journal) -> int | None:
    path = journal.root / "current" / UNFINISHED
    cache.cut_power(path)
    return scan_segment(Segment(1, None, path)).last_txid


@pytest.mark.req("FS-061", "LM-015")
def test_what_a_sync_of_the_process_before_did_not_bring_to_the_disk_is_there_when_it_is_told(
    tmp_path: Path, cache: PageCache
) -> None:
    journal, writer = formatted(tmp_path)
    cache.fails = 1
    with pytest.raises(errors.RemoteError, match="the disk is broken"):
        writer.write(1, 4, 5)
    journal.close()  # as kill -9: nothing is asked of it in between
    again = journal_at(tmp_path / "ns1")
    assert last_told(again) == SegmentState(1, 5, True)
    assert last_txid_after_a_cut(cache, again) == 5
    again.close()


@pytest.mark.req("FS-061", "LM-015")
def test_a_start_whose_own_sync_failed_does_not_rely_on_it(
    tmp_path: Path, cache: PageCache
) -> None:
    journal, writer = formatted(tmp_path)
    writer.write(1, 4, 5, committed=5)  # not synced: the node lags
    journal.close()
    again = journal_at(tmp_path / "ns1")
    cache.fails = 1
    with pytest.raises(errors.RemoteError, match="the disk is broken"):
        last_told(again)
    assert last_told(again) == SegmentState(1, 5, True)
    assert last_txid_after_a_cut(cache, again) == 5
    again.close()
