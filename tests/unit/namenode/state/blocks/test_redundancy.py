"""Blocks that need something: their queues, their figures, and what a round costs (FS-015)."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.state.blocks.reconstruction import BlockCounts
from howdah.namenode.state.blocks.redundancy import MOST_FRESH, BlockQueue, Need
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import datanode_namenode_pb2 as dn
from howdah.testing.in_memory import InMemoryDatanode, InMemoryNamenode

Nodes = list[InMemoryDatanode]


# BlockQueue.


def test_each_takes_its_turn() -> None:
    turns = BlockQueue()
    for number in range(5):
        turns.add(number)
    assert [turns.pop(2) for _ in range(5)] == [[4, 3], [2, 1], [0, 1], [2, 3], [4, 0]]


def test_what_changed_is_next() -> None:
    turns = BlockQueue()
    for number in range(100):
        turns.add(number)
    turns.pop(30)
    turns.add(7)
    assert turns.pop(2) == [7, 69]


def test_all_have_a_turn_though_others_change_all_the_time() -> None:
    turns = BlockQueue()
    for number in range(3 * MOST_FRESH):
        turns.add(number)
    taken = set[int]()
    for changed in range(2, 5 * MOST_FRESH, 2):
        turns.discard(changed - 2)
        turns.add(changed)
        taken |= set(turns.pop(2))
    assert taken >= set(range(1, 3 * MOST_FRESH, 2))


def test_none_is_taken_twice_at_once() -> None:
    turns = BlockQueue()
    for _ in range(3):
        for number in range(3):
            turns.add(number)
    assert sorted(turns.pop(100)) == [0, 1, 2]


def test_what_was_discarded_is_not_taken() -> None:
    turns = BlockQueue()
    for number in range(3):
        turns.add(number)
    turns.discard(1)
    assert sorted(turns.pop(100)) == [0, 2]
    assert sorted(turns) == [0, 2]


def test_a_queue_does_not_grow_with_changes() -> None:
    turns = BlockQueue()
    for _ in range(MOST_FRESH // 4):
        for number in range(10):
            turns.discard(number)
            turns.add(number)
    assert len(turns._fresh) <= MOST_FRESH
    assert sorted(turns.pop(100)) == list(range(10))


def test_many_missing_blocks_take_a_bit_each_or_so() -> None:
    turns = BlockQueue()
    first, count = 1 << 30, 100_000
    held = []
    tracemalloc.start()
    for begin in (first, first + count):
        for number in range(begin, begin + count):
            turns.add(number)
        held.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert len(turns) == 2 * count
    # What is fresh is kept otherwise, but no more of it than so many.
    assert held[1] - held[0] < count // 4


# Figures.


@pytest.fixture
def settings() -> Settings:
    return Settings("", min_block_size_bytes=512, heartbeat_expiry_ms=60_000)


def counts(namenode: InMemoryNamenode) -> BlockCounts:
    return namenode.namesystem.block_manager.reconstruction.counts()


def test_figures_follow_what_happens(client: Any, nodes: Nodes) -> None:
    namenode = client.namenode
    client.write("/one", 10, replication=1)
    three = client.write("/three", 10, replication=3).blocks[0]
    assert counts(namenode) == BlockCounts()
    nodes[0].drop(three.block_id)
    assert counts(namenode).low_redundancy == 1
    nodes[1].drop(three.block_id)
    assert counts(namenode).last_replica == 1
    nodes[2].drop(three.block_id)
    assert (counts(namenode).low_redundancy, counts(namenode).missing) == (0, 1)
    for node in nodes:
        for replicas in node.replicas.values():
            for block_id in list(replicas):
                node.drop(block_id)
    assert (counts(namenode).missing, counts(namenode).missing_single) == (2, 1)
    client.delete("/three")
    assert counts(namenode) == BlockCounts(missing=1, missing_single=1)
    client.delete("/one")
    assert counts(namenode) == BlockCounts()


def test_a_block_that_nobody_reported_since_the_start_is_missing(client: Any, nodes: Nodes) -> None:
    client.write("/a", 10, replication=3)
    fresh = client.namenode.restarted()
    fresh.namesystem.safe_mode.leave()
    fresh.tick()
    assert counts(fresh).missing == 1


def test_figures_cost_nothing_per_block(
    client: Any, nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        client.write(f"/f{number}", 10, replication=3)
    for block_id in list(nodes[0].replicas[nodes[0].first_storage]):
        nodes[0].drop(block_id)
    counts(client.namenode)

    def no_walk(block_id: int) -> None:
        raise AssertionError("a block is looked at again, though nothing changed")

    monkeypatch.setattr(client.namenode.namesystem.block_manager.reconstruction, "_sort", no_walk)
    assert counts(client.namenode).low_redundancy == 20


# Rounds.


def test_a_round_looks_at_so_many_blocks_that_nothing_can_be_done_about(
    client: Any, nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All in turn; and one of which something changed comes first."""
    reconstruction = client.namenode.namesystem.block_manager.reconstruction
    for number in range(20):
        client.write(f"/f{number}", 10, replication=3)
        client.set_replication(f"/f{number}", 5)
    client.namenode.tick()
    looked: list[int] = []
    monkeypatch.setattr(
        reconstruction, "_reconstruct", lambda block, now_ms: looked.append(block.block_id)
    )
    monkeypatch.setattr(reconstruction, "_max_blocks", 4)
    for _ in range(5):
        before = len(looked)
        client.namenode.tick(3000)
        assert len(looked) - before == 4
    assert len(set(looked)) == 20
    changed = looked[-1]
    client.namenode.namesystem.block_manager.blocks.redundancy.note(changed)
    client.namenode.tick(3000)
    assert looked[20] == changed


