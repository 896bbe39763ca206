"""The life of a file while it is written: create, blocks, sync, close (pure).

    create -> add_block -> (fsync) -> add_block … -> complete
                \\-> abandon_block          append -> …

Every call after `create` names the file by inode id and the writer by its client
name, and is refused unless that client holds the file's lease (FS-005). A call
that a client repeats because it lost the answer gets the same answer again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from howdah import errors
from howdah.namenode import paths
from howdah.namenode.core import Core, Resolved
from howdah.namenode.datanodes import Datanode, Storage
from howdah.namenode.inodes import MODE_MASK, Block, BlockState, Directory, File
from howdah.namenode.permissions import Access
from howdah.namenode.placement import choose_targets
from howdah.namenode.tree_calls import check_names, require_parent
from howdah.rpc.service import Caller
from howdah.storage import edits


@dataclass(frozen=True, slots=True)
class ClientBlock:
    """A block as a client names it."""

    block_id: int
    generation_stamp: int
    length_bytes: int

    def __str__(self) -> str:
        return f"blk_{self.block_id}_{self.generation_stamp} of {self.length_bytes} bytes"

    def is_settled(self, block: Block) -> bool:
        """True if it is that block as it is known, length and all."""
        return (self.block_id, self.generation_stamp, self.length_bytes) == (
            block.block_id,
            block.generation_stamp,
            block.length_bytes,
        )


@dataclass(slots=True, eq=False)
class PendingClose:
    """A `complete` that waits for its blocks to be minimally replicated (FS-135)."""

    inode_id: int
    client_name: str
    last: ClientBlock | None
    deadline_ms: int
    outcome: bool | None = field(default=None)


class FileCalls:
    """Operations on files that are being written."""

    def __init__(self, core: Core) -> None:
        self._core = core

    # Opening.

    def create(
        self,
        caller: Caller,
        path: str,
        *,
        mode: int,
        client_name: str,
        create: bool,
        overwrite: bool,
        create_parent: bool,
        replication: int,
        block_size_bytes: int,
    ) -> File:
        """A new, empty file under construction by `client_name`.

        It takes the place of an old one with `overwrite`, and has to without `create`.
        """
        core = self._core
        paths.check_length("create", path)
        core.safe_mode.check(f"Cannot create file{path}")
        who, found = core.resolve_checked(caller, path, creates=True)
        self._check_sizes(caller, path, replication, block_size_bytes)
        old = found.inode
        if isinstance(old, Directory):
            raise errors.PathExists(f"{found.path} already exists as a directory")
        if old is not None and overwrite:
            core.permissions.check(who, old, Access.WRITE)
        core.check_parent_write(who, found)
        if old is not None and not overwrite:
            if isinstance(old, File):
                self._refuse_if_open(old, client_name, caller, "CREATE_FILE")
            raise errors.PathExists(f"{found.path} for client {caller.address} already exists")
        if old is not None and not isinstance(old, File):
            raise errors.PathExists(f"{found.path} exists and is no file")
        if old is None and not create:
            raise errors.PathNotFound(
                f"Can't overwrite non-existent {found.path} for client {caller.address}"
            )
        if not create_parent:
            require_parent(found)
        check_names(core, found)
        now_ms = core.clock.wall_ms()
        core.make_parents(who, found, len(found.components) - 1, None, now_ms)
        parent = core.namespace.find(paths.parent_of(found.path))
        assert isinstance(parent, Directory), "its parents exist now"
        if old is None:
            core.check_room(parent)
        core.commit(
            edits.AddOp(
                core.new_inode_id(),
                found.path,
                replication,
                now_ms,
                now_ms,
                block_size_bytes,
                edits.Permission(who.user, parent.group, mode & MODE_MASK),
                client_name,
                caller.address,
                overwrite=overwrite,
                rpc_client_id=caller.client_id,
                rpc_call_id=caller.call_id,
            )
        )
        core.reap()
        core.leases.renew(client_name, core.clock.monotonic_ms())
        file = core.namespace.find(found.path)
        assert isinstance(file, File), "it was just made"
        return file

    def _check_sizes(
        self, caller: Caller, path: str, replication: int, block_size_bytes: int
    ) -> None:
        settings = self._core.settings
        check_replication(self._core, path, replication, caller)
        if block_size_bytes < settings.min_block_size_bytes:
            raise errors.RemoteError(
                f"Specified block size {block_size_bytes} of {path} is less than configured "
                f"minimum value (dfs.namenode.fs-limits.min-block-size): "
                f"{settings.min_block_size_bytes}"
            )
        if block_size_bytes % settings.bytes_per_checksum and block_size_bytes % 512:
            raise errors.RemoteError(
                f"Specified block size {block_size_bytes} of {path} is no multiple of 512"
            )

    def _refuse_if_open(self, file: File, client_name: str, caller: Caller, what: str) -> None:
        if file.writer is None:
            return
        if file.writer == client_name:
            why = f"{client_name} is already the current lease holder."
        else:
            why = f"this file lease is currently owned by {file.writer} on {file.writer_machine}"
        raise errors.AlreadyBeingCreated(
            f"Failed to {what} {file.path} for {client_name} on {caller.address} because {why}"
        )

    def append(
        self, caller: Caller, path: str, *, client_name: str, new_block: bool
    ) -> tuple[File, Block | None]:
        """Reopen a complete file. Returns the last block if the client goes on with it:
        it is open again then, or, with `new_block`, the one that a new one is to follow.
        None behind a full block; the client then asks for the next one.
        """
        core = self._core
        core.safe_mode.check(f"Cannot append to file{path}")
        who, found = core.resolve_checked(caller, path)
        if isinstance(found.inode, Directory):
            raise errors.PathExists(
                f"Cannot append to directory {found.path}; already exists as a directory."
            )
        if found.inode is None:
            raise errors.PathNotFound(
                f"Failed to append to non-existent file {found.path} for client {caller.address}"
            )
        file = core.require_file(found)
        core.permissions.check(who, file, Access.WRITE)
        self._refuse_if_open(file, client_name, caller, "APPEND_FILE")
        last = file.blocks[-1] if file.blocks else None
        if last is not None and len(last.replicas) < core.settings.min_replication:
            raise errors.RemoteError(
                f"append: lastBlock={last.name} of src={found.path} is not sufficiently "
                "replicated yet."
            )
        core.commit(
            edits.AppendOp(
                found.path,
                client_name,
                caller.address,
                new_block,
                rpc_client_id=caller.client_id,
                rpc_call_id=caller.call_id,
            )
        )
        core.leases.renew(client_name, core.clock.monotonic_ms())
        if last is None or last.state is not BlockState.UNDER_CONSTRUCTION:
            return file, last if new_block else None
        core.blocks.reopened(last)
        return file, last

    # Writing.

    def open_file(self, found: Resolved, inode_id: int, client_name: str) -> File:
        """The file that the client writes: by id where it gives one, as it may have
        been renamed. Raises PathNotFound, LeaseExpired."""
        core = self._core
        inode = core.namespace.inodes.get(inode_id) if inode_id else found.inode
        if inode is not None and not core.namespace.is_attached(inode):
            inode = None
        holder = f"Holder {client_name} does not have any open files."
        where = f"{found.path} (inode {inode_id})"
        if inode is None:
            raise errors.PathNotFound(f"File does not exist: {where} {holder}")
        if not isinstance(inode, File):
            raise errors.LeaseExpired(f"INode is not a regular file: {where} {holder}")
        if inode.writer is None:
            raise errors.LeaseExpired(f"File is not open for writing: {where} {holder}")
        if inode.writer != client_name:
            raise errors.LeaseExpired(
                f"Client (={client_name}) is not the lease owner (={inode.writer}: {where}"
            )
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
    ) -> tuple[File, Block]:
        """A new last block, with its pipeline in `block.expected`.

        `previous` is the block that the client just finished, with its final
        length. Raises NotReplicatedYet while an earlier block is not safe.
        """
        core = self._core
        core.safe_mode.check(f"Cannot add block to {path}")
        found = core.resolve(path)
        file = self.open_file(found, inode_id, client_name)
        last = file.blocks[-1] if file.blocks else None
        if previous is None and last is not None and _ends_full(file, last):
            # Who appends to a file that ends with a full block was given no block to name.
            previous = ClientBlock(last.block_id, last.generation_stamp, last.length_bytes)
        if (previous.block_id if previous else None) != (last.block_id if last else None):
            again = self._repeated_block(file, previous)
            if again is None:
                raise errors.RemoteError(
                    f"Cannot allocate block in {found.path}: passed 'previous' block "
                    f"{previous} does not match actual last block in file {last}"
                )
            if not again.expected:
                # The namenode was started anew since the first answer, and forgot it.
                core.blocks.allocated(again, self._targets(caller, file, excluded))
            return file, again
        if last is not None and previous is not None:
            self._check_commit(file, last, previous)
        if any(block.state is not BlockState.COMPLETE for block in file.blocks[:-1]):
            raise errors.NotReplicatedYet(f"Not replicated yet: {found.path}")
        limit = core.settings.max_blocks_per_file
        if limit and len(file.blocks) >= limit:
            raise errors.RemoteError(
                f"File has reached the limit on maximum number of blocks "
                f"(dfs.namenode.fs-limits.max-blocks-per-file): {len(file.blocks)} >= {limit}"
            )
        targets = self._targets(caller, file, excluded)
        stamp = core.namespace.generation_stamp + 1
        block_id = core.namespace.last_block_id + 1
        core.commit(edits.AllocateBlockIdOp(block_id))
        core.commit(edits.SetGenstampV2Op(stamp))
        before = (
            edits.EditBlock(previous.block_id, previous.length_bytes, previous.generation_stamp)
            if previous
            else None
        )
        was_open = last is not None and last.state is not BlockState.COMPLETE
        core.commit(edits.AddBlockOp(file.path, before, edits.EditBlock(block_id, 0, stamp)))
        if last is not None and was_open:
            core.blocks.settled(last)
        block = file.blocks[-1]
        core.blocks.allocated(block, targets)
        return file, block

    def _repeated_block(self, file: File, previous: ClientBlock | None) -> Block | None:
        """The last block, if the client asks again for what it was given already."""
        last = file.blocks[-1] if file.blocks else None
        if last is None or last.length_bytes or last.state is not BlockState.UNDER_CONSTRUCTION:
            return None
        before = file.blocks[-2] if len(file.blocks) > 1 else None
        if before is None:
            return last if previous is None else None
        if previous is None:
            return last if _ends_full(file, before) else None
        return last if previous.is_settled(before) else None

    def _check_commit(self, file: File, block: Block, told: ClientBlock) -> None:
        """May the client settle `block` on the length that it tells?"""
        if told.generation_stamp != block.generation_stamp:
            raise errors.RemoteError(
                f"Commit block with mismatching GS. NN has {block.name} of {file.path}, "
                f"client submits blk_{told.block_id}_{told.generation_stamp}"
            )
        if block.state is not BlockState.UNDER_CONSTRUCTION:
            if told.length_bytes != block.length_bytes:
                raise errors.RemoteError(
                    f"{block.name} of {file.path} is settled on {block.length_bytes} bytes, "
                    f"client submits {told.length_bytes}"
                )
            return
        if told.length_bytes < block.length_bytes:
            raise errors.RemoteError(
                f"commitBlock length is less than the stored one {told.length_bytes} vs. "
                f"{block.length_bytes} of {block.name} of {file.path}"
            )
        self.check_fits(file, block, told.length_bytes)

    @staticmethod
    def check_fits(file: File, block: Block, length_bytes: int) -> None:
        if length_bytes > max(file.block_size_bytes, block.length_bytes):
            raise errors.RemoteError(
                f"{block.name} of {file.path} cannot have {length_bytes} bytes: "
                f"the file's block size is {file.block_size_bytes}"
            )

    def _targets(self, caller: Caller, file: File, excluded: frozenset[str]) -> tuple[Storage, ...]:
        core = self._core
        now_ms = core.clock.monotonic_ms()
        host = caller.address
        chosen = choose_targets(
            core.datanodes,
            file.replication,
            block_size_bytes=file.block_size_bytes,
            dice=core.dice,
            writer=core.datanodes.by_ip(host),
            excluded=excluded,
            avoid=lambda node: core.datanodes.is_stale(node, now_ms),
        )
        if len(chosen) < core.settings.min_replication:
            running = len(core.datanodes.live())
            raise errors.RemoteError(
                f"File {file.path} could only be written to {len(chosen)} of the "
                f"{core.settings.min_replication} minReplication nodes. There are {running} "
                f"datanode(s) running and {len(excluded) or 'no'} node(s) are excluded in "
                "this operation."
            )
        return tuple(chosen)

    def abandon_block(
        self, path: str, *, client_name: str, inode_id: int, block: ClientBlock
    ) -> None:
        """The client could not write to the block's pipeline: forget the block.

        Refused for a block with acknowledged bytes, which no client means to lose.
        """
        core = self._core
        core.safe_mode.check(f"Cannot abandon block for file{path}")
        file = self.open_file(core.resolve(path), inode_id, client_name)
        if not file.blocks or file.blocks[-1].block_id != block.block_id:
            return
        last = file.blocks[-1]
        if last.state is not BlockState.UNDER_CONSTRUCTION or last.length_bytes:
            raise errors.RemoteError(
                f"{last.name} of {file.path} cannot be abandoned: it is "
                f"{last.state.name} and has {last.length_bytes} bytes that were synced"
            )
        core.commit(edits.UpdateBlocksOp(file.path, edit_blocks(file.blocks[:-1])))
        core.reap()

    def fsync(self, path: str, *, client_name: str, inode_id: int, last_bytes: int) -> None:
        """Note how long the block being written is known to be (XC-003)."""
        core = self._core
        core.safe_mode.check(f"Cannot fsync file {path}")
        file = self.open_file(core.resolve(path), inode_id, client_name)
        blocks = list(edit_blocks(file.blocks))
        last = file.blocks[-1] if file.blocks else None
        # A block that is settled has its length; the next one is not allocated yet.
        if last is not None and last.state is BlockState.UNDER_CONSTRUCTION:
            self.check_fits(file, last, last_bytes)
            length = max(last.length_bytes, last_bytes)
            blocks[-1] = edits.EditBlock(last.block_id, length, last.generation_stamp)
        core.commit(edits.UpdateBlocksOp(file.path, tuple(blocks)))

    def renew_lease(self, client_name: str) -> None:
        self._core.leases.renew(client_name, self._core.clock.monotonic_ms())

    # Closing.

    def complete(
        self, path: str, *, client_name: str, inode_id: int, last: ClientBlock | None
    ) -> PendingClose:
        """Close the file. The outcome is there at once, or when the datanodes have
        reported, or at the deadline: then it is False and the client asks again."""
        core = self._core
        core.safe_mode.check(f"Cannot complete file {path}")
        deadline_ms = core.clock.monotonic_ms() + core.settings.complete_wait_ms
        found = core.resolve(path)
        try:
            file = self.open_file(found, inode_id, client_name)
        except errors.LeaseExpired:
            if self._closed_already(found, inode_id, last):
                return PendingClose(inode_id, client_name, last, deadline_ms, True)
            raise
        pending = PendingClose(file.inode_id, client_name, last, deadline_ms)
        self.try_close(pending)
        return pending

    def _check_last(self, file: File, last: ClientBlock | None) -> None:
        """May the client close the file behind `last`? None: it added nothing to blocks
        that were settled before."""
        block = file.blocks[-1] if file.blocks else None
        if last is None:
            fits = block is None or block.state is not BlockState.UNDER_CONSTRUCTION
        else:
            fits = block is not None and block.block_id == last.block_id
        if not fits:
            raise errors.RemoteError(
                f"complete of {file.path}: the client's last block is {last}, the file's {block}"
            )
        if block is not None and last is not None:
            self._check_commit(file, block, last)

    def _closed_already(self, found: Resolved, inode_id: int, last: ClientBlock | None) -> bool:
        """A repeated `complete`: the file is closed and ends with that very block."""
        namespace = self._core.namespace
        inode = namespace.inodes.get(inode_id) if inode_id else found.inode
        if not isinstance(inode, File) or inode.writer is not None:
            return False
        block = inode.blocks[-1] if inode.blocks else None
        if block is None or last is None:
            return block is None and last is None
        return (block.block_id, block.generation_stamp) == (last.block_id, last.generation_stamp)

    def try_close(self, pending: PendingClose) -> None:
        """Close the file if its blocks are safe; fills in `pending.outcome` when decided.

        Everything is checked again each time, as the call may have waited since: raises
        PathNotFound if the file was deleted, LeaseExpired if another client writes it
        now, RemoteError if its last block is another one.
        """
        core = self._core
        file = core.namespace.inodes.get(pending.inode_id)
        if not isinstance(file, File) or not core.namespace.is_attached(file):
            raise errors.PathNotFound(
                f"File does not exist: inode {pending.inode_id} was deleted while it was closed"
            )
        if file.writer is None:
            pending.outcome = True
            return
        if file.writer != pending.client_name:
            raise errors.LeaseExpired(
                f"Client (={pending.client_name}) is not the lease owner (={file.writer}: "
                f"{file.path} (inode {file.inode_id})"
            )
        self._check_last(file, pending.last)
        if core.safe_mode.on or not self._minimally_replicated(file, pending.last):
            if core.clock.monotonic_ms() >= pending.deadline_ms:
                pending.outcome = False
            return
        blocks = list(edit_blocks(file.blocks))
        if pending.last is not None:
            last = pending.last
            blocks[-1] = edits.EditBlock(last.block_id, last.length_bytes, last.generation_stamp)
        open_blocks = [b for b in file.blocks[-1:] if b.state is not BlockState.COMPLETE]
        now_ms = core.clock.wall_ms()
        core.commit(close_edit(file, tuple(blocks), now_ms))
        for block in open_blocks:
            core.blocks.settled(block)
        pending.outcome = True

    def _minimally_replicated(self, file: File, last: ClientBlock | None) -> bool:
        """FS-135: enough finalized replicas of each block, not all of them."""
        if any(block.state is not BlockState.COMPLETE for block in file.blocks[:-1]):
            return False
        if not file.blocks or file.blocks[-1].state is BlockState.COMPLETE:
            return True
        if last is None:
            return False
        block = file.blocks[-1]
        count = self._core.blocks.finalized_replicas(block, last.length_bytes)
        return count >= self._core.settings.min_replication

    # Replication.

    def set_replication(self, caller: Caller, path: str, replication: int) -> bool:
        """Change a file's replication (FS-016). False if it is no file."""
        core = self._core
        core.safe_mode.check(f"Cannot set replication for {path}")
        check_replication(core, path, replication, caller)
        who, found = core.resolve_checked(caller, path)
        if not isinstance(found.inode, File):
            return False
        file = found.inode
        core.permissions.check(who, file, Access.WRITE)
        if file.replication != replication:
            core.commit(edits.SetReplicationOp(found.path, replication))
            for block in file.blocks:
                core.blocks.look(block)
        return True

    def report_bad(self, node: Datanode | None, block: ClientBlock) -> None:
        """Somebody read a replica that does not match its checksums (FS-100)."""
        known = self._core.namespace.blocks.get(block.block_id)
        if node is None or known is None or known.generation_stamp != block.generation_stamp:
            return
        # Whatever storage is named: a node has but one replica, if any.
        for storage in [s for s in known.replicas if s.node is node]:
            self._core.blocks.mark_corrupt(storage, known, found_by_reader=True)


