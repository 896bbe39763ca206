"""Java's DataOutput formats: big-endian numbers and modified UTF-8 (pure).

Files that Java programs read with a DataInputStream hold these. Modified UTF-8
differs from UTF-8 in two ways: U+0000 is the two bytes C0 80, and what lies beyond
U+FFFF is written as two surrogates of three bytes each. A text is preceded by its
length in bytes, which are two, so 65,535 bytes are the most.
"""

from __future__ import annotations

import struct

from howdah import errors

MAX_UTF_BYTES = 0xFFFF

SHORT = struct.Struct(">h")
CHAR = struct.Struct(">H")
INT = struct.Struct(">i")
LONG = struct.Struct(">q")
FLOAT = struct.Struct(">f")
DOUBLE = struct.Struct(">d")

_ZERO = b"\xc0\x80"


def encode_integer(value: int, form: struct.Struct) -> bytes:
    """The bytes of a signed integer; `OverflowError` for one that doesn't fit.

    >>> encode_integer(-2, INT)
    b'\\xff\\xff\\xff\\xfe'
    """
    bits = form.size * 8
    if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise OverflowError(f"{value} is not within the {bits} bits of a signed integer")
    packed: bytes = form.pack(value)
    return packed


def encode_chars(text: str) -> bytes:
    """Each UTF-16 unit of the text as two bytes."""
    return text.encode("utf-16-be", "surrogatepass")


def encode_low_bytes(text: str) -> bytes:
    """The low byte of each UTF-16 unit of the text; the high ones are lost."""
    return encode_chars(text)[1::2]


def encode_modified_utf8(text: str) -> bytes:
    """The text in modified UTF-8, however long.

    >>> encode_modified_utf8("a\\0").hex()
    '61c080'
    """
    if text.isascii():
        plain = text.encode("ascii")
    else:
        if max(text) > "\uffff":
            # As surrogates, which are characters of their own until they are decoded.
            units = encode_chars(text)
            text = "".join(map(chr, struct.unpack(f">{len(units) // 2}H", units)))
        plain = text.encode("utf-8", "surrogatepass")
    return plain.replace(b"\0", _ZERO)


def encode_utf(text: str) -> bytes:
    """The text as `write_utf` writes it: two bytes of length, then modified UTF-8."""
    encoded = encode_modified_utf8(text)
    if len(encoded) > MAX_UTF_BYTES:
        raise errors.MalformedText(
            f"a text of {len(encoded)} bytes in modified UTF-8 is too long: "
            f"{MAX_UTF_BYTES} are the most that its length can say"
        )
    return CHAR.pack(len(encoded)) + encoded


def decode_modified_utf8(data: bytes) -> str:
    """The text; `MalformedText` for bytes that modified UTF-8 doesn't produce."""
    try:
        if data and max(data) >= 0xF0:
            raise errors.MalformedText("modified UTF-8 has no sequences of four bytes")
        text = data.replace(_ZERO, b"\0").decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise errors.MalformedText(
            f"not modified UTF-8 at byte {error.start}: {error.reason}"
        ) from error
    # Two surrogates that belong together are one character in Python.
    return encode_chars(text).decode("utf-16-be", "surrogatepass")
