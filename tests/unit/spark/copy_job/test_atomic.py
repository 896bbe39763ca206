"""The directory of an atomic copy: whose it is, and when it gets its name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.copy.common.failures import CopyFailed
from howdah.copy.counters import Counters
from howdah.fs.memory.filesystem import MemoryFileSystem, forget
from howdah.spark.copy_job.job import AtomicCopy

ONE = Counters(files_copied=1, bytes_copied=3, directories_copied=1)


@pytest.fixture
def fs() -> Iterator[MemoryFileSystem]:
    fs = MemoryFileSystem("atomic", Configuration())
    fs.mkdirs("/a")
    yield fs
    forget("atomic")


def write(fs: MemoryFileSystem, path: str, content: bytes) -> None:
    with fs.create(path, overwrite=True) as out:
        out.write(content)


def test_each_run_has_a_directory_of_its_own(fs: MemoryFileSystem) -> None:
    assert AtomicCopy(fs, "/a/b", None, "k", "r1").path == "/a/._WIP_b.k.r1"
    assert AtomicCopy(fs, "/a/b", "/tmp", "k", "r2").path == "/tmp/._WIP_b.k.r2"


def test_debris_of_this_copy_is_removed_and_of_no_other(fs: MemoryFileSystem) -> None:
    for name in ("._WIP_b.k", "._WIP_b.k.r0", "._WIP_b.k2.r0", "._WIP_bb.k.r0"):
        write(fs, f"/a/{name}/f", b"x")
    AtomicCopy(fs, "/a/b", None, "k", "r1").remove_debris()
    assert [s.name for s in fs.list_status("/a")] == ["._WIP_b.k2.r0", "._WIP_bb.k.r0"]
    AtomicCopy(fs, "/new/b", None, "k", "r1").remove_debris()


def test_what_was_counted_gets_its_name(fs: MemoryFileSystem) -> None:
    copy = AtomicCopy(fs, "/a/b", None, "k", "r1")
    write(fs, f"{copy.path}/f", b"123")
    copy.commit(ONE)
    assert [s.name for s in fs.list_status("/a")] == ["b"]
    nothing = AtomicCopy(fs, "/a/c", None, "k", "r1")
    nothing.commit(Counters())
    assert fs.list_status("/a/c") == []


@pytest.mark.parametrize("content", [b"1234", b"12", None])
def test_what_is_another_is_not_committed(fs: MemoryFileSystem, content: bytes | None) -> None:
    copy = AtomicCopy(fs, "/a/b", None, "k", "r1")
    fs.mkdirs(copy.path)
    if content is not None:
        write(fs, f"{copy.path}/f", content)
    with pytest.raises(CopyFailed, match="1 files of 3 bytes in 1 were copied"):
        copy.commit(ONE)
    assert not fs.exists("/a/b")
    fs.delete(copy.path, recursive=True)
    with pytest.raises(CopyFailed, match="is gone"):
        copy.commit(ONE)


def test_lost_directories_are_missed(fs: MemoryFileSystem) -> None:
    copy = AtomicCopy(fs, "/a/b", None, "k", "r1")
    write(fs, f"{copy.path}/f", b"123")
    with pytest.raises(CopyFailed, match=r"in 1 directories, where .* in 2 were copied"):
        copy.commit(ONE + Counters(directories_copied=1))


def test_target_that_has_come_meanwhile_is_kept(fs: MemoryFileSystem) -> None:
    copy = AtomicCopy(fs, "/a/b", None, "k", "r1")
    write(fs, f"{copy.path}/f", b"123")
    write(fs, "/a/b/other", b"1")
    with pytest.raises(errors.PathExists, match="can't be committed"):
        copy.commit(ONE)
    assert [s.name for s in fs.list_status("/a/b")] == ["other"]
    assert not fs.exists(copy.path)
