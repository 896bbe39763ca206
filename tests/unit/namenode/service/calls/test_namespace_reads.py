"""What clients ask about the tree and its blocks."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from howdah import errors
from howdah.namenode.service.calls.settings import Settings
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.testing.in_memory import InMemoryDatanode

BLOCK = 1024
Nodes = list[InMemoryDatanode]


@pytest.fixture
def settings() -> Settings:
    return Settings(
        "", min_block_size_bytes=512, block_size_bytes=BLOCK, listing_limit=5, atime_precision_ms=0
    )


def holders(located: Any) -> list[str]:
    return [place.id.datanodeUuid for place in located.locs]


# Listings.


@given(
    st.sets(
        st.text(
            st.characters(exclude_characters="/:\0", exclude_categories=["Cs"]),
            min_size=1,
            max_size=8,
        ).filter(lambda name: name not in (".", ".."))
    )
)
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_pages_of_a_listing_are_all_names_in_the_order_of_their_bytes(
    client: Any, wanted: set[str]
) -> None:
    client.delete("/dir")
    client.mkdirs("/dir")
    for name in wanted:
        client.mkdirs(f"/dir/{name}")
    assert client.names("/dir") == sorted(wanted, key=str.encode)


def test_page_says_how_many_come_after_it(client: Any) -> None:
    for number in range(12):
        client.mkdirs(f"/d/{number:02}")
    first = client.page("/d")
    assert (len(first.partialListing), first.remainingEntries) == (5, 7)
    last = client.page("/d", b"09")
    assert ([e.path for e in last.partialListing], last.remainingEntries) == ([b"10", b"11"], 0)


def test_page_begins_behind_a_name_that_is_gone(client: Any) -> None:
    for name in "ace":
        client.mkdirs(f"/d/{name}")
    assert [e.path for e in client.page("/d", b"b").partialListing] == [b"c", b"e"]


def test_page_begins_behind_an_inode_that_is_named_by_its_id(client: Any) -> None:
    """Hadoop's NFS gateway lists so: its cookies are inode ids."""
    for name in "ace":
        client.mkdirs(f"/d/{name}")
    inode_id = client.status("/d/c").fileId
    behind = f"/.reserved/.inodes/{inode_id}".encode()
    assert [e.path for e in client.page("/d", behind).partialListing] == [b"e"]
    client.delete("/d/c")
    with pytest.raises(errors.RemoteError, match=f"Can't find startAfter .*{inode_id}") as caught:
        client.page("/d", behind)
    assert caught.value.remote_class == (
        "org.apache.hadoop.fs.DirectoryListingStartAfterNotFoundException"
    )


def test_listing_of_a_file_is_the_file_without_a_name(client: Any) -> None:
    client.create("/f")
    (entry,) = client.page("/f").partialListing
    assert (entry.path, entry.fileType) == (b"", types_pb2.HdfsFileStatusProto.IS_FILE)


def test_listing_of_nothing_is_no_listing(client: Any) -> None:
    assert client.page("/no") is None


def test_listing_from_a_name_that_is_no_utf8_is_refused(client: Any) -> None:
    with pytest.raises(errors.IllegalArgument, match="not UTF-8"):
        client.page("/", b"\xff\xfe")


def test_listing_with_locations_names_every_replica(client: Any, nodes: Nodes) -> None:
    client.write("/f", BLOCK, 10, replication=2)
    (entry,) = client.page("/", locations=True).partialListing
    assert [len(block.locs) for block in entry.locations.blocks] == [2, 2]
    assert entry.locations.fileLength == BLOCK + 10


def test_listing_with_locations_does_not_need_to_read_the_files(
    client: Any, client_of: Any, nodes: Nodes
) -> None:
    client.write("/private", 10, mode=0o600)
    (entry,) = client_of("eve").page("/", locations=True).partialListing
    assert len(entry.locations.blocks) == 1


def test_listing_with_locations_ends_early_where_blocks_are_many(client: Any, nodes: Nodes) -> None:
    for name in "abcd":
        client.write(f"/{name}", BLOCK, BLOCK, BLOCK)
    page = client.page("/", locations=True)
    assert (len(page.partialListing), page.remainingEntries) == (2, 2)


def test_listing_with_locations_is_no_access(client: Any, nodes: Nodes) -> None:
    client.write("/f", 10)
    before = client.namenode.namesystem.last_txid
    client.namenode.clock.advance(10_000_000)
    client.page("/", locations=True)
    assert client.namenode.namesystem.last_txid == before


