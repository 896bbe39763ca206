"""Images: Hadoop's are read whole and written again byte for byte; ours come back as
they were; nothing that is no image gets through."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import struct
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howdah import errors
from howdah.formats.edits.edits import (
    AclEntry,
    AclKind,
    AclScope,
    EditBlock,
    StorageKind,
    XAttr,
    XAttrNamespace,
)
from howdah.formats.image import records as rec
from howdah.formats.image.fsimage import ImageReader, ImageWriter, copy_image
from howdah.formats.image.inodes import OF_GROUP, LoadedStrings
from howdah.formats.image.sections import CODECS, MAGIC, SectionReader, SectionWriter
from howdah.formats.viewers.xml import as_xml
from howdah.formats.viewers.xml_to_image import image_from_xml
from howdah.proto import fsimage_pb2 as pb
from howdah.protocol.varint import encode_varint

GOLDEN = Path(__file__).parents[1] / "golden"
GZIP = "org.apache.hadoop.io.compress.GzipCodec"
DEFAULT = "org.apache.hadoop.io.compress.DefaultCodec"
SNAPPY = "org.apache.hadoop.io.compress.SnappyCodec"
REFUSED = (errors.CorruptImage, errors.UnsupportedOperation, errors.IncorrectVersion)


def golden(name: str) -> bytes:
    """An image that a namenode of Hadoop 3.5.0 wrote."""
    return (GOLDEN / f"fsimage_{name}").read_bytes()


def opened(data: bytes) -> ImageReader:
    return ImageReader(io.BytesIO(data), "fsimage")


def everything(reader: ImageReader) -> list[Any]:
    diffs = reader.snapshot_diffs()
    return [
        reader.namesystem(),
        reader.erasure_coding(),
        reader.last_inode_id(),
        list(reader.inodes()),
        list(reader.children()),
        list(reader.open_files()),
        reader.snapshots(),
        None if diffs is None else list(diffs),
        list(reader.references()),
        reader.secrets(),
        reader.cache(),
    ]


NAMESYSTEM = rec.NamesystemRecord(
    7, 1000, 1001, 0, 1073741825, 42, last_striped_block_id=-(1 << 63)
)


def write(
    inodes: list[rec.InodeRecord],
    children: list[rec.ChildrenRecord] | None = None,
    *,
    codec: str = "",
    secrets: rec.SecretsRecord | None = None,
    cache: rec.CacheRecord | None = None,
) -> bytes:
    out = io.BytesIO()
    writer = ImageWriter(out, codec=codec)
    writer.namesystem(NAMESYSTEM)
    writer.erasure_coding(())
    writer.inodes(20000, len(inodes), inodes)
    writer.children(children or [])
    writer.open_files([])
    writer.snapshots(rec.SnapshotsRecord())
    writer.secrets(secrets or rec.SecretsRecord())
    writer.cache(cache or rec.CacheRecord())
    writer.finish()
    return out.getvalue()


def sections(*messages: bytes, name: str = "NS_INFO", codec: str = "") -> bytes:
    """An image of one section."""
    out = io.BytesIO()
    writer = SectionWriter(out, codec=codec)
    for message in messages:
        writer.message(message)
    writer.end_section(name)
    writer.finish()
    return out.getvalue()


# -- Hadoop's ------------------------------------------------------------------------


@pytest.mark.req("FS-023")
@pytest.mark.parametrize("name", ["plain", "deflate", "rich"])
def test_hadoops_image_is_written_again_byte_for_byte(name: str) -> None:
    data = golden(name)
    reader = opened(data)
    out = io.BytesIO()
    copy_image(reader, ImageWriter(out, codec=reader.codec, strings=reader.strings.items()))
    assert out.getvalue() == data


def test_open_files_of_hadoops_image_have_their_writers() -> None:
    files = [i for i in opened(golden("plain")).inodes() if isinstance(i, rec.FileRecord)]
    assert {file.name for file in files if file.writer} == {"open", "appended"}


def test_acl_of_hadoops_image_is_read() -> None:
    inodes = {inode.name: inode for inode in opened(golden("rich")).inodes()}
    docs = inodes["docs"]
    assert isinstance(docs, rec.DirectoryRecord)
    assert docs.acl[0] == AclEntry(AclScope.ACCESS, AclKind.USER, 5, "bob")
    assert docs.acl[-1] == AclEntry(AclScope.DEFAULT, AclKind.OTHER, 0)


def test_extended_attributes_of_hadoops_image_are_read() -> None:
    inodes = {inode.name: inode for inode in opened(golden("rich")).inodes()}
    none = inodes["none"]
    assert isinstance(none, rec.FileRecord)
    assert none.xattrs == (XAttr(XAttrNamespace.USER, "colour", b"\x00\xffb"),)


def test_quotas_of_hadoops_image_are_read() -> None:
    inodes = {inode.name: inode for inode in opened(golden("rich")).inodes()}
    user = inodes["user"]
    assert isinstance(user, rec.DirectoryRecord)
    assert (user.namespace_quota, user.space_quota_bytes) == (100, 1 << 40)
    assert user.quotas_by_kind == ((StorageKind.SSD, 1 << 30),)


def test_snapshots_of_hadoops_image_are_read() -> None:
    snapshots = opened(golden("rich")).snapshots()
    assert [snapshot.root.name for snapshot in snapshots.snapshots] == ["s1", "s2"]


@pytest.mark.req("FS-024")
def test_image_names_no_datanode() -> None:
    section = pb.DESCRIPTOR.message_types_by_name["INodeSection"]
    file = section.nested_types_by_name["INodeFile"]
    block = file.fields_by_name["blocks"].message_type
    assert block is not None
    assert set(block.fields_by_name) == {"blockId", "genStamp", "numBytes"}


# -- ours ----------------------------------------------------------------------------

I64 = st.integers(-(1 << 63), (1 << 63) - 1)
U32 = st.integers(0, (1 << 31) - 1)
NAMES = st.text(max_size=12)
SHORT = st.integers(0, (1 << 15) - 1)
ENTRIES = st.builds(
    lambda scope, kind, permission, name: AclEntry(
        scope, kind, permission, name if kind in (AclKind.USER, AclKind.GROUP) else None
    ),
    st.sampled_from(AclScope),
    st.sampled_from(AclKind),
    st.integers(0, 7),
    st.none() | NAMES.filter(bool),
)
XATTRS = st.builds(
    XAttr, st.sampled_from(XAttrNamespace), NAMES, st.none() | st.binary(max_size=30)
)
BLOCKS = st.builds(EditBlock, I64, st.integers(0, 1 << 62), st.integers(0, 1 << 62))


def tuples(of: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(of, max_size=3).map(tuple)


RULED = {
    "inode_id": st.integers(1, 1 << 62),
    "mode": st.integers(0, 0o1777),
    "replication": SHORT,
    "block_size_bytes": st.integers(0, 1 << 62),
    "storage_policy_id": st.integers(0, 15),
    "complete_blocks": st.integers(0, 3),
    "erasure_coding_policy_id": st.none() | st.integers(1, 6),
}
OF_TYPE = {
    "int": I64,
    "str": NAMES,
    "str | None": st.none() | NAMES,
    "bool": st.booleans(),
    "EditBlock | None": st.none() | BLOCKS,
    "tuple[EditBlock, ...]": tuples(BLOCKS),
    "tuple[AclEntry, ...]": tuples(ENTRIES),
    "tuple[XAttr, ...]": tuples(XATTRS),
    "tuple[tuple[StorageKind, int], ...]": tuples(st.tuples(st.sampled_from(StorageKind), I64)),
}


def records(kind: type[rec.InodeRecord]) -> st.SearchStrategy[Any]:
    """Records of which every field is drawn."""
    drawn = {}
    for field in dataclasses.fields(kind):
        is_ruled = field.name in RULED
        drawn[field.name] = RULED[field.name] if is_ruled else OF_TYPE[str(field.type)]
    return st.builds(kind, **drawn)


def _possible(file: rec.FileRecord) -> rec.FileRecord:
    """Only files under construction have blocks that are not complete, and only striped ones
    have no replication."""
    file.complete_blocks = min(file.complete_blocks, len(file.blocks))
    if file.erasure_coding_policy_id is not None:
        file.replication = 0
    if file.writer is None:
        file.writer_machine, file.source, file.complete_blocks = "", None, 0
        file.truncating = file.last_committed = False
    return file


FILES = records(rec.FileRecord).map(_possible)
DIRECTORIES = records(rec.DirectoryRecord)
LINKS = records(rec.SymlinkRecord)
CHILDREN = st.builds(
    rec.ChildrenRecord, st.integers(1, 1 << 62), st.lists(st.integers(1, 1 << 62)), st.lists(U32)
)


@given(
    st.lists(FILES | DIRECTORIES | LINKS, max_size=8),
    st.lists(CHILDREN, max_size=4),
    st.sampled_from(["", GZIP, DEFAULT]),
)
def test_what_is_written_comes_back(
    inodes: list[rec.InodeRecord], children: list[rec.ChildrenRecord], codec: str
) -> None:
    reader = opened(write(inodes, children, codec=codec))
    assert (list(reader.inodes()), list(reader.children())) == (inodes, children)


def _showable(record: rec.InodeRecord) -> rec.InodeRecord:
    """XML parts owner and group by a colon, knows no value that is not there, and says of no
    striped block which the last one is."""
    changes: dict[str, Any] = {
        name: getattr(record, name).replace(":", "") for name in ("owner", "group")
    }
    if not isinstance(record, rec.SymlinkRecord):
        assert isinstance(record, rec.FileRecord | rec.DirectoryRecord)
        changes["xattrs"] = tuple(
            XAttr(xattr.namespace, xattr.name, xattr.value or b"") for xattr in record.xattrs
        )
    if isinstance(record, rec.FileRecord):
        changes["erasure_coding_policy_id"] = None
    return dataclasses.replace(record, **changes)


@given(
    st.lists((FILES | DIRECTORIES | LINKS).map(_showable), max_size=4),
    st.lists(CHILDREN, max_size=2),
)
def test_an_image_comes_back_from_its_xml_byte_for_byte(
    inodes: list[rec.InodeRecord], children: list[rec.ChildrenRecord]
) -> None:
    data, out = write(inodes, children), io.BytesIO()
    xml = "".join(as_xml(opened(data), "howdah")).encode()
    image_from_xml(io.BytesIO(xml), "xml", out)
    assert out.getvalue() == data


def test_tokens_and_cache_pools_come_back() -> None:
    secrets = rec.SecretsRecord(
        3,
        9,
        (rec.DelegationKeyRecord(3, 1 << 40, b"key"),),
        (rec.DelegationTokenRecord(0, "alice", "yarn", "", 1, 2, 9, 3, 4),),
    )
    expiration = rec.CacheExpirationRecord(5, True)
    cache = rec.CacheRecord(
        2,
        (rec.CachePoolRecord("pool", "alice", "staff", 0o755, 1000, -1, 1),),
        (rec.CacheDirectiveRecord(1, "/d", 2, "pool", expiration),),
    )
    reader = opened(write([], secrets=secrets, cache=cache))
    assert (reader.secrets(), reader.cache()) == (secrets, cache)


def test_an_image_of_the_own_writer_is_written_again_byte_for_byte() -> None:
    data = write([rec.DirectoryRecord(16385, "", "root", "supergroup", 0o755, 5)])
    reader, out = opened(data), io.BytesIO()
    copy_image(reader, ImageWriter(out, strings=reader.strings.items()))
    assert out.getvalue() == data


# -- what is no image ----------------------------------------------------------------


@pytest.mark.parametrize("name", ["plain", "deflate"])
def test_every_truncation_is_refused(name: str) -> None:
    data = golden(name)
    for length in range(len(data)):
        with pytest.raises(REFUSED):
            everything(opened(data[:length]))


@settings(max_examples=300)
@given(st.sampled_from(["plain", "rich", "deflate"]), st.data())
def test_a_changed_bit_never_causes_another_error(name: str, choice: st.DataObject) -> None:
    data = bytearray(golden(name))
    position = choice.draw(st.integers(0, len(data) * 8 - 1))
    data[position // 8] ^= 1 << position % 8
    with contextlib.suppress(*REFUSED):
        everything(opened(bytes(data)))


@settings(max_examples=200)
@given(st.binary(max_size=200))
def test_any_bytes_for_a_section_never_cause_another_error(content: bytes) -> None:
    summary = pb.FileSummary(ondiskVersion=1, layoutVersion=-67 & 0xFFFFFFFF)
    for name in ("STRING_TABLE", "NS_INFO", "INODE", "INODE_DIR", "SNAPSHOT"):
        summary.sections.add(name=name, offset=8, length=len(content))
    framed = encode_varint(summary.ByteSize()) + summary.SerializeToString()
    data = MAGIC + content + framed + struct.pack(">i", len(framed))
    with contextlib.suppress(*REFUSED):
        everything(opened(data))


def test_a_message_longer_than_its_section_is_refused_before_it_is_read() -> None:
    data = bytearray(sections(b"x" * 100))
    data[8:9] = b"\x7f"
    with pytest.raises(errors.CorruptImage, match="message of 127 bytes"):
        list(SectionReader(io.BytesIO(bytes(data)), "fsimage").messages("NS_INFO"))


def test_a_compressed_section_cannot_announce_a_gigantic_message() -> None:
    class Lying(SectionWriter):
        def message(self, data: bytes) -> None:
            self._pieces.append(encode_varint(1 << 31) + data)

    out = io.BytesIO()
    writer = Lying(out, codec=GZIP)
    writer.message(b"short")
    writer.end_section("NS_INFO")
    writer.finish()
    with pytest.raises(errors.CorruptImage, match="message of 2147483648 bytes"):
        list(SectionReader(io.BytesIO(out.getvalue()), "fsimage").messages("NS_INFO"))


def test_a_section_is_read_in_pieces() -> None:
    class Watched(io.BytesIO):
        longest = 0

        def read(self, count: int | None = -1, /) -> bytes:
            self.longest = max(self.longest, count or 0)
            return super().read(count)

    source = Watched(sections(*[b"x" * 1000] * 5000))
    reader = SectionReader(source, "fsimage")
    assert sum(1 for _ in reader.messages("NS_INFO")) == 5000
    assert source.longest < 1 << 19


def test_a_section_that_is_not_known_is_refused_by_name() -> None:
    with pytest.raises(errors.UnsupportedOperation, match="TOMORROW"):
        SectionReader(io.BytesIO(sections(b"", name="TOMORROW")), "fsimage")


def test_a_section_twice_is_refused() -> None:
    out = io.BytesIO()
    writer = SectionWriter(out)
    for _ in range(2):
        writer.message(b"")
        writer.end_section("INODE")
    writer.finish()
    with pytest.raises(errors.CorruptImage, match="two sections INODE"):
        SectionReader(io.BytesIO(out.getvalue()), "fsimage")


def test_a_codec_that_is_not_there_is_refused_by_name_when_writing() -> None:
    with pytest.raises(errors.UnsupportedOperation, match="SnappyCodec"):
        ImageWriter(io.BytesIO(), codec=SNAPPY)


def test_a_codec_that_is_not_there_is_refused_by_name_when_reading() -> None:
    summary = pb.FileSummary(ondiskVersion=1, layoutVersion=-67 & 0xFFFFFFFF, codec=SNAPPY)
    framed = encode_varint(summary.ByteSize()) + summary.SerializeToString()
    data = MAGIC + framed + struct.pack(">i", len(framed))
    with pytest.raises(errors.UnsupportedOperation, match="SnappyCodec"):
        SectionReader(io.BytesIO(data), "fsimage")


@pytest.mark.parametrize("layout", [-40, -68])
def test_a_layout_of_another_time_is_refused(layout: int) -> None:
    out = io.BytesIO()
    SectionWriter(out, layout_version=layout).finish()
    with pytest.raises(errors.IncorrectVersion, match=str(layout)):
        SectionReader(io.BytesIO(out.getvalue()), "fsimage")


def test_fewer_inodes_than_announced_are_refused() -> None:
    data = write([rec.DirectoryRecord(16385, "", "root", "supergroup", 0o755, 5)])
    with pytest.raises(errors.CorruptImage, match="1 inodes and announces 2"):
        list(
            opened(data.replace(b"\x08\xa0\x9c\x01\x10\x01", b"\x08\xa0\x9c\x01\x10\x02")).inodes()
        )


def test_a_permission_whose_names_are_nowhere_is_refused() -> None:
    inode = pb.INodeSection.INode(type=pb.INodeSection.INode.DIRECTORY, id=16385)
    inode.directory.permission = 5 << 40
    out = io.BytesIO()
    writer = SectionWriter(out)
    writer.message(pb.StringTableSection(numEntry=0, maskBits=3).SerializeToString())
    writer.end_section("STRING_TABLE")
    writer.message(pb.INodeSection(lastInodeId=1, numInodes=1).SerializeToString())
    writer.message(inode.SerializeToString())
    writer.end_section("INODE")
    writer.finish()
    with pytest.raises(errors.CorruptImage, match="string 5 is not in its string table"):
        list(opened(out.getvalue()).inodes())


@pytest.mark.parametrize("mask_bits", [0, 2])
def test_string_tables_of_older_releases_are_read(mask_bits: int) -> None:
    inode = pb.INodeSection.INode(type=pb.INodeSection.INode.DIRECTORY, id=16385)
    inode.directory.permission = 1 << 40 | 1 << 16 | 0o700
    user, group = (n << 32 - mask_bits if mask_bits else 0 for n in (1, 2))
    table = {user | 1: "root", group | 1: "root"}
    out = io.BytesIO()
    writer = SectionWriter(out)
    header = pb.StringTableSection(numEntry=len(table), maskBits=mask_bits)
    writer.message(header.SerializeToString())
    for number, text in table.items():
        writer.message(pb.StringTableSection.Entry(id=number, str=text).SerializeToString())
    writer.end_section("STRING_TABLE")
    writer.message(pb.INodeSection(lastInodeId=1, numInodes=1).SerializeToString())
    writer.message(inode.SerializeToString())
    writer.end_section("INODE")
    writer.finish()
    (root,) = opened(out.getvalue()).inodes()
    assert (root.owner, root.group, root.mode) == ("root", "root", 0o700)


def test_string_zero_is_a_name_where_the_table_has_it() -> None:
    """As in images that Hadoop's viewer makes of XML."""
    strings = LoadedStrings(0, {0: "root"})
    assert strings.get_optional(OF_GROUP, 0) == "root"
    assert LoadedStrings(3, {1 << 29 | 1: "root"}).get_optional(OF_GROUP, 0) is None


