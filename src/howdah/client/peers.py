"""Idle data connections, kept for the next read of the same datanode.

A datanode waits some seconds for a further operation on a connection whose read ended
well (`dfs.datanode.socket.reuse.keepalive`, 4 s). Positioned reads of small ranges,
and files of one block, come to half their time by that. Mirrors Hadoop's PeerCache:
`dfs.client.socketcache.capacity` connections, `dfs.client.socketcache.expiryMsec` long.

A kept connection may be closed by the datanode at any moment: who takes one must be
ready to find it dead, and take a new one then.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict

from howdah.transfer.sockets import Connection

Address = tuple[str, int]


class PeerCache:
    """Connections by address; the oldest one goes when there are too many. Thread-safe."""

    def __init__(self, capacity: int, expiry_s: float) -> None:
        self._capacity = capacity
        self._expiry_s = expiry_s
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        # Oldest first: (since when, address) by connection.
        self._idle: OrderedDict[Connection, tuple[float, Address]] = OrderedDict()
        self._closed = False

    def take(self, address: Address) -> Connection | None:
        """A connection to `address` that looks alive."""
        if self._pid != os.getpid():
            # The connections are the parent's; a forked child only lets go of them.
            self._reset()
        while True:
            found = self._pop(address)
            if found is None or not found.has_input:
                return found
            found.close()

    def _pop(self, address: Address) -> Connection | None:
        stale: list[Connection] = []
        found = None
        with self._lock:
            limit_s = time.monotonic() - self._expiry_s
            for connection, (since_s, place) in list(self._idle.items()):
                if since_s < limit_s:
                    stale.append(connection)
                elif place == address:
                    found = connection
            if found is not None:
                del self._idle[found]
            for connection in stale:
                del self._idle[connection]
        for connection in stale:
            connection.close()
        return found

    def give_back(self, address: Address, connection: Connection) -> None:
        """Keep a connection that has nothing more under way."""
        dropped = connection
        if self._pid != os.getpid():
            self._reset()
        with self._lock:
            if not self._closed and self._capacity:
                self._idle[connection] = (time.monotonic(), address)
                if len(self._idle) <= self._capacity:
                    return
                dropped, _ = self._idle.popitem(last=False)
        dropped.close()

    def close(self) -> None:
        """Close what is idle, and keep nothing from now on."""
        if self._pid != os.getpid():
            self._reset()
        with self._lock:
            self._closed = True
            idle = list(self._idle)
            self._idle.clear()
        for connection in idle:
            connection.close()

    def __len__(self) -> int:
        with self._lock:
            return len(self._idle)
