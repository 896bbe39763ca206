"""The rows of a copy's listing: a file or directory each, with what the target has there (pure).

A row pairs an entry of the source with the one of the same relative path at the target, as both
were when their directories were listed (Hadoop's CopyListingFileStatus). Paths are bytes: names
on HDFS need not be UTF-8, and Arrow's strings must be.
"""

from __future__ import annotations

import enum
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from howdah.copy.common import arrow_rows
from howdah.copy.common.arrow_rows import decode, encode
from howdah.fs.status import FileStatus

if TYPE_CHECKING:
    import pyarrow as pa

WHOLE: Final = -1


class Found(enum.IntEnum):
    """What is at a path of the target."""

    ABSENT = 0
    FILE = 1
    DIRECTORY = 2


class Kind(enum.IntEnum):
    FILE = 0
    DIRECTORY = 1
    MISSING = 2  # at the target only
    PENDING = 3  # a directory to be listed
    MISSING_PENDING = 4  # a directory of the target only, to be listed
    UNREADABLE = 5  # a directory that cannot be listed; the reason is in `owner`
    SUMS = 6  # the sums of a task
    MODIFIED = 7  # by a snapshot report; its status is to be read
    CREATED = 8  # the same, and all below it is to be listed
    FAILED = 10  # the error of a task: class in `group`, message in `owner`
    ROOT = 9  # a source directory, to be listed; it must exist


WAITING: Final = (Kind.PENDING, Kind.MISSING_PENDING, Kind.MODIFIED, Kind.CREATED, Kind.ROOT)
"""Rows that a task has yet to turn into others."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Describes one row. `offset` and `chunk_length` describe a chunk of a file."""

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
    coding_policy: str = ""
    """The erasure coding policy that a file has, or that new files of a directory get."""
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
        """Make the row of a status of the source and a status of the target."""
        target_state = found_of(target)
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
            coding_policy=(status.erasure_coding_policy or "") if status.is_erasure_coded else "",
            target=target_state,
            target_length=target.length if target is not None else 0,
            target_modification_time_ms=target.modification_time_ms if target is not None else 0,
            target_block_size=target.block_size if target is not None else 0,
        )

    @property
    def path(self) -> str:
        return decode(self.source)


def is_other_kind(entry: Entry) -> bool:
    """Whether an entry below the root is a file where the target has a directory, or a directory
    where it has a file."""
    return bool(entry.relative) and (entry.kind, entry.target) in (
        (Kind.FILE, Found.DIRECTORY),
        (Kind.DIRECTORY, Found.FILE),
    )


def fingerprint_of(entry: Entry) -> int:
    """The summand of a file or directory in the fingerprint of a listing: two listings with
    the same sum have the same entries. 0 for rows of other kinds and for further chunks."""
    if entry.kind not in (Kind.FILE, Kind.DIRECTORY) or entry.offset:
        return 0
    return zlib.crc32(entry.relative, zlib.crc32(entry.source, entry.kind)) + 1


@dataclass(slots=True)
class Sums:
    """The sums over rows; the last row of a task that lists has them."""

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
        """The same rows, and a row with the sums at the end."""
        for entry in rows:
            self.count(entry)
            yield entry
        yield self._row()

    def _row(self) -> Entry:
        # The columns are chosen for their types; their names mean nothing here.
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
    "coding_policy string, target int, target_length long, "
    "target_modification_time_ms long, target_block_size long, offset long, "
    "chunk_length long"
)
"""The same for Spark."""


def arrow_schema() -> pa.Schema:
    """The same for Arrow."""
    return arrow_rows.arrow_schema(SCHEMA)


def batches(entries: Iterable[Entry]) -> Iterator[pa.RecordBatch]:
    """Entries as record batches, as a task gives them to Spark."""
    return arrow_rows.batches(map(astuple_of, entries), SCHEMA)


def astuple_of(entry: Entry) -> tuple[Any, ...]:
    """The values of a row in order; `dataclasses.astuple` copies them, which is slow."""
    return tuple(getattr(entry, name) for name in COLUMNS)


def entries(batch: pa.RecordBatch) -> Iterator[Entry]:
    """The entries of a batch that Spark gives to a task."""
    columns = [batch.column(batch.schema.get_field_index(name)).to_pylist() for name in COLUMNS]
    for values in zip(*columns, strict=True):
        yield Entry(*values)


def found_of(status: FileStatus | None) -> Found:
    if status is None:
        return Found.ABSENT
    return Found.DIRECTORY if status.is_directory else Found.FILE


@dataclass(frozen=True, slots=True)
class Totals:
    """The sums of a listing."""

    files: int = 0
    directories: int = 0
    bytes: int = 0
    largest_bytes: int = 0
    missing: int = 0
    rounds: int = 0

    @property
    def has_entries(self) -> bool:
        """Whether there is anything to copy, even an empty directory."""
        return self.files + self.directories > 0
