"""The task that copies the rows of its partition (Hadoop's CopyMapper).

A task yields one row: its counters, and its error if it failed (`copy.results`). With `-i` files
that cannot be read are counted and skipped. A task can be run again at any point: a file that an
earlier attempt copied is compared like any other file at the target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.copy.common.arrow_rows import decode
from howdah.copy.common.checksums import checksum_of
from howdah.copy.common.failures import FAILURES, CopyFailed, JobOver, ReadFailed
from howdah.copy.common.filesystems import Place
from howdah.copy.common.staging import Staging
from howdah.copy.common.task_errors import is_last
from howdah.copy.common.task_progress import Gauge, gauge_filesystem
from howdah.copy.compare import Action, Decision, FileVersion, Reason, decide
from howdah.copy.copier import COMPOSITE, LENGTH, BandwidthLimit, Copier, CopySettings
from howdah.copy.counters import Counters
from howdah.copy.listing.entries import (
    WHOLE,
    Entry,
    Found,
    Kind,
    entries,
    fingerprint_of,
    found_of,
    is_other_kind,
)
from howdah.copy.options import MEBIBYTE, Options
from howdah.copy.preserving import preserve
from howdah.copy.results import FailureMark, result
from howdah.copy.server_side import ETAG
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.fs.local.checksums import summed_name

if TYPE_CHECKING:
    import pyarrow as pa
from typing import Self

from howdah.copy.common.attempt_files import AttemptFile, log_name

# The log of a task that copies (`-log`, `-v`): the output of Hadoop's CopyMapper.
#
# Each task writes a file `part-m-NNNNN-RUN` in the directory of `-log`, with the lines of Hadoop's
# mappers. The file gets its name when the task has ended. Hadoop's names have no RUN: there a later
# job replaces the logs of an earlier one, and of two jobs at a time one fails.


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
        cls,
        place: Place | None,
        options: Options,
        gauge: Gauge,
        partition: int,
        unique: int,
        run: str,
    ) -> Self:
        log = None
        if place is not None and options.log_path is not None:
            directory = paths.parse(options.log_path).path
            name = log_name(paths.join(directory, f"part-m-{partition:05}"), run)
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
            self._log.out.write(paths.printable(text).encode() + b"\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._gauge.close()
        if self._log is not None:
            self._log.complete()


FAILED_PART: Final = "failed"
"""A name beside the chunks of a file: one chunk could not be read, and `-i` ignores that."""


@dataclass(frozen=True, slots=True)
class CopyTask:
    """The task, as a value that travels to executors; called with the rows of its partition."""

    sources: tuple[Place, ...]
    target: Place
    target_path: str
    options: Options
    staging: Staging
    replaces_file: bool = False
    log: Place | None = None
    reports_progress: bool = False
    combine_mode: str = COMPOSITE
    most_attempts: int = 1
    """How often Spark runs a task."""
    replaces_kinds: bool = False
    """Whether files that the listing found in place of directories, and directories in place of
    files, have been deleted since."""

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        partition = context.partitionId() if context else 0
        attempt = context.attemptNumber() if context else 0
        unique = context.taskAttemptId() if context else 0
        mark = FailureMark(self.target.connect(), self.staging.failed)
        over = FailureMark(self.target.connect(), self.staging.over)

        def confirm() -> None:
            if over.is_set:
                raise JobOver(f"{self.staging.over} says that this job may not go on")

        run: Attempt | None = None
        failure: Exception | None = None
        try:
            with self.task_log(partition, unique) as log:
                run = Attempt(self, partition, attempt, unique, log, confirm)
                for batch in given:
                    for entry in entries(batch):
                        if mark.is_set:
                            break
                        run.handle(entry)
        except FAILURES as error:
            if not is_last(error, self.most_attempts):
                raise
            failure = error
            mark.set(error)
        counters = Counters() if run is None else run.finish()
        yield result(counters, 0 if run is None else run.fingerprint, failure)

    def task_log(self, partition: int, unique: int) -> TaskLog:
        """The log of this attempt, with the gauge of its progress."""
        fs = gauge_filesystem(self.target) if self.reports_progress else None
        gauge = Gauge(fs, self.staging.progress, f"{partition:05}-{unique}")
        return TaskLog.of(self.log, self.options, gauge, partition, unique, self.staging.run)


class Attempt:
    """The state of one attempt at a task. Knows nothing of Spark: a mirror's processes have it
    as well."""

    def __init__(
        self,
        task: CopyTask,
        partition: int,
        attempt: int,
        unique: int,
        log: TaskLog,
        confirm: Callable[[], None] = lambda: None,
    ) -> None:
        self._task = task
        self._options = task.options
        self._sources = [place.connect() for place in task.sources]
        self._fs = task.target.connect()
        self._is_repeated = attempt > 0
        self.fingerprint = 0
        self._counters = Counters()
        self._log = log
        rate_mb = task.options.bandwidth_mb
        self._limit = BandwidthLimit(None if rate_mb is None else rate_mb * MEBIBYTE)
        self._copier = Copier(
            self._fs,
            CopySettings(
                preserve=task.options.preserve,
                skip_crc=task.options.skip_crc,
                direct=task.options.direct,
                buffer_bytes=task.options.buffer_bytes,
                place=task.target,
            ),
            _numbered(task.staging, partition, unique),
            self._limit,
            log.moved,
            confirm=confirm,
        )

    def finish(self) -> Counters:
        self._counters.sleep_time_ms = int(self._limit.slept_s * 1000)
        self._counters.files_retried += self._copier.retries
        return self._counters

    def handle(self, entry: Entry) -> None:
        """Copy the file or directory of a row and count it, or raise."""
        self.fingerprint += fingerprint_of(entry)
        if self._task.replaces_kinds and is_other_kind(entry):
            entry = replace(entry, target=Found.ABSENT)
        target = (self._task.target_path + decode(entry.relative)) or "/"
        try:
            if entry.kind == Kind.UNREADABLE:
                raise ReadFailed(f"Cannot list {self._source_uri(entry)}: {entry.owner}")
            if self._fs.scheme == "file":
                self._check_name(entry, target)
            if entry.kind == Kind.DIRECTORY:
                self._directory(entry, target)
            else:
                self._file(self._sources[entry.filesystem], entry, target)
        except ReadFailed as error:
            if not self._options.ignore_failures:
                raise
            if entry.chunk_length == WHOLE:
                self._counters.files_failed += 1
                self._counters.bytes_failed += entry.length
            else:
                # The task that joins the chunks counts the file.
                self._counters.bytes_failed += entry.chunk_length
                self._chunks_of(entry, marked_failed=True)
            self._log.failed(self._source_uri(entry), str(error))

    def _check_name(self, entry: Entry, target: str) -> None:
        """Refuse `.a.crc` beside `a` on `file://`: the checksum file of `a` has that name."""
        summed = summed_name(paths.name_of(target))
        if summed is None:
            return
        source = paths.join(paths.parent_of(entry.path) or "/", summed)
        there = paths.join(paths.parent_of(target) or "/", summed)
        if self._sources[entry.filesystem].exists(source) or self._fs.exists(there):
            raise CopyFailed(
                f"Cannot copy {self._source_uri(entry)} to {self._fs.uri}{target}: "
                f"the checksums of {summed} have that name; leave it out with -filters"
            )

    def _directory(self, entry: Entry, target: str) -> None:
        if entry.target == Found.FILE:
            raise self._cannot_replace(target, "file", "dir")
        if entry.target == Found.ABSENT:
            try:
                self._fs.mkdirs(target)
            except (errors.HowdahError, OSError) as error:
                raise CopyFailed(f"mkdir failed for {self._fs.uri}{target}: {error}") from error
        self._counters.directories_copied += 1

    def _file(self, source_fs: FileSystem, entry: Entry, target: str) -> None:
        if self._is_repeated:
            entry = self._as_it_is_now(entry, target)
        if entry.target == Found.DIRECTORY:
            raise self._cannot_replace(target, "dir", "file")
        decision = decision_of(self._task, source_fs, self._fs, entry, target)
        is_first = entry.offset == 0
        if decision.action is Action.SKIP:
            if is_first:
                self._skip(source_fs, entry, target, decision)
            return
        if decision.action is Action.APPEND:
            copied, count = entry.length, entry.length - entry.target_length
            why = self._copier.append(source_fs, entry, target)
            if why is not None:
                self._log.failed(f"{self._fs.uri}{target}", f"{why}; the whole file is copied")
                copied = count = self._copier.copy(source_fs, entry, target).length
                self._counters.files_retried += 1
        elif entry.chunk_length != WHOLE:
            part = f"{self._chunks_of(entry)}/{entry.offset:020}"
            self._copier.copy(source_fs, entry, part)
            copied = count = entry.chunk_length
        else:
            copied = count = self._copier.copy(source_fs, entry, target).length
        how = self._copier.verified_by
        if entry.chunk_length == WHOLE:
            self._counters.files_copied += 1
            self._counters.verified_by_checksum += how not in (LENGTH, ETAG)
            self._counters.verified_by_etag += how == ETAG
            self._counters.verified_by_length += how == LENGTH
            self._counters.copied_by_server += self._copier.is_by_server
            self._counters.refused_by_server += bool(self._copier.why_not_by_server)
        self._counters.bytes_expected += copied
        self._counters.bytes_copied += count
        if is_first:
            uri = self._source_uri(entry)
            why = f"{decision.reason.value}; {self._outcome_text()}"
            self._log.copied(uri, entry.length, self._fs.uri + target, why)

    def _outcome_text(self) -> str:
        """How the file that was copied last was copied and verified."""
        how = self._copier.verified_by
        if self._copier.is_by_server:
            same = how if how == LENGTH else f"length and {how}"
            return f"copied by the store; {same} are the source's"
        why_not = self._copier.why_not_by_server
        by_here = f"copied by way of this machine ({why_not}); " if why_not else ""
        return f"{by_here}verified by {how}"

    def _chunks_of(self, entry: Entry, marked_failed: bool = False) -> str:
        """Create the directory for the chunks of a file."""
        path = self._task.staging.chunks(entry.relative)
        try:
            self._fs.mkdir(path)
        except errors.PathExists:
            pass  # another chunk's task created it
        if marked_failed:
            self._fs.create(f"{path}/{FAILED_PART}", overwrite=True).close()
        return path

    def _skip(self, source_fs: FileSystem, entry: Entry, target: str, decision: Decision) -> None:
        self._counters.files_skipped += 1
        # In an atomic copy only an earlier attempt can have written the file.
        own = self._options.atomic
        self._counters.bytes_skipped += entry.target_length if own else entry.length
        self._counters.skipped_by_checksum += decision.reason is Reason.CHECKSUM_EQUAL
        self._counters.skipped_by_time += decision.reason is Reason.NOT_NEWER
        self._log.skipped(
            self._source_uri(entry),
            entry.length,
            self._fs.uri + target,
            entry.target_length,
            decision.reason.value,
        )
        preserve(source_fs, entry, self._fs, target, self._options.preserve)

    def _as_it_is_now(self, entry: Entry, target: str) -> Entry:
        """The entry with the target's present status: an earlier attempt may have copied it."""
        if self._options.direct and entry.target == Found.ABSENT:
            return entry  # a file that exists now may be incomplete
        try:
            status = self._fs.get_file_status(target)
        except (errors.PathNotFound, errors.ParentNotDirectory):
            return replace(entry, target=Found.ABSENT)
        return replace(
            entry,
            target=found_of(status),
            target_length=status.length,
            target_modification_time_ms=status.modification_time_ms,
            target_block_size=status.block_size,
        )

    def _source_uri(self, entry: Entry) -> str:
        return self._sources[entry.filesystem].uri + entry.path

    def _cannot_replace(self, target: str, there: str, here: str) -> CopyFailed:
        return CopyFailed(
            f"Can't replace {self._fs.uri}{target}. Target is {there}, Source is {here}"
        )


