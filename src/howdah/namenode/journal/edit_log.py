"""The log that is being written: edits become durable in batches (shell; D5, FS-030).
Hadoop: FSEditLog, FSEditLogAsync.

The steps are those of docs/how-it-works/journal.md:

1. **Append.** The loop queues encoded edits; they have their transaction ids.
2. **Batch.** One thread takes whatever has been queued since the last time,
3. hands it to the journal, and waits until it is **durable** there (group commit),
4. and says how far the log is durable. What waits for that is **acknowledged**.
5. **End.** To roll, the segment ends between two batches, with a record of its own,
6. and the next one **begins**, with another. Both take a transaction. When the second one is
   durable, the journal **confirms** the segment: from then on a log without it has lost its tail.

What the journal is, a directory or a set of journals, is not known here. When it fails, the
namenode cannot keep a promise any more, and `on_failure` ends it.

Steps 1 to 4 are taken by a `DirectLog`, in the kernel, while there is nothing else to do and
the journal is nothing but files of this machine. Then answers leave without the loop, and where
it has to know of step 4 it learns of it by the bell.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from howdah.formats.edits import edits
from howdah.formats.edits.codec import encode_record
from howdah.namenode.journal.native_writer import DURABLE, REFUSED, DirectLog
from howdah.namenode.state.edit_log.journal import Batch, Journal
from howdah.runtime.background_threads import NoThread
from howdah.runtime.metrics.histogram import Times

if TYPE_CHECKING:
    from howdah.native._kernel import Outlet

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
        self._transactions = 0
        self._syncs = Times()
        self._direct: list[Callable[[], tuple[int, Times]]] = []

    @property
    def transactions(self) -> int:
        return self._transactions + sum(read()[0] for read in self._direct)

    @property
    def syncs(self) -> Times:
        """From the taking of a batch until it is durable in every journal."""
        total = Times()
        for times in (self._syncs, *(read()[1] for read in self._direct)):
            total.count += times.count
            total.total_ns += times.total_ns
            total.buckets = [a + b for a, b in zip(total.buckets, times.buckets, strict=True)]
        return total

    def include(self, direct: Callable[[], tuple[int, Times]]) -> None:
        """What is written without this thread counts, too."""
        self._direct.append(direct)

    def written(self, transactions: int) -> None:
        self._transactions += transactions

    def synced(self, took_ns: int) -> None:
        self._syncs.add(took_ns)


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
        direct: DirectLog | None = None,
        on_segment: Callable[[int], None] = lambda first_txid: None,
    ) -> None:
        """Begin a new segment behind `last_txid`, durably.

        `on_durable(txid)` and `on_failure(why)` are called on the writing thread. The journal
        belongs to the log from here on. Raises OSError if it cannot begin. `figures` count
        what is written. Of what becomes durable by `direct` its bell tells, and not `on_durable`;
        who opened it closes it. `on_segment(first_txid)` is called where a segment was confirmed,
        before `on_durable`; it raises nothing.
        """
        self._on_segment = on_segment
        self._unconfirmed_txid: int | None = None
        self._figures = figures or LogFigures()
        self._direct = direct
        self._is_direct = False
        if direct is not None:
            self._figures.include(direct.figures)
        self.last_txid = last_txid
        self.durable_txid = last_txid
        self._journal = journal
        self._on_durable = on_durable
        self._on_failure = on_failure
        self._wake = threading.Condition()
        self._stopping = False
        self._pending: list[Batch | _Roll] = []
        self._written_txid = last_txid
        try:
            self._begin(last_txid + 1)
            journal.make_durable()
            self._confirm()
        except BaseException:
            journal.close()
            raise
        self.last_txid = self.durable_txid = last_txid + 1
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:
            journal.close()
            raise NoThread("the edit log", error) from error

    def append(self, records: list[bytes], *, now: bool = False) -> bool:
        """Queue encoded edits, which take the next transaction ids in order (step 1).

        True if they are durable on return. They may be if `now` says that there is nothing
        else to do meanwhile; the call takes as long as the sync then.
        """
        first_txid = self.last_txid + 1
        last_txid = self.last_txid + len(records)
        took = self._put(records, last_txid, now)
        if took == REFUSED:
            with self._wake:
                # It may have been lent meanwhile.
                took = self._put(records, last_txid, now=False)
                if took == REFUSED:
                    self._pending.append(Batch(first_txid, len(records), b"".join(records)))
                    self._wake.notify()
        self.last_txid = last_txid
        return took == DURABLE

    @property
    def sends(self) -> bool:
        """Whether answers may be left here (`answer`)."""
        return self._direct is not None

    def poll_durable(self) -> int:
        """`durable_txid`, after a look at what no bell has told of."""
        if self._direct is not None:
            self.durable_txid = max(self.durable_txid, self._direct.look())
        return self.durable_txid

    def want(self, txid: int) -> bool:
        """Somebody waits for a transaction: its bell rings, or `on_durable` is called. True if it
        is durable, and neither follows."""
        return self._direct is not None and self._direct.want(txid)

    def answer(
        self, outlet: Outlet, data: bytes, txid: int, back: Callable[[bytes], object]
    ) -> int:
        """Send an answer when a transaction is durable; how many wait then. 0 where nothing is
        kept: it is durable already, or nothing is sent here. `back` takes what `returned` gives."""
        return 0 if self._direct is None else self._direct.answer(outlet, data, txid, back)

    def returned(self, txid: int) -> Sequence[tuple[Callable[[bytes], object], bytes]]:
        """Answers that were left here, and are to be sent by the loop, now that this transaction
        is durable."""
        return () if self._direct is None else self._direct.returned(txid)

    def _put(self, records: list[bytes], last_txid: int, now: bool) -> int:
        if self._direct is None or not self._is_direct:
            return REFUSED
        return self._direct.put(records, last_txid, now)

    def roll(self) -> int:
        """End the segment and begin another; its first transaction (steps 5 and 6).

        It is done when `on_durable` says so of that transaction.
        """
        with self._wake:
            end = self.last_txid + 1
            self._pending += [_end_record(end), _Roll(end)]
            self.last_txid = end + 1
            self._interrupt()
            return end + 1

    def _interrupt(self) -> None:
        """With the lock: the thread has something else to do."""
        self._wake.notify()
        if self._direct is not None and self._is_direct:
            # What comes now comes after what is pending.
            self._is_direct = False
            self._direct.interrupt()

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
            self._write(self._pop_work())
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
            self._interrupt()
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
        is_lent = False
        with self._wake:
            while not self._pending and not self._stopping and not is_lent:
                is_lent = self._lend()
                if not is_lent:
                    self._wake.wait()
            if self._stopping and not is_lent:
                return False
            pieces = [] if is_lent else self._pop_work()
        if is_lent:
            self._write_directly()
        else:
            self._write(pieces)
            self._on_durable(self._written_txid)
        return True

    def _lend(self) -> bool:
        """With the lock: what is appended from now on becomes durable without this thread."""
        if self._direct is None:
            return False
        files = self._journal.lend()
        self._is_direct = files is not None and self._direct.open(files, self._written_txid)
        return self._is_direct

    def _write_directly(self) -> None:
        """Steps 2 to 4, until there is something else to do. What was put until then and is
        not durable comes before what is pending."""
        assert self._direct is not None, "it was lent to that"
        self._direct.run()
        with self._wake:
            self._is_direct = False
            durable_txid, rest = self._direct.give_back()
            if rest is not None:
                self._pending.insert(0, rest)
        self._journal.take_back(durable_txid)
        self._written_txid = durable_txid

    def _pop_work(self) -> list[Batch | _Roll]:
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
                self._written_txid = piece.last_txid
                self._figures.written(piece.count)
        self._journal.make_durable()
        self._confirm()
        self._figures.synced(time.perf_counter_ns() - began_ns)

    def _begin(self, first_txid: int) -> None:
        self._journal.begin_segment(first_txid)
        record = encode_record(first_txid, edits.StartLogSegmentOp())
        self._journal.append(Batch(first_txid, 1, record))
        self._written_txid = self._unconfirmed_txid = first_txid

    def _confirm(self) -> None:
        """The record that begins a segment is durable."""
        first_txid, self._unconfirmed_txid = self._unconfirmed_txid, None
        if first_txid is not None:
            self._journal.confirm_segment(first_txid)
            self._on_segment(first_txid)


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
