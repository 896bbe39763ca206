"""Percentiles of an interval."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from howdah.runtime.metrics.quantiles import PERCENTILES, Quantiles

NOTHING = (0, dict.fromkeys(PERCENTILES, 0))


def test_an_interval_is_told_while_the_next_one_lasts() -> None:
    quantiles = Quantiles(60, now_s=0)
    quantiles.add(7, 10)
    assert quantiles.read(59) == NOTHING
    assert quantiles.read(60) == (1, dict.fromkeys(PERCENTILES, 7))
    quantiles.add(9, 61)
    assert quantiles.read(119) == (1, dict.fromkeys(PERCENTILES, 7))
    assert quantiles.read(120) == (1, dict.fromkeys(PERCENTILES, 9))
    assert quantiles.read(180) == NOTHING
    quantiles.add(3, 1000)
    assert quantiles.read(1000) == NOTHING


@given(st.lists(st.integers(0, 1 << 40), min_size=1))
def test_a_percentile_is_at_most_three_in_a_hundred_away(values: list[int]) -> None:
    quantiles = Quantiles(60, now_s=0)
    for value in values:
        quantiles.add(value, 1)
    count, found = quantiles.read(60)
    assert count == len(values)
    for percent, told in found.items():
        exact = sorted(values)[math.ceil(len(values) * percent / 100) - 1]
        assert abs(told - exact) <= 0.0313 * exact + 0.5
