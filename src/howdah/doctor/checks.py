"""All checks, one after the other (pure)."""

from __future__ import annotations

from howdah.doctor import (
    addresses,
    configuration,
    durability,
    encryption,
    host,
    logins,
    secured,
    timeouts,
    tls,
)
from howdah.doctor.findings import Finding, worst_first
from howdah.doctor.inputs import Facts


def examine(facts: Facts) -> list[Finding]:
    """What is wrong, the worst first."""
    rooms = (
        configuration,
        addresses,
        durability,
        host,
        logins,
        secured,
        timeouts,
        tls,
        encryption,
    )
    return worst_first(finding for room in rooms for finding in room.check(facts))
