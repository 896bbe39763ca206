"""Asks key servers, as one user (shell). Hadoop: KMSClientProvider, LoadBalancingKMSClientProvider.

All servers of an address have the same keys: where one is not reached, the next one is asked, and
all of them once more a little later. A refusal is final. Connections are kept.
"""

from __future__ import annotations

import http.client
import itertools
import json
import logging
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import quote, urlencode

from howdah import errors
from howdah.config import Configuration, keys
from howdah.formats.tokens.token import KMS_DELEGATION, Token
from howdah.protocol.encryption_zones import key_calls
from howdah.protocol.encryption_zones.counter import KEY_BYTES
from howdah.protocol.encryption_zones.key_calls import TokenCall
from howdah.protocol.encryption_zones.messages import EncryptedKey
from howdah.protocol.encryption_zones.provider_address import ProviderAddress
from howdah.runtime.fork_safety import PerProcess
from howdah.runtime.signal_handlers import is_raised_by_handler
from howdah.runtime.tls.client import ClientTls, NotTrusted
from howdah.runtime.tls.http_policy import Place
from howdah.runtime.users.names import ProvenUser, real_user_of
from howdah.security.hosts import ip_addresses
from howdah.security.key_connections import KeyAnswer, KeyConnection, TooLong
from howdah.security.page_proofs import PageProofs, headers_of, with_parameters

if TYPE_CHECKING:
    from howdah.security.http import Proof

log = logging.getLogger(__name__)

T = TypeVar("T")

_MOST_IDLE: Final = 16
_LONGEST_S: Final = 3600.0
_UNAVAILABLE: Final = 503
_ANSWERED: Final = (200, 201)


@dataclass(frozen=True, slots=True)
class KeyVersion:
    """A version of a key, and its bytes where a server gives them out."""

    name: str
    version_name: str
    material: bytes | None


