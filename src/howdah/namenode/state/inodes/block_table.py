"""Blocks, as rows of a table (pure; see `row_table`, and `block_rows` for what a row has).

Block groups of striped files are in tables of their own, `groups`. By its id a block is found in
either: ids of groups are below zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from howdah.namenode.state.inodes.block_rows import (
    COMPLETE,
    ELSEWHERE,
    FILE,
    LENGTH,
    REPLICAS,
    STAMP,
    STORAGE_BITS,
    STORAGE_MASK,
    WIDTH,
    Beside,
    Block,
    BlockState,
)
from howdah.namenode.state.inodes.group_table import Group, GroupTable
from howdah.namenode.state.inodes.row_page import Page
from howdah.namenode.state.inodes.row_table import MASK, SHIFT, Table

if TYPE_CHECKING:
    from howdah.namenode.state.blocks.datanodes import Storage

__all__ = [
    "FILE",
    "LENGTH",
    "REPLICAS",
    "STAMP",
    "STORAGE_BITS",
    "WIDTH",
    "Block",
    "BlockState",
    "BlockTable",
]


class BlockTable(Mapping[int, Block]):
    """The blocks of a namespace by id, to be used like a dictionary."""

    __slots__ = (
        "beside",
        "extras",
        "groups",
        "reported",
        "rows",
        "scattered",
        "storages",
        "unfinished",
    )

    def __init__(self) -> None:
        self.rows: Final = Table(WIDTH, STAMP)
        self.beside: Final = Beside()
        """What its views look at beside their rows."""
        self.extras: Final = self.beside.extras
        self.scattered: Final = self.beside.scattered
        """The replicas of blocks that have more than fit in a row."""
        self.unfinished: Final = self.beside.unfinished
        """The ids of blocks that are not complete."""
        self.reported: Final = self.beside.reported
        """The ids of blocks that are complete by reports, and committed by the edits."""
        self.storages: Final = self.beside.storages
        self.groups: Final = GroupTable(self.beside)

    def new(
        self,
        block_id: int,
        length_bytes: int,
        generation_stamp: int,
        file_id: int,
        state: BlockState,
    ) -> Block:
        """Add a block. Raises OverflowError, with nothing changed, for a number of more
        than 64 bits (60 of a generation stamp)."""
        page = self.rows.page_for(block_id)
        at = (block_id & MASK) * WIDTH
        assert not page[at + STAMP] & 1, f"there is a block {block_id} already"
        page[at + LENGTH] = length_bytes
        page[at + FILE] = file_id
        page[at + REPLICAS] = 0
        page[at + STAMP] = generation_stamp << 3 | state << 1 | 1
        self.rows.added(page)
        if state is not BlockState.COMPLETE:
            self.unfinished.add(block_id)
        return _view(self.beside, block_id, page, at)

    def number_of(self, storage: Storage) -> int:
        """By which rows know the storage; from 1."""
        return self.beside.number_of(storage)

    def take_replica(
        self, block_id: int, length_bytes: int, generation_stamp: int, storage: Storage
    ) -> int | None:
        """A storage has a good replica. How many there are now if it is new, 0 if it was
        known. None, with nothing changed, unless the block is complete, of that length and
        stamp, and nothing else is to be thought of."""
        page = self.rows.pages.get(block_id >> SHIFT)
        at = (block_id & MASK) * WIDTH
        if (
            page is None
            or page[at + STAMP] != generation_stamp << 3 | COMPLETE
            or page[at + LENGTH] != length_bytes
            or block_id in self.extras
        ):
            return None
        packed = left = page[at + REPLICAS]
        if packed >> 2 * STORAGE_BITS and packed != ELSEWHERE:
            known = self.beside.known_number(storage)
            is_there = known is not None and known in (
                packed & STORAGE_MASK,
                packed >> STORAGE_BITS & STORAGE_MASK,
                packed >> 2 * STORAGE_BITS,
            )
            return 0 if is_there else None
        number = self.beside.number_of(storage)
        if packed == ELSEWHERE or number > STORAGE_MASK:
            return None
        bits, count = 0, 1
        while left:
            other = left & STORAGE_MASK
            if other == number:
                return 0
            if self.storages[other - 1].node is storage.node:
                return None  # On another volume of its node until now.
            left >>= STORAGE_BITS
            bits += STORAGE_BITS
            count += 1
        page[at + REPLICAS] = packed | number << bits
        return count

    def get(self, block_id: int, default: None = None) -> Block | None:  # type: ignore[override]
        page = self.rows.pages.get(block_id >> SHIFT)
        at = (block_id & MASK) * WIDTH
        if page is None:
            return None if block_id >= 0 else self.groups.get(block_id)
        return _view(self.beside, block_id, page, at) if page[at + STAMP] & 1 else None

    def reported_as(self, block_id: int) -> Block | None:
        """Return what datanodes have under that id: a block, or an internal block of a group."""
        return self.get(block_id) if block_id >= 0 else self.groups.internal(block_id)

    def pop(self, block_id: int) -> Block | None:
        """Take a block out. It is shown as it was for as long as somebody holds it."""
        block = self.get(block_id)
        if block is None:
            return None
        self.unfinished.discard(block_id)
        self.reported.discard(block_id)
        if isinstance(block, Group):
            self.groups.remove(block)
            return block
        self.rows.remove(block_id)
        extras = self.extras.pop(block_id, None)
        scattered = self.scattered.pop(block_id, None)
        if extras is not None or scattered is not None:
            block.move_out(extras, scattered)
        return block

    def count_settled(self) -> int:
        """How many blocks are not under construction."""
        return len(self) - sum(
            self[block_id].state is BlockState.UNDER_CONSTRUCTION for block_id in self.unfinished
        )

    def __getitem__(self, block_id: int) -> Block:
        block = self.get(block_id)
        if block is None:
            raise KeyError(block_id)
        return block

    def __contains__(self, block_id: object) -> bool:
        assert isinstance(block_id, int), block_id
        return block_id in self.rows or (block_id < 0 and self.groups.get(block_id) is not None)

    def __len__(self) -> int:
        return self.rows.count + len(self.groups)

    def __iter__(self) -> Iterator[int]:
        """The ids; blocks may come and go meanwhile."""
        yield from self.rows
        yield from self.groups


def _view(beside: Beside, block_id: int, page: Page, at: int) -> Block:
    block = Block.__new__(Block)
    block.block_id = block_id
    block._table = beside
    block._page = page
    block._at = at
    return block
