"""Threads that come one after the other, in an order that is known before they come (shell)."""

from __future__ import annotations

import threading
from collections import deque
from types import TracebackType
from typing import Final


class Turns:
    """First announced, first served. Thread-safe."""

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self._announced: deque[Turn] = deque()

    def announce(self) -> Turn:
        """Whoever gets this comes behind all who have got theirs. It has to be taken."""
        turn = Turn(self)
        with self._lock:
            self._announced.append(turn)
            if len(self._announced) == 1:
                turn.come()
        return turn

    def ended(self) -> None:
        """The first one has had its turn."""
        with self._lock:
            self._announced.popleft()
            if self._announced:
                self._announced[0].come()


class Turn:
    """A `with` block that begins when those before it have ended."""

    def __init__(self, turns: Turns) -> None:
        self._turns: Final = turns
        self._gate: Final = threading.Lock()
        self._gate.acquire()
        self._has_ended = False

    def come(self) -> None:
        """Nobody is before it any more."""
        self._gate.release()

    def end(self) -> None:
        """The next one may begin, even if the block goes on."""
        if not self._has_ended:
            self._has_ended = True
            self._turns.ended()

    def __enter__(self) -> Turn:
        self._gate.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()
