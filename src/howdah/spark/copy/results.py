"""What a task has done and what it failed by, as a row that Spark brings to the driver.

A task that fails ends well as far as Spark knows, and says in its row what it failed by.
So the driver has the error as it was, with its class, and reads no stacks of Java's.

1. What another node or another minute may change is raised first: Spark then runs the
   task again, elsewhere if it can. Only the last attempt makes a row of it.
2. What is plain at once (no such path, no permission, a full quota) is a row at once.
3. A task that has failed leaves a mark, and the others of the job stop soon after.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.spark.common.failures import (
    FAILURES,
    PERMANENT,
    SourceGone,
    error_from,
    error_name,
    error_text,
)
from howdah.spark.copy.counters import Counters, names

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, Row, SparkSession

    from howdah.fs.api import FileSystem

FINGERPRINT: Final = "fingerprint"
"""Beside the counters: which rows a task has seen (`entries.fingerprint_of`)."""
SCHEMA: Final = (
    ", ".join(f"{name} long" for name in (*names(), FINGERPRINT)) + ", error string, message string"
)
LOOK_S: Final = 10.0
_SPARKS_ATTEMPTS: Final = "4"


def result(
    counters: Counters, fingerprint: int = 0, error: Exception | None = None
) -> pa.RecordBatch:
    """The row of a task."""
    import pyarrow as pa

    values = counters.as_dict() | {FINGERPRINT: fingerprint}
    columns = {name: pa.array([value], type=pa.int64()) for name, value in values.items()}
    said = (None, None) if error is None else (error_name(error), error_text(error))
    for name, value in zip(("error", "message"), said, strict=True):
        columns[name] = pa.array([value], type=pa.string())
    return pa.RecordBatch.from_pydict(columns)


def result_of(work: Callable[[Counters], None], attempts: int = 1) -> Iterator[pa.RecordBatch]:
    """The row of a task, of which Spark may make so many attempts."""
    counters: Counters = Counters()
    failure: Exception | None = None
    try:
        work(counters)
    except FAILURES as error:
        if not is_last(error, attempts):
            raise
        failure = error
    yield result(counters, error=failure)


def summed(rows: Iterable[Row]) -> tuple[Counters, int]:
    """The sums of what all tasks told, and of their fingerprints. Raises what one failed by,
    and says of how many more."""
    counters, fingerprint = Counters(), 0
    failed = []
    for row in rows:
        values = row.asDict()
        if values["error"] is not None:
            failed.append((values["error"], values["message"]))
        counters += Counters.of(values)
        fingerprint += values[FINGERPRINT]
    if failed:
        error = error_from(*min(failed))
        if len(failed) > 1:
            error.message += f" (and {len(failed) - 1} more tasks failed)"
        raise error
    return counters, fingerprint


def sums_of(frame: DataFrame) -> Counters:
    """The sums of tasks that are run for that."""
    return summed(frame.collect())[0]


def most_attempts(spark: SparkSession) -> int:
    """How often Spark runs a task before it gives the job up."""
    master = spark.conf.get("spark.master", "") or ""
    if master.startswith("local"):
        _, _, attempts = master.removesuffix("]").partition(",")
        return int(attempts) if attempts.strip().isdigit() else 1
    return int(spark.conf.get("spark.task.maxFailures", _SPARKS_ATTEMPTS) or _SPARKS_ATTEMPTS)


def is_last(error: Exception, attempts: int) -> bool:
    """Whether nothing is left to be tried, so that the error is told by a row."""
    cause = error.__cause__ or error
    if isinstance(cause, PERMANENT) or isinstance(error, SourceGone):
        return True
    from pyspark import TaskContext

    context = TaskContext.get()
    return context is None or context.attemptNumber() + 1 >= attempts


class FailureMark:
    """Says to the tasks of a job that one of them has failed: a directory that is there."""

    def __init__(
        self, fs: FileSystem, path: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._fs = fs
        self._path = path
        self._clock = clock
        self._next_s = clock()
        self._is_set = False

    def set(self, cause: Exception) -> None:
        """Say so; if that fails as well, `cause` hears of it."""
        try:
            # Not its parents: without the job's directory there is no job.
            self._fs.mkdir(self._path)
        except errors.PathExists:
            return  # another one has failed, too
        except FAILURES as error:
            cause.add_note(f"{self._path} could not be made: {error}")

    @property
    def is_set(self) -> bool:
        """Asked for anew every few seconds."""
        if not self._is_set and self._clock() >= self._next_s:
            self._next_s = self._clock() + LOOK_S
            self._is_set = self._fs.exists(self._path)
        return self._is_set
