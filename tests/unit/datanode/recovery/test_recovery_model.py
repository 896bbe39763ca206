"""One block, three datanodes, a writer, and whatever can happen to them, in any order.

Everything that decides is the real thing: `Replica` for what a datanode allows,
`block_recovery` for what a primary agrees on. The model around them delivers packets late
or never, kills datanodes, cuts their power, lets pipelines be rebuilt half-way and lets
primaries die between any two of their calls. What was acknowledged must outlive it.
"""

from __future__ import annotations

from typing import Any

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
from howdah.datanode.state.block_recovery import Agreement, Answers, Candidate, agree, settle
from howdah.datanode.state.messages import BlockSynchronized, RecoverBlock
from howdah.datanode.state.replicas.replicas import Replica
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock
from tests.support.torture import times

NODES = tuple(DatanodeAddress(f"10.0.0.{n}", f"node{n}", f"uuid-{n}", 9866) for n in range(3))
nodes = st.integers(0, 2)
some_nodes = st.sets(nodes)
writes = st.tuples(
    st.integers(1, 5),
    st.lists(st.integers(0, 5), min_size=3, max_size=3),
    st.booleans(),
    st.booleans(),
)


class Attempt:
    """A recovery, as far as its primary has come."""

    def __init__(self, order: RecoverBlock) -> None:
        self.order = order
        self.answers: dict[DatanodeAddress, Candidate | Exception | None] = {}
        self.agreement: Agreement | None = None
        self.outcomes: dict[DatanodeAddress, str | Exception] = {}


