"""Listings made of bytes: with what the handler shows of each entry, in every kind of directory."""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howdah import errors
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.service.protocols.client_queries import QueryMethods
from howdah.namenode.service.protocols.fast_path import listing
from howdah.namenode.service.protocols.fast_path.reads import FastReads
from howdah.native.loader import kernel
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import Encoded
from howdah.testing.in_memory import SUPERUSER, InMemoryDatanode, InMemoryNamenode
from tests.unit.namenode.service.protocols.test_quick_reads import (
    ADDRESS,
    BLOCK,
    BUSY,
    GROUPS,
    KERNELS,
    PATHS,
    STEPS,
    USERS,
    begin,
    create,
    mkdir,
    perm,
    put_in_order,
    take,
    write,
    written,
)

ENOUGH: Final = 1000


def namenode(limit: int = ENOUGH) -> InMemoryNamenode:
    return InMemoryNamenode(Settings("", listing_limit=limit), groups=dict(GROUPS))


def lister(world: InMemoryNamenode, how: str) -> tuple[QueryMethods, list[int]]:
    """Who answers listings with the kernel, its twin, or entry by entry; and how many entries were
    made of bytes."""
    if how == "kernel" and not hasattr(kernel(), "list_entries"):
        pytest.skip("the kernel is not built here, or of older sources")
    reads = FastReads(world.namesystem)
    by = listing.list_entries_here if how == "twin" else listing.list_entries
    plain: list[int] = []

    def counted(*arguments: Any) -> listing.Listed:
        at, places_left = arguments[2], arguments[-1]
        if how == "entries":
            return b"", at, places_left, None
        found = by(*arguments)
        plain.append(found[1] - at)
        return found

    reads.list_entries_by = counted
    return QueryMethods(world.namesystem, reads), plain


def in_one_order(entries: Any) -> None:
    """Places of a block that are as near are told in any order."""
    for entry in entries:
        located = entry.locations
        last = [located.lastBlock] if located.HasField("lastBlock") else []
        for block in [*located.blocks, *last]:
            order = sorted(range(len(block.locs)), key=lambda n: block.locs[n].id.datanodeUuid)
            put_in_order(block.locs, order)
            put_in_order(block.isCached, order)
            put_in_order(block.storageTypes, order)
            put_in_order(block.storageIDs, order)


def page(
    queries: QueryMethods, path: str, after: str = "", user: str = SUPERUSER, *, blocks: bool
) -> pb.GetListingResponseProto | str:
    """One page, or the error's class."""
    request = pb.GetListingRequestProto(src=path, startAfter=after.encode(), needLocation=blocks)
    try:
        answer = queries.get_listing(request, Caller(user, b"", 0, 0, ADDRESS))
    except errors.HowdahError as error:
        return error.remote_class
    if isinstance(answer, Encoded):
        answer = pb.GetListingResponseProto.FromString(answer.data)
    in_one_order(answer.dirList.partialListing)
    return answer


def same(
    world: InMemoryNamenode, path: str, user: str = SUPERUSER, *, native: bool, blocks: bool
) -> tuple[list[types_pb2.HdfsFileStatusProto], int]:
    """The entries of a directory by all of its pages, which are those that are made entry by entry;
    and how many of them were made of bytes."""
    queries, plain = lister(world, "kernel" if native else "twin")
    others, _ = lister(world, "entries")
    entries: list[types_pb2.HdfsFileStatusProto] = []
    after = ""
    while True:
        answer = page(queries, path, after, user, blocks=blocks)
        assert answer == page(others, path, after, user, blocks=blocks)
        assert not isinstance(answer, str), answer
        entries += answer.dirList.partialListing
        if not answer.dirList.remainingEntries:
            assert queries.entries_listed == others.entries_listed == len(entries)
            return entries, sum(plain)
        after = entries[-1].path.decode()


def cluster(limit: int = ENOUGH) -> tuple[InMemoryNamenode, list[InMemoryDatanode]]:
    world = namenode(limit)
    racks = ["/a", "/a", "/b"]
    return world, [world.join(f"dn{n}", rack=rack) for n, rack in enumerate(racks)]


@KERNELS
@pytest.mark.parametrize("blocks", [False, True], ids=["short", "located"])
def test_plain_files_and_directories_are_all_made_of_bytes(native: bool, blocks: bool) -> None:
    world, nodes = cluster()
    create(world, "/d/empty")
    written(world, "/d/ü\U0001f418", [7], nodes)
    written(world, "/d/several", [BLOCK, BLOCK, 77], nodes)
    mkdir(world, "/d/sub", 0o711, "alice")
    create(world, "/d/sub/f")
    entries, plain = same(world, "/d", native=native, blocks=blocks)
    assert plain == len(entries) == 4
    shown = {entry.path.decode(): entry for entry in entries}
    assert shown["sub"].childrenNum == 1
    assert shown["several"].length == 2 * BLOCK + 77
    assert len(shown["several"].locations.blocks) == (3 if blocks else 0)
    assert shown["empty"].HasField("locations") is blocks


