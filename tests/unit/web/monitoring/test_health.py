"""Whether a server lives, as an orchestrator asks for it."""

from __future__ import annotations

import json

import pytest

from howdah.web.http import Request
from howdah.web.monitoring.health import (
    STALL_S,
    Check,
    Pulse,
    Report,
    asks_who_is_active,
    respond,
    respond_active,
)


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


def test_load_balancers_hear_who_is_active_as_from_hadoop() -> None:
    assert asks_who_is_active(Request("GET", "/isActive"))
    assert asks_who_is_active(Request("HEAD", "/isActive"))
    assert not asks_who_is_active(Request("POST", "/isActive"))
    yes, no = respond_active(True), respond_active(False)
    assert (yes.status, yes.body) == (200, b"I am Active!\n")
    assert (no.status, no.body) == (405, b"I am not Active!\n")
