"""`DFSInputStream`: a file that is being read, one block after the other.

Mirrors Hadoop's class of that name. Blocks are read in order, each from the nearest
node that works (FS-092, FS-094); what happens when one doesn't is `file_replicas`.
Positioned reads may be hedged (`hedged`).

Rules:
- The length is that of the opening: what is appended later takes a new stream to see
  (OS-088), and a file that was cut or replaced is an error and never other data.
- One thread at a time reads sequentially; positioned reads need no lock, move nothing
  and go on beside it.
- The first request after the opening, or after a seek, is for no more than the caller's
  buffer takes: most who jump jump again, and a connection whose bytes were all taken
  serves the next request. Who reads on gets the rest of the block with the second one.
- A stream that is closed wakes up whoever still reads.

The stream is raw: `howdah.fs.streams.FSDataInputStream` buffers it.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING

from howdah import errors
from howdah.client.reading.file_replicas import FileReplicas, ReadContext
from howdah.client.reading.hedged_range import HedgedRange
from howdah.client.reading.locations import FileLocations
from howdah.client.reading.readers import (
    Cancellation,
    OpenReads,
    ReadCancelled,
    ReplicaReader,
)
from howdah.client.reading.statistics import ReadStatistics
from howdah.client.reading.vectored import read_vectored
from howdah.client.state.blocks import LocatedBlock
from howdah.client.state.reading.attempts import Attempts
from howdah.client.state.reading.ranges import MergeRules
from howdah.options import FileRange, check_ranges
from howdah.protocol.data_transfer.op_requests import CachingHints
from howdah.runtime.fork_safety import PerProcess, process_id
from howdah.runtime.tracing.span import NOTHING, Span

# What reads erasure coded files is imported with the first of them.
if TYPE_CHECKING:
    from howdah.client.reading.hedged import HedgedReads
    from howdah.client.reading.striped_replicas import StripedReplicas

_FORKING = PerProcess(threading.Lock)
"""Held by the thread of a forked child that sees first that a stream is its parent's."""
SHORT_SKIP_BYTES = 128 * 1024
"""Seeking forward so far reads on: the bytes are on their way already, or would be soon."""

_CAPABILITIES = frozenset(
    (
        "in:readahead",
        "in:unbuffer",
        "in:readbytebuffer",
        "in:preadbytebuffer",
        "in:readvectored",
        "dropbehind",
    )
)


def _filled(length: int, fill: Callable[[memoryview], object]) -> bytes:
    """A bytes object of `length` that `fill` writes into; nothing is copied to make it."""
    out = io.BytesIO(bytes(length))
    with out.getbuffer() as view:
        fill(view)
    return out.getvalue()


