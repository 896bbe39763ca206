"""Tables by id and compact sets of ids."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.namenode.state.inodes import row_table
from howdah.namenode.state.inodes.id_bitmap import IdBitmap
from howdah.namenode.state.inodes.row_table import MASK, ROWS, IdSet, PairQueue, Table

IDS = st.integers(0, 3 * ROWS) | st.integers(-ROWS, 1 << 20)
CHANGES = st.lists(st.tuples(st.booleans(), IDS), max_size=60)


def put(table: Table, row_id: int, number: int) -> None:
    page = table.page_for(row_id)
    at = (row_id & MASK) * 2
    if not page[at + 1] & 1:
        table.added(page)
    page[at] = number
    page[at + 1] |= 1


@given(CHANGES)
def test_a_table_has_the_rows_that_were_put_and_not_removed(
    changes: list[tuple[bool, int]],
) -> None:
    table, expected = Table(2, 1), set[int]()
    for is_put, row_id in changes:
        if is_put:
            put(table, row_id, row_id)
            expected.add(row_id)
        else:
            assert table.remove(row_id) is (row_id in expected)
            expected.discard(row_id)
        assert (row_id in table) is (row_id in expected)
    assert sorted(table) == sorted(expected)
    assert len(table) == len(expected)
    for row_id in expected:
        assert table.page_for(row_id)[(row_id & MASK) * 2] == row_id


@given(st.lists(IDS, unique=True), st.lists(IDS, unique=True))
def test_many_rows_are_added_as_they_would_be_one_by_one(first: list[int], more: list[int]) -> None:
    table = Table(2, 1, named=True)
    added = [number for number in more if number not in first]
    runs = [*range(1000, 1100), *range(1120, 1150)]
    for ids in (first, added, [i for i in runs if i not in (*first, *added)]):
        rows = array("q", [part for number in ids for part in (3 * number, 1)])
        table.fill(ids, rows, [f"n{number}" for number in ids])
    expected = {*first, *added, *runs}
    assert sorted(table) == sorted(expected)
    assert len(table) == len(expected) == sum(page.live for page in table.pages.values())
    every = array("q", sorted(expected))
    assert table.copy_rows(every) == array(
        "q", [part for i in sorted(expected) for part in (3 * i, 1)]
    )
    names = [table.page_for(number).names[number & MASK] for number in every]
    assert names == [f"n{number}" for number in every]


@pytest.mark.parametrize("twice", [63, 64, 70, 127])
def test_a_row_that_is_there_already_is_refused_among_many(twice: int) -> None:
    table = Table(2, 1)
    put(table, twice, 7)
    ids = range(60, 130)
    with pytest.raises(KeyError, match=f"^{twice}$"):
        table.fill(ids, array("q", [0, 1] * len(ids)))


@pytest.mark.parametrize("ids", [(5, 5), (1, 2, 3, 2), (1, 70, 2, 1)])
def test_an_id_that_comes_twice_is_refused(ids: tuple[int, ...]) -> None:
    with pytest.raises(KeyError):
        Table(2, 1).fill(ids, array("q", [0, 1] * len(ids)))


def test_a_page_goes_with_its_last_row_and_keeps_its_numbers_for_whoever_holds_it() -> None:
    table = Table(2, 1)
    put(table, 7, 70)
    held = table.page_for(7)
    table.remove(7)
    assert not table.pages
    assert held[14] == 70


@given(CHANGES)
def test_a_compact_set_is_a_set(changes: list[tuple[bool, int]]) -> None:
    compact, expected = IdSet(), set[int]()
    for is_added, number in changes:
        if is_added:
            compact.add(number)
            expected.add(number)
        else:
            compact.discard(number)
            expected.discard(number)
        assert (number in compact) is (number in expected)
    assert set(compact) == expected
    assert len(list(compact)) == len(compact) == len(expected)


@given(CHANGES)
def test_a_set_of_bits_is_a_set_in_order(changes: list[tuple[bool, int]]) -> None:
    bits, expected = IdBitmap(), set[int]()
    for is_added, number in changes:
        if is_added:
            bits.add(number)
            expected.add(number)
        else:
            bits.discard(number)
            expected.discard(number)
        assert (number in bits) is (number in expected)
    assert list(bits) == sorted(expected)
    assert len(bits) == len(expected)
    for number in expected:
        bits.discard(number)
    assert not bits._parts


def test_a_set_of_bits_may_change_while_it_is_read() -> None:
    bits = IdBitmap()
    for number in range(0, 1 << 16, 4096):
        bits.add(number)
    seen = []
    for number in bits:
        seen.append(number)
        bits.discard(number + 4096)
        bits.discard(number)
    assert seen == list(range(0, 1 << 16, 8192))
    assert not bits


@given(st.lists(IDS), CHANGES)
def test_what_is_not_crossed_out_remains(ids: list[int], changes: list[tuple[bool, int]]) -> None:
    compact, expected = IdSet(ids), set(ids)
    remaining = compact.remaining()
    for is_added, number in changes:
        if is_added:
            remaining.add(number)
            expected.add(number)
        else:
            remaining.cross_out(number)
            expected.discard(number)
    found = list(remaining)
    assert (set(found), len(found)) == (expected, len(expected))
    assert set(compact) == set(ids)


def test_ids_become_flags_where_many_lie_together() -> None:
    dense = [*range(1 << 30, (1 << 30) + 200)]
    sparse = [16 * 97 * number - (1 << 63) for number in range(200)]
    remaining = IdSet([*dense, *sparse]).remaining()
    for number in (*dense[1:], *sparse[1:], *sparse[1:3], sparse[1] + 1):
        remaining.cross_out(number)
    assert set(remaining) == {dense[0], sparse[0]}
    assert list(remaining.touched) == [dense[0] >> 12]


@given(st.lists(IDS, max_size=40, unique=True), st.booleans())
def test_many_rows_are_taken_as_one_by_one(ids: list[int], native: bool) -> None:
    table = Table(2, 1)
    for row_id in ids:
        put(table, row_id, row_id * 3)
    with pytest.MonkeyPatch.context() as patch:
        if not native:
            patch.setattr(row_table, "kernel", lambda: None)
        rows = table.copy_rows(array("q", ids))
        with pytest.raises(KeyError):
            table.copy_rows(array("q", [1 << 40]))
    assert rows == array("q", [number for row_id in ids for number in (row_id * 3, 1)])


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, (1 << 64) - 1), st.integers(0, (1 << 64) - 1)))
        | st.integers(0, 5)
    )
)
def test_pairs_come_out_in_order_whether_they_were_added_one_by_one_or_together(
    steps: list[list[tuple[int, int]] | int],
) -> None:
    queue, expected = PairQueue(), list[tuple[int, int]]()
    for step in steps:
        if isinstance(step, int):
            taken = [queue.pop() for _ in range(min(step, len(queue)))]
            assert taken == expected[: len(taken)]
            del expected[: len(taken)]
        elif len(step) == 1:
            queue.add(*step[0])
            expected += step
        else:
            queue.extend(array("Q", [number for pair in step for number in pair]))
            expected += step
        assert len(queue) == len(expected)
        assert list(queue) == expected


def test_thousands_of_pairs_are_added_together() -> None:
    queue = PairQueue()
    queue.add(1, 1)
    queue.extend(array("Q", [number for number in range(2, 2000) for _ in range(2)]))
    queue.extend(array("Q", [2000, 2000]))
    assert [queue.pop() for _ in range(2000)] == [(number, number) for number in range(1, 2001)]
    assert not queue
