"""Tasks that Spark runs on chosen nodes: their rows are in files that are placed on those nodes.

Spark's scheduler prefers nodes for tasks that read files, and for no other tasks that the
DataFrame API can make. So the rows of each part are written to a file, and beside it a mark: a
file of a few bytes with one replica, on the datanode where the part should run
(`favored_nodes`). Spark reads the marks, one to a partition; a task gets the name of a mark and
reads the rows of the part.

1. The directory is created in the home directory, on the filesystem of the datanodes, and Spark
   is asked to read there. If either fails, the work is done without preferred nodes, and the
   reason is reported.
2. The rows are written, a task for each part. Files are named for attempts, and an attempt that
   does not count leaves nothing that is read: the driver removes marks that no successful task
   reported, and counts the rows of the others. So a task that Spark runs again, perhaps with
   other locations, leaves no gap in the plan.
3. A mark has one replica, so that Spark knows one node; nobody reads its bytes. The files of
   rows have as many replicas as other files, so a datanode that dies loses no part of the plan.
4. A part with more work has a longer mark: Spark starts with the longest file.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from howdah import errors
from howdah.copy.common.arrow_rows import arrow_schema, batches, created_frame
from howdah.copy.common.filesystems import Place
from howdah.copy.common.task_errors import Reported, most_attempts, raise_failed, with_failures
from howdah.fs import glob, paths
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.spark.locality.nodes import Share

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

HOME: Final = ".howdah.plans"
KEPT_MS: Final = 7 * 24 * 3600 * 1000
"""The directory of a killed run is removed by another run after this time."""
LONGEST_MARK: Final = 4096
BYTES_A_MARKS_BYTE: Final = 1 << 20
WRITTEN_SCHEMA: Final = "name string, rows long, fingerprint long"
FORMAT: Final = "binaryFile"
OPEN_COST: Final = "spark.sql.files.openCostInBytes"
_A_PARTITION_EACH: Final = str(1 << 40)
_MASK: Final = (1 << 64) - 1

Task = Callable[[Iterable["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]


class PlanChanged(errors.HowdahError, RuntimeError):
    """The plan that was written is not the one intended: locations changed meanwhile."""


@dataclass(frozen=True, slots=True)
class WritePart:
    """A task that writes the rows of a part to a file. A row has the columns of `ddl`, and
    `part`, `cost` and `fingerprint` for `PlanFiles.write`."""

    place: Place
    directory: str
    nodes: tuple[str, ...]
    ddl: str

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches(self._written(given), WRITTEN_SCHEMA)

    def _written(self, given: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, int, int]]:
        import pyarrow as pa
        import pyarrow.compute as pc
        from pyspark import TaskContext

        source = (batch for batch in given if batch.num_rows)
        first = next(source, None)
        if first is None:
            return
        fs = self.place.connect()
        assert isinstance(fs, HdfsFileSystem), "plans are written to HDFS alone"
        part = first.column("part")[0].as_py()
        context = TaskContext.get()
        name = f"{part:06}-{context.taskAttemptId() if context else 0}"
        schema = arrow_schema(self.ddl)
        count = fingerprint = cost = 0
        rows_path = f"{self.directory}/rows/{name}"
        with fs.create(rows_path, overwrite=True) as out, pa.ipc.new_stream(out, schema) as writer:
            batch: pa.RecordBatch | None = first
            while batch is not None:
                assert pc.all(pc.equal(batch.column("part"), part)).as_py(), "one part a task"
                columns = [batch.column(field.name).cast(field.type) for field in schema]
                writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
                count += batch.num_rows
                cost += pc.sum(batch.column("cost")).as_py() or 0
                for value in batch.column("fingerprint").to_pylist():
                    fingerprint ^= value & _MASK
                batch = next(source, None)
        length = 1 + min(int(cost) // BYTES_A_MARKS_BYTE, LONGEST_MARK)
        # A part without a node has no favored node.
        favored = [self.nodes[part]] if self.nodes[part] else []
        with fs.create(
            f"{self.directory}/marks/{name}", overwrite=True, replication=1, favored_nodes=favored
        ) as mark:
            mark.write(bytes(length))
        yield name, count, _signed(fingerprint)


@dataclass(frozen=True, slots=True)
class FromPlan:
    """A task that calls another task with the rows of the parts whose marks it gets."""

    place: Place
    directory: str
    task: Task

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from self.task(self._rows(given))

    def _rows(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        fs = self.place.connect()
        for batch in given:
            for mark in batch.column("path").to_pylist():
                name = paths.name_of(mark)
                with (
                    closing(fs.open(f"{self.directory}/rows/{name}")) as stored,
                    pa.ipc.open_stream(stored) as reader,
                ):
                    yield from reader


class PlanFiles:
    """The directory of one plan on the filesystem of `place`."""

    def __init__(self, spark: SparkSession, place: Place) -> None:
        self._spark = spark
        self._place = place
        self._fs = place.connect()
        self._home = paths.join(self._fs.home_directory(), HOME)
        self.directory = paths.join(self._home, uuid.uuid4().hex)
        self._written: DataFrame | None = None

    def prepare(self) -> str | None:
        """Create the directory; return the reason if that fails, or if Spark cannot read it."""
        try:
            self._fs.mkdirs(f"{self.directory}/marks")
            self._fs.mkdirs(f"{self.directory}/rows")
            self._remove_old()
        except (errors.HowdahError, OSError) as error:
            return f"{self._fs.uri}{self.directory} cannot be made: {error}"
        try:
            # To read the schema, Spark asks Java's client, whose configuration may differ.
            self._marks().schema  # noqa: B018
        except Exception as error:
            if not _is_sparks(error):
                raise
            why = str(error).strip().partition("\n")[0]
            self.forget()
            return f"Spark cannot read {self._fs.uri}{self.directory}: {why}"
        return None

    def _remove_old(self) -> None:
        own = self._fs.get_file_status(self.directory).modification_time_ms
        for status in self._fs.list_status(self._home):
            if status.modification_time_ms < own - KEPT_MS:
                self._fs.delete(status.path, recursive=True)

    def write(self, rows: DataFrame, ddl: str, nodes: list[str]) -> tuple[int, int]:
        """Write the parts: `rows` have the columns of `ddl`, `part`, `cost` and
        `fingerprint`; `nodes` has the node of each part, "" for none.

        Returns the number of rows and the XOR of their fingerprints. Raises PlanChanged if
        Spark does not see all files.
        """
        task = WritePart(self._place, self.directory, tuple(nodes), ddl)
        parted = rows.repartitionById(len(nodes), "part")
        reported = Reported(task, WRITTEN_SCHEMA, most_attempts(self._spark))
        written = parted.mapInArrow(reported, with_failures(WRITTEN_SCHEMA)).collect()
        raise_failed(written)
        names = {row["name"] for row in written}
        for status in self._fs.list_status(f"{self.directory}/marks"):
            if status.name not in names:
                self._fs.delete(status.path)
        fingerprint = 0
        for row in written:
            fingerprint ^= row["fingerprint"] & _MASK
        self._written = self._marks()
        seen = {paths.name_of(name) for name in self._written.inputFiles()}
        if seen != names:
            raise PlanChanged(f"Spark sees {len(seen)} of the {len(names)} parts of the plan")
        return sum(row["rows"] for row in written), _signed(fingerprint)

    def map(self, task: Task, ddl: str) -> DataFrame:
        """The rows that `task` makes of each part; to be computed within `one_file_a_partition`."""
        assert self._written is not None, "the plan is written first"
        return self._written.mapInArrow(FromPlan(self._place, self.directory, task), ddl)

    def _marks(self) -> DataFrame:
        own = dict(self._place.settings)
        # The addresses of the namenodes, which Spark may not know.
        options = {name: value for name, value in own.items() if name.startswith(("fs.", "dfs."))}
        reader: Any = self._spark.read.format(FORMAT).options(**options)
        frame: DataFrame = reader.load(f"{self._fs.uri}{glob.escape(self.directory)}/marks").select(
            "path"
        )
        return frame

    def forget(self) -> None:
        """Remove the files."""
        self._fs.delete(self.directory, recursive=True)
        try:
            self._fs.delete(self._home)
        except errors.DirectoryNotEmpty:
            return  # plans of other jobs


@contextmanager
def one_file_a_partition(spark: SparkSession) -> Iterator[None]:
    """Meanwhile Spark puts no two files into one partition."""
    before = spark.conf.get(OPEN_COST, None)
    spark.conf.set(OPEN_COST, _A_PARTITION_EACH)
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(OPEN_COST)
        else:
            spark.conf.set(OPEN_COST, before)


def runs_elsewhere(spark: SparkSession) -> bool:
    """False if all tasks run on the driver's machine, where no node is nearer."""
    master = spark.conf.get("spark.master", "") or ""
    return not (master == "local" or master.startswith("local["))


