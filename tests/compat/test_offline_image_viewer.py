"""`howdah oiv` and `hdfs oiv` on the same images: ours, and those of a Hadoop namenode."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from howdah.cli.main import main
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
from howdah.formats.image.fsimage import ImageReader, ImageWriter
from howdah.formats.viewers.web import PREFIX, ImageTree, answer

pytestmark = pytest.mark.timeout(700)

GOLDEN = Path(__file__).parents[1] / "unit" / "formats" / "golden"
GZIP = "org.apache.hadoop.io.compress.GzipCodec"
ODD = 'a\nb,"c"\\d<&>\'\x01\x7f\x85\u2028\ufffe\U0001f600 '
EACH = tuple(range(8))


def root() -> rec.DirectoryRecord:
    return rec.DirectoryRecord(
        16385, "", "root", "supergroup", 0o755, 1, namespace_quota=rec.ROOT_NAMESPACE_QUOTA
    )


def directory(inode_id: int, name: str) -> rec.DirectoryRecord:
    made = rec.DirectoryRecord(
        inode_id, name, "zo\u00eb", "staff", 0o1777, 1700000000000, 10, 1 << 40
    )
    made.quotas_by_kind = tuple((kind, 1 << 30) for kind in StorageKind)
    made.acl = (
        *(AclEntry(AclScope.ACCESS, AclKind.USER, each, f"user{each}") for each in EACH),
        AclEntry(AclScope.ACCESS, AclKind.GROUP, 4),
        AclEntry(AclScope.DEFAULT, AclKind.MASK, 7),
        AclEntry(AclScope.DEFAULT, AclKind.OTHER, 0),
    )
    made.xattrs = (
        XAttr(XAttrNamespace.SYSTEM, "hsm.block.storage.policy.id", b"\x02"),
        XAttr(XAttrNamespace.SYSTEM, "hdfs.erasurecoding.policy", b"\0\0\0\x0cRS-6-3-1024k"),
        *(XAttr(space, "odd<name>", b"\0text\n<&>\\") for space in XAttrNamespace),
        XAttr(XAttrNamespace.USER, "bytes", bytes(range(256))),
    )
    return made


def file(inode_id: int, name: str, *sizes: int, replication: int = 2) -> rec.FileRecord:
    blocks = tuple(EditBlock((1 << 30) + n, size, 1001) for n, size in enumerate(sizes))
    return rec.FileRecord(
        inode_id, name, "root", "staff", 0o1644, 1700000000000, 5, replication, 1 << 27, blocks, 7
    )


def striped(inode_id: int, policy_id: int) -> rec.FileRecord:
    made = file(inode_id, f"striped{policy_id}", 1 << 40)
    made.blocks = (EditBlock(-(1 << 63) + 16, 1 << 40, 1001),)
    made.erasure_coding_policy_id = policy_id
    return made


def write_everything(path: Path, codec: str = "") -> None:
    """An image with something of everything that an image can have."""
    writing = file(16390, "writing", 3)
    writing.writer, writing.writer_machine = "DFSClient_<1>", "host"
    inodes: list[rec.InodeRecord] = [
        root(),
        directory(16386, ODD),
        file(16387, ODD, 1023, 1 << 30),
        file(16388, "lost"),
        rec.SymlinkRecord(16389, "link", "root", "staff", 0o777, 5, 6, f"/{ODD}"),
        writing,
        striped(16391, 1),
        striped(16392, 65),
        directory(16393, "gone"),
        file(16394, "in gone", 5),
        file(16395, "moved", 7),
    ]
    with path.open("wb") as out:
        writer = ImageWriter(out, codec=codec)
        writer.namesystem(
            rec.NamesystemRecord(
                -7, 1000, 1 << 40, 0, 1 << 31, 42, 1700000000000, last_striped_block_id=-16
            )
        )
        mine = rec.SchemaRecord("xor", 3, 1, (rec.SchemaOptionRecord("key", "value<"),))
        policies = [rec.ErasureCodingPolicyRecord(n, state=1 + n % 2) for n in range(1, 6)]
        writer.erasure_coding(
            [*policies, rec.ErasureCodingPolicyRecord(65, "XOR-3-1-4k", mine, 4096, 3)]
        )
        writer.inodes(20000, len(inodes), inodes)
        writer.children(
            [
                rec.ChildrenRecord(16385, [16386, 16389, 16390, 16391, 16392]),
                rec.ChildrenRecord(16386, [16387], [1]),
                rec.ChildrenRecord(16393, [16394]),
            ]
        )
        writer.open_files([rec.OpenFileRecord(16390, f"/{ODD}/writing")])
        copied = directory(0, "")
        writer.snapshots(
            rec.SnapshotsRecord(3, (16385,), (rec.SnapshotRecord(2, directory(16385, "s2")),)),
            [
                rec.InodeDiffsRecord(
                    16386,
                    True,
                    (
                        rec.DirectoryDiffRecord(2147483646, 1, True),
                        rec.DirectoryDiffRecord(2, 1, False, b"d", copied, (b"n",), (16393,), (0,)),
                    ),
                ),
                rec.InodeDiffsRecord(
                    16387,
                    False,
                    (
                        rec.FileDiffRecord(2, 11),
                        rec.FileDiffRecord(1, 5, b"old", file(0, ""), (EditBlock(1, 2, 3),)),
                    ),
                ),
            ],
            [
                rec.ReferenceRecord(16395, b"was", None, 2),
                rec.ReferenceRecord(16395, None, 2147483646, None),
            ],
        )
        writer.secrets(
            rec.SecretsRecord(
                3,
                -9,
                (
                    rec.DelegationKeyRecord(3, 1 << 40, b"\0key"),
                    rec.DelegationKeyRecord(-4, None, b"k"),
                ),
                (
                    rec.DelegationTokenRecord(0, "al<ice", "yarn", "", 1, 2, 9, 3, 1 << 41),
                    rec.DelegationTokenRecord(owner="bob"),
                ),
            )
        )
        expiration = rec.CacheExpirationRecord(1 << 50, True)
        writer.cache(
            rec.CacheRecord(
                2,
                (rec.CachePoolRecord("pool", "alice", "staff", 0o755, 1 << 60, -1, 1),),
                (rec.CacheDirectiveRecord(1, "/d<", 2, "pool", expiration),),
            )
        )
        writer.finish()


def write_broken(path: Path) -> None:
    """Directories of this image list what it does not have."""
    inodes = [root(), directory(16386, "d,"), file(16387, ODD), directory(16388, "alone")]
    with path.open("wb") as out:
        writer = ImageWriter(out)
        writer.namesystem(rec.NamesystemRecord(7, 1000, 1001, 0, 1 << 31, 42))
        writer.erasure_coding(())
        writer.inodes(20000, len(inodes), inodes)
        writer.children(
            [
                rec.ChildrenRecord(16385, [16386, 16390, 16391], [0]),
                rec.ChildrenRecord(16386, [16387, 16392]),
                rec.ChildrenRecord(16388, [16393]),
                rec.ChildrenRecord(16390, [16394, 16395]),
            ]
        )
        writer.open_files(())
        writer.snapshots(rec.SnapshotsRecord(), (), [rec.ReferenceRecord(16396, b"was", None, 2)])
        writer.secrets(rec.SecretsRecord())
        writer.cache(rec.CacheRecord())
        writer.finish()


IMAGES = ("everything", "zipped", "plain", "deflate", "rich")


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    scratch = tmp_path_factory.mktemp("images")
    write_everything(scratch / "everything")
    write_everything(scratch / "zipped", GZIP)
    write_broken(scratch / "broken")
    return {
        "everything": scratch / "everything",
        "zipped": scratch / "zipped",
        "broken": scratch / "broken",
        **{name: GOLDEN / f"fsimage_{name}" for name in ("plain", "deflate", "rich")},
    }


@pytest.fixture
def both(hadoop_tools: Callable[..., None], tmp_path: Path) -> Callable[..., tuple[str, str]]:
    """What we print and what Hadoop's viewer does."""

    def run(*arguments: str | Path) -> tuple[str, str]:
        ours, theirs = tmp_path / "ours", tmp_path / "theirs"
        assert main(["oiv", *map(str, arguments), "-o", str(ours)]) == 0
        hadoop_tools("oiv", *arguments, "-o", theirs)
        return ours.read_text(), theirs.read_text()

    return run


