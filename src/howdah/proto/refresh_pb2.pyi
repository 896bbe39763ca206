from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RefreshServiceAclRequestProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RefreshServiceAclResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RefreshUserToGroupsMappingsRequestProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RefreshUserToGroupsMappingsResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RefreshSuperUserGroupsConfigurationRequestProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RefreshSuperUserGroupsConfigurationResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RefreshCallQueueRequestProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RefreshCallQueueResponseProto(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetGroupsForUserRequestProto(_message.Message):
    __slots__ = ("user",)
    USER_FIELD_NUMBER: _ClassVar[int]
    user: str
    def __init__(self, user: _Optional[str] = ...) -> None: ...

class GetGroupsForUserResponseProto(_message.Message):
    __slots__ = ("groups",)
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    groups: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, groups: _Optional[_Iterable[str]] = ...) -> None: ...

class GenericRefreshRequestProto(_message.Message):
    __slots__ = ("identifier", "args")
    IDENTIFIER_FIELD_NUMBER: _ClassVar[int]
    ARGS_FIELD_NUMBER: _ClassVar[int]
    identifier: str
    args: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, identifier: _Optional[str] = ..., args: _Optional[_Iterable[str]] = ...) -> None: ...

class GenericRefreshResponseProto(_message.Message):
    __slots__ = ("exitStatus", "userMessage", "senderName")
    EXITSTATUS_FIELD_NUMBER: _ClassVar[int]
    USERMESSAGE_FIELD_NUMBER: _ClassVar[int]
    SENDERNAME_FIELD_NUMBER: _ClassVar[int]
    exitStatus: int
    userMessage: str
    senderName: str
    def __init__(self, exitStatus: _Optional[int] = ..., userMessage: _Optional[str] = ..., senderName: _Optional[str] = ...) -> None: ...

class GenericRefreshResponseCollectionProto(_message.Message):
    __slots__ = ("responses",)
    RESPONSES_FIELD_NUMBER: _ClassVar[int]
    responses: _containers.RepeatedCompositeFieldContainer[GenericRefreshResponseProto]
    def __init__(self, responses: _Optional[_Iterable[_Union[GenericRefreshResponseProto, _Mapping]]] = ...) -> None: ...
