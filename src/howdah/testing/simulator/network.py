"""Connections and calls between simulated processes.

A connection is two queues. What was sent comes out at the other end in its order, or not
at all behind the point where the connection broke. It comes when its reader is scheduled,
so a delay needs nothing of its own. Two hosts may be cut off from each other: then
nothing comes through, new connections are refused, and what was sent arrives when they
are not cut off any more, unless somebody's patience has ended by then.

A call runs in a task of the server. It runs to its end also if the caller is gone, so a
call that its caller repeats may run twice, and one of a dead caller may come late.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from howdah import errors
from howdah.runtime.sockets import PeerClosed, PeerSilent
from howdah.testing.simulator.tasks import PAUSE, Process, Steps, Wait, World

T = TypeVar("T")
_Outcome = tuple[Any, Exception | None]


class End:
    """One end of a connection, and the queue of what comes to it."""

    def __init__(self, network: Network, process: Process) -> None:
        self._network = network
        self.process = process
        self.inbox: deque[Any] = deque()
        self.shut = False
        self.peer: End = self

    @property
    def is_over(self) -> bool:
        return self.shut or self.peer.shut

    def send(self, message: object) -> None:
        """`PeerClosed` if it is known that nobody reads it."""
        if self.is_over:
            raise PeerClosed(f"{self.peer.process} has closed the connection")
        self.peer.inbox.append(message)

    def shutdown(self) -> None:
        """No more in either direction; what has arrived can still be read."""
        self.shut = True

    def _is_readable(self) -> bool:
        if self.shut or self.inbox or self.peer.shut:
            return self.shut or not self._network.is_cut(self.process, self.peer.process)
        return False

    def receive(self, timeout_s: float | None = None) -> Steps[Any]:
        """The next message. `PeerClosed` behind the last one, `PeerSilent` in the end."""
        network = self._network
        if not (yield from network.world.wait(self._is_readable, timeout_s)):
            raise PeerSilent(f"nothing came from {self.peer.process}")
        if not self.inbox:
            raise PeerClosed(f"{self.peer.process} has closed the connection")
        return self.inbox.popleft()


class _PendingCall:
    __slots__ = ("broken", "caller", "outcome", "server")

    def __init__(self, caller: Process, server: Process) -> None:
        self.caller = caller
        self.server = server
        self.outcome: _Outcome | None = None
        self.broken = False


class Network:
    """All connections and calls that are open."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.cuts: set[frozenset[str]] = set()
        self._ends: list[End] = []
        self._calls: list[_PendingCall] = []

    def is_cut(self, one: Process, other: Process) -> bool:
        return bool(self.cuts) and frozenset((one.host, other.host)) in self.cuts

    def connect(self, client: Process, server: Process, serve: Callable[[End], None]) -> End:
        """`Unreachable` if there is no way, or nobody. `serve` gets the server's end."""
        if not server.alive or self.is_cut(client, server):
            raise errors.Unreachable(f"{client} cannot connect to {server}")
        near, far = End(self, client), End(self, server)
        near.peer, far.peer = far, near
        self._ends += [end for end in (near, far)]
        self._ends = [end for end in self._ends if not end.is_over or end.inbox]
        serve(far)
        return near

    def process_died(self, process: Process) -> None:
        """Its connections end. What it sent last may be lost: the kernel is not asked."""
        for end in self._ends:
            if end.process is process and not end.is_over:
                self._break(end)
        for call in self._calls:
            call.broken |= call.server is process

    def break_between(self, one: str, other: str) -> int:
        """Reset every connection and call between two hosts; how many there were."""
        count = 0
        for end in self._ends:
            if end.process.host == one and end.peer.process.host == other and not end.is_over:
                self._break(end)
                self._break(end.peer)
                count += 1
        for call in self._calls:
            if {call.caller.host, call.server.host} == {one, other} and not call.broken:
                call.broken = True
                count += 1
        return count

    def _break(self, end: End) -> None:
        lost = self.world.choices.below(len(end.peer.inbox) + 1)
        for _ in range(lost):
            end.peer.inbox.pop()
        end.shut = True

    def call(
        self,
        caller: Process,
        server: Process,
        operation: str,
        handler: Callable[[], Steps[T]],
        timeout_s: float,
    ) -> Steps[T]:
        """Run `handler` in a task of the server. `Unreachable` when there is no answer, though
        it may have run or run later, `CallTimeout` when there is none in time."""
        if not server.alive or self.is_cut(caller, server):
            yield PAUSE
            raise errors.Unreachable(f"{caller} cannot reach {server}")
        call = _PendingCall(caller, server)
        self._calls = [other for other in self._calls if other.caller.alive]
        self._calls.append(call)

        def serve() -> Steps[None]:
            try:
                call.outcome = (yield from handler()), None
            except (errors.HowdahError, OSError) as error:
                call.outcome = None, error

        self.world.spawn(server, operation, serve())
        yield Wait(
            lambda: call.broken or (call.outcome is not None and not self.is_cut(caller, server)),
            self.world.now_ms + round(timeout_s * 1000),
        )
        self._calls.remove(call)
        if call.broken or (call.outcome is not None and self.is_cut(caller, server)):
            raise errors.Unreachable(f"{caller} lost the connection to {server} during {operation}")
        if call.outcome is None:
            raise errors.CallTimeout(f"{server} did not answer {operation}")
        answer, failure = call.outcome
        if failure is not None:
            raise failure
        result: T = answer
        return result
