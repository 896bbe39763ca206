"""Inodes of an image to bytes and back, and the string table that their names are in.

Names of owners, groups and extended attributes are numbers in an inode's record;
the string table, which a reader needs first and a writer has last, says what they
are. A permission is owner (24 bits), group (24 bits) and mode (16 bits).

This is where an image of a million files spends its time, so the protobuf objects
are made and read by hand here; see `records` for what the values are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from howdah import errors
from howdah.formats.edits.edits import (
    AclEntry,
    AclKind,
    AclScope,
    EditBlock,
    StorageKind,
    XAttr,
    XAttrNamespace,
)
from howdah.formats.image.message_maps import signed
from howdah.formats.image.records import DirectoryRecord, FileRecord, InodeRecord, SymlinkRecord
from howdah.proto import fsimage_pb2 as pb
from howdah.proto import types_pb2

_INode = pb.INodeSection.INode
_INodeFile = pb.INodeSection.INodeFile
_FILE: Final = _INode.FILE
_DIRECTORY: Final = _INode.DIRECTORY
_SYMLINK: Final = _INode.SYMLINK
_MASK: Final = (1 << 64) - 1
_NAME_BITS: Final = 24
_NAME_MASK: Final = (1 << _NAME_BITS) - 1

# What a string is the name of: the number of the table that it is in, where an
# image has one for each.
OF_USER: Final = 1
OF_GROUP: Final = 2
OF_XATTR: Final = 3
MASK_BITS: Final = 3
"""So many high bits of a number in the table say whose it is."""
_INT_BITS: Final = 32
_KIND_SHIFT: Final = _INT_BITS - MASK_BITS

_NAMED_BY: Final = {AclKind.USER: OF_USER, AclKind.GROUP: OF_GROUP}
_KIND_TO_WIRE: Final = {kind: types_pb2.StorageTypeProto.Value(kind.name) for kind in StorageKind}
_KIND_FROM_WIRE: Final = {number: kind for kind, number in _KIND_TO_WIRE.items()}


class StringTable:
    """Strings by number while an image is written; each kind has numbers of its own.

    0 stands for no string.
    """

    def __init__(self, known: Iterable[tuple[int, str]] = ()) -> None:
        """`known` are numbers, with their kinds, that the table has from the start."""
        self._numbers: dict[int, dict[str, int]] = {
            kind: {} for kind in (OF_USER, OF_GROUP, OF_XATTR)
        }
        self._entries: dict[int, str] = {}
        for key, text in known:
            self._numbers[key >> _KIND_SHIFT][text] = key & _NAME_MASK
            self._entries[key] = text

    def number(self, kind: int, text: str | None) -> int:
        """Raises IllegalArgument when there are more strings than 24 bits can tell apart."""
        if text is None:
            return 0
        numbers = self._numbers[kind]
        known = numbers.get(text)
        if known is None:
            known = numbers[text] = len(numbers) + 1
            self._entries[kind << _KIND_SHIFT | known] = text
            if known > _NAME_MASK:
                raise errors.IllegalArgument(
                    f"an image cannot hold more than {_NAME_MASK} names of users, groups or "
                    "extended attributes"
                )
        return known

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[tuple[int, str]]:
        return iter(self._entries.items())


class LoadedStrings:
    """Holds strings by number as an image has them."""

    def __init__(self, mask_bits: int, strings: dict[int, str]) -> None:
        """Raises CorruptImage for more mask bits than there are kinds of strings."""
        if not 0 <= mask_bits <= MASK_BITS:
            raise errors.CorruptImage(f"its string table has {mask_bits} mask bits")
        self._shift = _INT_BITS - mask_bits if mask_bits else None
        self._strings = strings

    def get(self, of: int, number: int) -> str:
        key = number if self._shift is None else number | of << self._shift
        string = self._strings.get(key)
        if string is None:
            raise errors.CorruptImage(f"string {number} is not in its string table")
        return string

    def get_optional(self, of: int, number: int) -> str | None:
        """None for number 0, unless the table has it.

        It has in images that Hadoop's viewer made of XML.
        """
        if number:
            return self.get(of, number)
        return self._strings.get(0 if self._shift is None else of << self._shift)


class InodeEncoder:
    """Records of inodes to messages."""

    def __init__(self, strings: StringTable) -> None:
        self._strings = strings
        self._permissions: dict[tuple[str, str, int], int] = {}

    def encode(self, record: InodeRecord) -> bytes:
        return self.message(record).SerializeToString()

    def message(self, record: InodeRecord) -> pb.INodeSection.INode:
        name = record.name.encode("utf-8", "surrogatepass")
        if isinstance(record, FileRecord):
            return _INode(type=_FILE, id=record.inode_id, name=name, file=self.file(record))
        if isinstance(record, DirectoryRecord):
            return _INode(
                type=_DIRECTORY,
                id=record.inode_id,
                name=name,
                directory=self.directory(record),
            )
        assert isinstance(record, SymlinkRecord), record
        return _INode(
            type=_SYMLINK,
            id=record.inode_id,
            name=name,
            symlink=pb.INodeSection.INodeSymlink(
                permission=self.permission(record.owner, record.group, record.mode),
                target=record.target.encode("utf-8", "surrogatepass"),
                modificationTime=record.mtime_ms & _MASK,
                accessTime=record.atime_ms & _MASK,
            ),
        )

    def file(self, record: FileRecord) -> pb.INodeSection.INodeFile:
        message = _INodeFile(
            modificationTime=record.mtime_ms & _MASK,
            accessTime=record.atime_ms & _MASK,
            preferredBlockSize=record.block_size_bytes & _MASK,
            permission=self.permission(record.owner, record.group, record.mode),
            blocks=blocks_to_messages(record.blocks),
            storagePolicyID=record.storage_policy_id,
        )
        if record.erasure_coding_policy_id is None:
            message.replication = record.replication
            message.blockType = types_pb2.CONTIGUOUS
        else:
            message.erasureCodingPolicyID = record.erasure_coding_policy_id
            message.blockType = types_pb2.STRIPED
        if record.writer is not None:
            message.fileUC.clientName = record.writer
            message.fileUC.clientMachine = record.writer_machine
            if record.truncating:
                message.fileUC.truncating = True
            if record.source is not None:
                message.fileUC.source.CopyFrom(*blocks_to_messages((record.source,)))
            if record.complete_blocks:
                message.fileUC.completeBlocks = record.complete_blocks
            if record.last_committed:
                message.fileUC.lastCommitted = True
        self._features(record, message)
        return message

    def directory(self, record: DirectoryRecord) -> pb.INodeSection.INodeDirectory:
        message = pb.INodeSection.INodeDirectory(
            modificationTime=record.mtime_ms & _MASK,
            nsQuota=record.namespace_quota & _MASK,
            dsQuota=record.space_quota_bytes & _MASK,
            permission=self.permission(record.owner, record.group, record.mode),
        )
        for kind, quota in record.quotas_by_kind:
            message.typeQuotas.quotas.add(storageType=_KIND_TO_WIRE[kind], quota=quota & _MASK)
        if record.atime_ms:
            message.accessTime = record.atime_ms & _MASK
        self._features(record, message)
        return message

    def _features(self, record: FileRecord | DirectoryRecord, message: Any) -> None:
        if record.acl:
            message.acl.entries.extend([self._acl_entry(entry) for entry in record.acl])
        for xattr in record.xattrs:
            added = message.xAttrs.xAttrs.add(name=self._xattr_name(xattr))
            if xattr.value is not None:
                added.value = xattr.value

    def permission(self, owner: str, group: str, mode: int) -> int:
        """Owner, group and mode in one number."""
        key = (owner, group, mode)
        known = self._permissions.get(key)
        if known is None:
            known = self._strings.number(OF_USER, owner) << 40
            known |= self._strings.number(OF_GROUP, group) << 16 | mode & 0xFFFF
            self._permissions[key] = known
        return known

    def _acl_entry(self, entry: AclEntry) -> int:
        bits = entry.permission | entry.kind << 3 | entry.scope << 5
        of = _NAMED_BY.get(entry.kind)
        return bits if of is None else bits | self._strings.number(of, entry.name) << 6

    def _xattr_name(self, xattr: XAttr) -> int:
        namespace = int(xattr.namespace)
        number = self._strings.number(OF_XATTR, xattr.name)
        return (namespace & 3) << 30 | number << 6 | (namespace >> 2) << 5


class InodeDecoder:
    """Decodes messages of inodes to records. Raises CorruptImage for what no inode can be."""

    def __init__(self, strings: LoadedStrings) -> None:
        self._strings = strings
        self._permissions: dict[int, tuple[str, str, int]] = {}

    def record(self, message: pb.INodeSection.INode) -> InodeRecord:
        try:
            name = message.name.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise errors.CorruptImage(
                f"the name of inode {message.id} is not UTF-8: {message.name!r}"
            ) from error
        kind = message.type
        if kind == _FILE and message.HasField("file"):
            return self.file(message.id, name, message.file)
        if kind == _DIRECTORY and message.HasField("directory"):
            return self.directory(message.id, name, message.directory)
        if kind == _SYMLINK and message.HasField("symlink"):
            link = message.symlink
            try:
                target = link.target.decode("utf-8", "surrogatepass")
            except UnicodeDecodeError as error:
                raise errors.CorruptImage(
                    f"the target of link {message.id} is not UTF-8: {link.target!r}"
                ) from error
            return SymlinkRecord(
                message.id,
                name,
                *self.permission(link.permission),
                signed(link.modificationTime, 64),
                signed(link.accessTime, 64),
                target,
            )
        raise errors.CorruptImage(f"inode {message.id} is not what its type {kind} says")

    def file(self, inode_id: int, name: str, message: pb.INodeSection.INodeFile) -> FileRecord:
        mtime, atime = message.modificationTime, message.accessTime
        record = FileRecord(
            inode_id,
            name,
            *self.permission(message.permission),
            mtime if mtime < 1 << 63 else mtime - (1 << 64),
            atime if atime < 1 << 63 else atime - (1 << 64),
            message.replication,
            message.preferredBlockSize,
            tuple(map(block_of, message.blocks)),
            message.storagePolicyID,
        )
        if message.HasField("fileUC"):
            writer = message.fileUC
            record.writer = _text(writer.clientName, "a writer's name")
            record.writer_machine = _text(writer.clientMachine, "a writer's machine")
            record.truncating = writer.truncating
            if writer.HasField("source"):
                record.source = block_of(writer.source)
            record.complete_blocks = writer.completeBlocks
            record.last_committed = writer.lastCommitted
            if record.complete_blocks > len(record.blocks):
                raise errors.CorruptImage(
                    f"file {inode_id} has {record.complete_blocks} complete blocks "
                    f"of {len(record.blocks)}"
                )
        if message.HasField("erasureCodingPolicyID"):
            record.erasure_coding_policy_id = message.erasureCodingPolicyID
        if message.HasField("acl"):
            record.acl = self._acl(message.acl)
        if message.HasField("xAttrs"):
            record.xattrs = self._xattrs(message.xAttrs)
        return record

    def directory(
        self, inode_id: int, name: str, message: pb.INodeSection.INodeDirectory
    ) -> DirectoryRecord:
        record = DirectoryRecord(
            inode_id,
            name,
            *self.permission(message.permission),
            signed(message.modificationTime, 64),
            signed(message.nsQuota, 64),
            signed(message.dsQuota, 64),
        )
        if message.HasField("typeQuotas"):
            record.quotas_by_kind = tuple(
                (_storage_kind(quota.storageType), signed(quota.quota, 64))
                for quota in message.typeQuotas.quotas
            )
        record.atime_ms = signed(message.accessTime, 64)
        if message.HasField("acl"):
            record.acl = self._acl(message.acl)
        if message.HasField("xAttrs"):
            record.xattrs = self._xattrs(message.xAttrs)
        return record

    def permission(self, bits: int) -> tuple[str, str, int]:
        """Owner, group and mode."""
        known = self._permissions.get(bits)
        if known is None:
            known = self._permissions[bits] = (
                self._strings.get(OF_USER, bits >> 40),
                self._strings.get_optional(OF_GROUP, bits >> 16 & _NAME_MASK) or "",
                bits & 0xFFFF,
            )
        return known

    def _acl(self, message: pb.INodeSection.AclFeatureProto) -> tuple[AclEntry, ...]:
        entries = []
        for bits in message.entries:
            kind = AclKind(bits >> 3 & 3)
            of = _NAMED_BY.get(kind)
            number = bits >> 6 & _NAME_MASK
            # Hadoop's viewer makes an empty name of none.
            name = None if of is None else self._strings.get_optional(of, number) or None
            entries.append(AclEntry(AclScope(bits >> 5 & 1), kind, bits & 7, name))
        return tuple(entries)

    def _xattrs(self, message: pb.INodeSection.XAttrFeatureProto) -> tuple[XAttr, ...]:
        xattrs = []
        for xattr in message.xAttrs:
            number = xattr.name >> 30 & 3 | (xattr.name >> 5 & 1) << 2
            if number > max(XAttrNamespace):
                raise errors.CorruptImage(f"an extended attribute is of namespace {number}")
            name = self._strings.get(OF_XATTR, xattr.name >> 6 & _NAME_MASK)
            value = xattr.value if xattr.HasField("value") else None
            xattrs.append(XAttr(XAttrNamespace(number), name, value))
        return tuple(xattrs)


def block_of(message: types_pb2.BlockProto) -> EditBlock:
    return EditBlock(signed(message.blockId, 64), message.numBytes, message.genStamp)


def blocks_to_messages(blocks: tuple[EditBlock, ...]) -> list[types_pb2.BlockProto]:
    return [
        types_pb2.BlockProto(
            blockId=block.block_id & _MASK,
            genStamp=block.generation_stamp & _MASK,
            numBytes=block.length_bytes & _MASK,
        )
        for block in blocks
    ]


def _text(value: str | bytes, label: str) -> str:
    """Return a text; the parser hands out bytes where it is no UTF-8."""
    if not isinstance(value, str):
        raise errors.CorruptImage(f"{label} is not UTF-8: {value!r}")
    return value


def _storage_kind(number: int) -> StorageKind:
    kind = _KIND_FROM_WIRE.get(number)
    if kind is None:
        raise errors.CorruptImage(f"there is no storage type {number}")
    return kind
