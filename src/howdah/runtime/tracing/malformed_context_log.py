"""The log line about a context that cannot be understood (shell: it reads a clock).

Whoever sends such contexts sends one with each call. So one line is written a minute, with the
first bytes of the latest one and how many there were.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Final

log = logging.getLogger(__name__)

EVERY_S: Final = 60.0
_SHOWN_BYTES: Final = 24


class Foreign:
    """Counts contexts that were ignored, and says so now and then."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next_s = float("-inf")
        self._since = 0

    def note(self, what: str, data: bytes, why: str) -> None:
        """`what` came with a context that is ignored."""
        with self._lock:
            self._since += 1
            now_s = time.monotonic()
            if now_s < self._next_s:
                return
            self._next_s = now_s + EVERY_S
            count, self._since = self._since, 0
        log.warning(
            "%.100r came with a trace's context that is ignored, and is served without it: %s "
            "(%d bytes, beginning with %r; %d since the last such line)",
            what,
            why,
            len(data),
            data[:_SHOWN_BYTES],
            count,
        )
