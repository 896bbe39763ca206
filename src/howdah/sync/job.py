"""`sync`: a whole mirror.

1. Look at sources and target, take the lock of the target (`howdah.copy.locks`), give each
   source its place. What an earlier run of the same mirror left, if it was killed, is removed.
2. With `-diff` or `-rdiff`: move at the target what was renamed or deleted between two snapshots
   (`howdah.copy.snapshots`), and list what the report names. Otherwise list sources and target side
   by side. The listing is in memory, so it has a limit; `distcp`
   has none.
3. Copy with several processes: each file under a temporary name in the staging directory of the
   target, verified by its checksum, then renamed. A run that was killed and is started again
   copies what the first did not. Little work is done by this process itself.
4. With `delete`: delete what only the target has, if all sources are still the ones listed.
5. Remove the staging directory; set the attributes of directories, the deepest first, since all
   steps before have changed them.

A program that has many mirrors made (`howdah.mirror`) says by `Wishes` what it wants besides.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.copy.commit_tasks import AttributesTask, DeleteTask
from howdah.copy.common.arrow_rows import decode
from howdah.copy.common.attempt_files import remove_unfinished
from howdah.copy.common.failures import CopyFailed
from howdah.copy.common.filesystems import Place, for_each, located, prefix
from howdah.copy.common.job_tokens import with_job_tokens
from howdah.copy.common.progress import ProgressLine, line, listing_progress
from howdah.copy.common.staging import Staging, key_of
from howdah.copy.common.task_progress import Amount
from howdah.copy.context import CopyContext
from howdah.copy.copier import COMPOSITE
from howdah.copy.counters import Counters
from howdah.copy.dry_run import DryRunTask, tell_action
from howdah.copy.layout import Placed, lay_out
from howdah.copy.listing.entries import Entry, Found, Kind, is_other_kind
from howdah.copy.listing.walking import Walk
from howdah.copy.locks.tree_lock import NO_LOCK, TreeLock, locked
from howdah.copy.options import Attribute, Options
from howdah.copy.outcome import DuplicateFile
from howdah.copy.roots import is_unpaired, missing_rows, own_roots, roots_of
from howdah.copy.server_side import notes_of
from howdah.copy.snapshots.changes import Changes
from howdah.copy.snapshots.following import ReportInMemory, SnapshotSync
from howdah.copy.tasks import CopyTask
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.fs.trash import Trash
from howdah.sync.options import as_mirror
from howdah.sync.outcome import Synced
from howdah.sync.pool import MOST_BYTES, Piece, copy_all, pieces

MOST_ENTRIES: Final = 2_000_000
"""Of a listing: about a gigabyte."""
_FEWEST, _MOST = 2, 8

_log = logging.getLogger(__name__)


class TooMuch(errors.HowdahError, ValueError):
    """There is more to copy than this machine is to copy. Nothing was copied; entries of the target
    that are of another kind than the source's may be gone, if they were to be replaced."""

    found = Amount()
    """How much there is."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a program that has many mirrors made wants of one."""

    most: Amount | None = None
    """More than this raises `TooMuch` before anything is copied."""
    listed: Callable[[Amount], None] = lambda _: None
    """Called with the amount that is to be copied."""
    done: Callable[[Counters], None] = lambda _: None
    """Called for each piece of work that is done, by any thread."""
    replaces_kinds: bool = False
    """Whether a file may replace a directory, and the other way round."""
    rows: Callable[[FileSystem, str], Iterable[Entry]] | None = None
    """The rows to begin the listing with, by the source and its path: nothing else is looked at."""
    check: Callable[[], None] = lambda: None
    """Called again and again while files are copied; what it raises ends the mirror at once."""
    begins_processes: bool = True
    """Whether more than little work is done by processes; otherwise by this one."""


_NOTHING_SPECIAL: Final = Wishes()


