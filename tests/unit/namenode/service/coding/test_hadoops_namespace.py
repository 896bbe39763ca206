"""A namespace of Hadoop 3.5.0 with erasure-coded files: `fsimage_erasure_coding`, and the log
`edits_erasure_coding` that led to it. Its files are served as Hadoop serves them."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah.formats.edits import edits
from howdah.formats.edits.codec import decode_record, record_length
from howdah.formats.edits.segment_scan import HEADER_BYTES
from howdah.formats.image.fsimage import ImageReader
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.state.images.image import read_image, write_image
from howdah.namenode.state.inodes.group_table import Group
from howdah.namenode.state.inodes.inodes import File
from howdah.namenode.state.tree.namespace import Namespace
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import datanode_namenode_pb2, types_pb2
from howdah.testing.in_memory import InMemoryDatanode, InMemoryNamenode, replayed

GOLDEN = Path(__file__).parents[3] / "formats" / "golden"
LONG = 1 << 64


def hadoops_image() -> Namespace:
    with open(GOLDEN / "fsimage_erasure_coding", "rb", buffering=0) as file:
        return read_image(file, "fsimage_erasure_coding")[0]


def hadoops_edits() -> Iterator[edits.Edit]:
    raw = (GOLDEN / "edits_erasure_coding").read_bytes()
    offset = HEADER_BYTES
    while offset < len(raw):
        length = record_length(raw, offset)
        yield decode_record(raw[offset : offset + length]).edit
        offset += length


def written(namespace: Namespace) -> bytes:
    image = io.BytesIO()
    write_image(namespace, 1, 169, image)
    return image.getvalue()


def files_of(namespace: Namespace) -> dict[str, tuple[object, ...]]:
    return {
        inode.path: (
            inode.coding_policy_id,
            inode.length_bytes,
            [(b.block_id, b.length_bytes, b.generation_stamp, b.state) for b in inode.blocks],
        )
        for inode in namespace.inodes.values()
        if isinstance(inode, File)
    }


def groups_of(namespace: Namespace) -> list[Group]:
    return [block for block in namespace.blocks.values() if isinstance(block, Group)]


def test_hadoops_log_leads_to_hadoops_image() -> None:
    loaded, followed = hadoops_image(), replayed(hadoops_edits())
    assert files_of(loaded) == files_of(followed)
    assert any(policy_id for policy_id, _, _ in files_of(loaded).values())
    assert loaded.last_group_id == followed.last_group_id
    assert loaded.last_block_id == followed.last_block_id
    assert loaded.coding_policies == followed.coding_policies


def test_an_image_keeps_groups_and_policies() -> None:
    namespace = hadoops_image()
    image = written(namespace)
    again, counters = read_image(io.BytesIO(image), "fsimage")
    assert files_of(again) == files_of(namespace)
    assert again.coding_policies == namespace.coding_policies
    assert counters.last_striped_block_id == namespace.last_group_id
    assert written(again) == image


def test_the_image_says_of_policies_what_hadoops_says() -> None:
    def policies(image: io.BufferedIOBase | io.FileIO) -> object:
        return ImageReader(image, "fsimage").erasure_coding()

    with open(GOLDEN / "fsimage_erasure_coding", "rb", buffering=0) as file:
        assert policies(file) == policies(io.BytesIO(written(hadoops_image())))


# Serving.


def status(namenode: InMemoryNamenode, path: str) -> types_pb2.HdfsFileStatusProto:
    answer = namenode.call("getFileInfo", pb.GetFileInfoRequestProto(src=path))
    assert isinstance(answer, pb.GetFileInfoResponseProto)
    return answer.fs


def located(namenode: InMemoryNamenode, path: str) -> types_pb2.LocatedBlocksProto:
    answer = namenode.call(
        "getBlockLocations", pb.GetBlockLocationsRequestProto(src=path, offset=0, length=1 << 40)
    )
    assert isinstance(answer, pb.GetBlockLocationsResponseProto)
    return answer.locations


@pytest.fixture
def namenode() -> InMemoryNamenode:
    settings = Settings("", safe_mode_threshold=0.0, safe_mode_extension_ms=0)
    return InMemoryNamenode(settings, namespace=hadoops_image())


def hold(nodes: list[InMemoryDatanode], group: Group) -> None:
    """Have each existing internal block of a group on a datanode, in the order of indices."""
    for node, index in zip(nodes, group.layout.block_indices, strict=False):
        part = group.part(index)
        node.store(part.block_id, group.generation_stamp, part.length_bytes)


def test_the_status_of_a_striped_file_names_its_policy(namenode: InMemoryNamenode) -> None:
    shown = status(namenode, "/rs32/a")
    assert shown.flags & types_pb2.HdfsFileStatusProto.HAS_EC
    assert (shown.ecPolicy.id, shown.block_replication) == (2, 1)
    assert not shown.ecPolicy.HasField("schema")


def test_the_status_of_a_directory_names_the_policy_that_counts(
    namenode: InMemoryNamenode,
) -> None:
    assert status(namenode, "/rs63").ecPolicy.id == 1
    assert not status(namenode, "/repl").HasField("ecPolicy")
    assert not status(namenode, "/").HasField("ecPolicy")


def test_listings_name_policies(namenode: InMemoryNamenode) -> None:
    answer = namenode.call(
        "getListing",
        pb.GetListingRequestProto(src="/rs32", startAfter=b"", needLocation=False),
    )
    assert isinstance(answer, pb.GetListingResponseProto)
    listed = {entry.path: entry.ecPolicy.id for entry in answer.dirList.partialListing}
    assert listed[b"tiny"] == 2


@pytest.mark.req("FS-024")
def test_reports_of_internal_blocks_give_locations_with_indices(
    namenode: InMemoryNamenode,
) -> None:
    nodes = [namenode.join(f"dn{number}") for number in range(9)]
    for group in groups_of(namenode.namesystem.namespace):
        hold(nodes, group)
    found = located(namenode, "/rs32/tiny")
    assert found.ecPolicy.id == 2
    block = found.blocks[0]
    held = {
        index: place.id.datanodeUuid
        for index, place in zip(block.blockIndices, block.locs, strict=True)
    }
    assert held == {0: "dn0", 3: "dn1", 4: "dn2"}
    assert len(block.blockTokens) == 3
    assert block.b.blockId == LONG - (1 << 63) + 32
    assert block.b.numBytes == 10


def test_a_group_that_nobody_holds_is_a_group_all_the_same(namenode: InMemoryNamenode) -> None:
    """Hadoop's client knows it by the field of indices, which is empty."""
    block = located(namenode, "/rs32/tiny").blocks[0]
    assert block.HasField("blockIndices")
    assert (list(block.locs), block.blockIndices, block.corrupt) == ([], b"", False)


