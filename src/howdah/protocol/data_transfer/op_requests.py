"""Operations of DataTransferProtocol v28: what is asked at a datanode's data port.

A request is

    version(2, big-endian: 28) opcode(1) length(varint) Op…Proto

and its answer a varint-delimited BlockOpResponseProto. Requests are frozen
dataclasses; `encode_request` serves clients (and a datanode that opens a mirror),
`op_request_decoder` servers. Reads end with a ClientReadStatusProto by the reader.
"""

from __future__ import annotations

import enum
import struct
from dataclasses import dataclass
from functools import lru_cache

from google.protobuf.message import Message

from howdah import errors
from howdah.native.records import quickly_made
from howdah.proto import data_transfer_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.data_transfer.blocks import (
    NO_TOKEN,
    BlockToken,
    DatanodeAddress,
    ExtendedBlock,
    StorageType,
    signed64,
)
from howdah.protocol.data_transfer.checksum import ChecksumSpec
from howdah.protocol.data_transfer.read_request import read_request
from howdah.protocol.data_transfer.short_circuit import (
    ReleaseSlot,
    RequestDescriptors,
    RequestSegment,
)
from howdah.protocol.striping.messages import policy_to_proto
from howdah.protocol.striping.policies import Policy
from howdah.protocol.varint import delimited
from howdah.runtime.tracing.context import MAX_CONTEXT_BYTES, ids_of

VERSION = 28
OP_HEADER_BYTES = 3
OP_HEADER = struct.Struct(">hB")


class Op(enum.IntEnum):
    WRITE_BLOCK = 80
    READ_BLOCK = 81
    READ_METADATA = 82
    REPLACE_BLOCK = 83
    COPY_BLOCK = 84
    BLOCK_CHECKSUM = 85
    TRANSFER_BLOCK = 86
    REQUEST_SHORT_CIRCUIT_FDS = 87
    RELEASE_SHORT_CIRCUIT_FDS = 88
    REQUEST_SHORT_CIRCUIT_SHM = 89
    BLOCK_GROUP_CHECKSUM = 90
    CUSTOM = 127


class Stage(enum.IntEnum):
    """What a WRITE_BLOCK is for (BlockConstructionStage)."""

    PIPELINE_SETUP_APPEND = 0
    PIPELINE_SETUP_APPEND_RECOVERY = 1
    DATA_STREAMING = 2
    PIPELINE_SETUP_STREAMING_RECOVERY = 3
    PIPELINE_CLOSE = 4
    PIPELINE_CLOSE_RECOVERY = 5
    PIPELINE_SETUP_CREATE = 6
    TRANSFER_RBW = 7
    TRANSFER_FINALIZED = 8

    @property
    def is_recovery(self) -> bool:
        return self in _RECOVERY_STAGES

    @property
    def is_transfer(self) -> bool:
        """A replica is copied from one datanode to another for a client's pipeline."""
        return self in (Stage.TRANSFER_RBW, Stage.TRANSFER_FINALIZED)


_RECOVERY_STAGES = frozenset(
    (
        Stage.PIPELINE_SETUP_APPEND_RECOVERY,
        Stage.PIPELINE_SETUP_STREAMING_RECOVERY,
        Stage.PIPELINE_CLOSE_RECOVERY,
    )
)


class BlockChecksumType(enum.IntEnum):
    """How the checksum of a whole block is made from those of its chunks."""

    MD5CRC = 1
    COMPOSITE_CRC = 2


@dataclass(frozen=True, slots=True)
class CachingHints:
    """The reader's or writer's wishes for the page cache; None leaves it to the datanode."""

    drop_behind: bool | None = None
    readahead_bytes: int | None = None


NO_HINTS = CachingHints()


@quickly_made
@dataclass(frozen=True, slots=True)
class ReadBlock:
    """`trace`, here and in the others: the context of the sender's span, as it came
    (`howdah.runtime.tracing.context`); empty without one. What is too long to be one is not sent
    on."""

    block: ExtendedBlock
    client_name: str
    offset: int
    length_bytes: int
    send_checksums: bool = True
    hints: CachingHints = NO_HINTS
    token: BlockToken = NO_TOKEN
    trace: bytes = b""


