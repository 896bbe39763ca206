"""Names of users and groups, and their numbers on this machine (shell: asks the system).

HDFS knows names, the kernel numbers. A name without an account here belongs to nobody. The
machine may ask a directory service, which takes time: what it said counts for a while.
"""

from __future__ import annotations

import grp
import pwd
import threading
import time
from collections.abc import Callable
from typing import Final, Generic, TypeVar

NOBODY: Final = 65534
"""The number of `nobody` and of `nogroup`, as the kernel has them for what it cannot show."""
KNOWN_FOR_S: Final = 300.0
_MOST: Final = 4096

K = TypeVar("K")
V = TypeVar("V")


class _Known(Generic[K, V]):
    """Remembers answers for a while, and not too many."""

    def __init__(self, ask: Callable[[K], V], clock: Callable[[], float]) -> None:
        self._ask = ask
        self._clock = clock
        self._lock = threading.Lock()
        self._answers: dict[K, tuple[float, V]] = {}

    def get(self, key: K) -> V:
        now_s = self._clock()
        found = self._answers.get(key)
        if found is not None and found[0] > now_s:
            return found[1]
        answer = self._ask(key)
        with self._lock:
            if len(self._answers) >= _MOST:
                self._answers.clear()
            self._answers[key] = (now_s + KNOWN_FOR_S, answer)
        return answer


class Accounts:
    """Thread-safe."""

    def __init__(
        self,
        own: tuple[str, int] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`own`: as whom the filesystem knows the user who mounts it, and that user's number here,
        where both may differ (`HADOOP_USER_NAME`, Kerberos)."""
        self._own = own
        self._uids = _Known(_uid_of, clock)
        self._gids = _Known(_gid_of, clock)
        self._users = _Known(_user_of, clock)
        self._groups = _Known(_group_of, clock)

    def uid(self, user: str) -> int:
        if self._own is not None and user == self._own[0]:
            return self._own[1]
        return self._uids.get(user)

    def gid(self, group: str) -> int:
        return self._gids.get(group)

    def user(self, uid: int) -> str | None:
        """None for a number without a name."""
        if self._own is not None and uid == self._own[1]:
            return self._own[0]
        return self._users.get(uid)

    def group(self, gid: int) -> str | None:
        """None for a number without a name."""
        return self._groups.get(gid)


def _uid_of(name: str) -> int:
    try:
        return pwd.getpwnam(name).pw_uid
    except (KeyError, ValueError):
        return NOBODY


def _gid_of(name: str) -> int:
    try:
        return grp.getgrnam(name).gr_gid
    except (KeyError, ValueError):
        return NOBODY


def _user_of(uid: int) -> str | None:
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, ValueError, OverflowError):
        return None


def _group_of(gid: int) -> str | None:
    try:
        return grp.getgrgid(gid).gr_name
    except (KeyError, ValueError, OverflowError):
        return None
