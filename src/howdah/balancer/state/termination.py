"""When a balancer goes on, and when and how it ends (pure).

Balancer.runOneIteration, NameNodeConnector.shouldContinue and ExitStatus in Hadoop. The steps of
an iteration:

1. Look how full the datanodes are. Balanced: SUCCESS.
2. An upgrade that can still be rolled back: UNFINALIZED_UPGRADE, unless told to run all the same.
3. Make pairs. None: NO_MOVE_BLOCK.
4. Move. Nothing moved, in so many iterations one after the other: NO_MOVE_PROGRESS.
5. Else IN_PROGRESS: wait until the namenode has heard of it all, and begin again.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

DEFAULT_MAX_IDLE: Final = 5


class Status(enum.IntEnum):
    """How an iteration has ended, with the exit codes of Hadoop's program."""

    SUCCESS = 0
    IN_PROGRESS = 1
    ALREADY_RUNNING = -1
    NO_MOVE_BLOCK = -2
    NO_MOVE_PROGRESS = -3
    IO_EXCEPTION = -4
    ILLEGAL_ARGUMENTS = -5
    INTERRUPTED = -6
    UNFINALIZED_UPGRADE = -7

    @property
    def exit_code(self) -> int:
        """As a shell sees it."""
        return self.value & 0xFF


@dataclass(frozen=True, slots=True)
class Result:
    """An iteration. `left_bytes` had to be moved when it began, of which `planned_bytes` were
    paired; `moved_bytes` and `moved_blocks` are sums over all iterations."""

    number: int
    status: Status
    left_bytes: int
    planned_bytes: int
    moved_bytes: int
    moved_blocks: int


class Rounds:
    """The iterations of one namespace."""

    def __init__(self, max_idle: int = DEFAULT_MAX_IDLE, *, runs_during_upgrade: bool = False):
        """`max_idle` iterations that move nothing, one after the other, end it; negative:
        never."""
        self._max_idle = max_idle
        self._runs_during_upgrade = runs_during_upgrade
        self._number = 0
        self.moved_bytes = 0
        self.moved_blocks = 0
        self.idle = 0
        """Iterations that moved nothing, since one that did."""

    def surveyed(self, left_bytes: int, *, is_upgrading: bool) -> Result | None:
        """Steps 1 and 2; None if there is something to move."""
        if not left_bytes:
            return self._end(Status.SUCCESS)
        if is_upgrading and not self._runs_during_upgrade:
            return self._end(Status.UNFINALIZED_UPGRADE, left_bytes)
        return None

    def paired(self, left_bytes: int, planned_bytes: int) -> Result | None:
        """Step 3; None if there are pairs."""
        return None if planned_bytes else self._end(Status.NO_MOVE_BLOCK, left_bytes)

    def moved(
        self, left_bytes: int, planned_bytes: int, moved_bytes: int, moved_blocks: int
    ) -> Result:
        """Steps 4 and 5: what the moves of this iteration came to."""
        self.moved_bytes += moved_bytes
        self.moved_blocks += moved_blocks
        self.idle = 0 if moved_bytes else self.idle + 1
        if 0 <= self._max_idle <= self.idle:
            return self._end(Status.NO_MOVE_PROGRESS, left_bytes, planned_bytes)
        return self._end(Status.IN_PROGRESS, left_bytes, planned_bytes)

    def _end(self, status: Status, left_bytes: int = 0, planned_bytes: int = 0) -> Result:
        number, self._number = self._number, self._number + 1
        return Result(
            number, status, left_bytes, planned_bytes, self.moved_bytes, self.moved_blocks
        )
