"""The parts that bodies of edit records are put together from.

Mirrors the shared serialisations of Hadoop's `FSEditLogOp`: blocks in their full
and their compact form, permission, ACL, extended attributes, RPC ids. A `Part`
is a run of bytes and the fields of an edit that it holds; `codec` has the
table of which record consists of which parts.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from google.protobuf.message import DecodeError

from howdah import errors
from howdah.formats.edits import edits as ed
from howdah.formats.primitives import Cursor, pack_string, pack_text, pack_vlong
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
class Part:
    """One run of bytes in a body.

    `pack` takes the value of the field, or a tuple of the values of several, and
    `read` gives the same back. Logs with a layout version greater than `since`
    (they count downward) lack the part; its field then has the value `absent`.
    """

    fields: tuple[str, ...]
    pack: Callable[[Any], bytes]
    read: Callable[[Cursor], Any]
    since: int = 0
    absent: Any = None
    codes: bytes = b""
    """How the kernel packs the values (`pack_record`): a letter for each of `fields`, or of
    `within`. Empty where `pack` has to."""
    within: tuple[str, ...] = ()
    """What the letters are of, where the field is an object: its attributes."""


def i64(field: str, *, since: int = 0) -> Part:
    return Part((field,), _I64.pack, Cursor.i64, since, 0, b"q")


def i16(field: str) -> Part:
    return Part((field,), _I16.pack, Cursor.i16, codes=b"h")


def i8(field: str, *, since: int = 0) -> Part:
    return Part((field,), _I8.pack, Cursor.i8, since, 0, b"b")


def boolean(field: str) -> Part:
    return Part((field,), lambda flag: b"\1" if flag else b"\0", Cursor.boolean, codes=b"?")


def string(field: str) -> Part:
    return Part((field,), pack_string, Cursor.string, codes=b"s")


def optional_string(field: str) -> Part:
    """None is an empty string on disk."""
    return Part((field,), lambda text: pack_string(text or ""), lambda c: c.string() or None)


def strings(field: str) -> Part:
    def pack(values: tuple[str, ...]) -> bytes:
        return _I32.pack(len(values)) + b"".join(map(pack_string, values))

    def read(cursor: Cursor) -> tuple[str, ...]:
        return tuple([cursor.string() for _ in range(cursor.count(cursor.i32(), 2, "strings"))])

    return Part((field,), pack, read)


def twice_i64(field: str) -> Part:
    """A directory's time: written as modification and again as access time, the
    second of which nobody reads."""

    def read(cursor: Cursor) -> int:
        value = cursor.i64()
        cursor.i64()
        return value

    return Part((field,), lambda value: _I64.pack(value) * 2, read, codes=b"Q")


def pack_rename_options(options: tuple[ed.RenameFlag, ...]) -> bytes:
    return _I32.pack(len(options)) + bytes(options)


def rename_options(field: str) -> Part:
    """One byte an option, behind an int32 count."""

    def read(cursor: Cursor) -> tuple[ed.RenameFlag, ...]:
        numbers = cursor.raw(cursor.i32(), "rename options")
        return tuple([_member(cursor, ed.RenameFlag, number) for number in numbers])

    return Part((field,), pack_rename_options, read)


def storage_kind(field: str) -> Part:
    def read(cursor: Cursor) -> ed.StorageKind:
        return _member(cursor, ed.StorageKind, cursor.i32())

    return Part((field,), _I32.pack, read)


def _member(cursor: Cursor, kind: Callable[[int], _T], number: int) -> _T:
    try:
        return kind(number)
    except ValueError as error:
        raise cursor.fail(str(error)) from error


def permission(field: str) -> Part:
    """Owner and group as texts, the mode as a short."""

    def pack(value: ed.Permission) -> bytes:
        return pack_text(value.owner) + pack_text(value.group) + _I16.pack(value.mode)

    def read(cursor: Cursor) -> ed.Permission:
        return ed.Permission(cursor.text(), cursor.text(), cursor.i16())

    within = (f"{field}.owner", f"{field}.group", f"{field}.mode")
    return Part((field,), pack, read, codes=b"tth", within=within)


# Blocks.


def pack_blocks(values: tuple[ed.EditBlock, ...]) -> bytes:
    packed = [_BLOCK.pack(b.block_id, b.length_bytes, b.generation_stamp) for b in values]
    return _I32.pack(len(packed)) + b"".join(packed)


def blocks(field: str) -> Part:
    """An int32 count and 24 bytes a block: OP_ADD and OP_CLOSE."""

    def read(cursor: Cursor) -> tuple[ed.EditBlock, ...]:
        count = cursor.count(cursor.i32(), _BLOCK.size, "blocks")
        raw = cursor.raw(count * _BLOCK.size, "blocks")
        return tuple([ed.EditBlock(*numbers) for numbers in _BLOCK.iter_unpack(raw)])

    return Part((field,), pack_blocks, read, codes=b"l")


def pack_compact(values: tuple[ed.EditBlock, ...]) -> bytes:
    pieces = [pack_vlong(len(values))]
    length = generation_stamp = 0
    for block in values:
        pieces.append(_I64.pack(block.block_id))
        pieces.append(pack_vlong(block.length_bytes - length))
        pieces.append(pack_vlong(block.generation_stamp - generation_stamp))
        length, generation_stamp = block.length_bytes, block.generation_stamp
    return b"".join(pieces)


def _read_compact(cursor: Cursor) -> tuple[ed.EditBlock, ...]:
    found = []
    length = generation_stamp = 0
    for _ in range(cursor.count(cursor.vint(), _MIN_COMPACT_BLOCK_BYTES, "blocks")):
        block_id = cursor.i64()
        length += cursor.vlong()
        generation_stamp += cursor.vlong()
        found.append(ed.EditBlock(block_id, length, generation_stamp))
    return tuple(found)


def compact_blocks(field: str) -> Part:
    """A vint count; of each block the id, and its length and generation stamp as
    vlong differences to the block before it."""
    return Part((field,), pack_compact, _read_compact)


def last_blocks(penultimate: str, last: str) -> Part:
    """A compact list of two, or of one if the file has only one block."""

    def pack(values: tuple[ed.EditBlock | None, ed.EditBlock]) -> bytes:
        return pack_compact(tuple([block for block in values if block is not None]))

    def read(cursor: Cursor) -> tuple[ed.EditBlock | None, ed.EditBlock]:
        found = _read_compact(cursor)
        if len(found) not in (1, 2):
            raise cursor.fail(f"{len(found)} last blocks; there can be one or two")
        return found[0] if len(found) == 2 else None, found[-1]

    return Part((penultimate, last), pack, read)


def optional_block(field: str) -> Part:
    """A compact list of one, or none."""

    def read(cursor: Cursor) -> ed.EditBlock | None:
        found = _read_compact(cursor)
        if len(found) > 1:
            raise cursor.fail(f"{len(found)} blocks where there can be one at most")
        return found[0] if found else None

    return Part((field,), lambda block: pack_compact(() if block is None else (block,)), read)


# ACLs and extended attributes.


def pack_acl(entries: tuple[ed.AclEntry, ...]) -> bytes:
    pieces = [_I32.pack(len(entries))]
    for entry in entries:
        bits = entry.scope << 5 | entry.kind << 3 | entry.permission
        if entry.name is None:
            pieces.append(bytes((bits,)))
        else:
            pieces.append(bytes((bits | _ACL_NAMED,)) + pack_string(entry.name))
    return b"".join(pieces)


def acl(field: str) -> Part:
    """The ACL that a new inode begins with: an int32 count; of each entry one byte
    (name flag, scope, kind, rwx) and its name, if it has one."""

    def read(cursor: Cursor) -> tuple[ed.AclEntry, ...]:
        found = []
        for _ in range(cursor.count(cursor.i32(), 1, "ACL entries")):
            bits = cursor.u8()
            if bits & 0x80:
                raise cursor.fail(f"ACL entry has unknown bits: {bits:#x}")
            scope, kind = ed.AclScope(bits >> 5 & 1), ed.AclKind(bits >> 3 & 3)
            name = cursor.string() if bits & _ACL_NAMED else None
            found.append(ed.AclEntry(scope, kind, bits & 7, name))
        return tuple(found)

    return Part((field,), pack_acl, read, codes=b"l")


def acl_message(path: str, entries: str) -> Part:
    """OP_SET_ACL holds its fields as a protobuf message."""

    def pack(values: tuple[str, tuple[ed.AclEntry, ...]]) -> bytes:
        message = edits_pb2.AclEditLogProto(src=values[0])
        for entry in values[1]:
            added = message.entries.add(
                type=int(entry.kind), scope=int(entry.scope), permissions=entry.permission
            )
            if entry.name is not None:
                added.name = entry.name
        return delimited(message)

    def read(cursor: Cursor) -> tuple[str, tuple[ed.AclEntry, ...]]:
        raw = cursor.delimited()
        try:
            message = parse(edits_pb2.AclEditLogProto, raw)
        except DecodeError as error:
            raise cursor.fail(f"ACL is not a protobuf message: {error}") from error
        found = [
            ed.AclEntry(
                ed.AclScope(entry.scope),
                ed.AclKind(entry.type),
                entry.permissions,
                entry.name if entry.HasField("name") else None,
            )
            for entry in message.entries
        ]
        return message.src, tuple(found)

    return Part((path, entries), pack, read)


def _pack_xattrs(path: str | None, xattrs: tuple[ed.XAttr, ...]) -> bytes:
    if path is None and not xattrs:
        return b"\0"  # Almost every new inode; an empty message is its length alone.
    message = edits_pb2.XAttrEditLogProto(src=path)
    for xattr in xattrs:
        added = message.xAttrs.add(namespace=int(xattr.namespace), name=xattr.name)
        if xattr.value is not None:
            added.value = xattr.value
    return delimited(message)


def _read_xattrs(cursor: Cursor) -> tuple[str, tuple[ed.XAttr, ...]]:
    raw = cursor.delimited()
    if not raw:
        return "", ()
    try:
        message = parse(edits_pb2.XAttrEditLogProto, raw)
    except DecodeError as error:
        raise cursor.fail(f"extended attributes are not a protobuf message: {error}") from error
    found = [
        ed.XAttr(
            ed.XAttrNamespace(xattr.namespace),
            xattr.name,
            xattr.value if xattr.HasField("value") else None,
        )
        for xattr in message.xAttrs
    ]
    return message.src, tuple(found)


def pack_xattrs(xattrs: tuple[ed.XAttr, ...]) -> bytes:
    return _pack_xattrs(None, xattrs)


def xattrs(field: str) -> Part:
    """Those that a new inode begins with: the message without a path."""
    return Part(
        (field,),
        pack_xattrs,
        lambda c: _read_xattrs(c)[1],
        codes=b"x",
    )


def xattr_message(path: str, field: str) -> Part:
    """OP_SET_XATTR and OP_REMOVE_XATTR hold path and attributes in one message."""
    return Part((path, field), lambda values: _pack_xattrs(*values), _read_xattrs)


# Centralised caching.


def flagged(first: Part, *optional: Part) -> Part:
    """One part, an int32 of flags, and those of the `optional` parts whose flag is set: the
    first of them has bit 0. The others are None. Hadoop: `FSImageSerialization`."""

    def pack(values: tuple[Any, ...]) -> bytes:
        flags = sum(1 << bit for bit, value in enumerate(values[1:]) if value is not None)
        pieces = [
            part.pack(value)
            for part, value in zip(optional, values[1:], strict=True)
            if value is not None
        ]
        return first.pack(values[0]) + _I32.pack(flags) + b"".join(pieces)

    def read(cursor: Cursor) -> tuple[Any, ...]:
        head = first.read(cursor)
        flags = cursor.i32()
        if flags < 0 or flags >> len(optional):
            raise cursor.fail(f"flags {flags:#x} are not known")
        return head, *(
            part.read(cursor) if flags >> bit & 1 else None for bit, part in enumerate(optional)
        )

    return Part((*first.fields, *(part.fields[0] for part in optional)), pack, read)


# The call behind an edit.


def _pack_rpc_ids(values: tuple[bytes, int]) -> bytes:
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


RPC_IDS: Final = Part(("rpc_client_id", "rpc_call_id"), _pack_rpc_ids, _read_rpc_ids, codes=b"ci")
