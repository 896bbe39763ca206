"""Detect an active namenode whose log no longer makes progress (pure; Q14).

A disk that fails raises an error, and the namenode drops it. A disk that hangs, and a majority of
journal nodes that is silent, raise nothing: answers wait for the log, and only the callers notice.

**`StalledLog`.** An edit that is not durable after `STALL_MS` makes the log a stalled one. Pages,
`/ready` and the answer to the failover controller report it, so another namenode can take over.

**`LeaseWatch`.** An active that writes nothing learns only from its heartbeats whether a majority
of the journal nodes still confirms it. When that ends, answers wait (`durability_barrier`), and
callers cannot tell an idle active from one that is cut off. So the loss of the lease starts a
clock:

    time since the lease ended      what happens
    ------------------------------  ------------------------------------------------------------
    0, or one lease                 one WARNING names the silent nodes; pages and `/prom` report
                                    the loss
    0, or the patience              calls are refused with the reason, so their clients try
                                    another namenode; `/ready` and the answer to the failover
                                    controller report the reason
    the limit                       the process ends, as it does where an edit finds no majority

The first of two times applies where the nodes are known to fail, as dead processes do; the second
where they may only be slow, as a hung disk makes them. The limit is that of a write,
`dfs.qjournal.write-txns.timeout.ms`. The clock starts when the namenode notices that the lease has
ended, and counts as `ObservedTime` does.
"""

from __future__ import annotations

import enum
from typing import Final

from howdah.namenode.state.edit_log.shared_log import Silence

STALL_MS: Final = 10_000

MAX_STEP_MS: Final = 1_000
"""Checks come four times a second, and more rarely where the process is busy."""


class ObservedTime:
    """The time since the first check, counting at most `MAX_STEP_MS` between two checks.

    A process that was stopped, or a machine that slept, sees a long gap between two checks. What
    it waits for had no time to come in that gap either.
    """

    def __init__(self) -> None:
        self._last_ms: int | None = None
        self._elapsed_ms = 0

    def reset(self) -> None:
        """Start again: the next check is the first one."""
        self._last_ms, self._elapsed_ms = None, 0

    def advance(self, now_ms: int) -> int:
        """Count the time up to this check; return the sum in milliseconds."""
        if self._last_ms is not None:
            self._elapsed_ms += min(max(0, now_ms - self._last_ms), MAX_STEP_MS)
        self._last_ms = now_ms
        return self._elapsed_ms


class StalledLog:
    """Detects a log that does not make edits durable. Times are of a monotonic clock."""

    def __init__(self) -> None:
        self._awaited_txid: int | None = None
        self._waited = ObservedTime()
        self.trouble = ""
        """Which transaction is not durable, and for how long; empty while the log makes progress
        or has nothing to write."""

    def check(self, last_txid: int, durable_txid: int, now_ms: int) -> bool:
        """Compare the last committed transaction with the last durable one. Return True when a
        stall begins."""
        was_stalled = bool(self.trouble)
        self.trouble = ""
        if durable_txid >= last_txid:
            self.reset()
            return False
        if self._awaited_txid is None or durable_txid >= self._awaited_txid:
            self._awaited_txid = durable_txid + 1
            self._waited.reset()
        stalled_ms = self._waited.advance(now_ms)
        if stalled_ms >= STALL_MS:
            self.trouble = (
                f"transaction {self._awaited_txid} is not durable after {stalled_ms / 1000:.0f} s: "
                "a disk of the edits directories, or a majority of the journal nodes, hangs"
            )
        return bool(self.trouble) and not was_stalled

    def reset(self) -> None:
        """Forget the stall: nothing is being written."""
        self._awaited_txid = None
        self._waited.reset()
        self.trouble = ""


class LeaseChange(enum.Enum):
    """What has changed since the last check of the lease."""

    NONE = enum.auto()
    LOST = enum.auto()
    """To be logged as a warning, with `trouble`."""
    REGAINED = enum.auto()
    EXPIRED = enum.auto()
    """The limit has passed: the process has to end."""


class LeaseWatch:
    """The lease of one namenode on its shared log. Times are those of the lease's clock."""

    def __init__(self, *, lease_ms: int, patience_ms: int, limit_ms: int) -> None:
        self._lease_ms = lease_ms
        self._patience_ms = patience_ms
        self._limit_ms = limit_ms
        self._lost = ObservedTime()
        self.trouble = ""
        """Why nobody confirms that this namenode is the active one; empty while the lease
        holds."""
        self.refuses = False
        """Whether calls are refused, for the reason in `trouble`, and another namenode may become
        the active one."""
        self.losses = 0
        """How often the lease was lost."""

    def check(self, until_ms: int | None, silence: Silence | None, now_ms: int) -> LeaseChange:
        """`until_ms` is the end of the lease, None where there is none to lose; `silence` says
        which nodes do not answer."""
        if until_ms is None or now_ms < until_ms:
            return self._hold()
        lost_ms = self._lost.advance(now_ms)
        if lost_ms >= self._limit_ms:
            self.trouble = self._reason(silence, lost_ms)
            self.refuses = True
            return LeaseChange.EXPIRED
        is_certain = silence is not None and silence.is_certain
        if not self.trouble and not is_certain and lost_ms < self._lease_ms:
            return LeaseChange.NONE
        was_lost = bool(self.trouble)
        self.trouble = self._reason(silence, lost_ms)
        self.refuses = self.refuses or is_certain or lost_ms >= self._patience_ms
        if was_lost:
            return LeaseChange.NONE
        self.losses += 1
        return LeaseChange.LOST

    def _hold(self) -> LeaseChange:
        was_lost = bool(self.trouble)
        self._lost.reset()
        self.trouble = ""
        self.refuses = False
        return LeaseChange.REGAINED if was_lost else LeaseChange.NONE

    def _reason(self, silence: Silence | None, lost_ms: int) -> str:
        reasons = silence.reasons if silence is not None else ""
        left_s = max(0, self._limit_ms - lost_ms) / 1000
        return (
            "no majority of the journal nodes confirms that this namenode is the active one "
            f"({reasons or 'no node says why'}). Nothing is answered until one does; the process "
            f"ends in {left_s:.0f} s (dfs.qjournal.write-txns.timeout.ms)"
        )