def test_blocks_with_one_replica_come_first_and_take_no_place_from_others(
    client: Any, nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    reconstruction = client.namenode.namesystem.block_manager.reconstruction
    for number in range(6):
        block = client.write(f"/f{number}", 10, replication=3).blocks[0]
        for node in nodes[: 2 if number % 2 else 1]:
            node.drop(block.block_id)
    monkeypatch.setattr(reconstruction, "_max_blocks", 2)
    looked: list[int] = []
    monkeypatch.setattr(
        reconstruction, "_reconstruct", lambda block, now_ms: looked.append(block.replica_count)
    )
    client.namenode.tick(3000)
    assert looked == [1, 1, 2, 2]
    assert len(client.namenode.namesystem.block_manager.blocks.redundancy.queues[Need.HIGHEST]) == 3


# Snapshots.


@pytest.fixture
def kept(client: Any, nodes: Nodes) -> Any:
    """A file with three replicas, in a snapshot."""
    client.mkdirs("/d")
    client.write("/d/f", 10, replication=3)
    client.call("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot="/d"))
    request = pb.CreateSnapshotRequestProto(snapshotRoot="/d", snapshotName="s1")
    client.call("createSnapshot", request)
    return client


def deletions(nodes: Nodes) -> int:
    """How many replicas the nodes are told to delete, after a round."""
    nodes[0].namenode.tick(3000)
    return sum(
        len(command.blkCmd.blocks)
        for node in nodes
        for command in node.heartbeat()
        if command.blkCmd.action == dn.BlockCommandProto.INVALIDATE
    )


def drop_snapshot(client: Any) -> None:
    request = pb.DeleteSnapshotRequestProto(snapshotRoot="/d", snapshotName="s1")
    client.call("deleteSnapshot", request)


@pytest.mark.req("FS-015")
def test_replicas_stay_as_long_as_a_snapshots_file_has_them(kept: Any, nodes: Nodes) -> None:
    kept.set_replication("/d/f", 1)
    assert deletions(nodes) == 0
    drop_snapshot(kept)
    assert deletions(nodes) == 2


def test_a_lost_replica_is_replaced_up_to_what_the_snapshot_has(kept: Any, nodes: Nodes) -> None:
    kept.set_replication("/d/f", 1)
    (block,) = kept.namenode.namesystem.namespace.blocks.values()
    nodes[0].drop(block.block_id)
    assert counts(kept.namenode).low_redundancy == 1


def test_replicas_of_a_file_that_only_a_snapshot_has_go_when_it_wants_fewer(
    kept: Any, nodes: Nodes
) -> None:
    nodes += [kept.namenode.join(f"more{number}") for number in range(2)]
    kept.set_replication("/d/f", 5)
    (block,) = kept.namenode.namesystem.namespace.blocks.values()
    for node in nodes[3:]:
        node.store(block.block_id, block.generation_stamp, 10)
    kept.delete("/d/f")
    while kept.namenode.namesystem.reap():
        continue
    assert deletions(nodes) == 2
    drop_snapshot(kept)
    assert deletions(nodes) == 3


def test_replicas_of_a_block_that_only_a_snapshot_has_are_kept_too(kept: Any, nodes: Nodes) -> None:
    kept.append("/d/f", new_block=True)
    last = kept.store(kept.add_block("/d/f", kept.locations("/d/f").blocks[0].b), 7)
    kept.complete("/d/f", last)
    kept.call("createSnapshot", pb.CreateSnapshotRequestProto(snapshotRoot="/d", snapshotName="s2"))
    assert kept.truncate("/d/f", 10)
    kept.set_replication("/d/f", 1)
    assert deletions(nodes) == 0


def test_a_round_orders_copies_of_so_many_blocks_for_each_node(
    client: Any, nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that are given up cost nothing: a block that nothing can be done about takes no
    other block's place."""
    namenode = client.namenode
    monkeypatch.setattr(namenode.namesystem.block_manager.reconstruction, "_blocks_per_node", 1)
    for number in range(20):
        client.write(f"/f{number}", 10, replication=3)
        client.set_replication(f"/f{number}", 4)
    namenode.tick()
    assert namenode.namesystem.block_manager.reconstruction.pending_count == 0
    namenode.join("new")
    namenode.tick()
    assert namenode.namesystem.block_manager.reconstruction.pending_count == 4


def test_fewer_than_a_third_of_the_expected_replicas_are_very_few(client: Any) -> None:
    nodes = [client.namenode.join(f"dn{n}") for n in range(7)]
    block = client.write("/f", 10, replication=7).blocks[0]
    for node, expected in zip(
        nodes,
        ["low", "low", "low", "low", "very_low", "last_replica", "missing"],
        strict=True,
    ):
        node.drop(block.block_id)
        assert counts(client.namenode) == BlockCounts(**dict[str, Any]({expected: 1}))


def test_excess_that_may_not_go_yet_is_postponed(client: Any, nodes: Nodes) -> None:
    """A storage that has not reported in full since its node is back may lose the others'."""
    namenode = client.namenode
    block = client.write("/f", 10, replication=3).blocks[0]
    for node in nodes:
        node.register()
        node.heartbeat()
    client.set_replication("/f", 1)
    namenode.tick()
    assert (counts(namenode).postponed, counts(namenode).excess) == (1, 0)
    for node in nodes:
        node.report()
    namenode.tick()
    assert (counts(namenode).postponed, counts(namenode).excess) == (0, 2)
    for node in nodes:
        if block.block_id in node.known.invalidated:
            node.heartbeat()
            node.drop(block.block_id)
    assert counts(namenode) == BlockCounts()


def test_a_block_that_is_deleted_is_postponed_no_more(client: Any, nodes: Nodes) -> None:
    client.write("/f", 10, replication=3)
    for node in nodes:
        node.register()
    client.set_replication("/f", 1)
    client.namenode.tick()
    assert counts(client.namenode).postponed == 1
    client.delete("/f")
    assert counts(client.namenode) == BlockCounts()
