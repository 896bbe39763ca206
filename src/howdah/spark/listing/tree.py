"""One tree as a DataFrame, listed by the executors; for all jobs but a copy.

Rounds of tasks list directories, as for a copy (`listing.rounds`): a task lists its directories
and those below until it has listed enough, and the next round partitions the rest. The driver
gets the number of the directories that are left, and no names.

Paths are bytes here (names on HDFS need not be UTF-8).
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from howdah import errors
from howdah.copy.common.arrow_rows import (
    ROWS_A_BATCH,
    Row,
    arrow_schema,
    batch_of,
    batches,
    created_frame,
    decode,
    encode,
    partitioned,
)
from howdah.copy.common.failures import FAILURES, error_from, error_name, error_text
from howdah.copy.common.filesystems import Place
from howdah.copy.listing.walking import FIRST_ROUND
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.status import FileStatus
from howdah.proto import types_pb2
from howdah.protocol.striping.layout import FileLayout
from howdah.protocol.striping.messages import policy_from_proto
from howdah.protocol.striping.policies import Policy, policy_named
from howdah.spark.listing.kinds import DIRECTORY as DIRECTORY
from howdah.spark.listing.kinds import FILE as FILE
from howdah.spark.listing.kinds import SYMLINK as SYMLINK
from howdah.spark.listing.spark_rounds import BUDGET_GROWTH, DIRECTORIES_A_TASK, MOST_ENTRIES

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

PENDING: Final = "pending"
FAILED: Final = "failed"

SCHEMA: Final = (
    "path binary, type string, length long, replication int, block_size long, "
    "modification_time_ms long, access_time_ms long, permission int, owner string, "
    "`group` string, storage_policy int, file_id long, erasure_coding_policy string, space long, "
    "blocks long"
)
"""A row for each inode. A row of type PENDING is the path of a directory to be listed; a row of
type FAILED has the class of an error in `owner` and its message in `path`.

