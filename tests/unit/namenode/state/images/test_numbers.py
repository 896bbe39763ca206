"""Numbers wider than Hadoop's own, in images and in logs: damage by its name, and no memory."""

from __future__ import annotations

import io
import random
import tracemalloc
from typing import Any

import pytest

from howdah import errors
from howdah.formats.edits import edits as ed
from howdah.formats.edits.codec import decode_record, encode_record
from howdah.formats.edits.edits import EditBlock
from howdah.formats.image import records as rec
from howdah.formats.image.fsimage import ImageWriter
from howdah.namenode.state.images.image import read_image, write_image
from howdah.namenode.state.inodes.block_events import EditDoesNotFit
from howdah.namenode.state.inodes.directory import INode
from howdah.namenode.state.tree.namespace import Namespace
from howdah.testing.fingerprint import fingerprint

OWNED = ed.Permission("alice", "staff", 0o755)
BLOCK = EditBlock(1073741825, 10, 1001)
WIDE_STAMP = 1 << 60
DIRECTORY = rec.DirectoryRecord(16385, "", "root", "staff", 0o755, 1)


def image(
    *inodes: rec.InodeRecord,
    snapshots: rec.SnapshotsRecord | None = None,
    diffs: list[rec.InodeDiffsRecord] | None = None,
    **counters: int,
) -> bytes:
    told = {"generation_stamp": 1001, "last_block_id": 1073741825, "txid": 9} | counters
    out = io.BytesIO()
    writer = ImageWriter(out)
    writer.namesystem(
        rec.NamesystemRecord(
            77, 1000, told["generation_stamp"], 0, told["last_block_id"], told["txid"]
        )
    )
    writer.erasure_coding(())
    writer.inodes(20000, 1 + len(inodes), [DIRECTORY, *inodes])
    writer.children([rec.ChildrenRecord(16385, [inode.inode_id for inode in inodes])])
    writer.open_files([])
    writer.snapshots(snapshots or rec.SnapshotsRecord(), diffs)
    writer.secrets(rec.SecretsRecord())
    writer.cache(rec.CacheRecord())
    writer.finish()
    return out.getvalue()


def loaded(data: bytes) -> Namespace:
    return read_image(io.BytesIO(data), "fsimage")[0]


def file(number: int = 0, **changed: Any) -> rec.FileRecord:
    block = EditBlock(BLOCK.block_id + number, 10, 1001)
    record = rec.FileRecord(
        16386 + number, f"f{number}", "root", "staff", 0o644, 5, 5, 3, 1024, (block,)
    )
    for name, value in changed.items():
        setattr(record, name, value)
    return record


WIDE: list[dict[str, Any]] = [
    {"replication": 32768},
    {"replication": 534_243_150},
    {"replication": 0xFFFFFFFF},
    {"block_size_bytes": -1},
    {"storage_policy_id": 16},
    {"storage_policy_id": 0xFFFFFFFF},
    {"blocks": (EditBlock(BLOCK.block_id, -1, 1001),)},
    {"blocks": (EditBlock(BLOCK.block_id, 10, -1),)},
    {"blocks": (EditBlock(BLOCK.block_id, 10, WIDE_STAMP),)},
    {"inode_id": 0},
    {"inode_id": (1 << 64) - 1},
]


@pytest.mark.req("FS-023")
@pytest.mark.parametrize("writer", [None, "w"], ids=["in bulk", "alone"])
@pytest.mark.parametrize("wide", WIDE, ids=str)
def test_file_of_an_image_with_a_number_too_wide_is_damage(
    wide: dict[str, Any], writer: str | None
) -> None:
    """A file that nobody writes is read with thousands of others, an open one alone."""
    others = [file(number) for number in range(1, 9)]
    tracemalloc.start()
    try:
        with pytest.raises(errors.CorruptImage, match="image fsimage is damaged"):
            loaded(image(file(writer=writer, **wide), *others))
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "counters",
    [
        {"generation_stamp": WIDE_STAMP},
        {"generation_stamp": -1},
        {"last_block_id": -5},
        {"txid": -1},
    ],
    ids=str,
)
def test_counter_of_an_image_that_is_too_wide_is_damage(counters: dict[str, Any]) -> None:
    with pytest.raises(errors.CorruptImage, match="image fsimage is damaged"):
        loaded(image(**counters))


