"""Blocks by offset, and their batches."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.client.blocks import LocatedBlock
from howdah.client.locations import BlockMap, FileLocations
from howdah.client.settings import ClientSettings
from howdah.transfer.blocks import DatanodeAddress, ExtendedBlock, StorageType

FakeCluster = Any


def block(offset: int, length: int, block_id: int = 1) -> LocatedBlock:
    return LocatedBlock(ExtendedBlock("BP", block_id, 1, length), offset, ())


def test_nothing_is_found_in_an_empty_map() -> None:
    assert BlockMap().find(0) is None


def test_newer_information_replaces_older() -> None:
    blocks = BlockMap()
    blocks.add([block(0, 10, 1)])
    blocks.add([block(0, 10, 2)])
    found = blocks.find(5)
    assert found is not None
    assert found.block.block_id == 2


@given(st.lists(st.integers(1, 20), min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_every_byte_is_found_in_its_block(lengths: list[int], shuffler: Any) -> None:
    offsets = [sum(lengths[:index]) for index in range(len(lengths))]
    known = [block(offset, length) for offset, length in zip(offsets, lengths, strict=True)]
    shuffled = list(known)
    shuffler.shuffle(shuffled)
    blocks = BlockMap()
    for each in shuffled:
        blocks.add([each])
    for each in known:
        assert blocks.find(each.offset) == blocks.find(each.end - 1) == each
    assert blocks.find(sum(lengths)) is None


def test_a_gap_is_a_gap() -> None:
    blocks = BlockMap()
    blocks.add([block(0, 10), block(20, 10)])
    assert blocks.find(10) is None
    assert blocks.find(19) is None


def test_a_block_that_the_namenode_has_lost_is_named_by_its_offset(cluster: FakeCluster) -> None:
    cluster.put(bytes(2048), block_size=1024)
    locations = FileLocations("/f", cluster.namenode, ClientSettings(prefetch_bytes=1024), 1024)
    cluster.namenode.files["/f"].blocks.pop()
    with pytest.raises(errors.BlockMissing, match="no block for offset 1024"):
        locations.block_at(1024)


def test_a_located_block_survives_the_wire() -> None:
    node = DatanodeAddress("10.0.0.1", "dn", "uuid", 9866, 9864, 9867, 0, "/rack1")
    original = LocatedBlock(
        ExtendedBlock("BP", 7, 8, 9), 10, (node,), ("s1",), (StorageType.SSD,), (True,)
    )
    assert LocatedBlock.from_proto(original.to_proto()) == original
