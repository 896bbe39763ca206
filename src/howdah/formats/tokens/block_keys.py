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
        current = proto.currentKey
        key_id = current.keyId - (1 << 32) if current.keyId >> 31 else current.keyId
        return cls(key_id, current.keyBytes, proto.keyUpdateInterval, proto.tokenLifeTime)

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
