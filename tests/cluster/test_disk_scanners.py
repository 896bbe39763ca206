"""Disks that rot, lose files or vanish under a running cluster: it heals by itself."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.replicas import ReplicaFile, replicas_of

MIB = 1 << 20
DATA = random.Random(13).randbytes(2 * MIB + 777)
BLOCKS = [DATA[start : start + MIB] for start in range(0, len(DATA), MIB)]
CONF: dict[str, str | int] = {
    "dfs.heartbeat.interval": "200ms",
    "dfs.namenode.redundancy.interval.seconds": "200ms",
    "dfs.datanode.scan.period.hours": "500ms",
    "dfs.block.scanner.volume.bytes.per.second": "1g",
    "dfs.datanode.directoryscan.interval": "500ms",
    "dfs.datanode.failed.volumes.tolerated": 1,
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=3, volumes=2, conf=CONF) as cluster:
        yield cluster


@pytest.fixture
def fs(cluster: MiniCluster) -> Iterator[HdfsFileSystem]:
    with cluster.connect() as connected:
        assert isinstance(connected, HdfsFileSystem)
        yield connected


def put(cluster: MiniCluster, fs: HdfsFileSystem, path: str) -> list[list[ReplicaFile]]:
    """A file of three blocks, and all its replicas."""
    with fs.create(path, block_size=MIB, replication=3) as out:
        out.write(DATA)
    wait_until(lambda: is_whole(cluster, path), 60)
    return replicas_of(cluster, path)


def is_sound(replica: ReplicaFile, data: bytes) -> bool:
    """Whether its files are as they were written: a head of 7 bytes, and 4 for 512."""
    sums = 7 + 4 * -(-len(data) // 512)
    metas = list(replica.path.parent.glob(f"{replica.path.name}_*.meta"))
    try:
        return replica.read() == data and [meta.stat().st_size for meta in metas] == [sums]
    except FileNotFoundError:
        return False


def is_removed(directory: Path) -> bool:
    """Remove it; not, while somebody makes files in it."""
    shutil.rmtree(directory, ignore_errors=True)
    return not directory.exists()


def bean(cluster: MiniCluster, name: str) -> Any:
    url = f"{cluster.http}/jmx?qry=Hadoop:service=NameNode,name={name}"
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)["beans"][0]


def is_whole(cluster: MiniCluster, path: str) -> bool:
    """Whether every block has a sound replica on each of the three datanodes, and no other."""
    return all(
        sorted(replica.datanode for replica in found) == ["datanode0", "datanode1", "datanode2"]
        and all(is_sound(replica, data) for replica in found)
        for found, data in zip(replicas_of(cluster, path), BLOCKS, strict=True)
    )


def of_datanodes(cluster: MiniCluster) -> list[dict[str, Any]]:
    """What each says that it has done."""
    found = []
    for number in range(3):
        http = cluster.process(f"datanode{number}").addresses["http"]
        url = f"http://{http}/jmx?qry=Hadoop:service=DataNode,name=DataNodeActivity-*"
        with urllib.request.urlopen(url, timeout=60) as answer:
            found += json.load(answer)["beans"]
    return found


@pytest.mark.req("FS-100")
def test_damage_that_nobody_reads_is_found_and_mended(
    cluster: MiniCluster, fs: HdfsFileSystem
) -> None:
    replicas = put(cluster, fs, "/rot")
    replicas[0][0].flip(5)
    replicas[1][1].flip(MIB - 1)
    meta = replicas[2][2].meta_path
    meta.write_bytes(meta.read_bytes()[:-2])
    wait_until(lambda: is_whole(cluster, "/rot"), 60)
    with fs.open("/rot") as file:
        assert file.read() == DATA


def test_files_that_vanish_are_missed_and_replaced(
    cluster: MiniCluster, fs: HdfsFileSystem
) -> None:
    replicas = put(cluster, fs, "/vanish")
    replicas[0][0].path.unlink()
    replicas[1][1].meta_path.unlink()
    replicas[2][2].path.write_bytes(b"another length")
    wait_until(lambda: is_whole(cluster, "/vanish"), 60)
    with fs.open("/vanish") as file:
        assert file.read() == DATA


def test_a_replica_that_an_operator_moved_to_another_volume_is_found(
    cluster: MiniCluster, fs: HdfsFileSystem
) -> None:
    moved = put(cluster, fs, "/moved")[0][0]
    (there,) = [path for path in cluster.data_dirs(moved.datanode) if path != moved.volume]
    pool = next(there.glob("current/BP-*"))
    directory = (
        pool
        / "current"
        / "finalized"
        / moved.path.parent.relative_to(
            moved.volume / "current" / pool.name / "current" / "finalized"
        )
    )
    directory.mkdir(parents=True, exist_ok=True)
    for path in (moved.path, moved.meta_path):
        # A comparison in between sets aside what has lost its other half.
        with contextlib.suppress(FileNotFoundError):
            shutil.move(path, directory / path.name)
    wait_until(lambda: is_whole(cluster, "/moved"), 60)
    with fs.open("/moved") as file:
        assert file.read() == DATA


def test_a_volume_that_is_wiped_is_left_and_what_it_had_is_replaced(
    cluster: MiniCluster, fs: HdfsFileSystem
) -> None:
    replicas = put(cluster, fs, "/wiped")
    victim = next(each for found in replicas for each in found if each.datanode == "datanode2")
    with fs.create("/meanwhile", block_size=MIB, replication=3) as out:
        out.write(DATA[: MIB // 2])
        out.hflush()
        wait_until(lambda: is_removed(victim.volume), 30)
        out.write(DATA[MIB // 2 :])
    wait_until(lambda: is_whole(cluster, "/wiped") and is_whole(cluster, "/meanwhile"), 90)
    for path in ("/wiped", "/meanwhile"):
        with fs.open(path) as file:
            assert file.read() == DATA
    figures = bean(cluster, "FSNamesystemState")
    assert (figures["VolumeFailuresTotal"], figures["EstimatedCapacityLostTotal"] > 0) == (1, True)
    assert sum(done["VolumeFailures"] for done in of_datanodes(cluster)) == 1
    nodes = json.loads(bean(cluster, "NameNodeInfo")["LiveNodes"]).values()
    assert [node["failedStorageIDs"] for node in nodes if node["volfails"]] == [
        [str(victim.volume)]
    ]
    assert all(
        each.volume != victim.volume for found in replicas_of(cluster, "/wiped") for each in found
    )
