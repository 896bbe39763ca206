"""Inodes as a snapshot shows them, for reads below `.snapshot` (pure).

Hadoop passes a snapshot id to the methods of its inodes; here a view has the id.

    /dir/.snapshot               a directory of snapshots, if `/dir` is snapshottable
    /dir/.snapshot/NAME          `/dir` as it was
    /dir/.snapshot/NAME/sub/f    and what was in it

A view looks like the inode that it shows, and is made for one call. Its attributes are
those at the time of the snapshot; its parent is a view, too. Views are not in the
namespace, and nothing may be changed through them.

A path into a snapshot leads through `/dir` as it was, too: its mode and ACL of then decide
who may walk there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import overload

from howdah.namenode.state.inodes.file_table import Glance
from howdah.namenode.state.inodes.files import FileBlocks, lone_file
from howdah.namenode.state.inodes.inode_features import Quota
from howdah.namenode.state.inodes.inodes import Block, Directory, File, INode, Symlink
from howdah.namenode.state.inodes.paths import DOT_SNAPSHOT
from howdah.namenode.state.inodes.sorted_names import names_after
from howdah.namenode.state.snapshots.snapshot_model import set_attributes
from howdah.namenode.state.snapshots.snapshots import Snapshot, Snapshots, Version, begun_blocks
from howdah.namenode.state.tree.namespace import Namespace


class SnapshotDirectory(Directory):
    """A directory in a snapshot. Its entries are looked up on demand."""

    __slots__ = ("_children", "_origin", "_snapshot_id", "_source")

    def __init__(
        self, source: Namespace, origin: Directory, name: str, snapshot_id: int, parent: Directory
    ) -> None:
        super().__init__(origin.inode_id, name, "", "", 0, 0)
        version = source.snapshots.version(origin, snapshot_id)
        _begin(self, origin, version, parent)
        self._source = source
        self._origin = origin
        self._snapshot_id = snapshot_id
        self._children: dict[str, INode] | None = None

    def child(self, name: str) -> INode | None:
        inode = self._source.snapshots.child(self._origin, name, self._snapshot_id)
        return None if inode is None else self._view(inode, name)

    def _view(self, inode: INode, name: str) -> INode:
        return view_of(self._source, inode, name, self._snapshot_id, self)

    def contents(self) -> list[INode | int]:
        return list(self.children.values())

    def pick(self, names: Iterable[str]) -> list[INode | int]:
        return [self._required_child(name) for name in names]

    def subdirectories(self) -> list[Directory]:
        """By name. No file is looked at."""
        snapshots, snapshot_id = self._source.snapshots, self._snapshot_id
        births = snapshots.births
        found = [
            (entry.name, entry)
            for entry in self._origin.subdirectories()
            if births.get(entry.inode_id, 0) <= snapshot_id
        ]
        for links in snapshots.dead_in.get(self._origin.inode_id, {}).values():
            for link in links:
                if isinstance(link.inode, Directory) and link.shows_in(snapshot_id):
                    found.append((link.name, link.inode))
        return [
            SnapshotDirectory(self._source, inode, name, snapshot_id, self)
            for name, inode in sorted(found, key=lambda named: named[0])
        ]

    def sorted_names(self) -> list[str]:
        return self._source.snapshots.names(self._origin, self._snapshot_id)

    def names_after(self, name: str, limit: int) -> tuple[list[str], int]:
        return names_after(self.sorted_names(), name, limit)

    def _required_child(self, name: str) -> INode:
        child = self.child(name)
        assert child is not None, f"{name} is among the names of {self.path}"
        return child

    @property
    def children(self) -> Mapping[str, INode]:
        if self._children is None:
            names = self.sorted_names()
            self._children = {name: self._required_child(name) for name in names}
        return self._children


class DotSnapshot(Directory):
    """The directory of a directory's snapshots."""

    __slots__ = ("_children", "_source")

    def __init__(
        self, source: Namespace, directory: Directory, then: Version | None = None
    ) -> None:
        """`then` has the attributes that the directory had, if they are not those of now."""
        state = directory if then is None else then
        super().__init__(0, DOT_SNAPSHOT, state.owner, state.group, state.mode, 0)
        # The group's bits of the mode are its mask.
        self.acl = state.acl
        self.parent = directory
        self._source = source
        self._children: dict[str, INode] | None = None

    @property
    def _snapshots(self) -> list[Snapshot]:
        assert self.parent is not None, "it is in a directory"
        return self._source.snapshots.roots[self.parent.inode_id].by_name()

    def child(self, name: str) -> INode | None:
        for snapshot in self._snapshots:
            if snapshot.name == name:
                return root_view(self._source, snapshot, self)
        return None

    def contents(self) -> list[INode | int]:
        return list(self.children.values())

    def pick(self, names: Iterable[str]) -> list[INode | int]:
        children = self.children
        return [children[name] for name in names]

    def sorted_names(self) -> list[str]:
        return [snapshot.name for snapshot in self._snapshots]

    def names_after(self, name: str, limit: int) -> tuple[list[str], int]:
        return names_after(self.sorted_names(), name, limit)

    @property
    def children(self) -> Mapping[str, INode]:
        if self._children is None:
            self._children = {
                snapshot.name: root_view(self._source, snapshot, self)
                for snapshot in self._snapshots
            }
        return self._children


