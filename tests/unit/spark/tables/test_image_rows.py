"""Rows of images, Hadoop's among them; parts of an image together have each row once."""

from __future__ import annotations

import csv
import io
import pickle
from datetime import UTC, datetime
from pathlib import Path

import pytest

from howdah import errors
from howdah.formats.edits import edits as ed
from howdah.formats.image.fsimage import ImageReader
from howdah.namenode.state.images.image import read_image
from howdah.namenode.state.inodes.inodes import File
from howdah.namenode.state.tree.namespace import Namespace
from howdah.spark.tables import image_index
from howdah.spark.tables.image_index import DirectoryTree, index_image
from tests.support.tables.frames import Row, image_of, rows_of, rows_of_image, table

GOLDEN = Path(__file__).parents[2] / "formats" / "golden"
IMAGES = ("fsimage_plain", "fsimage_deflate", "fsimage_rich", "fsimage_snapshots")


def golden(name: str) -> Path:
    return GOLDEN / name


def large_namespace(files: int = 9000) -> Namespace:
    namespace = Namespace()
    permission = ed.Permission("ann", "staff", 0o644)
    for number in range(30):
        namespace.apply(ed.MkdirOp(16386 + number, f"/d{number}", 5, permission))
    for number in range(files):
        path = f"/d{number % 30}/file{number}"
        inode_id = 20000 + number
        add = ed.AddOp(inode_id, path, 2, 5, 6, 1024, permission, "DFSClient_1", "host")
        namespace.apply(add)
        blocks = (ed.EditBlock(1 << 30 | number, number % 1000, 1001),) * (number % 7 != 0)
        namespace.apply(ed.CloseOp(inode_id, path, 2, 7, 6, 1024, permission, blocks))
    return namespace


def files_of(namespace: Namespace) -> list[File]:
    """The files that are in the tree, and not in snapshots alone."""
    found = (namespace.find(inode.path) for inode in namespace.inodes.values())
    return [inode for inode in found if isinstance(inode, File)]


def test_rows_are_those_that_hadoops_viewer_shows() -> None:
    with golden("fsimage_rich.csv").open(encoding="utf-8", newline="") as file:
        shown = {row["Path"]: row for row in csv.DictReader(file)}
    found = {
        row["path"]: row
        for row in rows_of(table("howdah.namespace", golden("fsimage_rich").as_uri()))
    }
    assert found.keys() == shown.keys()
    for path, row in found.items():
        line = shown[path]
        assert (row["length"], row["blocks"]) == (int(line["FileSize"]), int(line["BlocksCount"]))
        assert (row["owner"], row["group"]) == (line["UserName"], line["GroupName"])
        assert row["has_acl"] == line["Permission"].endswith("+"), path
        assert (row["type"] == "directory") == line["Permission"].startswith("d")
        assert f"{row['modification_time']:%Y-%m-%d %H:%M}" == line["ModificationTime"], path


@pytest.mark.parametrize("name", IMAGES)
def test_lengths_and_blocks_are_those_of_the_namespace(name: str) -> None:
    with golden(name).open("rb", buffering=0) as file:
        namespace = read_image(file, name)[0]
    expected = {
        inode.path: (
            sum(block.length_bytes for block in inode.blocks),
            [block.block_id for block in inode.blocks],
        )
        for inode in files_of(namespace)
    }
    rows = rows_of(table("howdah.namespace", golden(name).as_uri()))
    found = {
        row["path"]: (row["length"], [block["block_id"] for block in row["block_list"]])
        for row in rows
        if row["type"] == "file"
    }
    assert found == expected


def test_snapshots_are_named_at_their_directories() -> None:
    rows = rows_of(table("howdah.namespace", golden("fsimage_snapshots").as_uri()))
    named = {row["path"]: row["snapshot_names"] for row in rows if row["snapshots"]}
    assert named == {"/s": ["s1", "r3", "a4", "s5", "s6"], "/t": ["t1", "t2"]}


def test_coded_files_take_what_the_namenode_counts() -> None:
    with golden("fsimage_erasure_coding").open("rb", buffering=0) as file:
        namespace = read_image(file, "an image")[0]
    counted = {
        inode.inode_id: namespace.measuring.file_bytes(inode) * inode.replication
        for inode in files_of(namespace)
    }
    rows = rows_of(table("howdah.namespace", golden("fsimage_erasure_coding").as_uri()))
    files = {row["inode_id"]: row for row in rows if row["type"] == "file"}
    assert {inode_id: row["space"] for inode_id, row in files.items()} == counted
    assert "RS-3-2-1024k" in {row["erasure_coding_policy"] for row in files.values()}


