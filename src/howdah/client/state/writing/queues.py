"""The data queue and the ack queue of an output stream, and what is left to sync (pure).

dataQueue and ackQueue of DataStreamer in Hadoop.

Rules (FS-119, FS-123, FS-125):

- a packet keeps its sequence number for ever, and packets are sent in its order;
- the empty last packet of a block is sent alone, when all before it are acknowledged;
- what is acknowledged never goes back onto a queue; all else goes back to the front
  of the data queue, in order, when the pipeline breaks.
"""

from __future__ import annotations

from collections import deque

from howdah.client.state.blocks import LocatedBlock
from howdah.client.state.writing.actions import SequencedPacket
from howdah.client.state.writing.packetizer import OutgoingPacket

MAX_PACKETS_PER_SEND = 16
"""One system call carries so many; more would only delay the first ack."""


class PacketQueues:
    """Holds packets that wait to be sent, and those that were and wait for their ack."""

    def __init__(self) -> None:
        self.last_queued_seqno = -1
        self.last_acked_seqno = -1
        self.last_sent_seqno = -1
        self._data: deque[SequencedPacket] = deque()
        self._sent: deque[SequencedPacket] = deque()

    def __len__(self) -> int:
        """Packets that are not acknowledged, sent or not."""
        return len(self._data) + len(self._sent)

    @property
    def has_data(self) -> bool:
        """Something waits to be sent."""
        return bool(self._data)

    @property
    def of_a_sync(self) -> tuple[SequencedPacket, ...]:
        """Return what waits to be sent, if it is all that is not acknowledged, and no more than one
        sync has: a packet within a block, or the order to sync, or that behind such a packet."""
        data = self._data
        if self._sent or len(data) > 2 or any(sequenced.packet.last_in_block for sequenced in data):
            return ()
        return tuple(data) if len(data) < 2 or data[1].packet.is_order else ()

    @property
    def is_held_back(self) -> bool:
        """There is something to send, and nothing under way that it could wait for."""
        return bool(self._data) and not self._sent

    @property
    def ends_block(self) -> bool:
        """The last packet of the block is on its way; what follows is for the next block."""
        return bool(self._sent) and self._sent[-1].packet.last_in_block

    @property
    def due_seqno(self) -> int | None:
        """The packet whose ack comes next."""
        return self._sent[0].seqno if self._sent else None

    def put(self, packet: OutgoingPacket) -> int:
        """Queue a packet; its sequence number."""
        self.last_queued_seqno += 1
        self._data.append(SequencedPacket(self.last_queued_seqno, packet))
        return self.last_queued_seqno

    def pop_sendable(self) -> tuple[SequencedPacket, ...]:
        """The packets to send now, which are on the ack queue from here on."""
        batch: list[SequencedPacket] = []
        while self._data and len(batch) < MAX_PACKETS_PER_SEND:
            if self._data[0].packet.last_in_block and (batch or self._sent):
                break
            batch.append(self._data.popleft())
            if batch[-1].packet.last_in_block:
                break
        self._sent.extend(batch)
        if batch:
            self.last_sent_seqno = max(self.last_sent_seqno, batch[-1].seqno)
        return tuple(batch)

    def acknowledge(self) -> OutgoingPacket:
        """Take the packet whose ack was due off the ack queue."""
        sequenced = self._sent.popleft()
        self.last_acked_seqno = sequenced.seqno
        return sequenced.packet

    def put_back(self) -> None:
        """The pipeline broke: what isn't acknowledged is to be sent again."""
        self._data.extendleft(reversed(self._sent))
        self._sent.clear()

    def drop_last_of_block(self) -> None:
        """Drop the last packet of the block, which is not sent again: the datanodes have ended the
        block by themselves."""
        sequenced = self._data.popleft()
        assert sequenced.packet.last_in_block
        assert not self._sent
        self.last_acked_seqno = sequenced.seqno


class UnsyncedBlocks:
    """The finished blocks of a stream that may not be on the disks yet.

    An order to sync travels in a packet, and a finished block takes no more packets. So a
    later `hsync` has to reach such blocks in another way. They are in the order in which
    they were finished, each with the number of its last packet.
    """

    def __init__(self) -> None:
        self._blocks: dict[tuple[str, int], tuple[int, LocatedBlock]] = {}

    def __len__(self) -> int:
        return len(self._blocks)

    def add(self, block: LocatedBlock, last_seqno: int) -> None:
        """`block` is finished, without an order to sync it."""
        self._blocks[block.block.pool_id, block.block.block_id] = (last_seqno, block)

    def up_to(self, seqno: int) -> tuple[LocatedBlock, ...]:
        """Those that were finished with packet `seqno` or before it."""
        return tuple(block for last, block in self._blocks.values() if last <= seqno)

    def synced(self, block: LocatedBlock) -> bool:
        """`block` is on the disks; false if it was known to be before."""
        return self._blocks.pop((block.block.pool_id, block.block.block_id), None) is not None
