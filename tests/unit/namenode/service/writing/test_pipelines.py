"""What the namenode does while a client builds a pipeline anew (FS-126, FS-127)."""

from __future__ import annotations

import itertools
from typing import cast

import pytest

from howdah import errors
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.state.inodes.inodes import BlockState
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.rpc.service import Deferred
from howdah.testing.in_memory import InMemoryDatanode, InMemoryNamenode, outcome
from tests.support.namespaces.following import Follower

CLIENT = "DFSClient_1"
CLIENT_ID = b"0123456789abcdef"
LENGTH = 100
RETURN_MS = Settings("").stale_datanode_ms


class Writing:
    """A file with a block that is being written on three of some datanodes."""

    def __init__(self, nodes: int = 4, racks: tuple[str, ...] = ("/default-rack",)) -> None:
        self.namenode = InMemoryNamenode(Settings("", heartbeat_expiry_ms=10_000_000))
        self.nodes = [
            self.namenode.join(f"dn{n}", rack=racks[n % len(racks)]) for n in range(nodes)
        ]
        self.namenode.call(
            "create",
            pb.CreateRequestProto(
                src="/file",
                masked=types_pb2.FsPermissionProto(perm=0o644),
                clientName=CLIENT,
                createFlag=1,
                createParent=True,
                replication=3,
                blockSize=1 << 20,
            ),
        )
        answer = self.namenode.call(
            "addBlock", pb.AddBlockRequestProto(src="/file", clientName=CLIENT)
        )
        assert isinstance(answer, pb.AddBlockResponseProto)
        self.block = answer.block.b
        self.pipeline = [self.node(place.id.datanodeUuid) for place in answer.block.locs]
        for node in self.pipeline:
            node.store(self.block_id, self.stamp, 0, finalized=False)

    @property
    def block_id(self) -> int:
        return self.block.blockId

    @property
    def stamp(self) -> int:
        return self.block.generationStamp

    @property
    def others(self) -> list[InMemoryDatanode]:
        return [node for node in self.nodes if node not in self.pipeline]

    def node(self, uuid: str) -> InMemoryDatanode:
        return next(node for node in self.nodes if node.uuid == uuid)

    def new_stamp(self) -> int:
        answer = self.namenode.call(
            "updateBlockForPipeline",
            pb.UpdateBlockForPipelineRequestProto(block=self.block, clientName=CLIENT),
        )
        assert isinstance(answer, pb.UpdateBlockForPipelineResponseProto)
        return answer.block.b.generationStamp

    def additional(
        self,
        present: list[InMemoryDatanode],
        excluded: list[InMemoryDatanode] | None = None,
        *,
        client: str = CLIENT,
    ) -> list[InMemoryDatanode]:
        request = pb.GetAdditionalDatanodeRequestProto(
            src="/file",
            blk=self.block,
            existings=[info(node) for node in present],
            excludes=[info(node) for node in excluded or []],
            existingStorageUuids=[node.first_storage for node in present],
            numAdditionalNodes=1,
            clientName=client,
        )
        answer = self.namenode.call("getAdditionalDatanode", request)
        assert isinstance(answer, pb.GetAdditionalDatanodeResponseProto)
        assert answer.block.b == self.block
        assert len(answer.block.storageIDs) == len(answer.block.locs)
        return [self.node(place.id.datanodeUuid) for place in answer.block.locs]

    def update(
        self, stamp: int, nodes: list[InMemoryDatanode], length: int = LENGTH, call_id: int = -1
    ) -> None:
        new = types_pb2.ExtendedBlockProto()
        new.CopyFrom(self.block)
        new.generationStamp = stamp
        new.numBytes = length
        self.namenode.call(
            "updatePipeline",
            pb.UpdatePipelineRequestProto(
                clientName=CLIENT,
                oldBlock=self.block,
                newBlock=new,
                newNodes=[info(node).id for node in nodes],
                storageIDs=[node.first_storage for node in nodes],
            ),
            client_id=CLIENT_ID if call_id >= 0 else b"",
            call_id=call_id,
        )
        self.block = new

    def complete(self) -> pb.CompleteResponseProto | Deferred | None:
        self.block.numBytes = LENGTH
        answer = self.namenode.call(
            "complete", pb.CompleteRequestProto(src="/file", clientName=CLIENT, last=self.block)
        )
        return cast("pb.CompleteResponseProto | None", outcome(answer))

    def replicas(self) -> set[str]:
        block = self.namenode.namesystem.namespace.blocks[self.block_id]
        return {storage.node.identity.uuid for storage in block.replicas}

    def told_to_delete(self, node: InMemoryDatanode) -> list[tuple[int, int]]:
        """What the node is to delete, after a round of repair: (block id, stamp)."""
        self.namenode.tick()
        return [
            (block.blockId, block.genStamp)
            for command in node.heartbeat()
            for block in command.blkCmd.blocks
            if command.blkCmd.action == command.blkCmd.INVALIDATE
        ]


