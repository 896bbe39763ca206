"""A file's status from the rows of the tables to bytes (pure).

`GetFileInfoResponseProto` with `HdfsFileStatusProto` (fields and numbers: hdfs.proto and
ClientNamenodeProtocol.proto of Hadoop), as the handler of `getFileInfo` would write it. The
functions here are the twins of the kernel's, which take their place where it is there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.inodes.block_table import LENGTH
from howdah.namenode.state.inodes.block_table import WIDTH as BLOCK_WIDTH
from howdah.namenode.state.inodes.directory import Directory, INode
from howdah.namenode.state.inodes.file_table import ATIME, BLOCK, MTIME, TRAITS, WIDTH, Traits
from howdah.namenode.state.inodes.files import FileTable
from howdah.namenode.state.inodes.inode_features import NO_FEATURES, Features
from howdah.namenode.state.inodes.row_page import Page
from howdah.namenode.state.inodes.row_table import MASK, SHIFT
from howdah.namenode.state.tree.path_cache import Way
from howdah.native.loader import kernel
from howdah.protocol.varint import encode_field, encode_varint

_LONG_MASK: Final = (1 << 64) - 1
_MAX_NAMES_BYTES: Final = 160
"""Of owner and group together: with longer ones the kernel leaves the answer to others."""

Tables = tuple[
    Mapping[int, Page],
    Sequence[Traits],
    Mapping[int, Features],
    Mapping[int, Sequence[int]],
    Mapping[int, Page],
    Mapping[int, object],
    Features,
]
"""Of files: the pages of their rows, traits, features, block lists; the pages of blocks; the
directories that may have snapshots; and what stands for no features."""


def tables_of(files: FileTable, snapshot_roots: Mapping[int, object]) -> Tables:
    """What is looked at of a table of files, and of the directories above."""
    return (
        files.rows.pages,
        files.traits,
        files.features,
        files.block_lists,
        files.blocks.rows.pages,
        snapshot_roots,
        NO_FEATURES,
    )


class TablesNow:
    """Those of a namenode, which has others after it has loaded an image."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._namesystem = namesystem
        self._files = namesystem.namespace.inodes.files
        self._tables = tables_of(self._files, namesystem.namespace.snapshots.roots)

    def now(self) -> Tables:
        namespace = self._namesystem.namespace
        files = namespace.inodes.files
        if files is not self._files:
            self._files = files
            self._tables = tables_of(files, namespace.snapshots.roots)
        return self._tables


def path_of(request: bytes) -> tuple[str, int] | None:
    """The path with which a request begins, its field 1, and where that ends. None for any other,
    and for a path that is not written as nearly all are."""
    if len(request) < 3 or request[0] != 0x0A:
        return None
    length, start = request[1], 2
    if length >= 0x80:
        if request[2] >= 0x80:
            return None
        length, start = length & 0x7F | request[2] << 7, 3
    path = None if start + length > len(request) else _decoded(request[start : start + length])
    return None if path is None else (path, start + length)


def _decoded(path: bytes) -> str | None:
    """None for a path that is written in another way than nearly all."""
    if not path.startswith(b"/") or path.endswith(b"/") or b"//" in path or b"/." in path:
        return None
    try:
        return path.decode()
    except UnicodeDecodeError:
        return None


def find(
    path: str,
    ways: Mapping[str, Way],
    user: str,
    groups: Sequence[str],
    is_exempt: bool,
    tables: Tables,
) -> int | Directory | None:
    """The inode id of the plain file at `path`, or a directory; 0 if the directory above, whose way
    is known, has nothing of that name. None for all else: others look at it, or refuse it."""
    head, _, name = path.rpartition("/")
    way = ways.get(head)
    if way is None:
        return None
    for directory in way.trail:
        if not isinstance(directory, Directory) or not _is_plain(directory):
            return None
        if not (is_exempt or _may_enter(directory, user, groups)):
            return None
    entry: INode | int = way.end.entries.get(name, 0)
    if isinstance(entry, int):
        return None if entry in tables[2] else entry
    return entry if isinstance(entry, Directory) else None


def _is_plain(directory: Directory) -> bool:
    """Has no ACL, and no attributes, of which one may be a storage policy."""
    features = directory.features
    return features is NO_FEATURES or not (features.acl or features.xattrs)


def _may_enter(directory: Directory, user: str, groups: Sequence[str]) -> bool:
    if user == directory.owner:
        return bool(directory.mode & 0o100)
    if directory.group in groups:
        return bool(directory.mode & 0o010)
    return bool(directory.mode & 0o001)


