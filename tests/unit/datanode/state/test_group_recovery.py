"""What the internal blocks of a block group agree on when it is recovered."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.datanode.state.block_recovery import Candidate
from howdah.datanode.state.group_recovery import GroupAgreement, Location, agree, settle
from howdah.datanode.state.messages import RecoverGroup
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.protocol.data_transfer.blocks import (
    NO_DATANODE,
    DatanodeAddress,
    ExtendedBlock,
)
from howdah.protocol.striping.layout import FIRST_GROUP_ID, GroupLayout
from howdah.protocol.striping.policies import Policy, Schema

POLICY = Policy(64, Schema("rs", 3, 2), 1024)
CELL, UNITS = POLICY.cell_bytes, 5
GROUP = ExtendedBlock("BP-1", FIRST_GROUP_ID, 1001, 0)
NODES = tuple(DatanodeAddress(f"10.0.0.{n}", f"node{n}", f"uuid-{n}", 9866) for n in range(6))
ORDER = RecoverGroup(GROUP, 1009, NODES[:UNITS], tuple(range(UNITS)), POLICY, "namenode")
Said = int | Exception | Candidate | None


def candidate(index: int, length: int, stamp: int = 1001) -> Candidate:
    return Candidate(GROUP.block_id + index, stamp, length, ReplicaState.RBW)


def agreed(*said: Said, order: RecoverGroup = ORDER) -> GroupAgreement:
    """The outcome where each datanode says how long its block is, or something else."""
    return agree(
        order,
        {
            Location(node, index): candidate(index, answer) if isinstance(answer, int) else answer
            for node, index, answer in zip(order.nodes, order.indices, said, strict=True)
        },
    )


def lengths(agreement: GroupAgreement) -> tuple[int, set[int]]:
    return agreement.group.length_bytes, {location.index for location in agreement.participants}


GONE = errors.CallTimeout("no answer")
OLD = candidate(4, 3 * CELL, stamp=1000)
LONG = (1 << 31) + CELL
"""More than 2 GiB, and a multiple of the cells."""


@pytest.mark.parametrize(
    ("said", "length", "indices"),
    [
        # Two stripes are whole everywhere, a third one has begun.
        ([3 * CELL, 2 * CELL + 5, 2 * CELL, 2 * CELL, 2 * CELL], 6 * CELL, {0, 1, 2, 3, 4}),
        # Parity counts as much as data, and blocks that are short are left out.
        ([3 * CELL, CELL, CELL - 1, 2 * CELL, 2 * CELL], 6 * CELL, {0, 3, 4}),
        ([2 * CELL, GONE, GONE, 2 * CELL, 2 * CELL], 6 * CELL, {0, 3, 4}),
        ([2 * CELL, 2 * CELL, CELL, CELL, OLD], 3 * CELL, {0, 1, 2, 3}),
        # The last stripe may be a short one: its data ends in the second or third cell.
        ([2 * CELL, CELL + 9, CELL, 2 * CELL, 2 * CELL], 3 * CELL, {0, 1, 2, 3, 4}),
        ([2 * CELL, None, GONE, 2 * CELL, 2 * CELL], 3 * CELL, {0, 3, 4}),
        ([CELL, CELL, CELL - 1, CELL, GONE], 0, set()),
        ([CELL, CELL, None, CELL, CELL], 0, set()),
        # Replicas that are empty, or were left behind by a new stamp, are as good as none.
        ([3 * CELL, 0, 2 * CELL, 2 * CELL, OLD], 6 * CELL, {0, 2, 3}),
        ([2 * CELL, candidate(1, 0), 2 * CELL + 1, CELL, OLD], 3 * CELL, {0, 2, 3}),
        ([LONG, LONG + CELL, LONG - 1, LONG + 5, None], 3 * LONG, {0, 1, 3}),
        # No stripe is whole, or there cannot be one.
        ([CELL, CELL, 5, 5, 5], 0, set()),
        ([CELL, CELL, None, 0, None], 0, set()),
        ([CELL, None, None, None, GONE], 0, set()),
    ],
)
def test_the_stripes_stay_that_are_whole(said: list[Said], length: int, indices: set[int]) -> None:
    assert lengths(agreed(*said)) == (length, indices)


def test_a_stripe_stays_that_its_writer_has_told_of() -> None:
    """By a new stamp for the datanodes that were left: it is not the short one at the end."""
    order = replace(ORDER, group=GROUP.with_length(6 * CELL))
    said: list[Said] = [2 * CELL, CELL + 9, None, 2 * CELL, 2 * CELL]
    assert lengths(agreed(*said, order=order)) == (6 * CELL, {0, 3, 4})
    order = replace(ORDER, group=GROUP.with_length(6 * CELL - 1))
    assert lengths(agreed(*said, order=order)) == (3 * CELL, {0, 1, 3, 4})


@given(
    written=st.integers(1, 9 * CELL),
    late=st.lists(st.integers(0, 2 * CELL), min_size=UNITS, max_size=UNITS),
    is_closing=st.booleans(),
)
def test_nothing_is_recovered_that_was_not_written(
    written: int, late: list[int], *, is_closing: bool
) -> None:
    """All datanodes answer, and have less than they were sent; parity of a short stripe comes with
    the end of the file."""
    whole = GroupLayout(POLICY, written)
    parity = whole if is_closing else GroupLayout(POLICY, written - written % (3 * CELL))
    sent = [
        (whole if index < 3 else parity).block_length(index) - late[index] for index in range(UNITS)
    ]
    agreement = agreed(*[length if length > 0 else None for length in sent])
    assert agreement.group.length_bytes <= written


@pytest.mark.parametrize(
    "said", [[CELL, CELL, None, GONE, None], [GONE] * 5, [CELL, 0, 0, GONE, GONE]]
)
def test_nothing_is_decided_while_silent_datanodes_may_have_what_is_missing(
    said: list[Said],
) -> None:
    with pytest.raises(errors.RemoteError, match="don't answer"):
        agreed(*said)


def test_of_an_index_at_two_datanodes_the_longer_one_counts() -> None:
    order = replace(ORDER, nodes=NODES, indices=(0, 1, 2, 3, 4, 2))
    agreement = agreed(CELL, CELL, CELL, None, None, 2 * CELL, order=order)
    assert lengths(agreement) == (3 * CELL, {0, 1, 2})
    assert Location(NODES[5], 2) in agreement.participants


def test_another_attempt_that_is_ahead_goes_first() -> None:
    with pytest.raises(errors.RecoveryInProgress, match="gives way"):
        agreed(CELL, CELL, CELL, errors.RecoveryInProgress("1010"), None)


def test_the_namenode_hears_of_each_index() -> None:
    agreement = agreed(CELL, GONE, CELL, CELL, CELL)
    outcomes: dict[Location, str | Exception] = {
        location: f"DS-{location.index}" for location in agreement.participants
    }
    told = settle(ORDER, agreement, outcomes)
    assert (told.block, told.new_stamp, told.new_length_bytes) == (GROUP, 1009, 3 * CELL)
    assert told.nodes == (NODES[0], NO_DATANODE, *NODES[2:5])
    assert told.storage_ids == ("DS-0", "", "DS-2", "DS-3", "DS-4")
    assert not told.delete
    outcomes[Location(NODES[0], 0)] = OSError("full")
    assert settle(ORDER, agreement, outcomes).nodes[:2] == (NO_DATANODE, NO_DATANODE)
    outcomes[Location(NODES[2], 2)] = OSError("full")
    with pytest.raises(errors.RemoteError, match="needs 3"):
        settle(ORDER, agreement, outcomes)


def test_a_group_without_a_whole_stripe_is_dropped() -> None:
    told = settle(ORDER, agreed(5, 5, 5, 5, 5), {})
    assert (told.delete, told.new_length_bytes, told.nodes) == (True, 0, ())


@given(
    stripes=st.integers(0, 4),
    more=st.lists(st.integers(0, 2 * CELL), min_size=UNITS, max_size=UNITS),
    lost=st.sets(st.integers(0, UNITS - 1), max_size=2),
)
def test_what_is_whole_everywhere_survives_two_losses(
    stripes: int, more: list[int], lost: set[int]
) -> None:
    said: list[Said] = [
        GONE if index in lost else stripes * CELL + extra for index, extra in enumerate(more)
    ]
    try:
        agreement = agreed(*said)
    except errors.RemoteError:
        assert not stripes, "a whole stripe is enough to decide"
        return
    length = agreement.group.length_bytes
    assert length >= stripes * 3 * CELL
    assert length % (3 * CELL) == 0
    layout = GroupLayout(POLICY, length)
    for location, one in agreement.participants.items():
        assert one.length_bytes >= layout.block_length(location.index)
    assert not length or len(agreement.participants) >= 3


# Groups of final length.

WHOLE = GroupLayout(POLICY, 4 * CELL + 7)
COMMITTED = replace(ORDER, committed_bytes=WHOLE.length)
LENGTHS = [WHOLE.block_length(index) for index in range(UNITS)]


@pytest.mark.parametrize(
    ("short", "indices"),
    [
        ({}, {0, 1, 2, 3, 4}),
        ({1: LENGTHS[1] - 1, 4: None}, {0, 2, 3}),
        ({0: 5, 2: GONE}, {1, 3, 4}),
    ],
)
def test_a_committed_group_keeps_its_length(short: dict[int, Said], indices: set[int]) -> None:
    said = [short.get(index, LENGTHS[index]) for index in range(UNITS)]
    assert lengths(agreed(*said, order=COMMITTED)) == (WHOLE.length, indices)


@pytest.mark.parametrize("lost", [None, GONE, 0, CELL - 1])
def test_a_committed_group_is_left_alone_where_too_few_are_whole(lost: Said) -> None:
    with pytest.raises(errors.RemoteError, match="2 of its internal blocks are whole"):
        agreed(*LENGTHS[:2], lost, lost, lost, order=COMMITTED)


def test_of_a_small_committed_group_one_block_is_enough() -> None:
    order = replace(ORDER, committed_bytes=10)
    agreement = agreed(None, None, None, 10, GONE, order=order)
    assert lengths(agreement) == (10, {3})
    [location] = agreement.participants
    settled = settle(order, agreement, {location: "storage"})
    assert (settled.new_length_bytes, settled.delete) == (10, False)
    assert [node is NO_DATANODE for node in settled.nodes] == [True, True, True, False, True]