class KeyServers:
    """The key servers of one address. Thread-safe and fork-safe."""

    def __init__(
        self,
        address: ProviderAddress,
        conf: Configuration,
        user: str,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.address = address
        self._user = user
        self._sleep = sleep
        self._tls = ClientTls(conf)
        self._proofs = PageProofs(user)
        # 0 is for ever in Hadoop; nothing waits for ever here.
        self._timeout_s = conf.get(keys.HADOOP_SECURITY_KMS_CLIENT_TIMEOUT) or _LONGEST_S
        retries = conf.get(keys.HADOOP_SECURITY_KMS_CLIENT_FAILOVER_MAX_RETRIES)
        self._retries = len(address.hosts) if retries is None else retries
        self._first_delay_s = conf.get(keys.HADOOP_SECURITY_KMS_CLIENT_FAILOVER_SLEEP_BASE_MILLIS)
        self._most_delay_s = conf.get(keys.HADOOP_SECURITY_KMS_CLIENT_FAILOVER_SLEEP_MAX_MILLIS)
        self._places = [Place(address.is_secure, host, address.port) for host in address.hosts]
        self._next = 0
        self._idle: PerProcess[dict[Place, list[KeyConnection]]] = PerProcess(
            lambda: {place: [] for place in self._places}
        )

    def __str__(self) -> str:
        return str(self.address)

    # --- calls --------------------------------------------------------------------------

    def decrypt(self, key: EncryptedKey) -> bytes:
        """Return what a key is that was encrypted by one of the servers' keys.

        Raises AccessDenied for users who may not, Unreachable or CallTimeout where no server
        answers, and RemoteError for what a server cannot do.
        """
        body = self._ask(
            "POST", key_calls.decrypt_target(key), key_calls.decrypt_body(key), key.version_name
        )
        material = self._read(
            key.version_name,
            lambda: key_calls.decode(key_calls.object_of(body).get("material"), "the key"),
        )
        if len(material) not in KEY_BYTES:
            raise errors.ProtocolViolation(f"{self} answered a key of {len(material)} bytes")
        return material

    def generate(self, key_name: str, count: int = 1) -> list[EncryptedKey]:
        """Have keys made and encrypted by a key. Raises as `decrypt`."""
        body = self._ask("GET", key_calls.generate_target(key_name, count), None, key_name)
        return self._read(
            key_name,
            lambda: [
                key_calls.encrypted_key_from(entry, key_name) for entry in key_calls.list_of(body)
            ],
        )

    def reencrypt(self, wanted: Sequence[EncryptedKey]) -> list[EncryptedKey]:
        """Have keys of files, which one key encrypts, encrypted anew by its last version. Those
        that are by that version already come back as they are. Raises as `decrypt`."""
        key_name = wanted[0].key_name
        sent = json.dumps([key_calls.encrypted_key_fields(key) for key in wanted]).encode()
        body = self._ask("POST", key_calls.reencrypt_target(key_name), sent, key_name)
        return self._read(
            key_name,
            lambda: [
                key_calls.encrypted_key_from(entry, key_name) for entry in key_calls.list_of(body)
            ],
        )

    def metadata(self, key_name: str) -> Mapping[str, Any] | None:
        """Return what is known of a key; None if there is none of that name."""
        target = f"/key/{quote(key_name, safe='')}/_metadata"
        body = self._ask("GET", target, None, key_name)
        return self._read(key_name, lambda: key_calls.object_of(body)) or None

    def metadata_of(self, key_names: Sequence[str]) -> list[Mapping[str, Any]]:
        """The same of several keys."""
        target = f"/keys/metadata?{urlencode([('key', name) for name in key_names])}"
        body = self._ask("GET", target, None, "keys")
        return [entry or {} for entry in self._read("keys", lambda: key_calls.list_of(body))]

    def names(self) -> list[str]:
        """Return the names of all keys."""
        body = self._ask("GET", "/keys/names", None, "keys")
        return [str(name) for name in self._read("keys", lambda: key_calls.list_of(body))]

    def current_version(self, key_name: str) -> KeyVersion:
        """Return the version by which keys are made now."""
        target = f"/key/{quote(key_name, safe='')}/_currentversion"
        return self._version(self._ask("GET", target, None, key_name), key_name)

    def versions(self, key_name: str) -> list[KeyVersion]:
        """Return all versions of a key, the first one first. Raises as `decrypt`."""
        body = self._ask("GET", f"/key/{quote(key_name, safe='')}/_versions", None, key_name)
        return self._read(
            key_name, lambda: [_version_of(_object(one)) for one in key_calls.list_of(body)]
        )

    def create(
        self,
        key_name: str,
        *,
        cipher: str = "",
        length_bits: int = 0,
        description: str = "",
        attributes: Mapping[str, str] | None = None,
        material: bytes | None = None,
    ) -> KeyVersion:
        """Make a key; the server's defaults count for what is left out, and its dice without
        `material`. Raises as `decrypt`."""
        fields: dict[str, Any] = {"name": key_name}
        given = {
            "cipher": cipher,
            "length": length_bits,
            "description": description,
            "attributes": dict(attributes or {}),
            "material": None if material is None else key_calls.encode(material),
        }
        fields |= {name: value for name, value in given.items() if value}
        body = self._ask("POST", "/keys", json.dumps(fields).encode(), key_name)
        return self._version(body, key_name)

    def roll(self, key_name: str, material: bytes | None = None) -> KeyVersion:
        """Make a new version of a key, of these bytes if there are any. Raises as `decrypt`."""
        fields = {} if material is None else {"material": key_calls.encode(material)}
        body = self._ask(
            "POST", f"/key/{quote(key_name, safe='')}", json.dumps(fields).encode(), key_name
        )
        return self._version(body, key_name)

    def delete(self, key_name: str) -> None:
        """Take a key away with all its versions; what they encrypt is lost then."""
        self._ask("DELETE", f"/key/{quote(key_name, safe='')}", None, key_name)

    def invalidate_cache(self, key_name: str) -> None:
        """Have servers forget what they made ahead by a key."""
        self._ask("POST", f"/key/{quote(key_name, safe='')}/_invalidatecache", b"", key_name)

    # --- delegation tokens --------------------------------------------------------------

    def get_delegation_token(self, renewer: str) -> Token:
        """Return a token by which others are this user at all servers of the address, for as long
        as it is renewed. Only `renewer` may renew it.

        Raises as `decrypt`, and AuthenticationFailed for who has a token alone.
        """
        body = self._ask_about_token(TokenCall.GET, renewer=renewer)

        def read() -> Token:
            fields = key_calls.object_of(body).get("Token")
            if not isinstance(fields, dict):
                raise errors.ProtocolViolation("there is no token in it")
            try:
                return Token.from_url_string(key_calls.text_of(fields, "urlString"))
            except errors.IllegalArgument as error:
                raise errors.ProtocolViolation(error.message) from None

        return self._read("a token", read).at(self.address.service)

    def renew_delegation_token(self, token: Token) -> int:
        """Return until when a token is good now, in milliseconds since 1970. Raises as
        `get_delegation_token`, and AccessDenied for who is not its renewer."""
        body = self._ask_about_token(TokenCall.RENEW, token=token.url_string)

        def read() -> int:
            until_ms = key_calls.object_of(body).get("long")
            if not isinstance(until_ms, int):
                raise errors.ProtocolViolation("there is no time in it")
            return until_ms

        return self._read("a token", read)

    def cancel_delegation_token(self, token: Token) -> None:
        """Make a token worthless at once: whoever has it may. Raises as
        `renew_delegation_token`."""
        # Nothing else is shown: Hadoop's servers look at no ticket then, and prove nothing for one.
        self._ask_about_token(TokenCall.CANCEL, token, token=token.url_string)

    def _ask_about_token(self, call: TokenCall, shown: Token | None = None, **fields: str) -> bytes:
        target = f"/?{urlencode({'op': call, **fields})}"
        return self._ask_by(shown, call.method, target, None, "a delegation token")

    def _token(self) -> Token | None:
        """The delegation token by which the user is known to these servers; it goes before a
        ticket, as at namenodes. Raises LoginFailed."""
        if not isinstance(self._user, ProvenUser):
            return None
        from howdah.security.users import SecuredUser

        user = self._user
        # Who acts for another has tokens of his own, by which nobody acts for anybody.
        if not isinstance(user, SecuredUser) or user.real_user is not None:
            return None
        of_servers = [token for token in user.tokens() if token.kind == KMS_DELEGATION]
        for token in of_servers:
            if self.address.is_of_token(token.service):
                return token
        if any("://" not in token.service for token in of_servers):
            here = self.address
            known = {f"{ip}:{here.port}" for host in here.hosts for ip in ip_addresses(host)}
            return next((token for token in of_servers if token.service in known), None)
        return None

    def _version(self, body: bytes, key_name: str) -> KeyVersion:
        return self._read(key_name, lambda: _version_of(key_calls.object_of(body)))

    def _read(self, what: str, read: Callable[[], T]) -> T:
        try:
            return read()
        except errors.ProtocolViolation as error:
            raise errors.ProtocolViolation(
                f"{self} answered for {what}: {error.message}"
            ) from error

    # --- over HTTP ----------------------------------------------------------------------

    def _ask(self, method: str, target: str, body: bytes | None, what: str) -> bytes:
        return self._ask_by(self._token(), method, target, body, what)

    def _ask_by(
        self, token: Token | None, method: str, target: str, body: bytes | None, what: str
    ) -> bytes:
        """By a token, or as the user proves himself without one."""
        delay_s = self._first_delay_s
        for attempt in itertools.count(1):
            place = self._places[self._next % len(self._places)]
            try:
                return self._asked(place, method, target, body, what, token)
            except (errors.Unreachable, errors.CallTimeout) as error:
                self._next += 1
                if attempt > self._retries:
                    raise
                log.warning("%s; the next one is asked", error)
            if attempt % len(self._places) == 0:
                self._sleep(min(delay_s, self._most_delay_s))
                delay_s *= 2
        raise AssertionError("attempts come to an end")

    def _asked(
        self,
        place: Place,
        method: str,
        target: str,
        body: bytes | None,
        what: str,
        token: Token | None,
    ) -> bytes:
        whole = f"{self.address.path}{key_calls.VERSION}{target}"
        if not self._proofs.are_needed and token is None:
            whole = _with_name(whole, self._user)
        proof = self._proofs.proof(place) if token is None else _proof_by(token)
        while True:
            answer = self._exchanged(
                place, method, with_parameters(whole, proof), headers_of(proof), body
            )
            status = answer.status
            if not self._proofs.wants_another(place, proof, status):
                break
            proof = self._proofs.proof(place)
        self._proofs.check(place, proof, status, answer.headers)
        about = f"the key server {place} refuses {self._user} a call for {what}"
        if status == _UNAVAILABLE:
            raise errors.Unreachable(f"{about}: it is not available")
        if status not in _ANSWERED:
            raise key_calls.error_of(status, answer.body, about, answer.reason)
        return answer.body

    def _exchanged(
        self,
        place: Place,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes | None,
    ) -> KeyAnswer:
        sent = dict(headers)
        if body is not None:
            sent["Content-Type"] = key_calls.CONTENT_TYPE
        while True:
            connection, is_kept = self._connection(place)
            try:
                answer = connection.ask(method, target, sent, body, key_calls.MAX_ANSWER_BYTES)
            except BaseException as error:
                connection.close()
                if is_kept and isinstance(error, ConnectionError):
                    continue  # The server has closed a connection that nobody used.
                raise _named(place, error) from error
            idle = self._idle.get()[place]
            if answer.is_last or len(idle) >= _MOST_IDLE:
                connection.close()
            else:
                idle.append(connection)
            return answer

    def _connection(self, place: Place) -> tuple[KeyConnection, bool]:
        try:
            return self._idle.get()[place].pop(), True
        except IndexError:
            pass
        dialled = self._tls.http(place, self._timeout_s)
        try:
            dialled.connect()
        except BaseException as error:
            dialled.close()
            raise _named(place, error) from error
        # What dials and shakes hands is `http.client`, which has said nothing yet.
        connected: socket.socket = dialled.sock
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return KeyConnection(connected, place.header), False

    def close(self) -> None:
        """Let go of idle connections."""
        for idle in self._idle.get().values():
            while idle:
                idle.pop().close()


def servers_of_token(token: Token, conf: Configuration, user: str) -> KeyServers:
    """Return the key servers that a delegation token is of: they renew and cancel it. Raises
    IllegalArgument for a token whose service does not say where they are."""
    try:
        return KeyServers(ProviderAddress.of(token.service), conf, user)
    except errors.InvalidConfiguration as error:
        raise errors.IllegalArgument(f"the token {token}: {error.message}") from None


def _proof_by(token: Token) -> Proof:
    from howdah.security.http import Proof

    return Proof((), {key_calls.TOKEN_HEADER: token.url_string})


def _with_name(target: str, user: str) -> str:
    """A server that believes names is told who asks, and for whom."""
    return f"{target}{'&' if '?' in target else '?'}{_name_fields(str(user), real_user_of(user))}"


@lru_cache(maxsize=256)
def _name_fields(user: str, real_user: str | None) -> str:
    fields = [("user.name", real_user or user)]
    if real_user is not None:
        fields.append(("doas", user))
    return urlencode(fields)


def _named(place: Place, error: BaseException) -> BaseException:
    if isinstance(error, errors.HowdahError) and not isinstance(error, NotTrusted):
        return error
    where = f"the key server {place}"
    if isinstance(error, NotTrusted):
        return NotTrusted(f"{where}: {error.message}")
    if isinstance(error, TimeoutError):
        return error if is_raised_by_handler(error) else errors.CallTimeout(f"{where} is silent")
    if isinstance(error, TooLong):
        return errors.ProtocolViolation(f"{where} answers too much: {error}")
    if isinstance(error, http.client.HTTPException):
        return errors.Unreachable(f"{where} answers what is no HTTP: {error!r}")
    if isinstance(error, OSError | UnicodeError | socket.gaierror):
        return errors.Unreachable(f"{where} cannot be reached: {error or repr(error)}")
    return error


def _version_of(fields: Mapping[str, Any]) -> KeyVersion:
    material = fields.get("material")
    return KeyVersion(
        key_calls.text_of(fields, "name"),
        key_calls.text_of(fields, "versionName"),
        None if material is None else key_calls.decode(material, "the key"),
    )


def _object(entry: object) -> Mapping[str, Any]:
    if not isinstance(entry, dict):
        raise errors.ProtocolViolation("a version of a key is no object of JSON")
    return entry
