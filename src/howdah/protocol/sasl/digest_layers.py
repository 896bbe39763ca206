"""The layers of DIGEST-MD5: every message signed, and for privacy encrypted.

A message is the data, ten bytes of an HMAC-MD5 of its number and the data, the version 1, and its
number. In privacy data, padding and HMAC are encrypted; version and number are not. Triple DES has
two keys, whose parity bits the keys of RFC 2831 lack, and chains over all messages of a connection,
as RC4's stream runs over all of them.

`cryptography` has the ciphers, and is needed for privacy alone.
"""

from __future__ import annotations

import enum
import hashlib
import hmac
import struct
from typing import Any, Final, Protocol

from howdah import errors

MOST_WRAPPED_BYTES: Final = 65536
"""How long a message may be that is received: `maxbuf`, as Java's."""
CIPHERS: Final = ("rc4", "3des", "rc4-56", "rc4-40")
"""By preference: RC4 is twenty times as quick as Triple DES."""
STRONG_CIPHERS: Final = CIPHERS[:2]
"""What a server offers: nothing proves the list, so whoever stands between could shorten it to
the weakest."""
_MAC_BYTES: Final = 10
_VERSION: Final = b"\0\1"
_NUMBER: Final = struct.Struct(">I")
_TAIL_BYTES: Final = len(_VERSION) + _NUMBER.size
_BLOCK_BYTES: Final = 8
_MD5_BLOCK_BYTES: Final = 64
_OVERHEAD_BYTES: Final = 26
"""What Java leaves for all that is not data."""
_SEALING_KEY_BYTES: Final = {"rc4": 16, "3des": 16, "rc4-56": 7, "rc4-40": 5}
_SIGNING: Final = "Digest session key to {}-to-{} signing key magic constant"
_SEALING: Final = "Digest H(A1) to {}-to-{} sealing key magic constant"


class Side(enum.Enum):
    CLIENT = "client"
    SERVER = "server"

    @property
    def other(self) -> Side:
        return Side.SERVER if self is Side.CLIENT else Side.CLIENT


class _Stream(Protocol):
    """A cipher that runs over all messages of one direction."""

    def update(self, data: bytes, /) -> bytes: ...


def add_parity(key: bytes) -> bytes:
    """The eight bytes of a DES key from its 56 bits."""
    bits = int.from_bytes(key, "big")
    found = bytearray()
    for shift in range(49, -1, -7):
        byte = (bits >> shift & 0x7F) << 1
        found.append(byte | (byte.bit_count() & 1 ^ 1))
    return bytes(found)


def _cipher(name: str, key: bytes) -> Any:
    try:
        from cryptography.hazmat.decrepit.ciphers.algorithms import ARC4, TripleDES
        from cryptography.hazmat.primitives.ciphers import Cipher, modes
    except ImportError as error:
        raise errors.UnsupportedOperation(
            "privacy with tokens needs the package cryptography: pip install 'howdah[tls]'"
        ) from error
    if name != "3des":
        return Cipher(ARC4(key), None)
    first, second = add_parity(key[:7]), add_parity(key[7:14])
    # The third key is the first one: three are given, since two warn.
    return Cipher(TripleDES(first + second + first), modes.CBC(key[8:]))


class DigestLayer:
    """Both directions of a connection; without a `cipher` messages are signed alone."""

    def __init__(self, session: bytes, side: Side, cipher: str | None, most_bytes: int) -> None:
        """`session` is H(A1); `most_bytes` is how long a message may be for the far end."""
        self.most_clear_bytes: Final = max(min(most_bytes, MOST_WRAPPED_BYTES) - _OVERHEAD_BYTES, 1)
        self._is_padded = cipher == "3des"
        self._sign = _Signing(_key(session, _SIGNING, side))
        self._sign_received = _Signing(_key(session, _SIGNING, side.other))
        self._sent = self._received = 0
        self._encryptor: _Stream | None = None
        self._decryptor: _Stream | None = None
        if cipher is not None:
            secret = session[: _SEALING_KEY_BYTES[cipher]]
            self._encryptor = _cipher(cipher, _key(secret, _SEALING, side)).encryptor()
            self._decryptor = _cipher(cipher, _key(secret, _SEALING, side.other)).decryptor()

    def wrap(self, data: bytes) -> bytes:
        number = _NUMBER.pack(self._sent & 0xFFFFFFFF)
        self._sent += 1
        mac = self._sign(number, data)
        if self._encryptor is None:
            return b"".join((data, mac, _VERSION, number))
        padding = b""
        if self._is_padded:
            count = _BLOCK_BYTES - (len(data) + _MAC_BYTES) % _BLOCK_BYTES
            padding = bytes((count,)) * count
        return self._encryptor.update(b"".join((data, padding, mac))) + _VERSION + number

    def unwrap(self, token: bytes) -> bytes:
        number = _NUMBER.pack(self._received & 0xFFFFFFFF)
        if len(token) < _MAC_BYTES + _TAIL_BYTES or token[-_TAIL_BYTES:] != _VERSION + number:
            raise errors.ProtocolViolation(
                f"a protected message is not the one that is due, number {self._received}: it was "
                "repeated, left out or changed on its way"
            )
        self._received += 1
        body = token[:-_TAIL_BYTES]
        if self._decryptor is not None:
            if self._is_padded and len(body) % _BLOCK_BYTES:
                raise errors.ProtocolViolation("an encrypted message is not made of whole blocks")
            body = self._decryptor.update(body)
        data, mac = body[:-_MAC_BYTES], body[-_MAC_BYTES:]
        is_sound = True
        if self._is_padded:
            count = data[-1] if data else 0
            is_sound = 1 <= count <= _BLOCK_BYTES and data[-count:] == bytes((count,)) * count
            data = data[:-count] if is_sound else data
        if not hmac.compare_digest(mac, self._sign_received(number, data)) or not is_sound:
            raise errors.ProtocolViolation("a protected message was changed on its way")
        return data


def _key(session: bytes, words: str, sender: Side) -> bytes:
    magic = words.format(sender.value, sender.other.value).encode()
    return hashlib.md5(session + magic, usedforsecurity=False).digest()


class _Signing:
    """HMAC-MD5 under one key, cut off. What the key makes of MD5 is made once, not for every
    message, of which datanodes send one for each 4 KiB."""

    def __init__(self, key: bytes) -> None:
        padded = key.ljust(_MD5_BLOCK_BYTES, b"\0")
        self._inner, self._outer = (
            hashlib.md5(bytes([byte ^ pad for byte in padded]), usedforsecurity=False)
            for pad in (0x36, 0x5C)
        )

    def __call__(self, number: bytes, data: bytes) -> bytes:
        inner = self._inner.copy()
        inner.update(number)
        inner.update(data)
        outer = self._outer.copy()
        outer.update(inner.digest())
        return outer.digest()[:_MAC_BYTES]
