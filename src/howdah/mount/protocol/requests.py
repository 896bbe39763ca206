"""What the kernel asks for, of its bytes (pure).

A request is a header of 40 bytes, a structure that depends on the operation, and names that end
in a zero byte. Each class is one operation, or several of the same form. Whatever does not fit its
form raises `Malformed`: no length, count or name is used before it was checked against the bytes
that are there.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from howdah.mount.protocol.operations import Operation

HEADER: Final = struct.Struct("=IIQQIIIHH")
_U64: Final = struct.Struct("=Q")
_U64_PAIR: Final = struct.Struct("=QQ")
_U32_PAIR: Final = struct.Struct("=II")
_GETATTR: Final = struct.Struct("=IIQ")
_SETATTR: Final = struct.Struct("=IIQQQQQQIIIIIIII")
_FOUR: Final = struct.Struct("=IIII")
_RENAME2: Final = struct.Struct("=QII")
_TRANSFER: Final = struct.Struct("=QQIIQII")
_RELEASE: Final = struct.Struct("=QIIQ")
_FSYNC: Final = struct.Struct("=QII")

Bytes = bytes | bytearray | memoryview


class Malformed(ValueError):
    """Bytes that are no request of the protocol; the message says where they are wrong."""


class Unknown(Malformed):
    """An operation that this version of the protocol does not have."""


@dataclass(frozen=True, slots=True)
class Header:
    """What each request begins with. `unique` names it in the answer; `node_id` is the file or
    directory that it is about, `uid`, `gid` and `pid` those of the process that asks."""

    length_bytes: int
    operation: int
    unique: int
    node_id: int
    uid: int
    gid: int
    pid: int


@dataclass(frozen=True, slots=True)
class Init:
    major: int
    minor: int
    max_readahead_bytes: int
    flags: int


@dataclass(frozen=True, slots=True)
class Named:
    """LOOKUP, UNLINK, RMDIR, REMOVEXATTR: a name in a directory, or that of an attribute."""

    name: bytes


@dataclass(frozen=True, slots=True)
class Plain:
    """READLINK, STATFS, DESTROY: the header says it all."""


@dataclass(frozen=True, slots=True)
class Forget:
    """FORGET and BATCH_FORGET: pairs of a node and how many lookups of it are taken back."""

    nodes: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class GetAttributes:
    flags: int
    handle: int


@dataclass(frozen=True, slots=True)
class SetAttributes:
    """SETATTR; `valid` says which fields count. Times are in nanoseconds since the epoch."""

    valid: int
    handle: int
    size: int
    atime_ns: int
    mtime_ns: int
    mode: int
    uid: int
    gid: int


@dataclass(frozen=True, slots=True)
class MakeLink:
    """SYMLINK."""

    name: bytes
    target: bytes


@dataclass(frozen=True, slots=True)
class HardLink:
    """LINK: another name for a node."""

    name: bytes
    node_id: int


@dataclass(frozen=True, slots=True)
class MakeNode:
    """MKNOD, and MKDIR, whose `mode` has no kind of file. The umask is applied already."""

    name: bytes
    mode: int


@dataclass(frozen=True, slots=True)
class Rename:
    """RENAME and RENAME2."""

    name: bytes
    new_parent: int
    new_name: bytes
    flags: int


@dataclass(frozen=True, slots=True)
class Open:
    """OPEN and OPENDIR."""

    flags: int


@dataclass(frozen=True, slots=True)
class Create:
    name: bytes
    flags: int
    mode: int


@dataclass(frozen=True, slots=True)
class Read:
    """READ, READDIR and READDIRPLUS."""

    handle: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Write:
    """WRITE. `data` is memory that the next request overwrites; `flags` are those of the open
    file as they are now."""

    handle: int
    offset: int
    flags: int
    data: memoryview


@dataclass(frozen=True, slots=True)
class Handle:
    """RELEASE, RELEASEDIR and FLUSH."""

    handle: int


@dataclass(frozen=True, slots=True)
class Sync:
    """FSYNC and FSYNCDIR."""

    handle: int


@dataclass(frozen=True, slots=True)
class SetExtendedAttribute:
    name: bytes
    value: bytes
    flags: int


@dataclass(frozen=True, slots=True)
class GetExtendedAttribute:
    """GETXATTR, and LISTXATTR, which has no name. With a size of 0 the answer is how long the
    value is."""

    name: bytes
    size: int


@dataclass(frozen=True, slots=True)
class Access:
    mask: int


@dataclass(frozen=True, slots=True)
class Interrupt:
    """The process that waits for the answer to `unique` has got a signal."""

    unique: int


Body = (
    Init
    | Named
    | Plain
    | Forget
    | GetAttributes
    | SetAttributes
    | MakeLink
    | HardLink
    | MakeNode
    | Rename
    | Open
    | Create
    | Read
    | Write
    | Handle
    | Sync
    | SetExtendedAttribute
    | GetExtendedAttribute
    | Access
    | Interrupt
)


def parse_header(data: Bytes) -> Header:
    """Raises Malformed."""
    if len(data) < HEADER.size:
        raise Malformed(f"a request of {len(data)} bytes is shorter than its header")
    length, operation, unique, node_id, uid, gid, pid, extension, _ = HEADER.unpack_from(data)
    if length != len(data):
        raise Malformed(f"a request says {length} bytes and has {len(data)}")
    if extension:
        raise Malformed(f"a request has an extension, which nobody asked for: {extension}")
    return Header(length, operation, unique, node_id, uid, gid, pid)


def parse_body(header: Header, data: Bytes) -> Body:
    """What a request wants, of all of its bytes. Raises Malformed, and Unknown for an operation
    that the protocol does not have."""
    parse = _PARSERS.get(header.operation)
    if parse is None:
        raise Unknown(f"there is no operation {header.operation}")
    return parse(_Reader(header, memoryview(data)))


class _Reader:
    """Takes a request apart from front to back."""

    def __init__(self, header: Header, data: memoryview) -> None:
        self.node_id = header.node_id
        self._name = _name_of(header.operation)
        self._data = data
        self._position = HEADER.size

    def fields(self, form: struct.Struct) -> tuple[int, ...]:
        if self._position + form.size > len(self._data):
            raise Malformed(f"{self._name} of {len(self._data)} bytes is too short")
        values = form.unpack_from(self._data, self._position)
        self._position += form.size
        return values

    def name(self) -> bytes:
        """What is before the next zero byte, which has to be there."""
        rest = bytes(self._data[self._position :])
        name, end, _ = rest.partition(b"\0")
        if not end:
            raise Malformed(f"a name of {self._name} does not end")
        if not name:
            raise Malformed(f"a name of {self._name} is empty")
        self._position += len(name) + 1
        return name

    def rest(self, length: int) -> memoryview:
        """Exactly as many bytes as are left."""
        left = len(self._data) - self._position
        if left != length:
            raise Malformed(f"{self._name} says {length} bytes and has {left}")
        data = self._data[self._position :]
        self._position = len(self._data)
        return data

    @property
    def left_bytes(self) -> int:
        return len(self._data) - self._position

    def end(self) -> None:
        self.rest(0)


def _name_of(operation: int) -> str:
    try:
        return Operation(operation).name
    except ValueError:
        return str(operation)


def _plain(reader: _Reader) -> Plain:
    reader.end()
    return Plain()


def _named(reader: _Reader) -> Named:
    name = reader.name()
    reader.end()
    return Named(name)


def _forget(reader: _Reader) -> Forget:
    (lookups,) = reader.fields(_U64)
    reader.end()
    return Forget(((reader.node_id, lookups),))


def _batch_forget(reader: _Reader) -> Forget:
    count, _ = reader.fields(_U32_PAIR)
    if count * _U64_PAIR.size != reader.left_bytes:
        raise Malformed(f"BATCH_FORGET says {count} nodes and has {reader.left_bytes} bytes")
    return Forget(tuple(_U64_PAIR.iter_unpack(reader.rest(reader.left_bytes))))


def _init(reader: _Reader) -> Init:
    # From 7.36 on more follows, which is only for flags that are not used here.
    major, minor, max_readahead_bytes, flags = reader.fields(_FOUR)
    return Init(major, minor, max_readahead_bytes, flags)


def _get_attributes(reader: _Reader) -> GetAttributes:
    flags, _, handle = reader.fields(_GETATTR)
    reader.end()
    return GetAttributes(flags, handle)


def _set_attributes(reader: _Reader) -> SetAttributes:
    fields = reader.fields(_SETATTR)
    reader.end()
    valid, _, handle, size, _, atime_s, mtime_s, _, atime_ns, mtime_ns, _, mode, _, uid, gid, _ = (
        fields
    )
    return SetAttributes(
        valid,
        handle,
        size,
        _time_ns(atime_s, atime_ns),
        _time_ns(mtime_s, mtime_ns),
        mode,
        uid,
        gid,
    )


def _time_ns(seconds: int, nanoseconds: int) -> int:
    """Times before 1970 are negative numbers, which the structure has as unsigned ones."""
    signed = seconds - (1 << 64) if seconds >> 63 else seconds
    return signed * 1_000_000_000 + nanoseconds


def _make_link(reader: _Reader) -> MakeLink:
    name, target = reader.name(), reader.name()
    reader.end()
    return MakeLink(name, target)


def _hard_link(reader: _Reader) -> HardLink:
    (node_id,) = reader.fields(_U64)
    name = reader.name()
    reader.end()
    return HardLink(name, node_id)


def _make_node(reader: _Reader) -> MakeNode:
    mode, _, _, _ = reader.fields(_FOUR)
    name = reader.name()
    reader.end()
    return MakeNode(name, mode)


def _make_directory(reader: _Reader) -> MakeNode:
    mode, _ = reader.fields(_U32_PAIR)
    name = reader.name()
    reader.end()
    return MakeNode(name, mode)


def _rename(reader: _Reader) -> Rename:
    (new_parent,) = reader.fields(_U64)
    name, new_name = reader.name(), reader.name()
    reader.end()
    return Rename(name, new_parent, new_name, 0)


def _rename2(reader: _Reader) -> Rename:
    new_parent, flags, _ = reader.fields(_RENAME2)
    name, new_name = reader.name(), reader.name()
    reader.end()
    return Rename(name, new_parent, new_name, flags)


def _open(reader: _Reader) -> Open:
    flags, _ = reader.fields(_U32_PAIR)
    reader.end()
    return Open(flags)


def _create(reader: _Reader) -> Create:
    flags, mode, _, _ = reader.fields(_FOUR)
    name = reader.name()
    reader.end()
    return Create(name, flags, mode)


def _read(reader: _Reader) -> Read:
    handle, offset, size, _, _, _, _ = reader.fields(_TRANSFER)
    reader.end()
    return Read(handle, offset, size)


def _write(reader: _Reader) -> Write:
    handle, offset, size, _, _, flags, _ = reader.fields(_TRANSFER)
    return Write(handle, offset, flags, reader.rest(size))


def _release(reader: _Reader) -> Handle:
    handle, _, _, _ = reader.fields(_RELEASE)
    reader.end()
    return Handle(handle)


def _fsync(reader: _Reader) -> Sync:
    handle, _, _ = reader.fields(_FSYNC)
    reader.end()
    return Sync(handle)


def _set_extended(reader: _Reader) -> SetExtendedAttribute:
    size, flags = reader.fields(_U32_PAIR)
    name = reader.name()
    return SetExtendedAttribute(name, bytes(reader.rest(size)), flags)


def _get_extended(reader: _Reader) -> GetExtendedAttribute:
    size, _ = reader.fields(_U32_PAIR)
    name = reader.name()
    reader.end()
    return GetExtendedAttribute(name, size)


def _list_extended(reader: _Reader) -> GetExtendedAttribute:
    size, _ = reader.fields(_U32_PAIR)
    reader.end()
    return GetExtendedAttribute(b"", size)


def _access(reader: _Reader) -> Access:
    mask, _ = reader.fields(_U32_PAIR)
    reader.end()
    return Access(mask)


def _interrupt(reader: _Reader) -> Interrupt:
    (unique,) = reader.fields(_U64)
    reader.end()
    return Interrupt(unique)


_PARSERS: Final[dict[int, Callable[[_Reader], Body]]] = {
    Operation.LOOKUP: _named,
    Operation.FORGET: _forget,
    Operation.GETATTR: _get_attributes,
    Operation.SETATTR: _set_attributes,
    Operation.READLINK: _plain,
    Operation.SYMLINK: _make_link,
    Operation.MKNOD: _make_node,
    Operation.MKDIR: _make_directory,
    Operation.UNLINK: _named,
    Operation.RMDIR: _named,
    Operation.RENAME: _rename,
    Operation.LINK: _hard_link,
    Operation.OPEN: _open,
    Operation.READ: _read,
    Operation.WRITE: _write,
    Operation.STATFS: _plain,
    Operation.RELEASE: _release,
    Operation.FSYNC: _fsync,
    Operation.SETXATTR: _set_extended,
    Operation.GETXATTR: _get_extended,
    Operation.LISTXATTR: _list_extended,
    Operation.REMOVEXATTR: _named,
    Operation.FLUSH: _release,
    Operation.INIT: _init,
    Operation.OPENDIR: _open,
    Operation.READDIR: _read,
    Operation.RELEASEDIR: _release,
    Operation.FSYNCDIR: _fsync,
    Operation.ACCESS: _access,
    Operation.CREATE: _create,
    Operation.INTERRUPT: _interrupt,
    Operation.DESTROY: _plain,
    Operation.BATCH_FORGET: _batch_forget,
    Operation.READDIRPLUS: _read,
    Operation.RENAME2: _rename2,
}
