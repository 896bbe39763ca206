"""Progress at a terminal: one line that is overwritten once a second.

A job names its phase; a thread of the driver writes the phase and its duration. Where tasks
report what they have done (`common.gauge`), the line has files, bytes, rate and time left. If
progress is not wanted, nothing is started: no thread, no call, and no task counts.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import unicodedata
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Self, TextIO

from howdah import errors
from howdah.copy.common.filesystems import for_each
from howdah.copy.common.task_progress import LINE_BYTES, Amount, last_of
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.runtime.units import iec_size

INTERVAL_S: Final = 1.0
CLEAR_LINE: Final = "\r\x1b[K"
SCRATCH_PREFIX: Final = ".howdah-progress."
_COLUMNS: Final = 80
"""Width of a terminal that does not report its own."""


def clock(seconds: float) -> str:
    """`0:07`, `2:05:00`.

    >>> clock(7), clock(7500)
    ('0:07', '2:05:00')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def line(done: Amount, total: Amount, seconds: float) -> str:
    """The progress line of a copy.

    >>> line(Amount(5, 512), Amount(10, 1024), 2.0)
    '5/10 files, 512 B/1.0 KiB, 256 B/s, 0:02 left'
    """
    return f"{done.files}/{total.files} files, {of_bytes(done.bytes, total.bytes, seconds)}"


def of_bytes(done: int, total: int, seconds: float) -> str:
    """Bytes done of the total, the rate, and the time left.

    >>> of_bytes(512, 1024, 2.0)
    '512 B/1.0 KiB, 256 B/s, 0:02 left'
    """
    rate = done / seconds if seconds > 0 else 0.0
    text = f"{iec_size(done)}/{iec_size(total)}, {iec_size(rate)}/s"
    if rate > 0:
        text += f", {clock(max(total - done, 0) / rate)} left"
    return text


def cut(text: str, columns: int) -> str:
    """The part of a text that fits in `columns`; control characters become `?`.

    A line that is longer than the terminal is wide could not be overwritten.

    >>> cut("a/new\\nline", 8), cut("日本", 3)
    ('a/new?li', '日')
    """
    shown = []
    for char in text:
        printed = char if char.isprintable() else "?"
        if not unicodedata.combining(printed):
            columns -= 2 if unicodedata.east_asian_width(printed) in "WF" else 1
        if columns < 0:
            break
        shown.append(printed)
    return "".join(shown)


class ProgressLine:
    """The line, shown while the context is entered. `set_text` sets its text."""

    def __init__(self, wanted: bool, out: TextIO | None = None) -> None:
        self._out = (out or sys.stderr) if wanted else None
        self._said: str | Callable[[float], str] = ""
        self._since_s = 0.0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def __bool__(self) -> bool:
        return self._out is not None

    def set_text(self, text: str | Callable[[float], str]) -> None:
        """Set the text: the name of a phase, which is shown with its duration, or a function
        that is called every second with the seconds since this call."""
        self._since_s = time.monotonic()
        self._said = text

    def _watch(self, out: TextIO) -> None:
        while not self._stop.wait(INTERVAL_S):
            text = self._text()
            if text:
                out.write(CLEAR_LINE + cut(text, _columns(out) - 1))
                out.flush()

    def _text(self) -> str:
        said, seconds = self._said, time.monotonic() - self._since_s
        if isinstance(said, str):
            return said and f"{said}, {clock(seconds)}"
        try:
            return said(seconds)
        except (errors.HowdahError, OSError):
            return ""  # no task has reported yet

    def __enter__(self) -> Self:
        if self._out is not None:
            self._thread = threading.Thread(
                target=self._watch, args=(self._out,), name="progress", daemon=True
            )
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._out is None or self._thread is None:
            return
        self._stop.set()
        self._thread.join()
        self._out.write(CLEAR_LINE)
        self._out.flush()


def listing_progress(shown: ProgressLine) -> Callable[[int], None] | None:
    """A callback for `list_tree` that shows how many entries it has; None without a line."""
    if not shown:
        return None

    def report(entries: int) -> None:
        shown.set_text(f"listing, {entries:,} entries so far")

    shown.set_text("listing")
    return report


def _columns(out: TextIO) -> int:
    try:
        return os.get_terminal_size(out.fileno()).columns or _COLUMNS
    except (OSError, ValueError):
        return _COLUMNS


def reported(fs: FileSystem, directory: str) -> Amount:
    """Sum up the last reports of all tasks."""
    latest: dict[str, Amount] = {}
    reports = [status.path for status in fs.list_status(directory) if status.is_file]
    for path, done in zip(reports, for_each(lambda path: _last(fs, path), reports), strict=True):
        # Of several attempts at a task the one that is farthest counts.
        task = paths.name_of(path).partition("-")[0]
        if done.files >= latest.get(task, Amount()).files:
            latest[task] = done
    return sum(latest.values(), Amount())


def _last(fs: FileSystem, path: str) -> Amount:
    try:
        with fs.open(path) as stream:
            stream.seek(max(stream.size - 2 * LINE_BYTES, 0))
            return last_of(stream.read())
    except (errors.HowdahError, OSError, ValueError):
        return Amount()  # the file is being created, or is not one of a task


class Progress:
    """Shows the progress of a copy while the context is entered."""

    def __init__(
        self, fs: FileSystem, directory: str, total: Amount, out: TextIO | None = None
    ) -> None:
        self._fs = fs
        self._directory = directory
        self._total = total
        self._shown = ProgressLine(True, out)

    def done(self) -> Amount:
        """The sum of what all tasks have reported last."""
        return reported(self._fs, self._directory)

    def __enter__(self) -> Self:
        self._fs.mkdirs(self._directory)
        self._shown.set_text(lambda seconds: line(self.done(), self._total, seconds))
        self._shown.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        self._shown.__exit__(*raised)


@contextmanager
def progress_directory(fs: FileSystem, shown: ProgressLine) -> Iterator[str]:
    """A directory for the gauges of a job that has no staging directory: in the user's home or
    in `/tmp`, whichever exists. Empty if neither does, or if no progress is shown."""
    path = ""
    homes = (fs.home_directory(), "/tmp") if shown else ()
    for home in homes:
        if fs.exists(home):
            path = paths.join(home, SCRATCH_PREFIX + uuid.uuid4().hex[:12])
            fs.mkdirs(path)
            break
    try:
        yield path
    finally:
        if path:
            fs.delete(path, recursive=True)
