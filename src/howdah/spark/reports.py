"""What a task tells while it runs: lines in its log (`-log`, `-v`), and how far it is.

The log of a task is a file `part-m-NNNNN` in the directory of `-log`, with lines such as
Hadoop's mappers write; it is there when the task has ended. Progress is told
through the filesystem that is copied to, since executors and driver need have nothing
else in common: each task holds a small file open, and adds a line to it once a second.
Whoever looks reads the last one. On HDFS a line is as long as a packet is there, so it goes
to a datanode without a flush, of which the namenode would be told: that would be an edit a
second in its log. (Where files can't be read before they are closed nobody sees any.)
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from howdah import errors
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.spark.attempts import WholeFile
from howdah.spark.filesystems import Place

if TYPE_CHECKING:
    from howdah.fs.streams import FSDataOutputStream
    from howdah.spark.tasks import CopyTask

INTERVAL_S: Final = 1.0
LINE_BYTES: Final = 512
_PACKETS: Final = {
    "dfs.client-write-packet-size": str(LINE_BYTES),
    "dfs.bytes-per-checksum": str(LINE_BYTES),
}


@dataclass(frozen=True, slots=True)
class Done:
    """How much is done, of one task or of all."""

    files: int = 0
    bytes: int = 0

    def __add__(self, other: Done) -> Done:
        return Done(self.files + other.files, self.bytes + other.bytes)


def line_of(done: Done) -> bytes:
    """As it is written to a task's file; each line is as long as any other."""
    return (b"%d %d" % (done.files, done.bytes)).ljust(LINE_BYTES - 1) + b"\n"


def last_of(content: bytes) -> Done:
    """What the last whole line says; nothing where there is none. Raises ValueError for one
    that makes no sense."""
    line = content.rpartition(b"\n")[0].rpartition(b"\n")[2]
    if not line:
        return Done()
    files, count = line.split()
    return Done(int(files), int(count))


def telling(place: Place) -> FileSystem:
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
        self._done = Done()
        self._out: FSDataOutputStream | None = None
        self._next_s = clock() + INTERVAL_S

    @classmethod
    def of_task(cls, place: Place, directory: str) -> Self:
        """Of the task of Spark that this is; an empty directory is none."""
        from pyspark import TaskContext

        context = TaskContext.get()
        partition = context.partitionId() if context else 0
        unique = context.taskAttemptId() if context else 0
        fs = telling(place) if directory else None
        return cls(fs, directory, f"{partition:05}-{unique}")

    def add(self, files: int, count: int) -> None:
        """So many files and bytes more are done."""
        if self._fs is None:
            return
        self._done += Done(files, count)
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


class Report:
    """The report of one attempt at a task; a context manager that completes the log."""

    def __init__(
        self,
        log: WholeFile | None,
        verbose: bool,
        gauge: Gauge,
    ) -> None:
        self._log = log
        self._verbose = verbose
        self._gauge = gauge

    @classmethod
    def of(cls, task: CopyTask, partition: int, unique: int) -> Self:
        log = None
        if task.log is not None and task.options.log_path is not None:
            path = paths.parse(task.options.log_path).path
            name = paths.join(path, f"part-m-{partition:05}")
            log = WholeFile(task.log.connect(), name, unique)
        fs = telling(task.target) if task.reports_progress else None
        gauge = Gauge(fs, task.staging.progress, f"{partition:05}-{unique}")
        return cls(log, task.options.verbose, gauge)

    def moved(self, count: int) -> None:
        """Bytes of a file were copied."""
        self._gauge.add(0, count)

    def copied(self, source: str, length: int, target: str, why: str) -> None:
        self._gauge.add(1, 0)
        if self._verbose:
            self._line(f"FILE_COPIED: source={source}, size={length} --> target={target} ({why})")

    def skipped(self, source: str, length: int, target: str, target_length: int, why: str) -> None:
        self._gauge.add(1, 0)
        self._line(f"SKIP: {source}")
        if self._verbose:
            self._line(
                f"FILE_SKIPPED: source={source}, size={length} --> "
                f"target={target}, size={target_length} ({why})"
            )

    def failed(self, source: str, why: str) -> None:
        self._gauge.add(1, 0)
        self._line(f"FAIL: {source} - {why}")

    def _line(self, text: str) -> None:
        if self._log is not None:
            self._log.out.write(paths.shown(text).encode() + b"\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._gauge.close()
        if self._log is not None:
            self._log.complete()
