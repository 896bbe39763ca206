"""What a client asks when a datanode of its pipeline fails (pure; FS-126, FS-127).

Steps 3, 4 and 6 of pipeline recovery in docs/how-it-works/recovery.md; Hadoop's
`FSNamesystem.getAdditionalDatanode`, `bumpBlockGenerationStamp` and `updatePipeline`.

1. `additional`: another datanode, if the client wants to replace the one that failed.
2. `new_stamp`: a generation stamp, with which the client sets up its new pipeline.
3. `update`: these storages have the block with that stamp. Replicas elsewhere are stale
   from then on, and are invalidated.

An attempt that fails between 2 and 3 leaves nothing but a stamp that is never used. The
client takes another one.
"""

from __future__ import annotations

from collections.abc import Sequence

from howdah import errors
from howdah.formats.edits import edits
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.service.writing.allocation import Writing
from howdah.namenode.state.blocks.datanodes import Storage
from howdah.namenode.state.blocks.reconstruction import left_to_place
from howdah.namenode.state.inodes import storage_policies
from howdah.namenode.state.inodes.file_blocks import ClientBlock, check_length, edit_blocks
from howdah.namenode.state.inodes.group_table import Group
from howdah.namenode.state.inodes.inodes import Block, BlockState, File
from howdah.protocol.rpc.call import Caller
from howdah.protocol.striping.layout import is_striped


class PipelineCalls:
    """Operations on the pipeline of a block that is being written."""

    def __init__(self, namesystem: Namesystem, writing: Writing) -> None:
        self._namesystem = namesystem
        self._block_manager = namesystem.block_manager
        self._writing = writing

    def additional(
        self,
        caller: Caller,
        path: str,
        *,
        client_name: str,
        inode_id: int,
        block: ClientBlock,
        present: tuple[Storage, ...],
        excluded: frozenset[str],
        count: int,
    ) -> tuple[Block, list[Storage]]:
        """The pipeline of `present` storages, and up to `count` more on other nodes.

        Where there are none the client gets what it has; what follows from that is its
        `dfs.client.block.write.replace-datanode-on-failure` policy.
        """
        namesystem = self._namesystem
        namesystem.safe_mode.check(f"Cannot add datanode; src={path}, blk=blk_{block.block_id}")
        resolved = namesystem.resolver.resolve_written(caller, path, inode_id)
        file = self._writing.open_file(resolved, inode_id, client_name)
        known = namesystem.namespace.blocks.get(block.block_id)
        if is_striped(block.block_id):
            raise errors.UnsupportedOperation(
                f"blk_{block.block_id} of {file.path} is a block group: an internal block that "
                "cannot be written is made again later"
            )
        if known is None or known.file_id != file.inode_id or known.state is BlockState.COMPLETE:
            raise errors.RemoteError(
                f"blk_{block.block_id} is not a block of {file.path} that is being written"
            )
        now_ms = namesystem.clock.monotonic_ms()
        count = min(count, len(self._block_manager.placement.network.all))
        kinds, fallbacks = storage_policies.kinds_on_repair(file, len(present) + count)
        chosen = self._block_manager.placement.choose(
            count,
            block_size_bytes=file.block_size_bytes,
            kinds=left_to_place(kinds, present, count),
            fallbacks=fallbacks,
            present=[storage.node for storage in present],
            excluded=excluded,
            avoid=self._block_manager.avoided_targets(now_ms),
        )
        return known, [*present, *chosen]

    def new_stamp(self, *, client_name: str, block: ClientBlock) -> tuple[Block, int]:
        """A new generation stamp for the open block; it holds once `update` says so."""
        namesystem = self._namesystem
        namesystem.safe_mode.check(f"Cannot get a new GS for block blk_{block.block_id}")
        _, known = self._open_block(client_name, block)
        stamp = namesystem.namespace.generation_stamp + 1
        namesystem.commit(edits.SetGenstampV2Op(stamp))
        return known, stamp

    def update(
        self,
        caller: Caller,
        *,
        client_name: str,
        old: ClientBlock,
        new: ClientBlock,
        targets: tuple[Storage, ...],
    ) -> None:
        """The open block goes on under a new stamp, on these storages alone."""
        block = self._update(caller, client_name=client_name, old=old, new=new, targets=targets)
        self._block_manager.blocks.new_pipeline(block, targets)

    def _update(
        self,
        caller: Caller,
        *,
        client_name: str,
        old: ClientBlock,
        new: ClientBlock,
        targets: tuple[Storage, ...],
    ) -> Block:
        namesystem = self._namesystem
        namesystem.safe_mode.check("Pipeline not updated")
        file, block = self._open_block(client_name, old)
        if not targets:
            raise errors.RemoteError(f"Update pipeline of {block.name}: it has no datanodes")
        if new.block_id != block.block_id or not (
            block.generation_stamp < new.generation_stamp <= namesystem.namespace.generation_stamp
        ):
            raise errors.RemoteError(
                f"Update {block.name} (length = {block.length_bytes}) to an older state: {new}"
            )
        check_length(file, block, new.length_bytes)
        if new.length_bytes < block.length_bytes:
            raise errors.RemoteError(
                f"Update {block.name} of {file.path} from {block.length_bytes} bytes "
                f"to {new.length_bytes}: a replica never shrinks"
            )
        changed = list(edit_blocks(file.blocks))
        changed[-1] = new.as_edit
        namesystem.commit(
            edits.UpdateBlocksOp(
                file.path,
                tuple(changed),
                rpc_client_id=caller.client_id,
                rpc_call_id=caller.call_id,
            )
        )
        return block

    def update_group(
        self,
        caller: Caller,
        *,
        client_name: str,
        old: ClientBlock,
        new: ClientBlock,
        targets: Sequence[tuple[int, Storage]],
    ) -> None:
        """The same of a block group: `targets` have the indices that are still written."""
        parts = tuple(storage for _, storage in targets)
        block = self._update(caller, client_name=client_name, old=old, new=new, targets=parts)
        assert isinstance(block, Group), block
        self._block_manager.blocks.new_group_pipeline(block, targets)

    def _open_block(self, client_name: str, named: ClientBlock) -> tuple[File, Block]:
        block = self._namesystem.namespace.blocks.get(named.block_id)
        name = f"blk_{named.block_id}_{named.generation_stamp}"
        if block is None:
            raise errors.RemoteError(f"{name} does not exist.")
        # Whoever asks, as in Hadoop: a block that is complete has no writer.
        settled = errors.RemoteError(
            f"Unexpected BlockUCState: {name} is {block.state.name} but not UNDER_CONSTRUCTION"
        )
        if block.state is BlockState.COMPLETE:
            raise settled
        file = self._namesystem.namespace.file_of(block)
        if not self._namesystem.namespace.is_attached(file):
            # A snapshot shows it still.
            raise errors.RemoteError(
                f"The file {name} belonged to does not exist or it is not under construction."
            )
        if file.writer is not None and file.writer != client_name:
            raise errors.LeaseExpired(
                f"Lease mismatch: {name} is accessed by a non lease holder {client_name}"
            )
        file = self._writing.open_file(
            self._namesystem.resolver.resolve(file.path), file.inode_id, client_name
        )
        if file.blocks[-1] != block:
            raise errors.RemoteError(f"{block.name} is not the last block of {file.path}")
        if block.is_settled:
            raise settled  # The block behind it was abandoned: its length is final.
        return file, block
