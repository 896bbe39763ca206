"""Threads that share jobs: who gets which rows, whose failure is whose."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import pytest

from howdah import errors
from howdah.copy.common.arrow_rows import batch_of, batches
from howdah.copy.common.failures import JobFailed
from howdah.copy.common.task_errors import raise_failed
from howdah.spark.compaction.shared_jobs import SharedJobs, Shares
from howdah.testing.waiting import wait_until

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

SHARES = Shares("number int", "number")
DDL = "twice long"


def doubled(given: Iterable[Any]) -> Iterator[Any]:
    """Twice the number; of 13 there is none."""
    for batch in given:
        for row in batch.to_pylist():
            if row["number"] == 13:
                raise errors.PathNotFound("there is no 13")
            yield from batches([(2 * row["number"],)], DDL)


class Session:
    """Runs tasks in this process. `before` is called with the rows of each job."""

    conf: ClassVar[dict[str, str]] = {"spark.master": "local[1]"}

    def __init__(self, before: Callable[[list[Any]], None] = lambda rows: None) -> None:
        self.jobs: list[list[Any]] = []
        self._before = before

    def createDataFrame(self, rows: list[Any], ddl: str) -> Session:
        self.jobs.append(rows)
        self._before(rows)
        self._batch = batch_of(tuple(zip(*rows, strict=True)), ddl)
        return self

    def repartition(self, parts: int, *key: str) -> Session:
        assert key == ("request", "number")
        return self

    def mapInArrow(self, task: Callable[[Iterable[Any]], Iterator[Any]], ddl: str) -> Session:
        self._made = pa.Table.from_batches(task(iter([self._batch])))
        return self

    def collect(self) -> list[Any]:
        return list(self._made.to_pylist())


def jobs_of(session: Any) -> SharedJobs:
    return SharedJobs(session, doubled, SHARES, DDL, 20)


def values(rows: Iterable[Any]) -> list[int]:
    return [row["twice"] for row in rows]


def test_shares_that_come_while_a_job_runs_share_the_next_one() -> None:
    begun, may_end = threading.Event(), threading.Event()

    def before(rows: list[Any]) -> None:
        begun.set()
        assert may_end.wait(60)

    session = Session(before)
    jobs = jobs_of(session)
    with ThreadPoolExecutor(5) as pool:
        first = pool.submit(jobs.run, [(1,), (2,)])
        assert begun.wait(60)
        others = [pool.submit(jobs.run, [(number,)]) for number in (3, 4, 5, 13)]
        wait_until(lambda: len(jobs._waiting) == 4)
        may_end.set()
        assert values(first.result()) == [2, 4]
        assert [values(each.result()) for each in others[:3]] == [[6], [8], [10]]
        with pytest.raises(errors.PathNotFound, match="there is no 13"):
            raise_failed(others[3].result())
    assert [len(rows) for rows in session.jobs] == [2, 4]


def test_where_spark_fails_each_has_a_job_of_its_own() -> None:
    begun, may_end = threading.Event(), threading.Event()

    def before(rows: list[Any]) -> None:
        begun.set()
        assert may_end.wait(60)
        if any(number == 7 for number, _ in rows):
            raise RuntimeError("an executor is lost")

    session = Session(before)
    jobs = jobs_of(session)
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(jobs.run, [(1,)])
        assert begun.wait(60)
        bad, good = pool.submit(jobs.run, [(7,)]), pool.submit(jobs.run, [(8,)])
        wait_until(lambda: len(jobs._waiting) == 2)
        may_end.set()
        assert values(first.result()) == [2]
        assert values(good.result()) == [16]
        with pytest.raises(JobFailed, match="an executor is lost"):
            bad.result()
    assert [len(rows) for rows in session.jobs] == [1, 2, 1, 1]


def test_who_is_interrupted_leaves_nobody_waiting() -> None:
    begun, may_end = threading.Event(), threading.Event()

    def before(rows: list[Any]) -> None:
        begun.set()
        assert may_end.wait(60)
        if rows[0][0] == 1:
            raise KeyboardInterrupt

    session = Session(before)
    jobs = jobs_of(session)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(jobs.run, [(1,)])
        assert begun.wait(60)
        other = pool.submit(jobs.run, [(2,)])
        may_end.set()
        with pytest.raises(KeyboardInterrupt):
            first.result()
        assert values(other.result()) == [4]
