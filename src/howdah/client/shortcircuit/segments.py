"""Shared memory in which a datanode takes back the files that it gave to this client.

DfsClientShm and ShortCircuitShm in Hadoop.

The client's end of the slots that `howdah.protocol.data_transfer.short_circuit` describes. A
segment comes over a connection of its own, and both end together: a datanode that dies, or
restarts, closes it, so whatever the slots say then, they are worth nothing.

1. A datanode that lives takes a replica back by its slot, which every read looks at: that is
   memory, and no system call.
2. A datanode that has died changes nothing, and the one that comes after it takes longer than
   `TRUST_S` to begin. So the connection is asked only where the last time is longer ago, on a
   clock that goes on while this process is stopped.
"""

from __future__ import annotations

import mmap
import os
import select
import threading
import time

from howdah import errors
from howdah.protocol.data_transfer.op_requests import encode_request
from howdah.protocol.data_transfer.responses import SegmentGiven
from howdah.protocol.data_transfer.short_circuit import (
    RequestSegment,
    SegmentId,
    SlotId,
    Slots,
    check_segment_length,
)
from howdah.protocol.data_transfer.status import Status
from howdah.protocol.varint import read_delimited
from howdah.runtime.sockets import Connection

TRUST_S = 0.005
"""How long a datanode is believed to live that lived: a fraction of what any needs to start."""


class SegmentRefused(errors.HowdahError, OSError):
    """The datanode gives no shared memory; its answer is the message."""


class Segment:
    """One segment and the connection that it lives by. Thread-safe."""

    def __init__(self, connection: Connection, name: SegmentId, memory: mmap.mmap) -> None:
        self.name = name
        self._connection = connection
        self._slots = Slots(memoryview(memory))
        self._lock = threading.Lock()
        self._free = list(range(self._slots.count - 1, -1, -1))
        self._ended = False
        self._trusted_until_s = 0.0

    @classmethod
    def request(cls, connection: Connection, client_name: str) -> Segment:
        """A new segment, which takes the connection over. `SegmentRefused` if it gets none."""
        connection.send_all(encode_request(RequestSegment(client_name)))
        answer = SegmentGiven.decode(read_delimited(connection))
        if answer.status is not Status.SUCCESS or answer.segment is None:
            raise SegmentRefused(answer.error or answer.status.name)
        connection.recv_exactly(1)
        descriptors = connection.take_descriptors()
        try:
            if len(descriptors) != 1:
                raise errors.ProtocolViolation(
                    f"{connection.peer} sent {len(descriptors)} descriptors for a segment"
                )
            length = check_segment_length(os.fstat(descriptors[0]).st_size)
            memory = mmap.mmap(descriptors[0], length)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        return cls(connection, answer.segment, memory)

    @property
    def is_alive(self) -> bool:
        """Whether the datanode still minds the slots, at this moment."""
        fd = self._connection.fileno()
        if self._ended or fd < 0:
            return False
        now_s = time.monotonic()
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        # It never sends anything, so whatever is there is the end.
        if poll.poll(0):
            return False
        self._trusted_until_s = now_s + TRUST_S
        return True

    @property
    def was_just_alive(self) -> bool:
        """Whether it minded them `TRUST_S` ago or later; asks only where nobody knows."""
        if time.monotonic() < self._trusted_until_s:
            return not self._ended
        return self.is_alive

    def claim(self) -> Slot | None:
        """A slot that is marked valid; None where all are taken or the segment is dead."""
        with self._lock:
            if not self._free or not self.is_alive:
                return None
            index = self._free.pop()
            self._slots.claim(index)
        return Slot(self, index)

    def is_revoked(self, index: int) -> bool:
        """Whether the datanode took the slot back. It can't do so any more when it is dead."""
        return self._ended or not self._slots.is_valid(index)

    def anchor(self, index: int) -> bool:
        """Whether the replica is locked in memory, verified, and stays so until `lift`."""
        with self._lock:
            return not self._ended and self._slots.anchor(index)

    def lift(self, index: int) -> None:
        with self._lock:
            self._slots.lift(index)

    def give_back(self, index: int) -> None:
        """The datanode knows nothing of this slot any more."""
        with self._lock:
            self._free.append(index)

    @property
    def is_unused(self) -> bool:
        return len(self._free) == self._slots.count

    def close(self) -> None:
        """Ends the segment at the datanode too; safe to repeat."""
        with self._lock:
            if self._ended:
                return
            self._ended = True
        # The memory stays mapped until nobody looks at it any more.
        self._connection.close()


class Slot:
    """What one replica is revoked by."""

    __slots__ = ("index", "segment")

    def __init__(self, segment: Segment, index: int) -> None:
        self.segment = segment
        self.index = index

    @property
    def id(self) -> SlotId:
        return SlotId(self.segment.name, self.index)

    def give_back(self) -> None:
        """Its datanode knows nothing of it any more."""
        self.segment.give_back(self.index)

    def anchor(self) -> bool:
        """Whether the replica is locked in memory, verified, and stays so until `lift`."""
        return self.segment.anchor(self.index)

    def lift(self) -> None:
        self.segment.lift(self.index)

    @property
    def is_revoked(self) -> bool:
        return self.segment.is_revoked(self.index)

    @property
    def is_valid(self) -> bool:
        """True while the datanode has not revoked it, and has just been there."""
        return not self.segment.is_revoked(self.index) and self.segment.was_just_alive

    def confirm(self) -> bool:
        """As `is_valid`, and the datanode is there at this moment."""
        return not self.segment.is_revoked(self.index) and self.segment.is_alive
