"""Two datanodes with one uuid: one was started on a copy of the other's directories."""

from __future__ import annotations

from typing import Any

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.namenode.server.process.settings import settings_from
from howdah.namenode.service.calls.settings import Settings
from howdah.proto import datanode_namenode_pb2 as dn
from howdah.testing.in_memory import InMemoryDatanode, Replica

Nodes = list[InMemoryDatanode]
PATIENCE_MS = Settings("").datanode_moves_ms


def twin(node: InMemoryDatanode, ip: str = "10.7.7.7") -> InMemoryDatanode:
    """One that was started elsewhere on a copy of the node's directories."""
    copied = {storage: dict(replicas) for storage, replicas in node.replicas.items()}
    return InMemoryDatanode(node.namenode, node.uuid, ip, copied)


def at_port(node: InMemoryDatanode, port: int) -> dn.DatanodeRegistrationProto:
    registration = node.registration()
    registration.datanodeID.xferPort = port
    return registration


def locations(client: Any) -> set[str]:
    return {info.id.ipAddr for info in client.locations("/a").blocks[0].locs}


@pytest.fixture
def original(client: Any, nodes: Nodes) -> InMemoryDatanode:
    client.write("/a", 10, replication=len(nodes))
    return nodes[0]


def test_the_twin_of_a_living_datanode_is_refused(
    client: Any, original: InMemoryDatanode, caplog: pytest.LogCaptureFixture
) -> None:
    clone = twin(original)
    with pytest.raises(errors.RetriableError, match=r"10\.7\.7\.7:9866 says that it is the same"):
        clone.register()
    client.namenode.tick(1000)
    original.heartbeat()
    with pytest.raises(errors.DisallowedDatanode) as refused:
        clone.register()
    for said in (refused.value.message, caplog.text):
        assert f"two datanodes have the uuid {original.uuid}" in said
        assert f"{original.ip}:9866, which is alive" in said
        assert "10.7.7.7:9866, which is refused" in said
    assert original.known.name == f"{original.ip}:9866"
    assert "10.7.7.7" not in locations(client)


def test_nothing_that_a_refused_twin_says_counts(
    client: Any, nodes: Nodes, original: InMemoryDatanode
) -> None:
    (block,) = original.replicas[original.first_storage]
    clone = twin(original)
    clone.replicas = {original.first_storage: {}}
    assert [command.cmdType for command in clone.heartbeat()] == [
        dn.DatanodeCommandProto.RegisterCommand
    ]
    clone.report()
    with pytest.raises(errors.RetriableError, match="registers first"):
        clone.report_replica(
            clone.first_storage, block, 1001, 10, dn.ReceivedDeletedBlockInfoProto.DELETED
        )
    assert locations(client) == {node.ip for node in nodes}


def test_nothing_that_a_twin_at_another_port_of_the_machine_says_counts(
    client: Any, nodes: Nodes, original: InMemoryDatanode
) -> None:
    request = dn.HeartbeatRequestProto(
        registration=at_port(original, 9999),
        xceiverCount=0,
        xmitsInProgress=0,
        reports=[],
    )
    answer = client.namenode.call("sendHeartbeat", request, address=original.ip)
    assert [command.cmdType for command in answer.cmds] == [dn.DatanodeCommandProto.RegisterCommand]
    registering = dn.RegisterDatanodeRequestProto(registration=at_port(original, 9999))
    with pytest.raises(errors.RetriableError):
        client.namenode.call("registerDatanode", registering, address=original.ip)
    original.heartbeat()
    client.namenode.tick(1)
    original.heartbeat()
    with pytest.raises(errors.DisallowedDatanode):
        client.namenode.call("registerDatanode", registering, address=original.ip)


def test_a_datanode_that_has_moved_is_registered_when_its_old_address_is_silent(
    client: Any, nodes: Nodes, original: InMemoryDatanode, caplog: pytest.LogCaptureFixture
) -> None:
    moved = twin(original)
    for _ in range(3):
        with pytest.raises(errors.RetriableError):
            moved.register()
        client.namenode.tick(PATIENCE_MS // 3)
        for node in nodes[1:]:
            node.heartbeat()
    moved.register()
    moved.heartbeat()
    moved.report()
    assert "has moved from" in caplog.text
    assert locations(client) == {"10.7.7.7", *(node.ip for node in nodes[1:])}
    assert moved.known.block_count == 1, "the replicas of one storage count once"


def test_a_datanode_that_was_taken_for_gone_finds_its_place_taken(
    client: Any, nodes: Nodes, original: InMemoryDatanode
) -> None:
    """It stood still while the other one was started. Who is alive stays."""
    client.namenode.tick(PATIENCE_MS)
    clone = twin(original)
    clone.replicas[clone.first_storage][77] = Replica(1001, 5)
    clone.register()
    clone.heartbeat()
    assert [c.cmdType for c in original.heartbeat()] == [dn.DatanodeCommandProto.RegisterCommand]
    with pytest.raises(errors.RetriableError):
        original.register()
    client.namenode.tick(10)
    clone.heartbeat()
    with pytest.raises(errors.DisallowedDatanode):
        original.register()


def test_a_dead_datanode_may_come_back_anywhere_at_once(
    client: Any, nodes: Nodes, original: InMemoryDatanode
) -> None:
    client.namenode.namesystem.datanode_manager.datanodes.lose(original.known)
    client.namenode.namesystem.block_manager.blocks.node_gone(original.known)
    moved = twin(original)
    moved.register()
    assert original.known.name == "10.7.7.7:9866"


def test_addresses_that_claim_a_uuid_do_not_fill_the_memory(
    client: Any, original: InMemoryDatanode
) -> None:
    for number in range(100):
        with pytest.raises(errors.RetriableError):
            twin(original, f"10.8.0.{number}").register()
    claims = client.namenode.datanode._registrations._rivals._claims
    assert [len(by_address) for by_address in claims.values()] == [16]


def test_the_patience_is_three_heartbeats_and_three_seconds_at_least() -> None:
    def patience_ms(interval: str) -> int:
        return settings_from(
            Configuration({"dfs.heartbeat.interval": interval}), "BP-1"
        ).datanode_moves_ms

    assert [patience_ms(each) for each in ("3", "10", "200ms")] == [9000, 30_000, 3000]
