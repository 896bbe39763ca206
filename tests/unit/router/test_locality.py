"""Which nameservices are near a caller, and how a router finds out."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Set
from typing import Any, cast

import pytest

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.router.namenodes.locality import Locality, addresses_of
from howdah.router.state.namenodes.membership import Members, Namenode, State
from howdah.router.state.table.hosts import Hosts

pytestmark = pytest.mark.req("LM-020")

ADDRESSES = {
    "east": {"one": ("nn-east", 8020), "two": ("10.0.0.2", 8020)},
    "west": {"": ("nn-west", 8020)},
}


def near(found: Hosts | Locality, address: str) -> tuple[Set[str], ...]:
    return found.near(address)


def test_a_namenode_is_nearer_than_a_datanode() -> None:
    hosts = Hosts.of(
        {"east": ["10.0.0.1"], "west": ["10.0.0.2"]},
        {"east": ["10.0.0.2", "10.0.0.3"], "west": ["10.0.0.3"]},
        frozenset(),
    )
    assert near(hosts, "10.0.0.2") == ({"west"}, {"east"})
    assert near(hosts, "10.0.0.3") == (set(), {"east", "west"})
    assert near(hosts, "10.9.9.9") == (set(), set())


def test_a_caller_at_the_loopback_address_is_near_servers_on_this_machine() -> None:
    hosts = Hosts.of(
        {"east": ["10.0.0.1"], "west": ["10.0.0.2"]},
        {"west": ["10.0.0.1"]},
        frozenset({"10.0.0.1"}),
    )
    for address in ("127.0.0.1", "::1"):
        assert near(hosts, address) == (set(), set(), {"east"}, {"west"})
    assert near(hosts, "10.0.0.1") == ({"east"}, {"west"})


class Network:
    """What names and namenodes answer."""

    def __init__(self) -> None:
        self.members = {name: Members(name, found) for name, found in ADDRESSES.items()}
        self.names = {"nn-east": {"10.0.0.1"}, "nn-west": {"10.0.0.9"}, "10.0.0.2": {"10.0.0.2"}}
        self.datanodes = {"east": ["10.0.1.1"], "west": ["10.0.1.2"]}
        self.enabled = list(self.members)
        self.asked: list[str] = []
        for each in self.members.values():
            each.note_state(each.namenodes[0], State.ACTIVE, 1.0)

    def lookup(self, host: str) -> frozenset[str]:
        if host not in self.names:
            raise OSError("no such name")
        return frozenset(self.names[host])

    async def own_call(
        self, namenode: Namenode, protocol: str, method: str, request: object, kind: object
    ) -> pb.GetDatanodeReportResponseProto:
        assert method == "getDatanodeReport"
        self.asked.append(str(namenode))
        if namenode.nameservice not in self.datanodes:
            raise errors.AccessDenied("for the superuser")
        answer = pb.GetDatanodeReportResponseProto()
        for address in self.datanodes[namenode.nameservice]:
            answer.di.add().id.ipAddr = address
        return answer

    def locality(self, is_here: Callable[[str], bool] = lambda _: False) -> Locality:
        # It has of a router's network what is asked of it here.
        return Locality(ADDRESSES, cast(Any, self), lookup=self.lookup, is_here=is_here)


def test_names_are_looked_up_and_active_namenodes_asked_for_datanodes() -> None:
    network = Network()
    locality = network.locality(lambda address: address == "10.0.0.9")
    assert near(locality, "10.0.0.1") == (set(), set())
    asyncio.run(locality.refresh())
    assert near(locality, "10.0.0.1") == ({"east"}, set())
    assert near(locality, "10.0.0.2") == ({"east"}, set())
    assert near(locality, "10.0.1.2") == (set(), {"west"})
    assert near(locality, "127.0.0.1")[2:] == ({"west"}, set())
    assert sorted(network.asked) == ["east-one", "west"]


def test_what_cannot_be_asked_or_looked_up_stays_and_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    network = Network()
    locality = network.locality()
    asyncio.run(locality.refresh())
    del network.names["nn-east"], network.datanodes["west"]
    network.datanodes["east"] = ["10.0.1.7"]
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            asyncio.run(locality.refresh())
    said = sorted(each.getMessage() for each in caplog.records)
    assert [each.partition(" cannot be ")[0] for each in said] == [
        "the address of namenode host nn-east",
        "the datanodes of nameservice west",
    ]
    assert near(locality, "10.0.0.1") == ({"east"}, set())
    assert near(locality, "10.0.1.2") == (set(), {"west"})
    assert near(locality, "10.0.1.7") == (set(), {"east"})
    assert near(locality, "10.0.1.1") == (set(), set())


def test_nobody_is_asked_who_is_disabled_or_not_known_to_be_active() -> None:
    network = Network()
    network.enabled = ["east"]
    (_, two) = network.members["east"].namenodes
    network.members["east"].note_state(two, State.STANDBY, 2.0)
    network.members["east"].note_state(network.members["east"].namenodes[0], State.STANDBY, 2.0)
    asyncio.run(network.locality().refresh())
    assert network.asked == []


def test_a_look_up_that_hangs_holds_nobody_up_and_counts_when_it_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scene() -> None:
        network = Network()
        held = asyncio.Event()

        async def own_call(*words: object) -> pb.GetDatanodeReportResponseProto:
            await held.wait()
            return pb.GetDatanodeReportResponseProto()

        monkeypatch.setattr(network, "own_call", own_call)
        locality = network.locality()
        await locality.refresh(0.001)
        assert near(locality, "10.0.0.1") == (set(), set())
        held.set()
        await locality.refresh()
        assert near(locality, "10.0.0.1") == ({"east"}, set())

    asyncio.run(scene())


def test_addresses_of_names_and_of_what_is_none() -> None:
    assert addresses_of("127.0.0.7") == {"127.0.0.7"}
    with pytest.raises(OSError, match="no name of a host"):
        addresses_of("a" * 300)
