"""The group of a writer that is gone is recovered from all that may have a part of it."""

from __future__ import annotations

import pytest

from howdah import errors
from howdah.formats.edits import edits
from howdah.namenode.state.inodes.file_blocks import close_edit
from howdah.namenode.state.inodes.inodes import BlockState
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import datanode_namenode_pb2 as dn
from howdah.proto import types_pb2
from howdah.testing.in_memory import InMemoryDatanode, Replica
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


@pytest.mark.req("FS-015", "FS-156")
@pytest.mark.parametrize(("lost", "is_dropped"), [((0,), True), ((0, 3), True), ((0, 1, 2), False)])
def test_a_datanode_that_is_gone_for_good_does_not_keep_a_file_open(
    lost: tuple[int, ...], is_dropped: bool
) -> None:
    """As its writer's own often is. Nothing of the group was promised, and the others could be read
    if a stripe of them were whole. With fewer of them all that was written may be away."""
    cluster = begun()
    for index in lost:
        cluster.namenode.namesystem.datanode_manager.lose(holder(cluster, index).known)
    order = recovery_order(cluster)
    with pytest.raises(errors.RemoteError, match="took no part"):
        commit(cluster, **answer(order, deleteBlock=True))
    orders = []
    for _ in range(100):
        cluster.namenode.tick(20_000)
        orders += [o for node in cluster.nodes if node.known.alive for o in node.orders()]
    if is_dropped:
        commit(cluster, **answer(orders[-1], deleteBlock=True))
        assert not cluster.file().under_construction
        assert not cluster.file().blocks
        return
    with pytest.raises(errors.RemoteError, match="took no part"):
        commit(cluster, **answer(orders[-1], deleteBlock=True))
    assert cluster.file().under_construction


@pytest.mark.req("FS-015", "FS-156")
def test_a_group_is_not_dropped_before_its_datanodes_were_asked() -> None:
    """They have it, and have not told of it yet."""
    order = recovery_order(cluster := begun(written=()))
    assert list(order.blockIndices) == [0, 1, 2, 3, 4]
    assert len(cluster.file().blocks) == 1
    assert cluster.file().under_construction


@pytest.mark.req("FS-156")
@pytest.mark.parametrize(
    ("written", "is_closed"), [((0,), True), ((0, 1), True), ((0, 1, 2), False)]
)
def test_what_only_dead_datanodes_have_is_dropped_if_nobody_could_read_it(
    written: tuple[int, ...], is_closed: bool
) -> None:
    """After a failover, which forgets whom else the writer was given."""
    cluster = begun(nodes=6, written=written)
    namesystem = cluster.namenode.namesystem
    dead = [holder(cluster, index) for index in written]
    namesystem.become_standby()
    for node in dead:
        namesystem.datanode_manager.lose(node.known)
    namesystem.become_active()
    namesystem.safe_mode.leave(force=True)
    left = [node for node in cluster.nodes if node not in dead]
    for node in left:
        node.register()
        node.heartbeat(wants_lease=True)
        node.report()
    for _ in range(6):
        cluster.call("recoverLease", pb.RecoverLeaseRequestProto(src="/ec/f", clientName="other"))
        cluster.namenode.tick(20_000)
        assert not any(node.orders() for node in left)
    assert cluster.file().under_construction is not is_closed
    assert len(cluster.file().blocks) == (not is_closed)


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


@pytest.mark.parametrize("fails", ["datanode", "volume"])
def test_what_was_being_written_at_what_failed_is_not_corrupt_once_the_file_is_closed(
    fails: str,
) -> None:
    """At a standby, which hears of the new stamp by the log alone."""
    cluster = begun()
    group = cluster.group()
    namesystem = cluster.namenode.namesystem
    [lost] = group.part(3).expected
    if fails == "datanode":
        namesystem.datanode_manager.lose(lost.node)
    else:
        lost.failed = True
        namesystem.block_manager.blocks.storage_gone(lost)
    stamp = group.generation_stamp + 1
    restamped = edits.EditBlock(group.block_id, 3 * MIB, stamp)
    namesystem.commit(edits.SetGenstampV2Op(stamp))
    namesystem.commit(edits.UpdateBlocksOp("/ec/f", (restamped,)))
    namesystem.commit(close_edit(cluster.file(), (restamped,), 0))
    for index in (0, 1, 2, 4):
        [storage] = group.part(index).corrupt
        cluster.node(storage.node.identity.uuid).store(group.block_id + index, stamp, MIB)
    assert group.corrupt == ()


# A group of final length of which a power cut has left unfinished replicas.

LENGTH = 4 * MIB + 5
"""A stripe, and a bit of the second cell of the next one."""


