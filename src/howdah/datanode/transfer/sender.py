"""Sends a replica, or a part of it, as packets: READ_BLOCK, and copies to datanodes.

BlockSender in Hadoop.

A packet is its header and checksums, then 256 KiB of data that `sendfile` takes
from the page cache to the socket: whole pages, so nothing is copied (measured:
1.5 times the rate of packets of 64 KiB). Checksums are read ahead from the meta
file, those of 4 MiB of data in one call. A short stretch is copied, for with the answer
before it and the empty packet behind it it then goes out in one system call, and the
reader wakes up once.

Rules:
- what is sent starts and ends at chunk boundaries around what was asked for, since
  the reader verifies chunks;
- of a replica that is being written, what was on disk when it was opened is sent.
  The meta file may have moved on since, so the checksum of the last, partial chunk
  is the one that was noted together with that length;
- an empty packet that says so is the last.

Of a replica that is locked in memory a stretch of up to one packet is sent from there
(`send_mapped`): nothing is opened, and nothing read.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator

from howdah import errors
from howdah.datanode.latency.monitor import DiskOp
from howdah.datanode.memory.mmap_replicas import LONGEST_BYTES, MappedReplica
from howdah.datanode.replicas.fadvise import advise
from howdah.datanode.replicas.open_replica import OpenReplica
from howdah.datanode.state.replicas.page_cache import NO_READAHEAD, CachePolicy, ReadCache
from howdah.datanode.state.volumes import block_files
from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType
from howdah.protocol.data_transfer.op_requests import NO_HINTS, CachingHints, ReadBlock
from howdah.protocol.data_transfer.packets import PacketHeader, encode_packet, encode_prelude
from howdah.protocol.data_transfer.responses import encode_read_answer
from howdah.runtime.sockets import Connection

PACKET_DATA_BYTES = 256 * 1024
_SUMS_AHEAD_BYTES = 4 * 1024 * 1024
"""Bytes of data whose checksums are read at once."""
_SHORT_BYTES = 64 * 1024
NO_CHECKSUM = ChecksumSpec(ChecksumType.NULL, 512)
"""How a read without checksums describes itself."""


class BlockSender:
    """One stretch of an open replica."""

    def __init__(
        self,
        opened: OpenReplica,
        offset: int,
        length_bytes: int,
        *,
        send_checksums: bool = True,
        sendfile: bool = True,
        cache: CachePolicy = NO_READAHEAD,
        hints: CachingHints = NO_HINTS,
        is_copy: bool = False,
        paced: Callable[[int], None] = lambda _: None,
    ) -> None:
        """`is_copy`: for another datanode, which is to have on its disk what is on ours.
        `paced` hears of the bytes of each packet that was sent, and may wait."""
        available = opened.length_bytes
        if offset < 0 or length_bytes < 0 or offset + length_bytes > available:
            raise errors.IllegalArgument(
                f"Offset {offset} and length {length_bytes} don't match {opened.replica!r}, "
                f"of which {available} bytes can be read"
            )
        self.packets = 0
        """That were sent."""
        self._opened = opened
        self.checksum = opened.checksum if send_checksums else NO_CHECKSUM
        chunk = self.checksum.bytes_per_checksum
        self.start = offset - offset % chunk
        self.end = min(offset + length_bytes + -(offset + length_bytes) % chunk, available)
        # A chunk may be larger than a packet would be.
        self._packet_bytes = max(PACKET_DATA_BYTES - PACKET_DATA_BYTES % chunk, chunk)
        self._sendfile = sendfile
        self._is_copy = is_copy
        self._paced = paced
        self._cache = ReadCache(self.start, self.end, cache, hints)

    def send(self, connection: Connection, answer: bytes = b"") -> int:
        """All packets, behind `answer`; the bytes of data sent. `OSError` is the disk's."""
        if self.end - self.start <= _SHORT_BYTES:
            return self._send_short(connection, answer)
        offset, seqno = self.start, 0
        for sums, data_bytes in self._packets():
            advise(self._opened.block_fd, self._cache.at(offset))
            header = PacketHeader(offset, seqno, False, data_bytes)
            prelude = encode_prelude(header, len(sums))
            if self._sendfile:
                connection.send_more(b"".join((answer, prelude, sums)))
                connection.send_file(self._opened.block_fd, offset, data_bytes)
            else:
                data = read_exactly(self._opened.block_fd, data_bytes, offset)
                connection.send_buffers((answer, prelude, sums, data))
            answer = b""
            offset += data_bytes
            seqno += 1
            self._paced(len(sums) + data_bytes)
        connection.send_all(self._last_packet(seqno))
        self.packets = seqno + 1
        return self.end - self.start

    def _send_short(self, connection: Connection, answer: bytes) -> int:
        pieces: list[bytes | memoryview] = [answer]
        seqno = 0
        for sums, data_bytes in self._packets():
            assert seqno == 0, "a short stretch is one packet"
            advise(self._opened.block_fd, self._cache.at(self.start))
            prelude = encode_prelude(PacketHeader(self.start, seqno, False, data_bytes), len(sums))
            data = read_exactly(self._opened.block_fd, data_bytes, self.start)
            pieces += (prelude, sums, data)
            seqno += 1
        pieces.append(self._last_packet(seqno))
        connection.send_buffers(pieces)
        self.packets = seqno + 1
        if seqno:
            self._paced(sum(map(len, pieces[2:4])))
        return self.end - self.start

    def _last_packet(self, seqno: int) -> bytes:
        sync = self._is_copy and self._opened.replica.synced
        return encode_packet(PacketHeader(self.end, seqno, True, 0, sync))

    def finish(self) -> None:
        """The reader has got what was sent, or is gone: drop it from the cache, if so told."""
        advise(self._opened.block_fd, self._cache.rest())

    def _packets(self) -> Iterator[tuple[memoryview, int]]:
        """(checksums, bytes of data) of each packet."""
        spec, step = self.checksum, self._packet_bytes
        ahead = max(_SUMS_AHEAD_BYTES - _SUMS_AHEAD_BYTES % step, step)
        for begin in range(self.start, self.end, ahead):
            stop = min(begin + ahead, self.end)
            sums = memoryview(read_sums(self._opened, spec, begin, stop))
            for offset in range(begin, stop, step):
                size = min(step, stop - offset)
                first = (offset - begin) // spec.bytes_per_checksum * spec.sum_bytes
                yield sums[first : first + spec.sums_length(size)], size


