"""Hadoop's satisfier and its command with our namenode, ours with Hadoop's, and marks that go
from either to the other."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from howdah import errors
from howdah.cli.main import main
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing.waiting import wait_until
from tests.cluster.test_satisfier import CONF, MARK, is_whole, kinds, satisfier, wait_for, write
from tests.support.hadoop.java import hadoop_java
from tests.support.hadoop.mixed import MixedCluster

pytestmark = [pytest.mark.timeout(400), pytest.mark.req("FS-184", "FS-185")]

TIMEOUT_S = 120.0
POLICIES = "org.apache.hadoop.hdfs.tools.StoragePolicyAdmin"
SATISFIER = "org.apache.hadoop.hdfs.server.sps.ExternalStoragePolicySatisfier"
PATHS = ("/d/a", "/d/deep/b")
# Hadoop's servers know whole seconds only.
WHOLE_SECONDS = {"dfs.heartbeat.interval": 1, "dfs.namenode.redundancy.interval.seconds": 1}


@pytest.fixture
def cluster(hadoop_classpath: str) -> Iterator[MixedCluster]:
    """All servers are ours, to begin with."""
    with MixedCluster(
        hadoop_classpath,
        [],
        namenodes=1,
        datanodes=2,
        volumes=("DISK", "ARCHIVE"),
        conf={**CONF, **WHOLE_SECONDS},
    ) as cluster:
        yield cluster


@contextmanager
def hadoops_satisfier(cluster: MixedCluster, hadoop_classpath: str) -> Iterator[None]:
    log = cluster.dir / "hadoops-sps.log"
    command = [*hadoop_java(hadoop_classpath, cluster.conf_dir), SATISFIER]
    with log.open("w") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            yield
            assert process.poll() is None, log.read_text()
        finally:
            process.terminate()
            process.wait(TIMEOUT_S)


def save(cluster: MixedCluster) -> None:
    """An image, from which the next namenode starts."""
    for words in (["-safemode", "enter"], ["-saveNamespace"], ["-safemode", "leave"]):
        assert main(["dfsadmin", "--conf", str(cluster.conf_dir), *words]) == 0


def is_served(fs: HdfsFileSystem) -> bool:
    """Whether the namenode is up; Hadoop's may take longer to start than a client tries."""
    try:
        fs.set_safe_mode("get")
    except errors.Unreachable:
        return False
    return not fs.set_safe_mode("get") and len(fs.datanode_report("live")) == 2


def has_no_mark(fs: HdfsFileSystem, path: str) -> bool:
    return not fs.list_xattrs(path)


def all_whole(fs: HdfsFileSystem) -> bool:
    return all(is_whole(fs, path, number) for number, path in enumerate(PATHS))


def test_marks_and_moves_under_either_namenode_with_either_satisfier(
    cluster: MixedCluster, hadoop_classpath: str
) -> None:
    with cluster.connect() as fs:
        write(fs, *PATHS)
        fs.set_storage_policy("/d", "COLD")
        marked = subprocess.run(
            [
                *hadoop_java(hadoop_classpath, cluster.conf_dir),
                *(POLICIES, "-satisfyStoragePolicy", "-path", "/d"),
            ],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert (marked.returncode, marked.stdout) == (
            0,
            "Scheduled blocks to move based on the current storage policy on /d\n",
        ), marked.stderr
        with hadoops_satisfier(cluster, hadoop_classpath):
            for path in PATHS:
                wait_for(fs, path, "ARCHIVE", TIMEOUT_S)
            wait_until(lambda: not fs.list_xattrs("/d"), TIMEOUT_S)
        wait_until(lambda: all_whole(fs), TIMEOUT_S)

        # Our mark, in our image, under Hadoop's namenode, and our satisfier.
        fs.set_storage_policy("/d", "HOT")
        fs.satisfy_storage_policy("/d")
        save(cluster)
        fs.satisfy_storage_policy("/d/a")
        cluster.exchange("namenode", is_hadoops=True)
        wait_until(lambda: is_served(fs), TIMEOUT_S)
        assert fs.list_xattrs("/d") == fs.list_xattrs("/d/a") == [MARK]
        recover(fs)
        with satisfier(cluster) as running:
            for path in PATHS:
                wait_for(fs, path, "DISK", TIMEOUT_S)
            for path in ("/d", "/d/a"):
                wait_until(partial(has_no_mark, fs, path), TIMEOUT_S)
            assert all(said["satisfied"] for said in running.said)
        wait_until(lambda: all_whole(fs), TIMEOUT_S)

        # And back.
        fs.set_storage_policy("/d", "COLD")
        fs.satisfy_storage_policy("/d")
        save(cluster)
        fs.satisfy_storage_policy("/d/a")
        cluster.exchange("namenode", is_hadoops=False)
        wait_until(lambda: is_served(fs), TIMEOUT_S)
        assert fs.list_xattrs("/d") == fs.list_xattrs("/d/a") == [MARK]
        with satisfier(cluster):
            for path in PATHS:
                wait_for(fs, path, "ARCHIVE", TIMEOUT_S)
            wait_until(lambda: not fs.list_xattrs("/d"), TIMEOUT_S)
        assert all(kinds(fs, path) == {"ARCHIVE"} for path in PATHS)


def recover(fs: HdfsFileSystem) -> None:
    """Hadoop's satisfier, which was told to stop, may have left its file open."""
    wait_until(
        lambda: not fs.exists("/system/mover.id") or fs.recover_lease("/system/mover.id"),
        TIMEOUT_S,
    )
