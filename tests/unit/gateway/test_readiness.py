"""Whether a gateway's filesystem answers."""

from __future__ import annotations

import threading

import pytest

from howdah import errors
from howdah.gateway import readiness
from howdah.gateway.readiness import ReadinessProbe


def test_what_a_look_has_found_is_told_for_a_while() -> None:
    asked: list[int] = []
    found = ReadinessProbe(lambda: asked.append(1))
    assert [found.failure_reason(), found.failure_reason()] == ["", ""]
    assert asked == [1]


def test_a_refusal_is_told_in_its_words_and_looked_at_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(readiness, "KEPT_S", -1.0)
    outcomes = iter([errors.RemoteError("all namenodes stand by"), None])

    def ask() -> None:
        error = next(outcomes)
        if error is not None:
            raise error

    found = ReadinessProbe(ask)
    assert found.failure_reason() == "all namenodes stand by"
    assert found.failure_reason() == ""


def test_nobody_waits_for_a_namenode_that_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(readiness, "PATIENCE_S", 0.01)
    answered = threading.Event()
    asked: list[int] = []

    def ask() -> None:
        asked.append(1)
        answered.wait(60)

    found = ReadinessProbe(ask)
    assert "no namenode has answered for 0 s" in found.failure_reason()
    found.failure_reason()
    assert asked == [1], "one look at a time"
    answered.set()
