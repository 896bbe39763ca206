"""Hadoop's own balancer on our cluster."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah.balancer.namenode import BalancedNamenode
from howdah.balancer.state.utilization import Rules, survey
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.hadoop.java import hadoop_java
from tests.support.small_disks import MIB, NotMounted, small_disks

TIMEOUT_S = 60.0
RUN_TIMEOUT_S = 240.0
MAIN = "org.apache.hadoop.hdfs.server.balancer.Balancer"
CONF: dict[str, str | int] = {
    "dfs.blocksize": MIB,
    "dfs.heartbeat.interval": "200ms",
    "dfs.namenode.redundancy.interval.seconds": "200ms",
    "dfs.balancer.getBlocks.min-block-size": 1,
    "dfs.balancer.movedWinWidth": 1,
}
FILES = 20


@pytest.fixture
def uneven(tmp_path: Path) -> Iterator[MiniCluster]:
    """One datanode of three has all the blocks."""
    with small_disks(64 * MIB) as mount:
        try:
            for number in range(3):
                mount(tmp_path / f"datanode{number}" / "data0")
        except NotMounted as error:
            pytest.skip(str(error))
        with MiniCluster(datanodes=3, conf=CONF, dir=tmp_path) as cluster:
            for name in ("datanode1", "datanode2"):
                cluster.stop(name)
            with cluster.connect() as fs:
                for number in range(FILES):
                    with fs.create(f"/file{number}", replication=1) as out:
                        out.write(content(number))
            for name in ("datanode1", "datanode2"):
                cluster.start(name)
            yield cluster


def content(number: int) -> bytes:
    return random.Random(number).randbytes(2 * MIB)


def test_hadoops_balancer_balances_our_cluster(uneven: MiniCluster, hadoop_classpath: str) -> None:
    with uneven.connect() as fs:
        assert isinstance(fs, HdfsFileSystem)
        namenode = BalancedNamenode(fs)

        def left_bytes() -> int:
            return survey(namenode.reports(), Rules()).left_bytes

        wait_until(lambda: left_bytes() > 10 * MIB, TIMEOUT_S, "empty datanodes are known")
        done = subprocess.run(
            [*hadoop_java(hadoop_classpath, uneven.conf_dir), MAIN, "-threshold", "10"],
            capture_output=True,
            text=True,
            timeout=RUN_TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        assert "The cluster is balanced. Exiting..." in done.stdout
        wait_until(lambda: not left_bytes(), TIMEOUT_S, "datanodes have told how full they are")
        namenode.close()
        for number in range(FILES):
            with fs.open(f"/file{number}") as stream:
                assert stream.read() == content(number)
            for block in fs.block_locations(f"/file{number}"):
                assert len(block.hosts) == 1
