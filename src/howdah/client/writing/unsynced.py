"""The finished blocks of a stream that may not be on the disks yet (pure).

An order to sync travels in a packet, and a finished block takes no more packets. So a
later `hsync` has to reach such blocks in another way, and this remembers which they are.
"""

from __future__ import annotations

from howdah.client.blocks import LocatedBlock


class UnsyncedBlocks:
    """In the order in which they were finished, each with the number of its last packet."""

    def __init__(self) -> None:
        self._blocks: dict[int, tuple[int, LocatedBlock]] = {}

    def __len__(self) -> int:
        return len(self._blocks)

    def add(self, block: LocatedBlock, last_seqno: int) -> None:
        """`block` is finished, without an order to sync it."""
        self._blocks[block.block.block_id] = (last_seqno, block)

    def up_to(self, seqno: int) -> tuple[LocatedBlock, ...]:
        """Those that were finished with packet `seqno` or before it."""
        return tuple(block for last, block in self._blocks.values() if last <= seqno)

    def synced(self, block: LocatedBlock) -> bool:
        """`block` is on the disks; false if it was known to be before."""
        return self._blocks.pop(block.block.block_id, None) is not None
