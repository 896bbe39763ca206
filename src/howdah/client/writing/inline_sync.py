"""A sync of a quiet stream: who waits for it sends the packet and hears the ack itself.

Usually a packet goes from its writer to the streamer's thread, and its ack from the ack reader's
thread back to the writer. Where nothing else is under way that changes threads for nothing. So the
ack reader *parks* when the last ack that was due is a sync's: it reads no more, and the next sync
may be a step of its own. The rules:

1. A step begins with the machine's lock, when the reader is parked, the pipeline is open, and one
   sync's packets are all there is that is not acknowledged. It sends what the socket takes at once,
   with the lock. What the socket does not take is the streamer's to send, before all else.
2. Meanwhile the connection is *lent*: nobody else reads from it, or closes it. Others may write,
   and the streamer sends what they wrote.
3. The kernel waits for the acks, whose bytes are known, for at most `PATIENCE_S` each. Whatever
   else comes, or nothing, or a signal, ends the step: what came goes back to the connection, the
   reader reads on, and who waited waits as always. A step never decides but that all went well.
4. The namenode is told the length behind the ack of the bytes. Of an `hsync` its log is written
   while the datanodes wait for their disks: the order to sync is in a packet of its own, whose ack
   is waited for last. Where no call can be prepared, that ack is left to the threads.
5. A reader that is parked, and sees no step for `acks.PARKED_S`, reads again: so it is found out
   soon that a pipeline has broken, where nobody writes.

Without the kernel there are no steps. Of a pipeline whose acks are not the bytes that are expected,
as Hadoop's datanodes write the time into theirs, no more are made.
"""

from __future__ import annotations

import time
from typing import Final

from howdah import errors
from howdah.client.state.writing.actions import SequencedPacket
from howdah.client.state.writing.packetizer import Buffer
from howdah.client.writing.acks import Acks
from howdah.client.writing.length_updates import LengthUpdates
from howdah.client.writing.machine import Machine
from howdah.native.loader import kernel
from howdah.native.socket_io import Outcome
from howdah.protocol.data_transfer.packets import PipelineAck, encode_ack, encode_prelude
from howdah.protocol.data_transfer.status import Status
from howdah.rpc.connection import PreparedCall

PATIENCE_S: Final = 1.0
"""A pipeline that is silent for so long is left to threads, which send heartbeats meanwhile."""
_PATIENCE_NS: Final = int(PATIENCE_S * 1e9)


