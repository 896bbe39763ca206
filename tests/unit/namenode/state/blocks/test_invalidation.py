"""Replicas that are ordered deleted, and when the order is taken back (FS-015)."""

from __future__ import annotations

from typing import Any

import pytest

from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.state.blocks import invalidation
from howdah.namenode.state.blocks.datanodes import Storage
from howdah.namenode.state.blocks.invalidation import MAX_QUEUED_BY_REPORTS
from howdah.namenode.state.blocks.pending_reports import ReplicaState, ReportedReplica
from howdah.namenode.state.inodes import report_fast_path
from howdah.namenode.state.inodes.inodes import Block
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import datanode_namenode_pb2 as dn
from howdah.proto import types_pb2
from howdah.testing.in_memory import POOL_ID, InMemoryDatanode, Replica

Nodes = list[InMemoryDatanode]
INVALIDATE = dn.BlockCommandProto.INVALIDATE


@pytest.fixture
def settings() -> Settings:
    return Settings("", min_block_size_bytes=512, heartbeat_expiry_ms=60_000)


@pytest.fixture
def block(client: Any, nodes: Nodes) -> Block:
    """Of a file with three replicas."""
    block: Block = client.write("/a", 10, replication=3).blocks[0]
    return block


def told(node: InMemoryDatanode) -> list[int]:
    """A heartbeat: the blocks that it is told to delete."""
    return [
        told.blockId
        for command in node.heartbeat()
        if command.blkCmd.action == INVALIDATE
        for told in command.blkCmd.blocks
    ]


def dies(node: InMemoryDatanode) -> None:
    node.known.last_heartbeat_ms -= 100_000
    node.namenode.tick()


def comes_back(node: InMemoryDatanode) -> None:
    node.register()
    node.heartbeat()
    node.report()


def counted(block: Block) -> set[str]:
    return {storage.node.identity.uuid for storage in block.replicas}


def drop_one(client: Any, nodes: Nodes, replication: int = 2) -> tuple[InMemoryDatanode, Nodes]:
    """The replication is lowered: which node is to delete its replica, and the others."""
    client.set_replication("/a", replication)
    client.namenode.tick()
    (victim,) = [node for node in nodes if node.known.invalidated]
    return victim, [node for node in nodes if node is not victim]


# The last ones stay.


def test_a_replica_that_became_the_last_while_its_order_waited_stays(
    client: Any, nodes: Nodes, block: Block
) -> None:
    victim, others = drop_one(client, nodes)
    for node in others:
        dies(node)
    assert told(victim) == []
    assert counted(block) == {victim.uuid}


@pytest.mark.parametrize("reports", [False, True], ids=["silent", "reports"])
def test_a_replica_whose_order_was_lost_counts_again_when_it_became_the_last(
    client: Any, nodes: Nodes, block: Block, reports: bool
) -> None:
    victim, others = drop_one(client, nodes)
    assert told(victim) == [block.block_id], "and nobody gets the answer"
    for node in others:
        dies(node)
    if reports:
        victim.report()
    client.namenode.tick()
    assert told(victim) == []
    assert counted(block) == {victim.uuid}
    assert client.locations("/a").blocks[0].locs[0].id.datanodeUuid == victim.uuid


def test_a_replica_that_is_reported_although_it_was_to_go_is_told_again(
    client: Any, nodes: Nodes, block: Block
) -> None:
    victim, _ = drop_one(client, nodes)
    assert told(victim) == [block.block_id], "and nobody gets the answer"
    assert told(victim) == []
    victim.report()
    assert told(victim) == [block.block_id]


def test_what_may_still_be_deleted_goes_first_when_there_are_too_many_again(
    client: Any, nodes: Nodes, block: Block
) -> None:
    """The order was only slow; had another replica gone instead, both were gone."""
    victim, others = drop_one(client, nodes)
    told(victim)
    dies(others[0])
    victim.report()
    assert counted(block) == {victim.uuid, others[1].uuid}
    client.set_replication("/a", 1)
    client.namenode.tick()
    assert [told(node) for node in (victim, others[1])] == [[block.block_id], []]


