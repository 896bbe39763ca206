"""Datanodes that others find slow get new replicas, and readers, last."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from howdah.config import Configuration
from howdah.namenode.server.process.settings import settings_from
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.service.status import Surroundings, namenode_status
from howdah.namenode.state.blocks.datanodes import Datanode, DatanodeIdentity
from howdah.namenode.state.blocks.slow_nodes import SLOW_FOR_MS, SlowPeers
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import datanode_namenode_pb2 as dn
from howdah.testing.in_memory import InMemoryDatanode, InMemoryNamenode

AROUND = Surroundings("CID", "BP-1", "nn:8020", 0, 0, 0, 0, True, ())


def node(name: str) -> Datanode:
    return Datanode(DatanodeIdentity(name, name, name, 9866, 9864, 9867), "/r", 0)


def test_a_report_holds_for_a_while() -> None:
    peers, slow, other = SlowPeers(), node("slow"), node("other")
    assert peers.slow(0) == set()
    peers.reported(other, [slow], 1000)
    assert peers.slow(1000) == {slow}
    assert peers.slow(1000 + SLOW_FOR_MS - 1) == {slow}
    assert peers.slow(1000 + SLOW_FOR_MS) == set()


def test_those_that_most_find_slow_are_slow() -> None:
    peers, nodes = SlowPeers(most=2), [node(f"n{n}") for n in range(6)]
    peers.reported(nodes[0], [nodes[1]], 0)
    for reporter in nodes[:4]:
        peers.reported(reporter, [nodes[4]], 0)
    for reporter in nodes[:3]:
        peers.reported(reporter, [nodes[5]], 0)
    assert peers.slow(1) == {nodes[4], nodes[5]}
    nodes[4].alive = False
    peers.reported(nodes[0], [], 2)
    peers.reported(nodes[0], [nodes[5]], 2)
    assert peers.slow(2) == {nodes[5], nodes[1]}


def test_nobody_finds_himself_slow() -> None:
    peers, alone = SlowPeers(), node("n")
    peers.reported(alone, [alone], 0)
    assert peers.slow(0) == set()


# Heartbeats that name others.

AVOIDING = Settings("", min_block_size_bytes=512, avoid_slow_for_writing=True)


def complain(namenode: InMemoryNamenode, reporter: InMemoryDatanode, *names: str) -> Any:
    return namenode.call(
        "sendHeartbeat",
        dn.HeartbeatRequestProto(
            registration=reporter.registration(),
            slowPeers=[dn.SlowPeerReportProto(dataNodeId=name) for name in names],
        ),
        address=reporter.ip,
    )


@pytest.fixture
def settings() -> Settings:
    return AVOIDING


@pytest.mark.parametrize("port", [9866, 9864, 9867])
def test_a_datanode_that_others_find_slow_is_told_so_and_listed(
    client: Any, nodes: list[InMemoryDatanode], port: int
) -> None:
    namenode, slow = client.namenode, nodes[1]
    complain(namenode, nodes[0], f"{slow.ip}:{port}", "10.9.9.9:1", "", ":", f"{slow.ip}:x")
    assert complain(namenode, slow).isSlownode
    assert not complain(namenode, nodes[0]).isSlownode
    listed = client.call("getSlowDatanodeReport", pb.GetSlowDatanodeReportRequestProto())
    assert [each.id.datanodeUuid for each in listed.datanodeInfoProto] == [slow.uuid]


@pytest.mark.parametrize("avoids", [True, False])
def test_a_slow_datanode_gets_replicas_last_where_that_is_wanted(avoids: bool) -> None:
    namenode = InMemoryNamenode(replace(AVOIDING, avoid_slow_for_writing=avoids))
    nodes = [namenode.join(f"dn{n}") for n in range(4)]
    complain(namenode, nodes[0], f"{nodes[3].ip}:9866")
    namesystem = namenode.namesystem

    def chosen(count: int) -> set[Datanode]:
        avoid = namesystem.block_manager.avoided_targets(namesystem.clock.monotonic_ms())
        found = namesystem.block_manager.placement.choose(count, block_size_bytes=1, avoid=avoid)
        return {storage.node for storage in found}

    assert (nodes[3].known in set().union(*(chosen(1) for _ in range(60)))) != avoids
    assert nodes[3].known in chosen(4)


def test_readers_are_sent_to_a_slow_datanode_last_where_that_is_wanted(
    client: Any, nodes: list[InMemoryDatanode], monkeypatch: pytest.MonkeyPatch
) -> None:
    namesystem = client.namenode.namesystem
    client.write("/f", 10, replication=3)
    complain(client.namenode, nodes[0], f"{nodes[2].ip}:9866")

    def last() -> set[str]:
        return {client.locations("/f").blocks[0].locs[-1].id.datanodeUuid for _ in range(40)}

    assert last() == {node.uuid for node in nodes}
    monkeypatch.setattr(
        namesystem, "settings", replace(namesystem.settings, avoid_slow_for_reading=True)
    )
    assert last() == {nodes[2].uuid}


def test_figures_of_slow_peers_and_disks_are_kept_for_a_while(
    client: Any, nodes: list[InMemoryDatanode]
) -> None:
    namesystem, slow, reporter = client.namenode.namesystem, nodes[1], nodes[0]
    client.namenode.call(
        "sendHeartbeat",
        dn.HeartbeatRequestProto(
            registration=reporter.registration(),
            slowPeers=[
                dn.SlowPeerReportProto(
                    dataNodeId=f"{slow.ip}:9866",
                    aggregateLatency=50,
                    median=1,
                    mad=math.nan,
                    upperLimitLatency=5,
                )
            ],
            slowDisks=[
                dn.SlowDiskReportProto(basePath="/d0", meanReadIoLatency=30),
                dn.SlowDiskReportProto(
                    basePath="/d1", meanWriteIoLatency=70, meanReadIoLatency=math.inf
                ),
            ],
        ),
        address=reporter.ip,
    )
    status = namenode_status(namesystem, AROUND)
    (peer,) = status.slow_peers
    assert (peer.name, peer.reporter) == (slow.known.name, reporter.known.name)
    assert (peer.mean_ms, peer.median_ms, peer.deviation_ms, peer.limit_ms) == (50, 1, 0, 5)
    place = f"{reporter.ip}:9867"
    assert list(status.slow_disks) == [
        (f"{place}:/d1", {"WRITE": 70}),
        (f"{place}:/d0", {"READ": 30}),
    ]
    client.namenode.clock.advance(namesystem.settings.slow_holds_ms)
    later = namenode_status(namesystem, AROUND)
    assert (list(later.slow_peers), list(later.slow_disks)) == ([], [])


def test_slow_disks_do_not_fill_the_memory() -> None:
    peers, alone = SlowPeers(most=1000), node("n")
    peers.disks_reported(alone, [("/" * 5000, {"READ": 1.0})] * 1000, 0)
    kept = peers.disks(1)
    assert len(kept) == 64
    assert {len(disk.path) for disk in kept} == {1024}


def test_a_report_holds_for_three_intervals() -> None:
    conf = Configuration({"dfs.datanode.outliers.report.interval": "5s"})
    assert settings_from(conf, "BP-1").slow_holds_ms == 15_000
    assert settings_from(Configuration(), "BP-1").slow_holds_ms == SLOW_FOR_MS


def test_the_configuration_says_whether_they_are_avoided() -> None:
    assert not settings_from(Configuration(), "BP-1").avoid_slow_for_writing
    assert not settings_from(Configuration(), "BP-1").avoid_slow_for_reading
    conf = {
        "dfs.namenode.block-placement-policy.exclude-slow-nodes.enabled": "true",
        "dfs.namenode.avoid.read.slow.datanode": "true",
        "dfs.namenode.max.slowpeer.collect.nodes": "3",
    }
    found = settings_from(Configuration(conf), "BP-1")
    assert found.avoid_slow_for_writing
    assert found.avoid_slow_for_reading
    assert found.max_slow_nodes == 3
