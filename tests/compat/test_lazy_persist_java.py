"""Lazy persist as Hadoop's own programs know it: its client, its shell, its datanode.

Hadoop's datanode asks its native library whether it may lock memory, which its jars do not have:
here it takes that for granted, as its own tests do.
"""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.local.layout import Layout
from howdah.options import CreateFlag
from howdah.testing import MiniCluster
from howdah.testing.spark import java_fs_shell
from howdah.testing.waiting import wait_until
from tests.support.hadoop.programs import hadoop_program
from tests.support.replicas import found_below

pytestmark = [pytest.mark.req("FS-211", "FS-212"), pytest.mark.timeout(240)]

BLOCK = 256 << 10
LIMIT = 4 * BLOCK
DATA = random.Random(31).randbytes(BLOCK + 12_345)
_PROGRAM = Path(__file__).with_name("MemoryDatanode.java")
_PATIENCE_S = 60.0


def started(directory: Path, interval_s: int = 1) -> MiniCluster:
    conf: dict[str, str | int | bool] = {
        "dfs.heartbeat.interval": "500ms",
        "dfs.namenode.fs-limits.min-block-size": 4096,
        "dfs.blocksize": BLOCK,
        "dfs.replication": 1,
        "dfs.datanode.max.locked.memory": LIMIT,
        "dfs.datanode.lazywriter.interval.sec": interval_s,
    }
    return MiniCluster(datanodes=1, conf=conf, volumes=["DISK", "RAM_DISK"], dir=directory)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[MiniCluster]:
    with started(tmp_path) as cluster:
        yield cluster


def connected(cluster: MiniCluster) -> HdfsFileSystem:
    fs = cluster.connect()
    assert isinstance(fs, HdfsFileSystem)
    return fs


def kinds(fs: HdfsFileSystem, path: str) -> list[str]:
    return ["".join(block.storage_types) for block in fs.block_locations(path)]


def read(fs: HdfsFileSystem, path: str) -> bytes:
    with fs.open(path) as stream:
        return stream.read()


def saved(cluster: MiniCluster, kind: str = "lazypersist") -> list[Path]:
    root = cluster.data_dirs("datanode0")[0]
    return sorted(
        path
        for path in found_below(root, f"current/BP-*/current/{kind}/**/blk_*")
        if not path.name.endswith(".meta")
    )


def on_disk(cluster: MiniCluster) -> set[str]:
    """Saved replicas, whether their memory is still there or was given to another one."""
    return {path.name for kind in ("lazypersist", "finalized") for path in saved(cluster, kind)}


def are_on_disk(cluster: MiniCluster, count: int) -> bool:
    return len(on_disk(cluster)) == count


class Java:
    """Hadoop's client in Spark's JVM."""

    def __init__(self, spark: Any, uri: str) -> None:
        self.hadoop = spark._jvm.org.apache.hadoop
        self.enum_set = spark._jvm.java.util.EnumSet
        conf = self.hadoop.conf.Configuration(spark._jsc.hadoopConfiguration())
        self.fs = self.hadoop.fs.FileSystem.newInstance(spark._jvm.java.net.URI(uri), conf)

    def put(self, path: str, data: bytes) -> None:
        flag = self.hadoop.fs.CreateFlag
        out = self.fs.create(
            self.hadoop.fs.Path(path),
            self.hadoop.fs.permission.FsPermission("644"),
            self.enum_set.of(flag.CREATE, flag.LAZY_PERSIST),
            4096,
            1,
            BLOCK,
            None,
        )
        out.write(data)
        out.close()

    def read(self, path: str) -> bytes:
        stream = self.fs.open(self.hadoop.fs.Path(path))
        try:
            return bytes(stream.readAllBytes())
        finally:
            stream.close()


