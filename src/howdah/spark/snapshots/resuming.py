"""Resuming a `-diff` or `-rdiff` that was stopped (pure).

The target has its snapshot of the first state, so its own report of changes since then says what
an earlier run has done: which entries it moved, to where, and what it copied. That is compared
with what was to be done.

1. An entry that was moved away is in the staging directory, at its new path, or deleted. In the
   first case the second move is left to do, in the others nothing.
2. Every other difference must be an entry that was to be copied. If there is another one,
   somebody else has changed the target, and nothing is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from howdah.spark.common.staging import is_staging
from howdah.spark.locks.tree_lock import is_lock
from howdah.spark.snapshots.changes import (
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


def differences(found: Iterable[Change]) -> list[Change]:
    """The changes at the target, without lock files and staging directories, and without
    entries that were moved away and back."""
    changes = list(found)
    same = {
        change
        for change in changes
        if (change.label == CREATED and _is_of_a_job(change.path))
        or (change.label == RENAMED and change.path == change.target)
    }
    touched = {change.path.rpartition("/")[0] for change in same}
    return [
        change
        for change in changes
        if change not in same and not (change.label == MODIFIED and change.path in touched)
    ]


def _is_of_a_job(path: str) -> bool:
    return is_staging(path) or is_lock(path.rpartition("/")[2])


def remaining(moves: Sequence[Move], found: Iterable[Change], staging: str) -> Remaining:
    """The moves left to do if the target differs from the first state by `found`.

    `staging` is the name of the staging directory.
    """
    moved = {change.path: change.target for change in found if change.label == RENAMED}
    gone = {change.path for change in found if change.label == DELETED}
    left, begun = [], []
    for move in moves:
        place = moved.get(move.source)
        if place is None:
            if move.source not in gone:
                left.append(move)
        elif place.startswith(f"{staging}/"):
            begun.append(Move(place, move.target))
    return Remaining(tuple(left), tuple(begun))


def unexplained(
    asked: Iterable[Change], changes: Changes, found: Sequence[Change], staging: str
) -> list[Change]:
    """The changes in `found` that no run with the report `asked` can have made."""
    copied, modified = set(), set()
    before = {change.target: change.path for change in changes.renames}
    for change in asked:
        place = changes.copied(change)
        if place is not None:
            copied.add(place)
        if change.label == MODIFIED:
            modified.add(_before(changes, before, change.path))
    targets = {move.source: move.target for move in changes.moves()}
    # A replaced or deleted entry modifies its directory.
    touched = modified | {path.rpartition("/")[0] for path in (*modified, *targets)}
    now = Changes.of(found, True, Filters())
    return [
        change
        for change in found
        if not _is_explained(change, targets, copied, modified, touched, now, staging)
    ]


def _is_explained(
    change: Change,
    targets: dict[str, str | None],
    copied: set[str],
    modified: set[str],
    touched: set[str],
    now: Changes,
    staging: str,
) -> bool:
    path = change.path
    if change.label == RENAMED:
        if path not in targets:
            return False
        return change.target.startswith(f"{staging}/") or change.target == targets[path]
    if change.label == DELETED:
        return path in modified or (path in targets and targets[path] is None)
    if change.label == CREATED:
        place = now.copied(change)
        return place in copied
    return path in touched


def _before(changes: Changes, before: Mapping[str, str], path: str) -> str:
    """The path in the first state of an entry that is modified."""
    if changes.forward:
        return path
    return before.get(path) or changes.at_target(path)
