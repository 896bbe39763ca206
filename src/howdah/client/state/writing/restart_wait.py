"""Patience with a datanode that announced its restart (pure).

A datanode that is shut down for an upgrade says so to its writers (OOB_RESTART), and
will be back soon with the replica as it is. Where copying the block to another node
would cost more, which is on the writer's own machine and where no other node is left,
the writer waits for it: every second it tries to open the pipeline with the same nodes,
for `dfs.client.datanode-restart.timeout` at most. Then the node counts as failed.
"""

from __future__ import annotations

from howdah.protocol.data_transfer.blocks import DatanodeAddress

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
