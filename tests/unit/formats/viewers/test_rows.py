"""Plain inodes are read from XML and counted by the thousand: what comes of them is what
comes of them one by one."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howdah import errors
from howdah.formats.edits.edits import AclEntry, AclKind, AclScope, EditBlock
from howdah.formats.image import records as rec
from howdah.formats.image.fsimage import ImageReader, ImageWriter
from howdah.formats.viewers import rows, sizes
from howdah.formats.viewers.inodes import inode as inode_of
from howdah.formats.viewers.sizes import distribution
from howdah.formats.viewers.xml import as_xml
from howdah.formats.viewers.xml_to_image import image_from_xml

GOLDEN = Path(__file__).parents[1] / "golden"
HEAD_BYTES = 700
"""Until the first inode: what is read before is the parser's in any case."""


class Trickle:
    """A file that gives a few bytes at a time."""

    def __init__(self, data: bytes, count: int) -> None:
        self._file = io.BytesIO(data)
        self._count = count

    def read(self, count: int = -1, /) -> bytes:
        return self._file.read(min(count, self._count))


def from_xml(text: str, count: int = HEAD_BYTES) -> bytes:
    out = io.BytesIO()
    image_from_xml(Trickle(text.encode("utf-8", "surrogatepass"), count), "fsimage.xml", out)
    return out.getvalue()


def one_by_one(text: str) -> bytes:
    """The same without rows."""
    nothing = re.compile("(?!)")
    with mock.patch.object(rows, "INODE", nothing), mock.patch.object(rows, "CHILDREN", nothing):
        return from_xml(text)


def xml(data: bytes) -> str:
    return "".join(as_xml(ImageReader(io.BytesIO(data), "fsimage"), "howdah"))


def image(inodes: list[rec.InodeRecord], children: list[rec.ChildrenRecord] | None = None) -> bytes:
    out = io.BytesIO()
    writer = ImageWriter(out)
    writer.namesystem(
        rec.NamesystemRecord(7, 1000, 1001, 0, 1 << 30, 42, last_striped_block_id=-(1 << 63))
    )
    writer.erasure_coding(())
    writer.inodes(20000, len(inodes), inodes)
    writer.children(children or [])
    writer.open_files([])
    writer.snapshots(rec.SnapshotsRecord())
    writer.secrets(rec.SecretsRecord())
    writer.cache(rec.CacheRecord())
    writer.finish()
    return out.getvalue()


LONG = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-10, 10)
COUNT = st.integers(0, (1 << 63) - 1) | st.integers(0, 10)
NAME = st.text(max_size=8) | st.text("ab é€\U0001f600<&\\\r\n]:", max_size=8)
OWNER = NAME.map(lambda name: name.replace(":", ""))
BLOCKS = st.lists(st.builds(EditBlock, LONG, COUNT, COUNT), max_size=3).map(tuple)
COMMON = {
    "inode_id": st.integers(1, 1 << 62),
    "name": NAME,
    "owner": OWNER,
    "group": OWNER,
    "mode": st.integers(0, 0o1777),
    "mtime_ms": LONG,
}
ACL = st.sampled_from([(), (), (AclEntry(AclScope.ACCESS, AclKind.USER, 5, "bob"),)])
FILES: st.SearchStrategy[Any] = st.builds(
    rec.FileRecord,
    **COMMON,
    atime_ms=LONG,
    replication=st.integers(0, (1 << 15) - 1),
    block_size_bytes=COUNT,
    blocks=BLOCKS,
    storage_policy_id=st.integers(0, 15),
    writer=st.sampled_from([None, None, None, "somebody"]),
    acl=ACL,
)
STRIPED = FILES.map(lambda file: _striped(file))
DIRECTORIES = st.builds(
    rec.DirectoryRecord, **COMMON, namespace_quota=LONG, space_quota_bytes=LONG, acl=ACL
)
LINKS = st.builds(rec.SymlinkRecord, **COMMON, atime_ms=LONG, target=NAME)
INODES = st.lists(FILES | FILES | DIRECTORIES | STRIPED | LINKS, max_size=12)
CHILDREN = st.lists(
    st.builds(
        rec.ChildrenRecord,
        st.integers(1, 1 << 62),
        st.lists(st.integers(1, 1 << 62), max_size=4),
        st.lists(st.integers(0, 9), max_size=1),
    ),
    max_size=5,
)


def _striped(file: rec.FileRecord) -> rec.FileRecord:
    file.erasure_coding_policy_id = 1
    file.replication = 0
    return file


@given(INODES, CHILDREN, st.integers(HEAD_BYTES, 2000))
def test_image_comes_back_from_rows_of_its_xml_byte_for_byte(
    inodes: list[rec.InodeRecord], children: list[rec.ChildrenRecord], count: int
) -> None:
    data = image(inodes, children)
    shown = xml(data).replace(
        "</txid>", f"</txid><lastAllocatedStripedBlockId>{-(1 << 63)}</lastAllocatedStripedBlockId>"
    )
    assert from_xml(shown, count) == data


def plain(count: int) -> list[rec.InodeRecord]:
    return [
        rec.FileRecord(
            16387 + n, f"é{n}", "root", "staff", 0o644, n, -n, 3, 1024, (EditBlock(n + 1, n, n),)
        )
        for n in range(count)
    ]


