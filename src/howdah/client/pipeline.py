"""The write pipeline of an output stream as a state machine (pure).

Mirrors what Hadoop's DataStreamer decides, without its threads and sockets. The
shell (`howdah.client.streamer`) asks `next_action()`, does what it says, and
reports what came of it by one of the event methods. Steps, as of FS-119…FS-134:

 1. A packet is put onto the data queue (`enqueue`).
 2. A packet and no block: `Allocate` asks the namenode for one, naming the block
    before it and the datanodes to leave out.
 3. `Connect` opens the pipeline to the first datanode, which opens it to the next.
    If a datanode of a new block can't be reached: `Abandon` the block, leave that
    node out, and go to 2, at most `setup_retries` times.
 4. `Send` moves packets from the data queue to the ack queue, in order. The empty
    last packet of a block is sent when all before it are acknowledged.
 5. An ack takes its packet off the ack queue once every datanode of the pipeline
    said SUCCESS. With the last packet's ack the block is done: back to 2.
 6. While nothing is sent, a `Heartbeat` shows the datanodes that the writer lives.
 7. A datanode fails in step 4 or 5, or in step 3 of a block that has data: the ack
    queue goes back to the front of the data queue, in order (FS-125), and the node
    is dropped (FS-127). The node to blame is the first one whose reply is bad, or
    the first of the pipeline when the connection to it broke or fell silent.
 8. `Replace` looks for another datanode where the policy wants one.
 9. `Connect` with a recovery stage gives the block a new generation stamp and opens
    the pipeline of the nodes that are left (FS-126); another failure leads to 7.
    If the last packet was sent already the datanodes just finalize, and the block
    is done; otherwise step 4 goes on (FS-128), and nobody above notices (FS-131).

The stream ends in `PipelineFailed` when no node of the block is left, when no
replacement is found that the policy insists on, or when the pipeline breaks more
than `recovery_retries` times with no packet acknowledged in between.

Rules: a packet keeps its sequence number for ever; what is acknowledged never goes
back onto a queue; a datanode that failed is never used again for the same block.
"""

from __future__ import annotations

from collections import deque

from howdah import errors
from howdah.client.actions import (
    Abandon,
    Action,
    Allocate,
    Connect,
    Heartbeat,
    Phase,
    Replace,
    Send,
    SequencedPacket,
)
from howdah.client.blocks import LocatedBlock
from howdah.client.excluded import ExcludedNodes
from howdah.client.packetizer import OutgoingPacket
from howdah.client.replacement import DEFAULT_POLICY, ReplacementPolicy
from howdah.transfer.blocks import DatanodeAddress, ExtendedBlock
from howdah.transfer.ops import Stage
from howdah.transfer.packets import HEARTBEAT_SEQNO, UNKNOWN_SEQNO, PipelineAck
from howdah.transfer.status import Status

MAX_PACKETS_PER_SEND = 16
"""One system call carries so many; more would only delay the first ack."""
MAX_REPLACEMENTS_TRIED = 3
"""So many datanodes are tried as replacements in one recovery."""


