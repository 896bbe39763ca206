"""Links of several targets, over files in memory."""

from __future__ import annotations

import gc
import logging
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest import mock

import pytest

import howdah
from howdah import errors
from howdah.config import Configuration
from howdah.fs.api import FileSystem
from howdah.fs.memory.filesystem import MemoryFileSystem
from howdah.fs.memory.streams import MemoryOutput
from howdah.fs.streams import whole_or_none
from howdah.fs.viewfs.nfly import NflyFileSystem, temporary_of
from howdah.testing.waiting import wait_until

ALL = ("one", "two", "three")


class Nest:
    """A view with one link of three targets, and the targets."""

    def __init__(self, settings: str = "") -> None:
        self.id = uuid.uuid4().hex
        self.settings = settings
        self.targets = {each: howdah.connect(self.uri(each), conf=Configuration()) for each in ALL}
        for fs in self.targets.values():
            fs.mkdirs("/top")
        self.fs = self.view()

    def uri(self, name: str) -> str:
        return f"mem://{name}-{self.id}"

    def view(self) -> FileSystem:
        key = f"fs.viewfs.mounttable.c.linkNfly.{self.settings}./n"
        targets = ",".join(f"{self.uri(each)}/top" for each in ALL)
        return howdah.connect("viewfs://c/", conf=Configuration({key: targets}))

    def having(self, path: str) -> dict[str, bytes]:
        return {
            name: fs.read_bytes(f"/top{path}")
            for name, fs in self.targets.items()
            if fs.exists(f"/top{path}")
        }

    def leftovers(self) -> list[str]:
        return [
            status.path
            for fs in self.targets.values()
            for status in fs.list_status("/top")
            if "_nfly_tmp_" in status.path
        ]

    def broken(self, *names: str) -> Any:
        """Nobody reaches these targets meanwhile."""
        return broken(*(self.uri(name) for name in names))


def broken(*uris: str) -> Any:
    def fails(fs: FileSystem, *arguments: Any, **options: Any) -> Any:
        if fs.uri in uris:
            raise errors.Unreachable(f"{fs.uri} is away")
        return mock.DEFAULT

    stack = mock.MagicMock()
    calls = ("create", "mkdirs", "rename", "delete", "get_file_status", "list_status_iter",
             "_open_input", "set_permission", "set_times")  # fmt: skip
    patches = []
    for name in calls:
        real = getattr(MemoryFileSystem, name)

        def call(fs: Any, *arguments: Any, _real: Any = real, **options: Any) -> Any:
            fails(fs)
            return _real(fs, *arguments, **options)

        patches.append(mock.patch.object(MemoryFileSystem, name, call))

    def stop(*_: object) -> None:
        for each in patches:
            each.stop()

    stack.__enter__.side_effect = lambda *_: [each.start() for each in patches]
    stack.__exit__.side_effect = stop
    return stack


def test_a_file_is_in_all_targets_once_it_is_closed() -> None:
    nest = Nest()
    with nest.fs.create("/n/d/f") as out:
        out.write(b"one")
        out.write(b" two")
        assert out.tell() == 7
        assert nest.having("/d/f") == {}
        with pytest.raises(errors.UnsupportedOperation, match="seen when it is closed"):
            out.hflush()
    assert nest.having("/d/f") == dict.fromkeys(ALL, b"one two")
    assert nest.fs.read_bytes("/n/d/f") == b"one two"
    times = {fs.get_file_status("/top/d/f").modification_time_ms for fs in nest.targets.values()}
    assert len(times) == 1
    assert [each.path for each in nest.fs.list_status("/n/d")] == ["/n/d/f"]
    assert nest.fs.get_file_status("/n/d/f").path == "/n/d/f"
    (link,) = nest.fs.list_status("/")
    assert link.symlink == ",".join(f"{nest.uri(each)}/top" for each in ALL)


