"""The blocks of a file that is being written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from howdah import errors
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.service.protocols.client import PROTOCOL
from howdah.namenode.state.inodes.file_blocks import MAX_BLOCK_BYTES
from howdah.namenode.state.inodes.inodes import File
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.rpc.call import Call, Caller
from howdah.protocol.rpc.service import Early, Registry
from howdah.testing.in_memory import InMemoryDatanode

BLOCK = 1024
Nodes = list[InMemoryDatanode]


def length_of(client: Any, path: str) -> int:
    return int(client.status(path).length)


# Blocks.


@pytest.mark.req("FS-120", "FS-121", "AP-033")
def test_new_block_comes_with_a_pipeline_of_the_files_replication(
    client: Any, nodes: Nodes
) -> None:
    client.create("/a", replication=3)
    block = client.add_block("/a")
    assert {n.id.datanodeUuid for n in block.locs} == {n.uuid for n in nodes}
    assert len(block.storageIDs) == len(block.storageTypes) == 3
    assert (block.offset, block.b.numBytes) == (0, 0)


@pytest.mark.req("FS-008", "AP-034")
def test_file_is_cut_into_blocks_with_their_own_lengths(client: Any, nodes: Nodes) -> None:
    client.write("/a", BLOCK, BLOCK, BLOCK // 2)
    blocks = client.locations("/a").blocks
    assert [(b.offset, b.b.numBytes) for b in blocks] == [
        (0, BLOCK),
        (BLOCK, BLOCK),
        (2 * BLOCK, BLOCK // 2),
    ]
    assert length_of(client, "/a") == 2560


def test_ids_and_stamps_are_never_used_twice(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    first = client.add_block("/a").b
    client.abandon("/a", first)
    second = client.add_block("/a").b
    assert second.blockId > first.blockId
    assert second.generationStamp > first.generationStamp


def test_addblock_that_is_repeated_gives_the_same_block(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    first = client.add_block("/a")
    assert client.add_block("/a") == first
    previous = client.store(first, BLOCK)
    second = client.add_block("/a", previous)
    assert client.add_block("/a", previous) == second
    assert len(client.namenode.namesystem.namespace.find("/a").blocks) == 2


def test_addblock_repeated_after_a_restart_has_a_pipeline(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    first = client.add_block("/a")
    client.namenode = client.namenode.restarted()
    for node in nodes:
        node.namenode = client.namenode
        node.register()
        node.heartbeat()
        node.report()
    again = client.add_block("/a")
    assert again.b == first.b
    assert len(again.locs) == 1


def test_addblock_behind_another_block_than_the_last_is_refused(
    client: Any, nodes: Nodes, named: Callable[..., Any]
) -> None:
    client.create("/a")
    client.store(client.add_block("/a"), BLOCK)
    with pytest.raises(errors.RemoteError, match="does not match actual last block"):
        client.add_block("/a", named(99, 1001, BLOCK))


def test_repeated_request_is_refused_once_the_block_has_synced_bytes(
    client: Any, nodes: Nodes
) -> None:
    client.create("/a")
    client.add_block("/a")
    client.fsync("/a", 5)
    with pytest.raises(errors.RemoteError, match="does not match actual last block"):
        client.add_block("/a")


@pytest.mark.req("AP-035", "AP-036", "XC-013", "LM-060")
def test_next_block_waits_until_the_last_but_one_is_safe(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    first = client.add_block("/a")
    first.b.numBytes = BLOCK
    second = client.add_block("/a", first.b)
    second.b.numBytes = BLOCK
    with pytest.raises(errors.NotReplicatedYet, match="Not replicated yet: /a"):
        client.add_block("/a", second.b)
    client.store(first, BLOCK)
    client.add_block("/a", second.b)


def test_datanodes_that_the_client_excludes_are_not_offered(client: Any, nodes: Nodes) -> None:
    client.create("/a", replication=3)
    excluded = [types_pb2.DatanodeInfoProto(id=nodes[0].registration().datanodeID)]
    block = client.add_block("/a", excludeNodes=excluded)
    assert {n.id.datanodeUuid for n in block.locs} == {"dn1", "dn2"}


@pytest.mark.parametrize("name", ["{ip}:9866", "{ip}"])
def test_datanodes_that_the_client_favors_are_offered(client: Any, nodes: Nodes, name: str) -> None:
    for number, node in enumerate(nodes):
        client.create(f"/{number}", replication=1)
        block = client.add_block(f"/{number}", favoredNodes=[name.format(ip=node.ip)])
        assert [n.id.datanodeUuid for n in block.locs] == [node.uuid]


def test_favored_nodes_that_nobody_knows_are_passed_over(client: Any, nodes: Nodes) -> None:
    client.create("/a", replication=3)
    strangers = ["nowhere:9866", f"{nodes[0].ip}:1", "", ":", "0.0.0.0:0:0", "[::1]:9866"]
    assert len(client.add_block("/a", favoredNodes=strangers).locs) == 3


def test_nothing_left_to_write_to_is_told_as_hadoop_words_it(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    excluded = [types_pb2.DatanodeInfoProto(id=n.registration().datanodeID) for n in nodes]
    with pytest.raises(errors.RemoteError) as caught:
        client.add_block("/a", excludeNodes=excluded)
    assert caught.value.message == (
        "File /a could only be written to 0 of the 1 minReplication nodes. There are 3 "
        "datanode(s) running and 3 node(s) are excluded in this operation. Datanodes passed "
        "over: 3 excluded by the client (10.0.0.1:9866, 10.0.0.2:9866, 10.0.0.3:9866)."
    )


def test_each_node_is_passed_over_for_its_own_reason(
    client: Any, nodes: Nodes, caplog: pytest.LogCaptureFixture
) -> None:
    client.create("/a")
    full, dead, bare = nodes
    full.used_bytes = full.capacity_bytes
    full.heartbeat()
    dead.known.alive = False
    bare.known.storages.clear()
    with pytest.raises(errors.RemoteError) as caught:
        client.add_block("/a")
    why = (
        "1 without room for a block of 1024 bytes (10.0.0.1:9866), 1 dead (10.0.0.2:9866), "
        "1 without a volume (10.0.0.3:9866)"
    )
    assert caught.value.message.endswith(f"Datanodes passed over: {why}.")
    assert f"no place for a block of /a with replication 1: {why}" in caplog.text


def test_a_type_of_storage_that_no_node_has_is_named(client: Any, nodes: Nodes) -> None:
    client.create("/a", storagePolicy="COLD")
    with pytest.raises(errors.RemoteError, match=r"passed over: 3 without ARCHIVE \("):
        client.add_block("/a")


def test_the_log_says_now_and_then_that_blocks_get_too_few_replicas(
    client: Any, nodes: Nodes, caplog: pytest.LogCaptureFixture
) -> None:
    nodes[0].known.alive = False
    for number in range(4):
        client.create(f"/f{number}", replication=3)
        client.add_block(f"/f{number}")
        client.namenode.clock.advance(25_000)
    lines = [record.message for record in caplog.records if "replicas" in record.message]
    assert lines == [
        "a block of /f0 got 2 of 3 replicas (and 0 more blocks too few since this was said "
        "last): 1 dead (10.0.0.1:9866); they are copied when there is room",
        "a block of /f3 got 2 of 3 replicas (and 2 more blocks too few since this was said "
        "last): 1 dead (10.0.0.1:9866); they are copied when there is room",
    ]


@pytest.mark.parametrize("replication", [1, 2, 3])
def test_what_is_to_be_in_memory_first_goes_to_disks(
    client: Any, nodes: Nodes, replication: int
) -> None:
    client.mkdirs("/memory")
    request = pb.SetStoragePolicyRequestProto(src="/memory", policyName="LAZY_PERSIST")
    client.call("setStoragePolicy", request)
    client.create("/memory/a", replication=replication)
    located = client.add_block("/memory/a")
    assert len(located.locs) == replication
    last = client.store(located, 10)
    assert client.complete("/memory/a", last) is True


def test_list_of_excluded_nodes_may_be_huge(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    many = [
        types_pb2.DatanodeInfoProto(
            id=types_pb2.DatanodeIDProto(
                ipAddr="1.1.1.1",
                hostName="h",
                datanodeUuid=f"u{number}",
                xferPort=1,
                infoPort=1,
                ipcPort=1,
            )
        )
        for number in range(20_000)
    ]
    assert len(client.add_block("/a", excludeNodes=many).locs) == 1


@pytest.fixture
def settings() -> Settings:
    return Settings("", min_block_size_bytes=512, block_size_bytes=BLOCK, max_blocks_per_file=4)


def test_number_of_blocks_is_limited(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    previous = None
    for _ in range(4):
        previous = client.store(client.add_block("/a", previous), BLOCK)
    with pytest.raises(errors.RemoteError, match="max-blocks-per-file"):
        client.add_block("/a", previous)


def test_block_may_be_longer_than_the_files_block_size(client: Any, nodes: Nodes) -> None:
    """Writers exist that put a file into one block, and never look at its size."""
    client.create("/a", replication=3)
    first = client.store(client.add_block("/a"), 7 * BLOCK)
    last = client.store(client.add_block("/a", first), 9 * BLOCK)
    assert client.complete("/a", last) is True
    assert length_of(client, "/a") == 16 * BLOCK
    found = client.locations("/a", 6 * BLOCK, 2 * BLOCK).blocks
    assert [(block.offset, block.b.numBytes) for block in found] == [
        (0, 7 * BLOCK),
        (7 * BLOCK, 9 * BLOCK),
    ]


def test_who_appends_behind_a_block_beyond_the_block_size_gets_a_new_one(
    client: Any, nodes: Nodes
) -> None:
    client.write("/a", 7 * BLOCK, replication=3)
    client.append("/a")
    last = client.store(client.add_block("/a"), 1)
    assert client.complete("/a", last) is True
    assert length_of(client, "/a") == 7 * BLOCK + 1


@pytest.mark.parametrize("length", [MAX_BLOCK_BYTES + 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])
def test_length_that_no_block_has_is_refused(client: Any, nodes: Nodes, length: int) -> None:
    client.create("/a")
    block = client.add_block("/a").b
    block.numBytes = length
    with pytest.raises(errors.RemoteError, match="no block has"):
        client.add_block("/a", block)
    with pytest.raises(errors.RemoteError, match="no block has"):
        client.complete("/a", block)


def test_block_under_another_stamp_is_refused(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    block = client.store(client.add_block("/a"), BLOCK)
    block.generationStamp += 1
    with pytest.raises(errors.RemoteError, match="mismatching GS"):
        client.add_block("/a", block)


def test_block_that_was_settled_cannot_get_another_length(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    first = client.store(client.add_block("/a"), 100)
    second = client.add_block("/a", first).b
    client.abandon("/a", second)
    first.numBytes = 200
    with pytest.raises(errors.RemoteError, match="settled on 100 bytes"):
        client.add_block("/a", first)
    with pytest.raises(errors.RemoteError, match="settled on 100 bytes"):
        client.complete("/a", first)


def test_block_of_another_pool_is_refused(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    block = client.add_block("/a").b
    block.poolId = "BP-other"
    calls: tuple[Callable[[], object], ...] = (
        lambda: client.add_block("/a", block),
        lambda: client.complete("/a", block),
        lambda: client.abandon("/a", block),
        lambda: client.call(
            "updateBlockForPipeline",
            pb.UpdateBlockForPipelineRequestProto(block=block, clientName=client.name),
        ),
    )
    for call in calls:
        with pytest.raises(errors.RemoteError, match="Unexpected BlockPoolId BP-other - expected"):
            call()


def test_another_client_adds_no_block(client_of: Any, nodes: Nodes) -> None:
    first, second = client_of(), client_of()
    first.create("/a")
    with pytest.raises(errors.LeaseExpired, match="is not the lease owner"):
        second.add_block("/a")


def test_closed_file_gets_no_block(client: Any, nodes: Nodes) -> None:
    client.write("/a", 10)
    with pytest.raises(errors.LeaseExpired, match="File is not open for writing: /a"):
        client.add_block("/a")


def test_file_that_was_renamed_is_written_on_by_its_id(client: Any, nodes: Nodes) -> None:
    inode_id = client.create("/a").fileId
    client.rename("/a", "/b")
    block = client.store(client.add_block("/a", fileId=inode_id), 10)
    assert client.complete("/a", block, fileId=inode_id) is True
    assert length_of(client, "/b") == 10


def test_file_below_a_renamed_directory_is_written_on(client: Any, nodes: Nodes) -> None:
    inode_id = client.create("/d/e/a").fileId
    client.rename("/d", "/x")
    block = client.store(client.add_block("/d/e/a", fileId=inode_id), 10)
    client.complete("/d/e/a", block, fileId=inode_id)
    fresh = client.namenode.restarted().namesystem.namespace.find("/x/e/a")
    assert isinstance(fresh, File)
    assert fresh.length_bytes == 10


def test_file_below_a_deleted_directory_is_gone_for_its_writer(client: Any, nodes: Nodes) -> None:
    inode_id = client.create("/d/a").fileId
    client.delete("/d")
    calls: tuple[Callable[[], object], ...] = (
        lambda: client.add_block("/d/a", fileId=inode_id),
        lambda: client.complete("/d/a", fileId=inode_id),
        lambda: client.fsync("/d/a", fileId=inode_id),
    )
    for call in calls:
        with pytest.raises(errors.PathNotFound, match="File does not exist: /d/a"):
            call()
    assert client.namenode.namesystem.leases.open_files == 0


# Abandoning and syncing.


def test_abandoned_block_is_gone_and_its_replicas_are_deleted(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    block = client.add_block("/a")
    client.store(block, 5)
    client.abandon("/a", block.b)
    assert not client.namenode.namesystem.namespace.find("/a").blocks
    client.namenode.tick()
    orders = [c for n in nodes for c in n.heartbeat()]
    assert [b.blockId for c in orders for b in c.blkCmd.blocks] == [block.b.blockId]


def test_abandoning_a_block_twice_is_no_error(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    block = client.add_block("/a").b
    client.abandon("/a", block)
    client.abandon("/a", block)


def test_writer_may_abandon_a_block_with_synced_bytes(client: Any, nodes: Nodes) -> None:
    """As Hadoop has it: the bytes are the writer's own."""
    client.create("/a")
    block = client.add_block("/a").b
    client.fsync("/a", 7)
    client.abandon("/a", block)
    assert length_of(client, "/a") == 0
    with pytest.raises(errors.LeaseExpired):
        client.call(
            "abandonBlock",
            pb.AbandonBlockRequestProto(b=block, src="/a", holder="DFSClient_another"),
        )


