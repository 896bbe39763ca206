"""How long a trouble lasts that somebody looks at (pure).

A process that was stopped, or a machine that slept, learns nothing between two looks: what it
waits for had no time to come, either. So the time between two looks counts for `MOST_STEP_MS`
at most.
"""

from __future__ import annotations

from typing import Final

MOST_STEP_MS: Final = 1_000
"""Looks come four times a second, and more rarely where the process is busy."""


class WatchedTime:
    """The time since the first look, without what nobody saw."""

    def __init__(self) -> None:
        self._last_ms: int | None = None
        self._passed_ms = 0

    def reset(self) -> None:
        """The trouble is over: the next look is the first one."""
        self._last_ms, self._passed_ms = None, 0

    def look(self, now_ms: int) -> int:
        """How long it lasts by now, in milliseconds."""
        if self._last_ms is not None:
            self._passed_ms += min(max(0, now_ms - self._last_ms), MOST_STEP_MS)
        self._last_ms = now_ms
        return self._passed_ms
