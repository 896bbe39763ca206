"""What a snapshot report asks for at the target of `-diff` and `-rdiff` (pure; DistCpSync).

The target is as the directory was in the first state, and is to become as it was in the second.

1. A report names paths by the earlier of its two states, even if it is read backwards: an entry
   created in a directory that was renamed has the directory's earlier name in its path. Here
   paths are translated: deletions and renames to the target's present paths, copies to the paths
   of the second state.
2. Deletions and renames are done before anything is copied: first every entry is moved away, the
   deepest first, so that no move changes the path of a later one; then every renamed entry is
   moved to its new path, parents first. So names may be exchanged, even in a ring, and a name
   may be taken that another entry had.
3. A created entry is copied with everything below it, except entries that were moved there. A
   modified entry is copied by itself.
4. An entry that came from outside of the directory is created, one that left it is deleted; the
   report says so already.
5. Lock files, staging directories and state files of jobs are not copied, so the target has none
   of the source's: an entry that was moved out of a staging directory is created, one that was
   moved into one is deleted.
6. Filters match paths as everywhere. If a filter matches one end of a rename, the other end is a
   creation or a deletion. An entry that a filter keeps at the target must not be in the way.

A path is relative to the directory, and empty for the directory itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from howdah.copy.layout import InvalidInput

MODIFIED: Final = "M"
CREATED: Final = "+"
DELETED: Final = "-"
RENAMED: Final = "R"


@dataclass(frozen=True, slots=True)
class Change:
    """An entry of a report (DiffReportEntry). A rename has a `target`."""

    label: str
    path: str
    target: str = ""

    def __str__(self) -> str:
        where = f"{self.path or '.'} -> {self.target}" if self.target else self.path or "."
        return f"{self.label} {where}"


@dataclass(frozen=True, slots=True)
class Move:
    """A rename at the target, or a deletion if `target` is None."""

    source: str
    target: str | None


def _of_nobody(_: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Filters:
    """Patterns that are matched against a path with each of several prefixes."""

    patterns: tuple[str, ...] = ()
    beginnings: tuple[str, ...] = ("",)
    is_of_a_job: Callable[[str], bool] = _of_nobody
    """Whether a path is one of a job's own entries, which the target does not have."""

    def match(self, path: str) -> bool:
        """Whether a filter matches a relative path.

        >>> Filters((r".*/b",)).match("a/b")
        True
        """
        return self.is_of_a_job(path) or any(
            re.fullmatch(pattern, f"{beginning}/{path}", re.DOTALL)
            for beginning in self.beginnings
            for pattern in self.patterns
        )


@dataclass(frozen=True, slots=True)
class Changes:
    """The renames and deletions of a report, by which paths of its other entries translate.

    `forward`: the first state is the earlier one (`-diff`).
    """

    renames: tuple[Change, ...]
    deletions: tuple[Change, ...]
    forward: bool
    filters: Filters = Filters()
    _places: Mapping[str, str | None] = field(init=False, default_factory=dict, repr=False)
    _before: Mapping[str, str] = field(init=False, default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        # Keys are paths of the earlier state, as in the report.
        places: dict[str, str | None] = {}
        before: dict[str, str] = {}
        for change in self.renames:
            key = change.path if self.forward else change.target
            places[key] = None if self._is_split(change) else change.target
            before[change.target] = change.path
        object.__setattr__(self, "_places", places)
        object.__setattr__(self, "_before", before)

    @classmethod
    def of(cls, changes: Iterable[Change], forward: bool, filters: Filters) -> Changes:
        """The renames and deletions among the entries of a report."""
        given = [change for change in changes if change.label in (RENAMED, DELETED)]
        return cls(
            tuple(change for change in given if change.label == RENAMED),
            tuple(change for change in given if change.label == DELETED),
            forward,
            filters,
        )

    def moves(self) -> list[Move]:
        """The renames and deletions to do. Raises InvalidInput if an entry that a filter keeps is
        in the way."""
        moves = []
        kept = []
        for change in self.deletions:
            path = self.at_target(change.path)
            if self.filters.is_of_a_job(change.path):
                continue
            if self.filters.match(change.path) or self.filters.match(path):
                kept.append(path)
            else:
                moves.append(Move(path, None))
        for change in self.renames:
            if not self._is_split(change):
                moves.append(Move(change.path, change.target))
            elif not self.filters.match(change.path):
                moves.append(Move(change.path, None))
        taken = {move.target for move in moves}
        after = {change.path: change.target for change in self.renames}
        for path in kept:
            if _translated(path, after) in taken:
                raise InvalidInput(
                    f"{path} is left out by a filter, and another entry is to get its name"
                )
        return moves

    def copied(self, change: Change) -> str | None:
        """The path in the second state of an entry that is to be copied; None if this entry of
        the report copies nothing."""
        path = self._copied(change)
        return None if path is None or self.filters.is_of_a_job(path) else path

    def _copied(self, change: Change) -> str | None:
        if change.label == RENAMED:
            return change.target if self._is_split(change) else None
        if change.label == DELETED:
            return None
        itself = change.label == MODIFIED
        for path, rest in _prefixes(change.path, itself):
            if path in self._places:
                place = self._places[path]
                return None if place is None else _join(place, rest)
        return change.path

    def at_target(self, path: str) -> str:
        """The path of a deleted entry in the first state."""
        if self.forward:
            return path
        return _translated(path, self._before)

    def _is_split(self, change: Change) -> bool:
        """Whether a filter matches an end of a rename."""
        return self.filters.match(change.path) or self.filters.match(change.target)


def in_order(moves: Iterable[Move]) -> tuple[list[Move], list[Move]]:
    """The moves in the order in which entries are moved away, and the renames in the order in
    which entries are moved to their new paths."""
    listed = list(moves)
    begun = sorted(listed, key=lambda move: -move.source.count("/"))
    ended = [move for move in listed if move.target is not None]
    return begun, sorted(ended, key=lambda move: (move.target or "").count("/"))


def _prefixes(path: str, itself: bool) -> Iterator[tuple[str, str]]:
    """A path and its ancestors, the longest first, each with the rest of the path."""
    end = len(path) if itself else path.rfind("/")
    while end > 0:
        yield path[:end], path[end + 1 :]
        end = path.rfind("/", 0, end)


def _translated(path: str, renames: Mapping[str, str]) -> str:
    """A path after the renames of its ancestors."""
    for above, rest in _prefixes(path, itself=False):
        if above in renames:
            return _join(renames[above], rest)
    return path


def _join(path: str, rest: str) -> str:
    return f"{path}/{rest}" if rest else path
