"""Whether what was committed becomes durable (pure).

A disk that fails raises an error, and is dropped. One that hangs says nothing: answers wait for
the log, and everything else goes on, so that nobody but the callers would notice. An edit that is
not durable after `STALL_MS` is said to stall: pages, `/ready` and the controller's question for
health say so, and another namenode may become active, where there is one.
"""

from __future__ import annotations

from typing import Final

from howdah.namenode.ha.watched_time import WatchedTime

STALL_MS: Final = 10_000


class StalledLog:
    """The log of one namenode, looked at now and then. Times are of a monotonic clock."""

    def __init__(self) -> None:
        self._waits_for: int | None = None
        self._waited = WatchedTime()
        self.trouble = ""
        """For how long the log has not moved; empty while it does, or has nothing to do."""

    def look(self, last_txid: int, durable_txid: int, now_ms: int) -> bool:
        """What was committed last, and what is durable. True when `trouble` is new."""
        was_stalled = bool(self.trouble)
        self.trouble = ""
        if durable_txid >= last_txid:
            self.closed()
            return False
        if self._waits_for is None or durable_txid >= self._waits_for:
            self._waits_for = durable_txid + 1
            self._waited.reset()
        stalled_ms = self._waited.look(now_ms)
        if stalled_ms >= STALL_MS:
            self.trouble = (
                f"transaction {self._waits_for} is not durable after {stalled_ms / 1000:.0f} s: a "
                "disk of the edits directories, or a majority of the journal nodes, hangs"
            )
        return bool(self.trouble) and not was_stalled

    def closed(self) -> None:
        """Nothing is written now: nothing stalls."""
        self._waits_for = None
        self._waited.reset()
        self.trouble = ""
