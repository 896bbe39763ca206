"""What the kernel is told about the page cache while a block is read or written (pure).

A reader or writer may wish (`CachingHints`) that its data doesn't stay in the cache
(drop-behind) and how far is read ahead of it; where it has no wish, the datanode's
configuration decides. Mirrors what Hadoop's BlockSender and BlockReceiver do:

reading
- a long read (over 256 KiB) is announced as sequential, and fetched ahead of the
  reader by `readahead_bytes`, again whenever half of that is used up; a reader's own
  wish holds for short reads too;
- behind the reader, pages go every MiB: if it wishes so, or if this datanode drops
  behind long reads.

writing
- every 8 MiB the disk is set to work on what is new (`sync_behind_writes`), and where
  pages are to be dropped anyway, for the kernel drops no page that isn't written;
- pages go two such windows later, when most will be written.

The last windows are written out and dropped when all is acknowledged and nobody waits
(`WriteCache.rest`), and pages on their way to a reader when it has them
(`ReadCache.rest`): the kernel can't drop them before.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

from howdah.protocol.data_transfer.op_requests import CachingHints

LONG_READ_BYTES = 256 * 1024
DROP_STEP_BYTES = 1024 * 1024
WRITE_WINDOW_BYTES = 8 * 1024 * 1024


class Advice(enum.Enum):
    SEQUENTIAL = enum.auto()
    WILL_NEED = enum.auto()
    DONT_NEED = enum.auto()
    START_WRITING = enum.auto()
    """Set the disk to work on dirty pages, and don't wait."""
    FINISH_WRITING = enum.auto()
    """The same, and wait for it."""


@dataclass(frozen=True, slots=True)
class CacheAdvice:
    """One thing to tell about a range of a file; a length of 0 is all that follows."""

    what: Advice
    offset: int
    length_bytes: int


@dataclass(frozen=True, slots=True)
class CachePolicy:
    """What holds for readers and writers that wish nothing. Defaults are Hadoop's."""

    readahead_bytes: int = 4 * 1024 * 1024
    drop_behind_reads: bool = False
    drop_behind_writes: bool = False
    sync_behind_writes: bool = False


DEFAULT_POLICY = CachePolicy()
NO_READAHEAD = CachePolicy(readahead_bytes=0)


class ReadCache:
    """The advice for one read of `[start, end)`."""

    def __init__(self, start: int, end: int, policy: CachePolicy, hints: CachingHints) -> None:
        is_long = end - start > LONG_READ_BYTES
        self._start = start
        self._end = end
        if hints.drop_behind is None:
            self._drops = policy.drop_behind_reads and is_long
        else:
            self._drops = hints.drop_behind
        if hints.readahead_bytes is None:
            self._readahead_bytes = policy.readahead_bytes if is_long else 0
        else:
            self._readahead_bytes = hints.readahead_bytes
        self._sequential = is_long and self._readahead_bytes > 0
        self._fetched_to = start
        self._dropped_to = start

    def at(self, offset: int) -> Iterator[CacheAdvice]:
        """What to tell before the bytes from `offset` on are read."""
        if offset == self._start and self._sequential:
            yield CacheAdvice(Advice.SEQUENTIAL, self._start, self._end - self._start)
        ahead = min(offset + self._readahead_bytes, self._end)
        left_bytes = self._fetched_to - offset
        if ahead > max(self._fetched_to, offset) and left_bytes <= self._readahead_bytes // 2:
            begin = max(self._fetched_to, offset)
            yield CacheAdvice(Advice.WILL_NEED, begin, ahead - begin)
            self._fetched_to = ahead
        if self._drops and offset - self._dropped_to >= DROP_STEP_BYTES:
            yield CacheAdvice(Advice.DONT_NEED, self._dropped_to, offset - self._dropped_to)
            self._dropped_to = offset

    def rest(self) -> Iterator[CacheAdvice]:
        """What to tell when the reader has got all, or gone."""
        if self._drops and self._end > self._start:
            yield CacheAdvice(Advice.DONT_NEED, self._start, self._end - self._start)


class WriteCache:
    """The advice for the writing of one replica, which begins at `start`."""

    def __init__(self, start: int, policy: CachePolicy, hints: CachingHints) -> None:
        self.drops = policy.drop_behind_writes if hints.drop_behind is None else hints.drop_behind
        self._starts = self.drops or policy.sync_behind_writes
        self._started_to = start

    @property
    def is_idle(self) -> bool:
        """There is nothing to tell, however much is written."""
        return not self._starts

    def wrote(self, end: int) -> Iterator[CacheAdvice]:
        """What to tell when the file reaches to `end`."""
        begin = self._started_to
        if not self._starts or end - begin < WRITE_WINDOW_BYTES:
            return
        yield CacheAdvice(Advice.START_WRITING, begin, end - begin)
        if self.drops and begin > WRITE_WINDOW_BYTES:
            yield CacheAdvice(Advice.DONT_NEED, 0, begin - WRITE_WINDOW_BYTES)
        self._started_to = end

    def closing(self, end: int) -> Iterator[CacheAdvice]:
        """What to tell when nothing more is written."""
        if self._starts and end > self._started_to:
            yield CacheAdvice(Advice.START_WRITING, self._started_to, end - self._started_to)
            self._started_to = end

    def rest(self) -> Iterator[CacheAdvice]:
        """What to tell when nobody waits for this replica any more. It takes a disk's time."""
        if self.drops:
            yield CacheAdvice(Advice.FINISH_WRITING, 0, 0)
            yield CacheAdvice(Advice.DONT_NEED, 0, 0)
