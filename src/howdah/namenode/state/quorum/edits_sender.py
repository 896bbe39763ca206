"""How a writer sends its edits (pure). Hadoop: QuorumOutputStream and the writing half of
QuorumJournalManager.

Q9.  **Begin** a segment on a majority, and send its first record alone. When a majority has
     the record, the rest may follow. Two writers that begin at the same transaction send the
     same first record, so what differs between them is never on a node whose segment is of
     the same length: nodes compare lengths, and no more.
Q10. **Send** batches to all nodes. What a majority has is **committed**, and acknowledged.
Q11. **Finish** the segment on a majority; only then the next one begins.
Q12. A node that fails is left out, and **joins in** again when a segment begins.
     So that no burst leaves all nodes out at once, half of what may wait for a node is sent
     before a majority has answered, and no more.
Q13. Without a majority the writer is at its end: it acknowledges nothing any more.
"""

from __future__ import annotations

from collections import deque

from howdah.namenode.state.edit_log.journal import Batch
from howdah.namenode.state.quorum.messages import FinalizeSegment, SendEdits, StartSegment
from howdah.namenode.state.quorum.quorum import QuorumCall, Steps, Writer, settled


class Sender:
    """Sends the segment that a writer is writing."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._segment_txid: int | None = None
        self._has_ended_one = False
        self._next_txid = 0
        self._first: QuorumCall | None = None
        self._held: deque[Batch] = deque()
        self._calls: deque[tuple[QuorumCall, int]] = deque()
        self._window_bytes = writer.queue_bytes // 2

    def begin(self, first_txid: int) -> Steps[None]:
        """Begin a segment (Q9). Raises QuorumLost, WriterFenced; so do the others."""
        assert self._segment_txid is None, "one segment at a time"
        name = f"startLogSegment({first_txid})"
        yield from settled(self._writer.enqueue(name, StartSegment(first_txid)))
        self._segment_txid = self._next_txid = first_txid
        self._first = None

    def append(self, batch: Batch) -> None:
        """Send a batch, or hold it until the first record of the segment is on a majority."""
        assert batch.first_txid == self._next_txid, "transactions come without a gap"
        self._next_txid += batch.count
        if self._first is None:
            assert batch.count == 1, "the first record of a segment is sent alone"
            self._first = self._send(batch)
        elif self._held or not self._first.has_succeeded or not self._has_room(batch):
            self._held.append(batch)
        else:
            self._send(batch)

    def flush(self) -> Steps[None]:
        """Wait until a majority has everything (Q10)."""
        if self._held:
            assert self._first is not None, "the first record comes before all others"
            yield from settled(self._first)
        while self._calls or self._held:
            while self._held and self._has_room(self._held[0]):
                self._send(self._held.popleft())
            yield from settled(self._calls[0][0])
            self._calls.popleft()

    def end(self, last_txid: int) -> Steps[None]:
        """End the segment (Q11)."""
        assert last_txid == self._next_txid - 1, "a segment ends with its last record"
        first_txid = self._segment_txid
        assert first_txid is not None, "a segment that ends has begun"
        yield from self.flush()
        name = f"finalizeLogSegment({first_txid}-{last_txid})"
        yield from settled(self._writer.enqueue(name, FinalizeSegment(first_txid, last_txid)))
        self._segment_txid = None
        self._has_ended_one = True

    def may_resign(self, now_ms: int, serve_from_ms: int) -> bool:
        """Q14: whether nobody has to wait for anybody's lease when this writer ends now. One
        whose takeover failed, or that has not waited for its predecessor, must not say so: the
        predecessor may still serve."""
        has_ended = self._has_ended_one and self._segment_txid is None
        return has_ended and now_ms >= serve_from_ms and self._writer.lost is None

    def _send(self, batch: Batch) -> QuorumCall:
        segment_txid = self._segment_txid
        assert segment_txid is not None, "edits belong to a segment"
        call = self._writer.enqueue(
            f"journal({batch.first_txid}-{batch.last_txid})",
            SendEdits(segment_txid, batch.first_txid, batch.count, batch.records),
        )
        self._calls.append((call, len(batch.records)))
        return call

    def _has_room(self, batch: Batch) -> bool:
        unanswered = sum(size for call, size in self._calls if not call.is_decided)
        return not unanswered or unanswered + len(batch.records) <= self._window_bytes
