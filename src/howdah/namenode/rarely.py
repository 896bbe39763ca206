"""What would be said again and again is said once in a while (pure)."""

from __future__ import annotations


class Rarely:
    """Lets one of many through, at most one in `interval_ms`."""

    def __init__(self, interval_ms: int) -> None:
        self._interval_ms = interval_ms
        self._next_ms: int | None = None
        self._kept_back = 0

    def due(self, now_ms: int) -> int | None:
        """How many were kept back since the last one that was let through, or None: this
        one is kept back, too."""
        if self._next_ms is not None and now_ms < self._next_ms:
            self._kept_back += 1
            return None
        self._next_ms = now_ms + self._interval_ms
        kept_back, self._kept_back = self._kept_back, 0
        return kept_back
