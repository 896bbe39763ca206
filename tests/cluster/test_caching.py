"""Centralised caching: blocks in the memory of datanodes, from a directive to a reader."""

from __future__ import annotations

import json
import mmap
import os
import random
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from urllib.request import urlopen

import pytest

from howdah import errors
from howdah.cli.main import main
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.registry import connect
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.replicas import found_below

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
    # A socket's path has 107 bytes at most.
    with tempfile.TemporaryDirectory(prefix="howdah-") as sockets:
        conf = {
            **CONF,
            "dfs.client.read.shortcircuit": True,
            "dfs.domain.socket.path": f"{sockets}/datanode._PORT",
        }
        with MiniCluster(datanodes=2, conf=conf, dir=tmp_path_factory.mktemp("caching")) as made:
            yield made


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


def cluster_memory(cluster: MiniCluster) -> dict[str, int]:
    """What the namenode tells monitoring."""
    query = "qry=Hadoop:service=NameNode,name=NameNodeInfo"
    with urlopen(f"{cluster.http}/jmx?{query}", timeout=60) as answer:
        (found,) = json.load(answer)["beans"]
    return {name: found[name] for name in ("CacheCapacity", "CacheUsed")}


def done_by_datanodes(cluster: MiniCluster) -> Counter[str]:
    """What they tell monitoring, summed up."""
    found: Counter[str] = Counter()
    for name in ("datanode0", "datanode1"):
        http = cluster.process(name).addresses["http"]
        query = "qry=Hadoop:service=DataNode,name=DataNodeActivity-*"
        with urlopen(f"http://{http}/jmx?{query}", timeout=60) as answer:
            (bean,) = json.load(answer)["beans"]
        found.update({key: value for key, value in bean.items() if type(value) is int})
    return found


def wait_until_cached(fs: HdfsFileSystem, path: str, copies: int, blocks: int = 3) -> None:
    wait_until(lambda: cached_copies(fs, path) == [copies] * blocks, 60)