@pytest.mark.parametrize("negative", [-1, -2, -86_400_000, -(1 << 63)])
def test_a_negative_time_leaves_the_time_as_it_is(client: Any, negative: int) -> None:
    client.create("/f")
    client.set_times("/f", 1000, 2000)
    client.set_times("/f", negative, 3000)
    assert (client.status("/f").modification_time, client.status("/f").access_time) == (1000, 3000)
    client.set_times("/f", 4000, negative)
    assert (client.status("/f").modification_time, client.status("/f").access_time) == (4000, 3000)
    before = len(client.namenode.log)
    client.set_times("/f", negative, negative)
    assert len(client.namenode.log) == before


# Blocks.


@pytest.mark.req("FS-087", "FS-095")
@given(st.integers(0, 5000), st.integers(0, 5000))
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_locations_are_those_of_the_blocks_in_the_range(
    client: Any, nodes: Nodes, offset: int, length: int
) -> None:
    if not client.exists("/f"):
        client.write("/f", BLOCK, BLOCK, BLOCK, 10)
    found = client.locations("/f", offset, length)
    starts = [0, BLOCK, 2 * BLOCK, 3 * BLOCK]
    ends = [BLOCK, 2 * BLOCK, 3 * BLOCK, 3 * BLOCK + 10]
    expected = [s for s, e in zip(starts, ends, strict=True) if s < offset + length and e > offset]
    assert [block.offset for block in found.blocks] == expected
    assert found.fileLength == 3 * BLOCK + 10
    assert found.lastBlock.offset == 3 * BLOCK
    assert found.isLastBlockComplete


@pytest.mark.req("FS-088")
def test_all_datanodes_with_a_copy_are_named(client: Any, nodes: Nodes) -> None:
    client.write("/f", 10, replication=3)
    (block,) = client.locations("/f").blocks
    assert sorted(holders(block)) == ["dn0", "dn1", "dn2"]
    assert len(block.storageIDs) == 3


@pytest.mark.req("FS-089", "FS-090")
def test_copies_are_sorted_by_distance_from_the_client(client: Any, client_of: Any) -> None:
    namenode = client.namenode
    for name, rack in (("a", "/d1/r1"), ("b", "/d1/r1"), ("c", "/d1/r2"), ("d", "/d2/r3")):
        namenode.join(name, rack=rack)
    client.write("/f", 10, replication=4)
    here = client_of(address=namenode.nodes[0].ip)
    for _ in range(10):
        assert holders(here.locations("/f").blocks[0]) == ["a", "b", "c", "d"]
    far = client_of(address=namenode.nodes[3].ip)
    assert holders(far.locations("/f").blocks[0])[0] == "d"


@pytest.mark.req("FS-089")
def test_client_that_is_no_datanode_counts_by_its_rack(client: Any, client_of: Any) -> None:
    namenode = client.namenode
    namenode.racks["10.7.7.7"] = "/r2"
    for name, rack in (("a", "/r1"), ("b", "/r2")):
        namenode.join(name, rack=rack)
    client.write("/f", 10, replication=2)
    for _ in range(10):
        assert holders(client_of(address="10.7.7.7").locations("/f").blocks[0]) == ["b", "a"]


def test_equally_near_copies_share_the_load(client: Any, nodes: Nodes) -> None:
    client.write("/f", 10, replication=3)
    firsts = {holders(client.locations("/f").blocks[0])[0] for _ in range(60)}
    assert firsts == {"dn0", "dn1", "dn2"}


def test_stale_datanodes_come_last(client: Any, nodes: Nodes) -> None:
    client.write("/f", 10, replication=3)
    client.namenode.clock.advance(30_001)
    nodes[1].heartbeat()
    for _ in range(10):
        assert holders(client.locations("/f").blocks[0])[0] == "dn1"


@pytest.mark.req("FS-102")
def test_locations_are_all_that_the_namenode_gives(client: Any, nodes: Nodes) -> None:
    client.write("/f", 10)
    kinds = {field.name for field in types_pb2.LocatedBlockProto.DESCRIPTOR.fields}
    assert not {name for name in kinds if "data" in name.lower()}
    (block,) = client.locations("/f").blocks
    assert block.ByteSize() < 500


