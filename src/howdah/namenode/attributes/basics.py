"""setPermission, setOwner, setTimes: checks first, then an edit (pure).

Hadoop's `FSDirAttrOp`.
"""

from __future__ import annotations

from howdah import errors
from howdah.namenode.calls.core import Core
from howdah.namenode.calls.permissions import Access
from howdah.namenode.inodes import storage_policies
from howdah.namenode.inodes.inodes import MODE_MASK, File
from howdah.namenode.tree import quotas
from howdah.namenode.tree.measuring import Measuring
from howdah.rpc.service import Caller
from howdah.storage.edits import edits


class AttributeCalls:
    """Operations that change what is known about a path."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def set_permission(self, caller: Caller, path: str, mode: int) -> None:
        core = self._core
        core.safe_mode.check(f"Cannot set permission for {path}")
        who, found = core.resolve_to_change(caller, path)
        inode = core.require(found)
        core.permissions.check_owner(who, inode)
        core.commit(edits.SetPermissionsOp(found.path, mode & MODE_MASK))

    def set_owner(self, caller: Caller, path: str, owner: str | None, group: str | None) -> None:
        """The superuser gives files away; an owner may choose among the own groups."""
        core = self._core
        core.safe_mode.check(f"Cannot set owner for {path}")
        who, found = core.resolve_to_change(caller, path)
        inode = core.require(found)
        core.permissions.check_owner(who, inode)
        if core.permissions.enabled and not who.is_superuser:
            if owner is not None and owner != who.user:
                raise errors.AccessDenied(
                    f"User {who.user} is not a super user (non-super user cannot change owner)."
                )
            if group is not None and group not in who.groups:
                raise errors.AccessDenied(f"User {who.user} does not belong to {group}")
        core.commit(edits.SetOwnerOp(found.path, owner, group))

    def set_times(self, caller: Caller, path: str, mtime_ms: int, atime_ms: int) -> None:
        """Set either time; -1 leaves it."""
        core = self._core
        core.safe_mode.check(f"Cannot set times {path}")
        who, found = core.resolve_to_change(caller, path)
        inode = core.require(found)
        core.permissions.check(who, inode, Access.WRITE)
        core.commit(edits.TimesOp(found.path, mtime_ms, atime_ms))

    def set_replication(self, caller: Caller, path: str, replication: int) -> bool:
        """Change a file's replication (FS-016). False if it is no file."""
        core = self._core
        core.safe_mode.check(f"Cannot set replication for {path}")
        check_replication(core, path, replication, caller)
        who, found = core.resolve_to_change(caller, path)
        if not isinstance(found.inode, File):
            return False
        file = found.inode
        core.permissions.check(who, file, Access.WRITE)
        if file.replication != replication:
            core.check_quota(file.parent, _more(core.namespace.measuring, file, replication))
            core.commit(edits.SetReplicationOp(found.path, replication))
        return True


def _more(measuring: Measuring, file: File, replication: int) -> quotas.Usage:
    """What the file takes more with so many replicas."""
    count, policy = measuring.file_bytes(file), storage_policies.of(file)
    wanted = measuring.replication_with(file, replication)
    more = quotas.of_replicas(count, wanted, policy)
    more.add(measuring.of_bytes(file, count), -1)
    return more


def check_replication(core: Core, path: str, replication: int, caller: Caller) -> None:
    settings = core.settings
    if replication > settings.max_replication:
        raise errors.RemoteError(
            f"Requested replication factor of {replication} exceeds maximum of "
            f"{settings.max_replication} for {path}"
        )
    if replication < settings.min_replication:
        raise errors.RemoteError(
            f"file {path} on client {caller.machine}.\nRequested replication factor of "
            f"{replication} is less than the required minimum {settings.min_replication}"
        )
