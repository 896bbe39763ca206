"""Attempts to recover an open block, and what may come of them."""

from __future__ import annotations

from typing import Any

import pytest

from howdah import errors
from howdah.formats.edits import edits
from howdah.namenode.service.writing import block_recovery
from howdah.namenode.state.edit_log.inotify import events_of
from howdah.namenode.state.inodes.file_blocks import MAX_BLOCK_BYTES
from howdah.namenode.state.inodes.inodes import Block, BlockState, File
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import datanode_namenode_pb2 as dn
from howdah.testing.in_memory import InMemoryDatanode, InMemoryNamenode, Replica

TIMEOUT_MS = 90_000
Nodes = list[InMemoryDatanode]


def found(namenode: InMemoryNamenode, path: str = "/a") -> File:
    file = namenode.namesystem.namespace.find(path)
    assert isinstance(file, File)
    return file


def pipeline(
    client: Any, nodes: Nodes, length: int = 7, synced: int = 7, path: str = "/a"
) -> Block:
    """The last block of an open file, with a replica that is being written on each node."""
    client.create(path, replication=3)
    located = client.add_block(path)
    for node in nodes:
        node.store(located.b.blockId, located.b.generationStamp, length, finalized=False)
    if synced:
        client.fsync(path, synced)
    return found(client.namenode, path).blocks[-1]


def pass_time(namenode: InMemoryNamenode, ms: int, nodes: Nodes | None = None) -> None:
    """These datanodes, or all, go on living."""
    namenode.clock.advance(ms)
    for node in namenode.nodes if nodes is None else nodes:
        node.known.last_heartbeat_ms = namenode.clock.monotonic_ms()
    namenode.tick()


def order_of(nodes: Nodes) -> tuple[InMemoryDatanode, dn.RecoveringBlockProto]:
    """The primary, and what it is told."""
    ((primary, order),) = ((node, order) for node in nodes for order in node.orders())
    return primary, order


@pytest.mark.req("AP-015", "AP-018", "AP-019", "AP-020", "AP-024", "AP-028")
def test_a_primary_is_told_the_block_its_places_and_a_new_stamp(client: Any, nodes: Nodes) -> None:
    block = pipeline(client, nodes)
    client.recover_lease("/a")
    _, order = order_of(nodes)
    assert (order.block.b.blockId, order.block.b.generationStamp) == (
        block.block_id,
        block.generation_stamp,
    )
    assert order.newGenStamp > block.generation_stamp
    assert {place.id.datanodeUuid for place in order.block.locs} == {"dn0", "dn1", "dn2"}
    assert not order.HasField("truncateBlock")


def test_the_order_says_how_much_was_synced(client: Any, nodes: Nodes) -> None:
    pipeline(client, nodes, length=9, synced=7)
    client.fsync("/a", 8)
    client.recover_lease("/a")
    _, order = order_of(nodes)
    assert order.block.b.numBytes == 8


def test_an_order_is_given_once(client: Any, nodes: Nodes) -> None:
    pipeline(client, nodes)
    client.recover_lease("/a")
    client.recover_lease("/a")
    order_of(nodes)
    assert [order for node in nodes for order in node.orders()] == []


@pytest.mark.req("AP-026", "AP-027", "AP-044")
def test_the_result_closes_the_file_and_dooms_replicas_elsewhere(client: Any, nodes: Nodes) -> None:
    block = pipeline(client, nodes)
    client.recover_lease("/a")
    primary, order = order_of(nodes)
    with_it, without = nodes[:2], nodes[2]
    primary.recover(order, 7, with_it)
    file = found(client.namenode)
    assert (file.writer, file.length_bytes, block.state) == (None, 7, BlockState.COMPLETE)
    assert block.generation_stamp == order.newGenStamp
    assert {s.node.identity.uuid for s in block.replicas} == {"dn0", "dn1"}
    client.namenode.tick()
    assert [c.blkCmd.blocks[0].blockId for c in without.heartbeat()] == [block.block_id]


def test_the_log_has_it_too(client: Any, nodes: Nodes) -> None:
    pipeline(client, nodes)
    client.recover_lease("/a")
    primary, order = order_of(nodes)
    primary.recover(order, 9, nodes)
    file = found(client.namenode.restarted())
    assert (file.writer, file.length_bytes) == (None, 9)
    assert file.blocks[0].generation_stamp == order.newGenStamp


