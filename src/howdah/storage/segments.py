"""The files of an edit log: their names, writing one, and mending what a crash left.

Mirrors the part of a namenode's `current` directory that is the log:

    edits_0000000000000000001-0000000000000000042    finished, transactions 1 to 42
    edits_inprogress_0000000000000000043             being written, from 43 on

This is the shell around `segment_scan`. One `SegmentWriter` writes one segment
in one directory; which directories there are and how many of them have to answer
is the journal's affair.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.formats.edits.codec import LAYOUT_VERSION, MAX_RECORD_BYTES
from howdah.formats.edits.segment_scan import (
    FILL,
    HEADER_BYTES,
    PlacedEdit,
    SegmentEnd,
    SegmentReader,
    decode_header,
    encode_header,
)
from howdah.runtime import disk
from howdah.runtime.atomic_files import fsync_directory, rename_durably, replace_file

PREALLOCATION_BYTES: Final = 1 << 20
"""Space is taken in steps of this size, so that a sync seldom has to write the
file's length too."""

_COPY_BYTES: Final = 1 << 20

_FINISHED: Final = re.compile(r"edits_(\d+)-(\d+)", re.ASCII)
_IN_PROGRESS: Final = re.compile(r"edits_inprogress_(\d+)", re.ASCII)


def finished_name(first_txid: int, last_txid: int) -> str:
    return f"edits_{first_txid:019d}-{last_txid:019d}"


