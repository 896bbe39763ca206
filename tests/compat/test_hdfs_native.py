"""The Rust client, `hdfs-native`: a second judge that shares no code with the first."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from howdah.fs.api import FileSystem
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until

hdfs_native = pytest.importorskip("hdfs_native", reason="hdfs-native is not installed")

MIB = 1 << 20
SIZES = [0, 1, 511, 512, 513, 64 * 1024 + 1, MIB - 1, MIB, MIB + 1, 3 * MIB]


def content(length: int) -> bytes:
    return random.Random(length).randbytes(length)


@pytest.fixture(scope="module")
def rust(howdah_cluster: MiniCluster) -> Any:
    return hdfs_native.Client(howdah_cluster.uri, {"dfs.replication": "3"})


@pytest.fixture(scope="module")
def fs(howdah_cluster: MiniCluster) -> Iterator[FileSystem]:
    with howdah_cluster.connect() as fs:
        yield fs


@pytest.fixture
def path(fs: FileSystem) -> str:
    """A directory for the test."""
    path = f"/rust/{uuid.uuid4().hex}"
    fs.mkdirs(path)
    return path


def rust_write(rust: Any, path: str, data: bytes, **options: int) -> None:
    settings = hdfs_native.WriteOptions()
    settings.block_size = MIB
    for name, value in options.items():
        setattr(settings, name, value)
    with rust.create(path, settings) as out:
        out.write(data)


def write(fs: FileSystem, path: str, data: bytes) -> None:
    with fs.create(path, block_size=MIB) as out:
        out.write(data)


def read(fs: FileSystem, path: str) -> bytes:
    with fs.open(path) as stream:
        return bytes(stream.read())


# -- bytes --------------------------------------------------------------------------------


@pytest.mark.req("OS-002")
@pytest.mark.parametrize("size", SIZES)
def test_file_of_rust_is_read_by_both(rust: Any, fs: FileSystem, path: str, size: int) -> None:
    rust_write(rust, f"{path}/file", content(size))
    assert read(fs, f"{path}/file") == content(size)
    assert rust.read(f"{path}/file").read() == content(size)
    assert rust.get_file_info(f"{path}/file").length == size


@pytest.mark.req("OS-002")
@pytest.mark.parametrize("size", SIZES)
def test_file_of_ours_is_read_by_rust(rust: Any, fs: FileSystem, path: str, size: int) -> None:
    write(fs, f"{path}/file", content(size))
    assert rust.read(f"{path}/file").read() == content(size)


def test_file_of_rust_has_the_replicas_and_blocks_that_it_asked_for(
    rust: Any, fs: FileSystem, path: str
) -> None:
    rust_write(rust, f"{path}/file", content(5 * MIB // 2), replication=2)

    def blocks() -> list[tuple[int, int]]:
        return [(b.length, len(b.names)) for b in fs.block_locations(f"{path}/file")]

    # A file is complete with one replica of each block; the others are told of soon.
    wait_until(lambda: blocks() == [(MIB, 2), (MIB, 2), (MIB // 2, 2)])


def test_ranges_are_read_by_rust(rust: Any, fs: FileSystem, path: str) -> None:
    data = content(3 * MIB + 77)
    write(fs, f"{path}/file", data)
    reader = rust.read(f"{path}/file")
    for offset, length in [(0, 1), (511, 2), (MIB - 3, 6), (2 * MIB, MIB), (len(data) - 5, 5)]:
        assert reader.read_range(offset, length) == data[offset : offset + length]
    reader.seek(MIB + 1)
    assert reader.read(100) == data[MIB + 1 : MIB + 101]
    assert b"".join(reader.read_range_stream(10, 2 * MIB)) == data[10 : 2 * MIB + 10]


@pytest.mark.req("OS-015")
@pytest.mark.parametrize("size", [0, 1, 512, MIB, MIB + 513])
def test_append_of_rust_goes_on_where_a_file_ends(
    rust: Any, fs: FileSystem, path: str, size: int
) -> None:
    write(fs, f"{path}/file", content(size))
    with rust.append(f"{path}/file") as out:
        out.write(b"and more")
    assert read(fs, f"{path}/file") == content(size) + b"and more"


@pytest.mark.req("FS-149")
def test_synced_bytes_of_rust_are_seen(rust: Any, fs: FileSystem, path: str) -> None:
    with rust.create(f"{path}/file") as out:
        out.write(content(100_000))
        out.hsync()
        assert read(fs, f"{path}/file") == content(100_000)


@pytest.mark.req("FS-148")
def test_finished_blocks_of_a_file_of_ours_that_is_open_are_seen_by_rust(
    rust: Any, fs: FileSystem, path: str
) -> None:
    """It asks no datanode for the length of the block that is being written."""
    with fs.create(f"{path}/file", block_size=MIB) as out:
        out.write(content(MIB + MIB // 2))
        out.hflush()
        assert rust.read(f"{path}/file").read() == content(MIB + MIB // 2)[:MIB]


# -- the tree -----------------------------------------------------------------------------


def test_tree_is_listed_by_rust(rust: Any, fs: FileSystem, path: str) -> None:
    for name in ("a/one", "a/b/two", "three"):
        write(fs, f"{path}/{name}", b"x")
    assert sorted(s.path for s in rust.list_status(path)) == [f"{path}/a", f"{path}/three"]
    assert sorted(s.path for s in rust.list_status(path, True) if not s.isdir) == [
        f"{path}/a/b/two",
        f"{path}/a/one",
        f"{path}/three",
    ]


def test_directory_of_many_pages_is_listed_by_rust(rust: Any, fs: FileSystem, path: str) -> None:
    wanted = [f"{path}/{number:05}" for number in range(2100)]
    for name in wanted:
        fs.mkdirs(name)
    assert sorted(status.path for status in rust.list_status(path)) == wanted
    fs.delete(path, recursive=True)


def test_pattern_is_expanded_by_rust(rust: Any, fs: FileSystem, path: str) -> None:
    for name in ("ab", "ac", "b"):
        write(fs, f"{path}/{name}", b"")
    assert [s.path for s in rust.glob_status(f"{path}/a*")] == [f"{path}/ab", f"{path}/ac"]


def test_status_is_the_same_in_rust(rust: Any, fs: FileSystem, path: str) -> None:
    write(fs, f"{path}/file", b"12345")
    fs.set_permission(f"{path}/file", 0o640)
    theirs, ours = rust.get_file_info(f"{path}/file"), fs.get_file_status(f"{path}/file")
    assert (theirs.length, theirs.isdir, theirs.permission, theirs.owner, theirs.group) == (
        ours.length,
        ours.is_directory,
        ours.permission,
        ours.owner,
        ours.group,
    )
    assert (theirs.modification_time, theirs.access_time) == (
        ours.modification_time_ms,
        ours.access_time_ms,
    )


def test_rust_renames_and_deletes(rust: Any, fs: FileSystem, path: str) -> None:
    write(fs, f"{path}/old", b"old")
    rust.rename(f"{path}/old", f"{path}/new")
    assert [status.name for status in fs.list_status(path)] == ["new"]
    write(fs, f"{path}/over", b"over")
    with pytest.raises(OSError, match=r"FileAlreadyExists|exists"):
        rust.rename(f"{path}/new", f"{path}/over")
    rust.rename(f"{path}/new", f"{path}/over", overwrite=True)
    assert read(fs, f"{path}/over") == b"old"
    assert rust.delete(f"{path}/over")
    assert not rust.delete(f"{path}/over")
    assert fs.list_status(path) == []


def test_rust_makes_directories(rust: Any, fs: FileSystem, path: str) -> None:
    rust.mkdirs(f"{path}/a/b/c", create_parent=True)
    assert fs.is_directory(f"{path}/a/b/c")
    with pytest.raises(FileNotFoundError):
        rust.mkdirs(f"{path}/missing/d", create_parent=False)


def test_rust_is_refused_a_directory_with_content(rust: Any, fs: FileSystem, path: str) -> None:
    write(fs, f"{path}/a/file", b"x")
    with pytest.raises(RuntimeError, match="PathIsNotEmptyDirectoryException"):
        rust.delete(f"{path}/a")
    assert rust.delete(f"{path}/a", recursive=True)


def test_missing_file_is_an_error_that_python_knows(rust: Any, path: str) -> None:
    with pytest.raises(FileNotFoundError):
        rust.get_file_info(f"{path}/missing")
    with pytest.raises(FileNotFoundError):
        rust.read(f"{path}/missing")


def test_attributes_set_by_rust_are_seen(rust: Any, fs: FileSystem, path: str) -> None:
    write(fs, f"{path}/file", b"x")
    rust.set_permission(f"{path}/file", 0o600)
    rust.set_owner(f"{path}/file", "somebody", "others")
    rust.set_times(f"{path}/file", 1_000_000, 2_000_000)
    assert rust.set_replication(f"{path}/file", 2)
    status = fs.get_file_status(f"{path}/file")
    assert (status.permission, status.owner, status.group) == (0o600, "somebody", "others")
    assert (status.modification_time_ms, status.access_time_ms) == (1_000_000, 2_000_000)
    assert status.replication == 2


def test_content_summary_is_the_same_in_rust(rust: Any, fs: FileSystem, path: str) -> None:
    write(fs, f"{path}/a/one", content(100))
    write(fs, f"{path}/two", content(50))
    theirs, ours = rust.get_content_summary(path), fs.content_summary(path)
    assert (theirs.length, theirs.file_count, theirs.directory_count) == (150, 2, 2)
    assert (theirs.quota, theirs.space_consumed) == (
        ours.quota if ours.quota >= 0 else theirs.quota,
        ours.space_consumed,
    )


# -- its fsspec face ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def face(howdah_cluster: MiniCluster) -> Any:
    pytest.importorskip("fsspec")
    from hdfs_native.fsspec import HdfsFileSystem

    host, _, port = howdah_cluster.uri.removeprefix("hdfs://").rpartition(":")
    return HdfsFileSystem(host, int(port), skip_instance_cache=True)


def test_fsspec_face_of_rust_writes_and_reads(face: Any, fs: FileSystem, path: str) -> None:
    with face.open(f"{path}/file", "wb") as out:
        out.write(content(100_000))
    assert face.cat_file(f"{path}/file") == content(100_000)
    assert read(fs, f"{path}/file") == content(100_000)
    assert face.du(path) == 100_000
    assert face.find(path) == [f"{path}/file"]
    face.rm(f"{path}/file")
    assert not face.exists(f"{path}/file")


def test_parquet_is_passed_between_the_two_fsspec_faces(
    face: Any, howdah_cluster: MiniCluster, path: str
) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"n": range(1000), "text": [str(n) for n in range(1000)]})
    with face.open(f"{path}/a.parquet", "wb") as out:
        out.write(frame.to_parquet())
    url = howdah_cluster.uri.replace("hdfs://", "howdah://")
    assert pandas.read_parquet(f"{url}{path}/a.parquet").equals(frame)