def test_a_namesystem_without_a_counter_is_refused() -> None:
    section = pb.NameSystemSection(namespaceId=1, transactionId=3)
    out = io.BytesIO()
    writer = SectionWriter(out)
    writer.message(pb.StringTableSection(numEntry=0).SerializeToString())
    writer.end_section("STRING_TABLE")
    writer.message(section.SerializeToString())
    writer.end_section("NS_INFO")
    writer.finish()
    with pytest.raises(errors.CorruptImage, match="genstampV1 is missing"):
        opened(out.getvalue()).namesystem()


@pytest.mark.parametrize("codec", ["", *CODECS])
@given(st.lists(st.binary(max_size=300), max_size=12), st.data())
def test_parts_of_a_section_have_its_messages(
    codec: str, messages: list[bytes], data: st.DataObject
) -> None:
    out = io.BytesIO()
    writer = SectionWriter(out, codec=codec)
    writer.message(b"another section")
    writer.end_section("NS_INFO")
    for message in messages:
        writer.message(message)
    writer.end_section("INODE")
    writer.finish()
    reader = SectionReader(io.BytesIO(out.getvalue()), "fsimage")
    borders = [0]
    for message in messages:
        borders.append(borders[-1] + len(encode_varint(len(message))) + len(message))
    cuts = sorted(data.draw(st.sets(st.sampled_from(range(len(borders)))))) or [0]
    for first, last in pairwise([0, *cuts, len(messages)]):
        read = reader.batches_between("INODE", borders[first], borders[last])
        assert list(chain.from_iterable(read)) == messages[first:last]


def test_a_part_that_a_section_does_not_have_is_refused() -> None:
    reader = SectionReader(io.BytesIO(sections(b"12345")), "fsimage")
    with pytest.raises(errors.CorruptImage, match="has no part from 3 to 90"):
        reader.batches_between("NS_INFO", 3, 90)
    assert list(reader.batches_between("INODE", 3, 90)) == []
