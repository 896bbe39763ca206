"""Blocks as a client knows them: where they are in the file, and on which datanodes.

Frozen twins of LocatedBlockProto and LocatedBlocksProto; the conversion stands
here, so that the streams see no protobuf. The nodes of a block are in the
namenode's order, nearest first (FS-089).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from howdah.errors import ProtocolViolation
from howdah.native.records import quickly_made
from howdah.proto import types_pb2
from howdah.protocol.data_transfer.blocks import (
    NO_TOKEN,
    STORAGE_TYPES,
    BlockToken,
    DatanodeAddress,
    ExtendedBlock,
    StorageType,
    signed64,
)
from howdah.protocol.encryption_zones.messages import EncryptedKey, encrypted_key_of
from howdah.protocol.striping.messages import policy_from_proto
from howdah.protocol.striping.policies import Policy


@dataclass(frozen=True, slots=True)
class GroupMembers:
    """What a located block group of an erasure coded file has beside a block: which internal
    block each of its nodes has, with the token for it. Both are in the order of the nodes.

    `length_bytes` is that of the whole group, also where its reader sees less of it.
    """

    length_bytes: int
    indices: tuple[int, ...]
    tokens: tuple[BlockToken, ...]

    def token_at(self, place: int) -> BlockToken:
        """Return the token for the internal block at a node; namenodes without tokens send none."""
        return self.tokens[place] if place < len(self.tokens) else NO_TOKEN


@quickly_made
@dataclass(frozen=True, slots=True)
class LocatedBlock:
    """A block, its offset in the file, and one node with storage per replica.

    A block group is one too: it has `members`, and its nodes have its internal blocks.
    """

    block: ExtendedBlock
    offset: int
    nodes: tuple[DatanodeAddress, ...]
    storage_ids: tuple[str, ...] = ()
    storage_types: tuple[StorageType, ...] = ()
    cached: tuple[bool, ...] = ()
    corrupt: bool = False
    token: BlockToken = NO_TOKEN
    members: GroupMembers | None = None

    @property
    def length_bytes(self) -> int:
        return self.block.length_bytes

    @property
    def end(self) -> int:
        """The offset in the file right behind this block."""
        return self.offset + self.block.length_bytes

    @property
    def cached_first(self) -> tuple[DatanodeAddress, ...]:
        """The nodes, those before the others that have the block in memory."""
        if not any(self.cached):
            return self.nodes
        in_memory = [node for node, held in zip(self.nodes, self.cached, strict=False) if held]
        return (*in_memory, *(node for node in self.nodes if node not in in_memory))

    def with_block(self, block: ExtendedBlock, token: BlockToken | None = None) -> LocatedBlock:
        return replace(self, block=block, token=self.token if token is None else token)

    def at(self, node: DatanodeAddress) -> LocatedBlock:
        """The one replica that lies at `node`."""
        index = self.nodes.index(node)
        return replace(
            self,
            nodes=(node,),
            storage_ids=self.storage_ids[index : index + 1],
            storage_types=self.storage_types[index : index + 1],
            cached=self.cached[index : index + 1],
        )

    def without(self, index: int) -> LocatedBlock:
        """All replicas but the one at `nodes[index]`."""
        return replace(
            self,
            nodes=self.nodes[:index] + self.nodes[index + 1 :],
            storage_ids=self.storage_ids[:index] + self.storage_ids[index + 1 :],
            storage_types=self.storage_types[:index] + self.storage_types[index + 1 :],
            cached=self.cached[:index] + self.cached[index + 1 :],
        )

    def joined_by(self, replica: LocatedBlock) -> LocatedBlock:
        """With the one replica of `replica` behind the others."""
        return replace(
            self,
            nodes=self.nodes + replica.nodes,
            storage_ids=self.storage_ids + replica.storage_ids,
            storage_types=self.storage_types + replica.storage_types,
            cached=self.cached + replica.cached,
        )

    @classmethod
    def from_proto(cls, proto: types_pb2.LocatedBlockProto) -> LocatedBlock:
        return cls(
            ExtendedBlock.from_proto(proto.b),
            proto.offset,
            tuple([DatanodeAddress.from_proto(node) for node in proto.locs]),
            tuple(proto.storageIDs),
            tuple([STORAGE_TYPES[kind] for kind in proto.storageTypes]),
            tuple(proto.isCached),
            proto.corrupt,
            BlockToken.from_proto(proto.blockToken),
            _members(proto) if proto.HasField("blockIndices") else None,
        )

    def to_proto(self) -> types_pb2.LocatedBlockProto:
        members = self.members
        return types_pb2.LocatedBlockProto(
            b=self.block.to_proto(),
            offset=self.offset,
            locs=[node.to_proto() for node in self.nodes],
            corrupt=self.corrupt,
            blockToken=self.token.to_proto(),
            isCached=self.cached,
            storageTypes=[kind.name for kind in self.storage_types],
            storageIDs=self.storage_ids,
            blockIndices=None if members is None else bytes(members.indices),
            blockTokens=() if members is None else [token.to_proto() for token in members.tokens],
        )


def _members(proto: types_pb2.LocatedBlockProto) -> GroupMembers:
    """Raises `ProtocolViolation` where nodes and indices are not as many; where a writer gets new
    tokens, no node is named."""
    if proto.locs and len(proto.blockIndices) != len(proto.locs):
        raise ProtocolViolation(
            f"a block group came with {len(proto.blockIndices)} indices and {len(proto.locs)} nodes"
        )
    return GroupMembers(
        signed64(proto.b.numBytes),
        tuple(proto.blockIndices),
        tuple([BlockToken.from_proto(token) for token in proto.blockTokens]),
    )


@quickly_made
@dataclass(frozen=True, slots=True)
class LocatedBlocks:
    """A batch of a file's blocks, with what the namenode knows of the file's length.

    `file_length` leaves out a last block that is still being written.
    """

    file_length: int
    blocks: tuple[LocatedBlock, ...]
    under_construction: bool
    last_block: LocatedBlock | None
    last_block_complete: bool
    erasure_coding_policy: Policy | None = None
    key: EncryptedKey | None = None
    """The file's, where it is in an encryption zone."""

    @classmethod
    def from_proto(cls, proto: types_pb2.LocatedBlocksProto) -> LocatedBlocks:
        blocks = tuple([LocatedBlock.from_proto(block) for block in proto.blocks])
        last = None
        is_complete = proto.isLastBlockComplete
        if is_complete and blocks and proto.lastBlock.b.blockId == proto.blocks[-1].b.blockId:
            last = blocks[-1]  # As in every small file: it is the same, and is made once.
        elif proto.HasField("lastBlock"):
            last = LocatedBlock.from_proto(proto.lastBlock)
        return cls(
            proto.fileLength,
            blocks,
            proto.underConstruction,
            last,
            is_complete,
            policy_from_proto(proto.ecPolicy) if proto.HasField("ecPolicy") else None,
            encrypted_key_of(proto.fileEncryptionInfo)
            if proto.HasField("fileEncryptionInfo")
            else None,
        )
