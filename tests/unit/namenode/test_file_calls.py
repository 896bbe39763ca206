"""The life of a file while it is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from howdah import errors
from howdah.namenode.core import Settings
from howdah.namenode.inodes import BlockState, File
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.rpc.service import Deferred
from howdah.testing.in_memory import InMemoryDatanode, InMemoryNamenode

BLOCK = 1024
CREATE, OVERWRITE = 1, 2
Nodes = list[InMemoryDatanode]


def length_of(client: Any, path: str) -> int:
    return int(client.status(path).length)


# Creating.


@pytest.mark.req("FS-116", "FS-146", "OS-013")
def test_created_file_is_there_and_empty(client: Any) -> None:
    client.create("/a")
    status = client.status("/a")
    assert status.fileType == types_pb2.HdfsFileStatusProto.IS_FILE
    assert status.length == 0
    assert list(client.locations("/a").blocks) == []


@pytest.mark.req("FS-117")
def test_file_that_exists_is_not_created_again(client: Any, nodes: Nodes) -> None:
    client.write("/a", 10)
    with pytest.raises(errors.PathExists, match=r"/a for client 10\.9\.9\.9 already exists"):
        client.create("/a")


@pytest.mark.req("FS-005")
def test_second_writer_is_refused_while_the_file_is_written(client_of: Any) -> None:
    first, second = client_of(), client_of()
    first.create("/a")
    with pytest.raises(errors.AlreadyBeingCreated) as caught:
        second.create("/a")
    assert caught.value.message == (
        f"Failed to CREATE_FILE /a for {second.name} on 10.9.9.9 because this file lease is "
        f"currently owned by {first.name} on 10.9.9.9"
    )


@pytest.mark.req("FS-005")
def test_writer_itself_cannot_create_the_file_once_more(client: Any) -> None:
    client.create("/a")
    with pytest.raises(errors.AlreadyBeingCreated, match="is already the current lease holder"):
        client.create("/a")


def test_overwriting_replaces_file_and_blocks(client: Any, nodes: Nodes) -> None:
    old = client.write("/a", 10)
    client.create("/a", flag=CREATE | OVERWRITE)
    new = client.namenode.core.namespace.find("/a")
    assert new.inode_id != old.inode_id
    assert old.blocks[0].block_id not in client.namenode.core.namespace.blocks


def test_overwriting_takes_the_file_away_from_its_writer(client_of: Any, nodes: Nodes) -> None:
    first, second = client_of(), client_of()
    inode_id = first.create("/a").fileId
    second.create("/a", flag=CREATE | OVERWRITE)
    with pytest.raises(errors.PathNotFound):
        first.add_block("/a", fileId=inode_id)
    with pytest.raises(errors.LeaseExpired, match="is not the lease owner"):
        first.add_block("/a")


def test_without_the_create_flag_there_must_be_something_to_overwrite(client: Any) -> None:
    with pytest.raises(errors.PathNotFound, match="Can't overwrite non-existent /a"):
        client.create("/a", flag=OVERWRITE)
    client.create("/a")
    client.create("/a", flag=OVERWRITE)


def test_directory_is_not_overwritten(client: Any) -> None:
    client.mkdirs("/d")
    with pytest.raises(errors.PathExists, match="/d already exists as a directory"):
        client.create("/d", flag=CREATE | OVERWRITE)


def test_parents_are_made_if_wanted(client: Any) -> None:
    with pytest.raises(errors.PathNotFound, match="Parent directory doesn't exist: /x/y"):
        client.create("/x/y/a", create_parent=False)
    assert not client.exists("/x")
    client.create("/x/y/a")
    assert client.status("/x/y").fileType == types_pb2.HdfsFileStatusProto.IS_DIR


def test_file_cannot_be_a_parent(client: Any) -> None:
    client.create("/f")
    with pytest.raises(errors.ParentNotDirectory, match="/f"):
        client.create("/f/a")


@pytest.mark.req("FS-018")
def test_block_size_is_chosen_per_file(client: Any) -> None:
    client.create("/small", block_size=512)
    client.create("/big", block_size=1 << 40)
    assert (client.status("/small").blocksize, client.status("/big").blocksize) == (512, 1 << 40)


@pytest.mark.parametrize("size", [0, 1, 511, (1 << 64) - 512, 1 << 63])
def test_block_size_below_the_minimum_is_refused(client: Any, size: int) -> None:
    with pytest.raises(errors.RemoteError, match=r"dfs\.namenode\.fs-limits\.min-block-size"):
        client.create("/a", block_size=size)
    assert not client.exists("/a")


def test_block_size_that_no_chunk_divides_is_refused(client: Any) -> None:
    with pytest.raises(errors.RemoteError, match="no multiple of 512"):
        client.create("/a", block_size=1000)


@pytest.mark.parametrize("replication", [0, 513, 1 << 31])
def test_replication_outside_the_limits_is_refused(client: Any, replication: int) -> None:
    with pytest.raises(errors.RemoteError, match="Requested replication factor of"):
        client.create("/a", replication=replication)


@pytest.mark.req("FS-007", "FS-167", "FS-168")
def test_defaults_are_hadoops(client_of: Any) -> None:
    namenode = InMemoryNamenode()
    answer = namenode.call("getServerDefaults", pb.GetServerDefaultsRequestProto())
    assert isinstance(answer, pb.GetServerDefaultsResponseProto)
    defaults = answer.serverDefaults
    assert (defaults.blockSize, defaults.replication) == (128 << 20, 3)


@pytest.mark.parametrize("name", ["c" * 70_000, "ü" * 40_000])
def test_client_name_that_no_record_holds_changes_nothing(client: Any, name: str) -> None:
    with pytest.raises(errors.IllegalArgument, match="edit log record"):
        client.create("/a", client_name=name)
    assert not client.exists("/a")


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
    assert len(client.namenode.core.namespace.find("/a").blocks) == 2


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


@pytest.mark.req("AP-035", "AP-036", "XC-013")
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


def test_nothing_left_to_write_to_is_told_as_hadoop_words_it(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    excluded = [types_pb2.DatanodeInfoProto(id=n.registration().datanodeID) for n in nodes]
    with pytest.raises(errors.RemoteError) as caught:
        client.add_block("/a", excludeNodes=excluded)
    assert caught.value.message == (
        "File /a could only be written to 0 of the 1 minReplication nodes. There are 3 "
        "datanode(s) running and 3 node(s) are excluded in this operation."
    )


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


@pytest.mark.parametrize("length", [BLOCK + 1, (1 << 64) - 1])
def test_block_longer_than_the_files_block_size_is_refused(
    client: Any, nodes: Nodes, length: int
) -> None:
    client.create("/a")
    block = client.add_block("/a").b
    block.numBytes = length
    with pytest.raises(errors.RemoteError, match="block size"):
        client.add_block("/a", block)
    with pytest.raises(errors.RemoteError, match="block size"):
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
    for call in (
        lambda: client.add_block("/a", block),
        lambda: client.complete("/a", block),
        lambda: client.abandon("/a", block),
        lambda: stamped(client, block),
    ):
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
    fresh = client.namenode.restarted().core.namespace.find("/x/e/a")
    assert isinstance(fresh, File)
    assert fresh.length_bytes == 10


def test_file_below_a_deleted_directory_is_gone_for_its_writer(client: Any, nodes: Nodes) -> None:
    inode_id = client.create("/d/a").fileId
    client.delete("/d")
    for call in (
        lambda: client.add_block("/d/a", fileId=inode_id),
        lambda: client.complete("/d/a", fileId=inode_id),
        lambda: client.fsync("/d/a", fileId=inode_id),
    ):
        with pytest.raises(errors.PathNotFound, match="File does not exist: /d/a"):
            call()
    assert client.namenode.core.leases.open_files == 0


# Abandoning and syncing.


def test_abandoned_block_is_gone_and_its_replicas_are_deleted(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    block = client.add_block("/a")
    client.store(block, 5)
    client.abandon("/a", block.b)
    assert not client.namenode.core.namespace.find("/a").blocks
    client.namenode.tick()
    orders = [c for n in nodes for c in n.heartbeat()]
    assert [b.blockId for c in orders for b in c.blkCmd.blocks] == [block.b.blockId]


def test_abandoning_a_block_twice_is_no_error(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    block = client.add_block("/a").b
    client.abandon("/a", block)
    client.abandon("/a", block)


def test_block_with_acknowledged_bytes_is_not_abandoned(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    block = client.add_block("/a").b
    client.fsync("/a", 7)
    with pytest.raises(errors.RemoteError, match="cannot be abandoned"):
        client.abandon("/a", block)


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


def test_synced_length_has_to_fit_the_block(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    client.add_block("/a")
    with pytest.raises(errors.RemoteError, match="block size"):
        client.fsync("/a", BLOCK + 1)


def test_sync_does_not_touch_a_block_that_is_settled(client: Any, nodes: Nodes) -> None:
    client.write("/a", 10)
    client.append("/a", new_block=True)
    client.fsync("/a", 99)
    assert length_of(client, "/a") == 10


def test_sync_of_a_file_without_blocks_is_no_error(client: Any) -> None:
    client.create("/a")
    client.fsync("/a", 7)
    assert length_of(client, "/a") == 0


# Closing.


@pytest.mark.req("FS-134", "OS-056", "OS-058", "AP-003", "AP-040", "AP-043", "AP-044")
def test_closed_file_has_its_length_and_no_lease(client: Any, client_of: Any, nodes: Nodes) -> None:
    client.namenode.clock.advance(1000)
    client.write("/a", BLOCK, 10)
    status = client.status("/a")
    assert status.length == BLOCK + 10
    assert status.modification_time == client.namenode.clock.wall_ms()
    assert client.namenode.core.leases.open_files == 0
    client_of().append("/a")


@pytest.mark.req("FS-135", "FS-132", "AP-041", "LM-061")
def test_close_waits_for_one_replica_and_no_more(
    client: Any, nodes: Nodes, settled: Callable[[Any], Any]
) -> None:
    client.create("/a", replication=3)
    block = client.add_block("/a")
    block.b.numBytes = 10
    answer = client.complete("/a", block.b)
    assert isinstance(answer, Deferred)
    assert settled(answer) is None
    nodes[1].store(block.b.blockId, block.b.generationStamp, 10)
    assert settled(answer) is True


@pytest.mark.req("AP-042")
def test_close_is_false_when_no_replica_comes_in_time(
    client: Any, nodes: Nodes, settled: Callable[[Any], Any]
) -> None:
    client.create("/a")
    block = client.add_block("/a")
    answer = client.complete("/a", block.b)
    client.namenode.tick(2999)
    assert settled(answer) is None
    client.namenode.tick(1)
    assert settled(answer) is False
    client.store(block, 0)
    assert client.complete("/a", block.b) is True


def test_close_does_not_count_replicas_of_another_length(
    client: Any, nodes: Nodes, settled: Callable[[Any], Any]
) -> None:
    client.create("/a", replication=2)
    block = client.add_block("/a")
    first, second = (next(n for n in nodes if n.uuid == t.id.datanodeUuid) for t in block.locs)
    first.store(block.b.blockId, block.b.generationStamp, 9)
    block.b.numBytes = 10
    answer = client.complete("/a", block.b)
    assert settled(answer) is None
    second.store(block.b.blockId, block.b.generationStamp, 10)
    assert settled(answer) is True
    (kept,) = client.namenode.core.namespace.find("/a").blocks[0].replicas
    assert kept.node is second.known


@pytest.mark.req("AP-041")
def test_close_waits_for_earlier_blocks_too(
    client: Any, nodes: Nodes, settled: Callable[[Any], Any]
) -> None:
    client.create("/a")
    first = client.add_block("/a")
    first.b.numBytes = BLOCK
    second = client.add_block("/a", first.b)
    answer = client.complete("/a", client.store(second, 5))
    assert settled(answer) is None
    client.store(first, BLOCK)
    assert settled(answer) is True


def test_file_without_blocks_is_closed_at_once(client: Any) -> None:
    client.create("/a")
    assert client.complete("/a") is True


def test_repeated_close_succeeds_again(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    inode_id = client.status("/a").fileId
    block = client.store(client.add_block("/a"), 10)
    assert client.complete("/a", block) is True
    assert client.complete("/a", block) is True
    assert client.complete("/a", block, fileId=inode_id) is True


def test_close_of_another_block_than_the_last_is_refused(
    client: Any, nodes: Nodes, named: Callable[..., Any]
) -> None:
    client.create("/a")
    client.add_block("/a")
    with pytest.raises(errors.RemoteError, match="the client's last block is"):
        client.complete("/a", named(4711, 1001, 0))
    with pytest.raises(errors.RemoteError, match="the client's last block is None"):
        client.complete("/a")


def test_file_deleted_while_close_waits_fails_the_close(
    client: Any, nodes: Nodes, settled: Callable[[Any], Any]
) -> None:
    client.create("/a")
    answer = client.complete("/a", client.add_block("/a").b)
    client.delete("/a")
    client.namenode.tick()
    with pytest.raises(errors.PathNotFound, match="was deleted while it was closed"):
        settled(answer)


def test_block_abandoned_while_close_waits_fails_the_close_and_no_more(
    client: Any, nodes: Nodes, settled: Callable[[Any], Any]
) -> None:
    client.create("/a")
    block = client.add_block("/a").b
    answer = client.complete("/a", block)
    client.abandon("/a", block)
    client.namenode.tick()
    with pytest.raises(errors.RemoteError, match="the file's None"):
        settled(answer)
    assert client.complete("/a") is True


def test_file_taken_over_while_close_waits_is_not_closed(
    client_of: Any, nodes: Nodes, settled: Callable[[Any], Any]
) -> None:
    first, second = client_of(), client_of()
    first.create("/a")
    answer = first.complete("/a", first.add_block("/a").b)
    second.create("/a", flag=CREATE | OVERWRITE)
    first.namenode.tick()
    with pytest.raises(errors.PathNotFound):
        settled(answer)
    assert second.namenode.core.namespace.find("/a").writer == second.name


def test_nothing_is_closed_in_safe_mode(
    client: Any, nodes: Nodes, settled: Callable[[Any], Any]
) -> None:
    client.create("/a")
    block = client.add_block("/a")
    answer = client.complete("/a", block.b)
    client.namenode.core.safe_mode.enter()
    client.store(block, 0)
    assert settled(answer) is None
    client.namenode.core.safe_mode.leave()
    client.namenode.tick()
    assert settled(answer) is True


def test_two_closes_of_one_file_both_succeed(
    client: Any, nodes: Nodes, settled: Callable[[Any], Any]
) -> None:
    client.create("/a")
    block = client.add_block("/a")
    answers = [client.complete("/a", block.b) for _ in range(2)]
    client.store(block, 0)
    assert [settled(answer) for answer in answers] == [True, True]


# Appending.


@pytest.mark.req("AP-005", "AP-007", "AP-009", "AP-010")
def test_append_goes_on_with_the_last_block(client: Any, nodes: Nodes) -> None:
    client.write("/a", BLOCK, 10)
    answer = client.append("/a")
    assert answer.block.b.numBytes == 10
    assert answer.block.offset == BLOCK
    assert len(answer.block.locs) == 1
    assert answer.stat.length == BLOCK + 10
    file = client.namenode.core.namespace.find("/a")
    assert file.blocks[-1].state is BlockState.UNDER_CONSTRUCTION


@pytest.mark.req("AP-045")
def test_append_behind_a_full_block_begins_a_new_one(client: Any, nodes: Nodes) -> None:
    client.write("/a", BLOCK)
    assert not client.append("/a").HasField("block")
    block = client.add_block("/a")
    assert block.offset == BLOCK
    assert client.add_block("/a") == block
    assert client.complete("/a", client.store(block, 5)) is True
    assert length_of(client, "/a") == BLOCK + 5


def test_append_behind_a_full_block_that_adds_nothing_can_be_closed(
    client: Any, nodes: Nodes
) -> None:
    client.write("/a", BLOCK)
    client.append("/a")
    assert client.complete("/a") is True
    assert length_of(client, "/a") == BLOCK


def test_append_to_a_new_block_names_the_one_before(client: Any, nodes: Nodes) -> None:
    client.write("/a", 10)
    last = client.append("/a", new_block=True).block
    assert (last.b.numBytes, len(last.locs)) == (10, 0)
    block = client.store(client.add_block("/a", last.b), 5)
    assert client.complete("/a", block) is True
    assert [b.length_bytes for b in client.namenode.core.namespace.find("/a").blocks] == [10, 5]


def test_append_without_a_change_can_be_closed(client: Any, nodes: Nodes) -> None:
    client.write("/a", 10)
    block = client.append("/a").block.b
    assert client.complete("/a", block) is True
    assert length_of(client, "/a") == 10


@pytest.mark.req("AP-011")
def test_append_to_an_empty_file_has_no_last_block(client: Any) -> None:
    client.create("/a")
    client.complete("/a")
    assert not client.append("/a").HasField("block")


@pytest.mark.req("FS-005", "AP-008")
def test_append_to_a_file_that_is_written_is_refused(client_of: Any) -> None:
    first, second = client_of(), client_of()
    first.create("/a")
    with pytest.raises(errors.AlreadyBeingCreated, match="Failed to APPEND_FILE /a"):
        second.append("/a")


@pytest.mark.req("AP-006")
def test_append_to_what_is_no_file_is_refused(client: Any) -> None:
    client.mkdirs("/d")
    with pytest.raises(errors.PathExists, match="Cannot append to directory /d"):
        client.append("/d")
    with pytest.raises(errors.PathNotFound, match="non-existent file /a"):
        client.append("/a")


def test_append_waits_for_a_replica_of_the_last_block(client: Any, nodes: Nodes) -> None:
    file = client.write("/a", 10)
    for node in nodes:
        node.drop(file.blocks[0].block_id)
    with pytest.raises(errors.RemoteError, match="not sufficiently replicated yet"):
        client.append("/a")


# New generation stamps.


def stamped(client: Any, block: Any) -> Any:
    return client.call(
        "updateBlockForPipeline",
        pb.UpdateBlockForPipelineRequestProto(block=block, clientName=client.name),
    ).block


def update(client: Any, old: Any, new: Any, nodes: Nodes) -> None:
    client.call(
        "updatePipeline",
        pb.UpdatePipelineRequestProto(
            clientName=client.name,
            oldBlock=old,
            newBlock=new,
            newNodes=[n.registration().datanodeID for n in nodes],
            storageIDs=[n.first_storage for n in nodes],
        ),
    )


def named_anew(block: Any, stamp: int, length: int) -> Any:
    new = type(block)()
    new.CopyFrom(block)
    new.generationStamp = stamp
    new.numBytes = length
    return new


@pytest.mark.req("FS-126")
def test_replica_of_the_old_pipeline_is_deleted_when_its_node_reports_it(
    client: Any, nodes: Nodes
) -> None:
    client.create("/a", replication=3)
    block = client.add_block("/a").b
    new = named_anew(block, stamped(client, block).b.generationStamp, 6)
    update(client, block, new, nodes[:2])
    for node in nodes[:2]:
        node.store(new.blockId, new.generationStamp, 6)
    assert client.complete("/a", new) is True
    nodes[2].store(block.blockId, block.generationStamp, 4)
    client.namenode.tick()
    (command,) = nodes[2].heartbeat()
    assert [(b.blockId, b.genStamp) for b in command.blkCmd.blocks] == [
        (block.blockId, block.generationStamp)
    ]


@pytest.mark.parametrize("length", [BLOCK + 1, (1 << 64) - 1])
def test_new_pipeline_cannot_have_more_than_a_block(client: Any, nodes: Nodes, length: int) -> None:
    client.create("/a")
    block = client.add_block("/a").b
    new = named_anew(block, stamped(client, block).b.generationStamp, length)
    with pytest.raises(errors.RemoteError, match="block size"):
        update(client, block, new, nodes[:1])


def test_new_pipeline_never_shrinks_the_block(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    block = client.add_block("/a").b
    client.fsync("/a", 10)
    new = named_anew(block, stamped(client, block).b.generationStamp, 9)
    with pytest.raises(errors.RemoteError, match="never shrinks"):
        update(client, block, new, nodes[:1])


def test_stamp_that_was_not_given_out_is_refused(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    block = client.add_block("/a").b
    for stamp in (block.generationStamp, block.generationStamp + 1, 1 << 62):
        with pytest.raises(errors.RemoteError, match="to an older state"):
            update(client, block, named_anew(block, stamp, 0), nodes[:1])


def test_pipeline_needs_storages_that_exist(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    block = client.add_block("/a").b
    new = named_anew(block, stamped(client, block).b.generationStamp, 0)
    with pytest.raises(errors.RemoteError, match="it has no datanodes"):
        update(client, block, new, [])
    nodes[0].replicas = {"DS-invented": {}}
    with pytest.raises(errors.RemoteError, match="has no storage DS-invented"):
        update(client, block, new, nodes[:1])
    assert list(nodes[0].known.storages) == ["DS-dn0-0"]


def test_pipeline_of_an_earlier_block_cannot_change(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    first = client.add_block("/a").b
    first.numBytes = BLOCK
    client.add_block("/a", first)
    with pytest.raises(errors.RemoteError, match="is not the last block of /a"):
        stamped(client, first)


def test_complete_block_gets_no_new_stamp(client: Any, nodes: Nodes) -> None:
    client.write("/a", 10)
    with pytest.raises(errors.RemoteError, match="not under construction"):
        stamped(client, client.locations("/a").blocks[0].b)


# Replication.


@pytest.mark.req("FS-016")
def test_replication_of_a_file_can_be_changed(client: Any, nodes: Nodes) -> None:
    client.write("/a", 10)
    assert client.set_replication("/a", 3) is True
    assert client.status("/a").block_replication == 3


def test_replication_of_a_directory_cannot(client: Any) -> None:
    client.mkdirs("/d")
    assert client.set_replication("/d", 3) is False
    assert client.set_replication("/nothing", 3) is False


def test_replication_over_the_limit_is_refused(client: Any) -> None:
    client.create("/a")
    with pytest.raises(errors.RemoteError, match="exceeds maximum of 512"):
        client.set_replication("/a", 513)
