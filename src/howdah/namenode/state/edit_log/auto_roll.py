"""When the namenode rolls its log without being asked (pure). Hadoop:
FSNamesystem.NameNodeEditLogRoller.

A checkpoint rolls the log. Where no checkpoint is made for long, the segment grows, and so
does the time to read it at a start; then the namenode rolls the log.
"""

from __future__ import annotations


class AutoRoll:
    """Decides when a segment is long enough."""

    def __init__(self, threshold: float, interval_ms: int, now_ms: int) -> None:
        """`threshold` is a number of edits in one segment; it is checked every `interval_ms`."""
        self._threshold = threshold
        self._interval_ms = interval_ms
        self._next_ms = now_ms + interval_ms

    def is_due(self, edits_in_segment: int, now_ms: int) -> bool:
        """Whether to roll now."""
        if now_ms < self._next_ms:
            return False
        self._next_ms = now_ms + self._interval_ms
        return edits_in_segment > self._threshold