def test_nothing_goes_on_the_strength_of_what_may_still_be_deleted(
    client: Any, nodes: Nodes, block: Block
) -> None:
    victim, others = drop_one(client, nodes)
    told(victim)
    for node in others:
        dies(node)
    victim.report()
    comes_back(others[0])
    client.set_replication("/a", 1)
    client.namenode.tick()
    assert told(others[0]) == []
    assert told(victim) == [block.block_id]
    victim.drop(block.block_id)
    assert counted(block) == {others[0].uuid}


# What comes while an order is out.


def two_volumes(client: Any, nodes: Nodes, block: Block) -> tuple[InMemoryDatanode, Storage, str]:
    """A node that was told to delete its replica, where that was, and its other volume."""
    victim, _ = drop_one(client, nodes)
    there = "DS-another"
    victim.replicas[there] = {}
    assert told(victim) == [block.block_id]
    return victim, victim.known.invalidated[block.block_id].storage, there


def says_deleted(node: InMemoryDatanode, storage_id: str, block: Block) -> None:
    status = dn.ReceivedDeletedBlockInfoProto.DELETED
    node.report_replica(storage_id, block.block_id, block.generation_stamp, 10, status)


def test_a_node_that_has_nothing_to_delete_gets_copies_again(
    client: Any, nodes: Nodes, block: Block
) -> None:
    victim, others = drop_one(client, nodes)
    assert told(victim) == [block.block_id]
    victim.replicas[victim.first_storage].clear()
    says_deleted(victim, victim.first_storage, block)
    assert not victim.known.invalidated
    client.set_replication("/a", 3)
    client.namenode.tick()
    targets = [
        target.id.datanodeUuid
        for node in others
        for command in node.heartbeat()
        for infos in command.blkCmd.targets
        for target in infos.datanodes
    ]
    assert targets == [victim.uuid]


def test_a_replica_that_comes_back_after_the_deletion_counts(
    client: Any, nodes: Nodes, block: Block
) -> None:
    victim, before, there = two_volumes(client, nodes, block)
    says_deleted(victim, before.storage_id, block)
    victim.store(block.block_id, block.generation_stamp, 10, storage_id=there)
    assert victim.uuid in counted(block)


def test_a_replica_that_comes_back_before_the_deletion_is_heard_of_is_not_forgotten(
    client: Any, nodes: Nodes, block: Block
) -> None:
    """Hadoop's datanodes report by volume. Until now such a replica took its place on the disk,
    counted nowhere, and no other one came, until the next full report."""
    victim, before, there = two_volumes(client, nodes, block)
    victim.replicas[before.storage_id].clear()
    victim.store(block.block_id, block.generation_stamp, 10, storage_id=there)
    says_deleted(victim, before.storage_id, block)
    assert told(victim) == [block.block_id]
    victim.drop(block.block_id)
    assert not victim.known.invalidated
    assert victim.uuid not in counted(block)


def test_a_needed_replica_that_comes_back_before_the_deletion_is_heard_of_counts(
    client: Any, nodes: Nodes, block: Block
) -> None:
    victim, before, there = two_volumes(client, nodes, block)
    victim.replicas[before.storage_id].clear()
    for node in nodes:
        if node is not victim:
            dies(node)
    victim.store(block.block_id, block.generation_stamp, 10, storage_id=there)
    assert counted(block) == {victim.uuid}
    says_deleted(victim, before.storage_id, block)
    assert counted(block) == {victim.uuid}
    assert told(victim) == []


