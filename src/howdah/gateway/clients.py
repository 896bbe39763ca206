"""The clients of a gateway, one for each user (shell).

A client is made at a user's first request, and serves all of that user's requests. One that has
not been used for a while is closed; so is the one that was not used for longest, where there are
more than `MOST`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final, Generic, TypeVar

from howdah import errors
from howdah.fs.api import FileSystem
from howdah.fs.status import FsStatistics
from howdah.runtime import unexpected_errors

log = logging.getLogger(__name__)

MOST: Final = 256
T = TypeVar("T", bound=FileSystem)


class _Client(Generic[T]):
    def __init__(self, user: str, fs: T) -> None:
        self.user = user
        self.fs = fs
        self.users = 0
        self.idle_since_s = 0.0


class Clients(Generic[T]):
    """Keeps a client for each user. Thread-safe."""

    def __init__(
        self,
        make: Callable[[str], T],
        idle_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._make = make
        self._idle_s = idle_s
        self._clock = clock
        self._lock = threading.Lock()
        self._clients: dict[str, _Client[T]] = {}
        self._moved = [0, 0]
        """Bytes that clients which are gone have read and written."""

    @contextmanager
    def of(self, user: str) -> Iterator[T]:
        """The user's client, which is not closed meanwhile."""
        with self._lock:
            client = self._clients.get(user)
            if client is None:
                client = self._clients[user] = _Client(user, self._make(user))
            client.users += 1
            gone = self._too_old()
        try:
            _close_all(gone)
            yield client.fs
        finally:
            with self._lock:
                client.users -= 1
                client.idle_since_s = self._clock()

    def _too_old(self) -> list[_Client[T]]:
        """Take out the clients that have to go, and return them; with the lock held."""
        idle = sorted(
            (client.idle_since_s, user)
            for user, client in self._clients.items()
            if not client.users
        )
        now_s = self._clock()
        surplus = len(self._clients) - MOST
        return [
            self._taken_out(user)
            for number, (since_s, user) in enumerate(idle)
            if number < surplus or now_s - since_s > self._idle_s
        ]

    def close(self) -> None:
        with self._lock:
            gone = [self._taken_out(user) for user in list(self._clients)]
        _close_all(gone)

    def _taken_out(self, user: str) -> _Client[T]:
        """Take a client out, with the lock held, so that what it has moved is always counted."""
        client = self._clients[user]
        statistics = _statistics(client.fs)
        del self._clients[user]
        self._moved[0] += statistics.bytes_read
        self._moved[1] += statistics.bytes_written
        return client

    def __len__(self) -> int:
        return len(self._clients)

    def moved_bytes(self) -> tuple[int, int]:
        """Return the bytes that were read and written, by all clients that there were."""
        with self._lock:
            statistics = [_statistics(client.fs) for client in self._clients.values()]
            read_bytes, written_bytes = self._moved
        return (
            read_bytes + sum(counts.bytes_read for counts in statistics),
            written_bytes + sum(counts.bytes_written for counts in statistics),
        )


def _statistics(fs: FileSystem) -> FsStatistics:
    """What a client has moved; nothing where its filesystem does not count."""
    try:
        return fs.statistics()
    except errors.UnsupportedOperation:
        return FsStatistics()


def _close_all(clients: Iterable[_Client[T]]) -> None:
    """Close them all. What one of them cannot end in order is its user's, not of whoever happens
    to ask next."""
    for client in clients:
        try:
            client.fs.close()
        except (errors.HowdahError, OSError) as error:
            log.warning("the idle client of %s is not closed in order: %s", client.user, error)
        except Exception as error:  # noqa: BLE001 - the others are to be closed
            unexpected_errors.note("closing an idle client", error, "it is left as it is")
