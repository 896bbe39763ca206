"""Sizes, shares and times as Java prints them."""

from __future__ import annotations

import time

import pytest

from howdah.runtime.units import byte_text, java_date, percent_text, sized


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KB"),
        (1152, "1.13 KB"),
        (1536, "1.50 KB"),
        (10 << 30, "10 GB"),
        (5 << 59, "2.50 EB"),
        (5053, "4.93 KB"),
        ((1 << 20) - 1, "1.00 MB"),
        (270553174016, "251.97 GB"),
        ((1 << 63) - 1, "8.00 EB"),
        (-2048, "-2 KB"),
    ],
)
def test_sizes_have_a_prefix_and_two_decimals_unless_they_are_round(size: int, text: str) -> None:
    assert byte_text(size) == text


def test_a_size_is_told_in_bytes_and_for_people() -> None:
    assert sized(1536) == "1536 (1.50 KB)"


def test_shares_have_two_decimals() -> None:
    assert [percent_text(share) for share in (0, 12.345678, 100.0)] == [
        "0.00%",
        "12.35%",
        "100.00%",
    ]


def test_a_share_of_nothing_is_no_number() -> None:
    assert percent_text(float("nan")) == "NaN%"


def test_times_are_those_of_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    assert java_date(1_700_000_000_123) == "Tue Nov 14 22:13:20 UTC 2023"
