"""What a gateway counts: requests by operation and by what became of them (shell: a lock)."""

from __future__ import annotations

import enum
import threading
from collections import Counter
from collections.abc import Iterable, Mapping

from howdah.web.http import Response


class Outcome(enum.Enum):
    """What became of a request."""

    OK = "ok"
    REDIRECTED = "redirected"
    """Told to send its bytes to another address of the same gateway."""
    REFUSED = "refused"
    BROKEN = "broken"
    """The answer had begun, and broke off."""


NO_OPERATION = "none"
"""Of a request that names none, or none that there is."""


def outcome_of(answer: Response | None) -> Outcome:
    """None is an answer that was sent in pieces."""
    if answer is None or answer.status < 300:
        return Outcome.OK
    return Outcome.REDIRECTED if answer.status < 400 else Outcome.REFUSED


class Requests:
    """Of one gateway. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: Counter[tuple[str, Outcome]] = Counter()

    def note(self, operation: str, outcome: Outcome) -> None:
        with self._lock:
            self._found[operation, outcome] += 1

    def counts(self) -> Mapping[tuple[str, Outcome], int]:
        with self._lock:
            return dict(self._found)


def done(counts: Mapping[tuple[str, Outcome], int], operations: Iterable[str]) -> int:
    """How many requests for one of these were answered."""
    return sum(counts.get((operation, Outcome.OK), 0) for operation in operations)
