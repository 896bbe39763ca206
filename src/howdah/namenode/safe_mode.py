"""Safe mode: the time in which the namespace cannot change (pure; FS-050).

At start the namenode waits until enough blocks have been reported, and a little
longer (`dfs.namenode.safemode.extension`). An administrator may also enter and
leave it; then nothing leaves by itself.
"""

from __future__ import annotations

from howdah import errors


class SafeMode:
    """States: starting -> extension -> off, or manual -> off."""

    def __init__(
        self,
        *,
        total_blocks: int,
        threshold: float,
        min_datanodes: int,
        extension_ms: int,
    ) -> None:
        self.total_blocks = total_blocks
        self._needed = int(total_blocks * threshold)
        self._min_datanodes = min_datanodes
        self._extension_ms = extension_ms
        self._reached_ms: int | None = None
        self.manual = False
        self.on = True
        self._safe = 0
        self._nodes = 0

    def update(self, safe_blocks: int, live_datanodes: int, now_ms: int) -> None:
        """Look at the counts; leave when they have been good for long enough."""
        if not self.on:
            return
        self._safe = safe_blocks
        self._nodes = live_datanodes
        if self.manual:
            return
        if safe_blocks < self._needed or live_datanodes < self._min_datanodes:
            self._reached_ms = None
            return
        if self._reached_ms is None:
            self._reached_ms = now_ms
        # An empty filesystem has nothing to wait for.
        if not self.total_blocks or now_ms - self._reached_ms >= self._extension_ms:
            self.on = False

    def enter(self) -> None:
        self.on = True
        self.manual = True

    def leave(self) -> None:
        self.on = False
        self.manual = False

    def status(self) -> str:
        """Why it is on, as Hadoop words it for people and scripts."""
        if self.manual:
            return (
                "It was turned on manually. "
                'Use "hdfs dfsadmin -safemode leave" to turn safe mode off.'
            )
        blocks = f"The reported blocks {self._safe} "
        if self._safe < self._needed:
            blocks += (
                f"needs additional {self._needed - self._safe} blocks to reach the threshold "
                f"of total blocks {self.total_blocks}."
            )
        else:
            blocks += f"has reached the threshold of total blocks {self.total_blocks}."
        nodes = f" The number of live datanodes {self._nodes} " + (
            f"needs an additional {self._min_datanodes - self._nodes} live datanodes "
            f"to reach the minimum number {self._min_datanodes}."
            if self._nodes < self._min_datanodes
            else f"has reached the minimum number {self._min_datanodes}."
        )
        return blocks + nodes + " Safe mode will be turned off automatically."

    def check(self, what: str) -> None:
        """Raises SafeMode if the namespace may not change now."""
        if self.on:
            raise errors.SafeMode(f"{what}. Name node is in safe mode.\n{self.status()}")
