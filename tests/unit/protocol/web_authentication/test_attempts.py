"""How guesses at passwords are slowed."""

from __future__ import annotations

from howdah.protocol.web_authentication.attempts import (
    FORGOTTEN_S,
    FREE_OF_ADDRESS,
    FREE_OF_USER,
    MOST_WAIT_FOR_USER_S,
    MOST_WAIT_S,
    Attempts,
)


def test_a_few_mistakes_cost_nothing_and_each_further_one_twice_as_much() -> None:
    attempts = Attempts()
    waits = []
    for number in range(FREE_OF_ADDRESS + 8):
        attempts.failed(f"user{number}", "10.0.0.1", 0.0)
        waits.append(attempts.wait_s("somebody", "10.0.0.1", 0.0))
    assert waits[: FREE_OF_ADDRESS - 1] == [0.0] * (FREE_OF_ADDRESS - 1)
    assert waits[FREE_OF_ADDRESS - 1 :] == [1, 2, 4, 8, 16, 32, MOST_WAIT_S, MOST_WAIT_S, 60]
    assert attempts.wait_s("somebody", "10.0.0.2", 0.0) == 0.0


def test_a_wait_is_over_by_time_and_failures_are_forgotten() -> None:
    attempts = Attempts()
    for _ in range(FREE_OF_ADDRESS):
        attempts.failed("alice", "10.0.0.1", 100.0)
    assert attempts.wait_s("alice", "10.0.0.1", 100.25) == 0.75
    assert attempts.wait_s("alice", "10.0.0.1", 101.0) == 0.0
    attempts.failed("alice", "10.0.0.1", 100.0 + FORGOTTEN_S)
    assert attempts.wait_s("alice", "10.0.0.1", 100.0 + FORGOTTEN_S) == 0.0


def test_guesses_from_everywhere_at_one_user_are_slowed() -> None:
    attempts = Attempts()
    for number in range(FREE_OF_USER + 10):
        attempts.failed("alice", f"10.0.1.{number}", 0.0)
    assert attempts.wait_s("alice", "10.9.9.9", 0.0) == MOST_WAIT_FOR_USER_S
    assert attempts.wait_s("bob", "10.9.9.9", 0.0) == 0.0


def test_others_do_not_keep_a_user_from_where_he_has_logged_in() -> None:
    attempts = Attempts()
    attempts.succeeded("alice", "10.0.0.1")
    for number in range(FREE_OF_USER + 10):
        attempts.failed("alice", f"10.0.1.{number}", 0.0)
    assert attempts.wait_s("alice", "10.0.0.1", 0.0) == 0.0
    assert attempts.wait_s("alice", "10.0.0.2", 0.0) > 0.0


def test_a_login_of_ones_own_does_not_buy_guesses_at_others() -> None:
    attempts = Attempts()
    for _ in range(FREE_OF_ADDRESS + 3):
        attempts.failed("alice", "10.0.0.1", 0.0)
        attempts.succeeded("mallory", "10.0.0.1")
    assert attempts.wait_s("alice", "10.0.0.1", 0.0) == 8.0


def test_a_network_of_addresses_counts_as_one() -> None:
    attempts = Attempts()
    for number in range(FREE_OF_ADDRESS):
        attempts.failed("alice", f"2001:db8::{number:x}", 0.0)
    assert attempts.wait_s("bob", "2001:db8::ffff:1", 0.0) > 0.0
    assert attempts.wait_s("bob", "2001:db8:0:1::1", 0.0) == 0.0


def test_memory_is_bounded() -> None:
    attempts = Attempts(most=10)
    for number in range(1000):
        address = f"10.0.{number // 250}.{number % 250}"
        attempts.failed(f"user{number}", address, 0.0)
        attempts.succeeded(f"user{number}", address)
    assert len(attempts) == 30
