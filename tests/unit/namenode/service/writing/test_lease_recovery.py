"""Files are taken from writers that fell silent, or that somebody wants to be rid of."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from howdah import errors
from howdah.formats.edits import edits
from howdah.namenode.service.calls import namespace_reads
from howdah.namenode.service.calls.namespace_reads import Queries
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.state.inodes.inodes import File
from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.rpc.call import Caller
from howdah.testing.in_memory import SUPERUSER, InMemoryDatanode, InMemoryNamenode, Replica

HARD_MS = 1_200_000
Nodes = list[InMemoryDatanode]


def after_the_limit(namenode: InMemoryNamenode) -> list[str]:
    """Everybody but the writer goes on living."""
    said = []
    for _ in range(3):
        namenode.clock.advance(HARD_MS // 2)
        for node in namenode.nodes:
            node.heartbeat()
        said += namenode.tick()
    return said


def datanodes_have_told(namenode: InMemoryNamenode) -> None:
    """They live on for as long as they may need to tell of what they have."""
    for _ in range(2):
        namenode.clock.advance(namenode.settings.stale_datanode_ms // 2)
        for node in namenode.nodes:
            node.heartbeat()
    namenode.tick()


def found(namenode: InMemoryNamenode, path: str) -> File:
    file = namenode.namesystem.namespace.find(path)
    assert isinstance(file, File)
    return file


def test_file_without_blocks_is_closed(client: Any) -> None:
    client.create("/a")
    said = after_the_limit(client.namenode)
    assert said == [f"/a is closed: its writer {client.name} has been silent too long"]
    assert found(client.namenode, "/a").writer is None
    assert client.namenode.namesystem.leases.open_files == 0


def test_file_whose_blocks_are_complete_is_closed(client: Any, nodes: Nodes) -> None:
    client.write("/a", 10)
    client.append("/a", new_block=True)
    after_the_limit(client.namenode)
    file = found(client.namenode, "/a")
    assert (file.writer, file.length_bytes) == (None, 10)


def test_block_that_nobody_wrote_is_dropped(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    block = client.store(client.add_block("/a"), 1024)
    client.add_block("/a", block)
    after_the_limit(client.namenode)
    assert len(found(client.namenode, "/a").blocks) == 2
    datanodes_have_told(client.namenode)
    file = found(client.namenode, "/a")
    assert (file.writer, len(file.blocks), file.length_bytes) == (None, 1, 1024)


@pytest.mark.req("FS-156", "AP-047")
def test_no_block_is_dropped_before_its_datanodes_were_asked(client: Any, nodes: Nodes) -> None:
    """Hadoop's tell of a replica that is being written with a later heartbeat. What a Java client
    has flushed by then has no length here."""
    client.create("/a")
    block = client.add_block("/a").b
    client.fsync("/a", -1)
    assert client.recover_lease("/a") is False
    assert len(found(client.namenode, "/a").blocks) == 1
    for node in nodes:
        node.store(block.blockId, block.generationStamp, 9, finalized=False)
    [(primary, order)] = [(node, order) for node in nodes for order in node.orders()]
    primary.recover(order, 9, nodes)
    file = found(client.namenode, "/a")
    assert (file.writer, file.length_bytes) == (None, 9)


@pytest.mark.req("FS-156", "AP-047")
def test_after_a_start_no_block_is_dropped_before_all_that_live_have_reported(
    client: Any, nodes: Nodes
) -> None:
    """The start has forgotten who has it. What a Java client flushed has no length here."""
    client.create("/a")
    block = client.add_block("/a")
    client.fsync("/a", -1)
    fresh = client.namenode.restarted()
    fresh.nodes = nodes
    for node in nodes:
        node.namenode = fresh
        node.register()
        node.heartbeat()
    for node in nodes[:2]:
        node.report()
    client.namenode = fresh
    fresh.namesystem.safe_mode.leave()
    fresh.clock.advance(fresh.settings.stale_datanode_ms)
    assert client.recover_lease("/a") is False
    assert len(found(fresh, "/a").blocks) == 1
    nodes[2].store(block.b.blockId, block.b.generationStamp, 9, finalized=False)
    nodes[2].report()
    fresh.tick(2000)
    (order,) = nodes[2].orders()
    nodes[2].recover(order, 9, nodes[2:])
    assert (found(fresh, "/a").writer, found(fresh, "/a").length_bytes) == (None, 9)


@pytest.mark.req("FS-156", "AP-047")
def test_after_a_start_no_block_is_dropped_before_datanodes_can_have_come_back(
    client: Any, nodes: Nodes
) -> None:
    """Where all other blocks are safe, or there are none, safe mode waits for nobody."""
    client.create("/a")
    client.add_block("/a")
    client.fsync("/a", -1)
    fresh = client.namenode.restarted()
    client.namenode = fresh
    fresh.namesystem.safe_mode.leave()
    assert client.recover_lease("/a") is False
    fresh.tick(fresh.settings.stale_datanode_ms - 1)
    assert len(found(fresh, "/a").blocks) == 1
    assert found(fresh, "/a").writer is not None
    fresh.tick(2000)
    assert found(fresh, "/a").writer is None


@pytest.mark.req("FS-156")
def test_after_a_start_a_block_that_nobody_has_is_dropped(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    client.add_block("/a")
    fresh = client.namenode.restarted()
    fresh.nodes = nodes
    for node in nodes:
        node.namenode = fresh
        node.register()
        node.heartbeat()
        node.report()
    client.namenode = fresh
    fresh.namesystem.safe_mode.leave()
    fresh.clock.advance(fresh.settings.stale_datanode_ms)
    assert client.recover_lease("/a") is True
    assert found(fresh, "/a").blocks == []


@pytest.mark.req("FS-156", "AP-048")
def test_a_crash_leaves_no_writer_with_a_file_that_lost_its_block(
    client: Any, nodes: Nodes
) -> None:
    """It would be told that a sync of that block is safe."""
    client.create("/a")
    client.add_block("/a")
    namenode = client.namenode
    assert client.recover_lease("/a") is False
    before = len(namenode.log)
    datanodes_have_told(namenode)
    assert found(namenode, "/a").writer is None
    whole = list(namenode.log)
    for kept in range(before, len(whole) + 1):
        namenode.log = whole[:kept]
        file = found(namenode.restarted(), "/a")
        assert (file.writer is not None) == (len(file.blocks) == 1)


@pytest.mark.req("FS-156", "FS-126")
def test_a_replica_with_an_older_stamp_keeps_no_block(client: Any, nodes: Nodes) -> None:
    """It fell out of the pipeline; those that were in it have lost theirs to a power cut."""
    client.create("/a")
    block = client.add_block("/a")
    fresh = client.namenode.restarted()
    fresh.nodes = nodes
    outdated = block.b.generationStamp - 1
    nodes[0].replicas[nodes[0].first_storage][block.b.blockId] = Replica(
        outdated, 9, finalized=False, left_over=True
    )
    for node in nodes:
        node.namenode = fresh
        node.register()
        node.heartbeat()
        node.report()
    client.namenode = fresh
    fresh.namesystem.safe_mode.leave()
    fresh.clock.advance(fresh.settings.stale_datanode_ms)
    assert client.recover_lease("/a") is True
    assert found(fresh, "/a").blocks == []
    (told,) = nodes[0].heartbeat()
    assert [(b.blockId, b.genStamp) for b in told.blkCmd.blocks] == [(block.b.blockId, outdated)]


@pytest.mark.req("FS-156")
def test_block_with_a_replica_that_is_being_written_stays_for_recovery(
    client: Any, nodes: Nodes
) -> None:
    """What a client flushed is on the datanodes and perhaps nowhere else."""
    client.create("/a")
    block = client.add_block("/a")
    node = next(n for n in nodes if n.uuid == block.locs[0].id.datanodeUuid)
    node.store(block.b.blockId, block.b.generationStamp, 0, finalized=False)
    said = after_the_limit(client.namenode)
    assert len(said) == 1
    assert said[0].startswith("lease recovery of /a goes on: ")
    assert f"blk_{block.b.blockId}_{block.b.generationStamp} are asked" in said[0]
    assert found(client.namenode, "/a").writer == client.namenode.leases.holder
    assert len(found(client.namenode, "/a").blocks) == 1


@pytest.mark.req("FS-156")
def test_block_with_synced_bytes_stays_for_recovery(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    client.add_block("/a")
    client.fsync("/a", 7)
    after_the_limit(client.namenode)
    assert found(client.namenode, "/a").length_bytes == 7


def test_block_stays_while_a_datanode_of_its_pipeline_is_down(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    block = client.add_block("/a")
    down = next(n for n in nodes if n.uuid == block.locs[0].id.datanodeUuid)
    client.namenode.nodes.remove(down)
    after_the_limit(client.namenode)
    assert len(found(client.namenode, "/a").blocks) == 1


def test_committed_block_without_a_replica_stays(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    first = client.add_block("/a").b
    first.numBytes = 1024
    client.add_block("/a", first)
    after_the_limit(client.namenode)
    assert found(client.namenode, "/a").writer == client.namenode.leases.holder


def left_over(
    client: Any, nodes: Nodes, length: int = 1024, *, more: bool = True, replication: int = 1
) -> tuple[int, Nodes]:
    """A block that its writer has committed with 1024 bytes, and of which its datanodes have
    `length`, unfinished, since they were restarted; the next block of the file is not written."""
    client.create("/a", replication=replication)
    first = client.add_block("/a")
    uuids = {place.id.datanodeUuid for place in first.locs}
    holding = [node for node in nodes if node.uuid in uuids]
    first.b.numBytes = 1024
    if more:
        client.add_block("/a", first.b)
    for node in holding:
        replica = Replica(first.b.generationStamp, length, finalized=False, left_over=True)
        node.replicas[node.first_storage][first.b.blockId] = replica
        node.register()
        node.heartbeat()
        node.report()
    return first.b.blockId, holding


def go_on(namenode: InMemoryNamenode, length: int, rounds: int = 8) -> list[str]:
    said = []
    for _ in range(rounds):
        silent(namenode, 5_000)
        said += namenode.tick()
        finish(namenode, length)
    return said


@pytest.mark.req("FS-127", "XC-003")
@pytest.mark.parametrize("starts", [False, True], ids=["one namenode", "another namenode"])
def test_committed_block_whose_replicas_are_left_over_from_restarts_is_recovered(
    client: Any, nodes: Nodes, starts: bool
) -> None:
    block_id, holding = left_over(client, nodes)
    namenode = client.namenode
    after_the_limit(namenode)
    if starts:
        namenode = namenode.restarted()
        for node in nodes:
            node.namenode = namenode
            node.register()
            node.heartbeat()
            node.report()
        namenode.nodes[:] = nodes
        namenode.namesystem.safe_mode.leave()
    said = go_on(namenode, 1024)
    file = found(namenode, "/a")
    assert file.writer is None
    assert [(b.block_id, b.length_bytes, b.replica_count) for b in file.blocks] == [
        (block_id, 1024, len(holding))
    ]
    assert any("left unfinished replicas" in line for line in said)
    again = found(namenode.restarted(), "/a")
    assert again.blocks[0].generation_stamp == file.blocks[0].generation_stamp


@pytest.mark.req("FS-127")
def test_committed_block_of_which_bytes_are_lost_is_not_made_shorter(
    client: Any, nodes: Nodes
) -> None:
    """What follows in the file would move: the block is missing, and fsck says so."""
    block_id, _ = left_over(client, nodes, 1000)
    after_the_limit(client.namenode)
    with pytest.raises(errors.RemoteError, match="was committed with 1024 bytes"):
        go_on(client.namenode, 1000)
    block = found(client.namenode, "/a").blocks[0]
    assert (block.block_id, block.length_bytes) == (block_id, 1024)


@pytest.mark.req("FS-127")
def test_recovery_of_a_committed_block_is_a_log_that_hadoop_takes(
    client: Any, nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hadoop's namenode takes a new stamp of a last block only (FSEditLogLoader.updateBlocks)."""
    block_id, _ = left_over(client, nodes)
    namesystem = client.namenode.namesystem
    commit = namesystem.commit
    restamped: list[int] = []

    def checked(edit: Any) -> Any:
        if isinstance(edit, edits.UpdateBlocksOp | edits.CloseOp):
            before = {b.block_id: b.generation_stamp for b in found(client.namenode, "/a").blocks}
            changed = [b for b in edit.blocks if before[b.block_id] != b.generation_stamp]
            assert changed in ([], [edit.blocks[-1]])
            assert len(edit.blocks) == len(before) or not changed
            restamped.extend(b.block_id for b in changed)
        return commit(edit)

    monkeypatch.setattr(namesystem, "commit", checked)
    after_the_limit(client.namenode)
    go_on(client.namenode, 1024)
    assert found(client.namenode, "/a").writer is None
    assert restamped == [block_id]


