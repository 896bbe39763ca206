"""Packet framing and acks, held against protobuf."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.proto import data_transfer_pb2 as pb
from howdah.protocol.data_transfer import MAX_PACKET_BYTES, packets
from howdah.protocol.data_transfer.packets import PacketHeader, PipelineAck
from howdah.protocol.data_transfer.status import Status
from howdah.protocol.varint import decode_varint

int64 = st.integers(-(1 << 63), (1 << 63) - 1)
headers = st.builds(
    PacketHeader,
    offset_in_block=st.integers(0, (1 << 63) - 1),
    seqno=int64,
    last_in_block=st.booleans(),
    data_length_bytes=st.integers(0, MAX_PACKET_BYTES),
    sync_block=st.booleans(),
)


def as_proto(header: PacketHeader) -> bytes:
    """As Java builds it: the sync flag is only set when it is true."""
    proto = pb.PacketHeaderProto(
        offsetInBlock=header.offset_in_block,
        seqno=header.seqno,
        lastPacketInBlock=header.last_in_block,
        dataLen=header.data_length_bytes,
    )
    if header.sync_block:
        proto.syncBlock = True
    return proto.SerializeToString()


@given(headers, st.integers(0, 1 << 20))
def test_a_packed_header_is_what_protobuf_writes(header: PacketHeader, sums: int) -> None:
    encoded = packets.encode_prelude(header, sums)
    body = as_proto(header)
    plen = 4 + sums + header.data_length_bytes
    assert encoded == struct.pack(">ih", plen, len(body)) + body


@given(headers)
def test_a_header_that_protobuf_wrote_is_read(header: PacketHeader) -> None:
    body = as_proto(header)
    assert packets.decode_header(body, 0, len(body)) == header


@given(headers)
def test_a_header_with_fields_in_another_order_is_read(header: PacketHeader) -> None:
    # Concatenation of messages merges them: legal protobuf, in another layout.
    tail = pb.PacketHeaderProto(offsetInBlock=header.offset_in_block).SerializePartialToString()
    body = as_proto(header)[9:] + tail
    assert packets.decode_header(body, 0, len(body)) == header


def test_a_header_carries_an_explicit_false_sync_flag() -> None:
    body = as_proto(PacketHeader(5, 6, False, 7)) + b"\x28\x00"
    assert packets.decode_header(body, 0, len(body)) == PacketHeader(5, 6, False, 7)


@given(st.binary(max_size=40))
def test_a_garbage_header_is_a_violation_or_a_header(body: bytes) -> None:
    try:
        packets.decode_header(body, 0, len(body))
    except errors.ProtocolViolation:
        pass


def test_the_packet_length_counts_itself_sums_and_data_only() -> None:
    packet = packets.encode_packet(PacketHeader(0, 0, False, 3), b"sums", b"dat")
    assert packets.decode_lengths(packet) == (25, 7)
    assert packet[31:] == b"sumsdat"


def test_a_packet_of_the_limit_is_allowed_and_a_longer_one_refused() -> None:
    limit = MAX_PACKET_BYTES
    assert packets.decode_lengths(struct.pack(">ih", limit - 25, 25)) == (25, limit - 29)
    with pytest.raises(errors.ProtocolViolation, match="the limit is 16777216"):
        packets.decode_lengths(struct.pack(">ih", limit - 24, 25))


@pytest.mark.parametrize("plen", [-(1 << 31), -1, 0, 3])
def test_a_packet_length_below_its_own_four_bytes_is_refused(plen: int) -> None:
    with pytest.raises(errors.ProtocolViolation, match="must count its 4 bytes"):
        packets.decode_lengths(struct.pack(">ih", plen, 25))


def test_a_negative_header_length_is_refused() -> None:
    with pytest.raises(errors.ProtocolViolation, match="header of -1"):
        packets.decode_lengths(struct.pack(">ih", 4, -1))


@pytest.mark.parametrize(("data_length", "payload"), [(10, 9), (-1, 100)])
def test_a_data_length_beyond_the_payload_is_refused(data_length: int, payload: int) -> None:
    with pytest.raises(errors.ProtocolViolation):
        packets.check_lengths(PacketHeader(0, 0, False, data_length), payload)


def test_a_negative_offset_is_refused() -> None:
    with pytest.raises(errors.ProtocolViolation):
        packets.check_lengths(PacketHeader(-1, 0, False, 0), 0)


def test_the_heartbeat_packet_is_the_one_that_java_sends() -> None:
    assert packets.HEARTBEAT.is_heartbeat
    assert packets.encode_packet(packets.HEARTBEAT)[:6] == b"\x00\x00\x00\x04\x00\x19"


statuses = st.lists(st.sampled_from(Status), max_size=5).map(tuple)


@given(int64, statuses, st.integers(0, 1 << 62))
def test_an_ack_is_what_protobuf_reads(
    seqno: int, replies: tuple[Status, ...], downstream: int
) -> None:
    encoded = packets.encode_ack(seqno, replies, downstream)
    length, start = decode_varint(encoded) or (0, 0)
    assert len(encoded) == start + length
    proto = pb.PipelineAckProto.FromString(encoded[start:])
    assert proto.seqno == seqno
    assert list(proto.reply) == list(proto.flag) == [int(reply) for reply in replies]
    assert proto.downstreamAckTimeNanos == downstream


@given(int64, statuses, st.integers(0, 1 << 62))
def test_an_ack_comes_back_as_it_was(
    seqno: int, replies: tuple[Status, ...], downstream: int
) -> None:
    encoded = packets.encode_ack(seqno, replies, downstream)
    _, start = decode_varint(encoded) or (0, 0)
    assert packets.decode_ack(encoded[start:]) == PipelineAck(seqno, replies, downstream)


def test_the_status_of_an_ack_is_in_the_low_bits_of_its_flags() -> None:
    congested = 3 << 5 | int(Status.ERROR_CHECKSUM)
    body = pb.PipelineAckProto(seqno=1, reply=[pb.SUCCESS], flag=[congested]).SerializeToString()
    ack = packets.decode_ack(body)
    assert ack.replies == (Status.ERROR_CHECKSUM,)
    assert ack.congested


def test_an_ack_without_flags_is_read_from_its_replies() -> None:
    body = pb.PipelineAckProto(seqno=1, reply=[pb.SUCCESS, pb.ERROR]).SerializeToString()
    ack = packets.decode_ack(body)
    assert ack.replies == (Status.SUCCESS, Status.ERROR)
    assert ack.first_bad() == 1
    assert not ack.is_success


def test_a_restarting_datanode_is_recognised() -> None:
    ack = PipelineAck(packets.UNKNOWN_SEQNO, (Status.SUCCESS, Status.OOB_RESTART))
    assert ack.out_of_band is Status.OOB_RESTART
    assert PipelineAck(1, (Status.OOB_RESTART,)).out_of_band is None


@given(int64, st.binary(max_size=20))
def test_an_ack_is_read_as_protobuf_reads_it_or_refused(seqno: int, tail: bytes) -> None:
    body = pb.PipelineAckProto(seqno=seqno).SerializeToString() + tail
    try:
        ack = packets.decode_ack(body)
    except errors.ProtocolViolation:
        return
    proto = pb.PipelineAckProto.FromString(body)
    assert (ack.seqno, ack.downstream_ack_time_ns) == (proto.seqno, proto.downstreamAckTimeNanos)
    said = [flag & 0xF for flag in proto.flag] or list(proto.reply)
    assert [int(reply) for reply in ack.replies] == said


def test_an_ack_that_changes_its_seqno_is_refused() -> None:
    first = pb.PipelineAckProto(seqno=1, reply=[pb.SUCCESS]).SerializeToString()
    with pytest.raises(errors.ProtocolViolation, match="two seqnos"):
        packets.decode_ack(first + pb.PipelineAckProto(seqno=2).SerializeToString())


@given(st.binary(max_size=30))
def test_a_garbage_ack_is_a_violation_or_an_ack(body: bytes) -> None:
    try:
        packets.decode_ack(body)
    except errors.ProtocolViolation:
        pass


def test_an_ack_of_more_datanodes_than_there_can_be_is_refused() -> None:
    body = pb.PipelineAckProto(seqno=1, flag=[0] * 2000).SerializePartialToString()
    with pytest.raises(errors.ProtocolViolation, match="an ack of 2000 datanodes"):
        packets.decode_ack(body)