def committed(
    left: tuple[int, ...], *, finished: tuple[int, ...] = (), hadoops: bool = False
) -> Cluster:
    """The writer has settled a group and asked for the next one. Its datanodes have come back
    with unfinished replicas of the indices `left`, and whole ones of those `finished`."""
    cluster = Cluster(nodes=5)
    cluster.create()
    block = cluster.add_block()
    group = cluster.group()
    layout = type(group.layout)(group.policy, LENGTH)
    block.b.numBytes = LENGTH
    cluster.add_block(block.b)
    for index, place in zip(block.blockIndices, block.locs, strict=True):
        node = cluster.node(place.id.datanodeUuid)
        node.is_hadoops = hadoops
        if index in left or index in finished:
            node.replicas[node.first_storage][group.block_id + index] = Replica(
                group.generation_stamp,
                layout.block_length(index),
                finalized=index in finished,
                left_over=index in left,
            )
        node.register()
        node.heartbeat()
        node.report()
    return cluster


def orders_in_time(cluster: Cluster) -> list[dn.RecoveringBlockProto]:
    """Its lease is wanted: what primaries are told of the settled group in the next minute."""
    settled = cluster.file().blocks[0].block_id & (1 << 64) - 1
    found = []
    for _ in range(12):
        cluster.call("recoverLease", pb.RecoverLeaseRequestProto(src="/ec/f", clientName="other"))
        cluster.namenode.tick(5000)
        orders = [order for node in cluster.nodes for order in node.orders()]
        found += [order for order in orders if order.block.b.blockId == settled]
    return found


def obey(cluster: Cluster, order: dn.RecoveringBlockProto, indices: tuple[int, ...]) -> None:
    """The primary has these internal blocks set to their lengths."""
    group = cluster.file().blocks[0]
    targets, storages = [NOBODY] * 5, [""] * 5
    layout = type(cluster.group().layout)(cluster.group().policy, LENGTH)
    for index, place in zip(order.blockIndices, order.block.locs, strict=True):
        if index in indices:
            node = cluster.node(place.id.datanodeUuid)
            node.settle(group.block_id + index, order.newGenStamp, layout.block_length(index))
            targets[index] = node.registration().datanodeID
            storages[index] = node.first_storage
    commit(
        cluster,
        **answer(order, newLength=LENGTH, newTaragets=targets, newTargetStorages=storages),
    )


@pytest.mark.req("FS-127", "XC-003")
@pytest.mark.parametrize(
    ("left", "finished"), [((0, 1, 2, 3, 4), ()), ((1, 3, 4), (0, 2)), ((0, 4), (1,))]
)
def test_a_committed_group_of_unfinished_replicas_is_recovered_with_its_length(
    left: tuple[int, ...], finished: tuple[int, ...]
) -> None:
    cluster = committed(left, finished=finished)
    [order, *_] = orders_in_time(cluster)
    assert order.truncateBlock.numBytes == order.block.b.numBytes == LENGTH
    assert set(order.blockIndices) >= {*left, *finished}
    obey(cluster, order, (*left, *finished))
    for _ in range(3):
        cluster.namenode.tick(5000)
    file = cluster.file()
    assert file.writer is None
    [group] = file.blocks
    assert (group.length_bytes, group.state) == (LENGTH, BlockState.COMPLETE)
    assert group.generation_stamp == order.newGenStamp
    assert group.replica_count == len({*left, *finished})
    [again] = cluster.namenode.restarted().namesystem.namespace.blocks.values()
    assert (again.length_bytes, again.generation_stamp) == (LENGTH, order.newGenStamp)


def test_a_committed_group_is_not_made_shorter() -> None:
    cluster = committed((0, 1, 2, 3, 4))
    [order, *_] = orders_in_time(cluster)
    node = cluster.nodes[0]
    targets = [node.registration().datanodeID, *[NOBODY] * 4]
    with pytest.raises(errors.RemoteError, match=f"was committed with {LENGTH} bytes"):
        commit(
            cluster,
            **answer(
                order,
                newLength=3 * MIB,
                newTaragets=targets,
                newTargetStorages=[node.first_storage, *[""] * 4],
            ),
        )
    assert cluster.file().blocks[0].length_bytes == LENGTH


def test_hadoops_datanodes_lead_no_recovery_of_a_committed_group() -> None:
    """They would cut it to whole stripes."""
    assert orders_in_time(committed((0, 1, 2, 3, 4), hadoops=True)) == []


def test_a_committed_group_that_can_be_read_needs_no_recovery() -> None:
    cluster = committed((3, 4), finished=(0, 1, 2))
    assert orders_in_time(cluster) == []
    assert cluster.file().writer is None
