"""What the operator hears of those who come without a proof while a cluster changes over."""

from __future__ import annotations

import logging

import pytest

from howdah.security import strangers
from howdah.security.strangers import AGAIN_S, MOST_KNOWN, Strangers


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def seen(clock: Clock, caplog: pytest.LogCaptureFixture) -> Strangers:
    caplog.set_level(logging.INFO, "howdah.security.strangers")
    return Strangers(clock)


def test_each_is_named_once_an_hour(
    seen: Strangers, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        seen.note("alice", "10.0.0.5")
        seen.note("", "10.0.0.6")
    assert caplog.messages == [
        "alice from 10.0.0.5 came without a proof, and was believed",
        "somebody from 10.0.0.6 came without a proof, and was believed",
    ]
    clock.now_s = AGAIN_S
    seen.note("alice", "10.0.0.5")
    assert len(caplog.messages) == 3


def test_the_reminder_has_who_came_since_the_last_one(seen: Strangers) -> None:
    assert "howdah.security.transition is true" in seen.reminder("namenode")
    assert "Nobody came without a proof since" in seen.reminder("namenode")
    for number in range(7):
        seen.note("alice", f"10.0.0.{number}")
    assert "came alice from 10.0.0.0, alice from 10.0.0.1" in (said := seen.reminder("namenode"))
    assert said.endswith("alice from 10.0.0.4 and 2 others")
    seen.note("alice", "10.0.0.1")
    assert seen.reminder("namenode").endswith("Without a proof came alice from 10.0.0.1")


def test_names_without_end_fill_no_memory_and_no_log(
    seen: Strangers, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(3 * MOST_KNOWN):
        seen.note(f"user{number}", "10.0.0.5")
    assert len(caplog.messages) == MOST_KNOWN
    assert f"and {MOST_KNOWN - 5} others (and others {2 * MOST_KNOWN} times)" in seen.reminder("x")
    seen.note("x" * 5000 + "y", "10.0.0.5")
    assert len(seen.reminder("x")) < 500


def test_a_name_writes_no_line_of_its_own(
    seen: Strangers, caplog: pytest.LogCaptureFixture
) -> None:
    seen.note("alice\n2026-01-01 root logged in", "10.0.0.5")
    assert "\n" not in caplog.messages[0]


def test_it_is_said_at_the_start_and_again(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Enough(BaseException):
        """Ends the reminders."""

    rounds = iter([None, None])

    def sleep(_: float) -> None:
        if next(rounds, Enough) is Enough:
            raise Enough

    monkeypatch.setattr("time.sleep", sleep)
    with pytest.raises(Enough):
        strangers._remind("datanode", 1.0)
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert all("the datanode believes everybody" in text for text in caplog.messages)
