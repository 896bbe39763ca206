"""Chunk checksums: the CRCs that guard every block on the wire and on disk.

Mirrors Hadoop's DataChecksum. Data is cut into chunks of `bytes_per_checksum`,
the last one may be short; each has a CRC of four bytes, big-endian, and the CRCs
stand one after the other. The type NULL has no checksums at all.

CRCs can be joined without their data: `combine` gives the CRC of a
concatenation, `compose` that of a whole run of chunks (COMPOSITE_CRC).

The work is done by `howdah.native._kernel`, one C call for all chunks of a packet, or
by `checksum_fallback` where that isn't built or HOWDAH_KERNEL=off says so
(HOWDAH_KERNEL=tables keeps the kernel, but off the CPU's CRC instructions).

Every function takes any contiguous buffer. The kernel copies nothing.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from howdah.native.loader import kernel

if TYPE_CHECKING:
    from typing_extensions import Buffer

SUM_BYTES = 4


class ChecksumType(enum.IntEnum):
    """The numbers of ChecksumTypeProto, also those in the header of a meta file."""

    NULL = 0
    CRC32 = 1
    CRC32C = 2


@dataclass(frozen=True, slots=True)
class ChecksumSpec:
    """How data is checksummed: which CRC, and how many bytes each covers."""

    type: ChecksumType
    bytes_per_checksum: int

    def __post_init__(self) -> None:
        if self.bytes_per_checksum < 1:
            raise ValueError(f"bytes_per_checksum must be at least 1: {self.bytes_per_checksum}")

    @property
    def sum_bytes(self) -> int:
        """The bytes of one checksum: 4, or 0 for NULL."""
        return 0 if self.type is ChecksumType.NULL else SUM_BYTES

    def chunks(self, data_bytes: int) -> int:
        """How many chunks `data_bytes` make."""
        return -(-data_bytes // self.bytes_per_checksum)

    def sums_length(self, data_bytes: int) -> int:
        """How many bytes of checksums `data_bytes` have."""
        return self.chunks(data_bytes) * self.sum_bytes


class _Implementation(Protocol):
    @property
    def CRC32_METHOD(self) -> str: ...
    @property
    def CRC32C_METHOD(self) -> str: ...
    def checksum_chunks(
        self, type: int, bytes_per_checksum: int, data: Buffer, out: Buffer, out_offset: int, /
    ) -> int: ...
    def verify_chunks(
        self, type: int, bytes_per_checksum: int, data: Buffer, sums: Buffer, /
    ) -> int: ...
    def crc(self, type: int, data: Buffer, seed: int, /) -> int: ...
    def combine(self, type: int, crc_a: int, crc_b: int, length_b: int, /) -> int: ...
    def compose(
        self, type: int, sums: Buffer, chunk_bytes: int, last_chunk_bytes: int, /
    ) -> int: ...


def _load() -> _Implementation:
    found = kernel()
    if found is not None:
        return cast(_Implementation, found)
    from howdah.protocol.data_transfer import checksum_fallback

    return checksum_fallback


_implementation = _load()


def implementation() -> str:
    """How CRC32C is computed here: `sse4.2`, `arm`, `table`, or the fall-back's name."""
    return _implementation.CRC32C_METHOD


def without_kernel() -> str:
    """What an operator has to know where the kernel is missing; empty where it is there."""
    from howdah.protocol.data_transfer import checksum_fallback

    if _implementation is not checksum_fallback:
        return ""
    return (
        "howdah's kernel is missing, or of another version (was there no C compiler when it was "
        "installed?): "
        f"{implementation()} does its work, and writing and checked reading take about twice the "
        "time. Install a C compiler, and howdah anew"
    )


def checksum_chunks(spec: ChecksumSpec, data: Buffer, out: Buffer, out_offset: int = 0) -> int:
    """Write the checksum of every chunk of `data` into `out`; the bytes written.

    `ValueError` where `out` is too short, `BufferError` where it is read-only.
    """
    if spec.type is ChecksumType.NULL:
        return 0
    return _implementation.checksum_chunks(
        spec.type, spec.bytes_per_checksum, data, out, out_offset
    )


def verify_chunks(spec: ChecksumSpec, data: Buffer, sums: Buffer) -> int:
    """The index of the first chunk of `data` that `sums` doesn't fit, or -1.

    `ValueError` where `sums` isn't `spec.sums_length(len(data))` bytes long.
    """
    if spec.type is ChecksumType.NULL:
        if memoryview(sums).nbytes:
            raise ValueError("checksums of the type NULL have no bytes")
        return -1
    return _implementation.verify_chunks(spec.type, spec.bytes_per_checksum, data, sums)


def crc(type: ChecksumType, data: Buffer, seed: int = 0) -> int:
    """The CRC of `data`, put after what `seed` is the CRC of."""
    return _implementation.crc(type, data, seed)


def combine(type: ChecksumType, crc_a: int, crc_b: int, length_b: int) -> int:
    """The CRC of a followed by b, of which b has `length_b` bytes."""
    return _implementation.combine(type, crc_a, crc_b, length_b)


def compose(type: ChecksumType, sums: Buffer, chunk_bytes: int, last_chunk_bytes: int) -> int:
    """The CRC of a run of chunks from theirs; all but the last have `chunk_bytes`."""
    return _implementation.compose(type, sums, chunk_bytes, last_chunk_bytes)
