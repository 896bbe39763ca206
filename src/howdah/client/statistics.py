"""How much a client has read, written and asked, for the statistics of a filesystem.

Every thread counts in a cell of its own, so that nobody waits for a lock, which a fork may copy
while it is held. A forked child goes on from what its parent had counted.
"""

from __future__ import annotations

import enum
from threading import get_ident
from typing import Final


class Count(enum.IntEnum):
    """What is counted; FileSystem.Statistics in Hadoop."""

    BYTES_READ = 0
    BYTES_WRITTEN = 1
    READ_OPS = 2
    LARGE_READ_OPS = 3
    WRITE_OPS = 4


_ZEROS: Final = (0,) * len(Count)


class Tally:
    """The counts of one client."""

    def __init__(self) -> None:
        self._cells: dict[int, list[int]] = {}

    def add(self, count: Count, amount: int = 1) -> None:
        """One thread alone writes a cell: the number of a thread is given away again only
        when the thread has ended."""
        number = get_ident()
        cell = self._cells.get(number)
        if cell is None:
            cell = self._cells.setdefault(number, list(_ZEROS))
        cell[count] += amount

    def totals(self) -> tuple[int, ...]:
        """The sums over all threads, in the order of `Count`."""
        return tuple(map(sum, zip(*self._cells.copy().values(), _ZEROS, strict=True)))
