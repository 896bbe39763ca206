"""Data directories: whose they are, and who may use them."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.datanode.control import pool_upgrade
from howdah.datanode.control.directories import DataDirectories
from howdah.datanode.control.reports import Namespace
from howdah.formats.version import BlockPoolVersion, DatanodeVersion
from howdah.storage.layout import StorageDirectory

NAMESPACE = Namespace(5, "CID-1", 7, "BP-1-127.0.0.1-1", "3.5.0")


def open_and_join(*paths: Path, namespace: Namespace = NAMESPACE) -> tuple[str, list[str]]:
    """(uuid, storage ids) of directories after a start and a stop."""
    directories = DataDirectories.open([("DISK", path) for path in paths])
    try:
        directories.join(namespace)
        return directories.uuid, [volume.storage_id for volume in directories.volumes.all]
    finally:
        directories.close()


def test_new_directories_are_formatted_as_hadoop_does(tmp_path: Path) -> None:
    uuid, (storage_id,) = open_and_join(tmp_path / "data")
    version = StorageDirectory(tmp_path / "data").read_version(DatanodeVersion)
    assert version == DatanodeVersion(storage_id, "CID-1", uuid)
    pool = tmp_path / "data" / "current" / "BP-1-127.0.0.1-1"
    assert StorageDirectory(pool).read_version(BlockPoolVersion) == BlockPoolVersion(
        5, "BP-1-127.0.0.1-1", 7
    )
    assert {path.name for path in pool.iterdir()} == {"current", "tmp"}
    assert {path.name for path in (pool / "current").iterdir()} == {"VERSION", "finalized", "rbw"}


def test_a_datanode_and_its_volumes_keep_their_ids(tmp_path: Path) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    assert open_and_join(*paths) == open_and_join(*paths)


def test_a_new_volume_joins_the_datanode_of_the_others(tmp_path: Path) -> None:
    uuid, ids = open_and_join(tmp_path / "a")
    again, more = open_and_join(tmp_path / "a", tmp_path / "b")
    assert (again, more[0]) == (uuid, ids[0])
    assert more[1] != ids[0]


def test_a_start_that_met_no_namenode_leaves_directories_that_start_again(tmp_path: Path) -> None:
    for _ in range(2):
        DataDirectories.open([("SSD", tmp_path / "a")]).close()
    open_and_join(tmp_path / "a")


def test_a_volume_in_memory_is_formatted_as_any_other(tmp_path: Path) -> None:
    directories = DataDirectories.open([("DISK", tmp_path / "a"), ("RAM_DISK", tmp_path / "ram")])
    try:
        kinds = [volume.is_transient for volume in directories.volumes.all]
        on_disks = [volume.path for volume in directories.volumes.on_disks()]
    finally:
        directories.close()
    assert kinds == [False, True]
    assert on_disks == [str(tmp_path / "a")]


def test_directories_of_another_cluster_are_not_touched(tmp_path: Path) -> None:
    open_and_join(tmp_path / "a")
    other = Namespace(5, "CID-2", 7, "BP-1-127.0.0.1-1", "3.5.0")
    with pytest.raises(errors.InconsistentStorage, match="Incompatible clusterIDs"):
        open_and_join(tmp_path / "a", namespace=other)


def test_a_pool_of_another_namespace_is_not_touched(tmp_path: Path) -> None:
    open_and_join(tmp_path / "a")
    other = Namespace(6, "CID-1", 7, "BP-1-127.0.0.1-1", "3.5.0")
    with pytest.raises(errors.InconsistentStorage, match="Incompatible namespaceIDs"):
        open_and_join(tmp_path / "a", namespace=other)


def test_nothing_is_made_where_a_disk_was_unplugged(tmp_path: Path) -> None:
    directories = DataDirectories.open([("DISK", tmp_path / "a"), ("DISK", tmp_path / "b")])
    directories.join(NAMESPACE)
    (tmp_path / "a" / "current").rename(tmp_path / "unplugged")
    directories.join(NAMESPACE)
    assert not (tmp_path / "a" / "current").exists()
    directories.close()


def test_two_pools_lie_side_by_side(tmp_path: Path) -> None:
    open_and_join(tmp_path / "a")
    open_and_join(tmp_path / "a", namespace=Namespace(6, "CID-1", 7, "BP-2-x-1", "3.5.0"))
    names = {path.name for path in (tmp_path / "a" / "current").iterdir()}
    assert names == {"VERSION", "BP-1-127.0.0.1-1", "BP-2-x-1"}


def test_directories_of_two_datanodes_are_a_mistake(tmp_path: Path) -> None:
    open_and_join(tmp_path / "a")
    open_and_join(tmp_path / "b")
    with pytest.raises(errors.InconsistentStorage, match="different datanodes"):
        open_and_join(tmp_path / "a", tmp_path / "b")
    # The mistake has left no lock behind.
    open_and_join(tmp_path / "a")


def test_a_directory_with_something_else_in_it_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "photos").write_text("mine")
    with pytest.raises(errors.InconsistentStorage, match="is not empty"):
        open_and_join(tmp_path / "a")


def test_a_directory_in_the_middle_of_an_upgrade_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "a" / "previous.tmp").mkdir(parents=True)
    with pytest.raises(errors.InconsistentStorage, match="upgrade"):
        open_and_join(tmp_path / "a")


def test_a_directory_that_another_process_uses_is_not_touched(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys; from pathlib import Path;"
            "from howdah.datanode.control.directories import DataDirectories as D;"
            "d = D.open([('DISK', Path(sys.argv[1]))]); print('held', flush=True);"
            "sys.stdin.read()",
            str(tmp_path / "a"),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(errors.StorageLocked, match=str(holder.pid)):
            open_and_join(tmp_path / "a")
    finally:
        holder.communicate()


@pytest.mark.parametrize(("tolerated", "starts"), [(0, False), (1, True), (-1, True)])
def test_a_directory_that_cannot_be_used_is_a_failed_volume(
    tmp_path: Path, tolerated: int, starts: bool
) -> None:
    (tmp_path / "file").write_text("")
    paths = [("DISK", tmp_path / "a"), ("DISK", tmp_path / "file" / "below")]
    if not starts:
        with pytest.raises(errors.InconsistentStorage, match="1 of 2 data directories"):
            DataDirectories.open(paths, tolerated=tolerated)
        return
    directories = DataDirectories.open(paths, tolerated=tolerated)
    assert len(directories.volumes.all) == 1
    assert len(directories.unusable) == 1
    directories.close()


def test_without_any_directory_nothing_starts(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(errors.InconsistentStorage):
        DataDirectories.open([("DISK", tmp_path / "file" / "below")], tolerated=-1)


POOL = "BP-1-127.0.0.1-1"
FAULTS = {"empty": b"", "cut": b"#Thu Jan 01\nstorageID=DS-", "garbage": b"\xf0\x00garbage" * 9}


@pytest.mark.parametrize("content", [None, *FAULTS.values()], ids=["gone", *FAULTS])
@pytest.mark.parametrize("which", ["current/VERSION", f"current/{POOL}/current/VERSION"])
def test_a_version_that_is_lost_makes_nothing_new_over_what_is_there(
    tmp_path: Path, which: str, content: bytes | None
) -> None:
    root = tmp_path / "a"
    before = open_and_join(root)
    replica = root / "current" / POOL / "current" / "finalized" / "blk_1"
    replica.write_bytes(b"data")
    if content is None:
        (root / which).unlink()
    else:
        (root / which).write_bytes(content)
    if content is None and POOL in which:
        # The directory's name and the namenode say the same as the file did.
        assert open_and_join(root) == before
    else:
        with pytest.raises(errors.HowdahError, match=str(root)):
            open_and_join(root)
    assert replica.read_bytes() == b"data"


def _fail_on(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    """Let the disk below `root` fail whoever looks at it."""
    real_scan, real_stat = os.scandir, os.stat

    def scandir(path: Any) -> Any:
        if Path(path).is_relative_to(root):
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return real_scan(path)

    def stat(path: Any, **options: Any) -> os.stat_result:
        if not isinstance(path, int) and Path(path).is_relative_to(root):
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return real_stat(path, **options)

    monkeypatch.setattr(os, "scandir", scandir)
    monkeypatch.setattr(os, "stat", stat)


def test_a_disk_that_fails_behind_the_opening_ends_no_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The scan of its replicas removes the volume, if that many may be missing."""
    paths = [tmp_path / "a", tmp_path / "b"]
    open_and_join(*paths)
    directories = DataDirectories.open([("DISK", path) for path in paths])
    try:
        with monkeypatch.context() as patch:
            _fail_on(patch, paths[0])
            directories.settle_trash()
    finally:
        directories.close()
    assert ") stays for now: [Errno 5] Input/output error" in caplog.text


def test_an_upgrade_is_final_on_the_disks_that_do_not_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    open_and_join(*paths)
    directories = DataDirectories.open([("DISK", path) for path in paths])
    finalized: list[Path] = []
    try:
        directories.join(NAMESPACE)
        with monkeypatch.context() as patch:
            _fail_on(patch, paths[0])
            real = pool_upgrade.finalize

            def finalize(pool: StorageDirectory) -> None:
                real(pool)
                finalized.append(pool.root)

            patch.setattr(pool_upgrade, "finalize", finalize)
            directories.finalize_upgrade(NAMESPACE.pool_id)
    finally:
        directories.close()
    assert finalized == [paths[1] / "current" / NAMESPACE.pool_id]
    assert "is not final yet: [Errno 5] Input/output error" in caplog.text
