"""Where the rows of a listing are kept, so that all steps of a job see the same rows.

`RowsInFiles`: in the staging directory, a file for each task that listed. A lost executor loses
no rows. Jobs that change their target keep the rows so.

`RowsInMemory`: by the executors. If one is lost, Spark runs its tasks again, and they list what
is there by then. That is enough for a dry run, and for a target that has no room for another
file but from which files may be deleted.

Files are named for attempts. The driver reads the files of the attempts that Spark counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, Protocol

from howdah import errors
from howdah.copy.common import arrow_rows
from howdah.copy.common.arrow_rows import created_frame
from howdah.copy.common.failures import FAILURES, error_from, error_text
from howdah.copy.common.filesystems import Place
from howdah.copy.listing.entries import SCHEMA, WAITING, Kind, Sums, arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

Task = Callable[[Iterable["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]

_SUMS: Final = tuple(field.name for field in fields(Sums))
_STORED: Final = "name string, kept long, waiting long, error string, message string, " + ", ".join(
    f"{name} long" for name in _SUMS
)
_NAMES: Final = "name string, part int"
_ROWS, _WAITING = "rows", "waiting"
EVERY: Final = tuple(kind for kind in Kind if kind not in (*WAITING, Kind.SUMS, Kind.FAILED))


class NotStored(errors.HowdahError, OSError):
    """Rows could not be written to files."""


class RowStore(Protocol):
    """The rows of all rounds. `add` raises errors that tasks report."""

    def add(self, given: DataFrame, task: Task) -> Sums:
        """Run a round of tasks and keep their rows; return the sums."""
        ...

    def waiting(self) -> DataFrame:
        """The rows of the last round that the next one begins with."""
        ...

    def of(self, kinds: Sequence[Kind]) -> DataFrame:
        """The rows of these kinds."""
        ...

    def forget(self) -> None: ...


class RowsInMemory:
    """Rows in the executors' memory."""

    def __init__(self) -> None:
        self._parts: list[DataFrame] = []

    def add(self, given: DataFrame, task: Task) -> Sums:
        listed = given.mapInArrow(task, SCHEMA).persist()
        self._parts.append(listed)
        sums = Sums()
        for row in _where(listed, (Kind.SUMS, Kind.FAILED)).collect():
            if row["kind"] == Kind.FAILED:
                raise error_from(row["group"], row["owner"])
            sums += Sums.of_row(row.asDict())
        return sums

    def waiting(self) -> DataFrame:
        return _where(self._parts[-1], WAITING)

    def of(self, kinds: Sequence[Kind]) -> DataFrame:
        first, *others = (_where(part, kinds) for part in self._parts)
        for part in others:
            first = first.unionAll(part)
        return first

    def forget(self) -> None:
        """Let the executors drop the rows."""
        for part in self._parts:
            part.unpersist()


class RowsInFiles:
    """Rows in files of the staging directory, with which the job removes them."""

    def __init__(self, spark: SparkSession, place: Place, directory: str) -> None:
        self._spark = spark
        self._place = place
        self._directory = directory
        self._round = 0
        self._rows: list[str] = []
        self._waiting: list[str] = []

    def add(self, given: DataFrame, task: Task) -> Sums:
        store = StoreRows(self._place, self._directory, self._round, task)
        self._round += 1
        self._waiting = []
        sums = Sums()
        for row in given.mapInArrow(store, _STORED).collect():
            if row["error"] == NotStored.__name__:
                raise NotStored(row["message"])
            if row["error"] is not None:
                raise error_from(row["error"], row["message"])
            sums += Sums(*(row[name] for name in _SUMS))
            if row["kept"]:
                self._rows.append(row["name"])
            if row["waiting"]:
                self._waiting.append(row["name"])
        return sums

    def waiting(self) -> DataFrame:
        return self._read(self._waiting, _WAITING, WAITING)

    def of(self, kinds: Sequence[Kind]) -> DataFrame:
        return self._read(self._rows, _ROWS, kinds)

    def _read(self, names: list[str], suffix: str, kinds: Sequence[Kind]) -> DataFrame:
        import pyarrow as pa

        table = pa.table(
            {
                "name": pa.array([f"{name}.{suffix}" for name in names], type=pa.string()),
                "part": pa.array(range(len(names)), type=pa.int32()),
            }
        )
        named = created_frame(self._spark, table, _NAMES)
        if len(names) > 1:
            named = named.repartitionById(len(names), "part")
        wanted = tuple(int(kind) for kind in kinds)
        return named.mapInArrow(ReadRows(self._place, self._directory, wanted), SCHEMA)

    def forget(self) -> None:
        """The files go with the staging directory."""


