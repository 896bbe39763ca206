"""The audit log of a key server: which calls share a line."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from howdah.kms import call_audit
from howdah.kms.call_audit import CallAudit, note

WINDOW_MS = 10_000


class Clock:
    now_ms = 0

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """The lines since it was called last."""
    caplog.set_level(logging.INFO, "kmsaudit")

    def lines() -> list[str]:
        found = [record.getMessage().rstrip() for record in caplog.records]
        caplog.clear()
        return found

    return lines


def test_calls_within_a_window_share_a_line(said: Callable[[], list[str]]) -> None:
    clock = Clock()
    audit = CallAudit(WINDOW_MS, clock)
    for clock.now_ms in (5, 10, 900):
        audit.note_frequent("DECRYPT_EEK", "a@0", "anna")
    audit.note_frequent("DECRYPT_EEK", "a@0", "bob")
    assert said() == [
        "OK[op=DECRYPT_EEK, key=a@0, user=anna, accessCount=1, interval=0ms]",
        "OK[op=DECRYPT_EEK, key=a@0, user=bob, accessCount=1, interval=0ms]",
    ]
    audit.write_due()
    assert said() == []
    clock.now_ms = 5 + WINDOW_MS
    audit.write_due()
    # Bob has made one call, which was said.
    assert said() == ["OK[op=DECRYPT_EEK, key=a@0, user=anna, accessCount=2, interval=10000ms]"]
    audit.note_frequent("DECRYPT_EEK", "a@0", "anna")
    assert said() == ["OK[op=DECRYPT_EEK, key=a@0, user=anna, accessCount=1, interval=0ms]"]


def test_without_a_window_each_call_has_its_line(said: Callable[[], list[str]]) -> None:
    audit = CallAudit()
    for _ in range(3):
        audit.note_frequent("GENERATE_EEK", "a", "hdfs")
    assert said() == ["OK[op=GENERATE_EEK, key=a, user=hdfs, accessCount=1, interval=0ms]"] * 3
    audit.write_all()
    assert said() == []


def test_a_refusal_stands_behind_the_calls_before(said: Callable[[], list[str]]) -> None:
    audit = CallAudit(WINDOW_MS, Clock())
    for _ in range(3):
        audit.note_frequent("DECRYPT_EEK", "a@0", "anna")
    said()
    audit.note_refused("DECRYPT_EEK", "a", "anna")
    assert said() == [
        "OK[op=DECRYPT_EEK, key=a@0, user=anna, accessCount=2, interval=0ms]",
        "UNAUTHORIZED[op=DECRYPT_EEK, key=a, user=anna]",
    ]


def test_no_call_is_lost_at_the_end_or_where_there_are_many(
    said: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call_audit, "_MOST_COUNTED", 3)
    audit = CallAudit(WINDOW_MS, Clock())
    for user in ("a", "b", "c", "a", "d", "d"):
        audit.note_frequent("DECRYPT_EEK", "k@0", user)
    audit.write_all()
    counts = [line.split("accessCount=")[1].split(",")[0] for line in said()]
    assert sum(map(int, counts)) == 6


def test_a_name_with_a_line_feed_forges_no_line(said: Callable[[], list[str]]) -> None:
    CallAudit().note_frequent("DECRYPT_EEK", "a\nOK[", "anna")
    note("OK", "GET_METADATA", "a\nOK[", "anna")
    assert all("\n" not in line for line in said())
