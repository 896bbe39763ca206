"""The audit log of a key server (shell: the clock): who made which call with which key.

Each open of a file in an encryption zone is a call, and a line takes as long as the rest of it. So
calls about keys of files share lines, as in Hadoop's log (KMSAudit): the first one of a user with a
key has its line at once, and what follows within a window is counted in one at its end. Refusals
and all other calls have a line each.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

log = logging.getLogger("kmsaudit")

_MOST_COUNTED: Final = 10_000
"""Of users, keys and operations that are counted at a time."""
_Call = tuple[str, str, str]
"""Operation, key and user."""


@dataclass(slots=True)
class _Counted:
    since_ms: int
    calls: int = 0
    """Those that no line has said."""


def note(outcome: str, operation: str, key: str, user: str, more: str = "") -> None:
    """Write a line about one call."""
    log.info("%s[op=%s, key=%s, user=%s] %s", outcome, operation, _in_one_line(key), user, more)


class CallAudit:
    """Writes the lines of one server. Thread-safe."""

    def __init__(
        self,
        window_ms: int = 0,
        now_ms: Callable[[], int] = lambda: time.monotonic_ns() // 1_000_000,
    ) -> None:
        """With a window of 0 each call has its line."""
        self._window_ms = window_ms
        self._now_ms = now_ms
        self._lock = threading.Lock()
        self._counted: dict[_Call, _Counted] = {}

    def note_frequent(self, operation: str, key: str, user: str) -> None:
        """Note a call that was allowed, of a kind that comes often."""
        call = (operation, key, user)
        with self._lock:
            counted = self._counted.get(call)
            if counted is not None:
                counted.calls += 1
                return
            if self._window_ms:
                if len(self._counted) >= _MOST_COUNTED:
                    self._write(list(self._counted), self._now_ms())
                self._counted[call] = _Counted(self._now_ms())
        _write_counted(call, 1, 0)

    def note_refused(self, operation: str, key: str, user: str) -> None:
        """Note a call that was refused, behind those that were allowed before."""
        with self._lock:
            now_ms = self._now_ms()
            self._write([call for call in self._counted if call[2] == user], now_ms)
        note("UNAUTHORIZED", operation, key, user)

    def write_due(self) -> None:
        """Write the lines of windows that are over."""
        with self._lock:
            now_ms = self._now_ms()
            until_ms = now_ms - self._window_ms
            over = [call for call, one in self._counted.items() if one.since_ms <= until_ms]
            self._write(over, now_ms)

    def write_all(self) -> None:
        """Write what was counted, at the end of a server."""
        with self._lock:
            self._write(list(self._counted), self._now_ms())

    def _write(self, calls: list[_Call], now_ms: int) -> None:
        for call in calls:
            counted = self._counted.pop(call)
            if counted.calls:
                _write_counted(call, counted.calls, now_ms - counted.since_ms)


def _write_counted(call: _Call, calls: int, interval_ms: int) -> None:
    operation, key, user = call
    log.info(
        "OK[op=%s, key=%s, user=%s, accessCount=%d, interval=%dms] ",
        operation,
        _in_one_line(key),
        user,
        calls,
        interval_ms,
    )


def _in_one_line(key: str) -> str:
    """A name that a user made up, in one line."""
    return key if key.isprintable() else ascii(key)
