"""What an election offers a controller, whatever it runs on.

Two kinds: `zookeeper`, with Hadoop's znodes, and `lease`, on the journal nodes. Both report from
threads of their own, and do what may take long on the thread that asks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from howdah.failover.state.elector import Breadcrumb, Report

Listener = Callable[[int, Report, str], None]
"""Called with the candidacy, how it stands, and why, for the log; from any thread."""


@dataclass(frozen=True, slots=True)
class ElectionStatus:
    """What a candidate knows of its election by now, without asking anybody."""

    place: str
    """What it is held on, for people."""
    is_reached: bool
    """Whether enough of that answers."""
    said: str
    """The lease, or the session, for people."""
    active: bytes | None = None
    """What the elected joined with, as it was seen last; None where nobody was seen."""


class Election(Protocol):
    """One controller's place in an election."""

    def join(self, candidacy: int, content: bytes) -> None:
        """Take part, and report from now on. Returns at once."""

    def quit(self, *, clears: bool) -> None:
        """Take part no more, without a report. Returns at once; `clears` removes the breadcrumb
        before anybody else is elected, if it has still this candidate's content."""

    def hasten(self) -> None:
        """Somebody cedes: find out soon. Returns at once."""

    def holds(self) -> bool:
        """Whether this candidate is elected for certain, now. May take a call."""

    def read_breadcrumb(self) -> Breadcrumb | None:
        """Who may be active, as the elected reads it. Raises HowdahError."""

    def write_breadcrumb(self, before: Breadcrumb | None) -> None:
        """Put this candidate's content in the place of `before`, as the elected. Raises
        HowdahError, also where somebody else has written in between."""

    def active_content(self) -> bytes | None:
        """What the elected of now, whoever that is, joined with. Raises HowdahError."""

    def standing(self) -> ElectionStatus:
        """What it knows by now. From any thread; makes no call."""

    def close(self) -> None:
        """Quit, the breadcrumb left, and end all threads."""
