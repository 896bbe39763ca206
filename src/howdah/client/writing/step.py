"""A sync of a quiet stream: who waits for it sends the packet and hears the ack itself.

Usually a packet goes from its writer to the streamer's thread, and its ack from the ack reader's
thread back to the writer. Where nothing else is under way that changes threads for nothing. So the
ack reader *parks* when the last ack that was due is a sync's: it reads no more, and the next sync
may be a step of its own. The rules:

1. A step begins with the machine's lock, when the reader is parked, the pipeline is open, and one
   packet is all there is that is not acknowledged. It sends what the socket takes at once, with
   the lock. What the socket does not take is the streamer's to send, before all else.
2. Meanwhile the connection is *lent*: nobody else reads from it, or closes it. Others may write,
   and the streamer sends what they wrote.
3. The kernel waits for the ack, whose bytes are known, for at most `PATIENCE_S`. Whatever else
   comes, or nothing, or a signal, ends the step: what came goes back to the connection, the
   reader reads on, and who waited waits as always. A step never decides but that all went well.
4. A reader that is parked, and sees no step for `acks.PARKED_S`, reads again: so it is found out
   soon that a pipeline has broken, where nobody writes.

Without the kernel there are no steps. Of a pipeline whose acks are not the bytes that are expected,
as Hadoop's datanodes write the time into theirs, no more are made.
"""

from __future__ import annotations

import time
from typing import Final

from howdah import errors
from howdah.client.writing.acks import Acks
from howdah.client.writing.actions import SequencedPacket
from howdah.client.writing.lengths import Lengths
from howdah.client.writing.machine import Machine
from howdah.native.line import Outcome
from howdah.native.loading import kernel
from howdah.rpc.connection import PreparedCall
from howdah.transfer.packets import PipelineAck, encode_ack, encode_prelude
from howdah.transfer.status import Status

PATIENCE_S: Final = 1.0
"""A pipeline that is silent for so long is left to threads, which send heartbeats meanwhile."""
_PATIENCE_NS: Final = int(PATIENCE_S * 1e9)


class Step:
    """One sync's, used once. Of a stream there is one at a time."""

    __slots__ = (
        "_acks",
        "_block_id",
        "_call",
        "_found",
        "_has_left_rest",
        "_lengths",
        "_machine",
        "_nodes",
        "_packet",
        "_sent",
        "_wire",
        "has_told",
    )

    def __init__(self, machine: Machine, acks: Acks, lengths: Lengths | None) -> None:
        """With `lengths` the namenode is told how long the block is by that."""
        self._machine = machine
        self._acks = acks
        self._lengths = lengths
        self._packet: SequencedPacket | None = None
        self._block_id = self._nodes = 0
        self._wire = b""
        # Lists, which a signal between two steps of the interpreter's cannot take away.
        self._sent: list[tuple[int, int]] = []
        self._found: list[tuple[int, int, bytes]] = []
        self._call: PreparedCall | None = None
        self._has_left_rest = False
        self.has_told = False

    def run(self) -> None:
        """Send the packet that waits to be sent, and take its ack. What it leaves, since it is not
        plain, is for the threads to do."""
        native = kernel()
        if native is None:
            return
        acks = self._acks
        try:
            with self._machine.lock:
                try:
                    packet = self._begin()
                    if packet is None:
                        return
                    native.send_now(acks.connection, self._wire, self._sent)
                finally:
                    # Before anybody else sends.
                    self._leave_rest()
            if self._is_sent:
                ack = encode_ack(packet.seqno, (Status.SUCCESS,) * self._nodes)
                if self._lengths is not None:
                    # While the datanodes work.
                    self._call = self._lengths.prepare(self._block_id, packet.packet.end)
                call = self._call
                line, request = (None, b"") if call is None else (call.connection, call.request)
                native.hear_ack(
                    acks.connection, ack, _PATIENCE_NS, self._found, line, request, _PATIENCE_NS
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

    def _begin(self) -> SequencedPacket | None:
        """With the lock: the packet, which is on the ack queue now; None if there can't be a
        step."""
        acks, pipeline = self._acks, self._machine.pipeline
        packet = pipeline.queues.lone
        if (
            packet is None
            or packet.packet.last_in_block
            or not acks.is_parked
            or acks.lent_to is not None
            or acks.connection.has_read_ahead
            or not pipeline.is_streaming
            or self._machine.stopping
        ):
            return None
        assert pipeline.block is not None
        self._block_id = pipeline.block.block.block_id
        self._nodes = len(pipeline.block.nodes)
        sums = packet.packet.sums
        prelude = encode_prelude(packet.header, len(sums))
        self._wire = b"".join((prelude, sums, packet.packet.data))
        self._packet = packet
        acks.lent_to = self
        # Who holds them tells a length, too.
        if self._lengths is not None and not self._lengths.take(self):
            self._lengths = None
        # It says to send just this.
        pipeline.next_action(time.monotonic())
        return packet

    @property
    def _is_sent(self) -> bool:
        return bool(self._sent) and self._sent[0][0] == len(self._wire)

    def _leave_rest(self) -> None:
        """With the lock: what the socket has not taken of the packet is the streamer's to send, or
        all of it, if it is on no queue but the first."""
        machine, packet = self._machine, self._packet
        if packet is None:
            return
        if machine.pipeline.queues.due_seqno == packet.seqno:
            self._acks.unsent = self._wire[self._sent[0][0] if self._sent else 0 :]
        self._has_left_rest = True
        if not self._is_sent:
            machine.work.notify()

    def _end_call(self) -> None:
        call = self._call
        if call is None:
            return
        if len(self._found) > 1:
            outcome, _, frame = self._found[1]
            self.has_told = call.answered(outcome, frame)
        elif self._found:
            call.unused()
        else:
            call.connection.close()

    def _end(self) -> None:
        machine, acks, packet = self._machine, self._acks, self._packet
        pipeline = machine.pipeline
        assert packet is not None
        with machine.lock:
            if not self._has_left_rest:
                self._leave_rest()
            if self._found:
                outcome, _, came = self._found[0]
                acks.connection.push_back(came)
                if outcome == Outcome.WHOLE:
                    acks.steps += 1
                    pipeline.acked(PipelineAck(packet.seqno, (Status.SUCCESS,) * self._nodes))
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
