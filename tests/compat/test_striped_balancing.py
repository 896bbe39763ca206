"""Erasure-coded files on datanodes that a balancer makes as full as each other, or of which a mover
changes the storage types: our programs and Hadoop's, at our namenode and at Hadoop's.

Java's `hdfs debug verifyEC` reads all internal blocks of a file, and codes them again.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from howdah.balancer.namenode import BalancedNamenode
from howdah.balancer.state.utilization import Rules, survey
from howdah.cli.main import main
from howdah.errors import PipelineFailed
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.protocol.data_transfer.blocks import StorageType
from howdah.testing.waiting import wait_until
from tests.support.hadoop.java import hadoop_java
from tests.support.hadoop.mixed import MixedCluster
from tests.support.small_disks import MIB, NotMounted, small_disks

pytestmark = [pytest.mark.timeout(400), pytest.mark.torture]

POLICY = "XOR-2-1-1024k"
UNITS, DATANODES, FILES = 3, 7, 16
PATIENCE_S = 120
RUNS = 4
"""How often a program is run that ends before its work does."""
CONF: dict[str, str | int] = {
    "dfs.blocksize": 2 * MIB,
    "dfs.heartbeat.interval": 1,
    "dfs.namenode.heartbeat.recheck-interval": 500,
    "dfs.namenode.redundancy.interval.seconds": 1,
    # Of datanodes that were stopped some orders are lost.
    "dfs.namenode.reconstruction.pending.timeout-sec": 10,
    "dfs.balancer.getBlocks.min-block-size": 1,
    "dfs.balancer.movedWinWidth": 1000,
}
_TOOLS = "org.apache.hadoop.hdfs.server"
BALANCER, MOVER = f"{_TOOLS}.balancer.Balancer", f"{_TOOLS}.mover.Mover"
DEBUG = "org.apache.hadoop.hdfs.tools.DebugAdmin"

at_namenodes = pytest.mark.parametrize(
    ("hadoops", "tool"),
    [((), "java"), (("namenode",), "howdah"), ((), "howdah")],
    ids=["theirs at ours", "ours at theirs", "ours at ours"],
)


def content(number: int) -> bytes:
    return random.Random(number).randbytes(5 * MIB + number)


def is_written(fs: HdfsFileSystem, number: int) -> bool:
    """Write a file; a namenode may go on naming datanodes that have been stopped for a while."""
    try:
        with fs.create(f"/coded/{number}", overwrite=True) as out:
            out.write(content(number))
    except PipelineFailed:
        return False
    return True


def write(fs: HdfsFileSystem) -> None:
    fs.mkdirs("/coded")
    fs.client.namenode.enable_erasure_coding_policy(POLICY)
    fs.client.namenode.set_erasure_coding_policy("/coded", POLICY)
    for number in range(FILES):
        wait_until(partial(is_written, fs, number), PATIENCE_S)


def java(
    cluster: MixedCluster,
    jars: str,
    program: str,
    *arguments: str,
    statuses: tuple[int, ...] = (0,),
) -> str:
    done = subprocess.run(
        [*hadoop_java(jars, cluster.conf_dir), program, *arguments],
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_S,
        check=False,
    )
    assert done.returncode in statuses, done.stdout + done.stderr
    return done.stdout


def unsettled(fs: HdfsFileSystem) -> list[str]:
    """Say which internal blocks are not there once, or share a datanode with another of a group."""
    found = []
    for number in range(FILES):
        located = fs.client.namenode.get_block_locations(f"/coded/{number}", 0, 1 << 40)
        for group in located.blocks:
            assert group.members is not None
            expected = [0, 2] if group.length_bytes <= MIB else [0, 1, 2]
            nodes = [node.transfer_port for node in group.nodes]
            if sorted(group.members.indices) != expected or len(set(nodes)) != len(expected):
                places = list(zip(group.members.indices, nodes, strict=True))
                found.append(f"/coded/{number} {group.block.name}: {places}, not {expected}")
    return found


def check(cluster: MixedCluster, fs: HdfsFileSystem, jars: str) -> None:
    with suppress(AssertionError):  # It would not say which.
        wait_until(lambda: not unsettled(fs), PATIENCE_S)
    assert not unsettled(fs)
    for number in range(FILES):
        with fs.open(f"/coded/{number}") as stream:
            assert stream.read() == content(number)
    said = java(cluster, jars, DEBUG, "verifyEC", "-file", "/coded/0")
    assert "All EC block group status: OK" in said


def times_removed(log: Path) -> int:
    """How many datanodes Hadoop's namenode has taken out of its topology."""
    return log.read_text(errors="replace").count("removeDeadDatanode: lost heartbeat from")


