"""The calls of one port of a server: how many, how long they took, of whom (pure).

RpcMetrics and RpcDetailedMetrics in Hadoop. A call that fails counts under the name of its
exception, as there. The name of a method comes from outside: what the server does not have
counts as a failure, and makes no entry.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager
from typing import Final

from howdah.runtime.metrics.histogram import Times

MAX_USERS: Final = 1000
"""So many users are told apart between two looks of `top_users`; others count as one."""
OTHERS: Final = "(others)"
_MAX_FAILURES: Final = 200


class MethodFigures:
    """One method. `users` has the calls of each user since it was taken last."""

    __slots__ = ("times", "users")

    def __init__(self) -> None:
        self.times = Times()
        self.users: dict[str, int] = {}


class RpcMetrics:
    """One port, of a server that answers on one thread."""

    def __init__(self, methods: Collection[str]) -> None:
        """`methods` are those that may be counted."""
        self._known = frozenset(methods)
        self.methods: dict[str, MethodFigures] = {}
        self.failures: dict[str, Times] = {}
        """By the class of the exception, without its package."""
        self.queued = Times()
        """From the arrival of a call to its turn."""
        self.received_bytes = 0
        self.sent_bytes = 0
        self.refused_connections = 0

    def waited(self, ns: int) -> None:
        """A call had its turn, `ns` nanoseconds after it came."""
        # `queued.add`, written out, as below.
        queued = self.queued
        queued.count += 1
        queued.total_ns += ns
        queued.buckets[(ns >> 10).bit_length()] += 1

    def answered(self, method: str, user: str, ns: int) -> None:
        """A call was answered, `ns` nanoseconds after its turn came."""
        try:
            figures = self.methods[method]
        except KeyError:
            figures = self._begin(method)
        # `times.add`, written out: a call of it would cost as much as all of this.
        times = figures.times
        times.count += 1
        times.total_ns += ns
        times.buckets[(ns >> 10).bit_length()] += 1
        users = figures.users
        try:
            users[user] += 1
        except KeyError:
            self._first(users, user)

    def failed(self, java_class: str, ns: int) -> None:
        """A call ended with an error, such as `java.io.FileNotFoundException`."""
        name = java_class.rpartition(".")[2].rpartition("$")[2]
        times = self.failures.get(name)
        if times is None:
            if len(self.failures) >= _MAX_FAILURES:
                name = "OtherException"
            times = self.failures.setdefault(name, Times())
        times.add(ns)

    @property
    def successes(self) -> int:
        """Calls that were done."""
        return sum(method.times.count for method in list(self.methods.values()))

    @property
    def requests(self) -> int:
        """Calls that had an answer."""
        return self.successes + sum(times.count for times in list(self.failures.values()))

    def _begin(self, method: str) -> MethodFigures:
        assert method in self._known, f"{method} was answered, and is no method of this server"
        return self.methods.setdefault(method, MethodFigures())

    def _first(self, users: dict[str, int], user: str) -> None:
        name = user if len(users) < MAX_USERS else OTHERS
        users[name] = users.get(name, 0) + 1


class SharedRpcMetrics(RpcMetrics):
    """One port, of a server that answers on several threads."""

    def __init__(self, methods: Collection[str], lock: AbstractContextManager[object]) -> None:
        super().__init__(methods)
        self._lock: Final = lock

    def waited(self, ns: int) -> None:
        with self._lock:
            super().waited(ns)

    def answered(self, method: str, user: str, ns: int) -> None:
        with self._lock:
            super().answered(method, user, ns)

    def failed(self, java_class: str, ns: int) -> None:
        with self._lock:
            super().failed(java_class, ns)

    def received(self, count: int) -> None:
        """Bytes came."""
        with self._lock:
            self.received_bytes += count

    def sent(self, count: int) -> None:
        """Bytes left."""
        with self._lock:
            self.sent_bytes += count
