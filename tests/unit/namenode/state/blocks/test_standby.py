"""Blocks at a standby, and after it has become active."""

from __future__ import annotations

from typing import Any

import pytest

from howdah import errors
from howdah.formats.edits import edits
from howdah.formats.edits.codec import decode_record
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.state.blocks import pending_reports
from howdah.namenode.state.blocks.datanodes import Datanode, DatanodeIdentity, Storage
from howdah.namenode.state.blocks.pending_reports import (
    PostponedReports,
    ReplicaState,
    ReportedReplica,
)
from howdah.namenode.state.inodes.file_blocks import close_edit
from howdah.namenode.state.inodes.inodes import Block, BlockState
from howdah.namenode.state.tree import namespace
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import datanode_namenode_pb2 as dn
from howdah.proto import types_pb2
from howdah.testing.in_memory import (
    POOL_ID,
    InMemoryDatanode,
    InMemoryNamenode,
    ManualClock,
    replayed,
)

BLOCK_BYTES = 1024
LENGTH = 600
SETTINGS = Settings("", min_block_size_bytes=512, block_size_bytes=BLOCK_BYTES)
_States = dn.NNHAStatusHeartbeatProto


class Nameservice:
    """An active namenode and a standby that has read the first edit, with three datanodes."""

    def __init__(self, settings: Settings = SETTINGS, *, joins: bool = True) -> None:
        clock = ManualClock()
        self.active = InMemoryNamenode(settings, clock=clock)
        first = decode_record(self.active.log[0])
        self.standby = InMemoryNamenode(settings, namespace=replayed([first.edit]), clock=clock)
        self.standby.namesystem.last_txid = first.txid
        self.standby.namesystem.become_standby()
        self.nodes: list[tuple[InMemoryDatanode, InMemoryDatanode]] = []
        if joins:
            self.join()

    def join(self) -> None:
        self.tail()
        for name in ("dn0", "dn1", "dn2"):
            here = self.active.join(name)
            there = self.standby.join(name)
            there.replicas = here.replicas
            self.nodes.append((here, there))

    def tail(self, to_txid: int | None = None) -> None:
        namesystem = self.standby.namesystem
        for record in self.active.log[namesystem.last_txid : to_txid]:
            namesystem.follow(decode_record(record))
        if namesystem.last_txid == len(self.active.log):
            namesystem.caught_up()

    def write(self, path: str, replication: int = 3, *, closes: bool = True) -> Block:
        """A file of one block, whose replicas both are told of."""
        self.active.call(
            "create",
            pb.CreateRequestProto(
                src=path,
                masked=types_pb2.FsPermissionProto(perm=0o644),
                clientName="writer",
                createFlag=1,
                createParent=True,
                replication=replication,
                blockSize=BLOCK_BYTES,
            ),
        )
        self.active.call("addBlock", pb.AddBlockRequestProto(src=path, clientName="writer"))
        file: Any = self.active.namesystem.namespace.find(path)
        block: Block = file.blocks[-1]
        for storage in block.expected:
            self.store(storage.node.identity.uuid, block, block.generation_stamp)
        if closes:
            last = types_pb2.ExtendedBlockProto(
                poolId=POOL_ID,
                blockId=block.block_id,
                generationStamp=block.generation_stamp,
                numBytes=LENGTH,
            )
            self.active.call(
                "complete", pb.CompleteRequestProto(src=path, clientName="writer", last=last)
            )
        return block

    def store(self, uuid: str, block: Block, stamp: int) -> None:
        for faces in self.nodes:
            for face in faces:
                if face.uuid == uuid:
                    face.store(block.block_id, stamp, LENGTH)

    def fail_over(self) -> InMemoryNamenode:
        self.tail()
        namesystem = self.standby.namesystem
        namesystem.become_active()
        namesystem.commit(edits.StartLogSegmentOp())
        namesystem.safe_mode.leave(force=True)
        return self.standby

    def known(self, block: Block) -> Block:
        return self.standby.namesystem.namespace.blocks[block.block_id]


