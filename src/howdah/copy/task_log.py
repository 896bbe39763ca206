"""The log of a task that copies (`-log`, `-v`): the output of Hadoop's CopyMapper.

Each task writes a file `part-m-NNNNN` in the directory of `-log`, with the lines of Hadoop's
mappers. The file gets its name when the task has ended.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self

from howdah.copy.common.attempt_files import AttemptFile
from howdah.copy.common.filesystems import Place
from howdah.copy.common.task_progress import Gauge
from howdah.copy.options import Options
from howdah.fs import paths


class TaskLog:
    """The log of one attempt at a task, and its gauge; leaving the context completes the log."""

    def __init__(
        self,
        log: AttemptFile | None,
        verbose: bool,
        gauge: Gauge,
    ) -> None:
        self._log = log
        self._verbose = verbose
        self._gauge = gauge

    @classmethod
    def of(
        cls, place: Place | None, options: Options, gauge: Gauge, partition: int, unique: int
    ) -> Self:
        log = None
        if place is not None and options.log_path is not None:
            name = paths.join(paths.parse(options.log_path).path, f"part-m-{partition:05}")
            log = AttemptFile(place.connect(), name, unique)
        return cls(log, options.verbose, gauge)

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
