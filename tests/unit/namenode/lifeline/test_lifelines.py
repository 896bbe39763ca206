"""Datanodes that are heard of while the namenode is busy with something else."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from howdah import errors
from howdah.namenode.server.lifeline import PROTOCOL, LifelineServer
from howdah.namenode.service.lifelines import Lifeline, LifelineRegistry
from howdah.proto import datanode_namenode_pb2 as dn
from howdah.rpc.client import RpcClient
from howdah.testing.in_memory import InMemoryDatanode, InMemoryNamenode

Nodes = list[InMemoryDatanode]


def beat(node: InMemoryDatanode) -> dn.HeartbeatRequestProto:
    return dn.HeartbeatRequestProto(
        registration=node.registration(), reports=[], xmitsInProgress=0, xceiverCount=0
    )


def note(node: InMemoryDatanode, at_ms: int | None = None, address: str = "") -> None:
    namesystem = node.namenode.namesystem
    now_ms = namesystem.clock.monotonic_ms() if at_ms is None else at_ms
    namesystem.datanode_manager.lifelines.note(
        Lifeline(node.uuid, address or node.known.name, now_ms)
    )


@pytest.fixture
def expiry_ms(namenode: InMemoryNamenode) -> int:
    return namenode.namesystem.datanode_manager.datanodes.expiry_ms


# The loop.


def test_who_sends_lifelines_is_not_lost(
    namenode: InMemoryNamenode, nodes: Nodes, expiry_ms: int, caplog: pytest.LogCaptureFixture
) -> None:
    namenode.clock.advance(expiry_ms - 1)
    note(nodes[0])
    namenode.clock.advance(2)
    namenode.tick()
    assert [node.known.alive for node in nodes] == [True, False, False]
    assert f"datanode {nodes[0].known.name} lives by a lifeline" in caplog.text
    namenode.tick(expiry_ms)
    assert not nodes[0].known.alive


def test_a_lifeline_brings_nobody_back(
    namenode: InMemoryNamenode, nodes: Nodes, expiry_ms: int
) -> None:
    namenode.tick(expiry_ms + 1)
    note(nodes[0])
    namenode.tick()
    assert not nodes[0].known.alive
    assert nodes[0].heartbeat()[0].cmdType == dn.DatanodeCommandProto.RegisterCommand


@pytest.mark.parametrize("how", ["another address", "nobody", "older than the heartbeat"])
def test_a_lifeline_that_says_nothing_new_changes_nothing(
    namenode: InMemoryNamenode, nodes: Nodes, how: str
) -> None:
    node, before_ms = nodes[0], nodes[0].known.last_heartbeat_ms
    namenode.clock.advance(1000)
    if how == "another address":
        note(node, address="10.7.7.7:9866")
    elif how == "nobody":
        namenode.namesystem.datanode_manager.lifelines.note(
            Lifeline("nobody", node.known.name, before_ms + 1000)
        )
    else:
        note(node, before_ms - 1)
    namenode.tick()
    assert node.known.last_heartbeat_ms == before_ms


def test_a_clone_is_known_by_the_lifelines_of_the_original(
    namenode: InMemoryNamenode, nodes: Nodes
) -> None:
    clone = InMemoryDatanode(namenode, nodes[0].uuid, "10.7.7.7", {"DS": {}})
    with pytest.raises(errors.RetriableError):
        clone.register()
    namenode.clock.advance(1000)
    note(nodes[0])
    namenode.tick()
    with pytest.raises(errors.DisallowedDatanode):
        clone.register()


def test_lifelines_that_nobody_takes_do_not_fill_the_memory() -> None:
    heard = LifelineRegistry(limit=2)
    assert [heard.note(Lifeline(f"u{i}", "a", i)) for i in range(3)] == [True, True, False]
    assert heard.note(Lifeline("u1", "a", 9)), "a newer one of the same datanode"
    assert {(line.uuid, line.at_ms) for line in heard.pop_all()} == {("u0", 0), ("u1", 9)}
    assert list(heard.pop_all()) == []


# The port.


@pytest.fixture
def heard() -> LifelineRegistry:
    return LifelineRegistry(limit=3)


@pytest.fixture
def send(heard: LifelineRegistry) -> Iterator[Callable[[dn.HeartbeatRequestProto], Any]]:
    server = LifelineServer(("127.0.0.1", 0), heard, lambda: 77, 10)
    client = RpcClient(("127.0.0.1", server.port), PROTOCOL)
    yield lambda request: client.call("sendLifeline", request, dn.LifelineResponseProto)
    server.stop()


def local(number: int = 0) -> InMemoryDatanode:
    return InMemoryDatanode(InMemoryNamenode(), f"dn{number}", "127.0.0.1", {})


def test_the_port_notes_who_is_alive(heard: LifelineRegistry, send: Callable[..., Any]) -> None:
    send(beat(local()))
    assert list(heard.pop_all()) == [Lifeline("dn0", "127.0.0.1:9866", 77)]


def test_the_port_serves_while_another_thread_computes(
    heard: LifelineRegistry, send: Callable[..., Any]
) -> None:
    """As the namenode's loop does, which must not give way by itself for this."""
    sender = threading.Thread(target=lambda: [send(beat(local(i))) for i in range(3)])
    sender.start()
    turns = 0
    while len(heard._lines) < 3:
        turns = sum(range(1000)) + turns * 0 + 1
    sender.join()
    assert {line.uuid for line in heard.pop_all()} == {"dn0", "dn1", "dn2"}


def test_the_port_refuses_what_is_no_datanode_and_more_than_it_keeps(
    heard: LifelineRegistry, send: Callable[..., Any]
) -> None:
    nameless = beat(local())
    nameless.registration.datanodeID.datanodeUuid = ""
    with pytest.raises(errors.DisallowedDatanode, match="0 characters"):
        send(nameless)
    for number in range(3):
        send(beat(local(number)))
    with pytest.raises(errors.RetriableError, match="too many wait"):
        send(beat(local(3)))
