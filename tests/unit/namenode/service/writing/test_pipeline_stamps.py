"""New generation stamps for a block, as its writer asks for them."""

from __future__ import annotations

from typing import Any

import pytest

from howdah import errors
from howdah.namenode.state.inodes.file_blocks import MAX_BLOCK_BYTES
from howdah.proto import client_namenode_pb2 as pb
from howdah.testing.in_memory import InMemoryDatanode

BLOCK = 1024
Nodes = list[InMemoryDatanode]


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


def test_new_pipeline_may_have_more_than_the_files_block_size(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    block = client.add_block("/a").b
    new = named_anew(block, stamped(client, block).b.generationStamp, 9 * BLOCK)
    update(client, block, new, nodes[:1])
    nodes[0].store(new.blockId, new.generationStamp, 9 * BLOCK)
    assert client.complete("/a", new) is True


@pytest.mark.parametrize("length", [MAX_BLOCK_BYTES + 1, (1 << 64) - 1])
def test_new_pipeline_cannot_have_more_than_any_block(
    client: Any, nodes: Nodes, length: int
) -> None:
    client.create("/a")
    block = client.add_block("/a").b
    new = named_anew(block, stamped(client, block).b.generationStamp, length)
    with pytest.raises(errors.RemoteError, match="no block has"):
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
    client.namenode.clock.advance(client.namenode.namesystem.block_manager.return_left_ms)
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
    with pytest.raises(errors.RemoteError, match="but not UNDER_CONSTRUCTION"):
        stamped(client, client.locations("/a").blocks[0].b)


def test_pipeline_of_a_block_of_final_length_cannot_change(
    client: Any, nodes: Any, named: Any
) -> None:
    """The writer has gone on to another block, and has given that up."""
    client.create("/a", replication=3)
    first = client.add_block("/a").b
    first.numBytes = 1024
    second = client.add_block("/a", first)
    client.abandon("/a", second.b)
    with pytest.raises(errors.RemoteError, match="but not UNDER_CONSTRUCTION"):
        client.call(
            "updateBlockForPipeline",
            pb.UpdateBlockForPipelineRequestProto(block=first, clientName=client.name),
        )


@pytest.mark.parametrize("targets", [0, 1])
def test_pipeline_of_a_deleted_file_that_a_snapshot_shows_cannot_change(
    client: Any, nodes: Nodes, targets: int
) -> None:
    client.create("/a")
    block = client.add_block("/a").b
    synced = pb.FsyncRequestProto(src="/a", client=client.name, lastBlockLength=4)
    client.call("fsync", synced)
    client.call("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot="/"))
    client.call("createSnapshot", pb.CreateSnapshotRequestProto(snapshotRoot="/"))
    new = named_anew(block, stamped(client, block).b.generationStamp, 4)
    client.delete("/a")
    words = "belonged to does not exist or it is not under construction"
    with pytest.raises(errors.RemoteError, match=words):
        update(client, block, new, nodes[:targets])
    with pytest.raises(errors.RemoteError, match=words):
        stamped(client, block)


def test_only_the_writer_gets_a_new_stamp(client_of: Any, nodes: Nodes) -> None:
    first, second = client_of(), client_of()
    first.create("/a")
    block = first.add_block("/a").b
    with pytest.raises(errors.LeaseExpired, match=r"^Lease mismatch: blk_.* non lease holder"):
        stamped(second, block)
