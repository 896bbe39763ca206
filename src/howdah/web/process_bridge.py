"""A server that is two processes (pure): what the one that has the pages asks of the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OtherProcess:
    """All is called on the thread that answers a request, and takes a bounded time."""

    name: str
    set_level: Callable[[str, int], None]
    """Logger and level; the root's name is empty."""
    stacks: Callable[[], str]
    """Where its threads are, or why it does not say so."""
    log: Callable[[], str]
    """Its last lines, without secrets, or why there are none. Asked for where the log is no file
    that both of them write."""
