"""Rows of a listed tree."""

from __future__ import annotations

from howdah.spark.listing.tree import signed


def test_times_before_1970_are_listed_with_their_sign() -> None:
    assert [signed(each) for each in (0, 5, (1 << 64) - 5)] == [0, 5, -5]
