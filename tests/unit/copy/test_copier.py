"""One file's copy, and what a task makes of trouble, on files in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.copy.common import filesystems
from howdah.copy.common.failures import CopyFailed, ReadFailed, SourceChanged, error_from
from howdah.copy.common.filesystems import Place
from howdah.copy.common.staging import Staging
from howdah.copy.copier import BandwidthLimit, Copier, CopySettings
from howdah.copy.counters import Counters
from howdah.copy.listing.entries import Entry, Found, Kind, batches
from howdah.copy.options import Attribute, Options, attributes
from howdah.copy.tasks import CopyTask
from howdah.fs.api import FileSystem
from howdah.fs.memory.filesystem import MemoryFileSystem, forget
from howdah.fs.status import FileChecksum


@pytest.fixture
def fs(monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryFileSystem]:
    monkeypatch.setattr(filesystems, "_open", {})
    name = "distcp"
    fs = MemoryFileSystem(name, Configuration())
    # The driver's work.
    fs.mkdirs("/staging")
    yield fs
    forget(name)


class Troubled:
    """A filesystem some of whose methods are others."""

    def __init__(self, fs: FileSystem, **methods: Callable[..., Any]) -> None:
        self._fs = fs
        self._methods = methods

    def __getattr__(self, name: str) -> Any:
        return self._methods.get(name) or getattr(self._fs, name)


def write(fs: FileSystem, path: str, content: bytes) -> Entry:
    with fs.create(path, overwrite=True) as out:
        out.write(content)
    return entry_of(fs, path)


def entry_of(fs: FileSystem, path: str) -> Entry:
    return Entry.of(Kind.FILE, 0, fs.get_file_status(path), b"/f", None)


def read(fs: FileSystem, path: str) -> bytes:
    with fs.open(path) as stream:
        return stream.read()


def copier(fs: Any, manner: CopySettings | None = None) -> Copier:
    return Copier(
        fs,
        manner or CopySettings(buffer_bytes=7),
        lambda: "/staging/1",
        BandwidthLimit(None),
        lambda _: None,
        sleep=lambda _: None,
    )


def names(fs: FileSystem) -> list[str]:
    """All files."""
    return sorted(file.path for _, _, files in fs.walk("/") for file in files)


def test_file_has_its_name_when_it_is_complete(fs: MemoryFileSystem) -> None:
    source = write(fs, "/src", b"content of it")
    seen = []

    def rename(src: str, dst: str, **options: Any) -> None:
        seen.append((src, read(fs, src), fs.exists(dst)))
        fs.rename(src, dst, **options)

    copier(Troubled(fs, rename=rename)).copy(fs, source, "/new/dst")
    assert seen == [("/staging/1", b"content of it", False)]
    assert read(fs, "/new/dst") == b"content of it"
    assert names(fs) == ["/new/dst", "/src"]


def test_a_key_is_copied_with_the_bytes_that_it_encrypts(fs: MemoryFileSystem) -> None:
    """As below `/.reserved/raw`, where a file is replaced while it is copied."""
    source = write(fs, "/src", b"old bytes")
    asked: list[str] = []
    kept: dict[str, bytes] = {}

    def get_xattrs(path: str) -> dict[str, bytes]:
        if not asked:
            write(fs, "/src", b"bytes by the new key")
        asked.append(path)
        return {"raw.key": b"new key"}

    def set_xattr(path: str, name: str, value: bytes) -> None:
        kept[path] = value

    target = Troubled(fs, get_xattrs=lambda path: {}, set_xattr=set_xattr)
    manner = CopySettings(preserve=frozenset({Attribute.RAW}))
    copier(target, manner).copy(Troubled(fs, get_xattrs=get_xattrs), source, "/dst")  # type: ignore[arg-type]
    assert (read(fs, "/dst"), kept["/staging/1"]) == (b"bytes by the new key", b"new key")


def test_nothing_is_written_in_plain_for_a_zone_below_the_target(fs: MemoryFileSystem) -> None:
    source = write(fs, "/src", b"content")

    def trash_root(path: str) -> str:
        return "/zone/.Trash/ann" if path.startswith("/zone/") else "/user/ann/.Trash"

    def create(path: str, **options: Any) -> Any:
        made.append(path)
        return fs.create(path, **options)

    made: list[str] = []
    target = Troubled(fs, scheme="hdfs", trash_root=trash_root, create=create)  # type: ignore[arg-type]
    with pytest.raises(CopyFailed, match=r"/zone/a is in an encryption zone.*-direct"):
        copier(target).copy(fs, source, "/zone/a")
    assert made == []
    copier(target, CopySettings(direct=True)).copy(fs, source, "/zone/a")
    copier(target).copy(fs, source, "/plain")
    assert made == ["/zone/a", "/staging/1"]


def test_direct_copy_has_its_name_from_the_start(fs: MemoryFileSystem) -> None:
    source = write(fs, "/src", b"content")

    def rename(*_: Any, **__: Any) -> None:
        raise AssertionError("nothing is renamed")

    copier(Troubled(fs, rename=rename), CopySettings(direct=True)).copy(fs, source, "/dst")
    assert read(fs, "/dst") == b"content"


@pytest.mark.req("OS-061", "OS-065")
def test_failing_close_fails_the_copy(
    fs: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write(fs, "/src", b"content")

    def create(path: str, **options: Any) -> Any:
        out = fs.create(path, **options)
        whole_close = out.close

        def close() -> None:
            whole_close()
            raise errors.PipelineFailed("the disks are full")

        monkeypatch.setattr(out, "close", close)
        return out

    with pytest.raises(CopyFailed, match=r"File copy failed: .*/src --> .*/dst: .*disks are full"):
        copier(Troubled(fs, create=create)).copy(fs, source, "/dst")
    assert names(fs) == ["/src"]


def test_passing_trouble_is_overcome(fs: MemoryFileSystem) -> None:
    source = write(fs, "/src", b"content")
    failures = [errors.PipelineFailed("once"), errors.CallTimeout("twice")]

    def create(path: str, **options: Any) -> Any:
        if failures:
            raise failures.pop()
        return fs.create(path, **options)

    tool = copier(Troubled(fs, create=create))
    tool.copy(fs, source, "/dst")
    assert read(fs, "/dst") == b"content"
    assert tool.retries == 2


@pytest.mark.parametrize("error", [errors.AccessDenied("no"), errors.SpaceQuotaExceeded("full")])
def test_plain_refusal_is_not_tried_again(fs: MemoryFileSystem, error: Exception) -> None:
    source = write(fs, "/src", b"content")
    calls = []

    def create(*_: Any, **__: Any) -> Any:
        calls.append(1)
        raise error

    with pytest.raises(CopyFailed):
        copier(Troubled(fs, create=create)).copy(fs, source, "/dst")
    assert len(calls) == 1


def test_source_that_is_gone_is_a_read_that_failed(fs: MemoryFileSystem) -> None:
    source = write(fs, "/src", b"content")
    fs.delete("/src")
    with pytest.raises(ReadFailed, match="File copy failed: mem://distcp/src"):
        copier(fs).copy(fs, source, "/dst")
    assert names(fs) == []


def changing(fs: MemoryFileSystem, contents: list[bytes]) -> Any:
    """A filesystem whose /src gets other content each time it was read."""

    def open_(path: str, *rest: Any) -> Any:
        stream = fs.open(path, *rest)
        if contents:
            whole_close = stream.close

            def close() -> None:
                whole_close()
                if contents:
                    write(fs, path, contents.pop(0))
                    fs.set_times(path, 1000 + len(contents))

            stream.close = close
        return stream

    return Troubled(fs, open=open_)


def test_source_that_changes_meanwhile_is_copied_as_it_is_at_last(fs: MemoryFileSystem) -> None:
    source = write(fs, "/src", b"content")
    copied = copier(fs).copy(changing(fs, [b"CONTENT"]), source, "/dst")
    assert read(fs, "/dst") == b"CONTENT"
    assert copied.modification_time_ms == fs.get_file_status("/src").modification_time_ms


def test_source_that_changes_all_the_time_is_an_error(fs: MemoryFileSystem) -> None:
    source = write(fs, "/src", b"0")
    with pytest.raises(SourceChanged, match="/src is being changed while it is copied"):
        copier(fs).copy(changing(fs, [b"1", b"2", b"3", b"4"]), source, "/dst")
    assert names(fs) == ["/src"]


def test_source_that_ends_early_is_no_short_copy(fs: MemoryFileSystem) -> None:
    source = replace(write(fs, "/src", b"content"), length=9)
    with pytest.raises(ReadFailed, match="ended after 7 bytes of 9"):
        copier(fs).copy(fs, source, "/dst")
    assert names(fs) == ["/src"]


def test_other_bytes_at_the_target_are_found(fs: MemoryFileSystem) -> None:
    source = write(fs, "/src", b"content")

    def checksum(*_: Any, **__: Any) -> FileChecksum:
        return FileChecksum("COMPOSITE-CRC32C", b"\0\0\0\1")

    with pytest.raises(CopyFailed, match="Checksum mismatch"):
        copier(Troubled(fs, get_file_checksum=checksum)).copy(fs, source, "/dst")
    assert names(fs) == ["/src"]


DIRECT = CopySettings(direct=True)


def test_direct_copy_of_a_source_that_changes_all_the_time_does_not_stay(
    fs: MemoryFileSystem,
) -> None:
    """It has the source's length and is younger: the next run would take it for a copy."""
    write(fs, "/src", b"first")
    source = entry_of(fs, "/src")
    changed = changing(fs, [b"secnd", b"third", b"forth"])
    with pytest.raises(SourceChanged):
        copier(fs, DIRECT).copy(changed, source, "/dst")
    assert names(fs) == ["/src"]


