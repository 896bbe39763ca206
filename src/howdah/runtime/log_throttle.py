"""What would be said again and again is said once in a while (pure)."""

from __future__ import annotations


class LogThrottle:
    """Lets one of many through, at most one in `interval_ms`."""

    def __init__(self, interval_ms: int) -> None:
        self._interval_ms = interval_ms
        self._next_ms: int | None = None
        self._kept_back = 0

    def suppressed_count(self, now_ms: int) -> int | None:
        """How many were kept back since the last one that was let through, or None: this
        one is kept back, too."""
        if self._next_ms is not None and now_ms < self._next_ms:
            self._kept_back += 1
            return None
        self._next_ms = now_ms + self._interval_ms
        kept_back, self._kept_back = self._kept_back, 0
        return kept_back

    def is_over(self, now_ms: int) -> bool:
        """Whether the next one is let through."""
        return self._next_ms is None or now_ms >= self._next_ms


class LogThrottleBySubject:
    """Throttles each of several subjects, so that none hides what is said of another.

    Bounded: while `most` subjects have been spoken of within the interval, all further ones
    count as one.
    """

    def __init__(self, interval_ms: int, most: int = 1024) -> None:
        self._interval_ms = interval_ms
        self._most = most
        self._each: dict[str, LogThrottle] = {}
        self._others = LogThrottle(interval_ms)
        self._next_clearing_ms = 0

    def suppressed_count(self, subject: str, now_ms: int) -> int | None:
        """Return how many of this subject were kept back since the last one that was let through,
        or None: this one is kept back, too."""
        throttle = self._each.get(subject)
        if throttle is None:
            self._make_room(now_ms)
            if len(self._each) >= self._most:
                throttle = self._others
            else:
                throttle = self._each[subject] = LogThrottle(self._interval_ms)
        return throttle.suppressed_count(now_ms)

    def _make_room(self, now_ms: int) -> None:
        if len(self._each) < self._most or now_ms < self._next_clearing_ms:
            return
        # Once in a while, for all of them are looked at.
        self._next_clearing_ms = now_ms + self._interval_ms // 10
        self._each = {
            subject: throttle
            for subject, throttle in self._each.items()
            if not throttle.is_over(now_ms)
        }
