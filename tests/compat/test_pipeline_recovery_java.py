"""Datanodes that fail while Hadoop's own Java client writes to them.

Four datanodes, files of three replicas: whatever fails, the writer gets no exception,
every byte is there, and in the end there are three replicas again.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from howdah import connect
from howdah.fs.api import FileSystem
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.replicas import BEING_WRITTEN, blocks_of, replica_files, replicas_of

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


class Java:
    """Hadoop's client in Spark's JVM, with a filesystem of its own on this cluster."""

    def __init__(self, spark: Any, cluster: MiniCluster, **conf: str) -> None:
        self._jvm = spark._jvm
        self._gateway = spark.sparkContext._gateway
        self._ports = {
            int(server.addresses["data"].rpartition(":")[2]): server.name
            for server in cluster.processes
            if "data" in server.addresses
        }
        java_conf = self._jvm.org.apache.hadoop.conf.Configuration(spark._jsc.hadoopConfiguration())
        for name, value in {**dict(cluster.conf.items()), **conf}.items():
            java_conf.set(name, value)
        uri = self._jvm.java.net.URI(cluster.uri)
        self.fs = self._jvm.org.apache.hadoop.fs.FileSystem.newInstance(uri, java_conf)

    def path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(path)

    def server_at(self, port: int) -> str:
        return self._ports[port]

    def method(self, target: Any, name: str) -> Callable[[], Any]:
        """A method that isn't public, without arguments."""
        classes = self._gateway.new_array(self._jvm.java.lang.Class, 0)
        objects = self._gateway.new_array(self._jvm.java.lang.Object, 0)
        found = target.getClass().getDeclaredMethod(name, classes)
        found.setAccessible(True)
        return lambda: found.invoke(target, objects)

    def stage(self, out: Any) -> str:
        """What the stream's streamer is doing, by the protocol's name."""
        streamer = self.method(out.getWrappedStream(), "getStreamer")()
        return str(self.method(streamer, "getStage")())

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
        "dfs.namenode.reconstruction.pending.timeout-sec": 5,
        # The fourth datanode replaces one of three, also while it gets copies of blocks that
        # earlier tests have left with too few replicas.
        "dfs.namenode.redundancy.considerLoad": False,
    }
    with MiniCluster(datanodes=4, conf=conf) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def java(spark: Any, cluster: MiniCluster) -> Iterator[Java]:
    java = Java(spark, cluster)
    yield java
    java.fs.close()


@pytest.fixture(scope="module")
def easygoing_java(spark: Any, cluster: MiniCluster) -> Iterator[Java]:
    """A client that goes on with the datanodes it has where there is no other left, as
    Hadoop's documentation recommends for small clusters."""
    java = Java(
        spark,
        cluster,
        **{"dfs.client.block.write.replace-datanode-on-failure.best-effort": "true"},
    )
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
        good = [r for r in replicas if r.datanode in running and r.read_if_there() == block]
        if len(good) != 3:
            return False
        start += BLOCK
    return start >= len(writer.written)


def wait_until_stale_replicas_are_gone(cluster: MiniCluster, block_id: int) -> None:
    wait_until(
        lambda: not replica_files(cluster, [block_id], state=BEING_WRITTEN),
        PATIENCE_S,
        "the stale partial replica is gone",
    )


@pytest.mark.req("FS-124", "FS-125", "FS-126", "FS-127", "FS-128", "FS-129", "FS-130", "FS-131")
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
    writer.write(2 * BLOCK)
    writer.out.close()
    check(java, cluster, writer)
    cluster.restart(victim)
    wait_until_stale_replicas_are_gone(cluster, block_id)


@pytest.mark.req("FS-127", "FS-131", "FS-132")
@pytest.mark.parametrize("positions", [(0, 1), (1, 2), (0, 2)])
def test_two_of_three_datanodes_that_are_killed_in_mid_block_are_not_noticed_by_the_writer(
    easygoing_java: Java, cluster: MiniCluster, path: str, positions: tuple[int, int]
) -> None:
    writer = Writer(easygoing_java, path)
    writer.write(MIB + 1)
    writer.out.hflush()
    (block_id,) = blocks_of(cluster, path)
    pipeline = writer.pipeline()
    victims = [pipeline[position] for position in positions]
    cluster.kill(*victims)
    writer.write(MIB)
    writer.out.close()
    assert easygoing_java.read(path) == writer.written
    for victim in victims:
        cluster.restart(victim)
    wait_until_stale_replicas_are_gone(cluster, block_id)
    check(easygoing_java, cluster, writer)


