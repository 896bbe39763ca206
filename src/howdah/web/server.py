"""The HTTP server of every process: a thread for each connection that has said something, `h11`
between bytes and requests (shell).

    accept -> first byte -> [head -> handler -> answer] as often as the client likes -> close

A handler is called where its state lives: on the connection's thread, or on a loop
(`on_loop`). It returns

- a `Response`, which is small and whole,
- an `Exchange`, which reads and writes on the connection's thread, by `sendfile` where it is a
  file, or
- a `Stream`, which is made piece by piece where the handler was called, each when the other
  side has taken those before it.

A loop never reads, parses, compresses or sends for HTTP. Everything has a bound: the head in
bytes and seconds, an idle connection in seconds, connections in number. Where there are too
many, the one that has been silent for the longest makes room, then the one whose head is not whole
for the longest; where all are at work, the new one is told to come again. What is no HTTP is
answered once, and its address waits longer with the next one (`admission/cost_limiter.py`).
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Final, Protocol, TypeGuard, TypeVar, cast, runtime_checkable

from howdah.config import keys
from howdah.runtime import unexpected_errors
from howdah.runtime.privileges import HeldPorts
from howdah.runtime.tls.server import NoHandshake, ServerTls
from howdah.web.admission.cost_limiter import CostLimiter, Visit
from howdah.web.admission.pending_connections import Arrival, Entrance, least_missed
from howdah.web.channel import FOREVER_S, Channel, Gone, Malformed, Patience
from howdah.web.encoding import encoded, may_be_encoded, takes_gzip, unless_known, varying
from howdah.web.http import Framing, Guard, NeedsBody, Request, Response, text_response
from howdah.web.own_hosts import OwnHosts

log = logging.getLogger(__name__)

T = TypeVar("T")

WORDS: Final = threading.Lock()
"""Held while a page is put into words beside a loop, and never while anything is waited for: the
loop has to wait for one such thread at a time, however many ask."""
MAX_CONNECTIONS: Final = 512
MAX_UNSENT_BYTES: Final = 128 << 20
"""Of answers that are whole in memory and wait for their readers."""
_LARGE_BYTES: Final = 64 * 1024
LOOP_TIMEOUT_S: Final = 60.0
"""So long a request waits for the loop that is to answer it."""
_ENDING_S: Final = 5.0
"""So long `stop` waits for a port to be free."""
_ARRIVAL_S: Final = 0.0001
"""What a connection costs beside its thread's work: to be accepted, waited for, and the thread."""
_MAX_ENCODING: Final = 2
"""So many answers are compressed at once; others go out as they are."""
_LOOK_S: Final = 1.0
_WRONG_HOST: Final = (
    "the host in this address is no name of this server. Ask for it by its own name or address, or "
    f"have its administrator add the name to {keys.HOWDAH_HTTP_HOSTS.name}"
)
_BACKLOG: Final = 1024
"""So many may dial while the interpreter is at something else. Whoever finds no place there tries
again after 1, 2, 4 … seconds: with 256, the last of ten thousand came after a minute."""


@runtime_checkable
class Exchange(Protocol):
    """What takes a connection for itself, for one request."""

    def run(self, channel: Channel) -> None:
        """On the connection's thread: read the body, answer."""

    def done(self) -> Response | Stream | None:
        """Where the handler was called, when `run` has ended in whatever way: the answer, if
        `run` has not begun one."""


class Later:
    """An answer that is made on the connection's thread, out of what was found on a loop."""

    def __init__(self, make: Callable[[], Response]) -> None:
        self._make = make
        self._answer = text_response(500, "this request met a defect")

    def run(self, channel: Channel) -> None:
        self._answer = self._make()

    def done(self) -> Response:
        return self._answer


class Stream(Protocol):
    """A long answer, in pieces; all of its calls are made where the handler was called."""

    head: Response
    """Status and headers."""

    def next(self, ready: Callable[[bytes | None, bool], None]) -> None:
        """Make the next piece, and call `ready` with it, now or later. True: it is the last
        one. None: the answer breaks off, and has no end."""

    def stop(self) -> None:
        """No further piece is wanted. Called once, also behind the last piece."""


Answer = Response | Exchange | Stream
Handler = Callable[[Request], Answer]
Run = Callable[[Callable[[], Any]], Any]
"""Calls something and returns what it returns, or raises what it raises."""


def here(act: Callable[[], T]) -> T:
    """On the connection's own thread."""
    return act()


