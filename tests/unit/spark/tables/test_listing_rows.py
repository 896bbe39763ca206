"""Rows of pages of listings; what no listing says is null."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.copy.common.filesystems import Place
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.hdfs.snapshot_records import SnapshotStatus, SnapshottableDirectory
from howdah.fs.status import FileStatus
from howdah.proto import types_pb2 as pb
from howdah.spark.tables.inode_rows import NAMESPACE
from howdah.spark.tables.listing_rows import Page, Snapshots, lists_of
from howdah.spark.tables.live_walk import plan_walk, walked
from howdah.spark.tables.namespace_table import snapshots_of


def entry(name: bytes, kind: int = pb.HdfsFileStatusProto.IS_DIR) -> pb.HdfsFileStatusProto:
    message = pb.HdfsFileStatusProto(
        path=name,
        length=0,
        permission=pb.FsPermissionProto(perm=0o755),
        owner="ann",
        group="staff",
        modification_time=(1 << 64) - 5,
        access_time=0,
    )
    message.fileType = kind  # type: ignore[assignment]
    return message


def rows(page: Page) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = NAMESPACE.batch_of_lists(lists_of(page, NAMESPACE)).to_pylist()
    return found


def test_names_that_are_no_utf8_and_times_before_1970_are_shown() -> None:
    (row,) = rows(Page("/d", [entry(b"\xff")]))
    assert (row["path"], row["modification_time"], row["quota_names"]) == ("/d/�", None, None)
    assert (row["snapshots"], row["snapshot_names"], row["is_open"]) == (None, None, None)


@pytest.mark.parametrize("time_ms", [253_402_300_800_000, 1 << 60, (1 << 63) - 1])
def test_a_time_that_no_timestamp_has_is_null_and_hides_no_other_row(time_ms: int) -> None:
    far, near = entry(b"far"), entry(b"near")
    far.modification_time = far.access_time = time_ms
    near.modification_time = 1500
    first, second = rows(Page("/d", [far, near]))
    assert (first["modification_time"], first["access_time"]) == (None, None)
    assert second["modification_time"] == datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC)


def test_snapshots_that_may_not_be_listed_are_null() -> None:
    snapshots: Snapshots = {"/a": ("s1", "s2"), "/b": None}
    found = rows(Page("/", [entry(b"a"), entry(b"b"), entry(b"c")], snapshots=snapshots))
    assert [(row["snapshots"], row["snapshot_names"]) for row in found] == [
        (2, ["s1", "s2"]),
        (None, None),
        (0, None),
    ]


class Guarded(HdfsFileSystem):
    """Directories of which some may not be listed."""

    def __init__(self) -> None:
        self._status = FileStatus("/", 0, True, 0, 0, 0, 0, 0o755, "ann", "staff")

    def list_snapshottable_directories(self) -> list[SnapshottableDirectory]:
        status = self._status
        return [
            SnapshottableDirectory(FileStatus(path, 0, True, 0, 0, 0, 0, 0o755, "a", "b"), 2, 10)
            for path in ("/mine", "/theirs", "/gone")
        ] + [SnapshottableDirectory(status, 0, 10)]

    def list_snapshots(self, path: object) -> list[SnapshotStatus]:
        if path == "/theirs":
            raise errors.AccessDenied("Permission denied")
        if path == "/gone":
            raise errors.PathNotFound("it is not there")
        return [SnapshotStatus(self._status, name, at, False) for at, name in ((2, "b"), (1, "a"))]


def test_snapshots_are_those_that_the_user_may_list() -> None:
    assert snapshots_of(Guarded()) == {"/mine": ("a", "b"), "/theirs": None, "/gone": (), "/": ()}


@pytest.mark.parametrize("most_parts", [1, 2, 7])
def test_a_tree_of_any_filesystem_is_walked_once(tmp_path: Any, most_parts: int) -> None:
    for name in ("a/b/c", "a/d", "e", "f/g/h/i"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").write_bytes(b"1")
    fs = Place.of(tmp_path.as_uri(), Configuration({}), None).connect()
    parts = plan_walk(fs, str(tmp_path), most_parts, lambda directory: True)
    # Directories that come after the plan belong to the part that lists where they are.
    (tmp_path / "late" / "deep").mkdir(parents=True)
    (tmp_path / "e").rmdir()
    found = [
        status.path.removeprefix(str(tmp_path))
        for part in parts
        for _, entries in walked(fs, part, lambda directory: True)
        for status in entries
        if isinstance(status, FileStatus)
    ]
    assert sorted(found) == [
        *("/a", "/a/b", "/a/b/c", "/a/b/file", "/a/d", "/f", "/f/g", "/f/g/h", "/f/g/h/i"),
        *("/late", "/late/deep"),
    ]
    assert [part.top for part in parts if part.top is not None] == [str(tmp_path)]
