"""A directory as the log of several namenodes: one writes, the others read what is durable."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from howdah import errors
from howdah.formats.edits import edits
from howdah.formats.edits.codec import encode_record
from howdah.formats.version import NamenodeVersion
from howdah.namenode.journal.directory_journal import DirectorySource
from howdah.namenode.journal.shared_directory import SharedDirectory, SharedDirectoryJournal
from howdah.namenode.journal.stray_segments import set_strays_aside
from howdah.namenode.state.edit_log.journal import Batch
from howdah.namenode.state.edit_log.segment_selection import SegmentCopy

VERSION = NamenodeVersion(7, "CID-shared", "BP-1-127.0.0.1-1", 0)


@pytest.fixture
def shared(tmp_path: Path) -> SharedDirectory:
    shared = SharedDirectory(tmp_path / "shared", VERSION)
    shared.format(VERSION)
    return shared


def current(shared: SharedDirectory) -> Path:
    return Path(shared.name) / "current"


def record(txid: int) -> bytes:
    edit = edits.MkdirOp(16385 + txid, f"/{txid}", 0, edits.Permission("root", "root", 0o755), ())
    return encode_record(txid, edit)


def write(journal: SharedDirectoryJournal, first: int, last: int) -> None:
    for txid in range(first, last + 1):
        journal.append(Batch(txid, 1, record(txid)))
    journal.make_durable()


def segment(journal: SharedDirectoryJournal, first: int, last: int) -> None:
    journal.begin_segment(first)
    write(journal, first, last)
    journal.end_segment(last)


def read(shared: SharedDirectory, from_txid: int, *, unfinished: bool = True) -> list[int]:
    return [logged.txid for logged in shared.edits(from_txid, unfinished=unfinished)]


def test_a_directory_keeps_what_can_be_read_of_it(shared: SharedDirectory) -> None:
    journal = shared.take_over()
    segment(journal, 1, 5)
    journal.begin_segment(6)
    write(journal, 6, 7)
    assert shared.keeps(6, 7)
    assert shared.keeps(2, 4)
    assert not shared.keeps(6, 8)
    assert not shared.keeps(8, 8)
    journal.close()


@pytest.mark.req("FS-054", "FS-055", "FS-059")
def test_a_reader_gets_finished_segments_and_the_unfinished_one_if_it_wants(
    shared: SharedDirectory,
) -> None:
    journal = shared.take_over()
    segment(journal, 1, 5)
    journal.begin_segment(6)
    write(journal, 6, 8)
    assert read(shared, 1, unfinished=False) == [1, 2, 3, 4, 5]
    assert read(shared, 1) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert read(shared, 4) == [4, 5, 6, 7, 8]
    write(journal, 9, 10)
    assert read(shared, 9) == [9, 10]
    assert read(shared, 11) == []
    journal.end_segment(10)
    journal.begin_segment(11)
    write(journal, 11, 11)
    assert read(shared, 9) == [9, 10, 11]


def test_what_was_read_of_an_unfinished_segment_is_synced(
    shared: SharedDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = shared.take_over()
    journal.begin_segment(1)
    write(journal, 1, 3)
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    assert read(shared, 1) == [1, 2, 3]
    assert synced


def test_a_reader_does_not_begin_at_the_beginning_each_time(
    shared: SharedDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = shared.take_over()
    journal.begin_segment(1)
    write(journal, 1, 50)
    assert read(shared, 1)[-1] == 50
    skipped: list[int] = []
    opened = DirectorySource.open

    def spy(source: DirectorySource, copy: SegmentCopy, skip_bytes: int = 0) -> object:
        skipped.append(skip_bytes)
        return opened(source, copy, skip_bytes)

    monkeypatch.setattr(DirectorySource, "open", spy)
    write(journal, 51, 52)
    assert read(shared, 51) == [51, 52]
    assert skipped[0] > 49 * len(record(1)) - 100


@pytest.mark.parametrize("damage", ["torn", "half", "swapped"])
def test_a_record_that_is_half_written_is_read_when_it_is_whole(
    shared: SharedDirectory, damage: str
) -> None:
    journal = shared.take_over()
    journal.begin_segment(1)
    write(journal, 1, 4)
    (path,) = current(shared).glob("edits_inprogress_*")
    whole = path.read_bytes()
    begin = whole.index(record(3))
    end = begin + len(record(3))
    # What a reader may see while the writer's bytes come into the file.
    broken = {
        "torn": whole[:begin] + b"\xff" * (len(whole) - begin),
        "half": whole[: begin + 10] + b"\xff" * (len(whole) - begin - 10),
        "swapped": whole[:begin] + b"\xff" * (end - begin) + whole[end:],
    }[damage]
    path.write_bytes(broken)
    assert read(shared, 1) == [1, 2]
    path.write_bytes(whole)
    assert read(shared, 3) == [3, 4]


@pytest.mark.req("FS-071", "LM-017")
def test_one_writes_at_a_time(shared: SharedDirectory) -> None:
    journal = shared.take_over()
    with pytest.raises(errors.StorageLocked):
        shared.take_over()
    journal.close()
    journal.close()
    shared.take_over().close()


@pytest.mark.req("FS-065")
def test_who_takes_over_finishes_what_the_former_writer_left(shared: SharedDirectory) -> None:
    former = shared.take_over()
    segment(former, 1, 5)
    former.begin_segment(6)
    write(former, 6, 8)
    former.close()
    (path,) = current(shared).glob("edits_inprogress_*")
    with open(path, "r+b") as file:  # the last write came to the disk in part
        file.seek(path.read_bytes().index(record(8)) + 7)
        file.write(b"\xff" * 100)
    journal = shared.take_over()
    assert read(shared, 1, unfinished=False) == [1, 2, 3, 4, 5, 6, 7]
    segment(journal, 8, 9)
    assert read(shared, 1, unfinished=False) == list(range(1, 10))


@pytest.mark.req("FS-030")
def test_what_a_rollback_discards_was_never_reached(shared: SharedDirectory) -> None:
    """The next writer would be refused otherwise, as the log ends before what it had reached."""
    journal = shared.take_over()
    segment(journal, 1, 5)
    segment(journal, 6, 9)
    journal.confirm_segment(6)
    journal.close()
    shared.discard_from(8)
    assert seen(shared) == 6
    shared.discard_from(4)
    assert seen(shared) == 3


def seen(shared: SharedDirectory) -> int:
    journal = shared.take_over()
    try:
        return journal.seen_txid()
    finally:
        journal.close()


def test_what_images_make_superfluous_goes_and_the_rest_stays(shared: SharedDirectory) -> None:
    journal = shared.take_over()
    segment(journal, 1, 5)
    segment(journal, 6, 9)
    journal.begin_segment(10)
    shared.purge_before(6)
    assert sorted(path.name for path in current(shared).glob("edits_*")) == [
        "edits_0000000000000000006-0000000000000000009",
        "edits_inprogress_0000000000000000010",
    ]


def test_a_segment_whose_last_edit_is_needed_stays(shared: SharedDirectory) -> None:
    journal = shared.take_over()
    segment(journal, 1, 5)
    segment(journal, 6, 9)
    shared.purge_before(9)
    assert read(shared, 9) == [9]


def test_a_directory_of_another_filesystem_is_refused(shared: SharedDirectory) -> None:
    other = SharedDirectory(Path(shared.name), NamenodeVersion(8, "CID-other", "BP-2", 0))
    for use in (lambda: read(other, 1), other.take_over):
        with pytest.raises(errors.InconsistentStorage, match="another filesystem"):
            use()


def test_a_directory_that_is_not_there_is_refused_with_advice(tmp_path: Path) -> None:
    shared = SharedDirectory(tmp_path / "nothing", VERSION)
    assert not shared.is_formatted()
    with pytest.raises(errors.InconsistentStorage, match="initializeSharedEdits"):
        read(shared, 1)


def test_a_gap_is_a_loss(shared: SharedDirectory) -> None:
    journal = shared.take_over()
    segment(journal, 1, 5)
    segment(journal, 6, 9)
    (current(shared) / "edits_0000000000000000001-0000000000000000005").unlink()
    with pytest.raises(errors.CorruptEditLog, match="no transactions 1 to 5"):
        read(shared, 1)


# What a machine has, and the shared log has not.


@pytest.mark.parametrize(
    ("name", "is_stray"),
    [
        ("edits_0000000000000000001-0000000000000000005", False),  # as it is shared
        ("edits_0000000000000000006-0000000000000000011", True),  # the others ended it sooner
        ("edits_0000000000000000006-0000000000000000007", True),  # and later
        ("edits_0000000000000000010-0000000000000000012", True),  # beyond the end
        ("edits_inprogress_0000000000000000010", True),
        ("edits_inprogress_0000000000000000001", True),
    ],
)
def test_strays_are_set_aside(
    shared: SharedDirectory, tmp_path: Path, name: str, is_stray: bool
) -> None:
    journal = shared.take_over()
    segment(journal, 1, 5)
    segment(journal, 6, 9)
    own = tmp_path / "own"
    own.mkdir()
    (own / name).write_bytes(b"")
    set_strays_aside([own, tmp_path / "gone"], shared.source(), 9)
    assert [path.name for path in own.iterdir()] == [name + ".stale" * is_stray]