class _KeptBlocks(FileBlocks):
    """The blocks that a snapshot has of a file, in order."""

    __slots__ = ("_blocks",)

    def __init__(self, file: File, blocks: list[Block]) -> None:
        super().__init__(file)
        self._blocks = blocks

    def __len__(self) -> int:
        return len(self._blocks)

    @overload
    def __getitem__(self, place: int) -> Block: ...
    @overload
    def __getitem__(self, place: slice) -> list[Block]: ...
    def __getitem__(self, place: int | slice) -> Block | list[Block]:
        return self._blocks[place]

    def __iter__(self) -> Iterator[Block]:
        return iter(self._blocks)


class SnapshotFile(File):
    """A file in a snapshot; its last block may have grown since, and where that is still
    to be a copy, the block that is copied stands in its place."""

    __slots__ = ("_blocks", "_length_bytes")

    def __init__(
        self, source: Namespace, origin: File, name: str, snapshot_id: int, parent: Directory
    ) -> None:
        version = source.snapshots.version(origin, snapshot_id)
        state = origin if version is None else version
        alone = lone_file(
            origin.inode_id,
            name,
            "",
            "",
            0,
            0,
            replication=state.replication,
            block_size_bytes=origin.block_size_bytes,
        )
        super().__init__(alone.table, alone.inode_id, alone._page, alone._at)
        _begin(self, origin, version, parent)
        self.coding_policy_id = origin.coding_policy_id
        block_ids = begun_blocks(origin) if version is None else version.block_ids
        copies = source.snapshots.copies
        blocks = [source.blocks[copies.get(block_id, block_id)] for block_id in block_ids]
        self._blocks = _KeptBlocks(self, blocks)
        self._length_bytes = state.length_bytes

    @property
    def blocks(self) -> FileBlocks:
        return self._blocks

    @property
    def last_block(self) -> Block | None:
        return self._blocks[-1] if self._blocks else None

    @property
    def length_bytes(self) -> int:
        return self._length_bytes

    def glance(self) -> Glance:
        traits, mtime_ms, atime_ms, _, features = super().glance()
        return traits, mtime_ms, atime_ms, self._length_bytes, features


def _begin(view: INode, origin: INode, version: Version | None, parent: Directory | None) -> None:
    view.parent = parent
    set_attributes(view, origin if version is None else version)


def view_of(
    source: Namespace, inode: INode, name: str, snapshot_id: int, parent: Directory
) -> INode:
    """What the snapshot shows of the inode."""
    if isinstance(inode, Directory):
        return SnapshotDirectory(source, inode, name, snapshot_id, parent)
    if isinstance(inode, File):
        return SnapshotFile(source, inode, name, snapshot_id, parent)
    assert isinstance(inode, Symlink), inode
    version = source.snapshots.version(inode, snapshot_id)
    link = Symlink(inode.inode_id, name, "", "", 0, 0, inode.target)
    _begin(link, inode, version, parent)
    return link


def root_view(source: Namespace, snapshot: Snapshot, parent: Directory) -> SnapshotDirectory:
    """The snapshot's directory as it was; it was modified last when the snapshot was made."""
    view = SnapshotDirectory(
        source, snapshot.directory, snapshot.name, snapshot.snapshot_id, parent
    )
    view.mtime_ms = snapshot.mtime_ms
    return view


def dead_entries(source: Namespace, directory: Directory) -> Iterator[INode | int]:
    """What only snapshots have of a directory: what was deleted, as it is now, and what was
    moved away, as it was. Files may be given by their ids."""
    for links in source.snapshots.dead_in.get(directory.inode_id, {}).values():
        for link in links:
            if link.moved:
                yield view_of(source, link.inode, link.name, link.last, directory)
            else:
                yield link.inode.inode_id if isinstance(link.inode, File) else link.inode


def quota_then(snapshots: Snapshots, directory: Directory, snapshot_id: int) -> Quota | None:
    """The bounds that the directory had."""
    version = snapshots.version(directory, snapshot_id)
    return directory.quota if version is None else version.quota


def view_trail(source: Namespace, components: list[str]) -> list[INode | None] | None:
    """As `Namespace.trail`, for a path with a component `.snapshot` below a snapshottable
    directory; None for every other path."""
    at = components.index(DOT_SNAPSHOT)
    trail = source.trail(components[:at])
    directory = trail[-1]
    if not isinstance(directory, Directory) or directory.inode_id not in source.snapshots.roots:
        return None
    then = _version_then(source.snapshots, directory, components[at + 1 : at + 2])
    if then is not None:
        passed = Directory(directory.inode_id, directory.name, "", "", 0, 0)
        _begin(passed, directory, then, directory.parent)
        trail[at] = passed
    node: INode | None = DotSnapshot(source, directory, then)
    trail.append(node)
    for name in components[at + 1 :]:
        node = node.child(name) if isinstance(node, SnapshotDirectory | DotSnapshot) else None
        trail.append(node)
    return trail


def _version_then(
    snapshots: Snapshots, directory: Directory, names: Sequence[str]
) -> Version | None:
    """The directory's attributes at its snapshot of the first of `names`; None if it has no such
    snapshot, or they are what they were."""
    snapshot = snapshots.roots[directory.inode_id].named(names[0]) if names else None
    return None if snapshot is None else snapshots.version(directory, snapshot.snapshot_id)
