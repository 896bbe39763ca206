"""satisfyStoragePolicy: who may mark what, and what a satisfier is told."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

import pytest

from howdah import errors
from howdah.formats.edits import edits
from howdah.formats.edits.edits import XAttr, XAttrNamespace
from howdah.namenode.service.attributes.satisfaction import (
    SatisfactionCalls,
    change_mode,
    unmarking,
)
from howdah.namenode.service.calls.settings import Settings
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.rpc.call import Caller
from howdah.testing.in_memory import InMemoryNamenode

pytestmark = pytest.mark.req("FS-184")

MARK = "hdfs.sps"


@pytest.fixture
def settings() -> Settings:
    return Settings("", min_block_size_bytes=1, satisfier_is_external=True, max_marks_waiting=3)


def satisfy(client: Any, path: str, **how: Any) -> None:
    client.call("satisfyStoragePolicy", pb.SatisfyStoragePolicyRequestProto(src=path), **how)


def next_path(namenode: InMemoryNamenode, satisfier: bytes = b"one-------------") -> int | None:
    return SatisfactionCalls(namenode.namesystem).next_path(
        Caller("root", satisfier, 0, 0, "10.0.0.9")
    )


def told(namenode: InMemoryNamenode, satisfier: bytes = b"one-------------") -> list[int]:
    return list(iter(lambda: next_path(namenode, satisfier), None))


def names(client: Any, path: str, **how: Any) -> list[str]:
    answer = client.call("listXAttrs", types_pb2.ListXAttrsRequestProto(src=path), **how)
    return [f"{int(x.namespace)}.{x.name}" for x in answer.xAttrs]


def take_off(client: Any, path: str, **how: Any) -> None:
    xattr = types_pb2.XAttrProto(namespace=types_pb2.XAttrProto.USER, name=MARK)
    client.call("removeXAttr", types_pb2.RemoveXAttrRequestProto(src=path, xAttr=xattr), **how)


def snapshot(client: Any, path: str) -> None:
    client.call("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot=path))
    request = pb.CreateSnapshotRequestProto(snapshotRoot=path, snapshotName="s")
    client.call("createSnapshot", request)


def inode_id(client: Any, path: str) -> int:
    return int(client.status(path).fileId)


@pytest.fixture
def directory(client: Any) -> str:
    client.mkdirs("/d")
    return "/d"


# Marking.


def test_a_mark_is_an_edit_as_hadoop_writes_it(client: Any, directory: str) -> None:
    satisfy(client, directory, client_id=b"c" * 16, call_id=7)
    edit = client.namenode.edits()[-1]
    assert isinstance(edit, edits.SetXAttrOp)
    assert (edit.path, edit.xattrs) == ("/d", (XAttr(XAttrNamespace.USER, MARK),))
    assert (edit.rpc_client_id, edit.rpc_call_id) == (b"c" * 16, 7)


def test_a_call_that_is_repeated_marks_once(client: Any, directory: str) -> None:
    how: Any = {"client_id": b"c" * 16, "call_id": 7}
    satisfy(client, directory, **how)
    count = len(client.namenode.log)
    satisfy(client, directory, **how)
    assert len(client.namenode.log) == count


def test_where_no_satisfier_may_run_marks_are_refused(directory: str, client: Any) -> None:
    namesystem = client.namenode.namesystem
    namesystem.settings = replace(namesystem.settings, satisfier_is_external=False)
    with pytest.raises(
        errors.UnsupportedAction,
        match=r"^Cannot request to satisfy storage policy when storage policy satisfier feature "
        r"has been disabled by admin. Seek for an admin help to enable it or use Mover tool.$",
    ):
        satisfy(client, directory)
    with pytest.raises(errors.RemoteError, match="SPS service mode is NONE, so external SPS"):
        next_path(client.namenode)


def test_without_storage_policies_marks_are_refused(directory: str, client: Any) -> None:
    namesystem = client.namenode.namesystem
    namesystem.settings = replace(namesystem.settings, storage_policies_enabled=False)
    with pytest.raises(errors.RemoteError, match="Failed to satisfy storage policy since"):
        satisfy(client, directory)


def test_in_safe_mode_nothing_is_marked(directory: str, client: Any) -> None:
    client.namenode.namesystem.safe_mode.enter()
    with pytest.raises(errors.SafeMode, match="Cannot satisfy storage policy for /d"):
        satisfy(client, directory)


def test_a_path_that_is_not_there_cannot_be_marked(client: Any) -> None:
    with pytest.raises(errors.PathNotFound, match="cannot find /none"):
        satisfy(client, "/none")


def test_a_snapshot_cannot_be_marked(client: Any, directory: str) -> None:
    snapshot(client, "/d")
    with pytest.raises(errors.SnapshotReadOnly):
        satisfy(client, "/d/.snapshot/s")


def test_only_who_may_write_a_path_marks_it(client: Any, alice: Any, directory: str) -> None:
    with pytest.raises(errors.AccessDenied):
        satisfy(alice, directory)
    client.chmod(directory, 0o777)
    satisfy(alice, directory)
    assert told(client.namenode) == [inode_id(client, directory)]


def test_so_many_marks_wait_and_no_more(client: Any) -> None:
    for number in range(4):
        client.mkdirs(f"/{number}")
    for number in range(3):
        satisfy(client, f"/{number}")
    with pytest.raises(
        errors.RemoteError, match=r"^Outstanding satisfier queue limit: 3 exceeded, try later!$"
    ):
        satisfy(client, "/3")
    assert next_path(client.namenode) is not None
    satisfy(client, "/3")


def test_a_file_without_blocks_is_not_marked(client: Any) -> None:
    client.write("/empty")
    satisfy(client, "/empty")
    assert names(client, "/empty") == []
    assert told(client.namenode) == []


def test_a_file_that_is_marked_already_stays_so(client: Any, nodes: Any) -> None:
    client.write("/f", 10)
    satisfy(client, "/f")
    count = len(client.namenode.log)
    satisfy(client, "/f")
    assert len(client.namenode.log) == count
    assert told(client.namenode) == [inode_id(client, "/f")]


def test_of_a_directory_that_is_marked_already_the_caller_is_told(
    client: Any, directory: str
) -> None:
    satisfy(client, directory)
    with pytest.raises(errors.RemoteError, match=r"XAttr: hdfs\.sps already exists. The REPLACE"):
        satisfy(client, directory)


def test_the_mark_counts_as_an_attribute(client: Any, directory: str) -> None:
    namesystem = client.namenode.namesystem
    namesystem.settings = replace(namesystem.settings, max_xattrs_per_inode=0)
    with pytest.raises(errors.RemoteError, match="would exceed limit of 0"):
        satisfy(client, directory)


# What a satisfier is told.


def test_marks_are_told_in_their_order_and_once(client: Any) -> None:
    paths = ["/b", "/a", "/c"]
    for path in paths:
        client.mkdirs(path)
        satisfy(client, path)
    assert told(client.namenode) == [inode_id(client, path) for path in paths]
    assert told(client.namenode) == []


def test_a_mark_that_was_taken_off_is_not_told(client: Any, alice: Any, directory: str) -> None:
    satisfy(client, directory)
    with pytest.raises(errors.AccessDenied):
        take_off(alice, directory)
    take_off(client, directory)
    assert names(client, directory) == []
    assert told(client.namenode) == []


def test_what_was_taken_off_can_be_marked_again(client: Any, directory: str) -> None:
    for _ in range(2):
        satisfy(client, directory)
        assert told(client.namenode) == [inode_id(client, directory)]
        take_off(client, directory)


def test_a_mark_that_a_user_sets_as_an_attribute_counts(client: Any, directory: str) -> None:
    xattr = types_pb2.XAttrProto(namespace=types_pb2.XAttrProto.USER, name=MARK)
    client.call(
        "setXAttr",
        types_pb2.SetXAttrRequestProto(src=directory, xAttr=xattr, flag=types_pb2.XATTR_CREATE),
    )
    assert told(client.namenode) == [inode_id(client, directory)]


def test_what_was_deleted_is_not_told(client: Any) -> None:
    for path in ("/gone/below", "/kept"):
        client.mkdirs(path, create_parent=True)
        satisfy(client, path)
    client.delete("/gone")
    assert told(client.namenode) == [inode_id(client, "/kept")]
    assert len(client.namenode.namesystem.namespace.marks) == 1


def test_what_only_a_snapshot_has_is_not_told(client: Any) -> None:
    client.mkdirs("/s/d")
    satisfy(client, "/s/d")
    snapshot(client, "/s")
    client.delete("/s/d")
    assert told(client.namenode) == []


def test_a_path_that_was_renamed_is_told(client: Any, directory: str) -> None:
    satisfy(client, directory)
    client.rename("/d", "/e")
    assert told(client.namenode) == [inode_id(client, "/e")]


def test_a_satisfier_that_was_not_heard_before_is_told_of_all(client: Any) -> None:
    for path in ("/a", "/b", "/c"):
        client.mkdirs(path)
        satisfy(client, path)
    ids = [inode_id(client, path) for path in ("/a", "/b", "/c")]
    assert told(client.namenode, b"killed----------") == ids
    take_off(client, "/b")
    assert told(client.namenode, b"next------------") == [ids[0], ids[2]]


def test_of_two_that_ask_in_turn_each_is_told_something_new(client: Any) -> None:
    for path in ("/a", "/b", "/c"):
        client.mkdirs(path)
        satisfy(client, path)
    both = [
        next_path(client.namenode, name)
        for name in (b"one-------------", b"two-------------", b"one-------------")
    ]
    assert sorted(filter(None, both)) == [inode_id(client, path) for path in ("/a", "/b", "/c")]


@pytest.mark.parametrize("from_image", [False, True])
def test_marks_are_there_after_a_restart(client: Any, *, from_image: bool, nodes: Any) -> None:
    client.write("/f", 10)
    for path in ("/d/e", "/g"):
        client.mkdirs(path)
    for path in ("/f", "/d", "/g"):
        satisfy(client, path)
    told(client.namenode)
    take_off(client, "/g")
    fresh = client.namenode.restarted(from_image=from_image)
    assert sorted(told(fresh)) == sorted(inode_id(client, path) for path in ("/f", "/d"))


def test_a_namenode_that_becomes_active_tells_of_all_marks(client: Any, directory: str) -> None:
    satisfy(client, directory)
    namesystem = client.namenode.namesystem
    assert len(told(client.namenode)) == 1
    namesystem.become_standby()
    with pytest.raises(errors.StandbyError, match="Not supported by Standby Namenode"):
        next_path(client.namenode)
    namesystem.become_active()
    assert told(client.namenode) == [inode_id(client, directory)]


# The mode changes.


def unmark_all(namenode: InMemoryNamenode) -> None:
    deque(unmarking(namenode.namesystem) or (), maxlen=0)


def test_marks_that_wait_are_taken_off_when_no_satisfier_may_run_any_more(client: Any) -> None:
    for path in ("/told", "/a", "/gone"):
        client.mkdirs(path)
        satisfy(client, path)
    assert next_path(client.namenode) == inode_id(client, "/told")
    change_mode(client.namenode.namesystem, is_external=False)
    client.delete("/gone")
    unmark_all(client.namenode)
    assert names(client, "/a") == []
    assert names(client, "/told") == ["0.hdfs.sps"]
    edit = client.namenode.edits()[-1]
    assert isinstance(edit, edits.RemoveXAttrOp)
    assert edit.path == "/a"
    assert unmarking(client.namenode.namesystem) is None


def test_what_is_left_is_told_when_one_may_run_again(client: Any, directory: str) -> None:
    satisfy(client, directory)
    namesystem = client.namenode.namesystem
    change_mode(namesystem, is_external=False)
    change_mode(namesystem, is_external=True)
    assert unmarking(namesystem) is None
    assert told(client.namenode) == [inode_id(client, directory)]


def test_a_standby_does_not_change_its_mode(client: Any) -> None:
    namesystem = client.namenode.namesystem
    namesystem.become_standby()
    with pytest.raises(errors.UnsupportedAction, match="on standby NameNode is not allowed"):
        change_mode(namesystem, is_external=False)
    assert namesystem.settings.satisfier_is_external
