"""The list of what to copy, made by Spark: rounds of tasks that list directories.

The first task begins with the sources. In a round each task lists its directories, and
those below until it has done enough (`howdah.spark.walking`); what is left is dealt out
for the next round. So a small tree is one task, and a large one soon keeps all tasks
busy, however deep or lopsided it is. All the driver gets to see of a round is a row of
sums from each task.

The rows stay with the executors (`persist`), in memory as far as it goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from howdah.spark.entries import SCHEMA, WAITING, Entry, Kind, Sums
from howdah.spark.rows import dealt
from howdah.spark.walking import Walk

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


class Listing:
    """The rows, spread over the executors, and their sums.

    What an executor held when it died is listed again. `fingerprint` is that of the
    files and directories as they were listed first (`entries.fingerprint_of`): whoever
    goes through them can tell by it whether these were the same.
    """

    def __init__(self, parts: list[DataFrame], totals: Totals, fingerprint: int) -> None:
        self.totals = totals
        self.fingerprint = fingerprint
        self._parts = parts

    def of(self, *kinds: Kind) -> DataFrame:
        """The rows of these kinds."""
        chosen = [_of(part, kinds) for part in self._parts]
        rows = chosen[0]
        for part in chosen[1:]:
            rows = rows.unionAll(part)
        return rows

    def forget(self) -> None:
        """Let the executors drop the rows."""
        for part in self._parts:
            part.unpersist()


def make_listing(spark: SparkSession, roots: list[Entry], walk: Walk, most_tasks: int) -> Listing:
    """The rows of `roots`, and everything below those of them that are pending."""
    first = replace(walk, roots=tuple(roots))
    return go_on(spark.range(0, 1, 1, 1).mapInArrow(first, SCHEMA), walk, most_tasks)


def go_on(begun: DataFrame, walk: Walk, most_tasks: int) -> Listing:
    """The rows of `begun`, among them sums, and everything that they wait for."""
    parts: list[DataFrame] = []
    listed = begun.persist()
    sums = Sums()
    while True:
        parts.append(listed)
        found = _of(listed, [Kind.SUMS]).collect()
        own = sum((Sums.of_row(row.asDict()) for row in found), Sums())
        sums += own
        if not own.pending:
            break
        walk = replace(walk, most_entries=min(walk.most_entries * BUDGET_GROWTH, MOST_ENTRIES))
        tasks = min(most_tasks, -(-own.pending // DIRECTORIES_A_TASK))
        pending = _of(listed, WAITING)
        listed = dealt(pending, tasks, "relative").mapInArrow(walk, SCHEMA).persist()
    totals = Totals(
        files=sums.files,
        directories=sums.directories,
        bytes=sums.bytes,
        largest_bytes=sums.largest_bytes,
        missing=sums.missing,
        rounds=len(parts),
    )
    return Listing(parts, totals, sums.fingerprint)


def _of(rows: DataFrame, kinds: Sequence[Kind]) -> DataFrame:
    numbers = ", ".join(str(int(kind)) for kind in kinds)
    return rows.where(f"kind in ({numbers})")
