"""Many files of an image at once."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from howdah.proto import fsimage_pb2
from howdah.storage.edits.edits import EditBlock, XAttr, XAttrNamespace
from howdah.storage.image.columns import FileColumns, join_files, split_files
from howdah.storage.image.inodes import InodeDecoder, InodeEncoder, LoadedStrings, StringTable
from howdah.storage.image.records import DirectoryRecord, FileRecord, InodeRecord, SymlinkRecord

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
            *decoder.permission(columns.permissions[at]),
            columns.mtimes_ms[at],
            columns.atimes_ms[at],
            columns.replications[at],
            columns.block_sizes_bytes[at],
            tuple(itertools.starmap(EditBlock, itertools.islice(blocks, counts[at]))),
            columns.storage_policy_ids[at],
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


@given(st.lists(files(plain=True), min_size=1, max_size=24))
def test_what_is_written_in_bulk_is_what_is_written_one_by_one(records: list[FileRecord]) -> None:
    codec = Codec()
    blocks = [block for record in records for block in record.blocks]
    columns = FileColumns(
        [record.inode_id for record in records],
        [record.name for record in records],
        [record.mtime_ms for record in records],
        [record.atime_ms for record in records],
        [codec.encoder.permission(r.owner, r.group, r.mode) for r in records],
        [record.replication for record in records],
        [record.block_size_bytes for record in records],
        [record.storage_policy_id for record in records],
        [block.block_id for block in blocks],
        [block.generation_stamp for block in blocks],
        [block.length_bytes for block in blocks],
        [len(record.blocks) for record in records],
    )
    assert list(join_files(columns)) == [codec.encoder.encode(record) for record in records]


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
