"""A directory of this machine as a journal (shell). Hadoop: FileJournalManager.

    edits_0000000000000000001-0000000000000000042    finished, transactions 1 to 42
    edits_inprogress_0000000000000000043             unfinished, from 43 on
    seen_txid                                        a transaction that the log has reached

`DirectoryJournal` writes it, and knows no epochs: the storage lock keeps other writers out,
as far as they see it. `DirectorySource` reads it without a trace.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import BinaryIO, Final

from howdah import errors
from howdah.formats.edits.segment_scan import HEADER_BYTES, last_record
from howdah.namenode.journal.segment_files import STALE, copy_beginning, set_aside
from howdah.namenode.state.edit_log.journal import Batch, SegmentFile
from howdah.namenode.state.edit_log.segment_selection import SegmentCopy
from howdah.storage.layout import StorageDirectory
from howdah.storage.segments import (
    Segment,
    SegmentWriter,
    finished_name,
    list_segments,
    read_segment,
    recover_segment,
    scan_segment,
)

log = logging.getLogger(__name__)


class DirectoryJournal:
    """Writes the log in one storage directory, which the caller has locked."""

    epoch: Final = None

    def __init__(self, current: Path) -> None:
        self.current = current
        self.storage = StorageDirectory(current.parent)
        self._writer: SegmentWriter | None = None
        self._next_txid = 0

    def __repr__(self) -> str:
        return f"DirectoryJournal({self.name})"

    @property
    def name(self) -> str:
        return str(self.storage.root)

    def begin_segment(self, first_txid: int) -> None:
        """Raises OSError; InconsistentStorage if the segment is there already."""
        assert self._writer is None, "one segment at a time"
        self._writer = SegmentWriter(self.current, first_txid)
        self._next_txid = first_txid

    def append(self, batch: Batch) -> None:
        assert batch.first_txid == self._next_txid, "transactions come without a gap"
        self._next_txid += batch.count
        self._open_writer().append(batch.records)

    def make_durable(self) -> None:
        self._open_writer().sync()

    def confirm_segment(self, first_txid: int) -> None:
        """Replace `seen_txid`. A start that finds no such transaction is refused, so the file
        never comes before the record."""
        self.storage.write_seen_txid(first_txid)

    def end_segment(self, last_txid: int) -> None:
        assert last_txid == self._next_txid - 1, "a segment ends with its last record"
        self._open_writer().finalize(last_txid)
        self._writer = None

    def lend(self) -> list[SegmentFile] | None:
        return None if self._writer is None else [self._writer]

    def take_back(self, durable_txid: int) -> None:
        self._next_txid = durable_txid + 1

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _open_writer(self) -> SegmentWriter:
        if self._writer is None:
            raise errors.ClosedStream(f"no segment is open in {self.name}")
        return self._writer

    # What a crash left.

    def truncate_to(self, last_txid: int) -> None:
        """Nothing is lost by it: a torn tail is kept as `….torn`, a segment without a record
        as `….empty`, and one that goes beyond `last_txid` as `….stale` (step 16 in
        docs/how-it-works/journal.md).

        Raises OSError; CorruptEditLog when all but the damaged ones are done.
        """
        damage: errors.CorruptEditLog | None = None
        # The later ones first: what a crash leaves of it has no gap.
        for segment in reversed(list_segments(self.current)):
            try:
                if segment.last_txid is None:
                    self._finish(segment, last_txid)
                elif segment.last_txid > last_txid:
                    self._cut(segment, segment.last_txid, last_txid)
            except errors.CorruptEditLog as error:
                damage = damage or error
        if damage is not None:
            raise damage

    def _finish(self, segment: Segment, last_txid: int) -> None:
        end = scan_segment(segment)
        if end.last_txid is not None and end.last_txid > last_txid:
            self._cut(segment, end.last_txid, last_txid)
            return
        if end.last_txid is not None:
            name = finished_name(segment.first_txid, end.last_txid)
            if (self.current / name).exists():
                # It was copied from another directory when this one could not be finished.
                set_aside(segment.path, STALE)
                return
        if end.torn_bytes:
            log.warning(
                "cut %d torn bytes off %s: %s", end.torn_bytes, segment.path, end.torn_reason
            )
        recover_segment(segment)

    def _cut(self, segment: Segment, end_txid: int, last_txid: int) -> None:
        log.warning(
            "%s goes on to transaction %d, and the log ends with %d",
            segment.path,
            end_txid,
            last_txid,
        )
        if segment.first_txid <= last_txid:
            behind = (p.offset for p in read_segment(segment) if p.logged.txid > last_txid)
            name = finished_name(segment.first_txid, last_txid)
            copy_beginning(segment.path, next(behind), self.current / name)
        set_aside(segment.path, STALE)


class DirectorySource:
    """Reads the log in a `current` directory."""

    def __init__(self, current: Path) -> None:
        self._current = current

    @property
    def name(self) -> str:
        return str(self._current)

    def segments(self, *, scans: bool) -> list[SegmentCopy]:
        """Raises OSError if the directory cannot be read, or if `scans` and an unfinished
        segment cannot: it has no name to say how far it goes."""
        return [self._described(segment, scans) for segment in list_segments(self._current)]

    def _described(self, segment: Segment, scans: bool) -> SegmentCopy:
        first_txid, path = segment.first_txid, str(segment.path)
        copy = SegmentCopy(self.name, path, first_txid, segment.last_txid, segment.last_txid)
        if not segment.in_progress or not scans:
            return copy
        try:
            end = scan_segment(segment).last_txid
        except errors.CorruptEditLog as error:
            # If no other copy reaches as far, something acknowledged is lost.
            reach = last_record(segment.path.read_bytes(), first_txid)
            reach = first_txid if reach is None else reach
            return SegmentCopy(self.name, path, first_txid, None, reach, str(error))
        reach = first_txid - 1 if end is None else end
        return SegmentCopy(self.name, path, first_txid, None, reach)

    @contextlib.contextmanager
    def open(self, copy: SegmentCopy, skip_bytes: int = 0) -> Iterator[FileIO | Resumed]:
        with open(copy.path, "rb", buffering=0) as file:
            yield Resumed(file, skip_bytes) if skip_bytes else file


class Resumed:
    """A segment's file without the first `skip_bytes` behind its header."""

    def __init__(self, file: BinaryIO | FileIO, skip_bytes: int) -> None:
        self._file = file
        self._header = file.read(HEADER_BYTES) or b""
        file.seek(skip_bytes, os.SEEK_CUR)

    def read(self, count: int, /) -> bytes:
        header, self._header = self._header, b""
        return header + (self._file.read(count) or b"")
