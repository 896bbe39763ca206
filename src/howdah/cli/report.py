"""`howdah report`: one HTML page about what takes the space, what is cold, and what may go; or the
same as JSON.

It is made of the tables of `howdah.spark.register`: the namespace, live or of an image, and the
audit logs, where these are named.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from howdah import errors
from howdah.cli.arguments.parser import Arguments
from howdah.cli.spark_options import add_options, add_tasks, check_default, session_of
from howdah.cli.usage_page import now_ms, table_of, usage_page, write_page

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from howdah.config import Configuration
    from howdah.spark.usage_report.page import Bar

DAYS: Final = 30
_COLUMNS: Final = (
    "path,parent,type,owner,length,replication,block_size,space,blocks,erasure_coding_policy,"
    "modification_time,access_time"
)


def main(argv: list[str], conf: Configuration) -> int:
    """Write the page; the exit code."""
    options = _arguments().parse_args(argv)
    if options.file is None and not options.json:
        _arguments().error("name a file for the page, or give --json")
    if options.file is not None and not Path(options.file).absolute().parent.is_dir():
        _arguments().error(f"there is no directory for {options.file}")
    text, found = "", {}
    check_default([options.where, options.audit], conf)
    with session_of(options.master, options.remote) as spark:
        from howdah.copy.common.failures import from_spark
        from howdah.copy.common.progress import ProgressLine
        from howdah.spark.tables.frames import table

        rows = table(
            spark, "namespace", options.where, conf=conf, columns=_COLUMNS, partitions=options.m
        ).persist()
        try:
            with ProgressLine(sys.stderr.isatty()) as shown:
                shown.set_text("reading the namespace")
                rows.count()
                reports = list(_reports(spark, rows, conf, options.audit, options.depth))
                if options.json:
                    shown.set_text("counting")
                    found = _as_json(rows, reports, options.depth, options.top)
                if options.file is not None:
                    shown.set_text("drawing the page")
                    text = usage_page(
                        rows,
                        options.where,
                        depth=options.depth,
                        top=options.top,
                        tables=[table_of(title, frame, options.top) for _, title, frame in reports],
                        charts=[(f"What was written in the last {DAYS} days", _days(rows))],
                    )
        except errors.HowdahError:
            raise
        except Exception as error:
            raise from_spark(error) from error
        finally:
            rows.unpersist()
    if options.file is not None:
        write_page(options.file, text)
    if options.json:
        print(json.dumps(found, default=str))
    else:
        print(f"Written to {options.file}")
    return 0


def _arguments() -> Arguments:
    parser = Arguments(
        prog="howdah report",
        description="Write a page about the space of a filesystem, or of an image of it.",
    )
    parser.add_argument("where", help="a directory's URI or path, or an image's")
    parser.add_argument("file", nargs="?", help="the page, an HTML file of this machine")
    parser.add_argument("--json", action="store_true", help="print the reports as JSON")
    parser.add_argument(
        "--audit", metavar="PATH", help="audit logs, for directories that nobody reads"
    )
    parser.add_argument("--top", type=int, default=20, metavar="N", help="rows of a table (20)")
    parser.add_argument(
        "--depth", type=int, default=2, metavar="N", help="of directories in tables (2)"
    )
    add_tasks(parser)
    add_options(parser)
    return parser


def _reports(
    spark: SparkSession, rows: DataFrame, conf: Configuration, audit: str | None, depth: int
) -> Iterator[tuple[str, str, DataFrame]]:
    """The names, titles and rows of what a page has besides that of `howdah namespace`."""
    from howdah.spark import namespace_reports as reports
    from howdah.spark.tables.frames import table

    now = now_ms()
    yield "days", "By day and owner", reports.by_day(rows)
    yield "orphans", "Left by killed jobs", reports.orphans(rows, now)
    title = "What erasure coding would save of files not used for 90 days"
    yield "savings", title, reports.coding_savings(rows, now, depth=depth)
    if audit is not None:
        lines = table(
            spark, "audit", audit, conf=conf, columns="time,allowed,cmd,src", malformed="drop"
        )
        yield "coldest", "Not read for longest", reports.coldest(rows, lines, depth)


def _as_json(
    rows: DataFrame, others: list[tuple[str, str, DataFrame]], depth: int, top: int
) -> dict[str, list[dict[str, Any]]]:
    """The first rows of each report, by its name. The ranges of sizes and ages are whole."""
    from howdah.spark import namespace_reports as reports

    frames = {
        "directories": reports.directories(rows, depth).limit(top),
        "small-files": reports.small_files(rows).limit(top),
        "owners": reports.owners(rows).limit(top),
        "sizes": reports.sizes(rows),
        "ages": reports.ages(rows, now_ms()),
        **{name: frame.limit(top) for name, _, frame in others},
    }
    return {name: [row.asDict() for row in frame.collect()] for name, frame in frames.items()}


def _days(rows: DataFrame) -> list[Bar]:
    """The files of the last days, by the day on which they were written."""
    from pyspark.sql import functions as F

    from howdah.spark.usage_report.page import Bar

    today = datetime.now(UTC).date()
    files = rows.where(F.col("type") == "file")
    written = (
        files.groupBy(F.to_date("modification_time").alias("day"))
        .agg(F.count("*").alias("files"), F.sum("length").alias("length"))
        .where(F.col("day") > F.lit(today - timedelta(days=DAYS)))
        .collect()
    )
    by_day = {row["day"]: row for row in written}
    days = [today - timedelta(days=number) for number in reversed(range(DAYS))]
    found = [(day, by_day.get(day)) for day in days]
    return [
        Bar(f"{day:%d}", row["files"] if row else 0, row["length"] if row else 0)
        for day, row in found
    ]
