"""Giving a new directory the attributes of the one that it replaces.

The directory gets owner, group, mode, ACL, extended attributes, storage policy, erasure coding
policy, quotas and modification time, and snapshots of it are allowed again. Its files, which are
new, get owner, group, mode, ACL, extended attributes, storage policy, erasure coding policy and
replication of an old one, and the newest times, so cold data stays cold, and incremental readers
do not read it all again. An attribute that is equal already is not set, so an ordinary user can do
this with his own files. Owner, mode and ACL come last: they may forbid all else. Blocks of files
with a storage policy of their own are written as the directory's says, which is where there must
be room, and a mover brings them to their place.
"""

from __future__ import annotations

import logging

from howdah import errors
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.namespace import HdfsNamespace
from howdah.fs.status import ContentSummary, FileStatus
from howdah.protocol.striping.policies import REPLICATION_NAME

_log = logging.getLogger(__name__)

_RAW = "raw."
ORDER_XATTR = "user.howdah.order"
"""The attribute of a directory that says in which order its rows were written."""
_STICKY = 0o1000


class DirectoryAttributes:
    """Gives the attributes of a directory, `like`, to another one."""

    def __init__(self, fs: FileSystem, like: FileStatus) -> None:
        self._fs = fs
        self._like = like

    def prepare(self, building: str, like: FileStatus | None = None) -> None:
        """Set what must be set before files are written; `like` is one of the old files."""
        fs = self._fs
        self._coding_policy(building, self._like if like is None else like)
        policy = fs.get_file_status(building).storage_policy
        if policy != self._like.storage_policy:
            fs.set_storage_policy(building, fs.get_storage_policy(self._like.path).name)
        if self._like.is_snapshot_enabled and isinstance(fs, HdfsNamespace):
            # Only a superuser may: to know that before the files are written saves the work.
            fs.allow_snapshot(building)

    def give(
        self,
        building: str,
        like: FileStatus | None,
        modification_time_ms: int,
        access_time_ms: int,
        order: str = "",
    ) -> None:
        """Set everything else; `like` is one of the old files, `order` that of the new rows."""
        fs = self._fs
        if like is not None:
            xattrs = xattrs_of(fs, like.path)
            has_own_policy = like.storage_policy != self._like.storage_policy
            policy = fs.get_storage_policy(like.path).name if has_own_policy else ""
            for status in list(fs.list_status_iter(building)):
                for name, value in xattrs.items():
                    fs.set_xattr(status.path, name, value)
                if policy:
                    fs.set_storage_policy(status.path, policy)
                # Of an erasure coded file it has no meaning.
                if not status.is_erasure_coded and status.replication != like.replication:
                    fs.set_replication(status.path, like.replication)
                fs.set_times(status.path, modification_time_ms, access_time_ms or -1)
                self._alike(status, like)
        for name, value in xattrs_of(fs, self._like.path).items():
            if name != ORDER_XATTR:
                fs.set_xattr(building, name, value)
        if order:
            try:
                fs.set_xattr(building, ORDER_XATTR, order.encode())
            except errors.UnsupportedOperation:
                _log.info("%s has no attributes to remember the order by", fs.uri)
        self._coding_policy(building, self._like)
        self._quotas(building)
        fs.set_times(building, self._like.modification_time_ms)
        self._alike(fs.get_file_status(building), self._like)

    def _alike(self, status: FileStatus, like: FileStatus) -> None:
        fs = self._fs
        if (status.owner, status.group) != (like.owner, like.group):
            fs.set_owner(status.path, like.owner, like.group)
        if like.has_acl or status.has_acl:
            fs.set_acl(status.path, fs.get_acl_status(like.path).all_entries())
            # An ACL has no sticky bit.
            if not (status.permission ^ like.permission) & _STICKY:
                return
        if status.permission != like.permission:
            fs.set_permission(status.path, like.permission)

    def _coding_policy(self, building: str, like: FileStatus) -> None:
        """Have new files in the directory coded as `like` is, or would code its new files."""
        now = self._fs.get_file_status(building)
        if (now.is_erasure_coded or like.is_erasure_coded) and (
            now.erasure_coding_policy != like.erasure_coding_policy
        ):
            policy = like.erasure_coding_policy if like.is_erasure_coded else REPLICATION_NAME
            self._fs.set_erasure_coding_policy(building, policy)

    def _quotas(self, building: str) -> None:
        summary: ContentSummary = self._fs.content_summary(self._like.path)
        if summary.quota >= 0 or summary.space_quota >= 0:
            self._fs.set_quota(
                building,
                names=summary.quota if summary.quota >= 0 else None,
                space_bytes=summary.space_quota if summary.space_quota >= 0 else None,
            )
        for type_quota in summary.type_quotas:
            if type_quota.quota >= 0:
                self._fs.set_quota(
                    building, space_bytes=type_quota.quota, storage_type=type_quota.storage_type
                )


def order_of(fs: FileSystem, directory: str) -> str:
    """The order in which the rows of a directory were written; "" if no run has ordered them."""
    return xattrs_of(fs, directory).get(ORDER_XATTR, b"").decode("utf-8", "replace")


def xattrs_of(fs: FileSystem, path: str) -> dict[str, bytes]:
    """Return the extended attributes of a path that can be set on another one; none where the
    filesystem has none."""
    try:
        xattrs = fs.get_xattrs(path)
    except errors.UnsupportedOperation:
        return {}
    return {name: value for name, value in xattrs.items() if not name.startswith(_RAW)}