class Pipeline:
    """The queues and the phase of one output stream. Not thread-safe; the shell locks.

    `appended` is the last block of a file that is appended to, if it has room.
    `replication` is the file's, which the replacement policy goes by.
    """

    def __init__(
        self,
        path: str,
        *,
        appended: LocatedBlock | None = None,
        replication: int = 3,
        setup_retries: int = 3,
        recovery_retries: int = 5,
        replacement: ReplacementPolicy = DEFAULT_POLICY,
        exclude_s: float = 600.0,
        heartbeat_interval_s: float = 30.0,
    ) -> None:
        self.path = path
        self.phase = Phase.ALLOCATED if appended else Phase.NO_BLOCK
        self.error: errors.HowdahError | None = None
        self.block = appended
        self.last_acked_seqno = -1
        self.last_queued_seqno = -1
        self._replication = replication
        self._replacement = replacement
        self._previous: ExtendedBlock | None = None
        self._data_queue: deque[SequencedPacket] = deque()
        self._ack_queue: deque[SequencedPacket] = deque()
        self._setup_failures: list[str] = []
        self._setup_retries = setup_retries
        self._excluded = ExcludedNodes(exclude_s)
        self._heartbeat_interval_s = heartbeat_interval_s
        self._last_sent_s = 0.0
        # The current block.
        self._appended = appended is not None
        self._stage = (
            Stage.PIPELINE_SETUP_APPEND if appended is not None else Stage.PIPELINE_SETUP_CREATE
        )
        self._first_seqno = 0
        self._acked_length = appended.length_bytes if appended else 0
        self._sent_length = self._acked_length
        self._flushed_seqno = -1
        # Its recovery.
        self._recovery_retries = recovery_retries
        self._recoveries = 0
        self._acked_before = -1
        self._failed: dict[DatanodeAddress, str] = {}
        self._replacement_due = False
        self._replacements_tried = 0

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
    def is_streaming(self) -> bool:
        """The pipeline is open, and acks of it count."""
        return self.phase is Phase.STREAMING

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

    def flushed(self, seqno: int) -> None:
        """Somebody relies on everything up to packet `seqno` being readable."""
        self._flushed_seqno = max(self._flushed_seqno, seqno)

    # --- what to do next ----------------------------------------------------------

    def next_action(self, now_s: float) -> Action | None:
        """What the shell has to do now; None when there is nothing."""
        match self.phase:
            case Phase.NO_BLOCK if self._data_queue:
                self.phase = Phase.ALLOCATING
                return Allocate(self._previous, self._excluded.at(now_s))
            case Phase.ALLOCATED if self._data_queue:
                return self._next_connect()
            case Phase.STREAMING:
                return self._next_send(now_s)
            case Phase.BROKEN:
                return self._next_recovery()
            case _:
                return None

    def _next_connect(self) -> Connect:
        assert self.block is not None
        self.phase = Phase.CONNECTING
        return Connect(self.block, self._stage, self._sent_length)

    def _next_recovery(self) -> Action:
        """Step 8 or 9. A block that is being closed is left to the namenode's repair."""
        block = self.block
        assert block is not None
        if (
            self._replacement_due
            and self._stage is not Stage.PIPELINE_CLOSE_RECOVERY
            and self._replacement.wants(
                replication=self._replication,
                left=len(block.nodes),
                appended=self._appended,
                flushed=self._flushed_seqno >= self._first_seqno,
            )
        ):
            self.phase = Phase.REPLACING
            source = block.nodes[self._replacements_tried % len(block.nodes)]
            return Replace(block, source, tuple(self._failed))
        return self._next_connect()

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
            self._sent_length = max(self._sent_length, batch[-1].packet.end)
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
        self._stage = Stage.PIPELINE_SETUP_CREATE
        self._appended = False
        self._first_seqno = self.last_acked_seqno + 1
        self._acked_length = self._sent_length = 0
        self._failed.clear()
        self.phase = Phase.ALLOCATED

    def connected(self, block: LocatedBlock, now_s: float) -> bool:
        """The pipeline is open; `block` has its new generation stamp. True if it stays open."""
        if self._is_over(Phase.CONNECTING):
            return False
        assert self.block is not None
        assert block.block.generation_stamp >= self.block.block.generation_stamp
        self.block = block
        self._setup_failures.clear()
        self._replacement_due = False
        self._replacements_tried = 0
        self._last_sent_s = now_s
        if self._stage is Stage.PIPELINE_CLOSE_RECOVERY:
            # The datanodes have finalized the block; its last packet isn't sent again.
            packet = self._data_queue.popleft()
            assert packet.packet.last_in_block
            assert not self._ack_queue
            self.last_acked_seqno = packet.seqno
            self._end_block()
            return False
        self.phase = Phase.STREAMING
        return True

    def setup_failed(self, bad: DatanodeAddress, reason: str, now_s: float) -> Abandon | None:
        """The pipeline could not be opened because of node `bad`.

        What the shell must do before it asks again; None when nothing, or the stream is over.
        """
        if self._is_over(Phase.CONNECTING):
            return None
        assert self.block is not None
        if self._stage is not Stage.PIPELINE_SETUP_CREATE:
            if self._stage is Stage.PIPELINE_SETUP_APPEND:
                self._stage = Stage.PIPELINE_SETUP_APPEND_RECOVERY
            self._drop(bad, reason)
            return None
        self._setup_failures.append(f"{bad}: {reason}")
        abandoned = Abandon(self.block.block)
        self.block = None
        self._excluded.add(bad, now_s)
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
        # A datanode that announces its restart is treated as one that failed.
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
        self._end_block()
        return True

    def _end_block(self) -> None:
        self._previous = self.last_block
        self.block = None
        self.phase = Phase.NO_BLOCK

    def broken(self, reason: str) -> None:
        """The connection to the first datanode failed, or timed out."""
        if self.phase is Phase.STREAMING:
            self._lost(0, reason)

    def fail(self, error: errors.HowdahError) -> None:
        """End the stream; the first error is kept."""
        if self.error is None:
            self.error = error
        self.phase = Phase.FAILED

    # --- steps 7 and 8: what came of it ---------------------------------------------

    def _lost(self, index: int | None, reason: str) -> None:
        """A datanode of the open pipeline failed: the ack queue goes back, the node goes."""
        assert self.block is not None
        nodes = self.block.nodes
        node = nodes[index] if index is not None and index < len(nodes) else nodes[0]
        closing = self._block_is_ending()
        self._stage = (
            Stage.PIPELINE_CLOSE_RECOVERY if closing else Stage.PIPELINE_SETUP_STREAMING_RECOVERY
        )
        self._data_queue.extendleft(reversed(self._ack_queue))
        self._ack_queue.clear()
        if self.last_acked_seqno > self._acked_before:
            self._acked_before = self.last_acked_seqno
            self._recoveries = 0
        self._recoveries += 1
        if self._recoveries > self._recovery_retries:
            self._failed[node] = reason
            self._give_up(
                f"broke {self._recoveries} times with no packet acknowledged in between "
                f"(dfs.client.pipeline.recovery.max-retries)"
            )
            return
        self._drop(node, reason)

    def _drop(self, node: DatanodeAddress, reason: str) -> None:
        """Go on without `node`; ends the stream if it was the last one."""
        assert self.block is not None
        self._failed[node] = reason
        left = self.block.without(self.block.nodes.index(node))
        if not left.nodes:
            self._give_up("has no datanode left")
            return
        self.block = left.with_block(left.block.with_length(self._acked_length))
        self._replacement_due = True
        self.phase = Phase.BROKEN

    def replaced(self, block: LocatedBlock) -> None:
        """`block` has one more node, and the node what is acknowledged of the block."""
        if self._is_over(Phase.REPLACING):
            return
        assert self.block is not None
        assert len(block.nodes) == len(self.block.nodes) + 1
        assert not self._failed.keys() & set(block.nodes)
        self.block = block
        self._replacement_due = False
        self._replacements_tried += 1
        self.phase = Phase.BROKEN

    def not_replaced(self, reason: str, bad: DatanodeAddress | None = None) -> None:
        """No replica came to another node, because of `bad` or because there is none."""
        if self._is_over(Phase.REPLACING):
            return
        assert self.block is not None
        left = len(self.block.nodes)
        self._replacements_tried += 1
        self.phase = Phase.BROKEN
        if bad is not None and bad in self.block.nodes:
            self._drop(bad, reason)
            return
        if bad is not None:
            self._failed[bad] = reason
        if bad is None or self._replacements_tried >= MAX_REPLACEMENTS_TRIED:
            self._replacement_due = False
            if not self._replacement.tolerates(left):
                self._give_up(
                    f"has {left} of {self._replication} datanodes left and cannot get another: "
                    f"{reason} (dfs.client.block.write.replace-datanode-on-failure.policy is "
                    f"{self._replacement.policy.name})"
                )

    def _give_up(self, why: str) -> None:
        assert self.block is not None
        reasons = "; ".join(f"{node} {reason}" for node, reason in self._failed.items())
        self.fail(
            errors.PipelineFailed(
                f"{self.path}: the pipeline of {self.block.block.name} {why}; "
                f"{self._acked_length} bytes of the block are acknowledged; "
                f"failed datanodes: {reasons}"
            )
        )

    def _is_over(self, expected: Phase) -> bool:
        """Whether the stream failed while the shell was at work; else it must be in `expected`."""
        assert self.phase in (expected, Phase.FAILED), f"{self.phase}, expected is {expected}"
        return self.phase is Phase.FAILED
