"""Safe mode: the time in which the namespace cannot change (pure; FS-050).

Hadoop's `BlockManagerSafeMode`. At a start the namenode waits until enough blocks have
been reported, and a little longer (`dfs.namenode.safemode.extension`). An administrator
may also enter and leave safe mode; then it does not end by itself.

A replica with a generation stamp that was never given out shows that the namenode was
started with old metadata. It would take such replicas for orphaned or corrupt, and have
them deleted. So safe mode does not end then, except by force.
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
        self._threshold = threshold
        self._needed = int(total_blocks * threshold)
        self._min_datanodes = min_datanodes
        self._extension_ms = extension_ms
        self._reached_ms: int | None = None
        self._future: dict[int, int] = {}
        self.manual = False
        self.on = True
        self._safe = 0
        self._nodes = 0
        self._now_ms = 0

    @property
    def future_bytes(self) -> int:
        """Bytes of blocks that are younger than the metadata."""
        return sum(self._future.values())

    def update(self, safe_blocks: int, live_datanodes: int, now_ms: int) -> None:
        """Look at the counts; leave when they have been good for long enough."""
        if not self.on:
            return
        self._safe = safe_blocks
        self._nodes = live_datanodes
        self._now_ms = now_ms
        if self.manual:
            return
        if safe_blocks < self._needed or live_datanodes < self._min_datanodes:
            self._reached_ms = None
            return
        if self._reached_ms is None:
            self._reached_ms = now_ms
        if self._remaining_ms() <= 0 and not self._future:
            self.on = False

    def _remaining_ms(self) -> int:
        assert self._reached_ms is not None, "asked in the extension"
        # An empty filesystem has nothing to wait for.
        if not self.total_blocks:
            return 0
        return self._reached_ms + self._extension_ms - self._now_ms

    def found_future(self, block_id: int, length_bytes: int) -> None:
        """A replica under a generation stamp that was never given out was reported."""
        if self.on:
            self._future[block_id] = length_bytes

    def enter(self) -> None:
        self.on = True
        self.manual = True

    def leave(self, *, force: bool = False) -> bool:
        """Whether it is off then: without `force` nothing is left that would cost data."""
        if self._future and not force:
            return False
        self._future.clear()
        self.on = False
        self.manual = False
        return True

    def status(self) -> str:
        """Why it is on, as Hadoop words it for people and scripts."""
        if self.manual:
            return (
                "It was turned on manually. "
                'Use "hdfs dfsadmin -safemode leave" to turn safe mode off.'
            )
        return f"{self._blocks()}{self._datanodes()}{self._end()}"

    def _blocks(self) -> str:
        of = f"the threshold {self._threshold:.4f} of total blocks {self.total_blocks}."
        if self._safe < self._needed:
            missing = self._needed - self._safe
            return (
                f"The reported blocks {self._safe} needs additional {missing} blocks to reach "
                f"{of}\n"
            )
        return f"The reported blocks {self._safe} has reached {of} "

    def _datanodes(self) -> str:
        if self._min_datanodes <= 0:
            return "The minimum number of live datanodes is not required. "
        if self._safe < self._needed:
            return (
                "The number of live datanodes is not calculated since reported blocks hasn't "
                "reached the threshold. "
            )
        if self._nodes < self._min_datanodes:
            return (
                f"The number of live datanodes {self._nodes} needs an additional "
                f"{self._min_datanodes - self._nodes} live datanodes to reach the minimum "
                f"number {self._min_datanodes}.\n"
            )
        return (
            f"The number of live datanodes {self._nodes} has reached the minimum number "
            f"{self._min_datanodes}. "
        )

    def _end(self) -> str:
        if self._future:
            return (
                "Name node detected blocks with generation stamps in future: its metadata is "
                f"older than they are, and leaving safe mode would delete {self.future_bytes} "
                "byte(s). Start the namenode with the right metadata, or, if these are right, "
                'leave with "hdfs dfsadmin -safemode forceExit".'
            )
        off = "Safe mode will be turned off automatically"
        if self._reached_ms is None:
            return f"{off} once the thresholds have been reached."
        remaining_s = self._remaining_ms() // 1000
        if remaining_s > 0:
            return f"In safe mode extension. {off} in {remaining_s} seconds."
        return f"In safe mode extension. {off} soon."

    def check(self, what: str) -> None:
        """Raises SafeMode if the namespace may not change now."""
        if self.on:
            raise errors.SafeMode(f"{what}. Name node is in safe mode.\n{self.status()}")
