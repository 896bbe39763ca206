"""The namespace comes back from its image as a replay of the log would make it."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howdah import errors
from howdah.formats.edits import edits as ed
from howdah.formats.edits.edits import EditBlock
from howdah.formats.image import columns as image_columns
from howdah.formats.image import records as rec
from howdah.formats.image.fsimage import ImageWriter
from howdah.namenode.state.images import rows
from howdah.namenode.state.images.image import read_image, write_image
from howdah.namenode.state.inodes import row_table
from howdah.namenode.state.inodes.inodes import BlockState, Directory, File, Symlink
from howdah.namenode.state.tree.namespace import Namespace
from howdah.testing.fingerprint import fingerprint

GOLDEN = Path(__file__).parents[3] / "formats" / "golden"
ACL = (
    ed.AclEntry(ed.AclScope.ACCESS, ed.AclKind.USER, 7),
    ed.AclEntry(ed.AclScope.ACCESS, ed.AclKind.USER, 5, "bob"),
    ed.AclEntry(ed.AclScope.ACCESS, ed.AclKind.GROUP, 5),
    ed.AclEntry(ed.AclScope.ACCESS, ed.AclKind.MASK, 7),
    ed.AclEntry(ed.AclScope.ACCESS, ed.AclKind.OTHER, 0),
)
OWNED = ed.Permission("alice", "staff", 0o750)


def saved(namespace: Namespace, txid: int = 9, **how: Any) -> bytes:
    out = io.BytesIO()
    write_image(namespace, 77, txid, out, **how)
    return out.getvalue()


def loaded(data: bytes) -> Namespace:
    return read_image(io.BytesIO(data), "fsimage")[0]


def facts(namespace: Namespace) -> Any:
    """Everything that the log decides."""

    def one(inode: Any) -> Any:
        common = (inode.path, inode.owner, inode.group, inode.mode, inode.mtime_ms)
        if isinstance(inode, File):
            blocks = [
                (b.block_id, b.length_bytes, b.generation_stamp, b.truncating) for b in inode.blocks
            ]
            return (
                *common,
                inode.atime_ms,
                inode.replication,
                inode.block_size_bytes,
                inode.writer,
                inode.writer_machine,
                blocks,
                namespace.leases.holder_of(inode.inode_id),
            )
        if isinstance(inode, Symlink):
            return (*common, inode.atime_ms, inode.target)
        assert isinstance(inode, Directory)
        return (*common, inode.sorted_names())

    return (
        {inode_id: one(inode) for inode_id, inode in namespace.inodes.items()},
        sorted(namespace.blocks),
        namespace.last_inode_id,
        namespace.last_block_id,
        namespace.generation_stamp,
    )


def file_edits(
    inode_id: int, path: str, blocks: tuple[EditBlock, ...], *, closed: bool
) -> list[ed.Edit]:
    add = ed.AddOp(inode_id, path, 3, 5, 5, 1024, OWNED, "DFSClient_1", "10.0.0.1", blocks=blocks)
    close = ed.CloseOp(inode_id, path, 3, 6, 5, 1024, OWNED, blocks)
    return [add, close] if closed else [add]


@st.composite
def logs(draw: st.DrawFn) -> list[ed.Edit]:
    """Edits that make a random tree, with files open and closed."""
    made: list[ed.Edit] = [ed.SetOwnerOp("/", "root", "supergroup")]
    directories = [""]
    inode_id, block_id = 16386, 1073741825
    names = draw(st.lists(st.text(min_size=1, max_size=6), max_size=12, unique=True))
    for name in names:
        if "/" in name or name in (".", ".."):
            continue
        path = f"{draw(st.sampled_from(directories))}/{name}"
        kind = draw(st.sampled_from("dflo"))
        if kind == "d":
            made.append(ed.MkdirOp(inode_id, path, 4, OWNED))
            directories.append(path)
        elif kind == "l":
            made.append(ed.SymlinkOp(inode_id, path, "/target", 4, 5, OWNED))
        else:
            lengths = draw(st.lists(st.integers(0, 1024), max_size=3))
            blocks = tuple(
                EditBlock(block_id + n, length, 1001) for n, length in enumerate(lengths)
            )
            block_id += len(lengths)
            made += file_edits(inode_id, path, blocks, closed=kind == "f")
        inode_id += 1
    if draw(st.booleans()) and len(directories) > 1:
        made.append(ed.DeleteOp(directories[1], 8))
    return [*made, ed.AllocateBlockIdOp(block_id), ed.SetGenstampV2Op(1002)]


def replayed(log: list[ed.Edit]) -> Namespace:
    namespace = Namespace()
    for edit in log:
        namespace.apply(edit)
    return namespace


@pytest.mark.req("FS-023")
@settings(max_examples=150)
@given(logs())
def test_a_namespace_comes_back_from_its_image(log: list[ed.Edit]) -> None:
    namespace = replayed(log)
    data = saved(namespace)
    while namespace.must_reap:
        namespace.reap(100)
    assert facts(loaded(data)) == facts(namespace)


@given(logs())
def test_an_image_is_the_same_without_the_kernel(log: list[ed.Edit]) -> None:
    namespace = replayed(log)
    data = saved(namespace)
    with pytest.MonkeyPatch.context() as patch:
        for module in (rows, image_columns, row_table):
            patch.setattr(module, "kernel", lambda: None)
        assert saved(namespace) == data


def test_a_cut_that_is_not_done_is_remembered() -> None:
    block = EditBlock(1073741825, 1000, 1001)
    namespace = replayed(file_edits(16386, "/f", (block,), closed=True))
    cut = EditBlock(1073741825, 1000, 1002)
    namespace.apply(ed.TruncateOp("/f", "DFSClient_1", "", 600, 7, cut))
    file = loaded(saved(namespace)).find("/f")
    assert isinstance(file, File)
    assert file.blocks[-1].truncating


FIRST, SECOND, THIRD = (EditBlock(1073741825 + n, 1024, 1001 + n) for n in range(3))
HALF = EditBlock(FIRST.block_id, 512, FIRST.generation_stamp)


def opened(*blocks: EditBlock) -> list[ed.Edit]:
    """A new file gets these blocks, one after the other."""
    made = file_edits(16386, "/f", (), closed=False)
    for before, new in zip((None, *blocks), blocks, strict=False):
        made.append(ed.AddBlockOp("/f", before, EditBlock(new.block_id, 0, new.generation_stamp)))
    return made


def closed(*blocks: EditBlock) -> list[ed.Edit]:
    return [*opened(*blocks), ed.CloseOp(16386, "/f", 3, 6, 5, 1024, OWNED, blocks)]


APPENDED = ed.AppendOp("/f", "DFSClient_2", "10.0.0.2")
AS_NEW_BLOCK = ed.AppendOp("/f", "DFSClient_2", "10.0.0.2", True)
IN_A_SNAPSHOT: list[ed.Edit] = [ed.AllowSnapshotOp("/"), ed.CreateSnapshotOp("/", "s", 7)]


@pytest.mark.req("FS-023")
@pytest.mark.parametrize(
    ("log", "states"),
    [
        ([*closed(FIRST), APPENDED], "COMPLETE"),
        ([*closed(HALF), AS_NEW_BLOCK], "COMPLETE"),
        ([*closed(HALF), APPENDED], "UNDER_CONSTRUCTION"),
        ([*closed(FIRST, SECOND, THIRD), APPENDED], "COMPLETE COMPLETE COMPLETE"),
        (
            [*closed(FIRST), APPENDED, ed.AddBlockOp("/f", FIRST, SECOND)],
            "COMPLETE UNDER_CONSTRUCTION",
        ),
        (
            [
                *closed(FIRST),
                APPENDED,
                ed.AddBlockOp("/f", FIRST, SECOND),
                ed.AddBlockOp("/f", SECOND, THIRD),
            ],
            "COMPLETE COMMITTED UNDER_CONSTRUCTION",
        ),
        (
            [
                *closed(FIRST),
                APPENDED,
                ed.AddBlockOp("/f", FIRST, SECOND),
                ed.AddBlockOp("/f", SECOND, THIRD),
                ed.UpdateBlocksOp("/f", (FIRST, SECOND)),
            ],
            "COMPLETE COMMITTED",
        ),
        ([*opened(FIRST, SECOND), ed.UpdateBlocksOp("/f", (FIRST,))], "COMMITTED"),
        ([*opened(FIRST), ed.UpdateBlocksOp("/f", (FIRST,))], "UNDER_CONSTRUCTION"),
        (
            [*opened(FIRST), ed.UpdateBlocksOp("/f", (FIRST, SECOND))],
            "COMMITTED UNDER_CONSTRUCTION",
        ),
        (file_edits(16386, "/f", (FIRST, SECOND), closed=False), "COMMITTED UNDER_CONSTRUCTION"),
        (
            [*closed(FIRST, SECOND), ed.TruncateOp("/f", "DFSClient_2", "", 1600, 7, SECOND)],
            "COMPLETE UNDER_CONSTRUCTION",
        ),
        (
            [
                *opened(FIRST),
                ed.UpdateBlocksOp("/f", (HALF,)),
                *IN_A_SNAPSHOT,
                ed.UpdateBlocksOp("/f", ()),
            ],
            "COMPLETE",
        ),
        (
            [
                *opened(FIRST, SECOND),
                ed.UpdateBlocksOp("/f", (FIRST,)),
                *IN_A_SNAPSHOT,
                ed.DeleteOp("/f", 8),
            ],
            "COMMITTED",
        ),
        ([*closed(FIRST), *IN_A_SNAPSHOT, APPENDED, ed.DeleteOp("/f", 8)], "COMPLETE"),
    ],
)
def test_blocks_have_the_states_after_an_image_that_they_have_after_the_log(
    log: list[ed.Edit], states: str
) -> None:
    namespace = replayed(log)
    again = loaded(saved(namespace))
    for each in (namespace, again, loaded(saved(again))):
        assert [block.state.name for block in each.blocks.values()] == states.split()


def test_block_that_reports_completed_comes_back_as_the_log_has_it() -> None:
    """The image of a namenode that heard of replicas, and one of a replay, are the same."""
    namespace = replayed(opened(FIRST, SECOND))
    before = saved(namespace)
    namespace.blocks[FIRST.block_id].complete_by_reports()
    assert saved(namespace) == before
    assert loaded(before).blocks[FIRST.block_id].state is BlockState.COMMITTED


def test_states_of_blocks_in_an_image_that_has_none_are_those_of_hadoops_loader() -> None:
    record = rec.FileRecord(16386, "f", "root", "staff", 0o644, 5, 5, 3, 1024, (FIRST, SECOND))
    record.writer = "DFSClient_1"
    children = rec.ChildrenRecord(16385, [16386])
    namespace = loaded(
        image_of([rec.DirectoryRecord(16385, "", "r", "g", 0o755, 1), record], [children])
    )
    assert [block.state for block in namespace.blocks.values()] == [
        BlockState.COMMITTED,
        BlockState.UNDER_CONSTRUCTION,
    ]


def test_more_complete_blocks_than_there_are_make_a_damaged_image() -> None:
    record = rec.FileRecord(16386, "f", "root", "staff", 0o644, 5, 5, 3, 1024, (FIRST,))
    record.writer, record.complete_blocks = "DFSClient_1", 2
    with pytest.raises(errors.CorruptImage, match="2 complete blocks of 1"):
        loaded(image_of([record], []))


@pytest.mark.parametrize("path", ["/", "/d"])
def test_access_time_of_a_directory_comes_back(path: str) -> None:
    log: list[ed.Edit] = [
        ed.MkdirOp(16386, "/d", 4, OWNED),
        *IN_A_SNAPSHOT,
        ed.TimesOp(path, -1, 1234),
        ed.CreateSnapshotOp("/", "t", 9),
        ed.TimesOp(path, -1, 5678),
    ]
    namespace = replayed(log)
    assert fingerprint(loaded(saved(namespace))) == fingerprint(namespace)
    found = loaded(saved(namespace)).find(path)
    assert isinstance(found, Directory)
    assert found.atime_ms == 5678


def test_deleted_inodes_that_are_not_reaped_are_in_no_image() -> None:
    namespace = replayed([ed.MkdirOp(16386, "/d", 4, OWNED), ed.MkdirOp(16387, "/d/e", 4, OWNED)])
    namespace.apply(ed.DeleteOp("/d", 5))
    assert set(loaded(saved(namespace)).inodes) == {16385}


def test_writing_can_be_given_up() -> None:
    class Enough(Exception):
        pass

    def give_up() -> None:
        raise Enough

    with pytest.raises(Enough):
        saved(Namespace(), go_on=give_up)


def test_hadoops_image_is_loaded() -> None:
    namespace = loaded((GOLDEN / "fsimage_plain").read_bytes())
    file = namespace.find("/user/alice/docs/three-blocks")
    assert isinstance(file, File)
    assert file.length_bytes == 2500


def test_writers_of_hadoops_image_hold_their_leases() -> None:
    namespace = loaded((GOLDEN / "fsimage_plain").read_bytes())
    assert namespace.leases.open_files == 2


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda inodes, children: inodes.append(inodes[-1]), "inode 16386 twice"),
        (lambda inodes, children: children.clear(), "in no directory"),
        (lambda inodes, children: children.append(children[0]), "in two directories"),
        (lambda inodes, children: children[0].children.append(5), "child 5 of directory"),
        (lambda inodes, children: setattr(children[0], "parent_id", 9), "is no directory"),
        (lambda inodes, children: setattr(inodes[-1], "name", "a/b"), "the name 'a/b'"),
        (lambda inodes, children: setattr(children[0], "parent_id", 16386), "under the root"),
    ],
)
def test_an_image_that_contradicts_itself_is_refused(
    change: Callable[[list[Any], list[Any]], None], what: str
) -> None:
    inodes: list[Any] = [
        rec.DirectoryRecord(16385, "", "root", "supergroup", 0o755, 5),
        rec.DirectoryRecord(16386, "d", "root", "supergroup", 0o755, 5),
    ]
    children = [rec.ChildrenRecord(16385, [16386])]
    change(inodes, children)
    with pytest.raises(errors.CorruptImage, match=what):
        loaded(image_of(inodes, children))


def image_of(
    inodes: list[rec.InodeRecord],
    children: list[rec.ChildrenRecord],
    snapshots: rec.SnapshotsRecord | None = None,
) -> bytes:
    out = io.BytesIO()
    writer = ImageWriter(out)
    writer.namesystem(rec.NamesystemRecord(77, 1000, 1000, 0, 1073741824, 9))
    writer.erasure_coding(())
    writer.inodes(16386, len(inodes), inodes)
    writer.children(children)
    writer.open_files([])
    writer.snapshots(snapshots or rec.SnapshotsRecord())
    writer.secrets(rec.SecretsRecord())
    writer.cache(rec.CacheRecord())
    writer.finish()
    return out.getvalue()


def test_snapshots_that_cannot_be_are_refused() -> None:
    root = rec.DirectoryRecord(16385, "s1", "root", "staff", 0o755, 4)
    gone = rec.DirectoryRecord(16386, "s1", "root", "staff", 0o755, 4)
    for record in (
        rec.SnapshotsRecord(1, (16386,), (rec.SnapshotRecord(0, gone),)),
        rec.SnapshotsRecord(1, (), (rec.SnapshotRecord(0, root),)),
        rec.SnapshotsRecord(1, (16385,), (rec.SnapshotRecord(1, root),)),
        rec.SnapshotsRecord(2, (16385,), (rec.SnapshotRecord(1, root),) * 2),
    ):
        with pytest.raises(errors.CorruptImage, match="snap"):
            loaded(image_of([], [], record))


def test_quotas_and_attributes_come_back() -> None:
    log: list[ed.Edit] = [
        ed.MkdirOp(16386, "/d", 4, OWNED),
        *file_edits(16387, "/d/f", (EditBlock(1073741825, 10, 1001),), closed=True),
        ed.SetQuotaOp("/d", 5, 1 << 40),
        ed.SetQuotaOp("/", 100, -1),
        ed.SetStoragePolicyOp("/d", 2),
        ed.SetXAttrOp("/d", (ed.XAttr(ed.XAttrNamespace.USER, "colour", b"blue"),)),
        ed.SetAclOp("/d", ACL),
    ]
    namespace = replayed(log)
    fresh = loaded(saved(namespace))

    def optional(of: Namespace) -> Any:
        return [
            (inode.acl, inode.xattrs, inode.storage_policy_id, inode.quota)
            for path in ("/", "/d")
            if isinstance(inode := of.find(path), Directory)
        ]

    assert optional(fresh) == optional(namespace)
