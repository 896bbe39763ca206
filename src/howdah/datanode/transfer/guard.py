"""Who may do what at a data port, and how this datanode proves itself at those of others (shell:
the clock, dice). DataXceiver.checkAccess, SaslDataTransferServer and -Client in Hadoop.

1. Where data is encrypted (`dfs.encrypt.data.transfer`), a connection begins with a handshake by a
   key for that, with Kerberos or without. Otherwise with Kerberos by any token that is good for
   something, unless the port is a privileged one, which proves a datanode. What is agreed on
   protects the connection. Connections of a Unix domain socket need no handshake: they do not leave
   the machine.
2. Each operation has a token of its own, which is checked before anything is done for it
   (`howdah.datanode.state.block_tokens`).
3. While a cluster changes over to Kerberos (`howdah.security.transition`) connections without a
   handshake and operations without a token are served as without Kerberos. What is shown is checked
   all the same. Where there is no token and no key, because no namenode has changed over yet, this
   datanode calls others without.
4. To another datanode a client's token is passed on: in a pipeline, and for a balancer's move. What
   a namenode orders is done by a token of this datanode's. It makes its own keys for encryption.
"""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from howdah import errors
from howdah.datanode.state.block_tokens import KnownKeys, Mode, need_of
from howdah.formats.tokens.block_keys import ExportedKeys
from howdah.formats.tokens.encryption_keys import NONCE_BYTES, NamedKey
from howdah.protocol.data_transfer.blocks import NO_TOKEN, BlockToken, ExtendedBlock, StorageType
from howdah.protocol.data_transfer.handshake import (
    KEY_BYTES,
    MAGIC,
    REALM,
    REALM_URI,
    ClientHandshake,
    ServerHandshake,
)
from howdah.protocol.data_transfer.op_requests import Request
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.negotiation import ServerMethods
from howdah.protocol.rpc.proven import TOKEN
from howdah.protocol.sasl.digest_layers import CIPHERS, STRONG_CIPHERS
from howdah.protocol.sasl.digest_md5 import DigestMd5Client, DigestMd5Server, credentials_of
from howdah.protocol.sasl.offered_protections import OfferedProtections, SameForAll
from howdah.protocol.sasl.protection import Protection
from howdah.runtime.sockets import Connection
from howdah.security.data_handshakes import accept, initiate
from howdah.security.server_methods import IssuedTokens, passwords_by_name
from howdah.security.strangers import STRANGERS
from howdah.web.http import Guard as WebGuard

_SETTING: Final = "dfs.data.transfer.protection"
_ENCRYPTION_SETTING: Final = "dfs.encrypt.data.transfer"
_CHALLENGE_BYTES: Final = 30
_PRIVILEGED_PORTS: Final = 1024
_ALWAYS: Final = (Protection.PRIVACY,)


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Encryption:
    """How all data is encrypted. `algorithm` is the handshake's cipher; empty: either."""

    algorithm: str = ""

    @property
    def ciphers(self) -> tuple[str, ...]:
        return (self.algorithm,) if self.algorithm else STRONG_CIPHERS