@pytest.mark.parametrize(
    ("counter", "snapshot_id", "changed"),
    [
        (1, 0, {"size_bytes": (1 << 64) - 1}),
        (1, 0, {"copy": file(replication=40000)}),
        (1, 0, {"copy": file(storage_policy_id=99)}),
        (1, 0, {"blocks": (EditBlock(77, -1, 1),)}),
        (1, 0xFFFFFFFF, {}),
        (0xFFFFFFFD, 0, {}),
        (0x7FFFFFFF, 0, {}),
    ],
)
def test_snapshot_of_an_image_with_a_number_too_wide_is_damage(
    counter: int, snapshot_id: int, changed: dict[str, Any]
) -> None:
    diff = {"size_bytes": 10, "copy": None, "blocks": ()} | changed
    root = rec.DirectoryRecord(16385, "s", "root", "staff", 0o755, 4)
    record = rec.SnapshotsRecord(counter, (16385,), (rec.SnapshotRecord(snapshot_id, root),))
    diffs = [
        rec.InodeDiffsRecord(
            16386,
            False,
            (rec.FileDiffRecord(0, diff["size_bytes"], b"f0", diff["copy"], diff["blocks"]),),
        )
    ]
    with pytest.raises(errors.CorruptImage, match="image fsimage is damaged"):
        loaded(image(file(), snapshots=record, diffs=diffs))


@pytest.mark.parametrize("writer", [None, "w"], ids=["in bulk", "alone"])
def test_most_replicas_that_a_log_can_have_cost_no_memory(writer: str | None) -> None:
    top = rec.DirectoryRecord(16385, "", "root", "staff", 0o755, 1, space_quota_bytes=1 << 50)
    namespace = loaded(image(*(file(n, replication=32767, writer=writer) for n in range(9))))
    namespace.apply(ed.SetQuotaOp("/", -1, top.space_quota_bytes))
    assert namespace.root.quota is not None
    used = namespace.root.quota.used_by_kind_bytes[ed.StorageKind.DISK]
    assert used == namespace.root.quota.used_bytes


def test_bits_of_a_mode_that_no_inode_has_are_passed_over_as_hadoop_does() -> None:
    log = [
        ed.MkdirOp(16386, "/d", 4, ed.Permission("a", "b", -1)),
        ed.SetPermissionsOp("/", -32768 | 0o700),
    ]
    namespace = replayed(log)
    for each in (namespace, loaded(saved(namespace)), loaded(image(file(mode=0xFFFF)))):
        modes = {inode.mode for inode in each.inodes.values()}
        assert all(0 <= mode <= 0o1777 for mode in modes)


def replayed(log: list[ed.Edit]) -> Namespace:
    namespace = Namespace()
    for txid, edit in enumerate(log, 1):
        namespace.apply(decode_record(encode_record(txid, edit)).edit)
    return namespace


def saved(namespace: Namespace) -> bytes:
    out = io.BytesIO()
    write_image(namespace, 77, 9, out)
    return out.getvalue()


def add(**changed: Any) -> ed.AddOp:
    told: dict[str, Any] = {
        "inode_id": 16386,
        "replication": 3,
        "block_size_bytes": 1024,
        "blocks": (),
        **changed,
    }
    policy = told.pop("storage_policy_id", 0)
    return ed.AddOp(
        told["inode_id"],
        "/f",
        told["replication"],
        5,
        5,
        told["block_size_bytes"],
        OWNED,
        "w",
        "10.0.0.1",
        blocks=told["blocks"],
        storage_policy_id=policy,
    )


NEGATIVE = EditBlock(BLOCK.block_id, -1, 1001)
STAMPED = EditBlock(BLOCK.block_id, 10, WIDE_STAMP)


