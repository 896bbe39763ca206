"""Orders to mend a group: none that is late, and one for each datanode that is to rest."""

from __future__ import annotations

import pytest

from howdah.config import Configuration
from howdah.namenode.server.process.settings import settings_from
from howdah.namenode.service.calls.metasave import metasave
from howdah.namenode.state.blocks.admin_states import AdminEvent, AdminState
from howdah.namenode.state.blocks.datanodes import Datanode
from howdah.namenode.state.blocks.reconstruction import Streams
from howdah.namenode.state.inodes.group_table import Group
from howdah.proto import datanode_namenode_pb2 as dn
from howdah.protocol.data_transfer.blocks import signed64
from tests.unit.namenode.service.coding.test_writing import Cluster, reconstructions


def rest(cluster: Cluster, node: Datanode) -> None:
    """The datanode is to rest."""
    node.admin_state = AdminState.ENTERING_MAINTENANCE
    node.maintenance_until_ms = 1 << 62
    blocks = cluster.namenode.namesystem.block_manager.blocks
    blocks.redundancy.out_of_service.add(node)
    blocks.redundancy.note(cluster.group().block_id)


def transfers(cluster: Cluster) -> list[int]:
    return [
        signed64(block.blockId)
        for node in cluster.nodes
        for command in node.heartbeat()
        if command.blkCmd.action == dn.BlockCommandProto.TRANSFER
        for block in command.blkCmd.blocks
    ]


def keeper(group: Group, index: int) -> Datanode:
    [storage] = group.part(index).replicas
    return storage.node


@pytest.mark.req("FS-015")
def test_as_much_as_a_reader_needs_is_copied_from_datanodes_that_are_to_rest() -> None:
    cluster = Cluster(nodes=7)
    group = cluster.write()
    for index in (1, 2, 4):
        rest(cluster, keeper(group, index))
    cluster.namenode.tick(1000)
    assert transfers(cluster) == [group.block_id + 1]
    spare = next(node for node in cluster.nodes if not any(node.replicas.values()))
    spare.store(group.block_id + 1, group.generation_stamp, group.part(1).length_bytes)
    cluster.namenode.tick(1000)
    assert transfers(cluster) == []
    membership = cluster.namenode.namesystem.datanode_manager.membership
    for storage in group.replicas:
        if storage.node.admin_state is AdminState.ENTERING_MAINTENANCE:
            assert not any(membership._lacks(part, storage.node) for part in group.parts)


@pytest.mark.req("FS-015")
def test_what_rests_and_leaves_is_copied_from_who_leaves() -> None:
    """A datanode that died comes back to rest, and the one that got its internal block leaves."""
    cluster = Cluster(nodes=7)
    group = cluster.write()
    resting = keeper(group, 3)
    spare = next(node for node in cluster.nodes if not any(node.replicas.values()))
    spare.store(group.block_id + 3, group.generation_stamp, group.part(3).length_bytes)
    rest(cluster, resting)
    membership = cluster.namenode.namesystem.datanode_manager.membership
    membership._happened(spare.known, AdminEvent.DECOMMISSION)
    cluster.namenode.tick(1000)
    assert transfers(cluster) == [group.block_id + 3]
    [last] = [
        node for node in cluster.nodes if node is not spare and not any(node.replicas.values())
    ]
    last.store(group.block_id + 3, group.generation_stamp, group.part(3).length_bytes)
    cluster.namenode.tick(60_000)
    assert spare.known.admin_state is AdminState.DECOMMISSIONED
    assert cluster.namenode.namesystem.block_manager.lacks_nothing()


def test_few_that_are_to_rest_cost_nothing() -> None:
    cluster = Cluster(nodes=7)
    group = cluster.write()
    for index in (1, 4):
        rest(cluster, keeper(group, index))
    cluster.namenode.tick(1000)
    assert transfers(cluster) == []


def test_an_order_that_another_one_has_replaced_is_not_sent() -> None:
    cluster = Cluster(nodes=7)
    group = cluster.write()
    cluster.node(keeper(group, 1).identity.uuid).drop(group.block_id + 1)
    cluster.namenode.tick(1000)
    [worker] = [n for n in cluster.nodes if n.known.to_reconstruct]
    cluster.namenode.tick(400_000)
    cluster.namenode.tick(1000)
    infos = reconstructions(cluster)
    assert len(infos) == 1
    [target] = infos[0].targetDnInfos.datanodes
    assert target.id.datanodeUuid != worker.uuid


def test_without_streams_nothing_is_made_anew() -> None:
    conf = Configuration({"dfs.namenode.replication.max-streams": "0"})
    settings = settings_from(conf, "BP-1")
    assert (settings.max_streams, settings.most_streams) == (0, 4)
    cluster = Cluster(nodes=7)
    cluster.namenode.namesystem.block_manager.reconstruction.streams = Streams(0, 4)
    group = cluster.write()
    for index in (1, 3):
        cluster.node(keeper(group, index).identity.uuid).drop(group.block_id + index)
        cluster.namenode.tick(1000)
        assert not reconstructions(cluster)


