"""The way of one controller to the active role, and back (pure).

Mirrors Hadoop's ActiveStandbyElector, whatever the election runs on. In the election a
controller is told how it stands (`Report`), and takes the steps to the active role in order:

 1. It joins the election with the content that names its namenode.
 2. *Elected*: it reads the breadcrumb, which says who may be active.
 3. If that is another namenode, it fences it. If that fails, it goes on with step 7.
 4. It writes its own content as the breadcrumb: from now on it may be active.
 5. It orders its namenode to become active.
 6. *Not elected*: it orders its namenode to be standby. *Uncertain*: it orders nothing and does
    not go on with steps 2 to 5; a namenode that is active stays so, until it is fenced or can no
    longer know that it is alone.
 7. After a failure it leaves the election for a pause, so that others have their chance.
 8. Who leaves in order, its namenode standby for certain, clears the breadcrumb. Who leaves for
    any other reason leaves it, and is fenced by the next.

An answer that belongs to an attempt that was given up changes nothing.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

PAUSE_AFTER_FAILURE_MS: Final = 1000


class Report(enum.Enum):
    """How a controller stands in the election."""

    ELECTED = enum.auto()
    NOT_ELECTED = enum.auto()
    UNCERTAIN = enum.auto()


class Position(enum.Enum):
    """The values are those of Hadoop's ActiveStandbyElector.State."""

    OUT = "INIT"
    ACTIVE = "ACTIVE"
    STANDBY = "STANDBY"
    NEUTRAL = "NEUTRAL"


@dataclass(frozen=True, slots=True)
class Breadcrumb:
    """Who may be active; `version` is the election's, for replacing it."""

    content: bytes
    version: int


# What is to be done. Orders to namenodes are done one after the other.


@dataclass(frozen=True, slots=True)
class Join:
    candidacy: int
    content: bytes


@dataclass(frozen=True, slots=True)
class Quit:
    """Leave the election. `clears`: remove the breadcrumb first, if it is still ours."""

    clears: bool


@dataclass(frozen=True, slots=True)
class ReadBreadcrumb:
    attempt: int


@dataclass(frozen=True, slots=True)
class Fence:
    attempt: int
    content: bytes


@dataclass(frozen=True, slots=True)
class WriteBreadcrumb:
    attempt: int
    before: Breadcrumb | None


@dataclass(frozen=True, slots=True)
class MakeActive:
    """To be done only while the election is held for certain."""

    attempt: int


@dataclass(frozen=True, slots=True)
class MakeStandby:
    """`cedes`: somebody asked for it, and waits for the outcome."""

    cedes: bool = False


Action = Join | Quit | ReadBreadcrumb | Fence | WriteBreadcrumb | MakeActive | MakeStandby


class Elector:
    """One candidate. Times are milliseconds of a monotonic clock."""

    def __init__(self, content: bytes, pause_ms: int = PAUSE_AFTER_FAILURE_MS) -> None:
        self._content = content
        self._pause_ms = pause_ms
        self._candidacies = 0
        self._attempts = 0
        self._attempt: int | None = None
        self._is_in = False
        self._before: Breadcrumb | None = None
        self.position = Position.OUT
        self.rejoin_at_ms: int | None = None
        """When the pause after a failure ends."""

    @property
    def is_in(self) -> bool:
        """In the election, or soon again."""
        return self._is_in or self.rejoin_at_ms is not None

    @property
    def is_attempting(self) -> bool:
        """On the way to the active role."""
        return self._attempt is not None

    def is_current(self, attempt: int) -> bool:
        """Whether this attempt was not given up. May be asked from any thread."""
        return attempt == self._attempt

    def join(self) -> list[Action]:
        """Step 1. Nothing to do if it is in."""
        if self.is_in:
            return []
        self._is_in = True
        self._candidacies += 1
        return [Join(self._candidacies, self._content)]

    def quit(self, *, needs_fence: bool) -> list[Action]:
        """Step 8."""
        clears = not needs_fence and self.position is Position.ACTIVE
        was_in, self._is_in = self._is_in, False
        self._attempt = self.rejoin_at_ms = None
        self.position = Position.OUT
        return [Quit(clears)] if was_in else []

    def tick(self, now_ms: int) -> list[Action]:
        """Step 7: the pause may be over."""
        if self.rejoin_at_ms is None or now_ms < self.rejoin_at_ms:
            return []
        self.rejoin_at_ms = None
        return self.join()

    def report(self, candidacy: int, report: Report) -> list[Action]:
        """Steps 2 and 6."""
        if not self._is_in or candidacy != self._candidacies:
            return []
        if report is Report.ELECTED:
            if self.position is Position.ACTIVE or self._attempt is not None:
                return []
            self._attempts += 1
            self._attempt = self._attempts
            return [ReadBreadcrumb(self._attempt)]
        self._attempt = None
        before = self.position
        if report is Report.UNCERTAIN:
            self.position = Position.NEUTRAL
            return []
        self.position = Position.STANDBY
        return [MakeStandby()] if before is not Position.STANDBY else []

    def breadcrumb_read(self, attempt: int, breadcrumb: Breadcrumb | None) -> list[Action]:
        """Do steps 3 and 4."""
        if attempt != self._attempt:
            return []
        self._before = breadcrumb
        if breadcrumb is not None and breadcrumb.content != self._content:
            return [Fence(attempt, breadcrumb.content)]
        return [WriteBreadcrumb(attempt, breadcrumb)]

    def fenced(self, attempt: int) -> list[Action]:
        """Step 4."""
        return [WriteBreadcrumb(attempt, self._before)] if attempt == self._attempt else []

    def breadcrumb_written(self, attempt: int) -> list[Action]:
        """Step 5."""
        return [MakeActive(attempt)] if attempt == self._attempt else []

    def became_active(self, attempt: int) -> bool:
        """The end of the way; False if it was given up before."""
        if attempt != self._attempt:
            return False
        self._attempt = None
        self.position = Position.ACTIVE
        return True

    def failed(self, attempt: int, now_ms: int) -> list[Action]:
        """Step 7: one of the steps 2 to 5 failed."""
        if attempt != self._attempt:
            return []
        actions = self.quit(needs_fence=True)
        self.rejoin_at_ms = now_ms + self._pause_ms
        return actions
