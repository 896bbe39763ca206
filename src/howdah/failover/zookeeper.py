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
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.failover.security import zookeeper_mechanism
from howdah.failover.state.election import ElectionStatus, Listener
from howdah.failover.state.elector import Breadcrumb, Report
from howdah.protocol.zookeeper import Ensemble, NoZooKeeper, Session, parse_acls, parse_auths
from howdah.runtime import unexpected_errors
from howdah.runtime.secret_files import warn_of_named

log = logging.getLogger(__name__)

LOCK: Final = "ActiveStandbyElectorLock"
BREADCRUMB: Final = "ActiveBreadCrumb"
_RETRY_PAUSE_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class ZooKeeperSettings:
    """Where the election of a nameservice is."""

    ensemble: Ensemble
    directory: str
    """The znode of the nameservice."""

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
        acl, auth = keys.HA_ZOOKEEPER_ACL, keys.HA_ZOOKEEPER_AUTH
        warn_of_named(conf.get(auth), "the file of passwords for ZooKeeper", "log in by them")
        timeout_s = conf.get(keys.HA_ZOOKEEPER_SESSION_TIMEOUT_MS)
        acls = parse_acls(conf.get(acl), acl.name)
        ensemble = Ensemble(
            keys.HA_ZOOKEEPER_QUORUM.name,
            quorum,
            timeout_s,
            acls,
            parse_auths(conf.get(auth), auth.name),
            conf.get(keys.HA_FAILOVER_CONTROLLER_ACTIVE_STANDBY_ELECTOR_ZK_OP_RETRIES),
            zookeeper_mechanism(conf, acls, timeout_s),
        )
        return cls(ensemble, f"{parent}/{nameservice}")


class ZooKeeperElection:
    """Stands on ZooKeeper as one candidate; see `election.Election`."""

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
        znode = self._elected().read(self._breadcrumb_path)
        return None if znode is None else Breadcrumb(znode.content, znode.version)

    def write_breadcrumb(self, before: Breadcrumb | None) -> None:
        from kazoo.exceptions import NoNodeError

        session = self._elected()
        try:
            if before is not None:
                session.write(self._breadcrumb_path, self._content, before.version)
            elif not session.create(self._breadcrumb_path, self._content):
                raise errors.ServiceFailed("somebody else wrote the breadcrumb at the same time")
        except NoNodeError as error:
            # The candidate finds out whether it is the directory that was removed.
            raise errors.ServiceFailed("the breadcrumb was removed at the same time") from error

    def active_content(self) -> bytes | None:
        session = Session(self._settings.ensemble)
        try:
            znode = session.read(self._lock_path)
        finally:
            session.close()
        return None if znode is None else znode.content

    def standing(self) -> ElectionStatus:
        candidate, ensemble = self._candidate, self._settings.ensemble
        place = f"ZooKeeper at {ensemble.servers}, {self._settings.directory}"
        if candidate is None:
            return ElectionStatus(place, False, "it is no candidate, and has no session")
        session = candidate.session
        if session is None or not session.is_connected or session.session_id is None:
            return ElectionStatus(place, False, "it has no session: it tries to connect")
        said = f"session {session.session_id:#x}, which ends after {ensemble.session_timeout_s:g} s"
        return ElectionStatus(place, True, f"{said} of silence", candidate.seen)

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
        """A session that was lost came back as another one, and by now the breadcrumb may be that
        of our next candidacy. What was read while this session had the lock is not."""
        znode = session.read(self._breadcrumb_path)
        if znode is None or znode.content != self._content:
            return
        if session.owner(self._lock_path) != session.session_id:
            log.warning("the lock is lost: the breadcrumb stays, and the next active fences")
            return
        session.remove(self._breadcrumb_path, znode.version)


class _Candidacy:
    """Keeps one session, and the thread that looks and tries."""

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
        self.seen: bytes | None = None
        """What is in the lock, as it was looked at last."""
        self._thread = threading.Thread(target=self._run, name="ZooKeeper election", daemon=True)
        self._thread.start()

    def holds(self) -> bool:
        """Ask ZooKeeper: a process that was stopped for a while does not know by itself that its
        session is over."""
        session = self.session
        if session is None or not self._is_elected or self._ended.is_set():
            return False
        try:
            owner = session.owner(self._lock_path)
        except errors.HowdahError as error:
            log.warning("whether the election is still held is not known: %s", error)
            return False
        return owner is not None and owner == session.session_id and self._is_elected

    def end(self, at_the_end: Callable[[Session], None] | None) -> None:
        """Report nothing from now on; the session ends soon."""
        self._at_the_end = at_the_end
        self._ended.set()
        self._events.put("END")

    def join(self) -> None:
        """Wait until the session has ended."""
        self._thread.join(self._settings.ensemble.session_timeout_s)

    def _run(self) -> None:
        try:
            self._connect()
            while not self._ended.is_set() and self.session is not None:
                self._handle(self.session, self._events.get())
        except errors.HowdahError as error:
            self._failed(str(error))
        except Exception as error:  # noqa: BLE001 - a thread that ends unheard elects nobody
            unexpected_errors.note("the election on ZooKeeper", error, "the controller ends")
            self._failed(f"{type(error).__name__}: {error}")
        finally:
            self._withdraw()

    def _failed(self, reason: str) -> None:
        if not self._ended.is_set():
            self._on_failure(f"the election on ZooKeeper failed: {reason}")

    def _connect(self) -> None:
        """A session, however long that takes."""
        while not self._ended.is_set():
            try:
                self.session = Session(self._settings.ensemble, self._events.put)
            except (NoZooKeeper, errors.LoginFailed, errors.AuthenticationFailed) as error:
                # A login that worked at the start fails as long as there is no KDC, say.
                self._publish(Report.UNCERTAIN, str(error))
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
                    self._inspect(session)
                case "GONE":
                    if self._is_elected:
                        self._is_elected = False
                        self._publish(Report.UNCERTAIN, "the lock was removed")
                    self._try(session)
                case "SUSPENDED":
                    self._is_elected = False
                    self._publish(Report.UNCERTAIN, "the connection to ZooKeeper broke")
                case "LOST":
                    self._is_elected = False
                    self._publish(Report.UNCERTAIN, "the session with ZooKeeper was lost")
        except NoZooKeeper as error:
            # What comes next is an event: the connection is back, or the session is lost.
            self._is_elected = False
            self._publish(Report.UNCERTAIN, str(error))
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
        self._inspect(session)

    def _inspect(self, session: Session) -> None:
        owner = session.owner(self._lock_path, self._watch)
        if owner is None:
            self._try(session)
        elif owner == session.session_id:
            self.seen = self._content
            self._is_elected = True
            self._publish(Report.ELECTED, f"session {owner:#x} has the lock")
        else:
            self._is_elected = False
            self._publish(Report.NOT_ELECTED, f"session {owner:#x} has the lock")
            self._see(session)

    def _see(self, session: Session) -> None:
        try:
            znode = session.read(self._lock_path)
        except errors.ServiceFailed as error:
            # It may be kept from others. Who is active is for people only here.
            log.info("who has the lock cannot be read: %s", error)
            znode = None
        self.seen = None if znode is None else znode.content

    def _watch(self, event: Any) -> None:
        self._events.put("GONE" if event.type == "DELETED" else "LOOK")

    def _publish(self, report: Report, reason: str) -> None:
        if report is not self._told and not self._ended.is_set():
            self._told = report
            self._report(report, reason)

    def _withdraw(self) -> None:
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
    session = Session(settings.ensemble)
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
    session = Session(settings.ensemble)
    try:
        return session.exists(settings.directory)
    finally:
        session.close()
