"""How long work that is under way will take, from how fast it went so far (pure).

An estimate is made of what was measured: the number of things left, at several times. It is not
known before `LEAST_S` of watching, nor while nothing gets less. Of the past only `WINDOW_S`
count, so that the pace is that of now.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from howdah.web.pages import units

LEAST_S: Final = 30.0
WINDOW_S: Final = 600.0
_STEP_S: Final = 5.0
"""Two measurements are so far apart at least, which bounds their number."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """`seconds` until nothing is left, at `per_s`; without it `why` says why not."""

    left: int
    seconds: float | None = None
    per_s: float = 0.0
    why: str = ""

    def __str__(self) -> str:
        if not self.left:
            return "done"
        if self.seconds is None:
            return f"not known yet: {self.why}"
        return f"about {units.span(self.seconds)}, at {self.per_s:.3g} a second"


class Pace:
    """Of one piece of work."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def note(self, now_s: float, left: int) -> None:
        """So many are left now. Work that is done, and begins again, is measured anew."""
        if not left or (self._seen and not self._seen[-1][1]):
            self._seen.clear()
        if len(self._seen) > 1 and now_s - self._seen[-2][0] < _STEP_S:
            self._seen.pop()
        self._seen.append((now_s, left))
        while self._seen[0][0] < now_s - WINDOW_S:
            self._seen.popleft()

    def estimate(self) -> Estimate:
        """From what was noted; at least once."""
        first_s, first = self._seen[0]
        last_s, last = self._seen[-1]
        if not last:
            return Estimate(0)
        watched_s = last_s - first_s
        if watched_s < LEAST_S:
            return Estimate(last, why=f"watched for {units.span(watched_s)} only")
        if last >= first:
            grown = "more are left than" if last > first else "as many are left as"
            return Estimate(last, why=f"{grown} {units.span(watched_s)} ago")
        per_s = (first - last) / watched_s
        return Estimate(last, last / per_s, per_s)


class Paces:
    """Of several, by name; what is not noted is forgotten."""

    def __init__(self) -> None:
        self._of: dict[str, Pace] = {}

    def note(self, now_s: float, left: Mapping[str, int]) -> None:
        self._of = {name: self._of.get(name) or Pace() for name in left}
        for name, count in left.items():
            self._of[name].note(now_s, count)

    def estimates(self) -> dict[str, Estimate]:
        return {name: pace.estimate() for name, pace in self._of.items()}
