"""What directories, files and symbolic links have in common: Hadoop's `INode`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from howdah.namenode.inodes.features import NO_FEATURES, Features

if TYPE_CHECKING:
    from howdah.namenode.inodes.inodes import Directory
    from howdah.storage.edits.edits import AclEntry, XAttr

ROOT_INODE_ID: Final = 16385
"""The root's id; Hadoop reserves those below."""

DIRECTORY_DEFAULT_MODE: Final = 0o755
STICKY_BIT: Final = 0o1000
MODE_MASK: Final = 0o1777


class INode:
    """What all inodes have. Times are in milliseconds.

    What few of them have is in `features`, and shown as attributes: `acl`, `xattrs`,
    `storage_policy_id` (0 where the inode has none of its own).

    Compare inodes with `==`: there may be several objects for one file (see `files`).
    """

    if not TYPE_CHECKING:  # or nobody could set what the classes below have slots for
        __slots__ = ()

    inode_id: int
    name: str
    owner: str
    group: str
    mode: int
    mtime_ms: int
    atime_ms: int
    parent: Directory | None
    features: Features

    def _set_feature(self, name: str, value: Any) -> None:
        features = self.features
        if features is NO_FEATURES:
            if value == getattr(NO_FEATURES, name):
                return
            features = self.features = Features()
        setattr(features, name, value)
        if features.is_empty:
            self.features = NO_FEATURES

    @property
    def acl(self) -> tuple[AclEntry, ...]:
        """The entries that the mode does not stand for (see `features`)."""
        return self.features.acl

    @acl.setter
    def acl(self, entries: tuple[AclEntry, ...]) -> None:
        self._set_feature("acl", entries)

    @property
    def xattrs(self) -> tuple[XAttr, ...]:
        return self.features.xattrs

    @xattrs.setter
    def xattrs(self, xattrs: tuple[XAttr, ...]) -> None:
        self._set_feature("xattrs", xattrs)

    @property
    def storage_policy_id(self) -> int:
        """Its own, 0 if it has none and its parents decide."""
        return self.features.storage_policy_id

    @storage_policy_id.setter
    def storage_policy_id(self, policy_id: int) -> None:
        self._set_feature("storage_policy_id", policy_id)

    @property
    def path(self) -> str:
        """Absolute path, read upwards; of a detached inode, its path below the cut."""
        names: list[str] = []
        node: INode | None = self
        while node is not None and node.name:
            names.append(node.name)
            node = node.parent
        return "/" + "/".join(reversed(names))
