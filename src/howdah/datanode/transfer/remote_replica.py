"""Reads a replica of another datanode from an offset on, checking every chunk (shell).

What a client's BlockReader does, for a datanode that has no cache of connections and reads what
it asked for to its end: BlockReaderRemote in Hadoop, as its StripedBlockReader has it. Both follow
the same stream of packets (`howdah.protocol.data_transfer.replica_stream`).
"""

from __future__ import annotations

from howdah import errors
from howdah.protocol.data_transfer.blocks import (
    NO_TOKEN,
    BlockToken,
    DatanodeAddress,
    ExtendedBlock,
)
from howdah.protocol.data_transfer.checksum import ChecksumType
from howdah.protocol.data_transfer.op_requests import ReadBlock, encode_request
from howdah.protocol.data_transfer.replica_stream import ReplicaStream
from howdah.protocol.data_transfer.responses import encode_read_status, read_response
from howdah.protocol.data_transfer.status import Status
from howdah.runtime.sockets import Connection


class RemoteReplica:
    """The bytes of `block` from `offset` to `end`, in their order. Closing it closes the
    connection."""

    def __init__(
        self,
        connection: Connection,
        node: DatanodeAddress,
        block: ExtendedBlock,
        offset: int,
        token: BlockToken = NO_TOKEN,
    ) -> None:
        """Ask for what `block.length_bytes` says from `offset` on. Raises HowdahError where the
        datanode refuses."""
        self.node = node
        self.block = block
        self._connection = connection
        self._position = offset
        self._end = block.length_bytes
        self._rest = memoryview(b"")
        connection.send_all(
            encode_request(ReadBlock(block, "", offset, self._end - offset, token=token))
        )
        self._stream = ReplicaStream(
            connection, read_response(connection), self._named, offset, self._end
        )
        self.checksum = self._stream.spec
        while self._stream.position < offset:
            data = self._packet()
            self._rest = data[max(0, offset - (self._stream.position - len(data))) :]

    def _named(self) -> tuple[object, str]:
        return self.node, str(self.block)

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
        self._stream.next_packet()
        data = memoryview(bytearray(self._stream.left))
        bad = self._stream.receive(data)
        if bad >= 0:
            raise errors.ChecksumMismatch(f"{self.block} at {self.node} is corrupt at offset {bad}")
        return data
