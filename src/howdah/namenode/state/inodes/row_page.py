"""Pages of tables (pure; see `row_table`, which the compiler takes; it knows no arrays of ours)."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    _Numbers = array[int]
else:  # Until Python 3.12 an array's class has no brackets at run time.
    _Numbers = array


class Page(_Numbers):
    """Rows of signed 64-bit numbers, one after the other. `live` of them are there. `names` is a
    string for each, where the table has such."""

    __slots__ = ("live", "names")

    live: int
    names: list[str]
