"""`-diff` and `-rdiff`, from the driver's side: the target follows a snapshot report (DistCpSync).

1. The snapshots that are compared are the source's (`-diff OLD NEW`) or the target's own
   (`-rdiff NEW OLD`). The target must have the first snapshot, and be unchanged since. Files are
   read from the second snapshot at the source.
2. Renamed and deleted entries are moved: first all of them to the staging directory, then the
   renamed ones to their new paths (`snapshots.changes`). Deleted entries stay in the staging
   directory and are deleted with it at the end: the report does not say where an entry of a
   deleted directory has gone. They do not go to the trash, since the first snapshot has them.
3. Created and modified entries are listed and copied as with `-update`.
4. The target is between the two states until all is done, and the staging directory exists as
   long. After a run that was stopped, the target's own report of changes since the first snapshot
   says how far it came, and the same command resumes there (`snapshots.resuming`). If there are
   other changes, somebody has changed the target; the error names them, and nothing is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.copy.common.arrow_rows import decode, encode
from howdah.copy.common.failures import error_from
from howdah.copy.common.filesystems import for_each, prefix, status_of
from howdah.copy.common.staging import Staging
from howdah.copy.context import CopyContext
from howdah.copy.counters import Counters
from howdah.copy.layout import InvalidInput, Source
from howdah.copy.listing.entries import Entry, Found, Kind
from howdah.copy.listing.walking import Walk
from howdah.copy.locks.tree_lock import is_lock
from howdah.copy.options import Options
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.spark.listing.row_stores import RowStore
from howdah.spark.listing.spark_rounds import Listing, list_rounds
from howdah.spark.snapshots.changes import Change, Changes, Filters, Move, in_order
from howdah.spark.snapshots.report_tasks import (
    COPIES,
    FAILED,
    KEY_SCHEMA,
    SCHEMA,
    ChangesTask,
    ExplainTask,
    ReportTask,
    change_of,
    report,
)
from howdah.spark.snapshots.resuming import Key, Remaining, differences, remaining, unmoved

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SCHEMES: Final = ("hdfs",)
_TOLD: Final = 5
_MOVED: Final = "moved-"


class SyncFailed(errors.HowdahError, OSError):
    """The target cannot follow a snapshot report; the message says why, and what to do."""


class SnapshotSync:
    """Runs one synchronization. `check` makes it, and checks that it can be done."""

    def __init__(
        self,
        spark: SparkSession,
        context: CopyContext,
        options: Options,
        states: tuple[str, str],
        base: str,
    ) -> None:
        self.context = context
        self.notes: tuple[str, ...] = ()
        self.has_begun = False
        self._spark = spark
        self._options = options
        self._old, self._new = states
        self._base = base
        self._fs = context.target_fs
        self._forward = options.diff is not None
        self._source = prefix(context.sources[0][0].path)
        self._rows: DataFrame | None = None
        self._target_changes: list[Change] = []

    @classmethod
    def check(cls, spark: SparkSession, context: CopyContext, options: Options) -> SnapshotSync:
        """Check source, target and snapshots. Raises SyncFailed, or InvalidInput for a snapshot
        that does not exist."""
        states = options.diff or options.reverse_diff
        assert states is not None, "checked by the caller"
        old, new = ("" if name == "." else name for name in states)
        source = _source_of(context)
        fs = context.places[0].connect()
        sync = cls(spark, context, options, (old, new), source.path)
        sync._target_changes = sync._different()
        compared, path = (fs, source.path) if sync._forward else (sync._fs, context.target_path)
        _check_order(compared, path, old, new, sync._forward)
        there = snapshot_path(source.path, new)
        status = status_of(fs, there)
        if status is None:
            raise InvalidInput(f"Input snapshot is not found: {fs.uri}{there}")
        uri = fs.uri + status.path
        read = Source(0, status.path, uri, True)
        sync.context = replace(context, sources=((read, status),))
        sync._source = prefix(status.path)
        return sync

    @property
    def key(self) -> Sequence[str]:
        """The part of the copy's key that tells it from a copy without snapshots."""
        return ["diff" if self._forward else "rdiff", self._old, self._new]

    # --- before ------------------------------------------------------------------------

    def _different(self) -> list[Change]:
        """Return the changes at the target since its snapshot of the first state."""
        context = self.context
        if not self._old:
            return []
        try:
            changes = list(report(self._fs, context.target_path, self._old, ""))
        except errors.HowdahError as error:
            raise SyncFailed(
                f"Cannot compare {context.target_uri} with its snapshot {self._old}: {error}"
            ) from error
        return differences(changes)

    def _read_report(self, home: str) -> Changes:
        """Read the report. Its entries stay with the executors, but for renames and deletions."""
        context, forward = self.context, self._forward
        place = context.places[0] if forward else context.target
        path = self._base if forward else context.target_path
        task = ReportTask(place, path, self._old, self._new)
        self._rows = self._spark.range(0, 1, 1, 1).mapInArrow(task, SCHEMA).persist()
        rows = self._rows.where(f"label in ('-', 'R', '{FAILED}')").collect()
        for row in rows:
            if row["label"] == FAILED:
                raise error_from(decode(bytes(row["target"])), decode(bytes(row["path"])))
        # With `-rdiff .` the staging directory of this run is in the report.
        changes = [change for change in map(change_of, rows) if not _is_ours(change, home)]
        uri = context.places[0].connect().uri
        beginnings = ("", uri + prefix(self._base), uri + self._source)
        return Changes.of(changes, forward, Filters(context.filters, beginnings))

    # --- 2. moving ---------------------------------------------------------------------

    def begin(self, staging: Staging, tell: Callable[[str], None]) -> tuple[Changes, Counters]:
        """Do the renames and deletions; in a dry run, report them by `tell`."""
        home = paths.name_of(staging.directory)
        changes = self._read_report(home)
        moves = changes.moves()
        left = Remaining(tuple(moves), ())
        if self._target_changes:
            left = self._left(changes, moves, home, staging)
        else:
            self._check_present(moves)
        if self._options.dry_run:
            for move in (*left.moves, *left.begun):
                tell(self._described(move))
        else:
            self._move(left, staging)
        deleted = sum(move.target is None for move in left.moves)
        renamed = sum(move.target is not None for move in (*left.moves, *left.begun))
        return changes, Counters(entries_deleted=deleted, entries_renamed=renamed)

    def _left(self, changes: Changes, moves: list[Move], home: str, staging: Staging) -> Remaining:
        assert self._rows is not None, "the report is read first"
        strange = self._target_changes
        if self._fs.exists(staging.directory):
            left = unmoved(changes, self._target_changes, home)
            asked = self._rows.where(f"label in {COPIES}")
            strange = _unexplained(self._spark, left, ExplainTask(changes), asked)
        if strange:
            raise SyncFailed(self._has_changed(strange))
        self.notes = (
            f"{self.context.target_uri} was changed by an earlier run that was stopped; "
            "this one went on from there.",
        )
        return remaining(moves, self._target_changes, home)

    def _has_changed(self, strange: list[Change]) -> str:
        some = ", ".join(map(str, strange[:_TOLD])) + (" …" if len(strange) > _TOLD else "")
        return (
            f"The target {self.context.target_uri} has been modified since snapshot "
            f"{self._old}: {some}. Undo that (-rdiff . {self._old}), or copy without "
            "-diff (-update -delete)."
        )

    def _check_present(self, moves: Iterable[Move]) -> None:
        """Check, before anything is changed, that the target has the entries to be moved."""

        def check(move: Move) -> None:
            if status_of(self._fs, self._at(move.source)) is None:
                raise SyncFailed(
                    f"{self._fs.uri}{self._at(move.source)} does not exist, though it was in "
                    f"snapshot {self._old or '.'}: the target is not what the source was then"
                )

        for_each(check, moves)

    def _move(self, left: Remaining, staging: Staging) -> None:
        fs, moved = self._fs, f"{staging.directory}/{_MOVED}{staging.run}"
        fs.mkdirs(moved)
        self.has_begun = True
        for status in fs.list_status(staging.directory):
            if not status.name.startswith(_MOVED):
                fs.delete(status.path, recursive=True)
        begin, _ = in_order(left.moves)
        begun = list(left.begun)
        home = prefix(self.context.target_path) + "/"
        numbered = [(f"{moved}/{number}", move) for number, move in enumerate(begin)]
        # No path of the same depth is below another, so these moves can be concurrent.
        for _, some in groupby(numbered, key=lambda item: item[1].source.count("/")):
            for_each(lambda item: self._rename(self._at(item[1].source), item[0]), some)
        begun += [Move(place.removeprefix(home), move.target) for place, move in numbered]
        _, end = in_order(begun)
        for _, placed in groupby(end, key=lambda move: (move.target or "").count("/")):
            moves = list(placed)
            for_each(fs.mkdirs, {paths.parent_of(self._target(move)) or "/" for move in moves})
            for_each(lambda move: self._rename(self._at(move.source), self._target(move)), moves)

    def _target(self, move: Move) -> str:
        assert move.target is not None, "a deletion has no target"
        return self._at(move.target)

    def _rename(self, path: str, to: str) -> None:
        try:
            self._fs.rename(path, to)
        except (errors.HowdahError, OSError) as error:
            raise SyncFailed(f"Cannot move {self._fs.uri}{path} to {to}: {error}") from error

    def _at(self, path: str) -> str:
        return f"{prefix(self.context.target_path)}/{path}"

    def _described(self, move: Move) -> str:
        here = self._fs.uri + self._at(move.source)
        if move.target is None:
            return f"delete {here} (not in the second snapshot)"
        return f"rename {here} --> {self._fs.uri}{self._at(move.target)}"

    # --- 3. the listing -------------------------------------------------------------------

    def listing(self, changes: Changes, walk: Walk, kept: RowStore) -> Listing:
        """List what is to be copied."""
        assert self._rows is not None, "the report is read first"
        task = ChangesTask(changes, self._source, self._options.update_root)
        copies = self._rows.where(f"label in {COPIES}")
        moved = frozenset(encode(f"/{change.target}") for change in changes.renames)
        walk = replace(
            walk,
            passed_over=moved,
            filter_beginnings=changes.filters.beginnings,
            rehearses=self._options.dry_run,
        )
        return list_rounds(copies, task, walk, self._options.max_maps, kept)

    def own_roots(self) -> list[Entry]:
        """The row of the target's own directory, if it is to get the source's attributes."""
        if not self._options.update_root:
            return []
        source, status = self.context.sources[0]
        there = self.context.target_status
        return [Entry.of(Kind.DIRECTORY, source.filesystem, status, b"", there)]

    def forget(self) -> None:
        """Let the executors drop the report."""
        if self._rows is not None:
            self._rows.unpersist()