def decision_of(
    task: CopyTask, source_fs: FileSystem, fs: FileSystem, entry: Entry, target: str
) -> Decision:
    """Decide what to do with a file, by the listing and, if needed, by checksums."""
    there = None
    if entry.target == Found.FILE:
        there = FileVersion(
            entry.target_length, entry.target_modification_time_ms, entry.target_block_size
        )
        if task.replaces_file:
            return Decision(Action.COPY, Reason.OVERWRITE)
        if task.options.by_snapshots and task.options.dry_run:
            # A dry run moves nothing, so the file is not yet the one to compare with.
            return Decision(Action.COPY, Reason.REPORTED)
    here = FileVersion(entry.length, entry.modification_time_ms, entry.block_size)

    def checksums(length: int | None) -> bool | None:
        theirs = checksum_of(fs, target, task.combine_mode)
        if theirs is None:
            return None
        try:
            ours = checksum_of(source_fs, entry.path, task.combine_mode, length)
        except (errors.HowdahError, OSError) as error:
            raise ReadFailed(f"Cannot read {source_fs.uri}{entry.path}: {error}") from error
        if ours is None or ours.algorithm != theirs.algorithm:
            return None
        return ours.bytes == theirs.bytes

    return decide(here, there, task.options, checksums)


def _numbered(staging: Staging, partition: int, unique: int) -> Callable[[], str]:
    number = 0

    def following() -> str:
        nonlocal number
        number += 1
        return staging.file(partition, unique, number)

    return following
