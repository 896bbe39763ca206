"""Internal blocks of groups are moved by a balancer: what it hears, and which replica goes."""

from __future__ import annotations

import random
from typing import Any

import pytest

from howdah.namenode.service.protocols.namenode import NamenodeProtocol
from howdah.namenode.state.blocks.datanodes import Datanode
from howdah.namenode.state.inodes.group_table import Group
from howdah.proto import datanode_namenode_pb2 as server_pb
from howdah.proto import namenode_pb2 as pb
from howdah.protocol.data_transfer.blocks import signed64
from howdah.protocol.rpc.call import Caller
from howdah.testing.in_memory import CLUSTER, SUPERUSER, InMemoryDatanode
from tests.unit.namenode.service.coding.test_group_repairs import keeper, obey_deletions
from tests.unit.namenode.service.coding.test_writing import MIB, Cluster


def blocks_of(
    cluster: Cluster, node: InMemoryDatanode, size: int = 1 << 40, **more: Any
) -> list[server_pb.BlockWithLocationsProto]:
    unused: Any = None
    protocol = NamenodeProtocol(cluster.namenode.namesystem, CLUSTER, unused, random.Random(7))
    request = pb.GetBlocksRequestProto(
        datanode=node.registration().datanodeID, size=size, **{"minBlockSize": 0, **more}
    )
    slices = protocol.get_blocks(request, Caller(SUPERUSER, b"", -1, 0, "10.9.9.9"))
    while True:
        try:
            next(slices)
        except StopIteration as end:
            answer: pb.GetBlocksResponseProto = end.value
            return list(answer.blocks.blocks)


def spares(cluster: Cluster) -> list[InMemoryDatanode]:
    return [node for node in cluster.nodes if not any(node.replicas.values())]


def move(cluster: Cluster, group: Group, index: int, target: InMemoryDatanode) -> Datanode:
    """A balancer has moved an internal block: the datanode that is to lose its replica."""
    source, part = keeper(group, index), group.part(index)
    target.store(
        part.block_id,
        group.generation_stamp,
        part.length_bytes,
        delete_hint=source.identity.uuid,
    )
    return source


@pytest.mark.req("FS-144")
def test_a_group_is_told_with_its_indices_as_by_hadoop() -> None:
    cluster = Cluster(nodes=6)
    group = cluster.write(3 * MIB + 10)
    for node in cluster.nodes:
        found = blocks_of(cluster, node)
        if node in spares(cluster):
            assert found == []
            continue
        (entry,) = found
        assert signed64(entry.block.blockId) == group.block_id
        assert entry.block.numBytes == 3 * MIB + 10
        assert entry.block.genStamp == group.generation_stamp
        assert (entry.dataBlockNum, entry.cellSize) == (3, MIB)
        uuids = {i: keeper(group, i).identity.uuid for i in range(5)}
        assert dict(zip(entry.indices, entry.datanodeUuids, strict=True)) == uuids
        assert len(entry.storageUuids) == len(entry.storageTypes) == 5


def test_a_group_of_which_a_datanode_has_two_internal_blocks_is_told_once() -> None:
    cluster = Cluster(nodes=6)
    group = cluster.write()
    node = cluster.node(keeper(group, 4).identity.uuid)
    node.store(group.block_id, group.generation_stamp, group.part(0).length_bytes)
    (entry,) = blocks_of(cluster, node)
    places = list(zip(entry.indices, entry.datanodeUuids, strict=True))
    assert len(places) == 6
    assert {(0, node.uuid), (4, node.uuid)} <= set(places)


def test_the_size_of_a_group_is_that_of_what_is_moved_and_its_least_that_of_all() -> None:
    cluster = Cluster(nodes=5)
    cluster.write(6 * MIB)
    (node, *_) = cluster.nodes
    assert len(blocks_of(cluster, node, 2 * MIB, minBlockSize=6 * MIB)) == 1
    assert blocks_of(cluster, node, minBlockSize=6 * MIB + 1) == []


def test_a_group_that_is_being_written_is_not_told() -> None:
    cluster = Cluster(nodes=5)
    cluster.create()
    cluster.store(cluster.add_block(), MIB)
    assert all(blocks_of(cluster, node) == [] for node in cluster.nodes)


@pytest.mark.parametrize("racks", [1, 3, 9])
def test_the_replica_goes_that_was_moved(racks: int) -> None:
    """Its datanode may be emptier than the target, and any of the two would do."""
    cluster = Cluster(nodes=9, racks=racks)
    group = cluster.write()
    for index in range(5):
        target = spares(cluster)[index % len(spares(cluster))]
        on = keeper(group, index).location
        rack_mates = [node for node in spares(cluster) if node.known.location == on]
        target = rack_mates[0] if rack_mates else target
        source = move(cluster, group, index, target)
        cluster.namenode.tick(1000)
        assert obey_deletions(cluster) == [(source.identity.uuid, group.block_id + index)]
        assert keeper(group, index).identity.uuid == target.uuid
    assert not cluster.namenode.namesystem.block_manager.blocks.redundancy.move_hints
    assert len({storage.node for storage in group.replicas}) == 5


def test_two_internal_blocks_that_met_on_one_datanode_are_parted_again() -> None:
    """Whoever moves them does not know of each other."""
    cluster = Cluster(nodes=7)
    group = cluster.write()
    (target, *_) = spares(cluster)
    for index in (1, 2):
        move(cluster, group, index, target)
    for _ in range(6):
        cluster.namenode.tick(1000)
        obey_deletions(cluster)
        for node in cluster.nodes:
            for command in node.heartbeat():
                for block, targets in zip(
                    command.blkCmd.blocks, command.blkCmd.targets, strict=False
                ):
                    block_id = signed64(block.blockId)
                    part = group.part(block_id & 15)
                    for place in targets.datanodes:
                        cluster.node(place.id.datanodeUuid).store(
                            block_id, group.generation_stamp, part.length_bytes
                        )
    holders = [storage.node for storage in group.replicas]
    assert len(holders) == len(set(holders)) == 5


def test_hints_end_with_the_group() -> None:
    cluster = Cluster(nodes=7)
    group = cluster.write()
    hints = cluster.namenode.namesystem.block_manager.blocks.redundancy.move_hints
    source = move(cluster, group, 1, spares(cluster)[0])
    assert list(hints) == [group.block_id + 1]
    cluster.node(source.identity.uuid).drop(group.block_id + 1)
    cluster.namenode.tick(1000)
    assert list(hints) == []
