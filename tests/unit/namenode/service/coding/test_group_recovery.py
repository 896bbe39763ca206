"""The group of a writer that is gone is recovered from all that may have a part of it."""

from __future__ import annotations

import pytest

from howdah import errors
from howdah.namenode.state.inodes.inodes import BlockState
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import datanode_namenode_pb2 as dn
from howdah.proto import types_pb2
from howdah.testing.in_memory import InMemoryDatanode
from tests.unit.namenode.service.coding.test_writing import MIB, Cluster

NOBODY = types_pb2.DatanodeIDProto(
    ipAddr="", hostName="", datanodeUuid="", xferPort=0, infoPort=0, ipcPort=0
)


def begun(nodes: int = 5, written: tuple[int, ...] = (0, 1, 2, 3, 4)) -> Cluster:
    """A group of RS-3-2 is open, and datanodes have a cell of these internal blocks."""
    cluster = Cluster(nodes=nodes)
    cluster.create()
    block = cluster.add_block()
    for index, place in zip(block.blockIndices, block.locs, strict=True):
        if index in written:
            cluster.node(place.id.datanodeUuid).store(
                cluster.group().block_id + index, block.b.generationStamp, MIB, finalized=False
            )
    return cluster


def holder(cluster: Cluster, index: int) -> InMemoryDatanode:
    [storage] = cluster.group().part(index).expected
    return cluster.node(storage.node.identity.uuid)


def recovery_order(
    cluster: Cluster, silent: tuple[InMemoryDatanode, ...] = ()
) -> dn.RecoveringBlockProto:
    """Somebody wants the lease: what the primary is told, which is none of the silent ones."""
    cluster.call("recoverLease", pb.RecoverLeaseRequestProto(src="/ec/f", clientName="other"))
    [order] = [
        order
        for node in cluster.nodes
        if node.known.alive and node not in silent
        for order in node.orders()
    ]
    return order


def answer(order: dn.RecoveringBlockProto, **fields: object) -> dict[str, object]:
    return {
        "block": order.block.b,
        "newGenStamp": order.newGenStamp,
        "newLength": 0,
        "closeFile": True,
        "deleteBlock": False,
        **fields,
    }


def commit(cluster: Cluster, **fields: object) -> None:
    cluster.call(
        "commitBlockSynchronization",
        dn.CommitBlockSynchronizationRequestProto(**fields),  # type: ignore[arg-type]
        address="10.0.0.1",
    )


@pytest.mark.req("FS-015")
def test_stale_datanodes_take_part_where_the_others_are_too_few() -> None:
    cluster = begun()
    late = [holder(cluster, index) for index in (0, 2, 4)]
    cluster.namenode.clock.advance(60_000)
    for node in cluster.nodes:
        if node not in late:
            node.heartbeat()
    order = recovery_order(cluster, tuple(late))
    assert list(order.blockIndices) == [0, 1, 2, 3, 4]


def test_stale_datanodes_are_left_out_where_the_others_are_enough() -> None:
    cluster = begun()
    late = holder(cluster, 2)
    cluster.namenode.clock.advance(60_000)
    for node in cluster.nodes:
        if node is not late:
            node.heartbeat()
    assert list(recovery_order(cluster, (late,)).blockIndices) == [0, 1, 3, 4]


def test_an_internal_block_takes_part_from_whoever_of_its_holders_is_alive() -> None:
    cluster = begun(nodes=6)
    group, first = cluster.group(), holder(cluster, 3)
    spare = next(
        node
        for node in cluster.nodes
        if node.uuid not in {s.node.identity.uuid for s in group.expected}
    )
    spare.store(group.block_id + 3, group.generation_stamp, MIB, finalized=False)
    cluster.namenode.namesystem.datanode_manager.lose(first.known)
    order = recovery_order(cluster)
    assert list(order.blockIndices) == [0, 1, 2, 3, 4]
    assert order.block.locs[3].id.datanodeUuid == spare.uuid


def test_a_corrupt_internal_block_takes_part_where_the_others_are_too_few() -> None:
    cluster = begun(written=(0, 1, 2))
    group = cluster.group()
    bad = holder(cluster, 2)
    blocks = cluster.namenode.namesystem.block_manager.blocks
    [storage] = [s for s in group.part(2).expected if s.node is bad.known]
    blocks.mark_corrupt(storage, group.part(2), found_by_reader=True)
    group.part(2).expected = ()
    for index in (3, 4):
        cluster.namenode.namesystem.datanode_manager.lose(holder(cluster, index).known)
    assert 2 in recovery_order(cluster).blockIndices


@pytest.mark.req("FS-015")
def test_a_group_is_not_dropped_while_datanodes_that_may_have_it_are_away() -> None:
    cluster = begun()
    gone = [holder(cluster, index) for index in (0, 1, 2)]
    for node in gone:
        cluster.namenode.namesystem.datanode_manager.lose(node.known)
    order = recovery_order(cluster)
    with pytest.raises(errors.RemoteError, match="took no part"):
        commit(cluster, **answer(order, deleteBlock=True))
    assert len(cluster.file().blocks) == 1
    assert cluster.file().under_construction


def test_a_group_of_which_too_few_were_ever_written_is_dropped() -> None:
    cluster = begun(written=(0,))
    gone = holder(cluster, 4)
    cluster.namenode.namesystem.datanode_manager.lose(gone.known)
    order = recovery_order(cluster)
    commit(cluster, **answer(order, deleteBlock=True))
    assert not cluster.file().blocks
    assert not cluster.file().under_construction


def test_a_result_with_an_index_that_the_group_does_not_have_changes_nothing() -> None:
    cluster = begun()
    order = recovery_order(cluster)
    node = cluster.node(order.block.locs[0].id.datanodeUuid)
    stamp = cluster.group().generation_stamp
    with pytest.raises(errors.RemoteError, match="no internal block 5"):
        commit(
            cluster,
            **answer(
                order,
                newLength=3 * MIB,
                newTaragets=[*[NOBODY] * 5, node.registration().datanodeID],
                newTargetStorages=[*[""] * 5, node.first_storage],
            ),
        )
    assert cluster.group().generation_stamp == stamp
    assert cluster.group().state is BlockState.UNDER_CONSTRUCTION
