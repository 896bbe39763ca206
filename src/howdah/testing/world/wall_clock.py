"""The wall clock of a machine, which may be wrong. It is kept in UTC."""

from __future__ import annotations

from typing import Final

from howdah.testing.world.scheduler import Scheduler

WALL_START_NS: Final = 1_800_000_000 * 10**9
"""What all wall clocks show when a world begins, but for what the monotonic clock has then."""


class WallClock:
    """Shows the time of a machine, which may be wrong."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.offset_ns = 0
        self.drift_ppm = 0.0
        """How much faster it runs than time does, in millionths."""

    def now_ns(self) -> int:
        now_ns = self._scheduler.now_ns
        return WALL_START_NS + now_ns + self.offset_ns + round(now_ns * self.drift_ppm / 1e6)

    def jump(self, seconds: float) -> None:
        """Set it forward, or back."""
        self.offset_ns += round(seconds * 1e9)
