"""Cutting a stream into packets, whatever the pieces in which it arrives."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.protocol.data_transfer.packet_stream import PacketStream
from howdah.protocol.data_transfer.packets import PacketHeader, encode_packet

contents = st.lists(st.tuples(st.binary(max_size=20), st.binary(max_size=300)), max_size=12)


def wire_of(pairs: list[tuple[bytes, bytes]]) -> bytes:
    return b"".join(
        encode_packet(PacketHeader(i, i, False, len(data), i % 3 == 0), sums, data)
        for i, (sums, data) in enumerate(pairs)
    )


@given(contents, st.integers(1, 200), st.integers(16, 400))
def test_packets_come_out_as_they_went_in_whatever_the_pieces(
    pairs: list[tuple[bytes, bytes]], piece: int, buffer_bytes: int
) -> None:
    wire = wire_of(pairs)
    stream = PacketStream(buffer_bytes)
    got: list[tuple[bytes, bytes]] = []
    sent = 0
    while True:
        while (packet := stream.next_packet()) is not None:
            assert packet.header.seqno == len(got)
            got.append((bytes(packet.sums), bytes(packet.data)))
        if sent == len(wire):
            break
        room = stream.writable()
        assert len(room) > 0
        count = min(len(room), piece, len(wire) - sent)
        room[:count] = wire[sent : sent + count]
        stream.filled(count)
        sent += count
    assert got == pairs
    assert stream.pending_bytes == 0


@given(contents)
def test_consecutive_packets_are_one_span(pairs: list[tuple[bytes, bytes]]) -> None:
    wire = wire_of(pairs)
    stream = PacketStream(16)
    stream.feed(wire)
    start, end = None, 0
    while (packet := stream.next_packet()) is not None:
        start = packet.start if start is None else start
        end = packet.end
    assert bytes(stream.span(start or 0, end)) == wire


def test_bytes_after_the_last_packet_are_given_back() -> None:
    stream = PacketStream(64)
    stream.feed(encode_packet(PacketHeader(0, 0, True, 0)) + b"next op")
    assert stream.next_packet() is not None
    assert stream.take_pending() == b"next op"
    assert stream.pending_bytes == 0


def test_an_announced_giant_is_refused_before_room_is_made_for_it() -> None:
    stream = PacketStream(64)
    stream.feed(struct.pack(">ih", (1 << 31) - 1, 25))
    with pytest.raises(errors.ProtocolViolation):
        stream.next_packet()
    assert len(stream.writable()) <= 64


def test_a_packet_longer_than_the_buffer_makes_it_grow() -> None:
    stream = PacketStream(16)
    wire = encode_packet(PacketHeader(0, 0, False, 5000), b"", bytes(5000))
    stream.feed(wire[:40])
    assert stream.next_packet() is None
    assert stream.missing_bytes == len(wire) - 40
    assert len(stream.writable()) >= len(wire) - 40
