"""The write pipeline of an output stream as a state machine (pure).

Mirrors what Hadoop's DataStreamer decides, without its threads and sockets. The
shell (`howdah.client.streamer`) asks `next_action()`, does what it says, and
reports what came of it by one of the event methods. Steps, as of FS-119…FS-134:

 1. A packet is put onto the data queue (`enqueue`).
 2. A packet and no block: `Allocate` asks the namenode for one, naming the block
    before it and the datanodes to leave out.
 3. `Connect` opens the pipeline to the first datanode, which opens it to the next.
    If a datanode can't be reached: `Abandon` the block, leave that node out, and go
    to 2, at most `setup_retries` times.
 4. `Send` moves packets from the data queue to the ack queue, in order. The empty
    last packet of a block is sent when all before it are acknowledged.
 5. An ack takes its packet off the ack queue once every datanode of the pipeline
    said SUCCESS. With the last packet's ack the block is done: back to 2.
 6. While nothing is sent, a `Heartbeat` shows the datanodes that the writer lives.

A failure in step 4 or 5 ends the stream: `_lost` is the one place where that is
decided, and the seam for pipeline recovery (put the ack queue in front of the data
queue, get a new generation stamp, reconnect to the nodes that are left).
"""

from __future__ import annotations

import enum
from collections import deque
from dataclasses import dataclass

from howdah import errors
from howdah.client.blocks import LocatedBlock
from howdah.client.packetizer import OutgoingPacket
from howdah.transfer.blocks import DatanodeAddress, ExtendedBlock
from howdah.transfer.packets import HEARTBEAT_SEQNO, UNKNOWN_SEQNO, PacketHeader, PipelineAck
from howdah.transfer.status import Status

MAX_PACKETS_PER_SEND = 16
"""One system call carries so many; more would only delay the first ack."""


class Phase(enum.Enum):
    """Where the stream stands with its current block."""

    NO_BLOCK = "no block"
    ALLOCATING = "a block was asked for"
    ALLOCATED = "a block without a pipeline"
    CONNECTING = "the pipeline is being opened"
    ABANDONING = "the block could not be written anywhere"
    STREAMING = "the pipeline is open"
    FAILED = "the stream is over"


@dataclass(frozen=True, slots=True)
class SequencedPacket:
    """A packet with its place in the stream."""

    seqno: int
    packet: OutgoingPacket

    @property
    def header(self) -> PacketHeader:
        packet = self.packet
        return PacketHeader(
            packet.offset_in_block,
            self.seqno,
            packet.last_in_block,
            len(packet.data),
            packet.sync_block,
        )


@dataclass(frozen=True, slots=True)
class Allocate:
    """Ask the namenode for a block behind `previous`."""

    previous: ExtendedBlock | None
    excluded: tuple[DatanodeAddress, ...]


@dataclass(frozen=True, slots=True)
class Connect:
    """Open the pipeline of `block`; `append` says that the block has data already."""

    block: LocatedBlock
    append: bool


@dataclass(frozen=True, slots=True)
class Abandon:
    """Tell the namenode that `block` will not be written."""

    block: ExtendedBlock


