"""The tree, entry by entry, in the order of listings (pure).

A directory comes before what is in it. With snapshots, those of a directory come before the
directory itself, as a directory `.snapshot`.

The tree may change between two slices. So a walk holds paths and names only: after a slice it
looks its directory up again, by its path, as a client that lists page by page does. What is
gone by then is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from howdah.namenode.service.calls.permissions import Access, Identity
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.inodes.inodes import Directory, INode
from howdah.namenode.state.inodes.paths import DOT_SNAPSHOT
from howdah.namenode.state.tree.snapshot_views import DotSnapshot, SnapshotDirectory

PAGE_NAMES: Final = 1000

Entry = tuple[str, INode]
"""A path and what is there."""


class _Level:
    """A directory that is being walked through: the names that are still to come."""

    __slots__ = ("directory", "is_whole", "last_name", "names", "path", "seen_slice")

    def __init__(self, path: str, directory: Directory, seen_slice: int) -> None:
        self.path = path
        self.directory: Directory | None = directory
        self.seen_slice = seen_slice
        self.last_name = ""
        self.names: Iterator[str] | None = None
        self.is_whole = False
        """All names were taken at once: of a snapshot each page would cost as much."""

    def next_names(self, directory: Directory) -> Iterator[str] | None:
        """One more page; None at the end."""
        if self.is_whole:
            return None
        if isinstance(directory, SnapshotDirectory | DotSnapshot):
            self.is_whole = True
            return iter(directory.sorted_names())
        page, _ = directory.names_after(self.last_name, PAGE_NAMES)
        if not page:
            return None
        self.last_name = page[-1]
        return iter(page)


class Walk:
    """The entries under a path for somebody who may see them."""

    def __init__(
        self, namesystem: Namesystem, who: Identity, snapshottable: Collection[str] = ()
    ) -> None:
        """`snapshottable`: the paths of directories whose snapshots are to be walked."""
        self._namesystem = namesystem
        self._who = who
        self._snapshottable = snapshottable
        self._slice = 0

    def slice_ended(self) -> None:
        """Others had their turn: anything may have changed."""
        self._slice += 1

    def entries(self, path: str, inode: INode) -> Iterator[Entry]:
        """Raises AccessDenied at a directory that may not be listed, behind its own entry."""
        if not isinstance(inode, Directory):
            yield path, inode
            return
        levels: list[_Level] = []
        yield from self._enter(levels, path, inode)
        while levels:
            level = levels[-1]
            entry = self._next(level)
            if entry is None:
                levels.pop()
                continue
            name, child = entry
            child_path = f"{level.path.rstrip('/')}/{name}"
            if isinstance(child, Directory):
                yield from self._enter(levels, child_path, child)
            else:
                yield child_path, child

    def _enter(self, levels: list[_Level], path: str, directory: Directory) -> Iterator[Entry]:
        level = _Level(path, directory, self._slice)
        if path in self._snapshottable:
            below = f"{path.rstrip('/')}/{DOT_SNAPSHOT}"
            snapshots = self._namesystem.resolver.resolve(below).inode
            if snapshots is not None:
                yield from self.entries(below, snapshots)
        yield path, directory
        current = self._look_up(level)
        if current is not None:
            self._namesystem.permissions.check(self._who, current, Access.READ | Access.EXECUTE)
            levels.append(level)

    def _look_up(self, level: _Level) -> Directory | None:
        """The directory as it is now; None if there is none any more."""
        if level.seen_slice != self._slice:
            level.seen_slice = self._slice
            inode = self._namesystem.resolver.resolve(level.path).inode
            level.directory = inode if isinstance(inode, Directory) else None
        return level.directory

    def _next(self, level: _Level) -> tuple[str, INode] | None:
        while (directory := self._look_up(level)) is not None:
            if level.names is None:
                level.names = level.next_names(directory)
                if level.names is None:
                    return None
            name = next(level.names, None)
            if name is None:
                level.names = None
            elif (child := directory.child(name)) is not None:
                return name, child
        return None
