"""The nouns of DataTransferProtocol: blocks, tokens, nodes, storage types.

ExtendedBlock, DatanodeInfo and StorageType in Hadoop.

Frozen twins of the protobuf messages that the operations carry. Conversions
stand beside the nouns, so no other module of the data path needs protobuf.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from howdah.native.records import quickly_made
from howdah.proto import rpc_pb2, types_pb2

_SIGN_BIT = 1 << 63
UINT64 = (1 << 64) - 1
"""All bits of a field that Java fills with a long."""


def signed64(value: int) -> int:
    """A uint64 field that Java fills with a long: ids of striped blocks are negative."""
    return value - (1 << 64) if value & _SIGN_BIT else value


class StorageType(enum.IntEnum):
    """Kinds of volumes, by their numbers on the wire."""

    DISK = 1
    SSD = 2
    ARCHIVE = 3
    RAM_DISK = 4
    PROVIDED = 5
    NVDIMM = 6


STORAGE_TYPES = {int(each): each for each in StorageType}
"""By their numbers: to call the enum takes four times as long."""


@quickly_made
@dataclass(frozen=True, slots=True)
class ExtendedBlock:
    """A block of a pool; a replica is the same block at one node."""

    pool_id: str
    block_id: int
    generation_stamp: int
    length_bytes: int = 0

    def __str__(self) -> str:
        return f"{self.pool_id}:blk_{self.block_id}_{self.generation_stamp}"

    @property
    def name(self) -> str:
        return f"blk_{self.block_id}_{self.generation_stamp}"

    def is_same_as(self, other: ExtendedBlock) -> bool:
        """Whether both are the same block, whatever its stamp and length: namenodes give the
        same ids, each to blocks of its own pool."""
        return self.block_id == other.block_id and self.pool_id == other.pool_id

    def with_length(self, length_bytes: int) -> ExtendedBlock:
        return ExtendedBlock(self.pool_id, self.block_id, self.generation_stamp, length_bytes)

    def with_generation_stamp(self, generation_stamp: int) -> ExtendedBlock:
        return ExtendedBlock(self.pool_id, self.block_id, generation_stamp, self.length_bytes)

    @classmethod
    def from_proto(cls, proto: types_pb2.ExtendedBlockProto) -> ExtendedBlock:
        return cls(
            proto.poolId,
            signed64(proto.blockId),
            signed64(proto.generationStamp),
            signed64(proto.numBytes),
        )

    def to_proto(self) -> types_pb2.ExtendedBlockProto:
        return types_pb2.ExtendedBlockProto(
            poolId=self.pool_id,
            blockId=self.block_id & UINT64,
            generationStamp=self.generation_stamp & UINT64,
            numBytes=self.length_bytes & UINT64,
        )


@quickly_made
@dataclass(frozen=True, slots=True)
class BlockToken:
    """The right to use a block; empty where block tokens are off."""

    identifier: bytes = field(default=b"", repr=False)
    password: bytes = field(default=b"", repr=False)
    kind: str = ""
    service: str = ""

    @classmethod
    def from_proto(cls, proto: rpc_pb2.TokenProto) -> BlockToken:
        parts = proto.identifier, proto.password, proto.kind, proto.service
        return cls(*parts) if any(parts) else NO_TOKEN

    def to_proto(self) -> rpc_pb2.TokenProto:
        return rpc_pb2.TokenProto(
            identifier=self.identifier,
            password=self.password,
            kind=self.kind,
            service=self.service,
        )


NO_TOKEN = BlockToken()


@quickly_made
@dataclass(frozen=True, slots=True)
class DatanodeAddress:
    """A datanode as targets and sources of operations name it (DatanodeInfoProto).

    What a pipeline doesn't need (capacity, usage, admin state) is left out.
    """

    ip: str
    hostname: str
    uuid: str
    transfer_port: int
    info_port: int = 0
    ipc_port: int = 0
    info_secure_port: int = 0
    location: str | None = None

    @property
    def transfer_address(self) -> str:
        """`ip:port`, the form in which `firstBadLink` names a node."""
        return f"{self.ip}:{self.transfer_port}"

    def connect_to(self, *, use_hostname: bool) -> tuple[str, int]:
        """Where to connect (`dfs.client.use.datanode.hostname` and its datanode twin)."""
        return (self.hostname if use_hostname else self.ip, self.transfer_port)

    def __str__(self) -> str:
        return f"{self.hostname}({self.transfer_address})"

    @classmethod
    def from_proto(cls, proto: types_pb2.DatanodeInfoProto) -> DatanodeAddress:
        node = proto.id
        return cls(
            node.ipAddr,
            node.hostName,
            node.datanodeUuid,
            node.xferPort,
            node.infoPort,
            node.ipcPort,
            node.infoSecurePort,
            proto.location if proto.HasField("location") else None,
        )

    def id_to_proto(self) -> types_pb2.DatanodeIDProto:
        return types_pb2.DatanodeIDProto(
            ipAddr=self.ip,
            hostName=self.hostname,
            datanodeUuid=self.uuid,
            xferPort=self.transfer_port,
            infoPort=self.info_port,
            ipcPort=self.ipc_port,
            infoSecurePort=self.info_secure_port,
        )

    def to_proto(self) -> types_pb2.DatanodeInfoProto:
        return types_pb2.DatanodeInfoProto(id=self.id_to_proto(), location=self.location)


NO_DATANODE = DatanodeAddress("null", "null", "null", 0)
"""What stands in lists by index for the datanode of an internal block that nobody has:
`DatanodeID`'s empty one."""
