from howdah.proto import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ReplicaStateProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FINALIZED: _ClassVar[ReplicaStateProto]
    RBW: _ClassVar[ReplicaStateProto]
    RWR: _ClassVar[ReplicaStateProto]
    RUR: _ClassVar[ReplicaStateProto]
    TEMPORARY: _ClassVar[ReplicaStateProto]
FINALIZED: ReplicaStateProto
RBW: ReplicaStateProto
RWR: ReplicaStateProto
RUR: ReplicaStateProto
TEMPORARY: ReplicaStateProto

class BlockKeyProto(_message.Message):
    __slots__ = ("keyId", "expiryDate", "keyBytes")
    KEYID_FIELD_NUMBER: _ClassVar[int]
    EXPIRYDATE_FIELD_NUMBER: _ClassVar[int]
    KEYBYTES_FIELD_NUMBER: _ClassVar[int]
    keyId: int
    expiryDate: int
    keyBytes: bytes
    def __init__(self, keyId: _Optional[int] = ..., expiryDate: _Optional[int] = ..., keyBytes: _Optional[bytes] = ...) -> None: ...

class ExportedBlockKeysProto(_message.Message):
    __slots__ = ("isBlockTokenEnabled", "keyUpdateInterval", "tokenLifeTime", "currentKey", "allKeys")
    ISBLOCKTOKENENABLED_FIELD_NUMBER: _ClassVar[int]
    KEYUPDATEINTERVAL_FIELD_NUMBER: _ClassVar[int]
    TOKENLIFETIME_FIELD_NUMBER: _ClassVar[int]
    CURRENTKEY_FIELD_NUMBER: _ClassVar[int]
    ALLKEYS_FIELD_NUMBER: _ClassVar[int]
    isBlockTokenEnabled: bool
    keyUpdateInterval: int
    tokenLifeTime: int
    currentKey: BlockKeyProto
    allKeys: _containers.RepeatedCompositeFieldContainer[BlockKeyProto]
    def __init__(self, isBlockTokenEnabled: bool = ..., keyUpdateInterval: _Optional[int] = ..., tokenLifeTime: _Optional[int] = ..., currentKey: _Optional[_Union[BlockKeyProto, _Mapping]] = ..., allKeys: _Optional[_Iterable[_Union[BlockKeyProto, _Mapping]]] = ...) -> None: ...

class BlockWithLocationsProto(_message.Message):
    __slots__ = ("block", "datanodeUuids", "storageUuids", "storageTypes", "indices", "dataBlockNum", "cellSize")
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    DATANODEUUIDS_FIELD_NUMBER: _ClassVar[int]
    STORAGEUUIDS_FIELD_NUMBER: _ClassVar[int]
    STORAGETYPES_FIELD_NUMBER: _ClassVar[int]
    INDICES_FIELD_NUMBER: _ClassVar[int]
    DATABLOCKNUM_FIELD_NUMBER: _ClassVar[int]
    CELLSIZE_FIELD_NUMBER: _ClassVar[int]
    block: _types_pb2.BlockProto
    datanodeUuids: _containers.RepeatedScalarFieldContainer[str]
    storageUuids: _containers.RepeatedScalarFieldContainer[str]
    storageTypes: _containers.RepeatedScalarFieldContainer[_types_pb2.StorageTypeProto]
    indices: bytes
    dataBlockNum: int
    cellSize: int
    def __init__(self, block: _Optional[_Union[_types_pb2.BlockProto, _Mapping]] = ..., datanodeUuids: _Optional[_Iterable[str]] = ..., storageUuids: _Optional[_Iterable[str]] = ..., storageTypes: _Optional[_Iterable[_Union[_types_pb2.StorageTypeProto, str]]] = ..., indices: _Optional[bytes] = ..., dataBlockNum: _Optional[int] = ..., cellSize: _Optional[int] = ...) -> None: ...

class BlocksWithLocationsProto(_message.Message):
    __slots__ = ("blocks",)
    BLOCKS_FIELD_NUMBER: _ClassVar[int]
    blocks: _containers.RepeatedCompositeFieldContainer[BlockWithLocationsProto]
    def __init__(self, blocks: _Optional[_Iterable[_Union[BlockWithLocationsProto, _Mapping]]] = ...) -> None: ...

class RemoteEditLogProto(_message.Message):
    __slots__ = ("startTxId", "endTxId", "isInProgress")
    STARTTXID_FIELD_NUMBER: _ClassVar[int]
    ENDTXID_FIELD_NUMBER: _ClassVar[int]
    ISINPROGRESS_FIELD_NUMBER: _ClassVar[int]
    startTxId: int
    endTxId: int
    isInProgress: bool
    def __init__(self, startTxId: _Optional[int] = ..., endTxId: _Optional[int] = ..., isInProgress: bool = ...) -> None: ...

