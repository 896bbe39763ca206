"""The result of a task: its counters and its error, in a row that Spark brings to the driver.

A task that fails ends well as far as Spark knows, and names the error in its row
(`common.failures`).

1. Which errors are rows, and when: `common.reported`.
2. A task that fails sets a mark; the other tasks of the job stop soon after.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.copy.common.failures import FAILURES, error_from, error_name, error_text
from howdah.copy.common.task_errors import is_last
from howdah.copy.counters import Counters, names

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, Row

    from howdah.fs.api import FileSystem

FINGERPRINT: Final = "fingerprint"
"""Beside the counters: the sum of `entries.fingerprint_of` over the task's rows."""
SCHEMA: Final = (
    ", ".join(f"{name} long" for name in (*names(), FINGERPRINT)) + ", error string, message string"
)
LOOK_S: Final = 10.0


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
    """Run `work` and yield the task's row. Spark makes up to `attempts` attempts at the task."""
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
    """The sums of all tasks' counters and fingerprints. Raises the error of a task that failed,
    with the number of the others that did."""
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
    """Run the tasks of a frame; the sums of their counters."""
    return summed(frame.collect())[0]


class FailureMark:
    """Tells the tasks of a job that one of them has failed: a directory that exists then."""

    def __init__(
        self, fs: FileSystem, path: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._fs = fs
        self._path = path
        self._clock = clock
        self._next_s = clock()
        self._is_set = False

    def set(self, cause: Exception) -> None:
        """Set the mark; if that fails too, `cause` gets a note."""
        try:
            # Without parents: if the job's directory is gone, the job has ended.
            self._fs.mkdir(self._path)
        except errors.PathExists:
            return  # another task has failed too
        except FAILURES as error:
            cause.add_note(f"{self._path} could not be made: {error}")

    @property
    def is_set(self) -> bool:
        """Whether the mark is set; looked up again every few seconds."""
        if not self._is_set and self._clock() >= self._next_s:
            self._next_s = self._clock() + LOOK_S
            self._is_set = self._fs.exists(self._path)
        return self._is_set
