"""Texts of an image as Java prints them (pure)."""

from __future__ import annotations

import re
from typing import Final

from howdah.formats.edits.edits import AclKind, AclScope
from howdah.formats.image.inodes import OF_GROUP, OF_USER, LoadedStrings
from howdah.proto import fsimage_pb2 as pb

NAME_MASK: Final = (1 << 24) - 1
"""Of the bits that hold a name's number."""
RWX: Final = tuple(
    "".join(letter if digit & bit else "-" for letter, bit in zip("rwx", (4, 2, 1), strict=True))
    for digit in range(8)
)

_SPECIAL: Final = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\\\\&\"'<>\ud800-\udfff\ufffe\uffff]")
_NAMED: Final = {"&": "&amp;", '"': "&quot;", "'": "&apos;", "<": "&lt;", ">": "&gt;"}
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def escape(text: str) -> str:
    """The text of an element; what XML cannot hold, and backslashes, as `\\001f;`."""
    return _SPECIAL.sub(
        lambda match: _NAMED.get(match.group()) or f"\\{ord(match.group()):04x};", text
    )


def text_of(data: bytes | str) -> str:
    """Bytes as Java shows them: what is no UTF-8 becomes U+FFFD."""
    if isinstance(data, str):
        return data
    try:
        return data.decode()
    except UnicodeDecodeError:
        pass
    try:
        return _SURROGATE.sub("\ufffd", data.decode("utf-8", "surrogatepass"))
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


def acl_texts(acl: pb.INodeSection.AclFeatureProto, names: LoadedStrings) -> list[str]:
    """Entries as `user:bob:r-x` and `default:group::r--`."""
    shown = []
    for bits in acl.entries:
        kind = AclKind(bits >> 3 & 3)
        name = None
        if kind in (AclKind.USER, AclKind.GROUP):
            of = OF_USER if kind is AclKind.USER else OF_GROUP
            name = names.get_optional(of, bits >> 6 & NAME_MASK)
        scope = "default:" if AclScope(bits >> 5 & 1) is AclScope.DEFAULT else ""
        shown.append(f"{scope}{kind.name.lower()}:{name or ''}:{RWX[bits & 7]}")
    return shown
