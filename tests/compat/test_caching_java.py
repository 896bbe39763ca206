"""Pools and directives go from our namenode to Hadoop's and back, by image and by log; our
datanodes cache what Hadoop's namenode orders."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.request import urlopen

import pytest

from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.hadoop.mixed import MixedCluster

pytestmark = [pytest.mark.timeout(240), pytest.mark.req("FS-041"), pytest.mark.req("FS-042")]


def directives(fs: HdfsFileSystem) -> list[tuple[int, str, int, str]]:
    return [(d.directive_id, d.path, d.replication, d.pool) for d in fs.list_cache_directives()]


@pytest.mark.parametrize("by_image", [True, False], ids=["image", "log"])
def test_pools_and_directives_go_to_hadoops_namenode_and_come_back(
    hadoop_tools: Callable[..., None], tmp_path: Path, by_image: bool
) -> None:
    with MiniCluster(datanodes=1, dir=tmp_path / "cluster") as cluster:
        fs = cluster.connect()
        assert isinstance(fs, HdfsFileSystem)
        fs.add_cache_pool("first", owner="ann", group="staff", mode=0o750, limit_bytes=77)
        fs.add_cache_directive("/gone", "first")
        fs.add_cache_directive("/a", "first", replication=2, ttl_ms=3_600_000)
        fs.modify_cache_directive(2, path="/b", ttl_ms=7_200_000)
        fs.remove_cache_directive(1)
        fs.add_cache_pool("second", owner="bob", group="staff")
        fs.modify_cache_pool("second", mode=0o700)
        fs.add_cache_pool("third", group="staff")
        fs.remove_cache_pool("third")
        if by_image:
            fs.set_safe_mode("enter")
            fs.administration.save_namespace()
            fs.set_safe_mode("leave")
        expiry_ms = fs.list_cache_directives()[0].expiry_ms
        fs.close()
        cluster.kill("namenode")
        cluster.stop("datanode0")
        (name_dir,) = cluster.data_dirs("namenode")
        shutil.copytree(name_dir, tmp_path / "theirs" / "name")
        hadoop_tools("start", tmp_path / "theirs")
        try:
            hadoop_tools("cached", tmp_path / "said", "zeta")
        finally:
            hadoop_tools("stop")
        pools, listed = (
            (tmp_path / "said").read_text().splitlines()[:3],
            [line.split() for line in (tmp_path / "said").read_text().splitlines()[3:]],
        )
        assert [line.split()[0] for line in pools] == ["first", "second", "zeta"]
        assert pools[0] == f"first ann staff {0o750} 77"
        assert pools[1] == f"second bob staff {0o700} {(1 << 63) - 1}"
        assert listed == [["2", "/b", "2", "first"], ["3", "/of/zeta", "3", "zeta"]]

        shutil.rmtree(name_dir)
        shutil.copytree(tmp_path / "theirs" / "name", name_dir)
        (name_dir / "in_use.lock").unlink(missing_ok=True)
        cluster.start("namenode")
        cluster.wait_ready()
        with cluster.connect() as fs:
            assert isinstance(fs, HdfsFileSystem)
            assert directives(fs) == [(2, "/b", 2, "first"), (3, "/of/zeta", 3, "zeta")]
            assert fs.list_cache_directives(directive_id=2)[0].expiry_ms == expiry_ms
            first = fs.list_cache_pools()[0]
            assert (first.owner, first.group, first.mode) == ("ann", "staff", 0o750)
            assert first.limit_bytes == 77
            assert fs.add_cache_directive("/next", "second", force=True) == 4


# --- orders of Hadoop's namenode ---

BLOCK = 64 << 10
DATA = bytes(range(256)) * (BLOCK // 256) * 2 + b"and a last block"
QUICK = {
    "dfs.heartbeat.interval": 1,
    "dfs.namenode.fs-limits.min-block-size": 4096,
    "dfs.blocksize": BLOCK,
    "dfs.namenode.path.based.cache.refresh.interval.ms": 500,
    "dfs.namenode.path.based.cache.retry.interval.ms": 500,
    "dfs.cachereport.intervalMsec": 500,
    "dfs.datanode.max.locked.memory": 16 * BLOCK,
}


@pytest.fixture(scope="module")
def hadoops(
    hadoop_classpath: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MixedCluster]:
    directory = tmp_path_factory.mktemp("hadoops")
    with MixedCluster(
        hadoop_classpath, ["namenode"], namenodes=1, datanodes=2, conf=QUICK, dir=directory
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def fs(hadoops: MixedCluster) -> Iterator[HdfsFileSystem]:
    with hadoops.connect() as fs:
        assert isinstance(fs, HdfsFileSystem)
        wait_until(lambda: len(fs.datanode_report("live")) == 2, 90, "both datanodes are there")
        fs.add_cache_pool("pool")
        yield fs


def wait_until_cached(fs: HdfsFileSystem, path: str, *copies: int) -> None:
    """On how many datanodes each block of a file is cached, as Hadoop's namenode says it."""

    def found() -> list[int]:
        return [len(each.cached_hosts) for each in fs.block_locations(path)]

    wait_until(lambda: found() == list(copies), 90, f"{copies} cached replicas of {path}")


