"""Safe mode: the time in which the namespace cannot change (pure; FS-050).

Hadoop's `BlockManagerSafeMode`. At a start the namenode waits until enough blocks have
been reported, and a little longer (`dfs.namenode.safemode.extension`). An administrator
may also enter and leave safe mode; then it does not end by itself. An active namenode whose
disks have no room for its log is in safe mode until they have.

A standby follows the log of the active meanwhile: blocks come and go, and so does what is
needed (`expect`). It does not leave before it has read the log to its end once (`is_behind`).

A replica with a generation stamp that was never given out shows that the namenode was
started with old metadata. It would take such replicas for orphaned or corrupt, and have
them deleted. So safe mode does not end then, except by force.
"""

from __future__ import annotations

from howdah import errors
from howdah.namenode.state.inodes.id_bitmap import IdBitmap


class SafeMode:
    """States: starting -> extension -> off, or manual -> off."""

    def __init__(
        self,
        *,
        total_blocks: int,
        threshold: float,
        min_datanodes: int,
        extension_ms: int,
        host: str = "",
    ) -> None:
        self._host = host
        self._threshold = threshold
        self.expect(total_blocks)
        self._min_datanodes = min_datanodes
        self._extension_ms = extension_ms
        self._reached_ms: int | None = None
        # Old metadata may know nothing of most blocks that there are.
        self._future = IdBitmap()
        self._future_bytes = 0
        self.manual = False
        self.is_behind = False
        """The namespace is one of the past: what is reported cannot be held against it yet."""
        self.callers_wait = False
        """Whether callers are asked to try again, unless an administrator holds safe mode: so
        clients live through a failover to a namenode that was started just now, or from one
        that has no room any more (Hadoop's fail then)."""
        self.lacks_room = False
        """Whether it is on since there is no room for the log."""
        self._was_on = False
        self.on = True
        self._safe = 0
        self._nodes = 0
        self._now_ms = 0

    def expect(self, total_blocks: int) -> None:
        """The namespace has so many blocks of which replicas must be reported."""
        self.total_blocks = total_blocks
        self._needed = int(total_blocks * self._threshold)

    @property
    def needed_blocks(self) -> int:
        """So many have to be reported."""
        return self._needed

    @property
    def safe_blocks(self) -> int:
        """So many were, when safe mode last looked."""
        return self._safe

    @property
    def future_bytes(self) -> int:
        """Bytes of blocks that are younger than the metadata."""
        return self._future_bytes

    def update(self, safe_blocks: int, live_datanodes: int, now_ms: int) -> None:
        """Look at the counts; leave when they have been good for long enough."""
        if not self.on:
            return
        self._safe = safe_blocks
        self._nodes = live_datanodes
        self._now_ms = now_ms
        if self.manual or self.lacks_room:
            return
        if self.is_behind or safe_blocks < self._needed or live_datanodes < self._min_datanodes:
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
        if self.on and block_id not in self._future:
            self._future.add(block_id)
            self._future_bytes += length_bytes

    def begin(self) -> None:
        """It is on until enough is reported, whatever was known so far."""
        self.on = True
        self._reached_ms = None

    def enter(self) -> None:
        self.on = True
        self.manual = True

    def lose_room(self) -> None:
        """It is on until there is room again, or somebody else is active."""
        if not self.lacks_room:
            self._was_on, self.on, self.lacks_room = self.on, True, True

    def find_room(self) -> None:
        """It is as if there had always been room."""
        if self.lacks_room:
            self.lacks_room = False
            self.on = self._was_on or self.manual

    def leave(self, *, force: bool = False) -> bool:
        """Whether it is off then: without `force` nothing is left that would cost data."""
        if self._future and not force:
            return False
        self._future, self._future_bytes = IdBitmap(), 0
        self.on = False
        self.manual = self.lacks_room = False
        return True

    def status(self) -> str:
        """Why it is on, as Hadoop words it for people and scripts."""
        if self.lacks_room:
            return (
                "Resources are low on NN. Please add or free up more resources. NOTE:  If you "
                "turn off safe mode before adding resources, the NN will immediately return to "
                'safe mode. Use "hdfs dfsadmin -safemode leave" to turn safe mode off.'
            )
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
        if self.is_behind:
            return f"{off} after the edit log of the active namenode was read to its end."
        if self._reached_ms is None:
            return f"{off} once the thresholds have been reached."
        remaining_s = self._remaining_ms() // 1000
        if remaining_s > 0:
            return f"In safe mode extension. {off} in {remaining_s} seconds."
        return f"In safe mode extension. {off} soon."

    def check(self, message: str) -> None:
        """Raise SafeMode if the namespace may not change now, or RetriableError."""
        if not self.on:
            return
        refusal = errors.SafeMode(
            f"{message}. Name node is in safe mode.\n{self.status()}"
            + (f" NamenodeHostName:{self._host}" if self._host else "")
        )
        if self.callers_wait and not self.manual:
            raise errors.RetriableError(f"{refusal.java_class}: {refusal.message}")
        raise refusal
