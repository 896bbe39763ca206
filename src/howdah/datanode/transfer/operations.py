"""One data connection: reads operations and serves them, one after the other.

DataXceiver in Hadoop.

Ends when the far end closes, stays silent for too long, or breaks the protocol,
and after whatever leaves the stream in a state that nobody can go on from. An
operation that fails before anything of its answer was sent is answered with an
error, and the connection lives on.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from howdah import errors
from howdah.datanode.latency.activity import Count, Work
from howdah.datanode.replicas.open_replica import OpenReplica
from howdah.datanode.replicas.store import BlockStore
from howdah.datanode.settings import DataSettings
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.transfer.balancing import Balancing
from howdah.datanode.transfer.block_checksum import checksum_of_block
from howdah.datanode.transfer.copies import copy_for_pipeline
from howdah.datanode.transfer.group_checksum import checksum_of_group
from howdah.datanode.transfer.moves import BlockPinned, Moves
from howdah.datanode.transfer.receiver import BlockReceiver
from howdah.datanode.transfer.sender import BlockSender, send_mapped
from howdah.datanode.transfer.short_circuit import (
    give_descriptors,
    release_slot,
    serve_segment,
)
from howdah.protocol.data_transfer.blocks import ExtendedBlock
from howdah.protocol.data_transfer.op_request_decoder import decode_op_header, decode_request
from howdah.protocol.data_transfer.op_requests import (
    OP_HEADER_BYTES,
    BlockChecksum,
    BlockGroupChecksum,
    CopyBlock,
    Op,
    OtherRequest,
    ReadBlock,
    ReplaceBlock,
    Request,
    TransferBlock,
    WriteBlock,
)
from howdah.protocol.data_transfer.responses import (
    BlockOpResponse,
    decode_read_status,
    encode_read_answer,
)
from howdah.protocol.data_transfer.short_circuit import (
    ReleaseSlot,
    RequestDescriptors,
    RequestSegment,
)
from howdah.protocol.data_transfer.status import Status
from howdah.protocol.striping.layout import is_striped
from howdah.protocol.varint import read_delimited
from howdah.runtime.sockets import Connection, PeerClosed, PeerSilent
from howdah.runtime.tracing import spans
from howdah.runtime.tracing.span import NOTHING, Span

# Operations in a trace: their spans at a datanode.
#
# The span of an operation is below that of whoever asked: the client's, or the one of the datanode
# in front in the pipeline. What is sent on, to the next datanode or to the proxy of a move, bears
# the context of this node's span; where traces are off here, that of the sender, so that a node
# without traces is only missing from a trace and does not end it.

Traced = (
    ReadBlock
    | WriteBlock
    | BlockChecksum
    | BlockGroupChecksum
    | TransferBlock
    | CopyBlock
    | ReplaceBlock
)
_NAMES: Final[dict[type[Traced], str]] = {
    ReadBlock: Op.READ_BLOCK.name,
    WriteBlock: Op.WRITE_BLOCK.name,
    BlockChecksum: Op.BLOCK_CHECKSUM.name,
    BlockGroupChecksum: Op.BLOCK_GROUP_CHECKSUM.name,
    TransferBlock: Op.TRANSFER_BLOCK.name,
    CopyBlock: Op.COPY_BLOCK.name,
    ReplaceBlock: Op.REPLACE_BLOCK.name,
}


def served(request: Request, here: str, peer: str) -> tuple[Request, Span]:
    """The span of what `peer` asked for at `here`, and the request as it is served below it."""
    if spans.tracer is None or not isinstance(request, Traced) or not request.trace:
        return request, NOTHING
    attributes: dict[str, str | int | float | bool] = {
        "howdah.block": request.block.name,
        "howdah.block_pool": request.block.pool_id,
        "howdah.datanode": here,
        "client.address": peer,
    }
    if isinstance(request, ReadBlock):
        attributes["howdah.offset"] = request.offset
        attributes["howdah.bytes"] = request.length_bytes
    elif isinstance(request, WriteBlock):
        attributes["howdah.stage"] = request.stage.name
        attributes["howdah.targets"] = ",".join(
            target.transfer_address for target in request.targets
        )
    span = spans.serve(_NAMES[type(request)], attributes, request.trace)
    context = span.wire()
    return (replace(request, trace=context) if context else request), span


log = logging.getLogger(__name__)

GROWTH_WAIT_S = 3.0
"""How long a read waits for bytes that another node has already acknowledged."""
_GROWTH_POLL_S = 0.002
_WORK: Final = {
    ReadBlock: Work.ReadBlockOp,
    WriteBlock: Work.WriteBlockOp,
    BlockChecksum: Work.BlockChecksumOp,
    CopyBlock: Work.CopyBlockOp,
    ReplaceBlock: Work.ReplaceBlockOp,
}
"""What is measured of each operation, from its request to its end."""


class Operations:
    """Serves one connection."""

    def __init__(
        self,
        connection: Connection,
        store: BlockStore,
        settings: DataSettings,
        balancing: Balancing,
    ) -> None:
        self._moves = Moves(connection, store, settings, balancing)
        self._connection = connection
        self._store = store
        self._settings = settings
        self._span = NOTHING
        self._refusal: Exception | None = None

    def serve(self) -> None:
        """Until the connection is over; never raises for what the far end did."""
        connection = self._connection
        served = 0
        request: Request | None = None
        try:
            while (request := self._next_request(served)) is not None:
                if not self._is_allowed(request) or not self._serve(request):
                    return
                served += 1
                request = None
                if self._settings.keepalive_s <= 0:
                    return
        except (PeerClosed, PeerSilent) as error:
            # A writer that is lost leaves a replica to recover; a reader just leaves.
            level = logging.WARNING if isinstance(request, WriteBlock) else logging.INFO
            log.log(level, "%s%s: %s", connection.peer, _during(request), error)
            if request is not None:
                self._store.activity.count(Count.DatanodeNetworkErrors)
        except errors.HowdahError as error:
            log.warning("%s%s: %s", connection.peer, _during(request), error)
        except OSError as error:
            log.error("%s%s: %s", connection.peer, _during(request), error)

    def _next_request(self, served: int) -> Request | None:
        """None when the far end has nothing more to ask."""
        connection, settings = self._connection, self._settings
        connection.set_read_timeout(settings.keepalive_s if served else settings.socket_timeout_s)
        try:
            connection.look_ahead()
        except (PeerClosed, PeerSilent):
            if served:
                return None
            raise
        connection.set_read_timeout(settings.socket_timeout_s)
        op = decode_op_header(connection.recv_exactly(OP_HEADER_BYTES))
        return decode_request(op, read_delimited(connection))

    def _is_allowed(self, request: Request) -> bool:
        """Whether who asks has a token for that; else he is told, and the connection ends, since
        what may follow the request is unknown."""
        guard = self._settings.guard
        if guard is None:
            return True
        try:
            guard.check_request(request)
        except errors.InvalidToken as error:
            log.warning("%s%s: %s", self._connection.peer, _during(request), error)
            # Between datanodes nobody waits for an answer to a write.
            if not (isinstance(request, WriteBlock) and request.is_datanode):
                here = self._connection.local if isinstance(request, WriteBlock) else ""
                answer = BlockOpResponse(Status.ERROR_ACCESS_TOKEN, str(error), here)
                self._connection.send_all(answer.encode())
            return False
        return True

    def _serve(self, request: Request) -> bool:
        """True if the connection can carry another operation."""
        if spans.tracer is None:
            return self._measured(request)
        connection = self._connection
        request, self._span = served(request, connection.local, connection.peer)
        self._refusal = None
        try:
            goes_on = self._measured(request)
        except BaseException as error:
            self._span.end(error)
            raise
        self._span.end(self._refusal)
        return goes_on

    def _measured(self, request: Request) -> bool:
        work = _WORK.get(type(request))
        if work is None:
            return self._work(request)
        began_ns = time.perf_counter_ns()
        try:
            return self._work(request)
        finally:
            self._store.activity.took(work, time.perf_counter_ns() - began_ns)

    def _work(self, request: Request) -> bool:
        match request:
            case ReadBlock():
                return self._read(request)
            case WriteBlock():
                receiver = BlockReceiver(
                    self._connection, request, self._store, self._settings, span=self._span
                )
                receiver.run()
                activity, is_local = self._store.activity, self._connection.is_same_machine
                activity.count(Count.BlocksWritten)
                activity.received(receiver.received_bytes, is_local=is_local)
                return True
            case BlockChecksum():
                return self._answer("opBlockChecksum", lambda: self._checksum(request))
            case BlockGroupChecksum():
                return self._answer("opBlockGroupChecksum", lambda: self._group_checksum(request))
            case TransferBlock():
                return self._answer("opTransferBlock", lambda: self._transfer(request))
            case CopyBlock():
                return self._copy(request)
            case ReplaceBlock():
                return self._answer("opReplaceBlock", lambda: self._replace(request))
            case RequestDescriptors():
                give_descriptors(self._connection, self._store, request)
                return True
            case ReleaseSlot():
                release_slot(self._connection, self._store, request)
                return True
            case RequestSegment():
                return serve_segment(self._connection, self._store, request)
            case OtherRequest():
                name = request.op.name
        self._connection.send_all(
            BlockOpResponse(
                Status.ERROR_UNSUPPORTED, f"{name} is not supported by this datanode"
            ).encode()
        )
        log.info("%s asked for %s, which is not supported", self._connection.peer, name)
        # What may follow such a request is unknown.
        return False

    # --- reading ---

    def _read(self, request: ReadBlock) -> bool:
        if self._send_mapped(request):
            return self._verdict(request)
        settings = self._settings
        named = f"opReadBlock {request.block}"
        if is_striped(request.block.block_id):
            # Clients that know none of it take a group for a block with its first one's id.
            named += " (an internal block of an erasure coded group, each with an id of its own)"
        try:
            opened = self._open(request)
        except (errors.HowdahError, OSError) as error:
            return self._refuse(named, error)
        self._store.in_memory.was_read(request.block.pool_id, opened.replica)
        with opened:
            try:
                sender = BlockSender(
                    opened,
                    request.offset,
                    request.length_bytes,
                    send_checksums=request.send_checksums,
                    sendfile=settings.sendfile,
                    cache=settings.cache,
                    hints=request.hints,
                )
            except errors.IllegalArgument as error:
                return self._refuse(named, error)
            answer = encode_read_answer(sender.checksum, sender.start)
            try:
                self._send(sender, request, opened, answer)
                return self._verdict(request)
            finally:
                sender.finish()

    def _send(
        self, sender: BlockSender, request: ReadBlock, opened: OpenReplica, answer: bytes
    ) -> None:
        began_ns = time.perf_counter_ns()
        with self._store.trouble.reading(request.block.pool_id, opened):
            sent_bytes = sender.send(self._connection, answer)
        self._note_sent(sent_bytes, sender.packets, began_ns)

    def _note_sent(self, sent_bytes: int, packets: int, began_ns: int) -> None:
        took_ns = time.perf_counter_ns() - began_ns
        is_local = self._connection.is_same_machine
        self._store.activity.sent(sent_bytes, packets, took_ns, is_local=is_local)

    def _send_mapped(self, request: ReadBlock) -> bool:
        """Whether it was sent from memory."""
        block = request.block
        cached = self._store.in_memory.mapped
        mapped = cached.get((block.pool_id, block.block_id))
        if mapped is None:
            return False
        began_ns = time.perf_counter_ns()
        try:
            sent_bytes = send_mapped(self._connection, mapped, request)
        except errors.BlockMissing:
            # From here on readers get, and report, what the files have.
            cached.pop((block.pool_id, block.block_id), None)
            self._suspect(block)
            raise
        if sent_bytes is None:
            return False
        self._note_sent(sent_bytes, 2, began_ns)
        return True

    def _suspect(self, block: ExtendedBlock) -> None:
        replica = self._store.find_id(block.pool_id, block.block_id)
        if replica is not None:
            self._store.suspect(block.pool_id, replica)

    def _verdict(self, request: ReadBlock) -> bool:
        """The reader's; it, and the next operation, may be here already."""
        connection, settings = self._connection, self._settings
        try:
            if settings.keepalive_s > 0:
                # Most come at once: the kernel need not hear of another time-out and, for the
                # next operation, of this one again.
                connection.set_read_timeout(settings.keepalive_s)
                with contextlib.suppress(PeerSilent):
                    connection.look_ahead()
            connection.set_read_timeout(settings.socket_timeout_s)
            status = decode_read_status(read_delimited(connection))
        except PeerClosed:
            # Readers that have what they want just hang up.
            return False
        if status not in (Status.SUCCESS, Status.CHECKSUM_OK):
            log.warning("%s read %s and says %s", connection.peer, request.block, status.name)
            self._suspect(request.block)
        return True

    def _open(self, request: ReadBlock) -> OpenReplica:
        """The replica, with as many bytes as are asked for if it is being written."""
        wanted = request.offset + request.length_bytes
        deadline_s = time.monotonic() + GROWTH_WAIT_S
        while True:
            opened = self._store.open(request.block)
            growing = opened.replica.state is ReplicaState.RBW
            if opened.length_bytes >= wanted or not growing or time.monotonic() > deadline_s:
                return opened
            # Its length was acknowledged by a node behind this one, which passes
            # packets on before it writes them: the bytes are on their way.
            opened.close()
            time.sleep(_GROWTH_POLL_S)

    # --- the rest ---

    def _checksum(self, request: BlockChecksum) -> BlockOpResponse:
        with (
            self._store.open(request.block) as opened,
            self._store.trouble.reading(request.block.pool_id, opened),
        ):
            return BlockOpResponse(
                Status.SUCCESS, block_checksum=checksum_of_block(opened, request)
            )

    def _group_checksum(self, request: BlockGroupChecksum) -> BlockOpResponse:
        checksum = checksum_of_group(request, self._store, self._settings)
        return BlockOpResponse(Status.SUCCESS, block_checksum=checksum)

    def _transfer(self, request: TransferBlock) -> BlockOpResponse:
        sent = copy_for_pipeline(request, self._store, self._settings)
        names = ", ".join(target.transfer_address for target in request.targets)
        log.info("sent %s (%d bytes) to %s", request.block, sent, names)
        return BlockOpResponse(Status.SUCCESS)

    def _copy(self, request: CopyBlock) -> bool:
        try:
            self._moves.copy(request)
        except (errors.HowdahError, OSError) as error:
            if self._moves.is_sending:
                raise
            return self._refuse(f"opCopyBlock {request.block}", error)
        return True

    def _replace(self, request: ReplaceBlock) -> BlockOpResponse:
        self._moves.replace(request)
        return BlockOpResponse(Status.SUCCESS)

    def _answer(self, operation: str, compute: Callable[[], BlockOpResponse]) -> bool:
        try:
            response = compute()
        except (errors.HowdahError, OSError) as error:
            return self._refuse(operation, error)
        self._connection.send_all(response.encode())
        return True

    def _refuse(self, operation: str, error: Exception) -> bool:
        """Tell the far end, which may go on with something else."""
        log.info("%s from %s: %s", operation, self._connection.peer, error)
        self._refusal = error
        status = Status.ERROR
        if isinstance(error, errors.UnsupportedOperation):
            status = Status.ERROR_UNSUPPORTED
        elif isinstance(error, BlockPinned):
            status = Status.ERROR_BLOCK_PINNED
        self._connection.send_all(BlockOpResponse(status, f"{operation}: {error}").encode())
        return True


def _during(request: Request | None) -> str:
    if request is None:
        return ""
    if isinstance(request, OtherRequest):
        return f" during {request.op.name}"
    if isinstance(request, ReleaseSlot | RequestSegment):
        return f" during {type(request).__name__}"
    block: ExtendedBlock = request.block
    return f" during {type(request).__name__} of {block}"
