"""What the kernel is told about the page cache."""

from __future__ import annotations

import ctypes
import itertools
import mmap
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.config import Configuration
from howdah.datanode.replicas import fadvise
from howdah.datanode.settings import DataSettings
from howdah.datanode.state.messages import Transfer
from howdah.datanode.state.replicas.page_cache import (
    DEFAULT_POLICY,
    DROP_STEP_BYTES,
    LONG_READ_BYTES,
    WRITE_WINDOW_BYTES,
    Advice,
    CacheAdvice,
    CachePolicy,
    ReadCache,
    WriteCache,
)
from howdah.datanode.transfer import copies
from howdah.protocol.data_transfer.op_requests import (
    NO_HINTS,
    CachingHints,
    WriteBlock,
    encode_request,
)

MIB = 1 << 20
PACKET = 256 * 1024
Lab = Any


def read_all(
    length: int, policy: CachePolicy = DEFAULT_POLICY, hints: CachingHints = NO_HINTS
) -> list[CacheAdvice]:
    cache = ReadCache(0, length, policy, hints)
    return [one for at in range(0, length, PACKET) for one in cache.at(at)] + list(cache.rest())


def write_all(
    length: int, policy: CachePolicy = DEFAULT_POLICY, hints: CachingHints = NO_HINTS
) -> list[CacheAdvice]:
    cache = WriteCache(0, policy, hints)
    steps = [one for at in range(PACKET, length + 1, PACKET) for one in cache.wrote(at)]
    return steps + list(cache.closing(length)) + list(cache.rest())


def kinds(advice: list[CacheAdvice]) -> set[Advice]:
    return {one.what for one in advice}


# --- reading ---


@pytest.mark.req("LM-004")
def test_a_long_read_is_announced_and_fetched_ahead() -> None:
    assert read_all(16 * MIB)[:3] == [
        CacheAdvice(Advice.SEQUENTIAL, 0, 16 * MIB),
        CacheAdvice(Advice.WILL_NEED, 0, 4 * MIB),
        CacheAdvice(Advice.WILL_NEED, 4 * MIB, 2 * MIB),
    ]


def test_a_short_read_is_left_to_the_kernel() -> None:
    assert read_all(LONG_READ_BYTES) == []


def test_a_readers_own_wish_for_readahead_holds_for_short_reads_too() -> None:
    assert read_all(8192, hints=CachingHints(readahead_bytes=4096)) == [
        CacheAdvice(Advice.WILL_NEED, 0, 4096)
    ]


def test_a_reader_may_wish_for_no_readahead() -> None:
    assert read_all(16 * MIB, hints=CachingHints(readahead_bytes=0)) == []


@given(st.integers(1, 64 * MIB), st.integers(0, 8 * MIB))
def test_each_byte_is_fetched_ahead_once_and_none_beyond_the_end(
    length: int, readahead_bytes: int
) -> None:
    ahead = [
        one
        for one in read_all(length, hints=CachingHints(readahead_bytes=readahead_bytes))
        if one.what is Advice.WILL_NEED
    ]
    for before, after in itertools.pairwise(ahead):
        assert before.offset + before.length_bytes <= after.offset
    assert all(one.length_bytes > 0 for one in ahead)
    assert all(one.offset + one.length_bytes <= length for one in ahead)


@pytest.mark.req("OS-115")
def test_pages_stay_behind_a_reader_that_wishes_nothing() -> None:
    assert Advice.DONT_NEED not in kinds(read_all(16 * MIB))


@pytest.mark.req("OS-115")
def test_pages_go_behind_a_reader_that_wishes_so() -> None:
    drops = [
        one
        for one in read_all(3 * MIB, hints=CachingHints(drop_behind=True))
        if one.what is Advice.DONT_NEED
    ]
    assert drops == [
        CacheAdvice(Advice.DONT_NEED, 0, DROP_STEP_BYTES),
        CacheAdvice(Advice.DONT_NEED, DROP_STEP_BYTES, DROP_STEP_BYTES),
        CacheAdvice(Advice.DONT_NEED, 0, 3 * MIB),
    ]


@pytest.mark.req("OS-115")
@pytest.mark.parametrize(("start", "end"), [(0, 0), (MIB, MIB), (MIB, MIB - 1)])
def test_nothing_is_dropped_behind_a_read_of_nothing(start: int, end: int) -> None:
    """To the kernel a length of 0 is all that follows, which others may be reading."""
    cache = ReadCache(start, end, CachePolicy(), CachingHints(drop_behind=True))
    assert list(cache.rest()) == []


