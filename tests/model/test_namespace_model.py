"""The namenode against a dict: any sequence of operations does the same to both.

And what was logged on the way makes the same namespace again: from every prefix of the
log, from logs that end in the middle of a record, from images, from real directories.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from howdah.testing.internal.namespaces.attributes import AttributeHistories, BoundedHistories
from howdah.testing.internal.namespaces.changes import ChangeHistories
from howdah.testing.internal.namespaces.snapshots import BoundedSnapshotHistories, SnapshotHistories
from howdah.testing.internal.namespaces.survival import check_survival
from howdah.testing.internal.namespaces.tree import TreeHistories


class NamespaceHistories(TreeHistories, ChangeHistories, AttributeHistories):
    """All operations."""


class NarrowHistories(NamespaceHistories, BoundedHistories):
    """All operations, where quotas are met."""


class ThoroughHistories(NamespaceHistories):
    """Torn at every byte."""

    def teardown(self) -> None:
        check_survival(self.namenode, thorough=True)


class ThoroughNarrowHistories(NarrowHistories):
    """The same."""

    def teardown(self) -> None:
        check_survival(self.namenode, thorough=True)


class ThoroughSnapshots(SnapshotHistories):
    """The same."""

    def teardown(self) -> None:
        check_survival(self.namenode, thorough=True)


class ThoroughBoundedSnapshots(BoundedSnapshotHistories):
    """The same."""

    def teardown(self) -> None:
        check_survival(self.namenode, thorough=True)


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


@pytest.mark.torture
@pytest.mark.timeout(7200)
@pytest.mark.req("FS-022", "FS-023")
@pytest.mark.parametrize(
    "histories",
    [ThoroughHistories, ThoroughNarrowHistories, ThoroughSnapshots, ThoroughBoundedSnapshots],
)
def test_long_histories(histories: type[RuleBasedStateMachine]) -> None:
    run(histories, 500, 100)


@pytest.mark.req("FS-022", "FS-023")
def test_any_history_does_to_the_namenode_what_it_does_to_the_model_and_survives() -> None:
    run(NamespaceHistories, 60, 50)


@pytest.mark.req("FS-022", "FS-023")
def test_the_same_where_quotas_are_met() -> None:
    run(NarrowHistories, 40, 50)


def test_snapshots_show_what_was_whatever_happens() -> None:
    run(SnapshotHistories, 50, 25)


def test_quotas_count_what_snapshots_have_whatever_happens() -> None:
    run(BoundedSnapshotHistories, 30, 20)