class RemoteEditLogManifestProto(_message.Message):
    __slots__ = ("logs", "committedTxnId")
    LOGS_FIELD_NUMBER: _ClassVar[int]
    COMMITTEDTXNID_FIELD_NUMBER: _ClassVar[int]
    logs: _containers.RepeatedCompositeFieldContainer[RemoteEditLogProto]
    committedTxnId: int
    def __init__(self, logs: _Optional[_Iterable[_Union[RemoteEditLogProto, _Mapping]]] = ..., committedTxnId: _Optional[int] = ...) -> None: ...

class NamespaceInfoProto(_message.Message):
    __slots__ = ("buildVersion", "unused", "blockPoolID", "storageInfo", "softwareVersion", "capabilities", "state")
    BUILDVERSION_FIELD_NUMBER: _ClassVar[int]
    UNUSED_FIELD_NUMBER: _ClassVar[int]
    BLOCKPOOLID_FIELD_NUMBER: _ClassVar[int]
    STORAGEINFO_FIELD_NUMBER: _ClassVar[int]
    SOFTWAREVERSION_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    buildVersion: str
    unused: int
    blockPoolID: str
    storageInfo: StorageInfoProto
    softwareVersion: str
    capabilities: int
    state: NNHAStatusHeartbeatProto.State
    def __init__(self, buildVersion: _Optional[str] = ..., unused: _Optional[int] = ..., blockPoolID: _Optional[str] = ..., storageInfo: _Optional[_Union[StorageInfoProto, _Mapping]] = ..., softwareVersion: _Optional[str] = ..., capabilities: _Optional[int] = ..., state: _Optional[_Union[NNHAStatusHeartbeatProto.State, str]] = ...) -> None: ...

class RecoveringBlockProto(_message.Message):
    __slots__ = ("newGenStamp", "block", "truncateBlock", "ecPolicy", "blockIndices")
    NEWGENSTAMP_FIELD_NUMBER: _ClassVar[int]
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    TRUNCATEBLOCK_FIELD_NUMBER: _ClassVar[int]
    ECPOLICY_FIELD_NUMBER: _ClassVar[int]
    BLOCKINDICES_FIELD_NUMBER: _ClassVar[int]
    newGenStamp: int
    block: _types_pb2.LocatedBlockProto
    truncateBlock: _types_pb2.BlockProto
    ecPolicy: _types_pb2.ErasureCodingPolicyProto
    blockIndices: bytes
    def __init__(self, newGenStamp: _Optional[int] = ..., block: _Optional[_Union[_types_pb2.LocatedBlockProto, _Mapping]] = ..., truncateBlock: _Optional[_Union[_types_pb2.BlockProto, _Mapping]] = ..., ecPolicy: _Optional[_Union[_types_pb2.ErasureCodingPolicyProto, _Mapping]] = ..., blockIndices: _Optional[bytes] = ...) -> None: ...

class CheckpointSignatureProto(_message.Message):
    __slots__ = ("blockPoolId", "mostRecentCheckpointTxId", "curSegmentTxId", "storageInfo")
    BLOCKPOOLID_FIELD_NUMBER: _ClassVar[int]
    MOSTRECENTCHECKPOINTTXID_FIELD_NUMBER: _ClassVar[int]
    CURSEGMENTTXID_FIELD_NUMBER: _ClassVar[int]
    STORAGEINFO_FIELD_NUMBER: _ClassVar[int]
    blockPoolId: str
    mostRecentCheckpointTxId: int
    curSegmentTxId: int
    storageInfo: StorageInfoProto
    def __init__(self, blockPoolId: _Optional[str] = ..., mostRecentCheckpointTxId: _Optional[int] = ..., curSegmentTxId: _Optional[int] = ..., storageInfo: _Optional[_Union[StorageInfoProto, _Mapping]] = ...) -> None: ...

class CheckpointCommandProto(_message.Message):
    __slots__ = ("signature", "needToReturnImage")
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    NEEDTORETURNIMAGE_FIELD_NUMBER: _ClassVar[int]
    signature: CheckpointSignatureProto
    needToReturnImage: bool
    def __init__(self, signature: _Optional[_Union[CheckpointSignatureProto, _Mapping]] = ..., needToReturnImage: bool = ...) -> None: ...

