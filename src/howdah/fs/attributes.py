"""The part of the FileSystem interface that is about ACLs, attributes and policies.

Not every filesystem offers them: `has_path_capability` says so, and the methods raise
`UnsupportedOperation`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Final, NoReturn

from howdah import errors
from howdah.fs.acl import AclEntry, AclStatus
from howdah.fs.paths import PathLike
from howdah.fs.status import ErasureCodingPolicy, StoragePolicy

KEEP: Final = (1 << 63) - 1
"""A quota that is to stay as it is."""

XATTR_NAMESPACES: Final = ("user", "trusted", "security", "system", "raw")


class AttributeOperations(ABC):
    """What `howdah.fs.api.FileSystem` says of ACLs, attributes and policies."""

    @abstractmethod
    def _unsupported(self, operation: str) -> NoReturn:
        """Raise UnsupportedOperation for an operation that is not offered."""

    def get_acl_status(self, path: PathLike) -> AclStatus:
        """Owner, group, mode and ACL of a path.

        >>> fs.get_acl_status("/docs/a").entries
        ()
        """
        self._unsupported("get_acl_status")

    def modify_acl_entries(self, path: PathLike, entries: Iterable[AclEntry]) -> None:
        """Add entries to an ACL, or replace those of the same kind and name.

        >>> from howdah.fs.acl import AclEntry
        >>> fs.modify_acl_entries("/docs/a", [AclEntry("user", "anna", 6)])
        >>> str(fs.get_acl_status("/docs/a").entries[0])
        'user:anna:rw-'
        """
        self._unsupported("modify_acl_entries")

    def remove_acl_entries(self, path: PathLike, entries: Iterable[AclEntry]) -> None:
        """Take entries out of an ACL; their permissions mean nothing.

        >>> from howdah.fs.acl import AclEntry
        >>> fs.modify_acl_entries("/docs/a", [AclEntry("user", "anna", 6)])
        >>> fs.remove_acl_entries("/docs/a", [AclEntry("user", "anna", 0)])
        """
        self._unsupported("remove_acl_entries")

    def remove_default_acl(self, path: PathLike) -> None:
        """Take all default entries out of a directory's ACL.

        >>> fs.remove_default_acl("/docs")
        """
        self._unsupported("remove_default_acl")

    def remove_acl(self, path: PathLike) -> None:
        """Leave nothing of an ACL but the mode.

        >>> fs.remove_acl("/docs/a")
        """
        self._unsupported("remove_acl")

    def set_acl(self, path: PathLike, entries: Iterable[AclEntry]) -> None:
        """Replace the access entries, the default ones, or both: those that are given.

        >>> from howdah.fs.acl import AclEntry
        >>> fs.set_acl("/docs", [AclEntry("group", "staff", 5, default=True)])
        >>> fs.get_acl_status("/docs").entries[-3].default
        True
        """
        self._unsupported("set_acl")

    def get_xattr(self, path: PathLike, name: str) -> bytes:
        """The value of an extended attribute, named with its namespace: `user.mark`.

        >>> fs.set_xattr("/docs/a", "user.source", b"sensors")
        >>> fs.get_xattr("/docs/a", "user.source")
        b'sensors'
        """
        self._unsupported("get_xattr")

    def get_xattrs(self, path: PathLike, names: Iterable[str] = ()) -> dict[str, bytes]:
        """The attributes of these names, or all that the caller may see.

        >>> fs.set_xattr("/docs/a", "user.source", b"sensors")
        >>> fs.get_xattrs("/docs/a")
        {'user.source': b'sensors'}
        """
        self._unsupported("get_xattrs")

    def list_xattrs(self, path: PathLike) -> list[str]:
        """The names of all attributes that the caller may see.

        >>> fs.set_xattr("/docs/a", "user.source", b"sensors")
        >>> fs.list_xattrs("/docs/a")
        ['user.source']
        """
        self._unsupported("list_xattrs")

    def set_xattr(
        self,
        path: PathLike,
        name: str,
        value: bytes | None = None,
        *,
        create: bool = True,
        replace: bool = True,
    ) -> None:
        """Give a path an attribute: a new one if `create`, in place of an old if `replace`.

        >>> fs.set_xattr("/docs/a", "user.source", b"sensors")
        """
        self._unsupported("set_xattr")

    def remove_xattr(self, path: PathLike, name: str) -> None:
        """Take an attribute away.

        >>> fs.set_xattr("/docs/a", "user.source", b"sensors")
        >>> fs.remove_xattr("/docs/a", "user.source")
        >>> fs.list_xattrs("/docs/a")
        []
        """
        self._unsupported("remove_xattr")

    def get_storage_policies(self) -> list[StoragePolicy]:
        """All policies that a path can have.

        >>> sorted(policy.name for policy in fs.get_storage_policies())[:3]
        ['ALL_NVDIMM', 'ALL_SSD', 'COLD']
        """
        self._unsupported("get_storage_policies")

    def get_storage_policy(self, path: PathLike) -> StoragePolicy:
        """The policy that counts for a path: its own, or that of a directory above.

        >>> fs.get_storage_policy("/docs/a").name
        'HOT'
        """
        self._unsupported("get_storage_policy")

    def set_storage_policy(self, path: PathLike, policy: str) -> None:
        """Give a path a policy of its own, by name; new blocks are placed by it.

        >>> fs.set_storage_policy("/docs", "COLD")
        >>> fs.get_storage_policy("/docs/a").name
        'COLD'
        """
        self._unsupported("set_storage_policy")

    def satisfy_storage_policy(self, path: PathLike) -> None:
        """Mark a path: the cluster's satisfier moves the blocks of all files at the path and
        below it to where their policies want them, some time from now.

        Raises `UnsupportedAction` where the cluster has no satisfier, `PathNotFound`,
        `AccessDenied` without the right to write the path, and `RemoteError` for a directory
        that is marked already, or when too many paths wait.

        >>> from howdah.errors import UnsupportedAction
        >>> try:
        ...     fs.satisfy_storage_policy("/docs")   # then the satisfier moves the blocks
        ... except UnsupportedAction:
        ...     print("this cluster has no satisfier")
        this cluster has no satisfier
        """
        self._unsupported("satisfy_storage_policy")

    def unset_storage_policy(self, path: PathLike) -> None:
        """Take a path's own policy away; the directories above decide again.

        >>> fs.set_storage_policy("/docs", "COLD")
        >>> fs.unset_storage_policy("/docs")
        >>> fs.get_storage_policy("/docs").name
        'HOT'
        """
        self._unsupported("unset_storage_policy")

    def get_erasure_coding_policies(self) -> list[ErasureCodingPolicy]:
        """All erasure coding policies that the cluster knows, with their states.

        >>> policies = fs.get_erasure_coding_policies()
        >>> [policy.name for policy in policies if policy.state == "REMOVED"]
        []
        """
        self._unsupported("get_erasure_coding_policies")

    def get_erasure_coding_codecs(self) -> dict[str, str]:
        """The codecs of erasure coding that the cluster knows, each with its coders.

        >>> "fountain" in fs.get_erasure_coding_codecs()
        False
        """
        self._unsupported("get_erasure_coding_codecs")

    def get_erasure_coding_policy(self, path: PathLike) -> ErasureCodingPolicy | None:
        """The policy of a file, or the one that counts for new files of a directory. None where
        they are replicated.

        >>> fs.get_erasure_coding_policy("/docs") is None   # its files are replicated
        True
        """
        self._unsupported("get_erasure_coding_policy")

    def set_erasure_coding_policy(self, path: PathLike, policy: str | None = None) -> None:
        """Give a directory an erasure coding policy by name; None: the cluster's default. Files
        that are there stay as they are. `replication` has new files replicated, whatever the
        directories above say.

        Raises `IllegalArgument` for a policy that is not enabled, and `RemoteError` for a file.

        >>> from howdah.errors import HowdahError
        >>> try:
        ...     fs.set_erasure_coding_policy("/docs", "RS-10-4-1024k")   # new files are coded by it
        ... except HowdahError:
        ...     print("this policy is not enabled")
        this policy is not enabled
        """
        self._unsupported("set_erasure_coding_policy")

    def unset_erasure_coding_policy(self, path: PathLike) -> None:
        """Take a directory's own policy away; the directories above decide again. Raises
        `NoCodingPolicySet` where it has none.

        >>> from howdah.errors import HowdahError
        >>> try:
        ...     fs.unset_erasure_coding_policy("/docs")
        ... except HowdahError:
        ...     print("/docs has no policy of its own")
        /docs has no policy of its own
        """
        self._unsupported("unset_erasure_coding_policy")

    def set_quota(
        self,
        path: PathLike,
        *,
        names: int | None = KEEP,
        space_bytes: int | None = KEEP,
        storage_type: str | None = None,
    ) -> None:
        """Bound what is below a directory: its names (it is one itself), and the bytes of
        all replicas, or of those on one type of storage.

        None takes a bound away; what is not given stays as it is. `content_summary` tells
        bounds, and what is used.

        >>> fs.set_quota("/docs", names=2)
        >>> fs.write_bytes("/docs/b", b"")
        Traceback (most recent call last):
        howdah.errors.NamespaceQuotaExceeded: ...
        """
        self._unsupported("set_quota")


def xattr_parts(name: str) -> tuple[str, str]:
    """Namespace and rest of an attribute's name. Raises IllegalArgument for one that
    is in none of the namespaces."""
    namespace, point, rest = name.partition(".")
    if not name:
        raise errors.IllegalArgument("XAttr name cannot be null or empty.")
    if not point or namespace.lower() not in XATTR_NAMESPACES:
        raise errors.IllegalArgument(
            "An XAttr name must be prefixed with user/trusted/security/system/raw, "
            "followed by a '.'"
        )
    if not rest:
        raise errors.IllegalArgument("XAttr name cannot be empty.")
    return namespace.lower(), rest
