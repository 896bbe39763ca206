"""The datanodes that a writer asks the namenode to leave out of its next block (pure).

A node that could not be reached may be back in ten minutes, and a small cluster can't
do without it for ever: so an entry expires
(`dfs.client.write.exclude.nodes.cache.expiry.interval.millis`).
"""

from __future__ import annotations

from howdah.transfer.blocks import DatanodeAddress


class ExcludedNodes:
    """Nodes and when each is forgotten."""

    def __init__(self, expiry_s: float) -> None:
        self._expiry_s = expiry_s
        self._expires_s: dict[DatanodeAddress, float] = {}

    def add(self, node: DatanodeAddress, now_s: float) -> None:
        """`node` failed just now."""
        self._expires_s[node] = now_s + self._expiry_s

    def at(self, now_s: float) -> tuple[DatanodeAddress, ...]:
        """Those that are to be left out now."""
        for node in [each for each, end_s in self._expires_s.items() if end_s <= now_s]:
            del self._expires_s[node]
        return tuple(self._expires_s)
