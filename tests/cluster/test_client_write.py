"""Writing through howdah's own client, on real servers."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import howdah
from howdah import errors
from howdah.fs.hdfs.filesystem import HdfsDataOutputStream, HdfsFileSystem
from howdah.fs.streams import FSDataOutputStream
from howdah.testing import MiniCluster
from tests.support.replicas import found_below

MIB = 1 << 20
DATA = random.Random(1).randbytes(3 * MIB + 77)
_numbers = itertools.count()


@pytest.fixture
def fs(howdah_cluster: MiniCluster) -> Iterator[HdfsFileSystem]:
    with howdah_cluster.connect() as connected:
        yield connected


@pytest.fixture
def other(howdah_cluster: MiniCluster) -> Iterator[howdah.FileSystem]:
    """A second client: it shares nothing with the first."""
    with howdah_cluster.connect() as connected:
        yield connected


@pytest.fixture
def path(fs: howdah.FileSystem) -> str:
    return f"/write/file-{next(_numbers)}"


def content(fs: howdah.FileSystem, path: str) -> bytes:
    with fs.open(path) as stream:
        return stream.read()


def replicas(cluster: MiniCluster, name: str, pattern: str) -> list[Path]:
    return [
        found
        for volume in cluster.data_dirs(name)
        for found in found_below(volume, f"**/{pattern}")
    ]


# --- create ---------------------------------------------------------------------------


@pytest.mark.req("OS-001", "FS-115", "FS-118", "OS-025")
def test_create_hands_out_the_public_stream(fs: howdah.FileSystem, path: str) -> None:
    with fs.create(path) as out:
        assert isinstance(out, FSDataOutputStream)
        assert isinstance(out, HdfsDataOutputStream)


@pytest.mark.req("OS-012", "OS-014")
def test_a_new_stream_is_open_and_empty(fs: howdah.FileSystem, path: str) -> None:
    with fs.create(path) as out:
        assert not out.closed
        assert out.get_pos() == 0


@pytest.mark.req("OS-013", "FS-116", "FS-146")
def test_a_file_exists_empty_as_soon_as_create_returns(
    fs: howdah.FileSystem, other: howdah.FileSystem, path: str
) -> None:
    with fs.create(path):
        assert other.exists(path)
        assert other.get_file_status(path).length == 0
        assert content(other, path) == b""
        assert other.block_locations(path) == []


@pytest.mark.req("FS-117")
def test_create_refuses_a_file_that_exists(fs: howdah.FileSystem, path: str) -> None:
    fs.create(path).close()
    with pytest.raises(FileExistsError, match=path):
        fs.create(path)


@pytest.mark.req("FS-117")
def test_create_refuses_who_may_not_write_in_the_directory(
    howdah_cluster: MiniCluster, fs: howdah.FileSystem, path: str
) -> None:
    fs.mkdirs("/write/closed", 0o700)
    with howdah_cluster.connect(user="stranger") as stranger:
        with pytest.raises(PermissionError, match="stranger"):
            stranger.create("/write/closed/file")
    assert not fs.exists("/write/closed/file")


def test_create_overwrites_when_told_so(fs: howdah.FileSystem, path: str) -> None:
    with fs.create(path) as out:
        out.write(b"old and long")
    with fs.create(path, overwrite=True) as out:
        out.write(b"new")
    assert content(fs, path) == b"new"


@pytest.mark.req("FS-005")
def test_a_second_writer_is_refused_while_the_first_writes(
    fs: howdah.FileSystem, other: howdah.FileSystem, path: str
) -> None:
    with fs.create(path) as out:
        out.write(b"x")
        with pytest.raises(errors.HowdahError):
            other.create(path)
        with pytest.raises(errors.HowdahError):
            other.append(path)


def test_create_without_parents_refuses_a_missing_one(fs: howdah.FileSystem) -> None:
    with pytest.raises(FileNotFoundError):
        fs.create("/write/missing/file", create_parent=False)


def test_a_block_size_that_does_not_fit_the_chunks_is_refused(
    fs: howdah.FileSystem, path: str
) -> None:
    with pytest.raises(ValueError, match="multiple of the 512 bytes"):
        fs.create(path, block_size=MIB + 1)
    assert not fs.exists(path)


@pytest.mark.req("OS-001", "OS-012", "OS-013")
def test_a_builder_gives_the_same_stream(fs: howdah.FileSystem, path: str) -> None:
    with fs.create_file(path).recursive().replication(2).build() as out:
        assert isinstance(out, HdfsDataOutputStream)
        assert fs.get_file_status(path).length == 0
        out.write(b"built")
    assert content(fs, path) == b"built"
    assert fs.get_file_status(path).replication == 2


def test_a_program_that_forgets_to_close_loses_nothing(
    howdah_cluster: MiniCluster, fs: HdfsFileSystem, path: str
) -> None:
    program = f"""
