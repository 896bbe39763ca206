"""Records in ZooKeeper that routers share (shell). Hadoop: StateStoreZooKeeperImpl.

    <parent>/MountTable/0SLASH0data     a znode for each record
    <parent>/DisabledNameservice/east

One session serves all calls, and comes back by itself when its connection breaks.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from howdah import errors
from howdah.protocol.zookeeper import Ensemble, Session
from howdah.router.store.state_store import MOST_BYTES, PRIVATE, damaged

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ZooKeeperPlace:
    """Where the records are."""

    ensemble: Ensemble
    parent: str
    """The znode above all of them."""


class ZooKeeperRecords:
    """Keeps the records of a router in ZooKeeper; see `state_store.Records`."""

    def __init__(self, place: ZooKeeperPlace) -> None:
        self._place = place
        self._lock = threading.Lock()
        self._session: Session | None = None

    @property
    def location(self) -> str:
        return f"{self._place.parent} at ZooKeeper {self._place.ensemble.servers}"

    def prepare(self, kinds: Iterable[str]) -> None:
        """Raises PermissionError for records of a private kind that strangers may have put there:
        whoever has planted a master key can be anybody."""
        with self._connected() as session:
            directories = {kind: f"{self._place.parent}/{kind}" for kind in kinds}
            # Before anything is protected: what is refused now is to be refused at the next start.
            for kind, directory in directories.items():
                if kind in PRIVATE and session.exists(directory):
                    self._check_private(session, directory)
            for kind, directory in directories.items():
                session.make_directory(directory)
                if kind in PRIVATE:
                    self._check_private(session, directory)  # Made by somebody else meanwhile.
                    continue
                changed = session.protect(_below(session, directory))
                if changed:
                    log.warning(
                        "%s of %s had another ACL than that of the configuration, and have this "
                        "one now. Others may have changed them before: look at them",
                        f"{len(changed)} records",
                        directory,
                    )

    def _check_private(self, session: Session, directory: str) -> None:
        # Who could write higher up could take away no znode that has others below it.
        places = [self._place.parent, directory, *_below(session, directory)]
        strange = sorted(session.unprotected(places))
        if strange:
            raise PermissionError(
                errno.EACCES,
                f"it has another ACL than that of the configuration ({len(strange)} znodes have). "
                "Whoever could write there may have planted keys by which they can be anybody. "
                f"Remove {directory} with all below it (deleteall in zkCli.sh), which ends the "
                "delegation tokens of the routers; or, if nobody else could write there, give all "
                "of it the new ACL (setAcl -R)",
                strange[0],
            )

    def read(self, kind: str) -> Iterator[tuple[str, bytes]]:
        with self._connected() as session:
            names = self._names(session, kind)
            znodes = [(name, session.read(self._path(kind, name))) for name in names]
        for name, znode in znodes:
            if znode is None:
                continue  # removed meanwhile
            yield name, self._checked(kind, name, znode.content)

    def names(self, kind: str) -> list[str]:
        with self._connected() as session:
            return self._names(session, kind)

    def _names(self, session: Session, kind: str) -> list[str]:
        directory = f"{self._place.parent}/{kind}"
        names = sorted(session.children(directory))
        if not names and not session.exists(directory):
            # Else a table that somebody has lost would be an empty one.
            raise OSError(errno.ENOENT, "the znode of these records is gone", directory)
        return names

    def get(self, kind: str, name: str) -> bytes | None:
        with self._connected() as session:
            znode = session.read(self._path(kind, name))
        return None if znode is None else self._checked(kind, name, znode.content)

    def _checked(self, kind: str, name: str, content: bytes) -> bytes:
        if len(content) > MOST_BYTES:
            raise damaged(self.location, kind, name, f"it is larger than {MOST_BYTES} bytes")
        return content

    def create(self, kind: str, name: str, content: bytes) -> bool:
        with self._connected() as session:
            return session.create(self._path(kind, name), content)

    def replace(self, kind: str, name: str, content: bytes) -> bool:
        with self._connected() as session:
            return session.replace(self._path(kind, name), content)

    def remove(self, kind: str, name: str) -> bool:
        with self._connected() as session:
            return session.discard(self._path(kind, name))

    def close(self) -> None:
        with self._lock:
            session, self._session = self._session, None
        if session is not None:
            session.close()

    def _path(self, kind: str, name: str) -> str:
        return f"{self._place.parent}/{kind}/{name}"

    @contextlib.contextmanager
    def _connected(self) -> Iterator[Session]:
        try:
            with self._lock:
                if self._session is None:
                    self._session = Session(self._place.ensemble)
                session = self._session
            yield session
        except errors.InvalidConfiguration:
            raise
        except errors.HowdahError as error:
            raise OSError(errno.EIO, str(error)) from error


def _below(session: Session, directory: str) -> list[str]:
    return [f"{directory}/{name}" for name in session.children(directory)]
