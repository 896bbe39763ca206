"""Requests of DataTransferProtocol as a datanode reads them from a connection.

The other side of `ops`. Rules:
- a version other than 28 and an unknown opcode end the connection, since what
  follows them can't be parsed;
- an opcode that is known but not served here decodes to `OtherRequest`, so the
  server can answer with an error that names it.
"""

from __future__ import annotations

from collections.abc import Iterable

from google.protobuf.message import DecodeError

from howdah import errors
from howdah.proto import data_transfer_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.bounded_cache import cache_short
from howdah.protocol.data_transfer import MAX_PACKET_BYTES
from howdah.protocol.data_transfer.blocks import (
    UINT64,
    BlockToken,
    DatanodeAddress,
    ExtendedBlock,
    StorageType,
)
from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType
from howdah.protocol.data_transfer.op_requests import (
    OP_HEADER,
    OP_HEADER_BYTES,
    VERSION,
    BlockChecksum,
    BlockChecksumType,
    BlockGroupChecksum,
    CachingHints,
    CopyBlock,
    Op,
    OtherRequest,
    ReadBlock,
    ReplaceBlock,
    Request,
    Stage,
    TransferBlock,
    WriteBlock,
)
from howdah.protocol.data_transfer.short_circuit import (
    ReleaseSlot,
    RequestDescriptors,
    RequestSegment,
)
from howdah.protocol.messages import parse
from howdah.protocol.striping.layout import index_of, is_striped
from howdah.protocol.striping.messages import policy_from_proto
from howdah.protocol.varint import Source, decode_varint, read_delimited

_TAG_READ_OFFSET, _TAG_READ_LENGTH = 0x10, 0x18


def decode_op_header(header: bytes) -> Op:
    """The operation that the three bytes announce."""
    version, code = OP_HEADER.unpack(header)
    if version != VERSION:
        raise errors.ProtocolViolation(
            f"data transfer version {version}; this datanode speaks version {VERSION}"
        )
    try:
        return Op(code)
    except ValueError:
        raise errors.ProtocolViolation(f"unknown data transfer opcode {code}") from None


def checksum_from_proto(proto: pb.ChecksumProto) -> ChecksumSpec:
    """`ValueError` for chunks that no packet can carry."""
    if proto.bytesPerChecksum > MAX_PACKET_BYTES:
        raise ValueError(
            f"a checksum for {proto.bytesPerChecksum} bytes; a packet has {MAX_PACKET_BYTES}"
        )
    return ChecksumSpec(ChecksumType(proto.type), proto.bytesPerChecksum)


def _hints_from_proto(proto: pb.CachingStrategyProto) -> CachingHints:
    return CachingHints(
        proto.dropBehind if proto.HasField("dropBehind") else None,
        proto.readahead if proto.HasField("readahead") else None,
    )


def _nodes(protos: Iterable[types_pb2.DatanodeInfoProto]) -> tuple[DatanodeAddress, ...]:
    return tuple(DatanodeAddress.from_proto(proto) for proto in protos)


def _storage_types(values: Iterable[int]) -> tuple[StorageType, ...]:
    return tuple(StorageType(value) for value in values)


def _decode_write(body: bytes) -> WriteBlock:
    proto = parse(pb.OpWriteBlockProto, body)
    base = proto.header.baseHeader
    return WriteBlock(
        block=ExtendedBlock.from_proto(base.block),
        client_name=proto.header.clientName,
        stage=Stage(proto.stage),
        checksum=checksum_from_proto(proto.requestedChecksum),
        targets=_nodes(proto.targets),
        source=DatanodeAddress.from_proto(proto.source) if proto.HasField("source") else None,
        pipeline_size=proto.pipelineSize,
        min_bytes_received=proto.minBytesRcvd,
        max_bytes_received=proto.maxBytesRcvd,
        latest_generation_stamp=proto.latestGenerationStamp,
        storage_type=StorageType(proto.storageType),
        storage_id=proto.storageId if proto.HasField("storageId") else None,
        target_storage_types=_storage_types(proto.targetStorageTypes),
        target_storage_ids=tuple(proto.targetStorageIds),
        allow_lazy_persist=proto.allowLazyPersist,
        pinning=proto.pinning,
        target_pinnings=tuple(proto.targetPinnings),
        hints=_hints_from_proto(proto.cachingStrategy),
        token=BlockToken.from_proto(base.token),
        trace=base.traceInfo.spanContext,
    )


def _decode_read(body: bytes) -> ReadBlock:
    split = _split_read(body)
    frame = None
    if split is not None:
        header, rest = split[0], split[3]
        frame = _parse_read_frame.of(len(header) + len(rest))(header, rest)
    if split is None or frame is None:
        proto = parse(pb.OpReadBlockProto, body)
        return _read_of(proto, proto.offset, proto.len)
    return ReadBlock(
        frame.block,
        frame.client_name,
        split[1],
        split[2],
        frame.send_checksums,
        frame.hints,
        frame.token,
        frame.trace,
    )


def _split_read(body: bytes) -> tuple[bytes, int, int, bytes] | None:
    """(header, offset, length, what follows), if the message is laid out as all writers do that
    are known: each field once, in the order of their numbers. None if it takes protobuf."""
    if body[:1] != b"\x0a" or (size := decode_varint(body, 1)) is None:
        return None
    end = size[0] + size[1]
    if end >= len(body) or body[end] != _TAG_READ_OFFSET:
        return None
    offset = decode_varint(body, end + 1)
    if offset is None or offset[1] >= len(body) or body[offset[1]] != _TAG_READ_LENGTH:
        return None
    length = decode_varint(body, offset[1] + 1)
    if length is None:
        return None
    return body[size[1] : end], offset[0] & UINT64, length[0] & UINT64, body[length[1] :]


