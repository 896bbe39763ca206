"""A walk over the files of an encryption zone, in the order of names (pure).

Hadoop's `FSTreeTraverser`. The walk goes depth first, and from one step to the next it keeps names
alone, those on the way to where it is: between two steps anything may come, go, or be moved, and a
walk that ended with a namenode goes on from the path that it had come to.

Files that stay are met, however others come and go: names are visited in their order, and a
directory on the way that is gone is passed. Zones within the zone are passed, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from howdah.namenode.state.inodes.inodes import Directory, File
from howdah.namenode.state.inodes.sorted_names import names_after
from howdah.namenode.state.inodes.xattrs import ENCRYPTION_ZONE
from howdah.namenode.state.tree.encryption_zones import attribute_of

_FEW: Final = 256
"""Names that are sorted for each step; the order of more is kept by their directory."""


class ZoneWalk:
    """Begins behind a path that is given by its names below the zone; () is the beginning."""

    def __init__(self, zone: Directory, behind: Sequence[str] = ()) -> None:
        self._zone = zone
        # All but the last lead to the directory that is being visited, and the last is the name in
        # it that was visited before.
        self._names = list(behind) or [""]

    @property
    def is_over(self) -> bool:
        return not self._names

    @property
    def position(self) -> tuple[str, ...]:
        """The names, below the zone, of what was visited last."""
        return tuple(name for name in self._names if name)

    def step(self, most: int) -> list[tuple[File, tuple[str, ...]]]:
        """Visit up to `most` names; the files among them, with their names below the zone."""
        files: list[tuple[File, tuple[str, ...]]] = []
        left = most
        while left > 0 and self._names:
            directory = self._directory()
            page, more = _names_after(directory, self._names[-1], left)
            for name in page:
                left -= 1
                self._names[-1] = name
                child = directory.child(name)
                if isinstance(child, File):
                    files.append((child, tuple(self._names)))
                elif isinstance(child, Directory) and not _is_zone(child):
                    self._names.append("")
                    break
            else:
                if not more:
                    left -= 1
                    self._names.pop()
        return files

    def _directory(self) -> Directory:
        """The directory that is being visited. What was on the way to it and is not there any more
        counts as visited."""
        directory = self._zone
        for depth, name in enumerate(self._names[:-1]):
            child = directory.child(name)
            if not isinstance(child, Directory) or _is_zone(child):
                del self._names[depth + 1 :]
                break
            directory = child
        return directory


def _is_zone(directory: Directory) -> bool:
    return attribute_of(directory.xattrs, ENCRYPTION_ZONE) is not None


def _names_after(directory: Directory, name: str, limit: int) -> tuple[list[str], int]:
    if len(directory.entries) <= _FEW:
        return names_after(directory.sorted_names(), name, limit)
    return directory.names_after(name, limit)
