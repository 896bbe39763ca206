"""BLOCK_CHECKSUM: one checksum for a whole replica, made from those of its chunks.

BlockChecksumHelper in Hadoop.

No data is read for it: `hadoop fs -checksum` of a terabyte costs its meta files.
MD5CRC is the MD5 of all chunk checksums as they lie in the meta file; COMPOSITE_CRC
is the CRC that the whole block would have, composed from them, 4 bytes big-endian,
the same whatever the chunk size.

A client may ask for a prefix of the replica (a file's last block may have grown
since); a chunk that the prefix cuts is summed anew from its data.
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
    """The answer to `request`. Stripes of erasure-coded files are refused."""
    if request.stripe_length_bytes:
        raise errors.UnsupportedOperation(
            f"BLOCK_CHECKSUM of {request.block} in stripes of {request.stripe_length_bytes} bytes "
            "is not supported"
        )
    spec = opened.checksum
    length = opened.length_bytes
    if 0 < request.block.length_bytes < length:
        length = request.block.length_bytes
    if request.checksum_type is BlockChecksumType.MD5CRC:
        value = _md5_of_sums(opened, length)
    else:
        value = _composite(opened, length)
    return BlockChecksumResult(
        value,
        spec.bytes_per_checksum,
        spec.chunks(length) if spec.sum_bytes else 0,
        spec.type,
        request.checksum_type,
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


def _composite(opened: OpenReplica, length: int) -> bytes:
    spec = opened.checksum
    if spec.type is ChecksumType.NULL:
        raise errors.UnsupportedOperation(
            f"{opened.replica!r} is stored without checksums, so it has no composite CRC"
        )
    whole, last = _last_chunk(opened, length)
    sums = b"".join(read_sums(opened, spec, start, end) for start, end in _steps(spec, whole))
    last_bytes = length - whole or spec.bytes_per_checksum
    if not sums and not last:
        return bytes(4)
    return compose(spec.type, sums + last, spec.bytes_per_checksum, last_bytes).to_bytes(4, "big")


def _steps(spec: ChecksumSpec, whole: int) -> list[tuple[int, int]]:
    step = max(_STEP_BYTES - _STEP_BYTES % spec.bytes_per_checksum, spec.bytes_per_checksum)
    return [(start, min(start + step, whole)) for start in range(0, whole, step)]
