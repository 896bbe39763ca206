"""Where in a stream of AES a byte of an encrypted file is (pure).

A file in an encryption zone is one stream of AES in counter mode: its byte n is encrypted by byte
n mod 16 of the block whose counter is the file's initialization vector plus n / 16, as a number of
128 bits, big-endian, that begins again behind its end. Blocks of the file mean nothing to it.
Hadoop: AesCtrCryptoCodec.calculateIV.
"""

from __future__ import annotations

from typing import Final

BLOCK_BYTES: Final = 16
IV_BYTES: Final = BLOCK_BYTES
KEY_BYTES: Final = (16, 24, 32)
_COUNTERS: Final = 1 << 128
_COMPLEMENTS: Final = bytes(range(255, -1, -1))


def counter_at(iv: bytes, offset: int) -> tuple[bytes, int]:
    """Return the counter with which the stream begins at an offset, and how many of its first
    bytes are of what lies before that.

    >>> counter_at(bytes(16), 35)[0].hex(), counter_at(bytes(16), 35)[1]
    ('00000000000000000000000000000002', 3)
    >>> counter_at(b"\\xff" * 16, 16)[0] == bytes(16)
    True
    """
    counter = (int.from_bytes(iv, "big") + offset // BLOCK_BYTES) % _COUNTERS
    return counter.to_bytes(BLOCK_BYTES, "big"), offset % BLOCK_BYTES


def key_wrapping_iv(iv: bytes) -> bytes:
    """Return the vector with which a file's own key is encrypted: the complement of its own, so
    that key and contents never share a counter. Hadoop: EncryptedKeyVersion.deriveIV.

    >>> key_wrapping_iv(bytes(15) + b"\\x0f").hex()
    'fffffffffffffffffffffffffffffff0'
    """
    return iv.translate(_COMPLEMENTS)
