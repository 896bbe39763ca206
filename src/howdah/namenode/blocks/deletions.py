"""Replicas that datanodes are to delete (pure; FS-015, FS-126).

1. noted: the replica does not count from now on; it waits in its datanode's queue
2. looked at again, when the datanode's heartbeat comes for it: what has become one of the
   last in the meantime is taken back, and counts
3. told: nobody knows when the datanode deletes it, or whether the answer ever got there.
   It is over when the datanode says that the replica is gone, or does not report it
4. a report shows a replica that was told to go: it is told again, unless it is among the
   last by now; then it counts again, but stays in doubt, for the order may still be
   carried out

A replica in doubt is the first to go if there are too many again, and no other one goes on
the strength of it. The same holds for replicas on a storage that has not told all that it
has since its datanode registered: what the datanode was told by the namenode that ran
before, nobody knows.

Replicas whose block no file has go without further thought, and there may be millions of
them: of these the queue holds two numbers each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from howdah.namenode.blocks.datanodes import BadReplica, Datanode, Doomed, Storage
from howdah.namenode.blocks.redundancy import Redundancy
from howdah.namenode.inodes.block_table import Block, BlockState, BlockTable

MAX_QUEUED_BY_REPORTS: Final = 1_000_000
"""Replicas that no file wants and of which a datanode reports more are told at a later
report: it may report the same ones again before it is told to delete them."""
_UNSIGNED: Final = (1 << 64) - 1


class Deletions:
    """The queues of all datanodes, and what may leave them."""

    def __init__(
        self,
        blocks: BlockTable,
        redundancy: Redundancy,
        count_again: Callable[[Storage, Block], None],
        mark_bad: Callable[[Storage, Block, BadReplica], None],
    ) -> None:
        """`count_again` and `mark_bad` are told what becomes of a replica taken back."""
        self._blocks = blocks
        self._redundancy = redundancy
        self._count_again = count_again
        self._mark_bad = mark_bad

    # Step 1.

    def order(
        self, storage: Storage, block_id: int, generation_stamp: int, *, is_surplus: bool = False
    ) -> None:
        """Have the replica deleted. It does not count from now on."""
        node = storage.node
        if block_id not in self._blocks:
            node.doomed.pop(block_id, None)
            node.unwanted.add(block_id & _UNSIGNED, generation_stamp & _UNSIGNED)
            return
        old = node.doomed.get(block_id)
        if old is None or not old.is_queued:
            node.to_delete.append(block_id)
        is_told = block_id in node.in_doubt or (old is not None and old.is_told)
        node.in_doubt.discard(block_id)
        node.doomed[block_id] = Doomed(storage, generation_stamp, is_surplus, is_told)

    def order_unwanted(self, storage: Storage, block_id: int, generation_stamp: int) -> None:
        """One was reported whose block no file has."""
        if len(storage.node.unwanted) < MAX_QUEUED_BY_REPORTS:
            self.order(storage, block_id, generation_stamp)

    # Step 2.

    def take(self, node: Datanode, limit: int) -> list[tuple[int, int]]:
        """Its heartbeat is there: block id and generation stamp of what it is told to delete."""
        taken: list[tuple[int, int]] = []
        while node.to_delete and len(taken) < limit:
            block_id = node.to_delete.popleft()
            doomed = node.doomed.get(block_id)
            if doomed is None or not doomed.is_queued:
                continue  # Taken back since.
            doomed.is_queued = False
            block = self._blocks.get(block_id)
            if block is None:
                del node.doomed[block_id]
            elif self._must_stay(block, doomed):
                self._take_back(node, block, doomed)
                continue
            doomed.is_told = True
            taken.append((block_id, doomed.generation_stamp))
        while node.unwanted and len(taken) < limit:
            taken.append(node.unwanted.pop())
        return taken

    def _must_stay(self, block: Block, doomed: Doomed) -> bool:
        if block.state is not BlockState.COMPLETE:
            return False
        if doomed.is_surplus:
            return self.count_certain(block) < self._redundancy.wanted(block)
        # A bad one makes room for a copy, also of one that is in doubt: else neither of
        # them may ever change.
        return not any(storage.reported for storage in block.replicas)

    def _take_back(self, node: Datanode, block: Block, doomed: Doomed) -> None:
        block_id, storage = block.block_id, doomed.storage
        del node.doomed[block_id]
        if doomed.is_told:
            node.in_doubt.add(block_id)
        if storage.failed or node.storages.get(storage.storage_id) is not storage:
            return
        if doomed.is_surplus:
            self._count_again(storage, block)
        elif storage not in block.corrupt:
            self._mark_bad(storage, block, BadReplica(doomed.generation_stamp))
        self._redundancy.note(block_id)

    # Steps 3 and 4.

    def reported(self, node: Datanode, block: Block, doomed: Doomed) -> bool:
        """A good replica was reported that was to go; True if it counts again."""
        if not doomed.is_surplus or not self._must_stay(block, doomed):
            return False
        self._take_back(node, block, doomed)
        return True

    def return_surplus(self, block: Block, nodes: Iterable[Datanode], *, told: bool) -> None:
        """The block has too few replicas: those that were too many count again, also
        those that their datanodes were `told` to delete."""
        for node in nodes:
            doomed = node.doomed.get(block.block_id)
            if doomed is None or not doomed.is_surplus or (doomed.is_told and not told):
                continue
            if doomed.generation_stamp == block.generation_stamp and self._must_stay(block, doomed):
                self._take_back(node, block, doomed)

    def told_at(self, storage: Storage) -> set[int]:
        """The blocks whose replicas there were told to go."""
        return {
            block_id
            for block_id, doomed in storage.node.doomed.items()
            if doomed.storage is storage and doomed.is_told
        }

    def forget(self, node: Datanode, block_id: int) -> None:
        """The replica is gone, or another one has taken its place."""
        node.doomed.pop(block_id, None)
        node.in_doubt.discard(block_id)

    def all_told(self, node: Datanode) -> None:
        """A storage of it has reported: about what none of them has there is no doubt."""
        storages = node.storages.values()
        if node.in_doubt and all(storage.reported for storage in storages):
            node.in_doubt = {
                block_id
                for block_id in node.in_doubt
                if any(block_id in storage.block_ids for storage in storages)
            }

    def started_anew(self, node: Datanode) -> None:
        """It has registered, or is out of reach: what it was told to delete is reported, or
        gone; or it goes on with that, if it was out of reach only."""
        node.in_doubt.update(block_id for block_id, d in node.doomed.items() if d.is_told)
        node.doomed.clear()
        node.to_delete.clear()
        node.unwanted.clear()

    # Doubt.

    def is_certain(self, storage: Storage, block_id: int) -> bool:
        """Whether the good replica that it has is sure to stay."""
        return storage.reported and block_id not in storage.node.in_doubt

    def count_certain(self, block: Block) -> int:
        """How many good replicas of the block are sure to stay."""
        block_id = block.block_id
        return sum(self.is_certain(storage, block_id) for storage in block.replicas)