def locked_kib(cluster: MixedCluster) -> int:
    """What the datanodes' processes have locked, as the kernel counts it."""
    found = 0
    for name in ("datanode0", "datanode1"):
        top = cluster.process(name).pid
        assert top is not None
        for pid in (top, *map(int, children_of(top))):
            with suppress(FileNotFoundError, ProcessLookupError):
                lines = Path(f"/proc/{pid}/status").read_text().splitlines()
                found += sum(int(each.split()[1]) for each in lines if each.startswith("VmLck"))
    return found


def children_of(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


@pytest.mark.req("FS-037", "FS-171")
def test_our_datanodes_cache_what_hadoops_namenode_orders(
    hadoops: MixedCluster, fs: HdfsFileSystem
) -> None:
    with fs.create("/cached", replication=2) as out:
        out.write(DATA)
    wait_until(lambda: all(len(b.names) == 2 for b in fs.block_locations("/cached")), 90)
    before = locked_kib(hadoops)
    number = fs.add_cache_directive("/cached", "pool", replication=2)
    wait_until_cached(fs, "/cached", 2, 2, 2)
    assert locked_kib(hadoops) >= before + 2 * len(DATA) // 1024

    def figures() -> tuple[int, int]:
        found = fs.list_cache_directives(directive_id=number)[0].statistics
        return found.bytes_needed, found.bytes_cached

    wait_until(lambda: figures() == (2 * len(DATA), 2 * len(DATA)), 90)
    query = "qry=Hadoop:service=NameNode,name=NameNodeInfo"
    with urlopen(f"{hadoops.http}/jmx?{query}", timeout=60) as answer:
        (bean,) = json.load(answer)["beans"]
    assert bean["CacheUsed"] >= 2 * len(DATA)
    assert bean["CacheCapacity"] == 2 * 16 * BLOCK
    assert fs.read_bytes("/cached") == DATA
    fs.modify_cache_directive(number, replication=1)
    wait_until_cached(fs, "/cached", 1, 1, 1)
    fs.remove_cache_directive(number)
    wait_until_cached(fs, "/cached", 0, 0, 0)
    wait_until(lambda: locked_kib(hadoops) == before, 90, "the memory is given back")


@pytest.mark.req("FS-037")
def test_what_changes_or_dies_is_cached_again_for_hadoops_namenode(
    hadoops: MixedCluster, fs: HdfsFileSystem
) -> None:
    with fs.create("/changing", replication=2) as out:
        out.write(DATA[:BLOCK])
    number = fs.add_cache_directive("/changing", "pool", replication=2)
    wait_until_cached(fs, "/changing", 2)
    with fs.append("/changing") as out:
        out.write(DATA[BLOCK:])
    wait_until_cached(fs, "/changing", 2, 2, 2)
    hadoops.kill("datanode0")
    hadoops.restart("datanode0")
    wait_until_cached(fs, "/changing", 2, 2, 2)
    # After a restart Hadoop's namenode hears what is cached, and orders nothing of it anew.
    hadoops.restart("namenode")
    wait_until_cached(fs, "/changing", 2, 2, 2)
    assert [each.path for each in fs.list_cache_directives()] == ["/changing"]
    fs.remove_cache_directive(number)
    wait_until_cached(fs, "/changing", 0, 0, 0)
    assert fs.read_bytes("/changing") == DATA
