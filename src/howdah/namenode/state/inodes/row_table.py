"""Tables of numbers by id, for what a namespace has millions of (pure; FS-025).

Ids of inodes and blocks only ever grow, and none is used twice. So a row is found
by its id alone: the upper bits name a page, the lower ones a place in it. A page is
one array of 64-bit numbers, row after row, and is dropped with its last row. A
number costs eight bytes, and no dictionary, no object and no visit of the garbage
collector.

A removed row keeps its numbers as long as its page is referenced: a view of an inode
that was just deleted shows it as it was, except its name.

What a page does not save: one row that outlives its neighbours keeps the whole page.
So pages are small.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from howdah.namenode.state.inodes.row_page import Page
from howdah.namenode.state.inodes.sparse_ids import SparseIds
from howdah.native.layout import check_layout
from howdah.native.loader import kernel

SHIFT: Final = 6
"""Bits of an id that say where in its page it is."""
ROWS: Final = 1 << SHIFT
MASK: Final = ROWS - 1

_SET_SHIFT: Final = 12
_SET_MASK: Final = (1 << _SET_SHIFT) - 1
_PART_NUMBERS: Final = 1024
"""Numbers in one piece of a `PairQueue`."""
_FEW: Final = 64
"""So many ids with the same upper bits take less room as numbers than as flags."""
check_layout(ROW_SHIFT=SHIFT, SET_SHIFT=_SET_SHIFT)


class Table:
    """Rows of `width` numbers by id.

    The lowest bit of the number at `mark` in each row says whether the row is there; the
    table's owner keeps its own number above that bit.
    """

    __slots__ = ("_blank", "_mark", "_named", "_width", "count", "pages")

    def __init__(self, width: int, mark: int, *, named: bool = False) -> None:
        self.pages: Final[dict[int, Page]] = {}
        self.count = 0
        """How many rows there are."""
        self._width = width
        self._mark = mark
        self._named = named
        self._blank = bytes(8 * width * ROWS)

    def page_for(self, row_id: int) -> Page:
        """The page for a row that is about to be written."""
        page = self.pages.get(row_id >> SHIFT)
        if page is None:
            page = self.pages[row_id >> SHIFT] = self.new_page()
        return page

    def new_page(self) -> Page:
        page = Page("q", self._blank)
        page.live = 0
        if self._named:
            page.names = [""] * ROWS
        return page

    def added(self, page: Page, count: int = 1) -> None:
        """So many rows were written to a page of the table."""
        page.live += count
        self.count += count

    def fill(self, ids: Sequence[int], rows: array[int], names: Sequence[str] = ()) -> None:
        """Add many rows, which follow each other in `rows`, with their marks. Raises KeyError
        with an id that is there already; some of what came before it was added."""
        width, mark = self._width, self._mark
        assert len(rows) == width * len(ids)
        assert len(names) == (len(ids) if self._named else 0)
        begin = 0
        while begin < len(ids):
            row_id = ids[begin]
            page = self.page_for(row_id)
            end = _end_of_run(ids, begin)
            at, until = (row_id & MASK) * width, (ids[end - 1] & MASK) * width + width
            if page.live:
                for place, number in enumerate(page[at + mark : until : width]):
                    if number & 1:
                        raise KeyError(row_id + place)
            page[at:until] = rows[begin * width : end * width]
            if self._named:
                page.names[row_id & MASK : (row_id & MASK) + end - begin] = names[begin:end]
            self.added(page, end - begin)
            begin = end

    def copy_rows(self, ids: array[int]) -> array[int]:
        """Copies of many rows, one after the other. Raises KeyError for an id that has no page."""
        rows = array("q")
        native = kernel()
        if native is not None:
            rows.frombytes(native.take_rows(self.pages, ids, SHIFT, self._width))
            return rows
        width, pages = self._width, self.pages
        for row_id in ids:
            at = (row_id & MASK) * width
            rows += pages[row_id >> SHIFT][at : at + width]
        return rows

    def remove(self, row_id: int) -> bool:
        """Take the row away; False if it is not there."""
        page = self.pages.get(row_id >> SHIFT)
        at = (row_id & MASK) * self._width + self._mark
        if page is None or not page[at] & 1:
            return False
        page[at] -= 1
        if self._named:
            page.names[row_id & MASK] = ""
        page.live -= 1
        self.count -= 1
        if not page.live:
            del self.pages[row_id >> SHIFT]
        return True

    def __contains__(self, row_id: int) -> bool:
        page = self.pages.get(row_id >> SHIFT)
        return page is not None and bool(page[(row_id & MASK) * self._width + self._mark] & 1)

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[int]:
        """The ids, page by page; rows may come and go meanwhile."""
        for number in list(self.pages):
            page = self.pages.get(number)
            if page is not None:
                marks = page[self._mark :: self._width]
                first = number << SHIFT
                yield from [first + place for place, mark in enumerate(marks) if mark & 1]


def _end_of_run(ids: Sequence[int], begin: int) -> int:
    """How far from that place on each id is one more than the one before it, and on its page: so
    are most in images."""
    following = ids[begin] + 1
    most = min(len(ids), begin + ROWS - (ids[begin] & MASK))
    end = begin + 1
    while end < most and ids[end] == following:
        end += 1
        following += 1
    return end


class PairQueue:
    """Pairs of unsigned 64-bit numbers, first in, first out, at 16 bytes each."""

    __slots__ = ("_at", "_count", "_parts")

    def __init__(self) -> None:
        self._parts: deque[array[int]] = deque()
        self._at = 0
        self._count = 0

    def add(self, first: int, second: int) -> None:
        if not self._parts or len(self._parts[-1]) == _PART_NUMBERS:
            self._parts.append(array("Q"))
        self._parts[-1].extend((first, second))
        self._count += 1

    def extend(self, pairs: array[int]) -> None:
        """Add the pairs whose numbers, unsigned ones of 64 bits, follow each other."""
        at = 0
        while at < len(pairs):
            if not self._parts or len(self._parts[-1]) == _PART_NUMBERS:
                self._parts.append(array("Q"))
            last = self._parts[-1]
            room = _PART_NUMBERS - len(last)
            last.extend(pairs[at : at + room])
            at += room
        self._count += len(pairs) // 2

    def pop(self) -> tuple[int, int]:
        """The oldest. Raises IndexError if there is none."""
        part, at = self._parts[0], self._at
        self._at += 2
        if self._at == len(part):
            self._parts.popleft()
            self._at = 0
        self._count -= 1
        return part[at], part[at + 1]

    def clear(self) -> None:
        self._parts.clear()
        self._at = self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[tuple[int, int]]:
        begin = self._at
        for part in self._parts:
            yield from zip(part[begin::2], part[begin + 1 :: 2], strict=True)
            begin = 0


class IdSet:
    """A set of ids at two bytes each, where they lie close together.

    The lower halves of those that share the upper bits are one sorted array. Ids below zero, of
    internal blocks of groups, lie far apart, and are in a set of their own.
    """

    __slots__ = ("_below", "_count", "_parts")

    def __init__(self, ids: Iterable[int] = ()) -> None:
        self._parts: dict[int, array[int]] = {}
        self._below = SparseIds()
        self._count = 0
        """Of those that are not below zero."""
        for number in ids:
            self.add(number)

    def add(self, number: int) -> None:
        if number < 0:
            self._below.add(number)
            return
        low = number & _SET_MASK
        part = self._parts.get(number >> _SET_SHIFT)
        if part is None:
            self._parts[number >> _SET_SHIFT] = array("H", (low,))
        elif low > part[-1]:
            part.append(low)
        else:
            place = bisect_left(part, low)
            if part[place] == low:
                return
            part.insert(place, low)
        self._count += 1

    def update(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self.add(number)

    def discard(self, number: int) -> None:
        if number < 0:
            self._below.discard(number)
            return
        low = number & _SET_MASK
        part = self._parts.get(number >> _SET_SHIFT)
        if part is None:
            return
        place = bisect_left(part, low)
        if place == len(part) or part[place] != low:
            return
        self._count -= 1
        if len(part) == 1:
            del self._parts[number >> _SET_SHIFT]
        else:
            del part[place]

    def remaining(self) -> Remaining:
        """What is in it now, to be crossed out."""
        parts = {upper: part[:] for upper, part in self._parts.items()}
        return Remaining(parts, self._below.copy())

    def __contains__(self, number: object) -> bool:
        assert isinstance(number, int), number
        if number < 0:
            return number in self._below
        part = self._parts.get(number >> _SET_SHIFT)
        if part is None:
            return False
        low = number & _SET_MASK
        place = bisect_left(part, low)
        return place < len(part) and part[place] == low

    def __len__(self) -> int:
        return self._count + len(self._below)

    def all_from(self, position: int) -> Iterator[int]:
        """All of them as `__iter__` gives them, but those before `position` at the end."""
        if position >= self._count:
            yield from self._below.all_from(position - self._count)
            for upper, part in list(self._parts.items()):
                first = upper << _SET_SHIFT
                yield from [first + low for low in part]
            return
        parts = list(self._parts.items())
        turn = 0
        while turn < len(parts) and position >= len(parts[turn][1]):
            position -= len(parts[turn][1])
            turn += 1
        late: list[int] = []
        is_first = True
        for upper, part in parts[turn:]:
            first = upper << _SET_SHIFT
            ids = [first + low for low in part]
            if is_first:
                late = ids[:position]
                ids = ids[position:]
                is_first = False
            yield from ids
        yield from self._below
        for upper, part in parts[:turn]:
            first = upper << _SET_SHIFT
            yield from [first + low for low in part]
        yield from late

    def __iter__(self) -> Iterator[int]:
        """In no order, and as of when each part is reached: it may change meanwhile."""
        for upper, part in list(self._parts.items()):
            first = upper << _SET_SHIFT
            yield from [first + low for low in part]
        yield from self._below


class Remaining:
    """Ids that are crossed out one by one, in any order, until some remain.

    Those that lie together become flags, a byte each, when the first of them is crossed out.
    Where few do, as on each of many datanodes, they stay as they are.
    """

    __slots__ = ("_below", "parts", "touched")

    def __init__(self, parts: dict[int, array[int]], below: SparseIds) -> None:
        self.parts: Final = parts
        """The lower halves of ids, by the upper ones, without those that are crossed out."""
        self.touched: Final[dict[int, bytearray]] = {}
        """Of the others: which of them remain. The kernel crosses out here, too."""
        self._below = below

    def add(self, number: int) -> None:
        if number < 0:
            self._below.add(number)
            return
        upper = number >> _SET_SHIFT
        flags = self.touched.get(upper)
        if flags is None:
            flags = self.touched[upper] = _flags(self.parts.pop(upper, ()))
        flags[number & _SET_MASK] = 1

    def cross_out(self, number: int) -> None:
        if number < 0:
            self._below.discard(number)
            return
        upper = number >> _SET_SHIFT
        flags = self.touched.get(upper)
        if flags is None:
            part = self.parts.get(upper)
            if part is None:
                return
            if len(part) <= _FEW:
                _discard(part, number & _SET_MASK)
                return
            del self.parts[upper]
            flags = self.touched[upper] = _flags(part)
        flags[number & _SET_MASK] = 0

    def __iter__(self) -> Iterator[int]:
        for upper, flags in self.touched.items():
            first = upper << _SET_SHIFT
            low = flags.find(1)
            while low >= 0:
                yield first + low
                low = flags.find(1, low + 1)
        for upper, part in self.parts.items():
            first = upper << _SET_SHIFT
            yield from [first + low for low in part]
        yield from self._below


def _discard(lows: array[int], low: int) -> None:
    place = bisect_left(lows, low)
    if place < len(lows) and lows[place] == low:
        del lows[place]


def _flags(lows: Iterable[int]) -> bytearray:
    flags = bytearray(_SET_MASK + 1)
    for low in lows:
        flags[low] = 1
    return flags
