"""Base-128 varints and the varint-delimited protobuf messages built on them.

DataTransferProtocol prefixes every message but the packet header with its
length as a varint. Lengths come from strangers, so each decoder takes a bound
and refuses what exceeds it before anything is allocated.
"""

from __future__ import annotations

from typing import Protocol

from google.protobuf.message import Message

from howdah import errors

MAX_VARINT_BYTES = 10
"""A 64-bit varint has ten bytes at most."""

MAX_MESSAGE_BYTES = 1 << 20
"""No operation, response or ack is anywhere near this; a longer one is a lie."""


_ONE_BYTE = [bytes((value,)) for value in range(0x80)]


def encode_varint(value: int) -> bytes:
    """`value` (not negative) in 7-bit groups, least significant first."""
    if 0 <= value <= 0x7F:
        return _ONE_BYTE[value]
    if value < 0:
        raise ValueError(f"a varint length cannot be negative: {value}")
    if value < 0x4000:
        return bytes((value & 0x7F | 0x80, value >> 7))
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def decode_varint(data: bytes | bytearray | memoryview, offset: int = 0) -> tuple[int, int] | None:
    """(value, offset after it), or None when `data` ends inside the varint."""
    value = shift = 0
    for byte in data[offset : offset + MAX_VARINT_BYTES]:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, offset + shift // 7
    if len(data) - offset < MAX_VARINT_BYTES:
        return None
    raise errors.ProtocolViolation(f"a varint of more than {MAX_VARINT_BYTES} bytes")


def delimited(message: Message) -> bytes:
    """`message` with its length in front."""
    body = message.SerializeToString()
    return encode_varint(len(body)) + body


class Source(Protocol):
    """Where bytes come from: a socket's connection, or bytes in a test."""

    def recv_exactly(self, count: int) -> bytes:
        """`count` bytes; raises when the far end closes before."""


def read_delimited(source: Source, limit_bytes: int = MAX_MESSAGE_BYTES) -> bytes:
    """The next length-prefixed message of `source`, without its length."""
    length = 0
    for index in range(MAX_VARINT_BYTES):
        byte = source.recv_exactly(1)[0]
        length |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            break
    else:
        raise errors.ProtocolViolation(f"a varint of more than {MAX_VARINT_BYTES} bytes")
    if length > limit_bytes:
        raise errors.ProtocolViolation(
            f"a message of {length} bytes was announced; the limit is {limit_bytes}"
        )
    return source.recv_exactly(length)


class BytesSource:
    """A `Source` over bytes that are already here."""

    __slots__ = ("_data", "offset")

    def __init__(self, data: bytes | bytearray | memoryview) -> None:
        self._data = data
        self.offset = 0

    def recv_exactly(self, count: int) -> bytes:
        end = self.offset + count
        if end > len(self._data):
            raise errors.ProtocolViolation(
                f"{count} bytes were expected and {len(self._data) - self.offset} are left"
            )
        taken = bytes(self._data[self.offset : end])
        self.offset = end
        return taken
