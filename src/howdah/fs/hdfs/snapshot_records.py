"""Snapshots as callers see them: directories that have some, what they differ in.

What a snapshot shows is read below `DIRECTORY/.snapshot/NAME`, as any other path.
"""

from __future__ import annotations

import enum
import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from howdah import errors
from howdah.fs import paths
from howdah.fs.hdfs.status import file_status, name_of
from howdah.fs.status import FileStatus
from howdah.proto import types_pb2 as pb

if TYPE_CHECKING:
    from howdah.client.namenode import NamenodeProxy

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SnapshottableDirectory:
    """A directory of which snapshots may be made."""

    status: FileStatus
    snapshot_count: int
    snapshot_quota: int

    @property
    def path(self) -> str:
        return self.status.path


@dataclass(frozen=True, slots=True)
class SnapshotStatus:
    """One snapshot; `status` is of its directory, as it was."""

    status: FileStatus
    name: str
    snapshot_id: int
    is_deleted: bool

    @property
    def path(self) -> str:
        return self.status.path


class DiffType(enum.Enum):
    """What happened to a path, by the letter that reports have."""

    CREATE = "+"
    MODIFY = "M"
    DELETE = "-"
    RENAME = "R"


@dataclass(frozen=True, slots=True)
class SnapshotDiffEntry:
    """One path, relative to the directory; "." is that itself. A rename has a `target`.

    >>> str(SnapshotDiffEntry(DiffType.RENAME, "./a", "./b"))
    'R\\t./a -> ./b'
    """

    type: DiffType
    path: str
    target: str | None = None

    def __str__(self) -> str:
        where = self.path if self.target is None else f"{self.path} -> {self.target}"
        return f"{self.type.value}\t{where}"


@dataclass(frozen=True, slots=True)
class SnapshotDiffReport:
    """What leads from one state of a directory to another. As a string it is what
    `snapshotDiff` prints; a state without a name is the directory as it is now."""

    directory: str
    old: str
    new: str
    entries: tuple[SnapshotDiffEntry, ...]

    def __str__(self) -> str:
        old, new = (f"snapshot {name}" if name else "current directory" for name in self.states)
        head = f"Difference between {old} and {new} under directory {self.directory}:\n"
        return head + "".join(f"{entry}\n" for entry in self.entries)

    @property
    def states(self) -> tuple[str, str]:
        return self.old, self.new


def snapshottable_directory(
    message: pb.SnapshottableDirectoryStatusProto,
) -> SnapshottableDirectory:
    path = paths.join(name_of(message.parent_fullpath) or "/", name_of(message.dirStatus.path))
    return SnapshottableDirectory(
        file_status(message.dirStatus, path), message.snapshot_number, message.snapshot_quota
    )


def snapshot_status(message: pb.SnapshotStatusProto) -> SnapshotStatus:
    name = name_of(message.dirStatus.path)
    path = f"{name_of(message.parent_fullpath).rstrip('/')}/.snapshot/{name}"
    return SnapshotStatus(
        file_status(message.dirStatus, path), name, message.snapshotID, message.isDeleted
    )


def diff_entries(
    namenode: NamenodeProxy, path: str, old: str, new: str
) -> tuple[SnapshotDiffEntry, ...]:
    """Ask what leads from one state of a directory to another: in pages, where neither is the
    present one, which may change from page to page."""
    if old and new:
        try:
            return entries_of_pages(_diff_pages(namenode, path, old, new))
        except errors.RpcNoSuchMethod as error:
            # Old servers give no pages, nor does a router of what is in several nameservices.
            log.debug("the whole difference is asked for: %s", error)
    return entries_of(namenode.snapshot_diff(path, old, new))


def _diff_pages(
    namenode: NamenodeProxy, path: str, old: str, new: str
) -> Iterator[pb.SnapshotDiffReportListingProto]:
    cursor = pb.SnapshotDiffReportCursorProto(startPath=b"", index=-1)
    while True:
        page = namenode.snapshot_diff_page(path, old, new, cursor)
        yield page
        cursor = page.cursor
        if not cursor.startPath and cursor.index == -1:
            return


def entries_of(report: pb.SnapshotDiffReportProto) -> tuple[SnapshotDiffEntry, ...]:
    """The lines of a report that came all at once."""
    return tuple(
        SnapshotDiffEntry(
            DiffType(entry.modificationLabel),
            _relative(entry.fullpath),
            _relative(entry.targetPath) if entry.HasField("targetPath") else None,
        )
        for entry in report.diffReportEntries
    )


def entries_of_pages(
    pages: Iterable[pb.SnapshotDiffReportListingProto],
) -> tuple[SnapshotDiffEntry, ...]:
    """The same from the pages of a listing: each modified path, and behind a directory
    what was made in it and what went. What went to another place was renamed."""
    modified: list[pb.SnapshotDiffReportListingEntryProto] = []
    made: dict[int, list[pb.SnapshotDiffReportListingEntryProto]] = {}
    gone: dict[int, list[pb.SnapshotDiffReportListingEntryProto]] = {}
    moved: set[int] = set()
    forward = True
    for page in pages:
        forward = page.isFromEarlier
        modified += page.modifiedEntries
        for entry in page.createdEntries:
            made.setdefault(entry.dirId, []).append(entry)
        for entry in page.deletedEntries:
            gone.setdefault(entry.dirId, []).append(entry)
            if entry.targetPath:
                moved.add(entry.fileId)
    appeared, vanished = DiffType.CREATE, DiffType.DELETE
    if not forward:
        appeared, vanished = vanished, appeared
    lines = []
    for changed in sorted(modified, key=lambda entry: entry.fullpath.split(b"/")):
        lines.append(SnapshotDiffEntry(DiffType.MODIFY, _relative(changed.fullpath)))
        if not changed.isReference:
            continue
        for entry in made.get(changed.dirId, ()):
            if entry.fileId not in moved:
                lines.append(SnapshotDiffEntry(appeared, _relative(entry.fullpath)))
        for entry in gone.get(changed.dirId, ()):
            there, then = _relative(entry.fullpath), _relative(entry.targetPath)
            if not entry.targetPath:
                lines.append(SnapshotDiffEntry(vanished, there))
            elif forward:
                lines.append(SnapshotDiffEntry(DiffType.RENAME, there, then))
            else:
                lines.append(SnapshotDiffEntry(DiffType.RENAME, then, there))
    return tuple(lines)


def _relative(path: bytes) -> str:
    return f"./{name_of(path)}" if path else "."
