"""The states of replicas, and what may never happen to one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from howdah import errors
from howdah.datanode.state.replicas.replicas import Replica, ReplicaMap
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.protocol.data_transfer.blocks import ExtendedBlock


class ReplicaMachine(RuleBasedStateMachine):
    """Any order of allowed acts: what was acknowledged stays visible and is never longer
    than what is on disk."""

    def __init__(self) -> None:
        super().__init__()
        self.replica = Replica(1, 1000, ReplicaState.RBW, "DS")
        self.promised = 0
        self.stamp = self.recovery_id = 1000

    @precondition(lambda self: self.replica.state is ReplicaState.RBW)
    @rule(more=st.integers(0, 5000))
    def grow(self, more: int) -> None:
        self.replica.grow(self.replica.length_bytes + more, b"1234")

    @precondition(lambda self: self.replica.state is ReplicaState.RBW)
    @rule(data=st.data())
    def acknowledge(self, data: Any) -> None:
        length = data.draw(st.integers(0, self.replica.length_bytes))
        self.replica.acknowledge(length)
        self.promised = max(self.promised, length)

    @precondition(lambda self: self.replica.state is ReplicaState.RBW)
    @rule()
    def finalize(self) -> None:
        self.replica.finalize()
        self.promised = self.replica.length_bytes

    @precondition(lambda self: self.replica.state is ReplicaState.FINALIZED)
    @rule(step=st.integers(0, 3))
    def reopen(self, step: int) -> None:
        self.stamp += step
        self.replica.reopen(self.stamp, b"")

    @precondition(lambda self: self.replica.state is ReplicaState.RBW)
    @rule(step=st.integers(0, 3), data=st.data())
    def recover(self, step: int, data: Any) -> None:
        self.stamp += step
        length = data.draw(st.integers(self.replica.acked_bytes, self.replica.length_bytes))
        self.replica.recover(self.stamp, length, b"")
        self.promised = length

    @precondition(lambda self: self.replica.state is ReplicaState.RBW)
    @rule(data=st.data())
    def cut(self, data: Any) -> None:
        """The files of a pipeline that was to go on are cut, and then it does not."""
        length = data.draw(st.integers(self.replica.acked_bytes, self.replica.length_bytes))
        self.replica.cut(length, b"")

    @precondition(lambda self: self.replica.state is ReplicaState.RBW)
    @rule(step=st.integers(0, 3), min_bytes=st.integers(0, 9000), max_bytes=st.integers(0, 9000))
    def recover_as_a_client_asks(self, step: int, min_bytes: int, max_bytes: int) -> None:
        before, stamp = self.replica.tail, self.stamp + step
        try:
            kept = self.replica.length_kept(self.stamp, stamp, min_bytes, max_bytes)
        except errors.ReplicaNotFound:
            assert self.replica.acked_bytes < min_bytes or self.replica.length_bytes > max_bytes
            assert self.replica.tail == before
            return
        assert min_bytes <= self.promised == kept <= max_bytes
        self.stamp = stamp
        self.replica.recover(stamp, kept, b"")

    @rule(step=st.integers(-2, 3))
    def begin_recovery(self, step: int) -> None:
        replica, recovery_id = self.replica, max(self.stamp, self.recovery_id) + step
        before = replica.stored_as, replica.tail
        try:
            replica.begin_recovery(self.stamp, recovery_id)
        except errors.RecoveryInProgress:
            assert step <= 0
            return
        self.recovery_id = recovery_id
        assert replica.state is ReplicaState.RUR
        assert (replica.stored_as, replica.tail) == before

    @precondition(lambda self: self.replica.state is ReplicaState.RUR)
    @rule(step=st.integers(-1, 1), data=st.data(), told=st.integers(-1, 0))
    def complete_recovery(self, step: int, data: Any, told: int) -> None:
        replica, recovery_id = self.replica, self.recovery_id + step
        length = data.draw(st.integers(0, replica.length_bytes + 1))
        try:
            replica.check_agreed(recovery_id, replica.length_bytes + told, length)
        except errors.HowdahError:
            assert step or told or length > replica.length_bytes
            assert replica.state is ReplicaState.RUR
            return
        if length < replica.length_bytes and replica.stored_as is ReplicaState.FINALIZED:
            replica.set_aside()
        replica.shorten(length, b"")
        replica.complete_recovery()
        self.stamp, self.promised = recovery_id, length

    @precondition(lambda self: self.replica.stored_as is ReplicaState.FINALIZED)
    @rule(data=st.data())
    def distrust(self, data: Any) -> None:
        """What it promised was damaged; what is left of it waits for a recovery."""
        good = data.draw(st.integers(0, self.replica.length_bytes))
        self.replica.distrust((good, b""))
        assert self.replica.stored_as is ReplicaState.RWR
        self.promised = good

    @precondition(lambda self: self.replica.state is ReplicaState.RUR)
    @rule()
    def end_recovery(self) -> None:
        before = self.replica.stored_as
        self.replica.end_recovery()
        assert self.replica.state is before

    @rule(step=st.integers(-2, 3), missing=st.integers(0, 2))
    def close_again(self, step: int, missing: int) -> None:
        replica, stamp = self.replica, self.stamp + step
        expected = replica.length_bytes + missing
        try:
            replica.check_whole(self.stamp, stamp, expected)
        except errors.ReplicaNotFound:
            assert (
                step < 0
                or missing
                or self.promised < replica.length_bytes
                or replica.state in (ReplicaState.RUR, ReplicaState.RWR)
            )
            return
        self.stamp = stamp
        if replica.state is ReplicaState.FINALIZED:
            replica.restamp(stamp)
        else:
            replica.recover(stamp, expected, b"")
            replica.finalize()

    @invariant()
    def what_was_promised_is_visible(self) -> None:
        if self.replica.stored_as is ReplicaState.RWR:
            assert self.promised <= self.replica.length_bytes
            return
        assert self.promised <= self.replica.visible_bytes <= self.replica.length_bytes

    @invariant()
    def the_stamp_is_the_newest(self) -> None:
        assert self.replica.generation_stamp == self.stamp


TestReplicaMachine = ReplicaMachine.TestCase


def test_a_replica_never_shrinks() -> None:
    replica = Replica(1, 1, ReplicaState.RBW, "DS", 100)
    with pytest.raises(AssertionError, match="would shrink"):
        replica.grow(99, b"")


def test_a_finalized_replica_does_not_grow() -> None:
    replica = Replica(1, 1, ReplicaState.FINALIZED, "DS", 100)
    with pytest.raises(AssertionError, match="cannot grow"):
        replica.grow(101, b"")


def test_a_generation_stamp_never_goes_back() -> None:
    replica = Replica(1, 5, ReplicaState.FINALIZED, "DS", 100)
    with pytest.raises(AssertionError, match="would go back"):
        replica.reopen(4, b"")


def test_what_was_not_received_is_not_acknowledged() -> None:
    replica = Replica(1, 1, ReplicaState.RBW, "DS", 100)
    with pytest.raises(AssertionError, match="acknowledges 101"):
        replica.acknowledge(101)


def test_recovery_makes_no_bytes() -> None:
    replica = Replica(1, 1, ReplicaState.RBW, "DS", 100)
    with pytest.raises(AssertionError, match="or make some"):
        replica.recover(2, 101, b"")


@given(length=st.integers(0, 5000), acked=st.integers(0, 5000))
def test_a_copy_joins_a_pipeline_with_the_bytes_that_are_acknowledged(
    length: int, acked: int
) -> None:
    replica = Replica(1, 1, ReplicaState.TEMPORARY, "DS")
    replica.grow(length, b"")
    if acked > length:
        with pytest.raises(AssertionError, match="lacks bytes"):
            replica.join(acked)
        return
    replica.join(acked)
    assert (replica.state, replica.visible_bytes) == (ReplicaState.RBW, acked)
    assert replica.length_kept(1, 2, acked, length) == acked


@pytest.mark.parametrize("state", [ReplicaState.RWR, ReplicaState.RUR, ReplicaState.TEMPORARY])
def test_only_what_a_client_has_written_goes_on_in_a_new_pipeline(state: ReplicaState) -> None:
    replica = Replica(1, 1, state, "DS", 100)
    with pytest.raises(errors.ReplicaNotFound, match="Cannot recover"):
        replica.length_kept(1, 2, 0, 1000)
    with pytest.raises(errors.ReplicaNotFound, match="Cannot recover"):
        replica.check_whole(1, 2, 100)


def test_only_what_is_final_is_restamped() -> None:
    with pytest.raises(errors.ReplicaNotFound, match="Cannot restamp"):
        Replica(1, 1, ReplicaState.RBW, "DS").restamp(2)


def test_recovery_keeps_what_was_acknowledged() -> None:
    replica = Replica(1, 1, ReplicaState.RBW, "DS")
    replica.grow(100, b"")
    replica.acknowledge(50)
    with pytest.raises(AssertionError, match="drop acknowledged"):
        replica.recover(2, 49, b"")


@pytest.mark.parametrize("state", [ReplicaState.FINALIZED, ReplicaState.RWR, ReplicaState.RUR])
def test_only_what_is_being_written_is_finalized(state: ReplicaState) -> None:
    with pytest.raises(errors.ReplicaNotFound, match="Cannot finalize"):
        Replica(1, 1, state, "DS").finalize()


def test_the_visible_length_is_what_the_pipeline_acknowledged() -> None:
    replica = Replica(1, 1, ReplicaState.RBW, "DS")
    replica.grow(100, b"")
    assert replica.visible_bytes == 0
    replica.acknowledge(60)
    assert replica.visible_bytes == 60
    replica.finalize()
    assert replica.visible_bytes == 100


@pytest.mark.parametrize("state", [ReplicaState.RWR, ReplicaState.TEMPORARY])
def test_the_visible_length_of_what_waits_is_unknown(state: ReplicaState) -> None:
    assert Replica(1, 1, state, "DS", 100).visible_bytes == -1


def test_a_block_has_one_replica_here() -> None:
    replicas = ReplicaMap()
    replicas.add_pool("BP-1")
    replicas.add("BP-1", Replica(1, 1, ReplicaState.RBW, "DS"))
    with pytest.raises(errors.ReplicaExists):
        replicas.add("BP-1", Replica(1, 2, ReplicaState.RBW, "DS"))


def test_an_older_replica_is_not_the_one_that_is_asked_for() -> None:
    replicas = ReplicaMap()
    replicas.add_pool("BP-1")
    replicas.add("BP-1", Replica(1, 5, ReplicaState.FINALIZED, "DS"))
    assert replicas.get(ExtendedBlock("BP-1", 1, 4)).generation_stamp == 5
    with pytest.raises(errors.ReplicaNotFound, match="older"):
        replicas.get(ExtendedBlock("BP-1", 1, 6))


def test_the_same_block_id_in_two_pools_is_two_blocks() -> None:
    replicas = ReplicaMap()
    for pool in ("BP-1", "BP-2"):
        replicas.add_pool(pool)
        replicas.add(pool, Replica(1, 1, ReplicaState.FINALIZED, "DS"))
    replicas.remove("BP-1", 1)
    assert replicas.find("BP-1", 1) is None
    assert replicas.find("BP-2", 1) is not None


def test_a_pool_that_is_not_served_is_named() -> None:
    with pytest.raises(errors.ReplicaNotFound, match="does not serve BP-9"):
        ReplicaMap().get(ExtendedBlock("BP-9", 1, 1))


@given(st.lists(st.tuples(st.integers(-5, 5), st.sampled_from("ab")), max_size=20))
def test_the_replicas_of_a_volume_are_those_that_were_put_there(
    placed: list[tuple[int, str]],
) -> None:
    replicas = ReplicaMap()
    replicas.add_pool("BP-1")
    expected = {}
    for block_id, volume in placed:
        if replicas.find("BP-1", block_id) is None:
            replicas.add("BP-1", Replica(block_id, 1, ReplicaState.FINALIZED, volume))
            expected[block_id] = volume
    on_a = {replica.block_id for _, replica in replicas.of_volume("a")}
    assert on_a == {block_id for block_id, volume in expected.items() if volume == "a"}
    assert len(replicas) == len(expected)