def without_revision(xml: str) -> str:
    shown, count = re.subn("<oivRevision>.*?</oivRevision>", "", xml)
    assert count == 1
    return shown


@pytest.mark.parametrize("name", IMAGES)
def test_both_viewers_show_the_same_xml(
    name: str, images: dict[str, Path], both: Callable[..., tuple[str, str]]
) -> None:
    ours, theirs = both("-p", "XML", "-i", images[name])
    assert without_revision(ours) == without_revision(theirs)


@pytest.mark.parametrize("name", IMAGES)
@pytest.mark.parametrize("options", [(), ("-delimiter", ",", "-sp", "-ec")])
def test_both_viewers_list_the_same_lines(
    name: str,
    options: tuple[str, ...],
    images: dict[str, Path],
    both: Callable[..., tuple[str, str]],
) -> None:
    ours, theirs = both("-p", "Delimited", *options, "-i", images[name])
    assert ours == theirs
    assert ours.count("\n") > 5


@pytest.mark.parametrize("name", IMAGES)
@pytest.mark.parametrize("options", [(), ("-maxSize", "2000", "-step", "100", "-format")])
def test_both_viewers_count_the_same_sizes(
    name: str,
    options: tuple[str, ...],
    images: dict[str, Path],
    both: Callable[..., tuple[str, str]],
) -> None:
    ours, theirs = both("-p", "FileDistribution", *options, "-i", images[name])
    assert ours == theirs


