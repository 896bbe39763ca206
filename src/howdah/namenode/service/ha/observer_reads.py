"""Reads on an observer wait until it has seen what their caller has seen (pure).

Mirrors Hadoop's GlobalStateIdContext. Every answer carries the last transaction that it may
show, every call the last one that its caller has seen. A *coordinated* call of ClientProtocol
(`howdah.protocol.client_methods`) on an observer

1. that carries no state is refused by `StandbyException`: its client does not know of
   observers, and would read what is old without knowing
2. is served at once if the observer has applied the caller's last transaction
3. is refused by `RetriableException` if the observer is far behind, or too many calls wait
4. waits otherwise. It is served when the transaction is applied, refused as in 3 after
   `max_wait_ms`, and judged anew if the observer gets another role.

On an active namenode no call waits.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from howdah import errors
from howdah.namenode.service.ha.states import HAContext, HAState
from howdah.namenode.service.protocols import client
from howdah.protocol.client_methods import COORDINATED_METHODS
from howdah.protocol.rpc.call import Call

GoOn = Callable[[errors.HowdahError | None], None]

FAR_BEHIND_TXNS: Final = 160_000
"""What Hadoop thinks an observer reads within the 20 s in which a client may be idle."""
MAX_WAITING: Final = 10_000
MAX_WAIT_MS: Final = 10_000


@dataclass(order=True, slots=True)
class _Waiting:
    txid: int
    number: int
    until_ms: int = field(compare=False)
    go_on: GoOn = field(compare=False)


class ObserverReads:
    """The `Alignment` of a namenode's RPC server."""

    def __init__(
        self,
        context: HAContext,
        last_txid: Callable[[], int],
        now_ms: Callable[[], int],
        *,
        far_behind_txns: int = FAR_BEHIND_TXNS,
        max_waiting: int = MAX_WAITING,
        max_wait_ms: int = MAX_WAIT_MS,
    ) -> None:
        """`last_txid` is the last transaction that is applied; `now_ms` a monotonic clock."""
        self._context = context
        self._last_txid = last_txid
        self._now_ms = now_ms
        self._far_behind_txns = far_behind_txns
        self._max_waiting = max_waiting
        self._max_wait_ms = max_wait_ms
        self._waiting: list[_Waiting] = []
        self._numbers = itertools.count()

    @property
    def waiting(self) -> int:
        """Calls that wait."""
        return len(self._waiting)

    def state_id(self) -> int:
        return self._last_txid()

    def holds_nobody(self) -> bool:
        return self._context.state is not HAState.OBSERVER

    def must_wait(self, call: Call) -> bool:
        """Raises StandbyError, RetriableError."""
        if self._context.state is not HAState.OBSERVER:
            return False
        if call.protocol != client.PROTOCOL or call.method not in COORDINATED_METHODS:
            return False
        if call.state_id is None:
            raise errors.StandbyError(
                "this namenode is an observer, and the call does not say what its caller has "
                "seen: is the client configured with ObserverReadProxyProvider?"
            )
        behind = call.state_id - self._last_txid()
        if behind <= 0:
            return False
        if behind > self._far_behind_txns or len(self._waiting) >= self._max_waiting:
            raise self._too_late(call.state_id)
        return True

    def when_reached(self, call: Call, go_on: GoOn) -> None:
        assert call.state_id is not None, "a call without a state does not wait"
        until_ms = self._now_ms() + self._max_wait_ms
        entry = _Waiting(call.state_id, next(self._numbers), until_ms, go_on)
        heapq.heappush(self._waiting, entry)

    def advanced(self) -> None:
        """More of the log is applied."""
        last_txid = self._last_txid()
        while self._waiting and self._waiting[0].txid <= last_txid:
            heapq.heappop(self._waiting).go_on(None)

    def tick(self) -> None:
        """End the calls that have waited for too long."""
        now_ms = self._now_ms()
        late = [entry for entry in self._waiting if entry.until_ms <= now_ms]
        if late:
            self._waiting = [entry for entry in self._waiting if entry.until_ms > now_ms]
            heapq.heapify(self._waiting)
        for entry in late:
            entry.go_on(self._too_late(entry.txid))

    def role_changed(self) -> None:
        """The namenode may be no observer any more: the gate decides anew."""
        waiting, self._waiting = self._waiting, []
        for entry in waiting:
            entry.go_on(None)

    def _too_late(self, wanted: int) -> errors.RetriableError:
        return errors.RetriableError(
            f"the observer namenode is too far behind: it is at transaction {self._last_txid()}, "
            f"the caller has seen {wanted}"
        )
