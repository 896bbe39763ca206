"""A file is written, block by block (pure).

Hadoop's `FSDirWriteFileOp`; steps 2, 3 and 5 in docs/how-it-works/write.md.

    add_block -> (fsync) -> add_block …          \\-> abandon_block

Every call names the file by inode id and the writer by its client name. It is refused
unless that client holds the file's lease (FS-005), so a writer that lost its lease
cannot change the file. A call that a client repeats because it lost the answer gets the
same answer again.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final, NamedTuple

from howdah import errors
from howdah.formats.edits import edits
from howdah.namenode.service.calls.resolved_path import Resolved
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.blocks.datanodes import Storage
from howdah.namenode.state.blocks.placement import why_fewer
from howdah.namenode.state.inodes import storage_policies
from howdah.namenode.state.inodes.file_blocks import (
    ClientBlock,
    check_commit,
    check_length,
    edit_blocks,
    ends_full,
)
from howdah.namenode.state.inodes.inodes import Block, BlockState, File
from howdah.namenode.state.tree import quotas
from howdah.namenode.state.tree.leases import is_namenode_holder
from howdah.protocol.rpc.call import Caller
from howdah.protocol.striping.layout import GroupLayout
from howdah.protocol.striping.policies import Policy as CodingPolicy
from howdah.runtime.log_throttle import LogThrottle

log = logging.getLogger(__name__)

FEW_REPLICAS_MS: Final = 60_000
"""The interval of log lines about blocks that get fewer replicas than expected."""


class _Wishes(NamedTuple):
    """What a client says of where a block should go. A tuple, as each block has one, and a
    frozen dataclass takes four times as long to make."""

    excluded: frozenset[str]
    favored: tuple[str, ...]
    spare_writer: bool
    ignore_locality: bool


def _space(coding: CodingPolicy | None, length_bytes: int) -> int:
    """What a block of that length takes with one replica, or as a group."""
    return length_bytes if coding is None else GroupLayout(coding, length_bytes).space


class Writing:
    """Operations on the blocks of a file that is being written."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._namesystem = namesystem
        self._block_manager = namesystem.block_manager
        self._datanode_manager = namesystem.datanode_manager
        self._datanodes = namesystem.datanode_manager.datanodes
        self._few = LogThrottle(FEW_REPLICAS_MS)

    def open_file(self, resolved: Resolved, inode_id: int, client_name: str) -> File:
        """The file that the client writes: by id where it gives one, as it may have
        been renamed. Raises PathNotFound, LeaseExpired, RecoveryInProgress."""
        namesystem = self._namesystem
        inode = resolved.inode
        is_another = inode_id and (inode is None or inode.inode_id != inode_id)
        if is_another:
            inode = namesystem.namespace.inodes.get(inode_id)
        # What a path leads to is in the tree, unless that is a snapshot's.
        if (
            (is_another or resolved.in_snapshot)
            and inode is not None
            and not namesystem.namespace.is_attached(inode)
        ):
            inode = None
        holder = f"Holder {client_name} does not have any open files."
        where = f"{resolved.path} (inode {inode_id})"
        if inode is None:
            raise errors.PathNotFound(f"File does not exist: {where} {holder}")
        if not isinstance(inode, File):
            raise errors.LeaseExpired(f"INode is not a regular file: {where} {holder}")
        writer = inode.writer
        if writer is None:
            raise errors.LeaseExpired(f"File is not open for writing: {where} {holder}")
        if writer != client_name or is_namenode_holder(client_name):
            raise errors.LeaseExpired(
                f"Client (={client_name}) is not the lease owner (={writer}: {where} {holder}"
            )
        last = inode.last_block
        if last is not None and last.truncating:
            raise errors.RecoveryInProgress(f"{inode.path} is being truncated.")
        return inode

    def add_block(
        self,
        caller: Caller,
        path: str,
        *,
        client_name: str,
        inode_id: int,
        previous: ClientBlock | None,
        excluded: frozenset[str],
        favored: Sequence[str] = (),
        spare_writer: bool = False,
        ignore_locality: bool = False,
    ) -> tuple[File, Block]:
        """A new last block, with its pipeline in `block.expected`.

        `previous` is the block that the client just finished, with its final
        length; `favored` are names of the datanodes that it prefers; unknown ones are
        ignored. `spare_writer`: the client wants no replica on its own host;
        `ignore_locality`: it might be anywhere. Raises NotReplicatedYet while an earlier
        block is not complete.
        """
        namesystem = self._namesystem
        wishes = _Wishes(excluded, tuple(favored), spare_writer, ignore_locality)
        namesystem.safe_mode.check(f"Cannot add block to {path}")
        resolved = namesystem.resolver.resolve_written(caller, path, inode_id)
        file = self.open_file(resolved, inode_id, client_name)
        last = file.last_block
        if previous is None and last is not None and self._ends_full(file, last):
            # A client that appends to a file with a full last block got no block to name.
            previous = ClientBlock(last.block_id, last.generation_stamp, last.length_bytes)
        if (previous.block_id if previous else None) != (last.block_id if last else None):
            again = self._repeated_block(file, previous)
            if again is None:
                raise errors.RemoteError(
                    f"Cannot allocate block in {resolved.path}: passed 'previous' block "
                    f"{previous} does not match actual last block in file {last}"
                )
            if not again.expected:
                # The namenode was started anew since the first answer, and forgot it.
                self._block_manager.blocks.allocated(again, self._targets(caller, file, wishes))
            return file, again
        if last is not None and previous is not None:
            check_commit(file, last, previous)
        if not file.is_complete_but_last:
            raise errors.NotReplicatedYet(f"Not replicated yet: {resolved.path}")
        namesystem.limits.check_objects()
        coding = namesystem.namespace.coding_policies.by_id(file.coding_policy_id)
        limit = namesystem.settings.max_blocks_per_file
        if limit and len(file.block_ids) >= limit:
            raise errors.RemoteError(
                f"File has reached the limit on maximum number of blocks "
                f"(dfs.namenode.fs-limits.max-blocks-per-file): {len(file.block_ids)} >= {limit}"
            )
        if namesystem.namespace.tally.directories:
            more = file.block_size_bytes
            if coding is not None:
                more *= coding.schema.units
            if last is not None and previous is not None:
                more += _space(coding, previous.length_bytes) - quotas.counted_bytes(file, last)
            namesystem.limits.check_quota(
                file.parent, namesystem.namespace.measuring.of_bytes(file, more)
            )
        targets = self._targets(caller, file, wishes)
        stamp = namesystem.namespace.generation_stamp + 1
        manager = self._block_manager
        block_id = manager.new_block_id() if coding is None else manager.new_group_id()
        namesystem.commit(edits.AllocateBlockIdOp(block_id))
        namesystem.commit(edits.SetGenstampV2Op(stamp))
        before = previous.as_edit if previous else None
        is_there = file is resolved.inode and not resolved.in_snapshot
        path = resolved.path if is_there else file.path
        namesystem.commit(edits.AddBlockOp(path, before, edits.EditBlock(block_id, 0, stamp)))
        block = namesystem.namespace.blocks[block_id]
        self._block_manager.blocks.allocated(block, targets)
        return file, block

    def _ends_full(self, file: File, block: Block) -> bool:
        """True if an append needs a new block: this one has no room, or a snapshot has it."""
        return ends_full(file, block) or (
            block.state is BlockState.COMPLETE
            and self._namesystem.namespace.snapshots.pins(file, block.block_id)
        )

    def _repeated_block(self, file: File, previous: ClientBlock | None) -> Block | None:
        """The last block, if the client asks again for what it was given already."""
        last = file.last_block
        if last is None or last.length_bytes or last.state is not BlockState.UNDER_CONSTRUCTION:
            return None
        before = file.blocks[-2] if len(file.blocks) > 1 else None
        if before is None:
            return last if previous is None else None
        if previous is None:
            return last if self._ends_full(file, before) else None
        return last if previous.is_settled(before) else None

    def _targets(self, caller: Caller, file: File, wishes: _Wishes) -> tuple[Storage, ...]:
        namesystem = self._namesystem
        now_ms = namesystem.clock.monotonic_ms()
        host = None if wishes.ignore_locality else caller.machine
        replication, block_size_bytes = file.traits[3:]
        placement, least = self._block_manager.placement, namesystem.settings.min_replication
        coding = namesystem.namespace.coding_policies.by_id(file.coding_policy_id)
        if coding is not None:
            replication, least = coding.schema.units, coding.schema.data_units
            placement = self._block_manager.group_placement
        kinds, fallbacks = storage_policies.kinds_on_create(file, replication)
        writer = self._datanodes.by_ip(host) if host else None
        chosen = placement.choose(
            replication,
            block_size_bytes=block_size_bytes,
            kinds=kinds,
            fallbacks=fallbacks,
            writer=writer,
            writer_location=self._datanode_manager.racks.client_location(host)
            if host and writer is None
            else None,
            spare_writer=wishes.spare_writer,
            favored=[node for name in wishes.favored if (node := self._datanodes.named(name))],
            excluded=wishes.excluded,
            avoid=self._block_manager.avoided_targets(now_ms),
        )
        if len(chosen) < replication:
            allowed, excluded = {*kinds, *fallbacks}, wishes.excluded
            why = why_fewer(self._datanodes, block_size_bytes, allowed, excluded, chosen)
            self._too_few(file, replication, least, len(chosen), len(excluded), why)
        return tuple(chosen)

    def _too_few(
        self, file: File, wanted: int, least: int, placed: int, excluded: int, why: str
    ) -> None:
        """A block of the file gets fewer replicas than are `wanted`, or internal blocks. Raises
        NoDatanodes for fewer than `least`."""
        namesystem = self._namesystem
        coding = namesystem.namespace.coding_policies.by_id(file.coding_policy_id)
        if placed < least:
            log.warning(
                "no place for a block of %s with replication %d: %s; the call is refused",
                file.path,
                wanted,
                why,
            )
            raise errors.NoDatanodes(
                f"File {file.path} could only be written to {placed} of the {least} "
                + (
                    "minReplication nodes. "
                    if coding is None
                    else f"required nodes for {coding.name}. "
                )
                + "There are "
                f"{len(self._datanodes.live())} datanode(s) running and "
                f"{excluded or 'no'} node(s) are excluded in this operation. Datanodes passed "
                f"over: {why}."
            )
        before = self._few.suppressed_count(namesystem.clock.monotonic_ms())
        if before is not None:
            log.warning(
                "a block of %s got %d of %d replicas (and %d more blocks too few since this was "
                "said last): %s; they are copied when there is room",
                file.path,
                placed,
                wanted,
                before,
                why,
            )

    def abandon_block(
        self, caller: Caller, path: str, *, client_name: str, inode_id: int, block: ClientBlock
    ) -> None:
        """The client could not write to the block's pipeline: forget the block.

        As in Hadoop the block may have synced bytes. They are the writer's own to give up:
        only the holder of the lease can ask, and only for the last block. Refused for a
        block that is settled, or that a snapshot shows: its bytes are not the writer's
        alone, and no pipeline to it can fail.
        """
        namesystem = self._namesystem
        namesystem.safe_mode.check(f"Cannot abandon block for file{path}")
        resolved = namesystem.resolver.resolve_written(caller, path, inode_id)
        file = self.open_file(resolved, inode_id, client_name)
        # A client goes on with the internal blocks that it can write, and gives up no group.
        if file.coding_policy_id:
            return
        if not file.blocks or file.blocks[-1].block_id != block.block_id:
            return
        last = file.blocks[-1]
        pinned = namesystem.namespace.snapshots.has_to_keep(file, last.block_id)
        if last.state is not BlockState.UNDER_CONSTRUCTION or pinned:
            raise errors.RemoteError(
                f"{last.name} of {file.path} cannot be abandoned: it is {last.state.name}"
                + (", and a snapshot has it" if pinned else "")
            )
        namesystem.commit(edits.UpdateBlocksOp(file.path, edit_blocks(file.blocks[:-1])))

    def has_abandoned(self, file: File, block_id: int) -> bool:
        """Whether the file's writer gave up this block, as its last one. It was allocated, behind
        the block with which the file ends now, and is no file's any more: nothing but
        `abandon_block` takes a block from a file while one stream writes it. So this outlives a
        restart and a failover. A block that lease recovery dropped looks the same: if a stream
        lost its file so, and another stream of the same client appends to that, a late `complete`
        by the first one closes the file."""
        namespace, last = self._namesystem.namespace, file.last_block
        return (
            block_id not in namespace.blocks
            and block_id <= (namespace.last_block_id if block_id >= 0 else namespace.last_group_id)
            and (last is None or last.block_id < block_id)
        )

    def fsync(
        self, caller: Caller, path: str, *, client_name: str, inode_id: int, last_bytes: int
    ) -> None:
        """Note how long the block being written is known to be (XC-003).

        Each longer length is an edit. When it is durable no start of the namenode shows less,
        and no recovery takes less; the answer to an `hflush` does not wait for that.
        """
        namesystem = self._namesystem
        namesystem.safe_mode.check(f"Cannot fsync file {path}")
        resolved = namesystem.resolver.resolve_written(caller, path, inode_id)
        file = self.open_file(resolved, inode_id, client_name)
        last = file.last_block
        if last is None and last_bytes > 0:
            raise errors.RemoteError(
                f"Cannot fsync {file.path}: it has no block, and its writer tells of "
                f"{last_bytes} bytes in the last one"
            )
        # A block that is settled has its length; the next one is not allocated yet.
        if last is None or last.state is not BlockState.UNDER_CONSTRUCTION:
            namesystem.commit(edits.UpdateBlocksOp(file.path, edit_blocks(file.blocks)))
            return
        check_length(file, last, last_bytes)
        # Without a length: the block exists, and the client that syncs relies on that.
        if last_bytes < 0 or last_bytes > last.length_bytes:
            known_bytes = max(last.length_bytes, last_bytes)
            synced = edits.EditBlock(last.block_id, known_bytes, last.generation_stamp)
            namesystem.commit(
                edits.UpdateBlocksOp(file.path, (*edit_blocks(file.blocks[:-1]), synced))
            )

    def renew_lease(self, client_name: str) -> None:
        self._namesystem.leases.renew(client_name, self._namesystem.clock.monotonic_ms())
