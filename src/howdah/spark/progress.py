"""Progress on a terminal while tasks copy: files, bytes, rate, time left.

What tasks tell lies in the staging directory (`howdah.spark.reports`); a thread of the
driver looks there once a second.
"""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Final, Self, TextIO

from howdah import errors
from howdah.fs.api import FileSystem
from howdah.spark.listing import Totals
from howdah.spark.reports import Done

INTERVAL_S: Final = 1.0
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def size(count: float) -> str:
    """`1.5 GiB`.

    >>> size(1536)
    '1.5 KiB'
    """
    unit = 0
    while count >= 1024 and unit < len(_UNITS) - 1:
        count /= 1024
        unit += 1
    return f"{count:.1f} {_UNITS[unit]}" if unit else f"{count:.0f} B"


def line(done: Done, totals: Totals, seconds: float) -> str:
    """What is shown.

    >>> line(Done(5, 512), Totals(files=10, bytes=1024), 2.0)
    '5/10 files, 512 B/1.0 KiB, 256 B/s, 0:02 left'
    """
    rate = done.bytes / seconds if seconds > 0 else 0.0
    text = f"{done.files}/{totals.files} files, {size(done.bytes)}/{size(totals.bytes)}"
    text += f", {size(rate)}/s"
    if rate > 0:
        left_s = max(totals.bytes - done.bytes, 0) / rate
        text += f", {int(left_s // 60)}:{int(left_s % 60):02} left"
    return text


class Progress:
    """Shows progress as long as it is entered, if there is a terminal to show it on."""

    def __init__(
        self, fs: FileSystem, directory: str, totals: Totals, out: TextIO | None = None
    ) -> None:
        self._fs = fs
        self._directory = directory
        self._totals = totals
        self._out = out or sys.stderr
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="progress", daemon=True)
        self._began_s = time.monotonic()

    def done(self) -> Done:
        """The sum of what the tasks have told last."""
        latest: dict[str, Done] = {}
        for status in self._fs.list_status(self._directory):
            try:
                told = Done.parse(status.name)
            except ValueError:
                continue
            # Of a task that was tried again the attempt that is farther counts.
            task = status.name.partition("-")[0]
            if told.files >= latest.get(task, Done()).files:
                latest[task] = told
        return sum(latest.values(), Done())

    def _watch(self) -> None:
        while not self._stop.wait(INTERVAL_S):
            try:
                done = self.done()
            except (errors.HowdahError, OSError):
                continue  # no task has told anything yet
            seconds = time.monotonic() - self._began_s
            self._out.write(f"\r\x1b[K{line(done, self._totals, seconds)}")
            self._out.flush()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()
        self._out.write("\r\x1b[K")
        self._out.flush()
