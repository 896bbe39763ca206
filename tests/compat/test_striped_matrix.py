"""Erasure-coded files with every mixture of servers and clients: namenodes and datanodes of
Hadoop's and of ours, and the clients of Hadoop, of Rust (`hdfs-native`) and ours.

A cell of the matrix is a namenode, datanodes and a client that writes. Each test is run for each
cell: what the client writes is read by all; it is read with as many datanodes dead as there is
parity, and what they had is made anew; the file of a writer that was killed is recovered; and its
checksums are those that Hadoop computes. Java's `hdfs debug verifyEC` and ours code all of it
again.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import pytest

from howdah.cli.main import main
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.protocol.data_transfer.checksum import ChecksumType, crc
from howdah.testing.waiting import wait_until
from tests.support.hadoop.mixed import MixedCluster
from tests.support.hadoop.tools_gateway import HadoopCommands
from tests.support.striped_blocks import finalized, is_settled, lengths_being_written
from tests.support.striped_clients import (
    CLIENTS,
    JAVA,
    OpenWriter,
    StripedClient,
    all_clients,
)

pytest.importorskip("hdfs_native", reason="hdfs-native is not installed")
pytest.importorskip("py4j", reason="PySpark is not installed")

pytestmark = pytest.mark.timeout(400)

MIB = 1 << 20
POLICY, DATA_UNITS, PARITY_UNITS = "RS-3-2-1024k", 3, 2
UNITS, STRIPE = DATA_UNITS + PARITY_UNITS, DATA_UNITS * MIB
DATANODES = UNITS + PARITY_UNITS
BLOCK = 2 * MIB
PATIENCE_S = 120
SIZES = {"empty": 0, "tiny": 10, "cell": MIB, "more": MIB + 1, "groups": 13 * MIB + 12_345}
CONF: dict[str, str | int | bool] = {
    "dfs.blocksize": BLOCK,
    "dfs.heartbeat.interval": 1,
    "dfs.namenode.heartbeat.recheck-interval": 500,
    "dfs.namenode.redundancy.interval.seconds": 1,
    # An order whose sources are found to be dead, one after the other, fails and is given again.
    "dfs.namenode.reconstruction.pending.timeout-sec": 10,
    # With two of seven dead, all others are needed, however busy they are.
    "dfs.namenode.redundancy.considerLoad": False,
    "ipc.client.connect.max.retries": 1,
}
HADOOP, OURS, MIXED = "hadoop", "ours", "mixed"


@dataclass(frozen=True, slots=True)
class Servers:
    """Whose they are; of mixed datanodes every other one is Hadoop's."""

    namenode: str
    datanodes: str

    @property
    def hadoops(self) -> list[str]:
        """The names of the servers that are Hadoop's."""
        step = {HADOOP: 1, MIXED: 2, OURS: DATANODES}[self.datanodes]
        first = DATANODES if self.datanodes == OURS else 0
        datanodes = [f"datanode{number}" for number in range(first, DATANODES, step)]
        return [*(["namenode"] if self.namenode == HADOOP else []), *datanodes]

    def __str__(self) -> str:
        return f"{self.namenode}.{self.datanodes}"


QUICK = Servers(OURS, OURS)
"""With Java's client the cell that is run with all tests."""
PAIRS = [
    pytest.param(
        Servers(namenode, datanodes),
        id=f"nn-{namenode}.dn-{datanodes}",
        marks=() if Servers(namenode, datanodes) == QUICK else pytest.mark.torture,
    )
    for namenode in (OURS, HADOOP)
    for datanodes in (OURS, MIXED, HADOOP)
]