@pytest.mark.parametrize("codec", ["", "org.apache.hadoop.io.compress.GzipCodec"])
@pytest.mark.parametrize("most_parts", [1, 3, 100])
def test_parts_have_each_row_once(
    codec: str, most_parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_index, "PART_BYTES", 1)
    namespace = large_namespace()
    image = image_of(namespace, codec)
    _, parts = index_image(ImageReader(io.BytesIO(image), "an image"), most_parts)
    assert len(parts) == 1 if most_parts == 1 else len(parts) > 1
    found = rows_of_image(image, most_parts)
    assert len(found) == 9000 + 30 + 1
    row = found["/d5/file5"]
    expected: Row = {
        "parent": "/d5",
        "name": "file5",
        "depth": 2,
        "owner": "ann",
        "permission": 0o644,
        "replication": 2,
        "length": 5,
        "space": 10,
        "blocks": 1,
        "modification_time": datetime(1970, 1, 1, 0, 0, 0, 7000, tzinfo=UTC),
    }
    assert {name: row[name] for name in expected} == expected
    assert found["/d7/file7"]["block_list"] == []


def test_parts_without_wanted_directories_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_index, "PART_BYTES", 1)
    reader = ImageReader(io.BytesIO(image_of(large_namespace())), "an image")
    _, everything = index_image(reader, 50)
    tree, some = index_image(reader, 50, lambda directory: False)
    # The root, which is in no directory, is always there.
    assert len(some) == 1 < len(everything)
    assert tree.paths[tree.root] == "/"


def test_filters_choose_the_rows_of_an_image(tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(image_of(large_namespace(300)))
    opened = table(
        "howdah.namespace",
        (tmp_path / "image").as_uri(),
        columns="path,length",
        where="path like '/d1/%' and length > 200 and owner = 'ann'",
    )
    found = rows_of(opened)
    assert found == [{"path": f"/d1/file{n}", "length": n} for n in (211, 241, 271)]


@pytest.mark.parametrize("time_ms", [253_402_300_800_000, 1 << 60, (1 << 63) - 1])
def test_a_time_that_no_timestamp_has_is_null(time_ms: int) -> None:
    namespace = large_namespace(3)
    for path in ("/d0", "/d0/file0"):
        namespace.apply(ed.TimesOp(path, time_ms, time_ms))
    found = rows_of_image(image_of(namespace))
    assert found["/d0/file0"]["modification_time"] is None
    assert found["/d0/file0"]["access_time"] is None
    assert found["/d0"]["modification_time"] is None
    assert found["/d1/file1"]["modification_time"] is not None


def test_ids_far_apart_are_found() -> None:
    namespace = Namespace()
    permission = ed.Permission("ann", "staff", 0o755)
    for number in range(3):
        namespace.apply(ed.MkdirOp(20000 + (number << 40), f"/d{number}", 5, permission))
    found = rows_of_image(image_of(namespace))
    assert found.keys() == {"/", "/d0", "/d1", "/d2"}


def test_directories_that_are_in_each_other_have_no_path() -> None:
    tree = DirectoryTree(("", "a", "b", "c"), (-1, 2, 1, 0), 0)
    assert tree.paths == ["/", None, None, "/c/"]
    again = pickle.loads(pickle.dumps(tree))
    assert (again, again.paths) == (tree, tree.paths)


def test_names_that_are_no_utf8_are_shown(tmp_path: Path) -> None:
    namespace = Namespace()
    permission = ed.Permission("ann", "staff", 0o755)
    add = ed.AddOp(20000, "/\ud83d", 2, 5, 6, 1024, permission, "DFSClient_1", "host")
    namespace.apply(add)
    namespace.apply(ed.CloseOp(20000, "/\ud83d", 2, 7, 6, 1024, permission))
    found = rows_of_image(image_of(namespace))
    assert found.keys() == {"/", "/���"}


def test_a_damaged_image_is_refused() -> None:
    image = bytearray(image_of(large_namespace(10)))
    at = image.index(b"file7") - 1
    image[at] = 0x7F
    with pytest.raises(errors.CorruptImage, match="an image"):
        rows_of_image(bytes(image))


def test_an_image_with_fewer_inodes_than_it_says_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("these are no inodes")
    with pytest.raises(errors.IllegalArgument, match="neither a directory nor an image"):
        table("howdah.namespace", (tmp_path / "notes").as_uri()).parts()