import howdah
fs = howdah.connect({howdah_cluster.uri!r})
out = fs.create({path!r})
out.write(b"forgotten")
keep = [out, fs]
keep.append(keep)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=30)
    assert content(fs, path) == b"forgotten"
    assert fs.client.namenode.is_file_closed(path)


# --- what is written --------------------------------------------------------------------


@pytest.mark.req("OS-002", "OS-055", "OS-059")
def test_another_client_reads_what_was_closed(
    fs: howdah.FileSystem, other: howdah.FileSystem, path: str
) -> None:
    with fs.create(path) as out:
        out.write(DATA)
    assert content(other, path) == DATA


@pytest.mark.req("FS-008", "FS-018")
@pytest.mark.parametrize("size", [0, 1, 511, 512, 513, MIB - 1, MIB, MIB + 1, 5 * MIB // 2])
def test_a_file_is_cut_into_blocks_of_the_size_that_was_asked_for(
    fs: howdah.FileSystem, path: str, size: int
) -> None:
    with fs.create(path, block_size=MIB) as out:
        out.write(DATA[:size])
    lengths = [block.length for block in fs.block_locations(path)]
    assert lengths == [MIB] * (size // MIB) + ([size % MIB] if size % MIB else [])
    assert content(fs, path) == DATA[:size]


@pytest.mark.req("FS-121", "FS-013")
@pytest.mark.parametrize("replication", [1, 2, 3])
def test_a_pipeline_is_as_long_as_the_replication_and_of_different_nodes(
    fs: howdah.FileSystem, path: str, replication: int
) -> None:
    with fs.create(path, replication=replication) as out:
        out.write(b"content")
        out.hflush()
        (block,) = fs.block_locations(path)
        assert len(set(block.names)) == replication


@pytest.mark.req("FS-122", "FS-149", "OS-151")
def test_every_datanode_of_the_pipeline_has_what_was_flushed(
    howdah_cluster: MiniCluster, fs: howdah.FileSystem, path: str
) -> None:
    marker = b"a marker that no other file has"
    with fs.create(path) as out:
        out.write(marker)
        out.hflush()
        for name in ("datanode0", "datanode1", "datanode2"):
            being_written = replicas(howdah_cluster, name, "rbw/blk_*")
            assert any(found.read_bytes() == marker for found in being_written)


@pytest.mark.req("OS-036")
def test_integers_are_written_as_bytes(fs: howdah.FileSystem, path: str) -> None:
    with fs.create(path) as out:
        for value in (0, 255, 256, 511, -1):
            out.write(value)
    assert content(fs, path) == bytes([0, 255, 0, 255, 255])


@pytest.mark.req("OS-039", "OS-040", "OS-041", "OS-042", "OS-043")
def test_bad_arguments_leave_the_file_as_it_was(fs: howdah.FileSystem, path: str) -> None:
    with fs.create(path) as out:
        out.write(b"before")
        ill_typed: list[tuple[Any, ...]] = [(None,), ("text",), (None, 0, 1)]
        for arguments in ill_typed:
            with pytest.raises(TypeError):
                out.write(*arguments)
        for bounds in [(-1, 1), (0, -1), (4, 0), (0, 4), (3, 1)]:
            with pytest.raises(IndexError):
                out.write(b"abc", *bounds)
        assert out.get_pos() == 6
    assert content(fs, path) == b"before"


@pytest.mark.req("OS-044")
def test_a_buffer_can_be_used_again_at_once(fs: howdah.FileSystem, path: str) -> None:
    buffer = bytearray(100_000)
    with fs.create(path) as out:
        for value in range(20):
            buffer[:] = bytes([value]) * len(buffer)
            out.write(buffer)
    assert content(fs, path) == b"".join(bytes([value]) * len(buffer) for value in range(20))


@pytest.mark.req("OS-046", "OS-047")
def test_slices_and_whole_buffers_are_added_in_order(fs: howdah.FileSystem, path: str) -> None:
    with fs.create(path) as out:
        out.write(b"abcdef", 1, 3)
        out.write(b"ghi", 0, 3)
        out.write(b"jkl")
        out.write(b"mno", 3, 0)
        out.write(b"")
    assert content(fs, path) == b"bcdghijkl"


def test_single_bytes_lines_and_large_pieces_can_be_mixed(fs: howdah.FileSystem, path: str) -> None:
    randomness = random.Random(3)
    written = bytearray()
    with fs.create(path, block_size=MIB) as out:
        while len(written) < 3 * MIB:
            piece = DATA[: randomness.choice([1, 5, 100, 700, 65_536, 300_000])]
            out.write(piece)
            written += piece
            if randomness.random() < 0.02:
                out.hflush()
    assert content(fs, path) == written


# --- flush, hflush, hsync -------------------------------------------------------------------


@pytest.mark.req("FS-147")
def test_flush_leaves_the_length_at_zero(
    fs: howdah.FileSystem, other: howdah.FileSystem, path: str
) -> None:
    with fs.create(path) as out:
        out.write(b"content")
        out.flush()
        assert other.get_file_status(path).length == 0


@pytest.mark.req("FS-149", "OS-009", "OS-010", "OS-082")
@pytest.mark.parametrize("sync", ["hflush", "hsync"])
def test_new_readers_see_what_was_synced(
    fs: howdah.FileSystem, other: howdah.FileSystem, path: str, sync: str
) -> None:
    with fs.create(path, block_size=MIB) as out:
        for end in (7, 1000, MIB - 1, MIB, MIB + 5, 2 * MIB + 100):
            out.write(DATA[out.get_pos() : end])
            getattr(out, sync)()
            assert content(other, path) == DATA[:end]


@pytest.mark.req("FS-150")
@pytest.mark.parametrize("sync", ["hflush", "hsync"])
def test_the_length_is_exact_after_a_sync(
    fs: howdah.FileSystem, other: howdah.FileSystem, path: str, sync: str
) -> None:
    with fs.create(path, block_size=MIB) as out:
        for end in (7, 700, MIB, MIB + 1):
            out.write(DATA[out.get_pos() : end])
            getattr(out, sync)()
            assert other.get_file_status(path).length == end


# --- close --------------------------------------------------------------------------------


@pytest.mark.req("FS-154", "FS-133", "FS-134")
def test_close_makes_all_visible(
    fs: howdah.FileSystem, other: howdah.FileSystem, path: str
) -> None:
    out = fs.create(path)
    out.write(b"content")
    out.close()
    assert other.get_file_status(path).length == 7
    assert content(other, path) == b"content"


@pytest.mark.req("OS-056")
def test_close_sets_the_time_of_modification(fs: howdah.FileSystem, path: str) -> None:
    out = fs.create(path)
    created_ms = fs.get_file_status(path).modification_time_ms
    out.write(b"x")
    before_ms = int(time.time() * 1000)
    assert before_ms >= created_ms
    out.close()
    status = fs.get_file_status(path)
    assert before_ms <= status.modification_time_ms <= int(time.time() * 1000) + 1
    assert status.length == 1


@pytest.mark.req("OS-057", "OS-038")
def test_every_write_after_close_is_an_i_o_error(fs: howdah.FileSystem, path: str) -> None:
    out = fs.create(path)
    out.write(b"x")
    out.close()
    writes: list[tuple[Any, ...]] = [(b"y",), (7,), (b"yz", 0, 1), (b"",)]
    for arguments in writes:
        with pytest.raises(OSError, match=path):
            out.write(*arguments)
    assert content(fs, path) == b"x"


@pytest.mark.req("OS-058")
def test_another_client_can_append_right_after_close(
    fs: howdah.FileSystem, other: howdah.FileSystem, path: str
) -> None:
    with fs.create(path) as out:
        out.write(b"first ")
    with other.append(path) as out:
        out.write(b"second")
    assert content(fs, path) == b"first second"


@pytest.mark.req("OS-059")
def test_a_closed_stream_says_so(fs: howdah.FileSystem, path: str) -> None:
    out = fs.create(path)
    out.close()
    assert out.closed


@pytest.mark.req("FS-135", "FS-132")
def test_close_waits_for_the_minimal_replication_only() -> None:
    with MiniCluster(datanodes=1) as cluster, cluster.connect() as fs:
        with fs.create("/f", replication=3) as out:
            out.write(b"content")
        (block,) = fs.block_locations("/f")
        assert len(block.names) == 1
        assert fs.get_file_status("/f").replication == 3


# --- append -------------------------------------------------------------------------------


@pytest.mark.req("OS-015")
@pytest.mark.parametrize("before", [0, 1, 511, 512, 1000, MIB - 1, MIB, MIB + 300])
@pytest.mark.parametrize("more", [1, 511, 70_000, MIB])
def test_append_adds_to_what_is_there(
    fs: howdah.FileSystem, path: str, before: int, more: int
) -> None:
    with fs.create(path, block_size=MIB) as out:
        out.write(DATA[:before])
    with fs.append(path) as out:
        assert isinstance(out, FSDataOutputStream)
        assert out.get_pos() == before
        out.write(DATA[before : before + more])
    assert content(fs, path) == DATA[: before + more]
    assert fs.get_file_status(path).length == before + more


@pytest.mark.req("OS-015")
def test_many_appends_with_flushes_in_between(fs: howdah.FileSystem, path: str) -> None:
    written = bytearray()
    fs.create(path, block_size=MIB).close()
    for number in range(12):
        with fs.append(path) as out:
            for _ in range(3):
                piece = DATA[: 97 * (number + 1)]
                out.write(piece)
                written += piece
                out.hflush()
                assert content(fs, path) == written
    assert content(fs, path) == written


def test_append_of_nothing_leaves_the_file_as_it_was(fs: howdah.FileSystem, path: str) -> None:
    with fs.create(path) as out:
        out.write(b"content")
    fs.append(path).close()
    assert content(fs, path) == b"content"


def test_append_to_a_missing_file_is_a_file_not_found_error(fs: howdah.FileSystem) -> None:
    with pytest.raises(FileNotFoundError):
        fs.append("/write/missing")


# --- checksums ----------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["MD5MD5CRC", "COMPOSITE_CRC"])
def test_equal_content_has_equal_checksums(fs: howdah.FileSystem, path: str, mode: str) -> None:
    for name in ("a", "b", "c"):
        with fs.create(f"{path}-{name}", block_size=MIB) as out:
            out.write(DATA if name != "c" else DATA[:-1])
    first, second, third = (
        fs.get_file_checksum(f"{path}-{name}", combine_mode=mode) for name in ("a", "b", "c")
    )
    assert first == second != third


def test_a_composite_crc_does_not_depend_on_blocks(fs: howdah.FileSystem, path: str) -> None:
    for size in (MIB, 2 * MIB):
        with fs.create(f"{path}-{size}", block_size=size) as out:
            out.write(DATA)
    first, second = (
        fs.get_file_checksum(f"{path}-{size}", combine_mode="COMPOSITE_CRC")
        for size in (MIB, 2 * MIB)
    )
    assert first == second
