"""Names of extended attributes and entries of ACLs, from their texts (pure)."""

from __future__ import annotations

from typing import Final

from howdah import errors
from howdah.proto import types_pb2

_LETTERS: Final = tuple(
    "".join(letter if bits & bit else "-" for letter, bit in zip("rwx", (4, 2, 1), strict=True))
    for bits in range(8)
)
_NAMESPACES: Final = ("USER", "TRUSTED", "SECURITY", "SYSTEM", "RAW")
_KINDS: Final = ("user", "group", "mask", "other")


def xattr_named(text: str, value: bytes | None = None) -> types_pb2.XAttrProto:
    """`user.name`, and likewise for the other namespaces. Raises IllegalArgument."""
    space, dot, name = text.partition(".")
    if not dot or not name:
        raise errors.IllegalArgument(
            "An XAttr name must be prefixed with user/trusted/security/system/raw, followed by "
            f"a '.': {text!r}"
        )
    if space.upper() not in _NAMESPACES:
        raise errors.IllegalArgument(
            f"An XAttr name must be prefixed with user/trusted/security/system/raw, not {space!r}"
        )
    return types_pb2.XAttrProto(
        namespace=space.upper(),
        name=name,
        value=value,
    )


def acl_entries(text: str, *, with_permissions: bool) -> list[types_pb2.AclEntryProto]:
    """`user::rwx,default:group:staff:r-x`; without permissions `user:bob`. Raises
    IllegalArgument."""
    return [_entry(part.strip(), with_permissions) for part in text.split(",") if part.strip()]


def _entry(text: str, with_permissions: bool) -> types_pb2.AclEntryProto:
    fields = text.split(":")
    while fields and not fields[-1]:
        fields.pop()
    scope = types_pb2.AclEntryProto.ACCESS
    if fields[:1] == ["default"]:
        scope = types_pb2.AclEntryProto.DEFAULT
        del fields[0]
    kind = fields.pop(0).lower() if fields else ""
    if not kind:
        raise errors.IllegalArgument(f"Invalid <aclSpec> : {text}")
    if kind not in _KINDS:
        raise errors.IllegalArgument(f"Invalid type of acl in <aclSpec> :{text}")
    name = fields.pop(0) if fields else ""
    bits = 0
    if with_permissions:
        if not fields:
            raise errors.IllegalArgument(f"Invalid <aclSpec> : {text}")
        letters = fields.pop(0)
        if letters not in _LETTERS:
            raise errors.IllegalArgument(f"Invalid permission in <aclSpec> : {text}")
        bits = _LETTERS.index(letters)
    if fields:
        raise errors.IllegalArgument(f"Invalid <aclSpec> : {text}")
    return types_pb2.AclEntryProto(
        type=kind.upper(),
        scope=scope,
        # The stubs want the enum; at run time a number is one.
        permissions=bits,  # type: ignore[arg-type]
        name=name or None,
    )
