"""What a task tells while it runs: lines in its log (`-log`, `-v`), and how far it is.

The log of a task is a file `part-m-NNNNN` in the directory of `-log`, with lines such as
Hadoop's mappers write; it is there when the task has ended. Progress is told
through the filesystem that is copied to, since executors and driver need have nothing
else in common: each task has an empty directory whose name says how many files and bytes
it has done, and gives it a new name every second.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from howdah import errors
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.spark.attempts import WholeFile

if TYPE_CHECKING:
    from howdah.spark.tasks import CopyTask

INTERVAL_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Done:
    """How much is done, of one task or of all."""

    files: int = 0
    bytes: int = 0

    def name(self, task: str) -> str:
        """The name of the directory that says so."""
        return f"{task}.{self.files}.{self.bytes}"

    @classmethod
    def parse(cls, name: str) -> Done:
        """Raises ValueError for a name that says nothing."""
        _, files, count = name.split(".")
        return cls(int(files), int(count))

    def __add__(self, other: Done) -> Done:
        return Done(self.files + other.files, self.bytes + other.bytes)


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
        self._told: str | None = None
        self._next_s = clock() + INTERVAL_S

    @classmethod
    def of_task(cls, fs: FileSystem, directory: str) -> Self:
        """Of the task of Spark that this is; an empty directory is none."""
        from pyspark import TaskContext

        context = TaskContext.get()
        partition = context.partitionId() if context else 0
        unique = context.taskAttemptId() if context else 0
        return cls(fs if directory else None, directory, f"{partition:05}-{unique}")

    def add(self, files: int, count: int) -> None:
        """So many files and bytes more are done."""
        if self._fs is None:
            return
        self._done += Done(files, count)
        if self._clock() < self._next_s:
            return
        self._next_s = self._clock() + INTERVAL_S
        name = paths.join(self._directory, self._done.name(self._task))
        try:
            if self._told is None:
                # In a directory that is there as long as somebody looks.
                self._fs.mkdir(name)
            else:
                self._fs.rename(self._told, name)
            self._told = name
        except (errors.HowdahError, OSError):
            # Nobody's file depends on it; the next second is another chance.
            self._told = None


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
        fs = task.target.connect() if task.reports_progress else None
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
        if self._log is not None:
            self._log.complete()
