"""All namenodes at once: RequestHedgingProxyProvider in Hadoop.

The first call goes to all namenodes at the same time. The first answer counts, and the client
stays with the namenode that gave it; the others refuse the call, as they are not active. When
that namenode fails, the next call goes to all others at once, and so on. It costs threads and
calls while the active namenode is not known, and finds it in the time of one call even where a
namenode does not answer at all.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from howdah.client.namenodes import active_cache
from howdah.client.namenodes.call_loop import FailoverCalls
from howdah.client.namenodes.connections import Connections
from howdah.protocol.rpc.failover import FailoverPolicy


class HedgingFailover(FailoverCalls):
    """A nameservice's `NamenodeCalls`."""

    def __init__(
        self,
        connections: Connections,
        policy: FailoverPolicy,
        *,
        probe_interval_s: float = 0,
        sleep: Callable[[float], None] = time.sleep,
        draw: Callable[[], float] = random.random,
    ) -> None:
        super().__init__(
            connections, policy, probe_interval_s=probe_interval_s, sleep=sleep, draw=draw
        )
        self._chosen = active_cache.active(connections.target)
        self._failed: str | None = None

    def _next(self) -> str:
        return self._chosen or self._connections.names[0]

    def _to_be_asked(self) -> tuple[str, ...]:
        if self._chosen is not None:
            return (self._chosen,)
        names = self._connections.names
        return tuple(name for name in names if name != self._failed) or names

    def _answered(self, namenode: str) -> None:
        self._chosen, self._failed = namenode, None
        super()._answered(namenode)

    def _go_elsewhere(self, namenodes: tuple[str, ...]) -> None:
        self._failed, self._chosen = self._chosen, None