@pytest.mark.req("AP-048")
def test_a_result_that_is_told_again_changes_nothing(client: Any, nodes: Nodes) -> None:
    pipeline(client, nodes)
    client.recover_lease("/a")
    primary, order = order_of(nodes)
    primary.recover(order, 7, nodes)
    log = len(client.namenode.log)
    primary.commit(order, 7, nodes)
    assert len(client.namenode.log) == log


@pytest.mark.req("AP-048")
def test_an_attempt_that_brings_nothing_is_followed_by_one_with_another_primary(
    client: Any, nodes: Nodes
) -> None:
    pipeline(client, nodes)
    client.recover_lease("/a")
    primaries = []
    stamps = []
    for _ in range(4):
        primary, order = order_of(nodes)
        primaries.append(primary.uuid)
        stamps.append(order.newGenStamp)
        pass_time(client.namenode, TIMEOUT_MS)
    assert set(primaries[:3]) == {"dn0", "dn1", "dn2"}
    assert stamps == sorted(set(stamps))


@pytest.mark.req("AP-048")
def test_only_the_latest_attempt_counts(client: Any, nodes: Nodes) -> None:
    block = pipeline(client, nodes)
    client.recover_lease("/a")
    first, old = order_of(nodes)
    pass_time(client.namenode, TIMEOUT_MS)
    second, new = order_of(nodes)
    with pytest.raises(errors.RemoteError) as caught:
        first.recover(old, 7, nodes)
    assert caught.value.message == (
        f"The recovery id {old.newGenStamp} does not match current recovery id "
        f"{new.newGenStamp} for block {block.name} of /a"
    )
    second.recover(new, 7, nodes)
    assert found(client.namenode).writer is None


@pytest.mark.req("AP-048")
def test_a_primary_that_starts_anew_is_replaced_at_once(client: Any, nodes: Nodes) -> None:
    pipeline(client, nodes)
    client.recover_lease("/a")
    primary, _ = order_of(nodes)
    primary.register()
    pass_time(client.namenode, 2000)
    second, _ = order_of(nodes)
    assert second is not primary


@pytest.mark.req("AP-048")
def test_a_primary_that_is_declared_dead_is_replaced_at_once(client: Any, nodes: Nodes) -> None:
    pipeline(client, nodes)
    client.recover_lease("/a")
    primary, _ = order_of(nodes)
    primary.known.last_heartbeat_ms -= client.namenode.namesystem.settings.heartbeat_expiry_ms
    others = [node for node in nodes if node is not primary]
    pass_time(client.namenode, 2000, others)
    second, order = order_of(others)
    assert {place.id.datanodeUuid for place in order.block.locs} == {n.uuid for n in others}
    assert second is not primary


def test_an_attempt_waits_for_a_datanode_that_has_the_block(client: Any, nodes: Nodes) -> None:
    pipeline(client, nodes)
    for node in nodes:
        node.known.last_heartbeat_ms -= client.namenode.namesystem.settings.heartbeat_expiry_ms
    pass_time(client.namenode, 1000, [])
    client.recover_lease("/a")
    nodes[1].register()
    nodes[1].heartbeat()
    nodes[1].report()
    client.namenode.clock.advance(2000)
    client.namenode.tick()
    primary, _ = order_of(nodes[1:2])
    assert primary is nodes[1]


def test_a_damaged_replica_is_asked_for_where_there_is_no_other(client: Any, nodes: Nodes) -> None:
    """Its datanode knows what of it is good; if that is nothing, the file is closed without."""
    client.create("/a", replication=3)
    located = client.add_block("/a")
    nodes[1].store(located.b.blockId, located.b.generationStamp, 7)
    for node in (nodes[0], nodes[2]):
        node.report()
    blocks = client.namenode.namesystem.block_manager.blocks
    blocks.found_corrupt(nodes[1].known, located.b.blockId, located.b.generationStamp)
    client.recover_lease("/a")
    for node in (nodes[0], nodes[2]):
        node.known.last_heartbeat_ms -= client.namenode.namesystem.settings.heartbeat_expiry_ms
    pass_time(client.namenode, TIMEOUT_MS, nodes[1:2])
    primary, order = order_of(nodes[1:2])
    assert [place.id.datanodeUuid for place in order.block.locs] == ["dn1"]
    primary.commit(order, 0, [], delete_block=True)
    file = found(client.namenode)
    assert (file.writer, len(file.blocks)) == (None, 0)


