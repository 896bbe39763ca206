"""Files of the storage policy LAZY_PERSIST: in memory first, on a disk later."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.options import CreateFlag
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until

MIB = 1 << 20
BLOCK = 256 << 10
DATA = random.Random(29).randbytes(BLOCK + 777)
CONF: dict[str, str | int | bool] = {
    "dfs.heartbeat.interval": "200ms",
    "dfs.namenode.redundancy.interval.seconds": "200ms",
    "dfs.namenode.fs-limits.min-block-size": 4096,
    "dfs.blocksize": BLOCK,
    "dfs.replication": 1,
    "dfs.datanode.max.locked.memory": MIB,
    "dfs.datanode.lazywriter.interval.sec": 1,
}
VOLUMES = ["DISK", "RAM_DISK"]

pytestmark = pytest.mark.req("FS-211")


def started(tmp_path: Path, **conf: str | int | bool) -> MiniCluster:
    values = {**CONF, **{name.replace("_", "."): value for name, value in conf.items()}}
    return MiniCluster(datanodes=1, conf=values, volumes=VOLUMES, dir=tmp_path, faults=True)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[MiniCluster]:
    with started(tmp_path) as cluster:
        yield cluster


def connected(cluster: MiniCluster) -> HdfsFileSystem:
    fs = cluster.connect()
    assert isinstance(fs, HdfsFileSystem)
    return fs


def put(fs: HdfsFileSystem, path: str, data: bytes = DATA) -> None:
    with fs.create(path, flags=CreateFlag.LAZY_PERSIST) as out:
        out.write(data)


def read(fs: HdfsFileSystem, path: str) -> bytes:
    with fs.open(path) as stream:
        return stream.read()


def kinds(fs: HdfsFileSystem, path: str) -> list[str]:
    """The storage type of the one replica of each block."""
    return [
        location.storage_types[0] if location.storage_types else "NONE"
        for location in fs.block_locations(path)
    ]


def files_in(cluster: MiniCluster, volume: int, kind: str) -> list[Path]:
    """Block files on data<volume> of the datanode, in `finalized`, `rbw` or `lazypersist`."""
    root = cluster.data_dirs("datanode0")[volume]
    return sorted(
        path
        for path in root.glob(f"current/BP-*/current/{kind}/**/blk_*")
        if not path.name.endswith(".meta")
    )


def wait_until_saved(cluster: MiniCluster, count: int) -> None:
    wait_until(lambda: len(files_in(cluster, 0, "lazypersist")) == count, 20)


def test_a_file_is_in_memory_and_is_saved_and_is_read_after_a_restart(
    cluster: MiniCluster,
) -> None:
    fs = connected(cluster)
    put(fs, "/f")
    assert kinds(fs, "/f") == ["RAM_DISK"] * 2
    assert fs.get_storage_policy("/f").name == "LAZY_PERSIST"
    assert read(fs, "/f") == DATA
    wait_until_saved(cluster, 2)
    assert read(fs, "/f") == DATA
    cluster.restart("datanode0")
    wait_until(lambda: kinds(fs, "/f") == ["DISK"] * 2, 20)
    assert read(fs, "/f") == DATA
    assert not files_in(cluster, 1, "finalized")
    assert not files_in(cluster, 0, "lazypersist")
