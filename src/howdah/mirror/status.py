"""`status`: how far a mirror is, whoever runs it (shell)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from howdah import errors
from howdah.config import Configuration
from howdah.copy.common.filesystems import for_each, prefix
from howdah.copy.common.task_progress import Amount
from howdah.copy.locks.files import TreeLocked
from howdah.copy.locks.tree_lock import places_of, refuse_if_held
from howdah.copy.snapshots.changes import CREATED, MODIFIED, Change, Changes, Filters
from howdah.copy.snapshots.following import report
from howdah.copy.snapshots.resuming import differences
from howdah.mirror.lease import SUFFIX, held_by
from howdah.mirror.rounds import now_ms
from howdah.mirror.sides import Directory, Refused
from howdah.mirror.state import planner
from howdah.mirror.state.names import time_ms_of
from howdah.mirror.state.record import Record

MOST_LOOKED_AT: Final = 10_000
"""Entries of a report whose size is asked for."""


@dataclass(frozen=True, slots=True)
class Status:
    """A mirror as its two sides show it."""

    record: Record
    complete: str | None
    goal: str | None = None
    lag_s: float | None = None
    """0 if the source does not differ from `complete`."""
    waiting: Amount | None = None
    """What a round would copy; None if that is too much to look at, or the source is gone."""
    source_trouble: str = ""
    holder: str = ""
    """The mirror that runs."""
    source_snapshots: tuple[str, ...] = ()
    target_snapshots: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        record, waiting = self.record, self.waiting
        return {
            "source": record.source,
            "target": record.target,
            "role": record.role.value,
            "epoch": record.epoch,
            "complete": self.complete,
            "goal": self.goal,
            "lag_seconds": None if self.lag_s is None else round(self.lag_s, 3),
            "lag_files": None if waiting is None else waiting.files,
            "lag_bytes": None if waiting is None else waiting.bytes,
            "running": bool(self.holder),
            "source_trouble": self.source_trouble,
            "source_snapshots": list(self.source_snapshots),
            "target_snapshots": list(self.target_snapshots),
            "last": {
                "files": record.copied_files,
                "bytes": record.copied_bytes,
                "seconds": record.seconds,
                "ended_ms": record.complete_ms,
            },
        }


def status(
    target: str,
    source: str | None = None,
    *,
    conf: Configuration | None = None,
    user: str | None = None,
) -> Status:
    """Look at a mirror. Raises Refused if the target is none of a mirror.

    >>> status("hdfs://b:8020/data").lag_s  # doctest: +SKIP
    """
    configuration = Configuration.load() if conf is None else conf
    there = Directory.of(target, configuration, user)
    record = there.read_record()
    if record is None:
        raise Refused(f"{there.uri} is not the target of a mirror: it has no state file")
    side = there.inspect(record.key)
    newest = max(side.snapshots, default=None) if side.has_snapshots else record.complete
    found = Status(
        record,
        newest,
        record.goal,
        _age_s(newest),
        holder=_holder(there),
        target_snapshots=side.snapshots,
    )
    try:
        here = Directory.of(source or record.source, configuration, user)
        return _with_source(found, here, side)
    except (errors.HowdahError, OSError) as error:
        return replace(found, source_trouble=str(error))


def _with_source(found: Status, here: Directory, side: planner.Side) -> Status:
    known = planner.looked(found.record.key, here.inspect(found.record.key), side, now_ms())
    common = known.common
    if common is None:
        return replace(found, source_snapshots=known.source.snapshots)
    changes = differences(report(here.fs, here.path, common, ""))
    return replace(
        found,
        complete=common,
        goal=known.goal,
        lag_s=_age_s(common) if changes else 0.0,
        waiting=waiting_amount(here, changes),
        source_snapshots=known.source.snapshots,
    )


def waiting_amount(here: Directory, changes: list[Change]) -> Amount | None:
    """Return what a copy of changes since a snapshot would have to copy; None if there are very
    many."""
    asked = [change for change in changes if change.label in (CREATED, MODIFIED)]
    if len(asked) > MOST_LOOKED_AT:
        return None
    translated = Changes.of(changes, True, Filters())

    def amount(change: Change) -> Amount:
        path = translated.copied(change)
        if path is None:
            return Amount()
        whole = f"{prefix(here.path)}/{path}" if path else here.path
        try:
            if change.label == CREATED:
                summary = here.fs.content_summary(whole)
                return Amount(summary.file_count, summary.length)
            status = here.fs.get_file_status(whole)
            return Amount(1, status.length) if status.is_file else Amount()
        except errors.PathNotFound:
            return Amount()  # it has changed again

    return sum(for_each(amount, asked), Amount())


def _age_s(name: str | None) -> float | None:
    return None if name is None else max(now_ms() - time_ms_of(name), 0) / 1000


def _holder(there: Directory) -> str:
    try:
        for place in places_of(there.state_path):
            refuse_if_held(there.fs, place)
    except TreeLocked as error:
        return error.message
    return held_by(there.fs, there.state_path + SUFFIX)
