"""Rows of blocks, one for each replica, or internal block of a group, made of listings (pure).

`health` is that of the block: `missing` where it cannot be read, as no live datanode has a replica,
or too few have internal blocks; `corrupt` where all replicas are; `under-replicated` and
`over-replicated` by the number of replicas that stay, else `healthy`. A replica on a datanode that
is decommissioned, or that leaves, does not count for one that stays. The namenode does not list
replicas that it knows to be corrupt beside good ones.

A block that has no replica has one row, without a datanode.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from howdah.proto import types_pb2 as pb
from howdah.protocol.striping.layout import GroupLayout
from howdah.protocol.striping.messages import policy_from_proto
from howdah.spark.tables import columns as of
from howdah.spark.tables.columns import Columns
from howdah.spark.tables.listing_rows import Page, being_written, blocks_of, signed

BLOCK_ROWS: Final = Columns(
    {
        "path": of.STRING,
        "inode_id": of.LONG,
        "block_id": of.LONG,
        "generation_stamp": of.LONG,
        "offset": of.LONG,
        "length": of.LONG,
        "is_open": of.BOOLEAN,
        "erasure_coding_policy": of.STRING,
        "block_index": of.INT,
        "health": of.STRING,
        "expected_replicas": of.INT,
        "replicas": of.INT,
        "node": of.STRING,
        "host": of.STRING,
        "rack": of.STRING,
        "node_id": of.STRING,
        "node_state": of.STRING,
        "storage_id": of.STRING,
        "storage_type": of.STRING,
        "is_cached": of.BOOLEAN,
    }
)

HEALTHY: Final = "healthy"
MISSING: Final = "missing"
CORRUPT: Final = "corrupt"
UNDER: Final = "under-replicated"
OVER: Final = "over-replicated"

_NORMAL: Final = pb.DatanodeInfoProto.NORMAL
_STATES: Final = {
    number: name.lower().replace("inprogress", "in_progress")
    for name, number in pb.DatanodeInfoProto.AdminState.items()
}


def rows_of(page: Page) -> Iterator[dict[str, Any]]:
    """The rows of the files of a page, which has locations."""
    for path, entry in zip(page.paths, page.entries, strict=True):
        if entry.fileType != pb.HdfsFileStatusProto.IS_FILE or not entry.HasField("locations"):
            continue
        written = being_written(entry.locations)
        for block in blocks_of(entry.locations):
            common = _of_block(path, entry, block, block.b.blockId == written)
            yield from _of_replicas(common, block)


def _of_block(
    path: str, entry: pb.HdfsFileStatusProto, block: pb.LocatedBlockProto, is_open: bool
) -> dict[str, Any]:
    policy = policy_from_proto(entry.ecPolicy) if entry.HasField("ecPolicy") else None
    length = block.b.numBytes
    expected = entry.block_replication
    needed = 1
    # Two datanodes may have the same internal block.
    indices = list(block.blockIndices) or list(range(len(block.locs)))
    held = list(zip(block.locs, indices, strict=False))
    if policy is not None:
        layout = GroupLayout(policy, length)
        expected, needed = len(layout.block_indices), layout.data_blocks
    staying = len({index for node, index in held if node.adminState == _NORMAL})
    is_readable = len({index for _, index in held}) >= needed
    return {
        "path": path,
        "inode_id": entry.fileId,
        "block_id": signed(block.b.blockId),
        "generation_stamp": block.b.generationStamp,
        "offset": block.offset,
        "length": length,
        "is_open": is_open,
        "erasure_coding_policy": None if policy is None else policy.name,
        "health": _health(block, staying - expected, is_readable, is_open),
        "expected_replicas": expected,
        "replicas": len(block.locs),
    }


def _health(block: pb.LocatedBlockProto, surplus: int, is_readable: bool, is_open: bool) -> str:
    if block.corrupt:
        return CORRUPT
    if is_open:
        return HEALTHY
    if not is_readable:
        return MISSING
    if surplus < 0:
        return UNDER
    return OVER if surplus > 0 else HEALTHY


def _of_replicas(common: dict[str, Any], block: pb.LocatedBlockProto) -> Iterator[dict[str, Any]]:
    nothing = dict.fromkeys(BLOCK_ROWS.types)
    if not block.locs:
        yield nothing | common
        return
    indices = block.blockIndices
    for number, node in enumerate(block.locs):
        yield (
            nothing
            | common
            | {
                "block_index": indices[number] if number < len(indices) else None,
                "node": f"{node.id.ipAddr}:{node.id.xferPort}",
                "host": node.id.hostName,
                "rack": node.location if node.HasField("location") else None,
                "node_id": node.id.datanodeUuid,
                "node_state": _STATES[node.adminState],
                "storage_id": _at(block.storageIDs, number),
                "storage_type": _type_at(block, number),
                "is_cached": bool(_at(block.isCached, number)),
            }
        )


def _at(values: Any, number: int) -> Any:
    return values[number] if number < len(values) else None


def _type_at(block: pb.LocatedBlockProto, number: int) -> str | None:
    kind = _at(block.storageTypes, number)
    return None if kind is None else pb.StorageTypeProto.Name(kind)
