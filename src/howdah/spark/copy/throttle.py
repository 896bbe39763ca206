"""Keeping a task below a rate of bytes (`-bandwidth`)."""

from __future__ import annotations

import time
from collections.abc import Callable


class Throttle:
    """Sleeps as long as more bytes were moved than the time since the start allows."""

    def __init__(
        self,
        bytes_per_s: float | None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._rate = bytes_per_s
        self._clock = clock
        self._sleep = sleep
        self._began_s = clock()
        self._moved_bytes = 0
        self.slept_s = 0.0

    def moved(self, count: int) -> None:
        """Account for bytes, and wait if they were too many."""
        if self._rate is None:
            return
        self._moved_bytes += count
        ahead_s = self._moved_bytes / self._rate - (self._clock() - self._began_s)
        if ahead_s > 0:
            self._sleep(ahead_s)
            self.slept_s += ahead_s
