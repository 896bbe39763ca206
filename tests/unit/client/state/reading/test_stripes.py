"""The plan of a striped read: whatever is wanted and missing, the plan brings the right bytes."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.client.state.reading.stripes import (
    TooFewUnits,
    end_in_block,
    place_in_group,
    plan,
    rows,
)
from howdah.protocol.striping.coder import Coder
from howdah.protocol.striping.layout import GroupLayout
from howdah.protocol.striping.policies import Policy, Schema
from tests.support.striped_groups import internal_blocks

CELL = 8
DATA = random.Random(1).randbytes(4096)
POLICIES = [
    Policy(64, Schema(codec, data_units, parity_units), CELL)
    for codec, data_units, parity_units in (
        ("rs", 3, 2),
        ("rs", 6, 3),
        ("rs", 1, 2),
        ("rs-legacy", 3, 2),
        ("xor", 2, 1),
    )
]


def read_by_plan(
    layout: GroupLayout, blocks: list[bytes], start: int, end: int, missing: frozenset[int]
) -> tuple[bytes, dict[int, list[tuple[int, int]]]]:
    """What a reader does that follows the plan: the bytes, and what was read of each block."""
    schema = layout.policy.schema
    coder = Coder(schema.codec, schema.data_units, schema.parity_units)
    out = bytearray(end - start)
    reads: dict[int, list[tuple[int, int]]] = {}
    for row in rows(layout, start, end):
        planned = plan(layout, row, missing)
        units: dict[int, bytes | bytearray] = {index: b"" for index in planned.zeros}
        for index in planned.read:
            assert index not in missing
            units[index] = blocks[index][row.start : row.end]
            assert len(units[index]) == row.length
            reads.setdefault(index, []).append((row.start, row.end))
        lost = {index: bytearray(row.length) for index in planned.lost}
        if lost:
            coder.decode({index: units[index] for index in planned.sources}, lost)
        for index in row.wanted:
            at = place_in_group(layout, index, row.start) - start
            out[at : at + row.length] = (units | lost)[index]
    return bytes(out), reads


@st.composite
def reads_of_groups(draw: st.DrawFn) -> tuple[GroupLayout, int, int, frozenset[int]]:
    policy = draw(st.sampled_from(POLICIES))
    length = draw(st.integers(1, 4 * policy.schema.data_units * CELL))
    start = draw(st.integers(0, length))
    end = draw(st.integers(start, length))
    layout = GroupLayout(policy, length)
    missing = draw(
        st.frozensets(st.sampled_from(layout.block_indices), max_size=policy.schema.parity_units)
    )
    return layout, start, end, missing


@given(reads_of_groups())
def test_any_range_is_read_with_any_loss_that_the_policy_bears(
    read: tuple[GroupLayout, int, int, frozenset[int]],
) -> None:
    layout, start, end, missing = read
    data = DATA[: layout.length]
    found, reads = read_by_plan(layout, internal_blocks(layout.policy, data), start, end, missing)
    assert found == data[start:end]
    for index, pieces in reads.items():
        reach = max(last for _, last in pieces)
        if not missing:
            assert reach == end_in_block(layout, start, end, index)
        assert all(last <= first for (_, last), (first, _) in itertools.pairwise(pieces))


@pytest.mark.parametrize("length", [1, 7, 8, 9, 23, 24, 25, 47, 48, 61])
def test_every_pattern_of_loss_decodes_for_short_and_whole_stripes(length: int) -> None:
    layout = GroupLayout(POLICIES[0], length)
    data = DATA[:length]
    blocks = internal_blocks(layout.policy, data)
    for missing in itertools.combinations(layout.block_indices, 2):
        assert read_by_plan(layout, blocks, 0, length, frozenset(missing))[0] == data


@given(reads_of_groups(), st.data())
def test_what_was_read_before_another_block_went_missing_is_of_use(
    read: tuple[GroupLayout, int, int, frozenset[int]], more: st.DataObject
) -> None:
    layout, start, end, missing = read
    before = more.draw(st.frozensets(st.sampled_from(sorted(missing) or [0]))) & missing
    for row in rows(layout, start, end):
        kept = set(plan(layout, row, before).read) - missing
        assert kept <= set(plan(layout, row, missing).read)


@given(reads_of_groups())
def test_a_healthy_group_is_read_without_a_byte_more(
    read: tuple[GroupLayout, int, int, frozenset[int]],
) -> None:
    layout, start, end, _ = read
    found = list(rows(layout, start, end))
    assert sum(row.length * len(row.wanted) for row in found) == end - start
    assert all(plan(layout, row, ()).read == row.wanted for row in found)


def test_a_whole_stripe_is_one_row() -> None:
    layout = GroupLayout(POLICIES[1], 6 * CELL * 2)
    assert [row.wanted for row in rows(layout, 0, layout.length)] == [(0, 1, 2, 3, 4, 5)] * 2


def test_more_losses_than_parity_are_told_by_their_indices() -> None:
    layout = GroupLayout(POLICIES[0], 100)
    (row,) = rows(layout, 0, 3)
    with pytest.raises(TooFewUnits) as caught:
        plan(layout, row, {0, 2, 4})
    assert caught.value.missing == (0, 2, 4)


def test_a_loss_that_nobody_wants_costs_nothing() -> None:
    layout = GroupLayout(POLICIES[0], 100)
    (row,) = rows(layout, 0, 3)
    assert plan(layout, row, {1, 2, 3}).read == (0,)


def test_three_losses_of_a_group_of_ten_bytes_are_too_many() -> None:
    layout = GroupLayout(Policy(64, Schema("rs", 3, 2), 1024), 10)
    (row,) = rows(layout, 0, 10)
    assert plan(layout, row, {0, 3}).sources == (1, 2, 4)
    with pytest.raises(TooFewUnits):
        plan(layout, row, {0, 3, 4})


def test_a_range_outside_of_the_group_is_refused() -> None:
    with pytest.raises(ValueError, match="not in a group"):
        list(rows(GroupLayout(POLICIES[0], 10), 5, 11))
