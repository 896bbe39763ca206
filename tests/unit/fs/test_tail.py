"""Following files that grow, shrink and are replaced."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

import howdah
from howdah import errors
from howdah.config import Configuration
from howdah.fs import tail
from howdah.fs.api import FileSystem
from howdah.fs.memory import filesystem as memory
from howdah.fs.memory.filesystem import MemoryFileSystem
from howdah.fs.streams import FSDataInputStream
from howdah.fs.tail import Change, TailReader, follow

PATH = "/log"


@pytest.fixture(params=["mem", "file"])
def fs(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[FileSystem]:
    if request.param == "file":
        yield howdah.connect("file:///")
    else:
        yield MemoryFileSystem("tail", Configuration(), user="root")
        memory.forget("tail")


@pytest.fixture
def path(fs: FileSystem, tmp_path: Any) -> str:
    return f"{tmp_path}/log" if fs.scheme == "file" else PATH


def put(fs: FileSystem, path: str, content: bytes) -> None:
    if fs.scheme == "file":
        Path(path).write_bytes(content)
        return
    with fs.create(path, overwrite=True) as out:
        out.write(content)


def append(fs: FileSystem, path: str, content: bytes) -> None:
    """As another program would: Hadoop's local files with checksums have no append."""
    if fs.scheme == "file":
        with Path(path).open("ab") as file:
            file.write(content)
        return
    with fs.append(path) as out:
        out.write(content)


def cut(fs: FileSystem, path: str, length: int) -> None:
    if fs.scheme == "file":
        os.truncate(path, length)
    else:
        fs.truncate(path, length)


def seen(reader: TailReader) -> bytes:
    return b"".join(reader.read_new())


@pytest.mark.req("OS-159")
def test_each_look_gives_what_is_new(fs: FileSystem, path: str) -> None:
    put(fs, path, b"one ")
    reader = TailReader(fs, path)
    assert seen(reader) == b"one "
    assert seen(reader) == b""
    append(fs, path, b"two ")
    append(fs, path, b"three")
    assert seen(reader) == b"two three"
    assert reader.position == 13


@pytest.mark.parametrize(
    ("position", "expected"),
    [(0, b"0123456789"), (4, b"456789"), (-3, b"789"), (-99, b"0123456789")],
)
def test_it_begins_where_it_is_told(
    fs: FileSystem, path: str, position: int, expected: bytes
) -> None:
    put(fs, path, b"0123456789")
    reader = TailReader(fs, path, position)
    assert seen(reader) == expected
    append(fs, path, b"!")
    assert seen(reader) == b"!"


def test_a_beginning_behind_the_end_is_waited_for(fs: FileSystem, path: str) -> None:
    put(fs, path, b"01234")
    noted: list[Change] = []
    reader = TailReader(fs, path, 7, noted.append)
    assert seen(reader) == b""
    append(fs, path, b"56")
    assert seen(reader) == b""
    append(fs, path, b"789")
    assert seen(reader) == b"789"
    assert not noted


def test_behind_a_cut_it_goes_on_with_what_is_appended(fs: FileSystem, path: str) -> None:
    put(fs, path, b"0123456789")
    noted: list[Change] = []
    reader = TailReader(fs, path, changed=noted.append)
    seen(reader)
    cut(fs, path, 4)
    assert seen(reader) == b""
    append(fs, path, b"new")
    assert seen(reader) == b"new"
    assert noted == [Change.CUT]


def test_a_replaced_file_comes_whole(fs: FileSystem, path: str) -> None:
    put(fs, path, b"0123456789")
    noted: list[Change] = []
    reader = TailReader(fs, path, changed=noted.append)
    seen(reader)
    put(fs, f"{path}.new", b"another")
    fs.rename(f"{path}.new", path, overwrite=True)
    assert seen(reader) == b"another"
    append(fs, path, b"!")
    assert seen(reader) == b"!"
    assert noted == [Change.REPLACED]


def test_a_file_that_is_gone_is_missing(fs: FileSystem, path: str) -> None:
    put(fs, path, b"0123456789")
    reader = TailReader(fs, path)
    seen(reader)
    fs.delete(path)
    with pytest.raises(FileNotFoundError):
        seen(reader)


