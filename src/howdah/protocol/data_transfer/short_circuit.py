"""Short-circuit reads on the wire: requests for descriptors, and the slots that revoke them.

A reader on the datanode's own machine asks over a Unix domain socket for the two
files of a replica (REQUEST_SHORT_CIRCUIT_FDS) and reads them itself. So that the
datanode can take that back, both share a segment of memory
(REQUEST_SHORT_CIRCUIT_SHM) which is cut into slots of 64 bytes, one a replica:

    word 0, in the machine's byte order     bit 63: valid   bit 62: anchorable
                                            bits 0-30: how often it is anchored
    words 1-7                               unused

1. The reader takes a free slot, sets `valid`, and names the slot in its request.
2. The datanode remembers which replica the slot is for, and clears `valid` before it
   changes or deletes that replica.
3. The reader looks at the slot after each read: what it read before `valid` went
   was right. Then it lets go of the files and frees the slot
   (RELEASE_SHORT_CIRCUIT_FDS), or closes the connection that the segment came by,
   which frees all its slots.

Both flags lie in one byte, which each side writes as a whole, so neither needs an
atomic instruction, nor can it lose the other's count of anchors.
"""

from __future__ import annotations

import struct
import sys
from dataclasses import dataclass

from howdah import errors
from howdah.proto import data_transfer_pb2 as pb
from howdah.protocol.data_transfer.blocks import NO_TOKEN, BlockToken, ExtendedBlock
from howdah.protocol.messages import parse

SEGMENT_BYTES = 8192
SLOT_BYTES = 64
BLOCK_FORMAT_VERSION = 1
"""Of block and meta files, as the reader must understand them."""
RECEIPT_WANTED = 1
"""The byte that carries the descriptors: the reader answers it with a byte of its own."""
RECEIPT_NOT_WANTED = 0

_WORD = struct.Struct("=Q")
_FLAGS_BYTE = _WORD.size - 1 if sys.byteorder == "little" else 0
_VALID = 0x80
_ANCHORABLE = 0x40
_COUNT = struct.Struct("=I")
_COUNT_OFFSET = 0 if sys.byteorder == "little" else _WORD.size - _COUNT.size
_COUNT_MASK = 0x7FFFFFFF


@dataclass(frozen=True, slots=True)
class SegmentId:
    """128 random bits, so that nobody guesses another reader's."""

    hi: int
    lo: int

    def __str__(self) -> str:
        return f"{self.hi & 0xFFFFFFFFFFFFFFFF:016x}{self.lo & 0xFFFFFFFFFFFFFFFF:016x}"

    def to_proto(self) -> pb.ShortCircuitShmIdProto:
        return pb.ShortCircuitShmIdProto(hi=self.hi, lo=self.lo)

    @classmethod
    def from_proto(cls, proto: pb.ShortCircuitShmIdProto) -> SegmentId:
        return cls(proto.hi, proto.lo)


@dataclass(frozen=True, slots=True)
class SlotId:
    segment: SegmentId
    index: int

    def __str__(self) -> str:
        return f"slot {self.index} of segment {self.segment}"

    def to_proto(self) -> pb.ShortCircuitShmSlotProto:
        return pb.ShortCircuitShmSlotProto(shmId=self.segment.to_proto(), slotIdx=self.index)

    @classmethod
    def from_proto(cls, proto: pb.ShortCircuitShmSlotProto) -> SlotId:
        return cls(SegmentId.from_proto(proto.shmId), proto.slotIdx)