def test_plain_files_are_never_seen_one_by_one() -> None:
    shown = xml(image(plain(50), [rec.ChildrenRecord(16385, list(range(16387, 16437)))]))
    with mock.patch("howdah.formats.viewers.xml_to_image.inode", wraps=inode_of) as inode:
        from_xml(shown)
    # The first of them are behind the head, in what was read with it.
    assert inode.call_count <= HEAD_BYTES // 300 + 1


@pytest.mark.parametrize("name", ["plain", "rich"])
def test_hadoops_xml_gives_the_same_image_by_rows_and_one_by_one(name: str) -> None:
    shown = (GOLDEN / f"fsimage_{name}.xml").read_text()
    assert from_xml(shown) == one_by_one(shown)


ODD = [
    # A row is looked for only where an element has just ended.
    ("<inode><id>16390", "<!-- </inode> --><inode><id>16390"),
    ("<inode><id>16390", "<!-- <inode></inode>\n --><inode><id>16390"),
    ("<inode><id>16390", "<inode ><id>16390"),
    ("<inode><id>16390", "\n\n<inode>\n<id>16390"),
    ("<id>16390</id>", "<id> 16390</id>"),
    ("<id>16390</id>", "<id>+016390</id>"),
    ("<name>é3", "<name>&#233;3"),
    ("<name>é3", "<name><![CDATA[é3</inode>]]>"),
    ("<name>é3", "<name>]]>"),
    ("<name>é3", "<name>\x01"),
    ("<name>é3", "<name>\ud800"),
    ("<name>é3", "<name>\uffff"),
    ("<name>é3", "<name>\x7f\x85\u2028"),
    ("<mtime>3<", "<mtime>9223372036854775808<"),
    ("<mtime>3<", "<mtime>-9223372036854775808<"),
    ("<mtime>3<", "<mtime>٣<"),
    ("<replication>3<", "<replication>2147483648<"),
    ("root:staff:0644", "r:oot:staff:0644"),
    ("root:staff:0644", "root:staff:0648"),
    ("<storagePolicyId>0</storagePolicyId></inode>", "</inode>"),
    ("<storagePolicyId>0</storagePolicyId></inode>", "<unknown>1</unknown></inode>"),
    ("<storagePolicyId>0</storagePolicyId></inode>", "</inode >"),
    ("<inode><id>16390", "<inode/><inode><id>16390"),
    ("<inode><id>16390", "<other/><inode><id>16390"),
    ("<inode><id>16390", "</INodeSection><INodeSection><inode><id>16390"),
    ("<numInodes>9<", "<numInodes>10<"),
]


@pytest.mark.parametrize(("text", "instead"), ODD)
def test_what_is_written_in_another_way_means_the_same_by_rows_and_one_by_one(
    text: str, instead: str
) -> None:
    shown = xml(image(plain(9)))
    assert text in shown
    shown = shown.replace(text, instead)
    assert _result(from_xml, shown) == _result(one_by_one, shown)


def _result(read: Any, shown: str) -> object:
    try:
        return read(shown)
    except errors.HowdahError as error:
        return type(error)


def test_error_behind_rows_names_its_line() -> None:
    shown = xml(image(plain(9))).replace("<id>16394</id>", "<id>many</id>")
    wrong = next(n for n, line in enumerate(shown.splitlines(), 1) if "many" in line)
    with pytest.raises(errors.IllegalArgument, match=f"line {wrong}: id is no number"):
        from_xml(shown)


SHOWN = xml(
    image(
        [*plain(6), rec.DirectoryRecord(16385, "d", "a", "b", 0o755, 5)],
        [rec.ChildrenRecord(1, [2, 3])],
    )
)


@settings(max_examples=300)
@given(st.integers(0, len(SHOWN) - 1), st.sampled_from("<>/&x0 \\\n-:"))
def test_a_changed_character_means_the_same_by_rows_and_one_by_one(
    position: int, instead: str
) -> None:
    changed = SHOWN[:position] + instead + SHOWN[position + 1 :]
    assert _result(from_xml, changed) == _result(one_by_one, changed)


# -- sizes ---------------------------------------------------------------------------


def _counted(data: bytes, *, one_by_one: bool) -> str:
    reader = ImageReader(io.BytesIO(data), "fsimage")
    columns: contextlib.AbstractContextManager[object] = contextlib.nullcontext()
    if one_by_one:
        columns = mock.patch.object(sizes, "file_sizes", iter)
    with columns:
        return "".join(distribution(reader, 100, 7, for_people=False))


SIZED = FILES.map(lambda file: file) | DIRECTORIES | STRIPED | LINKS


@given(st.lists(SIZED, max_size=20))
def test_sizes_are_the_same_by_columns_and_one_by_one(inodes: list[rec.InodeRecord]) -> None:
    data = image(inodes)
    assert _counted(data, one_by_one=False) == _counted(data, one_by_one=True)


def test_so_many_inodes_are_announced() -> None:
    data = image(plain(3))
    with mock.patch.object(sizes, "BATCH", 2), mock.patch.object(sizes, "_SAY_EVERY", 2):
        shown = _counted(data, one_by_one=False).splitlines()
    assert shown[:3] == ["Processed 0 inodes.", "Processed 2 inodes.", "Size\tNumFiles"]
