"""What the answers of the local namenode say about its health (pure).

Mirrors Hadoop's HealthMonitor. A check asks for the state, then for the health:

    answer                       health           next check after
    ---------------------------  ---------------  ------------------------------------------
    both                         healthy          check interval
    the health is refused        unhealthy        check interval
    none, after an answer        not responding   sleep after disconnect
    none, again                  not responding   connect retry interval
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Health(enum.Enum):
    """The values are Hadoop's HealthMonitor.State."""

    INITIALIZING = "INITIALIZING"
    NOT_RESPONDING = "SERVICE_NOT_RESPONDING"
    HEALTHY = "SERVICE_HEALTHY"
    UNHEALTHY = "SERVICE_UNHEALTHY"


class Answer(enum.Enum):
    """How a check ended."""

    HEALTHY = enum.auto()
    UNHEALTHY = enum.auto()
    NONE = enum.auto()


@dataclass(frozen=True, slots=True)
class Intervals:
    """Seconds between checks: the keys ha.health-monitor.*."""

    check_s: float = 1.0
    connect_retry_s: float = 1.0
    after_disconnect_s: float = 1.0


class HealthMonitor:
    """The health of one namenode, and when to look again."""

    def __init__(self, intervals: Intervals) -> None:
        self._intervals = intervals
        self._is_connected = False
        self.health = Health.INITIALIZING

    def checked(self, answer: Answer) -> float:
        """Take in a check; seconds until the next one."""
        was_connected, self._is_connected = self._is_connected, answer is not Answer.NONE
        if answer is Answer.NONE:
            self.health = Health.NOT_RESPONDING
            if was_connected:
                return self._intervals.after_disconnect_s
            return self._intervals.connect_retry_s
        self.health = Health.HEALTHY if answer is Answer.HEALTHY else Health.UNHEALTHY
        return self._intervals.check_s
