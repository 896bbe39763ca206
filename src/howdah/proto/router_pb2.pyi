from howdah.proto import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RemoteLocationProto(_message.Message):
    __slots__ = ("nameserviceId", "path")
    NAMESERVICEID_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    nameserviceId: str
    path: str
    def __init__(self, nameserviceId: _Optional[str] = ..., path: _Optional[str] = ...) -> None: ...

class MountTableRecordProto(_message.Message):
    __slots__ = ("srcPath", "destinations", "dateCreated", "dateModified", "readOnly", "destOrder", "ownerName", "groupName", "mode", "quota", "faultTolerant")
    class DestOrder(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        HASH: _ClassVar[MountTableRecordProto.DestOrder]
        LOCAL: _ClassVar[MountTableRecordProto.DestOrder]
        RANDOM: _ClassVar[MountTableRecordProto.DestOrder]
        HASH_ALL: _ClassVar[MountTableRecordProto.DestOrder]
        SPACE: _ClassVar[MountTableRecordProto.DestOrder]
        LEADER_FOLLOWER: _ClassVar[MountTableRecordProto.DestOrder]
    HASH: MountTableRecordProto.DestOrder
    LOCAL: MountTableRecordProto.DestOrder
    RANDOM: MountTableRecordProto.DestOrder
    HASH_ALL: MountTableRecordProto.DestOrder
    SPACE: MountTableRecordProto.DestOrder
    LEADER_FOLLOWER: MountTableRecordProto.DestOrder
    SRCPATH_FIELD_NUMBER: _ClassVar[int]
    DESTINATIONS_FIELD_NUMBER: _ClassVar[int]
    DATECREATED_FIELD_NUMBER: _ClassVar[int]
    DATEMODIFIED_FIELD_NUMBER: _ClassVar[int]
    READONLY_FIELD_NUMBER: _ClassVar[int]
    DESTORDER_FIELD_NUMBER: _ClassVar[int]
    OWNERNAME_FIELD_NUMBER: _ClassVar[int]
    GROUPNAME_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    QUOTA_FIELD_NUMBER: _ClassVar[int]
    FAULTTOLERANT_FIELD_NUMBER: _ClassVar[int]
    srcPath: str
    destinations: _containers.RepeatedCompositeFieldContainer[RemoteLocationProto]
    dateCreated: int
    dateModified: int
    readOnly: bool
    destOrder: MountTableRecordProto.DestOrder
    ownerName: str
    groupName: str
    mode: int
    quota: _types_pb2.QuotaUsageProto
    faultTolerant: bool
    def __init__(self, srcPath: _Optional[str] = ..., destinations: _Optional[_Iterable[_Union[RemoteLocationProto, _Mapping]]] = ..., dateCreated: _Optional[int] = ..., dateModified: _Optional[int] = ..., readOnly: bool = ..., destOrder: _Optional[_Union[MountTableRecordProto.DestOrder, str]] = ..., ownerName: _Optional[str] = ..., groupName: _Optional[str] = ..., mode: _Optional[int] = ..., quota: _Optional[_Union[_types_pb2.QuotaUsageProto, _Mapping]] = ..., faultTolerant: bool = ...) -> None: ...

class DisabledNameserviceRecordProto(_message.Message):
    __slots__ = ("dateCreated", "dateModified", "nameServiceId")
    DATECREATED_FIELD_NUMBER: _ClassVar[int]
    DATEMODIFIED_FIELD_NUMBER: _ClassVar[int]
    NAMESERVICEID_FIELD_NUMBER: _ClassVar[int]
    dateCreated: int
    dateModified: int
    nameServiceId: str
    def __init__(self, dateCreated: _Optional[int] = ..., dateModified: _Optional[int] = ..., nameServiceId: _Optional[str] = ...) -> None: ...

class AddMountTableEntryRequestProto(_message.Message):
    __slots__ = ("entry",)
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    entry: MountTableRecordProto
    def __init__(self, entry: _Optional[_Union[MountTableRecordProto, _Mapping]] = ...) -> None: ...

class AddMountTableEntryResponseProto(_message.Message):
    __slots__ = ("status",)
    STATUS_FIELD_NUMBER: _ClassVar[int]
    status: bool
    def __init__(self, status: bool = ...) -> None: ...

class AddMountTableEntriesRequestProto(_message.Message):
    __slots__ = ("entry",)
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    entry: _containers.RepeatedCompositeFieldContainer[MountTableRecordProto]
    def __init__(self, entry: _Optional[_Iterable[_Union[MountTableRecordProto, _Mapping]]] = ...) -> None: ...

class AddMountTableEntriesResponseProto(_message.Message):
    __slots__ = ("status", "failedEntriesKeys")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    FAILEDENTRIESKEYS_FIELD_NUMBER: _ClassVar[int]
    status: bool
    failedEntriesKeys: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, status: bool = ..., failedEntriesKeys: _Optional[_Iterable[str]] = ...) -> None: ...

