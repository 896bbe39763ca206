"""setQuota: a superuser limits a directory (pure). Part of Hadoop's `FSDirAttrOp`."""

from __future__ import annotations

from typing import Final

from howdah import errors
from howdah.formats.edits import edits
from howdah.formats.edits.edits import KEEP_QUOTA, StorageKind
from howdah.namenode.service.calls.permissions import Identity
from howdah.namenode.service.calls.resolved_path import Resolved
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.inodes.inode_features import UNLIMITED
from howdah.namenode.state.inodes.inodes import Directory
from howdah.protocol.rpc.call import Caller

RESET: Final = -1
"""A bound that is taken away."""


class QuotaCalls:
    """The operation on quotas; `quotas` and `tally` see to their being kept."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._namesystem = namesystem

    def set(
        self,
        caller: Caller,
        path: str,
        names: int,
        space_bytes: int,
        kind: StorageKind | None,
    ) -> None:
        """Bound names and space; or, with `kind`, the space on that type of storage.

        `RESET` takes a bound away, `KEEP_QUOTA` leaves one. A bound may be below what is
        used: then nothing more is let in.
        """
        namesystem = self._namesystem
        if not namesystem.settings.owners_set_quotas:
            namesystem.permissions.check_superuser(
                namesystem.identities.of(caller.user), "set quotas"
            )
        namesystem.safe_mode.check(f"Cannot set quota on {path}")
        for count in (names, space_bytes):
            if count < RESET:
                raise errors.IllegalArgument(
                    f"Illegal value for nsQuota or ssQuota : {names} and {space_bytes}",
                    java_class="java.lang.IllegalArgumentException",
                )
        who, resolved = namesystem.resolver.resolve_to_change(caller, path)
        if namesystem.settings.owners_set_quotas:
            self._check_owner_above(who, resolved)
        directory = resolved.inode
        if directory is None:
            raise errors.PathNotFound(f"Directory does not exist: {resolved.path}")
        if not isinstance(directory, Directory):
            raise errors.PathIsNotDirectory(f"`{resolved.path}': Is not a directory")
        if kind is not None:
            if names != KEEP_QUOTA or kind is StorageKind.RAM_DISK:
                raise errors.UnsupportedOperation(
                    f"Failed to set quota by storage type {kind.name} on {resolved.path}: "
                    "names have none, nor has memory"
                )
            if space_bytes != KEEP_QUOTA:
                namesystem.commit(edits.SetQuotaByStorageTypeOp(resolved.path, kind, space_bytes))
            return
        have = directory.quota
        had = (UNLIMITED, UNLIMITED) if have is None else (have.namespace, have.space_bytes)
        wanted = (
            had[0] if names == KEEP_QUOTA else names,
            had[1] if space_bytes == KEEP_QUOTA else space_bytes,
        )
        if wanted != had:
            namesystem.commit(edits.SetQuotaOp(resolved.path, *wanted))

    def _check_owner_above(self, who: Identity, resolved: Resolved) -> None:
        """Raises AccessDenied unless the caller owns the directory above, or is a superuser."""
        permissions = self._namesystem.permissions
        if permissions.is_exempt(who):
            return
        if resolved.parent is None or resolved.parent.owner != who.user:
            raise errors.AccessDenied(
                f"Access denied for user {who.user}. Superuser or owner of parent folder privilege "
                "is required"
            )