def _unexplained(
    spark: SparkSession,
    left: Sequence[tuple[Change, Key | None]],
    explain: ExplainTask,
    asked: DataFrame,
) -> list[Change]:
    """Return the first of the changes that no entry of the report explains. Tasks compare them:
    there may be as many as there are files to copy."""
    import pyarrow as pa

    if not left:
        return []
    keys = [key or ("", "") for _, key in left]
    table = pa.table(
        {
            "label": pa.array([label for label, _ in keys], type=pa.string()),
            "path": pa.array([encode(path) for _, path in keys], type=pa.binary()),
            "number": pa.array(range(len(keys)), type=pa.int64()),
        }
    )
    explained = asked.mapInArrow(explain, KEY_SCHEMA)
    strange = spark.createDataFrame(table).join(explained, ["label", "path"], "left_anti")
    rows = strange.orderBy("number").limit(_TOLD + 1).collect()
    return [left[row["number"]][0] for row in rows]


def _is_ours(change: Change, home: str) -> bool:
    """Whether a created entry is this run's staging directory or lock file."""
    return change.path == home or is_lock(paths.name_of(change.path))


def snapshot_path(directory: str, name: str) -> str:
    """The path of a snapshot; without a name, of the present directory."""
    return f"{prefix(directory)}/.snapshot/{name}" if name else directory


