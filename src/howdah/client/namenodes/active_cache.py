"""Which namenode of a nameservice was active when this process last asked (LM-019).

A program that makes many clients, as Spark's workers and pandas do, would have each of them
ask the dead namenode first. So a new client begins with the namenode that last answered.
"""

from __future__ import annotations

from howdah.client.namenodes.target import Target
from howdah.config.value_types import Address

_active: dict[frozenset[tuple[str, Address]], str] = {}


def remember(target: Target, namenode: str) -> None:
    """It answered as the active namenode."""
    _active[_key(target)] = namenode


def active(target: Target) -> str | None:
    """Which one last did, if any."""
    return _active.get(_key(target))


def forget_all() -> None:
    """As in a new process."""
    _active.clear()


def _key(target: Target) -> frozenset[tuple[str, Address]]:
    return frozenset(target.namenodes.items())
