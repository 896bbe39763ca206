"""One job of Spark for the shares of many directories.

A job takes Spark a tenth of a second whatever it does, and a tree may have thousands of small
directories. So threads share jobs: while one runs, the shares of other threads gather, and the
next job has them all, as a log's commits share a sync. A share that fails fails its own
directory. Where Spark cannot finish a job, each directory of it gets another one of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from howdah.copy.common.arrow_rows import arrow_schema, partitioned
from howdah.copy.common.failures import JobFailed, from_spark
from howdah.copy.common.task_errors import Reported, Task, most_attempts, with_failures

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Row, SparkSession

_REQUEST: Final = "request"


@dataclass(frozen=True, slots=True)
class EachAlone:
    """A task that a failed row does not end; each of its rows has the request that it is of."""

    task: Reported

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        schema = arrow_schema(_with_request(self.task.ddl))
        for batch in given:
            for place in range(batch.num_rows):
                one = batch.slice(place, 1)
                request = one.column(_REQUEST)[0].as_py()
                for made in self.task(iter([one])):
                    numbers = pa.array([request] * made.num_rows, pa.int32())
                    yield pa.RecordBatch.from_arrays([*made.columns, numbers], schema=schema)


def _with_request(ddl: str) -> str:
    return f"{with_failures(ddl)}, {_REQUEST} int"


@dataclass(frozen=True, slots=True)
class Shares:
    """The schema of shares, and the column that tells those of one request apart."""

    schema: str
    key: str


@dataclass(slots=True)
class _Request:
    """What one thread asks for, and what became of it."""

    shares: Sequence[tuple[Any, ...]]
    rows: list[Row] = field(default_factory=list)
    error: JobFailed | None = None
    is_done: bool = False


class SharedJobs:
    """Runs one task for the shares of many threads."""

    def __init__(
        self, spark: SparkSession, task: Task, shares: Shares, ddl: str, most_tasks: int
    ) -> None:
        """`ddl` is the schema of the task's rows."""
        self._spark = spark
        self._shares = shares
        self._ddl = ddl
        self._task = EachAlone(Reported(task, ddl, most_attempts(spark)))
        self._most_tasks = most_tasks
        self._changed = threading.Condition()
        self._waiting: list[_Request] = []
        self._is_running = False

    def run(self, shares: Sequence[tuple[Any, ...]]) -> list[Row]:
        """Return the rows of the task for these shares, including those of failures
        (`raise_failed`).

        Raises `JobFailed` if Spark could not finish the job.
        """
        request = _Request(shares)
        with self._changed:
            self._waiting.append(request)
            self._changed.wait_for(lambda: request.is_done or not self._is_running)
            taken: list[_Request] = []
            if not request.is_done:
                self._is_running = True
                taken, self._waiting = self._waiting, []
        if taken:
            try:
                self._run(taken)
            except BaseException:
                for other in taken:
                    other.error = other.error or JobFailed("the job was interrupted")
                raise
            finally:
                with self._changed:
                    for other in taken:
                        other.is_done = True
                    self._is_running = False
                    self._changed.notify_all()
        if request.error is not None:
            raise request.error
        return request.rows

    def _run(self, taken: list[_Request]) -> None:
        try:
            self._job(taken)
            return
        except JobFailed as error:
            if len(taken) == 1:
                taken[0].error = error
                return
        for request in taken:
            self._run([request])

    def _job(self, taken: list[_Request]) -> None:
        try:
            rows = self._rows_of(taken)
        except Exception as error:
            raise from_spark(error) from error
        for row in rows:
            taken[row[_REQUEST]].rows.append(row)

    def _rows_of(self, taken: list[_Request]) -> list[Row]:
        rows = [
            (*share, number) for number, request in enumerate(taken) for share in request.shares
        ]
        frame = self._spark.createDataFrame(rows, f"{self._shares.schema}, {_REQUEST} int")
        parts = min(self._most_tasks, len(rows))
        work = partitioned(frame, parts, _REQUEST, self._shares.key)
        collected: list[Row] = work.mapInArrow(self._task, _with_request(self._ddl)).collect()
        return collected
