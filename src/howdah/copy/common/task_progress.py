"""How far a task is, reported while it runs, through the filesystem that it works on.

Executors and driver may share nothing but that filesystem: each task keeps a small file open
and adds a line to it once a second, and the driver reads the last line of each. On HDFS a line
is as long as a packet, so it goes to a datanode without a flush; a flush would be an edit a
second in the namenode's log. Where a file cannot be read before it is closed, no progress is
seen.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from howdah import errors
from howdah.copy.common.filesystems import Place
from howdah.fs import paths
from howdah.fs.api import FileSystem

if TYPE_CHECKING:
    from howdah.fs.streams import FSDataOutputStream

INTERVAL_S: Final = 1.0
LINE_BYTES: Final = 512
_PACKETS: Final = {
    "dfs.client-write-packet-size": str(LINE_BYTES),
    "dfs.bytes-per-checksum": str(LINE_BYTES),
}


@dataclass(frozen=True, slots=True)
class Amount:
    """Files and bytes: done by one task or by all, or to be done."""

    files: int = 0
    bytes: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.files + other.files, self.bytes + other.bytes)


def line_of(done: Amount) -> bytes:
    """A line for a task's file; all lines have the same length."""
    return (b"%d %d" % (done.files, done.bytes)).ljust(LINE_BYTES - 1) + b"\n"


def last_of(content: bytes) -> Amount:
    """The amount in the last whole line; zero if there is none. Raises ValueError for a line
    that cannot be parsed."""
    line = content.rpartition(b"\n")[0].rpartition(b"\n")[2]
    if not line:
        return Amount()
    files, count = line.split()
    return Amount(int(files), int(count))


def gauge_filesystem(place: Place) -> FileSystem:
    """The filesystem of a place, configured for small files that are written a line at a time."""
    fs = place.connect()
    return place.with_settings(_PACKETS).connect() if fs.scheme == "hdfs" else fs


class Gauge:
    """Reports how far one attempt at a task is; without a filesystem it reports nothing."""

    def __init__(
        self,
        fs: FileSystem | None,
        directory: str,
        task: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fs = fs
        self._clock = clock
        self._directory = directory
        self._task = task
        self._done = Amount()
        self._out: FSDataOutputStream | None = None
        self._next_s = clock() + INTERVAL_S

    @classmethod
    def of_task(cls, place: Place, directory: str) -> Self:
        """The gauge of the Spark task that calls this; with an empty directory it does nothing."""
        from pyspark import TaskContext

        context = TaskContext.get()
        partition = context.partitionId() if context else 0
        unique = context.taskAttemptId() if context else 0
        fs = gauge_filesystem(place) if directory else None
        return cls(fs, directory, f"{partition:05}-{unique}")

    def add(self, files: int, count: int) -> None:
        """Count files and bytes as done."""
        if self._fs is None:
            return
        self._done += Amount(files, count)
        if self._clock() < self._next_s:
            return
        self._next_s = self._clock() + INTERVAL_S
        try:
            if self._out is None:
                # The directory exists only while the driver reads progress.
                path = paths.join(self._directory, self._task)
                self._out = self._fs.create(path, create_parent=False, replication=1)
            self._out.write(line_of(self._done))
            if self._fs.scheme != "hdfs":
                self._out.hflush()
        except (errors.HowdahError, OSError):
            # Progress must not fail a copy: give up reporting.
            self.close()

    def close(self) -> None:
        """Stop reporting."""
        self._fs, out, self._out = None, self._out, None
        if out is not None:
            # The driver may have removed the directory already.
            with suppress(errors.HowdahError, OSError):
                out.close()
