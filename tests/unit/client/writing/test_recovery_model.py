"""The write pipeline's state machine against datanodes and a namenode that fail at will.

What the strategy may dream up, in any order: packets of any size with and without an
order to sync, that overlap what was sent before; acks late, twice, for packets that
were never sent, and by nodes that say that they are slow; datanodes that die, come
back, announce a restart, and are still there or not; connections that break; a
namenode that has other datanodes, or none; and time.

What must hold whatever comes: see the invariants at the end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Set
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from howdah import errors
from howdah.client.state.blocks import LocatedBlock
from howdah.client.state.writing.actions import Abandon, Allocate, Connect, Replace, Send
from howdah.client.state.writing.packetizer import OutgoingPacket
from howdah.client.state.writing.phases import Phase
from howdah.client.state.writing.pipeline import Pipeline
from howdah.client.state.writing.pipeline_rules import PipelineRules, Policy, ReplacementPolicy
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock
from howdah.protocol.data_transfer.op_requests import Stage
from howdah.protocol.data_transfer.packets import HEARTBEAT_SEQNO, UNKNOWN_SEQNO, PipelineAck
from howdah.protocol.data_transfer.status import Status
from tests.support.torture import times

NODES = tuple(
    DatanodeAddress(f"127.0.0.{index}", f"dn{index}", f"uuid{index}", 9866) for index in range(6)
)
LOCAL = frozenset((NODES[1], NODES[4]))
SLOW_ACKS = 2
MAX_ACTIONS = 200
"""More than any sequence of failures can need before the machine settles."""


@dataclass
class Replica:
    """What one datanode has of the current block."""

    stamp: int
    data: bytearray = field(default_factory=bytearray)
    finalized: bool = False
    synced_bytes: int = 0


class RecoveryModel(RuleBasedStateMachine):
    """Replicas take packets at offsets; a recovery cuts them to what was acknowledged."""

    @initialize(
        policy=st.sampled_from(Policy),
        best_effort=st.booleans(),
        min_replication=st.integers(0, 2),
        retries=st.integers(0, 3),
        patience_s=st.sampled_from((0.0, 5.0)),
        appended=st.binary(max_size=9),
    )
    def begin(
        self,
        policy: Policy,
        best_effort: bool,
        min_replication: int,
        retries: int,
        patience_s: float,
        appended: bytes,
    ) -> None:
        self.now_s = 0.0
        self.block_id = self.stamp = 1
        self.replicas: dict[DatanodeAddress, Replica] = {}
        self.dead: set[DatanodeAddress] = set()
        self.blocks: list[bytes] = []
        self.expected: list[bytes] = []
        self.content = bytearray(appended)
        self.flushed = len(appended)
        self.packets: list[OutgoingPacket] = []
        self.stamps_seen: dict[int, int] = {}
        self.sent_now: deque[int] = deque()
        self.acked_seqno = -1
        self.used_stamps = [0]
        self.written = 0
        block = None
        if appended:
            block = self.locate(NODES[:3], len(appended))
            self.replicas = {node: Replica(1, bytearray(appended)) for node in NODES[:3]}
        self.machine = Pipeline(
            "/f",
            PipelineRules(
                setup_retries=2,
                recovery_retries=retries,
                replacement=ReplacementPolicy(policy, best_effort, min_replication),
                restart_timeout_s=patience_s,
                is_local=LOCAL.__contains__,
                slow_acks=SLOW_ACKS,
            ),
            appended=block,
        )

    def locate(self, nodes: tuple[DatanodeAddress, ...], length: int = 0) -> LocatedBlock:
        return LocatedBlock(ExtendedBlock("BP", self.block_id, self.stamp, length), 0, nodes)

    def healthy(self) -> bool:
        return self.machine.error is None

    def nodes(self) -> tuple[DatanodeAddress, ...]:
        assert self.machine.block is not None
        return self.machine.block.nodes

    # --- the writer -----------------------------------------------------------------

    @precondition(healthy)
    @rule(size=st.integers(0, 9), again=st.integers(0, 3), sync=st.booleans())
    def write(self, size: int, again: int, sync: bool) -> None:
        """A packet, which may begin with bytes that were sent before."""
        if not size and not (sync and self.content):
            return
        start = max(len(self.content) - again, self.flushed) if size else len(self.content)
        self.content += bytes((self.written + each) % 251 for each in range(size))
        self.written += size
        self.enqueue(OutgoingPacket(start, bytes(self.content[start:]), b"", sync_block=sync))

    @precondition(lambda self: self.healthy() and self.content)
    @rule(sync=st.booleans())
    def end_block(self, sync: bool) -> None:
        self.enqueue(
            OutgoingPacket(len(self.content), b"", b"", last_in_block=True, sync_block=sync)
        )
        self.expected.append(bytes(self.content))
        self.content.clear()
        self.flushed = 0

    @precondition(healthy)
    @rule()
    def flush(self) -> None:
        self.machine.flushed(self.machine.queues.last_queued_seqno)

    def enqueue(self, packet: OutgoingPacket) -> None:
        assert self.machine.enqueue(packet) == len(self.packets)
        self.packets.append(packet)

    # --- what the machine asks for ----------------------------------------------------

    @rule(node=st.sampled_from(NODES))
    def a_node_dies(self, node: DatanodeAddress) -> None:
        self.dead.add(node)

    @rule(node=st.sampled_from(NODES))
    def a_node_is_back(self, node: DatanodeAddress) -> None:
        """With its replicas, and whatever stamp they had."""
        self.dead.discard(node)

    @rule(
        dead=st.sets(st.sampled_from(NODES), max_size=2),
        spares=st.booleans(),
        restarts=st.booleans(),
    )
    def step(self, dead: set[DatanodeAddress], spares: bool, restarts: bool) -> None:
        """One action, while `dead` nodes don't answer, or say that they restart."""
        self.bad_says_restart = restarts
        action = self.machine.next_action(self.now_s)
        match action:
            case Allocate():
                assert not self.sent_now
                self.block_id += 1
                self.stamp += 1
                self.used_stamps.append(self.stamp)
                left = [node for node in NODES if node not in action.excluded]
                self.replicas = {}
                if len(left) < 3:
                    self.machine.fail(errors.RemoteError("no nodes"))
                else:
                    self.machine.allocated(self.locate(tuple(left[:3])))
            case Connect():
                self.connect(action, dead | self.dead)
            case Replace():
                self.replace(action, dead | self.dead, spares)
            case Send(packets):
                for each in packets:
                    assert each.packet is self.packets[each.seqno]
                    assert each.seqno == self.acked_seqno + 1 + len(self.sent_now)
                    assert not (each.packet.last_in_block and self.sent_now)
                    self.sent_now.append(each.seqno)
            case _:
                return

    def connect(self, action: Connect, dead: set[DatanodeAddress]) -> None:
        block = action.block
        assert not self.sent_now
        self.stamp += 1 if action.renews else 0
        fresh = block.with_block(block.block.with_generation_stamp(self.stamp))
        if action.renews:
            assert self.stamp > self.used_stamps[-1]
            self.used_stamps.append(self.stamp)
        bad = next((node for node in block.nodes if node in dead), None)
        # Nodes in front of the bad one have taken the new stamp by then.
        reached = block.nodes[: block.nodes.index(bad)] if bad else block.nodes
        for node in reached:
            if action.stage is Stage.PIPELINE_SETUP_CREATE:
                self.replicas[node] = Replica(self.stamp)
                continue
            replica = self.replicas[node]
            assert block.block.generation_stamp <= replica.stamp < self.stamp
            assert block.length_bytes <= len(replica.data) <= action.sent_bytes
            assert not replica.finalized or action.only_finalizes
            del replica.data[block.length_bytes :]
            replica.synced_bytes = min(replica.synced_bytes, len(replica.data))
            replica.stamp = self.stamp
            replica.finalized = action.only_finalizes
        if bad is not None:
            failed = self.machine.setup_failed(
                bad, "refused", self.now_s, restarts=self.bad_says_restart
            )
            if isinstance(failed, Abandon):
                assert action.stage is Stage.PIPELINE_SETUP_CREATE
                self.machine.abandoned()
        elif self.machine.connected(fresh, self.now_s):
            assert not action.only_finalizes
        else:
            assert action.only_finalizes
            self.acked_seqno += 1
            self.block_done(fresh.nodes)

    def replace(self, action: Replace, dead: set[DatanodeAddress], spares: bool) -> None:
        block = action.block
        new = next(
            (node for node in NODES if node not in block.nodes and node not in action.failed), None
        )
        if new is None or not spares:
            self.machine.not_replaced("none")
        elif action.source in dead:
            self.machine.not_replaced("refused", action.source)
        elif new in dead:
            self.machine.not_replaced("refused", new)
        else:
            source = self.replicas[action.source]
            copied = bytearray(source.data[: block.length_bytes])
            assert len(copied) == block.length_bytes
            self.replicas[new] = Replica(source.stamp, copied)
            self.machine.replaced(replace(block, nodes=(*block.nodes, new)))

    # --- what the datanodes say ---------------------------------------------------------

    def arrive(self, seqno: int, nodes: tuple[DatanodeAddress, ...]) -> None:
        packet = self.packets[seqno]
        for node in nodes:
            replica = self.replicas[node]
            assert not replica.finalized
            assert packet.offset_in_block <= len(replica.data)
            replica.data[packet.offset_in_block :] = packet.data
            if packet.sync_block:
                replica.synced_bytes = len(replica.data)
            replica.finalized = packet.last_in_block

    @precondition(lambda self: self.sent_now and self.machine.is_streaming)
    @rule(slow=st.sets(st.integers(0, 2), max_size=2))
    def ack(self, slow: Set[int] = frozenset()) -> None:
        seqno = self.sent_now[0]
        nodes = self.nodes()
        self.arrive(seqno, nodes)
        ended = self.machine.acked(
            PipelineAck(seqno, (Status.SUCCESS,) * len(nodes), slow=tuple(sorted(slow)))
        )
        if self.machine.queues.last_acked_seqno < seqno:
            # Somebody was slow once too often: the packet goes to the others again.
            assert slow
            assert not ended
            self.sent_now.clear()
            return
        self.sent_now.popleft()
        assert ended == self.packets[seqno].last_in_block
        assert seqno == self.acked_seqno + 1
        self.acked_seqno = seqno
        if self.packets[seqno].sync_block:
            end = self.packets[seqno].end
            assert all(self.replicas[node].synced_bytes >= end for node in nodes)
        if ended:
            self.block_done(nodes)

    def block_done(self, nodes: tuple[DatanodeAddress, ...]) -> None:
        last = self.machine.last_block
        assert last is not None
        content = self.expected[len(self.blocks)]
        assert last.length_bytes == len(content)
        for node in nodes:
            assert self.replicas[node].finalized
            assert self.replicas[node].data == content
            assert self.replicas[node].stamp == last.generation_stamp
        # Either all have it on their disks, or it is remembered that they may not.
        remembered = self.machine.unsynced.up_to(self.acked_seqno)
        if last.block_id not in [block.block.block_id for block in remembered]:
            assert all(self.replicas[node].synced_bytes == len(content) for node in nodes)
        self.blocks.append(content)

    @precondition(lambda self: self.machine.is_streaming)
    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        """A node fails; each node has got some of what was sent, the nearer the more."""
        nodes = self.nodes()
        bad = data.draw(st.integers(0, len(nodes) - 1))
        received = len(self.sent_now)
        for node in nodes:
            received = data.draw(st.integers(0, received))
            for seqno in list(self.sent_now)[:received]:
                self.arrive(seqno, (node,))
        self.sent_now.clear()
        how = data.draw(st.sampled_from(("reply", "oob", "connection", "heartbeat")))
        replies = (Status.SUCCESS,) * bad
        match how:
            case "reply":
                self.machine.acked(PipelineAck(self.acked_seqno + 1, (*replies, Status.ERROR)))
            case "heartbeat":
                self.machine.acked(PipelineAck(HEARTBEAT_SEQNO, (*replies, Status.ERROR)))
            case "oob":
                self.machine.acked(PipelineAck(UNKNOWN_SEQNO, (*replies, Status.OOB_RESTART)))
            case _:
                self.machine.broken("reset")
        assert not self.machine.is_streaming

    @precondition(lambda self: self.machine.is_streaming)
    @rule(offset=st.sampled_from((-2, -1, 1, 2)), nodes=st.integers(1, 4))
    def an_ack_that_is_not_due(self, offset: int, nodes: int) -> None:
        """One that came before, one too early, or one for nothing; nothing is believed of it."""
        seqno = self.acked_seqno + 1 + offset
        self.machine.acked(PipelineAck(seqno, (Status.SUCCESS,) * nodes))
        if not self.machine.is_streaming:
            self.sent_now.clear()
        else:
            assert seqno == HEARTBEAT_SEQNO

    @precondition(lambda self: not self.machine.is_streaming)
    @rule()
    def late_news_of_the_old_pipeline(self) -> None:
        self.machine.broken("late")
        self.machine.acked(PipelineAck(self.acked_seqno + 1, (Status.SUCCESS,) * 3))

    @rule(seconds=st.floats(0, 400))
    def time_passes(self, seconds: float) -> None:
        self.now_s += seconds

    # --- what always holds ------------------------------------------------------------

    @invariant()
    def nothing_is_lost_or_acknowledged_twice(self) -> None:
        assert self.machine.queues.last_acked_seqno == self.acked_seqno
        assert len(self.machine.queues) == len(self.packets) - self.acked_seqno - 1
        assert self.blocks == self.expected[: len(self.blocks)]

    @invariant()
    def what_is_acknowledged_is_on_every_node_of_the_pipeline(self) -> None:
        if self.machine.block is None or self.machine.last_block is None:
            return
        acked = self.machine.last_block.length_bytes
        finished = len(self.blocks)
        content = self.expected[finished] if finished < len(self.expected) else self.content
        for node in self.nodes() if acked else ():
            assert self.replicas[node].data[:acked] == content[:acked]

    @invariant()
    def generation_stamps_never_go_back(self) -> None:
        block = self.machine.last_block
        if block is not None:
            assert block.generation_stamp >= self.stamps_seen.get(block.block_id, 0)
            self.stamps_seen[block.block_id] = block.generation_stamp

    @invariant()
    def no_node_is_in_a_pipeline_twice(self) -> None:
        if self.machine.block is not None:
            assert len(set(self.nodes())) == len(self.nodes())

    @invariant()
    def a_failure_names_the_file(self) -> None:
        if isinstance(self.machine.error, errors.PipelineFailed):
            assert "/f" in self.machine.error.message
            assert self.machine.phase is Phase.FAILED

    def teardown(self) -> None:
        """Left alone with nodes that work, it sends everything or has failed already."""
        if not hasattr(self, "machine"):
            return
        self.dead.clear()
        for _ in range(MAX_ACTIONS + len(self.packets)):
            if not self.healthy() or not self.machine.queues:
                break
            self.step(set(), True, False)
            if not self.machine.is_streaming:
                self.now_s += self.machine.wait_limit_s(self.now_s) or 0.0
            while self.healthy() and self.machine.is_streaming and self.sent_now:
                self.ack()
        assert not self.healthy() or not self.machine.queues
        if self.healthy():
            assert self.blocks == self.expected


TestRecoveryModel = pytest.mark.req("FS-123", "FS-125", "FS-131", "LM-062")(RecoveryModel.TestCase)
TestRecoveryModel.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)


@pytest.mark.torture
@pytest.mark.timeout(900)
def test_long_histories_of_failures() -> None:
    run_state_machine_as_test(
        RecoveryModel,
        settings=settings(max_examples=times(400), stateful_step_count=100, deadline=None),
    )
