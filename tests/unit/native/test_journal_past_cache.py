"""`DirectWriter` of the kernel where a file has a descriptor past the page cache as well.

What is in the files, and what is said of failures, is the same as without.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howdah.native.loader import kernel
from howdah.runtime import disk
from howdah.testing.waiting import wait_until

from .running import DURABLE, STEP_BYTES, SYNCING, WRITING, Running

if TYPE_CHECKING:
    from howdah.native._kernel import DirectWriter

BLOCKS_BYTES = 1 << 16
FILL = b"\xff"


@pytest.fixture
def tmp_path(disk_directory: Path) -> Path:
    """Memory has no page cache to go past."""
    return Path(tempfile.mkdtemp(dir=disk_directory))


@pytest.fixture(scope="module")
def native() -> ModuleType:
    found = kernel()
    if found is None:
        pytest.skip("the kernel is not built")
    return found


class Segment:
    """A file as `SegmentWriter` has it, with both descriptors."""

    def __init__(self, path: Path, *, begin: bytes, allocated_bytes: int) -> None:
        self.path = path
        path.write_bytes(begin.ljust(allocated_bytes, FILL))
        self.written_bytes, self.allocated_bytes = len(begin), allocated_bytes
        self.descriptor = os.open(path, os.O_RDWR)
        self.past_cache = disk.open_past_cache(path)
        if self.past_cache < 0:
            pytest.skip(f"there is no way past the cache of {path}")

    def lent(self, *, past_cache: bool = True) -> tuple[int, int, int, int]:
        way = self.past_cache if past_cache else -1
        return self.descriptor, way, self.written_bytes, self.allocated_bytes

    def take_back(self, state: tuple[int, int]) -> None:
        self.written_bytes, self.allocated_bytes = state

    def close(self) -> None:
        os.close(self.descriptor)
        os.close(self.past_cache)


@pytest.fixture
def segment(tmp_path: Path) -> Iterator[Segment]:
    made = Segment(tmp_path / "segment", begin=b"head", allocated_bytes=STEP_BYTES)
    yield made
    made.close()


def put(writer: DirectWriter, batch: bytes, txid: int) -> None:
    """Return when it is durable: by the caller, if the thread waits already."""
    if writer.put([batch], txid, True) != DURABLE:
        wait_until(lambda: writer.durable() == txid)


def write(native: ModuleType, files: Sequence[Segment], batches: Sequence[bytes]) -> None:
    """Each as a batch of its own."""
    writer = native.DirectWriter(-1)
    writer.open([each.lent() for each in files], 0)
    running = Running(writer)
    for txid, batch in enumerate(batches, 1):
        put(writer, batch, txid)
    states, durable_txid, _, rest = running.end()
    assert (durable_txid, rest) == (len(batches), b"")
    for each, state in zip(files, states, strict=True):
        each.take_back(state)


def test_records_go_on_in_the_middle_of_a_block(native: ModuleType, segment: Segment) -> None:
    write(native, [segment], [b"one", b"two", b"three"])
    assert (segment.written_bytes, segment.allocated_bytes) == (15, STEP_BYTES)
    assert segment.path.read_bytes() == b"headonetwothree".ljust(STEP_BYTES, FILL)


@given(
    begins=st.lists(st.sampled_from((0, 1, 4095, 4096, 5000)), min_size=1, max_size=3),
    openings=st.lists(
        st.lists(
            st.one_of(
                st.integers(1, 9000),
                st.integers(-2, 2).map(lambda more: BLOCKS_BYTES - disk.BLOCK_BYTES + more),
                st.sampled_from((4096, 8192, BLOCKS_BYTES, 300_000)),
            ),
            min_size=1,
            max_size=8,
        ),
        min_size=1,
        max_size=3,
    ),
    odd_bytes=st.sampled_from((0, 0, 7, 4096)),
)
@settings(max_examples=60, deadline=None)
def test_files_have_what_they_would_have_through_the_cache(
    native: ModuleType,
    disk_directory: Path,
    begins: list[int],
    openings: list[list[int]],
    odd_bytes: int,
) -> None:
    where = Path(tempfile.mkdtemp(dir=disk_directory))
    files = [
        Segment(where / str(number), begin=bytes(begin), allocated_bytes=begin + odd_bytes)
        for number, begin in enumerate(begins)
    ]
    wanted = [bytes(begin) for begin in begins]
    for sizes in openings:
        batches = [bytes((number % 250 + 1,)) * size for number, size in enumerate(sizes)]
        write(native, files, batches)
        wanted = [each + b"".join(batches) for each in wanted]
        for file, content in zip(files, wanted, strict=True):
            assert file.written_bytes == len(content) <= file.allocated_bytes
            assert file.path.read_bytes() == content.ljust(file.allocated_bytes, FILL)
    for file in files:
        file.close()


def test_who_reads_sees_what_is_durable_though_its_pages_are_cached(
    native: ModuleType, segment: Segment
) -> None:
    writer = native.DirectWriter(-1)
    writer.open([segment.lent()], 0)
    running = Running(writer)
    wanted = b"head"
    for txid in range(1, 200):
        with segment.path.open("rb") as file:
            assert file.read(len(wanted) + 1) == wanted + FILL
        put(writer, b"record %d" % txid, txid)
        wanted += b"record %d" % txid
    running.end()
    assert segment.path.read_bytes() == wanted.ljust(STEP_BYTES, FILL)


@pytest.mark.parametrize(
    ("device", "flags", "code"),
    [("/dev/full", os.O_RDWR, errno.ENOSPC), ("segment", os.O_RDONLY, errno.EBADF)],
)
def test_a_write_that_fails_says_in_which_file_and_what_is_durable_stays(
    native: ModuleType, tmp_path: Path, segment: Segment, device: str, flags: int, code: int
) -> None:
    first = Segment(tmp_path / "first", begin=b"head", allocated_bytes=STEP_BYTES)
    other = os.open(tmp_path / device, flags)
    os.dup2(other, segment.past_cache)
    os.close(other)
    writer = native.DirectWriter(-1)
    writer.open([first.lent(), segment.lent()], 7)
    running = Running(writer)
    writer.put([b"one"], 8, False)
    assert running.join() == (1, WRITING, code)
    assert writer.close() == ([(4, STEP_BYTES), (4, STEP_BYTES)], 7, 8, b"one")
    first.close()


def test_a_long_batch_that_cannot_be_synced_says_so(native: ModuleType, segment: Segment) -> None:
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, segment.descriptor)
    os.close(null)
    writer = native.DirectWriter(-1)
    writer.open([segment.lent()], 0)
    running = Running(writer)
    writer.put([bytes(BLOCKS_BYTES)], 1, False)
    assert running.join() == (0, SYNCING, errno.EINVAL)
    assert writer.close()[0] == [(4, STEP_BYTES)]


def test_a_last_block_that_cannot_be_read_is_a_failure(
    native: ModuleType, segment: Segment
) -> None:
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, segment.descriptor)
    os.close(null)
    writer = native.DirectWriter(-1)
    writer.open([segment.lent()], 0)
    running = Running(writer)
    writer.put([b"one"], 1, False)
    assert running.join() == (0, WRITING, errno.EIO)
    assert segment.path.read_bytes() == b"head".ljust(STEP_BYTES, FILL)


def test_one_file_may_have_it_and_another_not(native: ModuleType, tmp_path: Path) -> None:
    files = [
        Segment(tmp_path / str(number), begin=b"head", allocated_bytes=STEP_BYTES)
        for number in range(2)
    ]
    writer = native.DirectWriter(-1)
    writer.open([files[0].lent(), files[1].lent(past_cache=False)], 0)
    running = Running(writer)
    for txid in range(1, 50):
        put(writer, b"%5d" % txid, txid)
    running.end()
    wanted = b"head" + b"".join(b"%5d" % txid for txid in range(1, 50))
    for file in files:
        assert file.path.read_bytes() == wanted.ljust(STEP_BYTES, FILL)
        file.close()


def test_nothing_that_the_blocks_take_is_kept_when_it_is_closed(
    native: ModuleType, segment: Segment
) -> None:
    if "asan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("the sanitizer keeps what is freed for a while")

    def memory_bytes() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    long = bytes(BLOCKS_BYTES - disk.BLOCK_BYTES)
    write(native, [segment], [long])
    before = memory_bytes()
    for _ in range(100):
        segment.written_bytes = 4
        write(native, [segment], [long])
    assert memory_bytes() - before < 50 * BLOCKS_BYTES, "each has blocks of its own"


@pytest.fixture
def refusing() -> Iterator[int]:
    """Whatever is written there is an invalid argument, as for a filesystem that takes no direct
    write (any more), or of other blocks than the probe has shown."""
    descriptor = os.open("/proc/self/oom_score_adj", os.O_RDWR)
    with pytest.raises(OSError, match="Invalid argument"):
        os.pwrite(descriptor, FILL * disk.BLOCK_BYTES, 0)
    yield descriptor
    os.close(descriptor)


def test_a_file_that_takes_no_direct_write_any_more_is_written_the_ordinary_way(
    native: ModuleType, segment: Segment, refusing: int
) -> None:
    """Its directory is not to be given up for that."""
    writer = native.DirectWriter(-1)
    descriptor, _, written_bytes, allocated_bytes = segment.lent()
    writer.open([(descriptor, refusing, written_bytes, allocated_bytes)], 0)
    running = Running(writer)
    for txid, batch in enumerate((b"one", b"two" * 3000, b"three"), 1):
        put(writer, batch, txid)
    states, durable_txid, _, rest = running.end()
    assert (durable_txid, rest) == (3, b"")
    content = b"head" + b"one" + b"two" * 3000 + b"three"
    assert states == [(len(content), STEP_BYTES)]
    assert segment.path.read_bytes() == content.ljust(STEP_BYTES, FILL)


def test_a_file_that_refuses_does_not_keep_others_from_the_direct_way(
    native: ModuleType, segment: Segment, refusing: int, tmp_path: Path
) -> None:
    other = Segment(tmp_path / "other", begin=b"head", allocated_bytes=STEP_BYTES)
    writer = native.DirectWriter(-1)
    lent = segment.lent()
    writer.open([(lent[0], refusing, *lent[2:]), other.lent()], 0)
    running = Running(writer)
    put(writer, b"one", 1)
    put(writer, b"two", 2)
    running.end()
    assert (
        segment.path.read_bytes()
        == other.path.read_bytes()
        == b"headonetwo".ljust(STEP_BYTES, FILL)
    )
    other.close()
