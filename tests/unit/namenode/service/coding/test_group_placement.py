"""Where internal blocks go: racks, upgrade domains, datanodes that leave, and busy ones."""

from __future__ import annotations

from collections import Counter

import pytest

from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.state.blocks import reconstruction
from howdah.namenode.state.blocks.admin_states import AdminEvent, AdminState
from howdah.namenode.state.blocks.datanodes import Datanode, Transfer
from howdah.namenode.state.blocks.policies import Policy
from howdah.namenode.state.inodes.group_table import Group
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import datanode_namenode_pb2 as dn
from howdah.proto import types_pb2
from howdah.protocol.data_transfer.blocks import signed64
from howdah.testing.in_memory import InMemoryNamenode
from tests.unit.namenode.service.coding.test_group_repairs import keeper, obey_deletions, transfers
from tests.unit.namenode.service.coding.test_writing import (
    MIB,
    Cluster,
    reconstructions,
)


def racks_of(group: Group) -> Counter[str]:
    return Counter(storage.node.location for storage in group.replicas)


def write_groups(cluster: Cluster, count: int) -> None:
    """A file of so many groups."""
    cluster.create()
    last = cluster.store(cluster.add_block(), 4 * MIB)
    for _ in range(count - 1):
        last = cluster.store(cluster.add_block(last), 4 * MIB)
    assert cluster.complete(last)


def leave(cluster: Cluster, node: Datanode) -> None:
    membership = cluster.namenode.namesystem.datanode_manager.membership
    membership._happened(node, AdminEvent.DECOMMISSION)


def serve(cluster: Cluster) -> list[tuple[int, str]]:
    """All heartbeats, of which all that is told is done: what was copied, and where to."""
    copied = []
    for node in cluster.nodes:
        for command in node.heartbeat():
            for block, targets in zip(command.blkCmd.blocks, command.blkCmd.targets, strict=False):
                block_id = signed64(block.blockId)
                if command.blkCmd.action == dn.BlockCommandProto.INVALIDATE:
                    node.drop(block_id)
                for target in targets.datanodes:
                    place = cluster.node(target.id.datanodeUuid)
                    place.store(block_id, block.genStamp, block.numBytes)
                    copied.append((block_id & 15, place.known.location))
    return copied


@pytest.mark.parametrize(
    ("racks", "expected"), [(1, [5]), (2, [2, 3]), (3, [1, 2, 2]), (4, [1, 1, 1, 2]), (5, [1] * 5)]
)
@pytest.mark.req("FS-144")
def test_a_rack_gets_no_more_than_its_share(racks: int, expected: list[int]) -> None:
    group = Cluster(nodes=20, racks=racks).write()
    assert sorted(racks_of(group).values()) == expected


def test_racks_with_few_datanodes_take_what_they_can() -> None:
    """Hadoop's chooseEvenlyFromRemainingRacks."""
    cluster = Cluster(nodes=1)
    cluster.nodes.append(cluster.namenode.join("alone", rack="/other"))
    cluster.nodes += [cluster.namenode.join(f"big{n}", rack="/big") for n in range(6)]
    assert racks_of(cluster.write()) == {"/r0": 1, "/other": 1, "/big": 3}


@pytest.mark.req("FS-015")
@pytest.mark.parametrize("spare", [True, False], ids=["its rack has another", "the only one"])
def test_the_internal_block_of_a_datanode_that_leaves_goes_where_it_is_well_placed(
    spare: bool,
) -> None:
    """Of the only datanode of a rack: the group is as spread as it can be without that rack."""
    cluster = Cluster(nodes=5, racks=5)
    group = cluster.write()
    cluster.nodes += [
        cluster.namenode.join(f"more{n}", rack=f"/r{n}") for n in range(0 if spare else 1, 5)
    ]
    leaving = cluster.nodes[0].known
    [index] = [i for i in range(5) if keeper(group, i) is leaving]
    leave(cluster, leaving)
    copied = []
    for _ in range(6):
        cluster.namenode.tick(30_000)
        copied += serve(cluster)
    [(copied_index, rack)] = copied
    assert copied_index == index
    assert (rack == "/r0") is spare
    assert leaving.admin_state is AdminState.DECOMMISSIONED
    counts = cluster.namenode.namesystem.block_manager.reconstruction.counts()
    assert (counts.misplaced, counts.too_few, counts.excess) == (0, 0, 0)


@pytest.mark.req("FS-144")
def test_two_internal_blocks_of_one_datanode_go_to_two_racks() -> None:
    cluster = Cluster(nodes=10, racks=5)
    group = cluster.write()
    both, lonely = (cluster.node(keeper(group, index).identity.uuid) for index in (0, 4))
    both.store(group.block_id + 4, group.generation_stamp, group.part(4).length_bytes)
    lonely.drop(group.block_id + 4)
    assert len(racks_of(group)) == 4
    for _ in range(6):
        cluster.namenode.tick(1000)
        serve(cluster)
    assert sorted(racks_of(group).values()) == [1] * 5
    counts = cluster.namenode.namesystem.block_manager.reconstruction.counts()
    assert (counts.misplaced, counts.excess) == (0, 0)