@pytest.mark.req("FS-037")
def test_a_view_of_a_cached_block_takes_no_system_call(
    fs: HdfsFileSystem, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("howdah.client.shortcircuit.segments.TRUST_S", 3600.0)
    directive = fs.add_cache_directive(path, "p", replication=2)
    wait_until_cached(fs, path, 2)
    called: list[str] = []

    def note(frame: object, event: str, function: object) -> None:
        module = getattr(function, "__module__", None)
        if event == "c_call" and module in {"posix", "select", "_socket", "fcntl", "mmap"}:
            called.append(f"{module}.{getattr(function, '__name__', '')}")

    with fs.open(path) as stream:
        view = stream.pread_view(5000, 4096)
        sys.setprofile(note)
        try:
            views = [stream.pread_view(offset, 4096) for offset in range(0, BLOCK - 4096, 1000)]
            os.getpid()
        finally:
            sys.setprofile(None)
    assert view == DATA[5000:9096]
    assert all(view == DATA[at * 1000 : at * 1000 + 4096] for at, view in enumerate(views))
    assert called == ["posix.getpid"], "the one that was called here"
    fs.remove_cache_directive(directive)
    wait_until_cached(fs, path, 0)


@pytest.mark.req("FS-037")
@pytest.mark.req("FS-039")
@pytest.mark.req("FS-040")
@pytest.mark.req("FS-171")
@pytest.mark.req("FS-260")
def test_a_file_is_cached_on_one_datanode_listed_read_and_uncached(
    cluster: MiniCluster, fs: HdfsFileSystem, path: str
) -> None:
    number = fs.add_cache_directive(path, "p")
    wait_until_cached(fs, path, 1)

    def cached_bytes() -> int:
        return fs.list_cache_directives(directive_id=number)[0].statistics.bytes_cached

    wait_until(lambda: cached_bytes() == len(DATA), 60)
    told = cluster_memory(cluster)
    assert told["CacheCapacity"] == 2 * 16 * BLOCK
    assert len(DATA) <= told["CacheUsed"] < len(DATA) + 3 * mmap.PAGESIZE
    before = done_by_datanodes(cluster)
    assert before["BlocksCached"] >= 3
    assert before["CacheReportsNumOps"] >= 1
    with fs.open(path) as stream:
        assert stream.read() == DATA
    fs.remove_cache_directive(number)
    wait_until_cached(fs, path, 0)
    assert done_by_datanodes(cluster)["BlocksUncached"] >= before["BlocksUncached"] + 3
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


def remote(cluster: MiniCluster, **conf: str) -> HdfsFileSystem:
    """A client that reads by way of datanodes."""
    values = {"dfs.client.read.shortcircuit": "false", **conf}
    fs = connect(cluster.uri, conf=cluster.conf.with_values(values))
    assert isinstance(fs, HdfsFileSystem)
    return fs


def meta_files(cluster: MiniCluster, length: int) -> list[Path]:
    """Of the blocks of that many bytes, at all datanodes."""
    found = []
    for number in range(2):
        for root in cluster.data_dirs(f"datanode{number}"):
            for meta in found_below(root, "current/BP-*/current/finalized/**/*.meta"):
                block = meta.with_name(meta.name.rpartition("_")[0])
                if block.stat().st_size == length:
                    found.append(meta)
    return found


def test_local_readers_do_not_check_what_is_cached(
    cluster: MiniCluster, fs: HdfsFileSystem
) -> None:
    data = DATA[:5432]
    with fs.create("/local", replication=1) as out:
        out.write(data)
    number = fs.add_cache_directive("/local", "p")
    wait_until_cached(fs, "/local", 1, 1)
    (meta,) = meta_files(cluster, len(data))
    sums = meta.read_bytes()
    # Not the last one, of a partial chunk: a datanode keeps that of what it has cached.
    meta.write_bytes(sums[:-8] + b"\0\0\0\0" + sums[-4:])
    try:
        with fs.open("/local") as stream:
            assert stream.read() == data
        with remote(cluster) as far, far.open("/local") as stream:
            with pytest.raises(errors.HowdahError):
                stream.read()
    finally:
        meta.write_bytes(sums)
    fs.remove_cache_directive(number)


def test_readers_elsewhere_see_one_file_while_its_blocks_are_cached_uncached_and_grow(
    cluster: MiniCluster, fs: HdfsFileSystem, path: str
) -> None:
    """Small reads of cached blocks are sent from where these are mapped."""
    whole = DATA + b"\0\1"
    wrong: list[object] = []
    done = threading.Event()

    def preads(far: HdfsFileSystem, seed: int) -> None:
        chance = random.Random(seed)
        try:
            while not done.is_set():
                with far.open(path) as stream:
                    for _ in range(20):
                        offset = chance.randrange(len(DATA))
                        found = stream.pread(offset, chance.randrange(1, BLOCK))
                        if found != whole[offset : offset + len(found)]:
                            wrong.append(offset)
        except (errors.HowdahError, OSError) as error:
            wrong.append(error)

    with remote(cluster) as far:
        readers = [threading.Thread(target=preads, args=(far, seed)) for seed in range(2)]
        for reader in readers:
            reader.start()
        try:
            for grown in range(2):
                number = fs.add_cache_directive(path, "p", replication=2)
                wait_until_cached(fs, path, 2)
                with fs.append(path) as out:
                    out.write(bytes((grown,)))
                wait_until_cached(fs, path, 2)
                fs.remove_cache_directive(number)
                wait_until_cached(fs, path, 0)
        finally:
            done.set()
            for reader in readers:
                reader.join(60)
        with far.open(path) as stream:
            assert stream.read() == whole
    assert wrong == []


def blocks_read(cluster: MiniCluster) -> dict[str, int]:
    """How many blocks each datanode has sent, by its host."""
    found = {}
    for name in ("datanode0", "datanode1"):
        addresses = cluster.process(name).addresses
        query = "qry=Hadoop:service=DataNode,name=DataNodeActivity-*"
        with urlopen(f"http://{addresses['http']}/jmx?{query}", timeout=60) as answer:
            (bean,) = json.load(answer)["beans"]
        found[addresses["data"].partition(":")[0]] = bean["BlocksRead"]
    return found


def have_read(cluster: MiniCluster, blocks: int) -> bool:
    return sum(blocks_read(cluster).values()) >= blocks


@pytest.mark.req("FS-040")
def test_a_client_may_prefer_what_is_cached() -> None:
    """Without that it is chance which of two datanodes is asked that are equally far."""
    # With racks the datanodes have names.
    with MiniCluster(datanodes=2, racks=["/a", "/b"], conf=CONF) as cluster:
        paths = [f"/{number}" for number in range(8)]
        with remote(cluster) as fs:
            fs.add_cache_pool("p", group="g")
            for path in paths:
                with fs.create(path, replication=2) as out:
                    out.write(DATA[:1000])
                fs.add_cache_directive(path, "p")
            for path in paths:
                wait_until_cached(fs, path, 1, 1)
            where = {path: fs.block_locations(path)[0].cached_hosts for path in paths}
        with remote(cluster, **{"dfs.client.read.use.cache.priority": "true"}) as far:
            before = blocks_read(cluster)
            for path in paths:
                assert far.read_bytes(path) == DATA[:1000]
                (cached,) = where[path]
                before[cached] += 1
                have_counted = partial(have_read, cluster, sum(before.values()))
                wait_until(have_counted, 60, "a datanode has counted it")
                assert blocks_read(cluster) == before


def test_the_command_line_makes_lists_and_removes_directives(
    cluster: MiniCluster, path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(words: str) -> tuple[int, str]:
        code = main(["cacheadmin", "-fs", cluster.uri, *words.split()])
        return code, capsys.readouterr().out

    assert run("-addPool cli -group g -mode 0700") == (0, "Successfully added cache pool cli.\n")
    code, said = run(f"-addDirective -path {path} -pool cli")
    number = said.split()[-1]
    assert (code, said) == (0, f"Added cache directive {number}\n")
    code, said = run("-listDirectives -stats -pool cli")
    assert code == 0
    assert said.splitlines()[0] == "Found 1 entry"
    assert said.splitlines()[2].split()[:4] == [number, "cli", "1", "never"]
    assert run(f"-removeDirective {number}") == (0, f"Removed cached directive {number}\n")
    assert run(f"-removeDirective {number}")[0] == 2
    assert run("-removePool cli") == (0, "Successfully removed cache pool cli.\n")


@pytest.fixture
def adaptive(cluster: MiniCluster) -> Iterator[None]:
    """The namenode caches what is hot more often than directives ask for."""
    cluster.configure(
        {
            "howdah.cache.adaptive": True,
            "howdah.cache.adaptive.reads": 2,
            "howdah.cache.adaptive.half-life": "500ms",
        }
    )
    cluster.restart("namenode")
    yield
    cluster.configure({"howdah.cache.adaptive": False})
    cluster.restart("namenode")


@pytest.mark.req("LM-026")
def test_a_hot_file_is_cached_on_more_datanodes_until_it_cools(
    cluster: MiniCluster, fs: HdfsFileSystem, path: str, adaptive: None
) -> None:
    """What datanodes say that their caches take is looked at: to ask where blocks are heats."""
    once = 2 * BLOCK + mmap.PAGESIZE

    def used_bytes() -> int:
        return sum(node.cacheUsed for node in fs.administration.datanodes("LIVE"))

    def is_cached_twice() -> bool:
        with fs.open(path) as stream:
            assert stream.read() == DATA
        for _ in range(10):
            fs.block_locations(path)
        return used_bytes() == 2 * once

    number = fs.add_cache_directive(path, "p")
    wait_until(is_cached_twice, 60)
    wait_until(lambda: used_bytes() == once, 60)
    assert "are to have 3 cached replicas more" in cluster.log("namenode")
    fs.remove_cache_directive(number)
    wait_until(lambda: used_bytes() == 0, 60)
