"""As whom the filesystem is called for a process that uses the mount (shell).

A mount for one user calls it as that user. A mount for all users of the machine
(`--allow-other`) calls it as the user who asks, so that permissions are those of the filesystem:
under the own name for another one, where the cluster lets it (`hadoop.proxyuser.*`), else as the
user, whom SIMPLE authentication believes.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final, Protocol

from howdah.fs.api import FileSystem
from howdah.gateway.clients import Clients
from howdah.mount.failures import Refused

IDLE_S: Final = 600.0
"""How long a client is kept of which nobody asks anything."""


class Callers(Protocol):
    """Whose filesystem serves whom."""

    @property
    def are_many(self) -> bool:
        """Whether different users ask."""

    def of(self, uid: int) -> AbstractContextManager[FileSystem]:
        """The filesystem, as the user with this number sees it. Raises Refused."""

    def close(self) -> None: ...


class OneCaller:
    """Everybody who may ask is the one user who has mounted it."""

    are_many: Final = False

    def __init__(self, fs: FileSystem) -> None:
        """The filesystem belongs to this from here on."""
        self._fs = fs

    @contextmanager
    def of(self, uid: int) -> Iterator[FileSystem]:
        yield self._fs

    def close(self) -> None:
        self._fs.close()


class EachCaller:
    """Whoever asks is asked for."""

    are_many: Final = True

    def __init__(
        self, connect: Callable[[str], FileSystem], user_of: Callable[[int], str | None]
    ) -> None:
        self._clients: Clients[FileSystem] = Clients(connect, IDLE_S)
        self._user_of = user_of

    @contextmanager
    def of(self, uid: int) -> Iterator[FileSystem]:
        user = self._user_of(uid)
        if user is None:
            raise Refused(errno.EACCES, f"user {uid} has no name on this machine")
        with self._clients.of(user) as fs:
            yield fs

    def close(self) -> None:
        self._clients.close()
