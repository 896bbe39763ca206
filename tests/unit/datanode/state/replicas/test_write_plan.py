"""Where a packet's bytes go: whatever is sent, files are the data and its checksums."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.datanode.state.replicas.write_plan import (
    check_sums_length,
    continues,
    fresh_sums,
    last_sum_of,
    plan_write,
)
from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType, checksum_chunks
from howdah.protocol.data_transfer.meta_header import META_HEADER_BYTES
from howdah.protocol.data_transfer.packets import PacketHeader

SPECS = [
    ChecksumSpec(kind, size)
    for kind in (ChecksumType.CRC32C, ChecksumType.CRC32, ChecksumType.NULL)
    for size in (4, 7)
]


def sums_of(spec: ChecksumSpec, data: bytes) -> bytes:
    out = bytearray(spec.sums_length(len(data)))
    checksum_chunks(spec, data, out)
    return bytes(out)


class Files:
    """The two files of a replica in memory, written as a plan says."""

    def __init__(self, on_disk: ChecksumSpec, received: ChecksumSpec) -> None:
        self.on_disk = on_disk
        self.received = received
        self.data = bytearray()
        self.meta = bytearray()
        self.last_sum = b""

    def take(self, header: PacketHeader, data: bytes, sums: bytes) -> None:
        plan = plan_write(self.on_disk, self.received, len(self.data), header, len(sums))
        if plan is None:
            return
        assert plan.data_offset == len(self.data), "nothing is written twice"
        new = (
            sums[plan.sums_skip :]
            if plan.reuse
            else bytes(
                fresh_sums(self.on_disk, len(self.data), self.last_sum, data[plan.data_skip :])
            )
        )
        self.data += data[plan.data_skip :]
        start = plan.meta_offset - META_HEADER_BYTES
        self.meta[start : start + len(new)] = new
        assert plan.end == len(self.data)
        self.last_sum = last_sum_of(self.on_disk, plan.end, new)


packets = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 20), st.booleans()), max_size=20)


@given(st.sampled_from(SPECS), st.sampled_from(SPECS), packets)
def test_any_packets_without_a_hole_make_the_data_and_its_checksums(
    on_disk: ChecksumSpec, received: ChecksumSpec, packets: list[tuple[int, int, bool]]
) -> None:
    content = bytes(range(1, 201)) * 3
    files = Files(on_disk, received)
    for seqno, (back, length, without_sums) in enumerate(packets):
        start = max(len(files.data) - back, 0)
        data = content[start : start + length]
        sums = b"" if without_sums else sums_of(received, data)
        files.take(PacketHeader(start, seqno, False, len(data)), data, sums)
        assert bytes(files.data) == content[: len(files.data)]
        assert bytes(files.meta) == sums_of(on_disk, content[: len(files.data)])


@given(
    st.sampled_from(SPECS),
    st.integers(0, 20),
    st.integers(0, 20),
    st.integers(0, 12),
    st.integers(0, 16),
)
def test_a_packet_that_simply_continues_is_taken_as_the_plan_says(
    spec: ChecksumSpec, length: int, offset: int, size: int, sums_bytes: int
) -> None:
    header = PacketHeader(offset, 0, False, size)
    if not continues(spec, length, header, sums_bytes):
        return
    check_sums_length(spec, header, sums_bytes)
    plan = plan_write(spec, spec, length, header, sums_bytes)
    assert plan is not None
    assert (plan.data_skip, plan.sums_skip, plan.reuse) == (0, 0, True)
    assert (plan.data_offset, plan.end) == (length, length + size)


@pytest.mark.parametrize("spec", SPECS)
def test_a_packet_that_continues_at_a_chunk_is_noticed(spec: ChecksumSpec) -> None:
    size = spec.bytes_per_checksum
    assert continues(spec, size, PacketHeader(size, 0, False, size + 1), spec.sums_length(size + 1))


def test_a_packet_behind_a_hole_is_out_of_sequence() -> None:
    with pytest.raises(errors.ProtocolViolation, match="out of sequence"):
        plan_write(SPECS[0], SPECS[0], 10, PacketHeader(11, 3, False, 5), 8)


def test_a_packet_that_was_sent_before_brings_nothing() -> None:
    assert plan_write(SPECS[0], SPECS[0], 10, PacketHeader(4, 3, False, 6), 8) is None


def test_a_packet_that_repeats_a_partial_chunk_replaces_its_checksum_only() -> None:
    spec = ChecksumSpec(ChecksumType.CRC32C, 4)
    plan = plan_write(spec, spec, 6, PacketHeader(4, 3, False, 8), 8)
    assert plan is not None
    assert (plan.data_skip, plan.data_offset) == (2, 6)
    assert (plan.sums_skip, plan.meta_offset, plan.reuse) == (0, META_HEADER_BYTES + 4, True)


@pytest.mark.parametrize("wrong", [1, 4, 12])
def test_checksums_that_are_too_few_or_too_many_are_refused(wrong: int) -> None:
    spec = ChecksumSpec(ChecksumType.CRC32C, 4)
    with pytest.raises(errors.ProtocolViolation, match="8 are right"):
        check_sums_length(spec, PacketHeader(0, 0, False, 8), wrong)
    check_sums_length(spec, PacketHeader(0, 0, False, 8), 8)
    check_sums_length(spec, PacketHeader(0, 0, False, 8), 0)
