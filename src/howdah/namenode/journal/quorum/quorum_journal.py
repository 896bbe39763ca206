"""A quorum of journal nodes as the journal of its one writer (shell). Hadoop: the writing half
of QuorumJournalManager, QuorumOutputStream.

`take_over` is recovery (Q1 to Q8); what it gives is written like any journal. When the writer
has no majority, or another one has taken over, it is at its end, and says why in `lost`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping

from howdah import errors
from howdah.namenode.journal.quorum.loggers import Loggers, Node
from howdah.namenode.journal.quorum.settings import QuorumSettings
from howdah.namenode.state.edit_log.journal import Batch
from howdah.namenode.state.edit_log.shared_log import NodeReport, Silence
from howdah.namenode.state.quorum.edits_sender import Sender
from howdah.namenode.state.quorum.messages import Purge
from howdah.namenode.state.quorum.quorum import Steps, Writer
from howdah.namenode.state.quorum.recovery import Recovered, recover

log = logging.getLogger(__name__)

RESIGN_TIMEOUT_S = 0.5


class QuorumJournal:
    """`journal.shared_log.SharedJournal`. All but `lost`, `lease_until_ms`, `proved_at_ms` and
    what is only read belongs to one thread at a time."""

    def __init__(
        self,
        name: str,
        writer: Writer,
        loggers: Loggers,
        recovered: Recovered,
        clock_ms: Callable[[], int],
    ) -> None:
        self._name = name
        self._writer = writer
        self._loggers = loggers
        self._recovered = recovered
        self._clock_ms = clock_ms
        self._sender = Sender(writer)
        self._has_begun = False
        self._failure: str | None = None
        self._closing = threading.Lock()
        self._closed = False

    @property
    def name(self) -> str:
        return self._name

    @property
    def epoch(self) -> int:
        return self._recovered.epoch

    @property
    def recovered(self) -> Recovered:
        return self._recovered

    @property
    def lost(self) -> str | None:
        return self._failure or self._writer.lost

    @property
    def wants_segment(self) -> bool:
        """A journal node that was left out is back, and takes part from the next segment on:
        it is time to roll."""
        return self._writer.wants_segment

    def lease_until_ms(self) -> int:
        return 0 if self._failure else self._writer.lease_until_ms()

    def proved_at_ms(self) -> int:
        return 0 if self._failure else self._writer.proved_at_ms()

    def serve_from_ms(self) -> int:
        return self._recovered.serve_from_ms

    def reports(self) -> list[NodeReport]:
        """How each node does."""
        return self._loggers.now(lambda: self._writer.reports(self._clock_ms()))

    def silence(self) -> Silence | None:
        return self._loggers.now(lambda: self._writer.silence(self._clock_ms()))

    # The calls of a journal.

    def begin_segment(self, first_txid: int) -> None:
        """Raises CorruptEditLog if the first segment does not follow what was recovered."""
        if not self._has_begun:
            self.truncate_to(first_txid - 1)
            self._has_begun = True
        self._run(self._sender.begin(first_txid))

    def append(self, batch: Batch) -> None:
        """What can be sent is sent at once, while the directories of this machine sync."""
        if self._failure is None:
            self._loggers.now(lambda: self._sender.append(batch))

    def make_durable(self) -> None:
        self._run(self._sender.flush())

    def confirm_segment(self, first_txid: int) -> None:
        """The nodes have the record, and a majority of them is asked for it."""

    def end_segment(self, last_txid: int) -> None:
        self._run(self._sender.end(last_txid))

    def lend(self) -> None:
        """Nodes are no files of this machine."""

    def take_back(self, durable_txid: int) -> None:
        raise AssertionError("nothing is ever lent")

    def truncate_to(self, last_txid: int) -> None:
        """The quorum has decided where the log ends; nothing is cut here. Raises CorruptEditLog
        if it ends elsewhere than the caller believes."""
        recovered = self._recovered
        end_txid = recovered.end_txid
        if last_txid < end_txid or (recovered.is_exact and last_txid != end_txid):
            raise errors.CorruptEditLog(
                f"the log on {self.name} ends with transaction {end_txid}, and this namenode "
                f"has read it to {last_txid}"
            )

    def seen_txid(self) -> int:
        """What nodes know to be committed was held against the end when it was recovered."""
        return 0

    def purge_before(self, txid: int) -> None:
        """Nobody waits for it: what is left will be purged the next time."""
        if self._failure is None and not self._closed:
            self._loggers.now(lambda: self._writer.enqueue(f"purgeLogs({txid})", Purge(txid)))

    def close(self) -> None:
        with self._closing:
            if self._closed:
                return
            self._closed = True
        now_ms = self._clock_ms()
        if self._failure is None and self._sender.may_resign(now_ms, self.serve_from_ms()):
            self._loggers.resign(RESIGN_TIMEOUT_S)
        self._loggers.close()

    def _run(self, steps: Steps[None]) -> None:
        if self._failure is not None:
            raise errors.ClosedStream(f"{self.name} is given up: {self._failure}")
        try:
            self._loggers.run(steps)
        except OSError as error:
            self._failure = str(error)
            raise


def take_over(name: str, nodes: Mapping[str, Node], settings: QuorumSettings) -> QuorumJournal:
    """Become the writer of the log on `nodes`, which belong to the journal then.

    Raises QuorumLost, WriterFenced; CorruptEditLog if the nodes contradict each other.
    """
    writer = Writer(
        list(nodes),
        queue_bytes=settings.queue_bytes,
        lease_ms=settings.lease_ms,
        heartbeat_ms=settings.heartbeat_ms,
    )
    loggers = Loggers(writer, nodes, settings.timeouts_s, settings.clock_ms)
    try:
        recovered = loggers.run(recover(writer))
    except BaseException:
        loggers.close()
        raise
    log.info("%s is written in epoch %d from here on", name, recovered.epoch)
    return QuorumJournal(name, writer, loggers, recovered, settings.clock_ms)
