"""Our datanodes under Hadoop's namenode and under ours, with erasure-coded files: what Java's
client writes, what is lost and made anew, sums, and a writer that dies.

Java's `hdfs debug verifyEC` reads all internal blocks of a file, and codes them again.
"""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing.waiting import wait_until
from tests.support.hadoop.java import hadoop_java
from tests.support.hadoop.mixed import MixedCluster

pytestmark = [pytest.mark.timeout(300), pytest.mark.torture]

MIB = 1 << 20
POLICY = "RS-3-2-1024k"
UNITS, DATANODES = 5, 7
PATIENCE_S = 120
CONF: dict[str, str | int] = {
    "dfs.blocksize": 2 * MIB,
    "dfs.heartbeat.interval": 1,
    "dfs.namenode.heartbeat.recheck-interval": 500,
    "dfs.namenode.redundancy.interval.seconds": 1,
    # An order whose sources are found to be dead, one after the other, fails and is given again.
    "dfs.namenode.reconstruction.pending.timeout-sec": 10,
    "ipc.client.connect.max.retries": 1,
}
FSSHELL, EC = "org.apache.hadoop.fs.FsShell", "org.apache.hadoop.hdfs.tools.ECAdmin"
DEBUG = "org.apache.hadoop.hdfs.tools.DebugAdmin"
_INTERNAL_BLOCK = re.compile(r"blk_(-\d+)")


class Scene:
    def __init__(self, cluster: MixedCluster, fs: HdfsFileSystem, jars: str, local: Path) -> None:
        self.cluster, self.fs, self.local = cluster, fs, local
        self._jars = jars

    def command(self, program: str, *arguments: str) -> list[str]:
        java = hadoop_java(self._jars, self.cluster.conf_dir)
        return [*java, program, "-fs", self.cluster.uri, *arguments]

    def java(self, program: str, *arguments: str) -> str:
        """Run a program of Hadoop's; what it says."""
        done = subprocess.run(
            self.command(program, *arguments),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def put(self, name: str, length: int) -> bytes:
        data = random.Random(length).randbytes(length)
        (self.local / name).write_bytes(data)
        self.java(FSSHELL, "-put", str(self.local / name), f"/coded/{name}")
        return data

    def verify(self, name: str) -> None:
        assert "All EC block group status: OK" in self.java(
            DEBUG, "verifyEC", "-file", f"/coded/{name}"
        )

    def blocks(self, but: set[str]) -> dict[int, set[int]]:
        """Which internal blocks are finalized at datanodes, by group."""
        groups: dict[int, set[int]] = {}
        for name in self.cluster.names:
            if name.startswith("datanode") and name not in but:
                for root in self.cluster.data_dirs(name):
                    for path in root.glob("current/*/current/finalized/**/blk_-*"):
                        if match := _INTERNAL_BLOCK.fullmatch(path.name):
                            block_id = int(match[1])
                            groups.setdefault(block_id & ~15, set()).add(block_id & 15)
        return groups


@pytest.fixture(scope="module", params=[("namenode",), ()], ids=["hadoops", "ours"])
def scene(
    request: pytest.FixtureRequest,
    hadoop_classpath: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Scene]:
    with (
        MixedCluster(
            hadoop_classpath, list(request.param), namenodes=1, datanodes=DATANODES, conf=CONF
        ) as cluster,
        cluster.connect() as fs,
    ):
        assert isinstance(fs, HdfsFileSystem)
        scene = Scene(cluster, fs, hadoop_classpath, tmp_path_factory.mktemp("local"))
        fs.mkdirs("/coded", 0o777)
        scene.java(EC, "-enablePolicy", "-policy", POLICY)
        scene.java(EC, "-setPolicy", "-path", "/coded", "-policy", POLICY)
        yield scene


def test_what_is_lost_with_two_datanodes_is_made_anew(scene: Scene) -> None:
    files = {name: scene.put(name, length) for name, length in SIZES.items()}
    before = scene.blocks(set())
    dead = {"datanode0", "datanode1"}
    for name in dead:
        scene.cluster.kill(name)
    wait_until(lambda: scene.blocks(dead) == before, PATIENCE_S, "all internal blocks are there")
    for name in dead:
        scene.cluster.start(name)
    # One that was dead for a moment may still count as alive.
    scene.cluster.wait_ready(PATIENCE_S)
    wait_until(lambda: len(scene.fs.datanode_report("live")) == DATANODES, PATIENCE_S)
    for name, data in files.items():
        scene.verify(name)
        with scene.fs.open(f"/coded/{name}") as stream:
            assert stream.read() == data


SIZES = {"tiny": 10, "cell": MIB, "more": MIB + 1, "groups": 9 * MIB + 12_345}


def test_sums_are_those_of_the_bytes_with_and_without_losses(scene: Scene) -> None:
    name = "summed"
    scene.put(name, 7 * MIB + 99)
    scene.java(FSSHELL, "-put", str(scene.local / name), "/plain")
    composite = ("-Ddfs.checksum.combine.mode=COMPOSITE_CRC", "-checksum")
    (plain,) = {line.split()[-1] for line in scene.java(FSSHELL, *composite, "/plain").splitlines()}
    assert plain in scene.java(FSSHELL, *composite, f"/coded/{name}")
    md5 = scene.java(FSSHELL, "-checksum", f"/coded/{name}")
    for victim in ("datanode2", "datanode3"):
        scene.cluster.kill(victim)
    try:
        assert scene.java(FSSHELL, "-checksum", f"/coded/{name}") == md5
        assert plain in scene.java(FSSHELL, *composite, f"/coded/{name}")
    finally:
        for victim in ("datanode2", "datanode3"):
            scene.cluster.start(victim)
    # One that was dead for a moment may still count as alive.
    scene.cluster.wait_ready(PATIENCE_S)
    wait_until(lambda: len(scene.fs.datanode_report("live")) == DATANODES, PATIENCE_S)


def test_a_writer_that_dies_leaves_whole_stripes(scene: Scene) -> None:
    """Java's packets do not end with cells: of the third stripe the last packets are not sent."""
    data = random.Random(5).randbytes(9 * MIB + 400_000)
    writer = subprocess.Popen(
        scene.command(FSSHELL, "-Ddfs.blocksize=16m", "-put", "-d", "-", "/coded/open"),
        stdin=subprocess.PIPE,
    )
    try:
        assert writer.stdin is not None
        writer.stdin.write(data)
        writer.stdin.flush()
        wait_until(lambda: _are_written(scene, 2 * MIB), PATIENCE_S, "two stripes are there")
    finally:
        writer.kill()
        writer.wait()
    wait_until(lambda: scene.fs.recover_lease("/coded/open"), PATIENCE_S, "the file is closed")
    length = scene.fs.get_file_status("/coded/open").length
    assert length in (6 * MIB, 9 * MIB)
    with scene.fs.open("/coded/open") as stream:
        assert stream.read() == data[:length]
    scene.verify("open")


def _are_written(scene: Scene, length: int) -> bool:
    """Whether all internal blocks that are being written have so many bytes."""
    sizes = [
        path.stat().st_size
        for name in scene.cluster.names
        if name.startswith("datanode")
        for root in scene.cluster.data_dirs(name)
        for path in root.glob("current/*/current/rbw/blk_-*")
        if _INTERNAL_BLOCK.fullmatch(path.name)
    ]
    return len(sizes) == UNITS and min(sizes) >= length
