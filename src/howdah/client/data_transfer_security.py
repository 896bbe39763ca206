"""Makes data connections as secured clusters want them (shell): SaslDataTransferClient in Hadoop.

What a datanode expects at the beginning of a connection cannot be asked; the client has to know:

1. The namenode says that data is encrypted (`dfs.encrypt.data.transfer`): a handshake by a key
   that the namenode gives out, always with privacy.
2. A privileged port (below 1024), which only root can have opened, proves a datanode: nothing.
3. `dfs.data.transfer.protection` is set: a handshake by the token of the block.
4. Otherwise nothing.

A client that may fall back to servers without security (`ipc.client.fallback-to-simple-auth-
allowed`) makes a handshake where the namenode that it spoke to last asked for a proof, as Hadoop's
does, and where the block has a token.

Without security the namenode may have data encrypted all the same (1), which it can only where it
gives out block tokens. Where it gives out none, nothing is asked, and connections are made as ever.
"""

from __future__ import annotations

import base64
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from howdah import errors
from howdah.protocol.data_transfer.blocks import BlockToken
from howdah.runtime import sockets
from howdah.runtime.sockets import Connection, WaitNotice
from howdah.runtime.users.names import ProvenUser

if TYPE_CHECKING:
    from howdah.proto import types_pb2
    from howdah.security.settings import SecuritySettings

Address = tuple[str, int]
_PRIVILEGED_PORTS: Final = 1024
_PROTECTION: Final = "dfs.data.transfer.protection"
_RENEW_BEFORE_MS: Final = 60_000
"""An encryption key is not used any more when it ends so soon."""
_CNONCE_BYTES: Final = 30
_FRESH_S: Final = 60 * 60
"""How long an answer of the namenode's counts, as with Hadoop's clients."""


_DOUBTED_S: Final = 10.0
"""An answer that is younger counts, also where a datanode closes a connection."""
_now_s = time.monotonic


class Interruptible(Protocol):
    def shutdown(self) -> None: ...


class Keys(Protocol):
    """The namenode, as far as keys come from it."""

    @property
    def user(self) -> str: ...
    def get_server_defaults(self) -> types_pb2.FsServerDefaultsProto: ...
    def get_data_encryption_key(self) -> types_pb2.DataEncryptionKeyProto | None: ...


class ConnectsData(Protocol):
    """Makes a connection that an operation on the block of `token` can be sent on.

    `dialing` gets whatever is waited for. Raises `Unreachable`, and AuthenticationFailed where the
    two sides do not agree.
    """

    def __call__(
        self,
        address: Address,
        token: BlockToken,
        *,
        connect_timeout_s: float,
        read_timeout_s: float,
        write_timeout_s: float,
        dialing: Callable[[Interruptible], None] = ...,
        word: WaitNotice | None = ...,
    ) -> Connection: ...


def _ignore(_: Interruptible) -> None:
    """Nobody gives the connection up."""


def connect_plain(
    address: Address,
    token: BlockToken,
    *,
    connect_timeout_s: float,
    read_timeout_s: float,
    write_timeout_s: float,
    dialing: Callable[[Interruptible], None] = _ignore,
    word: WaitNotice | None = None,
) -> Connection:
    """A connection without a handshake (`ConnectsData`)."""
    return sockets.connect(
        address,
        connect_timeout_s=connect_timeout_s,
        read_timeout_s=read_timeout_s,
        write_timeout_s=write_timeout_s,
        dialing=dialing,
        word=word,
    )


def data_connections_of(namenode: Keys, cipher_suites: Sequence[str] = ()) -> ConnectsData:
    """How a client of this namenode makes data connections. `cipher_suites` are those that it
    knows where it has no settings of security."""
    return DataConnections(namenode, cipher_suites).connect