def length_of(inode_id: int, block_id: int, tables: Tables) -> int | None:
    """In bytes, of all blocks; None if one is not in the table."""
    if block_id == 0:
        return 0
    length = 0
    block_ids = (block_id,) if block_id > 0 else tables[3].get(inode_id, ())
    for each in block_ids:
        page = tables[4].get(each >> SHIFT)
        if page is None:
            return None
        length += page[(each & MASK) * BLOCK_WIDTH + LENGTH]
    return length


def file_info_here(
    request: bytes,
    ways: Mapping[str, Way],
    user: str,
    groups: Sequence[str],
    is_exempt: bool,
    tables: Tables,
) -> bytes | None:
    """The answer to `getFileInfo`. `is_exempt` is a user who may do anything."""
    path, end = path_of(request) or ("", 0)
    if not path or end != len(request):
        return None
    found = find(path, ways, user, groups, is_exempt, tables)
    if isinstance(found, Directory):
        return _directory_info(found, tables)
    return _file_info(found, tables) if found else None if found is None else b""


def _file_info(inode_id: int, tables: Tables) -> bytes | None:
    page = tables[0].get(inode_id >> SHIFT)
    at = (inode_id & MASK) * WIDTH
    if page is None or not page[at + TRAITS] & 1:
        return None
    length = length_of(inode_id, page[at + BLOCK], tables)
    if length is None:
        return None
    traits = tables[1][page[at + TRAITS] >> 1]
    status = status_of(2, inode_id, length, traits, page[at + MTIME], page[at + ATIME], 0)
    return None if status is None else encode_field(b"\x0a", status)


def _directory_info(directory: Directory, tables: Tables) -> bytes | None:
    status = directory_status(directory, tables)
    return None if status is None else encode_field(b"\x0a", status)


def directory_status(
    directory: Directory, tables: Tables, name: bytes = b"", policy_id: int = 0
) -> bytes | None:
    """HdfsFileStatusProto of a directory without an ACL, attributes and snapshots; None for any
    other."""
    if not _is_plain(directory) or directory.inode_id in tables[5]:
        return None
    traits = Traits(directory.owner, directory.group, directory.mode, 0, 0)
    times = directory.mtime_ms, directory.atime_ms
    children = len(directory.entries)
    return status_of(1, directory.inode_id, 0, traits, *times, children, name, policy_id)


def status_of(
    kind: int,
    inode_id: int,
    length_bytes: int,
    traits: Traits,
    mtime_ms: int,
    atime_ms: int,
    children: int,
    name: bytes = b"",
    policy_id: int = 0,
    located: bytes = b"",
) -> bytes | None:
    """HdfsFileStatusProto; `kind` is one of its FileType, `located` is LocatedBlocksProto, if
    anything. None where owner and group are too long."""
    shared = _shared(traits)
    if shared is None:
        return None
    return b"".join(
        (
            b"\x08" + encode_varint(kind),
            encode_field(b"\x12", name),
            b"\x18",
            encode_varint(length_bytes & _LONG_MASK),
            shared[0],
            _time(mtime_ms),
            b"\x40",
            _time(atime_ms),
            shared[1],
            encode_field(b"\x62", located) if located else b"",
            b"\x68" + encode_varint(inode_id),
            b"\x70" + encode_varint(children),
            b"\x80\x01" + encode_varint(policy_id),
            b"\x90\x01\x00",  # no flags
        )
    )


@lru_cache(maxsize=1024)
def _shared(traits: Traits) -> tuple[bytes, bytes] | None:
    """What neighbours share: what stands before the time of modification, and behind that of
    access."""
    owner, group = traits.owner.encode(), traits.group.encode()
    if len(owner) + len(group) > _MAX_NAMES_BYTES:
        return None
    mode = b"\x08" + encode_varint(traits.mode)
    names = encode_field(b"\x2a", owner) + encode_field(b"\x32", group)
    return (
        encode_field(b"\x22", mode) + names + b"\x38",
        b"\x50"
        + encode_varint(traits.replication)
        + b"\x58"
        + encode_varint(traits.block_size_bytes),
    )


@lru_cache(maxsize=1024)
def _time(milliseconds: int) -> bytes:
    return encode_varint(milliseconds & _LONG_MASK)


def file_status_here(inode_id: int, tables: Tables) -> bytes | None:
    """The status of a file that has no ACL, and whose storage policy is the usual one."""
    return _file_info(inode_id, tables)


file_status: Final[Callable[[int, Tables], bytes | None]] = getattr(
    kernel(), "file_status", file_status_here
)
file_info: Final[Callable[..., bytes | None]] = getattr(kernel(), "file_info", file_info_here)