@pytest.fixture
def nameservice() -> Nameservice:
    return Nameservice()


def kinds(commands: list[dn.DatanodeCommandProto]) -> set[int]:
    return {command.cmdType for command in commands}


# --- postponed reports ---


@pytest.mark.req("FS-055", "FS-056")
def test_a_report_ahead_of_the_log_counts_when_its_edits_are_read(nameservice: Nameservice) -> None:
    block = nameservice.write("/f")
    assert len(nameservice.standby.namesystem.block_manager.blocks.postponed) == 3
    nameservice.tail()
    assert nameservice.known(block).state is BlockState.COMPLETE
    assert len(nameservice.known(block).replicas) == 3
    assert len(nameservice.standby.namesystem.block_manager.blocks.postponed) == 0


@pytest.mark.parametrize("txid", range(1, 8))
def test_a_report_counts_whichever_edit_of_its_block_was_read_before(
    nameservice: Nameservice, txid: int
) -> None:
    block = nameservice.write("/f")
    for _, face in nameservice.nodes:
        face.report()  # of the past
    nameservice.tail(txid)
    for _, face in nameservice.nodes:
        face.report()
    nameservice.tail()
    assert len(nameservice.known(block).replicas) == 3


def test_a_complete_block_is_appended_to_ahead_of_the_log(nameservice: Nameservice) -> None:
    block = nameservice.write("/f")
    nameservice.tail()
    nameservice.active.call("append", pb.AppendRequestProto(src="/f", clientName="w", flag=4))
    answer = nameservice.active.call(
        "updateBlockForPipeline",
        pb.UpdateBlockForPipelineRequestProto(
            block=types_pb2.ExtendedBlockProto(
                poolId=POOL_ID, blockId=block.block_id, generationStamp=block.generation_stamp
            ),
            clientName="w",
        ),
    )
    assert isinstance(answer, pb.UpdateBlockForPipelineResponseProto)
    stamp = answer.block.b.generationStamp
    for face, _ in nameservice.nodes:
        nameservice.store(face.uuid, block, stamp)
    assert len(nameservice.known(block).replicas) == 3, "those of before, for all it knows"
    old, new = answer.block.b, types_pb2.ExtendedBlockProto()
    new.CopyFrom(old)
    old.generationStamp, new.numBytes = block.generation_stamp, LENGTH
    nameservice.active.call(
        "updatePipeline",
        pb.UpdatePipelineRequestProto(
            clientName="w",
            oldBlock=old,
            newBlock=new,
            newNodes=[face.registration().datanodeID for face, _ in nameservice.nodes],
            storageIDs=[face.first_storage for face, _ in nameservice.nodes],
        ),
    )
    nameservice.tail()
    assert nameservice.known(block).generation_stamp == stamp
    assert len(nameservice.known(block).replicas) == 3
    assert not nameservice.known(block).corrupt


@pytest.mark.req("FS-055")
def test_what_a_dead_datanode_was_writing_is_not_corrupt_after_a_failover(
    nameservice: Nameservice,
) -> None:
    """Its client went on without it, and it does not come back."""
    block = nameservice.write("/f", closes=False)
    for faces in nameservice.nodes:
        for face in faces:
            face.drop(block.block_id)
            face.store(block.block_id, block.generation_stamp, LENGTH, finalized=False)
    nameservice.tail()
    dead, *others = nameservice.nodes
    for face in dead:
        face.namenode.namesystem.datanode_manager.lose(face.known)
    left = [face for face, _ in others]
    old = types_pb2.ExtendedBlockProto(
        poolId=POOL_ID,
        blockId=block.block_id,
        generationStamp=block.generation_stamp,
        numBytes=LENGTH,
    )
    answer = nameservice.active.call(
        "updateBlockForPipeline",
        pb.UpdateBlockForPipelineRequestProto(block=old, clientName="writer"),
    )
    assert isinstance(answer, pb.UpdateBlockForPipelineResponseProto)
    new = types_pb2.ExtendedBlockProto()
    new.CopyFrom(old)
    new.generationStamp = answer.block.b.generationStamp
    nameservice.active.call(
        "updatePipeline",
        pb.UpdatePipelineRequestProto(
            clientName="writer",
            oldBlock=old,
            newBlock=new,
            newNodes=[face.registration().datanodeID for face in left],
            storageIDs=[face.first_storage for face in left],
        ),
    )
    for face in left:
        nameservice.store(face.uuid, block, new.generationStamp)
    nameservice.active.call(
        "complete", pb.CompleteRequestProto(src="/f", clientName="writer", last=new)
    )
    standby = nameservice.fail_over()
    standby.tick(3000)
    assert len(nameservice.known(block).replicas) == 2
    assert nameservice.known(block).corrupt == ()
    assert standby.namesystem.block_manager.reconstruction.counts().corrupt == 0


