"""`distcp`: a whole copy, from the driver's side (DistCp and CopyCommitter in Hadoop).

1. Look at sources and target, take the lock of the target (`locks.tree_lock`), and give each
   source its place (`copy.layout`).
2. Remove what an earlier run of the same copy left, if that run was killed. With `-diff` or
   `-rdiff` instead: move at the target what was renamed or deleted between two snapshots
   (`howdah.copy.snapshots`).
3. List sources and target in parallel (`listing.rounds`).
4. Refuse two sources with one place.
5. Copy: tasks with about as many bytes each (`copy_job.partitions`, `copy.tasks`), at nodes
   with replicas where that matters (`copy_job.placement`); join files copied in parts.
6. With `-delete`: delete what only the target has (`copy.commit_tasks`), if all sources are
   still the ones that were listed.
7. Remove the staging directory, give an atomic copy its name (`copy_job.atomic`), and set the
   attributes of directories, which all steps before have changed.

The driver asks filesystems for a few statuses and makes a few renames. It reads no byte of a
file, and no row of a listing but those of the largest files.
"""

from __future__ import annotations

import contextlib
import logging
import time
import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from howdah import errors
from howdah.config import Configuration, keys
from howdah.copy.commit_tasks import OWNER_ENTERS, AttributesTask, DeleteTask, JoinTask, TrackTask
from howdah.copy.common.attempt_files import remove_unfinished
from howdah.copy.common.failures import CopyFailed, from_spark
from howdah.copy.common.filesystems import (
    Place,
    behind_view,
    is_object_store,
    located,
    prefix,
)
from howdah.copy.common.job_tokens import with_job_tokens
from howdah.copy.common.progress import Progress
from howdah.copy.common.staging import Staging, key_of
from howdah.copy.common.task_errors import most_attempts
from howdah.copy.common.task_progress import Amount
from howdah.copy.context import CopyContext
from howdah.copy.copier import COMPOSITE
from howdah.copy.counters import Counters
from howdah.copy.dry_run import SCHEMA as DRY_RUN_SCHEMA
from howdah.copy.dry_run import DryRunTask, report_all
from howdah.copy.layout import lay_out
from howdah.copy.listing.entries import Found, Kind
from howdah.copy.locks.tree_lock import NO_LOCK, TreeLock, locked
from howdah.copy.options import Options
from howdah.copy.outcome import ListingChanged, Outcome
from howdah.copy.results import SCHEMA, FailureMark, summed, sums_of
from howdah.copy.server_side import notes_of
from howdah.copy.snapshots.following import SnapshotSync
from howdah.copy.tasks import CopyTask
from howdah.fs import capabilities, paths
from howdah.spark.copy_job.copy_listing import CopyListing, refuse_duplicates
from howdah.spark.copy_job.partitions import in_chunks, part_count
from howdah.spark.copy_job.placement import placed_partitions
from howdah.spark.copy_job.watching import Watch
from howdah.spark.listing.spark_rounds import Listing
from howdah.spark.sessions import as_spark_is
from howdah.spark.snapshots.report import SparkReport

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
from typing import TYPE_CHECKING

from howdah.copy.common.staging import WORK_PREFIX

if TYPE_CHECKING:
    from howdah.copy.counters import Counters
    from howdah.fs.api import FileSystem


# `-atomic`: a copy is written to a directory of its own and renamed when it is complete.
#
# 1. The directory is `._WIP_NAME.KEY.RUN`, beside the target or in the directory of `-tmp`. KEY is
#    the key of the copy, RUN that of the run: no other run writes to it.
# 2. Directories that killed runs of the same copy left are removed by the next run, which holds
#    the lock of the target.
# 3. Before the rename the directory must have as many files and bytes as were copied.


