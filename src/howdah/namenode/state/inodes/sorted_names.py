"""The names of a directory in order, kept in order while they come and go (pure).

A directory that is listed page by page while others write to it would be sorted anew
for every page: 0.9 s for a million names. So the names stand in pieces of a thousand or
so. To add or remove one is a search for its piece and a move within it, some
microseconds; a page begins with a search, too.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final

PIECE: Final = 1000
"""Names in a piece that is made anew; it is cut in two when it has twice as many."""


def names_after(ordered: Sequence[str], name: str, limit: int) -> tuple[list[str], int]:
    """The same as `SortedNames.after`, of names that are in order already."""
    first = bisect_right(ordered, name) if name else 0
    page = list(ordered[first : first + limit])
    return page, len(ordered) - first - len(page)


class SortedNames:
    """Distinct names, sorted as Python sorts text.

    >>> names = SortedNames(["b", "a", "d"])
    >>> names.add("c")
    >>> names.after("a", 2)
    (['b', 'c'], 1)
    """

    __slots__ = ("_count", "_lasts", "_pieces")

    def __init__(self, names: Iterable[str]) -> None:
        ordered = sorted(names)
        self._count = len(ordered)
        self._pieces = [ordered[at : at + PIECE] for at in range(0, len(ordered), PIECE)]
        self._lasts = [piece[-1] for piece in self._pieces]

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(self._pieces)

    def add(self, name: str) -> None:
        """A name that is not among them."""
        self._count += 1
        if not self._pieces:
            self._pieces, self._lasts = [[name]], [name]
            return
        at = min(bisect_left(self._lasts, name), len(self._lasts) - 1)
        piece = self._pieces[at]
        insort(piece, name)
        self._lasts[at] = piece[-1]
        if len(piece) >= 2 * PIECE:
            self._pieces[at : at + 1] = [piece[:PIECE], piece[PIECE:]]
            self._lasts[at : at + 1] = [piece[PIECE - 1], piece[-1]]

    def remove(self, name: str) -> None:
        """A name that is among them."""
        at = bisect_left(self._lasts, name)
        piece = self._pieces[at]
        place = bisect_left(piece, name)
        assert piece[place] == name, f"{name} is not among the names"
        del piece[place]
        self._count -= 1
        if piece:
            self._lasts[at] = piece[-1]
        else:
            del self._pieces[at]
            del self._lasts[at]

    def after(self, name: str, limit: int) -> tuple[list[str], int]:
        """Up to `limit` names behind `name` (all, if that is empty), and how many follow."""
        first = bisect_right(self._lasts, name) if name else 0
        if first == len(self._pieces):
            return [], 0
        place = bisect_right(self._pieces[first], name) if name else 0
        left = sum(map(len, islice(self._pieces, first, None))) - place
        page = self._pieces[first][place : place + limit]
        for piece in islice(self._pieces, first + 1, None):
            if len(page) >= limit:
                break
            page += piece[: limit - len(page)]
        return page, left - len(page)
