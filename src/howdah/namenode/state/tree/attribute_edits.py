"""Edits that change the attributes of an inode (pure).

Part of Hadoop's `FSEditLogLoader`. `namespace` applies these edits with all others. They
check only that the path exists.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

from howdah.formats.edits import edits
from howdah.namenode.state.inodes import acls, limits, xattrs
from howdah.namenode.state.inodes.block_events import EditDoesNotFit
from howdah.namenode.state.inodes.directory import MODE_MASK
from howdah.namenode.state.inodes.inodes import File, INode
from howdah.namenode.state.tree.encryption_zones import ZoneIndex
from howdah.namenode.state.tree.satisfier_queue import SatisfierQueue


class AttributeEdits:
    """`existing` and `file` find the inode of an edit, or raise EditDoesNotFit.
    `replication_changed` is called with a file whose blocks may have to have more replicas
    than before, or fewer; `marks` and `zones` follow what edits set and remove."""

    def __init__(
        self,
        existing: Callable[[str, edits.Edit], INode],
        file: Callable[[str, edits.Edit], File],
        replication_changed: Callable[[File], None],
        marks: SatisfierQueue,
        zones: ZoneIndex,
    ) -> None:
        self._existing = existing
        self._file = file
        self._replication_changed = replication_changed
        self._marks = marks
        self._zones = zones
        self.appliers: Final[dict[type[edits.Edit], Callable[[Any], None]]] = {
            edits.SetReplicationOp: self._set_replication,
            edits.SetPermissionsOp: self._set_permissions,
            edits.SetOwnerOp: self._set_owner,
            edits.TimesOp: self._times,
            edits.SetAclOp: self._set_acl,
            edits.SetXAttrOp: self._set_xattr,
            edits.RemoveXAttrOp: self._remove_xattr,
        }

    def _set_replication(self, op: edits.SetReplicationOp) -> None:
        file = self._file(op.path, op)
        wrong = limits.wrong_file(op.replication, 0, 0)
        if wrong is not None:
            raise EditDoesNotFit(f"{op.opcode.name} of {op.path}: {wrong}")
        if file.coding_policy_id:
            return  # Its block groups are not replicated.
        file.replication = op.replication
        self._replication_changed(file)

    def _set_permissions(self, op: edits.SetPermissionsOp) -> None:
        self._existing(op.path, op).mode = op.mode & MODE_MASK

    def _set_owner(self, op: edits.SetOwnerOp) -> None:
        inode = self._existing(op.path, op)
        if op.owner is not None:
            inode.owner = sys.intern(op.owner)
        if op.group is not None:
            inode.group = sys.intern(op.group)

    def _times(self, op: edits.TimesOp) -> None:
        inode = self._existing(op.path, op)
        if op.mtime_ms >= 0:
            inode.mtime_ms = op.mtime_ms
        if op.atime_ms >= 0:
            inode.atime_ms = op.atime_ms

    def _set_acl(self, op: edits.SetAclOp) -> None:
        inode = self._existing(op.path, op)
        if op.entries:
            _check_acl(op.entries, op, op.path)
            inode.mode, inode.acl = acls.stored_as(inode.mode, op.entries)
        else:
            inode.mode, inode.acl = acls.without_acl(inode.mode, inode.acl), ()

    def _set_xattr(self, op: edits.SetXAttrOp) -> None:
        inode = self._existing(op.path, op)
        inode.xattrs = xattrs.with_set(inode.xattrs, op.xattrs)
        self._zones.follow(inode, op.xattrs)
        if xattrs.is_marked(op.xattrs):
            self._marks.follow(inode)

    def _remove_xattr(self, op: edits.RemoveXAttrOp) -> None:
        inode = self._existing(op.path, op)
        inode.xattrs = xattrs.without(inode.xattrs, op.xattrs)
        if xattrs.is_marked(op.xattrs):
            self._marks.discard(inode.inode_id)


def begin_with(inode: INode, op: edits.AddOp | edits.MkdirOp) -> None:
    """What a new inode has besides its mode."""
    if op.acl:
        _check_acl(op.acl, op, op.path)
        inode.mode, inode.acl = acls.stored_as(inode.mode, op.acl)
    if op.xattrs:
        inode.xattrs = op.xattrs


def _check_acl(entries: tuple[edits.AclEntry, ...], edit: edits.Edit, path: str) -> None:
    wrong = acls.wrong_list(entries)
    if wrong is not None:
        raise EditDoesNotFit(f"{edit.opcode.name} of {path}: {wrong}")
