"""What an ACL is, and how it is changed (pure). Hadoop's `AclStorage` and `AclTransformation`.

An ACL is a sorted list of entries: for access, and for a directory also the default
ones that what is made in it inherits. In each part

1. stand one entry each for the owner, the group and all others
2. a mask stands wherever a user or a group is named; it bounds those and the group
3. no two entries are of the same kind and name

An inode does not keep the list as it is. Owner, mask and others are in its mode bits
(the mask where the group's would be), so that `chmod` and clients without a notion of
ACLs go on working; `INode.acl` has the rest. `entries_of` and `stored_as` go between.

Mirrors the rules of POSIX 1003.1e as Hadoop has them, limits and refusals included.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from howdah import errors
from howdah.formats.edits.edits import AclEntry, AclKind, AclScope

MAX_ENTRIES: Final = 32
BASE: Final = (AclKind.USER, AclKind.GROUP, AclKind.OTHER)

Key = tuple[AclScope, AclKind, bool, str]


def key_of(entry: AclEntry) -> Key:
    """What an entry is about; also the order of a list."""
    return entry.scope, entry.kind, entry.name is not None, entry.name or ""


def entries_of(mode: int, stored: Sequence[AclEntry]) -> tuple[AclEntry, ...]:
    """The whole list of an inode with these mode bits and this `acl`."""
    access = [entry for entry in stored if entry.scope is AclScope.ACCESS]
    owner, shared, others = (
        AclEntry(AclScope.ACCESS, kind, mode >> shift & 7)
        for kind, shift in (
            (AclKind.USER, 6),
            (AclKind.MASK if access else AclKind.GROUP, 3),
            (AclKind.OTHER, 0),
        )
    )
    return owner, *access, shared, others, *stored[len(access) :]


def stored_as(mode: int, entries: Sequence[AclEntry]) -> tuple[int, tuple[AclEntry, ...]]:
    """The mode bits and the `acl` of an inode that is to have this whole list."""
    access = [entry for entry in entries if entry.scope is AclScope.ACCESS]
    bits = access[0].permission << 6 | access[-2].permission << 3 | access[-1].permission
    extended = access[1:-2] if len(access) > len(BASE) else []
    return mode & ~0o777 | bits, (*extended, *entries[len(access) :])


def wrong_list(entries: Sequence[AclEntry]) -> str | None:
    """What is wrong with a list that is to be stored; None for one that has the access entries of
    the owner, the group (or its mask) and the others in their places."""
    access = [entry for entry in entries if entry.scope is AclScope.ACCESS]
    if len(access) >= len(BASE):
        owner, shared, others = access[0], access[-2], access[-1]
        if (
            (owner.kind, owner.name) == (AclKind.USER, None)
            and shared.kind in (AclKind.GROUP, AclKind.MASK)
            and others.kind is AclKind.OTHER
        ):
            return None
    return "an ACL has entries for the owner, the group and all others, in this order"


def without_acl(mode: int, stored: Sequence[AclEntry]) -> int:
    """The mode bits of an inode that loses its ACL: the group's own come back."""
    for entry in stored:
        if entry.scope is AclScope.ACCESS and entry.kind is AclKind.GROUP and entry.name is None:
            return mode & ~0o070 | entry.permission << 3
    return mode


def inherited(
    parent: Sequence[AclEntry], mode: int, *, by_directory: bool
) -> tuple[int, tuple[AclEntry, ...]]:
    """Mode bits and `acl` of what is made with `mode` in a directory whose `acl` is
    `parent`. The mode bounds what owner, mask (or group) and others get."""
    defaults = [entry for entry in parent if entry.scope is AclScope.DEFAULT]
    if not defaults:
        return mode, ()
    is_minimal = len(defaults) == len(BASE)

    def bound(entry: AclEntry) -> int:
        if entry.kind is AclKind.USER and entry.name is None:
            return mode >> 6
        if entry.kind is AclKind.MASK or (entry.kind is AclKind.GROUP and is_minimal):
            return mode >> 3
        return mode if entry.kind is AclKind.OTHER else 7

    access = [
        AclEntry(AclScope.ACCESS, entry.kind, entry.permission & bound(entry), entry.name)
        for entry in defaults
    ]
    return stored_as(mode, [*access, *(defaults if by_directory else [])])


# Changes. Each takes a whole list and gives a whole list.


def modified(entries: Iterable[AclEntry], spec: Sequence[AclEntry]) -> tuple[AclEntry, ...]:
    """The entries of `spec` added, or put in place of those about the same."""
    wanted = _checked(spec)
    kept = [entry for entry in entries if key_of(entry) not in wanted]
    return _finished([*kept, *spec], spec)


def reduced(entries: Iterable[AclEntry], spec: Sequence[AclEntry]) -> tuple[AclEntry, ...]:
    """Without what `spec` is about; its permissions mean nothing."""
    unwanted = _checked(spec)
    kept: list[AclEntry] = []
    gone: list[AclEntry] = []
    for entry in entries:
        (gone if key_of(entry) in unwanted else kept).append(entry)
    return _finished(kept, gone, deleted=True)