@dataclass(frozen=True, slots=True)
class Send:
    """Send these packets, in order. They are on the ack queue already."""

    packets: tuple[SequencedPacket, ...]


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Send the packet that says nothing."""


Action = Allocate | Connect | Abandon | Send | Heartbeat


class Pipeline:
    """The queues and the phase of one output stream. Not thread-safe; the shell locks.

    `appended` is the last block of a file that is appended to, if it has room.
    """

    def __init__(
        self,
        path: str,
        *,
        appended: LocatedBlock | None = None,
        setup_retries: int = 3,
        heartbeat_interval_s: float = 30.0,
    ) -> None:
        self.path = path
        self.phase = Phase.ALLOCATED if appended else Phase.NO_BLOCK
        self.error: errors.HowdahError | None = None
        self.block = appended
        self.last_acked_seqno = -1
        self.last_queued_seqno = -1
        self._append = appended is not None
        self._previous: ExtendedBlock | None = None
        self._data_queue: deque[SequencedPacket] = deque()
        self._ack_queue: deque[SequencedPacket] = deque()
        self._acked_length = appended.length_bytes if appended else 0
        self._setup_failures: list[str] = []
        self._setup_retries = setup_retries
        self._excluded: list[DatanodeAddress] = []
        self._heartbeat_interval_s = heartbeat_interval_s
        self._last_sent_s = 0.0

    # --- what others may know ---------------------------------------------------

    @property
    def packets_held(self) -> int:
        """Packets that are not acknowledged, sent or not."""
        return len(self._data_queue) + len(self._ack_queue)

    @property
    def is_drained(self) -> bool:
        """Nothing is queued and nothing is under way."""
        return not self._data_queue and not self._ack_queue

    @property
    def is_held_back(self) -> bool:
        """There is something to send, and nothing under way that it could wait for."""
        return bool(self._data_queue) and not self._ack_queue

    @property
    def last_block(self) -> ExtendedBlock | None:
        """The file's last block at its acknowledged length; None for an empty file."""
        if self.block is None:
            return self._previous
        return self.block.block.with_length(self._acked_length)

    # --- step 1 -------------------------------------------------------------------

    def enqueue(self, packet: OutgoingPacket) -> int:
        """Queue a packet; its sequence number."""
        if self.error is not None:
            raise self.error
        self.last_queued_seqno += 1
        self._data_queue.append(SequencedPacket(self.last_queued_seqno, packet))
        return self.last_queued_seqno

    # --- what to do next ----------------------------------------------------------

    def next_action(self, now_s: float) -> Action | None:
        """What the shell has to do now; None when there is nothing."""
        match self.phase:
            case Phase.NO_BLOCK if self._data_queue:
                self.phase = Phase.ALLOCATING
                return Allocate(self._previous, tuple(self._excluded))
            case Phase.ALLOCATED if self._data_queue:
                assert self.block is not None
                self.phase = Phase.CONNECTING
                return Connect(self.block, self._append)
            case Phase.STREAMING:
                return self._next_send(now_s)
            case _:
                return None

    def _next_send(self, now_s: float) -> Action | None:
        if self._block_is_ending():
            return None
        batch: list[SequencedPacket] = []
        while self._data_queue and len(batch) < MAX_PACKETS_PER_SEND:
            if self._data_queue[0].packet.last_in_block and (batch or self._ack_queue):
                break
            batch.append(self._data_queue.popleft())
            if batch[-1].packet.last_in_block:
                break
        if batch:
            self._ack_queue.extend(batch)
            self._last_sent_s = now_s
            return Send(tuple(batch))
        if now_s - self._last_sent_s >= self._heartbeat_interval_s:
            self._last_sent_s = now_s
            return Heartbeat()
        return None

    def _block_is_ending(self) -> bool:
        """The last packet of the block is on its way; what follows is for the next block."""
        return bool(self._ack_queue) and self._ack_queue[-1].packet.last_in_block

    def wait_limit_s(self, now_s: float) -> float | None:
        """How long the shell may wait for an event before it asks again; None: for ever."""
        if self.phase is not Phase.STREAMING:
            return None
        if self._block_is_ending():
            return None
        return max(self._last_sent_s + self._heartbeat_interval_s - now_s, 0.0)

    # --- steps 2 and 3: what came of it ---------------------------------------------

    def allocated(self, block: LocatedBlock) -> None:
        """The namenode gave a block."""
        if self._is_over(Phase.ALLOCATING):
            return
        self.block = block
        self._acked_length = 0
        self.phase = Phase.ALLOCATED

    def connected(self, block: LocatedBlock, now_s: float) -> None:
        """The pipeline is open; `block` has a new generation stamp after an append."""
        if self._is_over(Phase.CONNECTING):
            return
        self.block = block
        self._append = False
        self._setup_failures.clear()
        self._last_sent_s = now_s
        self.phase = Phase.STREAMING

    def setup_failed(self, bad: DatanodeAddress, reason: str) -> Abandon | None:
        """The pipeline could not be opened because of node `bad`.

        What the shell must do before it asks again; None when the stream is over.
        """
        if self._is_over(Phase.CONNECTING):
            return None
        assert self.block is not None
        self._setup_failures.append(f"{bad}: {reason}")
        if self._append:
            self.fail(
                errors.PipelineFailed(
                    f"{self.path}: cannot append to {self.block.block.name}, {bad} fails: {reason}"
                )
            )
            return None
        abandoned = Abandon(self.block.block)
        self.block = None
        if bad not in self._excluded:
            self._excluded.append(bad)
        self.phase = Phase.ABANDONING
        return abandoned

    def abandoned(self) -> None:
        """The namenode has taken the block back."""
        if self._is_over(Phase.ABANDONING):
            return
        if len(self._setup_failures) > self._setup_retries:
            self.fail(
                errors.PipelineFailed(
                    f"{self.path}: no pipeline for a block after {len(self._setup_failures)} "
                    f"attempts: {'; '.join(self._setup_failures)}"
                )
            )
        else:
            self.phase = Phase.NO_BLOCK

    # --- steps 4 to 6: what came of it ----------------------------------------------

    def acked(self, ack: PipelineAck) -> bool:
        """The pipeline answered; true when it was the last answer for this block."""
        if self.phase is not Phase.STREAMING:
            return False
        assert self.block is not None
        if ack.seqno == UNKNOWN_SEQNO and ack.out_of_band is not None:
            self._lost(ack.first_bad(), f"said {ack.out_of_band.name}")
            return False
        bad = ack.first_bad()
        if bad is not None:
            self._lost(bad, f"answered {Status(ack.replies[bad]).name}")
            return False
        if ack.seqno == HEARTBEAT_SEQNO:
            return False
        if not self._ack_queue or self._ack_queue[0].seqno != ack.seqno:
            expected = self._ack_queue[0].seqno if self._ack_queue else None
            self._lost(0, f"acknowledged packet {ack.seqno}, expected was {expected}")
            return False
        if len(ack.replies) != len(self.block.nodes):
            self._lost(
                0, f"brought {len(ack.replies)} replies of a pipeline of {len(self.block.nodes)}"
            )
            return False
        packet = self._ack_queue.popleft().packet
        self.last_acked_seqno = ack.seqno
        self._acked_length = max(self._acked_length, packet.end)
        if not packet.last_in_block:
            return False
        self._previous = self.last_block
        self.block = None
        self.phase = Phase.NO_BLOCK
        return True

    def broken(self, reason: str) -> None:
        """The connection to the first datanode failed, or timed out."""
        if self.phase is Phase.STREAMING:
            self._lost(0, reason)

    def fail(self, error: errors.HowdahError) -> None:
        """End the stream; the first error is kept."""
        if self.error is None:
            self.error = error
        self.phase = Phase.FAILED

    def _lost(self, index: int | None, reason: str) -> None:
        """A datanode of the open pipeline failed: the seam for recovery."""
        assert self.block is not None
        nodes = self.block.nodes
        node = nodes[index] if index is not None and index < len(nodes) else nodes[0]
        self.fail(
            errors.PipelineFailed(
                f"{self.path}: the pipeline of {self.block.block.name} broke, {node} {reason}; "
                f"{self._acked_length} bytes of the block are acknowledged by "
                f"{', '.join(str(each) for each in nodes)}"
            )
        )

    def _is_over(self, expected: Phase) -> bool:
        """Whether the stream failed while the shell was at work; else it must be in `expected`."""
        assert self.phase in (expected, Phase.FAILED), f"{self.phase}, expected is {expected}"
        return self.phase is Phase.FAILED
