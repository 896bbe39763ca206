"""Filesystems of fsspec's behind the interface of howdah's."""

from __future__ import annotations

import io
import socket
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from howdah import errors
from howdah.fs.api import FileSystem
from howdah.fs.fsspec_adapter import ForeignFileSystem, ForeignInput
from howdah.fs.registry import connect
from howdah.fs.streams import FSDataInputStream

pytest.importorskip("fsspec", reason="fsspec is not installed")


@pytest.fixture(params=["local", "memory"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "local":
        yield f"local://{tmp_path}/x"
    else:
        # Everybody in the process sees the same memory.
        yield f"memory://{tmp_path}/x"


@pytest.fixture
def fs(root: str) -> FileSystem:
    fs = connect(root)
    fs.mkdirs(root)
    return fs


def test_file_is_written_read_and_listed(fs: FileSystem, root: str) -> None:
    with fs.create(f"{root}/d/a 50%", overwrite=True) as out:
        out.write(b"content")
    with fs.open(f"{root}/d/a 50%") as stream:
        assert stream.read(3) == b"con"
        assert stream.pread(1, 2) == b"on"
        assert stream.read() == b"tent"
    status = fs.get_file_status(f"{root}/d/a 50%")
    assert (status.name, status.length, status.is_file) == ("a 50%", 7, True)
    assert status.modification_time_ms > 0
    assert [s.path for s in fs.list_status(f"{root}/d")] == [status.path]
    assert [s.name for s in fs.list_status(root)] == ["d"]
    assert fs.content_summary(root).length == 7


def test_what_is_not_there_is_said_so(fs: FileSystem, root: str) -> None:
    for ask in (fs.get_file_status, fs.open, fs.list_status):
        with pytest.raises(errors.PathNotFound):
            ask(f"{root}/nothing")
    assert not fs.exists(f"{root}/nothing")
    assert not fs.delete(f"{root}/nothing")


def test_rename_replaces_only_where_that_is_wanted(fs: FileSystem, root: str) -> None:
    for name in ("a", "b"):
        with fs.create(f"{root}/{name}") as out:
            out.write(name.encode())
    with pytest.raises(errors.PathExists):
        fs.rename(f"{root}/a", f"{root}/b")
    fs.rename(f"{root}/a", f"{root}/b", overwrite=True)
    assert [s.name for s in fs.list_status(root)] == ["b"]
    with fs.open(f"{root}/b") as stream:
        assert stream.read() == b"a"


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize(
    ("source", "target", "error"),
    [
        ("a", "a/b", errors.RemoteError),
        ("a", "a", errors.PathExists),
        ("a", "full", (errors.DirectoryNotEmpty, errors.PathExists)),
        ("a", "file", (errors.RemoteError, errors.PathExists)),
        ("file", "a", (errors.RemoteError, errors.PathExists)),
        ("a/f", "file/x", errors.ParentNotDirectory),
        ("none", "new", errors.PathNotFound),
        ("a", "/", errors.RemoteError),
        ("/", "new", errors.RemoteError),
    ],
)
def test_a_rename_that_makes_no_sense_loses_nothing(
    fs: FileSystem,
    root: str,
    source: str,
    target: str,
    error: type[Exception] | tuple[type[Exception], ...],
    overwrite: bool,
) -> None:
    for name in ("a/f", "full/g", "file"):
        fs.write_bytes(f"{root}/{name}", name.encode())
    ends = [name if name == "/" else f"{root}/{name}" for name in (source, target)]
    with pytest.raises(error):
        fs.rename(*ends, overwrite=overwrite)
    for name in ("a/f", "full/g", "file"):
        assert fs.read_bytes(f"{root}/{name}") == name.encode()


def test_a_directory_takes_the_place_of_an_empty_one(fs: FileSystem, root: str) -> None:
    fs.write_bytes(f"{root}/a/f", b"x")
    fs.mkdirs(f"{root}/empty")
    fs.rename(f"{root}/a", f"{root}/empty", overwrite=True)
    assert fs.read_bytes(f"{root}/empty/f") == b"x"
    assert not fs.exists(f"{root}/a")


def test_a_listing_is_in_order(fs: FileSystem, root: str) -> None:
    for name in ("c", "a", "b", "d/x"):
        fs.write_bytes(f"{root}/{name}", b"x")
    assert [each.name for each in fs.list_status(root)] == ["a", "b", "c", "d"]


def test_a_file_is_no_directory_to_make(fs: FileSystem, root: str) -> None:
    fs.write_bytes(f"{root}/file", b"x")
    with pytest.raises(errors.PathExists):
        fs.mkdirs(f"{root}/file")
    with pytest.raises(errors.ParentNotDirectory):
        fs.write_bytes(f"{root}/file/x", b"x")


def test_the_root_is_not_deleted(tmp_path: Path) -> None:
    fs = connect("memory://")
    fs.write_bytes(f"{tmp_path}/f", b"x")
    with pytest.raises(errors.DirectoryNotEmpty):
        fs.delete("/")
    assert not fs.delete("/", recursive=True)
    assert fs.exists(f"{tmp_path}/f")


def test_create_replaces_only_where_that_is_wanted(fs: FileSystem, root: str) -> None:
    fs.create(f"{root}/a").close()
    with pytest.raises(errors.PathExists):
        fs.create(f"{root}/a")


@pytest.mark.parametrize("scheme", ["har", "nobody"])
def test_schemes_of_hadoop_are_not_left_to_fsspec(scheme: str) -> None:
    with pytest.raises(errors.UnsupportedOperation, match=f"No filesystem for scheme '{scheme}'"):
        connect(f"{scheme}://host/a")


def test_directory_with_files_is_deleted_only_as_a_whole(fs: FileSystem, root: str) -> None:
    fs.create(f"{root}/d/a").close()
    with pytest.raises(errors.DirectoryNotEmpty):
        fs.delete(f"{root}/d")
    assert fs.delete(f"{root}/d", recursive=True)
    assert not fs.exists(f"{root}/d")


def test_server_that_is_named_by_the_uri_is_asked() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(errors.Unreachable, match=f"Cannot connect to ftp://127.0.0.1:{port}"):
        connect(f"ftp://127.0.0.1:{port}/a")


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    with pytest.raises(errors.UnsupportedOperation, match=r"gcs:// needs a package.*gcsfs"):
        connect("gcs://bucket/a")


NAMES = ("r[1]", "r?", "r*", "[!x]1", "**", "[[]")


@pytest.mark.parametrize("name", NAMES)
def test_names_that_could_be_patterns_are_names(fs: FileSystem, root: str, name: str) -> None:
    for each in (name, "r1"):
        fs.write_bytes(f"{root}/files/{each}", each.encode())
        fs.write_bytes(f"{root}/trees/{each}/d/part", each.encode())
        fs.mkdirs(f"{root}/trees/{each}/none")
    fs.rename(f"{root}/files/{name}", f"{root}/files/{name}.new")
    fs.rename(f"{root}/trees/{name}", f"{root}/trees/{name}.new")
    assert {status.name for status in fs.list_status(f"{root}/files")} == {"r1", f"{name}.new"}
    assert fs.read_bytes(f"{root}/trees/{name}.new/d/part") == name.encode()
    assert fs.is_directory(f"{root}/trees/{name}.new/none")
    fs.rename(f"{root}/files/{name}.new", f"{root}/files/{name}")
    fs.rename(f"{root}/trees/{name}.new", f"{root}/trees/{name}")
    assert fs.delete(f"{root}/files/{name}")
    assert fs.delete(f"{root}/trees/{name}", recursive=True)
    assert [status.name for status in fs.list_status(f"{root}/files")] == ["r1"]
    assert [status.name for status in fs.list_status(f"{root}/trees")] == ["r1"]
    assert fs.read_bytes(f"{root}/trees/r1/d/part") == b"r1"
    assert not fs.delete(f"{root}/files/{name}")


def test_filesystem_that_takes_names_for_patterns_only_removes_nothing(
    fs: FileSystem, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rm_file(path: str) -> None:
        raise NotImplementedError

    assert isinstance(fs, ForeignFileSystem)
    for name in ("r[1]", "r1"):
        fs.write_bytes(f"{root}/{name}", b"")
    monkeypatch.setattr(fs._fs, "rm_file", rm_file, raising=False)
    with pytest.raises(errors.UnsupportedOperation, match="takes such a name for a pattern"):
        fs.delete(f"{root}/r[1]")
    assert len(fs.list_status(root)) == 2


def test_file_without_its_parent_is_refused_where_that_is_wanted(fs: FileSystem, root: str) -> None:
    with pytest.raises(errors.PathNotFound, match="Parent directory doesn't exist"):
        fs.create(f"{root}/none/f", create_parent=False)
    assert not fs.exists(f"{root}/none")
    fs.write_bytes(f"{root}/file", b"x")
    with pytest.raises(errors.ParentNotDirectory):
        fs.create(f"{root}/file/f", create_parent=False)
    with fs.create(f"{root}/f", create_parent=False) as out:
        out.write(b"there")
    assert fs.read_bytes(f"{root}/f") == b"there"
    assert fs.read_bytes(f"{root}/file") == b"x"


def test_object_stores_have_a_parent_once_a_file_is_in_it(
    fs: FileSystem, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(fs, ForeignFileSystem)
    monkeypatch.setattr(fs, "scheme", "oss")
    monkeypatch.setattr(fs, "_full", lambda path: (str(path), str(path)))
    fs._check_parent("/bucket/none/f")


class Slow(io.BytesIO):
    """A read waits until it may go on, as one over a network may take its time."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.has_begun, self.may_end = threading.Event(), threading.Event()
        self.is_slow = False

    def read(self, size: int | None = -1) -> bytes:
        if self.is_slow:
            self.is_slow = False
            self.has_begun.set()
            assert self.may_end.wait(60)
        return super().read(size)


@pytest.mark.parametrize("position", [None, 50])
def test_a_positioned_read_on_another_thread_moves_nothing(position: int | None) -> None:
    data = bytes(range(100))
    inner = Slow(data)
    stream = FSDataInputStream(ForeignInput("/f", inner, len(data)), 4)
    assert stream.read(10) == data[:10]
    inner.is_slow = True
    with ThreadPoolExecutor(2) as pool:
        reading = pool.submit(stream.pread, 20, 5)
        assert inner.has_begun.wait(60)
        moving = pool.submit(stream.tell if position is None else lambda: stream.seek(position))
        assert not wait([moving], 0.2).done, "it waits for the read"
        inner.may_end.set()
        assert reading.result(60) == data[20:25]
        assert moving.result(60) == (10 if position is None else position)
    at = position or 10
    assert stream.read(5) == data[at : at + 5]


@pytest.mark.parametrize(("offset", "length"), [(-1, 1), (0, -1)])
def test_a_positioned_read_of_a_range_that_cannot_be_is_refused(offset: int, length: int) -> None:
    stream = FSDataInputStream(ForeignInput("/f", io.BytesIO(b"abc"), 3), 4)
    with pytest.raises(ValueError, match="cannot read"):
        stream.pread(offset, length)
