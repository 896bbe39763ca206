"""A namenode that is not active: a standby, or an observer (pure).

Mirrors Hadoop's StandbyState and FSNamesystem.startStandbyServices. It has no log and makes
no edit: none of the duties in `active` runs. Datanodes register, beat and report here, as
their calls are UNCHECKED, and get no orders. What every namenode does by itself goes on:
datanodes expire, deleted inodes are freed.

Reading the log of the active as it grows, and making checkpoints for it, belong here: the
duties of this role, begun in `start` and ended in `stop`.
"""

from __future__ import annotations

from howdah import errors
from howdah.namenode.ha.states import HAState


class Standby:
    """The role of a standby or an observer."""

    def __init__(self, state: HAState) -> None:
        assert state in (HAState.STANDBY, HAState.OBSERVER), state
        self.state = state

    def start(self) -> None:
        """Nothing is begun."""

    def tick(self) -> None:
        """Nothing is done."""

    def stop(self, refusal: errors.HowdahError) -> None:
        """Nobody waits here."""
