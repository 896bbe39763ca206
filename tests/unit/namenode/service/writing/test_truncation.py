"""Files get shorter, at once or when their datanodes have cut a block."""

from __future__ import annotations

from typing import Any

import pytest

from howdah import errors
from howdah.formats.edits import edits
from howdah.namenode.state.inodes.inodes import BlockState, File
from howdah.proto import client_namenode_pb2 as pb
from howdah.testing.in_memory import InMemoryDatanode, InMemoryNamenode

Nodes = list[InMemoryDatanode]


def found(namenode: InMemoryNamenode, path: str = "/a") -> File:
    file = namenode.namesystem.namespace.find(path)
    assert isinstance(file, File)
    return file


def finish(nodes: Nodes) -> None:
    """Whoever is a primary cuts as it is told."""
    for node in nodes:
        for order in node.orders():
            uuids = {place.id.datanodeUuid for place in order.block.locs}
            targets = [other for other in nodes if other.uuid in uuids]
            node.recover(order, order.truncateBlock.numBytes, targets)


@pytest.mark.parametrize(("length", "blocks"), [(0, []), (1024, [1024]), (1034, [1024, 10])])
def test_a_cut_between_blocks_is_done_at_once(
    client: Any, nodes: Nodes, length: int, blocks: list[int]
) -> None:
    client.write("/a", 1024, 10, 1024)
    client.namenode.clock.advance(5000)
    assert client.truncate("/a", length) is True
    file = found(client.namenode)
    assert [block.length_bytes for block in file.blocks] == blocks
    assert file.writer is None
    assert file.mtime_ms == client.namenode.clock.wall_ms()
    assert found(client.namenode.restarted()).length_bytes == length


def test_blocks_behind_the_end_are_deleted(client: Any, nodes: Nodes) -> None:
    client.write("/a", 1024, 1024)
    gone = found(client.namenode).blocks[1].block_id
    client.truncate("/a", 1024)
    client.namenode.tick()
    ordered = {
        block.blockId
        for node in nodes
        for command in node.heartbeat()
        for block in command.blkCmd.blocks
    }
    assert ordered == {gone}
    assert gone not in client.namenode.namesystem.namespace.blocks


def test_a_cut_within_a_block_is_done_when_its_datanodes_have_cut_it(
    client: Any, nodes: Nodes
) -> None:
    client.write("/a", 1024, 1000, replication=3)
    old_stamp = found(client.namenode).blocks[1].generation_stamp
    assert client.truncate("/a", 1030) is False
    file = found(client.namenode)
    assert (file.length_bytes, file.writer) == (1030, client.name)
    assert client.status("/a").length == 1030
    finish(nodes)
    assert (file.length_bytes, file.writer) == (1030, None)
    assert file.blocks[1].generation_stamp > old_stamp
    assert len(file.blocks[1].replicas) == 3
    assert client.truncate("/a", 1030) is True


def test_the_primary_is_told_the_old_block_and_what_it_is_to_be(client: Any, nodes: Nodes) -> None:
    client.write("/a", 1000)
    (block,) = found(client.namenode).blocks
    stamp = block.generation_stamp
    client.truncate("/a", 30)
    (order,) = (order for node in nodes for order in node.orders())
    assert order.block.b.generationStamp == stamp
    cut = order.truncateBlock
    assert (cut.blockId, cut.genStamp, cut.numBytes) == (block.block_id, order.newGenStamp, 30)


def test_the_edit_is_hadoops(client: Any, nodes: Nodes) -> None:
    client.write("/a", 1000)
    (block,) = found(client.namenode).blocks
    client.truncate("/a", 30)
    *_, stamped, cut = client.namenode.edits()
    assert stamped == edits.SetGenstampV2Op(1002)
    assert cut == edits.TruncateOp(
        "/a",
        client.name,
        "10.9.9.9",
        30,
        client.namenode.clock.wall_ms(),
        edits.EditBlock(block.block_id, 1000, 1002),
    )


def test_nobody_reads_behind_the_end_while_replicas_are_longer(client: Any, nodes: Nodes) -> None:
    client.write("/a", 1024, 1000)
    client.truncate("/a", 1030)
    located = client.locations("/a")
    assert located.fileLength == 1030
    assert [block.b.numBytes for block in located.blocks] == [1024, 6]
    assert located.isLastBlockComplete
    assert len(located.lastBlock.locs) == 1


def test_a_cut_that_goes_on_answers_the_same_again_and_refuses_another(
    client: Any, client_of: Any, nodes: Nodes
) -> None:
    client.write("/a", 1000)
    client.truncate("/a", 30)
    assert client.truncate("/a", 30) is False
    with pytest.raises(errors.AlreadyBeingCreated, match="/a is being truncated"):
        client.truncate("/a", 20)
    with pytest.raises(errors.RecoveryInProgress):
        client_of().append("/a")
    with pytest.raises(errors.RecoveryInProgress, match="is being truncated"):
        client.add_block("/a")