class NamenodeCommandProto(_message.Message):
    __slots__ = ("action", "type", "checkpointCmd")
    class Type(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        NamenodeCommand: _ClassVar[NamenodeCommandProto.Type]
        CheckPointCommand: _ClassVar[NamenodeCommandProto.Type]
    NamenodeCommand: NamenodeCommandProto.Type
    CheckPointCommand: NamenodeCommandProto.Type
    ACTION_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINTCMD_FIELD_NUMBER: _ClassVar[int]
    action: int
    type: NamenodeCommandProto.Type
    checkpointCmd: CheckpointCommandProto
    def __init__(self, action: _Optional[int] = ..., type: _Optional[_Union[NamenodeCommandProto.Type, str]] = ..., checkpointCmd: _Optional[_Union[CheckpointCommandProto, _Mapping]] = ...) -> None: ...

class VersionRequestProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class VersionResponseProto(_message.Message):
    __slots__ = ("info",)
    INFO_FIELD_NUMBER: _ClassVar[int]
    info: NamespaceInfoProto
    def __init__(self, info: _Optional[_Union[NamespaceInfoProto, _Mapping]] = ...) -> None: ...

class StorageInfoProto(_message.Message):
    __slots__ = ("layoutVersion", "namespceID", "clusterID", "cTime")
    LAYOUTVERSION_FIELD_NUMBER: _ClassVar[int]
    NAMESPCEID_FIELD_NUMBER: _ClassVar[int]
    CLUSTERID_FIELD_NUMBER: _ClassVar[int]
    CTIME_FIELD_NUMBER: _ClassVar[int]
    layoutVersion: int
    namespceID: int
    clusterID: str
    cTime: int
    def __init__(self, layoutVersion: _Optional[int] = ..., namespceID: _Optional[int] = ..., clusterID: _Optional[str] = ..., cTime: _Optional[int] = ...) -> None: ...

class NamenodeRegistrationProto(_message.Message):
    __slots__ = ("rpcAddress", "httpAddress", "storageInfo", "role")
    class NamenodeRoleProto(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        NAMENODE: _ClassVar[NamenodeRegistrationProto.NamenodeRoleProto]
        BACKUP: _ClassVar[NamenodeRegistrationProto.NamenodeRoleProto]
        CHECKPOINT: _ClassVar[NamenodeRegistrationProto.NamenodeRoleProto]
    NAMENODE: NamenodeRegistrationProto.NamenodeRoleProto
    BACKUP: NamenodeRegistrationProto.NamenodeRoleProto
    CHECKPOINT: NamenodeRegistrationProto.NamenodeRoleProto
    RPCADDRESS_FIELD_NUMBER: _ClassVar[int]
    HTTPADDRESS_FIELD_NUMBER: _ClassVar[int]
    STORAGEINFO_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    rpcAddress: str
    httpAddress: str
    storageInfo: StorageInfoProto
    role: NamenodeRegistrationProto.NamenodeRoleProto
    def __init__(self, rpcAddress: _Optional[str] = ..., httpAddress: _Optional[str] = ..., storageInfo: _Optional[_Union[StorageInfoProto, _Mapping]] = ..., role: _Optional[_Union[NamenodeRegistrationProto.NamenodeRoleProto, str]] = ...) -> None: ...

class NNHAStatusHeartbeatProto(_message.Message):
    __slots__ = ("state", "txid")
    class State(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        ACTIVE: _ClassVar[NNHAStatusHeartbeatProto.State]
        STANDBY: _ClassVar[NNHAStatusHeartbeatProto.State]
        OBSERVER: _ClassVar[NNHAStatusHeartbeatProto.State]
    ACTIVE: NNHAStatusHeartbeatProto.State
    STANDBY: NNHAStatusHeartbeatProto.State
    OBSERVER: NNHAStatusHeartbeatProto.State
    STATE_FIELD_NUMBER: _ClassVar[int]
    TXID_FIELD_NUMBER: _ClassVar[int]
    state: NNHAStatusHeartbeatProto.State
    txid: int
    def __init__(self, state: _Optional[_Union[NNHAStatusHeartbeatProto.State, str]] = ..., txid: _Optional[int] = ...) -> None: ...

class DatanodeRegistrationProto(_message.Message):
    __slots__ = ("datanodeID", "storageInfo", "keys", "softwareVersion", "shownVersion")
    DATANODEID_FIELD_NUMBER: _ClassVar[int]
    STORAGEINFO_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    SOFTWAREVERSION_FIELD_NUMBER: _ClassVar[int]
    SHOWNVERSION_FIELD_NUMBER: _ClassVar[int]
    datanodeID: _types_pb2.DatanodeIDProto
    storageInfo: StorageInfoProto
    keys: ExportedBlockKeysProto
    softwareVersion: str
    shownVersion: str
    def __init__(self, datanodeID: _Optional[_Union[_types_pb2.DatanodeIDProto, _Mapping]] = ..., storageInfo: _Optional[_Union[StorageInfoProto, _Mapping]] = ..., keys: _Optional[_Union[ExportedBlockKeysProto, _Mapping]] = ..., softwareVersion: _Optional[str] = ..., shownVersion: _Optional[str] = ...) -> None: ...

class DatanodeCommandProto(_message.Message):
    __slots__ = ("cmdType", "balancerCmd", "blkCmd", "recoveryCmd", "finalizeCmd", "keyUpdateCmd", "registerCmd", "blkIdCmd", "blkECReconstructionCmd")
    class Type(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        BalancerBandwidthCommand: _ClassVar[DatanodeCommandProto.Type]
        BlockCommand: _ClassVar[DatanodeCommandProto.Type]
        BlockRecoveryCommand: _ClassVar[DatanodeCommandProto.Type]
        FinalizeCommand: _ClassVar[DatanodeCommandProto.Type]
        KeyUpdateCommand: _ClassVar[DatanodeCommandProto.Type]
        RegisterCommand: _ClassVar[DatanodeCommandProto.Type]
        UnusedUpgradeCommand: _ClassVar[DatanodeCommandProto.Type]
        NullDatanodeCommand: _ClassVar[DatanodeCommandProto.Type]
        BlockIdCommand: _ClassVar[DatanodeCommandProto.Type]
        BlockECReconstructionCommand: _ClassVar[DatanodeCommandProto.Type]
    BalancerBandwidthCommand: DatanodeCommandProto.Type
    BlockCommand: DatanodeCommandProto.Type
    BlockRecoveryCommand: DatanodeCommandProto.Type
    FinalizeCommand: DatanodeCommandProto.Type
    KeyUpdateCommand: DatanodeCommandProto.Type
    RegisterCommand: DatanodeCommandProto.Type
    UnusedUpgradeCommand: DatanodeCommandProto.Type
    NullDatanodeCommand: DatanodeCommandProto.Type
    BlockIdCommand: DatanodeCommandProto.Type
    BlockECReconstructionCommand: DatanodeCommandProto.Type
    CMDTYPE_FIELD_NUMBER: _ClassVar[int]
    BALANCERCMD_FIELD_NUMBER: _ClassVar[int]
    BLKCMD_FIELD_NUMBER: _ClassVar[int]
    RECOVERYCMD_FIELD_NUMBER: _ClassVar[int]
    FINALIZECMD_FIELD_NUMBER: _ClassVar[int]
    KEYUPDATECMD_FIELD_NUMBER: _ClassVar[int]
    REGISTERCMD_FIELD_NUMBER: _ClassVar[int]
    BLKIDCMD_FIELD_NUMBER: _ClassVar[int]
    BLKECRECONSTRUCTIONCMD_FIELD_NUMBER: _ClassVar[int]
    cmdType: DatanodeCommandProto.Type
    balancerCmd: BalancerBandwidthCommandProto
    blkCmd: BlockCommandProto
    recoveryCmd: BlockRecoveryCommandProto
    finalizeCmd: FinalizeCommandProto
    keyUpdateCmd: KeyUpdateCommandProto
    registerCmd: RegisterCommandProto
    blkIdCmd: BlockIdCommandProto
    blkECReconstructionCmd: BlockECReconstructionCommandProto
    def __init__(self, cmdType: _Optional[_Union[DatanodeCommandProto.Type, str]] = ..., balancerCmd: _Optional[_Union[BalancerBandwidthCommandProto, _Mapping]] = ..., blkCmd: _Optional[_Union[BlockCommandProto, _Mapping]] = ..., recoveryCmd: _Optional[_Union[BlockRecoveryCommandProto, _Mapping]] = ..., finalizeCmd: _Optional[_Union[FinalizeCommandProto, _Mapping]] = ..., keyUpdateCmd: _Optional[_Union[KeyUpdateCommandProto, _Mapping]] = ..., registerCmd: _Optional[_Union[RegisterCommandProto, _Mapping]] = ..., blkIdCmd: _Optional[_Union[BlockIdCommandProto, _Mapping]] = ..., blkECReconstructionCmd: _Optional[_Union[BlockECReconstructionCommandProto, _Mapping]] = ...) -> None: ...

class BalancerBandwidthCommandProto(_message.Message):
    __slots__ = ("bandwidth",)
    BANDWIDTH_FIELD_NUMBER: _ClassVar[int]
    bandwidth: int
    def __init__(self, bandwidth: _Optional[int] = ...) -> None: ...

class BlockCommandProto(_message.Message):
    __slots__ = ("action", "blockPoolId", "blocks", "targets", "targetStorageUuids", "targetStorageTypes")
    class Action(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        TRANSFER: _ClassVar[BlockCommandProto.Action]
        INVALIDATE: _ClassVar[BlockCommandProto.Action]
        SHUTDOWN: _ClassVar[BlockCommandProto.Action]
    TRANSFER: BlockCommandProto.Action
    INVALIDATE: BlockCommandProto.Action
    SHUTDOWN: BlockCommandProto.Action
    ACTION_FIELD_NUMBER: _ClassVar[int]
    BLOCKPOOLID_FIELD_NUMBER: _ClassVar[int]
    BLOCKS_FIELD_NUMBER: _ClassVar[int]
    TARGETS_FIELD_NUMBER: _ClassVar[int]
    TARGETSTORAGEUUIDS_FIELD_NUMBER: _ClassVar[int]
    TARGETSTORAGETYPES_FIELD_NUMBER: _ClassVar[int]
    action: BlockCommandProto.Action
    blockPoolId: str
    blocks: _containers.RepeatedCompositeFieldContainer[_types_pb2.BlockProto]
    targets: _containers.RepeatedCompositeFieldContainer[_types_pb2.DatanodeInfosProto]
    targetStorageUuids: _containers.RepeatedCompositeFieldContainer[_types_pb2.StorageUuidsProto]
    targetStorageTypes: _containers.RepeatedCompositeFieldContainer[_types_pb2.StorageTypesProto]
    def __init__(self, action: _Optional[_Union[BlockCommandProto.Action, str]] = ..., blockPoolId: _Optional[str] = ..., blocks: _Optional[_Iterable[_Union[_types_pb2.BlockProto, _Mapping]]] = ..., targets: _Optional[_Iterable[_Union[_types_pb2.DatanodeInfosProto, _Mapping]]] = ..., targetStorageUuids: _Optional[_Iterable[_Union[_types_pb2.StorageUuidsProto, _Mapping]]] = ..., targetStorageTypes: _Optional[_Iterable[_Union[_types_pb2.StorageTypesProto, _Mapping]]] = ...) -> None: ...

class BlockIdCommandProto(_message.Message):
    __slots__ = ("action", "blockPoolId", "blockIds")
    class Action(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        CACHE: _ClassVar[BlockIdCommandProto.Action]
        UNCACHE: _ClassVar[BlockIdCommandProto.Action]
    CACHE: BlockIdCommandProto.Action
    UNCACHE: BlockIdCommandProto.Action
    ACTION_FIELD_NUMBER: _ClassVar[int]
    BLOCKPOOLID_FIELD_NUMBER: _ClassVar[int]
    BLOCKIDS_FIELD_NUMBER: _ClassVar[int]
    action: BlockIdCommandProto.Action
    blockPoolId: str
    blockIds: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, action: _Optional[_Union[BlockIdCommandProto.Action, str]] = ..., blockPoolId: _Optional[str] = ..., blockIds: _Optional[_Iterable[int]] = ...) -> None: ...

class BlockRecoveryCommandProto(_message.Message):
    __slots__ = ("blocks",)
    BLOCKS_FIELD_NUMBER: _ClassVar[int]
    blocks: _containers.RepeatedCompositeFieldContainer[RecoveringBlockProto]
    def __init__(self, blocks: _Optional[_Iterable[_Union[RecoveringBlockProto, _Mapping]]] = ...) -> None: ...

class FinalizeCommandProto(_message.Message):
    __slots__ = ("blockPoolId",)
    BLOCKPOOLID_FIELD_NUMBER: _ClassVar[int]
    blockPoolId: str
    def __init__(self, blockPoolId: _Optional[str] = ...) -> None: ...

class KeyUpdateCommandProto(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: ExportedBlockKeysProto
    def __init__(self, keys: _Optional[_Union[ExportedBlockKeysProto, _Mapping]] = ...) -> None: ...

class RegisterCommandProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class BlockECReconstructionCommandProto(_message.Message):
    __slots__ = ("blockECReconstructioninfo",)
    BLOCKECRECONSTRUCTIONINFO_FIELD_NUMBER: _ClassVar[int]
    blockECReconstructioninfo: _containers.RepeatedCompositeFieldContainer[_types_pb2.BlockECReconstructionInfoProto]
    def __init__(self, blockECReconstructioninfo: _Optional[_Iterable[_Union[_types_pb2.BlockECReconstructionInfoProto, _Mapping]]] = ...) -> None: ...

class RegisterDatanodeRequestProto(_message.Message):
    __slots__ = ("registration",)
    REGISTRATION_FIELD_NUMBER: _ClassVar[int]
    registration: DatanodeRegistrationProto
    def __init__(self, registration: _Optional[_Union[DatanodeRegistrationProto, _Mapping]] = ...) -> None: ...

class RegisterDatanodeResponseProto(_message.Message):
    __slots__ = ("registration",)
    REGISTRATION_FIELD_NUMBER: _ClassVar[int]
    registration: DatanodeRegistrationProto
    def __init__(self, registration: _Optional[_Union[DatanodeRegistrationProto, _Mapping]] = ...) -> None: ...

class VolumeFailureSummaryProto(_message.Message):
    __slots__ = ("failedStorageLocations", "lastVolumeFailureDate", "estimatedCapacityLostTotal")
    FAILEDSTORAGELOCATIONS_FIELD_NUMBER: _ClassVar[int]
    LASTVOLUMEFAILUREDATE_FIELD_NUMBER: _ClassVar[int]
    ESTIMATEDCAPACITYLOSTTOTAL_FIELD_NUMBER: _ClassVar[int]
    failedStorageLocations: _containers.RepeatedScalarFieldContainer[str]
    lastVolumeFailureDate: int
    estimatedCapacityLostTotal: int
    def __init__(self, failedStorageLocations: _Optional[_Iterable[str]] = ..., lastVolumeFailureDate: _Optional[int] = ..., estimatedCapacityLostTotal: _Optional[int] = ...) -> None: ...

class HeartbeatRequestProto(_message.Message):
    __slots__ = ("registration", "reports", "xmitsInProgress", "xceiverCount", "failedVolumes", "cacheCapacity", "cacheUsed", "volumeFailureSummary", "requestFullBlockReportLease", "slowPeers", "slowDisks")
    REGISTRATION_FIELD_NUMBER: _ClassVar[int]
    REPORTS_FIELD_NUMBER: _ClassVar[int]
    XMITSINPROGRESS_FIELD_NUMBER: _ClassVar[int]
    XCEIVERCOUNT_FIELD_NUMBER: _ClassVar[int]
    FAILEDVOLUMES_FIELD_NUMBER: _ClassVar[int]
    CACHECAPACITY_FIELD_NUMBER: _ClassVar[int]
    CACHEUSED_FIELD_NUMBER: _ClassVar[int]
    VOLUMEFAILURESUMMARY_FIELD_NUMBER: _ClassVar[int]
    REQUESTFULLBLOCKREPORTLEASE_FIELD_NUMBER: _ClassVar[int]
    SLOWPEERS_FIELD_NUMBER: _ClassVar[int]
    SLOWDISKS_FIELD_NUMBER: _ClassVar[int]
    registration: DatanodeRegistrationProto
    reports: _containers.RepeatedCompositeFieldContainer[_types_pb2.StorageReportProto]
    xmitsInProgress: int
    xceiverCount: int
    failedVolumes: int
    cacheCapacity: int
    cacheUsed: int
    volumeFailureSummary: VolumeFailureSummaryProto
    requestFullBlockReportLease: bool
    slowPeers: _containers.RepeatedCompositeFieldContainer[SlowPeerReportProto]
    slowDisks: _containers.RepeatedCompositeFieldContainer[SlowDiskReportProto]
    def __init__(self, registration: _Optional[_Union[DatanodeRegistrationProto, _Mapping]] = ..., reports: _Optional[_Iterable[_Union[_types_pb2.StorageReportProto, _Mapping]]] = ..., xmitsInProgress: _Optional[int] = ..., xceiverCount: _Optional[int] = ..., failedVolumes: _Optional[int] = ..., cacheCapacity: _Optional[int] = ..., cacheUsed: _Optional[int] = ..., volumeFailureSummary: _Optional[_Union[VolumeFailureSummaryProto, _Mapping]] = ..., requestFullBlockReportLease: bool = ..., slowPeers: _Optional[_Iterable[_Union[SlowPeerReportProto, _Mapping]]] = ..., slowDisks: _Optional[_Iterable[_Union[SlowDiskReportProto, _Mapping]]] = ...) -> None: ...

class HeartbeatResponseProto(_message.Message):
    __slots__ = ("cmds", "haStatus", "rollingUpgradeStatus", "rollingUpgradeStatusV2", "fullBlockReportLeaseId", "isSlownode")
    CMDS_FIELD_NUMBER: _ClassVar[int]
    HASTATUS_FIELD_NUMBER: _ClassVar[int]
    ROLLINGUPGRADESTATUS_FIELD_NUMBER: _ClassVar[int]
    ROLLINGUPGRADESTATUSV2_FIELD_NUMBER: _ClassVar[int]
    FULLBLOCKREPORTLEASEID_FIELD_NUMBER: _ClassVar[int]
    ISSLOWNODE_FIELD_NUMBER: _ClassVar[int]
    cmds: _containers.RepeatedCompositeFieldContainer[DatanodeCommandProto]
    haStatus: NNHAStatusHeartbeatProto
    rollingUpgradeStatus: _types_pb2.RollingUpgradeStatusProto
    rollingUpgradeStatusV2: _types_pb2.RollingUpgradeStatusProto
    fullBlockReportLeaseId: int
    isSlownode: bool
    def __init__(self, cmds: _Optional[_Iterable[_Union[DatanodeCommandProto, _Mapping]]] = ..., haStatus: _Optional[_Union[NNHAStatusHeartbeatProto, _Mapping]] = ..., rollingUpgradeStatus: _Optional[_Union[_types_pb2.RollingUpgradeStatusProto, _Mapping]] = ..., rollingUpgradeStatusV2: _Optional[_Union[_types_pb2.RollingUpgradeStatusProto, _Mapping]] = ..., fullBlockReportLeaseId: _Optional[int] = ..., isSlownode: bool = ...) -> None: ...

class BlockReportRequestProto(_message.Message):
    __slots__ = ("registration", "blockPoolId", "reports", "context")
    REGISTRATION_FIELD_NUMBER: _ClassVar[int]
    BLOCKPOOLID_FIELD_NUMBER: _ClassVar[int]
    REPORTS_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    registration: DatanodeRegistrationProto
    blockPoolId: str
    reports: _containers.RepeatedCompositeFieldContainer[StorageBlockReportProto]
    context: BlockReportContextProto
    def __init__(self, registration: _Optional[_Union[DatanodeRegistrationProto, _Mapping]] = ..., blockPoolId: _Optional[str] = ..., reports: _Optional[_Iterable[_Union[StorageBlockReportProto, _Mapping]]] = ..., context: _Optional[_Union[BlockReportContextProto, _Mapping]] = ...) -> None: ...

class BlockReportContextProto(_message.Message):
    __slots__ = ("totalRpcs", "curRpc", "id", "leaseId")
    TOTALRPCS_FIELD_NUMBER: _ClassVar[int]
    CURRPC_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    LEASEID_FIELD_NUMBER: _ClassVar[int]
    totalRpcs: int
    curRpc: int
    id: int
    leaseId: int
    def __init__(self, totalRpcs: _Optional[int] = ..., curRpc: _Optional[int] = ..., id: _Optional[int] = ..., leaseId: _Optional[int] = ...) -> None: ...

class StorageBlockReportProto(_message.Message):
    __slots__ = ("storage", "blocks", "numberOfBlocks", "blocksBuffers")
    STORAGE_FIELD_NUMBER: _ClassVar[int]
    BLOCKS_FIELD_NUMBER: _ClassVar[int]
    NUMBEROFBLOCKS_FIELD_NUMBER: _ClassVar[int]
    BLOCKSBUFFERS_FIELD_NUMBER: _ClassVar[int]
    storage: _types_pb2.DatanodeStorageProto
    blocks: _containers.RepeatedScalarFieldContainer[int]
    numberOfBlocks: int
    blocksBuffers: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, storage: _Optional[_Union[_types_pb2.DatanodeStorageProto, _Mapping]] = ..., blocks: _Optional[_Iterable[int]] = ..., numberOfBlocks: _Optional[int] = ..., blocksBuffers: _Optional[_Iterable[bytes]] = ...) -> None: ...

class BlockReportResponseProto(_message.Message):
    __slots__ = ("cmd",)
    CMD_FIELD_NUMBER: _ClassVar[int]
    cmd: DatanodeCommandProto
    def __init__(self, cmd: _Optional[_Union[DatanodeCommandProto, _Mapping]] = ...) -> None: ...

class CacheReportRequestProto(_message.Message):
    __slots__ = ("registration", "blockPoolId", "blocks")
    REGISTRATION_FIELD_NUMBER: _ClassVar[int]
    BLOCKPOOLID_FIELD_NUMBER: _ClassVar[int]
    BLOCKS_FIELD_NUMBER: _ClassVar[int]
    registration: DatanodeRegistrationProto
    blockPoolId: str
    blocks: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, registration: _Optional[_Union[DatanodeRegistrationProto, _Mapping]] = ..., blockPoolId: _Optional[str] = ..., blocks: _Optional[_Iterable[int]] = ...) -> None: ...

class CacheReportResponseProto(_message.Message):
    __slots__ = ("cmd",)
    CMD_FIELD_NUMBER: _ClassVar[int]
    cmd: DatanodeCommandProto
    def __init__(self, cmd: _Optional[_Union[DatanodeCommandProto, _Mapping]] = ...) -> None: ...

class ReceivedDeletedBlockInfoProto(_message.Message):
    __slots__ = ("block", "deleteHint", "status")
    class BlockStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        RECEIVING: _ClassVar[ReceivedDeletedBlockInfoProto.BlockStatus]
        RECEIVED: _ClassVar[ReceivedDeletedBlockInfoProto.BlockStatus]
        DELETED: _ClassVar[ReceivedDeletedBlockInfoProto.BlockStatus]
    RECEIVING: ReceivedDeletedBlockInfoProto.BlockStatus
    RECEIVED: ReceivedDeletedBlockInfoProto.BlockStatus
    DELETED: ReceivedDeletedBlockInfoProto.BlockStatus
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    DELETEHINT_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    block: _types_pb2.BlockProto
    deleteHint: str
    status: ReceivedDeletedBlockInfoProto.BlockStatus
    def __init__(self, block: _Optional[_Union[_types_pb2.BlockProto, _Mapping]] = ..., deleteHint: _Optional[str] = ..., status: _Optional[_Union[ReceivedDeletedBlockInfoProto.BlockStatus, str]] = ...) -> None: ...

class StorageReceivedDeletedBlocksProto(_message.Message):
    __slots__ = ("storageUuid", "blocks", "storage")
    STORAGEUUID_FIELD_NUMBER: _ClassVar[int]
    BLOCKS_FIELD_NUMBER: _ClassVar[int]
    STORAGE_FIELD_NUMBER: _ClassVar[int]
    storageUuid: str
    blocks: _containers.RepeatedCompositeFieldContainer[ReceivedDeletedBlockInfoProto]
    storage: _types_pb2.DatanodeStorageProto
    def __init__(self, storageUuid: _Optional[str] = ..., blocks: _Optional[_Iterable[_Union[ReceivedDeletedBlockInfoProto, _Mapping]]] = ..., storage: _Optional[_Union[_types_pb2.DatanodeStorageProto, _Mapping]] = ...) -> None: ...

class BlockReceivedAndDeletedRequestProto(_message.Message):
    __slots__ = ("registration", "blockPoolId", "blocks")
    REGISTRATION_FIELD_NUMBER: _ClassVar[int]
    BLOCKPOOLID_FIELD_NUMBER: _ClassVar[int]
    BLOCKS_FIELD_NUMBER: _ClassVar[int]
    registration: DatanodeRegistrationProto
    blockPoolId: str
    blocks: _containers.RepeatedCompositeFieldContainer[StorageReceivedDeletedBlocksProto]
    def __init__(self, registration: _Optional[_Union[DatanodeRegistrationProto, _Mapping]] = ..., blockPoolId: _Optional[str] = ..., blocks: _Optional[_Iterable[_Union[StorageReceivedDeletedBlocksProto, _Mapping]]] = ...) -> None: ...

class BlockReceivedAndDeletedResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ErrorReportRequestProto(_message.Message):
    __slots__ = ("registartion", "errorCode", "msg")
    class ErrorCode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        NOTIFY: _ClassVar[ErrorReportRequestProto.ErrorCode]
        DISK_ERROR: _ClassVar[ErrorReportRequestProto.ErrorCode]
        INVALID_BLOCK: _ClassVar[ErrorReportRequestProto.ErrorCode]
        FATAL_DISK_ERROR: _ClassVar[ErrorReportRequestProto.ErrorCode]
    NOTIFY: ErrorReportRequestProto.ErrorCode
    DISK_ERROR: ErrorReportRequestProto.ErrorCode
    INVALID_BLOCK: ErrorReportRequestProto.ErrorCode
    FATAL_DISK_ERROR: ErrorReportRequestProto.ErrorCode
    REGISTARTION_FIELD_NUMBER: _ClassVar[int]
    ERRORCODE_FIELD_NUMBER: _ClassVar[int]
    MSG_FIELD_NUMBER: _ClassVar[int]
    registartion: DatanodeRegistrationProto
    errorCode: int
    msg: str
    def __init__(self, registartion: _Optional[_Union[DatanodeRegistrationProto, _Mapping]] = ..., errorCode: _Optional[int] = ..., msg: _Optional[str] = ...) -> None: ...

class ErrorReportResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ReportBadBlocksRequestProto(_message.Message):
    __slots__ = ("blocks",)
    BLOCKS_FIELD_NUMBER: _ClassVar[int]
    blocks: _containers.RepeatedCompositeFieldContainer[_types_pb2.LocatedBlockProto]
    def __init__(self, blocks: _Optional[_Iterable[_Union[_types_pb2.LocatedBlockProto, _Mapping]]] = ...) -> None: ...

class ReportBadBlocksResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CommitBlockSynchronizationRequestProto(_message.Message):
    __slots__ = ("block", "newGenStamp", "newLength", "closeFile", "deleteBlock", "newTaragets", "newTargetStorages")
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    NEWGENSTAMP_FIELD_NUMBER: _ClassVar[int]
    NEWLENGTH_FIELD_NUMBER: _ClassVar[int]
    CLOSEFILE_FIELD_NUMBER: _ClassVar[int]
    DELETEBLOCK_FIELD_NUMBER: _ClassVar[int]
    NEWTARAGETS_FIELD_NUMBER: _ClassVar[int]
    NEWTARGETSTORAGES_FIELD_NUMBER: _ClassVar[int]
    block: _types_pb2.ExtendedBlockProto
    newGenStamp: int
    newLength: int
    closeFile: bool
    deleteBlock: bool
    newTaragets: _containers.RepeatedCompositeFieldContainer[_types_pb2.DatanodeIDProto]
    newTargetStorages: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, block: _Optional[_Union[_types_pb2.ExtendedBlockProto, _Mapping]] = ..., newGenStamp: _Optional[int] = ..., newLength: _Optional[int] = ..., closeFile: bool = ..., deleteBlock: bool = ..., newTaragets: _Optional[_Iterable[_Union[_types_pb2.DatanodeIDProto, _Mapping]]] = ..., newTargetStorages: _Optional[_Iterable[str]] = ...) -> None: ...

class CommitBlockSynchronizationResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SlowPeerReportProto(_message.Message):
    __slots__ = ("dataNodeId", "aggregateLatency", "median", "mad", "upperLimitLatency")
    DATANODEID_FIELD_NUMBER: _ClassVar[int]
    AGGREGATELATENCY_FIELD_NUMBER: _ClassVar[int]
    MEDIAN_FIELD_NUMBER: _ClassVar[int]
    MAD_FIELD_NUMBER: _ClassVar[int]
    UPPERLIMITLATENCY_FIELD_NUMBER: _ClassVar[int]
    dataNodeId: str
    aggregateLatency: float
    median: float
    mad: float
    upperLimitLatency: float
    def __init__(self, dataNodeId: _Optional[str] = ..., aggregateLatency: _Optional[float] = ..., median: _Optional[float] = ..., mad: _Optional[float] = ..., upperLimitLatency: _Optional[float] = ...) -> None: ...

class SlowDiskReportProto(_message.Message):
    __slots__ = ("basePath", "meanMetadataOpLatency", "meanReadIoLatency", "meanWriteIoLatency")
    BASEPATH_FIELD_NUMBER: _ClassVar[int]
    MEANMETADATAOPLATENCY_FIELD_NUMBER: _ClassVar[int]
    MEANREADIOLATENCY_FIELD_NUMBER: _ClassVar[int]
    MEANWRITEIOLATENCY_FIELD_NUMBER: _ClassVar[int]
    basePath: str
    meanMetadataOpLatency: float
    meanReadIoLatency: float
    meanWriteIoLatency: float
    def __init__(self, basePath: _Optional[str] = ..., meanMetadataOpLatency: _Optional[float] = ..., meanReadIoLatency: _Optional[float] = ..., meanWriteIoLatency: _Optional[float] = ...) -> None: ...

class LifelineResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
