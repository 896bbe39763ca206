"""Packets that pass through this datanode without the interpreter (shell).

The middle of BlockReceiver and of its PacketResponder in Hadoop, for ordinary packets: those that
are not the last one, and for acks that say that all went well. Nearly all of a block is that, also
where it is flushed in the middle of a chunk, or synced, or idle. The kernel's `PacketRelay`
(`kernel/relay.c`) receives, verifies or passes on, writes, and acknowledges them, in the order of
`receiver`; it has the two sockets and the two files to itself meanwhile, and the replica follows
it. Whatever is not ordinary ends that, once a block: what has come and what is due goes back to
`receiver` and `responder`, which go on as they do where there is no kernel.

A relay is not to be had where each write counts by itself: files that are summed in another way or
told to the page cache, disks and peers that are measured, tests that watch the writes. Nor for a
pipeline of more datanodes than its acks have room for.
"""

from __future__ import annotations

import errno
import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from howdah.datanode.replicas.writer import ReplicaWriter
from howdah.datanode.state.volumes import block_files
from howdah.datanode.transfer.mirror import Mirror
from howdah.native.loader import kernel
from howdah.protocol.data_transfer.packets import ack_tail
from howdah.protocol.data_transfer.status import Status
from howdah.runtime.sockets import Connection, PeerClosed, PeerSilent

if TYPE_CHECKING:
    from howdah.native._kernel import PacketRelay

log = logging.getLogger(__name__)

BUFFER_BYTES: Final = 1 << 20
"""With half of it the same work takes a twentieth more, with an eighth a third."""
_NS: Final = 1_000_000_000
_TICK_NS: Final = _NS
_TAIL_BYTES: Final = 64
"""What the kernel has room for of an ack behind its seqno: the replies of twenty datanodes."""
NONE: Final = -1
"""In place of a descriptor."""


class Reason(IntEnum):
    """Why the kernel stopped; the numbers are its own."""

    TICK = 1
    """It has figures, and goes on when it is called again."""
    INTERRUPTED = 2
    ODD_PACKET = 3
    ODD_ACK = 4
    """Or the mirror's connection has ended."""
    MIRROR_LOST = 5
    FRONT_CLOSED = 6
    FRONT_SILENT = 7
    FRONT_STUCK = 8
    """It takes no acks."""
    DISK_FAILED = 9
    SYNC_DUE = 10
    """A packet that orders a sync is written and passed on, and not acknowledged."""


class Descriptors(NamedTuple):
    """The sockets and files that the kernel has to itself meanwhile, in its order."""

    front: int
    mirror: int
    block: int
    meta: int
    bell: int
    """An eventfd that interrupts it."""


class Sums(NamedTuple):
    """How the file of checksums is laid out."""

    kind: int
    """As on the wire: CRC32 or CRC32C."""
    chunk_bytes: int
    first_offset: int
    """Where the checksum of the first chunk is."""


class Waits(NamedTuple):
    """How long each peer may keep the kernel waiting; 0 for a mirror that is not there."""

    front_ns: int
    """For the next packet."""
    mirror_takes_ns: int
    mirror_acks_ns: int
    front_takes_ns: int
    tick_ns: int
    """So often it comes back with its figures."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What was done since the last ones."""

    writes: int
    write_ns: int
    sends: int
    send_ns: int
    written_bytes: int
    packets: int
    syncs: int
    """By the kernel alone, as `sync_ns`."""
    sync_ns: int


@dataclass(frozen=True, slots=True)
class Rest:
    """Where the relay has stopped.

    `packets` came and are not written; the mirror has `forwarded_bytes` of them. It owes acks of
    `due`, of which each is a seqno and where the packet's data ends; `acks` are bytes that it sent
    and `unsent_acks` are those that the front has not taken. `disk_failure` is what the packets
    could not be written for, and `lost_mirror` whether the mirror has failed.
    """

    packets: bytes
    forwarded_bytes: int
    acks: bytes
    unsent_acks: bytes
    due: tuple[tuple[int, int], ...]
    disk_failure: OSError | None
    lost_mirror: bool