class AtomicCopy:
    """Manages the directory of one run, for the whole target."""

    def __init__(
        self, fs: FileSystem, target_path: str, directory: str | None, key: str, run: str
    ) -> None:
        self._fs = fs
        self._target = target_path
        self._parent = directory or paths.parent_of(target_path) or paths.SEPARATOR
        self._stem = f"{WORK_PREFIX}{paths.name_of(target_path)}.{key}"
        self.path = paths.join(self._parent, f"{self._stem}.{run}")

    def remove_debris(self) -> None:
        """Remove the directories of earlier runs of this copy."""
        try:
            siblings = [status.path for status in self._fs.list_status_iter(self._parent)]
        except errors.PathNotFound:
            return
        for path in siblings:
            name = paths.name_of(path)
            if name == self._stem or name.startswith(f"{self._stem}."):
                self._fs.delete(path, recursive=True)

    def commit(self, counters: Counters) -> None:
        """Rename the directory to the target. Raises `CopyFailed` if it does not have what was
        counted."""
        fs = self._fs
        if not counters.files_copied and not fs.exists(self.path):
            fs.mkdirs(self.path)  # an empty copy
        self._check(counters)
        fs.mkdirs(paths.parent_of(self._target) or paths.SEPARATOR)
        try:
            fs.rename(self.path, self._target)
        except errors.PathExists as error:
            fs.delete(self.path, recursive=True)
            raise errors.PathExists(
                f"Target-path can't be committed to because it exists at {fs.uri}{self._target}"
            ) from error

    def _check(self, counters: Counters) -> None:
        uri = self._fs.uri + self.path
        try:
            summary = self._fs.content_summary(self.path)
        except errors.PathNotFound as error:
            raise CopyFailed(f"{uri} is gone: somebody has removed it") from error
        files = counters.files_copied + counters.files_skipped
        bytes_ = counters.bytes_copied + counters.bytes_skipped
        is_whole = (summary.file_count, summary.length) == (files, bytes_)
        if not is_whole or summary.directory_count < counters.directories_copied:
            raise CopyFailed(
                f"{uri} has {summary.file_count} files of {summary.length} bytes in "
                f"{summary.directory_count} directories, where {files} files of {bytes_} bytes in "
                f"{counters.directories_copied} were copied: somebody has changed it, and "
                "nothing is committed"
            )


_log = logging.getLogger(__name__)


@with_job_tokens
def distcp(
    spark: SparkSession,
    sources: str | Sequence[str],
    target: str,
    *,
    options: Options | None = None,
    conf: Configuration | None = None,
    user: str | None = None,
    tell: Callable[[str], None] = print,
    warn: Callable[[str], None] = _log.warning,
    shows_progress: bool = False,
    check: Callable[[], None] = lambda: None,
    replaces_kinds: bool = False,
) -> Outcome:
    """Copy files and trees in parallel; the executors of `spark` move the bytes.

    `sources` and `target` are URIs, or paths on `fs.defaultFS`; sources may be patterns.
    `tell` gets a line for each action of a dry run; `warn` gets one if the copy has to wait for
    another job that holds the target. `check` is called again and again while files are copied;
    what it raises ends the copy. `replaces_kinds` lets a file take the place of a directory, and
    the other way round, which is refused otherwise. Raises `TreeLocked` if that job does not end,
    `CopyFailed` with source, target and reason, `InvalidInput`, `DuplicateFile`, and the other
    errors of `copy_job.outcome`.

    >>> distcp(spark, "hdfs://a:8020/data", "hdfs://b:8020/data")  # doctest: +SKIP
    """
    chosen = options or Options()
    for option, is_given in (("-direct", chosen.direct), ("-append", chosen.append)):
        if is_given and spark.conf.get("spark.speculation", "false") == "true":
            raise errors.UnsupportedOperation(
                f"{option} doesn't go with spark.speculation: two attempts would write to one file"
            )
    configuration, user = as_spark_is(spark, conf, user)
    wanted = [sources] if isinstance(sources, str) else list(sources)
    context = CopyContext.read(wanted, target, chosen, configuration, user)
    chosen = context.as_is(chosen)
    with contextlib.ExitStack() as stack:
        lock = NO_LOCK
        if not chosen.dry_run:
            lock = _locked(stack, context, chosen, warn)
            context = context.again()
        job = _Job(
            spark,
            context,
            chosen,
            configuration,
            user,
            lock,
            shows_progress,
            check,
            replaces_kinds,
        )
        return job.run(tell)


def _locked(
    stack: contextlib.ExitStack,
    context: CopyContext,
    options: Options,
    warn: Callable[[str], None],
) -> TreeLock:
    """Take the lock of the target; `stack` releases it."""
    fs, path = context.target_fs, context.target_path
    try:
        return stack.enter_context(locked(fs, path, "distcp", tell=warn))
    except errors.AccessDenied as error:
        if options.direct:
            # With -direct the user may need to write only below the target.
            return TreeLock(path, None, f"{path} is not locked: {error}")
        raise CopyFailed(f"Cannot write to {context.target_uri}: {error}") from error


