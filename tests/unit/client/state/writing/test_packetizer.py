"""From written bytes to packets."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.client.state.writing.packetizer import OutgoingPacket, Packetizer
from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType, verify_chunks

SPEC = ChecksumSpec(ChecksumType.CRC32C, 8)


class Block:
    """Puts packets together as a datanode does: at their offset."""

    def __init__(self, content: bytes = b"") -> None:
        self.content = bytearray(content)
        self.blocks: list[bytes] = []
        self.packets: list[OutgoingPacket] = []

    def take(self, packets: Iterable[OutgoingPacket]) -> None:
        for packet in packets:
            self.packets.append(packet)
            data = bytes(packet.data)
            assert packet.offset_in_block <= len(self.content), "a hole"
            assert verify_chunks(SPEC, data, packet.sums) == -1
            self.content[packet.offset_in_block :] = data
            if packet.last_in_block:
                assert not data
                assert packet.offset_in_block == len(self.content)
                self.blocks.append(bytes(self.content))
                self.content.clear()


def packetizer(packet_bytes: int = 32, block_size: int = 1024, offset: int = 0) -> Packetizer:
    return Packetizer(SPEC, packet_bytes, block_size, offset_in_block=offset)


@pytest.mark.req("FS-119")
def test_data_is_cut_into_packets_of_whole_chunks() -> None:
    packets = list(packetizer().write(bytes(100)))
    assert [len(packet.data) for packet in packets] == [32, 32, 32]
    assert [packet.offset_in_block for packet in packets] == [0, 32, 64]


def test_a_packet_size_is_rounded_down_to_chunks() -> None:
    assert [len(p.data) for p in packetizer(packet_bytes=20).write(bytes(33))] == [16, 16]


def test_a_packet_holds_at_least_one_chunk() -> None:
    assert [len(p.data) for p in packetizer(packet_bytes=3).write(bytes(8))] == [8]


def test_bytes_are_not_copied() -> None:
    data = bytes(64)
    packet = next(iter(packetizer().write(data)))
    assert isinstance(packet.data, memoryview)
    assert packet.data.obj is data


@pytest.mark.req("OS-044")
def test_a_mutable_buffer_is_copied() -> None:
    data = bytearray(b"a" * 32)
    packet = next(iter(packetizer().write(data)))
    data[:] = b"b" * 32
    assert bytes(packet.data) == b"a" * 32


@pytest.mark.req("OS-044")
def test_a_read_only_view_of_a_mutable_buffer_is_copied() -> None:
    data = bytearray(b"a" * 32)
    packet = next(iter(packetizer().write(memoryview(data).toreadonly())))
    data[:] = b"b" * 32
    assert bytes(packet.data) == b"a" * 32


def test_a_full_block_ends_with_an_empty_last_packet() -> None:
    block = Block()
    block.take(packetizer(block_size=64).write(bytes(64)))
    assert [len(packet.data) for packet in block.packets] == [32, 32, 0]
    assert block.packets[-1].last_in_block


@pytest.mark.req("FS-008")
def test_two_and_a_half_blocks_make_three() -> None:
    block = Block()
    cutter = packetizer(block_size=64)
    block.take(cutter.write(bytes(160)))
    block.take(cutter.end_block())
    assert [len(each) for each in block.blocks] == [64, 64, 32]


def test_an_empty_block_has_no_packets() -> None:
    cutter = packetizer()
    assert list(cutter.flush()) == list(cutter.flush(sync=True)) == list(cutter.end_block()) == []


def test_a_flush_sends_the_partial_chunk_and_the_next_packet_repeats_it() -> None:
    cutter = packetizer()
    assert list(cutter.write(b"0123456789")) == []
    (first,) = cutter.flush()
    assert (first.offset_in_block, bytes(first.data)) == (0, b"0123456789")
    list(cutter.write(b"abc"))
    (second,) = cutter.flush()
    assert (second.offset_in_block, bytes(second.data)) == (8, b"89abc")


def test_a_flush_with_nothing_new_sends_nothing() -> None:
    cutter = packetizer()
    list(cutter.write(b"abc"))
    list(cutter.flush())
    assert list(cutter.flush()) == []


def test_a_sync_with_nothing_new_sends_the_order_alone() -> None:
    cutter = packetizer()
    list(cutter.write(b"abc"))
    list(cutter.flush())
    (packet,) = cutter.flush(sync=True)
    assert (packet.sync_block, packet.offset_in_block, len(packet.data)) == (True, 3, 0)


def test_the_end_of_a_block_does_not_repeat_what_a_flush_sent() -> None:
    cutter = packetizer()
    list(cutter.write(b"abc"))
    list(cutter.flush())
    (last,) = cutter.end_block()
    assert (last.last_in_block, last.offset_in_block) == (True, 3)


def test_an_append_first_fills_the_chunk_that_is_there() -> None:
    packets = list(packetizer(offset=13).write(bytes(40)))
    assert [(p.offset_in_block, len(p.data)) for p in packets] == [(13, 3), (16, 32)]


def test_a_flush_within_the_first_chunk_of_an_append_starts_where_it_did() -> None:
    cutter = packetizer(offset=13)
    list(cutter.write(b"a"))
    (first,) = cutter.flush()
    list(cutter.write(b"b"))
    (second,) = cutter.flush()
    assert (first.offset_in_block, bytes(first.data)) == (13, b"a")
    assert (second.offset_in_block, bytes(second.data)) == (13, b"ab")


@pytest.mark.parametrize("size", [0, -8, 20])
def test_a_block_size_that_is_no_multiple_of_the_chunk_is_refused(size: int) -> None:
    with pytest.raises(errors.IllegalArgument, match="multiple of the 8 bytes"):
        packetizer(block_size=size)


STEPS = st.lists(
    st.one_of(
        st.binary(max_size=200),
        st.binary(max_size=200).map(bytearray),
        st.sampled_from(["flush", "sync"]),
    ),
    max_size=25,
)


@given(
    STEPS,
    st.sampled_from([1, 8, 20, 32, 64]),
    st.sampled_from([8, 64, 256]),
    st.integers(0, 63),
)
def test_blocks_hold_what_was_written_however_it_was_flushed(
    steps: list[bytes | bytearray | str], packet_bytes: int, block_size: int, before: int
) -> None:
    old = bytes(range(before % block_size))
    block = Block(old)
    cutter = packetizer(packet_bytes, block_size, len(old))
    written = bytearray(old)
    for step in steps:
        if isinstance(step, str):
            block.take(cutter.flush(sync=step == "sync"))
            assert b"".join(block.blocks) + block.content == written
        else:
            if not cutter.absorb(step):
                block.take(cutter.write(step))
            written += step
    block.take(cutter.end_block())
    assert b"".join(block.blocks) == (written if len(written) > 0 else b"")
    assert all(len(each) == block_size for each in block.blocks[:-1])