def test_a_good_replica_in_the_place_of_a_corrupt_one_is_not_forgotten(
    client: Any, nodes: Nodes, block: Block
) -> None:
    """The namenode cannot tell them apart: it has both deleted, and a copy made."""
    victim = nodes[2]
    victim.replicas["DS-another"] = {}
    client.namenode.namesystem.block_manager.blocks.found_corrupt(
        victim.known, block.block_id, block.generation_stamp
    )
    nodes[0].namenode.join("dn3")
    client.set_replication("/a", 2)
    client.namenode.tick()
    assert told(victim) == [block.block_id]
    victim.replicas[victim.first_storage].clear()
    victim.store(block.block_id, block.generation_stamp, 10, storage_id="DS-another")
    says_deleted(victim, victim.first_storage, block)
    assert told(victim) == [block.block_id]
    victim.drop(block.block_id)
    assert not victim.known.invalidated
    assert not block.corrupt


@pytest.mark.req("FS-015")
def test_a_replica_that_missed_what_was_appended_does_not_count_when_its_order_is_taken_back(
    client: Any, nodes: Nodes, block: Block
) -> None:
    """It was in excess when the others were appended to. Taken for a good one, it would have been
    what is left when there are too many again."""
    victim, others = drop_one(client, nodes)
    old = types_pb2.ExtendedBlockProto(
        poolId=POOL_ID, blockId=block.block_id, generationStamp=block.generation_stamp, numBytes=10
    )
    client.append("/a")
    asked = pb.UpdateBlockForPipelineRequestProto(block=old, clientName=client.name)
    new = types_pb2.ExtendedBlockProto()
    new.CopyFrom(client.call("updateBlockForPipeline", asked).block.b)
    for node in others:
        node.store(block.block_id, new.generationStamp, 20)
    client.call(
        "updatePipeline",
        pb.UpdatePipelineRequestProto(
            clientName=client.name,
            oldBlock=old,
            newBlock=new,
            newNodes=[node.registration().datanodeID for node in others],
            storageIDs=[node.first_storage for node in others],
        ),
    )
    new.numBytes = 20
    assert client.complete("/a", new)
    client.set_replication("/a", 3)
    assert told(victim) == [block.block_id]
    assert counted(block) == {node.uuid for node in others}


# Doubt.


@pytest.mark.req("FS-015")
def test_nothing_goes_while_another_holder_has_not_told_what_it_has(
    client: Any, nodes: Nodes, block: Block
) -> None:
    """It registered anew: the namenode that ran before may have told it to delete its own."""
    for node in nodes[1:]:
        node.register()
        node.heartbeat()
    client.set_replication("/a", 2)
    client.namenode.tick()
    assert [told(node) for node in nodes] == [[], [], []]
    nodes[1].report()
    client.namenode.tick()
    assert [told(node) for node in nodes] == [[], [], [block.block_id]]


def test_a_report_that_breaks_off_leaves_doubt(client: Any, nodes: Nodes, block: Block) -> None:
    storage = nodes[0].known.storages[nodes[0].first_storage]
    assert storage.reported
    blocks = client.namenode.namesystem.block_manager.blocks
    listed = ReportedReplica(block.block_id, 10, block.generation_stamp, ReplicaState.FINALIZED)
    report = blocks.full_report(storage, [listed] * 3000)
    next(report)
    assert not storage.reported, "there may be more"
    report.close()
    assert not storage.reported
    for node in nodes[1:]:
        dies(node)
    nodes[0].report()
    assert storage.reported


def test_a_report_from_before_a_registration_says_nothing_after_it(
    client: Any, nodes: Nodes, block: Block
) -> None:
    storage = nodes[0].known.storages[nodes[0].first_storage]
    listed = ReportedReplica(block.block_id, 10, block.generation_stamp, ReplicaState.FINALIZED)
    report = client.namenode.namesystem.block_manager.blocks.full_report(storage, [listed] * 3000)
    next(report)
    nodes[0].register()
    for _ in report:
        continue
    assert not storage.reported