class _Job:
    def __init__(
        self,
        spark: SparkSession,
        context: CopyContext,
        options: Options,
        conf: Configuration,
        user: str | None,
        lock: TreeLock,
        shows_progress: bool,
        check: Callable[[], None],
        replaces_kinds: bool,
    ) -> None:
        self._replaces_kinds = replaces_kinds
        self._spark = spark
        self._lock = lock
        self._check = check
        self._report = SparkReport(spark)
        self._sync: SnapshotSync | None = None
        if options.by_snapshots:
            self._sync = SnapshotSync.check(self._report, context, options)
            context = self._sync.context
        self._context = context
        self._options = options
        self._conf = conf
        self._user = user
        self._shows_progress = shows_progress
        self._noted: list[str] = [] if lock.note is None else [lock.note]
        self._began_s = time.monotonic()
        self._fs = context.target_fs
        self._placed = lay_out(
            [source for source, _ in context.sources],
            context.target_state,
            context.target_uri,
            options,
        )
        if options.atomic and is_object_store(self._fs):
            raise errors.UnsupportedOperation(
                f"-atomic needs a filesystem that renames a directory in one step, "
                f"which {self._fs.uri} doesn't"
            )
        context.check_attributes(options.preserve)
        key_parts = [source.uri for source, _ in context.sources]
        if self._sync is not None:
            key_parts += self._sync.key
        key = key_of(key_parts, context.target_uri)
        # An atomic copy is written beside the target, to a directory that does not exist yet.
        self._path = context.target_path
        run = uuid.uuid4().hex[:12]
        self._atomic: AtomicCopy | None = None
        if options.atomic:
            self._atomic = AtomicCopy(
                self._fs, context.target_path, self._work_directory(), key, run
            )
            self._path = self._atomic.path
        alone = len(self._placed) == 1 and not self._placed[0].source.is_directory
        is_file = alone and not self._placed[0].relative
        self._staging = Staging.of(self._path, is_file, key, run)
        self._lister = CopyListing(
            spark,
            context,
            options,
            self._placed,
            self._staging,
            self._path,
            lock,
            self._noted,
        )

    def _work_directory(self) -> str | None:
        if self._options.work_path is None:
            return None
        return self._fs.resolve(behind_view(self._options.work_path, self._conf, self._user))

    # --- the run -----------------------------------------------------------------------

    def run(self, tell: Callable[[str], None]) -> Outcome:
        task = CopyTask(
            sources=self._context.places,
            target=self._context.target,
            target_path=prefix(self._path),
            options=self._options,
            staging=self._staging,
            replaces_file=self._context.target_state is Found.FILE,
            log=self._log_place(),
            reports_progress=self._shows_progress,
            combine_mode=self._combine_mode(),
            most_attempts=most_attempts(self._spark),
            replaces_kinds=self._replaces_kinds,
        )
        options = self._options
        listing = None
        is_done = False
        try:
            if self._sync is not None:
                changes, moved = self._sync.begin(self._staging, tell)
                source, walk = self._sync.source, self._sync.walk(changes, self._lister.walk())
                update_root, most = options.update_root, options.max_maps
                listing = self._lister.build(
                    lambda kept: self._report.listing(
                        changes, source, update_root, walk, most, kept
                    )
                )
                self._lister.own_roots = self._sync.own_roots()
            else:
                moved = Counters()
                if not self._options.dry_run:
                    self._remove_debris()
                listing = self._list()
            if len(self._placed) > 1:
                refuse_duplicates(listing)
            if self._options.dry_run:
                counters = moved + self._dry_run(listing, task, tell)
            else:
                counters = moved + self._do(listing, task)
            is_done = True
        except errors.HowdahError as error:
            self._advise(error)
            raise
        except Exception as error:
            failure = from_spark(error)
            self._advise(failure)
            raise failure from error
        finally:
            if listing is not None:
                listing.forget()
            self._report.forget()
            # With the staging directory in place, -diff can resume.
            if not self._options.dry_run and (is_done or self._sync is None):
                self._remove_staging()
                is_made = is_done and listing is not None and listing.totals.has_entries
                if not is_made and self._context.target_state is Found.ABSENT:
                    # The target was created for the staging directory. Left there, the next run
                    # would copy into it. (Hadoop, too, creates no target for an empty copy.)
                    self._remove_empty(self._path)
            if task.log is not None and self._options.log_path is not None:
                directory = paths.parse(self._options.log_path).path
                remove_unfinished(task.log.connect(), directory, self._staging.run)
        seconds = time.monotonic() - self._began_s
        tasks = part_count(listing.totals, self._options)
        notes = self._notes(counters) + (() if self._sync is None else self._sync.notes)
        return Outcome(counters, listing.totals, seconds, tasks, notes)

    def _notes(self, counters: Counters) -> tuple[str, ...]:
        """Notes on what the user may not expect."""
        notes = self._noted
        notes += notes_of(self._fs, [place.connect() for place in self._context.places], counters)
        came_by = counters.files_copied - counters.copied_by_server
        if is_object_store(self._fs) and came_by and not self._options.direct:
            notes.append(f"at {self._fs.uri} renaming is copying; -direct does without")
        return tuple(notes)

    def _advise(self, error: errors.HowdahError) -> None:
        if self._sync is not None:
            self._sync.advise(error)

    def _remove_debris(self) -> None:
        self._fs.delete(self._staging.directory, recursive=True)
        if self._atomic is not None:
            self._atomic.remove_debris()

    def _remove_staging(self) -> None:
        """Remove what this run created, and nothing of a run that may have taken the lock."""
        self._fs.delete(self._staging.own, recursive=True)
        if self._sync is not None:
            self._fs.delete(self._staging.directory, recursive=True)
            return
        self._remove_empty(self._staging.directory)

    def _remove_empty(self, path: str) -> None:
        with contextlib.suppress(errors.DirectoryNotEmpty):
            self._fs.delete(path)

    def _do(self, listing: Listing, task: CopyTask) -> Counters:
        if self._replaces_kinds:
            self._delete_other_kinds(listing)
        counters = self._copy(listing, task)
        if self._options.blocks_per_chunk:
            counters += self._join(listing, task)
        if self._options.wants_missing:
            counters += self._missing(listing)
        if self._options.preserve:
            # While the staging directory exists, which has the listing.
            rows = listing.of(Kind.DIRECTORY).where("length(relative) > 0")
            self._preserve_directories(rows, task)
        # Before the target's own directory, which contains it, gets its attributes.
        self._remove_staging()
        if self._atomic is not None:
            self._commit(self._atomic, counters)
        if self._lock.is_inside:
            self._lock.release()
        if self._options.preserve:
            own = AttributesTask(task, prefix(self._context.target_path))
            for root in self._lister.own_roots:
                own.give(self._context.places[root.filesystem].connect(), self._fs, root)
        return counters

    def _commit(self, made: AtomicCopy, counters: Counters) -> None:
        self._lock.check()
        made.commit(counters)

    # --- 3. the listing -------------------------------------------------------------------

    def _list(self) -> Listing:
        return self._lister.make()

    def _delete_other_kinds(self, listing: Listing) -> None:
        """Delete files where the source has directories, and directories where it has files: before
        anything is copied, since what is below a directory may be copied before it is made."""
        self._lock.check()
        self._context.check_roots()
        others = listing.of(Kind.FILE, Kind.DIRECTORY).where(
            "length(relative) > 0 and "
            f"((kind = {Kind.FILE:d} and target = {Found.DIRECTORY:d}) or "
            f"(kind = {Kind.DIRECTORY:d} and target = {Found.FILE:d}))"
        )
        task = DeleteTask(
            self._context.target, prefix(self._path), to_trash=False, ignore_failures=False
        )
        sums_of(others.mapInArrow(task, SCHEMA))

    # --- 5. copying ---------------------------------------------------------------------

    def _copy(self, listing: Listing, task: CopyTask) -> Counters:
        rows = listing.of(Kind.FILE, Kind.DIRECTORY, Kind.UNREADABLE)
        blocks = self._options.blocks_per_chunk
        if blocks:
            self._check_concat()
            rows = in_chunks(rows, blocks)
        progress: contextlib.AbstractContextManager[object] = contextlib.nullcontext()
        if self._shows_progress:
            total = Amount(listing.totals.files, listing.totals.bytes)
            progress = Progress(self._fs, self._staging.progress, total)
        places = self._context.places
        marks = [FailureMark(self._fs, path) for path in (self._staging.over, self._staging.failed)]
        with (
            progress,
            placed_partitions(self._spark, rows, listing.totals, self._options, places) as plan,
            Watch(self._may_go_on, marks),
        ):
            counters, fingerprint = summed(plan.map(task, SCHEMA).collect())
        if plan.note is not None:
            self._noted.append(plan.note)
        if fingerprint != listing.fingerprint:
            raise ListingChanged(
                "What was copied is not what was listed: an executor was lost that had rows in "
                f"its memory, or somebody has changed {self._fs.uri}{self._staging.own}. "
                "Copy again, with -update"
            )
        return counters

    def _may_go_on(self) -> None:
        """Raise if another job may have the target."""
        self._lock.check()
        self._check()

    def _join(self, listing: Listing, task: CopyTask) -> Counters:
        rows = in_chunks(listing.of(Kind.FILE), self._options.blocks_per_chunk)
        split = rows.where("chunk_length >= 0 and offset = 0")
        return sums_of(split.mapInArrow(JoinTask(task), SCHEMA))

    def _dry_run(self, listing: Listing, task: CopyTask, tell: Callable[[str], None]) -> Counters:
        kinds = [Kind.FILE, Kind.DIRECTORY, Kind.UNREADABLE]
        rows = listing.of(*kinds)
        if self._options.delete:
            rows = rows.unionAll(self._missing_rows(listing))
        return report_all(rows.mapInArrow(DryRunTask(task), DRY_RUN_SCHEMA), tell)

    def _check_concat(self) -> None:
        if not self._fs.has_path_capability(self._path, capabilities.CONCAT):
            raise errors.UnsupportedOperation(
                "blocksperchunk is not supported since the target file system doesn't "
                "support concat."
            )

    def _combine_mode(self) -> str:
        if self._conf.is_set(keys.DFS_CHECKSUM_COMBINE_MODE):
            return str(self._conf.get(keys.DFS_CHECKSUM_COMBINE_MODE))
        return COMPOSITE

    def _log_place(self) -> Place | None:
        path = self._options.log_path
        return None if path is None else Place.of(located(path), self._conf, self._user)

    # --- 6. and 7. the rest -------------------------------------------------------------

    def _missing_rows(self, listing: Listing) -> DataFrame:
        """As `roots.missing_rows`, by Spark."""
        from pyspark.sql.functions import expr

        missing = listing.of(Kind.MISSING)
        if len(self._placed) > 1 or self._lister.lists_target_alone:
            # An entry that one source does not have another one may have.
            there = listing.of(Kind.FILE, Kind.DIRECTORY).select("relative")
            missing = missing.join(there, "relative", "left_anti").dropDuplicates(["relative"])
            if self._context.filters:
                # A directory that a filter leaves out has no row of its own.
                placed = there.selectExpr("relative as placed")
                inside = "startswith(placed, concat(relative, X'2F'))"
                missing = missing.join(placed, expr(inside), "left_anti")
            if self._options.ignore_failures:
                # Also in a directory that could not be listed.
                unread = listing.of(Kind.UNREADABLE).selectExpr("relative as unread")
                below = "startswith(concat(relative, X'2F'), concat(unread, X'2F'))"
                missing = missing.join(unread, expr(below), "left_anti")
        return missing

    def _missing(self, listing: Listing) -> Counters:
        self._lock.check()
        if self._options.delete:
            self._context.check_roots()
        rows = self._missing_rows(listing)
        if self._options.delete:
            return sums_of(
                rows.mapInArrow(
                    DeleteTask(
                        self._context.target,
                        prefix(self._path),
                        to_trash=self._context.has_trash and not self._options.skip_trash,
                        ignore_failures=self._options.ignore_failures,
                    ),
                    SCHEMA,
                )
            )
        assert self._options.track_path is not None, "else nothing needs the missing rows"
        track = Place.of(located(self._options.track_path), self._conf, self._user)
        path = track.connect().resolve(self._options.track_path)
        track.connect().mkdirs(path)
        tracked = TrackTask(self._context.target, prefix(self._path), track, path)
        return sums_of(rows.mapInArrow(tracked, SCHEMA))

    def _preserve_directories(self, rows: DataFrame, task: CopyTask) -> None:
        # The order matters only for directories whose mode keeps their owner out.
        enters = f"(permission & {OWNER_ENTERS}) = {OWNER_ENTERS}"
        attributes = AttributesTask(task, prefix(self._path))
        sums_of(rows.where(enters).mapInArrow(attributes, SCHEMA))
        closed = rows.where(f"not ({enters})").selectExpr("*", "-length(relative) as place")
        deepest_first = closed.coalesce(1).sortWithinPartitions("place").drop("place")
        sums_of(deepest_first.mapInArrow(attributes, SCHEMA))
