"""The virtual directories of every namespace: `/.reserved` and `.snapshot` (pure).

They have no inodes. Hadoop returns fixed statuses for them (`FSDirectory.DOT_RESERVED_STATUS` and
`DOT_SNAPSHOT_DIR_STATUS`). Only status and listing work on them: for every other call `/.reserved`
does not exist.
"""

from __future__ import annotations

from howdah.namenode.state.inodes.inodes import Directory
from howdah.namenode.state.inodes.paths import DOT_SNAPSHOT


def is_reserved(components: list[str]) -> bool:
    """Return True for `/.reserved` itself."""
    return components == [".reserved"]


def is_dot_snapshot_of_root(components: list[str]) -> bool:
    """Return True for `/.snapshot`. It exists, and is empty, before the root is snapshottable: in
    Hadoop the root is snapshottable from the start, with a limit of no snapshots."""
    return components == [DOT_SNAPSHOT]


def reserved_directory() -> Directory:
    """Return `/.reserved` for its status."""
    return Directory(0, "", "", "", 0o1770, 0)


def reserved_entries(supergroup: str, made_ms: int) -> list[Directory]:
    """Return the entries of `/.reserved`; `made_ms` is when the namespace was formatted."""
    return [Directory(0, name, "", supergroup, 0o770, made_ms) for name in (".inodes", "raw")]


def dot_snapshot_directory() -> Directory:
    """Return a `.snapshot` directory for its status: everybody may list it."""
    return Directory(0, "", "", "", 0o777, 0)
