"""The write pipeline of an output stream as a state machine (pure).

Mirrors what Hadoop's DataStreamer decides, without its threads and sockets. The
shell (`howdah.client.writing.streamer`) asks `next_action()`, does what it says, and
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

A node that announces its restart is waited for instead of dropped where that is worth
it (`howdah.client.state.writing.recovery`): the pipeline is opened again with the same nodes.
One that says again and again that it is slow is dropped as if it had failed.

The stream ends in `PipelineFailed` when no node of the block is left, when no
replacement is found that the policy insists on, or when the pipeline breaks more
than `recovery_retries` times with no packet acknowledged in between.

Rules: what is acknowledged is never sent again (`howdah.client.state.writing.queues`); a datanode
that failed is never used again for the same block, unless it said that it restarts.
"""

from __future__ import annotations

from howdah import errors
from howdah.client.state.blocks import LocatedBlock
from howdah.client.state.writing.actions import (
    Abandon,
    Action,
    Allocate,
    Connect,
    Heartbeat,
    Replace,
    Send,
)
from howdah.client.state.writing.packetizer import OutgoingPacket
from howdah.client.state.writing.phases import Event, Phase, is_allowed
from howdah.client.state.writing.pipeline_rules import DEFAULT_RULES, PipelineRules
from howdah.client.state.writing.queues import PacketQueues, UnsyncedBlocks
from howdah.client.state.writing.recovery import ExcludedNodes, Recovery, SlowNodes
from howdah.client.state.writing.statistics import PipelineCounts
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock
from howdah.protocol.data_transfer.op_requests import Stage
from howdah.protocol.data_transfer.packets import HEARTBEAT_SEQNO, PipelineAck
from howdah.protocol.data_transfer.status import Status


