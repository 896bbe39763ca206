"""Which internal blocks are made anew, and from which."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.datanode.state.messages import Reconstruct
from howdah.datanode.state.reconstruction import next_source, plan
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock, StorageType
from howdah.protocol.striping.layout import FIRST_GROUP_ID
from howdah.protocol.striping.policies import Policy, Schema

POLICY = Policy(64, Schema("rs", 3, 2), 1024)
NODE = DatanodeAddress("10.0.0.1", "node1", "uuid-1", 9866)


def order(
    length: int, live: tuple[int, ...], targets: int = 1, excluded: tuple[int, ...] = ()
) -> Reconstruct:
    return Reconstruct(
        ExtendedBlock("BP-1", FIRST_GROUP_ID, 1001, length),
        POLICY,
        (NODE,) * len(live),
        live,
        (NODE,) * targets,
        (StorageType.DISK,) * targets,
        ("DS-1",) * targets,
        excluded,
    )


@pytest.mark.parametrize(
    ("what", "lost", "zeros", "needed"),
    [
        (order(9000, (0, 1, 2, 3)), (4,), (), 3),
        (order(9000, (0, 3, 4), 2), (1, 2), (), 3),
        (order(9000, (0, 3, 4), 1), (1,), (), 3),
        (order(9000, (0, 3, 4), 5), (1, 2), (), 3),
        # The holder of block 1 is busy, and not gone.
        (order(9000, (0, 3, 4), 1, (1,)), (2,), (), 3),
        # Blocks 1 and 2 do not exist.
        (order(10, (3,), 2), (0, 4), (1, 2), 1),
        (order(1025, (0, 3)), (1,), (2,), 2),
        # The same index twice is one block.
        (order(9000, (0, 0, 1, 3)), (2,), (), 3),
    ],
)
def test_lost_blocks_are_made_in_their_order(
    what: Reconstruct, lost: tuple[int, ...], zeros: tuple[int, ...], needed: int
) -> None:
    work = plan(what)
    assert (work.lost, work.zeros, work.needed) == (lost, zeros, needed)


@pytest.mark.parametrize(
    "what",
    [
        order(9000, (0, 1, 2, 3, 4)),
        order(9000, (0, 1, 2, 3), 0),
        order(9000, (0, 1)),
        order(9000, (0, 1, 1, 0)),
        order(10, (1, 2)),
        order(0, (0, 1, 2)),
    ],
)
def test_what_cannot_be_made_is_refused(what: Reconstruct) -> None:
    with pytest.raises(errors.RemoteError):
        plan(what)


def test_a_source_is_read_whose_index_is_not_read_yet() -> None:
    what = order(9000, (0, 0, 1, 3))
    assert next_source(what, (), ()) == 0
    assert next_source(what, (0,), (0,)) == 2
    assert next_source(what, (1,), (0, 2)) == 1
    assert next_source(what, (0, 1), (0, 2)) == 3
    assert next_source(what, (), (0, 1, 2, 3)) is None


@given(length=st.integers(1, 9000), start=st.integers(0, 4000), size=st.integers(1, 2000))
def test_pieces_of_a_block_make_the_block(length: int, start: int, size: int) -> None:
    work = plan(order(length, (0, 1, 2, 3)))
    for index in work.layout.block_indices:
        pieces = sum(work.piece(index, at, at + size) for at in range(0, 4000, size))
        assert pieces == work.layout.block_length(index)
