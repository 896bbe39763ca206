"""Paths below `.snapshot`: from an inode that a snapshot shows to its path, and back (pure).

What was deleted has no path in the tree any more. An edit of such a file (only its last block
may still have to get its length, see `writing.block_recovery`) names it by its path in a
snapshot. Hadoop's loader of edits finds files by such paths, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from howdah.namenode.state.inodes import paths
from howdah.namenode.state.inodes.inodes import Directory, INode
from howdah.namenode.state.snapshots.snapshots import NONE, Snapshot, Snapshots


def path_in_snapshot(snapshots: Snapshots, inode: INode) -> str | None:
    """Where the newest snapshot that shows the inode has it; None if no snapshot shows it."""
    snapshot_id = snapshots.newest(inode) if snapshots.count else NONE
    names: list[str] = []
    node: INode | None = inode
    while snapshot_id != NONE and node is not None:
        root = snapshots.roots.get(node.inode_id)
        if root is not None:
            for snapshot in root.snapshots:
                if snapshot.snapshot_id == snapshot_id:
                    above = paths.split(root.directory.path)
                    return paths.join([*above, paths.DOT_SNAPSHOT, snapshot.name, *names[::-1]])
        entry = _entry(snapshots, node, snapshot_id)
        if entry is None:
            return None
        node, name = entry
        names.append(name)
    return None


def _entry(snapshots: Snapshots, inode: INode, snapshot_id: int) -> tuple[Directory, str] | None:
    """The directory in which the inode was then, and its name there."""
    for link in snapshots.dead_of.get(inode.inode_id, ()):
        if link.shows_in(snapshot_id):
            return link.parent, link.name
    if inode.parent is None:
        return None
    return inode.parent, inode.name


def find_in_snapshot(
    snapshots: Snapshots, find: Callable[[str], INode | None], path: str
) -> INode | None:
    """The inode that a snapshot shows at the path; None for a path that is not below
    `.snapshot`, or where nothing is. `find` knows the tree as it is."""
    components = path.split("/")[1:]
    if paths.DOT_SNAPSHOT not in components:
        return None
    at = components.index(paths.DOT_SNAPSHOT)
    directory = find(paths.join(components[:at]))
    root = None if directory is None else snapshots.roots.get(directory.inode_id)
    snapshot = None if root is None or len(components) < at + 2 else root.named(components[at + 1])
    if snapshot is None:
        return None
    return _below(snapshots, snapshot, components[at + 2 :])


def _below(snapshots: Snapshots, snapshot: Snapshot, names: Sequence[str]) -> INode | None:
    node: INode | None = snapshot.directory
    for name in names:
        if not isinstance(node, Directory):
            return None
        node = snapshots.child(node, name, snapshot.snapshot_id)
    return node
