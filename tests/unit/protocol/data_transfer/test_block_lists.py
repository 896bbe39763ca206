"""Block reports as bytes, from our datanodes and from Hadoop's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.protocol.data_transfer import block_lists
from howdah.protocol.data_transfer.block_lists import ListedReplica

replicas = st.lists(
    st.builds(
        ListedReplica,
        st.integers(-(1 << 63), (1 << 63) - 1),
        st.integers(0, (1 << 63) - 1),
        st.integers(0, (1 << 63) - 1),
        st.integers(0, 4),
    ),
    max_size=20,
)


@given(replicas)
def test_a_list_comes_back_as_it_was(listed: list[ListedReplica]) -> None:
    count, buffers = block_lists.encode(listed)
    assert count == len(listed)
    assert list(block_lists.decode(count, buffers)) == listed


@given(replicas, st.integers(1, 50))
def test_a_list_that_is_cut_anywhere_is_read(listed: list[ListedReplica], piece: int) -> None:
    """Hadoop's datanodes cut every 64 KiB, through the middle of a number if need be."""
    count, buffers = block_lists.encode(listed)
    whole = b"".join(buffers)
    pieces = [whole[start : start + piece] for start in range(0, len(whole), piece)]
    assert list(block_lists.decode(count, pieces)) == listed


def test_a_long_list_is_cut_into_buffers() -> None:
    listed = [ListedReplica(1 << 30, 1 << 27, 1 << 20, 0)] * 20_000
    count, buffers = block_lists.encode(listed)
    assert len(buffers) > 1
    assert max(map(len, buffers)) < block_lists.MAX_BUFFER_BYTES + 40
    assert list(block_lists.decode(count, buffers)) == listed


def test_a_list_that_ends_inside_a_replica_is_refused() -> None:
    count, buffers = block_lists.encode([ListedReplica(1 << 40, 5, 5, 0)])
    with pytest.raises(errors.ProtocolViolation, match="ends inside"):
        list(block_lists.decode(count, [buffers[0][:-1]]))


@pytest.mark.parametrize("announced", [0, 2])
def test_a_list_of_another_length_than_announced_is_refused(announced: int) -> None:
    _, buffers = block_lists.encode([ListedReplica(1, 5, 5, 0)])
    with pytest.raises(errors.ProtocolViolation, match="lists 1"):
        list(block_lists.decode(announced, buffers))


def test_an_endless_number_is_refused() -> None:
    with pytest.raises(errors.ProtocolViolation, match="more than 10 bytes"):
        list(block_lists.decode(1, [b"\xff" * 20]))
