"""What paths have besides their content: modes, owners, times, lists, marks, bounds.

Each operation either changes an entry or says in one word why not. All are the
superuser's: who may do what is not the model's business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from howdah.model import acls
from howdah.model.coding import Coding
from howdah.model.entries import ROOT, Entry, Refused, Shown, parent_of
from howdah.model.quotas import FIXED_POLICY, bounded

# The namenode's own. A client may set this one on a file, for good and without a value.
ONE_WAY = "security.hdfs.unreadable.by.superuser"


def with_acl(entry: Entry, acl: acls.Acl) -> Entry:
    mode = entry.mode & 0o1000 | acls.mode_of(acl)
    return replace(entry, mode=mode, acl=None if acls.is_minimal(acl) else acl)


class Attributes:
    """A part of `ModelNamespace`: operations on one path that is there."""

    entries: dict[str, Entry]
    snapshots: dict[int, dict[str, Shown]]
    """By the number of a snapshottable directory and the snapshot's name."""
    moved: frozenset[int]
    gone_bytes: dict[int, int]
    codings: Mapping[str, Coding]
    max_xattrs: int

    def _check_parents(self, path: str) -> None:
        above = parent_of(path)
        while above != ROOT:
            entry = self.entries.get(above)
            if entry is not None and not entry.is_directory:
                raise Refused("a link" if entry.target else "parent is a file")
            above = parent_of(above)

    def _entry_at(self, path: str) -> Entry | None:
        """What is there. A link is not: clients follow it first."""
        self._check_parents(path)
        entry = self.entries.get(path)
        if entry is not None and entry.target:
            raise Refused("a link")
        return entry

    def _existing(self, path: str) -> Entry:
        entry = self._entry_at(path)
        if entry is None:
            raise Refused("not found")
        return entry

    def set_mode(self, path: str, mode: int) -> None:
        entry = self._existing(path)
        acl = None if entry.acl is None else acls.with_mode(entry.acl, mode)
        self.entries[path] = replace(entry, mode=mode, acl=acl)

    def set_owner(self, path: str, owner: str | None, group: str | None) -> None:
        entry = self._existing(path)
        self.entries[path] = replace(entry, owner=owner or entry.owner, group=group or entry.group)

    def set_times(self, path: str, mtime_ms: int, atime_ms: int) -> None:
        """A negative time leaves the one that is there."""
        entry = self._existing(path)
        if mtime_ms >= 0:
            entry = replace(entry, mtime_ms=mtime_ms)
        if atime_ms >= 0:
            entry = replace(entry, atime_ms=atime_ms)
        self.entries[path] = entry

    @bounded
    def set_replication(self, path: str, replication: int) -> bool:
        entry = self._entry_at(path)
        if entry is None or entry.is_directory or entry.coding:
            return False
        self.entries[path] = replace(entry, replication=replication)
        return True

    # Access control lists.

    def _change_acl(self, path: str, change: Callable[[acls.Acl], acls.Acl]) -> None:
        entry = self._existing(path)
        try:
            acl = change(entry.acl or acls.of_mode(entry.mode))
        except acls.NoAcl:
            raise Refused("no list") from None
        if not entry.is_directory and acls.part(acl, acls.DEFAULT):
            raise Refused("no list")
        self.entries[path] = with_acl(entry, acl)

    def modify_acl(self, path: str, entries: acls.Acl) -> None:
        self._change_acl(path, lambda acl: acls.modified(acl, entries))

    def reduce_acl(self, path: str, whom: set[acls.Whom]) -> None:
        self._change_acl(path, lambda acl: acls.reduced(acl, whom))

    def replace_acl(self, path: str, entries: acls.Acl) -> None:
        """With no entries the list goes."""
        if not entries:
            self.remove_acl(path)
            return
        self._change_acl(path, lambda acl: acls.replaced(acl, entries))

    def remove_default_acl(self, path: str) -> None:
        self._change_acl(path, lambda acl: acls.part(acl, acls.ACCESS))

    def remove_acl(self, path: str) -> None:
        """What the owning group may do shows in the mode again."""
        self._change_acl(path, lambda acl: {whom: acl[whom] for whom in acls.of_mode(0)})

    # Extended attributes, by their full names.

    def set_xattr(
        self, path: str, name: str, value: bytes, *, create: bool, replaces: bool
    ) -> None:
        """`create`: it may be new, `replaces`: it may be there."""
        if _is_foreign(name) or (name == ONE_WAY and value):
            raise Refused("not for clients")
        entry = self._existing(path)
        if not create and not replaces:
            raise Refused("no flag")
        if name in entry.xattrs:
            if not replaces:
                raise Refused("is set")
        elif not create:
            raise Refused("is not set")
        elif not name.startswith("security.") and _counted(entry) >= self.max_xattrs:
            raise Refused("too many")
        if name == ONE_WAY and entry.is_directory:
            raise Refused("a directory")
        self.entries[path] = replace(entry, xattrs={**entry.xattrs, name: value})

    def remove_xattr(self, path: str, name: str) -> None:
        if _is_foreign(name):
            raise Refused("not for clients")
        entry = self._existing(path)
        if name == ONE_WAY:
            raise Refused("not for clients")
        if name not in entry.xattrs:
            raise Refused("is not set")
        left = {other: value for other, value in entry.xattrs.items() if other != name}
        self.entries[path] = replace(entry, xattrs=left)

    # Storage policies and quotas.

    def set_policy(self, path: str, policy: str) -> None:
        """With none the directories above decide. Nothing is refused for its sake: a bound
        may be exceeded then."""
        entry = self._existing(path)
        if not entry.is_directory and FIXED_POLICY in (policy, entry.policy):
            raise Refused("is fixed")
        self.entries[path] = replace(entry, policy=policy)

    def set_bounds(self, path: str, bounds: Mapping[str, int | None]) -> None:
        """Set the bounds that are given; None takes one away. Less than is used may be allowed:
        then nothing more comes in."""
        entry = self._existing(path)
        if not entry.is_directory:
            raise Refused("no directory")
        both = {**entry.bounds, **bounds}
        kept = {kind: bound for kind, bound in both.items() if bound is not None}
        self.entries[path] = replace(entry, bounds=kept)


def _is_foreign(name: str) -> bool:
    """The namenode's own, or seen only under another path."""
    return name != ONE_WAY and name.partition(".")[0] in ("security", "system", "raw")


def _counted(entry: Entry) -> int:
    return sum(1 for name in entry.xattrs if not name.startswith("security."))
