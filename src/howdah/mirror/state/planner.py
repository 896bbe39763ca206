"""What a mirror does next: a state machine (pure).

`Known` is what the mirror knows of both sides. `decide` returns the next action, `after` what is
known once it is done. Whatever is known can be looked up again, so a mirror that was killed looks,
and goes on with the same action.

1. The newest snapshot with the same name on both sides is the *common* one: the target was that
   point in time. Where the target has no snapshots its state file says it.
2. An own snapshot of the source that is newer than the common one is a round that was begun, and
   is finished first. There is one at most: a round begins only when there is none.
3. Otherwise a round that is wanted begins with a snapshot of the source, if the source differs
   from the common snapshot.
4. Before anything is changed at the target, it is compared with the common snapshot, and its state
   file gets the goal. So what is found changed there later is known to be the mirror's own.
5. When all is copied the target gets a snapshot, under a name that readers ignore; it is compared
   with what the round was to change, and then renamed. So every snapshot of the target that has a
   proper name is exactly the source's of that name.
6. Old snapshots are deleted on both sides, but never the common one.
7. A target that somebody else changed, also if the source did not change, is refused, or reverted
   to the common snapshot if that is wanted. A reverted target gets a new snapshot, which takes the
   place of the common one: files that were copied back are other inodes.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from typing import Final

from howdah.mirror.state.names import REVERTED, UNCHECKED, next_name
from howdah.mirror.state.record import Record, Role


class At(enum.Enum):
    SOURCE = "source"
    TARGET = "target"


@dataclass(frozen=True, slots=True)
class Side:
    """What is known of one directory. `snapshots` are the mirror's own, sorted."""

    uri: str
    exists: bool = True
    is_empty: bool = False
    has_snapshots: bool = True
    """Whether its filesystem has snapshots."""
    is_snapshottable: bool = True
    snapshots: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    reverted: tuple[str, ...] = ()
    record: Record | None = None

    @property
    def epoch(self) -> int:
        return 0 if self.record is None else self.record.epoch


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the user wants of a mirror."""

    keep: int = 3
    """Snapshots that stay on each side."""
    adopts: bool = False
    """Whether a target that is not empty may become a mirror."""
    reverts: bool = False
    """Whether a target that somebody else changed is reverted."""

    def __post_init__(self) -> None:
        assert self.keep >= 1, "the last common snapshot always stays"


@dataclass(frozen=True, slots=True)
class Known:
    key: str
    source: Side
    target: Side
    wants_round: bool = True
    source_differs: bool | None = None
    """Whether the source differs from the common snapshot; None if nobody has looked."""
    is_unchanged: bool = False
    """Whether the target was found to be what it is in the common snapshot."""
    resumes: bool = False
    """Whether an earlier run has begun to change the target."""
    copied: str | None = None
    """The snapshot that the target has become in this run."""
    checked: str | None = None
    is_modified: bool = False
    """Whether somebody else has changed the target."""
    now_ms: int = 0

    @property
    def common(self) -> str | None:
        """The newest point in time that both sides have."""
        if not self.target.has_snapshots:
            record = self.target.record
            if record is None or record.complete not in self.source.snapshots:
                return None
            if record.goal is not None and record.goal not in self.source.snapshots:
                return None  # nobody can tell any more what the round has changed that was begun
            return record.complete
        both = set(self.source.snapshots) & {*self.target.snapshots, *self.target.reverted}
        return max(both, default=None)

    @property
    def goal(self) -> str | None:
        """The snapshot that a round which was begun leads to."""
        common = self.common
        if common is None:
            return self.source.snapshots[-1] if self.source.snapshots else None
        return next((name for name in self.source.snapshots if name > common), None)


# -- actions ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Refuse:
    """End, and say why."""

    reason: str


@dataclass(frozen=True, slots=True)
class AllowSnapshots:
    at: At


@dataclass(frozen=True, slots=True)
class MakeTarget:
    pass


@dataclass(frozen=True, slots=True)
class CompareSource:
    """Look whether the source differs from its snapshot."""

    common: str


@dataclass(frozen=True, slots=True)
class CompareTarget:
    """Look whether the target differs from its snapshot. If it does not, nothing of an unfinished
    round is in it, and what is left of its staging is removed."""

    common: str


@dataclass(frozen=True, slots=True)
class CreateSnapshot:
    at: At
    name: str


@dataclass(frozen=True, slots=True)
class RenameSnapshot:
    """At the target."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class DeleteSnapshot:
    at: At
    name: str


@dataclass(frozen=True, slots=True)
class WriteRecord:
    record: Record


@dataclass(frozen=True, slots=True)
class CopyAll:
    """Make the target what the source's snapshot is, whatever the target has."""

    goal: str


@dataclass(frozen=True, slots=True)
class CopyChanges:
    """The same for a target that is what the source was in its snapshot `base`."""

    base: str
    goal: str
    resumes: bool = False


