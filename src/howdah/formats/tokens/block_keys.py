"""Keys that block tokens are signed by, and tokens made of them (pure): BlockTokenSecretManager.

A namenode gives its keys to datanodes and to balancers. Whoever has them makes tokens.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from typing import Final

from howdah.formats.tokens.identifiers import BlockTokenIdentifier
from howdah.proto import datanode_namenode_pb2 as pb
from howdah.protocol.data_transfer.blocks import BlockToken, ExtendedBlock, StorageType

BLOCK_TOKEN: Final = "HDFS_BLOCK_TOKEN"


@dataclass(frozen=True, slots=True)
class BlockKey:
    """One key, which is good until `expiry_ms`."""

    key_id: int
    expiry_ms: int
    key: bytes = field(repr=False)

    def password_of(self, identifier: bytes) -> bytes:
        """Of a token that is made by this key."""
        return hmac.digest(self.key, identifier, "sha1")

    def to_proto(self) -> pb.BlockKeyProto:
        return pb.BlockKeyProto(
            keyId=self.key_id & 0xFFFFFFFF, expiryDate=self.expiry_ms, keyBytes=self.key
        )

    @classmethod
    def from_proto(cls, proto: pb.BlockKeyProto) -> BlockKey:
        return cls(_signed32(proto.keyId), proto.expiryDate, proto.keyBytes)


@dataclass(frozen=True, slots=True)
class ExportedKeys:
    """All keys of a namenode, and the one that tokens are made by now."""

    current: BlockKey
    all: tuple[BlockKey, ...]
    update_interval_ms: int
    token_life_ms: int

    def to_proto(self) -> pb.ExportedBlockKeysProto:
        return pb.ExportedBlockKeysProto(
            isBlockTokenEnabled=True,
            keyUpdateInterval=self.update_interval_ms,
            tokenLifeTime=self.token_life_ms,
            currentKey=self.current.to_proto(),
            allKeys=[key.to_proto() for key in self.all],
        )

    @classmethod
    def from_proto(cls, proto: pb.ExportedBlockKeysProto) -> ExportedKeys | None:
        """None where block tokens are off."""
        if not proto.isBlockTokenEnabled:
            return None
        return cls(
            BlockKey.from_proto(proto.currentKey),
            tuple(BlockKey.from_proto(key) for key in proto.allKeys),
            proto.keyUpdateInterval,
            proto.tokenLifeTime,
        )


def _signed32(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value


@dataclass(frozen=True, slots=True)
class BlockKeys:
    """The key that tokens are made by now; times in milliseconds."""

    key_id: int
    key: bytes = field(repr=False)
    update_interval_ms: int
    token_life_ms: int

    @classmethod
    def from_proto(cls, proto: pb.ExportedBlockKeysProto) -> BlockKeys | None:
        """None where block tokens are off."""
        if not proto.isBlockTokenEnabled:
            return None
        current = BlockKey.from_proto(proto.currentKey)
        return cls(current.key_id, current.key, proto.keyUpdateInterval, proto.tokenLifeTime)

    def token(
        self,
        user: str,
        block: ExtendedBlock,
        modes: tuple[str, ...],
        storage_types: tuple[StorageType, ...],
        now_ms: int,
    ) -> BlockToken:
        """A token that allows `modes` (READ, WRITE, COPY, REPLACE) of one block."""
        identifier = BlockTokenIdentifier(
            expiry_date_ms=now_ms + self.token_life_ms,
            key_id=self.key_id,
            user=user,
            block_pool_id=block.pool_id,
            block_id=block.block_id,
            modes=modes,
            storage_types=tuple(kind.name for kind in storage_types),
        ).encode()
        password = hmac.digest(self.key, identifier, hashlib.sha1)
        return BlockToken(identifier, password, BLOCK_TOKEN)
