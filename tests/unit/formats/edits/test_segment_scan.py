from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howdah import errors
from howdah.formats.edits import edits as ed
from howdah.formats.edits.codec import encode_record, record_length
from howdah.formats.edits.segment_scan import (
    HEADER_BYTES,
    PlacedEdit,
    SegmentEnd,
    SegmentReader,
    encode_header,
    find_record,
)

NAME = "/name/current/edits_inprogress_0000000000000000001"


def _log(*edits: ed.Edit, first_txid: int = 1) -> bytes:
    records = [encode_record(first_txid + at, edit) for at, edit in enumerate(edits)]
    return encode_header() + b"".join(records)


def _deletes(count: int, first_txid: int = 1) -> bytes:
    return _log(*[ed.DeleteOp(f"/{at}", at) for at in range(count)], first_txid=first_txid)


def _scan(raw: bytes, first_txid: int | None = 1, last_txid: int | None = None) -> SegmentEnd:
    return SegmentReader(io.BytesIO(raw), NAME, first_txid=first_txid, last_txid=last_txid).scan()


def _read(raw: bytes, first_txid: int | None = 1) -> list[PlacedEdit]:
    return list(SegmentReader(io.BytesIO(raw), NAME, first_txid=first_txid))


def _boundaries(raw: bytes) -> list[int]:
    """Offset of every record, and of the end."""
    offsets = [HEADER_BYTES]
    while offsets[-1] < len(raw):
        offsets.append(offsets[-1] + record_length(raw, offsets[-1]))
    return offsets


@settings(deadline=None)
@given(data=st.data())
@pytest.mark.req("FS-023")
def test_a_segment_gives_back_its_edits_in_order(
    any_edit: st.SearchStrategy[ed.Edit], data: st.DataObject
) -> None:
    edits = data.draw(st.lists(any_edit, max_size=8))
    read = _read(_log(*edits))
    assert [placed.logged for placed in read] == [
        ed.LoggedEdit(txid, edit) for txid, edit in enumerate(edits, 1)
    ]


def test_an_edit_knows_the_offset_of_its_record() -> None:
    raw = _deletes(3)
    assert [placed.offset for placed in _read(raw)] == _boundaries(raw)[:-1]


def test_a_segment_that_hadoop_wrote_is_read_whole(hadoop_log: Path) -> None:
    end = _scan(hadoop_log.read_bytes(), last_txid=85)
    assert end == SegmentEnd(-67, 85, 5523)


@pytest.mark.parametrize("fill", [b"\xff" * 4096, b"\xff" * 100 + bytes(100), b"\xff"])
def test_fill_behind_the_records_is_not_a_torn_tail(fill: bytes) -> None:
    raw = _deletes(3)
    assert _scan(raw + fill) == SegmentEnd(-67, 3, len(raw))


@pytest.mark.req("FS-023")
def test_a_log_cut_anywhere_ends_at_its_last_whole_transaction(hadoop_log: Path) -> None:
    raw = hadoop_log.read_bytes()[:1200]
    whole = _boundaries(hadoop_log.read_bytes())
    for cut in range(len(raw)):
        end = _scan(raw[:cut])
        survived = [offset for offset in whole if offset <= cut]
        assert end.valid_bytes == (survived[-1] if survived else 0)
        assert not raw[end.valid_bytes + end.torn_bytes : cut].strip(b"\xff")
        assert end.last_txid == (len(survived) - 1 if len(survived) > 1 else None)


@pytest.mark.parametrize("fill", [b"\xff", b"\0"])
def test_a_log_cut_anywhere_before_space_allocated_ahead_ends_there_too(fill: bytes) -> None:
    raw = _deletes(5)
    start = _boundaries(bytes(raw))[-2]
    for cut in range(start, len(raw)):
        lost = raw[cut:]
        end = _scan(raw[:cut] + fill * 2000)
        if lost.strip(fill):
            assert (end.last_txid, end.valid_bytes) == (4, start)
        else:
            assert (end.last_txid, end.valid_bytes) == (5, len(raw))


