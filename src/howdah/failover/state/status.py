"""What is known of a controller at one moment, and what it means (pure).

A controller is well while its loop turns. It is ready while its namenode is healthy and it knows
how it stands in the election: then a failover finds it where it should be. A namenode that is an
observer takes no part in elections, and its controller is ready without one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from howdah import errors
from howdah.failover.state.active_node import decode
from howdah.failover.state.controller import Attempt
from howdah.failover.state.election import ElectionStatus
from howdah.failover.state.elector import Position
from howdah.failover.state.health import Health
from howdah.failover.state.service import ServiceState, Target
from howdah.web.monitoring import health as answers
from howdah.web.monitoring.health import Check

ROLE: Final = "zkfc"
_SURE: Final = (Position.ACTIVE, Position.STANDBY)


@dataclass(frozen=True, slots=True)
class Checked:
    """What the last check of the namenode found; `at_ms` is 0 before the first one."""

    health: Health = Health.INITIALIZING
    reason: str = ""
    """Why it is not healthy."""
    state: ServiceState | None = None
    """What it said that it is; None where it did not answer."""
    at_ms: int = 0


@dataclass(frozen=True, slots=True)
class Counts:
    """Since the start of the controller."""

    became_active: int = 0
    failed: int = 0
    """Attempts to become active that failed."""
    fenced: int = 0
    """Namenodes that were fenced, or became standby when they were asked."""
    deaths: int = 0
    """Of the process of the namenode."""


@dataclass(frozen=True, slots=True)
class ElectionView:
    """All of it. Times are milliseconds of one monotonic clock."""

    own: Target
    targets: tuple[Target, ...]
    position: Position
    is_attempting: bool
    """On the way to the active role."""
    stays_out_until_ms: int | None
    """It takes no part in the election before: somebody asked it to cede, or it found its
    namenode changed by others."""
    reason: str
    """Of what the election said last, and when that was; 0 for never."""
    reported_ms: int
    standing: ElectionStatus
    checked: Checked
    counts: Counts
    attempt: Attempt | None
    turned_ms: int
    """When the loop turned last."""
    now_ms: int


def active_of(sight: ElectionView) -> str:
    """The id of the namenode that is elected, as the election names it; empty where nobody is
    known. It is active, or on its way there."""
    content = sight.standing.active
    if content is None:
        return ""
    try:
        node = decode(content)
    except errors.ServiceFailed:
        return ""
    return node.namenode if node.nameservice == sight.own.nameservice else ""


def health(sight: ElectionView) -> answers.Report:
    """Of `/health`: whether the process lives."""
    silent_s = max(0, sight.now_ms - sight.turned_ms) / 1000
    loop = Check("loop", silent_s < answers.STALL_S, f"its loop turned {silent_s:.1f} s ago")
    return answers.Report(ROLE, [loop], _sight_json(sight))


def readiness(sight: ElectionView) -> answers.Report:
    """Of `/ready`."""
    return answers.Report(ROLE, [_namenode(sight), _election(sight)], _sight_json(sight))


def _namenode(sight: ElectionView) -> Check:
    checked = sight.checked
    if checked.health is Health.HEALTHY:
        return Check("namenode", True, f"{sight.own} is healthy")
    why = f": {checked.reason}" if checked.reason else ""
    return Check("namenode", False, f"{sight.own} is {_HEALTH[checked.health]}{why}")


_HEALTH: Final = {
    Health.INITIALIZING: "not looked at yet",
    Health.NOT_RESPONDING: "not responding",
    Health.HEALTHY: "healthy",
    Health.UNHEALTHY: "not healthy",
}


def _election(sight: ElectionView) -> Check:
    if sight.checked.state is ServiceState.OBSERVER:
        return Check("election", True, "an observer takes no part in the election")
    if sight.position in _SURE:
        elected = "elected" if sight.position is Position.ACTIVE else "not elected"
        return Check("election", True, f"it is {elected}: {sight.reason}")
    if sight.is_attempting:
        return Check("election", True, "it is elected, and makes its namenode active")
    if sight.stays_out_until_ms is not None:
        left_s = max(0, sight.stays_out_until_ms - sight.now_ms) / 1000
        return Check("election", False, f"it stays out of the election for {left_s:.0f} s more")
    if sight.position is Position.OUT:
        return Check("election", False, f"it is not in the election: {sight.standing.said}")
    return Check("election", False, f"it does not know who is elected: {sight.reason}")


def _sight_json(sight: ElectionView) -> dict[str, object]:
    return {
        "nameservice": sight.own.nameservice,
        "namenode": sight.own.namenode,
        "position": sight.position.value,
        "namenode_health": sight.checked.health.value,
        "namenode_state": sight.checked.state.value if sight.checked.state else None,
        "elected": active_of(sight) or None,
    }
