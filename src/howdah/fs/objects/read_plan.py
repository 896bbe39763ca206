"""What to ask a store for when a reader wants bytes (pure).

Two manners. *Straight on*: one answer up to the end of the object, read as it is wanted; so
it begins. *At random*: as many bytes as are wanted, at least `readahead_bytes`. A move that is
not a short one forward leads to the second; who then reads on where an answer ended gets
twice as much each time, and is straight on again when that is `STRAIGHT_AGAIN_BYTES`. Who says
how a file is read has it so, whatever moves there are.

A file is opened with its bytes, or with a look at it: see `Openings`.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Final

STRAIGHT_AGAIN_BYTES: Final = 8 << 20


class Manner(enum.Enum):
    """How a file is said to be read."""

    LEARNT = "learnt"
    STRAIGHT = "straight on"
    RANDOM = "at random"


@dataclass(slots=True)
class ReadPlan:
    """The manner of one reader of an object of `length` bytes."""

    length: int
    readahead_bytes: int
    manner: Manner = Manner.LEARNT
    is_straight: bool = field(default=True, init=False)
    moves: int = 0
    """Moves that were no short ones forward."""
    _window: int = field(default=0, init=False)
    _ended_at: int = field(default=-1, init=False)

    def __post_init__(self) -> None:
        self.is_straight = self.manner is not Manner.RANDOM
        self._window = self.readahead_bytes

    def skip(self, ahead: int) -> bool:
        """Whether the bytes up to a position `ahead` of the answer are read over; otherwise
        the answer is of no use, and was one too many."""
        if 0 <= ahead <= self.readahead_bytes:
            return True
        self.moves += 1
        if self.manner is Manner.LEARNT:
            self.is_straight = False
        self._window = self.readahead_bytes
        return False

    def end_of(self, start: int, wanted: int) -> int:
        """Up to where the next answer is to go, if it begins at `start`."""
        if not self.is_straight:
            if start == self._ended_at and self.manner is Manner.LEARNT:
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


FEW_BYTES: Final = 64 << 10
"""A file of no more is read when it is opened."""
MOST_WAITING: Final = 16
"""Answers that nobody has read from yet, each of which has a connection."""
WAIT_S: Final = 10.0
"""What waited for longer is asked for again: a store may have let go of it."""


class Openings:
    """Whether the files of a filesystem are opened with all their bytes, in one request, or with
    a look at them, and the bytes by a second one.

    Of a small file the bytes come with the opening, and are had. The answer with a large one's
    waits for who reads straight on, and costs whoever goes elsewhere its connection: so large
    files are opened with their bytes if the last one was read so, or was small. Where it is said
    that files are read at random, or too many answers wait, it is a look.
    """

    def __init__(self, manner: Manner) -> None:
        self._manner = manner
        self._went_straight = True
        self._waiting: set[int] = set()

    @property
    def takes_bytes(self) -> bool:
        if self._manner is Manner.RANDOM or len(self._waiting) >= MOST_WAITING:
            return False
        return self._went_straight or self._manner is Manner.STRAIGHT

    def learn(self, *, is_straight: bool) -> None:
        """A large file is read from its beginning on, or not; or a small one was looked at."""
        self._went_straight = is_straight

    # One step each: for any thread, and a destructor.

    def waits(self, reader: object) -> None:
        self._waiting.add(id(reader))

    def waits_no_more(self, reader: object) -> None:
        self._waiting.discard(id(reader))
