"""Quotas: what counts, who is refused, and that the counts are those of the tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from howdah import errors
from howdah.formats.edits.codec import decode_record
from howdah.namenode.state.inodes.inode_features import Quota
from howdah.namenode.state.inodes.inodes import Directory, INode
from howdah.namenode.state.tree import quotas
from howdah.namenode.state.tree.namespace import Namespace
from howdah.namenode.state.tree.usage import Measuring
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.testing.in_memory import InMemoryDatanode, InMemoryNamenode

BLOCK = 1024
KEEP = (1 << 63) - 1
Nodes = list[InMemoryDatanode]


def set_policy(client: Any, path: str, policy: str) -> None:
    client.call("setStoragePolicy", pb.SetStoragePolicyRequestProto(src=path, policyName=policy))


def set_quota(
    client: Any,
    path: str,
    names: int = KEEP,
    space: int = KEEP,
    kind: str | None = None,
    **how: Any,
) -> None:
    request = pb.SetQuotaRequestProto(
        path=path,
        namespaceQuota=names & (1 << 64) - 1,
        storagespaceQuota=space & (1 << 64) - 1,
        storageType=kind,
    )
    client.call("setQuota", request, **how)


def quota(namenode: InMemoryNamenode, path: str) -> Quota:
    directory = namenode.namesystem.namespace.find(path)
    assert isinstance(directory, Directory)
    assert directory.quota is not None
    return directory.quota


def used(namenode: InMemoryNamenode, path: str) -> tuple[int, int]:
    found = quota(namenode, path)
    return found.used_names, found.used_bytes


@pytest.fixture(autouse=True)
def _counts_are_right(namenode: InMemoryNamenode) -> Iterator[None]:
    """After every test: what is kept is what is there, live and from the log."""
    yield
    fresh = Namespace()
    for record in namenode.log:
        fresh.apply(decode_record(record).edit)
    for namespace in (namenode.namesystem.namespace, fresh):
        for inode in namespace.inodes.values():
            if isinstance(inode, Directory) and inode.quota is not None:
                kept = inode.quota
                usage = namespace.measuring.of_subtree(inode)
                assert (kept.used_names, kept.used_bytes) == (usage.names, usage.space_bytes)
                kinds = {k: n for k, n in kept.used_by_kind_bytes.items() if n}
                assert kinds == {k: n for k, n in usage.by_kind_bytes.items() if n}


def test_a_bound_on_names_counts_the_directory_itself(
    client: Any, namenode: InMemoryNamenode
) -> None:
    client.mkdirs("/d")
    set_quota(client, "/d", 2)
    client.create("/d/f")
    with pytest.raises(errors.NamespaceQuotaExceeded) as caught:
        client.create("/d/g")
    assert caught.value.message == (
        "The NameSpace quota (directories and files) of directory /d is exceeded: "
        "quota=2 file count=3"
    )
    with pytest.raises(errors.NamespaceQuotaExceeded):
        client.mkdirs("/d/e")
    assert used(namenode, "/d") == (2, 0)


def test_what_would_not_fit_with_its_parents_makes_none_of_them(client: Any) -> None:
    client.mkdirs("/d")
    set_quota(client, "/d", 3)
    with pytest.raises(errors.NamespaceQuotaExceeded):
        client.mkdirs("/d/a/b/c")
    assert client.namenode.namesystem.namespace.find("/d/a") is None


def test_overwriting_needs_no_further_name(client: Any) -> None:
    client.mkdirs("/d")
    client.create("/d/f")
    set_quota(client, "/d", 2)
    client.create("/d/f", flag=pb.CREATE | pb.OVERWRITE)


def test_deleting_makes_room(client: Any, namenode: InMemoryNamenode, nodes: Nodes) -> None:
    client.mkdirs("/d/e")
    client.write("/d/e/f", 10)
    set_quota(client, "/d", 3, 10_000)
    client.delete("/d/e")
    assert used(namenode, "/d") == (1, 0)


def test_a_block_that_is_written_counts_in_full_until_the_file_is_closed(
    client: Any, namenode: InMemoryNamenode, nodes: Nodes
) -> None:
    client.mkdirs("/d")
    set_quota(client, "/d", space=2 * BLOCK)
    client.create("/d/f", replication=2)
    block = client.add_block("/d/f")
    assert used(namenode, "/d") == (2, 2 * BLOCK)
    assert client.complete("/d/f", client.store(block, 100)) is True
    assert used(namenode, "/d") == (2, 200)


def test_a_block_that_grows_beyond_the_block_size_counts_with_what_is_known_of_it(
    client: Any, namenode: InMemoryNamenode, nodes: Nodes
) -> None:
    """Nobody stops its writer: what was written is there."""
    client.mkdirs("/d")
    set_quota(client, "/d", space=2 * BLOCK)
    client.create("/d/f", replication=2)
    block = client.add_block("/d/f")
    client.fsync("/d/f", 5 * BLOCK)
    assert used(namenode, "/d") == (2, 10 * BLOCK)
    with pytest.raises(errors.SpaceQuotaExceeded):
        client.add_block("/d/f", client.store(block, 6 * BLOCK))
    assert client.complete("/d/f", client.store(block, 7 * BLOCK)) is True
    assert used(namenode, "/d") == (2, 14 * BLOCK)


def test_a_block_that_does_not_fit_is_refused(client: Any, nodes: Nodes) -> None:
    client.mkdirs("/d")
    set_quota(client, "/d", space=3 * BLOCK)
    client.create("/d/f", replication=2)
    previous = client.store(client.add_block("/d/f"), BLOCK)
    with pytest.raises(errors.SpaceQuotaExceeded) as caught:
        client.add_block("/d/f", previous)
    assert caught.value.message == (
        "The DiskSpace quota of /d is exceeded: quota = 3072 B = 3 KB "
        "but diskspace consumed = 4096 B = 4 KB"
    )


def test_the_block_before_counts_with_its_length_when_the_next_is_asked_for(
    client: Any, nodes: Nodes
) -> None:
    client.mkdirs("/d")
    set_quota(client, "/d", space=BLOCK + 100)
    client.create("/d/f")
    previous = client.store(client.add_block("/d/f"), 100)
    client.add_block("/d/f", previous)


def test_more_replicas_count(client: Any, nodes: Nodes) -> None:
    client.mkdirs("/d")
    client.write("/d/f", 100)
    set_quota(client, "/d", space=250)
    client.set_replication("/d/f", 2)
    with pytest.raises(errors.SpaceQuotaExceeded):
        client.set_replication("/d/f", 3)
    client.set_replication("/d/f", 1)


def test_appending_reserves_a_full_block(
    client: Any, namenode: InMemoryNamenode, nodes: Nodes
) -> None:
    client.mkdirs("/d")
    client.write("/d/f", 100)
    set_quota(client, "/d", space=BLOCK - 1)
    with pytest.raises(errors.SpaceQuotaExceeded):
        client.append("/d/f")
    set_quota(client, "/d", space=BLOCK)
    client.append("/d/f")
    assert used(namenode, "/d") == (2, BLOCK)


def test_truncating_frees(client: Any, namenode: InMemoryNamenode, nodes: Nodes) -> None:
    client.mkdirs("/d")
    client.write("/d/f", BLOCK, 100)
    set_quota(client, "/d", space=BLOCK + 100)
    client.truncate("/d/f", BLOCK)
    assert used(namenode, "/d") == (2, BLOCK)
    client.truncate("/d/f", 10)
    assert used(namenode, "/d") == (2, 10)


def test_concat_takes_names_away(client: Any, namenode: InMemoryNamenode, nodes: Nodes) -> None:
    client.mkdirs("/d")
    client.write("/d/a", 100)
    client.write("/d/b", 10)
    set_quota(client, "/d", 3, 110)
    client.concat("/d/a", "/d/b")
    assert used(namenode, "/d") == (2, 110)


def test_concat_to_a_file_with_more_replicas_needs_room(client: Any, nodes: Nodes) -> None:
    client.mkdirs("/d")
    client.write("/d/a", 100, replication=2)
    client.write("/d/b", 10)
    set_quota(client, "/d", space=210)
    with pytest.raises(errors.SpaceQuotaExceeded):
        client.concat("/d/a", "/d/b")


@pytest.mark.parametrize("operation", ["rename", "rename2"])
def test_what_moves_in_must_fit(
    client: Any, namenode: InMemoryNamenode, nodes: Nodes, operation: str
) -> None:
    client.mkdirs("/d")
    client.mkdirs("/from/e")
    client.write("/from/e/f", 100)
    set_quota(client, "/d", 3, 99)
    with pytest.raises(errors.SpaceQuotaExceeded):
        getattr(client, operation)("/from/e", "/d/e")
    set_quota(client, "/d", 2, 100)
    with pytest.raises(errors.NamespaceQuotaExceeded):
        getattr(client, operation)("/from/e", "/d/e")
    set_quota(client, "/d", 3)
    set_quota(client, "/from", 10)
    getattr(client, operation)("/from/e", "/d/e")
    assert used(namenode, "/d") == (3, 100)
    assert used(namenode, "/from") == (1, 0)


@pytest.mark.parametrize("operation", ["rename", "rename2"])
def test_what_moves_in_must_fit_where_the_policy_there_puts_it(
    client: Any, nodes: Nodes, operation: str
) -> None:
    client.mkdirs("/d")
    client.mkdirs("/from/e")
    client.write("/from/e/f", 100)
    set_policy(client, "/d", "ALL_SSD")
    set_quota(client, "/d", space=99, kind="SSD")
    with pytest.raises(errors.TypeQuotaExceeded):
        getattr(client, operation)("/from/e", "/d/e")
    set_policy(client, "/from/e", "HOT")
    getattr(client, operation)("/from/e", "/d/e")


def test_moving_within_a_full_directory_needs_no_room(client: Any) -> None:
    client.mkdirs("/d/a")
    client.mkdirs("/d/b")
    set_quota(client, "/d", 3)
    client.rename("/d/a", "/d/b")
    client.rename2("/d/b", "/d/c")


@pytest.mark.parametrize("operation", ["rename", "rename2"])
def test_a_move_measures_nothing_that_counts_already(
    client: Any,
    namenode: InMemoryNamenode,
    nodes: Nodes,
    operation: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Millions of files may be below what moves, and meanwhile nobody else is served."""
    client.mkdirs("/d/a/big/e")
    client.mkdirs("/d/b")
    client.mkdirs("/free")
    client.write("/d/a/big/e/f", 100)
    set_quota(client, "/d", 50)
    measured: list[str] = []
    of_subtree = Measuring.of_subtree

    def note(self: Measuring, top: INode, parent: INode | None = None) -> quotas.Usage:
        measured.append(top.name)
        return of_subtree(self, top, parent)

    monkeypatch.setattr(Measuring, "of_subtree", note)
    getattr(client, operation)("/d/a/big", "/d/b/big")
    assert measured == [], "the bounds are above both places"
    assert used(namenode, "/d") == (6, 100)
    getattr(client, operation)("/d/b/big", "/free/big")
    assert measured == ["big"]
    getattr(client, operation)("/free/big", "/free/again")
    assert measured == ["big"], "nothing here has bounds"
    set_quota(client, "/free/again", 20)
    measured.clear()
    getattr(client, operation)("/free/again", "/d/a/big")
    assert measured == [], "it has bounds of its own, which count"
    assert used(namenode, "/d") == (6, 100)
    set_policy(client, "/free", "ALL_SSD")
    getattr(client, operation)("/d/a/big", "/free/big")
    kinds = quota(namenode, "/free/big").used_by_kind_bytes
    assert {kind.name: count for kind, count in kinds.items()} == {"SSD": 100}
    assert quota(namenode, "/d").used_by_kind_bytes == {}