@pytest.mark.parametrize("at", ["closed", "open"])
@pytest.mark.parametrize("lost", [1, 2, 3])
def test_a_stamp_that_no_edit_has_named_is_told_of(
    nameservice: Nameservice, lost: int, at: str
) -> None:
    """Who gave it out ended before it logged what came of it. The replica does not count under
    the old stamp, and it stays: it may be the last one."""
    active = nameservice.active
    block = nameservice.write("/f", closes=at == "closed")
    stamp = block.generation_stamp + 1
    active.namesystem.commit(edits.SetGenstampV2Op(stamp))
    for face, _ in nameservice.nodes[:lost]:
        face.store(block.block_id, stamp, LENGTH)
    if at == "open":
        assert len(active.namesystem.block_manager.blocks.postponed) == lost
        file: Any = active.namesystem.namespace.find("/f")
        blocks = (edits.EditBlock(block.block_id, LENGTH, block.generation_stamp),)
        active.namesystem.commit(close_edit(file, blocks, active.clock.wall_ms()))
        assert not len(active.namesystem.block_manager.blocks.postponed)
    assert len(block.corrupt) == lost
    assert len(block.replicas) == 3 - lost
    for face, _ in nameservice.nodes:
        ordered = [order for order in face.heartbeat() if order.HasField("blkCmd")]
        assert not [o for o in ordered if o.blkCmd.action == dn.BlockCommandProto.INVALIDATE]


def test_a_replica_that_is_deleted_again_waits_no_longer(nameservice: Nameservice) -> None:
    block = nameservice.write("/f")
    face = nameservice.nodes[0][1]
    face.drop(block.block_id)
    nameservice.tail()
    assert len(nameservice.known(block).replicas) == 2


def test_of_a_dead_datanode_nothing_waits(nameservice: Nameservice) -> None:
    nameservice.write("/f")
    namesystem = nameservice.standby.namesystem
    for _, face in nameservice.nodes[:2]:
        face.known.last_heartbeat_ms -= 10**6
    namesystem.tick()
    assert len(namesystem.block_manager.blocks.postponed) == 1


def test_no_more_reports_wait_than_there_is_room_for(
    nameservice: Nameservice, monkeypatch: pytest.MonkeyPatch
) -> None:
    namesystem = nameservice.standby.namesystem
    namesystem.block_manager.blocks.postponed = PostponedReports(limit=2)
    block = nameservice.write("/f")
    assert len(namesystem.block_manager.blocks.postponed) == 2
    nameservice.tail()
    late = next(face for _, face in nameservice.nodes if face.known.must_report)
    assert len(nameservice.known(block).replicas) == 2
    # It is told to register again, and its full report makes good what was refused.
    assert kinds(late.heartbeat()) == {dn.DatanodeCommandProto.RegisterCommand}
    late.register()
    late.heartbeat(wants_lease=True)
    late.report()
    assert len(nameservice.known(block).replicas) == 3
    assert not late.known.must_report