def test_a_damaged_replica_is_not_asked_for_where_there_are_others(
    client: Any, nodes: Nodes
) -> None:
    block = pipeline(client, nodes)
    nodes[1].store(block.block_id, block.generation_stamp, 7)
    blocks = client.namenode.namesystem.block_manager.blocks
    blocks.found_corrupt(nodes[1].known, block.block_id, block.generation_stamp)
    block.expected = tuple(s for s in block.expected if s.node is not nodes[1].known)
    client.recover_lease("/a")
    _, order = order_of(nodes)
    assert {place.id.datanodeUuid for place in order.block.locs} == {"dn0", "dn2"}


@pytest.mark.req("AP-047", "FS-126")
def test_a_replica_with_an_older_stamp_is_not_asked_for(client: Any, nodes: Nodes) -> None:
    """Where nobody else is there the recovery waits for those that may have the block."""
    block = pipeline(client, nodes, synced=0)
    nodes[0].replicas[nodes[0].first_storage][block.block_id] = Replica(
        block.generation_stamp - 1, 7, finalized=False, left_over=True
    )
    nodes[0].register()
    nodes[0].heartbeat()
    nodes[0].report()
    for node in nodes[1:]:
        node.known.last_heartbeat_ms -= client.namenode.namesystem.settings.heartbeat_expiry_ms
    pass_time(client.namenode, 1000, nodes[:1])
    client.recover_lease("/a")
    pass_time(client.namenode, 2000, nodes[:1])
    assert nodes[0].orders() == []
    nodes[1].register()
    nodes[1].heartbeat()
    nodes[1].report()
    pass_time(client.namenode, 2000, nodes[:2])
    primary, order = order_of(nodes)
    assert [place.id.datanodeUuid for place in order.block.locs] == [nodes[1].uuid]
    primary.recover(order, 7, nodes[1:2])
    assert found(client.namenode).length_bytes == 7


@pytest.mark.req("AP-048")
def test_a_block_without_a_byte_goes_with_the_edit_that_closes_its_file(
    client: Any, nodes: Nodes
) -> None:
    pipeline(client, nodes, length=0, synced=0)
    client.recover_lease("/a")
    primary, order = order_of(nodes)
    before = len(client.namenode.log)
    primary.commit(order, 0, [], delete_block=True)
    (edit,) = client.namenode.edits()[before:]
    assert isinstance(edit, edits.CloseOp)
    assert edit.blocks == ()


def test_a_result_without_an_attempt_is_refused(client: Any, nodes: Nodes) -> None:
    block = pipeline(client, nodes)
    order = dn.RecoveringBlockProto(newGenStamp=0)
    order.block.b.poolId = client.namenode.settings.block_pool_id
    order.block.b.blockId = block.block_id
    order.block.b.generationStamp = block.generation_stamp
    with pytest.raises(errors.RemoteError, match="does not match current recovery id 0"):
        nodes[0].commit(order, 0, nodes)


def test_a_result_for_a_file_that_was_deleted_is_refused(client: Any, nodes: Nodes) -> None:
    pipeline(client, nodes)
    client.recover_lease("/a")
    primary, order = order_of(nodes)
    client.delete("/a")
    with pytest.raises(errors.RemoteError, match="not found"):
        primary.recover(order, 7, nodes)
    primary.commit(order, 0, [], delete_block=True)


@pytest.mark.req("AP-049")
def test_no_result_is_taken_in_safe_mode(client: Any, nodes: Nodes) -> None:
    pipeline(client, nodes)
    client.recover_lease("/a")
    primary, order = order_of(nodes)
    client.namenode.namesystem.safe_mode.enter()
    with pytest.raises(errors.SafeMode):
        primary.recover(order, 7, nodes)


def test_a_result_may_leave_the_file_open(client: Any, nodes: Nodes) -> None:
    block = pipeline(client, nodes)
    client.recover_lease("/a")
    primary, order = order_of(nodes)
    for node in nodes:
        node.settle(block.block_id, order.newGenStamp, 7)
    primary.commit(order, 7, nodes, close_file=False)
    file = found(client.namenode)
    assert file.writer == client.namenode.leases.holder
    assert block.generation_stamp == order.newGenStamp
    pass_time(client.namenode, 2000)
    primary, order = order_of(nodes)
    primary.recover(order, 7, nodes)
    assert file.writer is None


# Bytes that were acknowledged.