def test_open_file_has_its_length_without_the_block_being_written(
    client: Any, nodes: Nodes
) -> None:
    client.create("/f")
    first = client.store(client.add_block("/f"), BLOCK)
    client.add_block("/f", first)
    found = client.locations("/f")
    assert (found.fileLength, found.underConstruction) == (BLOCK, True)
    assert not found.isLastBlockComplete
    assert len(found.lastBlock.locs) == 1


def test_block_with_only_bad_replicas_is_marked(client: Any, nodes: Nodes) -> None:
    file = client.write("/f", 10)
    client.call(
        "reportBadBlocks", pb.ReportBadBlocksRequestProto(blocks=client.locations("/f").blocks)
    )
    (block,) = client.locations("/f").blocks
    assert block.corrupt
    assert len(block.locs) == 1
    assert not file.blocks[0].replicas


def test_in_safe_mode_a_block_that_nobody_has_is_no_lost_one(client: Any, nodes: Nodes) -> None:
    client.write("/f", BLOCK, 10)
    fresh = client.namenode.restarted()
    fresh.namesystem.safe_mode.enter()
    with pytest.raises(
        errors.SafeMode, match=r"^Zero blocklocations for /f\. Name node is in safe"
    ):
        replace(client, namenode=fresh).locations("/f")


def test_an_observer_sends_readers_to_the_active_for_blocks_that_nobody_has_reported_to_it(
    client: Any, nodes: Nodes
) -> None:
    client.write("/f", BLOCK, 10)
    client.create("/empty")
    fresh = client.namenode.restarted()
    fresh.namesystem.become_standby()
    observer = replace(client, namenode=fresh)
    with pytest.raises(errors.ObserverRetryOnActive, match=r"^Zero blocklocations for /f$"):
        observer.locations("/f")
    assert not observer.locations("/empty").blocks


@pytest.mark.parametrize(("offset", "length"), [(-1, 10), (0, -1)])
def test_range_below_zero_is_refused(client: Any, offset: int, length: int) -> None:
    client.create("/f")
    with pytest.raises(errors.IllegalArgument, match="Negative offset or length"):
        client.locations("/f", offset, length)


def test_directory_has_no_locations(client: Any) -> None:
    client.mkdirs("/d")
    with pytest.raises(errors.PathNotFound, match="Path is not a file: /d"):
        client.locations("/d")


# Others.


def test_content_summary_counts_the_subtree(client: Any, nodes: Nodes) -> None:
    client.write("/d/a", BLOCK, 10, replication=2)
    client.write("/d/e/b", 5)
    request = pb.GetContentSummaryRequestProto(path="/d")
    summary = client.call("getContentSummary", request).summary
    assert (summary.length, summary.fileCount, summary.directoryCount) == (BLOCK + 15, 2, 2)
    assert summary.spaceConsumed == 2 * (BLOCK + 10) + 5


def test_block_that_is_being_written_takes_a_whole_one(client: Any, nodes: Nodes) -> None:
    """As it does of a quota; Hadoop says so in the summary, too."""
    client.create("/d/f", replication=2)
    client.add_block("/d/f")
    request = pb.GetContentSummaryRequestProto(path="/d")
    summary = client.call("getContentSummary", request).summary
    assert (summary.length, summary.spaceConsumed) == (0, 2 * BLOCK)


def test_path_may_be_given_by_inode_id(client: Any) -> None:
    client.create("/d/f")
    inode_id = client.status("/d").fileId
    assert client.status(f"/.reserved/.inodes/{inode_id}/f").fileId == client.status("/d/f").fileId
    client.delete("/d")
    with pytest.raises(errors.PathNotFound):
        client.status(f"/.reserved/.inodes/{inode_id}")


def test_what_is_above_an_inode_may_be_asked_for_by_its_id(client: Any) -> None:
    """Hadoop's NFS gateway looks `..` up so."""
    client.create("/d/e/f")

    def above(path: str) -> str:
        return f"/.reserved/.inodes/{client.status(path).fileId}/.."

    for path, parent in (("/d/e/f", "/d/e"), ("/d/e", "/d"), ("/d", "/"), ("/", "/")):
        assert client.status(above(path)).fileId == client.status(parent).fileId
    assert client.status(above("/d/e/f") + "/f").fileId == client.status("/d/e/f").fileId
    for nothing in ("/d/..", "/d/e/f/../f"):
        assert client.status(nothing) is None
    with pytest.raises(errors.PathNotFound, match="Invalid inode path"):
        client.status("/.reserved/.inodes/..")
    # Hadoop ignores what comes behind, and deletes the directory above.
    for behind in ("/..", "/gone"):
        assert client.status(above("/d/e/f") + behind) is None
        client.delete(above("/d/e/f") + behind)
    assert client.status("/d/e/f") is not None
    gone = above("/d/e")
    client.delete("/d")
    with pytest.raises(errors.PathNotFound, match="does not exist"):
        client.status(gone)


