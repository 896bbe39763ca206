"""What an access control list is: a dict from whom it is about to what they may do.

The whole list, with the three entries that the mode bits show, and so another way to
keep one than the namenode's. `scope` is "access" or "default", `kind` one of "user",
"group", "mask", "other"; the name is empty for owner, owning group, mask and others.

Rules: owner, group and others are in the list; in the default part too, if that is
there. Where anybody is named there is a mask, and it stays when the last name goes.
"""

from __future__ import annotations

from collections.abc import Mapping

Whom = tuple[str, str, str]
Acl = Mapping[Whom, int]

ACCESS, DEFAULT = "access", "default"
BASE = ("user", "group", "other")


class NoAcl(Exception):
    """What would come out is no access control list."""


def part(acl: Acl, scope: str) -> dict[Whom, int]:
    return {whom: bits for whom, bits in acl.items() if whom[0] == scope}


def of_mode(mode: int) -> Acl:
    """The list of what has none."""
    return {
        (ACCESS, "user", ""): mode >> 6 & 7,
        (ACCESS, "group", ""): mode >> 3 & 7,
        (ACCESS, "other", ""): mode & 7,
    }


def is_minimal(acl: Acl) -> bool:
    """True if mode bits say as much."""
    return len(acl) == len(BASE)


def mode_of(acl: Acl) -> int:
    """The mode bits: the group's are the mask's, where there is one."""
    shared = acl.get((ACCESS, "mask", ""), acl[(ACCESS, "group", "")])
    return acl[(ACCESS, "user", "")] << 6 | shared << 3 | acl[(ACCESS, "other", "")]


def with_mode(acl: Acl, mode: int) -> Acl:
    """After chmod."""
    shared = "mask" if (ACCESS, "mask", "") in acl else "group"
    return {
        **acl,
        (ACCESS, "user", ""): mode >> 6 & 7,
        (ACCESS, shared, ""): mode >> 3 & 7,
        (ACCESS, "other", ""): mode & 7,
    }


def modified(acl: Acl, entries: Acl) -> Acl:
    return _completed({**acl, **entries}, entries)


def reduced(acl: Acl, whom: set[Whom]) -> Acl:
    gone = {entry: bits for entry, bits in acl.items() if entry in whom}
    left = {entry: bits for entry, bits in acl.items() if entry not in whom}
    for scope, kind, _ in gone:
        if kind == "mask" and any(name for _, _, name in part(left, scope)):
            raise NoAcl("the mask is needed")
    return _completed(left, gone)


def replaced(acl: Acl, entries: Acl) -> Acl:
    """The parts that are given take the place of those that are there."""
    given = {scope for scope, _, _ in entries}
    kept = {whom: bits for whom, bits in acl.items() if whom[0] not in given}
    return _completed({**kept, **entries}, entries)


def inherited(parent: Acl, mode: int, *, by_directory: bool) -> Acl | None:
    """The list of what is made with this mode in a directory; None if its mode says all."""
    defaults = part(parent, DEFAULT)
    if not defaults:
        return None
    shared = "mask" if (DEFAULT, "mask", "") in defaults else "group"
    bounds = {("user", ""): mode >> 6 & 7, (shared, ""): mode >> 3 & 7, ("other", ""): mode & 7}
    access = {
        (ACCESS, kind, name): bits & bounds.get((kind, name), 7)
        for (_, kind, name), bits in defaults.items()
    }
    return {**access, **defaults} if by_directory else access


def _completed(acl: Acl, touched: Acl) -> Acl:
    """With the entries that follow from the others, if it can be a list. A mask follows
    too: of nothing there is none."""
    scopes = {scope for scope, kind, _ in acl if kind != "mask"}
    made = {whom: bits for whom, bits in acl.items() if whom[0] in scopes}
    if part(made, DEFAULT):
        for kind in BASE:
            if (ACCESS, kind, "") in acl:
                made.setdefault((DEFAULT, kind, ""), acl[(ACCESS, kind, "")])
    for scope in (ACCESS, DEFAULT):
        mine = part(made, scope)
        mask = (scope, "mask", "")
        had_mask = mask in made
        is_given = mask in touched and mask in acl
        if part(touched, scope) and not is_given:
            made.pop(mask, None)
        if mask not in made and (had_mask or any(name for _, _, name in mine)):
            made[mask] = _union(mine)
        if not mine and scope == DEFAULT:
            continue
        if any((scope, kind, "") not in made for kind in BASE):
            raise NoAcl("owner, group and others are needed")
    if any(name and kind in ("mask", "other") for _, kind, name in made):
        raise NoAcl("masks and others have no name")
    return made


def _union(entries: Acl) -> int:
    """Return what anybody in the group class may do."""
    bits = 0
    for (_, kind, name), entry_bits in entries.items():
        if kind == "group" or name:
            bits |= entry_bits
    return bits
