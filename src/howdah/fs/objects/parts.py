"""How large parts are (pure).

A store takes at most `MAX_PARTS` parts of an object, each but the last of at least
`MIN_PART_BYTES`. Who writes a stream does not know its length, so parts keep their size for
the first tenth of the numbers, and double for each further tenth: with parts of 64 MiB a
file may grow beyond what a store takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_PARTS: Final = 10_000
MIN_PART_BYTES: Final = 5 << 20
MAX_PART_BYTES: Final = 5 << 30
MAX_OBJECT_BYTES: Final = 5 << 40
MAX_COPY_BYTES: Final = 5 << 30
"""What is larger is copied in parts."""
_STEP: Final = 1000


def part_bytes(number: int, first_bytes: int) -> int:
    """The size of part `number` (the first is 1) of a stream.

    >>> part_bytes(1, 64 << 20) >> 20, part_bytes(1000, 64 << 20) >> 20
    (64, 64)
    >>> part_bytes(1001, 64 << 20) >> 20, part_bytes(2001, 64 << 20) >> 20
    (128, 256)
    """
    return min(first_bytes << ((number - 1) // _STEP), MAX_PART_BYTES)


@dataclass(frozen=True, slots=True)
class Piece:
    """The bytes from `start` up to before `end`, as part `number`."""

    number: int
    start: int
    end: int


def pieces(length: int, wanted_bytes: int) -> list[Piece]:
    """The parts of an object whose length is known.

    >>> [(p.number, p.start, p.end) for p in pieces(12, 5)]
    [(1, 0, 5), (2, 5, 10), (3, 10, 12)]
    """
    size = max(wanted_bytes, -(-length // MAX_PARTS))
    return [
        Piece(number, start, min(start + size, length))
        for number, start in enumerate(range(0, length, size), 1)
    ]