@pytest.mark.req("AP-047", "FS-156")
def test_less_than_was_synced_is_refused_while_somebody_may_have_more(
    client: Any, nodes: Nodes
) -> None:
    pipeline(client, nodes, synced=7)
    client.recover_lease("/a")
    primary, order = order_of(nodes)
    with pytest.raises(
        errors.RemoteError, match=r"has 7 bytes that were acknowledged.*but datanode"
    ):
        primary.recover(order, 6, nodes[:2])
    assert found(client.namenode).length_bytes == 7
    assert found(client.namenode).writer == client.namenode.leases.holder
    pass_time(client.namenode, 10_000)
    primary, order = order_of(nodes)
    primary.recover(order, 7, nodes[2:])
    assert found(client.namenode).length_bytes == 7


@pytest.mark.req("AP-047", "XC-003")
def test_a_restarted_namenode_refuses_a_result_below_the_last_sync(
    client: Any, nodes: Nodes
) -> None:
    """Not only below the first one of the block."""
    block = pipeline(client, nodes, length=9, synced=7)
    client.fsync("/a", 9)
    client.recover_lease("/a")
    fresh = client.namenode.restarted()
    fresh.nodes = nodes
    for node in nodes:
        node.namenode = fresh
        node.replicas[node.first_storage][block.block_id] = Replica(
            block.generation_stamp, 8, finalized=False, left_over=True
        )
    for node in nodes[:2]:
        node.register()
        node.heartbeat()
        node.report()
    fresh.namesystem.safe_mode.leave()
    fresh.tick(2000)
    primary, order = order_of(nodes[:2])
    with pytest.raises(errors.RemoteError, match="has 9 bytes that were acknowledged"):
        primary.recover(order, 8, nodes[:2])


@pytest.mark.req("AP-047")
def test_a_block_with_synced_bytes_is_not_dropped_while_somebody_may_have_it(
    client: Any, nodes: Nodes
) -> None:
    pipeline(client, nodes)
    client.recover_lease("/a")
    primary, order = order_of(nodes)
    with pytest.raises(errors.RemoteError, match="acknowledged"):
        primary.commit(order, 0, [], delete_block=True)
    assert len(found(client.namenode).blocks) == 1


@pytest.mark.req("AP-047")
def test_after_a_start_no_block_is_dropped_while_a_datanode_has_yet_to_report(
    client: Any, nodes: Nodes
) -> None:
    block = pipeline(client, nodes, synced=0)
    client.recover_lease("/a")
    fresh = client.namenode.restarted()
    fresh.nodes = nodes
    for node in nodes:
        node.namenode = fresh
        node.register()
        node.heartbeat()
    nodes[0].replicas[nodes[0].first_storage][block.block_id] = Replica(
        block.generation_stamp, 0, finalized=False, left_over=True
    )
    nodes[0].report()
    fresh.namesystem.safe_mode.leave()
    fresh.clock.advance(fresh.settings.stale_datanode_ms)
    fresh.tick(2000)
    primary, order = order_of(nodes[:1])
    with pytest.raises(errors.RemoteError, match="has not reported yet"):
        primary.commit(order, 0, [], delete_block=True)
    for node in nodes[1:]:
        node.replicas[node.first_storage].clear()
        node.report()
    primary.commit(order, 0, [], delete_block=True)
    assert found(fresh).writer is None


@pytest.mark.req("AP-047")
def test_what_no_datanode_has_any_more_is_given_up_and_said_so(client: Any, nodes: Nodes) -> None:
    """After a power cut replicas may lack bytes that were flushed and not synced to disk."""
    block = pipeline(client, nodes, synced=7)
    for node, length in zip(nodes, (3, 5, 4), strict=True):
        node.replicas[node.first_storage][block.block_id] = Replica(
            block.generation_stamp, length, finalized=False, left_over=True
        )
        node.register()
        node.heartbeat()
        node.report()
    client.recover_lease("/a")
    primary, order = order_of(nodes)
    primary.recover(order, 5, nodes[1:2])
    said = client.namenode.tick(2000)
    assert any("no datanode that has come has more than 5 of them" in line for line in said)
    assert found(client.namenode).length_bytes == 5


