"""Writes one replica: its block file, its meta file, and what the map says of it.

ReplicaOutputStreams and the half of BlockReceiver that writes in Hadoop.

A shell around `write_plan`: packets in, `pwritev` out. Packets that follow one
another (nearly all do) are put together, so many packets cost two system calls.
Data goes first, then the checksums, then the new length is told: a reader never
sees a byte that has no checksum, and a crash leaves at most data without one.

After a power cut the two files may be of different moments. What was synced survives
that, because the checksum of a chunk that was synced half full is replaced only when
the data that the new one needs is synced too.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence
from typing import Final

from howdah import errors
from howdah.datanode.latency.monitor import DiskOp
from howdah.datanode.replicas.fadvise import advise
from howdah.datanode.replicas.files import copy_files, files_bytes, sync_directories
from howdah.datanode.replicas.open_replica import OpenReplica
from howdah.datanode.replicas.writer_registry import Stoppable
from howdah.datanode.state.replicas.page_cache import DEFAULT_POLICY, CachePolicy, WriteCache
from howdah.datanode.state.replicas.replicas import Replica
from howdah.datanode.state.replicas.write_plan import (
    WritePlan,
    check_sums_length,
    continues,
    fresh_sums,
    last_sum_of,
    plan_write,
)
from howdah.datanode.state.volumes import block_files
from howdah.datanode.volumes.volumes import Volume
from howdah.protocol.data_transfer.checksum import ChecksumSpec, verify_chunks
from howdah.protocol.data_transfer.op_requests import NO_HINTS, CachingHints
from howdah.protocol.data_transfer.packet_stream import Packet

log = logging.getLogger(__name__)

Buffer = bytes | bytearray | memoryview
_PWRITEV: Final = os.pwritev
_MAX_VECTORS = 512
"""Below the kernel's 1024 (IOV_MAX)."""


def pwrite_all(fd: int, buffers: Sequence[Buffer], offset: int) -> None:
    """All of `buffers` at `offset`, however often the kernel writes only a part."""
    left = [memoryview(buffer) for buffer in buffers]
    while left:
        written = os.pwritev(fd, left[:_MAX_VECTORS], offset)
        offset += written
        while left and written >= len(left[0]):
            written -= len(left.pop(0))
        if written:
            left[0] = left[0][written:]


