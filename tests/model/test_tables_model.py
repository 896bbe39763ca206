"""Tables of a random namespace against the model: its image and its listing have the same rows, and
its changes lead to them from nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from howdah.model.entries import Entry
from howdah.model.namespace import ModelNamespace
from howdah.namenode.state.inodes import storage_policies
from tests.support.namespaces.attributes import BoundedHistories
from tests.support.namespaces.changes import ChangeHistories
from tests.support.namespaces.histories import Histories
from tests.support.namespaces.snapshots import BoundedSnapshotHistories
from tests.support.namespaces.tree import TreeHistories
from tests.support.tables.following import followed, followed_from_image
from tests.support.tables.frames import (
    Row,
    differences,
    image_of,
    rows_of_image,
    rows_of_listing,
)
from tests.support.torture import times

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
POLICY_IDS = {policy.name: number for number, policy in storage_policies.POLICIES.items()}
DEFLATE = "org.apache.hadoop.io.compress.DefaultCodec"


def time_of(milliseconds: int) -> datetime | None:
    return EPOCH + timedelta(milliseconds=milliseconds) if milliseconds > 0 else None


def kind_of(entry: Entry) -> str:
    if entry.is_directory:
        return "directory"
    return "symlink" if entry.target else "file"


def expected_row(path: str, entry: Entry) -> Row:
    """What listings and images both say of an entry."""
    directory, _, name = path.rpartition("/")
    return {
        "path": path,
        "parent": "" if path == "/" else directory or "/",
        "name": name,
        "depth": 0 if path == "/" else path.count("/"),
        "type": kind_of(entry),
        "owner": entry.owner,
        "group": entry.group,
        "permission": entry.mode,
        "replication": entry.replication,
        "block_size": entry.block_size_bytes,
        "modification_time": time_of(entry.mtime_ms),
        "access_time": time_of(entry.atime_ms),
        "target": entry.target or None,
        "has_acl": bool(entry.acl),
    }


def expected_of_files(entry: Entry) -> Row:
    """What both say of what a file has, unless it is open: a listing leaves its end out."""
    if entry.is_directory or entry.target or entry.writer:
        return {}
    length = entry.length_bytes
    return {"length": length, "space": length * entry.replication, "is_open": False}


def expected_of_image(model: ModelNamespace, path: str, entry: Entry) -> Row:
    """What only images say."""
    snapshots = model.snapshots.get(entry.number) if path in model.snapshottable() else None
    ordered = sorted(snapshots or (), key=lambda name: (snapshots or {})[name].order)
    expected: dict[str, Any] = {
        "storage_policy": POLICY_IDS.get(entry.policy, 0),
        "quota_names": entry.bounds.get("names"),
        "quota_space": entry.bounds.get("space"),
        "snapshots": len(ordered),
        "snapshot_names": None if snapshots is None else ordered,
        "is_open": bool(entry.writer),
    }
    if kind_of(entry) == "file":
        expected["length"] = entry.length_bytes
        expected["blocks"] = len(entry.blocks)
    return expected


def check_tables(histories: Histories) -> None:
    """Compare the rows of the listing and of the image with the model."""
    entries = histories.model.entries
    common = {p: expected_row(p, e) | expected_of_files(e) for p, e in entries.items()}
    assert differences(rows_of_listing(histories.namenode), common) == []
    of_image = {path: expected_of_image(histories.model, path, e) for path, e in entries.items()}
    image = {path: row | of_image[path] for path, row in common.items()}
    namespace = histories.namenode.namesystem.namespace
    assert differences(rows_of_image(image_of(namespace)), image) == []
    assert differences(rows_of_image(image_of(namespace, DEFLATE)), image) == []


def expected_change(entry: Entry) -> dict[str, Any]:
    """What a follower of changes knows of an entry."""
    kind = kind_of(entry)
    expected: dict[str, Any] = {
        "type": kind,
        "owner": entry.owner,
        "group": entry.group,
        "replication": entry.replication,
        "target": entry.target or None,
    }
    if not entry.acl and kind != "symlink":
        expected["permission"] = entry.mode
    if kind == "file" and not entry.writer:
        expected["length"] = entry.length_bytes
    return expected


def check_changes(histories: Histories) -> None:
    """Compare what the changes from the first one on lead to with the model, and what those behind
    an image do."""
    entries = {path: e for path, e in histories.model.entries.items() if path != "/"}
    expected = {path: expected_change(e) for path, e in entries.items()}
    count = len(histories.namenode.log)
    for model in (
        followed(histories.namenode),
        *(followed_from_image(histories.namenode, part * count // 3) for part in (1, 2, 3)),
    ):
        model.entries.pop("/", None)
        assert model.differences(expected) == []


class AttributeTables(TreeHistories, ChangeHistories, BoundedHistories):
    """All operations but those of snapshots."""

    def teardown(self) -> None:
        check_tables(self)
        check_changes(self)


class SnapshotTables(BoundedSnapshotHistories):
    """With snapshots."""

    def teardown(self) -> None:
        check_tables(self)
        check_changes(self)


def run(machine: type[RuleBasedStateMachine], examples: int, steps: int) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            suppress_health_check=list(HealthCheck),
        ),
    )


MACHINES = (AttributeTables, SnapshotTables)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("machine", MACHINES)
def test_tables_of_random_namespaces_have_the_rows_of_the_model(
    machine: type[RuleBasedStateMachine],
) -> None:
    run(machine, 20, 25)


@pytest.mark.torture
@pytest.mark.parametrize("machine", MACHINES)
def test_tables_of_many_random_namespaces_have_the_rows_of_the_model(
    machine: type[RuleBasedStateMachine],
) -> None:
    run(machine, times(200), 60)
