"""Who may do what at a data port, and how this datanode proves itself at those of others (shell:
the clock, dice). DataXceiver.checkAccess, SaslDataTransferServer and -Client in Hadoop.

1. A connection begins with a handshake, by any token that is good for something; what is agreed on
   protects it. Connections of a Unix domain socket need none: they do not leave the machine.
2. Each operation has a token of its own, which is checked before anything is done for it
   (`howdah.datanode.state.block_tokens`).
3. To another datanode a client's token is passed on: in a pipeline, and for a balancer's move. What
   a namenode orders is done by a token of this datanode's.
"""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Callable, Sequence
from typing import Final

from howdah import errors
from howdah.datanode.state.block_tokens import KnownKeys, Mode, need_of
from howdah.protocol.data_transfer.blocks import BlockToken, ExtendedBlock, StorageType
from howdah.protocol.data_transfer.handshake import (
    REALM,
    REALM_URI,
    ClientHandshake,
    ServerHandshake,
)
from howdah.protocol.data_transfer.op_requests import Request
from howdah.protocol.sasl.digest_md5 import DigestMd5Client, DigestMd5Server, credentials_of
from howdah.protocol.sasl.protection import Protection
from howdah.runtime.sockets import Connection
from howdah.security.data_handshakes import accept, initiate

_SETTING: Final = "dfs.data.transfer.protection"
_NONCE_BYTES: Final = 30


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


class Guard:
    """Of one datanode; asked by the threads of all connections."""

    def __init__(
        self,
        keys: KnownKeys,
        user: str,
        protections: tuple[Protection, ...],
        suites: tuple[str, ...] = (),
        now_ms: Callable[[], int] = _wall_ms,
    ) -> None:
        """`user` is whom tokens of this datanode's name. Without `protections` there are no
        handshakes."""
        self.keys: Final = keys
        self._user = user
        self._protections = protections
        self._suites = suites
        self._now_ms = now_ms

    def admit(self, connection: Connection) -> Connection:
        """A client's connection as it is served. Raises what `accept` does."""
        if not self._protections or connection.is_local:
            return connection
        mechanism = DigestMd5Server(
            self._password_of,
            REALM,
            REALM_URI,
            self._protections,
            nonce=base64.b64encode(os.urandom(_NONCE_BYTES)),
            setting=_SETTING,
        )
        return accept(connection, ServerHandshake(mechanism, self._suites, os.urandom))

    def check(self, request: Request) -> None:
        """Raises InvalidToken for who may not have that done."""
        need = need_of(request)
        if need is not None:
            self.keys.check(need, self._now_ms())

    def join(self, connection: Connection, token: BlockToken) -> Connection:
        """A connection to another datanode as it is used. It is closed where that fails.

        Raises what `initiate` does.
        """
        if not self._protections:
            return connection
        name, password = credentials_of(token.identifier, token.password)
        mechanism = DigestMd5Client(
            name,
            password,
            REALM_URI,
            self._protections,
            cnonce=base64.b64encode(os.urandom(_NONCE_BYTES)),
            setting=_SETTING,
        )
        return initiate(connection, ClientHandshake(mechanism, self._suites), _SETTING)

    def own_token(
        self,
        block: ExtendedBlock,
        mode: Mode,
        storage_types: Sequence[StorageType] = (),
        storage_ids: Sequence[str] = (),
    ) -> BlockToken:
        """A token by which this datanode asks another one. Raises InvalidToken where no namenode
        has told its keys yet."""
        return self.keys.make(self._user, block, mode, storage_types, storage_ids, self._now_ms())

    def _password_of(self, name: bytes) -> bytes:
        try:
            identifier = base64.b64decode(name, validate=True)
        except ValueError:
            raise errors.InvalidToken("a token's name is not in base64") from None
        return credentials_of(identifier, self.keys.password_of(identifier, self._now_ms()))[1]