class Pipeline:
    """Holds the queues and the phase of one output stream. Not thread-safe; the shell locks.

    `appended` is the last block of a file that is appended to, if more goes into it;
    else `previous` is that block, if the file has one. `replication` is the file's.
    """

    def __init__(
        self,
        path: str,
        rules: PipelineRules = DEFAULT_RULES,
        *,
        appended: LocatedBlock | None = None,
        previous: ExtendedBlock | None = None,
        replication: int = 3,
    ) -> None:
        self.path = path
        self.phase = Phase.ALLOCATED if appended else Phase.NO_BLOCK
        self.error: errors.HowdahError | None = None
        self.block = appended
        self.counts = PipelineCounts()
        self.unsynced = UnsyncedBlocks()
        self.queues = PacketQueues()
        self._rules = rules
        self._replication = replication
        self._previous = previous
        self._setup_failures: list[str] = []
        self._excluded = ExcludedNodes(rules.exclude_s)
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
        self._recovery = Recovery(rules.recovery_retries, rules.restart_timeout_s)
        self._slow = SlowNodes(rules.slow_acks)

    # --- what others may know ---------------------------------------------------

    @property
    def is_streaming(self) -> bool:
        """The pipeline is open, and acks of it count."""
        return self.phase is Phase.STREAMING

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
        return self.queues.put(packet)

    def flushed(self, seqno: int) -> None:
        """Somebody relies on everything up to packet `seqno` being readable."""
        self._flushed_seqno = max(self._flushed_seqno, seqno)

    # --- what to do next ----------------------------------------------------------

    def next_action(self, now_s: float) -> Action | None:
        """What the shell has to do now; None when there is nothing."""
        match self.phase:
            case Phase.NO_BLOCK if self.queues.has_data:
                self._go(Event.ALLOCATE, Phase.ALLOCATING)
                return Allocate(self._previous, self._excluded.at(now_s))
            case Phase.ALLOCATED if self.queues.has_data:
                return self._next_connect()
            case Phase.STREAMING:
                return self._next_send(now_s)
            case Phase.BROKEN:
                return self._next_recovery(now_s)
            case _:
                return None

    def _next_connect(self) -> Connect:
        assert self.block is not None
        self._go(Event.CONNECT, Phase.CONNECTING)
        return Connect(self.block, self._stage, self._sent_length)

    def _next_recovery(self, now_s: float) -> Action | None:
        """Step 8 or 9. A block that is being closed is left to the namenode's repair."""
        block = self.block
        assert block is not None
        if self._recovery.restart.pause_s(now_s) > 0:
            return None
        if (
            self._recovery.replacement_due
            and self._stage is not Stage.PIPELINE_CLOSE_RECOVERY
            and self._rules.replacement.wants(
                replication=self._replication,
                left=len(block.nodes),
                appended=self._appended,
                flushed=self._flushed_seqno >= self._first_seqno,
            )
        ):
            self._go(Event.REPLACE, Phase.REPLACING)
            return Replace(block, self._recovery.source(block), self._recovery.failed)
        return self._next_connect()

    def _next_send(self, now_s: float) -> Action | None:
        if self.queues.ends_block:
            return None
        sent_before = self.queues.last_sent_seqno
        batch = self.queues.pop_sendable()
        if batch:
            self._sent_length = max(self._sent_length, batch[-1].packet.end)
            self._last_sent_s = now_s
            self.counts.packets_sent += len(batch)
            self.counts.packets_resent += sum(packet.seqno <= sent_before for packet in batch)
            return Send(batch)
        if now_s - self._last_sent_s >= self._rules.heartbeat_interval_s:
            self._last_sent_s = now_s
            self.counts.heartbeats_sent += 1
            return Heartbeat()
        return None

    def wait_limit_s(self, now_s: float) -> float | None:
        """How long the shell may wait for an event before it asks again; None: for ever."""
        match self.phase:
            case Phase.STREAMING if not self.queues.ends_block:
                return max(self._last_sent_s + self._rules.heartbeat_interval_s - now_s, 0.0)
            case Phase.BROKEN:
                return self._recovery.restart.pause_s(now_s)
            case _:
                return None

    # --- steps 2 and 3: what came of it ---------------------------------------------

    def allocated(self, block: LocatedBlock) -> None:
        """The namenode gave a block."""
        if self._is_over(Phase.ALLOCATING):
            return
        self.block = block
        self._stage = Stage.PIPELINE_SETUP_CREATE
        self._appended = False
        self._first_seqno = self.queues.last_acked_seqno + 1
        self._acked_length = self._sent_length = 0
        self._recovery.begin_block()
        self.counts.blocks_begun += 1
        self._go(Event.ALLOCATED, Phase.ALLOCATED)

    def connected(self, block: LocatedBlock, now_s: float) -> bool:
        """The pipeline is open; `block` has its new generation stamp. True if it stays open."""
        if self._is_over(Phase.CONNECTING):
            return False
        assert self.block is not None
        assert block.block.generation_stamp >= self.block.block.generation_stamp
        self.block = block
        self._setup_failures.clear()
        self._last_sent_s = now_s
        self._recovery.mended()
        if self._stage is Stage.PIPELINE_CLOSE_RECOVERY:
            self.queues.drop_last_of_block()
            # Nothing in this stage can ask for a sync, whatever the last packet said.
            self._end_block(synced=False)
            return False
        self._go(Event.CONNECTED, Phase.STREAMING)
        return True

    def setup_failed(
        self, bad: DatanodeAddress, reason: str, now_s: float, *, restarts: bool = False
    ) -> Abandon | None:
        """The pipeline could not be opened because of node `bad`; `restarts` if it said so.

        What the shell must do before it asks again; None when nothing, or the stream is over.
        """
        if self._is_over(Phase.CONNECTING):
            return None
        assert self.block is not None
        if self._stage is not Stage.PIPELINE_SETUP_CREATE:
            if self._stage is Stage.PIPELINE_SETUP_APPEND:
                self._stage = Stage.PIPELINE_SETUP_APPEND_RECOVERY
            if self._is_waited_for(bad, now_s):
                self._go(Event.RESTART_AWAITED, Phase.BROKEN)
            elif restarts:
                self._restarts(bad)
            else:
                self._drop(bad, reason)
            return None
        self._setup_failures.append(f"{bad}: {reason}")
        abandoned = Abandon(self.block.block)
        self.block = None
        self._excluded.add(bad, now_s)
        self.counts.blocks_abandoned += 1
        self._go(Event.SETUP_FAILED, Phase.ABANDONING)
        return abandoned

    def abandoned(self) -> None:
        """The namenode has taken the block back."""
        if self._is_over(Phase.ABANDONING):
            return
        if len(self._setup_failures) > self._rules.setup_retries:
            self.fail(
                errors.PipelineFailed(
                    f"{self.path}: no pipeline for a block after {len(self._setup_failures)} "
                    f"attempts: {'; '.join(self._setup_failures)}"
                )
            )
        else:
            self._go(Event.ABANDONED, Phase.NO_BLOCK)

    # --- steps 4 to 6: what came of it ----------------------------------------------

    def acked(self, ack: PipelineAck) -> bool:
        """The pipeline answered; true when it was the last answer for this block."""
        if self.phase is not Phase.STREAMING:
            return False
        assert self.block is not None
        nodes = self.block.nodes
        bad = ack.first_bad()
        if bad is not None:
            status = Status(ack.replies[bad])
            said = "said" if status.is_out_of_band else "answered"
            self._lost(bad, f"{said} {status.name}", restarts=status is Status.OOB_RESTART)
            return False
        if (ack.slow or self._slow) and self._leaves_behind_a_slow_one(ack):
            return False
        if ack.seqno == HEARTBEAT_SEQNO:
            return False
        if ack.seqno != self.queues.due_seqno:
            self._lost(0, f"acknowledged packet {ack.seqno}, expected was {self.queues.due_seqno}")
            return False
        if len(ack.replies) != len(nodes):
            self._lost(0, f"brought {len(ack.replies)} replies of a pipeline of {len(nodes)}")
            return False
        packet = self.queues.acknowledge()
        self.counts.bytes_acknowledged += max(packet.end - self._acked_length, 0)
        self._acked_length = max(self._acked_length, packet.end)
        if not packet.last_in_block:
            return False
        self._end_block(synced=packet.sync_block)
        return True

    def _leaves_behind_a_slow_one(self, ack: PipelineAck) -> bool:
        assert self.block is not None
        nodes = self.block.nodes
        slow = self._slow.seen(nodes[index] for index in ack.slow if index < len(nodes))
        if slow is None or len(nodes) == 1:
            return False
        why = f"said in {self._slow.threshold} acks in a row that it is slow"
        self._lost(nodes.index(slow), why)
        return True

    def _end_block(self, *, synced: bool) -> None:
        assert self.block is not None
        self._previous = self.last_block
        if not synced:
            finished = self.block.with_block(self.block.block.with_length(self._acked_length))
            self.unsynced.add(finished, self.queues.last_acked_seqno)
        self.counts.blocks_finished += 1
        self.block = None
        self._go(Event.BLOCK_FINISHED, Phase.NO_BLOCK)

    def broken(self, reason: str) -> None:
        """The connection to the first datanode failed, or timed out."""
        if self.phase is Phase.STREAMING:
            self._lost(0, reason)

    def reopen(self) -> None:
        """Open the pipeline again, with the same nodes, under a new generation stamp. Nothing is
        changed about one that is broken already."""
        if self.phase is not Phase.STREAMING:
            return
        assert self.block is not None
        assert not self.queues, "what is not acknowledged may be on the datanode or not"
        self._stage = Stage.PIPELINE_SETUP_STREAMING_RECOVERY
        self.block = self.block.with_block(self.block.block.with_length(self._acked_length))
        self._go(Event.REOPENED, Phase.BROKEN)

    def fail(self, error: errors.HowdahError) -> None:
        """End the stream; the first error is kept."""
        if self.error is None:
            self.error = error
        self._go(Event.FAIL, Phase.FAILED)

    # --- steps 7 and 8: what came of it ---------------------------------------------

    def _lost(self, index: int, reason: str, *, restarts: bool = False) -> None:
        """A datanode of the open pipeline failed, or restarts: the ack queue goes back."""
        assert self.block is not None
        nodes = self.block.nodes
        node = nodes[index] if index < len(nodes) else nodes[0]
        self.counts.recoveries += 1
        self._stage = (
            Stage.PIPELINE_CLOSE_RECOVERY
            if self.queues.ends_block
            else Stage.PIPELINE_SETUP_STREAMING_RECOVERY
        )
        self.queues.put_back()
        too_often = self._recovery.broke(self.queues.last_acked_seqno)
        if too_often is not None:
            self._recovery.hold_against(node, reason)
            self._give_up(too_often)
        elif restarts:
            self._restarts(node)
        else:
            self._drop(node, reason)

    def _restarts(self, node: DatanodeAddress) -> None:
        """`node` said that it restarts: it is waited for, or left behind for now."""
        assert self.block is not None
        worth_it = len(self.block.nodes) == 1 or self._rules.is_local(node)
        if worth_it and self._recovery.restart.has_patience:
            self.counts.restarts_awaited += 1
            self._recovery.restart.begin(node)
            self.block = self.block.with_block(self.block.block.with_length(self._acked_length))
            self._go(Event.RESTART_AWAITED, Phase.BROKEN)
        else:
            self._drop(node, "restarts", restarts=True)

    def _is_waited_for(self, bad: DatanodeAddress, now_s: float) -> bool:
        """Whether `bad`, which keeps the pipeline from being opened, is to be waited for."""
        assert self.block is not None
        nodes, restart = self.block.nodes, self._recovery.restart
        if restart.node in nodes and nodes.index(bad) > nodes.index(restart.node):
            # A pipeline is opened from the front, so who was waited for is back.
            restart.end()
        return restart.goes_on(bad, now_s)

    def _drop(self, node: DatanodeAddress, reason: str, *, restarts: bool = False) -> None:
        """Go on without `node`; ends the stream if it was the last one."""
        assert self.block is not None
        self._recovery.hold_against(node, reason, restarts=restarts)
        self.counts.datanodes_failed += 1
        left = self.block.without(self.block.nodes.index(node))
        if not left.nodes:
            self._give_up("has no datanode left")
            return
        self.block = left.with_block(left.block.with_length(self._acked_length))
        self._recovery.replacement_due = True
        self._go(Event.DATANODE_DROPPED, Phase.BROKEN)

    def replaced(self, block: LocatedBlock) -> None:
        """`block` has one more node, and the node what is acknowledged of the block."""
        if self._is_over(Phase.REPLACING):
            return
        assert self.block is not None
        assert len(block.nodes) == len(self.block.nodes) + 1
        assert not set(self._recovery.failed) & set(block.nodes)
        self.block = block
        self.counts.datanodes_added += 1
        self._recovery.replaced()
        self._go(Event.REPLACED, Phase.BROKEN)

    def not_replaced(self, reason: str, bad: DatanodeAddress | None = None) -> None:
        """No replica came to another node, because of `bad` or because there is none."""
        if self._is_over(Phase.REPLACING):
            return
        assert self.block is not None
        left = len(self.block.nodes)
        all_tried = self._recovery.not_replaced(another=bad is not None)
        if bad is not None and bad in self.block.nodes:
            self._drop(bad, reason)
            return
        self._go(Event.NOT_REPLACED, Phase.BROKEN)
        if bad is not None:
            self._recovery.hold_against(bad, reason)
        if all_tried and not self._rules.replacement.tolerates(left):
            self._give_up(
                f"has {left} of {self._replication} datanodes left and cannot get another: "
                f"{reason} (dfs.client.block.write.replace-datanode-on-failure.policy is "
                f"{self._rules.replacement.policy.name})"
            )

    def _give_up(self, why: str) -> None:
        assert self.block is not None
        self.fail(
            errors.PipelineFailed(
                f"{self.path}: the pipeline of {self.block.block.name} {why}; "
                f"{self._acked_length} bytes of the block are acknowledged; "
                f"failed datanodes: {self._recovery.reasons}"
            )
        )

    def _go(self, event: Event, after: Phase) -> None:
        """The one place that changes the phase."""
        assert is_allowed(event, self.phase, after), (
            f"{event.value} leads from {self.phase.name} to {after.name}"
        )
        self.phase = after

    def _is_over(self, expected: Phase) -> bool:
        """Whether the stream failed while the shell was at work; else it must be in `expected`."""
        assert self.phase in (expected, Phase.FAILED), f"{self.phase}, expected is {expected}"
        return self.phase is Phase.FAILED
