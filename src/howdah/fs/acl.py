"""Access control lists as users see them: entries, their text, the list of a path (pure).

The text is what `-getfacl` prints and `-setfacl` reads: `user:bob:rw-`,
`default:group::r-x`; several are parted by commas.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from howdah.web.acl_text import LETTERS, read_entries


@dataclass(frozen=True, slots=True)
class AclEntry:
    """What one user, one group or one class of users may.

    `kind` is one of `howdah.web.acl_text.KINDS`; without a name the entry is the owner's, the
    owning group's, the mask or that of all others. `permission` is an rwx digit. A `default`
    entry is of a directory and is inherited by what is made in it.
    """

    kind: str
    name: str | None = None
    permission: int = 0
    default: bool = False

    def __str__(self) -> str:
        prefix = "default:" if self.default else ""
        return f"{prefix}{self.kind}:{self.name or ''}:{LETTERS[self.permission]}"


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
        AclEntry(entry.kind, entry.name or None, entry.permission, entry.default)
        for entry in read_entries(text, with_permissions=with_permissions)
    ]


def acl_text(entries: Iterable[AclEntry]) -> str:
    """The reverse of `parse_acl`."""
    return ",".join(map(str, entries))
