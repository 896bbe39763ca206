"""Vectored reads of streams that have none of their own: `file`, `mem`, and strangers'.

By Hadoop's rules for filesystems that say nothing else: gaps below 4 KiB are read over,
up to 1 MiB in one read. The threads are imported with the first such read, which most
programs never do.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING

from howdah.options import FileRange

if TYPE_CHECKING:
    from howdah.client.reading.vectored import Positioned


def read_ranges(
    stream: Positioned, ranges: Sequence[FileRange]
) -> list[Future[bytes | memoryview]]:
    """A future for each range, in their order; they were checked before."""
    from howdah.client.reading.ranges import DEFAULT_RULES
    from howdah.client.reading.vectored import read_vectored

    return read_vectored(stream, ranges, DEFAULT_RULES)
