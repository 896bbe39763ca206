"""Cuts a stream of bytes into packets, many a read.

The shell fills `writable()` with whatever the socket has and says how much;
`next_packet()` then yields the whole packets as views into the buffer, without
copying. At 64 KiB packets one system call brings several of them, and because
they lie in the buffer as they came, a mirror gets them with one `send`.

Rules:
- a packet's views are valid until the next `writable()`;
- the buffer grows to hold the one packet that doesn't fit, up to the packet
  limit, and a packet that lies about its lengths raises `ProtocolViolation`
  before anything is allocated.
"""

from __future__ import annotations

from dataclasses import dataclass

from howdah.protocol.data_transfer import MAX_PACKET_BYTES
from howdah.protocol.data_transfer.packets import (
    LENGTHS_BYTES,
    PacketHeader,
    check_lengths,
    decode_header,
    decode_lengths,
)

DEFAULT_BUFFER_BYTES = 512 * 1024


@dataclass(slots=True)
class Packet:
    """A packet in the buffer: `start` and `end` bound the whole of it there.

    Not frozen, for the reason that `PacketHeader` gives.
    """

    header: PacketHeader
    sums: memoryview
    data: memoryview
    start: int
    end: int


class PacketStream:
    """The buffer, and the cutting of it."""

    __slots__ = ("_buffer", "_end", "_limit_bytes", "_start", "_view", "_wanted")

    def __init__(
        self, buffer_bytes: int = DEFAULT_BUFFER_BYTES, limit_bytes: int = MAX_PACKET_BYTES
    ) -> None:
        self._buffer = bytearray(buffer_bytes)
        self._view = memoryview(self._buffer)
        self._limit_bytes = limit_bytes
        self._start = self._end = 0
        self._wanted = 0

    @property
    def pending_bytes(self) -> int:
        """Bytes that are here and not yet given out as packets."""
        return self._end - self._start

    @property
    def missing_bytes(self) -> int:
        """What is still to come of the packet that has begun; 1 when that is unknown."""
        return max(self._wanted - self.pending_bytes, 1)

    def writable(self) -> memoryview:
        """Room for more bytes; at least all that the started packet misses."""
        if self._start == self._end:
            self._start = self._end = 0
        elif self._start and len(self._buffer) - self._end < max(
            self.missing_bytes, len(self._buffer) // 4
        ):
            pending = self.pending_bytes
            self._view[:pending] = self._view[self._start : self._end]
            self._start, self._end = 0, pending
        if len(self._buffer) - self._end < self.missing_bytes:
            grown = bytearray(self._start + self._wanted)
            grown[: self._end] = self._view[: self._end]
            self._buffer, self._view = grown, memoryview(grown)
        return self._view[self._end :]

    def filled(self, count: int) -> None:
        """`count` bytes were put in front of the last `writable()`."""
        assert 0 <= count <= len(self._buffer) - self._end, count
        self._end += count

    def feed(self, data: bytes | bytearray | memoryview) -> None:
        """Copy `data` in, for bytes that came with something else."""
        offset = 0
        while offset < len(data):
            room = self.writable()
            count = min(len(room), len(data) - offset)
            if count == 0:
                grown = bytearray(len(self._buffer) * 2)
                grown[: self._end] = self._view[: self._end]
                self._buffer, self._view = grown, memoryview(grown)
                continue
            room[:count] = data[offset : offset + count]
            self.filled(count)
            offset += count

    def next_packet(self) -> Packet | None:
        """The next whole packet, or None when more bytes are needed."""
        start = self._start
        have = self._end - start
        if have < LENGTHS_BYTES:
            self._wanted = LENGTHS_BYTES
            return None
        header_bytes, payload_bytes = decode_lengths(self._buffer, start, self._limit_bytes)
        data_start = start + LENGTHS_BYTES + header_bytes
        wanted = self._wanted = LENGTHS_BYTES + header_bytes + payload_bytes
        if have < LENGTHS_BYTES + header_bytes:
            return None
        header = decode_header(self._buffer, start + LENGTHS_BYTES, header_bytes)
        middle = data_start + check_lengths(header, payload_bytes)
        if have < wanted:
            return None
        end = self._start = start + wanted
        self._wanted = 0
        return Packet(header, self._view[data_start:middle], self._view[middle:end], start, end)

    def span(self, start: int, end: int) -> memoryview:
        """The bytes of consecutive packets, from one's `start` to another's `end`."""
        return self._view[start:end]

    def take_pending(self) -> bytes:
        """Give back what came after the last packet, for whoever reads next."""
        pending = bytes(self._view[self._start : self._end])
        self._start = self._end = 0
        return pending
