"""WRITE_BLOCK at a simulated datanode: packets in, to the mirror, to the disk, acks back.

The steps of `howdah.datanode.transfer`, of `receiver` and `responder`, in their order: a
packet goes to the mirror before it is verified and written; it is acknowledged when it is
written here and acknowledged from behind; the last one when the replica is final. A mirror
that fails is told as [SUCCESS, ERROR], and packets are taken on until the client hangs up.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol

from howdah import errors
from howdah.datanode.state.messages import CorruptFound
from howdah.protocol.data_transfer.blocks import DatanodeAddress
from howdah.protocol.data_transfer.op_requests import Stage, WriteBlock
from howdah.protocol.data_transfer.packets import UNKNOWN_SEQNO, PacketHeader, PipelineAck
from howdah.protocol.data_transfer.responses import PIPELINE_READY, BlockOpResponse
from howdah.protocol.data_transfer.status import Status
from howdah.testing.simulator.datanodes import rewriting
from howdah.testing.simulator.datanodes.store import Packet, Store, Writer
from howdah.testing.simulator.network import End
from howdah.testing.simulator.tasks import PAUSE, Process, Steps, Wait, World

SOCKET_TIMEOUT_S = 60.0
TIMEOUT_EXTENSION_S = 5.0
_SUCCESS = (Status.SUCCESS,)
_MIRROR_FAILED = (Status.SUCCESS, Status.ERROR)


class Here(Protocol):
    """What a receiver knows of its datanode."""

    world: World
    process: Process
    store: Store

    def connect(self, node: DatanodeAddress) -> End: ...


class Mirror:
    """The way to the next datanode."""

    def __init__(self, end: End, name: str, timeout_s: float) -> None:
        self.end = end
        self.name = name
        self.timeout_s = timeout_s
        self.failed = False


class MirrorFailed(errors.PipelineFailed):
    def __init__(self, message: str, first_bad_link: str, status: Status = Status.ERROR) -> None:
        super().__init__(message)
        self.first_bad_link = first_bad_link
        self.status = status


class Receiver:
    """One WRITE_BLOCK on one connection."""

    def __init__(self, here: Here, end: End, request: WriteBlock) -> None:
        self._here = here
        self._store = here.store
        self._end = end
        self.request = request
        self._is_copy = request.is_datanode or request.stage.is_transfer
        self._mirror: Mirror | None = None
        self._to_mirror: End | None = None
        self._stopped = False
        self._finalize_failure: Exception | None = None
        self.writer: Writer | None = None
        self._acks: Acks | None = None

    def stop(self, why: str) -> None:
        self._stopped = True
        self._end.shutdown()
        if self._to_mirror is not None:
            self._to_mirror.shutdown()

    def announce_restart(self, until_ms: int) -> None:
        if self._is_copy or self._acks is None or self.writer is None:
            return
        self._store.expect_back(self.writer.replica, until_ms)
        self._acks.send_replies((Status.OOB_RESTART,))

    def run(self) -> Steps[None]:
        if self.request.stage is Stage.PIPELINE_CLOSE_RECOVERY:
            yield from self._close_again()
            return
        try:
            writer = self.writer = yield from self._open_replica()
        except (errors.HowdahError, OSError) as error:
            self._refuse(Status.ERROR, str(error))
            raise
        try:
            yield from self._open_mirror()
        except (errors.HowdahError, OSError):
            if self.request.stage is Stage.PIPELINE_SETUP_CREATE:
                self._store.discard(writer)
            else:
                self._store.abandon(writer)
            raise
        acks = self._acks = self._make_acks(writer)
        try:
            if not self._is_copy:
                self._end.send(PIPELINE_READY)
            yield from self._receive(writer, acks)
            yield from acks.finish()
            if self._finalize_failure is not None:
                raise self._finalize_failure
            if self.request.stage.is_transfer:
                self._end.send((yield from self._all_have_it()))
        except (errors.HowdahError, OSError):
            yield from acks.abort()
            self._store.abandon(writer)
            self._close_mirror()
            raise
        self._close_mirror()

    def _close_mirror(self) -> None:
        if self._mirror is not None:
            self._mirror.end.shutdown()

    # --- setting up ---

    def _open_replica(self) -> Steps[Writer]:
        request, store = self.request, self._store
        if self._is_copy:
            return (yield from store.create(request.block, request.checksum, self, temporary=True))
        match request.stage:
            case Stage.PIPELINE_SETUP_CREATE:
                return (yield from store.create(request.block, request.checksum, self))
            case Stage.PIPELINE_SETUP_APPEND:
                return (yield from rewriting.append(store, request, self))
            case Stage.PIPELINE_SETUP_APPEND_RECOVERY:
                return (yield from rewriting.recover_append(store, request, self))
        assert request.stage is Stage.PIPELINE_SETUP_STREAMING_RECOVERY
        return (yield from rewriting.recover_streaming(store, request, self))

    def _close_again(self) -> Steps[None]:
        try:
            yield from rewriting.recover_close(self._store, self.request, self)
        except (errors.HowdahError, OSError) as error:
            self._refuse(Status.ERROR, str(error))
            raise
        yield from self._open_mirror()
        self._close_mirror()
        self._end.send(PIPELINE_READY)

    def _refuse(self, status: Status, message: str, first_bad_link: str = "") -> None:
        if not self.request.is_datanode:
            self._end.send(BlockOpResponse(status, message, first_bad_link))

    def _open_mirror(self) -> Steps[None]:
        if not self.request.targets:
            return
        try:
            self._mirror = yield from self._reach_mirror()
        except MirrorFailed as error:
            if self.request.is_datanode:
                return
            self._refuse(error.status, error.message, error.first_bad_link)
            raise

    def _reach_mirror(self) -> Steps[Mirror]:
        request = self.request
        node = request.targets[0]
        address = node.transfer_address
        timeout_s = SOCKET_TIMEOUT_S + TIMEOUT_EXTENSION_S * len(request.targets)
        yield PAUSE
        try:
            end = self._here.connect(node)
        except errors.Unreachable as error:
            raise MirrorFailed(error.message, address) from error
        self._to_mirror = end
        if self._stopped:
            end.shutdown()
        try:
            end.send(request.for_mirror())
            if self._is_copy:
                return Mirror(end, address, timeout_s)
            response: BlockOpResponse = yield from end.receive(timeout_s)
        except (errors.HowdahError, OSError) as error:
            end.shutdown()
            raise MirrorFailed(f"{node} did not answer: {error}", address) from error
        if not response.is_success:
            end.shutdown()
            raise MirrorFailed(
                response.message, response.first_bad_link or address, response.status
            )
        return Mirror(end, address, timeout_s)

    def _all_have_it(self) -> Steps[BlockOpResponse]:
        mirror = self._mirror
        if mirror is None:
            return BlockOpResponse(Status.SUCCESS)
        try:
            outcome: BlockOpResponse = yield from mirror.end.receive(mirror.timeout_s)
        except (errors.HowdahError, OSError) as error:
            return BlockOpResponse(Status.ERROR, str(error), mirror.name)
        return outcome

    def _make_acks(self, writer: Writer) -> Acks:
        if self._is_copy:
            return Acks(self._end, writer, self._finalize, silent=True)
        if self._mirror is None:
            return Acks(self._end, writer, self._finalize)
        return MirrorAcks(self._here, self._end, writer, self._finalize, self._mirror)

    # --- packets ---

    def _receive(self, writer: Writer, acks: Acks) -> Steps[None]:
        last = False
        while not last:
            packet: Packet = yield from self._end.receive(SOCKET_TIMEOUT_S)
            last = packet.header.last_in_block
            yield from self._process_packet(packet, writer, acks)

    def _process_packet(self, packet: Packet, writer: Writer, acks: Acks) -> Steps[None]:
        mirror = self._mirror
        if mirror is not None and not mirror.failed:
            try:
                mirror.end.send(packet)
            except (errors.HowdahError, OSError):
                mirror.failed = True
                mirror.end.shutdown()
        yield PAUSE
        if (mirror is None or self._is_copy) and writer.is_damaged(packet):
            request, reason = self.request, f"packet {packet.header.seqno} is damaged"
            if request.is_datanode and request.source is not None:
                self._store.tell(CorruptFound(request.block, "", request.source, reason))
            yield from acks.written(packet.header, Status.ERROR_CHECKSUM)
            yield from acks.finish()
            raise errors.ChecksumMismatch(reason)
        sync = packet.header.sync_block
        try:
            yield from writer.write(packet)
            if sync:
                writer.replica.synced = True
                if not packet.header.last_in_block:
                    yield from writer.sync()
        except errors.HowdahError:
            raise
        except OSError:
            yield from acks.written(packet.header, Status.ERROR)
            yield from acks.finish()
            raise
        yield from acks.written(packet.header)

    def _finalize(self) -> Steps[Status]:
        writer = self.writer
        assert writer is not None, "it was opened before anything was received"
        try:
            if self.request.stage is Stage.TRANSFER_RBW:
                yield from self._store.join_pipeline(writer, self.request.block.length_bytes)
            else:
                announced = self.request.block.length_bytes
                if self._is_copy and writer.replica.length_bytes < announced:
                    raise errors.ProtocolViolation(f"the copy lacks bytes up to {announced}")
                yield from self._store.finalize(writer, durable=writer.replica.synced)
        except (errors.HowdahError, OSError) as error:
            self._finalize_failure = error
            return Status.ERROR
        return Status.SUCCESS


Finalize = Callable[[], Steps[Status]]


class Acks:
    """At the end of a pipeline: acknowledges at once. `silent`: a copy, which has no acks."""

    def __init__(
        self, end: End, writer: Writer, finalize: Finalize, *, silent: bool = False
    ) -> None:
        self._end = end
        self._replica = writer.replica
        self._finalize = finalize
        self._silent = silent

    def send_replies(self, replies: tuple[Status, ...]) -> None:
        self._end.send(PipelineAck(UNKNOWN_SEQNO, replies))

    def written(self, header: PacketHeader, status: Status = Status.SUCCESS) -> Steps[None]:
        if self._silent:
            if header.last_in_block and status is Status.SUCCESS:
                yield from self._finalize()
            return
        if status is Status.SUCCESS:
            self._replica.acknowledge(self._replica.length_bytes)
            if header.last_in_block:
                status = yield from self._finalize()
        self._end.send(PipelineAck(header.seqno, (status,)))

    def finish(self) -> Steps[None]:
        return
        yield PAUSE

    def abort(self) -> Steps[None]:
        return
        yield PAUSE


class MirrorAcks(Acks):
    """Between client and mirror: a task joins the acks from behind with its own."""

    def __init__(
        self, here: Here, end: End, writer: Writer, finalize: Finalize, mirror: Mirror
    ) -> None:
        super().__init__(end, writer, finalize)
        self._mirror = mirror
        self._world = here.world
        self._queue: deque[tuple[PacketHeader, Status] | None] = deque()
        self._failure: Exception | None = None
        self._heard_all = False
        self._task = here.world.spawn(
            here.process, f"acks of {self._replica.block_id}", self._run()
        )

    def written(self, header: PacketHeader, status: Status = Status.SUCCESS) -> Steps[None]:
        self._queue.append((header, status))
        return
        yield PAUSE

    def finish(self) -> Steps[None]:
        self._queue.append(None)
        yield Wait(lambda: self._task.done)
        if self._failure is not None:
            raise self._failure

    def abort(self) -> Steps[None]:
        self._queue.append(None)
        self._mirror.end.shutdown()
        self._end.shutdown()
        yield Wait(lambda: self._task.done)

    def _run(self) -> Steps[None]:
        try:
            while True:
                yield Wait(lambda: bool(self._queue))
                item = self._queue.popleft()
                if item is None:
                    return
                yield from self._ack(*item)
        except (errors.HowdahError, OSError) as error:
            self._failure = error
            self._end.shutdown()

    def _ack(self, header: PacketHeader, status: Status) -> Steps[None]:
        replies = yield from self._replies_to(header, status)
        if status is Status.SUCCESS:
            if replies.count(Status.SUCCESS) == len(replies):
                self._replica.acknowledge(header.offset_in_block + header.data_length_bytes)
            if header.last_in_block:
                replies = ((yield from self._finalize()), *replies[1:])
        self._end.send(PipelineAck(header.seqno, replies))

    def _replies_to(self, header: PacketHeader, status: Status) -> Steps[tuple[Status, ...]]:
        if status is not Status.SUCCESS:
            return (status,)
        if self._mirror.failed:
            yield from self._hear_last_words()
            return _MIRROR_FAILED
        try:
            ack = yield from self._read_ack()
            if ack.seqno != header.seqno:
                raise errors.ProtocolViolation(f"an ack for {ack.seqno}, not {header.seqno}")
        except (errors.HowdahError, OSError):
            self._mirror.failed = True
            return _MIRROR_FAILED
        if ack.replies[0] is Status.ERROR_CHECKSUM:
            raise errors.ChecksumMismatch(f"packet {header.seqno} came damaged")
        return (*_SUCCESS, *ack.replies)

    def _read_ack(self) -> Steps[PipelineAck]:
        while True:
            ack: PipelineAck = yield from self._mirror.end.receive(self._mirror.timeout_s)
            if ack.out_of_band is None:
                return ack
            self.send_replies((*_SUCCESS, *ack.replies))

    def _hear_last_words(self) -> Steps[None]:
        if self._heard_all:
            return
        self._heard_all = True
        try:
            while True:
                yield from self._read_ack()
        except (errors.HowdahError, OSError):
            return
