"""`howdah balancer` on real clusters, while clients work.

Small disks are filesystems in memory, which only some users may mount; where that is not allowed,
the tests that need them are skipped.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah.balancer.namenode import BalancedNamenode
from howdah.balancer.state.utilization import Rules, survey
from howdah.cli.main import main
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.failover import server_faults
from tests.support.failover.workload import working
from tests.support.small_disks import MIB, NotMounted, small_disks

TIMEOUT_S = 60.0
RACKS = ("/r0", "/r1", "/r2", "/r0", "/r1", "/r2")
FILES = 30
THRESHOLD = 8
CONF: dict[str, str | int] = {
    "dfs.blocksize": MIB,
    "dfs.replication": 2,
    "dfs.heartbeat.interval": "200ms",
    "dfs.namenode.redundancy.interval.seconds": "200ms",
    # Of nodes that are stopped nobody is to write to.
    "dfs.namenode.stale.datanode.interval": "2s",
    "dfs.balancer.getBlocks.min-block-size": 1,
    # With so few blocks, nearly all are moved.
    "dfs.balancer.movedWinWidth": "1ms",
}


@pytest.fixture
def uneven(tmp_path: Path) -> Iterator[MiniCluster]:
    """Three datanodes of six have all the blocks; the second namenode is the active one."""
    with small_disks(64 * MIB) as mount:
        try:
            for number in range(len(RACKS)):
                mount(tmp_path / f"datanode{number}" / "data0")
        except NotMounted as error:
            pytest.skip(str(error))
        with MiniCluster(
            datanodes=len(RACKS), namenodes=2, racks=RACKS, conf=CONF, dir=tmp_path
        ) as cluster:
            late = [f"datanode{number}" for number in range(3, len(RACKS))]
            for name in late:
                cluster.stop(name)
            with cluster.connect() as fs:
                for number in range(FILES):
                    with fs.create(f"/file{number}") as out:
                        out.write(content(number))
            for name in late:
                cluster.start(name)
            first = min(cluster.ha_states())
            if cluster.active() == first:
                server_faults.fail_over(cluster)
            yield cluster


def content(number: int) -> bytes:
    return random.Random(number).randbytes(2 * MIB)


def places(fs: FileSystem) -> list[list[str]]:
    """The racks and datanodes of each block, as paths in the network."""
    return [
        list(block.topology_paths)
        for number in range(FILES)
        for block in fs.block_locations(f"/file{number}")
    ]


def is_settled(fs: FileSystem) -> bool:
    """Whether each block has two replicas, on two racks."""
    return all(
        len(paths) == 2 and len({path.rpartition("/")[0] for path in paths}) == 2
        for paths in places(fs)
    )


def left_bytes(fs: FileSystem) -> int:
    """How much would have to be moved."""
    assert isinstance(fs, HdfsFileSystem)
    namenode = BalancedNamenode(fs)
    try:
        return survey(namenode.reports(), Rules(threshold=THRESHOLD)).left_bytes
    finally:
        namenode.close()


@pytest.mark.req("FS-013", "FS-144")
def test_six_uneven_datanodes_come_within_the_threshold_while_clients_work(
    uneven: MiniCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    with uneven.connect() as fs:
        wait_until(lambda: is_settled(fs), TIMEOUT_S)
        wait_until(lambda: left_bytes(fs) > 20 * MIB, TIMEOUT_S, "empty datanodes are known")
        with working(uneven, "/load"):
            capsys.readouterr()
            command = ["balancer", "--conf", str(uneven.conf_dir), "--json"]
            assert main([*command, "-threshold", str(THRESHOLD)]) == 0
        said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert said[0]["bytesLeftToMove"] > 20 * MIB
        assert said[-2]["status"] == said[-1]["status"] == "SUCCESS"
        assert said[-2]["bytesAlreadyMoved"] >= said[0]["bytesLeftToMove"] // 2
        wait_until(lambda: is_settled(fs), TIMEOUT_S, "no replica too many, no rack too few")
        for number in range(FILES):
            with fs.open(f"/file{number}") as stream:
                assert stream.read() == content(number)
        assert not fs.exists("/system/balancer.id")


def test_there_is_only_one_balancer(
    howdah_cluster: MiniCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["balancer", "--conf", str(howdah_cluster.conf_dir)]
    with howdah_cluster.connect() as fs:
        with fs.create("/system/balancer.id", overwrite=True) as out:
            out.write(b"elsewhere")
            out.hflush()
            assert main(command) == 252
            assert "Another Balancer is running" in capsys.readouterr().out
            assert fs.exists("/system/balancer.id")
        # One that was killed has left its file behind.
        assert main(command) == 0
        assert "The cluster is balanced. Exiting..." in capsys.readouterr().out
        assert not fs.exists("/system/balancer.id")


def test_the_bandwidth_of_all_datanodes_is_set_while_they_run(
    howdah_cluster: MiniCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    admin = ["dfsadmin", "--conf", str(howdah_cluster.conf_dir)]
    assert main([*admin, "-setBalancerBandwidth", "12345678"]) == 0
    with howdah_cluster.connect() as fs:
        assert isinstance(fs, HdfsFileSystem)
        ports = [each.id.ipcPort for each in fs.administration.datanodes("LIVE")]
        hosts = [each.id.ipAddr for each in fs.administration.datanodes("LIVE")]
    try:
        for host, port in zip(hosts, ports, strict=True):

            def is_set(place: str = f"{host}:{port}") -> bool:
                capsys.readouterr()
                assert main([*admin, "-getBalancerBandwidth", place]) == 0
                return "is 12345678 bytes per second" in capsys.readouterr().out

            wait_until(is_set, TIMEOUT_S)
    finally:
        assert main([*admin, "-setBalancerBandwidth", "100m"]) == 0


# --- the mover ---


def test_replicas_follow_a_policy_that_has_changed(capsys: pytest.CaptureFixture[str]) -> None:
    conf: dict[str, str | int] = {
        "dfs.replication": 2,
        "dfs.heartbeat.interval": "200ms",
        "dfs.namenode.redundancy.interval.seconds": "200ms",
    }
    with (
        MiniCluster(datanodes=2, volumes=("DISK", "ARCHIVE"), conf=conf) as cluster,
        cluster.connect() as fs,
    ):
        assert isinstance(fs, HdfsFileSystem)
        command = ["mover", "--conf", str(cluster.conf_dir)]
        for path in ("/cold/a", "/cold/deep/b", "/hot/c"):
            with fs.create(path) as out:
                out.write(content(1))

        def types(path: str) -> list[str]:
            return [kind for block in fs.block_locations(path) for kind in block.storage_types]

        assert main(command) == 0
        assert "0 replicas (0 B) moved" in capsys.readouterr().out, "all is where it belongs"
        fs.set_storage_policy("/cold", "COLD")
        assert main([*command, "-p", "/cold"]) == 0
        said = capsys.readouterr().out
        assert "4 replicas (8 MB) moved, 0 failed, 0 without a place" in said
        assert "Mover Successful: all blocks satisfy the specified storage policy." in said
        for path, kind in (("/cold/a", "ARCHIVE"), ("/cold/deep/b", "ARCHIVE"), ("/hot/c", "DISK")):
            assert types(path) == [kind] * 2
            with fs.open(path) as stream:
                assert stream.read() == content(1)
        fs.set_storage_policy("/hot", "ALL_SSD")
        assert main(command) == 254
        assert "Some blocks can't be moved. Exiting..." in capsys.readouterr().out
        assert not fs.exists("/system/mover.id")