def test_a_bound_below_what_is_used_lets_nothing_more_in(client: Any) -> None:
    client.mkdirs("/d/a")
    set_quota(client, "/d", 1)
    with pytest.raises(errors.NamespaceQuotaExceeded):
        client.create("/d/f")
    client.delete("/d/a")


def test_a_type_of_storage_has_a_bound_of_its_own(client: Any, nodes: Nodes) -> None:
    client.mkdirs("/d")
    set_quota(client, "/d", space=2 * BLOCK, kind="DISK")
    client.create("/d/f", replication=3)
    with pytest.raises(errors.TypeQuotaExceeded) as caught:
        client.add_block("/d/f")
    assert caught.value.message == (
        "Quota by storage type : DISK on path : /d is exceeded. "
        "quota = 2 KB but space consumed = 3 KB"
    )
    set_quota(client, "/d", space=-1, kind="DISK")
    client.add_block("/d/f")


def test_a_policy_moves_what_counts_to_another_type(
    client: Any, namenode: InMemoryNamenode, nodes: Nodes
) -> None:
    client.mkdirs("/d")
    client.write("/d/f", 100)
    set_quota(client, "/d", space=1 << 20, kind="SSD")
    set_policy(client, "/d", "ALL_SSD")
    found = quota(namenode, "/d").used_by_kind_bytes
    assert {kind.name: count for kind, count in found.items() if count} == {"SSD": 100}