class BlockMachine(RuleBasedStateMachine):
    """The block's id is 7; its bytes are numbered, so a length says which they are."""

    def __init__(self) -> None:
        super().__init__()
        self.stamp = 1001
        """The namenode's: of the block, as far as it was told."""
        self.last_stamp = 1001
        """The last one that it gave to anybody."""
        self.replicas: list[Replica | None] = [
            Replica(7, 1001, ReplicaState.RBW, f"DS-{n}") for n in range(3)
        ]
        self.highest = [1001] * 3
        self.synced = [0] * 3
        self.pipeline = [0, 1, 2]
        self.sent = self.acked = self.acked_synced = 0
        self.writing = True
        self.lost_power: set[int] = set()
        self.damaged: dict[int, int] = {}
        """Final replicas that are not all there, and how much of them fits its checksums."""
        self.attempt: Attempt | None = None
        self.late: list[Attempt] = []
        self.committed: BlockSynchronized | None = None

    # --- the writer ---

    def members(self) -> list[Replica]:
        """The replicas that the writer's pipeline can still write."""
        found = [self.replicas[node] for node in self.pipeline]
        return [
            replica
            for replica in found
            if replica is not None
            and replica.state is ReplicaState.RBW
            and replica.generation_stamp == self.stamp
        ]

    @initialize(first=st.lists(writes, min_size=1, max_size=3))
    def begin(self, first: list[tuple[int, list[int], bool, bool]]) -> None:
        """Most of what can go wrong needs some bytes."""
        for write in first:
            self.write(write)

    @precondition(lambda self: self.writing)
    @rule(write=writes)
    def write(self, write: tuple[int, list[int], bool, bool]) -> None:
        """Bytes are sent, come late at some datanodes, and may be acknowledged and synced."""
        count, late, ack, sync = write
        self.sent += count
        for replica, part in zip(self.members(), late, strict=False):
            replica.grow(max(replica.length_bytes, self.sent - part), b"")
        if ack:
            self.acknowledge(sync)

    def acknowledge(self, sync: bool) -> None:
        members = self.members()
        if len(members) < len(self.pipeline):
            return
        # From the end of the pipeline: each has it, and so have all behind it.
        behind = self.sent
        for replica in reversed(members):
            behind = min(behind, replica.length_bytes)
            replica.acknowledge(behind)
        self.acked = max(self.acked, behind)
        if sync:
            for node, replica in zip(self.pipeline, members, strict=True):
                self.synced[node] = replica.length_bytes
            self.acked_synced = max(self.acked_synced, behind)

    @precondition(lambda self: self.writing and not self.attempt)
    @rule(reached=some_nodes, told=st.booleans())
    def rebuild_the_pipeline(self, reached: set[int], told: bool) -> None:
        """Under a new stamp, with those that still have what the writer counts on."""
        self.last_stamp += 1
        kept = []
        for node in self.pipeline:
            replica = self.replicas[node]
            if replica is None or node not in reached:
                continue
            try:
                length = replica.length_kept(self.stamp, self.last_stamp, self.acked, self.sent)
            except errors.ReplicaNotFound:
                continue
            replica.recover(self.last_stamp, length, b"")
            kept.append(node)
        if kept and told:
            self.pipeline, self.stamp = kept, self.last_stamp
        else:
            self.writing = False

    @precondition(lambda self: self.writing)
    @rule(count=st.integers(0, 3))
    def end_the_block(self, count: int) -> None:
        """The last packet reaches all, and the end of the pipeline first finalizes."""
        members = self.members()
        if len(members) < len(self.pipeline):
            return
        for replica in members:
            replica.grow(self.sent, b"")
        for replica in list(reversed(members))[:count]:
            replica.finalize()
        self.writing = False
        if count >= len(members):
            self.acked = self.sent

    # --- what happens to datanodes ---

    def restart(self, node: int, length: int, *, awaited: bool = False) -> None:
        replica = self.replicas[node]
        assert replica is not None
        state = replica.stored_as
        if state is ReplicaState.RBW and not awaited:
            state = ReplicaState.RWR
        self.replicas[node] = Replica(7, replica.generation_stamp, state, f"DS-{node}", length)

    @rule(node=nodes, awaited=st.booleans())
    def kill(self, node: int, awaited: bool) -> None:
        replica = self.replicas[node]
        if replica is not None:
            self.restart(node, replica.length_bytes, awaited=awaited)

    @rule(node=nodes, lost=st.integers(0, 9))
    def cut_the_power(self, node: int, lost: int) -> None:
        replica = self.replicas[node]
        if replica is None:
            return
        self.lost_power.add(node)
        left = max(replica.length_bytes - lost, self.synced[node])
        if replica.stored_as is not ReplicaState.FINALIZED:
            self.restart(node, left)
            return
        # Its length says nothing, and nobody has looked yet.
        if left < replica.length_bytes:
            self.damaged[node] = min(left, self.damaged.get(node, left))
        self.restart(node, replica.length_bytes)

    # --- recoveries ---

    @precondition(lambda self: self.committed is None)
    @rule(data=st.data(), silent=st.sets(nodes, max_size=1), steps=st.integers(0, 6))
    def recover(self, data: Any, silent: set[int], steps: int) -> None:
        """The writer's lease is over, or the last attempt took too long: the next one comes
        as far as `steps`."""
        self.writing = False
        if self.attempt is not None:
            self.late.append(self.attempt)
        self.last_stamp += 1
        known = data.draw(st.integers(0, self.acked_synced))
        block = ExtendedBlock("BP-1", 7, self.stamp, known)
        self.attempt = Attempt(RecoverBlock(block, self.last_stamp, NODES))
        self.go_on(data, self.attempt, silent, steps)

    @precondition(lambda self: self.late or (self.attempt and self.committed is None))
    @rule(data=st.data(), silent=st.sets(nodes, max_size=1), steps=st.integers(1, 6))
    def a_slow_primary_goes_on(self, data: Any, silent: set[int], steps: int) -> None:
        attempts = [*self.late, *([self.attempt] if self.attempt else [])]
        self.go_on(data, data.draw(st.sampled_from(attempts)), silent, steps)

    def go_on(self, data: Any, attempt: Attempt, silent: set[int], steps: int) -> None:
        if steps and attempt.agreement is None:
            for node, address in enumerate(NODES):
                attempt.answers[address] = self.take(node, attempt, silent=node in silent)
            try:
                attempt.agreement = agree(attempt.order, attempt.answers)
            except errors.HowdahError:
                attempt.answers.clear()
                return
            steps -= 1
        agreement = attempt.agreement
        if agreement is None:
            return
        left = [node for node in agreement.participants if node not in attempt.outcomes]
        for address in data.draw(st.permutations(left)):
            if not steps:
                return
            attempt.outcomes[address] = self.set(NODES.index(address), attempt, agreement)
            steps -= 1
        if steps:
            self.commit(attempt, agreement)

    def take(self, node: int, attempt: Attempt, *, silent: bool) -> Candidate | Exception | None:
        replica = self.replicas[node]
        if silent:
            return errors.Unreachable("silent")
        if replica is None:
            return None
        stamp, recovery_id = attempt.order.block.generation_stamp, attempt.order.recovery_id
        try:
            replica.check_recovery(stamp, recovery_id)
            if node in self.damaged:
                replica.distrust((self.damaged.pop(node), b""))
            replica.begin_recovery(stamp, recovery_id)
        except errors.HowdahError as error:
            return error
        return Candidate(7, replica.generation_stamp, replica.length_bytes, replica.stored_as)

    def set(self, node: int, attempt: Attempt, agreement: Agreement) -> str | Exception:
        replica, told = self.replicas[node], agreement.participants[NODES[node]]
        if replica is None:
            return errors.ReplicaNotFound("gone")
        length = agreement.block.length_bytes
        try:
            replica.check_agreed(attempt.order.recovery_id, told.length_bytes, length)
        except errors.HowdahError as error:
            return error
        if length < replica.length_bytes and replica.stored_as is ReplicaState.FINALIZED:
            replica.set_aside()
        replica.shorten(length, b"")
        replica.complete_recovery()
        self.synced[node] = length
        return f"DS-{node}"

    def commit(self, attempt: Attempt, agreement: Agreement) -> None:
        """The namenode takes the latest attempt only, and closes the file."""
        try:
            result = settle(attempt.order, agreement, attempt.outcomes)
        except errors.HowdahError:
            return
        if attempt is self.attempt and self.committed is None:
            self.check_committed(result, attempt.answers)
            self.committed, self.stamp = result, result.new_stamp

    def check_committed(self, result: BlockSynchronized, answers: Answers) -> None:
        present = {
            NODES.index(address): answer.state
            for address, answer in answers.items()
            if isinstance(answer, Candidate) and answer.generation_stamp >= self.stamp
        }
        # Whoever never lost power has it all, unless an attempt without him cut it.
        has_it = present.keys() - self.lost_power and ReplicaState.FINALIZED not in present.values()
        if has_it or not self.lost_power:
            assert result.new_length_bytes >= self.acked, answers
        if not any(isinstance(answer, Exception) for answer in answers.values()):
            # Everybody had a say, so what was synced can't be missed.
            assert result.new_length_bytes >= self.acked_synced, answers
        for address in result.nodes:
            replica = self.replicas[NODES.index(address)]
            assert replica is not None
            if replica.state is ReplicaState.FINALIZED:
                assert replica.generation_stamp == result.new_stamp
                assert replica.length_bytes == result.new_length_bytes

    # --- always ---

    @invariant()
    def stamps_never_go_back(self) -> None:
        for node, replica in enumerate(self.replicas):
            if replica is not None:
                assert replica.generation_stamp >= self.highest[node]
                self.highest[node] = replica.generation_stamp

    @invariant()
    def what_is_committed_stays(self) -> None:
        """Also when a primary that was slow goes on with an attempt that has lost."""
        if self.committed is None or self.committed.delete:
            return
        length = self.committed.new_length_bytes
        for address in self.committed.nodes:
            replica = self.replicas[NODES.index(address)]
            assert replica is not None
            assert replica.length_bytes == length
        for replica in self.replicas:
            if replica is not None and replica.state is ReplicaState.FINALIZED:
                assert replica.generation_stamp != self.stamp or replica.length_bytes == length


def test_no_order_of_events_loses_what_was_acknowledged() -> None:
    run_state_machine_as_test(BlockMachine, settings=settings(max_examples=150))


@pytest.mark.torture
@pytest.mark.timeout(900)
def test_no_long_order_of_events_loses_what_was_acknowledged() -> None:
    longer = settings(max_examples=times(600), stateful_step_count=80)
    run_state_machine_as_test(BlockMachine, settings=longer)
