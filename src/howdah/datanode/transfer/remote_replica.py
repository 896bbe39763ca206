"""Reads a replica of another datanode from an offset on, checking every chunk (shell).

What a client's BlockReader does, for a datanode that has no cache of connections and reads what
it asked for to its end: BlockReaderRemote in Hadoop, as its StripedBlockReader has it.
"""

from __future__ import annotations

from howdah import errors
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock
from howdah.protocol.data_transfer.checksum import ChecksumType, verify_chunks
from howdah.protocol.data_transfer.op_requests import ReadBlock, encode_request
from howdah.protocol.data_transfer.packets import (
    HEADER_BYTES,
    LENGTHS_BYTES,
    check_lengths,
    decode_header,
    decode_lengths,
)
from howdah.protocol.data_transfer.responses import encode_read_status, read_response
from howdah.protocol.data_transfer.status import Status
from howdah.runtime.sockets import Connection

_MAX_BYTES_PER_CHECKSUM = 16 * 1024 * 1024


class RemoteReplica:
    """The bytes of `block` from `offset` to `end`, in their order. Closing it closes the
    connection."""

    def __init__(
        self, connection: Connection, node: DatanodeAddress, block: ExtendedBlock, offset: int
    ) -> None:
        """Ask for what `block.length_bytes` says from `offset` on. Raises HowdahError where the
        datanode refuses."""
        self.node = node
        self.block = block
        self._connection = connection
        self._position = offset
        self._end = block.length_bytes
        self._rest = memoryview(b"")
        connection.send_all(encode_request(ReadBlock(block, "", offset, self._end - offset)))
        response = read_response(connection)
        if not response.is_success or response.read_checksum is None:
            raise errors.RemoteError(
                f"{node} refused to read {block}: {response.message or response.status.name}"
            )
        self.checksum = response.read_checksum.checksum
        first = response.read_checksum.chunk_offset
        chunk = self.checksum.bytes_per_checksum
        if chunk > _MAX_BYTES_PER_CHECKSUM or not offset - chunk < first <= offset:
            raise errors.ProtocolViolation(
                f"{node} starts {block} at {first}, in chunks of {chunk} bytes; asked was {offset}"
            )
        self._stream_position = first
        while self._stream_position < offset:
            data = self._packet()
            self._rest = data[max(0, offset - (self._stream_position - len(data))) :]

    def read_into(self, target: memoryview) -> None:
        """Fill `target` with the next bytes. Raises `ChecksumMismatch` if the replica is damaged,
        `ProtocolViolation`, `PeerClosed`, `PeerSilent`."""
        while target:
            if not self._rest:
                self._rest = self._packet()
            count = min(len(target), len(self._rest))
            target[:count] = self._rest[:count]
            target, self._rest = target[count:], self._rest[count:]
            self._position += count

    def finish(self) -> None:
        """Tell the datanode that all was right, and close."""
        if self._position == self._end and self.checksum.type is not ChecksumType.NULL:
            self._connection.send_all(encode_read_status(Status.CHECKSUM_OK))
        self.close()

    def close(self) -> None:
        self._connection.close()

    def _packet(self) -> memoryview:
        connection = self._connection
        head = connection.recv_exactly(LENGTHS_BYTES + HEADER_BYTES)
        header_bytes, payload = decode_lengths(head)
        if header_bytes > HEADER_BYTES:
            head += connection.recv_exactly(header_bytes - HEADER_BYTES)
        header = decode_header(head, LENGTHS_BYTES, header_bytes)
        sums_bytes = check_lengths(header, payload)
        if (
            header.offset_in_block != self._stream_position
            or not header.data_length_bytes
            or sums_bytes != self.checksum.sums_length(header.data_length_bytes)
        ):
            raise errors.ProtocolViolation(
                f"{self.node} sent {header.data_length_bytes} bytes with {sums_bytes} bytes of "
                f"sums for offset {header.offset_in_block} of {self.block}, expected was offset "
                f"{self._stream_position}"
            )
        sums = connection.recv_exactly(sums_bytes)
        data = memoryview(bytearray(header.data_length_bytes))
        connection.recv_into_exactly(data)
        damaged = verify_chunks(self.checksum, data, sums)
        if damaged >= 0:
            at = self._stream_position + damaged * self.checksum.bytes_per_checksum
            raise errors.ChecksumMismatch(f"{self.block} at {self.node} is corrupt at offset {at}")
        self._stream_position += len(data)
        return data
