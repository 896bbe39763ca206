"""Recoveries under any interleaving of writers, deaths, restarts, attempts and results.

The namenode is the real one. Its datanodes are facts and bytes in dicts, but what a
primary makes of the answers that it gets is the real datanode's `agree`. The steps of an
attempt (ask, set, tell) may come apart, come twice, be overtaken by other attempts, or
stop half-way. Whatever happens

- what a writer was told is safe is there when the file is closed;
- all replicas that count are alike;
- generation stamps never go back;
- left in peace, every file is closed.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from howdah import errors
from howdah.datanode.state.block_recovery import Agreement, Candidate, agree
from howdah.datanode.state.messages import RecoverBlock
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.state.inodes.inodes import Block, BlockState, File
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import datanode_namenode_pb2 as dn
from howdah.proto import types_pb2
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock
from howdah.testing.in_memory import POOL_ID, InMemoryDatanode, InMemoryNamenode, Replica
from tests.support.torture import times

NODES = 3
BLOCK_BYTES = 1024

nodes = st.integers(0, NODES - 1)
subsets = st.sets(nodes, min_size=1)
picks = st.integers(0, 1000)


@dataclass
class Written:
    """A file, and what its writer knows. `acked` must never be lost."""

    path: str
    writer: str = ""
    content: bytes = b""
    acked: bytes = b""
    told: bool = False
    stamp: int = 0
    members: list[InMemoryDatanode] = field(default_factory=list)


@dataclass
class Attempt:
    """An order, as far as it has come."""

    primary: InMemoryDatanode
    order: dn.RecoveringBlockProto
    agreement: Agreement | None = None
    length: int = 0
    targets: list[InMemoryDatanode] | None = None


class RecoveryMachine(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        self.namenode = InMemoryNamenode(
            Settings(
                "",
                min_block_size_bytes=512,
                block_size_bytes=BLOCK_BYTES,
                heartbeat_expiry_ms=60_000,
                lease_recheck_ms=1000,
                block_recovery_timeout_ms=30_000,
            )
        )
        self.nodes = [self.namenode.join(f"dn{number}") for number in range(NODES)]
        self.down: set[str] = set()
        self.bytes: dict[tuple[str, int], bytes] = {}
        # The recovery that each replica is under: forgotten when its datanode restarts.
        self.promised: dict[tuple[str, int], int] = {}
        self.files: list[Written] = []
        self.attempts: list[Attempt] = []
        self.stamps: dict[int, int] = {}
        self.numbers = itertools.count(1)
        self.letters = itertools.cycle(range(1, 256))
        self.create(0)
        (first,) = self.files
        first.content = b"abc"
        self.flush(0, tell=True)

    # Looking.

    def inode(self, file: Written) -> File:
        found = self.namenode.namesystem.namespace.find(file.path)
        assert isinstance(found, File)
        return found

    def last(self, file: Written) -> Block | None:
        blocks = self.inode(file).blocks
        return blocks[-1] if blocks else None

    def pick(self, number: int, *, is_open: bool) -> Written | None:
        found = [f for f in self.files if self.inode(f).under_construction == is_open]
        return found[number % len(found)] if found else None

    def replica(self, node: InMemoryDatanode, block_id: int) -> Replica | None:
        return node.replicas[node.first_storage].get(block_id)

    def named(self, block: Block, stamp: int, length: int) -> types_pb2.ExtendedBlockProto:
        return types_pb2.ExtendedBlockProto(
            poolId=POOL_ID, blockId=block.block_id, generationStamp=stamp, numBytes=length
        )

    def is_whole(self, file: Written) -> bool:
        """Does the writer's pipeline stand?"""
        block = self.last(file)
        if not file.writer or block is None or not file.members:
            return False
        for node in file.members:
            found = self.replica(node, block.block_id)
            if (
                node.uuid in self.down
                or found is None
                or found.finalized
                or found.left_over
                or found.generation_stamp != file.stamp
                or (node.uuid, block.block_id) in self.promised
            ):
                return False
        return True

    # Writers.

    @rule(number=picks)
    def create(self, number: int) -> None:
        if len(self.files) >= 3 or len(self.down) == NODES:
            return
        serial = next(self.numbers)
        file = Written(f"/f{serial}", f"DFSClient_{serial}")
        self.namenode.call(
            "create",
            pb.CreateRequestProto(
                src=file.path,
                masked=types_pb2.FsPermissionProto(perm=0o644),
                clientName=file.writer,
                createFlag=1,
                createParent=True,
                replication=NODES,
                blockSize=BLOCK_BYTES,
            ),
        )
        self.files.append(file)
        try:
            answer = self.namenode.call(
                "addBlock", pb.AddBlockRequestProto(src=file.path, clientName=file.writer)
            )
        except errors.RemoteError:
            return  # The namenode knows of no datanode.
        assert isinstance(answer, pb.AddBlockResponseProto)
        told = {place.id.datanodeUuid for place in answer.block.locs}
        members = [node for node in self.nodes if node.uuid in told]
        file.stamp = answer.block.b.generationStamp
        if any(node.uuid in self.down for node in members):
            return  # The writer comes to grief at once.
        file.members = members
        for node in members:
            self.bytes[node.uuid, answer.block.b.blockId] = b""
            node.store(answer.block.b.blockId, file.stamp, 0, finalized=False)

    @rule(number=picks, data=st.data())
    def write(self, number: int, data: st.DataObject) -> None:
        """Some of it comes to each datanode, less the further down the pipeline."""
        file = self.pick(number, is_open=True)
        if file is None or not self.is_whole(file) or len(file.content) > 40:
            return
        block = self.last(file)
        assert block is not None
        file.content += bytes([next(self.letters)] * data.draw(st.integers(1, 3)))
        reach = len(file.content)
        for node in file.members:
            held = self.bytes[node.uuid, block.block_id]
            reach = data.draw(st.integers(len(held), max(len(held), reach)))
            self.set_bytes(node, block.block_id, file.content[:reach])

    def set_bytes(self, node: InMemoryDatanode, block_id: int, content: bytes) -> None:
        self.bytes[node.uuid, block_id] = content
        found = self.replica(node, block_id)
        assert found is not None
        found.length_bytes = len(content)

    @rule(number=picks, tell=st.booleans())
    def flush(self, number: int, tell: bool) -> None:
        file = self.pick(number, is_open=True)
        if file is None or not self.is_whole(file) or not file.content:
            return
        block = self.last(file)
        assert block is not None
        for node in file.members:
            self.set_bytes(node, block.block_id, file.content)
        if tell or not file.told:
            request = pb.FsyncRequestProto(
                src=file.path, client=file.writer, lastBlockLength=len(file.content)
            )
            try:
                self.namenode.call("fsync", request)
            except errors.LeaseExpired:
                return  # The writer is told that its flush has failed.
        file.told = True
        file.acked = file.content

    @rule(number=picks)
    def close(self, number: int) -> None:
        file = self.pick(number, is_open=True)
        if file is None or not self.is_whole(file):
            return
        block = self.last(file)
        assert block is not None
        for node in file.members:
            self.set_bytes(node, block.block_id, file.content)
            node.store(block.block_id, file.stamp, len(file.content))
        request = pb.CompleteRequestProto(
            src=file.path,
            clientName=file.writer,
            last=self.named(block, file.stamp, len(file.content)),
        )
        writer, file.writer = file.writer, ""
        try:
            answer = self.namenode.call("complete", request)
        except (errors.LeaseExpired, errors.RemoteError):
            assert self.inode(file).writer != writer, "only another holder is a reason"
            return
        assert isinstance(answer, pb.CompleteResponseProto), "all replicas are reported"
        assert answer.result
        file.acked = file.content

    @rule(number=picks)
    def append(self, number: int) -> None:
        file = self.pick(number, is_open=False)
        if file is None or not file.content:
            return
        file.writer = f"DFSClient_{next(self.numbers)}"
        try:
            self.namenode.call(
                "append", pb.AppendRequestProto(src=file.path, clientName=file.writer, flag=4)
            )
        except errors.RemoteError:
            file.writer = ""
            return  # Its last block has too few replicas at present.
        block = self.last(file)
        assert block is not None
        file.members = [
            node
            for node in self.nodes
            if node.uuid not in self.down
            and any(storage.node is node.known for storage in block.expected)
        ]
        file.told = False
        old = self.named(block, block.generation_stamp, block.length_bytes)
        answer = self.namenode.call(
            "updateBlockForPipeline",
            pb.UpdateBlockForPipelineRequestProto(block=old, clientName=file.writer),
        )
        assert isinstance(answer, pb.UpdateBlockForPipelineResponseProto)
        file.stamp = answer.block.b.generationStamp
        for node in file.members:
            node.store(block.block_id, file.stamp, len(file.content), finalized=False)
        if not file.members:
            return
        self.namenode.call(
            "updatePipeline",
            pb.UpdatePipelineRequestProto(
                clientName=file.writer,
                oldBlock=old,
                newBlock=self.named(block, file.stamp, len(file.content)),
                newNodes=[node.registration().datanodeID for node in file.members],
                storageIDs=[node.first_storage for node in file.members],
            ),
        )

    @rule(number=picks, data=st.data())
    def truncate(self, number: int, data: st.DataObject) -> None:
        file = self.pick(number, is_open=False)
        if file is None or not file.content:
            return
        length = data.draw(st.integers(1, len(file.content)))
        request = pb.TruncateRequestProto(
            src=file.path, newLength=length, clientName=f"DFSClient_{next(self.numbers)}"
        )
        self.namenode.call("truncate", request)
        file.writer = ""
        file.content = file.acked = file.content[:length]

    @rule(number=picks)
    def recover_lease(self, number: int) -> None:
        file = self.pick(number, is_open=True)
        if file is not None:
            self.namenode.call(
                "recoverLease", pb.RecoverLeaseRequestProto(src=file.path, clientName="x")
            )
            self.time_passes(0)

    # Datanodes.

    @rule(number=nodes)
    def die(self, number: int) -> None:
        node = self.nodes[number]
        self.down.add(node.uuid)

    @rule(number=nodes)
    def only_one_is_left(self, number: int) -> None:
        for other in range(NODES):
            if other != number:
                self.die(other)

    @rule(number=nodes)
    def come_back(self, number: int) -> None:
        """After a death, or after a restart that nobody noticed."""
        node = self.nodes[number]
        self.down.discard(node.uuid)
        for block_id, replica in node.replicas[node.first_storage].items():
            replica.left_over = not replica.finalized
            self.promised.pop((node.uuid, block_id), None)
        self.attempts = [a for a in self.attempts if a.primary is not node]
        node.register()
        self.beat(node)
        node.report()

    @rule(number=nodes, left=st.integers(0, 3))
    def power_cut(self, number: int, left: int) -> None:
        """Bytes that were flushed and not synced are gone here, where others have them."""
        node = self.nodes[number]
        for file in self.files:
            block = self.last(file)
            replica = self.replica(node, block.block_id) if block is not None else None
            if block is None or replica is None or replica.finalized:
                continue
            stamp = max(file.stamp, block.generation_stamp)
            others = [
                other
                for other in self.nodes
                if other is not node
                and (held := self.replica(other, block.block_id)) is not None
                and held.generation_stamp >= stamp
                and self.bytes[other.uuid, block.block_id].startswith(file.acked)
            ]
            if others:
                held_here = self.bytes[node.uuid, block.block_id]
                self.set_bytes(node, block.block_id, held_here[:left])
        self.come_back(number)

    @rule(number=nodes)
    def heartbeat(self, number: int) -> None:
        node = self.nodes[number]
        if node.uuid not in self.down:
            self.beat(node)

    def beat(self, node: InMemoryDatanode) -> None:
        for command in node.heartbeat():
            self.attempts += [Attempt(node, order) for order in command.recoveryCmd.blocks]
            if command.blkCmd.action == dn.BlockCommandProto.INVALIDATE:
                for told in command.blkCmd.blocks:
                    self.invalidate(node, told)

    def invalidate(self, node: InMemoryDatanode, told: types_pb2.BlockProto) -> None:
        replica = self.replica(node, told.blockId)
        if replica is None or replica.generation_stamp != told.genStamp:
            return
        node.drop(told.blockId)
        self.promised.pop((node.uuid, told.blockId), None)

    @rule()
    def restart_namenode(self) -> None:
        fresh = self.namenode.restarted()
        fresh.nodes = self.nodes
        self.namenode = fresh
        for node in self.nodes:
            node.namenode = fresh
            if node.uuid not in self.down:
                node.register()
                node.heartbeat()
                node.report()
        fresh.namesystem.safe_mode.leave()

    @rule(ms=st.sampled_from([0, 1000, 31_000, 70_000]))
    def time_passes(self, ms: int) -> None:
        self.namenode.clock.advance(ms)
        for node in self.nodes:
            if node.uuid not in self.down:
                self.beat(node)
        self.namenode.tick()

    # The steps of an attempt, each of which may be the last.

    def attempt(self, number: int) -> Attempt | None:
        running = [a for a in self.attempts if a.primary.uuid not in self.down]
        return running[number % len(running)] if running else None

    @rule(number=picks, reached=subsets)
    def ask(self, number: int, reached: set[int]) -> None:
        attempt = self.attempt(number)
        if attempt is not None:
            self.take(attempt, [self.nodes[n] for n in reached])

    def take(self, attempt: Attempt, reached: list[InMemoryDatanode]) -> None:
        order = attempt.order
        named = order.block.b
        answers: dict[DatanodeAddress, Candidate | Exception | None] = {}
        for place in order.block.locs:
            node = next(n for n in self.nodes if n.uuid == place.id.datanodeUuid)
            answers[address(node)] = (
                self.answer(node, named, order.newGenStamp)
                if node in reached and node.uuid not in self.down
                else errors.Unreachable(node.uuid)
            )
        cut = order.truncateBlock
        told = RecoverBlock(
            ExtendedBlock(POOL_ID, named.blockId, named.generationStamp, named.numBytes),
            order.newGenStamp,
            tuple(answers),
            ExtendedBlock(POOL_ID, cut.blockId, cut.genStamp, cut.numBytes)
            if order.HasField("truncateBlock")
            else None,
        )
        try:
            attempt.agreement = agree(told, answers)
        except (errors.RecoveryInProgress, errors.RemoteError):
            attempt.agreement = None

    def answer(
        self, node: InMemoryDatanode, named: types_pb2.ExtendedBlockProto, recovery_id: int
    ) -> Candidate | Exception | None:
        replica = self.replica(node, named.blockId)
        if replica is None:
            return None
        if (
            self.promised.get((node.uuid, named.blockId), 0) >= recovery_id
            or replica.generation_stamp >= recovery_id
        ):
            return errors.RecoveryInProgress(node.uuid)
        if replica.generation_stamp < named.generationStamp:
            return errors.ReplicaNotFound(node.uuid)
        self.promised[node.uuid, named.blockId] = recovery_id
        state = ReplicaState[replica.state.name]
        return Candidate(named.blockId, replica.generation_stamp, replica.length_bytes, state)

    @rule(number=picks, reached=subsets)
    def set_replicas(self, number: int, reached: set[int]) -> None:
        attempt = self.attempt(number)
        if attempt is not None:
            self.settle(attempt, [self.nodes[n] for n in reached])

    def settle(self, attempt: Attempt, reached: list[InMemoryDatanode]) -> None:
        agreement = attempt.agreement
        if agreement is None:
            return
        block_id, recovery_id = agreement.block.block_id, attempt.order.newGenStamp
        length = agreement.block.length_bytes
        done = []
        for place, one in agreement.participants.items():
            node = next(n for n in self.nodes if n.uuid == place.uuid)
            replica = self.replica(node, block_id)
            if (
                node in reached
                and node.uuid not in self.down
                and replica is not None
                and replica.length_bytes == one.length_bytes
                and self.promised.get((node.uuid, block_id)) == recovery_id
            ):
                content = self.bytes[node.uuid, block_id][:length]
                self.bytes[node.uuid, block_id] = content
                node.store(block_id, recovery_id, length)
                done.append(node)
        if done or not agreement.participants:
            attempt.targets, attempt.length = done, length
        attempt.agreement = None

    @rule(number=picks)
    def tell(self, number: int) -> None:
        attempt = self.attempt(number)
        if attempt is not None:
            self.commit(attempt)

    def commit(self, attempt: Attempt) -> None:
        """As often as one likes."""
        if attempt.targets is None:
            return
        try:
            attempt.primary.commit(
                attempt.order,
                attempt.length,
                attempt.targets,
                delete_block=not attempt.targets,
            )
        except (errors.RemoteError, errors.PathNotFound):
            return

    @rule(number=picks, reached=subsets)
    def attempt_that_is_not_told(self, number: int, reached: set[int]) -> None:
        attempt = self.attempt(number)
        if attempt is not None:
            self.take(attempt, self.nodes)
            self.settle(attempt, [self.nodes[n] for n in reached])

    @rule(number=picks)
    def whole_attempt(self, number: int) -> None:
        attempt = self.attempt(number)
        if attempt is not None:
            for step in (self.take, self.settle):
                step(attempt, self.nodes)
            self.commit(attempt)

    # What must always hold.

    @invariant()
    def stamps_never_go_back(self) -> None:
        for block in self.namenode.namesystem.namespace.blocks.values():
            assert block.generation_stamp >= self.stamps.get(block.block_id, 0)
            self.stamps[block.block_id] = block.generation_stamp

    @invariant()
    def replicas_that_count_are_alike_and_have_what_was_acknowledged(self) -> None:
        for file in self.files:
            block = self.last(file)
            if self.inode(file).under_construction:
                continue
            if block is None:
                assert file.acked == b""
                file.content = b""
                continue
            assert block.state is BlockState.COMPLETE
            contents = set()
            for storage in block.replicas:
                node = next(n for n in self.nodes if n.uuid == storage.node.identity.uuid)
                replica = self.replica(node, block.block_id)
                assert replica is not None
                assert replica.finalized
                assert replica.generation_stamp == block.generation_stamp
                contents.add(self.bytes[node.uuid, block.block_id])
            for content in contents:
                assert len(content) == block.length_bytes
                assert content.startswith(file.acked)
                file.content = file.acked = content
            assert len(contents) <= 1

    @invariant()
    def no_length_is_told_that_cannot_be_read(self) -> None:
        for file in self.files:
            block = self.last(file)
            if block is not None and file.writer and not block.truncating:
                assert block.length_bytes <= max(len(file.content), len(file.acked))

    def teardown(self) -> None:
        """Left in peace, every file is closed that nobody writes."""
        if not hasattr(self, "namenode"):
            return
        for number in range(NODES):
            self.come_back(number)
        for _ in range(12):
            waiting = [f for f in self.files if self.inode(f).under_construction]
            if not waiting:
                break
            for file in waiting:
                self.namenode.call(
                    "recoverLease", pb.RecoverLeaseRequestProto(src=file.path, clientName="x")
                )
            self.attempts = []
            self.time_passes(31_000)
            for number in range(len(self.attempts)):
                self.whole_attempt(number)
        assert not [f.path for f in self.files if self.inode(f).under_construction]
        self.replicas_that_count_are_alike_and_have_what_was_acknowledged()
        # The full report that comes from time to time: of a stale replica that is reported
        # while its block is written to elsewhere, nobody keeps a note.
        for node in self.nodes:
            node.report()
        for _ in range(4):
            self.time_passes(1000)
        for file in self.files:
            block = self.last(file)
            if block is not None:
                counting = {storage.node.identity.uuid for storage in block.replicas}
                there = {n.uuid for n in self.nodes if self.replica(n, block.block_id)}
                assert there == counting or not block.replicas, "the others are deleted"


def address(node: InMemoryDatanode) -> Any:
    return DatanodeAddress(node.ip, node.ip, node.uuid, 9866)


QUICK = settings(
    max_examples=40,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestRecovery = RecoveryMachine.TestCase
TestRecovery.settings = QUICK


@pytest.mark.torture
@pytest.mark.timeout(3600)
def test_long_interleavings() -> None:
    run_state_machine_as_test(
        RecoveryMachine, settings=settings(QUICK, max_examples=times(150), stateful_step_count=80)
    )
