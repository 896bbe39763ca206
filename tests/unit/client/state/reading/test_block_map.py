"""Blocks by offset, held against what is known of the file."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.client.state.blocks import LocatedBlock
from howdah.client.state.reading.block_map import BlockMap
from howdah.protocol.data_transfer.blocks import ExtendedBlock


def block(offset: int, length: int, block_id: int = 1, stamp: int = 1) -> LocatedBlock:
    return LocatedBlock(ExtendedBlock("BP", block_id, stamp, length), offset, ())


def test_nothing_is_found_in_an_empty_map() -> None:
    assert BlockMap().find(0) is None


def test_newer_information_replaces_older() -> None:
    blocks = BlockMap()
    blocks.add([block(0, 10, stamp=1)])
    blocks.add([block(0, 10, stamp=2)])
    found = blocks.find(5)
    assert found is not None
    assert found.block.generation_stamp == 2


@given(st.lists(st.integers(1, 20), min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_every_byte_is_found_in_its_block(lengths: list[int], shuffler: random.Random) -> None:
    offsets = [sum(lengths[:index]) for index in range(len(lengths))]
    known = [
        block(offset, length, number)
        for number, (offset, length) in enumerate(zip(offsets, lengths, strict=True))
    ]
    shuffled = list(known)
    shuffler.shuffle(shuffled)
    blocks = BlockMap()
    for each in shuffled:
        blocks.add([each])
    for each in known:
        assert blocks.find(each.offset) == blocks.find(each.end - 1) == each
    assert blocks.find(sum(lengths)) is None


@pytest.mark.req("FS-087")
def test_a_block_of_another_pool_with_the_same_id_is_another_file() -> None:
    blocks = BlockMap("/f")
    blocks.add([block(0, 10, 1), block(10, 10, 2)])
    other = LocatedBlock(ExtendedBlock("BP-of-another-namenode", 1, 1, 10), 0, ())
    with pytest.raises(errors.FileChanged, match="BP-of-another-namenode"):
        blocks.add([other])
    found = blocks.find(0)
    assert found is not None
    assert found.block.pool_id == "BP"


def test_a_gap_is_a_gap() -> None:
    blocks = BlockMap()
    blocks.add([block(0, 10, 1), block(20, 10, 2)])
    assert blocks.find(10) is None
    assert blocks.find(19) is None


@pytest.mark.parametrize(
    "other",
    [block(0, 10, 9), block(5, 10, 2), block(10, 10, 9), block(0, 15, 1), block(12, 1, 3)],
    ids=["another id", "within", "another last", "over the next", "within the last"],
)
def test_blocks_of_another_file_are_refused_and_nothing_is_taken_in(other: LocatedBlock) -> None:
    blocks = BlockMap("/f")
    blocks.add([block(0, 10, 1), block(10, 10, 2)])
    with pytest.raises(errors.FileChanged, match="/f is not the file any more"):
        blocks.add([block(20, 10, 7), other])
    assert blocks.find(0) == block(0, 10, 1)
    assert blocks.find(10) == block(10, 10, 2)
    assert blocks.find(20) is None


def test_a_file_that_changed_is_a_stale_file_to_who_asks_for_errno() -> None:
    blocks = BlockMap("/f")
    blocks.add([block(0, 10, 1)])
    with pytest.raises(OSError, match="open it again") as caught:
        blocks.add([block(0, 10, 2)])
    assert caught.value.errno is not None


def test_a_block_that_was_cut_is_as_short_as_it_is_now() -> None:
    blocks = BlockMap()
    blocks.add([block(0, 10)])
    blocks.add([block(0, 4, stamp=2)])
    assert blocks.find(3) == block(0, 4, stamp=2)
    assert blocks.find(4) is None


def test_a_block_that_lost_all_its_bytes_is_gone() -> None:
    blocks = BlockMap()
    blocks.add([block(0, 10)])
    blocks.add([block(0, 0)])
    assert blocks.find(0) is None
    assert len(blocks) == 0


def test_what_was_appended_since_the_opening_is_left_out() -> None:
    blocks = BlockMap("/f", limit=15)
    blocks.add([block(0, 10, 1), block(10, 10, 2), block(20, 10, 3)])
    assert blocks.find(14) == block(10, 5, 2)
    assert blocks.find(15) is None
    assert len(blocks) == 2
