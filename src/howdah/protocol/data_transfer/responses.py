"""Answers to the operations: BlockOpResponseProto, and the reader's closing status.

A datanode answers each request with one varint-delimited BlockOpResponseProto.
After a READ_BLOCK's packets the reader sends one ClientReadStatusProto, after
which the connection can carry the next request; after a datanode's copy to
another datanode the receiver sends a DNTransferAckProto.

Traps: a pipeline that can't reach a node answers with status ERROR *and*
`first_bad_link`, the `ip:port` of that node; without it a client blames the
first node. Where all is well a client's pipeline answers with an empty one, as
Hadoop's datanodes do: there are clients that read five bytes before they look at
the length, and a success that is its status alone has three (`PIPELINE_READY`).

The operations about shared memory have answers of their own: `SlotReleased` and
`SegmentGiven`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from google.protobuf.message import DecodeError

from howdah import errors
from howdah.proto import data_transfer_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType
from howdah.protocol.data_transfer.op_request_decoder import checksum_from_proto
from howdah.protocol.data_transfer.op_requests import BlockChecksumType, checksum_to_proto
from howdah.protocol.data_transfer.short_circuit import SegmentId
from howdah.protocol.data_transfer.status import Status
from howdah.protocol.messages import parse
from howdah.protocol.varint import (
    Source,
    decode_varint,
    delimited,
    encode_varint,
    read_delimited,
)


@dataclass(frozen=True, slots=True)
class ReadChecksumInfo:
    """How the packets of a read are summed, and where the first one starts:
    the requested offset, rounded down to a chunk."""

    checksum: ChecksumSpec
    chunk_offset: int


@dataclass(frozen=True, slots=True)
class BlockChecksumResult:
    """A block's checksum: 16 bytes of MD5, or 4 bytes of CRC (big-endian)."""

    checksum: bytes
    bytes_per_crc: int
    crc_per_block: int
    crc_type: ChecksumType | None
    checksum_type: BlockChecksumType = BlockChecksumType.MD5CRC
    stripe_length_bytes: int = 0


@dataclass(frozen=True, slots=True)
class BlockOpResponse:
    status: Status
    message: str = ""
    first_bad_link: str | None = None
    """None leaves the field out; the answers to a client's WRITE_BLOCK always have it."""
    read_checksum: ReadChecksumInfo | None = None
    block_checksum: BlockChecksumResult | None = None
    short_circuit_version: int | None = None
    """Of the block files whose descriptors follow, or can't be understood by the reader."""

    @property
    def is_success(self) -> bool:
        return self.status == Status.SUCCESS

    def encode(self) -> bytes:
        """The varint-delimited message."""
        read_info = checksum_answer = None
        if self.read_checksum is not None:
            read_info = pb.ReadOpChecksumInfoProto(
                checksum=checksum_to_proto(self.read_checksum.checksum),
                chunkOffset=self.read_checksum.chunk_offset,
            )
        if self.block_checksum is not None:
            result = self.block_checksum
            checksum_answer = pb.OpBlockChecksumResponseProto(
                bytesPerCrc=result.bytes_per_crc,
                crcPerBlock=result.crc_per_block,
                blockChecksum=result.checksum,
                crcType=None if result.crc_type is None else f"CHECKSUM_{result.crc_type.name}",
                blockChecksumOptions=types_pb2.BlockChecksumOptionsProto(
                    blockChecksumType=result.checksum_type.name,
                    stripeLength=result.stripe_length_bytes,
                ),
            )
        proto = pb.BlockOpResponseProto(
            status=self.status.name,
            message=self.message or None,
            firstBadLink=self.first_bad_link,
            readOpChecksumInfo=read_info,
            checksumResponse=checksum_answer,
            shortCircuitAccessVersion=self.short_circuit_version,
        )
        return delimited(proto)

    @classmethod
    def decode(cls, body: bytes) -> BlockOpResponse:
        """From the message without its length."""
        found = _decode_read_answer(body)
        if found is not None:
            return cls(Status.SUCCESS, read_checksum=found)
        try:
            proto = parse(pb.BlockOpResponseProto, body)
            read_checksum = block_checksum = None
            if proto.HasField("readOpChecksumInfo"):
                info = proto.readOpChecksumInfo
                read_checksum = ReadChecksumInfo(
                    checksum_from_proto(info.checksum), info.chunkOffset
                )
            if proto.HasField("checksumResponse"):
                answer = proto.checksumResponse
                options = answer.blockChecksumOptions
                block_checksum = BlockChecksumResult(
                    answer.blockChecksum,
                    answer.bytesPerCrc,
                    answer.crcPerBlock,
                    ChecksumType(answer.crcType) if answer.HasField("crcType") else None,
                    BlockChecksumType(options.blockChecksumType),
                    options.stripeLength,
                )
            return cls(
                Status(proto.status),
                proto.message,
                proto.firstBadLink if proto.HasField("firstBadLink") else None,
                read_checksum,
                block_checksum,
                proto.shortCircuitAccessVersion
                if proto.HasField("shortCircuitAccessVersion")
                else None,
            )
        except (DecodeError, ValueError) as error:
            raise errors.ProtocolViolation(
                f"a BlockOpResponseProto that cannot be read: {error}"
            ) from error


