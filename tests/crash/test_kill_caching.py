"""kill -9 in the middle of caching: directives survive, and memory and counts are right again.

Where a datanode dies or stands still is exact (`Point.CACHE_LOCKED`: a replica is locked in
memory, and nobody knows), so the kills hit the middle each time.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from howdah.datanode.state.fault_points import Point
from howdah.fs.hdfs.caching import CacheStatistics
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing import MiniCluster
from howdah.testing.faults import Action
from howdah.testing.waiting import wait_until
from tests.support.torture import times

BLOCK = 16 << 10
BLOCKS = 8
DATA = random.Random(43).randbytes(BLOCKS * BLOCK - 777)
NODES = 3
NAMES = [f"datanode{number}" for number in range(NODES)]
MEMORY = 64 * BLOCK
CONF: dict[str, str | int | bool] = {
    "dfs.heartbeat.interval": "200ms",
    "dfs.namenode.heartbeat.recheck-interval": 1000,
    "dfs.namenode.fs-limits.min-block-size": 4096,
    "dfs.namenode.path.based.cache.refresh.interval.ms": 300,
    "dfs.namenode.path.based.cache.retry.interval.ms": 300,
    "dfs.cachereport.intervalMsec": 300,
    "dfs.datanode.cache.revocation.polling.ms": 50,
    "dfs.blocksize": BLOCK,
    "dfs.datanode.max.locked.memory": MEMORY,
}

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.req("FS-037"),
    pytest.mark.req("FS-171"),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MiniCluster]:
    directory = tmp_path_factory.mktemp("kills")
    with MiniCluster(datanodes=NODES, conf=CONF, dir=directory, faults=True) as made:
        yield made


@pytest.fixture
def fs(cluster: MiniCluster) -> Iterator[HdfsFileSystem]:
    with cluster.connect() as fs:
        assert isinstance(fs, HdfsFileSystem)
        fs.add_cache_pool("p", group="g")
        yield fs
        # For the next test, also after a failure: all servers run, and nothing is cached.
        cluster.faults.heal()
        fs.remove_cache_pool("p")
        for name in NAMES:
            if cluster.process(name).pid is None:
                cluster.restart(name)
            cluster.resume(name)
        wait_until_free(cluster, fs)


@pytest.fixture
def path(fs: HdfsFileSystem, request: pytest.FixtureRequest) -> str:
    """A file of eight blocks with a replica on each datanode."""
    path = f"/{request.node.name}"
    write(fs, path)
    return path


def write(fs: HdfsFileSystem, path: str) -> None:
    with fs.create(path, replication=NODES) as out:
        out.write(DATA)

    def is_everywhere() -> bool:
        return all(len(location.hosts) == NODES for location in fs.block_locations(path))

    wait_until(is_everywhere, 60)


def copies(fs: HdfsFileSystem, path: str) -> list[int]:
    """On how many datanodes each block is cached."""
    return [len(location.cached_hosts) for location in fs.block_locations(path)]


def wait_until_cached(fs: HdfsFileSystem, path: str, count: int) -> None:
    """And statistics say so."""
    wait_until(lambda: copies(fs, path) == [count] * BLOCKS, 60)
    if count:
        full = CacheStatistics(count * len(DATA), count * len(DATA), 1, 1)

        def is_counted() -> bool:
            (directive,) = fs.list_cache_directives(path=path)
            return directive.statistics == full

        wait_until(is_counted, 60)


def locked_bytes(cluster: MiniCluster, name: str) -> int:
    """What the kernel has locked for a datanode's processes."""
    pid = cluster.process(name).pid
    assert pid is not None, f"{name} does not run"
    return sum(_locked_by(each) for each in (pid, *_children(pid)))


def _children(pid: int) -> list[int]:
    words = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(word) for word in words]


def _locked_by(pid: int) -> int:
    found = re.search(r"^VmLck:\s+(\d+) kB$", Path(f"/proc/{pid}/status").read_text(), re.M)
    assert found is not None, f"the kernel says nothing of locked memory of {pid}"
    return int(found[1]) << 10


def budget_in_use(fs: HdfsFileSystem) -> dict[str, int]:
    """What datanodes say that their caches take."""
    reports = fs.administration.datanodes("LIVE")
    return {report.id.datanodeUuid: report.cacheUsed for report in reports}


def wait_until_free(cluster: MiniCluster, fs: HdfsFileSystem) -> None:
    """No page is locked at any datanode, and all memory may be used again."""
    wait_until(lambda: all(locked_bytes(cluster, name) == 0 for name in NAMES), 60)
    wait_until(lambda: list(budget_in_use(fs).values()) == [0] * NODES, 60)


def wait_until_locked(cluster: MiniCluster, fs: HdfsFileSystem, total: int) -> None:
    """The datanodes have locked as much as that together, and say so."""
    wait_until(lambda: sum(locked_bytes(cluster, name) for name in NAMES) == total, 60)
    wait_until(lambda: sum(budget_in_use(fs).values()) == total, 60)


def test_a_datanode_dies_with_replicas_locked_and_comes_back(
    cluster: MiniCluster, fs: HdfsFileSystem, path: str
) -> None:
    fault = cluster.faults.arm(Point.CACHE_LOCKED, Action.KILL, names=["datanode1"])
    number = fs.add_cache_directive(path, "p", replication=NODES)
    wait_until(lambda: fault.victims() == ["datanode1"], 60)
    wait_until(lambda: copies(fs, path) == [NODES - 1] * BLOCKS, 60)
    cluster.faults.disarm(Point.CACHE_LOCKED)
    cluster.restart("datanode1")
    wait_until_cached(fs, path, NODES)
    wait_until_locked(cluster, fs, NODES * BLOCKS * BLOCK)
    fs.remove_cache_directive(number)
    wait_until_cached(fs, path, 0)
    wait_until_free(cluster, fs)


