"""Messages of inodes that the kernel takes apart: as the parser of protobuf does, or not at all."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Sequence
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howdah.formats.image.columns import Look, PackedFiles, pack_files
from howdah.formats.image.records import FileRecord, InodeRecord
from howdah.formats.image.sections import split_messages, split_messages_here
from howdah.native.loader import kernel
from howdah.proto import fsimage_pb2 as pb
from howdah.protocol.varint import encode_varint
from tests.unit.formats.image.test_columns import DIRECTORIES, LINKS, Codec, files

needs_kernel: Final = pytest.mark.skipif(
    not hasattr(kernel(), "pack_files"), reason="the kernel is not built here, or of older sources"
)
_LONG: Final = (1 << 64) - 1
_SIGN: Final = 1 << 63


def encoded(records: Sequence[InodeRecord]) -> list[bytes]:
    return list(map(Codec().encoder.encode, records))


def signed(number: int) -> int:
    return ((number & _LONG) ^ _SIGN) - _SIGN


def longs(data: bytes) -> list[int]:
    return array("q", data).tolist()


def ints(data: bytes) -> list[int]:
    return array("i", data).tolist()


def expected(inode: pb.INodeSection.INode) -> tuple[object, ...]:
    file = inode.file
    look = (
        file.permission,
        file.replication,
        signed(file.preferredBlockSize),
        file.storagePolicyID,
    )
    blocks = [
        (signed(block.blockId), signed(block.genStamp), signed(block.numBytes))
        for block in file.blocks
    ]
    times = signed(file.modificationTime), signed(file.accessTime)
    return signed(inode.id), inode.name, *times, Look._make(look), blocks


def shown(packed: PackedFiles) -> list[tuple[object, ...]]:
    ends = ints(packed.name_ends)
    names = [packed.names[begin:end] for begin, end in itertools.pairwise(ends)]
    blocks = zip(
        longs(packed.block_ids),
        longs(packed.generation_stamps),
        longs(packed.lengths_bytes),
        strict=True,
    )
    lists = [[next(blocks) for _ in range(count)] for count in longs(packed.block_counts)]
    assert next(blocks, None) is None
    looks = [Look._make(packed.different_looks[at]) for at in ints(packed.looks)]
    columns = (longs(packed.ids), names, longs(packed.mtimes_ms), longs(packed.atimes_ms))
    return list(zip(*columns, looks, lists, strict=True))


def is_plain(inode: pb.INodeSection.INode) -> bool:
    file = inode.file
    return inode.type == pb.INodeSection.INode.FILE and not (
        file.HasField("fileUC") or file.HasField("xAttrs")
    )


@needs_kernel
@given(st.lists(files() | DIRECTORIES | LINKS, max_size=12))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_plain_files_are_packed_and_all_else_is_left(records: list[InodeRecord]) -> None:
    messages = encoded(records)
    packed = pack_files(messages)
    assert packed is not None
    inodes = [pb.INodeSection.INode.FromString(message) for message in messages]
    plain = [at for at, inode in enumerate(inodes) if is_plain(inode)]
    assert ints(packed.places) == plain
    assert shown(packed) == [expected(inodes[at]) for at in plain]
    assert len(set(packed.different_looks)) == len(packed.different_looks)


@needs_kernel
@given(files(plain=True), st.data())
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=300)
def test_damaged_messages_are_told_as_the_parser_tells_them(
    record: FileRecord, data: st.DataObject
) -> None:
    """Or are left to it: what is packed has each field once, and the same."""
    (whole,) = encoded([record])
    at = data.draw(st.integers(0, len(whole) - 1))
    change = data.draw(st.binary(max_size=3))
    message = whole[:at] + change + whole[at + data.draw(st.integers(0, 3)) :]
    packed = pack_files([whole, message, whole])
    assert packed is not None
    places = ints(packed.places)
    assert {0, 2} <= set(places) or not places
    if 1 in places:
        inode = pb.INodeSection.INode.FromString(message)
        found = shown(packed)[places.index(1)]
        assert found == expected(inode)
        assert bytes(found[1]).decode() is not None  # type: ignore[call-overload]


@needs_kernel
@pytest.mark.parametrize(
    "name", [b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80", b"\xe0\x80\x80", b"a\xc3", b"\x80"]
)
def test_names_that_are_no_utf8_are_left(name: bytes) -> None:
    file = pb.INodeSection.INodeFile(
        replication=1, modificationTime=1, accessTime=1, preferredBlockSize=1, permission=1
    )
    message = b"\x08\x01\x10\x07\x1a" + encode_varint(len(name)) + name
    body = file.SerializeToString()
    message += b"\x22" + encode_varint(len(body)) + body
    packed = pack_files([message])
    assert packed is not None
    assert packed.places == b""
    with pytest.raises(UnicodeDecodeError):
        name.decode()


@needs_kernel
def test_only_lists_of_bytes_are_packed() -> None:
    for wrong in ((b"",), [1], ["a"]):
        with pytest.raises(TypeError):
            pack_files(wrong)  # type: ignore[arg-type]


@given(st.lists(st.binary(max_size=200), max_size=8), st.data())
def test_bytes_are_cut_by_the_kernel_as_by_its_twin(
    messages: list[bytes], data: st.DataObject
) -> None:
    whole = b"".join(encode_varint(len(message)) + message for message in messages)
    found, at, needed = split_messages(whole)
    assert (found, at, needed) == (messages, len(whole), 1)
    cut = whole[: data.draw(st.integers(0, len(whole)))] + data.draw(st.binary(max_size=8))
    assert split_messages(cut) == split_messages_here(cut)


@pytest.mark.parametrize("split", [split_messages, split_messages_here], ids=["used", "twin"])
def test_a_length_of_more_than_32_bits_is_told(split: object) -> None:
    assert callable(split)
    assert split(b"\x01a" + b"\x80" * 5 + b"\x01") == ([b"a"], 2, 0)
    assert split(b"\x01a" + b"\x80" * 3) == ([b"a"], 2, 4)
    assert split(b"\xff\xff\xff\xff\x7f") == ([], 0, 5 + (1 << 35) - 1)
