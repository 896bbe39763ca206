"""Replicas that datanodes are ordered to delete (pure; FS-015, FS-126).

Hadoop's `InvalidateBlocks` and `ExcessRedundancyMap`. An order to delete a replica takes
these steps:

1. `invalidate`: the replica no longer counts. The order waits in its datanode's queue.
2. `pop_orders`: the datanode sends a heartbeat, and each queued order is checked again. If the
   replica has become one of the last good ones since, its order is revoked, and it counts.
3. The order is sent. The namenode does not know when the datanode deletes the replica, or
   whether the order arrived. It is sent again from time to time while the replica is in the
   way of a copy (`send_again`). An order, sent or not, ends when the datanode reports the
   replica as deleted, or as not there, or sends a full report without it.
4. A report shows a replica whose order was sent. The order is sent again, unless the
   replica is one of the last good ones by now. Then it counts again, but it is marked
   `maybe_invalidated`: the datanode may still carry the order out.

A replica that is marked `maybe_invalidated` is the first to be invalidated when there are
too many, and does not justify the deletion of another replica. The same holds for a
replica on a storage without a full report since its datanode registered, or since the
namenode became active: the previous namenode may have ordered its deletion.

A replica whose block belongs to no file is called orphaned. It is deleted without further
checks, but for the next rule. There may be millions of them, so the queue holds two numbers
for each.

A replica from the future has a generation stamp that was never given out here. No order is made
for it: either another namenode is active since, and this one has yet to notice, or its metadata
are older than the data. An administrator may say that the metadata are right (`keeps_future`).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Final

from howdah.namenode.state.blocks.datanodes import CorruptReplica, Datanode, Invalidated, Storage
from howdah.namenode.state.blocks.redundancy import Redundancy
from howdah.namenode.state.inodes.block_table import Block, BlockTable
from howdah.namenode.state.inodes.group_table import Internal
from howdah.protocol.striping.layout import group_id_of

MAX_QUEUED_BY_REPORTS: Final = 1_000_000
"""Orphaned replicas that one datanode may have in its queue because it reported them. Those
beyond wait for its next report: it may report the same ones again before they are deleted."""
_UNSIGNED: Final = (1 << 64) - 1
_MOST_STAMP: Final = (1 << 63) - 1


class Invalidation:
    """The orders to delete replicas, in queues by datanode."""

    def __init__(
        self,
        blocks: BlockTable,
        redundancy: Redundancy,
        count_again: Callable[[Storage, Block], None],
        mark_corrupt: Callable[[Storage, Block, CorruptReplica], None],
        last_stamp: Callable[[], int],
    ) -> None:
        """`count_again` and `mark_corrupt` are called with a replica whose order is revoked;
        `last_stamp` says which generation stamp was given out last."""
        self._blocks = blocks
        self._last_stamp = last_stamp
        self._redundancy = redundancy
        self._count_again = count_again
        self._mark_corrupt = mark_corrupt
        # By block the datanodes that have an order for a replica of it (`invalidated`).
        self._ordered: dict[int, tuple[Datanode, ...]] = {}
        self.excess = 0
        """Orders for replicas that are good, but one too many."""
        self.is_ordering = True
        """Whether orders are made: by an active namenode only."""
        self.keeps_future = True
        """Whether replicas from the future are kept."""

    @property
    def last_stamp(self) -> int:
        """The highest generation stamp of a replica that may be deleted."""
        return self._last_stamp() if self.keeps_future else _MOST_STAMP

    def is_future(self, generation_stamp: int) -> bool:
        """Whether a replica with that stamp is kept, since it is from the future."""
        # A datanode may have what is no number of Java's, and so of no namenode.
        return self.keeps_future and self._last_stamp() < generation_stamp <= _MOST_STAMP

    # Step 1.

    def invalidate(
        self, storage: Storage, block_id: int, generation_stamp: int, *, is_excess: bool = False
    ) -> None:
        """Queue an order to delete the replica. The replica no longer counts.

        Not of a storage that is out of reach: its node could never report that it is done, and
        would get no other replica of the block. And not for a replica from the future."""
        if not self._takes_orders(storage) or self.is_future(generation_stamp):
            return
        node = storage.node
        if self._blocks.reported_as(block_id) is None:
            self._end(node, block_id)
            node.orphaned.add(block_id & _UNSIGNED, generation_stamp & _UNSIGNED)
            return
        old = node.invalidated.get(block_id)
        if old is None or not old.is_queued:
            node.to_invalidate.append(block_id)
        is_sent = block_id in node.maybe_invalidated or (old is not None and old.is_sent)
        node.maybe_invalidated.discard(block_id)
        node.invalidated[block_id] = Invalidated(storage, generation_stamp, is_excess, is_sent)
        self.excess += is_excess - (old is not None and old.is_excess)
        if old is None:
            self._ordered[block_id] = (*self._ordered.get(block_id, ()), node)

    def ordered(self, block_id: int) -> tuple[Datanode, ...]:
        """The datanodes that have an order to delete a replica of the block."""
        return self._ordered.get(block_id, ())

    def found_corrupt(self, invalidated: Invalidated) -> None:
        """The replica, whose order remains, is none of the good ones."""
        self.excess -= invalidated.is_excess
        invalidated.is_excess = False

    def _end(self, node: Datanode, block_id: int) -> None:
        ended = node.invalidated.pop(block_id, None)
        if ended is None:
            return
        self.excess -= ended.is_excess
        left = tuple(other for other in self._ordered[block_id] if other is not node)
        if left:
            self._ordered[block_id] = left
        else:
            del self._ordered[block_id]

    def invalidate_orphaned(self, storage: Storage, block_id: int, generation_stamp: int) -> None:
        """A replica was reported whose block belongs to no file."""
        if len(storage.node.orphaned) < MAX_QUEUED_BY_REPORTS:
            self.invalidate(storage, block_id, generation_stamp)

    def invalidate_all_orphaned(self, storage: Storage, replicas: array[int]) -> None:
        """The same of many: their block ids and generation stamps in turn, as unsigned numbers.
        None of them has an order, or is from the future."""
        queue = storage.node.orphaned
        room = MAX_QUEUED_BY_REPORTS - len(queue)
        if room > 0 and self._takes_orders(storage):
            queue.extend(replicas[: 2 * room])

    def _takes_orders(self, storage: Storage) -> bool:
        """Whether an order to delete a replica there is made, and can be carried out."""
        is_there = storage.node.storages.get(storage.storage_id) is storage and not storage.failed
        return self.is_ordering and is_there

    # Step 2.

    def pop_orders(self, node: Datanode, limit: int) -> list[tuple[int, int]]:
        """The orders for an answer to a heartbeat: (block id, generation stamp) of each replica."""
        taken: list[tuple[int, int]] = []
        while node.to_invalidate and len(taken) < limit:
            block_id = node.to_invalidate.popleft()
            invalidated = node.invalidated.get(block_id)
            if invalidated is None or not invalidated.is_queued:
                continue  # Revoked since.
            invalidated.is_queued = False
            block = self._blocks.reported_as(block_id)
            if block is None:
                self._end(node, block_id)
            else:
                if invalidated.generation_stamp != block.generation_stamp:
                    # In excess before others were written on or recovered: it has missed that.
                    self.found_corrupt(invalidated)
                if self._must_stay(block, invalidated):
                    self._revoke(node, block, invalidated)
                    continue
            invalidated.is_sent = True
            taken.append((block_id, invalidated.generation_stamp))
        while node.orphaned and len(taken) < limit:
            taken.append(node.orphaned.pop())
        return taken

    def _must_stay(self, block: Block, invalidated: Invalidated) -> bool:
        if not block.is_settled:
            return False
        if invalidated.is_excess:
            return self.count_certain(block) < self._redundancy.expected_replication(block)
        # A corrupt replica makes room for a copy, also for a copy of a replica that may be
        # deleted itself: otherwise neither of them would ever change.
        if any(storage.reported for storage in block.replicas):
            return False
        return not (isinstance(block, Internal) and self._can_be_made(block))

    def _can_be_made(self, part: Internal) -> bool:
        """Whether an internal block can be made of others of its group, which no order can
        delete."""
        group = part.group
        existing = group.layout.block_indices
        others = {
            index
            for index, storage in group.held
            if index != part.index
            and storage.node.alive
            and self.is_certain(storage, group.block_id + index)
        }
        return len(others.intersection(existing)) >= group.data_blocks

    def _revoke(self, node: Datanode, block: Block, invalidated: Invalidated) -> None:
        block_id, storage = block.block_id, invalidated.storage
        self._end(node, block_id)
        if invalidated.is_sent:
            node.maybe_invalidated.add(block_id)
        if storage.failed or node.storages.get(storage.storage_id) is not storage:
            return
        if invalidated.is_excess:
            self._count_again(storage, block)
        elif storage not in block.corrupt:
            self._mark_corrupt(storage, block, CorruptReplica(invalidated.generation_stamp))
        self._redundancy.note(block_id if block_id >= 0 else group_id_of(block_id))

    # Steps 3 and 4.

    def reported(self, node: Datanode, block: Block, invalidated: Invalidated) -> bool:
        """A good replica was reported that has an order; True if the order is revoked."""
        if not invalidated.is_excess or not self._must_stay(block, invalidated):
            return False
        self._revoke(node, block, invalidated)
        return True

    def still_there(self, storage: Storage, block_id: int, generation_stamp: int) -> None:
        """The storage has a replica: an order for it, or for a newer one, is given again."""
        invalidated = storage.node.invalidated.get(block_id)
        if invalidated is not None and invalidated.generation_stamp >= generation_stamp:
            self.invalidate(storage, block_id, generation_stamp, is_excess=invalidated.is_excess)

    def revoke_excess(self, block: Block, *, sent: bool) -> None:
        """The block has too few replicas: revoke orders for its excess replicas. With `sent`,
        also orders that were sent already."""
        for node in self.ordered(block.block_id):
            invalidated = node.invalidated[block.block_id]
            if not invalidated.is_excess or (invalidated.is_sent and not sent):
                continue
            if invalidated.generation_stamp == block.generation_stamp and self._must_stay(
                block, invalidated
            ):
                self._revoke(node, block, invalidated)

    def at(self, storage: Storage) -> set[int]:
        """The blocks with an order for a replica on that storage."""
        return {
            block_id
            for block_id, invalidated in storage.node.invalidated.items()
            if invalidated.storage is storage
        }

    def send_again(self, block: Block) -> None:
        """A copy of the block needs the place of an invalidated replica: queue the orders again
        that were sent. The answer to the heartbeat may have been lost with its orders, and
        only a full report would say so."""
        for node in self.ordered(block.block_id):
            invalidated = node.invalidated[block.block_id]
            if not invalidated.is_queued:
                invalidated.is_queued = True
                node.to_invalidate.append(block.block_id)

    def forget(self, node: Datanode, block_id: int) -> None:
        """The replica is deleted, or was replaced."""
        self._end(node, block_id)
        node.maybe_invalidated.discard(block_id)

    def storage_reported(self, node: Datanode) -> None:
        """A storage of the node has sent a full report. Once all have, replicas that none of
        them has are gone."""
        storages = node.storages.values()
        if node.maybe_invalidated and all(storage.reported for storage in storages):
            node.maybe_invalidated = {
                block_id
                for block_id in node.maybe_invalidated
                if any(block_id in storage.block_ids for storage in storages)
            }

    def clear(self, node: Datanode) -> None:
        """The node has registered, or is out of reach. Its next full report says which
        replicas it still has; it may carry out orders that were sent before."""
        node.maybe_invalidated.update(
            block_id for block_id, d in node.invalidated.items() if d.is_sent
        )
        for block_id in list(node.invalidated):
            self._end(node, block_id)
        node.to_invalidate.clear()
        node.orphaned.clear()

    # Certainty.

    def is_certain(self, storage: Storage, block_id: int) -> bool:
        """Whether no order that was sent can delete the storage's good replica."""
        return storage.reported and block_id not in storage.node.maybe_invalidated

    def count_certain(self, block: Block) -> int:
        """How many good replicas of the block on datanodes in service no order can delete."""
        block_id = block.block_id
        return sum(
            storage.node.in_service and self.is_certain(storage, block_id)
            for storage in block.replicas
        )