`erasure_coding_policy` is that of a file, null of a replicated one. `space` is what a file takes on
disks with all replicas or parity, and `blocks` how many blocks or block groups it has: of a coded
file, if its groups are full but for the last one."""

_WAITING: Final = f"count_if(type = '{PENDING}') as waiting"
_FAILURE: Final = f"min(if(type = '{FAILED}', struct(owner, path), null)) as failed"

Columns = tuple[list[Any], ...]
"""Rows of `SCHEMA`, column by column."""


@dataclass(frozen=True, slots=True)
class ListTree:
    """A task that lists its directories, and those below, until it has `most_entries`."""

    place: Place
    most_entries: int = FIRST_ROUND

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._listed(given)
        except FAILURES as error:
            yield from batches([_failed(error)], SCHEMA)

    def _listed(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        waiting = deque(path for batch in given for path in batch.column(0).to_pylist())
        gathered: Columns = tuple([] for _ in SCHEMA.split(","))
        for page in self._pages(waiting):
            for column, more in zip(gathered, page, strict=True):
                column.extend(more)
            if len(gathered[0]) >= ROWS_A_BATCH:
                yield batch_of(gathered, SCHEMA)
                for column in gathered:
                    column.clear()
        if gathered[0]:
            yield batch_of(gathered, SCHEMA)
        yield from batches((pending(path) for path in waiting), SCHEMA)

    def _pages(self, waiting: deque[bytes]) -> Iterator[Columns]:
        fs = self.place.connect()
        listed = 0
        while waiting and listed < self.most_entries:
            path = waiting.popleft()
            try:
                for page in _listed(fs, path):
                    listed += len(page[0])
                    kinds = zip(page[0], page[1], strict=True)
                    waiting.extend(below for below, kind in kinds if kind == DIRECTORY)
                    yield page
            except errors.PathNotFound:
                # Deleted since its parent was listed.
                continue


def _listed(fs: FileSystem, path: bytes) -> Iterator[Columns]:
    if isinstance(fs, HdfsFileSystem):
        try:
            yield from _listed_by_namenode(fs, path)
        except errors.UnresolvedPath:
            pass  # below a symbolic link: the client resolves it
        else:
            return
    text = decode(path)
    rows = (row_of(status) for status in fs.list_status_iter(text) if status.path != text)
    while some := list(itertools.islice(rows, ROWS_A_BATCH)):
        yield tuple(list(column) for column in zip(*some, strict=True))


def _listed_by_namenode(fs: HdfsFileSystem, path: bytes) -> Iterator[Columns]:
    """Columns made directly of the namenode's messages: an object for each status and each
    row would take twice as long."""
    namenode = fs.client.namenode
    text, prefix = decode(path), path if path == b"/" else path + b"/"
    after = b""
    while (page := namenode.get_listing(text, after)) is not None:
        entries = page.partialListing
        if not entries or not entries[0].path:
            return  # a file, which is its own listing
        yield (
            [prefix + entry.path for entry in entries],
            [_KINDS[entry.fileType] for entry in entries],
            [entry.length for entry in entries],
            [entry.block_replication for entry in entries],
            [entry.blocksize for entry in entries],
            [signed(entry.modification_time) for entry in entries],
            [signed(entry.access_time) for entry in entries],
            [entry.permission.perm for entry in entries],
            [entry.owner for entry in entries],
            [entry.group for entry in entries],
            [entry.storagePolicy for entry in entries],
            [entry.fileId for entry in entries],
            *_stored(entries),
        )
        if not page.remainingEntries:
            return
        after = entries[-1].path
    raise errors.PathNotFound(f"File does not exist: {text}")


def _stored(entries: Iterable[types_pb2.HdfsFileStatusProto]) -> Columns:
    """The columns of what files have on disks."""
    policies: list[str | None] = []
    space: list[int] = []
    blocks: list[int] = []
    for entry in entries:
        length, block_bytes = entry.length, entry.blocksize
        if entry.fileType == _FILE and entry.HasField("ecPolicy"):
            policy = policy_from_proto(entry.ecPolicy)
            layout = FileLayout(policy, length, block_bytes)
            policies.append(policy.name)
            space.append(layout.space)
            blocks.append(layout.groups)
        else:
            policies.append(None)
            space.append(length * entry.block_replication)
            blocks.append(-(-length // block_bytes) if block_bytes else 0)
    return policies, space, blocks


@cache
def _policy_named(name: str) -> Policy:
    try:
        return policy_named(name)
    except ValueError as error:
        raise errors.UnsupportedOperation(f"erasure coding policy: {error}") from None


_FILE: Final = types_pb2.HdfsFileStatusProto.IS_FILE
_KINDS: Final = {
    types_pb2.HdfsFileStatusProto.IS_DIR: DIRECTORY,
    types_pb2.HdfsFileStatusProto.IS_FILE: FILE,
    types_pb2.HdfsFileStatusProto.IS_SYMLINK: SYMLINK,
}


def signed(time_ms: int) -> int:
    """A time as a signed number; the protocol sends it as an unsigned one."""
    return time_ms if time_ms < 1 << 63 else time_ms - (1 << 64)


def pending(path: bytes) -> Row:
    """The row of a directory to be listed."""
    return (path, PENDING, 0, 0, 0, 0, 0, 0, "", "", 0, 0, None, 0, 0)


def _failed(error: Exception) -> Row:
    """The row of an error that ends a task."""
    said, kind = error_text(error).encode(), error_name(error)
    return (said, FAILED, 0, 0, 0, 0, 0, 0, kind, "", 0, 0, None, 0, 0)


def row_of(status: FileStatus) -> Row:
    """The row of one status."""
    own = SYMLINK if status.is_symlink else DIRECTORY if status.is_directory else FILE
    length, block_bytes = status.length, status.block_size
    name = status.erasure_coding_policy if own == FILE and status.is_erasure_coded else None
    if name is None:
        space = length * status.replication
        blocks = -(-length // block_bytes) if block_bytes else 0
    else:
        layout = FileLayout(_policy_named(name), length, block_bytes)
        space, blocks = layout.space, layout.groups
    return (
        encode(status.path),
        own,
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
        name,
        space,
        blocks,
    )


class Tree:
    """The rows; the executors keep them until `forget`."""

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
    """List everything at and below `roots`, which have rows themselves.

    `tell` gets the number of entries after each round; without it they are not counted.
    Raises the error of a task that failed.
    """
    parts = [_frame(spark, [row_of(root) for root in roots])]
    waiting = [pending(encode(root.path)) for root in roots if root.is_directory]
    left = _frame(spark, waiting)
    count = len(waiting)
    task = ListTree(place)
    kept: list[DataFrame] = []
    listed_before = 0
    while count:
        tasks = min(most_tasks, -(-count // (DIRECTORIES_A_TASK if kept else 1)))
        listed = partitioned(left, tasks, "path").mapInArrow(task, SCHEMA).persist()
        kept.append(listed)
        parts.append(listed.where(listed["type"] != PENDING))
        left = listed.where(listed["type"] == PENDING)
        (outcome,) = listed.selectExpr(_WAITING, _FAILURE).collect()
        if outcome["failed"] is not None:
            raise error_from(outcome["failed"]["owner"], decode(bytes(outcome["failed"]["path"])))
        count = outcome["waiting"]
        if tell is not None:
            listed_before += listed.count() - count
            tell(listed_before)
        task = replace(task, most_entries=min(task.most_entries * BUDGET_GROWTH, MOST_ENTRIES))
    rows, *others = parts
    for part in others:
        rows = rows.unionAll(part)
    return Tree(rows, kept)


# -- Arrow -------------------------------------------------------------------------------


def _frame(spark: SparkSession, rows: Sequence[Row]) -> DataFrame:
    import pyarrow as pa

    schema = arrow_schema(SCHEMA)
    table = pa.Table.from_batches(list(batches(rows, SCHEMA)), schema=schema)
    return created_frame(spark, table, SCHEMA)
