"""Reads a range of a block group, from all its internal blocks at the same time.

StripeReader and StatefulStripeReader in Hadoop. What to read, and what to decode where internal
blocks are missing, says `howdah.client.state.reading.stripes`; which node has an internal block,
and what its failure means, is `howdah.client.reading.striped_replicas`.

The range is read window by window, each of a stripe, or of several where cells are small. A window
that fits into the caller's buffer is read and decoded there. Of a larger one as much is kept
as the caller has not taken yet. Readers of internal blocks stay open from window to window, and
an internal block that is missing stays so for this reader.

No thread touches a buffer any more when a read has ended, however it ended: those of the caller
may be gone then.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import Protocol

from howdah import errors
from howdah.client.reading.readers import Cancellation, ReadSource, ReplicaReader
from howdah.client.state.reading.stripes import (
    RowPlan,
    TooFewUnits,
    end_in_block,
    end_in_rows,
    place_in_group,
    plan,
    rows,
)
from howdah.client.thread_pool import Workers
from howdah.protocol.data_transfer.blocks import DatanodeAddress
from howdah.protocol.striping.coder import Coder
from howdah.protocol.striping.layout import GroupLayout

WINDOW_BYTES = 4 << 20
"""Of stripes that are smaller several are read at once."""
_SHORT_SKIP_BYTES = 128 * 1024
"""So much is read over rather than asked for anew."""


class InternalBlockLost(Exception):
    """An internal block can't be read: no node has it, or all that do have failed."""


class InternalBlocks(Protocol):
    """What is behind the internal blocks of a group: nodes, and what is known of them."""

    def open(self, index: int, start: int, end: int, cancellation: Cancellation) -> ReplicaReader:
        """A reader of these bytes of the internal block, at the first node that works.

        Raises `InternalBlockLost` when there is none, `ReadCancelled` when the read is over.
        """

    def failed(
        self, index: int, reader: ReplicaReader, error: errors.HowdahError | OSError
    ) -> None:
        """Take note that `reader` failed; raises the error where another node would not help."""

    def too_few(self, missing: Sequence[int]) -> errors.HowdahError:
        """What to raise where more internal blocks are missing than can be made up for."""


@dataclass(frozen=True, slots=True)
class _Read:
    """Bytes of an internal block, and where they go."""

    row: int
    start: int
    buffer: memoryview


