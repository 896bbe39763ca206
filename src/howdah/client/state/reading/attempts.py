"""Which datanode to read a block from next, and when to give up (pure).

Mirrors what Hadoop's DFSInputStream keeps of failures. Rules:

- The namenode's order is kept: the nearest node that has not failed is next (FS-092).
- A node that failed is dead for the whole stream, so that later blocks don't try it
  again (FS-098). It is forgotten when a block has no other node left, and after
  `memory_s`, since a stream may live for days and a restart takes a minute.
- A replica whose checksum is wrong is left out for this read of its block alone: the
  node is well, and so are its other replicas (FS-100).
- When all nodes have failed in this read: ask the namenode anew, wait, try all again, a
  limited number of times. Nodes that have turned up meanwhile come before those that
  failed: of a file that was just written the namenode may have known one replica only.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Sequence

from howdah.protocol.data_transfer.blocks import DatanodeAddress


class DeadNodes:
    """Nodes that failed, for as long as one stream remembers it.

    Each method touches the table in single operations, so threads may share it.
    """

    def __init__(self, memory_s: float) -> None:
        self._memory_s = memory_s
        self._until_s: dict[DatanodeAddress, float] = {}

    def add(self, node: DatanodeAddress, now_s: float) -> None:
        """`node` failed just now."""
        self._until_s[node] = now_s + self._memory_s

    def holds(self, node: DatanodeAddress, now_s: float) -> bool:
        """Whether `node` is still to be left out."""
        if not self._until_s:
            return False  # As nearly always: a node's hash takes a while.
        until_s = self._until_s.get(node)
        return until_s is not None and now_s < until_s

    def forget(self, nodes: Iterable[DatanodeAddress]) -> None:
        """Give these another chance."""
        for node in nodes:
            self._until_s.pop(node, None)


class NoneLeft(enum.Enum):
    """What to do when no node of a block is left to try."""

    TRY_DEAD = enum.auto()
    """Some were left out for what happened earlier: they get their chance now."""
    ALL_CORRUPT = enum.auto()
    """Every replica is corrupt: only one that the namenode has meanwhile would do."""
    WAIT = enum.auto()
    """Ask the namenode again; if it knows no other node, pause and try all of them."""
    GIVE_UP = enum.auto()


class Attempts:
    """The history of one read of one block."""

    def __init__(self, dead: DeadNodes, max_rounds: int) -> None:
        self._dead = dead
        self._max_rounds = max_rounds
        self.rounds = 0
        self.corrupt: set[DatanodeAddress] = set()
        self.reasons: dict[DatanodeAddress, str] = {}
        self._renewed = False

    def next_node(
        self,
        nodes: Sequence[DatanodeAddress],
        now_s: float,
        busy: Collection[DatanodeAddress] = (),
    ) -> DatanodeAddress | None:
        """The first node that may work and is not `busy` with this read already."""
        for node in nodes:
            if (
                (busy and node in busy)
                or (self.corrupt and node in self.corrupt)
                or self._dead.holds(node, now_s)
            ):
                continue
            return node
        return None

    def is_corrupt(self, node: DatanodeAddress, reason: str) -> None:
        """The replica at `node` has a wrong checksum."""
        self.reasons[node] = reason
        self.corrupt.add(node)

    def failed(self, node: DatanodeAddress, reason: str, now_s: float) -> None:
        """`node` can't be read from."""
        self.reasons[node] = reason
        self._dead.add(node, now_s)

    def broke_off(self, node: DatanodeAddress, reason: str) -> None:
        """The connection to `node` ended, for a cause that a new one may not have."""
        self.reasons[node] = reason

    def may_renew_token(self) -> bool:
        """Whether a refused access token is to be replaced: once in a read."""
        first, self._renewed = not self._renewed, True
        return first

    def none_left(self, nodes: Sequence[DatanodeAddress], now_s: float) -> NoneLeft:
        """What now? Also takes note of it."""
        if nodes and self.corrupt.issuperset(nodes):
            return NoneLeft.ALL_CORRUPT
        untried = [
            node for node in nodes if node not in self.reasons and self._dead.holds(node, now_s)
        ]
        if untried:
            self._dead.forget(untried)
            return NoneLeft.TRY_DEAD
        if self.rounds >= self._max_rounds:
            return NoneLeft.GIVE_UP
        self.rounds += 1
        return NoneLeft.WAIT

    def forgive(self, nodes: Sequence[DatanodeAddress], now_s: float) -> None:
        """Begin the round: all nodes get another chance, unless one of them had none yet."""
        if self.next_node(nodes, now_s) is None:
            self._dead.forget(nodes)

    def pause_s(self, window_s: float, fraction: float) -> float:
        """How long to wait before round `rounds`: Hadoop's pauses, which grow.

        `fraction`, random in [0, 1), lets clients that lost the same node differ.
        """
        return window_s * (self.rounds - 1) + window_s * self.rounds * fraction

    def longest_s(self, window_s: float) -> float:
        """How long all pauses together may be."""
        return window_s * self._max_rounds**2

    def summary(self, nodes: Sequence[DatanodeAddress]) -> str:
        """What each node said, for the error."""
        said = "; ".join(f"{node}: {self.reasons.get(node, 'failed before')}" for node in nodes)
        return said or "no datanode has a live replica"