@pytest.mark.req("FS-023")
def test_no_changed_byte_goes_unnoticed(hadoop_log: Path) -> None:
    raw = hadoop_log.read_bytes()
    last = _boundaries(bytes(raw))[-2]
    for at in range(HEADER_BYTES, len(raw)):
        changed = bytearray(raw)
        changed[at] ^= 1 + at % 255
        if at < last:
            with pytest.raises(errors.CorruptEditLog, match=NAME):
                _scan(bytes(changed))
        else:
            assert _scan(bytes(changed)).valid_bytes == last


def test_no_changed_byte_of_the_header_changes_an_edit(hadoop_log: Path) -> None:
    raw = hadoop_log.read_bytes()
    edits = _read(raw)
    for at in range(HEADER_BYTES):
        for mask in range(1, 256):
            changed = bytearray(raw)
            changed[at] ^= mask
            try:
                assert _read(bytes(changed)) == edits
            except (errors.CorruptEditLog, errors.IncorrectVersion):
                continue


def test_damage_is_told_with_file_offset_and_transaction() -> None:
    raw = bytearray(_deletes(3))
    second = _boundaries(bytes(raw))[1]
    raw[second + 20] ^= 1
    with pytest.raises(errors.CorruptEditLog) as caught:
        _scan(bytes(raw))
    assert f"Edit log {NAME} is damaged at offset {second}, in transaction 2" in str(caught.value)
    assert "goes on with transaction 3" in str(caught.value)


@pytest.mark.parametrize("length", [0, 12, 13, 100, 5000, 0x00FFFFFF, 0x7FFFFFFF, 0xFFFFFFFF])
def test_a_lying_length_before_the_end_is_damage(length: int) -> None:
    raw = bytearray(_deletes(4))
    second = _boundaries(bytes(raw))[1]
    raw[second + 1 : second + 5] = length.to_bytes(4, "big")
    with pytest.raises(errors.CorruptEditLog, match="in transaction 2"):
        _scan(bytes(raw))


def test_a_lying_length_at_the_end_is_a_torn_tail() -> None:
    raw = bytearray(_deletes(4))
    last = _boundaries(bytes(raw))[-2]
    raw[last + 1] = 0x7F
    assert _scan(bytes(raw)).valid_bytes == last


def test_zeros_in_the_middle_are_damage() -> None:
    raw = _deletes(200)
    middle = _boundaries(raw)[100]
    with pytest.raises(errors.CorruptEditLog, match="transaction 101"):
        _scan(raw[:middle] + bytes(4096) + raw[middle:])


def test_fill_in_the_middle_is_damage() -> None:
    raw = _deletes(200)
    middle = _boundaries(raw)[100]
    with pytest.raises(errors.CorruptEditLog, match="behind the end of the records"):
        _scan(raw[:middle] + b"\xff" * 4096 + raw[middle:])


@pytest.mark.parametrize("txid", [1, 2, 4, 1 << 40])
def test_a_gap_or_repetition_of_transactions_is_damage_even_at_the_end(txid: int) -> None:
    raw = _deletes(2) + encode_record(txid, ed.DeleteOp("/z", 1))
    with pytest.raises(errors.CorruptEditLog, match=f"transaction {txid} stands in its place"):
        _scan(raw)


def test_a_segment_begins_with_the_transaction_of_its_name() -> None:
    with pytest.raises(errors.CorruptEditLog, match="in transaction 8: transaction 7 stands"):
        _scan(_deletes(3, first_txid=7), first_txid=8)


def test_a_segment_may_begin_anywhere() -> None:
    assert _scan(_deletes(3, first_txid=1 << 33), first_txid=1 << 33).last_txid == (1 << 33) + 2


def test_the_first_transaction_need_not_be_known() -> None:
    assert _scan(_deletes(3, first_txid=7), first_txid=None).last_txid == 9