class Relay:
    """One pipeline stage's, used once."""

    def __init__(
        self,
        native: PacketRelay,
        bell: int,
        connection: Connection,
        mirror: Mirror | None,
        writer: ReplicaWriter,
    ) -> None:
        """`bell` is a descriptor that ends its waiting, and is closed when it has run."""
        self._native = native
        self._bell = bell
        self._ringing = threading.Lock()
        self._has_run = False
        self._connection = connection
        self._mirror = mirror
        self._writer = writer

    def interrupt(self) -> None:
        """From any thread: `run` returns soon."""
        with self._ringing:
            if not self._has_run:
                self._native.interrupt()

    def run(self, count: Callable[[Figures], None], sync: Callable[[], bool]) -> Rest:
        """Relay packets until one, or an ack, is not ordinary. `count` gets figures about once a
        second, and before each `sync`, which brings to the disk what is written, and says whether
        the kernel may do so by itself from then on. Raises what ends the connection in front; a
        mirror that is lost is marked as failed."""
        native, writer = self._native, self._writer
        failure: OSError | None = None
        writer.replica.follow(native)
        try:
            while True:
                number, code = native.run()
                count(Figures(*native.figures()))
                writer.count_written()
                if number == Reason.SYNC_DUE:
                    writer.block_is_synced = native.block_is_synced
                    try:
                        may_sync = sync()
                    except OSError as error:
                        failure = error
                        break
                    native.synced(may_sync)
                elif number != Reason.TICK:
                    break
        finally:
            writer.block_is_synced = False
            writer.synced_bytes = max(writer.synced_bytes, native.synced_bytes)
            writer.replica.settle()
            with self._ringing:
                self._has_run = True
                if self._bell != NONE:
                    os.close(self._bell)
        reason = Reason(number)
        self._raise_if_front_ended(reason, code)
        lost = reason is Reason.MIRROR_LOST
        if lost:
            self._lose_mirror(code)
        packets, forwarded, acks, unsent, due = native.rest()
        if reason is Reason.DISK_FAILED:
            failure = OSError(code, os.strerror(code), str(writer.replica))
        return Rest(packets, forwarded, acks, unsent, tuple(due), failure, lost)

    def _raise_if_front_ended(self, reason: Reason, code: int) -> None:
        peer = self._connection.peer
        match reason:
            case Reason.FRONT_CLOSED if code:
                raise PeerClosed(f"the connection to {peer} broke: {os.strerror(code)}")
            case Reason.FRONT_CLOSED:
                raise PeerClosed(f"{peer} closed the connection")
            case Reason.FRONT_SILENT:
                silence_s = self._connection.read_timeout_s
                raise PeerSilent(f"nothing came from {peer} in {silence_s:g} s")
            case Reason.FRONT_STUCK:
                silence_s = self._connection.write_timeout_s
                raise PeerSilent(f"{peer} took no bytes for {silence_s:g} s")

    def _lose_mirror(self, code: int) -> None:
        mirror = self._mirror
        assert mirror is not None, "lost a mirror without having one"
        why = "it says and takes nothing" if code == errno.ETIMEDOUT else os.strerror(code)
        log.warning("cannot pass %r on to %s: %s", self._writer.replica, mirror.name, why)
        mirror.failed = True
        mirror.shutdown()


def _make_bell() -> int:
    """Without one an interruption is seen in half a second."""
    if not hasattr(os, "eventfd"):
        return NONE
    try:
        return os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
    except OSError as error:
        log.warning("packets are relayed without a bell: %s", error)
        return NONE


def _nanoseconds(seconds: float) -> int:
    return int(seconds * _NS)


def relay_between(
    connection: Connection, mirror: Mirror | None, writer: ReplicaWriter, limit_bytes: int
) -> Relay | None:
    """Relays packets of at most `limit_bytes` from `connection`; None where that cannot be."""
    native = kernel()
    behind = None if mirror is None else mirror.connection
    if native is None or not writer.is_plain or connection.takes_descriptors:
        return None
    if not connection.is_plain or (behind is not None and not behind.is_plain):
        return None  # What the kernel reads there is not what was sent.
    if behind is not None and behind.has_read_ahead:
        return None
    spec, replica = writer.on_disk, writer.replica
    nodes = 0 if mirror is None else mirror.nodes
    own_tail = ack_tail((Status.SUCCESS,) * (nodes + 1))
    if len(own_tail) > _TAIL_BYTES:
        return None
    waits = Waits(
        front_ns=_nanoseconds(connection.read_timeout_s),
        mirror_takes_ns=0 if mirror is None else _nanoseconds(mirror.silence_s),
        mirror_acks_ns=0 if behind is None else _nanoseconds(behind.read_timeout_s),
        front_takes_ns=_nanoseconds(connection.write_timeout_s),
        tick_ns=_TICK_NS,
    )
    block, meta = writer.files
    bell = _make_bell()
    relay = native.PacketRelay(
        Descriptors(
            front=connection.fileno(),
            mirror=NONE if behind is None else behind.fileno(),
            block=block,
            meta=meta,
            bell=bell,
        ),
        Sums(int(spec.type), spec.bytes_per_checksum, block_files.sums_offset(spec, 0)),
        (replica.length_bytes, replica.acked_bytes),
        (limit_bytes, BUFFER_BYTES),
        (own_tail, ack_tail((Status.SUCCESS,) * nodes)),
        waits,
        connection.take_read_ahead(),
    )
    return Relay(relay, bell, connection, mirror, writer)