def test_a_directory_cannot_be_followed(fs: FileSystem, path: str) -> None:
    fs.mkdirs(path)
    with pytest.raises(IsADirectoryError):
        seen(TailReader(fs, path))


def test_following_ends_with_what_is_there_when_it_is_told_to(fs: FileSystem, path: str) -> None:
    put(fs, path, b"one ")
    until = threading.Event()
    pieces = []
    for piece in follow(fs, path, until=until, poll_s=0.001):
        pieces.append(piece)
        if len(pieces) == 1:
            append(fs, path, b"two ")
        elif len(pieces) == 2:
            append(fs, path, b"three")
            until.set()
    assert b"".join(pieces) == b"one two three"


# --- streams of a script ------------------------------------------------------------------


class Growing:
    """As a stream of HDFS on a file that is being written."""

    def __init__(self, data: bytes, *, under_construction: bool = True) -> None:
        self.data = data
        self.raw = self
        self.under_construction = under_construction
        self.position = 0

    def __enter__(self) -> Growing:
        return self

    def __exit__(self, *_: object) -> None:
        self.data = b""

    def seek(self, position: int, whence: int = 0) -> int:
        self.position = position + (len(self.data) if whence else 0)
        assert self.position <= len(self.data)
        return self.position

    def read(self, count: int) -> bytes:
        piece = self.data[self.position : self.position + count]
        self.position += len(piece)
        return piece


class Script:
    """A filesystem whose file is another one at each look."""

    def __init__(self, *looks: Growing | Exception) -> None:
        self.looks = list(looks)

    def get_file_status(self, path: str) -> Any:
        return howdah.FileStatus(
            path=path,
            length=0,  # it never counts what a live writer has flushed
            is_directory=False,
            replication=1,
            block_size=1,
            modification_time_ms=0,
            access_time_ms=0,
            permission=0o644,
            owner="anna",
            group="g",
        )

    def open(self, path: str) -> FSDataInputStream:
        look = self.looks.pop(0)
        if isinstance(look, Exception):
            raise look
        return cast(FSDataInputStream, look)


def script(*looks: Growing | Exception) -> FileSystem:
    return cast(FileSystem, Script(*looks))


@pytest.mark.req("OS-159")
def test_data_that_the_status_does_not_count_is_found_by_reading() -> None:
    reader = TailReader(script(Growing(b"one"), Growing(b"one two")), PATH)
    assert [seen(reader), seen(reader)] == [b"one", b" two"]


def test_a_datanode_that_shows_a_little_less_is_no_cut() -> None:
    noted: list[Change] = []
    looks = [Growing(b"0123456789"), Growing(b"01234567"), Growing(b"0123456789ab")]
    reader = TailReader(script(*looks), PATH, changed=noted.append)
    assert [seen(reader) for _ in looks] == [b"0123456789", b"", b"ab"]
    assert not noted


def test_a_file_that_stays_shorter_was_cut_though_it_is_written() -> None:
    noted: list[Change] = []
    looks = [Growing(b"0123456789"), Growing(b"0123"), Growing(b"0123"), Growing(b"0123xy")]
    reader = TailReader(script(*looks), PATH, changed=noted.append)
    assert [seen(reader) for _ in looks] == [b"0123456789", b"", b"", b"xy"]
    assert noted == [Change.CUT]


def test_a_last_block_that_is_being_recovered_is_waited_for() -> None:
    error = errors.CannotObtainBlockLength("recovering")
    until = threading.Event()
    fs = script(Growing(b"one"), error, error, Growing(b"one two"), Growing(b"one two"))
    got = []
    for piece in follow(fs, PATH, until=until, poll_s=0):
        got.append(piece)
        if len(got) == 2:
            until.set()
    assert got == [b"one", b" two"]


def test_a_file_that_stays_unreadable_is_an_error_in_the_end() -> None:
    error = errors.BlockMissing("gone")
    fs = Script(Growing(b"one"), *[error] * (tail.MAX_FAILED_LOOKS + 1))
    following = follow(cast(FileSystem, fs), PATH, poll_s=0)
    assert next(following) == b"one"
    with pytest.raises(errors.BlockMissing):
        next(following)
    assert not fs.looks


def test_a_file_that_cannot_be_read_to_begin_with_is_an_error_at_once() -> None:
    with pytest.raises(errors.BlockMissing):
        next(follow(script(errors.BlockMissing("gone")), PATH))