@pytest.mark.parametrize("written", ["{}_{}", " {}{}", "{}{} ", "+{}{}", "-{}{}", "\u0661{1}"])
def test_inode_id_in_a_path_is_written_in_digits_alone(client: Any, written: str) -> None:
    """As a number for Python `1_6385` is 16385, too."""
    client.mkdirs("/d")
    digits = str(client.status("/d").fileId)
    path = "/.reserved/.inodes/" + written.format(digits[0], digits[1:])
    with pytest.raises(errors.PathNotFound, match="Invalid inode path"):
        client.status(path)


def test_closed_means_that_nobody_writes(client: Any) -> None:
    client.create("/f")
    request = pb.IsFileClosedRequestProto(src="/f")
    assert client.call("isFileClosed", request).result is False
    client.complete("/f")
    assert client.call("isFileClosed", request).result is True


@pytest.mark.parametrize("kind", [pb.ALL, pb.LIVE, pb.DEAD, pb.DECOMMISSIONING])
def test_datanodes_are_told_by_state(
    client: Any, nodes: Nodes, kind: pb.DatanodeReportTypeProto
) -> None:
    nodes[0].known.last_heartbeat_ms -= 10_000_000
    client.namenode.tick()
    request = pb.GetDatanodeReportRequestProto(type=kind)
    found = [node.id.datanodeUuid for node in client.call("getDatanodeReport", request).di]
    dead, live = ["dn0"], ["dn1", "dn2"]
    wanted = {pb.ALL: dead + live, pb.LIVE: live, pb.DEAD: dead}.get(kind, [])
    assert sorted(found) == wanted


class TestAccessTimes:
    @pytest.fixture
    def settings(self) -> Settings:
        return Settings(
            "", min_block_size_bytes=512, block_size_bytes=BLOCK, atime_precision_ms=3_600_000
        )

    def test_reading_sets_the_access_time_once_in_its_precision(
        self, client: Any, nodes: Nodes
    ) -> None:
        client.write("/f", 10)
        made = client.status("/f").access_time
        client.namenode.clock.advance(3_600_001)
        client.locations("/f")
        first = client.status("/f").access_time
        client.namenode.clock.advance(1000)
        client.locations("/f")
        assert first == made + 3_600_001
        assert client.status("/f").access_time == first

    def test_reading_in_safe_mode_sets_nothing(self, client: Any, nodes: Nodes) -> None:
        client.write("/f", 10)
        made = client.status("/f").access_time
        client.namenode.clock.advance(3_600_001)
        client.namenode.namesystem.safe_mode.enter()
        client.locations("/f")
        assert client.status("/f").access_time == made


def test_locations_show_a_datanode_as_its_last_heartbeat_had_it(client: Any, nodes: Nodes) -> None:
    client.write("/f", 10)
    before = client.locations("/f").lastBlock
    node = next(node for node in nodes if node.uuid == before.locs[0].id.datanodeUuid)
    client.namenode.clock.advance(3000)
    node.used_bytes = 12345
    node.heartbeat()
    located = client.locations("/f")
    assert located.lastBlock.locs[0].dfsUsed == 12345
    assert located.lastBlock == located.blocks[0]


# Paths that are not canonical, and those that no inode has.

CREATING = (
    lambda client, path: client.mkdirs(path),
    lambda client, path: client.create(path),
    lambda client, path: client.rename("/d/f", path),
    lambda client, path: client.rename2("/d/f", path),
    lambda client, path: client.call(
        "createSymlink",
        pb.CreateSymlinkRequestProto(
            target="/t",
            link=path,
            dirPerm=types_pb2.FsPermissionProto(perm=0o755),
            createParent=False,
        ),
    ),
)


