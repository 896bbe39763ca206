"""Symbolic links: the path behind a link, and how a link stops a walk (pure).

Hadoop's `INodeSymlink` and `FSDirectory.resolvePath`. The namenode follows no link. When
a path leads through one, it answers with the path that the client should ask for
instead, perhaps in another filesystem. The client asks again, and limits how often. A
target is kept as it was given. A relative target counts from the directory in which the
link is at that time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from howdah import errors
from howdah.namenode.state.inodes import paths
from howdah.namenode.state.inodes.inodes import INode, Symlink

_FILESYSTEM: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:(?://[^/]*)?(?=/)|//[^/]+(?=/)")


def check_no_link(components: Sequence[str], trail: Sequence[INode | None], end: INode) -> None:
    """Raises UnresolvedPath if `end`, where a walk along `components` came to its end,
    is a link."""
    if isinstance(end, Symlink):
        place = trail.index(end)
        raise errors.UnresolvedPath(
            behind(paths.join(components[: place - 1]), end.target, components[place:])
        )


def behind(directory: str, target: str, remainder: Sequence[str]) -> str:
    """Return what a path means that goes to a link in `directory`, and on to `remainder`.

    >>> behind("/a/b", "../c", ["d"])
    '/a/c/d'
    >>> behind("/a", "hdfs://other:8020/x", ["y"])
    'hdfs://other:8020/x/y'
    """
    match = _FILESYSTEM.match(target)
    filesystem = match[0] if match else ""
    path = target[len(filesystem) :]
    parts = [] if path.startswith("/") else paths.split(directory)
    for part in path.split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part and part != ".":
            parts.append(part)
    return filesystem + paths.join([*parts, *remainder])
