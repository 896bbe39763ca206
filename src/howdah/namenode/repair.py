"""Repair: too few replicas are copied, too many and bad ones dropped (pure; FS-015).

`Repair.work(now_ms)` is a round, begun at intervals; it fills the datanodes' queues;
their heartbeats take the orders home. An order that brings no new replica in
time is given again, to others if there are any; at once, if its source is gone
or turned out to be bad, one of its nodes has started anew, or all its targets turned
out to have a replica that does not count: datanodes refuse a copy then, until they
have deleted it.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from howdah.namenode.blocks import BlockMap
from howdah.namenode.datanodes import Datanode, DatanodeRegistry, Storage, Transfer
from howdah.namenode.inodes import Block, BlockState
from howdah.namenode.placement import Dice, choose_targets

MAX_TRANSFERS_PER_NODE: Final = 2
"""dfs.namenode.replication.max-streams: queued copies a source takes at a time."""

PENDING_TIMEOUT_MS: Final = 300_000
"""dfs.namenode.reconstruction.pending.timeout-sec."""

SLICE_BLOCKS: Final = 5000
"""Blocks that are looked through in one go."""

SLICE_COPIES: Final = 4
"""Blocks for which targets are chosen in one go, among all datanodes."""


@dataclass(frozen=True, slots=True)
class BlockCounts:
    """`low_redundancy` have too few replicas, of which `last_replica` have but one;
    `missing` have none, of which `missing_single` were meant to have but one."""

    low_redundancy: int
    corrupt: int
    missing: int
    missing_single: int
    last_replica: int


@dataclass(frozen=True, slots=True)
class _Order:
    """Copies of a block that are under way."""

    source: Datanode
    targets: tuple[Storage, ...]
    deadline_ms: int


class Repair:
    """Turns the block map's worries into orders for datanodes."""

    def __init__(
        self,
        block_map: BlockMap,
        registry: DatanodeRegistry,
        dice: Dice,
        *,
        pending_timeout_ms: int = PENDING_TIMEOUT_MS,
        max_blocks_per_round: int = 1000,
        busy_factor: float | None = 2.0,
    ) -> None:
        self._map = block_map
        self._registry = registry
        self._dice = dice
        self._pending_timeout_ms = pending_timeout_ms
        self._max_blocks = max_blocks_per_round
        self._busy_factor = busy_factor
        self._pending: dict[int, _Order] = {}
        # Nodes that were told to take a copy of the block, in vain.
        self._failed: dict[int, set[str]] = {}

    @property
    def pending_count(self) -> int:
        """Blocks with a copy under way."""
        return len(self._pending)

    def under_way(self) -> list[tuple[int, int, int]]:
        """Of each block with copies under way: its id, their deadline, their number."""
        return [
            (block_id, order.deadline_ms, len(order.targets))
            for block_id, order in self._pending.items()
        ]

    def counts(self) -> BlockCounts:
        """Of the complete blocks in question."""
        low = corrupt = missing = missing_single = last_replica = 0
        for block_id in self._map.needs_look:
            block = self._map.blocks.get(block_id)
            if block is None or block.state is not BlockState.COMPLETE:
                continue
            live = len(block.replicas)
            wanted = block.file.replication
            low += 0 < live < wanted
            last_replica += live == 1 < wanted
            corrupt += bool(block.corrupt)
            missing += live == 0
            missing_single += live == 0 and wanted == 1
        return BlockCounts(low, corrupt, missing, missing_single, last_replica)

    def work(self, now_ms: int) -> Generator[None, None, None]:
        """One round: deletions are handed out, then the worst blocks are copied first.

        A generator that yields every few milliseconds, as there may be a million blocks
        in question and a thousand nodes to choose from; each block is looked at again
        when its turn comes.
        """
        self._hand_out_deletions()
        self._forget_late(now_ms)
        # Blocks that want copies, by how many replicas they have.
        wanting: dict[int, list[int]] = {}
        for number, block_id in enumerate(list(self._map.needs_look), 1):
            block = self._map.blocks.get(block_id)
            if block is None or block.state is not BlockState.COMPLETE:
                self._done(block_id)
            elif len(block.replicas) >= block.file.replication:
                self._cut(block)
            elif block.replicas and not self._awaits_copies(block):
                # Those that nothing can be done about take no place in the round.
                wanting.setdefault(len(block.replicas), []).append(block_id)
            if number % SLICE_BLOCKS == 0:
                yield
        worst_first = (block_id for count in sorted(wanting) for block_id in sorted(wanting[count]))
        for number, block_id in enumerate(islice(worst_first, self._max_blocks), 1):
            block = self._map.blocks.get(block_id)
            if block is not None and block_id in self._map.needs_look:
                self._copy(block, now_ms)
            if number % SLICE_COPIES == 0:
                yield
        self._hand_out_deletions()

    def started_anew(self, node: Datanode) -> None:
        """The node has registered: copies that it was to send or to take won't come."""
        for block_id, order in list(self._pending.items()):
            if order.source is node or any(target.node is node for target in order.targets):
                del self._pending[block_id]

    def _hand_out_deletions(self) -> None:
        for node, block_id, stamp in self._map.take_doomed():
            if node.alive:
                node.to_delete.append((block_id, stamp))

    def _forget_late(self, now_ms: int) -> None:
        for block_id, order in list(self._pending.items()):
            if now_ms >= order.deadline_ms:
                del self._pending[block_id]
                if block_id in self._map.needs_look:
                    failed = self._failed.setdefault(block_id, set())
                    failed |= {target.node.identity.uuid for target in order.targets}

    def _done(self, block_id: int) -> None:
        self._map.needs_look.discard(block_id)
        self._pending.pop(block_id, None)
        self._failed.pop(block_id, None)

    def _awaits_copies(self, block: Block) -> bool:
        """True if it has too few replicas, and copies are under way."""
        order = self._pending.get(block.block_id)
        if order is None or len(block.replicas) >= block.file.replication:
            return False
        # By node: which of its volumes takes the copy is the target's own choice.
        holders = [storage.node for storage in block.replicas]
        if order.source in holders and any(
            target.node.alive
            and target.node not in holders
            and not _is_in_the_way(target.node, block)
            for target in order.targets
        ):
            return True
        del self._pending[block.block_id]
        return False

    def _cut(self, block: Block) -> None:
        """It has as many replicas as it wants: bad ones go, and those too many."""
        self._map.drop_bad(block)
        self._drop_excess(block, len(block.replicas) - block.file.replication)
        self._done(block.block_id)

    def _copy(self, block: Block, now_ms: int) -> None:
        """It has too few: order copies from one that is good."""
        wanted = block.file.replication
        live = len(block.replicas)
        if block.state is not BlockState.COMPLETE or not 0 < live < wanted:
            return  # Things have changed since the round began.
        source = self._source(block)
        if source is None:
            return
        chosen = choose_targets(
            self._registry,
            wanted - live,
            block_size_bytes=block.length_bytes,
            dice=self._dice,
            present=[s.node for s in block.replicas],
            excluded=self._unfit(block) | self._failed.get(block.block_id, set()),
            avoid=lambda node: self._registry.is_stale(node, now_ms),
            busy_factor=self._busy_factor,
        )
        if not chosen:
            # Once more from the start, next time. Where only holders of bad replicas
            # are left, those make room.
            self._failed.pop(block.block_id, None)
            self._map.drop_bad(block)
            return
        source.to_transfer.append(Transfer(block, tuple(chosen)))
        self._pending[block.block_id] = _Order(
            source, tuple(chosen), now_ms + self._pending_timeout_ms
        )

    def _source(self, block: Block) -> Datanode | None:
        nodes = [s.node for s in block.replicas if s.node.alive]
        self._dice.shuffle(nodes)
        nodes.sort(key=lambda n: len(n.to_transfer))
        if not nodes or len(nodes[0].to_transfer) >= MAX_TRANSFERS_PER_NODE:
            return None
        return nodes[0]

    def _unfit(self, block: Block) -> set[str]:
        """Nodes that have a replica which is bad or about to go: it is in the way."""
        return {node.identity.uuid for node in self._registry if _is_in_the_way(node, block)}

    def _drop_excess(self, block: Block, excess: int) -> None:
        """Drop from the fullest node of the rack that holds the most replicas."""
        for _ in range(excess):
            racks: dict[str, int] = {}
            for storage in block.replicas:
                racks[storage.node.location] = racks.get(storage.node.location, 0) + 1
            victim = max(
                block.replicas,
                key=lambda s: (racks[s.node.location], -s.remaining_bytes, s.storage_id),
            )
            self._map.lost(victim, block.block_id)
            self._map.doom(victim, block.block_id, block.generation_stamp)


def _is_in_the_way(node: Datanode, block: Block) -> bool:
    """True if the node has a replica of the block that is bad, or about to go."""
    return block.block_id in node.doomed or any(
        block.block_id in storage.bad for storage in node.storages.values()
    )
