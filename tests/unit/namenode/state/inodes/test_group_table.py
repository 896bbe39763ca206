"""Rows of block groups: who holds which index, also where storages have large numbers."""

from __future__ import annotations

import random

import pytest

from howdah.namenode.state.blocks.datanodes import Datanode, DatanodeIdentity, Storage
from howdah.namenode.state.inodes import group_table
from howdah.namenode.state.inodes.block_rows import Beside
from howdah.namenode.state.inodes.block_table import BlockState, BlockTable
from howdah.protocol.striping.layout import FIRST_GROUP_ID
from howdah.protocol.striping.policies import SYSTEM_POLICIES

MIB = 1 << 20


@pytest.mark.parametrize("policy_id", SYSTEM_POLICIES)
@pytest.mark.parametrize("largest", [None, 3])
def test_holders_are_those_that_were_added(
    policy_id: int, largest: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`largest` is the largest number that a storage may have in a row."""
    blocks, dice = BlockTable(), random.Random(policy_id)
    if largest is not None:
        number_of = blocks.beside.number_of

        def crowded(_: Beside, storage: Storage) -> int:
            number = number_of(storage)
            return number if number <= largest else number + group_table._ELSEWHERE

        monkeypatch.setattr(Beside, "number_of", crowded)
    node = Datanode(DatanodeIdentity("dn", "10.0.0.1", "host", 1, 2, 3), "/rack", 0)
    storages = [Storage(f"DS-{number}", 0, node) for number in range(20)]
    units = SYSTEM_POLICIES[policy_id].schema.units
    groups = [
        blocks.groups.new(
            FIRST_GROUP_ID + 16 * number, 40 * MIB, 7 + number, 1, BlockState.COMPLETE, policy_id
        )
        for number in range(3)
    ]
    expected: dict[int, list[Storage]] = {g.block_id + i: [] for g in groups for i in range(units)}
    for _ in range(400):
        part = dice.choice(groups).part(dice.randrange(units))
        known, storage = expected[part.block_id], dice.choice(storages)
        if storage in known:
            part.remove_replica(storage)
            known.remove(storage)
        elif len(known) < 3:
            part.add_replica(storage)
            known.append(storage)
        assert part.replicas == known
        group = part.group
        held = [(i, s) for i in range(units) for s in expected[group.block_id + i]]
        assert group.held == held
        assert group.replica_count == len({index for index, _ in held})
    assert [group.generation_stamp for group in groups] == [7, 8, 9]
    assert {group.length_bytes for group in groups} == {40 * MIB}
    taken = blocks.pop(groups[0].block_id)
    assert taken is not None
    assert taken.replicas == [s for i in range(units) for s in expected[FIRST_GROUP_ID + i]]