@pytest.mark.req("AP-047")
def test_after_a_start_nothing_is_given_up_while_replicas_are_missing(
    client: Any, nodes: Nodes
) -> None:
    block = pipeline(client, nodes, synced=7)
    client.recover_lease("/a")
    fresh = client.namenode.restarted()
    fresh.nodes = nodes
    for node in nodes:
        node.namenode = fresh
        node.replicas[node.first_storage][block.block_id] = Replica(
            block.generation_stamp, 5, finalized=False, left_over=True
        )
    for node in nodes[:2]:
        node.register()
        node.heartbeat()
        node.report()
    fresh.namesystem.safe_mode.leave()
    fresh.tick(2000)
    primary, order = order_of(nodes[:2])
    with pytest.raises(errors.RemoteError, match=r"datanodes have .* more to come back"):
        primary.recover(order, 5, nodes[:2])
    nodes[2].register()
    nodes[2].heartbeat()
    nodes[2].report()
    pass_time(fresh, 10_000)
    primary, order = order_of(nodes)
    primary.recover(order, 5, nodes)
    assert found(fresh).length_bytes == 5


@pytest.mark.req("AP-047")
def test_after_a_start_bytes_are_given_up_when_those_that_lack_would_be_dead(
    client: Any, nodes: Nodes
) -> None:
    """A power cut of all machines may take what was flushed, with the names of its files: then
    nobody can say that there are as many replicas as there should be."""
    block = pipeline(client, nodes, synced=7)
    client.recover_lease("/a")
    fresh = client.namenode.restarted()
    fresh.nodes = nodes
    for node in nodes:
        node.namenode = fresh
        node.replicas[node.first_storage].pop(block.block_id, None)
    nodes[0].replicas[nodes[0].first_storage][block.block_id] = Replica(
        block.generation_stamp, 5, finalized=False, left_over=True
    )
    for node in nodes:
        node.register()
        node.heartbeat()
        node.report()
    fresh.namesystem.safe_mode.leave()
    fresh.tick(2000)
    primary, order = order_of(nodes)
    with pytest.raises(errors.RemoteError, match=r"datanodes have .* more to come back"):
        primary.recover(order, 5, nodes[:1])
    pass_time(fresh, fresh.namesystem.settings.heartbeat_expiry_ms)
    primary, order = order_of(nodes)
    primary.recover(order, 5, nodes[:1])
    assert (found(fresh).writer, found(fresh).length_bytes) == (None, 5)


@pytest.mark.req("AP-047")
def test_a_node_that_has_lost_its_replica_is_not_waited_for(client: Any, nodes: Nodes) -> None:
    """A power cut may take the file's name; the node reports what it has then."""
    block = pipeline(client, nodes, synced=7)
    del nodes[2].replicas[nodes[2].first_storage][block.block_id]
    nodes[1].replicas[nodes[1].first_storage][block.block_id] = Replica(
        block.generation_stamp, 5, finalized=False, left_over=True
    )
    nodes[0].replicas[nodes[0].first_storage][block.block_id] = Replica(
        block.generation_stamp, 4, finalized=False, left_over=True
    )
    for node in nodes:
        node.register()
        node.heartbeat()
        node.report()
    client.recover_lease("/a")
    primary, order = order_of(nodes)
    primary.recover(order, 5, nodes[1:2])
    assert (found(client.namenode).writer, found(client.namenode).length_bytes) == (None, 5)


@pytest.mark.req("FS-126")
def test_a_node_that_has_lost_its_replica_may_get_another(client: Any, nodes: Nodes) -> None:
    block = pipeline(client, nodes)
    del nodes[2].replicas[nodes[2].first_storage][block.block_id]
    nodes[2].register()
    nodes[2].heartbeat()
    nodes[2].report()
    client.recover_lease("/a")
    primary, order = order_of(nodes)
    primary.recover(order, 7, nodes[:2])
    assert block.block_id not in nodes[2].known.invalidated


@pytest.mark.req("AP-014")
def test_a_block_without_a_byte_is_dropped(client: Any, nodes: Nodes) -> None:
    block = pipeline(client, nodes, length=0, synced=0)
    client.recover_lease("/a")
    primary, order = order_of(nodes)
    primary.commit(order, 0, [], delete_block=True)
    file = found(client.namenode)
    assert (file.writer, list(file.blocks)) == (None, [])
    client.namenode.tick()
    assert all(node.heartbeat()[0].blkCmd.blocks[0].blockId == block.block_id for node in nodes)
    primary.commit(order, 0, [], delete_block=True)


def test_a_result_may_be_longer_than_the_files_block_size(client: Any, nodes: Nodes) -> None:
    """HBase's write-ahead log while the namenode is away: it goes on in its one block."""
    pipeline(client, nodes, length=500_000, synced=7)
    client.recover_lease("/a")
    primary, order = order_of(nodes)
    primary.recover(order, 500_000, nodes)
    file = found(client.namenode)
    assert (file.writer, file.length_bytes) == (None, 500_000)