def test_a_full_report_says_the_same(namenode: InMemoryNamenode) -> None:
    nodes = [namenode.join(f"dn{number}") for number in range(9)]
    groups = groups_of(namenode.namesystem.namespace)
    for group in groups:
        hold(nodes, group)
    counts = {group.block_id: group.replica_count for group in groups}
    safe = namenode.namesystem.block_manager.blocks.safe_count
    fresh = namenode.restarted(from_image=True)
    for number, node in enumerate(nodes):
        other = fresh.join(f"dn{number}")
        replicas = next(iter(node.replicas.values()))
        other.replicas[other.first_storage].update(replicas)
        other.report()
    blocks = fresh.namesystem.namespace.blocks
    assert {i: blocks[i].replica_count for i in counts} == counts
    assert all(counts.values())
    assert fresh.namesystem.block_manager.blocks.safe_count == safe == len(groups)


def test_replicas_of_a_deleted_group_are_deleted(namenode: InMemoryNamenode) -> None:
    nodes = [namenode.join(f"dn{number}") for number in range(9)]
    file = namenode.namesystem.namespace.find("/rs63/tiny")
    assert isinstance(file, File)
    group = file.blocks[0]
    assert isinstance(group, Group)
    hold(nodes, group)
    ids = {group.block_id + index for index in group.layout.block_indices}
    namenode.call("delete", pb.DeleteRequestProto(src="/rs63/tiny", recursive=False))
    namenode.tick(1000)
    deleted = {
        block.blockId - LONG
        for node in nodes
        for command in node.heartbeat()
        if command.blkCmd.action == datanode_namenode_pb2.BlockCommandProto.INVALIDATE
        for block in command.blkCmd.blocks
    }
    assert deleted == ids


def test_one_that_was_deleted_earlier_is_an_orphan(namenode: InMemoryNamenode) -> None:
    node = namenode.join("dn0")
    gone = namenode.namesystem.namespace.last_group_id
    namespace = namenode.namesystem.namespace
    assert gone not in namespace.blocks or namespace.blocks.pop(gone)
    node.store(gone, namespace.generation_stamp, 5)
    node.store(gone + 16, namespace.generation_stamp, 5)
    namenode.tick(1000)
    commands = [c for c in node.heartbeat() if c.blkCmd.blocks]
    assert [b.blockId - LONG for c in commands for b in c.blkCmd.blocks] == [gone]
