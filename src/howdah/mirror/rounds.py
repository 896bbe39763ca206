"""Rounds: what the planner decides is done, step by step (shell).

Nothing is kept between two steps but what the planner knows, and that can be looked up. So a mirror
that was killed at any point goes on when it is started again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from howdah import errors
from howdah.config import Configuration
from howdah.copy.common.failures import CopyFailed
from howdah.copy.common.job_tokens import with_job_tokens
from howdah.copy.counters import Counters
from howdah.copy.locks.tree_lock import NO_LOCK, locked
from howdah.copy.snapshots.following import TargetModified, report
from howdah.copy.snapshots.resuming import differences
from howdah.mirror.copying import Copying, Watcher
from howdah.mirror.lease import SUFFIX, HeldLease, leased
from howdah.mirror.settings import Settings
from howdah.mirror.sides import Directory, Refused, check_zones
from howdah.mirror.state import planner
from howdah.mirror.state.names import (
    REVERTED,
    UNCHECKED,
    diverged_name_at,
    key_of,
    time_ms_of,
)
from howdah.mirror.state.planner import Action, At, Known
from howdah.mirror.state.record import Record

_log = logging.getLogger(__name__)
_JOB: Final = "mirror"
_NAMED: Final = 5


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Round:
    """What was done. `common` is the point in time that the target is."""

    key: str
    common: str | None
    is_current: bool
    """Whether the source had not changed since."""
    ended_ms: int
    counters: Counters = field(default_factory=Counters)
    seconds: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def lag_s(self) -> float:
        """How old the target's point in time was at the end; 0 if the source had not changed."""
        if self.common is None or self.is_current:
            return 0.0
        return max(self.ended_ms - time_ms_of(self.common), 0) / 1000


class Lock(Protocol):
    """What keeps other mirrors from a target; `note` says why nothing does."""

    @property
    def note(self) -> str | None: ...

    def check(self) -> None:
        """Raise unless the lock is held."""


@contextmanager
def alone(target: Directory, tell: Callable[[str], None]) -> Iterator[Lock]:
    """Hold the lock of a mirror's target; other mirrors of it are refused. Raises TreeLocked."""
    with ExitStack() as stack:
        try:
            held = stack.enter_context(locked(target.fs, target.state_path, _JOB, tell=tell))
            lock: Lock = held
            if held.path is None:
                lock = stack.enter_context(leased(target.fs, target.state_path + SUFFIX))
        except errors.AccessDenied as error:
            raise CopyFailed(f"Cannot write beside {target.uri}: {error}") from error
        yield lock


