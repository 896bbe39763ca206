"""Cuts what is written into the packets of a block, with their checksums (pure).

Rules, which are Hadoop's:

- A packet holds whole chunks, but for the last one before a flush or at the end
  of a block. `dfs.client-write-packet-size` is taken as bytes of data, so that
  packets are whole pages; Hadoop counts header and sums in.
- A flush sends what there is. If that ends in the middle of a chunk, the chunk is
  kept, and the next packet begins with it again, since its checksum covers it from
  its first byte. Datanodes write at `offset_in_block`; they don't append.
- An append to a block that ends in the middle of a chunk begins with one packet
  that holds the rest of that chunk and no more, summed by itself: only the
  datanode has the bytes in front of it.
- A block ends with an empty packet that says so.

No copy is made of what can't change: from a `bytes` object packets hold views.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from howdah.errors import IllegalArgument
from howdah.protocol.data_transfer.checksum import ChecksumSpec, checksum_chunks

Buffer = bytes | bytearray | memoryview


@dataclass(frozen=True, slots=True)
class OutgoingPacket:
    """A packet before it gets a sequence number. `sums` and `data` don't change any more."""

    offset_in_block: int
    data: Buffer
    sums: Buffer
    last_in_block: bool = False
    sync_block: bool = False

    @property
    def end(self) -> int:
        """The length of the block once this packet is in."""
        return self.offset_in_block + len(self.data)

    @property
    def is_order(self) -> bool:
        """It has no bytes, and orders to bring those before it to the disk."""
        return self.sync_block and not self.last_in_block and not len(self.data)


class Packetizer:
    """Takes bytes, gives packets; knows where in its block it stands.

    With `sync_blocks` the last packet of each block orders to bring it to the disk.
    """

    def __init__(
        self,
        checksum: ChecksumSpec,
        packet_data_bytes: int,
        block_size: int,
        *,
        offset_in_block: int = 0,
        sync_blocks: bool = False,
    ) -> None:
        chunk = checksum.bytes_per_checksum
        if block_size <= 0 or block_size % chunk:
            raise IllegalArgument(
                f"A block size of {block_size} bytes is not a multiple of "
                f"the {chunk} bytes that one checksum covers (dfs.bytes-per-checksum)"
            )
        self._checksum = checksum
        self._chunk = chunk
        self._full_bytes = max(packet_data_bytes // chunk, 1) * chunk
        self._block_size = block_size
        self.sync_blocks = sync_blocks
        self._begin(offset_in_block)

    def _begin(self, offset_in_block: int) -> None:
        self._start = offset_in_block
        self._flushed_end = offset_in_block
        self._fill = 0
        self._buffer: bytearray | None = None

    def _room(self) -> int:
        """How much data the packet under construction can take in all."""
        odd = self._start % self._chunk
        wanted = self._chunk - odd if odd else self._full_bytes
        return min(wanted, self._block_size - self._start)

    def absorb(self, data: Buffer) -> bool:
        """Take `data` if no packet becomes full by it: the short way of small writes."""
        end = self._fill + len(data)
        if self._buffer is None or end >= len(self._buffer):
            return False
        self._buffer[self._fill : end] = data
        self._fill = end
        return True

    def write(self, data: Buffer) -> Iterator[OutgoingPacket]:
        """The packets that become full by `data`; at a block's end its last packet as well."""
        view = memoryview(data)
        immutable = type(view.obj) is bytes
        position = 0
        while position < len(view):
            room = self._room()
            take = min(room - self._fill, len(view) - position)
            if immutable and not self._fill and take == room:
                piece: Buffer = view[position : position + take]
                self._fill = take
            else:
                if self._buffer is None:
                    self._buffer = bytearray(room)
                self._buffer[self._fill : self._fill + take] = view[position : position + take]
                self._fill += take
                piece = self._buffer
            position += take
            if self._fill == room:
                yield self._packet(piece)
                self._start += room
                self._flushed_end = self._start
                self._fill = 0
                self._buffer = None
                if self._start == self._block_size:
                    yield from self.end_block(sync=self.sync_blocks)

    def _packet(self, data: Buffer) -> OutgoingPacket:
        sums = bytearray(self._checksum.sums_length(len(data)))
        checksum_chunks(self._checksum, data, sums)
        return OutgoingPacket(self._start, data, sums)

    def flush(self, *, sync: bool = False) -> Iterator[OutgoingPacket]:
        """A packet with what was not sent yet, if there is something.

        With `sync`, and in a block that has begun, an empty one follows with the order to bring
        the block to the disk: datanodes acknowledge the bytes before they wait for their disks.
        """
        end = self._start + self._fill
        if end != self._flushed_end:
            assert self._buffer is not None, "unsent bytes outside of the buffer"
            yield self._packet(bytes(memoryview(self._buffer)[: self._fill]))
            self._flushed_end = end
            kept_from = max(self._start, end - end % self._chunk)
            kept = bytes(memoryview(self._buffer)[kept_from - self._start : self._fill])
            self._start, self._fill = kept_from, len(kept)
            if kept:
                self._buffer = bytearray(self._room())
                self._buffer[: len(kept)] = kept
            else:
                self._buffer = None
        if sync and end:
            yield OutgoingPacket(end, b"", b"", sync_block=True)

    def end_block(self, *, sync: bool = False) -> Iterator[OutgoingPacket]:
        """What was not sent yet, and the empty last packet; then a new block begins.

        With `sync` the last packet orders to bring the block to the disk. Nothing for a
        block that has no bytes.
        """
        yield from self.flush()
        end = self._start + self._fill
        if end:
            yield OutgoingPacket(end, b"", b"", last_in_block=True, sync_block=sync)
        self._begin(0)
