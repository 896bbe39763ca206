"""How the kernel's reads of one open file become reads of the filesystem (pure).

The filesystem is quickest if one stream reads on, and the kernel reads ahead in several requests
at once, which it sends in order. Rules:

1. A request at the place where the stream is, reads on.
2. The first request of all, if it is at the beginning, and one that continues a request that was
   read alone, move the stream to where they begin.
3. Any other request is read alone (`pread`), and leaves the stream where it is.
"""

from __future__ import annotations

from enum import Enum, auto


class Plan(Enum):
    """What to do for a request."""

    READ_ON = auto()
    MOVE = auto()
    """Move the stream to where the request begins, and read on."""
    READ_ALONE = auto()


class Reading:
    """Where the stream of a file is."""

    def __init__(self) -> None:
        self.place: int | None = None
        """None before its first bytes, and when nobody knows."""
        self._last_alone_end = -1

    def plan(self, offset: int, size: int) -> Plan:
        """Say what to do for a request of bytes that are all within the file."""
        if offset == self.place:
            return Plan.READ_ON
        if offset == self._last_alone_end or (self.place is None and offset == 0):
            return Plan.MOVE
        self._last_alone_end = offset + size
        return Plan.READ_ALONE

    def read_on(self, place: int, count: int) -> None:
        """The stream has given `count` bytes from a place."""
        self.place = place + count

    def forget(self) -> None:
        """Nobody knows where the stream is."""
        self.place = None
        self._last_alone_end = -1
