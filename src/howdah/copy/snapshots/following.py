"""`-diff` and `-rdiff`: the target follows a snapshot report (DistCpSync).

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
5. With `Options.resume` the same holds if the staging directory is gone: the earlier run may have
   ended before its caller could note that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final, Protocol

from howdah import errors
from howdah.copy.common.arrow_rows import encode
from howdah.copy.common.filesystems import Place, for_each, prefix, status_of
from howdah.copy.common.staging import Staging
from howdah.copy.context import CopyContext
from howdah.copy.counters import Counters
from howdah.copy.layout import InvalidInput, Source
from howdah.copy.listing.entries import Entry, Found, Kind
from howdah.copy.listing.walking import Walk
from howdah.copy.locks.tree_lock import is_lock
from howdah.copy.options import Options
from howdah.copy.snapshots.changes import (
    CREATED,
    DELETED,
    MODIFIED,
    RENAMED,
    Change,
    Changes,
    Filters,
    Move,
    in_order,
)
from howdah.copy.snapshots.resuming import (
    Key,
    Remaining,
    differences,
    explained_by,
    is_in_a_job,
    remaining,
    unmoved,
)
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem

_SCHEMES: Final = ("hdfs",)
_NAMED: Final = 5
_MOVED: Final = "moved-"
COPIES: Final = (MODIFIED, CREATED, RENAMED)
"""Labels of entries that can need a copy."""


def snapshots_of(fs: FileSystem) -> HdfsFileSystem:
    """A filesystem with snapshots. Raises UnsupportedOperation for any other."""
    if not isinstance(fs, HdfsFileSystem):
        raise errors.UnsupportedOperation(f"{fs.uri} has no snapshots")
    return fs


def report(fs: FileSystem, path: str, old: str, new: str) -> Iterator[Change]:
    """The entries of a report; an empty name means the present directory."""
    for entry in snapshots_of(fs).snapshot_diff(path, old, new).entries:
        yield Change(entry.type.value, _relative(entry.path), _relative(entry.target or "."))


def _relative(path: str) -> str:
    return "" if path == "." else path.removeprefix("./")


class Report(Protocol):
    """Where the entries of a report are kept: they may be more than fit in memory."""

    def read(self, place: Place, path: str, old: str, new: str) -> list[Change]:
        """Request the report and keep it. Returns the renames and deletions."""
        ...

    def unexplained(
        self, left: Sequence[tuple[Change, Key | None]], changes: Changes, most: int
    ) -> list[Change]:
        """Return the first of the changes that no entry of the report explains."""
        ...


class ReportInMemory:
    """A report that is kept in memory."""

    def __init__(self) -> None:
        self.changes: tuple[Change, ...] = ()

    def read(self, place: Place, path: str, old: str, new: str) -> list[Change]:
        self.changes = tuple(report(place.connect(), path, old, new))
        return [change for change in self.changes if change.label in (DELETED, RENAMED)]

    def unexplained(
        self, left: Sequence[tuple[Change, Key | None]], changes: Changes, most: int
    ) -> list[Change]:
        asked = (change for change in self.changes if change.label in COPIES)
        known = set(explained_by(asked, changes))
        return [change for change, key in left if key is None or key not in known][:most]

    def rows(self, changes: Changes, source: str, also_root: bool) -> Iterator[Entry]:
        """The rows that the listing begins with."""
        asked = (change for change in self.changes if change.label in COPIES)
        return copied_rows(asked, changes, source, also_root)


def copied_rows(
    asked: Iterable[Change], changes: Changes, source: str, also_root: bool
) -> Iterator[Entry]:
    """Turn entries of a report into rows that a listing begins with.

    `source` is the path of the second state. With `also_root` it has a row, too.
    """
    if also_root:
        yield Entry(Kind.MODIFIED, 0, encode(source or "/"), b"")
    for change in asked:
        path = changes.copied(change) if change.path else None
        if path is not None:
            kind = Kind.MODIFIED if change.label == MODIFIED else Kind.CREATED
            relative = encode(f"/{path}")
            yield Entry(kind, 0, encode(source) + relative, relative)


class SyncFailed(errors.HowdahError, OSError):
    """The target cannot follow a snapshot report; the message says why, and what to do."""


class TargetModified(SyncFailed):
    """The target is not what it was in the first state."""


class SnapshotSync:
    """Runs one synchronization. `check` makes it, and checks that it can be done.

    Knows nothing of how files are listed and copied.
    """

    def __init__(
        self,
        report: Report,
        context: CopyContext,
        options: Options,
        states: tuple[str, str],
        base: str,
    ) -> None:
        self.context = context
        self.notes: tuple[str, ...] = ()
        self.has_begun = False
        self._report = report
        self._options = options
        self._old, self._new = states
        self._base = base
        self._fs = context.target_fs
        self._forward = options.diff is not None
        self._source = prefix(context.sources[0][0].path)
        self._target_changes: list[Change] = []

    @classmethod
    def check(cls, report: Report, context: CopyContext, options: Options) -> SnapshotSync:
        """Check source, target and snapshots. Raises SyncFailed, or InvalidInput for a snapshot
        that does not exist."""
        states = options.diff or options.reverse_diff
        assert states is not None, "checked by the caller"
        old, new = ("" if name == "." else name for name in states)
        source = _source_of(context)
        fs = context.places[0].connect()
        sync = cls(report, context, options, (old, new), source.path)
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
        """Read the report. Its other entries stay where it is kept."""
        context, forward = self.context, self._forward
        place = context.places[0] if forward else context.target
        path = self._base if forward else context.target_path
        given = self._report.read(place, path, self._old, self._new)
        # With `-rdiff .` the staging directory of this run is in the report.
        changes = [change for change in given if not _is_ours(change, home)]
        uri = context.places[0].connect().uri
        beginnings = ("", uri + prefix(self._base), uri + self._source)
        filters = Filters(context.filters, beginnings)
        if forward:
            # With `-rdiff` what a run has moved to its staging directory is moved back.
            filters = replace(filters, is_of_a_job=is_in_a_job)
        return Changes.of(changes, forward, filters)

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
        strange = self._target_changes
        if self._options.resume or self._fs.exists(staging.directory):
            strange = self._unexplained(changes, self._target_changes, home)
        if strange:
            raise TargetModified(self._has_changed(strange))
        self.notes = (
            f"{self.context.target_uri} was changed by an earlier run that was stopped; "
            "this one went on from there.",
        )
        return remaining(moves, self._target_changes, home)

    def _unexplained(
        self, changes: Changes, target_changes: Sequence[Change], home: str
    ) -> list[Change]:
        left = unmoved(changes, target_changes, home)
        if self._options.update_root:
            # Each run sets the attributes of the target's own directory.
            left = [(change, key) for change, key in left if key != (MODIFIED, "")]
        return self._report.unexplained(left, changes, _NAMED + 1)

    def check_snapshot(self, name: str) -> Changes:
        """Compare a snapshot that the target has got after a copy with the report. Raises
        TargetModified if somebody else has made changes of his own meanwhile."""
        changes = self._read_report("")
        found = differences(report(self._fs, self.context.target_path, self._old, name))
        strange = self._unexplained(changes, found, "")
        if strange:
            raise TargetModified(self._has_changed(strange))
        return changes

    def _has_changed(self, strange: list[Change]) -> str:
        some = ", ".join(map(str, strange[:_NAMED])) + (" …" if len(strange) > _NAMED else "")
        return (
            f"The target {self.context.target_uri} has been modified since snapshot "
            f"{self._old}: {some}. Undo that (-rdiff . {self._old}), or copy without "
            "-diff (-update -delete)."
        )

    def _check_present(self, moves: Iterable[Move]) -> None:
        """Check, before anything is changed, that the target has the entries to be moved."""

        def check(move: Move) -> None:
            if status_of(self._fs, self._at(move.source)) is None:
                raise TargetModified(
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

    @property
    def source(self) -> str:
        """The path of the second state, as `prefix` has it."""
        return self._source

    def walk(self, changes: Changes, walk: Walk) -> Walk:
        """The task that lists what is to be copied."""
        return replace(
            walk,
            passed_over=frozenset(encode(f"/{change.target}") for change in changes.renames),
            filter_beginnings=changes.filters.beginnings,
            rehearses=self._options.dry_run,
        )

    def own_roots(self) -> list[Entry]:
        """The row of the target's own directory, if it is to get the source's attributes."""
        if not self._options.update_root:
            return []
        source, status = self.context.sources[0]
        there = self.context.target_status
        return [Entry.of(Kind.DIRECTORY, source.filesystem, status, b"", there)]

    def advise(self, error: errors.HowdahError) -> None:
        """Add to an error how to go on, if the target is between the two states."""
        if self.has_begun:
            error.message += (
                f" (What has been done at {self.context.target_uri} stays; it is between the two "
                "snapshots now. The same command goes on from there.)"
            )


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