@cache_short(256)
def _parse_read_frame(header: bytes, rest: bytes) -> ReadBlock | None:
    """All but the two numbers. None where they, or a header, come once more at the end."""
    proto = pb.OpReadBlockProto()
    proto.MergeFromString(rest)
    if proto.HasField("header") or proto.HasField("offset") or proto.HasField("len"):
        return None
    proto.header.MergeFromString(header)
    if not proto.header.IsInitialized() or not isinstance(proto.header.clientName, str):
        return None
    return _read_of(proto, 0, 0)


def _read_of(proto: pb.OpReadBlockProto, offset: int, length_bytes: int) -> ReadBlock:
    base = proto.header.baseHeader
    return ReadBlock(
        block=ExtendedBlock.from_proto(base.block),
        client_name=proto.header.clientName,
        offset=offset,
        length_bytes=length_bytes,
        send_checksums=proto.sendChecksums,
        hints=_hints_from_proto(proto.cachingStrategy),
        token=BlockToken.from_proto(base.token),
        trace=base.traceInfo.spanContext,
    )


def _decode_block_checksum(body: bytes) -> BlockChecksum:
    proto = parse(pb.OpBlockChecksumProto, body)
    options = proto.blockChecksumOptions
    return BlockChecksum(
        block=ExtendedBlock.from_proto(proto.header.block),
        checksum_type=BlockChecksumType(options.blockChecksumType),
        stripe_length_bytes=options.stripeLength,
        token=BlockToken.from_proto(proto.header.token),
        trace=proto.header.traceInfo.spanContext,
    )


def _decode_group_checksum(body: bytes) -> BlockGroupChecksum:
    proto = parse(pb.OpBlockGroupChecksumProto, body)
    nodes, indices = _nodes(proto.datanodes.datanodes), tuple(proto.blockIndices)
    policy = policy_from_proto(proto.ecPolicy)
    block = ExtendedBlock.from_proto(proto.header.block)
    if not is_striped(block.block_id) or index_of(block.block_id):
        # A datanode reads internal blocks that nobody names by tokens of its own: those of a group
        # whose token was shown, and no others that an index leads to.
        raise errors.ProtocolViolation(f"{block} is no block group")
    if len(nodes) != len(indices) or not all(index < policy.schema.units for index in indices):
        raise errors.ProtocolViolation(
            f"{block} of {policy.name} has {len(nodes)} datanodes, with the indices {list(indices)}"
        )
    return BlockGroupChecksum(
        block=block,
        nodes=nodes,
        indices=indices,
        policy=policy,
        requested_bytes=proto.requestedNumBytes,
        checksum_type=BlockChecksumType(proto.blockChecksumOptions.blockChecksumType),
        tokens=tuple(BlockToken.from_proto(token) for token in proto.blockTokens),
        token=BlockToken.from_proto(proto.header.token),
        trace=proto.header.traceInfo.spanContext,
    )


def _decode_transfer(body: bytes) -> TransferBlock:
    proto = parse(pb.OpTransferBlockProto, body)
    base = proto.header.baseHeader
    return TransferBlock(
        block=ExtendedBlock.from_proto(base.block),
        client_name=proto.header.clientName,
        targets=_nodes(proto.targets),
        target_storage_types=_storage_types(proto.targetStorageTypes),
        target_storage_ids=tuple(proto.targetStorageIds),
        token=BlockToken.from_proto(base.token),
        trace=base.traceInfo.spanContext,
    )


def _decode_copy(body: bytes) -> CopyBlock:
    proto = parse(pb.OpCopyBlockProto, body)
    return CopyBlock(
        block=ExtendedBlock.from_proto(proto.header.block),
        token=BlockToken.from_proto(proto.header.token),
        trace=proto.header.traceInfo.spanContext,
    )


def _decode_replace(body: bytes) -> ReplaceBlock:
    proto = parse(pb.OpReplaceBlockProto, body)
    return ReplaceBlock(
        block=ExtendedBlock.from_proto(proto.header.block),
        delete_hint=proto.delHint,
        proxy=DatanodeAddress.from_proto(proto.source),
        storage_type=StorageType(proto.storageType),
        storage_id=proto.storageId if proto.HasField("storageId") else None,
        token=BlockToken.from_proto(proto.header.token),
        trace=proto.header.traceInfo.spanContext,
    )


def decode_request(op: Op, body: bytes) -> Request:
    """The request that follows the header of `op`."""
    try:
        match op:
            case Op.WRITE_BLOCK:
                return _decode_write(body)
            case Op.READ_BLOCK:
                return _decode_read(body)
            case Op.BLOCK_CHECKSUM:
                return _decode_block_checksum(body)
            case Op.BLOCK_GROUP_CHECKSUM:
                return _decode_group_checksum(body)
            case Op.TRANSFER_BLOCK:
                return _decode_transfer(body)
            case Op.COPY_BLOCK:
                return _decode_copy(body)
            case Op.REPLACE_BLOCK:
                return _decode_replace(body)
            case Op.REQUEST_SHORT_CIRCUIT_FDS:
                return RequestDescriptors.decode(body)
            case Op.RELEASE_SHORT_CIRCUIT_FDS:
                return ReleaseSlot.decode(body)
            case Op.REQUEST_SHORT_CIRCUIT_SHM:
                return RequestSegment.decode(body)
            case _:
                return OtherRequest(op, body)
    except (DecodeError, ValueError) as error:
        raise errors.ProtocolViolation(f"a {op.name} that cannot be read: {error}") from error


def read_request(source: Source) -> Request:
    """The next request of a connection."""
    op = decode_op_header(source.recv_exactly(OP_HEADER_BYTES))
    return decode_request(op, read_delimited(source))
