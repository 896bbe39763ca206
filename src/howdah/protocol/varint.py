"""Base-128 varints, and protobuf messages with their length in front as one (pure).

Lengths come from strangers, so each decoder has a bound and refuses what exceeds it before
anything is allocated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from google.protobuf.message import Message

from howdah import errors

MAX_VARINT_BYTES: Final = 10
"""A varint of 64 bits has ten bytes at most."""
MAX_VARINT32_BYTES: Final = 5

MAX_MESSAGE_BYTES: Final = 1 << 20
"""No operation, response or ack is anywhere near this; a longer one is a lie."""


_ONE_BYTE: Final = [bytes((value,)) for value in range(0x80)]


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


def encode_field(tag: bytes, content: bytes) -> bytes:
    """A field of a message that is bytes, a text or a message; `tag` has its number and type."""
    return tag + encode_varint(len(content)) + content


def decode_varint(
    data: bytes | bytearray | memoryview, offset: int = 0, max_bytes: int = MAX_VARINT_BYTES
) -> tuple[int, int] | None:
    """(value, offset after it), or None when `data` ends inside the varint.

    Raises ProtocolViolation for more than `max_bytes`.
    """
    value = shift = 0
    for byte in data[offset : offset + max_bytes]:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, offset + shift // 7
    if len(data) - offset < max_bytes:
        return None
    raise errors.ProtocolViolation(f"a varint of more than {max_bytes} bytes")


def read_varint(next_byte: Callable[[], int], max_bytes: int = MAX_VARINT_BYTES) -> int:
    """The varint of which `next_byte` returns one byte after the other.

    Raises ProtocolViolation for more than `max_bytes`, and what `next_byte` raises.
    """
    value = 0
    for shift in range(0, 7 * max_bytes, 7):
        byte = next_byte()
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value
    raise errors.ProtocolViolation(f"a varint of more than {max_bytes} bytes")


def zigzag(value: int) -> int:
    """A signed number of 64 bits as an unsigned one; small ones stay small.

    >>> zigzag(-1), zigzag(1)
    (1, 2)
    """
    return (value << 1) ^ (value >> 63)


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
    length = read_varint(lambda: source.recv_exactly(1)[0])
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
