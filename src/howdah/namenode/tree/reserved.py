"""Directories that every namespace has and that are no inodes: `/.reserved` and `.snapshot` (pure).

Hadoop answers with fixed statuses for them (`FSDirectory.DOT_RESERVED_STATUS` and
`DOT_SNAPSHOT_DIR_STATUS`). They are shown and listed. Nothing else can be done with them:
for every other call `/.reserved` does not exist.
"""

from __future__ import annotations

from howdah.namenode.inodes.inodes import Directory
from howdah.namenode.inodes.paths import DOT_SNAPSHOT


def is_reserved(components: list[str]) -> bool:
    """Whether this is `/.reserved` itself."""
    return components == [".reserved"]


def is_dot_snapshot_of_root(components: list[str]) -> bool:
    """Whether this is `/.snapshot`. It is there, and empty, before the root is snapshottable:
    in Hadoop the root can have snapshots from the start, and none is allowed."""
    return components == [DOT_SNAPSHOT]


def shown_reserved() -> Directory:
    """`/.reserved` as its status says."""
    return Directory(0, "", "", "", 0o1770, 0)


def listed_reserved(supergroup: str, made_ms: int) -> list[Directory]:
    """What a listing of `/.reserved` has: `made_ms` is when the namespace was formatted."""
    return [Directory(0, name, "", supergroup, 0o770, made_ms) for name in (".inodes", "raw")]


def shown_dot_snapshot() -> Directory:
    """A `.snapshot` directory as its status says: everybody may look for snapshots."""
    return Directory(0, "", "", "", 0o777, 0)
