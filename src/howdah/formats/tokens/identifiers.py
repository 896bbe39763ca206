"""What is in the identifiers of tokens: who they are for, and until when.

Delegation tokens: AbstractDelegationTokenIdentifier. Block tokens: BlockTokenIdentifier, which has
an older form of Writables and one of protobuf; their readers tell them by the content.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Final

from google.protobuf.message import DecodeError

from howdah.formats.malformed import MalformedRecord
from howdah.formats.primitives import Cursor, pack_text, pack_vint, pack_vlong
from howdah.proto import types_pb2
from howdah.protocol.messages import parse

_VERSION: Final = 0
_LENGTH: Final = struct.Struct(">i")


@dataclass(frozen=True, slots=True)
class DelegationTokenIdentifier:
    """For whom a namenode issued a delegation token; times are milliseconds since 1970."""

    owner: str
    renewer: str
    real_user: str
    issue_date_ms: int
    max_date_ms: int
    sequence_number: int
    master_key_id: int

    def __str__(self) -> str:
        return (
            f"token for {self.owner}: HDFS_DELEGATION_TOKEN owner={self.owner}, "
            f"renewer={self.renewer}, realUser={self.real_user}, "
            f"issueDate={self.issue_date_ms}, maxDate={self.max_date_ms}, "
            f"sequenceNumber={self.sequence_number}, masterKeyId={self.master_key_id}"
        )

    def encode(self) -> bytes:
        return b"".join(
            (
                bytes((_VERSION,)),
                pack_text(self.owner),
                pack_text(self.renewer),
                pack_text(self.real_user),
                pack_vlong(self.issue_date_ms),
                pack_vlong(self.max_date_ms),
                pack_vint(self.sequence_number),
                pack_vint(self.master_key_id),
            )
        )

    @classmethod
    def read(cls, cursor: Cursor) -> DelegationTokenIdentifier:
        """Raises MalformedRecord."""
        version = cursor.u8()
        if version != _VERSION:
            raise cursor.fail(f"Unknown version of delegation token {version}")
        return cls(
            cursor.text(),
            cursor.text(),
            cursor.text(),
            cursor.vlong(),
            cursor.vlong(),
            cursor.vint(),
            cursor.vint(),
        )

    @classmethod
    def decode(cls, data: bytes) -> DelegationTokenIdentifier:
        """Raises MalformedRecord."""
        cursor = Cursor(data)
        identifier = cls.read(cursor)
        if cursor.remaining:
            raise cursor.fail(f"{cursor.remaining} bytes follow a delegation token's identifier")
        return identifier


@dataclass(frozen=True, slots=True)
class DelegationKey:
    """A key that a namenode makes tokens' passwords by: DelegationKey in Hadoop."""

    key_id: int
    expiry_date_ms: int
    key: bytes = field(repr=False)

    def encode(self) -> bytes:
        return b"".join(
            (
                pack_vint(self.key_id),
                pack_vlong(self.expiry_date_ms),
                pack_vlong(len(self.key)),
                self.key,
            )
        )

    @classmethod
    def read(cls, cursor: Cursor) -> DelegationKey:
        """Raises MalformedRecord."""
        key_id, expiry = cursor.vint(), cursor.vlong()
        length = cursor.vint()
        # Of a key that was forgotten Hadoop writes the length -1.
        return cls(key_id, expiry, cursor.raw(max(length, 0), "key"))


