"""What this datanode caches, as its namenodes are told.

BPServiceActor.cacheReport in Hadoop. Each report has all of it; one goes out every
`dfs.cachereport.intervalMsec`, and with the next heartbeat after a change.
"""

from __future__ import annotations

import threading

from howdah.datanode.state.messages import CacheChanged


class CachedBlocks:
    """Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cached: dict[str, set[int]] = {}
        self._version = 0

    def apply(self, change: CacheChanged) -> None:
        with self._lock:
            cached = self._cached.setdefault(change.pool_id, set())
            cached.difference_update(change.uncached)
            cached.update(change.cached)
            self._version += 1

    @property
    def version(self) -> int:
        """Another one after each change."""
        return self._version

    def of_pool(self, pool_id: str) -> list[int]:
        with self._lock:
            return sorted(self._cached.get(pool_id, ()))


class CacheReportSchedule:
    """Of one namenode; for its one thread."""

    def __init__(self, cached: CachedBlocks, interval_s: float) -> None:
        self._cached = cached
        self._interval_s = interval_s
        self.start_over()

    def start_over(self) -> None:
        """It has just registered this datanode."""
        self._due_s = 0.0
        self._told_version = -1

    def is_due(self, now_s: float) -> bool:
        return now_s >= self._due_s or self._told_version != self._cached.version

    def pop_due(self, pool_id: str, now_s: float) -> list[int]:
        """What the report has that is sent now."""
        self._told_version = self._cached.version
        self._due_s = now_s + self._interval_s
        return self._cached.of_pool(pool_id)