def test_writer_closes_the_file_behind_the_block_that_it_abandoned(
    client: Any, nodes: Nodes
) -> None:
    client.create("/a")
    first = client.store(client.add_block("/a"), BLOCK)
    last = client.add_block("/a", first)
    client.fsync("/a", 7)
    client.abandon("/a", last.b)
    last.b.numBytes = 7
    assert client.complete("/a", last.b) is True
    assert length_of(client, "/a") == BLOCK


@pytest.mark.parametrize("from_image", [False, True], ids=["log", "image"])
def test_writer_closes_the_file_behind_the_block_that_it_abandoned_before_a_failover(
    client: Any, nodes: Nodes, from_image: bool
) -> None:
    client.create("/a")
    last = client.add_block("/a")
    client.fsync("/a", 7)
    client.abandon("/a", last.b)
    last.b.numBytes = 7
    client.namenode = client.namenode.restarted(from_image=from_image)
    client.namenode.namesystem.safe_mode.leave()
    assert client.complete("/a", last.b) is True
    assert length_of(client, "/a") == 0


def test_block_that_the_namenode_never_knew_does_not_close_a_file(
    client: Any, nodes: Nodes
) -> None:
    client.create("/a")
    first = client.store(client.add_block("/a"), BLOCK)
    last = client.add_block("/a", first).b
    client.abandon("/a", last)
    last.blockId += 1
    with pytest.raises(errors.RemoteError, match="the client's last block is"):
        client.complete("/a", last)


