"""Delegation tokens that gateways, or key servers, have in common in ZooKeeper (shell: dice).

The znodes are those of Hadoop's servers (`howdah.security.zookeeper_records`), so servers of
howdah's and of Hadoop's over one ZooKeeper issue, renew, cancel and take each other's tokens. What
is there counts: nothing is kept here, and a server that was killed knows all when it is back.

1. Numbers of tokens and ids of keys are taken from two counters, which every server increments.
2. A key makes tokens for `delegation-token.update-interval.sec`, and stays until the last of them
   is over. Whichever server first finds none that still makes tokens makes the next one; a key of a
   Hadoop's server is as good as one of howdah's.
3. A server logs in by Kerberos, and its principal alone has a right to the znodes. Whoever could
   read the keys could be anybody, so ZooKeeper without a login is refused, and so is a znode of
   keys that others have a right to.

Hadoop: ZKDelegationTokenSecretManager. One of its servers notices a moment later what another one
has cancelled; here a token is looked up each time.
"""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, TypeVar

from howdah import errors
from howdah.config import Configuration, keys
from howdah.config.value_types import Key
from howdah.formats.malformed import MalformedRecord
from howdah.formats.tokens.identifiers import DelegationKey, DelegationTokenIdentifier
from howdah.protocol.zookeeper import Ensemble, NoZooKeeper, Session, parse_acls
from howdah.security import zookeeper_records as records
from howdah.security.server_tokens import KEY_BYTES
from howdah.security.stored_tokens import StoredToken, TokenTimes

log = logging.getLogger(__name__)

T = TypeVar("T")

_SASL: Final = "sasl"
_MS: Final = 1000
_TRIES: Final = 100
"""As often as another server may be faster than this one."""
_MOST_NUMBER: Final = (1 << 31) - 1
_MOST_BYTES: Final = 64 * 1024
"""No token and no key is larger."""


@dataclass(frozen=True, slots=True)
class ZooKeeperTokenKeys:
    """The configuration keys of one kind of server."""

    is_enabled: Key[bool]
    servers: Key[str | None]
    path: Key[str]
    auth_type: Key[str | None]
    principal: Key[str | None]
    keytab: Key[str | None]
    session_timeout_ms: Key[int]
    retries: Key[int]


@dataclass(frozen=True, slots=True)
class TokenPlace:
    """Where tokens are in ZooKeeper."""

    ensemble: Ensemble
    path: str
    """The znode above all of them."""


def token_place(conf: Configuration, named: ZooKeeperTokenKeys, host: str) -> TokenPlace | None:
    """Return where the tokens of a server are; None where they are not in ZooKeeper. `host` is
    where it listens.

    Raises InvalidConfiguration, and LoginFailed for a keytab by which nobody can log in.
    """
    if not conf.get(named.is_enabled):
        return None
    servers = conf.get(named.servers)
    if not servers:
        raise errors.InvalidConfiguration(f"{named.servers.name} is not set: {named.servers.doc}")
    auth_type = conf.get(named.auth_type)
    if auth_type != _SASL:
        raise errors.InvalidConfiguration(
            f"{named.auth_type.name} = {auth_type or ''} is not supported: what delegation tokens "
            f"are made by is for no other eyes, so ZooKeeper has to know who asks. Set {_SASL}, "
            f"{named.principal.name} and {named.keytab.name}"
        )
    # These load the library of Kerberos.
    from howdah.protocol.sasl.principals import HOST_PLACEHOLDER, Principal
    from howdah.security.login import KerberosLogin
    from howdah.security.server_login import log_in_server
    from howdah.security.users import SecuredUser
    from howdah.security.zookeeper import ZooKeeperLogin

    login = log_in_server(conf, named.principal, named.keytab, host)
    caller = login.caller
    assert isinstance(caller, SecuredUser), "it has logged in"
    kerberos = caller.login
    assert isinstance(kerberos, KerberosLogin), "a keytab is a login"
    own = Principal.parse(caller.principal)
    # As Java's client of ZooKeeper has it, unless it is told otherwise.
    server = conf.get(keys.HADOOP_ZK_SERVER_PRINCIPAL) or f"zookeeper/{HOST_PLACEHOLDER}"
    timeout_s = conf.get(named.session_timeout_ms) / _MS
    mechanism = ZooKeeperLogin(kerberos, Principal.parse(server), named.auth_type.name, timeout_s)
    acls = parse_acls(f"{_SASL}:{own.primary}:cdrwa", named.principal.name)
    tries = 1 + conf.get(named.retries)
    ensemble = Ensemble(named.servers.name, servers, timeout_s, acls, (), tries, mechanism)
    return TokenPlace(ensemble, f"/{conf.get(named.path).strip('/')}/{records.ROOT}")