class Mirror:
    """A mirror of one directory. `run` makes one round."""

    def __init__(
        self,
        source: Directory,
        target: Directory,
        settings: Settings,
        conf: Configuration,
        user: str | None = None,
        watcher: Watcher | None = None,
        began: Callable[[Action], None] = lambda _: None,
        clock_ms: Callable[[], int] = now_ms,
    ) -> None:
        _check_apart(source, target)
        self.source = source
        self.target = target
        self.key = key_of(source.uri, target.uri)
        self._settings = settings
        self._watcher = watcher or Watcher()
        self._began = began
        self._clock_ms = clock_ms
        self._copying = Copying(source, target, settings, conf, user, self._watcher)
        self._counters = Counters()
        self._copy_s = 0.0

    def inspect(self, wants_round: bool = True) -> Known:
        """What is known of both sides."""
        source, target = self.source.inspect(self.key), self.target.inspect(self.key)
        return planner.looked(self.key, source, target, self._clock_ms(), wants_round)

    def run(self, lock: Lock = NO_LOCK, *, wants_round: bool = True) -> Round:
        """Finish a round that was begun, and make one if it is wanted. Raises Refused."""
        check_zones(self.source, self.target, self._settings.decrypts)
        self._counters, self._copy_s = Counters(), 0.0
        self._copying.check_lock = lock.watch if isinstance(lock, HeldLease) else lock.check
        began_s = time.monotonic()
        known = self.inspect(wants_round)
        while True:
            action = planner.decide(known, self._settings.wanted)
            if isinstance(action, planner.Finish):
                return Round(
                    self.key,
                    action.common,
                    known.source_differs is False,
                    self._clock_ms(),
                    self._counters,
                    time.monotonic() - began_s,
                    () if lock.note is None else (lock.note,),
                )
            self._began(action)
            lock.check()
            known = replace(self._do(known, action), now_ms=self._clock_ms())

    def _do(self, known: Known, action: Action) -> Known:
        """Do an action; what is known afterwards."""
        match action:
            case planner.Refuse(reason):
                raise Refused(reason)
            case planner.CompareSource(common):
                return planner.compared(known, self._source_differs(common))
            case planner.CompareTarget(common):
                changes = differences(report(self.target.fs, self.target.path, common, ""))
                if changes:
                    some = ", ".join(map(str, changes[:_NAMED]))
                    self._watcher.tell(f"{self.target.uri} was changed since {common}: {some}")
                    return planner.modified(known)
                self._copying.remove_staging()
            case planner.CopyChanges() | planner.CheckSnapshot():
                try:
                    self._act(known, action)
                except TargetModified as error:
                    self._watcher.tell(str(error))
                    return planner.modified(known)
            case _:
                self._act(known, action)
        return planner.after(known, action)

    def _act(self, known: Known, action: Action) -> None:
        target = self.target
        match action:
            case planner.MakeTarget():
                target.fs.mkdirs(target.path)
            case planner.AllowSnapshots(at):
                self._allow_snapshots(self._at(at))
            case planner.CreateSnapshot(at, name):
                self._at(at).hdfs.create_snapshot(self._at(at).path, name)
            case planner.DeleteSnapshot(at, name):
                self._at(at).hdfs.delete_snapshot(self._at(at).path, name)
            case planner.RenameSnapshot(old, new):
                target.hdfs.rename_snapshot(target.path, old, new)
            case planner.WriteRecord(record):
                target.write_record(self._with_figures(record))
            case planner.CopyAll(goal):
                adopts = self._settings.wanted.adopts
                self._timed(lambda: self._copying.all(goal, adopts))
            case planner.CopyChanges(base, goal, resumes):
                self._timed(lambda: self._copying.changes(base, goal, resumes))
            case planner.CopyTouched(base, goal):
                self._timed(lambda: self._copying.touched(base, goal))
            case planner.CheckSnapshot(compared, goal):
                self._copying.check(compared, goal)
            case planner.Revert(common):
                revert(self.target, self._copying, self.key, common, self._clock_ms())
            case _:
                raise AssertionError(f"{action} is not done here")

    def _at(self, at: At) -> Directory:
        return self.source if at is At.SOURCE else self.target

    def _allow_snapshots(self, side: Directory) -> None:
        try:
            side.hdfs.allow_snapshot(side.path)
        except errors.AccessDenied as error:
            raise Refused(
                f"{side.uri} may have no snapshots yet, which only a superuser can change: "
                f"howdah dfsadmin -fs {side.fs.uri} -allowSnapshot {side.path}"
            ) from error
        self._watcher.tell(f"{side.uri} may have snapshots from now on")

    def _source_differs(self, common: str) -> bool:
        changes = report(self.source.fs, self.source.path, common, "")
        return bool(differences(changes))

    def _timed(self, copy: Callable[[], Counters]) -> None:
        began_s = time.monotonic()
        self._counters += copy()
        self._copy_s += time.monotonic() - began_s

    def _with_figures(self, record: Record) -> Record:
        if record.goal is not None or not self._copy_s:
            return record
        done = self._counters
        return replace(
            record,
            copied_files=done.files_copied,
            copied_bytes=done.bytes_copied,
            seconds=round(self._copy_s, 3),
        )

    # -- a dry run -----------------------------------------------------------------------

    def rehearse(self, tell: Callable[[str], None]) -> Counters:
        """Report by `tell` what a round would do, and change nothing."""
        check_zones(self.source, self.target, self._settings.decrypts)
        counters = Counters()
        known = self.inspect()
        made, is_reverted = "", False
        while True:
            action = planner.decide(known, self._settings.wanted)
            match action:
                case planner.Finish():
                    return counters
                case planner.Revert():
                    is_reverted = True
                case planner.CopyChanges(base, _, _) if is_reverted:
                    # What that would be cannot be told before the target is reverted.
                    tell(f"copy what has changed at {self.source.uri} since {base}")
                case planner.Refuse(reason):
                    raise Refused(reason)
                case planner.CompareSource(common):
                    known = planner.compared(known, self._source_differs(common))
                    if not known.source_differs:
                        tell(f"nothing has changed at {self.source.uri} since {common}")
                    continue
                case planner.CompareTarget(common):
                    changes = report(self.target.fs, self.target.path, common, "")
                    if differences(changes):
                        known = planner.modified(known)
                        continue
                case planner.CreateSnapshot(At.SOURCE, name):
                    made = name
                case planner.CopyAll(goal):
                    counters += self._copying.rehearse(None, "" if goal == made else goal, tell)
                case planner.CopyChanges(base, goal, _) | planner.CopyTouched(base, goal):
                    counters += self._copying.rehearse(base, "" if goal == made else goal, tell)
                case _:
                    pass
            if (line := described(action, self.source, self.target)) is not None:
                tell(line)
            known = planner.after(known, action)


