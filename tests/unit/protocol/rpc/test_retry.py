"""Which failures are tried again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.protocol.rpc.retry import MAX_RETRIABLE_PAUSE_S, RetryPolicy

POLICY = RetryPolicy(connect_retries=3, connect_delay_s=1.5, retriable_retries=5)


def test_an_unreachable_server_is_tried_again_at_a_fixed_pace() -> None:
    pauses = [POLICY.pause_s(errors.Unreachable("x"), attempts) for attempts in range(1, 6)]
    assert pauses == [1.5, 1.5, 1.5, None, None]


def test_a_server_that_asks_for_it_is_tried_again_with_growing_pauses() -> None:
    pauses = [POLICY.pause_s(errors.RetriableError("x"), attempts) for attempts in range(1, 8)]
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, None, None]


@pytest.mark.parametrize(
    "error",
    [
        errors.CallTimeout("x"),
        errors.PathNotFound("x"),
        errors.SafeMode("x"),
        errors.UnknownHost("x"),
    ],
)
def test_an_answer_and_a_time_out_are_final(error: errors.HowdahError) -> None:
    assert POLICY.pause_s(error, 1) is None


@given(st.integers(1, 100_000))
def test_no_pause_is_longer_than_the_longest(attempts: int) -> None:
    policy = RetryPolicy(retriable_retries=1_000_000)
    pause_s = policy.pause_s(errors.RetriableError("x"), attempts)
    assert pause_s is not None
    assert pause_s <= MAX_RETRIABLE_PAUSE_S