@pytest.mark.req("OS-115")
@given(st.integers(0, 3 * MIB), st.integers(0, 3 * MIB))
def test_no_advice_behind_a_read_is_of_length_0(start: int, length: int) -> None:
    cache = ReadCache(start, start + length, CachePolicy(), CachingHints(drop_behind=True))
    steps = [one for at in range(start, start + length, PACKET) for one in cache.at(at)]
    assert all(one.length_bytes > 0 for one in [*steps, *cache.rest()])


@pytest.mark.req("OS-115")
@pytest.mark.parametrize(("length", "dropped"), [(LONG_READ_BYTES, False), (4 * MIB, True)])
def test_a_datanode_may_drop_behind_long_reads(length: int, dropped: bool) -> None:
    advice = read_all(length, CachePolicy(drop_behind_reads=True))
    assert (Advice.DONT_NEED in kinds(advice)) is dropped


@pytest.mark.req("OS-115")
def test_a_reader_may_keep_its_pages_where_the_datanode_drops_them() -> None:
    advice = read_all(16 * MIB, CachePolicy(drop_behind_reads=True), CachingHints(False))
    assert Advice.DONT_NEED not in kinds(advice)


# --- writing ---


@pytest.mark.req("OS-115")
def test_nothing_is_told_about_an_ordinary_write() -> None:
    assert write_all(64 * MIB) == []


def test_the_disk_is_set_to_work_behind_a_write_where_that_is_configured() -> None:
    advice = write_all(20 * MIB, CachePolicy(sync_behind_writes=True))
    assert advice == [
        CacheAdvice(Advice.START_WRITING, 0, WRITE_WINDOW_BYTES),
        CacheAdvice(Advice.START_WRITING, WRITE_WINDOW_BYTES, WRITE_WINDOW_BYTES),
        CacheAdvice(Advice.START_WRITING, 2 * WRITE_WINDOW_BYTES, 4 * MIB),
    ]


@pytest.mark.req("OS-115")
def test_pages_go_behind_a_writer_that_wishes_so_once_they_are_written() -> None:
    advice = write_all(32 * MIB, hints=CachingHints(drop_behind=True))
    assert CacheAdvice(Advice.DONT_NEED, 0, WRITE_WINDOW_BYTES) in advice
    assert advice[-2:] == [
        CacheAdvice(Advice.FINISH_WRITING, 0, 0),
        CacheAdvice(Advice.DONT_NEED, 0, 0),
    ]


@pytest.mark.req("OS-115")
@pytest.mark.parametrize("start", [0, 1, WRITE_WINDOW_BYTES - 1, WRITE_WINDOW_BYTES])
def test_no_advice_in_the_middle_of_a_write_is_of_length_0(start: int) -> None:
    """To the kernel a length of 0 is the whole file, of which the end is not written yet."""
    cache = WriteCache(start, CachePolicy(), CachingHints(drop_behind=True))
    steps = [one for step in range(1, 6) for one in cache.wrote(start + step * WRITE_WINDOW_BYTES)]
    assert Advice.DONT_NEED in kinds(steps)
    assert all(one.length_bytes > 0 for one in steps)


@given(st.integers(0, 100 * MIB), st.lists(st.integers(1, 20 * MIB), max_size=12))
def test_no_page_is_dropped_before_the_disk_was_set_to_work_on_it(
    start: int, steps: list[int]
) -> None:
    cache = WriteCache(start, DEFAULT_POLICY, CachingHints(True))
    end = started_to = start
    for step in steps:
        end += step
        for one in cache.wrote(end):
            if one.what is Advice.START_WRITING:
                assert one.offset == started_to
                started_to = one.offset + one.length_bytes
            else:
                assert one.offset + one.length_bytes <= started_to
    for one in cache.closing(end):
        assert (one.offset, one.offset + one.length_bytes) == (started_to, end)


# --- the calls ---


def cached_pages(path: Path) -> int:
    """How many pages of a file are in the page cache."""
    length = path.stat().st_size
    pages = -(-length // mmap.PAGESIZE)
    libc = ctypes.CDLL(None, use_errno=True)
    with path.open("r+b") as file, mmap.mmap(file.fileno(), length) as mapped:
        held = (ctypes.c_ubyte * pages)()
        first = ctypes.c_char.from_buffer(mapped)
        address = ctypes.c_void_p(ctypes.addressof(first))
        assert libc.mincore(address, ctypes.c_size_t(length), held) == 0
        del first
        return sum(value & 1 for value in held)


@pytest.fixture
def tmp_path(disk_directory: Path) -> Path:
    """Memory has no page cache to drop something from."""
    return Path(tempfile.mkdtemp(dir=disk_directory))


@pytest.fixture
def on_disk(tmp_path: Path) -> Path:
    """A file of 4 MiB; a filesystem in memory, which nothing can be dropped from, is skipped."""
    path = tmp_path / "file"
    path.write_bytes(bytes(4 * MIB))
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)
    if cached_pages(path):
        pytest.skip("pages of this filesystem can't be dropped")
    return path


