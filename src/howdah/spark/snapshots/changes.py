"""What a report on two snapshots asks for at the target of `-diff` and `-rdiff` (pure).

The target is as the directory was in the first state, and is to become as it was in the
second one.

1. A report names paths by the earlier of its two states, even where it is read backwards:
   what was made in a directory that was renamed stands under the directory's earlier
   name. Here a path is turned into the one that counts: what goes or moves is named as
   it is at the target now, what is copied as it is in the second state.
2. What was deleted or renamed is moved, before anything is copied: first each out of its
   place, what is deepest first, so that no path changes by a move before its own; then
   each to its new place, parents first. So names may be exchanged or passed on in a
   ring, and a name may be taken that something else had.
3. What was made is copied with all that is below it, save what was moved there; what was
   modified is copied by itself.
4. Something that comes from outside of the directory was made, something that left it
   was deleted: reports say so already.
5. A filter holds paths as everywhere. Of a rename with a filter at one end the other end
   is made or deleted. What a filter keeps at the target must not be in the way.

A path is relative to the directory, and empty for the directory itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from howdah.spark.copy.layout import InvalidInput

MODIFIED: Final = "M"
CREATED: Final = "+"
DELETED: Final = "-"
RENAMED: Final = "R"


@dataclass(frozen=True, slots=True)
class Change:
    """One line of a report. A rename has a `target`."""

    label: str
    path: str
    target: str = ""

    def __str__(self) -> str:
        where = f"{self.path or '.'} -> {self.target}" if self.target else self.path or "."
        return f"{self.label} {where}"


@dataclass(frozen=True, slots=True)
class Move:
    """Something at the target that gets another place, or none."""

    source: str
    target: str | None


@dataclass(frozen=True, slots=True)
class Filters:
    """Patterns that are held against a path behind each of several beginnings."""

    patterns: tuple[str, ...] = ()
    beginnings: tuple[str, ...] = ("",)

    def match(self, path: str) -> bool:
        """Whether a relative path is to be left out.

        >>> Filters((r".*/b",)).match("a/b")
        True
        """
        return any(
            re.fullmatch(pattern, f"{beginning}/{path}", re.DOTALL)
            for beginning in self.beginnings
            for pattern in self.patterns
        )


@dataclass(frozen=True, slots=True)
class Changes:
    """A report's renames and deletions, and what they make of its other lines.

    `forward` says that the first state is the earlier one (`-diff`).
    """

    renames: tuple[Change, ...]
    deletions: tuple[Change, ...]
    forward: bool
    filters: Filters = Filters()
    _places: Mapping[str, str | None] = field(init=False, default_factory=dict, repr=False)
    _before: Mapping[str, str] = field(init=False, default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        # Keys are paths of the earlier state, which reports are written in.
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
        """From the lines of a report; those that only copy are passed over."""
        given = [change for change in changes if change.label in (RENAMED, DELETED)]
        return cls(
            tuple(change for change in given if change.label == RENAMED),
            tuple(change for change in given if change.label == DELETED),
            forward,
            filters,
        )

    def moves(self) -> list[Move]:
        """What is to be moved or to go. Raises InvalidInput if a filter stands against it."""
        moves = []
        kept = []
        for change in self.deletions:
            path = self.at_target(change.path)
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
                    f"{path} is left out by a filter, and something else is to get its name"
                )
        return moves

    def copied(self, change: Change) -> str | None:
        """Where what a line names is in the second state; None if it has not to be copied
        because of this line."""
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
        """Where what a line deletes is in the first state."""
        if self.forward:
            return path
        return _translated(path, self._before)

    def _is_split(self, change: Change) -> bool:
        """Whether a filter makes of a rename a deletion, something new, or both."""
        if not self.filters.patterns:
            return False
        return self.filters.match(change.path) or self.filters.match(change.target)


def in_order(moves: Iterable[Move]) -> tuple[list[Move], list[Move]]:
    """The moves as they have to be begun, and those that have a new place as they have to
    be ended."""
    listed = list(moves)
    begun = sorted(listed, key=lambda move: -move.source.count("/"))
    ended = [move for move in listed if move.target is not None]
    return begun, sorted(ended, key=lambda move: (move.target or "").count("/"))


def _prefixes(path: str, itself: bool) -> Iterator[tuple[str, str]]:
    """A path and those above it, the longest first, each with what is below it."""
    end = len(path) if itself else path.rfind("/")
    while end > 0:
        yield path[:end], path[end + 1 :]
        end = path.rfind("/", 0, end)


def _translated(path: str, renames: Mapping[str, str]) -> str:
    """What a path is after the renames of what is above it."""
    for above, rest in _prefixes(path, itself=False):
        if above in renames:
            return _join(renames[above], rest)
    return path


def _join(path: str, rest: str) -> str:
    return f"{path}/{rest}" if rest else path
