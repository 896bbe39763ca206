from howdah.proto import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AclEditLogProto(_message.Message):
    __slots__ = ("src", "entries")
    SRC_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    src: str
    entries: _containers.RepeatedCompositeFieldContainer[_types_pb2.AclEntryProto]
    def __init__(self, src: _Optional[str] = ..., entries: _Optional[_Iterable[_Union[_types_pb2.AclEntryProto, _Mapping]]] = ...) -> None: ...

class XAttrEditLogProto(_message.Message):
    __slots__ = ("src", "xAttrs")
    SRC_FIELD_NUMBER: _ClassVar[int]
    XATTRS_FIELD_NUMBER: _ClassVar[int]
    src: str
    xAttrs: _containers.RepeatedCompositeFieldContainer[_types_pb2.XAttrProto]
    def __init__(self, src: _Optional[str] = ..., xAttrs: _Optional[_Iterable[_Union[_types_pb2.XAttrProto, _Mapping]]] = ...) -> None: ...
