"""A file's blocks as clients name them, and as edits do (pure)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from howdah import errors
from howdah.formats.edits import edits
from howdah.namenode.state.inodes.group_table import Group
from howdah.namenode.state.inodes.inodes import Block, BlockState, File

MAX_BLOCK_SIZE_BYTES: Final = (1 << 48) - 1
"""The block size that a file may ask for: Hadoop's namenode keeps it in 48 bits, and reads neither
a log nor an image with a larger one."""
MAX_BLOCK_BYTES: Final = 1 << 46
"""No block is longer than 64 TiB: the sums of many such lengths, with all replicas, still
fit the 64 bits that messages and images have for them."""


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

    @property
    def as_edit(self) -> edits.EditBlock:
        return edits.EditBlock(self.block_id, self.length_bytes, self.generation_stamp)


def edit_blocks(blocks: Sequence[Block]) -> tuple[edits.EditBlock, ...]:
    """Blocks as an edit names them."""
    return tuple(
        edits.EditBlock(block.block_id, block.length_bytes, block.generation_stamp)
        for block in blocks
    )


def earlier_edit_blocks(file: File) -> tuple[edits.EditBlock, ...]:
    """All of a file's blocks but the last, which most files have alone."""
    return edit_blocks(file.blocks[:-1]) if len(file.block_ids) > 1 else ()


def close_edit(
    file: File, blocks: tuple[edits.EditBlock, ...], now_ms: int, path: str | None = None
) -> edits.CloseOp:
    """The end of writing a file. Its inode id is not in the record: the path names it, `path`
    where that is known."""
    traits, _, atime_ms, _, _ = file.table.glance(file.inode_id)
    owner, group, mode, replication, block_size_bytes = traits
    return edits.CloseOp(
        0,
        file.path if path is None else path,
        replication,
        now_ms,
        atime_ms,
        block_size_bytes,
        edits.Permission(owner, group, mode),
        blocks,
    )


def check_length(file: File, block: Block, length_bytes: int) -> None:
    """Raises RemoteError if no block can be that long.

    A file's block size is no bound: writers exist that put a file into one block and
    never look at its size, and what they were told is written must be read.
    """
    if length_bytes > max(MAX_BLOCK_BYTES, block.length_bytes):
        raise errors.RemoteError(
            f"{block.name} of {file.path} cannot have {length_bytes} bytes: "
            f"no block has more than {MAX_BLOCK_BYTES}"
        )


def check_commit(file: File, block: Block, named: ClientBlock) -> None:
    """May the writer settle `block` on the length that it tells? Raises RemoteError."""
    if named.generation_stamp != block.generation_stamp:
        raise errors.RemoteError(
            f"Commit block with mismatching GS. NN has {block.name} of {file.path}, "
            f"client submits blk_{named.block_id}_{named.generation_stamp}"
        )
    if block.state is not BlockState.UNDER_CONSTRUCTION:
        if named.length_bytes != block.length_bytes:
            raise errors.RemoteError(
                f"{block.name} of {file.path} is settled on {block.length_bytes} bytes, "
                f"client submits {named.length_bytes}"
            )
        return
    if named.length_bytes < block.length_bytes:
        raise errors.RemoteError(
            f"commitBlock length is less than the stored one {named.length_bytes} vs. "
            f"{block.length_bytes} of {block.name} of {file.path}"
        )
    check_length(file, block, named.length_bytes)


def ends_full(file: File, block: Block) -> bool:
    """True if who appends behind the block needs a new one, as behind every group."""
    if isinstance(block, Group):
        return block.state is BlockState.COMPLETE
    return block.state is BlockState.COMPLETE and block.length_bytes >= file.block_size_bytes
