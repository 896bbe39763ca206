from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest

from howdah import errors
from howdah.formats.edits import edits as ed
from howdah.formats.edits.codec import encode_record
from howdah.runtime import disk
from howdah.storage import segments
from howdah.storage.segments import (
    PREALLOCATION_BYTES,
    Segment,
    SegmentWriter,
    list_segments,
    parse_name,
    read_segment,
    recover_segment,
    scan_segment,
)
from tests.support.page_cache import PageCache


def _write(directory: Path, first_txid: int, count: int) -> SegmentWriter:
    writer = SegmentWriter(directory, first_txid)
    for txid in range(first_txid, first_txid + count):
        writer.append(encode_record(txid, ed.DeleteOp(f"/{txid}", txid)))
    writer.sync()
    return writer


def _txids(segment: Segment) -> list[int]:
    return [placed.logged.txid for placed in read_segment(segment)]


@pytest.mark.req("FS-023")
def test_what_was_synced_is_there_although_the_writer_never_closed(tmp_path: Path) -> None:
    _write(tmp_path, 1, 3)
    (segment,) = list_segments(tmp_path)
    assert segment.path.name == "edits_inprogress_0000000000000000001"
    assert _txids(segment) == [1, 2, 3]


def test_what_was_not_synced_is_not_there(tmp_path: Path) -> None:
    writer = _write(tmp_path, 1, 3)
    writer.append(encode_record(4, ed.DeleteOp("/4", 4)))
    assert _txids(list_segments(tmp_path)[0]) == [1, 2, 3]


def test_space_is_allocated_ahead_in_whole_steps(tmp_path: Path) -> None:
    writer = _write(tmp_path, 1, 3)
    raw = writer.path.read_bytes()
    assert len(raw) == PREALLOCATION_BYTES
    assert raw[writer.written_bytes :].strip(b"\xff") == b""


def test_more_space_is_allocated_when_it_is_used_up(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, 1, preallocation_bytes=100)
    for txid in range(1, 20):
        writer.append(encode_record(txid, ed.DeleteOp(f"/{txid}", txid)))
        writer.sync()
    assert writer.path.stat().st_size % 100 == 0
    assert scan_segment(Segment(1, None, writer.path)).last_txid == 19


def test_a_finished_segment_has_its_name_and_no_fill(tmp_path: Path) -> None:
    writer = _write(tmp_path, 5, 3)
    path = writer.finalize(7)
    assert path.name == "edits_0000000000000000005-0000000000000000007"
    assert path.stat().st_size == writer.written_bytes
    assert list_segments(tmp_path) == [Segment(5, 7, path)]
    assert _txids(Segment(5, 7, path)) == [5, 6, 7]


def test_finishing_writes_what_is_pending(tmp_path: Path) -> None:
    writer = _write(tmp_path, 1, 1)
    writer.append(encode_record(2, ed.EndLogSegmentOp()))
    assert _txids(Segment(1, 2, writer.finalize(2))) == [1, 2]


def test_a_segment_that_exists_is_not_overwritten(tmp_path: Path) -> None:
    _write(tmp_path, 1, 1)
    with pytest.raises(errors.InconsistentStorage, match="exists already"):
        SegmentWriter(tmp_path, 1)


def test_a_finished_segment_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / segments.finished_name(1, 1)).write_bytes(b"precious")
    with pytest.raises(FileExistsError):
        _write(tmp_path, 1, 1).finalize(1)


def test_a_closed_writer_says_so(tmp_path: Path) -> None:
    writer = _write(tmp_path, 1, 1)
    writer.close()
    with pytest.raises(errors.ClosedStream, match="edits_inprogress_0000000000000000001"):
        writer.append(b"x")


@pytest.mark.parametrize("then", ["sync", "finalize"])
def test_a_writer_promises_nothing_after_a_failed_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    writer = _write(tmp_path, 1, 1)

    def fail(_: int) -> None:
        raise OSError(errno.EIO, "disk on fire")

    writer.append(encode_record(2, ed.EndLogSegmentOp()))
    with monkeypatch.context() as patch:
        patch.setattr(disk, "_fdatasync", fail)
        with pytest.raises(OSError, match="disk on fire"):
            writer.sync()
    writer.append(encode_record(3, ed.EndLogSegmentOp()))
    with pytest.raises(OSError, match="unusable since a write failed"):
        writer.sync() if then == "sync" else writer.finalize(3)


