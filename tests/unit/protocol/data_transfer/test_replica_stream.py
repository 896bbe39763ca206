"""Packets of a replica, small ones many at a time: the same bytes, and never waited for more than
comes."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType, checksum_chunks
from howdah.protocol.data_transfer.packets import PacketHeader, count_alike, encode_packet
from howdah.protocol.data_transfer.replica_stream import ReplicaStream
from howdah.protocol.data_transfer.responses import BlockOpResponse, ReadChecksumInfo
from howdah.protocol.data_transfer.status import Status

CHUNK = 64
SPEC = ChecksumSpec(ChecksumType.CRC32C, CHUNK)


class Arrived:
    """A connection on which so much comes, and nothing after it."""

    def __init__(self, data: bytes) -> None:
        self._left = memoryview(data)

    def have(self, count: int) -> memoryview:
        assert count <= len(self._left), "it was waited for what never comes"
        return self._left

    def pass_over(self, count: int) -> None:
        self._left = self._left[count:]

    def recv_exactly(self, count: int) -> bytes:
        found = bytes(self.have(count)[:count])
        self.pass_over(count)
        return found

    def recv_into_exactly(self, target: memoryview) -> None:
        target[:] = self.recv_exactly(len(target))

    def lend(self, count: int) -> None:
        return None


def packet(data: bytes, offset: int, number: int) -> bytes:
    sums = bytearray(SPEC.sums_length(len(data)))
    checksum_chunks(SPEC, data, sums)
    return encode_packet(PacketHeader(offset, number, False, len(data)), bytes(sums), data)


def packets(data: bytes, first: int, lengths: list[int]) -> bytes:
    """As a datanode sends them: whole chunks, and last an empty packet."""
    found, at, number = [], 0, 0
    while at < len(data):
        length = lengths[number % len(lengths)] * CHUNK
        found.append(packet(data[at : at + length], first + at, number))
        at += length
        number += 1
    found.append(encode_packet(PacketHeader(first + at, number, True, 0)))
    return b"".join(found)


def stream_of(wire: bytes, first: int, end: int) -> ReplicaStream:
    response = BlockOpResponse(Status.SUCCESS, read_checksum=ReadChecksumInfo(SPEC, first))
    return ReplicaStream(Arrived(wire), response, lambda: ("dn", "blk_1"), first, end)


def read(stream: ReplicaStream, end: int, room: int) -> tuple[bytes, int]:
    """All data up to `end`, and how many bytes of it came together; the first packet comes by
    itself."""
    found, together = bytearray(), 0
    while stream.position < end:
        target = memoryview(bytearray(room))
        if not stream.left:
            count, bad = stream.receive_alike(target)
            assert bad < 0
            found += target[:count]
            together += count
            if count:
                continue
            stream.next_packet()
        piece = memoryview(bytearray(stream.left))
        assert stream.receive(piece) < 0
        found += piece
    return bytes(found), together


@given(
    st.integers(1, 60),
    st.integers(0, CHUNK - 1),
    st.integers(0, 5),
    st.lists(st.integers(1, 6), min_size=1, max_size=4),
    st.integers(1, 2000),
    st.integers(0, CHUNK),
)
def test_all_bytes_come_whatever_the_packets(
    chunks: int, short: int, first: int, lengths: list[int], room: int, early: int
) -> None:
    data = random.Random(chunks).randbytes(chunks * CHUNK - short)
    first *= CHUNK
    # Who asks for a part gets whole chunks.
    end = max(first + len(data) - early, first + 1)
    found, _ = read(stream_of(packets(data, first, lengths), first, end), end, room)
    assert found[: end - first] == data[: end - first]


def test_packets_that_are_alike_come_together() -> None:
    data = random.Random(1).randbytes(100 * CHUNK)
    found, together = read(stream_of(packets(data, 0, [2]), 0, len(data)), len(data), 40 * CHUNK)
    assert found == data
    assert together > 90 * CHUNK


def test_a_bad_chunk_among_many_packets_is_found() -> None:
    data = random.Random(2).randbytes(20 * CHUNK)
    wire = bytearray(packets(data, 0, [2]))
    stride = len(packet(data[: 2 * CHUNK], 0, 0))
    wire[7 * stride + stride - 1] ^= 1  # the last byte of the eighth packet
    stream = stream_of(bytes(wire), 0, len(data))
    stream.next_packet()
    stream.receive(memoryview(bytearray(stream.left)))
    count, bad = stream.receive_alike(memoryview(bytearray(len(data))))
    assert bad == 15 * CHUNK
    assert count > bad - stream.position
    assert stream.position == 2 * CHUNK


def test_a_packet_that_is_out_of_its_place_is_refused() -> None:
    data = random.Random(3).randbytes(20 * CHUNK)
    parts = [packet(data[at : at + CHUNK], at, at) for at in range(0, len(data), CHUNK)]
    parts[5], parts[6] = parts[6], parts[5]
    with pytest.raises(errors.ProtocolViolation, match=r"expected was offset 320"):
        read(stream_of(b"".join(parts), 0, len(data)), len(data), 1000)


@pytest.mark.parametrize(
    "odd",
    [
        PacketHeader(2 * CHUNK, 2, False, CHUNK, True),
        PacketHeader(2 * CHUNK, 2, True, CHUNK),
        PacketHeader(3 * CHUNK, 2, False, CHUNK),
    ],
)
def test_packets_are_alike_up_to_one_that_is_not(odd: PacketHeader) -> None:
    alike = [PacketHeader(n * CHUNK, n, False, CHUNK) for n in range(4)]
    sums, data = bytes(4), bytes(CHUNK)

    def wire(*headers: PacketHeader) -> bytes:
        return b"".join(encode_packet(header, sums, data) for header in headers)

    assert count_alike(wire(*alike), 0, alike[0], 4) == 4
    assert count_alike(wire(*alike)[:-1], 0, alike[0], 4) == 3
    assert count_alike(wire(*alike[:2], odd, alike[3]), 0, alike[0], 4) == 2
    assert count_alike(wire(*alike), CHUNK, alike[0], 4) == 0
    assert count_alike(b"", 0, alike[0], 4) == 0
    assert count_alike(bytes(1000), 0, alike[0], 4) == 0
