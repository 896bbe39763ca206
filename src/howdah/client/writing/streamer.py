"""Drives a `Pipeline`: the threads, sockets and RPCs under an output stream.

DataStreamer in Hadoop.

A streamer thread asks the machine what to do and does it; per block an ack reader
thread (`howdah.client.writing.acks`) feeds it with what the datanodes answer. Writers put
packets in and wait for acks.

**A file that is closed before its first packet was full** needs no threads: who closes it
would only wait for them, and to start two and hand over between three costs more than to
write the file. So the closer does what they would, as long as it is plain; what is not, a
pipeline that breaks or an ack that is long in coming, is left to threads that start then.

A pipeline that breaks is no failure here: the machine says how to go on, and writers
who wait for acks go on waiting (FS-131).

Nothing hangs: sends and reads on the data connection are bounded by the kernel,
calls by the RPC client, and whatever fails ends in `Pipeline.fail`, which wakes
everybody who waits. Threads are daemons; they start with the first packet, so an
empty file costs none. Every error that leaves this module names the file (LM-049).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Final, Protocol

from howdah import errors
from howdah.client.namenode import NamenodeProxy
from howdah.client.settings.settings import ClientSettings
from howdah.client.state.blocks import LocatedBlock
from howdah.client.state.writing.actions import (
    Abandon,
    Action,
    Allocate,
    Connect,
    Heartbeat,
    Replace,
    Send,
    SendRest,
)
from howdah.client.state.writing.packetizer import OutgoingPacket
from howdah.client.state.writing.phases import Phase
from howdah.client.state.writing.pipeline import Pipeline
from howdah.client.state.writing.statistics import PipelineCounts
from howdah.client.writing.acks import Acks
from howdah.client.writing.block_sync import BlockSync
from howdah.client.writing.inline_sync import PATIENCE_S, InlineSync
from howdah.client.writing.length_updates import LengthUpdates
from howdah.client.writing.machine import Machine
from howdah.client.writing.pipeline_setup import PipelineSetup, SetupFailed
from howdah.options import CreateFlag
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock
from howdah.protocol.data_transfer.packets import HEARTBEAT, encode_packet, encode_prelude
from howdah.runtime.tracing.span import NOTHING, Attributes, Kind, Span

STOP_WAIT_S = 2.0
"""A call to the namenode can't be interrupted, so threads aren't waited for any longer."""

PLAIN = frozenset((Phase.NO_BLOCK, Phase.ALLOCATED, Phase.STREAMING))
"""Phases in which the caller may take the next step."""

_log = logging.getLogger(__name__)


class PipelineCalls(Protocol):
    """What a streamer asks of the namenode: `NamenodeProxy`, or whoever stands between."""

    def add_block(
        self,
        path: str,
        client_name: str,
        previous: ExtendedBlock | None,
        excluded: Sequence[DatanodeAddress],
        file_id: int,
        flags: CreateFlag = CreateFlag.NONE,
        favored_nodes: Sequence[str] = (),
    ) -> LocatedBlock: ...
    def abandon_block(
        self, path: str, client_name: str, block: ExtendedBlock, file_id: int
    ) -> None: ...
    def update_block_for_pipeline(self, block: ExtendedBlock, client_name: str) -> LocatedBlock: ...
    def update_pipeline(
        self, client_name: str, old: ExtendedBlock, new: ExtendedBlock, block: LocatedBlock
    ) -> None: ...
    def get_additional_datanode(
        self,
        path: str,
        client_name: str,
        block: LocatedBlock,
        excluded: Sequence[DatanodeAddress],
        file_id: int,
    ) -> LocatedBlock: ...


class Streamer:
    """The two threads of one output stream, and what writers ask of them."""

    def __init__(
        self,
        pipeline: Pipeline,
        namenode: NamenodeProxy,
        settings: ClientSettings,
        client_name: str,
        file_id: int,
        setup: PipelineSetup,
        flags: CreateFlag = CreateFlag.NONE,
        favored_nodes: Sequence[str] = (),
        span: Span = NOTHING,
        calls: PipelineCalls | None = None,
    ) -> None:
        """Its calls and pipelines are below `span` in a trace. `calls` answers in place of the
        namenode what is asked about blocks."""
        self._span = span
        self._machine = machine = Machine(pipeline)
        machine.waits_for = (
            f"each datanode is waited for for up to {settings.socket_timeout_s:g} s "
            "(dfs.client.socket-timeout) and some seconds more"
        )
        self._lock, self._work, self._progress = machine.lock, machine.work, machine.progress
        self._pipeline = pipeline
        self._namenode = namenode
        self._calls: PipelineCalls = namenode if calls is None else calls
        self._settings = settings
        self._client_name = client_name
        self._file_id = file_id
        self._setup = setup
        self._flags = flags
        self._favored_nodes = favored_nodes
        self.lengths: Final = LengthUpdates(machine, namenode, client_name, file_id)
        self._thread: threading.Thread | None = None
        self._acks: Acks | None = None
        self._unreached: dict[DatanodeAddress, str] = {}
        """Why the datanodes failed that are left out of the next block, since the last that did
        not: the namenode knows only how many there are."""

    # --- for writers ----------------------------------------------------------------

    def enqueue(self, packet: OutgoingPacket, *, alone: bool = False, waits: bool = False) -> None:
        """Queue a packet; waits while too many are unacknowledged. Raises what went wrong.

        `alone`: it is one of the last ones, and who queued all there are will `finish`. `waits`:
        who queued it goes on to `wait_acked`, and may send it.
        """
        with self._lock:
            while (
                len(self._pipeline.queues) >= self._settings.max_packets_in_flight
                and self._pipeline.error is None
            ):
                self._start()
                self._machine.wait()
            self._machine.check()
            seqno = self._pipeline.enqueue(packet)
            if waits:
                self._machine.awaited_seqno = seqno
            if not alone:
                self._start()
            acks = self._acks
            if not waits or acks is None or not acks.is_parked:
                self._work.notify()

    def _start(self) -> None:
        """With the lock: have a thread do what is to be done."""
        if self._thread is None:
            thread = threading.Thread(
                target=self._run, name=f"howdah-streamer {self._pipeline.path}", daemon=True
            )
            thread.start()
            self._thread = thread

    @property
    def last_queued_seqno(self) -> int:
        with self._lock:
            return self._pipeline.queues.last_queued_seqno

    @property
    def counts(self) -> PipelineCounts:
        """What the pipeline has counted so far."""
        with self._lock:
            return PipelineCounts(**asdict(self._pipeline.counts))

    @property
    def nodes(self) -> tuple[DatanodeAddress, ...]:
        """The pipeline of the current block."""
        with self._lock:
            block = self._pipeline.block
            return block.nodes if block else ()

    @property
    def error(self) -> errors.HowdahError | None:
        """What ended the stream, if something did."""
        return self._pipeline.error

    def check(self) -> None:
        """Raise what ended the stream, if something did."""
        if self._pipeline.error is not None:
            with self._lock:
                self._machine.check()

    def wait_acked(self, seqno: int, *, tells: bool = False, durable: bool = False) -> bool:
        """Wait until the packet `seqno` and all before it are on every datanode.

        With `tells` the namenode may be told the length meanwhile; whether it was, `durable` if
        that is asked for.
        """
        acks, pipeline = self._acks, self._pipeline
        with self._lock:
            pipeline.flushed(seqno)
        step = None
        if acks is not None and acks.is_parked:
            lengths = self.lengths if tells else None
            step = InlineSync(self._machine, acks, lengths, durable=durable)
            step.run()
        with self._lock:
            if pipeline.queues.has_data:
                self._work.notify()
            self._machine.wait_until(lambda: pipeline.queues.last_acked_seqno >= seqno)
        return step is not None and step.has_told

    def reopen(self) -> None:
        """Open the pipeline of the current block again under a new generation stamp; all that was
        queued is acknowledged. `wait_open` waits for that."""
        with self._lock:
            self._pipeline.reopen()
            self._work.notify()

    def wait_open(self) -> None:
        """Wait until the pipeline is open. Raises what ended the stream instead."""
        with self._lock:
            self._machine.wait_until(lambda: self._pipeline.is_streaming)

    def sync_finished(self, seqno: int) -> None:
        """Bring the blocks to disk that were finished by packet `seqno` without being synced."""
        with self._lock:
            blocks = self._pipeline.unsynced.up_to(seqno)
        if blocks:
            with errors.naming(self._pipeline.path):
                BlockSync(self._pipeline.path, self._namenode, self._setup).sync(
                    blocks, self._synced_late
                )

    def _synced_late(self, block: LocatedBlock) -> None:
        with self._lock:
            if self._pipeline.unsynced.synced(block):
                self._pipeline.counts.blocks_synced_late += 1

    def finish(self) -> ExtendedBlock | None:
        """Wait until everything is acknowledged and end the threads; the file's last block."""
        try:
            if self._thread is None:
                self._finish_alone()
            with self._lock:
                self._machine.wait_until(lambda: not self._pipeline.queues)
                return self._pipeline.last_block
        finally:
            self.stop()

    def give_up(self, error: errors.HowdahError) -> None:
        """End the stream by `error`, which every later call raises; waits for no thread."""
        self._machine.fail(error)
        self._tell_to_stop()

    def _tell_to_stop(self) -> None:
        with self._lock:
            self._machine.stopping = True
            acks = self._acks
            self._machine.wake()
        self._setup.stop()
        if acks is not None and not acks.has_ended:
            acks.connection.shutdown()

    def stop(self) -> None:
        """End the threads; what isn't acknowledged is given up.

        One that is in a call to the namenode ends by itself when that is answered.
        """
        if self._machine.stopping and not self._threads():
            return
        self._tell_to_stop()
        until_s = time.monotonic() + STOP_WAIT_S
        for thread in self._threads():
            if thread is not threading.current_thread():
                thread.join(max(until_s - time.monotonic(), 0.0))

    def is_own_thread(self) -> bool:
        """Whether the caller runs on a thread that must not wait for itself."""
        return threading.current_thread() in self._threads()

    def _threads(self) -> list[threading.Thread]:
        acks = self._acks
        reader = None if acks is None else acks.thread
        return [thread for thread in (self._thread, reader) if thread is not None]

    # --- without threads --------------------------------------------------------------

    def _finish_alone(self) -> None:
        """Do what the threads would do, on the thread of who waits for it. Returns when all is
        acknowledged, when the stream is over, or when threads have begun to do the rest."""
        try:
            with self._span.current():
                while self._goes_on_alone():
                    continue
        except (errors.HowdahError, OSError) as error:
            self._machine.fail(error)
        except BaseException as error:
            self._machine.fail(self._died(error))
            raise
        finally:
            if self._thread is None:
                self._end_acks()

    def _goes_on_alone(self) -> bool:
        """One step; False when there is none, or none that is plain."""
        with self._lock:
            pipeline, acks = self._pipeline, self._acks
            if self._machine.stopping or pipeline.error is not None or not pipeline.queues:
                return False
            if pipeline.phase not in PLAIN:
                self._begin_threads()
                return False
            action = pipeline.next_action(time.monotonic())
        if action is not None:
            self._perform(action)
            return True
        if acks is None or not acks.connection.wait_for_input(PATIENCE_S):
            with self._lock:
                self._begin_threads()
            return False
        failure: Exception | None = None
        try:
            acks.read_next()
        except (errors.HowdahError, OSError) as error:
            failure = error
            acks.broke(error)
        if not pipeline.is_streaming:
            acks.close(failure)
        return True

    def _begin_threads(self) -> None:
        """With the lock: they take over where the caller is."""
        acks = self._acks
        if acks is not None and self._pipeline.is_streaming:
            acks.begin()
        self._start()

    # --- the streamer thread ----------------------------------------------------------

    def _run(self) -> None:
        try:
            with self._span.current():
                while (action := self._next_action()) is not None:
                    self._perform(action)
        except (errors.HowdahError, OSError) as error:
            self._machine.fail(error)
        except BaseException as error:
            # A defect, or a system that has no thread left: writers must not wait in vain.
            self._machine.fail(self._died(error))
            raise
        finally:
            self._disconnect()

    def _died(self, error: BaseException) -> errors.HowdahError:
        return errors.PipelineFailed(f"{self._pipeline.path}: the streamer died: {error!r}")

    def _next_action(self) -> Action | None:
        with self._lock:
            while not self._machine.stopping and self._pipeline.error is None:
                acks = self._acks
                if acks is not None and acks.unsent:
                    rest, acks.unsent = acks.unsent, b""
                    return SendRest(rest)
                now_s = time.monotonic()
                action = self._pipeline.next_action(now_s)
                if action is not None:
                    if acks is not None and acks.is_parked:
                        self._machine.turn.notify()
                    return action
                self._work.wait(self._pipeline.wait_limit_s(now_s))
            # Whatever event ended the stream, nobody waits for it in vain.
            self._progress.notify_all()
        return None

    def _perform(self, action: Action) -> None:
        match action:
            case Send(packets):
                buffers: list[bytes | bytearray | memoryview] = []
                for packet in packets:
                    sums = packet.packet.sums
                    buffers += (encode_prelude(packet.header, len(sums)), sums, packet.packet.data)
                self._send(buffers)
            case SendRest(data):
                self._send([data])
            case Heartbeat():
                self._send([encode_packet(HEARTBEAT)])
            case Allocate(previous, excluded):
                with self.lengths.held():
                    block = self._ask_for_block(previous, excluded)
                    with self._lock:
                        self._pipeline.allocated(block)
            case Connect():
                self._open(action)
            case Replace():
                self._replace(action)
            case Abandon(block):
                self._calls.abandon_block(
                    self._pipeline.path, self._client_name, block, self._file_id
                )
                with self._lock:
                    self._pipeline.abandoned()

    def _send(self, buffers: Sequence[bytes | bytearray | memoryview]) -> None:
        acks = self._acks
        try:
            if acks is None or acks.has_ended:
                raise errors.Unreachable("the connection is gone")
            acks.connection.send_buffers(buffers)
        except (errors.HowdahError, OSError) as error:
            # The ack reader may know better which node it was; it reports first if it can.
            if acks is not None and acks.thread is not None:
                acks.thread.join(timeout=1.0)
            with self._lock:
                self._pipeline.broken(f"failed: {error}")
                self._progress.notify_all()

    # --- blocks -----------------------------------------------------------------------

    def _ask_for_block(
        self, previous: ExtendedBlock | None, excluded: Sequence[DatanodeAddress]
    ) -> LocatedBlock:
        """addBlock; while the block before is short of replicas the namenode says wait, and one
        that was started just now is in safe mode until its datanodes have reported."""
        delays = self._settings.next_block_delays_s()
        while True:
            try:
                return self._calls.add_block(
                    self._pipeline.path,
                    self._client_name,
                    previous,
                    excluded,
                    self._file_id,
                    self._flags,
                    self._favored_nodes,
                )
            except errors.NoDatanodes as error:
                if not self._unreached:
                    raise
                why = "; ".join(f"{node}: {reason}" for node, reason in self._unreached.items())
                raise error.adding(f" This client left out {why}") from error
            except (errors.NotReplicatedYet, errors.SafeMode):
                delay_s = next(delays, None)
                if delay_s is None:
                    raise
                with self._lock:
                    if self._work.wait_for(lambda: self._machine.stopping, timeout=delay_s):
                        raise

    def _open(self, connect: Connect) -> None:
        """Step 3 or 9: a pipeline; with a new generation stamp unless the block is new."""
        self._end_acks()
        block = opened = connect.block
        if connect.renews:
            fresh = self._calls.update_block_for_pipeline(block.block, self._client_name)
            new = block.block.with_generation_stamp(fresh.block.generation_stamp)
            opened = block.with_block(new, token=fresh.token)
        span = self._span.child("WRITE_BLOCK", _described(opened, connect), kind=Kind.CLIENT)
        try:
            connection = self._setup.open(
                opened, block.block, connect.stage, connect.sent_bytes, span.wire()
            )
        except SetupFailed as failure:
            span.end(failure)
            _log.warning(
                "%s: the pipeline for %s could not be set up at datanode %s, it is built anew: %s",
                self._pipeline.path,
                block.block,
                failure.node,
                failure,
            )
            self._unreached[failure.node] = failure.reason
            with self._lock:
                abandon = self._pipeline.setup_failed(
                    failure.node, failure.reason, time.monotonic(), restarts=failure.restarts
                )
                self._progress.notify_all()
            if abandon is not None:
                self._perform(abandon)
            return
        self._unreached.clear()
        try:
            if connect.renews:
                self._calls.update_pipeline(self._client_name, block.block, opened.block, opened)
        except BaseException as error:
            span.end(error)
            connection.close()
            raise
        with self._lock:
            stays_open = self._pipeline.connected(opened, time.monotonic())
            if stays_open:
                low_water = self._settings.max_packets_in_flight * 3 // 4
                acks = Acks(self._machine, connection, span, low_water)
                if self._thread is not None:
                    try:
                        acks.begin()
                    except BaseException as error:
                        span.end(error)
                        connection.close()
                        raise
                self._acks = acks
                self._progress.notify_all()
                if self._machine.stopping:
                    connection.shutdown()
            else:
                self._progress.notify_all()
        if not stays_open:
            span.end()
            connection.close()

    def _end_acks(self) -> None:
        """Close the pipeline before (FS-124), so that no ack of it comes any more."""
        if self._acks is not None:
            self._acks.close()

    def _replace(self, replace: Replace) -> None:
        """Step 8: another datanode, and a copy of the replica for it."""
        self._end_acks()
        block = replace.block
        try:
            answer = self._calls.get_additional_datanode(
                self._pipeline.path, self._client_name, block, replace.failed, self._file_id
            )
        except errors.RemoteError as error:
            with self._lock:
                self._pipeline.not_replaced(f"the namenode says: {error}")
            return
        known = set(block.nodes) | set(replace.failed)
        target = next((node for node in answer.nodes if node not in known), None)
        if target is None:
            with self._lock:
                self._pipeline.not_replaced("the namenode knows no other datanode")
            return
        added = answer.at(target)
        try:
            self._transfer(block, replace.source, added)
        except SetupFailed as failure:
            _log.warning("%s does not join %s: %s", target, block.block, failure)
            with self._lock:
                self._pipeline.not_replaced(failure.reason, failure.node)
            return
        with self._lock:
            self._pipeline.replaced(block.joined_by(added))

    def _transfer(self, block: LocatedBlock, source: DatanodeAddress, added: LocatedBlock) -> None:
        span = self._span.child(
            "TRANSFER_BLOCK",
            {"howdah.block": block.block.name, "howdah.datanode": source.transfer_address},
            kind=Kind.CLIENT,
        )
        try:
            self._setup.transfer(block, source, added, span.wire())
        except BaseException as error:
            span.end(error)
            raise
        span.end()

    def _disconnect(self) -> None:
        acks = self._acks
        if acks is not None:
            acks.connection.shutdown()


def _described(block: LocatedBlock, connect: Connect) -> Attributes:
    return {
        "howdah.block": block.block.name,
        "howdah.block_pool": block.block.pool_id,
        "howdah.stage": connect.stage.name,
        "howdah.datanodes": ",".join(node.transfer_address for node in block.nodes),
    }
