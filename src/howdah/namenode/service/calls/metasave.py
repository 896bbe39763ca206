"""`dfsadmin -metasave`: what the namenode knows of datanodes and blocks, as text (pure).

Hadoop's `BlockManager.metaSave`. The lines have Hadoop's layout, since its users search
them. Blocks under construction are not in it, and no block is ever postponed here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.blocks.admin_states import AdminState
from howdah.namenode.state.blocks.datanodes import Datanode
from howdah.namenode.state.blocks.redundancy import TO_COPY, Need
from howdah.namenode.state.blocks.topology import DEFAULT_RACK
from howdah.namenode.state.inodes.group_table import Group
from howdah.namenode.state.inodes.inodes import Block
from howdah.runtime.units import byte_text, java_date, percent_text

_NODE_STATES: Final = {
    AdminState.NORMAL: "IN",
    AdminState.DECOMMISSION_INPROGRESS: "DP",
    AdminState.DECOMMISSIONED: "DD",
    AdminState.ENTERING_MAINTENANCE: "EM",
    AdminState.IN_MAINTENANCE: "IM",
}
_PLACE_STATES: Final = {
    AdminState.NORMAL: "",
    AdminState.DECOMMISSION_INPROGRESS: "(decommissioning)",
    AdminState.DECOMMISSIONED: "(decommissioned)",
    AdminState.ENTERING_MAINTENANCE: "(maintenance)",
    AdminState.IN_MAINTENANCE: "(maintenance)",
}
_EMPTY_CACHE: Final = "0(0 B) 0(0 B) 100.00% 0(0 B)"


def metasave(namesystem: Namesystem) -> str:
    """The whole text."""
    return "".join(f"{line}\n" for line in _lines(namesystem))


def _lines(namesystem: Namesystem) -> Iterator[str]:
    inodes, blocks = len(namesystem.namespace.inodes), len(namesystem.namespace.blocks)
    yield (
        f"{inodes} files and directories, {blocks} blocks = {inodes + blocks} total "
        "filesystem objects"
    )
    datanodes = namesystem.datanode_manager.datanodes
    yield f"Live Datanodes: {len(datanodes.live())}"
    yield f"Dead Datanodes: {len(datanodes.dead())}"
    waiting, missing, corrupt = _in_question(namesystem)
    yield f"Metasave: Blocks waiting for reconstruction: {len(waiting)}"
    yield from (_block_line(namesystem, block) for block in waiting)
    yield f"Metasave: Blocks currently missing: {len(missing)}"
    yield from (_block_line(namesystem, block) for block in missing)
    yield "Mis-replicated blocks that have been postponed:"
    pending = namesystem.block_manager.reconstruction.under_way()
    yield f"Metasave: Blocks being reconstructed: {len(pending)}"
    late_ms = (
        namesystem.settings.pending_copy_ms
        + namesystem.clock.monotonic_ms()
        - namesystem.clock.wall_ms()
    )
    for block_id, deadline_ms, copies in pending:
        block = namesystem.namespace.blocks.get(block_id)
        name = block.name if block is not None else f"blk_{block_id}"
        begun = java_date(deadline_ms - late_ms)
        yield f"{name} StartTime: {begun} NumReconstructInProgress: {copies}"
    invalidated = [(node, _waiting_deletion(node)) for node in datanodes]
    invalidated = [(node, replicas) for node, replicas in invalidated if replicas]
    count = sum(len(replicas) for _, replicas in invalidated)
    yield f"Metasave: Blocks {count} waiting deletion from {len(invalidated)} datanodes."
    for node, replicas in invalidated:
        yield node.name
        for block_id, stamp in replicas:
            yield f"[blk_{block_id}_{stamp}]"
    yield "Corrupt Blocks:"
    for block in corrupt:
        yield from _corrupt_lines(block)
    nodes = list(datanodes)
    yield f"Metasave: Number of datanodes: {len(nodes)}"
    for node in nodes:
        yield _node_line(namesystem, node)


def _in_question(namesystem: Namesystem) -> tuple[list[Block], list[Block], list[Block]]:
    """Complete blocks that should be copied, with no replica, and with bad ones."""
    namesystem.block_manager.reconstruction.counts()
    needs = namesystem.block_manager.blocks.redundancy
    missing = set(needs.queues[Need.MISSING])
    low = {block_id for need in TO_COPY for block_id in needs.queues[need]}

    def known_blocks(block_ids: set[int]) -> list[Block]:
        blocks = map(namesystem.namespace.blocks.get, sorted(block_ids))
        return [block for block in blocks if block is not None]

    return known_blocks(low), known_blocks(missing), known_blocks(needs.corrupt)


def _waiting_deletion(node: Datanode) -> list[tuple[int, int]]:
    """Block id and generation stamp of each replica that the node has to delete."""
    orders = [
        (block_id, invalidated.generation_stamp)
        for block_id, invalidated in node.invalidated.items()
    ]
    return [*orders, *node.orphaned]


def _block_line(namesystem: Namesystem, block: Block) -> str:
    file = namesystem.namespace.file_of(block)
    counts = namesystem.block_manager.blocks.redundancy.counts(block)
    places = [
        f" {storage.node.name}{_PLACE_STATES[storage.node.admin_state]} : "
        for storage in block.replicas
    ]
    places += [f" {storage.node.name}(corrupt) : " for storage in block.corrupt]
    excess = max(counts.live - file.replication, 0)
    if isinstance(block, Group):
        live = [index for index, storage in block.held if storage.node.in_service]
        excess = len(live) - len(set(live))
    return (
        f"{namesystem.namespace.display_path(file)}: "
        f"{block.name}{'' if block.is_available else ' MISSING'} (replicas: "
        f"live: {counts.live} decommissioning and decommissioned: {counts.decommission} "
        f"corrupt: {len(block.corrupt)} in excess: {excess} "
        f"maintenance mode: {counts.maintenance}) {''.join(places)}"
    )


def _corrupt_lines(block: Block) -> Iterator[str]:
    if isinstance(block, Group):
        for part in block.parts:
            yield from _corrupt_lines(part)
        return
    total = len(block.replicas) + len(block.corrupt)
    for storage in block.corrupt:
        by_reader = storage.corrupt[block.block_id].found_by_reader
        yield (
            f"Block={block.block_id}\tSize={block.length_bytes}\tNode={storage.node.name}"
            f"\tStorageID={storage.storage_id}"
            f"\tStorageState={'FAILED' if storage.failed else 'NORMAL'}"
            f"\tTotalReplicas={total}"
            f"\tReason={'CORRUPTION_REPORTED' if by_reader else 'GENSTAMP_MISMATCH'}"
        )


def _node_line(namesystem: Namesystem, node: Datanode) -> str:
    capacity, used, left = node.capacity_bytes, node.used_bytes, node.remaining_bytes
    share = 100 * used / capacity if capacity else 100.0
    rack = "" if node.location == DEFAULT_RACK else f" {node.location}"
    domain = f" {node.upgrade_domain}" if node.upgrade_domain else ""
    silent_ms = namesystem.clock.monotonic_ms() - node.last_heartbeat_ms
    line = (
        f"{node.name}{rack}{domain} {_NODE_STATES[node.admin_state]} "
        f"{capacity}({byte_text(capacity)}) {used}({byte_text(used)}) "
        f"{percent_text(share)} {left}({byte_text(left)}) {_EMPTY_CACHE} "
        f"{java_date(namesystem.clock.wall_ms() - silent_ms)}"
    )
    if node.to_transfer:
        line += f" {len(node.to_transfer)} blocks to be replicated;"
    if node.pending_deletions:
        line += f" {node.pending_deletions} blocks to be invalidated;"
    return line