@pytest.mark.parametrize("lost_bytes", [1, 30, 60])
def test_a_finished_segment_has_no_torn_tail(lost_bytes: int) -> None:
    raw = _deletes(3)
    with pytest.raises(errors.CorruptEditLog, match="in transaction"):
        _scan(raw[:-lost_bytes], last_txid=3)


def test_a_finished_segment_without_its_last_transaction_is_damaged() -> None:
    with pytest.raises(errors.CorruptEditLog, match="ends before transaction 4"):
        _scan(_deletes(3), last_txid=4)


def test_a_body_that_makes_no_sense_behind_a_right_checksum_is_damage() -> None:
    body = struct.pack(">Biq", 31, 13, 3) + b"x"
    raw = _deletes(2) + body + struct.pack(">I", zlib.crc32(body))
    with pytest.raises(errors.CorruptEditLog, match="in transaction 3"):
        _read(raw)


def test_an_unknown_operation_is_told_with_file_offset_and_transaction() -> None:
    body = struct.pack(">Biq", 5, 12, 2)
    raw = _deletes(1) + body + struct.pack(">I", zlib.crc32(body))
    with pytest.raises(errors.UnsupportedOperation) as caught:
        _read(raw)
    assert f"{NAME}: transaction 2 at offset" in str(caught.value)
    assert "OP_DATANODE_ADD" in str(caught.value)


@pytest.mark.parametrize("version", [-68, -62, -1])
def test_another_layout_version_is_refused_by_number(version: int) -> None:
    with pytest.raises(errors.IncorrectVersion, match=f"layout version {version};"):
        _scan(encode_header(version))


@pytest.mark.parametrize("raw", [b"", b"\xff" * 4096, encode_header()[:5], b"\0" * 4096])
def test_a_file_without_a_header_has_nothing_valid(raw: bytes) -> None:
    end = _scan(raw)
    assert (end.layout_version, end.last_txid, end.valid_bytes) == (None, None, 0)


def test_a_destroyed_header_before_records_is_damage() -> None:
    raw = _deletes(3)
    with pytest.raises(errors.CorruptEditLog, match="offset 0"):
        _scan(b"\0" * HEADER_BYTES + raw[HEADER_BYTES:])


def test_a_whole_record_over_the_limit_is_refused_and_not_cut() -> None:
    raw = _deletes(1) + encode_record(2, ed.DeleteOp("/" + "x" * 2000, 1))
    reader = SegmentReader(io.BytesIO(raw), NAME, first_txid=1, max_record_bytes=1000)
    with pytest.raises(errors.CorruptEditLog, match="17 to 1000 are allowed"):
        reader.scan()


def test_records_that_straddle_reads_are_read() -> None:
    class Drops(io.BytesIO):
        def read(self, count: int | None = -1, /) -> bytes:
            return super().read(min(7, count or 0))

    reader = SegmentReader(Drops(_deletes(50)), NAME, first_txid=1)
    assert reader.scan().last_txid == 50


def test_remains_of_an_older_log_do_not_make_a_torn_tail_damage() -> None:
    old = encode_record(3, ed.DeleteOp("/old", 1))
    raw = _deletes(5, first_txid=10)
    assert _scan(raw + b"\x03\0\0" + old, first_txid=10).last_txid == 14


@given(st.binary(max_size=200), st.integers(1, 1 << 40), st.binary(max_size=20))
def test_a_record_is_found_behind_any_bytes(before: bytes, txid: int, after: bytes) -> None:
    record = encode_record(txid, ed.DeleteOp("/found", 1))
    found = find_record(before + record + after, txid)
    assert found is not None
    assert found[1] >= txid


@given(st.binary(max_size=2000))
def test_random_bytes_hold_no_record(raw: bytes) -> None:
    assert find_record(raw, 1) is None


@settings(deadline=None)
@given(st.binary(max_size=400))
def test_random_bytes_are_an_empty_log_or_an_error(raw: bytes) -> None:
    try:
        end = _scan(raw)
    except (errors.CorruptEditLog, errors.IncorrectVersion):
        return
    assert end.last_txid is None
