"""Which bytes of which internal blocks make a range of a block group, and what makes up for those
that are missing (pure).

DFSStripedInputStream and StripeReader in Hadoop. Rules:

1. A range is cut into rows: the same bytes of every internal block, within one stripe, such that
   each cell of the stripe is wanted for the whole row or not at all, and that each has data in the
   whole row or not at all. Where the range begins or ends within a cell, and where the last cell
   of the group ends, a row ends.
2. Of a row the wanted cells are read, and nothing else.
3. Where one of those is missing, it is decoded from as many units as there are data units: cells
   behind the end of the data, which are zeros and are not read, then wanted cells, then other
   data, then parity.

With more missing, a plan reads what it read before and some more: what has come stays of use.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from howdah.protocol.striping.layout import GroupLayout


@dataclass(frozen=True, slots=True)
class Row:
    """The bytes from `start` to `end` of internal blocks; those of `wanted` belong to the range."""

    start: int
    end: int
    wanted: tuple[int, ...]

    @property
    def length(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class RowPlan:
    """What to `read` of a row, by index of the internal blocks, and what to decode: the `lost`
    ones, from `sources`, of which `zeros` are not read."""

    row: Row
    read: tuple[int, ...]
    lost: tuple[int, ...] = ()
    sources: tuple[int, ...] = ()
    zeros: tuple[int, ...] = ()


class TooFewUnits(Exception):
    """More internal blocks are missing than the policy makes up for: `missing`, by index."""

    def __init__(self, missing: tuple[int, ...]) -> None:
        super().__init__(f"internal blocks {list(missing)} are missing")
        self.missing = missing


def rows(layout: GroupLayout, start: int, end: int) -> Iterator[Row]:
    """Yield the rows of a range of the group's data, in order. Raises `ValueError` for a range
    that is not in the group."""
    if not 0 <= start <= end <= layout.length:
        raise ValueError(f"bytes {start} to {end} are not in a group of {layout.length}")
    stripe_bytes = layout.stripe_bytes
    while start < end:
        stripe = start // stripe_bytes
        stripe_end = min((stripe + 1) * stripe_bytes, end)
        yield from _rows_of_stripe(layout, stripe, start, stripe_end)
        start = stripe_end


def _rows_of_stripe(layout: GroupLayout, stripe: int, start: int, end: int) -> Iterator[Row]:
    cell = layout.policy.cell_bytes
    data_start = stripe * layout.stripe_bytes
    block_start = stripe * cell
    wanted: list[tuple[int, int, int]] = []
    cuts: set[int] = set()
    for index in range(layout.policy.schema.data_units):
        cell_start = data_start + index * cell
        low, high = max(start - cell_start, 0), min(end - cell_start, cell)
        if low < high:
            wanted.append((index, low, high))
            cuts |= {low, high}
        # Only the last cell of the data can end within the stripe.
        cuts.add(min(max(layout.length - cell_start, 0), cell))
    edges = sorted(cuts)
    for low, high in itertools.pairwise(edges):
        indices = tuple(index for index, first, last in wanted if first <= low and high <= last)
        if indices:
            yield Row(block_start + low, block_start + high, indices)


def plan(layout: GroupLayout, row: Row, missing: Collection[int]) -> RowPlan:
    """Say what to read of a row and what to decode. Raises `TooFewUnits` where that does not
    suffice."""
    lost = tuple(index for index in row.wanted if index in missing)
    if not lost:
        return RowPlan(row, row.wanted)
    schema = layout.policy.schema
    present = [index for index in row.wanted if index not in missing]
    zeros: list[int] = []
    others: list[int] = []
    for index in range(schema.units):
        if index in row.wanted:
            continue
        if layout.block_length(index) <= row.start:
            zeros.append(index)
        elif index not in missing:
            others.append(index)
    needed = schema.data_units - len(present) - len(zeros)
    if len(others) < needed:
        raise TooFewUnits(
            tuple(index for index in layout.block_indices if index in missing),
        )
    read = (*present, *others[:needed])
    return RowPlan(row, read, lost, (*zeros, *read), tuple(zeros))


def place_in_group(layout: GroupLayout, index: int, block_offset: int) -> int:
    """Return where in the group's data a byte of a data block is."""
    cell = layout.policy.cell_bytes
    stripe, within = divmod(block_offset, cell)
    return stripe * layout.stripe_bytes + index * cell + within


def end_in_block(layout: GroupLayout, start: int, end: int, index: int) -> int:
    """Return how far a range of the data reaches into an internal block: into a data block as far
    as it has bytes of the range, into parity as far as any data block. 0: not at all."""
    if index >= layout.policy.schema.data_units:
        return end_in_rows(layout, start, end)
    reach = GroupLayout(layout.policy, end).block_length(index)
    return reach if start < end and place_in_group(layout, index, reach - 1) >= start else 0


def end_in_rows(layout: GroupLayout, start: int, end: int) -> int:
    """Return where the last row of a range ends; 0 of an empty one."""
    last_stripe = max(end - 1, 0) // layout.stripe_bytes * layout.stripe_bytes
    return max((row.end for row in rows(layout, max(start, last_stripe), end)), default=0)