def replaced(entries: Iterable[AclEntry], spec: Sequence[AclEntry]) -> tuple[AclEntry, ...]:
    """`spec` in place of the access entries, of the default ones or of both: of those
    of which it has any."""
    _checked(spec)
    scopes = {entry.scope for entry in spec}
    kept = [entry for entry in entries if entry.scope not in scopes]
    return _finished([*spec, *kept], spec)


def access_only(entries: Iterable[AclEntry]) -> tuple[AclEntry, ...]:
    """Without the default entries."""
    return _validated([entry for entry in entries if entry.scope is AclScope.ACCESS])


def _checked(spec: Sequence[AclEntry]) -> set[Key]:
    if len(spec) > MAX_ENTRIES:
        raise errors.InvalidAcl(
            f"Invalid ACL: ACL spec has {len(spec)} entries, which exceeds maximum of "
            f"{MAX_ENTRIES}."
        )
    return {key_of(entry) for entry in spec}


def _finished(
    entries: Sequence[AclEntry], touched: Sequence[AclEntry], *, deleted: bool = False
) -> tuple[AclEntry, ...]:
    """The list with the default entries and masks that it lacks, if it is one.

    A mask that was given, or left alone with its part, stays as it is; in a part that
    was `touched` otherwise it is made anew, where there was one or must be one.
    """
    masks = {e.scope: e for e in entries if e.kind is AclKind.MASK}
    plain = [entry for entry in entries if entry.kind is not AclKind.MASK]
    plain += _missing_defaults(plain)
    touched_masks = {e.scope for e in touched if e.kind is AclKind.MASK}
    touched_scopes = {e.scope for e in touched}
    made = []
    for scope in sorted({entry.scope for entry in plain}):
        part = [entry for entry in plain if entry.scope is scope]
        is_needed = any(entry.name is not None for entry in part)
        mask = masks.get(scope)
        if mask is None and is_needed and deleted and scope in touched_masks:
            raise errors.InvalidAcl("Invalid ACL: mask is required, but it was deleted.")
        if mask is not None and (scope not in touched_scopes or scope in touched_masks):
            made.append(mask)
        elif is_needed or mask is not None:
            # A list that had a mask keeps one, also when nobody is named in it any more.
            union = 0
            for entry in part:
                if entry.kind is AclKind.GROUP or entry.name is not None:
                    union |= entry.permission
            made.append(AclEntry(scope, AclKind.MASK, union))
    return _validated([*plain, *made])


def _missing_defaults(entries: Sequence[AclEntry]) -> list[AclEntry]:
    """Return the default entries that are missing. Where there are default entries, those of owner,
    group and others are taken from the access entries if they are not given."""
    by_key = {key_of(entry): entry for entry in entries}
    if not any(entry.scope is AclScope.DEFAULT for entry in entries):
        return []
    defaults = []
    for kind in BASE:
        access = by_key.get((AclScope.ACCESS, kind, False, ""))
        if access is not None and (AclScope.DEFAULT, kind, False, "") not in by_key:
            defaults.append(AclEntry(AclScope.DEFAULT, kind, access.permission))
    return defaults


def _validated(entries: Sequence[AclEntry]) -> tuple[AclEntry, ...]:
    if len(entries) > MAX_ENTRIES:
        raise errors.InvalidAcl(
            f"Invalid ACL: ACL has {len(entries)} entries, which exceeds maximum of {MAX_ENTRIES}."
        )
    keys = {key_of(entry) for entry in entries}
    if len(keys) < len(entries):
        raise errors.InvalidAcl("Invalid ACL: multiple entries with same scope, type and name.")
    for entry in entries:
        if entry.name is not None and entry.kind in (AclKind.MASK, AclKind.OTHER):
            raise errors.InvalidAcl(
                f"Invalid ACL: this entry type must not have a name: {text_of(entry)}."
            )
    scopes = {entry.scope for entry in entries}
    for scope, label in ((AclScope.ACCESS, "ACL"), (AclScope.DEFAULT, "default ACL")):
        is_complete = all((scope, kind, False, "") in keys for kind in BASE)
        if not is_complete and (scope is AclScope.ACCESS or scope in scopes):
            raise errors.InvalidAcl(
                f"Invalid {label}: the user, group and other entries are required."
            )
    return tuple(sorted(entries, key=key_of))


def text_of(entry: AclEntry) -> str:
    """As messages show it: `default:user:bob:r-x`."""
    bits = zip("rwx", (4, 2, 1), strict=True)
    letters = "".join(letter if entry.permission & bit else "-" for letter, bit in bits)
    prefix = "default:" if entry.scope is AclScope.DEFAULT else ""
    return f"{prefix}{entry.kind.name.lower()}:{entry.name or ''}:{letters}"
