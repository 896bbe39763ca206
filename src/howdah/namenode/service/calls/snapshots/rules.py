"""What snapshots forbid: a directory that has snapshots is not moved or deleted (pure)."""

from __future__ import annotations

from howdah import errors
from howdah.namenode.state.inodes.inodes import Directory, INode
from howdah.namenode.state.snapshots.snapshots import Snapshottable
from howdah.namenode.state.tree.namespace import Namespace


def attached_roots(namespace: Namespace) -> list[Snapshottable]:
    """The snapshottable directories; those that were deleted are still to be freed."""
    return [
        root for root in namespace.snapshots.roots.values() if namespace.is_attached(root.directory)
    ]


def is_within(inode: INode, top: INode) -> bool:
    """True for `top` and what is below it."""
    node: INode | None = inode
    while node is not None:
        if node == top:
            return True
        node = node.parent
    return False


def check_no_snapshots(namespace: Namespace, inode: INode | None) -> None:
    """Raises SnapshotError if the inode, which is to go, or something below it has
    snapshots."""
    if inode is None or not namespace.snapshots.count:
        return
    for root in attached_roots(namespace):
        if root.snapshots and is_within(root.directory, inode):
            path = root.directory.path
            raise errors.SnapshotError(
                f"The directory {path} cannot be deleted since {path} is snapshottable and "
                "already has snapshots"
            )


def check_not_nested(namespace: Namespace, moved: INode, parent: Directory) -> None:
    """Raises SnapshotError if a snapshottable directory would come to lie in another."""
    roots = namespace.snapshots.roots
    if not roots:
        return
    node: INode | None = parent
    while node is not None and node.inode_id not in roots:
        node = node.parent
    if node is None:
        return
    if any(is_within(root.directory, moved) for root in attached_roots(namespace)):
        raise errors.SnapshotError(
            f"Unable to rename because {moved.path} has snapshottable descendant directories "
            f"and {parent.path} is a descent of a snapshottable directory, and HDFS does not "
            "support nested snapshottable directory."
        )
