"""Drives a `Pipeline`: the threads, sockets and RPCs under an output stream.

DataStreamer in Hadoop.

A streamer thread asks the machine what to do and does it; per block an ack reader
thread feeds it with what the datanodes answer. Writers put packets in and wait for
acks. One lock guards the machine; no I/O happens under it.

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
from collections.abc import Callable, Sequence
from dataclasses import asdict

from howdah import errors
from howdah.client.blocks import LocatedBlock
from howdah.client.namenode import NamenodeProxy
from howdah.client.settings.settings import ClientSettings
from howdah.client.writing.actions import (
    Abandon,
    Action,
    Allocate,
    Connect,
    Heartbeat,
    Replace,
    Send,
)
from howdah.client.writing.late_sync import LateSync
from howdah.client.writing.packetizer import OutgoingPacket
from howdah.client.writing.pipeline import Pipeline
from howdah.client.writing.pipeline_setup import PipelineSetup, SetupFailed
from howdah.client.writing.statistics import PipelineCounts
from howdah.options import CreateFlag
from howdah.tracing.span import NOTHING, Attributes, Kind, Span
from howdah.transfer import sockets
from howdah.transfer.blocks import DatanodeAddress, ExtendedBlock
from howdah.transfer.packets import HEARTBEAT, decode_ack, encode_packet, encode_prelude
from howdah.transfer.varint import read_delimited

STOP_WAIT_S = 2.0
"""A call to the namenode can't be interrupted, so threads aren't waited for any longer."""

_log = logging.getLogger(__name__)


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
    ) -> None:
        """Its calls and pipelines are below `span` in a trace."""
        self._span = span
        self._pipeline = pipeline
        self._namenode = namenode
        self._settings = settings
        self._client_name = client_name
        self._file_id = file_id
        self._setup = setup
        self._flags = flags
        self._favored_nodes = favored_nodes
        # Reentrant, for the garbage collector may close a forgotten stream on a thread of
        # its own that holds it.
        self._lock = threading.RLock()
        self._work = threading.Condition(self._lock)
        self._progress = threading.Condition(self._lock)
        # Held while the namenode is asked for a block, and while it is told a length,
        # so that a length never lands on the block after the one it was measured on.
        self._block_lock = threading.Lock()
        self._durable_length: tuple[int, int] | None = None
        self._ack_waiters = 0
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._reader: threading.Thread | None = None
        self._connection: sockets.Connection | None = None

    # --- for writers ----------------------------------------------------------------

    def enqueue(self, packet: OutgoingPacket) -> None:
        """Queue a packet; waits while too many are unacknowledged. Raises what went wrong."""
        with self._lock:
            while (
                len(self._pipeline.queues) >= self._settings.max_packets_in_flight
                and self._pipeline.error is None
            ):
                self._progress.wait()
            self._check()
            self._pipeline.enqueue(packet)
            if self._thread is None:
                thread = threading.Thread(
                    target=self._run, name=f"howdah-streamer {self._pipeline.path}", daemon=True
                )
                thread.start()
                self._thread = thread
            self._work.notify()

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
                self._check()

    def _check(self) -> None:
        error = self._pipeline.error
        if error is not None:
            # A new exception for each caller: one object would collect all their traces.
            again = type(error)(error.message, java_class=error.remote_class)
            raise again.about(self._pipeline.path) from error

    def wait_acked(self, seqno: int) -> None:
        """Wait until the packet `seqno` and all before it are on every datanode."""
        with self._lock:
            self._pipeline.flushed(seqno)
            self._wait_until(lambda: self._pipeline.queues.last_acked_seqno >= seqno)

    def _wait_until(self, condition: Callable[[], bool]) -> None:
        self._ack_waiters += 1
        try:
            while not condition() and self._pipeline.error is None and not self._stopping:
                self._progress.wait()
        finally:
            self._ack_waiters -= 1
        self._check()
        if not condition():
            path = self._pipeline.path
            raise errors.ClosedStream(f"{path} was closed in the meantime").about(path)

    def tell_length(self, *, durable: bool) -> None:
        """Let the namenode know how long the acknowledged part of the last block is.

        The first length of a block is durable in any case: without one a namenode that was just
        started takes the block for one that nobody has written to, until datanodes report it, and
        readers find nothing there. A length that is not durable is told again by the next sync,
        also where nothing was written in between: the namenode may have forgotten it.
        """
        with self._block_lock:
            with self._lock:
                last = self._pipeline.last_block
            if last is None or (last.block_id, last.length_bytes) == self._durable_length:
                return
            known = self._durable_length
            durable = durable or known is None or known[0] != last.block_id
            with errors.naming(self._pipeline.path):
                self._namenode.fsync(
                    self._pipeline.path,
                    self._client_name,
                    last.length_bytes,
                    self._file_id,
                    durable=durable,
                )
            if durable:
                self._durable_length = (last.block_id, last.length_bytes)

    def sync_finished(self, seqno: int) -> None:
        """Bring the blocks to disk that were finished by packet `seqno` without being synced."""
        with self._lock:
            blocks = self._pipeline.unsynced.up_to(seqno)
        if blocks:
            with errors.naming(self._pipeline.path):
                LateSync(self._pipeline.path, self._namenode, self._setup).sync(
                    blocks, self._synced_late
                )

    def _synced_late(self, block: LocatedBlock) -> None:
        with self._lock:
            if self._pipeline.unsynced.synced(block):
                self._pipeline.counts.blocks_synced_late += 1

    def finish(self) -> ExtendedBlock | None:
        """Wait until everything is acknowledged and end the threads; the file's last block."""
        try:
            with self._lock:
                self._wait_until(lambda: not self._pipeline.queues)
                return self._pipeline.last_block
        finally:
            self.stop()

    def give_up(self, error: errors.HowdahError) -> None:
        """End the stream by `error`, which every later call raises; waits for no thread."""
        self._fail(error)
        self._tell_to_stop()

    def _tell_to_stop(self) -> None:
        with self._lock:
            self._stopping = True
            connection = self._connection
            self._work.notify_all()
            self._progress.notify_all()
        self._setup.stop()
        if connection is not None:
            connection.shutdown()

    def stop(self) -> None:
        """End the threads; what isn't acknowledged is given up.

        One that is in a call to the namenode ends by itself when that is answered.
        """
        self._tell_to_stop()
        until_s = time.monotonic() + STOP_WAIT_S
        for thread in (self._thread, self._reader):
            if thread is not None and thread is not threading.current_thread():
                thread.join(max(until_s - time.monotonic(), 0.0))

    def is_own_thread(self) -> bool:
        """Whether the caller runs on a thread that must not wait for itself."""
        return threading.current_thread() in (self._thread, self._reader)

    # --- the streamer thread ----------------------------------------------------------

    def _run(self) -> None:
        try:
            with self._span.current():
                while (action := self._next_action()) is not None:
                    self._perform(action)
        except (errors.HowdahError, OSError) as error:
            self._fail(error)
        except BaseException as error:
            # A defect, or a system that has no thread left: writers must not wait in vain.
            self._fail(
                errors.PipelineFailed(f"{self._pipeline.path}: the streamer died: {error!r}")
            )
            raise
        finally:
            self._disconnect()

    def _next_action(self) -> Action | None:
        with self._lock:
            while not self._stopping and self._pipeline.error is None:
                now_s = time.monotonic()
                action = self._pipeline.next_action(now_s)
                if action is not None:
                    return action
                self._work.wait(self._pipeline.wait_limit_s(now_s))
            # Whatever event ended the stream, nobody waits for it in vain.
            self._progress.notify_all()
        return None

    def _perform(self, action: Action) -> None:
        match action:
            case Send(packets):
                buffers: list[bytes | bytearray | memoryview] = []
                for each in packets:
                    sums = each.packet.sums
                    buffers += (encode_prelude(each.header, len(sums)), sums, each.packet.data)
                self._send(buffers)
            case Heartbeat():
                self._send([encode_packet(HEARTBEAT)])
            case Allocate(previous, excluded):
                with self._block_lock:
                    block = self._ask_for_block(previous, excluded)
                    with self._lock:
                        self._pipeline.allocated(block)
            case Connect():
                self._open(action)
            case Replace():
                self._replace(action)
            case Abandon(block):
                self._namenode.abandon_block(
                    self._pipeline.path, self._client_name, block, self._file_id
                )
                with self._lock:
                    self._pipeline.abandoned()

    def _send(self, buffers: Sequence[bytes | bytearray | memoryview]) -> None:
        connection = self._connection
        try:
            if connection is None:
                raise errors.Unreachable("the connection is gone")
            connection.send_buffers(buffers)
        except (errors.HowdahError, OSError) as error:
            # The ack reader may know better which node it was; it reports first if it can.
            reader = self._reader
            if reader is not None:
                reader.join(timeout=1.0)
            with self._lock:
                self._pipeline.broken(f"failed: {error}")
                self._progress.notify_all()

    def _fail(self, error: errors.HowdahError | OSError) -> None:
        known = (
            error
            if isinstance(error, errors.HowdahError)
            else errors.PipelineFailed(f"{self._pipeline.path}: {error}")
        )
        with self._lock:
            self._pipeline.fail(known.naming(self._pipeline.path))
            self._progress.notify_all()
            self._work.notify_all()

    # --- blocks -----------------------------------------------------------------------

    def _ask_for_block(
        self, previous: ExtendedBlock | None, excluded: Sequence[DatanodeAddress]
    ) -> LocatedBlock:
        """addBlock; while the block before is short of replicas the namenode says wait, and one
        that was started just now is in safe mode until its datanodes have reported."""
        delays = self._settings.next_block_delays_s()
        while True:
            try:
                return self._namenode.add_block(
                    self._pipeline.path,
                    self._client_name,
                    previous,
                    excluded,
                    self._file_id,
                    self._flags,
                    self._favored_nodes,
                )
            except (errors.NotReplicatedYet, errors.SafeMode):
                delay_s = next(delays, None)
                if delay_s is None:
                    raise
                with self._lock:
                    if self._work.wait_for(lambda: self._stopping, timeout=delay_s):
                        raise

    def _open(self, connect: Connect) -> None:
        """Step 3 or 9: a pipeline; with a new generation stamp unless the block is new."""
        self._end_reader()
        block = opened = connect.block
        if connect.renews:
            fresh = self._namenode.update_block_for_pipeline(block.block, self._client_name)
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
            with self._lock:
                abandon = self._pipeline.setup_failed(
                    failure.node, failure.reason, time.monotonic(), restarts=failure.restarts
                )
                self._progress.notify_all()
            if abandon is not None:
                self._perform(abandon)
            return
        try:
            if connect.renews:
                self._namenode.update_pipeline(self._client_name, block.block, opened.block, opened)
        except BaseException as error:
            span.end(error)
            connection.close()
            raise
        with self._lock:
            stays_open = self._pipeline.connected(opened, time.monotonic())
            if stays_open:
                reader = threading.Thread(
                    target=self._read_acks,
                    args=(connection, span),
                    name=f"howdah-ack-reader {self._pipeline.path}",
                    daemon=True,
                )
                try:
                    reader.start()
                except BaseException as error:
                    span.end(error)
                    connection.close()
                    raise
                self._connection, self._reader = connection, reader
                if self._stopping:
                    connection.shutdown()
            else:
                self._progress.notify_all()
        if not stays_open:
            span.end()
            connection.close()

    def _end_reader(self) -> None:
        """Close the pipeline before (FS-124), so that no ack of it comes any more."""
        with self._lock:
            connection = self._connection
        if connection is not None:
            connection.shutdown()
        if self._reader is not None:
            self._reader.join()

    def _replace(self, replace: Replace) -> None:
        """Step 8: another datanode, and a copy of the replica for it."""
        self._end_reader()
        block = replace.block
        try:
            answer = self._namenode.get_additional_datanode(
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

    # --- the ack reader thread ----------------------------------------------------------

    def _read_acks(self, connection: sockets.Connection, span: Span) -> None:
        done = False
        failure: Exception | None = None
        low_water = self._settings.max_packets_in_flight * 3 // 4
        try:
            while not done:
                ack = decode_ack(read_delimited(connection))
                with self._lock:
                    ended = self._pipeline.acked(ack)
                    done = ended or not self._pipeline.is_streaming
                    # Waking threads costs more than an ack does, so only those are woken
                    # that have something to do; a writer that waits for room gets a lot.
                    if done or self._ack_waiters or len(self._pipeline.queues) <= low_water:
                        self._progress.notify_all()
                    if done or self._pipeline.queues.is_held_back:
                        self._work.notify()
        except (errors.HowdahError, OSError) as error:
            failure = error
            with self._lock:
                if not self._stopping:
                    self._pipeline.broken(f"failed: {error}")
                done = True
                self._progress.notify_all()
                self._work.notify_all()
        finally:
            with self._lock:
                if not done and not self._stopping:
                    # Keeps an earlier error; without one this thread must not die in silence.
                    self._pipeline.fail(
                        errors.PipelineFailed(
                            f"{self._pipeline.path}: acks that could not be followed"
                        )
                    )
                    self._progress.notify_all()
                    self._work.notify_all()
                if self._connection is connection:
                    self._connection = None
            span.end(failure)
            # Wakes the streamer, should it be blocked in a send to a broken pipeline.
            connection.shutdown()
            connection.close()

    def _disconnect(self) -> None:
        with self._lock:
            connection = self._connection
        if connection is not None:
            connection.shutdown()


def _described(block: LocatedBlock, connect: Connect) -> Attributes:
    return {
        "howdah.block": block.block.name,
        "howdah.block_pool": block.block.pool_id,
        "howdah.stage": connect.stage.name,
        "howdah.datanodes": ",".join(node.transfer_address for node in block.nodes),
    }
