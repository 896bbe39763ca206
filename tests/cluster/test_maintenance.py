"""Datanodes in maintenance: what only they have is copied first, and they may be away for a
time without anything else being copied.

One cluster of four datanodes whose states are in a JSON file of hosts.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from howdah.cli.main import main
from howdah.fs.api import FileSystem
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.replicas import replicas_of

MIB = 1 << 20
DATA = random.Random(31).randbytes(MIB)
CONF: dict[str, str | int] = {
    "dfs.blocksize": MIB,
    "dfs.heartbeat.interval": "200ms",
    "dfs.namenode.heartbeat.recheck-interval": "500ms",
    "dfs.namenode.redundancy.interval.seconds": "200ms",
    "dfs.namenode.decommission.interval": "200ms",
    "dfs.namenode.hosts.provider.classname": (
        "org.apache.hadoop.hdfs.server.blockmanagement.CombinedHostFileManager"
    ),
    "ipc.client.connect.max.retries": 1,
}
NODE = "datanode0"
HOUR_S = 3600.0


class Nodes(MiniCluster):
    """The cluster, the file of hosts, and where the datanodes are while they run."""

    def __init__(self, hosts: Path) -> None:
        hosts.write_text("[]")
        self.hosts = hosts
        super().__init__(datanodes=4, conf={**CONF, "dfs.hosts": str(hosts)})
        names = [name for name in self.names if name.startswith("datanode")]
        self.addresses = {name: self.process(name).addresses["data"] for name in names}

    def order(self, maintenance_s: float | None) -> None:
        """What the file says of the node: in service, or in maintenance for so long."""
        listed: list[dict[str, object]] = []
        for name, address in self.addresses.items():
            host, port = address.split(":")
            listed.append({"hostName": host, "port": int(port)})
            if name == NODE and maintenance_s is not None:
                until_ms = round((time.time() + maintenance_s) * 1000)
                listed[-1] |= {"adminState": "IN_MAINTENANCE"}
                listed[-1] |= {"maintenanceExpireTimeInMS": until_ms}
        self.hosts.write_text(json.dumps(listed))
        assert main(["-fs", self.uri, "dfsadmin", "-refreshNodes"]) == 0

    def state(self, fs: FileSystem) -> str:
        states = {node.name: node.admin_state for node in fs.datanode_report("all")}
        return states[self.addresses[NODE]]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    with Nodes(tmp_path_factory.mktemp("hosts") / "hosts.json") as cluster:
        yield cluster


@pytest.fixture
def fs(cluster: Nodes) -> Iterator[FileSystem]:
    with cluster.connect() as fs:
        yield fs
        if not cluster.process(NODE).alive:
            cluster.restart(NODE)
        cluster.order(None)
        wait_until(lambda: cluster.state(fs) == "NORMAL")
        fs.delete("/files", recursive=True)


def holders(cluster: Nodes, path: str) -> list[str]:
    (replicas,) = replicas_of(cluster, path)
    return sorted(replica.datanode for replica in replicas)


def has_copies(cluster: Nodes, path: str, count: int) -> bool:
    return len(holders(cluster, path)) == count


def put(cluster: Nodes, fs: FileSystem, replication: int) -> str:
    """A file of one block, of which the node has a replica."""
    for number in range(100):
        path = f"/files/{replication}-{number}"
        with fs.create(path, replication=replication) as out:
            out.write(DATA)
        wait_until(partial(has_copies, cluster, path, replication))
        if NODE in holders(cluster, path):
            return path
        fs.delete(path)
    raise AssertionError(f"none of a hundred blocks is on {NODE}")


def has_left(cluster: Nodes, fs: FileSystem) -> None:
    wait_until(lambda: cluster.state(fs) == "IN_MAINTENANCE", 60)
    cluster.kill(NODE)
    wait_until(lambda: len(fs.datanode_report("dead")) == 1, 30)


@pytest.mark.req("FS-003", "FS-015")
def test_only_what_nobody_else_has_is_copied_for_a_node_that_comes_back_in_time(
    cluster: Nodes, fs: FileSystem
) -> None:
    single, triple = put(cluster, fs, 1), put(cluster, fs, 3)
    before = holders(cluster, triple)
    cluster.order(HOUR_S)
    has_left(cluster, fs)
    for path in (single, triple):
        with fs.open(path) as stream:
            assert stream.read() == DATA
    assert len(holders(cluster, single)) == 2
    # New blocks go elsewhere meanwhile.
    with fs.create("/files/new", replication=3) as out:
        out.write(DATA)
    wait_until(lambda: holders(cluster, "/files/new") == ["datanode1", "datanode2", "datanode3"])
    assert holders(cluster, triple) == before
    assert cluster.state(fs) == "IN_MAINTENANCE"
    cluster.restart(NODE)
    cluster.order(None)
    wait_until(lambda: cluster.state(fs) == "NORMAL")
    wait_until(lambda: len(holders(cluster, single)) == 1, 30, "the copy is superfluous")
    assert holders(cluster, triple) == before


def test_a_node_that_is_away_for_longer_than_was_said_is_replaced(
    cluster: Nodes, fs: FileSystem
) -> None:
    triple = put(cluster, fs, 3)
    elsewhere = ["datanode1", "datanode2", "datanode3"]
    cluster.order(HOUR_S)
    has_left(cluster, fs)
    assert holders(cluster, triple) != [NODE, *elsewhere]
    cluster.order(1.0)
    wait_until(lambda: holders(cluster, triple) == [NODE, *elsewhere], 30, "a copy elsewhere")
    cluster.restart(NODE)
    wait_until(lambda: len(holders(cluster, triple)) == 3, 30, "one of four is deleted")
    with fs.open(triple) as stream:
        assert stream.read() == DATA
