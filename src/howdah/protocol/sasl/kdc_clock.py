"""The clock of a KDC, by an error that it is provoked to (pure): KRB-ERROR of RFC 4120.

Every error of a KDC has its time, signed by nobody: good for a hint to people, and for nothing
else. The request asks for a ticket with an encryption that does not exist, as the anonymous
principal, so that no account is touched by it.
"""

from __future__ import annotations

import calendar
from typing import Final

from howdah import errors

_APPLICATION: Final = 0x60
_CONTEXT: Final = 0xA0
_INTEGER: Final = 0x02
_BIT_STRING: Final = 0x03
_SEQUENCE: Final = 0x30
_GENERALIZED_TIME: Final = 0x18
_GENERAL_STRING: Final = 0x1B
_AS_REQ: Final = 10
_KRB_ERROR: Final = 30
_VERSION: Final = 5
_SERVICE_INSTANCE: Final = 2
_WELL_KNOWN: Final = 11
_NO_ENCRYPTION: Final = 0x7F
_SERVER_TIME: Final = _CONTEXT | 4
_TILL: Final = b"19700101000000Z"
"""As long as the KDC likes."""
_MOST_REPLY_BYTES: Final = 64 * 1024


def encode_question(realm: str, nonce: int) -> bytes:
    """An AS-REQ that is answered with an error."""
    body = _tagged(
        _SEQUENCE,
        _field(0, _tagged(_BIT_STRING, bytes(5))),
        _field(1, _name(_WELL_KNOWN, "WELLKNOWN", "ANONYMOUS")),
        _field(2, _text(realm)),
        _field(3, _name(_SERVICE_INSTANCE, "krbtgt", realm)),
        _field(5, _tagged(_GENERALIZED_TIME, _TILL)),
        _field(7, _integer(nonce)),
        _field(8, _tagged(_SEQUENCE, _integer(_NO_ENCRYPTION))),
    )
    request = _tagged(
        _SEQUENCE,
        _field(1, _integer(_VERSION)),
        _field(2, _integer(_AS_REQ)),
        _field(4, body),
    )
    return _tagged(_APPLICATION | _AS_REQ, request)


def decode_time_s(reply: bytes) -> int:
    """The KDC's time in its answer, seconds since 1970. Raises ProtocolViolation for what is no
    error of a KDC."""
    if len(reply) > _MOST_REPLY_BYTES:
        raise errors.ProtocolViolation(f"a KDC answers with {len(reply)} bytes")
    tag, content, rest = _read(reply)
    if tag != _APPLICATION | _KRB_ERROR or rest:
        raise errors.ProtocolViolation("the answer is no KRB-ERROR")
    tag, fields, rest = _read(content)
    if tag != _SEQUENCE or rest:
        raise errors.ProtocolViolation("the answer is no KRB-ERROR")
    while fields:
        tag, value, fields = _read(fields)
        if tag == _SERVER_TIME:
            kind, text, _ = _read(value)
            if kind == _GENERALIZED_TIME:
                return _seconds(text)
    raise errors.ProtocolViolation("a KRB-ERROR has no time")


def _seconds(text: bytes) -> int:
    if len(text) != len(_TILL) or not text[:-1].isdigit() or text[-1:] != b"Z":
        raise errors.ProtocolViolation("a KRB-ERROR has a time that is none")
    numbers = [int(text[:4]), *(int(text[at : at + 2]) for at in range(4, 14, 2))]
    year, month, day, hour, minute, second = numbers
    if not (year >= 1970 and 1 <= month <= 12 and 1 <= day <= 31):
        raise errors.ProtocolViolation("a KRB-ERROR has a time that is none")
    return calendar.timegm((year, month, day, hour, minute, second, 0, 0, 0))


def _read(data: bytes) -> tuple[int, bytes, bytes]:
    """The tag and the content of what stands first, and the rest."""
    if len(data) < 2:
        raise errors.ProtocolViolation("an answer of a KDC is cut off")
    tag, length, at = data[0], data[1], 2
    if length & 0x80:
        count = length & 0x7F
        if not 1 <= count <= 4 or len(data) < at + count:
            raise errors.ProtocolViolation("an answer of a KDC has a length that is none")
        length = int.from_bytes(data[at : at + count], "big")
        at += count
    if len(data) < at + length:
        raise errors.ProtocolViolation("an answer of a KDC is cut off")
    return tag, data[at : at + length], data[at + length :]


def _tagged(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    length = len(content)
    if length < 0x80:
        return bytes((tag, length)) + content
    encoded = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(encoded))) + encoded + content


def _field(number: int, value: bytes) -> bytes:
    return _tagged(_CONTEXT | number, value)


def _integer(value: int) -> bytes:
    return _tagged(_INTEGER, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))


def _text(text: str) -> bytes:
    return _tagged(_GENERAL_STRING, text.encode())


def _name(kind: int, *parts: str) -> bytes:
    return _tagged(
        _SEQUENCE,
        _field(0, _integer(kind)),
        _field(1, _tagged(_SEQUENCE, *map(_text, parts))),
    )