def _is_sparks(error: Exception) -> bool:
    from pyspark.errors import PySparkException

    # py4j raises errors of Java for which PySpark has no class; with Connect there is no py4j.
    return isinstance(error, PySparkException) or type(error).__module__.startswith("py4j.")


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


NOT_NEAR: Final = "Tasks don't prefer the nodes with replicas"


def nodes_of(own: Sequence[Share], parts: int) -> list[str]:
    """The node of each part; "" for all if no node has parts."""
    nodes = [""] * parts
    for share in own:
        nodes[share.first : share.first + share.count] = [share.node] * share.count
    return nodes


def share_table(spark: SparkSession, own: Sequence[Share]) -> DataFrame:
    """The parts of each node as columns `node`, `first` and `parts`, to be broadcast."""
    import pyarrow as pa

    table = pa.table(
        {
            "node": pa.array([share.node for share in own], type=pa.string()),
            "first": pa.array([share.first for share in own], type=pa.int32()),
            "parts": pa.array([share.count for share in own], type=pa.int32()),
        }
    )
    return created_frame(spark, table).hint("broadcast")


def part_by(hashed: str, parts: int) -> str:
    """An expression for the part of a row that was joined with `share_table`: one of its
    node's parts, or any part if it has no node."""
    own = f"first + cast(pmod({hashed}, parts) as int)"
    return f"coalesce({own}, cast(pmod({hashed}, {parts}) as int))"
