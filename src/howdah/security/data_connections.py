"""Data connections that are encrypted or signed (shell): `Connection` with other bytes on the wire.

After a handshake (`howdah.protocol.data_transfer.handshake`) a connection is one of three: plain as
before, where both sides are known and nothing is protected; a stream of AES in each direction; or
messages of the layer, each with its length in front, whose bounds mean nothing to what is inside.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from typing import Final

from howdah import errors
from howdah.protocol.data_transfer.handshake import StreamKeys
from howdah.protocol.sasl.mechanism import Layer
from howdah.runtime.sockets import Connection
from howdah.security.aes import aes_ctr

Data = bytes | bytearray | memoryview

_LENGTH: Final = struct.Struct(">I")
_MOST_MESSAGE_BYTES: Final = 32 * 1024 * 1024
_PIECE_BYTES: Final = 256 * 1024
_PURPOSE: Final = "encrypted data connections"


class _Protected(Connection):
    """Takes the place of a connection whose handshake is done: it has its socket from now on."""

    is_plain = False

    def __init__(self, plain: Connection) -> None:
        super().__init__(
            plain.socket,
            read_timeout_s=plain.read_timeout_s,
            write_timeout_s=plain.write_timeout_s,
            word=plain.wait_notice,
        )
        self._came = plain.take_read_ahead()
        """Bytes of the wire that were read with the handshake's last message."""

    def _recv_wire(self, view: memoryview, flags: int = 0) -> int:
        if self._came:
            count = min(len(view), len(self._came))
            view[:count] = self._came[:count]
            self._came = self._came[count:]
            return count
        return super()._recv_into(view, flags)

    def _protect(self, data: Data) -> bytes:
        raise NotImplementedError

    @property
    def has_read_ahead(self) -> bool:
        return bool(self._came) or super().has_read_ahead

    @property
    def has_input(self) -> bool:
        return self.has_read_ahead or super().has_input

    def wait_for_input(self, timeout_s: float) -> bool:
        return self.has_read_ahead or super().wait_for_input(timeout_s)

    def send_all(self, data: Data) -> None:
        super().send_all(self._protect(data))

    def send_while_taken(self, data: Data, silence_s: float) -> None:
        super().send_while_taken(self._protect(data), silence_s)

    def send_buffers(self, buffers: Sequence[Data]) -> None:
        super().send_all(self._protect(b"".join(buffers)))

    def send_more(self, data: Data) -> None:
        super().send_more(self._protect(data))

    def send_file(self, file_fd: int, offset: int, count: int) -> None:
        end = offset + count
        while offset < end:
            piece = os.pread(file_fd, min(_PIECE_BYTES, end - offset), offset)
            if not piece:
                raise errors.BlockMissing(
                    f"a block file ends at {offset}, {end - offset} bytes before it should"
                )
            self.send_all(piece)
            offset += len(piece)


class EncryptedConnection(_Protected):
    """A stream of AES in counter mode in each direction."""

    def __init__(self, plain: Connection, keys: StreamKeys) -> None:
        super().__init__(plain)
        self._sealed = memoryview(b"")
        self._encryptor = aes_ctr(keys.send_key, keys.send_iv, _PURPOSE).encryptor()
        self._decryptor = aes_ctr(keys.receive_key, keys.receive_iv, _PURPOSE).decryptor()

    def _recv_into(self, view: memoryview, flags: int = 0) -> int:
        count = self._recv_wire(view, flags)
        received = view[:count]
        self._decryptor.update_into(received, received)
        return count

    def _protect(self, data: Data) -> bytes:
        protected: bytes = self._encryptor.update(data)
        return protected

    def send_buffers(self, buffers: Sequence[Data]) -> None:
        """Encrypt all into one piece of memory, which stays for the next ones."""
        count = sum(map(len, buffers))
        if count > len(self._sealed):
            self._sealed = memoryview(bytearray(count))
        at = 0
        for buffer in buffers:
            at += self._encryptor.update_into(buffer, self._sealed[at : at + len(buffer)])
        Connection.send_all(self, self._sealed[:count])


class WrappedConnection(_Protected):
    """Messages of a layer, with their lengths. Many come at a time, since datanodes may send one
    for each 4 KiB."""

    def __init__(self, plain: Connection, layer: Layer) -> None:
        super().__init__(plain)
        self._layer = layer
        self._clear = memoryview(b"")
        # What came of messages is _wire[_wire_start:_wire_end].
        self._wire = memoryview(bytearray(_PIECE_BYTES))
        self._wire_start = self._wire_end = 0

    def _recv_into(self, view: memoryview, flags: int = 0) -> int:
        clear, filled = self._clear, 0
        while True:
            count = min(len(view) - filled, len(clear))
            view[filled : filled + count] = clear[:count]
            clear = clear[count:]
            filled += count
            self._clear = clear
            if filled == len(view):
                return filled
            token = self._take_message()
            while token is None:
                if filled:
                    return filled
                self._receive_wire(len(view), flags)
                token = self._take_message()
            clear = memoryview(self._layer.unwrap(token))

    def _take_message(self) -> bytes | None:
        """The next message; None if it has not come whole."""
        start = self._wire_start + _LENGTH.size
        if start > self._wire_end:
            return None
        (length,) = _LENGTH.unpack_from(self._wire, self._wire_start)
        if length > _MOST_MESSAGE_BYTES:
            raise errors.ProtocolViolation(
                f"{self.peer} announces a protected message of {length} bytes; "
                f"{_MOST_MESSAGE_BYTES} are allowed"
            )
        if start + length > self._wire_end:
            return None
        self._wire_start = start + length
        return bytes(self._wire[start : start + length])

    def _receive_wire(self, awaited: int, flags: int) -> None:
        """Receive some of the next message, and what comes with that; with MSG_WAITALL as much as
        so many clear bytes take at least."""
        there = self._wire_end - self._wire_start
        whole = _LENGTH.size
        if there >= whole:
            whole += int(_LENGTH.unpack_from(self._wire, self._wire_start)[0])
        if not there or len(self._wire) - self._wire_start < whole:
            kept = bytes(self._wire[self._wire_start : self._wire_end])
            if whole > len(self._wire):
                self._wire = memoryview(bytearray(whole))
            self._wire[: len(kept)] = kept
            self._wire_start, self._wire_end = 0, len(kept)
        room = self._wire[self._wire_end :]
        if flags:
            room = room[: max(awaited - there, 1)]
        self._wire_end += self._recv_wire(room, flags)

    def _protect(self, data: Data) -> bytes:
        most = self._layer.most_clear_bytes
        tokens: list[bytes] = []
        for start in range(0, len(data), most):
            token = self._layer.wrap(bytes(data[start : start + most]))
            tokens += (_LENGTH.pack(len(token)), token)
        return b"".join(tokens)

    @property
    def has_read_ahead(self) -> bool:
        return bool(self._clear) or self._wire_start < self._wire_end or super().has_read_ahead
