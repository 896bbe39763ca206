"""Access control lists as users see them: entries, their text, the list of a path.

The text is what `-getfacl` prints and `-setfacl` reads: `user:bob:rw-`,
`default:group::r-x`; several are parted by commas.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from howdah import errors

KINDS: Final = ("user", "group", "mask", "other")
_LETTERS: Final = tuple(
    "".join(letter if bits & bit else "-" for letter, bit in zip("rwx", (4, 2, 1), strict=True))
    for bits in range(8)
)


@dataclass(frozen=True, slots=True)
class AclEntry:
    """What one user, one group or one class of users may.

    `kind` is one of `KINDS`; without a name the entry is the owner's, the owning
    group's, the mask or that of all others. `permission` is an rwx digit. A `default`
    entry is of a directory and is inherited by what is made in it.
    """

    kind: str
    name: str | None = None
    permission: int = 0
    default: bool = False

    def __str__(self) -> str:
        prefix = "default:" if self.default else ""
        return f"{prefix}{self.kind}:{self.name or ''}:{_LETTERS[self.permission]}"


@dataclass(frozen=True, slots=True)
class AclStatus:
    """A path's ACL. `entries` are those that the mode `permission` does not stand for."""

    owner: str
    group: str
    sticky: bool
    permission: int
    entries: tuple[AclEntry, ...]

    def all_entries(self) -> list[AclEntry]:
        """The whole list, with the entries of owner, mask (or group) and others."""
        access = [entry for entry in self.entries if not entry.default]
        shared = "mask" if access else "group"
        return [
            AclEntry("user", None, self.permission >> 6 & 7),
            *access,
            AclEntry(shared, None, self.permission >> 3 & 7),
            AclEntry("other", None, self.permission & 7),
            *(entry for entry in self.entries if entry.default),
        ]


def parse_acl(text: str, *, with_permissions: bool = True) -> list[AclEntry]:
    """Entries from `user::rwx,user:bob:rw-`; without permissions, as a removal names them,
    from `user:bob,group:staff`. Raises IllegalArgument."""
    return [
        _parse_entry(part.strip(), with_permissions=with_permissions)
        for part in text.split(",")
        if part.strip()
    ]


def _parse_entry(text: str, *, with_permissions: bool) -> AclEntry:
    fields = text.split(":")
    while fields and not fields[-1]:
        fields.pop()
    default = bool(fields) and fields[0] == "default"
    if default:
        del fields[0]
    if not fields:
        raise errors.IllegalArgument(f"Invalid <aclSpec> : {text}")
    kind = fields.pop(0).lower()
    if kind not in KINDS:
        raise errors.IllegalArgument(f"Invalid type of acl in <aclSpec> :{text}")
    name = fields.pop(0) if fields else None
    permission = 0
    if with_permissions:
        if not fields:
            raise errors.IllegalArgument(f"Invalid <aclSpec> : {text}")
        letters = fields.pop(0)
        if letters not in _LETTERS:
            raise errors.IllegalArgument(f"Invalid permission in <aclSpec> : {text}")
        permission = _LETTERS.index(letters)
    if fields:
        raise errors.IllegalArgument(f"Invalid <aclSpec> : {text}")
    return AclEntry(kind, name or None, permission, default)


def acl_text(entries: Iterable[AclEntry]) -> str:
    """The reverse of `parse_acl`."""
    return ",".join(map(str, entries))
