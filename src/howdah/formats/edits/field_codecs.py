"""The values that records of edits hold, and their bytes.

Mirrors the shared serialisations of Hadoop's `FSEditLogOp`: blocks in their full
and their compact form, permission, ACL, extended attributes, RPC ids. The fields of an edit say
which of these kinds they are (`base.form`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from google.protobuf.message import DecodeError

from howdah import errors
from howdah.formats.edits.opcodes import AclKind, AclScope, RenameFlag, StorageKind, XAttrNamespace
from howdah.formats.edits.values import AclEntry, EditBlock, Permission, XAttr
from howdah.formats.primitives import Cursor, pack_string, pack_text, pack_vlong
from howdah.formats.tokens.identifiers import DelegationKey, DelegationTokenIdentifier
from howdah.proto import edits_pb2
from howdah.protocol.call_ids import CLIENT_ID_BYTES, NO_CALL_ID, NO_CLIENT_ID
from howdah.protocol.messages import parse
from howdah.protocol.varint import delimited

_BLOCK: Final = struct.Struct(">qqq")
_MIN_COMPACT_BLOCK_BYTES: Final = 10
_I64: Final = struct.Struct(">q")
_I32: Final = struct.Struct(">i")
_I16: Final = struct.Struct(">h")
_I8: Final = struct.Struct(">b")
_ACL_NAMED: Final = 1 << 6

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Codec:
    """A kind of value.

    `pack` takes a value, or a tuple of `width` values that stand together, and `read` gives the
    same back.
    """

    pack: Callable[[Any], bytes]
    read: Callable[[Cursor], Any]
    codes: bytes = b""
    """How the kernel packs the values (`pack_record`): a letter for each of them, or for each of
    `attributes`. Empty where `pack` has to."""
    attributes: tuple[str, ...] = ()
    """Those of the value that the letters are for, if it is an object."""
    width: int = 1


# Numbers and texts.


def pack_boolean(flag: bool) -> bytes:
    return b"\1" if flag else b"\0"


I64: Final = Codec(_I64.pack, Cursor.i64, b"q")
I32: Final = Codec(_I32.pack, Cursor.i32, b"i")
I16: Final = Codec(_I16.pack, Cursor.i16, b"h")
I8: Final = Codec(_I8.pack, Cursor.i8, b"b")
BOOLEAN: Final = Codec(pack_boolean, Cursor.boolean, b"?")
STRING: Final = Codec(pack_string, Cursor.string, b"s")


def pack_optional_string(text: str | None) -> bytes:
    return pack_string(text or "")


def _read_optional_string(cursor: Cursor) -> str | None:
    return cursor.string() or None


OPTIONAL_STRING: Final = Codec(pack_optional_string, _read_optional_string)
"""None is an empty string on disk."""


def pack_strings(values: tuple[str, ...]) -> bytes:
    return _I32.pack(len(values)) + b"".join(map(pack_string, values))


def _read_strings(cursor: Cursor) -> tuple[str, ...]:
    return tuple([cursor.string() for _ in range(cursor.count(cursor.i32(), 2, "strings"))])


STRINGS: Final = Codec(pack_strings, _read_strings)


def pack_options(options: tuple[tuple[str, str], ...]) -> bytes:
    pairs = [pack_string(name) + pack_string(value) for name, value in options]
    return _I32.pack(len(options)) + b"".join(pairs)


def _read_options(cursor: Cursor) -> tuple[tuple[str, str], ...]:
    count = cursor.count(cursor.i32(), 4, "options")
    return tuple([(cursor.string(), cursor.string()) for _ in range(count)])


OPTIONS: Final = Codec(pack_options, _read_options)
"""Names and values, behind an int32 count."""


def pack_twice_i64(value: int) -> bytes:
    return _I64.pack(value) * 2


def _read_twice_i64(cursor: Cursor) -> int:
    value = cursor.i64()
    cursor.i64()
    return value


TWICE_I64: Final = Codec(pack_twice_i64, _read_twice_i64, b"Q")
"""A directory's time: written as modification and again as access time, the second of which
nobody reads."""


def pack_rename_options(options: tuple[RenameFlag, ...]) -> bytes:
    return _I32.pack(len(options)) + bytes(options)


def _read_rename_options(cursor: Cursor) -> tuple[RenameFlag, ...]:
    numbers = cursor.raw(cursor.i32(), "rename options")
    return tuple([_member(cursor, RenameFlag, number) for number in numbers])


RENAME_OPTIONS: Final = Codec(pack_rename_options, _read_rename_options)
"""One byte an option, behind an int32 count."""


def _read_storage_kind(cursor: Cursor) -> StorageKind:
    return _member(cursor, StorageKind, cursor.i32())


STORAGE_KIND: Final = Codec(_I32.pack, _read_storage_kind, b"i")


def _member(cursor: Cursor, kind: Callable[[int], _T], number: int) -> _T:
    try:
        return kind(number)
    except ValueError as error:
        raise cursor.fail(str(error)) from error


def pack_permission(value: Permission) -> bytes:
    return pack_text(value.owner) + pack_text(value.group) + _I16.pack(value.mode)


def _read_permission(cursor: Cursor) -> Permission:
    return Permission(cursor.text(), cursor.text(), cursor.i16())


PERMISSION: Final = Codec(pack_permission, _read_permission, b"tth", ("owner", "group", "mode"))
"""Owner and group as texts, the mode as a short."""


# Blocks.


def pack_blocks(values: tuple[EditBlock, ...]) -> bytes:
    packed = [_BLOCK.pack(b.block_id, b.length_bytes, b.generation_stamp) for b in values]
    return _I32.pack(len(packed)) + b"".join(packed)


def _read_blocks(cursor: Cursor) -> tuple[EditBlock, ...]:
    count = cursor.count(cursor.i32(), _BLOCK.size, "blocks")
    raw = cursor.raw(count * _BLOCK.size, "blocks")
    return tuple([EditBlock(*numbers) for numbers in _BLOCK.iter_unpack(raw)])


BLOCKS: Final = Codec(pack_blocks, _read_blocks, b"l")
"""An int32 count and 24 bytes a block: OP_ADD and OP_CLOSE."""


def pack_compact(values: tuple[EditBlock, ...]) -> bytes:
    pieces = [pack_vlong(len(values))]
    length = generation_stamp = 0
    for block in values:
        pieces.append(_I64.pack(block.block_id))
        pieces.append(pack_vlong(block.length_bytes - length))
        pieces.append(pack_vlong(block.generation_stamp - generation_stamp))
        length, generation_stamp = block.length_bytes, block.generation_stamp
    return b"".join(pieces)


def _read_compact(cursor: Cursor) -> tuple[EditBlock, ...]:
    blocks = []
    length = generation_stamp = 0
    for _ in range(cursor.count(cursor.vint(), _MIN_COMPACT_BLOCK_BYTES, "blocks")):
        block_id = cursor.i64()
        length += cursor.vlong()
        generation_stamp += cursor.vlong()
        blocks.append(EditBlock(block_id, length, generation_stamp))
    return tuple(blocks)


COMPACT_BLOCKS: Final = Codec(pack_compact, _read_compact)
"""A vint count; of each block the id, and its length and generation stamp as vlong differences to
the block before it."""


def pack_last_blocks(values: tuple[EditBlock | None, EditBlock]) -> bytes:
    before, last = values
    return pack_compact((last,) if before is None else (before, last))


def _read_last_blocks(cursor: Cursor) -> tuple[EditBlock | None, EditBlock]:
    blocks = _read_compact(cursor)
    if len(blocks) not in (1, 2):
        raise cursor.fail(f"{len(blocks)} last blocks; there can be one or two")
    return blocks[0] if len(blocks) == 2 else None, blocks[-1]


LAST_BLOCKS: Final = Codec(pack_last_blocks, _read_last_blocks, width=2)
"""A compact list of two, or of one if the file has only one block."""


def pack_optional_block(block: EditBlock | None) -> bytes:
    return pack_compact(() if block is None else (block,))


def _read_optional_block(cursor: Cursor) -> EditBlock | None:
    blocks = _read_compact(cursor)
    if len(blocks) > 1:
        raise cursor.fail(f"{len(blocks)} blocks where there can be one at most")
    return blocks[0] if blocks else None


OPTIONAL_BLOCK: Final = Codec(pack_optional_block, _read_optional_block)
"""A compact list of one, or none."""


# ACLs and extended attributes.


def pack_acl(entries: tuple[AclEntry, ...]) -> bytes:
    pieces = [_I32.pack(len(entries))]
    for entry in entries:
        bits = entry.scope << 5 | entry.kind << 3 | entry.permission
        if entry.name is None:
            pieces.append(bytes((bits,)))
        else:
            pieces.append(bytes((bits | _ACL_NAMED,)) + pack_string(entry.name))
    return b"".join(pieces)


def _read_acl(cursor: Cursor) -> tuple[AclEntry, ...]:
    entries = []
    for _ in range(cursor.count(cursor.i32(), 1, "ACL entries")):
        bits = cursor.u8()
        if bits & 0x80:
            raise cursor.fail(f"ACL entry has unknown bits: {bits:#x}")
        scope, kind = AclScope(bits >> 5 & 1), AclKind(bits >> 3 & 3)
        name = cursor.string() if bits & _ACL_NAMED else None
        entries.append(AclEntry(scope, kind, bits & 7, name))
    return tuple(entries)


ACL: Final = Codec(pack_acl, _read_acl, b"l")
"""The ACL that a new inode begins with: an int32 count; of each entry one byte (name flag, scope,
kind, rwx) and its name, if it has one."""


def pack_acl_message(values: tuple[str, tuple[AclEntry, ...]]) -> bytes:
    message = edits_pb2.AclEditLogProto(src=values[0])
    for entry in values[1]:
        added = message.entries.add(
            type=int(entry.kind), scope=int(entry.scope), permissions=entry.permission
        )
        if entry.name is not None:
            added.name = entry.name
    return delimited(message)


def _read_acl_message(cursor: Cursor) -> tuple[str, tuple[AclEntry, ...]]:
    raw = cursor.delimited()
    try:
        message = parse(edits_pb2.AclEditLogProto, raw)
    except DecodeError as error:
        raise cursor.fail(f"ACL is not a protobuf message: {error}") from error
    entries = [
        AclEntry(
            AclScope(entry.scope),
            AclKind(entry.type),
            entry.permissions,
            entry.name if entry.HasField("name") else None,
        )
        for entry in message.entries
    ]
    return message.src, tuple(entries)


ACL_MESSAGE: Final = Codec(pack_acl_message, _read_acl_message, width=2)
"""OP_SET_ACL holds path and entries as a protobuf message."""


def _pack_xattrs(path: str | None, xattrs: tuple[XAttr, ...]) -> bytes:
    if path is None and not xattrs:
        return b"\0"  # Almost every new inode; an empty message is its length alone.
    message = edits_pb2.XAttrEditLogProto(src=path)
    for xattr in xattrs:
        added = message.xAttrs.add(namespace=int(xattr.namespace), name=xattr.name)
        if xattr.value is not None:
            added.value = xattr.value
    return delimited(message)


def pack_xattrs(xattrs: tuple[XAttr, ...]) -> bytes:
    return _pack_xattrs(None, xattrs)


def pack_xattr_message(values: tuple[str, tuple[XAttr, ...]]) -> bytes:
    return _pack_xattrs(*values)


def _read_xattr_message(cursor: Cursor) -> tuple[str, tuple[XAttr, ...]]:
    raw = cursor.delimited()
    if not raw:
        return "", ()
    try:
        message = parse(edits_pb2.XAttrEditLogProto, raw)
    except DecodeError as error:
        raise cursor.fail(f"extended attributes are not a protobuf message: {error}") from error
    xattrs = [
        XAttr(
            XAttrNamespace(xattr.namespace),
            xattr.name,
            xattr.value if xattr.HasField("value") else None,
        )
        for xattr in message.xAttrs
    ]
    return message.src, tuple(xattrs)


def _read_xattrs(cursor: Cursor) -> tuple[XAttr, ...]:
    return _read_xattr_message(cursor)[1]


XATTRS: Final = Codec(pack_xattrs, _read_xattrs, b"x")
"""Those that a new inode begins with: the message without a path."""
XATTR_MESSAGE: Final = Codec(pack_xattr_message, _read_xattr_message, width=2)
"""OP_SET_XATTR and OP_REMOVE_XATTR hold path and attributes in one message."""


# The call behind an edit.


def pack_rpc_ids(values: tuple[bytes, int]) -> bytes:
    client_id, call_id = values
    if len(client_id) not in (0, CLIENT_ID_BYTES):
        raise errors.IllegalArgument(
            f"A client id has {CLIENT_ID_BYTES} bytes or none, not {len(client_id)}"
        )
    return _I16.pack(len(client_id)) + client_id + _I32.pack(call_id)


def _read_rpc_ids(cursor: Cursor) -> tuple[bytes, int]:
    """The ids; none where the client's has not its length, as in old logs of ours."""
    client_id, call_id = cursor.raw(cursor.i16(), "client id"), cursor.i32()
    if len(client_id) not in (0, CLIENT_ID_BYTES):
        return NO_CLIENT_ID, NO_CALL_ID
    return client_id, call_id


