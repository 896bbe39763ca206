from howdah.proto import rpc_pb2 as _rpc_pb2
from howdah.proto import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Status(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SUCCESS: _ClassVar[Status]
    ERROR: _ClassVar[Status]
    ERROR_CHECKSUM: _ClassVar[Status]
    ERROR_INVALID: _ClassVar[Status]
    ERROR_EXISTS: _ClassVar[Status]
    ERROR_ACCESS_TOKEN: _ClassVar[Status]
    CHECKSUM_OK: _ClassVar[Status]
    ERROR_UNSUPPORTED: _ClassVar[Status]
    OOB_RESTART: _ClassVar[Status]
    OOB_RESERVED1: _ClassVar[Status]
    OOB_RESERVED2: _ClassVar[Status]
    OOB_RESERVED3: _ClassVar[Status]
    IN_PROGRESS: _ClassVar[Status]
    ERROR_BLOCK_PINNED: _ClassVar[Status]

class ShortCircuitFdResponse(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DO_NOT_USE_RECEIPT_VERIFICATION: _ClassVar[ShortCircuitFdResponse]
    USE_RECEIPT_VERIFICATION: _ClassVar[ShortCircuitFdResponse]
SUCCESS: Status
ERROR: Status
ERROR_CHECKSUM: Status
ERROR_INVALID: Status
ERROR_EXISTS: Status
ERROR_ACCESS_TOKEN: Status
CHECKSUM_OK: Status
ERROR_UNSUPPORTED: Status
OOB_RESTART: Status
OOB_RESERVED1: Status
OOB_RESERVED2: Status
OOB_RESERVED3: Status
IN_PROGRESS: Status
ERROR_BLOCK_PINNED: Status
DO_NOT_USE_RECEIPT_VERIFICATION: ShortCircuitFdResponse
USE_RECEIPT_VERIFICATION: ShortCircuitFdResponse

class DataTransferEncryptorMessageProto(_message.Message):
    __slots__ = ("status", "payload", "message", "cipherOption", "handshakeSecret", "accessTokenError")
    class DataTransferEncryptorStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        SUCCESS: _ClassVar[DataTransferEncryptorMessageProto.DataTransferEncryptorStatus]
        ERROR_UNKNOWN_KEY: _ClassVar[DataTransferEncryptorMessageProto.DataTransferEncryptorStatus]
        ERROR: _ClassVar[DataTransferEncryptorMessageProto.DataTransferEncryptorStatus]
    SUCCESS: DataTransferEncryptorMessageProto.DataTransferEncryptorStatus
    ERROR_UNKNOWN_KEY: DataTransferEncryptorMessageProto.DataTransferEncryptorStatus
    ERROR: DataTransferEncryptorMessageProto.DataTransferEncryptorStatus
    STATUS_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    CIPHEROPTION_FIELD_NUMBER: _ClassVar[int]
    HANDSHAKESECRET_FIELD_NUMBER: _ClassVar[int]
    ACCESSTOKENERROR_FIELD_NUMBER: _ClassVar[int]
    status: DataTransferEncryptorMessageProto.DataTransferEncryptorStatus
    payload: bytes
    message: str
    cipherOption: _containers.RepeatedCompositeFieldContainer[_types_pb2.CipherOptionProto]
    handshakeSecret: HandshakeSecretProto
    accessTokenError: bool
    def __init__(self, status: _Optional[_Union[DataTransferEncryptorMessageProto.DataTransferEncryptorStatus, str]] = ..., payload: _Optional[bytes] = ..., message: _Optional[str] = ..., cipherOption: _Optional[_Iterable[_Union[_types_pb2.CipherOptionProto, _Mapping]]] = ..., handshakeSecret: _Optional[_Union[HandshakeSecretProto, _Mapping]] = ..., accessTokenError: bool = ...) -> None: ...

class HandshakeSecretProto(_message.Message):
    __slots__ = ("secret", "bpid")
    SECRET_FIELD_NUMBER: _ClassVar[int]
    BPID_FIELD_NUMBER: _ClassVar[int]
    secret: bytes
    bpid: str
    def __init__(self, secret: _Optional[bytes] = ..., bpid: _Optional[str] = ...) -> None: ...

class BaseHeaderProto(_message.Message):
    __slots__ = ("block", "token", "traceInfo")
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    TRACEINFO_FIELD_NUMBER: _ClassVar[int]
    block: _types_pb2.ExtendedBlockProto
    token: _rpc_pb2.TokenProto
    traceInfo: DataTransferTraceInfoProto
    def __init__(self, block: _Optional[_Union[_types_pb2.ExtendedBlockProto, _Mapping]] = ..., token: _Optional[_Union[_rpc_pb2.TokenProto, _Mapping]] = ..., traceInfo: _Optional[_Union[DataTransferTraceInfoProto, _Mapping]] = ...) -> None: ...

class DataTransferTraceInfoProto(_message.Message):
    __slots__ = ("traceId", "parentId", "spanContext")
    TRACEID_FIELD_NUMBER: _ClassVar[int]
    PARENTID_FIELD_NUMBER: _ClassVar[int]
    SPANCONTEXT_FIELD_NUMBER: _ClassVar[int]
    traceId: int
    parentId: int
    spanContext: bytes
    def __init__(self, traceId: _Optional[int] = ..., parentId: _Optional[int] = ..., spanContext: _Optional[bytes] = ...) -> None: ...

class ClientOperationHeaderProto(_message.Message):
    __slots__ = ("baseHeader", "clientName")
    BASEHEADER_FIELD_NUMBER: _ClassVar[int]
    CLIENTNAME_FIELD_NUMBER: _ClassVar[int]
    baseHeader: BaseHeaderProto
    clientName: str
    def __init__(self, baseHeader: _Optional[_Union[BaseHeaderProto, _Mapping]] = ..., clientName: _Optional[str] = ...) -> None: ...

class CachingStrategyProto(_message.Message):
    __slots__ = ("dropBehind", "readahead")
    DROPBEHIND_FIELD_NUMBER: _ClassVar[int]
    READAHEAD_FIELD_NUMBER: _ClassVar[int]
    dropBehind: bool
    readahead: int
    def __init__(self, dropBehind: bool = ..., readahead: _Optional[int] = ...) -> None: ...

class OpReadBlockProto(_message.Message):
    __slots__ = ("header", "offset", "len", "sendChecksums", "cachingStrategy")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    LEN_FIELD_NUMBER: _ClassVar[int]
    SENDCHECKSUMS_FIELD_NUMBER: _ClassVar[int]
    CACHINGSTRATEGY_FIELD_NUMBER: _ClassVar[int]
    header: ClientOperationHeaderProto
    offset: int
    len: int
    sendChecksums: bool
    cachingStrategy: CachingStrategyProto
    def __init__(self, header: _Optional[_Union[ClientOperationHeaderProto, _Mapping]] = ..., offset: _Optional[int] = ..., len: _Optional[int] = ..., sendChecksums: bool = ..., cachingStrategy: _Optional[_Union[CachingStrategyProto, _Mapping]] = ...) -> None: ...

class ChecksumProto(_message.Message):
    __slots__ = ("type", "bytesPerChecksum")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    BYTESPERCHECKSUM_FIELD_NUMBER: _ClassVar[int]
    type: _types_pb2.ChecksumTypeProto
    bytesPerChecksum: int
    def __init__(self, type: _Optional[_Union[_types_pb2.ChecksumTypeProto, str]] = ..., bytesPerChecksum: _Optional[int] = ...) -> None: ...

class OpWriteBlockProto(_message.Message):
    __slots__ = ("header", "targets", "source", "stage", "pipelineSize", "minBytesRcvd", "maxBytesRcvd", "latestGenerationStamp", "requestedChecksum", "cachingStrategy", "storageType", "targetStorageTypes", "allowLazyPersist", "pinning", "targetPinnings", "storageId", "targetStorageIds")
    class BlockConstructionStage(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        PIPELINE_SETUP_APPEND: _ClassVar[OpWriteBlockProto.BlockConstructionStage]
        PIPELINE_SETUP_APPEND_RECOVERY: _ClassVar[OpWriteBlockProto.BlockConstructionStage]
        DATA_STREAMING: _ClassVar[OpWriteBlockProto.BlockConstructionStage]
        PIPELINE_SETUP_STREAMING_RECOVERY: _ClassVar[OpWriteBlockProto.BlockConstructionStage]
        PIPELINE_CLOSE: _ClassVar[OpWriteBlockProto.BlockConstructionStage]
        PIPELINE_CLOSE_RECOVERY: _ClassVar[OpWriteBlockProto.BlockConstructionStage]
        PIPELINE_SETUP_CREATE: _ClassVar[OpWriteBlockProto.BlockConstructionStage]
        TRANSFER_RBW: _ClassVar[OpWriteBlockProto.BlockConstructionStage]
        TRANSFER_FINALIZED: _ClassVar[OpWriteBlockProto.BlockConstructionStage]
    PIPELINE_SETUP_APPEND: OpWriteBlockProto.BlockConstructionStage
    PIPELINE_SETUP_APPEND_RECOVERY: OpWriteBlockProto.BlockConstructionStage
    DATA_STREAMING: OpWriteBlockProto.BlockConstructionStage
    PIPELINE_SETUP_STREAMING_RECOVERY: OpWriteBlockProto.BlockConstructionStage
    PIPELINE_CLOSE: OpWriteBlockProto.BlockConstructionStage
    PIPELINE_CLOSE_RECOVERY: OpWriteBlockProto.BlockConstructionStage
    PIPELINE_SETUP_CREATE: OpWriteBlockProto.BlockConstructionStage
    TRANSFER_RBW: OpWriteBlockProto.BlockConstructionStage
    TRANSFER_FINALIZED: OpWriteBlockProto.BlockConstructionStage
    HEADER_FIELD_NUMBER: _ClassVar[int]
    TARGETS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    PIPELINESIZE_FIELD_NUMBER: _ClassVar[int]
    MINBYTESRCVD_FIELD_NUMBER: _ClassVar[int]
    MAXBYTESRCVD_FIELD_NUMBER: _ClassVar[int]
    LATESTGENERATIONSTAMP_FIELD_NUMBER: _ClassVar[int]
    REQUESTEDCHECKSUM_FIELD_NUMBER: _ClassVar[int]
    CACHINGSTRATEGY_FIELD_NUMBER: _ClassVar[int]
    STORAGETYPE_FIELD_NUMBER: _ClassVar[int]
    TARGETSTORAGETYPES_FIELD_NUMBER: _ClassVar[int]
    ALLOWLAZYPERSIST_FIELD_NUMBER: _ClassVar[int]
    PINNING_FIELD_NUMBER: _ClassVar[int]
    TARGETPINNINGS_FIELD_NUMBER: _ClassVar[int]
    STORAGEID_FIELD_NUMBER: _ClassVar[int]
    TARGETSTORAGEIDS_FIELD_NUMBER: _ClassVar[int]
    header: ClientOperationHeaderProto
    targets: _containers.RepeatedCompositeFieldContainer[_types_pb2.DatanodeInfoProto]
    source: _types_pb2.DatanodeInfoProto
    stage: OpWriteBlockProto.BlockConstructionStage
    pipelineSize: int
    minBytesRcvd: int
    maxBytesRcvd: int
    latestGenerationStamp: int
    requestedChecksum: ChecksumProto
    cachingStrategy: CachingStrategyProto
    storageType: _types_pb2.StorageTypeProto
    targetStorageTypes: _containers.RepeatedScalarFieldContainer[_types_pb2.StorageTypeProto]
    allowLazyPersist: bool
    pinning: bool
    targetPinnings: _containers.RepeatedScalarFieldContainer[bool]
    storageId: str
    targetStorageIds: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, header: _Optional[_Union[ClientOperationHeaderProto, _Mapping]] = ..., targets: _Optional[_Iterable[_Union[_types_pb2.DatanodeInfoProto, _Mapping]]] = ..., source: _Optional[_Union[_types_pb2.DatanodeInfoProto, _Mapping]] = ..., stage: _Optional[_Union[OpWriteBlockProto.BlockConstructionStage, str]] = ..., pipelineSize: _Optional[int] = ..., minBytesRcvd: _Optional[int] = ..., maxBytesRcvd: _Optional[int] = ..., latestGenerationStamp: _Optional[int] = ..., requestedChecksum: _Optional[_Union[ChecksumProto, _Mapping]] = ..., cachingStrategy: _Optional[_Union[CachingStrategyProto, _Mapping]] = ..., storageType: _Optional[_Union[_types_pb2.StorageTypeProto, str]] = ..., targetStorageTypes: _Optional[_Iterable[_Union[_types_pb2.StorageTypeProto, str]]] = ..., allowLazyPersist: bool = ..., pinning: bool = ..., targetPinnings: _Optional[_Iterable[bool]] = ..., storageId: _Optional[str] = ..., targetStorageIds: _Optional[_Iterable[str]] = ...) -> None: ...

class OpTransferBlockProto(_message.Message):
    __slots__ = ("header", "targets", "targetStorageTypes", "targetStorageIds")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    TARGETS_FIELD_NUMBER: _ClassVar[int]
    TARGETSTORAGETYPES_FIELD_NUMBER: _ClassVar[int]
    TARGETSTORAGEIDS_FIELD_NUMBER: _ClassVar[int]
    header: ClientOperationHeaderProto
    targets: _containers.RepeatedCompositeFieldContainer[_types_pb2.DatanodeInfoProto]
    targetStorageTypes: _containers.RepeatedScalarFieldContainer[_types_pb2.StorageTypeProto]
    targetStorageIds: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, header: _Optional[_Union[ClientOperationHeaderProto, _Mapping]] = ..., targets: _Optional[_Iterable[_Union[_types_pb2.DatanodeInfoProto, _Mapping]]] = ..., targetStorageTypes: _Optional[_Iterable[_Union[_types_pb2.StorageTypeProto, str]]] = ..., targetStorageIds: _Optional[_Iterable[str]] = ...) -> None: ...

class OpReplaceBlockProto(_message.Message):
    __slots__ = ("header", "delHint", "source", "storageType", "storageId")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    DELHINT_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    STORAGETYPE_FIELD_NUMBER: _ClassVar[int]
    STORAGEID_FIELD_NUMBER: _ClassVar[int]
    header: BaseHeaderProto
    delHint: str
    source: _types_pb2.DatanodeInfoProto
    storageType: _types_pb2.StorageTypeProto
    storageId: str
    def __init__(self, header: _Optional[_Union[BaseHeaderProto, _Mapping]] = ..., delHint: _Optional[str] = ..., source: _Optional[_Union[_types_pb2.DatanodeInfoProto, _Mapping]] = ..., storageType: _Optional[_Union[_types_pb2.StorageTypeProto, str]] = ..., storageId: _Optional[str] = ...) -> None: ...

class OpCopyBlockProto(_message.Message):
    __slots__ = ("header",)
    HEADER_FIELD_NUMBER: _ClassVar[int]
    header: BaseHeaderProto
    def __init__(self, header: _Optional[_Union[BaseHeaderProto, _Mapping]] = ...) -> None: ...

class OpBlockChecksumProto(_message.Message):
    __slots__ = ("header", "blockChecksumOptions")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    BLOCKCHECKSUMOPTIONS_FIELD_NUMBER: _ClassVar[int]
    header: BaseHeaderProto
    blockChecksumOptions: _types_pb2.BlockChecksumOptionsProto
    def __init__(self, header: _Optional[_Union[BaseHeaderProto, _Mapping]] = ..., blockChecksumOptions: _Optional[_Union[_types_pb2.BlockChecksumOptionsProto, _Mapping]] = ...) -> None: ...

class OpBlockGroupChecksumProto(_message.Message):
    __slots__ = ("header", "datanodes", "blockTokens", "ecPolicy", "blockIndices", "requestedNumBytes", "blockChecksumOptions")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    DATANODES_FIELD_NUMBER: _ClassVar[int]
    BLOCKTOKENS_FIELD_NUMBER: _ClassVar[int]
    ECPOLICY_FIELD_NUMBER: _ClassVar[int]
    BLOCKINDICES_FIELD_NUMBER: _ClassVar[int]
    REQUESTEDNUMBYTES_FIELD_NUMBER: _ClassVar[int]
    BLOCKCHECKSUMOPTIONS_FIELD_NUMBER: _ClassVar[int]
    header: BaseHeaderProto
    datanodes: _types_pb2.DatanodeInfosProto
    blockTokens: _containers.RepeatedCompositeFieldContainer[_rpc_pb2.TokenProto]
    ecPolicy: _types_pb2.ErasureCodingPolicyProto
    blockIndices: _containers.RepeatedScalarFieldContainer[int]
    requestedNumBytes: int
    blockChecksumOptions: _types_pb2.BlockChecksumOptionsProto
    def __init__(self, header: _Optional[_Union[BaseHeaderProto, _Mapping]] = ..., datanodes: _Optional[_Union[_types_pb2.DatanodeInfosProto, _Mapping]] = ..., blockTokens: _Optional[_Iterable[_Union[_rpc_pb2.TokenProto, _Mapping]]] = ..., ecPolicy: _Optional[_Union[_types_pb2.ErasureCodingPolicyProto, _Mapping]] = ..., blockIndices: _Optional[_Iterable[int]] = ..., requestedNumBytes: _Optional[int] = ..., blockChecksumOptions: _Optional[_Union[_types_pb2.BlockChecksumOptionsProto, _Mapping]] = ...) -> None: ...

class ShortCircuitShmIdProto(_message.Message):
    __slots__ = ("hi", "lo")
    HI_FIELD_NUMBER: _ClassVar[int]
    LO_FIELD_NUMBER: _ClassVar[int]
    hi: int
    lo: int
    def __init__(self, hi: _Optional[int] = ..., lo: _Optional[int] = ...) -> None: ...

class ShortCircuitShmSlotProto(_message.Message):
    __slots__ = ("shmId", "slotIdx")
    SHMID_FIELD_NUMBER: _ClassVar[int]
    SLOTIDX_FIELD_NUMBER: _ClassVar[int]
    shmId: ShortCircuitShmIdProto
    slotIdx: int
    def __init__(self, shmId: _Optional[_Union[ShortCircuitShmIdProto, _Mapping]] = ..., slotIdx: _Optional[int] = ...) -> None: ...

class OpRequestShortCircuitAccessProto(_message.Message):
    __slots__ = ("header", "maxVersion", "slotId", "supportsReceiptVerification")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    MAXVERSION_FIELD_NUMBER: _ClassVar[int]
    SLOTID_FIELD_NUMBER: _ClassVar[int]
    SUPPORTSRECEIPTVERIFICATION_FIELD_NUMBER: _ClassVar[int]
    header: BaseHeaderProto
    maxVersion: int
    slotId: ShortCircuitShmSlotProto
    supportsReceiptVerification: bool
    def __init__(self, header: _Optional[_Union[BaseHeaderProto, _Mapping]] = ..., maxVersion: _Optional[int] = ..., slotId: _Optional[_Union[ShortCircuitShmSlotProto, _Mapping]] = ..., supportsReceiptVerification: bool = ...) -> None: ...

class ReleaseShortCircuitAccessRequestProto(_message.Message):
    __slots__ = ("slotId", "traceInfo")
    SLOTID_FIELD_NUMBER: _ClassVar[int]
    TRACEINFO_FIELD_NUMBER: _ClassVar[int]
    slotId: ShortCircuitShmSlotProto
    traceInfo: DataTransferTraceInfoProto
    def __init__(self, slotId: _Optional[_Union[ShortCircuitShmSlotProto, _Mapping]] = ..., traceInfo: _Optional[_Union[DataTransferTraceInfoProto, _Mapping]] = ...) -> None: ...

class ReleaseShortCircuitAccessResponseProto(_message.Message):
    __slots__ = ("status", "error")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    status: Status
    error: str
    def __init__(self, status: _Optional[_Union[Status, str]] = ..., error: _Optional[str] = ...) -> None: ...

class ShortCircuitShmRequestProto(_message.Message):
    __slots__ = ("clientName", "traceInfo")
    CLIENTNAME_FIELD_NUMBER: _ClassVar[int]
    TRACEINFO_FIELD_NUMBER: _ClassVar[int]
    clientName: str
    traceInfo: DataTransferTraceInfoProto
    def __init__(self, clientName: _Optional[str] = ..., traceInfo: _Optional[_Union[DataTransferTraceInfoProto, _Mapping]] = ...) -> None: ...

class ShortCircuitShmResponseProto(_message.Message):
    __slots__ = ("status", "error", "id")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    status: Status
    error: str
    id: ShortCircuitShmIdProto
    def __init__(self, status: _Optional[_Union[Status, str]] = ..., error: _Optional[str] = ..., id: _Optional[_Union[ShortCircuitShmIdProto, _Mapping]] = ...) -> None: ...

class PacketHeaderProto(_message.Message):
    __slots__ = ("offsetInBlock", "seqno", "lastPacketInBlock", "dataLen", "syncBlock")
    OFFSETINBLOCK_FIELD_NUMBER: _ClassVar[int]
    SEQNO_FIELD_NUMBER: _ClassVar[int]
    LASTPACKETINBLOCK_FIELD_NUMBER: _ClassVar[int]
    DATALEN_FIELD_NUMBER: _ClassVar[int]
    SYNCBLOCK_FIELD_NUMBER: _ClassVar[int]
    offsetInBlock: int
    seqno: int
    lastPacketInBlock: bool
    dataLen: int
    syncBlock: bool
    def __init__(self, offsetInBlock: _Optional[int] = ..., seqno: _Optional[int] = ..., lastPacketInBlock: bool = ..., dataLen: _Optional[int] = ..., syncBlock: bool = ...) -> None: ...

class PipelineAckProto(_message.Message):
    __slots__ = ("seqno", "reply", "downstreamAckTimeNanos", "flag")
    SEQNO_FIELD_NUMBER: _ClassVar[int]
    REPLY_FIELD_NUMBER: _ClassVar[int]
    DOWNSTREAMACKTIMENANOS_FIELD_NUMBER: _ClassVar[int]
    FLAG_FIELD_NUMBER: _ClassVar[int]
    seqno: int
    reply: _containers.RepeatedScalarFieldContainer[Status]
    downstreamAckTimeNanos: int
    flag: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, seqno: _Optional[int] = ..., reply: _Optional[_Iterable[_Union[Status, str]]] = ..., downstreamAckTimeNanos: _Optional[int] = ..., flag: _Optional[_Iterable[int]] = ...) -> None: ...

