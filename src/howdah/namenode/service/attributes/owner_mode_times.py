"""setPermission, setOwner, setTimes, setReplication: checks first, then an edit (pure).

Hadoop's `FSDirAttrOp`.
"""

from __future__ import annotations

from typing import Final

from howdah import errors
from howdah.formats.edits import edits
from howdah.namenode.service.calls.permissions import Access
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.inodes import paths, storage_policies
from howdah.namenode.state.inodes.inodes import MODE_MASK, File
from howdah.namenode.state.inodes.limits import MAX_REPLICATION
from howdah.namenode.state.tree import quotas
from howdah.namenode.state.tree.usage import Measuring
from howdah.protocol.rpc.call import Caller

NOTHING_THERE: Final = "Directory/File does not exist {}"
"""The words of calls that only the owner may make."""


class AttributeCalls:
    """Operations that change what is known about a path."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._namesystem = namesystem

    def set_permission(self, caller: Caller, path: str, mode: int) -> None:
        namesystem = self._namesystem
        _check_not_reserved(path)
        namesystem.safe_mode.check(f"Cannot set permission for {path}")
        who, resolved = namesystem.resolver.resolve_to_change(caller, path)
        inode = resolved.require(NOTHING_THERE)
        namesystem.permissions.check_owner(who, inode)
        namesystem.commit(edits.SetPermissionsOp(resolved.path, mode & MODE_MASK))

    def set_owner(self, caller: Caller, path: str, owner: str | None, group: str | None) -> None:
        """The superuser gives files away; an owner may choose among the own groups."""
        namesystem = self._namesystem
        _check_not_reserved(path)
        namesystem.safe_mode.check(f"Cannot set owner for {path}")
        who, resolved = namesystem.resolver.resolve_to_change(caller, path)
        inode = resolved.require(NOTHING_THERE)
        namesystem.permissions.check_owner(who, inode)
        if namesystem.permissions.enabled and not who.is_superuser:
            if owner is not None and owner != who.user:
                raise errors.AccessDenied(
                    f"User {who.user} is not a super user (non-super user cannot change owner)."
                )
            if group is not None and group not in who.groups:
                raise errors.AccessDenied(f"User {who.user} does not belong to {group}")
        namesystem.commit(edits.SetOwnerOp(resolved.path, owner, group))

    def set_times(self, caller: Caller, path: str, mtime_ms: int, atime_ms: int) -> None:
        """Set either time; a negative one is left as it is. Two of them change nothing."""
        namesystem = self._namesystem
        namesystem.safe_mode.check(f"Cannot set times {path}")
        who, resolved = namesystem.resolver.resolve_to_change(caller, path)
        inode = resolved.require("File/Directory {} does not exist.")
        namesystem.permissions.check(who, inode, Access.WRITE)
        if mtime_ms >= 0 or atime_ms >= 0:
            namesystem.commit(edits.TimesOp(resolved.path, max(mtime_ms, -1), max(atime_ms, -1)))

    def set_replication(self, caller: Caller, path: str, replication: int) -> bool:
        """Change a file's replication (FS-016). False if it is no file, or erasure coded."""
        namesystem = self._namesystem
        namesystem.safe_mode.check(f"Cannot set replication for {path}")
        check_replication(namesystem, path, replication)
        who, resolved = namesystem.resolver.resolve_to_change(caller, path)
        if not isinstance(resolved.inode, File):
            return False
        file = resolved.inode
        namesystem.permissions.check(who, file, Access.WRITE)
        if file.coding_policy_id:
            return False
        if file.replication != replication:
            namesystem.limits.check_quota(
                file.parent, _more(namesystem.namespace.measuring, file, replication)
            )
            namesystem.commit(edits.SetReplicationOp(resolved.path, replication))
        return True


def _more(measuring: Measuring, file: File, replication: int) -> quotas.Usage:
    """What the file takes more with so many replicas."""
    count, policy = measuring.file_bytes(file), storage_policies.of(file)
    wanted = measuring.replication_with(file, replication)
    more = quotas.of_replicas(count, wanted, policy)
    more.add(measuring.of_bytes(file, count), -1)
    return more


def _check_not_reserved(path: str) -> None:
    if path == paths.RESERVED:
        raise errors.InvalidPath(f"Invalid path name {path}")


def check_replication(
    namesystem: Namesystem, path: str, replication: int, machine: str | None = None
) -> None:
    """Raises RemoteError, with Hadoop's words, for a replication out of bounds. `machine` is
    where a file is created from."""
    settings = namesystem.settings
    most = min(settings.max_replication, MAX_REPLICATION)
    if replication > most:
        bound = f"exceeds maximum of {most}"
    elif replication < settings.min_replication:
        bound = f"is less than the required minimum of {settings.min_replication}"
    else:
        return
    client = "" if machine is None else f", clientName={machine}"
    raise errors.RemoteError(
        f"Requested replication factor of {replication} {bound} for {path}{client}"
    )