def test_javas_client_writes_to_memory_and_reads_at_each_stage(
    spark: Any, cluster: MiniCluster
) -> None:
    """It sends no checksums of such a file: the datanode makes them."""
    fs, java = connected(cluster), Java(spark, cluster.uri)
    try:
        java.put("/java", DATA)
        assert kinds(fs, "/java") == ["RAM_DISK"] * 2
        with fs.create("/ours", flags=CreateFlag.LAZY_PERSIST) as out:
            out.write(DATA)
        both = ("/java", "/ours")
        for path in both:
            assert (java.read(path), read(fs, path)) == (DATA, DATA), "in memory"
        checksum = java.fs.getFileChecksum(java.hadoop.fs.Path("/java"))
        ours = fs.get_file_checksum("/ours")
        assert ours is not None
        assert bytes(checksum.getBytes()) == ours.bytes
        wait_until(lambda: len(saved(cluster)) == 4, _PATIENCE_S)
        for path in both:
            assert (java.read(path), read(fs, path)) == (DATA, DATA), "saved"
        # Its first two blocks are read no more, and so they leave first.
        for number in range(3):
            java.put(f"/more{number}", DATA[:BLOCK])
            wait_until(partial(are_on_disk, cluster, 5 + number), _PATIENCE_S)
        wait_until(lambda: "DISK" in kinds(fs, "/java") + kinds(fs, "/ours"), _PATIENCE_S)
        for path in both:
            assert (java.read(path), read(fs, path)) == (DATA, DATA), "evicted"
        cluster.restart("datanode0")
        wait_until(lambda: kinds(fs, "/java") == ["DISK"] * 2, _PATIENCE_S)
        for path in both:
            assert (java.read(path), read(fs, path)) == (DATA, DATA), "after a restart"
    finally:
        java.fs.close()


@pytest.mark.req("FS-215")
def test_javas_client_is_told_that_such_files_are_not_appended_to(
    spark: Any, cluster: MiniCluster
) -> None:
    from py4j.protocol import Py4JJavaError

    java = Java(spark, cluster.uri)
    try:
        java.put("/f", DATA)
        with pytest.raises(Py4JJavaError, match="Cannot append to lazy persist file /f"):
            java.fs.append(java.hadoop.fs.Path("/f"))
        with pytest.raises(Py4JJavaError, match="Cannot truncate lazy persist file /f"):
            java.fs.truncate(java.hadoop.fs.Path("/f"), 5)
    finally:
        java.fs.close()


def test_hadoops_shell_puts_with_l(cluster: MiniCluster, tmp_path: Path) -> None:
    source = tmp_path / "local"
    source.write_bytes(DATA)
    done = java_fs_shell(cluster, "-put", "-l", str(source), "/put")
    assert done.returncode == 0, done.stderr
    fs = connected(cluster)
    assert kinds(fs, "/put") == ["RAM_DISK"] * 2
    assert fs.get_storage_policy("/put").name == "LAZY_PERSIST"
    assert fs.get_file_status("/put").replication == 1
    assert read(fs, "/put") == DATA


@contextmanager
def hadoops_datanode(cluster: MiniCluster, class_path: str) -> Iterator[None]:
    """In the place of ours, which is down."""
    layout = Layout.load(cluster.dir)
    assert layout is not None
    conf_dir = layout.server_conf_dir("datanode0")
    for pages in ("datanode", "static"):
        (conf_dir / "webapps" / pages).mkdir(parents=True, exist_ok=True)
    options = ["-D", "dfs.datanode.http.address=127.0.0.1:0"]
    options += ["-D", "dfs.datanode.lazywriter.interval.sec=1"]
    # Ours is called from another loopback address, which is no local one to it.
    options += ["-D", "dfs.datanode.non.local.lazy.persist=true"]
    log = cluster.dir / "hadoop.log"
    with log.open("ab") as output:
        process = subprocess.Popen(
            [*hadoop_program(_PROGRAM, class_path, conf_dir), *options],
            stdout=output,
            stderr=output,
        )
    try:
        yield
        assert process.poll() is None, log.read_text()[-3000:]
    finally:
        process.kill()
        process.wait()


