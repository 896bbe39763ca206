"""How the kernel's reads of one open file become reads of the filesystem (pure).

The kernel reads ahead in several requests at once, whose order threads may change, and the
filesystem is quickest if one stream reads on. So requests that belong to one reading take their
bytes from a stream, each as many as it wants, and go to the kernel beside each other. Rules:

1. A request at the place where the stream is, reads on.
2. One that begins a little behind that place came too early: what is between is read as well, and
   held for those that come late.
3. What is held is served from memory. It is dropped when the stream is further than twice what
   counts as little.
4. Any other request is read by itself (`pread`). If the next one continues it, the stream goes
   there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

REACH_BYTES: Final = 2 << 20
"""A request so far behind the stream's place still belongs to its reading."""
MOST_HELD: Final = 3
"""So many times its reach a reading holds at most."""


@dataclass(frozen=True, slots=True)
class ReadOn:
    """Take `held_bytes` from what is held. Then read `early_bytes` to hold them, and the rest of
    the request behind them. With `moves_to` the stream goes there before, and nothing is held."""

    held_bytes: int = 0
    early_bytes: int = 0
    moves_to: int | None = None


@dataclass(frozen=True, slots=True)
class ReadAlone:
    """Read what is asked for, and leave the stream where it is."""


Plan = ReadOn | ReadAlone


class Reading:
    """Where the stream is, and which bytes before that place are held."""

    def __init__(self) -> None:
        self.place = 0
        self._reach_bytes = REACH_BYTES
        self._held: list[tuple[int, int]] = []
        """Parts in order, from begin to end, which do not touch: each was read by itself."""
        self._last_alone_end = -1
        self._is_new = True

    @property
    def held(self) -> list[tuple[int, int]]:
        """Begin and end of each part that is held."""
        return list(self._held)

    def plan(self, offset: int, size: int, reach_bytes: int = REACH_BYTES) -> Plan:
        """What to do for a request of bytes that are all within the file."""
        self._reach_bytes = reach_bytes
        end = offset + size
        if offset < self.place:
            if self._holds(offset, min(end, self.place)):
                return ReadOn(held_bytes=min(size, self.place - offset))
        elif not self._is_new and offset <= self.place + reach_bytes:
            return ReadOn(early_bytes=offset - self.place)
        if offset == self._last_alone_end or (self._is_new and offset == 0):
            return ReadOn(moves_to=offset)
        self._last_alone_end = end
        return ReadAlone()

    def _holds(self, begin: int, end: int) -> bool:
        """Whether all of it is held, in one part or in several that follow each other."""
        for part_begin, part_end in self._held:
            if part_begin <= begin < part_end:
                begin = part_end
            if begin >= end:
                return True
        return False

    def moved(self, place: int) -> None:
        """The stream has gone somewhere else."""
        self._held.clear()
        self.place, self._is_new = place, False

    def held_on(self, count: int) -> None:
        """`count` bytes were read from the stream's place, to be held."""
        if count:
            self._held.append((self.place, self.place + count))
        self.read_on(count)

    def read_on(self, count: int) -> None:
        """`count` bytes were read from the stream's place."""
        self.place += count
        oldest = self.place - (MOST_HELD - 1) * self._reach_bytes
        while self._held and self._held[0][1] <= oldest:
            del self._held[0]

    def forget(self) -> None:
        """Nobody knows where the stream is, and nothing is held any more."""
        self._held.clear()
        self.place = 0
        self._is_new = True
        self._last_alone_end = -1