@with_job_tokens
def sync(
    sources: str | Sequence[str],
    target: str,
    *,
    options: Options | None = None,
    processes: int | None = None,
    conf: Configuration | None = None,
    user: str | None = None,
    tell: Callable[[str], None] = print,
    warn: Callable[[str], None] = _log.warning,
    shows_progress: bool = False,
    wishes: Wishes = _NOTHING_SPECIAL,
) -> Synced:
    """Make the target a mirror of the sources, with several processes of this machine.

    `sources` and `target` are URIs of any filesystem that howdah has, or paths on `fs.defaultFS`;
    sources may be patterns. `options` are those of `distcp`, and `update` unless `overwrite` is
    asked for; `bandwidth_mb` is for all processes together. `tell` gets a line for each action of
    a dry run, `warn` one if another job holds the target. Raises `TreeLocked` if that does not
    end, `CopyFailed` with source, target and reason, `InvalidInput`, `DuplicateFile`.

    >>> sync("hdfs://a:8020/data", "file:///backup/data")  # doctest: +SKIP
    """
    chosen = as_mirror(options)
    configuration = Configuration.load() if conf is None else conf
    wanted = [sources] if isinstance(sources, str) else list(sources)
    count = processes or min(max(os.cpu_count() or _FEWEST, _FEWEST), _MOST)
    context = CopyContext.read(wanted, target, chosen, configuration, user)
    chosen = context.as_is(chosen)
    if Attribute.RAW in chosen.preserve:
        # A zone is one by an attribute of its root.
        chosen = replace(chosen, update_root=True)
    with contextlib.ExitStack() as stack:
        lock = NO_LOCK
        if not chosen.dry_run:
            lock = _locked(stack, context, warn)
            context = context.again()
        shown = stack.enter_context(ProgressLine(shows_progress))
        log = None
        if chosen.log_path is not None:
            log = Place.of(located(chosen.log_path), configuration, user)
        mirror = _Mirror(context, chosen, configuration, count, lock, shown, log, wishes)
        return mirror.run(tell)


def _locked(
    stack: contextlib.ExitStack, context: CopyContext, warn: Callable[[str], None]
) -> TreeLock:
    try:
        held = locked(context.target_fs, context.target_path, "sync", tell=warn)
        return stack.enter_context(held)
    except errors.AccessDenied as error:
        raise CopyFailed(f"Cannot write to {context.target_uri}: {error}") from error


