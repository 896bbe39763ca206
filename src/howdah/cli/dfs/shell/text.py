"""How FsShell writes sizes, dates, listings and tables (pure).

Column widths, separators and rounding are Hadoop's to the blank, because people
cut these lines apart in scripts.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, tzinfo
from decimal import ROUND_HALF_UP, Decimal
from typing import Literal

from howdah.runtime.units import human_size

_CYCLE_S = 146_097 * 86_400
"""400 years of the Gregorian calendar."""
_FIRST_S, _END_S = -62_135_510_400, 253_402_214_400
"""A day within the years 1 to 9999, so that any zone's time has such a year, too."""


def size_text(size: int, human: bool) -> str:
    """A size in bytes, or with a prefix if `human`."""
    return human_size(size) if human else str(size)


def percent(part: int, whole: int) -> str:
    """A share without decimals, halves upwards: `5%`."""
    if whole <= 0:
        return "0%"
    share = Decimal(part) * 100 / Decimal(whole)
    return f"{share.quantize(Decimal(1), rounding=ROUND_HALF_UP)}%"


def minute(time_ms: int, zone: tzinfo | None = None) -> str:
    """`2026-11-21 00:10`, in the local zone unless one is given."""
    moment, year = _local_time(time_ms, zone)
    return f"{year:04}-{moment:%m-%d %H:%M}"


def utc_second(time_ms: int) -> str:
    """`2026-11-21 00:10:22` in UTC."""
    moment, year = _local_time(time_ms, UTC)
    return f"{year:04}-{moment:%m-%d %H:%M:%S}"


def _local_time(time_ms: int, zone: tzinfo | None) -> tuple[datetime, int]:
    """A time and its year. Java's long goes beyond the years that a datetime has: the day is
    then looked up in 1970 to 2369, since the calendar repeats every 400 years."""
    time_s = time_ms // 1000
    cycles = 0
    if not _FIRST_S <= time_s < _END_S:
        cycles, time_s = divmod(time_s, _CYCLE_S)
    moment = datetime.fromtimestamp(time_s, zone)
    return moment, moment.year + 400 * cycles


def printable(name: str) -> str:
    """The name with `?` for every character that a terminal would not just draw."""
    return "".join("?" if _is_control(char) else char for char in name)


def _is_control(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn")


class Table:
    """Rows whose columns are as wide as their widest cell, two blanks between them.

    The last column is never padded when it is left-aligned.
    """

    __slots__ = ("_align", "_header", "_rows")

    def __init__(self, align: Sequence[Literal["left", "right"]]) -> None:
        self._align = align
        self._header: tuple[str, ...] | None = None
        self._rows: list[tuple[str, ...]] = []

    def header(self, *cells: str) -> None:
        """Show these names above the columns, should there be any row."""
        self._header = cells

    def row(self, *cells: str) -> None:
        """Add a row."""
        self._rows.append(cells)

    def lines(self) -> Iterable[str]:
        """The table as lines; none without a row."""
        if not self._rows:
            return
        rows = self._rows if self._header is None else [self._header, *self._rows]
        widths = [max(len(row[column]) for row in rows) for column in range(len(self._align))]
        for row in rows:
            cells = [
                cell.rjust(width) if align == "right" else cell.ljust(width)
                for cell, width, align in zip(row, widths, self._align, strict=True)
            ]
            if self._align[-1] == "left":
                cells[-1] = row[-1]
            yield "  ".join(cells)
