"""What few inodes have: an ACL, attributes, policies, quotas, a writer.

Hadoop's `INode.Feature`: `AclFeature`, `XAttrFeature`, `DirectoryWithQuotaFeature`,
`FileUnderConstructionFeature`. An inode has one slot for all of them. The slot is None
for nearly every inode of a large namespace (FS-025): a closed file without features pays
eight bytes. `inodes` shows each feature as an attribute, so no other module sees this
class.

`acl` is what Hadoop's image and log call the ACL feature: the access entries without the
three that the mode bits have (owner, mask, other), then all default entries, sorted. It
is empty where the mode says all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from howdah.formats.edits.edits import AclEntry, StorageKind, XAttr

UNLIMITED: Final = -1
"""A quota that is not set."""


@dataclass(slots=True)
class Quota:
    """Bounds of a directory's subtree, and what of them is used.

    Bounds are `UNLIMITED` or 0 and more. The directory counts as one of its own
    names. Space is in bytes of replicas; what a storage type takes is what the
    storage policies of the files would put there.
    """

    namespace: int = UNLIMITED
    space_bytes: int = UNLIMITED
    by_kind_bytes: dict[StorageKind, int] = field(default_factory=dict)
    used_names: int = 0
    used_bytes: int = 0
    used_by_kind_bytes: dict[StorageKind, int] = field(default_factory=dict)

    @property
    def is_set(self) -> bool:
        """True if there is a bound of any kind."""
        return self.namespace >= 0 or self.space_bytes >= 0 or bool(self.by_kind_bytes)


class Features:
    """The optional facts of one inode."""

    __slots__ = (
        "acl",
        "coding_policy_id",
        "quota",
        "storage_policy_id",
        "writer",
        "writer_machine",
        "xattrs",
    )

    def __init__(self) -> None:
        self.acl: tuple[AclEntry, ...] = ()
        self.xattrs: tuple[XAttr, ...] = ()
        self.storage_policy_id = 0
        self.coding_policy_id = 0
        self.quota: Quota | None = None
        self.writer: str | None = None
        self.writer_machine = ""

    @property
    def is_empty(self) -> bool:
        return (
            not self.acl
            and not self.xattrs
            and not self.storage_policy_id
            and not self.coding_policy_id
            and self.quota is None
            and self.writer is None
        )


NO_FEATURES: Final = Features()
"""What an inode without any has; never changed."""