@dataclass(frozen=True, slots=True)
class WriteBlock:
    """`targets` are the datanodes behind the one that is asked, nearest first.

    `client_name` is empty when a datanode writes to a datanode. `storage_type`
    and `storage_id` are for the one that is asked, the tuples for its targets.
    """

    block: ExtendedBlock
    client_name: str
    stage: Stage
    checksum: ChecksumSpec
    targets: tuple[DatanodeAddress, ...] = ()
    source: DatanodeAddress | None = None
    pipeline_size: int = 1
    min_bytes_received: int = 0
    max_bytes_received: int = 0
    latest_generation_stamp: int = 0
    storage_type: StorageType = StorageType.DISK
    storage_id: str | None = None
    target_storage_types: tuple[StorageType, ...] = ()
    target_storage_ids: tuple[str, ...] = ()
    allow_lazy_persist: bool = False
    pinning: bool = False
    target_pinnings: tuple[bool, ...] = ()
    hints: CachingHints = NO_HINTS
    token: BlockToken = NO_TOKEN
    trace: bytes = b""

    @property
    def is_datanode(self) -> bool:
        return not self.client_name

    def check_numbers(self) -> None:
        """`IllegalArgument` for a length or a stamp that no block has. Java keeps them in
        signed numbers and sends them as unsigned ones: the upper half is negative."""
        for what, number in (
            ("length", self.block.length_bytes),
            ("generation stamp", self.block.generation_stamp),
            ("latest generation stamp", self.latest_generation_stamp),
        ):
            if signed64(number) < 0:
                raise errors.IllegalArgument(
                    f"WRITE_BLOCK of {self.block}: its {what} is {number}, which no block has"
                )

    def for_mirror(self) -> WriteBlock:
        """The same request as the next datanode of the pipeline must get it."""
        if not self.targets:
            raise ValueError(f"{self.block} has no target behind this datanode")
        types, ids = self.target_storage_types, self.target_storage_ids
        return WriteBlock(
            self.block,
            self.client_name,
            self.stage,
            self.checksum,
            self.targets[1:],
            self.source,
            self.pipeline_size,
            self.min_bytes_received,
            self.max_bytes_received,
            self.latest_generation_stamp,
            types[0] if types else StorageType.DISK,
            ids[0] if ids else None,
            types[1:],
            ids[1:],
            self.allow_lazy_persist,
            self.target_pinnings[0] if self.target_pinnings else False,
            self.target_pinnings[1:],
            self.hints,
            self.token,
            self.trace,
        )


@dataclass(frozen=True, slots=True)
class TransferBlock:
    """A client asks the datanode to copy its replica to `targets`."""

    block: ExtendedBlock
    client_name: str
    targets: tuple[DatanodeAddress, ...]
    target_storage_types: tuple[StorageType, ...] = ()
    target_storage_ids: tuple[str, ...] = ()
    token: BlockToken = NO_TOKEN
    trace: bytes = b""


@dataclass(frozen=True, slots=True)
class BlockChecksum:
    block: ExtendedBlock
    checksum_type: BlockChecksumType = BlockChecksumType.MD5CRC
    stripe_length_bytes: int = 0
    token: BlockToken = NO_TOKEN
    trace: bytes = b""


@dataclass(frozen=True, slots=True)
class BlockGroupChecksum:
    """For the checksum of a block group's first `requested_bytes` of data: who has which of its
    internal blocks. The datanode that is asked asks the others. `tokens` are of the internal
    blocks, `block` is the group."""

    block: ExtendedBlock
    nodes: tuple[DatanodeAddress, ...]
    indices: tuple[int, ...]
    policy: Policy
    requested_bytes: int
    checksum_type: BlockChecksumType = BlockChecksumType.MD5CRC
    tokens: tuple[BlockToken, ...] = ()
    token: BlockToken = NO_TOKEN
    trace: bytes = b""


@dataclass(frozen=True, slots=True)
class CopyBlock:
    """A datanode asks another one for a whole replica, which it is to have in a move."""

    block: ExtendedBlock
    token: BlockToken = NO_TOKEN
    trace: bytes = b""


@dataclass(frozen=True, slots=True)
class ReplaceBlock:
    """A balancer asks the target of a move to get the replica from `proxy`.

    `delete_hint` is the uuid of the datanode that is to lose its replica, which may be another
    one than the proxy. Is the proxy the target itself, the replica goes to another of its
    volumes, of `storage_type`.
    """

    block: ExtendedBlock
    delete_hint: str
    proxy: DatanodeAddress
    storage_type: StorageType = StorageType.DISK
    storage_id: str | None = None
    token: BlockToken = NO_TOKEN
    trace: bytes = b""


