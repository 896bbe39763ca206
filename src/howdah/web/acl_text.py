"""Entries of access control lists as texts: `user:bob:rw-`, `default:group::r-x` (pure).

For all that read such a text: the shell and the API (`howdah.fs.acl`), and WebHDFS.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from howdah import errors

KINDS: Final = ("user", "group", "mask", "other")
LETTERS: Final = tuple(
    "".join(letter if bits & bit else "-" for letter, bit in zip("rwx", (4, 2, 1), strict=True))
    for bits in range(8)
)
"""Of each rwx digit."""


@dataclass(frozen=True, slots=True)
class EntryText:
    """One of `KINDS`, an empty name for the owner's and such, and an rwx digit."""

    kind: str
    name: str
    permission: int
    default: bool


def read_entries(text: str, *, with_permissions: bool) -> list[EntryText]:
    """Entries parted by commas: `user::rwx,user:bob:rw-`; without permissions, as a removal
    names them, `user:bob,group:staff`. Raises IllegalArgument.

    Blanks around an entry, or a part of one, are refused: Hadoop takes them for a part of the
    type or of the name, and an entry for ` bob` grants bob nothing."""
    return [_read(part, with_permissions) for part in text.split(",") if part]


def _read(text: str, with_permissions: bool) -> EntryText:
    fields = text.split(":")
    while fields and not fields[-1]:
        fields.pop()
    default = fields[:1] == ["default"]
    if default:
        del fields[0]
    if not fields:
        raise errors.IllegalArgument(f"Invalid <aclSpec> : {text}")
    kind = fields.pop(0).lower()
    if kind not in KINDS:
        raise errors.IllegalArgument(f"Invalid type of acl in <aclSpec> :{text}")
    name = fields.pop(0) if fields else ""
    if name != name.strip():
        raise errors.IllegalArgument(f"Invalid <aclSpec> : {text} (the name has blanks around it)")
    permission = 0
    if with_permissions:
        if not fields:
            raise errors.IllegalArgument(f"Invalid <aclSpec> : {text}")
        letters = fields.pop(0)
        if letters not in LETTERS:
            raise errors.IllegalArgument(f"Invalid permission in <aclSpec> : {text}")
        permission = LETTERS.index(letters)
    if fields:
        raise errors.IllegalArgument(f"Invalid <aclSpec> : {text}")
    return EntryText(kind, name, permission, default)
