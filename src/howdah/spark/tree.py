"""What is in a tree, as a DataFrame that the executors make.

Rounds of tasks list directories, as for a copy (`howdah.spark.listing`): a task lists
those it was given and those below until it has done enough, and what is left is dealt
out for the next round. The driver sees the number of those that are left, and no names.

Paths are bytes in between (names on HDFS need not be UTF-8).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from howdah import errors
from howdah.fs.status import FileStatus
from howdah.spark.entries import decode, encode
from howdah.spark.filesystems import Place
from howdah.spark.listing import BUDGET_GROWTH, DIRECTORIES_A_TASK, MOST_ENTRIES
from howdah.spark.rows import Row, arrow_schema, batches, dealt
from howdah.spark.walking import FIRST_ROUND

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

FILE: Final = "file"
DIRECTORY: Final = "directory"
SYMLINK: Final = "symlink"
PENDING: Final = "pending"

SCHEMA: Final = (
    "path binary, type string, length long, replication int, block_size long, "
    "modification_time_ms long, access_time_ms long, permission int, owner string, "
    "`group` string, storage_policy int, file_id long"
)
"""A row an inode; PENDING is a directory that is still to be listed."""


@dataclass(frozen=True, slots=True)
class ListTree:
    """A task's work: lists the directories that wait, until it has `most_entries`."""

    place: Place
    most_entries: int = FIRST_ROUND

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        waiting = deque(row for batch in given for row in zip(*_columns(batch), strict=True))
        yield from _batches(self._walk(waiting))

    def _walk(self, waiting: deque[Row]) -> Iterator[Row]:
        fs = self.place.connect()
        listed = 0
        while waiting and listed < self.most_entries:
            path = decode(waiting.popleft()[0])
            try:
                for status in fs.list_status_iter(path):
                    if status.path == path:
                        continue
                    listed += 1
                    yield row_of(status)
                    if status.is_directory:
                        waiting.append(row_of(status, PENDING))
            except errors.PathNotFound:
                # Deleted since its parent was listed: then it has no files.
                continue
        yield from waiting


def row_of(status: FileStatus, kind: str | None = None) -> Row:
    """The row of one status."""
    own = SYMLINK if status.is_symlink else DIRECTORY if status.is_directory else FILE
    return (
        encode(status.path),
        kind or own,
        status.length,
        status.replication,
        status.block_size,
        status.modification_time_ms,
        status.access_time_ms,
        status.permission,
        status.owner,
        status.group,
        status.storage_policy,
        status.file_id,
    )


class Tree:
    """The rows, kept by the executors until `forget`."""

    def __init__(self, rows: DataFrame, kept: list[DataFrame]) -> None:
        self.rows = rows
        self._kept = kept

    def forget(self) -> None:
        """Let the executors drop the rows."""
        for part in self._kept:
            part.unpersist()


def list_tree(
    spark: SparkSession,
    place: Place,
    roots: Sequence[FileStatus],
    most_tasks: int,
    tell: Callable[[int], None] | None = None,
) -> Tree:
    """Everything at and below `roots`, each of which has a row, too.

    `tell` is given the number of entries after each round; without it nobody counts them.
    """
    parts = [_frame(spark, [row_of(root) for root in roots])]
    waiting = [row_of(root, PENDING) for root in roots if root.is_directory]
    pending = _frame(spark, waiting)
    count = len(waiting)
    task = ListTree(place)
    kept: list[DataFrame] = []
    listed_before = 0
    while count:
        tasks = min(most_tasks, -(-count // (DIRECTORIES_A_TASK if kept else 1)))
        listed = dealt(pending, tasks, "path").mapInArrow(task, SCHEMA).persist()
        kept.append(listed)
        parts.append(listed.where(listed["type"] != PENDING))
        pending = listed.where(listed["type"] == PENDING)
        count = pending.count()
        if tell is not None:
            listed_before += listed.count() - count
            tell(listed_before)
        task = replace(task, most_entries=min(task.most_entries * BUDGET_GROWTH, MOST_ENTRIES))
    rows, *others = parts
    for part in others:
        rows = rows.unionAll(part)
    return Tree(rows, kept)


# -- Arrow -------------------------------------------------------------------------------


def _batches(rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    return batches(rows, SCHEMA)


def _columns(batch: pa.RecordBatch) -> list[list[Any]]:
    return [column.to_pylist() for column in batch.columns]


def _frame(spark: SparkSession, rows: Sequence[Row]) -> DataFrame:
    import pyarrow as pa

    schema = arrow_schema(SCHEMA)
    table = pa.Table.from_batches(list(batches(rows, SCHEMA)), schema=schema)
    return spark.createDataFrame(table, SCHEMA)
