"""Paths as the namenode takes them: absolute, split once, checked once (pure).

Limits of Hadoop: 8,000 characters, 1,000 levels, and
`dfs.namenode.fs-limits.max-component-length` UTF-8 bytes a component. A name may
hold any character but `/` and `:`, and may not be `.` or `..`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from howdah import errors

MAX_PATH_CHARACTERS: Final = 8000
MAX_PATH_LEVELS: Final = 1000
LONGEST_PATH_CHARACTERS: Final = 65_535
"""A record of the edit log holds no longer string. Paths over `MAX_PATH_CHARACTERS` are
not created, but come about where a directory is moved further down."""
RESERVED: Final = "/.reserved"
DOT_SNAPSHOT: Final = ".snapshot"
"""Where a directory's snapshots are found; no file and no directory has that name."""
RESERVED_INODES: Final = "/.reserved/.inodes"
RESERVED_RAW: Final = "/.reserved/raw"
"""The whole tree once more, for the superuser, who sees and sets `raw` attributes there."""


def split(path: str) -> list[str]:
    """Components of an absolute path; the root has none.

    Raises InvalidPath for a relative path, for components that no file can have, and
    for a path so long that no edit could name it: it is not even looked at.
    """
    if len(path) > LONGEST_PATH_CHARACTERS:
        raise errors.InvalidPath(f"Invalid path name of {len(path)} characters: {path[:60]}...")
    if not path.startswith("/"):
        raise errors.InvalidPath(f"Invalid path name Absolute path required, but got '{path}'")
    components = [part for part in path.split("/") if part]
    if "/." in path:
        for part in components:
            if part in (".", ".."):
                raise errors.InvalidPath(f"Invalid path name {path}: '{part}' is no name")
    return components


def above_inode(path: str) -> str | None:
    """Of `/.reserved/.inodes/ID/..`, as NFS gateways write what is above an inode, the inode's
    own path; None for every other path."""
    inode, _, last = path.rpartition("/")
    is_one = last == ".." and inode.startswith(RESERVED_INODES + "/")
    return inode if is_one and inode.count("/") == 3 else None


def join(components: Sequence[str]) -> str:
    return "/" + "/".join(components)


def parent_of(path: str) -> str:
    """The path without its last component; of the root, the root."""
    return join(split(path)[:-1])


def is_under(path: str, ancestor: str) -> bool:
    """True if `path` lies below `ancestor`, not being it."""
    return path != ancestor and (ancestor == "/" or path.startswith(ancestor + "/"))


def is_raw(path: str) -> bool:
    """True for what is named below `/.reserved/raw`."""
    return path == RESERVED_RAW or path.startswith(RESERVED_RAW + "/")


def check_length(operation: str, path: str) -> None:
    """Raises a plain I/O error, as Hadoop does, for a path beyond the limits."""
    if len(path) > MAX_PATH_CHARACTERS or path.count("/") > MAX_PATH_LEVELS:
        raise errors.RemoteError(
            f"{operation}: Pathname too long.  Limit {MAX_PATH_CHARACTERS} characters, "
            f"{MAX_PATH_LEVELS} levels."
        )


def check_new_name(path: str, name: str, parent: str, max_component_bytes: int) -> None:
    """A component that is about to be created.

    Raises InvalidPath, IllegalArgument for reserved names, PathComponentTooLong.
    """
    for character, words in ((":", "a colon"), ("\0", "a NUL")):
        if character in name:
            raise errors.InvalidPath(f"Invalid path name {path}: a name cannot have {words} in it")
    if parent == "/" and name == ".reserved":
        raise errors.IllegalArgument(f'"{name}" is a reserved name, {path} cannot be created')
    if name == DOT_SNAPSHOT:
        raise errors.IllegalArgument(f'"{name}" is a reserved name.')
    length = len(name.encode())
    if max_component_bytes and length > max_component_bytes:
        raise errors.PathComponentTooLong(
            f"The maximum path component name limit of {name} in directory {parent} "
            f"is exceeded: limit={max_component_bytes} length={length}"
        )
