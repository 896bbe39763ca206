"""What is to be sent to one journal node, in order (pure). Hadoop: IPCLoggerChannel.

Rules; the numbers of steps are those of docs/how-it-works/journal.md:

1. One request is under way at a time, the others wait in their order. Those of edits that
   wait together are sent together, up to `MERGED_BYTES`; the first record of a segment is
   sent alone (Q9).
2. A node that fails at what changes its segments is *out of sync* (Q12): what is meant for the
   segment is not sent to it any more, since it would leave a gap. A new segment begins anew.
   If it failed because it has promised a younger writer, then this stays its answer: whoever
   counts refusals must not miss one that came early.
3. No more than `limit_bytes` of edits wait. A node that is slower is out of sync from there
   on. What waits already is sent: it follows what the node has.
4. Nothing waits for a node that is out of sync but what needs no segment: heartbeats tell when
   the node is back.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final, Protocol

from howdah import errors
from howdah.namenode.state.quorum.messages import (
    AcceptRecovery,
    Answer,
    FinalizeSegment,
    Request,
    SendEdits,
    StartSegment,
)

MERGED_BYTES: Final = 1 << 20

_FOLLOWS: Final = (SendEdits, FinalizeSegment)
"""Makes sense only to a node that has all that was sent before."""
LOSES_SYNC: Final = (StartSegment, AcceptRecovery, *_FOLLOWS)
"""A node that fails at it does not have what will be taken for granted."""


class Caller(Protocol):
    """Whoever wants to know what became of a request."""

    def answered(self, node: str, answer: Answer, now_ms: int) -> None: ...

    def failed(self, node: str, error: OSError) -> None: ...


@dataclass(frozen=True, slots=True)
class Item:
    """A request for a node, and all who wait for its answer."""

    request: Request
    callers: tuple[Caller, ...]


class LoggerQueue:
    """Keeps the requests for one node."""

    def __init__(self, node: str, limit_bytes: int) -> None:
        self.node = node
        self.out_of_sync: str | None = None
        """Why the node is out of sync; None while it follows."""
        self.acknowledged_txid = 0
        """The last transaction that the node has answered for."""
        self._limit_bytes = limit_bytes
        self._waiting: deque[Item] = deque()
        self._under_way: Item | None = None
        self._queued_bytes = 0
        self._is_fenced = False

    @property
    def queued_bytes(self) -> int:
        """Of edits that the node has not answered yet."""
        return self._queued_bytes

    @property
    def is_idle(self) -> bool:
        return self._under_way is None and not self._waiting

    def put(self, request: Request, caller: Caller) -> None:
        """`caller` may hear at once that the node is out of sync."""
        if isinstance(request, StartSegment):
            self.out_of_sync, self._is_fenced = None, False
        elif isinstance(request, SendEdits):
            self._reserve(len(request.records))
        if self.out_of_sync is not None and isinstance(request, _FOLLOWS):
            caller.failed(self.node, _left_out(self.out_of_sync, fenced=self._is_fenced))
            return
        if isinstance(request, SendEdits):
            self._queued_bytes += len(request.records)
        self._waiting.append(Item(request, (caller,)))

    def pop(self) -> Item | None:
        """The next request; None if there is none, or one is under way."""
        if self._under_way is not None or not self._waiting:
            return None
        item = self._waiting.popleft()
        if isinstance(item.request, SendEdits) and not item.request.begins_segment:
            item = self._merged(item, item.request)
        self._under_way = item
        return item

    def answered(self, answer: Answer, now_ms: int) -> None:
        """The request under way was answered."""
        item = self._end()
        if isinstance(item.request, SendEdits):
            self.acknowledged_txid = item.request.last_txid
        for caller in item.callers:
            caller.answered(self.node, answer, now_ms)

    def failed(self, error: OSError) -> None:
        """Note that the request under way was refused, or that nobody knows what became of it."""
        item = self._end()
        lost = [item]
        fenced = isinstance(error, errors.WriterFenced)
        if isinstance(item.request, LOSES_SYNC):
            lost += self._leave_out(str(error), fenced=fenced)
        for lost_item in lost:
            why = error if lost_item is item else _left_out(str(error), fenced=fenced)
            for caller in lost_item.callers:
                caller.failed(self.node, why)

    def leave_out(self, error: OSError) -> None:
        """Leave the node out: nobody knows what it has been sent, of a defect. Whoever waits hears
        of it, and the node is out of sync."""
        lost = [*filter(None, [self._under_way]), *self._waiting]
        self._under_way, self._queued_bytes = None, 0
        self._waiting.clear()
        self.out_of_sync, self._is_fenced = str(error), False
        for item in lost:
            for caller in item.callers:
                caller.failed(self.node, error)

    def _end(self) -> Item:
        item, self._under_way = self._under_way, None
        assert item is not None, "what is answered was sent"
        self._forget_bytes(item)
        return item

    def _reserve(self, size_bytes: int) -> None:
        """Rule 3."""
        full = self._queued_bytes and self._queued_bytes + size_bytes > self._limit_bytes
        if self.out_of_sync is None and full:
            self.out_of_sync = f"{self._queued_bytes} bytes of edits wait for it already"

    def _leave_out(self, reason: str, *, fenced: bool) -> list[Item]:
        """Rule 2: what waits for the segment is lost, up to where the next one begins."""
        lost: list[Item] = []
        kept: deque[Item] = deque()
        begins_anew = False
        for item in self._waiting:
            begins_anew = begins_anew or isinstance(item.request, StartSegment)
            if begins_anew or not isinstance(item.request, _FOLLOWS):
                kept.append(item)
            else:
                lost.append(item)
                self._forget_bytes(item)
        self._waiting = kept
        if not begins_anew:
            self.out_of_sync, self._is_fenced = reason, fenced
        return lost

    def _forget_bytes(self, item: Item) -> None:
        if isinstance(item.request, SendEdits):
            self._queued_bytes -= len(item.request.records)

    def _merged(self, item: Item, first: SendEdits) -> Item:
        """Rule 1: with what follows of the same segment."""
        pieces, callers = [first.records], list(item.callers)
        last, size_bytes = first, len(first.records)
        while self._waiting:
            following = self._waiting[0].request
            if not isinstance(following, SendEdits) or following.first_txid != last.last_txid + 1:
                break
            size_bytes += len(following.records)
            if following.segment_txid != first.segment_txid or size_bytes > MERGED_BYTES:
                break
            callers += self._waiting.popleft().callers
            pieces.append(following.records)
            last = following
        if last is first:
            return item
        count = last.last_txid - first.first_txid + 1
        joined = SendEdits(first.segment_txid, first.first_txid, count, b"".join(pieces))
        return Item(joined, tuple(callers))


def _left_out(reason: str, *, fenced: bool) -> OSError:
    kind = errors.WriterFenced if fenced else errors.JournalOutOfSync
    return kind(f"left out until the next segment begins: {reason}")
