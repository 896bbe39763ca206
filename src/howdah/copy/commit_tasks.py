"""The tasks that finish a copy: join chunks, delete, set attributes (Hadoop's CopyCommitter).

All are tasks over rows of the listing.

* The chunks of a file (`-blocksperchunk`) are joined by `concat`, compared with the source, and
  renamed to the file's name. A file without chunks must be one that was skipped.
* Entries at the target only are deleted (`-delete`), or moved to the trash if there is one.
* Directories get their attributes (`-p`) last, since copying into them changes their times, and
  since a mode may forbid it. A directory that its owner may not enter comes after all entries
  below it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.copy.common.arrow_rows import decode
from howdah.copy.common.attempt_files import attempt_file, attempt_id
from howdah.copy.common.checksums import checksum_of
from howdah.copy.common.failures import CopyFailed, SourceChanged
from howdah.copy.common.filesystems import Place
from howdah.copy.compare import Action
from howdah.copy.copier import COMPOSITE
from howdah.copy.counters import Counters
from howdah.copy.listing.entries import Entry, Found, entries
from howdah.copy.preserving import preserve
from howdah.copy.results import result_of
from howdah.copy.tasks import FAILED_PART, CopyTask, decision_of
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.fs.status import FileStatus
from howdah.fs.trash import Trash

if TYPE_CHECKING:
    import pyarrow as pa

OWNER_ENTERS: Final = 0o700


@dataclass(frozen=True, slots=True)
class JoinTask:
    """Joins the chunks of files; its rows are the files."""

    copy: CopyTask

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        def work(counters: Counters) -> None:
            fs = self.copy.target.connect()
            sources = [place.connect() for place in self.copy.sources]
            for batch in given:
                for entry in entries(batch):
                    self._file(sources[entry.filesystem], fs, entry, counters)

        yield from result_of(work, self.copy.most_attempts)

    def _file(
        self, source_fs: FileSystem, fs: FileSystem, entry: Entry, counters: Counters
    ) -> None:
        directory = self.copy.staging.chunks(entry.relative)
        target = self.copy.target_path + decode(entry.relative)
        try:
            parts = sorted(fs.list_status(directory), key=lambda status: status.path)
        except errors.PathNotFound as error:
            if not self._is_left_out(source_fs, fs, entry, target):
                raise CopyFailed(
                    f"All parts of {fs.uri}{target} are gone from {directory}: somebody has "
                    "removed them"
                ) from error
            return
        if any(part.name == FAILED_PART for part in parts):
            counters.files_failed += 1
            return
        if parts or not _has_length(fs, target, entry.length):
            is_by_checksum = self._join(source_fs, fs, entry, parts, target)
            counters.verified_by_checksum += is_by_checksum
            counters.verified_by_length += not is_by_checksum
        # Otherwise an earlier attempt has joined it.
        counters.files_copied += 1

    def _is_left_out(
        self, source_fs: FileSystem, fs: FileSystem, entry: Entry, target: str
    ) -> bool:
        """Whether the file was skipped, and still would be."""
        decision = decision_of(self.copy, source_fs, fs, entry, target)
        return decision.action is Action.SKIP and fs.exists(target)

    def _join(
        self,
        source_fs: FileSystem,
        fs: FileSystem,
        entry: Entry,
        parts: list[FileStatus],
        target: str,
    ) -> bool:
        """Whether the file was held against the checksum of its source; else against its
        length."""
        there = sum(part.length for part in parts)
        if there != entry.length:
            raise CopyFailed(
                f"Parts of {fs.uri}{target} are gone: there are {there} bytes of {entry.length}"
            )
        first, *rest = (part.path for part in parts)
        if rest:
            fs.concat(first, rest)
        is_by_checksum = self._check(source_fs, fs, entry, first)
        preserve(source_fs, entry, fs, first, self.copy.options.preserve)
        fs.mkdirs(paths.parent_of(target) or paths.SEPARATOR)
        fs.rename(first, target, overwrite=True)
        return is_by_checksum

    def _check(self, source_fs: FileSystem, fs: FileSystem, entry: Entry, path: str) -> bool:
        now = source_fs.get_file_status(entry.path)
        if (now.length, now.modification_time_ms) != (entry.length, entry.modification_time_ms):
            raise SourceChanged(f"{source_fs.uri}{entry.path} is being changed while it is copied")
        if self.copy.options.skip_crc:
            return False
        here = checksum_of(source_fs, entry.path, COMPOSITE)
        there = checksum_of(fs, path, COMPOSITE)
        if here is None or there is None or here.algorithm != there.algorithm:
            return False
        if here.bytes != there.bytes:
            raise CopyFailed(
                f"Checksum mismatch between {source_fs.uri}{entry.path} and {fs.uri}{path}."
            )
        return True


def _has_length(fs: FileSystem, path: str, length: int) -> bool:
    try:
        return fs.get_file_status(path).length == length
    except errors.PathNotFound:
        return False


@dataclass(frozen=True, slots=True)
class DeleteTask:
    """Deletes entries that are at the target only."""

    target: Place
    target_path: str
    to_trash: bool
    ignore_failures: bool

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        def work(counters: Counters) -> None:
            fs = self.target.connect()
            trash = Trash(fs, now=time.time)
            for batch in given:
                for entry in entries(batch):
                    self.remove(fs, trash, entry, counters)

        yield from result_of(work)

    def remove(self, fs: FileSystem, trash: Trash, entry: Entry, counters: Counters) -> None:
        """Delete one entry, and count it. Raises `CopyFailed`."""
        path = self.target_path + decode(entry.relative)
        try:
            counters.entries_deleted += self._delete(fs, trash, path)
        except (errors.HowdahError, OSError) as error:
            if not self.ignore_failures:
                raise CopyFailed(f"Unable to delete {fs.uri}{path}: {error}") from error
            counters.files_failed += 1

    def _delete(self, fs: FileSystem, trash: Trash, path: str) -> bool:
        if not self.to_trash:
            return fs.delete(path, recursive=True)
        try:
            return trash.move(path) is not None  # What is in the trash already stays there.
        except errors.PathNotFound:
            return False  # deleted already, by another attempt or another user


@dataclass(frozen=True, slots=True)
class AttributesTask:
    """Preserves the attributes of directories."""

    copy: CopyTask
    target_path: str

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        def work(_: Counters) -> None:
            fs = self.copy.target.connect()
            sources = [place.connect() for place in self.copy.sources]
            for batch in given:
                for entry in entries(batch):
                    if entry.target != Found.FILE or self.copy.replaces_kinds:
                        self.give(sources[entry.filesystem], fs, entry)

        yield from result_of(work)

    def give(self, source_fs: FileSystem, fs: FileSystem, entry: Entry) -> None:
        """Preserve the attributes of one directory. Raises `CopyFailed`."""
        path = (self.target_path + decode(entry.relative)) or paths.SEPARATOR
        try:
            preserve(source_fs, entry, fs, path, self.copy.options.preserve)
        except (errors.HowdahError, OSError) as error:
            raise CopyFailed(
                f"Cannot preserve the attributes of {source_fs.uri}{entry.path} "
                f"at {fs.uri}{path}: {error}"
            ) from error


@dataclass(frozen=True, slots=True)
class TrackTask:
    """Writes the entries that are at the target only (`-xtrack`), a line of JSON for each."""

    target: Place
    target_path: str
    track: Place
    track_path: str

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        def work(_: Counters) -> None:
            with attempt_file(self.track.connect(), self._name(), attempt_id()) as out:
                for batch in given:
                    for entry in entries(batch):
                        out.write(self._line(entry))

        yield from result_of(work)

    def _name(self) -> str:
        from pyspark import TaskContext

        context = TaskContext.get()
        number = context.partitionId() if context else 0
        return paths.join(self.track_path, f"missing-{number:05}.jsonl")

    def _line(self, entry: Entry) -> bytes:
        line = {
            "path": self.target.connect().uri + self.target_path + decode(entry.relative),
            "is_directory": entry.target == Found.DIRECTORY,
            "length": entry.target_length,
            "modification_time_ms": entry.target_modification_time_ms,
        }
        return json.dumps(line).encode() + b"\n"
