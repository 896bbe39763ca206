"""The journal: edits to their directories, in batches, durable (shell; D5, FS-030).

The loop appends; one thread writes and syncs whatever has been appended since
the last time (group commit), to every directory, then tells the loop how far the
log is durable. What it does with the directories:

1. One that fails is dropped, and said so, while the rest go on. What it has by
   then may be the beginning of a log, and never a wrong one.
2. When one that is required fails, or fewer are left than there must be, the
   namenode cannot keep a promise any more and `on_failure` ends it.
3. A roll ends the segment and begins the next one. If that was asked for, directories
   that failed get what they missed from then on, beside this thread, and join in at
   the roll after that (`restoring`).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from howdah.namenode.journal.restoring import Restorations
from howdah.storage.edits import edits
from howdah.storage.edits.codec import encode_record
from howdah.storage.edits.segments import SegmentWriter
from howdah.storage.layout import StorageDirectory

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DirectoryState:
    """An edits directory as an administrator sees it; `failure` is None while it works."""

    root: Path
    required: bool
    failure: str | None


@dataclass(frozen=True, slots=True)
class _Roll:
    """Between two appended batches: the segment ends with `last_txid`."""

    last_txid: int


class Journal:
    """The log that is being written. All but the two callbacks belongs to the loop."""

    def __init__(
        self,
        directories: Iterable[Path],
        last_txid: int,
        *,
        on_durable: Callable[[int], None],
        on_failure: Callable[[str], None],
        on_restored: Callable[[], None] = lambda: None,
        required: Iterable[Path] = (),
        minimum: int = 1,
        restores: bool = False,
    ) -> None:
        """Begin a new segment behind `last_txid`, durably, in every directory.

        `directories` and those that are `required` are the `current` ones. Fewer than
        `minimum` are not enough; `restores` is whether a failed one is tried again
        at each roll. `on_durable(txid)` and `on_failure(why)` are called on the
        writing thread; `on_restored()` on another one, when a directory waits for a
        roll to join in. Raises OSError if it cannot begin.
        """
        self.last_txid = last_txid
        self.durable_txid = last_txid
        self.restores = restores
        self._directories = list(directories)
        self._required = frozenset(required)
        self._minimum = minimum
        self._on_durable = on_durable
        self._on_failure = on_failure
        self._wake = threading.Condition()
        self._stopping = False
        self._pending: list[bytes | _Roll] = []
        self._writers: list[SegmentWriter] = []
        self._failures: dict[Path, str] = {}
        self.restorations = Restorations(on_restored)
        try:
            self._begin(last_txid + 1, self._directories)
        except BaseException:
            self._abandon()
            raise
        self.last_txid = self.durable_txid = last_txid + 1
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
        self._thread.start()

    def append(self, records: Sequence[bytes]) -> None:
        """Queue encoded edits, which take the next transaction ids in order."""
        with self._wake:
            self._pending.append(b"".join(records))
            self.last_txid += len(records)
            self._wake.notify()

    def roll(self) -> int:
        """End the segment and begin another; its first transaction.

        Both take a transaction, and are durable when `on_durable` says so of it.
        """
        with self._wake:
            end = self.last_txid + 1
            self._pending.append(encode_record(end, edits.EndLogSegmentOp()))
            self._pending.append(_Roll(end))
            self.last_txid = end + 1
            self._wake.notify()
            return end + 1

    def directories(self) -> list[DirectoryState]:
        """All that were configured, in that order."""
        failures = {**self._failures, **self.restorations.failures()}
        return [
            DirectoryState(current.parent, current in self._required, failures.get(current))
            for current in self._directories
        ]

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
        try:
            self._write(self._take())
            self._finalize(last)
        finally:
            self._abandon()
        self.durable_txid = last

    # On the writing thread.

    def _run(self) -> None:
        try:
            while self._write_batch():
                pass
        except OSError as error:
            self._on_failure(error.strerror or str(error))
        except Exception as error:
            # Without this thread no answer would ever leave.
            log.exception("the journal's thread failed on a defect")
            self._on_failure(f"the journal failed: {type(error).__name__}: {error}")

    def _write_batch(self) -> bool:
        """Make what is there durable; False when it is time to stop."""
        with self._wake:
            while not self._pending and not self._stopping:
                self._wake.wait()
            if self._stopping:
                return False
            target = self.last_txid
            batch = self._take()
        self._write(batch)
        self._on_durable(target)
        return True

    def _take(self) -> list[bytes | _Roll]:
        batch, self._pending = self._pending, []
        return batch

    def _write(self, batch: Sequence[bytes | _Roll]) -> None:
        first_txid = None
        for piece in batch:
            if isinstance(piece, _Roll):
                self._finalize(piece.last_txid)
                first_txid = piece.last_txid + 1
                working = [writer.directory for writer in self._writers]
                joining = self.restorations.take_ready() if self.restores else []
                self._begin(first_txid, working + joining)
            else:
                for writer in self._writers:
                    writer.append(piece)
        self._each(self._writers, SegmentWriter.sync)
        if first_txid is not None and self.restores:
            self._restore(first_txid)

    def _finalize(self, last_txid: int) -> None:
        self._each(self._writers, lambda writer: writer.finalize(last_txid))

    def _begin(self, first_txid: int, directories: Iterable[Path]) -> None:
        """The next segment, in all directories that can have one."""
        self._writers = []
        for current in directories:
            try:
                StorageDirectory(current.parent).write_seen_txid(first_txid)
                writer = SegmentWriter(current, first_txid)
            except OSError as error:
                self._failed(current, error)
                continue
            self._writers.append(writer)
            self._failures.pop(current, None)
            writer.append(encode_record(first_txid, edits.StartLogSegmentOp()))
        self._check()
        self._each(self._writers, SegmentWriter.sync)

    def _restore(self, first_txid: int) -> None:
        """Give those that fail, or lack something, what ended before `first_txid`."""
        working = [writer.directory for writer in self._writers]
        incomplete = self.restorations.incomplete()
        source = next((current for current in working if current not in incomplete), None)
        if source is None:
            return
        for current in self._directories:
            if current not in working:
                self.restorations.begin(current, source, first_txid)
            elif current in incomplete:
                self.restorations.complete(current, source, first_txid)

    def _each(
        self, writers: Iterable[SegmentWriter], act: Callable[[SegmentWriter], object]
    ) -> None:
        """Drop whoever fails at it; raises OSError if those that are left are too few."""
        for writer in list(writers):
            try:
                act(writer)
            except OSError as error:
                self._writers.remove(writer)
                writer.close()
                self._failed(writer.directory, error)
        self._check()

    def _failed(self, current: Path, error: OSError) -> None:
        log.error("edits directory %s failed and is dropped: %s", current, error)
        self._failures[current] = str(error)
        self.restorations.dropped(current)

    def _check(self) -> None:
        for current in self._directories:
            if current in self._required and current in self._failures:
                raise OSError(
                    None,
                    f"the required edits directory {current.parent} failed: "
                    f"{self._failures[current]}",
                )
        if len(self._writers) >= self._minimum:
            return
        whys = "; ".join(self._failures.values())
        if not self._writers:
            raise OSError(None, f"no edits directory is left that can be written: {whys}")
        raise OSError(
            None,
            f"only {len(self._writers)} edits directories are left that can be written, "
            f"and {self._minimum} have to be: {whys}",
        )

    def _abandon(self) -> None:
        for writer in self._writers:
            writer.close()
        self.restorations.close()
