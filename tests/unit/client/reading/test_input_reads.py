"""Input streams: edges of reading, hints, statistics, many threads, vectored reads."""

from __future__ import annotations

import io
import random
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howdah import errors
from howdah.client.reading import short_read
from howdah.client.reading.statistics import ReadStatistics
from howdah.options import FileRange
from howdah.protocol.data_transfer.op_requests import CachingHints
from howdah.protocol.data_transfer.status import Status
from howdah.runtime.sockets import Connection

FakeCluster = Any
DATA = random.Random(8).randbytes(200_001)
BLOCK = 64 * 1024


@pytest.fixture
def filled(cluster: FakeCluster) -> FakeCluster:
    cluster.put(DATA)
    return cluster


# --- edges ------------------------------------------------------------------------------


def test_zero_length_reads_ask_nobody(filled: FakeCluster) -> None:
    with filled.open() as stream:
        assert stream.read(0) == b""
        assert stream.readinto(bytearray()) == 0
        assert stream.pread(5, 0) == b""
        assert stream.pread_into(5, bytearray()) == 0
    assert filled.datanodes[0].connections == 0


@pytest.mark.parametrize("size", [-1, None])
def test_reading_without_a_size_reads_the_rest(filled: FakeCluster, size: int | None) -> None:
    with filled.open() as stream:
        stream.seek(150_000)
        assert stream.read(size) == DATA[150_000:]


def test_a_negative_position_or_length_is_refused(filled: FakeCluster) -> None:
    with filled.open() as stream:
        calls: tuple[Callable[[], object], ...] = (
            lambda: stream.seek(-1),
            lambda: stream.raw.seek(-1),
            lambda: stream.raw.seek(-len(DATA) - 1, io.SEEK_END),
            lambda: stream.raw.seek(0, 7),
            lambda: stream.pread(-1, 5),
            lambda: stream.pread(5, -1),
            lambda: stream.pread_into(-1, bytearray(5)),
        )
        for call in calls:
            with pytest.raises(ValueError, match=r"seek|read|whence|negative"):
                call()
        assert stream.tell() == 0


def test_reading_behind_the_end_gives_nothing_and_asks_nobody(filled: FakeCluster) -> None:
    with filled.open() as stream:
        stream.seek(len(DATA) + 1000)
        assert stream.read(10) == b""
        assert stream.raw.readinto(bytearray(10)) == 0
        assert stream.pread(len(DATA), 10) == b""
    assert filled.datanodes[0].connections == 0


@pytest.mark.req("OS-112")
def test_preadbytebuffer_fills_any_writable_buffer_of_the_caller(filled: FakeCluster) -> None:
    import array

    with filled.open() as stream:
        assert stream.has_capability("in:preadbytebuffer")
        numbers = array.array("I", bytes(4096))
        assert stream.pread_into(70_000, memoryview(numbers)) == 4096
        assert numbers.tobytes() == DATA[70_000:74_096]


@pytest.mark.req("OS-111")
def test_readbytebuffer_fills_any_writable_buffer_of_the_caller(filled: FakeCluster) -> None:
    with filled.open() as stream:
        assert stream.has_capability("in:readbytebuffer")
        buffer = bytearray(3000)
        assert stream.readinto(memoryview(buffer)[1000:2000]) == 1000
        assert buffer == bytes(1000) + DATA[:1000] + bytes(1000)


@pytest.mark.req("OS-110")
def test_unbuffer_closes_the_connection(filled: FakeCluster) -> None:
    with filled.open() as stream:
        assert stream.has_capability("in:unbuffer")
        stream.read(10)
        stream.unbuffer()
        stream.unbuffer()
        assert stream.raw._reader is None
        stream.seek(100_000)
        assert stream.read(10) == DATA[100_000:100_010]


@pytest.mark.req("OS-113", "OS-114")
@pytest.mark.parametrize("name", ["fs.hdfs.in:readahead", "readahead", "hsync", "hflush", ""])
def test_no_capability_is_made_up(filled: FakeCluster, name: str) -> None:
    with filled.open() as stream:
        assert not stream.has_capability(name)


# --- hints ------------------------------------------------------------------------------


@pytest.mark.req("OS-109")
def test_a_readahead_travels_with_the_next_request(filled: FakeCluster) -> None:
    with filled.open() as stream:
        assert stream.has_capability("in:readahead")
        stream.set_readahead(123_456)
        stream.read(10)
        stream.set_readahead(None)
        stream.seek(BLOCK)
        stream.raw.read(10)
    hints = [read.hints for read in filled.datanodes[0].reads]
    assert hints[0] == CachingHints(None, 123_456)
    assert hints[-1] == CachingHints()


