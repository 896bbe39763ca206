"""What `howdah.native._kernel` does, in Python, for where it could not be built.

The same functions with the same arguments and errors; the same tests run over
both. It is ten times slower a packet: a call per chunk. google-crc32c takes `bytes`
only, so data is copied once as a whole: slices of bytes cost half of what slices
of a memoryview and their copies would.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import google_crc32c

if TYPE_CHECKING:
    from typing_extensions import Buffer

CRC32_METHOD: Final = "zlib"
CRC32C_METHOD: Final = f"google-crc32c ({google_crc32c.implementation})"

_SUM_BYTES = 4
_POLYNOMIALS = {1: 0xEDB88320, 2: 0x82F63B78}


def _crc32c(data: memoryview, seed: int) -> int:
    result: int = google_crc32c.extend(seed, bytes(data))
    return result


_UPDATES: dict[int, Callable[[memoryview, int], int]] = {1: zlib.crc32, 2: _crc32c}
_VALUES: dict[int, Callable[[bytes], int]] = {1: zlib.crc32, 2: google_crc32c.value}


def checksum_chunks(
    type: int, bytes_per_checksum: int, data: Buffer, out: Buffer, out_offset: int, /
) -> int:
    value = _value(type)
    _check_length("bytes_per_checksum", bytes_per_checksum, 1)
    _check_length("out_offset", out_offset, 0)
    whole = _as_bytes(data)
    target = _flat(out)
    if target.readonly:
        raise BufferError("Object is not writable.")
    sums = [
        value(whole[start : start + bytes_per_checksum])
        for start in range(0, len(whole), bytes_per_checksum)
    ]
    if out_offset > len(target) or len(sums) * _SUM_BYTES > len(target) - out_offset:
        raise ValueError(
            f"{len(sums)} checksums don't fit in {len(target)} bytes from offset {out_offset}"
        )
    struct.pack_into(f">{len(sums)}I", target, out_offset, *sums)
    return len(sums) * _SUM_BYTES


def verify_chunks(type: int, bytes_per_checksum: int, data: Buffer, sums: Buffer, /) -> int:
    value = _value(type)
    _check_length("bytes_per_checksum", bytes_per_checksum, 1)
    whole = _as_bytes(data)
    expected = _flat(sums)
    count = -(-len(whole) // bytes_per_checksum)
    if len(expected) != count * _SUM_BYTES:
        raise ValueError(
            f"{len(whole)} bytes in chunks of {bytes_per_checksum} have {count} checksums, "
            f"not {len(expected)} bytes"
        )
    for index, wanted in enumerate(struct.unpack(f">{count}I", expected)):
        start = index * bytes_per_checksum
        if value(whole[start : start + bytes_per_checksum]) != wanted:
            return index
    return -1


def crc(type: int, data: Buffer, seed: int, /) -> int:
    update = _update(type)
    _check_crc(seed)
    return update(_flat(data), seed)


def combine(type: int, crc_a: int, crc_b: int, length_b: int, /) -> int:
    polynomial = _polynomial(type)
    _check_crc(crc_a)
    _check_crc(crc_b)
    _check_length("length_b", length_b, 0)
    return _multiply(polynomial, _power_of_bytes(polynomial, length_b), crc_a) ^ crc_b


def compose(type: int, sums: Buffer, chunk_bytes: int, last_chunk_bytes: int, /) -> int:
    polynomial = _polynomial(type)
    _check_length("chunk_bytes", chunk_bytes, 1)
    _check_length("last_chunk_bytes", last_chunk_bytes, 0)
    view = _flat(sums)
    if len(view) % _SUM_BYTES:
        raise ValueError(f"checksums have 4 bytes each, {len(view)} bytes are no whole number")
    if not len(view):
        return 0
    *full, last = struct.unpack(f">{len(view) // _SUM_BYTES}I", view)
    a, b, c, d = _products(polynomial, _power_of_bytes(polynomial, chunk_bytes))
    value = 0
    for chunk_crc in full:
        value = (
            a[value & 0xFF]
            ^ b[value >> 8 & 0xFF]
            ^ c[value >> 16 & 0xFF]
            ^ d[value >> 24]
            ^ chunk_crc
        )
    last_crc: int = last
    shift = _power_of_bytes(polynomial, last_chunk_bytes)
    return _multiply(polynomial, shift, value) ^ last_crc


# -- polynomials over GF(2); bit 31 is the coefficient of x^0 --------------------------


def _multiply(polynomial: int, a: int, b: int) -> int:
    product = 0
    bit = 1 << 31
    while bit:
        if a & bit:
            product ^= b
        b = b >> 1 ^ polynomial if b & 1 else b >> 1
        bit >>= 1
    return product


def _power_of_bytes(polynomial: int, count: int) -> int:
    """x^(8*count) modulo the polynomial: what appending `count` zero bytes multiplies by."""
    result, square = 1 << 31, 1 << 23
    while count:
        if count & 1:
            result = _multiply(polynomial, square, result)
        square = _multiply(polynomial, square, square)
        count >>= 1
    return result


def _products(polynomial: int, power: int) -> list[list[int]]:
    """For each of the four bytes of a CRC, its 256 values times `power`."""
    tables = []
    for byte in range(4):
        table = [0]
        for bit in range(8):
            of_bit = _multiply(polynomial, power, 1 << (8 * byte + bit))
            table += [entry ^ of_bit for entry in table]
        tables.append(table)
    return tables


# -- arguments ----------------------------------------------------------------------


def _flat(data: Buffer) -> memoryview:
    view = memoryview(data)
    if not view.c_contiguous:
        raise BufferError("memoryview: underlying buffer is not C-contiguous")
    return view if view.format == "B" and view.ndim == 1 else view.cast("B")


def _as_bytes(data: Buffer) -> bytes:
    return data if isinstance(data, bytes) else _flat(data).tobytes()


def _value(type: int) -> Callable[[bytes], int]:
    found = _VALUES.get(type)
    if found is None:
        raise ValueError(f"checksum type {int(type)} has no CRC")
    return found


def _update(type: int) -> Callable[[memoryview, int], int]:
    found = _UPDATES.get(type)
    if found is None:
        raise ValueError(f"checksum type {int(type)} has no CRC")
    return found


def _polynomial(type: int) -> int:
    found = _POLYNOMIALS.get(type)
    if found is None:
        raise ValueError(f"checksum type {int(type)} has no CRC")
    return found


def _check_length(name: str, value: int, minimum: int) -> None:
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, is {value}")


def _check_crc(value: int) -> None:
    if not 0 <= value <= 0xFFFFFFFF:
        raise ValueError("a CRC has 32 bits")
