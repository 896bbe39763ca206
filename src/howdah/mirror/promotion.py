"""`promote`: a target becomes a source (shell).

1. The lock of the target is taken: no mirror writes to it any more.
2. A target that is between two points in time, or that somebody has changed, is reverted to its
   newest snapshot. Where it has no snapshots it must be complete.
3. Its state file says that it is a source, with an epoch above that of the old one. From then on
   the old direction is refused, also by mirrors that run elsewhere.

The source is not asked: it may be gone. When it is back it is mirrored to, from the common snapshot
on (`howdah mirror --revert`): what it had that never arrived stays in a snapshot.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from howdah.config import Configuration
from howdah.copy.common.job_tokens import with_job_tokens
from howdah.copy.snapshots.following import report
from howdah.copy.snapshots.resuming import differences
from howdah.mirror.copying import Copying, Watcher
from howdah.mirror.rounds import alone, now_ms, revert
from howdah.mirror.settings import Settings
from howdah.mirror.sides import Directory, Refused
from howdah.mirror.state.names import REVERTED, UNCHECKED
from howdah.mirror.state.record import Record, Role


@dataclass(frozen=True, slots=True)
class Promoted:
    """The new source. `complete` is the point in time that it begins with."""

    uri: str
    old_source: str
    complete: str
    epoch: int
    was_reverted: bool = False
    was_source: bool = False
    """Whether it had been promoted before."""


@with_job_tokens
def promote(
    target: str,
    settings: Settings | None = None,
    *,
    conf: Configuration | None = None,
    user: str | None = None,
    force: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> Promoted:
    """Make the target of a mirror a source. With `force` also one that has no snapshots and is
    between two points in time. Raises Refused, and TreeLocked while its mirror runs.

    >>> promote("hdfs://b:8020/data")  # doctest: +SKIP
    """
    configuration = Configuration.load() if conf is None else conf
    side = Directory.of(target, configuration, user)
    with alone(side, tell) as lock:
        record = side.read_record()
        if record is None:
            raise Refused(f"{side.uri} is not the target of a mirror: it has no state file")
        if record.role is Role.SOURCE:
            complete = record.complete or ""
            return Promoted(side.uri, record.source, complete, record.epoch, was_source=True)
        if side.has_snapshots:
            copying = Copying(
                side, side, settings or Settings(), configuration, user, Watcher(tell=tell)
            )
            copying.check_lock = lock.check
            complete, was_reverted = _at_newest(side, record, copying)
        else:
            complete, was_reverted = _complete(side, record, force), False
        lock.check()
        promoted = replace(
            record,
            role=Role.SOURCE,
            epoch=record.epoch + 1,
            complete=complete,
            goal=None,
            base=None,
        )
        side.write_record(promoted)
        return Promoted(side.uri, record.source, complete, promoted.epoch, was_reverted)


def _at_newest(side: Directory, record: Record, copying: Copying) -> tuple[str, bool]:
    """Make a directory what it is in its newest snapshot. Returns its name, and whether anything
    had to be undone."""
    fs, path = side.hdfs, side.path
    found = side.inspect(record.key)
    for name in found.unchecked:
        fs.delete_snapshot(path, name + UNCHECKED)
    for name in found.reverted:
        _put_in_place(side, name, is_there=name in found.snapshots)
    newest = max((*found.snapshots, *found.reverted), default=None)
    if newest is None:
        raise Refused(f"the first copy of {record.source} to {side.uri} is not complete")
    if not differences(report(fs, path, newest, "")):
        copying.remove_staging()
        return newest, False
    # Nobody can tell what an unfinished round has done from what others have: all of it is kept.
    revert(side, copying, record.key, newest, now_ms())
    _put_in_place(side, newest, is_there=True)
    return newest, True


def _put_in_place(side: Directory, name: str, *, is_there: bool) -> None:
    """Replace a snapshot by the one that was taken when the directory was reverted to it."""
    if is_there:
        side.hdfs.delete_snapshot(side.path, name)
    side.hdfs.rename_snapshot(side.path, name + REVERTED, name)


def _complete(side: Directory, record: Record, force: bool) -> str:
    if record.complete is not None and (record.goal is None or force):
        return record.complete
    if record.goal is not None and record.complete is not None:
        raise Refused(
            f"{side.uri} is between {record.complete} and {record.goal}, and has no snapshots to "
            "return to. With --force it is promoted as it is: each file is one or the other"
        )
    raise Refused(f"the first copy of {record.source} to {side.uri} is not complete")
