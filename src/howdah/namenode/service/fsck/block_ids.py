"""`-blockId`: which file a block belongs to, and how its replicas are (pure).

Hadoop's `NamenodeFsck.blockIdCK`. The last line says how one replica is, and Hadoop's client
takes its exit code from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from howdah.namenode.service.fsck.options import Options
from howdah.namenode.service.fsck.replicas import Excess, count, out_of_service
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.blocks.datanodes import Storage
from howdah.namenode.state.inodes.inodes import Block

_FILE_NAME: Final = re.compile(r"blk_(-?[0-9]{1,19})(_[0-9]+\.meta)?")


def describe_blocks(
    namesystem: Namesystem, names: tuple[str, ...], options: Options
) -> Iterator[str]:
    """A paragraph for each block, given by the name of a file such as a datanode has."""
    excess = Excess(namesystem.datanode_manager.datanodes)
    for name in names:
        if "blk_" not in name:
            yield f"Incorrect blockId format: {name}\n"
            continue
        matched = _FILE_NAME.fullmatch(name)
        block = namesystem.namespace.blocks.reported_as(int(matched[1])) if matched else None
        if block is None or namesystem.namespace.inodes.get(block.file_id) is None:
            yield f"\nBlock {name} does not exist\n"
        else:
            yield "".join(_describe(namesystem, name, block, options, excess))


def _describe(
    namesystem: Namesystem, name: str, block: Block, options: Options, excess: Excess
) -> Iterator[str]:
    blocks = namesystem.block_manager.blocks
    counts = count(blocks, block)
    superfluous = excess.of(block)
    now_ms = namesystem.clock.monotonic_ms()
    stale = [
        s
        for s in block.replicas
        if namesystem.datanode_manager.datanodes.is_stale(s.node, now_ms) or not s.reported
    ]
    yield f"\nBlock Id: {name}\n"
    file = namesystem.namespace.file_of(block)
    yield f"Block belongs to: {namesystem.namespace.display_path(file)}\n"
    yield f"No. of Expected Replica: {blocks.redundancy.expected_replication(block)}\n"
    yield f"No. of live Replica: {counts.live}\n"
    yield f"No. of excess Replica: {len(superfluous)}\n"
    yield f"No. of stale Replica: {len(stale)}\n"
    yield f"No. of decommissioned Replica: {counts.decommissioned}\n"
    yield f"No. of decommissioning Replica: {counts.decommissioning}\n"
    if options.maintenance:
        yield f"No. of entering maintenance Replica: {counts.entering_maintenance}\n"
        yield f"No. of in maintenance Replica: {counts.in_maintenance}\n"
    yield f"No. of corrupted Replica: {len(block.corrupt)}\n"
    for storage in reversed([*block.replicas, *block.corrupt, *superfluous]):
        node = storage.node
        yield f"Block replica on datanode/rack: {node.identity.hostname}{node.location} "
        yield f"is {_state(namesystem, block, storage, superfluous, options)}\n"


def _state(
    namesystem: Namesystem,
    block: Block,
    storage: Storage,
    superfluous: list[Storage],
    options: Options,
) -> str:
    node = storage.node
    if storage in block.corrupt:
        by_reader = storage.corrupt[block.block_id].found_by_reader
        reason = "CORRUPTION_REPORTED" if by_reader else "GENSTAMP_MISMATCH"
        return f"CORRUPT\t ReasonCode: {reason}"
    if state := out_of_service(node, with_maintenance=options.maintenance):
        return state
    if namesystem.datanode_manager.datanodes.is_stale(node, namesystem.clock.monotonic_ms()):
        return "STALE"
    return "EXCESS" if storage in superfluous else "HEALTHY"