def test_the_namenode_dies_while_datanodes_cache(
    cluster: MiniCluster, fs: HdfsFileSystem, path: str
) -> None:
    fault = cluster.faults.arm(Point.CACHE_LOCKED, Action.PAUSE, count=NODES)
    number = fs.add_cache_directive(path, "p", replication=NODES)
    before = fs.list_cache_directives()
    wait_until(lambda: fault.victims() == NAMES, 60)
    cluster.kill("namenode")
    cluster.faults.disarm(Point.CACHE_LOCKED)
    cluster.start("namenode")
    for name in NAMES:
        cluster.resume(name)
    cluster.wait_ready()
    (directive,) = fs.list_cache_directives()
    assert (directive.directive_id, directive.path, directive.replication, directive.pool) == (
        number,
        path,
        NODES,
        "p",
    )
    assert directive.expiry_ms == before[0].expiry_ms
    wait_until_cached(fs, path, NODES)
    wait_until_locked(cluster, fs, NODES * BLOCKS * BLOCK)
    with fs.open(path) as stream:
        assert stream.read() == DATA
    fs.remove_cache_directive(number)
    wait_until_cached(fs, path, 0)
    wait_until_free(cluster, fs)


def test_what_no_directive_asked_for_when_the_namenode_died_is_uncached(
    cluster: MiniCluster, fs: HdfsFileSystem, path: str
) -> None:
    number = fs.add_cache_directive(path, "p", replication=2)
    wait_until_cached(fs, path, 2)
    for name in NAMES:
        cluster.pause(name)  # So that none of them is told.
    fs.remove_cache_directive(number)
    cluster.kill("namenode")
    cluster.start("namenode")
    for name in NAMES:
        cluster.resume(name)
    cluster.wait_ready()
    wait_until_cached(fs, path, 0)
    wait_until_free(cluster, fs)
    assert fs.list_cache_directives() == []


def test_namenode_and_datanode_die_at_once(
    cluster: MiniCluster, fs: HdfsFileSystem, path: str
) -> None:
    fault = cluster.faults.arm(Point.CACHE_LOCKED, Action.PAUSE, count=NODES)
    fs.add_cache_directive(path, "p", replication=NODES)
    wait_until(lambda: fault.victims() == NAMES, 60)
    cluster.kill("namenode", *NAMES)
    cluster.faults.disarm(Point.CACHE_LOCKED)
    for name in ("namenode", *NAMES):
        cluster.start(name)
    cluster.wait_ready()
    wait_until_cached(fs, path, NODES)
    wait_until_locked(cluster, fs, NODES * BLOCKS * BLOCK)


def test_a_datanode_that_comes_back_without_memory_caches_nothing(
    cluster: MiniCluster, fs: HdfsFileSystem, path: str
) -> None:
    """It sends no reports of its cache, so nothing but its heartbeats can tell."""
    fs.add_cache_directive(path, "p", replication=NODES)
    wait_until_cached(fs, path, NODES)
    cluster.configure({"dfs.datanode.max.locked.memory": 0})
    try:
        cluster.kill("datanode2")
        cluster.start("datanode2")
        cluster.wait_ready()
        wait_until(lambda: copies(fs, path) == [NODES - 1] * BLOCKS, 60)
    finally:
        cluster.configure({"dfs.datanode.max.locked.memory": MEMORY})
    cluster.restart("datanode2")
    wait_until_cached(fs, path, NODES)


@pytest.mark.torture
@pytest.mark.timeout(1800)
def test_kills_at_any_time_while_directives_come_and_go(
    cluster: MiniCluster, fs: HdfsFileSystem
) -> None:
    dice = random.Random(47)
    paths = [f"/any/{number}" for number in range(4)]
    for path in paths:
        write(fs, path)
    for _ in range(times(20)):
        kept = {found.path: found.directive_id for found in fs.list_cache_directives()}
        for path in dice.sample(paths, 2):
            if path in kept:
                fs.remove_cache_directive(kept[path])
            else:
                fs.add_cache_directive(path, "p", replication=dice.randint(1, NODES))
        told = [(d.directive_id, d.path, d.replication) for d in fs.list_cache_directives()]
        some = sum(locked_bytes(cluster, name) for name in NAMES)
        if dice.random() < 0.7:  # As soon as anything is under way, else at once.
            wait_until(partial(_has_changed, cluster, some, _Patience(200)), 60)
        victims = dice.sample(["namenode", *NAMES], dice.randint(1, 3))
        cluster.kill(*victims)
        for name in dice.sample(victims, len(victims)):
            cluster.start(name)
        cluster.wait_ready()
        now = [(d.directive_id, d.path, d.replication) for d in fs.list_cache_directives()]
        assert now == told
        wanted = {path: replication for _, path, replication in told}
        for path in paths:
            wait_until_cached(fs, path, wanted.get(path, 0))
        wait_until_locked(cluster, fs, sum(wanted.values()) * BLOCKS * BLOCK)
    for found in fs.list_cache_directives():
        fs.remove_cache_directive(found.directive_id)
    wait_until_free(cluster, fs)


class _Patience:
    """Looks at a condition so often, and then goes on."""

    def __init__(self, looks: int) -> None:
        self._left = looks

    def is_over(self) -> bool:
        self._left -= 1
        return self._left < 0


def _has_changed(cluster: MiniCluster, some: int, patience: _Patience) -> bool:
    return patience.is_over() or sum(locked_bytes(cluster, name) for name in NAMES) != some
