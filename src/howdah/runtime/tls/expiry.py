"""Until when a certificate counts (pure): as much of X.509 as that takes."""

from __future__ import annotations

from datetime import UTC, datetime

_SEQUENCE = 0x30
_VERSION = 0xA0
_TIMES = {0x17: "%y%m%d%H%M%SZ", 0x18: "%Y%m%d%H%M%SZ"}


def not_after(der: bytes) -> datetime:
    """The end of a certificate's validity. Raises ValueError for what is none."""
    _, whole, _ = _element(der)
    tag, body, _ = _element(whole)
    if tag != _SEQUENCE:
        raise ValueError("that is no certificate")
    tag, _, rest = _element(body)
    before = 3 if tag == _VERSION else 2
    # A version (that may be missing), a serial number, an algorithm, an issuer.
    for _ in range(before):
        _, _, rest = _element(rest)
    _, validity, _ = _element(rest)
    _, _, end = _element(validity)
    tag, text, _ = _element(end)
    if tag not in _TIMES:
        raise ValueError("that is no certificate")
    return datetime.strptime(text.decode("ascii"), _TIMES[tag]).replace(tzinfo=UTC)


def _element(data: bytes) -> tuple[int, bytes, bytes]:
    """Tag and contents of the first element of DER, and what stands behind it."""
    if len(data) < 2:
        raise ValueError("that is no certificate")
    length, start = data[1], 2
    if length & 0x80:
        start += length & 0x7F
        length = int.from_bytes(data[2:start], "big")
    if start > 6 or start + length > len(data):
        raise ValueError("that is no certificate")
    return data[0], data[start : start + length], data[start + length :]