def test_the_latest_report_of_a_replica_takes_the_place_of_earlier_ones() -> None:
    postponed = PostponedReports(limit=1)
    node = Datanode(DatanodeIdentity("dn1", "10.0.0.1", "dn1", 1, 2, 3), "/rack", 0)
    storage = Storage("DS-1", 0, node)
    first = ReportedReplica(1, 0, 1001, ReplicaState.RBW)
    second = ReportedReplica(1, 10, 1001, ReplicaState.FINALIZED)
    assert postponed.put(storage, first)
    assert postponed.put(storage, second)
    assert not postponed.put(storage, ReportedReplica(2, 0, 1002, ReplicaState.RBW))
    assert list(postponed.take_all()) == [(storage, second)]
    assert len(postponed) == 0
    assert not postponed.at(storage)
    assert pending_reports.MAX_POSTPONED == 500_000


# --- roles ---


def test_heartbeats_tell_the_role_and_the_last_transaction(nameservice: Nameservice) -> None:
    nameservice.write("/f")
    here, there = nameservice.nodes[0]
    here.heartbeat()
    there.heartbeat()
    assert here.heard == _States(state=_States.ACTIVE, txid=len(nameservice.active.log))
    assert there.heard == _States(state=_States.STANDBY, txid=1)
    nameservice.fail_over()
    there.heartbeat()
    assert there.heard is not None
    assert there.heard.state == _States.ACTIVE
    assert there.heard.txid > here.heard.txid


def test_a_standby_orders_nothing(nameservice: Nameservice) -> None:
    nameservice.write("/f")
    nameservice.tail()
    nameservice.active.call("delete", pb.DeleteRequestProto(src="/f", recursive=False))
    nameservice.active.tick()
    nameservice.tail()
    for _, face in nameservice.nodes:
        face.report()
        assert not face.heartbeat()
        assert not face.known.pending_deletions


def test_a_standby_gives_no_lease_for_a_report_before_it_has_read_the_log() -> None:
    nameservice = Nameservice(joins=False)
    nameservice.active.join("dn0")
    nameservice.active.call("mkdirs", _mkdirs("/d"))
    face = nameservice.standby.join("dn0")
    face.heartbeat(wants_lease=True)
    assert not face.lease_id
    nameservice.tail()
    face.heartbeat(wants_lease=True)
    assert face.lease_id


def test_a_standby_stays_in_safe_mode_until_it_has_read_the_log_and_its_blocks_are_reported() -> (
    None
):
    nameservice = Nameservice(joins=False)
    safe_mode = nameservice.standby.namesystem.safe_mode
    block = None
    for number in range(3):
        face = nameservice.active.join(f"dn{number}")
        nameservice.nodes.append((face, face))
    block = nameservice.write("/f")
    there = [nameservice.standby.join(f"dn{number}") for number in range(3)]
    nameservice.standby.namesystem.tick()
    assert safe_mode.on, "it knows no block, but may have to"
    assert "edit log" in safe_mode.status()
    nameservice.tail()
    nameservice.standby.namesystem.tick()
    assert (safe_mode.on, safe_mode.total_blocks) == (True, 1)
    there[0].store(block.block_id, block.generation_stamp, LENGTH)
    nameservice.standby.clock.advance(30_000)
    nameservice.standby.namesystem.tick()
    assert not safe_mode.on


def test_attempts_of_recovery_begin_anew_and_no_result_of_an_earlier_one_counts(
    nameservice: Nameservice,
) -> None:
    block = nameservice.write("/f", closes=False)
    nameservice.active.call("fsync", pb.FsyncRequestProto(src="/f", client="writer"))
    nameservice.active.call(
        "recoverLease", pb.RecoverLeaseRequestProto(src="/f", clientName="other")
    )
    orders = [order for face, _ in nameservice.nodes for order in face.orders()]
    assert len(orders) == 1
    started = nameservice.fail_over()
    started.tick()
    for _, face in nameservice.nodes:
        assert kinds(face.heartbeat()) == {dn.DatanodeCommandProto.RegisterCommand}
        face.register()
        face.heartbeat(wants_lease=True)
        face.report()
    started.tick(100_000)
    later = [order for _, face in nameservice.nodes for order in face.orders()]
    assert len(later) == 1
    assert later[0].newGenStamp > orders[0].newGenStamp
    assert nameservice.known(block).state is BlockState.UNDER_CONSTRUCTION