def test_many_groups_of_one_datanode_that_leaves_are_all_copied() -> None:
    cluster = Cluster(nodes=9)
    namespace = cluster.namenode.namesystem.namespace
    for number in range(40):
        cluster.create(f"/ec/{number}")
        block = cluster.add_block(path=f"/ec/{number}")
        group = cluster.group(f"/ec/{number}")
        for index, place in zip(block.blockIndices, block.locs, strict=True):
            part_id = group.block_id + index
            cluster.node(place.id.datanodeUuid).store(part_id, group.generation_stamp, 2 * MIB)
        last = types_pb2.ExtendedBlockProto()
        last.CopyFrom(block.b)
        last.numBytes = 6 * MIB
        complete(cluster, f"/ec/{number}", last)
    leaving = cluster.nodes[3].known
    leave(cluster, leaving)
    for _ in range(60):
        cluster.namenode.tick(30_000)
        serve(cluster)
        if leaving.admin_state is AdminState.DECOMMISSIONED:
            break
    assert leaving.admin_state is AdminState.DECOMMISSIONED
    for known in namespace.blocks.values():
        assert isinstance(known, Group)
        others = [index for index, storage in known.held if storage.node is not leaving]
        assert sorted(others) == [0, 1, 2, 3, 4]


def complete(cluster: Cluster, path: str, last: types_pb2.ExtendedBlockProto) -> None:
    cluster.call("complete", pb.CompleteRequestProto(src=path, clientName="client", last=last))


def test_a_group_goes_to_a_rack_on_which_only_a_leaving_datanode_has_any_of_it() -> None:
    cluster = Cluster(nodes=4, racks=4)
    cluster.nodes.append(cluster.namenode.join("second", rack="/r3"))
    group = cluster.write()
    cluster.nodes.append(cluster.namenode.join("third", rack="/r0"))
    leaving = cluster.nodes[0].known
    leave(cluster, leaving)
    for _ in range(6):
        cluster.namenode.tick(30_000)
        serve(cluster)
    standing = [s.node for s in group.replicas if s.node is not leaving]
    assert {node.location for node in standing} == {"/r0", "/r1", "/r2", "/r3"}


def with_domains(count: int) -> Cluster:
    settings = Settings(
        "", group_placement=Policy("BlockPlacementPolicyWithUpgradeDomain", domains=5)
    )
    cluster = Cluster(nodes=0, namenode=InMemoryNamenode(settings))
    for number in range(10):
        node = cluster.namenode.join(f"dn{number}", rack="/r0")
        node.known.upgrade_domain = f"d{number % count}"
        cluster.namenode.namesystem.block_manager.placement.network.note(node.known)
        cluster.nodes.append(node)
    return cluster


@pytest.mark.parametrize(("count", "expected"), [(5, 5), (3, 3), (10, 5)])
def test_a_policy_of_upgrade_domains_counts_for_groups(count: int, expected: int) -> None:
    group = with_domains(count).write()
    assert len({storage.node.upgrade_domain for storage in group.replicas}) == expected


def test_a_group_in_too_few_upgrade_domains_is_moved_into_more() -> None:
    cluster = with_domains(5)
    network = cluster.namenode.namesystem.block_manager.placement.network
    for node in cluster.nodes:
        node.known.upgrade_domain = "one"
        network.note(node.known)
    group = cluster.write()
    for number, node in enumerate(cluster.nodes):
        if not any(node.replicas.values()):
            node.known.upgrade_domain = f"d{number}"
            network.note(node.known)
    for _ in range(12):
        cluster.namenode.tick(1000)
        serve(cluster)
    assert len({storage.node.upgrade_domain for storage in group.replicas}) == 5
    assert [index for index, _ in group.held] == [0, 1, 2, 3, 4]
    counts = cluster.namenode.namesystem.block_manager.reconstruction.counts()
    assert (counts.misplaced, counts.excess) == (0, 0)