def _where(listed: DataFrame, kinds: Sequence[Kind]) -> DataFrame:
    return listed.where(f"kind in ({', '.join(str(int(kind)) for kind in kinds)})")


@dataclass(frozen=True, slots=True)
class StoreRows:
    """A task that stores the rows of another task, `task`, in files."""

    place: Place
    directory: str
    round: int
    task: Task

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        partition = context.partitionId() if context else 0
        unique = context.taskAttemptId() if context else 0
        name = f"{self.round:03}-{partition:05}-{unique}"
        try:
            stored = self._stored(given, name)
        except FAILURES as error:
            nothing = (0,) * len(_SUMS)
            stored = (name, 0, 0, NotStored.__name__, error_text(error), *nothing)
        yield from arrow_rows.batches([stored], _STORED)

    def _stored(self, given: Iterable[pa.RecordBatch], name: str) -> arrow_rows.Row:
        sums = Sums()
        error = message = None
        with ExitStack() as stack:
            kept = _File(stack, self.place, f"{self.directory}/{name}.{_ROWS}")
            waiting = _File(stack, self.place, f"{self.directory}/{name}.{_WAITING}")
            for batch in self.task(given):
                kept.write(_filtered(batch, EVERY))
                waiting.write(_filtered(batch, WAITING))
                for row in _filtered(batch, (Kind.SUMS, Kind.FAILED)).to_pylist():
                    if row["kind"] == Kind.FAILED:
                        error, message = row["group"], row["owner"]
                    else:
                        sums += Sums.of_row(row)
        counted = (getattr(sums, field) for field in _SUMS)
        return name, kept.count, waiting.count, error, message, *counted


class _File:
    """A file of rows: created with the first row, closed when `stack` ends."""

    def __init__(self, stack: ExitStack, place: Place, path: str) -> None:
        self._stack = stack
        self._place = place
        self._path = path
        self._writer: Any = None
        self.count = 0

    def write(self, batch: pa.RecordBatch) -> None:
        import pyarrow as pa

        if not batch.num_rows:
            return
        if self._writer is None:
            # Only the driver creates the directory, so an attempt that was given up cannot write.
            created = self._place.connect().create(self._path, create_parent=False)
            out = self._stack.enter_context(created)
            self._writer = self._stack.enter_context(pa.ipc.new_stream(out, arrow_schema()))
        self._writer.write_batch(batch)
        self.count += batch.num_rows


@dataclass(frozen=True, slots=True)
class ReadRows:
    """Reads the rows of files, as a task whose own rows are the files' names."""

    place: Place
    directory: str
    kinds: tuple[int, ...]

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        fs = self.place.connect()
        for batch in given:
            for name in batch.column(0).to_pylist():
                with (
                    closing(fs.open(f"{self.directory}/{name}")) as stored,
                    pa.ipc.open_stream(stored) as reader,
                ):
                    for record_batch in reader:
                        chosen = _filtered(record_batch, self.kinds)
                        if chosen.num_rows:
                            yield chosen


def _filtered(batch: pa.RecordBatch, kinds: Sequence[int]) -> pa.RecordBatch:
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = pa.array([int(kind) for kind in kinds], type=pa.int32())
    return batch.filter(pc.is_in(batch.column("kind"), value_set=wanted))
