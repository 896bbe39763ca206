"""A writer before its journal nodes: what a majority has answered, and what follows (pure).
Hadoop: AsyncLoggerSet, QuorumCall.

A call goes to all nodes, and is decided as soon as a majority has answered it, or cannot any
more. Whoever drives a `Writer` takes what is to be sent, sends it, and says what came of it:

    call = writer.ask("newEpoch", NewEpoch(7))
    sending = writer.take("jn1", now_ms)        # then over the network, and
    writer.answered(sending, answer, now_ms)    # or failed(sending, error, now_ms)
    call.is_decided

Two more things follow from the answers:

- **The lease** (Q14, LM-016). A node that answers a request of an epoch had promised no younger
  one. When a majority has done so for requests that were sent at t or later, then no younger
  writer had a majority at t, and none serves before t + `lease_ms`: it waits for that (Q4).
- **The committed transaction** (Q10). What a majority has is the log, whatever happens next.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from howdah import errors
from howdah.namenode.state.edit_log.shared_log import NodeReport, Silence
from howdah.namenode.state.quorum.logger_queue import LOSES_SYNC, Item, LoggerQueue
from howdah.namenode.state.quorum.messages import (
    Answer,
    FinalizeSegment,
    GetState,
    Heartbeat,
    NewEpoch,
    Request,
    SendEdits,
    Stamp,
    StartSegment,
)

T = TypeVar("T")


class QuorumLost(errors.HowdahError, OSError):
    """Too few journal nodes have answered; the message has what each of them said."""


class QuorumCall:
    """Makes one request to all nodes."""

    def __init__(self, name: str, request: Request, nodes: Sequence[str]) -> None:
        """Begin a call; `name` names it in messages."""
        self.name = name
        self.request = request
        self.answers: dict[str, Answer] = {}
        self.answered_at_ms: dict[str, int] = {}
        self.failures: dict[str, OSError] = {}
        self._nodes = tuple(nodes)
        self._needed = majority(len(nodes))

    @property
    def has_succeeded(self) -> bool:
        return len(self.answers) >= self._needed

    @property
    def is_decided(self) -> bool:
        return self.has_succeeded or len(self.failures) > len(self._nodes) - self._needed

    def answered(self, node: str, answer: Answer, now_ms: int) -> None:
        # A call that has been given up is decided: an answer that comes later is none.
        if node not in self.failures:
            self.answers[node] = answer
            self.answered_at_ms[node] = now_ms

    def failed(self, node: str, error: OSError) -> None:
        self.failures.setdefault(node, error)

    def expire(self, reason: str) -> None:
        """Whoever has not answered by now has failed."""
        for node in self._nodes:
            if node not in self.answers:
                self.failed(node, errors.CallTimeout(reason))

    def result(self) -> dict[str, Answer]:
        """What was answered, by a majority at least. Raises QuorumLost; WriterFenced if so many
        nodes have promised a younger writer that this one is none any more."""
        assert self.is_decided, "only what is decided has a result"
        if self.has_succeeded:
            return self.answers
        said = "; ".join(f"{node}: {error}" for node, error in self.failures.items())
        fenced = [e for e in self.failures.values() if isinstance(e, errors.WriterFenced)]
        if len(fenced) > len(self._nodes) - self._needed:
            raise errors.WriterFenced(
                f"{self.name} is refused, another writer has taken over: {said}"
            )
        raise QuorumLost(
            f"{self.name} needs {self._needed} of {len(self._nodes)} journal nodes, and "
            f"{len(self.answers)} answered: {said}"
        )


Steps: TypeAlias = Generator[QuorumCall, None, T]
"""What a writer does: it yields each call that it waits for, and goes on when the call is
decided. In the end it returns a `T`."""


def settled(call: QuorumCall) -> Steps[dict[str, Answer]]:
    """Wait for a call. Raises what `QuorumCall.result` does."""
    if not call.is_decided:
        yield call
    return call.result()


@dataclass(frozen=True, slots=True)
class Sending:
    """A request on its way to one node."""

    node: str
    request: Request
    stamp: Stamp | None
    item: Item
    sent_ms: int


FIRST_REJOIN_PAUSE_MS: Final = 2_000
LONGEST_REJOIN_PAUSE_MS: Final = 600_000
"""A node that fails again after it has joined in is let in again after this at the latest."""


class Writer:
    """Holds the state of one writer. It has one epoch in its life: whoever was fenced begins
    anew, with another writer."""

    def __init__(
        self, nodes: Sequence[str], *, queue_bytes: int, lease_ms: int, heartbeat_ms: int
    ) -> None:
        """`heartbeat_ms` after the last request a node gets a heartbeat."""
        assert len(set(nodes)) == len(nodes) > 0, "each node has one voice"
        self.nodes = tuple(nodes)
        self.queue_bytes = queue_bytes
        self.lease_ms = lease_ms
        self.epoch: int | None = None
        self.committed_txid: int | None = None
        self.resigned = False
        self.others_until_ms = 0
        """Until then a former writer may serve. Nodes that know nothing of that one learn it
        from this one, in case that one serves longer."""
        self._heartbeat_ms = heartbeat_ms
        self._queues = {node: LoggerQueue(node, queue_bytes) for node in nodes}
        self._serials = dict.fromkeys(nodes, 0)
        self._sent_ms = dict.fromkeys(nodes, -heartbeat_ms)
        self._proved_ms: dict[str, int] = {}
        self._fenced: dict[str, str] = {}
        self._failing: dict[str, str] = {}
        """Why nodes failed at what was sent to them last."""
        self._back: set[str] = set()
        self._rejoin_pauses_ms: dict[str, int] = {}
        self._rejoins_at_ms: dict[str, int] = {}

    def begin_epoch(self, epoch: int) -> None:
        """A majority has promised it."""
        assert self.epoch is None, "a writer has one epoch"
        self.epoch = epoch

    def enqueue(self, name: str, request: Request) -> QuorumCall:
        """Put a request into all queues."""
        call = QuorumCall(name, request, self.nodes)
        if isinstance(request, StartSegment):
            self._back.clear()
        for queue in self._queues.values():
            queue.put(request, call)
        return call

    def pop(self, node: str, now_ms: int) -> Sending | None:
        """What is to be sent to a node now; None if nothing is, or if something is under
        way. An idle node gets heartbeats, also when it is out of sync."""
        queue = self._queues[node]
        if queue.is_idle and self._is_heartbeat_due(node, now_ms):
            queue.put(Heartbeat(), _NOBODY)
        item = queue.pop()
        if item is None:
            return None
        self._sent_ms[node] = now_ms
        stamp = self._stamp(node, item.request, now_ms)
        return Sending(node, item.request, stamp, item, now_ms)

    def next_heartbeat_ms(self, node: str) -> int | None:
        """When `pop` has something for an idle node; None if not by itself."""
        if self.epoch is None or self.resigned:
            return None
        return self._sent_ms[node] + self._heartbeat_ms

    def answered(self, sending: Sending, answer: Answer, now_ms: int) -> None:
        node, queue = sending.node, self._queues[sending.node]
        self._failing.pop(node, None)
        if sending.stamp is not None:
            self._proved_ms[node] = sending.sent_ms
            self._fenced.pop(node, None)
            if queue.out_of_sync is not None and now_ms >= self._rejoins_at_ms.get(node, 0):
                self._back.add(node)
            if isinstance(sending.request, FinalizeSegment):
                self._rejoin_pauses_ms.pop(node, None)
        queue.answered(answer, now_ms)
        for call in sending.item.callers:
            if isinstance(call, QuorumCall) and call.has_succeeded:
                self._note_committed(call.request)

    def failed(self, sending: Sending, error: OSError, now_ms: int) -> None:
        self._back.discard(sending.node)
        self._failing[sending.node] = str(error)
        if isinstance(sending.request, LOSES_SYNC):
            self._pause_rejoin(sending.node, now_ms)
        if sending.stamp is not None and isinstance(error, errors.WriterFenced):
            self._fenced[sending.node] = str(error)
        self._queues[sending.node].failed(error)

    def leave_out(self, node: str, error: OSError, now_ms: int) -> None:
        """What was done for a node failed on a defect: it takes part in the next segment."""
        self._back.discard(node)
        self._failing[node] = str(error)
        self._pause_rejoin(node, now_ms)
        self._queues[node].leave_out(error)

    @property
    def lost(self) -> str | None:
        """Why this writer is one no more, if so many nodes have refused it that no majority
        is left."""
        fenced = list(self._fenced.items())  # At once: this is asked beside the writer's threads.
        if len(fenced) <= len(self.nodes) - majority(len(self.nodes)):
            return None
        said = "; ".join(f"{node}: {why}" for node, why in fenced)
        return f"another writer has taken over the log: {said}"

    def lease_until_ms(self) -> int:
        """Until then no younger writer serves. The clock is that of `pop`."""
        proved_ms = self.proved_at_ms()
        return proved_ms + self.lease_ms if proved_ms else 0

    def proved_at_ms(self) -> int:
        """No younger writer had a majority then: one has answered what was sent then or later.
        0 if that is not known of any time."""
        proved = sorted(self._proved_ms.values(), reverse=True)
        needed = majority(len(self.nodes))
        return 0 if self.resigned or len(proved) < needed else proved[needed - 1]

    @property
    def wants_segment(self) -> bool:
        """A node that was left out answers again, and would take part in a new segment."""
        return bool(self._back)

    def reports(self, now_ms: int) -> list[NodeReport]:
        return [
            NodeReport(
                node,
                queue.acknowledged_txid,
                queue.queued_bytes,
                queue.out_of_sync,
                self._silent(node, now_ms),
            )
            for node, queue in self._queues.items()
        ]

    def silence(self, now_ms: int) -> Silence | None:
        """Return the nodes that do not answer, each with its reason; None where all answer."""
        reasons = {node: reason for node in self.nodes if (reason := self._silent(node, now_ms))}
        if not reasons:
            return None
        spare = len(self.nodes) - majority(len(self.nodes))
        text = "; ".join(f"{node}: {reason}" for node, reason in reasons.items())
        return Silence(text, len(self._failing) > spare)

    def is_failing(self, node: str) -> bool:
        """Whether it failed at the last that was sent to it."""
        return node in self._failing

    def _silent(self, node: str, now_ms: int) -> str:
        """Return why a node counts as silent: it failed, or has not answered for two leases."""
        if node in self._failing:
            return self._failing[node]
        proved_ms = self._proved_ms.get(node)
        if proved_ms is None or self.resigned or now_ms - proved_ms < 2 * self.lease_ms:
            return ""
        return f"no answer for {(now_ms - proved_ms) / 1000:.1f} s"

    def _stamp(self, node: str, request: Request, now_ms: int) -> Stamp | None:
        if isinstance(request, GetState | NewEpoch):
            return None
        assert self.epoch is not None, "an epoch comes before all but the questions for it"
        serial = self._serials[node]
        self._serials[node] = serial + 1
        lease_ms = max(self.lease_ms, self.others_until_ms - now_ms)
        return Stamp(self.epoch, serial, self.committed_txid, lease_ms)

    def _pause_rejoin(self, node: str, now_ms: int) -> None:
        """The first failure costs nothing; each further one without a finished segment in
        between doubles the pause: a roll for a node whose disk is full helps nobody."""
        pause_ms = self._rejoin_pauses_ms.get(node, 0)
        self._rejoins_at_ms[node] = now_ms + pause_ms
        doubled_ms = max(2 * pause_ms, FIRST_REJOIN_PAUSE_MS)
        self._rejoin_pauses_ms[node] = min(doubled_ms, LONGEST_REJOIN_PAUSE_MS)

    def _is_heartbeat_due(self, node: str, now_ms: int) -> bool:
        due_ms = self.next_heartbeat_ms(node)
        return due_ms is not None and now_ms >= due_ms

    def _note_committed(self, request: Request) -> None:
        if isinstance(request, SendEdits | FinalizeSegment):
            self.committed_txid = max(self.committed_txid or 0, request.last_txid)


class _Nobody:
    """Waits for no answer."""

    def answered(self, node: str, answer: Answer, now_ms: int) -> None: ...

    def failed(self, node: str, error: OSError) -> None: ...


_NOBODY = _Nobody()


def majority(count: int) -> int:
    return count // 2 + 1
