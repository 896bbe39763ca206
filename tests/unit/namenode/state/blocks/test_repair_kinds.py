"""Copies go where the storage policy wants them, or to its fall-backs for copies (FS-015)."""

from __future__ import annotations

from typing import Any

import pytest

from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.state.inodes import storage_policies
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import datanode_namenode_pb2 as dn
from howdah.proto import types_pb2
from howdah.testing.in_memory import InMemoryDatanode

DISK, SSD, ARCHIVE = types_pb2.DISK, types_pb2.SSD, types_pb2.ARCHIVE


@pytest.fixture
def settings() -> Settings:
    return Settings("", min_block_size_bytes=512, heartbeat_expiry_ms=10_000_000)


class Cluster:
    def __init__(self, client: Any, *kinds: types_pb2.StorageTypeProto) -> None:
        self.client = client
        self.nodes: list[InMemoryDatanode] = [
            client.namenode.join(f"dn{number}", kind=kind) for number, kind in enumerate(kinds)
        ]
        self.namenode = client.namenode

    def write(self, policy: str, replication: int) -> Any:
        """A file of one block."""
        self.client.mkdirs("/d")
        self.client.call(
            "setStoragePolicy", pb.SetStoragePolicyRequestProto(src="/d", policyName=policy)
        )
        return self.client.write("/d/f", 100, replication=replication).blocks[0]

    def targets(self) -> list[list[int]]:
        """After a round: of each copy that is ordered the types of its targets, and the
        datanodes obey."""
        self.namenode.tick(1000)
        found: list[list[int]] = []
        for node in self.nodes:
            for command in node.heartbeat():
                order = command.blkCmd
                for place, told in enumerate(order.blocks):
                    if order.action == dn.BlockCommandProto.INVALIDATE:
                        node.drop(told.blockId)
                        continue
                    found.append(list(order.targetStorageTypes[place].storageTypes))
                    for target in order.targets[place].datanodes:
                        taker = self.node(target.id.datanodeUuid)
                        taker.store(told.blockId, told.genStamp, 100)
        return found

    def node(self, uuid: str) -> InMemoryDatanode:
        return next(node for node in self.nodes if node.uuid == uuid)

    def lose(self, block: Any, kind: int) -> None:
        """A replica on this type of storage is gone, with its datanode."""
        storage = next(s for s in block.replicas if s.storage_type == kind)
        node = self.node(storage.node.identity.uuid)
        self.nodes.remove(node)
        self.namenode.namesystem.datanode_manager.datanodes.lose(node.known)
        self.namenode.namesystem.datanode_manager.membership.died(node.known)


def kinds(block: Any) -> list[int]:
    return sorted(storage.storage_type for storage in block.replicas)


@pytest.mark.parametrize("lost", [SSD, DISK])
def test_a_copy_goes_to_the_type_of_storage_that_is_missing(client: Any, lost: int) -> None:
    cluster = Cluster(client, SSD, SSD, SSD, DISK, DISK, DISK, DISK)
    block = cluster.write("ONE_SSD", 3)
    assert kinds(block) == [DISK, DISK, SSD]
    cluster.lose(block, lost)
    assert cluster.targets() == [[lost]]
    assert kinds(block) == [DISK, DISK, SSD]


def test_a_copy_goes_to_a_fallback_for_copies_where_the_type_has_no_room(client: Any) -> None:
    """HOT has none for new blocks, and ARCHIVE for copies."""
    cluster = Cluster(client, DISK, DISK, ARCHIVE, ARCHIVE)
    block = cluster.write("HOT", 2)
    assert kinds(block) == [DISK, DISK]
    cluster.lose(block, DISK)
    assert cluster.targets() == [[ARCHIVE]]


def test_without_a_fallback_a_copy_waits_for_its_type(client: Any) -> None:
    cluster = Cluster(client, ARCHIVE, ARCHIVE, DISK, DISK)
    block = cluster.write("COLD", 2)
    cluster.lose(block, ARCHIVE)
    assert cluster.targets() == []
    cluster.nodes.append(cluster.namenode.join("new", kind=ARCHIVE))
    assert cluster.targets() == [[ARCHIVE]]


def test_excess_goes_from_the_type_that_has_too_many(client: Any) -> None:
    cluster = Cluster(client, SSD, DISK, DISK, DISK)
    block = cluster.write("ONE_SSD", 4)
    assert kinds(block) == [DISK, DISK, DISK, SSD]
    client.set_replication("/d/f", 2)
    for _ in range(3):
        cluster.targets()
    assert kinds(block) == [DISK, SSD]


def test_the_types_for_copies_are_as_many_as_replicas(client: Any) -> None:
    client.namenode.join("dn")
    file = client.write("/f", 10)
    assert storage_policies.kinds_on_repair(file, 4) == ([DISK] * 4, [ARCHIVE])
    storage_policies.set_on(file, 15)
    assert storage_policies.kinds_on_repair(file, 2) == ([DISK, DISK], [DISK])
