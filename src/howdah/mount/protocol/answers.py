"""Answers to the kernel, as its bytes (pure).

An answer is a header of 16 bytes and what the operation gives; an error is the header alone.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

HEADER: Final = struct.Struct("=IiQ")
_ATTRIBUTES: Final = struct.Struct("=QQQQQQIIIIIIIIII")
_ENTRY: Final = struct.Struct("=QQQQII")
_ATTRIBUTES_HEAD: Final = struct.Struct("=QII")
_OPENED: Final = struct.Struct("=QII")
_WRITTEN: Final = struct.Struct("=II")
_STATISTICS: Final = struct.Struct("=QQQQQIIII24x")
_DIRECTORY_ENTRY: Final = struct.Struct("=QQII")
_ALIGNMENT: Final = 8
_UNIT_BYTES: Final = 512
_NS: Final = 1_000_000_000

Buffer = bytes | bytearray | memoryview


@dataclass(frozen=True, slots=True)
class Attributes:
    """What `stat` shows. `mode` has the kind of file; times are in nanoseconds since the epoch."""

    inode: int
    size: int
    mode: int
    uid: int
    gid: int
    mtime_ns: int
    atime_ns: int
    block_bytes: int
    """The size of a request that suits the file."""
    links: int = 1
    """Names, of which a directory has one too: two would tell `find` that it has no others below.
    A deleted file that is open has none."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A name that was found, and how long the kernel may go by it."""

    node_id: int
    attributes: Attributes
    entry_timeout_s: float
    attribute_timeout_s: float


@dataclass(frozen=True, slots=True)
class DirectoryEntry:
    """A name in a listing. `offset` is where a listing goes on behind it; `kind` the bits of
    `mode` that say what kind of file it is. Without an `entry` the kernel looks the name up."""

    name: bytes
    inode: int
    offset: int
    kind: int
    entry: Entry | None = None


def answer(unique: int, parts: Sequence[Buffer] = ()) -> list[Buffer]:
    """An answer to be written at once: its header, and the parts."""
    length = HEADER.size + sum(len(part) for part in parts)
    return [HEADER.pack(length, 0, unique), *parts]


def failure(unique: int, number: int) -> list[Buffer]:
    """An error, by its `errno`."""
    assert number > 0, "the kernel takes no other error"
    return [HEADER.pack(HEADER.size, -number, unique)]


def _split(timeout_s: float) -> tuple[int, int]:
    """Whole seconds, and nanoseconds."""
    total_ns = max(round(timeout_s * _NS), 0)
    return divmod(total_ns, _NS)


def _packed(attributes: Attributes) -> bytes:
    atime_s, atime_ns = divmod(attributes.atime_ns, _NS)
    mtime_s, mtime_ns = divmod(attributes.mtime_ns, _NS)
    return _ATTRIBUTES.pack(
        attributes.inode,
        attributes.size,
        -(-attributes.size // _UNIT_BYTES),
        _unsigned(atime_s),
        _unsigned(mtime_s),
        _unsigned(mtime_s),
        atime_ns,
        mtime_ns,
        mtime_ns,
        attributes.mode,
        attributes.links,
        attributes.uid,
        attributes.gid,
        0,
        attributes.block_bytes,
        0,
    )


def _unsigned(seconds: int) -> int:
    return seconds & ((1 << 64) - 1)


def entry(found: Entry) -> bytes:
    """To LOOKUP, MKNOD, MKDIR, SYMLINK, and the first part of CREATE's."""
    entry_s, entry_ns = _split(found.entry_timeout_s)
    attribute_s, attribute_ns = _split(found.attribute_timeout_s)
    head = _ENTRY.pack(found.node_id, 0, entry_s, attribute_s, entry_ns, attribute_ns)
    return head + _packed(found.attributes)


def attributes(found: Attributes, timeout_s: float) -> bytes:
    """To GETATTR and SETATTR."""
    seconds, nanoseconds = _split(timeout_s)
    return _ATTRIBUTES_HEAD.pack(seconds, nanoseconds, 0) + _packed(found)


def node_of(data: Buffer) -> int:
    """The node that an entry is about, or a part of what READDIRPLUS answers; 0 for none."""
    node_id: int = _ENTRY.unpack_from(data)[0]
    return node_id


def handle_of(data: Buffer) -> int:
    """The number in an answer to OPEN and OPENDIR."""
    number: int = _OPENED.unpack_from(data)[0]
    return number


def opened(handle: int, flags: int = 0) -> bytes:
    """To OPEN and OPENDIR, and the second part of CREATE's."""
    return _OPENED.pack(handle, flags, 0)


def written(count: int) -> bytes:
    """To WRITE: how many bytes were taken."""
    return _WRITTEN.pack(count, 0)


def value_size(count: int) -> bytes:
    """To GETXATTR and LISTXATTR that ask how much they would get."""
    return _WRITTEN.pack(count, 0)


def statistics(
    capacity_bytes: int, free_bytes: int, unit_bytes: int, longest_name_bytes: int
) -> bytes:
    """To STATFS."""
    free = max(free_bytes, 0) // unit_bytes
    return _STATISTICS.pack(
        max(capacity_bytes, 0) // unit_bytes,
        free,
        free,
        0,
        0,
        unit_bytes,
        longest_name_bytes,
        unit_bytes,
        0,
    )


def directory_entry(found: DirectoryEntry, *, with_attributes: bool) -> bytes:
    """A part of what READDIR answers, or READDIRPLUS, if `with_attributes`."""
    head = b""
    if with_attributes:
        head = bytes(_ENTRY.size + _ATTRIBUTES.size) if found.entry is None else entry(found.entry)
    name = found.name
    fields = _DIRECTORY_ENTRY.pack(found.inode, found.offset, len(name), found.kind >> 12)
    return head + fields + name + bytes(-(len(fields) + len(name)) % _ALIGNMENT)