def in_progress_name(first_txid: int) -> str:
    return f"edits_inprogress_{first_txid:019d}"


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment file; `last_txid` is None while it is being written."""

    first_txid: int
    last_txid: int | None
    path: Path

    @property
    def in_progress(self) -> bool:
        return self.last_txid is None


def parse_name(path: Path) -> Segment | None:
    """The segment that a file's name speaks of; None if it is no segment's name."""
    if match := _FINISHED.fullmatch(path.name):
        return Segment(int(match[1]), int(match[2]), path)
    if match := _IN_PROGRESS.fullmatch(path.name):
        return Segment(int(match[1]), None, path)
    return None


def list_segments(directory: Path) -> list[Segment]:
    """Return all segments in a directory, by first transaction."""
    segments = [segment for path in directory.iterdir() if (segment := parse_name(path))]
    return sorted(segments, key=lambda segment: (segment.first_txid, segment.in_progress))


def read_segment(
    segment: Segment, *, max_record_bytes: int = MAX_RECORD_BYTES
) -> Iterator[PlacedEdit]:
    """The edits of one segment. A torn tail of one in progress is passed over.

    Raises `CorruptEditLog`, `UnsupportedOperation`, `IncorrectVersion`.
    """
    with open(segment.path, "rb", buffering=0) as file:
        yield from SegmentReader(
            file,
            str(segment.path),
            first_txid=segment.first_txid,
            last_txid=segment.last_txid,
            max_record_bytes=max_record_bytes,
        )


def scan_segment(segment: Segment, *, max_record_bytes: int = MAX_RECORD_BYTES) -> SegmentEnd:
    """Where a segment ends, its framing, checksums and transaction ids checked."""
    with open(segment.path, "rb", buffering=0) as file:
        return SegmentReader(
            file,
            str(segment.path),
            first_txid=segment.first_txid,
            last_txid=segment.last_txid,
            max_record_bytes=max_record_bytes,
        ).scan()


def recover_segment(
    segment: Segment, *, max_record_bytes: int = MAX_RECORD_BYTES
) -> tuple[Segment | None, SegmentEnd]:
    """Finishes a segment that a dead namenode was writing.

    A torn tail is copied to `….torn` beside it and cut. A segment without a single
    whole transaction is set aside as `….empty`, and the result is None. Otherwise
    the file gets its final name. Raises `CorruptEditLog` if it is damaged, and has
    then changed nothing.
    """
    assert segment.in_progress, "a finished segment is not recovered"
    end = scan_segment(segment, max_record_bytes=max_record_bytes)
    if end.last_txid is None:
        disk.rename(segment.path, _beside(segment.path, ".empty"))
        fsync_directory(segment.path.parent)
        return None, end
    descriptor = disk.open_file(segment.path, os.O_RDWR)
    try:
        if end.torn_bytes:
            tail = os.pread(descriptor, end.torn_bytes, end.valid_bytes)
            replace_file(_beside(segment.path, ".torn"), tail)
        write_again(descriptor, end.valid_bytes, segment.path)
        disk.truncate(descriptor, end.valid_bytes, segment.path)
        disk.sync(descriptor, segment.path)
    finally:
        os.close(descriptor)
    finished = segment.path.with_name(finished_name(segment.first_txid, end.last_txid))
    rename_durably(segment.path, finished)
    return Segment(segment.first_txid, end.last_txid, finished), end


def write_again(descriptor: int, length_bytes: int, path: Path) -> None:
    """Have the next sync write the first bytes of a file, whatever became of them before.

    A sync that failed may leave pages in memory that the disk lacks, and that count as written:
    a later sync passes them over, also that of a later process. As the bytes stay the same, it
    takes no space, and a crash in between does no harm.
    """
    for start in range(0, length_bytes, _COPY_BYTES):
        piece = os.pread(descriptor, min(_COPY_BYTES, length_bytes - start), start)
        disk.write(descriptor, piece, start, path)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


class SegmentWriter:
    """Writes one segment. `append` collects, `sync` makes durable, `finalize` names.

    `append` may be called by one thread while another is in `sync`; what was
    appended before `sync` was called is durable when it returns. After a failed
    write or sync nothing is known about what the disk has, so `sync` and `finalize`
    fail from then on, and the journal has to do without this directory. `append`
    does not: whoever appends has applied the edit, and is not the one to tell.
    """

    def __init__(
        self,
        directory: Path,
        first_txid: int,
        *,
        layout_version: int = LAYOUT_VERSION,
        preallocation_bytes: int = PREALLOCATION_BYTES,
        goes_on_at: int | None = None,
    ) -> None:
        """Creates the file with its header, durably. With `goes_on_at` the file is there, with
        so many bytes of header and whole records: what is behind them is cut off, durably, and
        the layout version is the header's.

        Raises `InconsistentStorage` if it is there already, or is not there to go on with.
        """
        self.directory = directory
        self.first_txid = first_txid
        self.path = directory / in_progress_name(first_txid)
        self._preallocation_bytes = preallocation_bytes
        # A deque, since its append and popleft are atomic between threads.
        self._pending: deque[bytes] = deque()
        self._written_bytes = 0
        self._synced_bytes = 0
        self._allocated_bytes = 0
        self._past_cache: int | None = None
        self._failure: OSError | None = None
        self._untold: OSError | None = None
        self._descriptor: int | None = self._open_file(creates=goes_on_at is None)
        try:
            if goes_on_at is None:
                self.layout_version = layout_version
                self.append(encode_header(layout_version))
                self.sync()
                fsync_directory(directory)
            else:
                self.layout_version = self._cut_to(goes_on_at)
        except OSError:
            self.close()
            raise

    def _open_file(self, *, creates: bool) -> int:
        try:
            return disk.open_file(self.path, os.O_RDWR | (os.O_CREAT | os.O_EXCL if creates else 0))
        except FileExistsError as error:
            raise errors.InconsistentStorage(
                f"Edit log segment {self.path} exists already; recover it first"
            ) from error
        except FileNotFoundError as error:
            raise errors.InconsistentStorage(
                f"Edit log segment {self.path} is gone; nobody can go on with it"
            ) from error

    def _cut_to(self, valid_bytes: int) -> int:
        """Leave header and whole records, and say of which layout they are."""
        descriptor = self._usable()
        header = os.pread(descriptor, HEADER_BYTES, 0)
        if valid_bytes < HEADER_BYTES or len(header) < HEADER_BYTES:
            raise errors.InconsistentStorage(
                f"Edit log segment {self.path} has no header; nobody can go on with it"
            )
        disk.truncate(descriptor, valid_bytes, self.path)
        disk.sync(descriptor, self.path)
        self._written_bytes = self._synced_bytes = self._allocated_bytes = valid_bytes
        return decode_header(header)

    @property
    def written_bytes(self) -> int:
        """Length of the part that has been written; the file is longer."""
        return self._written_bytes

    def append(self, records: bytes) -> None:
        """Adds whole records, to be written by the next `sync`.

        Raises `ClosedStream`, and nothing else.
        """
        if self._descriptor is None:
            raise errors.ClosedStream(f"Edit log segment {self.path} is closed")
        if self._failure is None:
            self._pending.append(records)

    def sync(self) -> None:
        """Writes what is pending and waits until the disk has it.

        Raises `OSError` as the system gave it; the writer is unusable then.
        """
        descriptor = self._usable()
        try:
            self._write_pending(descriptor)
            written_bytes = self._written_bytes
            if self._synced_bytes < written_bytes:
                disk.sync_data(descriptor, self.path)
                self._synced_bytes = written_bytes
        except OSError as error:
            self._failure = error
            raise

    def write(self) -> None:
        """Writes what is pending, for others to read. It is durable with the next `sync`.

        Raises `OSError` as `sync` does.
        """
        descriptor = self._usable()
        try:
            self._write_pending(descriptor)
        except OSError as error:
            self._failure = error
            raise

    def finalize(self, last_txid: int) -> Path:
        """Ends the segment, whose last record has `last_txid`: cuts the fill, and
        gives the file its final name. Durable on return."""
        descriptor = self._usable()
        assert last_txid >= self.first_txid, "a segment has at least one transaction"
        try:
            self._write_pending(descriptor)
            disk.truncate(descriptor, self._written_bytes, self.path)
            disk.sync(descriptor, self.path)
            finished = self.directory / finished_name(self.first_txid, last_txid)
            rename_durably(self.path, finished)
        except OSError as error:
            self._failure = error
            raise
        self.close()
        return finished

    def lend(self) -> tuple[int, int, int, int] | None:
        """The descriptor, one past the page cache or -1, how many bytes are durable, and for
        how many there is space: for one who writes behind them until `take_back`. None while
        something is pending here."""
        if self._descriptor is None or self._failure is not None or self._pending:
            return None
        if self._synced_bytes != self._written_bytes:
            return None
        if self._past_cache is None:
            self._past_cache = self._open_past_cache(self._descriptor)
        return self._descriptor, self._past_cache, self._written_bytes, self._allocated_bytes

    def _open_past_cache(self, descriptor: int) -> int:
        """Open the file past the cache; return -1 if that is another file: somebody may have moved
        it, and put another in its place."""
        past_cache = disk.open_past_cache(self.path)
        if past_cache >= 0 and not os.path.sameopenfile(past_cache, descriptor):
            os.close(past_cache)
            return -1
        return past_cache

    def take_back(self, written_bytes: int, allocated_bytes: int) -> None:
        """So much is durable, and there is space for so much. What lies between may be
        anything: it is written next."""
        assert written_bytes >= self._written_bytes, "a segment only grows"
        self._written_bytes = self._synced_bytes = written_bytes
        self._allocated_bytes = allocated_bytes

    def has_failed(self, error: OSError) -> None:
        """Whom it was lent to could not write or sync. The next `sync` raises the error."""
        self._failure = self._untold = error

    def close(self) -> None:
        """Closes the file and leaves it as it is, in progress; what is pending is lost."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        if self._past_cache is not None and self._past_cache >= 0:
            os.close(self._past_cache)
        self._past_cache = None

    def _usable(self) -> int:
        if self._failure is not None:
            if self._untold is not None:
                error, self._untold = self._untold, None
                raise error
            raise OSError(
                self._failure.errno,
                f"Edit log segment {self.path} is unusable since a write failed: {self._failure}",
            )
        if self._descriptor is None:
            raise errors.ClosedStream(f"Edit log segment {self.path} is closed")
        return self._descriptor

    def _write_pending(self, descriptor: int) -> None:
        pieces = []
        while self._pending:
            pieces.append(self._pending.popleft())
        if not pieces:
            return
        batch = b"".join(pieces)
        self._allocate(descriptor, self._written_bytes + len(batch))
        disk.write(descriptor, batch, self._written_bytes, self.path)
        self._written_bytes += len(batch)

    def _allocate(self, descriptor: int, needed_bytes: int) -> None:
        while self._allocated_bytes < needed_bytes:
            fill = FILL * self._preallocation_bytes
            disk.write(descriptor, fill, self._allocated_bytes, self.path)
            self._allocated_bytes += len(fill)
