"""What is done after a call to one of several namenodes failed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.protocol.rpc.failover import Attempts, FailoverPolicy, Step
from howdah.rpc.connection import NotAccepted, Refused

PAIR = ("nn1", "nn2")
STANDBY = errors.StandbyError("standby")
AWAY = errors.Unreachable("away")
HALF = 0.5
"""The draw with which a pause is neither shortened nor lengthened."""


def go(policy: FailoverPolicy, *failures: tuple[str, errors.HowdahError]) -> list[Step | None]:
    attempts = Attempts(policy, PAIR)
    return [attempts.failed(namenode, error, HALF) for namenode, error in failures]


@pytest.mark.parametrize(
    "error",
    [
        STANDBY,
        errors.ObserverRetryOnActive("observer"),
        AWAY,
        Refused("refused"),
        NotAccepted("silent"),
        errors.UnknownHost("who?"),
        errors.CallTimeout("slow"),
    ],
)
def test_another_namenode_is_asked_at_once(error: errors.HowdahError) -> None:
    assert go(FailoverPolicy(), ("nn1", error)) == [Step(0.0, elsewhere=True)]


def test_a_pause_follows_each_round_and_doubles() -> None:
    policy = FailoverPolicy(sleep_base_s=0.5, sleep_max_s=3.0)
    rounds = [("nn1", STANDBY), ("nn2", AWAY)] * 8
    pauses = [step.pause_s for step in go(policy, *rounds) if step]
    assert pauses[::2] == [0] * 8
    assert pauses[1::2] == [0.0625, 0.0625, 0.125, 0.25, 1.0, 2.0, 3.0, 3.0]


def test_three_namenodes_are_asked_before_a_pause() -> None:
    attempts = Attempts(FailoverPolicy(), ("nn1", "nn2", "nn3"))
    steps = [attempts.failed(name, STANDBY, HALF) for name in ("nn3", "nn1", "nn2")]
    assert [step.pause_s for step in steps if step] == [0, 0, 0.0625]


def test_a_call_is_given_up_after_the_last_round() -> None:
    policy = FailoverPolicy(max_failovers=1)
    steps = go(policy, *[("nn1", STANDBY), ("nn2", STANDBY)] * 5)
    assert [step is None for step in steps] == [False] * 9 + [True]


def test_without_failovers_every_namenode_is_still_asked_once() -> None:
    steps = go(FailoverPolicy(max_failovers=0), ("nn1", STANDBY), ("nn2", AWAY))
    assert steps == [Step(0.0, elsewhere=True), None]


def test_who_asks_for_patience_is_asked_again_and_not_for_ever() -> None:
    policy = FailoverPolicy(max_retries=3)
    steps = go(policy, *[("nn1", errors.RetriableError("soon"))] * 4)
    assert steps == [
        Step(0.5, elsewhere=False),
        Step(1.0, elsewhere=False),
        Step(2.0, elsewhere=False),
        None,
    ]


def test_connections_are_retried_as_often_as_configured() -> None:
    policy = FailoverPolicy(
        connection_retries=1, connection_retries_on_timeouts=2, connect_delay_s=7
    )
    again, elsewhere = Step(7, elsewhere=False), Step(0.0, elsewhere=True)
    assert go(policy, *[("nn1", Refused("no"))] * 2) == [again, elsewhere]
    assert go(policy, *[("nn1", NotAccepted("silence"))] * 3) == [again, again, elsewhere]
    assert go(policy, ("nn1", errors.UnknownHost("who?"))) == [elsewhere]


def test_connections_to_the_next_namenode_are_counted_anew() -> None:
    policy = FailoverPolicy(connection_retries=1)
    steps = go(policy, *[("nn1", AWAY)] * 2, *[("nn2", AWAY)] * 2)
    assert [step.elsewhere for step in steps if step] == [False, True, False, True]


def test_hosts_that_nobody_knows_are_given_up_after_one_round() -> None:
    nobody = errors.UnknownHost("who?")
    assert go(FailoverPolicy(), ("nn1", nobody), ("nn2", nobody))[-1] is None
    assert go(FailoverPolicy(), ("nn1", nobody), ("nn2", STANDBY))[-1] is not None


@pytest.mark.parametrize(
    "error",
    [
        errors.PathNotFound("x"),
        errors.SafeMode("x"),
        errors.AccessDenied("x"),
        errors.ProtocolViolation("x"),
    ],
)
def test_an_answer_is_final(error: errors.HowdahError) -> None:
    assert go(FailoverPolicy(), ("nn1", error)) == [None]


def test_what_each_namenode_last_said_is_kept() -> None:
    attempts = Attempts(FailoverPolicy(), PAIR)
    for name, error in (("nn1", AWAY), ("nn2", AWAY), ("nn1", STANDBY)):
        attempts.failed(name, error, HALF)
    assert list(attempts.failures.items()) == [("nn2", AWAY), ("nn1", STANDBY)]
    assert (attempts.count, attempts.rounds) == (3, 1)


@given(st.integers(0, 10_000), st.floats(0, 1, exclude_max=True))
def test_a_pause_is_within_half_of_what_it_is_about(before: int, draw: float) -> None:
    policy = FailoverPolicy(sleep_base_s=0.5, sleep_max_s=15)
    about_s = min(0.5 * 2.0 ** min(before, 100), 15)
    assert about_s / 2 <= policy.pause_s(before, draw) <= about_s * 3 / 2


@given(
    st.integers(1, 5),
    st.integers(0, 5),
    st.lists(st.sampled_from([STANDBY, AWAY, errors.CallTimeout("slow")]), min_size=60),
)
def test_every_round_asks_all_namenodes_before_the_call_is_given_up(
    namenodes: int, rounds: int, failures: list[errors.HowdahError]
) -> None:
    names = tuple(f"nn{number}" for number in range(namenodes))
    attempts = Attempts(FailoverPolicy(max_failovers=rounds), names)
    current, asked = 0, []
    for error in failures:
        asked.append(names[current])
        step = attempts.failed(names[current], error, HALF)
        if step is None:
            break
        current = (current + 1) % namenodes
    # Within the first pause they are asked three times more.
    all_rounds = rounds + 4 if rounds else 1
    assert asked == list(names) * all_rounds


def test_nobody_tries_again_on_a_filesystem_that_was_closed() -> None:
    assert go(FailoverPolicy(), ("nn1", errors.FilesystemClosed("closed"))) == [None]
