"""Datanodes that say of themselves that they are slow, in ack after ack (pure).

Hadoop's datanodes mark their replies so while their peers find them slow
(`dfs.pipeline.slownode`). A node that does it in so many acks in a row
(`dfs.client.mark.slownode.as.badnode.threshold`; 0 switches it off) is left behind as
if it had failed; one ack without the mark starts the count anew.
"""

from __future__ import annotations

from collections.abc import Iterable

from howdah.transfer.blocks import DatanodeAddress


class SlowNodes:
    """How often in a row each node of the pipeline said it."""

    def __init__(self, threshold: int) -> None:
        self.threshold = threshold
        self._counts: dict[DatanodeAddress, int] = {}

    def __bool__(self) -> bool:
        """Whether somebody said so in the last ack."""
        return bool(self._counts)

    def seen(self, slow: Iterable[DatanodeAddress]) -> DatanodeAddress | None:
        """An ack in which these said so; the node that is to be left behind, if one is."""
        if self.threshold <= 0:
            return None
        self._counts = {node: self._counts.get(node, 0) + 1 for node in slow}
        for node, count in self._counts.items():
            if count >= self.threshold:
                del self._counts[node]
                return node
        return None
