"""Snapshots in images: Hadoop's are read, and ours are the same again."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah import errors
from howdah.formats.edits import edits
from howdah.formats.image import records as rec
from howdah.formats.image.fsimage import ImageReader, ImageWriter
from howdah.namenode.state.images.image import read_image, write_image
from howdah.namenode.state.inodes.inodes import Directory, File, INode
from howdah.namenode.state.tree.namespace import Namespace
from howdah.namenode.state.tree.snapshot_views import DotSnapshot

GOLDEN = Path(__file__).parents[3] / "formats" / "golden"


def hadoops_image() -> bytes:
    """Of a namenode that has renamed, cut, appended to, deleted and changed what its
    snapshots show, within their trees, out of them and into them."""
    return (GOLDEN / "fsimage_snapshots").read_bytes()


def loaded(data: bytes) -> Namespace:
    return read_image(io.BytesIO(data), "fsimage")[0]


def lines(namespace: Namespace) -> list[str]:
    """All there is, in the tree and in snapshots, as the golden list has it."""

    def below(directory: Directory) -> Iterator[INode]:
        for name in directory.sorted_names():
            child = directory.child(name)
            assert child is not None
            yield child
            if isinstance(child, Directory):
                yield from below(child)

    found = list(below(namespace.root))
    for root in namespace.snapshots.roots.values():
        found += below(DotSnapshot(namespace, root.directory))
    return sorted(map(line, found), key=str.encode)


def line(inode: INode) -> str:
    length, replication = 0, 0
    if isinstance(inode, File):
        length, replication = inode.length_bytes, inode.replication
    kind = str(isinstance(inode, Directory)).lower()
    return (
        f"{inode.path} {kind} {length} {inode.mode} {inode.owner} {inode.group} "
        f"{replication} {inode.mtime_ms}"
    )


def test_snapshots_of_hadoops_image_show_what_hadoop_shows() -> None:
    expected = (GOLDEN / "fsimage_snapshots.list").read_text("utf-8").splitlines()
    assert lines(loaded(hadoops_image())) == expected


def test_snapshots_come_back_from_our_image() -> None:
    namespace = loaded(hadoops_image())
    out = io.BytesIO()
    write_image(namespace, 77, 9, out)
    assert lines(loaded(out.getvalue())) == lines(namespace)


def test_what_only_snapshots_have_is_kept_while_they_have_it() -> None:
    namespace = loaded(hadoops_image())
    for root in namespace.snapshots.roots.values():
        for snapshot in list(root.snapshots):
            namespace.apply(edits.DeleteSnapshotOp(root.directory.path, snapshot.name, 0))
    while namespace.must_reap:
        namespace.reap(10)
    files = [inode for inode in namespace.inodes.values() if isinstance(inode, File)]
    assert {block_id for file in files for block_id in file.block_ids} == set(namespace.blocks)
    assert all(namespace.is_attached(inode) for inode in namespace.inodes.values())


def damaged(reader: ImageReader, diffs: rec.InodeDiffsRecord) -> bytes:
    out = io.BytesIO()
    writer = ImageWriter(out)
    writer.namesystem(reader.namesystem())
    writer.erasure_coding(())
    inodes = list(reader.inodes())
    writer.inodes(reader.last_inode_id(), len(inodes), inodes)
    writer.children(reader.children())
    writer.open_files(())
    writer.snapshots(reader.snapshots(), [diffs], reader.references())
    writer.secrets(rec.SecretsRecord())
    writer.cache(rec.CacheRecord())
    writer.finish()
    return out.getvalue()


@pytest.mark.parametrize(
    ("diffs", "what"),
    [
        (rec.InodeDiffsRecord(5, True, ()), "inode 5, which is not there"),
        (rec.InodeDiffsRecord(16385, False, ()), "is not what its differences are of"),
        (
            rec.InodeDiffsRecord(16385, True, (rec.DirectoryDiffRecord(99, 0),)),
            r"under the ids \[99\]",
        ),
        (
            rec.InodeDiffsRecord(
                16385, True, (rec.DirectoryDiffRecord(0, 0, created_names=(b"x",)),)
            ),
            "'x' was made",
        ),
        (
            rec.InodeDiffsRecord(
                16385, True, (rec.DirectoryDiffRecord(0, 0, deleted_references=(999,)),)
            ),
            "no reference 999",
        ),
        (
            rec.InodeDiffsRecord(
                16385, True, (rec.DirectoryDiffRecord(0, 0, created_names=(b"\xff",)),)
            ),
            "is not UTF-8",
        ),
    ],
)
def test_differences_that_cannot_be_are_refused(diffs: rec.InodeDiffsRecord, what: str) -> None:
    reader = ImageReader(io.BytesIO(hadoops_image()), "fsimage")
    with pytest.raises(errors.CorruptImage, match=what):
        loaded(damaged(reader, diffs))


@pytest.mark.req("FS-022")
def test_snapshot_of_bytes_that_a_recovery_lost_gets_no_later_block() -> None:
    """The snapshot was made when 10 bytes were synced; a recovery found one of them."""
    namespace = Namespace()
    permission = edits.Permission("alice", "staff", 0o755)
    first = edits.EditBlock(1073741825, 10, 1001)
    for edit in (
        edits.MkdirOp(16386, "/d", 4, permission),
        edits.AllowSnapshotOp("/d"),
        edits.AddOp(16387, "/d/f", 3, 5, 5, 1024, permission, "writer", "10.0.0.1"),
        edits.AddBlockOp("/d/f", None, edits.EditBlock(1073741825, 0, 1001)),
        edits.UpdateBlocksOp("/d/f", (first,)),
        edits.CreateSnapshotOp("/d", "s1", 7),
        edits.UpdateBlocksOp("/d/f", (edits.EditBlock(1073741825, 1, 1002),)),
        edits.AddBlockOp(
            "/d/f",
            edits.EditBlock(1073741825, 1, 1002),
            edits.EditBlock(1073741826, 0, 1003),
        ),
    ):
        namespace.apply(edit)
    out = io.BytesIO()
    write_image(namespace, 77, 8, out)
    for each in (namespace, loaded(out.getvalue())):
        (version,) = each.snapshots.versions[16387]
        assert (version.length_bytes, version.block_ids) == (10, (1073741825,))