@pytest.mark.req("FS-127", "FS-132")
def test_one_datanode_of_three_is_enough_where_failed_ones_are_not_replaced(
    spark: Any, cluster: MiniCluster, path: str
) -> None:
    java = Java(
        spark, cluster, **{"dfs.client.block.write.replace-datanode-on-failure.policy": "NEVER"}
    )
    writer = Writer(java, path)
    writer.write(MIB + 1)
    writer.out.hflush()
    for victim in writer.pipeline()[1:]:
        cluster.kill(victim)
        writer.write(MIB // 2 + 3)
    writer.out.hflush()
    assert len(writer.pipeline()) == 1
    writer.out.close()
    assert java.read(path) == writer.written
    java.fs.close()


@pytest.mark.req("FS-125", "FS-131")
def test_datanodes_that_die_one_after_the_other_in_one_block_are_not_noticed_by_the_writer(
    easygoing_java: Java, cluster: MiniCluster, path: str
) -> None:
    writer = Writer(easygoing_java, path)
    for _ in range(3):
        writer.write(100_001)
        writer.out.hflush()
        cluster.kill(writer.pipeline()[0])
    writer.write(100_001)
    writer.out.close()
    assert easygoing_java.read(path) == writer.written


@pytest.mark.req("FS-124", "FS-125", "FS-131")
@pytest.mark.parametrize("count", [1, 2])
def test_a_datanode_that_is_killed_at_the_first_packets_is_not_noticed_by_the_writer(
    java: Java, cluster: MiniCluster, path: str, count: int
) -> None:
    writer = Writer(java, path)
    with ThreadPoolExecutor(1) as threads:
        writing = threads.submit(writer.write, BLOCK - 1)
        wait_until(lambda: partial_replicas(cluster), PATIENCE_S)
        victims = partial_replicas(cluster)[:count]
        cluster.kill(*victims)
        writing.result(PATIENCE_S)
    writer.out.close()
    assert java.read(path) == writer.written
    if count == 2:
        cluster.restart(victims[-1])
    check(java, cluster, writer)


def partial_replicas(cluster: MiniCluster) -> list[str]:
    return [replica.datanode for replica in replica_files(cluster, state=BEING_WRITTEN)]


@pytest.mark.req("FS-124", "FS-131")
def test_a_datanode_that_is_dead_when_the_pipeline_is_set_up_is_left_out(
    java: Java, cluster: MiniCluster, fs: FileSystem, path: str
) -> None:
    cluster.kill("datanode2")
    assert len(fs.datanode_report("live")) == 4, "the namenode has not noticed"
    writer = Writer(java, path)
    writer.write(3 * BLOCK)
    writer.out.close()
    check(java, cluster, writer)


@pytest.mark.req("FS-124", "FS-131")
@pytest.mark.parametrize("position", [pytest.param(0, marks=pytest.mark.torture), 2])
def test_a_datanode_that_hangs_in_mid_block_is_left_out(
    java: Java, cluster: MiniCluster, path: str, position: int
) -> None:
    writer = Writer(java, path)
    writer.write(MIB + 1)
    writer.out.hflush()
    (block_id,) = blocks_of(cluster, path)
    victim = writer.pipeline()[position]
    cluster.pause(victim)
    writer.write(MIB)
    writer.out.hflush()
    assert victim not in writer.pipeline()
    writer.out.close()
    assert java.read(path) == writer.written
    cluster.resume(victim)
    wait_until_stale_replicas_are_gone(cluster, block_id)
    check(java, cluster, writer)


@pytest.mark.torture
@pytest.mark.req("FS-124", "FS-131")
def test_a_datanode_that_hangs_when_the_pipeline_is_set_up_is_left_out(
    java: Java, cluster: MiniCluster, path: str
) -> None:
    cluster.pause("datanode1")
    writer = Writer(java, path)
    writer.write(BLOCK)
    writer.out.close()
    cluster.resume("datanode1")
    check(java, cluster, writer)


@pytest.mark.req("FS-124", "FS-126", "FS-131")
@pytest.mark.parametrize(
    ("position", "how"),
    [
        (0, "is killed"),
        (1, "is killed"),
        (2, "is killed"),
        pytest.param(2, "hangs", marks=pytest.mark.torture),
    ],
)
def test_a_datanode_that_fails_while_the_block_is_closed_is_not_noticed_by_the_writer(
    java: Java, cluster: MiniCluster, path: str, position: int, how: str
) -> None:
    writer = Writer(java, path)
    # Whole chunks: a partial one would be sent again, and fail, before the block's end.
    writer.write(MIB)
    writer.out.hflush()
    victim = writer.pipeline()[position]
    cluster.pause(victim)
    with ThreadPoolExecutor(1) as threads:
        closing = threads.submit(writer.out.close)
        wait_until(lambda: java.stage(writer.out) == "PIPELINE_CLOSE", PATIENCE_S)
        if how == "is killed":
            cluster.kill(victim)
        closing.result(PATIENCE_S)
    assert java.read(path) == writer.written
    cluster.restart(victim)
    check(java, cluster, writer)


@pytest.mark.req("FS-124", "FS-131")
def test_a_datanode_that_is_killed_during_an_append_is_not_noticed_by_the_writer(
    easygoing_java: Java, cluster: MiniCluster, path: str
) -> None:
    writer = Writer(easygoing_java, path)
    writer.write(MIB + 1)
    writer.out.close()
    wait_until(lambda: is_replicated(cluster, writer), PATIENCE_S)
    victim = replicas_of(cluster, path)[0][1].datanode
    cluster.kill(victim)
    writer.out = easygoing_java.fs.append(easygoing_java.path(path))
    writer.write(MIB + 1)
    writer.out.hflush()
    assert victim not in writer.pipeline()
    second = writer.pipeline()[0]
    cluster.kill(second)
    writer.write(MIB + 1)
    writer.out.close()
    cluster.restart(victim)
    check(easygoing_java, cluster, writer)
