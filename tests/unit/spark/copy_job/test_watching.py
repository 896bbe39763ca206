"""A copy that lost its lock while Spark copies ends, and replaces nothing behind the next one."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from howdah import errors
from howdah.copy import results
from howdah.copy.common import filesystems
from howdah.copy.common.failures import CopyFailed
from howdah.copy.common.filesystems import Place
from howdah.copy.common.staging import Staging
from howdah.copy.listing.entries import Entry, Kind, batches
from howdah.copy.locks.tree_lock import LockLost
from howdah.copy.options import Options
from howdah.copy.results import FailureMark
from howdah.copy.tasks import CopyTask
from howdah.fs.memory import filesystem as memory
from howdah.fs.memory.filesystem import MemoryFileSystem
from howdah.spark.copy_job.watching import Watch

STAGING = Staging.of("/dst", False, "0123456789abcdef", "run")


@pytest.fixture
def fs() -> Iterator[MemoryFileSystem]:
    with MemoryFileSystem("watching") as found:
        found.mkdirs(STAGING.own)
        yield found
    memory.forget("watching")


def lost() -> None:
    raise LockLost("another job has it")


def marks(fs: MemoryFileSystem) -> list[FailureMark]:
    return [FailureMark(fs, STAGING.over), FailureMark(fs, STAGING.failed)]


def test_tasks_are_told_that_the_lock_is_lost_and_the_job_fails_for_that(
    fs: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = threading.Event()
    made = fs.mkdir

    def mkdir(path: str, *more: int) -> bool:
        done = made(path, *more)
        if path == STAGING.failed:
            told.set()
        return done

    monkeypatch.setattr(fs, "mkdir", mkdir)

    def tasks() -> None:
        assert told.wait(60)
        assert fs.exists(STAGING.over)
        raise CopyFailed("the staging directory is gone")

    with pytest.raises(LockLost, match="another job has it"), Watch(lost, marks(fs), 0.01):
        tasks()


def test_what_is_found_at_the_end_counts_too_and_nothing_else_is_hidden(
    fs: MemoryFileSystem,
) -> None:
    with pytest.raises(LockLost), Watch(lost, marks(fs), 60):
        pass
    with pytest.raises(CopyFailed), Watch(lambda: None, marks(fs), 60):
        raise CopyFailed("a disk is full")
    with Watch(lambda: None, marks(fs), 0.01):
        pass
    assert not fs.exists(STAGING.over)


def test_no_file_gets_its_name_once_the_job_is_over(
    fs: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyspark")
    fs.write_bytes("/src/f", b"old")
    fs.write_bytes("/dst/f", b"new")
    place = Place(fs.uri)
    monkeypatch.setitem(filesystems._open, (place.uri, place.user, place.settings), fs)
    monkeypatch.setattr(results, "LOOK_S", 0.0)
    task = CopyTask(
        sources=(place,),
        target=place,
        target_path="/dst",
        options=Options(overwrite=True),
        staging=STAGING,
    )
    there = fs.get_file_status("/dst/f")
    entry = Entry.of(Kind.FILE, 0, fs.get_file_status("/src/f"), b"/f", there)
    FailureMark(fs, STAGING.over).set(errors.RemoteError())
    (row,) = (row for batch in task(batches([entry])) for row in batch.to_pylist())
    assert row["error"] == CopyFailed.__name__
    assert "JobOver" in row["message"]
    assert fs.read_bytes("/dst/f") == b"new"
    assert [status.name for status in fs.list_status(STAGING.own)] == ["failed", "over"]
    fs.delete(STAGING.over)
    fs.delete(STAGING.failed)
    (row,) = (row for batch in task(batches([entry])) for row in batch.to_pylist())
    assert row["error"] is None
    assert fs.read_bytes("/dst/f") == b"old"