def revert(target: Directory, copying: Copying, key: str, common: str, time_ms: int) -> None:
    """Make a target what it was in its snapshot, and take another one. What it is now stays in a
    third one. Raises CopyFailed if somebody writes to the target meanwhile."""
    hdfs, path = target.hdfs, target.path
    hdfs.create_snapshot(path, diverged_name_at(key, time_ms))
    copying.revert(common)
    hdfs.create_snapshot(path, common + UNCHECKED)
    copying.check_revert(common)
    hdfs.rename_snapshot(path, common + UNCHECKED, common + REVERTED)


def described(action: Action, source: Directory, target: Directory) -> str | None:
    """What an action would do, in a line; None for one that a copy itself describes."""
    uris = {At.SOURCE: source.uri, At.TARGET: target.uri}
    match action:
        case planner.MakeTarget():
            return f"mkdir {target.uri}"
        case planner.AllowSnapshots(at):
            return f"allow snapshots of {uris[at]}"
        case planner.CreateSnapshot(at, name):
            return f"create snapshot {name} of {uris[at]}"
        case planner.DeleteSnapshot(at, name):
            return f"delete snapshot {name} of {uris[at]}"
        case planner.RenameSnapshot(old, new):
            return f"rename snapshot {old} of {target.uri} to {new}"
        case planner.Revert(common):
            return f"revert {target.uri} to its snapshot {common}"
        case _:
            return None


def _check_apart(source: Directory, target: Directory) -> None:
    one, other = source.uri.rstrip("/") + "/", target.uri.rstrip("/") + "/"
    if one.startswith(other) or other.startswith(one):
        raise Refused(f"{source.uri} and {target.uri} must not be parts of each other")


@with_job_tokens
def mirror_once(
    source: str,
    target: str,
    settings: Settings | None = None,
    *,
    conf: Configuration | None = None,
    user: str | None = None,
    watcher: Watcher | None = None,
) -> Round:
    """Make one round: afterwards the target is what the source was when the round began.

    `source` is a directory of an HDFS, `target` one of any filesystem; both are URIs, or paths on
    `fs.defaultFS`. Raises Refused with what to do, `TreeLocked` while another mirror of the target
    runs, and the errors of `howdah.sync.sync`.

    >>> mirror_once("hdfs://a:8020/data", "hdfs://b:8020/data")  # doctest: +SKIP
    """
    configuration = Configuration.load() if conf is None else conf
    seen = watcher or Watcher()
    there = Directory.of(target, configuration, user)
    here = Directory.of(source, configuration, user)
    mirror = Mirror(here, there, settings or Settings(), configuration, user, seen)
    with alone(there, seen.tell) as lock:
        return mirror.run(lock)
