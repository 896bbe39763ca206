"""The Rust client on a nameservice whose active namenode dies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from howdah.testing import MiniCluster

hdfs_native = pytest.importorskip("hdfs_native", reason="hdfs-native is not installed")

MIB = 1 << 20


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(namenodes=2, datanodes=2) as cluster:
        yield cluster


@pytest.mark.req("FS-057", "FS-075")
def test_rust_writes_and_reads_on_over_a_failover(cluster: MiniCluster) -> None:
    rust: Any = hdfs_native.Client(cluster.uri, dict(cluster.conf.items()))
    settings = hdfs_native.WriteOptions()
    settings.block_size = MIB
    settings.replication = 2
    piece = bytes(range(256)) * 1024
    with rust.create("/rust", settings) as out:
        out.write(piece * 6)
        active = cluster.active()
        cluster.kill(active)
        cluster.active(but=active)
        out.write(piece * 6)
    assert rust.get_file_info("/rust").length == 12 * len(piece)
    with rust.read("/rust") as file:
        assert file.read() == piece * 12
    with cluster.connect() as fs, fs.open("/rust") as stream:
        assert stream.read() == piece * 12
