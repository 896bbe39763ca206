"""The page of `howdah namespace --html` and of `howdah report`, made of the frames of reports."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from howdah import errors
from howdah.fs.paths import printable
from howdah.runtime.units import byte_text
from howdah.spark.usage_report.page import Bar, Table, Used, page

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_BYTES: Final = frozenset(
    (
        *("length", "space", "mean_length", "namenode_bytes", "wasted", "at_least"),
        *("coded_space", "saved"),
    )
)


class PageNotWritten(errors.HowdahError, OSError):
    """The page could not be written, or not to its end."""


def write_page(name: str, page: str) -> None:
    """Raises `PageNotWritten`, also where the file can't be closed."""
    try:
        with open(name, "w", encoding="utf-8") as out:
            out.write(page)
    except OSError as error:
        raise PageNotWritten(f"cannot write {name}: {error.strerror}") from error


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def shown_cell(key: str, value: Any) -> str:
    """A value of a report as people read it."""
    if value is None:
        return "-"
    if key in _BYTES:
        return byte_text(int(value))
    if isinstance(value, list):
        return " ".join(printable(str(item)) for item in value)
    return printable(str(value))


def table_of(title: str, frame: DataFrame, top: int) -> Table:
    """The first rows of a report."""
    found = [row.asDict() for row in frame.limit(top).collect()]
    names = frame.columns
    rows = tuple(tuple(shown_cell(name, row[name]) for name in names) for row in found)
    texts = ("path", "owner", "day", "last_written", "last_read")
    numbers = frozenset(place for place, name in enumerate(names) if name not in texts)
    headings = tuple(name.replace("_", " ") for name in names)
    return Table(title, headings, rows, numbers)


def usage_page(
    rows: DataFrame,
    where: str,
    *,
    depth: int,
    top: int,
    tables: Iterable[Table] = (),
    charts: Iterable[tuple[str, Sequence[Bar]]] = (),
) -> str:
    """The page of a namespace. `tables` and `charts` come behind the usual ones."""
    from howdah.spark import namespace_reports as reports

    below = [row.asDict() for row in reports.directories(rows, depth).limit(500).collect()]
    deepest = max((_depth(row["path"]) for row in below), default=0)
    # Those of one level, so that none contains another.
    level = min(depth, deepest)
    space = [
        Used(row["path"], row["files"], row["length"], row["space"])
        for row in below
        if _depth(row["path"]) == level
    ]
    small = reports.small_files(rows).limit(top).collect()
    by_owner = reports.owners(rows).limit(top).collect()
    ages = reports.ages(rows, now_ms()).collect()
    total = next((row for row in below if row["path"] == "/"), None)
    files, bytes_ = (total["files"], total["space"]) if total else (0, 0)
    return page(
        f"Namespace of {where}",
        f"{files} files, which take {byte_text(bytes_)} with all replicas and parity.",
        space,
        [
            Bar(byte_text(row["at_least"]), row["files"], row["length"])
            for row in reports.sizes(rows).collect()
        ],
        [Bar(_age(row["older_than_days"]), row["files"], row["length"]) for row in ages],
        [
            Table(
                "Directories",
                ("path", "files", "bytes", "space"),
                tuple(
                    (r["path"], str(r["files"]), byte_text(r["length"]), byte_text(r["space"]))
                    for r in below[:top]
                ),
                frozenset((1, 2, 3)),
            ),
            Table(
                "Small files",
                (
                    *("directory", "small files", "mean size", "space", "memory of the namenode"),
                    *("erasure coded", "copies of these"),
                ),
                tuple(
                    (
                        r["path"],
                        str(r["small_files"]),
                        byte_text(r["mean_length"]),
                        byte_text(r["space"]),
                        byte_text(r["namenode_bytes"]),
                        str(r["coded_files"]),
                        shown_cell("coded_copies", r["coded_copies"]),
                    )
                    for r in small
                ),
                frozenset(range(1, 7)),
            ),
            Table(
                "Owners",
                ("owner", "files", "space"),
                tuple((r["owner"], str(r["files"]), byte_text(r["space"])) for r in by_owner),
                frozenset((1, 2)),
            ),
            *tables,
        ],
        charts,
    )


def _depth(path: str) -> int:
    return 0 if path == "/" else path.count("/")


def _age(days: int) -> str:
    return f"{days} days" if days else "used since"
