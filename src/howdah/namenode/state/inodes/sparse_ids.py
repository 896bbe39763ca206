"""Sets of ids that lie far apart, at some four bytes each (pure).

The internal blocks of groups on one storage: ids of groups are 16 apart, and of the groups of a
cluster a storage has blocks of few. Ids that lie close together have other sets (`row_table.IdSet`,
`id_bitmap`), which would take up to a hundred bytes for each of these.

The ids are in sorted runs. A run is its first id and an array of how far from that one its ids are.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Final

_MOST: Final = 1024
"""So many ids are in one run at most."""
_FEW: Final = 128
"""A run with fewer joins its neighbour, if there is room."""
_MOST_DISTANCE: Final = (1 << 32) - 1
_LOWEST: Final = -(1 << 63)


class SparseIds:
    """A set of ids of 64 bits.

    >>> ids = SparseIds()
    >>> ids.add(-16)
    >>> ids.add(-48)
    >>> -16 in ids, -32 in ids, len(ids), list(ids)
    (True, False, 2, [-48, -16])
    """

    __slots__ = ("_count", "_firsts", "_runs")

    def __init__(self) -> None:
        self._firsts = array("q")
        self._runs: list[array[int]] = []
        self._count = 0

    def _position(self, number: int) -> tuple[int, int]:
        """Which run has the id, or would, and where in it; -1 for the place before all runs."""
        turn = bisect_right(self._firsts, number) - 1
        if turn < 0:
            return -1, 0
        distance = number - self._firsts[turn]
        run = self._runs[turn]
        return turn, bisect_left(run, distance) if distance <= _MOST_DISTANCE else len(run)

    def _has(self, turn: int, place: int, number: int) -> bool:
        if turn < 0:
            return False
        run = self._runs[turn]
        return place < len(run) and run[place] == number - self._firsts[turn]

    def add(self, number: int) -> bool:
        """Returns whether it was not there."""
        turn, place = self._position(number)
        if self._has(turn, place, number):
            return False
        self._count += 1
        if turn < 0 or number - self._firsts[turn] > _MOST_DISTANCE:
            self._insert_run(turn + 1, number, array("I", (0,)))
            return True
        run = self._runs[turn]
        if len(run) == _MOST:
            if place == _MOST:
                # As ids of new groups are: what is full stays full.
                self._insert_run(turn + 1, number, array("I", (0,)))
                return True
            self._split(turn)
            turn, place = self._position(number)
        self._runs[turn].insert(place, number - self._firsts[turn])
        return True

    def _insert_run(self, turn: int, first: int, run: array[int]) -> None:
        self._firsts.insert(turn, first)
        self._runs.insert(turn, run)

    def _split(self, turn: int) -> None:
        run = self._runs[turn]
        half = len(run) // 2
        begin = run[half]
        upper = array("I", [distance - begin for distance in run[half:]])
        del run[half:]
        self._insert_run(turn + 1, self._firsts[turn] + begin, upper)

    def discard(self, number: int) -> bool:
        """Returns whether it was there."""
        turn, place = self._position(number)
        if not self._has(turn, place, number):
            return False
        self._count -= 1
        run = self._runs[turn]
        del run[place]
        if not run:
            del self._runs[turn]
            del self._firsts[turn]
        elif len(run) < _FEW:
            self._join(turn)
        return True

    def _join(self, turn: int) -> None:
        """Put a run and the next one together, if that is possible; else with the one before."""
        lower = turn if turn + 1 < len(self._runs) else turn - 1
        if lower < 0:
            return
        first, following = self._firsts[lower], self._firsts[lower + 1]
        run, other = self._runs[lower], self._runs[lower + 1]
        begin = following - first
        if len(run) + len(other) <= _MOST // 2 and begin + other[-1] <= _MOST_DISTANCE:
            run.extend([begin + distance for distance in other])
            del self._runs[lower + 1]
            del self._firsts[lower + 1]

    def copy(self) -> SparseIds:
        """Return another set with the same ids."""
        other = SparseIds()
        other._firsts = self._firsts[:]
        other._runs = [run[:] for run in self._runs]
        other._count = self._count
        return other

    def __contains__(self, number: object) -> bool:
        assert isinstance(number, int), number
        turn, place = self._position(number)
        return self._has(turn, place, number)

    def __len__(self) -> int:
        return self._count

    def all_from(self, position: int) -> Iterator[int]:
        """Yield all of them in their order, but those before `position` at the end. It may change
        meanwhile: what is there all the time comes at least once."""
        turn = 0
        while turn < len(self._runs) and position >= len(self._runs[turn]):
            position -= len(self._runs[turn])
            turn += 1
        if turn == len(self._runs):
            return
        start = self._firsts[turn] + self._runs[turn][position]
        yield from self._from(start)
        for number in self._from(_LOWEST):
            if number >= start:
                return
            yield number

    def _from(self, number: int) -> Iterator[int]:
        """Yield those from that one on, as of when each run is reached."""
        while ids := self._rest_of_run(number):
            yield from ids
            number = ids[-1] + 1

    def _rest_of_run(self, number: int) -> list[int]:
        """Return those from that one on, up to the end of a run; none if there are no more."""
        turn, place = self._position(number)
        if turn < 0 or place == len(self._runs[turn]):
            turn, place = turn + 1, 0
        if turn == len(self._runs):
            return []
        first = self._firsts[turn]
        return [first + distance for distance in self._runs[turn][place:]]

    def __iter__(self) -> Iterator[int]:
        """In their order; it may change meanwhile."""
        yield from self._from(_LOWEST)
