"""BLOCK_GROUP_CHECKSUM: one checksum for the data of a whole block group (shell).

BlockChecksumHelper's BlockGroupNonStripedChecksumComputer in Hadoop. The datanode that is asked
asks the holders of the data blocks for the checksums of those (BLOCK_CHECKSUM), and computes that
of a block which nobody has from its decoded bytes. From them it makes

- MD5CRC: the MD5 of the blocks' MD5s, one after the other in a buffer of Java's DataOutputBuffer,
  which begins with 32 bytes and doubles: the zeros behind the last MD5 count as well. So equal
  data has another MD5 for each policy;
- COMPOSITE_CRC: the CRC of the data, joined from one for each cell: the same as that of a
  replicated block.
"""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass

from howdah import errors
from howdah.datanode.replicas.store import BlockStore
from howdah.datanode.settings import DataSettings
from howdah.datanode.state.messages import Reconstruct
from howdah.datanode.state.reconstruction import plan
from howdah.datanode.transfer.decoding import Sources, decoded, internal_block
from howdah.datanode.transfer.peers import connect_to
from howdah.protocol.data_transfer.blocks import NO_TOKEN, StorageType
from howdah.protocol.data_transfer.checksum import (
    ChecksumSpec,
    ChecksumType,
    checksum_chunks,
    combine,
    compose,
)
from howdah.protocol.data_transfer.op_requests import (
    BlockChecksum,
    BlockChecksumType,
    BlockGroupChecksum,
    encode_request,
)
from howdah.protocol.data_transfer.responses import BlockChecksumResult, read_response
from howdah.protocol.striping.layout import GroupLayout

log = logging.getLogger(__name__)

_FIRST_BUFFER_BYTES = 32
_CRC_BYTES = 4
_MD5_BYTES = 16


@dataclass(frozen=True, slots=True)
class _Part:
    """The checksum of one data block: its MD5, or a CRC for each of its cells."""

    value: bytes
    spec: ChecksumSpec
    chunks: int


def checksum_of_group(
    request: BlockGroupChecksum, store: BlockStore, settings: DataSettings
) -> BlockChecksumResult:
    """Return the answer to a request. Raises HowdahError where too few internal blocks can be
    read, or their checksums are of several kinds."""
    wanted = min(request.requested_bytes, request.block.length_bytes)
    layout = GroupLayout(request.policy, wanted)
    parts = [
        _part(request, index, layout.block_length(index), store, settings)
        for index in range(layout.data_blocks)
    ]
    if not parts:
        raise errors.IllegalArgument(f"a checksum of {wanted} bytes of {request.block}")
    first = parts[0]
    is_composite = request.checksum_type is BlockChecksumType.COMPOSITE_CRC
    for part in parts:
        if part.spec.type is not first.spec.type or not (is_composite or part.spec == first.spec):
            raise errors.RemoteError(
                f"internal blocks of {request.block} have checksums of {first.spec} and of "
                f"{part.spec}: together they have none"
            )
    if is_composite:
        value = _composite(layout, first.spec.type, [part.value for part in parts])
    else:
        value = md5_of([part.value for part in parts])
    return BlockChecksumResult(
        value, first.spec.bytes_per_checksum, first.chunks, first.spec.type, request.checksum_type
    )


def md5_of(digests: list[bytes]) -> bytes:
    """Return the MD5 of digests as they lie in Java's buffer, the zeros at its end included."""
    joined = b"".join(digests)
    size = _FIRST_BUFFER_BYTES
    while size < len(joined):
        size *= 2
    return hashlib.md5(joined.ljust(size, b"\0"), usedforsecurity=False).digest()


def _composite(layout: GroupLayout, kind: ChecksumType, crcs: list[bytes]) -> bytes:
    """Join the CRCs of all cells in the order of the data."""
    total, cell = 0, layout.policy.cell_bytes
    for piece in layout.pieces(0, layout.length):
        at = piece.block_offset // cell * _CRC_BYTES
        crc = int.from_bytes(crcs[piece.index][at : at + _CRC_BYTES], "big")
        total = combine(kind, total, crc, piece.length)
    return total.to_bytes(_CRC_BYTES, "big")


