"""All checks, one after the other (pure)."""

from __future__ import annotations

from howdah.doctor import addresses, configuration, durability, machine, timeouts, tls
from howdah.doctor.facts import Facts
from howdah.doctor.findings import Finding, worst_first


def examine(facts: Facts) -> list[Finding]:
    """What is wrong, the worst first."""
    rooms = (configuration, addresses, durability, machine, timeouts, tls)
    return worst_first(finding for room in rooms for finding in room.check(facts))
