"""Which replicas are known, and how many count (pure).

The part of the block map that judges nothing: what `block_map` finds in reports and edits is
written down here, and whoever repairs, recovers or closes blocks asks here. Rules:

1. A good replica counts once for each datanode, on whichever of its volumes it is.
2. A corrupt replica does not count. It stays marked until it is deleted.
3. Of a block under construction `expected` says where it is written. What datanodes have reported
   of it, and which of them have yet to report, is kept beside the block until it is settled.

Hadoop: `BlocksMap`, `CorruptReplicasMap`, and what `BlockManager` counts for safe mode.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from howdah.namenode.state.blocks.datanodes import CorruptReplica, Datanode, Storage
from howdah.namenode.state.blocks.invalidation import Invalidation
from howdah.namenode.state.blocks.pending_reports import PostponedReports
from howdah.namenode.state.blocks.placement import Placement
from howdah.namenode.state.blocks.redundancy import Redundancy
from howdah.namenode.state.inodes.block_table import Block, BlockState, BlockTable
from howdah.namenode.state.inodes.group_table import Group, Internal
from howdah.protocol.striping.layout import GroupLayout, group_id_of


class ReplicaLocations:
    """The replicas of the namespace's blocks, as far as they are known."""

    def __init__(
        self,
        blocks: BlockTable,
        min_replication: int,
        expected_replication: Callable[[Block], int],
        last_stamp: Callable[[], int],
        min_maintenance: int = 1,
        placement: Placement | None = None,
    ) -> None:
        """`expected_replication` says how many replicas a block should have; `last_stamp` which
        generation stamp was given out last; `min_maintenance` how many must be live while others
        are in maintenance; `placement` where they should be."""
        self.blocks = blocks
        self.min_replication = min_replication
        self.redundancy = Redundancy(
            expected_replication,
            min_maintenance,
            placement,
            may_hold=self.nodes_that_may_hold,
            awaits_reports=self.awaits_reports,
        )
        self.invalidation = Invalidation(
            blocks, self.redundancy, self._count, self._add_corrupt, last_stamp
        )
        self.safe_count = 0
        """Complete blocks with at least `min_replication` replicas."""
        self.finalized_now: list[Block] = []
        """Blocks that gained a finalized replica since `take_finalized` was last called."""
        # Replicas that were reported of blocks under construction. The length of one that is
        # finalized (the client names the block's length later, and may name another) or
        # left over from a restart (RWR); None for one that is being written.
        self._open_reports: dict[int, dict[Storage, int | None]] = {}
        # Replicas with a generation stamp that no client has reported yet, and those from the
        # future; at a standby all that the log it has read does not account for yet.
        self.postponed = PostponedReports()
        # Open blocks of which `expected` is the whole pipeline: it was allocated, or
        # changed, since the namenode was started.
        self._known_pipelines: set[int] = set()
        # Of blocks that were just closed: datanodes of the pipeline that have yet to report
        # their replica.
        self._awaited: dict[int, set[Datanode]] = {}

    # Replicas come and go.

    def _add(self, storage: Storage, block: Block) -> None:
        self._remove_corrupt(storage, block)
        if storage not in block.replicas:
            # A node that moved the replica to another volume still has but one.
            for other in block.replicas:
                if other.node is storage.node:
                    self._take_out(other, block)
                    break
            self._count(storage, block)
            if self._awaited:
                self._report_arrived(block.block_id, storage.node)
            if block.state is BlockState.COMMITTED:
                self._complete_if_safe(block)
            self.finalized_now.append(block)
        self.note_change(block)

    def _count(self, storage: Storage, block: Block) -> None:
        """The storage has a good replica, which counts from now on."""
        if isinstance(block, Internal):
            self._count_internal(storage, block)
            return
        block.add_replica(storage)
        storage.block_ids.add(block.block_id)
        if block.state is BlockState.COMPLETE:
            self.safe_count += block.replica_count == self.min_replication

    def _take_out(self, storage: Storage, block: Block) -> None:
        if isinstance(block, Internal):
            self._take_out_internal(storage, block)
            return
        block.remove_replica(storage)
        storage.block_ids.discard(block.block_id)
        if block.state is BlockState.COMPLETE:
            self.safe_count -= len(block.replicas) == self.min_replication - 1

    def _count_internal(self, storage: Storage, part: Internal) -> None:
        """The same of an internal block: its group is safe when as many of them are there as a
        reader needs."""
        group = part.group
        was_safe = group.is_available
        part.add_replica(storage)
        storage.block_ids.add(part.block_id)
        if group.state is BlockState.COMPLETE:
            self.safe_count += group.is_available - was_safe

    def _take_out_internal(self, storage: Storage, part: Internal) -> None:
        group = part.group
        was_safe = group.is_available
        part.remove_replica(storage)
        storage.block_ids.discard(part.block_id)
        if group.state is BlockState.COMPLETE:
            self.safe_count -= was_safe - group.is_available

    def lost(self, storage: Storage, block_id: int) -> None:
        """The storage has no good replica of the block, or none any more."""
        storage.block_ids.discard(block_id)
        self.postponed.drop(storage, block_id)
        block = self.blocks.reported_as(block_id)
        if block is None:
            return
        self._remove_corrupt(storage, block)
        self.note_change(block)
        if storage in block.replicas:
            self._take_out(storage, block)
        reports = self._open_reports.get(block_id)
        if reports is not None:
            reports.pop(storage, None)

    def deleted(self, storage: Storage, block_id: int) -> None:
        """The storage has no replica of the block, or none any more."""
        node = storage.node
        invalidated = node.invalidated.get(block_id)
        if invalidated is not None and invalidated.storage is storage:
            self.invalidation.forget(node, block_id)
        elif invalidated is None and block_id in storage.block_ids:
            node.maybe_invalidated.discard(block_id)
        self.lost(storage, block_id)

    def node_gone(self, node: Datanode) -> None:
        """A datanode died, or was replaced: its replicas no longer count."""
        for storage in node.storages.values():
            self.storage_gone(storage)
        self._forget_orders(node)

    def node_rests(self, node: Datanode) -> None:
        """A datanode in maintenance died: its good replicas of complete blocks stay known,
        though nobody can read them. Nothing else of it counts."""
        for storage in node.storages.values():
            kept = [i for i in storage.block_ids if self._is_complete(i)]
            self.storage_gone(storage, set(kept))
        self._forget_orders(node)

    def _is_complete(self, block_id: int) -> bool:
        block = self.blocks.reported_as(block_id)
        return block is not None and block.state is BlockState.COMPLETE

    def storage_gone(self, storage: Storage, kept: Collection[int] = ()) -> None:
        """A volume failed, or its node died. The replicas of the `kept` blocks stay known."""
        for block_id in (*storage.block_ids, *storage.corrupt):
            if block_id not in kept:
                self.lost(storage, block_id)
        storage.corrupt.clear()
        self.postponed.forget(storage)
        # They have no list of what datanodes may have of them.
        for block_id in self.redundancy.left_open:
            self.redundancy.note(block_id)
        storage.reported = False
        for block_id, invalidated in list(storage.node.invalidated.items()):
            if invalidated.storage is storage:
                self.invalidation.forget(storage.node, block_id)

    def registered(self, node: Datanode) -> None:
        """The node has registered. Its full reports say what it has."""
        self._forget_orders(node)
        for storage in node.storages.values():
            for block_id in storage.corrupt:
                block = self.blocks.reported_as(block_id)
                assert block is not None, f"the corrupt replica of {block_id} is forgotten with it"
                self.note_change(block)

    def _forget_orders(self, node: Datanode) -> None:
        """Orders and awaited reports of the node end here."""
        self.invalidation.clear(node)
        for block_id in [block_id for block_id, due in self._awaited.items() if node in due]:
            self._report_arrived(block_id, node)

    # Blocks under construction: questions.

    def finalized_replicas(self, block: Block, length_bytes: int) -> int:
        """How many finalized replicas of that length were reported; of a group, how many of its
        internal blocks."""
        if isinstance(block, Group):
            return self._finalized_parts(block, length_bytes)
        if block.state is not BlockState.UNDER_CONSTRUCTION:
            return len(block.replicas)
        early = self._open_reports.get(block.block_id, {})
        return sum(1 for storage in block.replicas if early.get(storage) == length_bytes)

    def _finalized_parts(self, group: Group, length_bytes: int) -> int:
        if group.state is not BlockState.UNDER_CONSTRUCTION:
            return group.replica_count
        layout = GroupLayout(group.policy, length_bytes)
        count = 0
        for index in layout.block_indices:
            part = group.part(index)
            early = self._open_reports.get(part.block_id, {})
            wanted = layout.block_length(index)
            count += any(early.get(storage) == wanted for storage in part.replicas)
        return count

    def is_minimally_replicated(self, block: Block, length_bytes: int) -> bool:
        """Return whether enough finalized replicas of a block of that length were reported for its
        file to be closed: of a group, as many internal blocks as a reader needs."""
        count = self.finalized_replicas(block, length_bytes)
        if isinstance(block, Group):
            return count >= GroupLayout(block.policy, length_bytes).data_blocks
        return count >= self.min_replication

    def is_unwritten(self, block: Block) -> bool:
        """True if no datanode has a byte of the block under construction: none was ever
        synced, and the expected datanodes are alive, have reported, and have no replica under
        its generation stamp."""
        return (
            block.state is BlockState.UNDER_CONSTRUCTION
            and block.length_bytes == 0
            and not block.replicas
            and not self.corrupt_holders(block)
            and not any(
                self._open_reports.get(block_id) or block_id in self.postponed
                for block_id in reported_ids(block)
            )
            and all(storage.node.alive and storage.reported for storage in block.expected)
        )

    def corrupt_holders(self, block: Block) -> list[Storage]:
        """Where corrupt replicas of a block under construction have its generation stamp."""
        if isinstance(block, Group):
            return [
                storage
                for part in block.parts
                for storage in part.corrupt
                if not is_stale(storage, part)
            ]
        return [storage for storage in block.corrupt if not is_stale(storage, block)]

    def knows_pipeline(self, block: Block) -> bool:
        """Whether `expected` names all datanodes that may have a replica of the block under
        construction. The namenode forgets that when it restarts."""
        return block.block_id in self._known_pipelines

    def holders(self, block: Block) -> list[Storage]:
        """Where a block that is not complete may have replicas: one storage for each node. A
        replica with an older generation stamp left the pipeline, and is none of the block's."""
        if isinstance(block, Group):
            return list({s.node: s for part in block.parts for s in self.holders(part)}.values())
        block_id = block.block_id
        known = dict.fromkeys(
            (
                *block.replicas,
                *self._open_reports.get(block_id, ()),
                *self.postponed.of(block_id),
                *(storage for storage in block.expected if not is_stale(storage, block)),
            )
        )
        by_node: dict[Datanode, Storage] = {}
        for storage in known:
            by_node.setdefault(storage.node, storage)
        return list(by_node.values())

    def nodes_that_may_hold(self, block: Block) -> Iterable[Datanode]:
        """The datanodes of `holders`."""
        return [storage.node for storage in self.holders(block)]

    def may_hold_more(
        self,
        block: Block,
        length_bytes: int,
        apart_from: Iterable[Storage],
        replication: int,
        unheard: str | None,
    ) -> str | None:
        """Which other datanode may have a longer replica of the block under construction, in
        words; None if there is none. `replication` is the file's. `unheard` says who may have one
        where the pipeline is not known and fewer replicas are."""
        accounted = {storage.node for storage in apart_from}
        early = self._open_reports.get(block.block_id, {})
        ahead = self.postponed.of(block.block_id)
        for storage in self.holders(block):
            node = storage.node
            if node in accounted:
                continue
            if not node.alive or not storage.reported:
                return f"datanode {node.name} took no part"
            # A node whose full report does not name the block does not have it.
            if storage in ahead or storage in early:
                length = early.get(storage)
                if storage in ahead or length is None or length > length_bytes:
                    return f"datanode {node.name} took no part"
            accounted.add(node)
        if block.block_id not in self._known_pipelines and len(accounted) < replication:
            return unheard
        return None

    def absent_holder(self, group: Group, *, is_patient: bool = True) -> Datanode | None:
        """Which datanode that is away, or has yet to report, may have an internal block of the
        group under construction. None if there is none, or if fewer internal blocks than a reader
        of a full group needs can be anywhere; where nobody `is_patient` any more, also if so many
        are here."""
        absent: list[Datanode] = []
        there = here = 0
        for part in group.parts:
            holders = self.holders(part)
            away = [s.node for s in holders if not s.node.alive or not s.reported]
            absent += away
            # A datanode that has reported, and did not name its block, does not have it.
            named = (
                *part.replicas,
                *self._open_reports.get(part.block_id, ()),
                *self.postponed.of(part.block_id),
                *self.corrupt_holders(part),
            )
            there += bool(away or named)
            here += any(storage.node.alive and storage.reported for storage in named)
        needed = group.policy.schema.data_units
        if not absent or there < needed or (here >= needed and not is_patient):
            return None
        return absent[0]

    def awaited_reports(self, block: Block) -> Collection[Datanode]:
        """The datanodes of the block's last pipeline that have yet to report their replica."""
        if isinstance(block, Group):
            return [n for i in reported_ids(block) for n in self._awaited.get(i, ())]
        return self._awaited.get(block.block_id, ())

    def awaits_reports(self, block: Block) -> bool:
        """Whether there are such datanodes."""
        return any(block_id in self._awaited for block_id in reported_ids(block))

    def stop_awaiting_reports(self, block: Block) -> None:
        """Reports of the block's last pipeline are no longer awaited."""
        for block_id in reported_ids(block):
            if self._awaited.pop(block_id, None) is not None:
                self.note_change(block)

    def _report_arrived(self, block_id: int, node: Datanode) -> None:
        due = self._awaited.get(block_id)
        if due is not None:
            due.discard(node)
            if not due:
                del self._awaited[block_id]
                self.redundancy.note(block_id if block_id >= 0 else group_id_of(block_id))

    # Live, corrupt and excess replicas.

    def live_replicas(self, block: Block) -> list[Storage]:
        """The good replicas on datanodes in service."""
        return [storage for storage in block.replicas if storage.node.in_service]

    def found_corrupt(self, node: Datanode | None, block_id: int, generation_stamp: int) -> None:
        """A reader or a scanner found that a replica does not match its checksums (FS-100)."""
        block = self.blocks.reported_as(block_id)
        if node is None or block is None or block.generation_stamp != generation_stamp:
            return
        invalidated = node.invalidated.get(block_id)
        if invalidated is not None and invalidated.is_excess:
            self.invalidation.found_corrupt(invalidated)
            self._add_corrupt(
                invalidated.storage, block, CorruptReplica(generation_stamp, found_by_reader=True)
            )
        # A node has one replica at most, whichever storage the report names.
        for storage in [s for s in block.replicas if s.node is node]:
            self.mark_corrupt(storage, block, found_by_reader=True)

    def mark_corrupt(
        self, storage: Storage, block: Block, *, found_by_reader: bool = False
    ) -> None:
        """The storage's replica is corrupt: it no longer counts. A replica that a reader
        found corrupt stays so until it is deleted: its datanode still reports it as
        finalized."""
        self.lost(storage, block.block_id)
        self._add_corrupt(storage, block, CorruptReplica(block.generation_stamp, found_by_reader))
        self.note_change(block)

    def _add_corrupt(self, storage: Storage, block: Block, replica: CorruptReplica) -> None:
        storage.corrupt[block.block_id] = replica
        if storage not in block.corrupt:
            block.corrupt = (*block.corrupt, storage)

    def _remove_corrupt(self, storage: Storage, block: Block) -> None:
        if storage.corrupt.pop(block.block_id, None) is not None:
            block.corrupt = tuple(other for other in block.corrupt if other is not storage)

    def invalidate_corrupt(self, block: Block) -> None:
        """Invalidate all corrupt replicas of the block. They stay marked until they are
        deleted: the loss of an order must not make them good again."""
        if isinstance(block, Group):
            for part in block.parts:
                self.invalidate_corrupt(part)
            return
        for storage in block.corrupt:
            if block.block_id not in storage.node.invalidated:
                self.invalidation.invalidate(
                    storage, block.block_id, storage.corrupt[block.block_id].generation_stamp
                )

    def invalidate_excess(self, storage: Storage, block: Block) -> None:
        """Invalidate a good replica that is in excess."""
        self.invalidation.invalidate(
            storage, block.block_id, block.generation_stamp, is_excess=True
        )
        self._take_out(storage, block)
        self.note_change(block)

    def note_change(self, block: Block) -> None:
        """The block or one of its replicas has changed. One that a client writes is not noted."""
        block_id = block.block_id
        if block_id < 0:
            block_id = group_id_of(block_id)
        if block.is_settled or block_id in self.redundancy.left_open:
            self.redundancy.note(block_id)

    def is_left_open(self, block: Block) -> None:
        """Nobody writes the block under construction any more: from now on it counts among those
        that lack replicas, until it is settled."""
        if not block.is_settled:
            self.redundancy.left_open.add(block.block_id)
            self.redundancy.note(block.block_id)

    def take_finalized(self) -> list[Block]:
        """Blocks with a new finalized replica since the last call."""
        finalized, self.finalized_now = self.finalized_now, []
        return finalized

    # Counting for safe mode.

    def count_all(self) -> int:
        """After a start, when no replica is known: the number of blocks that must become safe.
        These are the blocks of final length, also those of open files."""
        blocks = self.blocks
        # A group without a byte needs no datanode.
        self.safe_count = sum(
            isinstance(group, Group) and group.state is BlockState.COMPLETE and group.is_available
            for group in map(blocks.get, blocks.groups)
        )
        return blocks.count_settled()

    def _complete_if_safe(self, block: Block) -> None:
        if isinstance(block, Internal):
            block = block.group
        if block.state is BlockState.COMMITTED and self.is_minimally_replicated(
            block, block.length_bytes
        ):
            block.complete_by_reports()
            self._end_pipeline(block)
            self.safe_count += 1
            self.note_change(block)

    @staticmethod
    def _end_pipeline(block: Block) -> None:
        """Nobody writes the block any more."""
        if isinstance(block, Group):
            block.expected_parts = []
        else:
            block.expected = ()


def reported_ids(block: Block) -> Sequence[int]:
    """Return the ids under which datanodes report a block: its own, or those of the internal
    blocks of a group."""
    if isinstance(block, Group):
        return range(block.block_id, block.block_id + block.policy.schema.units)
    return (block.block_id,)


def is_stale(storage: Storage, block: Block) -> bool:
    """Whether the replica that the storage reported last has an older generation stamp."""
    corrupt = storage.corrupt.get(block.block_id)
    return corrupt is not None and corrupt.generation_stamp < block.generation_stamp
