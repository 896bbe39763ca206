"""Checkpoints of a running namenode: by fork, on request and by themselves."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from howdah import errors
from howdah.client.namenode import NamenodeProxy
from howdah.client.namenodes.calls import SingleNamenode
from howdah.config import namenode_address
from howdah.fs.hdfs.administration import Administration
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.local.processes import is_running
from howdah.namenode.service.protocols.client import ClientProtocol
from howdah.rpc.client import RpcClient
from howdah.runtime.disk import Operation
from howdah.testing import MiniCluster
from howdah.testing.storage_faults import StorageAction
from howdah.testing.waiting import wait_until

# No checkpoint by itself.
QUIET = {
    "dfs.namenode.checkpoint.txns": "1000000",
    "dfs.namenode.checkpoint.period": "1d",
    "dfs.namenode.num.extra.edits.retained": "0",
}
# One after 20 edits, looked for every second.
BUSY = {
    "dfs.namenode.checkpoint.txns": "20",
    "dfs.namenode.checkpoint.check.period": "1s",
    "dfs.namenode.num.extra.edits.retained": "0",
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=1, conf=QUIET, faults=True) as cluster:
        # An image that is more than one write.
        with cluster.connect() as fs:
            for number in range(20):
                fs.mkdirs(f"/large{number}")
                fs.set_xattr(f"/large{number}", "user.large", bytes(range(256)) * 30)
        yield cluster


@pytest.fixture
def fs(cluster: MiniCluster) -> Iterator[HdfsFileSystem]:
    with cluster.connect() as fs:
        yield fs


@contextmanager
def safe_mode(fs: HdfsFileSystem) -> Iterator[None]:
    fs.set_safe_mode("enter")
    try:
        yield
    finally:
        fs.set_safe_mode("leave")


def administration(cluster: MiniCluster) -> Administration:
    rpc = RpcClient(namenode_address(cluster.conf), ClientProtocol.PROTOCOL)
    return Administration(NamenodeProxy(SingleNamenode(rpc)))


def current(cluster: MiniCluster) -> Path:
    return cluster.data_dirs("namenode")[0] / "current"


def images(cluster: MiniCluster) -> list[str]:
    return sorted(path.name for path in current(cluster).glob("fsimage_*") if not path.suffix)


def debris(cluster: MiniCluster) -> list[str]:
    names = {path.name for path in current(cluster).glob("fsimage*")}
    whole = {name for image in images(cluster) for name in (image, f"{image}.md5")}
    return sorted(names - whole)


@pytest.mark.req("FS-031")
def test_namespace_is_saved_in_safe_mode_only(cluster: MiniCluster, fs: HdfsFileSystem) -> None:
    with pytest.raises(errors.RemoteError, match="Safe mode should be turned ON"):
        administration(cluster).save_namespace()
    before = images(cluster)
    with safe_mode(fs):
        assert administration(cluster).save_namespace()
    assert images(cluster)[-1] > before[-1]


def test_namespace_is_not_saved_again_while_its_image_is_recent(
    cluster: MiniCluster, fs: HdfsFileSystem
) -> None:
    admin = administration(cluster)
    with safe_mode(fs):
        admin.save_namespace()
        saved = images(cluster)
        assert not admin.save_namespace(3600, 1000)
        assert images(cluster) == saved
        # The window is long enough; the record that begins a segment is one too many.
        assert admin.save_namespace(3600, 0)


@pytest.mark.parametrize(
    ("operation", "pattern", "action", "skip"),
    [
        (Operation.OPEN, "fsimage.ckpt_*", StorageAction.FULL, 0),
        (Operation.WRITE, "fsimage.ckpt_*", StorageAction.FULL, 1),
        (Operation.WRITE, "fsimage.ckpt_*", StorageAction.BROKEN, 1),
        (Operation.WRITE, "fsimage.ckpt_*", StorageAction.KILL, 1),
        (Operation.SYNC, "fsimage.ckpt_*", StorageAction.BROKEN, 0),
        (Operation.WRITE, "fsimage_*.md5.tmp", StorageAction.FULL, 0),
        (Operation.RENAME, "fsimage.ckpt_*", StorageAction.BROKEN, 0),
    ],
)
@pytest.mark.req("FS-031", "LM-009")
def test_namenode_survives_a_checkpoint_that_fails(
    cluster: MiniCluster,
    fs: HdfsFileSystem,
    operation: Operation,
    pattern: str,
    action: StorageAction,
    skip: int,
) -> None:
    admin, before = administration(cluster), images(cluster)
    fault = cluster.storage_faults("namenode").arm(operation, pattern, action, skip=skip)
    with safe_mode(fs):
        with pytest.raises(errors.RemoteError, match=r"Errno|status -9"):
            admin.save_namespace()
        assert fault.victims()
        assert "the checkpoint failed" in cluster.log("namenode").splitlines()[-1]
        assert images(cluster) == before
        assert not debris(cluster)
        assert admin.save_namespace()
    assert images(cluster)[-1] > before[-1]
    fs.mkdirs("/goes/on")


@pytest.mark.req("FS-023", "FS-031", "LM-009")
def test_namenode_that_is_killed_in_a_checkpoint_starts_right(
    cluster: MiniCluster, fs: HdfsFileSystem
) -> None:
    arm = cluster.storage_faults("namenode").arm
    fault = arm(Operation.WRITE, "fsimage.ckpt_*", StorageAction.PAUSE, skip=1)
    fs.mkdirs("/acknowledged")
    fs.set_safe_mode("enter")
    with ThreadPoolExecutor(1) as background:
        saving = background.submit(administration(cluster).save_namespace)
        wait_until(fault.victims, timeout_s=30, what="the child has begun")
        assert debris(cluster)
        cluster.kill("namenode")
        cluster.restart("namenode")
        # The call was broken off, or repeated when safe mode was over.
        with pytest.raises((errors.RemoteError, errors.Unreachable)):
            saving.result()
    (child,) = fault.victims()
    assert not is_running(child)
    assert not debris(cluster)
    assert "fsimage.ckpt_" in cluster.log("namenode")
    assert fs.get_file_status("/acknowledged").is_directory


@pytest.mark.req("FS-031")
def test_a_namenode_starts_from_the_image_that_it_made_by_itself() -> None:
    with MiniCluster(datanodes=1, conf=BUSY, faults=True) as cluster, cluster.connect() as fs:
        # The first attempt fails; the next check tries again.
        arm = cluster.storage_faults("namenode").arm
        fault = arm(Operation.SYNC, "fsimage.ckpt_*", StorageAction.FULL)
        for number in range(30):
            fs.mkdirs(f"/d{number}")
        wait_until(lambda: images(cluster)[-1] > "fsimage_0000000000000000020", timeout_s=60)
        assert fault.victims()
        fs.mkdirs("/after")
        cluster.restart("namenode")
        assert len(list(fs.list_status("/"))) == 31


@pytest.mark.req("FS-031", "LM-009")
def test_a_checkpoint_that_hangs_is_ended_and_tried_again() -> None:
    conf = {**QUIET, "howdah.namenode.checkpoint.timeout": "5s"}
    with MiniCluster(datanodes=1, conf=conf, faults=True) as cluster, cluster.connect() as fs:
        admin, before = administration(cluster), images(cluster)
        arm = cluster.storage_faults("namenode").arm
        fault = arm(Operation.WRITE, "fsimage.ckpt_*", StorageAction.PAUSE)
        with ThreadPoolExecutor(1) as background:
            fs.set_safe_mode("enter")
            saving = background.submit(admin.save_namespace)
            wait_until(fault.victims, timeout_s=30, what="the child has begun")
            assert fs.get_file_status("/").is_directory, "others are served meanwhile"
            with pytest.raises(errors.RemoteError, match="took longer than 5 s"):
                saving.result()
        (child,) = fault.victims()
        wait_until(lambda: not is_running(child), timeout_s=30, what="the child is gone")
        wait_until(lambda: not debris(cluster), timeout_s=30, what="so is what it wrote")
        assert images(cluster) == before
        assert admin.save_namespace()
        assert images(cluster) > before


@pytest.mark.req("FS-031")
def test_as_many_images_and_edits_stay_as_is_said() -> None:
    conf = {
        **QUIET,
        "dfs.namenode.num.checkpoints.retained": "3",
        "dfs.namenode.num.extra.edits.retained": "10",
        "dfs.namenode.max.extra.edits.segments.retained": "2",
    }
    with MiniCluster(datanodes=1, conf=conf) as cluster, cluster.connect() as fs:
        with safe_mode(fs):
            for _ in range(9):
                administration(cluster).save_namespace()
        oldest, *newer = [int(name.rpartition("_")[2]) for name in images(cluster)]
        assert len(newer) == 2
        lasts = sorted(int(p.name.rpartition("-")[2]) for p in current(cluster).glob("edits_*-*"))
        # A segment between every two images; before them two are allowed, not ten edits.
        assert lasts == [oldest - 2, oldest, *newer]


@pytest.mark.req("FS-030", "FS-031")
def test_a_name_directory_that_is_lost_costs_the_others_neither_images_nor_room(
    tmp_path: Path,
) -> None:
    healthy, lost = tmp_path / "healthy", tmp_path / "lost"
    conf = {**QUIET, "dfs.namenode.name.dir": f"{healthy},{lost}"}
    with MiniCluster(datanodes=1, conf=conf) as cluster, cluster.connect() as fs:
        lost.rename(tmp_path / "away")
        with safe_mode(fs):
            for _ in range(4):
                administration(cluster).save_namespace()
        found = [path for path in (healthy / "current").glob("fsimage_*") if not path.suffix]
        assert len(found) == 2


@pytest.mark.req("FS-023", "LM-009")
def test_a_start_passes_a_damaged_image_over_and_says_it(
    cluster: MiniCluster, fs: HdfsFileSystem
) -> None:
    fs.mkdirs("/in/the/image")
    with safe_mode(fs):
        administration(cluster).save_namespace()
    fs.mkdirs("/behind/the/image")
    newest = current(cluster) / images(cluster)[-1]
    data = bytearray(newest.read_bytes())
    data[len(data) // 2] ^= 1
    newest.write_bytes(data)
    cluster.restart("namenode")
    assert f"ERROR howdah.namenode.server.process.loading: cannot use {newest}" in cluster.log(
        "namenode"
    )
    assert newest.name not in images(cluster)
    for path in ("/in/the/image", "/behind/the/image"):
        assert fs.get_file_status(path).is_directory


def test_long_segment_is_ended_where_nobody_else_does() -> None:
    conf = {
        **QUIET,
        "dfs.namenode.checkpoint.txns": "40",
        "dfs.namenode.checkpoint.check.period": "1d",
        "dfs.namenode.edit.log.autoroll.multiplier.threshold": "0.5",
        "dfs.namenode.edit.log.autoroll.check.interval.ms": "100",
    }
    with MiniCluster(datanodes=1, conf=conf) as cluster, cluster.connect() as fs:
        for number in range(30):
            fs.mkdirs(f"/{number}")
        wait_until(lambda: list(current(cluster).glob("edits_*-*")), timeout_s=60)
        assert images(cluster) == ["fsimage_0000000000000000000"]
        fs.mkdirs("/behind")
        cluster.kill("namenode")
        cluster.restart("namenode")
        assert len(list(fs.list_status("/"))) == 31
