"""Sessions with ZooKeeper, for whoever keeps something there (shell).

kazoo is imported when a session is made, and not before: `pip install howdah[zookeeper]`.

An ensemble that has a login by SASL has it in every connection, before anything else is asked over
it: kazoo makes connections anew by itself, and has a place for that. Its own SASL needs another
library of Kerberos, which is not used. A connection whose login fails is closed, and another one is
tried: nothing goes on without it.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from howdah import errors
from howdah.protocol.sasl.mechanism import ClientMechanism
from howdah.protocol.zookeeper_sasl import LENGTH_BYTES, SaslExchange, length_of

_PERMISSIONS: Final = {"r": 1, "w": 2, "c": 4, "d": 8, "a": 16}
_MAX_FILE_BYTES: Final = 64 * 1024
_AT_ONCE: Final = 100
_ALL: Final = sum(_PERMISSIONS.values())


Acls = tuple[tuple[str, str, int], ...]
"""Scheme, id and permissions."""
ProvenBy = Callable[[str, str], ClientMechanism]
"""Makes the mechanism for a server, by the name and the IP address that it is reached at. Raises
LoginFailed."""


class NoZooKeeper(errors.Unreachable):
    """No ZooKeeper server of the ensemble answers."""


@dataclass(frozen=True, slots=True)
class Znode:
    """What is in a znode, and how often it was changed."""

    content: bytes
    version: int


@dataclass(frozen=True, slots=True)
class Ensemble:
    """The servers of one ZooKeeper, and how they are used."""

    key: str
    """The configuration key that names the servers; problems are told by it."""
    servers: str
    session_timeout_s: float
    acls: tuple[tuple[str, str, int], ...]
    """Scheme, id and permissions of who may use what is made."""
    auths: tuple[tuple[str, str], ...]
    """Scheme and credentials of who asks."""
    tries: int
    """How often a call is made before it fails."""
    mechanism: ProvenBy | None = None
    """What every connection is proven by; None: there is no SASL."""


def parse_acls(text: str, key: str) -> tuple[tuple[str, str, int], ...]:
    """Hadoop's `scheme:id:permissions,…`, or @FILE that has them; the id may have colons.
    Raises InvalidConfiguration, by the name of the key."""
    found = []
    for entry in _entries(text):
        scheme, first, rest = entry.partition(":")
        name, last, letters = rest.rpartition(":")
        if not first or not last or not letters or set(letters) - set(_PERMISSIONS):
            raise errors.InvalidConfiguration(f"{key}: {entry!r} is not scheme:id:permissions")
        found.append((scheme, name, sum(_PERMISSIONS[letter] for letter in set(letters))))
    return tuple(found)


def parse_auths(text: str, key: str) -> tuple[tuple[str, str], ...]:
    """Hadoop's `scheme:credentials,…`, or @FILE that has them. Raises InvalidConfiguration."""
    found = []
    for entry in _entries(text):
        scheme, colon, credentials = entry.partition(":")
        if not colon:
            # Not shown: it may be a password.
            raise errors.InvalidConfiguration(f"an entry of {key} is not scheme:credentials")
        found.append((scheme, credentials))
    return tuple(found)


def kept_acls(ensemble: Ensemble) -> frozenset[tuple[str, str, int]]:
    """How ZooKeeper keeps the ACL of the settings: who has proven themselves (`auth`, also where
    the settings name nobody) are those whose passwords are in the settings."""
    proven = [
        (
            "digest",
            f"{user}:{base64.b64encode(hashlib.sha1(credentials.encode()).digest()).decode()}",
        )
        for scheme, credentials in ensemble.auths
        if scheme == "digest"
        for user in (credentials.partition(":")[0],)
    ]
    kept = set()
    for scheme, name, bits in ensemble.acls or (("auth", "", _ALL),):
        kept |= {(*one, bits) for one in proven} if scheme == "auth" else {(scheme, name, bits)}
    return frozenset(kept)


def _entries(text: str) -> list[str]:
    return [entry for part in _resolve(text).split(",") if (entry := part.strip())]


def _resolve(text: str) -> str:
    """The value, or what is in the file that `@FILE` names."""
    if not text.startswith("@"):
        return text
    try:
        with Path(text[1:]).open("rb") as file:
            return file.read(_MAX_FILE_BYTES).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise errors.InvalidConfiguration(f"{text[1:]} cannot be read: {error}") from error


