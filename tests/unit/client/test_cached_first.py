"""Replicas in memory go first, where a client wants that."""

from __future__ import annotations

import pytest

from howdah.client.state.blocks import LocatedBlock
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock

A, B, C = (DatanodeAddress("127.0.0.1", name, name, port) for port, name in enumerate("abc", 1))


@pytest.mark.parametrize(
    ("cached", "order"),
    [
        ((), (A, B, C)),
        ((False, False, False), (A, B, C)),
        ((False, True, False), (B, A, C)),
        ((False, True, True), (B, C, A)),
        ((False, True), (B, A, C)),
    ],
)
def test_those_in_memory_go_first_and_each_part_keeps_its_order(
    cached: tuple[bool, ...], order: tuple[DatanodeAddress, ...]
) -> None:
    block = LocatedBlock(ExtendedBlock("BP-1", 1, 1001, 9), 0, (A, B, C), cached=cached)
    assert block.cached_first == order
