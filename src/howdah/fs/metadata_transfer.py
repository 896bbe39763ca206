"""Giving a copy what is said of its source, when it takes the place of the source.

Carried are extended attributes, a storage policy of its own, replication, times, owner, group, ACL
and mode. What the filesystem does not have is left out. Owner and group stay those of whoever
copies if only the superuser may set others, as of mv(1). They come last with the mode, since they
may forbid the rest.
"""

from __future__ import annotations

from contextlib import suppress

from howdah import errors
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.fs.status import FileStatus

_RAW = "raw."


def apply_metadata(fs: FileSystem, status: FileStatus, target: str) -> None:
    """Give `target` what is said of the file or directory with this status."""
    there = fs.get_file_status(target)
    with suppress(errors.UnsupportedOperation):
        for name, value in fs.get_xattrs(status.path).items():
            if not name.startswith(_RAW):
                fs.set_xattr(target, name, value)
    if status.storage_policy != there.storage_policy and _has_own_policy(fs, status):
        fs.set_storage_policy(target, fs.get_storage_policy(status.path).name)
    # Erasure coded files, on either side, have none.
    is_replicated = status.is_file and not (status.is_erasure_coded or there.is_erasure_coded)
    if is_replicated and status.replication != there.replication:
        fs.set_replication(target, status.replication)
    with suppress(errors.UnsupportedOperation):
        fs.set_times(target, status.modification_time_ms, status.access_time_ms or -1)
    with suppress(errors.UnsupportedOperation, errors.AccessDenied):
        if (status.owner, status.group) != (there.owner, there.group):
            fs.set_owner(target, status.owner, status.group)
    with suppress(errors.UnsupportedOperation):
        if status.has_acl or there.has_acl:
            fs.set_acl(target, fs.get_acl_status(status.path).all_entries())
        fs.set_permission(target, status.permission)


def _has_own_policy(fs: FileSystem, status: FileStatus) -> bool:
    """Whether the storage policy of a path is another one than its directory hands down."""
    parent = paths.parent_of(status.path)
    return parent is None or fs.get_file_status(parent).storage_policy != status.storage_policy