class Slots:
    """The slots of one segment, whose memory is given; who uses which is the owner's affair."""

    def __init__(self, memory: memoryview) -> None:
        self._memory = memory
        self.count = len(memory) // SLOT_BYTES

    def claim(self, index: int) -> None:
        """By the reader, of a slot that the datanode doesn't know yet: empty, and valid."""
        _WORD.pack_into(self._memory, index * SLOT_BYTES, 0)
        self._memory[index * SLOT_BYTES + _FLAGS_BYTE] = _VALID

    def is_valid(self, index: int) -> bool:
        return self._memory[index * SLOT_BYTES + _FLAGS_BYTE] >= _VALID

    def revoke(self, index: int) -> None:
        """Not valid any more, nor may it be anchored from now on."""
        self._memory[index * SLOT_BYTES + _FLAGS_BYTE] = 0

    def allow_anchors(self, index: int, *, allowed: bool) -> None:
        """By the datanode, of a valid slot whose replica is locked in memory, or is about not
        to be."""
        if self.is_valid(index):
            flags = _VALID | (_ANCHORABLE if allowed else 0)
            self._memory[index * SLOT_BYTES + _FLAGS_BYTE] = flags

    def is_anchored(self, index: int) -> bool:
        return self._count(index) & _COUNT_MASK > 0

    def anchor(self, index: int) -> bool:
        """By the reader, one thread at a time: from now on until `lift` the replica is in memory,
        verified. False if it is not."""
        self._set_count(index, self._count(index) + 1)
        # The datanode takes the flag away first, and then looks at the count.
        if self._memory[index * SLOT_BYTES + _FLAGS_BYTE] & _ANCHORABLE:
            return True
        self.lift(index)
        return False

    def lift(self, index: int) -> None:
        """By the reader: it has read what it wanted."""
        self._set_count(index, self._count(index) - 1)

    def _count(self, index: int) -> int:
        count: int = _COUNT.unpack_from(self._memory, index * SLOT_BYTES + _COUNT_OFFSET)[0]
        return count

    def _set_count(self, index: int, count: int) -> None:
        _COUNT.pack_into(self._memory, index * SLOT_BYTES + _COUNT_OFFSET, count & _COUNT_MASK)

    def release(self) -> None:
        """Let go of the memory; nothing may be asked afterwards."""
        self._memory.release()


# --- requests -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RequestDescriptors:
    """Asks for the files of a finalized replica; `slot` is how it may be revoked."""

    block: ExtendedBlock
    slot: SlotId | None = None
    max_version: int = BLOCK_FORMAT_VERSION
    gives_receipt: bool = True
    """Whether the reader says that the descriptors have come."""
    token: BlockToken = NO_TOKEN

    def to_proto(self) -> pb.OpRequestShortCircuitAccessProto:
        return pb.OpRequestShortCircuitAccessProto(
            header=pb.BaseHeaderProto(block=self.block.to_proto(), token=self.token.to_proto()),
            maxVersion=self.max_version,
            slotId=None if self.slot is None else self.slot.to_proto(),
            supportsReceiptVerification=self.gives_receipt,
        )

    @classmethod
    def decode(cls, body: bytes) -> RequestDescriptors:
        proto = parse(pb.OpRequestShortCircuitAccessProto, body)
        return cls(
            ExtendedBlock.from_proto(proto.header.block),
            SlotId.from_proto(proto.slotId) if proto.HasField("slotId") else None,
            proto.maxVersion,
            proto.supportsReceiptVerification,
            BlockToken.from_proto(proto.header.token),
        )


@dataclass(frozen=True, slots=True)
class ReleaseSlot:
    """The reader has closed the files that this slot was for."""

    slot: SlotId

    def to_proto(self) -> pb.ReleaseShortCircuitAccessRequestProto:
        return pb.ReleaseShortCircuitAccessRequestProto(slotId=self.slot.to_proto())

    @classmethod
    def decode(cls, body: bytes) -> ReleaseSlot:
        proto = parse(pb.ReleaseShortCircuitAccessRequestProto, body)
        return cls(SlotId.from_proto(proto.slotId))


@dataclass(frozen=True, slots=True)
class RequestSegment:
    """Asks for shared memory; the connection is the segment's from then on."""

    client_name: str

    def to_proto(self) -> pb.ShortCircuitShmRequestProto:
        return pb.ShortCircuitShmRequestProto(clientName=self.client_name)

    @classmethod
    def decode(cls, body: bytes) -> RequestSegment:
        return cls(parse(pb.ShortCircuitShmRequestProto, body).clientName)


def check_segment_length(length_bytes: int) -> int:
    """The usable bytes of a segment; `ProtocolViolation` where not one slot fits."""
    if length_bytes < SLOT_BYTES:
        raise errors.ProtocolViolation(
            f"a shared memory segment of {length_bytes} bytes has no room for one slot"
        )
    return length_bytes - length_bytes % SLOT_BYTES
