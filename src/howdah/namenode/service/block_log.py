"""What the log says of blocks in trouble (pure).

`ClusterLog.work` is called every now and then. It tells when blocks are missing, have bad
replicas, or have had too few, or on too few racks, for a while; again at intervals as long as
that lasts, with one of them as an example; and when it is over.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.blocks.redundancy import Need

REPEAT_MS: Final = 600_000
"""So often the log says again what it has said, as long as it lasts."""

PATIENCE_MS: Final = 60_000
"""Blocks have too few replicas for a moment whenever a file is closed: it is said of those
that have not been mended within this time."""


@dataclass(slots=True)
class _Condition:
    """One kind of trouble: since when there is some, and when it was last said."""

    patience_ms: int
    begun_ms: int | None = None
    said_ms: int | None = None

    def is_due(self, count: int, now_ms: int) -> bool:
        """Whether it is to be said now that so many blocks are in it."""
        if not count:
            self.begun_ms = None
            return self.said_ms is not None
        if self.begun_ms is None:
            self.begun_ms = now_ms
        if now_ms - self.begun_ms < self.patience_ms:
            return False
        return self.said_ms is None or now_ms - self.said_ms >= REPEAT_MS

    def note_logged(self, count: int, now_ms: int) -> None:
        self.said_ms = now_ms if count else None


class ClusterLog:
    """Looks at the figures of one namenode."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._namespace = namesystem.namespace
        self._safe_mode = namesystem.safe_mode
        self._reconstruction = namesystem.block_manager.reconstruction
        self._redundancy = namesystem.block_manager.blocks.redundancy
        self._clock = namesystem.clock
        self._missing = _Condition(0)
        self._corrupt = _Condition(0)
        self._low = _Condition(PATIENCE_MS)
        self._misplaced = _Condition(PATIENCE_MS)

    def work(self) -> list[str]:
        """What is worth a line now."""
        if self._safe_mode.on:
            return []
        counts = self._reconstruction.counts()
        needs = self._redundancy
        missing = needs.queues[Need.MISSING]
        return [
            *self._report_changes(
                self._missing,
                counts.missing,
                missing,
                "no good replica of {} is known; files with them cannot be read to the end until "
                "their datanodes are back",
                "good replicas of all blocks are known again",
            ),
            *self._report_changes(
                self._corrupt,
                counts.corrupt,
                needs.corrupt,
                "{} with bad replicas; they are replaced as long as there are good ones",
                "no block has bad replicas any more",
            ),
            *self._report_changes(
                self._low,
                counts.too_few,
                needs.too_few(),
                "{} with too few replicas, of which "
                f"{counts.last_replica} have one only; they are copied, where there is room",
                "all blocks have as many replicas as they are to have again",
            ),
            *self._report_changes(
                self._misplaced,
                counts.misplaced,
                needs.queues[Need.MISPLACED],
                "{} with enough replicas, but on too few racks; they are spread, where other racks "
                "have room",
                "all blocks are on as many racks as they are to be again",
            ),
        ]

    def _report_changes(
        self, trouble: _Condition, count: int, block_ids: Iterable[int], text: str, over: str
    ) -> list[str]:
        now_ms = self._clock.monotonic_ms()
        if not trouble.is_due(count, now_ms):
            return []
        trouble.note_logged(count, now_ms)
        if not count:
            return [over]
        return [text.format(f"{count} block(s)") + self._example(block_ids)]

    def _example(self, block_ids: Iterable[int]) -> str:
        block = self._namespace.blocks.get(next(iter(block_ids), 0))
        if block is None:
            return ""
        nodes = ", ".join(storage.node.name for storage in (*block.replicas, *block.corrupt))
        namespace = self._namespace
        path = namespace.display_path(namespace.file_of(block))
        return f"; for example {block.name} of {path}" + (nodes and f" at {nodes}")