def test_hadoops_datanode_finds_what_ours_has_saved(hadoop_classpath: str, tmp_path: Path) -> None:
    with started(tmp_path) as cluster:
        fs = connected(cluster)
        with fs.create("/f", flags=CreateFlag.LAZY_PERSIST) as out:
            out.write(DATA)
        wait_until(lambda: len(saved(cluster)) == 2, _PATIENCE_S)
        cluster.stop("datanode0")
        for path in cluster.data_dirs("datanode0")[1].glob("current/BP-*"):
            shutil.rmtree(path)
        with hadoops_datanode(cluster, hadoop_classpath):
            wait_until(lambda: readable(fs, "/f") == DATA, _PATIENCE_S)
            assert kinds(fs, "/f") == ["DISK"] * 2
        assert len(saved(cluster, "finalized")) == 2
        assert not saved(cluster)


def test_hadoops_datanode_saves_what_ours_left_in_memory_and_ours_finds_that(
    hadoop_classpath: str, tmp_path: Path
) -> None:
    with started(tmp_path, interval_s=3600) as cluster:
        fs = connected(cluster)
        with fs.create("/f", flags=CreateFlag.LAZY_PERSIST) as out:
            out.write(DATA)
        cluster.kill("datanode0")
        assert not saved(cluster)
        with hadoops_datanode(cluster, hadoop_classpath):
            wait_until(lambda: readable(fs, "/f") == DATA, _PATIENCE_S)
            assert kinds(fs, "/f") == ["RAM_DISK"] * 2
            # Its copies are complete when it says so.
            wait_until(lambda: len(saved_sizes(cluster)) == 2, _PATIENCE_S)
        for path in cluster.data_dirs("datanode0")[1].glob("current/BP-*"):
            shutil.rmtree(path)
        cluster.start("datanode0")
        cluster.wait_ready()
        wait_until(lambda: kinds(fs, "/f") == ["DISK"] * 2, _PATIENCE_S)
        assert read(fs, "/f") == DATA


def test_our_client_writes_to_the_memory_of_hadoops_datanode(
    hadoop_classpath: str, tmp_path: Path
) -> None:
    """It says in the way of Java's client that the datanode may; ours finds what is saved."""
    with started(tmp_path) as cluster:
        fs = connected(cluster)
        cluster.stop("datanode0")
        with hadoops_datanode(cluster, hadoop_classpath):
            wait_until(lambda: is_written(fs, "/f"), _PATIENCE_S)
            assert kinds(fs, "/f") == ["RAM_DISK"] * 2
            assert read(fs, "/f") == DATA
            wait_until(lambda: len(saved_sizes(cluster)) == 2, _PATIENCE_S)
        for path in cluster.data_dirs("datanode0")[1].glob("current/BP-*"):
            shutil.rmtree(path)
        cluster.start("datanode0")
        cluster.wait_ready()
        wait_until(lambda: kinds(fs, "/f") == ["DISK"] * 2, _PATIENCE_S)
        assert read(fs, "/f") == DATA


def is_written(fs: HdfsFileSystem, path: str) -> bool:
    """Once the datanode is there."""
    try:
        with fs.create(path, overwrite=True, flags=CreateFlag.LAZY_PERSIST) as out:
            out.write(DATA)
    except OSError:
        return False
    return True


def saved_sizes(cluster: MiniCluster) -> list[int]:
    """Of copies that have all of their checksums. Hadoop writes one too many behind a last chunk
    that is whole."""
    return [
        path.stat().st_size
        for path in saved(cluster)
        for meta in path.parent.glob(f"{path.name}_*.meta")
        if meta.stat().st_size >= 7 + -(-path.stat().st_size // 512) * 4
        and path.stat().st_size in (BLOCK, len(DATA) - BLOCK)
    ]


def readable(fs: HdfsFileSystem, path: str) -> bytes | None:
    try:
        return read(fs, path)
    except OSError:
        return None