class InlineSync:
    """Makes one sync, and is used once. Of a stream there is one at a time."""

    __slots__ = (
        "_acks",
        "_block_id",
        "_call",
        "_durable",
        "_found",
        "_has_left_rest",
        "_lengths",
        "_machine",
        "_nodes",
        "_packets",
        "_sent",
        "_wire",
        "has_told",
    )

    def __init__(
        self, machine: Machine, acks: Acks, lengths: LengthUpdates | None, *, durable: bool
    ) -> None:
        """With `lengths` the namenode is told how long the block is by that."""
        self._machine = machine
        self._acks = acks
        self._lengths = lengths
        self._durable = durable
        self._packets: tuple[SequencedPacket, ...] = ()
        self._block_id = self._nodes = 0
        self._wire = b""
        # Lists, which a signal between two steps of the interpreter's cannot take away.
        self._sent: list[tuple[int, int]] = []
        self._found: list[tuple[int, int, int, bytes]] = []
        self._call: PreparedCall | None = None
        self._has_left_rest = False
        self.has_told = False

    def run(self) -> None:
        """Send the packets that wait to be sent, and take their acks. What it leaves, since it is
        not plain, is for the threads to do."""
        native = kernel()
        acks = self._acks
        if native is None or not acks.connection.is_plain:
            return
        try:
            with self._machine.lock:
                try:
                    if not self._begin():
                        return
                    native.send_now(acks.connection, self._wire, self._sent)
                finally:
                    # Before anybody else sends.
                    self._leave_rest()
            if self._is_sent:
                first, due = self._prepare()
                call = self._call
                line, request = (None, b"") if call is None else (call.connection, call.request)
                native.hear_acks(
                    acks.connection,
                    due,
                    first,
                    _PATIENCE_NS,
                    self._found,
                    line,
                    request,
                    _PATIENCE_NS,
                )
        finally:
            if acks.lent_to is self:
                try:
                    try:
                        self._end_call()
                    finally:
                        self._end()
                finally:
                    self._give_back()

    def _begin(self) -> bool:
        """With the lock: the packets are on the ack queue now; False if there can't be a step."""
        acks, pipeline = self._acks, self._machine.pipeline
        packets = pipeline.queues.of_a_sync
        if (
            not packets
            or not acks.is_parked
            or acks.lent_to is not None
            or acks.connection.has_read_ahead
            or not pipeline.is_streaming
            or self._machine.stopping
        ):
            return False
        assert pipeline.block is not None
        self._block_id = pipeline.block.block.block_id
        self._nodes = len(pipeline.block.nodes)
        parts: list[Buffer] = []
        for packet in packets:
            sums = packet.packet.sums
            parts += (encode_prelude(packet.header, len(sums)), sums, packet.packet.data)
        self._wire = b"".join(parts)
        self._packets = packets
        acks.lent_to = self
        # Who holds them tells a length, too.
        if self._lengths is not None and not self._lengths.acquire(self):
            self._lengths = None
        # It says to send just these.
        pipeline.next_action(time.monotonic())
        return True

    def _prepare(self) -> tuple[int, bytes]:
        """Make the call ready, while the datanodes work. How many bytes the first ack has, and the
        acks to hear."""
        acks = [
            encode_ack(packet.seqno, (Status.SUCCESS,) * self._nodes) for packet in self._packets
        ]
        if self._lengths is not None:
            self._call = self._lengths.prepare(
                self._block_id, self._packets[0].packet.end, durable=self._durable
            )
            if self._call is None:
                del acks[1:]
        return len(acks[0]), b"".join(acks)

    @property
    def _is_sent(self) -> bool:
        return bool(self._sent) and self._sent[0][0] == len(self._wire)

    def _leave_rest(self) -> None:
        """With the lock: what the socket has not taken of the packets is the streamer's to send, or
        all of it, if they are on no queue but the first."""
        machine = self._machine
        if not self._packets:
            return
        if machine.pipeline.queues.due_seqno == self._packets[0].seqno:
            self._acks.unsent = self._wire[self._sent[0][0] if self._sent else 0 :]
        self._has_left_rest = True
        if not self._is_sent:
            machine.work.notify()

    def _end_call(self) -> None:
        call = self._call
        if call is None:
            return
        if len(self._found) > 1:
            _, outcome, _, frame = self._found[1]
            notified = call.answered(outcome, frame)
            if notified and self._durable and self._lengths is not None:
                self._lengths.told_durably(self._block_id, self._packets[0].packet.end)
            self.has_told = notified
        elif self._found:
            call.unused()
        else:
            call.connection.close()

    def _end(self) -> None:
        machine, acks = self._machine, self._acks
        pipeline = machine.pipeline
        with machine.lock:
            if not self._has_left_rest:
                self._leave_rest()
            if self._found:
                heard, outcome, _, came = self._found[0]
                acks.connection.push_back(came)
                for packet in self._packets[:heard]:
                    pipeline.acked(PipelineAck(packet.seqno, (Status.SUCCESS,) * self._nodes))
                if outcome == Outcome.WHOLE:
                    acks.steps += 1
                elif outcome == Outcome.ODD:
                    acks.has_steps = False
            self._free()
            acks.step_ended()

    def _free(self) -> None:
        if self._lengths is not None:
            self._lengths.free(self)
        self._acks.lent_to = None

    def _give_back(self) -> None:
        """The connection, and with it the stream, where a signal has come while what was found was
        noted down: then it is unknown how much of it was."""
        if self._acks.lent_to is self:
            path = self._machine.pipeline.path
            with self._machine.lock:
                self._free()
            self._machine.fail(
                errors.PipelineFailed(
                    f"{path}: a sync was interrupted half-way, so what is acknowledged is unknown"
                )
            )
