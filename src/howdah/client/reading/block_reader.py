"""Reads one range of one replica from one datanode, checking every chunk.

BlockReaderRemote in Hadoop.

The datanode answers READ_BLOCK with packets (`howdah.protocol.data_transfer.replica_stream`) from
the chunk that holds the first byte on; after an empty last packet the reader says that all sums
were right, and the connection is closed, or kept for another read.

Data goes straight from the socket into the caller's buffer and is checked there,
as long as whole chunks fit; only what is left of a chunk at the end of a small
read, and what precedes the first byte in its chunk, passes through a buffer here.
A read that raises `ChecksumMismatch` may have left wrong bytes in the caller's
buffer, but it never returns them.
"""

from __future__ import annotations

import logging

from howdah import errors
from howdah.client.data_transfer_security import ConnectsData, connect_plain
from howdah.client.peer_cache import PeerCache
from howdah.client.reading import short_read
from howdah.client.reading.readers import Interruptible, ReadRequest, ReadSource
from howdah.protocol.data_transfer.checksum import ChecksumType
from howdah.protocol.data_transfer.op_requests import ReadBlock, encode_plain_read, encode_request
from howdah.protocol.data_transfer.replica_stream import HEAD_BYTES, ReplicaStream
from howdah.protocol.data_transfer.responses import (
    BlockOpResponse,
    encode_read_status,
    read_response,
)
from howdah.protocol.data_transfer.status import Status
from howdah.rpc import wait_notices
from howdah.runtime import sockets
from howdah.runtime.signal_handlers import is_raised_by_handler
from howdah.runtime.tracing.span import NOTHING, Kind, Span

_log = logging.getLogger(__name__)
_SCRATCH_BYTES = 64 * 1024
_SHORT_BYTES = 128 * 1024
"""A range up to this is received with all that belongs to it, as far as it comes together, and
copied from there: one system call costs more than the copy."""
_ANSWER_EXTRA_BYTES = 256
"""More than the answer, a packet's header and the empty packet take."""
_LEAST_PACKET_BYTES = 4096
"""Hadoop's datanodes send packets of 4 KiB where they are not to read with `sendfile`."""
_USUAL_CHUNK_BYTES = 512
_ALL_WAS_RIGHT = encode_read_status(Status.CHECKSUM_OK)


class DatanodeReaders:
    """The way that always leads to a replica: a connection to its datanode."""

    def __init__(
        self,
        peers: PeerCache,
        *,
        use_hostname: bool,
        timeout_s: float,
        connect: ConnectsData = connect_plain,
    ) -> None:
        self._peers = peers
        self._use_hostname = use_hostname
        self._timeout_s = timeout_s
        self._connect = connect

    def open(self, request: ReadRequest) -> BlockReader:
        """A reader that has the datanode's answer, and stands at the first byte."""
        return BlockReader(
            request,
            self._peers,
            use_hostname=self._use_hostname,
            timeout_s=self._timeout_s,
            connect=self._connect,
        )


