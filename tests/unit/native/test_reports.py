"""Replicas of a report that the kernel takes, and how it refuses what does not fit."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howdah.namenode.state.inodes.block_table import BlockState, BlockTable
from howdah.namenode.state.inodes.row_table import IdSet
from howdah.native.loader import kernel
from howdah.protocol.data_transfer import block_lists
from howdah.protocol.data_transfer.block_lists import ListedReplica, ReplicaList

STORAGES = 5
"""Of which the last two are on one node."""


class FakeStorage(NamedTuple):
    """As much of a storage as the table of blocks looks at."""

    name: str
    node: str


PLACES: list[Any] = [
    FakeStorage(f"s{number}", f"n{min(number, STORAGES - 2)}") for number in range(STORAGES)
]
IDS = st.sampled_from([1, 2, 3, 63, 64, 4095, 4096, 1 << 30, (1 << 30) + 1, 1 << 40])
BLOCKS = st.dictionaries(
    IDS,
    st.tuples(st.integers(0, 3), st.integers(1, 3), st.sampled_from(BlockState)),
    max_size=8,
)
REPLICAS = st.lists(
    st.builds(
        ListedReplica,
        IDS | st.just(-7),
        st.integers(0, 3),
        st.integers(1, 3) | st.just(1 << 61),
        st.sampled_from([0, 0, 0, 1, 4, 5]),
    ),
    max_size=12,
)


@pytest.fixture(scope="module")
def native() -> ModuleType:
    found = kernel()
    if found is None:
        pytest.skip("the kernel is not built here")
    return found


def table(
    blocks: dict[int, tuple[int, int, BlockState]], replicas: list[tuple[int, int]]
) -> BlockTable:
    made = BlockTable()
    for storage in PLACES:
        made.number_of(storage)
    for number, (block_id, (length, stamp, state)) in enumerate(blocks.items()):
        made.new(block_id, length, stamp, number, state)
    for block_id, place in replicas:
        block = made.get(block_id)
        if block is not None and PLACES[place] not in block.replicas:
            block.add_replica(PLACES[place])
    return made


def siblings(place: int) -> tuple[int, ...]:
    return tuple(
        number
        for number, other in enumerate(PLACES, 1)
        if other.node == PLACES[place].node and other is not PLACES[place]
    )


@given(
    blocks=BLOCKS,
    before=st.lists(st.tuples(IDS, st.integers(0, STORAGES - 1)), max_size=12),
    listed=REPLICAS,
    place=st.integers(0, STORAGES - 1),
    exceptions=st.sets(IDS, max_size=2),
    expected=st.sets(IDS),
    most=st.integers(0, 12),
    last_orphaned=st.sampled_from([-1, 0, 1, 2, (1 << 63) - 1]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_replicas_are_taken_as_one_by_one(
    native: ModuleType,
    blocks: dict[int, tuple[int, int, BlockState]],
    before: list[tuple[int, int]],
    listed: list[ListedReplica],
    place: int,
    exceptions: set[int],
    expected: set[int],
    most: int,
    last_orphaned: int,
) -> None:
    mine, twin = table(blocks, before), table(blocks, before)
    left, twins_left = IdSet(expected).remaining(), IdSet(expected).remaining()
    report: ReplicaList[ListedReplica] = block_lists.decode(*block_lists.encode(listed))
    position, count, ids, counts, orphaned = native.take_reported(
        report.buffer,
        0,
        most,
        mine.rows.pages,
        place + 1,
        siblings(place),
        ({}, exceptions),
        left.touched,
        left.parts,
        last_orphaned,
    )
    added: list[tuple[int, int]] = []
    twins_orphaned: list[int] = []
    taken = 0
    for replica in listed[:most]:
        found = None
        if replica.block_id in exceptions:
            break
        if replica.block_id < 0:
            break  # Of a block group.
        is_known = replica.block_id in twin
        if not is_known and replica.state <= 4 and replica.generation_stamp <= last_orphaned:
            twins_orphaned += [replica.block_id % (1 << 64), replica.generation_stamp]
            found = 0
        elif replica.state == 0:
            found = twin.take_replica(*replica[:3], PLACES[place])
        if found is None:
            break
        if found:
            added.append((replica.block_id, found))
        twins_left.cross_out(replica.block_id)
        taken += 1
    assert count == taken
    assert list(zip(array("q", ids), counts, strict=True)) == added
    assert list(array("Q", orphaned)) == twins_orphaned
    report.passed(position, count)
    assert list(report) == listed[taken:]
    assert {block_id: mine[block_id].replicas for block_id in blocks} == {
        block_id: twin[block_id].replicas for block_id in blocks
    }
    assert set(left) == set(twins_left)


@given(data=st.binary(max_size=60), last_orphaned=st.sampled_from([-1, (1 << 63) - 1]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_left_alone_where_they_are_no_replica(
    native: ModuleType, data: bytes, last_orphaned: int
) -> None:
    blocks = table({1: (1, 1, BlockState.COMPLETE)}, [])
    left = IdSet([1]).remaining()
    position, count, ids, counts, orphaned = native.take_reported(
        data, 0, 100, blocks.rows.pages, 1, (), (), left.touched, left.parts, last_orphaned
    )
    assert 0 <= position <= len(data)
    assert len(ids) == 8 * len(counts)
    assert count >= len(counts) + len(orphaned) // 16


GOOD = block_lists.decode(*block_lists.encode([ListedReplica(1, 1, 1, 0)])).buffer
UNKNOWN = block_lists.decode(*block_lists.encode([ListedReplica(9, 1, 1, 0)])).buffer
TAKE: list[Any] = [GOOD, 0, 9, {}, 1, (2,), ({3},), {}, {0: array("H", [1])}, 9]
BAD: list[Any] = [
    None,
    -1,
    1 << 22,
    1 << 70,
    b"",
    bytearray(GOOD),
    (None,),
    (1 << 70,),
    tuple(range(65)),
    ((),) * 9,
    (3,),
    {0: b"1234567"},
    {0: bytes(64 * 4 * 8)},
    {0: array("i", [1, 2])},
    {0: bytearray(7)},
]


@pytest.mark.parametrize("place", range(len(TAKE)))
@pytest.mark.parametrize("bad", range(len(BAD)))
def test_what_does_not_fit_is_refused_or_taken_and_harms_nothing(
    native: ModuleType, place: int, bad: int
) -> None:
    blocks = table({1: (1, 1, BlockState.COMPLETE)}, [])
    arguments = [*TAKE]
    arguments[3] = blocks.rows.pages
    arguments[7], arguments[8] = {}, {0: array("H", [1])}
    arguments[place] = BAD[bad]
    try:
        native.take_reported(*arguments)
    except (TypeError, ValueError, OverflowError, BufferError):
        pass


@pytest.mark.parametrize(
    "arguments",
    [
        lambda pages: [GOOD, 0, 9, pages, 0, (), (), {}, {}, -1],
        lambda pages: [GOOD, len(GOOD) + 1, 9, pages, 1, (), (), {}, {}, -1],
        lambda pages: [GOOD, 0, 9, {0: array("q", [0])}, 1, (), (), {}, {}, -1],
        lambda pages: [GOOD, 0, 9, pages, 1, (), (), {0: bytearray(7)}, {}, -1],
        lambda pages: [GOOD, 0, 9, pages, 1, (), (), {}, {0: array("Q", [1])}, -1],
        lambda pages: [GOOD, 0, 9, pages, 1, (), ()],
        lambda pages: [GOOD, 0, 9, pages, 1, (), (), {}, {}],
    ],
)
def test_bad_arguments_are_refused(
    native: ModuleType, arguments: Callable[[dict[int, Any]], list[Any]]
) -> None:
    blocks = table({1: (1, 1, BlockState.COMPLETE)}, [])
    with pytest.raises((TypeError, ValueError)):
        native.take_reported(*arguments(blocks.rows.pages))


def test_references_are_given_back(native: ModuleType) -> None:
    blocks = table({1: (1, 1, BlockState.COMPLETE)}, [])
    pages, exceptions = blocks.rows.pages, ({3: None},)
    held = [pages, pages[0], exceptions, exceptions[0]]
    counts = list(map(sys.getrefcount, held))
    for _ in range(50):
        touched: dict[int, bytearray] = {}
        parts = {0: array("H", [1, 2])}
        native.take_reported(GOOD + UNKNOWN, 0, 9, pages, 1, (), exceptions, touched, parts, 9)
        flags = touched.pop(0)
        references = sys.getrefcount(flags)
        assert (flags.find(1), references) == (2, 2)
    assert list(map(sys.getrefcount, held)) == counts
