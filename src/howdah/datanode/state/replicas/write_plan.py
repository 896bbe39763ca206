"""Where the bytes of a packet go in a replica's two files (pure).

A packet says at which offset of the block its data belongs, and a writer sends
again what it has flushed in mid-chunk: the next packet starts at the last chunk
boundary. So a replica isn't appended to. With L bytes on disk and a packet for
[a, b):

1. a > L is a hole, and the packet is out of sequence;
2. b <= L brings nothing new;
3. otherwise data [L, b) is written. Bytes below L are never written twice: they
   may be acknowledged, and a reader may be at them.

The checksums on disk are those of chunks, so the one of the chunk that holds L
is replaced. Where the packet covers that chunk from its start and is summed as
the file is, the packet's own sums do (`reuse`). Otherwise (the first packet of an
append fills up a chunk; the file is summed in another way; no sums were sent) the
sums are made anew, going on from the checksum of the partial chunk.
"""

from __future__ import annotations

from dataclasses import dataclass

from howdah import errors
from howdah.datanode.state.volumes.block_files import sums_offset
from howdah.protocol.data_transfer.checksum import ChecksumSpec, checksum_chunks, crc
from howdah.protocol.data_transfer.packets import PacketHeader

Buffer = bytes | bytearray | memoryview


@dataclass(frozen=True, slots=True)
class WritePlan:
    """`data[data_skip:]` goes to `data_offset` of the block file.

    If `reuse`, `sums[sums_skip:]` goes to `meta_offset` of the meta file; else the
    result of `fresh_sums` does. `end` is the length of the replica afterwards.
    """

    data_skip: int
    data_offset: int
    sums_skip: int
    meta_offset: int
    reuse: bool
    end: int


def check_sums_length(spec: ChecksumSpec, header: PacketHeader, sums_bytes: int) -> None:
    """A packet carries a checksum for each of its chunks, or none at all."""
    expected = spec.sums_length(header.data_length_bytes)
    if sums_bytes not in (0, expected):
        raise errors.ProtocolViolation(
            f"packet {header.seqno} has {sums_bytes} bytes of checksums for "
            f"{header.data_length_bytes} bytes of data; {expected} are right"
        )


def plan_write(
    on_disk: ChecksumSpec,
    received: ChecksumSpec,
    length_bytes: int,
    header: PacketHeader,
    sums_bytes: int,
) -> WritePlan | None:
    """What to write, or None if the packet brings nothing new."""
    start = header.offset_in_block
    end = start + header.data_length_bytes
    if start > length_bytes:
        raise errors.ProtocolViolation(
            f"packet {header.seqno} is out of sequence: it starts at {start} "
            f"and the replica has {length_bytes} bytes"
        )
    if end <= length_bytes:
        return None
    chunk = length_bytes // on_disk.bytes_per_checksum
    skipped_chunks = chunk - start // on_disk.bytes_per_checksum
    reuse = (
        received == on_disk
        and (sums_bytes > 0 or on_disk.sum_bytes == 0)
        and start % on_disk.bytes_per_checksum == 0
    )
    return WritePlan(
        data_skip=length_bytes - start,
        data_offset=length_bytes,
        sums_skip=skipped_chunks * on_disk.sum_bytes if reuse else 0,
        meta_offset=sums_offset(on_disk, chunk),
        reuse=reuse,
        end=end,
    )


def continues(
    on_disk: ChecksumSpec, length_bytes: int, header: PacketHeader, sums_bytes: int
) -> bool:
    """Whether a packet, summed as the file is, starts where the replica ends and at a chunk.

    Nearly every packet does. Then `plan_write` would take all of its data and sums, at five
    times the price of this.
    """
    chunk, size = on_disk.bytes_per_checksum, header.data_length_bytes
    return (
        header.offset_in_block == length_bytes
        and length_bytes % chunk == 0
        and size > 0
        and sums_bytes == -(-size // chunk) * on_disk.sum_bytes
    )


def fresh_sums(spec: ChecksumSpec, length_bytes: int, last_sum: bytes, data: Buffer) -> bytearray:
    """Checksums from the chunk that holds `length_bytes` on, for `data` that follows there.

    `last_sum` is the checksum of the bytes that this chunk has already.
    """
    if spec.sum_bytes == 0:
        return bytearray()
    view = memoryview(data)
    in_chunk = length_bytes % spec.bytes_per_checksum
    head = min(spec.bytes_per_checksum - in_chunk, len(view)) if in_chunk else 0
    out = bytearray(spec.sums_length(in_chunk + len(view)))
    offset = 0
    if head:
        assert len(last_sum) == spec.sum_bytes, "a partial chunk without its checksum"
        joined = crc(spec.type, view[:head], int.from_bytes(last_sum, "big"))
        out[: spec.sum_bytes] = joined.to_bytes(spec.sum_bytes, "big")
        offset = spec.sum_bytes
    if len(view) > head:
        checksum_chunks(spec, view[head:], out, offset)
    return out


def last_sum_of(spec: ChecksumSpec, end: int, sums: Buffer) -> bytes:
    """The checksum of the last chunk if that is partial, else nothing."""
    if end % spec.bytes_per_checksum == 0 or spec.sum_bytes == 0:
        return b""
    return bytes(sums[-spec.sum_bytes :])
