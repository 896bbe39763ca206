"""Centralised caching: blocks in the memory of datanodes, from a directive to a reader."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from howdah import errors
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until

BLOCK = 64 << 10
DATA = random.Random(41).randbytes(2 * BLOCK + 777)
CONF: dict[str, str | int | bool] = {
    "dfs.heartbeat.interval": "200ms",
    "dfs.namenode.fs-limits.min-block-size": 4096,
    "dfs.namenode.path.based.cache.refresh.interval.ms": 300,
    "dfs.namenode.path.based.cache.retry.interval.ms": 300,
    "dfs.cachereport.intervalMsec": 300,
    "dfs.datanode.cache.revocation.polling.ms": 50,
    "dfs.blocksize": BLOCK,
    "dfs.datanode.max.locked.memory": 16 * BLOCK,
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=2, conf=CONF, dir=tmp_path_factory.mktemp("caching")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def fs(cluster: MiniCluster) -> Iterator[HdfsFileSystem]:
    with cluster.connect() as fs:
        assert isinstance(fs, HdfsFileSystem)
        fs.add_cache_pool("p", group="g")
        yield fs


@pytest.fixture
def path(fs: HdfsFileSystem, request: pytest.FixtureRequest) -> str:
    """A file of three blocks, on one datanode or two."""
    path = f"/{request.node.name}"
    with fs.create(path, replication=2) as out:
        out.write(DATA)
    return path


def cached_copies(fs: HdfsFileSystem, path: str) -> list[int]:
    """On how many datanodes each block is cached."""
    return [len(location.cached_hosts) for location in fs.block_locations(path)]


def wait_until_cached(fs: HdfsFileSystem, path: str, copies: int, blocks: int = 3) -> None:
    wait_until(lambda: cached_copies(fs, path) == [copies] * blocks, 60)


@pytest.mark.req("FS-037")
@pytest.mark.req("FS-039")
@pytest.mark.req("FS-040")
@pytest.mark.req("FS-171")
def test_a_file_is_cached_on_one_datanode_listed_read_and_uncached(
    fs: HdfsFileSystem, path: str
) -> None:
    number = fs.add_cache_directive(path, "p")
    wait_until_cached(fs, path, 1)

    def cached_bytes() -> int:
        return fs.list_cache_directives(directive_id=number)[0].statistics.bytes_cached

    wait_until(lambda: cached_bytes() == len(DATA), 60)
    with fs.open(path) as stream:
        assert stream.read() == DATA
    fs.remove_cache_directive(number)
    wait_until_cached(fs, path, 0)
    with fs.open(path) as stream:
        assert stream.read() == DATA


@pytest.mark.req("FS-038")
def test_a_directive_says_on_how_many_datanodes(fs: HdfsFileSystem, path: str) -> None:
    number = fs.add_cache_directive(path, "p", replication=2)
    wait_until_cached(fs, path, 2)
    fs.remove_cache_directive(number)
    wait_until_cached(fs, path, 0)


@pytest.mark.req("FS-041")
def test_a_directive_expires(fs: HdfsFileSystem, path: str) -> None:
    number = fs.add_cache_directive(path, "p")
    wait_until_cached(fs, path, 1)
    fs.modify_cache_directive(number, ttl_ms=1)
    wait_until_cached(fs, path, 0)
    assert fs.list_cache_directives(directive_id=number)[0].has_expired
    fs.remove_cache_directive(number)


def test_a_block_that_is_appended_to_is_cached_again_afterwards(
    fs: HdfsFileSystem, path: str
) -> None:
    number = fs.add_cache_directive(path, "p")
    wait_until_cached(fs, path, 1)
    with fs.append(path) as out:
        out.write(b"more")
        out.hflush()
        with fs.open(path) as stream:
            assert stream.read() == DATA + b"more"
    wait_until_cached(fs, path, 1)
    with fs.open(path) as stream:
        assert stream.read() == DATA + b"more"
    fs.remove_cache_directive(number)


def test_directives_outlive_a_restart_of_the_namenode(
    cluster: MiniCluster, fs: HdfsFileSystem, path: str
) -> None:
    fs.add_cache_pool("kept", group="g", limit_bytes=1 << 40, mode=0o700)
    number = fs.add_cache_directive(path, "kept")
    cluster.restart("namenode")
    (directive,) = fs.list_cache_directives(pool="kept")
    assert (directive.directive_id, directive.path) == (number, path)
    assert directive.never_expires
    wait_until_cached(fs, path, 1)
    fs.remove_cache_pool("kept")
    with pytest.raises(errors.InvalidRequest, match="Did not find requested id"):
        fs.list_cache_directives(directive_id=number)


def test_a_directory_is_cached_file_by_file_as_they_come_and_go(fs: HdfsFileSystem) -> None:
    fs.mkdirs("/dir/below")
    fs.add_cache_directive("/dir", "p")
    for name in ("/dir/a", "/dir/below/b"):
        with fs.create(name, replication=1) as out:
            out.write(DATA[:100])
    wait_until_cached(fs, "/dir/a", 1, 1)
    assert cached_copies(fs, "/dir/below/b") == [0]
    fs.delete("/dir", recursive=True)
    wait_until(lambda: fs.list_cache_pools()[0].statistics.bytes_cached == 0, 60)