def send_mapped(connection: Connection, mapped: MappedReplica, request: ReadBlock) -> int | None:
    """Answer and packets of a read, in one system call; the bytes of data sent.

    None where this way does not lead: then nothing was sent. `BlockMissing` when the files have
    become too short for what was verified.
    """
    offset, length = request.offset, request.length_bytes
    if (
        request.block.generation_stamp != mapped.generation_stamp
        or not request.send_checksums
        or not 0 < length <= LONGEST_BYTES
        or offset + length > mapped.length_bytes
        or request.hints.drop_behind
        or not mapped.borrow()
    ):
        return None
    try:
        chunk = mapped.checksum.bytes_per_checksum
        start = offset - offset % chunk
        end = min(offset + length + -(offset + length) % chunk, mapped.length_bytes)
        sums, last_sum, data = mapped.chunks(start, end)
        size = end - start
        prelude = encode_prelude(PacketHeader(start, 0, False, size), len(sums) + len(last_sum))
        head = encode_read_answer(mapped.checksum, start) + prelude
        last = encode_packet(PacketHeader(end, 1, True, 0))
        connection.send_buffers((head, sums, last_sum, data, last))
    except OSError as error:
        if error.errno != errno.EFAULT:
            raise
        raise errors.BlockMissing(
            f"the files of {request.block} have become too short since it was cached"
        ) from error
    finally:
        mapped.give_back()
    return size


def read_sums(opened: OpenReplica, spec: ChecksumSpec, start: int, end: int) -> bytes:
    """The checksums of the chunks of [start, end); `start` is a chunk's.

    `end` is a chunk's or that of the replica as it was opened. `ChecksumMismatch`
    when the meta file is too short.
    """
    if spec.sum_bytes == 0:
        return b""
    wanted = spec.sums_length(end - start)
    offset = block_files.sums_offset(spec, start // spec.bytes_per_checksum)
    meter = opened.volume.meter
    begin_s = time.monotonic() if meter is not None and meter.is_sampled() else None
    sums = os.pread(opened.meta_fd, wanted, offset)
    if meter is not None and begin_s is not None:
        meter.add(DiskOp.READ, time.monotonic() - begin_s)
    length, last_sum = opened.tail
    if end == length and last_sum:
        sums = sums[: wanted - spec.sum_bytes] + last_sum
    if len(sums) != wanted:
        raise errors.ChecksumMismatch(
            f"the meta file of {opened.replica!r} on {opened.volume.path} ends before "
            f"the checksums of bytes {start} to {end}"
        )
    return sums


def read_exactly(fd: int, count: int, offset: int) -> bytes:
    """`count` bytes of a file; `BlockMissing` where it is too short."""
    data = os.pread(fd, count, offset)
    while len(data) < count:
        more = os.pread(fd, count - len(data), offset + len(data))
        if not more:
            raise errors.BlockMissing(
                f"a block file ends at {offset + len(data)}, "
                f"{count - len(data)} bytes before it should"
            )
        data += more
    return data