class BlockReader:
    """Yields the bytes of a request, once, in order; a `ReplicaReader`."""

    def __init__(
        self,
        request: ReadRequest,
        peers: PeerCache,
        *,
        use_hostname: bool,
        timeout_s: float,
        connect: ConnectsData = connect_plain,
    ) -> None:
        self.node = request.node
        self.position = request.offset
        self._path = request.path
        self._block = request.block.block
        self._token = request.block.token
        self._connect = connect
        self._end = request.offset + request.length_bytes
        self._is_short = request.length_bytes <= _SHORT_BYTES
        self._carry = memoryview(b"")
        self._finished = False
        self._is_told = False
        self._address = request.node.connect_to(use_hostname=use_hostname)
        self._timeout_s = timeout_s
        self._peers = peers
        self._keep = request.keep
        self._cancellation = request.cancellation
        self._span = NOTHING if request.span is NOTHING else _span_of(request)
        try:
            self._open(request)
        except BaseException as error:
            self._span.end(error)
            raise

    def _open(self, request: ReadRequest) -> None:
        self._connection, response = self._send_request(_encoded(request, self._span))
        near = self._connection.is_same_machine
        self.source = ReadSource.LOCAL if near else ReadSource.REMOTE
        if response is None:
            self._finished = True
            self._span.end()
            self._part_with_connection(clean=self._is_told)
            return
        try:
            # The range begins with a whole chunk, whose first bytes nobody asked for.
            self._stream = ReplicaStream(
                self._connection,
                response,
                self._named,
                self.position,
                self._end,
                is_lent=self._is_short,
            )
            self._skip_to(request.offset)
        except BaseException:
            self._close_connection()
            raise

    @property
    def remaining(self) -> int:
        """Bytes of the range that were not read yet."""
        return self._end - self.position

    def _send_request(self, request: bytes) -> tuple[sockets.Connection, BlockOpResponse | None]:
        """Send the request, over a kept connection if there is one that still lives. None: the
        whole range has come, and the datanode was told."""
        while (kept := self._peers.pop(self._address)) is not None:
            try:
                return kept, self._exchange(kept, request)
            except sockets.PeerClosed:
                if self._cancellation is not None:
                    self._cancellation.check()
        fresh = self._connect(
            self._address,
            self._token,
            connect_timeout_s=self._timeout_s,
            read_timeout_s=self._timeout_s,
            write_timeout_s=self._timeout_s,
            dialing=self._watch,
            word=self if wait_notices.are_wanted() else None,
        )
        return fresh, self._exchange(fresh, request)

    def _exchange(self, connection: sockets.Connection, request: bytes) -> BlockOpResponse | None:
        """The datanode's answer; the connection is closed if there is none."""
        try:
            self._watch(connection)
            connection.wait_notice = self if wait_notices.are_wanted() else None
            response = None
            if not (self._is_short and connection.is_plain):
                connection.send_all(request)
                response = read_response(connection)
            elif not self._read_at_once(connection, request):
                connection.expect(self._response_bytes())
                response = read_response(connection)
            if self._cancellation is not None:
                self._cancellation.is_answered = True
            return response
        except BaseException:
            self._let_go()
            connection.close()
            raise

    def _read_at_once(self, connection: sockets.Connection, request: bytes) -> bool:
        """Whether the answer was what nearly every short one is. If not it is to be read."""
        read = short_read.read_range(
            connection, request, self.position, self._end, self._response_bytes(), _ALL_WAS_RIGHT
        )
        if read is None:
            return False
        self._carry, self._is_told = read
        return True

    def _response_bytes(self) -> int:
        """About what a datanode sends for the range: whole chunks, with their checksums."""
        chunks = (self._end - 1) // _USUAL_CHUNK_BYTES - self.position // _USUAL_CHUNK_BYTES + 1
        headers = (self._end - self.position) // _LEAST_PACKET_BYTES * HEAD_BYTES
        return chunks * (_USUAL_CHUNK_BYTES + 4) + headers + _ANSWER_EXTRA_BYTES

    @property
    def after_s(self) -> float:
        """When a word is said to those who wait (`howdah.runtime.sockets.Word`)."""
        return wait_notices.FIRST_NOTICE_S

    def show(self) -> None:
        wait_notices.show(
            f"{self._path}: {self.node} has sent nothing of {self._block.name} for "
            f"{self.after_s:g} s; waiting for up to {self._timeout_s:g} s "
            "(dfs.client.socket-timeout) before another datanode is asked"
        )

    def _watch(self, waited_for: Interruptible) -> None:
        """Whoever cancels the read ends this wait."""
        if self._cancellation is not None:
            self._cancellation.watch(waited_for)

    def _let_go(self) -> None:
        """Whoever cancels the read has to keep off the connection from now on."""
        if self._cancellation is not None:
            self._cancellation.release()

    def _close_connection(self) -> None:
        self._let_go()
        self._connection.close()

    def _named(self) -> tuple[object, str]:
        return self.node, f"{self._block.name} of {self._path}"

    def _skip_to(self, offset: int) -> None:
        stream = self._stream
        while stream.position < offset:
            piece = self._receive_scratch()
            unwanted = min(offset - (stream.position - len(piece)), len(piece))
            self._carry = piece[unwanted:]

    # --- reading --------------------------------------------------------------------

    def read_into(self, buffer: memoryview) -> int:
        """At least one byte of the range, unless it is at its end or `buffer` is empty."""
        wanted = min(len(buffer), self.remaining)
        if not wanted:
            return 0
        if not self._carry:
            direct = 0
            if not self._is_short:
                together = self._receive_alike(buffer[:wanted])
                if together:
                    return together
                direct = self._direct_bytes(wanted)
            if direct:
                self._require_right(self._stream.receive(buffer[:direct]))
                self.position += direct
                self._finish_at_end()
                return direct
            self._carry = self._receive_scratch()
        count = min(wanted, len(self._carry))
        buffer[:count] = self._carry[:count]
        self._carry = self._carry[count:]
        self.position += count
        self._finish_at_end()
        return count

    def _receive_alike(self, buffer: memoryview) -> int:
        """How much of many small packets went into the caller's buffer."""
        stream = self._stream
        if stream.left:
            return 0
        count, bad = stream.receive_alike(buffer)
        self._require_right(bad)
        self.position += count
        if count:
            self._finish_at_end()
        return count

    def _direct_bytes(self, wanted: int) -> int:
        """How much of the current packet can go into the caller's buffer as it comes."""
        stream = self._stream
        if not stream.left:
            stream.next_packet()
        if stream.left <= wanted:
            return stream.left
        return wanted - wanted % stream.spec.bytes_per_checksum

    def _receive_scratch(self) -> memoryview:
        """Some whole chunks, in a buffer of their own."""
        stream = self._stream
        if not stream.left:
            stream.next_packet()
        if self._is_short:
            piece = self._connection.lend(stream.left)
            if piece is not None:
                self._require_right(stream.check(piece))
                return piece
        chunk = stream.spec.bytes_per_checksum
        count = min(stream.left, max(_SCRATCH_BYTES // chunk, 1) * chunk)
        piece = memoryview(bytearray(count))
        self._require_right(stream.receive(piece))
        return piece

    def _require_right(self, bad: int) -> None:
        """`bad` is where a chunk does not match its sum; -1 if all of them do."""
        if bad >= 0:
            error = errors.ChecksumMismatch(
                f"Checksum error in {self._path}: {self._block.name} at {self.node} is corrupt "
                f"at offset {bad}"
            )
            self._span.end(error)
            raise error

    def view(self, count: int) -> memoryview | None:
        """Never: what comes over a connection lies nowhere yet."""
        return None

    # --- the end ----------------------------------------------------------------------

    def _finish_at_end(self) -> None:
        """Take the empty last packet and say that all was well."""
        if self.remaining or self._finished:
            return
        self._finished = True
        self._span.end()
        clean = False
        try:
            if self._stream.left:
                # The datanode sends whole chunks, so the packet has bytes behind the range.
                self._connection.recv_exactly(self._stream.left)
            header, _ = self._stream.read_header()
            if header.last_in_block:
                summed = self._stream.spec.type is not ChecksumType.NULL
                status = Status.CHECKSUM_OK if summed else Status.SUCCESS
                self._connection.send_all(encode_read_status(status))
                clean = not self._connection.has_read_ahead
        except (errors.HowdahError, OSError) as error:
            if is_raised_by_handler(error):
                raise
            # Every byte is here and was right; how the datanode ends is its own affair.
            _log.debug("%s: the end of %s: %s", self._path, self._block.name, error)
        self._part_with_connection(clean=clean)

    def _part_with_connection(self, *, clean: bool) -> None:
        """Keep it for others, if nothing more is under way on it."""
        if clean and self._keep:
            self._connection.wait_notice = None
            self._let_go()
            self._peers.give_back(self._address, self._connection)
        else:
            self._close_connection()

    def skip(self, count: int) -> None:
        """Read `count` bytes for nothing, which is cheaper than a new connection."""
        scratch = memoryview(bytearray(min(count, _SCRATCH_BYTES)))
        while count:
            count -= self.read_into(scratch[: min(count, len(scratch))])

    def close(self) -> None:
        """Let go of the connection; safe to repeat."""
        if not self._finished:
            self._finished = True
            if self._span is not NOTHING:
                # The range may be the rest of a block, of which somebody wanted a part.
                self._span.set({"howdah.bytes_left": self.remaining})
                self._span.end()
            self._close_connection()


def _encoded(request: ReadRequest, span: Span) -> bytes:
    own, offset, length = request.block, request.offset, request.length_bytes
    if span is NOTHING:
        return encode_plain_read(
            own.block, own.token, request.client_name, offset, length, request.hints
        )
    return encode_request(
        ReadBlock(
            own.block,
            request.client_name,
            offset,
            length,
            hints=request.hints,
            token=own.token,
            trace=span.wire(),
        )
    )


def _span_of(request: ReadRequest) -> Span:
    return request.span.child(
        "READ_BLOCK",
        {
            "howdah.path": request.path,
            "howdah.block": request.block.block.name,
            "howdah.datanode": request.node.transfer_address,
            "howdah.offset": request.offset,
            "howdah.bytes": request.length_bytes,
        },
        kind=Kind.CLIENT,
    )