class DataConnections:
    """Makes the data connections of one secured client. Thread-safe, and fork-safe."""

    def __init__(self, namenode: Keys, cipher_suites: Sequence[str] = ()) -> None:
        self._namenode = namenode
        self._is_proven = isinstance(namenode.user, ProvenUser)
        self._cipher_suites = cipher_suites
        self._lock = threading.Lock()
        self._key: types_pb2.DataEncryptionKeyProto | None = None
        self._encrypts: bool | None = None
        self._asked_s = 0.0

    def connect(
        self,
        address: Address,
        token: BlockToken,
        *,
        connect_timeout_s: float,
        read_timeout_s: float,
        write_timeout_s: float,
        dialing: Callable[[Interruptible], None] = _ignore,
        word: WaitNotice | None = None,
    ) -> Connection:
        """`ConnectsData`."""

        def made() -> Connection:
            return connect_plain(
                address,
                token,
                connect_timeout_s=connect_timeout_s,
                read_timeout_s=read_timeout_s,
                write_timeout_s=write_timeout_s,
                dialing=dialing,
                word=word,
            )

        if not self._is_proven and not token.identifier:
            return made()
        return self._secured(address, token, made, dialing)

    def _secured(
        self,
        address: Address,
        token: BlockToken,
        made: Callable[[], Connection],
        dialing: Callable[[Interruptible], None],
    ) -> Connection:
        from howdah.protocol.data_transfer.handshake import UnknownEncryptionKey
        from howdah.security.users import SecuredUser

        user = self._namenode.user
        mine = user.settings if isinstance(user, SecuredUser) else None
        settings = mine
        if isinstance(user, SecuredUser) and (user.has_fallen_back or not user.settings.is_enabled):
            settings = None
        if not token.identifier and (settings is None or settings.fallback_allowed):
            # The namenode that told of this block asks for no proof: there is nothing to show.
            return made()
        if self._is_encrypted():
            suites = self._suites() if mine is None else mine.cipher_suites
            key = self._encryption_key()
            try:
                return self._by_key(made(), key, suites, dialing)
            except UnknownEncryptionKey:
                self._forget(key)
            return self._by_key(made(), self._encryption_key(), suites, dialing)
        connection = made()
        connection.when_closed = self._doubt
        if settings is None or address[1] < _PRIVILEGED_PORTS:
            return connection
        if not settings.data_protections:
            connection.closing_hint = (
                f" (if the datanode wants SASL, set {_PROTECTION} on this side as it has it)"
            )
            return connection
        return self._by_token(connection, token, settings, dialing)

    def _suites(self) -> tuple[str, ...]:
        """Those that a client without settings of security was given. Raises
        InvalidConfiguration."""
        from howdah.protocol.data_transfer.handshake import known_suites

        try:
            return known_suites(tuple(self._cipher_suites))
        except ValueError as error:
            raise errors.InvalidConfiguration(str(error)) from error

    def _by_token(
        self,
        connection: Connection,
        token: BlockToken,
        settings: SecuritySettings,
        dialing: Callable[[Interruptible], None],
    ) -> Connection:
        from howdah.protocol.sasl.digest_md5 import credentials_of

        name, password = credentials_of(token.identifier, token.password)
        return self._handshake(
            connection,
            name,
            password,
            settings.cipher_suites,
            settings.data_protections,
            dialing,
            _PROTECTION,
        )

    def _by_key(
        self,
        connection: Connection,
        key: types_pb2.DataEncryptionKeyProto,
        suites: Sequence[str],
        dialing: Callable[[Interruptible], None],
    ) -> Connection:
        from howdah.protocol.sasl.protection import Protection

        nonce = base64.b64encode(key.nonce).decode()
        return self._handshake(
            connection,
            f"{key.keyId} {key.blockPoolId} {nonce}".encode(),
            base64.b64encode(key.encryptionKey),
            suites,
            (Protection.PRIVACY,),
            dialing,
            "dfs.encrypt.data.transfer",
            key.encryptionAlgorithm,
        )

    def _handshake(
        self,
        connection: Connection,
        name: bytes,
        password: bytes,
        suites: Sequence[str],
        protections: tuple[object, ...],
        dialing: Callable[[Interruptible], None],
        setting: str,
        algorithm: str = "",
    ) -> Connection:
        """The connection as it is from now on; it is closed where that fails."""
        from howdah.protocol.data_transfer.handshake import REALM_URI, ClientHandshake
        from howdah.protocol.sasl.digest_layers import CIPHERS
        from howdah.protocol.sasl.digest_md5 import DigestMd5Client
        from howdah.protocol.sasl.protection import Protection
        from howdah.security.data_handshakes import initiate

        mechanism = DigestMd5Client(
            name,
            password,
            REALM_URI,
            [known for known in protections if isinstance(known, Protection)],
            cnonce=base64.b64encode(os.urandom(_CNONCE_BYTES)),
            setting=setting,
            ciphers=[known for known in CIPHERS if not algorithm or known == algorithm],
        )
        try:
            dialing(connection)
        except BaseException:
            connection.close()
            raise
        try:
            return initiate(connection, ClientHandshake(mechanism, tuple(suites)), setting)
        except (errors.HowdahError, OSError):
            # The datanode may want another one by now, or none.
            self._encrypts = None
            raise

    # -- encryption keys -----------------------------------------------------------------

    def _is_encrypted(self) -> bool:
        """Whether the namenode says so: asked again after `_FRESH_S`, and when it was wrong."""
        now_s = _now_s()
        known = self._encrypts
        if known is None or now_s - self._asked_s >= _FRESH_S:
            self._encrypts = known = self._namenode.get_server_defaults().encryptDataTransfer
            self._asked_s = now_s
        return known

    def _doubt(self) -> None:
        """A datanode has closed a connection without that handshake: it may want one by now. It
        may also have been idle, so the namenode is not asked each time."""
        if _now_s() - self._asked_s >= _DOUBTED_S:
            self._encrypts = None

    def _encryption_key(self) -> types_pb2.DataEncryptionKeyProto:
        key = self._key
        if key is None or key.expiryDate < time.time() * 1000 + _RENEW_BEFORE_MS:
            key = self._namenode.get_data_encryption_key()
            if key is None:
                raise errors.AuthenticationFailed(
                    "the namenode says that data is encrypted, and gives out no key for that"
                )
            with self._lock:
                self._key = key
        return key

    def _forget(self, key: types_pb2.DataEncryptionKeyProto) -> None:
        with self._lock:
            if self._key is key:
                self._key = None
