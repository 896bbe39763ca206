"""Whether a rolling upgrade is under way, as the edits tell it (pure).

Hadoop: the `rollingUpgradeInfo` of FSNamesystem. Between its two edits the servers of a cluster
are exchanged one by one, and everything can go back to where the first edit was made: to the
rollback image of the namenode (`checkpoints`), and to what datanodes have in their trash.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from howdah.formats.edits import edits


def _nobody_listens() -> None:
    """As in a replay."""


@dataclass(frozen=True, slots=True)
class Finalized:
    """A rolling upgrade that is over; Unix milliseconds."""

    start_ms: int
    finalize_ms: int


class RollingUpgrade:
    """The state. `appliers` say what each edit does to it."""

    def __init__(self) -> None:
        self.start_ms: int | None = None
        """When the one began that is under way, in Unix milliseconds; None without one."""
        self.finalized: Finalized | None = None
        """The last one, if it was finalized since this process began to read the log. An
        image does not tell."""
        self._tell: Callable[[], None] = _nobody_listens
        self.appliers: Final[Mapping[type[edits.Edit], Callable[[Any], None]]] = {
            edits.RollingUpgradeStartOp: self._start,
            edits.RollingUpgradeFinalizeOp: self._finalize,
        }

    @property
    def is_under_way(self) -> bool:
        return self.start_ms is not None

    def follow(self, tell: Callable[[], None]) -> None:
        """Tell whenever one begins or is finalized, from now on. There is one follower: the
        images."""
        self._tell = tell

    def _start(self, op: edits.RollingUpgradeStartOp) -> None:
        self.start_ms = op.time_ms
        self.finalized = None
        self._tell()

    def _finalize(self, op: edits.RollingUpgradeFinalizeOp) -> None:
        """Maybe of one that nothing is known of: its start is in an image, and its rollback
        image is gone."""
        start_ms, self.start_ms = self.start_ms, None
        if start_ms is not None:
            self.finalized = Finalized(start_ms, op.time_ms)
            self._tell()
