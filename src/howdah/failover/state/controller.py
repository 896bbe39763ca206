"""When a controller is in the election, and what it expects of its namenode (pure).

Mirrors the decisions of Hadoop's ZKFailoverController:

 9. A controller is in the election while its namenode is healthy and no observer. When the
    namenode is not healthy or does not respond, the controller leaves, and leaves the
    breadcrumb: the next active fences the namenode.
10. Whoever asks it to *cede* has its namenode made standby, and the controller stays out of the
    election for a time. If the namenode obeyed, nobody needs to fence it.
11. A namenode that is twice in a row in another state than it was ordered into was changed by
    somebody else: the controller leaves the election for a second, breadcrumb left.
12. A namenode that says that it is an observer is left alone.

17. When the process of the namenode has died for certain, its controller leaves the election at
    once and clears the breadcrumb: there is nobody to fence.

Actions are those of `elector`. The outcome of each comes back by the method named after it.
While orders to the namenode are under way, what it says of its state says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from howdah.failover.state.elector import Action, Breadcrumb, Elector, MakeStandby, Position, Report
from howdah.failover.state.health import Health
from howdah.failover.state.service import ServiceState

PAUSE_AFTER_MISMATCH_MS: Final = 1000


@dataclass(frozen=True, slots=True)
class Attempt:
    """How the last attempt to become active ended."""

    at_ms: int
    succeeded: bool
    message: str


class Controller:
    """The controller of one namenode. Times are milliseconds of a monotonic clock."""

    def __init__(self, elector: Elector) -> None:
        self.elector = elector
        self.health = Health.INITIALIZING
        self.expected = ServiceState.INITIALIZING
        """What the namenode was ordered to be; initializing while out of the election."""
        self.last_attempt: Attempt | None = None
        self._stays_out_until_ms: int | None = None
        self._mismatches = 0
        self._cedes = 0
        self._ceding_for_ms = 0
        self._orders_since_ms = 0

    @property
    def is_ceding(self) -> bool:
        return self._cedes > 0

    @property
    def stays_out_until_ms(self) -> int | None:
        """It takes no part in the election before."""
        return self._stays_out_until_ms

    def next_at_ms(self) -> int | None:
        """When `tick` has something to do, if nothing happens before."""
        times = (self._stays_out_until_ms, self.elector.rejoin_at_ms)
        return min((time for time in times if time is not None), default=None)

    def tick(self, now_ms: int) -> list[Action]:
        """A time to stay out may be over."""
        if self._stays_out_until_ms is not None and now_ms >= self._stays_out_until_ms:
            self._stays_out_until_ms = None
            return self._recheck(now_ms)
        return self.elector.tick(now_ms)

    # -- what the namenode says -------------------------------------------------------

    def checked(self, health: Health, now_ms: int) -> list[Action]:
        """Step 9. The health after a check."""
        if health is self.health:
            return []
        self.health = health
        return self._recheck(now_ms)

    def died(self) -> list[Action]:
        """Step 17. The process of the namenode is gone for certain: nobody has to fence it."""
        self.health = Health.NOT_RESPONDING
        if self._stays_out_until_ms is not None or self.is_ceding:
            return []
        self.expected = ServiceState.INITIALIZING
        return self.elector.quit(needs_fence=False)

    def observed(self, state: ServiceState, asked_ms: int, now_ms: int) -> list[Action]:
        """Steps 11 and 12. What the namenode said of its state when it was asked."""
        if state is ServiceState.OBSERVER:
            self.expected = ServiceState.OBSERVER
            self._mismatches = 0
            return self.elector.quit(needs_fence=True)
        if self.expected is ServiceState.INITIALIZING or self.is_ceding:
            return []
        is_old = asked_ms < self._orders_since_ms or self.elector.is_attempting
        if state is self.expected or is_old:
            self._mismatches = 0
            return []
        self._mismatches += 1
        if self._mismatches < 2:
            return []
        self._mismatches = 0
        self.expected = ServiceState.INITIALIZING
        self._stays_out_until_ms = now_ms + PAUSE_AFTER_MISMATCH_MS
        return self.elector.quit(needs_fence=True)

    def _recheck(self, now_ms: int) -> list[Action]:
        if self._stays_out_until_ms is not None or self.is_ceding:
            return []
        if self.health is Health.HEALTHY:
            return [] if self.expected is ServiceState.OBSERVER else self.elector.join()
        if self.expected is not ServiceState.OBSERVER:
            self.expected = ServiceState.INITIALIZING
        return self.elector.quit(needs_fence=self.health is not Health.INITIALIZING)

    # -- what the election and the steps say -------------------------------------------

    def reported(self, candidacy: int, report: Report) -> list[Action]:
        """How this controller stands in the election."""
        if self.is_ceding and report is Report.ELECTED:
            return []
        return self.elector.report(candidacy, report)

    def breadcrumb_read(self, attempt: int, breadcrumb: Breadcrumb | None) -> list[Action]:
        return self.elector.breadcrumb_read(attempt, breadcrumb)

    def fenced(self, attempt: int) -> list[Action]:
        return self.elector.fenced(attempt)

    def breadcrumb_written(self, attempt: int) -> list[Action]:
        return self.elector.breadcrumb_written(attempt)

    def became_active(self, attempt: int, message: str, now_ms: int) -> list[Action]:
        """The namenode obeyed, whether or not the attempt was given up meanwhile."""
        self._orders_since_ms = now_ms
        self.last_attempt = Attempt(now_ms, True, message)
        if self.elector.became_active(attempt):
            self.expected = ServiceState.ACTIVE
        return []

    def failed(self, attempt: int, message: str, now_ms: int) -> list[Action]:
        """Reading, fencing, writing or the order itself failed."""
        self._orders_since_ms = now_ms
        self.last_attempt = Attempt(now_ms, False, message)
        actions = self.elector.failed(attempt, now_ms)
        if actions:
            self.expected = ServiceState.INITIALIZING
        return actions

    def became_standby(self, order: MakeStandby, error: str | None, now_ms: int) -> list[Action]:
        """The order was given; `error` if the namenode did not obey. Step 10 ends here."""
        self._orders_since_ms = now_ms
        if not order.cedes:
            if self.elector.position is Position.STANDBY:
                self.expected = ServiceState.STANDBY
            return []
        self._cedes -= 1
        self._stays_out_until_ms = now_ms + self._ceding_for_ms
        self.expected = ServiceState.INITIALIZING
        return self.elector.quit(needs_fence=error is not None)

    # -- what other controllers ask ------------------------------------------------------

    def cede(self, for_ms: int, now_ms: int) -> list[Action]:
        """Step 10: stay out of the election for so long; not above 0: no longer.

        An answer `MakeStandby(cedes=True)` has to be carried out before the caller is told.
        """
        if for_ms <= 0:
            self._stays_out_until_ms = None
            return self._recheck(now_ms)
        self._cedes += 1
        self._ceding_for_ms = for_ms
        return [MakeStandby(cedes=True)]

    def not_eligible(self) -> str | None:
        """Why the namenode cannot become active by a graceful failover, if it can't."""
        if self.health is not Health.HEALTHY:
            return "is not currently healthy. Cannot be failover target"
        if self.expected is ServiceState.OBSERVER:
            return "is in observer state. Cannot be failover target"
        return None
