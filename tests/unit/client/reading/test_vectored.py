"""Vectored reads over anything with positioned reads."""

from __future__ import annotations

import random
import threading

import pytest

from howdah import errors
from howdah.client.reading.vectored import MAX_THREADS, read_vectored
from howdah.client.state.reading.ranges import MergeRules
from howdah.options import FileRange

DATA = random.Random(3).randbytes(10_000)
APART = MergeRules(0, 0)


class Stream:
    """Positioned reads of bytes in memory."""

    name = "/f"

    def __init__(self, data: bytes = DATA) -> None:
        self.data = data
        self.calls: list[tuple[int, int]] = []

    def pread_into(self, offset: int, buffer: memoryview) -> int:
        self.calls.append((offset, len(buffer)))
        piece = self.data[offset : offset + len(buffer)]
        buffer[: len(piece)] = piece
        return len(piece)


def test_each_range_has_its_bytes_in_the_order_asked_for() -> None:
    ranges = [FileRange(500, 10), FileRange(0, 100), FileRange(100, 50)]
    futures = read_vectored(Stream(), ranges, MergeRules(1, 1000))
    assert [bytes(each.result(10)) for each in futures] == [
        DATA[each.offset : each.end] for each in ranges
    ]


def test_an_empty_range_is_there_at_once() -> None:
    stream = Stream()
    (future,) = read_vectored(stream, [FileRange(5, 0)], APART)
    assert future.done()
    assert future.result() == b""
    assert not stream.calls


def test_a_file_that_is_shorter_than_was_thought_fails_the_ranges_behind_its_end() -> None:
    ranges = [FileRange(0, 10), FileRange(12, 10), FileRange(30, 5)]
    first, second, third = read_vectored(Stream(DATA[:20]), ranges, MergeRules(100, 1000))
    assert first.result(10) == DATA[:10]
    for future, missing in ((second, 2), (third, 5)):
        error = future.exception(10)
        assert isinstance(error, EOFError)
        assert f"/f ends {missing} bytes before" in str(error)


def test_an_error_fails_the_ranges_of_its_read_and_no_other() -> None:
    class Broken(Stream):
        def pread_into(self, offset: int, buffer: memoryview) -> int:
            if offset < 100:
                raise errors.BlockMissing("no block")
            return super().pread_into(offset, buffer)

    ranges = [FileRange(0, 10), FileRange(20, 10), FileRange(500, 10)]
    futures = read_vectored(Broken(), ranges, MergeRules(50, 1000))
    assert isinstance(futures[0].exception(10), errors.BlockMissing)
    assert isinstance(futures[1].exception(10), errors.BlockMissing)
    assert futures[2].result(10) == DATA[500:510]


def test_ranges_are_read_at_the_same_time() -> None:
    together = threading.Barrier(3)

    class Meeting(Stream):
        def pread_into(self, offset: int, buffer: memoryview) -> int:
            together.wait(20)
            return super().pread_into(offset, buffer)

    ranges = [FileRange(start, 10) for start in (0, 1000, 2000)]
    for future in read_vectored(Meeting(), ranges, APART):
        assert len(future.result(20)) == 10


def test_the_threads_are_bounded() -> None:
    lock = threading.Lock()
    running, most = 0, 0

    class Counting(Stream):
        def pread_into(self, offset: int, buffer: memoryview) -> int:
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
            try:
                return super().pread_into(offset, buffer)
            finally:
                with lock:
                    running -= 1

    ranges = [FileRange(start, 1) for start in range(0, 2000, 5)]
    for future in read_vectored(Counting(), ranges, APART):
        future.result(20)
    assert 1 <= most <= MAX_THREADS


def test_a_range_that_was_cancelled_is_not_read() -> None:
    go = threading.Event()

    class Waiting(Stream):
        def pread_into(self, offset: int, buffer: memoryview) -> int:
            assert go.wait(20)
            return super().pread_into(offset, buffer)

    stream = Waiting()
    # As many as there are threads, and one that has to wait for its turn.
    ranges = [FileRange(start, 1) for start in range(0, 10 * (MAX_THREADS + 1), 10)]
    futures = read_vectored(stream, ranges, APART)
    assert futures[-1].cancel()
    go.set()
    for future in futures[:-1]:
        future.result(20)
    again = read_vectored(stream, [FileRange(5000, 1)], APART)
    again[0].result(20)
    assert (ranges[-1].offset, 1) not in stream.calls


@pytest.mark.parametrize("kind", [bytes, memoryview])
def test_results_compare_as_bytes(kind: type[bytes] | type[memoryview]) -> None:
    (future,) = read_vectored(Stream(), [FileRange(0, 5)], APART)
    assert kind(future.result(10)) == DATA[:5]