@dataclass(frozen=True, slots=True)
class CopyTouched:
    """The same for a target without snapshots: all paths that differ are made equal."""

    base: str
    goal: str


@dataclass(frozen=True, slots=True)
class CheckSnapshot:
    """Compare what has changed at the target from `base` to the unchecked snapshot with what has
    changed at the source; without a base all entries."""

    base: str | None
    goal: str


@dataclass(frozen=True, slots=True)
class Revert:
    """Make the target what it was in its own snapshot."""

    common: str


@dataclass(frozen=True, slots=True)
class Finish:
    """Nothing is left to do. `common` is what the target is."""

    common: str | None


Action = (
    Refuse
    | AllowSnapshots
    | MakeTarget
    | CompareSource
    | CompareTarget
    | CreateSnapshot
    | RenameSnapshot
    | DeleteSnapshot
    | WriteRecord
    | CopyAll
    | CopyChanges
    | CopyTouched
    | CheckSnapshot
    | Revert
    | Finish
)
ENDS: Final = (Refuse, Finish)


# -- decisions ---------------------------------------------------------------------------


def decide(known: Known, wanted: Wanted) -> Action:
    """The next action."""
    reason = _refusal(known, wanted)
    if reason:
        return Refuse(reason)
    if not known.target.exists:
        return MakeTarget()
    if not known.source.is_snapshottable:
        return AllowSnapshots(At.SOURCE)
    target = known.target
    if target.has_snapshots and not target.is_snapshottable:
        return AllowSnapshots(At.TARGET)
    for name in target.reverted:
        if name in target.snapshots:
            return DeleteSnapshot(At.TARGET, name)
        return RenameSnapshot(name + REVERTED, name)
    for name in target.unchecked:
        if name != known.copied:
            return DeleteSnapshot(At.TARGET, name + UNCHECKED)
    common = known.common
    if known.is_modified:
        assert common is not None, "a first copy takes the target as it is"
        # What is found changed by a revert that was killed is not taken for a round's.
        if target.record != (settled := _settled(known, common)):
            return WriteRecord(settled)
        return Revert(common)
    goal = known.goal
    if goal is not None:
        return _towards(known, common, goal)
    if common is not None and target.record != (settled := _settled(known, common)):
        return WriteRecord(settled)
    if known.wants_round and common is not None and known.source_differs is None:
        return CompareSource(common)
    rotation = _rotation(known, wanted, common)
    if known.wants_round and (common is None or known.source_differs):
        if isinstance(rotation, DeleteSnapshot):
            return rotation  # a directory may have so many snapshots only
        given = (*known.source.snapshots, *known.target.snapshots)
        return CreateSnapshot(At.SOURCE, next_name(known.key, known.now_ms, given))
    has_copied = known.copied is not None
    if common is not None and target.has_snapshots and not (has_copied or known.is_unchanged):
        return CompareTarget(common)
    return rotation


def _refusal(known: Known, wanted: Wanted) -> str:
    source, target = known.source, known.target
    if not source.has_snapshots:
        return f"{source.uri} has no snapshots, by which a mirror knows what has changed"
    if not source.exists:
        return f"{source.uri} is not there as a directory"
    ours, theirs = source.record, target.record
    if ours is not None and ours.role is Role.TARGET and ours.source == target.uri:
        return (
            f"{source.uri} is the target of a mirror of {target.uri}: promote it first "
            f"(howdah mirror promote {source.uri})"
        )
    if theirs is not None:
        if theirs.role is Role.SOURCE and theirs.epoch >= source.epoch:
            return (
                f"{target.uri} was promoted: it is a source, and nothing is mirrored to it. To "
                f"mirror it back: howdah mirror --revert {target.uri} {source.uri}"
            )
        if theirs.role is Role.TARGET and theirs.source != source.uri and not wanted.adopts:
            return (
                f"{target.uri} is the target of a mirror of {theirs.source}. With --adopt it "
                f"becomes one of {source.uri}"
            )
    has_begun = theirs is not None and theirs.role is Role.TARGET and theirs.goal is not None
    if known.common is None and not (target.is_empty or has_begun or known.copied):
        if not target.exists or wanted.adopts:
            return ""
        return (
            f"{target.uri} is not empty, and has no snapshot in common with {source.uri}. With "
            "--adopt it becomes a mirror: what the source does not have is deleted"
        )
    if known.is_modified and not wanted.reverts:
        return (
            f"somebody else has changed {target.uri} since {known.common}. With --revert that is "
            "undone; what is there now stays in a snapshot"
        )
    return ""


