"""Snapshots of HDFS: made, named, listed, compared and deleted."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from howdah import errors
from howdah.fs import paths
from howdah.fs.hdfs.attributes import HdfsAttributes
from howdah.fs.hdfs.links import follow_links
from howdah.fs.hdfs.snapshot_records import (
    SnapshotDiffEntry,
    SnapshotDiffReport,
    SnapshotStatus,
    SnapshottableDirectory,
    entries_of,
    entries_of_pages,
)
from howdah.fs.hdfs.status import file_status, name_of
from howdah.fs.paths import PathLike
from howdah.proto import types_pb2 as pb

log = logging.getLogger(__name__)


class HdfsSnapshots(HdfsAttributes):
    """The part of `HdfsFileSystem` that is about snapshots."""

    @follow_links
    def allow_snapshot(self, path: PathLike) -> None:
        """Make a directory snapshottable. Only for the superuser."""
        self._namenode.allow_snapshot(self.resolve(path))

    @follow_links
    def disallow_snapshot(self, path: PathLike) -> None:
        """It must not have any snapshots. Only for the superuser."""
        self._namenode.disallow_snapshot(self.resolve(path))

    @follow_links
    def create_snapshot(self, path: PathLike, name: str | None = None) -> str:
        """Keep a directory as it is now. The path under which that is read.

        Without a name the snapshot gets one from the time, such as
        `s20260102-030405.006`. Raises SnapshotError if the directory is not
        snapshottable, or has one of that name.
        """
        return self._namenode.create_snapshot(self.resolve(path), name)

    @follow_links
    def rename_snapshot(self, path: PathLike, old: str, new: str) -> None:
        """Give a snapshot another name, under which its path is read from then on."""
        self._namenode.rename_snapshot(self.resolve(path), old, new)

    @follow_links
    def delete_snapshot(self, path: PathLike, name: str) -> None:
        """What only this snapshot has is gone then."""
        self._namenode.delete_snapshot(self.resolve(path), name)

    def list_snapshottable_directories(self) -> list[SnapshottableDirectory]:
        """Those that the caller owns; all of them, for the superuser."""
        found = []
        for told in self._namenode.snapshottable_directories():
            path = paths.join(name_of(told.parent_fullpath) or "/", name_of(told.dirStatus.path))
            found.append(
                SnapshottableDirectory(
                    file_status(told.dirStatus, path), told.snapshot_number, told.snapshot_quota
                )
            )
        return found

    @follow_links
    def list_snapshots(self, path: PathLike) -> list[SnapshotStatus]:
        """The snapshots of a directory, by name."""
        found = []
        for told in self._namenode.snapshots(self.resolve(path)):
            name = name_of(told.dirStatus.path)
            where = f"{name_of(told.parent_fullpath).rstrip('/')}/.snapshot/{name}"
            found.append(
                SnapshotStatus(
                    file_status(told.dirStatus, where), name, told.snapshotID, told.isDeleted
                )
            )
        return found

    @follow_links
    def snapshot_diff(self, path: PathLike, old: str = "", new: str = "") -> SnapshotDiffReport:
        """What leads from the snapshot `old` of a directory to the snapshot `new`.

        An empty name is the directory as it is now.
        """
        resolved = self.resolve(path)
        # What is there now may change from page to page.
        entries = self._diff_of_pages(resolved, old, new) if old and new else None
        if entries is None:
            entries = entries_of(self._namenode.snapshot_diff(resolved, old, new))
        return SnapshotDiffReport(resolved, old, new, entries)

    def _diff_of_pages(self, path: str, old: str, new: str) -> tuple[SnapshotDiffEntry, ...] | None:
        """None from a server that gives no pages, as old ones do, and a router of what is in
        several nameservices."""
        try:
            return entries_of_pages(self._pages(path, old, new))
        except errors.RpcNoSuchMethod as error:
            log.debug("the whole difference is asked for: %s", error)
            return None

    def _pages(self, path: str, old: str, new: str) -> Iterator[pb.SnapshotDiffReportListingProto]:
        cursor = pb.SnapshotDiffReportCursorProto(startPath=b"", index=-1)
        while True:
            page = self._namenode.snapshot_diff_page(path, old, new, cursor)
            yield page
            cursor = page.cursor
            if not cursor.startPath and cursor.index == -1:
                return
