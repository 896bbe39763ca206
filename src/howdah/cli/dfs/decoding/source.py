"""Bytes that are decoded one part after the other (pure)."""

from __future__ import annotations

from typing import Final, Protocol

_PIECE_BYTES: Final = 1 << 20
"""What is read at once: a damaged length may be any number."""


class Damaged(Exception):
    """The bytes are not what their format says; the message says what is wrong."""


class Readable(Protocol):
    """What is read."""

    def read(self, count: int, /) -> bytes: ...


class Source:
    """Numbers, and so many bytes, from what can be read."""

    def __init__(self, stream: Readable) -> None:
        self._stream = stream

    def some(self, count: int) -> bytes:
        """Up to so many bytes; fewer only at the end."""
        pieces = []
        while count > 0 and (piece := self._stream.read(min(count, _PIECE_BYTES))):
            pieces.append(piece)
            count -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def exactly(self, count: int) -> bytes:
        """So many bytes. Raises `Damaged`."""
        if count < 0:
            raise Damaged(f"{count} bytes can't be")
        data = self.some(count)
        if len(data) != count:
            raise Damaged("it ends too early")
        return data

    def number(self) -> int:
        """A signed number of four bytes."""
        return int.from_bytes(self.exactly(4), "big", signed=True)

    def number_or_end(self) -> int | None:
        """The same; None at the end."""
        data = self.some(4)
        if not data:
            return None
        if len(data) != 4:
            raise Damaged("it ends too early")
        return int.from_bytes(data, "big", signed=True)

    def vint(self) -> int:
        """A number in Hadoop's format of one to nine bytes (WritableUtils.readVLong)."""
        first = int.from_bytes(self.exactly(1), "big", signed=True)
        if first >= -112:
            return first
        negative = first < -120
        value = int.from_bytes(self.exactly(-120 - first if negative else -112 - first), "big")
        return ~value if negative else value

    def text(self) -> str:
        """A string behind its length (Text.readString)."""
        return self.exactly(self.vint()).decode("utf-8", "replace")
