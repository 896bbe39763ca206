"""Numbers at their extremes: every one of a request, one at a time."""

from __future__ import annotations

from howdah.proto import data_transfer_pb2 as pb
from tests.support.extremes import extremes


def test_every_number_is_tried_and_nothing_else_changes() -> None:
    header = pb.PacketHeaderProto(offsetInBlock=5, seqno=6, lastPacketInBlock=False, dataLen=7)
    tried = dict(extremes(header))
    names = {what.partition("=")[0] for what in tried}
    assert names == {"offsetInBlock", "seqno", "dataLen"}
    assert tried["seqno=-1"] == pb.PacketHeaderProto(
        offsetInBlock=5, seqno=-1, lastPacketInBlock=False, dataLen=7
    )
    assert header.seqno == 6


def test_numbers_within_and_in_lists_are_tried() -> None:
    ack = pb.PipelineAckProto(seqno=1, reply=[], flag=[3, 4])
    slot = pb.ReleaseShortCircuitAccessRequestProto()
    slot.slotId.shmId.hi = slot.slotId.shmId.lo = slot.slotId.slotIdx = 0
    assert dict(extremes(ack))[f"flag={(1 << 32) - 1}"].flag == [(1 << 32) - 1]
    assert dict(extremes(slot))["slotId.shmId.hi=-1"].slotId.shmId.hi == -1
