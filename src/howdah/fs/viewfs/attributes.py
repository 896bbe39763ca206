"""What a view passes on about attributes: owners, ACLs, policies, quotas, snapshots.

Internal directories take no changes, and answer by themselves only for their ACL.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from howdah import errors
from howdah.fs.acl import AclEntry, AclStatus
from howdah.fs.attributes import KEEP
from howdah.fs.paths import PathLike
from howdah.fs.status import ErasureCodingPolicy, StoragePolicy
from howdah.fs.viewfs.delegation import Delegation

if TYPE_CHECKING:
    from howdah.fs.api import FileSystem
    from howdah.fs.hdfs.filesystem import HdfsFileSystem


class ViewAttributes(Delegation):
    """Passes attributes on to the targets of a view."""

    def set_permission(self, path: PathLike, mode: int) -> None:
        with self._changing(path, "setPermission") as (fs, there):
            fs.set_permission(there, mode)

    def set_owner(self, path: PathLike, owner: str | None = None, group: str | None = None) -> None:
        with self._changing(path, "setOwner") as (fs, there):
            fs.set_owner(there, owner, group)

    def set_replication(self, path: PathLike, replication: int) -> bool:
        with self._changing(path, "setReplication") as (fs, there):
            return fs.set_replication(there, replication)

    def set_times(self, path: PathLike, mtime_ms: int = -1, atime_ms: int = -1) -> None:
        with self._changing(path, "setTimes") as (fs, there):
            fs.set_times(there, mtime_ms, atime_ms)

    def access(self, path: PathLike, mode: int) -> None:
        name = self.resolve(path)
        resolved = self.table.resolve(name)
        if not resolved.is_internal:
            with self._there(resolved) as reached:
                reached.fs.access(reached.path, mode)
        elif mode & os.W_OK:
            raise errors.AccessDenied(
                f'Permission denied: user={self.user}, path="{name}":{self._looks.owner}:'
                f"{self._looks.group}:dr-xr-xr-x"
            ).about(name)

    # --- ACLs ---------------------------------------------------------------------------

    def get_acl_status(self, path: PathLike) -> AclStatus:
        resolved = self.table.resolve(self.resolve(path))
        if resolved.is_internal:
            return self._looks.acl()
        with self._there(resolved) as reached:
            return reached.fs.get_acl_status(reached.path)

    def modify_acl_entries(self, path: PathLike, entries: Iterable[AclEntry]) -> None:
        with self._changing(path, "modifyAclEntries") as (fs, there):
            fs.modify_acl_entries(there, entries)

    def remove_acl_entries(self, path: PathLike, entries: Iterable[AclEntry]) -> None:
        with self._changing(path, "removeAclEntries") as (fs, there):
            fs.remove_acl_entries(there, entries)

    def remove_default_acl(self, path: PathLike) -> None:
        with self._changing(path, "removeDefaultAcl") as (fs, there):
            fs.remove_default_acl(there)

    def remove_acl(self, path: PathLike) -> None:
        with self._changing(path, "removeAcl") as (fs, there):
            fs.remove_acl(there)

    def set_acl(self, path: PathLike, entries: Iterable[AclEntry]) -> None:
        with self._changing(path, "setAcl") as (fs, there):
            fs.set_acl(there, entries)

    # --- extended attributes --------------------------------------------------------------

    def get_xattr(self, path: PathLike, name: str) -> bytes:
        with self._any_target(path, "getXAttr") as (fs, there):
            return fs.get_xattr(there, name)

    def get_xattrs(self, path: PathLike, names: Iterable[str] = ()) -> dict[str, bytes]:
        with self._any_target(path, "getXAttrs") as (fs, there):
            return fs.get_xattrs(there, names)

    def list_xattrs(self, path: PathLike) -> list[str]:
        with self._any_target(path, "listXAttrs") as (fs, there):
            return fs.list_xattrs(there)

    def set_xattr(
        self,
        path: PathLike,
        name: str,
        value: bytes | None = None,
        *,
        create: bool = True,
        replace: bool = True,
    ) -> None:
        with self._changing(path, "setXAttr") as (fs, there):
            fs.set_xattr(there, name, value, create=create, replace=replace)

    def remove_xattr(self, path: PathLike, name: str) -> None:
        with self._changing(path, "removeXAttr") as (fs, there):
            fs.remove_xattr(there, name)

    # --- policies and quotas ----------------------------------------------------------------

    def get_storage_policies(self) -> list[StoragePolicy]:
        """Return the policies of all targets that have any, each once."""
        policies: dict[StoragePolicy, None] = {}
        for fs in self.child_filesystems():
            try:
                policies.update(dict.fromkeys(fs.get_storage_policies()))
            except errors.UnsupportedOperation:
                continue  # it has no policies: those of the others are asked for
        return list(policies)

    def get_storage_policy(self, path: PathLike) -> StoragePolicy:
        with self._any_target(path, "getStoragePolicy") as (fs, there):
            return fs.get_storage_policy(there)

    def set_storage_policy(self, path: PathLike, policy: str) -> None:
        with self._changing(path, "setStoragePolicy") as (fs, there):
            fs.set_storage_policy(there, policy)

    def unset_storage_policy(self, path: PathLike) -> None:
        with self._changing(path, "unsetStoragePolicy") as (fs, there):
            fs.unset_storage_policy(there)

    def satisfy_storage_policy(self, path: PathLike) -> None:
        with self._changing(path, "satisfyStoragePolicy") as (fs, there):
            fs.satisfy_storage_policy(there)

    def get_erasure_coding_policies(self) -> list[ErasureCodingPolicy]:
        """Return the policies of all targets that have any, each once."""
        policies: dict[ErasureCodingPolicy, None] = {}
        for fs in self.child_filesystems():
            try:
                policies.update(dict.fromkeys(fs.get_erasure_coding_policies()))
            except errors.UnsupportedOperation:
                continue  # it has no policies: those of the others are asked for
        return list(policies)

    def get_erasure_coding_codecs(self) -> dict[str, str]:
        """Return the codecs of all targets that have any."""
        codecs: dict[str, str] = {}
        for fs in self.child_filesystems():
            try:
                codecs |= fs.get_erasure_coding_codecs()
            except errors.UnsupportedOperation:
                continue  # it has no codecs: those of the others are asked for
        return codecs

    def get_erasure_coding_policy(self, path: PathLike) -> ErasureCodingPolicy | None:
        with self._any_target(path, "getErasureCodingPolicy") as (fs, there):
            return fs.get_erasure_coding_policy(there)

    def set_erasure_coding_policy(self, path: PathLike, policy: str | None = None) -> None:
        with self._changing(path, "setErasureCodingPolicy") as (fs, there):
            fs.set_erasure_coding_policy(there, policy)

    def unset_erasure_coding_policy(self, path: PathLike) -> None:
        with self._changing(path, "unsetErasureCodingPolicy") as (fs, there):
            fs.unset_erasure_coding_policy(there)

    def set_quota(
        self,
        path: PathLike,
        *,
        names: int | None = KEEP,
        space_bytes: int | None = KEEP,
        storage_type: str | None = None,
    ) -> None:
        with self._changing(path, "setQuota") as (fs, there):
            fs.set_quota(there, names=names, space_bytes=space_bytes, storage_type=storage_type)

    # --- snapshots ------------------------------------------------------------------------

    def create_snapshot(self, path: PathLike, name: str | None = None) -> str:
        """Keep a directory as it is now, on HDFS; the path of the snapshot in the view."""
        with self._changing(path, "createSnapshot") as (fs, there):
            made = self._with_snapshots(fs).create_snapshot(there, name)
        return self.resolve(path) + made[len(there) :]

    def rename_snapshot(self, path: PathLike, old: str, new: str) -> None:
        """Give a snapshot another name."""
        with self._changing(path, "renameSnapshot") as (fs, there):
            self._with_snapshots(fs).rename_snapshot(there, old, new)

    def delete_snapshot(self, path: PathLike, name: str) -> None:
        """Let go of a snapshot."""
        with self._changing(path, "deleteSnapshot") as (fs, there):
            self._with_snapshots(fs).delete_snapshot(there, name)

    def _with_snapshots(self, fs: FileSystem) -> HdfsFileSystem | ViewAttributes:
        from howdah.fs.hdfs.filesystem import HdfsFileSystem  # loads the client

        if isinstance(fs, HdfsFileSystem | ViewAttributes):
            return fs
        raise errors.UnsupportedOperation(f"{fs.uri} has no snapshots")