def test_a_bad_replica_stays_as_long_as_no_good_one_is_certain(
    client: Any, nodes: Nodes, block: Block
) -> None:
    nodes[2].drop(block.block_id)
    nodes[2].store(block.block_id, block.generation_stamp - 1, 4)
    for node in nodes[:2]:
        dies(node)
    assert told(nodes[2]) == []
    comes_back(nodes[0])
    comes_back(nodes[1])
    client.set_replication("/a", 2)
    client.namenode.tick()
    assert told(nodes[2]) == [block.block_id]


def test_bad_replicas_make_room_for_copies_of_one_that_is_in_doubt(
    client: Any, nodes: Nodes, block: Block
) -> None:
    victim, others = drop_one(client, nodes)
    assert told(victim) == [block.block_id], "and nobody gets the answer"
    for node in others:
        node.drop(block.block_id)
        node.store(block.block_id, block.generation_stamp - 1, 4)
    victim.report()
    assert counted(block) == {victim.uuid}
    for _ in range(2):
        client.namenode.tick(3000)
    assert [told(node) for node in others] == [[block.block_id], [block.block_id]]


# Replicas from the future: no stamp as high was given out here.


@pytest.mark.parametrize("by_news", [True, False])
@pytest.mark.parametrize("native", [True, False])
def test_a_replica_with_a_stamp_that_was_never_given_out_is_kept(
    client: Any,
    nodes: Nodes,
    block: Block,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    native: bool,
    by_news: bool,
) -> None:
    """Another namenode may have become active since, and have added the block."""
    if not native:
        monkeypatch.setattr(report_fast_path, "kernel", lambda: None)
    node, last = nodes[0], client.namenode.namesystem.namespace.generation_stamp
    replicas = {block.block_id + n: Replica(last + n - 2, 4) for n in range(1, 5)}
    if by_news:
        for block_id, replica in replicas.items():
            node.store(block_id, replica.generation_stamp, 4)
    else:
        node.replicas[node.first_storage].update(replicas)
        node.report()
    assert told(node) == [block.block_id + 1, block.block_id + 2], "of deleted files"
    assert f"generation stamp {last} was given out last" in caplog.text
    assert len(caplog.records) == 1, "not for each report"


def test_newer_replicas_of_a_block_are_kept_though_there_are_others(
    client: Any, nodes: Nodes, block: Block
) -> None:
    last = client.namenode.namesystem.namespace.generation_stamp
    nodes[0].drop(block.block_id)
    nodes[0].store(block.block_id, last + 1, 11)
    client.set_replication("/a", 2)
    for _ in range(3):
        client.namenode.tick()
        assert [told(node) for node in nodes[:3]] == [[], [], []]
    assert nodes[0].uuid not in counted(block)


@pytest.mark.parametrize("native", [True, False])
def test_replicas_from_the_future_are_deleted_when_an_administrator_says_so(
    client: Any, nodes: Nodes, block: Block, monkeypatch: pytest.MonkeyPatch, native: bool
) -> None:
    if not native:
        monkeypatch.setattr(report_fast_path, "kernel", lambda: None)
    node, last = nodes[0], client.namenode.namesystem.namespace.generation_stamp
    node.store(77, last + 1, 4)
    client.call("setSafeMode", pb.SetSafeModeRequestProto(action=pb.SAFEMODE_FORCE_EXIT))
    assert told(node) == [77]
    node.replicas[node.first_storage][78] = Replica(last + 1, 4)
    node.report()
    assert sorted(told(node)) == [77, 78]


def test_a_new_block_gets_no_id_under_which_there_is_a_replica_from_the_future(
    client: Any, nodes: Nodes, block: Block
) -> None:
    for more in (1, 2, 4):
        nodes[0].store(block.block_id + more, block.generation_stamp + 9, 4)
    new = [block.block_id for block in client.write("/b", 10, 10).blocks]
    assert new == [block.block_id + 3, block.block_id + 5]


# Mass deletion.


