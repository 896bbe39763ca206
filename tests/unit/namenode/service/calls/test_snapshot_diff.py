"""Who may compare two states of a tree, and how long the namenode is held meanwhile."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from howdah import errors
from howdah.namenode.service.calls.snapshots import diff
from howdah.namenode.service.calls.snapshots.diff import SnapshotDiffCalls
from howdah.namenode.state.inodes.inodes import File
from howdah.namenode.state.snapshots import diff as comparison
from howdah.namenode.state.tree import snapshot_views
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.rpc.call import Caller
from howdah.testing.in_memory import InMemoryNamenode


@pytest.fixture
def snapshots(client: Any) -> Any:
    client.mkdirs("/d")
    client.call("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot="/d"))

    def take(name: str) -> None:
        client.call(
            "createSnapshot", pb.CreateSnapshotRequestProto(snapshotRoot="/d", snapshotName=name)
        )

    return take


def set_mode(client: Any, path: str, mode: int) -> None:
    permission = types_pb2.FsPermissionProto(perm=mode)
    client.call("setPermission", pb.SetPermissionRequestProto(src=path, permission=permission))


def slices(calls: Generator[None, None, Any]) -> int:
    """How often it lets others have their turn."""
    return sum(1 for _ in calls)


def report(namenode: InMemoryNamenode, user: str, old: str, new: str) -> Any:
    return SnapshotDiffCalls(namenode.namesystem).report(
        Caller(user, b"client", 1, 0, "10.9.9.9"), "/d", old, new
    )


def test_permissions_are_checked_in_slices(
    client: Any, namenode: InMemoryNamenode, snapshots: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        client.mkdirs(f"/d/{number % 3}/{number}")
    snapshots("s1")
    monkeypatch.setattr(diff, "SLICE_INODES", 10)
    assert slices(report(namenode, "alice", "s1", "")) >= 6, "both states have 34 directories"
    assert slices(report(namenode, "root", "s1", "")) == 0, "the superuser may read all"


def test_states_are_compared_in_slices_by_what_is_in_their_directories(
    client: Any, namenode: InMemoryNamenode, snapshots: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All files may be in a few of them."""
    for number in range(60):
        client.create(f"/d/{number % 3}/{number}")
    snapshots("s1")
    monkeypatch.setattr(comparison, "SLICE_INODES", 5)
    assert slices(report(namenode, "root", "s1", "")) == 1, "there are 4 directories"


def test_permissions_are_checked_without_a_look_at_files(
    client: Any, namenode: InMemoryNamenode, snapshots: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There may be millions, and each one that is looked at in a snapshot is made for that."""
    client.create("/d/e/f")
    snapshots("s1")
    made: list[str] = []

    def note(source: Any, origin: File, name: str, *rest: Any) -> Any:
        made.append(name)
        return real(source, origin, name, *rest)

    real = snapshot_views.SnapshotFile
    monkeypatch.setattr(snapshot_views, "SnapshotFile", note)
    slices(report(namenode, "alice", "s1", ""))
    assert made == []


@pytest.mark.parametrize("state", ["now", "then", "deleted", "moved", "readable"])
def test_who_compares_has_to_read_each_directory_of_both_states(
    client: Any, namenode: InMemoryNamenode, snapshots: Any, state: str
) -> None:
    client.mkdirs("/d/a/secret/below")
    client.mkdirs("/elsewhere")
    if state != "now":
        set_mode(client, "/d/a/secret", 0o700)
    snapshots("s1")
    if state == "now":
        set_mode(client, "/d/a/secret", 0o700)
    elif state in ("then", "readable"):
        set_mode(client, "/d/a/secret", 0o755)
    elif state == "deleted":
        client.delete("/d/a/secret")
    else:
        client.rename("/d/a/secret", "/elsewhere/secret")
    if state == "readable":
        snapshots("s2")
        client.mkdirs("/d/new")
        assert slices(report(namenode, "alice", "s2", "")) == 0
        return
    with pytest.raises(errors.AccessDenied, match="secret"):
        slices(report(namenode, "alice", "s1", ""))
