"""Edits that become durable without the interpreter (shell).

The journal's thread writes and syncs in the kernel (`kernel/journal.c`), and never waits for
the interpreter, which the loop has nearly always; nor does the loop ever wait for it. A thread
of Python, woken for each batch, takes the interpreter from the loop twice a sync.

Rules:

1. What is lent is written by nobody else. The thread takes it back before it does anything
   else with the journal: rolls, ends, answers for a failure.
2. A file that cannot be written or synced is told its error when it is taken back, and never
   synced again. The batch, which may be in some files, is written again to those that work.
3. An answer that waits for a transaction may be left here: the thread sends it as soon as that
   is durable (`kernel/response_writer.c`), and the loop has one thing less to wake up for.
4. Who else waits for a transaction *wants* it, and is told by a *bell*, a descriptor that the
   loop watches. What could not be sent comes back with the bell, too.

Where there is no kernel, or a test watches every write (`storage.disk.gate`), there is no
`DirectLog`, and `edit_log` does all of it by itself, as it does with journal nodes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from howdah.namenode.state.edit_log.journal import Batch, SegmentFile
from howdah.native.loader import kernel
from howdah.runtime import disk
from howdah.runtime.metrics.histogram import Times

if TYPE_CHECKING:
    from howdah.native._kernel import DirectWriter

REFUSED: Final = 0
QUEUED: Final = 1
DURABLE: Final = 2


class DirectLog:
    """Records on their way to files that are lent."""

    def __init__(self, writer: DirectWriter, bell: int) -> None:
        self.bell = bell
        """Readable when more is durable than `durable_txid` has said."""
        self.put: Final = writer.put
        """`put(records, last_txid, now)` on the loop: `REFUSED` while nothing is lent, `QUEUED`
        for the thread; `DURABLE` if `now` is true and the thread has nothing to do."""
        self.durable_txid: Final[Callable[[], int]] = writer.durable
        """The last transaction that is durable; from here on the bell may ring again."""
        self.look: Final[Callable[[], int]] = writer.look
        """The same, and the bell stays as it is."""
        self.want: Final[Callable[[int], bool]] = writer.want
        """Ring when this transaction is durable; true if it is, and nothing rings."""
        self.answer: Final = writer.answer
        """`answer(outlet, data, txid, back)` leaves an answer; how many wait then, or 0 where
        the transaction is durable and nothing is kept."""
        self.returned: Final = writer.returned
        """`returned(txid)` has what could not be sent. What waits for no more than this
        transaction, which became durable in another way, is sent first."""
        self._writer = writer
        self._lent: list[SegmentFile] = []

    def open(self, files: Sequence[SegmentFile], durable_txid: int) -> bool:
        """Write these from here on; False if one of them has something pending."""
        lent = [lent_file for file in files if (lent_file := file.lend()) is not None]
        if not lent or len(lent) < len(files):
            return False
        self._writer.open(lent, durable_txid)
        self._lent = list(files)
        return True

    def run(self) -> None:
        """Make durable what is put, until it is interrupted or a file fails."""
        failure = self._writer.run()
        if failure is not None:
            number, _, code = failure
            file = self._lent[number]
            file.has_failed(OSError(code, os.strerror(code), str(file.path)))

    def interrupt(self) -> None:
        self._writer.interrupt()

    def give_back(self) -> tuple[int, Batch | None]:
        """When it does not run: the last transaction that is durable, and those behind it that
        were put. From now on what is put is refused."""
        states, durable_txid, last_txid, records = self._writer.close()
        for file, (written_bytes, allocated_bytes) in zip(self._lent, states, strict=True):
            file.take_back(written_bytes, allocated_bytes)
        self._lent = []
        if not records:
            return durable_txid, None
        return durable_txid, Batch(durable_txid + 1, last_txid - durable_txid, records)

    def figures(self) -> tuple[int, Times]:
        """Transactions that became durable here, and how long the syncs took."""
        transactions, count, total_ns, buckets = self._writer.figures()
        syncs = Times()
        syncs.count, syncs.total_ns, syncs.buckets = count, total_ns, buckets
        return transactions, syncs

    def close(self) -> None:
        """When nobody watches the bell any more."""
        os.close(self.bell)


def direct_log() -> DirectLog | None:
    """None where there is no kernel, or no bell, or where a test watches every write."""
    native = kernel()
    if native is None or disk.gate is not None or not hasattr(os, "eventfd"):
        return None
    bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
    return DirectLog(native.DirectWriter(bell), bell)