def test_another_length_from_the_datanodes_is_refused(client: Any, nodes: Nodes) -> None:
    client.write("/a", 1000, replication=3)
    client.truncate("/a", 30)
    ((primary, order),) = ((node, order) for node in nodes for order in node.orders())
    for length in (29, 31):
        with pytest.raises(errors.RemoteError, match="is to be cut to 30 bytes"):
            primary.recover(order, length, nodes)
    with pytest.raises(errors.RemoteError, match="is to be cut to 30 bytes"):
        primary.commit(order, 0, [], delete_block=True)


def test_a_cut_goes_on_after_the_namenode_was_started_anew(client: Any, nodes: Nodes) -> None:
    client.write("/a", 1000)
    client.truncate("/a", 30)
    fresh = client.namenode.restarted()
    fresh.nodes = nodes
    for node in nodes:
        node.namenode = fresh
        node.register()
        node.heartbeat()
        node.report()
    fresh.namesystem.safe_mode.leave()
    assert found(fresh).length_bytes == 30
    fresh.tick(2000)
    finish(nodes)
    file = found(fresh)
    assert (file.writer, file.length_bytes) == (None, 30)
    assert file.blocks[0].state is BlockState.COMPLETE


def test_a_lease_that_expires_meanwhile_does_not_end_the_cut(
    client: Any, client_of: Any, nodes: Nodes
) -> None:
    client.write("/a", 1000)
    client.truncate("/a", 30)
    client.namenode.clock.advance(60_001)
    with pytest.raises(errors.RecoveryInProgress):
        client_of().append("/a")
    for node in nodes:
        node.heartbeat()
    client.namenode.tick(90_000)
    finish(nodes)
    assert (found(client.namenode).writer, found(client.namenode).length_bytes) == (None, 30)


@pytest.mark.parametrize("length", [-1, 1001, (1 << 63) - 1])
def test_a_length_that_the_file_does_not_reach_is_refused(
    client: Any, nodes: Nodes, length: int
) -> None:
    client.write("/a", 1000)
    with pytest.raises(errors.IllegalArgument, match="Cannot truncate to a"):
        client.truncate("/a", length)


def test_the_length_that_it_has_changes_nothing(client: Any, nodes: Nodes) -> None:
    client.write("/a", 1000)
    log = len(client.namenode.log)
    assert client.truncate("/a", 1000) is True
    assert len(client.namenode.log) == log


def test_what_is_no_file_is_refused(client: Any) -> None:
    client.mkdirs("/d")
    for path in ("/d", "/none"):
        with pytest.raises(errors.PathNotFound):
            client.truncate(path, 0)


@pytest.mark.req("FS-005")
def test_a_file_that_is_written_is_refused(client_of: Any, nodes: Nodes) -> None:
    first, second = client_of(), client_of()
    first.create("/a")
    with pytest.raises(errors.AlreadyBeingCreated, match="TRUNCATE_FILE"):
        second.truncate("/a", 0)


def test_who_may_not_write_may_not_cut(alice: Any, client_of: Any, nodes: Nodes) -> None:
    alice.write("/user/alice/f", 10)
    with pytest.raises(errors.AccessDenied):
        client_of("eve").truncate("/user/alice/f", 0)


def test_nothing_is_cut_in_safe_mode(client: Any, nodes: Nodes) -> None:
    client.write("/a", 10)
    client.namenode.namesystem.safe_mode.enter()
    with pytest.raises(errors.SafeMode):
        client.truncate("/a", 0)


def test_a_call_that_is_repeated_gets_the_first_answer(client: Any, nodes: Nodes) -> None:
    client.write("/a", 1000)
    how = {"client_id": b"0" * 16, "call_id": 3}
    assert client.truncate("/a", 30, **how) is False
    finish(nodes)
    assert client.truncate("/a", 30, **how) is False


def test_counts_follow(client: Any, nodes: Nodes) -> None:
    client.write("/a", 1024, 1000, replication=2)
    client.truncate("/a", 1030)
    finish(nodes)
    answer = client.call("getContentSummary", pb.GetContentSummaryRequestProto(path="/a"))
    assert (answer.summary.length, answer.summary.spaceConsumed) == (1030, 2060)
    assert client.namenode.namesystem.block_manager.blocks.safe_count == 2


def test_a_file_that_was_cut_can_be_appended_to(client: Any, nodes: Nodes) -> None:
    client.write("/a", 1000)
    client.truncate("/a", 30)
    finish(nodes)
    assert client.append("/a").block.b.numBytes == 30
