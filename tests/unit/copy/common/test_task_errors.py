"""Failures of tasks as rows: they pass through the tasks behind, and come back as they were."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pytest

from howdah import errors
from howdah.copy.common.arrow_rows import batches
from howdah.copy.common.failures import CopyFailed
from howdah.copy.common.task_errors import Reported, raise_failed, with_failures

if TYPE_CHECKING:
    from pyspark.sql import Row as SparkRow

DDL = "path binary, size long"
DENIED = errors.AccessDenied("Permission denied: user=eve, path=/a")


class Doubled:
    """A task: a row for each, with twice the size; it fails at a certain size."""

    def __init__(self, fails_at: int, error: Exception) -> None:
        self._fails_at = fails_at
        self._error = error

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in given:
            for row in batch.to_pylist():
                if row["size"] == self._fails_at:
                    raise self._error
                yield from batches([(row["path"], row["size"] * 2)], DDL)


class Brought(dict[str, Any]):
    """A row as Spark brings it."""


def rows(task: Reported, given: Iterable[pa.RecordBatch]) -> list[SparkRow]:
    found = [Brought(row) for batch in task(given) for row in batch.to_pylist()]
    return cast("list[SparkRow]", found)


def sizes(*given: int) -> list[pa.RecordBatch]:
    return list(batches([(b"/%d" % size, size) for size in given], DDL))


def test_rows_of_a_task_that_ends_well_have_no_failure() -> None:
    found = rows(Reported(Doubled(0, DENIED), DDL), sizes(1, 2))
    assert [row["size"] for row in found] == [2, 4]
    raise_failed(found)


def test_failure_comes_back_as_the_error_that_it_was() -> None:
    found = rows(Reported(Doubled(2, DENIED), DDL), sizes(1, 2, 3))
    assert [row["size"] for row in found] == [2, None]
    with pytest.raises(errors.AccessDenied, match="user=eve, path=/a"):
        raise_failed(found)


def test_failure_passes_through_the_tasks_behind_which_go_on() -> None:
    first = Reported(Doubled(2, DENIED), DDL)
    second = Reported(Doubled(0, DENIED), DDL)
    found = rows(second, first(sizes(1, 2)))
    assert [row["size"] for row in found] == [4, None]
    with pytest.raises(errors.AccessDenied):
        raise_failed(found)
    schemas = {batch.schema.names[-1] for batch in second(first(sizes(1, 2)))}
    assert schemas == {with_failures(DDL).split()[-2]}


def test_further_failures_are_counted() -> None:
    failing = Reported(Doubled(1, DENIED), DDL)
    with pytest.raises(errors.AccessDenied, match=r"\(and 1 more tasks failed\)"):
        raise_failed([*rows(failing, sizes(1)), *rows(failing, sizes(1))])


def test_error_of_a_jobs_own_room_is_known_to_those_who_name_it() -> None:
    class Odd(errors.HowdahError, ValueError):
        """An error of one room."""

    found = rows(Reported(Doubled(1, Odd("two headers")), DDL), sizes(1))
    with pytest.raises(Odd, match="two headers"):
        raise_failed(found, Odd)
    with pytest.raises(CopyFailed, match="Odd: two headers"):
        raise_failed(found)


def test_what_may_go_away_is_a_row_at_the_last_attempt_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import pyspark

    number = 0
    context = SimpleNamespace(attemptNumber=lambda: number)
    monkeypatch.setattr(pyspark.TaskContext, "get", staticmethod(lambda: context))
    away = Reported(Doubled(1, OSError(5, "a datanode is away")), DDL, attempts=2)
    with pytest.raises(OSError, match="is away"):
        rows(away, sizes(1))
    assert rows(Reported(Doubled(1, DENIED), DDL, attempts=2), sizes(1))[0]["size"] is None
    number = 1
    assert "is away" in rows(away, sizes(1))[0]["failure"]


def test_defect_is_no_row() -> None:
    with pytest.raises(KeyError):
        rows(Reported(Doubled(1, KeyError("x")), DDL), sizes(1))
