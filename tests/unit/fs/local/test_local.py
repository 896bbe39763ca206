"""`file://`: this machine's files, with and without checksums."""

from __future__ import annotations

import ctypes
import errno
import grp
import os
import stat
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import howdah
from howdah import errors
from howdah.config import Configuration
from howdah.fs.local import checksums as local_checksums
from howdah.fs.local import raw as local_rename
from howdah.fs.local import streams as local_streams
from howdah.fs.local.filesystem import LocalFileSystem
from howdah.fs.local.raw import RawLocalFileSystem
from howdah.options import FileRange, SyncFlag
from howdah.runtime import libc

CONF = Configuration()


@pytest.fixture
def fs() -> LocalFileSystem:
    return LocalFileSystem(conf=CONF)


@pytest.fixture
def unsummed() -> LocalFileSystem:
    """Checksums switched off by the user."""
    fs = LocalFileSystem(conf=CONF)
    fs.set_write_checksum(False)
    return fs


@pytest.fixture(
    params=[
        pytest.param("checksummed", marks=pytest.mark.kind("checksummed")),
        pytest.param("switched off", marks=pytest.mark.kind("raw")),
        pytest.param("raw", marks=pytest.mark.kind("raw")),
    ]
)
def any_fs(request: pytest.FixtureRequest) -> RawLocalFileSystem:
    if request.param == "raw":
        return RawLocalFileSystem(conf=CONF)
    fs = LocalFileSystem(conf=CONF)
    fs.set_write_checksum(request.param == "checksummed")
    return fs


def put(fs: RawLocalFileSystem, path: Path, data: bytes = b"content") -> Path:
    """Write a file; where its checksums would be."""
    with fs.create(path) as out:
        out.write(data)
    return sums_of(path)


def sums_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.crc")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# --- which filesystem --------------------------------------------------------------------


@pytest.mark.req("FS-004")
@pytest.mark.kind("checksummed", "raw")
@pytest.mark.parametrize("uri", ["file:///", "file:///some/path", "file:/a"])
def test_the_scheme_file_is_the_checksummed_filesystem(uri: str) -> None:
    fs = howdah.connect(uri, conf=CONF)
    assert isinstance(fs, LocalFileSystem)
    assert fs.qualify("/a/b") == "file:///a/b"


def test_local_files_have_no_host() -> None:
    with pytest.raises(errors.IllegalArgument, match="file:///path"):
        howdah.connect("file://host/a", conf=CONF)


