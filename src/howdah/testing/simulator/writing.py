"""A file that a simulated client writes: the real pipeline and packetizer in tasks.

What `howdah.client.writing.streamer` and `output` do with threads: the streamer does what
`Pipeline.next_action` says, an ack reader feeds it, the writer puts packets in and waits.
Also the lease's renewal, and what a writer does when it has lost it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from howdah import errors
from howdah.client.namenode import NamenodeProxy
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
from howdah.client.state.writing.packetizer import OutgoingPacket, Packetizer
from howdah.client.state.writing.phases import Phase
from howdah.client.state.writing.pipeline import Pipeline
from howdah.client.state.writing.pipeline_rules import PipelineRules
from howdah.options import CreateFlag
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock, StorageType
from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType
from howdah.protocol.data_transfer.op_requests import Stage, TransferBlock, WriteBlock
from howdah.protocol.data_transfer.packets import PacketHeader
from howdah.protocol.data_transfer.responses import BlockOpResponse
from howdah.protocol.data_transfer.status import Status
from howdah.testing.simulator.clients import Client
from howdah.testing.simulator.datanodes.store import Packet
from howdah.testing.simulator.history import Promised
from howdah.testing.simulator.network import End
from howdah.testing.simulator.tasks import PAUSE, Steps, Task, Wait

T = TypeVar("T")
SOCKET_TIMEOUT_S = 60.0
TIMEOUT_PER_NODE_S = 5.0
LEASE_RENEWAL_S = 30.0
LEASE_RETRY_S = 5.0
MAX_PACKETS_IN_FLIGHT = 6
NEXT_BLOCK_DELAYS_S = (0.1, 0.4, 0.8, 1.6, 3.2, 6.4)
SPEC = ChecksumSpec(ChecksumType.CRC32C, 4)
PACKET_BYTES = 8
HEARTBEAT = Packet(PacketHeader(0, -1, False, 0), b"", b"")


@dataclass(frozen=True, slots=True)
class OpenFile:
    path: str
    file_id: int
    block_size: int
    replication: int
    room: LocatedBlock | None = None
    previous: ExtendedBlock | None = None


class SetupFailed(Exception):
    def __init__(self, node: DatanodeAddress, reason: str, *, restarts: bool = False) -> None:
        super().__init__(reason)
        self.node = node
        self.reason = reason
        self.restarts = restarts


class OutputStream:
    """One open file, and the tasks under it."""

    def __init__(
        self,
        client: Client,
        file: OpenFile,
        promised: Promised,
        rules: PipelineRules,
        hard_limit_s: float,
    ) -> None:
        self.client = client
        self.file = file
        self.promised = promised
        self._hard_limit_s = hard_limit_s
        self._world = client.world
        self.opened_at = client.world.steps
        self._packetizer = Packetizer(
            SPEC,
            PACKET_BYTES,
            file.block_size,
            offset_in_block=file.room.length_bytes if file.room else 0,
        )
        self.pipeline = Pipeline(
            file.path,
            rules,
            appended=file.room,
            previous=file.previous,
            replication=file.replication,
        )
        self._end: End | None = None
        self._reader: Task | None = None
        self._stopping = False
        self._durable_length: tuple[int, int] | None = None
        self._block_lock = False
        self._world.spawn(client.process, "streamer", self._stream())
        self._world.spawn(client.process, "lease", self._renew())

    # --- for the writer ---

    def write(self, data: bytes) -> Steps[None]:
        """All of it is taken when this returns."""
        self._check()
        self.promised.written += data
        yield from self._enqueue(self._packetizer.write(data))

    def sync(self, *, to_disk: bool, end_block: bool = False) -> Steps[None]:
        """hflush, or hsync."""
        self._check()
        length = len(self.promised.written)
        if to_disk:
            self._packetizer.sync_blocks = True
        cut = self._packetizer.end_block if end_block else self._packetizer.flush
        yield from self._enqueue(cut(sync=to_disk))
        seqno = self.pipeline.queues.last_queued_seqno
        self.pipeline.flushed(seqno)
        bytes_seqno = seqno - 1 if to_disk else seqno
        yield from self._until(lambda: self.pipeline.queues.last_acked_seqno >= bytes_seqno)
        yield from self._tell_length(durable=to_disk)
        if to_disk:
            yield from self._until(lambda: self.pipeline.queues.last_acked_seqno >= seqno)
            yield from self._sync_finished(seqno)
        self.promised.flushed_bytes = max(self.promised.flushed_bytes, length)
        if to_disk:
            self.promised.synced_bytes = max(self.promised.synced_bytes, length)

    def close(self) -> Steps[None]:
        self._check()
        sync = self._packetizer.sync_blocks
        yield from self._enqueue(self._packetizer.end_block(sync=sync))
        yield from self._until(lambda: not self.pipeline.queues)
        self.stop()
        last = self.pipeline.last_block
        for delay_s in (*NEXT_BLOCK_DELAYS_S, None):
            if (
                yield from self._call(
                    lambda namenode: namenode.complete(
                        self.file.path, self.client.name, last, self.file.file_id
                    )
                )
            ):
                self.promised.flushed_bytes = len(self.promised.written)
                self.promised.closed = True
                return
            if delay_s is not None:
                yield from self._world.sleep(delay_s)
        raise errors.NotReplicatedYet(f"cannot close {self.file.path}")

    def stop(self) -> None:
        self._stopping = True
        if self._end is not None:
            self._end.shutdown()

    def abort(self, why: str) -> None:
        self.pipeline.fail(errors.PipelineFailed(f"{self.file.path}: {why}"))
        self.stop()

    def _check(self) -> None:
        if self.pipeline.error is not None:
            raise self.pipeline.error

    def _until(self, condition: Callable[[], bool]) -> Steps[None]:
        yield Wait(lambda: condition() or self.pipeline.error is not None or self._stopping)
        self._check()
        if not condition():
            raise errors.ClosedStream(f"{self.file.path} was closed in the meantime")

    def _enqueue(self, packets: Iterator[OutgoingPacket]) -> Steps[None]:
        for packet in packets:
            yield from self._until(lambda: len(self.pipeline.queues) < MAX_PACKETS_IN_FLIGHT)
            self.pipeline.enqueue(packet)

    def _call(self, question: Callable[[NamenodeProxy], T]) -> Steps[T]:
        return self.client.call(question)

    def _lock_block(self) -> Steps[None]:
        yield Wait(lambda: not self._block_lock)
        self._block_lock = True

    def _tell_length(self, *, durable: bool) -> Steps[None]:
        yield from self._lock_block()
        try:
            last = self.pipeline.last_block
            if last is None or (last.block_id, last.length_bytes) == self._durable_length:
                return
            known = self._durable_length
            durable = durable or known is None or known[0] != last.block_id
            yield from self._call(
                lambda namenode: namenode.fsync(
                    self.file.path,
                    self.client.name,
                    last.length_bytes,
                    self.file.file_id,
                    durable=durable,
                )
            )
            if durable:
                self._durable_length = (last.block_id, last.length_bytes)
        finally:
            self._block_lock = False

    def _sync_finished(self, seqno: int) -> Steps[None]:
        """Blocks that were finished without being synced: their datanodes are asked."""
        for block in self.pipeline.unsynced.up_to(seqno):
            synced = 0
            for node in block.nodes:
                try:
                    end = yield from self._connect(
                        block.at(node),
                        block.block,
                        Stage.PIPELINE_CLOSE_RECOVERY,
                        block.length_bytes,
                    )
                    end.shutdown()
                    synced += 1
                except SetupFailed as failure:
                    self._world.note(self.client.name, f"{block.block.name}: {failure}")
            if not synced:
                raise errors.PipelineFailed(f"{block.block.name} could not be synced")
            self.pipeline.unsynced.synced(block)

    # --- the lease ---

    def _renew(self) -> Steps[None]:
        renewed_ms, pause_s = self._world.now_ms, LEASE_RENEWAL_S
        while not self._stopping:
            yield from self._world.wait(lambda: self._stopping, pause_s)
            asked_ms = self._world.now_ms
            try:
                yield from self._call(lambda namenode: namenode.renew_lease(self.client.name))
            except (errors.HowdahError, OSError) as error:
                if self._world.now_ms - renewed_ms >= self._hard_limit_s * 1000:
                    self.abort(f"the lease could not be renewed: {error}")
                pause_s = LEASE_RETRY_S
            else:
                renewed_ms, pause_s = asked_ms, LEASE_RENEWAL_S

    # --- the streamer ---

    def _stream(self) -> Steps[None]:
        try:
            while not self._stopping and self.pipeline.error is None:
                now_s = self._world.now_s
                action = self.pipeline.next_action(now_s)
                if action is not None:
                    yield from self._perform(action)
                    yield PAUSE
                    continue
                limit_s = self.pipeline.wait_limit_s(now_s)
                yield from self._world.wait(self._has_work, limit_s)
        except (errors.HowdahError, OSError) as error:
            known = error if isinstance(error, errors.HowdahError) else None
            self.pipeline.fail(known or errors.PipelineFailed(str(error)))
        if self.pipeline.error is not None:
            self._world.note(self.client.name, f"the stream is over: {self.pipeline.error}")
        if self._end is not None:
            self._end.shutdown()

    def _has_work(self) -> bool:
        """What wakes the streamer: packets, acks that hold back others, failures."""
        pipeline = self.pipeline
        if self._stopping or pipeline.error is not None:
            return True
        if pipeline.is_streaming:
            queues = pipeline.queues
            return queues.is_held_back or (queues.has_data and not queues.ends_block)
        if pipeline.phase is Phase.BROKEN:
            return pipeline.wait_limit_s(self._world.now_s) == 0.0
        return pipeline.queues.has_data

    def _perform(self, action: Action) -> Steps[None]:
        match action:
            case Send(packets):
                for packet in packets:
                    self._send(
                        Packet(packet.header, bytes(packet.packet.sums), bytes(packet.packet.data))
                    )
            case Heartbeat():
                self._send(HEARTBEAT)
            case Allocate(previous, excluded):
                yield from self._lock_block()
                try:
                    block = yield from self._ask_for_block(previous, excluded)
                    self.pipeline.allocated(block)
                finally:
                    self._block_lock = False
            case Connect():
                yield from self._open(action)
            case Replace():
                yield from self._replace(action)
            case Abandon(block):
                yield from self._call(
                    lambda namenode: namenode.abandon_block(
                        self.file.path, self.client.name, block, self.file.file_id
                    )
                )
                self.pipeline.abandoned()

    def _send(self, packet: Packet) -> None:
        try:
            if self._end is None:
                raise errors.Unreachable("the connection is gone")
            self._end.send(packet)
        except (errors.HowdahError, OSError) as error:
            # The ack reader may know better which node it was: it will say so.
            if self._reader is None or self._reader.done:
                self.pipeline.broken(f"failed: {error}")

    def _ask_for_block(
        self, previous: ExtendedBlock | None, excluded: tuple[DatanodeAddress, ...]
    ) -> Steps[LocatedBlock]:
        for delay_s in (*NEXT_BLOCK_DELAYS_S, None):
            try:
                return (
                    yield from self._call(
                        lambda namenode: namenode.add_block(
                            self.file.path,
                            self.client.name,
                            previous,
                            excluded,
                            self.file.file_id,
                            CreateFlag.NONE,
                        )
                    )
                )
            except errors.NotReplicatedYet:
                if delay_s is None:
                    raise
                yield from self._world.sleep(delay_s)
        raise AssertionError("the last attempt returns or raises")

    def _open(self, connect: Connect) -> Steps[None]:
        yield from self._end_reader()
        block = opened = connect.block
        if connect.renews:
            fresh = yield from self._call(
                lambda namenode: namenode.update_block_for_pipeline(block.block, self.client.name)
            )
            new = block.block.with_generation_stamp(fresh.block.generation_stamp)
            opened = block.with_block(new, token=fresh.token)
        try:
            end = yield from self._connect(opened, block.block, connect.stage, connect.sent_bytes)
        except SetupFailed as failure:
            self._world.note(
                self.client.name, f"no pipeline for {block.block.name}: {failure.node} {failure}"
            )
            abandon = self.pipeline.setup_failed(
                failure.node, failure.reason, self._world.now_s, restarts=failure.restarts
            )
            if abandon is not None:
                yield from self._perform(abandon)
            return
        if connect.renews:
            try:
                yield from self._call(
                    lambda namenode: namenode.update_pipeline(
                        self.client.name, block.block, opened.block, opened
                    )
                )
            except (errors.HowdahError, OSError):
                end.shutdown()
                raise
        if self.pipeline.connected(opened, self._world.now_s):
            self._end = end
            self._reader = self._world.spawn(
                self.client.process, "ack reader", self._read_acks(end)
            )
            if self._stopping:
                end.shutdown()
        else:
            end.shutdown()

    def _connect(
        self, block: LocatedBlock, known: ExtendedBlock, stage: Stage, sent_bytes: int
    ) -> Steps[End]:
        """`PipelineSetup.open`."""
        if not block.nodes:
            raise errors.PipelineFailed(f"the namenode gave {block.block.name} no datanodes")
        first, *rest = block.nodes
        request = WriteBlock(
            block=known.with_length(self.file.block_size),
            client_name=self.client.name,
            stage=stage,
            checksum=SPEC,
            targets=tuple(rest),
            pipeline_size=len(block.nodes),
            min_bytes_received=block.length_bytes,
            max_bytes_received=sent_bytes,
            latest_generation_stamp=block.block.generation_stamp,
            target_storage_types=(StorageType.DISK,) * len(rest),
        )
        yield PAUSE
        end, response = yield from self._request(
            first, request, SOCKET_TIMEOUT_S + TIMEOUT_PER_NODE_S * len(block.nodes), first
        )
        if response.is_success:
            return end
        end.shutdown()
        bad = first
        for node in block.nodes:
            if node.transfer_address == response.first_bad_link:
                bad = node
        raise SetupFailed(bad, response.message, restarts=response.status is Status.OOB_RESTART)

    def _request(
        self, node: DatanodeAddress, request: object, timeout_s: float, blamed: DatanodeAddress
    ) -> Steps[tuple[End, BlockOpResponse]]:
        try:
            end = self.client.datanodes[node.transfer_address].accept(self.client.process)
        except errors.Unreachable as error:
            raise SetupFailed(node, str(error)) from error
        try:
            end.send(request)
            response: BlockOpResponse = yield from end.receive(timeout_s)
        except (errors.HowdahError, OSError) as error:
            end.shutdown()
            raise SetupFailed(blamed, str(error)) from error
        return end, response

    def _end_reader(self) -> Steps[None]:
        reader = self._reader
        if self._end is not None:
            self._end.shutdown()
        if reader is not None:
            yield Wait(lambda: reader.done)

    def _replace(self, replace: Replace) -> Steps[None]:
        yield from self._end_reader()
        block = replace.block
        try:
            answer = yield from self._call(
                lambda namenode: namenode.get_additional_datanode(
                    self.file.path, self.client.name, block, replace.failed, self.file.file_id
                )
            )
        except errors.RemoteError as error:
            self.pipeline.not_replaced(f"the namenode says: {error}")
            return
        known = set(block.nodes) | set(replace.failed)
        target = next((node for node in answer.nodes if node not in known), None)
        if target is None:
            self.pipeline.not_replaced("the namenode knows no other datanode")
            return
        added = answer.at(target)
        request = TransferBlock(
            block=block.block,
            client_name=self.client.name,
            targets=added.nodes,
            target_storage_types=added.storage_types,
            target_storage_ids=added.storage_ids,
            token=added.token,
        )
        try:
            end, response = yield from self._request(
                replace.source, request, 2 * SOCKET_TIMEOUT_S, target
            )
            end.shutdown()
            if not response.is_success:
                raise SetupFailed(target, response.message)
        except SetupFailed as failure:
            self.pipeline.not_replaced(failure.reason, failure.node)
            return
        self.pipeline.replaced(block.joined_by(added))

    # --- the ack reader ---

    def _read_acks(self, end: End) -> Steps[None]:
        done = False
        try:
            while not done:
                ack = yield from end.receive(SOCKET_TIMEOUT_S)
                ended = self.pipeline.acked(ack)
                self.promised.acked_bytes = self.pipeline.counts.bytes_acknowledged
                done = ended or not self.pipeline.is_streaming
        except (errors.HowdahError, OSError) as error:
            if not self._stopping:
                self.pipeline.broken(f"failed: {error}")
        if self._end is end:
            self._end = None
        end.shutdown()
