"""The asyncio shell of a Hadoop RPC server.

One `asyncio.Protocol` a connection; a call runs on the loop, its answer waits
for the barrier (the namenode's journal) and goes out. Answers of one batch of
calls leave in one write. A client that sends many calls at once gets so many served
a turn of the loop, and others have theirs in between; one that does not read its
answers, or has too many of them held back, is not read from either.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol, cast

from google.protobuf.message import Message

from howdah import errors
from howdah.rpc import wire
from howdah.rpc.service import Answer, Deferred, Registry, Slices, defect
from howdah.rpc.session import Call, Event, Reply, ServerSession

log = logging.getLogger(__name__)

CALLS_PER_TURN: Final = 100
"""Of one connection, before others have a turn: some milliseconds' work."""

MAX_UNSENT_BYTES: Final = 4 * 1024 * 1024
"""Answers of one connection that wait for the barrier, before it is served no further."""


class Barrier(Protocol):
    """What stands between an answer and the wire."""

    def hold(self) -> bool:
        """Called after every call: True if its answer has to wait."""

    def when_clear(self, send: Callable[[], None]) -> None:
        """Call `send` once everything that happened so far is durable."""


class OpenBarrier:
    """Nothing to wait for."""

    def hold(self) -> bool:
        return False

    def when_clear(self, send: Callable[[], None]) -> None:
        send()


class RpcServer:
    """Listens, and answers from a registry of services."""

    def __init__(
        self,
        registry: Registry,
        *,
        barrier: Barrier | None = None,
        max_frame_bytes: int = wire.DEFAULT_MAX_FRAME_BYTES,
        max_connections: int = 0,
    ) -> None:
        """`max_connections` at once, 0 for any number: what comes above is closed unheard."""
        self.registry = registry
        self.barrier: Barrier = barrier or OpenBarrier()
        self.max_frame_bytes = max_frame_bytes
        self.max_connections = max_connections
        self.connections: set[_Connection] = set()
        self._listening: list[asyncio.AbstractServer] = []

    async def start(self, host: str, port: int, *, backlog: int = 256) -> int:
        """Listen, here too if it does already; the port, which is a free one for port 0."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: _Connection(self), host, port, backlog=backlog, reuse_address=True
        )
        self._listening.append(server)
        port = server.sockets[0].getsockname()[1]
        return int(port)

    async def stop(self) -> None:
        """Stop listening and end every connection."""
        for server in self._listening:
            server.close()
        for connection in list(self.connections):
            connection.end()
        for server in self._listening:
            await server.wait_closed()


class _Connection(asyncio.Protocol):
    def __init__(self, server: RpcServer) -> None:
        self._server = server
        self._session = ServerSession(server.max_frame_bytes)
        self._transport: asyncio.Transport | None = None
        self._backlog: deque[Event] = deque()
        self._out: list[bytes] = []
        self._unsent_bytes = 0
        self._in_batch = False
        self._writing_paused = False
        self._reading_paused = False
        self._closing = False
        self._address = "?"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are Transports by their methods, not by their class.
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        self._address = str(peer[0]) if peer else "?"
        most = self._server.max_connections
        if most and len(self._server.connections) >= most:
            log.warning("%s is turned away: %d connections are open", self._address, most)
            self._transport.abort()
            return
        self._server.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._backlog.clear()
        self._server.connections.discard(self)

    def pause_writing(self) -> None:
        self._writing_paused = True

    def resume_writing(self) -> None:
        self._writing_paused = False
        if not self._in_batch:
            self._go_on()

    def end(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        self._backlog.extend(self._session.receive(data))
        self._go_on()

    @property
    def _held_up(self) -> bool:
        """True while the client has enough answers before it."""
        return self._unsent_bytes > MAX_UNSENT_BYTES or self._writing_paused

    def _go_on(self) -> None:
        """Serve a turn's worth of what has come."""
        self._in_batch = True
        turns = CALLS_PER_TURN
        backlog = self._backlog
        while backlog and turns and not self._held_up:
            turns -= 1
            event = backlog.popleft()
            if isinstance(event, Call):
                self._serve(event)
            elif isinstance(event, Reply):
                self._keep(event.data)
            else:
                # Quoted, since the reason may hold what the client sent.
                log.warning("connection from %s ended: %r", self._address, event.reason)
                self._closing = True
        self._in_batch = False
        self._flush()
        if self._backlog or self._reading_paused or self._held_up:
            if self._backlog and not self._held_up:
                asyncio.get_running_loop().call_soon(self._go_on)
            self._read_if_wanted()

    def _read_if_wanted(self) -> None:
        """Read from the client only while there is nothing of it to be served or sent."""
        transport = self._transport
        wanted = not self._backlog and not self._held_up
        if transport is None or transport.is_closing() or wanted is not self._reading_paused:
            return
        self._reading_paused = not wanted
        if wanted:
            transport.resume_reading()
        else:
            transport.pause_reading()

    def _serve(self, call: Call) -> None:
        try:
            answer = self._server.registry.dispatch(call, self._address)
        except errors.HowdahError as error:
            self._finish(call, error)
        except Exception as error:  # noqa: BLE001 - one call's defect must not end the server
            self._finish(call, defect(call.method, error))
        else:
            self._take(call, answer)

    def _take(self, call: Call, answer: Answer) -> None:
        if isinstance(answer, Message):
            self._finish(call, answer)
        elif isinstance(answer, Deferred):
            answer.when_settled(lambda outcome: self._finish(call, outcome))
        else:
            self._step(call, answer)

    def _step(self, call: Call, slices: Slices) -> None:
        """One slice of a long answer; the next one when others had their turn."""
        if self._transport is None:
            slices.close()
            return
        try:
            next(slices)
        except StopIteration as stop:
            self._finish(call, stop.value)
        except errors.HowdahError as error:
            self._finish(call, error)
        except Exception as error:  # noqa: BLE001 - as in _serve
            self._finish(call, defect(call.method, error))
        else:
            asyncio.get_running_loop().call_soon(self._step, call, slices)

    def _finish(self, call: Call, outcome: Message | errors.HowdahError) -> None:
        try:
            data = _encode(call, outcome)
        except Exception as error:  # noqa: BLE001 - an answer that cannot be sent is a defect
            data = _encode(call, defect(call.method, error))
        barrier = self._server.barrier
        if barrier.hold():
            self._unsent_bytes += len(data)
            barrier.when_clear(lambda: self._release(data))
        else:
            self._keep(data)
            if not self._in_batch:
                self._flush()

    def _keep(self, data: bytes) -> None:
        self._unsent_bytes += len(data)
        self._out.append(data)

    def _release(self, data: bytes) -> None:
        """The barrier lets an answer through."""
        was_held_up = self._held_up
        self._out.append(data)
        if not self._in_batch:
            self._flush()
            if was_held_up and not self._held_up:
                asyncio.get_running_loop().call_soon(self._go_on)

    def _flush(self) -> None:
        if self._out:
            out, self._out = self._out, []
            data = out[0] if len(out) == 1 else b"".join(out)
            self._unsent_bytes -= len(data)
            if self._transport is not None:
                self._transport.write(data)
        if self._closing and not self._unsent_bytes:
            self.end()


def _encode(call: Call, outcome: Message | errors.HowdahError) -> bytes:
    if isinstance(outcome, Message):
        return wire.encode_answer(call.call_id, call.client_id, call.retry_count, outcome)
    return wire.encode_error(call.call_id, call.client_id, call.retry_count, outcome)
