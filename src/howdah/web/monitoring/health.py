"""`/health` and `/ready`: whether a server lives, and whether it can serve; `/isActive`, which
load balancers ask Hadoop's servers (pure).

    200 {"status": "ok",     "role": "namenode", "checks": [{"name": …, "ok": true, "said": …}]}
    503 {"status": "failed", …}

The fields stay as they are from version to version. A server that is not alive wants a new start;
one that is not ready wants time, or an operator, and no requests.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from howdah.web.http import Request, Response, answer, text_response

HEALTH_PATH: Final = "/health"
READY_PATH: Final = "/ready"
ACTIVE_PATH: Final = "/isActive"
"""Hadoop: IsActiveServlet."""
STALL_S: Final = 20.0
"""A loop that has not turned for so long does not answer anybody."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at; `said` is for people."""

    name: str
    ok: bool
    said: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What a server says of itself. `facts` are shown, and decide nothing."""

    role: str
    checks: Sequence[Check]
    facts: Mapping[str, object] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return all(check.ok for check in self.checks)


def respond(report: Report) -> Response:
    """200 where every check is good, else 503."""
    said = {
        "status": "ok" if report.ok else "failed",
        "role": report.role,
        "checks": [
            {"name": check.name, "ok": check.ok, "said": check.said} for check in report.checks
        ],
        **report.facts,
    }
    return answer(
        200 if report.ok else 503,
        json.dumps(said, indent=2).encode() + b"\n",
        "application/json; charset=utf-8",
        {"Cache-Control": "no-store"},
    )


def asks_who_is_active(request: Request) -> bool:
    return request.path == ACTIVE_PATH and request.method in ("GET", "HEAD")


def respond_active(is_active: bool) -> Response:
    """200 or 405, as Hadoop says it."""
    if is_active:
        return text_response(200, "I am Active!")
    return text_response(405, "I am not Active!")


class Pulse:
    """When a loop turned last, by a clock that its owner reads."""

    __slots__ = ("_beat_s",)

    def __init__(self, now_s: float) -> None:
        self._beat_s = now_s

    def beat(self, now_s: float) -> None:
        """The loop turns."""
        self._beat_s = now_s

    def check(self, now_s: float) -> Check:
        silent_s = max(0.0, now_s - self._beat_s)
        return Check("loop", silent_s < STALL_S, f"its loop turned {silent_s:.1f} s ago")
