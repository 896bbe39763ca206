from __future__ import annotations

import dataclasses
import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.formats.edits import cache_edits
from howdah.formats.edits import edits as ed
from howdah.formats.edits.codec import (
    BODIES,
    MAX_RECORD_BYTES,
    check_record,
    decode_checked_record,
    decode_record,
    encode_record,
    encode_record_here,
    record_length,
)
from howdah.formats.malformed import MalformedRecord

TXIDS = st.integers(0, (1 << 63) - 1)


def _record(opcode: int, body: bytes, txid: int = 7) -> bytes:
    record = struct.pack(">Biq", opcode, 12 + len(body), txid) + body
    return record + struct.pack(">I", zlib.crc32(record))


@given(data=st.data(), txid=TXIDS)
@pytest.mark.req("FS-023")
def test_every_edit_comes_back_from_its_record(
    any_edit: st.SearchStrategy[ed.Edit], data: st.DataObject, txid: int
) -> None:
    edit = data.draw(any_edit)
    assert decode_record(encode_record(txid, edit)) == ed.LoggedEdit(txid, edit)


@given(data=st.data(), txid=TXIDS)
def test_the_kernel_packs_what_python_does(
    any_edit: st.SearchStrategy[ed.Edit], data: st.DataObject, txid: int
) -> None:
    edit = data.draw(any_edit)
    assert encode_record(txid, edit) == encode_record_here(txid, edit)


@given(data=st.data(), txid=TXIDS)
def test_a_record_says_how_long_it_is(
    any_edit: st.SearchStrategy[ed.Edit], data: st.DataObject, txid: int
) -> None:
    record = encode_record(txid, data.draw(any_edit))
    assert record_length(record) == len(record)


def test_every_field_of_every_edit_has_its_part() -> None:
    for kind, parts in BODIES.items():
        on_disk = [name for part in parts for name in part.fields]
        assert sorted(on_disk) == sorted(field.name for field in dataclasses.fields(kind)), kind


def test_every_edit_has_an_opcode_of_its_own() -> None:
    assert len({kind.opcode for kind in BODIES}) == len(BODIES)


def test_every_edit_class_has_a_record() -> None:
    names = {**vars(ed), **vars(cache_edits)}
    kinds = {
        kind for kind in names.values() if isinstance(kind, type) and issubclass(kind, ed.Edit)
    }
    assert {kind for kind in kinds if kind.__name__.endswith("Op")} == set(BODIES)


def test_records_that_hadoop_wrote_are_written_by_us_byte_for_byte(hadoop_log: Path) -> None:
    raw, offset, txid = hadoop_log.read_bytes(), 8, 0
    while offset < len(raw):
        record = raw[offset : offset + record_length(raw, offset)]
        logged = decode_record(record)
        assert encode_record(logged.txid, logged.edit) == record
        offset, txid = offset + len(record), logged.txid
    assert txid == 85


