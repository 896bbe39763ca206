"""Shows how far a copy has come, on a terminal only.

A line on stderr that is written over a few times a second, once a copy has
taken longer than a moment; gone when the copy is done. A pipe or a file gets
nothing.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import TextIO

from howdah.runtime.units import human_size

QUIET_S = 1.0
INTERVAL_S = 0.2
CLEAR_LINE = "\r\x1b[K"


class Meter:
    """The progress of one file."""

    def __init__(self, progress: Progress, name: str, length: int | None) -> None:
        self._progress = progress
        self._name = name
        self._length = length
        self._start_s = time.monotonic()
        self._done = 0

    def advance(self, count: int) -> None:
        """So many bytes more are copied."""
        self._done += count
        if self._progress.stream is not None:
            self._progress.show(self)

    def text(self, now_s: float) -> str:
        """`/a/b: 1.5 G of 3 G (50%), 512.0 M/s`."""
        rate = int(self._done / max(now_s - self._start_s, 1e-9))
        amount = human_size(self._done)
        if self._length:
            share = min(100 * self._done // self._length, 100)
            amount = f"{amount} of {human_size(self._length)} ({share}%)"
        return f"{self._name}: {amount}, {human_size(rate)}/s"

    def age_s(self, now_s: float) -> float:
        return now_s - self._start_s

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.clear()


class Progress:
    """The one line that the meters of a call share."""

    def __init__(self, stream: TextIO | None) -> None:
        self.stream = stream
        self._lock = threading.Lock()
        self._next_s = 0.0
        self._shown = False

    @classmethod
    def on_terminal(cls) -> Progress:
        """Shown on stderr if that is a terminal, else nowhere."""
        return cls(sys.stderr if sys.stderr.isatty() else None)

    def of(self, name: str, length: int | None) -> Meter:
        """A meter for a file of so many bytes; None where that is unknown."""
        return Meter(self, name, length)

    def show(self, meter: Meter) -> None:
        """Write the line anew if it is time to."""
        now_s = time.monotonic()
        if self.stream is None or now_s < self._next_s or meter.age_s(now_s) < QUIET_S:
            return
        with self._lock:
            self._next_s = now_s + INTERVAL_S
            self._shown = True
            self.stream.write(f"{CLEAR_LINE}{meter.text(now_s)}")
            self.stream.flush()

    def clear(self) -> None:
        """Take the line away."""
        with self._lock:
            if self._shown and self.stream is not None:
                self._shown = False
                self.stream.write(CLEAR_LINE)
                self.stream.flush()
