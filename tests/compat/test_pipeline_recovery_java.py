"""Datanodes that fail while Hadoop's own Java client writes to them.

Four datanodes, files of three replicas: whatever fails, the writer gets no exception,
every byte is there, and in the end there are three replicas again.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from howdah import connect
from howdah.fs.api import FileSystem
from howdah.testing import MiniCluster
from howdah.testing.replicas import BEING_WRITTEN, blocks_of, replica_files, replicas_of
from howdah.testing.waiting import wait_until

pytestmark = pytest.mark.timeout(240)

MIB = 1 << 20
BLOCK = 4 * MIB
PATIENCE_S = 60.0
SOCKET_TIMEOUT_MS = 2000


class Writer:
    """A file that Java writes, and the datanodes of its pipeline."""

    def __init__(self, java: Java, path: str, replication: int = 3) -> None:
        self._java = java
        self.path = path
        self.out = java.fs.create(java.path(path), True, 4096, replication, BLOCK)
        self.written = b""
        self._seed = 0

    def write(self, length: int) -> None:
        self._seed += 1
        data = random.Random(self._seed).randbytes(length)
        self.out.write(data)
        self.written += data

    def pipeline(self) -> list[str]:
        """The names of the servers that the block being written goes to, in their order."""
        stream = self.out.getWrappedStream()
        method = self._java.method(stream, "getPipeline")
        return [self._java.server_at(node.getXferPort()) for node in method()]

    def in_background(self, act: Callable[[], None]) -> Callable[[], None]:
        """Start it; what is returned waits for its end, and raises what it raised."""
        failure: list[BaseException] = []

        def run() -> None:
            try:
                act()
            except BaseException as error:
                failure.append(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()

        def join() -> None:
            thread.join(PATIENCE_S)
            assert not thread.is_alive(), "the writer hangs"
            if failure:
                raise failure[0]

        return join


class Java:
    """Hadoop's client in Spark's JVM, with a filesystem of its own on this cluster."""

    def __init__(self, spark: Any, cluster: MiniCluster) -> None:
        self._jvm = spark._jvm
        self._gateway = spark.sparkContext._gateway
        self._ports = {
            int(server.addresses["data"].rpartition(":")[2]): server.name
            for server in cluster.processes
            if "data" in server.addresses
        }
        conf = self._jvm.org.apache.hadoop.conf.Configuration(spark._jsc.hadoopConfiguration())
        for name, value in cluster.conf.items():
            conf.set(name, value)
        uri = self._jvm.java.net.URI(cluster.uri)
        self.fs = self._jvm.org.apache.hadoop.fs.FileSystem.newInstance(uri, conf)

    def path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(path)

    def server_at(self, port: int) -> str:
        return self._ports[port]

    def method(self, target: Any, name: str) -> Callable[[], Any]:
        """A method that isn't public, without arguments."""
        classes = self._gateway.new_array(self._jvm.java.lang.Class, 0)
        objects = self._gateway.new_array(self._jvm.java.lang.Object, 0)
        kind = target.getClass()
        while name not in [m.getName() for m in kind.getDeclaredMethods()]:
            kind = kind.getSuperclass()
        found = kind.getDeclaredMethod(name, classes)
        found.setAccessible(True)
        return lambda: found.invoke(target, objects)

    def read(self, path: str) -> bytes:
        stream = self.fs.open(self.path(path))
        try:
            return bytes(stream.readAllBytes())
        finally:
            stream.close()


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    conf = {
        "dfs.client.socket-timeout": SOCKET_TIMEOUT_MS,
        "dfs.namenode.heartbeat.recheck-interval": 500,
        "dfs.namenode.stale.datanode.interval": 3000,
        "dfs.namenode.redundancy.interval.seconds": 1,
    }
    with MiniCluster(datanodes=4, conf=conf) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def java(spark: Any, cluster: MiniCluster) -> Iterator[Java]:
    java = Java(spark, cluster)
    yield java
    java.fs.close()


@pytest.fixture(scope="module")
def fs(cluster: MiniCluster) -> Iterator[FileSystem]:
    with connect(cluster.uri, conf=cluster.conf) as fs:
        yield fs


@pytest.fixture(autouse=True)
def everybody_is_back(cluster: MiniCluster, fs: FileSystem) -> Iterator[None]:
    """Each test begins with four datanodes."""
    yield
    for server in cluster.processes:
        if server.pid is None:
            cluster.restart(server.name)
        else:
            cluster.resume(server.name)
    wait_until(lambda: len(fs.datanode_report("live")) == 4, PATIENCE_S)


@pytest.fixture
def path(request: pytest.FixtureRequest) -> str:
    name = "".join(c if c.isalnum() else "_" for c in request.node.name)
    return f"/recovery/{name}"


def check(java: Java, cluster: MiniCluster, writer: Writer) -> None:
    """The content is right, and every block gets three equal replicas."""
    assert java.read(writer.path) == writer.written
    wait_until(lambda: is_replicated(cluster, writer), PATIENCE_S, "three replicas again")


def is_replicated(cluster: MiniCluster, writer: Writer) -> bool:
    running = {server.name for server in cluster.processes if server.pid is not None}
    start = 0
    for replicas in replicas_of(cluster, writer.path):
        block = writer.written[start : start + BLOCK]
        good = [r for r in replicas if r.datanode in running and r.read() == block]
        if len(good) != 3:
            return False
        start += BLOCK
    return start >= len(writer.written)


@pytest.mark.req("FS-124", "FS-125", "FS-126", "FS-127", "FS-128", "FS-129", "FS-131")
@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_datanode_that_is_killed_in_mid_block_is_not_noticed_by_the_writer(
    java: Java, cluster: MiniCluster, path: str, position: int
) -> None:
    writer = Writer(java, path)
    writer.write(MIB + 1)
    writer.out.hflush()
    (block_id,) = blocks_of(cluster, path)
    victim = writer.pipeline()[position]
    cluster.kill(victim)
    writer.write(MIB)
    writer.out.close()
    check(java, cluster, writer)
    cluster.restart(victim)
    wait_until(
        lambda: (
            victim
            not in [r.datanode for r in replica_files(cluster, [block_id], state=BEING_WRITTEN)]
        ),
        PATIENCE_S,
        "the stale partial replica is gone",
    )