class Session:
    """A connection to ZooKeeper. Methods raise NoZooKeeper, or ServiceFailed for a refusal."""

    def __init__(self, ensemble: Ensemble, on_state: Callable[[str], None] | None = None) -> None:
        """Connects. `on_state` is told CONNECTED, SUSPENDED or LOST, on kazoo's threads."""
        try:
            from kazoo.client import KazooClient
            from kazoo.handlers.threading import KazooTimeoutError
            from kazoo.security import ACL, CREATOR_ALL_ACL, Id
        except ImportError as error:
            raise errors.InvalidConfiguration(
                "ZooKeeper needs kazoo: pip install 'howdah[zookeeper]'"
            ) from error
        self._kept_acls = kept_acls(ensemble)
        acls = [ACL(bits, Id(scheme, name)) for scheme, name, bits in ensemble.acls]
        self._timeout_s = ensemble.session_timeout_s
        self._client = KazooClient(
            hosts=ensemble.servers,
            timeout=ensemble.session_timeout_s,
            default_acl=acls or CREATOR_ALL_ACL,
            auth_data=list(ensemble.auths),
            connection_retry={"max_tries": -1, "delay": 0.05, "max_delay": 1.0},
            command_retry={"max_tries": ensemble.tries, "delay": 0.05, "max_delay": 1.0},
        )
        self._login_failure: errors.HowdahError | None = None
        self._is_proven = self._client.handler.event_object()
        if ensemble.mechanism is None:
            self._is_proven.set()
        else:
            self._log_in_by(ensemble.mechanism)
        if on_state is not None:
            self._client.add_listener(lambda state: on_state(str(state)))
        try:
            self._client.start(timeout=ensemble.session_timeout_s)
            # To kazoo a connection is one before it is proven.
            if not self._is_proven.wait(ensemble.session_timeout_s):
                raise KazooTimeoutError("there is no login by SASL")
        except KazooTimeoutError as error:
            self.close()
            if self._login_failure is not None:
                raise self._login_failure from error
            raise NoZooKeeper(
                f"no ZooKeeper server answered within {ensemble.session_timeout_s:g} s: "
                f"{ensemble.key} = {ensemble.servers}"
            ) from error
        except Exception:
            # Whatever it is, the threads that kazoo has begun must not go on for nobody.
            self.close()
            raise

    def _log_in_by(self, mechanism: ProvenBy) -> None:
        """Have kazoo prove each connection that it makes."""
        connection = self._client._connection
        wanted = ("_authenticate_with_sasl", "sasl_options", "_read", "_write", "_socket")
        missing = [name for name in wanted if not hasattr(connection, name)]
        if missing:
            self._client.close()
            raise errors.InvalidConfiguration(
                f"this version of kazoo has no {', '.join(missing)}, so there is no login by SASL: "
                "pip install 'howdah[zookeeper]'"
            )
        connection.sasl_options = {}
        connection._authenticate_with_sasl = lambda host, timeout_s: self._log_in(
            mechanism, host, timeout_s
        )

    def _log_in(self, mechanism: ProvenBy, host: str, timeout_s: float) -> None:
        """On kazoo's thread, over a connection that carries nothing else until this returns."""
        from kazoo.exceptions import ConnectionDropped

        connection = self._client._connection
        try:
            exchange = SaslExchange(mechanism(host, str(connection._socket.getpeername()[0])))
            request = exchange.begin()
            while not exchange.is_done:
                connection._write(request, timeout_s)
                length = length_of(connection._read(LENGTH_BYTES, timeout_s))
                request = exchange.receive(connection._read(length, timeout_s))
        except errors.HowdahError as error:
            self._login_failure = error
            # Which has kazoo try again: another server, or this one when it is well.
            raise ConnectionDropped(f"no login by SASL: {error}") from error
        except ConnectionDropped:
            self._login_failure = errors.AuthenticationFailed(
                f"ZooKeeper at {host} ended the connection in the middle of the login by SASL: its "
                "log has the reason"
            )
            raise
        self._login_failure = None
        self._is_proven.set()

    @property
    def is_connected(self) -> bool:
        return str(self._client.state) == "CONNECTED"

    @property
    def session_id(self) -> int | None:
        """Which session it is at the server."""
        known = self._client.client_id
        return None if known is None else int(known[0])

    def create(self, path: str, data: bytes, *, ephemeral: bool = False) -> bool:
        """Make a znode; False if it is there."""
        from kazoo.exceptions import NodeExistsError

        try:
            self._call(self._client.create, path, data, ephemeral=ephemeral)
        except NodeExistsError:
            return False
        return True

    def owner(self, path: str, watch: Callable[[Any], None] | None = None) -> int | None:
        """The session that made an ephemeral znode, which is watched; None if there is none."""
        stat = self._call(self._client.exists, path, watch=watch)
        return None if stat is None else int(stat.ephemeralOwner)

    def read(self, path: str) -> Znode | None:
        """What is in a znode, and its version; None if there is none."""
        from kazoo.exceptions import NoNodeError

        try:
            data, stat = self._call(self._client.get, path)
        except NoNodeError:
            return None
        return Znode(bytes(data), int(stat.version))

    def read_all(self, paths: Sequence[str]) -> list[Znode | None]:
        """What is in several znodes, in their order; None for one that is not there."""
        found = []
        for start in range(0, len(paths), _AT_ONCE):
            found += self._call(self._contents, paths[start : start + _AT_ONCE])
        return found

    def write(self, path: str, data: bytes, version: int) -> None:
        """Replace what is in a znode of this version."""
        self._call(self._client.set, path, data, version=version)

    def exchange(self, path: str, data: bytes, version: int) -> bool:
        """Replace what is in a znode of this version; False if it has another one by now."""
        from kazoo.exceptions import BadVersionError

        try:
            self.write(path, data, version)
        except errors.ServiceFailed as error:
            if isinstance(error.__cause__, BadVersionError):
                return False
            raise
        return True

    def replace(self, path: str, data: bytes) -> bool:
        """Put something else into a znode, of whatever version; False if there is none."""
        from kazoo.exceptions import NoNodeError

        try:
            self._call(self._client.set, path, data)
        except NoNodeError:
            return False
        return True

    def discard(self, path: str) -> bool:
        """Remove a znode of whatever version; False if there is none."""
        from kazoo.exceptions import NoNodeError

        try:
            self._call(self._client.delete, path)
        except NoNodeError:
            return False
        return True

    def remove(self, path: str, version: int = -1, *, recursive: bool = False) -> None:
        """Remove a znode of this version; -1 is any."""
        self._call(self._client.delete, path, version=version, recursive=recursive)

    def children(self, path: str) -> list[str]:
        """The names of what is below a znode; none where it is not there itself."""
        from kazoo.exceptions import NoNodeError

        try:
            return [str(name) for name in self._call(self._client.get_children, path)]
        except NoNodeError:
            return []

    def count_children(self, path: str) -> int:
        """How many there are below a znode; none where it is not there itself."""
        stat = self._call(self._client.exists, path)
        return 0 if stat is None else int(stat.numChildren)

    def exists(self, path: str) -> bool:
        return self._call(self._client.exists, path) is not None

    def make_directory(self, path: str) -> None:
        """Make a znode, and those above it; give them the ACL of the settings."""
        parts = path.strip("/").split("/")
        for depth in range(1, len(parts) + 1):
            each = "/" + "/".join(parts[:depth])
            if not self.create(each, b""):
                self.protect([each])

    def unprotected(self, paths: Iterable[str]) -> dict[str, int]:
        """Those znodes that have another ACL than that of the settings, with its version. One that
        is not there is none of them."""
        found = {}
        each = list(paths)
        for start in range(0, len(each), _AT_ONCE):
            some = each[start : start + _AT_ONCE]
            for path, got in zip(some, self._call(self._acls, some), strict=True):
                if got is not None and got[0] != self._kept_acls:
                    found[path] = got[1]
        return found

    def protect(self, paths: Iterable[str]) -> list[str]:
        """Give znodes the ACL of the settings; those that had another one."""
        from kazoo.exceptions import NoNodeError

        changed = []
        for path, version in self.unprotected(paths).items():
            try:
                self._call(self._client.set_acls, path, self._client.default_acl, version=version)
            except NoNodeError:
                continue  # Removed meanwhile.
            changed.append(path)
        return changed

    def _acls(self, paths: list[str]) -> list[tuple[frozenset[tuple[str, str, int]], int] | None]:
        """Asked for all at once, waited for one by one."""
        from kazoo.exceptions import NoNodeError

        asked = [self._client.get_acls_async(path) for path in paths]
        found: list[tuple[frozenset[tuple[str, str, int]], int] | None] = []
        for one in asked:
            try:
                acls, stat = one.get(timeout=self._timeout_s)
            except NoNodeError:
                found.append(None)
            else:
                kept = frozenset((acl.id.scheme, acl.id.id, acl.perms) for acl in acls)
                found.append((kept, int(stat.aversion)))
        return found

    def _contents(self, paths: Sequence[str]) -> list[Znode | None]:
        """Asked for all at once, waited for one by one."""
        from kazoo.exceptions import NoNodeError

        asked = [self._client.get_async(path) for path in paths]
        found: list[Znode | None] = []
        for one in asked:
            try:
                data, stat = one.get(timeout=self._timeout_s)
            except NoNodeError:
                found.append(None)
            else:
                found.append(Znode(bytes(data), int(stat.version)))
        return found

    def close(self) -> None:
        """End the session: what it has made ephemeral goes."""
        self._client.stop()
        self._client.close()

    def _call(self, method: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        from kazoo.exceptions import (
            ConnectionLoss,
            KazooException,
            NodeExistsError,
            NoNodeError,
            SessionExpiredError,
        )
        from kazoo.handlers.threading import KazooTimeoutError
        from kazoo.retry import RetryFailedError

        try:
            return self._client.retry(method, *arguments, **options)
        except (NodeExistsError, NoNodeError):
            raise
        except (ConnectionLoss, SessionExpiredError, RetryFailedError, KazooTimeoutError) as error:
            reason = self._login_failure or repr(error)
            raise NoZooKeeper(f"the connection to ZooKeeper was lost: {reason}") from error
        except KazooException as error:
            raise errors.ServiceFailed(
                f"ZooKeeper refused {arguments[0] if arguments else method}: {error!r}"
            ) from error