def test_one_target_that_is_away_hinders_nobody(caplog: pytest.LogCaptureFixture) -> None:
    nest = Nest()
    with nest.broken("one"), caplog.at_level(logging.WARNING):
        nest.fs.write_bytes("/n/f", b"data")
        assert nest.fs.read_bytes("/n/f") == b"data"
        nest.fs.rename("/n/f", "/n/g")
        nest.fs.mkdirs("/n/d")
    assert nest.having("/g") == {"two": b"data", "three": b"data"}
    assert f"create of /f failed at {nest.uri('one')}/top, and 2 targets have it" in caplog.text
    assert nest.fs.read_bytes("/n/g") == b"data"
    assert nest.fs.delete("/n/g")
    assert nest.having("/g") == {}


@pytest.mark.parametrize("settings", ["", "minReplication=3"])
def test_fewer_than_the_least_are_an_error_and_leave_nothing(settings: str) -> None:
    nest = Nest(settings)
    away = ("one",) if settings else ("one", "two")
    with nest.broken(*away):
        with pytest.raises(errors.RemoteError, match="Failed to sufficiently replicate create"):
            nest.fs.create("/n/f")
        with pytest.raises(errors.RemoteError, match="min="):
            nest.fs.mkdirs("/n/d")
    assert nest.having("/f") == {}
    assert nest.leftovers() == []


def test_a_writer_goes_on_without_a_target_that_fails() -> None:
    nest = Nest()
    out = nest.fs.create("/n/f")
    real = MemoryOutput.write
    bad = [True]

    def write(stream: MemoryOutput, data: Any) -> None:
        if bad and bad.pop():
            raise errors.Unreachable("the first one that writes fails")
        real(stream, data)

    with mock.patch.object(MemoryOutput, "write", write):
        out.write(b"data")
    out.close()
    assert nest.having("/f") == {"two": b"data", "three": b"data"}
    assert nest.leftovers() == []


def test_a_writer_with_too_few_targets_left_fails_and_leaves_nothing() -> None:
    nest = Nest("minReplication=3")
    out = nest.fs.create("/n/f")
    with (
        mock.patch.object(MemoryOutput, "write", side_effect=errors.Unreachable("away")),
        pytest.raises(errors.Unreachable),
    ):
        out.write(b"data")
    with pytest.raises(errors.RemoteError, match="actual=0"):
        out.close()
    assert nest.having("/f") == {}
    assert nest.leftovers() == []


def test_a_file_is_replaced_only_where_that_is_asked_for() -> None:
    nest = Nest()
    nest.fs.write_bytes("/n/f", b"old")
    with pytest.raises(errors.PathExists):
        nest.fs.create("/n/f")
    with nest.fs.create("/n/f", overwrite=True) as out:
        out.write(b"new")
    assert nest.having("/f") == dict.fromkeys(ALL, b"new")
    nest.fs.mkdirs("/n/d")
    with pytest.raises(errors.PathExists):
        nest.fs.create("/n/d", overwrite=True)
    assert nest.leftovers() == []


@pytest.mark.parametrize("settings", ["minReplication=1", ""])
@pytest.mark.parametrize("having", ALL)
def test_a_file_that_one_target_alone_has_is_there(settings: str, having: str) -> None:
    """The others may have been away when it was written."""
    nest = Nest(settings)
    nest.targets[having].write_bytes("/top/f", b"old")
    with pytest.raises(errors.PathExists, match="/n/f already exists"):
        nest.fs.create("/n/f")
    assert nest.having("/f") == {having: b"old"}
    assert nest.leftovers() == []
    with nest.fs.create("/n/f", overwrite=True) as out:
        out.write(b"new")
    assert nest.having("/f") == dict.fromkeys(ALL, b"new")


@pytest.mark.parametrize("settings", ["minReplication=1", ""])
@pytest.mark.parametrize("having", ALL)
def test_a_name_that_one_target_alone_has_is_taken(settings: str, having: str) -> None:
    nest = Nest(settings)
    nest.fs.write_bytes("/n/src", b"new")
    nest.targets[having].write_bytes("/top/f", b"old")
    with pytest.raises(errors.PathExists, match="/n/f already exists"):
        nest.fs.rename("/n/src", "/n/f")
    with pytest.raises(errors.PathExists, match="/n/f already exists"):
        nest.fs.mkdir("/n/f")
    with pytest.raises(errors.PathNotFound, match="/n/nothing"):
        nest.fs.rename("/n/nothing", "/n/f")
    assert nest.having("/f") == {having: b"old"}
    assert nest.having("/src") == dict.fromkeys(ALL, b"new")
    nest.fs.rename("/n/src", "/n/f", overwrite=True)
    assert nest.having("/f") == dict.fromkeys(ALL, b"new")
    with nest.broken("two"):
        nest.fs.rename("/n/f", "/n/g")
    assert set(nest.having("/g")) == {"one", "three"}