def test_relative_paths_start_in_the_working_directory(
    fs: LocalFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/anna")
    assert fs.resolve("a/../b") == str(tmp_path / "b")
    assert fs.home_directory() == "/home/anna"


def test_a_name_with_a_nul_is_refused(fs: LocalFileSystem) -> None:
    with pytest.raises(errors.InvalidPath, match="NUL"):
        fs.exists("/a\0b")


# --- checksums switched on and off -------------------------------------------------------


@pytest.mark.kind("checksummed")
@pytest.mark.req("OS-164")
def test_checksummed_stream_does_not_claim_sync(fs: LocalFileSystem, tmp_path: Path) -> None:
    with fs.create(tmp_path / "f") as out:
        assert not out.has_capability("hsync")
        assert not out.has_capability("HFLUSH")


@pytest.mark.kind("checksummed")
@pytest.mark.req("OS-075")
@pytest.mark.req("OS-163")
@pytest.mark.req("OS-184")
@pytest.mark.parametrize("operation", ["hflush", "hsync"])
def test_checksummed_stream_refuses_to_sync(
    fs: LocalFileSystem, tmp_path: Path, operation: str
) -> None:
    with fs.create(tmp_path / "f") as out:
        with pytest.raises(errors.UnsupportedOperation, match="set_write_checksum"):
            getattr(out, operation)()
        out.write(b"still open")
    assert (tmp_path / "f").read_bytes() == b"still open"


@pytest.mark.kind("raw")
@pytest.mark.req("OS-165", "LM-053")
def test_without_checksums_streams_sync(unsummed: LocalFileSystem, tmp_path: Path) -> None:
    with unsummed.create(tmp_path / "f") as out:
        assert out.has_capability("hsync")
        out.write(b"seen")
        out.hflush()
        assert (tmp_path / "f").read_bytes() == b"seen"


@pytest.mark.kind("checksummed")
@pytest.mark.req("OS-165")
def test_a_stream_keeps_what_it_was_created_with(fs: LocalFileSystem, tmp_path: Path) -> None:
    with fs.create(tmp_path / "f") as out:
        fs.set_write_checksum(False)
        assert not out.has_capability("hsync")
        out.write(b"content")
    assert sums_of(tmp_path / "f").stat().st_size == 12


@pytest.mark.kind("raw")
@pytest.mark.req("OS-166")
def test_without_checksums_none_are_written(unsummed: LocalFileSystem, tmp_path: Path) -> None:
    put(unsummed, tmp_path / "f")
    assert os.listdir(tmp_path) == ["f"]


@pytest.mark.kind("raw")
@pytest.mark.req("OS-166")
def test_old_checksums_of_a_file_that_is_replaced_are_removed(
    fs: LocalFileSystem, unsummed: LocalFileSystem, tmp_path: Path
) -> None:
    put(fs, tmp_path / "f")
    with unsummed.create(tmp_path / "f", overwrite=True) as out:
        out.write(b"other")
    assert not sums_of(tmp_path / "f").exists()
    assert fs.open(tmp_path / "f").read() == b"other"


def test_a_refused_create_leaves_file_and_checksums(
    fs: LocalFileSystem, unsummed: LocalFileSystem, tmp_path: Path
) -> None:
    sums = put(fs, tmp_path / "f")
    with pytest.raises(errors.PathExists):
        unsummed.create(tmp_path / "f")
    assert sums.exists()
    assert fs.open(tmp_path / "f").read() == b"content"


def test_a_file_without_checksums_is_read_as_it_is(fs: LocalFileSystem, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"anything")
    assert fs.open(tmp_path / "f").read() == b"anything"


@pytest.mark.parametrize("operation", ["append", "truncate"])
def test_what_would_spoil_checksums_is_refused(
    fs: LocalFileSystem, tmp_path: Path, operation: str
) -> None:
    put(fs, tmp_path / "f")
    arguments = (3,) if operation == "truncate" else ()
    assert not fs.has_path_capability("/", f"fs.capability.paths.{operation}")
    with pytest.raises(errors.UnsupportedOperation, match="set_write_checksum"):
        getattr(fs, operation)(tmp_path / "f", *arguments)


def test_append_without_checksums_goes_on_at_the_end(
    fs: LocalFileSystem, unsummed: LocalFileSystem, tmp_path: Path
) -> None:
    sums = put(fs, tmp_path / "f")
    assert unsummed.has_path_capability("/", "fs.capability.paths.append")
    with unsummed.append(tmp_path / "f") as out:
        assert out.get_pos() == 7
        out.write(b" and more")
    assert not sums.exists()
    assert fs.open(tmp_path / "f").read() == b"content and more"


def test_truncate_without_checksums(
    fs: LocalFileSystem, unsummed: LocalFileSystem, tmp_path: Path
) -> None:
    put(fs, tmp_path / "f")
    assert unsummed.truncate(tmp_path / "f", 3)
    assert fs.open(tmp_path / "f").read() == b"con"


@pytest.mark.parametrize("length", [-1, 8])
def test_truncate_to_more_than_there_is_changes_nothing(
    fs: LocalFileSystem, unsummed: LocalFileSystem, tmp_path: Path, length: int
) -> None:
    sums = put(fs, tmp_path / "f")
    with pytest.raises(errors.IllegalArgument, match="it has 7"):
        unsummed.truncate(tmp_path / "f", length)
    assert sums.exists()


def test_concat_is_refused(any_fs: RawLocalFileSystem, tmp_path: Path) -> None:
    with pytest.raises(errors.UnsupportedOperation, match="concat"):
        any_fs.concat(tmp_path / "f", [tmp_path / "g"])


# --- checksum files go where their files go ----------------------------------------------


def test_checksum_files_are_not_listed(fs: LocalFileSystem, tmp_path: Path) -> None:
    put(fs, tmp_path / "b")
    put(fs, tmp_path / "a")
    assert [status.name for status in fs.list_status(tmp_path)] == ["a", "b"]
    assert len(fs.raw.list_status(tmp_path)) == 4
    assert fs.content_summary(tmp_path).length == 14


def test_rename_takes_checksums_along(fs: LocalFileSystem, tmp_path: Path) -> None:
    put(fs, tmp_path / "a")
    fs.rename(tmp_path / "a", tmp_path / "b")
    assert sorted(os.listdir(tmp_path)) == [".b.crc", "b"]
    assert fs.open(tmp_path / "b").read() == b"content"


def test_rename_of_a_file_without_checksums_removes_those_of_the_target(
    fs: LocalFileSystem, tmp_path: Path
) -> None:
    (tmp_path / "a").write_bytes(b"bare")
    put(fs, tmp_path / "b")
    fs.rename(tmp_path / "a", tmp_path / "b", overwrite=True)
    assert os.listdir(tmp_path) == ["b"]
    assert fs.open(tmp_path / "b").read() == b"bare"


def test_rename_of_a_directory_takes_all_along(fs: LocalFileSystem, tmp_path: Path) -> None:
    put(fs, tmp_path / "d" / "f")
    fs.rename(tmp_path / "d", tmp_path / "e")
    assert sorted(os.listdir(tmp_path / "e")) == [".f.crc", "f"]


def test_a_write_by_the_name_of_a_link_changes_the_checksums_of_its_file(
    fs: LocalFileSystem, tmp_path: Path
) -> None:
    sums = put(fs, tmp_path / "file", b"old")
    (tmp_path / "other").mkdir()
    link = tmp_path / "other" / "link"
    link.symlink_to(tmp_path / "file")
    with fs.create(link, overwrite=True) as out:
        out.write(b"newer")
    assert fs.open(tmp_path / "file").read() == b"newer"
    with fs.create(tmp_path / "file", overwrite=True) as out:
        out.write(b"newest")
    assert fs.open(link).read() == b"newest"
    fs.set_permission(link, 0o600)
    assert stat.S_IMODE(sums.stat().st_mode) == 0o600
    assert os.listdir(tmp_path / "other") == ["link"]


def test_a_file_that_is_opened_by_a_link_is_verified(fs: LocalFileSystem, tmp_path: Path) -> None:
    put(fs, tmp_path / "file", b"content")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "file").write_bytes(b"damaged")
    with pytest.raises(errors.ChecksumMismatch):
        fs.open(tmp_path / "link").read()


