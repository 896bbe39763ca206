"""Histograms, and means of what came lately."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.runtime.metrics.histogram import BOUNDS_S, Rate, Times


@given(st.lists(st.integers(0, 1 << 62)))
def test_each_time_is_in_the_bucket_below_whose_bound_it_is(taken_ns: list[int]) -> None:
    times = Times()
    for ns in taken_ns:
        times.add(ns)
    assert (times.count, times.total_ns) == (len(taken_ns), sum(taken_ns))
    for number, bound_s in enumerate(BOUNDS_S):
        below = sum(ns < round(bound_s * 1e9) for ns in taken_ns)
        assert sum(times.buckets[: number + 1]) == below
    assert sum(times.buckets) == len(taken_ns)


def test_mean_is_of_the_last_interval_in_which_something_came() -> None:
    rate = Rate(interval_ns=10)
    assert rate.mean_ns(0, 0, 0) == 0
    assert rate.mean_ns(2, 60, 5) == 30, "the first ones are told at once"
    assert rate.mean_ns(3, 160, 6) == 30
    assert rate.mean_ns(3, 160, 15) == 100
    assert rate.mean_ns(3, 160, 40) == 100, "nothing came: the mean stays"
    assert rate.mean_ns(4, 170, 50) == pytest.approx(10)