class UpdateMountTableEntryRequestProto(_message.Message):
    __slots__ = ("entry",)
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    entry: MountTableRecordProto
    def __init__(self, entry: _Optional[_Union[MountTableRecordProto, _Mapping]] = ...) -> None: ...

class UpdateMountTableEntryResponseProto(_message.Message):
    __slots__ = ("status",)
    STATUS_FIELD_NUMBER: _ClassVar[int]
    status: bool
    def __init__(self, status: bool = ...) -> None: ...

class RemoveMountTableEntryRequestProto(_message.Message):
    __slots__ = ("srcPath",)
    SRCPATH_FIELD_NUMBER: _ClassVar[int]
    srcPath: str
    def __init__(self, srcPath: _Optional[str] = ...) -> None: ...

class RemoveMountTableEntryResponseProto(_message.Message):
    __slots__ = ("status",)
    STATUS_FIELD_NUMBER: _ClassVar[int]
    status: bool
    def __init__(self, status: bool = ...) -> None: ...

class GetMountTableEntriesRequestProto(_message.Message):
    __slots__ = ("srcPath",)
    SRCPATH_FIELD_NUMBER: _ClassVar[int]
    srcPath: str
    def __init__(self, srcPath: _Optional[str] = ...) -> None: ...

class GetMountTableEntriesResponseProto(_message.Message):
    __slots__ = ("entries", "timestamp")
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[MountTableRecordProto]
    timestamp: int
    def __init__(self, entries: _Optional[_Iterable[_Union[MountTableRecordProto, _Mapping]]] = ..., timestamp: _Optional[int] = ...) -> None: ...

class GetDestinationRequestProto(_message.Message):
    __slots__ = ("srcPath",)
    SRCPATH_FIELD_NUMBER: _ClassVar[int]
    srcPath: str
    def __init__(self, srcPath: _Optional[str] = ...) -> None: ...

class GetDestinationResponseProto(_message.Message):
    __slots__ = ("destinations",)
    DESTINATIONS_FIELD_NUMBER: _ClassVar[int]
    destinations: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, destinations: _Optional[_Iterable[str]] = ...) -> None: ...

class RefreshMountTableEntriesRequestProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RefreshMountTableEntriesResponseProto(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: bool
    def __init__(self, result: bool = ...) -> None: ...

class RefreshSuperUserGroupsConfigurationRequestProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RefreshSuperUserGroupsConfigurationResponseProto(_message.Message):
    __slots__ = ("status",)
    STATUS_FIELD_NUMBER: _ClassVar[int]
    status: bool
    def __init__(self, status: bool = ...) -> None: ...

class EnterSafeModeRequestProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class EnterSafeModeResponseProto(_message.Message):
    __slots__ = ("status",)
    STATUS_FIELD_NUMBER: _ClassVar[int]
    status: bool
    def __init__(self, status: bool = ...) -> None: ...

class LeaveSafeModeRequestProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class LeaveSafeModeResponseProto(_message.Message):
    __slots__ = ("status",)
    STATUS_FIELD_NUMBER: _ClassVar[int]
    status: bool
    def __init__(self, status: bool = ...) -> None: ...

class GetSafeModeRequestProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetSafeModeResponseProto(_message.Message):
    __slots__ = ("isInSafeMode",)
    ISINSAFEMODE_FIELD_NUMBER: _ClassVar[int]
    isInSafeMode: bool
    def __init__(self, isInSafeMode: bool = ...) -> None: ...

class DisableNameserviceRequestProto(_message.Message):
    __slots__ = ("nameServiceId",)
    NAMESERVICEID_FIELD_NUMBER: _ClassVar[int]
    nameServiceId: str
    def __init__(self, nameServiceId: _Optional[str] = ...) -> None: ...

class DisableNameserviceResponseProto(_message.Message):
    __slots__ = ("status",)
    STATUS_FIELD_NUMBER: _ClassVar[int]
    status: bool
    def __init__(self, status: bool = ...) -> None: ...

class EnableNameserviceRequestProto(_message.Message):
    __slots__ = ("nameServiceId",)
    NAMESERVICEID_FIELD_NUMBER: _ClassVar[int]
    nameServiceId: str
    def __init__(self, nameServiceId: _Optional[str] = ...) -> None: ...

class EnableNameserviceResponseProto(_message.Message):
    __slots__ = ("status",)
    STATUS_FIELD_NUMBER: _ClassVar[int]
    status: bool
    def __init__(self, status: bool = ...) -> None: ...

class GetDisabledNameservicesRequestProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetDisabledNameservicesResponseProto(_message.Message):
    __slots__ = ("nameServiceIds",)
    NAMESERVICEIDS_FIELD_NUMBER: _ClassVar[int]
    nameServiceIds: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, nameServiceIds: _Optional[_Iterable[str]] = ...) -> None: ...
