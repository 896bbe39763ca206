"""Connections over which nothing has come yet (shell).

One thread accepts at a listening socket, and waits there for the first byte of each connection.
A connection has a thread of its own from that byte on: one that says nothing takes a socket and
no thread. Ten thousand that dial at once and are silent are taken, and dropped again for those
behind them, in 0.3 s of the processor, where a thread for each took 1.7 to 3.3 s.

That thread rests often, so that nobody else in the process waits long for a turn, and takes a
quarter of a processor in the long run: who dials faster waits in the system's queue. A
connection whose address has been bad company waits here until it may begin.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import logging
import selectors
import socket
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Final, Protocol

from howdah.runtime import unexpected_errors
from howdah.runtime.tls.server import ServerTls, shut_down
from howdah.web.admission.cost_limiter import Visit
from howdah.web.admission.cpu_budget import Turns
from howdah.web.channel import Channel

log = logging.getLogger(__name__)

_AT_ONCE: Final = 64
"""So many are accepted before those that have said something get their turn."""
_PAUSE_S: Final = 0.1
_THREAD_S: Final = 5.0
"""So long a connection that has said something waits for a thread."""
_ASK_AGAIN_S: Final = 0.05


class Arrival:
    """A connection that has said nothing yet."""

    __slots__ = ("connection", "due_s", "peer", "since_s", "tls", "visit")

    def __init__(self, connection: socket.socket, peer: str, tls: ServerTls | None) -> None:
        self.connection = connection
        self.peer = peer
        self.tls = tls
        self.since_s = time.monotonic()
        self.due_s = 0.0
        """When it was to begin, since it has said something."""
        self.visit: Visit | None = None

    def break_off(self) -> None:
        """From another thread: whoever waits for its first byte notices, and closes it."""
        shut_down(self.connection, socket.SHUT_RDWR)


Missed = Arrival | Channel


def least_missed(arrivals: Iterable[Arrival], channels: Iterable[Channel]) -> Missed | None:
    """Return the one that is silent for the longest; where none is, the one whose head has been
    incomplete for the longest: a client that sends its head byte by byte holds no place that others
    want."""
    first = next(iter(arrivals), None)
    silent: list[tuple[float, Missed]] = [] if first is None else [(first.since_s, first)]
    dripping: list[tuple[float, Missed]] = []
    for channel in channels:
        silent_since_s, head_since_s = channel.silent_since_s, channel.head_since_s
        if silent_since_s is not None:
            silent.append((silent_since_s, channel))
        elif head_since_s is not None:
            dripping.append((head_since_s, channel))
    candidates = silent or dripping
    return min(candidates, key=lambda candidate: candidate[0])[1] if candidates else None


class Host(Protocol):
    """Counts connections, and serves those that have said something."""

    def admit(self, arrival: Arrival) -> bool:
        """Whether there is room for one more, which counts from now on. Where there is none,
        `arrival` was told so and is closed."""

    def remove(self, arrival: Arrival) -> None:
        """It counts no more, whether it was over or another one has its place."""

    def wait_s(self, arrival: Arrival) -> float | None:
        """A first byte is there: how long until it may begin. None: it is dropped."""

    def begin(self, arrival: Arrival) -> bool:
        """The connection is the host's from now on; False where there is no thread for it yet."""


