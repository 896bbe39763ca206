"""Who is let in by a name and a password, and what a guess costs."""

from __future__ import annotations

import pytest

from howdah.formats import passwords as format_of_passwords
from howdah.formats.passwords import Cost, PasswordRecord, record_of
from howdah.protocol.web_authentication.attempts import FREE_OF_ADDRESS
from howdah.security.passwords import SEEN_S, LoginRefused, PasswordChecker

SALT = b"0123456789abcdef"
COSTS = {"alice": Cost(2, 1, 1), "bob": Cost(3, 2, 2)}


class Known:
    def __init__(self) -> None:
        self.passwords = {
            user: record_of(user, f"{user}'s password", SALT, cost) for user, cost in COSTS.items()
        }

    def records(self) -> dict[str, PasswordRecord]:
        return self.passwords


class Clock:
    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def guesses(monkeypatch: pytest.MonkeyPatch) -> list[Cost]:
    """What each guess was made to cost."""
    made: list[Cost] = []
    derive = format_of_passwords._derived

    def derived(password: str, salt: bytes, cost: Cost, length_bytes: int) -> bytes:
        made.append(cost)
        return derive(password, salt, cost, length_bytes)

    monkeypatch.setattr(format_of_passwords, "_derived", derived)
    return made


def refused(checker: PasswordChecker, user: str, password: str, address: str = "1.2.3.4") -> float:
    with pytest.raises(LoginRefused) as caught:
        checker.check(user, password, address)
    return caught.value.wait_s


def test_the_right_password_lets_in_and_no_other_one() -> None:
    checker = PasswordChecker(Known())
    assert checker.check("alice", "alice's password", "1.2.3.4").user == "alice"
    for user, password in (
        ("alice", "bob's password"),
        ("alice", ""),
        ("carol", "alice's password"),
        ("", ""),
        ("alice\0", "x"),
        ("alice", "x" * 5000),
    ):
        assert refused(PasswordChecker(Known()), user, password) == 0.0


def test_an_unknown_user_costs_as_much_as_a_known_one_and_always_the_same(
    guesses: list[Cost],
) -> None:
    known = Known()
    checker = PasswordChecker(known)
    guesses.clear()
    for number in range(40):
        for _ in range(2):
            refused(checker, f"nobody{number}", "password", f"10.0.{number}.1")
    assert len(guesses) == 80
    assert guesses[::2] == guesses[1::2]
    assert set(guesses) == set(COSTS.values())


def test_both_refusals_say_the_same() -> None:
    checker = PasswordChecker(Known())
    said = set()
    for user in ("alice", "nobody"):
        with pytest.raises(LoginRefused) as caught:
            checker.check(user, "guess", "1.2.3.4")
        said.add(str(caught.value))
    assert len(said) == 1


def test_a_password_that_was_seen_costs_nothing_until_its_time_or_the_line_changes(
    guesses: list[Cost],
) -> None:
    known, clock = Known(), Clock()
    checker = PasswordChecker(known, clock)
    guesses.clear()
    for _ in range(3):
        checker.check("alice", "alice's password", "1.2.3.4")
    assert len(guesses) == 1
    clock.now_s += SEEN_S
    checker.check("alice", "alice's password", "1.2.3.4")
    assert len(guesses) == 2
    known.passwords["alice"] = record_of("alice", "another password", SALT, COSTS["alice"])
    refused(checker, "alice", "alice's password")
    del known.passwords["alice"]
    refused(checker, "alice", "another password")


def test_who_guesses_waits_and_is_not_looked_at_meanwhile(guesses: list[Cost]) -> None:
    clock = Clock()
    checker = PasswordChecker(Known(), clock)
    for _ in range(FREE_OF_ADDRESS):
        assert refused(checker, "alice", "guess") == 0.0
    guesses.clear()
    assert refused(checker, "alice", "alice's password") >= 1.0
    assert refused(checker, "nobody", "guess") >= 1.0
    assert guesses == []
    assert checker.check("alice", "alice's password", "5.6.7.8").user == "alice"
    clock.now_s += 1.0
    assert checker.check("alice", "alice's password", "1.2.3.4").user == "alice"


def test_who_guesses_waits_also_before_a_password_that_was_seen(guesses: list[Cost]) -> None:
    clock = Clock()
    checker = PasswordChecker(Known(), clock)
    for address in ("5.6.7.8", "1.2.3.4"):
        checker.check("alice", "alice's password", address)
    for _ in range(FREE_OF_ADDRESS):
        assert refused(checker, "bob", "guess") == 0.0
    guesses.clear()
    assert refused(checker, "alice", "alice's password") >= 1.0
    assert checker.check("alice", "alice's password", "5.6.7.8").user == "alice"
    assert guesses == []


def test_a_password_that_was_seen_costs_as_much_as_others_from_another_address(
    guesses: list[Cost],
) -> None:
    checker = PasswordChecker(Known(), Clock())
    checker.check("alice", "alice's password", "2001:db8::1")
    guesses.clear()
    checker.check("alice", "alice's password", "2001:db8::2")  # One host may have both.
    assert guesses == []
    checker.check("alice", "alice's password", "2001:db8:0:1::1")
    assert guesses == [COSTS["alice"]]


def test_a_known_name_is_logged_and_no_other_one(caplog: pytest.LogCaptureFixture) -> None:
    checker = PasswordChecker(Known())
    refused(checker, "alice", "guess")
    refused(checker, "my password", "")
    assert "a login as alice from 1.2.3.4 is refused" in caplog.text
    assert "my password" not in caplog.text
