"""Reads a replica of this machine from its files: a `ReplicaReader`, and the way to one.

BlockReaderLocal in Hadoop.

The bytes of each read count only once the replica is known to be unchanged after it.
Where it has been changed, deleted, or can't be read, the datanode reads the rest: the
caller notices nothing but the time.

Only data that doesn't fit its checksums is told, as by any other reader, and only once the
datanode itself has sent it so. A socket says nothing of whose it is: where
`dfs.domain.socket.path` has no `_PORT`, the replicas of all datanodes of the machine are asked
for at one datanode. Whoever is asked over its data port answers for its own replica.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import replace

from howdah import errors
from howdah.client.reading.readers import ReaderFactory, ReadRequest, ReadSource, ReplicaReader
from howdah.client.shortcircuit.cache import ShortCircuitCache
from howdah.client.shortcircuit.replica import LocalReplica
from howdah.protocol.data_transfer.blocks import DatanodeAddress

_log = logging.getLogger(__name__)

_PIECE_BYTES = 1024 * 1024
"""Read at once: what was read is still in the CPU's cache when it is checked."""


class ShortCircuitReaders:
    """The way past the datanode; `through_datanode` is the other one."""

    def __init__(self, cache: ShortCircuitCache, through_datanode: ReaderFactory) -> None:
        self._cache = cache
        self._through_datanode = through_datanode

    def open(self, request: ReadRequest) -> ShortCircuitReader | None:
        """A reader of the replica's files; None where they can't be had."""
        replica = self._cache.acquire(request.block, request.node)
        if replica is None:
            return None
        return ShortCircuitReader(request, replica, self._cache, self._through_datanode)


class ShortCircuitReader:
    """Yields the bytes of a request, once, in order."""

    def __init__(
        self,
        request: ReadRequest,
        replica: LocalReplica,
        cache: ShortCircuitCache,
        through_datanode: ReaderFactory,
    ) -> None:
        self._request = request
        self._replica: LocalReplica | None = replica
        self._cache = cache
        self._through_datanode = through_datanode
        self._other: ReplicaReader | None = None
        self._position = request.offset
        self._end = request.offset + request.length_bytes
        self._dropped_to = request.offset
        self._read_bytes = 0
        self._damage: errors.ChecksumMismatch | None = None
        """What the files have shown, and the datanode has yet to confirm."""
        readahead_bytes = request.hints.readahead_bytes
        if readahead_bytes:
            os.posix_fadvise(
                replica.block_fd,
                request.offset,
                min(readahead_bytes, request.length_bytes),
                os.POSIX_FADV_WILLNEED,
            )

    @property
    def node(self) -> DatanodeAddress:
        return self._request.node

    @property
    def source(self) -> ReadSource:
        return ReadSource.SHORT_CIRCUIT if self._other is None else self._other.source

    @property
    def position(self) -> int:
        return self._position if self._other is None else self._other.position

    @property
    def remaining(self) -> int:
        return self._end - self.position

    def read_into(self, buffer: memoryview) -> int:
        """At least one byte of the range, unless it is at its end or `buffer` is empty."""
        replica = self._replica
        if replica is not None:
            count = min(len(buffer), self.remaining, _PIECE_BYTES)
            if not count:
                return 0
            view = buffer[:count]
            if self._succeeds(replica, lambda: replica.read_into(self._position, view)):
                self._advance(replica, count)
                return count
        return self._read_rest(buffer)

    def view(self, count: int) -> memoryview | None:
        """The next `count` bytes without copying them, and go on behind them.

        None where they can't be had so. The memory is the block file's: it can be kept,
        also when the file is deleted, for as long as the caller likes.
        """
        replica = self._replica
        if replica is None or not 0 < count <= self.remaining or not self._cache.settings.mmap:
            return None
        views: list[memoryview] = []
        if not self._succeeds(replica, lambda: views.append(replica.view(self._position, count))):
            return None if self._damage is None else self._copied(count)
        self._position += count
        self._read_bytes += count
        return views[0]

    def _succeeds(self, replica: LocalReplica, read: Callable[[], object]) -> bool:
        """Whether what was read is the replica's, and is not damaged."""
        try:
            read()
            if replica.is_current:
                return True
            reason = "its datanode has changed it, or is gone"
        except errors.ChecksumMismatch as error:
            reason = "its datanode has changed it, or is gone"
            if replica.confirm():
                reason = str(error)
                self._damage = errors.ChecksumMismatch(
                    f"Checksum error in {self._request.path}: at {self.node}, {error}"
                )
        except OSError as error:
            reason = str(error)
        _log.debug(
            "%s: %s is read through its datanode from %d on: %s",
            self._request.path,
            self._request.block.block.name,
            self._position,
            reason,
        )
        self._give_back(stale=True)
        return False

    def _advance(self, replica: LocalReplica, count: int) -> None:
        self._position += count
        self._read_bytes += count
        if self._request.hints.drop_behind and (
            self._position - self._dropped_to >= _PIECE_BYTES or self._position == self._end
        ):
            os.posix_fadvise(
                replica.block_fd,
                self._dropped_to,
                self._position - self._dropped_to,
                os.POSIX_FADV_DONTNEED,
            )
            self._dropped_to = self._position

    def _read_rest(self, buffer: memoryview) -> int:
        """From the datanode. `ChecksumMismatch` if it has the damage that its files have shown."""
        try:
            return self._rest().read_into(buffer)
        except errors.ChecksumMismatch as error:
            if self._damage is None:
                raise
            raise self._damage from error

    def _copied(self, count: int) -> memoryview:
        """What the datanode sends instead of what its files have."""
        buffer = memoryview(bytearray(count))
        filled = 0
        while filled < count:
            filled += self._read_rest(buffer[filled:])
        return buffer.toreadonly()

    def _rest(self) -> ReplicaReader:
        if self._other is None:
            rest = replace(
                self._request, offset=self._position, length_bytes=self._end - self._position
            )
            self._other = self._through_datanode.open(rest)
            if self._other is None:
                raise errors.UnsupportedOperation(
                    f"nothing here reads {rest.block.block.name} from {rest.node}"
                )
        return self._other

    def skip(self, count: int) -> None:
        """Go forward by `count` bytes, which must be within the range."""
        if self._other is not None:
            self._other.skip(count)
        elif count > self.remaining:
            raise ValueError(f"cannot skip {count} of {self.remaining} bytes")
        else:
            self._position += count

    def _give_back(self, *, stale: bool = False) -> None:
        replica, self._replica = self._replica, None
        if replica is not None:
            self._cache.release(replica, stale=stale, read_bytes=self._read_bytes)

    def close(self) -> None:
        """Let go of the replica; safe to repeat."""
        self._give_back()
        if self._other is not None:
            self._other.close()
