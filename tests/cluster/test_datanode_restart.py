"""A datanode that an administrator restarts is waited for by those who write to it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from howdah.fs.api import FileSystem
from howdah.proto import client_datanode_pb2
from howdah.rpc.client import RpcClient
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.replicas import BEING_WRITTEN, blocks_of, replica_files

BLOCK = 4 << 20
CLIENT_DATANODE = "org.apache.hadoop.hdfs.protocol.ClientDatanodeProtocol"


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=2, conf={"dfs.blocksize": BLOCK}) as running:
        yield running


@pytest.fixture(scope="module")
def fs(cluster: MiniCluster) -> Iterator[FileSystem]:
    with cluster.connect() as fs:
        yield fs


def restart_for_upgrade(cluster: MiniCluster, name: str) -> None:
    """As `dfsadmin -shutdownDatanode host:port upgrade` does, and a start after that."""
    host, _, port = cluster.process(name).addresses["ipc"].rpartition(":")
    RpcClient((host, int(port)), CLIENT_DATANODE).call(
        "shutdownDatanode",
        client_datanode_pb2.ShutdownDatanodeRequestProto(forUpgrade=True),
        client_datanode_pb2.ShutdownDatanodeResponseProto,
    )
    wait_until(lambda: cluster.process(name).pid is None, 30, f"{name} ends")
    cluster.start(name)


@pytest.mark.req("FS-124", "FS-128")
@pytest.mark.parametrize("replication", [1, 2])
def test_a_writer_goes_on_with_the_datanode_that_restarts(
    cluster: MiniCluster, fs: FileSystem, replication: int
) -> None:
    data, path = os.urandom(BLOCK - 1000), f"/written{replication}"
    with fs.create(path, replication=replication) as out:
        out.write(data[:1_000_001])
        out.hflush()
        (block_id,) = blocks_of(cluster, path)
        name = replica_files(cluster, [block_id], state=BEING_WRITTEN)[0].datanode
        restart_for_upgrade(cluster, name)
        out.write(data[1_000_001:])
        out.hflush()
        writers = replica_files(cluster, [block_id], state=BEING_WRITTEN)
        assert name in {replica.datanode for replica in writers}
        assert len(writers) == replication
    cluster.wait_ready()
    with fs.open(path) as stream:
        assert stream.read() == data
    assert blocks_of(cluster, path) == [block_id]
    wait_until(
        lambda: (
            [r.read_if_there() for r in replica_files(cluster, [block_id])] == [data] * replication
        ),
        what="every replica has all of it",
    )
