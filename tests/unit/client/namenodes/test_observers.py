"""Reads go to observers, and show what the client has seen."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from howdah import errors
from howdah.client.dfs import DFSClient
from howdah.client.namenode import NamenodeProxy
from howdah.client.namenodes.connections import Connections
from howdah.client.namenodes.failover import ConfiguredFailover
from howdah.client.namenodes.observers import ObserverReads
from howdah.client.namenodes.target import target_of
from howdah.client.settings.settings import ClientSettings
from howdah.protocol.rpc.call import Call
from howdah.protocol.rpc.failover import FailoverPolicy
from howdah.rpc.identity import SeenState

FakeNameservice = Any  # of conftest.py
Make = Callable[..., FakeNameservice]
OBSERVERS = {
    "dfs_client_failover_proxy_provider_ns": (
        "org.apache.hadoop.hdfs.server.namenode.ha.ObserverReadProxyProvider"
    )
}


class World:
    """nn1 is active at transaction 10, nn2 and nn3 observe; a client of them, and its clock."""

    def __init__(self, ns: FakeNameservice, **settings: float) -> None:
        self.ns = ns
        self.active, *self.observers = ns.namenodes
        self.active.role = "active"
        self.active.txid = 10
        for observer in self.observers:
            observer.role, observer.txid = "observer", 10
        self.now_s = 1000.0
        connections = Connections(
            target_of("ns", ns.conf()), ClientSettings(), "anna", seen=SeenState()
        )
        policy = FailoverPolicy(max_failovers=1, sleep_base_s=0)
        self.namenode = NamenodeProxy(
            ObserverReads(
                connections,
                ConfiguredFailover(connections, policy),
                now_s=lambda: self.now_s,
                **settings,
            )
        )

    def read(self) -> None:
        assert self.namenode.get_file_info("/f") is None

    def write(self) -> None:
        assert self.namenode.delete("/f", recursive=False)

    def asked(self) -> list[list[str]]:
        """The methods that each namenode was asked since the last time."""
        found = [each.methods for each in self.ns.namenodes]
        for each in self.ns.namenodes:
            each.calls.clear()
        return found


@pytest.fixture
def world(nameservice: Make) -> Callable[..., World]:
    def make(**settings: float) -> World:
        return World(nameservice(3), **settings)

    return make


Worlds = Callable[..., World]


def test_reads_go_to_an_observer_and_writes_to_the_active(world: Worlds) -> None:
    here = world()
    here.read()
    here.write()
    here.read()
    asked = here.asked()
    assert asked[0] == ["msync", "getHAServiceState", "delete"]
    assert asked[1] == ["getHAServiceState", "getFileInfo", "getFileInfo"]
    assert asked[2] == []


def test_the_first_read_is_as_new_as_the_active_is(world: Worlds) -> None:
    here = world()
    here.read()
    read = here.observers[0].calls[-1]
    assert read.state_id == 10


def test_a_read_says_what_the_client_has_done(world: Worlds) -> None:
    here = world()
    here.read()
    here.active.txid = 11
    here.write()
    here.read()
    assert here.observers[0].calls[-1].state_id == 11


def test_what_was_seen_never_goes_back(world: Worlds) -> None:
    here = world()
    here.read()
    here.observers[0].txid = 7
    here.read()
    here.read()
    assert here.observers[0].calls[-1].state_id == 10


def test_msync_asks_for_what_others_have_done(world: Worlds) -> None:
    here = world()
    here.read()
    here.active.txid = 20
    here.namenode.msync()
    here.read()
    assert here.observers[0].calls[-1].state_id == 20


@pytest.mark.parametrize(
    ("period_s", "pause_s", "msyncs"), [(-1, 1e6, 1), (0, 0, 3), (5, 4, 1), (5, 6, 3)]
)
def test_the_active_is_asked_anew_as_configured(
    world: Worlds, period_s: float, pause_s: float, msyncs: int
) -> None:
    here = world(auto_msync_s=period_s)
    for _ in range(3):
        here.read()
        # A call that the active answers counts as well.
        if pause_s == 4:
            here.write()
        here.now_s += pause_s
    assert here.active.methods.count("msync") == msyncs


@pytest.mark.parametrize(
    "error",
    [errors.RetriableError("too far behind"), errors.StandbyError("no observer any more")],
)
def test_an_observer_that_does_not_answer_is_left_for_the_next(
    world: Worlds, error: errors.HowdahError
) -> None:
    here = world()
    here.read()
    here.observers[0].script = lambda call: error if call.method == "getFileInfo" else None
    here.read()
    here.observers[0].script = lambda call: None
    here.read()
    assert here.observers[1].methods.count("getFileInfo") == 2
    assert here.active.methods.count("getFileInfo") == 0


def test_a_dead_observer_is_left_for_the_next(world: Worlds) -> None:
    here = world()
    here.read()
    here.observers[0].stop()
    here.read()
    assert here.observers[1].methods[-1] == "getFileInfo"


def test_a_read_that_no_observer_answers_goes_to_the_active(world: Worlds) -> None:
    here = world()
    here.read()
    for observer in here.observers:
        observer.stop()
    here.read()
    here.read()
    assert here.active.methods.count("getFileInfo") == 2


def test_an_observer_may_send_a_read_to_the_active(world: Worlds) -> None:
    """As it does where the read would change the access time."""
    here = world()
    here.observers[0].script = lambda call: (
        errors.ObserverRetryOnActive("atime") if call.method == "getFileInfo" else None
    )
    here.read()
    here.read()
    assert here.active.methods.count("getFileInfo") == 2
    assert here.observers[1].calls == []


def test_an_answer_of_an_observer_is_final(world: Worlds) -> None:
    here = world()
    here.observers[0].script = lambda call: (
        errors.AccessDenied("no") if call.method == "getFileInfo" else None
    )
    with pytest.raises(PermissionError):
        here.read()
    assert "getFileInfo" not in here.active.methods + here.observers[1].methods


def test_without_observers_nobody_looks_for_one_all_the_time(world: Worlds) -> None:
    here = world(probe_again_s=600)
    for observer in here.observers:
        observer.role = "standby"
    here.read()
    here.asked()
    here.read()
    assert here.asked() == [["getFileInfo"], [], []]
    here.observers[1].role = "observer"
    here.now_s += 601
    here.read()
    here.read()
    assert here.asked()[2] == ["getHAServiceState", "getFileInfo", "getFileInfo"]


def test_a_read_that_moves_to_the_active_keeps_its_call_id(world: Worlds) -> None:
    here = world()
    here.read()
    here.asked()
    for observer in here.observers:
        observer.script = lambda call: (
            errors.RetriableError("behind") if call.method == "getFileInfo" else None
        )
    here.read()
    ids = {
        call.call_id
        for each in here.ns.namenodes
        for call in each.calls
        if call.method == "getFileInfo"
    }
    assert len(ids) == 1


def test_the_provider_is_named_in_the_configuration(nameservice: Make) -> None:
    ns = nameservice(2)
    ns[0].role, ns[1].role = "active", "observer"
    ns[0].txid = ns[1].txid = 3
    with closing(DFSClient.at("ns", ns.conf(**OBSERVERS))) as client:
        assert client.namenode.get_file_info("/f") is None
    assert ns[1].methods == ["getHAServiceState", "getFileInfo"]


def test_other_clients_say_nothing_of_what_they_have_seen(nameservice: Make) -> None:
    ns = nameservice(2)
    ns.active(0)
    ns[0].txid = 9
    with closing(DFSClient.at("ns", ns.conf())) as client:
        client.namenode.delete("/f", recursive=False)
        client.namenode.delete("/f", recursive=False)
    calls: list[Call] = ns[0].calls
    assert [call.state_id for call in calls] == [None, None]
