"""When a datanode sends its full block report (pure).

1. A report is due when the datanode has registered, and an interval after each.
2. A heartbeat that finds it due asks for a lease; the report goes out with that lease.
   A namenode that serves enough others grants none, and the next heartbeat asks again.
3. A lease is for one report. One that is refused, or does not get through, is due again:
   at once where the namenode was away, later and later where it refused.
4. A report that an administrator asks for waits for nothing and has no lease.
5. The first interval is a random part of the whole, so that the datanodes of a cluster
   that was started at once don't report at once ever after.
"""

from __future__ import annotations

NO_LEASE = 0
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 300.0
"""Between reports of which each makes good what a refusal has lost."""


class ReportSchedule:
    """Of one namenode. Times are seconds of a clock that never goes back."""

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self._due_s = 0.0
        self._is_first = True
        self._asked = False
        self._was_asked = False
        self._pause_s = FIRST_PAUSE_S
        self.lease_id = NO_LEASE

    def registered(self) -> None:
        """The namenode knows nothing of this datanode but its name."""
        self._due_s = 0.0
        self.lease_id = NO_LEASE

    def request_now(self) -> None:
        """An administrator wants a report now."""
        self._asked = True

    def wants_lease(self, now_s: float) -> bool:
        """Whether a heartbeat asks for one."""
        return now_s >= self._due_s and self.lease_id == NO_LEASE

    def granted(self, lease_id: int) -> None:
        """By the answer of a heartbeat."""
        if lease_id != NO_LEASE:
            self.lease_id = lease_id

    def may_report(self, now_s: float) -> bool:
        return self._asked or (now_s >= self._due_s and self.lease_id != NO_LEASE)

    def begin(self) -> None:
        """A report is made now: who asks from here on wants another one."""
        self._was_asked, self._asked = self._asked, False

    def reported(self, now_s: float, part: float) -> None:
        """It was taken. The first time, `part` of the interval is waited for: 0 to 1."""
        interval_s = self._interval_s * (max(part, 0.01) if self._is_first else 1.0)
        self._due_s = now_s + interval_s
        self._is_first = False
        self._pause_s = FIRST_PAUSE_S
        self.lease_id = NO_LEASE

    def lost(self) -> None:
        """The namenode was away, or holds this lease for ended: another one is needed."""
        self._asked = self._asked or self._was_asked
        self.lease_id = NO_LEASE

    def incremental_reports_lost(self) -> None:
        """Some were dropped before the namenode had them: a full report is due."""
        self._due_s = 0.0

    def refused(self, now_s: float) -> float:
        """A report, or news that the next one makes good, was refused: it is due again after
        as many seconds as are returned."""
        pause_s, self._pause_s = self._pause_s, min(self._pause_s * 2, LONGEST_PAUSE_S)
        self._due_s = now_s + pause_s
        self.lease_id = NO_LEASE
        return pause_s

    @property
    def next_s(self) -> float:
        """When a report, or the heartbeat that asks for its lease, is due."""
        return 0.0 if self._asked else self._due_s