@pytest.mark.parametrize(
    ("edit", "body"),
    [
        (ed.StartLogSegmentOp(), ""),
        (ed.SetGenstampV2Op(1001), "00000000000003e9"),
        (
            ed.MkdirOp(16386, "/a", 5, ed.Permission("me", "us", 0o755)),
            "0000000000004002" "00022f61" "0000000000000005" "0000000000000005"
            "026d65" "027573" "01ed" "00000000" "00",
        ),
        (
            ed.AddBlockOp("/a", ed.EditBlock(1, 300, 1001), ed.EditBlock(2, 0, 1002)),
            "00022f61" "02" "0000000000000001" "8e012c" "8e03e9"
            "0000000000000002" "86012b" "01" "0000" "fffffffe",
        ),
        (
            ed.RenameOp("/a", "/b", 9, (ed.RenameFlag(1),), rpc_client_id=b"c" * 16, rpc_call_id=3),
            "00022f61" "00022f62" "0000000000000009" "00000001" "01"
            "0010" f"{'63' * 16}" "00000003",
        ),
        (ed.SetOwnerOp("/a", None, "g"), "00022f61" "0000" "000167"),
        # A namenode of Hadoop 3.5.0 wrote these.
        (
            ed.UpdateMasterKeyOp(
                ed.DelegationKey(1, 1796519982251, bytes.fromhex("6a6e6475f21d40b9"))
            ),
            "018a01a248ef74ab086a6e6475f21d40b9",
        ),
        (
            ed.GetDelegationTokenOp(
                ed.DelegationTokenIdentifier(
                    "alice", "hdfs", "", 1795829571483, 1796434371483, 3, 8
                ),
                0x1A224EF1338,
            ),
            "0005616c6963650468646673008a01a21fc89f9b8a01a243d5239b0308" "000001a224ef1338",
        ),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_a_body_has_the_bytes_of_hadoop(edit: ed.Edit, body: str) -> None:
    assert encode_record(7, edit) == _record(edit.opcode, bytes.fromhex(body))


def test_an_add_of_layout_version_63_has_no_erasure_coding_policy() -> None:
    new = ed.AddOp(1, "/a", 3, 4, 5, 6, ed.Permission("o", "g", 7), "c", "m", rpc_call_id=9)
    body = encode_record(7, new)[13:-4]
    old = _record(0, body[:-7] + body[-6:])  # In front of two bytes of length and four of call id.
    assert decode_checked_record(old, -63) == ed.LoggedEdit(7, new)


def test_a_snapshot_of_layout_version_65_has_no_time() -> None:
    body = bytes.fromhex("00022f61000173000000000003")
    logged = decode_record(_record(26, body), -65)
    assert logged.edit == ed.CreateSnapshotOp("/a", "s", 0, rpc_call_id=3)


@given(data=st.data())
def test_any_changed_bit_of_a_record_is_noticed(
    any_edit: st.SearchStrategy[ed.Edit], data: st.DataObject
) -> None:
    record = bytearray(encode_record(7, data.draw(any_edit)))
    bit = data.draw(st.integers(0, len(record) * 8 - 1))
    record[bit // 8] ^= 1 << bit % 8
    with pytest.raises(MalformedRecord):
        check_record(bytes(record))


@given(st.sampled_from(sorted(kind.opcode for kind in BODIES)), st.binary(max_size=80))
def test_no_body_behind_a_right_checksum_does_worse_than_be_refused(
    opcode: int, body: bytes
) -> None:
    record = _record(opcode, body)
    try:
        logged = decode_record(record)
    except MalformedRecord:
        return
    assert logged.txid == 7


@pytest.mark.parametrize("length", [-1, 0, 11, MAX_RECORD_BYTES - 4, 0x7FFFFFFF])
def test_a_length_that_no_record_can_have_is_refused(length: int) -> None:
    with pytest.raises(MalformedRecord, match="announces"):
        record_length(struct.pack(">Bi", 3, length))


def test_a_huge_count_of_blocks_is_refused_before_anything_is_allocated() -> None:
    body = bytes(8) + b"\0\1/" + bytes(2 + 24) + b"\x7f\xff\xff\xff"
    with pytest.raises(MalformedRecord, match="2147483647 blocks announced"):
        decode_record(_record(ed.Opcode.OP_CLOSE, body))


def test_bytes_behind_the_last_field_are_refused() -> None:
    with pytest.raises(MalformedRecord, match="1 bytes too many in OP_SET_GENSTAMP_V2"):
        decode_record(_record(31, bytes(9)))


@pytest.mark.parametrize(("opcode", "name"), [(5, "OP_DATANODE_ADD"), (99, "with opcode 99")])
def test_an_operation_that_is_not_known_is_named(opcode: int, name: str) -> None:
    with pytest.raises(errors.UnsupportedOperation, match=name):
        decode_record(_record(opcode, b""))


@pytest.mark.parametrize(
    "edit",
    [
        ed.SetReplicationOp("/a", 1 << 15),
        ed.SetGenstampV2Op(1 << 63),
        ed.SetStoragePolicyOp("/a", 200),
        ed.DeleteOp("/" + "x" * 70000, 1),
        ed.SetAclOp("/\ud800", ()),
        ed.ConcatDeleteOp("/a", ("/" + "x" * 60000,) * 900, 1),
    ],
    ids=lambda edit: type(edit).__name__,
)
def test_a_value_that_does_not_fit_is_refused(edit: ed.Edit) -> None:
    with pytest.raises(errors.IllegalArgument):
        encode_record(1, edit)


def test_an_edit_without_a_record_is_refused_by_name() -> None:
    with pytest.raises(errors.UnsupportedOperation, match="RetryableEdit"):
        encode_record(1, ed.RetryableEdit())


def test_a_client_id_of_another_length_is_read_as_none_and_not_written() -> None:
    """Logs that older servers of ours wrote have some."""
    body = encode_record(7, ed.DeleteOp("/a", 9, rpc_client_id=b"c" * 16, rpc_call_id=3))[13:-4]
    short = body.replace(b"\0\x10" + b"c" * 16, b"\0\1c")
    delete = ed.Opcode.OP_DELETE.value
    assert decode_record(_record(delete, short)).edit == ed.DeleteOp("/a", 9)
    with pytest.raises(errors.IllegalArgument, match="16 bytes or none, not 1"):
        encode_record_here(7, ed.DeleteOp("/a", 9, rpc_client_id=b"c", rpc_call_id=3))
