"""Our edit log, read and written by Hadoop's own classes (`hdfs oev`)."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

import pytest

from howdah.cli.main import main
from howdah.formats.edits import edits as ed
from howdah.formats.edits.cache_edits import (
    AddCacheDirectiveOp,
    AddCachePoolOp,
    ModifyCacheDirectiveOp,
    ModifyCachePoolOp,
    RemoveCacheDirectiveOp,
    RemoveCachePoolOp,
)
from howdah.formats.edits.codec import BODIES, encode_record
from howdah.storage.segments import Segment, SegmentWriter, read_segment

pytestmark = pytest.mark.timeout(700)


class _Ids(TypedDict):
    rpc_client_id: bytes
    rpc_call_id: int


class _File(TypedDict):
    inode_id: int
    path: str
    replication: int
    mtime_ms: int
    atime_ms: int
    block_size_bytes: int
    permission: ed.Permission


IDS: _Ids = {"rpc_client_id": bytes(range(16)), "rpc_call_id": 12}
ODD = "/é\u6f22\U0001f600/ & <b>"
OWNED = ed.Permission("zoë", "staff", 0o1755)
BLOCKS = (
    ed.EditBlock(1073741825, 134217728, 1001),
    ed.EditBlock(1073741826, 134217728, 1002),
    ed.EditBlock(1073741830, 17, 1009),
)
TOKEN = ed.DelegationTokenIdentifier(
    "zoë@EXAMPLE.COM", "yarn", "", 1795829571483, 1796434371483, 3, 8
)
ACL = (
    ed.AclEntry(ed.AclScope.ACCESS, ed.AclKind.USER, 7),
    ed.AclEntry(ed.AclScope.ACCESS, ed.AclKind.USER, 5, "bob"),
    ed.AclEntry(ed.AclScope.ACCESS, ed.AclKind.GROUP, 4),
    ed.AclEntry(ed.AclScope.ACCESS, ed.AclKind.MASK, 6),
    ed.AclEntry(ed.AclScope.ACCESS, ed.AclKind.OTHER, 0),
    ed.AclEntry(ed.AclScope.DEFAULT, ed.AclKind.GROUP, 3, "zoë"),
)
XATTRS = (
    ed.XAttr(ed.XAttrNamespace.USER, "colour", b"\x00\xffblue"),
    ed.XAttr(ed.XAttrNamespace.RAW, "empty", b""),
    ed.XAttr(ed.XAttrNamespace.SYSTEM, "long", b"x" * 300),
)
FILE = _File(
    inode_id=16387,
    path=ODD,
    replication=3,
    mtime_ms=1795219821354,
    atime_ms=1795219821355,
    block_size_bytes=134217728,
    permission=OWNED,
)

EDITS: list[ed.Edit] = [
    ed.StartLogSegmentOp(),
    ed.MkdirOp(16386, "/d", 1795219820219, OWNED),
    ed.MkdirOp(16386, ODD, 1795219820219, OWNED, ACL, XATTRS),
    ed.AddOp(**FILE, client_name="DFSClient_1", client_machine="10.0.0.1", **IDS),
    ed.AddOp(
        **FILE,
        client_name="DFSClient_1",
        client_machine="",
        blocks=BLOCKS,
        overwrite=True,
        erasure_coding_policy_id=1,
        acl=ACL,
    ),
    ed.AllocateBlockIdOp(1073741825),
    ed.SetGenstampV1Op(1000),
    ed.SetGenstampV2Op(1001),
    ed.AddBlockOp(ODD, None, BLOCKS[0]),
    ed.AddBlockOp(ODD, BLOCKS[0], BLOCKS[2], **IDS),
    ed.UpdateBlocksOp(ODD, BLOCKS, **IDS),
    ed.UpdateBlocksOp(ODD, ()),
    ed.CloseOp(**FILE, blocks=BLOCKS),
    ed.CloseOp(**FILE),
    ed.AppendOp(ODD, "DFSClient_1", "10.0.0.1", True, **IDS),
    ed.AppendOp(ODD, "DFSClient_1", "10.0.0.1", False, **IDS),
    ed.TruncateOp(ODD, "DFSClient_1", "10.0.0.1", 134217728, 1795219821354),
    ed.ReassignLeaseOp("DFSClient_1", ODD, "HDFS_NameNode-2"),
    ed.ConcatDeleteOp("/a", ("/b", ODD), 1795219821354, **IDS),
    ed.RenameOldOp("/a", ODD, 1795219821354, **IDS),
    ed.RenameOp("/a", ODD, 1795219821354, (ed.RenameFlag.OVERWRITE,), **IDS),
    ed.RenameOp("/a", ODD, 1795219821354, (ed.RenameFlag.NONE, ed.RenameFlag.TO_TRASH), **IDS),
    ed.SymlinkOp(16399, "/link", ODD, 1, 2, OWNED, **IDS),
    ed.SetReplicationOp(ODD, 2),
    ed.SetPermissionsOp(ODD, 0o1777),
    ed.SetOwnerOp(ODD, "al", "users"),
    ed.SetOwnerOp(ODD, None, "users"),
    ed.TimesOp(ODD, 1795219821354, -1),
    ed.SetQuotaOp(ODD, 1000, ed.KEEP_QUOTA),
    ed.SetQuotaOp(ODD, -1, -1),
    ed.SetQuotaByStorageTypeOp(ODD, ed.StorageKind.NVDIMM, 1 << 40),
    ed.SetStoragePolicyOp(ODD, 12),
    ed.SetAclOp(ODD, ACL),
    ed.SetAclOp(ODD, ()),
    ed.SetXAttrOp(ODD, XATTRS, **IDS),
    ed.RemoveXAttrOp(ODD, (ed.XAttr(ed.XAttrNamespace.USER, "colour"),), **IDS),
    ed.AllowSnapshotOp(ODD),
    ed.CreateSnapshotOp(ODD, "s1", 1795219821354, **IDS),
    ed.RenameSnapshotOp(ODD, "s1", "s2", 1795219821354, **IDS),
    ed.DeleteSnapshotOp(ODD, "s2", 1795219821354, **IDS),
    ed.DisallowSnapshotOp(ODD),
    AddCachePoolOp("pé <1>", "zoë", "staff", 0o755, 1 << 40, 1 << 61, 2, **IDS),
    ModifyCachePoolOp("p", None, None, 0o1700, None, 3600_000, None, **IDS),
    AddCacheDirectiveOp(7, ODD, 3, "p", 1795219821354, **IDS),
    ModifyCacheDirectiveOp(7, None, 2, None, None, **IDS),
    RemoveCacheDirectiveOp(7, **IDS),
    RemoveCachePoolOp("p", **IDS),
    ed.RollingUpgradeStartOp(1795219821354),
    ed.RollingUpgradeFinalizeOp(1795219821354),
    ed.AddErasureCodingPolicyOp("rs", 4, 2, 65536, (("extra", "fóo"),), **IDS),
    ed.AddErasureCodingPolicyOp("xor", 2, 1, 131072, **IDS),
    ed.EnableErasureCodingPolicyOp("RS-4-2-64k", **IDS),
    ed.DisableErasureCodingPolicyOp("RS-4-2-64k", **IDS),
    ed.RemoveErasureCodingPolicyOp("RS-4-2-64k", **IDS),
    ed.UpdateMasterKeyOp(ed.DelegationKey(1, 1795219821354, bytes.fromhex("6e6475f21d40b9aa"))),
    ed.GetDelegationTokenOp(TOKEN, 1795219821354),
    ed.RenewDelegationTokenOp(TOKEN, 1795219821355),
    ed.CancelDelegationTokenOp(TOKEN),
    ed.DeleteOp(ODD, 1795219821354, **IDS),
    ed.EndLogSegmentOp(),
]
# Hadoop writes and reads these, but its XML leaves something out.
NOT_IN_XML: list[ed.Edit] = [
    ed.TruncateOp("/a", "DFSClient_1", "10.0.0.1", 5, 6, BLOCKS[2]),
    ed.AddOp(
        **FILE, client_name="c", client_machine="m", storage_policy_id=7, xattrs=XATTRS, **IDS
    ),
]


def _segment(directory: Path, edits: list[ed.Edit], first_txid: int = 1) -> Path:
    writer = SegmentWriter(directory, first_txid)
    for txid, edit in enumerate(edits, first_txid):
        writer.append(encode_record(txid, edit))
    return writer.finalize(first_txid + len(edits) - 1)


def test_every_kind_of_edit_is_shown_to_hadoop() -> None:
    assert {type(edit) for edit in EDITS} == set(BODIES)


def test_hadoop_reads_our_segment_and_writes_the_same_bytes(
    hadoop_tools: Callable[..., None], tmp_path: Path
) -> None:
    ours = _segment(tmp_path, [*EDITS, *NOT_IN_XML])
    theirs = tmp_path / "theirs"
    hadoop_tools("rewrite", ours, theirs)
    assert theirs.read_bytes() == ours.read_bytes()


def test_our_segment_becomes_the_same_bytes_again_by_way_of_xml(
    hadoop_tools: Callable[..., None], tmp_path: Path
) -> None:
    ours = _segment(tmp_path, EDITS)
    xml, theirs = tmp_path / "edits.xml", tmp_path / "theirs"
    hadoop_tools("oev", "-p", "xml", "-i", ours, "-o", xml)
    hadoop_tools("oev", "-p", "binary", "-i", xml, "-o", theirs)
    assert theirs.read_bytes() == ours.read_bytes()


def test_hadoop_understands_our_fields_as_we_mean_them(
    hadoop_tools: Callable[..., None], tmp_path: Path
) -> None:
    ours = _segment(tmp_path, EDITS)
    xml = tmp_path / "edits.xml"
    hadoop_tools("oev", "-p", "xml", "-i", ours, "-o", xml)
    records = ET.parse(xml).getroot().findall("RECORD")
    assert [record.findtext("OPCODE") for record in records] == [edit.opcode.name for edit in EDITS]
    assert [int(record.findtext("DATA/TXID", "")) for record in records] == list(
        range(1, len(EDITS) + 1)
    )
    added = records[4].find("DATA")
    assert added is not None
    assert added.findtext("PATH") == ODD
    assert added.findtext("REPLICATION") == "3"
    assert added.findtext("MTIME") == "1795219821354"
    assert added.findtext("ATIME") == "1795219821355"
    assert added.findtext("CLIENT_NAME") == "DFSClient_1"
    assert added.findtext("PERMISSION_STATUS/USERNAME") == "zoë"
    assert added.findtext("PERMISSION_STATUS/MODE") == str(0o1755)
    assert [block.findtext("NUM_BYTES") for block in added.findall("BLOCK")] == [
        "134217728",
        "134217728",
        "17",
    ]


def test_hadoop_reads_a_segment_that_is_still_being_written(
    hadoop_tools: Callable[..., None], tmp_path: Path
) -> None:
    writer = SegmentWriter(tmp_path, 1)
    writer.append(encode_record(1, ed.StartLogSegmentOp()) + encode_record(2, EDITS[1]))
    writer.sync()
    xml = tmp_path / "edits.xml"
    hadoop_tools("oev", "-p", "xml", "-i", writer.path, "-o", xml)
    assert len(ET.parse(xml).getroot().findall("RECORD")) == 2


def test_we_read_what_hadoop_wrote_from_xml(
    hadoop_tools: Callable[..., None], tmp_path: Path
) -> None:
    ours = _segment(tmp_path, EDITS)
    xml, theirs = tmp_path / "edits.xml", tmp_path / "theirs"
    hadoop_tools("oev", "-p", "xml", "-i", ours, "-o", xml)
    hadoop_tools("oev", "-p", "binary", "-i", xml, "-o", theirs)
    read = read_segment(Segment(1, len(EDITS), theirs))
    assert [placed.logged.edit for placed in read] == EDITS


# `howdah oev` and `hdfs oev` on the same file.

TROUBLE = "/ctl\x01\x7f\x85\ud800\ufffe\u2028\n\t\r\"'\\u>;]]>"


def oev(*arguments: str | Path) -> int:
    return main(["oev", *map(str, arguments)])


def test_both_viewers_show_the_same_xml(hadoop_tools: Callable[..., None], tmp_path: Path) -> None:
    trouble = ed.MkdirOp(16390, TROUBLE, 1, ed.Permission("a", "b", 0o755))
    log = _segment(tmp_path, [*EDITS, *NOT_IN_XML, trouble])
    hadoop_tools("oev", "-i", log, "-o", tmp_path / "theirs")
    assert oev("-i", log, "-o", tmp_path / "ours") == 0
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


def test_both_viewers_count_the_same(hadoop_tools: Callable[..., None], tmp_path: Path) -> None:
    log = _segment(tmp_path, [*EDITS, *NOT_IN_XML])
    hadoop_tools("oev", "-p", "stats", "-i", log, "-o", tmp_path / "theirs")
    assert oev("-p", "stats", "-i", log, "-o", tmp_path / "ours") == 0
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


def test_both_viewers_make_the_same_log_from_xml(
    hadoop_tools: Callable[..., None], tmp_path: Path
) -> None:
    log = _segment(tmp_path, EDITS, first_txid=7)
    xml = tmp_path / "edits.xml"
    assert oev("-i", log, "-o", xml, "-f") == 0
    hadoop_tools("oev", "-p", "binary", "-i", xml, "-o", tmp_path / "theirs")
    assert oev("-p", "binary", "-i", xml, "-o", tmp_path / "ours") == 0
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
    assert (tmp_path / "ours").read_bytes() == log.read_bytes()