@KERNELS
@pytest.mark.parametrize("blocks", [False, True], ids=["short", "located"])
def test_what_is_rare_stands_between_what_is_made_of_bytes(native: bool, blocks: bool) -> None:
    world, nodes = cluster(limit=100)
    for name in "abcdefghij":
        written(world, f"/d/{name}", [7], nodes)
        mkdir(world, f"/d/{name}.dir")
    begin(world, "/d/c.open")
    write(world, "/d/c.open", [9], nodes)
    world.call(
        "createSymlink",
        pb.CreateSymlinkRequestProto(
            target="/d/a", link="/d/d.link", dirPerm=perm(0o755), createParent=True
        ),
    )
    world.call("setStoragePolicy", pb.SetStoragePolicyRequestProto(src="/d/e", policyName="COLD"))
    for path in ("/d/f", "/d/f.dir"):
        acl = [
            types_pb2.AclEntryProto(
                type=types_pb2.AclEntryProto.USER,
                scope=types_pb2.AclEntryProto.ACCESS,
                permissions=types_pb2.AclEntryProto.READ,
                name="bob",
            )
        ]
        world.call(
            "modifyAclEntries", types_pb2.ModifyAclEntriesRequestProto(src=path, aclSpec=acl)
        )
    world.call("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot="/d/g.dir"))
    world.call(
        "setOwner", pb.SetOwnerRequestProto(src="/d/h", username="u" * 100, groupname="g" * 100)
    )
    entries, plain = same(world, "/d", native=native, blocks=blocks)
    assert len(entries) == 22
    assert plain == 22 - 7
    flags = {entry.path.decode(): entry.flags for entry in entries}
    assert flags["f"] == types_pb2.HdfsFileStatusProto.HAS_ACL
    assert flags["g.dir"] == types_pb2.HdfsFileStatusProto.SNAPSHOT_ENABLED


@KERNELS
@pytest.mark.parametrize("blocks", [False, True], ids=["short", "located"])
def test_entries_show_the_storage_policy_of_their_directory(native: bool, blocks: bool) -> None:
    world, nodes = cluster()
    written(world, "/d/f", [7], nodes)
    mkdir(world, "/d/sub")
    world.call("setStoragePolicy", pb.SetStoragePolicyRequestProto(src="/d", policyName="COLD"))
    entries, plain = same(world, "/d", native=native, blocks=blocks)
    assert plain == 2
    assert {entry.storagePolicy for entry in entries} == {2}


@KERNELS
@pytest.mark.parametrize("blocks", [False, True], ids=["short", "located"])
def test_what_is_erasure_coded_says_so(native: bool, blocks: bool) -> None:
    world, _ = cluster()
    mkdir(world, "/d")
    name = "RS-3-2-1024k"
    world.call(
        "enableErasureCodingPolicy",
        types_pb2.EnableErasureCodingPolicyRequestProto(ecPolicyName=name),
    )
    world.call(
        "setErasureCodingPolicy",
        types_pb2.SetErasureCodingPolicyRequestProto(src="/d", ecPolicyName=name),
    )
    create(world, "/d/f")
    mkdir(world, "/d/sub")
    entries, plain = same(world, "/d", native=native, blocks=blocks)
    assert plain == 0
    assert {entry.flags for entry in entries} == {types_pb2.HdfsFileStatusProto.HAS_EC}


@KERNELS
@pytest.mark.parametrize("blocks", [False, True], ids=["short", "located"])
def test_a_snapshot_shows_what_was(native: bool, blocks: bool) -> None:
    world, nodes = cluster()
    written(world, "/d/old", [7], nodes)
    written(world, "/d/changed", [7], nodes)
    mkdir(world, "/d/sub")
    world.call("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot="/d"))
    world.call("createSnapshot", pb.CreateSnapshotRequestProto(snapshotRoot="/d", snapshotName="s"))
    world.call("setReplication", pb.SetReplicationRequestProto(src="/d/changed", replication=2))
    world.call("rename", pb.RenameRequestProto(src="/d/old", dst="/d/new"))
    mkdir(world, "/d/sub/later")
    for path in ("/d", "/d/.snapshot", "/d/.snapshot/s", "/d/.snapshot/s/sub"):
        same(world, path, native=native, blocks=blocks)
    entries, _ = same(world, "/d/.snapshot/s", native=native, blocks=blocks)
    then = {entry.path: entry.block_replication for entry in entries}
    assert then == {b"changed": 3, b"old": 3, b"sub": 0}


@KERNELS
@pytest.mark.parametrize("limit", [1, 4, 5, 7])
def test_a_page_ends_when_it_has_named_as_many_places_as_it_may(native: bool, limit: int) -> None:
    world, nodes = cluster(limit)
    for number in range(6):
        written(world, f"/d/{number}", [BLOCK, 3], nodes)
        create(world, f"/d/{number}.empty")
    begin(world, "/d/2.open")
    write(world, "/d/2.open", [9], nodes)
    entries, plain = same(world, "/d", native=native, blocks=True)
    assert len(entries) == 13
    assert plain == 12


@KERNELS
def test_a_datanode_is_shown_as_it_is_now(native: bool) -> None:
    world, nodes = cluster()
    written(world, "/d/f", [7], nodes)
    same(world, "/d", native=native, blocks=True)
    nodes[0].capacity_bytes = 5 << 30
    world.clock.advance(1)
    nodes[0].heartbeat()
    entries, plain = same(world, "/d", native=native, blocks=True)
    assert plain == 1
    locs = entries[0].locations.blocks[0].locs
    assert {loc.id.datanodeUuid: loc.capacity for loc in locs}["dn0"] == 5 << 30


@KERNELS
def test_a_file_that_lacks_replicas_is_left_to_the_handler(native: bool) -> None:
    world, nodes = cluster()
    written(world, "/d/a", [7], nodes)
    written(world, "/d/b", [7], nodes)
    lost = world.call(
        "getBlockLocations", pb.GetBlockLocationsRequestProto(src="/d/a", offset=0, length=1)
    )
    assert isinstance(lost, pb.GetBlockLocationsResponseProto)
    block_id = lost.locations.blocks[0].b.blockId
    for node in nodes:
        node.drop(block_id)
    entries, plain = same(world, "/d", native=native, blocks=True)
    assert plain == 1
    assert [len(entry.locations.blocks[0].locs) for entry in entries] == [0, 3]


@KERNELS
def test_places_are_told_one_by_one_while_a_datanode_leaves(native: bool) -> None:
    world, nodes = cluster()
    written(world, "/d/f", [7], nodes)
    world.namesystem.block_manager.blocks.redundancy.out_of_service.add(nodes[0].known)
    assert same(world, "/d", native=native, blocks=True)[1] == 0
    assert same(world, "/d", native=native, blocks=False)[1] == 1


def test_arguments_that_do_not_fit_are_refused() -> None:
    native = getattr(kernel(), "list_entries", None)
    if native is None:
        pytest.skip("the kernel is not built here, or of older sources")
    world = namenode()
    tables = FastReads(world.namesystem)._tables.now()
    wrong: list[tuple[Any, ...]] = [
        (["a"], [], 0, None, 0, tables, None, 1),
        (("a",), (1,), 0, None, 0, tables, None, 1),
        (["a"], [1], 0, None, 0, (), None, 1),
        (["a"], [1], 0, None, 0, tables, (), 1),
        (["a"], [1], "0", None, 0, tables, None, 1),
    ]
    for arguments in wrong:
        with pytest.raises(TypeError):
            native(*arguments)
    with pytest.raises(ValueError, match="below zero"):
        native(["a"], [1], -1, None, 0, tables, None, 1)
    assert native(["a"], [1], 7, None, 0, tables, None, 1) == (b"", 7, 1, None)
    assert native(["a"], [1], 0, None, 0, tables, None, 1) == (b"", 0, 1, None)


@given(
    steps=st.lists(STEPS, max_size=12),
    asked=st.lists(st.tuples(PATHS, st.sampled_from(USERS)), min_size=1, max_size=6),
    limit=st.integers(1, 4),
    blocks=st.booleans(),
)
@settings(max_examples=100, suppress_health_check=[*BUSY, HealthCheck.function_scoped_fixture])
def test_any_directory_is_listed_as_entry_by_entry(
    steps: list[tuple[Any, ...]], asked: list[tuple[str, str]], limit: int, blocks: bool
) -> None:
    """By the kernel and by its twin, who agree on what is left to the handler."""
    world = namenode(limit)
    world.join("dn0")
    hows = ["twin", *(["kernel"] if hasattr(kernel(), "list_entries") else [])]
    for step in steps:
        take(world, step)
    for path, user in [*asked, ("/", SUPERUSER)]:
        shown = page(lister(world, "entries")[0], path, "", user, blocks=blocks)
        plain = []
        for how in hows:
            queries, made = lister(world, how)
            assert page(queries, path, "", user, blocks=blocks) == shown
            plain.append(sum(made))
        assert len(set(plain)) == 1
    request = pb.GetBatchedListingRequestProto(
        paths=[path for path, _ in asked], startAfter=b"", needLocation=blocks
    )
    try:
        answer = world.call("getBatchedListing", request, address=ADDRESS)
    except errors.HowdahError:
        return
    assert isinstance(answer, pb.GetBatchedListingResponseProto)
    for part in answer.listings:
        in_one_order(part.partialListing)
        shown = page(lister(world, "entries")[0], request.paths[part.parentIdx], blocks=blocks)
        if isinstance(shown, str):
            assert part.exception.className == shown
        elif not shown.HasField("dirList"):
            assert part.exception.className == errors.PathNotFound("").remote_class
        else:
            assert list(part.partialListing) == list(shown.dirList.partialListing)
    assert answer.hasMore is bool(answer.startAfter)
