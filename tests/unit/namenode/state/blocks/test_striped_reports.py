"""Reports of internal blocks of block groups: these have ids below zero."""

from __future__ import annotations

import pytest

from howdah.proto import datanode_namenode_pb2 as pb
from howdah.testing.in_memory import InMemoryDatanode, InMemoryNamenode

INTERNAL = -(1 << 63) + 16
STAMP = 1


def deletions(node: InMemoryDatanode) -> list[int]:
    return [
        block.blockId - (1 << 64) if block.blockId >> 63 else block.blockId
        for command in node.heartbeat()
        if command.blkCmd.action == pb.BlockCommandProto.INVALIDATE
        for block in command.blkCmd.blocks
    ]


@pytest.mark.req("FS-015")
def test_a_full_report_orphans_no_block_of_a_group_that_is_not_known() -> None:
    namenode = InMemoryNamenode()
    node = namenode.join("dn0")
    held = node.replicas[node.first_storage]
    for index in range(3):
        node.store(INTERNAL + index, STAMP, 100)
    node.store(77, STAMP, 100)  # This one is an orphan.
    node.report()
    namenode.tick(1000)
    assert deletions(node) == [77, 77]
    assert sorted(held)[:3] == [INTERNAL, INTERNAL + 1, INTERNAL + 2]


def test_an_incremental_report_orphans_no_block_of_a_group_that_is_not_known() -> None:
    namenode = InMemoryNamenode()
    node = namenode.join("dn0")
    node.store(INTERNAL, STAMP, 100)
    namenode.tick(1000)
    assert deletions(node) == []


def test_an_administrator_gives_groups_up_that_were_never_given_out() -> None:
    namenode = InMemoryNamenode()
    node = namenode.join("dn0")
    node.store(INTERNAL, STAMP, 100)
    namenode.namesystem.block_manager.blocks.give_up_future()
    assert deletions(node) == [INTERNAL]
