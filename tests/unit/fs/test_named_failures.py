"""Errors name the path that they are about, as Python's own do, whatever filesystem it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import howdah
from howdah import errors
from howdah.config import Configuration
from howdah.fs.api import FileSystem
from howdah.fs.memory import filesystem as memory
from tests.support.named_failures import make_ground, unnamed


@pytest.fixture
def mem() -> Iterator[FileSystem]:
    with howdah.connect("mem://named/", conf=Configuration(), user="owner") as fs:
        yield fs
    memory.forget("named")


def test_errors_in_memory_name_their_path(mem: FileSystem) -> None:
    make_ground(mem, "/at")
    # Nobody keeps a checksum or a second name of files in memory.
    missing = [line for line in unnamed(mem, "/at") if not line.endswith("no error")]
    assert missing == []


def test_errors_of_local_files_name_their_path(tmp_path: Path) -> None:
    with howdah.connect("file:///", conf=Configuration()) as fs:
        make_ground(fs, str(tmp_path))
        assert list(unnamed(fs, str(tmp_path))) == []


def test_errors_of_fsspecs_filesystems_name_their_path() -> None:
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    fs = howdah.connect("memory://named/", conf=Configuration())
    make_ground(fs, "/at")
    try:
        missing = [line for line in unnamed(fs, "/at") if not line.endswith("no error")]
        assert missing == []
    finally:
        fsspec.filesystem("memory").store.clear()


def test_who_may_not_is_told_the_path_that_they_asked_for(mem: FileSystem) -> None:
    mem.write_bytes("/shut/f", b"f")
    mem.set_permission("/shut", 0o700)
    with howdah.connect("mem://named/", conf=Configuration(), user="eve") as eve:
        for ask in (eve.get_file_status, eve.read_bytes, eve.create, eve.rm):
            with pytest.raises(errors.AccessDenied) as denied:
                ask("/shut/f")
            assert denied.value.filename == "/shut/f"


def test_writer_whose_file_was_taken_is_told_which(mem: FileSystem) -> None:
    stream = mem.create("/taken")
    mem.recover_lease("/taken")
    for ask in (lambda: stream.write(b"x"), stream.hflush):
        with pytest.raises(errors.LeaseExpired) as expired:
            ask()
        assert expired.value.filename == "/taken"
