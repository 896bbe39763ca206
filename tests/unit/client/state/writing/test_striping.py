"""Whose turn it is, which failures are borne, and how much of a group is safe."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.client.state.writing.striping import (
    CellTurns,
    GroupFailures,
    acknowledged_length,
)
from howdah.protocol.striping.layout import GroupLayout
from howdah.protocol.striping.policies import SYSTEM_POLICIES, Policy, Schema

CELL = 8
POLICY = Policy(64, Schema("rs", 3, 2), CELL)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=12), st.integers(CELL, 30))
def test_pieces_land_where_the_layout_has_them(writes: list[int], block_bytes: int) -> None:
    turns = CellTurns(POLICY, block_bytes)
    lengths = [0, 0, 0]
    for count in writes:
        left = count
        while left and not turns.is_group_full:
            (expected, *_) = GroupLayout(POLICY, 10**6).pieces(turns.position, turns.position + 1)
            turn = turns.next_turn(left)
            assert (turn.index, turn.start) == (expected.index, expected.block_offset % CELL)
            lengths[turn.index] += turn.length
            left -= turn.length
    layout = GroupLayout(POLICY, turns.position)
    assert lengths == [layout.block_length(index) for index in range(3)]
    in_stripe = [length - max(layout.stripes - 1, 0) * CELL for length in lengths]
    assert list(turns.cell_lengths) == in_stripe
    assert turns.ends_stripe == (turns.position % (3 * CELL) == 0)


def test_a_group_ends_with_its_data_blocks() -> None:
    turns = CellTurns(POLICY, 2 * CELL)
    while not turns.is_group_full:
        turns.next_turn(5)
    assert turns.position == 3 * 2 * CELL
    turns.begin_group()
    assert turns.next_turn(1).index == 0


def test_failures_need_one_new_stamp_together() -> None:
    failures = GroupFailures("/f", POLICY, 2**31 - 1)
    failures.failed(1, "is gone")
    failures.failed(4, "is gone")
    failures.check()
    assert failures.must_be_marked
    failures.begin_marking()
    assert not failures.must_be_marked
    failures.failed(1, "is still gone")
    assert not failures.must_be_marked
    assert 1 in failures
    failures.begin_group()
    assert 1 not in failures


def test_parity_without_a_datanode_counts_but_needs_no_stamp() -> None:
    failures = GroupFailures("/f", POLICY, 2**31 - 1)
    failures.never_begun(3)
    failures.never_begun(4)
    failures.check()
    assert not failures.must_be_marked
    failures.failed(0, "is gone")
    with pytest.raises(errors.PipelineFailed, match=r"failed blocks = 3 > .* tolerated = 2"):
        failures.check()


def test_fewer_failures_are_tolerated_where_that_is_configured() -> None:
    failures = GroupFailures("/f", POLICY, 0)
    failures.failed(3, "dn3 is gone")
    with pytest.raises(errors.PipelineFailed, match=r"tolerated = 0 .*dn3 is gone"):
        failures.check()


@pytest.mark.parametrize(
    ("lengths", "safe"),
    [
        ({index: 16 for index in range(5)}, 48),
        ({0: 16, 1: 16, 2: 16}, 48),
        ({0: 16, 3: 16, 4: 16}, 48),
        ({0: 16, 1: 15, 2: 15, 3: 15}, 24),
        ({0: 16, 1: 16}, 0),
        ({0: 7, 1: 0, 2: 0, 3: 7, 4: 7}, 0),
    ],
)
def test_whole_stripes_of_enough_internal_blocks_are_safe(
    lengths: dict[int, int], safe: int
) -> None:
    assert acknowledged_length(POLICY, 48, lengths) == safe


def test_a_short_stripe_is_safe_with_all_of_enough_internal_blocks() -> None:
    # 10 bytes: 8 in the first cell, 2 in the second; parity is as long as the first.
    assert acknowledged_length(POLICY, 10, {0: 8, 1: 2, 2: 0, 4: 8}) == 10
    assert acknowledged_length(POLICY, 10, {0: 8, 1: 1, 3: 7}) == 0
    assert acknowledged_length(SYSTEM_POLICIES[2], 10, {0: 10, 3: 10, 4: 10}) == 10
