"""BLOCK_CHECKSUM: one checksum for a whole replica, made from those of its chunks.

BlockChecksumHelper in Hadoop.

No data is read for it: `hadoop fs -checksum` of a terabyte costs its meta files.
MD5CRC is the MD5 of all chunk checksums as they lie in the meta file; COMPOSITE_CRC
is the CRC that the whole block would have, composed from them, 4 bytes big-endian,
the same whatever the chunk size.

A client may ask for a prefix of the replica (a file's last block may have grown
since); a chunk that the prefix cuts is summed anew from its data.

Of an internal block of a block group a CRC for each cell may be asked for: with those of the
other blocks they make the CRC of the group's data.
"""

from __future__ import annotations

import hashlib

from howdah import errors
from howdah.datanode.replicas.open_replica import OpenReplica
from howdah.datanode.transfer.sender import read_exactly, read_sums
from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType, compose, crc
from howdah.protocol.data_transfer.op_requests import BlockChecksum, BlockChecksumType
from howdah.protocol.data_transfer.responses import BlockChecksumResult

_STEP_BYTES = 64 * 1024 * 1024
"""Bytes of data whose checksums are handled at once."""


def checksum_of_block(opened: OpenReplica, request: BlockChecksum) -> BlockChecksumResult:
    """The answer to `request`. Raises `IllegalArgument` for stripes that are no whole chunks."""
    spec, stripe = opened.checksum, request.stripe_length_bytes
    if stripe % spec.bytes_per_checksum:
        raise errors.IllegalArgument(
            f"{opened.replica!r} has checksums of {spec.bytes_per_checksum} bytes each, and is to "
            f"be summed in stripes of {stripe}"
        )
    length = opened.length_bytes
    if 0 < request.block.length_bytes < length:
        length = request.block.length_bytes
    if request.checksum_type is BlockChecksumType.MD5CRC:
        value = _md5_of_sums(opened, length)
    else:
        value = (
            b"".join(
                _composite(opened, start, min(start + (stripe or length), length))
                for start in range(0, length, stripe or length)
            )
            if length
            else _composite(opened, 0, 0)
        )
    return BlockChecksumResult(
        value,
        spec.bytes_per_checksum,
        spec.chunks(length) if spec.sum_bytes else 0,
        spec.type,
        request.checksum_type,
        stripe,
    )


def _last_chunk(opened: OpenReplica, length: int) -> tuple[int, bytes]:
    """(where whole chunks end, the checksum of what is left)."""
    spec = opened.checksum
    partial = length % spec.bytes_per_checksum
    whole = length - partial
    if not partial or not spec.sum_bytes:
        return whole, b""
    if length == opened.length_bytes:
        return whole, read_sums(opened, spec, whole, length)
    data = read_exactly(opened.block_fd, partial, whole)
    return whole, crc(spec.type, data).to_bytes(spec.sum_bytes, "big")


def _md5_of_sums(opened: OpenReplica, length: int) -> bytes:
    whole, last = _last_chunk(opened, length)
    digest = hashlib.md5(usedforsecurity=False)
    for start, end in _steps(opened.checksum, whole):
        digest.update(read_sums(opened, opened.checksum, start, end))
    digest.update(last)
    return digest.digest()


def _composite(opened: OpenReplica, start: int, length: int) -> bytes:
    """The CRC of the bytes from `start`, which is a chunk's, up to `length`."""
    spec = opened.checksum
    if spec.type is ChecksumType.NULL:
        raise errors.UnsupportedOperation(
            f"{opened.replica!r} is stored without checksums, so it has no composite CRC"
        )
    whole, last = _last_chunk(opened, length)
    sums = b"".join(read_sums(opened, spec, at, end) for at, end in _steps(spec, whole, start))
    last_bytes = length - whole or spec.bytes_per_checksum
    if not sums and not last:
        return bytes(4)
    return compose(spec.type, sums + last, spec.bytes_per_checksum, last_bytes).to_bytes(4, "big")


def _steps(spec: ChecksumSpec, whole: int, first: int = 0) -> list[tuple[int, int]]:
    step = max(_STEP_BYTES - _STEP_BYTES % spec.bytes_per_checksum, spec.bytes_per_checksum)
    return [(start, min(start + step, whole)) for start in range(first, whole, step)]
