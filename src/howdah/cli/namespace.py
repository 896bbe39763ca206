"""`howdah namespace`: what is in a filesystem, or in an image of it, by Spark.

Reports on a terminal, as JSON, or as one HTML page; the whole table as Parquet.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from howdah import errors
from howdah.cli.arguments.parser import Arguments
from howdah.cli.spark_options import add_options, add_tasks, check_default, session_of
from howdah.cli.usage_page import now_ms, shown_cell, usage_page, write_page

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
    "days",
    "orphans",
    "savings",
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
                    page = usage_page(rows, options.where, depth=options.depth, top=options.top)
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
            return reports.ages(rows, now_ms())
        case "owners":
            return reports.owners(rows)
        case "sizes":
            return reports.sizes(rows)
        case "quotas":
            return reports.quotas(rows)
        case "days":
            return reports.by_day(rows)
        case "orphans":
            return reports.orphans(rows, now_ms())
        case "savings":
            return reports.coding_savings(rows, now_ms(), depth=options.depth)
        case "growth":
            from howdah.spark.usage_report.job import namespace

            before = namespace(spark, options.before, most_tasks=options.m, conf=conf)
            return reports.growth(before, rows, options.depth)
        case _:
            from howdah.copy.common.filesystems import Place, behind_view, located

            where = located(behind_view(options.where, conf, None))
            return reports.duplicates(rows, Place.of(where, conf, None))


def _limited_rows(frame: DataFrame, options: argparse.Namespace) -> list[dict[str, Any]]:
    return [row.asDict() for row in frame.limit(options.top).collect()]


def _print_table(name: str, table: Sequence[dict[str, Any]]) -> None:
    print(f"{name.replace('-', ' ').capitalize()}:")
    if not table:
        print("  (nothing)\n")
        return
    headings = list(table[0])
    lines = [headings, *([shown_cell(key, row[key]) for key in headings] for row in table)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headings))]
    for line in lines:
        cells = zip(line, widths, headings, strict=True)
        shown = (
            text.ljust(width) if key in ("path", "owner", "paths") else text.rjust(width)
            for text, width, key in cells
        )
        print("  " + "  ".join(shown).rstrip())
    print()
