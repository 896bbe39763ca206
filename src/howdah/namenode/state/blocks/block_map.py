"""The block map: what reports and edits say of replicas (pure).

Hadoop's `BlockManager` and `BlocksMap`. The namespace says which blocks exist. Datanodes
say where the replicas are: by full reports, by incremental reports, and by dying.
Locations are never stored (FS-024): the map is rebuilt after every start.

A report of a replica is judged by these rules, in this order:

1. The namespace has no such block: the replica is orphaned, and is invalidated. Only one from
   the future, with a generation stamp that was never given out, is kept, and waits as at a
   standby: another namenode may have become active without a word to this one. So is one of a
   block group whose id was never given out.
2. The replica has an order to be deleted: it does not count, whatever the report says.
3. Its generation stamp is older than the block's, or newer than that of a block of final
   length, or its length differs from that of a complete block: the replica is corrupt. It is
   kept out of `replicas`, and is invalidated once there are enough good ones.
4. The replica is being written: its storage is among the places where readers may look.
5. The replica is finalized: it counts, unless a reader found it corrupt.

A standby has read less of the log than datanodes have seen of its consequences. There a
replica of a block or a generation stamp that may be in edits to come waits for them
(`PostponedReports`), and nothing is invalidated: what it takes for orphaned or in excess is
the business of the active. Who becomes active knows every storage by what was reported to a
standby. It trusts none of them with the deletion of another replica before the storage has
reported in full again (`become_active`).

Rule 2 keeps an excess replica from counting again while its deletion is under way, unless
it is needed. If it counted, another replica would be in excess, and in the end both would
be deleted. `invalidation` decides when it may count again, and gives out the orders.
`redundancy` has the blocks that need work, `replica_map` what is known of all.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Final

from howdah.namenode.state.blocks.datanodes import CorruptReplica, Datanode, Storage
from howdah.namenode.state.blocks.pending_reports import ReplicaState, ReportedReplica
from howdah.namenode.state.blocks.placement import Placement
from howdah.namenode.state.blocks.replica_map import (
    ReplicaLocations,
    is_stale,
    reported_ids,
)
from howdah.namenode.state.inodes.block_events import (
    BlockEvent,
    BlockOpened,
    BlockRemoved,
    BlockRestamped,
    BlockSettled,
    ReplicationChanged,
)
from howdah.namenode.state.inodes.block_table import Block, BlockState, BlockTable
from howdah.namenode.state.inodes.group_table import Group
from howdah.namenode.state.inodes.report_fast_path import ReportFastPath

SLICE_REPLICAS: Final = 2000
"""Replicas of a full report that are processed in one slice: some milliseconds."""
SLICE_PLAIN: Final = 5000
"""The same of those that hold no surprise; most of their time takes it to count new ones."""


class BlockMap(ReplicaLocations):
    """Keeps the replicas of the namespace's blocks, by reports and by edits."""

    def __init__(
        self,
        blocks: BlockTable,
        min_replication: int,
        expected_replication: Callable[[Block], int],
        may_come: Callable[[int, int], bool],
        last_stamp: Callable[[], int],
        min_maintenance: int = 1,
        placement: Placement | None = None,
        was_given_out: Callable[[int], bool] = lambda block_id: False,
    ) -> None:
        """As of `ReplicaLocations`; `may_come` says whether edits to come may name a block of that
        id and generation stamp; `was_given_out` whether there ever was a block group with a block
        of that id."""
        super().__init__(
            blocks, min_replication, expected_replication, last_stamp, min_maintenance, placement
        )
        self._may_come = may_come
        self._was_given_out = was_given_out
        self._future: ReportedReplica | None = None
        self._is_active = True
        self._has_stood_by = False
        self._term = 0

    # Reports.

    def full_report(
        self,
        storage: Storage,
        replicas: Iterable[ReportedReplica],
        *,
        is_asked_for: bool = True,
        shows_orphaned: bool = False,
    ) -> Generator[None, None, None]:
        """A full report: the storage has these replicas, and no others.

        A generator that processes one slice of the report per step. A replica that the
        storage reports by an increment in between is not taken for missing. An invalidated
        replica that is still there is invalidated again. `storage.reported` is False until
        the last slice is processed.

        `is_asked_for`: this namenode has told the datanode to report now, in its present
        role. Only such a report ends what a change of roles left open: its datanode had heard
        who is active before it made the report, and obeys no earlier active any more.

        `shows_orphaned`: `replicas` wants to make each one that belongs to no block, since it
        looks at them. Otherwise those of a report as bytes are taken by the thousand.
        """
        node, term = storage.node, self._term
        has_reported = storage.reported
        storage.reported = False
        registrations = node.registrations
        missing = storage.block_ids.remaining()
        invalidated_ids = self.invalidation.at(storage)
        for ids in (storage.corrupt, invalidated_ids, self._unsettled_at(storage)):
            for block_id in ids:
                missing.add(block_id)
        exceptions = (node.invalidated, self._awaited, self.postponed, self.blocks.extras)
        plain = ReportFastPath.of(replicas, self.blocks, storage, missing, exceptions)
        work = 0
        others: Iterable[ReportedReplica | None] = replicas
        if plain is not None:
            others = self._not_plain(storage, replicas, plain, shows_orphaned=shows_orphaned)
        for replica in others:
            if replica is None:
                work += SLICE_REPLICAS
            else:
                block_id = replica.block_id
                missing.cross_out(block_id)
                self.reported(storage, replica)
                self.invalidation.still_there(storage, block_id, replica.generation_stamp)
                work += 1
            if work >= SLICE_REPLICAS:
                work = 0
                yield
                is_there = node.alive and node.storages.get(storage.storage_id) is storage
                if not is_there or node.registrations != registrations:
                    return
        for block_id in missing:
            self.deleted(storage, block_id)
        if self._term == term:
            storage.reported = has_reported or is_asked_for or not self._has_stood_by
        self.invalidation.storage_reported(node)

    def _not_plain(
        self,
        storage: Storage,
        replicas: Iterable[ReportedReplica],
        plain: ReportFastPath,
        *,
        shows_orphaned: bool,
    ) -> Iterator[ReportedReplica | None]:
        """The replicas of a report, but for those that are taken by the thousand between them;
        None after as many of those as are a slice."""
        single = iter(replicas)
        while True:
            # A standby may yet read of their blocks.
            takes_orphaned = self._is_active and not shows_orphaned
            count, ids, counts, orphaned = plain.take_batch(
                SLICE_PLAIN, self.invalidation.last_stamp if takes_orphaned else -1
            )
            if ids:
                storage.block_ids.update(ids)
                self.redundancy.changed.update(ids)
                self.safe_count += sum(count == self.min_replication for count in counts)
            if orphaned:
                self.invalidation.invalidate_all_orphaned(storage, orphaned)
            if count == SLICE_PLAIN:
                yield None
                continue
            replica = next(single, None)
            if replica is None:
                return
            yield replica

    def _unsettled_at(self, storage: Storage) -> set[int]:
        """Return the blocks under construction of which the storage reported a replica before."""
        unsettled = {i for i, storages in self._open_reports.items() if storage in storages}
        return unsettled | self.postponed.at(storage)

    def has_news(self, storage: Storage, replica: ReportedReplica) -> None:
        """An increment: the storage has this replica since a moment ago.

        If it has an order to be deleted that was sent, that one may have been carried out on
        the replica before, on another volume perhaps, and the news of that are lost or come
        later. The order is given again: in the end the replica is gone, and the namenode knows
        it, or the replica counts."""
        self.reported(storage, replica)
        if replica.state is ReplicaState.FINALIZED:
            self.invalidation.still_there(storage, replica.block_id, replica.generation_stamp)

    def reported(self, storage: Storage, replica: ReportedReplica) -> None:
        """The storage reported one replica."""
        if self._is_as_expected(storage, replica):
            return
        block_id = replica.block_id
        self.postponed.drop(storage, block_id)
        block = self.blocks.reported_as(block_id)
        is_corrupt = block is not None and self._is_corrupt(storage, block, replica)
        invalidated = storage.node.invalidated.get(block_id)
        if invalidated is not None:
            if replica.generation_stamp <= invalidated.generation_stamp:
                if block is not None and not is_corrupt and _is_good(block, replica):
                    invalidated.storage = storage
                    self.invalidation.reported(storage.node, block, invalidated)
                return
            # A newer replica replaced the invalidated one; the order finds nothing to delete.
            self.invalidation.forget(storage.node, block_id)
        if is_corrupt:
            return
        if block is None:
            self._unknown(storage, replica)
        elif replica.state is ReplicaState.TEMPORARY:
            return
        elif replica.generation_stamp != block.generation_stamp:
            self._other_stamp(storage, block, replica)
        elif replica.state is not ReplicaState.FINALIZED:
            self._unfinished(storage, block, replica)
        else:
            self._finalized(storage, block, replica)

    def moved(self, storage: Storage, block_id: int, source: Datanode) -> None:
        """The storage has just reported a replica that was moved there: `source` is to lose its
        own. A standby leaves that to the active."""
        block = self.blocks.reported_as(block_id)
        if (
            self._is_active
            and block is not None
            and block.state is BlockState.COMPLETE
            and storage in block.replicas
            and source is not storage.node
            and any(other.node is source for other in block.replicas)
        ):
            self.redundancy.move_hints.note(block_id, source, storage)
            self.note_change(block)

    def _is_as_expected(self, storage: Storage, replica: ReportedReplica) -> bool:
        """The quick way for most replicas of most reports: a good replica of a complete block.
        If it is one, it counts now."""
        block_id = replica.block_id
        if (
            replica.state is not ReplicaState.FINALIZED
            or block_id in storage.node.invalidated
            or block_id in self._awaited
            or block_id in self.postponed
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
        """True if a reader found this very replica corrupt, perhaps on another volume."""
        for other in block.corrupt:
            bad = other.corrupt[block.block_id]
            if (
                other.node is storage.node
                and bad.found_by_reader
                and bad.generation_stamp == replica.generation_stamp
            ):
                self._remove_corrupt(other, block)
                self._add_corrupt(storage, block, bad)
                return True
        return False

    def _unknown(self, storage: Storage, replica: ReportedReplica) -> None:
        """The namespace has no such block: none any more, or, at a standby, none yet. A block
        group whose id was never given out here is another namenode's."""
        if self._is_active and (
            self.invalidation.is_future(replica.generation_stamp)
            or (
                replica.block_id < 0
                and self.invalidation.keeps_future
                and not self._was_given_out(replica.block_id)
            )
        ):
            self._keep_future(storage, replica)
        elif self._is_active:
            self.invalidation.invalidate_orphaned(
                storage, replica.block_id, replica.generation_stamp
            )
        elif self._may_come(replica.block_id, replica.generation_stamp):
            self._postpone(storage, replica)

    def _keep_future(self, storage: Storage, replica: ReportedReplica) -> None:
        """The replica waits until this namenode has read who gave out its stamp, or an
        administrator says that nobody did. If there is no room for it, later reports tell of it
        again: none is asked for, they would find no room either."""
        self.postponed.put(storage, replica)
        self._future = replica

    def take_future(self) -> ReportedReplica | None:
        """Return one of the replicas from the future that an active was told of since the last
        call."""
        replica, self._future = self._future, None
        return replica

    def give_up_future(self) -> None:
        """The metadata are right, an administrator says: replicas from the future are judged like
        all others, until the role changes."""
        if not self._is_active:
            return
        self.invalidation.keeps_future = False
        for storage, replica in self.postponed.take_all():
            self.reported(storage, replica)

    def _postpone(self, storage: Storage, replica: ReportedReplica) -> None:
        if not self.postponed.put(storage, replica):
            storage.reported = False
            storage.node.must_report = True

    def _other_stamp(self, storage: Storage, block: Block, replica: ReportedReplica) -> None:
        if replica.generation_stamp > block.generation_stamp:
            # The datanodes of a recovered pipeline report its new stamp before the client's
            # updatePipeline arrives. If they have finalized the replica already, no further
            # report follows. A standby may also have to read that the block was opened again.
            if not block.is_settled or not self._is_active:
                self._postpone(storage, replica)
                self.note_change(block)
                return
            # No edit names that stamp any more: who gave it out never logged what came of it.
            # The bytes may be good, and the only ones: others must be there before it goes.
            self.lost(storage, block.block_id)
            self._add_corrupt(storage, block, CorruptReplica(replica.generation_stamp))
            if self.invalidation.is_future(replica.generation_stamp):
                self._keep_future(storage, replica)
            self.note_change(block)
            return
        self.lost(storage, block.block_id)
        self.note_change(block)
        if self._is_active and block.is_settled and block.replicas:
            self.invalidation.invalidate(storage, block.block_id, replica.generation_stamp)
        else:
            self._add_corrupt(storage, block, CorruptReplica(replica.generation_stamp))

    def _unfinished(self, storage: Storage, block: Block, replica: ReportedReplica) -> None:
        if block.state is BlockState.COMPLETE:
            # A replica being written may be finalized soon: the report was sent before its
            # pipeline closed, or the file was closed without it. Only a replica left over
            # from a restart (RWR) never becomes good.
            if replica.state is ReplicaState.RWR:
                self.mark_corrupt(storage, block)
            return
        if is_stale(storage, block):
            self._remove_corrupt(storage, block)  # It has the new stamp by now.
        if block.state is BlockState.UNDER_CONSTRUCTION and storage not in block.replicas:
            # A replica left over from a restart does not grow: its length is final.
            left_over = replica.state is ReplicaState.RWR
            early = self._open_reports.setdefault(block.block_id, {})
            early[storage] = replica.length_bytes if left_over else None
        if all(other.node is not storage.node for other in block.expected):
            block.expected = (*block.expected, storage)
        self.note_change(block)

    def _finalized(self, storage: Storage, block: Block, replica: ReportedReplica) -> None:
        if block.state is not BlockState.UNDER_CONSTRUCTION:
            if replica.length_bytes != block.length_bytes:
                self.mark_corrupt(storage, block)
                return
        else:
            self._open_reports.setdefault(block.block_id, {})[storage] = replica.length_bytes
        self._add(storage, block)

    # What edits say of blocks. Each namenode that applies them follows: nothing here may
    # depend on anything but the edits and the reports.

    def follow(self, event: BlockEvent) -> None:
        """Something happened to a block in the namespace (see `effects`)."""
        match event:
            case BlockOpened(block, length_bytes):
                if length_bytes is not None:
                    self._reopened(block, length_bytes)
                else:
                    for block_id in reported_ids(block):
                        self._judge_postponed(block_id)
            case BlockRestamped(block, old_stamp):
                if isinstance(block, Group):
                    self._known_pipelines.discard(block.block_id)
                    for part in block.parts:
                        self._restamped(part, old_stamp)
                else:
                    self._restamped(block, old_stamp)
            case BlockSettled(block):
                if isinstance(block, Group):
                    self._group_settled(block)
                else:
                    self._settled(block)
            case BlockRemoved(block):
                if isinstance(block, Group):
                    self._group_removed(block)
                else:
                    self._removed(block)
            case ReplicationChanged(block):
                self.note_change(block)

    def _reopened(self, block: Block, length_bytes: int) -> None:
        """An append continues the block, or a truncation cuts it: it is under construction
        again, where its replicas are in reach. These have `length_bytes`."""
        self.safe_count -= len(block.replicas) >= self.min_replication
        for storage in block.replicas:
            if not storage.node.alive:
                block.remove_replica(storage)
                storage.block_ids.discard(block.block_id)
        block.expected = tuple(block.replicas)
        self._open_reports[block.block_id] = dict.fromkeys(block.replicas, length_bytes)
        self.redundancy.forget(block.block_id)
        self.stop_awaiting_reports(block)

    def _restamped(self, block: Block, old_stamp: int) -> None:
        """The block has a new generation stamp. What was reported under the old one is stale,
        as if it were reported now; what was reported under the new one counts."""
        block_id = block.block_id
        reports = self._open_reports.pop(block_id, {})
        for storage in dict.fromkeys((*block.replicas, *reports)):
            if storage in block.replicas:
                self._take_out(storage, block)
            self._add_corrupt(storage, block, CorruptReplica(old_stamp))
        if block.is_settled:
            self._forget_corrupt_out_of_reach(block)
        self._known_pipelines.discard(block_id)
        self._judge_postponed(block_id)
        self.note_change(block)

    def _forget_corrupt_out_of_reach(self, block: Block) -> None:
        """What dead datanodes and failed volumes have of a block of final length is nothing to be
        deleted. Of an open one it says that they have no good replica."""
        for storage in block.corrupt:
            node = storage.node
            is_there = node.storages.get(storage.storage_id) is storage and not storage.failed
            if not (node.alive and is_there):
                self._remove_corrupt(storage, block)

    def _judge_postponed(self, block_id: int) -> None:
        """An edit has named the block, or its new stamp: reports may have waited for it."""
        for storage, replica in self.postponed.pop(block_id).items():
            if storage.node.alive:
                self.reported(storage, replica)

    def _settled(self, block: Block) -> None:
        """An edit set the final length of a block that was under construction. Replicas of
        another length are corrupt; with enough good ones the block is complete."""
        block_id = block.block_id
        self._known_pipelines.discard(block_id)
        self.redundancy.left_open.discard(block_id)
        early = self._open_reports.pop(block_id, None)
        replicas = block.replicas
        if early is not None:
            length_bytes = block.length_bytes
            for storage in replicas:
                if early.get(storage, length_bytes) != length_bytes:
                    block.remove_replica(storage)
                    storage.block_ids.discard(block_id)
                    self._add_corrupt(storage, block, CorruptReplica(block.generation_stamp))
            replicas = block.replicas
        self._forget_corrupt_out_of_reach(block)
        due = {storage.node for storage in block.expected if storage.node.alive}
        for storage in replicas:
            due.discard(storage.node)
        if due:
            self._awaited[block_id] = due
        if block.state is BlockState.COMPLETE:
            block.expected = ()
            self.safe_count += len(replicas) >= self.min_replication
            self.note_change(block)
        else:
            block.expected = tuple(replicas)
            self._complete_if_safe(block)
            self.note_change(block)
        if self._is_active:
            self._judge_postponed(block_id)  # No edit follows that names their stamps.

    def _group_settled(self, group: Group) -> None:
        """The same of a group: each internal block has its length by that."""
        self._known_pipelines.discard(group.block_id)
        self.redundancy.left_open.discard(group.block_id)
        layout = group.layout
        for part in group.parts:
            early = self._open_reports.pop(part.block_id, None)
            wanted = layout.block_length(part.index)
            for storage in part.replicas:
                if early is not None and early.get(storage, wanted) != wanted:
                    part.remove_replica(storage)
                    storage.block_ids.discard(part.block_id)
                    self._add_corrupt(storage, part, CorruptReplica(group.generation_stamp))
            self._forget_corrupt_out_of_reach(part)
            due = {storage.node for storage in part.expected if storage.node.alive}
            due.difference_update(storage.node for storage in part.replicas)
            if due and wanted:
                self._awaited[part.block_id] = due
        if group.state is BlockState.COMPLETE:
            group.expected_parts = []
            self.safe_count += group.is_available
        else:
            group.expected_parts = group.held
            self._complete_if_safe(group)
        self.note_change(group)
        if self._is_active:
            for block_id in reported_ids(group):
                self._judge_postponed(block_id)

    def _group_removed(self, group: Group) -> None:
        """The same of a group: the replicas of its internal blocks are invalidated."""
        self._known_pipelines.discard(group.block_id)
        self.redundancy.left_open.discard(group.block_id)
        self.stop_awaiting_reports(group)
        self.redundancy.forget(group.block_id)
        if group.state is BlockState.COMPLETE:
            self.safe_count -= group.is_available
        for part in group.parts:
            block_id = part.block_id
            self._open_reports.pop(block_id, None)
            ahead = self.postponed.pop(block_id)
            self.invalidate_corrupt(part)
            for storage in part.corrupt:
                self._remove_corrupt(storage, part)
            holders = {*part.replicas, *part.expected}
            for storage in sorted(holders, key=lambda s: s.storage_id):
                storage.block_ids.discard(block_id)
                if storage not in ahead:
                    self.invalidation.invalidate(storage, block_id, group.generation_stamp)
            for storage, replica in ahead.items():
                self.invalidation.invalidate(storage, block_id, replica.generation_stamp)
            part.replicas = []
        group.expected_parts = []

    def _removed(self, block: Block) -> None:
        """The block no longer belongs to any file."""
        self._open_reports.pop(block.block_id, None)
        self._known_pipelines.discard(block.block_id)
        self.redundancy.left_open.discard(block.block_id)
        self.stop_awaiting_reports(block)
        ahead = self.postponed.pop(block.block_id)
        self.redundancy.forget(block.block_id)
        if block.state is BlockState.COMPLETE:
            self.safe_count -= len(block.replicas) >= self.min_replication
        self.invalidate_corrupt(block)
        for storage in block.corrupt:
            self._remove_corrupt(storage, block)
        holders = {*block.replicas, *block.expected}
        for storage in sorted(holders, key=lambda s: s.storage_id):
            storage.block_ids.discard(block.block_id)
            if storage not in ahead:
                self.invalidation.invalidate(storage, block.block_id, block.generation_stamp)
        for storage, replica in ahead.items():
            self.invalidation.invalidate(storage, block.block_id, replica.generation_stamp)
        block.replicas = []
        block.expected = ()

    # The steps of an active namenode that are in no log: which storages a pipeline is.

    def allocated(self, block: Block, targets: tuple[Storage, ...]) -> None:
        """The block is new; its pipeline consists of `targets`, or they are to have the internal
        blocks of a group, in the order of their indices."""
        if isinstance(block, Group):
            block.expected_parts = list(enumerate(targets))
        else:
            block.expected = targets
        self._known_pipelines.add(block.block_id)

    def new_pipeline(self, block: Block, targets: tuple[Storage, ...]) -> None:
        """The block under construction, which was just restamped, has replicas in `targets`
        only.

        Replicas elsewhere are stale. Known ones are invalidated now (FS-126), those of a
        datanode that is away when it comes back and reports them.
        """
        block_id = block.block_id
        kept = {storage.node for storage in targets}
        for storage in block.corrupt:
            stale = storage.corrupt[block_id]
            if stale.generation_stamp < block.generation_stamp and not stale.found_by_reader:
                self._remove_corrupt(storage, block)
                if storage.node not in kept:
                    self.invalidation.invalidate(storage, block_id, stale.generation_stamp)
        # Each target has a replica with the new stamp: the client asked them first.
        early = {**dict.fromkeys(targets), **self._open_reports.get(block_id, {})}
        self._open_reports[block_id] = early
        others = [s for s in early if s.node not in kept and s not in block.replicas]
        block.expected = (*targets, *others)
        self._known_pipelines.add(block_id)

    def new_group_pipeline(self, group: Group, targets: Sequence[tuple[int, Storage]]) -> None:
        """The same of a group: which index is where. What is elsewhere is stale."""
        for part in group.parts:
            kept = tuple(storage for index, storage in targets if index == part.index)
            self.new_pipeline(part, kept)
            self._known_pipelines.discard(part.block_id)
        self._known_pipelines.add(group.block_id)

    def note_rebuilt(self, block: Block, targets: tuple[Storage, ...], stale_stamp: int) -> None:
        """Take in that a block of final length was restamped: `targets` have made whole replicas
        of unfinished ones, and report them next. Others, of `stale_stamp`, are invalidated."""
        kept = {storage.node for storage in targets}
        for storage in block.expected:
            if storage.node not in kept and storage not in block.replicas:
                self.invalidation.invalidate(storage, block.block_id, stale_stamp)
        for storage in block.corrupt:
            stale = storage.corrupt[block.block_id]
            if stale.generation_stamp < block.generation_stamp and not stale.found_by_reader:
                self._remove_corrupt(storage, block)
                if storage.node not in kept:
                    self.invalidation.invalidate(storage, block.block_id, stale.generation_stamp)
        block.expected = targets

    def note_group_rebuilt(
        self, group: Group, targets: Sequence[tuple[int, Storage]], stale_stamp: int
    ) -> None:
        """The same of a group: which index is where."""
        for part in group.parts:
            kept = tuple(storage for index, storage in targets if index == part.index)
            self.note_rebuilt(part, kept, stale_stamp)

    # Roles.

    def become_standby(self, nodes: Iterable[Datanode]) -> None:
        """Another namenode may be active: nothing is ordered here any more, and pipelines
        change without a word. What was ordered may still be carried out."""
        self._is_active = self.invalidation.is_ordering = False
        self.invalidation.keeps_future = True
        self._has_stood_by = True
        self._term += 1
        for node in nodes:
            # What an order was given for does not count, and stays where the order is dropped.
            node.must_report |= bool(node.invalidated)
            self.invalidation.clear(node)
            node.to_transfer.clear()
            node.to_reconstruct.clear()
        self._known_pipelines.clear()
        for block_id in self.redundancy.left_open:
            self.redundancy.forget(block_id)
        self.redundancy.left_open.clear()
        for block_id in self.blocks.unfinished:
            block = self.blocks[block_id]
            if isinstance(block, Group):
                block.expected_parts = []
                for part in block.parts:
                    early = self._open_reports.get(part.block_id, {})
                    part.expected = tuple(dict.fromkeys((*part.replicas, *early)))
                continue
            early = self._open_reports.get(block_id, {})
            block.expected = tuple(dict.fromkeys((*block.replicas, *early)))

    def become_active(self, nodes: Iterable[Datanode]) -> None:
        """The whole log is read. Reports that waited for edits are judged by what there is.
        An active before may have ordered the deletion of any replica, so each storage has to
        report in full before it justifies the deletion of another replica."""
        self._is_active = self.invalidation.is_ordering = True
        self._term += 1
        if not self._has_stood_by:
            return
        for node in nodes:
            node.must_report = True
            for storage in node.storages.values():
                storage.reported = False
        for storage, replica in self.postponed.take_all():
            self.reported(storage, replica)


def _is_good(block: Block, replica: ReportedReplica) -> bool:
    """Whether the replica is a good one of a complete block."""
    return (
        block.state is BlockState.COMPLETE
        and replica.state is ReplicaState.FINALIZED
        and replica.generation_stamp == block.generation_stamp
        and replica.length_bytes == block.length_bytes
    )
