"""Sends acks to whoever is in front of this datanode in a pipeline.

BlockReceiver's PacketResponder in Hadoop.

While a relay has the sockets (`relay`) it acknowledges, and a responder waits. Then, or from the
begin on where there is no relay, acks are the responder's.

Without a mirror the receiving thread acks what it has written (`LastResponder`);
a second thread would only cost. With a mirror a thread waits for the acks from
behind, puts this node's own in front and passes them on (`MirrorResponder`).

Rules:
- a packet is acked when it is written here and acked from behind;
- the last packet is acked when the replica is finalized;
- a mirror that dies is told as [SUCCESS, ERROR]: this node is well, the next one
  isn't. The client then rebuilds the pipeline; until it hangs up, packets are
  still taken, written and acked in this way;
- a datanode that restarts says so between the acks (out of band); those in front of it
  pass that on, each with its own SUCCESS before it, also while no ack is due;
- a mirror that reports a checksum error makes this node hang up without an ack:
  what it passed on was bad, and who is to blame is in front of the mirror.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from queue import Empty, SimpleQueue
from typing import Protocol

from howdah import errors
from howdah.datanode.state.replicas.replicas import Replica
from howdah.datanode.transfer.mirror import Mirror
from howdah.protocol.data_transfer.packets import (
    UNKNOWN_SEQNO,
    PacketHeader,
    PipelineAck,
    encode_ack,
)
from howdah.protocol.data_transfer.status import Status
from howdah.runtime.sockets import Connection

log = logging.getLogger(__name__)

_SUCCESS = (Status.SUCCESS,)
_MIRROR_FAILED = (Status.SUCCESS, Status.ERROR)
_NO_HURRY_S = 60.0
MOST_DUE = 1024
"""So many packets may wait for their acks, as in the native relay."""
_LISTEN_S = 0.5
"""How often a mirror is listened to that owes no ack. Most of the time it owes some."""

Finalize = Callable[[], Status]
"""Makes the replica final; SUCCESS, or what the ack of the last packet must say."""


class Interruptible(Protocol):
    def interrupt(self) -> None:
        """Whatever it does, it ends soon."""


class Responder(Protocol):
    def lend_to(self, relay: Interruptible) -> AbstractContextManager[None]:
        """Within this, `relay` sends the acks. If something else is to be said in front, it is
        interrupted, and nothing is said before this has ended."""

    def begin(self, due: Sequence[PacketHeader]) -> None:
        """Acks are the responder's from here on. `due` are packets that are written here, and
        that the mirror owes an ack of. Called once, before anything is written."""

    @property
    def failure(self) -> Exception | None:
        """Why acks ended early, if they did."""

    def written(self, headers: Sequence[PacketHeader], status: Status = Status.SUCCESS) -> None:
        """These packets are done here, in this order: in the files, or failed to get there."""

    def finish(self) -> None:
        """No more packets: returns when all acks are sent, or can't be."""

    def abort(self) -> None:
        """The connection is over: returns when no ack is being sent any more."""

    def send_status(self, status: Status, timeout_s: float) -> bool:
        """Say something that answers no packet; False if nobody could be told in time."""

    def runs_on(self, thread_id: int) -> bool:
        """Whether that thread is its own."""


