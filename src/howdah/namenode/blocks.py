"""The block map: which storages hold which replicas (pure).

The namespace says which blocks there are; datanodes say where they are, in full
reports, increments and by dying. Locations are never stored (FS-024): all of
this is rebuilt after a start.

A report about a block means, in order:

1. no such block in the namespace -> the replica is to be deleted
2. an older generation stamp, or another length than a complete block's ->
   the replica is corrupt: kept out of `replicas`, deleted once good ones suffice
3. being written -> its storage is among the places that a reader may try
4. finalized -> it counts

Deletions are only noted here; `repair` hands them out, and not in safe mode.
"""

from __future__ import annotations

import enum
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import Final

from howdah.namenode.datanodes import Datanode, Storage
from howdah.namenode.inodes import Block, BlockState

SLICE_REPLICAS: Final = 2000
"""Replicas of a full report that are taken in one go, some milliseconds' work."""


class ReplicaState(enum.IntEnum):
    """As datanodes report it; the same numbers on the wire."""

    FINALIZED = 0
    RBW = 1
    RWR = 2
    RUR = 3
    TEMPORARY = 4


@dataclass(frozen=True, slots=True)
class ReportedReplica:
    block_id: int
    length_bytes: int
    generation_stamp: int
    state: ReplicaState


class BlockMap:
    """Replicas of the namespace's blocks, and what about them needs attention."""

    def __init__(self, blocks: dict[int, Block], min_replication: int = 1) -> None:
        self.blocks = blocks
        self.min_replication = min_replication
        self.needs_look: set[int] = set()
        """Blocks that may have too few or too many replicas."""
        self.safe_count = 0
        """Blocks of finished files with at least `min_replication` replicas."""
        self.finalized_now: list[Block] = []
        """Blocks that gained a finalized replica since somebody last took the list."""
        self._doomed: list[tuple[Storage, int, int]] = []
        # Lengths of finalized replicas of blocks that are not complete yet: the
        # client's word about the length comes later and may differ.
        self._early_lengths: dict[int, dict[Storage, int]] = {}

    # Reports.

    def full_report(
        self, storage: Storage, replicas: Iterable[ReportedReplica]
    ) -> Generator[None, None, None]:
        """All replicas of one storage: what is not in it, the storage does not have.

        A generator: it takes a slice of the report at a step. What the storage
        gains by increments in between is not taken for missing.
        """
        storage.reported = True
        before = set(storage.block_ids)
        for position, replica in enumerate(replicas, 1):
            before.discard(replica.block_id)
            self.reported(storage, replica)
            if position % SLICE_REPLICAS == 0:
                yield
        for block_id in before:
            self.lost(storage, block_id)

    def reported(self, storage: Storage, replica: ReportedReplica) -> None:
        """One replica is there."""
        block = self.blocks.get(replica.block_id)
        if block is None:
            self.doom(storage, replica.block_id, replica.generation_stamp)
            return
        if replica.state is ReplicaState.TEMPORARY:
            return
        if replica.generation_stamp != block.generation_stamp:
            self._other_stamp(storage, block, replica)
            return
        if replica.state is not ReplicaState.FINALIZED:
            self._unfinished(storage, block, replica)
            return
        if block.state is not BlockState.UNDER_CONSTRUCTION:
            if replica.length_bytes != block.length_bytes:
                self.mark_corrupt(storage, block)
                return
        else:
            self._early_lengths.setdefault(block.block_id, {})[storage] = replica.length_bytes
        self._add(storage, block)

    def _other_stamp(self, storage: Storage, block: Block, replica: ReportedReplica) -> None:
        if replica.generation_stamp > block.generation_stamp:
            # A pipeline that was just given its new stamp reports before the
            # client's updatePipeline came; the next report will tell.
            return
        self.lost(storage, block.block_id)
        if block.state is BlockState.COMPLETE and block.replicas:
            self.doom(storage, replica.block_id, replica.generation_stamp)
        elif storage not in block.corrupt:
            block.corrupt = (*block.corrupt, storage)

    def _unfinished(self, storage: Storage, block: Block, replica: ReportedReplica) -> None:
        if block.state is BlockState.COMPLETE:
            # The file was closed without this replica: it is a leftover.
            if block.replicas and storage not in block.replicas:
                self.mark_corrupt(storage, block)
            return
        if all(other.node is not storage.node for other in block.expected):
            block.expected = (*block.expected, storage)

    def _add(self, storage: Storage, block: Block) -> None:
        if storage in block.corrupt:
            block.corrupt = tuple(other for other in block.corrupt if other is not storage)
        if storage not in block.replicas:
            block.replicas.append(storage)
            storage.block_ids.add(block.block_id)
            if block.state is BlockState.COMPLETE:
                self._count_safe(len(block.replicas) == self.min_replication)
            elif block.state is BlockState.COMMITTED:
                self._complete_if_safe(block)
            self.finalized_now.append(block)
        if block.state is BlockState.COMPLETE:
            self.look(block)

    def lost(self, storage: Storage, block_id: int) -> None:
        """The storage does not have the replica (any more)."""
        storage.block_ids.discard(block_id)
        block = self.blocks.get(block_id)
        if block is None:
            return
        if storage in block.corrupt:
            block.corrupt = tuple(other for other in block.corrupt if other is not storage)
        if storage in block.replicas:
            block.replicas.remove(storage)
            if block.state is BlockState.COMPLETE:
                if len(block.replicas) == self.min_replication - 1:
                    self.safe_count -= 1
                self.look(block)
        early = self._early_lengths.get(block_id)
        if early is not None:
            early.pop(storage, None)

    def node_gone(self, node: Datanode) -> None:
        """A datanode died, or was replaced: all its replicas are out of reach."""
        for storage in node.storages.values():
            self.storage_gone(storage)

    def storage_gone(self, storage: Storage) -> None:
        """One volume failed, or its node died."""
        for block_id in list(storage.block_ids):
            self.lost(storage, block_id)
        storage.reported = False
        self._doomed = [entry for entry in self._doomed if entry[0] is not storage]

    # What clients say about the block that they write.

    def allocated(self, block: Block, targets: tuple[Storage, ...]) -> None:
        """A new block's pipeline."""
        block.expected = targets

    def finalized_replicas(self, block: Block, length_bytes: int) -> int:
        """How many finalized replicas of that length were reported of an open block."""
        if block.state is not BlockState.UNDER_CONSTRUCTION:
            return len(block.replicas)
        early = self._early_lengths.get(block.block_id, {})
        return sum(1 for storage in block.replicas if early.get(storage) == length_bytes)

    def settled(self, block: Block) -> None:
        """The block's length is known now (an edit said so): drop replicas that
        differ, and see whether it is complete."""
        early = self._early_lengths.pop(block.block_id, {})
        for storage in list(block.replicas):
            if early.get(storage, block.length_bytes) != block.length_bytes:
                self.mark_corrupt(storage, block)
        block.expected = ()
        if block.state is BlockState.COMPLETE:
            self._count_safe(len(block.replicas) >= self.min_replication)
            self.look(block)
        else:
            block.expected = tuple(block.replicas)
            self._complete_if_safe(block)

    def reopened(self, block: Block) -> None:
        """An append goes on with this block: it is open again, where it lies."""
        if len(block.replicas) >= self.min_replication:
            self.safe_count -= 1
        block.expected = tuple(block.replicas)
        self._early_lengths[block.block_id] = {
            storage: block.length_bytes for storage in block.replicas
        }
        self.needs_look.discard(block.block_id)

    def new_pipeline(self, block: Block, old_stamp: int, targets: tuple[Storage, ...]) -> None:
        """The open block has a new generation stamp and lives in `targets` alone.

        Replicas elsewhere carry the old stamp: they are doomed (FS-126).
        """
        kept = {storage.node for storage in targets}
        for storage in list(block.replicas):
            block.replicas.remove(storage)
            storage.block_ids.discard(block.block_id)
            if storage.node not in kept:
                self.doom(storage, block.block_id, old_stamp)
        self._early_lengths.pop(block.block_id, None)
        block.expected = targets

    def removed(self, block: Block) -> None:
        """No file has the block any more."""
        self._early_lengths.pop(block.block_id, None)
        self.needs_look.discard(block.block_id)
        if block.state is BlockState.COMPLETE and len(block.replicas) >= self.min_replication:
            self.safe_count -= 1
        holders = {*block.replicas, *block.corrupt, *block.expected}
        for storage in sorted(holders, key=lambda s: s.storage_id):
            storage.block_ids.discard(block.block_id)
            self.doom(storage, block.block_id, block.generation_stamp)
        block.replicas = []
        block.expected = ()
        block.corrupt = ()

    # Trouble.

    def mark_corrupt(self, storage: Storage, block: Block) -> None:
        """The storage's replica is bad; it no longer counts."""
        self.lost(storage, block.block_id)
        if storage not in block.corrupt:
            block.corrupt = (*block.corrupt, storage)
        self.look(block)

    def look(self, block: Block) -> None:
        self.needs_look.add(block.block_id)

    def doom(self, storage: Storage, block_id: int, generation_stamp: int) -> None:
        """Have the replica deleted."""
        self._doomed.append((storage, block_id, generation_stamp))

    def take_doomed(self) -> list[tuple[Storage, int, int]]:
        """The replicas to delete; they are the caller's to hand out now."""
        doomed, self._doomed = self._doomed, []
        return doomed

    def take_finalized(self) -> list[Block]:
        """Blocks with a new finalized replica since the last call."""
        finalized, self.finalized_now = self.finalized_now, []
        return finalized

    @property
    def doomed_count(self) -> int:
        return len(self._doomed)

    def live_replicas(self, block: Block) -> int:
        return len(block.replicas)

    # Counting for safe mode.

    def count_all(self) -> int:
        """After a start: no replica is known yet. The number of blocks that must be safe."""
        self.safe_count = 0
        return sum(1 for block in self.blocks.values() if block.state is BlockState.COMPLETE)

    def _count_safe(self, became: bool) -> None:
        if became:
            self.safe_count += 1

    def _complete_if_safe(self, block: Block) -> None:
        if block.state is BlockState.COMMITTED and len(block.replicas) >= self.min_replication:
            block.state = BlockState.COMPLETE
            block.expected = ()
            self._count_safe(True)
            self.look(block)
