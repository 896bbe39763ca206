"""What is in the directories of a tree, as far as it matters to compaction.

A row for each directory with data files: sums, and a name of each kind of thing that
speaks against touching it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from howdah.spark.compaction_plan import (
    BUCKET,
    ICEBERG_SUFFIX,
    KNOWN_HIDDEN,
    LOGS,
    SUCCESS,
    SUFFIX,
    Contents,
)
from howdah.spark.tree import DIRECTORY, FILE, Tree

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NAME: Final = r"(?s)([^/]*)$"
_PARENT: Final = r"(?s)^(.*)/[^/]*$"


def _named(rows: DataFrame) -> DataFrame:
    """With `parent` and `name`, and without what is in hidden directories."""
    from pyspark.sql import functions as F

    text = F.col("path").cast("string")
    return (
        rows.withColumn("name", F.regexp_extract(text, _NAME, 1))
        .withColumn("parent", F.regexp_extract(text, _PARENT, 1))
        .where(~F.col("parent").rlike(r"/[._][^/=]*(/|$)"))
    )


def logged(tree: Tree) -> list[str]:
    """The directories of which some other program keeps a list."""
    from pyspark.sql import functions as F

    named = _named(tree.rows)
    above = F.regexp_extract(F.col("parent"), _PARENT, 1)
    is_log = (F.col("type") == DIRECTORY) & F.col("name").isin(sorted(LOGS))
    is_iceberg = (F.col("type") == FILE) & F.col("name").endswith(ICEBERG_SUFFIX)
    of = F.when(is_log, F.col("parent")).when(is_iceberg, above)
    found = named.select(of.alias("table")).where("table IS NOT NULL").distinct()
    return [row["table"] or "/" for row in found.collect()]


def contents(tree: Tree) -> Iterator[Contents]:
    """The directories with data files, one after the other."""
    from pyspark.sql import functions as F

    named = _named(tree.rows)
    name = F.col("name")
    hidden = name.startswith("_") | name.startswith(".")
    is_file = F.col("type") == FILE
    is_data = is_file & ~hidden
    is_unknown = hidden & ~(is_file & name.rlike(KNOWN_HIDDEN))
    suffix = F.regexp_extract(F.lower("name"), SUFFIX, 1)
    blocks = F.ceil(F.col("length") / F.greatest(F.col("block_size"), F.lit(1)))
    sums = named.groupBy("parent").agg(
        F.count_if(is_data).alias("files"),
        F.coalesce(F.sum(F.when(is_data, F.col("length"))), F.lit(0)).alias("bytes"),
        F.coalesce(F.sum(F.when(is_data, blocks)), F.lit(0)).alias("blocks"),
        F.coalesce(F.max(F.when(is_data, F.col("length"))), F.lit(0)).alias("largest"),
        F.collect_set(F.when(is_data, suffix)).alias("suffixes"),
        F.count_if((F.col("type") != FILE) & ~hidden).alias("directories"),
        F.count_if(name == SUCCESS).alias("success"),
        F.coalesce(F.min(F.when(is_unknown, name)), F.lit("")).alias("unknown"),
        F.coalesce(F.min(F.when(is_data & name.rlike(BUCKET), name)), F.lit("")).alias("bucket"),
    )
    for row in sums.where("files > 0").orderBy("parent").toLocalIterator():
        yield Contents(
            row["parent"] or "/",
            row["files"],
            row["bytes"],
            row["blocks"],
            row["largest"],
            tuple(sorted(row["suffixes"])),
            row["directories"],
            bool(row["success"]),
            row["unknown"],
            row["bucket"],
        )