def test_a_result_of_a_length_that_no_block_has_is_refused(client: Any, nodes: Nodes) -> None:
    pipeline(client, nodes)
    client.recover_lease("/a")
    primary, order = order_of(nodes)
    with pytest.raises(errors.RemoteError, match="no block has"):
        primary.recover(order, MAX_BLOCK_BYTES + 1, nodes)
    assert any("no block has" in line for line in client.namenode.tick())


def test_the_reason_of_a_refused_result_is_in_the_log(client: Any, nodes: Nodes) -> None:
    pipeline(client, nodes, length=9, synced=9)
    nodes[2].known.alive = False
    client.recover_lease("/a")
    primary, order = order_of(nodes[:2])
    with pytest.raises(errors.RemoteError, match="took no part"):
        primary.recover(order, 7, nodes[:2])
    (line,) = [line for line in client.namenode.tick() if "refused" in line]
    name = f"blk_{order.block.b.blockId}_{order.block.b.generationStamp}"
    assert line == (
        f"block recovery of {name} of /a by {primary.known.name} is refused: {name} of /a "
        "has 9 bytes that were acknowledged, its datanodes come with 7; but datanode "
        f"{nodes[2].known.name} took no part (attempt 1, the next one follows in 10 s)"
    )


def test_a_result_at_no_known_datanode_is_refused(client: Any, nodes: Nodes) -> None:
    pipeline(client, nodes)
    client.recover_lease("/a")
    primary, order = order_of(nodes)
    with pytest.raises(errors.RemoteError, match="at no datanode that is known"):
        primary.commit(order, 7, [])


@pytest.mark.req("AP-035")
def test_the_last_block_waits_until_the_one_before_is_safe(
    client: Any, nodes: Nodes, named: Any
) -> None:
    client.create("/a")
    first = client.add_block("/a")
    first.b.numBytes = 1024
    second = client.add_block("/a", first.b)
    for node in nodes:
        node.store(second.b.blockId, second.b.generationStamp, 3, finalized=False)
    client.recover_lease("/a")
    assert [order for node in nodes for order in node.orders()] == []
    nodes[0].store(first.b.blockId, first.b.generationStamp, 1024)
    pass_time(client.namenode, 2000)
    primary, order = order_of(nodes)
    primary.recover(order, 3, nodes)
    assert found(client.namenode).length_bytes == 1027


def test_readers_find_the_block_while_it_is_recovered(client: Any, nodes: Nodes) -> None:
    pipeline(client, nodes)
    client.recover_lease("/a")
    order_of(nodes)
    located = client.locations("/a")
    assert located.underConstruction
    assert not located.isLastBlockComplete
    assert len(located.lastBlock.locs) == 3


