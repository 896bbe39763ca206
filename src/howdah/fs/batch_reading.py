"""Ranges of files and whole files, several at once.

The ranges of one file go through one stream as a vectored read: what overlaps or lies
close together becomes one read, and the reads go on side by side. Callers may ask for ranges
that overlap, or come twice; a vectored read does not take these, so they are put together first.
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
    """Return the reads for ranges (start, end): disjoint (start, end, indices of `wanted`).

    Ranges that touch or overlap are one read, and so are those with a gap up to `max_gap`.

    >>> covers([(0, 10), (5, 12), (20, 30)], None)
    [(0, 12, [0, 1]), (20, 30, [2])]
    >>> covers([(20, 30), (0, 10)], 10)
    [(0, 30, [1, 0])]
    """
    reads: list[tuple[int, int, list[int]]] = []
    for index in sorted(range(len(wanted)), key=lambda index: wanted[index]):
        start, end = wanted[index]
        if end <= start:
            continue
        if reads and start - reads[-1][1] <= (max_gap or 0):
            before, until, parts = reads[-1]
            reads[-1] = (before, max(until, end), [*parts, index])
        else:
            reads.append((start, end, [index]))
    return reads


def read_ranges(
    file: FSDataInputStream, slices: Sequence[slice], max_gap: int | None
) -> list[bytes | Exception]:
    """Read the bytes of each slice of a file; where that fails, return the error instead."""
    wanted = [bounds.indices(file.size)[:2] for bounds in slices]
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


def read_files(
    open_file: Callable[[str], FSDataInputStream],
    wanted: Sequence[tuple[str, slice]],
    max_gap: int | None = None,
    *,
    stops_at_error: bool = False,
) -> list[bytes | Exception]:
    """Read a range of each of several files, which may be the same. A file is opened once, however
    many of its ranges are wanted.

    What could not be read has its error in its place; with `stops_at_error` it is raised, and what
    was not begun is not read.
    """
    out: list[bytes | Exception] = [b""] * len(wanted)
    indices: dict[str, list[int]] = {}
    for index, (path, _) in enumerate(wanted):
        indices.setdefault(path, []).append(index)

    def read(path: str) -> None:
        contents: Sequence[bytes | Exception]
        try:
            with open_file(path) as file:
                contents = read_ranges(file, [wanted[index][1] for index in indices[path]], max_gap)
        except FAILURES as error:
            contents = [error] * len(indices[path])
        for index, data in zip(indices[path], contents, strict=True):
            if stops_at_error and isinstance(data, Exception):
                raise data
            out[index] = data

    all_at_once(read, indices)
    return out


def all_at_once(read: Callable[[str], T], names: Iterable[str]) -> list[T]:
    """Call `read` for each name on a few threads, and return the results in order. Raise the first
    error in that order, and do not begin the remaining calls.

    The threads have ended when this returns, so a fork loses none.
    """
    wanted = list(names)
    if len(wanted) < 2:
        return [read(name) for name in wanted]
    with ThreadPoolExecutor(min(THREADS, len(wanted)), "howdah-cat") as threads:
        reads = [threads.submit(read, name) for name in wanted]
        try:
            return [future.result() for future in reads]
        finally:
            for future in reads:
                future.cancel()
