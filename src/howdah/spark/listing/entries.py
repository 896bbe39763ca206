"""The rows that a copy is planned in: one for each thing to copy, with what the target has.

A row pairs an entry of the source with that of the same place at the target, as both
were when their directories were listed. Paths are bytes: names on HDFS need not be
UTF-8, and Arrow's strings have to be.
"""

from __future__ import annotations

import enum
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from howdah.fs.status import FileStatus
from howdah.spark.common import rows
from howdah.spark.common.rows import decode, encode

if TYPE_CHECKING:
    import pyarrow as pa

WHOLE: Final = -1


class Found(enum.IntEnum):
    """What is at a path."""

    ABSENT = 0
    FILE = 1
    DIRECTORY = 2


class Kind(enum.IntEnum):
    FILE = 0
    DIRECTORY = 1
    MISSING = 2  # only the target has it
    PENDING = 3  # a directory that is still to be listed
    MISSING_PENDING = 4  # a directory of the target alone, to be listed
    UNREADABLE = 5  # a directory that cannot be listed; `owner` says why
    SUMS = 6  # the totals of a task that has listed
    MODIFIED = 7  # by a report on snapshots, to be looked at
    CREATED = 8  # the same, with all that is below it
    FAILED = 10  # what a task failed by: class in `group`, message in `owner`
    ROOT = 9  # a directory that was named, to be listed: it has to be there


WAITING: Final = (Kind.PENDING, Kind.MISSING_PENDING, Kind.MODIFIED, Kind.CREATED, Kind.ROOT)
"""Rows of which a task has yet to make others."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One row. `offset` and `chunk_length` are those of a part of a file."""

    kind: int
    filesystem: int
    source: bytes
    relative: bytes
    length: int = 0
    modification_time_ms: int = 0
    access_time_ms: int = 0
    permission: int = 0
    owner: str = ""
    group: str = ""
    replication: int = 0
    block_size: int = 0
    has_acl: bool = False
    erasure_coded: bool = False
    target: int = Found.ABSENT
    target_length: int = 0
    target_modification_time_ms: int = 0
    target_block_size: int = 0
    offset: int = 0
    chunk_length: int = WHOLE

    @classmethod
    def of(
        cls,
        kind: Kind,
        filesystem: int,
        status: FileStatus,
        relative: bytes,
        target: FileStatus | None,
    ) -> Entry:
        """The row of what `status` says of the source and `target` of the target."""
        found = found_of(target)
        return cls(
            kind=kind,
            filesystem=filesystem,
            source=encode(status.path),
            relative=relative,
            length=status.length,
            modification_time_ms=status.modification_time_ms,
            access_time_ms=status.access_time_ms,
            permission=status.permission,
            owner=status.owner,
            group=status.group,
            replication=status.replication,
            block_size=status.block_size,
            has_acl=status.has_acl,
            erasure_coded=status.erasure_coding_policy is not None,
            target=found,
            target_length=target.length if target is not None else 0,
            target_modification_time_ms=target.modification_time_ms if target is not None else 0,
            target_block_size=target.block_size if target is not None else 0,
        )

    @property
    def path(self) -> str:
        return decode(self.source)


def fingerprint_of(entry: Entry) -> int:
    """What stands for a file or directory in the sum that tells whether two lists are of
    the same things; 0 for what is no thing of its own."""
    if entry.kind not in (Kind.FILE, Kind.DIRECTORY) or entry.offset:
        return 0
    return zlib.crc32(entry.relative, zlib.crc32(entry.source, entry.kind)) + 1


@dataclass(slots=True)
class Sums:
    """What is among rows; a task that has listed ends with a row that says it."""

    files: int = 0
    directories: int = 0
    bytes: int = 0
    largest_bytes: int = 0
    missing: int = 0
    pending: int = 0
    fingerprint: int = 0

    def count(self, entry: Entry) -> None:
        self.fingerprint += fingerprint_of(entry)
        match entry.kind:
            case Kind.FILE:
                self.files += 1
                self.bytes += entry.length
                self.largest_bytes = max(self.largest_bytes, entry.length)
            case Kind.DIRECTORY:
                self.directories += 1
            case Kind.MISSING:
                self.missing += 1
            case kind if kind in WAITING:
                self.pending += 1

    def counting(self, rows: Iterable[Entry]) -> Iterator[Entry]:
        """The same rows, and one more."""
        for entry in rows:
            self.count(entry)
            yield entry
        yield self._row()

    def _row(self) -> Entry:
        # In columns of numbers, whatever those are called.
        return Entry(
            Kind.SUMS,
            0,
            b"",
            b"",
            length=self.files,
            modification_time_ms=self.directories,
            access_time_ms=self.bytes,
            block_size=self.largest_bytes,
            target_length=self.missing,
            target_modification_time_ms=self.fingerprint,
            offset=self.pending,
        )

    @classmethod
    def of_row(cls, row: Mapping[str, int]) -> Sums:
        return cls(
            files=row["length"],
            directories=row["modification_time_ms"],
            bytes=row["access_time_ms"],
            largest_bytes=row["block_size"],
            missing=row["target_length"],
            pending=row["offset"],
            fingerprint=row["target_modification_time_ms"],
        )

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.files + other.files,
            self.directories + other.directories,
            self.bytes + other.bytes,
            max(self.largest_bytes, other.largest_bytes),
            self.missing + other.missing,
            self.pending + other.pending,
            self.fingerprint + other.fingerprint,
        )


COLUMNS: Final = tuple(field.name for field in fields(Entry))
SCHEMA: Final = (
    "kind int, filesystem int, source binary, relative binary, length long, "
    "modification_time_ms long, access_time_ms long, permission int, owner string, "
    "`group` string, replication int, block_size long, has_acl boolean, "
    "erasure_coded boolean, target int, target_length long, "
    "target_modification_time_ms long, target_block_size long, offset long, "
    "chunk_length long"
)
"""The same for Spark."""


def arrow_schema() -> pa.Schema:
    """The same for Arrow."""
    return rows.arrow_schema(SCHEMA)


def batches(entries: Iterable[Entry]) -> Iterator[pa.RecordBatch]:
    """Rows as Spark takes them from a task."""
    return rows.batches(map(astuple_of, entries), SCHEMA)


def astuple_of(entry: Entry) -> tuple[Any, ...]:
    """The values of a row in order; `dataclasses.astuple` copies them, which is slow."""
    return tuple(getattr(entry, name) for name in COLUMNS)


def entries(batch: pa.RecordBatch) -> Iterator[Entry]:
    """The rows of a batch that Spark gives to a task."""
    columns = [batch.column(batch.schema.get_field_index(name)).to_pylist() for name in COLUMNS]
    for values in zip(*columns, strict=True):
        yield Entry(*values)


def found_of(status: FileStatus | None) -> Found:
    if status is None:
        return Found.ABSENT
    return Found.DIRECTORY if status.is_directory else Found.FILE
