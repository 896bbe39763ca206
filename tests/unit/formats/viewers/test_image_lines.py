"""Images for people: what Hadoop 3.5.0's viewer printed of an image is what we print,
and the image comes back from it."""

from __future__ import annotations

import contextlib
import io
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howdah import errors
from howdah.formats.edits.edits import EditBlock
from howdah.formats.image import records as rec
from howdah.formats.image.fsimage import ImageReader, ImageWriter
from howdah.formats.viewers.check import problems
from howdah.formats.viewers.image_lines import Columns, Paths, Places, PlacesInMemory, listing
from howdah.formats.viewers.sizes import distribution
from howdah.formats.viewers.web import PREFIX, ImageTree, answer
from howdah.formats.viewers.xml import as_xml
from howdah.formats.viewers.xml_to_image import image_from_xml
from howdah.storage.parent_index import PlacesOnDisk

GOLDEN = Path(__file__).parents[1] / "golden"


def opened(data: bytes) -> ImageReader:
    return ImageReader(io.BytesIO(data), "fsimage")


def golden(name: str) -> ImageReader:
    return opened((GOLDEN / name).read_bytes())


def hadoops(name: str) -> str:
    """What Hadoop's viewer printed."""
    return (GOLDEN / name).read_text()


def xml(reader: ImageReader) -> str:
    return "".join(as_xml(reader, "dbcc7cd797100e6b32cd84f85b53a5193a5f9af0"))


def from_xml(text: str) -> bytes:
    out = io.BytesIO()
    image_from_xml(io.BytesIO(text.encode()), "fsimage.xml", out)
    return out.getvalue()