# --- stale storages ---


def reports_in_full(face: InMemoryDatanode) -> None:
    face.heartbeat()
    face.register()
    face.heartbeat(wants_lease=True)
    face.report()


@pytest.mark.req("FS-063", "FS-070")
def test_no_replica_is_deleted_for_the_sake_of_one_that_was_not_reported_to_the_new_active(
    nameservice: Nameservice,
) -> None:
    block = nameservice.write("/f")
    request = pb.SetReplicationRequestProto(src="/f", replication=1)
    nameservice.active.call("setReplication", request)
    nameservice.active.tick()  # Two are ordered to go, and may be gone by now.
    started = nameservice.fail_over()
    started.tick()
    assert not any(node.invalidated for node in started.namesystem.datanode_manager.datanodes)
    face = nameservice.nodes[0][1]
    reports_in_full(face)
    started.tick()
    # One is there for sure, and stays; the others may go.
    assert block.block_id not in face.known.invalidated
    assert [len(node.invalidated) for node in started.namesystem.datanode_manager.datanodes] == [
        0,
        1,
        1,
    ]


def test_a_report_under_a_lease_of_before_is_no_answer_to_the_new_active(
    nameservice: Nameservice,
) -> None:
    nameservice.write("/f")
    nameservice.tail()
    _, face = nameservice.nodes[0]
    face.heartbeat(wants_lease=True)
    assert face.lease_id
    nameservice.fail_over()
    face.report()
    assert not any(storage.reported for storage in face.known.storages.values())
    assert face.known.must_report
    face.report()  # without a lease
    assert not any(storage.reported for storage in face.known.storages.values())
    reports_in_full(face)
    assert all(storage.reported for storage in face.known.storages.values())
    assert not face.known.must_report


@pytest.mark.req("FS-070")
def test_a_datanode_that_comes_later_and_reports_unasked_is_asked_to_report(
    nameservice: Nameservice,
) -> None:
    """It had no lease yet, as all were out; an operator had it report."""
    started = nameservice.fail_over()
    face = started.join("late")
    assert not any(storage.reported for storage in face.known.storages.values())
    assert kinds(face.heartbeat()) == {dn.DatanodeCommandProto.RegisterCommand}
    face.register()
    face.heartbeat(wants_lease=True)
    face.report()
    assert all(storage.reported for storage in face.known.storages.values())
    assert not face.heartbeat()


def test_a_new_active_asks_some_datanodes_at_a_time_for_their_reports() -> None:
    nameservice = Nameservice(
        Settings(
            "",
            min_block_size_bytes=512,
            block_size_bytes=BLOCK_BYTES,
            max_report_leases=2,
            report_lease_ms=10_000,
        )
    )
    nameservice.write("/f")
    started = nameservice.fail_over()
    faces = [face for _, face in nameservice.nodes]
    asked = [face for face in faces if face.heartbeat()]
    assert len(asked) == 2
    assert not asked[0].heartbeat(), "it was told"
    asked[0].register()
    asked[0].heartbeat(wants_lease=True)
    left = next(face for face in faces if face not in asked)
    assert kinds(left.heartbeat()) == {dn.DatanodeCommandProto.RegisterCommand}
    # One that did not follow is told again.
    started.clock.advance(10_000)
    assert kinds(asked[1].heartbeat()) == {dn.DatanodeCommandProto.RegisterCommand}


def test_whoever_becomes_a_standby_forgets_orders_and_pipelines(nameservice: Nameservice) -> None:
    block = nameservice.write("/f", closes=False)
    namesystem = nameservice.active.namesystem
    assert namesystem.block_manager.blocks.knows_pipeline(block)
    namesystem.become_standby()
    assert not namesystem.block_manager.blocks.knows_pipeline(block)
    assert len(block.expected) == 3, "where replicas were reported"
    assert namesystem.block_manager.reconstruction.pending_count == 0


