"""A token, as it is stored and as text: org.apache.hadoop.security.token.Token.

Its bytes are identifier and password, each with its length as a vint, and kind and service as
texts. Its text is their base64 for URLs, without padding.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field, replace
from typing import Final

from howdah import errors
from howdah.formats.malformed import MalformedRecord
from howdah.formats.primitives import Cursor, pack_text, pack_vlong
from howdah.proto import rpc_pb2

HDFS_DELEGATION: Final = "HDFS_DELEGATION_TOKEN"
WEBHDFS_DELEGATION: Final = "WEBHDFS delegation"
SWEBHDFS_DELEGATION: Final = "SWEBHDFS delegation"
WEB_KINDS: Final = (WEBHDFS_DELEGATION, SWEBHDFS_DELEGATION, HDFS_DELEGATION)
"""What is good over HTTP, the first before the others."""
KMS_DELEGATION: Final = "kms-dt"
"""Of key servers; its service is their address, as `kms://https@host1;host2:9600/kms`."""
HDFS_BLOCK: Final = "HDFS_BLOCK_TOKEN"
LOGICAL_SERVICE: Final = "ha-hdfs:"
"""In front of a nameservice's name, where a token is good at all of its namenodes."""
_URL_ALPHABET: Final = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
)


@dataclass(frozen=True, slots=True)
class Token:
    """The right to be somebody, or to do something, at a service. Who has the password has it."""

    identifier: bytes = field(repr=False)
    password: bytes = field(repr=False)
    kind: str
    service: str = ""

    def __str__(self) -> str:
        return f"Kind: {self.kind}, Service: {self.service}"

    def at(self, service: str) -> Token:
        """The same for another service."""
        return replace(self, service=service)

    def encode(self) -> bytes:
        return b"".join(
            (
                pack_vlong(len(self.identifier)),
                self.identifier,
                pack_vlong(len(self.password)),
                self.password,
                pack_text(self.kind),
                pack_text(self.service),
            )
        )

    @classmethod
    def read(cls, cursor: Cursor) -> Token:
        """Raises MalformedRecord."""
        identifier = cursor.raw(cursor.vint(), "identifier")
        password = cursor.raw(cursor.vint(), "password")
        return cls(identifier, password, cursor.text(), cursor.text())

    @property
    def url_string(self) -> str:
        """The token as text, password included: `urlString` of WebHDFS."""
        return base64.urlsafe_b64encode(self.encode()).rstrip(b"=").decode()

    @classmethod
    def from_url_string(cls, text: str) -> Token:
        """Raises IllegalArgument for what is no token; the message does not repeat it."""
        try:
            raw = text.strip().encode("ascii").rstrip(b"=")
            if set(raw) - _URL_ALPHABET:
                raise ValueError
            data = base64.urlsafe_b64decode(raw + b"=" * (-len(raw) % 4))
            cursor = Cursor(data)
            token = cls.read(cursor)
        except (ValueError, binascii.Error, MalformedRecord):
            raise errors.IllegalArgument("the text is not a token of Hadoop") from None
        if cursor.remaining:
            raise errors.IllegalArgument("the text is not a token of Hadoop: more follows it")
        return token

    def to_proto(self) -> rpc_pb2.TokenProto:
        return rpc_pb2.TokenProto(
            identifier=self.identifier,
            password=self.password,
            kind=self.kind,
            service=self.service,
        )

    @classmethod
    def from_proto(cls, proto: rpc_pb2.TokenProto) -> Token:
        return cls(proto.identifier, proto.password, proto.kind, proto.service)