def test_a_heartbeat_takes_home_a_bounded_number_of_orders(
    client: Any, nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that died with many open files fills no heartbeat's answer with megabytes."""
    monkeypatch.setattr(block_recovery, "ORDERS_PER_HEARTBEAT", 2)
    for number in range(5):
        client.create(f"/f{number}")
        located = client.add_block(f"/f{number}")
        nodes[0].store(located.b.blockId, located.b.generationStamp, 7, finalized=False)
        client.fsync(f"/f{number}", 7)
    for number in range(5):
        client.recover_lease(f"/f{number}")
    told = [[len(node.orders()) for node in nodes] for _ in range(5)]
    assert max(count for each in told for count in each) <= 2
    assert sum(count for each in told for count in each) == 5


def test_the_log_says_why_the_next_attempt_follows(client: Any, nodes: Nodes) -> None:
    block = pipeline(client, nodes)
    name, namenode = block.name, client.namenode
    client.recover_lease("/a")
    first, _ = order_of(nodes)

    def lines() -> list[str]:
        return [line for line in namenode.tick() if "attempt" in line]

    assert lines() == []
    pass_time(namenode, TIMEOUT_MS - 5000)
    namenode.clock.advance(5000)
    (line,) = lines()
    head = (
        f"block recovery of {name} of /a failed: datanode {first.known.name} sent no result in time"
    )
    assert line.startswith(head)
    assert line.endswith(" is asked next (attempt 2)")


def test_the_log_says_that_nobody_is_there_to_be_asked(client: Any, nodes: Nodes) -> None:
    block = pipeline(client, nodes)
    for node in nodes:
        node.known.last_heartbeat_ms -= 10_000_000
    client.namenode.tick()
    client.recover_lease("/a")
    client.namenode.clock.advance(10_000)
    assert any(
        f"no datanode that may have {block.name} is up" in line for line in client.namenode.tick()
    )


# Files that only a snapshot shows.


def snapshot_of_open_file(client: Any, nodes: Nodes) -> Block:
    """`/d/a` was deleted while it was written; the snapshot shows 7 bytes, datanodes have 9."""
    client.mkdirs("/d")
    client.call("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot="/d"))
    block = pipeline(client, nodes, path="/d/a", length=9, synced=7)
    client.call(
        "createSnapshot", pb.CreateSnapshotRequestProto(snapshotRoot="/d", snapshotName="s")
    )
    client.delete("/d/a")
    return block


@pytest.mark.req("AP-047")
def test_a_file_that_only_a_snapshot_shows_is_recovered_and_closed(
    client: Any, nodes: Nodes
) -> None:
    block = snapshot_of_open_file(client, nodes)
    said = client.namenode.tick(6000)
    primary, order = order_of(nodes)
    primary.recover(order, 9, nodes)
    said = client.namenode.tick(2000)
    path = "/d/.snapshot/s/a"
    assert said == [f"{path} is closed: {block.name} was recovered with 9 bytes"]
    assert (block.state, block.length_bytes, block.replica_count) == (BlockState.COMPLETE, 9, 3)
    for namenode in (client.namenode, client.namenode.restarted()):
        file = namenode.namesystem.resolver.resolve(path).inode
        assert isinstance(file, File)
        assert (file.length_bytes, file.blocks[0].generation_stamp) == (7, order.newGenStamp)


def test_the_time_of_a_file_in_a_snapshot_stays(client: Any, nodes: Nodes) -> None:
    snapshot_of_open_file(client, nodes)
    before = client.status("/d/.snapshot/s/a").modification_time
    client.namenode.tick(6000)
    primary, order = order_of(nodes)
    primary.recover(order, 9, nodes)
    assert client.status("/d/.snapshot/s/a").modification_time == before


def test_nobody_who_watches_hears_of_a_close_in_a_snapshot(client: Any, nodes: Nodes) -> None:
    snapshot_of_open_file(client, nodes)
    client.namenode.tick(6000)
    primary, order = order_of(nodes)
    primary.recover(order, 9, nodes)
    closed = client.namenode.edits()[-1]
    assert (type(closed), closed.path) == (edits.CloseOp, "/d/.snapshot/s/a")
    assert events_of(closed) == []


@pytest.mark.parametrize("from_image", [False, True])
def test_the_recovery_of_a_file_in_a_snapshot_goes_on_after_a_start(
    client: Any, nodes: Nodes, from_image: bool
) -> None:
    block = snapshot_of_open_file(client, nodes)
    fresh = client.namenode.restarted(from_image=from_image)
    fresh.nodes = nodes
    for node in nodes:
        node.namenode = fresh
        node.register()
        node.heartbeat()
        node.report()
    fresh.namesystem.safe_mode.leave(force=True)
    fresh.tick(6000)
    primary, order = order_of(nodes)
    primary.recover(order, 9, nodes)
    assert fresh.namesystem.namespace.blocks[block.block_id].state is BlockState.COMPLETE


def test_what_a_snapshot_shows_and_nobody_has_any_more_is_missing(
    client: Any, nodes: Nodes
) -> None:
    block = snapshot_of_open_file(client, nodes)
    client.namenode.tick(6000)
    primary, order = order_of(nodes)
    for node in nodes:
        node.drop(block.block_id)
    primary.commit(order, 0, [], delete_block=True)
    client.namenode.tick(1000)
    assert (block.state, block.length_bytes) == (BlockState.COMPLETE, 7)
    assert client.namenode.namesystem.block_manager.reconstruction.counts().missing == 1


def test_a_block_that_its_file_lost_and_a_snapshot_shows_is_missing(
    client: Any, nodes: Nodes
) -> None:
    client.mkdirs("/d")
    client.call("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot="/d"))
    block = pipeline(client, nodes, path="/d/a", synced=7)
    client.call("createSnapshot", pb.CreateSnapshotRequestProto(snapshotRoot="/d"))
    client.recover_lease("/d/a")
    primary, order = order_of(nodes)
    for node in nodes:
        node.drop(block.block_id)
    primary.commit(order, 0, [], delete_block=True)
    client.namenode.tick(1000)
    file = client.namenode.namesystem.namespace.find("/d/a")
    assert isinstance(file, File)
    assert (file.writer, len(file.blocks)) == (None, 0)
    assert client.namenode.namesystem.block_manager.reconstruction.counts().missing == 1
    for from_image in (False, True):
        fresh = client.namenode.restarted(from_image=from_image).namesystem.namespace
        assert fresh.blocks[block.block_id].state is BlockState.COMPLETE


def test_readers_of_a_snapshot_find_what_has_a_newer_stamp(client: Any, nodes: Nodes) -> None:
    """Before anybody has recovered it again."""
    block = snapshot_of_open_file(client, nodes)
    client.namenode.tick(6000)
    _, order = order_of(nodes)
    nodes[1].settle(block.block_id, order.newGenStamp, 9)
    fresh = client.namenode.restarted()
    nodes[1].namenode = fresh
    nodes[1].register()
    nodes[1].heartbeat()
    nodes[1].report()
    client.namenode = fresh
    (located,) = client.locations("/d/.snapshot/s/a").blocks
    assert [place.id.datanodeUuid for place in located.locs] == [nodes[1].uuid]


def test_a_file_in_two_places_has_one_path_in_its_newest_snapshot(
    client: Any, nodes: Nodes
) -> None:
    client.mkdirs("/d/sub")
    client.call("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot="/d"))
    client.create("/d/sub/a")
    namespace = client.namenode.namesystem.namespace
    file = namespace.find("/d/sub/a")
    assert isinstance(file, File)
    assert namespace.path_in_snapshot(file) is None
    for name, rename in (("s", ("/d/sub", "/d/other")), ("t", ("/d/other/a", "/d/b"))):
        client.call(
            "createSnapshot", pb.CreateSnapshotRequestProto(snapshotRoot="/d", snapshotName=name)
        )
        client.rename(*rename)
    client.delete("/d/b")
    assert namespace.path_in_snapshot(file) == "/d/.snapshot/t/other/a"
    client.call(
        "deleteSnapshot", pb.DeleteSnapshotRequestProto(snapshotRoot="/d", snapshotName="t")
    )
    assert namespace.path_in_snapshot(file) == "/d/.snapshot/s/sub/a"


# Blocks of final length that no datanode has.


def test_a_file_is_closed_when_nobody_has_come_with_an_earlier_block_for_long(
    client: Any, nodes: Nodes
) -> None:
    """Its last block, which three datanodes have, would have nobody to copy it."""
    client.create("/a")
    first = client.add_block("/a")
    first.b.numBytes = 1024
    second = client.add_block("/a", first.b)
    for node in nodes:
        node.store(second.b.blockId, second.b.generationStamp, 3, finalized=False)
    client.recover_lease("/a")
    limit_ms = client.namenode.settings.lease_hard_limit_ms
    pass_time(client.namenode, limit_ms)
    assert [order for node in nodes for order in node.orders()] == []
    pass_time(client.namenode, 2000)
    primary, order = order_of(nodes)
    primary.recover(order, 3, nodes)
    file = found(client.namenode)
    assert (file.writer, file.length_bytes) == (None, 1027)
    for _ in range(2):
        pass_time(client.namenode, client.namenode.settings.pending_copy_ms)
    assert client.namenode.namesystem.block_manager.reconstruction.counts().missing == 1


def test_a_standby_does_not_count_the_blocks_that_it_recovered_as_the_active(
    client: Any, nodes: Nodes
) -> None:
    pipeline(client, nodes)
    client.recover_lease("/a")
    namesystem = client.namenode.namesystem
    for _ in range(3):
        pass_time(client.namenode, 300_000, nodes[:1])
    assert namesystem.block_manager.reconstruction.counts().too_few == 1
    namesystem.become_standby()
    assert namesystem.block_manager.reconstruction.counts().too_few == 0


def test_a_block_is_not_missing_while_its_datanodes_have_yet_to_report_it(
    client: Any, nodes: Nodes
) -> None:
    client.create("/a")
    first = client.add_block("/a")
    first.b.numBytes = 1024
    client.add_block("/a", first.b)
    client.namenode.tick(1000)
    assert client.namenode.namesystem.block_manager.reconstruction.counts().missing == 0
    client.store(first, 1024)
    client.namenode.tick(1000)
    counts = client.namenode.namesystem.block_manager.reconstruction.counts()
    assert (counts.missing, counts.too_few) == (0, 0)
