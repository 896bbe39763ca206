"""Limits that a call must keep before it adds to the namespace (pure).

Part of Hadoop's `FSDirectory`: `verifyMaxDirItems`, `verifyQuota`, and
`FSNamesystem.checkFsObjectLimit`.
"""

from __future__ import annotations

from howdah import errors
from howdah.namenode.service.calls.resolved_path import Resolved
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.state.inodes.inodes import Directory, INode
from howdah.namenode.state.tree import quotas
from howdah.namenode.state.tree.namespace import Namespace
from howdah.namenode.state.tree.quotas import Usage


class Limits:
    """How many objects, entries of a directory, names and bytes there may be."""

    def __init__(self, namespace: Namespace, settings: Settings) -> None:
        self._namespace = namespace
        self.max_objects = settings.max_objects
        self.max_directory_items = settings.max_directory_items

    def check_objects(self) -> None:
        """Raises RemoteError where there are as many files, directories and blocks as there
        may be."""
        limit = self.max_objects
        namespace = self._namespace
        if limit and len(namespace.inodes) + len(namespace.blocks) >= limit:
            raise errors.RemoteError(
                f"Exceeded the configured number of objects {limit} in the filesystem."
            )

    def check_directory_items(self, parent: Directory) -> None:
        """Raises MaxDirectoryItemsExceeded where `parent` has no room for one more entry."""
        limit = self.max_directory_items
        if limit and len(parent.entries) >= limit:
            raise errors.MaxDirectoryItemsExceeded(
                f"The directory item limit of {parent.path} is exceeded: "
                f"limit={limit} items={len(parent.entries)}"
            )

    def check_quota(self, parent: INode | None, change: Usage) -> None:
        """Raises QuotaExceeded where `change` would break a bound of `parent` or above."""
        if self._namespace.tally.directories:
            quotas.check(parent, change)

    def check_quota_of_new_names(self, resolved: Resolved) -> None:
        """Raises QuotaExceeded where the path and the missing directories above it are too many
        names."""
        if not self._namespace.tally.directories:
            return
        missing = sum(1 for inode in resolved.trail if inode is None)
        if resolved.inode is not None and self._namespace.snapshots.leaves_link(resolved.inode):
            missing = 1  # It is overwritten, and snapshots keep it.
        self.check_quota(resolved.last_existing, Usage(missing))