@pytest.mark.req("FS-127")
def test_committed_block_before_one_with_bytes_keeps_its_stamp(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    first = client.add_block("/a")
    uuids = {place.id.datanodeUuid for place in first.locs}
    first.b.numBytes = 1024
    second = client.add_block("/a", first.b)
    stamps = first.b.generationStamp, second.b.generationStamp
    for node in nodes:
        for block in (first.b, second.b):
            if node.uuid in uuids:
                node.replicas[node.first_storage][block.blockId] = Replica(
                    block.generationStamp, 1024, finalized=False, left_over=True
                )
        node.register()
        node.heartbeat()
        node.report()
    silent(client.namenode, 1_000)
    for _ in range(8):
        silent(client.namenode, 5_000)
        client.namenode.tick()
        assert not [order for node in nodes for order in node.orders()]
    assert tuple(b.generation_stamp for b in found(client.namenode, "/a").blocks) == stamps


@pytest.mark.req("FS-127")
def test_datanodes_are_told_to_cut_no_replica_of_a_committed_block_shorter(
    client: Any, nodes: Nodes
) -> None:
    block_id, _ = left_over(client, nodes)
    after_the_limit(client.namenode)
    orders = []
    for _ in range(8):
        silent(client.namenode, 5_000)
        client.namenode.tick()
        orders += [order for node in nodes for order in node.orders()]
    cut = orders[0].truncateBlock
    assert (cut.blockId, cut.numBytes, cut.genStamp) == (block_id, 1024, orders[0].newGenStamp)


@pytest.mark.req("FS-127")
def test_a_whole_replica_that_comes_back_outlives_the_recovery(client: Any, nodes: Nodes) -> None:
    """It is too few for `dfs.namenode.replication.min`, and all there is."""
    object.__setattr__(client.namenode.namesystem.settings, "min_replication", 2)
    client.namenode.namesystem.block_manager.blocks.min_replication = 2
    block_id, holding = left_over(client, nodes, replication=3)
    after_the_limit(client.namenode)
    orders: list[Any] = []
    while not orders:
        silent(client.namenode, 5_000)
        client.namenode.tick()
        orders = [(node, order) for node in nodes for order in node.orders()]
    stamp = found(client.namenode, "/a").blocks[0].generation_stamp
    whole, other = holding[:2]
    whole.store(block_id, stamp, 1024)
    primary, order = orders[0]
    with pytest.raises(errors.RemoteError, match="has a whole replica again"):
        primary.recover(order, 1024, [other])
    block = found(client.namenode, "/a").blocks[0]
    assert [storage.node.identity.uuid for storage in block.replicas] == [whole.uuid]


@pytest.mark.req("FS-127")
def test_committed_block_with_a_whole_replica_is_not_recovered(client: Any, nodes: Nodes) -> None:
    block_id, holding = left_over(client, nodes)
    stamp = found(client.namenode, "/a").blocks[0].generation_stamp
    holding[0].store(block_id, stamp, 1024)
    after_the_limit(client.namenode)
    go_on(client.namenode, 1024)
    file = found(client.namenode, "/a")
    assert (file.writer, file.blocks[0].generation_stamp) == (None, stamp)


def test_writer_that_renews_its_lease_is_left_alone(client: Any) -> None:
    client.create("/a")
    for _ in range(4):
        client.namenode.tick(HARD_MS // 2)
        client.renew_lease()
    assert found(client.namenode, "/a").writer == client.name


def test_nothing_is_closed_in_safe_mode(client: Any) -> None:
    client.create("/a")
    client.namenode.namesystem.safe_mode.enter()
    assert after_the_limit(client.namenode) == []
    assert found(client.namenode, "/a").writer == client.name


def test_file_under_a_deleted_directory_is_not_looked_at(client: Any) -> None:
    client.create("/d/a")
    client.delete("/d")
    assert after_the_limit(client.namenode) == []


def test_the_log_closes_it_too(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    client.add_block("/a")
    after_the_limit(client.namenode)
    datanodes_have_told(client.namenode)
    file = found(client.namenode.restarted(), "/a")
    assert (file.writer, list(file.blocks)) == (None, [])


def very_deep(client: Any) -> str:
    """An open file whose path is longer than a record of the log can hold."""
    client.create("/f")
    inside = "/f"
    for number in range(12):
        chain = f"/{number}" + ("/" + "d" * 250) * 31
        client.mkdirs(chain)
        top = "/" + inside.split("/")[1]
        assert client.rename(top, chain) is True
        inside = chain + inside
    assert len(inside) > 65_535
    return inside


def test_file_whose_path_no_record_can_hold_is_named_once_and_stays(client: Any) -> None:
    inside = very_deep(client)
    said = after_the_limit(client.namenode)
    assert len(said) == 1
    assert said[0].startswith(f"lease recovery of {inside[:60]}")
    assert "does not fit into an edit log record" in said[0]
    assert client.delete("/11") is True
    assert client.namenode.namesystem.leases.open_files == 0


# Asked for.


def flushed(client: Any, nodes: Nodes, path: str = "/a", length: int = 7) -> int:
    """An open file with one block that is being written, of which so much was synced."""
    client.create(path)
    block = client.add_block(path)
    for node in nodes:
        if node.uuid in {place.id.datanodeUuid for place in block.locs}:
            node.store(block.b.blockId, block.b.generationStamp, length, finalized=False)
    if length:
        client.fsync(path, length)
    return int(block.b.blockId)


def silent(namenode: InMemoryNamenode, ms: int) -> None:
    """Time passes for clients; datanodes go on living."""
    namenode.clock.advance(ms)
    for node in namenode.nodes:
        node.heartbeat()


def finish(namenode: InMemoryNamenode, length: int = 7) -> None:
    """Whoever is a primary recovers without trouble."""
    for node in namenode.nodes:
        for order in node.orders():
            uuids = {place.id.datanodeUuid for place in order.block.locs}
            node.recover(order, length, [n for n in namenode.nodes if n.uuid in uuids])


@pytest.mark.req("AP-046", "LM-059")
def test_recovery_that_is_asked_for_waits_for_no_limit(client_of: Any, nodes: Nodes) -> None:
    first, second = client_of(), client_of()
    flushed(first, nodes)
    assert second.recover_lease("/a") is False
    finish(first.namenode)
    assert second.recover_lease("/a") is True
    assert found(first.namenode, "/a").length_bytes == 7


def test_recovery_of_a_closed_file_is_done(client: Any, nodes: Nodes) -> None:
    client.write("/a", 10)
    log = len(client.namenode.log)
    assert client.recover_lease("/a") is True
    assert len(client.namenode.log) == log


def test_recovery_of_what_is_no_file_is_refused(client: Any) -> None:
    client.mkdirs("/d")
    for path in ("/d", "/none"):
        with pytest.raises(errors.PathNotFound):
            client.recover_lease(path)


@pytest.mark.req("AP-049")
def test_only_who_may_write_the_file_has_it_recovered(alice: Any, client_of: Any) -> None:
    alice.create("/user/alice/f")
    with pytest.raises(errors.AccessDenied):
        client_of("eve").recover_lease("/user/alice/f")
    assert alice.recover_lease("/user/alice/f") is True


@pytest.mark.req("AP-049")
def test_nothing_is_recovered_in_safe_mode(client: Any) -> None:
    client.create("/a")
    client.namenode.namesystem.safe_mode.enter()
    with pytest.raises(errors.SafeMode, match="Cannot recover the lease of /a"):
        client.recover_lease("/a")


@pytest.mark.req("FS-005", "AP-048")
@pytest.mark.parametrize("asker", ["another client", "the writer's own name"])
def test_old_writer_is_refused_from_the_moment_of_the_take_over(
    client_of: Any, nodes: Nodes, named: Any, asker: str
) -> None:
    writer = client_of()
    block_id = flushed(writer, nodes)
    inode_id = found(writer.namenode, "/a").inode_id
    last = named(block_id, 1001, 7)
    (writer if asker == "the writer's own name" else client_of()).recover_lease("/a")
    update = pb.UpdatePipelineRequestProto(
        clientName=writer.name,
        oldBlock=last,
        newBlock=named(block_id, 1002, 7),
        newNodes=[nodes[0].registration().datanodeID],
        storageIDs=[nodes[0].first_storage],
    )
    stamp = pb.UpdateBlockForPipelineRequestProto(block=last, clientName=writer.name)
    attempts: tuple[Callable[[], object], ...] = (
        lambda: writer.add_block("/a", last, fileId=inode_id),
        lambda: writer.complete("/a", last, fileId=inode_id),
        lambda: writer.fsync("/a", 9, fileId=inode_id),
        lambda: writer.abandon("/a", last, fileId=inode_id),
        lambda: writer.call("updateBlockForPipeline", stamp),
        lambda: writer.call("updatePipeline", update),
    )
    for attempt in attempts:
        with pytest.raises(errors.LeaseExpired):
            attempt()
    finish(writer.namenode)
    with pytest.raises(errors.LeaseExpired):
        writer.complete("/a", last, fileId=inode_id)


@pytest.mark.req("FS-005")
def test_nobody_writes_by_naming_the_namenodes_holder(client: Any, nodes: Nodes) -> None:
    flushed(client, nodes)
    client.recover_lease("/a")
    client.name = found(client.namenode, "/a").writer
    with pytest.raises(errors.LeaseExpired):
        client.add_block("/a")
    attempts: tuple[Callable[[], object], ...] = (
        lambda: client.create("/b"),
        lambda: client.append("/a"),
        lambda: client.truncate("/a", 0),
    )
    for attempt in attempts:
        with pytest.raises(errors.IllegalArgument):
            attempt()


def test_take_over_is_an_edit_of_hadoops(client: Any, nodes: Nodes) -> None:
    flushed(client, nodes)
    client.recover_lease("/a")
    reassigned = [e for e in client.namenode.edits() if isinstance(e, edits.ReassignLeaseOp)]
    assert reassigned == [edits.ReassignLeaseOp(client.name, "/a", client.namenode.leases.holder)]


# On the way of another writer.


@pytest.mark.req("AP-008", "AP-012", "AP-013")
def test_append_is_refused_while_the_writers_lease_holds(client_of: Any, nodes: Nodes) -> None:
    first, second = client_of(), client_of()
    flushed(first, nodes)
    silent(first.namenode, 59_999)
    with pytest.raises(errors.AlreadyBeingCreated, match="currently owned by"):
        second.append("/a")
    assert found(first.namenode, "/a").writer == first.name


@pytest.mark.req("AP-012", "AP-014", "AP-015", "AP-028")
def test_append_after_the_soft_limit_recovers_the_file_first(client_of: Any, nodes: Nodes) -> None:
    first, second = client_of(), client_of()
    flushed(first, nodes)
    silent(first.namenode, 60_001)
    with pytest.raises(errors.RecoveryInProgress) as caught:
        second.append("/a")
    assert caught.value.message == (
        f"Failed to APPEND_FILE /a for {second.name} on 10.9.9.9 because lease recovery is "
        "in progress. Try again later."
    )
    with pytest.raises(errors.RecoveryInProgress, match="another recovery is in progress by HDFS_"):
        second.append("/a")
    finish(first.namenode)
    assert second.append("/a").block.b.numBytes == 7
    assert found(first.namenode, "/a").writer == second.name


@pytest.mark.req("AP-046")
def test_the_soft_limit_can_be_set(client_of: Any, nodes: Nodes) -> None:
    first, second = client_of(), client_of()
    first.namenode.namesystem.leases.soft_limit_ms = 1000
    flushed(first, nodes)
    silent(first.namenode, 1001)
    with pytest.raises(errors.RecoveryInProgress):
        second.append("/a")


@pytest.mark.req("AP-014")
def test_append_to_an_abandoned_file_without_open_blocks_goes_on_at_once(
    client_of: Any, nodes: Nodes
) -> None:
    first, second = client_of(), client_of()
    first.write("/a", 10)
    first.append("/a", new_block=True)
    silent(first.namenode, 60_001)
    assert second.append("/a").block.b.numBytes == 10


@pytest.mark.req("AP-014")
def test_create_over_an_expired_lease_recovers_and_then_refuses(
    client_of: Any, nodes: Nodes
) -> None:
    first, second = client_of(), client_of()
    flushed(first, nodes)
    silent(first.namenode, 60_001)
    with pytest.raises(errors.RecoveryInProgress, match="CREATE_FILE"):
        second.create("/a")
    finish(first.namenode)
    with pytest.raises(errors.PathExists):
        second.create("/a")


def test_append_under_the_writers_own_name_is_refused_however_long_it_was_silent(
    client: Any, nodes: Nodes
) -> None:
    flushed(client, nodes)
    silent(client.namenode, 60_001)
    with pytest.raises(errors.AlreadyBeingCreated, match="already the current lease holder"):
        client.append("/a")


# After a start.


@pytest.mark.req("AP-048", "LM-059")
def test_recovery_goes_on_after_the_namenode_was_started_anew(client: Any, nodes: Nodes) -> None:
    flushed(client, nodes)
    client.recover_lease("/a")
    (old,) = (order for node in nodes for order in node.orders())
    fresh = client.namenode.restarted()
    for node in nodes:
        node.namenode = fresh
        node.register()
        node.heartbeat()
        node.report()
    fresh.nodes = nodes
    fresh.tick()
    fresh.namesystem.safe_mode.leave()
    fresh.tick(2000)
    with pytest.raises(errors.RemoteError, match="does not match current recovery id"):
        nodes[0].recover(old, 7, nodes)
    finish(fresh)
    file = found(fresh, "/a")
    assert (file.writer, file.length_bytes) == (None, 7)


def test_open_files_are_listed_for_the_superuser(client: Any, alice: Any) -> None:
    for path in ("/a", "/d/b", "/d/c"):
        client.create(path)
    alice.create("/user/alice/f")
    request = pb.ListOpenFilesRequestProto(id=0, types=[pb.ALL_OPEN_FILES], path="/d")
    answer = client.call("listOpenFiles", request)
    assert [(e.path, e.clientName, e.clientMachine) for e in answer.entries] == [
        ("/d/b", client.name, "10.9.9.9"),
        ("/d/c", client.name, "10.9.9.9"),
    ]
    assert not answer.hasMore
    with pytest.raises(errors.AccessDenied):
        alice.call("listOpenFiles", request)


@pytest.mark.parametrize("settings", [Settings("", min_block_size_bytes=512, open_files_limit=2)])
def test_open_files_come_page_by_page(client: Any, settings: Settings) -> None:
    for number in range(5):
        client.create(f"/{number}")
    listed: list[str] = []
    pages = 0
    after = 0
    more = True
    while more:
        answer = client.call("listOpenFiles", pb.ListOpenFilesRequestProto(id=after, path="/"))
        listed += [entry.path for entry in answer.entries]
        after, more, pages = answer.entries[-1].id, answer.hasMore, pages + 1
    assert (listed, pages) == ([f"/{number}" for number in range(5)], 3)


def test_others_are_served_while_open_files_are_looked_through(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(namespace_reads, "SLICE_OPEN_FILES", 2)
    for number in range(6):
        client.create(f"/{number}")
    namenode = client.namenode
    caller = Caller(SUPERUSER, b"", 0, 0, "10.9.9.9")
    steps = Queries(namenode.namesystem).open_files(caller, 0, "/")
    next(steps)
    client.call("complete", pb.CompleteRequestProto(src="/3", clientName=client.name))
    client.call("delete", pb.DeleteRequestProto(src="/4", recursive=False))
    slices = 1
    try:
        while True:
            next(steps)
            slices += 1
    except StopIteration as end:
        files, has_more = end.value
    assert slices == 3
    assert [file.path for file in files] == ["/0", "/1", "/2", "/5"]
    assert not has_more


def files_of(client: Any, count: int) -> list[str]:
    paths = [f"/f{number:04}" for number in range(count)]
    for path in paths:
        client.create(path)
    return paths


def test_files_of_a_dead_client_are_closed_in_slices(client: Any) -> None:
    """One with a hundred thousand of them held up everybody for a tick of seconds."""
    files_of(client, 200)
    client.namenode.clock.advance(HARD_MS + 1)
    leases = client.namenode.namesystem.leases
    left = []
    for _ in client.namenode.leases.round():
        left.append(leases.open_files)
    assert left[0] == 150
    assert max(before - after for before, after in pairwise([200, *left])) == 50
    assert left[-1] == 0


def test_a_client_that_comes_back_between_two_slices_keeps_the_other_files(client: Any) -> None:
    paths = files_of(client, 200)
    client.namenode.clock.advance(HARD_MS + 1)
    slices = client.namenode.leases.round()
    next(slices)
    client.renew_lease()
    for _ in slices:
        pass
    still_open = [path for path in paths if found(client.namenode, path).writer == client.name]
    assert still_open == paths[50:]


def test_a_file_that_is_closed_and_taken_by_another_between_two_slices_stays_his(
    client: Any, client_of: Any
) -> None:
    paths = files_of(client, 100)
    client.namenode.clock.advance(HARD_MS + 1)
    slices = client.namenode.leases.round()
    next(slices)
    client.complete(paths[-1])
    other = client_of()
    other.append(paths[-1])
    for _ in slices:
        pass
    assert found(client.namenode, paths[-1]).writer == other.name


def test_a_file_that_cannot_be_taken_over_keeps_no_other_from_it(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    files_of(client, 3)
    take_over = client.namenode.leases.take_over

    def refuse_one(file: File) -> bool:
        if file.path == "/f0000":
            raise errors.RemoteError("not now")
        return bool(take_over(file))

    monkeypatch.setattr(client.namenode.leases, "take_over", refuse_one)
    said = after_the_limit(client.namenode)
    assert [line for line in said if "/f0000" in line] == [
        f"lease recovery of /f0000 goes on: not now (its writer {client.name} has been silent "
        "too long)"
    ]
    assert client.namenode.namesystem.leases.open_files == 1