@pytest.fixture
def cluster(
    request: pytest.FixtureRequest, hadoops: tuple[str, ...], hadoop_classpath: str, tmp_path: Path
) -> Iterator[MixedCluster]:
    """Three datanodes of seven have all internal blocks."""
    with small_disks(64 * MIB) as mount:
        try:
            for number in range(DATANODES):
                mount(tmp_path / f"datanode{number}" / "data0")
        except NotMounted as error:
            pytest.skip(str(error))
        with MixedCluster(
            hadoop_classpath, hadoops, namenodes=1, datanodes=DATANODES, conf=CONF, dir=tmp_path
        ) as cluster:
            late = [f"datanode{number}" for number in range(UNITS, DATANODES)]
            with cluster.connect() as fs:
                assert isinstance(fs, HdfsFileSystem)
                wait_until(lambda: len(fs.datanode_report("live")) == DATANODES, PATIENCE_S)
                for name in late:
                    cluster.stop(name)
                wait_until(lambda: len(fs.datanode_report("live")) == UNITS, PATIENCE_S)
                if "namenode" in hadoops:
                    # Its report knows before its placement does. Whatever is placed meanwhile
                    # counts for ten minutes as room that is taken, on disks that have little.
                    log = tmp_path / "logs" / "namenode.log"
                    wait_until(lambda: times_removed(log) == len(late), PATIENCE_S)
                write(fs)
            for name in late:
                cluster.start(name)
            yield cluster


@at_namenodes
def test_coded_files_are_balanced(cluster: MixedCluster, hadoop_classpath: str, tool: str) -> None:
    with cluster.connect() as fs:
        assert isinstance(fs, HdfsFileSystem)
        namenode = BalancedNamenode(fs)

        def left_bytes() -> int:
            return survey(namenode.reports(), Rules()).left_bytes

        wait_until(lambda: left_bytes() > 10 * MIB, PATIENCE_S, "empty datanodes are known")
        if tool == "java":
            said = java(cluster, hadoop_classpath, BALANCER, "-threshold", "10")
            assert "The cluster is balanced. Exiting..." in said
        else:
            assert main(["balancer", "--conf", str(cluster.conf_dir), "-threshold", "10"]) == 0
        wait_until(lambda: not left_bytes(), PATIENCE_S, "datanodes have told how full they are")
        namenode.close()
        check(cluster, fs, hadoop_classpath)


@at_namenodes
def test_coded_files_are_moved_to_the_types_of_their_policy(
    hadoops: tuple[str, ...], hadoop_classpath: str, tool: str
) -> None:
    with (
        MixedCluster(
            hadoop_classpath,
            hadoops,
            namenodes=1,
            datanodes=UNITS + 1,
            volumes=["DISK", "SSD"],
            conf=CONF,
        ) as cluster,
        cluster.connect() as fs,
    ):
        assert isinstance(fs, HdfsFileSystem)
        write(fs)
        fs.set_storage_policy("/coded", "ALL_SSD")

        def is_moved() -> bool:
            kinds = {
                kind
                for number in range(FILES)
                for group in fs.client.namenode.get_block_locations(
                    f"/coded/{number}", 0, 1 << 40
                ).blocks
                for kind in group.storage_types
            }
            return kinds == {StorageType.SSD}

        if tool == "java":
            # Hadoop 3.5.0's own cannot begin a second iteration: a name of its metrics is taken.
            # So it is run again for what the first one has left.
            for _ in range(RUNS):
                java(cluster, hadoop_classpath, MOVER, "-p", "/coded", statuses=(0, 255))
                if is_moved():
                    break
        else:
            assert main(["mover", "--conf", str(cluster.conf_dir), "-p", "/coded"]) == 0
        wait_until(is_moved, PATIENCE_S, "all internal blocks are on SSDs")
        check(cluster, fs, hadoop_classpath)
