"""What a role does by itself (pure): Hadoop's monitor threads, as turns of one loop.

A duty has a turn at each tick. It does something short at once, or returns a round: long work
in slices, between which others have their turn. While its round is under way it has no other
turn. A duty that meets a defect pauses: a second after the first, twice as long after each
further one in a row, at most a minute (`howdah.runtime.unexpected_errors`, rule 3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from howdah.namenode.service.incremental_tasks import IncrementalTasks, Round
from howdah.namenode.state.inodes.block_events import NamespaceBroken
from howdah.runtime import unexpected_errors

FIRST_PAUSE_MS: Final = 1000
LONGEST_PAUSE_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class PeriodicTask:
    """`turn` is called at each tick. The name is for the log."""

    name: str
    turn: Callable[[], Round | None]


class PeriodicTasks:
    """The duties of one role, in the order in which they have their turns."""

    def __init__(
        self,
        duties: Sequence[PeriodicTask],
        soon: Callable[[Callable[[], None]], object],
        now_ms: Callable[[], int],
    ) -> None:
        """`soon` calls back when others had their turn."""
        self._duties = tuple(duties)
        self._now_ms = now_ms
        self._rounds = IncrementalTasks(soon, self._ended)
        self._failures: dict[str, int] = {}
        self._paused_until_ms: dict[str, int] = {}

    @property
    def names(self) -> list[str]:
        return [duty.name for duty in self._duties]

    def is_running(self, name: str) -> bool:
        """Whether a round of this duty is under way."""
        return self._rounds.is_running(name)

    def tick(self) -> None:
        """A turn for each duty that has no round under way and does not pause."""
        now_ms = self._now_ms()
        for duty in self._duties:
            if not self._turn(duty, now_ms):
                return

    def _turn(self, duty: PeriodicTask, now_ms: int) -> bool:
        """False when the process ends."""
        name = duty.name
        if self._rounds.is_running(name) or now_ms < self._paused_until_ms.get(name, now_ms):
            return True
        try:
            slices = duty.turn()
        except NamespaceBroken:
            return False
        except Exception as error:  # noqa: BLE001 - the other duties have their turns
            unexpected_errors.note(name, error, "it has another turn later")
            self._ended(name, False)
            return True
        if slices is None:
            self._ended(name, True)
        else:
            self._rounds.begin(name, slices)
        return True

    def run_now(self, name: str) -> None:
        """A turn for this duty before the next tick, if it may have one."""
        [duty] = [duty for duty in self._duties if duty.name == name]
        self._turn(duty, self._now_ms())

    def stop(self) -> None:
        """What is under way ends where it is."""
        self._rounds.stop()

    def _ended(self, name: str, well: bool) -> None:
        if well:
            self._failures.pop(name, None)
            self._paused_until_ms.pop(name, None)
            return
        failures = self._failures[name] = self._failures.get(name, 0) + 1
        pause_ms = min(FIRST_PAUSE_MS << min(failures - 1, 10), LONGEST_PAUSE_MS)
        self._paused_until_ms[name] = self._now_ms() + pause_ms
