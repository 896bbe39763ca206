"""What Hadoop's logs have that ours have not: they open, or are refused by name."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest

from howdah.formats.edits import edits as ed
from howdah.formats.edits.codec import (
    LAYOUT_VERSION,
    OLDEST_READABLE_LAYOUT_VERSION,
    decode_record,
    encode_record,
)
from howdah.formats.edits.segment_scan import SegmentReader, encode_header
from howdah.formats.image import records as rec
from howdah.formats.image.fsimage import ImageWriter
from howdah.namenode.state.images.image import read_image, write_image
from howdah.namenode.state.inodes.files import File
from howdah.namenode.state.tree.encryption_zones import zone_of
from howdah.namenode.state.tree.namespace import Namespace
from howdah.testing.fingerprint import fingerprint

OWNED = ed.Permission("alice", "staff", 0o755)
MADE: list[ed.Edit] = [
    ed.MkdirOp(16386, "/d", 4, OWNED),
    ed.AllowSnapshotOp("/d"),
    ed.CreateSnapshotOp("/d", "s1", 5),
    ed.CreateSnapshotOp("/d", "s2", 6),
]
ZONE = ed.XAttr(
    ed.XAttrNamespace.RAW, "hdfs.crypto.encryption.zone", b"\x08\x02\x10\x02\x1a\x07payroll"
)
"""As Hadoop 3.5.0 writes it: AES/CTR/NoPadding, version 2, the name of the key."""
REPLICATED = ed.XAttr(
    ed.XAttrNamespace.SYSTEM, "hdfs.erasurecoding.policy", b"\0\0\0\x0breplication"
)


def replayed(log: list[ed.Edit]) -> Namespace:
    namespace = Namespace()
    for txid, edit in enumerate(log, 1):
        namespace.apply(decode_record(encode_record(txid, edit)).edit)
    return namespace


def names(namespace: Namespace) -> list[str]:
    return [snapshot.name for snapshot in namespace.snapshots.all()]


@pytest.mark.req("FS-022")
@pytest.mark.parametrize("again", ["s2", "s2#1"], ids=["by its name", "by the name of the deleted"])
@pytest.mark.parametrize("imaged", [False, True], ids=["log", "image between"])
def test_snapshot_that_hadoop_deletes_in_order_goes_with_the_first_of_two_edits(
    again: str, imaged: bool
) -> None:
    namespace = replayed([*MADE, ed.DeleteSnapshotOp("/d", "s2", 7)])
    assert names(namespace) == ["s1"]
    if imaged:
        out = io.BytesIO()
        write_image(namespace, 77, 9, out)
        namespace, _ = read_image(io.BytesIO(out.getvalue()), "fsimage")
    directory = namespace.find("/d")
    assert directory is not None
    for edit in (ed.DeleteSnapshotOp("/d", "s1", 8), ed.DeleteSnapshotOp("/d", again, 9)):
        namespace.apply(edit)
    assert names(namespace) == []
    assert (namespace.snapshots.count, directory.mtime_ms) == (0, 8)
    namespace.apply(ed.DisallowSnapshotOp("/d"))


def test_a_new_snapshot_may_have_the_name_of_one_that_is_to_be_deleted() -> None:
    log = [
        *MADE,
        ed.DeleteSnapshotOp("/d", "s2", 7),
        ed.CreateSnapshotOp("/d", "s2", 8),
        ed.DeleteSnapshotOp("/d", "s1", 9),
        ed.DeleteSnapshotOp("/d", "s2#1", 10),
    ]
    assert names(replayed(log)) == ["s2"]


def test_a_zone_of_a_log_is_one_here() -> None:
    namespace = replayed([*MADE, ed.SetXAttrOp("/d", (ZONE,))])
    zone = zone_of(namespace.find("/d"))
    assert zone is not None
    assert zone.key_name == "payroll"
    assert namespace.zones


def test_directory_whose_policy_is_replication_is_as_others() -> None:
    """`hdfs ec -setPolicy -replicate` leaves that."""
    directory = replayed([*MADE, ed.SetXAttrOp("/d", (REPLICATED,))]).find("/d")
    assert directory is not None
    assert directory.xattrs == (REPLICATED,)


def test_a_zone_of_an_image_is_one_here() -> None:
    root = rec.DirectoryRecord(16385, "", "root", "staff", 0o755, 1)
    root.xattrs = (ZONE,)
    out = io.BytesIO()
    writer = ImageWriter(out)
    writer.namesystem(rec.NamesystemRecord(77, 1000, 1000, 0, 1073741824, 9))
    writer.erasure_coding(())
    writer.inodes(16386, 1, [root])
    writer.children([])
    writer.open_files([])
    writer.snapshots(rec.SnapshotsRecord())
    writer.secrets(rec.SecretsRecord())
    writer.cache(rec.CacheRecord())
    writer.finish()
    namespace, _ = read_image(io.BytesIO(out.getvalue()), "fsimage")
    zone = zone_of(namespace.root)
    assert zone is not None
    assert zone.key_name == "payroll"
    assert namespace.zones


@pytest.mark.req("FS-022")
@pytest.mark.parametrize("version", range(LAYOUT_VERSION, OLDEST_READABLE_LAYOUT_VERSION + 1))
def test_logs_of_all_layouts_since_hadoop_2_7_are_read(version: int) -> None:
    """3.0 and 3.1 have -64, 3.2 -65, 3.3 -66, 3.4 and 3.5 -67."""
    log = [*MADE[:2], ed.SetQuotaOp("/d", 5, -1), ed.DeleteOp("/d", 6)]
    records = b"".join(encode_record(txid, edit) for txid, edit in enumerate(log, 1))
    source = io.BytesIO(encode_header(version) + records)
    assert [placed.logged.edit for placed in SegmentReader(source, "log", first_txid=1)] == log


OLD, NEW = ed.EditBlock(1073741825, 1000, 1001), ed.EditBlock(1073741826, 600, 1002)
CUT_BY_A_COPY: list[ed.Edit] = [
    ed.RollingUpgradeStartOp(1),
    ed.AddOp(16386, "/f", 3, 5, 5, 1024, OWNED, "w", "10.0.0.1"),
    ed.AddBlockOp("/f", None, ed.EditBlock(OLD.block_id, 0, OLD.generation_stamp)),
    ed.CloseOp(16386, "/f", 3, 6, 5, 1024, OWNED, (OLD,)),
    ed.AllocateBlockIdOp(NEW.block_id),
    ed.SetGenstampV2Op(NEW.generation_stamp),
    ed.TruncateOp("/f", "w", "10.0.0.1", 600, 7, ed.EditBlock(NEW.block_id, 0, 1002)),
]
"""During an upgrade Hadoop cuts no replica in place, though no snapshot has it."""


def imaged(namespace: Namespace) -> Namespace:
    out = io.BytesIO()
    write_image(namespace, 77, 9, out)
    return read_image(io.BytesIO(out.getvalue()), "fsimage")[0]


@pytest.mark.req("FS-022")
@pytest.mark.parametrize("between", [lambda namespace: namespace, imaged], ids=["log", "image"])
def test_file_that_hadoop_cut_during_an_upgrade_gets_a_copy(
    between: Callable[[Namespace], Namespace],
) -> None:
    namespace = between(replayed(CUT_BY_A_COPY))
    file = namespace.find("/f")
    assert isinstance(file, File)
    assert (file.block_ids, file.length_bytes) == ((NEW.block_id,), 600)
    assert file.blocks[-1].truncating
    assert namespace.snapshots.source_of(NEW.block_id) == OLD.block_id
    assert OLD.block_id in namespace.blocks
    assert fingerprint(imaged(namespace)) == fingerprint(namespace)
    namespace.apply(ed.CloseOp(16386, "/f", 3, 8, 5, 1024, OWNED, (NEW,)))
    assert OLD.block_id not in namespace.blocks
    assert not namespace.snapshots.copies
    assert file.writer is None
    assert fingerprint(imaged(namespace)) == fingerprint(namespace)


def test_block_that_a_copy_was_to_be_made_of_goes_with_its_file() -> None:
    namespace = replayed([*CUT_BY_A_COPY, ed.DeleteOp("/f", 8)])
    namespace.reap(10)
    assert not len(namespace.blocks)
    assert not namespace.snapshots.copies


@pytest.mark.req("FS-022")
@pytest.mark.parametrize("space", [-1, 1 << 40], ids=["taken away", "of space"])
def test_bound_on_names_that_hadoops_root_always_has_is_none(space: int) -> None:
    """Hadoop logs the greatest number for the root's names with each of its other quotas."""
    namespace = replayed(
        [ed.SetQuotaOp("/", 100, 1 << 40), ed.SetQuotaOp("/", ed.KEEP_QUOTA, space)]
    )
    assert fingerprint(imaged(namespace)) == fingerprint(namespace)
    quota = namespace.root.quota
    assert (-1 if quota is None else quota.namespace) == -1
    assert bool(namespace.tally.directories) == (space > 0)
