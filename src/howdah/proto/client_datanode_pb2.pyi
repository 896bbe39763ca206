from howdah.proto import rpc_pb2 as _rpc_pb2
from howdah.proto import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class StartReconfigurationRequestProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StartReconfigurationResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetReconfigurationStatusRequestProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetReconfigurationStatusConfigChangeProto(_message.Message):
    __slots__ = ("name", "oldValue", "newValue", "errorMessage")
    NAME_FIELD_NUMBER: _ClassVar[int]
    OLDVALUE_FIELD_NUMBER: _ClassVar[int]
    NEWVALUE_FIELD_NUMBER: _ClassVar[int]
    ERRORMESSAGE_FIELD_NUMBER: _ClassVar[int]
    name: str
    oldValue: str
    newValue: str
    errorMessage: str
    def __init__(self, name: _Optional[str] = ..., oldValue: _Optional[str] = ..., newValue: _Optional[str] = ..., errorMessage: _Optional[str] = ...) -> None: ...

class GetReconfigurationStatusResponseProto(_message.Message):
    __slots__ = ("startTime", "endTime", "changes")
    STARTTIME_FIELD_NUMBER: _ClassVar[int]
    ENDTIME_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    startTime: int
    endTime: int
    changes: _containers.RepeatedCompositeFieldContainer[GetReconfigurationStatusConfigChangeProto]
    def __init__(self, startTime: _Optional[int] = ..., endTime: _Optional[int] = ..., changes: _Optional[_Iterable[_Union[GetReconfigurationStatusConfigChangeProto, _Mapping]]] = ...) -> None: ...

class ListReconfigurablePropertiesRequestProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListReconfigurablePropertiesResponseProto(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[_Iterable[str]] = ...) -> None: ...

class GetReplicaVisibleLengthRequestProto(_message.Message):
    __slots__ = ("block",)
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    block: _types_pb2.ExtendedBlockProto
    def __init__(self, block: _Optional[_Union[_types_pb2.ExtendedBlockProto, _Mapping]] = ...) -> None: ...

class GetReplicaVisibleLengthResponseProto(_message.Message):
    __slots__ = ("length",)
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    length: int
    def __init__(self, length: _Optional[int] = ...) -> None: ...

class RefreshNamenodesRequestProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RefreshNamenodesResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DeleteBlockPoolRequestProto(_message.Message):
    __slots__ = ("blockPool", "force")
    BLOCKPOOL_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    blockPool: str
    force: bool
    def __init__(self, blockPool: _Optional[str] = ..., force: bool = ...) -> None: ...

class DeleteBlockPoolResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetBlockLocalPathInfoRequestProto(_message.Message):
    __slots__ = ("block", "token")
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    block: _types_pb2.ExtendedBlockProto
    token: _rpc_pb2.TokenProto
    def __init__(self, block: _Optional[_Union[_types_pb2.ExtendedBlockProto, _Mapping]] = ..., token: _Optional[_Union[_rpc_pb2.TokenProto, _Mapping]] = ...) -> None: ...

class GetBlockLocalPathInfoResponseProto(_message.Message):
    __slots__ = ("block", "localPath", "localMetaPath")
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    LOCALPATH_FIELD_NUMBER: _ClassVar[int]
    LOCALMETAPATH_FIELD_NUMBER: _ClassVar[int]
    block: _types_pb2.ExtendedBlockProto
    localPath: str
    localMetaPath: str
    def __init__(self, block: _Optional[_Union[_types_pb2.ExtendedBlockProto, _Mapping]] = ..., localPath: _Optional[str] = ..., localMetaPath: _Optional[str] = ...) -> None: ...

class ShutdownDatanodeRequestProto(_message.Message):
    __slots__ = ("forUpgrade",)
    FORUPGRADE_FIELD_NUMBER: _ClassVar[int]
    forUpgrade: bool
    def __init__(self, forUpgrade: bool = ...) -> None: ...

class ShutdownDatanodeResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class EvictWritersRequestProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class EvictWritersResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetDatanodeInfoRequestProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetDatanodeInfoResponseProto(_message.Message):
    __slots__ = ("localInfo",)
    LOCALINFO_FIELD_NUMBER: _ClassVar[int]
    localInfo: _types_pb2.DatanodeLocalInfoProto
    def __init__(self, localInfo: _Optional[_Union[_types_pb2.DatanodeLocalInfoProto, _Mapping]] = ...) -> None: ...

class GetVolumeReportRequestProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetVolumeReportResponseProto(_message.Message):
    __slots__ = ("volumeInfo",)
    VOLUMEINFO_FIELD_NUMBER: _ClassVar[int]
    volumeInfo: _containers.RepeatedCompositeFieldContainer[_types_pb2.DatanodeVolumeInfoProto]
    def __init__(self, volumeInfo: _Optional[_Iterable[_Union[_types_pb2.DatanodeVolumeInfoProto, _Mapping]]] = ...) -> None: ...

class TriggerBlockReportRequestProto(_message.Message):
    __slots__ = ("incremental", "nnAddress")
    INCREMENTAL_FIELD_NUMBER: _ClassVar[int]
    NNADDRESS_FIELD_NUMBER: _ClassVar[int]
    incremental: bool
    nnAddress: str
    def __init__(self, incremental: bool = ..., nnAddress: _Optional[str] = ...) -> None: ...

class TriggerBlockReportResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetBalancerBandwidthRequestProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetBalancerBandwidthResponseProto(_message.Message):
    __slots__ = ("bandwidth",)
    BANDWIDTH_FIELD_NUMBER: _ClassVar[int]
    bandwidth: int
    def __init__(self, bandwidth: _Optional[int] = ...) -> None: ...

class SubmitDiskBalancerPlanRequestProto(_message.Message):
    __slots__ = ("planID", "plan", "planVersion", "ignoreDateCheck", "planFile")
    PLANID_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    PLANVERSION_FIELD_NUMBER: _ClassVar[int]
    IGNOREDATECHECK_FIELD_NUMBER: _ClassVar[int]
    PLANFILE_FIELD_NUMBER: _ClassVar[int]
    planID: str
    plan: str
    planVersion: int
    ignoreDateCheck: bool
    planFile: str
    def __init__(self, planID: _Optional[str] = ..., plan: _Optional[str] = ..., planVersion: _Optional[int] = ..., ignoreDateCheck: bool = ..., planFile: _Optional[str] = ...) -> None: ...

class SubmitDiskBalancerPlanResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CancelPlanRequestProto(_message.Message):
    __slots__ = ("planID",)
    PLANID_FIELD_NUMBER: _ClassVar[int]
    planID: str
    def __init__(self, planID: _Optional[str] = ...) -> None: ...

class CancelPlanResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class QueryPlanStatusRequestProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class QueryPlanStatusResponseProto(_message.Message):
    __slots__ = ("result", "planID", "currentStatus", "planFile")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    PLANID_FIELD_NUMBER: _ClassVar[int]
    CURRENTSTATUS_FIELD_NUMBER: _ClassVar[int]
    PLANFILE_FIELD_NUMBER: _ClassVar[int]
    result: int
    planID: str
    currentStatus: str
    planFile: str
    def __init__(self, result: _Optional[int] = ..., planID: _Optional[str] = ..., currentStatus: _Optional[str] = ..., planFile: _Optional[str] = ...) -> None: ...

class DiskBalancerSettingRequestProto(_message.Message):
    __slots__ = ("key",)
    KEY_FIELD_NUMBER: _ClassVar[int]
    key: str
    def __init__(self, key: _Optional[str] = ...) -> None: ...

class DiskBalancerSettingResponseProto(_message.Message):
    __slots__ = ("value",)
    VALUE_FIELD_NUMBER: _ClassVar[int]
    value: str
    def __init__(self, value: _Optional[str] = ...) -> None: ...