@pytest.mark.parametrize("change", ["append", "truncate", "create"])
def test_a_change_by_the_name_of_a_link_removes_the_checksums_of_its_file(
    fs: LocalFileSystem, unsummed: LocalFileSystem, tmp_path: Path, change: str
) -> None:
    sums = put(fs, tmp_path / "file", b"content")
    (tmp_path / "link").symlink_to("file")
    if change == "append":
        unsummed.append(tmp_path / "link").close()
    elif change == "truncate":
        unsummed.truncate(tmp_path / "link", 3)
    else:
        unsummed.create(tmp_path / "link", overwrite=True).close()
    assert not sums.exists()


def test_a_name_too_long_for_checksums_is_no_hindrance_to_a_file_that_has_none(
    fs: LocalFileSystem, tmp_path: Path
) -> None:
    long = tmp_path / ("n" * 255)
    long.write_bytes(b"content")
    fs.set_permission(long, 0o640)
    fs.set_owner(long, group=grp.getgrgid(os.getgid()).gr_name)
    fs.rename(long, tmp_path / "short")
    fs.rename(tmp_path / "short", long)
    assert os.listdir(tmp_path) == [long.name]


def test_a_rename_that_would_leave_checksums_behind_changes_nothing(
    fs: LocalFileSystem, tmp_path: Path
) -> None:
    sums = put(fs, tmp_path / "file")
    with pytest.raises(errors.PathComponentTooLong):
        fs.rename(tmp_path / "file", tmp_path / ("n" * 255))
    assert {each.name for each in tmp_path.iterdir()} == {"file", sums.name}


def test_delete_deletes_checksums(fs: LocalFileSystem, tmp_path: Path) -> None:
    put(fs, tmp_path / "f")
    assert fs.delete(tmp_path / "f")
    assert os.listdir(tmp_path) == []


def test_a_checksum_file_without_a_file_is_shown(fs: LocalFileSystem, tmp_path: Path) -> None:
    put(fs, tmp_path / "f").with_name("f").unlink()
    assert [status.name for status in fs.list_status(tmp_path)] == [".f.crc"]


def test_checksums_have_the_mode_of_their_file(fs: LocalFileSystem, tmp_path: Path) -> None:
    with fs.create(tmp_path / "f", permission=0o600):
        assert mode(sums_of(tmp_path / "f")) == 0o600
    fs.set_permission(tmp_path / "f", 0o640)
    assert mode(sums_of(tmp_path / "f")) == 0o640


