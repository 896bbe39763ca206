"""What administrators are told of a new look at the configuration (ReconfigurableBase in Hadoop).

The control process takes the look and acts (`control.reconfiguration`); one look is taken at a
time. So it is with the namenodes (`NamenodesRefresh`), but there the administrator waits.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from howdah import errors
from howdah.datanode.state.messages import (
    Event,
    NamenodesAsked,
    PropertyChange,
    ReconfigurationAsked,
)
from howdah.proto import client_datanode_pb2 as pb
from howdah.protocol.rpc.service import Service

PROTOCOL = "org.apache.hadoop.hdfs.protocol.ReconfigurationProtocol"


class ReconfigurationTask:
    """The last one. Any thread may call any method."""

    def __init__(self, notify: Callable[[Event], None]) -> None:
        self._notify = notify
        self._lock = threading.Lock()
        self._started_ms = self._ended_ms = 0
        self._changes: tuple[PropertyChange, ...] = ()

    def start(self) -> None:
        """Raises `RemoteError` while another one is under way."""
        with self._lock:
            if self._started_ms and not self._ended_ms:
                raise errors.RemoteError("Another reconfiguration task is running.")
            self._started_ms, self._ended_ms, self._changes = _now_ms(), 0, ()
        self._notify(ReconfigurationAsked())

    def ended(self, changes: tuple[PropertyChange, ...]) -> None:
        with self._lock:
            self._ended_ms, self._changes = _now_ms(), changes

    def status(self) -> pb.GetReconfigurationStatusResponseProto:
        with self._lock:
            answer = pb.GetReconfigurationStatusResponseProto(startTime=self._started_ms)
            if self._ended_ms:
                answer.endTime = self._ended_ms
                for change in self._changes:
                    answer.changes.add(
                        name=change.name,
                        oldValue=change.old,
                        newValue=change.new,
                        errorMessage=change.error or None,
                    )
            return answer


class NamenodesRefresh:
    """`dfsadmin -refreshNamenodes`. Any thread may call any method."""

    def __init__(self, notify: Callable[[Event], None], timeout_s: float = 60.0) -> None:
        self._notify = notify
        self._timeout_s = timeout_s
        self._one_at_a_time = threading.Lock()
        self._changed = threading.Condition()
        self._number = 0
        self._problem: str | None = None

    def run(self) -> None:
        """Return when the namenodes are those of the configuration.

        Raises `RemoteError` with what keeps them from being that.
        """
        with self._one_at_a_time:
            with self._changed:
                self._problem = None
                number = self._number
            self._notify(NamenodesAsked(number))
            with self._changed:
                self._changed.wait_for(lambda: self._problem is not None, self._timeout_s)
                self._number += 1
                problem = self._problem
            if problem is None:
                raise errors.RemoteError(
                    f"the namenodes were not refreshed within {self._timeout_s:g} s: see the log"
                )
            if problem:
                raise errors.RemoteError(problem)

    def ended(self, problem: str, number: int = 0) -> None:
        """Nothing to say is success. The answer to an earlier question counts for no later one."""
        with self._changed:
            if number == self._number:
                self._problem = problem
                self._changed.notify_all()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def service(implementation: object) -> Service:
    """The three calls alone, as Hadoop's datanodes offer them besides."""
    descriptor = pb.DESCRIPTOR.services_by_name["ReconfigurationProtocolService"]
    return Service(PROTOCOL, 1, descriptor, implementation)