@pytest.mark.parametrize("create", CREATING, ids=["mkdirs", "create", "rename", "rename2", "link"])
@pytest.mark.parametrize("path", ["/d//x", "//d/x", "/d/./x", "/d/../x", "/d/x:1", "/a:b/x", "/."])
def test_path_that_is_not_canonical_is_not_created(
    client: Any, create: Callable[[Any, str], object], path: str
) -> None:
    client.create("/d/f")
    with pytest.raises(errors.InvalidPath, match="Invalid path name .*" + re.escape(path)):
        create(client, path)
    assert (client.names("/"), client.names("/d")) == (["d"], ["f"])


def test_other_calls_read_several_slashes_as_one(client: Any) -> None:
    client.create("/d/f")
    inode_id = client.status("/d/f").fileId
    for path in ("//d/f", "/d//f", "/d/f/", "/d/f//"):
        assert client.status(path).fileId == inode_id
    assert client.mkdirs("/d/new/") is True
    client.chmod("//d//new", 0o700)
    assert client.status("/d/new").permission.perm == 0o700
    assert client.delete("//d//new") is True


@pytest.mark.parametrize("path", ["/d/.", "/d/..", "/./d", "/../d/f", "/d/./f"])
def test_other_calls_find_nothing_at_a_dot(client: Any, path: str) -> None:
    client.create("/d/f")
    assert client.status(path) is None
    assert client.delete(path) is False
    assert client.rename(path, "/e") is False
    with pytest.raises(errors.PathNotFound):
        client.chmod(path, 0o700)


def test_reserved_is_shown_and_listed_and_nothing_else(client: Any) -> None:
    shown = client.status("/.reserved")
    assert (shown.fileType, shown.permission.perm) == (types_pb2.HdfsFileStatusProto.IS_DIR, 0o1770)
    page = client.page("/.reserved")
    assert [entry.path for entry in page.partialListing] == [b".inodes", b"raw"]
    assert {entry.permission.perm for entry in page.partialListing} == {0o770}
    assert client.names("/") == []
    for refused in (client.delete, lambda path: client.chmod(path, 0o700), client.create):
        with pytest.raises(errors.InvalidPath):
            refused("/.reserved")
    with pytest.raises(errors.IllegalArgument, match="reserved"):
        client.mkdirs("/.reserved")
    for nothing in ("/.reserved/x", "/.reserved/.inodes", "/.reserved/raw/.reserved"):
        assert client.status(nothing) is None


def test_root_has_a_directory_of_snapshots_that_is_empty(client: Any) -> None:
    flag = types_pb2.HdfsFileStatusProto.SNAPSHOT_ENABLED
    assert client.status("/").flags & flag
    assert client.status("/.snapshot").permission.perm == 0o777
    assert client.names("/.snapshot") == []
    assert client.status("/.snapshot/s") is None
    with pytest.raises(errors.SnapshotError, match="snapshot quota is 0"):
        client.call("createSnapshot", pb.CreateSnapshotRequestProto(snapshotRoot="/"))
    assert not client.call(
        "getSnapshottableDirListing", pb.GetSnapshottableDirListingRequestProto()
    ).HasField("snapshottableDirList")


def test_concat_takes_no_reserved_path(client: Any) -> None:
    for path in ("/.reserved/raw/f", "/.reserved/.inodes/16385/f"):
        with pytest.raises(errors.RemoteError, match="reserved relative path"):
            client.concat(path, "/f")
        with pytest.raises(errors.RemoteError, match="reserved relative path"):
            client.concat("/f", path)


def test_who_may_not_touch_the_ends_of_a_concat_is_not_told_what_they_are(
    client: Any, nodes: list[InMemoryDatanode]
) -> None:
    client.mkdirs("/d")
    client.mkdirs("/d/target", 0o700)
    client.mkdirs("/d/source", 0o700)
    with pytest.raises(errors.AccessDenied, match="access=WRITE"):
        client.concat("/d/target", "/d/source", user="mallory")
    client.write("/d/open", 10)
    client.chmod("/d/open", 0o666)
    with pytest.raises(errors.AccessDenied, match="access=READ"):
        client.concat("/d/open", "/d/source", user="mallory")


def test_encryption_zone_is_asked_for_by_who_may_read(client: Any) -> None:
    client.mkdirs("/d", 0o700)
    request = pb.GetEZForPathRequestProto(src="/d")
    assert not client.call("getEZForPath", request).HasField("zone")
    with pytest.raises(errors.AccessDenied, match="access=READ"):
        client.call("getEZForPath", request, user="mallory")
