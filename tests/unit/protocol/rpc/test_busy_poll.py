"""When a server waits for its only caller, awake: from calls, and from what came of waiting."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from howdah.protocol.rpc.busy_poll import FIRST, MOST, BusyPollPolicy


def calls_until_a_try(lone: BusyPollPolicy, caller: object) -> int:
    for number in range(MOST + 2):
        if lone.note_call(caller):
            return number
    raise AssertionError("never tried")


def test_a_caller_counts_as_alone_after_some_calls_in_a_row() -> None:
    assert calls_until_a_try(BusyPollPolicy(), "a") == FIRST + 1


def test_nobody_is_waited_for_where_two_take_turns() -> None:
    lone = BusyPollPolicy()
    assert not any(lone.note_call(caller) for _ in range(1000) for caller in ("a", "b"))


def test_who_comes_back_in_time_is_waited_for_each_time() -> None:
    lone = BusyPollPolicy()
    calls_until_a_try(lone, "a")
    for _ in range(100):
        lone.waited(True)
        assert lone.note_call("a")


def test_tries_in_vain_are_put_off_more_and_more_and_never_for_good() -> None:
    lone = BusyPollPolicy()
    between = []
    for _ in range(14):
        between.append(calls_until_a_try(lone, "a"))
        lone.waited(False)
    assert between == sorted(between)
    assert between[-1] == MOST


def test_one_that_comes_back_in_time_again_is_soon_waited_for_as_at_first() -> None:
    lone = BusyPollPolicy()
    for _ in range(3):
        calls_until_a_try(lone, "a")
        lone.waited(False)
    assert calls_until_a_try(lone, "a") == 8 * FIRST
    for _ in range(3):
        lone.waited(True)
        assert lone.note_call("a")
    assert calls_until_a_try(lone, "b") == FIRST + 1


def test_a_connection_that_has_ended_is_not_kept() -> None:
    lone = BusyPollPolicy()
    calls_until_a_try(lone, "a")
    lone.note_end("b")
    assert lone.note_call("a")
    lone.note_end("a")
    assert not lone.note_call("a")


@given(st.lists(st.sampled_from("aab"), max_size=3000))
def test_waiting_in_vain_is_rare_whatever_comes(callers: list[str]) -> None:
    """Of n calls at most so many tries as there are doublings, and one for each MOST calls."""
    lone = BusyPollPolicy()
    tries = 0
    for caller in callers:
        if lone.note_call(caller):
            tries += 1
            lone.waited(False)
    needed = sum(FIRST << number for number in range(tries))
    assert needed <= len(callers)
