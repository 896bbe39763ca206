"""What a write pipeline's state machine asks of its shell (pure).

The actions that the machine (`howdah.client.state.writing.pipeline`) has the shell
(`howdah.client.writing.streamer`) do, as frozen values.
"""

from __future__ import annotations

from dataclasses import dataclass

from howdah.client.state.blocks import LocatedBlock
from howdah.client.state.writing.packetizer import OutgoingPacket
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock
from howdah.protocol.data_transfer.op_requests import Stage
from howdah.protocol.data_transfer.packets import PacketHeader


@dataclass(frozen=True, slots=True)
class SequencedPacket:
    """A packet with its place in the stream."""

    seqno: int
    packet: OutgoingPacket

    @property
    def header(self) -> PacketHeader:
        packet = self.packet
        return PacketHeader(
            packet.offset_in_block,
            self.seqno,
            packet.last_in_block,
            len(packet.data),
            packet.sync_block,
        )


@dataclass(frozen=True, slots=True)
class Allocate:
    """Ask the namenode for a block behind `previous`."""

    previous: ExtendedBlock | None
    excluded: tuple[DatanodeAddress, ...]


@dataclass(frozen=True, slots=True)
class Connect:
    """Open the pipeline of `block`, whose length is what is acknowledged of it.

    At most `sent_bytes` of it may be on a datanode. Every stage but the creation of a
    block needs a new generation stamp first, and the namenode told afterwards.
    """

    block: LocatedBlock
    stage: Stage
    sent_bytes: int

    @property
    def renews(self) -> bool:
        """Whether the block gets a new generation stamp by this."""
        return self.stage is not Stage.PIPELINE_SETUP_CREATE

    @property
    def only_finalizes(self) -> bool:
        """Whether the datanodes finalize the block at once, and take no packets."""
        return self.stage is Stage.PIPELINE_CLOSE_RECOVERY


@dataclass(frozen=True, slots=True)
class Replace:
    """Get one more datanode for `block`, none of `failed`, and have `source` copy to it."""

    block: LocatedBlock
    source: DatanodeAddress
    failed: tuple[DatanodeAddress, ...]


@dataclass(frozen=True, slots=True)
class Abandon:
    """Tell the namenode that `block` will not be written."""

    block: ExtendedBlock


@dataclass(frozen=True, slots=True)
class Send:
    """Send these packets, in order. They are on the ack queue already."""

    packets: tuple[SequencedPacket, ...]


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Send the packet that says nothing."""


@dataclass(frozen=True, slots=True)
class SendRest:
    """Send what a step has left of a packet (`howdah.client.writing.inline_sync`)."""

    data: bytes


Action = Allocate | Connect | Replace | Abandon | Send | SendRest | Heartbeat
