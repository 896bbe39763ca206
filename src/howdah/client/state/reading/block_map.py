"""The blocks of one file by their offset, filled batch by batch (pure).

The namenode is asked by path, and nothing in its answer says that the path still is
the file that was opened. So every batch is held against what is known: a block that
has become another one means that the file was replaced, and data of two files must
never be mixed. A block keeps its id, whatever its stamp, when it is appended to,
recovered or cut. Behind a router the path may have become another namenode's, whose
blocks have the same ids, so the block pool counts too.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable

from howdah import errors
from howdah.client.state.blocks import LocatedBlock


class BlockMap:
    """Blocks by offset; newer information replaces older.

    `limit` is the file's length as its reader sees it: what lies behind is left out.
    """

    def __init__(self, path: str = "", limit: int | None = None) -> None:
        self._path = path
        self._limit = limit
        self._offsets: list[int] = []
        self._blocks: list[LocatedBlock] = []

    def add(self, blocks: Iterable[LocatedBlock]) -> None:
        """Take in a batch. `FileChanged`, with nothing taken in, if it is of another file."""
        fitting = [self._cut(block) for block in blocks]
        if not self._blocks and len(fitting) == 1:
            if fitting[0].length_bytes > 0:  # As in every small file.
                self._offsets, self._blocks = [fitting[0].offset], fitting
            return
        self.check(fitting)
        for block in fitting:
            index = bisect.bisect_left(self._offsets, block.offset)
            known = index < len(self._offsets) and self._offsets[index] == block.offset
            if known and block.length_bytes > 0:
                self._blocks[index] = block
            elif known:
                del self._offsets[index], self._blocks[index]
            elif block.length_bytes > 0:
                self._offsets.insert(index, block.offset)
                self._blocks.insert(index, block)

    def check(self, blocks: Iterable[LocatedBlock]) -> None:
        """`FileChanged` if these are not blocks of the file that is known."""
        for block in blocks:
            self._check(block)

    def _cut(self, block: LocatedBlock) -> LocatedBlock:
        """Without what lies behind the limit."""
        if self._limit is None or block.end <= self._limit:
            return block
        return block.with_block(block.block.with_length(max(self._limit - block.offset, 0)))

    def _check(self, block: LocatedBlock) -> None:
        index = bisect.bisect_right(self._offsets, block.offset) - 1
        before = self._blocks[index] if index >= 0 else None
        after = self._blocks[index + 1] if index + 1 < len(self._blocks) else None
        if before is not None and before.offset == block.offset:
            same = before.block.is_same_as(block.block)
        else:
            same = before is None or before.end <= block.offset
        if not same or (after is not None and after.offset < block.end):
            known = before if not same else after
            assert known is not None
            raise errors.FileChanged(
                f"{self._path} is not the file any more that was opened: its block at "
                f"{known.offset} was {known.block}, at {block.offset} is {block.block} "
                f"now; open it again"
            )

    def find(self, offset: int) -> LocatedBlock | None:
        """The block that holds the byte at `offset`, if it is known."""
        index = bisect.bisect_right(self._offsets, offset) - 1
        if index < 0 or offset >= self._blocks[index].end:
            return None
        return self._blocks[index]

    def first(self) -> LocatedBlock | None:
        """The known block that is nearest to the beginning."""
        return self._blocks[0] if self._blocks else None

    def __len__(self) -> int:
        return len(self._blocks)
