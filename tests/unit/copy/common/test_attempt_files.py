"""Two attempts at one task: nothing that they leave is half, or there twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from howdah.config import Configuration
from howdah.copy.commit_tasks import JoinTask
from howdah.copy.common import filesystems
from howdah.copy.common.attempt_files import AttemptFile, attempt_file, remove_unfinished
from howdah.copy.common.failures import CopyFailed
from howdah.copy.common.filesystems import Place
from howdah.copy.common.staging import Staging
from howdah.copy.copier import BandwidthLimit, Copier, CopySettings
from howdah.copy.listing.entries import WHOLE, Entry, Kind, fingerprint_of
from howdah.copy.options import Options
from howdah.copy.tasks import Attempt, CopyTask
from howdah.errors import PathNotFound, UnsupportedOperation
from howdah.fs.api import FileSystem
from howdah.fs.memory.filesystem import MemoryFileSystem, forget
from howdah.fs.status import FileChecksum
from howdah.protocol.data_transfer.checksum import ChecksumType, crc
from howdah.spark import distcp
from howdah.spark.compaction.concat import join

STAGING = Staging("/dst/.distcp.tmp.0123456789abcdef", "run")


@pytest.fixture
def fs(monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryFileSystem]:
    monkeypatch.setattr(filesystems, "_open", {})
    name = "attempts"
    fs = MemoryFileSystem(name, Configuration())
    fs.mkdirs(STAGING.own)
    yield fs
    forget(name)


def write(fs: FileSystem, path: str, content: bytes) -> None:
    with fs.create(path, overwrite=True) as out:
        out.write(content)


def read(fs: FileSystem, path: str) -> bytes:
    with fs.open(path) as stream:
        return stream.read()


def entry_of(fs: FileSystem, name: str) -> Entry:
    there = fs.get_file_status(f"/dst/{name}") if fs.exists(f"/dst/{name}") else None
    status = fs.get_file_status(f"/src/{name}")
    return Entry.of(Kind.FILE, 0, status, f"/{name}".encode(), there)


def task_of(fs: MemoryFileSystem, **options: Any) -> CopyTask:
    place = Place(fs.uri)
    filesystems._open[place.uri, place.user, place.settings] = fs
    return CopyTask(
        sources=(place,),
        target=place,
        target_path="/dst",
        options=Options(**options),
        staging=STAGING,
    )


def attempt_at(task: CopyTask, number: int) -> Attempt:
    return Attempt(task, 0, number, number, task.task_log(0, number))


class Interrupting:
    """A source that lets something else happen when a file is opened."""

    def __init__(self, fs: FileSystem, happening: Any) -> None:
        self._fs = fs
        self._happening = happening

    def __getattr__(self, name: str) -> Any:
        return getattr(self._fs, name)

    def open(self, path: str) -> Any:
        happening, self._happening = self._happening, lambda: None
        happening()
        return self._fs.open(path)


@pytest.mark.req("OS-065")
def test_two_attempts_at_a_time_leave_each_file_once_and_whole(fs: MemoryFileSystem) -> None:
    write(fs, "/src/a", b"a" * 100)
    entry = entry_of(fs, "a")
    task = task_of(fs)
    slow, quick = attempt_at(task, 0), attempt_at(task, 1)
    slow._sources = [cast(FileSystem, Interrupting(fs, lambda: quick.handle(entry)))]
    slow.handle(entry)
    assert read(fs, "/dst/a") == b"a" * 100
    assert [s.path for _, _, files in fs.walk("/dst") for s in files] == ["/dst/a"]
    assert (slow.finish().files_copied, quick.finish().files_copied) == (1, 1)
    assert slow.fingerprint == quick.fingerprint == fingerprint_of(entry)


def test_attempt_that_comes_second_takes_what_the_first_one_copied(fs: MemoryFileSystem) -> None:
    write(fs, "/src/a", b"a")
    entry = entry_of(fs, "a")
    task = task_of(fs)
    attempt_at(task, 0).handle(entry)
    again = attempt_at(task, 1)
    again.handle(entry)
    assert (again.finish().files_copied, again.finish().files_skipped) == (0, 1)


def test_half_that_a_dead_attempt_wrote_directly_is_not_taken_for_a_file(
    fs: MemoryFileSystem,
) -> None:
    write(fs, "/src/a", b"all of it")
    entry = entry_of(fs, "a")
    write(fs, "/dst/a", b"all")
    again = attempt_at(task_of(fs, direct=True), 1)
    again.handle(entry)
    assert read(fs, "/dst/a") == b"all of it"
    assert again.finish().files_copied == 1


def test_direct_copy_is_not_begun_where_two_attempts_may_run() -> None:
    spark: Any = SimpleNamespace(conf={"spark.speculation": "true"})
    with pytest.raises(UnsupportedOperation, match=r"-direct doesn't go with spark\.speculation"):
        distcp(spark, "/src", "/dst", options=Options(direct=True))
    with pytest.raises(UnsupportedOperation, match=r"-append doesn't go with spark\.speculation"):
        distcp(spark, "/src", "/dst", options=Options(update=True, append=True))


class Summed:
    """A filesystem that has checksums."""

    def __init__(self, fs: FileSystem) -> None:
        self._fs = fs
        self.before_append: Callable[[], object] = lambda: None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._fs, name)

    def get_file_checksum(self, path: str, length: int | None = None, **_: Any) -> FileChecksum:
        content = read(self._fs, path)[:length]
        return FileChecksum("COMPOSITE-CRC32C", crc(ChecksumType.CRC32C, content).to_bytes(4))

    def append(self, path: str, **options: Any) -> Any:
        self.before_append()
        return self._fs.append(path, **options)


def adding(fs: MemoryFileSystem, number: int) -> tuple[Attempt, Summed]:
    """An attempt at a task that adds to files."""
    run, summed = attempt_at(task_of(fs, update=True, append=True), number), Summed(fs)
    run._fs = run._copier._fs = cast(FileSystem, summed)
    run._sources = [cast(FileSystem, summed)]
    return run, summed


@pytest.mark.parametrize("other", ["longer", "same length", "being written", None])
def test_content_is_right_whatever_happened_to_the_target_before_it_was_added_to(
    fs: MemoryFileSystem, other: str | None
) -> None:
    write(fs, "/src/a", b"0123456789")
    write(fs, "/dst/a", b"01234")
    run, summed = adding(fs, 0)
    kept: list[Any] = []

    def happen() -> None:
        if other == "longer":
            write(fs, "/dst/a", b"0123456")
        elif other == "same length":
            write(fs, "/dst/a", b"abcde")
        elif other == "being written":
            kept.append(fs.append("/dst/a"))

    summed.before_append = happen
    run.handle(entry_of(fs, "a"))
    counted = run.finish()
    assert read(fs, "/dst/a") == b"0123456789"
    assert (counted.files_copied, counted.files_retried) == (1, 0 if other is None else 1)
    assert counted.bytes_copied == (5 if other is None else 10)


def test_nothing_is_added_twice(fs: MemoryFileSystem) -> None:
    write(fs, "/src/a", b"0123456789")
    write(fs, "/dst/a", b"01234")
    entry = entry_of(fs, "a")
    summed: Any = Summed(fs)
    copier = Copier(summed, CopySettings(), lambda: "/t", BandwidthLimit(None), lambda _: None)
    assert copier.append(summed, entry, "/dst/a") is None
    told = copier.append(summed, entry, "/dst/a")
    assert told is not None
    assert "has 10 bytes, and no longer 5" in told
    assert read(fs, "/dst/a") == b"0123456789"
    # The attempt after that sees what is there.
    again = attempt_at(task_of(fs, update=True, append=True), 1)
    again.handle(entry)
    assert again.finish().files_skipped == 1


def test_parts_that_an_earlier_attempt_has_joined_are_not_missed(fs: MemoryFileSystem) -> None:
    write(fs, "/src/a", b"0123456789")
    entry = replace(entry_of(fs, "a"), chunk_length=10)
    assert entry.chunk_length != WHOLE
    task = task_of(fs, blocks_per_chunk=1)
    parts = STAGING.chunks(entry.relative)
    write(fs, f"{parts}/{0:020}", b"0123456789")
    joined = JoinTask(task)
    for _ in range(2):
        counted = attempt_at(task, 0).finish()
        joined._file(fs, fs, entry, counted)
        assert counted.files_copied == 1
        assert read(fs, "/dst/a") == b"0123456789"
    fs.delete("/dst/a")
    with pytest.raises(CopyFailed, match="are gone: there are 0 bytes of 10"):
        joined._file(fs, fs, entry, attempt_at(task, 0).finish())


def test_file_has_its_name_when_it_is_complete(fs: MemoryFileSystem) -> None:
    first, second = (AttemptFile(fs, "/log/part-run", number) for number in (1, 2))
    first.out.write(b"whole")
    second.out.write(b"ha")
    first.complete()
    # The second one is killed: it says nothing any more.
    second.out.close()
    assert read(fs, "/log/part-run") == b"whole"
    write(fs, "/log/_SUCCESS", b"")
    remove_unfinished(fs, "/log", "run")
    assert sorted(s.name for s in fs.list_status("/log")) == ["_SUCCESS", "part-run"]
    remove_unfinished(fs, "/absent", "run")


def test_jobs_that_log_to_one_directory_leave_each_others_logs(fs: MemoryFileSystem) -> None:
    """Attempts are numbered by each of them, from 0."""
    task = task_of(fs, log_path="/log")
    tasks = [
        replace(task, log=task.target, staging=replace(STAGING, run=run)) for run in ("r1", "r2")
    ]
    first, second = (task.task_log(0, 0) for task in tasks)
    with second:
        with first:
            second.failed("/b", "gone")
            first.failed("/a", "gone")
        remove_unfinished(fs, "/log", "r1")
        second.failed("/c", "gone")
    later = replace(tasks[0], staging=replace(STAGING, run="r3"))
    with later.task_log(0, 0):
        pass
    logs = {status.name[-2:]: read(fs, status.path) for status in fs.list_status("/log")}
    assert logs == {
        "r1": b"FAIL: /a - gone\n",
        "r2": b"FAIL: /b - gone\nFAIL: /c - gone\n",
        "r3": b"",
    }


def test_file_that_could_not_be_written_is_not_left(fs: MemoryFileSystem) -> None:
    write(fs, "/log/part", b"old")

    def fail() -> None:
        with attempt_file(fs, "/log/part", 1) as out:
            out.write(b"ne")
            raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        fail()
    assert read(fs, "/log/part") == b"old"
    assert [s.name for s in fs.list_status("/log")] == ["part"]


def test_lines_are_joined_beside_what_another_attempt_has_joined(fs: MemoryFileSystem) -> None:
    write(fs, "/src/a.txt", b"1\n")
    share = {
        "directory": "/src",
        "building": "/new",
        "suffix": ".txt",
        "run": "run",
        "number": 0,
        "shares": 1,
    }
    with pytest.raises(PathNotFound):
        join(fs, share, 1)  # its run has ended and given the directory up
    fs.mkdirs("/new")
    assert join(fs, share, 1).records == 1
    dead = AttemptFile(fs, "/new/part-00000-run.txt", 2)
    dead.out.close()
    assert read(fs, "/new/part-00000-run.txt") == b"1\n"
