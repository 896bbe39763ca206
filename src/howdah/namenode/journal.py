"""The journal: edits to their directories, in batches, durable (shell; D5, FS-030).

The loop appends; one thread writes and syncs whatever has been appended since
the last time (group commit), to every directory, then tells the loop how far the
log is durable. A directory that fails is dropped, and said so; when none is left
the namenode cannot keep a promise any more and `on_failure` ends it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from howdah.storage import edits
from howdah.storage.edit_codec import encode_record
from howdah.storage.layout import StorageDirectory
from howdah.storage.segments import SegmentWriter

log = logging.getLogger(__name__)


class Journal:
    """The log that is being written. `append` and `last_txid` belong to the loop."""

    def __init__(
        self,
        directories: Iterable[Path],
        last_txid: int,
        *,
        on_durable: Callable[[int], None],
        on_failure: Callable[[str], None],
    ) -> None:
        """Begin a new segment behind `last_txid`, durably, in every directory.

        `on_durable(txid)` and `on_failure(why)` are called on the writing thread.
        """
        self.last_txid = last_txid
        self.durable_txid = last_txid
        self._on_durable = on_durable
        self._on_failure = on_failure
        self._wake = threading.Condition()
        self._stopping = False
        self._appended_txid = last_txid
        first = last_txid + 1
        self._writers: list[SegmentWriter] = []
        try:
            for directory in directories:
                self._writers.append(SegmentWriter(directory, first))
            self.append([encode_record(first, edits.StartLogSegmentOp())])
            for writer in self._writers:
                writer.sync()
                StorageDirectory(writer.directory.parent).write_seen_txid(first)
        except BaseException:
            for writer in self._writers:
                writer.close()
            raise
        self.durable_txid = self.last_txid
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
        self._thread.start()

    def append(self, records: Sequence[bytes]) -> None:
        """Queue encoded edits, which take the next transaction ids in order."""
        data = b"".join(records)
        with self._wake:
            for writer in self._writers:
                try:
                    writer.append(data)
                except OSError as error:
                    # Its sync has failed and the thread is about to drop it. The
                    # others must get these records all the same.
                    log.warning("nothing is added to %s: %s", writer.path, error)
            self.last_txid += len(records)
            self._appended_txid = self.last_txid
            self._wake.notify()

    def _run(self) -> None:
        try:
            self._write_batches()
        except Exception as error:
            # Without this thread no answer would ever leave.
            log.exception("the journal's thread failed on a defect")
            self._on_failure(f"the journal failed: {type(error).__name__}: {error}")

    def _write_batches(self) -> None:
        synced = self.durable_txid
        while True:
            with self._wake:
                while self._appended_txid == synced and not self._stopping:
                    self._wake.wait()
                if self._stopping:
                    return
                target = self._appended_txid
                writers = list(self._writers)
            if not self._sync(writers):
                return
            synced = target
            self._on_durable(target)

    def _sync(self, writers: list[SegmentWriter]) -> bool:
        for writer in writers:
            try:
                writer.sync()
            except OSError as error:
                self._drop(writer, error)
        if not self._writers:
            self._on_failure("no edits directory is left that can be written")
            return False
        return True

    def _drop(self, writer: SegmentWriter, error: OSError) -> None:
        log.error("edits directory %s failed and is dropped: %s", writer.directory, error)
        with self._wake:
            self._writers.remove(writer)
        writer.close()

    def close(self) -> None:
        """End the segment in order: everything appended becomes durable and named.

        Raises OSError if no directory could be brought that far.
        """
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self._thread.join()
        last = self.last_txid + 1
        self.append([encode_record(last, edits.EndLogSegmentOp())])
        failure = OSError("no edits directory was left")
        for writer in list(self._writers):
            try:
                writer.finalize(last)
            except OSError as error:
                self._drop(writer, error)
                failure = error
        if not self._writers:
            raise failure
        self.durable_txid = last
