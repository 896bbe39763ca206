"""Calls that change ACLs (pure).

Hadoop's `FSDirAclOp`. Checks come first, then one edit with the whole new list. An edit
without entries removes the ACL. Only the owner of an inode changes its ACL.
"""

from __future__ import annotations

from collections.abc import Sequence

from howdah import errors
from howdah.formats.edits import edits
from howdah.formats.edits.edits import AclEntry, AclScope
from howdah.namenode.service.attributes.owner_mode_times import NOTHING_THERE
from howdah.namenode.service.calls.resolved_path import Resolved
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.inodes import acls
from howdah.namenode.state.inodes.inodes import Directory, INode
from howdah.namenode.state.tree import reserved
from howdah.protocol.rpc.call import Caller


class AclCalls:
    """Operations on ACLs."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._namesystem = namesystem

    def check_enabled(self) -> None:
        """Raises InvalidAcl where the configuration has no ACLs."""
        if not self._namesystem.settings.acls_enabled:
            raise errors.InvalidAcl(
                "The ACL operation has been rejected.  Support for ACLs has been disabled by "
                "setting dfs.namenode.acls.enabled to false."
            )

    def modify(self, caller: Caller, path: str, spec: Sequence[AclEntry]) -> None:
        resolved, inode = self._own(caller, path, "modify ACL entries")
        self._set(resolved, inode, acls.modified(acls.entries_of(inode.mode, inode.acl), spec))

    def remove_entries(self, caller: Caller, path: str, spec: Sequence[AclEntry]) -> None:
        resolved, inode = self._own(caller, path, "remove ACL entries")
        self._set(resolved, inode, acls.reduced(acls.entries_of(inode.mode, inode.acl), spec))

    def remove_default(self, caller: Caller, path: str) -> None:
        resolved, inode = self._own(caller, path, "remove default ACL entries")
        self._set(resolved, inode, acls.access_only(acls.entries_of(inode.mode, inode.acl)))

    def remove(self, caller: Caller, path: str) -> None:
        resolved, _ = self._own(caller, path, "remove ACL")
        self._namesystem.commit(edits.SetAclOp(resolved.path, ()))

    def replace(self, caller: Caller, path: str, spec: Sequence[AclEntry]) -> None:
        """An empty `spec` takes the ACL away."""
        resolved, inode = self._own(caller, path, "set ACL")
        if not spec:
            self._namesystem.commit(edits.SetAclOp(resolved.path, ()))
            return
        self._set(resolved, inode, acls.replaced(acls.entries_of(inode.mode, inode.acl), spec))

    def status(self, caller: Caller, path: str) -> INode:
        """The inode, for whoever may walk there."""
        self.check_enabled()
        _, resolved = self._namesystem.resolver.resolve_checked(caller, path)
        if resolved.inode is None and reserved.is_dot_snapshot_of_root(resolved.components):
            return reserved.dot_snapshot_directory()
        return resolved.require("cannot find {}")

    def _own(self, caller: Caller, path: str, action: str) -> tuple[Resolved, INode]:
        namesystem = self._namesystem
        self.check_enabled()
        namesystem.safe_mode.check(f"Cannot {action} on {path}")
        who, resolved = namesystem.resolver.resolve_to_change(caller, path)
        inode = resolved.require(NOTHING_THERE)
        namesystem.permissions.check_owner(who, inode)
        return resolved, inode

    def _set(self, resolved: Resolved, inode: INode, entries: tuple[AclEntry, ...]) -> None:
        if entries[-1].scope is AclScope.DEFAULT and not isinstance(inode, Directory):
            raise errors.InvalidAcl(
                f"Invalid ACL: only directories may have a default ACL. Path: {resolved.path}"
            )
        self._namesystem.commit(edits.SetAclOp(resolved.path, entries))
