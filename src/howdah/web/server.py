"""The HTTP server, on the event loop of its process, with threads for long work (shell).

A small answer is made and sent on the loop. An `Exchange` gets the connection on a thread
of its own: the loop neither reads nor writes there while it runs, and gets the outcome
when it is over. A `Stream` is made on the loop piece by piece, each when the other side has
taken those before it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final, Protocol, cast, runtime_checkable

from howdah.web.http import MAX_REQUEST_BYTES, Request, may_be_request, parse_request, plain

log = logging.getLogger(__name__)

HEAD_TIMEOUT_S: Final = 10.0
MAX_EXCHANGES: Final = 8
"""At a time; others wait."""
_FOREVER_S: Final = 1e6
_END_OF_HEAD: Final = b"\r\n\r\n"


@runtime_checkable
class Exchange(Protocol):
    """What takes a connection for itself."""

    def run(self, connection: socket.socket, received: bytes) -> None:
        """On a thread: read and write; `received` is what came behind the head."""

    def done(self) -> bytes:
        """On the loop, when `run` has ended in whatever way; what is still to be sent."""


class Stream(Protocol):
    """A long answer, in pieces."""

    head: bytes
    """What comes first."""

    def next(self, ready: Callable[[bytes, bool], None]) -> None:
        """Make the next piece, and call `ready` with it, now or later on the loop. True: it is
        the last one."""

    def stop(self) -> None:
        """No further piece is wanted. Called once, also behind the last piece."""


Answer = bytes | Exchange | Stream
Handler = Callable[[Request | None], Answer]
"""Called on the loop; None is what was no request."""


class HttpServer:
    """Answers requests until it is stopped."""

    def __init__(self, handler: Handler, *, timeout_s: float) -> None:
        """`timeout_s`: so long an exchange or a stream may wait for the other side; 0 is for
        ever."""
        self.handler = handler
        self.timeout_s = timeout_s
        self._pool = ThreadPoolExecutor(MAX_EXCHANGES, thread_name_prefix="http")
        self._connections: set[_Connection] = set()
        self._server: asyncio.AbstractServer | None = None

    async def start(self, host: str, port: int) -> int:
        """Listen; the port, which is a free one for port 0. Raises OSError."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), host, port)
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    def stop(self) -> None:
        """Listen no more, and break off what is under way."""
        if self._server is not None:
            self._server.close()
        for connection in list(self._connections):
            connection.break_off()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def opened(self, connection: _Connection) -> None:
        self._connections.add(connection)

    def closed(self, connection: _Connection) -> None:
        self._connections.discard(connection)

    def hand_over(self, run: Callable[[], None]) -> asyncio.Future[None]:
        return asyncio.get_running_loop().run_in_executor(self._pool, run)


class _Connection(asyncio.Protocol):
    """One connection, which is one request."""

    def __init__(self, server: HttpServer) -> None:
        self._server = server
        self._received = b""
        self._answered = False
        self._socket: socket.socket | None = None
        self._stream: Stream | None = None
        self._may_write = True
        self._is_waiting = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are Transports by their methods, not by their class.
        self._transport = cast(asyncio.Transport, transport)
        self._server.opened(self)
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(HEAD_TIMEOUT_S, self._too_slow)

    def connection_lost(self, error: Exception | None) -> None:
        self._timer.cancel()
        self._end_stream()
        self._server.closed(self)

    def data_received(self, data: bytes) -> None:
        if self._answered:
            return
        self._received += data
        head, end, rest = self._received.partition(_END_OF_HEAD)
        if not end:
            if not may_be_request(self._received):
                self._send(plain(400, "this port speaks HTTP, and that was something else"))
            elif len(self._received) > MAX_REQUEST_BYTES:
                self._send(plain(400, "the head of this request is too long"))
            return
        self._timer.cancel()
        answer = self._server.handler(self._parsed(head))
        if isinstance(answer, bytes):
            self._send(answer)
        elif isinstance(answer, Exchange):
            self._begin(answer, rest)
        else:
            self._answered = True
            self._stream = answer
            self._transport.write(answer.head)
            self._pull()

    def _parsed(self, head: bytes) -> Request | None:
        request = parse_request(head)
        peer = self._transport.get_extra_info("peername")
        return None if request is None else replace(request, peer=str(peer[0]) if peer else "")

    def break_off(self) -> None:
        if self._socket is None:
            self._transport.abort()
        else:
            # Its thread notices; the transport goes when that has ended.
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def _too_slow(self) -> None:
        log.info("an HTTP client sent no request within %g s", HEAD_TIMEOUT_S)
        self._transport.abort()

    def _send(self, data: bytes) -> None:
        self._answered = True
        if data:
            self._transport.write(data)
        self._transport.close()

    # Streams.

    def _pull(self) -> None:
        if self._stream is not None:
            self._is_waiting = False
            self._stream.next(self._piece)

    def _piece(self, data: bytes, is_last: bool) -> None:
        if self._stream is None:
            return  # The other side has gone.
        if data:
            self._transport.write(data)
        if is_last:
            self._end_stream()
            self._transport.close()
        elif self._may_write:
            asyncio.get_running_loop().call_soon(self._pull)
        else:
            self._is_waiting = True

    def pause_writing(self) -> None:
        self._may_write = False
        timeout_s = self._server.timeout_s
        if self._stream is not None and timeout_s:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(timeout_s, self._takes_nothing)

    def resume_writing(self) -> None:
        self._may_write = True
        self._timer.cancel()
        if self._is_waiting:
            self._pull()

    def _takes_nothing(self) -> None:
        log.info("an HTTP client took nothing for %g s", self._server.timeout_s)
        self._transport.abort()

    def _end_stream(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.stop()

    # Exchanges.

    def _begin(self, exchange: Exchange, rest: bytes) -> None:
        self._answered = True
        self._transport.pause_reading()
        ours = self._transport.get_extra_info("socket")
        # A descriptor of its own: the transport may be closed while the thread works.
        connection = self._socket = socket.socket(fileno=os.dup(ours.fileno()))
        # Not None: that would make the transport's descriptor block as well.
        connection.settimeout(self._server.timeout_s or _FOREVER_S)
        future = self._server.hand_over(lambda: exchange.run(connection, rest))
        future.add_done_callback(lambda done: self._end(exchange, done))

    def _end(self, exchange: Exchange, done: asyncio.Future[None]) -> None:
        assert self._socket is not None, "it was begun"
        self._socket.close()
        error = None if done.cancelled() else done.exception()
        if isinstance(error, OSError):
            log.info("an HTTP transfer was broken off: %s", error)
        elif error is not None:
            log.error("an HTTP transfer failed on a defect", exc_info=error)
        self._send(exchange.done())
