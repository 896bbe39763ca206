"""What tasks tell the driver: sums, what they failed by, and the rows of a listing."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.copy import results
from howdah.copy.common import filesystems
from howdah.copy.common.failures import CopyFailed, ReadFailed, SourceGone, error_from
from howdah.copy.common.filesystems import Place
from howdah.copy.common.staging import Staging
from howdah.copy.common.task_errors import is_last, most_attempts
from howdah.copy.counters import Counters
from howdah.copy.listing.entries import Entry, Found, Kind, batches, entries
from howdah.copy.listing.walking import Walk
from howdah.copy.options import Options
from howdah.copy.results import FailureMark, result, result_of, summed
from howdah.copy.tasks import CopyTask
from howdah.fs.memory.filesystem import MemoryFileSystem, forget
from howdah.spark.listing.row_stores import ReadRows, StoreRows
from howdah.spark.listing.tree import FAILED, ListTree

PLACE = Place("mem://results")
STAGING = Staging("/t/.distcp.tmp.0123456789abcdef", "run")


@pytest.fixture
def fs(monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryFileSystem]:
    monkeypatch.setattr(filesystems, "_open", {})
    fs = MemoryFileSystem("results", Configuration())
    fs.mkdirs(STAGING.listing)
    yield fs
    forget("results")


@pytest.fixture
def attempt(monkeypatch: pytest.MonkeyPatch) -> Any:
    """As if this were an attempt of Spark's at a task."""

    def arrange(number: int) -> None:
        import pyspark

        context = SimpleNamespace(
            attemptNumber=lambda: number, partitionId=lambda: 0, taskAttemptId=lambda: number
        )
        monkeypatch.setattr(pyspark.TaskContext, "get", staticmethod(lambda: context))

    return arrange


