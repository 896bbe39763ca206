"""Records in ZooKeeper that routers share (shell). Hadoop: StateStoreZooKeeperImpl.

    <parent>/MountTable/0SLASH0data     a znode for each record
    <parent>/DisabledNameservice/east

One session serves all calls, and comes back by itself when its connection breaks.
"""

from __future__ import annotations

import contextlib
import errno
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from howdah import errors
from howdah.protocol.zookeeper import Ensemble, Session
from howdah.router.store.state_store import MOST_BYTES, damaged


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
        with self._connected() as session:
            for kind in kinds:
                session.make_directory(f"{self._place.parent}/{kind}")

    def read(self, kind: str) -> Iterator[tuple[str, bytes]]:
        directory = f"{self._place.parent}/{kind}"
        with self._connected() as session:
            names = sorted(session.children(directory))
            if not names and not session.exists(directory):
                # Else a table that somebody has lost would be an empty one.
                raise OSError(errno.ENOENT, "the znode of these records is gone", directory)
            znodes = [(name, session.read(self._path(kind, name))) for name in names]
        for name, znode in znodes:
            if znode is None:
                continue  # removed meanwhile
            yield name, self._checked(kind, name, znode.content)

    def names(self, kind: str) -> list[str]:
        with self._connected() as session:
            return sorted(session.children(f"{self._place.parent}/{kind}"))

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
