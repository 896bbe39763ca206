"""ACLs, attributes and policies of HDFS: the interface's methods as calls of the namenode."""

from __future__ import annotations

from collections.abc import Iterable

from howdah import errors
from howdah.fs.acl import AclEntry, AclStatus
from howdah.fs.attributes import KEEP, xattr_parts
from howdah.fs.hdfs.links import HdfsLinks, follow_links, follow_links_above
from howdah.fs.paths import PathLike
from howdah.fs.status import StoragePolicy
from howdah.proto import types_pb2 as pb

_Kind = pb.AclEntryProto.AclEntryTypeProto
_Namespace = pb.XAttrProto.XAttrNamespaceProto


class HdfsAttributes(HdfsLinks):
    """The part of `HdfsFileSystem` that is about what inodes have."""

    @follow_links
    def get_acl_status(self, path: PathLike) -> AclStatus:
        found = self._namenode.get_acl_status(self.resolve(path))
        return AclStatus(
            found.owner,
            found.group,
            found.sticky,
            found.permission.perm,
            tuple(map(acl_entry, found.entries)),
        )

    @follow_links
    def modify_acl_entries(self, path: PathLike, entries: Iterable[AclEntry]) -> None:
        self._namenode.modify_acl_entries(self.resolve(path), map(_entry_message, entries))

    @follow_links
    def remove_acl_entries(self, path: PathLike, entries: Iterable[AclEntry]) -> None:
        self._namenode.remove_acl_entries(self.resolve(path), map(_entry_message, entries))

    @follow_links
    def remove_default_acl(self, path: PathLike) -> None:
        self._namenode.remove_default_acl(self.resolve(path))

    @follow_links
    def remove_acl(self, path: PathLike) -> None:
        self._namenode.remove_acl(self.resolve(path))

    @follow_links
    def set_acl(self, path: PathLike, entries: Iterable[AclEntry]) -> None:
        self._namenode.set_acl(self.resolve(path), map(_entry_message, entries))

    @follow_links
    def get_xattr(self, path: PathLike, name: str) -> bytes:
        found = self._namenode.get_xattrs(self.resolve(path), [_xattr_message(name)])
        return found[0].value

    @follow_links
    def get_xattrs(self, path: PathLike, names: Iterable[str] = ()) -> dict[str, bytes]:
        found = self._namenode.get_xattrs(self.resolve(path), map(_xattr_message, names))
        return {full_name(xattr): xattr.value for xattr in found}

    @follow_links
    def list_xattrs(self, path: PathLike) -> list[str]:
        return [full_name(xattr) for xattr in self._namenode.list_xattrs(self.resolve(path))]

    @follow_links
    def set_xattr(
        self,
        path: PathLike,
        name: str,
        value: bytes | None = None,
        *,
        create: bool = True,
        replace: bool = True,
    ) -> None:
        flags = (pb.XATTR_CREATE if create else 0) | (pb.XATTR_REPLACE if replace else 0)
        self._namenode.set_xattr(self.resolve(path), _xattr_message(name, value), flags)

    @follow_links
    def remove_xattr(self, path: PathLike, name: str) -> None:
        self._namenode.remove_xattr(self.resolve(path), _xattr_message(name))

    def get_storage_policies(self) -> list[StoragePolicy]:
        return [_policy(message) for message in self._namenode.get_storage_policies()]

    @follow_links_above
    def get_storage_policy(self, path: PathLike) -> StoragePolicy:
        return _policy(self._namenode.get_storage_policy(self.resolve(path)))

    @follow_links
    def set_storage_policy(self, path: PathLike, policy: str) -> None:
        self._namenode.set_storage_policy(self.resolve(path), policy)

    @follow_links
    def satisfy_storage_policy(self, path: PathLike) -> None:
        self._namenode.satisfy_storage_policy(self.resolve(path))

    @follow_links
    def unset_storage_policy(self, path: PathLike) -> None:
        self._namenode.unset_storage_policy(self.resolve(path))

    @follow_links
    def set_quota(
        self,
        path: PathLike,
        *,
        names: int | None = KEEP,
        space_bytes: int | None = KEEP,
        storage_type: str | None = None,
    ) -> None:
        if storage_type is not None and storage_type not in set(pb.StorageTypeProto.keys()):
            raise errors.IllegalArgument(f"{storage_type} is no type of storage")
        if (names is not None and names <= 0) or (space_bytes is not None and space_bytes < 0):
            raise errors.IllegalArgument(
                f"Invalid values for quota : {names} names and {space_bytes} bytes"
            )
        self._namenode.set_quota(
            self.resolve(path),
            -1 if names is None else names,
            -1 if space_bytes is None else space_bytes,
            storage_type,
        )


def _policy(message: pb.BlockStoragePolicyProto) -> StoragePolicy:
    def names(types: pb.StorageTypesProto) -> tuple[str, ...]:
        return tuple(map(pb.StorageTypeProto.Name, types.storageTypes))

    return StoragePolicy(
        message.policyId,
        message.name,
        names(message.creationPolicy),
        names(message.creationFallbackPolicy),
        names(message.replicationFallbackPolicy),
    )


def acl_entry(message: pb.AclEntryProto) -> AclEntry:
    return AclEntry(
        _Kind.Name(message.type).lower(),
        message.name or None,
        int(message.permissions),
        message.scope == pb.AclEntryProto.DEFAULT,
    )


def _entry_message(entry: AclEntry) -> pb.AclEntryProto:
    return pb.AclEntryProto(
        type=entry.kind.upper(),
        scope=pb.AclEntryProto.DEFAULT if entry.default else pb.AclEntryProto.ACCESS,
        permissions=entry.permission,  # type: ignore[arg-type]
        name=entry.name,
    )


def full_name(xattr: pb.XAttrProto) -> str:
    return f"{_Namespace.Name(xattr.namespace).lower()}.{xattr.name}"


def _xattr_message(name: str, value: bytes | None = None) -> pb.XAttrProto:
    namespace, rest = xattr_parts(name)
    return pb.XAttrProto(namespace=namespace.upper(), name=rest, value=value)