class TokensInZooKeeper:
    """Those of all servers over one place. Thread-safe. See `TokenStore`.

    Methods raise RetriableError where ZooKeeper does not answer, and ServiceFailed where it
    refuses something.
    """

    def __init__(self, place: TokenPlace, whose: str) -> None:
        self.whose = whose
        self._place = place
        self._tokens = f"{place.path}/{records.TOKENS}"
        self._keys = f"{place.path}/{records.KEYS}"
        self._lock = threading.Lock()
        self._session: Session | None = None
        self._is_closed = False

    def prepare(self) -> None:
        """Make the znodes that are missing. Raises InvalidConfiguration for those that others have
        a right to: whoever has planted a key can be anybody."""
        from kazoo.exceptions import NoNodeError

        counters = [f"{self._place.path}/{records.LAST_NUMBER}"]
        counters.append(f"{self._place.path}/{records.LAST_KEY_ID}")
        parts = self._place.path.strip("/").split("/")
        with self._connected() as session:
            try:
                for parent in accumulate(parts, lambda whole, part: f"{whole}/{part}"):
                    # One that an administrator has made may be in a place of his own.
                    with suppress(errors.ServiceFailed):
                        session.create(f"/{parent}", b"")
                for directory in (self._tokens, self._keys):
                    session.create(directory, b"")
            except NoNodeError as error:
                raise errors.ServiceFailed(
                    f"{self._place.path} at ZooKeeper is not there, and this server has no right "
                    "to make it: let an administrator make the znode above it"
                ) from error
            for counter in counters:
                session.create(counter, records.encode_counter(0))
            made = [f"{self._keys}/{name}" for name in session.children(self._keys)]
            strange = sorted(session.unprotected([self._tokens, self._keys, *counters, *made]))
        if strange:
            raise errors.InvalidConfiguration(
                f"{strange[0]} at ZooKeeper {self._place.ensemble.servers} has another ACL than "
                f"sasl:{self._place.ensemble.acls[0][1]}:cdrwa ({len(strange)} znodes have). "
                "Whoever could write there may have planted keys by which they can be anybody: "
                f"remove {self._place.path} with all below it (deleteall in zkCli.sh), which ends "
                "the delegation tokens; or, if nobody else could write there, give all of it that "
                "ACL (setAcl -R)"
            )

    def close(self) -> None:
        """End the session: ZooKeeper need not wait for its time-out. None is opened again."""
        with self._lock:
            self._is_closed = True
            session, self._session = self._session, None
        if session is not None:
            session.close()

    def key(self, key_id: int) -> DelegationKey | None:
        path = f"{self._keys}/{records.key_name(key_id)}"
        with self._connected() as session:
            znode = session.read(path)
        if znode is None or not znode.content:
            return None
        return self._decoded(path, znode.content, records.decode_key)

    def key_to_issue_by(self, times: TokenTimes, now_ms: int) -> DelegationKey:
        latest = times.current_of(self._all_keys(), now_ms)
        if latest is not None:
            return latest
        key_id = self._incremented(records.LAST_KEY_ID)
        made = times.new_key(key_id, secrets.token_bytes(KEY_BYTES), now_ms)
        with self._connected() as session:
            if not session.create(f"{self._keys}/{records.key_name(key_id)}", made.encode()):
                raise errors.RetriableError(
                    f"key {key_id} of delegation tokens is there already: try again"
                )
        log.info("delegation tokens are made by key %d from now on", key_id)
        return made

    def new_number(self) -> int:
        return self._incremented(records.LAST_NUMBER)

    def add(self, token: StoredToken, password: bytes) -> bool:
        with self._connected() as session:
            return session.create(
                self._path(token.identifier), records.encode_token(token, password)
            )

    def renew(self, token: StoredToken, password: bytes) -> bool:
        if self._stored(token.identifier) is None:
            return False
        with self._connected() as session:
            return session.replace(
                self._path(token.identifier), records.encode_token(token, password)
            )

    def remove(self, token: DelegationTokenIdentifier) -> bool:
        if self._stored(token) is None:
            return False
        with self._connected() as session:
            return session.discard(self._path(token))

    def until_ms(self, token: DelegationTokenIdentifier) -> int | None:
        stored = self._stored(token)
        return None if stored is None else stored.until_ms

    def count(self) -> int:
        with self._connected() as session:
            return session.count_children(self._tokens)

    def count_of(self, owner: str) -> int:
        return sum(token.identifier.owner == owner for _, token in self._all_tokens())

    def remove_over(self, now_ms: int) -> int:
        over = [path for path, token in self._all_tokens() if token.until_ms < now_ms]
        old = [key.key_id for key in self._all_keys() if key.expiry_date_ms < now_ms]
        with self._connected() as session:
            removed = sum(session.discard(path) for path in over)
            for key_id in old:
                session.discard(f"{self._keys}/{records.key_name(key_id)}")
        return removed

    def _path(self, token: DelegationTokenIdentifier) -> str:
        return f"{self._tokens}/{records.token_name(token.sequence_number)}"

    def _stored(self, token: DelegationTokenIdentifier) -> StoredToken | None:
        path = self._path(token)
        with self._connected() as session:
            znode = session.read(path)
        if znode is None or not znode.content:
            return None
        stored = self._decoded(path, znode.content, records.decode_token)
        return stored if stored is not None and stored.identifier == token else None

    def _all_tokens(self) -> list[tuple[str, StoredToken]]:
        return self._below(self._tokens, records.decode_token)

    def _all_keys(self) -> list[DelegationKey]:
        return [key for _, key in self._below(self._keys, records.decode_key)]

    def _below(self, directory: str, decode: Callable[[bytes], T]) -> list[tuple[str, T]]:
        with self._connected() as session:
            paths = [f"{directory}/{name}" for name in session.children(directory)]
            znodes = session.read_all(paths)
        found = []
        for path, znode in zip(paths, znodes, strict=True):
            record = self._decoded(path, znode.content, decode) if znode else None
            if record is not None:
                found.append((path, record))
        return found

    def _decoded(self, path: str, content: bytes, decode: Callable[[bytes], T]) -> T | None:
        """A damaged record is none: it is named in the log, and others count."""
        try:
            if len(content) > _MOST_BYTES:
                raise MalformedRecord(f"it is larger than {_MOST_BYTES} bytes")
            return decode(content)
        except MalformedRecord as error:
            log.warning("%s at ZooKeeper is damaged, and counts for nothing: %s", path, error)
            return None

    def _incremented(self, name: str) -> int:
        path = f"{self._place.path}/{name}"
        with self._connected() as session:
            for _ in range(_TRIES):
                znode = session.read(path)
                if znode is None:
                    raise errors.ServiceFailed(f"{path} at ZooKeeper is gone: restart this server")
                try:
                    value = records.decode_counter(znode.content) + 1
                except MalformedRecord as error:
                    raise errors.ServiceFailed(f"{path} at ZooKeeper is damaged: {error}") from None
                if value > _MOST_NUMBER:
                    raise errors.ServiceFailed(
                        f"{path} at ZooKeeper is at its end: remove all below {self._place.path}"
                    )
                if session.exchange(path, records.encode_counter(value), znode.version):
                    return value
        raise errors.RetriableError(f"{path} at ZooKeeper is being changed by others: try again")

    @contextmanager
    def _connected(self) -> Iterator[Session]:
        try:
            with self._lock:
                if self._is_closed:
                    raise errors.RetriableError("this server stops: try again")
                if self._session is None:
                    self._session = Session(self._place.ensemble)
                session = self._session
            yield session
        except NoZooKeeper as error:
            log.error("delegation tokens cannot be looked up: %s", error)
            raise errors.RetriableError(
                f"delegation tokens cannot be looked up now: {error.message}"
            ) from error