def test_what_no_target_has_is_not_found() -> None:
    nest = Nest("readMostRecent=true,repairOnRead=true")
    for look in (nest.fs.get_file_status, nest.fs.read_bytes, nest.fs.list_status):
        with pytest.raises(errors.PathNotFound, match="/n/none"):
            look("/n/none")
    assert not nest.fs.delete("/n/none")
    with nest.broken(*ALL), pytest.raises(errors.RemoteError, match="no target answers"):
        nest.fs.read_bytes("/n/none")


def older(nest: Nest, name: str, data: bytes, mtime_ms: int) -> None:
    nest.targets[name].write_bytes("/top/f", data)
    nest.targets[name].set_times("/top/f", mtime_ms, mtime_ms)


@pytest.mark.parametrize(
    ("settings", "read", "left"),
    [
        ("", b"old", {"one": b"old", "two": b"new"}),
        ("readMostRecent=true", b"new", {"one": b"old", "two": b"new"}),
        ("repairOnRead=true", b"old", {"one": b"old", "two": b"new", "three": b"new"}),
        ("readMostRecent=true,repairOnRead=true", b"new", dict.fromkeys(ALL, b"new")),
    ],
)
def test_what_is_read_and_repaired(settings: str, read: bytes, left: dict[str, bytes]) -> None:
    nest = Nest(settings)
    older(nest, "one", b"old", 1_000)
    older(nest, "two", b"new", 2_000)
    assert nest.fs.read_bytes("/n/f") == read
    assert nest.having("/f") == left
    assert nest.leftovers() == []
    if left.get("three"):
        assert nest.targets["three"].get_file_status("/top/f").modification_time_ms == 2_000


def test_a_repair_that_fails_is_logged_and_the_file_is_read(
    caplog: pytest.LogCaptureFixture,
) -> None:
    nest = Nest("repairOnRead=true")
    older(nest, "one", b"data", 1_000)
    refuse = mock.patch.object(MemoryFileSystem, "create", side_effect=errors.SafeMode("not now"))
    with refuse, caplog.at_level(logging.WARNING):
        assert nest.fs.read_bytes("/n/f") == b"data"
    assert "/f could not be copied from" in caplog.text
    assert nest.having("/f") == {"one": b"data"}


def test_what_it_has_not_is_refused_by_name() -> None:
    nest = Nest()
    nest.fs.write_bytes("/n/f", b"data")
    with pytest.raises(errors.UnsupportedOperation, match="append"):
        nest.fs.append("/n/f")
    with pytest.raises(errors.AccessDenied, match="operation delete"):
        nest.fs.delete("/n", recursive=True)
    fs, path = nest.fs.resolve_path("/n/f")
    assert isinstance(fs, NflyFileSystem)
    assert path == "/f"
    assert [each.uri for each in nest.fs.child_filesystems()] == [nest.uri(each) for each in ALL]


def test_attributes_are_those_of_all_targets() -> None:
    nest = Nest()
    nest.fs.write_bytes("/n/f", b"data")
    nest.fs.set_permission("/n/f", 0o640)
    nest.fs.set_times("/n/f", 5_000, 6_000)
    for fs in nest.targets.values():
        status = fs.get_file_status("/top/f")
        assert (status.permission, status.modification_time_ms) == (0o640, 5_000)
    assert nest.fs.content_summary("/n").length == 4


@pytest.mark.parametrize(
    "name", ["x" * 255, "ä" * 127, "数" * 85, "short"], ids=["1", "2", "3", "short"]
)
def test_the_name_while_it_is_written_is_not_too_long(name: str) -> None:
    found = temporary_of(f"/d/{name}")
    assert found.startswith("/d/_nfly_tmp_")
    assert len(found.removeprefix("/d/").encode()) <= 255
    assert found != temporary_of(f"/d/{name}")