def test_whoever_becomes_a_standby_asks_what_became_of_its_orders(
    nameservice: Nameservice,
) -> None:
    """A replica is taken out with the order to delete it. Where the order is dropped, the
    datanode keeps the replica, and would not tell of it before its next full report is due."""
    block, active = nameservice.write("/f"), nameservice.active
    active.call("setReplication", pb.SetReplicationRequestProto(src="/f", replication=1))
    active.tick()
    ordered = [face for face, _ in nameservice.nodes if face.known.invalidated]
    assert len(ordered) == 2
    assert len(block.replicas) == 1
    active.namesystem.become_standby()
    active.namesystem.caught_up()
    for face, _ in nameservice.nodes:
        asked = kinds(face.heartbeat()) == {dn.DatanodeCommandProto.RegisterCommand}
        assert asked is (face in ordered)
        if asked:
            face.register()
            face.heartbeat(wants_lease=True)
            face.report()
    assert len(block.replicas) == 3


def _mkdirs(path: str) -> pb.MkdirsRequestProto:
    return pb.MkdirsRequestProto(
        src=path, masked=types_pb2.FsPermissionProto(perm=0o755), createParent=True
    )


@pytest.mark.parametrize("is_active", [True, False])
def test_only_an_active_tells_datanodes_that_an_upgrade_is_final(
    nameservice: Nameservice, monkeypatch: pytest.MonkeyPatch, is_active: bool
) -> None:
    namenode = nameservice.active if is_active else nameservice.standby
    monkeypatch.setattr(namenode.datanode, "_is_upgrade_finalized", lambda: True)
    node = nameservice.nodes[0][0 if is_active else 1]
    answer = namenode.call(
        "blockReport",
        dn.BlockReportRequestProto(
            registration=node.registration(),
            blockPoolId=POOL_ID,
            context=dn.BlockReportContextProto(totalRpcs=1, curRpc=0, id=1),
        ),
    )
    assert isinstance(answer, dn.BlockReportResponseProto)
    assert answer.HasField("cmd") is is_active


# --- a truncation that is repeated ---


def truncated(namenode: InMemoryNamenode, *, retry_count: int = 0) -> bool:
    request = pb.TruncateRequestProto(src="/f", newLength=0, clientName="w")
    answer = namenode.call(
        "truncate", request, client_id=bytes(range(16)), call_id=7, retry_count=retry_count
    )
    assert isinstance(answer, pb.TruncateResponseProto)
    return answer.result


def append(nameservice: Nameservice, namenode: InMemoryNamenode) -> None:
    """Another client writes 600 bytes behind what is there."""
    namenode.call("append", pb.AppendRequestProto(src="/f", clientName="other", flag=4))
    answer = namenode.call("addBlock", pb.AddBlockRequestProto(src="/f", clientName="other"))
    assert isinstance(answer, pb.AddBlockResponseProto)
    block = namenode.namesystem.namespace.blocks[answer.block.b.blockId]
    for storage in block.expected:
        nameservice.store(storage.node.identity.uuid, block, block.generation_stamp)
    answer.block.b.numBytes = LENGTH
    request = pb.CompleteRequestProto(src="/f", clientName="other", last=answer.block.b)
    namenode.call("complete", request)


@pytest.mark.req("FS-055")
def test_a_truncation_that_is_repeated_at_the_next_active_takes_no_bytes_of_others(
    nameservice: Nameservice,
) -> None:
    """The active has made it, and ended before its answer arrived."""
    nameservice.write("/f")
    assert truncated(nameservice.active)
    fresh = nameservice.fail_over()
    append(nameservice, fresh)
    count = len(fresh.log)
    with pytest.raises(errors.RemoteError, match="has 600 bytes by now"):
        truncated(fresh, retry_count=2)
    assert len(fresh.log) == count
    assert truncated(fresh, retry_count=0), "a new call cuts"