class Guard:
    """Of one datanode; asked by the threads of all connections."""

    def __init__(
        self,
        keys: KnownKeys,
        user: str,
        protections: tuple[Protection, ...],
        suites: tuple[str, ...] = (),
        now_ms: Callable[[], int] = _wall_ms,
        *,
        offered: OfferedProtections | None = None,
        rpc_user: str | None = None,
        methods: Callable[[IssuedTokens], ServerMethods] | None = None,
        web: WebGuard | None = None,
        encryption: Encryption | None = None,
        aes_key_bytes: int = KEY_BYTES[0],
        is_privileged: bool = False,
        takes_simple: bool = False,
    ) -> None:
        """`user` is who runs this datanode: its own tokens name him. Without `protections` and
        `encryption` there are no handshakes. `protections` are what it asks other datanodes for,
        `offered` what it offers to clients, by default the same. `methods` are those of the RPC
        port, where block tokens are taken; `web` is the guard of the web ports. `is_privileged`:
        root alone can have opened this data port. `takes_simple`: who proves nothing is served,
        too."""
        self.web = web
        self.keys: Final = keys
        self.user = user
        self.rpc_user = rpc_user
        self._methods = methods
        self._protections = protections
        self._offered = offered or SameForAll(protections)
        self._suites = suites
        self._now_ms = now_ms
        self._encryption = encryption
        self._aes_key_bytes = aes_key_bytes
        self._is_privileged = is_privileged
        self.takes_simple: Final = takes_simple

    def accept(self, connection: Connection) -> Connection:
        """A client's connection as it is served. Raises what `accept` does."""
        if connection.is_local:
            return connection
        if self.takes_simple and bytes(connection.have(len(MAGIC))[: len(MAGIC)]) != MAGIC:
            STRANGERS.note("", connection.peer_address)
            return connection
        nonce = base64.b64encode(os.urandom(_CHALLENGE_BYTES))
        if self._encryption is not None:
            setting = _ENCRYPTION_SETTING
            mechanism = DigestMd5Server(
                self._password_of_key,
                REALM,
                REALM_URI,
                _ALWAYS,
                nonce=nonce,
                setting=setting,
                ciphers=self._encryption.ciphers,
            )
        elif self._protections and not self._is_privileged:
            setting = _SETTING
            mechanism = DigestMd5Server(
                passwords_by_name(_Issued(self)),
                REALM,
                REALM_URI,
                self._offered.offered(connection.peer_address, connection.own_port),
                nonce=nonce,
                setting=setting,
            )
        else:
            return connection
        handshake = ServerHandshake(mechanism, self._suites, os.urandom, self._aes_key_bytes)
        return accept(connection, handshake, setting)

    def _password_of_key(self, name: bytes) -> bytes:
        """Of the key that a client has from the namenode. Raises AuthenticationFailed, and
        UnknownEncryptionKey."""
        return self.keys.encryption_key(NamedKey.parse(name), self._now_ms()).credentials[1]

    @property
    def rpc_methods(self) -> ServerMethods | None:
        """How clients prove themselves at the RPC port; None where everybody is believed."""
        return None if self._methods is None else self._methods(_Issued(self))

    def update_keys(self, pool_id: str, keys: ExportedKeys) -> None:
        """Take the keys that a namenode tells of its pool."""
        self.keys.update_keys(pool_id, keys, self._now_ms())

    def forget_pool(self, pool_id: str) -> None:
        """The pool is served no more."""
        self.keys.forget_pool(pool_id)

    def check_caller(self, caller: Caller, block: ExtendedBlock) -> None:
        """Raises InvalidToken for whose token is not for reading that block, and AccessDenied for
        who came by something else."""
        proven = caller.proven
        if self.takes_simple and (proven is None or proven.method != TOKEN):
            return  # His namenode may give no tokens yet, also to who shows a ticket here.
        if proven is None or proven.method != TOKEN:
            raise errors.AccessDenied(f"{caller.display_name} asks about {block} by no block token")
        self.keys.check_proven(proven.identifier, block, Mode.READ, self._now_ms())

    def check_request(self, request: Request) -> None:
        """Raises InvalidToken for who may not have that done."""
        need = need_of(request)
        if need is not None and not (self.takes_simple and not need.token.identifier):
            self.keys.check(need, self._now_ms())

    def initiate(
        self, connection: Connection, port: int, pool_id: str, token: BlockToken
    ) -> Connection:
        """A connection to the data port of another datanode as it is used. It is closed where that
        fails.

        Raises what `initiate` does, and UnknownEncryptionKey.
        """
        if self.takes_simple and not self._can_prove_itself(pool_id, token):
            return connection
        protections, setting = self._protections, _SETTING
        ciphers: Sequence[str] = CIPHERS
        if self._encryption is not None:
            try:
                name, password = self._own_key(pool_id)
            except errors.HowdahError:
                connection.close()
                raise
            protections, ciphers = _ALWAYS, self._encryption.ciphers
            setting = _ENCRYPTION_SETTING
        elif not protections or port < _PRIVILEGED_PORTS:
            return connection
        else:
            name, password = credentials_of(token.identifier, token.password)
        mechanism = DigestMd5Client(
            name,
            password,
            REALM_URI,
            protections,
            cnonce=base64.b64encode(os.urandom(_CHALLENGE_BYTES)),
            setting=setting,
            ciphers=ciphers,
        )
        return initiate(connection, ClientHandshake(mechanism, self._suites), setting)

    def _can_prove_itself(self, pool_id: str, token: BlockToken) -> bool:
        """Whether a namenode that has changed over has given what a handshake is made by."""
        if self._encryption is not None:
            return self.keys.has_pool(pool_id)
        return bool(token.identifier)

    def _own_key(self, pool_id: str) -> tuple[bytes, bytes]:
        """The credentials of a key by which this datanode calls another one. Raises
        UnknownEncryptionKey."""
        nonce = os.urandom(NONCE_BYTES)
        return self.keys.make_encryption_key(pool_id, nonce, self._now_ms()).credentials

    def own_token(
        self,
        block: ExtendedBlock,
        mode: Mode,
        storage_types: Sequence[StorageType] = (),
        storage_ids: Sequence[str] = (),
    ) -> BlockToken:
        """A token by which this datanode asks another one. Raises InvalidToken where no namenode
        has told its keys yet, but while a cluster changes over: its namenodes may give none."""
        if self.takes_simple and not self.keys.has_pool(block.pool_id):
            return NO_TOKEN
        return self.keys.make(self.user, block, mode, storage_types, storage_ids, self._now_ms())

    def password_of(self, identifier: bytes) -> bytes:
        """Of a token that is good for something. Raises InvalidToken."""
        return self.keys.password_of(identifier, self._now_ms())


@dataclass(frozen=True, slots=True)
class _Issued(IssuedTokens):
    """Block tokens, at the RPC port."""

    guard: Guard

    def password_of(self, identifier: bytes) -> bytes:
        return self.guard.password_of(identifier)