@dataclass(frozen=True, slots=True)
class OtherRequest:
    """An operation of the protocol that isn't served; `body` is left as it came."""

    op: Op
    body: bytes


Request = (
    ReadBlock
    | WriteBlock
    | TransferBlock
    | BlockChecksum
    | BlockGroupChecksum
    | CopyBlock
    | ReplaceBlock
    | RequestDescriptors
    | ReleaseSlot
    | RequestSegment
    | OtherRequest
)


# --- as bytes -----------------------------------------------------------------


def _base_header(
    request: ReadBlock
    | WriteBlock
    | TransferBlock
    | BlockChecksum
    | BlockGroupChecksum
    | CopyBlock
    | ReplaceBlock,
) -> pb.BaseHeaderProto:
    header = pb.BaseHeaderProto(block=request.block.to_proto(), token=request.token.to_proto())
    if 0 < len(request.trace) <= MAX_CONTEXT_BYTES:
        trace_id, parent_id = ids_of(request.trace)
        header.traceInfo.traceId = trace_id
        header.traceInfo.parentId = parent_id
        header.traceInfo.spanContext = request.trace
    return header


def _client_header(
    request: ReadBlock | WriteBlock | TransferBlock,
) -> pb.ClientOperationHeaderProto:
    return pb.ClientOperationHeaderProto(
        baseHeader=_base_header(request), clientName=request.client_name
    )


def _hints_to_proto(hints: CachingHints) -> pb.CachingStrategyProto | None:
    if hints == NO_HINTS:
        return None
    proto = pb.CachingStrategyProto(readahead=hints.readahead_bytes)
    if hints.drop_behind is not None:
        proto.dropBehind = hints.drop_behind
    return proto


def _names_of(types: tuple[StorageType, ...]) -> list[str]:
    return [value.name for value in types]


def checksum_to_proto(spec: ChecksumSpec) -> pb.ChecksumProto:
    return pb.ChecksumProto(
        type=f"CHECKSUM_{spec.type.name}",
        bytesPerChecksum=spec.bytes_per_checksum,
    )


def _write_to_proto(request: WriteBlock) -> pb.OpWriteBlockProto:
    return pb.OpWriteBlockProto(
        header=_client_header(request),
        targets=[target.to_proto() for target in request.targets],
        source=request.source.to_proto() if request.source else None,
        stage=request.stage.name,
        pipelineSize=request.pipeline_size,
        minBytesRcvd=request.min_bytes_received,
        maxBytesRcvd=request.max_bytes_received,
        latestGenerationStamp=request.latest_generation_stamp,
        requestedChecksum=checksum_to_proto(request.checksum),
        cachingStrategy=_hints_to_proto(request.hints),
        storageType=request.storage_type.name,
        targetStorageTypes=_names_of(request.target_storage_types),
        allowLazyPersist=request.allow_lazy_persist,
        pinning=request.pinning,
        targetPinnings=request.target_pinnings,
        storageId=request.storage_id,
        targetStorageIds=request.target_storage_ids,
    )


def _encode_read(request: ReadBlock) -> bytes:
    """Readers ask for one block, or one stretch of a block, after the other: only the numbers
    differ, so the rest is encoded once. With a trace each request is another one."""
    if request.trace:
        return _framed(
            Op.READ_BLOCK,
            pb.OpReadBlockProto(
                header=_client_header(request),
                offset=request.offset,
                len=request.length_bytes,
                sendChecksums=request.send_checksums,
                cachingStrategy=_hints_to_proto(request.hints),
            ),
        )
    return encode_plain_read(
        request.block,
        request.token,
        request.client_name,
        request.offset,
        request.length_bytes,
        request.hints,
        request.send_checksums,
    )


def encode_plain_read(
    block: ExtendedBlock,
    token: BlockToken,
    client_name: str,
    offset: int,
    length_bytes: int,
    hints: CachingHints,
    send_checksums: bool = True,
) -> bytes:
    """A `ReadBlock` that is in no trace, for those who ask for one after the other."""
    global _latest_read
    said = block.pool_id, token, client_name, send_checksums, hints
    before, parts = _latest_read
    if said != before:
        parts = _read_parts(*said)
        _latest_read = said, parts
    pool, token_field, client, rest = parts
    return read_request(
        _READ_BLOCK,
        pool,
        token_field,
        client,
        rest,
        block.block_id,
        block.generation_stamp,
        block.length_bytes,
        offset,
        length_bytes,
    )


