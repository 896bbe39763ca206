"""Idle data connections, kept for the next read of the same datanode.

A datanode waits some seconds for a further operation on a connection whose read ended
well (`dfs.datanode.socket.reuse.keepalive`, 4 s). Positioned reads of small ranges,
and files of one block, come to half their time by that. Mirrors Hadoop's PeerCache:
`dfs.client.socketcache.capacity` connections, `dfs.client.socketcache.expiryMsec` long.

A kept connection may be closed by the datanode at any moment: who takes one must be
ready to find it dead, and take a new one then.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict

from howdah.runtime.fork_safety import PerProcess
from howdah.runtime.sockets import Connection

Address = tuple[str, int]
LOOK_AFTER_S = 0.1
"""A connection that has been idle for so long may have been closed by its datanode; one that
was used a moment ago is not asked. Whoever reads finds out."""


class _Kept:
    """What one process keeps: oldest first, (since when, address) by connection."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.idle: OrderedDict[Connection, tuple[float, Address]] = OrderedDict()
        self.closed = False


class PeerCache:
    """Keeps connections by address; the oldest one goes when there are too many.

    Thread-safe. The connections are those of one process: a forked child lets go of them.
    """

    def __init__(self, capacity: int, expiry_s: float) -> None:
        self._capacity = capacity
        self._expiry_s = expiry_s
        self._kept = PerProcess(_Kept)

    def pop(self, address: Address) -> Connection | None:
        """Pop the connection to `address` that was used last and looks alive."""
        kept = self._kept.get()
        while True:
            now_s = time.monotonic()
            stale: list[Connection] = []
            candidate, since_s = None, now_s
            with kept.lock:
                idle = kept.idle
                while idle:
                    oldest = next(iter(idle))
                    if idle[oldest][0] >= now_s - self._expiry_s:
                        break
                    del idle[oldest]
                    stale.append(oldest)
                for connection in reversed(idle):
                    since_s, place = idle[connection]
                    if place == address:
                        candidate = connection
                        del idle[connection]
                        break
            for connection in stale:
                connection.close()
            if candidate is None or now_s - since_s < LOOK_AFTER_S or not candidate.has_input:
                return candidate
            candidate.close()

    def give_back(self, address: Address, connection: Connection) -> None:
        """Keep a connection that has nothing more under way."""
        dropped = connection
        kept = self._kept.get()
        with kept.lock:
            if not kept.closed and self._capacity:
                kept.idle[connection] = (time.monotonic(), address)
                if len(kept.idle) <= self._capacity:
                    return
                dropped, _ = kept.idle.popitem(last=False)
        dropped.close()

    def close(self) -> None:
        """Close what is idle, and keep nothing from now on."""
        kept = self._kept.get()
        with kept.lock:
            kept.closed = True
            idle = list(kept.idle)
            kept.idle.clear()
        for connection in idle:
            connection.close()

    def __len__(self) -> int:
        kept = self._kept.get()
        with kept.lock:
            return len(kept.idle)