def on_loop(post: Callable[[Callable[[], None]], None]) -> Run:
    """On a loop, while the connection's thread waits; `post` is as
    `howdah.runtime.background_threads.poster`."""

    def run(act: Callable[[], T]) -> T:
        future: Future[T] = Future()

        def call() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = act()
            except BaseException as error:  # noqa: BLE001 - whoever waits is told
                future.set_exception(error)
            else:
                future.set_result(result)

        post(call)
        try:
            return future.result(LOOP_TIMEOUT_S)
        except TimeoutError:
            if not future.cancel() and future.done():
                return future.result()
            raise Gone("the loop that should answer does not turn") from None

    return run


class _Unsent:
    """Large whole answers that their readers have not taken yet. Thread-safe.

    Each is in memory until then, and 512 readers of 10 MB that read nothing would be 5 GB."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._sizes: dict[Channel, int] = {}

    @contextmanager
    def one_more(self, channel: Channel, size_bytes: int) -> Iterator[None]:
        """While it is sent. Where there are too many bytes, those that wait for the longest are
        broken off."""
        if size_bytes < _LARGE_BYTES:
            yield
            return
        with self._lock:
            while self._sizes and sum(self._sizes.values()) + size_bytes > self._most_bytes:
                slowest = next(iter(self._sizes))
                log.warning(
                    "%s is dropped: it has not read its %d bytes, and others want as many",
                    slowest.peer,
                    self._sizes.pop(slowest),
                )
                slowest.break_off()
            self._sizes[channel] = size_bytes
        try:
            yield
        finally:
            with self._lock:
                self._sizes.pop(channel, None)


@dataclass(frozen=True, slots=True)
class _Serving:
    """Who answers, and where."""

    handler: Handler
    run: Run
    beside: Mapping[str, Callable[[Request], Response]]


class HttpServer:
    """Answers requests until it is stopped."""

    def __init__(
        self,
        handler: Handler,
        *,
        timeout_s: float,
        run: Run = here,
        max_connections: int = MAX_CONNECTIONS,
        beside: Mapping[str, Callable[[Request], Response]] | None = None,
        patience: Patience = Patience(),  # noqa: B008 - it does not change
        remembers_heads: bool = False,
    ) -> None:
        """`timeout_s`: so long one read or write within a request may wait for the other side;
        0 is for ever. `patience` is for those who have not asked yet. `beside` answers some
        paths on the connection's thread, also while a loop does not turn. `remembers_heads` is for
        clients that ask many small things of the same kind (`Channel`)."""
        self._remembers_heads = remembers_heads
        self._serving = _Serving(handler, run, beside or {})
        self.timeout_s = timeout_s or FOREVER_S
        self.patience = patience
        self.framing = Framing()
        self.hosts = OwnHosts()
        """By which names it may be asked for."""
        self.guard: Guard | None = None
        self.held = HeldPorts()
        """Ports that were taken before."""
        """Who may ask it for what; None lets everybody pass."""
        self._max_connections = max_connections
        self._encoding = threading.BoundedSemaphore(_MAX_ENCODING)
        self._unsent = _Unsent(MAX_UNSENT_BYTES)
        # Beside those that count there are those that made room, and have not noticed yet.
        self._threads = threading.Semaphore(2 * max_connections)
        self._lock = threading.Lock()
        self._arrivals: OrderedDict[Arrival, None] = OrderedDict()
        """Those that have said nothing yet; the first one is silent for the longest."""
        self._connections: dict[Channel, None] = {}
        self._company = CostLimiter()
        self._entrances: list[tuple[Entrance, threading.Thread]] = []
        self.bound: list[tuple[str, int]] = []
        """IP addresses and ports at which it listens."""
        self._stopped = False

    def start(self, host: str, port: int, tls: ServerTls | None = None) -> int:
        """Listen on every address of a name, with `tls` for HTTP over TLS; return the port, which
        is a free one for port 0. May be called for several ports. Raises OSError."""
        infos = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        addresses = sorted({(info[0], str(info[4][0])) for info in infos})
        # An address of the other family is a convenience where the machine has that family.
        for number, (family, address) in enumerate(addresses):
            try:
                listening = self.held.listening(address, port, _BACKLOG)
                if listening is None:
                    listening = socket.create_server(
                        (address, port), family=family, backlog=_BACKLOG, reuse_port=False
                    )
                entrance = Entrance(listening, tls, self, lambda: self.patience.head_s)
            except OSError:
                if number == 0:
                    raise
                continue
            port = port or listening.getsockname()[1]
            self.bound.append((address, port))
            thread = threading.Thread(target=entrance.run, name="http accept", daemon=True)
            self._entrances.append((entrance, thread))
            thread.start()
        return port

    def serve_by(
        self,
        handler: Handler,
        run: Run = here,
        beside: Mapping[str, Callable[[Request], Response]] | None = None,
    ) -> None:
        """Another one answers what comes from now on, as those of `__init__` did. What is under
        way ends where it began."""
        self._serving = _Serving(handler, run, beside or {})

    def stop(self) -> None:
        """Listen no more, and break off what is under way. Does not wait for its end."""
        with self._lock:
            self._stopped = True
            connections = list(self._connections)
        for entrance, _ in self._entrances:
            entrance.close()
        for channel in connections:
            channel.break_off()
        for _, thread in self._entrances:
            # The port is free then.
            thread.join(_ENDING_S)

    # Connections that have said nothing yet (Host).

    def admit(self, arrival: Arrival) -> bool:
        """Count it, if there is room, which the connection that is missed least may make."""
        if self._has_room(arrival):
            return True
        peer = arrival.peer
        log.warning("%s is turned away: %d HTTP connections work", peer, self._max_connections)
        if arrival.tls is None:
            response = text_response(503, "too many connections work here now: come again")
            self._channel(arrival).turn_away(response)
        else:  # which would not hear it before a handshake
            arrival.connection.close()
        return False

    def _has_room(self, arrival: Arrival) -> bool:
        with self._lock:
            if self._stopped:
                return False
            if len(self._connections) + len(self._arrivals) >= self._max_connections:
                missed = least_missed(self._arrivals, self._connections)
                if missed is None:
                    return False
                # Its thread notices; it counts no more.
                if isinstance(missed, Arrival):
                    del self._arrivals[missed]
                else:
                    del self._connections[missed]
                missed.break_off()
            self._arrivals[arrival] = None
            return True

    def remove(self, arrival: Arrival) -> None:
        """It counts no more."""
        with self._lock:
            self._arrivals.pop(arrival, None)
            if arrival.visit is not None:
                self._company.settle(arrival.visit, 0.0, time.monotonic())

    def wait_s(self, arrival: Arrival) -> float | None:
        """How long it waits to be served, by what its address owes; None: it is dropped."""
        with self._lock:
            arrival.visit = self._company.visit(arrival.peer, time.monotonic())
        return arrival.visit.wait_s

    def begin(self, arrival: Arrival) -> bool:
        """Serve it on a thread of its own, now that it has said something; False where there is
        none, for those that made room have not ended."""
        assert arrival.visit is not None, "it is asked for how long to wait, and then begun"
        if not self._threads.acquire(blocking=False):
            return False
        channel = self._channel(arrival)
        with self._lock:
            is_wanted = arrival in self._arrivals and not self._stopped
            self._arrivals.pop(arrival, None)
            if is_wanted:
                self._connections[channel] = None
        if not is_wanted:
            self._threads.release()
            self._settle(arrival.visit, 0.0)
            arrival.connection.close()
            return True
        try:
            threading.Thread(
                target=self._serve,
                args=(channel, arrival.tls, arrival.visit),
                name=f"http {arrival.peer}",
                daemon=True,
            ).start()
        except RuntimeError as error:
            log.warning("%s is turned away: there is no thread for it: %s", arrival.peer, error)
            self._threads.release()
            self._settle(arrival.visit, 0.0)
            self._close(channel)
        return True

    def _settle(self, visit: Visit, took_s: float) -> None:
        with self._lock:
            self._company.settle(visit, took_s, time.monotonic())

    def _channel(self, arrival: Arrival) -> Channel:
        return Channel(
            arrival.connection,
            arrival.peer,
            self.timeout_s,
            self.patience,
            self.framing,
            remembers_heads=self._remembers_heads,
        )

    def _close(self, channel: Channel) -> None:
        with self._lock:
            self._connections.pop(channel, None)
        channel.close()

    def _serve(self, channel: Channel, tls: ServerTls | None, visit: Visit) -> None:
        """One connection, on its thread."""
        # Since when there is no request, by the time that this thread has computed.
        since_s: float | None = time.thread_time() - _ARRIVAL_S
        try:
            if tls is not None:
                channel.secure(tls)
            while not self._stopped:
                request = channel.next_request()
                since_s = None
                if visit.reserved_s:
                    self._settle(visit, 0.0)
                if request is None:
                    return
                self._answer(channel, request)
                if not channel.finish():
                    return
                since_s = time.thread_time()
        except Malformed as error:
            log.info("%s spoke no HTTP: %s", channel.peer, error)
        except NoHandshake as error:
            log.info("%s made no TLS connection: %s", channel.peer, error)
        except OSError as error:
            log.info("an HTTP transfer with %s was broken off: %s", channel.peer, error)
        except Exception as error:  # noqa: BLE001 - other connections are served on
            unexpected_errors.note("an HTTP connection", error, "it ends")
        finally:
            if since_s is not None:
                self._settle(visit, time.thread_time() - since_s)
            self._close(channel)
            self._threads.release()

    def _answer(self, channel: Channel, request: Request) -> None:
        host = request.headers.get("host")
        if not self.hosts.allows(host):
            self._respond(channel, request, text_response(403, _WRONG_HOST))
            return
        serving = self._serving
        try:
            if self.guard is not None:
                admitted = self.guard.admit(request)
                if isinstance(admitted, NeedsBody):
                    admitted = _by_body(channel, admitted)
                if isinstance(admitted, Response):
                    self._respond(channel, request, admitted)
                    return
                request, channel.added = admitted.request, dict(admitted.headers)
            beside = serving.beside.get(request.path)
            if beside is None:
                result = serving.run(lambda: serving.handler(request))
            else:
                result = beside(request)
        except Gone:
            raise
        except Exception as error:  # noqa: BLE001 - the client gets an answer
            unexpected_errors.note(
                f"{request.method} {request.path}", error, "its client gets an error"
            )
            result = text_response(500, f"this request met a defect: {type(error).__name__}")
        if isinstance(result, Response):
            self._respond(channel, request, result)
        elif _is_exchange(result):
            self._exchange(channel, request, result, serving.run)
        else:
            assert not isinstance(result, Response), "that was looked at"
            self._stream(channel, cast(Stream, result), serving.run)

    def _respond(self, channel: Channel, request: Request, response: Response) -> None:
        response = unless_known(request, response)
        if may_be_encoded(response):
            # A few at a time: beside them, the loop and the other connections want their turn.
            if takes_gzip(request.headers.get("accept-encoding")) and self._encoding.acquire(
                blocking=False
            ):
                try:
                    response = encoded(response)
                finally:
                    self._encoding.release()
            response = varying(response)
        with self._unsent.one_more(channel, len(response.body)):
            channel.respond(response)

    def _exchange(self, channel: Channel, request: Request, exchange: Exchange, run: Run) -> None:
        broken: OSError | None = None
        try:
            exchange.run(channel)
        except OSError as error:
            broken = error
        except Exception as error:  # noqa: BLE001 - the client gets an answer
            unexpected_errors.note(f"{request.method} {request.path}", error, "this transfer ends")
            channel.broken = True
        last = run(exchange.done)
        if isinstance(last, Response) and not channel.has_begun:
            self._respond(channel, request, last)
            if broken is not None:
                channel.linger()
        elif last is not None and broken is None and not channel.has_begun:
            self._stream(channel, last, run)
        if broken is not None:
            raise broken

    def _stream(self, channel: Channel, stream: Stream, run: Run) -> None:
        pieces: SimpleQueue[tuple[bytes | None, bool]] = SimpleQueue()
        try:
            channel.begin(stream.head.status, stream.head.headers)
            is_last = False
            while not is_last:
                run(lambda: stream.next(lambda piece, last: pieces.put((piece, last))))
                data, is_last = self._awaited(channel, pieces)
                if data is None:
                    channel.broken = True
                elif data:
                    channel.send(data)
            if not channel.broken:
                channel.end()
        finally:
            run(stream.stop)

    def _awaited(
        self, channel: Channel, pieces: SimpleQueue[tuple[bytes | None, bool]]
    ) -> tuple[bytes | None, bool]:
        while True:
            try:
                return pieces.get(timeout=_LOOK_S)
            except Empty:
                if channel.has_left() or self._stopped:
                    raise Gone("nobody waits for the rest of an answer") from None


def _is_exchange(answer: Answer) -> TypeGuard[Exchange]:
    """As `isinstance`, which looks at each method of the protocol for each request."""
    return hasattr(answer, "run")


def _by_body(channel: Channel, wanted: NeedsBody) -> Response:
    """The answer to a request that a guard answers by its body. Raises Gone."""
    body = channel.read_form(wanted.most_bytes)
    if body is None:
        return text_response(413, f"a form here has at most {wanted.most_bytes} bytes")
    return wanted.answer(body)
