"""Nameservices and namenodes that come and go while a datanode runs (refreshNamenodes)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from howdah import errors
from howdah.datanode.control import nameservices
from howdah.datanode.control.block_pool import Member
from howdah.datanode.control.namenode_actor import NamenodeActor
from howdah.datanode.state.messages import (
    Invalidate,
    KeepDeleted,
    NameservicesAwaited,
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

pytestmark = pytest.mark.req("FS-046")


def refresh(subject: Subject, lifelines: Any = None, /, **nameservices: list[FakeNamenode]) -> None:
    addresses = {name: tuple(nn.address for nn in nns) for name, nns in nameservices.items()}
    subject.nameservices.refresh(addresses, lifelines or {})


def two(make_namenode: Make) -> tuple[FakeNamenode, FakeNamenode]:
    return make_namenode(), make_namenode(pool=OTHER_POOL, namespace_id=6)


def awaited(subject: Subject) -> tuple[str, ...]:
    told = [each for each in subject.commands if isinstance(each, NameservicesAwaited)]
    names: tuple[str, ...] = told[-1].names
    return names


def test_a_nameservice_that_is_new_is_served(make_namenode: Make, start_with: Start) -> None:
    east, west = two(make_namenode)
    subject = start_with({"east": [east]})
    east.wait_for("report")
    refresh(subject, east=[east], west=[west])
    assert west.wait_for("report").blockPoolId == OTHER_POOL
    assert ServePool(OTHER_POOL) in subject.commands
    assert east.names().count("register") == 1
    wait_until(lambda: awaited(subject) == ())


def test_a_nameservice_that_is_gone_hears_nothing_more_and_its_pool_is_left(
    make_namenode: Make, start_with: Start
) -> None:
    east, west = two(make_namenode)
    subject = start_with({"east": [east], "west": [west]}, heartbeat_s=0.02)
    for namenode in (east, west):
        namenode.wait_for("report")
    refresh(subject, east=[east])
    assert subject.left == [OTHER_POOL]
    heard = len(west.calls)
    for _ in range(2):
        east.wait_for("heartbeat", east.names().count("heartbeat") + 2)
    assert len(west.calls) == heard
    assert [each.name for each in subject.nameservices.all] == ["east"]
    assert subject.stopped == []


def test_a_nameservice_that_is_gone_may_come_back_under_another_name(
    make_namenode: Make, start_with: Start
) -> None:
    east, west = two(make_namenode)
    subject = start_with({"east": [east], "west": [west]})
    west.wait_for("report")
    refresh(subject, east=[east], occident=[west])
    west.wait_for("report", 2)
    assert subject.left == [OTHER_POOL]


def test_a_standby_may_be_replaced_while_the_active_goes_on(
    make_namenode: Make, start_with: Start
) -> None:
    active, standby, fresh = make_namenode(), *(make_namenode(is_active=False) for _ in "ab")
    subject = start_with({"ha": [active, standby]}, heartbeat_s=0.02)
    for namenode in (active, standby):
        namenode.wait_for("report")
    refresh(subject, ha=[active, fresh])
    fresh.wait_for("report")
    assert active.names().count("register") == 1
    subject.nameservices.enqueue(ReplicaReceived(BLOCK, subject.storage_id))
    for namenode in (active, fresh):
        namenode.wait_for("news")
    assert "news" not in standby.names()
    assert subject.left == []


def test_an_active_that_is_taken_out_is_not_the_active_any_more(
    make_namenode: Make, start_with: Start
) -> None:
    old, new = make_namenode(txid=10), make_namenode(is_active=False, txid=10)
    subject = start_with({"ha": [old, new]}, heartbeat_s=0.02)
    pool = subject.nameservices.all[0].pool
    wait_until(lambda: pool.active is not None)
    new.wait_for("report")
    refresh(subject, ha=[new])
    assert pool.active is None
    new.is_active, new.txid = True, 11
    wait_until(lambda: pool.active is not None)


def test_a_namenode_that_leaves_a_call_without_an_answer_does_not_hold_up_the_others(
    make_namenode: Make, start_with: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nameservices, "END_TIMEOUT_S", 0.05)
    east, west = two(make_namenode)
    subject = start_with({"east": [east], "west": [west]}, heartbeat_s=0.02)
    for namenode in (east, west):
        namenode.wait_for("report")
    answers = west.waits["heartbeat"] = threading.Event()
    west.wait_for("heartbeat", west.names().count("heartbeat") + 1)
    try:
        refresh(subject, east=[east])
        assert subject.left == [OTHER_POOL]
        pool = subject.nameservices.all[0].pool
        assert pool.pool_id == POOL
    finally:
        answers.set()


def test_a_nameservice_that_was_left_is_not_obeyed(make_namenode: Make, start_with: Start) -> None:
    east, west = two(make_namenode)
    subject = start_with({"east": [east], "west": [west]}, heartbeat_s=0.02)
    for namenode in (east, west):
        namenode.wait_for("report")
    left = subject.nameservices.all[1].pool
    refresh(subject, east=[east])
    block = ExtendedBlock(OTHER_POOL, 5, 1001, 100)
    assert not left.obeys(Member("any"), Invalidate((block,)))


def test_a_nameservice_whose_namenode_is_down_holds_up_nobody_and_is_awaited(
    make_namenode: Make, start_with: Start, caplog: pytest.LogCaptureFixture
) -> None:
    east, west = two(make_namenode)
    west.close()
    subject = start_with({"east": [east], "west": [west]})
    assert subject.ready.wait(20)
    assert "no namenode of nameservice west answers" in caplog.text
    assert awaited(subject) == ("west",)
    west.restart()
    west.wait_for("report")
    wait_until(lambda: awaited(subject) == ())


def test_what_is_refused_by_all_that_is_left_ends_the_datanode(
    make_namenode: Make, start_with: Start
) -> None:
    east, west = two(make_namenode)
    subject = start_with({"east": [east], "west": [west]}, heartbeat_s=0.05, refusal_pause_s=0.02)
    for namenode in (east, west):
        namenode.wait_for("report")
    west.always["heartbeat"] = west.always["register"] = errors.DisallowedDatanode("not in west")
    west.wait_for("register", 2)
    assert subject.stopped == []
    refresh(subject, west=[west])
    assert subject.ended.wait(20)


# --- answers that come too late ---


class Late:
    """A namenode that was the active one, is taken out, and still owes an answer."""

    def __init__(self, start_with: Start, old: FakeNamenode, other: FakeNamenode) -> None:
        self.old, self.other = old, other
        self.subject = start_with({"ha": [old, other]}, heartbeat_s=0.02)
        self.pool = self.subject.nameservices.all[0].pool
        wait_until(lambda: self.pool.active is not None)
        for namenode in (old, other):
            namenode.wait_for("report")
        self.actor = self.subject.nameservices.all[0].actors[0]
        self.answers = old.waits["heartbeat"] = threading.Event()
        old.wait_for("heartbeat", old.names().count("heartbeat") + 1)
        old.txid, old.orders = 11, [deletion(BLOCK)]

    def answer(self) -> None:
        """Nobody waits for it but the thread that called."""
        del self.old.waits["heartbeat"]
        self.answers.set()
        assert self.actor.wait_until_ended(30)


@pytest.fixture
def late(make_namenode: Make, start_with: Start, monkeypatch: pytest.MonkeyPatch) -> Iterator[Late]:
    monkeypatch.setattr(nameservices, "END_TIMEOUT_S", 0.05)
    case = Late(start_with, make_namenode(txid=10), make_namenode(is_active=False, txid=10))
    yield case
    case.answers.set()


def deletion(block: ExtendedBlock) -> pb.DatanodeCommandProto:
    order = pb.BlockCommandProto(action=pb.BlockCommandProto.INVALIDATE, blockPoolId=block.pool_id)
    order.blocks.add(blockId=block.block_id, genStamp=block.generation_stamp, numBytes=100)
    return pb.DatanodeCommandProto(cmdType=pb.DatanodeCommandProto.BlockCommand, blkCmd=order)


def orders(subject: Subject) -> list[Invalidate]:
    return [each for each in subject.commands if isinstance(each, Invalidate)]


def test_the_late_answer_of_a_namenode_that_was_left_changes_nothing(late: Late) -> None:
    refresh(late.subject, ha=[late.other])
    assert late.pool.active is None
    late.answer()
    assert late.pool.active is None
    assert orders(late.subject) == []
    late.other.is_active, late.other.txid = True, 11
    wait_until(lambda: late.pool.active is not None)


def test_the_late_answer_of_a_namenode_does_not_count_when_it_has_come_again(late: Late) -> None:
    refresh(late.subject, ha=[late.other])
    late.old.is_active, late.old.orders = False, []
    del late.old.waits["heartbeat"]
    refresh(late.subject, ha=[late.other, late.old])
    late.old.wait_for("report", 2)
    stale = pb.NNHAStatusHeartbeatProto(state=pb.NNHAStatusHeartbeatProto.ACTIVE, txid=12)
    late.pool.note_heartbeat(late.actor._member, stale)
    assert late.pool.active is None
    assert not late.pool.obeys(late.actor._member, Invalidate((BLOCK,)))
    late.answers.set()


def test_a_late_answer_starts_no_rolling_upgrade(late: Late) -> None:
    upgrade = types_pb2.RollingUpgradeStatusProto(blockPoolId=POOL, finalized=False)
    member = late.actor._member
    assert late.pool.active == member.name
    refresh(late.subject, ha=[late.other])
    late.pool.heard_of_upgrade(member, upgrade)
    assert not any(isinstance(each, KeepDeleted) for each in late.subject.commands)


def test_a_namenode_that_was_left_makes_no_namespace_known(
    make_namenode: Make, start_with: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nameservices, "END_TIMEOUT_S", 0.05)
    wrong, right = make_namenode(pool=OTHER_POOL, namespace_id=6), make_namenode()
    answers = wrong.waits["version"] = threading.Event()
    subject = start_with({"ha": [wrong]}, heartbeat_s=0.02)
    wrong.wait_for("version")
    actor = subject.nameservices.all[0].actors[0]
    refresh(subject, ha=[right])
    answers.set()
    assert actor.wait_until_ended(30)
    right.wait_for("report")
    assert subject.nameservices.all[0].pool.pool_id == POOL
    assert subject.stopped == []


def test_a_datanode_whose_nameservices_all_change_their_names_goes_on(
    make_namenode: Make, start_with: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no nameservice for a moment, and the last answer of the old one comes then."""
    monkeypatch.setattr(nameservices, "END_TIMEOUT_S", 0.05)
    namenode = make_namenode()
    subject = start_with({"east": [namenode]}, heartbeat_s=0.02)
    namenode.wait_for("report")
    subject.nameservices.all = ()
    assert subject.nameservices._judge()
    assert subject.stopped == []


def test_a_nameservice_that_gets_no_thread_keeps_no_other_from_its_start(
    make_namenode: Make, start_with: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = two(make_namenode)
    last = make_namenode(pool="BP-3-127.0.0.1-1", namespace_id=7)
    subject = start_with({"first": [first]})
    first.wait_for("report")
    start = NamenodeActor.start
    failed: list[str] = []

    def start_all_but_one(actor: NamenodeActor) -> None:
        if not failed:
            failed.append(actor.name)
            raise RuntimeError("can't start new thread")
        start(actor)

    with monkeypatch.context() as patch:
        patch.setattr(NamenodeActor, "start", start_all_but_one)
        with pytest.raises(errors.RemoteError, match="can't start new thread"):
            refresh(subject, first=[first], second=[second], last=[last])
    last.wait_for("report")
    refresh(subject, first=[first], second=[second], last=[last])
    second.wait_for("report")