class DFSInputStream(io.RawIOBase):
    """The raw stream of one open file."""

    def __init__(
        self, locations: FileLocations, context: ReadContext, span: Span = NOTHING
    ) -> None:
        """`span` is that of the open file in a trace; it ends when the stream is closed."""
        super().__init__()
        self._locations = locations
        self._span = span
        # A read of a striped file asks several nodes already: those are not hedged.
        self._replicas: FileReplicas | StripedReplicas
        self._hedged: tuple[HedgedReads, FileReplicas] | None = None
        if locations.policy is None:
            self._replicas = FileReplicas(locations, context, span)
            if context.hedged is not None:
                self._hedged = context.hedged, self._replicas
        else:
            from howdah.client.reading.striped_replicas import StripedReplicas

            self._replicas = StripedReplicas(locations, locations.policy, context, span)
        self._settings = context.settings
        self._position = 0
        self._reader: ReplicaReader | None = None
        self._block: LocatedBlock | None = None
        self._reader_start = 0
        self._read_up_to: int | None = None
        self._lock = threading.RLock()
        self._closing = Cancellation()
        self._preads = OpenReads()
        self._pid = process_id()

    # --- what io wants to know --------------------------------------------------------

    @property
    def name(self) -> str:
        return self._locations.path

    @property
    def mode(self) -> str:
        return "rb"

    @property
    def length(self) -> int:
        """Bytes in the file, as of its opening."""
        return self._locations.length

    @property
    def under_construction(self) -> bool:
        """Whether somebody was writing the file when it was opened."""
        return self._locations.under_construction

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        self._check_open()
        return self._position

    def statistics(self) -> ReadStatistics:
        """What was read so far, and from where; on a closed stream as well."""
        return self._replicas.counter.snapshot()

    def _check_open(self) -> None:
        if self.closed:
            raise errors.ClosedStream(f"{self.name} is closed").about(self.name)
        if self._pid != process_id():
            self._own()

    def _closed_meanwhile(self) -> errors.HowdahError:
        return errors.ClosedStream(f"{self.name} was closed while it was read").about(self.name)

    def _own(self) -> threading.RLock:
        """The lock of this process: a forked child has a connection of its own, and a lock
        that no thread of the parent holds."""
        if self._pid != process_id():
            with _FORKING.get():
                if self._pid != process_id():
                    self._forked()
        return self._lock

    def _forked(self) -> None:
        self._lock = threading.RLock()
        self._closing = Cancellation()
        self._preads = OpenReads()
        # Not closed but forgotten, for closing takes locks that are the parent's.
        self._reader = self._block = None
        self._replicas.forked()
        # Last, for who sees it believes that all of the above is this process's.
        self._pid = process_id()

    # --- sequential reading -------------------------------------------------------------

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move; nothing is fetched before the next read. Beyond the end is allowed."""
        with self._own():
            self._check_open()
            match whence:
                case io.SEEK_SET:
                    target = offset
                case io.SEEK_CUR:
                    target = self._position + offset
                case io.SEEK_END:
                    target = self._locations.length + offset
                case _:
                    raise ValueError(f"whence must be 0, 1 or 2, not {whence}")
            if target < 0:
                raise errors.InvalidSeek(f"cannot seek to {target} in {self.name}")
            self._position = target
            return target

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """At least one byte, unless the file ends here or `buffer` is empty. Who is interrupted,
        by Ctrl-C say, has read nothing: the next read is of the same bytes."""
        begin = None
        try:
            with self._own():
                begin = self._position
                return self._read_some(memoryview(buffer).cast("B"))
        except BaseException:
            if begin is not None:
                self._position = begin
            raise

    def readall(self) -> bytes:
        """Everything from the position on, in one buffer of the right size; or nothing, as
        `readinto` has it."""
        begin = None
        try:
            with self._own():
                begin = self._position
                self._check_open()
                left = max(self._locations.length - begin, 0)

                def fill(view: memoryview) -> None:
                    filled = 0
                    while filled < left:
                        filled += self._read_some(view[filled:])

                return _filled(left, fill)
        except BaseException:
            if begin is not None:
                self._position = begin
            raise

    def _read_some(self, view: memoryview) -> int:
        self._check_open()
        if not len(view) or self._position >= self._locations.length:
            return 0
        attempts = self._replicas.attempts()
        while True:
            block, reader = self._reader_here(attempts, len(view))
            try:
                self._skip_to_position(block, reader)
                count = reader.read_into(view)
            except (errors.HowdahError, OSError) as error:
                self._reader_failed(block, reader, error, attempts)
                continue
            except BaseException:
                # Between bytes that were taken and their count, what comes next on that
                # connection is anybody's guess.
                self._drop_reader()
                raise
            self._position += count
            self._read_up_to = self._position
            self._replicas.counter.read(reader.source, count)
            if not reader.remaining:
                reader.close()
            return count

    def _reader_here(self, attempts: Attempts, wanted: int) -> tuple[LocatedBlock, ReplicaReader]:
        """A reader from which the position can be reached; the present one if it will do."""
        block, reader = self._block, self._reader
        if block is not None and reader is not None and reader.remaining:
            ahead = self._position - block.offset - reader.position
            if ahead == 0 or 0 < ahead < min(SHORT_SKIP_BYTES, reader.remaining):
                return block, reader
        self._drop_reader()
        before = self._read_up_to
        goes_on = before is not None and 0 <= self._position - before < SHORT_SKIP_BYTES
        # Between two blocks the connection ends; the last one may serve the next file.
        end = self._locations.block_at(self._position).end
        keep = end >= self._locations.length or not (goes_on or self._position + wanted >= end)
        try:
            block, reader = self._replicas.open(
                self._position,
                None if goes_on else wanted,
                attempts,
                keep=keep,
                cancellation=self._closing,
            )
        except ReadCancelled as error:
            raise self._closed_meanwhile() from error
        self._block, self._reader, self._reader_start = block, reader, reader.position
        return block, reader

    def _skip_to_position(self, block: LocatedBlock, reader: ReplicaReader) -> None:
        ahead = self._position - block.offset - reader.position
        if ahead:
            reader.skip(ahead)

    def _reader_failed(
        self,
        block: LocatedBlock,
        reader: ReplicaReader,
        error: errors.HowdahError | OSError,
        attempts: Attempts,
    ) -> None:
        delivered = reader.position > self._reader_start
        self._drop_reader()
        if self._closing.is_cancelled:
            raise self._closed_meanwhile() from error
        self._replicas.failed(block, reader.node, error, attempts, delivered=delivered)

    def _drop_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = self._block = None

    # --- positioned reading ---------------------------------------------------------------

    def pread(self, offset: int, length: int) -> bytes:
        """Up to `length` bytes from `offset`, fewer only at the end of the file."""
        if length < 0:
            raise ValueError(f"cannot read {length} bytes of {self.name}")
        available = max(min(length, self._locations.length - offset), 0)
        return _filled(available, lambda view: self.pread_into(offset, view))

    def pread_into(self, offset: int, buffer: bytearray | memoryview) -> int:
        """Fill `buffer` from `offset`; how many bytes, fewer only at the end of the file."""
        if offset < 0:
            raise ValueError(f"cannot read {self.name} from offset {offset}")
        self._check_open()
        view = memoryview(buffer).cast("B")
        wanted = max(min(len(view), self._locations.length - offset), 0)
        filled = 0
        while filled < wanted:
            block = self._locations.block_at(offset + filled)
            count = min(wanted - filled, block.end - offset - filled)
            self._pread_in_block(offset + filled, view[filled : filled + count])
            filled += count
        return filled

    def pread_view(self, offset: int, length: int) -> memoryview:
        """As `pread`, as read-only memory; where it can be had, that of the replica's file.

        That takes short-circuit reads and a range within one block. Nothing is copied then,
        and the memory lasts as long as somebody holds it.
        """
        if offset < 0 or length < 0:
            raise ValueError(f"cannot read {length} bytes of {self.name} from offset {offset}")
        self._check_open()
        available = max(min(length, self._locations.length - offset), 0)
        if available and self._locations.block_at(offset).end >= offset + available:
            view = self._view_in_block(offset, available)
            if view is not None:
                return view
        return memoryview(self.pread(offset, available))

    def _view_in_block(self, offset: int, length: int) -> memoryview | None:
        attempts = self._replicas.attempts()
        block, reader = self._replicas.open(offset, length, attempts, keep=True)
        try:
            if reader.remaining < length:
                return None  # the block was cut since
            view = reader.view(length)
            if view is None:
                # The reader is there already, so let it read.
                buffer = memoryview(bytearray(length))
                filled = 0
                while filled < length:
                    filled += reader.read_into(buffer[filled:])
                view = buffer.toreadonly()
        except (errors.HowdahError, OSError) as error:
            self._replicas.failed(block, reader.node, error, attempts)
            return None
        finally:
            reader.close()
        self._replicas.counter.read(reader.source, length)
        return view

    def _pread_in_block(self, offset: int, view: memoryview) -> None:
        try:
            with self._preads.begin() as cancellation:
                if self._hedged is None:
                    self._fill_in_block(offset, view, cancellation)
                    return
                hedged, replicas = self._hedged
                attempts = replicas.attempts()
                wanted = HedgedRange(replicas, attempts, offset, len(view), self._preads)
                source, data = hedged.read(wanted)
        except ReadCancelled as error:
            raise self._closed_meanwhile() from error
        view[:] = data
        self._replicas.counter.read(source, len(view))

    def _fill_in_block(self, offset: int, view: memoryview, cancellation: Cancellation) -> None:
        attempts = self._replicas.attempts()
        end = offset + len(view)
        while offset < end:
            block, reader = self._replicas.open(
                offset, end - offset, attempts, keep=True, cancellation=cancellation
            )
            start = offset
            try:
                while offset < end and reader.remaining:
                    offset += reader.read_into(view[offset - end :])
            except (errors.HowdahError, OSError) as error:
                cancellation.check()
                self._replicas.failed(block, reader.node, error, attempts, delivered=offset > start)
            finally:
                reader.close()
            self._replicas.counter.read(reader.source, offset - start)

    def read_vectored(self, ranges: Sequence[FileRange]) -> list[Future[bytes | memoryview]]:
        """Read several ranges side by side: a future for each, in their order.

        Ranges with a gap below `fs.hdfs.vectored.read.min.seek.size` are read together,
        up to `fs.hdfs.vectored.read.max.merged.size`.
        """
        self._check_open()
        check_ranges(ranges, self._locations.length)
        rules = MergeRules(
            self._settings.vectored_min_seek_bytes, self._settings.vectored_max_merged_bytes
        )
        return read_vectored(self, ranges, rules)

    # --- hints and the end --------------------------------------------------------------------

    def has_capability(self, capability: str) -> bool:
        return capability.lower() in _CAPABILITIES

    def set_drop_behind(self, drop: bool | None) -> None:
        """Whether the datanode drops what was read from its cache; None: as it likes."""
        with self._own():
            self._hint(replace(self._replicas.hints, drop_behind=drop))

    def set_readahead(self, length: int | None) -> None:
        """How far the datanode reads ahead of this stream; None: as it likes."""
        if length is not None and length < 0:
            raise ValueError(f"a readahead of {length} bytes")
        with self._own():
            self._hint(replace(self._replicas.hints, readahead_bytes=length))

    def _hint(self, hints: CachingHints) -> None:
        """Hints are for the next request, so there has to be one."""
        if hints != self._replicas.hints:
            self._replicas.hints = hints
            self._drop_reader()

    def unbuffer(self) -> None:
        """Let go of the connection until the next read."""
        with self._own():
            self._drop_reader()

    def stop_reading(self) -> None:
        """The stream is about to be closed: wake up who waits for a datanode."""
        if not self.closed:
            self._own()
            self._closing.cancel()
            self._preads.cancel()

    def close(self) -> None:
        """Let go of everything, and wake up who still reads; safe to repeat."""
        if not self.closed:
            if not self._closing.is_cancelled:
                self.stop_reading()
            with self._own():
                self._drop_reader()
                super().close()
            if self._span is not NOTHING:
                self._span.set({"howdah.bytes": self.statistics().total_bytes})
                self._span.end()