class StripedReader:
    """Yields a range of a group's data, once, in order; a `ReplicaReader`. One thread at a time.

    `position` is an offset in the group's data.
    """

    def __init__(
        self,
        layout: GroupLayout,
        coder: Coder,
        blocks: InternalBlocks,
        start: int,
        end: int,
        node: DatanodeAddress,
        workers: Workers,
        cancellation: Cancellation | None = None,
    ) -> None:
        """`node` stands for all nodes of the group, of which there is none to blame."""
        self.node = node
        self.position = start
        self.source = ReadSource.REMOTE
        self._layout = layout
        self._coder = coder
        self._blocks = blocks
        self._end = end
        self._workers = workers
        self._units: dict[int, _InternalBlockReader] = {}
        self._missing: set[int] = set()
        self._buffer = memoryview(b"")
        self._ready = memoryview(b"")
        # For units that are read to decode others: new memory for each would be cleared first.
        self._spares: list[memoryview] = []
        self._cancellation = cancellation
        self._last_row_end = 0
        stripes = max(WINDOW_BYTES // layout.stripe_bytes, 1)
        self._window_bytes = stripes * layout.stripe_bytes
        if cancellation is not None:
            cancellation.watch(self)

    @property
    def remaining(self) -> int:
        """Bytes of the range that were not read yet."""
        return self._end - self.position

    def read_into(self, buffer: memoryview) -> int:
        """At least one byte of the range, unless it is at its end or `buffer` is empty."""
        wanted = min(len(buffer), self.remaining)
        if not wanted:
            return 0
        if not self._ready:
            window = self.position - self.position % self._window_bytes + self._window_bytes
            size = min(window, self._end) - self.position
            if size <= wanted:
                self._fill(self.position, buffer[:size])
                self.position += size
                return size
            if len(self._buffer) < size:
                self._buffer = memoryview(bytearray(size))
            self._fill(self.position, self._buffer[:size])
            self._ready = self._buffer[:size]
        count = min(wanted, len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        self.position += count
        return count

    def view(self, count: int) -> None:
        """What is in cells lies nowhere in one piece."""

    def skip(self, count: int) -> None:
        """Go forward by `count` bytes, which must be within the range."""
        assert 0 <= count <= self.remaining, (count, self.remaining)
        self._ready = self._ready[count:]
        self.position += count

    def shutdown(self) -> None:
        """Wake up all who wait for datanodes; as a `Cancellation` does, from any thread."""
        for unit in list(self._units.values()):
            unit.cancellation.cancel()

    def close(self) -> None:
        """Let go of everything; safe to repeat."""
        for unit in self._units.values():
            unit.close()
        self._units.clear()
        self._ready = self._buffer = memoryview(b"")
        self._spares = []
        if self._cancellation is not None:
            self._cancellation.release()
            self._cancellation = None

    # --- a window -------------------------------------------------------------------------

    def _fill(self, start: int, target: memoryview) -> None:
        """Fill `target` with the group's data from `start` on."""
        layout = self._layout
        window = list(rows(layout, start, start + len(target)))

        def place(row: int, index: int) -> memoryview:
            at = place_in_group(layout, index, window[row].start) - start
            return target[at : at + window[row].length]

        have: dict[tuple[int, int], memoryview] = {}
        spares = itertools.count()
        while True:
            try:
                plans = [plan(layout, row, self._missing) for row in window]
            except TooFewUnits as error:
                raise self._blocks.too_few(error.missing) from None
            reads: dict[int, list[_Read]] = {}
            for number, planned in enumerate(plans):
                for index in planned.read:
                    if (number, index) in have:
                        continue
                    row = planned.row
                    buffer = (
                        place(number, index)
                        if index in row.wanted
                        else self._spare(next(spares), row.length)
                    )
                    reads.setdefault(index, []).append(_Read(number, row.start, buffer))
            if not reads:
                break
            self._read(reads, have)
        for number, planned in enumerate(plans):
            self._decode(number, planned, have, place)

    def _spare(self, number: int, length: int) -> memoryview:
        """The buffer of that number, for a unit of a window."""
        if number == len(self._spares):
            self._spares.append(memoryview(b""))
        if len(self._spares[number]) < length:
            self._spares[number] = memoryview(bytearray(length))
        return self._spares[number][:length]

    def _decode(
        self,
        number: int,
        planned: RowPlan,
        have: Mapping[tuple[int, int], memoryview],
        place: Callable[[int, int], memoryview],
    ) -> None:
        if not planned.lost:
            return
        present = {
            index: memoryview(b"") if index in planned.zeros else have[number, index]
            for index in planned.sources
        }
        self._coder.decode(present, {index: place(number, index) for index in planned.lost})

    def _read(
        self, reads: Mapping[int, list[_Read]], have: dict[tuple[int, int], memoryview]
    ) -> None:
        """Read from all these internal blocks; what comes is put into `have`."""
        for index in reads:
            self._unit(index)
        if self._cancellation is not None:
            # Whoever was cancelled before these were known has not cancelled them.
            self._cancellation.check()
        *others, last = reads
        running: dict[int, Future[bool] | None] = {}
        try:
            for index in others:
                running[index] = self._workers.try_submit(self._reading(index, reads, have))
            # One is read here, and so are those for which no thread is free.
            results = {
                index: self._reading(index, reads, have)()
                for index in (last, *(other for other in others if running[other] is None))
            }
            results |= {
                index: future.result() for index, future in running.items() if future is not None
            }
        except BaseException:
            self.shutdown()
            # Whoever interrupts also what follows leaves threads behind that fill these.
            self._spares = []
            raise
        finally:
            wait([future for future in running.values() if future is not None])
        self._missing.update(index for index, well in results.items() if not well)
        sources = [unit.source for unit in self._units.values() if unit.source is not None]
        self.source = min(sources, default=self.source)

    def _reading(
        self,
        index: int,
        reads: Mapping[int, list[_Read]],
        have: dict[tuple[int, int], memoryview],
    ) -> Callable[[], bool]:
        """What reads an internal block, and says whether it is there."""
        unit = self._units[index]

        def read() -> bool:
            try:
                for wanted in reads[index]:
                    unit.read(wanted.start, wanted.buffer)
                    have[wanted.row, index] = wanted.buffer
            except InternalBlockLost:
                return False
            return True

        return read

    def _unit(self, index: int) -> _InternalBlockReader:
        unit = self._units.get(index)
        if unit is None:
            unit = self._units[index] = _InternalBlockReader(
                self._blocks, index, lambda: self._reach(index)
            )
        return unit

    def _reach(self, index: int) -> int:
        """How far the range reaches into an internal block. One that makes up for another is
        wanted as far as that."""
        own = end_in_block(self._layout, self.position, self._end, index)
        if not self._missing:
            return own
        if not self._last_row_end:
            self._last_row_end = end_in_rows(self._layout, self.position, self._end)
        return max(own, min(self._last_row_end, self._layout.block_length(index)))


class _InternalBlockReader:
    """Reads rising ranges of one internal block, from whichever of its nodes works."""

    def __init__(self, blocks: InternalBlocks, index: int, reach: Callable[[], int]) -> None:
        self.cancellation = Cancellation()
        self._blocks = blocks
        self._index = index
        self._reach = reach
        self._reader: ReplicaReader | None = None

    @property
    def source(self) -> ReadSource | None:
        return None if self._reader is None else self._reader.source

    def read(self, start: int, buffer: memoryview) -> None:
        """Fill `buffer` from `start` of the internal block on. Raises `InternalBlockLost`."""
        filled = 0
        while filled < len(buffer):
            reader = self._reader_at(start + filled, start + len(buffer))
            try:
                if reader.position < start + filled:
                    reader.skip(start + filled - reader.position)
                filled += reader.read_into(buffer[filled:])
            except (errors.HowdahError, OSError) as error:
                self.close()
                self.cancellation.check()
                self._blocks.failed(self._index, reader, error)
        if self._reader is not None and not self._reader.remaining:
            self._reader.close()

    def _reader_at(self, offset: int, end: int) -> ReplicaReader:
        reader = self._reader
        if reader is not None and reader.remaining:
            ahead = offset - reader.position
            if ahead == 0 or 0 < ahead < min(_SHORT_SKIP_BYTES, reader.remaining):
                return reader
        self.close()
        self._reader = self._blocks.open(
            self._index, offset, max(self._reach(), end), self.cancellation
        )
        return self._reader

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None
