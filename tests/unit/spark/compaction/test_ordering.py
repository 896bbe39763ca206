"""Ranges of values, and places on the z-curve."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.spark.compaction.ordering import boundaries, interleaved, order_name
from howdah.spark.compaction.table_formats import Maintenance


@given(st.lists(st.one_of(st.none(), st.integers(-50, 50))), st.integers(2, 20))
def test_boundaries_ascend_and_are_fewer_than_ranges(values: list[int | None], ranges: int) -> None:
    found = boundaries(values, ranges)
    assert found == sorted(set(found))
    assert len(found) < ranges
    assert set(found) <= set(values)


@given(st.sets(st.integers(), min_size=8), st.integers(2, 8))
def test_ranges_of_different_values_have_about_as_many(values: set[int], ranges: int) -> None:
    bounds = boundaries(list(values), ranges)
    counts = [0] * ranges
    for value in values:
        counts[sum(bound <= value for bound in bounds)] += 1
    assert max(counts) - min(counts) <= 1


def test_what_has_no_order_makes_no_boundary() -> None:
    assert boundaries([float("nan"), None, 1.0], 4) == []
    assert boundaries(["x" * 100 + "a", "x" * 100 + "b", "z" * 200], 3) == ["z" * 64]


@given(st.lists(st.integers(0, 255), min_size=1, max_size=8))
def test_each_point_has_a_place_of_its_own(numbers: list[int]) -> None:
    place = interleaved(numbers, 8)
    count = len(numbers)
    found = [
        sum((place >> (bit * count + count - 1 - at) & 1) << bit for bit in range(8))
        for at in range(count)
    ]
    assert found == numbers


@pytest.mark.parametrize("at", [0, 1])
def test_a_place_grows_with_each_number(at: int) -> None:
    points = [[3, 5], [3, 5]]
    points[1][at] += 1
    assert interleaved(points[0], 8) < interleaved(points[1], 8)


def test_orders_have_names() -> None:
    assert order_name(Maintenance()) == ""
    assert order_name(Maintenance(sort_by=("a", "b"))) == "sort a,b"
    assert order_name(Maintenance(z_order_by=("a",))) == "z-order a"
