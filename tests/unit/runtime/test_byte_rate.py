"""A limit on bytes a second, with and without credit for pauses."""

from __future__ import annotations

import math

import pytest

from howdah.runtime.byte_rate import Throttle


def test_limit_is_kept_over_many_pieces() -> None:
    throttle = Throttle(1000)
    now_s = 5.0
    for _ in range(10):
        now_s += throttle.delay_s(100, now_s)
    assert now_s == pytest.approx(6.0)


def test_pause_is_not_made_up_for() -> None:
    throttle = Throttle(1000)
    throttle.delay_s(100, 5.0)
    assert throttle.delay_s(100, 50.0) == pytest.approx(0.1)


def test_no_limit_is_no_wait() -> None:
    assert Throttle(0).delay_s(1 << 40, 5.0) == 0


def test_average_since_the_beginning_makes_up_for_a_pause() -> None:
    throttle = Throttle(100, began_s=0.0, credit_s=math.inf)
    assert throttle.delay_s(50, 0.0) == 0.5
    assert throttle.delay_s(100, 1.5) == 0
    assert throttle.delay_s(100, 1.5) == 1.0


def test_credit_is_for_so_long_a_pause() -> None:
    throttle = Throttle(100, began_s=0.0, credit_s=2.0)
    assert throttle.delay_s(200, 10.0) == 0
    assert throttle.delay_s(100, 10.0) == 1.0


def test_piece_is_a_quarter_of_a_second() -> None:
    pieces = [Throttle(rate).piece_bytes for rate in (0, 1, 40_000, 1 << 40)]
    assert pieces == [1 << 20, 4096, 10_000, 1 << 20]
