"""Cached replicas as those see them that send them: who has the memory, and which bytes."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.datanode.memory.mmap_replicas import MappedReplica
from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType, checksum_chunks

SPEC = ChecksumSpec(ChecksumType.CRC32C, 512)
DATA = os.urandom(5 * 512 + 77)

pytestmark = pytest.mark.req("FS-037")


def sums_of(data: bytes) -> bytes:
    out = bytearray(SPEC.sums_length(len(data)))
    checksum_chunks(SPEC, data, out)
    return bytes(out)


def mapped(data: bytes = DATA, sums: bytes | None = None) -> MappedReplica:
    sums = sums_of(data) if sums is None else sums
    last_sum = sums_of(data)[-4:] if len(data) % 512 else b""
    return MappedReplica(1001, SPEC, memoryview(data), memoryview(sums), last_sum)


@given(st.integers(1, len(DATA)), st.data())
def test_a_stretch_has_the_checksums_of_its_chunks(length: int, data: st.DataObject) -> None:
    whole = DATA[:length]
    first = data.draw(st.integers(0, (length - 1) // 512))
    start = first * 512
    end = data.draw(st.sampled_from([*range(start + 512, length, 512), length]))
    sums, last_sum, found = mapped(whole).chunks(start, end)
    assert bytes(found) == whole[start:end]
    assert bytes(sums) + last_sum == sums_of(whole[start:end])


def test_the_checksum_of_a_partial_chunk_is_that_of_the_time_of_caching() -> None:
    """An append overwrites the one in the file."""
    overwritten = sums_of(DATA)[:-4] + b"\0\0\0\0"
    sums, last_sum, _ = mapped(DATA, overwritten).chunks(0, len(DATA))
    assert bytes(sums) + last_sum == sums_of(DATA)


@given(st.lists(st.sampled_from(["borrow", "give back", "close"]), max_size=30))
def test_memory_goes_when_the_last_one_is_done_and_nobody_comes_after(steps: list[str]) -> None:
    subject = mapped()
    users, closed = 0, False
    for step in steps:
        if step == "borrow":
            assert subject.borrow() is not closed
            users += not closed
        elif step == "close":
            closed = True
            assert subject.close() is (users == 0)
        elif users:
            subject.give_back()
            users -= 1


def test_what_was_not_borrowed_is_not_given_back() -> None:
    with pytest.raises(AssertionError, match="not borrowed"):
        mapped().give_back()
