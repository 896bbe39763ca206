"""`howdah report`: one HTML page about what takes the space, what is cold, and what may go.

It is made of the tables of `howdah.spark.register`: the namespace, live or of an image, and the
audit logs, where these are named.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.cli.arguments.parser import Arguments
from howdah.cli.spark_options import add_options, add_tasks, check_default, session_of
from howdah.cli.usage_page import now_ms, table_of, usage_page, write_page

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from howdah.config import Configuration
    from howdah.spark.usage_report.page import Bar, Table

DAYS: Final = 30
_COLUMNS: Final = (
    "path,parent,type,owner,length,replication,block_size,space,blocks,erasure_coding_policy,"
    "modification_time,access_time"
)


def main(argv: list[str], conf: Configuration) -> int:
    """Write the page; the exit code."""
    options = _arguments().parse_args(argv)
    if not Path(options.file).absolute().parent.is_dir():
        _arguments().error(f"there is no directory for {options.file}")
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
                shown.set_text("drawing the page")
                tables = list(_tables(spark, rows, conf, options.audit, options.depth, options.top))
                charts = [(f"What was written in the last {DAYS} days", _days(rows))]
                text = usage_page(
                    rows,
                    options.where,
                    depth=options.depth,
                    top=options.top,
                    tables=tables,
                    charts=charts,
                )
        except errors.HowdahError:
            raise
        except Exception as error:
            raise from_spark(error) from error
        finally:
            rows.unpersist()
    write_page(options.file, text)
    print(f"Written to {options.file}")
    return 0


def _arguments() -> Arguments:
    parser = Arguments(
        prog="howdah report",
        description="Write a page about the space of a filesystem, or of an image of it.",
    )
    parser.add_argument("where", help="a directory's URI or path, or an image's")
    parser.add_argument("file", help="the page, an HTML file of this machine")
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


def _tables(
    spark: SparkSession,
    rows: DataFrame,
    conf: Configuration,
    audit: str | None,
    depth: int,
    top: int,
) -> list[Table]:
    from howdah.spark import namespace_reports as reports
    from howdah.spark.tables.frames import table

    now = now_ms()
    found = [
        table_of("By day and owner", reports.by_day(rows), top),
        table_of("Left by killed jobs", reports.orphans(rows, now), top),
        table_of(
            "What erasure coding would save of files not used for 90 days",
            reports.coding_savings(rows, now, depth=depth),
            top,
        ),
    ]
    if audit is not None:
        lines = table(
            spark, "audit", audit, conf=conf, columns="time,allowed,cmd,src", malformed="drop"
        )
        found.append(table_of("Not read for longest", reports.coldest(rows, lines, depth), top))
    return found


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
