"""Many files of an image at once."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howdah.formats.edits.edits import EditBlock, XAttr, XAttrNamespace
from howdah.formats.image import columns as image_columns
from howdah.formats.image.columns import FileColumns, Look, frame_files, split_files
from howdah.formats.image.inodes import InodeDecoder, InodeEncoder, LoadedStrings, StringTable
from howdah.formats.image.records import DirectoryRecord, FileRecord, InodeRecord, SymlinkRecord
from howdah.native.loader import kernel
from howdah.proto import fsimage_pb2, image_columns_pb2
from howdah.protocol.varint import encode_varint

LONGS = st.integers(-(1 << 63), (1 << 63) - 1)
COUNTS = st.integers(0, (1 << 63) - 1)
NAMES = st.text(st.characters(exclude_characters="\0"), min_size=1, max_size=5)
BLOCKS = st.builds(EditBlock, st.integers(1, 1 << 62), COUNTS, COUNTS)


@st.composite
def files(draw: st.DrawFn, *, plain: bool = False) -> FileRecord:
    record = FileRecord(
        draw(st.integers(1, 1 << 40)),
        draw(NAMES),
        draw(st.sampled_from(["alice", "bob"])),
        draw(st.sampled_from(["staff", "guests"])),
        draw(st.integers(0, 0o1777)),
        draw(LONGS),
        draw(LONGS),
        draw(st.integers(1, 512)),
        draw(st.integers(1, 1 << 40)),
        tuple(draw(st.lists(BLOCKS, max_size=3))),
        draw(st.sampled_from([0, 0, 0, 7])),
    )
    if not plain and draw(st.integers(0, 3)) == 0:
        record.writer, record.writer_machine = "writer", "machine"
    if not plain and draw(st.integers(0, 3)) == 0:
        record.xattrs = (XAttr(XAttrNamespace.USER, "mark", b"1"),)
    return record


DIRECTORIES = st.builds(
    DirectoryRecord, st.integers(1, 1 << 40), NAMES, st.just("a"), st.just("b"), st.just(1), LONGS
)
LINKS = st.builds(
    SymlinkRecord,
    st.integers(1, 1 << 40),
    NAMES,
    st.just("a"),
    st.just("b"),
    st.just(1),
    LONGS,
    LONGS,
    NAMES,
)


class Codec:
    """An encoder, and a decoder that knows its strings."""

    def __init__(self) -> None:
        self.strings = StringTable()
        self.encoder = InodeEncoder(self.strings)

    def decoder(self) -> InodeDecoder:
        return InodeDecoder(LoadedStrings(3, dict(self.strings)))

    def decoded(self, data: bytes) -> InodeRecord:
        return self.decoder().record(fsimage_pb2.INodeSection.INode.FromString(data))


def records_of(columns: FileColumns, decoder: InodeDecoder) -> list[FileRecord]:
    blocks = zip(columns.block_ids, columns.lengths_bytes, columns.generation_stamps, strict=True)
    counts = columns.block_counts or [1] * len(columns.ids)
    found = [
        FileRecord(
            columns.ids[at],
            columns.names[at],
            *decoder.permission(columns.looks[at].permission),
            columns.mtimes_ms[at],
            columns.atimes_ms[at],
            columns.looks[at].replication,
            columns.looks[at].block_size_bytes,
            tuple(itertools.starmap(EditBlock, itertools.islice(blocks, counts[at]))),
            columns.looks[at].storage_policy_id,
        )
        for at in range(len(columns.ids))
    ]
    assert next(blocks, None) is None
    return found


@given(st.lists(st.one_of(files(), files(), files(), DIRECTORIES, LINKS), max_size=24))
def test_what_is_read_in_bulk_is_what_is_read_one_by_one(records: list[InodeRecord]) -> None:
    codec = Codec()
    messages = [codec.encoder.encode(record) for record in records]
    found: list[InodeRecord] = []
    for part in split_files(messages):
        if isinstance(part, FileColumns):
            found += records_of(part, codec.decoder())
        else:
            found.append(codec.decoded(part))
    order = sorted(records, key=repr)
    assert sorted(found, key=repr) == order


def columns_of(records: list[FileRecord], codec: Codec) -> FileColumns:
    blocks = [block for record in records for block in record.blocks]
    return FileColumns(
        [record.inode_id for record in records],
        [record.name for record in records],
        [record.mtime_ms for record in records],
        [record.atime_ms for record in records],
        [
            Look(
                codec.encoder.permission(record.owner, record.group, record.mode),
                record.replication,
                record.block_size_bytes,
                record.storage_policy_id,
            )
            for record in records
        ],
        [block.block_id for block in blocks],
        [block.generation_stamp for block in blocks],
        [block.length_bytes for block in blocks],
        [len(record.blocks) for record in records],
    )


def framed(messages: list[bytes]) -> bytes:
    return b"".join(encode_varint(len(message)) + message for message in messages)


@pytest.fixture(params=["kernel", "python"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Who frames files."""
    if request.param == "python":
        monkeypatch.setattr(image_columns, "kernel", lambda: None)
    elif kernel() is None:
        pytest.skip("the kernel is not built here")
    return str(request.param)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(files(plain=True), min_size=1, max_size=24), st.booleans())
