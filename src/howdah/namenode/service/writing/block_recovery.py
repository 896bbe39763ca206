"""Block recovery: the datanodes of a block agree on its length (pure).

The namenode's part, in Hadoop that of `BlockUnderConstructionFeature`,
`DatanodeDescriptor` and `FSNamesystem.commitBlockSynchronization`. A silent writer and a
cut in the middle of a block need it, and so does a file that was deleted while it was open
and that a snapshot shows: nobody else would ever bring its last block to its replication
(Hadoop leaves it as it is). The steps are those of
docs/how-it-works/recovery.md:

1. `want`: the block is to be recovered.
2. Attempt: the namenode takes a new generation stamp, the recovery id, and chooses a
   primary among the datanodes with replicas. The primary's next heartbeat takes the order.
3. The primary asks the other datanodes for their replicas, has all good ones brought to
   one length with the new stamp, and reports the result.
4. `commit`: the result becomes an edit, replicas elsewhere are stale and are invalidated,
   and the file is closed.

A block of final length (COMMITTED) has whole replicas, unless the power failed before its
datanodes had synced them. Such datanodes report a replica that was being written when they died,
and no datanode finalizes it. If lease recovery finds only replicas of this kind, it has them
recovered in the same way, as a truncation to the committed length, so that no datanode cuts one
shorter (`recover_lacking`; Hadoop leaves them, and the file open). The block has to be the last
one, or the one behind it unwritten: that one is dropped first, since Hadoop's namenode takes a
new stamp of a last block only (FSEditLogLoader.updateBlocks). The same holds for a block group of
which fewer internal blocks are whole than a reader needs. Only howdah's datanodes are primaries of
its recovery: Hadoop's cut every group to whole stripes.

If an attempt brings no result in time, or its primary dies or registers again, the next
attempt follows, with a higher recovery id and another primary in turn. Only the latest
id counts: a result with an older one is refused, also after a restart or a failover, which
forgets the attempts. A result that arrives again after the file was closed
changes nothing.

The edits of a file that only a snapshot shows name it by its path there.

**No acknowledged byte is dropped by mistake.** The namenode knows which length the writer
synced (`Block.length_bytes`). A shorter result is refused as long as a datanode may have
more: one of the pipeline that is down or was not reached; or, if the namenode has
restarted since and does not know the pipeline, any datanode, while fewer replicas than
the file's replication are accounted for. Then the file stays open, and the next attempt
follows. If no datanode can have the bytes (the power failed before they were on any
disk), the shorter length is taken, and the log says so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from howdah import errors
from howdah.formats.edits import edits
from howdah.namenode.service.incremental_tasks import Round
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.blocks.datanodes import Datanode, Storage
from howdah.namenode.state.blocks.pending_reports import ReplicaState, ReportedReplica
from howdah.namenode.state.inodes.file_blocks import (
    ClientBlock,
    check_length,
    close_edit,
    edit_blocks,
)
from howdah.namenode.state.inodes.group_table import Group
from howdah.namenode.state.inodes.inodes import Block, BlockState, File
from howdah.namenode.state.tree.leases import is_namenode_holder

LEFT_OVER_AFTER_MS: Final = 10_000
"""So long a committed block has to be without a replica before its datanodes are asked to make
one of what they have: most often the report of a good one is on its way."""

REFUSED_RETRY_MS = 10_000
"""After a result that was refused the next attempt waits that long, as Hadoop's clients
do between their calls (LEASE_RECOVER_PERIOD)."""

BLOCKS_PER_SLICE: Final = 100
"""Recoveries in one slice."""

ORDERS_PER_HEARTBEAT: Final = 1000
"""Orders in the answer to one heartbeat; further ones wait for the next heartbeats."""

LOOK_PERIOD_MS: Final = 5_000
"""How often it looks for blocks that a deleted file has left under construction."""

BLOCKS_PER_LOOK: Final = 1000
"""Of these so many in one slice: some milliseconds."""


@dataclass(frozen=True, slots=True)
class RecoveryOrder:
    """The order to a primary. `source` is the block itself, unless a truncation makes a copy."""

    block: Block
    source: Block
    recovery_id: int
    places: tuple[Storage, ...]
    indices: tuple[int, ...] = ()
    """Of a block group: which internal block each place has."""


@dataclass(frozen=True, slots=True)
class RecoveryResult:
    """The result of a primary: `commitBlockSynchronization`."""

    block: ClientBlock
    recovery_id: int
    length_bytes: int
    close_file: bool
    delete_block: bool
    targets: tuple[Storage, ...]
    indices: tuple[int, ...] = ()
    """Where each target stood in the list: of a block group, which internal block it has."""


@dataclass(slots=True)
class _Recovery:
    """One block's recovery; the latest attempt is all that counts."""

    recovery_id: int = 0
    stamp_at_hand: int = 0
    primary: Datanode | None = None
    deadline_ms: int = 0
    given: bool = False
    attempts: int = 0
    is_refused: bool = False
    tried: set[str] = field(default_factory=set)


