"""Whether the filesystem of a gateway answers (shell).

Looked at when somebody asks, by a call on a thread of its own: a client goes on asking namenodes
for minutes, and nobody waits longer than `PATIENCE_S` to hear that none has answered yet. What a
look has found is told for `KEPT_S`, however many ask.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from typing import Final

from howdah import errors
from howdah.runtime import background_threads

PATIENCE_S: Final = 3.0
KEPT_S: Final = 2.0


class Reach:
    """Thread-safe."""

    def __init__(self, ask: Callable[[], object]) -> None:
        """`ask` raises HowdahError or OSError where the filesystem does not answer."""
        self._ask = ask
        self._lock = threading.Lock()
        self._begun_s = 0.0
        self._ended_s = 0.0
        self._look: Future[object] | None = None

    def trouble(self) -> str:
        """Why it does not answer; empty if it does."""
        with self._lock:
            look = self._look
            if look is None or (look.done() and time.monotonic() > self._ended_s + KEPT_S):
                self._begun_s = time.monotonic()
                look = self._look = background_threads.begin(self._ask, "a look at the filesystem")
                look.add_done_callback(self._note_end)
            begun_s = self._begun_s
        try:
            look.result(PATIENCE_S)
        except NotYet:
            if not look.done():
                return f"no namenode has answered for {time.monotonic() - begun_s:.0f} s"
            return "no namenode answered in time"
        except (errors.HowdahError, OSError) as error:
            return str(error)
        return ""

    def _note_end(self, look: Future[object]) -> None:
        self._ended_s = time.monotonic()
