"""The block map: which storages hold which replicas (pure).

The namespace says which blocks there are; datanodes say where they are, in full
reports, increments and by dying. Locations are never stored (FS-024): all of
this is rebuilt after a start.

A report about a block means, in order:

1. no such block in the namespace -> the replica is to be deleted
2. the replica was told to go -> it does not count, whatever is said of it
3. an older generation stamp, or another length than a complete block's ->
   the replica is bad: kept out of `replicas`, deleted once good ones suffice
4. being written -> its storage is among the places that a reader may try
5. finalized -> it counts, unless a reader found it corrupt

Rule 2 keeps a replica that was given up for being one too many from coming back
while its deletion is under way, unless it is needed: with it counted again another one
would be too many, and in the end both were gone. `deletions` says when it may come back,
and hands the orders out; `redundancy` has the blocks that need something.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Generator, Iterable
from typing import Final, NamedTuple

from howdah.namenode.blocks.datanodes import BadReplica, Datanode, Storage
from howdah.namenode.blocks.deletions import Deletions
from howdah.namenode.blocks.redundancy import Redundancy
from howdah.namenode.inodes.block_table import Block, BlockState, BlockTable

SLICE_REPLICAS: Final = 2000
"""Replicas of a full report that are taken in one go, some milliseconds' work."""


class ReplicaState(enum.IntEnum):
    """As datanodes report it; the same numbers on the wire."""

    FINALIZED = 0
    RBW = 1
    RWR = 2
    RUR = 3
    TEMPORARY = 4


class ReportedReplica(NamedTuple):
    """A tuple, since a report has millions: a frozen dataclass takes four times as long
    to make (1.0 and 0.25 µs)."""

    block_id: int
    length_bytes: int
    generation_stamp: int
    state: ReplicaState


