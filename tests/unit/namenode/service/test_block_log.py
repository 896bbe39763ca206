"""What the namenode's log says of its datanodes and of blocks in trouble."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from howdah.namenode.service.block_log import PATIENCE_MS, REPEAT_MS, ClusterLog
from howdah.namenode.service.calls.settings import Settings
from howdah.testing.in_memory import InMemoryDatanode, InMemoryNamenode

Nodes = list[InMemoryDatanode]


@pytest.fixture
def settings() -> Settings:
    return Settings("", min_block_size_bytes=512, heartbeat_expiry_ms=60_000)


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Any:
    """The lines since the last call."""
    caplog.set_level(logging.INFO)

    def take() -> list[str]:
        lines = [record.getMessage() for record in caplog.records]
        caplog.clear()
        return lines

    return take


# Datanodes.


def test_a_datanode_that_comes_is_named(namenode: InMemoryNamenode, said: Any) -> None:
    namenode.join("dn7", rack="/r1")
    assert said() == [
        "datanode 10.0.0.1:9866 (dn7, version 3.5.0) registered in rack /r1 for the first time "
        "since this namenode was started; its block report comes next",
        "datanode 10.0.0.1:9866 has reported 0 replicas on 1 volumes",
    ]


def test_a_datanode_that_is_lost_and_comes_back_is_named(
    client: Any, nodes: Nodes, said: Any
) -> None:
    client.write("/a", 10, replication=3)
    said()
    for node in nodes[1:]:
        node.known.last_heartbeat_ms += 61_000
    client.namenode.tick(61_000)
    assert said() == [
        "datanode 10.0.0.1:9866 (dn0) is lost: it said nothing for 61 s; its 1 replicas do not "
        "count until it registers again"
    ]
    nodes[0].register()
    nodes[0].heartbeat()
    nodes[0].report()
    nodes[0].report()
    assert said() == [
        "datanode 10.0.0.1:9866 (dn0, version 3.5.0) registered in rack /r0 again, "
        "after 61 s; it was lost; its block report comes next",
        "datanode 10.0.0.1:9866 has reported 1 replicas on 1 volumes",
    ]


def test_a_volume_that_is_gone_is_named_once(namenode: InMemoryNamenode, said: Any) -> None:
    node = namenode.join("dn", volumes=2)
    said()
    lost = node.first_storage
    del node.replicas[lost]
    node.heartbeat()
    node.heartbeat()
    assert said() == [
        f"volume {lost} of datanode 10.0.0.1:9866 is gone: its 0 replicas do not count any more"
    ]


# Blocks.


@pytest.fixture
def cluster_log(namenode: InMemoryNamenode) -> ClusterLog:
    return ClusterLog(namenode.namesystem)


def pass_time(namenode: InMemoryNamenode, ms: int) -> None:
    for node in namenode.nodes:
        node.known.last_heartbeat_ms += ms
    namenode.clock.advance(ms)


def test_missing_blocks_are_told_at_once_then_at_intervals_then_that_it_is_over(
    client: Any, nodes: Nodes, cluster_log: ClusterLog
) -> None:
    block = client.write("/a", 10).blocks[0]
    assert cluster_log.work() == []
    (holder,) = [node for node in nodes if node.replicas[node.first_storage]]
    holder.drop(block.block_id)
    line = (
        "no good replica of 1 block(s) is known; files with them cannot be read to the end until "
        f"their datanodes are back; for example {block.name} of /a"
    )
    assert cluster_log.work() == [line]
    pass_time(client.namenode, REPEAT_MS - 1)
    assert cluster_log.work() == []
    pass_time(client.namenode, 1)
    assert cluster_log.work() == [line]
    holder.store(block.block_id, block.generation_stamp, 10)
    assert cluster_log.work() == ["good replicas of all blocks are known again"]
    assert cluster_log.work() == []


def test_too_few_replicas_are_told_when_it_lasts(
    client: Any, nodes: Nodes, cluster_log: ClusterLog
) -> None:
    block = client.write("/a", 10, replication=3).blocks[0]
    nodes[0].drop(block.block_id)
    assert cluster_log.work() == []
    pass_time(client.namenode, PATIENCE_MS)
    ((line),) = cluster_log.work()
    assert line.startswith(
        "1 block(s) with too few replicas, of which 0 have one only; they are copied, where there "
        f"is room; for example {block.name} of /a at "
    )


def test_blocks_that_stay_on_too_few_racks_are_told(
    client: Any, nodes: Nodes, cluster_log: ClusterLog
) -> None:
    block = client.write("/a", 10, replication=3).blocks[0]
    nodes[1].drop(block.block_id)
    client.set_replication("/a", 2)
    assert cluster_log.work() == []
    pass_time(client.namenode, PATIENCE_MS)
    (line,) = cluster_log.work()
    assert line.startswith(
        "1 block(s) with enough replicas, but on too few racks; they are spread, where other racks "
        f"have room; for example {block.name} of /a at "
    )
    nodes[1].store(block.block_id, block.generation_stamp, 10)
    assert cluster_log.work() == ["all blocks are on as many racks as they are to be again"]


def test_what_is_mended_soon_is_not_told(
    client: Any, nodes: Nodes, cluster_log: ClusterLog
) -> None:
    block = client.write("/a", 10, replication=3).blocks[0]
    for _ in range(5):
        nodes[0].drop(block.block_id)
        assert cluster_log.work() == []
        nodes[0].store(block.block_id, block.generation_stamp, 10)
        pass_time(client.namenode, PATIENCE_MS)
        assert cluster_log.work() == []


def test_bad_replicas_are_told_with_their_nodes(
    client: Any, nodes: Nodes, cluster_log: ClusterLog
) -> None:
    block = client.write("/a", 10, replication=3).blocks[0]
    client.namenode.namesystem.block_manager.blocks.found_corrupt(
        nodes[1].known, block.block_id, block.generation_stamp
    )
    ((line),) = cluster_log.work()
    assert line.startswith(
        "1 block(s) with bad replicas; they are replaced as long as there are good ones; for "
        f"example {block.name} of /a at "
    )
    assert nodes[1].known.name in line


def test_nothing_is_told_in_safe_mode(client: Any, nodes: Nodes, cluster_log: ClusterLog) -> None:
    block = client.write("/a", 10).blocks[0]
    for node in nodes:
        node.drop(block.block_id)
    client.namenode.namesystem.safe_mode.enter()
    assert cluster_log.work() == []
