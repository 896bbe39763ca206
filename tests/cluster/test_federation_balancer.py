"""`howdah balancer` over several nameservices, whose blocks are all on one datanode of two.

Small disks are filesystems in memory, which only some users may mount; where that is not allowed,
this is skipped.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah.balancer.namenode import BalancedNamenode
from howdah.cli.main import main
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.small_disks import MIB, NotMounted, small_disks

TIMEOUT_S = 60.0
FILES = {"a": 12, "b": 8}
"""Of a mebibyte each."""
CONF: dict[str, str | int] = {
    "dfs.blocksize": MIB,
    "dfs.replication": 1,
    "dfs.heartbeat.interval": "200ms",
    "dfs.namenode.redundancy.interval.seconds": "200ms",
    "dfs.balancer.getBlocks.min-block-size": 1,
    "dfs.balancer.movedWinWidth": "1ms",
}


@pytest.fixture
def uneven(tmp_path: Path) -> Iterator[MiniCluster]:
    with small_disks(64 * MIB) as mount:
        try:
            for number in range(2):
                mount(tmp_path / f"datanode{number}" / "data0")
        except NotMounted as error:
            pytest.skip(str(error))
        with MiniCluster(datanodes=2, nameservices=list(FILES), conf=CONF, dir=tmp_path) as cluster:
            first = cluster.process("datanode0").addresses["data"]
            for name, count in FILES.items():
                with cluster.connect(nameservice=name) as fs:
                    for number in range(count):
                        with fs.create(f"/{number}", favored_nodes=[first]) as out:
                            out.write(content(name, number))
            yield cluster


def content(name: str, number: int) -> bytes:
    return random.Random(f"{name}{number}").randbytes(MIB)


def used(cluster: MiniCluster, name: str) -> list[tuple[int, int]]:
    """(what the pool takes, what all take) on each datanode in MiB, as its namenode knows."""
    with cluster.connect(nameservice=name) as fs:
        assert isinstance(fs, HdfsFileSystem)
        namenode = BalancedNamenode(fs)
        try:
            reports = sorted(namenode.reports(), key=lambda report: report.node.ip)
        finally:
            namenode.close()
    return [
        (
            sum(each.pool_used_bytes for each in report.storages) // MIB,
            sum(each.used_bytes for each in report.storages) // MIB,
        )
        for report in reports
    ]


def pool_of(cluster: MiniCluster, name: str) -> str:
    with cluster.connect(nameservice=name) as fs:
        assert isinstance(fs, HdfsFileSystem)
        namenode = BalancedNamenode(fs)
        try:
            return namenode.pool_id
        finally:
            namenode.close()


def balance(cluster: MiniCluster, capsys: pytest.CaptureFixture[str], *words: str) -> set[str]:
    """The namenodes that had iterations."""
    capsys.readouterr()
    command = ["balancer", "--conf", str(cluster.conf_dir), "--json", "-threshold", "4"]
    assert main([*command, *words]) == 0
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return {line["namenode"] for line in said if "namenode" in line}


@pytest.mark.req("FS-044", "FS-144")
def test_block_pools_are_balanced_alone_and_all_together(
    uneven: MiniCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    # Each namenode hears of its own pool, and of what all pools take.
    wait_until(lambda: used(uneven, "a") == [(12, 20), (0, 0)], TIMEOUT_S)
    wait_until(lambda: used(uneven, "b") == [(8, 20), (0, 0)], TIMEOUT_S)
    only = pool_of(uneven, "b")

    # The balancer goes by what was reported last, and may have to begin anew.
    def b_is_on_both() -> bool:
        words = ("-policy", "blockpool", "-blockpools", only)
        assert balance(uneven, capsys, *words) == {"hdfs://b"}
        return 2 <= used(uneven, "b")[1][0] <= 6

    def a_is_on_both() -> bool:
        assert balance(uneven, capsys, "-policy", "blockpool") == {"hdfs://a", "hdfs://b"}
        return 4 <= used(uneven, "a")[1][0] <= 8

    wait_until(b_is_on_both, TIMEOUT_S, "b is on both datanodes")
    assert used(uneven, "a")[0][0] == 12
    wait_until(a_is_on_both, TIMEOUT_S, "a is on both datanodes")
    assert balance(uneven, capsys, "-policy", "datanode") == {"hdfs://a", "hdfs://b"}
    for name, count in FILES.items():
        with uneven.connect(nameservice=name) as fs:
            assert not fs.exists("/system/balancer.id")
            for number in range(count):
                with fs.open(f"/{number}") as stream:
                    assert stream.read() == content(name, number)