def test_a_truncation_that_was_answered_once_more_is_no_reason_to_refuse_the_next(
    nameservice: Nameservice,
) -> None:
    nameservice.write("/f")
    assert truncated(nameservice.active)
    fresh = nameservice.fail_over()
    assert truncated(fresh, retry_count=1)
    append(nameservice, fresh)
    request = pb.TruncateRequestProto(src="/f", newLength=0, clientName="w")
    fresh.call("truncate", request, client_id=bytes(range(16)), call_id=8, retry_count=1)
    file: Any = fresh.namesystem.namespace.find("/f")
    assert file.length_bytes == 0


def test_the_oldest_truncations_are_forgotten(
    nameservice: Nameservice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(namespace, "_MAX_TRUNCATIONS", 2)
    ids = []
    for path in ("/a", "/b", "/c"):
        nameservice.write(path)
        request = pb.TruncateRequestProto(src=path, newLength=0, clientName="w")
        nameservice.active.call("truncate", request)
        inode = nameservice.active.namesystem.namespace.find(path)
        assert inode is not None
        ids.append(inode.inode_id)
    fresh = nameservice.fail_over()
    assert list(fresh.namesystem.namespace.truncations) == ids[1:]


def test_truncations_of_files_that_are_gone_are_forgotten(nameservice: Nameservice) -> None:
    nameservice.write("/d/a")
    nameservice.write("/b")
    for path in ("/d/a", "/b"):
        request = pb.TruncateRequestProto(src=path, newLength=0, clientName="w")
        nameservice.active.call("truncate", request)
    for path in ("/d", "/b"):
        nameservice.active.call("delete", pb.DeleteRequestProto(src=path, recursive=True))
    fresh = nameservice.fail_over().namesystem.namespace
    fresh.reap(100)
    assert not fresh.truncations


@pytest.mark.parametrize("change", [{"clientName": "another"}, {"newLength": 1}])
def test_a_repeated_truncation_is_refused_to_the_client_and_for_the_length_of_the_log_alone(
    nameservice: Nameservice, change: dict[str, Any]
) -> None:
    """Any other one was not made: it failed, or its namenode ended before."""
    nameservice.write("/f")
    assert truncated(nameservice.active)
    fresh = nameservice.fail_over()
    append(nameservice, fresh)
    fields: dict[str, Any] = {"src": "/f", "newLength": 0, "clientName": "w"} | change
    request = pb.TruncateRequestProto(**fields)
    fresh.call("truncate", request, client_id=bytes(range(16)), call_id=8, retry_count=1)
    file: Any = fresh.namesystem.namespace.find("/f")
    assert file.length_bytes == request.newLength


def test_a_truncation_that_is_repeated_at_the_next_active_is_answered_if_nobody_wrote(
    nameservice: Nameservice,
) -> None:
    nameservice.write("/f")
    assert truncated(nameservice.active)
    fresh = nameservice.fail_over()
    count = len(fresh.log)
    assert truncated(fresh, retry_count=1)
    append(nameservice, fresh)
    assert truncated(fresh, retry_count=2), "the first answer again"
    file: Any = fresh.namesystem.namespace.find("/f")
    assert file.length_bytes == LENGTH
    assert len(fresh.log) > count


def test_a_truncation_that_was_answered_here_is_no_reason_to_refuse_a_repeated_one(
    nameservice: Nameservice,
) -> None:
    nameservice.write("/f")
    active = nameservice.active
    assert truncated(active)
    append(nameservice, active)
    assert truncated(active, retry_count=1), "the first answer again"
    request = pb.TruncateRequestProto(src="/f", newLength=0, clientName="w")
    answer = active.call("truncate", request, client_id=bytes(range(16)), call_id=8, retry_count=1)
    assert isinstance(answer, pb.TruncateResponseProto)
    assert answer.result
    file: Any = active.namesystem.namespace.find("/f")
    assert file.length_bytes == 0
