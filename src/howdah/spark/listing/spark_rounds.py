"""The listing of a copy, made by Spark: rounds of tasks that list directories.

The first tasks begin with the sources. In a round each task lists its directories, and those
below, until it has listed enough (`listing.walking`); the next round partitions the rest. So a
small tree takes one task, and a large tree soon keeps all tasks busy, however deep or lopsided
it is. The driver gets one row of sums from each task of a round.

The rows are kept in the staging directory or by the executors (`listing.row_stores`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from howdah.copy.common.arrow_rows import created_frame, partitioned
from howdah.copy.listing.entries import (
    SCHEMA,
    WAITING,
    Entry,
    Kind,
    Sums,
    Totals,
    arrow_schema,
    batches,
)
from howdah.copy.listing.walking import Walk
from howdah.spark.listing.row_stores import RowStore, Task

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BUDGET_GROWTH: Final = 4
MOST_ENTRIES: Final = 1_000_000
DIRECTORIES_A_TASK: Final = 4


class Listing:
    """The rows and their sums.

    `fingerprint` is the sum of `entries.fingerprint_of` over the rows as they were listed. The
    tasks that copy sum up the rows that they get, and the driver compares.
    """

    def __init__(self, kept: RowStore, totals: Totals, fingerprint: int) -> None:
        self.totals = totals
        self.fingerprint = fingerprint
        self._kept = kept

    def of(self, *kinds: Kind) -> DataFrame:
        """The rows of these kinds."""
        return self._kept.of(kinds)

    def forget(self) -> None:
        """Let the executors drop the rows."""
        self._kept.forget()


def make_listing(
    spark: SparkSession, roots: list[Entry], walk: Walk, most_tasks: int, kept: RowStore
) -> Listing:
    """The rows of `roots`, and of everything below those that are to be listed."""
    pending = sum(entry.kind in WAITING for entry in roots)
    if pending <= DIRECTORIES_A_TASK:
        begun = spark.range(0, 1, 1, 1)
        return list_rounds(
            begun, replace(walk, roots=tuple(roots), is_alone=True), walk, most_tasks, kept
        )
    import pyarrow as pa

    table = pa.Table.from_batches(list(batches(roots)), schema=arrow_schema())
    tasks = min(most_tasks, -(-pending // DIRECTORIES_A_TASK))
    # By their own paths: with -update all have the same relative path.
    begun = partitioned(created_frame(spark, table, SCHEMA), tasks, "filesystem", "source")
    return list_rounds(begun, walk, walk, most_tasks, kept)


def list_rounds(
    begun: DataFrame, first: Task, walk: Walk, most_tasks: int, kept: RowStore
) -> Listing:
    """Run `first` on the rows `begun`, then rounds of `walk` until no directory is left."""
    rounds = 1
    own = kept.add(begun, first)
    sums = Sums() + own
    while own.pending:
        walk = replace(walk, most_entries=min(walk.most_entries * BUDGET_GROWTH, MOST_ENTRIES))
        tasks = min(most_tasks, -(-own.pending // DIRECTORIES_A_TASK))
        own = kept.add(partitioned(kept.waiting(), tasks, "relative"), walk)
        sums += own
        rounds += 1
    totals = Totals(
        files=sums.files,
        directories=sums.directories,
        bytes=sums.bytes,
        largest_bytes=sums.largest_bytes,
        missing=sums.missing,
        rounds=rounds,
    )
    return Listing(kept, totals, sums.fingerprint)
