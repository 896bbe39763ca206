"""`howdah namespace`: what is in a filesystem, or in an image of it, by Spark.

Reports on a terminal, as JSON, or as one HTML page; the whole table as Parquet.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from howdah import errors
from howdah.cli.arguments.parser import Arguments
from howdah.cli.spark_options import add_options, add_tasks, check_default, session_of
from howdah.fs.paths import printable
from howdah.runtime.units import byte_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from howdah.config import Configuration

REPORTS: Final = (
    "directories",
    "small-files",
    "ages",
    "owners",
    "sizes",
    "quotas",
    "growth",
    "duplicates",
)
_BYTES: Final = frozenset(
    ("length", "space", "mean_length", "namenode_bytes", "wasted", "at_least")
)


def main(argv: list[str], conf: Configuration) -> int:
    """Report; the exit code."""
    options = _arguments().parse_args(argv)
    wanted = list(dict.fromkeys(options.report or ()))
    if "growth" in wanted and options.before is None:
        _arguments().error("--report growth needs --before")
    if options.html is not None and not Path(options.html).parent.is_dir():
        _arguments().error(f"there is no directory for {options.html}")
    if not wanted and options.html is None and options.parquet is None:
        wanted = ["directories", "small-files", "ages", "owners"]
    check_default([options.where, options.before], conf)
    with session_of(options.master, options.remote) as spark:
        from howdah.copy.common.failures import from_spark
        from howdah.copy.common.progress import ProgressLine
        from howdah.spark.usage_report.job import namespace

        on_terminal = sys.stderr.isatty()
        rows = namespace(
            spark, options.where, most_tasks=options.m, conf=conf, shows_progress=on_terminal
        )
        tables: dict[str, list[dict[str, Any]]] = {}
        page = ""
        try:
            with ProgressLine(on_terminal) as shown:
                if options.parquet is not None:
                    shown.set_text(f"writing {options.parquet}")
                    rows.write.parquet(options.parquet)
                for name in wanted:
                    shown.set_text(name)
                    tables[name] = _limited_rows(_report(name, rows, spark, options, conf), options)
                if options.html is not None:
                    shown.set_text("drawing the page")
                    page = _page(rows, options)
        except errors.HowdahError:
            raise
        except Exception as error:
            raise from_spark(error) from error
        finally:
            rows.unpersist()
    if options.html is not None:
        write_page(options.html, page)
    if options.json:
        print(json.dumps(tables, default=str))
        return 0
    for name, table in tables.items():
        _print_table(name, table)
    for written in filter(None, (options.parquet, options.html)):
        print(f"Written to {written}")
    return 0


def _arguments() -> Arguments:
    parser = Arguments(
        prog="howdah namespace", description="Say what is in a filesystem, or in an image."
    )
    parser.add_argument("where", help="a directory's URI or path, or an image's")
    parser.add_argument(
        "--report", action="append", choices=REPORTS, metavar="NAME", help=", ".join(REPORTS)
    )
    parser.add_argument("--top", type=int, default=20, metavar="N", help="rows of a report (20)")
    parser.add_argument(
        "--depth", type=int, default=2, metavar="N", help="of directories in reports (2)"
    )
    parser.add_argument("--before", metavar="IMAGE", help="what to compare with, for growth")
    parser.add_argument("--parquet", metavar="URI", help="write the whole table there")
    parser.add_argument("--html", metavar="FILE", help="write a page with drawings to this file")
    parser.add_argument("--json", action="store_true", help="print the reports as JSON")
    add_tasks(parser)
    add_options(parser)
    return parser


def _report(
    name: str,
    rows: DataFrame,
    spark: SparkSession,
    options: argparse.Namespace,
    conf: Configuration,
) -> DataFrame:
    from howdah.spark import namespace_reports as reports

    match name:
        case "directories":
            return reports.directories(rows, options.depth)
        case "small-files":
            return reports.small_files(rows)
        case "ages":
            return reports.ages(rows, _now_ms())
        case "owners":
            return reports.owners(rows)
        case "sizes":
            return reports.sizes(rows)
        case "quotas":
            return reports.quotas(rows)
        case "growth":
            from howdah.spark.usage_report.job import namespace

            before = namespace(spark, options.before, most_tasks=options.m, conf=conf)
            return reports.growth(before, rows, options.depth)
        case _:
            from howdah.copy.common.filesystems import Place, behind_view, located

            where = located(behind_view(options.where, conf, None))
            return reports.duplicates(rows, Place.of(where, conf, None))


class PageNotWritten(errors.HowdahError, OSError):
    """The page could not be written, or not to its end."""


def write_page(name: str, page: str) -> None:
    """Raises `PageNotWritten`, also where the file can't be closed."""
    try:
        with open(name, "w", encoding="utf-8") as out:
            out.write(page)
    except OSError as error:
        raise PageNotWritten(f"cannot write {name}: {error.strerror}") from error


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _limited_rows(frame: DataFrame, options: argparse.Namespace) -> list[dict[str, Any]]:
    return [row.asDict() for row in frame.limit(options.top).collect()]


def _print_table(name: str, table: Sequence[dict[str, Any]]) -> None:
    print(f"{name.replace('-', ' ').capitalize()}:")
    if not table:
        print("  (nothing)\n")
        return
    headings = list(table[0])
    lines = [headings, *([_cell(key, row[key]) for key in headings] for row in table)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headings))]
    for line in lines:
        cells = zip(line, widths, headings, strict=True)
        shown = (
            text.ljust(width) if key in ("path", "owner", "paths") else text.rjust(width)
            for text, width, key in cells
        )
        print("  " + "  ".join(shown).rstrip())
    print()


def _cell(key: str, value: Any) -> str:
    if value is None:
        return "-"
    if key in _BYTES:
        return byte_text(int(value))
    if isinstance(value, list):
        return " ".join(printable(str(item)) for item in value)
    return printable(str(value))


def _page(rows: DataFrame, options: argparse.Namespace) -> str:
    from howdah.spark import namespace_reports as reports
    from howdah.spark.usage_report.page import Bar, Table, Used, page

    below = [row.asDict() for row in reports.directories(rows, options.depth).limit(500).collect()]
    deepest = max((_depth(row["path"]) for row in below), default=0)
    # Those of one level, so that none contains another.
    level = min(options.depth, deepest)
    space = [
        Used(row["path"], row["files"], row["length"], row["space"])
        for row in below
        if _depth(row["path"]) == level
    ]
    small = reports.small_files(rows).limit(options.top).collect()
    by_owner = reports.owners(rows).limit(options.top).collect()
    ages = reports.ages(rows, _now_ms()).collect()
    total = next((row for row in below if row["path"] == "/"), None)
    files, bytes_ = (total["files"], total["space"]) if total else (0, 0)
    return page(
        f"Namespace of {options.where}",
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
                    for r in below[: options.top]
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
                        _cell("coded_copies", r["coded_copies"]),
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
        ],
    )


def _depth(path: str) -> int:
    return 0 if path == "/" else path.count("/")


def _age(days: int) -> str:
    return f"{days} days" if days else "used since"