def info(node: InMemoryDatanode) -> types_pb2.DatanodeInfoProto:
    return types_pb2.DatanodeInfoProto(id=node.registration().datanodeID)


# --- another datanode ---


@pytest.mark.req("FS-127")
def test_an_additional_datanode_comes_after_those_that_are_there() -> None:
    writing = Writing()
    good = writing.pipeline[1:]
    assert writing.additional(good, [writing.pipeline[0]]) == [*good, *writing.others]


def test_an_additional_datanode_is_chosen_with_the_racks_of_the_present_ones() -> None:
    writing = Writing(nodes=6, racks=("/a", "/b"))
    first = writing.nodes[0]
    for _ in range(10):
        (_, new) = writing.additional([first])
        assert new in writing.nodes[1::2], "the second replica is on the other rack"


def test_where_no_datanode_is_left_the_client_gets_what_it_has() -> None:
    writing = Writing(nodes=3)
    good = writing.pipeline[1:]
    assert writing.additional(good, [writing.pipeline[0]]) == good


def test_only_the_writer_gets_an_additional_datanode() -> None:
    writing = Writing()
    with pytest.raises(errors.LeaseExpired):
        writing.additional(writing.pipeline[1:], client="somebody else")


def test_a_file_that_is_closed_gets_no_additional_datanode() -> None:
    writing = Writing()
    for node in writing.pipeline:
        node.store(writing.block_id, writing.stamp, LENGTH)
    assert writing.complete() is not None
    with pytest.raises(errors.LeaseExpired):
        writing.additional(writing.pipeline[1:])


def test_a_block_of_another_file_gets_no_additional_datanode() -> None:
    writing = Writing()
    writing.block.blockId += 1
    with pytest.raises(errors.RemoteError, match="not a block of /file"):
        writing.additional(writing.pipeline[1:])


# --- new stamps ---


@pytest.mark.req("FS-126")
def test_every_attempt_gets_a_stamp_of_its_own() -> None:
    writing = Writing()
    stamps = [writing.stamp, writing.new_stamp(), writing.new_stamp()]
    assert stamps == sorted(set(stamps))
    writing.update(stamps[2], writing.pipeline[1:])
    assert (
        writing.namenode.namesystem.namespace.blocks[writing.block_id].generation_stamp == stamps[2]
    )


@pytest.mark.req("FS-126")
def test_an_update_that_is_repeated_is_done_once() -> None:
    writing = Writing()
    stamp, old = writing.new_stamp(), writing.block
    writing.update(stamp, writing.pipeline[1:], call_id=7)
    written = len(writing.namenode.log)
    writing.block = old
    writing.update(stamp, writing.pipeline[1:], call_id=7)
    assert len(writing.namenode.log) == written


@pytest.mark.req("FS-126")
def test_an_update_that_is_repeated_after_a_restart_is_done_once() -> None:
    writing = Writing()
    stamp, old = writing.new_stamp(), writing.block
    writing.update(stamp, writing.pipeline[1:], call_id=7)
    writing.namenode = writing.namenode.restarted()
    for node in writing.nodes:
        node.namenode = writing.namenode
        node.register()
        node.heartbeat()
    writing.block = old
    writing.update(stamp, writing.pipeline[1:], call_id=7)
    assert writing.namenode.namesystem.namespace.blocks[writing.block_id].generation_stamp == stamp


@pytest.mark.parametrize("change", [-1, 0, 5])
def test_a_stamp_that_was_not_given_out_is_refused(change: int) -> None:
    writing = Writing()
    with pytest.raises(errors.RemoteError, match="to an older state"):
        writing.update(writing.stamp + change, writing.pipeline[1:])


