"""Vectored reads: many ranges of a file in one call, read side by side.

Over any stream whose positioned reads may come from several threads; which ranges are
read together is decided in `howdah.client.state.reading.ranges`. The threads are those of the whole
process, so that a hundred streams don't make a thousand. What comes of a range is in
its future: a read that fails fails the ranges that it serves and no other.

Results are read-only views into what was read; ranges that were merged share memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Protocol

from howdah import errors
from howdah.client.state.reading.ranges import MergedRead, MergeRules, merge
from howdah.client.thread_pool import Workers
from howdah.options import FileRange

MAX_THREADS = 16

Result = Future[bytes | memoryview]

_workers = Workers(MAX_THREADS, "howdah-vectored-read")


class Positioned(Protocol):
    """What is needed of a stream; `name` is for the errors."""

    @property
    def name(self) -> str: ...
    def pread_into(self, offset: int, buffer: memoryview) -> int: ...


def read_vectored(
    stream: Positioned, ranges: Sequence[FileRange], rules: MergeRules
) -> list[Result]:
    """Return a future for each of `ranges`, in their order; they were checked before."""
    results: list[Result] = [Future() for _ in ranges]
    for file_range, result in zip(ranges, results, strict=True):
        if not file_range.length:
            result.set_result(b"")
    for read in merge(ranges, rules):
        _start(stream, read, ranges, results)
    return results


def _start(
    stream: Positioned, read: MergedRead, ranges: Sequence[FileRange], results: Sequence[Result]
) -> None:
    def run() -> None:
        # One that was cancelled meanwhile is not read for its own sake.
        parts = [part for part in read.parts if results[part].set_running_or_notify_cancel()]
        if not parts:
            return
        try:
            data = _read(stream, read)
        except BaseException as error:  # noqa: BLE001 - they who wait for the ranges get it
            for part in parts:
                results[part].set_exception(error)
            return
        for part in parts:
            start = ranges[part].offset - read.offset
            piece = data[start : start + ranges[part].length]
            if len(piece) == ranges[part].length:
                results[part].set_result(piece)
            else:
                results[part].set_exception(_too_short(stream, ranges[part], len(piece)))

    _workers.submit(run)


def _read(stream: Positioned, read: MergedRead) -> memoryview:
    buffer = memoryview(bytearray(read.length))
    count = stream.pread_into(read.offset, buffer)
    return buffer[:count].toreadonly()


def _too_short(stream: Positioned, wanted: FileRange, count: int) -> errors.EndOfFile:
    return errors.EndOfFile(
        f"{stream.name} ends {wanted.length - count} bytes before the end of the range of "
        f"{wanted.length} bytes from {wanted.offset} on"
    )
