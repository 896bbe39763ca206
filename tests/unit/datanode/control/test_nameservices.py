"""A datanode with several namenodes: nameservices side by side, and the active's orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from howdah import errors
from howdah.datanode.control import incremental_reports
from howdah.datanode.state.messages import (
    BlockSynchronized,
    CorruptFound,
    Invalidate,
    ReplicaReceived,
    ServePool,
)
from howdah.proto import datanode_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.data_transfer.blocks import ExtendedBlock
from howdah.testing.waiting import wait_until

FakeNamenode = Any
"""Both in conftest.py."""
Subject = Any
Make = Callable[..., FakeNamenode]
Start = Callable[..., Subject]

POOL = "BP-1-127.0.0.1-1"
OTHER_POOL = "BP-2-127.0.0.1-1"
BLOCK = ExtendedBlock(POOL, 5, 1001, 100)
REGISTER = pb.DatanodeCommandProto(cmdType=pb.DatanodeCommandProto.RegisterCommand)


def invalidate(block: ExtendedBlock) -> pb.DatanodeCommandProto:
    return pb.DatanodeCommandProto(
        cmdType=pb.DatanodeCommandProto.BlockCommand,
        blkCmd=pb.BlockCommandProto(
            action=pb.BlockCommandProto.INVALIDATE,
            blockPoolId=block.pool_id,
            blocks=[
                types_pb2.BlockProto(
                    blockId=block.block_id,
                    genStamp=block.generation_stamp,
                    numBytes=block.length_bytes,
                )
            ],
        ),
    )


def another_heartbeat(namenode: FakeNamenode) -> None:
    """Two more: what the answer of the first one ordered is done by the second."""
    namenode.wait_for("heartbeat", namenode.names().count("heartbeat") + 2)


# --- several nameservices ---


def test_block_pools_are_served_side_by_side(make_namenode: Make, start_with: Start) -> None:
    east, west = make_namenode(), make_namenode(pool=OTHER_POOL, namespace_id=6)
    subject = start_with({"east": [east], "west": [west]})
    assert subject.ready.wait(30)
    assert {ServePool(POOL), ServePool(OTHER_POOL)} <= set(subject.commands)
    east.wait_for("report")
    assert west.wait_for("report").blockPoolId == OTHER_POOL


def test_news_of_a_replica_are_told_to_its_own_nameservice(
    make_namenode: Make, start_with: Start
) -> None:
    east, west = make_namenode(), make_namenode(pool=OTHER_POOL, namespace_id=6)
    subject = start_with({"east": [east], "west": [west]}, heartbeat_s=0.05)
    assert subject.ready.wait(30)
    subject.nameservices.enqueue(ReplicaReceived(BLOCK, subject.storage_id))
    subject.nameservices.enqueue(CorruptFound(BLOCK, subject.storage_id, None, "torn"))
    assert east.wait_for("news").blockPoolId == POOL
    east.wait_for("bad")
    another_heartbeat(west)
    assert not {"news", "bad"} & set(west.names())


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        ({"cluster": "CID-2"}, "Incompatible clusterIDs"),
        ({"always": {"register": errors.DisallowedDatanode("not you")}}, "not you"),
        ({"always": {"version": errors.IncorrectVersion("too old")}}, "too old"),
        ({"pool": POOL}, "two nameservices name the same namespace"),
    ],
)
def test_a_nameservice_that_refuses_the_datanode_leaves_the_other_one_served(
    make_namenode: Make,
    start_with: Start,
    caplog: pytest.LogCaptureFixture,
    trouble: dict[str, Any],
    reason: str,
) -> None:
    east = make_namenode()
    west = make_namenode(**({"pool": OTHER_POOL, "namespace_id": 6} | trouble))
    # East comes first: the directories get its cluster.
    listening = west.always.get("version")
    west.always["version"] = errors.RetriableError("wait")
    subject = start_with({"east": [east], "west": [west]}, heartbeat_s=0.05, refusal_pause_s=0.05)
    east.wait_for("report")
    if listening is None:
        del west.always["version"]
    else:
        west.always["version"] = listening
    assert subject.ready.wait(30)
    wait_until(lambda: caplog.text.count("nameservice west is not served") >= 2)
    assert reason in caplog.text
    assert f"{west.address[1]}" in caplog.text
    assert "asks again in 0.05 s" in caplog.text
    assert "asks again in 0.1 s" in caplog.text
    another_heartbeat(east)
    subject.nameservices.enqueue(ReplicaReceived(BLOCK, subject.storage_id))
    east.wait_for("news")
    assert subject.stopped == []


def test_a_nameservice_that_is_mended_is_served(make_namenode: Make, start_with: Start) -> None:
    east, west = make_namenode(), make_namenode(pool=OTHER_POOL, namespace_id=6)
    west.always["register"] = errors.DisallowedDatanode("not you")
    subject = start_with({"east": [east], "west": [west]}, refusal_pause_s=0.02)
    west.wait_for("register", 2)
    del west.always["register"]
    west.wait_for("report")
    assert subject.stopped == []


def test_a_datanode_that_is_refused_everywhere_ends_and_says_why(
    make_namenode: Make, start_with: Start, caplog: pytest.LogCaptureFixture
) -> None:
    east, west = make_namenode(), make_namenode(pool=OTHER_POOL, namespace_id=6)
    subject = start_with({"east": [east], "west": [west]}, heartbeat_s=0.05, refusal_pause_s=0.05)
    assert subject.ready.wait(30)
    east.always["heartbeat"] = east.always["register"] = errors.DisallowedDatanode("not in east")
    wait_until(lambda: "nameservice east is not served" in caplog.text)
    assert subject.stopped == []
    west.always["heartbeat"] = west.always["register"] = errors.DisallowedDatanode("not in west")
    assert subject.ended.wait(30)
    (reason, status), *_ = subject.stopped
    assert "not in east" in reason
    assert "not in west" in reason
    assert status == 1


def test_a_namenode_that_is_away_does_not_refuse(make_namenode: Make, start_with: Start) -> None:
    east, west = make_namenode(), make_namenode(pool=OTHER_POOL, namespace_id=6)
    west.close()
    east.always["register"] = errors.DisallowedDatanode("not you")
    subject = start_with({"east": [east], "west": [west]}, refusal_pause_s=0.02)
    east.wait_for("register", 2)
    assert subject.stopped == []
    assert not subject.ready.is_set()
    west.restart()
    assert subject.ready.wait(10)


def test_a_defect_in_one_actor_leaves_the_others(
    make_namenode: Make,
    start_with: Start,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    east, west = make_namenode(), make_namenode(pool=OTHER_POOL, namespace_id=6)
    subject = start_with({"east": [east], "west": [west]}, heartbeat_s=0.05, refusal_pause_s=0.02)
    assert subject.ready.wait(30)
    actor = subject.nameservices.all[1].actors[0]

    def fails(pool_id: str) -> None:
        monkeypatch.undo()
        raise RuntimeError("a defect")

    monkeypatch.setattr(actor, "_heartbeat", fails)
    west.wait_for("register", 2)
    west.wait_for("report", 2)
    assert "failed on a defect" in caplog.text
    assert subject.stopped == []


# --- several namenodes in one nameservice ---


def test_both_namenodes_get_registrations_heartbeats_reports_and_news(
    make_namenode: Make, start_with: Start
) -> None:
    active, standby = make_namenode(), make_namenode(is_active=False)
    subject = start_with({"ha": [active, standby]}, heartbeat_s=0.05)
    for namenode in (active, standby):
        for name in ("register", "heartbeat", "report"):
            namenode.wait_for(name)
    subject.nameservices.enqueue(ReplicaReceived(BLOCK, subject.storage_id))
    active.wait_for("news")
    standby.wait_for("news")


def test_orders_are_taken_from_the_active_alone(
    make_namenode: Make, start_with: Start, caplog: pytest.LogCaptureFixture
) -> None:
    active, standby = make_namenode(), make_namenode(is_active=False)
    subject = start_with({"ha": [active, standby]}, heartbeat_s=0.02)
    for namenode in (active, standby):
        namenode.wait_for("report")
    standby.orders = [invalidate(BLOCK)]
    another_heartbeat(standby)
    assert "which is not active, is not obeyed: Invalidate" in caplog.text
    assert Invalidate((BLOCK,)) not in subject.commands
    active.orders = [invalidate(BLOCK)]
    wait_until(lambda: Invalidate((BLOCK,)) in subject.commands)


def test_a_standby_may_have_the_datanode_register_again(
    make_namenode: Make, start_with: Start
) -> None:
    active, standby = make_namenode(), make_namenode(is_active=False)
    start_with({"ha": [active, standby]}, heartbeat_s=0.02)
    standby.wait_for("report")
    standby.orders = [REGISTER]
    standby.wait_for("register", 2)
    standby.wait_for("report", 2)


def test_after_a_failover_orders_come_from_the_namenode_with_the_newer_transaction(
    make_namenode: Make, start_with: Start, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = make_namenode(txid=10), make_namenode(is_active=False, txid=10)
    subject = start_with({"ha": [first, second]}, heartbeat_s=0.02)
    for namenode in (first, second):
        namenode.wait_for("report")
    pool = subject.nameservices.all[0].pool
    wait_until(lambda: pool.active == subject.actor.name)
    # The first one has yet to notice that it was overtaken.
    second.is_active, second.txid = True, 11
    wait_until(lambda: "takes over from" in caplog.text)
    first.orders = [invalidate(BLOCK)]
    another_heartbeat(first)
    assert Invalidate((BLOCK,)) not in subject.commands
    assert "its orders are not obeyed" in caplog.text
    second.orders = [invalidate(BLOCK)]
    wait_until(lambda: Invalidate((BLOCK,)) in subject.commands)


def test_a_namenode_has_no_say_about_the_blocks_of_another_nameservice(
    make_namenode: Make, start_with: Start, caplog: pytest.LogCaptureFixture
) -> None:
    east, west = make_namenode(), make_namenode(pool=OTHER_POOL, namespace_id=6)
    subject = start_with({"east": [east], "west": [west]}, heartbeat_s=0.02)
    assert subject.ready.wait(30)
    west.orders = [invalidate(BLOCK)]
    another_heartbeat(west)
    assert Invalidate((BLOCK,)) not in subject.commands
    assert "about the block pool of another nameservice" in caplog.text


@pytest.mark.parametrize(
    "difference", [{"pool": OTHER_POOL}, {"namespace_id": 6}, {"cluster": "CID-2"}]
)
def test_a_namenode_of_another_namespace_is_refused_in_this_nameservice(
    make_namenode: Make,
    start_with: Start,
    caplog: pytest.LogCaptureFixture,
    difference: dict[str, Any],
) -> None:
    active = make_namenode()
    stranger = make_namenode(**difference)
    stranger.always["version"] = errors.RetriableError("wait")
    subject = start_with({"ha": [active, stranger]}, heartbeat_s=0.05)
    assert subject.ready.wait(30)
    del stranger.always["version"]
    wait_until(lambda: "nameservice ha is not served at namenode" in caplog.text)
    assert "register" not in stranger.names()
    another_heartbeat(active)
    assert subject.stopped == []


def test_a_standby_that_is_away_holds_up_neither_the_start_nor_the_active(
    make_namenode: Make, start_with: Start
) -> None:
    active, standby = make_namenode(), make_namenode(is_active=False)
    standby.close()
    subject = start_with({"ha": [standby, active]})
    assert subject.ready.wait(30)
    subject.nameservices.enqueue(ReplicaReceived(BLOCK, subject.storage_id))
    active.wait_for("news")


def test_a_namenode_that_is_away_for_long_gets_a_full_report_instead_of_all_the_news(
    make_namenode: Make,
    start_with: Start,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(incremental_reports, "MOST_KEPT", 3)
    active, standby = make_namenode(), make_namenode(is_active=False)
    subject = start_with({"ha": [active, standby]}, heartbeat_s=0.02)
    for namenode in (active, standby):
        namenode.wait_for("report")
    standby.close()
    wait_until(lambda: "is away" in caplog.text)
    for number in range(5):
        news = ReplicaReceived(ExtendedBlock(POOL, 5 + number, 1001, 100), subject.storage_id)
        subject.inventory.apply(news)
        subject.nameservices.enqueue(news)
    wait_until(lambda: "a full one replaces them" in caplog.text)
    standby.restart()
    assert standby.wait_for("report", 2).reports[0].numberOfBlocks == 5
    assert "news" not in standby.names()


@pytest.mark.parametrize(
    "error",
    [
        errors.RetriableError("not yet"),
        errors.AccessDenied("datanode is not authorized"),
        errors.RemoteError("a defect of the namenode"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_news_for_a_namenode_are_bounded_whatever_it_answers(
    make_namenode: Make,
    start_with: Start,
    monkeypatch: pytest.MonkeyPatch,
    error: errors.HowdahError,
) -> None:
    monkeypatch.setattr(incremental_reports, "MOST_KEPT", 3)
    namenode = make_namenode()
    subject = start_with({"": [namenode]}, heartbeat_s=0.02)
    namenode.wait_for("report")
    namenode.always["heartbeat"] = namenode.always["news"] = error
    for number in range(50):
        news = ReplicaReceived(ExtendedBlock(POOL, 5 + number, 1001, 100), subject.storage_id)
        subject.inventory.apply(news)
        subject.nameservices.enqueue(news)
    wait_until(lambda: len(subject.actor._news) <= 3)
    reports = namenode.names().count("report")
    namenode.always.clear()
    wait_until(lambda: namenode.names().count("report") > reports)
    assert namenode.wait_for("report", reports + 1).reports[0].numberOfBlocks == 50


def test_the_end_of_a_recovery_is_told_to_the_namenode_that_ordered_it(
    make_namenode: Make, start_with: Start
) -> None:
    first, second = make_namenode(), make_namenode(is_active=False)
    subject = start_with({"ha": [first, second]}, heartbeat_s=0.02)
    for namenode in (first, second):
        namenode.wait_for("report")
    orderer = subject.nameservices.all[0].actors[1].name
    subject.nameservices.enqueue(BlockSynchronized(BLOCK, 1007, 70, False, (), (), orderer))
    second.wait_for("commit")
    another_heartbeat(first)
    assert "commit" not in first.names()


@pytest.mark.parametrize("name", ["bad", "commit"])
def test_what_a_standby_refuses_does_not_hold_up_its_news(
    make_namenode: Make, start_with: Start, name: str
) -> None:
    active, standby = make_namenode(), make_namenode(is_active=False)
    subject = start_with({"ha": [active, standby]})
    standby.wait_for("report")
    standby.always[name] = errors.StandbyError("not active")
    orderer = subject.nameservices.all[0].actors[1].name
    if name == "bad":
        subject.nameservices.enqueue(CorruptFound(BLOCK, subject.storage_id, None, "torn"))
    else:
        subject.nameservices.enqueue(BlockSynchronized(BLOCK, 1007, 70, False, (), (), orderer))
    subject.nameservices.enqueue(ReplicaReceived(BLOCK, subject.storage_id))
    standby.wait_for(name)
    subject.nameservices.enqueue(ReplicaReceived(BLOCK, subject.storage_id))
    standby.wait_for("news", 2)
    assert standby.names().count(name) == 1
