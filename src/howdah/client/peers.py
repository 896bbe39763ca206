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

from howdah.forks import PerProcess
from howdah.transfer.sockets import Connection

Address = tuple[str, int]


class _Kept:
    """What one process keeps: oldest first, (since when, address) by connection."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.idle: OrderedDict[Connection, tuple[float, Address]] = OrderedDict()
        self.closed = False


class PeerCache:
    """Connections by address; the oldest one goes when there are too many.

    Thread-safe. The connections are those of one process: a forked child lets go of them.
    """

    def __init__(self, capacity: int, expiry_s: float) -> None:
        self._capacity = capacity
        self._expiry_s = expiry_s
        self._kept = PerProcess(_Kept)

    def take(self, address: Address) -> Connection | None:
        """A connection to `address` that looks alive."""
        while True:
            found = self._pop(address)
            if found is None or not found.has_input:
                return found
            found.close()

    def _pop(self, address: Address) -> Connection | None:
        stale: list[Connection] = []
        found = None
        kept = self._kept.get()
        with kept.lock:
            limit_s = time.monotonic() - self._expiry_s
            for connection, (since_s, place) in list(kept.idle.items()):
                if since_s < limit_s:
                    stale.append(connection)
                elif place == address:
                    found = connection
            if found is not None:
                del kept.idle[found]
            for connection in stale:
                del kept.idle[connection]
        for connection in stale:
            connection.close()
        return found

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