def test_a_segment_that_cannot_be_begun_leaves_no_open_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = len(os.listdir("/dev/fd"))

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(OSError, match="no space left"):
        SegmentWriter(tmp_path, 1)
    assert len(os.listdir("/dev/fd")) == before


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, at: real(fd, bytes(data[:50_000]), at))
    writer = _write(tmp_path, 1, 5000)
    assert scan_segment(Segment(1, None, writer.path)).last_txid == 5000


def test_what_one_thread_appends_while_another_syncs_is_not_lost(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, 1)
    done = threading.Event()

    def sync_always() -> None:
        while not done.is_set():
            writer.sync()

    thread = threading.Thread(target=sync_always)
    thread.start()
    for txid in range(1, 3001):
        writer.append(encode_record(txid, ed.DeleteOp(f"/{txid}", txid)))
    done.set()
    thread.join(timeout=60)
    writer.sync()
    assert scan_segment(Segment(1, None, writer.path)).last_txid == 3000


def test_recovery_finishes_a_segment_at_its_last_whole_transaction(tmp_path: Path) -> None:
    writer = _write(tmp_path, 1, 3)
    good = writer.written_bytes
    with open(writer.path, "r+b") as file:
        file.seek(good)
        file.write(encode_record(4, ed.DeleteOp("/4", 4))[:-6])
    recovered, end = recover_segment(list_segments(tmp_path)[0])
    assert recovered is not None
    assert recovered.path.name == segments.finished_name(1, 3)
    assert recovered.path.stat().st_size == end.valid_bytes == good
    assert list_segments(tmp_path) == [recovered]


def test_recovery_keeps_a_copy_of_the_torn_tail(tmp_path: Path) -> None:
    writer = _write(tmp_path, 1, 3)
    with open(writer.path, "r+b") as file:
        file.seek(writer.written_bytes)
        file.write(b"\x02torn")
    recover_segment(list_segments(tmp_path)[0])
    assert (tmp_path / "edits_inprogress_0000000000000000001.torn").read_bytes() == b"\x02torn"


def test_recovery_of_a_clean_segment_keeps_no_copy(tmp_path: Path) -> None:
    _write(tmp_path, 1, 3)
    recover_segment(list_segments(tmp_path)[0])
    assert [path.name for path in tmp_path.iterdir()] == [segments.finished_name(1, 3)]


@pytest.mark.parametrize("raw", [b"", b"\xff\xff\xff\xbd\0\0\0\0", b"\xff" * 100])
def test_recovery_sets_a_segment_without_transactions_aside(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / segments.in_progress_name(9)
    path.write_bytes(raw)
    recovered, _ = recover_segment(Segment(9, None, path))
    assert recovered is None
    assert list_segments(tmp_path) == []
    assert (tmp_path / "edits_inprogress_0000000000000000009.empty").read_bytes() == raw


def test_recovery_of_a_damaged_segment_changes_nothing(tmp_path: Path) -> None:
    writer = _write(tmp_path, 1, 3)
    raw = bytearray(writer.path.read_bytes())
    raw[20] ^= 1
    writer.path.write_bytes(raw)
    with pytest.raises(errors.CorruptEditLog, match=str(writer.path)):
        recover_segment(list_segments(tmp_path)[0])
    assert writer.path.read_bytes() == raw


@pytest.mark.parametrize(
    "name", ["edits_1", "edits_inprogress_1.empty", "edits_1-2.torn", "fsimage_1", "edits_a-b"]
)
def test_other_names_are_no_segments(name: str) -> None:
    assert parse_name(Path(name)) is None


def test_segments_are_listed_in_order_of_transactions(tmp_path: Path) -> None:
    for name in ("edits_11-20", "edits_inprogress_21", "edits_1-10", "VERSION"):
        (tmp_path / name).touch()
    assert [segment.first_txid for segment in list_segments(tmp_path)] == [1, 11, 21]


@pytest.mark.req("FS-023")
def test_what_a_failed_sync_left_in_memory_is_on_the_disk_when_the_segment_is_recovered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process ended with the failure, and the next one reads and serves it."""
    cache = PageCache(monkeypatch)
    writer = _write(tmp_path, 1, 3)
    writer.append(encode_record(4, ed.DeleteOp("/4", 4)))
    cache.fails = 1
    with pytest.raises(OSError, match="the disk is broken"):
        writer.sync()
    writer.close()
    recovered, _ = recover_segment(list_segments(tmp_path)[0])
    assert recovered is not None
    assert recovered.last_txid == 4
    cache.cut_power(recovered.path)
    assert _txids(recovered) == [1, 2, 3, 4]
