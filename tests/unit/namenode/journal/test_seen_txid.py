"""`seen_txid` says how far the log has reached: it comes behind the record, and it does come."""

from __future__ import annotations

from pathlib import Path

import pytest

from howdah.formats.edits import edits
from howdah.formats.edits.codec import encode_record
from howdah.namenode.journal.directories import directory_set
from howdah.namenode.journal.directory_journal import DirectoryJournal
from howdah.namenode.journal.edit_log import EditLog
from howdah.namenode.state.edit_log.journal import Batch
from howdah.storage.layout import StorageDirectory


@pytest.fixture
def storages(tmp_path: Path) -> list[StorageDirectory]:
    made = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        storage = StorageDirectory(tmp_path / name)
        storage.create()
        storage.write_seen_txid(0)
        made.append(storage)
    return made


@pytest.mark.req("FS-030")
def test_a_segment_that_is_not_confirmed_was_not_seen(storages: list[StorageDirectory]) -> None:
    """A start that finds no such transaction is refused: the machine may have stopped before."""
    storage = storages[0]
    journal = DirectoryJournal(storage.current)
    journal.begin_segment(1)
    journal.append(Batch(1, 1, encode_record(1, edits.StartLogSegmentOp())))
    journal.make_durable()
    assert storage.read_seen_txid() == 0
    journal.confirm_segment(1)
    assert storage.read_seen_txid() == 1
    journal.close()


@pytest.mark.req("FS-030")
def test_each_directory_has_seen_each_segment(storages: list[StorageDirectory]) -> None:
    confirmed: list[int] = []
    log = EditLog(
        directory_set(storage.current for storage in storages),
        0,
        on_durable=lambda txid: None,
        on_failure=pytest.fail,
        on_segment=confirmed.append,
    )
    assert [storage.read_seen_txid() for storage in storages] == [1, 1]
    log.append([encode_record(2, edits.SetGenstampV2Op(7))])
    assert log.roll() == 4
    log.close()
    assert [storage.read_seen_txid() for storage in storages] == [4, 4]
    assert confirmed == [1, 4]