class AckSender:
    """The way back to whoever is in front. Acks have one sender, others speak in between."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._turn = threading.Lock()
        self._has_word = False
        self._relay: Interruptible | None = None

    @contextlib.contextmanager
    def lend_to(self, relay: Interruptible) -> Iterator[None]:
        with self._turn:
            self._relay = relay
            # Who has something to say notes that before looking for a relay: one of both sees.
            if self._has_word:
                relay.interrupt()
            try:
                yield
            finally:
                self._relay = None

    def send(self, acks: bytes | bytearray) -> None:
        with self._turn:
            self._connection.send_all(acks)

    def send_replies(self, replies: Sequence[Status], timeout_s: float) -> bool:
        self._has_word = True
        relay = self._relay
        if relay is not None:
            relay.interrupt()
        if not self._turn.acquire(timeout=timeout_s):
            return False
        try:
            self._connection.send_all(encode_ack(UNKNOWN_SEQNO, replies))
        finally:
            self._turn.release()
        return True


class SilentResponder:
    """For copies between datanodes, which have no acks."""

    failure: Exception | None = None

    def __init__(self, finalize: Finalize) -> None:
        self._finalize = finalize

    def lend_to(self, relay: Interruptible) -> AbstractContextManager[None]:
        return contextlib.nullcontext()

    def begin(self, due: Sequence[PacketHeader]) -> None:
        return

    def written(self, headers: Sequence[PacketHeader], status: Status = Status.SUCCESS) -> None:
        if headers[-1].last_in_block and status is Status.SUCCESS:
            self._finalize()

    def finish(self) -> None:
        return

    def abort(self) -> None:
        return

    def send_status(self, status: Status, timeout_s: float) -> bool:
        return False

    def runs_on(self, thread_id: int) -> bool:
        return False


class LastResponder:
    """At the end of the pipeline: acks at once, from the receiving thread."""

    failure: Exception | None = None

    def __init__(self, connection: Connection, replica: Replica, finalize: Finalize) -> None:
        self._acks = AckSender(connection)
        self._replica = replica
        self._finalize = finalize

    def lend_to(self, relay: Interruptible) -> AbstractContextManager[None]:
        return self._acks.lend_to(relay)

    def begin(self, due: Sequence[PacketHeader]) -> None:
        assert not due, "acks are due, and there is no mirror"

    def written(self, headers: Sequence[PacketHeader], status: Status = Status.SUCCESS) -> None:
        out = bytearray()
        if status is Status.SUCCESS:
            for header in headers[:-1]:
                out += encode_ack(header.seqno, _SUCCESS)
            header = headers[-1]
            self._replica.acknowledge(self._replica.length_bytes)
            if header.last_in_block:
                status = self._finalize()
            out += encode_ack(header.seqno, (status,))
        else:
            for header in headers:
                out += encode_ack(header.seqno, (status,))
        self._acks.send(out)

    def finish(self) -> None:
        return

    def abort(self) -> None:
        return

    def send_status(self, status: Status, timeout_s: float) -> bool:
        return self._acks.send_replies((status,), timeout_s)

    def runs_on(self, thread_id: int) -> bool:
        return False


class MirrorResponder:
    """Between client and mirror: a thread that joins the acks from behind with its own."""

    def __init__(
        self,
        connection: Connection,
        mirror: Mirror,
        replica: Replica,
        finalize: Finalize,
        name: str,
    ) -> None:
        self._connection = connection
        self._acks = AckSender(connection)
        self._mirror = mirror
        self._heard_all = False
        self._early: PipelineAck | None = None
        self._replica = replica
        self._finalize = finalize
        self._queue: SimpleQueue[tuple[Sequence[PacketHeader], Status] | None] = SimpleQueue()
        self._room = threading.Condition()
        self._due = 0
        """Packets that are written and not acknowledged."""
        self._has_begun = False
        self.failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name=f"acks of {name}", daemon=True)
        self._thread.start()

    def lend_to(self, relay: Interruptible) -> AbstractContextManager[None]:
        return self._acks.lend_to(relay)

    def begin(self, due: Sequence[PacketHeader]) -> None:
        self._has_begun = True
        self._put(due, Status.SUCCESS)

    def written(self, headers: Sequence[PacketHeader], status: Status = Status.SUCCESS) -> None:
        # A mirror that is slow slows down the client, as it does in the native relay.
        with self._room:
            self._room.wait_for(lambda: self._due < MOST_DUE or self.failure is not None)
        # What was written together is handed over together: each hand-over may wake the
        # other thread, and then both want the interpreter.
        self._put(headers, status)

    def _put(self, headers: Sequence[PacketHeader], status: Status) -> None:
        with self._room:
            self._due += len(headers)
        self._queue.put((headers, status))

    def runs_on(self, thread_id: int) -> bool:
        return self._thread.ident == thread_id

    def finish(self) -> None:
        self._queue.put(None)
        self._thread.join()
        if self.failure is not None:
            raise self.failure

    def abort(self) -> None:
        self._queue.put(None)
        self._mirror.shutdown()
        self._connection.shutdown()
        self._thread.join()

    def send_status(self, status: Status, timeout_s: float) -> bool:
        return self._acks.send_replies((status,), timeout_s)

    def _run(self) -> None:
        try:
            pending = bytearray()
            while (written := self._next_written()) is not None:
                headers, status = written
                for left, header in zip(range(len(headers) - 1, -1, -1), headers, strict=True):
                    replies = self._replies_to(header, status)
                    if status is Status.SUCCESS:
                        if replies.count(Status.SUCCESS) == len(replies):
                            end = header.offset_in_block + header.data_length_bytes
                            self._replica.acknowledge(end)
                        if header.last_in_block:
                            replies = (self._finalize(), *replies[1:])
                    pending += encode_ack(header.seqno, replies)
                    # Acks that are already here travel together.
                    if not self._mirror.has_ack_waiting or (not left and self._queue.empty()):
                        self._acks.send(pending)
                        pending.clear()
                with self._room:
                    self._due -= len(headers)
                    self._room.notify_all()
        except (errors.HowdahError, OSError) as error:
            self._fail(error)
        except Exception as error:
            # The client must not wait for acks that nobody sends any more.
            log.exception("acking %r failed on a defect", self._replica)
            self._fail(error)

    def _next_written(self) -> tuple[Sequence[PacketHeader], Status] | None:
        while True:
            try:
                return self._queue.get(timeout=_LISTEN_S if self._has_begun else None)
            except Empty:
                self._listen()

    def _listen(self) -> None:
        """The mirror owes no ack, as far as this thread knows; it may restart, or die."""
        mirror = self._mirror
        if mirror.failed or self._early is not None or not mirror.has_something_to_say:
            return
        try:
            ack = mirror.read_ack()
        except (errors.HowdahError, OSError) as error:
            # The next packet's ack tells those in front.
            self._lost(error)
            return
        if ack.out_of_band is None:
            self._early = ack  # Its packet is being written here.
        else:
            self._pass_on(ack)

    def _lost(self, error: Exception) -> None:
        self._mirror.failed = True
        log.warning("the mirror %s of %r does not ack: %s", self._mirror.name, self._replica, error)

    def _fail(self, error: Exception) -> None:
        with self._room:
            self.failure = error
            self._room.notify_all()
        # The receiving thread waits for packets: this wakes it up.
        self._connection.shutdown()

    def _replies_to(self, header: PacketHeader, status: Status) -> tuple[Status, ...]:
        if status is not Status.SUCCESS:
            return (status,)
        if self._mirror.failed:
            self._hear_last_words()
            return _MIRROR_FAILED
        try:
            ack = self._read_ack()
            self._check(ack, header)
        except (errors.HowdahError, OSError) as error:
            if isinstance(error, errors.ChecksumMismatch):
                raise
            self._lost(error)
            return _MIRROR_FAILED
        return (Status.SUCCESS, *ack.replies)

    def _read_ack(self) -> PipelineAck:
        """The next ack; what is said in between goes on to the front at once."""
        ack, self._early = self._early, None
        while ack is None or ack.out_of_band is not None:
            if ack is not None:
                self._pass_on(ack)
            ack = self._mirror.read_ack()
        return ack

    def _pass_on(self, ack: PipelineAck) -> None:
        log.info("%s says %s", self._mirror.name, ack.out_of_band)
        self._acks.send_replies((Status.SUCCESS, *ack.replies), _NO_HURRY_S)

    def _hear_last_words(self) -> None:
        """A mirror that can't be written to may have said why: it restarts, and is awaited."""
        if not self._heard_all:
            self._heard_all = True
            with contextlib.suppress(errors.HowdahError, OSError):
                while True:
                    self._read_ack()

    def _check(self, ack: PipelineAck, header: PacketHeader) -> None:
        if ack.seqno != header.seqno:
            raise errors.ProtocolViolation(
                f"an ack for packet {ack.seqno} where {header.seqno} is due"
            )
        if ack.replies and ack.replies[0] is Status.ERROR_CHECKSUM:
            raise errors.ChecksumMismatch(
                f"the mirror {self._mirror.name} says that packet {header.seqno} of "
                f"{self._replica!r} came damaged from this datanode"
            )
