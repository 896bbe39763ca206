"""The namenode against a dict: any sequence of operations does the same to both.

And what was logged on the way makes the same namespace again: from every prefix of the
log, from logs that end in the middle of a record, from images, from real directories.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from tests.support.namespaces.attributes import AttributeHistories, BoundedHistories
from tests.support.namespaces.caching import CacheHistories
from tests.support.namespaces.changes import ChangeHistories
from tests.support.namespaces.coding import CodedSnapshots, CodingHistories
from tests.support.namespaces.comparing import compare
from tests.support.namespaces.snapshots import BoundedSnapshotHistories, SnapshotHistories
from tests.support.namespaces.survival import NotedNamespace, Survival, check_survival
from tests.support.namespaces.tree import TreeHistories
from tests.support.torture import times


class NamespaceHistories(TreeHistories, ChangeHistories, AttributeHistories):
    """All operations."""


class NarrowHistories(NamespaceHistories, BoundedHistories):
    """All operations, where quotas are met."""


class CodedHistories(CodingHistories, NamespaceHistories):
    """All operations, where files are erasure coded."""


class NarrowCodedHistories(CodingHistories, NarrowHistories):
    """The same, where quotas are met."""


class ThoroughCodedHistories(NarrowCodedHistories):
    """Torn at every byte."""

    def teardown(self) -> None:
        check_survival(self.namenode, thorough=True)


class ThoroughCodedSnapshots(CodedSnapshots):
    """The same."""

    def teardown(self) -> None:
        check_survival(self.namenode, thorough=True)


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


class ThoroughCaches(CacheHistories):
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
    [
        ThoroughHistories,
        ThoroughNarrowHistories,
        ThoroughSnapshots,
        ThoroughBoundedSnapshots,
        ThoroughCaches,
        ThoroughCodedHistories,
        ThoroughCodedSnapshots,
    ],
)
def test_long_histories(histories: type[RuleBasedStateMachine]) -> None:
    run(histories, times(60), 100)


@pytest.mark.req("FS-022", "FS-023")
def test_any_history_does_to_the_namenode_what_it_does_to_the_model_and_survives() -> None:
    run(NamespaceHistories, 60, 50)


@pytest.mark.req("FS-022", "FS-023")
def test_the_same_where_quotas_are_met() -> None:
    run(NarrowHistories, 40, 50)


@pytest.mark.req("FS-022", "FS-023")
@pytest.mark.parametrize(
    ("histories", "count", "steps"),
    [(CodedHistories, 30, 40), (NarrowCodedHistories, 20, 40), (CodedSnapshots, 20, 20)],
)
def test_erasure_coded_files_in_any_history(
    histories: type[RuleBasedStateMachine], count: int, steps: int
) -> None:
    run(histories, count, steps)


def test_negative_times_and_cleared_quotas_of_the_root() -> None:
    histories = NamespaceHistories()
    histories.grow(0)
    histories.set_times("/", 4, -4)
    histories.set_times("/", -2, 7)
    histories.set_quota("/", 5, 2048)
    histories.set_quota("/", -1, 0)
    compare(histories.namenode, histories.model)
    histories.teardown()


def test_start_after_a_crash_in_the_first_record_of_a_segment() -> None:
    """Nothing says yet that the log has reached it."""
    histories = NamespaceHistories()
    for path in ("/a", "/b"):
        histories.mkdirs(path, 0o755, None)
    noted = histories.namenode.namesystem.namespace
    assert isinstance(noted, NotedNamespace)
    survival = Survival(histories.namenode.log, noted.states)
    for _ in range(16):
        survival.check_start()


def test_snapshots_show_what_was_whatever_happens() -> None:
    run(SnapshotHistories, 50, 25)


def test_quotas_count_what_snapshots_have_whatever_happens() -> None:
    run(BoundedSnapshotHistories, 30, 20)


@pytest.mark.req("FS-041", "FS-042")
def test_pools_and_directives_are_what_was_asked_for_whatever_happens() -> None:
    run(CacheHistories, 40, 40)


def cut_under_a_snapshot(path: str) -> BoundedSnapshotHistories:
    """A file of 306 bytes in /a/d is cut, and the copy of its block is not made yet."""
    histories = BoundedSnapshotHistories()
    histories.bound(count=16, space=16 * 1024)
    histories.mkdirs("/a/d", 0o755, None)
    histories.whole_file(path, "DFSClient_1", [306])
    histories.allow_snapshot("/a")
    histories.create_snapshot("/a", "s1")
    histories.truncate(path, "DFSClient_1", 100)
    return histories


def test_block_that_a_copy_was_to_be_made_of_goes_with_the_last_snapshot() -> None:
    histories = cut_under_a_snapshot("/a/d/f")
    histories.create_snapshot("/a", "s2")
    histories.delete_snapshot("/a", "s1")
    histories.delete("/a/d", True)
    histories.delete_snapshot("/a", "s2")
    histories.the_namenode_is_consistent()
    assert not histories.namenode.namesystem.namespace.blocks
    histories.teardown()


def test_what_a_moved_directory_took_is_given_back_with_the_snapshot() -> None:
    histories = cut_under_a_snapshot("/a/d/f")
    histories.rename2("/a/d", "/d", False, False)
    histories.delete_snapshot("/a", "s1")
    histories.the_namenode_is_consistent()
    compare(histories.namenode, histories.model)
    histories.teardown()


@pytest.mark.parametrize("is_reversed", [False, True])
def test_what_moved_out_of_a_moved_directory_is_given_back_in_any_order(
    is_reversed: bool,
) -> None:
    """An image has what is kept for a snapshot in another order than a history."""
    histories = BoundedSnapshotHistories()
    histories.bound(count=16, space=16 * 1024)
    histories.mkdirs("/a/d/e", 0o755, None)
    histories.allow_snapshot("/a")
    histories.create_snapshot("/a", "s1")
    histories.rename2("/a/d/e", "/a/e", False, False)
    histories.rename2("/a/d", "/d", False, False)
    (kept,) = histories.namenode.namesystem.namespace.snapshots.by_snapshot.values()
    if is_reversed:
        for inode_id, inode in reversed(list(kept.items())):
            del kept[inode_id]
            kept[inode_id] = inode
    histories.delete_snapshot("/a", "s1")
    histories.the_namenode_is_consistent()
    compare(histories.namenode, histories.model)
    histories.teardown()


def test_nobody_gives_up_a_group() -> None:
    """A history in which the model let a writer do so."""
    state = CodedHistories()
    state.begin_coded(name="XOR-2-1-1k")
    state.create(
        path="/b/new",
        writer="DFSClient_1",
        mode=0o644,
        unmasked=None,
        overwrite=False,
        replication=1,
    )
    state.add_block(which=("/b/new", "DFSClient_1"), length=0)
    state.abandon(which=("/b/new", "DFSClient_1"))
    file = state.file("/b/new")
    assert file is not None
    assert len(file.blocks) == 1
    state.tree_is_the_models()