class Entrance:
    """Takes the connections of one listening socket. `run` is for a thread, and closes the
    socket when it ends."""

    def __init__(
        self,
        listening: socket.socket,
        tls: ServerTls | None,
        host: Host,
        head_s: Callable[[], float],
    ) -> None:
        """`head_s`: so long a connection may say nothing."""
        self._listening = listening
        self._tls = tls
        self._host = host
        self._head_s = head_s
        self._waiting: OrderedDict[Arrival, float] = OrderedDict()
        """With the time until which each is waited for."""
        self._held: list[tuple[float, int, Arrival]] = []
        """A heap of those that have said something and wait, with the time until which."""
        self._numbers = itertools.count()
        self._turns = Turns()
        self._worked_s = 0.0
        self._selector = selectors.DefaultSelector()
        self._is_closed = False
        listening.setblocking(False)
        self._selector.register(listening, selectors.EVENT_READ)
        # To shut a listening socket down wakes nobody on some systems, such as macOS.
        self._waking, self._woken = socket.socketpair()
        self._waking.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ)

    def close(self) -> None:
        """From another thread: `run` ends."""
        self._is_closed = True
        # Nobody gets a place in its queue any more.
        shut_down(self._listening, socket.SHUT_RDWR)
        with contextlib.suppress(OSError):  # It has ended, or was told before.
            self._waking.send(b"x")

    def run(self) -> None:
        """Take connections until it is closed."""
        self._worked_s = time.thread_time()
        with self._listening, self._selector, self._waking, self._woken:
            while not self._is_closed:
                try:
                    self._turn()
                except Exception as error:  # noqa: BLE001 - nobody else takes connections
                    if not self._is_closed:
                        unexpected_errors.note("taking HTTP connections", error, "it goes on")
                        time.sleep(_PAUSE_S)
        for arrival in itertools.chain(self._waiting, (arrival for _, _, arrival in self._held)):
            self._drop(arrival)

    def _turn(self) -> None:
        for key, _ in self._selector.select(self._time_left_s()):
            arrival: Arrival | None = key.data
            if arrival is not None:
                self._heard_of(arrival)
                self._rest()
            elif key.fileobj is self._listening:
                self._accept()
        self._begin_held()
        self._drop_silent()

    def _begin_held(self) -> None:
        while self._held and self._held[0][0] <= time.monotonic() and not self._is_closed:
            _, _, arrival = heapq.heappop(self._held)
            self._begin(arrival)
            self._rest()

    def _drop_silent(self) -> None:
        now_s = time.monotonic()
        while self._waiting:
            arrival, until_s = next(iter(self._waiting.items()))
            if until_s > now_s:
                break
            if has_spoken(arrival.connection):  # since the selector was asked
                self._heard_of(arrival)
                continue
            log.info("%s said nothing in time", arrival.peer)
            self._forget(arrival)
            self._drop(arrival)

    def _time_left_s(self) -> float | None:
        times = [next(iter(self._waiting.values()))] if self._waiting else []
        times += [self._held[0][0]] if self._held else []
        return max(0.0, min(times) - time.monotonic()) if times else None

    def _rest(self) -> None:
        """Let others have their turn, where this thread has had one."""
        worked_s = time.thread_time()
        rest_s = self._turns.rest_s(worked_s - self._worked_s, time.monotonic())
        self._worked_s = worked_s
        if rest_s:
            time.sleep(rest_s)

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                connection, address = self._listening.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if not self._is_closed:
                    log.warning("cannot take an HTTP connection, and tries again: %s", error)
                    time.sleep(_PAUSE_S)
                return
            arrival = Arrival(connection, str(address[0]), self._tls)
            if self._host.admit(arrival):
                self._wait_for(arrival)
            self._rest()

    def _wait_for(self, arrival: Arrival) -> None:
        try:
            self._selector.register(arrival.connection, selectors.EVENT_READ, arrival)
        except OSError as error:  # The system watches so many files, and no more.
            log.warning("%s is dropped: it cannot be waited for: %s", arrival.peer, error)
            self._drop(arrival)
        else:
            self._waiting[arrival] = arrival.since_s + self._head_s()

    def _heard_of(self, arrival: Arrival) -> None:
        """Its first byte, or its end."""
        self._forget(arrival)
        if not has_spoken(arrival.connection):
            self._drop(arrival)
            return
        wait_s = self._host.wait_s(arrival)
        if wait_s is None:
            log.info("%s is dropped: its address has been bad company", arrival.peer)
            self._drop(arrival)
            return
        arrival.due_s = time.monotonic() + wait_s
        if wait_s:
            self._hold(arrival, arrival.due_s)
        else:
            self._begin(arrival)

    def _begin(self, arrival: Arrival) -> None:
        if self._host.begin(arrival):
            return
        now_s = time.monotonic()
        if now_s < arrival.due_s + _THREAD_S:
            self._hold(arrival, now_s + _ASK_AGAIN_S)
        else:
            log.warning("%s is dropped: those that made room have not ended yet", arrival.peer)
            self._drop(arrival)

    def _hold(self, arrival: Arrival, until_s: float) -> None:
        heapq.heappush(self._held, (until_s, next(self._numbers), arrival))

    def _drop(self, arrival: Arrival) -> None:
        self._host.remove(arrival)
        arrival.connection.close()

    def _forget(self, arrival: Arrival) -> None:
        del self._waiting[arrival]
        self._selector.unregister(arrival.connection)


def has_spoken(connection: socket.socket) -> bool:
    """Whether bytes are there to be read, of a connection about which there is something new."""
    try:
        return connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
    except OSError:
        return False
