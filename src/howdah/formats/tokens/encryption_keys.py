"""Keys by which data connections are encrypted (pure): DataEncryptionKey in Hadoop.

Such a key is the HMAC of a nonce by a block key. A namenode gives it to clients. A datanode that
has the block keys makes the same key of what a client tells it, the number of the block key and the
nonce, and makes its own to call other datanodes.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Final

from howdah import errors
from howdah.formats.tokens.block_keys import BlockKey
from howdah.proto import types_pb2

NONCE_BYTES: Final = 8
ALGORITHMS: Final = ("3des", "rc4")
"""Ciphers of the handshake, of which a cluster may allow one alone."""
_MOST_NAME_BYTES: Final = 1024
_MOST_ID: Final = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class DataEncryptionKey:
    """Good until `expiry_ms`. `algorithm` is one of `ALGORITHMS`, or empty for either."""

    key_id: int
    pool_id: str
    nonce: bytes = field(repr=False)
    key: bytes = field(repr=False)
    expiry_ms: int
    algorithm: str = ""

    @classmethod
    def made_by(
        cls, key: BlockKey, pool_id: str, nonce: bytes, expiry_ms: int, algorithm: str = ""
    ) -> DataEncryptionKey:
        """The key of a nonce that is random, and never used again."""
        return cls(key.key_id, pool_id, nonce, key.password_of(nonce), expiry_ms, algorithm)

    @property
    def credentials(self) -> tuple[bytes, bytes]:
        """The name and the password that it stands for in a handshake."""
        name = f"{self.key_id} {self.pool_id} ".encode() + base64.b64encode(self.nonce)
        return name, base64.b64encode(self.key)

    def to_proto(self) -> types_pb2.DataEncryptionKeyProto:
        proto = types_pb2.DataEncryptionKeyProto(
            keyId=self.key_id,
            blockPoolId=self.pool_id,
            nonce=self.nonce,
            encryptionKey=self.key,
            expiryDate=self.expiry_ms,
        )
        if self.algorithm:
            proto.encryptionAlgorithm = self.algorithm
        return proto

    @classmethod
    def from_proto(cls, proto: types_pb2.DataEncryptionKeyProto) -> DataEncryptionKey:
        return cls(
            proto.keyId,
            proto.blockPoolId,
            proto.nonce,
            proto.encryptionKey,
            proto.expiryDate,
            proto.encryptionAlgorithm,
        )


@dataclass(frozen=True, slots=True)
class NamedKey:
    """What the name in a handshake says of the key that it is about."""

    key_id: int
    pool_id: str
    nonce: bytes = field(repr=False)

    @classmethod
    def parse(cls, name: bytes) -> NamedKey:
        """Raises AuthenticationFailed for what is no such name."""
        words = name.split(b" ") if len(name) <= _MOST_NAME_BYTES else []
        if len(words) != 3:
            raise errors.AuthenticationFailed(
                "a data connection is to be encrypted by a key whose name does not have the 3 "
                f"parts expected, but {len(words)} (of {len(name)} bytes)"
            )
        number, pool_id, nonce = words
        try:
            if not number.isdigit() or int(number) > _MOST_ID:
                raise ValueError
            return cls(int(number), pool_id.decode(), base64.b64decode(nonce, validate=True))
        except ValueError:
            raise errors.AuthenticationFailed(
                "a data connection is to be encrypted by a key whose name cannot be read"
            ) from None
