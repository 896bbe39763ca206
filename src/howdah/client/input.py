"""`DFSInputStream`: a file that is being read, one block after the other.

Mirrors Hadoop's class of that name. Blocks are read in order, each from the first
node of the namenode's list that works (FS-092, FS-094). A node that can't be
reached or breaks off is remembered for as long as the stream lives and asked last
(FS-097, FS-098); one whose replica fails its checksums is reported to the namenode
and not asked for that block again (FS-100). When no node is left the locations are
fetched anew, `dfs.client.max.block.acquire.failures` times with growing pauses, and
then `BlockMissing` says which nodes were tried and what each of them said.

The stream is raw: `howdah.fs.streams.FSDataInputStream` buffers it. One thread at a
time reads sequentially; positioned reads need no lock and move nothing.
"""

from __future__ import annotations

import io
import logging
import os
import random
import threading
import time
from collections.abc import Callable

from howdah import errors
from howdah.client.block_reader import BlockReader
from howdah.client.blocks import LocatedBlock
from howdah.client.locations import FileLocations
from howdah.client.namenode import NamenodeProxy
from howdah.client.peers import PeerCache
from howdah.client.settings import ClientSettings
from howdah.transfer.blocks import DatanodeAddress
from howdah.transfer.ops import CachingHints

SHORT_SKIP_BYTES = 128 * 1024
"""Seeking forward so far reads on, since the bytes are on their way already."""

_CAPABILITIES = frozenset(
    ("in:readahead", "in:unbuffer", "in:readbytebuffer", "in:preadbytebuffer", "dropbehind")
)
_log = logging.getLogger(__name__)


def _filled(length: int, fill: Callable[[memoryview], object]) -> bytes:
    """A bytes object of `length` that `fill` writes into; nothing is copied to make it."""
    out = io.BytesIO(bytes(length))
    with out.getbuffer() as view:
        fill(view)
    return out.getvalue()


class _Attempts:
    """What went wrong with one block, for the next choice and the final message."""

    def __init__(self) -> None:
        self.rounds = 0
        self.corrupt: set[DatanodeAddress] = set()
        self.reasons: dict[DatanodeAddress, str] = {}


