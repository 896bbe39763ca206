"""When an active namenode has lost the majority that stands behind it (pure; Q14).

An active that writes nothing learns from its heartbeats alone whether a majority of the journal
nodes still confirms it. When that ends, answers wait (`barrier`), and nobody who asks can tell an
active that is idle from one that is cut off. So the loss itself has a clock:

    since the lease ended       what changes
    --------------------------  ------------------------------------------------------------
    at once, or one lease       one WARNING names the nodes that are silent; pages and `/prom`
                                say so
    at once, or the patience    calls are refused with the reason: their clients ask elsewhere;
                                `/ready` and the controller's question for health say so
    the limit                   the process ends, as it does where an edit finds no majority

The first of the times is for nodes that are known to fail, as a dead process does; the second for
nodes that are slow, as a disk that hangs makes them. The limit is that of a write,
`dfs.qjournal.write-txns.timeout.ms`. It counts from when the end of the lease was seen, not from
when it was, and without the time in which nobody looked (`watched_time`): a machine that slept
finds its lease ended, and its nodes well.
"""

from __future__ import annotations

import enum

from howdah.namenode.ha.watched_time import WatchedTime
from howdah.namenode.journal.shared_log import Silence


class Change(enum.Enum):
    """What a look has found that was not so before."""

    NONE = enum.auto()
    LAPSED = enum.auto()
    """Worth a warning: `trouble` says of what."""
    HELD_AGAIN = enum.auto()
    OVER = enum.auto()
    """The process has to end."""


class LeaseWatch:
    """The lease of one namenode on the log that it shares. Times are those of its clock."""

    def __init__(self, *, lease_ms: int, patience_ms: int, limit_ms: int) -> None:
        self._lease_ms = lease_ms
        self._patience_ms = patience_ms
        self._limit_ms = limit_ms
        self._lapsed = WatchedTime()
        self.trouble = ""
        """Why nobody confirms that this namenode is the active one; empty while the lease
        holds."""
        self.refuses = False
        """Whether it is time to refuse calls, for the reason in `trouble`, and to let another
        namenode be the active one."""
        self.lapses = 0
        """How often the lease was lost."""

    def look(self, until_ms: int | None, silence: Silence | None, now_ms: int) -> Change:
        """`until_ms` is the end of the lease, None where there is none to lose; `silence` is what
        is known of the nodes."""
        if until_ms is None or now_ms < until_ms:
            return self._held()
        lapsed_ms = self._lapsed.look(now_ms)
        if lapsed_ms >= self._limit_ms:
            self.trouble = self._said(silence, lapsed_ms)
            self.refuses = True
            return Change.OVER
        is_certain = silence is not None and silence.is_certain
        if not self.trouble and not is_certain and lapsed_ms < self._lease_ms:
            return Change.NONE
        had_lapsed = bool(self.trouble)
        self.trouble = self._said(silence, lapsed_ms)
        self.refuses = self.refuses or is_certain or lapsed_ms >= self._patience_ms
        if had_lapsed:
            return Change.NONE
        self.lapses += 1
        return Change.LAPSED

    def _held(self) -> Change:
        had_lapsed = bool(self.trouble)
        self._lapsed.reset()
        self.trouble = ""
        self.refuses = False
        return Change.HELD_AGAIN if had_lapsed else Change.NONE

    def _said(self, silence: Silence | None, lapsed_ms: int) -> str:
        said = "no node says why" if silence is None or not silence.said else silence.said
        left_s = max(0, self._limit_ms - lapsed_ms) / 1000
        return (
            "no majority of the journal nodes confirms that this namenode is the active one "
            f"({said}). Nothing is answered until one does; the process ends in {left_s:.0f} s "
            "(dfs.qjournal.write-txns.timeout.ms)"
        )