def _ends_full(file: File, block: Block) -> bool:
    return block.state is BlockState.COMPLETE and block.length_bytes >= file.block_size_bytes


def check_replication(core: Core, path: str, replication: int, caller: Caller) -> None:
    settings = core.settings
    if replication > settings.max_replication:
        raise errors.RemoteError(
            f"file {path} on client {caller.address}.\nRequested replication factor of "
            f"{replication} exceeds maximum of {settings.max_replication}"
        )
    if replication < settings.min_replication:
        raise errors.RemoteError(
            f"file {path} on client {caller.address}.\nRequested replication factor of "
            f"{replication} is less than the required minimum {settings.min_replication}"
        )


def edit_blocks(blocks: list[Block]) -> tuple[edits.EditBlock, ...]:
    """Blocks as an edit names them."""
    return tuple(
        edits.EditBlock(block.block_id, block.length_bytes, block.generation_stamp)
        for block in blocks
    )


def close_edit(file: File, blocks: tuple[edits.EditBlock, ...], now_ms: int) -> edits.CloseOp:
    """The end of writing a file. Its inode id is not in the record: the path names it."""
    return edits.CloseOp(
        0,
        file.path,
        file.replication,
        now_ms,
        file.atime_ms,
        file.block_size_bytes,
        edits.Permission(file.owner, file.group, file.mode),
        blocks,
    )
