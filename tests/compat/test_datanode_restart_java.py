"""Hadoop's client waits for a datanode that is restarted, and goes on with it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from howdah.proto import client_datanode_pb2
from howdah.rpc.client import RpcClient
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.replicas import BEING_WRITTEN, blocks_of, replica_files

pytestmark = pytest.mark.timeout(240)

BLOCK = 4 << 20
CLIENT_DATANODE = "org.apache.hadoop.hdfs.protocol.ClientDatanodeProtocol"


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=3, conf={"dfs.blocksize": BLOCK}) as running:
        yield running


@pytest.fixture
def java_fs(spark: Any, cluster: MiniCluster) -> Iterator[Any]:
    jvm = spark._jvm
    conf = jvm.org.apache.hadoop.conf.Configuration(spark._jsc.hadoopConfiguration())
    for name, value in cluster.conf.items():
        conf.set(name, value)
    fs = jvm.org.apache.hadoop.fs.FileSystem.newInstance(jvm.java.net.URI(cluster.uri), conf)
    yield fs
    fs.close()


def restart_for_upgrade(cluster: MiniCluster, name: str) -> None:
    host, _, port = cluster.process(name).addresses["ipc"].rpartition(":")
    RpcClient((host, int(port)), CLIENT_DATANODE).call(
        "shutdownDatanode",
        client_datanode_pb2.ShutdownDatanodeRequestProto(forUpgrade=True),
        client_datanode_pb2.ShutdownDatanodeResponseProto,
    )
    wait_until(lambda: cluster.process(name).pid is None, 30, f"{name} ends")
    cluster.start(name)


@pytest.mark.req("FS-124", "FS-128")
@pytest.mark.parametrize("replication", [1, 3])
def test_hadoops_client_goes_on_with_the_datanode_that_restarts(
    spark: Any, cluster: MiniCluster, java_fs: Any, replication: int
) -> None:
    path, data = f"/java{replication}", random.Random(replication).randbytes(BLOCK - 1000)
    java_path = spark._jvm.org.apache.hadoop.fs.Path(path)
    out = java_fs.create(java_path, True, 4096, replication, BLOCK)
    out.write(data[:1_000_001])
    out.hflush()
    (block_id,) = blocks_of(cluster, path)
    name = replica_files(cluster, [block_id], state=BEING_WRITTEN)[-1].datanode
    restart_for_upgrade(cluster, name)
    out.write(data[1_000_001:])
    out.hflush()
    writers = replica_files(cluster, [block_id], state=BEING_WRITTEN)
    assert len(writers) == replication
    out.close()
    stream = java_fs.open(java_path)
    assert bytes(stream.readAllBytes()) == data
    stream.close()
    assert blocks_of(cluster, path) == [block_id]
    assert [replica.read() for replica in replica_files(cluster, [block_id])] == [
        data
    ] * replication
