"""Blocks of two pools with one id are two blocks: behind a router, and after a path has become
another namenode's, one client meets both."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from howdah import errors
from howdah.client.reading.file_replicas import FileReplicas, ReadContext
from howdah.client.settings.settings import ClientSettings
from howdah.client.state.blocks import LocatedBlock
from howdah.client.state.writing.queues import UnsyncedBlocks
from howdah.client.writing.block_sync import BlockSync
from howdah.client.writing.pipeline_setup import SetupFailed
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock


def node(number: int) -> DatanodeAddress:
    return DatanodeAddress("127.0.0.1", "host", f"uuid-{number}", 9000 + number)


def block_of(pool_id: str, *nodes: DatanodeAddress) -> LocatedBlock:
    return LocatedBlock(ExtendedBlock(pool_id, 1, 1001, 100), 0, nodes)


ONE, OTHER = block_of("BP-1", node(1)), block_of("BP-2", node(2))


def test_both_wait_for_their_sync() -> None:
    unsynced = UnsyncedBlocks()
    unsynced.add(ONE, 1)
    unsynced.add(OTHER, 2)
    assert unsynced.up_to(2) == (ONE, OTHER)
    assert unsynced.synced(OTHER)
    assert unsynced.up_to(2) == (ONE,)
    assert not unsynced.synced(OTHER)


def test_a_block_is_not_synced_where_the_other_one_is() -> None:
    asked: list[tuple[DatanodeAddress, ExtendedBlock]] = []

    class Setup:
        def sync_at(self, node: DatanodeAddress, block: LocatedBlock) -> None:
            asked.append((node, block.block))
            if block is ONE:
                raise SetupFailed(node, "it has no such replica")

    def synced(block: LocatedBlock) -> None:
        pytest.fail(f"{block} was not synced")

    namenode: Any = SimpleNamespace(
        get_block_locations=lambda *_: SimpleNamespace(blocks=(OTHER,)),
    )
    setup: Any = Setup()
    with pytest.raises(errors.PipelineFailed, match="could not be brought to the disk"):
        BlockSync("/f", namenode, setup).sync([ONE], synced)
    assert asked == [(node(1), ONE.block)]


def test_a_datanode_that_broke_off_one_may_be_asked_again_for_the_other() -> None:
    context = ReadContext(
        SimpleNamespace(),  # type: ignore[arg-type]
        ClientSettings(),
        "client",
        (),
    )
    replicas = FileReplicas(SimpleNamespace(path="/f"), context)  # type: ignore[arg-type]
    assert replicas._may_reconnect(ONE, node(1))
    assert not replicas._may_reconnect(ONE, node(1)), "once a block"
    assert replicas._may_reconnect(OTHER, node(1))
