"""What to ask a store for when a reader wants bytes (pure).

Two manners. *Straight on*: one answer up to the end of the object, read as it is wanted; so
it begins. *At random*: as many bytes as are wanted, at least `readahead_bytes`. A move that is
not a short one forward leads to the second; who then reads on where an answer ended gets
twice as much each time, and is straight on again when that is `STRAIGHT_AGAIN_BYTES`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

STRAIGHT_AGAIN_BYTES: Final = 8 << 20


@dataclass(slots=True)
class ReadPlan:
    """The manner of one reader of an object of `length` bytes."""

    length: int
    readahead_bytes: int
    is_straight: bool = True
    moves: int = 0
    """Moves that were no short ones forward."""
    _window: int = field(default=0, init=False)
    _ended_at: int = field(default=-1, init=False)

    def skip(self, ahead: int) -> bool:
        """Whether the bytes up to a position `ahead` of the answer are read over; otherwise
        the answer is of no use, and was one too many."""
        if 0 <= ahead <= self.readahead_bytes:
            return True
        self.moves += 1
        self.is_straight = False
        self._window = self.readahead_bytes
        return False

    def end_of(self, start: int, wanted: int) -> int:
        """Up to where the next answer is to go, if it begins at `start`."""
        if not self.is_straight:
            if start == self._ended_at:
                self._window = min(self._window * 2, STRAIGHT_AGAIN_BYTES)
                self.is_straight = self._window >= STRAIGHT_AGAIN_BYTES
            else:
                self._window = self.readahead_bytes
        if self.is_straight:
            end = self.length
        else:
            end = min(start + max(wanted, self._window), self.length)
        self._ended_at = end
        return end
