"""The elementary encodings that Hadoop's own files are made of.

Mirrors `DataOutput`, `WritableUtils`, `UTF8` and `Text` as far as edit log and
image use them. All integers are big-endian. Four encodings are peculiar:

* a *string* (paths, client names) is a 16-bit length and Java's modified
  UTF-8: the NUL character takes two bytes, and a character outside the Basic
  Multilingual Plane is written as its two surrogates of three bytes each;
* a *text* (owner, group) is a vint length and ordinary UTF-8;
* a *vint* or *vlong* is one byte for -112 … 127; else the first byte tells sign
  and number of the bytes that follow, which hold the value (its complement, if
  negative) with no leading zeros;
* a *delimited message* is a protobuf varint length and the message.

`Cursor` reads them from bytes and never past their end; a length that is
greater than what is left is an error before anything is allocated.
"""

from __future__ import annotations

import re
import struct
from typing import Final

from howdah import errors
from howdah.formats.malformed import MalformedRecord
from howdah.protocol.varint import MAX_VARINT32_BYTES, read_varint

MAX_STRING_BYTES: Final = 0xFFFF
MAX_TEXT_BYTES: Final = 1 << 20

_BYTES: Final = [bytes((value,)) for value in range(0x100)]
_I16: Final = struct.Struct(">h")
_U16: Final = struct.Struct(">H")
_I32: Final = struct.Struct(">i")
_I64: Final = struct.Struct(">q")
_ASTRAL: Final = re.compile("[\U00010000-\U0010ffff]")


def _surrogates(match: re.Match[str]) -> str:
    beyond = ord(match.group()) - 0x10000
    return chr(0xD800 + (beyond >> 10)) + chr(0xDC00 + (beyond & 0x3FF))


def encode_modified_utf8(text: str) -> bytes:
    """Java's modified UTF-8, without a length."""
    if text.isascii():
        raw = text.encode("ascii")
    else:
        raw = _ASTRAL.sub(_surrogates, text).encode("utf-8", "surrogatepass")
    return raw.replace(b"\0", b"\xc0\x80") if b"\0" in raw else raw


def decode_modified_utf8(raw: bytes) -> str:
    """The inverse; ordinary UTF-8 of four bytes a character is understood too.

    Raises `UnicodeDecodeError`.
    """
    if raw.isascii():
        return raw.decode("ascii")
    text = raw.replace(b"\xc0\x80", b"\0").decode("utf-8", "surrogatepass")
    # Joins the pairs; a surrogate without its other half stays as it is.
    return text.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")


def pack_string(text: str) -> bytes:
    """A string with its 16-bit length.

    Raises `IllegalArgument` if its encoding is longer than 65,535 bytes.
    """
    raw = encode_modified_utf8(text)
    if len(raw) > MAX_STRING_BYTES:
        raise errors.IllegalArgument(
            f"A string of {len(raw)} bytes does not fit into an edit log record, "
            f"which can hold {MAX_STRING_BYTES}: {text[:60]!r}..."
        )
    return _U16.pack(len(raw)) + raw


def pack_text(text: str) -> bytes:
    """A text with its vint length. Raises `IllegalArgument` over 1 MiB."""
    raw = text.encode("utf-8")
    if len(raw) > MAX_TEXT_BYTES:
        raise errors.IllegalArgument(
            f"A user or group name of {len(raw)} bytes is longer than {MAX_TEXT_BYTES}: "
            f"{text[:60]!r}..."
        )
    return pack_vlong(len(raw)) + raw


def pack_vlong(value: int) -> bytes:
    """A 64-bit integer in one to nine bytes; a vint is the same, of 32 bits."""
    if -112 <= value <= 127:
        return _BYTES[value & 0xFF]
    base = -112
    if value < 0:
        value = ~value
        base = -120
    width = (value.bit_length() + 7) // 8
    if width > 8 or value > 0x7FFF_FFFF_FFFF_FFFF:
        raise errors.IllegalArgument(f"{value} does not fit into 64 bits")
    return _BYTES[(base - width) & 0xFF] + value.to_bytes(width, "big")


def pack_vint(value: int) -> bytes:
    """A 32-bit integer in one to five bytes."""
    if not -0x8000_0000 <= value <= 0x7FFF_FFFF:
        raise errors.IllegalArgument(f"{value} does not fit into 32 bits")
    return pack_vlong(value)


class Cursor:
    """A place in some bytes, from which the encodings above are read in order.

    Every method raises `MalformedRecord` with the offset at which it failed.
    """

    __slots__ = ("_data", "_end", "position")

    def __init__(self, data: bytes, position: int = 0, end: int | None = None) -> None:
        self._data = data
        self._end = len(data) if end is None else end
        self.position = position

    @property
    def remaining(self) -> int:
        return self._end - self.position

    def _advance(self, count: int, item: str) -> int:
        start = self.position
        if count > self._end - start:
            raise MalformedRecord(
                f"{item} of {count} bytes does not fit into the {self._end - start} bytes left",
                offset=start,
            )
        self.position = start + count
        return start

    def fail(self, message: str) -> MalformedRecord:
        """The error to raise for what was just read."""
        return MalformedRecord(message, offset=self.position)

    def i8(self) -> int:
        byte = self._data[self._advance(1, "byte")]
        return byte - 256 if byte > 127 else byte

    def u8(self) -> int:
        return self._data[self._advance(1, "byte")]

    def boolean(self) -> bool:
        return self.u8() != 0

    def i16(self) -> int:
        value: int = _I16.unpack_from(self._data, self._advance(2, "short"))[0]
        return value

    def u16(self) -> int:
        value: int = _U16.unpack_from(self._data, self._advance(2, "short"))[0]
        return value

    def i32(self) -> int:
        value: int = _I32.unpack_from(self._data, self._advance(4, "int"))[0]
        return value

    def i64(self) -> int:
        value: int = _I64.unpack_from(self._data, self._advance(8, "long"))[0]
        return value

    def raw(self, count: int, item: str) -> bytes:
        if count < 0:
            raise self.fail(f"{item} has the negative length {count}")
        start = self._advance(count, item)
        return self._data[start : start + count]

    def count(self, announced: int, least_bytes: int, items: str) -> int:
        """`announced` items of at least `least_bytes` each, if so many can be left."""
        if not 0 <= announced <= self.remaining // least_bytes:
            raise self.fail(f"{announced} {items} announced with {self.remaining} bytes left")
        return announced

    def string(self) -> str:
        raw = self.raw(self.u16(), "string")
        try:
            return decode_modified_utf8(raw)
        except UnicodeDecodeError as error:
            raise self.fail(f"string is not modified UTF-8: {error.reason}") from error

    def text(self) -> str:
        raw = self.raw(self.vint(), "text")
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.fail(f"text is not UTF-8: {error.reason}") from error

    def vlong(self) -> int:
        first = self.i8()
        if first >= -112:
            return first
        negative = first < -120
        width = -120 - first if negative else -112 - first
        value = int.from_bytes(self.raw(width, "vlong"), "big")
        if value > 0x7FFF_FFFF_FFFF_FFFF:
            raise self.fail("vlong does not fit into 64 bits")
        return ~value if negative else value

    def vint(self) -> int:
        value = self.vlong()
        if not -0x8000_0000 <= value <= 0x7FFF_FFFF:
            raise self.fail(f"vint {value} does not fit into 32 bits")
        return value

    def delimited(self) -> bytes:
        try:
            length = read_varint(self.u8, MAX_VARINT32_BYTES)
        except errors.ProtocolViolation as error:
            raise self.fail("message length does not fit into 32 bits") from error
        return self.raw(length, "message")
