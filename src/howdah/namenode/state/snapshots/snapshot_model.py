"""The parts of snapshots: the list of snapshots, dead links, versions (pure; see `snapshots`).

Hadoop's `Snapshot`, `DirectoryWithSnapshotFeature` and `FileDiff`.
"""

from __future__ import annotations

from typing import Any, Final

from howdah.formats.edits.edits import AclEntry, XAttr
from howdah.namenode.state.inodes.inode_features import Quota
from howdah.namenode.state.inodes.inodes import Directory, File, INode

NONE: Final = -1
"""No snapshot; smaller than every id."""
NOW: Final = (1 << 31) - 2
"""The tree as it is; larger than every id. Hadoop's number for it."""
MAX_SNAPSHOT_ID: Final = (1 << 28) - 1
ATTRIBUTES: Final = (
    "owner",
    "group",
    "mode",
    "mtime_ms",
    "atime_ms",
    "acl",
    "xattrs",
    "storage_policy_id",
)
"""What every inode has and a snapshot keeps."""


class Snapshot:
    """One snapshot of one directory. `mtime_ms`: when it was made, or given its name."""

    __slots__ = ("directory", "mtime_ms", "name", "snapshot_id")

    def __init__(self, snapshot_id: int, name: str, directory: Directory, mtime_ms: int) -> None:
        self.snapshot_id = snapshot_id
        self.name = name
        self.directory = directory
        self.mtime_ms = mtime_ms


class Snapshottable:
    """A directory of which snapshots may be made, and those that there are, by id."""

    __slots__ = ("directory", "snapshots")

    def __init__(self, directory: Directory) -> None:
        self.directory = directory
        self.snapshots: list[Snapshot] = []

    def named(self, name: str) -> Snapshot | None:
        return next((snapshot for snapshot in self.snapshots if snapshot.name == name), None)

    def newest(self, below: int = NOW) -> int:
        """The newest with a smaller id."""
        for snapshot in reversed(self.snapshots):
            if snapshot.snapshot_id < below:
                return snapshot.snapshot_id
        return NONE

    def by_name(self) -> list[Snapshot]:
        """In the order of listings."""
        return sorted(self.snapshots, key=lambda snapshot: snapshot.name)


class DeadLink:
    """An entry of a directory that is no more, and that snapshots show.

    `last` is the newest of those. `moved`: the inode went elsewhere then, and was not
    deleted.
    """

    __slots__ = ("birth", "death", "inode", "last", "moved", "name", "parent")

    def __init__(
        self,
        parent: Directory,
        name: str,
        inode: INode,
        birth: int,
        death: int,
        last: int,
        *,
        moved: bool,
    ) -> None:
        self.parent = parent
        self.name = name
        self.inode = inode
        self.birth = birth
        self.death = death
        self.last = last
        self.moved = moved

    def shows_in(self, snapshot_id: int) -> bool:
        return self.birth <= snapshot_id < self.death


def begun_blocks(file: File) -> tuple[int, ...]:
    """The ids of the file's blocks, but of those at its end of which nothing is known to
    be written: they are no part of any snapshot."""
    ids = tuple(file.block_ids)
    while ids and not file.table.blocks[ids[-1]].length_bytes:
        ids = ids[:-1]
    return ids


def attributes_of(state: INode | Version) -> dict[str, Any]:
    return {name: getattr(state, name) for name in ATTRIBUTES}


def set_attributes(target: INode | Version, source: INode | Version) -> None:
    for name in ATTRIBUTES:
        setattr(target, name, getattr(source, name))


class Version:
    """An inode as it was for snapshot `last` and older ones, down to the version before."""

    __slots__ = (
        "acl",
        "atime_ms",
        "block_ids",
        "group",
        "last",
        "length_bytes",
        "mode",
        "mtime_ms",
        "owner",
        "quota",
        "replication",
        "storage_policy_id",
        "xattrs",
    )

    owner: str
    group: str
    mode: int
    mtime_ms: int
    atime_ms: int
    acl: tuple[AclEntry, ...]
    xattrs: tuple[XAttr, ...]
    storage_policy_id: int

    def __init__(self, inode: INode, last: int) -> None:
        self.last = last
        set_attributes(self, inode)
        self.quota: Quota | None = None
        self.replication = 0
        self.length_bytes = 0
        self.block_ids: tuple[int, ...] = ()
        if isinstance(inode, File):
            self.replication = inode.replication
            self.length_bytes = inode.length_bytes
            self.block_ids = begun_blocks(inode)
        elif isinstance(inode, Directory) and inode.quota is not None:
            bounds = inode.quota
            self.quota = Quota(bounds.namespace, bounds.space_bytes, dict(bounds.by_kind_bytes))

    def as_of(self, other: Version) -> None:
        """Take over the attributes."""
        set_attributes(self, other)
        self.replication = other.replication
