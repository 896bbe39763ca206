"""A volume follows the namenode through an upgrade, and back; nothing that was there is lost."""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.datanode.control.directories import DataDirectories
from howdah.datanode.control.reports import Namespace
from howdah.datanode.replicas.files import open_files
from howdah.datanode.state.volumes import block_files
from howdah.storage import transitions
from howdah.storage.layout import StorageDirectory
from howdah.testing.waiting import wait_until

POOL = "BP-7-127.0.0.1-1"
OLD = Namespace(7, "CID-1", 0, POOL, "3.5.0")
NEW = replace(OLD, ctime_ms=1000)
BLOCK_ID = 1 << 30 | 0x10203


@pytest.fixture
def pool(tmp_path: Path) -> StorageDirectory:
    """A slice with one finalized replica and one that was being written."""
    start(tmp_path, OLD)
    pool = StorageDirectory(tmp_path / "data" / "current" / POOL)
    put(pool.current / "finalized" / block_files.subdirectory(BLOCK_ID) / f"blk_{BLOCK_ID}", b"old")
    put(pool.current / "rbw" / "blk_5", b"half")
    return pool


def unlistable(monkeypatch: pytest.MonkeyPatch, wanted: Path) -> None:
    """A disk that fails: the directory cannot be listed."""
    list_one = os.scandir

    def scandir(path: Any) -> Any:
        if path == str(wanted):
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        return list_one(path)

    monkeypatch.setattr(os, "scandir", scandir)


def put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    meta = path.with_name(path.name + "_1001.meta")
    meta.write_bytes(b"sums of " + content)


def start(tmp_path: Path, namespace: Namespace, *, rolls_back: bool = False) -> DataDirectories:
    directories = DataDirectories.open([("DISK", tmp_path / "data")], rolls_back=rolls_back)
    try:
        directories.join(namespace)
    finally:
        directories.close()
    return directories


def files(top: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(top)): path.read_bytes()
        for path in top.rglob("blk_*")
        if path.is_file()
    }


def nothing_is_deleted() -> bool:
    return not any(thread.name == "finalize-upgrade" for thread in threading.enumerate())


def test_slice_of_the_same_time_is_left_as_it_is(tmp_path: Path, pool: StorageDirectory) -> None:
    start(tmp_path, OLD)
    assert not (pool.root / "previous").exists()


def test_upgrade_keeps_every_file_and_takes_no_room(tmp_path: Path, pool: StorageDirectory) -> None:
    before = files(pool.current)
    start(tmp_path, NEW)
    assert files(pool.current) == files(pool.root / "previous") == before
    for name in before:
        assert os.path.samefile(pool.current / name, pool.root / "previous" / name)
    assert "cTime=1000" in pool.version_file.read_text()
    assert "cTime=0" in (pool.root / "previous" / "VERSION").read_text()


