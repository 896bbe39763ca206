"""What an active namenode makes of a lease that it has lost, and when."""

from __future__ import annotations

import pytest

from howdah.namenode.service.ha.stall_detection import LeaseChange, LeaseWatch
from howdah.namenode.state.edit_log.shared_log import Silence

DEAD = Silence("a: refused; b: refused", is_certain=True)
SLOW = Silence("a: no answer for 2.0 s; b: no answer for 2.0 s", is_certain=False)


def watch() -> LeaseWatch:
    return LeaseWatch(lease_ms=1000, patience_ms=5000, limit_ms=20_000)


def checks(made: LeaseWatch, silence: Silence | None, begin_ms: int, end_ms: int) -> LeaseChange:
    """Look as the loop does, four times a second, and say what the last look found."""
    for now_ms in range(begin_ms, end_ms, 250):
        assert made.check(1000, silence, now_ms) is not LeaseChange.EXPIRED
    return made.check(1000, silence, end_ms)


def test_a_lease_that_holds_is_no_news() -> None:
    made = watch()
    assert made.check(1001, None, 1000) is LeaseChange.NONE
    assert (made.trouble, made.refuses, made.losses) == ("", False, 0)


def test_what_has_no_lease_loses_none() -> None:
    made = watch()
    assert made.check(None, None, 10**9) is LeaseChange.NONE
    assert made.trouble == ""


@pytest.mark.req("LM-016")
def test_dead_nodes_are_told_of_at_once_and_once() -> None:
    made = watch()
    assert made.check(1000, DEAD, 1000) is LeaseChange.LOST
    assert "a: refused; b: refused" in made.trouble
    assert made.refuses
    assert made.check(1000, DEAD, 1100) is LeaseChange.NONE
    assert made.losses == 1


@pytest.mark.req("LM-016")
def test_slow_nodes_are_given_a_lease_more_and_callers_wait_with_patience() -> None:
    made = watch()
    assert made.check(1000, SLOW, 1000) is LeaseChange.NONE
    assert made.check(1000, SLOW, 1999) is LeaseChange.NONE
    assert made.trouble == ""
    assert made.check(1000, SLOW, 2000) is LeaseChange.LOST
    assert not made.refuses
    assert checks(made, SLOW, 2250, 5999) is LeaseChange.NONE
    assert not made.refuses
    assert made.check(1000, SLOW, 6000) is LeaseChange.NONE
    assert made.refuses


@pytest.mark.req("LM-016")
@pytest.mark.parametrize("silence", [DEAD, SLOW, None])
def test_the_clock_of_the_end_begins_when_the_loss_is_seen(silence: Silence | None) -> None:
    """A machine that slept for an hour finds its lease ended, and its nodes well."""
    made = watch()
    assert checks(made, silence, 3_600_000, 3_619_999) is not LeaseChange.EXPIRED
    assert made.check(1000, silence, 3_620_000) is LeaseChange.EXPIRED
    assert made.refuses


@pytest.mark.req("LM-016")
@pytest.mark.parametrize("silence", [DEAD, SLOW, None])
def test_a_process_that_was_stopped_between_two_looks_does_not_end(silence: Silence | None) -> None:
    """Its nodes had no time to answer, either."""
    made = watch()
    made.check(1000, silence, 1000)
    assert made.check(1000, silence, 3_600_000) is not LeaseChange.EXPIRED
    assert made.refuses == (silence is DEAD)
    assert made.check(3_601_500, None, 3_600_500) is not LeaseChange.EXPIRED
    assert (made.trouble, made.refuses) == ("", False)


def test_a_lease_that_is_back_leaves_nothing_behind() -> None:
    made = watch()
    made.check(1000, DEAD, 1000)
    assert made.check(9000, None, 8000) is LeaseChange.REGAINED
    assert (made.trouble, made.refuses) == ("", False)
    assert made.check(9000, None, 8001) is LeaseChange.NONE
    assert made.check(9000, DEAD, 9000) is LeaseChange.LOST
    for now_ms in range(9250, 29_000, 250):
        assert made.check(9000, DEAD, now_ms) is LeaseChange.NONE
    assert made.check(9000, DEAD, 29_000) is LeaseChange.EXPIRED
    assert made.losses == 2
