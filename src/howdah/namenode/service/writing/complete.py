"""A file is closed by its writer: `complete` (pure).

Hadoop's `FSDirWriteFileOp.completeFile`; step 7 in docs/how-it-works/write.md. The file
is closed once each block has `dfs.namenode.replication.min` finalized replicas of the
right length (FS-135). Until then the call waits for the datanodes' reports; at its
deadline it tells the client to ask again.
"""

from __future__ import annotations

from howdah import errors
from howdah.formats.edits import edits
from howdah.namenode.service.calls.resolved_path import Resolved
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.service.writing.allocation import Writing
from howdah.namenode.state.inodes.file_blocks import (
    ClientBlock,
    check_commit,
    close_edit,
    earlier_edit_blocks,
    edit_blocks,
)
from howdah.namenode.state.inodes.inodes import Block, BlockState, File
from howdah.protocol.rpc.call import Caller


class PendingClose:
    """A `complete` that waits for its blocks to be minimally replicated (FS-135)."""

    __slots__ = ("client_name", "deadline_ms", "inode_id", "last", "outcome")

    def __init__(
        self, inode_id: int, client_name: str, last: ClientBlock | None, deadline_ms: int
    ) -> None:
        self.inode_id = inode_id
        self.client_name = client_name
        self.last = last
        self.deadline_ms = deadline_ms
        self.outcome: bool | None = None
        """True once the file is closed, False at the deadline, None until then."""


class Closing:
    """The end of writing a file."""

    def __init__(self, namesystem: Namesystem, writing: Writing) -> None:
        self._namesystem = namesystem
        self._writing = writing

    def complete(
        self,
        caller: Caller,
        path: str,
        *,
        client_name: str,
        inode_id: int,
        last: ClientBlock | None,
    ) -> PendingClose:
        """Close the file. The outcome is there at once, or when the datanodes have
        reported, or at the deadline: then it is False and the client asks again."""
        namesystem = self._namesystem
        namesystem.safe_mode.check(f"Cannot complete file {path}")
        deadline_ms = namesystem.clock.monotonic_ms() + namesystem.settings.complete_wait_ms
        resolved = namesystem.resolver.resolve_written(caller, path, inode_id)
        try:
            file = self._writing.open_file(resolved, inode_id, client_name)
        except errors.LeaseExpired:
            if self._closed_already(resolved, inode_id, last):
                repeated = PendingClose(inode_id, client_name, last, deadline_ms)
                repeated.outcome = True
                return repeated
            raise
        if last is not None and self._writing.has_abandoned(file, last.block_id):
            last = None  # The writer closes the file behind what came before.
        pending = PendingClose(file.inode_id, client_name, last, deadline_ms)
        is_there = file is resolved.inode and not resolved.in_snapshot
        self._close_if_safe(pending, file, resolved.path if is_there else None)
        return pending

    @staticmethod
    def _check_last(file: File, block: Block | None, last: ClientBlock | None) -> None:
        """May the client close the file, which ends with `block`, behind `last`? None: it added
        nothing to blocks that were settled before."""
        if last is None:
            fits = block is None or block.state is not BlockState.UNDER_CONSTRUCTION
        else:
            fits = block is not None and block.block_id == last.block_id
        if not fits:
            raise errors.RemoteError(
                f"complete of {file.path}: the client's last block is {last}, the file's {block}"
            )
        if block is not None and last is not None:
            check_commit(file, block, last)

    def _closed_already(self, resolved: Resolved, inode_id: int, last: ClientBlock | None) -> bool:
        """A repeated `complete`: the file is closed and ends with that very block."""
        namespace = self._namesystem.namespace
        inode = namespace.inodes.get(inode_id) if inode_id else resolved.inode
        return isinstance(inode, File) and inode.writer is None and self._ends_with(inode, last)

    @staticmethod
    def _ends_with(file: File, last: ClientBlock | None) -> bool:
        """True if the file's last block is just what its writer thinks that it is: a
        recovery may have closed it behind another length."""
        block = file.last_block
        if block is None or last is None:
            return block is None and last is None
        return last.is_settled(block)

    def try_close(self, pending: PendingClose) -> None:
        """Close the file if its blocks are safe; fills in `pending.outcome` when decided.

        Everything is checked again each time, as the call may have waited since: raises
        PathNotFound if the file was deleted, LeaseExpired if another client writes it
        now, RemoteError if its last block is another one.
        """
        namesystem = self._namesystem
        file = namesystem.namespace.inodes.get(pending.inode_id)
        if not isinstance(file, File) or not namesystem.namespace.is_attached(file):
            raise errors.PathNotFound(
                f"File does not exist: inode {pending.inode_id} was deleted while it was closed"
            )
        if file.writer is None and self._ends_with(file, pending.last):
            pending.outcome = True
            return
        self._close_if_safe(pending, file, None)

    def _close_if_safe(self, pending: PendingClose, file: File, path: str | None) -> None:
        """The same for a file that is in the tree and not closed already; `path` is its own,
        where that is known."""
        namesystem = self._namesystem
        if file.writer != pending.client_name:
            raise errors.LeaseExpired(
                f"Client (={pending.client_name}) is not the lease owner (={file.writer}: "
                f"{file.path} (inode {file.inode_id})"
            )
        block = file.last_block
        self._check_last(file, block, pending.last)
        if namesystem.safe_mode.on or not self._minimally_replicated(file, block, pending.last):
            if namesystem.clock.monotonic_ms() >= pending.deadline_ms:
                pending.outcome = False
            return
        blocks: tuple[edits.EditBlock, ...] = ()
        if pending.last is not None:
            blocks = (*earlier_edit_blocks(file), pending.last.as_edit)
        elif block is not None:
            blocks = edit_blocks(file.blocks)
        namesystem.commit(close_edit(file, blocks, namesystem.clock.wall_ms(), path))
        pending.outcome = True

    def _minimally_replicated(
        self, file: File, block: Block | None, last: ClientBlock | None
    ) -> bool:
        """FS-135: enough finalized replicas of each block, not all of them. `block` is the
        file's last."""
        if block is None:
            return True
        if not file.is_complete_but_last:
            return False
        if block.state is BlockState.COMPLETE:
            return True
        if last is None:
            return False
        blocks = self._namesystem.block_manager.blocks
        return blocks.is_minimally_replicated(block, last.length_bytes)
