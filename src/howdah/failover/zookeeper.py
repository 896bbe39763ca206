"""The election on ZooKeeper, with Hadoop's znodes (shell).

Mirrors Hadoop's ActiveStandbyElector on the wire, so that Hadoop's controllers and ours stand
against each other:

    <parent>/<nameservice>/ActiveStandbyElectorLock   ephemeral: whoever made it is elected
    <parent>/<nameservice>/ActiveBreadCrumb           persistent: who may be active

A candidacy has a session of its own, which ends with it, and the lock with the session. What
happens to the session and to the lock is an event for one thread, which then looks, or tries:

Z1. It tries to make the lock. If that succeeds, it is elected.
Z2. If the lock is there, the session that made it decides: its own, and it is elected; another,
    and it is not. Either way it watches the lock.
Z3. When the lock goes, it is uncertain if it was elected, and goes on with Z1.
Z4. When the connection breaks, it is uncertain; when it is back, it goes on with Z2. When the
    session was lost, another begins, with Z1.

kazoo is imported when an election on ZooKeeper is made, and not before: `pip install
howdah[zookeeper]`.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from howdah import defects, errors, keys
from howdah.config import Configuration
from howdah.failover.election import Listener
from howdah.failover.elector import Breadcrumb, Report

log = logging.getLogger(__name__)

LOCK: Final = "ActiveStandbyElectorLock"
BREADCRUMB: Final = "ActiveBreadCrumb"
_PERMISSIONS: Final = {"r": 1, "w": 2, "c": 4, "d": 8, "a": 16}
_RETRY_PAUSE_S: Final = 0.1
_MAX_FILE_BYTES: Final = 64 * 1024


class NoZooKeeper(errors.Unreachable):
    """No ZooKeeper server of the quorum answers."""


@dataclass(frozen=True, slots=True)
class ZooKeeperSettings:
    """Where ZooKeeper is, and how it is used."""

    quorum: str
    session_timeout_s: float
    directory: str
    """The znode of the nameservice."""
    acl: str
    auth: str
    tries: int

    @classmethod
    def of(cls, conf: Configuration, nameservice: str) -> ZooKeeperSettings:
        """From a specialised configuration. Raises InvalidConfiguration."""
        quorum = conf.get(keys.HA_ZOOKEEPER_QUORUM)
        if not quorum:
            raise errors.InvalidConfiguration(f"{keys.HA_ZOOKEEPER_QUORUM.name} is not set")
        if conf.get(keys.DFS_HA_ZKFC_CLIENT_SSL_ENABLED):
            raise errors.InvalidConfiguration(
                f"{keys.DFS_HA_ZKFC_CLIENT_SSL_ENABLED.name} = true is not supported: howdah does "
                "not read Java's key stores"
            )
        parent = conf.get(keys.HA_ZOOKEEPER_PARENT_ZNODE).rstrip("/")
        if not parent.startswith("/") and parent:
            raise errors.InvalidConfiguration(
                f"{keys.HA_ZOOKEEPER_PARENT_ZNODE.name} = {parent} does not begin with /"
            )
        return cls(
            quorum,
            conf.get(keys.HA_ZOOKEEPER_SESSION_TIMEOUT_MS),
            f"{parent}/{nameservice}",
            _resolve(conf.get(keys.HA_ZOOKEEPER_ACL)),
            _resolve(conf.get(keys.HA_ZOOKEEPER_AUTH)),
            conf.get(keys.HA_FAILOVER_CONTROLLER_ACTIVE_STANDBY_ELECTOR_ZK_OP_RETRIES),
        )

    def acls(self) -> list[tuple[str, str, int]]:
        """Scheme, id and permissions of each entry. Raises InvalidConfiguration."""
        return parse_acls(self.acl)

    def auths(self) -> list[tuple[str, str]]:
        """Scheme and credentials of each entry. Raises InvalidConfiguration."""
        found = []
        for entry in filter(None, (part.strip() for part in self.auth.split(","))):
            scheme, colon, credentials = entry.partition(":")
            if not colon:
                # Not shown: it may be a password.
                raise errors.InvalidConfiguration(
                    f"an entry of {keys.HA_ZOOKEEPER_AUTH.name} is not scheme:credentials"
                )
            found.append((scheme, credentials))
        return found


def parse_acls(text: str) -> list[tuple[str, str, int]]:
    """Hadoop's `scheme:id:permissions,…`; the id may have colons."""
    found = []
    for entry in filter(None, (part.strip() for part in text.split(","))):
        scheme, first, rest = entry.partition(":")
        name, last, letters = rest.rpartition(":")
        if not first or not last or not letters or set(letters) - set(_PERMISSIONS):
            raise errors.InvalidConfiguration(
                f"{keys.HA_ZOOKEEPER_ACL.name}: {entry!r} is not scheme:id:permissions"
            )
        found.append((scheme, name, sum(_PERMISSIONS[letter] for letter in set(letters))))
    return found


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

    def __init__(
        self, settings: ZooKeeperSettings, on_state: Callable[[str], None] | None = None
    ) -> None:
        """Connects. `on_state` is told CONNECTED, SUSPENDED or LOST, on kazoo's threads."""
        try:
            from kazoo.client import KazooClient
            from kazoo.handlers.threading import KazooTimeoutError
            from kazoo.security import ACL, CREATOR_ALL_ACL, Id
        except ImportError as error:
            raise errors.InvalidConfiguration(
                "an election on ZooKeeper needs kazoo: pip install 'howdah[zookeeper]', or elect "
                f"on the journal nodes ({keys.HOWDAH_HA_ELECTION.name} = journal)"
            ) from error
        self._settings = settings
        acls = [ACL(bits, Id(scheme, name)) for scheme, name, bits in settings.acls()]
        self._client = KazooClient(
            hosts=settings.quorum,
            timeout=settings.session_timeout_s,
            default_acl=acls or CREATOR_ALL_ACL,
            auth_data=settings.auths(),
            connection_retry={"max_tries": -1, "delay": 0.05, "max_delay": 1.0},
            command_retry={"max_tries": settings.tries, "delay": 0.05, "max_delay": 1.0},
        )
        if on_state is not None:
            self._client.add_listener(lambda state: on_state(str(state)))
        try:
            self._client.start(timeout=settings.session_timeout_s)
        except KazooTimeoutError as error:
            self.close()
            raise NoZooKeeper(
                f"no ZooKeeper server answered within {settings.session_timeout_s:g} s: "
                f"{keys.HA_ZOOKEEPER_QUORUM.name} = {settings.quorum}"
            ) from error
        except Exception:
            self.close()
            raise

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

    def read(self, path: str) -> Breadcrumb | None:
        """What is in a znode, and its version; None if there is none."""
        from kazoo.exceptions import NoNodeError

        try:
            data, stat = self._call(self._client.get, path)
        except NoNodeError:
            return None
        return Breadcrumb(bytes(data), int(stat.version))

    def write(self, path: str, data: bytes, version: int) -> None:
        """Replace what is in a znode of this version."""
        self._call(self._client.set, path, data, version=version)

    def remove(self, path: str, version: int = -1, *, recursive: bool = False) -> None:
        """Remove a znode of this version; -1 is any."""
        self._call(self._client.delete, path, version=version, recursive=recursive)

    def exists(self, path: str) -> bool:
        return self._call(self._client.exists, path) is not None

    def make_directory(self, path: str) -> None:
        """Make a znode, and those above it; give them the ACL of the settings."""
        parts = path.strip("/").split("/")
        for depth in range(1, len(parts) + 1):
            each = "/" + "/".join(parts[:depth])
            if not self.create(each, b""):
                acls, stat = self._call(self._client.get_acls, each)
                if set(acls) != set(self._client.default_acl):
                    wanted = self._client.default_acl
                    self._call(self._client.set_acls, each, wanted, version=stat.aversion)

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
            raise NoZooKeeper(f"the connection to ZooKeeper was lost: {error!r}") from error
        except KazooException as error:
            raise errors.ServiceFailed(
                f"ZooKeeper refused {arguments[0] if arguments else method}: {error!r}"
            ) from error


