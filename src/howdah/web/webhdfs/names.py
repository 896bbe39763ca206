"""Names of extended attributes and entries of ACLs, from their texts (pure)."""

from __future__ import annotations

from typing import Final

from howdah import errors
from howdah.proto import types_pb2
from howdah.web.acl_text import read_entries

_NAMESPACES: Final = ("USER", "TRUSTED", "SECURITY", "SYSTEM", "RAW")


def xattr_named(text: str, value: bytes | None = None) -> types_pb2.XAttrProto:
    """`user.name`, and likewise for the other namespaces. Raises IllegalArgument."""
    space, dot, name = text.partition(".")
    if not dot or space.upper() not in _NAMESPACES:
        raise errors.IllegalArgument(
            "An XAttr name must be prefixed with user/trusted/security/system/raw, "
            "followed by a '.'"
        )
    if not name:
        raise errors.IllegalArgument("XAttr name cannot be empty.")
    return types_pb2.XAttrProto(
        namespace=space.upper(),
        name=name,
        value=value,
    )


def acl_entries(text: str, *, with_permissions: bool) -> list[types_pb2.AclEntryProto]:
    """`user::rwx,default:group:staff:r-x`; without permissions `user:bob`. Raises
    IllegalArgument."""
    scopes = types_pb2.AclEntryProto
    return [
        types_pb2.AclEntryProto(
            type=entry.kind.upper(),
            scope=scopes.DEFAULT if entry.default else scopes.ACCESS,
            # The stubs want the enum; at run time a number is one.
            permissions=entry.permission,  # type: ignore[arg-type]
            name=entry.name or None,
        )
        for entry in read_entries(text, with_permissions=with_permissions)
    ]
