"""What a writer holds against datanodes, and the recovery of one block's pipeline (pure).

The failed datanodes with their reasons, how often the pipeline broke, which other nodes
were tried, and who is waited for. `howdah.client.state.writing.pipeline` decides by it.
"""

from __future__ import annotations

from collections.abc import Iterable

from howdah.client.state.blocks import LocatedBlock
from howdah.protocol.data_transfer.blocks import DatanodeAddress

# Patience with a datanode that announced its restart.
#
# A datanode that is shut down for an upgrade says so to its writers (OOB_RESTART), and
# will be back soon with the replica as it is. Where copying the block to another node
# would cost more, which is on the writer's own machine and where no other node is left,
# the writer waits for it: every second it tries to open the pipeline with the same nodes,
# for `dfs.client.datanode-restart.timeout` at most. Then the node counts as failed.

RETRY_S = 1.0


class RestartWait:
    """The node that is waited for, if there is one. The wait begins when it is first asked."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self.node: DatanodeAddress | None = None
        self._ends_s: float | None = None
        self._retry_s = 0.0

    @property
    def has_patience(self) -> bool:
        return self._timeout_s > 0

    def begin(self, node: DatanodeAddress) -> None:
        """`node` said that it restarts. A wait that has begun for it goes on."""
        if node != self.node:
            self.node = node
            self._ends_s = None

    def pause_s(self, now_s: float) -> float:
        """How long until the next attempt; 0 when it is due, or nobody is waited for."""
        if self.node is None:
            return 0.0
        if self._ends_s is None:
            self._ends_s = now_s + self._timeout_s
            self._retry_s = now_s + min(RETRY_S, self._timeout_s)
        return max(self._retry_s - now_s, 0.0)

    def goes_on(self, failed: DatanodeAddress, now_s: float) -> bool:
        """An attempt failed because of `failed`: whether it is to be waited for still."""
        if failed != self.node:
            return False
        if self._ends_s is not None and now_s >= self._ends_s:
            self.end()
            return False
        self._retry_s = now_s + RETRY_S
        return True

    def end(self) -> None:
        """The node is back, or given up."""
        self.node = None
        self._ends_s = None


MAX_REPLACEMENTS_TRIED = 3
"""So many datanodes are tried as replacements in one recovery."""


class Recovery:
    """`retries` is how often a pipeline may break with no packet acknowledged in between."""

    def __init__(self, retries: int, restart_timeout_s: float) -> None:
        self.restart = RestartWait(restart_timeout_s)
        self.replacement_due = False
        self._retries = retries
        self._breaks = 0
        self._acked_before = -1
        self._failed: dict[DatanodeAddress, str] = {}
        self._restarting: set[DatanodeAddress] = set()
        self._replacements_tried = 0

    def begin_block(self) -> None:
        """Nothing is held against any datanode in a new block."""
        self._failed.clear()
        self._restarting.clear()
        self.restart.end()

    # --- failures -------------------------------------------------------------------

    @property
    def failed(self) -> tuple[DatanodeAddress, ...]:
        """The nodes that are not used for this block again."""
        return tuple(self._failed)

    @property
    def reasons(self) -> str:
        """Each failed node, and why."""
        return "; ".join(f"{node} {reason}" for node, reason in self._failed.items())

    def broke(self, last_acked_seqno: int) -> str | None:
        """The pipeline broke; why that was once too often, if it was."""
        if last_acked_seqno > self._acked_before:
            self._acked_before = last_acked_seqno
            self._breaks = 0
        self._breaks += 1
        if self._breaks <= self._retries:
            return None
        return (
            f"broke {self._breaks} times with no packet acknowledged in between "
            f"(dfs.client.pipeline.recovery.max-retries)"
        )

    def hold_against(self, node: DatanodeAddress, reason: str, *, restarts: bool = False) -> None:
        """`node` failed; one that `restarts` may join another pipeline of the block later."""
        self._failed[node] = reason
        if restarts:
            self._restarting.add(node)
        if self.restart.node == node:
            self.restart.end()

    def mended(self) -> None:
        """The pipeline is open again."""
        self.replacement_due = False
        self._replacements_tried = 0
        self.restart.end()
        for node in self._restarting:
            self._failed.pop(node, None)
        self._restarting.clear()

    # --- replacements -----------------------------------------------------------------

    def source(self, block: LocatedBlock) -> DatanodeAddress:
        """Who is to copy the block to another node: another one at each attempt, and none
        that is waited for, if there is a choice."""
        nodes = [node for node in block.nodes if node != self.restart.node] or block.nodes
        return nodes[self._replacements_tried % len(nodes)]

    def replaced(self) -> None:
        """Another node has joined."""
        self.replacement_due = False
        self._replacements_tried += 1

    def not_replaced(self, *, another: bool) -> bool:
        """An attempt at a replacement failed, and `another` node may be tried; true when
        none is, and the pipeline has to do with the nodes that are left."""
        self._replacements_tried += 1
        if another and self._replacements_tried < MAX_REPLACEMENTS_TRIED:
            return False
        self.replacement_due = False
        return True


class ExcludedNodes:
    """Keeps the datanodes that a writer asks the namenode to leave out of its next block.

    A node that could not be reached may be back in ten minutes, and a small cluster can't
    do without it for ever: so an entry expires
    (`dfs.client.write.exclude.nodes.cache.expiry.interval.millis`).
    """

    def __init__(self, expiry_s: float) -> None:
        self._expiry_s = expiry_s
        self._expires_s: dict[DatanodeAddress, float] = {}

    def add(self, node: DatanodeAddress, now_s: float) -> None:
        """`node` failed just now."""
        self._expires_s[node] = now_s + self._expiry_s

    def at(self, now_s: float) -> tuple[DatanodeAddress, ...]:
        """Return the nodes that are to be left out now."""
        for node in [node for node, end_s in self._expires_s.items() if end_s <= now_s]:
            del self._expires_s[node]
        return tuple(self._expires_s)


class SlowNodes:
    """How often in a row each datanode of the pipeline said that it is slow.

    Hadoop's datanodes mark their replies so while their peers find them slow
    (`dfs.pipeline.slownode`). A node that does it in so many acks in a row
    (`dfs.client.mark.slownode.as.badnode.threshold`; 0 switches it off) is left behind as
    if it had failed; one ack without the mark starts the count anew.
    """

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
