"""The list of what to copy, made by Spark: rounds of tasks that list directories.

The first tasks begin with the sources. In a round each task lists its directories, and
those below until it has done enough (`howdah.spark.listing.walking`); what is left is dealt out
for the next round. So a small tree is one task, and a large one soon keeps all tasks
busy, however deep or lopsided it is. All the driver gets to see of a round is a row of
sums from each task.

The rows are kept in the staging directory, or by the executors (`howdah.spark.listing.row_stores`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from howdah.spark.common.rows import partitioned
from howdah.spark.listing.entries import SCHEMA, WAITING, Entry, Kind, Sums, arrow_schema, batches
from howdah.spark.listing.row_stores import RowStore, Task
from howdah.spark.listing.walking import Walk

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BUDGET_GROWTH: Final = 4
MOST_ENTRIES: Final = 1_000_000
DIRECTORIES_A_TASK: Final = 4


@dataclass(frozen=True, slots=True)
class Totals:
    """What is in a listing."""

    files: int = 0
    directories: int = 0
    bytes: int = 0
    largest_bytes: int = 0
    missing: int = 0
    rounds: int = 0

    @property
    def has_entries(self) -> bool:
        """Whether there is anything to copy, be it an empty directory."""
        return self.files + self.directories > 0


class Listing:
    """The rows and their sums.

    `fingerprint` is that of the files and directories as they were listed
    (`entries.fingerprint_of`): whoever goes through them can tell by it whether these
    were the same.
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
    """The rows of `roots`, and everything below those of them that are pending."""
    pending = sum(entry.kind in WAITING for entry in roots)
    if pending <= DIRECTORIES_A_TASK:
        begun = spark.range(0, 1, 1, 1)
        return list_rounds(begun, replace(walk, roots=tuple(roots)), walk, most_tasks, kept)
    import pyarrow as pa

    table = pa.Table.from_batches(list(batches(roots)), schema=arrow_schema())
    tasks = min(most_tasks, -(-pending // DIRECTORIES_A_TASK))
    # By their own paths: with -update all have one place.
    begun = partitioned(spark.createDataFrame(table, SCHEMA), tasks, "filesystem", "source")
    return list_rounds(begun, walk, walk, most_tasks, kept)


def list_rounds(
    begun: DataFrame, first: Task, walk: Walk, most_tasks: int, kept: RowStore
) -> Listing:
    """The rows that the task `first` makes of `begun`, and everything that they wait for."""
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
