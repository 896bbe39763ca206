"""Resuming a `-diff` or `-rdiff` that was stopped.

The target has its snapshot of the first state, so its own report of changes since then says what
an earlier run has done: which entries it moved, to where, and what it copied. That is compared
with what was to be done.

1. An entry that was moved away is in the staging directory, at its new path, or deleted. In the
   first case the second move is left to do, in the others nothing.
2. Every other difference must be an entry that was to be copied. If there is another one,
   somebody else has changed the target, and nothing is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from howdah.copy.common.staging import is_mirror_state, is_staging
from howdah.copy.locks.tree_lock import is_lock
from howdah.copy.snapshots.changes import (
    CREATED,
    DELETED,
    MODIFIED,
    RENAMED,
    Change,
    Changes,
    Filters,
    Move,
)


@dataclass(frozen=True, slots=True)
class Remaining:
    """The moves left to do, and those half done (`begun`): their `source` is in the staging
    directory."""

    moves: tuple[Move, ...]
    begun: tuple[Move, ...]


def differences(target_changes: Iterable[Change]) -> list[Change]:
    """Return the changes at the target, without lock files and staging directories, and without
    entries that were moved away and back."""
    changes = list(target_changes)
    same = {
        change
        for change in changes
        if (change.label == CREATED and _is_of_a_job(change.path))
        or (change.label == RENAMED and change.path == change.target)
    }
    touched = {_above(change.path) for change in same}
    return [
        change
        for change in changes
        if change not in same and not (change.label == MODIFIED and change.path in touched)
    ]


def _is_of_a_job(path: str) -> bool:
    name = path.rpartition("/")[2]
    return is_staging(path) or is_lock(name) or is_mirror_state(name)


def is_in_a_job(path: str) -> bool:
    """Whether a relative path is, or lies below, an entry of a job, which no listing has."""
    return any(
        is_staging(name) or is_lock(name) or is_mirror_state(name) for name in path.split("/")
    )


def remaining(moves: Sequence[Move], target_changes: Iterable[Change], staging: str) -> Remaining:
    """Return the moves left to do if the target differs from the first state by `target_changes`.

    `staging` is the name of the staging directory.
    """
    moved = {change.path: change.target for change in target_changes if change.label == RENAMED}
    gone = {change.path for change in target_changes if change.label == DELETED}
    left, begun = [], []
    for move in moves:
        place = moved.get(move.source)
        if place is None:
            if move.source not in gone:
                left.append(move)
        elif place.startswith(f"{staging}/"):
            begun.append(Move(place, move.target))
    return Remaining(tuple(left), tuple(begun))


Key = tuple[str, str]
"""A kind of change and a path, by which changes at the target and what explains them meet."""


def explained_by(asked: Iterable[Change], changes: Changes) -> Iterator[Key]:
    """What a run with the report `asked` may have changed by copying."""
    before = {change.target: change.path for change in changes.renames}
    for change in asked:
        place = changes.copied(change)
        if place is not None:
            yield CREATED, place
        if change.label == MODIFIED:
            path = _before(changes, before, change.path)
            # A copied file replaces the one that is there, which modifies its directory.
            yield DELETED, path
            yield MODIFIED, path
            yield MODIFIED, _above(path)


def unmoved(
    changes: Changes, target_changes: Sequence[Change], staging: str
) -> list[tuple[Change, Key | None]]:
    """Return the changes in `target_changes` that the moves do not explain, each with the key that
    `explained_by` must have; None if nothing explains it."""
    targets = {move.source: move.target for move in changes.moves()}
    touched = {_above(path) for path in targets}
    now = Changes.of(target_changes, True, Filters())
    left: list[tuple[Change, Key | None]] = []
    for change in target_changes:
        path = change.path
        if change.label == RENAMED:
            is_begun = path in targets and change.target.startswith(f"{staging}/")
            if not is_begun and (path not in targets or targets[path] != change.target):
                left.append((change, None))
        elif change.label == DELETED:
            if path not in targets or targets[path] is not None:
                left.append((change, (DELETED, path)))
        elif change.label == CREATED:
            place = now.copied(change)
            left.append((change, None if place is None else (CREATED, place)))
        elif path not in touched:
            left.append((change, (MODIFIED, path)))
    return left


def _above(path: str) -> str:
    return path.rpartition("/")[0]


def _before(changes: Changes, before: Mapping[str, str], path: str) -> str:
    """The path in the first state of an entry that is modified."""
    if changes.forward:
        return path
    return before.get(path) or changes.at_target(path)