class DFSInputStream(io.RawIOBase):
    """The raw stream of one open file."""

    def __init__(
        self,
        locations: FileLocations,
        namenode: NamenodeProxy,
        settings: ClientSettings,
        client_name: str,
        peers: PeerCache,
    ) -> None:
        super().__init__()
        self._locations = locations
        self._namenode = namenode
        self._settings = settings
        self._client_name = client_name
        self._peers = peers
        self._position = 0
        self._reader: BlockReader | None = None
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._dead: set[DatanodeAddress] = set()
        self._drop_behind: bool | None = None
        self._readahead: int | None = None

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

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        self._check_open()
        return self._position

    def _check_open(self) -> None:
        if self.closed:
            raise errors.ClosedStream(f"{self.name} is closed")

    def _own(self) -> threading.RLock:
        """The lock of this process: a forked child has a connection of its own, and a lock
        that no thread of the parent holds."""
        if self._pid != os.getpid():
            self._lock = threading.RLock()
            self._pid = os.getpid()
            self._drop_reader()
        return self._lock

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
                raise ValueError(f"cannot seek to {target} in {self.name}")
            self._position = target
            return target

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """At least one byte, unless the file ends here or `buffer` is empty."""
        view = memoryview(buffer).cast("B")
        with self._own():
            self._check_open()
            if not len(view) or self._position >= self._locations.length:
                return 0
            attempts = _Attempts()
            while True:
                reader = self._reader_here(attempts)
                try:
                    count = reader.read_into(view)
                except (errors.HowdahError, OSError) as error:
                    self._drop_reader()
                    self._note_failure(
                        self._locations.block_at(self._position), reader.node, error, attempts
                    )
                    continue
                self._position += count
                if not reader.remaining:
                    self._drop_reader()
                return count

    def readall(self) -> bytes:
        """Everything from the position on, in one buffer of the right size."""
        with self._own():
            self._check_open()
            left = max(self._locations.length - self._position, 0)

            def fill(view: memoryview) -> None:
                filled = 0
                while filled < left:
                    filled += self.readinto(view[filled:])

            return _filled(left, fill)

    def _reader_here(self, attempts: _Attempts) -> BlockReader:
        """A reader that stands at the position; the present one if it can get there."""
        reader = self._reader
        if reader is not None:
            ahead = self._position - self._reader_offset(reader)
            if ahead == 0:
                return reader
            if 0 < ahead < min(SHORT_SKIP_BYTES, reader.remaining):
                try:
                    reader.skip(ahead)
                    return reader
                except (errors.HowdahError, OSError) as error:
                    block = self._locations.block_at(self._position)
                    self._note_failure(block, reader.node, error, attempts)
            self._drop_reader()
        block = self._locations.block_at(self._position)
        start = self._position - block.offset
        # Between two blocks the connection ends; the last one may serve the next file.
        last = block.end >= self._locations.length
        reader = self._connect(block, start, block.length_bytes - start, attempts, keep=last)
        self._reader = reader
        self._reader_base = self._position - start
        return reader

    def _reader_offset(self, reader: BlockReader) -> int:
        return self._reader_base + reader.position

    def _drop_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    # --- positioned reading ---------------------------------------------------------------

    def pread(self, offset: int, length: int) -> bytes:
        """Up to `length` bytes from `offset`, fewer only at the end of the file."""
        if length < 0:
            raise ValueError(f"cannot read {length} bytes")
        available = max(min(length, self._locations.length - offset), 0)
        return _filled(available, lambda view: self.pread_into(offset, view))

    def pread_into(self, offset: int, buffer: bytearray | memoryview) -> int:
        """Fill `buffer` from `offset`; how many bytes, fewer only at the end of the file."""
        if offset < 0:
            raise ValueError(f"cannot read from offset {offset}")
        self._check_open()
        view = memoryview(buffer).cast("B")
        wanted = max(min(len(view), self._locations.length - offset), 0)
        filled = 0
        while filled < wanted:
            block = self._locations.block_at(offset + filled)
            start = offset + filled - block.offset
            count = min(wanted - filled, block.length_bytes - start)
            self._pread_block(block, start, view[filled : filled + count])
            filled += count
        return filled

    def _pread_block(self, block: LocatedBlock, start: int, view: memoryview) -> None:
        attempts = _Attempts()
        filled = 0
        while filled < len(view):
            reader = self._connect(block, start + filled, len(view) - filled, attempts, keep=True)
            try:
                while filled < len(view):
                    filled += reader.read_into(view[filled:])
            except (errors.HowdahError, OSError) as error:
                self._note_failure(block, reader.node, error, attempts)
            finally:
                reader.close()

    # --- choosing a datanode ----------------------------------------------------------------

    def _connect(
        self, block: LocatedBlock, start: int, length: int, attempts: _Attempts, *, keep: bool
    ) -> BlockReader:
        """A reader at the first node that works; `BlockMissing` when none does."""
        offset = block.offset + start
        while True:
            block = self._locations.block_at(offset)
            for node in block.nodes:
                if node in self._dead or node in attempts.corrupt:
                    continue
                try:
                    return BlockReader(
                        self.name,
                        block,
                        node,
                        start,
                        length,
                        client_name=self._client_name,
                        use_hostname=self._settings.use_datanode_hostname,
                        timeout_s=self._settings.socket_timeout_s,
                        hints=CachingHints(self._drop_behind, self._readahead),
                        peers=self._peers,
                        keep=keep,
                    )
                except (errors.HowdahError, OSError) as error:
                    self._note_failure(block, node, error, attempts)
            self._start_over(block, attempts)

    def _note_failure(
        self,
        block: LocatedBlock,
        node: DatanodeAddress,
        error: errors.HowdahError | OSError,
        attempts: _Attempts,
    ) -> None:
        _log.warning("%s: reading %s from %s: %s", self.name, block.block.name, node, error)
        attempts.reasons[node] = str(error)
        if isinstance(error, errors.ChecksumMismatch):
            attempts.corrupt.add(node)
            try:
                self._namenode.report_bad_blocks([block.at(node)])
            except (errors.HowdahError, OSError) as failure:
                # The reader has other replicas; the datanode's scanner will find this one.
                _log.warning("cannot report %s as corrupt: %s", block.block.name, failure)
        else:
            self._dead.add(node)

    def _start_over(self, block: LocatedBlock, attempts: _Attempts) -> None:
        """Every node failed: forget that, wait, ask the namenode where the block is now."""
        if block.nodes and attempts.corrupt.issuperset(block.nodes):
            # Replicas that were reported, or made, since the locations were fetched.
            now = self._locations.refresh(block.offset)
            if attempts.corrupt.issuperset(now.nodes):
                raise errors.ChecksumMismatch(
                    f"Every replica of {block.block.name} of {self.name} is corrupt: "
                    f"{'; '.join(attempts.reasons.values())}"
                )
            return
        if attempts.rounds >= self._settings.max_acquire_failures:
            reasons = "; ".join(
                f"{node}: {attempts.reasons.get(node, 'failed before')}" for node in block.nodes
            )
            raise errors.BlockMissing(
                f"Could not obtain block {block.block.name} of {self.name}: "
                f"{reasons or 'no datanode has a live replica'}"
            )
        # Hadoop's pauses: they grow, and differ between clients that lost the same node.
        window_s = self._settings.retry_window_s
        time.sleep(window_s * attempts.rounds + window_s * (attempts.rounds + 1) * random.random())
        attempts.rounds += 1
        self._dead.difference_update(block.nodes)
        self._locations.refresh(block.offset)

    # --- hints and the end --------------------------------------------------------------------

    def has_capability(self, capability: str) -> bool:
        return capability.lower() in _CAPABILITIES

    def set_drop_behind(self, drop: bool | None) -> None:
        with self._own():
            self._drop_behind = drop
            self._drop_reader()

    def set_readahead(self, length: int | None) -> None:
        if length is not None and length < 0:
            raise ValueError(f"a readahead of {length} bytes")
        with self._own():
            self._readahead = length
            self._drop_reader()

    def unbuffer(self) -> None:
        """Let go of the connection until the next read."""
        with self._own():
            self._drop_reader()

    def close(self) -> None:
        """Let go of everything; safe to repeat."""
        if not self.closed:
            self._drop_reader()
        super().close()
