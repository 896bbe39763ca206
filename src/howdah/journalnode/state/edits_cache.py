"""The edits that a journal node took last, in memory (pure; A12). Hadoop: JournaledEditsCache.

A standby that tails asks for them many times a second (`getJournaledEdits`), and no file is
read for it. The cache holds one run of transactions without a gap. What does not follow it
begins a new run. When it is full the oldest batches go.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from howdah import errors
from howdah.formats.edits.segment_scan import encode_header


@dataclass(frozen=True, slots=True)
class _Batch:
    first_txid: int
    offsets: tuple[int, ...]
    records: bytes

    def end_of(self, txid: int) -> int:
        """The offset behind the record of a transaction."""
        behind = txid + 1 - self.first_txid
        return self.offsets[behind] if behind < len(self.offsets) else len(self.records)


@dataclass(frozen=True, slots=True)
class CachedEdits:
    """`count` edits; `log` is a segment's header and their records."""

    count: int
    log: bytes


class EditsCache:
    """Not thread safe."""

    def __init__(self, capacity_bytes: int) -> None:
        self._capacity_bytes = capacity_bytes
        self._batches: deque[_Batch] = deque()
        self._size_bytes = 0
        self._next_txid = 0
        self._layout_version = 0

    @property
    def highest_txid(self) -> int | None:
        return self._next_txid - 1 if self._batches else None

    @property
    def lowest_txid(self) -> int | None:
        return self._batches[0].first_txid if self._batches else None

    def clear(self) -> None:
        self._batches.clear()
        self._size_bytes = 0

    def add(
        self, first_txid: int, offsets: tuple[int, ...], records: bytes, layout_version: int
    ) -> None:
        """`offsets` are where the records begin."""
        if first_txid != self._next_txid or layout_version != self._layout_version:
            self.clear()
        self._layout_version = layout_version
        self._batches.append(_Batch(first_txid, offsets, records))
        self._size_bytes += len(records)
        self._next_txid = first_txid + len(offsets)
        while self._size_bytes > self._capacity_bytes:
            self._size_bytes -= len(self._batches.popleft().records)

    def edits(self, since_txid: int, max_count: int, max_bytes: int) -> CachedEdits:
        """The edits from `since_txid` on, as many as are there; at least one, if there is one,
        however long it is. None at all behind the last.

        Raises JournalCacheMiss for those that the cache does not hold any more.
        """
        if not self._batches or since_txid < self._batches[0].first_txid:
            raise errors.JournalCacheMiss(
                f"Oldest txn ID available in the cache is {self.lowest_txid}, but requested txns "
                f"starting at {since_txid}. The cache holds {self._capacity_bytes} bytes "
                "(dfs.journalnode.edit-cache-size.bytes)"
            )
        pieces = [encode_header(self._layout_version)]
        count = size_bytes = 0
        for batch in self._from(since_txid):
            first_txid = max(batch.first_txid, since_txid)
            last_txid = batch.first_txid + len(batch.offsets) - 1
            last_txid = min(last_txid, first_txid + max_count - count - 1)
            begin = batch.offsets[first_txid - batch.first_txid]
            while (
                last_txid > first_txid and size_bytes + batch.end_of(last_txid) - begin > max_bytes
            ):
                last_txid = (first_txid + last_txid) // 2
            piece = batch.records[begin : batch.end_of(last_txid)]
            if last_txid < first_txid or (count and size_bytes + len(piece) > max_bytes):
                break
            pieces.append(piece)
            size_bytes += len(piece)
            count += last_txid + 1 - first_txid
            if last_txid < batch.first_txid + len(batch.offsets) - 1:
                break
        return CachedEdits(count, b"".join(pieces) if count else b"")

    def _from(self, txid: int) -> Iterator[_Batch]:
        """The batches from that of a transaction on; none behind the last transaction."""
        if txid >= self._next_txid:
            return iter(())
        at = bisect_right(self._batches, txid, key=lambda batch: batch.first_txid) - 1
        return islice(self._batches, at, None)
