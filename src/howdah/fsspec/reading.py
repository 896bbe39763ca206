"""Ranges of files and whole files, several at once.

The ranges of one file go through one stream as a vectored read: what overlaps or lies
close together becomes one read, and the reads go on side by side. fsspec allows ranges
that overlap, or come twice; a vectored read does not, so they are put together first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from howdah import errors
from howdah.fs.streams import FSDataInputStream
from howdah.options import FileRange

THREADS = 16
"""Files that are read at once: what they cost is mostly waiting."""
FAILURES = (errors.HowdahError, OSError, ValueError)
T = TypeVar("T")


def covers(
    wanted: Sequence[tuple[int, int]], max_gap: int | None
) -> list[tuple[int, int, list[int]]]:
    """What to read for ranges (start, end): disjoint (start, end, indices of `wanted`).

    Ranges that touch or overlap are one, and so are those with a gap up to `max_gap`.

    >>> covers([(0, 10), (5, 12), (20, 30)], None)
    [(0, 12, [0, 1]), (20, 30, [2])]
    >>> covers([(20, 30), (0, 10)], 10)
    [(0, 30, [1, 0])]
    """
    found: list[tuple[int, int, list[int]]] = []
    for index in sorted(range(len(wanted)), key=lambda each: wanted[each]):
        start, end = wanted[index]
        if end <= start:
            continue
        if found and start - found[-1][1] <= (max_gap or 0):
            before, until, parts = found[-1]
            found[-1] = (before, max(until, end), [*parts, index])
        else:
            found.append((start, end, [index]))
    return found


def read_ranges(
    file: FSDataInputStream, slices: Sequence[slice], max_gap: int | None
) -> list[bytes | Exception]:
    """The bytes of each slice of a file, or why they can't be read."""
    wanted = [each.indices(file.size)[:2] for each in slices]
    out: list[bytes | Exception] = [b""] * len(wanted)
    reads = covers(wanted, max_gap)
    futures = file.read_vectored([FileRange(start, end - start) for start, end, _ in reads])
    for (start, _, parts), future in zip(reads, futures, strict=True):
        try:
            data = future.result()
        except FAILURES as error:
            for part in parts:
                out[part] = error
            continue
        for part in parts:
            first, last = wanted[part]
            out[part] = bytes(data[first - start : last - start])
    return out


def all_at_once(read: Callable[[str], T], names: Iterable[str]) -> list[T]:
    """`read` of each name, in their order, on a few threads. Of what is raised the first in
    that order; what was not begun by then is left.

    The threads are gone when this returns: nothing is there for a fork to lose.
    """
    wanted = list(names)
    if len(wanted) < 2:
        return [read(name) for name in wanted]
    with ThreadPoolExecutor(min(THREADS, len(wanted)), "howdah-cat") as threads:
        reads = [threads.submit(read, name) for name in wanted]
        try:
            return [each.result() for each in reads]
        finally:
            for each in reads:
                each.cancel()