def obey_deletions(cluster: Cluster) -> list[tuple[str, int]]:
    """All heartbeats: which datanode has deleted what."""
    deleted = [
        (node.uuid, signed64(block.blockId))
        for node in cluster.nodes
        for command in node.heartbeat()
        if command.blkCmd.action == dn.BlockCommandProto.INVALIDATE
        for block in command.blkCmd.blocks
    ]
    for uuid, block_id in deleted:
        cluster.node(uuid).drop(block_id)
    return deleted


@pytest.mark.req("FS-015")
def test_of_an_index_that_is_there_thrice_the_one_beside_another_index_goes() -> None:
    cluster = Cluster(nodes=9, racks=3)
    group = cluster.write()
    part, neighbour = group.part(3), keeper(group, 4)
    spare = next(node for node in cluster.nodes if not any(node.replicas.values()))
    for node in (cluster.node(neighbour.identity.uuid), spare):
        node.store(part.block_id, group.generation_stamp, part.length_bytes)
    for _ in range(3):
        cluster.namenode.tick(1000)
        obey_deletions(cluster)
    assert len({storage.node for storage in group.replicas}) == 5
    assert len(group.replicas) == 5


@pytest.mark.req("FS-100")
def test_a_corrupt_internal_block_makes_room_where_there_is_no_other_datanode() -> None:
    cluster = Cluster(nodes=5)
    group = cluster.write()
    bad = keeper(group, 1)
    blocks = cluster.namenode.namesystem.block_manager.blocks
    blocks.found_corrupt(bad, group.part(1).block_id, group.generation_stamp)
    cluster.namenode.tick(1000)
    assert obey_deletions(cluster) == [(bad.identity.uuid, group.part(1).block_id)]
    cluster.namenode.tick(1000)
    [info] = reconstructions(cluster)
    assert [t.id.datanodeUuid for t in info.targetDnInfos.datanodes] == [bad.identity.uuid]


@pytest.mark.req("FS-100")
@pytest.mark.parametrize("bad_index", [0, 1])
def test_of_two_internal_blocks_on_one_datanode_the_corrupt_one_goes(bad_index: int) -> None:
    cluster = Cluster(nodes=6)
    group = cluster.write()
    both, part = cluster.node(keeper(group, 0).identity.uuid), group.part(1)
    cluster.node(keeper(group, 1).identity.uuid).drop(part.block_id)
    both.store(part.block_id, group.generation_stamp, part.length_bytes)
    cluster.namenode.tick(1000)
    bad, sound = group.part(bad_index), group.part(1 - bad_index)
    blocks = cluster.namenode.namesystem.block_manager.blocks
    blocks.found_corrupt(keeper(group, bad_index), bad.block_id, group.generation_stamp)
    cluster.namenode.tick(1000)
    [info] = reconstructions(cluster)
    target = cluster.node(info.targetDnInfos.datanodes[0].id.datanodeUuid)
    assert target is not both
    target.store(bad.block_id, group.generation_stamp, bad.length_bytes)
    cluster.namenode.tick(1000)
    assert obey_deletions(cluster) == [(both.uuid, bad.block_id)]
    assert keeper(group, sound.index).identity.uuid == both.uuid
    assert keeper(group, bad_index).identity.uuid == target.uuid


def test_corrupt_internal_blocks_stay_where_the_others_are_too_few() -> None:
    cluster = Cluster(nodes=5)
    group = cluster.write()
    blocks = cluster.namenode.namesystem.block_manager.blocks
    for index in (0, 1, 2):
        blocks.found_corrupt(keeper(group, index), group.block_id + index, group.generation_stamp)
        cluster.namenode.tick(1000)
    for _ in range(3):
        assert obey_deletions(cluster) == []
        cluster.namenode.tick(400_000)
        for node in cluster.nodes:
            node.heartbeat()
    assert [part.index for part in group.parts if part.corrupt] == [0, 1, 2]


def test_metasave_tells_of_corrupt_and_doubled_internal_blocks() -> None:
    cluster = Cluster(nodes=7)
    group = cluster.write()
    bad = keeper(group, 1)
    blocks = cluster.namenode.namesystem.block_manager.blocks
    blocks.found_corrupt(bad, group.block_id + 1, group.generation_stamp)
    [spare, *_] = [node for node in cluster.nodes if not any(node.replicas.values())]
    spare.store(group.block_id + 2, group.generation_stamp, group.part(2).length_bytes)
    told = metasave(cluster.namenode.namesystem)
    assert f"Block={group.block_id + 1}\tSize={group.part(1).length_bytes}\tNode={bad.name}" in told
    assert "live: 4 decommissioning and decommissioned: 0 corrupt: 1 in excess: 1" in told


def test_orders_that_are_sent_again_are_forgotten_with_what_they_were_for() -> None:
    cluster = Cluster(nodes=5)
    group = cluster.write()
    bad = keeper(group, 1)
    manager = cluster.namenode.namesystem.block_manager
    manager.blocks.found_corrupt(bad, group.block_id + 1, group.generation_stamp)
    cluster.namenode.tick(1000)
    assert manager.reconstruction._resend_ms
    obey_deletions(cluster)
    cluster.node(bad.identity.uuid).store(
        group.block_id + 1, group.generation_stamp, group.part(1).length_bytes
    )
    cluster.namenode.tick(1000)
    assert not manager.reconstruction._resend_ms