@pytest.mark.parametrize("path", ["/d/e/f", "/d/e", "/other"])
def test_a_policy_counts_only_what_it_is_set_on(
    client: Any, namenode: InMemoryNamenode, nodes: Nodes, path: str
) -> None:
    """Everybody may give his files policies, and the trees of others are large."""
    client.mkdirs("/other")
    client.write("/d/e/f", 100)
    client.write("/d/g", 10)
    set_quota(client, "/d", 50)
    kept = quota(namenode, "/d")
    kept.used_names += 7
    set_policy(client, path, "ALL_SSD")
    assert kept.used_names == 4 + 7, "it was counted anew"
    kept.used_names -= 7
    there = {"DISK": 10, "SSD": 100} if path != "/other" else {"DISK": 110}
    assert {kind.name: count for kind, count in kept.used_by_kind_bytes.items() if count} == there


@pytest.mark.parametrize("path", ["/s/to/d/e/f", "/s/to/d/e", "/s/to/d", "/s/to", "/s"])
@pytest.mark.parametrize("bounded", ["/s", "/s/from", "/s/to", "/s/to/d", "/s/to/d/e", "/"])
def test_a_policy_counts_where_snapshots_show_what_it_is_set_on(
    client: Any, nodes: Nodes, path: str, bounded: str
) -> None:
    """What was moved is where it was, too, and so is what is in it."""
    client.mkdirs("/s/to")
    client.mkdirs("/s/from/sub")
    client.write("/s/from/d/e/f", 100)
    client.write("/s/from/d/g", 10)
    client.call("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot="/s"))
    client.call(
        "createSnapshot", pb.CreateSnapshotRequestProto(snapshotRoot="/s", snapshotName="s1")
    )
    client.rename("/s/from/d", "/s/from/sub/d")
    client.call(
        "createSnapshot", pb.CreateSnapshotRequestProto(snapshotRoot="/s", snapshotName="s2")
    )
    client.rename("/s/from/sub/d", "/s/to/d")
    client.rename("/s/from/sub", "/s/to/d/e/sub")
    set_quota(client, bounded, 50)
    set_policy(client, path, "ALL_SSD")
    set_policy(client, path, "ONE_SSD")


@pytest.mark.parametrize("operation", ["rename", "rename2"])
def test_bounds_that_move_count_as_the_policy_there_places(
    client: Any, namenode: InMemoryNamenode, nodes: Nodes, operation: str
) -> None:
    client.mkdirs("/hot/e/bounded")
    client.write("/hot/e/bounded/f", 100)
    set_quota(client, "/hot/e/bounded", space=1 << 20, kind="SSD")
    client.mkdirs("/fast")
    set_policy(client, "/fast", "ALL_SSD")
    getattr(client, operation)("/hot/e", "/fast/e")
    found = quota(namenode, "/fast/e/bounded").used_by_kind_bytes
    assert {kind.name: count for kind, count in found.items() if count} == {"SSD": 100}


def test_only_the_superuser_sets_them(client: Any) -> None:
    client.mkdirs("/d")
    with pytest.raises(errors.AccessDenied, match="Superuser privilege"):
        set_quota(client, "/d", 5, user="bob")


def test_a_file_has_none(client: Any) -> None:
    client.create("/f")
    with pytest.raises(errors.PathIsNotDirectory):
        set_quota(client, "/f", 5)
    with pytest.raises(errors.PathNotFound):
        set_quota(client, "/nope", 5)


def test_clearing_the_quotas_of_the_root_takes_them_away(client: Any) -> None:
    def bounds() -> tuple[int, int]:
        usage = client.call("getQuotaUsage", pb.GetQuotaUsageRequestProto(path="/")).usage
        return usage.quota, usage.spaceQuota

    unbounded = (1 << 63) - 1, (1 << 64) - 1
    set_quota(client, "/", -1)
    assert bounds() == unbounded
    set_quota(client, "/", -1, 5000)
    assert bounds() == (unbounded[0], 5000)
    set_quota(client, "/", -1, -1)
    assert bounds() == unbounded
    set_quota(client, "/", 9)
    assert bounds()[0] == 9
    set_quota(client, "/", -1)
    assert bounds() == unbounded


def test_usage_says_what_each_storage_type_takes(client: Any, nodes: Nodes) -> None:
    def takes(path: str) -> dict[str, int]:
        usage = client.call("getQuotaUsage", pb.GetQuotaUsageRequestProto(path=path)).usage
        infos = usage.typeQuotaInfos.typeQuotaInfo
        return {types_pb2.StorageTypeProto.Name(i.type): i.consumed for i in infos if i.consumed}

    client.mkdirs("/d")
    client.call("setStoragePolicy", pb.SetStoragePolicyRequestProto(src="/d", policyName="HOT"))
    client.write("/d/f", 100)
    client.mkdirs("/plain")
    client.write("/plain/f", 100)
    assert takes("/d") == {"DISK": 100}
    assert takes("/d/f") == {"DISK": 100}
    assert takes("/plain") == {}
    assert takes("/") == {"DISK": 100}
    set_quota(client, "/d", 7, 5000)
    assert takes("/d") == {"DISK": 100}
    summary = client.call("getContentSummary", pb.GetContentSummaryRequestProto(path="/d")).summary
    (info,) = [i for i in summary.typeQuotaInfos.typeQuotaInfo if i.consumed]
    assert (info.type, info.consumed) == (types_pb2.DISK, 100)


def test_summaries_tell_bounds_and_counts(client: Any, nodes: Nodes) -> None:
    client.mkdirs("/d")
    client.write("/d/f", 100)
    set_quota(client, "/d", 7, 5000)
    usage = client.call("getQuotaUsage", pb.GetQuotaUsageRequestProto(path="/d")).usage
    assert (usage.quota, usage.fileAndDirectoryCount) == (7, 2)
    assert (usage.spaceQuota, usage.spaceConsumed) == (5000, 100)
    summary = client.call("getContentSummary", pb.GetContentSummaryRequestProto(path="/d")).summary
    assert (summary.quota, summary.spaceQuota) == (7, 5000)
    set_quota(client, "/d", -1, -1)
    usage = client.call("getQuotaUsage", pb.GetQuotaUsageRequestProto(path="/d")).usage
    assert usage.quota == (1 << 64) - 1


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.50 KB"), (3 << 30, "3 GB")]
)
def test_bytes_are_told_with_a_prefix(count: int, text: str) -> None:
    assert quotas.readable(count) == text