class Scene:
    """A cluster of one pair, with the clients."""

    def __init__(
        self, cluster: MixedCluster, fs: HdfsFileSystem, commands: HadoopCommands, jars: str
    ) -> None:
        self.cluster, self.fs = cluster, fs
        self._commands = commands
        self._jars = jars

    @cached_property
    def clients(self) -> dict[str, StripedClient]:
        scratch = self.cluster.dir / "files"
        scratch.mkdir()
        return all_clients(self._commands, self.fs, self.cluster, self._jars, scratch)

    def hadoops(self, command: str, *words: str) -> str:
        """Run a command of Hadoop's; what it prints."""
        done = self._commands(command, *words)
        assert done.code == 0, done.out + done.err
        return done.out

    def verify(self, path: str, capsys: pytest.CaptureFixture[str]) -> None:
        """Have both tools code the file again."""
        words = ["verifyEC", "-file", path]
        wait_until(lambda: is_settled(self.fs, path), PATIENCE_S, f"{path} is settled")
        printed = self.hadoops("debug", *words)
        assert "All EC block group status: OK" in printed
        capsys.readouterr()
        assert main(["--conf", str(self.cluster.conf_dir), "debug", *words]) == 0
        assert capsys.readouterr().out == printed

    def check(self, path: str, data: bytes) -> None:
        """Have every client read the file, whole and in parts."""
        ends = (0, max(len(data) - 5, 0), len(data) // 2, max(len(data) - MIB - 3, 0))
        for name, client in self.clients.items():
            assert client.read(path) == data, f"{name} reads {path}"
            for start in ends:
                length = min(MIB + 7, len(data) - start)
                if length:
                    found = client.read_range(path, start, length)
                    assert found == data[start : start + length], f"{name} reads {path} at {start}"


@pytest.fixture(scope="module", params=PAIRS)
def scene(
    request: pytest.FixtureRequest, hadoop_classpath: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    servers: Servers = request.param
    with (
        MixedCluster(
            hadoop_classpath,
            servers.hadoops,
            namenodes=1,
            datanodes=DATANODES,
            conf=CONF,
            java_options=lambda name: ("-Xmx160m", "-XX:TieredStopAtLevel=1"),
        ) as cluster,
        cluster.connect() as fs,
    ):
        wait_until(lambda: len(fs.datanode_report("live")) == DATANODES, PATIENCE_S)
        fs.mkdirs("/coded", 0o777)
        commands = HadoopCommands(
            hadoop_classpath, cluster.conf_dir, tmp_path_factory.mktemp("commands")
        )
        try:
            made = Scene(cluster, fs, commands, hadoop_classpath)
            made.hadoops("ec", "-enablePolicy", "-policy", POLICY)
            made.hadoops("ec", "-setPolicy", "-path", "/coded", "-policy", POLICY)
            yield made
        finally:
            commands.close()


@pytest.fixture(
    params=[
        pytest.param(name, marks=() if name == JAVA else pytest.mark.torture) for name in CLIENTS
    ]
)
def client(request: pytest.FixtureRequest) -> str:
    """The name of the one that writes."""
    name: str = request.param
    return name


def content(name: str, length: int) -> bytes:
    return random.Random(name).randbytes(length)


def write_all(scene: Scene, client: str, directory: str) -> dict[str, bytes]:
    """Write a file of each size; what they have, by path."""
    files = {}
    scene.fs.mkdirs(f"/coded/{directory}")
    for name, size in SIZES.items():
        path = f"/coded/{directory}/{client}-{name}"
        files[path] = content(path, size)
        scene.clients[client].write(path, files[path], BLOCK)
    return files


@pytest.mark.req("OS-005")
def test_what_a_client_writes_all_of_them_read(
    scene: Scene, client: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for path, data in write_all(scene, client, "written").items():
        assert scene.fs.get_file_status(path).erasure_coding_policy == POLICY
        scene.check(path, data)
        scene.verify(path, capsys)


def test_files_are_read_with_datanodes_dead_and_what_those_had_is_made_anew(
    scene: Scene, client: str, capsys: pytest.CaptureFixture[str]
) -> None:
    files = write_all(scene, client, "lost")
    before = finalized(scene.cluster)
    dead = [f"datanode{number}" for number in range(PARITY_UNITS)]
    scene.cluster.kill(*dead)
    try:
        for path, data in files.items():
            scene.check(path, data)

        def is_made_anew() -> bool:
            now = finalized(scene.cluster, dead)
            return all(indices <= now.get(group, set()) for group, indices in before.items())

        wait_until(is_made_anew, PATIENCE_S, "all internal blocks are at datanodes that live")
    finally:
        for name in dead:
            scene.cluster.start(name)
        # One that was dead for a moment may still count as alive.
        scene.cluster.wait_ready(PATIENCE_S)
        wait_until(lambda: len(scene.fs.datanode_report("live")) == DATANODES, PATIENCE_S)
    for path, data in files.items():
        scene.check(path, data)
        scene.verify(path, capsys)


def test_a_writer_that_is_killed_leaves_whole_stripes(
    scene: Scene, client: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Packets do not end with cells: of the third stripe the last packets may be missing."""
    path = f"/coded/left-by-{client}"
    data = content(path, 3 * STRIPE + 400_000)

    def is_written() -> bool:
        lengths = lengths_being_written(scene.cluster)
        return len(lengths) == UNITS and min(lengths) >= 2 * MIB

    with OpenWriter(scene.clients[client], path, 16 * MIB) as writer:
        writer.write(data)
        wait_until(
            lambda: is_written() or not writer.is_running, PATIENCE_S, "two stripes are there"
        )
        assert writer.is_running
    recovering = scene.clients[client]
    wait_until(lambda: recovering.recover_lease(path), PATIENCE_S, "the file is closed")
    length = scene.fs.get_file_status(path).length
    assert length in (2 * STRIPE, 3 * STRIPE)
    scene.check(path, data[:length])
    wait_until(lambda: not lengths_being_written(scene.cluster), PATIENCE_S, "nothing is open")
    scene.verify(path, capsys)


@pytest.mark.req("OS-005")
def test_checksums_are_those_that_hadoop_computes(
    scene: Scene, client: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = f"/coded/summed-{client}"
    data = content(path, 7 * MIB + 99)
    scene.clients[client].write(path, data, BLOCK)
    total = f"{crc(ChecksumType.CRC32C, data):08x}"
    for mode in ("COMPOSITE_CRC", "MD5MD5CRC"):
        words = [f"-Ddfs.checksum.combine.mode={mode}", "-checksum", path]
        # One that is kept has the mode that it was made with.
        printed = scene.hadoops("dfs", "-Dfs.hdfs.impl.disable.cache=true", *words)
        capsys.readouterr()
        assert main(["-fs", scene.cluster.uri, "dfs", *words]) == 0
        assert capsys.readouterr().out == printed
        if mode == "COMPOSITE_CRC":
            assert printed.split()[-1] == total
    # All clients have coded the same bytes to the same internal blocks.
    others = {}
    for name, other in scene.clients.items():
        copy = f"{path}-{name}"
        other.write(copy, data, BLOCK)
        others[name] = scene.fs.get_file_checksum(copy, combine_mode="MD5MD5CRC")
    assert set(others.values()) == {scene.fs.get_file_checksum(path, combine_mode="MD5MD5CRC")}
