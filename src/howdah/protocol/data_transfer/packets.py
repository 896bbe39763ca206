"""Packets of DataTransferProtocol v28, and the acks that answer them.

PacketHeader and PipelineAck in Hadoop.

A packet on the wire is

    PLEN(4, big-endian) HLEN(2) PacketHeaderProto(HLEN) sums data

where PLEN counts itself, the sums and the data, but neither HLEN nor the
header. All fields of the header have a fixed width, so it is 25 bytes, or 27
with the sync flag; both are packed and unpacked here by `struct`, at a third of
the cost of protobuf (the tests hold the two against each other). A header that
is laid out in another way is legal protobuf and takes the slow path.

Rules:
- a packet never exceeds 16 MiB, and its lengths must agree: otherwise
  `ProtocolViolation`, and the connection is over;
- a heartbeat packet has seqno -1 and no data;
- the last packet of a block is empty and says so;
- an ack is a varint-delimited PipelineAckProto, one reply per datanode, first
  the one that is nearest to the client; out-of-band acks have seqno -2.

This module knows bytes only: no sockets, no files.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from google.protobuf.message import DecodeError

from howdah import errors
from howdah.proto import data_transfer_pb2 as pb
from howdah.protocol.bounded_cache import cache_short
from howdah.protocol.data_transfer import MAX_PACKET_BYTES
from howdah.protocol.data_transfer.status import Status
from howdah.protocol.varint import decode_varint, encode_varint, zigzag

Buffer = bytes | bytearray | memoryview

HEARTBEAT_SEQNO = -1
UNKNOWN_SEQNO = -2
"""The seqno of an ack that answers no packet (an out-of-band one)."""

LENGTHS_BYTES = 6
"""PLEN and HLEN."""
HEADER_BYTES = 25
HEADER_BYTES_WITH_SYNC = 27

_LENGTHS = struct.Struct(">ih")
# Tag bytes of the fields in their order: 0x09 and 0x11 are fixed 64-bit,
# 0x18 and 0x28 are varints (a bool is one byte), 0x25 is fixed 32-bit.
_HEADER = struct.Struct("<BqBqBBBi")
_TAG_OFFSET, _TAG_SEQNO, _TAG_LAST, _TAG_DATA_LENGTH, _TAG_SYNC = 0x09, 0x11, 0x18, 0x25, 0x28

_TAGS = _TAG_OFFSET, _TAG_SEQNO, _TAG_LAST, _TAG_DATA_LENGTH


@dataclass(slots=True)
class PacketHeader:
    """What a packet says of itself; `offset_in_block` is where its data belongs.

    Not frozen, as an exception: one is made for each packet that comes in, and a
    frozen one costs 1.1 µs instead of 0.4, 2 % of a core at 1.5 GB/s. Nobody changes one.
    """

    offset_in_block: int
    seqno: int
    last_in_block: bool
    data_length_bytes: int
    sync_block: bool = False

    @property
    def is_heartbeat(self) -> bool:
        return self.seqno == HEARTBEAT_SEQNO

    @property
    def encoded_bytes(self) -> int:
        return HEADER_BYTES_WITH_SYNC if self.sync_block else HEADER_BYTES


HEARTBEAT = PacketHeader(0, HEARTBEAT_SEQNO, False, 0)


def pack_prelude(out: bytearray | memoryview, end: int, header: PacketHeader, sums: int) -> int:
    """Write lengths and header so that they end at `out[end]`; the offset of their start.

    A writer keeps `sums` bytes of checksums, then the data, from `end` on, so
    the whole packet is one contiguous slice whatever the header's length.
    """
    header_bytes = HEADER_BYTES_WITH_SYNC if header.sync_block else HEADER_BYTES
    start = end - header_bytes - LENGTHS_BYTES
    _LENGTHS.pack_into(out, start, 4 + sums + header.data_length_bytes, header_bytes)
    _HEADER.pack_into(
        out,
        start + LENGTHS_BYTES,
        _TAG_OFFSET,
        header.offset_in_block,
        _TAG_SEQNO,
        header.seqno,
        _TAG_LAST,
        header.last_in_block,
        _TAG_DATA_LENGTH,
        header.data_length_bytes,
    )
    if header.sync_block:
        out[end - 2] = _TAG_SYNC
        out[end - 1] = 1
    return start


def encode_prelude(header: PacketHeader, sums: int) -> bytes:
    """Lengths and header of a packet whose checksums take `sums` bytes."""
    if not header.sync_block:
        return _LENGTHS.pack(4 + sums + header.data_length_bytes, HEADER_BYTES) + _HEADER.pack(
            _TAG_OFFSET,
            header.offset_in_block,
            _TAG_SEQNO,
            header.seqno,
            _TAG_LAST,
            header.last_in_block,
            _TAG_DATA_LENGTH,
            header.data_length_bytes,
        )
    out = bytearray(LENGTHS_BYTES + header.encoded_bytes)
    pack_prelude(out, len(out), header, sums)
    return bytes(out)


def encode_packet(header: PacketHeader, sums: Buffer = b"", data: Buffer = b"") -> bytes:
    """A whole packet; for tests and small packets, since it copies the data."""
    if len(data) != header.data_length_bytes:
        raise ValueError(
            f"the header says {header.data_length_bytes} bytes of data and {len(data)} are given"
        )
    return b"".join((encode_prelude(header, len(sums)), sums, data))


def count_alike(data: Buffer, position: int, header: PacketHeader, sums: int) -> int:
    """How many whole packets `data` begins with that are as `header`, each with `sums` bytes of
    sums, and that follow each other from `position` of the block on, without a last one."""
    length = header.data_length_bytes
    stride = LENGTHS_BYTES + HEADER_BYTES + sums + length
    lengths = _LENGTHS.pack(4 + sums + length, HEADER_BYTES)
    found = 0
    for start in range(0, len(data) - stride + 1, stride):
        tag1, offset, tag2, _, tag3, last, tag4, own = _HEADER.unpack_from(
            data, start + LENGTHS_BYTES
        )
        if (
            data[start : start + LENGTHS_BYTES] != lengths
            or offset != position
            or own != length
            or last
            or (tag1, tag2, tag3, tag4) != _TAGS
        ):
            break
        position += length
        found += 1
    return found


def decode_lengths(
    data: Buffer, offset: int = 0, limit_bytes: int = MAX_PACKET_BYTES
) -> tuple[int, int]:
    """(bytes of header, bytes of sums and data) of the packet at `offset`."""
    plen, header_bytes = _LENGTHS.unpack_from(data, offset)
    if plen < 4:
        raise errors.ProtocolViolation(f"a packet length of {plen}, which must count its 4 bytes")
    if header_bytes < 0:
        raise errors.ProtocolViolation(f"a packet header of {header_bytes} bytes")
    if plen + header_bytes > limit_bytes:
        raise errors.ProtocolViolation(
            f"a packet of {plen + header_bytes} bytes; the limit is {limit_bytes}"
        )
    return header_bytes, plen - 4


def decode_header(data: Buffer, offset: int, header_bytes: int) -> PacketHeader:
    """The header in `data[offset:offset + header_bytes]`."""
    if header_bytes in (HEADER_BYTES, HEADER_BYTES_WITH_SYNC):
        tag1, block_offset, tag2, seqno, tag3, last, tag4, length = _HEADER.unpack_from(
            data, offset
        )
        if (
            tag1 == _TAG_OFFSET
            and tag2 == _TAG_SEQNO
            and tag3 == _TAG_LAST
            and tag4 == _TAG_DATA_LENGTH
            and last <= 1
        ):
            if header_bytes == HEADER_BYTES:
                return PacketHeader(block_offset, seqno, last == 1, length)
            if data[offset + HEADER_BYTES] == _TAG_SYNC and data[offset + HEADER_BYTES + 1] <= 1:
                sync = data[offset + HEADER_BYTES + 1] == 1
                return PacketHeader(block_offset, seqno, last == 1, length, sync)
    try:
        message = pb.PacketHeaderProto.FromString(bytes(data[offset : offset + header_bytes]))
    except DecodeError as error:
        raise errors.ProtocolViolation(f"a packet header that is not one: {error}") from error
    return PacketHeader(
        message.offsetInBlock,
        message.seqno,
        message.lastPacketInBlock,
        message.dataLen,
        message.syncBlock,
    )


def check_lengths(header: PacketHeader, payload_bytes: int) -> int:
    """The bytes of sums in a payload of sums and data; raises if the header lies."""
    sums = payload_bytes - header.data_length_bytes
    if header.data_length_bytes < 0 or sums < 0:
        raise errors.ProtocolViolation(
            f"a packet says that it holds {header.data_length_bytes} bytes of data, "
            f"and its payload is {payload_bytes} bytes"
        )
    if header.offset_in_block < 0:
        raise errors.ProtocolViolation(f"a packet for offset {header.offset_in_block} of its block")
    return sums


# --- acks -------------------------------------------------------------------


@dataclass(slots=True)
class PipelineAck:
    """Replies to one packet, the nearest datanode's first.

    `replies` come from the flags where the sender gave flags (their low four
    bits are the status), as Java reads them; `congested` is the ECN field's
    value 3 of any of them, `slow` the indices of those that say that they are slow.
    Not frozen, for the reason that `PacketHeader` gives.
    """

    seqno: int
    replies: tuple[Status, ...]
    downstream_ack_time_ns: int = 0
    congested: bool = False
    slow: tuple[int, ...] = ()

    @property
    def is_success(self) -> bool:
        return all(reply == Status.SUCCESS for reply in self.replies)

    @property
    def out_of_band(self) -> Status | None:
        """Such as `OOB_RESTART`: the datanode restarts and asks for patience."""
        if self.seqno != UNKNOWN_SEQNO:
            return None
        return next((reply for reply in self.replies if reply.is_out_of_band), None)

    def first_bad(self) -> int | None:
        """Index of the first datanode whose reply isn't SUCCESS."""
        for index, reply in enumerate(self.replies):
            if reply != Status.SUCCESS:
                return index
        return None