def _part(
    request: BlockGroupChecksum,
    index: int,
    length_bytes: int,
    store: BlockStore,
    settings: DataSettings,
) -> _Part:
    for number, held in enumerate(request.indices):
        if held != index:
            continue
        try:
            return _asked(request, number, length_bytes, settings)
        except (errors.HowdahError, OSError) as error:
            log.warning(
                "%s does not sum up internal block %d of %s: %s",
                request.nodes[number],
                index,
                request.block,
                error,
            )
    return _computed(request, index, length_bytes, store, settings)


def _asked(
    request: BlockGroupChecksum, number: int, length_bytes: int, settings: DataSettings
) -> _Part:
    """Ask one of its holders for the checksum of a data block."""
    is_composite = request.checksum_type is BlockChecksumType.COMPOSITE_CRC
    cell = request.policy.cell_bytes
    question = BlockChecksum(
        internal_block(request.block, request.indices[number], length_bytes),
        request.checksum_type,
        cell if is_composite else 0,
        request.tokens[number] if number < len(request.tokens) else NO_TOKEN,
    )
    node = request.nodes[number]
    silence_s, pool_id = settings.socket_timeout_s, question.block.pool_id
    with connect_to(node, settings, silence_s, pool_id, question.token) as connection:
        connection.send_all(encode_request(question))
        answer = read_response(connection)
    result = answer.block_checksum
    if not answer.is_success or result is None or result.crc_type is None:
        raise errors.RemoteError(answer.message or answer.status.name)
    expected = -(-length_bytes // cell) * _CRC_BYTES if is_composite else _MD5_BYTES
    if len(result.checksum) != expected or result.bytes_per_crc < 1:
        raise errors.ProtocolViolation(
            f"a checksum of {len(result.checksum)} bytes where {expected} belong"
        )
    spec = ChecksumSpec(result.crc_type, result.bytes_per_crc)
    return _Part(result.checksum, spec, result.crc_per_block)


def _computed(
    request: BlockGroupChecksum,
    index: int,
    length_bytes: int,
    store: BlockStore,
    settings: DataSettings,
) -> _Part:
    """Decode a data block that nobody has, and sum that up."""
    held = [
        (node, other)
        for node, other in zip(request.nodes, request.indices, strict=True)
        if other != index
    ]
    live = tuple(other for _, other in held)
    layout = GroupLayout(request.policy, request.block.length_bytes)
    order = Reconstruct(
        request.block,
        request.policy,
        tuple(node for node, _ in held),
        live,
        request.nodes[:1],
        (StorageType.DISK,),
        ("",),
        tuple(other for other in layout.block_indices if other != index and other not in live),
    )
    work = plan(order)
    sources = Sources(order, work, settings, store.notify)
    try:
        spec = sources.open()
        chunk = spec.bytes_per_checksum
        step = max(settings.reconstruction.piece_bytes // chunk * chunk, chunk)
        sums = bytearray(spec.sums_length(length_bytes))
        at = 0
        for start in range(0, length_bytes, step):
            end = min(start + step, work.length_bytes)
            made = decoded(order, work, sources.read(start, end), end - start, validates=False)
            at += checksum_chunks(spec, made[index][: length_bytes - start], sums, at)
    finally:
        sources.close()
    return _Part(_summed(request, spec, bytes(sums), length_bytes), spec, spec.chunks(length_bytes))


def _summed(
    request: BlockGroupChecksum, spec: ChecksumSpec, sums: bytes, length_bytes: int
) -> bytes:
    if request.checksum_type is BlockChecksumType.MD5CRC:
        return hashlib.md5(sums, usedforsecurity=False).digest()
    cell, chunk = request.policy.cell_bytes, spec.bytes_per_checksum
    if spec.type is ChecksumType.NULL or cell % chunk:
        raise errors.UnsupportedOperation(
            f"{request.block} has checksums of {spec}, so it has no composite CRC"
        )
    of_cell = cell // chunk * spec.sum_bytes
    return b"".join(
        compose(
            spec.type,
            sums[number * of_cell : (number + 1) * of_cell],
            chunk,
            (min(cell, length_bytes - number * cell) - 1) % chunk + 1,
        ).to_bytes(_CRC_BYTES, "big")
        for number in range(-(-length_bytes // cell))
    )