class Told:
    """A row as Spark brings it."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def asDict(self) -> dict[str, Any]:
        return self._values


def rows(*of: Any) -> list[Any]:
    return [Told(row) for batch in of for row in batch.to_pylist()]


def test_sums_of_tasks_come_together() -> None:
    given = rows(result(Counters(files_copied=1), 5), result(Counters(files_copied=2), 6))
    assert summed(given) == (Counters(files_copied=3), 11)


@pytest.mark.parametrize(
    "error",
    [
        ReadFailed("Cannot read /a"),
        SourceGone("/a is gone"),
        errors.AccessDenied("Permission denied: user=eve"),
        errors.QuotaExceeded("full"),
    ],
)
def test_error_comes_back_as_it_was(error: errors.HowdahError) -> None:
    with pytest.raises(type(error)) as raised:
        summed(rows(result(Counters(), error=error)))
    assert str(raised.value) == str(error)


def test_error_of_the_system_is_told_with_its_class() -> None:
    with pytest.raises(CopyFailed, match="OSError: disk"):
        summed(rows(result(Counters(), error=OSError("disk"))))
    assert str(error_from("no/class", "x")) == "no/class: x"
    assert str(error_from("annotations", "x")) == "annotations: x"


def test_name_that_is_no_text_can_be_told() -> None:
    with pytest.raises(errors.InvalidPath, match=r"/a\\xe9\\n"):
        summed(rows(result(Counters(), error=errors.InvalidPath("/a\udce9\n"))))


def test_more_failures_are_counted() -> None:
    failed = [result(Counters(), error=CopyFailed(text)) for text in ("b", "a", "c")]
    with pytest.raises(CopyFailed) as raised:
        summed(rows(result(Counters()), *failed))
    assert str(raised.value) == "a (and 2 more tasks failed)"


def test_what_another_attempt_may_change_is_left_to_spark(attempt: Any) -> None:
    def work(counters: Counters) -> None:
        counters.files_copied += 1
        raise CopyFailed("a datanode is away")

    attempt(2)
    with pytest.raises(CopyFailed):
        list(result_of(work, attempts=4))
    attempt(3)
    (batch,) = result_of(work, attempts=4)
    assert batch.to_pylist()[0]["message"] == "a datanode is away"
    assert batch.to_pylist()[0]["files_copied"] == 1


def test_what_nothing_will_change_is_told_at_once(attempt: Any) -> None:
    attempt(0)
    denied = CopyFailed("no")
    denied.__cause__ = errors.AccessDenied("no")
    assert is_last(denied, 4)
    assert is_last(SourceGone("gone"), 4)
    assert not is_last(CopyFailed("a datanode is away"), 4)


def test_defect_is_no_row() -> None:
    def work(_: Counters) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(result_of(work))


@pytest.mark.parametrize(
    ("conf", "attempts"),
    [
        ({"spark.master": "local[2]"}, 1),
        ({"spark.master": "local"}, 1),
        ({"spark.master": "local[*, 3]"}, 3),
        ({"spark.master": "spark://h:7077"}, 4),
        ({"spark.master": "yarn", "spark.task.maxFailures": "7"}, 7),
        ({}, 4),
    ],
)
def test_attempts_are_as_many_as_spark_makes(conf: dict[str, str], attempts: int) -> None:
    spark: Any = SimpleNamespace(conf=conf)
    assert most_attempts(spark) == attempts


def test_mark_is_asked_for_every_few_seconds(fs: MemoryFileSystem) -> None:
    now_s = [0.0]
    mark = FailureMark(fs, STAGING.failed, clock=lambda: now_s[0])
    assert not mark.is_set
    FailureMark(fs, STAGING.failed).set(OSError())
    FailureMark(fs, STAGING.failed).set(OSError())
    assert not mark.is_set
    now_s[0] = results.LOOK_S
    assert mark.is_set
    # A job whose directory is gone is over.
    fs.delete(STAGING.own, recursive=True)
    cause = OSError()
    FailureMark(fs, STAGING.failed).set(cause)
    assert "could not be made" in cause.__notes__[0]
    assert not fs.exists(STAGING.own)


def test_task_that_fails_stops_those_that_come_after_it(fs: MemoryFileSystem) -> None:
    with fs.create("/s/a") as out:
        out.write(b"1")
    here = Entry.of(Kind.FILE, 0, fs.get_file_status("/s/a"), b"/a", None)
    gone = Entry(Kind.FILE, 0, b"/s/gone", b"/gone", length=1)
    task = CopyTask((PLACE,), PLACE, "/t", Options(), STAGING)
    (first,) = task(batches([gone]))
    assert first.to_pylist()[0]["error"] == "ReadFailed"
    (second,) = task(batches([here]))
    assert second.to_pylist()[0]["files_copied"] == 0
    assert not fs.exists("/t/a")


# --- the listing --------------------------------------------------------------------------


def test_rows_of_a_listing_are_read_from_files_as_they_were(fs: MemoryFileSystem) -> None:
    for number in range(5):
        fs.create(f"/s/d{number}/f").close()
    begin = Entry(Kind.ROOT, 0, b"/s", b"", target=Found.ABSENT)
    walk = Walk((PLACE,), PLACE, "/t", True, roots=(begin,), most_entries=12)
    listed = [entry for batch in walk(iter(())) for entry in entries(batch)]
    (batch,) = StoreRows(PLACE, STAGING.listing, 0, walk)(iter(()))
    (row,) = batch.to_pylist()
    kinds = {"rows": (Kind.FILE, Kind.DIRECTORY), "waiting": (Kind.PENDING,)}
    for suffix, wanted in kinds.items():
        read = ReadRows(PLACE, STAGING.listing, tuple(map(int, wanted)))
        found = [e for b in read(named(f"{row['name']}.{suffix}")) for e in entries(b)]
        assert found == [entry for entry in listed if entry.kind in wanted]
        assert len(found) == row["kept" if suffix == "rows" else "waiting"] > 0
    assert (row["files"], row["directories"], row["error"]) == (2, 5, None)


def test_failed_listing_is_a_row(fs: MemoryFileSystem) -> None:
    begin = Entry(Kind.ROOT, 0, b"/gone", b"", target=Found.ABSENT)
    walk = Walk((PLACE,), PLACE, "/t", True, roots=(begin,))
    (batch,) = StoreRows(PLACE, STAGING.listing, 0, walk)(iter(()))
    (row,) = batch.to_pylist()
    assert (row["error"], row["message"]) == ("SourceGone", "mem://results/gone is gone")
    assert fs.list_status(STAGING.listing) == []


def named(*names: str) -> Iterator[Any]:
    import pyarrow as pa

    yield pa.RecordBatch.from_pydict({"name": pa.array(names), "part": pa.array(range(len(names)))})


def test_tree_that_cannot_be_listed_is_a_row(
    fs: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(self: MemoryFileSystem, path: str) -> Any:
        raise errors.AccessDenied(f"Permission denied: user=eve, path={path}")

    monkeypatch.setattr(MemoryFileSystem, "list_status_iter", denied)
    (batch,) = ListTree(PLACE)(batch_of_paths("/closed"))
    (row,) = batch.to_pylist()
    assert (row["type"], row["owner"]) == (FAILED, "AccessDenied")
    assert row["path"] == b"Permission denied: user=eve, path=/closed"


def batch_of_paths(*found: str) -> Iterator[Any]:
    import pyarrow as pa

    yield pa.RecordBatch.from_pydict({"path": pa.array([path.encode() for path in found])})
