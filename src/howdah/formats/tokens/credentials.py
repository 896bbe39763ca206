"""A file of tokens and secrets, as `HADOOP_TOKEN_FILE_LOCATION` names one.

org.apache.hadoop.security.Credentials: `HDTS`, a version, then by version 0 the entries as
Writables, by version 1 a delimited CredentialsProto.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from google.protobuf.message import DecodeError

from howdah.formats.malformed import MalformedRecord
from howdah.formats.primitives import Cursor, pack_text, pack_vlong
from howdah.formats.tokens.token import Token
from howdah.proto import rpc_pb2
from howdah.protocol.messages import parse
from howdah.protocol.varint import delimited

MAGIC: Final = b"HDTS"
WRITABLE: Final = 0
PROTOBUF: Final = 1
_LEAST_ENTRY_BYTES: Final = 2


@dataclass(frozen=True, slots=True)
class Credentials:
    """Tokens and secrets by their aliases."""

    tokens: Mapping[str, Token] = field(default_factory=dict)
    secrets: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    def encode(self, version: int = WRITABLE) -> bytes:
        """The file in one of its two versions."""
        head = MAGIC + bytes((version,))
        if version == PROTOBUF:
            return head + delimited(self._to_proto())
        parts = [head, pack_vlong(len(self.tokens))]
        for alias, token in self.tokens.items():
            parts += [pack_text(alias), token.encode()]
        parts.append(pack_vlong(len(self.secrets)))
        for alias, secret in self.secrets.items():
            parts += [pack_text(alias), pack_vlong(len(secret)), secret]
        return b"".join(parts)

    def _to_proto(self) -> rpc_pb2.CredentialsProto:
        proto = rpc_pb2.CredentialsProto()
        for alias, token in self.tokens.items():
            proto.tokens.add(alias=alias, token=token.to_proto())
        for alias, secret in self.secrets.items():
            proto.secrets.add(alias=alias, secret=secret)
        return proto

    @classmethod
    def decode(cls, data: bytes) -> Credentials:
        """Raises MalformedRecord for what is no such file, or of an unknown version."""
        cursor = Cursor(data)
        if cursor.remaining < len(MAGIC) or cursor.raw(len(MAGIC), "magic") != MAGIC:
            raise MalformedRecord("no file of tokens begins like this (HDTS)", offset=0)
        version = cursor.u8()
        if version == WRITABLE:
            return cls._from_writable(cursor)
        if version == PROTOBUF:
            return cls._from_proto(cursor)
        raise cursor.fail(f"a file of tokens of version {version}: 0 and 1 are known")

    @classmethod
    def _from_writable(cls, cursor: Cursor) -> Credentials:
        tokens: dict[str, Token] = {}
        for _ in range(cursor.count(cursor.vint(), _LEAST_ENTRY_BYTES, "tokens")):
            alias = cursor.text()
            tokens[alias] = Token.read(cursor)
        secrets: dict[str, bytes] = {}
        for _ in range(cursor.count(cursor.vint(), _LEAST_ENTRY_BYTES, "secrets")):
            alias = cursor.text()
            secrets[alias] = cursor.raw(cursor.vint(), "secret")
        return cls(tokens, secrets)

    @classmethod
    def _from_proto(cls, cursor: Cursor) -> Credentials:
        try:
            proto = parse(rpc_pb2.CredentialsProto, cursor.delimited())
        except DecodeError as error:
            raise cursor.fail("a file of tokens cannot be decoded") from error
        return cls(
            {entry.alias: Token.from_proto(entry.token) for entry in proto.tokens},
            {entry.alias: entry.secret for entry in proto.secrets},
        )