def test_a_file_whose_checksums_cannot_be_made_is_not_left(
    fs: LocalFileSystem, tmp_path: Path
) -> None:
    name = "n" * 253
    with pytest.raises(errors.PathComponentTooLong):
        fs.create(tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_a_long_name_that_has_no_checksums_can_be_read(fs: LocalFileSystem, tmp_path: Path) -> None:
    path = tmp_path / ("n" * 253)
    path.write_bytes(b"content")
    assert fs.open(path).read() == b"content"
    assert fs.delete(path)


def test_checksums_of_a_file_that_took_the_name_meanwhile_are_not_used(
    fs: LocalFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(fs, tmp_path / "f", b"old")
    put(fs, tmp_path / "new", b"new content")
    opened = RawLocalFileSystem._open_old

    def replaced_after(self: RawLocalFileSystem, target: str) -> int:
        descriptor = opened(self, target)
        if (tmp_path / "new").exists():
            fs.rename(tmp_path / "new", tmp_path / "f", overwrite=True)
        return descriptor

    monkeypatch.setattr(RawLocalFileSystem, "_open_old", replaced_after)
    with fs.open(tmp_path / "f") as stream:
        assert stream.read() == b"new content"


# --- output streams ----------------------------------------------------------------------


@pytest.mark.req("OS-013")
def test_a_file_exists_when_it_is_created(any_fs: RawLocalFileSystem, tmp_path: Path) -> None:
    with any_fs.create(tmp_path / "f"):
        assert any_fs.get_file_status(tmp_path / "f").length == 0


@pytest.mark.req("OS-138")
def test_old_content_is_gone_when_a_file_is_overwritten(
    any_fs: RawLocalFileSystem, tmp_path: Path
) -> None:
    put(any_fs, tmp_path / "f")
    with any_fs.create(tmp_path / "f", overwrite=True):
        assert any_fs.open(tmp_path / "f").read() == b""


@pytest.mark.req("OS-033")
@pytest.mark.req("OS-057")
@pytest.mark.req("OS-169")
@pytest.mark.parametrize("data", [7, b"bytes"])
def test_a_closed_stream_refuses_writes(
    any_fs: RawLocalFileSystem, tmp_path: Path, data: object
) -> None:
    out = any_fs.create(tmp_path / "f")
    out.close()
    with pytest.raises(errors.ClosedStream, match=str(tmp_path / "f")):
        out.write(data)
    assert (tmp_path / "f").stat().st_size == 0


@pytest.mark.req("OS-051")
@pytest.mark.req("OS-170")
def test_flush_of_a_closed_stream_does_nothing(any_fs: RawLocalFileSystem, tmp_path: Path) -> None:
    out = any_fs.create(tmp_path / "f")
    out.write(b"a")
    out.close()
    for _ in range(3):
        out.flush()
    assert (tmp_path / "f").read_bytes() == b"a"


@pytest.mark.req("OS-086")
@pytest.mark.req("OS-095")
@pytest.mark.parametrize("operation", ["hflush", "hsync"])
def test_a_closed_stream_cannot_be_synced(
    any_fs: RawLocalFileSystem, tmp_path: Path, operation: str
) -> None:
    out = any_fs.create(tmp_path / "f")
    out.close()
    with pytest.raises(OSError, match=str(tmp_path / "f")):
        getattr(out, operation)()


@pytest.mark.req("OS-044")
def test_the_buffer_of_a_write_can_be_used_again(
    any_fs: RawLocalFileSystem, tmp_path: Path
) -> None:
    buffer = bytearray(b"first")
    with any_fs.create(tmp_path / "f") as out:
        out.write(buffer)
        buffer[:] = b"other"
    assert (tmp_path / "f").read_bytes() == b"first"


def test_a_stream_goes_on_while_a_view_of_what_it_wrote_is_alive(
    any_fs: RawLocalFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in the frames of a traceback, or under a debugger."""
    alive = []

    def write_all(descriptor: int, view: memoryview) -> None:
        alive.append(view[:])
        os.write(descriptor, view)

    monkeypatch.setattr(local_streams, "write_all", write_all)
    monkeypatch.setattr(local_checksums, "write_all", write_all)
    with any_fs.create(str(tmp_path / "f")) as out:
        for _ in range(3):
            out.write(b"x" * 700)
            out.flush()
    assert (tmp_path / "f").read_bytes() == b"x" * 2100
    assert alive


@pytest.mark.req("OS-029")
@pytest.mark.req("OS-135")
def test_records_of_several_threads_stay_whole(any_fs: RawLocalFileSystem, tmp_path: Path) -> None:
    records = [bytes([65 + number]) * 37 for number in range(8)]
    with any_fs.create(tmp_path / "f", buffer_size=600) as out:

        def write(record: bytes) -> None:
            for _ in range(200):
                out.write(record)

        with ThreadPoolExecutor(8) as pool:
            for record in records:
                pool.submit(write, record)
    with any_fs.open(tmp_path / "f") as stream:
        content = stream.read()
    found = [content[at : at + 37] for at in range(0, len(content), 37)]
    assert sorted(found) == sorted(records * 200)


@pytest.fixture
def closings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Descriptors that streams have closed."""
    closed: list[int] = []
    real = os.close

    def close(descriptor: int) -> None:
        closed.append(descriptor)
        real(descriptor)

    monkeypatch.setattr(os, "close", close)
    return closed


@pytest.mark.kind("checksummed")
@pytest.mark.req("OS-019")
@pytest.mark.req("OS-168")
def test_ten_threads_that_close_complete_it_once(
    fs: LocalFileSystem, tmp_path: Path, closings: list[int]
) -> None:
    out = fs.create(tmp_path / "f")
    out.write(bytes(700))
    together = threading.Barrier(10)

    def close() -> None:
        together.wait()
        out.close()

    with ThreadPoolExecutor(10) as pool:
        for done in [pool.submit(close) for _ in range(10)]:
            done.result()
    assert len(closings) == len(set(closings)) == 2  # the file, and its checksums
    assert fs.open(tmp_path / "f").read() == bytes(700)


class _FullDisk:
    """`os.write` that fails after so many bytes."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.calls = 0

    def __call__(self, descriptor: int, data: Any) -> int:
        self.calls += 1
        if not self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        taken = min(len(data), self.room)
        self.room -= taken
        return taken


@pytest.mark.req("OS-037")
@pytest.mark.req("OS-070")
def test_a_full_disk_is_said_by_the_write_and_by_the_close(
    any_fs: RawLocalFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = any_fs.create(tmp_path / "f", buffer_size=512)
    monkeypatch.setattr(os, "write", _FullDisk(2000))
    with pytest.raises(errors.DiskOutOfSpace, match=str(tmp_path / "f")):
        out.write(bytes(5120))
    with pytest.raises(errors.DiskOutOfSpace):
        out.close()


@pytest.mark.req("OS-021")
@pytest.mark.req("OS-062")
def test_a_close_that_fails_is_not_tried_again(
    any_fs: RawLocalFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = any_fs.create(tmp_path / "f")
    out.write(b"content")
    disk = _FullDisk(0)
    monkeypatch.setattr(os, "write", disk)
    with pytest.raises(errors.DiskOutOfSpace):
        out.close()
    calls = disk.calls
    out.close()
    assert disk.calls == calls
    assert out.closed
    with pytest.raises(errors.ClosedStream):
        out.write(b"more")


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is forced to the disk, by name."""
    names: list[str] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        names.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    return names


@pytest.mark.kind("raw")
@pytest.mark.req("OS-093")
@pytest.mark.req("OS-127")
def test_hsync_forces_the_file_to_the_disk(
    unsummed: LocalFileSystem, tmp_path: Path, synced: list[str]
) -> None:
    with unsummed.create(tmp_path / "f") as out:
        out.write(b"durable")
        out.hsync()
        assert synced[0] == str(tmp_path / "f")
        assert (tmp_path / "f").read_bytes() == b"durable"


def test_the_first_hsync_forces_new_directories_as_well(
    unsummed: LocalFileSystem, tmp_path: Path, synced: list[str]
) -> None:
    path = tmp_path / "a" / "b" / "f"
    with unsummed.create(path) as out:
        out.hsync()
        out.hsync()
    assert synced == [str(each) for each in (path, *path.parents[:3], path)]


def test_hflush_forces_nothing(
    unsummed: LocalFileSystem, tmp_path: Path, synced: list[str]
) -> None:
    with unsummed.create(tmp_path / "f") as out:
        out.write(b"seen")
        out.hflush()
    assert synced == []


def test_flags_of_an_hsync_are_for_files_with_blocks(
    unsummed: LocalFileSystem, tmp_path: Path
) -> None:
    with unsummed.create(tmp_path / "f") as out:
        with pytest.raises(errors.UnsupportedOperation, match="blocks"):
            out.hsync(SyncFlag.UPDATE_LENGTH)


@pytest.mark.req("OS-117")
def test_dropping_caches_is_refused(any_fs: RawLocalFileSystem, tmp_path: Path) -> None:
    with any_fs.create(tmp_path / "f") as out:
        assert not out.has_capability("dropbehind")
        with pytest.raises(errors.UnsupportedOperation, match="set_drop_behind"):
            out.set_drop_behind(True)


def test_progress_is_told(any_fs: RawLocalFileSystem, tmp_path: Path) -> None:
    told: list[None] = []
    with any_fs.create(tmp_path / "f", progress=lambda: told.append(None)) as out:
        out.write(bytes(1 << 20))
    assert told


# --- input streams -----------------------------------------------------------------------


def test_a_directory_cannot_be_read(any_fs: RawLocalFileSystem, tmp_path: Path) -> None:
    with pytest.raises(errors.PathIsDirectory, match=str(tmp_path)):
        any_fs.open(tmp_path)


def test_what_is_not_there_cannot_be_read(any_fs: RawLocalFileSystem, tmp_path: Path) -> None:
    with pytest.raises(errors.PathNotFound, match=str(tmp_path / "f")):
        any_fs.open(tmp_path / "f")


def test_a_closed_input_says_which(any_fs: RawLocalFileSystem, tmp_path: Path) -> None:
    put(any_fs, tmp_path / "f")
    stream = any_fs.open(tmp_path / "f")
    stream.close()
    stream.close()
    with pytest.raises(errors.ClosedStream, match=str(tmp_path / "f")):
        stream.pread(0, 1)


@pytest.mark.parametrize("target", [-1, -8])
def test_nothing_is_before_the_start(
    any_fs: RawLocalFileSystem, tmp_path: Path, target: int
) -> None:
    put(any_fs, tmp_path / "f")
    with any_fs.open(tmp_path / "f") as stream:
        with pytest.raises(ValueError, match="seek"):
            stream.seek(target)
        with pytest.raises(ValueError, match="offset"):
            stream.pread(target, 1)


def test_positioned_reads_of_many_threads(any_fs: RawLocalFileSystem, tmp_path: Path) -> None:
    data = os.urandom(100_000)
    put(any_fs, tmp_path / "f", data)
    with any_fs.open(tmp_path / "f") as stream, ThreadPoolExecutor(8) as pool:
        wanted = [(at * 997 % 90_000, 3000) for at in range(200)]
        for (offset, length), found in zip(
            wanted, pool.map(lambda where: stream.pread(*where), wanted), strict=True
        ):
            assert found == data[offset : offset + length]
        assert stream.tell() == 0


def test_ranges_are_read_at_once(any_fs: RawLocalFileSystem, tmp_path: Path) -> None:
    data = os.urandom(5000)
    put(any_fs, tmp_path / "f", data)
    with any_fs.open(tmp_path / "f") as stream:
        first, second = stream.read_vectored([FileRange(4000, 1000), FileRange(3, 600)])
        assert bytes(first.result()) == data[4000:]
        assert bytes(second.result()) == data[3:603]


def test_a_pipe_is_read_to_its_end(any_fs: RawLocalFileSystem, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor(1) as pool:
        written = pool.submit((tmp_path / "pipe").write_bytes, bytes(200_000))
        with any_fs.open(tmp_path / "pipe") as stream:
            assert stream.read() == bytes(200_000)
        written.result()


def test_a_device_is_written_without_checksums_and_keeps_its_mode(fs: LocalFileSystem) -> None:
    before = os.stat("/dev/null").st_mode
    with fs.create("/dev/null", overwrite=True) as out:
        out.write(b"away")
    assert os.stat("/dev/null").st_mode == before
    assert not os.path.exists("/dev/.null.crc")


# --- the tree ----------------------------------------------------------------------------


@pytest.fixture(params=["000", "077"])
def process_umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(int(request.param, 8))
    yield
    os.umask(before)


@pytest.mark.usefixtures("process_umask")
def test_modes_follow_the_umask_of_the_configuration(tmp_path: Path) -> None:
    fs = LocalFileSystem(conf=Configuration({"fs.permissions.umask-mode": "027"}))
    put(fs, tmp_path / "d" / "f")
    fs.mkdirs(tmp_path / "e" / "g", 0o1777)
    assert mode(tmp_path / "d") == 0o750
    assert mode(tmp_path / "d" / "f") == 0o640
    assert (mode(tmp_path / "e"), mode(tmp_path / "e" / "g")) == (0o750, 0o1750)


def test_a_missing_parent_is_made_unless_that_is_not_wanted(
    any_fs: RawLocalFileSystem, tmp_path: Path
) -> None:
    with pytest.raises(errors.PathNotFound):
        any_fs.create(tmp_path / "d" / "f", create_parent=False)
    put(any_fs, tmp_path / "d" / "f")


@pytest.mark.parametrize("create_parent", [True, False])
def test_nothing_can_be_created_below_a_file(
    any_fs: RawLocalFileSystem, tmp_path: Path, create_parent: bool
) -> None:
    put(any_fs, tmp_path / "f")
    with pytest.raises(errors.ParentNotDirectory, match=str(tmp_path / "f")):
        any_fs.create(tmp_path / "f" / "g", create_parent=create_parent)


@pytest.mark.parametrize("overwrite", [True, False])
def test_a_directory_is_not_replaced_by_a_file(
    any_fs: RawLocalFileSystem, tmp_path: Path, overwrite: bool
) -> None:
    with pytest.raises(errors.PathExists):
        any_fs.create(tmp_path, overwrite=overwrite)


@pytest.mark.req("XC-005")
def test_of_many_that_create_a_file_one_does(any_fs: RawLocalFileSystem, tmp_path: Path) -> None:
    together = threading.Barrier(8)

    def create() -> bool:
        together.wait()
        try:
            any_fs.create(tmp_path / "f").close()
        except errors.PathExists:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        done = [pool.submit(create) for _ in range(8)]
        assert sum(each.result() for each in done) == 1


def test_mkdirs_is_content_with_what_is_there(any_fs: RawLocalFileSystem, tmp_path: Path) -> None:
    assert any_fs.mkdirs(tmp_path / "a" / "b")
    assert any_fs.mkdirs(tmp_path / "a" / "b")


def test_mkdirs_over_a_file(any_fs: RawLocalFileSystem, tmp_path: Path) -> None:
    put(any_fs, tmp_path / "f")
    with pytest.raises(errors.PathExists):
        any_fs.mkdirs(tmp_path / "f")
    with pytest.raises(errors.ParentNotDirectory):
        any_fs.mkdirs(tmp_path / "f" / "d")


def test_mkdir_makes_one_new_directory(any_fs: RawLocalFileSystem, tmp_path: Path) -> None:
    any_fs.mkdir(tmp_path / "a")
    with pytest.raises(errors.PathExists):
        any_fs.mkdir(tmp_path / "a")
    with pytest.raises(errors.PathNotFound):
        any_fs.mkdir(tmp_path / "b" / "c")


def test_rename_does_not_replace_unless_asked_to(
    any_fs: RawLocalFileSystem, tmp_path: Path
) -> None:
    put(any_fs, tmp_path / "a", b"a")
    put(any_fs, tmp_path / "b", b"b")
    with pytest.raises(errors.PathExists):
        any_fs.rename(tmp_path / "a", tmp_path / "b")
    assert any_fs.open(tmp_path / "b").read() == b"b"
    any_fs.rename(tmp_path / "a", tmp_path / "b", overwrite=True)
    assert any_fs.open(tmp_path / "b").read() == b"a"


@pytest.mark.parametrize("offered", [True, False])
def test_a_new_name_is_never_taken_from_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, offered: bool
) -> None:
    if not offered:
        monkeypatch.setattr(libc, "_function", lambda *_: None)
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "b").write_bytes(b"b")
    with pytest.raises(FileExistsError):
        local_rename.rename_new(str(tmp_path / "a"), str(tmp_path / "b"))
    local_rename.rename_new(str(tmp_path / "a"), str(tmp_path / "c"))
    assert (tmp_path / "c").read_bytes() == b"a"


def test_a_filesystem_without_such_a_rename_is_looked_at_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(libc, "_function", lambda *_: lambda *_: -1)
    monkeypatch.setattr(ctypes, "get_errno", lambda: errno.EINVAL)
    (tmp_path / "a").write_bytes(b"a")
    local_rename.rename_new(str(tmp_path / "a"), str(tmp_path / "c"))
    assert (tmp_path / "c").exists()


@pytest.mark.parametrize(
    ("source", "target", "error"),
    [
        ("missing", "new", errors.PathNotFound),
        ("dir", "dir", errors.PathExists),
        ("dir", "dir/below", errors.RemoteError),
        ("file", "missing/new", errors.PathNotFound),
        ("file", "file2/new", errors.ParentNotDirectory),
        ("file", "dir", errors.RemoteError),
        ("dir", "file", errors.RemoteError),
        ("dir", "full", errors.DirectoryNotEmpty),
    ],
)
def test_renames_that_make_no_sense(
    any_fs: RawLocalFileSystem,
    tmp_path: Path,
    source: str,
    target: str,
    error: type[errors.HowdahError],
) -> None:
    for name in ("file", "file2", "full/file"):
        put(any_fs, tmp_path / name)
    any_fs.mkdirs(tmp_path / "dir")
    with pytest.raises(error):
        any_fs.rename(tmp_path / source, tmp_path / target, overwrite=True)


def test_rename_to_another_device_says_so(
    any_fs: RawLocalFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(any_fs, tmp_path / "f")

    def refuse(source: str, target: str) -> None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    monkeypatch.setattr("howdah.fs.local.raw.rename_new", refuse)
    with pytest.raises(errors.RemoteError, match="another device"):
        any_fs.rename(tmp_path / "f", tmp_path / "g")


def test_delete_says_whether_there_was_something(
    any_fs: RawLocalFileSystem, tmp_path: Path
) -> None:
    put(any_fs, tmp_path / "d" / "f")
    assert not any_fs.delete(tmp_path / "missing")
    assert not any_fs.delete(tmp_path / "d" / "f" / "below a file")
    with pytest.raises(errors.DirectoryNotEmpty):
        any_fs.delete(tmp_path / "d")
    assert any_fs.delete(tmp_path / "d", recursive=True)
    assert os.listdir(tmp_path) == []


def test_delete_of_a_name_that_cannot_be_says_so(
    any_fs: RawLocalFileSystem, tmp_path: Path
) -> None:
    with pytest.raises(errors.PathComponentTooLong):
        any_fs.delete(tmp_path / ("n" * 256))


def test_the_root_is_not_deleted(any_fs: RawLocalFileSystem) -> None:
    assert not any_fs.delete("/", recursive=True)
    with pytest.raises(errors.DirectoryNotEmpty):
        any_fs.delete("/")


def test_delete_of_a_link_leaves_what_it_leads_to(
    any_fs: RawLocalFileSystem, tmp_path: Path
) -> None:
    put(any_fs, tmp_path / "d" / "f")
    (tmp_path / "link").symlink_to("d")
    assert any_fs.delete(tmp_path / "link", recursive=True)
    assert (tmp_path / "d" / "f").exists()


# --- looking -----------------------------------------------------------------------------


def test_status_of_a_file(any_fs: RawLocalFileSystem, tmp_path: Path) -> None:
    put(any_fs, tmp_path / "f")
    any_fs.set_times(tmp_path / "f", mtime_ms=1234567, atime_ms=7654321)
    status = any_fs.get_file_status(f"file://{tmp_path}/f")
    assert (status.path, status.length, status.is_file) == (str(tmp_path / "f"), 7, True)
    assert (status.modification_time_ms, status.access_time_ms) == (1234567, 7654321)
    assert (status.permission, status.replication) == (0o644, 1)
    assert any_fs.list_status(tmp_path / "f") == [status]


def test_times_that_are_not_given_stay(any_fs: RawLocalFileSystem, tmp_path: Path) -> None:
    put(any_fs, tmp_path / "f")
    any_fs.set_times(tmp_path / "f", mtime_ms=1, atime_ms=2)
    any_fs.set_times(tmp_path / "f", mtime_ms=3)
    status = any_fs.get_file_status(tmp_path / "f")
    assert (status.modification_time_ms, status.access_time_ms) == (3, 2)


def test_links_are_followed_unless_one_asks_for_them(
    any_fs: RawLocalFileSystem, tmp_path: Path
) -> None:
    put(any_fs, tmp_path / "f")
    (tmp_path / "link").symlink_to("f")
    assert any_fs.get_file_status(tmp_path / "link").length == 7
    status = any_fs.get_file_link_status(tmp_path / "link")
    assert (status.symlink, status.is_file) == ("f", False)
    assert any_fs.get_file_link_status(tmp_path / "f").symlink is None


def test_a_link_that_leads_nowhere_is_listed_as_a_link(
    any_fs: RawLocalFileSystem, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to("nowhere")
    assert [status.symlink for status in any_fs.list_status(tmp_path)] == ["nowhere"]
    assert not any_fs.exists(tmp_path / "link")


def test_a_link_that_leads_to_itself_leads_nowhere(
    any_fs: RawLocalFileSystem, tmp_path: Path
) -> None:
    (tmp_path / "ring").symlink_to("ring")
    put(any_fs, tmp_path / "file")
    found = {each.name: each.symlink for each in any_fs.list_status(tmp_path)}
    assert found["ring"] == "ring"
    assert not any_fs.exists(tmp_path / "ring")


def test_a_listing_is_in_order(any_fs: RawLocalFileSystem, tmp_path: Path) -> None:
    for name in ("b", "a", "B", "ä", "a b"):
        put(any_fs, tmp_path / name)
    names = [status.name for status in any_fs.list_status(tmp_path) if status.name[0] != "."]
    assert names == ["B", "a", "a b", "b", "ä"]


def test_an_entry_that_goes_while_it_is_listed_is_left_out(
    any_fs: RawLocalFileSystem, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    listing = any_fs.list_status_iter(tmp_path)
    assert next(listing).name == "a"
    (tmp_path / "b").rmdir()
    assert list(listing) == []


def test_a_name_that_is_no_utf8_is_kept(any_fs: RawLocalFileSystem, tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff\xfe")
    put(any_fs, tmp_path / name)
    assert any_fs.open(tmp_path / name).read() == b"content"


@pytest.mark.parametrize("operation", ["exists", "mkdirs", "create", "delete", "list_status"])
def test_a_name_that_is_no_text_is_refused(
    any_fs: RawLocalFileSystem, tmp_path: Path, operation: str
) -> None:
    with pytest.raises(errors.InvalidPath):
        getattr(any_fs, operation)(f"{tmp_path}/\ud800")


def test_block_locations_are_here(any_fs: RawLocalFileSystem, tmp_path: Path) -> None:
    put(any_fs, tmp_path / "f")
    (block,) = any_fs.block_locations(tmp_path / "f")
    assert (block.offset, block.length, block.hosts) == (0, 7, ("localhost",))
    with pytest.raises(errors.IllegalArgument, match="negative"):
        any_fs.block_locations(tmp_path / "f", -1)


def test_totals(any_fs: RawLocalFileSystem) -> None:
    status = any_fs.get_status()
    assert status.capacity == status.used + status.remaining > 0
    assert any_fs.server_defaults().bytes_per_checksum == 512


def test_access_is_the_systems_decision(
    any_fs: RawLocalFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(any_fs, tmp_path / "f")
    any_fs.access(tmp_path / "f", os.R_OK)
    with pytest.raises(errors.PathNotFound):
        any_fs.access(tmp_path / "missing", os.R_OK)
    with pytest.raises(errors.IllegalArgument):
        any_fs.access(tmp_path / "f", 8)
    # The superuser may do everything but run a file that nobody may run.
    with pytest.raises(errors.AccessDenied, match=str(tmp_path / "f")):
        any_fs.access(tmp_path / "f", os.X_OK)


def test_an_unknown_owner_is_named(any_fs: RawLocalFileSystem, tmp_path: Path) -> None:
    put(any_fs, tmp_path / "f")
    with pytest.raises(errors.IllegalArgument, match="no-such-user"):
        any_fs.set_owner(tmp_path / "f", "no-such-user")
    with pytest.raises(errors.IllegalArgument, match="owner, a group"):
        any_fs.set_owner(tmp_path / "f")


def test_set_owner_takes_numbers(
    any_fs: RawLocalFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As chown(1), and as a status says of ids without a name."""
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "chown", lambda path, uid, gid: asked.append((uid, gid)))
    any_fs.set_owner(tmp_path / "f", "54321", "65432")
    any_fs.set_owner(tmp_path / "f", owner="0054321")
    any_fs.set_owner(tmp_path / "f", group="4294967294")
    assert asked == [(54321, 65432), (54321, -1), (-1, 4294967294)]
    for name in ("-1", "1_000", "4294967295", "٣", "1 ", "0x1", "a\0b"):
        with pytest.raises(errors.IllegalArgument, match="no such user"):
            any_fs.set_owner(tmp_path / "f", name)
        with pytest.raises(errors.IllegalArgument, match="no such group"):
            any_fs.set_owner(tmp_path / "f", group=name)
    assert len(asked) == 3


def test_set_owner_to_oneself(any_fs: RawLocalFileSystem, tmp_path: Path) -> None:
    put(any_fs, tmp_path / "f")
    status = any_fs.get_file_status(tmp_path / "f")
    any_fs.set_owner(tmp_path / "f", status.owner, status.group)
    assert any_fs.get_file_status(tmp_path / "f").owner == status.owner


@pytest.mark.parametrize(
    ("number", "error"),
    [
        (errno.EACCES, errors.AccessDenied),
        (errno.EPERM, errors.AccessDenied),
        (errno.ENOSPC, errors.DiskOutOfSpace),
        (errno.EDQUOT, errors.SpaceQuotaExceeded),
        (errno.ENAMETOOLONG, errors.PathComponentTooLong),
        (errno.EIO, errors.RemoteError),
        (errno.EROFS, errors.RemoteError),
    ],
)
def test_errors_of_the_system_keep_their_number_and_name_the_path(
    any_fs: RawLocalFileSystem,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    error: type[errors.HowdahError],
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("howdah.fs.local.raw.os.mkdir", fail)
    with pytest.raises(error, match=str(tmp_path / "d")) as raised:
        any_fs.mkdir(tmp_path / "d")
    assert isinstance(raised.value, OSError)
    assert raised.value.errno == number


def test_a_handle_opens_the_same_file(any_fs: RawLocalFileSystem, tmp_path: Path) -> None:
    put(any_fs, tmp_path / "f")
    handle = any_fs.get_path_handle(any_fs.get_file_status(tmp_path / "f"))
    assert any_fs.open_path_handle(handle).read() == b"content"
    put(any_fs, tmp_path / "g")
    any_fs.rename(tmp_path / "g", tmp_path / "f", overwrite=True)
    with pytest.raises(errors.InvalidPathHandle):
        any_fs.open_path_handle(handle)
    any_fs.delete(tmp_path / "f")
    with pytest.raises(errors.InvalidPathHandle, match="gone"):
        any_fs.open_path_handle(handle)


def test_a_handle_does_not_follow_a_file_that_moves(
    any_fs: RawLocalFileSystem, tmp_path: Path
) -> None:
    put(any_fs, tmp_path / "f")
    with pytest.raises(errors.UnsupportedOperation, match="by name"):
        any_fs.get_path_handle(any_fs.get_file_status(tmp_path / "f"), may_move=True)


def test_a_read_holds_though_somebody_still_sees_its_buffer() -> None:
    """As a profiler does that keeps the frames which it sampled."""
    seen: list[memoryview] = []

    def fill(view: memoryview) -> int:
        view[:3] = b"abc"
        seen.append(view[1:])
        return 3

    assert local_streams._filled(10, fill) == b"abc"


@pytest.mark.parametrize(
    ("with_checksums", "step"), [(True, "write"), (False, "write"), (False, "hflush")]
)
def test_a_write_that_is_interrupted_writes_nothing_twice(
    with_checksums: bool, step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python looks for signals when the call of the system has returned."""
    fs = LocalFileSystem(conf=CONF)
    fs.set_write_checksum(with_checksums)
    real, armed = os.write, True

    def write(descriptor: int, data: memoryview) -> int:
        nonlocal armed
        count = real(descriptor, data)
        if armed and len(data) > 1000:
            armed = False
            raise KeyboardInterrupt
        return count

    records = [b"%07d\n" % number for number in range(20_000)]
    out = fs.create(tmp_path / "f")
    monkeypatch.setattr(os, "write", write)

    def write_all() -> None:
        for number, record in enumerate(records):
            out.write(record)
            if step == "hflush" and number == 2000:
                out.hflush()

    with pytest.raises(KeyboardInterrupt):
        write_all()
    with pytest.raises(errors.WriteInterrupted, match="half-way"):
        out.write(b"more")
    with pytest.raises(errors.WriteInterrupted):
        out.close()
    monkeypatch.undo()
    assert b"".join(records).startswith((tmp_path / "f").read_bytes())


def test_progress_that_raises_leaves_a_whole_file(tmp_path: Path) -> None:
    calls = []

    def progress() -> None:
        calls.append(1)
        if len(calls) == 1:
            raise RuntimeError("the caller's own")

    fs = LocalFileSystem(conf=CONF)
    out = fs.create(tmp_path / "f", progress=progress)
    with pytest.raises(RuntimeError):
        out.write(bytes(200_000))
    out.close()
    assert (tmp_path / "f").read_bytes() == bytes(200_000)
