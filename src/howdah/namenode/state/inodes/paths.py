"""Paths as the namenode takes them: absolute, split once, checked once (pure).

Limits of Hadoop: 8,000 characters, 1,000 levels, and
`dfs.namenode.fs-limits.max-component-length` UTF-8 bytes a component. A name may
hold any character but `/` and `:`, and may not be `.` or `..`.

What a path may look like depends on the call, as in Hadoop. A call that creates the path
refuses every form that is not canonical (`check_creatable`). Any other call reads several
slashes as one, and finds nothing at a path with `.` or `..`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from howdah import errors
from howdah.protocol.raw_paths import RESERVED_RAW as RESERVED_RAW
from howdah.protocol.raw_paths import is_raw as is_raw

MAX_PATH_CHARACTERS: Final = 8000
MAX_PATH_LEVELS: Final = 1000
LONGEST_PATH_CHARACTERS: Final = 65_535
"""A record of the edit log holds no longer string. Paths over `MAX_PATH_CHARACTERS` are
not created, but come about where a directory is moved further down."""
RESERVED: Final = "/.reserved"
DOT_SNAPSHOT: Final = ".snapshot"
"""Where a directory's snapshots are found; no file and no directory has that name."""
RESERVED_INODES: Final = "/.reserved/.inodes"


def split(path: str) -> list[str]:
    """Components of an absolute path; the root has none.

    Raises InvalidPath for a relative path, and for a path so long that no edit could name
    it: it is not even looked at.
    """
    if len(path) > LONGEST_PATH_CHARACTERS:
        raise errors.InvalidPath(f"Invalid path name of {len(path)} characters: {path[:60]}...")
    if not path.startswith("/"):
        raise errors.InvalidPath(f"Invalid path name Absolute path required, but got '{path}'")
    return [part for part in path.split("/") if part]


def is_creatable(path: str) -> bool:
    """Whether a call may create the path: it is absolute and canonical, and none of its
    names is `.`, `..` or has a colon. Slashes at its end are ignored."""
    if not path.startswith("/"):
        return False
    if ":" not in path and "//" not in path and "/." not in path:
        return True
    names = path.rstrip("/").split("/")[1:]
    return all(name and name not in (".", "..") and ":" not in name for name in names)


def check_creatable(path: str, reason: str = "Invalid file name: ") -> None:
    """Raise InvalidPath, with Hadoop's words, for a path that no call may create."""
    if not is_creatable(path):
        raise errors.InvalidPath(f"Invalid path name {reason}{path}")


def join(components: Sequence[str]) -> str:
    return "/" + "/".join(components)


def parent_of(path: str) -> str:
    """The path without its last component; of the root, the root."""
    return join(split(path)[:-1])


def is_under(path: str, ancestor: str) -> bool:
    """True if `path` lies below `ancestor`, not being it."""
    return path != ancestor and (ancestor == "/" or path.startswith(ancestor + "/"))


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
        raise errors.IllegalArgument(
            f'File name "{name}" is reserved and cannot be created. {path} needs another name.'
        )
    if name == DOT_SNAPSHOT:
        raise errors.IllegalArgument(f'"{name}" is a reserved name.')
    length = len(name.encode())
    if max_component_bytes and length > max_component_bytes:
        raise errors.PathComponentTooLong(
            f"The maximum path component name limit of {name} in directory {parent} "
            f"is exceeded: limit={max_component_bytes} length={length}"
        )