class BlockMap:
    """Replicas of the namespace's blocks, and what about them needs attention."""

    def __init__(
        self,
        blocks: BlockTable,
        min_replication: int = 1,
        wanted: Callable[[Block], int] = lambda block: block.file.replication,
    ) -> None:
        """`wanted` says how many replicas a block is to have."""
        self.blocks = blocks
        self.min_replication = min_replication
        self.redundancy = Redundancy(wanted)
        self.deletions = Deletions(blocks, self.redundancy, self._count, self._mark_bad)
        self.safe_count = 0
        """Complete blocks with at least `min_replication` replicas."""
        self.finalized_now: list[Block] = []
        """Blocks that gained a finalized replica since somebody last took the list."""
        # What was reported of blocks under construction: the length of a replica that is
        # finalized (the client's word about the length comes later and may differ) or
        # left over, None of one that is being written.
        self._early: dict[int, dict[Storage, int | None]] = {}
        # What was reported of them under a stamp that no client has told of yet.
        self._ahead: dict[int, dict[Storage, ReportedReplica]] = {}
        # Open blocks of which `expected` is the whole pipeline: it was allocated, or
        # changed, since the namenode was started.
        self._whole_pipelines: set[int] = set()
        # Of blocks that were just closed: who of the pipeline has yet to report its replica.
        self._due: dict[int, set[Datanode]] = {}

    # Reports.

    def full_report(
        self, storage: Storage, replicas: Iterable[ReportedReplica]
    ) -> Generator[None, None, None]:
        """All replicas of one storage: what is not in it, the storage does not have.

        A generator: it takes a slice of the report at a step. What the storage
        gains by increments in between is not taken for missing. Replicas that were
        told to go and are still there are told again. Until the last slice was taken
        nobody relies on the storage's having told everything.
        """
        node = storage.node
        storage.reported = False
        registrations = node.registrations
        missing = storage.block_ids.remaining()
        told = self.deletions.told_at(storage)
        for others in (storage.bad, told, self._unsettled_at(storage)):
            for block_id in others:
                missing.add(block_id)
        for position, replica in enumerate(replicas, 1):
            block_id = replica.block_id
            missing.cross_out(block_id)
            self.reported(storage, replica)
            doomed = node.doomed.get(block_id)
            if doomed is not None and doomed.generation_stamp >= replica.generation_stamp:
                self.deletions.order(
                    storage,
                    block_id,
                    replica.generation_stamp,
                    is_surplus=doomed.is_surplus,
                )
            if position % SLICE_REPLICAS == 0:
                yield
                if not node.alive or node.registrations != registrations:
                    return
        for block_id in missing:
            self.deleted(storage, block_id)
        storage.reported = True
        self.deletions.all_told(node)

    def _unsettled_at(self, storage: Storage) -> set[int]:
        """The open blocks of which the storage reported a replica before."""
        return {
            block_id
            for reports in (self._early, self._ahead)
            for block_id, storages in reports.items()
            if storage in storages
        }

    def reported(self, storage: Storage, replica: ReportedReplica) -> None:
        """One replica is there."""
        if self._is_as_expected(storage, replica):
            return
        block_id = replica.block_id
        block = self.blocks.get(block_id)
        is_corrupt = block is not None and self._is_corrupt(storage, block, replica)
        doomed = storage.node.doomed.get(block_id)
        if doomed is not None:
            if replica.generation_stamp <= doomed.generation_stamp:
                if block is not None and not is_corrupt and _is_good(block, replica):
                    doomed.storage = storage
                    self.deletions.reported(storage.node, block, doomed)
                return
            # The old replica made way for a new one; the order finds nothing to delete.
            self.deletions.forget(storage.node, block_id)
        if is_corrupt:
            return
        if block is None:
            self.deletions.order_unwanted(storage, block_id, replica.generation_stamp)
        elif replica.state is ReplicaState.TEMPORARY:
            return
        elif replica.generation_stamp != block.generation_stamp:
            self._other_stamp(storage, block, replica)
        elif replica.state is not ReplicaState.FINALIZED:
            self._unfinished(storage, block, replica)
        else:
            self._finalized(storage, block, replica)

    def _is_as_expected(self, storage: Storage, replica: ReportedReplica) -> bool:
        """Most replicas of most reports: a good one of a complete block of which there is
        nothing else to say. If so, it counts now."""
        block_id = replica.block_id
        if (
            replica.state is not ReplicaState.FINALIZED
            or block_id in storage.node.doomed
            or block_id in self._due
        ):
            return False
        count = self.blocks.take_replica(
            block_id, replica.length_bytes, replica.generation_stamp, storage
        )
        if count is None:
            return False
        if count:
            storage.block_ids.add(block_id)
            self.safe_count += count == self.min_replication
            self.redundancy.changed.add(block_id)
        return True

    def _is_corrupt(self, storage: Storage, block: Block, replica: ReportedReplica) -> bool:
        """True if a reader found this very replica corrupt, if on another volume perhaps."""
        for other in block.corrupt:
            bad = other.bad[block.block_id]
            if (
                other.node is storage.node
                and bad.found_by_reader
                and bad.generation_stamp == replica.generation_stamp
            ):
                self._unmark_bad(other, block)
                self._mark_bad(storage, block, bad)
                return True
        return False

    def _other_stamp(self, storage: Storage, block: Block, replica: ReportedReplica) -> None:
        if replica.generation_stamp > block.generation_stamp:
            # A pipeline that was just given its new stamp reports before the client's
            # updatePipeline came. It may have closed the block already, and then the
            # datanode says nothing more about it.
            if block.state is BlockState.UNDER_CONSTRUCTION:
                self._ahead.setdefault(block.block_id, {})[storage] = replica
            return
        self.lost(storage, block.block_id)
        self.look(block)
        if block.state is BlockState.COMPLETE and block.replicas:
            self.deletions.order(storage, block.block_id, replica.generation_stamp)
        else:
            self._mark_bad(storage, block, BadReplica(replica.generation_stamp))

    def _unfinished(self, storage: Storage, block: Block, replica: ReportedReplica) -> None:
        if block.state is BlockState.COMPLETE:
            # Of one being written the word was under way when its pipeline closed,
            # or the file was closed without it; only one left over by a datanode's
            # death cannot become good any more.
            if replica.state is ReplicaState.RWR:
                self.mark_corrupt(storage, block)
            return
        if block.state is BlockState.UNDER_CONSTRUCTION and storage not in block.replicas:
            # One that a death left over does not grow: its length can be relied upon.
            left_over = replica.state is ReplicaState.RWR
            early = self._early.setdefault(block.block_id, {})
            early[storage] = replica.length_bytes if left_over else None
        if all(other.node is not storage.node for other in block.expected):
            block.expected = (*block.expected, storage)

    def _finalized(self, storage: Storage, block: Block, replica: ReportedReplica) -> None:
        if block.state is not BlockState.UNDER_CONSTRUCTION:
            if replica.length_bytes != block.length_bytes:
                self.mark_corrupt(storage, block)
                return
        else:
            self._early.setdefault(block.block_id, {})[storage] = replica.length_bytes
        self._add(storage, block)

    def _add(self, storage: Storage, block: Block) -> None:
        self._unmark_bad(storage, block)
        if storage not in block.replicas:
            # A node that moved the replica to another volume still has but one.
            for other in block.replicas:
                if other.node is storage.node:
                    self._take_out(other, block)
                    break
            self._count(storage, block)
            if self._due:
                self._not_due(block.block_id, storage.node)
            if block.state is BlockState.COMMITTED:
                self._complete_if_safe(block)
            self.finalized_now.append(block)
        self.look(block)

    def _count(self, storage: Storage, block: Block) -> None:
        """The storage has a good replica that did not count until now."""
        block.add_replica(storage)
        storage.block_ids.add(block.block_id)
        if block.state is BlockState.COMPLETE:
            self.safe_count += block.replica_count == self.min_replication

    def _take_out(self, storage: Storage, block: Block) -> None:
        block.remove_replica(storage)
        storage.block_ids.discard(block.block_id)
        if block.state is BlockState.COMPLETE:
            self.safe_count -= len(block.replicas) == self.min_replication - 1

    def lost(self, storage: Storage, block_id: int) -> None:
        """The storage has no good replica (any more)."""
        storage.block_ids.discard(block_id)
        block = self.blocks.get(block_id)
        if block is None:
            return
        self._unmark_bad(storage, block)
        self.look(block)
        if storage in block.replicas:
            self._take_out(storage, block)
        for reports in (self._early.get(block_id), self._ahead.get(block_id)):
            if reports is not None:
                reports.pop(storage, None)

    def deleted(self, storage: Storage, block_id: int) -> None:
        """The storage has nothing of the block (any more)."""
        node = storage.node
        doomed = node.doomed.get(block_id)
        if doomed is not None and doomed.storage is storage:
            self.deletions.forget(node, block_id)
        elif doomed is None and block_id in storage.block_ids:
            node.in_doubt.discard(block_id)
        self.lost(storage, block_id)

    def node_gone(self, node: Datanode) -> None:
        """A datanode died, or was replaced: all its replicas are out of reach."""
        for storage in node.storages.values():
            self.storage_gone(storage)
        self._started_anew(node)

    def storage_gone(self, storage: Storage) -> None:
        """One volume failed, or its node died."""
        for block_id in (*storage.block_ids, *storage.bad):
            self.lost(storage, block_id)
        storage.bad.clear()
        storage.reported = False
        for block_id, doomed in list(storage.node.doomed.items()):
            if doomed.storage is storage:
                self.deletions.forget(storage.node, block_id)

    def orders_lost(self, node: Datanode) -> None:
        """It has registered anew."""
        self._started_anew(node)
        for storage in node.storages.values():
            for block_id in storage.bad:
                self.look(self.blocks[block_id])

    def _started_anew(self, node: Datanode) -> None:
        """What it has, its full report says."""
        self.deletions.started_anew(node)
        for block_id in [block_id for block_id, due in self._due.items() if node in due]:
            self._not_due(block_id, node)

    # What clients say about the block that they write.

    def allocated(self, block: Block, targets: tuple[Storage, ...]) -> None:
        """A new block's pipeline."""
        block.expected = targets
        self._whole_pipelines.add(block.block_id)

    def finalized_replicas(self, block: Block, length_bytes: int) -> int:
        """How many finalized replicas of that length were reported of an open block."""
        if block.state is not BlockState.UNDER_CONSTRUCTION:
            return len(block.replicas)
        early = self._early.get(block.block_id, {})
        return sum(1 for storage in block.replicas if early.get(storage) == length_bytes)

    def is_unwritten(self, block: Block) -> bool:
        """True if there is no byte of the open block, as far as is known: none was ever
        synced, no datanode has a replica, and all that were to have one were asked."""
        return (
            block.state is BlockState.UNDER_CONSTRUCTION
            and block.length_bytes == 0
            and not block.replicas
            and not block.corrupt
            and not self._early.get(block.block_id)
            and not self._ahead.get(block.block_id)
            and all(storage.node.alive and storage.reported for storage in block.expected)
        )

    def remembers_pipeline(self, block: Block) -> bool:
        """Whether `expected` is all that may have the open block: a start forgets that."""
        return block.block_id in self._whole_pipelines

    def holders(self, block: Block) -> list[Storage]:
        """Where an open block may have replicas, as far as is known: one storage a node."""
        block_id = block.block_id
        known = dict.fromkeys(
            (
                *block.replicas,
                *self._early.get(block_id, ()),
                *self._ahead.get(block_id, ()),
                *block.expected,
            )
        )
        by_node: dict[Datanode, Storage] = {}
        for storage in known:
            by_node.setdefault(storage.node, storage)
        return list(by_node.values())

    def may_hold_more(
        self, block: Block, length_bytes: int, apart_from: Iterable[Storage]
    ) -> str | None:
        """Who else may have a longer replica of the open block, in words; None if nobody."""
        accounted = {storage.node for storage in apart_from}
        early = self._early.get(block.block_id, {})
        ahead = self._ahead.get(block.block_id, {})
        for storage in self.holders(block):
            node = storage.node
            if node in accounted:
                continue
            if not node.alive or not storage.reported:
                return f"datanode {node.name}"
            # A node that has told all that it has, and not named the block, has not got it.
            if storage in ahead or storage in early:
                told = early.get(storage)
                if storage in ahead or told is None or told > length_bytes:
                    return f"datanode {node.name}"
            accounted.add(node)
        if block.block_id not in self._whole_pipelines and len(accounted) < block.file.replication:
            return "a datanode that nobody remembers"
        return None

    def settled(self, block: Block) -> None:
        """The length of a block that was open is known now (an edit said so): drop
        replicas that differ, and see whether it is complete."""
        self._whole_pipelines.discard(block.block_id)
        self._ahead.pop(block.block_id, None)
        early = self._early.pop(block.block_id, {})
        for storage in list(block.replicas):
            if early.get(storage, block.length_bytes) != block.length_bytes:
                block.remove_replica(storage)
                storage.block_ids.discard(block.block_id)
                self._mark_bad(storage, block, BadReplica(block.generation_stamp))
        due = {storage.node for storage in block.expected if storage.node.alive}
        due.difference_update(storage.node for storage in block.replicas)
        if due:
            self._due[block.block_id] = due
        if block.state is BlockState.COMPLETE:
            block.expected = ()
            self.safe_count += len(block.replicas) >= self.min_replication
            self.look(block)
        else:
            block.expected = tuple(block.replicas)
            self._complete_if_safe(block)

    def due(self, block: Block) -> Collection[Datanode]:
        """The datanodes of its last pipeline that have yet to report its replica."""
        return self._due.get(block.block_id, ())

    def give_up_due(self, block: Block) -> None:
        """Nobody waits for such reports any more."""
        self._due.pop(block.block_id, None)

    def _not_due(self, block_id: int, node: Datanode) -> None:
        due = self._due.get(block_id)
        if due is not None:
            due.discard(node)
            if not due:
                del self._due[block_id]

    def reopened(self, block: Block, length_bytes: int) -> None:
        """An append goes on with this block, or a cut goes through it: it is open again,
        where it lies. Its replicas have `length_bytes`."""
        self.safe_count -= len(block.replicas) >= self.min_replication
        block.expected = tuple(block.replicas)
        self._early[block.block_id] = dict.fromkeys(block.replicas, length_bytes)
        self.redundancy.forget(block.block_id)
        self.give_up_due(block)

    def new_pipeline(self, block: Block, old_stamp: int, targets: tuple[Storage, ...]) -> None:
        """The open block has a new generation stamp and lives in `targets` alone.

        Replicas elsewhere are stale: those that are known are doomed (FS-126), and
        those of a datanode that is away now are when it comes back and reports.
        """
        block_id = block.block_id
        ahead = self._ahead.pop(block_id, {})
        stale = dict.fromkeys((*block.replicas, *self._early.get(block_id, ())), old_stamp)
        for storage, replica in ahead.items():
            # Of an attempt to build a pipeline that failed at another node.
            if replica.generation_stamp < block.generation_stamp:
                stale[storage] = replica.generation_stamp
        for storage in list(block.replicas):
            self._take_out(storage, block)
        kept = {storage.node for storage in targets}
        for storage, stamp in stale.items():
            if storage.node not in kept:
                self.deletions.order(storage, block_id, stamp)
        # Each of them has a replica under the new stamp: they were asked first.
        self._early[block_id] = dict.fromkeys(targets)
        block.expected = targets
        self._whole_pipelines.add(block_id)
        for storage, replica in ahead.items():
            if replica.generation_stamp >= block.generation_stamp and storage.node.alive:
                self.reported(storage, replica)

    def removed(self, block: Block) -> None:
        """No file has the block any more."""
        self._early.pop(block.block_id, None)
        self._whole_pipelines.discard(block.block_id)
        self.give_up_due(block)
        ahead = self._ahead.pop(block.block_id, {})
        self.redundancy.forget(block.block_id)
        if block.state is BlockState.COMPLETE:
            self.safe_count -= len(block.replicas) >= self.min_replication
        self.drop_bad(block)
        for storage in block.corrupt:
            self._unmark_bad(storage, block)
        holders = {*block.replicas, *block.expected}
        for storage in sorted(holders, key=lambda s: s.storage_id):
            storage.block_ids.discard(block.block_id)
            if storage not in ahead:
                self.deletions.order(storage, block.block_id, block.generation_stamp)
        for storage, replica in ahead.items():
            self.deletions.order(storage, block.block_id, replica.generation_stamp)
        block.replicas = []
        block.expected = ()

    # Trouble.

    def found_bad(self, node: Datanode | None, block_id: int, generation_stamp: int) -> None:
        """Somebody read a replica that does not match its checksums (FS-100)."""
        block = self.blocks.get(block_id)
        if node is None or block is None or block.generation_stamp != generation_stamp:
            return
        doomed = node.doomed.get(block_id)
        if doomed is not None and doomed.is_surplus:
            doomed.is_surplus = False
            self._mark_bad(
                doomed.storage, block, BadReplica(generation_stamp, found_by_reader=True)
            )
        # Whatever storage is named: a node has but one replica, if any.
        for storage in [s for s in block.replicas if s.node is node]:
            self.mark_corrupt(storage, block, found_by_reader=True)

    def mark_corrupt(
        self, storage: Storage, block: Block, *, found_by_reader: bool = False
    ) -> None:
        """The storage's replica is bad; it no longer counts. One that a reader found
        stays bad until it is gone, for its datanode goes on calling it finalized."""
        self.lost(storage, block.block_id)
        self._mark_bad(storage, block, BadReplica(block.generation_stamp, found_by_reader))
        self.look(block)

    def _mark_bad(self, storage: Storage, block: Block, bad: BadReplica) -> None:
        storage.bad[block.block_id] = bad
        if storage not in block.corrupt:
            block.corrupt = (*block.corrupt, storage)

    def _unmark_bad(self, storage: Storage, block: Block) -> None:
        if storage.bad.pop(block.block_id, None) is not None:
            block.corrupt = tuple(other for other in block.corrupt if other is not storage)

    def drop_bad(self, block: Block) -> None:
        """Have all bad replicas of the block deleted. They are known as bad until they
        are gone: an order that is lost must not make them good again."""
        for storage in block.corrupt:
            if block.block_id not in storage.node.doomed:
                self.deletions.order(
                    storage, block.block_id, storage.bad[block.block_id].generation_stamp
                )

    def drop_surplus(self, storage: Storage, block: Block) -> None:
        """Have a good replica deleted that is one too many."""
        self.deletions.order(storage, block.block_id, block.generation_stamp, is_surplus=True)
        self._take_out(storage, block)
        self.look(block)

    def look(self, block: Block) -> None:
        """Something about it has changed."""
        if block.state is BlockState.COMPLETE:
            self.redundancy.note(block.block_id)

    def take_finalized(self) -> list[Block]:
        """Blocks with a new finalized replica since the last call."""
        finalized, self.finalized_now = self.finalized_now, []
        return finalized

    # Counting for safe mode.

    def count_all(self) -> int:
        """After a start: no replica is known yet. The number of blocks that must be safe:
        those whose length is final, also of files that are still open."""
        self.safe_count = 0
        return self.blocks.count_settled()

    def _complete_if_safe(self, block: Block) -> None:
        if block.state is BlockState.COMMITTED and len(block.replicas) >= self.min_replication:
            block.state = BlockState.COMPLETE
            block.expected = ()
            self.safe_count += 1
            self.look(block)


def _is_good(block: Block, replica: ReportedReplica) -> bool:
    """Whether the replica is what a complete block's is to be."""
    return (
        block.state is BlockState.COMPLETE
        and replica.state is ReplicaState.FINALIZED
        and replica.generation_stamp == block.generation_stamp
        and replica.length_bytes == block.length_bytes
    )
