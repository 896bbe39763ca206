"""The log that is being written: edits become durable in batches (shell; D5, FS-030).
Hadoop: FSEditLog, FSEditLogAsync.

The steps are those of docs/how-it-works/journal.md:

1. **Append.** The loop queues encoded edits; they have their transaction ids.
2. **Batch.** One thread takes whatever has been queued since the last time,
3. hands it to the journal, and waits until it is **durable** there (group commit),
4. and says how far the log is durable. What waits for that is **acknowledged**.
5. **End.** To roll, the segment ends between two batches, with a record of its own,
6. and the next one **begins**, with another. Both take a transaction.

What the journal is, a directory or a set of journals, is not known here. When it fails, the
namenode cannot keep a promise any more, and `on_failure` ends it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from howdah.figures.times import Times
from howdah.namenode.journal.journal import Batch, Journal
from howdah.storage.edits import edits
from howdah.storage.edits.codec import encode_record

log = logging.getLogger(__name__)

JOINED_BYTES: Final = 1 << 20
"""Batches that gathered become one, up to this size."""


@dataclass(frozen=True, slots=True)
class _Roll:
    """Between two appended batches: the segment ends with `last_txid`."""

    last_txid: int


class LogFigures:
    """What was written since the start of the process. The writing thread adds."""

    def __init__(self) -> None:
        self.transactions = 0
        self.syncs = Times()
        """From the taking of a batch until it is durable in every journal."""


class EditLog:
    """Writes to one journal. All but the two callbacks belongs to the loop."""

    def __init__(
        self,
        journal: Journal,
        last_txid: int,
        *,
        on_durable: Callable[[int], None],
        on_failure: Callable[[str], None],
        figures: LogFigures | None = None,
    ) -> None:
        """Begin a new segment behind `last_txid`, durably.

        `on_durable(txid)` and `on_failure(why)` are called on the writing thread. The journal
        belongs to the log from here on. Raises OSError if it cannot begin. `figures` count
        what is written.
        """
        self._figures = figures or LogFigures()
        self.last_txid = last_txid
        self.durable_txid = last_txid
        self._journal = journal
        self._on_durable = on_durable
        self._on_failure = on_failure
        self._wake = threading.Condition()
        self._stopping = False
        self._pending: list[Batch | _Roll] = []
        try:
            self._begin(last_txid + 1)
            journal.make_durable()
        except BaseException:
            journal.close()
            raise
        self.last_txid = self.durable_txid = last_txid + 1
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
        self._thread.start()

    def append(self, records: Sequence[bytes]) -> None:
        """Queue encoded edits, which take the next transaction ids in order (step 1)."""
        with self._wake:
            self._pending.append(Batch(self.last_txid + 1, len(records), b"".join(records)))
            self.last_txid += len(records)
            self._wake.notify()

    def roll(self) -> int:
        """End the segment and begin another; its first transaction (steps 5 and 6).

        It is done when `on_durable` says so of that transaction.
        """
        with self._wake:
            end = self.last_txid + 1
            self._pending += [_end_record(end), _Roll(end)]
            self.last_txid = end + 1
            self._wake.notify()
            return end + 1

    def close(self) -> None:
        """End the segment in order: everything appended becomes durable and named.

        Raises OSError if the journal could not be brought that far.
        """
        self._stop()
        last = self.last_txid + 1
        try:
            with self._wake:
                self._pending.append(_end_record(last))
                self.last_txid = last
            self._write(self._take())
            self._journal.end_segment(last)
        finally:
            self._journal.close()
        self.durable_txid = last

    def abandon(self) -> None:
        """Stop where it is. The segment stays unfinished, as if the process had died."""
        self._stop()
        self._journal.close()

    def _stop(self) -> None:
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self._thread.join()

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
        """Make what is there durable (steps 2 to 4); False when it is time to stop."""
        with self._wake:
            while not self._pending and not self._stopping:
                self._wake.wait()
            if self._stopping:
                return False
            target = self.last_txid
            batches = self._take()
        self._write(batches)
        self._on_durable(target)
        return True

    def _take(self) -> list[Batch | _Roll]:
        batches, self._pending = self._pending, []
        return batches

    def _write(self, batches: Sequence[Batch | _Roll]) -> None:
        began_ns = time.perf_counter_ns()
        for piece in _joined(batches):
            if isinstance(piece, _Roll):
                self._journal.end_segment(piece.last_txid)
                self._begin(piece.last_txid + 1)
            else:
                self._journal.append(piece)
                self._figures.transactions += piece.count
        self._journal.make_durable()
        self._figures.syncs.add(time.perf_counter_ns() - began_ns)

    def _begin(self, first_txid: int) -> None:
        self._journal.begin_segment(first_txid)
        record = encode_record(first_txid, edits.StartLogSegmentOp())
        self._journal.append(Batch(first_txid, 1, record))


def _joined(pieces: Iterable[Batch | _Roll]) -> Iterator[Batch | _Roll]:
    """The same with fewer batches: a journal on the network sends each by itself."""
    joined: list[Batch] = []
    size_bytes = 0
    for piece in pieces:
        if joined and (isinstance(piece, _Roll) or size_bytes + len(piece.records) > JOINED_BYTES):
            yield _as_one(joined)
            joined, size_bytes = [], 0
        if isinstance(piece, _Roll):
            yield piece
        else:
            joined.append(piece)
            size_bytes += len(piece.records)
    if joined:
        yield _as_one(joined)


def _as_one(batches: Sequence[Batch]) -> Batch:
    first, *rest = batches
    if not rest:
        return first
    count = rest[-1].last_txid - first.first_txid + 1
    return Batch(first.first_txid, count, b"".join(batch.records for batch in batches))


def _end_record(txid: int) -> Batch:
    return Batch(txid, 1, encode_record(txid, edits.EndLogSegmentOp()))