@dataclass(frozen=True, slots=True)
class BlockTokenIdentifier:
    """What a block token allows: `modes` (READ, WRITE, COPY, REPLACE) of one block."""

    expiry_date_ms: int
    key_id: int
    user: str
    block_pool_id: str
    block_id: int
    modes: tuple[str, ...]
    storage_types: tuple[str, ...] = ()
    storage_ids: tuple[str, ...] = ()
    handshake_secret: bytes = b""

    def encode(self, *, protobuf: bool = False) -> bytes:
        """Either form. The handshake's secret is of the protobuf form, and of the older one only
        if there is one."""
        if protobuf:
            return self._to_proto().SerializeToString()
        parts = [
            pack_vlong(self.expiry_date_ms),
            pack_vint(self.key_id),
            _pack_string(self.user),
            _pack_string(self.block_pool_id),
            pack_vlong(self.block_id),
        ]
        for names, pack in (
            (self.modes, pack_text),
            (self.storage_types, pack_text),
            (self.storage_ids, _pack_string),
        ):
            parts.append(pack_vlong(len(names)))
            parts += map(pack, names)
        if self.handshake_secret:
            parts += [pack_vlong(len(self.handshake_secret)), self.handshake_secret]
        return b"".join(parts)

    def _to_proto(self) -> types_pb2.BlockTokenSecretProto:
        return types_pb2.BlockTokenSecretProto(
            expiryDate=self.expiry_date_ms,
            keyId=self.key_id & 0xFFFFFFFF,
            userId=self.user,
            blockPoolId=self.block_pool_id,
            blockId=self.block_id & 0xFFFFFFFFFFFFFFFF,
            modes=self.modes,
            storageTypes=self.storage_types,
            storageIds=self.storage_ids,
            handshakeSecret=self.handshake_secret or None,
        )

    @classmethod
    def decode(cls, data: bytes) -> BlockTokenIdentifier:
        """Either form. Raises MalformedRecord."""
        # A protobuf message begins with the tag of the date; a date of today, written as a vlong,
        # begins with a byte that is no tag of one.
        if data[:1] == b"\x08":
            return cls._from_proto(data)
        return cls._from_writable(data)

    @classmethod
    def _from_proto(cls, data: bytes) -> BlockTokenIdentifier:
        try:
            proto = parse(types_pb2.BlockTokenSecretProto, data)
        except DecodeError as error:
            raise MalformedRecord("a block token cannot be decoded", offset=0) from error
        return cls(
            proto.expiryDate,
            _signed(proto.keyId, 32),
            proto.userId,
            proto.blockPoolId,
            _signed(proto.blockId, 64),
            tuple(types_pb2.AccessModeProto.Name(mode) for mode in proto.modes),
            tuple(types_pb2.StorageTypeProto.Name(kind) for kind in proto.storageTypes),
            tuple(proto.storageIds),
            proto.handshakeSecret,
        )

    @classmethod
    def _from_writable(cls, data: bytes) -> BlockTokenIdentifier:
        cursor = Cursor(data)
        expiry, key_id = cursor.vlong(), cursor.vint()
        user, pool, block_id = _read_string(cursor), _read_string(cursor), cursor.vlong()
        lists: list[tuple[str, ...]] = []
        for kind in ("modes", "storage types", "storage ids"):
            count = 0
            # Tokens of older namenodes end behind the modes.
            if cursor.remaining or kind == "modes":
                count = cursor.count(cursor.vint(), 1, kind)
            # Values of enumerations are texts, and ids are not.
            read = _read_string if kind == "storage ids" else Cursor.text
            lists.append(tuple(read(cursor) for _ in range(count)))
        secret = cursor.raw(cursor.vint(), "secret") if cursor.remaining else b""
        if cursor.remaining:
            raise cursor.fail(f"{cursor.remaining} bytes follow a block token's identifier")
        return cls(expiry, key_id, user, pool, block_id, lists[0], lists[1], lists[2], secret)


def _pack_string(text: str) -> bytes:
    """With a length of four bytes in front: WritableUtils.writeString, unlike Text."""
    raw = text.encode()
    return _LENGTH.pack(len(raw)) + raw


def _read_string(cursor: Cursor) -> str:
    """Empty where there is none: who makes a token for nobody writes the length -1."""
    try:
        return cursor.raw(max(cursor.i32(), 0), "text").decode()
    except UnicodeDecodeError as error:
        raise cursor.fail(f"text is not UTF-8: {error.reason}") from error


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value
