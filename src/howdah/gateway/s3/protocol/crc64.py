"""CRC64NVME, which current clients of AWS send with what they upload.

The polynomial of the NVM Express specification, reflected. The kernel computes it, if it is there
and knows it; the twin in Python takes eight bytes a step.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from howdah.native.loader import kernel

if TYPE_CHECKING:
    from typing_extensions import Buffer

_POLYNOMIAL: Final = 0x9A6C9329AC4BC9B5
_MASK: Final = (1 << 64) - 1


def _tables() -> list[list[int]]:
    first = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
        first.append(value)
    tables = [first]
    for _ in range(7):
        tables.append([first[value & 0xFF] ^ value >> 8 for value in tables[-1]])
    return tables


_TABLES: Final = _tables()


def by_tables(data: Buffer, seed: int = 0) -> int:
    """Return the sum of `data`, put after what `seed` is the sum of.

    >>> hex(by_tables(b"123456789"))
    '0xae8b14860a799888'
    """
    t0, t1, t2, t3, t4, t5, t6, t7 = _TABLES
    view = memoryview(data).cast("B")
    value = seed ^ _MASK
    whole = len(view) & ~7
    for (word,) in struct.iter_unpack("<Q", view[:whole]):
        value ^= word
        value = (
            t7[value & 0xFF]
            ^ t6[value >> 8 & 0xFF]
            ^ t5[value >> 16 & 0xFF]
            ^ t4[value >> 24 & 0xFF]
            ^ t3[value >> 32 & 0xFF]
            ^ t2[value >> 40 & 0xFF]
            ^ t1[value >> 48 & 0xFF]
            ^ t0[value >> 56]
        )
    for byte in view[whole:]:
        value = t0[(value ^ byte) & 0xFF] ^ value >> 8
    return value ^ _MASK


def crc64nvme(data: Buffer, seed: int = 0) -> int:
    """Return the sum of `data`, put after what `seed` is the sum of."""
    value: int = _implementation(data, seed)
    return value


def combine(sum_a: int, sum_b: int, length_b: int) -> int:
    """Return the sum of a followed by b, of which b has `length_b` bytes.

    >>> hex(combine(by_tables(b"12345"), by_tables(b"6789"), 4))
    '0xae8b14860a799888'
    """
    return _times(_shift(length_b), sum_a) ^ sum_b


@lru_cache(maxsize=64)
def _shift(length_bytes: int) -> int:
    """The polynomial by which as many bytes behind it multiply a sum."""
    power, square = 1 << 63, 1 << 55
    while length_bytes:
        if length_bytes & 1:
            power = _times(power, square)
        square = _times(square, square)
        length_bytes >>= 1
    return power


def _times(one: int, other: int) -> int:
    """The product of two polynomials, modulo that of the sum. The highest bit is the constant."""
    product = 0
    bit = 1 << 63
    while one:
        if one & bit:
            product ^= other
            one ^= bit
        bit >>= 1
        other = other >> 1 ^ (_POLYNOMIAL if other & 1 else 0)
    return product


_implementation: Final = getattr(kernel(), "crc64nvme", by_tables)
