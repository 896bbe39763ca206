"""Rows of replicas, and what they say of the health of blocks."""

from __future__ import annotations

from typing import Any

import pytest

from howdah.proto import rpc_pb2
from howdah.proto import types_pb2 as pb
from howdah.protocol.striping.messages import policy_to_proto
from howdah.protocol.striping.policies import policy_named
from howdah.spark.tables.block_rows import BLOCK_ROWS, rows_of
from howdah.spark.tables.inode_rows import NAMESPACE
from howdah.spark.tables.listing_rows import Page, lists_of

NORMAL = pb.DatanodeInfoProto.NORMAL
LEAVING = pb.DatanodeInfoProto.DECOMMISSION_INPROGRESS
POLICY = policy_named("RS-3-2-1024k")


def node(number: int, state: pb.DatanodeInfoProto.AdminState = NORMAL) -> pb.DatanodeInfoProto:
    return pb.DatanodeInfoProto(
        id=pb.DatanodeIDProto(
            ipAddr=f"10.0.0.{number}",
            hostName=f"host{number}",
            datanodeUuid=f"uuid-{number}",
            xferPort=9866,
            infoPort=1,
            ipcPort=2,
        ),
        location="/rack1",
        adminState=state,
    )


def block(*nodes: pb.DatanodeInfoProto, corrupt: bool = False, **more: Any) -> pb.LocatedBlockProto:
    more.setdefault("length", 100)
    return pb.LocatedBlockProto(
        b=pb.ExtendedBlockProto(
            poolId="pool",
            blockId=more.pop("block_id", 7),
            generationStamp=1001,
            numBytes=more.pop("length"),
        ),
        offset=0,
        locs=nodes,
        corrupt=corrupt,
        blockToken=rpc_pb2.TokenProto(identifier=b"", password=b"", kind="", service=""),
        storageTypes=[pb.SSD for _ in nodes],
        storageIDs=[f"DS-{number}" for number in range(len(nodes))],
        **more,
    )


def file(
    *blocks: pb.LocatedBlockProto,
    replication: int = 2,
    is_open: bool = False,
    written: pb.LocatedBlockProto | None = None,
    coded: bool = False,
) -> pb.HdfsFileStatusProto:
    return pb.HdfsFileStatusProto(
        fileType=pb.HdfsFileStatusProto.IS_FILE,
        path=b"f",
        length=100,
        permission=pb.FsPermissionProto(perm=0o644),
        owner="ann",
        group="staff",
        modification_time=1,
        access_time=1,
        block_replication=1 if coded else replication,
        blocksize=1 << 20,
        fileId=20000,
        ecPolicy=policy_to_proto(POLICY) if coded else None,
        locations=pb.LocatedBlocksProto(
            fileLength=100,
            blocks=blocks,
            underConstruction=is_open,
            lastBlock=written if written is not None else blocks[-1],
            isLastBlockComplete=written is None,
        ),
    )


def rows(*entries: pb.HdfsFileStatusProto) -> list[dict[str, Any]]:
    found = list(rows_of(Page("/d", entries)))
    batch: list[dict[str, Any]] = BLOCK_ROWS.batch_of_rows(found).to_pylist()
    return batch


def test_each_replica_has_a_row() -> None:
    first, second = rows(file(block(node(1), node(2))))
    assert first == {
        "path": "/d/f",
        "inode_id": 20000,
        "block_id": 7,
        "generation_stamp": 1001,
        "offset": 0,
        "length": 100,
        "is_open": False,
        "erasure_coding_policy": None,
        "block_index": None,
        "health": "healthy",
        "expected_replicas": 2,
        "replicas": 2,
        "node": "10.0.0.1:9866",
        "host": "host1",
        "rack": "/rack1",
        "node_id": "uuid-1",
        "node_state": "normal",
        "storage_id": "DS-0",
        "storage_type": "SSD",
        "is_cached": False,
    }
    assert (second["host"], second["storage_id"]) == ("host2", "DS-1")


@pytest.mark.parametrize(
    ("located", "health"),
    [
        (block(), "missing"),
        (block(node(1)), "under-replicated"),
        (block(node(1), node(2, LEAVING)), "under-replicated"),
        (block(node(1), node(2), node(3, LEAVING)), "healthy"),
        (block(node(1), node(2), node(3)), "over-replicated"),
        (block(node(1), node(2), corrupt=True), "corrupt"),
    ],
)
def test_health_is_that_of_the_block(located: pb.LocatedBlockProto, health: str) -> None:
    found = rows(file(located))
    assert {row["health"] for row in found} == {health}
    assert len(found) == max(len(located.locs), 1)


def test_a_block_without_replicas_has_a_row_without_a_datanode() -> None:
    (row,) = rows(file(block()))
    assert (row["node"], row["replicas"], row["block_id"]) == (None, 0, 7)


@pytest.mark.parametrize("is_listed", [False, True], ids=["beside the others", "among them"])
def test_a_block_that_is_being_written_has_rows_and_no_other_is_taken_for_it(
    is_listed: bool,
) -> None:
    # A namenode lists it among the others only once its length is known.
    complete, written = block(node(1)), block(node(1), node(3), block_id=8, length=5)
    blocks = (complete, written) if is_listed else (complete,)
    found = rows(file(*blocks, is_open=True, written=written))
    assert [(row["block_id"], row["is_open"], row["health"], row["host"]) for row in found] == [
        (7, False, "under-replicated", "host1"),
        (8, True, "healthy", "host1"),
        (8, True, "healthy", "host3"),
    ]
    page = Page("/d", [file(*blocks, is_open=True, written=written)])
    (listed,) = lists_of(page, NAMESPACE)["block_list"]
    assert [each["block_id"] for each in listed] == [7, 8]


def test_of_an_open_file_between_two_blocks_none_is_being_written() -> None:
    found = rows(file(block(node(1)), is_open=True))
    assert [(row["is_open"], row["health"]) for row in found] == [(False, "under-replicated")]


@pytest.mark.parametrize(
    ("indices", "health"),
    [
        (b"\0\3\4", "healthy"),
        (b"\0\3", "under-replicated"),
        (b"\0\0\3", "under-replicated"),
        (b"", "missing"),
    ],
)
def test_a_group_of_one_cell_has_one_data_block_and_its_parity(indices: bytes, health: str) -> None:
    nodes = [node(number) for number in range(len(indices))]
    found = rows(file(block(*nodes, blockIndices=indices), coded=True))
    assert {row["health"] for row in found} == {health}
    assert found[0]["expected_replicas"] == 3
    if indices:
        assert [row["block_index"] for row in found] == list(indices)


def test_a_group_with_too_few_blocks_cannot_be_read() -> None:
    nodes = [node(number) for number in range(2)]
    full = block(*nodes, blockIndices=b"\0\4", length=3 << 20)
    (row, _) = rows(file(full, coded=True))
    assert (row["health"], row["expected_replicas"]) == ("missing", 5)


def test_directories_and_listings_without_locations_have_no_blocks() -> None:
    bare = file(block(node(1)))
    bare.ClearField("locations")
    assert rows(bare) == []