def test_an_upgrade_that_cannot_keep_all_is_not_done(
    tmp_path: Path, pool: StorageDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A directory that could not be listed was left out: its replicas were gone for the namenode,
    and at the end of the upgrade for everybody."""
    before = files(pool.current)
    failing = pool.root / "previous.tmp" / "finalized" / block_files.subdirectory(BLOCK_ID)
    with monkeypatch.context() as during:
        unlistable(during, failing)
        start(tmp_path, NEW)  # without this volume
    assert not (pool.root / "previous").exists()
    start(tmp_path, NEW)
    assert files(pool.current) == before


def test_replica_that_is_written_again_gets_files_of_its_own(
    tmp_path: Path, pool: StorageDirectory
) -> None:
    start(tmp_path, NEW)
    before = files(pool.root / "previous")
    block = str(pool.current / "rbw" / "blk_5")
    block_fd, meta_fd = open_files((block, block + "_1001.meta"))
    for descriptor in (block_fd, meta_fd):
        os.pwrite(descriptor, b"new", 0)
        os.close(descriptor)
    assert Path(block).read_bytes() == b"newf"
    assert files(pool.root / "previous") == before
    assert sorted(path.name for path in (pool.current / "rbw").iterdir()) == [
        "blk_5",
        "blk_5_1001.meta",
    ]


def test_rollback_brings_back_what_was_deleted_and_takes_away_what_came(
    tmp_path: Path, pool: StorageDirectory
) -> None:
    before = files(pool.current)
    start(tmp_path, NEW)
    (pool.current / "rbw" / "blk_5").unlink()
    put(pool.current / "rbw" / "blk_6", b"new")
    with pytest.raises(errors.InconsistentStorage, match="howdah datanode -rollback"):
        start(tmp_path, OLD)
    # What was looked at before is not what is there: it starts once more.
    with pytest.raises(errors.InconsistentStorage, match="looked at again"):
        start(tmp_path, OLD, rolls_back=True)
    assert files(pool.current) == before
    assert not (pool.root / "previous").exists()
    start(tmp_path, OLD, rolls_back=True)
    start(tmp_path, OLD)


def test_asking_for_a_rollback_without_need_changes_nothing(
    tmp_path: Path, pool: StorageDirectory
) -> None:
    before = files(pool.current)
    start(tmp_path, OLD, rolls_back=True)
    start(tmp_path, NEW, rolls_back=True)
    assert files(pool.current) == before
    assert (pool.root / "previous").exists()


def test_the_trash_comes_back_though_a_state_from_before_an_upgrade_is_kept(
    tmp_path: Path, pool: StorageDirectory
) -> None:
    """A rolling upgrade began before this datanode heard that the upgrade before is final. The
    namenode went back to the beginning of the rolling one, so only what was deleted since is
    missing. It stayed in the trash, which went at the end of the next rolling upgrade."""
    start(tmp_path, NEW)
    before = files(pool.current)
    where = block_files.subdirectory(BLOCK_ID)
    kept = pool.root / "trash" / "finalized" / where
    kept.mkdir(parents=True)
    for file in (pool.current / "finalized" / where).iterdir():
        file.rename(kept / file.name)
    assert files(pool.current) != before
    opened = DataDirectories.open([("DISK", tmp_path / "data")], rolls_back=True)
    with contextlib.closing(opened) as directories:
        directories.settle_trash()
        assert files(pool.current) != before, "the namenode may be older than the upgrade"
        with pytest.raises(errors.InconsistentStorage, match="looked at again"):
            directories.join(NEW)
    assert files(pool.current) == before
    assert not (pool.root / "trash").exists()
    assert (pool.root / "previous").exists()
    start(tmp_path, NEW, rolls_back=True)
    assert files(pool.current) == before


def test_a_namenode_from_before_an_upgrade_gets_that_state_and_not_the_trash(
    tmp_path: Path, pool: StorageDirectory
) -> None:
    before = files(pool.current)
    start(tmp_path, NEW)
    put(pool.root / "trash" / "rbw" / "blk_6", b"new")
    with pytest.raises(errors.InconsistentStorage, match="looked at again"):
        start(tmp_path, OLD, rolls_back=True)
    assert files(pool.current) == before


def test_without_previous_there_is_no_way_back(tmp_path: Path, pool: StorageDirectory) -> None:
    start(tmp_path, NEW).finalize_upgrade(POOL)
    wait_until(nothing_is_deleted)
    with pytest.raises(errors.InconsistentStorage, match="no previous to go back to"):
        start(tmp_path, OLD, rolls_back=True)


def test_second_upgrade_keeps_what_was_before_that(tmp_path: Path, pool: StorageDirectory) -> None:
    start(tmp_path, NEW)
    put(pool.current / "rbw" / "blk_6", b"new")
    start(tmp_path, replace(NEW, ctime_ms=2000))
    assert "rbw/blk_6" in files(pool.root / "previous")


def test_finalization_deletes_what_was_kept_and_nothing_else(
    tmp_path: Path, pool: StorageDirectory
) -> None:
    directories = start(tmp_path, NEW)
    before = files(pool.current)
    directories.finalize_upgrade(POOL)
    directories.finalize_upgrade(POOL)
    wait_until(nothing_is_deleted)
    assert sorted(path.name for path in pool.root.iterdir()) == ["current", "tmp"]
    assert files(pool.current) == before


@pytest.mark.parametrize("broken_off_before", ["write_version", "end_upgrade"])
def test_upgrade_that_is_broken_off_is_done_again(
    tmp_path: Path,
    pool: StorageDirectory,
    monkeypatch: pytest.MonkeyPatch,
    broken_off_before: str,
) -> None:
    before = files(pool.current)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        where = StorageDirectory if broken_off_before == "write_version" else transitions
        patched.setattr(where, broken_off_before, stop)
        with pytest.raises(KeyboardInterrupt):
            start(tmp_path, NEW)
    start(tmp_path, NEW)
    assert files(pool.current) == files(pool.root / "previous") == before


def test_datanode_directory_with_previous_of_hadoop_opens(
    tmp_path: Path, pool: StorageDirectory
) -> None:
    (pool.root / "previous").mkdir()
    (pool.root / "trash").mkdir()
    start(tmp_path, OLD)
    assert (pool.root / "previous").exists()
    assert (pool.root / "trash").exists()


def test_half_an_upgrade_of_hadoop_is_put_back(tmp_path: Path, pool: StorageDirectory) -> None:
    before = files(pool.current)
    pool.current.rename(pool.root / "previous.tmp")
    start(tmp_path, OLD)
    assert files(pool.current) == before
