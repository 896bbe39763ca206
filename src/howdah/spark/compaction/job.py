"""`compact`: the files of a tree, made fewer and larger.

1. Take the lock of the tree: one job at a time changes it (`locks.tree_lock`). Finish or undo
   what a killed run left (`compaction.exchange_recovery`).
2. List the tree in parallel, and sum up each directory (`compaction.contents`).
3. Decide for each directory (`compaction.plan`). No file of a table of which another program
   keeps a log is touched; its own maintenance is called (`compaction.table_maintenance`).
   Files that are large enough stay as they are.
4. Make the new files, check that all rows are there, and exchange the directories
   (`compaction.rewriting`); several directories at a time.

Directories are independent: one that fails stays as it is, and the outcome says why.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.config import Configuration
from howdah.copy.common.failures import from_spark
from howdah.copy.common.filesystems import Place, behind_view
from howdah.copy.common.job_tokens import with_job_tokens
from howdah.copy.common.progress import ProgressLine, line, listing_progress
from howdah.copy.common.task_progress import Amount
from howdah.copy.locks.files import TreeLocked
from howdah.copy.locks.tree_lock import TreeLock, locked
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.fs.registry import connect
from howdah.fs.status import FileStatus
from howdah.spark.compaction.directory_swap import new_run
from howdah.spark.compaction.exchange_recovery import OtherJobs, recover_all
from howdah.spark.compaction.keeping_swap import can_keep_files
from howdah.spark.compaction.ordering import order_name
from howdah.spark.compaction.outcome import Compacted, Compaction, outcome_of
from howdah.spark.compaction.plan import Plan, parse_name, plan, small_bytes
from howdah.spark.compaction.rewriting import RewriteOptions, Rewriter
from howdah.spark.compaction.table_formats import Maintained, Maintenance, Table
from howdah.spark.compaction.table_maintenance import TableKeeper, table_above
from howdah.spark.compaction.tree_listing import TreeContents, contents_of
from howdah.spark.listing.tree import list_tree
from howdah.spark.sessions import as_spark_is

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)

TARGET_BYTES: Final = 128 << 20
DIRECTORIES_AT_ONCE: Final = 32
"""Those whose files are joined share jobs of Spark, the more the better."""


@with_job_tokens
def compact(
    spark: SparkSession,
    target: str,
    *,
    target_bytes: int = TARGET_BYTES,
    dry_run: bool = False,
    has_headers: bool | None = None,
    drops_metadata: bool = False,
    most_tasks: int = 20,
    row_group_bytes: int | None = None,
    quiet_s: float = 0.0,
    maintenance: Maintenance | None = None,
    conf: Configuration | None = None,
    user: str | None = None,
    shows_progress: bool = False,
) -> Compaction:
    """Make the files below `target` fewer, each about as large as `target_bytes`.

    The old files go to the trash. `dry_run`: change nothing, only report. `has_headers`:
    whether CSV files begin with a line of names; if None, directories whose files all begin
    with the same line are left alone. `drops_metadata`: also rewrite Parquet files whose footers
    have metadata of other programs, which the new files will not have. `most_tasks`: of one
    Spark job.

    `shows_progress` does so on standard error.

    Raises `PathNotFound`, `UnsupportedOperation` for a directory in a table (which is compacted
    as a whole), and `TreeLocked` if another job holds the tree.

    >>> compact(spark, "hdfs://a:8020/logs", dry_run=True).changed  # doctest: +SKIP
    """
    if row_group_bytes is not None and row_group_bytes <= 0:
        raise errors.IllegalArgument(f"row groups must be above 0, not {row_group_bytes} bytes")
    if target_bytes <= 0:
        raise errors.IllegalArgument(f"the target size must be above 0, not {target_bytes} bytes")
    configuration, user = as_spark_is(spark, conf, user)
    target = behind_view(target, configuration, user)
    located = target if "://" in target else None
    fs = connect(located, conf=configuration, user=user)
    place = Place.of(located, configuration, user)
    path = fs.resolve(target)
    asked = maintenance or Maintenance()
    how = RewriteOptions(has_headers, drops_metadata, most_tasks, asked, row_group_bytes, quiet_s)
    work = _Work(spark, fs, place, path, target_bytes, how)
    work.refuse_inside_of_tables()
    if dry_run:
        return work.dry_run(shows_progress)
    if not work.has_leftovers():
        work.status()  # before the lock, which would create the directory
    with locked(fs, path, "compact", tell=_log.warning) as lock:
        return work.do(lock, shows_progress)


class _Work:
    """Performs one run."""

    def __init__(
        self,
        spark: SparkSession,
        fs: FileSystem,
        place: Place,
        path: str,
        target_bytes: int,
        options: RewriteOptions,
    ) -> None:
        self._spark = spark
        self._fs = fs
        self._place = place
        self._path = path
        self._target_bytes = target_bytes
        self._options = options
        self._maintenance = options.asked
        self._small_bytes = small_bytes(target_bytes) if can_keep_files(fs) else None
        self._block_bytes = fs.server_defaults(path).block_size

    def status(self) -> FileStatus:
        """The status of the directory to compact.

        Raises `PathNotFound` and `PathIsNotDirectory`.
        """
        status = self._fs.get_file_status(self._path)
        if not status.is_directory:
            raise errors.PathIsNotDirectory(f"{self._fs.uri}{self._path} is not a directory")
        return status

    def refuse_inside_of_tables(self) -> None:
        """Raises `UnsupportedOperation` if the directory is in a table's."""
        table = table_above(self._fs, self._path)
        if table is not None:
            raise errors.UnsupportedOperation(
                f"{self._path} is in {table}: {table.path}, which has a log of its files"
            )

    def has_leftovers(self) -> bool:
        """Whether a killed run left a directory beside this one."""
        return bool(self._leftovers_beside())

    def dry_run(self, shows_progress: bool) -> Compaction:
        """Report what would be done."""
        with ProgressLine(shows_progress) as shown:
            tree = self._survey(shown)
        plans = self._plans(tree)
        rewriter, keeper = self._rewriter(lambda: None), self._keeper()
        with ThreadPoolExecutor(DIRECTORIES_AT_ONCE, thread_name_prefix="compact") as pool:
            previewed = tuple(pool.map(lambda chosen: self._previewed(rewriter, chosen), plans))
        with ProgressLine(shows_progress and bool(tree.tables)) as shown:
            tables = self._on_tables(tree.tables, keeper.preview, shown)
        return Compaction(previewed, tables=tables)

    def _on_tables(
        self, tables: Sequence[Table], do: Callable[[Table], Maintained], shown: ProgressLine
    ) -> tuple[Maintained, ...]:
        """Do something to one table after another: each has jobs of its own."""
        done = []
        for number, table in enumerate(tables, 1):
            shown.set_text(f"table {number} of {len(tables)}, {table.path}")
            done.append(self._of_the_target(do(table)))
        return tuple(done)

    def _of_the_target(self, done: Maintained) -> Maintained:
        """A table that the user named, and that is left alone, has failed."""
        is_asked = done.path == self._path and not self._maintenance.skips
        return replace(done, failed=True) if is_asked and done.reason else done

    def _previewed(self, rewriter: Rewriter, chosen: Plan) -> Compacted:
        return outcome_of(chosen, self._block_bytes) if chosen.skipped else rewriter.preview(chosen)

    def do(self, lock: TreeLock, shows_progress: bool) -> Compaction:
        """Compact, while holding the lock of the tree."""
        others = OtherJobs(self._fs, self._path)
        recovered, undecided = recover_all(self._fs, self._leftovers_beside(), lambda _: None)
        with ProgressLine(shows_progress) as shown:
            tree = self._survey(shown)
            if tree.leftovers:
                more, others_left = recover_all(self._fs, tree.leftovers, others.refuse)
                recovered += more
                undecided += others_left
                # The recovery has changed the tree.
                tree = self._survey(shown)
        plans = self._plans(tree)
        rewriter, run = self._rewriter(lock.check), new_run()
        left = [chosen for chosen in plans if not chosen.skipped]
        progress = _Progress(left)

        def do(chosen: Plan) -> Compacted:
            if chosen.skipped:
                return outcome_of(chosen, self._block_bytes)
            try:
                others.refuse(chosen.contents.path)
            except TreeLocked as error:
                return outcome_of(chosen, self._block_bytes, failed=str(error))
            done = rewriter.compact(chosen, run)
            progress.add(chosen)
            return done

        with (
            ThreadPoolExecutor(DIRECTORIES_AT_ONCE, thread_name_prefix="compact") as pool,
            ProgressLine(shows_progress and bool(left)) as shown,
        ):
            shown.set_text(progress.line)
            done = tuple(pool.map(do, plans))
        keeper = self._keeper()

        def maintain(table: Table) -> Maintained:
            try:
                others.refuse(table.path)
                lock.check()
            except errors.HowdahError as error:
                return Maintained(table.path, table.format.value, reason=str(error), failed=True)
            return keeper.maintain(table)

        with ProgressLine(shows_progress and bool(tree.tables)) as shown:
            tables = self._on_tables(tree.tables, maintain, shown)
        notes = () if lock.note is None else (lock.note,)
        return Compaction(done, tuple(recovered), tuple(undecided), notes, tables)

    def _leftovers_beside(self) -> list[str]:
        """Directories that a killed run left beside this one."""
        parent = paths.parent_of(self._path)
        if parent is None:
            return []
        name = paths.name_of(self._path)
        try:
            return [
                status.path
                for status in self._fs.list_status_iter(parent)
                if (leftover := parse_name(status.name)) is not None and leftover.name == name
            ]
        except errors.PathNotFound:
            return []

    def _survey(self, shown: ProgressLine) -> TreeContents:
        tasks = self._options.most_tasks
        try:
            tree = list_tree(
                self._spark, self._place, [self.status()], tasks, listing_progress(shown)
            )
            try:
                return contents_of(tree, self._small_bytes)
            finally:
                tree.forget()
        except errors.HowdahError:
            raise
        except Exception as error:
            raise from_spark(error) from error

    def _plans(self, tree: TreeContents) -> list[Plan]:
        return [
            plan(content, self._target_bytes, orders=bool(order_name(self._maintenance)))
            for content in tree.contents
            if not any(table.contains(content.path) for table in tree.tables)
        ]

    def _keeper(self) -> TableKeeper:
        return TableKeeper(
            self._spark,
            self._fs,
            self._place,
            self._maintenance,
            self._target_bytes,
            self._options.most_tasks,
        )

    def _rewriter(self, confirm: Callable[[], None]) -> Rewriter:
        return Rewriter(
            self._spark, self._fs, self._place, self._options, confirm, self._block_bytes
        )


class _Progress:
    """Tracks the progress of a run."""

    def __init__(self, left: Sequence[Plan]) -> None:
        self._total = Amount(
            files=sum(chosen.contents.files for chosen in left),
            bytes=sum(chosen.contents.bytes for chosen in left),
        )
        self._lock = threading.Lock()
        self._done = Amount()

    def add(self, plan: Plan) -> None:
        with self._lock:
            self._done += Amount(plan.contents.files, plan.contents.bytes)

    def line(self, seconds: float) -> str:
        return line(self._done, self._total, seconds)