def time_in_utc(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms // 1000, UTC).strftime("%Y-%m-%d %H:%M")


def image(
    *inodes: rec.InodeRecord,
    children: tuple[rec.ChildrenRecord, ...] = (),
    snapshots: rec.SnapshotsRecord | None = None,
    diffs: tuple[rec.InodeDiffsRecord, ...] | None = None,
    references: tuple[rec.ReferenceRecord, ...] = (),
    policies: tuple[rec.ErasureCodingPolicyRecord, ...] = (),
    secrets: rec.SecretsRecord | None = None,
    cache: rec.CacheRecord | None = None,
    striped: int = -(1 << 63),
) -> bytes:
    out = io.BytesIO()
    writer = ImageWriter(out)
    writer.namesystem(
        rec.NamesystemRecord(7, 1000, 1001, 0, 1073741825, 42, last_striped_block_id=striped)
    )
    writer.erasure_coding(policies)
    writer.inodes(20000, len(inodes), inodes)
    writer.children(children)
    writer.open_files([rec.OpenFileRecord(20001, "/a/\\b & \x01")])
    writer.snapshots(snapshots or rec.SnapshotsRecord(), diffs, references)
    writer.secrets(secrets or rec.SecretsRecord())
    writer.cache(cache or rec.CacheRecord())
    writer.finish()
    return out.getvalue()


ROOT = rec.DirectoryRecord(16385, "", "root", "supergroup", 0o755, 5)


def directory(inode_id: int, name: str) -> rec.DirectoryRecord:
    return rec.DirectoryRecord(inode_id, name, "root", "supergroup", 0o755, 5)


def file(inode_id: int, name: str, *sizes: int, replication: int = 1) -> rec.FileRecord:
    blocks = tuple(EditBlock(1 << 30 | n, size, 1001) for n, size in enumerate(sizes))
    return rec.FileRecord(
        inode_id, name, "root", "supergroup", 0o644, 5, 6, replication, 1024, blocks
    )


# -- XML -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["plain", "rich"])
def test_xml_is_hadoops_to_the_byte(name: str) -> None:
    assert xml(golden(f"fsimage_{name}")) == hadoops(f"fsimage_{name}.xml")


def test_xml_of_a_compressed_image_is_that_of_a_plain_one() -> None:
    plain, deflated = xml(golden("fsimage_plain")), xml(golden("fsimage_deflate"))
    assert re.sub(r"\d+", "0", deflated.split("<INodeSection>")[0]) == re.sub(
        r"\d+", "0", plain.split("<INodeSection>")[0]
    )


@pytest.mark.parametrize("name", ["plain", "rich"])
def test_image_from_hadoops_xml_shows_the_same_xml(name: str) -> None:
    shown = hadoops(f"fsimage_{name}.xml")
    assert xml(opened(from_xml(shown))) == shown


EVERYTHING = image(
    ROOT,
    directory(16386, "d"),
    file(16387, "a\r\nb\\c\uffff<&>\"'\x00 ", 5, 6),
    children=(
        rec.ChildrenRecord(16385, [16386], [1]),
        rec.ChildrenRecord(16386, [16387]),
    ),
    policies=(
        rec.ErasureCodingPolicyRecord(1, state=1),
        rec.ErasureCodingPolicyRecord(
            65,
            "mine",
            rec.SchemaRecord("xor", 3, 1, (rec.SchemaOptionRecord("k", "v<"),)),
            4096,
            2,
        ),
    ),
    snapshots=rec.SnapshotsRecord(
        3, (16385, 16386), (rec.SnapshotRecord(2, directory(16385, "s2")),)
    ),
    diffs=(
        rec.InodeDiffsRecord(
            16386,
            True,
            (
                rec.DirectoryDiffRecord(
                    2, 1, False, b"d", directory(0, ""), (b"new", b"er"), (16400,), (0,)
                ),
            ),
        ),
        rec.InodeDiffsRecord(
            16387,
            False,
            (
                rec.FileDiffRecord(2, 11),
                rec.FileDiffRecord(2, 5, b"old", file(0, ""), (EditBlock(1, 2, 3),)),
                rec.FileDiffRecord(1, 5, b"old", file(0, ""), (EditBlock(2, 2, 3),), (1,)),
            ),
        ),
    ),
    references=(
        rec.ReferenceRecord(16388, b"was", None, 2),
        rec.ReferenceRecord(16388, None, 2147483646, None),
    ),
    secrets=rec.SecretsRecord(
        3,
        9,
        (rec.DelegationKeyRecord(3, 1 << 40, b"\x00key"), rec.DelegationKeyRecord(4)),
        (
            rec.DelegationTokenRecord(0, "alice", "yarn", "", 1, 2, 9, 3, 4),
            rec.DelegationTokenRecord(),
        ),
    ),
    cache=rec.CacheRecord(
        2,
        (rec.CachePoolRecord("pool", "alice", "staff", 0o755, 1000, -1),),
        (rec.CacheDirectiveRecord(1, "/d", 2, "pool", rec.CacheExpirationRecord(5, True)),),
    ),
)


def test_our_image_comes_back_from_its_xml_byte_for_byte() -> None:
    assert from_xml(xml(opened(EVERYTHING))) == EVERYTHING


def test_name_that_is_no_text_is_shown_as_java_shows_it() -> None:
    assert "<name>a\ufffdb</name>" in xml(opened(image(ROOT, file(16386, "a\ud800b"))))


def test_xml_with_other_line_ends_makes_the_same_image() -> None:
    """As an editor may leave it behind; the ends within names are not the editor's."""
    shown = hadoops("fsimage_rich.xml")
    assert from_xml(shown.replace("\n", "\r\n")) == from_xml(shown)


def test_file_that_is_being_truncated_stays_so() -> None:
    cut = file(16386, "f", 5)
    cut.writer, cut.truncating = "writer", True
    data = image(ROOT, cut)
    assert "<truncating/>" in xml(opened(data))
    assert from_xml(xml(opened(data))) == data


def test_what_a_file_that_is_cut_is_copied_from_is_shown_and_comes_back() -> None:
    cut = file(16386, "f", 5)
    cut.writer, cut.truncating, cut.source = "writer", True, EditBlock(1073741830, 9, 1007)
    data = image(ROOT, cut)
    assert "<source><blocks><block><id>1073741830</id>" in xml(opened(data))
    assert from_xml(xml(opened(data))) == data


def test_states_of_blocks_are_shown_and_come_back() -> None:
    appended = file(16386, "f", 5)
    appended.blocks = (EditBlock(1073741830, 9, 1007), EditBlock(1073741831, 9, 1008))
    appended.writer, appended.complete_blocks, appended.last_committed = "writer", 1, True
    data = image(ROOT, appended)
    shown = xml(opened(data))
    assert "<complete-blocks>1</complete-blocks><last-committed/>" in shown
    assert from_xml(shown) == data


def test_access_time_of_a_directory_is_shown_and_comes_back() -> None:
    touched = directory(16386, "d")
    touched.atime_ms = 77
    data = image(ROOT, touched)
    assert "<atime>77</atime>" in xml(opened(data))
    assert from_xml(xml(opened(data))) == data


def test_striped_file_without_the_last_striped_id_is_refused() -> None:
    striped = file(16386, "f", 5)
    striped.erasure_coding_policy_id = 1
    shown = xml(opened(image(ROOT, striped, striped=-16)))
    with pytest.raises(errors.UnsupportedOperation, match="Add lastAllocatedStripedBlockId"):
        from_xml(shown)


def test_striped_file_comes_back_where_the_last_striped_id_is_told() -> None:
    striped = file(16386, "f", 5)
    striped.erasure_coding_policy_id = 1
    data = image(ROOT, striped, striped=-16)
    told = "<lastAllocatedStripedBlockId>-16</lastAllocatedStripedBlockId></NameSection>"
    assert from_xml(xml(opened(data)).replace("</NameSection>", told)) == data


RICH = hadoops("fsimage_rich.xml")


@pytest.mark.parametrize(
    ("found", "instead", "complaint"),
    [
        ("<layoutVersion>-67<", "<layoutVersion>-66<", "layout version -66"),
        ("<numInodes>17<", "<numInodes>18<", "17 inodes, and 18 are announced"),
        ("<id>16386</id>", "<id>x</id>", "line 33: id is no number: 'x'"),
        ("<id>16386</id>", f"<id>{1 << 63}</id>", "id has too many digits"),
        ("<name>user</name>", "<name>user</name><odd/>", "line 33: inode 16386: odd in inode"),
        ("<name>user</name>", "", "line 33: there is no name in inode"),
        ("<name>user</name>", "<name>user</name><name/>", "more than one name in inode"),
        ("<mtime>1795236070723</mtime>", "", "inode 16386: there is no mtime"),
        ("root:supergroup:0755", "root:0755", "permission 'root:0755' makes no sense"),
        ("user:bob:r-x", "user:bob:rx", "ACL entry 'user:bob:rx' makes no sense"),
        ("<ns>USER<", "<ns>LOSER<", "there is no namespace 'LOSER'"),
        ("<valHex>00ff62<", "<valHex>0<", "valHex is not hexadecimal"),
        ("<type>SSD<", "<type>TAPE<", "there is no storage type 'TAPE'"),
        ("<type>SYMLINK<", "<type>SOCKET<", "inode 16396 is of type 'SOCKET'"),
        ("<SnapshotSection>", "<Sections>", "this is no XML"),
        ("INodeReferenceSection>", "Unknown>", "INodeReferenceSection should be here, not Unkn"),
        ("</fsimage>", "<x/></fsimage>", "x is not expected here"),
        ("<numSnapshots>2<", "<numSnapshots>1<", "2 snapshots, and 1 are announced"),
        ("<count>2<", "<count>3<", "2 diffs, and 3 are announced"),
        ("<createdListSize>1<", "<createdListSize>2<", "1 created names, and 2 are"),
        ("<numPools>0<", "<numPools>1<", "0 directives and 0 pools, and 0 and 1"),
        ("<numTokens>0<", "<numTokens>1<", "0 keys and 0 tokens, and 0 and 1"),
        ("<policyState>DISABLED<", "<policyState>ODD<", "there is no policyState 'ODD'"),
        ("<fsimage>", "<!DOCTYPE fsimage><fsimage>", "document type is not expected"),
        ("<version>", '<version a="1">', "version has attributes"),
        ("fsimage>", "fsimages>", "fsimages is not expected here, but fsimage"),
        ("<name>user<", "<name>us\\er<", "backslash"),
    ],
)
def test_xml_that_shows_no_image_is_refused_by_name(
    found: str, instead: str, complaint: str
) -> None:
    assert found in RICH
    with pytest.raises((errors.HowdahError), match=re.escape(complaint)):
        from_xml(RICH.replace(found, instead))


@pytest.mark.parametrize("name", ["numInodes", "lastInodeId", "snapshotCounter", "parent"])
def test_a_number_that_an_image_cannot_have_is_refused(name: str) -> None:
    text = re.sub(f"<{name}>[0-9]+<", f"<{name}>-1<", hadoops("fsimage_rich.xml"), count=1)
    with pytest.raises(errors.IllegalArgument, match=r"fsimage\.xml, line "):
        from_xml(text)


def test_xml_that_breaks_off_is_refused() -> None:
    for length in range(0, len(RICH), 97):
        with pytest.raises(errors.IllegalArgument):
            from_xml(RICH[:length])


# -- lines ---------------------------------------------------------------------------


def test_listing_is_hadoops_to_the_byte() -> None:
    columns = Columns(time_in_utc, ",", with_storage_policy=True, with_erasure_coding=True)
    shown = "".join(listing(golden("fsimage_rich"), PlacesInMemory(), columns))
    assert shown == hadoops("fsimage_rich.csv")


def paths_of(data: bytes, places: Places) -> list[str]:
    lines = listing(opened(data), places, Columns(time_in_utc))
    return [line.split("\t")[0] for line in lines][1:]


TREE = image(
    file(16389, "deep"),
    directory(16388, "c"),
    file(16390, "lost"),
    ROOT,
    directory(16387, "b"),
    directory(16391, "nowhere"),
    file(16392, "in nowhere"),
    children=(
        rec.ChildrenRecord(16388, [16389]),
        rec.ChildrenRecord(16385, [16387]),
        rec.ChildrenRecord(16387, [16388]),
        rec.ChildrenRecord(16391, [16392]),
    ),
)


def test_listing_leaves_out_what_hangs_under_no_root() -> None:
    assert paths_of(TREE, PlacesInMemory()) == ["/b/c/deep", "/b/c", "/", "/b"]


def test_places_on_disk_give_the_same_listing_and_leave_nothing(tmp_path: Path) -> None:
    with PlacesOnDisk(tmp_path / "places") as places:
        assert paths_of(TREE, places) == paths_of(TREE, PlacesInMemory())
    assert list(tmp_path.iterdir()) == []


def test_places_on_disk_do_not_take_a_directory_that_is_there(tmp_path: Path) -> None:
    with pytest.raises(errors.PathExists):
        PlacesOnDisk(tmp_path)


def test_directory_within_itself_has_no_path() -> None:
    places = PlacesInMemory()
    places.add(2, [3])
    places.add(3, [2])
    assert Paths(places, {2: "two", 3: "three"}).directory_of(2) is None


def test_name_with_a_line_end_stays_in_its_line() -> None:
    data = image(ROOT, file(16386, 'a\n"b"'), children=(rec.ChildrenRecord(16385, [16386]),))
    assert paths_of(data, PlacesInMemory()) == ["/", '"/a%x0A""b"""']


def test_reference_that_is_not_there_is_refused() -> None:
    data = image(ROOT, children=(rec.ChildrenRecord(16385, [], [0]),))
    with pytest.raises(errors.CorruptImage, match="reference that is not there"):
        paths_of(data, PlacesInMemory())


def test_what_is_listed_and_not_there_is_found() -> None:
    data = image(
        ROOT,
        directory(16386, "d,"),
        file(16387, "f"),
        directory(16388, "alone"),
        children=(
            rec.ChildrenRecord(16385, [16386, 16390, 16391], [0]),
            rec.ChildrenRecord(16386, [16387, 16392]),
            rec.ChildrenRecord(16388, [16393]),
            rec.ChildrenRecord(16390, [16394, 16395]),
        ),
        references=(rec.ReferenceRecord(16396),),
    )
    assert [line.rstrip() for line in problems(opened(data), PlacesInMemory(), "|")] == [
        "CorruptionType|Id|IsSnapshot|ParentPath|ParentId|Name|NodeType|CorruptChildren",
        "MissingChild|16385|false|/|Missing||Node|2",
        'MissingChild|16386|false|/|16385|"d,"|Node|1',
        "MissingChild|16388|true||Missing|alone|Node|1",
        "CorruptNodeWithMissingChild|16390|true||16385||Unknown|2",
        "CorruptNode|16391|true||16385||Unknown|0",
        "CorruptNode|16392|true||16386||Unknown|0",
        "CorruptNode|16393|true||16388||Unknown|0",
        "CorruptNode|16394|true||16390||Unknown|0",
        "CorruptNode|16395|true||16390||Unknown|0",
    ]


# -- sizes ---------------------------------------------------------------------------


def test_sizes_for_people_are_hadoops_to_the_byte() -> None:
    shown = "".join(distribution(golden("fsimage_rich"), 2000, 100, for_people=True))
    assert shown == hadoops("fsimage_rich.sizes")


def test_files_are_counted_by_size() -> None:
    data = image(ROOT, file(1, "a"), file(2, "b", 10), file(3, "c", 10, 1), file(4, "d", 99))
    assert "".join(distribution(opened(data), 50, 10, for_people=False)).splitlines() == [
        "Processed 0 inodes.",
        "Size\tNumFiles",
        "0\t1",
        "10\t1",
        "20\t1",
        "50\t1",
        "totalFiles = 4",
        "totalDirectories = 1",
        "totalBlocks = 4",
        "totalSpace = 120",
        "maxFileSize = 99",
    ]


def test_too_many_steps_are_refused() -> None:
    with pytest.raises(errors.IllegalArgument, match="should be less than 134217729"):
        list(distribution(golden("fsimage_rich"), 1 << 40, 1, for_people=False))


# -- over the web --------------------------------------------------------------------

RICH_TREE = ImageTree(golden("fsimage_rich"))


def ask(path: str, tree: ImageTree = RICH_TREE) -> Any:
    found = answer(tree, "GET", PREFIX + path)
    assert found.status == 200, found
    return json.loads(found.body)


def test_directory_is_listed_as_webhdfs_does() -> None:
    statuses = ask("/user/alice?op=LISTSTATUS")["FileStatuses"]["FileStatus"]
    # What came from a snapshot's directory is behind the rest, as in the image.
    assert [s["pathSuffix"] for s in statuses] == ["appended", "docs", "open", "moved"]


def test_status_has_what_webhdfs_has() -> None:
    assert ask("/user/alice/docs/none?op=getfilestatus")["FileStatus"] == {
        "accessTime": 1700000000001,
        "blockSize": 1024,
        "childrenNum": 0,
        "fileId": 16391,
        "group": "supergroup",
        "length": 0,
        "modificationTime": 1700000000000,
        "owner": "root",
        "pathSuffix": "",
        "permission": "660",
        "replication": 1,
        "type": "FILE",
    }


def test_names_in_requests_are_quoted() -> None:
    path = "/user/alice/docs/%C3%A9%E6%BC%A2%F0%9F%98%80%20%26%3Cb%3E"
    assert ask(path + "?op=GETFILESTATUS")["FileStatus"]["length"] == 10


def test_link_has_its_target() -> None:
    assert ask("/link?op=GETFILESTATUS")["FileStatus"]["symlink"] == "/user/alice/docs"


def test_acl_is_answered() -> None:
    found = ask("/user/alice/docs?op=GETACLSTATUS")["AclStatus"]
    assert found["entries"][0] == "user:bob:r-x"
    assert (found["permission"], found["stickyBit"]) == ("1770", True)


def test_summary_counts_what_is_below() -> None:
    assert ask("/user?op=GETCONTENTSUMMARY")["ContentSummary"] == {
        "directoryCount": 3,
        "fileCount": 6,
        "length": 6020,
        "quota": 100,
        "spaceConsumed": 7520,
        "spaceQuota": 1099511627776,
    }


@pytest.mark.parametrize(
    ("encoding", "value"), [("hex", "0x00ff62"), ("base64", "0sAP9i"), ("text", '"\x00\ufffdb"')]
)
def test_attributes_are_encoded_as_asked(encoding: str, value: str) -> None:
    path = f"/user/alice/docs/none?op=GETXATTRS&xattr.name=user.colour&encoding={encoding}"
    assert ask(path) == {"XAttrs": [{"name": "user.colour", "value": value}]}


def test_names_of_attributes_are_json_within_json() -> None:
    names = '["system.hsm.block.storage.policy.id","trusted.empty"]'
    assert ask("/empty?op=LISTXATTRS") == {"XAttrNames": names}


@pytest.mark.parametrize(
    ("target", "status", "exception"),
    [
        ("/webhdfs/v1/nothing?op=GETFILESTATUS", 404, "FileNotFoundException"),
        ("/webhdfs/v1/user/alice/open/x?op=LISTSTATUS", 404, "FileNotFoundException"),
        ("/elsewhere?op=LISTSTATUS", 404, "FileNotFoundException"),
        ("/webhdfs/v1/user", 400, "IllegalArgumentException"),
        ("/webhdfs/v1/user?op=OPEN", 400, "IllegalArgumentException"),
        ("/webhdfs/v1?op=LISTSTATUS", 400, "IllegalArgumentException"),
        ("/webhdfs/v1/empty?op=GETXATTRS&encoding=odd", 400, "IllegalArgumentException"),
        ("/webhdfs/v1/empty?op=GETXATTRS&xattr.name=a", 400, "HadoopIllegalArgumentException"),
        ("/webhdfs/v1/empty?op=GETXATTRS&xattr.name=user.a", 403, "XAttrNotFoundException"),
    ],
)
def test_what_makes_no_sense_is_answered_as_hadoop_does(
    target: str, status: int, exception: str
) -> None:
    found = answer(RICH_TREE, "GET", target)
    assert found.status == status
    assert json.loads(found.body)["RemoteException"]["exception"] == exception


def test_only_get_is_answered() -> None:
    assert answer(RICH_TREE, "POST", "/webhdfs/v1/?op=LISTSTATUS").status == 405


def test_inode_that_is_listed_and_not_there_is_an_error_of_the_image() -> None:
    tree = ImageTree(opened(image(ROOT, children=(rec.ChildrenRecord(16385, [16386]),))))
    assert answer(tree, "GET", "/webhdfs/v1/?op=LISTSTATUS").status == 500


def test_a_directory_within_itself_has_no_sum() -> None:
    children = (rec.ChildrenRecord(16385, [16386]), rec.ChildrenRecord(16386, [16386]))
    tree = ImageTree(opened(image(ROOT, directory(16386, "d"), children=children)))
    assert answer(tree, "GET", "/webhdfs/v1/?op=GETCONTENTSUMMARY").status == 500


@given(st.lists(st.text(st.characters(exclude_characters="/"), min_size=1), unique=True))
def test_every_name_is_found(names: list[str]) -> None:
    names.sort(key=lambda name: [b ^ 0x80 for b in name.encode("utf-8", "surrogatepass")])
    ids = range(16386, 16386 + len(names))
    files = [file(inode_id, name) for inode_id, name in zip(ids, names, strict=True)]
    tree = ImageTree(opened(image(ROOT, *files, children=(rec.ChildrenRecord(16385, list(ids)),))))
    assert [tree.find("/" + name).id for name in names] == list(ids)


# -- damage --------------------------------------------------------------------------

REFUSED = (errors.CorruptImage, errors.UnsupportedOperation, errors.IncorrectVersion)


@settings(max_examples=300)
@given(st.integers(0, len(EVERYTHING) * 8 - 1))
def test_a_changed_bit_never_causes_another_error(position: int) -> None:
    data = bytearray(EVERYTHING)
    data[position // 8] ^= 1 << position % 8
    for look in (
        lambda reader: xml(reader),
        lambda reader: list(listing(reader, PlacesInMemory(), Columns(str))),
        lambda reader: list(problems(reader, PlacesInMemory())),
        lambda reader: list(distribution(reader, 0, 0, for_people=True)),
        lambda reader: answer(ImageTree(reader), "GET", PREFIX + "/?op=LISTSTATUS"),
        lambda reader: answer(ImageTree(reader), "GET", PREFIX + "/d?op=GETCONTENTSUMMARY"),
    ):
        with contextlib.suppress(*REFUSED):
            look(opened(bytes(data)))


@settings(max_examples=200)
@given(st.integers(0, len(RICH) - 1), st.sampled_from("<>/&x0 \\"))
def test_a_changed_character_never_causes_another_error(position: int, instead: str) -> None:
    with contextlib.suppress(*REFUSED, errors.IllegalArgument):
        from_xml(RICH[:position] + instead + RICH[position + 1 :])