def test_full_racks_are_not_looked_at_without_end_for_groups(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As for blocks: otherwise a round looks at all datanodes of these racks for each group."""
    monkeypatch.setattr(reconstruction, "SPREAD_LOOKS", 8)
    cluster = Cluster(nodes=5)
    write_groups(cluster, 12)
    for number in range(4):
        node = cluster.namenode.join(f"far{number}", rack="/far")
        for storage in node.known.storages.values():
            storage.remaining_bytes = 0
    manager = cluster.namenode.namesystem.block_manager
    before = manager.group_placement.looks
    cluster.namenode.tick(1000)
    assert manager.reconstruction.counts().misplaced == 12
    assert manager.group_placement.looks - before == 4 * reconstruction.SLICE_COPIES


# Busy holders, and too few of them (HDFS-16566, HDFS-16479, HDFS-16776).


def busy(cluster: Cluster, group: Group, *indices: int) -> None:
    """The holders of these indices have as many copies to send as they may, and more."""
    for index in indices:
        node = keeper(group, index)
        node.to_transfer.extend([Transfer(1, ())] * 4)


def lose(cluster: Cluster, group: Group, *indices: int) -> None:
    for index in indices:
        cluster.node(keeper(group, index).identity.uuid).drop(group.block_id + index)


def test_the_block_of_a_busy_holder_is_neither_read_nor_made_again() -> None:
    cluster = Cluster(nodes=8)
    group = cluster.write()
    busy(cluster, group, 2)
    lose(cluster, group, 0)
    cluster.namenode.tick(1000)
    [info] = reconstructions(cluster)
    assert list(info.liveBlockIndices) == [1, 3, 4]
    assert list(info.excludeReconstructedIndices) == [2]
    assert len(info.targetDnInfos.datanodes) == 1


def test_with_too_few_sources_nothing_is_ordered_until_they_have_time() -> None:
    cluster = Cluster(nodes=8)
    group = cluster.write()
    busy(cluster, group, 2, 3)
    lose(cluster, group, 0)
    cluster.namenode.tick(1000)
    assert reconstructions(cluster) == []
    assert cluster.namenode.namesystem.block_manager.reconstruction.pending_count == 0
    for index in (2, 3):
        keeper(group, index).to_transfer.clear()
    cluster.namenode.tick(1000)
    [info] = reconstructions(cluster)
    assert list(info.liveBlockIndices) == [1, 2, 3, 4]


def test_a_group_without_any_spare_is_read_from_busy_holders_up_to_the_hard_limit() -> None:
    cluster = Cluster(nodes=8)
    group = cluster.write()
    lose(cluster, group, 0, 1)
    for index in (2, 3, 4):
        keeper(group, index).to_transfer.extend([Transfer(1, ())] * 3)
    cluster.namenode.tick(1000)
    [info] = reconstructions(cluster)
    assert sorted(info.liveBlockIndices) == [2, 3, 4]
    assert len(info.targetDnInfos.datanodes) == 2


@pytest.mark.req("FS-015")
def test_a_group_without_any_spare_does_not_wait_behind_all_others() -> None:
    """A datanode is lost, and the only one that can take what it had makes two at a time."""
    cluster = Cluster(nodes=5)
    write_groups(cluster, 12)
    spare = cluster.namenode.join("spare")
    cluster.nodes.append(spare)
    lost, other = cluster.nodes[:2]
    cluster.namenode.namesystem.datanode_manager.lose(lost.known)
    for _ in range(3):
        cluster.namenode.tick(1000)
    waiting = [order.group_id for order in spare.known.to_reconstruct]
    assert len(waiting) == 2
    group = next(
        block
        for block in cluster.file().blocks
        if isinstance(block, Group) and block.block_id not in waiting
    )
    index = next(i for i, storage in group.held if storage.node is other.known)
    other.drop(group.block_id + index)
    cluster.namenode.tick(1000)
    assert group.block_id in {signed64(info.block.blockId) for info in reconstructions(cluster)}


def test_no_more_targets_are_told_than_blocks_are_missing() -> None:
    """One has come back since: what is still missing is ordered anew."""
    cluster = Cluster(nodes=9)
    group = cluster.write()
    first = cluster.node(keeper(group, 0).identity.uuid)
    held = first.replicas[first.first_storage][group.block_id]
    lose(cluster, group, 0, 1)
    cluster.namenode.tick(1000)
    first.store(group.block_id, held.generation_stamp, held.length_bytes)
    [info] = reconstructions(cluster)
    missing = {0, 1, 2, 3, 4} - {*info.liveBlockIndices, *info.excludeReconstructedIndices}
    assert len(info.targetDnInfos.datanodes) <= len(missing)
    for index, target in zip(sorted(missing), info.targetDnInfos.datanodes, strict=False):
        cluster.node(target.id.datanodeUuid).store(
            group.block_id + index, group.generation_stamp, group.part(index).length_bytes
        )
    for _ in range(4):
        cluster.namenode.tick(1000)
        obey_deletions(cluster)
    assert [index for index, _ in group.held] == [0, 1, 2, 3, 4]


def test_a_leaving_holder_that_is_busy_is_asked_later() -> None:
    cluster = Cluster(nodes=8)
    group = cluster.write()
    leaving = keeper(group, 3)
    busy(cluster, group, 3)
    leave(cluster, leaving)
    cluster.namenode.tick(30_000)
    assert group.block_id + 3 not in transfers(cluster)
    leaving.to_transfer.clear()
    cluster.namenode.tick(30_000)
    assert transfers(cluster) == [group.block_id + 3]
