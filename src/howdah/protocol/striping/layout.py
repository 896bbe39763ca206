"""Which byte of a block group is where (pure).

A group's data is cut into cells, and cell c lies in internal block c % k at (c // k) * cell
bytes. A row of k cells and their m parity cells is a stripe. The last stripe may be short: its
parity cells are as long as its first data cell, and a data block without a cell does not exist.

Ids of groups are negative and multiples of 16; an internal block has the group's id plus its
index, data blocks before parity blocks (`BlockIdManager`). All lengths are in bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from howdah.protocol.striping.policies import Policy

INDEX_BITS: Final = 4
MAX_UNITS: Final = 1 << INDEX_BITS
"""Internal blocks of a group: as many as their ids can tell apart."""
_INDEX_MASK: Final = MAX_UNITS - 1
FIRST_GROUP_ID: Final = -(1 << 63) + (1 << INDEX_BITS)
"""The first group that a namespace has."""


def is_striped(block_id: int) -> bool:
    """Return whether an id is of a group, or of a block in one."""
    return block_id < 0


def group_id_of(block_id: int) -> int:
    """Return the group of an internal block's id.

    >>> group_id_of(-9223372036854775789)
    -9223372036854775792
    """
    return block_id & ~_INDEX_MASK


def index_of(block_id: int) -> int:
    """Return which internal block of its group an id names.

    >>> index_of(-9223372036854775789)
    3
    """
    return block_id & _INDEX_MASK


def next_group_id(last_id: int) -> int:
    """Return the id of the group that comes after the last one."""
    return group_id_of(last_id) + (1 << INDEX_BITS)


def internal_length(group_bytes: int, data_units: int, cell_bytes: int, index: int) -> int:
    """Return the length of an internal block of a group that has so many bytes of data: 0 of one
    that does not exist. Indices from `data_units` on are of parity blocks."""
    full, rest = divmod(group_bytes, data_units * cell_bytes)
    # A parity cell is as long as the first data cell of its stripe.
    before = index * cell_bytes if index < data_units else 0
    return full * cell_bytes + min(cell_bytes, max(0, rest - before))


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of one cell: where they are in their internal block, and in the group's data."""

    index: int
    block_offset: int
    group_offset: int
    length: int


@dataclass(frozen=True, slots=True)
class GroupLayout:
    """A group that has `length` bytes of data."""

    policy: Policy
    length: int

    @property
    def stripe_bytes(self) -> int:
        """Return how much data a full stripe has."""
        return self.policy.schema.data_units * self.policy.cell_bytes

    @property
    def stripes(self) -> int:
        """Return how many stripes there are; the last may be short."""
        return -(-self.length // self.stripe_bytes)

    @property
    def data_blocks(self) -> int:
        """Return how many data blocks exist: of the first ones, those that have a cell."""
        cells = -(-self.length // self.policy.cell_bytes)
        return min(self.policy.schema.data_units, cells)

    @property
    def block_indices(self) -> tuple[int, ...]:
        """Return the indices of all internal blocks that exist."""
        if not self.length:
            return ()
        schema = self.policy.schema
        return (*range(self.data_blocks), *range(schema.data_units, schema.units))

    @property
    def space(self) -> int:
        """Return what the group takes on disks, parity included."""
        parity_units = self.policy.schema.parity_units
        return self.length + parity_units * self.block_length(self.policy.schema.data_units)

    def block_length(self, index: int) -> int:
        """Return the length of an internal block; 0 of one that does not exist. Raises
        `ValueError` for an index that the policy does not have."""
        schema = self.policy.schema
        if not 0 <= index < schema.units:
            raise ValueError(f"a group of {self.policy.name} has no block {index}")
        return internal_length(self.length, schema.data_units, self.policy.cell_bytes, index)

    def pieces(self, start: int, end: int) -> Iterator[Piece]:
        """Yield the cells, or parts of them, that hold a range of the data, in its order. Raises
        `ValueError` for a range that is not in the group."""
        if not 0 <= start <= end <= self.length:
            raise ValueError(f"bytes {start} to {end} are not in a group of {self.length}")
        cell, data_units = self.policy.cell_bytes, self.policy.schema.data_units
        while start < end:
            number, within = divmod(start, cell)
            length = min(cell - within, end - start)
            row, index = divmod(number, data_units)
            yield Piece(index, row * cell + within, start, length)
            start += length


@dataclass(frozen=True, slots=True)
class FileLayout:
    """A file of `length` bytes whose groups are full but for the last one. One that was appended to
    or concatenated may have more groups, and take more space.

    `block_bytes` is the block size of the file, which is that of an internal block.
    """

    policy: Policy
    length: int
    block_bytes: int

    @property
    def groups(self) -> int:
        """Return how many block groups the file has."""
        return -(-self.length // self._group_bytes)

    @property
    def space(self) -> int:
        """Return what the file takes on disks, parity included."""
        full, rest = divmod(self.length, self._group_bytes)
        whole = GroupLayout(self.policy, self._group_bytes)
        return full * whole.space + GroupLayout(self.policy, rest).space

    @property
    def _group_bytes(self) -> int:
        return max(self.block_bytes, 1) * self.policy.schema.data_units


def safe_length(policy: Policy, block_lengths: list[int]) -> int:
    """Return how much data of a group that was left open is safe: the stripes that are whole in
    as many internal blocks as there are data units.

    `block_lengths` are of those that answered. Raises `ValueError` where they are too few.
    """
    data_units, cell = policy.schema.data_units, policy.cell_bytes
    if len(block_lengths) < data_units:
        raise ValueError(
            f"{len(block_lengths)} blocks answered, and {policy.name} needs {data_units}"
        )
    kth_longest = sorted(block_lengths, reverse=True)[data_units - 1]
    return kth_longest // cell * data_units * cell
