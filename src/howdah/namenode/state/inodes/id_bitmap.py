"""Sets of ids at a bit each, where they lie close together (pure).

After a start whose datanodes are not there every block of the namespace is missing: so what
lists blocks in some state has to hold ten million of them. A Python set and its numbers take
sixty bytes for each, and the sorted halves of `columns.IdSet` two, with a search and a move
for every change. Here the ids that share their upper bits are the bits of one piece of 512
bytes, which is dropped with its last id.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

_SHIFT: Final = 12
_MASK: Final = (1 << _SHIFT) - 1
_BLANK: Final = bytes(1 << _SHIFT - 3)
_PLACES: Final = [[place for place in range(8) if byte >> place & 1] for byte in range(256)]
"""Of each byte, which of its bits are there."""


class IdBitmap:
    """A set of ids.

    >>> ids = IdBitmap()
    >>> ids.add(7)
    >>> ids.add(3)
    >>> 7 in ids, 8 in ids, len(ids), list(ids)
    (True, False, 2, [3, 7])
    """

    __slots__ = ("_parts", "count")

    def __init__(self) -> None:
        self._parts: Final[dict[int, bytearray]] = {}
        self.count = 0
        """How many there are."""

    def add(self, number: int) -> None:
        part = self._parts.get(number >> _SHIFT)
        if part is None:
            part = self._parts[number >> _SHIFT] = bytearray(_BLANK)
        at, bit = (number & _MASK) >> 3, 1 << (number & 7)
        if not part[at] & bit:
            part[at] |= bit
            self.count += 1

    def discard(self, number: int) -> None:
        part = self._parts.get(number >> _SHIFT)
        if part is None:
            return
        at, bit = (number & _MASK) >> 3, 1 << (number & 7)
        if part[at] & bit:
            part[at] ^= bit
            self.count -= 1
            if not part[at] and part == _BLANK:
                del self._parts[number >> _SHIFT]

    @property
    def count_below_zero(self) -> int:
        """Return how many of them are below zero: block groups."""
        return sum(
            int.from_bytes(part, "little").bit_count()
            for upper, part in self._parts.items()
            if upper < 0
        )

    def __contains__(self, number: object) -> bool:
        if not self.count:
            return False
        assert isinstance(number, int), number
        part = self._parts.get(number >> _SHIFT)
        return part is not None and bool(part[(number & _MASK) >> 3] >> (number & 7) & 1)

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[int]:
        """In their order, and as of when each piece is reached: it may change meanwhile."""
        for upper in sorted(self._parts):
            first = upper << _SHIFT
            yield from [
                first + (at << 3) + place
                for at, byte in enumerate(self._parts.get(upper, b""))
                if byte
                for place in _PLACES[byte]
            ]
