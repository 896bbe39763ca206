"""WRITE_BLOCK: takes a block from a client or a datanode, and passes it on.

BlockReceiver in Hadoop.

The steps of a write at one datanode:

1. open the replica (new, a finalized one for append, or, where a pipeline is built
   anew, the one that its last pipeline left: see `reopen`);
2. open the mirror, if targets are left, and wait for its answer;
3. answer: SUCCESS, or ERROR with the first bad link;
4. ordinary packets, as far as they go, pass through the kernel (`relay`);
5. for whatever other packets have arrived: pass them to the mirror, verify them if this
   is the last node (or a copy, or if the file is summed in another way), write
   them, sync them if one asks for it, ack them;
6. the last packet finalizes the replica before its ack goes out.

Two stages differ. PIPELINE_CLOSE_RECOVERY has no packets: its replica is final with
step 1. TRANSFER_RBW and TRANSFER_FINALIZED are a copy from another datanode, which a
client asked for: no answer before the packets and no acks, but a status when the copy
is a member of the pipeline here and at every node behind.

A client that goes away leaves an RBW replica behind, as long as it had got. A
disk that fails is told as an ERROR ack for the packet that could not be written.
A failing mirror is told by the responder, and doesn't end the write here. A client
that comes back to build its pipeline anew stops whoever still serves the old one.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from howdah import errors
from howdah.datanode.latency.activity import Count, Tally, Work
from howdah.datanode.replicas import reopen
from howdah.datanode.replicas.pinning import pin
from howdah.datanode.replicas.store import BlockStore
from howdah.datanode.replicas.writer import ReplicaWriter
from howdah.datanode.settings import DataSettings
from howdah.datanode.state.fault_points import Point, is_listened, reach
from howdah.datanode.state.messages import CorruptFound
from howdah.datanode.transfer.mirror import Mirror, MirrorFailed
from howdah.datanode.transfer.relay import Figures, relay_between
from howdah.datanode.transfer.responder import (
    LastResponder,
    MirrorResponder,
    Responder,
    SilentResponder,
)
from howdah.protocol.data_transfer.op_requests import Stage, WriteBlock
from howdah.protocol.data_transfer.packet_stream import Packet, PacketStream
from howdah.protocol.data_transfer.packets import PacketHeader
from howdah.protocol.data_transfer.responses import PIPELINE_READY, BlockOpResponse
from howdah.protocol.data_transfer.status import Status
from howdah.protocol.striping.layout import is_striped
from howdah.runtime.sockets import Connection, Dialing, PeerClosed
from howdah.runtime.tracing.span import NOTHING, Span

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Move:
    """A replica comes in because it is moved here: `delete_hint` is to lose its own, and `took`
    hears of the bytes of packets that have come in, and may wait."""

    delete_hint: str
    took: Callable[[int], None]


class BlockReceiver:
    """Receives one WRITE_BLOCK on one connection, or the answer to a COPY_BLOCK, as if it were
    one."""

    def __init__(
        self,
        connection: Connection,
        request: WriteBlock,
        store: BlockStore,
        settings: DataSettings,
        move: Move | None = None,
        *,
        span: Span = NOTHING,
    ) -> None:
        """`span` is that of the operation, if it is traced."""
        self._move = move
        self._span = span
        self._disk_ns = self._mirror_ns = self.received_bytes = self._packets = 0
        self._connection = connection
        self._request = request
        self._store = store
        self._settings = settings
        self._responder_in_use: Responder | None = None
        self._mirror: Mirror | None = None
        self._to_mirror: Connection | Dialing | None = None
        self._is_copy = request.is_datanode or request.stage.is_transfer
        self._stopped = ""
        self._thread_id = 0
        self._first = True
        self._forwarded_bytes = 0
        """What the mirror has already of the packets that are passed on next."""
        self._finalize_failure: Exception | None = None
        self._name = f"{request.block} from {connection.peer}"
        self._disk = Tally(store.activity, Work.DiskWrite, Count.BytesWritten)
        self._passing = Tally(store.activity, Work.MirrorSend)

    def stop(self, why: str) -> None:
        """End this write from another thread, whatever it waits for. One of its own has met what
        it is stopped for, and says so to the client."""
        responder = self._responder_in_use
        own = threading.get_ident()
        if own == self._thread_id or (responder is not None and responder.runs_on(own)):
            return
        self._stopped = why
        self._connection.shutdown()
        if self._to_mirror is not None:
            self._to_mirror.shutdown()

    def announce_restart(self, until_ms: int, timeout_s: float) -> bool:
        """This datanode will be back before `until_ms`: tell the client, which may wait for it,
        and keep the replica for it. False if there is no client, or it could not be told."""
        responder = self._responder_in_use
        if self._is_copy or responder is None:
            return False
        pool_id = self._request.block.pool_id
        reopen.expect_back(self._store, pool_id, self._writer.replica, until_ms)
        return responder.send_status(Status.OOB_RESTART, timeout_s)

    def run(self) -> None:
        """Serve the operation. Raises what ends the connection; the caller logs it."""
        self._thread_id = threading.get_ident()
        try:
            self._request.check_numbers()
        except errors.IllegalArgument as error:
            self._refuse(Status.ERROR, str(error))
            raise
        if not self._is_copy:
            self._reach(Point.REBUILD if self._request.stage.is_recovery else Point.SET_UP)
        if self._request.stage is Stage.PIPELINE_CLOSE_RECOVERY:
            self._close_again()
            return
        try:
            self._writer = self._open_replica()
        except (errors.HowdahError, OSError) as error:
            self._refuse(Status.ERROR, str(error))
            raise
        try:
            self._open_mirror()
            try:
                self._writer.manage_cache(self._settings.cache, self._request.hints)
                responder = self._responder_in_use = self._responder()
            except (OSError, RuntimeError) as error:
                # This process may have no more descriptors, or threads.
                self._refuse(Status.ERROR, f"cannot begin to write {self._request.block}: {error}")
                raise
        except BaseException:
            self._give_up_setup()
            raise
        finished = False
        try:
            try:
                if not self._is_copy:
                    self._connection.send_all(PIPELINE_READY.encode())
                self._receive(responder)
                responder.finish()
                if self._finalize_failure is not None:
                    raise self._finalize_failure
                finished = True
                if self._request.stage.is_transfer:
                    # Who sent the copy tells the client.
                    self._connection.send_all(self._all_have_it().encode())
            finally:
                if not finished:
                    responder.abort()
        except PeerClosed as error:
            if self._stopped:
                raise PeerClosed(f"it was stopped: {self._stopped}") from error
            raise responder.failure or error from None
        finally:
            if not finished:
                self._store.abandon(self._writer)
            if self._mirror is not None:
                self._mirror.close()
            self._leave_cache()
            self._disk.pass_on()
            self._passing.pass_on()
            self._store.activity.count(Count.PacketsReceived, self._packets)
            if self._span is not NOTHING:
                self._describe()

    def _describe(self) -> None:
        """Where the time of a traced write went."""
        self._span.set(
            {
                "howdah.bytes": self.received_bytes,
                "howdah.disk_ms": self._disk_ns / 1e6,
                "howdah.mirror_ms": self._mirror_ns / 1e6,
            }
        )

    def _leave_cache(self) -> None:
        try:
            self._writer.leave_cache()
        except OSError as error:
            self._store.disk_failed(self._writer.volume, error)

    # --- setting up ---

    def _open_replica(self) -> ReplicaWriter:
        request, store = self._request, self._store
        if self._is_copy:
            return store.create(
                request.block, request.checksum, request.storage_type, temporary=True, holder=self
            )
        if request.targets and is_striped(request.block.block_id):
            # It would write all of the data to each node, under the id of a group.
            raise errors.UnsupportedOperation(
                f"{request.block} is of an erasure coded group, whose internal blocks go to one "
                f"datanode each, and not to {1 + len(request.targets)}: the client cannot write "
                "erasure coded files"
            )
        match request.stage:
            case Stage.PIPELINE_SETUP_CREATE:
                return store.create(
                    request.block,
                    request.checksum,
                    request.storage_type,
                    holder=self,
                    lazy_persist=request.allow_lazy_persist
                    and (self._connection.is_same_machine or self._settings.non_local_lazy_persist),
                )
            case Stage.PIPELINE_SETUP_APPEND:
                return reopen.append(store, request, self)
            case Stage.PIPELINE_SETUP_APPEND_RECOVERY:
                return reopen.recover_append(store, request, self)
            case Stage.PIPELINE_SETUP_STREAMING_RECOVERY:
                return reopen.recover_streaming(store, request, self)
        raise errors.UnsupportedOperation(
            f"WRITE_BLOCK of {request.block} at stage {request.stage.name} is not supported"
        )

    def _close_again(self) -> None:
        try:
            reopen.recover_close(
                self._store, self._request, self, durable=self._settings.sync_on_close
            )
        except (errors.HowdahError, OSError) as error:
            self._refuse(Status.ERROR, str(error))
            raise
        self._open_mirror()
        if self._mirror is not None:
            self._mirror.close()
        self._connection.send_all(PIPELINE_READY.encode())

    def _all_have_it(self) -> BlockOpResponse:
        if self._mirror is None:
            return BlockOpResponse(Status.SUCCESS)
        try:
            return self._mirror.read_outcome()
        except (errors.HowdahError, OSError) as error:
            return BlockOpResponse(Status.ERROR, str(error), self._mirror.name)

    def _wait_for_mirror(self, connection: Connection | Dialing) -> None:
        self._to_mirror = connection
        if self._stopped:
            # It came between the two: nobody would end the waiting.
            connection.shutdown()

    def _open_mirror(self) -> None:
        request = self._request
        if not request.targets:
            return
        opening = self._span.child(
            "open mirror", {"howdah.datanode": request.targets[0].transfer_address}
        )
        try:
            self._mirror = Mirror.open(request, self._settings, self._wait_for_mirror)
            opening.end()
        except MirrorFailed as error:
            opening.end(error)
            if request.is_datanode:
                # Nobody rebuilds the pipeline of a copy: one more replica is better than none.
                log.warning("copying %s goes on without %s: %s", self._name, request.targets, error)
                return
            self._refuse(error.status, error.message, error.first_bad_link)
            raise

    def _give_up_setup(self) -> None:
        if self._mirror is not None:
            self._mirror.close()
        self._leave_cache()
        if self._request.stage is Stage.PIPELINE_SETUP_CREATE:
            self._store.discard(self._writer)
        else:
            self._store.abandon(self._writer)

    def _refuse(self, status: Status, message: str, first_bad_link: str = "") -> None:
        if not self._request.is_datanode:
            self._connection.send_all(BlockOpResponse(status, message, first_bad_link).encode())

    def _responder(self) -> Responder:
        if self._is_copy:
            return SilentResponder(self._finalize)
        replica = self._writer.replica
        if self._mirror is None:
            return LastResponder(self._connection, replica, self._finalize)
        return MirrorResponder(self._connection, self._mirror, replica, self._finalize, self._name)

    # --- packets ---

    def _receive(self, responder: Responder) -> None:
        stream = PacketStream(limit_bytes=self._settings.max_packet_bytes)
        connection = self._connection
        self._relay_packets(stream, responder)
        while True:
            last = False
            packets: list[Packet] = []
            while not last and (packet := stream.next_packet()) is not None:
                packets.append(packet)
                last = packet.header.last_in_block
            if packets:
                self._packets += len(packets)
                self._process_packets(stream, packets, responder)
                if self._move is not None:
                    self._move.took(packets[-1].end - packets[0].start)
            if last:
                break
            stream.filled(connection.recv_some_into(stream.writable()))
        connection.push_back(stream.take_pending())

    def _relay_packets(self, stream: PacketStream, responder: Responder) -> None:
        """All that are ordinary. What follows has its begin in `stream`, and acks are
        `responder`'s from then on."""
        relay = None
        # Copies have no acks; who listens wants to hear of each packet.
        if not (self._is_copy or is_listened() or self._store.peers is not None):
            relay = relay_between(
                self._connection, self._mirror, self._writer, self._settings.max_packet_bytes
            )
        if relay is None:
            responder.begin(())
            return
        with responder.lend_to(relay):
            rest = relay.run(self._count, self._sync)
            self._connection.send_all(rest.unsent_acks)
        if self._mirror is not None:
            self._mirror.connection.push_back(rest.acks)
        responder.begin([PacketHeader(end, seqno, False, 0) for seqno, end in rest.due])
        stream.feed(rest.packets)
        self._forwarded_bytes = rest.forwarded_bytes
        if rest.lost_mirror:
            self._store.activity.count(Count.DatanodeNetworkErrors)
        if rest.disk_failure is not None:
            packet = stream.next_packet()
            assert packet is not None, "the disk has failed without a packet"
            self._fail_disk(rest.disk_failure, packet.header, responder)
            raise rest.disk_failure

    def _count(self, figures: Figures) -> None:
        activity = self._store.activity
        if figures.writes:
            activity.took(Work.DiskWrite, figures.write_ns, figures.writes)
            activity.count(Count.BytesWritten, figures.written_bytes)
        if figures.sends:
            activity.took(Work.MirrorSend, figures.send_ns, figures.sends)
        if figures.syncs:
            activity.took(Work.Fsync, figures.sync_ns, figures.syncs)
        self.received_bytes += figures.written_bytes
        self._packets += figures.packets
        self._disk_ns += figures.write_ns
        self._mirror_ns += figures.send_ns

    def _process_packets(
        self, stream: PacketStream, packets: list[Packet], responder: Responder
    ) -> None:
        mirror = self._mirror
        if mirror is not None and not mirror.failed:
            try:
                begin = packets[0].start + self._forwarded_bytes
                self._forwarded_bytes = 0
                self._pass_on(mirror, stream.span(begin, packets[-1].end), len(packets))
            except (errors.HowdahError, OSError) as error:
                log.warning("cannot pass %s on to %s: %s", self._name, mirror.name, error)
                mirror.failed = True
                mirror.shutdown()
                self._store.activity.count(Count.DatanodeNetworkErrors)
        bad = self._verify(packets)
        good = packets if bad < 0 else packets[:bad]
        if good:
            self._write(good, responder)
        if bad >= 0:
            self._tell_damage(packets[bad], responder)

    def _pass_on(self, mirror: Mirror, span: memoryview, packets: int) -> None:
        peers = self._store.peers
        began_ns = time.perf_counter_ns()
        if peers is None or len(self._request.targets) != 1:
            mirror.send(span)
            self._passing.add(began_ns)
            self._mirror_ns += time.perf_counter_ns() - began_ns
            return
        begin_s = time.monotonic()
        mirror.send(span)
        self._mirror_ns += time.perf_counter_ns() - began_ns
        node = self._request.targets[0]
        name = f"{node.ip}:{node.info_port or node.transfer_port}"
        peers.add(name, time.monotonic() - begin_s, packets)

    def _verify(self, packets: Sequence[Packet]) -> int:
        must = self._mirror is None or self._is_copy or self._writer.translates
        return self._writer.verify(packets) if must else -1

    def _write(self, packets: Sequence[Packet], responder: Responder) -> None:
        writer = self._writer
        sync = any(packet.header.sync_block for packet in packets)
        try:
            if not self._is_copy:
                self._reach(self._point(packets))
            last = packets[-1].header
            began_ns = time.perf_counter_ns()
            writer.write(packets)
            first_offset = packets[0].header.offset_in_block
            length_bytes = last.offset_in_block + last.data_length_bytes - first_offset
            self._disk.add(began_ns, length_bytes)
            self._disk_ns += time.perf_counter_ns() - began_ns
            self.received_bytes += length_bytes
            if sync:
                # Bytes whose order to sync is in a packet behind them are acknowledged before.
                packets = self._acked_before_a_sync(packets, responder)
                if last.last_in_block:
                    writer.replica.synced = True
                else:
                    self._sync()
            responder.written([packet.header for packet in packets])
        except errors.HowdahError:
            raise
        except OSError as error:
            self._fail_disk(error, packets[0].header, responder)
            raise

    def _sync(self) -> bool:
        """What is written so far is on the disk when this returns. Whether nobody has to be told
        of the next syncs one by one: their replica can be found on the disk by now."""
        writer = self._writer
        writer.replica.synced = True
        began_ns = time.perf_counter_ns()
        syncing = self._span.child("fsync")
        writer.sync()
        syncing.end()
        took_ns = time.perf_counter_ns() - began_ns
        self._store.activity.took(Work.Fsync, took_ns)
        if writer.volume.meter is not None:
            writer.volume.meter.synced(took_ns / 1e9)
        return writer.volume.meter is None and self._span is NOTHING

    @staticmethod
    def _acked_before_a_sync(packets: Sequence[Packet], responder: Responder) -> Sequence[Packet]:
        """Return the packets from the first one on that asks for a sync; those before it are
        done."""
        orders = (place for place, packet in enumerate(packets) if packet.header.sync_block)
        first = next(orders)
        if first:
            responder.written([packet.header for packet in packets[:first]])
        return packets[first:]

    def _fail_disk(self, error: OSError, header: PacketHeader, responder: Responder) -> None:
        self._store.disk_failed(self._writer.volume, error)
        responder.written([header], Status.ERROR)
        responder.finish()

    def _point(self, packets: Sequence[Packet]) -> Point:
        first, self._first = self._first, False
        if packets[-1].header.last_in_block:
            return Point.LAST_PACKET
        return Point.FIRST_PACKET if first else Point.MIDDLE

    def _reach(self, point: Point) -> None:
        reach(point, self._request.block.block_id, len(self._request.targets))

    def _tell_damage(self, packet: Packet, responder: Responder) -> None:
        request = self._request
        reason = (
            f"packet {packet.header.seqno} at offset {packet.header.offset_in_block} of "
            f"{self._name} does not fit its checksums"
        )
        if request.is_datanode and request.source is not None:
            self._store.notify(CorruptFound(request.block, "", request.source, reason))
        responder.written([packet.header], Status.ERROR_CHECKSUM)
        responder.finish()
        raise errors.ChecksumMismatch(reason)

    def _check_whole(self) -> None:
        announced, here = self._request.block.length_bytes, self._writer.replica.length_bytes
        if self._is_copy and here < announced:
            raise errors.ProtocolViolation(
                f"the copy {self._name} ended after {here} bytes of {announced}"
            )

    def _finalize(self) -> Status:
        finalizing = self._span.child("finalize")
        try:
            self._writer.start_writing_out()
            if self._request.stage is Stage.TRANSFER_RBW:
                self._store.join_pipeline(self._writer, self._request.block.length_bytes)
            else:
                self._check_whole()
                # A block that was synced once, in this pipeline or before, is synced when it
                # ends: after a power cut, a replica that is shorter than the namenode knows
                # it would count as corrupt.
                durable = self._settings.sync_on_close or self._writer.replica.synced
                if self._request.pinning and self._settings.block_pinning:
                    pin(self._store.paths(self._request.block.pool_id, self._writer.replica)[0])
                hint = "" if self._move is None else self._move.delete_hint
                self._store.finalize(self._writer, durable=durable, delete_hint=hint)
                if not self._is_copy:
                    self._reach(Point.CLOSE)
        except errors.HowdahError as error:
            self._finalize_failure = error
        except OSError as error:
            self._store.disk_failed(self._writer.volume, error)
            self._finalize_failure = error
        finalizing.end(self._finalize_failure)
        return Status.SUCCESS if self._finalize_failure is None else Status.ERROR
