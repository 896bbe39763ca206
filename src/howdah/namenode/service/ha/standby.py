"""A namenode that is not active: a standby, or an observer (pure).

Mirrors Hadoop's StandbyState and FSNamesystem.startStandbyServices. It writes no log and makes
no edit: none of the duties in `active` runs. Datanodes register, beat and report here, as
their calls are UNCHECKED, and get no orders. What every namenode does by itself goes on:
datanodes expire, deleted inodes are freed.

It follows the log that the active writes (`edit_log_tailer`), makes images of what it has, and
sorts the blocks that changed by what they will need when it is active.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from howdah import errors
from howdah.namenode.service.ha.periodic_tasks import PeriodicTask, PeriodicTasks
from howdah.namenode.service.ha.states import HAState
from howdah.namenode.service.incremental_tasks import Round
from howdah.namenode.service.namesystem import Namesystem


class Follows(Protocol):
    """Reads the log of the active."""

    def start(self) -> None: ...

    def end(self) -> None: ...


class OwnImages(Protocol):
    """The images that this namenode makes."""

    def start(self) -> None: ...

    def tick(self) -> None: ...

    def stop(self) -> None: ...


class Standby:
    """The role of a standby or an observer."""

    def __init__(
        self,
        state: HAState,
        namesystem: Namesystem,
        tailing: Follows | None = None,
        images: OwnImages | None = None,
        *,
        makes_images: bool = False,
        soon: Callable[[Callable[[], None]], object] = lambda act: None,
        redundancy_interval_ms: int = 3000,
    ) -> None:
        """`tailing` is None where no log is shared: then there is nothing to follow. With
        `makes_images` it makes them; without, it takes those that others make. `soon`
        calls back when others had their turn."""
        assert state in (HAState.STANDBY, HAState.OBSERVER), state
        self.state = state
        self._namesystem = namesystem
        self._tailing = tailing
        self._images = images
        self._makes_images = makes_images
        self._interval_ms = redundancy_interval_ms
        self._next_sort_ms = 0
        self.duties: Final = PeriodicTasks(
            [PeriodicTask("sorting of blocks", self._sort)],
            soon,
            namesystem.clock.monotonic_ms,
        )

    def start(self) -> None:
        self._namesystem.become_standby()
        if self._tailing is not None:
            self._tailing.start()
        if self._images is not None:
            self._images.start()

    def tick(self) -> None:
        self.duties.tick()
        if self._images is not None and self._makes_images:
            self._images.tick()

    def quiet(self, refusal: errors.HowdahError) -> None:
        """Nobody waits here."""

    def stop(self, refusal: errors.HowdahError) -> None:
        """Nobody waits here."""
        self.duties.stop()
        if self._tailing is not None:
            self._tailing.end()
        if self._images is not None:
            self._images.stop()

    def _sort(self) -> Round | None:
        """Nothing is ordered: a standby's round only sorts (`BlockManager.redundancy_round`)."""
        now_ms = self._namesystem.clock.monotonic_ms()
        if now_ms < self._next_sort_ms:
            return None
        self._next_sort_ms = now_ms + self._interval_ms
        return (() for _ in self._namesystem.block_manager.redundancy_round())