def _indices_of(parts: Sequence[tuple[int, Storage]]) -> set[int]:
    return {index for index, _ in parts}


class BlockRecovery:
    """All recoveries that are wanted, by block id."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._namesystem = namesystem
        self._block_manager = namesystem.block_manager
        self._blocks = namesystem.block_manager.blocks
        self._recoveries: dict[int, _Recovery] = {}
        self._orders: dict[Datanode, deque[int]] = {}
        self._said: list[str] = []
        # Why results were refused, by block: a primary may send a result again and again.
        self._refused: dict[int, str] = {}
        self._next_look_ms = 0
        # Files of which no datanode has a block of final length, and since when that is known.
        self._lacking_since_ms: dict[int, int] = {}
        # Open blocks that were taken from their writers, and since when.
        self._taken_since_ms: dict[int, int] = {}
        self._find_cuts()
        namesystem.on_role.append(self._role_changed)

    def _role_changed(self) -> None:
        """Attempts of before are nobody's: the active namenode begins its own."""
        self._recoveries.clear()
        self._orders.clear()
        self._said.clear()
        self._refused.clear()
        self._lacking_since_ms.clear()
        self._taken_since_ms.clear()
        self._next_look_ms = 0
        if self._namesystem.role.writable:
            self._find_cuts()

    def _find_cuts(self) -> None:
        """Cuts that a start of the namenode, or a failover, has interrupted. What was recovered
        for silent writers is found by the leases of namenodes."""
        namesystem = self._namesystem
        for inode_id in namesystem.leases.held():
            file = namesystem.namespace.inodes.get(inode_id)
            if isinstance(file, File) and file.blocks and file.blocks[-1].truncating:
                self._add(file.blocks[-1])

    def __len__(self) -> int:
        return len(self._recoveries)

    def want(self, block: Block, stamp: int = 0) -> None:
        """Recover the block, beginning now if that is possible. `stamp` is one that was
        allocated for it already. A recovery that is under way goes on."""
        if block.block_id not in self._recoveries:
            self._add(block, stamp)
            self._go_on(block.block_id)

    def _add(self, block: Block, stamp: int = 0) -> None:
        self._recoveries[block.block_id] = _Recovery(stamp_at_hand=stamp)
        if self._namesystem.namespace.snapshots.source_of(block.block_id) is None:
            # Of a copy nobody has a replica yet; what is copied is counted itself.
            self._blocks.is_left_open(block)

    def _find_left_open(self) -> Iterator[None]:
        """Blocks under construction whose files nobody writes: deleted, and shown by a
        snapshot. In slices."""
        namesystem = self._namesystem
        now_ms = namesystem.clock.monotonic_ms()
        if now_ms < self._next_look_ms or not namesystem.namespace.snapshots.count:
            return
        self._next_look_ms = now_ms + LOOK_PERIOD_MS
        blocks = namesystem.namespace.blocks
        for count, block_id in enumerate(list(blocks.unfinished), 1):
            block = blocks.get(block_id)
            if (
                block is not None
                and block_id not in self._recoveries
                and namesystem.leases.holder_of(block.file_id) is None
                and self._may_recover(block)
            ):
                self.want(block)
            if count % BLOCKS_PER_LOOK == 0:
                yield
                if namesystem.safe_mode.on:
                    return

    def lacking(self, file: File) -> Block | None:
        """The block because of which the file cannot be closed yet: its length is final, and no
        datanode has reported it. One replica is enough here: others are copied from it. Whoever
        has waited as long as for a silent writer waits no longer: the file is closed, and shows
        that the block is missing."""
        for block in file.blocks:
            if block.state is BlockState.COMMITTED and not block.is_available:
                now_ms = self._namesystem.clock.monotonic_ms()
                since_ms = self._lacking_since_ms.setdefault(file.inode_id, now_ms)
                waits = now_ms - since_ms <= self._namesystem.settings.lease_hard_limit_ms
                return block if waits else None
        self._lacking_since_ms.pop(file.inode_id, None)
        return None

    def recover_lacking(self, file: File) -> None:
        """The file cannot be closed, since a block of final length has no replica. Its datanodes
        may have been restarted before they had finalized theirs (RWR, after a power cut): these
        never become good by themselves."""
        block = self.lacking(file)
        if block is None or block.block_id in self._recoveries:
            return
        now_ms = self._namesystem.clock.monotonic_ms()
        waited_ms = now_ms - self._lacking_since_ms[file.inode_id]
        is_due = waited_ms >= LEFT_OVER_AFTER_MS and self._ends_with(file, block)
        if is_due and self._primaries(block, self._candidate_storages(block, now_ms)):
            self.want(block)

    def _ends_with(self, file: File, block: Block) -> bool:
        """Whether the block is the last one of the file, or the one behind it may be dropped."""
        behind = file.blocks[file.blocks.index(block) + 1 :]
        return not behind or (len(behind) == 1 and self.is_droppable(behind[0]))

    def note_taken(self, last: Block) -> None:
        """The file of an open block is taken from its writer: nothing is promised to that one any
        more."""
        now_ms = self._namesystem.clock.monotonic_ms()
        self._taken_since_ms.setdefault(last.block_id, now_ms)

    def is_droppable(self, last: Block) -> bool:
        """Whether nothing was ever written to an unfinished last block, and all datanodes that may
        have it have said so; or nobody could read what was.

        Hadoop's datanodes tell of a replica that is being written with a later heartbeat. So those
        of a pipeline have, since the writer is gone, the time after which a silent datanode is
        called stale. Until then they are asked, by a recovery."""
        return (
            not last.is_settled
            and (self._blocks.is_unwritten(last) or self._is_beyond_recovery(last))
            and self._block_manager.unreported_holder(last) is None
            and (not self._blocks.knows_pipeline(last) or self._has_been_told(last))
        )

    def _is_beyond_recovery(self, last: Block) -> bool:
        """Whether an open group is at no datanode that could be asked, and at fewer that are away
        than a reader needs: so it is where its writer's machine had all that was written yet. After
        a failover the others, which would say that they have nothing, are not known."""
        return (
            isinstance(last, Group)
            and not last.length_bytes
            and self.is_hopeless(last)
            and self._blocks.absent_holder(last) is None
        )

    def _has_been_told(self, last: Block) -> bool:
        since_ms = self._taken_since_ms.get(last.block_id)
        if since_ms is None:
            return False
        waited_ms = self._namesystem.clock.monotonic_ms() - since_ms
        return waited_ms >= self._namesystem.settings.stale_datanode_ms

    def _forget_lacking(self) -> None:
        """Files that were closed or deleted since."""
        for inode_id in [
            i for i in self._lacking_since_ms if not self._namesystem.leases.holder_of(i)
        ]:
            del self._lacking_since_ms[inode_id]

    def _forget_taken(self) -> None:
        """Blocks that are settled or gone."""
        unfinished = self._namesystem.namespace.blocks.unfinished
        for block_id in [i for i in self._taken_since_ms if i not in unfinished]:
            del self._taken_since_ms[block_id]

    def recovery_id(self, block: Block) -> int:
        """The stamp of the latest attempt; 0 if there was none since the start."""
        recovery = self._recoveries.get(block.block_id)
        return recovery.recovery_id if recovery is not None else 0

    def round(self) -> Round:
        """Begin attempts where one is due, in slices; each yields what is worth a line in
        the log."""
        for _ in self._find_left_open():
            yield ()
        self._forget_lacking()
        self._forget_taken()
        for count, block_id in enumerate(list(self._recoveries), 1):
            if self._namesystem.safe_mode.on:
                break
            if block_id in self._recoveries:
                self._go_on(block_id)
            if count % BLOCKS_PER_SLICE == 0:
                yield ()
        said, self._said = self._said, []
        refused, self._refused = self._refused, {}
        yield [*said, *refused.values()]

    def registered(self, node: Datanode) -> None:
        """The node has registered: it has forgotten its orders."""
        self._orders.pop(node, None)
        for recovery in self._recoveries.values():
            if recovery.primary is node:
                recovery.primary = None

    # Attempts.

    def _go_on(self, block_id: int) -> None:
        namesystem = self._namesystem
        block = namesystem.namespace.blocks.get(block_id)
        if block is None or not self._may_recover(block):
            del self._recoveries[block_id]
            return
        lacking = self.lacking(namesystem.namespace.file_of(block))
        if lacking is not None and lacking != block:
            return  # The file could not be closed yet.
        recovery = self._recoveries[block_id]
        now_ms = namesystem.clock.monotonic_ms()
        primary = recovery.primary
        if primary is not None and primary.alive and now_ms < recovery.deadline_ms:
            return
        places = self._primaries(block, self._candidate_storages(block, now_ms))
        if not places:
            return  # No datanode with a replica is up; one may come back.
        failed = self._how_it_failed(recovery)
        if recovery.stamp_at_hand > block.generation_stamp:
            recovery.recovery_id = recovery.stamp_at_hand
        else:
            recovery.recovery_id = namesystem.namespace.generation_stamp + 1
            namesystem.commit(edits.SetGenstampV2Op(recovery.recovery_id))
        recovery.stamp_at_hand = 0
        recovery.primary = self._next_primary(recovery, places)
        recovery.given = recovery.is_refused = False
        recovery.attempts += 1
        if failed:
            path = self._path_of(namesystem.namespace.file_of(block))
            self._said.append(
                f"block recovery of {block.name} of {path} failed: {failed}; datanode "
                f"{recovery.primary.name} is asked next (attempt {recovery.attempts})"
            )
        orders = self._orders.setdefault(recovery.primary, deque())
        # Those behind many others have to wait for more heartbeats.
        timeouts = 1 + len(orders) // ORDERS_PER_HEARTBEAT
        recovery.deadline_ms = now_ms + timeouts * namesystem.settings.block_recovery_timeout_ms
        orders.append(block_id)

    @staticmethod
    def _how_it_failed(recovery: _Recovery) -> str:
        """Why the attempt before failed; empty if there was none, or the log has it already."""
        primary = recovery.primary
        if recovery.is_refused or not recovery.attempts:
            return ""
        if primary is None:
            return "the datanode that was asked has registered again"
        if not primary.alive:
            return f"datanode {primary.name}, which was asked, is dead"
        how = "sent no result in time" if recovery.given else "sent no heartbeat to take the order"
        return f"datanode {primary.name} {how}"

    def is_hopeless(self, block: Block) -> bool:
        """Whether no datanode that may have a replica is up."""
        return not self._candidate_storages(block, self._namesystem.clock.monotonic_ms())

    def _candidate_storages(self, block: Block, now_ms: int) -> tuple[Storage, ...]:
        """Where there may be replicas. A stale datanode would delay the attempt: it is left out
        if there are two others. Replicas that were reported as corrupt are the last resort:
        their datanodes know how much of them is good."""
        if isinstance(block, Group):
            return tuple(storage for _, storage in self._candidate_parts(block, now_ms))
        nodes, blocks = (
            self._namesystem.datanode_manager.datanodes,
            self._blocks,
        )
        source = self._source(block)
        alive = [s for s in blocks.holders(source) if s.node.alive]
        alive = alive or [s for s in blocks.corrupt_holders(source) if s.node.alive]
        fresh = [s for s in alive if not nodes.is_stale(s.node, now_ms)]
        return tuple(fresh if len(fresh) > 1 else alive)

    def _candidate_parts(self, group: Group, now_ms: int) -> list[tuple[int, Storage]]:
        """The same of a group: index and storage of each internal block. Stale datanodes, and
        corrupt replicas, are left out only where the others are as many as a reader needs: how
        much of the group is kept depends on what can be compared."""
        nodes = self._namesystem.datanode_manager.datanodes
        parts = self._parts_in_reach(group, self._blocks.holders)
        needed = group.policy.schema.data_units
        if len(_indices_of(parts)) < needed:
            known = _indices_of(parts)
            corrupt = self._parts_in_reach(group, self._blocks.corrupt_holders)
            parts = sorted(
                [*parts, *(part for part in corrupt if part[0] not in known)],
                key=lambda part: part[0],
            )
        fresh = [part for part in parts if not nodes.is_stale(part[1].node, now_ms)]
        return fresh if len(_indices_of(fresh)) >= needed else parts

    @staticmethod
    def _parts_in_reach(
        group: Group, holders: Callable[[Block], Sequence[Storage]]
    ) -> list[tuple[int, Storage]]:
        return [
            (part.index, storage)
            for part in group.parts
            for storage in holders(part)
            if storage.node.alive
        ]

    def _may_recover(self, block: Block) -> bool:
        """Whether the block is under construction still, the last one of a file that the tree or
        a snapshot shows; or committed, without a replica, in a file that is taken from its
        writer."""
        namespace = self._namesystem.namespace
        file = namespace.inodes.get(block.file_id)
        if not isinstance(file, File):
            return False
        if block.state is BlockState.COMMITTED:
            is_taken = file.writer is not None and is_namenode_holder(file.writer)
            return (
                is_taken
                and not block.is_available
                and namespace.is_attached(file)
                and self._ends_with(file, block)
            )
        if block.is_settled or file.last_block != block:
            return False
        return namespace.is_attached(file) or namespace.snapshots.shows(file)

    def _path_of(self, file: File) -> str:
        """In the tree, or in a snapshot. Raises PathNotFound for a file that is gone."""
        namespace = self._namesystem.namespace
        if namespace.is_attached(file):
            return file.path
        path = namespace.path_in_snapshot(file)
        if path is None:
            raise errors.PathNotFound(
                f"File not found: {file.path}, likely due to delayed block removal"
            )
        return path

    def _source(self, block: Block) -> Block:
        """Whose replicas are brought to one length."""
        namespace = self._namesystem.namespace
        source_id = namespace.snapshots.copies.get(block.block_id)
        return block if source_id is None else namespace.blocks[source_id]

    def _block_of_result(self, block_id: int) -> Block | None:
        """The block of a result: the primary names the source."""
        namespace = self._namesystem.namespace
        for copy_id, source_id in namespace.snapshots.copies.items():
            if source_id == block_id:
                return namespace.blocks.get(copy_id)
        return namespace.blocks.get(block_id)

    @staticmethod
    def _primaries(block: Block, places: Sequence[Storage]) -> Sequence[Storage]:
        """Those of the places whose datanodes may lead the recovery of the block."""
        if isinstance(block, Group) and block.state is BlockState.COMMITTED:
            return [storage for storage in places if storage.node.identity.keeps_committed]
        return places

    @staticmethod
    def _primary_name(recovery: _Recovery) -> str:
        return recovery.primary.name if recovery.primary is not None else "an earlier primary"

    @staticmethod
    def _next_primary(recovery: _Recovery, places: Sequence[Storage]) -> Datanode:
        """The datanode with the latest heartbeat, of those that were not primary in this round."""
        nodes = [storage.node for storage in places]
        if all(node.identity.uuid in recovery.tried for node in nodes):
            recovery.tried.clear()
        rested = [node for node in nodes if node.identity.uuid not in recovery.tried]
        primary = max(rested, key=lambda node: node.last_heartbeat_ms)
        recovery.tried.add(primary.identity.uuid)
        return primary

    def take_orders(self, node: Datanode) -> list[RecoveryOrder]:
        """The node's heartbeat is there: what it is to recover as a primary."""
        orders: list[RecoveryOrder] = []
        now_ms = self._namesystem.clock.monotonic_ms()
        waiting = self._orders.get(node, deque())
        while waiting and len(orders) < ORDERS_PER_HEARTBEAT:
            block_id = waiting.popleft()
            recovery = self._recoveries.get(block_id)
            block = self._namesystem.namespace.blocks.get(block_id)
            if recovery is None or recovery.primary is not node or recovery.given:
                continue  # Overtaken by another attempt.
            if block is None or not self._may_recover(block):
                continue  # The file has come to its end.
            recovery.given = True
            recovery.deadline_ms = now_ms + self._namesystem.settings.block_recovery_timeout_ms
            source = self._source(block)
            indices: tuple[int, ...] = ()
            if isinstance(block, Group):
                parts = self._candidate_parts(block, now_ms)
                indices = tuple(index for index, _ in parts)
                places = tuple(storage for _, storage in parts)
            else:
                places = self._candidate_storages(block, now_ms)
            orders.append(RecoveryOrder(block, source, recovery.recovery_id, places, indices))
        if not waiting:
            self._orders.pop(node, None)
        return orders

    # Results.

    def commit(self, result: RecoveryResult) -> None:
        """The end of an attempt. Raises PathNotFound, SafeMode, and RemoteError for what
        must not be; then nothing has changed."""
        namesystem = self._namesystem
        namesystem.safe_mode.check("Cannot commitBlockSynchronization while in safe mode")
        block = self._block_of_result(result.block.block_id)
        if block is None:
            if result.delete_block:
                return  # Sent again: the block is gone already.
            raise errors.RemoteError(f"Block (={result.block}) not found")
        file = namesystem.namespace.file_of(block)
        path = self._path_of(file)
        if file.writer is None or block.state is BlockState.COMPLETE:
            return  # Sent again: the result has closed the file.
        current = self.recovery_id(block)
        if not current or result.recovery_id != current:
            raise errors.RemoteError(
                f"The recovery id {result.recovery_id} does not match current recovery id "
                f"{current} for block {block.name} of {path}"
            )
        if block.state is BlockState.COMMITTED and not self._may_recover(block):
            del self._recoveries[block.block_id]
            raise errors.RemoteError(f"{block.name} of {path} has a whole replica again")
        # What a snapshot shows of a deleted file stays a block, though nobody has it.
        drops = result.delete_block and namesystem.namespace.is_attached(file)
        try:
            self._check(file, path, block, result)
        except errors.RemoteError as error:
            recovery = self._recoveries[block.block_id]
            now_ms = namesystem.clock.monotonic_ms()
            recovery.deadline_ms = min(recovery.deadline_ms, now_ms + REFUSED_RETRY_MS)
            recovery.is_refused = True
            self._refused[block.block_id] = (
                f"block recovery of {block.name} of {path} by {self._primary_name(recovery)} "
                f"is refused: {error.message} (attempt {recovery.attempts}, the next one follows "
                f"in {(recovery.deadline_ms - now_ms) // 1000} s)"
            )
            raise
        if block.state is BlockState.COMMITTED:
            self._replace_left_over(file, path, block, result)
            return
        if not result.delete_block:
            self._settle(file, path, block, result)
        elif drops and not result.close_file:
            namesystem.commit(edits.UpdateBlocksOp(path, edit_blocks(file.blocks[:-1])))
        del self._recoveries[block.block_id]
        if result.close_file:
            kept = file.blocks[:-1] if drops else file.blocks
            # A snapshot shows when its file was modified.
            mtime_ms = namesystem.clock.wall_ms() if file.path == path else file.mtime_ms
            namesystem.commit(close_edit(file, edit_blocks(kept), mtime_ms, path))
            self._said.append(
                f"{path} is closed: {block.name} was recovered with "
                f"{0 if result.delete_block else block.length_bytes} bytes"
            )
        if result.delete_block and block.block_id in namesystem.namespace.blocks:
            self._blocks.stop_awaiting_reports(block)  # A snapshot has it, and no datanode.

    def _check(self, file: File, path: str, block: Block, result: RecoveryResult) -> None:
        lacking = self.lacking(file)
        if lacking is not None and lacking != block:
            raise errors.RemoteError(f"{path} has earlier blocks with too few replicas")
        length = 0 if result.delete_block else result.length_bytes
        if isinstance(block, Group):
            self._check_indices(path, block, result)
        if block.state is BlockState.COMMITTED:
            if length != block.length_bytes or result.delete_block:
                raise errors.RemoteError(
                    f"{block.name} of {path} was committed with {block.length_bytes} bytes, its "
                    f"datanodes come with {length}"
                )
        elif block.truncating:
            if length != block.length_bytes or result.delete_block:
                raise errors.RemoteError(
                    f"{block.name} of {path} is to be cut to {block.length_bytes} bytes, "
                    f"its datanodes come with {length}"
                )
        elif isinstance(block, Group):
            self._check_group(path, block, result, length)
        elif length < block.length_bytes:
            self._check_loss(file, path, block, length, result.targets)
        elif result.delete_block:
            unheard = self._block_manager.unreported_holder(block)
            if unheard is not None:
                raise errors.RemoteError(
                    f"{block.name} of {path} is empty at its datanodes, but {unheard}"
                )
        if result.delete_block:
            return
        check_length(file, block, length)
        if not result.targets:
            raise errors.RemoteError(
                f"{block.name} of {path} was recovered at no datanode that is known"
            )

    @staticmethod
    def _check_indices(path: str, group: Group, result: RecoveryResult) -> None:
        units = group.policy.schema.units
        if any(index >= units for index in result.indices):
            raise errors.RemoteError(
                f"{group.name} of {path} has no internal block {max(result.indices)}: "
                f"{group.policy.name} has {units}"
            )

    def _check_group(
        self, path: str, group: Group, result: RecoveryResult, length_bytes: int
    ) -> None:
        if result.delete_block:
            unheard = self._block_manager.unreported_holder(group)
            if unheard is None:
                absent = self._blocks.absent_holder(group, is_patient=self._is_patient(group))
                unheard = None if absent is None else f"datanode {absent.name} took no part"
            if unheard is not None:
                raise errors.RemoteError(
                    f"{group.name} of {path} is not whole at its datanodes, but {unheard}"
                )
        if length_bytes < group.length_bytes:
            # Nothing of a group is promised before its file is closed.
            self._said.append(
                f"{group.name} of {path} had {group.length_bytes} bytes by its writer's last word, "
                f"and {length_bytes} of them are in whole stripes: the rest is lost"
            )

    def _is_patient(self, group: Group) -> bool:
        """Whether datanodes that are away may still come back with an internal block. They have as
        much time as a silent writer has, since the file was taken from him."""
        now_ms = self._namesystem.clock.monotonic_ms()
        since_ms = self._taken_since_ms.setdefault(group.block_id, now_ms)
        return now_ms - since_ms <= self._namesystem.settings.lease_hard_limit_ms

    def _check_loss(
        self, file: File, path: str, block: Block, length_bytes: int, targets: Sequence[Storage]
    ) -> None:
        lost = f"{block.name} of {path} has {block.length_bytes} bytes that were acknowledged"
        # Whoever is silent for so long is given up elsewhere, too.
        unheard = self._block_manager.unreported_holder(
            block, self._namesystem.settings.heartbeat_expiry_ms
        )
        absent = self._blocks.may_hold_more(block, length_bytes, targets, file.replication, unheard)
        if absent is not None:
            raise errors.RemoteError(
                f"{lost}, its datanodes come with {length_bytes}; but {absent}"
            )
        self._said.append(
            f"{lost}, and no datanode that has come has more than {length_bytes} of them: the rest "
            "is lost"
        )

    def _replace_left_over(
        self, file: File, path: str, block: Block, result: RecoveryResult
    ) -> None:
        """Its datanodes have made whole replicas of what a restart had left. The length was final
        before; lease recovery closes the file when it finds all blocks there."""
        namesystem = self._namesystem
        if file.blocks[-1] != block:
            namesystem.commit(edits.UpdateBlocksOp(path, edit_blocks(file.blocks[:-1])))
        stale_stamp = block.generation_stamp
        restamped = edits.EditBlock(block.block_id, block.length_bytes, result.recovery_id)
        namesystem.commit(edits.UpdateBlocksOp(path, (*edit_blocks(file.blocks[:-1]), restamped)))
        if isinstance(block, Group):
            parts = list(zip(result.indices, result.targets, strict=True))
            self._blocks.note_group_rebuilt(block, parts, stale_stamp)
        else:
            self._blocks.note_rebuilt(block, result.targets, stale_stamp)
        self._report_targets(block, result)
        del self._recoveries[block.block_id]
        self._said.append(
            f"{block.name} of {path}, of which restarts of datanodes had left unfinished replicas "
            f"alone, was recovered with its {block.length_bytes} bytes"
        )

    def _settle(self, file: File, path: str, block: Block, result: RecoveryResult) -> None:
        """The block has the new stamp and length, at these datanodes alone."""
        namesystem = self._namesystem
        recovered = edits.EditBlock(block.block_id, result.length_bytes, result.recovery_id)
        namesystem.commit(edits.UpdateBlocksOp(path, (*edit_blocks(file.blocks[:-1]), recovered)))
        if isinstance(block, Group):
            parts = list(zip(result.indices, result.targets, strict=True))
            self._blocks.new_group_pipeline(block, parts)
        else:
            self._blocks.new_pipeline(block, result.targets)
        self._report_targets(block, result)

    def _report_targets(self, block: Block, result: RecoveryResult) -> None:
        if isinstance(block, Group):
            self._report_parts(block, result)
            return
        for storage in result.targets:
            # They finalized it before the primary sent the result.
            if storage.node.alive:
                self._blocks.reported(
                    storage,
                    ReportedReplica(
                        block.block_id,
                        result.length_bytes,
                        result.recovery_id,
                        ReplicaState.FINALIZED,
                    ),
                )

    def _report_parts(self, group: Group, result: RecoveryResult) -> None:
        """The same of the internal blocks of a group, each with its own length."""
        layout = group.layout
        for index, storage in zip(result.indices, result.targets, strict=True):
            if storage.node.alive:
                self._blocks.reported(
                    storage,
                    ReportedReplica(
                        group.block_id + index,
                        layout.block_length(index),
                        result.recovery_id,
                        ReplicaState.FINALIZED,
                    ),
                )
