"""A directory as the log that several namenodes share (shell): `file:///…` in
`dfs.namenode.shared.edits.dir`. Hadoop: a shared FileJournalManager.

It has the layout of an edits directory, and lies where all namenodes see it, as on NFS. Rules:

1. The active holds the directory's `in_use.lock` while it writes. That keeps out every writer
   who sees the lock, and who does not (another mount, Hadoop's namenode) is kept out by
   nothing but fencing. So a namenode with such a log has to have a fencing method.
2. A reader takes no lock. What it has read of an unfinished segment it has synced before it
   believes it: what the writer has written and not synced yet may be lost with the machine.
3. An unfinished segment that makes no sense may be half written at that moment. It is read
   again the next time; a finished one that makes no sense is damaged.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.formats.edits.edits import LoggedEdit
from howdah.formats.edits.segment_scan import HEADER_BYTES, SegmentReader, Source
from howdah.formats.version import NamenodeVersion
from howdah.namenode.journal.directory_journal import DirectoryJournal, DirectorySource
from howdah.namenode.journal.log_reader import LogReader
from howdah.namenode.journal.segment_files import discard_from
from howdah.namenode.state.edit_log.segment_selection import SegmentCopy
from howdah.namenode.state.edit_log.shared_log import NodeReport
from howdah.runtime import disk
from howdah.runtime.atomic_files import fsync_directory
from howdah.storage.layout import (
    VERSION_NAME,
    StorageDirectory,
    StorageLock,
    StorageState,
)
from howdah.storage.segments import list_segments

log = logging.getLogger(__name__)

_NO_END: Final = (1 << 63) - 1


class SharedDirectory:
    """`shared_log.SharedLog` of one directory."""

    def __init__(self, root: Path, version: NamenodeVersion) -> None:
        self._storage = StorageDirectory(root)
        self._version = version
        self._source = DirectorySource(self._storage.current)
        self._reader = LogReader(lambda: [self._source])
        self._place: _Place | None = None

    @property
    def name(self) -> str:
        return str(self._storage.root)

    def source(self) -> DirectorySource:
        return self._source

    def edits(self, from_txid: int, *, unfinished: bool) -> Iterator[LoggedEdit]:
        self._check()
        next_txid = from_txid
        for _, placed in self._reader.edits(from_txid, None):
            next_txid = placed.logged.txid + 1
            yield placed.logged
        if unfinished:
            yield from self._unfinished(next_txid)

    def keeps(self, first_txid: int, last_txid: int) -> bool:
        txids = [logged.txid for logged in self.edits(first_txid, unfinished=True)]
        return first_txid in txids and last_txid in txids

    def take_over(self) -> SharedDirectoryJournal:
        """Raises StorageLocked while another namenode writes."""
        self._check()
        lock = self._storage.lock()
        try:
            journal = SharedDirectoryJournal(self._storage.current, lock)
            journal.truncate_to(_NO_END)
        except BaseException:
            lock.release()
            raise
        return journal

    def purge_before(self, txid: int) -> None:
        for segment in list_segments(self._storage.current):
            if segment.last_txid is not None and segment.last_txid < txid:
                log.info("removing %s: images make it superfluous", segment.path)
                disk.unlink(segment.path, missing_ok=True)

    def discard_from(self, txid: int) -> None:
        with self._storage.lock():
            if self._storage.read_seen_txid() >= txid:
                self._storage.write_seen_txid(txid - 1)
            discard_from(self._storage.current, txid)

    def is_formatted(self) -> bool:
        return self._storage.state() not in (StorageState.MISSING, StorageState.EMPTY)

    def format(self, version: NamenodeVersion) -> None:
        """Raises StorageLocked while a namenode writes there."""
        storage = self._storage
        disk.make_directory(storage.root)
        with storage.lock():
            if storage.current.exists():
                # VERSION goes first: what a crash leaves is not formatted.
                disk.unlink(storage.current / VERSION_NAME, missing_ok=True)
                fsync_directory(storage.current)
                disk.remove_tree(storage.current)
            storage.create()
            storage.write_seen_txid(0)
            storage.write_version(version, time.time_ns() // 1_000_000)
        self._version = version
        log.info("formatted %s as the shared log of %s", storage.root, version.cluster_id)

    def close(self) -> None:
        """Nothing is open between calls."""

    def _check(self) -> None:
        """Raise InconsistentStorage for a directory that is not of this filesystem."""
        state = self._storage.state()
        if state is not StorageState.NORMAL:
            raise errors.InconsistentStorage(
                f"the shared edits directory {self.name} is {state.value}: mount it, or fill it "
                "with 'howdah namenode -initializeSharedEdits'"
            )
        version = self._storage.read_version(NamenodeVersion)
        if version != self._version:
            raise errors.InconsistentStorage(
                f"the shared edits directory {self.name} is of another filesystem than this "
                f"namenode: {version} and {self._version}"
            )

    def _unfinished(self, from_txid: int) -> Iterator[LoggedEdit]:
        """What is whole of the segment that is being written."""
        copies = [
            copy
            for copy in self._source.segments(scans=False)
            if not copy.is_finished and copy.first_txid <= from_txid
        ]
        if not copies:
            return
        copy = copies[-1]
        place = self._place
        if place is None or place.path != copy.path or place.txid >= from_txid:
            place = _Place(copy.path, copy.first_txid, HEADER_BYTES)
        skipped = place.offset - HEADER_BYTES
        try:
            with self._source.open(copy, skipped) as file, _synced(copy, file) as synced:
                reader = SegmentReader(synced, copy.path, first_txid=place.txid)
                for placed in reader:
                    offset = placed.offset + skipped
                    self._place = _Place(copy.path, placed.logged.txid, offset)
                    if placed.logged.txid >= from_txid:
                        yield placed.logged
        except FileNotFoundError:
            log.debug("%s was finished meanwhile, and is read the next time", copy.path)
        except errors.CorruptEditLog as error:
            self._place = None
            log.warning("an unfinished segment is read again later: %s", error)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in an unfinished segment the record of a transaction begins."""

    path: str
    txid: int
    offset: int


@contextlib.contextmanager
def _synced(copy: SegmentCopy, file: Source) -> Iterator[Source]:
    descriptor = os.open(copy.path, os.O_RDONLY)
    try:
        yield _Synced(file, descriptor)
    finally:
        os.close(descriptor)


class _Synced:
    """Bytes of a file that the disk has (rule 2)."""

    def __init__(self, file: Source, descriptor: int) -> None:
        self._file = file
        self._descriptor = descriptor

    def read(self, count: int, /) -> bytes:
        data = self._file.read(count)
        os.fsync(self._descriptor)
        return data


class SharedDirectoryJournal(DirectoryJournal):
    """The directory as its one writer has it (rule 1)."""

    lost: Final = None
    wants_segment: Final = False

    def __init__(self, current: Path, lock: StorageLock) -> None:
        super().__init__(current)
        self._lock = lock

    def lend(self) -> None:
        """It lies on a mount, which may hang."""

    def lease_until_ms(self) -> int | None:
        return None

    def proved_at_ms(self) -> int:
        return 0

    def seen_txid(self) -> int:
        return self.storage.read_seen_txid()

    def silence(self) -> None:
        """Nobody has to confirm anything."""

    def reports(self) -> Sequence[NodeReport]:
        return ()

    def serve_from_ms(self) -> int:
        return 0

    def close(self) -> None:
        super().close()
        self._lock.release()