class ZooKeeperElection:
    """One candidate on ZooKeeper; see `election.Election`."""

    def __init__(
        self, settings: ZooKeeperSettings, listener: Listener, on_failure: Callable[[str], None]
    ) -> None:
        """`on_failure` is told why this candidate cannot go on: ZooKeeper refuses it."""
        self._settings = settings
        self._listener = listener
        self._on_failure = on_failure
        self._lock_path = f"{settings.directory}/{LOCK}"
        self._breadcrumb_path = f"{settings.directory}/{BREADCRUMB}"
        self._candidate: _Candidacy | None = None
        self._content = b""

    def join(self, candidacy: int, content: bytes) -> None:
        self._content = content
        self._candidate = _Candidacy(
            self._settings,
            self._lock_path,
            content,
            lambda report, reason: self._listener(candidacy, report, reason),
            self._on_failure,
        )

    def quit(self, *, clears: bool) -> None:
        candidate, self._candidate = self._candidate, None
        if candidate is not None:
            candidate.end(self._clear if clears else None)

    def hasten(self) -> None:
        """ZooKeeper tells at once."""

    def holds(self) -> bool:
        candidate = self._candidate
        return candidate is not None and candidate.holds()

    def read_breadcrumb(self) -> Breadcrumb | None:
        return self._elected().read(self._breadcrumb_path)

    def write_breadcrumb(self, before: Breadcrumb | None) -> None:
        session = self._elected()
        if before is not None:
            session.write(self._breadcrumb_path, self._content, before.version)
        elif not session.create(self._breadcrumb_path, self._content):
            raise errors.ServiceFailed("somebody else wrote the breadcrumb at the same time")

    def active_content(self) -> bytes | None:
        session = Session(self._settings)
        try:
            found = session.read(self._lock_path)
        finally:
            session.close()
        return None if found is None else found.content

    def close(self) -> None:
        candidate, self._candidate = self._candidate, None
        if candidate is not None:
            candidate.end(None)
            candidate.join()

    def _elected(self) -> Session:
        candidate = self._candidate
        session = candidate.session if candidate is not None else None
        if candidate is None or session is None or not candidate.holds():
            raise errors.ServiceFailed("the election is not held any more")
        return session

    def _clear(self, session: Session) -> None:
        found = session.read(self._breadcrumb_path)
        if found is not None and found.content == self._content:
            session.remove(self._breadcrumb_path, found.version)


