"""When the namenode ends a segment of its log by itself (pure).

A segment that nobody ends grows for ever, and so does the time to read it. A
checkpoint ends one; where none is made for long, this does.
"""

from __future__ import annotations


class AutoRoll:
    """Says when it is time."""

    def __init__(self, threshold: float, interval_ms: int, now_ms: int) -> None:
        """`threshold` is in edits of one segment; it is looked at every `interval_ms`."""
        self._threshold = threshold
        self._interval_ms = interval_ms
        self._next_ms = now_ms + interval_ms

    def is_due(self, edits_in_segment: int, now_ms: int) -> bool:
        if now_ms < self._next_ms:
            return False
        self._next_ms = now_ms + self._interval_ms
        return edits_in_segment > self._threshold
