"""The tasks of a copy at nodes that have replicas of their files.

This is done if a source is an `hdfs://` with datanodes on several hosts, and tasks do not all
run on the driver's host (`locality.nodes` has the rules):

1. Tasks look up the block locations of each file that has bytes to be copied. Files that are at
   the target with the same length are left out: most of them are not copied.
2. The driver gets a row for each node, with the work for which it could be chosen.
3. Tasks choose a node for each file, and the driver gets a row for each node, with the work for
   which it was chosen. Large files are assigned one by one, all others by hash.
4. The rows are written to files that stand for the nodes (`locality.plan_files`).

The copy itself is the same wherever its tasks run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.copy.common.arrow_rows import Row, batches, created_frame
from howdah.copy.common.filesystems import Place
from howdah.copy.listing.entries import (
    SCHEMA,
    WHOLE,
    Entry,
    Found,
    Kind,
    Totals,
    astuple_of,
    entries,
)
from howdah.copy.options import Options
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.spark.copy_job.partitions import (
    BYTES_A_PART,
    FILES_A_PART,
    LARGE_A_PART,
    assign_largest_first,
    in_partitions,
    part_count,
)
from howdah.spark.locality.nodes import Share, busiest, choose, holders, hosts, shares
from howdah.spark.locality.plan_files import (
    NOT_NEAR,
    PlanChanged,
    PlanFiles,
    Task,
    nodes_of,
    one_file_a_partition,
    part_by,
    runs_elsewhere,
    share_table,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

LOCATED_SCHEMA: Final = f"{SCHEMA}, nodes string"
CHOSEN_SCHEMA: Final = f"{SCHEMA}, node string"
_SIZE: Final = "if(chunk_length < 0, length, chunk_length)"
_COST: Final = f"({_SIZE} + {BYTES_A_PART // FILES_A_PART})"
_FINGERPRINT: Final = "xxhash64(filesystem, relative, offset)"


@dataclass(frozen=True, slots=True)
class Locate:
    """Adds to each row of a file its nodes, with commas between, as a task."""

    place: Place
    filesystem: int
    overwrites: bool

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        fs = self.place.connect()
        rows = (
            (*astuple_of(entry), ",".join(self._nodes(fs, entry)))
            for batch in given
            for entry in entries(batch)
        )
        yield from batches(rows, LOCATED_SCHEMA)

    def _nodes(self, fs: FileSystem, entry: Entry) -> tuple[str, ...]:
        if entry.kind != Kind.FILE or entry.filesystem != self.filesystem or not entry.length:
            return ()
        is_same_length = entry.target == Found.FILE and entry.target_length == entry.length
        if is_same_length and not self.overwrites:
            return ()
        size = entry.length if entry.chunk_length == WHOLE else entry.chunk_length
        end = entry.offset + size
        try:
            locations = fs.block_locations(entry.path, entry.offset, size)
        except (errors.HowdahError, OSError):
            # Deleted or unreadable: the task that copies it reports that.
            return ()
        return holders(
            (min(block.offset + block.length, end) - max(block.offset, entry.offset), block.names)
            for block in locations
        )


@dataclass(frozen=True, slots=True)
class Choose:
    """A task that chooses one of its nodes for each row, or ""."""

    load: tuple[tuple[str, float], ...]

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches(self._rows(given), CHOSEN_SCHEMA)

    def _rows(self, given: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        load = dict(self.load)
        for batch in given:
            nodes = batch.column("nodes").to_pylist()
            for entry, named in zip(entries(batch), nodes, strict=True):
                key = entry.relative + entry.offset.to_bytes(8)
                yield (*astuple_of(entry), choose(key, named.split(","), load) or "")


class Partitions:
    """The partitions of a copy: `map` calls a task with the rows of each. `note` says why tasks
    do not prefer the nodes with replicas, if they were to."""

    def __init__(self, rows: DataFrame, note: str | None = None) -> None:
        self._rows = rows
        self.note = note

    def map(self, task: Task, ddl: str) -> DataFrame:
        return self._rows.mapInArrow(task, ddl)


class NodePartitions(Partitions):
    """Partitions with preferred nodes, from files."""

    def __init__(self, rows: DataFrame, files: PlanFiles) -> None:
        super().__init__(rows)
        self._files = files

    def map(self, task: Task, ddl: str) -> DataFrame:
        return self._files.map(task, ddl)


@contextmanager
def placed_partitions(
    spark: SparkSession,
    rows: DataFrame,
    totals: Totals,
    options: Options,
    sources: Sequence[Place],
) -> Iterator[Partitions]:
    """The rows of a copy in partitions, with preferred nodes where that matters.

    The result of `map` has to be computed before this ends.
    """
    number = _first_hdfs(sources)
    wanted = runs_elsewhere(spark) if options.locality is None else options.locality
    if not wanted or number is None or part_count(totals, options) == 1:
        yield Partitions(in_partitions(spark, rows, totals, options))
        return
    files = PlanFiles(spark, sources[number])
    note = files.prepare()
    if note is not None:
        yield Partitions(in_partitions(spark, rows, totals, options), f"{NOT_NEAR}: {note}")
        return
    try:
        locate = Locate(sources[number], number, options.overwrite)
        located = rows.mapInArrow(locate, LOCATED_SCHEMA).persist()
        try:
            is_written = _write(spark, files, located, part_count(totals, options))
        except PlanChanged as error:
            is_written, note = False, f"{NOT_NEAR}: {error}"
        finally:
            located.unpersist()
        if not is_written:
            yield Partitions(in_partitions(spark, rows, totals, options), note)
            return
        with one_file_a_partition(spark):
            yield NodePartitions(rows, files)
    finally:
        files.forget()


def _first_hdfs(sources: Sequence[Place]) -> int | None:
    for number, place in enumerate(sources):
        if isinstance(place.connect(), HdfsFileSystem):
            return number
    return None


def _write(spark: SparkSession, files: PlanFiles, located: DataFrame, parts: int) -> bool:
    """Write the plan. Return False if all replicas are on one host."""
    named = located.where("nodes <> ''").selectExpr("split(nodes, ',') as nodes", f"{_COST} as c")
    by_node = named.selectExpr("explode(nodes) as node", "c / size(nodes) as share")
    load = _by_node(by_node.groupBy("node").agg({"share": "sum"}).toDF("node", "work"))
    if len(hosts(load)) < 2:
        return False
    best = busiest(load, parts)
    chosen = located.mapInArrow(Choose(tuple(best.items())), CHOSEN_SCHEMA)
    costs = chosen.where("node <> ''").selectExpr("node", f"{_COST} as cost")
    work = _by_node(costs.groupBy("node").agg({"cost": "sum"}).toDF("node", "work"))
    own = shares(work, parts)
    columns = ("*", f"{_COST} as cost", f"{_FINGERPRINT} as fingerprint")
    rows = _with_parts(spark, chosen, own, parts, sum(work.values())).selectExpr(*columns)
    written = files.write(rows, SCHEMA, nodes_of(own, parts))
    (there,) = located.selectExpr("count(*) as n", f"bit_xor({_FINGERPRINT}) as f").collect()
    if written != (there["n"], there["f"] or 0):
        raise PlanChanged("files have other locations since they were looked up")
    return True


def _by_node(table: DataFrame) -> dict[str, float]:
    return {row["node"]: float(row["work"]) for row in table.collect()}


def _with_parts(
    spark: SparkSession, chosen: DataFrame, own: Sequence[Share], parts: int, work: float
) -> DataFrame:
    """Add the `part` of each row. Large files are assigned one by one to parts of their node."""
    import pyarrow as pa

    joined = chosen.join(share_table(spark, own), "node", "left")
    hashed = part_by("xxhash64(relative, offset)", parts)
    large = f"node <> '' and {_SIZE} > {int(work) // (parts * LARGE_A_PART)}"
    by_node: dict[str, list[tuple[bytes, int, int]]] = {share.node: [] for share in own}
    for row in (
        chosen.where(large).selectExpr("node", "relative", "offset", f"{_SIZE} as length").collect()
    ):
        by_node[row["node"]].append((bytes(row["relative"]), row["offset"], row["length"]))
    assigned = [
        (relative, offset, share.first + part)
        for share in own
        for (relative, offset, _), part in zip(
            by_node[share.node],
            assign_largest_first([length for _, _, length in by_node[share.node]], share.count),
            strict=True,
        )
    ]
    if not assigned:
        return joined.selectExpr("*", f"{hashed} as part")
    table = pa.table(
        {
            "relative": pa.array([assignment[0] for assignment in assigned], type=pa.binary()),
            "offset": pa.array([assignment[1] for assignment in assigned], type=pa.int64()),
            "assigned": pa.array([assignment[2] for assignment in assigned], type=pa.int32()),
        }
    )
    one_by_one = created_frame(spark, table).hint("broadcast")
    both = joined.join(one_by_one, ["relative", "offset"], "left")
    return both.selectExpr("*", f"coalesce(assigned, {hashed}) as part")
