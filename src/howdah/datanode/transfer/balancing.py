"""What moves of replicas may take of this datanode: so many at a time, so many bytes a second.

DataXceiverServer.BlockBalanceThrottler in Hadoop. A move that comes in (REPLACE_BLOCK) and one
that goes out (COPY_BLOCK) count alike, and all of them share the bandwidth, which the namenode
may change while the datanode runs.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from howdah import errors
from howdah.runtime.byte_rate import Throttle

log = logging.getLogger(__name__)

_NAP_S: Final = 1.0


class Balancing:
    """Counts and limits the moves that this datanode takes part in. Any thread may ask."""

    def __init__(self, max_moves: int, bytes_per_s: int) -> None:
        """`dfs.datanode.balance.max.concurrent.moves` and `…balance.bandwidthPerSec`."""
        self.max_moves = max_moves
        self.uuid = ""
        """This datanode's own, once it has registered."""
        self._lock = threading.Lock()
        self._running = 0
        self._bytes_per_s = bytes_per_s
        self._throttle = Throttle(bytes_per_s)

    @property
    def running(self) -> int:
        return self._running

    @property
    def bytes_per_s(self) -> int:
        return self._bytes_per_s

    def set_bandwidth(self, bytes_per_s: int) -> None:
        """From now on. As in Hadoop, what is not positive changes nothing."""
        if bytes_per_s <= 0:
            log.info("balancing keeps its %d bytes a second, not %d", self.bytes_per_s, bytes_per_s)
            return
        with self._lock:
            self._bytes_per_s = bytes_per_s
            self._throttle = Throttle(bytes_per_s)
        log.info("balancing may take %d bytes a second", bytes_per_s)

    @contextmanager
    def turn(self, action: str) -> Iterator[None]:
        """Hold a place for one move. `RemoteError` if there are as many as may be; `action` is what
        cannot be done then."""
        with self._lock:
            if self._running >= self.max_moves:
                raise errors.RemoteError(
                    f"Not able to {action} because threads quota={self.max_moves} is exceeded."
                )
            self._running += 1
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1

    def moved(self, count_bytes: int, waiting: Callable[[], None] = lambda: None) -> None:
        """Wait until more bytes may go, after these; `waiting` is called now and again."""
        with self._lock:
            left_s = self._throttle.delay_s(count_bytes, time.monotonic())
        while left_s > 0:
            nap_s = min(left_s, _NAP_S)
            time.sleep(nap_s)
            left_s -= nap_s
            waiting()