@pytest.mark.parametrize("name", [*IMAGES, "broken"])
def test_both_viewers_find_the_same_corruption(
    name: str, images: dict[str, Path], both: Callable[..., tuple[str, str]]
) -> None:
    ours, theirs = both("-p", "DetectCorruption", "-i", images[name])
    assert ours == theirs
    assert (ours.count("\n") > 1) is (name == "broken")


@pytest.mark.parametrize("name", ["plain", "rich"])
def test_hadoop_shows_the_same_of_an_image_that_we_made_from_its_xml(
    name: str, images: dict[str, Path], hadoop_tools: Callable[..., None], tmp_path: Path
) -> None:
    first, image, again = tmp_path / "first", tmp_path / "image", tmp_path / "again"
    hadoop_tools("oiv", "-p", "XML", "-i", images[name], "-o", first)
    assert main(["oiv", "-p", "ReverseXML", "-i", str(first), "-o", str(image)]) == 0
    hadoop_tools("oiv", "-p", "XML", "-i", image, "-o", again)
    assert again.read_bytes() == first.read_bytes()


def test_hadoop_makes_an_image_of_our_xml_that_shows_the_same(
    images: dict[str, Path], hadoop_tools: Callable[..., None], tmp_path: Path
) -> None:
    ours, image, again = tmp_path / "ours", tmp_path / "image", tmp_path / "again"
    assert main(["oiv", "-p", "XML", "-i", str(images["rich"]), "-o", str(ours)]) == 0
    hadoop_tools("oiv", "-p", "ReverseXML", "-i", ours, "-o", image)
    assert main(["oiv", "-p", "XML", "-i", str(image), "-o", str(again)]) == 0
    assert again.read_bytes() == ours.read_bytes()


REQUESTS = [
    f"{PREFIX}{path}?op={operation}"
    for path in ("/", "/user/alice/", "/user//alice/docs", "/user/alice/docs/none", "/nothing")
    for operation in (
        "GETFILESTATUS",
        "liststatus",
        "GETACLSTATUS",
        "GETXATTRS",
        "GETXATTRS&encoding=hex",
        "GETXATTRS&encoding=base64&xattr.name=user.colour",
        "LISTXATTRS",
        "GETCONTENTSUMMARY",
        "OPEN",
    )
] + [
    f"{PREFIX}/link?op=GETFILESTATUS",
    f"{PREFIX}/link?op=GETACLSTATUS",
    f"{PREFIX}/empty?op=LISTSTATUS",
    f"{PREFIX}/empty?op=GETXATTRS&xattr.name=colour",
    f"{PREFIX}/user/alice/docs/%C3%A9%E6%BC%A2%F0%9F%98%80%20%26%3Cb%3E?op=GETFILESTATUS",
    f"{PREFIX}/user",
    "/webhdfs/v2/user?op=LISTSTATUS",
]


def test_both_viewers_answer_the_same_over_the_web(
    hadoop_tools: Callable[..., None], tmp_path: Path
) -> None:
    image = GOLDEN / "fsimage_rich"
    hadoop_tools("ask", image, tmp_path / "theirs", *REQUESTS)
    with image.open("rb") as source:
        tree = ImageTree(ImageReader(source, "image"))
    for target, line in zip(REQUESTS, (tmp_path / "theirs").read_text().splitlines(), strict=True):
        found = answer(tree, "GET", target)
        status, _, body = line.partition(" ")
        assert (found.status, json.loads(found.body)) == (int(status), json.loads(body)), target