def test_a_heartbeat_takes_no_more_deletions_than_the_limit(client: Any, nodes: Nodes) -> None:
    client.write("/many", *[10] * 7, replication=3)
    client.delete("/many")
    taken = client.namenode.namesystem.block_manager.blocks.invalidation.pop_orders(
        nodes[0].known, 5
    )
    assert len(taken) == 5
    assert len(told(nodes[0])) == 2
    assert told(nodes[0]) == []


def test_replicas_that_no_file_has_are_not_indexed(client: Any, nodes: Nodes) -> None:
    client.write("/many", *[10] * 7, replication=3)
    client.delete("/many")
    assert [len(node.known.orphaned) for node in nodes] == [7, 7, 7]
    assert [len(node.known.invalidated) for node in nodes] == [0, 0, 0]
    assert client.namenode.namesystem.datanode_manager.datanodes.pending_deletions == 21


def test_what_reports_name_does_not_fill_the_memory(client: Any, nodes: Nodes) -> None:
    orphaned = nodes[0].known.orphaned
    for number in range(MAX_QUEUED_BY_REPORTS):
        orphaned.add(number, 1)
    nodes[0].replicas[nodes[0].first_storage] = {}
    nodes[0].store(77, 1001, 4)
    assert len(orphaned) == MAX_QUEUED_BY_REPORTS


@pytest.mark.parametrize("native", [True, False])
def test_a_full_report_of_replicas_that_no_file_has_has_them_deleted(
    client: Any, nodes: Nodes, block: Block, monkeypatch: pytest.MonkeyPatch, native: bool
) -> None:
    if not native:
        monkeypatch.setattr(report_fast_path, "kernel", lambda: None)
    node = nodes[0]
    replicas = node.replicas[node.first_storage]
    unknown = {number: Replica(number % 1000, 4) for number in range(1, 3000)}
    unknown[7].finalized = False
    replicas.update(unknown)
    node.report()
    assert sorted(node.known.orphaned) == [(number, number % 1000) for number in unknown]
    assert node.uuid in counted(block)
    assert told(node)[:5] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("native", [True, False])
def test_a_full_report_does_not_fill_the_memory_with_what_no_file_has(
    client: Any, nodes: Nodes, monkeypatch: pytest.MonkeyPatch, native: bool
) -> None:
    if not native:
        monkeypatch.setattr(report_fast_path, "kernel", lambda: None)
    monkeypatch.setattr(invalidation, "MAX_QUEUED_BY_REPORTS", 5)
    node = nodes[0]
    node.replicas[node.first_storage].update({number: Replica(1000, 4) for number in range(1, 9)})
    node.report()
    assert [block_id for block_id, _ in node.known.orphaned] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("number", [(1 << 63), (1 << 64) - 1])
def test_any_number_of_a_replica_is_told_as_it_came(client: Any, nodes: Nodes, number: int) -> None:
    node = nodes[0]
    node.namenode.call(
        "blockReceivedAndDeleted",
        dn.BlockReceivedAndDeletedRequestProto(
            registration=node.registration(),
            blockPoolId=POOL_ID,
            blocks=[
                dn.StorageReceivedDeletedBlocksProto(
                    storageUuid=node.first_storage,
                    blocks=[
                        dn.ReceivedDeletedBlockInfoProto(
                            block=types_pb2.BlockProto(
                                blockId=number >> 1, genStamp=number, numBytes=number
                            ),
                            status=dn.ReceivedDeletedBlockInfoProto.RECEIVED,
                        )
                    ],
                )
            ],
        ),
        address=node.ip,
    )
    assert told(node) == [number >> 1]  # Half of them are of block groups.


def test_no_order_is_kept_for_a_storage_that_is_out_of_reach(
    client: Any, nodes: Nodes, block: Block
) -> None:
    storage = next(iter(block.replicas))
    node = storage.node
    del node.storages[storage.storage_id]
    block_map = nodes[0].namenode.namesystem.block_manager.blocks
    block_map.invalidation.invalidate(storage, block.block_id, block.generation_stamp)
    assert (dict(node.invalidated), list(node.to_invalidate)) == ({}, [])
