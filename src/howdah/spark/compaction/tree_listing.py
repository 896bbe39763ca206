"""The contents of a tree's directories, as far as they matter to compaction.

One pass over the rows gives a row for each directory with data files: sums, and the name of an
entry of each kind that speaks against compaction. The same pass finds directories in which other
programs keep lists of files, and directories that killed runs left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from howdah.copy.common.arrow_rows import decode
from howdah.copy.locks.tree_lock import PREFIX as LOCK
from howdah.spark.compaction.plan import (
    BUCKET,
    KNOWN_HIDDEN,
    PREFIX,
    SUCCESS,
    SUFFIX,
    Contents,
)
from howdah.spark.compaction.table_formats import (
    AT_WORK,
    HIVE_DIRECTORY,
    ICEBERG_METADATA,
    MARKS,
    PAIMON_SCHEMA,
    Table,
    TableFormat,
    outermost,
)
from howdah.spark.listing.tree import DIRECTORY, FILE, Tree

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row

_NAME: Final = r"(?s)([^/]*)$"
_PARENT: Final = r"(?s)^(.*)/[^/]*$"


def _named(rows: DataFrame) -> DataFrame:
    """The rows with `parent` and `name`, without those in hidden directories."""
    from pyspark.sql import functions as F

    text = F.col("path").cast("string")
    return (
        rows.withColumn("name", F.regexp_extract(text, _NAME, 1))
        .withColumn("parent", F.regexp_extract(text, _PARENT, 1))
        .where(~F.col("parent").rlike(r"/[._][^/=]*(/|$)"))
    )


@dataclass(frozen=True, slots=True)
class TreeContents:
    """The contents of a tree. `tables`: directories whose files another program keeps a list
    of; `leftovers`: directories that killed runs left."""

    contents: tuple[Contents, ...]
    tables: tuple[Table, ...]
    leftovers: tuple[str, ...]


def contents_of(tree: Tree, small_bytes: int | None = None) -> TreeContents:
    """The contents of all directories, in the order of their paths. `small_bytes`: longer files may
    be kept."""
    from pyspark.sql import functions as F

    named = _named(tree.rows)
    name = F.col("name")
    hidden = name.startswith("_") | name.startswith(".")
    is_file = F.col("type") == FILE
    is_directory = F.col("type") == DIRECTORY
    is_data = is_file & ~hidden
    is_leftover = is_directory & name.startswith(PREFIX)
    is_lock = is_file & ((name == LOCK) | name.startswith(f"{LOCK}."))
    is_unknown = hidden & ~is_leftover & ~(is_file & name.rlike(KNOWN_HIDDEN)) & ~is_lock
    is_kept = is_data & (
        F.lit(False) if small_bytes is None else F.col("length") > F.lit(small_bytes)
    )
    suffix = F.regexp_extract(F.lower("name"), SUFFIX, 1)
    coding = F.coalesce("erasure_coding_policy", F.lit(""))

    def sum_of(value: Column) -> Column:
        return F.coalesce(F.sum(F.when(is_data, value)), F.lit(0))

    def one_of(condition: Column) -> Column:
        return F.coalesce(F.min(F.when(condition, name)), F.lit(""))

    sums = named.groupBy("parent").agg(
        F.count_if(is_data).alias("files"),
        sum_of(F.col("length")).alias("bytes"),
        sum_of(F.col("blocks")).alias("blocks"),
        F.coalesce(F.max(F.when(is_data, F.col("length"))), F.lit(0)).alias("largest"),
        F.collect_set(F.when(is_data, suffix)).alias("suffixes"),
        F.collect_set(F.when(is_data, coding)).alias("coding"),
        sum_of(F.when(~is_kept, F.col("space"))).alias("space"),
        F.count_if(is_kept).alias("kept"),
        sum_of(F.when(is_kept, F.col("length"))).alias("kept_bytes"),
        sum_of(F.when(is_kept, F.col("blocks"))).alias("kept_blocks"),
        F.count_if(~is_file & ~hidden).alias("directories"),
        F.count_if(name == SUCCESS).alias("success"),
        one_of(is_unknown).alias("unknown"),
        one_of(is_data & name.rlike(BUCKET)).alias("bucket"),
        F.collect_set(F.when(is_directory & name.isin(sorted(MARKS)), name)).alias("marks"),
        one_of(is_file & name.rlike(ICEBERG_METADATA)).alias("iceberg"),
        one_of(is_directory & name.rlike(HIVE_DIRECTORY)).alias("hive"),
        one_of(is_file & F.col("path").cast("string").rlike(PAIMON_SCHEMA)).alias("paimon"),
        F.count_if(is_directory & ~hidden & name.contains("=")).alias("partitions"),
        one_of(is_directory & hidden & ~name.contains("=") & ~name.rlike(AT_WORK)).alias("log"),
        F.collect_list(F.when(is_leftover, F.col("path"))).alias("leftovers"),
    )
    wanted = (
        "files > 0 OR size(marks) > 0 OR iceberg <> '' OR hive <> '' OR paimon <> '' "
        "OR (partitions > 0 AND log <> '') OR size(leftovers) > 0"
    )
    rows = sorted(sums.where(wanted).collect(), key=lambda row: row["parent"])
    tables = outermost([table for row in rows for table in _tables_of(row)])
    return TreeContents(
        tuple(
            Contents(
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
                *_coded(row["coding"], row["space"]),
                row["kept"],
                row["kept_bytes"],
                row["kept_blocks"],
            )
            for row in rows
            if row["files"]
        ),
        tuple(tables),
        tuple(decode(path) for row in rows for path in row["leftovers"]),
    )


def _tables_of(row: Row) -> Iterator[Table]:
    """The tables that the entries of one directory show."""
    path = row["parent"] or "/"
    for mark in row["marks"]:
        yield Table(path, MARKS[mark], mark)
    if row["hive"]:
        yield Table(path, TableFormat.HIVE, row["hive"])
    above = path.rpartition("/")[0]
    if row["iceberg"]:
        # Its metadata is in a directory beside that of the files.
        yield Table(above or "/", TableFormat.ICEBERG, row["iceberg"])
    if row["paimon"]:
        yield Table(above or "/", TableFormat.PAIMON, row["paimon"])
    if row["partitions"] and row["log"] and not row["marks"]:
        yield Table(path, TableFormat.UNKNOWN, row["log"])


def _coded(policies: Sequence[str], space: int) -> tuple[str, int]:
    """The one policy of files that are all coded by it, and what they take on disks."""
    policy = policies[0] if len(policies) == 1 else ""
    return policy, space if policy else 0