@pytest.mark.req("FS-022")
@pytest.mark.parametrize(
    ("before", "edit"),
    [
        ([], add(replication=-1)),
        ([], add(block_size_bytes=-1)),
        ([], add(storage_policy_id=-1)),
        ([], add(storage_policy_id=16)),
        ([], add(inode_id=0)),
        ([], add(inode_id=-5)),
        ([], add(blocks=(NEGATIVE,))),
        ([], add(blocks=(STAMPED,))),
        ([], ed.MkdirOp(0, "/d", 4, OWNED)),
        ([], ed.SymlinkOp(-1, "/l", "/t", 4, 5, OWNED)),
        ([], ed.SetStoragePolicyOp("/", -1)),
        ([], ed.SetStoragePolicyOp("/", 16)),
        ([], ed.SetGenstampV2Op(WIDE_STAMP)),
        ([], ed.AllocateBlockIdOp(-1)),
        ([add()], ed.AddBlockOp("/f", None, NEGATIVE)),
        ([add()], ed.AddBlockOp("/f", None, STAMPED)),
        ([add(blocks=(BLOCK,))], ed.UpdateBlocksOp("/f", (NEGATIVE,))),
        ([add(blocks=(BLOCK,))], ed.UpdateBlocksOp("/f", (STAMPED,))),
        ([add()], ed.SetReplicationOp("/f", -3)),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, ed.Edit) else "",
)
def test_edit_with_a_number_too_wide_does_not_fit(before: list[ed.Edit], edit: ed.Edit) -> None:
    namespace = replayed(before)
    with pytest.raises(EditDoesNotFit):
        namespace.apply(decode_record(encode_record(9, edit)).edit)


def entry(scope: ed.AclScope, kind: ed.AclKind, permission: int = 7) -> ed.AclEntry:
    return ed.AclEntry(scope, kind, permission)


ACCESS, DEFAULT = ed.AclScope.ACCESS, ed.AclScope.DEFAULT
USER, GROUP, OTHER = ed.AclKind.USER, ed.AclKind.GROUP, ed.AclKind.OTHER
NO_LISTS: list[tuple[ed.AclEntry, ...]] = [
    (entry(DEFAULT, USER),),
    (entry(ACCESS, USER),),
    (entry(ACCESS, USER), entry(ACCESS, OTHER)),
    (entry(ACCESS, OTHER), entry(ACCESS, GROUP), entry(ACCESS, USER)),
    (ed.AclEntry(ACCESS, USER, 7, "bob"), entry(ACCESS, GROUP), entry(ACCESS, OTHER)),
]


@pytest.mark.req("FS-022")
@pytest.mark.parametrize("acl", NO_LISTS, ids=range(len(NO_LISTS)))
@pytest.mark.parametrize("of_new", [False, True], ids=["set", "made with"])
def test_edit_with_an_acl_that_is_no_list_does_not_fit(
    acl: tuple[ed.AclEntry, ...], of_new: bool
) -> None:
    edit = ed.MkdirOp(16386, "/d", 4, OWNED, acl) if of_new else ed.SetAclOp("/", acl)
    with pytest.raises(EditDoesNotFit, match=f"{edit.opcode.name} of {edit.path}: an ACL"):
        replayed([edit])


EVERYTHING: list[ed.Edit] = [
    ed.MkdirOp(16390, "/d", 4, OWNED),
    ed.AllowSnapshotOp("/d"),
    ed.AddOp(16391, "/d/f", 3, 5, 5, 1024, OWNED, "w", "10.0.0.1", blocks=(BLOCK,)),
    ed.CreateSnapshotOp("/d", "s", 7),
    ed.CloseOp(16391, "/d/f", 3, 6, 5, 1024, OWNED, (BLOCK,)),
    ed.SetQuotaOp("/d", 50, 1 << 40),
    ed.SetQuotaByStorageTypeOp("/d", ed.StorageKind.SSD, 1 << 30),
    ed.AppendOp("/d/f", "w", "m"),
    ed.DeleteOp("/d/f", 9),
    ed.SetGenstampV2Op(1005),
]


def test_image_with_any_byte_changed_is_damaged_or_can_be_saved() -> None:
    """It has no checksum within: a sum of it stands beside it, which an operator may make anew."""
    data = saved(replayed(EVERYTHING))
    dice = random.Random(data)
    for _ in range(300):
        changed = bytearray(data)
        changed[dice.randrange(len(data))] = dice.choice(
            [0, 1, 0x7F, 0x80, 0xFF, dice.randrange(256)]
        )
        try:
            namespace = loaded(bytes(changed))
        except (errors.CorruptImage, errors.UnsupportedOperation, errors.IncorrectVersion):
            continue
        saved(namespace)
        assert isinstance(namespace.root, INode)
        fingerprint(namespace)
