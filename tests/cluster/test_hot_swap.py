"""Volumes come and go while a datanode runs: `dfsadmin -reconfig datanode`."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from howdah import errors
from howdah.cli.main import main
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support import volumes as volume_files
from tests.support.replicas import blocks_of, found_below

MIB = 1 << 20
DATA = random.Random(17).randbytes(MIB + 99)
CONF: dict[str, str | int] = {
    "dfs.heartbeat.interval": "200ms",
    "dfs.namenode.redundancy.interval.seconds": "200ms",
    "dfs.blocksize": MIB,
    "dfs.replication": 2,
}
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=2, conf=CONF) as cluster:
        yield cluster


@pytest.fixture
def fs(cluster: MiniCluster) -> Iterator[HdfsFileSystem]:
    with cluster.connect() as connected:
        assert isinstance(connected, HdfsFileSystem)
        yield connected


@pytest.fixture
def run(cluster: MiniCluster, capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*words: str) -> tuple[int, str, str]:
        code = main(["-fs", cluster.uri, "dfsadmin", *words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return command


def set_volumes(cluster: MiniCluster, *volumes: str) -> None:
    """What the files of datanode0 say."""
    volume_files.set_volumes(cluster, "datanode0", ",".join(volumes))


def reconfigure(cluster: MiniCluster, run: Run) -> str:
    """Have datanode0 do it; what the status says in the end."""
    place = cluster.process("datanode0").addresses["ipc"]
    said = run("-reconfig", "datanode", place, "start")
    assert said[:2] == (0, f"Started reconfiguration task on node [{place}].\n")
    status: list[str] = []

    def is_over() -> bool:
        status[:] = [run("-reconfig", "datanode", place, "status")[1]]
        return " and finished at " in status[0]

    wait_until(is_over, 60)
    assert status[0].startswith(f"Reconfiguring status for node [{place}]: started at ")
    return status[0].partition("\n")[2]


def volumes_told(cluster: MiniCluster, run: Run) -> list[str]:
    place = cluster.process("datanode0").addresses["ipc"]
    lines = run("-getVolumeReport", place)[1].splitlines()
    return [line.removeprefix("Directory: ") for line in lines if line.startswith("Directory: ")]


def put(fs: FileSystem, path: str) -> None:
    with fs.create(path) as out:
        out.write(DATA)


def are_on(volume: Path, cluster: MiniCluster, path: str) -> bool:
    """Whether all blocks of the file have a finalized replica there."""
    names = {f"blk_{block_id}" for block_id in blocks_of(cluster, path)}
    return names <= {
        found.name for found in found_below(volume, "current/BP-*/current/finalized/*/*/*")
    }


def test_what_can_be_changed_is_listed(cluster: MiniCluster, run: Run) -> None:
    place = cluster.process("datanode0").addresses["ipc"]
    code, out, _ = run("-reconfig", "datanode", place, "properties")
    assert (code, out.splitlines()) == (
        0,
        [
            f"Node [{place}] Reconfigurable properties:",
            "dfs.datanode.balance.bandwidthPerSec",
            "dfs.datanode.data.dir",
            "dfs.disk.balancer.enabled",
            "dfs.disk.balancer.plan.valid.interval",
        ],
    )
    status = run("-reconfig", "datanode", place, "status")
    assert status[:2] == (0, f"Reconfiguring status for node [{place}]: no task was found.\n")


def test_a_datanode_that_is_not_there_is_a_failure(run: Run) -> None:
    code, out, complained = run("-reconfig", "datanode", "127.0.0.1:1", "start")
    assert (code, out) == (1, "")
    assert complained.startswith("Node [127.0.0.1:1] reconfiguring: ")


def test_volumes_are_exchanged_under_readers_and_writers(
    cluster: MiniCluster, fs: HdfsFileSystem, run: Run
) -> None:
    (old,) = cluster.data_dirs("datanode0")
    new = old.with_name("added")
    put(fs, "/before")
    with fs.create("/meanwhile") as out, fs.open("/before") as file:
        out.write(DATA[:1000])
        out.hflush()
        assert file.read(1000) == DATA[:1000]

        set_volumes(cluster, str(old), f"[DISK]{new}")
        told = reconfigure(cluster, run)
        assert told.startswith("SUCCESS: Changed property dfs.datanode.data.dir\n\tFrom: ")
        assert told.endswith(f'\tTo: "{old},[DISK]{new}"\n')
        assert volumes_told(cluster, run) == [str(old), str(new)]

        set_volumes(cluster, str(new))
        assert reconfigure(cluster, run).startswith("SUCCESS")
        assert volumes_told(cluster, run) == [str(new)]
        out.write(DATA[1000:])
        assert file.read() == DATA[1000:]
    put(fs, "/after")
    for path in ("/before", "/meanwhile", "/after"):
        # The namenode has copied what went.
        wait_until(partial(are_on, new, cluster, path), 60)
        with fs.open(path) as file:
            assert file.read() == DATA

    # What is left on the old one is found again; the copies on the new one count.
    set_volumes(cluster, str(new), str(old))
    assert reconfigure(cluster, run).startswith("SUCCESS")
    assert volumes_told(cluster, run) == [str(new), str(old)]
    for path in ("/before", "/meanwhile", "/after"):
        with fs.open(path) as file:
            assert file.read() == DATA


def test_a_directory_that_cannot_be_used_is_told_and_the_others_stay(
    cluster: MiniCluster, fs: HdfsFileSystem, run: Run, tmp_path: Path
) -> None:
    present = volumes_told(cluster, run)
    (tmp_path / "file").write_text("no directory")
    set_volumes(cluster, *present, str(tmp_path / "file" / "below"))
    told = reconfigure(cluster, run)
    assert told.startswith("FAILED: Change property dfs.datanode.data.dir\n")
    assert f"\tError: {tmp_path / 'file' / 'below'}: " in told
    assert volumes_told(cluster, run) == present

    set_volumes(cluster, f"[SSD]{present[0]}", *present[1:])
    assert "Changing storage type is not allowed" in reconfigure(cluster, run)
    put(fs, "/still")
    with fs.open("/still") as file:
        assert file.read() == DATA


def test_a_directory_that_has_failed_is_used_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its disk was away, and is back with all that it had."""
    conf = {**CONF, "dfs.datanode.failed.volumes.tolerated": 1, "dfs.replication": 1}
    with MiniCluster(datanodes=1, volumes=2, conf=conf) as cluster, cluster.connect() as fs:
        assert isinstance(fs, HdfsFileSystem)

        def run(*words: str) -> tuple[int, str, str]:
            code = main(["-fs", cluster.uri, "dfsadmin", *words])
            said = capsys.readouterr()
            return code, said.out, said.err

        directories = cluster.data_dirs("datanode0")
        paths = [f"/before{number}" for number in range(6)]
        for path in paths:
            put(fs, path)
        away = directories[1] / "current"
        away.rename(directories[1] / "away")
        set_volumes(cluster, *map(str, directories))

        def has_failed() -> bool:
            # Whoever writes there finds it.
            with contextlib.suppress(errors.RemoteError):
                put(fs, "/probe")
            return volumes_told(cluster, run) == [str(directories[0])]

        wait_until(has_failed, 60)
        assert f"\tError: {directories[1]}: " in reconfigure(cluster, run)
        assert volumes_told(cluster, run) == [str(directories[0])]
        (directories[1] / "away").rename(away)
        assert reconfigure(cluster, run).startswith("SUCCESS: Changed property")
        assert volumes_told(cluster, run) == list(map(str, directories))
        for path in paths:
            with fs.open(path) as file:
                assert file.read() == DATA
        wait_until(lambda: not list(fs.list_corrupt_files()), 60)
        wait_until(lambda: written_to(fs, directories[1]), 60)


def written_to(fs: FileSystem, volume: Path) -> bool:
    """Whether new blocks come to the volume."""

    def count() -> int:
        return sum(1 for _ in volume.glob("current/BP-*/current/finalized/*/*/blk_*"))

    before = count()
    put(fs, "/after")
    return count() > before
