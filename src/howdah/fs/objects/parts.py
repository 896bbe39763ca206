"""How large parts are, and the bytes of one (pure).

A store takes at most `MAX_PARTS` parts of an object, each but the last of at least
`MIN_PART_BYTES`. Who writes a stream does not know its length, so parts keep their size for
the first tenth of the numbers, and double for each further tenth: with parts of 64 MiB a
file may grow beyond what a store takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

MAX_PARTS: Final = 10_000
MIN_PART_BYTES: Final = 5 << 20
MAX_PART_BYTES: Final = 5 << 30
MAX_OBJECT_BYTES: Final = 5 << 40
MAX_COPY_BYTES: Final = 5 << 30
"""What is larger is copied in parts."""
_STEP: Final = 1000
_SHORT_BYTES: Final = 64 << 10
_PIECE_BYTES: Final = 1 << 20


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


class Pieces:
    """Bytes of a part in the order in which they are written.

    `bytes` change no more, so those of some length are kept as they are; whatever else is copied,
    and so is a small piece of a large object, which would be kept with it. To copy all into one
    buffer for a part took 0.7 s/GB, nearly all of it for memory that is touched for the first
    time.
    """

    __slots__ = ("_length", "_open", "_pieces")

    def __init__(self) -> None:
        self._pieces: list[bytes | bytearray | memoryview] = []
        self._open: bytearray | None = None
        """The last piece, if what is short goes there."""
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[bytes | bytearray | memoryview]:
        return iter(self._pieces)

    def add(self, view: memoryview) -> None:
        owner = view.obj
        if len(view) < _SHORT_BYTES:
            self._copy(view)
        elif type(owner) is bytes and len(view) * 2 >= len(owner):
            self._open = None
            self._pieces.append(owner if len(view) == len(owner) else view[:])
        else:
            for start in range(0, len(view), _PIECE_BYTES):
                self._copy(view[start : start + _PIECE_BYTES])
        self._length += len(view)

    def _copy(self, view: memoryview) -> None:
        if self._open is None or len(self._open) + len(view) > _PIECE_BYTES:
            self._open = bytearray()
            self._pieces.append(self._open)
        self._open += view

    def joined(self) -> bytes | bytearray:
        """All of it in one buffer, which is not to be changed.

        >>> pieces = Pieces()
        >>> pieces.add(memoryview(b"ab")); pieces.add(memoryview(b"c"))
        >>> len(pieces), bytes(pieces.joined())
        (3, b'abc')
        """
        if len(self._pieces) == 1 and not isinstance(self._pieces[0], memoryview):
            return self._pieces[0]
        return b"".join(self._pieces)