def _source_of(context: CopyContext) -> Source:
    """The source. Raises SyncFailed if there are several, or if a side has no snapshots."""
    if len(context.sources) != 1:
        raise SyncFailed(
            f"{len(context.sources)} source paths are provided, and -diff and -rdiff take one"
        )
    filesystems: tuple[tuple[str, FileSystem], ...] = (
        ("source", context.places[0].connect()),
        ("target", context.target_fs),
    )
    for side, fs in filesystems:
        if fs.scheme not in _SCHEMES:
            raise SyncFailed(
                f"Unsupported {side} file system: {fs.scheme}://. Snapshots are of hdfs://."
            )
    source = context.sources[0][0]
    if not source.is_directory:
        raise SyncFailed(f"{source.uri} is not a directory, and only those have snapshots")
    if context.target_state is not Found.DIRECTORY:
        raise SyncFailed(
            f"{context.target_uri} is not there as a directory; the first copy is one without "
            "-diff, of which both sides then get a snapshot of the same name"
        )
    return source


def _check_order(fs: FileSystem, path: str, old: str, new: str, forward: bool) -> None:
    """Check that both snapshots exist, and that their order is right."""
    times = []
    for name in (old, new):
        status = status_of(fs, snapshot_path(path, name))
        if status is None:
            raise InvalidInput(f"Input snapshot is not found: {fs.uri}{snapshot_path(path, name)}")
        times.append(status.modification_time_ms)
    earlier, later = (old, new) if forward else (new, old)
    if not earlier:
        raise SyncFailed("The older of two states cannot be the directory as it is now")
    first, second = times if forward else reversed(times)
    if later and first > second:
        raise SyncFailed(f"Snapshot {later} should be newer than {earlier}")
