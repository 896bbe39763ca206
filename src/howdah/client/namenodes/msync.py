"""When a client asks where the log is (`msync`), so that it sees what others have done.

Hadoop: the auto-msync of ObserverReadProxyProvider and RouterObserverReadProxyProvider. Before
its first read, so that it begins with the present; and before each read, or when the active has
not been heard for so long, where `dfs.client.failover.observer.auto-msync-period.NS` says so.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from howdah.client.namenodes.calls import NamenodeCalls
from howdah.proto import client_namenode_pb2 as pb
from howdah.runtime.fork_safety import PerProcess


class MsyncTracker:
    """Of one client. Thread-safe; safe after a fork."""

    def __init__(
        self,
        active: NamenodeCalls,
        period_s: float,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """`period_s`: 0 is before each read, below 0 before the first one only."""
        self._active = active
        self._period_s = period_s
        self._now_s = now_s
        self._heard_s: float | None = None
        self._lock = PerProcess(threading.Lock)

    def note_answer(self) -> None:
        """The active has just answered."""
        self._heard_s = self._now_s()

    def before_a_read(self) -> None:
        """Ask where the log is, if it is time to. Raises what the active answers."""
        if self._is_synced():
            return
        with self._lock.get():
            if not self._is_synced():
                self._active.call("msync", pb.MsyncRequestProto(), pb.MsyncResponseProto)
                self.note_answer()

    def _is_synced(self) -> bool:
        if self._heard_s is None or self._period_s == 0:
            return False
        return self._period_s < 0 or self._now_s() - self._heard_s <= self._period_s
