"""A fake namenode that knows block groups, and a datanode for each internal block of one."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

from howdah import errors
from howdah.client.state.blocks import GroupMembers, LocatedBlock, LocatedBlocks
from howdah.options import CreateFlag
from howdah.proto import types_pb2
from howdah.protocol.data_transfer.blocks import (
    BlockToken,
    ExtendedBlock,
    StorageType,
)
from howdah.protocol.striping.layout import FIRST_GROUP_ID, GroupLayout
from howdah.protocol.striping.messages import policy_to_proto
from howdah.protocol.striping.policies import Policy, Schema
from tests.support.striped_groups import internal_blocks
from tests.unit.client.conftest import POOL, FakeCluster, FakeDatanode, FakeNamenode

CELL = 4096
RS_3_2 = Policy(64, Schema("rs", 3, 2), CELL)
STRIPE = 3 * CELL
GROUP = 4 * STRIPE
DATA = random.Random(3).randbytes(2 * GROUP + STRIPE + CELL + 100)


class StripedNamenode(FakeNamenode):
    """Knows one file of block groups; `places` has the datanodes of each internal block."""

    def __init__(self, datanodes: list[FakeDatanode]) -> None:
        super().__init__(datanodes)
        self.groups: list[ExtendedBlock] = []
        self.policy = RS_3_2
        self.places: dict[int, list[FakeDatanode]] = {}

    def get_block_locations(self, path: str, offset: int, length: int) -> LocatedBlocks:
        self.calls.append(("getBlockLocations", offset, length))
        found, start = [], 0
        for group in self.groups:
            end = start + group.length_bytes
            if start < offset + length and end > offset:
                found.append(self._located_group(group, start))
            start = end
        last = found[-1] if found else None
        return LocatedBlocks(start, tuple(found), False, last, True, self.policy)

    # --- writing ----------------------------------------------------------------------

    def _status(self, path: str) -> types_pb2.HdfsFileStatusProto:
        status = super()._status(path)
        status.block_replication = 1
        status.length = sum(group.length_bytes for group in self.groups)
        status.ecPolicy.CopyFrom(policy_to_proto(self.policy))
        return status

    def append(
        self, path: str, client_name: str, flags: CreateFlag = CreateFlag.NONE
    ) -> tuple[LocatedBlock | None, types_pb2.HdfsFileStatusProto]:
        assert flags & CreateFlag.NEW_BLOCK
        last = self.groups[-1] if self.groups else None
        start = sum(group.length_bytes for group in self.groups[:-1])
        room = None if last is None else LocatedBlock(last, start, ())
        return room, self._status(path)

    def add_block(
        self,
        path: str,
        client_name: str,
        previous: ExtendedBlock | None,
        excluded: Any,
        file_id: int,
        flags: CreateFlag = CreateFlag.NONE,
        favored_nodes: Any = (),
    ) -> LocatedBlock:
        self.calls.append(("addBlock", previous, tuple(excluded)))
        if previous is not None:
            self._ended(previous)
        group_id = FIRST_GROUP_ID + 16 * len(self.groups)
        nodes = [node for node in self.datanodes if node.address not in excluded]
        nodes = nodes[: self.policy.schema.units]
        if len(nodes) < self.policy.schema.data_units:
            raise errors.RemoteError(f"{path} could only be written to {len(nodes)} nodes")
        group = ExtendedBlock(POOL, group_id, 1001)
        self.groups.append(group)
        for index, node in enumerate(nodes):
            self.places[group_id + index] = [node]
        located = self._located_group(group, 0)
        assert located.members is not None
        tokens = tuple(token_of(group_id + index, 1001) for index in located.members.indices)
        return dataclasses.replace(
            located, members=dataclasses.replace(located.members, tokens=tokens)
        )

    def _ended(self, group: ExtendedBlock) -> None:
        """As a namenode does: the stamp is the known one, enough internal blocks are there."""
        known = self.groups[-1]
        assert (known.block_id, known.generation_stamp) == (group.block_id, group.generation_stamp)
        self.groups[-1] = group
        layout = GroupLayout(self.policy, group.length_bytes)
        whole = [
            index
            for index in layout.block_indices
            for node in self.places.get(group.block_id + index, [])
            if group.block_id + index in node.finalized
            and node.stamps[group.block_id + index] == group.generation_stamp
            and len(node.replicas[group.block_id + index]) == layout.block_length(index)
        ]
        assert len(whole) >= layout.data_blocks, (whole, group)
        for index in range(self.policy.schema.units):
            if index not in whole:
                self.places.pop(group.block_id + index, None)

    def complete(
        self, path: str, client_name: str, last: ExtendedBlock | None, file_id: int
    ) -> bool:
        self.calls.append(("complete", last))
        if last is not None:
            self._ended(last)
        self.files[path].complete = True
        return True

    def update_block_for_pipeline(self, block: ExtendedBlock, client_name: str) -> LocatedBlock:
        self.calls.append(("updateBlockForPipeline", block))
        stamp = next(self._stamps)
        indices = tuple(range(self.policy.schema.units))
        tokens = tuple(token_of(block.block_id + index, stamp) for index in indices)
        return LocatedBlock(
            block.with_generation_stamp(stamp),
            0,
            (),
            members=GroupMembers(block.length_bytes, indices, tokens),
        )

    def update_pipeline(
        self, client_name: str, old: ExtendedBlock, new: ExtendedBlock, block: LocatedBlock
    ) -> None:
        self.calls.append(("updatePipeline", old, new, block.nodes, block.storage_ids))
        assert self.groups[-1].generation_stamp == old.generation_stamp < new.generation_stamp
        self.groups[-1] = new

    # --- reading ----------------------------------------------------------------------

    def _located_group(self, group: ExtendedBlock, offset: int) -> LocatedBlock:
        members = [
            (node, index)
            for index in reversed(range(self.policy.schema.units))  # the order means nothing
            for node in self.places.get(group.block_id + index, [])
        ]
        return LocatedBlock(
            group,
            offset,
            tuple(node.address for node, _ in members),
            tuple(f"storage-{node.index}" for node, _ in members),
            (StorageType.DISK,) * len(members),
            members=GroupMembers(group.length_bytes, tuple(index for _, index in members), ()),
        )


def token_of(block_id: int, stamp: int) -> BlockToken:
    """Names the internal block and the stamp that it is for."""
    return BlockToken(b"%d_%d" % (block_id, stamp), b"password", "kind", "service")


class StripedCluster(FakeCluster):
    """A datanode for each internal block of a group, and one more."""

    namenode: StripedNamenode

    def __init__(self) -> None:
        super().__init__()
        self.datanodes += [FakeDatanode(index) for index in range(3, 6)]
        self._know_each_other(self.datanodes)
        self.namenode = StripedNamenode(self.datanodes)

    def put_striped(
        self, content: bytes, policy: Policy = RS_3_2, group_bytes: int = GROUP
    ) -> None:
        self.namenode.policy = policy
        for number, start in enumerate(range(0, len(content), group_bytes)):
            piece = content[start : start + group_bytes]
            group_id = FIRST_GROUP_ID + 16 * number
            self.namenode.groups.append(ExtendedBlock(POOL, group_id, 1001, len(piece)))
            for index, block in enumerate(internal_blocks(policy, piece)):
                if block:
                    self.place(self.datanodes[index], group_id + index, block)

    def place(self, node: FakeDatanode, block_id: int, block: bytes) -> None:
        node.replicas[block_id] = bytearray(block)
        self.namenode.places.setdefault(block_id, []).append(node)

    def reads_of(self, index: int) -> int:
        return len(self.datanodes[index].reads)