class ReadOpChecksumInfoProto(_message.Message):
    __slots__ = ("checksum", "chunkOffset")
    CHECKSUM_FIELD_NUMBER: _ClassVar[int]
    CHUNKOFFSET_FIELD_NUMBER: _ClassVar[int]
    checksum: ChecksumProto
    chunkOffset: int
    def __init__(self, checksum: _Optional[_Union[ChecksumProto, _Mapping]] = ..., chunkOffset: _Optional[int] = ...) -> None: ...

class BlockOpResponseProto(_message.Message):
    __slots__ = ("status", "firstBadLink", "checksumResponse", "readOpChecksumInfo", "message", "shortCircuitAccessVersion")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    FIRSTBADLINK_FIELD_NUMBER: _ClassVar[int]
    CHECKSUMRESPONSE_FIELD_NUMBER: _ClassVar[int]
    READOPCHECKSUMINFO_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    SHORTCIRCUITACCESSVERSION_FIELD_NUMBER: _ClassVar[int]
    status: Status
    firstBadLink: str
    checksumResponse: OpBlockChecksumResponseProto
    readOpChecksumInfo: ReadOpChecksumInfoProto
    message: str
    shortCircuitAccessVersion: int
    def __init__(self, status: _Optional[_Union[Status, str]] = ..., firstBadLink: _Optional[str] = ..., checksumResponse: _Optional[_Union[OpBlockChecksumResponseProto, _Mapping]] = ..., readOpChecksumInfo: _Optional[_Union[ReadOpChecksumInfoProto, _Mapping]] = ..., message: _Optional[str] = ..., shortCircuitAccessVersion: _Optional[int] = ...) -> None: ...

