"""`compact`: the files of a tree, made fewer and larger.

1. Put right what a killed run left (`howdah.spark.exchange`).
2. List the tree in parallel, and sum up each directory (`howdah.spark.compaction_contents`).
3. Decide for each (`howdah.spark.compaction_plan`).
4. Make the new files, see that all rows are there, and exchange the directories
   (`howdah.spark.rewriting`); several directories at a time.

Each directory stands for itself: one that fails is left as it is, and told.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.config import Configuration
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.fs.registry import connect
from howdah.fs.status import FileStatus
from howdah.spark.compacted import Compacted, Compaction, told
from howdah.spark.compaction_contents import Surveyed, survey
from howdah.spark.compaction_plan import Plan, State, parse_name, plan
from howdah.spark.exchange import Undecided, recover
from howdah.spark.filesystems import Place
from howdah.spark.listing import Totals
from howdah.spark.outcome import from_spark
from howdah.spark.progress import Shown, line, listing_of
from howdah.spark.reports import Done
from howdah.spark.rewriting import Rewriting
from howdah.spark.tree import list_tree

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TARGET_BYTES: Final = 128 << 20
DIRECTORIES_AT_ONCE: Final = 8


def compact(
    spark: SparkSession,
    target: str,
    *,
    target_bytes: int = TARGET_BYTES,
    dry_run: bool = False,
    has_headers: bool | None = None,
    most_tasks: int = 20,
    conf: Configuration | None = None,
    user: str | None = None,
    shows_progress: bool = False,
) -> Compaction:
    """Make the files below `target` fewer, each about as large as `target_bytes`.

    The old files go to the trash. `dry_run`: only say what would be done. `has_headers`:
    whether CSV files begin with a line of names; where it is not said, directories whose
    files all begin alike are left alone. One run at a time for a tree.

    `shows_progress` does so on standard error.

    Raises `PathNotFound`.

    >>> compact(spark, "hdfs://a:8020/logs", dry_run=True).changed  # doctest: +SKIP
    """
    if target_bytes <= 0:
        raise errors.IllegalArgument(f"files of {target_bytes} bytes can't be made")
    configuration = Configuration.load() if conf is None else conf
    located = target if "://" in target else None
    fs = connect(located, conf=configuration, user=user)
    place = Place.of(located, configuration, user)
    path = fs.resolve(target)
    recovered, undecided = ([], []) if dry_run else _recover_beside(fs, path)
    status = fs.get_file_status(path)
    if not status.is_directory:
        raise errors.PathIsNotDirectory(f"{target} is no directory")
    try:
        with Shown(shows_progress) as shown:
            found = _survey(spark, place, status, most_tasks, listing_of(shown))
            if not dry_run and found.leftovers:
                more, others = _recover(fs, found.leftovers)
                recovered += more
                undecided += others
                # The tree has changed.
                found = _survey(spark, place, status, most_tasks, listing_of(shown))
    except errors.HowdahError:
        raise
    except Exception as error:
        raise from_spark(error) from error
    plans = [plan(each, target_bytes, found.logged) for each in found.contents]
    block_bytes = fs.server_defaults().block_size
    work = Rewriting(spark, fs, place, has_headers, most_tasks, block_bytes)
    left = [each for each in plans if not each.skipped and not dry_run]
    with (
        ThreadPoolExecutor(DIRECTORIES_AT_ONCE, thread_name_prefix="compact") as pool,
        Shown(shows_progress and bool(left)) as shown,
    ):
        progress = _Progress(left)
        shown.say(progress.line)

        def do(each: Plan) -> Compacted:
            if each.skipped or dry_run:
                return told(each, block_bytes)
            done = work.compact(each)
            progress.add(each)
            return done

        done = tuple(pool.map(do, plans))
    return Compaction(done, tuple(recovered), tuple(undecided))


def _survey(
    spark: SparkSession,
    place: Place,
    status: FileStatus,
    most_tasks: int,
    tell: Callable[[int], None] | None,
) -> Surveyed:
    tree = list_tree(spark, place, [status], most_tasks, tell)
    try:
        return survey(tree)
    finally:
        tree.forget()


class _Progress:
    """How much is done of what is to be done."""

    def __init__(self, left: Sequence[Plan]) -> None:
        self._totals = Totals(
            files=sum(each.contents.files for each in left),
            bytes=sum(each.contents.bytes for each in left),
        )
        self._lock = threading.Lock()
        self._done = Done()

    def add(self, plan: Plan) -> None:
        with self._lock:
            self._done += Done(plan.contents.files, plan.contents.bytes)

    def line(self, seconds: float) -> str:
        return line(self._done, self._totals, seconds)


def _recover_beside(fs: FileSystem, path: str) -> tuple[list[str], list[str]]:
    """What a killed run of this very directory left stands beside it."""
    parent = paths.parent_of(path)
    if parent is None:
        return [], []
    found = (
        status.path
        for status in fs.list_status_iter(parent)
        if (leftover := parse_name(status.name)) is not None
        and leftover.name == paths.name_of(path)
    )
    return _recover(fs, found)


def _recover(fs: FileSystem, paths_found: Iterable[str]) -> tuple[list[str], list[str]]:
    """The directories that got their new files, and why others did not."""
    recovered, undecided = [], []
    leftovers = (path for path in paths_found if parse_name(paths.name_of(path)) is not None)
    for leftover in sorted(leftovers, key=_by_state):
        try:
            found = recover(fs, leftover)
        except Undecided as error:
            undecided.append(error.message)
        else:
            if found:
                recovered.append(found)
    return recovered, undecided


def _by_state(leftover: str) -> int:
    found = parse_name(paths.name_of(leftover))
    assert found is not None, "only leftovers come here"
    return list(State).index(found.state)
