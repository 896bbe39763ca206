"""What the tree has no more, and a snapshot shows: its root, its policy and its name."""

from __future__ import annotations

import logging

import pytest

from howdah.namenode.service.block_log import ClusterLog
from howdah.namenode.service.calls.metasave import metasave
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.service.fsck.block_ids import describe_blocks
from howdah.namenode.service.fsck.options import Options
from howdah.namenode.state.inodes.inodes import Directory
from howdah.namenode.state.snapshots.snapshots import Snapshottable
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.testing.fingerprint import check_consistent, fingerprint
from howdah.testing.in_memory import InMemoryNamenode, reloaded, replayed

MODE = types_pb2.FsPermissionProto(perm=0o755)
CLIENT = "DFSClient_only"


def started(nodes: int = 1, kind: types_pb2.StorageTypeProto = types_pb2.DISK) -> InMemoryNamenode:
    namenode = InMemoryNamenode(Settings("", min_block_size_bytes=512, block_size_bytes=1024))
    for number in range(nodes):
        namenode.join(f"dn{number}", kind=kind)
    return namenode


def mkdirs(namenode: InMemoryNamenode, *paths: str) -> None:
    for path in paths:
        namenode.call("mkdirs", pb.MkdirsRequestProto(src=path, masked=MODE, createParent=True))


def write(namenode: InMemoryNamenode, path: str, replication: int = 1) -> tuple[int, set[str]]:
    """A file of one block, and the datanodes that have it."""
    namenode.call(
        "create",
        pb.CreateRequestProto(
            src=path,
            masked=MODE,
            clientName=CLIENT,
            createFlag=1,
            createParent=True,
            replication=replication,
            blockSize=1024,
        ),
    )
    answer = namenode.call("addBlock", pb.AddBlockRequestProto(src=path, clientName=CLIENT))
    assert isinstance(answer, pb.AddBlockResponseProto)
    block = answer.block.b
    holders = {place.id.datanodeUuid for place in answer.block.locs}
    for node in namenode.nodes:
        if node.uuid in holders:
            node.store(block.blockId, block.generationStamp, 300)
    block.numBytes = 300
    namenode.call("complete", pb.CompleteRequestProto(src=path, clientName=CLIENT, last=block))
    return block.blockId, holders


def snapshot(namenode: InMemoryNamenode, path: str, name: str = "s1") -> None:
    namenode.call("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot=path))
    request = pb.CreateSnapshotRequestProto(snapshotRoot=path, snapshotName=name)
    namenode.call("createSnapshot", request)


def delete(namenode: InMemoryNamenode, path: str) -> None:
    namenode.call("delete", pb.DeleteRequestProto(src=path, recursive=True))


@pytest.mark.parametrize("deleted", ["/b/d", "/b"])
def test_a_snapshottable_directory_that_was_moved_and_deleted_is_none_any_more(
    deleted: str,
) -> None:
    namenode = started()
    mkdirs(namenode, "/a/d/e", "/b")
    block_id, _ = write(namenode, "/a/d/f")
    snapshot(namenode, "/a")
    namenode.call("rename", pb.RenameRequestProto(src="/a/d", dst="/b/d"))
    namenode.call("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot="/b/d"))
    delete(namenode, deleted)
    namesystem = namenode.namesystem
    for step in ("shown", "gone"):
        assert [root.directory.path for root in namesystem.namespace.snapshots.roots.values()] == [
            "/a"
        ]
        for other in (reloaded(namesystem.namespace), replayed(namenode.edits())):
            assert fingerprint(other) == fingerprint(namesystem.namespace), step
        request = pb.DeleteSnapshotRequestProto(snapshotRoot="/a", snapshotName="s1")
        if step == "shown":
            namenode.call("deleteSnapshot", request)
            namenode.tick()
    assert block_id not in namesystem.namespace.blocks
    check_consistent(namesystem.namespace)


def test_an_image_that_lists_a_deleted_directory_as_snapshottable_is_loaded(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Such images were written until that was mended."""
    namenode = started()
    mkdirs(namenode, "/a", "/b")
    namespace = namenode.namesystem.namespace
    gone = namespace.find("/b")
    assert isinstance(gone, Directory)
    delete(namenode, "/b")
    namenode.tick()
    namespace.snapshots.roots[gone.inode_id] = Snapshottable(gone)
    with caplog.at_level(logging.WARNING):
        loaded = reloaded(namespace)
    assert not loaded.snapshots.roots
    assert f"inode {gone.inode_id}" in caplog.text


def test_a_block_that_only_a_snapshot_has_is_copied_as_its_directory_says() -> None:
    namenode = started(4, types_pb2.SSD)
    mkdirs(namenode, "/d")
    request = pb.SetStoragePolicyRequestProto(src="/d", policyName="ALL_SSD")
    namenode.call("setStoragePolicy", request)
    block_id, holders = write(namenode, "/d/deleted", replication=3)
    snapshot(namenode, "/d")
    delete(namenode, "/d/deleted")
    lost = next(node for node in namenode.nodes if node.uuid in holders)
    namenode.namesystem.datanode_manager.lose(lost.known)
    copied: set[int] = set()
    for _ in range(20):
        for node in namenode.nodes:
            if node is not lost:
                for command in node.heartbeat():
                    copied |= {block.blockId for block in command.blkCmd.blocks}
        namenode.tick(4000)
    assert block_id in copied


def test_a_lost_block_that_only_a_snapshot_has_is_told_where_that_is() -> None:
    namenode = started()
    mkdirs(namenode, "/d")
    block_id, _ = write(namenode, "/d/deleted")
    write(namenode, "/deleted")
    snapshot(namenode, "/d")
    delete(namenode, "/d/deleted")
    namenode.nodes[0].drop(block_id)
    namenode.tick(4000)
    namesystem, name = namenode.namesystem, f"blk_{block_id}"
    for told in (
        "".join(describe_blocks(namesystem, (name,), Options("/"))),
        metasave(namesystem),
        "\n".join(ClusterLog(namesystem).work()),
    ):
        assert "/d/.snapshot/s1/deleted" in told
