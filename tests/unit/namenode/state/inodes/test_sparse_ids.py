"""Sets of ids that lie far apart: sets, in order, and small."""

from __future__ import annotations

import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.namenode.state.inodes import sparse_ids
from howdah.namenode.state.inodes.row_table import IdSet
from howdah.namenode.state.inodes.sparse_ids import SparseIds

FIRST = -(1 << 63)
IDS = (
    st.integers(FIRST, FIRST + 200)
    | st.integers(FIRST, -1)
    | st.sampled_from([FIRST, FIRST + (1 << 32) - 1, FIRST + (1 << 32), -1, (1 << 63) - 1])
)


@pytest.fixture
def short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse_ids, "_MOST", 8)
    monkeypatch.setattr(sparse_ids, "_FEW", 3)


def check(subject: SparseIds, expected: set[int]) -> None:
    assert list(subject) == sorted(expected)
    assert len(subject) == len(expected)
    assert all(0 < len(run) <= sparse_ids._MOST and run[0] >= 0 for run in subject._runs)


@given(st.lists(st.tuples(st.booleans(), IDS), max_size=120))
def test_it_is_a_set_in_order(changes: list[tuple[bool, int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse_ids, "_MOST", 8)
        patch.setattr(sparse_ids, "_FEW", 3)
        subject, expected = SparseIds(), set[int]()
        for is_added, number in changes:
            if is_added:
                assert subject.add(number) is (number not in expected)
                expected.add(number)
            else:
                assert subject.discard(number) is (number in expected)
                expected.discard(number)
            assert (number in subject) is (number in expected)
        check(subject, expected)
        check(subject.copy(), expected)
        for position in range(len(expected) + 1):
            found = list(subject.all_from(position))
            in_order = sorted(expected)
            turned = in_order[position:] + in_order[:position]
            assert found == (turned if position < len(expected) else [])
        for number in list(expected):
            assert subject.discard(number)
        assert not subject._runs
        assert not subject._firsts


def test_it_may_change_while_it_is_read(short_runs: None) -> None:
    subject = SparseIds()
    for number in range(FIRST, FIRST + 16 * 100, 16):
        subject.add(number)
    dice = random.Random(1)
    seen = []
    for number in subject:
        seen.append(number)
        subject.discard(number)
        for _ in range(3):
            subject.add(FIRST + dice.randrange(1600))
            subject.discard(FIRST + dice.randrange(1600))
        if len(seen) > 5000:
            break
    assert seen == sorted(set(seen)), "each comes once, in order"


def test_a_copy_is_a_set_of_its_own() -> None:
    subject = SparseIds()
    subject.add(FIRST)
    other = subject.copy()
    other.discard(FIRST)
    other.add(FIRST + 16)
    assert (list(subject), list(other)) == ([FIRST], [FIRST + 16])


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.req("FS-025")
def test_an_id_takes_few_bytes_however_far_they_lie_apart(in_order: bool) -> None:
    subject, count = SparseIds(), 20_000
    ids = [FIRST + 16 * 1000 * number for number in range(count)]
    if not in_order:
        random.Random(2).shuffle(ids)
    for number in ids:
        subject.add(number)
    taken = sys.getsizeof(subject._firsts) + sum(sys.getsizeof(run) + 8 for run in subject._runs)
    assert taken / count < (4.5 if in_order else 7)


def test_a_set_of_both_kinds_turns_as_a_whole() -> None:
    ids = [3, 9000, 7, FIRST, FIRST + 32, FIRST + 16 * 9]
    subject = IdSet(ids)
    whole = list(subject)
    assert sorted(whole) == sorted(ids)
    for position in range(len(ids)):
        assert sorted(subject.all_from(position)) == sorted(ids)
        assert next(iter(subject.all_from(position))) == whole[position]