def test_a_negative_readahead_is_refused(filled: FakeCluster) -> None:
    with filled.open() as stream, pytest.raises(ValueError, match="readahead"):
        stream.set_readahead(-1)


def test_drop_behind_travels_with_positioned_reads_too(filled: FakeCluster) -> None:
    with filled.open() as stream:
        stream.set_drop_behind(True)
        stream.pread(0, 10)
    assert filled.datanodes[0].reads[0].hints == CachingHints(True, None)


def test_hints_come_from_the_configuration_where_the_caller_has_none(filled: FakeCluster) -> None:
    with filled.open(drop_behind_reads=False, readahead_bytes=4096) as stream:
        stream.pread(0, 10)
    assert filled.datanodes[0].reads[0].hints == CachingHints(False, 4096)


def test_a_hint_that_changes_nothing_keeps_the_connection(filled: FakeCluster) -> None:
    with filled.open() as stream:
        stream.raw.read(10)
        stream.set_drop_behind(None)
        stream.raw.read(10)
    assert filled.datanodes[0].connections == 1


RANGES = [(0, BLOCK), (1, BLOCK - 1), (511, 513), (70_000, 1), (BLOCK, 30_000), (200_000, 1)]


@pytest.fixture
def received(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How much was asked for each time that this thread received from a datanode."""
    sizes: list[int] = []
    really = Connection._recv_into

    def counted(self: Connection, view: memoryview, flags: int = 0) -> int:
        count = really(self, view, flags)
        if threading.current_thread() is threading.main_thread():
            sizes.append(len(view))
        return count

    monkeypatch.setattr(Connection, "_recv_into", counted)
    return sizes


@pytest.mark.parametrize("implementation", [short_read.read_short, short_read.read_short_here])
@pytest.mark.parametrize(("offset", "length"), RANGES)
def test_a_short_read_and_all_that_belongs_to_it_is_one_step(
    filled: FakeCluster,
    monkeypatch: pytest.MonkeyPatch,
    received: list[int],
    offset: int,
    length: int,
    implementation: Any,
) -> None:
    monkeypatch.setattr(short_read, "read_short", implementation)
    with filled.open() as stream:
        for _ in range(3):
            assert stream.pread(offset, length) == DATA[offset : offset + length]
    assert received == []
    (datanode,) = [each for each in filled.datanodes if each.reads]
    assert datanode.connections == 1
    assert datanode.read_statuses[:2] == [Status.CHECKSUM_OK] * 2


@pytest.mark.parametrize(("offset", "length"), RANGES)
@pytest.mark.parametrize("room", [1, 40, 300])
def test_what_was_received_of_another_answer_is_read_on_from(
    filled: FakeCluster,
    monkeypatch: pytest.MonkeyPatch,
    received: list[int],
    offset: int,
    length: int,
    room: int,
) -> None:
    """And what is still to come of it is not received in small pieces."""
    really = short_read.read_short

    def narrow(sock: Any, request: bytes, start: int, end: int, _: int, *more: Any) -> Any:
        return really(sock, request, start, end, room, *more)

    monkeypatch.setattr(short_read, "read_short", narrow)
    with filled.open() as stream:
        assert stream.pread(offset, length) == DATA[offset : offset + length]
    assert max(received[:2]) >= length - room


# --- statistics -------------------------------------------------------------------------


def test_a_stream_counts_what_it_read_and_from_where(
    filled: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    with filled.open() as stream:
        assert stream.statistics() == ReadStatistics()
        stream.pread(0, 1000)
        stream.pread(100_000, 500)
        assert stream.statistics() == ReadStatistics(total_bytes=1500, local_bytes=1500)
        far = property(lambda _: False, lambda _, value: None)
        monkeypatch.setattr(Connection, "is_same_machine", far, raising=False)
        stream.pread(100_000, 70)
    assert stream.statistics() == ReadStatistics(
        total_bytes=1570, local_bytes=1500, remote_bytes=70
    )


def test_a_stream_counts_replicas_that_failed(filled: FakeCluster) -> None:
    filled.datanodes[0].stop()
    filled.datanodes[1].corrupt_at = 5
    with filled.open() as stream:
        assert stream.pread(0, 10) == DATA[:10]
        assert stream.statistics() == ReadStatistics(total_bytes=10, local_bytes=10, retries=2)


# --- at the same time ---------------------------------------------------------------------


def test_positioned_reads_do_not_disturb_a_sequential_reader(filled: FakeCluster) -> None:
    stop = threading.Event()
    wrong: list[int] = []
    with filled.open() as stream:

        def pread(seed: int) -> None:
            randomness = random.Random(seed)
            while not stop.is_set():
                offset, length = randomness.randrange(len(DATA)), randomness.randrange(3000)
                if stream.pread(offset, length) != DATA[offset : offset + length]:
                    wrong.append(offset)

        threads = [threading.Thread(target=pread, args=(seed,)) for seed in range(3)]
        for thread in threads:
            thread.start()
        pieces = []
        while piece := stream.read(3001):
            pieces.append(piece)
        stop.set()
        for thread in threads:
            thread.join(10)
    assert b"".join(pieces) == DATA
    assert not wrong


# --- vectored reads -------------------------------------------------------------------------


def test_vectored_results_are_in_the_order_of_the_ranges(filled: FakeCluster) -> None:
    ranges = [FileRange(150_000, 10), FileRange(0, 5), FileRange(60_000, 20_000)]
    with filled.open() as stream:
        assert stream.has_capability("in:readvectored")
        futures = stream.read_vectored(ranges)
        results = [bytes(future.result(10)) for future in futures]
        assert stream.tell() == 0
    assert results == [DATA[each.offset : each.end] for each in ranges]


def test_vectored_results_cannot_be_written_into(filled: FakeCluster) -> None:
    with filled.open() as stream:
        (future,) = stream.read_vectored([FileRange(0, 5)])
        view = memoryview(future.result(10))
        assert view.readonly


def test_close_ranges_are_one_request_and_distant_ones_are_not(filled: FakeCluster) -> None:
    near = [FileRange(0, 100), FileRange(200, 100), FileRange(400, 100)]
    with filled.open(vectored_min_seek_bytes=4096) as stream:
        for future in stream.read_vectored([*near, FileRange(50_000, 10)]):
            future.result(10)
    asked = sorted((read.offset, read.length_bytes) for read in filled.datanodes[0].reads)
    assert asked == [(0, 500), (50_000, 10)]


def test_vectored_ranges_are_checked_before_anything_is_read(filled: FakeCluster) -> None:
    with filled.open() as stream:
        with pytest.raises(EOFError):
            stream.read_vectored([FileRange(0, 10), FileRange(len(DATA) - 5, 6)])
        with pytest.raises(ValueError, match="overlap"):
            stream.read_vectored([FileRange(5, 10), FileRange(0, 6)])
        with pytest.raises(ValueError, match="range"):
            stream.read_vectored([FileRange(-1, 10)])
        assert stream.read_vectored([]) == []
        assert [f.result(0) for f in stream.read_vectored([FileRange(7, 0)])] == [b""]
    assert filled.datanodes[0].connections == 0


def test_a_vectored_read_of_a_closed_stream_is_refused(filled: FakeCluster) -> None:
    raw = filled.client().open("/f")
    raw.close()
    with pytest.raises(errors.ClosedStream, match="/f is closed"):
        raw.read_vectored([FileRange(0, 5)])


def test_a_range_that_cannot_be_read_fails_alone(filled: FakeCluster) -> None:
    for node in filled.datanodes:
        node.replicas[1001].clear()
    ranges = [FileRange(0, 10), FileRange(BLOCK + 10, 10), FileRange(2 * BLOCK + 10, 10)]
    with filled.open(max_acquire_failures=0, vectored_min_seek_bytes=0) as stream:
        first, second, third = stream.read_vectored(ranges)
        assert first.result(10) == DATA[:10]
        assert third.result(10) == DATA[2 * BLOCK + 10 : 2 * BLOCK + 20]
        assert isinstance(second.exception(10), errors.BlockMissing)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(st.tuples(st.integers(0, 20_000), st.integers(0, 40_000)), max_size=8),
    st.integers(0, 30_000),
    st.integers(0, 100_000),
)
def test_vectored_reads_give_the_bytes_of_their_ranges(
    filled: FakeCluster, steps: list[tuple[int, int]], min_seek: int, max_merged: int
) -> None:
    at, ranges = 0, []
    for gap, length in steps:
        start = min(at + gap, len(DATA))
        end = min(start + length, len(DATA))
        ranges.append(FileRange(start, end - start))
        at = end
    ranges.reverse()
    with filled.open(
        vectored_min_seek_bytes=min_seek, vectored_max_merged_bytes=max_merged
    ) as stream:
        got = [bytes(future.result(10)) for future in stream.read_vectored(ranges)]
    assert got == [DATA[each.offset : each.end] for each in ranges]