def test_what_is_written_in_bulk_is_what_is_written_one_by_one(
    way: str, records: list[FileRecord], one_block: bool
) -> None:
    codec = Codec()
    if one_block:
        records = [replace(r, blocks=r.blocks[:1] or (EditBlock(1, 2, 3),)) for r in records]
    columns = columns_of(records, codec)
    if one_block:
        columns.block_counts = None
    assert frame_files(columns) == framed([codec.encoder.encode(record) for record in records])


def test_numbers_without_a_sign_are_written_as_well(way: str) -> None:
    """Another's image may have such; its columns come from the parser as they are."""
    codec = Codec()
    columns = columns_of([FileRecord(7, "name", "a", "b", 0o644, 1, 2, 3, 4)], codec)
    columns.mtimes_ms = [(1 << 64) - 1]
    message = fsimage_pb2.INodeSection.INode.FromString(frame_files(columns)[1:])
    assert message.file.modificationTime == (1 << 64) - 1


def test_names_with_halves_of_pairs_are_written(way: str) -> None:
    codec = Codec()
    records = [FileRecord(7, name, "a", "b", 0o644, 1, 2, 3, 4) for name in ("a\ud800", "ä", "字")]
    columns = columns_of(records, codec)
    assert frame_files(columns) == framed([codec.encoder.encode(record) for record in records])


def test_files_that_look_alike_are_read_as_columns() -> None:
    codec = Codec()
    messages = [
        codec.encoder.encode(
            FileRecord(i, f"f{i}", "a", "b", 0o644, 1, 2, 3, 4, (EditBlock(i, 5, 6),))
        )
        for i in range(1, 101)
    ]
    (columns,) = split_files(messages)
    assert isinstance(columns, FileColumns)
    assert (len(columns.ids), columns.block_counts) == (100, None)


def test_one_odd_file_does_not_slow_down_its_neighbours() -> None:
    codec = Codec()
    plain = [FileRecord(i, f"f{i}", "a", "b", 0o644, 1, 2, 3, 4) for i in range(1, 129)]
    plain[50].writer = "somebody"
    parts = list(split_files([codec.encoder.encode(record) for record in plain]))
    singles = [part for part in parts if not isinstance(part, FileColumns)]
    assert len(singles) <= 4


def test_what_is_no_inode_is_left_to_who_reads_one_by_one() -> None:
    assert list(split_files([b"\xff\xff", b"\x08"])) == [b"\xff\xff", b"\x08"]


def test_a_file_without_a_time_does_not_get_its_neighbours() -> None:
    inode, file = fsimage_pb2.INodeSection.INode, fsimage_pb2.INodeSection.INodeFile
    odd = inode(type=inode.FILE, id=7, name=b"f", file=file(replication=1)).SerializeToString()
    codec = Codec()
    whole = codec.encoder.encode(FileRecord(8, "g", "a", "b", 0o644, 1, 2, 3, 4))
    assert list(split_files([odd, whole])) == [odd, whole]


def test_every_field_of_a_file_is_in_the_columns() -> None:
    """What the columns don't know would be dropped without a word when files are read at once."""
    fields = fsimage_pb2.INodeSection.INodeFile.DESCRIPTOR.fields_by_name
    known = image_columns_pb2.FileColumns.DESCRIPTOR.fields_by_name
    assert {name: field.number for name, field in fields.items() if name != "blockType"} == {
        name: field.number for name, field in known.items()
    }


@pytest.mark.parametrize("name", ["fileUC", "acl", "xAttrs", "erasureCodingPolicyID"])
def test_files_with_what_few_have_are_read_one_by_one(name: str) -> None:
    inode = fsimage_pb2.INodeSection.INode(type=fsimage_pb2.INodeSection.INode.FILE, id=16387)
    inode.name = b"f"
    inode.file.replication = 1
    inode.file.modificationTime = inode.file.accessTime = inode.file.permission = 1
    inode.file.preferredBlockSize = 1 << 20
    inode.file.storagePolicyID = 7
    block = inode.file.blocks.add()
    block.blockId, block.genStamp, block.numBytes = 1 << 30, 1001, 5
    assert image_columns._columns([inode.SerializeToString()]) is not None
    if name == "erasureCodingPolicyID":
        inode.file.erasureCodingPolicyID = 1
    else:
        getattr(inode.file, name).SetInParent()
    assert image_columns._columns([inode.SerializeToString()]) is None
