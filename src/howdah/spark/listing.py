"""The list of what to copy, made by Spark: rounds of tasks that list directories.

The driver begins with a row for each source. In a round each task lists its
directories, and those below until it has done enough (`howdah.spark.walking`); what is
left is dealt out for the next round. So a small tree is one task, and a large one soon
keeps all tasks busy, however deep or lopsided it is. All the driver gets to see of a
round are sums.

The rows stay with the executors (`persist`), in memory as far as it goes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from howdah.spark.entries import SCHEMA, Entry, Kind, arrow_schema, astuple_of
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
    """The rows, spread over the executors, and their sums."""

    def __init__(self, rows: DataFrame, parts: list[DataFrame], totals: Totals) -> None:
        self.rows = rows
        self.totals = totals
        self._parts = parts

    def of(self, *kinds: Kind) -> DataFrame:
        """The rows of these kinds."""
        return self.rows.where(self.rows["kind"].isin([int(kind) for kind in kinds]))

    def forget(self) -> None:
        """Let the executors drop the rows."""
        for part in self._parts:
            part.unpersist()


def make_listing(spark: SparkSession, roots: list[Entry], walk: Walk, most_tasks: int) -> Listing:
    """List everything below the rows of `roots` that are pending."""
    rest = [root for root in roots if root.kind != Kind.PENDING]
    waiting = [root for root in roots if root.kind == Kind.PENDING]
    totals = _totals(rest)
    parts = [_frame(spark, rest)]
    pending: DataFrame | None = _frame(spark, waiting) if waiting else None
    count = len(waiting)
    while pending is not None:
        tasks = min(most_tasks, -(-count // (1 if totals.rounds == 0 else DIRECTORIES_A_TASK)))
        listed = pending.repartition(max(tasks, 1)).mapInArrow(walk, SCHEMA).persist()
        count, round_totals = _round(listed)
        totals = _sum(totals, round_totals)
        parts.append(listed)
        is_pending = listed["kind"].isin([int(Kind.PENDING), int(Kind.MISSING_PENDING)])
        pending = listed.where(is_pending) if count else None
        walk = replace(walk, most_entries=min(walk.most_entries * BUDGET_GROWTH, MOST_ENTRIES))
    persisted = parts[1:]
    # An empty frame would cost a task without work.
    rows, *others = parts if rest or not persisted else persisted
    for part in others:
        rows = rows.unionAll(part)
    return Listing(rows, persisted, totals)


def _frame(spark: SparkSession, entries: list[Entry]) -> DataFrame:
    import pyarrow as pa

    rows = [astuple_of(entry) for entry in entries]
    schema = arrow_schema()
    columns = list(zip(*rows, strict=True)) if rows else [() for _ in schema]
    arrays = [pa.array(c, type=f.type) for c, f in zip(columns, schema, strict=True)]
    return spark.createDataFrame(pa.Table.from_arrays(arrays, schema=schema), SCHEMA)


def _round(listed: DataFrame) -> tuple[int, Totals]:
    """How many directories are still to be listed, and the sums of a round."""
    from pyspark.sql import functions as F

    grouped = listed.groupBy("kind").agg(
        F.count("*").alias("n"), F.sum("length").alias("bytes"), F.max("length").alias("largest")
    )
    found = {row["kind"]: row for row in grouped.collect()}

    def count(kind: Kind) -> int:
        return int(found[kind]["n"]) if kind in found else 0

    files = found.get(Kind.FILE)
    totals = Totals(
        files=count(Kind.FILE),
        directories=count(Kind.DIRECTORY),
        bytes=int(files["bytes"]) if files else 0,
        largest_bytes=int(files["largest"]) if files else 0,
        missing=count(Kind.MISSING),
        rounds=1,
    )
    return count(Kind.PENDING) + count(Kind.MISSING_PENDING), totals


def _totals(roots: list[Entry]) -> Totals:
    lengths = [root.length for root in roots if root.kind == Kind.FILE]
    return Totals(
        files=len(lengths),
        directories=sum(root.kind == Kind.DIRECTORY for root in roots),
        bytes=sum(lengths),
        largest_bytes=max(lengths, default=0),
    )


def _sum(left: Totals, right: Totals) -> Totals:
    return Totals(
        left.files + right.files,
        left.directories + right.directories,
        left.bytes + right.bytes,
        max(left.largest_bytes, right.largest_bytes),
        left.missing + right.missing,
        left.rounds + right.rounds,
    )