# The answer to a READ_BLOCK that is served: status 0, then (field 4) the checksum and the offset
# of the first chunk. Only the offset differs from one to the next, so the rest is made, and
# parsed, once.
_SUCCESS_WITH_SUMS: Final = b"\x08\x00\x22"
_TAG_CHECKSUM, _TAG_CHUNK_OFFSET = 0x0A, 0x10
_MAX_KEPT_CHECKSUM_BYTES: Final = 32


def encode_read_answer(spec: ChecksumSpec, chunk_offset: int) -> bytes:
    """The varint-delimited success of a READ_BLOCK, as `BlockOpResponse.encode` gives it."""
    checksum = _encoded_checksum(spec)
    offset = encode_varint(chunk_offset)
    inner = len(checksum) + 1 + len(offset)
    assert inner < 0x80, f"{spec} takes {len(checksum)} bytes"
    return b"".join(
        (bytes((inner + 4,)), _SUCCESS_WITH_SUMS, bytes((inner,)), checksum, b"\x10", offset)
    )


@lru_cache(maxsize=64)
def _encoded_checksum(spec: ChecksumSpec) -> bytes:
    return bytes((_TAG_CHECKSUM,)) + delimited(checksum_to_proto(spec))


def _decode_read_answer(body: bytes) -> ReadChecksumInfo | None:
    """None for whatever is laid out in another way."""
    if not body.startswith(_SUCCESS_WITH_SUMS) or len(body) < 6:
        return None
    end = 6 + body[5]
    if body[3] != len(body) - 4 or body[4] != _TAG_CHECKSUM or body[5] > _MAX_KEPT_CHECKSUM_BYTES:
        return None
    if end >= len(body) or body[end] != _TAG_CHUNK_OFFSET:
        return None
    offset = decode_varint(body, end + 1)
    if offset is None or offset[1] != len(body):
        return None
    spec = _parse_checksum(body[6:end])
    return None if spec is None else ReadChecksumInfo(spec, offset[0] & 0xFFFFFFFFFFFFFFFF)


@lru_cache(maxsize=64)
def _parse_checksum(encoded: bytes) -> ChecksumSpec | None:
    """None for one that protobuf, or we, refuse: the ordinary way says why."""
    try:
        return checksum_from_proto(parse(pb.ChecksumProto, encoded))
    except (DecodeError, ValueError):
        return None


PIPELINE_READY: Final = BlockOpResponse(Status.SUCCESS, first_bad_link="")
"""Answers a client's WRITE_BLOCK: packets may come."""


def read_response(source: Source) -> BlockOpResponse:
    """The next answer on a connection."""
    return BlockOpResponse.decode(read_delimited(source))


@dataclass(frozen=True, slots=True)
class SlotReleased:
    """Answers RELEASE_SHORT_CIRCUIT_FDS."""

    status: Status
    error: str = ""

    def encode(self) -> bytes:
        return delimited(
            pb.ReleaseShortCircuitAccessResponseProto(
                status=self.status.name, error=self.error or None
            )
        )

    @classmethod
    def decode(cls, body: bytes) -> SlotReleased:
        """From the message without its length."""
        try:
            proto = parse(pb.ReleaseShortCircuitAccessResponseProto, body)
            return cls(Status(proto.status), proto.error)
        except (DecodeError, ValueError) as error:
            raise errors.ProtocolViolation(
                f"an answer about a slot that cannot be read: {error}"
            ) from error


@dataclass(frozen=True, slots=True)
class SegmentGiven:
    """Answers REQUEST_SHORT_CIRCUIT_SHM; one byte with the segment's descriptor follows."""

    status: Status
    segment: SegmentId | None = None
    error: str = ""

    def encode(self) -> bytes:
        return delimited(
            pb.ShortCircuitShmResponseProto(
                status=self.status.name,
                error=self.error or None,
                id=None if self.segment is None else self.segment.to_proto(),
            )
        )

    @classmethod
    def decode(cls, body: bytes) -> SegmentGiven:
        """From the message without its length."""
        try:
            proto = parse(pb.ShortCircuitShmResponseProto, body)
            segment = SegmentId.from_proto(proto.id) if proto.HasField("id") else None
            return cls(Status(proto.status), segment, proto.error)
        except (DecodeError, ValueError) as error:
            raise errors.ProtocolViolation(
                f"an answer about shared memory that cannot be read: {error}"
            ) from error


@lru_cache(maxsize=len(Status))
def encode_read_status(status: Status) -> bytes:
    """What a reader says when it has all packets: SUCCESS, or CHECKSUM_OK if it verified."""
    return delimited(pb.ClientReadStatusProto(status=status.name))


_CHECKSUM_OK: Final = bytes((0x08, Status.CHECKSUM_OK))
"""What nearly every reader says."""


def decode_read_status(body: bytes) -> Status:
    """From the message without its length; DNTransferAckProto has the same form."""
    if body == _CHECKSUM_OK:
        return Status.CHECKSUM_OK
    try:
        return Status(parse(pb.ClientReadStatusProto, body).status)
    except (DecodeError, ValueError) as error:
        raise errors.ProtocolViolation(f"a read status that cannot be read: {error}") from error