class ClientReadStatusProto(_message.Message):
    __slots__ = ("status",)
    STATUS_FIELD_NUMBER: _ClassVar[int]
    status: Status
    def __init__(self, status: _Optional[_Union[Status, str]] = ...) -> None: ...

class DNTransferAckProto(_message.Message):
    __slots__ = ("status",)
    STATUS_FIELD_NUMBER: _ClassVar[int]
    status: Status
    def __init__(self, status: _Optional[_Union[Status, str]] = ...) -> None: ...

class OpBlockChecksumResponseProto(_message.Message):
    __slots__ = ("bytesPerCrc", "crcPerBlock", "blockChecksum", "crcType", "blockChecksumOptions")
    BYTESPERCRC_FIELD_NUMBER: _ClassVar[int]
    CRCPERBLOCK_FIELD_NUMBER: _ClassVar[int]
    BLOCKCHECKSUM_FIELD_NUMBER: _ClassVar[int]
    CRCTYPE_FIELD_NUMBER: _ClassVar[int]
    BLOCKCHECKSUMOPTIONS_FIELD_NUMBER: _ClassVar[int]
    bytesPerCrc: int
    crcPerBlock: int
    blockChecksum: bytes
    crcType: _types_pb2.ChecksumTypeProto
    blockChecksumOptions: _types_pb2.BlockChecksumOptionsProto
    def __init__(self, bytesPerCrc: _Optional[int] = ..., crcPerBlock: _Optional[int] = ..., blockChecksum: _Optional[bytes] = ..., crcType: _Optional[_Union[_types_pb2.ChecksumTypeProto, str]] = ..., blockChecksumOptions: _Optional[_Union[_types_pb2.BlockChecksumOptionsProto, _Mapping]] = ...) -> None: ...

class OpCustomProto(_message.Message):
    __slots__ = ("customId",)
    CUSTOMID_FIELD_NUMBER: _ClassVar[int]
    customId: str
    def __init__(self, customId: _Optional[str] = ...) -> None: ...
