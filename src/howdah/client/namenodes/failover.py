"""One namenode after the other: ConfiguredFailoverProxyProvider in Hadoop.

The client stays with the namenode that answers. One that is not active, or does not answer, is
left for the next one, as `howdah.protocol.rpc.failover` says: round again in the order of
`dfs.ha.namenodes.NS` or, as is usual, in an order of the client's own
(`dfs.client.failover.random.order`), so that not all clients ask the same standby first. All
threads of a client go together: the first one that fails leaves the namenode for all.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from google.protobuf.message import Message

from howdah.client.namenodes import active_cache
from howdah.client.namenodes.call_loop import FailoverCalls
from howdah.client.namenodes.connections import Connections
from howdah.protocol.rpc.failover import FailoverPolicy
from howdah.rpc.connection import PreparedCall


class ConfiguredFailover(FailoverCalls):
    """A nameservice's `NamenodeCalls`."""

    def __init__(
        self,
        connections: Connections,
        policy: FailoverPolicy,
        *,
        random_order: bool = False,
        probe_interval_s: float = 0,
        sleep: Callable[[float], None] = time.sleep,
        draw: Callable[[], float] = random.random,
    ) -> None:
        super().__init__(
            connections, policy, probe_interval_s=probe_interval_s, sleep=sleep, draw=draw
        )
        names = list(connections.names)
        if random_order:
            names.sort(key=lambda _: draw())
        self._names = tuple(names)
        first = active_cache.active(connections.target)
        self._current = first if first in names else names[0]

    def prepare(self, method: str, request: Message) -> PreparedCall | None:
        return self._connections.rpc[self._current].prepare(method, request)

    def _next(self) -> str:
        return self._current

    def _to_be_asked(self) -> tuple[str, ...]:
        return (self._current,)

    def _go_elsewhere(self, namenodes: tuple[str, ...]) -> None:
        # Unless another thread has left it already.
        if self._current in namenodes:
            place = self._names.index(self._current)
            self._current = self._names[(place + 1) % len(self._names)]
