"""The files of one journal (shell). Hadoop: JNStorage.

    <journal>/in_use.lock
    <journal>/current/VERSION                      whose journal it is
                      edits_…-…                    finished segments
                      edits_inprogress_…           the one that is written, or was
                      edits_inprogress_….epoch=E   fetched for the decision of epoch E
                      last-promised-epoch, last-writer-epoch, committed-txid
                      paxos/<first txid>           decisions
    <journal>/edits.sync/                          what journal sync is fetching
    <journal>/previous                             the same before an upgrade

`load` makes a `JournalState` of the files (`loading`), and `carry_out` changes the files by a
`Write`. A write is durable on return, but for what `howdah.journalnode.state.journal_state` says
of it. After a write that failed nothing is known about the disk: the storage is loaded again before
anything else.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.formats.version import JournalVersion
from howdah.journalnode.loading import STALE, Ends, load, set_aside
from howdah.journalnode.state.formats import (
    COMMITTED,
    DECISIONS,
    JOINING,
    LAST_PROMISED,
    LAST_WRITER,
    LEASE,
    encode_committed,
    encode_decision,
    encode_number,
)
from howdah.journalnode.state.journal_state import (
    Accept,
    Append,
    BeginWriter,
    CloseSegment,
    Commit,
    Discard,
    Fetch,
    FinishSegment,
    Forget,
    Joined,
    JournalState,
    KeepLease,
    OpenSegment,
    Promise,
    Purge,
    ReopenSegment,
    Replace,
    SegmentState,
    SetAsideEmpty,
    Write,
)
from howdah.runtime import disk
from howdah.runtime.atomic_files import NewFile, fsync_directory, rename_durably, replace_file
from howdah.storage.layout import (
    StorageDirectory,
    StorageLock,
    StorageState,
)
from howdah.storage.segments import (
    Segment,
    SegmentWriter,
    finished_name,
    in_progress_name,
    list_segments,
    scan_segment,
)
from howdah.storage.transitions import recover

log = logging.getLogger(__name__)

SYNC_DIRECTORY: Final = "edits.sync"
EMPTY: Final = ".empty"
TRASH: Final = ".trash"

_ASIDE: Final = re.compile(r"edits_inprogress_(\d+)\..+")

Sink = Callable[[bytes], object]
Fetcher = Callable[[str, Sink], None]
"""Brings what is at an address of another node, piece by piece. Raises OSError."""


class JournalStorage:
    """Keeps one journal's directory. Not thread safe."""

    def __init__(self, root: Path, fetcher: Fetcher) -> None:
        """Nothing is touched before `open`."""
        self.directory = StorageDirectory(root)
        self.current = self.directory.current
        self._fetcher = fetcher
        self._lock: StorageLock | None = None
        self._state = JournalState()
        self._writer: SegmentWriter | None = None
        self._ends: Ends = {}
        self.layout_version = 0
        """Of the open segment."""
        self._committed: int | None = None
        """The descriptor of `committed-txid`, when it was written."""

    def is_formatted(self) -> bool:
        return self.directory.state() is StorageState.NORMAL

    def is_unfinished(self) -> bool:
        """In the middle of an upgrade or rollback, which `open` brings to an end."""
        return self.directory.state() is StorageState.UNFINISHED

    def open(self) -> None:
        """Lock it, and end what a crash interrupted of an upgrade. Raises StorageLocked,
        InconsistentStorage, OSError."""
        if self._lock is None:
            self._lock = self.directory.lock()
            if self.is_unfinished():
                self.recover()

    def recover(self) -> None:
        """End what was interrupted of an upgrade or rollback. It is open, and nothing of it is
        in use. Raises InconsistentStorage, OSError."""
        recover([self.directory])

    def close(self) -> None:
        """Give up files and lock. An unfinished segment stays unfinished."""
        self.release()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def release(self) -> None:
        """Give up the files, and keep the lock."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        if self._committed is not None:
            os.close(self._committed)
            self._committed = None

    def version(self) -> JournalVersion:
        return self.directory.read_version(JournalVersion)

    # What there is.

    def load(self, suspect_txid: int | None = None) -> JournalState:
        """What the files say, with what a crash left half-way brought to an end.

        `suspect_txid` is a segment of which a write or sync has failed: what the system
        shows of it need not be on the disk, so it is written once more.
        """
        self.release()
        self._state, self._ends = load(self.current, suspect_txid)
        return self._state

    def segment_file(self, first_txid: int, *, in_progress_ok: bool) -> tuple[Path, int] | None:
        """The file of a segment, and how much of it is segment. None if there is none."""
        segment = self._state.segment(first_txid)
        if segment is None or (segment.in_progress and not in_progress_ok):
            return None
        if not segment.in_progress:
            path = self.current / finished_name(first_txid, segment.last_txid)
            return path, path.stat().st_size
        path = self.current / in_progress_name(first_txid)
        if self._writer is not None and self._writer.first_txid == first_txid:
            return path, self._writer.written_bytes
        return path, self._ends[first_txid]

    # Changes.

    def carry_out(self, write: Write) -> None:
        """Raises OSError, CorruptEditLog for what was fetched."""
        match write:
            case Promise(epoch):
                replace_file(self.current / LAST_PROMISED, encode_number(epoch))
            case BeginWriter(epoch):
                replace_file(self.current / LAST_WRITER, encode_number(epoch))
            case KeepLease(lease_ms):
                replace_file(self.current / LEASE, encode_number(lease_ms))
            case Commit(txid):
                self._write_committed(txid)
            case OpenSegment(first_txid, layout_version):
                self._open_segment(first_txid, layout_version)
            case ReopenSegment(first_txid):
                self._reopen_segment(first_txid)
            case Append():
                writer = self._open_writer(write.segment_txid)
                writer.append(write.records)
                if write.is_synced:
                    writer.sync()
                else:
                    writer.write()
            case CloseSegment(first_txid):
                writer = self._open_writer(first_txid)
                writer.sync()
                self._ends[first_txid] = writer.written_bytes
                writer.close()
                self._writer = None
            case FinishSegment(first_txid, last_txid):
                self._finish_segment(first_txid, last_txid)
            case SetAsideEmpty(first_txid):
                set_aside(self.current / in_progress_name(first_txid), EMPTY)
                self._ends.pop(first_txid, None)
            case Fetch():
                self._fetch(write)
            case Accept(decision):
                path = self.current / DECISIONS / str(decision.segment.first_txid)
                self.make_decisions_directory()
                replace_file(path, encode_decision(decision))
            case Replace(first_txid, epoch):
                path = self._fetched_path(first_txid, epoch)
                size_bytes = path.stat().st_size
                disk.rename(path, self.current / in_progress_name(first_txid))
                fsync_directory(self.current)
                self._ends[first_txid] = size_bytes
            case Forget(first_txid):
                self._remove_decisions([first_txid])
            case Purge(min_txid):
                self._purge(min_txid)
            case Joined():
                disk.unlink(self.current / JOINING, missing_ok=True)
                fsync_directory(self.current)
            case Discard(from_txid):
                self._discard(from_txid)

    def _open_writer(self, first_txid: int) -> SegmentWriter:
        assert self._writer is not None, "a segment is open"
        assert self._writer.first_txid == first_txid, "one segment is open at a time"
        return self._writer

    def _write_committed(self, txid: int) -> None:
        """In place and unsynced: it comes with every call, and may be lost."""
        path = self.current / COMMITTED
        if self._committed is None:
            self._committed = disk.open_file(path, os.O_RDWR | os.O_CREAT)
        disk.write(self._committed, encode_committed(txid), 0, path)

    def _open_segment(self, first_txid: int, layout_version: int) -> None:
        assert self._writer is None, "the segment before is closed"
        path = self.current / in_progress_name(first_txid)
        if path.exists():
            # At most the one record that begins a segment, and nobody relies on it.
            disk.unlink(path)
            self._ends.pop(first_txid, None)
        self._writer = SegmentWriter(self.current, first_txid, layout_version=layout_version)
        self.layout_version = layout_version

    def _reopen_segment(self, first_txid: int) -> None:
        assert self._writer is None, "no segment is open"
        writer = SegmentWriter(self.current, first_txid, goes_on_at=self._ends[first_txid])
        self._writer, self.layout_version = writer, writer.layout_version
        del self._ends[first_txid]
        log.info("the writer of %s goes on behind a start of this node", writer.path)

    def _finish_segment(self, first_txid: int, last_txid: int) -> None:
        if self._writer is not None and self._writer.first_txid == first_txid:
            self._writer.finalize(last_txid)
            self._writer = None
            return
        path = self.current / in_progress_name(first_txid)
        _cut(path, self._ends[first_txid])
        rename_durably(path, self.current / finished_name(first_txid, last_txid))
        del self._ends[first_txid]

    def _fetched_path(self, first_txid: int, epoch: int) -> Path:
        return self.current / f"{in_progress_name(first_txid)}.epoch={epoch}"

    def _fetch(self, write: Fetch) -> None:
        path = self._fetched_path(write.segment.first_txid, write.epoch)
        self.fetch_segment(path, write.segment, write.from_url)
        fsync_directory(self.current)

    def drop_fetched(self, write: Fetch) -> None:
        """What was fetched is decided upon no more."""
        disk.unlink(self._fetched_path(write.segment.first_txid, write.epoch), missing_ok=True)

    def fetch_segment(self, path: Path, segment: SegmentState, url: str) -> None:
        """Make a file of a segment of another node, durably but for its name.

        Raises OSError; CorruptEditLog if the segment does not end where it should.
        """
        first_txid, last_txid = segment.first_txid, segment.last_txid
        log.info("fetching transactions %d to %d: %s", first_txid, last_txid, url)
        try:
            with NewFile(path) as file:
                self._fetcher(url, file.write)
            end = scan_segment(Segment(first_txid, None, path))
            if end.last_txid != last_txid:
                raise errors.CorruptEditLog(
                    f"{url} ends with transaction {end.last_txid} and should end with {last_txid}"
                )
            _cut(path, end.valid_bytes)
        except BaseException:
            disk.unlink(path, missing_ok=True)
            raise

    def sync_file(self, segment: SegmentState) -> Path:
        """Where journal sync fetches a finished segment to. Raises OSError."""
        directory = self.directory.root / SYNC_DIRECTORY
        disk.make_directory(directory)
        return directory / finished_name(segment.first_txid, segment.last_txid)

    def drop(self, path: Path) -> None:
        """What was fetched is of no use."""
        disk.unlink(path, missing_ok=True)

    def install(self, path: Path, segment: SegmentState) -> None:
        """A finished segment that journal sync has fetched gets its name and counts. A decision
        about its end says nothing any more. A crash that comes before that one is removed changes
        nothing: what is finished goes before it."""
        first_txid = segment.first_txid
        disk.rename(path, self.current / finished_name(first_txid, segment.last_txid))
        fsync_directory(self.current)
        unfinished = self.current / in_progress_name(first_txid)
        if unfinished.exists():
            set_aside(unfinished, STALE)
        self._ends.pop(first_txid, None)
        self._state.damaged.pop(first_txid, None)
        self._state.segments[first_txid] = segment
        if first_txid in self._state.decisions:
            self._remove_decisions([first_txid])
            del self._state.decisions[first_txid]

    def make_decisions_directory(self) -> None:
        decisions = self.current / DECISIONS
        if not decisions.is_dir():
            disk.make_directory(decisions)
            fsync_directory(self.current)

    def _remove_decisions(self, first_txids: list[int]) -> None:
        decisions = self.current / DECISIONS
        for first_txid in first_txids:
            disk.unlink(decisions / str(first_txid), missing_ok=True)
        if first_txids:
            fsync_directory(decisions)

    def _purge(self, min_txid: int) -> None:
        kept = self._state.segments.keys() - {s.first_txid for s in self._state.purgeable(min_txid)}
        for segment in self._state.purgeable(min_txid):
            log.info("removing %s: images make it superfluous", segment)
            disk.unlink(self._path_of(segment), missing_ok=True)
            self._ends.pop(segment.first_txid, None)
        for first_txid in self._state.damaged:
            if first_txid < min_txid:
                disk.unlink(self.current / in_progress_name(first_txid), missing_ok=True)
        for path in list(self._matching(_ASIDE, min_txid)):
            disk.unlink(path, missing_ok=True)
        fsync_directory(self.current)
        old = [txid for txid in self._state.decisions if txid < min_txid and txid not in kept]
        self._remove_decisions(old)

    def _matching(self, pattern: re.Pattern[str], below_txid: int) -> Iterator[Path]:
        for path in self.current.iterdir():
            match = pattern.fullmatch(path.name)
            if match is not None and int(match[1]) < below_txid:
                yield path

    def _path_of(self, segment: SegmentState) -> Path:
        if segment.in_progress:
            return self.current / in_progress_name(segment.first_txid)
        return self.current / finished_name(segment.first_txid, segment.last_txid)

    def _discard(self, from_txid: int) -> None:
        # The newest first: a crash leaves no gap.
        for segment in reversed(list_segments(self.current)):
            if segment.first_txid >= from_txid:
                set_aside(segment.path, TRASH)
                self._ends.pop(segment.first_txid, None)
        self._remove_decisions([txid for txid in self._state.decisions if txid >= from_txid])


def _cut(path: Path, length_bytes: int) -> None:
    """Leave the first bytes of a file, durably."""
    descriptor = disk.open_file(path, os.O_RDWR)
    try:
        disk.truncate(descriptor, length_bytes, path)
        disk.sync(descriptor, path)
    finally:
        os.close(descriptor)
