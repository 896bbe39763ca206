"""A datanode that fails at each point of a write, in each way, under each client.

Points: the set-up of the pipeline, its first packet, the middle, the last packet, the
close, and the pipeline's own recovery. Ways: killed, frozen, disk full, network cut. One
or two of a pipeline's three datanodes, and the writer notices nothing; all three, and
it gets an error that names the file, while what was acknowledged is there when the
datanodes are back.

The harness fails if a fault hit nothing. Frozen datanodes are found by their silence,
which takes Hadoop's five seconds for each datanode of the pipeline and more: here they are
among the long tests. One for each client is in `cluster/test_client_recovery.py` and
`test_pipeline_recovery_java.py`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Protocol

import pytest

from howdah.client.dfs import DFSClient
from howdah.datanode.state.fault_points import Point
from howdah.fs.api import FileSystem
from howdah.testing import MiniCluster
from howdah.testing.faults import Action, Fault
from howdah.testing.waiting import wait_until
from tests.support.replicas import replicas_of

pytestmark = pytest.mark.timeout(300)

BLOCK = 1 << 20
PIECE = 300_001
PIECES = 6
PATIENCE_S = 90.0
CONF: dict[str, str | int | bool] = {
    "dfs.client.socket-timeout": 2000,
    "dfs.namenode.heartbeat.recheck-interval": 500,
    "dfs.namenode.redundancy.interval.seconds": 1,
    "dfs.namenode.reconstruction.pending.timeout-sec": 5,
    # The fourth datanode replaces one of three, also while it gets copies of blocks that earlier
    # tests have left with too few replicas.
    "dfs.namenode.redundancy.considerLoad": False,
    "dfs.blocksize": BLOCK,
    "howdah.namenode.block-recovery-timeout": "1s",
    # A cluster of four has no datanode left to replace the second one with.
    "dfs.client.block.write.replace-datanode-on-failure.best-effort": True,
}
POINTS = [
    Point.SET_UP,
    Point.FIRST_PACKET,
    Point.MIDDLE,
    Point.LAST_PACKET,
    Point.CLOSE,
    Point.REBUILD,
]
QUICK = [Action.KILL, Action.DISK_FULL, Action.CUT]


class Stream(Protocol):
    """A stream that is being written, by whichever client."""

    def write(self, data: bytes) -> object: ...
    def hflush(self) -> None: ...
    def close(self) -> None: ...


class Client(Protocol):
    """Howdah's client or Java's; `failure` is what it raises."""

    failure: type[Exception]

    def create(self, path: str) -> Stream: ...
    def append(self, path: str) -> Stream: ...
    def abandon(self, path: str) -> None:
        """Write and flush the first piece, write another one, and be gone."""

    def recover_lease(self, path: str) -> bool: ...


class OurClient:
    failure: type[Exception] = OSError

    def __init__(self, fs: FileSystem, cluster: MiniCluster) -> None:
        self._fs = fs
        self._cluster = cluster

    def create(self, path: str) -> Stream:
        return self._fs.create(path, replication=3)

    def append(self, path: str) -> Stream:
        return self._fs.append(path)

    def abandon(self, path: str) -> None:
        client = DFSClient.at(self._cluster.uri.removeprefix("hdfs://"), self._cluster.conf)
        out = client.create(
            path,
            masked=0o644,
            unmasked=0o666,
            overwrite=False,
            create_parent=True,
            replication=3,
            block_size=BLOCK,
        )
        out.write(piece(0))
        out.hflush()
        out.write(piece(1))
        out.abort()
        client.close()

    def recover_lease(self, path: str) -> bool:
        return self._fs.recover_lease(path)


class JavaClient:
    """Hadoop's client in Spark's JVM, with a filesystem of its own on this cluster."""

    def __init__(self, spark: Any, cluster: MiniCluster) -> None:
        from py4j.protocol import Py4JJavaError

        self.failure: type[Exception] = Py4JJavaError
        self._jvm = spark._jvm
        self._conf = self._jvm.org.apache.hadoop.conf.Configuration(
            spark._jsc.hadoopConfiguration()
        )
        for name, value in cluster.conf.items():
            self._conf.set(name, value)
        self._uri = self._jvm.java.net.URI(cluster.uri)
        self.fs = self._connect()

    def _connect(self) -> Any:
        return self._jvm.org.apache.hadoop.fs.FileSystem.newInstance(self._uri, self._conf)

    def _path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(path)

    def create(self, path: str) -> Stream:
        stream: Stream = self.fs.create(self._path(path), True, 4096, 3, BLOCK)
        return stream

    def append(self, path: str) -> Stream:
        stream: Stream = self.fs.append(self._path(path))
        return stream

    def abandon(self, path: str) -> None:
        fs = self._connect()
        out = fs.create(self._path(path), True, 4096, 3, BLOCK)
        out.write(piece(0))
        out.hflush()
        out.write(piece(1))
        fs.getClient().closeAllFilesBeingWritten(True)

    def recover_lease(self, path: str) -> bool:
        return bool(self.fs.recoverLease(self._path(path)))


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=4, conf=CONF, faults=True) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def fs(cluster: MiniCluster) -> Iterator[FileSystem]:
    with cluster.connect() as fs:
        yield fs


@pytest.fixture(scope="module")
def java(spark: Any, cluster: MiniCluster) -> Iterator[JavaClient]:
    java = JavaClient(spark, cluster)
    yield java
    java.fs.close()


@pytest.fixture(params=["howdah", "java"])
def client(request: pytest.FixtureRequest, fs: FileSystem, cluster: MiniCluster) -> Client:
    if request.param == "java":
        java: Client = request.getfixturevalue("java")
        return java
    return OurClient(fs, cluster)


@pytest.fixture(scope="module")
def written(cluster: MiniCluster, fs: FileSystem) -> Iterator[list[str]]:
    """The files that were written: each gets its three replicas again. Looked at
    after the last test, for it takes seconds, but all of them the same seconds."""
    paths: list[str] = []
    yield paths
    all_back(cluster, fs)
    for path in paths:
        whole = partial(is_replicated, cluster, path, read(fs, path))
        wait_until(whole, PATIENCE_S, f"{path} has three equal replicas again")


@pytest.fixture
def path(request: pytest.FixtureRequest, written: list[str]) -> Iterator[str]:
    path = "/matrix/" + "".join(c if c.isalnum() else "_" for c in request.node.name)
    yield path
    written.append(path)


@pytest.fixture(autouse=True)
def everybody_is_back(cluster: MiniCluster, fs: FileSystem) -> Iterator[None]:
    """Each test begins with four datanodes that are well."""
    yield
    all_back(cluster, fs)


def all_back(cluster: MiniCluster, fs: FileSystem) -> None:
    killed = cluster.faults.killed()
    cluster.faults.heal()
    # Connections end a moment before their process does.
    wait_until(lambda: all(cluster.process(name).pid is None for name in killed), PATIENCE_S)
    for server in cluster.processes:
        if server.pid is None:
            cluster.restart(server.name)
        else:
            cluster.resume(server.name)
    wait_until(lambda: len(fs.datanode_report("live")) == 4, PATIENCE_S, "all datanodes are back")


def piece(number: int) -> bytes:
    return bytes([number + 1]) * PIECE


WRITTEN = b"".join(piece(number) for number in range(PIECES))


def read(fs: FileSystem, path: str) -> bytes:
    with fs.open(path) as stream:
        return bytes(stream.read())


def arm(cluster: MiniCluster, point: Point, action: Action, count: int) -> Fault:
    if point is Point.REBUILD:
        # There is nothing to rebuild before something breaks.
        cluster.faults.arm(Point.MIDDLE, Action.KILL)
    return cluster.faults.arm(point, action, count=count)


def survives(
    cluster: MiniCluster,
    fs: FileSystem,
    client: Client,
    path: str,
    arm_fault: Callable[[], Fault],
    *,
    behind_flush: bool = False,
) -> list[str]:
    """Write through a fault and look from outside after each hflush; whom it befell. With
    `behind_flush` the fault comes behind the first one."""
    fault = None if behind_flush else arm_fault()
    out = client.create(path)
    for number in range(PIECES):
        out.write(piece(number))
        out.hflush()
        if fault is None:
            fault = arm_fault()
        acknowledged = (number + 1) * PIECE
        assert fs.get_file_status(path).length <= len(read(fs, path))
        assert read(fs, path) == WRITTEN[:acknowledged]
    out.close()
    assert read(fs, path) == WRITTEN
    assert fault is not None
    return fault.victims()


def is_replicated(cluster: MiniCluster, path: str, content: bytes) -> bool:
    """Whether each block has three finalized replicas, equal and of one stamp, and no other."""
    for number, replicas in enumerate(replicas_of(cluster, path)):
        block = content[number * BLOCK : (number + 1) * BLOCK]
        stamps = {
            meta.name
            for replica in replicas
            for meta in replica.path.parent.glob("*.meta")
            if meta.name.startswith(f"{replica.path.name}_")
        }
        if len(replicas) != 3 or len(stamps) != 1:
            return False
        if any(replica.read_if_there() != block for replica in replicas):
            return False
    return True


@pytest.mark.req("FS-124", "FS-125", "FS-126", "FS-127", "FS-128", "FS-129", "FS-130", "FS-131")
@pytest.mark.parametrize("action", QUICK)
@pytest.mark.parametrize("point", POINTS)
def test_a_failing_datanode_is_not_noticed_by_the_writer(
    cluster: MiniCluster, fs: FileSystem, client: Client, path: str, point: Point, action: Action
) -> None:
    victims = survives(cluster, fs, client, path, lambda: arm(cluster, point, action, 1))
    assert len(victims) == 1


@pytest.mark.req("FS-127", "FS-131", "FS-132")
@pytest.mark.parametrize("action", QUICK)
@pytest.mark.parametrize("point", [Point.MIDDLE, Point.LAST_PACKET, Point.CLOSE])
def test_two_failing_datanodes_are_not_noticed_by_the_writer(
    cluster: MiniCluster, fs: FileSystem, client: Client, path: str, point: Point, action: Action
) -> None:
    victims = survives(cluster, fs, client, path, lambda: arm(cluster, point, action, 2))
    assert len(victims) == 2


@pytest.mark.req("FS-156", "AP-015", "AP-025", "LM-059")
@pytest.mark.parametrize("action", QUICK)
@pytest.mark.parametrize("point", [Point.MIDDLE, Point.LAST_PACKET, Point.CLOSE])
def test_when_every_datanode_fails_the_writer_is_told_and_nothing_acknowledged_is_lost(
    cluster: MiniCluster, fs: FileSystem, client: Client, path: str, point: Point, action: Action
) -> None:
    out = client.create(path)
    out.write(piece(0))
    out.hflush()
    fault = cluster.faults.arm(point, action, count=4)
    acknowledged = PIECE
    failure: Exception | None = None
    try:
        for number in range(1, PIECES):
            out.write(piece(number))
            out.hflush()
            acknowledged += PIECE
        out.close()
    except client.failure as error:
        failure = error
        with contextlib.suppress(client.failure):
            out.close()
    assert len(fault.victims()) >= 3
    if action is not Action.DISK_FULL:
        # A disk that has room again takes what comes next; the dead take nothing.
        assert failure is not None
        assert path in str(failure) or isinstance(client, JavaClient)
    all_back(cluster, fs)
    wait_until(lambda: client.recover_lease(path), PATIENCE_S, f"{path} is closed")
    found = read(fs, path)
    assert len(found) >= acknowledged
    assert found == WRITTEN[: len(found)]


@pytest.mark.req("AP-008", "AP-016", "AP-018", "AP-029", "AP-030", "FS-131")
@pytest.mark.parametrize("action", QUICK)
@pytest.mark.parametrize("point", [Point.SET_UP, Point.FIRST_PACKET, Point.LAST_PACKET])
def test_a_failing_datanode_is_not_noticed_by_who_appends(
    cluster: MiniCluster, fs: FileSystem, client: Client, path: str, point: Point, action: Action
) -> None:
    out = client.create(path)
    out.write(piece(0))
    out.close()
    wait_until(lambda: is_replicated(cluster, path, piece(0)), PATIENCE_S)
    fault = cluster.faults.arm(point, action)
    out = client.append(path)
    for number in range(1, PIECES):
        out.write(piece(number))
        out.hflush()
        assert read(fs, path) == WRITTEN[: (number + 1) * PIECE]
    out.close()
    assert read(fs, path) == WRITTEN
    assert len(fault.victims()) == 1


@pytest.mark.req("AP-015", "AP-021", "AP-022", "AP-025", "AP-026", "AP-028", "AP-047", "AP-048")
@pytest.mark.parametrize(
    ("point", "action"),
    [
        (Point.INIT_RECOVERY, Action.KILL),
        (Point.INIT_RECOVERY, Action.DISK_FULL),
        pytest.param(Point.INIT_RECOVERY, Action.CUT, marks=pytest.mark.torture),
        pytest.param(Point.INIT_RECOVERY, Action.PAUSE, marks=pytest.mark.torture),
        (Point.UPDATE_RECOVERY, Action.KILL),
        (Point.UPDATE_RECOVERY, Action.DISK_FULL),
        pytest.param(Point.UPDATE_RECOVERY, Action.CUT, marks=pytest.mark.torture),
        pytest.param(Point.UPDATE_RECOVERY, Action.PAUSE, marks=pytest.mark.torture),
        (Point.COMMIT_RECOVERY, Action.KILL),
        pytest.param(Point.COMMIT_RECOVERY, Action.CUT, marks=pytest.mark.torture),
        pytest.param(Point.COMMIT_RECOVERY, Action.PAUSE, marks=pytest.mark.torture),
    ],
)
def test_a_datanode_that_fails_in_a_recovery_costs_no_acknowledged_byte(
    cluster: MiniCluster, fs: FileSystem, client: Client, path: str, point: Point, action: Action
) -> None:
    client.abandon(path)
    fault = cluster.faults.arm(point, action)
    wait_until(lambda: client.recover_lease(path), PATIENCE_S, f"{path} is closed")
    assert len(fault.victims()) == 1
    found = read(fs, path)
    assert len(found) >= PIECE
    assert found == WRITTEN[: len(found)]


@pytest.mark.torture
@pytest.mark.req("FS-124", "FS-127", "FS-131", "FS-132")
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("point", POINTS)
def test_frozen_datanodes_are_not_noticed_by_the_writer_at_any_point(
    cluster: MiniCluster, fs: FileSystem, client: Client, path: str, point: Point, count: int
) -> None:
    victims = survives(
        cluster,
        fs,
        client,
        path,
        lambda: arm(cluster, point, Action.PAUSE, count),
        # By default a pipeline of two gets no third datanode before something was flushed, and
        # here the first of three dies before two are frozen.
        behind_flush=point is Point.REBUILD,
    )
    assert len(victims) == count
