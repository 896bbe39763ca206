from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class BlockColumns(_message.Message):
    __slots__ = ("blockId", "genStamp", "numBytes")
    BLOCKID_FIELD_NUMBER: _ClassVar[int]
    GENSTAMP_FIELD_NUMBER: _ClassVar[int]
    NUMBYTES_FIELD_NUMBER: _ClassVar[int]
    blockId: _containers.RepeatedScalarFieldContainer[int]
    genStamp: _containers.RepeatedScalarFieldContainer[int]
    numBytes: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, blockId: _Optional[_Iterable[int]] = ..., genStamp: _Optional[_Iterable[int]] = ..., numBytes: _Optional[_Iterable[int]] = ...) -> None: ...

class FileColumns(_message.Message):
    __slots__ = ("replication", "modificationTime", "accessTime", "preferredBlockSize", "permission", "blocks", "fileUC", "acl", "xAttrs", "storagePolicyID", "erasureCodingPolicyID")
    REPLICATION_FIELD_NUMBER: _ClassVar[int]
    MODIFICATIONTIME_FIELD_NUMBER: _ClassVar[int]
    ACCESSTIME_FIELD_NUMBER: _ClassVar[int]
    PREFERREDBLOCKSIZE_FIELD_NUMBER: _ClassVar[int]
    PERMISSION_FIELD_NUMBER: _ClassVar[int]
    BLOCKS_FIELD_NUMBER: _ClassVar[int]
    FILEUC_FIELD_NUMBER: _ClassVar[int]
    ACL_FIELD_NUMBER: _ClassVar[int]
    XATTRS_FIELD_NUMBER: _ClassVar[int]
    STORAGEPOLICYID_FIELD_NUMBER: _ClassVar[int]
    ERASURECODINGPOLICYID_FIELD_NUMBER: _ClassVar[int]
    replication: _containers.RepeatedScalarFieldContainer[int]
    modificationTime: _containers.RepeatedScalarFieldContainer[int]
    accessTime: _containers.RepeatedScalarFieldContainer[int]
    preferredBlockSize: _containers.RepeatedScalarFieldContainer[int]
    permission: _containers.RepeatedScalarFieldContainer[int]
    blocks: BlockColumns
    fileUC: _containers.RepeatedScalarFieldContainer[bytes]
    acl: _containers.RepeatedScalarFieldContainer[bytes]
    xAttrs: _containers.RepeatedScalarFieldContainer[bytes]
    storagePolicyID: _containers.RepeatedScalarFieldContainer[int]
    erasureCodingPolicyID: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, replication: _Optional[_Iterable[int]] = ..., modificationTime: _Optional[_Iterable[int]] = ..., accessTime: _Optional[_Iterable[int]] = ..., preferredBlockSize: _Optional[_Iterable[int]] = ..., permission: _Optional[_Iterable[int]] = ..., blocks: _Optional[_Union[BlockColumns, _Mapping]] = ..., fileUC: _Optional[_Iterable[bytes]] = ..., acl: _Optional[_Iterable[bytes]] = ..., xAttrs: _Optional[_Iterable[bytes]] = ..., storagePolicyID: _Optional[_Iterable[int]] = ..., erasureCodingPolicyID: _Optional[_Iterable[int]] = ...) -> None: ...

class INodeColumns(_message.Message):
    __slots__ = ("type", "id", "name", "file")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    FILE_FIELD_NUMBER: _ClassVar[int]
    type: _containers.RepeatedScalarFieldContainer[int]
    id: _containers.RepeatedScalarFieldContainer[int]
    name: _containers.RepeatedScalarFieldContainer[bytes]
    file: FileColumns
    def __init__(self, type: _Optional[_Iterable[int]] = ..., id: _Optional[_Iterable[int]] = ..., name: _Optional[_Iterable[bytes]] = ..., file: _Optional[_Union[FileColumns, _Mapping]] = ...) -> None: ...

class Numbers(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, values: _Optional[_Iterable[int]] = ...) -> None: ...
