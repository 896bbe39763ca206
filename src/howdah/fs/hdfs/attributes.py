"""ACL entries, extended attributes and storage policies, from and to the protocol's messages."""

from __future__ import annotations

from howdah.fs.acl import AclEntry
from howdah.fs.attributes import xattr_parts
from howdah.fs.status import StoragePolicy
from howdah.proto import types_pb2 as pb

_Kind = pb.AclEntryProto.AclEntryTypeProto
_Namespace = pb.XAttrProto.XAttrNamespaceProto


def storage_policy(message: pb.BlockStoragePolicyProto) -> StoragePolicy:
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


def acl_entry_message(entry: AclEntry) -> pb.AclEntryProto:
    return pb.AclEntryProto(
        type=entry.kind.upper(),
        scope=pb.AclEntryProto.DEFAULT if entry.default else pb.AclEntryProto.ACCESS,
        permissions=entry.permission,  # type: ignore[arg-type]
        name=entry.name,
    )


def full_name(xattr: pb.XAttrProto) -> str:
    return f"{_Namespace.Name(xattr.namespace).lower()}.{xattr.name}"


def xattr_message(name: str, value: bytes | None = None) -> pb.XAttrProto:
    namespace, rest = xattr_parts(name)
    return pb.XAttrProto(namespace=namespace.upper(), name=rest, value=value)
