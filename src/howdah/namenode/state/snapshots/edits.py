"""The edits about snapshots, and what every other edit means for snapshots (pure).

Part of Hadoop's `FSEditLogLoader`. `namespace` applies these edits with all others. They
check only that they fit the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

from howdah.formats.edits import edits
from howdah.namenode.state.inodes.block_events import EditDoesNotFit
from howdah.namenode.state.inodes.inodes import Directory, INode
from howdah.namenode.state.snapshots.snapshots import Snapshots, Snapshottable

CHANGES_THE_INODE: Final = (
    edits.AddBlockOp,
    edits.AppendOp,
    edits.CloseOp,
    edits.RemoveXAttrOp,
    edits.SetAclOp,
    edits.SetOwnerOp,
    edits.SetPermissionsOp,
    edits.SetQuotaByStorageTypeOp,
    edits.SetQuotaOp,
    edits.SetReplicationOp,
    edits.SetStoragePolicyOp,
    edits.SetXAttrOp,
    edits.TimesOp,
    edits.TruncateOp,
    edits.UpdateBlocksOp,
)
CHANGES_THE_PARENT: Final = (edits.AddOp, edits.DeleteOp, edits.MkdirOp, edits.SymlinkOp)


class Tree(Protocol):
    """What these edits need of a namespace."""

    @property
    def snapshots(self) -> Snapshots: ...

    def find(self, path: str) -> INode | None: ...

    def directory(self, path: str, edit: edits.Edit) -> Directory: ...

    def release(self, inodes: Iterable[INode]) -> None: ...


class SnapshotEdits:
    """Works on the namespace that it is a part of."""

    def __init__(self, namespace: Tree) -> None:
        self._namespace = namespace
        self._snapshots = namespace.snapshots
        self.appliers: Final[dict[type[edits.Edit], Callable[[Any], None]]] = {
            edits.AllowSnapshotOp: self._allow,
            edits.DisallowSnapshotOp: self._disallow,
            edits.CreateSnapshotOp: self._create,
            edits.DeleteSnapshotOp: self._delete,
            edits.RenameSnapshotOp: self._rename,
        }

    def preserve(self, edit: edits.Edit) -> None:
        """The edit is about to be applied: what it changes is kept, if a snapshot sees it."""
        for path in _changed_by(edit):
            inode = self._namespace.find(path)
            if inode is not None:
                self._snapshots.preserve(inode)

    def _allow(self, op: edits.AllowSnapshotOp) -> None:
        directory = self._namespace.directory(op.path, op)
        self._snapshots.roots.setdefault(directory.inode_id, Snapshottable(directory))

    def _disallow(self, op: edits.DisallowSnapshotOp) -> None:
        directory = self._namespace.directory(op.path, op)
        root = self._snapshots.roots.get(directory.inode_id)
        if root is None:
            return
        if root.snapshots:
            raise EditDoesNotFit(f"OP_DISALLOW_SNAPSHOT of {op.path}: it has snapshots")
        del self._snapshots.roots[directory.inode_id]

    def _root(self, path: str, edit: edits.Edit) -> Snapshottable:
        directory = self._namespace.directory(path, edit)
        root = self._snapshots.roots.get(directory.inode_id)
        if root is None:
            raise EditDoesNotFit(f"{edit.opcode.name}: {path} is not snapshottable")
        return root

    def _create(self, op: edits.CreateSnapshotOp) -> None:
        root = self._root(op.path, op)
        if root.named(op.name) is not None:
            raise EditDoesNotFit(f"OP_CREATE_SNAPSHOT of {op.path}: {op.name} exists")
        self._touch(root.directory, op.mtime_ms)
        self._snapshots.create(root, op.name)

    def _touch(self, directory: Directory, mtime_ms: int) -> None:
        """Logs of old have no time in these records."""
        self._snapshots.preserve(directory)
        directory.mtime_ms = max(directory.mtime_ms, mtime_ms)

    def _delete(self, op: edits.DeleteSnapshotOp) -> None:
        root = self._root(op.path, op)
        snapshot = root.named(op.name)
        if snapshot is None:
            # Where snapshots are deleted in order, Hadoop logs two of these edits: at the call,
            # which only marks the snapshot, and when all older ones are gone. The second may
            # give it another name. Here the first one has deleted it.
            return
        self._touch(root.directory, op.mtime_ms)
        self._namespace.release(self._snapshots.delete(root, snapshot))

    def _rename(self, op: edits.RenameSnapshotOp) -> None:
        root = self._root(op.path, op)
        snapshot = root.named(op.old_name)
        if snapshot is None or (root.named(op.new_name) or snapshot) is not snapshot:
            raise EditDoesNotFit(
                f"OP_RENAME_SNAPSHOT of {op.path}: {op.old_name} cannot be {op.new_name}"
            )
        snapshot.name = op.new_name
        snapshot.mtime_ms = op.mtime_ms or snapshot.mtime_ms


def _changed_by(edit: edits.Edit) -> Iterable[str]:
    """The paths of the inodes that the edit changes, themselves or as directories."""
    if isinstance(edit, CHANGES_THE_INODE):
        return (edit.path,)
    if isinstance(edit, CHANGES_THE_PARENT):
        return (_above(edit.path),)
    if isinstance(edit, edits.RenameOp | edits.RenameOldOp):
        return _above(edit.src), _above(edit.dst)
    if isinstance(edit, edits.ConcatDeleteOp):
        return edit.target, _above(edit.target)
    return ()


def _above(path: str) -> str:
    return path.rpartition("/")[0]
