"""What a mirror counts while it runs (shell: a lock)."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field, replace

from howdah.copy.common.task_progress import Amount
from howdah.copy.counters import Counters
from howdah.mirror.rounds import Round
from howdah.mirror.state.names import time_ms_of


@dataclass(frozen=True, slots=True)
class Facts:
    """A mirror at one moment."""

    source: str
    target: str
    started_ms: int
    now_ms: int
    doing: str = "starting"
    """The action that is being done, or what is waited for."""
    trouble: str = ""
    """Why the last round failed; empty after one that did not."""
    complete: str | None = None
    """The point in time that the target is."""
    current_ms: int = 0
    """When the source was last seen not to differ from that."""
    rounds: int = 0
    failures: int = 0
    files_copied: int = 0
    bytes_copied: int = 0
    left: Amount = field(default_factory=Amount)
    """What the round has yet to copy."""
    last_s: float = 0.0
    """How long the last round took."""

    @property
    def lag_s(self) -> float | None:
        """How old the state is that the target has; None before the first copy."""
        if self.complete is None:
            return None
        known_ms = max(time_ms_of(self.complete), self.current_ms)
        return max(self.now_ms - known_ms, 0) / 1000


class Metrics:
    """The facts of one mirror, as they change. Thread-safe."""

    def __init__(self, source: str, target: str) -> None:
        self._lock = threading.Lock()
        now = _now_ms()
        self._facts = Facts(source, target, now, now)

    def facts(self) -> Facts:
        with self._lock:
            return replace(self._facts, now_ms=_now_ms())

    def does(self, what: str) -> None:
        with self._lock:
            self._facts = replace(self._facts, doing=what)

    def knows(self, complete: str | None) -> None:
        """The target was found to be a point in time, before any round."""
        with self._lock:
            self._facts = replace(self._facts, complete=complete)

    def listed(self, amount: Amount) -> None:
        with self._lock:
            self._facts = replace(self._facts, left=amount)

    def copied(self, counters: Counters) -> None:
        """Some of what was listed is done."""
        with self._lock:
            facts = self._facts
            files = counters.files_copied + counters.files_skipped + counters.files_failed
            moved = counters.bytes_copied + counters.bytes_skipped
            self._facts = replace(
                facts,
                files_copied=facts.files_copied + counters.files_copied,
                bytes_copied=facts.bytes_copied + counters.bytes_copied,
                left=Amount(max(facts.left.files - files, 0), max(facts.left.bytes - moved, 0)),
            )

    def ended(self, done: Round, began_ms: int) -> None:
        """A round was made."""
        with self._lock:
            facts = self._facts
            self._facts = replace(
                facts,
                trouble="",
                complete=done.common,
                current_ms=began_ms if done.is_current else facts.current_ms,
                rounds=facts.rounds + 1,
                left=Amount(),
                last_s=done.seconds,
            )

    def failed(self, reason: str) -> None:
        with self._lock:
            self._facts = replace(self._facts, trouble=reason, failures=self._facts.failures + 1)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