def test_a_pipeline_does_not_shrink_the_block() -> None:
    writing = Writing()
    writing.update(writing.new_stamp(), writing.pipeline[1:], LENGTH)
    with pytest.raises(errors.RemoteError, match="never shrinks"):
        writing.update(writing.new_stamp(), writing.pipeline[1:], LENGTH - 1)


def test_a_pipeline_has_datanodes() -> None:
    writing = Writing()
    with pytest.raises(errors.RemoteError, match="has no datanodes"):
        writing.update(writing.new_stamp(), [])


@pytest.mark.req("FS-126")
def test_an_unknown_datanode_is_refused_when_it_had_the_time_to_register() -> None:
    writing = Writing()
    writing.namenode.clock.advance(RETURN_MS)
    stranger = InMemoryDatanode(writing.namenode, "stranger", "10.1.1.1", {"DS": {}})
    with pytest.raises(errors.UnregisteredNode, match="is not registered"):
        writing.update(writing.new_stamp(), [stranger])


@pytest.mark.req("FS-057", "FS-126")
def test_a_pipeline_that_is_older_than_the_active_namenode_waits_for_its_datanodes() -> None:
    """They beat to a new active within seconds; the stream goes on when they have."""
    writing = Writing()
    writing.namenode.clock.advance(RETURN_MS)
    writing.namenode.namesystem.become_active()
    late = InMemoryDatanode(writing.namenode, "late", "10.1.1.1", {"DS-late": {}})
    stamp = writing.new_stamp()
    with pytest.raises(errors.RetriableError, match=r"not registered; .* 30 s more to come back"):
        writing.update(stamp, [late], call_id=7)
    late.register()
    with pytest.raises(errors.RetriableError, match="has no storage DS-late; "):
        writing.update(stamp, [late], call_id=7)
    late.heartbeat()
    writing.update(stamp, [late], call_id=7)
    block = writing.namenode.namesystem.namespace.blocks[writing.block_id]
    assert block.generation_stamp == stamp


def test_a_datanode_that_was_declared_dead_may_still_be_in_a_pipeline() -> None:
    writing = Writing()
    writing.pipeline[1].known.alive = False
    writing.update(writing.new_stamp(), writing.pipeline[1:])


# --- replicas under old and new stamps ---


@pytest.mark.req("FS-126", "FS-131")
def test_the_stale_replica_of_a_datanode_that_only_was_slow_is_deleted() -> None:
    writing = Writing()
    slow, old = writing.pipeline[0], writing.stamp
    writing.update(writing.new_stamp(), writing.pipeline[1:])
    assert writing.told_to_delete(slow) == [(writing.block_id, old)]


@pytest.mark.req("FS-126", "FS-131")
def test_the_stale_replica_of_a_datanode_that_comes_back_is_deleted_when_good_ones_are_there() -> (
    None
):
    writing = Writing()
    back, *good = writing.pipeline
    replica = back.replicas[back.first_storage][writing.block_id]
    replica.finalized, replica.left_over = False, True
    old = writing.stamp
    writing.update(writing.new_stamp(), good)
    back.register()
    back.heartbeat()
    back.report()
    for node in [*good, *writing.others]:
        node.store(writing.block_id, writing.stamp, LENGTH)
    assert writing.complete() is not None
    assert writing.told_to_delete(back) == [(writing.block_id, old)]


@pytest.mark.req("FS-126")
def test_a_replica_of_an_attempt_that_failed_is_deleted_under_the_stamp_that_it_got() -> None:
    writing = Writing()
    unlucky, first_stamp = writing.pipeline[0], writing.new_stamp()
    unlucky.store(writing.block_id, first_stamp, 0, finalized=False)
    writing.update(writing.new_stamp(), writing.pipeline[1:])
    assert writing.told_to_delete(unlucky) == [(writing.block_id, first_stamp)]


@pytest.mark.req("FS-126")
def test_a_replica_that_is_final_before_the_update_counts_after_it() -> None:
    """A pipeline that is closed anew reports its replicas once, maybe before the client
    has told of their stamp."""
    writing = Writing()
    stamp = writing.new_stamp()
    for node in writing.pipeline[1:]:
        node.store(writing.block_id, stamp, LENGTH)
    assert writing.replicas() == set()
    writing.update(stamp, writing.pipeline[1:])
    assert writing.replicas() == {node.uuid for node in writing.pipeline[1:]}
    answer = writing.complete()
    assert isinstance(answer, pb.CompleteResponseProto)
    assert answer.result


