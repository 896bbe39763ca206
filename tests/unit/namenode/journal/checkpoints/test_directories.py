"""The directories of a secondary namenode: whose they are, and what is left of a crash."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from howdah import errors
from howdah.formats.image.sections import Sink
from howdah.formats.version import NamenodeVersion
from howdah.namenode.journal.checkpoints.directories import CheckpointDirectories
from howdah.storage.layout import StorageDirectory

VERSION = NamenodeVersion(7, "CID-1", "BP-1", 0)


@pytest.fixture
def roots(tmp_path: Path) -> list[Path]:
    return [tmp_path / "one", tmp_path / "two"]


@pytest.fixture
def opened(roots: list[Path]) -> Callable[..., CheckpointDirectories]:
    """Opens them and closes them again: what is on disk then is as a process left it."""

    def open_them(**how: bool) -> CheckpointDirectories:
        directories = CheckpointDirectories(roots, roots)
        directories.open(**how)
        directories.close()
        return directories

    return open_them


def fetch(sink: Sink) -> None:
    sink.write(b"edits")


def test_new_directories_are_of_the_first_namenode(
    opened: Callable[..., CheckpointDirectories], roots: list[Path]
) -> None:
    opened().belong_to(VERSION)
    assert opened().version == VERSION
    for root in roots:
        assert StorageDirectory(root).read_version(NamenodeVersion) == VERSION


def test_directories_follow_an_upgrade(
    opened: Callable[..., CheckpointDirectories], roots: list[Path]
) -> None:
    opened().belong_to(VERSION)
    upgraded = replace(VERSION, ctime_ms=1234)
    # A crash has left one of them behind.
    StorageDirectory(roots[0]).write_version(upgraded, 0)
    opened().belong_to(upgraded)
    assert StorageDirectory(roots[1]).read_version(NamenodeVersion) == upgraded


def test_another_namenode_is_refused(opened: Callable[..., CheckpointDirectories]) -> None:
    opened().belong_to(VERSION)
    with pytest.raises(errors.InconsistentStorage, match="-format empties them"):
        opened().belong_to(replace(VERSION, namespace_id=8))


def test_directories_of_two_filesystems_are_refused(
    opened: Callable[..., CheckpointDirectories], roots: list[Path]
) -> None:
    opened().belong_to(VERSION)
    StorageDirectory(roots[1]).write_version(replace(VERSION, cluster_id="CID-2"), 0)
    with pytest.raises(errors.InconsistentStorage, match="another filesystem"):
        opened()


def test_what_a_crash_left_on_its_way_is_removed(
    opened: Callable[..., CheckpointDirectories], roots: list[Path]
) -> None:
    opened()
    names = [
        "fsimage.ckpt_0000000000000000007",
        "fsimage_0000000000000000007.md5",
        "edits_0000000000000000001-0000000000000000007.tmp",
        "edits_tmp_0000000000000000001-0000000000000000007_0000001795243451036",
    ]
    for name in names:
        (roots[0] / "current" / name).touch()
    opened()
    assert not list((roots[0] / "current").iterdir())


def test_images_without_an_owner_are_refused(
    opened: Callable[..., CheckpointDirectories], roots: list[Path]
) -> None:
    opened()
    (roots[0] / "current" / "fsimage_0000000000000000007").touch()
    with pytest.raises(errors.InconsistentStorage, match="-format empties it"):
        opened()
    opened(format=True)
    assert not list((roots[0] / "current").iterdir())


def test_segment_is_kept_in_the_directories_that_work(
    opened: Callable[..., CheckpointDirectories], roots: list[Path]
) -> None:
    directories = opened()
    (roots[0] / "current").rmdir()
    (roots[0] / "current").touch()
    segment = directories.keep_segment(1, 7, fetch)
    assert segment.path == roots[1] / "current" / "edits_0000000000000000001-0000000000000000007"
    assert segment.path.read_bytes() == b"edits"
    (roots[0] / "current").unlink()


def test_segment_that_no_directory_takes_is_an_error(
    opened: Callable[..., CheckpointDirectories], roots: list[Path]
) -> None:
    directories = opened()
    for root in roots:
        (root / "current").rmdir()
    with pytest.raises(FileNotFoundError):
        directories.keep_segment(1, 7, fetch)


def test_a_segment_takes_the_place_of_one_of_another_past(
    opened: Callable[..., CheckpointDirectories], roots: list[Path]
) -> None:
    directories = opened()

    def fetch_other(sink: Sink) -> None:
        sink.write(b"other edits")

    directories.keep_segment(1, 7, fetch_other)
    segment = directories.keep_segment(1, 7, fetch)
    for root in roots:
        assert (root / "current" / segment.path.name).read_bytes() == b"edits"


def test_what_reaches_beyond_the_namenodes_log_is_set_aside(
    opened: Callable[..., CheckpointDirectories], roots: list[Path]
) -> None:
    directories = opened()
    directories.keep_segment(1, 7, fetch)
    directories.keep_segment(8, 9, fetch)
    for txid in (7, 9):
        (roots[1] / "current" / f"fsimage_{txid:019d}").touch()
    assert directories.newest_image_txid(8) == 7
    directories.set_later_aside(8)
    assert directories.newest_image_txid(100) == 7
    for root in roots:
        assert [path.name for path in sorted((root / "current").glob("edits_*8-*"))] == [
            f"edits_{8:019d}-{9:019d}.stale"
        ]
    assert (roots[1] / "current" / f"fsimage_{9:019d}.stale").exists()


def test_second_process_is_refused(roots: list[Path]) -> None:
    first = CheckpointDirectories(roots, roots)
    first.open()
    with pytest.raises(errors.StorageLocked):
        CheckpointDirectories(roots, roots).open()
    first.close()
