"""Paths and keys (pure).

A path `/a/b` is the key `a/b`, and as a directory the prefix `a/b/`, which is also the key of
its marker. Keys with empty names, `.` or `..` in them cannot be written as a path: they are
left out of listings, and go with their directory.
"""

from __future__ import annotations

from typing import Final

from howdah import errors

MAX_KEY_BYTES: Final = 1024
SEPARATOR: Final = "/"
_LAST: Final = "\U0010ffff"


def key_of(path: str) -> str:
    """The key of a normalised path; empty for the root. Raises `InvalidPath`."""
    key = path[1:]
    try:
        size = len(key.encode())
    except UnicodeEncodeError as error:
        raise errors.InvalidPath(f"{path!r} is not UTF-8, and keys of objects are") from error
    if size > MAX_KEY_BYTES:
        raise errors.InvalidPath(
            f"{path!r} has {size} bytes, and keys of objects at most {MAX_KEY_BYTES}"
        )
    return key


def prefix_of(path: str) -> str:
    """The beginning of all keys below a directory; empty for the root."""
    key = key_of(path)
    return f"{key}/" if key else ""


def behind(prefix: str) -> str:
    """What sorts behind all keys that begin with a prefix."""
    return f"{prefix}{_LAST}"


def path_of(key: str) -> str:
    """The path of a key, or of the prefix of a directory.

    >>> path_of("a/b"), path_of("a/b/"), path_of("")
    ('/a/b', '/a/b', '/')
    """
    return SEPARATOR + key.removesuffix(SEPARATOR)


def is_nameable(name: str) -> bool:
    """Whether a name can be one component of a path."""
    return name not in ("", ".", "..")
