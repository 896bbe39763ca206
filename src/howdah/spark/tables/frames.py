"""`table`: one of the tables as a DataFrame, on every version of Spark and on Spark Connect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from howdah.config import Configuration
from howdah.copy.common.job_tokens import begin_job, end_with
from howdah.spark.tables.catalog import TABLES, open_table
from howdah.spark.tables.registration import home_of
from howdah.spark.tables.table import PATH, Table

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_PREFIX: Final = "howdah."


@dataclass(frozen=True, slots=True)
class ReadParts:
    """A task that reads the parts of a table whose numbers it is given."""

    table: Table
    parts: tuple[Any, ...]

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in given:
            for number in batch.column(0).to_pylist():
                yield from self.table.read(self.parts[number])


def table(
    spark: SparkSession,
    name: str,
    path: str | None = None,
    *,
    conf: Configuration | None = None,
    user: str | None = None,
    **options: object,
) -> DataFrame:
    """One of the tables of `register` as a frame: `namespace`, `edits`, `audit`, `blocks` or
    `changes`, with the same options.

    For Spark 3.5, which has no Python data sources, and where nothing is to be registered. What is
    read is planned once, when the frame is made, and filters are Spark's.

    Raises IllegalArgument for options that are unknown or make no sense, PathNotFound, and
    whatever else the table raises.

    >>> table(spark, "audit", "/var/log/hadoop/hdfs-audit.log*")  # doctest: +SKIP
    """
    end = begin_job()
    try:
        given = options if path is None else {PATH: path, **options}
        whole = name if name.lower() in TABLES else _PREFIX + name
        opened = open_table(whole, given, home_of(spark, conf, user))
        parts = tuple(opened.parts())
        numbers = spark.range(0, len(parts), 1, max(len(parts), 1))
        rows = numbers.mapInArrow(ReadParts(opened, parts), opened.columns.ddl)
    except BaseException:
        end()
        raise
    end_with(rows, end)
    return rows
