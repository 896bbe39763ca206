"""How long a thread works, and how much of the time."""

from __future__ import annotations

import random

import pytest

from howdah.web.admission.cpu_budget import Debt, Turns

pytestmark = [pytest.mark.req("FS-219"), pytest.mark.kind("caller")]


def test_a_clock_that_stands_or_goes_back_makes_nothing_good() -> None:
    debt = Debt(0.5)
    debt.spend(1.0, 10.0)
    debt.spend(1.0, 9.0)
    assert debt.owed_s(10.0) == 2.0
    assert debt.owed_s(12.0) == 1.0


def test_nobody_has_a_credit() -> None:
    debt = Debt(0.5)
    debt.spend(-5.0, 10.0)
    debt.spend(1.0, 100.0)
    assert debt.owed_s(100.0) == 1.0


def test_whoever_comes_alone_is_not_waited_with() -> None:
    turns = Turns()
    assert not any(turns.rest_s(0.0001, number * 0.01) for number in range(100))


@pytest.mark.parametrize("seed", range(10))
def test_work_without_an_end_is_cut_and_takes_its_share(seed: int) -> None:
    dice = random.Random(seed)
    turns = Turns(share=0.25, slice_s=0.0002, rest_s=0.0001, burst_s=0.005)
    now_s = began_s = 50.0
    worked_s = in_slice_s = 0.0
    for _ in range(5000):
        took_s = dice.uniform(0.000001, 0.00015)
        now_s += took_s
        worked_s += took_s
        in_slice_s += took_s
        assert in_slice_s < 0.0002 + 0.00015
        rest_s = turns.rest_s(took_s, now_s)
        if rest_s:
            assert rest_s >= 0.0001
            in_slice_s = 0.0
            now_s += rest_s
    assert worked_s <= 0.25 * (now_s - began_s) + 0.005 + 0.0004
