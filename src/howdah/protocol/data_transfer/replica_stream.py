"""The packets in which a datanode sends a range of a replica, every chunk checked (pure).

What BlockReaderRemote in Hadoop follows. The client's readers and the datanodes that read each
other's replicas are above it: they own the connection, and say what is wanted of it. The rules:

1. The datanode says with its answer how long chunks are, and at which one it begins: that of the
   first byte that was asked for.
2. Packets follow each other without gaps, each with the sums of its chunks before its data.
3. Data is whole chunks. A range may begin and end within one.
4. Behind the last of them comes an empty packet, which ends the stream. One that comes early is
   an error, whatever it says.
5. Datanodes that cannot send straight from a file send packets of 4 KiB (`io.file.buffer.size`).
   These are taken many at a time (`receive_alike`): waited for is never more than has to come.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from howdah import errors
from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType, verify_chunks
from howdah.protocol.data_transfer.packets import (
    HEADER_BYTES,
    LENGTHS_BYTES,
    PacketHeader,
    check_lengths,
    count_alike,
    decode_header,
    decode_lengths,
)
from howdah.protocol.data_transfer.responses import BlockOpResponse
from howdah.protocol.data_transfer.status import Status

HEAD_BYTES: Final = LENGTHS_BYTES + HEADER_BYTES
"""What is read of a packet at first. No header is shorter: its fields have to be there, and have
fixed widths."""
_MAX_BYTES_PER_CHECKSUM: Final = 16 * 1024 * 1024
_SMALL_PACKET_BYTES: Final = 16 * 1024
_TOGETHER_BYTES: Final = 256 * 1024


class Source(Protocol):
    """A connection (`howdah.runtime.sockets.Connection`)."""

    def recv_exactly(self, count: int) -> bytes: ...

    def recv_into_exactly(self, target: memoryview) -> None: ...

    def lend(self, count: int) -> memoryview | None: ...

    def have(self, count: int) -> memoryview: ...

    def pass_over(self, count: int) -> None: ...


class ReplicaStream:
    """The packets behind an answer. `position` is where in the block the next byte is, `left` how
    many bytes of the current packet were not taken yet."""

    __slots__ = (
        "_end",
        "_is_lent",
        "_last",
        "_named",
        "_source",
        "_sums",
        "left",
        "position",
        "spec",
    )

    def __init__(
        self,
        source: Source,
        response: BlockOpResponse,
        named: Callable[[], tuple[object, str]],
        start: int,
        end: int,
        *,
        is_lent: bool = False,
    ) -> None:
        """`named` says for messages which datanode it is, and which block; `start` and `end` are
        what was asked for. `is_lent`: what the connection has received already is not copied.
        Raises InvalidToken or RemoteError where the datanode refuses, ProtocolViolation."""
        self._source = source
        self._named = named
        self._end = end
        self._is_lent = is_lent
        self._sums = memoryview(b"")
        self._last: PacketHeader | None = None
        self.left = 0
        self.spec, self.position = self._begin(response, start)

    def _begin(self, response: BlockOpResponse, start: int) -> tuple[ChecksumSpec, int]:
        node, block = self._named()
        if not response.is_success or response.read_checksum is None:
            token = response.status is Status.ERROR_ACCESS_TOKEN
            raise (errors.InvalidToken if token else errors.RemoteError)(
                f"{node} refused to read {block}: {response.message or response.status.name}"
            )
        spec, first = response.read_checksum.checksum, response.read_checksum.chunk_offset
        if not 0 < spec.bytes_per_checksum <= _MAX_BYTES_PER_CHECKSUM:
            raise errors.ProtocolViolation(
                f"{node} says that a checksum covers {spec.bytes_per_checksum} bytes"
            )
        aligned = start - start % spec.bytes_per_checksum
        if spec.type is ChecksumType.NULL:
            aligned = first
        if not aligned <= first <= start:
            raise errors.ProtocolViolation(f"{node} starts {block} at {first}, asked was {start}")
        return spec, first

    def next_packet(self) -> None:
        """Read the head of the next packet and its sums, when nothing is `left`."""
        header, payload = self.read_header()
        sums = check_lengths(header, payload)
        if header.last_in_block or not header.data_length_bytes:
            node, block = self._named()
            raise errors.ProtocolViolation(
                f"{node} ended {block} at {self.position}, {self._end - self.position} bytes early"
            )
        if header.offset_in_block != self.position or sums != self.spec.sums_length(
            header.data_length_bytes
        ):
            node, block = self._named()
            raise errors.ProtocolViolation(
                f"{node} sent {header.data_length_bytes} bytes with {sums} bytes of sums for "
                f"offset {header.offset_in_block} of {block}, expected was offset {self.position}"
            )
        lent = self._source.lend(sums) if self._is_lent else None
        self._sums = memoryview(self._source.recv_exactly(sums)) if lent is None else lent
        self.left = header.data_length_bytes
        self._last = header

    def receive_alike(self, target: memoryview) -> tuple[int, int]:
        """Take packets as small as the last one, if that was small and whole chunks, as far as they
        go into `target`; when nothing is `left`. Returns how many bytes of data they had, and where
        the first bad chunk is, as `check` does; 0 and -1 where the next packet is to be taken by
        itself."""
        last = self._last
        if last is None or last.sync_block or last.data_length_bytes > _SMALL_PACKET_BYTES:
            return 0, -1
        length = last.data_length_bytes
        # The last packet of all may be shorter, and have a part of a chunk.
        wanted = min(len(target), self._end - self.position, _TOGETHER_BYTES)
        sums = self.spec.sums_length(length)
        stride = HEAD_BYTES + sums + length
        # Data and sums have to come, in whatever packets.
        count = min(wanted // length, (wanted + self.spec.sums_length(wanted)) // stride)
        if count < 2 or length % self.spec.bytes_per_checksum:
            return 0, -1
        data = self._source.have(count * stride)[: count * stride]
        count = count_alike(data, self.position, last, sums)
        pieces = []
        for number in range(count):
            start = number * stride + HEAD_BYTES
            pieces.append(data[start : start + sums])
            target[number * length : (number + 1) * length] = data[start + sums :][:length]
        self._source.pass_over(count * stride)
        taken = target[: count * length]
        bad = verify_chunks(self.spec, taken, b"".join(pieces))
        if bad >= 0:
            return len(taken), self.position + bad * self.spec.bytes_per_checksum
        self.position += len(taken)
        return len(taken), -1

    def read_header(self) -> tuple[PacketHeader, int]:
        """Read a packet's head; its header, and how many bytes it announces."""
        head = self._source.recv_exactly(HEAD_BYTES)
        header_bytes, payload = decode_lengths(head)
        if header_bytes > HEADER_BYTES:
            head += self._source.recv_exactly(header_bytes - HEADER_BYTES)
        return decode_header(head, LENGTHS_BYTES, header_bytes), payload

    def receive(self, target: memoryview) -> int:
        """Fill `target` with the next chunks of the packet, and check them, as `check` does."""
        self._source.recv_into_exactly(target)
        return self.check(target)

    def check(self, data: memoryview) -> int:
        """Check the next chunks of the packet, which have come. Returns where in the block the
        first bad one is; -1 if all are right, and they count as taken then."""
        count = self.spec.sums_length(len(data))
        sums, self._sums = self._sums[:count], self._sums[count:]
        bad = verify_chunks(self.spec, data, sums)
        if bad >= 0:
            return self.position + bad * self.spec.bytes_per_checksum
        self.left -= len(data)
        self.position += len(data)
        return -1