def test_types_are_those_of_the_wire() -> None:
    assert {k.name for k in quotas.COUNTED_KINDS} | {"RAM_DISK"} == set(
        types_pb2.StorageTypeProto.keys()
    )


# What only snapshots have.


def allow(client: Any, path: str) -> None:
    client.call("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot=path))


def snapshot(client: Any, path: str, name: str) -> None:
    request = pb.CreateSnapshotRequestProto(snapshotRoot=path, snapshotName=name)
    client.call("createSnapshot", request)


def drop_snapshot(client: Any, path: str, name: str) -> None:
    request = pb.DeleteSnapshotRequestProto(snapshotRoot=path, snapshotName=name)
    client.call("deleteSnapshot", request)


@pytest.fixture
def kept(client: Any, nodes: Nodes) -> Any:
    """`/d`, with bounds, has `e/f` of a block and `e/g` of two; `s1` shows them."""
    client.mkdirs("/d/e")
    client.write("/d/e/f", 10)
    client.write("/d/e/g", BLOCK, 20, replication=2)
    set_quota(client, "/d", 100, 100 * BLOCK)
    allow(client, "/d")
    snapshot(client, "/d", "s1")
    return client


def test_what_is_deleted_counts_as_long_as_a_snapshot_has_it(
    kept: Any, namenode: InMemoryNamenode
) -> None:
    kept.delete("/d/e")
    assert used(namenode, "/d") == (4, 10 + 2 * (BLOCK + 20))
    drop_snapshot(kept, "/d", "s1")
    assert used(namenode, "/d") == (1, 0)


def test_what_came_after_the_snapshot_is_free_at_once(
    kept: Any, namenode: InMemoryNamenode
) -> None:
    kept.write("/d/e/h", 30)
    kept.mkdirs("/d/e/sub/sub")
    kept.delete("/d/e")
    assert used(namenode, "/d") == (4, 10 + 2 * (BLOCK + 20))


def test_what_is_moved_away_counts_here_as_it_was_and_there_as_it_is(
    kept: Any, namenode: InMemoryNamenode
) -> None:
    kept.mkdirs("/there")
    set_quota(kept, "/there", 100, 100 * BLOCK)
    kept.rename("/d/e", "/there/e")
    kept.write("/there/e/h", 30)
    assert used(namenode, "/d") == (4, 10 + 2 * (BLOCK + 20))
    assert used(namenode, "/there") == (5, 10 + 2 * (BLOCK + 20) + 30)
    kept.delete("/there/e")
    assert used(namenode, "/there") == (1, 0)
    drop_snapshot(kept, "/d", "s1")
    assert used(namenode, "/d") == (1, 0)


def test_a_file_counts_with_the_blocks_and_the_replication_that_snapshots_have(
    kept: Any, namenode: InMemoryNamenode
) -> None:
    kept.truncate("/d/e/g", BLOCK)
    kept.call("setReplication", pb.SetReplicationRequestProto(src="/d/e/g", replication=1))
    assert used(namenode, "/d") == (4, 10 + 2 * (BLOCK + 20))
    drop_snapshot(kept, "/d", "s1")
    assert used(namenode, "/d") == (4, 10 + BLOCK)


def test_what_snapshots_have_leaves_no_room(kept: Any) -> None:
    kept.delete("/d/e/f")
    set_quota(kept, "/d", 4)
    refusals: tuple[Callable[[], object], ...] = (
        lambda: kept.create("/d/h"),
        lambda: kept.create("/d/e/g", flag=pb.CREATE | pb.OVERWRITE),
        lambda: kept.mkdirs("/d/h"),
    )
    for refused in refusals:
        with pytest.raises(errors.NamespaceQuotaExceeded):
            refused()
    drop_snapshot(kept, "/d", "s1")
    kept.create("/d/h")


def test_counts_are_the_same_after_a_start_from_an_image(
    kept: Any, namenode: InMemoryNamenode
) -> None:
    kept.rename("/d/e/f", "/d/f")
    snapshot(kept, "/d", "s2")
    kept.delete("/d/e")
    before = used(namenode, "/d")
    fresh = namenode.restarted(from_image=True)
    assert used(fresh, "/d") == before
    kept.namenode = fresh
    fresh.namesystem.safe_mode.leave()
    drop_snapshot(kept, "/d", "s1")
    assert used(fresh, "/d") == (4, 10 + 2 * (BLOCK + 20))
    drop_snapshot(kept, "/d", "s2")
    assert used(fresh, "/d") == (2, 10)


def test_summary_tells_what_only_snapshots_have(kept: Any) -> None:
    kept.delete("/d/e/g")
    kept.rename("/d/e/f", "/f")
    found = kept.call("getContentSummary", pb.GetContentSummaryRequestProto(path="/d")).summary
    assert (found.length, found.fileCount, found.directoryCount) == (BLOCK + 30, 2, 2)
    assert (found.snapshotLength, found.snapshotFileCount) == (BLOCK + 30, 2)
    assert found.snapshotDirectoryCount == 0
    assert found.spaceConsumed == found.snapshotSpaceConsumed == 10 + 2 * (BLOCK + 20)
    then = pb.GetContentSummaryRequestProto(path="/d/.snapshot/s1")
    found = kept.call("getContentSummary", then).summary
    assert (found.length, found.snapshotLength) == (BLOCK + 30, 0)