def test_a_replica_that_is_final_under_the_old_stamp_does_not_count() -> None:
    writing = Writing()
    for node in writing.pipeline:
        node.store(writing.block_id, writing.stamp, LENGTH)
    assert len(writing.replicas()) == 3
    writing.update(writing.new_stamp(), writing.pipeline[1:])
    assert writing.replicas() == set()
    assert writing.complete() is None


@pytest.mark.req("FS-132")
def test_one_replica_is_enough_to_close_and_the_others_are_made() -> None:
    writing = Writing(nodes=5)
    survivor = writing.pipeline[2]
    writing.update(writing.new_stamp(), [survivor])
    survivor.store(writing.block_id, writing.stamp, LENGTH)
    assert writing.complete() is not None
    block = writing.namenode.namesystem.namespace.blocks[writing.block_id]
    assert block.state is BlockState.COMPLETE
    writing.namenode.tick()
    (command,) = survivor.heartbeat()
    (targets,) = command.blkCmd.targets
    assert len(targets.datanodes) == 2


def test_a_block_that_is_given_up_takes_replicas_of_unfinished_attempts_along() -> None:
    writing = Writing()
    stamp = writing.new_stamp()
    for node in writing.pipeline:
        node.store(writing.block_id, stamp, 0, finalized=False)
    writing.namenode.call(
        "abandonBlock", pb.AbandonBlockRequestProto(b=writing.block, src="/file", holder=CLIENT)
    )
    for node in writing.pipeline:
        assert writing.told_to_delete(node) == [(writing.block_id, stamp)]


# --- a standby keeps up, whichever way reports and edits cross ---


@pytest.fixture
def writing() -> Writing:
    return Writing()


@pytest.fixture
def follower(writing: Writing) -> Follower:
    """A standby that knows the pipeline, and to which all datanodes have reported."""
    follower = Follower(writing.namenode)
    namesystem = writing.namenode.namesystem
    block = namesystem.namespace.blocks[writing.block_id]
    namesystem.block_manager.blocks.allocated(block, block.expected)
    for node in writing.nodes:
        node.report()
    follower.check()
    return follower


@pytest.mark.parametrize("order", sorted(set(itertools.permutations("rrus"))))
def test_maps_are_equal_whether_reports_come_before_the_new_stamp_or_after(
    writing: Writing, follower: Follower, order: tuple[str, ...]
) -> None:
    """Two reports (r), the update (u) and the report of the node left behind (s)."""
    stamp = writing.new_stamp()
    kept, left = writing.pipeline[:2], writing.pipeline[2]
    reporting = iter(kept)
    for step in order:
        if step == "r":
            next(reporting).store(writing.block_id, stamp, LENGTH, finalized=False)
        elif step == "u":
            writing.update(stamp, kept)
        else:
            left.report()
        follower.check()
    left.heartbeat()
    left.report()
    follower.check()


def test_stale_replica_does_not_count_at_a_standby_that_nobody_told_of_the_pipeline(
    writing: Writing, follower: Follower
) -> None:
    stamp = writing.new_stamp()
    blocks = follower.standby.namesystem.block_manager.blocks
    vars(writing.namenode.namesystem.block_manager.blocks).pop(
        "new_pipeline"
    )  # It is not mirrored any more.
    for node in writing.pipeline[:2]:
        node.store(writing.block_id, stamp, LENGTH, finalized=False)
    writing.update(stamp, writing.pipeline[:2])
    block = follower.standby.namesystem.namespace.blocks[writing.block_id]
    held = {storage.node.identity.uuid for storage in blocks.holders(block)}
    assert held == {node.uuid for node in writing.pipeline[:2]}
    assert not blocks.knows_pipeline(block)
    assert block.state is BlockState.UNDER_CONSTRUCTION


def test_call_that_an_edit_carries_is_known_to_the_standby(
    writing: Writing, follower: Follower
) -> None:
    writing.update(writing.new_stamp(), writing.pipeline, call_id=7)
    answers = follower.standby.namesystem.retry_cache._answers
    assert [key[:16] for key in answers] == [CLIENT_ID]
