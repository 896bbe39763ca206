"""Files whose writers fell silent."""

from __future__ import annotations

from typing import Any

import pytest

from howdah.namenode.inodes import File
from howdah.testing.in_memory import InMemoryDatanode, InMemoryNamenode

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


def found(namenode: InMemoryNamenode, path: str) -> File:
    file = namenode.core.namespace.find(path)
    assert isinstance(file, File)
    return file


def test_file_without_blocks_is_closed(client: Any) -> None:
    client.create("/a")
    said = after_the_limit(client.namenode)
    assert said == [f"/a is closed: its writer {client.name} has been silent too long"]
    assert found(client.namenode, "/a").writer is None
    assert client.namenode.core.leases.open_files == 0


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
    file = found(client.namenode, "/a")
    assert (file.writer, len(file.blocks), file.length_bytes) == (None, 1, 1024)


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
    assert said[0].startswith("/a stays open for now")
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


def test_writer_that_renews_its_lease_is_left_alone(client: Any) -> None:
    from howdah.proto import client_namenode_pb2 as pb

    client.create("/a")
    for _ in range(4):
        client.namenode.tick(HARD_MS // 2)
        client.call("renewLease", pb.RenewLeaseRequestProto(clientName=client.name))
    assert found(client.namenode, "/a").writer == client.name


def test_nothing_is_closed_in_safe_mode(client: Any) -> None:
    client.create("/a")
    client.namenode.core.safe_mode.enter()
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
    file = found(client.namenode.restarted(), "/a")
    assert (file.writer, file.blocks) == (None, [])


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
    assert said[0].startswith(f"{inside[:60]}")
    assert "does not fit into an edit log record" in said[0]
    assert client.delete("/11") is True
    assert client.namenode.core.leases.open_files == 0
