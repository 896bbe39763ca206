"""Files are created, and opened again to append to them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from howdah import errors
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.state.inodes.inodes import BlockState
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
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
    block_id = old.blocks[0].block_id
    client.create("/a", flag=CREATE | OVERWRITE)
    new = client.namenode.namesystem.namespace.find("/a")
    assert new.inode_id != old.inode_id
    assert block_id not in client.namenode.namesystem.namespace.blocks


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


def test_a_block_size_that_an_image_cannot_keep_is_refused(client: Any) -> None:
    """Hadoop's namenode has 48 bits for it, and does not start from a log with a larger one."""
    client.create("/largest", block_size=(1 << 48) - 1)
    with pytest.raises(errors.IllegalArgument, match="281474976710656 of /a is more than"):
        client.create("/a", block_size=1 << 48)


@pytest.mark.parametrize("size", [16, 17, 1000])
@pytest.mark.parametrize("settings", [Settings("", min_block_size_bytes=16)])
def test_block_size_need_be_no_multiple_of_anything(client: Any, size: int) -> None:
    """That is a check of some clients; tests of others lower the minimum to 16."""
    client.namenode.join("dn0")
    client.write("/a", size, size - 1, block_size=size)
    assert client.status("/a").length == 2 * size - 1


def test_who_may_not_write_is_not_told_what_is_there(client: Any) -> None:
    client.mkdirs("/theirs/d")
    mallory = replace(client, user="mallory")
    for path in ("/theirs/d", "/theirs/new", "/theirs/no/parent"):
        with pytest.raises(errors.AccessDenied):
            mallory.create(path, flag=3, create_parent=False)


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


# Appending.


@pytest.mark.req("AP-005", "AP-007", "AP-009", "AP-010", "LM-058")
def test_append_goes_on_with_the_last_block(client: Any, nodes: Nodes) -> None:
    client.write("/a", BLOCK, 10)
    answer = client.append("/a")
    assert answer.block.b.numBytes == 10
    assert answer.block.offset == BLOCK
    assert len(answer.block.locs) == 1
    assert answer.stat.length == BLOCK + 10
    file = client.namenode.namesystem.namespace.find("/a")
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
    assert [b.length_bytes for b in client.namenode.namesystem.namespace.find("/a").blocks] == [
        10,
        5,
    ]


def test_append_without_a_change_can_be_closed(client: Any, nodes: Nodes) -> None:
    client.write("/a", 10)
    block = client.append("/a").block.b
    assert client.complete("/a", block) is True
    assert length_of(client, "/a") == 10


@pytest.mark.req("AP-011", "AP-017")
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
