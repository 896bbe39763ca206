"""What a datanode says to its namenode, and when: against a namenode of the test's own."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.datanode.control.block_pool import BlockPool
from howdah.datanode.control.namenode_actor import NamenodeActor
from howdah.datanode.recovery.inter_datanode import encode_order
from howdah.datanode.state import report_schedule
from howdah.datanode.state.messages import (
    BlockSynchronized,
    CacheChanged,
    CheckVolumes,
    CorruptFound,
    Identity,
    Invalidate,
    KeysTold,
    NameservicesAwaited,
    OutliersFound,
    RecoverBlock,
    ReplicaOpened,
    ReplicaReceived,
    ServePool,
    SlowPeer,
    VolumeFailed,
)
from howdah.proto import datanode_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock
from howdah.testing.waiting import wait_until

POOL = "BP-1-127.0.0.1-1"
BLOCK = ExtendedBlock(POOL, 5, 1001, 100)
NODE = DatanodeAddress("127.0.0.1", "localhost", "uuid-1", 1, 2, 3)


FakeNamenode = Any
"""Both in conftest.py."""
Subject = Any


def test_a_datanode_registers_beats_and_reports_before_it_is_ready(
    namenode: FakeNamenode, start: Callable[..., Subject]
) -> None:
    subject = start()
    assert subject.ready.wait(30)
    assert namenode.names()[:4] == ["version", "register", "heartbeat", "report"]
    heartbeat = namenode.wait_for("heartbeat")
    assert heartbeat.reports[0].storage.storageUuid == subject.storage_id
    assert heartbeat.reports[0].capacity > 0
    assert subject.commands[0] == NameservicesAwaited(("",))
    assert subject.commands[1] == Identity(
        POOL, DatanodeAddress("127.0.0.1", "localhost", subject.directories.uuid, 1, 2, 3)
    )
    assert subject.commands[2] == ServePool(POOL)


def test_a_datanode_serves_its_block_pool_before_the_namenode_knows_it(
    namenode: FakeNamenode, start: Callable[..., Subject], monkeypatch: pytest.MonkeyPatch
) -> None:
    served = threading.Event()
    real = BlockPool.served

    def late(pool: BlockPool, pool_id: str) -> None:
        def answer() -> None:
            served.set()
            real(pool, pool_id)

        threading.Timer(0.05, answer).start()

    monkeypatch.setattr(BlockPool, "served", late)
    start()
    namenode.wait_for("register")
    assert served.is_set()


def test_a_recovery_is_passed_on_with_the_name_of_who_ordered_it(
    namenode: FakeNamenode, start: Callable[..., Subject]
) -> None:
    order = RecoverBlock(BLOCK, 1007, (NODE,), BLOCK.with_length(7))
    namenode.orders = [
        pb.DatanodeCommandProto(
            cmdType=pb.DatanodeCommandProto.BlockRecoveryCommand,
            recoveryCmd=pb.BlockRecoveryCommandProto(blocks=[encode_order(order)]),
        )
    ]
    subject = start()
    assert subject.ready.wait(30)
    assert replace(order, ordered_by=subject.actor.name) in subject.commands


@pytest.mark.req("AP-026")
def test_the_namenode_is_told_how_a_recovery_ended(
    namenode: FakeNamenode, start: Callable[..., Subject]
) -> None:
    subject = start()
    assert subject.ready.wait(30)
    subject.actor.enqueue(BlockSynchronized(BLOCK, 1007, 70, False, (NODE,), ("DS-1",), "nn"))
    told = namenode.wait_for("commit")
    assert ExtendedBlock.from_proto(told.block) == BLOCK
    assert (told.newGenStamp, told.newLength, told.closeFile) == (1007, 70, True)
    assert [node.datanodeUuid for node in told.newTaragets] == ["uuid-1"]
    assert (list(told.newTargetStorages), told.deleteBlock) == (["DS-1"], False)


def test_the_end_of_a_recovery_is_told_again_to_a_namenode_that_was_away(
    namenode: FakeNamenode, start: Callable[..., Subject]
) -> None:
    subject = start()
    assert subject.ready.wait(30)
    namenode.failures["commit"] = errors.SafeMode("wait")
    subject.actor.enqueue(BlockSynchronized(BLOCK, 1007, 70, False, (), (), "nn"))
    assert namenode.wait_for("commit", 2).newLength == 70


def test_the_end_of_a_recovery_that_is_refused_is_not_told_again(
    namenode: FakeNamenode, start: Callable[..., Subject], caplog: pytest.LogCaptureFixture
) -> None:
    subject = start()
    assert subject.ready.wait(30)
    namenode.failures["commit"] = errors.RemoteError("another one was first")
    subject.actor.enqueue(BlockSynchronized(BLOCK, 1007, 70, False, (), (), "nn"))
    namenode.wait_for("commit")
    subject.actor.enqueue(ReplicaReceived(BLOCK, subject.storage_id))
    namenode.wait_for("news")
    assert namenode.names().count("commit") == 1
    assert "another one was first" in caplog.text


def test_news_are_told_at_once_and_in_order(
    namenode: FakeNamenode, start: Callable[..., Subject]
) -> None:
    subject = start()
    assert subject.ready.wait(30)
    for event in (
        ReplicaOpened(BLOCK.with_length(0), subject.storage_id),
        ReplicaReceived(BLOCK, subject.storage_id),
    ):
        subject.inventory.apply(event)
        subject.actor.enqueue(event)
    told: list[int] = []
    for count in (1, 2):
        for part in namenode.wait_for("news", count).blocks:
            told += [info.status for info in part.blocks]
        if len(told) == 2:
            break
    status = pb.ReceivedDeletedBlockInfoProto
    assert told == [status.RECEIVING, status.RECEIVED]


def test_orders_of_a_heartbeat_are_passed_on(
    namenode: FakeNamenode, start: Callable[..., Subject]
) -> None:
    namenode.orders = [
        pb.DatanodeCommandProto(
            cmdType=pb.DatanodeCommandProto.BlockCommand,
            blkCmd=pb.BlockCommandProto(
                action=pb.BlockCommandProto.INVALIDATE,
                blockPoolId=POOL,
                blocks=[types_pb2.BlockProto(blockId=5, genStamp=1001, numBytes=100)],
            ),
        )
    ]
    subject = start()
    assert subject.ready.wait(30)
    assert Invalidate((BLOCK,)) in subject.commands


def test_a_namenode_that_forgot_the_datanode_gets_it_back_with_a_full_report(
    namenode: FakeNamenode, start: Callable[..., Subject]
) -> None:
    subject = start(heartbeat_s=0.05)
    assert subject.ready.wait(30)
    event = ReplicaReceived(BLOCK, subject.storage_id)
    subject.inventory.apply(event)
    namenode.orders = [pb.DatanodeCommandProto(cmdType=pb.DatanodeCommandProto.RegisterCommand)]
    namenode.wait_for("register", 2)
    assert namenode.wait_for("report", 2).reports[0].numberOfBlocks == 1


def test_an_unknown_datanode_that_has_news_registers_again(
    namenode: FakeNamenode, start: Callable[..., Subject]
) -> None:
    subject = start()
    assert subject.ready.wait(30)
    namenode.failures["news"] = errors.UnregisteredNode("who are you?")
    subject.actor.enqueue(ReplicaReceived(BLOCK, subject.storage_id))
    namenode.wait_for("register", 2)
    namenode.wait_for("report", 2)


def test_news_outlive_a_namenode_that_is_away(
    namenode: FakeNamenode, start: Callable[..., Subject]
) -> None:
    subject = start()
    assert subject.ready.wait(30)
    namenode.close()
    subject.actor.enqueue(ReplicaReceived(BLOCK, subject.storage_id))
    namenode.restart()
    assert namenode.wait_for("news").blocks[0].blocks[0].block.blockId == 5


def test_a_datanode_that_starts_first_waits_for_its_namenode(
    namenode: FakeNamenode, start: Callable[..., Subject], caplog: pytest.LogCaptureFixture
) -> None:
    namenode.close()
    subject = start()
    while "is away" not in caplog.text:
        assert not subject.ready.wait(0.01)
    namenode.restart()
    assert subject.ready.wait(30)
    assert caplog.text.count("is away") == 1


def test_one_call_that_is_refused_is_made_good_by_a_full_report(
    namenode: FakeNamenode, start: Callable[..., Subject], caplog: pytest.LogCaptureFixture
) -> None:
    subject = start(heartbeat_s=0.05)
    assert subject.ready.wait(30)
    namenode.failures["news"] = errors.RemoteError("not now")
    subject.actor.enqueue(ReplicaReceived(BLOCK, subject.storage_id))
    namenode.wait_for("report", 2)
    assert "not now" in caplog.text


def test_a_bad_replica_that_is_refused_is_not_told_again_and_makes_no_report(
    namenode: FakeNamenode, start: Callable[..., Subject], caplog: pytest.LogCaptureFixture
) -> None:
    subject = start(heartbeat_s=0.02)
    assert subject.ready.wait(30)
    namenode.always["bad"] = errors.RemoteError("who is that?")
    subject.actor.enqueue(CorruptFound(BLOCK, "", NODE, "torn"))
    subject.actor.enqueue(ReplicaReceived(BLOCK, subject.storage_id))
    namenode.wait_for("news")
    namenode.wait_for("heartbeat", namenode.names().count("heartbeat") + 5)
    assert namenode.names().count("bad") == 1
    assert namenode.names().count("report") == 1
    assert "who is that?" in caplog.text


def test_news_that_are_refused_again_and_again_make_reports_rarer_and_heartbeats_go_on(
    namenode: FakeNamenode,
    start: Callable[..., Subject],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(report_schedule, "FIRST_PAUSE_S", 0.01)
    subject = start(heartbeat_s=0.01)
    assert subject.ready.wait(30)
    namenode.always["news"] = namenode.always["report"] = errors.RemoteError("never")
    subject.actor.enqueue(ReplicaReceived(BLOCK, subject.storage_id))
    namenode.wait_for("report", 6)
    pauses = re.findall(r"a full report in (\S+) s", caplog.text)
    assert pauses[:5] == ["0.01", "0.02", "0.04", "0.08", "0.16"]
    assert namenode.names().count("heartbeat") > 10


def test_a_namenode_that_is_away_is_back_when_it_answers_and_is_called_less_and_less(
    namenode: FakeNamenode,
    start: Callable[..., Subject],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    subject = start(heartbeat_s=0.05)
    assert subject.ready.wait(30)
    pauses: list[float] = []
    paused = threading.Condition()

    def pause(actor: NamenodeActor, seconds: float) -> None:
        with paused:
            pauses.append(seconds)
            paused.notify_all()

    monkeypatch.setattr(NamenodeActor, "_pause", pause)
    namenode.close()
    with paused:
        assert paused.wait_for(lambda: len(pauses) >= 8, 20)
    assert pauses[:7] == [0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    assert caplog.text.count("is away") == 1
    assert "is back" not in caplog.text
    namenode.restart()
    namenode.wait_for("heartbeat", namenode.names().count("heartbeat") + 1)
    wait_until(lambda: "is back" in caplog.text)


def test_a_datanode_reports_when_it_is_granted_a_lease_and_names_it(
    namenode: FakeNamenode, start: Callable[..., Subject]
) -> None:
    namenode.lease = 0
    subject = start(heartbeat_s=0.01)
    namenode.wait_for("heartbeat", 5)
    assert namenode.names().count("report") == 0
    assert not subject.ready.is_set()
    namenode.lease = 77
    assert subject.ready.wait(30)
    assert namenode.wait_for("report").context.leaseId == 77
    last = [request for name, request in namenode.calls if name == "heartbeat"][-1]
    namenode.wait_for("heartbeat", namenode.names().count("heartbeat") + 1)
    assert last.requestFullBlockReportLease
    assert not namenode.calls[-1][1].requestFullBlockReportLease


def test_a_report_whose_lease_has_ended_waits_for_another_lease(
    namenode: FakeNamenode, start: Callable[..., Subject]
) -> None:
    namenode.failures["report"] = errors.InvalidReportLease("too late")
    subject = start(heartbeat_s=0.01)
    assert subject.ready.wait(30)
    names = namenode.names()
    first = names.index("report")
    assert "heartbeat" in names[first : names.index("report", first + 1)]


@pytest.mark.parametrize("error", [errors.InvalidReportLease, errors.RetriableError])
def test_news_that_a_report_was_to_tell_are_told_without_it(
    namenode: FakeNamenode, start: Callable[..., Subject], error: type[errors.HowdahError]
) -> None:
    """The next one may be long in coming, and clients wait for their blocks."""
    released = namenode.waits["heartbeat"] = threading.Event()
    namenode.failures["report"] = error("not now")
    subject = start()
    namenode.wait_for("heartbeat")
    subject.actor.enqueue(ReplicaReceived(BLOCK, subject.storage_id))
    released.set()
    namenode.wait_for("report")
    namenode.lease = 0
    assert namenode.wait_for("news").blocks[0].blocks[0].block.blockId == 5


def test_news_that_a_report_has_told_are_not_told_again(
    namenode: FakeNamenode, start: Callable[..., Subject]
) -> None:
    released = namenode.waits["heartbeat"] = threading.Event()
    subject = start()
    namenode.wait_for("heartbeat")
    subject.actor.enqueue(ReplicaReceived(BLOCK, subject.storage_id))
    released.set()
    assert subject.ready.wait(30)
    other = ExtendedBlock(POOL, 6, 1001, 10)
    subject.actor.enqueue(ReplicaReceived(other, subject.storage_id))
    assert namenode.wait_for("news").blocks[0].blocks[0].block.blockId == 6


def test_a_report_that_an_administrator_asks_for_needs_no_lease(
    namenode: FakeNamenode, start: Callable[..., Subject]
) -> None:
    subject = start()
    assert subject.ready.wait(30)
    namenode.lease = 0
    subject.actor.report_now(full=True)
    assert namenode.wait_for("report", 2).context.leaseId == 0


def test_a_namenode_of_another_cluster_stops_the_datanode(
    namenode: FakeNamenode, start: Callable[..., Subject], tmp_path: Path
) -> None:
    first = start()
    assert first.ready.wait(30)
    first.close()
    namenode.cluster = "CID-2"
    second = start()
    assert second.ended.wait(30)
    assert "Incompatible clusterIDs" in second.stopped[0][0]
    assert second.stopped[0][1] == 1


def test_a_datanode_that_may_not_register_stops(
    namenode: FakeNamenode, start: Callable[..., Subject]
) -> None:
    namenode.failures["register"] = errors.DisallowedDatanode("not you")
    subject = start()
    assert subject.ended.wait(30)
    assert "not you" in subject.stopped[0][0]


def test_a_datanode_that_cannot_ask_for_tokens_serves_no_namenode_that_wants_it_to(
    namenode: FakeNamenode, start: Callable[..., Subject]
) -> None:
    namenode.has_block_tokens = True
    subject = start()
    assert subject.ended.wait(30)
    assert "Inconsistent configuration of block access tokens" in subject.stopped[0][0]


def test_a_datanode_that_asks_for_tokens_serves_no_namenode_that_gives_none(
    start: Callable[..., Subject],
) -> None:
    subject = start(wants_tokens=True)
    assert subject.ended.wait(30)
    assert "this namenode gives none to clients" in subject.stopped[0][0]


def test_during_a_change_a_namenode_may_give_no_tokens_yet(start: Callable[..., Subject]) -> None:
    subject = start(wants_tokens=True, may_lack_tokens=True)
    assert subject.ready.wait(30)
    assert not [command for command in subject.commands if isinstance(command, KeysTold)]


@pytest.mark.parametrize("is_active", [True, False])
def test_keys_of_tokens_go_to_the_data_process_whoever_tells_them(
    namenode: FakeNamenode, start: Callable[..., Subject], is_active: bool
) -> None:
    namenode.has_block_tokens, namenode.is_active = True, is_active
    new = replace(namenode.keys, update_interval_ms=7)
    namenode.orders = [
        pb.DatanodeCommandProto(
            cmdType=pb.DatanodeCommandProto.KeyUpdateCommand,
            keyUpdateCmd=pb.KeyUpdateCommandProto(keys=new.to_proto()),
        )
    ]
    subject = start(wants_tokens=True)
    assert subject.ready.wait(30)
    told = [command for command in subject.commands if isinstance(command, KeysTold)]
    assert told == [KeysTold(POOL, namenode.keys), KeysTold(POOL, new)]


def test_a_corrupt_replica_is_reported(
    namenode: FakeNamenode, start: Callable[..., Subject]
) -> None:
    subject = start()
    assert subject.ready.wait(30)
    subject.actor.enqueue(CorruptFound(BLOCK, subject.storage_id, None, "torn"))
    assert namenode.wait_for("bad").blocks[0].b.blockId == 5


def test_a_failed_volume_is_told_with_a_heartbeat_at_once(
    namenode: FakeNamenode, start: Callable[..., Subject]
) -> None:
    subject = start()
    assert subject.ready.wait(30)
    subject.inventory.apply(VolumeFailed(subject.storage_id, "dead"))
    subject.actor.volume_failed()
    assert namenode.wait_for("heartbeat", 2).reports[0].failed


def test_a_volume_that_looks_broken_is_to_prove_itself(
    namenode: FakeNamenode, start: Callable[..., Subject], tmp_path: Path
) -> None:
    subject = start()
    assert subject.ready.wait(30)
    (tmp_path / "data").rename(tmp_path / "unplugged")
    subject.actor.report_now(full=False)
    assert namenode.wait_for("heartbeat", 2).reports[0].failed
    assert CheckVolumes() in subject.commands


@pytest.mark.req("FS-028")
def test_full_reports_come_again_after_each_interval(
    namenode: FakeNamenode, start: Callable[..., Subject]
) -> None:
    subject = start(heartbeat_s=0.02, report_s=0.05)
    assert subject.ready.wait(30)
    namenode.wait_for("report", 4)


def test_a_report_is_sent_when_an_administrator_asks_for_it(
    namenode: FakeNamenode, start: Callable[..., Subject]
) -> None:
    subject = start()
    assert subject.ready.wait(30)
    subject.actor.report_now(full=True)
    namenode.wait_for("report", 2)


def test_an_actor_that_meets_a_defect_ends_its_datanode(
    start: Callable[..., Subject], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(actor: NamenodeActor) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(NamenodeActor, "_live", fails)
    subject = start()
    assert subject.ended.wait(30)
    ((reason, status),) = subject.stopped
    assert (status, "nobody talks to namenode" in reason) == (1, True)
    assert "failed on a defect" in caplog.text


def test_what_is_slow_goes_with_the_next_heartbeat_and_once(
    start: Callable[..., Any], namenode: Any
) -> None:
    subject = start(heartbeat_s=0.01)
    namenode.wait_for("heartbeat")
    found = OutliersFound((SlowPeer("10.0.0.3:9866", 50, 1, 2, 5),), ())
    subject.nameservices.found_slow(found)
    namenode.wait_for("heartbeat", namenode.names().count("heartbeat") + 3)
    told = [len(r.slowPeers) for name, r in namenode.calls if name == "heartbeat"]
    assert sum(told) == 1


def test_what_is_cached_is_reported_with_heartbeats(
    namenode: FakeNamenode, start: Callable[..., Subject]
) -> None:
    subject = start(heartbeat_s=0.05, memory_bytes=4096)
    assert list(namenode.wait_for("cached").blocks) == []
    assert namenode.wait_for("heartbeat").cacheCapacity == 4096
    subject.cached.apply(CacheChanged(POOL, (5, 7), ()))
    subject.cached.apply(CacheChanged("BP-other", (9,), ()))
    subject.cached.apply(CacheChanged(POOL, (), (5,)))

    def last() -> list[int]:
        reported = [request for name, request in namenode.calls if name == "cached"]
        return list(reported[-1].blocks)

    wait_until(lambda: last() == [7], 20)


def test_a_datanode_without_memory_for_it_reports_no_cache(
    namenode: FakeNamenode, start: Callable[..., Subject]
) -> None:
    start(heartbeat_s=0.02)
    namenode.wait_for("heartbeat", 5)
    assert "cached" not in namenode.names()
