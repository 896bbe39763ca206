"""New files are taken if all that was in the old ones is in them; tasks run in this process."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, cast

import pytest

import howdah
from howdah.copy.common.arrow_rows import batch_of
from howdah.copy.common.filesystems import Place
from howdah.fs.api import FileSystem
from howdah.fs.memory import filesystem as memory
from howdah.spark.compaction import rewriting
from howdah.spark.compaction.concat import Count, Join
from howdah.spark.compaction.directory_swap import new_run
from howdah.spark.compaction.outcome import Compacted
from howdah.spark.compaction.plan import Contents, Plan, plan
from howdah.spark.compaction.rewriting import RewriteOptions, Rewriter
from howdah.spark.compaction.shared_jobs import EachAlone

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pytest.importorskip("pyspark", reason="PySpark is not installed")

_numbers = itertools.count()
Between = Callable[[FileSystem], None]


class Frame:
    """Rows, and tasks that are run here; `between` is called before lines are counted."""

    def __init__(self, batch: Any, between: Callable[[], None]) -> None:
        self._batch = batch
        self._between = between

    def repartition(self, parts: int, *key: str) -> Frame:
        return self

    def mapInArrow(self, task: Callable[[Iterable[Any]], Iterator[Any]], ddl: str) -> Frame:
        assert isinstance(task, EachAlone)
        assert isinstance(task.task.task, (Join, Count))
        if isinstance(task.task.task, Count):
            self._between()
        made = pa.Table.from_batches(task(iter([self._batch])))
        return Frame(made, self._between)

    def collect(self) -> list[dict[str, Any]]:
        return list(self._batch.to_pylist())


class Session:
    conf: ClassVar[dict[str, str]] = {"spark.master": "local[1]"}

    def __init__(self, between: Callable[[], None]) -> None:
        self._between = between

    def createDataFrame(self, rows: list[tuple[Any, ...]], ddl: str) -> Frame:
        return Frame(batch_of(tuple(zip(*rows, strict=True)), ddl), self._between)


@pytest.fixture
def fs() -> Iterator[FileSystem]:
    name = f"rewriting-{next(_numbers)}"
    with howdah.connect(f"mem://{name}/") as connected:
        yield connected
    memory.forget(name)


def chosen(fs: FileSystem, suffix: str = ".log") -> Plan:
    for number in range(4):
        with fs.create(f"/t/d/{number}{suffix}") as out:
            out.write(b"%d\n" % number)
    return plan(Contents("/t/d", 4, 8, 4, 2, (suffix,), 0), 4)


def compacted(fs: FileSystem, what: Plan, between: Between = lambda _: None) -> Compacted:
    session: Any = Session(lambda: between(fs))
    how = RewriteOptions()
    work = Rewriter(session, fs, Place(fs.uri), how, lambda: None, 1 << 20)
    return work.compact(what, new_run())


def content(fs: FileSystem) -> list[bytes]:
    return [fs.open(status.path).read() for status in fs.list_status("/t/d")]


def new_file(fs: FileSystem) -> str:
    (building,) = [s.path for s in fs.list_status("/t") if s.name != "d"]
    return fs.list_status(building)[0].path


def test_all_lines_are_in_the_new_files(fs: FileSystem) -> None:
    done = compacted(fs, chosen(fs))
    assert (done.files_after, done.reason) == (2, "")
    assert content(fs) == [b"0\n1\n", b"2\n3\n"]


def append(fs: FileSystem, path: str) -> None:
    with fs.append(path) as out:
        out.write(b"9\n")


def add(fs: FileSystem, path: str) -> None:
    fs.create(f"{path}.log").close()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda fs, path: fs.truncate(path, 2), "4 rows were written, and 3 are in its files"),
        (append, "4 rows were written, and 5 are in its files"),
        (add, "has 3 files, and 2 were made"),
        (lambda fs, path: fs.delete(path), "File does not exist"),
    ],
    ids=["too few", "too many", "a file of somebody", "no file"],
)
def test_new_files_that_have_not_what_was_written_are_not_taken(
    fs: FileSystem, change: Any, why: str
) -> None:
    done = compacted(fs, chosen(fs), lambda fs: change(fs, new_file(fs)))
    assert done.failed
    assert why in done.reason
    assert content(fs) == [b"0\n", b"1\n", b"2\n", b"3\n"]
    assert [status.name for status in fs.list_status("/t")] == ["d"]


def test_directory_that_is_written_to_is_left_alone(fs: FileSystem) -> None:
    what = chosen(fs)
    with fs.append("/t/d/2.log"):
        done = compacted(fs, what)
    assert (done.failed, done.reason) == (False, "somebody is writing 2.log")
    assert len(content(fs)) == 4


def test_directory_in_which_a_job_has_begun_since_it_was_listed_is_left_alone(
    fs: FileSystem,
) -> None:
    what = chosen(fs)
    fs.mkdirs("/t/d/_temporary")
    assert compacted(fs, what).reason == "it has _temporary beside its files"


class Settings:
    """A Spark session that has settings, and no more."""

    def __init__(self) -> None:
        self.kinds = ["INT96"]
        self.conf = self

    def get(self, key: str) -> str:
        return self.kinds[-1]

    def set(self, key: str, value: str) -> None:
        self.kinds.append(value)


@pytest.mark.parametrize("first_leaves_first", [True, False])
def test_a_setting_is_restored_once_when_the_last_of_two_compactions_is_done(
    first_leaves_first: bool,
) -> None:
    session = Settings()
    timestamps = rewriting._Timestamps(cast("Any", session))
    first, second = (timestamps.written_as("TIMESTAMP_MICROS") for _ in range(2))
    first.__enter__()
    second.__enter__()
    assert session.kinds == ["INT96", "TIMESTAMP_MICROS"]
    leaving = (first, second) if first_leaves_first else (second, first)
    leaving[0].__exit__(None, None, None)
    assert session.kinds == ["INT96", "TIMESTAMP_MICROS"]
    leaving[1].__exit__(None, None, None)
    assert session.kinds == ["INT96", "TIMESTAMP_MICROS", "INT96"]


def test_a_setting_is_restored_though_one_of_two_compactions_fails() -> None:
    session = Settings()
    timestamps = rewriting._Timestamps(cast("Any", session))
    with timestamps.written_as("TIMESTAMP_MICROS"):
        with pytest.raises(OSError, match="gone"), timestamps.written_as("TIMESTAMP_MICROS"):
            raise OSError("gone")
        assert session.kinds[-1] == "TIMESTAMP_MICROS"
    assert session.kinds[-1] == "INT96"


def test_a_compaction_that_needs_another_setting_waits_for_those_before() -> None:
    session = Settings()
    timestamps = rewriting._Timestamps(cast("Any", session))
    seen: list[str] = []

    def other() -> None:
        with timestamps.written_as("TIMESTAMP_MILLIS"):
            seen.append(session.kinds[-1])

    thread = threading.Thread(target=other)
    with timestamps.written_as("TIMESTAMP_MICROS"):
        with timestamps.written_as("TIMESTAMP_MICROS"):
            thread.start()
        # One has left: the setting is still in use.
        assert (seen, session.kinds[-1]) == ([], "TIMESTAMP_MICROS")
    thread.join(20)
    assert seen == ["TIMESTAMP_MILLIS"]
    assert session.kinds == ["INT96", "TIMESTAMP_MICROS", "INT96", "TIMESTAMP_MILLIS", "INT96"]
