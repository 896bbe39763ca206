"""Rows of a namespace, made of the listings of a namenode (pure).

A page of a listing becomes columns directly: an object for each row would take twice as long. What
the namenode does not say is null: quotas, whether a file is open, and the names of snapshots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from howdah.fs import paths
from howdah.proto import types_pb2 as pb
from howdah.protocol.striping.layout import FileLayout
from howdah.protocol.striping.messages import policy_from_proto
from howdah.spark.listing.kinds import DIRECTORY, FILE, SYMLINK
from howdah.spark.tables.columns import Columns, as_text, micros
from howdah.spark.tables.inode_rows import NAMESPACE

KINDS: Final[Mapping[int, str]] = {
    pb.HdfsFileStatusProto.IS_DIR: DIRECTORY,
    pb.HdfsFileStatusProto.IS_FILE: FILE,
    pb.HdfsFileStatusProto.IS_SYMLINK: SYMLINK,
}
_FILE: Final = pb.HdfsFileStatusProto.IS_FILE


Snapshots = Mapping[str, tuple[str, ...] | None]
"""The names of snapshots by the paths of directories; None where they are not known."""


def signed(number: int) -> int:
    """A number of 64 bits as Java reads it; the protocol sends it without a sign."""
    return number if number < 1 << 63 else number - (1 << 64)


@dataclass(frozen=True)
class Page:
    """Entries of a directory, or a path by itself: then `directory` is None, and the one entry has
    the whole path. `snapshots` is None where nobody asked."""

    directory: str | None
    entries: Sequence[pb.HdfsFileStatusProto]
    own_path: str = "/"
    snapshots: Snapshots | None = None

    @cached_property
    def paths(self) -> list[str]:
        if self.directory is None:
            return [self.own_path]
        prefix = "/" if self.directory == "/" else self.directory + "/"
        return [prefix + as_text(entry.path) for entry in self.entries]

    @cached_property
    def stored(self) -> list[tuple[str | None, int, int]]:
        """What files have on disks: the erasure coding policy, bytes with all replicas or parity,
        and blocks."""
        return [_stored(entry) for entry in self.entries]


def _stored(entry: pb.HdfsFileStatusProto) -> tuple[str | None, int, int]:
    length, block_bytes = entry.length, entry.blocksize
    if entry.fileType == _FILE and entry.HasField("ecPolicy"):
        policy = policy_from_proto(entry.ecPolicy)
        layout = FileLayout(policy, length, block_bytes)
        return policy.name, layout.space, layout.groups
    blocks = -(-length // block_bytes) if block_bytes else 0
    return None, length * entry.block_replication, blocks


def being_written(located: pb.LocatedBlocksProto) -> int | None:
    """The id of the block of a file that is being written; None where all are complete."""
    is_open = located.underConstruction and located.HasField("lastBlock")
    return located.lastBlock.b.blockId if is_open and not located.isLastBlockComplete else None


def blocks_of(located: pb.LocatedBlocksProto) -> list[pb.LocatedBlockProto]:
    """All blocks of a file. A listing has one that is being written beside the others, which end
    at the file's length."""
    blocks = list(located.blocks)
    written = being_written(located)
    if written is not None and not any(block.b.blockId == written for block in blocks[-1:]):
        blocks.append(located.lastBlock)
    return blocks


def _blocks(entry: pb.HdfsFileStatusProto) -> list[dict[str, int]] | None:
    if not entry.HasField("locations"):
        return None
    return [
        {
            "block_id": signed(located.b.blockId),
            "length": located.b.numBytes,
            "generation_stamp": located.b.generationStamp,
        }
        for located in blocks_of(entry.locations)
    ]


def _parent(path: str) -> str:
    return paths.parent_of(path) or ""


def _nulls(page: Page) -> list[Any]:
    return [None] * len(page.entries)


def _count(names: tuple[str, ...] | None) -> int | None:
    return None if names is None else len(names)


def _snapshot_names(page: Page) -> list[list[str] | None]:
    snapshots = page.snapshots or {}
    found = (snapshots.get(path) for path in page.paths)
    return [None if names is None else list(names) for names in found]


_LISTS: Final[Mapping[str, Callable[[Page], list[Any]]]] = {
    "path": lambda page: page.paths,
    "parent": lambda page: list(map(_parent, page.paths)),
    "name": lambda page: [path.rpartition("/")[2] for path in page.paths],
    "type": lambda page: [KINDS[entry.fileType] for entry in page.entries],
    "owner": lambda page: [entry.owner for entry in page.entries],
    "group": lambda page: [entry.group for entry in page.entries],
    "permission": lambda page: [entry.permission.perm for entry in page.entries],
    "length": lambda page: [entry.length for entry in page.entries],
    "replication": lambda page: [entry.block_replication for entry in page.entries],
    "block_size": lambda page: [entry.blocksize for entry in page.entries],
    "space": lambda page: [space for _, space, _ in page.stored],
    "blocks": lambda page: [blocks for _, _, blocks in page.stored],
    "erasure_coding_policy": lambda page: [policy for policy, _, _ in page.stored],
    "modification_time": lambda page: [
        micros(signed(entry.modification_time)) for entry in page.entries
    ],
    "access_time": lambda page: [micros(signed(entry.access_time)) for entry in page.entries],
    "storage_policy": lambda page: [entry.storagePolicy for entry in page.entries],
    "inode_id": lambda page: [entry.fileId for entry in page.entries],
    "depth": lambda page: [0 if path == "/" else path.count("/") for path in page.paths],
    "quota_names": _nulls,
    "quota_space": _nulls,
    "is_open": lambda page: [
        entry.locations.underConstruction if entry.HasField("locations") else None
        for entry in page.entries
    ],
    "snapshots": lambda page: (
        _nulls(page)
        if page.snapshots is None
        else [_count(page.snapshots.get(path, ())) for path in page.paths]
    ),
    "snapshot_names": _snapshot_names,
    "block_list": lambda page: list(map(_blocks, page.entries)),
    "target": lambda page: [
        as_text(entry.symlink) if entry.symlink else None for entry in page.entries
    ],
    "has_acl": lambda page: [
        bool(entry.flags & pb.HdfsFileStatusProto.HAS_ACL) for entry in page.entries
    ],
}
assert _LISTS.keys() == NAMESPACE.types.keys()

NEEDS_BLOCKS: Final = frozenset(("block_list", "is_open"))
"""Columns for which a listing has to have the locations of blocks."""
NEEDS_SNAPSHOTS: Final = frozenset(("snapshots", "snapshot_names"))


def lists_of(page: Page, columns: Columns) -> dict[str, list[Any]]:
    """The columns of a page."""
    return {name: _LISTS[name](page) for name in columns.types}


_LISTED: Final = (
    *("path", "type", "length", "replication", "block_size", "modification_time", "access_time"),
    *("permission", "owner", "group", "storage_policy", "inode_id", "erasure_coding_policy"),
    *("space", "blocks"),
)


def rows_of(listed: Iterable[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Rows of a filesystem that is not HDFS, of those that `howdah.spark.listing.tree` makes."""
    rows = []
    for values in listed:
        row: dict[str, Any] = dict.fromkeys(NAMESPACE.types)
        row |= zip(_LISTED, values, strict=True)
        path = as_text(row["path"])
        row["path"], row["parent"], row["name"] = path, _parent(path), path.rpartition("/")[2]
        row["depth"] = 0 if path == "/" else path.count("/")
        for time in ("modification_time", "access_time"):
            row[time] = micros(row[time])
        rows.append(row)
    return rows
