"""What a caller may ask of a stream beyond bytes, and what it may get back (pure).

Mirrors Hadoop's CreateFlag (with its numbers, which travel in the create and append
requests), the sync flags of HdfsDataOutputStream, FileRange and AbortableResult. They
stand at the bottom of the house, since the streams of the client and the interface
above them both speak of them. Pure: no I/O, no state.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass

from howdah import errors


class CreateFlag(enum.Flag):
    """How a file is created or appended to."""

    NONE = 0
    CREATE = 0x01
    OVERWRITE = 0x02
    APPEND = 0x04
    SYNC_BLOCK = 0x08
    """Every block is forced to disk when it is finished (OS-153)."""
    LAZY_PERSIST = 0x10
    """Replicas may stay in memory for a while; a hint."""
    NEW_BLOCK = 0x20
    """An append begins a new block instead of filling the last one."""
    NO_LOCAL_WRITE = 0x40
    """No replica on the writer's own node; a hint."""
    SHOULD_REPLICATE = 0x80
    """Replicated, even below a directory whose files are erasure coded."""
    IGNORE_CLIENT_LOCALITY = 0x100
    """Replicas are placed as for a writer outside of the cluster; a hint."""


class SyncFlag(enum.Flag):
    """What an `hsync` of an HDFS stream does besides (OS-154)."""

    NONE = 0
    UPDATE_LENGTH = 1
    """The namenode learns the length of the block that is being written."""
    END_BLOCK = 2
    """The block ends here; what follows begins a new one."""


class CopyCheck(enum.Enum):
    """What is to be compared of a copy that a server made."""

    NOTHING = enum.auto()
    LENGTH = enum.auto()
    CHECKSUM = enum.auto()
    """Or an ETag, if it is one."""


@dataclass(frozen=True, slots=True)
class FileRange:
    """A part of a file that a vectored read asks for, in bytes."""

    offset: int
    length: int

    @property
    def end(self) -> int:
        """The first offset behind the range."""
        return self.offset + self.length


def check_ranges(ranges: Iterable[FileRange], file_length: int | None = None) -> None:
    """Refuse ranges that no vectored read can serve, before any is read.

    Raises `ValueError` for a negative number or two ranges that overlap, and `EOFError`
    for a range that goes beyond `file_length`. An empty range overlaps none that begins
    where it is, in whatever order they are given.
    """
    before: FileRange | None = None
    for file_range in sorted(ranges, key=lambda item: (item.offset, item.length)):
        if file_range.offset < 0 or file_range.length < 0:
            raise errors.IllegalArgument(
                f"a range cannot begin at {file_range.offset} and be {file_range.length} bytes long"
            )
        if file_length is not None and file_range.end > file_length:
            raise errors.EndOfFile(
                f"the range of {file_range.length} bytes from {file_range.offset} on ends behind "
                f"the {file_length} bytes of the file"
            )
        if before is not None and file_range.offset < before.end:
            raise errors.IllegalArgument(
                f"ranges may not overlap: {before.length} bytes from {before.offset} on, "
                f"{file_range.length} from {file_range.offset} on"
            )
        before = file_range


@dataclass(frozen=True, slots=True)
class AbortableResult:
    """How giving up a stream went (OS-183).

    `already_closed`: there was nothing to give up any more. `cleanup_error`: what was
    written will never be seen, but something of it could not be removed.
    """

    already_closed: bool
    cleanup_error: Exception | None = None


LARGEST_MODE = 0o1777


def check_mode(mode: int) -> int:
    """The mode bits as they are; raises `IllegalArgument` for bits that HDFS does not have
    (set-user-id and set-group-id are among them) instead of dropping them in silence."""
    if not 0 <= mode <= LARGEST_MODE:
        raise errors.IllegalArgument(
            f"{mode:#o} is no mode: rwx for user, group and others and the sticky bit are all "
            f"there is, up to {LARGEST_MODE:#o}"
        )
    return mode