RPC_IDS: Final = Codec(pack_rpc_ids, _read_rpc_ids, b"ci", width=2)


# Delegation tokens.


def pack_delegation_token(identifier: DelegationTokenIdentifier) -> bytes:
    return identifier.encode()


DELEGATION_TOKEN: Final = Codec(pack_delegation_token, DelegationTokenIdentifier.read)


def pack_delegation_key(key: DelegationKey) -> bytes:
    return key.encode()


DELEGATION_KEY: Final = Codec(pack_delegation_key, DelegationKey.read)


# Centralised caching.


def flagged(codecs: list[Codec]) -> Codec:
    """An int32 of flags, the first of which is bit 0, and the values whose flag is set. The
    others are None. Hadoop: `FSImageSerialization`."""

    def pack(values: tuple[Any, ...]) -> bytes:
        given = [(1 << bit, value) for bit, value in enumerate(values) if value is not None]
        pieces = [
            codec.pack(value)
            for codec, value in zip(codecs, values, strict=True)
            if value is not None
        ]
        return _I32.pack(sum(flag for flag, _ in given)) + b"".join(pieces)

    def read(cursor: Cursor) -> tuple[Any, ...]:
        flags = cursor.i32()
        if flags < 0 or flags >> len(codecs):
            raise cursor.fail(f"flags {flags:#x} are not known")
        return tuple(
            [codec.read(cursor) if flags >> bit & 1 else None for bit, codec in enumerate(codecs)]
        )

    return Codec(pack, read, width=len(codecs))
