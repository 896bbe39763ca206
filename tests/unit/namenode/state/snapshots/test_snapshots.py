"""Snapshots: what they show, while the tree goes on and when others go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from howdah import errors
from howdah.formats.edits.codec import decode_record
from howdah.namenode.state.inodes.inodes import File
from howdah.namenode.state.tree.namespace import Namespace
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.testing.fingerprint import check_consistent
from howdah.testing.in_memory import InMemoryNamenode

pytestmark = pytest.mark.usefixtures("nodes")


@pytest.fixture
def snap(client: Any) -> Any:
    """The superuser's client, with words for snapshots; `/d` is snapshottable."""
    client.mkdirs("/d/sub")
    client.write("/d/sub/f", 100, 50)
    allow(client, "/d")
    return client


def allow(client: Any, path: str) -> None:
    client.call("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot=path))


def disallow(client: Any, path: str) -> None:
    client.call("disallowSnapshot", pb.DisallowSnapshotRequestProto(snapshotRoot=path))


def create(client: Any, path: str, name: str = "", **how: Any) -> str:
    request = pb.CreateSnapshotRequestProto(snapshotRoot=path, snapshotName=name)
    return str(client.call("createSnapshot", request, **how).snapshotPath)


def remove(client: Any, path: str, name: str) -> None:
    request = pb.DeleteSnapshotRequestProto(snapshotRoot=path, snapshotName=name)
    client.call("deleteSnapshot", request)


def rename(client: Any, path: str, old: str, new: str) -> None:
    request = pb.RenameSnapshotRequestProto(
        snapshotRoot=path, snapshotOldName=old, snapshotNewName=new
    )
    client.call("renameSnapshot", request)


def tree(client: Any, path: str) -> dict[str, tuple[Any, ...]]:
    """What a path and all below it look like, by the path below `path`."""
    found = {}
    stack = [""]
    while stack:
        below = stack.pop()
        status = client.status(path + below)
        found[below] = (
            status.fileType,
            status.length,
            status.permission.perm,
            status.owner,
            status.group,
            status.modification_time,
            status.block_replication,
            status.fileId,
        )
        if status.fileType == status.IS_DIR:
            stack += [f"{below}/{name}" for name in client.names(path + below)]
    return found


def replayed(namenode: InMemoryNamenode) -> Namespace:
    fresh = Namespace()
    for record in namenode.log:
        fresh.apply(decode_record(record).edit)
        while fresh.must_reap:
            fresh.reap(3)
    return fresh


def test_snapshot_shows_what_was_deleted(snap: Any) -> None:
    assert create(snap, "/d", "s1") == "/d/.snapshot/s1"
    before = tree(snap, "/d/.snapshot/s1")
    snap.delete("/d/sub/f")
    assert not snap.exists("/d/sub/f")
    assert snap.status("/d/.snapshot/s1/sub/f").length == 150
    assert [b.b.numBytes for b in snap.locations("/d/.snapshot/s1/sub/f").blocks] == [100, 50]
    assert tree(snap, "/d/.snapshot/s1") == before


def test_blocks_stay_as_long_as_a_snapshot_has_them(snap: Any, namenode: InMemoryNamenode) -> None:
    create(snap, "/d", "s1")
    create(snap, "/d", "s2")
    snap.delete("/d/sub")
    remove(snap, "/d", "s2")
    assert len(namenode.namesystem.namespace.blocks) == 2
    remove(snap, "/d", "s1")
    namespace = namenode.namesystem.namespace
    assert not namespace.blocks
    assert [inode.path for inode in namespace.inodes.values()] == ["/", "/d"]
    snapshots = namespace.snapshots
    tables = (snapshots.versions, snapshots.dead_of, snapshots.dead_in, snapshots.births)
    assert tables == ({}, {}, {}, {})


def test_replayed_log_makes_the_same_snapshots(snap: Any, namenode: InMemoryNamenode) -> None:
    create(snap, "/d", "s1")
    snap.rename("/d/sub/f", "/d/g")
    snap.mkdirs("/d/new")
    create(snap, "/d", "s2")
    snap.delete("/d/new")
    rename(snap, "/d", "s2", "s3")
    fresh = replayed(namenode).snapshots
    live = namenode.namesystem.namespace.snapshots
    assert {(s.snapshot_id, s.name, s.mtime_ms, s.directory.inode_id) for s in fresh.all()} == {
        (s.snapshot_id, s.name, s.mtime_ms, s.directory.inode_id) for s in live.all()
    }
    assert fresh.births == live.births
    assert {
        i: [(k.name, k.birth, k.death, k.last) for k in v] for i, v in fresh.dead_of.items()
    } == {i: [(k.name, k.birth, k.death, k.last) for k in v] for i, v in live.dead_of.items()}


def test_nothing_is_changed_below_dot_snapshot(snap: Any) -> None:
    create(snap, "/d", "s1")
    inside = "/d/.snapshot/s1/sub"
    calls: tuple[Callable[[], object], ...] = (
        lambda: snap.mkdirs(f"{inside}/x"),
        lambda: snap.create(f"{inside}/x"),
        lambda: snap.delete(f"{inside}/f"),
        lambda: snap.rename(f"{inside}/f", "/f"),
        lambda: snap.rename("/d/sub/f", f"{inside}/g"),
        lambda: snap.rename2(f"{inside}/f", "/f"),
        lambda: snap.chmod(f"{inside}/f", 0o600),
        lambda: snap.chown(f"{inside}/f", "x"),
        lambda: snap.set_times(f"{inside}/f", 1, 1),
        lambda: snap.set_replication(f"{inside}/f", 2),
        lambda: snap.append(f"{inside}/f"),
        lambda: snap.truncate(f"{inside}/f", 1),
        lambda: snap.delete("/d/.snapshot/s1"),
        lambda: snap.delete("/d/.snapshot"),
    )
    for call in calls:
        with pytest.raises(
            errors.SnapshotReadOnly, match="Modification on a read-only snapshot is disallowed"
        ):
            call()


def test_dot_snapshot_lists_the_snapshots(snap: Any) -> None:
    create(snap, "/d", "b")
    create(snap, "/d", "a")
    assert snap.names("/d/.snapshot") == ["a", "b"]
    assert snap.status("/d/.snapshot").fileType == snap.status("/d").fileType
    assert snap.names("/d/.snapshot/a/sub") == ["f"]
    assert snap.names("/d") == ["sub"]
    assert snap.status("/d/.snapshot/c") is None
    assert snap.status("/d/sub/.snapshot") is None
    with pytest.raises(errors.SnapshotError, match="not a snapshottable directory: /d/sub"):
        snap.names("/d/sub/.snapshot")


def test_directory_with_snapshots_neither_goes_nor_moves(snap: Any) -> None:
    snap.mkdirs("/e")
    create(snap, "/d", "s1")
    wanted = "The directory /d cannot be deleted since /d is snapshottable and already has"
    calls: tuple[Callable[[], object], ...] = (
        lambda: snap.delete("/d"),
        lambda: snap.rename("/d", "/e"),
        lambda: snap.rename2("/d", "/e/x"),
    )
    for call in calls:
        with pytest.raises(errors.SnapshotError, match=wanted):
            call()
    remove(snap, "/d", "s1")
    assert snap.delete("/d")


def test_snapshottable_directories_are_not_nested(snap: Any) -> None:
    snap.mkdirs("/e/x")
    with pytest.raises(errors.SnapshotError, match="path=/d/sub, the ancestor /d is already"):
        allow(snap, "/d/sub")
    with pytest.raises(errors.SnapshotError, match="path=/, the subdirectory /d is already"):
        allow(snap, "/")
    allow(snap, "/e/x")
    with pytest.raises(errors.SnapshotError, match="Unable to rename because /e has"):
        snap.rename("/e", "/d")


def test_attributes_in_a_snapshot_are_those_of_then(snap: Any) -> None:
    create(snap, "/d", "s1")
    before = tree(snap, "/d/.snapshot/s1")
    snap.chmod("/d/sub/f", 0o600)
    snap.chown("/d/sub", "alice", "staff")
    snap.set_times("/d/sub/f", 5, 6)
    snap.set_replication("/d/sub/f", 3)
    snap.chmod("/d", 0o700)
    create(snap, "/d", "s2")
    snap.chmod("/d/sub/f", 0o640)
    assert tree(snap, "/d/.snapshot/s1") == before
    assert snap.status("/d/.snapshot/s2/sub/f").permission.perm == 0o600
    remove(snap, "/d", "s1")
    assert snap.status("/d/.snapshot/s2/sub/f").permission.perm == 0o600


def test_renamed_out_of_the_tree_it_stays_in_the_snapshot(
    snap: Any, namenode: InMemoryNamenode
) -> None:
    create(snap, "/d", "s1")
    before = tree(snap, "/d/.snapshot/s1")
    snap.rename("/d/sub", "/elsewhere")
    snap.chmod("/elsewhere/f", 0o600)
    snap.write("/elsewhere/new", 10)
    snap.delete("/elsewhere/f")
    assert tree(snap, "/d/.snapshot/s1") == before
    snap.delete("/elsewhere")
    assert tree(snap, "/d/.snapshot/s1") == before
    while namenode.namesystem.reap():
        pass
    assert len(namenode.namesystem.namespace.blocks) == 2
    remove(snap, "/d", "s1")
    assert not namenode.namesystem.namespace.blocks


def test_append_and_truncation_leave_the_snapshots_length(snap: Any) -> None:
    create(snap, "/d", "s1")
    last = snap.append("/d/sub/f").block
    last.b.numBytes = 70
    snap.complete("/d/sub/f", snap.store(last, 70))
    create(snap, "/d", "s2")
    assert snap.truncate("/d/sub/f", 100)
    lengths = [
        snap.status(path).length
        for path in ("/d/.snapshot/s1/sub/f", "/d/.snapshot/s2/sub/f", "/d/sub/f")
    ]
    assert lengths == [150, 170, 100]
    found = snap.locations("/d/.snapshot/s1/sub/f")
    assert (found.fileLength, len(found.blocks), found.isLastBlockComplete) == (150, 2, True)


def test_snapshot_gets_a_name_if_it_has_none(snap: Any) -> None:
    assert create(snap, "/d").startswith("/d/.snapshot/s2023111")


def test_names_are_checked(snap: Any) -> None:
    create(snap, "/d", "s1")
    create(snap, "/d", "s2")
    with pytest.raises(errors.SnapshotError, match="already a snapshot with the same name"):
        create(snap, "/d", "s1")
    with pytest.raises(errors.SnapshotError, match="The snapshot s2 already exists for dir"):
        rename(snap, "/d", "s1", "s2")
    with pytest.raises(errors.SnapshotError, match="The snapshot s3 does not exist for dir"):
        rename(snap, "/d", "s3", "s2")
    with pytest.raises(errors.SnapshotError, match="s3 from path /d: the snapshot does not"):
        remove(snap, "/d", "s3")
    with pytest.raises(errors.InvalidPath, match="Invalid snapshot name: a/b"):
        create(snap, "/d", "a/b")
    with pytest.raises(errors.SnapshotError, match="is not a snapshottable directory: /d/sub"):
        create(snap, "/d/sub", "s1")
    with pytest.raises(errors.PathNotFound):
        create(snap, "/nothing", "s1")
    with pytest.raises(errors.SnapshotError, match="has snapshot"):
        disallow(snap, "/d")


def test_only_the_owner_makes_snapshots(snap: Any, client_of: Any) -> None:
    alice = client_of("alice")
    with pytest.raises(errors.AccessDenied):
        allow(alice, "/d")
    with pytest.raises(errors.AccessDenied):
        create(alice, "/d", "s1")
    snap.chown("/d", "alice")
    assert create(alice, "/d", "s1") == "/d/.snapshot/s1"
    answer = alice.call(
        "getSnapshottableDirListing", pb.GetSnapshottableDirListingRequestProto()
    ).snapshottableDirList.snapshottableDirListing
    assert [(e.dirStatus.path, e.parent_fullpath, e.snapshot_number) for e in answer] == [
        (b"d", b"/", 1)
    ]
    listed = alice.call(
        "getSnapshotListing", pb.GetSnapshotListingRequestProto(snapshotRoot="/d")
    ).snapshotList.snapshotListing
    assert [(e.dirStatus.path, e.parent_fullpath, e.snapshotID) for e in listed] == [
        (b"s1", b"/d", 0)
    ]


def test_whom_an_acl_lets_into_a_directory_it_lets_into_its_snapshots(
    snap: Any, client_of: Any
) -> None:
    bob = client_of("bob")
    entry = types_pb2.AclEntryProto(
        scope=types_pb2.AclEntryProto.ACCESS,
        type=types_pb2.AclEntryProto.USER,
        permissions=types_pb2.AclEntryProto.READ_EXECUTE,
        name="bob",
    )
    snap.chmod("/d", 0o700)
    create(snap, "/d", "s0")
    snap.call("modifyAclEntries", types_pb2.ModifyAclEntriesRequestProto(src="/d", aclSpec=[entry]))
    create(snap, "/d", "s1")
    assert bob.names("/d") == ["sub"]
    assert bob.names("/d/.snapshot") == ["s0", "s1"]
    assert bob.names("/d/.snapshot/s1/sub") == ["f"]
    with pytest.raises(errors.AccessDenied):
        bob.names("/d/.snapshot/s0/sub")
    snap.call("removeAcl", types_pb2.RemoveAclRequestProto(src="/d"))
    for path in ("/d", "/d/.snapshot"):
        with pytest.raises(errors.AccessDenied):
            bob.names(path)
    # What a snapshot shows has the attributes of its time, and so has the directory above.
    assert bob.names("/d/.snapshot/s1/sub") == ["f"]


def test_mode_of_then_says_who_walks_into_a_snapshot(snap: Any, client_of: Any) -> None:
    bob = client_of("bob")
    create(snap, "/d", "s1")
    snap.chmod("/d", 0o700)
    create(snap, "/d", "s2")
    assert bob.names("/d/.snapshot/s1") == ["sub"]
    assert bob.status("/d/.snapshot/s1/sub/f").length == 150
    with pytest.raises(errors.AccessDenied):
        bob.exists("/d/.snapshot/none")
    snap.chmod("/d", 0o755)
    assert bob.names("/d/.snapshot/s1/sub") == ["f"]
    for path in ("/d/.snapshot/s2", "/d/.snapshot/s2/sub", "/d/.snapshot/s2/sub/f"):
        with pytest.raises(errors.AccessDenied):
            bob.names(path)


def test_root_of_a_snapshot_of_the_root_has_its_mode_of_then(snap: Any, client_of: Any) -> None:
    bob = client_of("bob")
    disallow(snap, "/d")
    allow(snap, "/")
    create(snap, "/", "s1")
    snap.chmod("/", 0o700)
    assert bob.names("/.snapshot/s1/d/sub") == ["f"]
    with pytest.raises(errors.AccessDenied):
        bob.names("/d/sub")


@pytest.mark.parametrize("path", ["/d", "/nothing"])
def test_snapshot_without_a_name_is_not_deleted(snap: Any, path: str) -> None:
    create(snap, "/d", "s1")
    with pytest.raises(errors.RemoteError, match=r"^The snapshot name is null or empty\.$"):
        remove(snap, path, "")
    assert snap.names("/d/.snapshot") == ["s1"]


def test_repeated_creation_gets_the_same_answer(snap: Any) -> None:
    how: dict[str, Any] = {"client_id": b"0123456789abcdef", "call_id": 7}
    assert create(snap, "/d", **how) == create(snap, "/d", **how)
    assert len(snap.names("/d/.snapshot")) == 1


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_snapshot_gets_no_name_by_which_no_path_leads_to_it(snap: Any, name: str) -> None:
    create(snap, "/d", "s1")
    with pytest.raises(errors.InvalidPath, match="Invalid snapshot name"):
        rename(snap, "/d", "s1", name)
    assert snap.names("/d/.snapshot") == ["s1"]


@pytest.mark.parametrize("after", ["removed", "disallowed", "gone"])
def test_repeated_creation_of_what_is_gone_gets_the_same_answer_after_a_start(
    snap: Any, after: str
) -> None:
    how: dict[str, Any] = {"client_id": b"0123456789abcdef", "call_id": 7}
    first = create(snap, "/d", "s1", **how)
    remove(snap, "/d", "s1")
    if after != "removed":
        disallow(snap, "/d")
    if after == "gone":
        snap.delete("/d")
    snap.namenode = snap.namenode.restarted()
    assert create(snap, "/d", "s1", **how) == first


def test_block_in_a_snapshot_is_not_cut_but_copied(snap: Any, namenode: InMemoryNamenode) -> None:
    create(snap, "/d", "s1")
    assert snap.truncate("/d/sub/f", 120) is False
    node, order = next((node, order) for node in namenode.nodes for order in node.orders())
    file = namenode.namesystem.namespace.find("/d/sub/f")
    assert isinstance(file, File)
    old = snap.locations("/d/.snapshot/s1/sub/f").blocks[-1].b
    assert order.block.b.blockId == old.blockId
    assert order.truncateBlock.blockId == file.blocks[-1].block_id != old.blockId
    node.recover(order, 20, [node])
    assert (snap.status("/d/sub/f").length, file.writer) == (120, None)
    assert snap.status("/d/.snapshot/s1/sub/f").length == 150
    assert len(namenode.namesystem.namespace.blocks) == 3


@pytest.mark.parametrize("from_image", [False, True])
@pytest.mark.parametrize("deleted_first", [False, True])
def test_copy_is_made_after_a_start_though_its_snapshot_is_gone(
    snap: Any, namenode: InMemoryNamenode, deleted_first: bool, from_image: bool
) -> None:
    create(snap, "/d", "s1")
    source = snap.locations("/d/.snapshot/s1/sub/f").blocks[-1].b
    assert snap.truncate("/d/sub/f", 120) is False
    if deleted_first:
        remove(snap, "/d", "s1")
    fresh = started_anew(namenode, from_image=from_image)
    snap.namenode = fresh
    if not deleted_first:
        remove(snap, "/d", "s1")
    assert source.blockId in fresh.namesystem.namespace.blocks
    fresh.tick(2000)
    commands = [command for node in fresh.nodes for command in node.heartbeat()]
    assert not [block for command in commands for block in command.blkCmd.blocks]
    (order,) = (order for command in commands for order in command.recoveryCmd.blocks)
    assert order.block.b.blockId == source.blockId
    fresh.nodes[0].recover(order, 20, fresh.nodes)
    file = fresh.namesystem.namespace.find("/d/sub/f")
    assert isinstance(file, File)
    assert (file.length_bytes, file.writer) == (120, None)
    assert order.truncateBlock.blockId == file.blocks[-1].block_id
    assert source.blockId not in fresh.namesystem.namespace.blocks


def started_anew(namenode: InMemoryNamenode, *, from_image: bool) -> InMemoryNamenode:
    """Its datanodes have reported what they have."""
    fresh = namenode.restarted(from_image=from_image)
    fresh.nodes = namenode.nodes
    for node in fresh.nodes:
        node.namenode = fresh
        node.register()
        node.heartbeat()
        node.report()
    fresh.namesystem.safe_mode.leave()
    return fresh


def test_image_of_a_cut_at_the_end_of_an_older_snapshot_can_be_loaded(
    snap: Any, namenode: InMemoryNamenode
) -> None:
    snap.write("/d/sub/g", 100)
    create(snap, "/d", "s1")
    first = snap.append("/d/sub/g", new_block=True).block.b
    assert snap.complete("/d/sub/g", snap.store(snap.add_block("/d/sub/g", first), 50))
    create(snap, "/d", "s2")
    assert snap.truncate("/d/sub/g", 120) is False
    remove(snap, "/d", "s2")
    fresh = namenode.restarted(from_image=True).namesystem.namespace
    file = fresh.find("/d/sub/g")
    assert isinstance(file, File)
    assert file.length_bytes == 120
    assert fresh.snapshots.copies.keys() == {file.block_ids[-1]}


def test_snapshot_of_a_file_that_is_gone_before_it_was_copied_has_all_its_bytes(
    snap: Any, namenode: InMemoryNamenode
) -> None:
    create(snap, "/d", "s1")
    source = snap.locations("/d/.snapshot/s1/sub/f").blocks[-1].b
    assert snap.truncate("/d/sub/f", 120) is False
    create(snap, "/d", "s2")
    snap.delete("/d/sub/f")
    remove(snap, "/d", "s1")
    for _ in range(2):
        found = snap.locations("/d/.snapshot/s2/sub/f")
        assert found.fileLength == 120
        assert found.blocks[-1].b.blockId == source.blockId
        assert found.blocks[-1].locs
        snap.namenode = started_anew(snap.namenode, from_image=True)
    remove(snap, "/d", "s2")
    assert not snap.namenode.namesystem.namespace.blocks
    assert not snap.namenode.namesystem.namespace.snapshots.copies


def test_a_directory_may_go_into_one_that_was_in_it(snap: Any) -> None:
    snap.mkdirs("/d/a/b")
    for name in ("s0", "s1", "s2"):
        create(snap, "/d", name)
    snap.rename("/d/a/b", "/d/b")
    snap.rename("/d/a", "/d/b/a")
    for name in ("s2", "s0"):
        remove(snap, "/d", name)
        for path in ("/d/.snapshot/s1/a/b", "/d/b/a"):
            assert snap.exists(path)
            assert snap.names(path) == []
    remove(snap, "/d", "s1")
    assert snap.names("/d") == ["b", "sub"]
    check_consistent(snap.namenode.namesystem.namespace)


def test_what_was_renamed_on_all_levels_of_a_deep_tree_is_found(snap: Any) -> None:
    levels = 600
    snap.mkdirs("/d" + "/a" * levels)
    for name in ("s0", "s1"):
        create(snap, "/d", name)
    for level in range(levels, 0, -1):
        above = "/d" + "/a" * (level - 1)
        snap.rename(f"{above}/a", f"{above}/b")
    remove(snap, "/d", "s1")
    assert snap.exists("/d/.snapshot/s0" + "/a" * levels)
    assert snap.exists("/d" + "/b" * levels)


@pytest.mark.parametrize("gone", ["/d/sub/f", "/d"])
def test_what_a_file_is_copied_from_goes_with_it_when_no_snapshot_is_allowed_any_more(
    snap: Any, gone: str
) -> None:
    create(snap, "/d", "s1")
    assert snap.truncate("/d/sub/f", 120) is False
    remove(snap, "/d", "s1")
    disallow(snap, "/d")
    snap.delete(gone)
    for _ in range(2):
        assert not snap.namenode.namesystem.namespace.blocks
        assert not snap.namenode.namesystem.namespace.snapshots.copies
        snap.namenode.tick()
        snap.namenode = started_anew(snap.namenode, from_image=True)


def test_what_follows_a_short_block_in_a_snapshot_is_not_overlaid_by_an_append(snap: Any) -> None:
    create(snap, "/d", "s1")
    assert snap.truncate("/d/sub/f", 100)
    assert not snap.append("/d/sub/f").HasField("block")
    last = snap.store(snap.add_block("/d/sub/f"), 7)
    assert snap.complete("/d/sub/f", last)
    found = snap.locations("/d/.snapshot/s1/sub/f").blocks
    assert [(block.offset, block.b.numBytes) for block in found] == [(0, 100), (100, 50)]
    assert snap.status("/d/sub/f").length == 107


def test_parts_that_are_in_a_snapshot_are_not_joined(snap: Any) -> None:
    snap.write("/d/sub/g", 10)
    create(snap, "/d", "s1")
    with pytest.raises(errors.SnapshotError, match="the source file /d/sub/g is in snapshot"):
        snap.concat("/d/sub/f", "/d/sub/g")
    snap.write("/d/sub/h", 10)
    snap.concat("/d/sub/f", "/d/sub/h")
    assert snap.status("/d/.snapshot/s1/sub/f").length == 150
    assert snap.status("/d/sub/f").length == 160


def test_a_directorys_status_says_that_it_may_have_snapshots(snap: Any) -> None:
    def flags(path: str) -> int:
        return int(snap.call("getFileInfo", pb.GetFileInfoRequestProto(src=path)).fs.flags)

    create(snap, "/d", "s")
    assert [flags(path) for path in ("/d", "/d/sub", "/d/.snapshot/s")] == [8, 0, 0]


def test_summary_of_a_snapshot_is_of_what_it_shows(snap: Any) -> None:
    create(snap, "/d", "s1")
    snap.delete("/d/sub/f")
    request = pb.GetContentSummaryRequestProto(path="/d/.snapshot/s1")
    found = snap.call("getContentSummary", request).summary
    assert (found.length, found.fileCount, found.directoryCount) == (150, 1, 2)
    request = pb.GetContentSummaryRequestProto(path="/d")
    found = snap.call("getContentSummary", request).summary
    assert (found.fileCount, found.snapshotFileCount, found.snapshotLength) == (1, 1, 150)
    assert (found.directoryCount, found.snapshotDirectoryCount) == (2, 0)


def test_image_tells_of_what_was_deleted_how_it_was_last(
    snap: Any, namenode: InMemoryNamenode
) -> None:
    """Hadoop gives up the blocks behind what the last difference has of a deleted file."""
    create(snap, "/d", "s1")
    snap.append("/d/sub/f")
    last = snap.store(snap.locations("/d/sub/f").lastBlock, 80)
    assert snap.complete("/d/sub/f", last)
    create(snap, "/d", "s2")
    inode_id = snap.status("/d/sub/f").fileId
    snap.delete("/d/sub")
    found = namenode.restarted(from_image=True).namesystem.namespace.snapshots.versions[inode_id]
    assert [(version.last, version.length_bytes) for version in found] == [(0, 150), (1, 180)]