def test_two_who_write_at_a_time_do_not_write_into_each_others_files() -> None:
    nest = Nest()
    one, two = (nest.fs.create("/n/f", overwrite=True) for _ in range(2))
    for stream, data in ((one, b"A" * 3000), (two, b"B" * 1000)):
        stream.write(data)
        stream.flush()
    one.close()
    assert set(nest.having("/f").values()) == {b"A" * 3000}
    two.close()
    assert set(nest.having("/f").values()) == {b"B" * 1000}
    assert nest.leftovers() == []


@pytest.mark.parametrize("settings", ["", "minReplication=1"])
def test_of_two_who_may_not_overwrite_one_has_the_file_in_all_targets(settings: str) -> None:
    """Also where one closes while the other one is between two targets."""
    nest = Nest(settings)
    one, two = (nest.fs.create("/n/f") for _ in range(2))
    one.write(b"one")
    two.write(b"two")
    real = MemoryFileSystem.rename
    begun: list[str] = []

    def rename(fs: MemoryFileSystem, *paths: Any, **options: Any) -> None:
        real(fs, *paths, **options)
        if not begun:
            begun.append(fs.uri)
            with pytest.raises(errors.PathExists):
                two.close()

    with mock.patch.object(MemoryFileSystem, "rename", rename):
        one.close()
    assert nest.having("/f") == {"one": b"one", "two": b"one", "three": b"one"}
    assert nest.leftovers() == []


def test_a_file_that_too_few_targets_took_is_in_none() -> None:
    nest = Nest("minReplication=3")
    out = nest.fs.create("/n/f")
    out.write(b"data")
    real = MemoryFileSystem.rename

    def rename(fs: MemoryFileSystem, *paths: Any, **options: Any) -> None:
        if fs.uri == nest.uri("three"):
            raise errors.Unreachable("away now")
        real(fs, *paths, **options)

    with (
        mock.patch.object(MemoryFileSystem, "rename", rename),
        pytest.raises(errors.RemoteError, match="min=3"),
    ):
        out.close()
    assert nest.having("/f") == {}
    assert nest.leftovers() == []


def test_threads_that_write_to_one_stream_leave_one_content(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nest = Nest()
    write = MemoryOutput.write

    def slow(output: MemoryOutput, data: Any) -> None:
        time.sleep(0.001)  # as over a network
        write(output, data)

    monkeypatch.setattr(MemoryOutput, "write", slow)
    with nest.fs.create("/n/a") as out, ThreadPoolExecutor(4) as pool:
        for letter in "abcd" * 5:
            pool.submit(out.write, letter.encode())
    contents = set(nest.having("/a").values())
    assert len(contents) == 1
    assert sorted(contents.pop()) == sorted(b"abcd" * 5)


def test_a_write_that_is_interrupted_makes_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    nest = Nest()
    write, seen = MemoryOutput.write, []

    def interrupted(output: MemoryOutput, data: Any) -> None:
        seen.append(output)
        if len(seen) == 2:
            raise KeyboardInterrupt
        write(output, data)

    monkeypatch.setattr(MemoryOutput, "write", interrupted)
    out = nest.fs.create("/n/a")
    with pytest.raises(KeyboardInterrupt):
        out.write(b"data")
    with pytest.raises(errors.WriteInterrupted, match="/n/a"):
        out.write(b"more")
    with pytest.raises(errors.WriteInterrupted):
        out.close()
    assert (nest.having("/a"), nest.leftovers()) == ({}, [])


def test_a_stream_that_is_dropped_makes_no_file() -> None:
    nest = Nest()
    out = nest.fs.create("/n/a")
    out.write(b"half")
    del out
    gc.collect()
    wait_until(lambda: not nest.leftovers())
    assert nest.having("/a") == {}


def test_a_copy_that_fails_makes_no_file() -> None:
    nest = Nest()

    def copy() -> None:
        with whole_or_none(nest.fs.create("/n/a")) as out:
            out.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        copy()
    assert (nest.having("/a"), nest.leftovers()) == ({}, [])