class _Mirror:
    def __init__(
        self,
        context: CopyContext,
        options: Options,
        conf: Configuration,
        processes: int,
        lock: TreeLock,
        shown: ProgressLine,
        log: Place | None,
        wishes: Wishes,
    ) -> None:
        self._report = ReportInMemory()
        self._follows: SnapshotSync | None = None
        if options.by_snapshots:
            self._follows = SnapshotSync.check(self._report, context, options)
            context = self._follows.context
        self._wishes = wishes
        self._context = context
        self._options = options
        self._processes = processes
        self._lock = lock
        self._shown = shown
        self._fs = context.target_fs
        self._path = context.target_path
        self._began_s = time.monotonic()
        sources = [source for source, _ in context.sources]
        self._placed: list[Placed] = lay_out(
            sources, context.target_state, context.target_uri, options
        )
        context.check_attributes(options.preserve)
        alone = len(self._placed) == 1 and not self._placed[0].source.is_directory
        is_file = alone and not self._placed[0].relative
        key_parts = [source.uri for source in sources]
        if self._follows is not None:
            key_parts += self._follows.key  # as distcp has it: either goes on where the other was
        key = key_of(key_parts, context.target_uri)
        self._staging = Staging.of(self._path, is_file, key, uuid.uuid4().hex[:12])
        mode = COMPOSITE
        if conf.is_set(keys.DFS_CHECKSUM_COMBINE_MODE):
            mode = str(conf.get(keys.DFS_CHECKSUM_COMBINE_MODE))
        self._task = CopyTask(
            sources=context.places,
            target=context.target,
            target_path=prefix(self._path),
            options=options,
            staging=self._staging,
            replaces_file=context.target_state is Found.FILE,
            log=log,
            combine_mode=mode,
        )

    def run(self, tell: Callable[[str], None]) -> Synced:
        is_real = not self._options.dry_run
        if is_real and self._follows is None:
            # What a run left that was killed.
            self._fs.delete(self._staging.directory, recursive=True)
        is_done = False
        try:
            roots, rows, counters = self._listed(tell)
            files = [row for row in rows if row.kind == Kind.FILE]
            missing = self._missing(rows)
            if is_real:
                if self._wishes.replaces_kinds:
                    rows = self._without_other_kinds(rows)
                    files = [row for row in rows if row.kind == Kind.FILE]
                self._check_amount(files)
                counters += self._do(rows, missing, roots, files)
            else:
                counters += self._rehearse(rows, missing, tell)
            is_done = True
        except errors.HowdahError as error:
            if self._follows is not None:
                self._follows.advise(error)
            raise
        finally:
            # With the staging directory in place, -diff can resume.
            if is_real and (is_done or self._follows is None):
                self._remove_staging()
            if self._task.log is not None and self._options.log_path is not None:
                # Of processes that were stopped because another one failed.
                remove_unfinished(
                    self._task.log.connect(),
                    paths.parse(self._options.log_path).path,
                    self._staging.run,
                )
        is_empty = not any(row.kind in (Kind.FILE, Kind.DIRECTORY) for row in rows)
        if is_real and is_empty and self._context.target_state is Found.ABSENT:
            # The target was made for the staging directory; an empty mirror has none.
            self._remove_empty(self._path)
        return Synced(
            counters,
            len(files),
            sum(row.length for row in files),
            time.monotonic() - self._began_s,
            self._processes,
            self._notes(counters),
        )

    # -- 2. the listing ---------------------------------------------------------------

    def _listed(self, tell: Callable[[str], None]) -> tuple[Sequence[Entry], list[Entry], Counters]:
        """The sources' own rows, all rows, and what was done for that."""
        if self._wishes.rows is not None:
            source = self._context.sources[0][0]
            begun = self._wishes.rows(self._context.places[0].connect(), prefix(source.path))
            return [], self._list(begun, self._walk()), Counters()
        if self._follows is None:
            roots = roots_of(self._context, self._options, self._placed, self._path)
            return roots, self._list(roots, self._walk()), Counters()
        changes, moved = self._follows.begin(self._staging, tell)
        return self._follows.own_roots(), self._changed(self._follows, changes), moved

    def _changed(self, follows: SnapshotSync, changes: Changes) -> list[Entry]:
        first = self._report.rows(changes, follows.source, self._options.update_root)
        return self._list(first, follows.walk(changes, self._walk()))

    def _walk(self) -> Walk:
        return Walk(
            sources=self._context.places,
            target=self._context.target,
            target_path=prefix(self._path),
            wants_missing=self._options.delete,
            filters=self._context.filters,
            ignore_failures=self._options.ignore_failures,
            threads=self._options.list_threads,
            own_lock=None if self._options.dry_run else self._lock.path or "",
            most_entries=sys.maxsize,
            is_alone=self._follows is None,
            refuses_encrypted=self._options.refuses_encrypted,
        )

    def _check_amount(self, files: Sequence[Entry]) -> None:
        found = Amount(len(files), sum(row.length for row in files))
        most = self._wishes.most
        if most is not None and (found.files > most.files or found.bytes > most.bytes):
            error = TooMuch(
                f"{found.files:,} files of {found.bytes:,} bytes are to be copied, more than "
                f"{most.files:,} files or {most.bytes:,} bytes"
            )
            error.found = found
            raise error
        self._wishes.listed(found)

    def _list(self, begun: Iterable[Entry], walk: Walk) -> list[Entry]:
        say = listing_progress(self._shown)
        rows: list[Entry] = []
        places: dict[bytes, Entry] = {}
        for row in walk.walked(begun):
            rows.append(row)
            if len(rows) > MOST_ENTRIES:
                kind = errors.UnsupportedOperation if self._wishes.most is None else TooMuch
                raise kind(f"more than {MOST_ENTRIES:,} entries: howdah distcp copies so many")
            if say is not None and len(rows) % 1000 == 0:
                say(len(rows))
            if row.kind in (Kind.FILE, Kind.DIRECTORY):
                other = places.setdefault(row.relative, row)
                if other is not row:
                    first, second = sorted((other.path, row.path))
                    raise DuplicateFile(
                        f"File {first} and {second} would cause duplicates. Aborting"
                    )
        return rows

    def _missing(self, rows: Sequence[Entry]) -> list[Entry]:
        """What only the target has, each once."""
        if len(self._placed) > 1 or is_unpaired(self._context, self._options, self._placed):
            return missing_rows(rows)
        return list({row.relative: row for row in rows if row.kind == Kind.MISSING}.values())

    def _rehearse(
        self, rows: Iterable[Entry], missing: Iterable[Entry], tell: Callable[[str], None]
    ) -> Counters:
        counters = Counters()
        dry = DryRunTask(self._task)
        for row in (*(row for row in rows if row.kind != Kind.MISSING), *missing):
            tell_action(counters, dry.action(row), tell)
        return counters

    # -- 3. to 5. ---------------------------------------------------------------------

    def _do(
        self,
        rows: Sequence[Entry],
        missing: Sequence[Entry],
        roots: Sequence[Entry],
        files: Sequence[Entry],
    ) -> Counters:
        work = list(pieces(row for row in rows if row.kind != Kind.MISSING))
        if work:
            self._fs.mkdirs(self._staging.own)
        counters = self._copy(work, files)
        self._shown.set_text("finishing")
        counters += self._delete(missing)
        self._remove_staging()
        if self._options.preserve:
            attributes = AttributesTask(self._task, prefix(self._path))
            below = [row for row in rows if row.kind == Kind.DIRECTORY and row.relative]
            for row in sorted(below, key=lambda row: -row.relative.count(b"/")):
                if row.target != Found.FILE:
                    attributes.give(self._source_of(row), self._fs, row)
            if self._lock.is_inside:
                self._lock.release()
            for root in own_roots(roots):
                attributes.give(self._source_of(root), self._fs, root)
        return counters

    def _copy(self, work: Sequence[Piece], files: Sequence[Entry]) -> Counters:
        # A process takes longer to start than one piece takes to be copied, unless that is one
        # large file: only a process can be ended in the middle of it.
        is_little = len(work) <= 1 and sum(row.length for row in files) <= MOST_BYTES
        is_little = is_little or not self._wishes.begins_processes
        processes = 0 if is_little else min(self._processes, len(work))
        task, rate_mb = self._task, self._options.bandwidth_mb
        if rate_mb is not None and processes:
            options = replace(self._options, bandwidth_mb=rate_mb / processes)
            task = replace(task, options=options)
        return copy_all(task, work, processes, self._progress(files), self._check)

    def _check(self) -> None:
        """Raise if another job may have the target."""
        self._lock.check()
        self._wishes.check()

    def _without_other_kinds(self, rows: Sequence[Entry]) -> list[Entry]:
        """Delete files where the source has directories, and directories where it has files."""
        kept = []
        for row in rows:
            if is_other_kind(row):
                self._fs.delete(prefix(self._path) + decode(row.relative), recursive=True)
                row = replace(row, target=Found.ABSENT)
            kept.append(row)
        return kept

    def _progress(self, files: Sequence[Entry]) -> Callable[[Counters], None]:
        total = Amount(len(files), sum(row.length for row in files))
        done = Amount()
        mutex = threading.Lock()

        def count(counters: Counters) -> None:
            nonlocal done
            with mutex:
                done += Amount(
                    counters.files_copied + counters.files_skipped + counters.files_failed,
                    counters.bytes_copied + counters.bytes_skipped,
                )
            self._wishes.done(counters)

        self._shown.set_text(lambda seconds: line(done, total, seconds))
        return count

    def _delete(self, missing: Sequence[Entry]) -> Counters:
        if not missing:
            return Counters()
        self._lock.check()
        self._context.check_roots()
        task = DeleteTask(
            self._context.target,
            prefix(self._path),
            to_trash=self._context.has_trash and not self._options.skip_trash,
            ignore_failures=self._options.ignore_failures,
        )
        trash = Trash(self._fs, now=time.time)

        def delete(row: Entry) -> Counters:
            counted = Counters()
            task.remove(self._fs, trash, row, counted)
            return counted

        return sum(for_each(delete, missing), Counters())

    def _source_of(self, row: Entry) -> FileSystem:
        return self._context.places[row.filesystem].connect()

    def _remove_staging(self) -> None:
        self._fs.delete(self._staging.own, recursive=True)
        if self._follows is not None:
            self._fs.delete(self._staging.directory, recursive=True)
            return
        self._remove_empty(self._staging.directory)

    def _remove_empty(self, path: str) -> None:
        with contextlib.suppress(errors.DirectoryNotEmpty):
            self._fs.delete(path)

    def _notes(self, counters: Counters) -> tuple[str, ...]:
        notes = [self._lock.note] if self._lock.note else []
        notes += notes_of(self._fs, [place.connect() for place in self._context.places], counters)
        return tuple(notes)
