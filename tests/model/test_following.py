"""A standby has the active namenode's namespace and block map, after every edit.

By construction: both come from what `apply` tells, and from what datanodes report.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from tests.support.namespaces.attributes import AttributeHistories
from tests.support.namespaces.changes import ChangeHistories
from tests.support.namespaces.following import Follower
from tests.support.namespaces.histories import Histories
from tests.support.namespaces.snapshots import BoundedSnapshotHistories
from tests.support.namespaces.tree import TreeHistories
from tests.support.torture import times


class Followed(Histories):
    """Any history, with a second namenode behind the first one."""

    def __init__(self) -> None:
        super().__init__()
        self.follower = Follower(self.namenode)

    @rule()
    def report(self) -> None:
        self.node.report()
        self.follower.check()

    @rule()
    def heartbeat(self) -> None:
        self.node.heartbeat()
        self.follower.check()

    @rule(data=st.data())
    def find_corrupt_and_heal(self, data: st.DataObject) -> None:
        """A replica is lost, and comes back."""
        stored = self.node.replicas[self.node.first_storage]
        if not stored:
            return
        block_id = data.draw(st.sampled_from(sorted(stored)))
        replica = stored[block_id]
        self.node.drop(block_id)
        self.follower.check()
        self.node.store(block_id, replica.generation_stamp, replica.length_bytes)
        self.follower.check()

    def teardown(self) -> None:
        self.follower.check()


class FollowedHistories(Followed, TreeHistories, ChangeHistories, AttributeHistories):
    """All operations but those on snapshots."""


class FollowedSnapshots(Followed, BoundedSnapshotHistories):
    """Those on snapshots, under quotas."""


def run(histories: type[RuleBasedStateMachine], count: int, steps: int) -> None:
    run_state_machine_as_test(
        histories,
        settings=settings(
            max_examples=count,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.parametrize("histories", [FollowedHistories, FollowedSnapshots])
def test_standby_has_the_same_block_map_after_every_edit(histories: Any) -> None:
    run(histories, 10, 15)


@pytest.mark.torture
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("histories", [FollowedHistories, FollowedSnapshots])
def test_standby_has_the_same_block_map_through_long_histories(histories: Any) -> None:
    run(histories, times(60), 100)


def test_orders_are_the_same_though_a_heartbeat_comes_right_after_a_deletion() -> None:
    histories = FollowedHistories()
    histories.grow(depth=0)
    histories.file_that_is_given_up(length=1, path="/given up", writer="DFSClient_1")
    histories.delete(path="/given up", recursive=False)
    histories.heartbeat()
    histories.follower.check()
    histories.teardown()


def test_only_the_active_counts_a_block_that_it_recovers() -> None:
    histories = FollowedHistories()
    histories.grow(depth=0)
    histories.create("/a", "DFSClient_1", overwrite=False, mode=0o644)
    histories.add_block(("/a", "DFSClient_1"), 0)
    histories.fsync(("/a", "DFSClient_1"), 5)
    histories.take_over("/a", "DFSClient_2")
    assert histories.namenode.namesystem.block_manager.blocks.redundancy.left_open
    histories.follower.check()
    histories.teardown()
