"""Replicas that a reader, or the scanner of a datanode, has found corrupt."""

from __future__ import annotations

from collections.abc import Iterable

from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.service.protocols import encoders
from howdah.proto import types_pb2


def note(namesystem: Namesystem, blocks: Iterable[types_pb2.LocatedBlockProto]) -> None:
    """Note each replica of `reportBadBlocks`; clients and datanodes send the same (FS-100)."""
    block_map = namesystem.block_manager.blocks
    datanodes = namesystem.datanode_manager.datanodes
    for located in blocks:
        block = encoders.client_block(namesystem.settings, located.b)
        for node in located.locs:
            block_map.found_corrupt(
                datanodes.get(node.id.datanodeUuid),
                block.block_id,
                block.generation_stamp,
            )