def test_direct_copy_with_other_bytes_does_not_stay(fs: MemoryFileSystem) -> None:
    source = write(fs, "/src", b"content")

    def checksum(*_: Any, **__: Any) -> FileChecksum:
        return FileChecksum("COMPOSITE-CRC32C", b"\0\0\0\0")

    with pytest.raises(CopyFailed, match="Checksum mismatch"):
        copier(Troubled(fs, get_file_checksum=checksum), DIRECT).copy(fs, source, "/dst")
    assert names(fs) == ["/src"]


def test_old_file_stays_when_the_new_one_fails(fs: MemoryFileSystem) -> None:
    source = write(fs, "/src", b"new")
    write(fs, "/dst", b"old")

    def rename(*_: Any, **__: Any) -> None:
        raise errors.AccessDenied("not here")

    with pytest.raises(CopyFailed):
        copier(Troubled(fs, rename=rename)).copy(fs, source, "/dst")
    assert read(fs, "/dst") == b"old"
    assert names(fs) == ["/dst", "/src"]


# -- tasks --------------------------------------------------------------------------------


def task(**options: Any) -> CopyTask:
    place = Place("mem://distcp")
    staging = Staging.of("/dst", False, "0123456789abcdef", "run")
    place.connect().mkdirs(staging.own)
    return CopyTask((place,), place, "/dst", Options(**options), staging)


