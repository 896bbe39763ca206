"""What name servers have said before, so that they are not asked each time (shell: a clock).

1. What was found is kept for some minutes.
2. That nothing was found, or that nobody answered, is kept for seconds: a name server that is away
   for a moment keeps nobody out for longer.
3. What was found goes on to count for a while where it cannot be found again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, Generic, TypeVar

FOUND_LASTS_S: Final = 300.0
FAILURE_LASTS_S: Final = 5.0
_MOST_STALE_S: Final = 600.0
_MOST_NAMES: Final = 10_000

T = TypeVar("T")


class KnownNames(Generic[T]):
    """Answers by name. By several threads."""

    def __init__(
        self,
        ask: Callable[[str], T],
        is_found: Callable[[str, T], bool],
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """`ask` may wait, and raises OSError where nobody answers; `is_found` says of a name and
        its answer whether that is one."""
        self._ask = ask
        self._is_found = is_found
        self._clock_s = clock_s
        self._answers: dict[str, tuple[T, float]] = {}
        """And when each is asked for again."""
        self._found: dict[str, tuple[T, float]] = {}
        """And when that was."""

    def __call__(self, name: str) -> T:
        """The answer. Waits, now and then. Raises OSError where nobody answers, and nobody did
        lately."""
        kept = self._answers.get(name)
        now_s = self._clock_s()
        if kept is not None and now_s < kept[1]:
            return kept[0]
        before = self._found.get(name)
        is_usable = before is not None and now_s < before[1] + _MOST_STALE_S
        try:
            answer = self._ask(name)
        except OSError:
            if before is None or not is_usable:
                raise
            self._keep(name, before[0], now_s + FAILURE_LASTS_S)
            return before[0]
        if self._is_found(name, answer):
            self._keep(name, answer, now_s + FOUND_LASTS_S)
            self._found[name] = answer, now_s
            return answer
        if before is not None and is_usable:
            answer = before[0]
        self._keep(name, answer, now_s + FAILURE_LASTS_S)
        return answer

    def _keep(self, name: str, answer: T, until_s: float) -> None:
        if len(self._answers) >= _MOST_NAMES:
            self.forget()
        self._answers[name] = answer, until_s

    def known(self, name: str, default: T) -> T:
        """The answer, however old, without waiting; `default` where nobody asked yet."""
        return self._answers.get(name, (default, 0.0))[0]

    def forget(self) -> None:
        """All is asked for anew."""
        self._answers.clear()
        self._found.clear()
