"""Files are closed by their writers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from howdah import errors
from howdah.namenode.service.calls.settings import Settings
from howdah.protocol.rpc.service import Deferred
from howdah.testing.in_memory import InMemoryDatanode

BLOCK = 1024
CREATE, OVERWRITE = 1, 2
Nodes = list[InMemoryDatanode]


@pytest.mark.req("FS-134", "OS-056", "OS-058", "AP-003", "AP-040", "AP-043", "AP-044")
def test_closed_file_has_its_length_and_no_lease(client: Any, client_of: Any, nodes: Nodes) -> None:
    client.namenode.clock.advance(1000)
    client.write("/a", BLOCK, 10)
    status = client.status("/a")
    assert status.length == BLOCK + 10
    assert status.modification_time == client.namenode.clock.wall_ms()
    assert client.namenode.namesystem.leases.open_files == 0
    client_of().append("/a")


@pytest.mark.req("FS-135", "FS-132", "AP-041", "LM-061")
def test_close_waits_for_one_replica_and_no_more(
    client: Any, nodes: Nodes, settled: Callable[[Any], Any]
) -> None:
    client.create("/a", replication=3)
    block = client.add_block("/a")
    block.b.numBytes = 10
    answer = client.complete("/a", block.b)
    assert isinstance(answer, Deferred)
    assert settled(answer) is None
    nodes[1].store(block.b.blockId, block.b.generationStamp, 10)
    assert settled(answer) is True


@pytest.mark.req("LM-030")
@pytest.mark.parametrize("settings", [Settings("", min_block_size_bytes=512, min_replication=2)])
def test_close_waits_for_as_many_replicas_as_the_operator_wants(
    client: Any, nodes: Nodes, settled: Callable[[Any], Any]
) -> None:
    client.create("/a", replication=3)
    block = client.add_block("/a")
    block.b.numBytes = 10
    answer = client.complete("/a", block.b)
    nodes[1].store(block.b.blockId, block.b.generationStamp, 10)
    assert settled(answer) is None
    nodes[2].store(block.b.blockId, block.b.generationStamp, 10)
    assert settled(answer) is True


@pytest.mark.req("AP-042")
def test_close_is_false_when_no_replica_comes_in_time(
    client: Any, nodes: Nodes, settled: Callable[[Any], Any]
) -> None:
    client.create("/a")
    block = client.add_block("/a")
    answer = client.complete("/a", block.b)
    client.namenode.tick(2999)
    assert settled(answer) is None
    client.namenode.tick(1)
    assert settled(answer) is False
    client.store(block, 0)
    assert client.complete("/a", block.b) is True


def test_close_does_not_count_replicas_of_another_length(
    client: Any, nodes: Nodes, settled: Callable[[Any], Any]
) -> None:
    client.create("/a", replication=2)
    block = client.add_block("/a")
    first, second = (next(n for n in nodes if n.uuid == t.id.datanodeUuid) for t in block.locs)
    first.store(block.b.blockId, block.b.generationStamp, 9)
    block.b.numBytes = 10
    answer = client.complete("/a", block.b)
    assert settled(answer) is None
    second.store(block.b.blockId, block.b.generationStamp, 10)
    assert settled(answer) is True
    (kept,) = client.namenode.namesystem.namespace.find("/a").blocks[0].replicas
    assert kept.node is second.known


@pytest.mark.req("AP-041")
def test_close_waits_for_earlier_blocks_too(
    client: Any, nodes: Nodes, settled: Callable[[Any], Any]
) -> None:
    client.create("/a")
    first = client.add_block("/a")
    first.b.numBytes = BLOCK
    second = client.add_block("/a", first.b)
    answer = client.complete("/a", client.store(second, 5))
    assert settled(answer) is None
    client.store(first, BLOCK)
    assert settled(answer) is True


def test_file_without_blocks_is_closed_at_once(client: Any) -> None:
    client.create("/a")
    assert client.complete("/a") is True


def test_repeated_close_succeeds_again(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    inode_id = client.status("/a").fileId
    block = client.store(client.add_block("/a"), 10)
    assert client.complete("/a", block) is True
    assert client.complete("/a", block) is True
    assert client.complete("/a", block, fileId=inode_id) is True


def test_close_of_another_block_than_the_last_is_refused(
    client: Any, nodes: Nodes, named: Callable[..., Any]
) -> None:
    client.create("/a")
    client.add_block("/a")
    with pytest.raises(errors.RemoteError, match="the client's last block is"):
        client.complete("/a", named(4711, 1001, 0))
    with pytest.raises(errors.RemoteError, match="the client's last block is None"):
        client.complete("/a")


def test_file_deleted_while_close_waits_fails_the_close(
    client: Any, nodes: Nodes, settled: Callable[[Any], Any]
) -> None:
    client.create("/a")
    answer = client.complete("/a", client.add_block("/a").b)
    client.delete("/a")
    client.namenode.tick()
    with pytest.raises(errors.PathNotFound, match="was deleted while it was closed"):
        settled(answer)


def test_block_abandoned_while_close_waits_fails_the_close_and_no_more(
    client: Any, nodes: Nodes, settled: Callable[[Any], Any]
) -> None:
    client.create("/a")
    block = client.add_block("/a").b
    answer = client.complete("/a", block)
    client.abandon("/a", block)
    client.namenode.tick()
    with pytest.raises(errors.RemoteError, match="the file's None"):
        settled(answer)
    assert client.complete("/a") is True


def test_file_taken_over_while_close_waits_is_not_closed(
    client_of: Any, nodes: Nodes, settled: Callable[[Any], Any]
) -> None:
    first, second = client_of(), client_of()
    first.create("/a")
    answer = first.complete("/a", first.add_block("/a").b)
    second.create("/a", flag=CREATE | OVERWRITE)
    first.namenode.tick()
    with pytest.raises(errors.PathNotFound):
        settled(answer)
    assert second.namenode.namesystem.namespace.find("/a").writer == second.name


def test_nothing_is_closed_in_safe_mode(
    client: Any, nodes: Nodes, settled: Callable[[Any], Any]
) -> None:
    client.create("/a")
    block = client.add_block("/a")
    answer = client.complete("/a", block.b)
    client.namenode.namesystem.safe_mode.enter()
    client.store(block, 0)
    assert settled(answer) is None
    client.namenode.namesystem.safe_mode.leave()
    client.namenode.tick()
    assert settled(answer) is True


def test_two_closes_of_one_file_both_succeed(
    client: Any, nodes: Nodes, settled: Callable[[Any], Any]
) -> None:
    client.create("/a")
    block = client.add_block("/a")
    answers = [client.complete("/a", block.b) for _ in range(2)]
    client.store(block, 0)
    assert [settled(answer) for answer in answers] == [True, True]


def test_file_that_a_recovery_closed_meanwhile_is_not_closed_as_its_writer_wants(
    client: Any, client_of: Any, nodes: Nodes, settled: Callable[[Any], Any]
) -> None:
    """It may have another length: the writer must not take its bytes for safe."""
    client.create("/a")
    block = client.add_block("/a")
    node = next(n for n in nodes if n.uuid == block.locs[0].id.datanodeUuid)
    node.store(block.b.blockId, block.b.generationStamp, 7, finalized=False)
    block.b.numBytes = 9
    answer = client.complete("/a", block.b)
    assert settled(answer) is None
    client_of().recover_lease("/a")
    (order,) = node.orders()
    node.recover(order, 7, [node])
    client.namenode.tick()
    with pytest.raises(errors.LeaseExpired):
        settled(answer)


def test_a_defect_while_one_file_is_closed_is_told_to_its_caller_alone(
    client: Any,
    nodes: Nodes,
    settled: Callable[[Any], Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither the others' answers are lost by it, nor what the tick has to do behind it."""
    answers = {}
    for path in ("/a", "/b"):
        client.create(path)
        block = client.add_block(path)
        block.b.numBytes = 10
        answers[path] = client.complete(path, block.b), block
    completion = client.namenode.client._files.closes._closing
    try_close = completion.try_close
    broken = client.namenode.namesystem.namespace.find("/a").inode_id

    def fail_of_one(pending: Any) -> None:
        if pending.inode_id == broken:
            raise AssertionError("nobody foresaw this")
        try_close(pending)

    monkeypatch.setattr(completion, "try_close", fail_of_one)
    client.namenode.tick()
    assert "AssertionError: nobody foresaw this" in str(answers["/a"][0]._outcome)
    other, block = answers["/b"]
    nodes[0].store(block.b.blockId, block.b.generationStamp, 10)
    assert settled(other) is True