_MOST_REPLIES: Final = 1024
"""In an ack: twice as many as a file may have replicas."""


@cache_short(256)
def _ack_tail(replies: tuple[Status, ...], downstream_ack_time_ns: int) -> bytes:
    message = pb.PipelineAckProto(
        downstreamAckTimeNanos=downstream_ack_time_ns,
        reply=[reply.name for reply in replies],
        flag=[int(reply) for reply in replies],
    )
    return message.SerializePartialToString()


def ack_tail(replies: Sequence[Status]) -> bytes:
    """What follows the seqno in an ack of `replies`."""
    return _ack_tail.of(len(replies))(tuple(replies), 0)


def encode_ack(seqno: int, replies: Sequence[Status], downstream_ack_time_ns: int = 0) -> bytes:
    """A varint-delimited ack. Only the seqno differs from one to the next,
    so the rest is encoded once; the time is given for a few, not for each."""
    tail = _ack_tail.of(len(replies))(tuple(replies), downstream_ack_time_ns)
    number = encode_varint(zigzag(seqno) & 0xFFFFFFFFFFFFFFFF)
    return encode_varint(1 + len(number) + len(tail)) + b"\x08" + number + tail


def decode_ack(body: Buffer) -> PipelineAck:
    """The ack in `body`, its length prefix already taken off.

    As with `encode_ack`, what follows the seqno is the same for nearly all acks of a
    block and is parsed once: 1 µs an ack instead of 3.4. Hadoop's datanodes write
    the time of each ack into it, so theirs are parsed one by one.
    """
    whole = bytes(body)
    found = decode_varint(whole, 1) if whole.startswith(b"\x08") else None
    if found is None:
        raise errors.ProtocolViolation("an ack that cannot be read: it begins with no seqno")
    number, end = found[0] & 0xFFFFFFFFFFFFFFFF, found[1]
    tail = whole[end:]
    return PipelineAck((number >> 1) ^ -(number & 1), *_parse_ack_tail.of(len(tail))(tail))


@cache_short(256)
def _parse_ack_tail(tail: bytes) -> tuple[tuple[Status, ...], int, bool, tuple[int, ...]]:
    """(replies, downstream time, congested, slow) of an ack from behind its seqno."""
    try:
        message = pb.PipelineAckProto.FromString(tail)
        if len(message.flag):
            values = [flag & 0xF for flag in message.flag]
        else:
            values = list(message.reply)
        if len(values) > _MOST_REPLIES:
            raise errors.ProtocolViolation(f"an ack of {len(values)} datanodes")
        replies = tuple(Status(value) for value in values)
    except (DecodeError, ValueError) as error:
        raise errors.ProtocolViolation(f"an ack that cannot be read: {error}") from error
    if message.HasField("seqno"):
        raise errors.ProtocolViolation(f"an ack with two seqnos, the second is {message.seqno}")
    congested = any(flag >> 5 & 3 == 3 for flag in message.flag)
    slow = tuple(index for index, flag in enumerate(message.flag) if flag >> 7 & 3 == 2)
    return replies, message.downstreamAckTimeNanos, congested, slow
