"""Reads go to observers: ObserverReadProxyProvider in Hadoop.

An observer follows the log as a standby does, and answers reads. Rules:

1. A call that only reads (`howdah.protocol.client_methods`) goes to the observer that answered the
   last one. All other calls, and reads while there is no observer, go to the active namenode.
2. Every call carries the last transaction that this client has seen, every answer brings the
   last one that it shows. An observer makes a read wait until it has caught up with that: a
   client sees what it has done itself.
3. Before its first read a client asks the active namenode where the log is (`msync`), so that
   it begins with the present. `msync` asks again, for what others have done; so does
   `dfs.client.failover.observer.auto-msync-period.NS`: before each read (0), or when so much
   time has passed since the active was last heard (never, below 0).
4. An observer that does not answer, lags too far behind or is an observer no more is left for
   the next one; a read that no observer answers goes to the active. Who is an observer each
   namenode is asked when it is its turn, and, while none is, not again for
   `dfs.client.failover.observer.probe.retry.period`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from google.protobuf.message import Message

from howdah import errors
from howdah.client.namenodes.call_loop import FAILOVER_ERRORS
from howdah.client.namenodes.calls import ActiveCalls
from howdah.client.namenodes.connections import Connections
from howdah.client.namenodes.failover_probe import state_of
from howdah.client.namenodes.msync import MsyncTracker
from howdah.config.value_types import Address
from howdah.proto import ha_pb2
from howdah.protocol.client_methods import OBSERVER_METHODS
from howdah.rpc.client import AnswerType

M = TypeVar("M")

_log = logging.getLogger(__name__)


class ObserverReads:
    """A nameservice's `NamenodeCalls`; its connections carry what the client has seen."""

    def __init__(
        self,
        connections: Connections,
        active: ActiveCalls,
        *,
        auto_msync_s: float = -1,
        probe_again_s: float = 600.0,
        probe_timeout_s: float = 25.0,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """`active` calls the active namenode over the same connections."""
        self._connections = connections
        self._active = active
        self._probe_again_s = probe_again_s
        self._probe_timeout_s = probe_timeout_s
        self._now_s = now_s
        self._observer: str | None = None
        self._no_observer_since_s: float | None = None
        self._syncing = MsyncTracker(active, auto_msync_s, now_s)

    @property
    def user(self) -> str:
        return self._connections.user

    @property
    def address(self) -> Address:
        return self._active.address

    def call(self, method: str, request: Message, response_type: AnswerType[M]) -> M:
        """Raises what an observer or the active namenode answers; `NoActiveNamenode`."""
        call_id = self._connections.identity.next_call_id()
        if method in OBSERVER_METHODS and not self._is_without_observers():
            self._syncing.before_a_read()
            answer = self._read(method, request, response_type, call_id)
            if answer is not None:
                return answer
        answer = self._active.call(method, request, response_type, call_id=call_id)
        self._syncing.note_answer()
        return answer

    # -- which namenodes are observers ------------------------------------------------------

    def _is_without_observers(self) -> bool:
        since_s = self._no_observer_since_s
        return since_s is not None and self._now_s() - since_s < self._probe_again_s

    def _read(
        self, method: str, request: Message, response_type: AnswerType[M], call_id: int
    ) -> M | None:
        """The answer of an observer; None where none has one."""
        failed = 0
        for namenode in self._in_turn():
            if namenode != self._observer and not self._is_observer(namenode):
                continue
            self._observer = namenode
            try:
                answer = self._connections.rpc[namenode].call(
                    method, request, response_type, call_id=call_id
                )
            except errors.ObserverRetryOnActive as error:
                _log.debug("%s sends %s to the active: %s", namenode, method, error)
                return None
            except FAILOVER_ERRORS as error:
                failed += 1
                self._drop_observer(namenode)
                shown = self._connections.target.display_name(namenode)
                _log.info("observer %s does not answer %s: %s", shown, method, error)
            else:
                self._no_observer_since_s = None
                return answer
        if not failed:
            self._no_observer_since_s = self._now_s()
        return None

    def _in_turn(self) -> tuple[str, ...]:
        """All namenodes, the observer that answered last in front."""
        names = self._connections.names
        first = names.index(self._observer) if self._observer in names else 0
        return names[first:] + names[:first]

    def _drop_observer(self, namenode: str) -> None:
        """It is asked for its role before it gets another read."""
        if self._observer == namenode:
            self._observer = None

    def _is_observer(self, namenode: str) -> bool:
        state = state_of(self._connections, namenode, self._probe_timeout_s)
        return state == ha_pb2.OBSERVER

    def close(self) -> None:
        self._active.close()
