"""What a router tells monitoring, as it is made of facts."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from howdah import errors
from howdah.router.state.beans import (
    Connected,
    FederationFacts,
    client_activity,
    federation,
    passing_on,
    state_store,
)
from howdah.router.state.metrics import ProxyFigures
from howdah.router.state.namenodes.membership import Namenode, State
from howdah.router.state.table.mount_table import Destination, MountEntry
from howdah.runtime.metrics.histogram import Rates, Times
from howdah.runtime.metrics.rpc import RpcMetrics
from howdah.web.pages.cluster import Member

pytestmark = pytest.mark.req("FS-260")

EAST = Namenode(
    "east",
    "nn1",
    ("10.0.0.1", 8020),
    State.ACTIVE,
    contact_s=97.0,
    block_pool="BP-1",
    cluster="CID",
    capacity_bytes=100,
    available_bytes=60,
    missing_blocks=1,
    low_redundancy_blocks=5,
)
STANDBY = Namenode("east", "nn2", ("10.0.0.2", 8020), State.STANDBY, block_pool="BP-1")
WEST = replace(EAST, nameservice="west", name="", available_bytes=100, block_pool="BP-2")
NUMBERS = {"FilesTotal": 10, "BlocksTotal": 7, "NumLiveDataNodes": 3, "NumDeadDataNodes": 1}
FACTS = FederationFacts(
    name="r:8888",
    started_ms=1_700_000_000_000,
    safe_mode=False,
    nameservices=["east", "west"],
    namenodes=[EAST, STANDBY, WEST],
    disabled=frozenset(),
    entries=[MountEntry("/both", (Destination("east", "/e"), Destination("west", "/w")))],
    now_s=100.0,
)
MEMBERS = [
    Member("east", "nn1", "10.0.0.1:9870", numbers=NUMBERS),
    Member("west", "", "10.0.0.3:9870", numbers=NUMBERS),
]


def state(facts: FederationFacts, members: list[Member]) -> dict[str, Any]:
    return federation(facts, members)[0]


def test_active_namenodes_are_summed_up() -> None:
    found = state(FACTS, MEMBERS)
    assert (found["TotalCapacity"], found["UsedCapacity"]) == (200, 40)
    assert (found["NumOfMissingBlocks"], found["NumOfBlocksUnderReplicated"]) == (2, 10)
    assert (found["NumFiles"], found["NumLiveNodes"], found["NumNamenodes"]) == (20, 6, 3)
    assert (found["ClusterId"], found["BlockPoolId"]) == ("[CID]", "[BP-1, BP-2]")
    namenodes = json.loads(found["Namenodes"])
    assert list(namenodes) == ["east-nn1", "east-nn2", "west"]
    assert namenodes["east-nn1"]["lastHeartbeat"] == 3
    assert namenodes["east-nn1"]["numOfFiles"] == 10
    assert namenodes["east-nn1"]["webAddress"] == "10.0.0.1:9870"
    assert namenodes["east-nn2"]["lastHeartbeat"] == -1
    assert list(json.loads(found["Nameservices"])) == ["east", "west"]
    (mount,) = json.loads(found["MountTable"])
    assert (mount["sourcePath"], mount["nameserviceId"], mount["path"]) == (
        *("/both", "east,west", "/e,/w"),
    )


def test_a_sum_of_which_a_part_is_not_known_is_left_out() -> None:
    silent = [MEMBERS[0], Member("west", "", "", "no answer within 4 s")]
    found = state(FACTS, silent)
    assert "NumFiles" not in found
    assert found["TotalCapacity"] == 200, "which the router has heard itself"
    assert "numOfFiles" not in json.loads(found["Namenodes"])["west"]
    older = [MEMBERS[0], replace(MEMBERS[1], numbers={"FilesTotal": 1})]
    found = state(FACTS, older)
    assert found["NumFiles"] == 11
    assert "NumBlocks" not in found


def test_disabled_and_safe_mode_are_told() -> None:
    facts = replace(FACTS, disabled=frozenset({"west"}), safe_mode=True)
    found, router = federation(facts, MEMBERS)
    assert json.loads(str(found["Namenodes"]))["west"]["state"] == "DISABLED"
    assert (found["RouterStatus"], router["RouterStatus"]) == ("SAFEMODE", "SAFEMODE")
    assert "Safe mode is ON" in str(router["Safemode"])


def test_attempts_are_counted_by_nameservice_and_how_they_end() -> None:
    figures = ProxyFigures()
    east, west = figures.of("east"), figures.of("west")
    for outcome in (b"answer", errors.PathNotFound("not there"), errors.StandbyError("no")):
        east.ended(2_000_000, outcome, of_observer=False)
    east.ended(2_000_000, None, of_observer=True)
    west.ended(1, errors.CallTimeout("late"), of_observer=False)
    west.ended(1, errors.Unreachable("away"), of_observer=False)
    west.no_namenodes += 1
    connected = Connected({"10.0.0.1:8020": (3, 1)}, 1, 7, 2)
    rpc, *rest = passing_on(figures, connected, Rates(), 0)
    assert (rpc["ProxyOps"], rpc["ProxyAvg"], rpc["ObserverProxyOps"]) == (3, 2.0, 1)
    assert (rpc["ProxyOpFailureStandby"], rpc["ProxyOpFailureCommunicate"]) == (1, 2)
    assert rpc["ProxyOpNoNamenodes"] == 1
    assert (rpc["RpcClientNumConnections"], rpc["RpcClientNumActiveConnections"]) == (3, 2)
    assert json.loads(str(rpc["RpcClientConnections"]))["10.0.0.1:8020"]["idle"] == 1
    assert [each["tag.ns"] for each in rest] == ["east", "west"]
    assert [each["ProxyOp"] for each in rest] == [3, 0]


def test_the_state_store_and_calls_are_told() -> None:
    times = {name: Times() for name in ("Read", "Write", "Remove", "Failure")}
    times["Read"].add(4_000_000)
    store, activity = state_store(times, 5, 1, Rates(), 0)
    assert (store["ReadOps"], store["ReadAvg"], store["WriteOps"]) == (1, 4.0, 0)
    assert (activity["ReadsNumOps"], activity["CacheMountTableSize"]) == (1, 5)
    figures = RpcMetrics({"getFileInfo", "removeXAttr"})
    figures.answered("removeXAttr", "ann", 1)
    told = client_activity(["getFileInfo", "removeXAttr"], [figures])
    assert (told["GetFileInfoOps"], told["RemoveXAttrsOps"]) == (0, 1)