def test_block_that_a_snapshot_shows_is_not_abandoned(client: Any, nodes: Nodes) -> None:
    client.mkdirs("/d")
    client.call("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot="/d"))
    client.create("/d/a")
    block = client.add_block("/d/a").b
    client.fsync("/d/a", 7)
    client.call("createSnapshot", pb.CreateSnapshotRequestProto(snapshotRoot="/d"))
    with pytest.raises(errors.RemoteError, match=r"cannot be abandoned.*a snapshot has it"):
        client.abandon("/d/a", block)


def test_last_block_of_a_reopened_file_is_not_abandoned(client: Any, nodes: Nodes) -> None:
    file = client.write("/a", BLOCK)
    client.append("/a")
    with pytest.raises(errors.RemoteError, match="cannot be abandoned"):
        client.abandon("/a", client.locations("/a").blocks[0].b)
    assert len(file.blocks) == 1


@pytest.mark.req("FS-150")
def test_synced_length_is_the_files_length(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    client.add_block("/a")
    assert length_of(client, "/a") == 0
    client.fsync("/a", 7)
    assert length_of(client, "/a") == 7


def test_synced_length_never_goes_back(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    client.add_block("/a")
    client.fsync("/a", 7)
    client.fsync("/a", 3)
    client.fsync("/a")
    assert length_of(client, "/a") == 7


def test_synced_length_may_be_beyond_the_block_size(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    client.add_block("/a")
    client.fsync("/a", 7 * BLOCK)
    assert length_of(client, "/a") == 7 * BLOCK
    with pytest.raises(errors.RemoteError, match="no block has"):
        client.fsync("/a", MAX_BLOCK_BYTES + 1)


def test_sync_does_not_touch_a_block_that_is_settled(client: Any, nodes: Nodes) -> None:
    client.write("/a", 10)
    client.append("/a", new_block=True)
    client.fsync("/a", 99)
    assert length_of(client, "/a") == 10


def test_sync_of_a_file_without_blocks_is_no_error(client: Any) -> None:
    client.create("/a")
    client.fsync("/a")
    client.fsync("/a", 0)
    assert length_of(client, "/a") == 0


def test_no_sync_promises_bytes_of_a_block_that_is_not_there(client: Any) -> None:
    client.create("/a")
    with pytest.raises(errors.RemoteError, match="it has no block"):
        client.fsync("/a", 7)


@pytest.mark.req("XC-003", "OS-158")
def test_each_length_that_a_sync_told_outlives_the_namenode(client: Any, nodes: Nodes) -> None:
    """A namenode that is killed forgets no length, whether anybody asked for it or not."""
    client.create("/a")
    client.add_block("/a")
    for length in (7, 8, 500):
        client.fsync("/a", length)
        restarted = client.namenode.restarted().namesystem.namespace.find("/a")
        assert restarted.blocks[-1].length_bytes == length


def test_only_who_says_so_is_told_of_a_length_before_it_is_durable(
    client: Any, nodes: Nodes
) -> None:
    """Java's client does not know that one can."""
    client.create("/a")
    client.add_block("/a")
    registry = Registry([client.namenode.client.service()])
    for visible_only in (None, False, True):
        request = pb.FsyncRequestProto(src="/a", client=client.name, lastBlockLength=7)
        if visible_only is not None:
            request.visibleOnly = visible_only
        root = Caller("root", b"", 0, 0, "10.0.0.1")
        call = Call(root, PROTOCOL, 1, "fsync", request.SerializeToString())
        answer = registry.dispatch_to_wire(call)
        assert isinstance(answer, Early) is bool(visible_only)
    assert length_of(client, "/a") == 7


def test_a_sync_that_tells_nothing_new_is_no_edit(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    client.add_block("/a")
    client.fsync("/a", 7)
    log = len(client.namenode.log)
    client.fsync("/a", 7)
    client.fsync("/a", 3)
    assert len(client.namenode.log) == log


@pytest.mark.req("XC-003", "OS-158")
@pytest.mark.parametrize("look", ["status", "page", "locations", "summary"])
def test_a_synced_length_is_told_at_once(client: Any, nodes: Nodes, look: str) -> None:
    client.create("/a")
    client.add_block("/a")
    client.fsync("/a", 7)
    client.fsync("/a", 9)
    told = {
        "status": lambda: client.status("/a").length,
        "page": lambda: client.page("/").partialListing[0].length,
        "locations": lambda: client.locations("/a").lastBlock.b.numBytes,
        "summary": lambda: (
            client.call(
                "getContentSummary", pb.GetContentSummaryRequestProto(path="/")
            ).summary.length
        ),
    }[look]()
    assert told == 9


def test_a_writer_cannot_go_back_behind_what_it_synced(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    block = client.add_block("/a")
    client.fsync("/a", 7)
    client.fsync("/a", 9)
    block.b.numBytes = 8
    with pytest.raises(errors.RemoteError, match=r"less than the stored one 8 vs\. 9"):
        client.complete("/a", block.b)


# Where it goes, as the writer says.


def placed(block: types_pb2.LocatedBlockProto) -> set[str]:
    return {place.id.datanodeUuid for place in block.locs}


def test_a_writer_on_a_datanode_may_want_no_replica_there(client: Any, nodes: Nodes) -> None:
    client.address = nodes[0].ip
    client.create("/here", replication=2)
    assert nodes[0].uuid in placed(client.add_block("/here"))
    client.create("/elsewhere", replication=2)
    block = client.add_block("/elsewhere", flags=[pb.NO_LOCAL_WRITE])
    assert placed(block) == {nodes[1].uuid, nodes[2].uuid}
    client.create("/all", replication=3)
    assert len(placed(client.add_block("/all", flags=[pb.NO_LOCAL_WRITE]))) == 3


def test_a_writer_on_a_datanode_may_ask_to_be_taken_for_anybody(client: Any, nodes: Nodes) -> None:
    client.address = nodes[0].ip
    found = set()
    for number in range(30):
        client.create(f"/f{number}", replication=1)
        found |= placed(client.add_block(f"/f{number}", flags=[pb.IGNORE_CLIENT_LOCALITY]))
    assert found == {node.uuid for node in nodes}


def test_a_writer_outside_gets_its_first_replica_on_its_rack(client: Any) -> None:
    namenode = client.namenode
    for number in range(6):
        namenode.join(f"dn{number}", rack=f"/r{number % 3}")
    namenode.racks = {**namenode.racks, client.address: "/r1"}
    namenode.namesystem.datanode_manager.racks = type(namenode.namesystem.datanode_manager.racks)(
        namenode.racks
    )
    for number in range(10):
        client.create(f"/f{number}", replication=1)
        assert placed(client.add_block(f"/f{number}")) <= {"dn1", "dn4"}


def test_writer_without_an_inode_has_to_be_able_to_walk_to_its_file(
    alice: Any, client_of: Any, nodes: Nodes
) -> None:
    """As in Hadoop. Otherwise a stranger who knows the writer's name gives up its blocks."""
    alice.mkdirs("/user/alice/closed")
    alice.chmod("/user/alice/closed", 0o700)
    path = "/user/alice/closed/f"
    inode_id = alice.create(path).fileId
    block = alice.add_block(path).b
    stranger = client_of("bob")
    stranger.name = alice.name
    calls: tuple[Callable[[], object], ...] = (
        lambda: stranger.add_block(path, block),
        lambda: stranger.complete(path, block),
        lambda: stranger.abandon(path, block),
        lambda: stranger.fsync(path, 1),
        lambda: stranger.call(
            "getAdditionalDatanode",
            pb.GetAdditionalDatanodeRequestProto(
                src=path, blk=block, numAdditionalNodes=1, clientName=alice.name
            ),
        ),
    )
    for call in calls:
        with pytest.raises(errors.AccessDenied, match="Permission denied: user=bob"):
            call()
    client_of().chmod("/user/alice", 0)
    alice.abandon(path, block, fileId=inode_id)