def _towards(known: Known, common: str | None, goal: str) -> Action:
    """Go on with a round."""
    target = known.target
    record = target.record
    is_begun = (
        record is not None
        and record.role is Role.TARGET
        and (record.goal, record.base) == (goal, common)
        and record.source == known.source.uri
    )
    if not is_begun:
        if common is not None and target.has_snapshots and not known.is_unchanged:
            return CompareTarget(common)
        return WriteRecord(
            Record(
                known.key,
                known.source.uri,
                target.uri,
                Role.TARGET,
                known.source.epoch,
                common,
                0 if record is None else record.complete_ms,
                goal,
                common,
            )
        )
    assert record is not None, "it says what was begun"
    if known.copied != goal:
        if common is None:
            return CopyAll(goal)
        if not target.has_snapshots:
            return CopyTouched(common, goal)
        return CopyChanges(common, goal, known.resumes)
    if not target.has_snapshots:
        return WriteRecord(_completed(record, goal, known.now_ms))
    if goal not in target.unchecked:
        return CreateSnapshot(At.TARGET, goal + UNCHECKED)
    if known.checked != goal:
        return CheckSnapshot(common, goal)
    return RenameSnapshot(goal + UNCHECKED, goal)


def _completed(record: Record, common: str, now_ms: int) -> Record:
    return replace(record, goal=None, base=None, complete=common, complete_ms=now_ms)


def _settled(known: Known, common: str) -> Record:
    """The state file of a target that is its common snapshot."""
    record = known.target.record
    if record is None or record.role is not Role.TARGET or record.source != known.source.uri:
        record = Record(known.key, known.source.uri, known.target.uri)
    record = replace(record, epoch=known.source.epoch)
    if (record.complete, record.goal) == (common, None):
        return record
    return _completed(record, common, known.now_ms)


def _rotation(known: Known, wanted: Wanted, common: str | None) -> DeleteSnapshot | Finish:
    for at, side in ((At.SOURCE, known.source), (At.TARGET, known.target)):
        for name in side.snapshots[: -wanted.keep]:
            if name != common:
                return DeleteSnapshot(at, name)
    return Finish(common)


# -- events --------------------------------------------------------------------------------


def looked(key: str, source: Side, target: Side, now_ms: int, wants_round: bool = True) -> Known:
    """What is known after a look at both sides."""
    record = target.record
    resumes = record is not None and record.role is Role.TARGET and record.goal is not None
    return Known(key, source, target, wants_round, resumes=resumes, now_ms=now_ms)


def after(known: Known, action: Action) -> Known:
    """What is known when an action is done; `compared` and `modified` say what one has found."""
    source, target = known.source, known.target
    match action:
        case MakeTarget():
            return replace(known, target=replace(target, exists=True, is_empty=True))
        case AllowSnapshots(At.SOURCE):
            return replace(known, source=replace(source, is_snapshottable=True))
        case AllowSnapshots(At.TARGET):
            return replace(known, target=replace(target, is_snapshottable=True))
        case CreateSnapshot(At.SOURCE, name):
            names = tuple(sorted((*source.snapshots, name)))
            made = replace(source, snapshots=names)
            return replace(known, source=made, wants_round=False, source_differs=None)
        case CreateSnapshot(At.TARGET, name):
            names = (*target.unchecked, name.removesuffix(UNCHECKED))
            return replace(known, target=replace(target, unchecked=names))
        case RenameSnapshot(_, new):
            named = replace(
                target,
                unchecked=tuple(name for name in target.unchecked if name != new),
                reverted=tuple(name for name in target.reverted if name != new),
                snapshots=tuple(sorted((*target.snapshots, new))),
            )
            return replace(known, target=named)
        case DeleteSnapshot(At.SOURCE, name):
            left = tuple(other for other in source.snapshots if other != name)
            return replace(known, source=replace(source, snapshots=left))
        case DeleteSnapshot(At.TARGET, name):
            bare = name.removesuffix(UNCHECKED)
            fewer = replace(
                target,
                unchecked=tuple(n for n in target.unchecked if n + UNCHECKED != name),
                snapshots=tuple(n for n in target.snapshots if n != bare or bare != name),
            )
            return replace(known, target=fewer)
        case WriteRecord(record):
            return replace(known, target=replace(target, record=record))
        case CopyAll(goal) | CopyChanges(_, goal, _) | CopyTouched(_, goal):
            return replace(known, copied=goal, is_unchanged=False, resumes=False)
        case CheckSnapshot(_, goal):
            return replace(known, checked=goal)
        case CompareTarget():
            return replace(known, is_unchanged=True)
        case Revert(common):
            back = replace(target, reverted=(common,))
            return replace(
                known,
                target=back,
                is_modified=False,
                is_unchanged=True,
                resumes=False,
                copied=None,
            )
        case _:
            raise AssertionError(f"{action} changes nothing that is known")


def compared(known: Known, differs: bool) -> Known:
    """After `CompareSource`."""
    return replace(known, source_differs=differs)


def modified(known: Known) -> Known:
    """After a copy or a check that found changes of somebody else at the target."""
    return replace(known, is_modified=True, is_unchanged=False, copied=None, checked=None)