@pytest.mark.req("OS-115")
def test_pages_are_written_out_and_dropped(on_disk: Path) -> None:
    fd = os.open(on_disk, os.O_RDWR)
    os.pwrite(fd, os.urandom(4 * MIB), 0)
    assert cached_pages(on_disk) == 4 * MIB // mmap.PAGESIZE
    cache = WriteCache(0, DEFAULT_POLICY, CachingHints(drop_behind=True))
    fadvise.advise(fd, cache.rest())
    os.close(fd)
    assert cached_pages(on_disk) == 0


def test_without_the_c_librarys_call_waiting_is_fdatasync(
    on_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(fadvise, "_sync_file_range", None)
    monkeypatch.setattr(os, "fdatasync", synced.append)
    fd = os.open(on_disk, os.O_RDWR)
    fadvise.advise(
        fd,
        [CacheAdvice(Advice.START_WRITING, 0, 1), CacheAdvice(Advice.FINISH_WRITING, 0, 1)],
    )
    os.close(fd)
    assert synced == [fd]


def test_a_disk_that_can_not_write_is_told() -> None:
    reader, writer = os.pipe()
    with pytest.raises(OSError, match="sync_file_range"):
        fadvise.advise(writer, [CacheAdvice(Advice.START_WRITING, 0, 1)])
    os.close(reader)
    os.close(writer)


# --- through the server ---


@pytest.mark.req("OS-115", "OS-118")
def test_a_block_that_is_written_with_drop_behind_leaves_no_pages(lab: Lab, on_disk: Path) -> None:
    node = lab.node()
    lab.write_block(node, lab.block(), bytes(3 * MIB), hints=CachingHints(drop_behind=True))
    lab.wait_until(lambda: cached_pages(node.block_path(1)) == 0)


@pytest.mark.req("OS-115")
def test_a_block_that_is_written_without_a_wish_stays_in_the_cache(lab: Lab, on_disk: Path) -> None:
    node = lab.node()
    lab.write_block(node, lab.block(), bytes(3 * MIB))
    node.wait_idle()
    assert cached_pages(node.block_path(1)) == 3 * MIB // mmap.PAGESIZE


@pytest.mark.req("OS-115", "OS-118")
def test_a_block_that_is_read_with_drop_behind_leaves_no_pages(lab: Lab, on_disk: Path) -> None:
    """The kernel keeps what the socket still refers to, so a busy machine may need a second
    reader for the first one's pages."""
    node = lab.node()
    data = bytes(3 * MIB)
    lab.write_block(node, lab.block(), data)
    fd = os.open(node.block_path(1), os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)
    request = lab.read_request(lab.block(), 0, len(data), hints=CachingHints(drop_behind=True))

    def read_and_dropped() -> bool:
        assert lab.read_block(node, request).data == data
        return cached_pages(node.block_path(1)) == 0

    lab.wait_until(read_and_dropped)


def test_a_copy_to_another_datanode_asks_it_to_drop_behind(lab: Lab) -> None:
    source, target = lab.node(), lab.node()
    lab.write_block(source, lab.block(), b"abc")
    asked: list[WriteBlock] = []
    order = Transfer(lab.block().with_length(3), (target.address,), (), ())
    with pytest.MonkeyPatch.context() as patch:

        def recorded(request: WriteBlock) -> bytes:
            asked.append(request)
            return encode_request(request)

        patch.setattr(copies, "encode_request", recorded)
        copies.Copies(source.store, source.settings).start(order).join(10)
    assert [request.hints.drop_behind for request in asked] == [True]


def test_the_settings_are_hadoops() -> None:
    conf = Configuration().with_values(
        {
            "dfs.datanode.readahead.bytes": "1m",
            "dfs.datanode.drop.cache.behind.reads": "true",
            "dfs.datanode.drop.cache.behind.writes": "true",
            "dfs.datanode.sync.behind.writes": "true",
        }
    )
    assert DataSettings.of(conf).cache == CachePolicy(MIB, True, True, True)
    assert DataSettings.of(Configuration()).cache == DEFAULT_POLICY
