"""Whether a server lives, as an orchestrator asks for it."""

from __future__ import annotations

import json

import pytest

from howdah.web.monitoring.health import STALL_S, Check, Pulse, Report, respond


@pytest.mark.req("FS-262")
def test_fields_and_status_codes_are_those_that_are_documented() -> None:
    good = Check("loop", True, "fine")
    answer = respond(Report("namenode", [good], {"safe_mode": True}))
    assert answer.status == 200
    assert json.loads(answer.body) == {
        "status": "ok",
        "role": "namenode",
        "checks": [{"name": "loop", "ok": True, "said": "fine"}],
        "safe_mode": True,
    }
    assert answer.headers["Cache-Control"] == "no-store"
    bad = respond(Report("namenode", [good, Check("serves", False, "it stops")]))
    assert (bad.status, json.loads(bad.body)["status"]) == (503, "failed")


@pytest.mark.req("FS-262")
def test_a_loop_that_does_not_turn_is_not_alive() -> None:
    pulse = Pulse(100.0)
    assert pulse.check(100.0 + STALL_S / 2).ok
    assert not pulse.check(100.0 + STALL_S).ok
    pulse.beat(100.0 + STALL_S)
    assert pulse.check(101.0 + STALL_S).ok
