"""The operations of short-circuit reads, on one connection over a Unix domain socket.

REQUEST_SHORT_CIRCUIT_FDS:

1. the slot, if the reader names one, is registered (before the replica is looked up,
   so that no change of it goes unnoticed);
2. the replica's files are opened; it must be finalized;
3. the answer goes out, then one byte with both descriptors, block file first;
4. a reader that said so confirms them with a byte; else the slot is freed again.

REQUEST_SHORT_CIRCUIT_SHM makes a segment, whose life is the connection's: its thread
waits here for the reader's end, and nothing else is served on it.
RELEASE_SHORT_CIRCUIT_FDS frees a slot.

Trap: a reader that gets a plain ERROR stops using the socket for ten minutes. A block
that can't be passed while the socket is fine is told as ERROR_UNSUPPORTED together
with the version of block files: then only this block is read in the ordinary way.
"""

from __future__ import annotations

import contextlib
import logging

from howdah import errors
from howdah.datanode.replicas.open_replica import OpenReplica
from howdah.datanode.replicas.store import BlockStore
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.protocol.data_transfer.responses import BlockOpResponse, SegmentGiven, SlotReleased
from howdah.protocol.data_transfer.short_circuit import (
    BLOCK_FORMAT_VERSION,
    RECEIPT_NOT_WANTED,
    RECEIPT_WANTED,
    ReleaseSlot,
    RequestDescriptors,
    RequestSegment,
    SlotId,
)
from howdah.protocol.data_transfer.status import Status
from howdah.runtime.sockets import Connection, PeerClosed, PeerSilent

log = logging.getLogger(__name__)


class _NotPassed(errors.HowdahError, OSError):
    """This block's files aren't given away now; another's may be."""


def give_descriptors(
    connection: Connection, store: BlockStore, request: RequestDescriptors
) -> None:
    """Answer REQUEST_SHORT_CIRCUIT_FDS."""
    try:
        if not connection.is_local:
            raise errors.IllegalArgument(
                "You cannot pass file descriptors over anything but a UNIX domain socket."
            )
        if request.slot is not None:
            store.short_circuit.register(request.block, request.slot)
        try:
            opened = _open(store, request)
        except BaseException:
            # Before the answer: the reader may use the slot for another block then.
            _forget(store, request.slot)
            raise
    except (errors.HowdahError, OSError) as error:
        log.info("%s asked for the files of %s: %s", connection.peer, request.block, error)
        connection.send_all(_refusal(error).encode())
        return
    store.in_memory.was_read(request.block.pool_id, opened.replica)
    try:
        with opened:
            connection.send_all(
                BlockOpResponse(Status.SUCCESS, short_circuit_version=BLOCK_FORMAT_VERSION).encode()
            )
            mark = RECEIPT_WANTED if request.gives_receipt else RECEIPT_NOT_WANTED
            connection.send_with_descriptors(bytes((mark,)), (opened.block_fd, opened.meta_fd))
        if request.gives_receipt:
            connection.recv_exactly(1)
    except BaseException:
        _forget(store, request.slot)
        raise


def _forget(store: BlockStore, slot: SlotId | None) -> None:
    if slot is not None:
        # A reader that is gone may have ended its segment before.
        with contextlib.suppress(errors.IllegalArgument):
            store.short_circuit.release(slot)


def _open(store: BlockStore, request: RequestDescriptors) -> OpenReplica:
    if request.max_version < BLOCK_FORMAT_VERSION:
        raise _NotPassed(
            "Your client is too old to read this block! Its format version is "
            f"{BLOCK_FORMAT_VERSION}, but the highest format version you can read is "
            f"{request.max_version}"
        )
    opened = store.open(request.block)
    if opened.replica.state is not ReplicaState.FINALIZED:
        opened.close()
        raise _NotPassed(f"{opened.replica!r} is being written")
    return opened


def _refusal(error: Exception) -> BlockOpResponse:
    if isinstance(error, _NotPassed):
        return BlockOpResponse(
            Status.ERROR_UNSUPPORTED, str(error), short_circuit_version=BLOCK_FORMAT_VERSION
        )
    return BlockOpResponse(Status.ERROR, str(error))


def release_slot(connection: Connection, store: BlockStore, request: ReleaseSlot) -> None:
    """Answer RELEASE_SHORT_CIRCUIT_FDS."""
    try:
        store.short_circuit.release(request.slot)
        answer = SlotReleased(Status.SUCCESS)
    except errors.IllegalArgument as error:
        answer = SlotReleased(Status.ERROR_INVALID, str(error))
    connection.send_all(answer.encode())


def serve_segment(connection: Connection, store: BlockStore, request: RequestSegment) -> bool:
    """Answer REQUEST_SHORT_CIRCUIT_SHM and wait for the segment's end.

    True if there was none to give and the connection can carry another operation.
    """
    if not connection.is_local:
        error = (
            f"Bad request from {connection.peer}: must request a shared memory segment "
            "over a UNIX domain socket."
        )
        connection.send_all(SegmentGiven(Status.ERROR_INVALID, error=error).encode())
        return True
    registry = store.short_circuit
    try:
        name, descriptor = registry.open_segment(request.client_name)
    except OSError as failure:
        log.error("no shared memory for %s: %s", request.client_name, failure)
        error = f"Failed to create shared file descriptor: {failure}"
        connection.send_all(SegmentGiven(Status.ERROR, error=error).encode())
        return True
    try:
        connection.send_all(SegmentGiven(Status.SUCCESS, name).encode())
        connection.send_with_descriptors(b"\0", (descriptor,))
        connection.set_read_timeout(0)
        connection.recv_exactly(1)
        log.info("%s sent something on the connection of segment %s", request.client_name, name)
    except (PeerClosed, PeerSilent):
        log.debug("segment %s of %s ends", name, request.client_name)
    finally:
        registry.close_segment(name)
    return False
