"""What a task failed by, as a row beside the task's own rows.

A task that raises fails a Spark job with a text that has the stacks of two languages. A task in
`Reported` ends well as far as Spark knows: its rows have two more columns, `error` and `failure`,
null in the rows of the task itself; a failure is a row that has only these. Such a row passes
through the tasks behind, and the driver raises the error as it was (`raise_reported`).

1. An error that may go away on another node or after a minute is raised: Spark then runs the
   task again, elsewhere if it can. Only the last attempt reports the error in a row.
2. A permanent error (no such path, no permission, quota exceeded) is a row at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.copy.common.arrow_rows import arrow_schema, batches
from howdah.copy.common.failures import (
    FAILURES,
    PERMANENT,
    SourceGone,
    error_from,
    error_name,
    error_text,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import Row as SparkRow

Task = Callable[[Iterable["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]

ERROR: Final = "error"
_TEXT: Final = "failure"
"""The column of an error's message; some tasks have a column `message` of their own."""
FAILURE_COLUMNS: Final = (ERROR, _TEXT)
_MOST: Final = 1000
_SPARKS_ATTEMPTS: Final = "4"
_Failure = tuple[str, str]


def with_failures(ddl: str) -> str:
    """The schema of a task in `Reported`; `ddl` is that of the task itself.

    >>> with_failures("path binary")
    'path binary, error string, failure string'
    """
    return f"{ddl}, {ERROR} string, {_TEXT} string"


@dataclass(frozen=True, slots=True)
class Reported:
    """Runs a task, and reports its failure as a row. `ddl` is the schema of its own rows; Spark
    makes up to `attempts` attempts at it."""

    task: Task
    ddl: str
    attempts: int = 1

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        schema = arrow_schema(with_failures(self.ddl))
        failed: list[_Failure] = []
        try:
            for batch in self.task(_sound(given, failed)):
                nothing = pa.nulls(batch.num_rows, pa.string())
                columns = [batch.column(field.name) for field in arrow_schema(self.ddl)]
                yield pa.RecordBatch.from_arrays([*columns, nothing, nothing], schema=schema)
        except FAILURES as error:
            if not is_last(error, self.attempts):
                raise
            failed.append((error_name(error), error_text(error)))
        nulls = (None,) * (len(schema) - 2)
        yield from batches(((*nulls, *failure) for failure in failed), with_failures(self.ddl))


def _sound(given: Iterable[pa.RecordBatch], failed: list[_Failure]) -> Iterator[pa.RecordBatch]:
    """The batches without the rows of failures, which are appended to `failed`."""
    import pyarrow.compute as pc

    for batch in given:
        if ERROR not in batch.schema.names:
            yield batch
            continue
        is_sound = pc.is_null(batch.column(ERROR))
        rows = batch.filter(pc.invert(is_sound)).select(list(FAILURE_COLUMNS)).to_pylist()
        failed.extend((row[ERROR], row[_TEXT]) for row in rows)
        own = [name for name in batch.schema.names if name not in FAILURE_COLUMNS]
        yield batch.filter(is_sound).select(own)


def raise_failed(rows: Iterable[SparkRow], *kinds: type[errors.HowdahError]) -> None:
    """Raise the error of a row that has one, with the number of the others. `kinds` are errors
    of the job's own room."""
    failed = [(row[ERROR], row[_TEXT]) for row in rows if row[ERROR] is not None]
    if not failed:
        return
    error = error_from(*min(failed), *kinds)
    if len(failed) > 1:
        error.message += f" (and {len(failed) - 1} more tasks failed)"
    raise error


def raise_reported(rows: DataFrame, *kinds: type[errors.HowdahError]) -> None:
    """The same for a frame, whose rows stay with the executors. This computes it: keep it first
    (`persist`)."""
    raise_failed(rows.where(f"{ERROR} is not null").limit(_MOST).collect(), *kinds)


def most_attempts(spark: SparkSession) -> int:
    """How often Spark runs a task before it gives up the job."""
    master = spark.conf.get("spark.master", "") or ""
    if master.startswith("local"):
        _, _, attempts = master.removesuffix("]").partition(",")
        return int(attempts) if attempts.strip().isdigit() else 1
    return int(spark.conf.get("spark.task.maxFailures", _SPARKS_ATTEMPTS) or _SPARKS_ATTEMPTS)


def is_last(error: Exception, attempts: int) -> bool:
    """Whether the error is to be reported in a row: it is permanent, or this is the last
    attempt."""
    cause = error.__cause__ or error
    if isinstance(cause, PERMANENT) or isinstance(error, SourceGone):
        return True
    from pyspark import TaskContext

    context = TaskContext.get()
    return context is None or context.attemptNumber() + 1 >= attempts