_READ_BLOCK = OP_HEADER.pack(VERSION, Op.READ_BLOCK)


@lru_cache(maxsize=256)
def _read_parts(
    pool_id: str,
    token: BlockToken,
    client_name: str,
    send_checksums: bool,
    hints: CachingHints,
) -> tuple[bytes, bytes, bytes, bytes]:
    """The block's pool, the token, the client's name, and what stands behind `len`: each with its
    tag, as protobuf has it."""
    return (
        types_pb2.ExtendedBlockProto(poolId=pool_id).SerializePartialToString(),
        pb.BaseHeaderProto(token=token.to_proto()).SerializePartialToString(),
        pb.ClientOperationHeaderProto(clientName=client_name).SerializePartialToString(),
        pb.OpReadBlockProto(
            sendChecksums=send_checksums, cachingStrategy=_hints_to_proto(hints)
        ).SerializePartialToString(),
    )


_latest_read: tuple[object, tuple[bytes, bytes, bytes, bytes]] = None, (b"", b"", b"", b"")
"""Of the read that was encoded last: what it said, and the parts of that. To compare is quicker
than to hash."""


def _framed(op: Op, message: Message) -> bytes:
    return OP_HEADER.pack(VERSION, op) + delimited(message)


def encode_request(request: Request) -> bytes:
    """The bytes that open an operation: version, opcode, message."""
    match request:
        case WriteBlock():
            return _framed(Op.WRITE_BLOCK, _write_to_proto(request))
        case ReadBlock():
            return _encode_read(request)
        case BlockChecksum():
            return _framed(
                Op.BLOCK_CHECKSUM,
                pb.OpBlockChecksumProto(
                    header=_base_header(request),
                    blockChecksumOptions=types_pb2.BlockChecksumOptionsProto(
                        blockChecksumType=request.checksum_type.name,
                        stripeLength=request.stripe_length_bytes,
                    ),
                ),
            )
        case BlockGroupChecksum():
            return _framed(
                Op.BLOCK_GROUP_CHECKSUM,
                pb.OpBlockGroupChecksumProto(
                    header=_base_header(request),
                    datanodes=types_pb2.DatanodeInfosProto(
                        datanodes=[node.to_proto() for node in request.nodes]
                    ),
                    blockTokens=[token.to_proto() for token in request.tokens],
                    ecPolicy=policy_to_proto(request.policy),
                    blockIndices=request.indices,
                    requestedNumBytes=request.requested_bytes,
                    blockChecksumOptions=types_pb2.BlockChecksumOptionsProto(
                        blockChecksumType=request.checksum_type.name
                    ),
                ),
            )
        case TransferBlock():
            return _framed(
                Op.TRANSFER_BLOCK,
                pb.OpTransferBlockProto(
                    header=_client_header(request),
                    targets=[target.to_proto() for target in request.targets],
                    targetStorageTypes=_names_of(request.target_storage_types),
                    targetStorageIds=request.target_storage_ids,
                ),
            )
        case CopyBlock():
            return _framed(
                Op.COPY_BLOCK,
                pb.OpCopyBlockProto(header=_base_header(request)),
            )
        case ReplaceBlock():
            return _framed(
                Op.REPLACE_BLOCK,
                pb.OpReplaceBlockProto(
                    header=_base_header(request),
                    delHint=request.delete_hint,
                    source=request.proxy.to_proto(),
                    storageType=request.storage_type.name,
                    storageId=request.storage_id,
                ),
            )
        case RequestDescriptors():
            return _framed(Op.REQUEST_SHORT_CIRCUIT_FDS, request.to_proto())
        case ReleaseSlot():
            return _framed(Op.RELEASE_SHORT_CIRCUIT_FDS, request.to_proto())
        case RequestSegment():
            return _framed(Op.REQUEST_SHORT_CIRCUIT_SHM, request.to_proto())
        case OtherRequest():
            raise errors.UnsupportedOperation(f"{request.op.name} is not sent by howdah")