class ReplicaWriter:
    """The one writer of a replica, for as long as its files are open."""

    def __init__(
        self,
        pool_id: str,
        replica: Replica,
        volume: Volume,
        block_fd: int,
        meta_fd: int,
        on_disk: ChecksumSpec,
        received: ChecksumSpec,
        *,
        promised_bytes: int = 0,
        counted_bytes: int = 0,
        holder: Stoppable | None = None,
        unsynced: tuple[str, ...] = (),
    ) -> None:
        """`promised_bytes` of the volume are held for this replica, and `counted_bytes`
        of its files are in the volume's account already. `holder` is who writes with this.
        `unsynced` are the directories that may forget its files in a power cut."""
        self.pool_id = pool_id
        self.replica = replica
        self.volume = volume
        self.on_disk = on_disk
        self.received = received
        self.holder = holder
        self.translates = on_disk != received
        """The file is summed in another way than what is received."""
        self._block_fd = block_fd
        self._meta_fd = meta_fd
        self._promised_bytes = promised_bytes
        self._counted_bytes = counted_bytes
        self._unsynced = unsynced
        self.synced_bytes = 0
        """Bytes that may have been synced: their checksum is handled with care."""
        self.block_is_synced = False
        """All data that was written is on the disk, whether its checksums are or not."""
        self._cache = WriteCache(replica.length_bytes, DEFAULT_POLICY, NO_HINTS)
        self._cached_fd = -1
        self._closed = False
        self._settled_bytes = replica.length_bytes

    # --- written by somebody else ---

    @property
    def is_plain(self) -> bool:
        """Whoever is lent the files has nothing to do but to write packets of chunks, as they
        come, and their checksums. (Tests watch writes by `os.pwritev`.)"""
        return (
            not self.translates
            and self.on_disk.sum_bytes > 0
            and self.replica.length_bytes % self._chunk == 0
            and self.volume.meter is None
            and self._cache.is_idle
            and os.pwritev is _PWRITEV
        )

    @property
    def files(self) -> tuple[int, int]:
        """Descriptors of the block file and of the meta file, to be lent."""
        return self._block_fd, self._meta_fd

    def count_written(self) -> None:
        """What was written since the last time has its room, which need not be promised."""
        length = self.replica.length_bytes
        kept_promise = min(length - self._settled_bytes, self._promised_bytes)
        self._settled_bytes = length
        self._promised_bytes -= kept_promise
        self.volume.promise(-kept_promise)

    # --- packets ---

    def verify(self, packets: Sequence[Packet]) -> int:
        """Index of the first packet whose data doesn't fit its checksums, or -1.

        `ProtocolViolation` if one has too few checksums, or too many.
        """
        for index, packet in enumerate(packets):
            check_sums_length(self.received, packet.header, len(packet.sums))
            if len(packet.sums) and verify_chunks(self.received, packet.data, packet.sums) >= 0:
                return index
        return -1

    def write(self, packets: Sequence[Packet]) -> None:
        """Put packets into the files. `OSError` is the disk's, `ProtocolViolation` the sender's."""
        length, last_sum = self.replica.tail
        data: list[Buffer] = []
        sums: list[Buffer] = []
        data_offset = meta_offset = 0
        for packet in packets:
            if (
                data
                and not self.translates
                and continues(self.on_disk, length, packet.header, len(packet.sums))
            ):
                data.append(packet.data)
                sums.append(packet.sums)
                length += packet.header.data_length_bytes
                last_sum = last_sum_of(self.on_disk, length, packet.sums)
                continue
            check_sums_length(self.received, packet.header, len(packet.sums))
            plan = plan_write(self.on_disk, self.received, length, packet.header, len(packet.sums))
            if plan is None:
                continue
            if data and (not plan.reuse or plan.sums_skip or length % self._chunk):
                # This packet replaces a checksum that is about to be written: in order.
                self._put(data, data_offset, sums, meta_offset, length, last_sum)
                data, sums = [], []
            fresh = self._sums(plan, packet, length, last_sum)
            if not data:
                data_offset, meta_offset = plan.data_offset, plan.meta_offset
            data.append(packet.data[plan.data_skip :] if plan.data_skip else packet.data)
            sums.append(fresh)
            length = plan.end
            last_sum = last_sum_of(self.on_disk, length, fresh)
        if data:
            self._put(data, data_offset, sums, meta_offset, length, last_sum)

    @property
    def _chunk(self) -> int:
        return self.on_disk.bytes_per_checksum

    def _sums(self, plan: WritePlan, packet: Packet, length: int, last_sum: bytes) -> Buffer:
        if plan.reuse:
            return packet.sums[plan.sums_skip :] if plan.sums_skip else packet.sums
        # Sums of our own making would hide damage, so what came is checked first.
        if len(packet.sums) and verify_chunks(self.received, packet.data, packet.sums) >= 0:
            raise errors.ChecksumMismatch(
                f"packet {packet.header.seqno} at offset {packet.header.offset_in_block} "
                f"of {self.replica!r} does not fit its checksums"
            )
        return fresh_sums(self.on_disk, length, last_sum, packet.data[plan.data_skip :])

    def _put(
        self,
        data: list[Buffer],
        data_offset: int,
        sums: list[Buffer],
        meta_offset: int,
        length: int,
        last_sum: bytes,
    ) -> None:
        meter = self.volume.meter
        begin_s = time.monotonic() if meter is not None and meter.is_sampled() else None
        self.block_is_synced = False
        pwrite_all(self._block_fd, data, data_offset)
        if self.on_disk.sum_bytes:
            if self.synced_bytes > data_offset - data_offset % self._chunk:
                os.fdatasync(self._block_fd)
                self.block_is_synced = True
            pwrite_all(self._meta_fd, sums, meta_offset)
        if meter is not None and begin_s is not None:
            meter.add(DiskOp.WRITE, time.monotonic() - begin_s)
        self.replica.grow(length, last_sum)
        advise(self._block_fd, self._cache.wrote(length))
        self.count_written()

    def sync(self) -> None:
        """All that was written is on the disk when this returns, and can be found there."""
        length = self.replica.length_bytes
        # Times may be forgotten, lengths may not: fdatasync knows the difference.
        if not self.block_is_synced:
            os.fdatasync(self._block_fd)
        os.fdatasync(self._meta_fd)
        sync_directories(self._unsynced)
        self._unsynced, self.synced_bytes = (), length

    def copy_from(self, opened: OpenReplica, end: int, last_sum: bytes) -> None:
        """Begin with the first `end` bytes of another replica, which is summed as this one
        is; `last_sum` is the checksum of their partial last chunk, if there is one."""
        assert not self.replica.length_bytes, f"{self.replica!r} has bytes of its own"
        assert opened.checksum == self.on_disk, f"{opened.replica!r} is summed in another way"
        copy_files(opened, self._block_fd, self._meta_fd, end, last_sum)
        self.replica.grow(end, last_sum)
        self._settled_bytes = end

    # --- the page cache ---

    def manage_cache(self, policy: CachePolicy, hints: CachingHints) -> None:
        """What is written from now on is written out, and dropped, as `page_cache` says.
        `leave_cache` must be called in the end."""
        self._cache = WriteCache(self.replica.length_bytes, policy, hints)
        if self._cache.drops:
            # The files are closed before their pages can go.
            self._cached_fd = os.dup(self._block_fd)

    def leave_cache(self) -> None:
        """Nobody waits any more. Takes a disk's time where pages are to be dropped; may be
        called again."""
        if self._cached_fd >= 0:
            fd, self._cached_fd = self._cached_fd, -1
            try:
                advise(fd, self._cache.rest())
            finally:
                os.close(fd)

    # --- the end ---

    def start_writing_out(self) -> None:
        """All is written: set the disk to work on the rest, if that is wanted."""
        advise(self._block_fd, self._cache.closing(self.replica.length_bytes))

    def _files_bytes(self) -> int:
        """Of a write that failed there may be more than the replica has."""
        try:
            return files_bytes(self._block_fd, self._meta_fd)
        except OSError as error:
            log.error("how long the files of %r are is not known: %s", self.replica, error)
            length = self.replica.length_bytes
            return length + block_files.meta_bytes(self.on_disk, length)

    def close(self) -> None:
        """Close the files and settle the volume's account. May be called again."""
        if self._closed:
            return
        self._closed = True
        try:
            self.volume.promise(-self._promised_bytes)
            self.volume.count(self.pool_id, self._files_bytes() - self._counted_bytes)
        finally:
            try:
                os.close(self._block_fd)
            finally:
                os.close(self._meta_fd)
