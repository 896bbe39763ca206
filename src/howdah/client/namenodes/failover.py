"""One namenode after the other: ConfiguredFailoverProxyProvider in Hadoop.

The client stays with the namenode that answers. One that is not active, or does not answer, is
left for the next one, as `howdah.rpc.failover` says: round again in the order of
`dfs.ha.namenodes.NS` or, as is usual, in an order of the client's own
(`dfs.client.failover.random.order`), so that not all clients ask the same standby first. All
threads of a client go together: the first one that fails leaves the namenode for all.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from google.protobuf.message import Message

from howdah import errors
from howdah.client.namenodes import remembered
from howdah.client.namenodes.calls import say_again
from howdah.client.namenodes.connections import Connections
from howdah.client.namenodes.impatience import while_waiting
from howdah.kinds import Address
from howdah.rpc.client import AnswerType
from howdah.rpc.connection import PreparedCall
from howdah.rpc.failover import Attempts, FailoverPolicy

M = TypeVar("M")

FAILOVER_ERRORS = (
    errors.Unreachable,
    errors.StandbyError,
    errors.RetriableError,
    errors.CallTimeout,
)
"""What another namenode, or another attempt, may answer better."""


class NoActiveNamenode(errors.Unreachable):
    """No namenode of a nameservice answered as the active one; the message names them all."""


class ConfiguredFailover:
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
        """`probe_interval_s`: see `impatience`; 0 for never."""
        self._connections = connections
        self._probe_interval_s = probe_interval_s
        self._policy = policy
        self._sleep = sleep
        self._draw = draw
        names = list(connections.names)
        if random_order:
            names.sort(key=lambda _: draw())
        self._names = tuple(names)
        first = remembered.active(connections.target)
        self._current = first if first in names else names[0]

    @property
    def user(self) -> str:
        return self._connections.user

    @property
    def address(self) -> Address:
        return self._connections.address(self._current)

    def call(
        self,
        method: str,
        request: Message,
        response_type: AnswerType[M],
        *,
        call_id: int | None = None,
    ) -> M:
        """Raises what the active namenode answers; `NoActiveNamenode`."""
        connections = self._connections
        if call_id is None:
            call_id = connections.identity.next_call_id()
        attempts = Attempts(self._policy, self._names)
        began_s = time.monotonic()
        while True:
            namenode = self._current
            try:
                answer = connections.rpc[namenode].call(
                    method,
                    request,
                    response_type,
                    call_id=call_id,
                    retry_count=attempts.count or -1,
                    meanwhile=while_waiting(connections, namenode, self._probe_interval_s),
                )
            except errors.FilesystemClosed:
                raise
            except FAILOVER_ERRORS as error:
                step = attempts.failed(namenode, error, self._draw())
                if step is None:
                    raise given_up(connections, method, attempts, began_s) from error
                if step.elsewhere:
                    self._leave(namenode)
                what = f"{connections.target.shown(namenode)}: {error}; trying "
                what += f"namenode {self._current}" if step.elsewhere else "again"
                what += f", for up to {self._policy.longest_s:.3g} s in all"
                say_again(method, what, step.pause_s, attempts.pauses if step.pause_s else 0)
                if step.pause_s:
                    self._sleep(step.pause_s)
            else:
                remembered.keep(connections.target, namenode)
                return answer

    def prepare(self, method: str, request: Message) -> PreparedCall | None:
        return self._connections.rpc[self._current].prepare(method, request)

    def _leave(self, namenode: str) -> None:
        """Go on with the next one, unless another thread has left it already."""
        if self._current == namenode:
            place = self._names.index(namenode)
            self._current = self._names[(place + 1) % len(self._names)]

    def close(self) -> None:
        self._connections.close()


def given_up(
    connections: Connections, method: str, attempts: Attempts, began_s: float
) -> errors.HowdahError:
    """The error of a call that no namenode answered: what each one last said."""
    last = next(reversed(attempts.failures.values()))
    if isinstance(last, errors.RetriableError) or len(connections.names) == 1:
        return last
    said = "; ".join(
        f"{connections.target.shown(name)}: {error}" for name, error in attempts.failures.items()
    )
    return NoActiveNamenode(
        f"no active namenode of {connections.target.nameservice} answers {method} "
        f"({attempts.count} attempts in {time.monotonic() - began_s:.1f} s): {said}"
    )