def run(task: CopyTask, *rows: Entry) -> Counters:
    (batch,) = task(batches(rows))
    (row,) = batch.to_pylist()
    if row["error"] is not None:
        raise error_from(row["error"], row["message"])
    return Counters.of(row)


def test_unreadable_file_ends_the_task(fs: MemoryFileSystem) -> None:
    source = write(fs, "/src", b"content")
    fs.delete("/src")
    with pytest.raises(ReadFailed):
        run(task(), source)


def test_unreadable_file_is_counted_with_i(fs: MemoryFileSystem) -> None:
    gone = replace(write(fs, "/src", b"content"), source=b"/gone", relative=b"/gone")
    counters = run(task(ignore_failures=True), gone, entry_of(fs, "/src"))
    assert (counters.files_copied, counters.files_failed, counters.bytes_failed) == (1, 1, 7)
    assert read(fs, "/dst/f") == b"content"


def test_directory_that_cannot_be_listed_is_counted_with_i(fs: MemoryFileSystem) -> None:
    row = Entry(Kind.UNREADABLE, 0, b"/closed", b"/closed", owner="Permission denied")
    assert run(task(ignore_failures=True), row).files_failed == 1
    with pytest.raises(ReadFailed, match="Permission denied"):
        run(task(), row)


def test_what_was_of_another_kind_is_copied_once_it_is_deleted(fs: MemoryFileSystem) -> None:
    """By a task that goes by a listing from before."""
    file = replace(write(fs, "/src", b"content"), target=Found.DIRECTORY)
    directory = replace(
        file, kind=Kind.DIRECTORY, source=b"/d", relative=b"/d", target=Found.FILE, target_length=9
    )
    counters = run(replace(task(update=True), replaces_kinds=True), file, directory)
    assert (counters.files_copied, counters.directories_copied) == (1, 1)
    assert read(fs, "/dst/f") == b"content"
    assert fs.is_directory("/dst/d")


@pytest.mark.parametrize(
    ("kind", "there", "message"),
    [
        (Kind.FILE, Found.DIRECTORY, "Target is dir, Source is file"),
        (Kind.DIRECTORY, Found.FILE, "Target is file, Source is dir"),
    ],
)
def test_file_and_directory_do_not_replace_each_other(
    fs: MemoryFileSystem, kind: Kind, there: Found, message: str
) -> None:
    row = replace(write(fs, "/src", b""), kind=kind, target=there)
    with pytest.raises(CopyFailed, match=message):
        run(task(overwrite=True), row)


def test_task_that_is_run_again_leaves_what_it_has_done(
    fs: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyspark

    class Second:
        def partitionId(self) -> int:
            return 0

        def attemptNumber(self) -> int:
            return 1

        def taskAttemptId(self) -> int:
            return 7

    source = write(fs, "/src", b"content")
    assert run(task(), source).files_copied == 1
    monkeypatch.setattr(pyspark.TaskContext, "get", staticmethod(lambda: Second()))
    assert run(task(), source).files_skipped == 1


def test_preserved_attributes_are_there_before_the_name_is(fs: MemoryFileSystem) -> None:
    write(fs, "/src", b"content")
    fs.set_permission("/src", 0o640)
    fs.set_times("/src", 1234, 5678)
    run(task(preserve=attributes("pt")), entry_of(fs, "/src"))
    status = fs.get_file_status("/dst/f")
    assert (status.permission, status.modification_time_ms) == (0o640, 1234)
