"""Copies for a mirror: by this machine below a bound, by Spark above it (shell).

Both do the same with the same options, and either goes on where the other was stopped.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from howdah.config import Configuration
from howdah.copy.common.arrow_rows import decode, encode
from howdah.copy.common.failures import CopyFailed
from howdah.copy.common.filesystems import for_each, prefix, status_of
from howdah.copy.common.staging import PREFIX, is_staging, key_of
from howdah.copy.common.task_progress import Amount
from howdah.copy.context import CopyContext
from howdah.copy.counters import Counters
from howdah.copy.listing.entries import Entry, Found, Kind
from howdah.copy.listing.walking import Walk
from howdah.copy.options import DEFAULT_MAPS, Attribute, Options
from howdah.copy.snapshots.changes import CREATED, DELETED, MODIFIED, RENAMED, Change
from howdah.copy.snapshots.following import ReportInMemory, SnapshotSync, TargetModified, report
from howdah.copy.snapshots.resuming import differences, is_in_a_job
from howdah.fs.api import FileSystem
from howdah.mirror.settings import Settings
from howdah.mirror.sides import Directory, attributes_of, is_encrypted
from howdah.mirror.state.names import UNCHECKED
from howdah.mirror.state.touched import Touched, touched
from howdah.sync.job import TooMuch, Wishes, sync

_log = logging.getLogger(__name__)
_UNBOUNDED: Final = 1 << 62
_AT_ONCE: Final = 512
_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class Watcher:
    """Is told how a copy goes, by any thread."""

    listed: Callable[[Amount], None] = lambda _: None
    done: Callable[[Counters], None] = lambda _: None
    tell: Callable[[str], None] = _log.info
    shows_progress: bool = False


class Copying:
    """Copies between the sides of one mirror."""

    def __init__(
        self,
        source: Directory,
        target: Directory,
        settings: Settings,
        conf: Configuration,
        user: str | None,
        watcher: Watcher,
    ) -> None:
        self._source = source
        self._target = target
        self._settings = settings
        self._conf = conf
        self._user = user
        self._watcher = watcher
        self._preserve = settings.preserve
        if self._preserve is None:
            self._preserve = attributes_of(source.fs, target.fs)
        self._keeps_root = target.has_snapshots
        self.check_lock: Callable[[], None] = lambda: None
        """Called while files are copied: raises if another mirror may have the target."""

    def all(self, goal: str, to_trash: bool) -> Counters:
        """Make the target what a snapshot of the source is, whatever it has."""
        self.remove_staging()
        options = self._options(
            delete=True, skip_trash=not to_trash, update_root=self._keeps_root, compares_times=False
        )
        return self._run(self._snapshot(goal), options, replaces_kinds=True)

    def changes(self, base: str, goal: str, resumes: bool) -> Counters:
        """Make a target that is the snapshot `base` the snapshot `goal`. Raises TargetModified."""
        self.remove_staging(self._snapshot(goal), "diff", base, goal)
        options = self._options(diff=(base, goal), resume=resumes, update_root=True)
        return self._run(self._source.uri, options)

    def touched(self, base: str, goal: str) -> Counters:
        """The same for a target without snapshots: whatever differs between the two becomes what
        it is in `goal`."""
        self.remove_staging()
        changed = touched(report(self._source.fs, self._source.path, base, goal))
        found = iter([one for one in changed if not is_in_a_job(one.path)])
        target_fs, target_top = self._target.fs, prefix(self._target.path)

        def rows(fs: FileSystem, top: str) -> Iterator[Entry]:
            def row(one: Touched) -> Entry | None:
                relative = encode(f"/{one.path}")
                if status_of(fs, f"{top}/{one.path}") is not None:
                    kind = Kind.CREATED if one.is_whole else Kind.MODIFIED
                    return Entry(kind, 0, encode(top) + relative, relative)
                if status_of(target_fs, f"{target_top}/{one.path}") is None:
                    return None
                return Entry(Kind.MISSING, 0, b"", relative, target=Found.FILE)

            while some := list(islice(found, _AT_ONCE)):
                yield from filter(None, for_each(row, some))

        options = self._options(delete=True, skip_trash=True, compares_times=False)
        return self._run(self._snapshot(goal), options, replaces_kinds=True, rows=rows)

    def revert(self, common: str) -> Counters:
        """Make the target what it was in its own snapshot."""
        there = self._target.fs.uri + self._target.snapshot_path(common)
        self.remove_staging(there, "rdiff", "", common)
        options = self._options(reverse_diff=(".", common), update_root=True)
        return self._run(self._target.uri, options, reverts=True)

    def remove_staging(self, *kept: str) -> None:
        """Remove what killed runs of other copies have left at the target, but for the staging
        directory of a copy with these parts of its key."""
        own = PREFIX + key_of(kept, self._target.uri) if kept else ""
        fs = self._target.fs
        for status in list(fs.list_status_iter(self._target.path)):
            if is_staging(status.name) and status.name != own:
                fs.delete(status.path, recursive=True)

    def check(self, base: str | None, goal: str) -> None:
        """Compare the unchecked snapshot of the target with the source's: what has changed by the
        reports of both, and what was copied by listings. Raises TargetModified if somebody else
        has changed the target, CopyFailed if the same round mends it."""
        here, there = self._source, self._target
        walk = self._pairing(here, there.snapshot_path(goal + UNCHECKED))
        if base is None:
            top = encode(prefix(here.snapshot_path(goal)))
            rows: Iterable[Entry] = [Entry(Kind.ROOT, 0, top, b"", target=Found.DIRECTORY)]
            found = self._unequal(walk.walked(rows), here.fs)
            if found:
                raise CopyFailed(
                    f"{there.uri} was changed while it was copied to ({_some(found)}); the next "
                    "round puts that right"
                )
            return
        options = self._options(diff=(base, goal), resume=True, update_root=True)
        context = CopyContext.read([here.uri], there.uri, options, self._conf, self._user)
        known = ReportInMemory()
        follows = SnapshotSync.check(known, context, options)
        changes = follows.check_snapshot(goal + UNCHECKED)
        rows = known.rows(changes, follows.source, False)
        found = self._unequal(follows.walk(changes, walk).walked(rows), here.fs)
        if any(one.label in (CREATED, DELETED) for one in found):
            raise TargetModified(f"{there.uri} was changed while it was copied to: {_some(found)}")
        if found:
            raise CopyFailed(
                f"files at {there.uri} are not those that were copied ({_some(found)}); the next "
                "round copies them again"
            )

    def check_revert(self, common: str) -> None:
        """Compare the unchecked snapshot of a target that was reverted with the one to which it
        was. Raises CopyFailed if somebody has changed the target meanwhile."""
        there = self._target
        given = report(there.fs, there.path, common, common + UNCHECKED)
        changes = differences(given)
        gone = {change.path for change in changes if change.label == DELETED}
        new = {change.path for change in changes if change.label == CREATED}
        # What was restored is another inode, which a report names twice.
        found = [
            change
            for change in changes
            if change.label == RENAMED or (change.label != MODIFIED and change.path in gone ^ new)
        ]
        if not found:
            top = encode(prefix(there.snapshot_path(common)))
            rows = [
                Entry(
                    Kind.MODIFIED if change.label == MODIFIED else Kind.CREATED,
                    0,
                    top + encode(f"/{change.path}"),
                    encode(f"/{change.path}"),
                )
                for change in changes
                if change.label != DELETED and change.path
            ]
            walk = self._pairing(there, there.snapshot_path(common + UNCHECKED))
            found = self._unequal(walk.walked(rows))
        if found:
            raise CopyFailed(
                f"{there.uri} was changed while it was reverted ({_some(found)}): let nobody "
                "write to it"
            )

    def _pairing(self, source: Directory, path: str) -> Walk:
        """What pairs entries of a side with those of a snapshot of the target."""
        return Walk(
            sources=(source.place,),
            target=self._target.place,
            target_path=prefix(path),
            wants_missing=True,
            most_entries=sys.maxsize,
        )

    def _unequal(self, rows: Iterable[Entry], growing: FileSystem | None = None) -> list[Change]:
        """The first of the entries that are not what they were copied from. `growing`: where files
        that are open may have become longer since, also in a snapshot."""
        unequal = (
            Change(label, decode(row.relative).removeprefix("/"))
            for row in rows
            if (label := self._label(row, growing)) is not None
        )
        return list(islice(unequal, _NAMED + 1))

    def _label(self, row: Entry, growing: FileSystem | None) -> str | None:
        if row.kind == Kind.MISSING:
            return CREATED
        if row.kind not in (Kind.FILE, Kind.DIRECTORY):
            return None
        if row.target != (Found.FILE if row.kind == Kind.FILE else Found.DIRECTORY):
            return DELETED
        if row.kind == Kind.DIRECTORY:
            return None
        keeps_times = Attribute.TIMES in (self._preserve or ())
        is_equal = row.length == row.target_length and (
            not keeps_times or row.modification_time_ms == row.target_modification_time_ms
        )
        if is_equal:
            return None
        # Hadoop's namenodes let a file that is open grow in a snapshot.
        has_grown = (
            growing is not None
            and row.length > row.target_length
            and not growing.is_file_closed(row.path)
        )
        return None if has_grown else MODIFIED

    def rehearse(self, base: str | None, goal: str, tell: Callable[[str], None]) -> Counters:
        """Report what a copy would do; `goal` may be empty for the source as it is now."""
        source = self._snapshot(goal) if goal else self._source.uri
        if base is not None and self._target.has_snapshots:
            options = self._options(diff=(base, goal or "."), dry_run=True, update_root=True)
            source = self._source.uri
        else:
            options = self._options(delete=True, dry_run=True)
        return sync(
            source, self._target.uri, options=options, conf=self._conf, user=self._user, tell=tell
        ).counters

    # -- by whom ---------------------------------------------------------------------

    def _run(
        self,
        source: str,
        options: Options,
        *,
        replaces_kinds: bool = False,
        rows: Callable[[FileSystem, str], Iterator[Entry]] | None = None,
        reverts: bool = False,
    ) -> Counters:
        settings = self._settings
        # Only superusers may list zones, and no router lists them.
        refuses_encrypted = not (settings.decrypts or reverts or is_encrypted(self._target))
        options = replace(options, refuses_encrypted=refuses_encrypted)
        wishes = Wishes(
            most=self._most(),
            listed=self._watcher.listed,
            done=self._watcher.done,
            replaces_kinds=replaces_kinds,
            rows=rows,
            check=self.check_lock,
            begins_processes=settings.begins_processes,
        )
        try:
            return sync(
                source,
                self._target.uri,
                options=options,
                processes=settings.processes,
                conf=self._conf,
                user=self._user,
                warn=self._watcher.tell,
                shows_progress=self._watcher.shows_progress,
                wishes=wishes,
            ).counters
        except TooMuch as error:
            self._watcher.listed(error.found)
            self._watcher.tell(f"{error}: Spark copies")
            return self._by_spark(source, options, replaces_kinds)

    def _most(self) -> Amount | None:
        settings = self._settings
        if not settings.has_spark or (settings.most_files, settings.most_bytes) == (None, None):
            return None
        files, bytes_ = settings.most_files, settings.most_bytes
        return Amount(
            _UNBOUNDED if files is None else files, _UNBOUNDED if bytes_ is None else bytes_
        )

    def _by_spark(self, source: str, options: Options, replaces_kinds: bool) -> Counters:
        from howdah.spark.copy_job.job import distcp
        from howdah.spark.sessions import prepare, session, ship_where_needed

        rate_mb = options.bandwidth_mb
        if rate_mb is not None:
            options = replace(options, bandwidth_mb=rate_mb / DEFAULT_MAPS)  # of each task
        settings = self._settings
        prepare(settings.remote)
        with session(settings.master, settings.remote) as spark:
            ship_where_needed(spark, settings.master, settings.remote)
            return distcp(
                spark,
                source,
                self._target.uri,
                options=options,
                conf=self._conf,
                user=self._user,
                warn=self._watcher.tell,
                shows_progress=self._watcher.shows_progress,
                check=self.check_lock,
                replaces_kinds=replaces_kinds,
            ).counters

    def _snapshot(self, name: str) -> str:
        return self._source.fs.uri + self._source.snapshot_path(name)

    def _options(
        self,
        *,
        delete: bool = False,
        skip_trash: bool = False,
        update_root: bool = False,
        compares_times: bool = True,
        diff: tuple[str, str] | None = None,
        reverse_diff: tuple[str, str] | None = None,
        resume: bool = False,
        dry_run: bool = False,
    ) -> Options:
        assert self._preserve is not None, "set by the constructor"
        return Options(
            preserve=self._preserve,
            update=True,
            delete=delete,
            skip_trash=skip_trash,
            update_root=update_root,
            compares_times=compares_times,
            diff=diff,
            reverse_diff=reverse_diff,
            resume=resume,
            dry_run=dry_run,
            bandwidth_mb=self._settings.bandwidth_mb,
        )


def _some(found: list[Change]) -> str:
    return ", ".join(map(str, found[:_NAMED])) + (" …" if len(found) > _NAMED else "")
