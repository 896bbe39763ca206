"""The paths that a snapshot report is about, for targets that cannot follow it step by step (pure).

Each of them is made what it is in the second snapshot, in whatever state it is: with all below it
if it was created, deleted, renamed or is the end of a rename, by itself if it was modified. So a
round that was stopped is done again, and no matter how far it came.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from howdah.copy.snapshots.changes import MODIFIED, RENAMED, Change


@dataclass(frozen=True, slots=True)
class Touched:
    """A path relative to the directory. `is_whole`: with all below it."""

    path: str
    is_whole: bool


def touched(changes: Iterable[Change]) -> list[Touched]:
    """The paths, each once, and none that is below one with all below it.

    >>> moved = [Change("R", "a", "b"), Change("M", "a/f"), Change("M", "c"), Change("M", "")]
    >>> [(one.path, one.is_whole) for one in touched(moved)]
    [('a', True), ('b', True), ('c', False)]
    """
    whole: set[str] = set()
    single: set[str] = set()
    for change in changes:
        if change.label == MODIFIED:
            single.add(change.path)
        else:
            whole.add(change.path)
            if change.label == RENAMED:
                whole.add(change.target)
    tops = {path for path in whole if not any(above in whole for above in _ancestors(path))}
    left = {
        path
        for path in single - tops
        if path and not any(above in tops for above in _ancestors(path))
    }
    found = [Touched(path, True) for path in tops] + [Touched(path, False) for path in left]
    return sorted(found, key=lambda one: one.path)


def _ancestors(path: str) -> Iterator[str]:
    end = path.rfind("/")
    while end > 0:
        yield path[:end]
        end = path.rfind("/", 0, end)
