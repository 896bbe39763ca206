"""How far a task is, told while it runs, through the filesystem that it works on.

Executors and driver need have nothing else in common: each task holds a small file open,
and adds a line to it once a second. The driver reads the last line of each. On HDFS a line is
as long as a packet, so it goes to a datanode without a flush; a flush would be an edit a
second in the namenode's log. (Where a file can't be read before it is closed, no progress
is seen.)
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from howdah import errors
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.spark.common.filesystems import Place

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
    """How much is done, of one task or of all."""

    files: int = 0
    bytes: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.files + other.files, self.bytes + other.bytes)


def line_of(done: Amount) -> bytes:
    """As it is written to a task's file; each line is as long as any other."""
    return (b"%d %d" % (done.files, done.bytes)).ljust(LINE_BYTES - 1) + b"\n"


def last_of(content: bytes) -> Amount:
    """What the last whole line says; nothing where there is none. Raises ValueError for one
    that makes no sense."""
    line = content.rpartition(b"\n")[0].rpartition(b"\n")[2]
    if not line:
        return Amount()
    files, count = line.split()
    return Amount(int(files), int(count))


def gauge_filesystem(place: Place) -> FileSystem:
    """The filesystem of a place, as a gauge writes to it."""
    fs = place.connect()
    return place.with_settings(_PACKETS).connect() if fs.scheme == "hdfs" else fs


class Gauge:
    """How far one attempt at a task is, told through a filesystem; nothing without one."""

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
        """Of the task of Spark that this is; an empty directory is none."""
        from pyspark import TaskContext

        context = TaskContext.get()
        partition = context.partitionId() if context else 0
        unique = context.taskAttemptId() if context else 0
        fs = gauge_filesystem(place) if directory else None
        return cls(fs, directory, f"{partition:05}-{unique}")

    def add(self, files: int, count: int) -> None:
        """So many files and bytes more are done."""
        if self._fs is None:
            return
        self._done += Amount(files, count)
        if self._clock() < self._next_s:
            return
        self._next_s = self._clock() + INTERVAL_S
        try:
            if self._out is None:
                # In a directory that is there as long as somebody looks.
                path = paths.join(self._directory, self._task)
                self._out = self._fs.create(path, create_parent=False, replication=1)
            self._out.write(line_of(self._done))
            if self._fs.scheme != "hdfs":
                self._out.hflush()
        except (errors.HowdahError, OSError):
            # Nobody's file depends on it, and this one can't be written any more.
            self.close()

    def close(self) -> None:
        """Tell no more."""
        self._fs, out, self._out = None, self._out, None
        if out is not None:
            # The file may be gone, with the directory; nobody needs it any more.
            with suppress(errors.HowdahError, OSError):
                out.close()