class _Candidacy:
    """One session, and the thread that looks and tries."""

    def __init__(
        self,
        settings: ZooKeeperSettings,
        lock_path: str,
        content: bytes,
        report: Callable[[Report, str], None],
        on_failure: Callable[[str], None],
    ) -> None:
        self._settings = settings
        self._lock_path = lock_path
        self._content = content
        self._report = report
        self._on_failure = on_failure
        self._events: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._at_the_end: Callable[[Session], None] | None = None
        self._is_elected = False
        self._told: Report | None = None
        self._ended = threading.Event()
        self.session: Session | None = None
        self._thread = threading.Thread(target=self._run, name="ZooKeeper election", daemon=True)
        self._thread.start()

    def holds(self) -> bool:
        """Asks ZooKeeper: a process that was stopped for a while does not know by itself that
        its session is over."""
        session = self.session
        if session is None or not self._is_elected or self._ended.is_set():
            return False
        try:
            found = session.owner(self._lock_path)
        except errors.HowdahError as error:
            log.warning("whether the election is still held is not known: %s", error)
            return False
        return found is not None and found == session.session_id and self._is_elected

    def end(self, at_the_end: Callable[[Session], None] | None) -> None:
        """Report nothing from now on; the session ends soon."""
        self._at_the_end = at_the_end
        self._ended.set()
        self._events.put("END")

    def join(self) -> None:
        """Wait until the session has ended."""
        self._thread.join(self._settings.session_timeout_s)

    def _run(self) -> None:
        try:
            self._connect()
            while not self._ended.is_set() and self.session is not None:
                self._handle(self.session, self._events.get())
        except errors.HowdahError as error:
            self._failed(str(error))
        except Exception as error:  # noqa: BLE001 - a thread that ends unheard elects nobody
            defects.note("the election on ZooKeeper", error, "the controller ends")
            self._failed(f"{type(error).__name__}: {error}")
        finally:
            self._leave()

    def _failed(self, reason: str) -> None:
        if not self._ended.is_set():
            self._on_failure(f"the election on ZooKeeper failed: {reason}")

    def _connect(self) -> None:
        """A session, however long that takes."""
        while not self._ended.is_set():
            try:
                self.session = Session(self._settings, self._events.put)
            except NoZooKeeper as error:
                self._tell(Report.UNCERTAIN, str(error))
                self._ended.wait(_RETRY_PAUSE_S)
            else:
                self._events.put("TRY")
                return

    def _handle(self, session: Session, event: str) -> None:
        try:
            match event:
                case "TRY":
                    self._try(session)
                case "LOOK" | "CONNECTED":
                    self._look(session)
                case "GONE":
                    if self._is_elected:
                        self._is_elected = False
                        self._tell(Report.UNCERTAIN, "the lock was removed")
                    self._try(session)
                case "SUSPENDED":
                    self._is_elected = False
                    self._tell(Report.UNCERTAIN, "the connection to ZooKeeper broke")
                case "LOST":
                    self._is_elected = False
                    self._tell(Report.UNCERTAIN, "the session with ZooKeeper was lost")
        except NoZooKeeper as error:
            # What comes next is an event: the connection is back, or the session is lost.
            self._is_elected = False
            self._tell(Report.UNCERTAIN, str(error))
            if session.is_connected:
                self._ended.wait(_RETRY_PAUSE_S)
                self._events.put("LOOK")

    def _try(self, session: Session) -> None:
        from kazoo.exceptions import NoNodeError

        try:
            session.create(self._lock_path, self._content, ephemeral=True)
        except NoNodeError as error:
            raise errors.ServiceFailed(
                f"{self._settings.directory} is not there: run `howdah zkfc -formatZK`"
            ) from error
        # Whether or not it was there: who made it, in this attempt or one whose answer was lost?
        self._look(session)

    def _look(self, session: Session) -> None:
        owner = session.owner(self._lock_path, self._watch)
        if owner is None:
            self._try(session)
        elif owner == session.session_id:
            self._is_elected = True
            self._tell(Report.ELECTED, f"session {owner:#x} has the lock")
        else:
            self._is_elected = False
            self._tell(Report.NOT_ELECTED, f"session {owner:#x} has the lock")

    def _watch(self, event: Any) -> None:
        self._events.put("GONE" if event.type == "DELETED" else "LOOK")

    def _tell(self, report: Report, reason: str) -> None:
        if report is not self._told and not self._ended.is_set():
            self._told = report
            self._report(report, reason)

    def _leave(self) -> None:
        session, self.session = self.session, None
        if session is None:
            return
        try:
            if self._at_the_end is not None:
                self._at_the_end(session)
        except errors.HowdahError as error:
            log.warning("the breadcrumb could not be cleared, the next active fences: %s", error)
        finally:
            session.close()


def format_znode(settings: ZooKeeperSettings, *, confirm: Callable[[], bool]) -> bool:
    """Make the znode of the nameservice, empty. If it is there, `confirm` decides; False: it
    stays as it is. Raises HowdahError."""
    session = Session(settings)
    try:
        if session.exists(settings.directory):
            if not confirm():
                return False
            session.remove(settings.directory, recursive=True)
        session.make_directory(settings.directory)
    finally:
        session.close()
    return True


def is_formatted(settings: ZooKeeperSettings) -> bool:
    """Whether the znode of the nameservice is there. Raises HowdahError."""
    session = Session(settings)
    try:
        return session.exists(settings.directory)
    finally:
        session.close()
