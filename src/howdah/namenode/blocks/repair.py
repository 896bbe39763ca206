"""Repair: too few replicas are copied, too many and bad ones dropped (pure; FS-015).

`Repair.work(now_ms)` is a round, begun at intervals; it goes through the queues of
`redundancy` and fills those of the datanodes; their heartbeats take the orders home. An
order that brings no new replica in time is given again, to others if there are any; at
once, if its source is gone or turned out to be bad, one of its nodes has started anew, or
all its targets turned out to have a replica that does not count: datanodes refuse a copy
then, until they have deleted it.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Final

from howdah.namenode.blocks.block_map import BlockMap
from howdah.namenode.blocks.datanodes import Datanode, DatanodeRegistry, Storage, Transfer
from howdah.namenode.blocks.placement import Dice, choose_targets
from howdah.namenode.blocks.redundancy import Need
from howdah.namenode.inodes.inodes import Block

MAX_TRANSFERS_PER_NODE: Final = 2
"""dfs.namenode.replication.max-streams: queued copies a source takes at a time."""

PENDING_TIMEOUT_MS: Final = 300_000
"""dfs.namenode.reconstruction.pending.timeout-sec."""

SLICE_BLOCKS: Final = 1000
"""Blocks that are sorted, or cut down, in one go."""

SLICE_COPIES: Final = 4
"""Blocks for which targets are chosen in one go, among all datanodes."""

MAX_CUTS: Final = 10_000
"""Blocks with too many replicas, or bad ones, that are looked at in a round."""

MAX_WAITING: Final = 10_000
"""A datanode with so many deletions before it gets no further ones of what is too much."""


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
        # Until when a block's last pipeline may take to report what it wrote.
        self._due_until_ms: dict[int, int] = {}
        # Nodes that were told to take a copy of the block, in vain.
        self._failed: dict[int, set[str]] = {}
        self._has_scanned = False

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
        """Of the complete blocks in question; as of the last round where very many have
        changed since."""
        needs = self._map.redundancy
        if len(needs.changed) <= SLICE_BLOCKS:
            for block_id in list(needs.changed):
                self._sort(block_id)
        last, low = (len(needs.queues[need]) for need in (Need.LAST, Need.LOW))
        return BlockCounts(
            low_redundancy=last + low,
            corrupt=len(needs.corrupt),
            missing=len(needs.queues[Need.MISSING]),
            missing_single=len(needs.missing_single),
            last_replica=last,
        )

    def work(self, now_ms: int) -> Generator[None, None, None]:
        """One round: what is too much goes, then the worst blocks are copied first.

        A generator that yields every few milliseconds, as there may be a million blocks
        in question and a thousand nodes to choose from; each block is looked at again
        when its turn comes. A round looks at a bounded number of them, those first of
        which something changed.
        """
        if not self._has_scanned:
            yield from self._scan()
            self._has_scanned = True
        yield from self.sort()
        self._forget_late(now_ms)
        queues = self._map.redundancy.queues
        self._find_missing(queues[Need.MISSING].take(self._max_blocks))
        yield
        for number, block_id in enumerate(queues[Need.SURPLUS].take(MAX_CUTS), 1):
            block = self._map.blocks.get(block_id)
            if block is not None and self._sort(block_id) is Need.SURPLUS:
                self._cut(block, now_ms)
            if number % SLICE_BLOCKS == 0:
                yield
        for need in (Need.LAST, Need.LOW):
            for number, block_id in enumerate(queues[need].take(self._max_blocks), 1):
                block = self._map.blocks.get(block_id)
                if block is not None and self._sort(block_id) in (Need.LAST, Need.LOW):
                    self._copy(block, now_ms)
                if number % SLICE_COPIES == 0:
                    yield

    def sort(self) -> Generator[None, None, None]:
        """Queue the blocks of which something changed; in slices."""
        changed = self._map.redundancy.changed
        for number, block_id in enumerate(list(changed), 1):
            self._sort(block_id)
            if number % SLICE_BLOCKS == 0:
                yield

    def _scan(self) -> Generator[None, None, None]:
        """After a start: of what nobody has reported a replica nothing has changed, either."""
        for number, block_id in enumerate(self._map.blocks, 1):
            self._sort(block_id)
            if number % SLICE_BLOCKS == 0:
                yield

    def _sort(self, block_id: int) -> Need | None:
        block = self._map.blocks.get(block_id)
        need = None
        if block is None:
            self._map.redundancy.forget(block_id)
        else:
            need = self._map.redundancy.sort(block)
        if need in (None, Need.MISSING):
            self._pending.pop(block_id, None)
            self._failed.pop(block_id, None)
        if need not in (Need.LAST, Need.LOW):
            self._due_until_ms.pop(block_id, None)
        return need

    def _find_missing(self, block_ids: list[int]) -> None:
        """What their datanodes were told to delete may be there still."""
        nodes = self._deleting()
        if nodes:
            for block_id in block_ids:
                block = self._map.blocks.get(block_id)
                if block is not None and not block.replica_count:
                    self._map.deletions.return_surplus(block, nodes, told=True)

    def _deleting(self) -> list[Datanode]:
        return [node for node in self._registry if node.alive and node.doomed]

    def started_anew(self, node: Datanode) -> None:
        """The node has registered: copies that it was to send or to take won't come."""
        for block_id, order in list(self._pending.items()):
            if order.source is node or any(target.node is node for target in order.targets):
                del self._pending[block_id]
                self._map.redundancy.note(block_id)

    def _forget_late(self, now_ms: int) -> None:
        for block_id, order in list(self._pending.items()):
            if now_ms >= order.deadline_ms:
                del self._pending[block_id]
                if self._sort(block_id) in (Need.LAST, Need.LOW):
                    failed = self._failed.setdefault(block_id, set())
                    failed |= {target.node.identity.uuid for target in order.targets}

    def _awaits_copies(self, block: Block) -> bool:
        """True if copies are under way."""
        order = self._pending.get(block.block_id)
        if order is None:
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

    def _cut(self, block: Block, now_ms: int) -> None:
        """It has as many replicas as it wants: bad ones go, and those too many. What has
        to stay for the time being gets another turn."""
        self._map.drop_bad(block)
        self._drop_surplus(block)
        if block.replica_count == self._wanted(block) and all(
            block.block_id in storage.node.doomed for storage in block.corrupt
        ):
            self._map.redundancy.settle(block.block_id)
            return
        uncertain = self._wanted(block) - self._map.deletions.count_certain(block)
        if (
            block.replica_count > self._wanted(block)
            and uncertain > 0
            and all(storage.reported for storage in block.replicas)
        ):
            # Orders of before may still be carried out at all that could go: none is told to
            # go before a copy is there that is sure to stay.
            self._order_copies(block, uncertain, now_ms)

    def _copy(self, block: Block, now_ms: int) -> None:
        """It has too few: order copies from one that is good."""
        nodes = self._deleting()
        if nodes:
            self._map.deletions.return_surplus(block, nodes, told=False)
        lacking = self._wanted(block) - block.replica_count - self._due(block, now_ms)
        if lacking > 0:
            self._order_copies(block, lacking, now_ms)

    def _due(self, block: Block, now_ms: int) -> int:
        """How many datanodes of the block's last pipeline are yet to report its replica:
        they have as long as a copy has."""
        count = len(self._map.due(block))
        if count and now_ms >= self._due_until_ms.setdefault(
            block.block_id, now_ms + self._pending_timeout_ms
        ):
            self._map.give_up_due(block)
            count = 0
        if not count:
            self._due_until_ms.pop(block.block_id, None)
        return count

    def _order_copies(self, block: Block, count: int, now_ms: int) -> None:
        """Have so many copies made elsewhere, unless some are under way."""
        if self._awaits_copies(block):
            return
        source = self._source(block)
        if source is None:
            return
        chosen = choose_targets(
            self._registry,
            count,
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
        """Nodes that have a replica which is bad or about to go: it is in the way; and those
        that are about to report one."""
        due = self._map.due(block)
        return {
            node.identity.uuid
            for node in self._registry
            if node in due or _is_in_the_way(node, block)
        }

    def _drop_surplus(self, block: Block) -> None:
        """Drop from the fullest node of the rack that holds the most replicas; but first
        what is in doubt, and of the others none as long as they are not enough without."""
        certain, wanted = self._map.deletions.count_certain(block), self._wanted(block)
        for _ in range(block.replica_count - wanted):
            if certain < wanted:
                return
            victim = self._victim(block, spare_certain=certain == wanted)
            if victim is None:
                return
            certain -= self._map.deletions.is_certain(victim, block.block_id)
            self._map.drop_surplus(victim, block)

    def _victim(self, block: Block, *, spare_certain: bool) -> Storage | None:
        block_id = block.block_id
        racks: dict[str, int] = {}
        for storage in block.replicas:
            racks[storage.node.location] = racks.get(storage.node.location, 0) + 1
        found = [
            storage
            for storage in block.replicas
            if storage.node.deletions_waiting < MAX_WAITING
            and not (spare_certain and self._map.deletions.is_certain(storage, block_id))
        ]
        return max(
            found,
            key=lambda s: (
                block_id in s.node.in_doubt,
                racks[s.node.location],
                -s.remaining_bytes,
                s.storage_id,
            ),
            default=None,
        )

    def _wanted(self, block: Block) -> int:
        return self._map.redundancy.wanted(block)


def _is_in_the_way(node: Datanode, block: Block) -> bool:
    """True if the node has a replica of the block that is bad, or about to go."""
    return block.block_id in node.doomed or any(
        block.block_id in storage.bad for storage in node.storages.values()
    )
