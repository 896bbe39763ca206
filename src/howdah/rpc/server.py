"""The asyncio shell of a Hadoop RPC server.

One `asyncio.Protocol` a connection; a call runs on the loop, its answer waits
for the barrier (the namenode's journal) and goes out. Answers of one batch of
calls leave in one write. A client that does not read its answers is not read
from either.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol, cast

from google.protobuf.message import Message

from howdah import errors
from howdah.rpc import wire
from howdah.rpc.service import Answer, Deferred, Registry, Slices
from howdah.rpc.session import Call, Reply, ServerSession

log = logging.getLogger(__name__)


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
    ) -> None:
        self.registry = registry
        self.barrier: Barrier = barrier or OpenBarrier()
        self.max_frame_bytes = max_frame_bytes
        self.connections: set[_Connection] = set()
        self._server: asyncio.AbstractServer | None = None

    async def start(self, host: str, port: int, *, backlog: int = 256) -> int:
        """Listen; the port that is listened on, which is a free one for port 0."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: _Connection(self), host, port, backlog=backlog, reuse_address=True
        )
        listening: int = self._server.sockets[0].getsockname()[1]
        return listening

    async def stop(self) -> None:
        """Stop listening and end every connection."""
        if self._server is not None:
            self._server.close()
        for connection in list(self.connections):
            connection.end()
        if self._server is not None:
            await self._server.wait_closed()


class _Connection(asyncio.Protocol):
    def __init__(self, server: RpcServer) -> None:
        self._server = server
        self._session = ServerSession(server.max_frame_bytes)
        self._transport: asyncio.Transport | None = None
        self._out: list[bytes] = []
        self._in_batch = False
        self._address = "?"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are Transports by their methods, not by their class.
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        self._address = str(peer[0]) if peer else "?"
        self._server.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._server.connections.discard(self)

    def pause_writing(self) -> None:
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        if self._transport is not None:
            self._transport.resume_reading()

    def end(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        self._in_batch = True
        closing = False
        for event in self._session.receive(data):
            if isinstance(event, Call):
                self._serve(event)
            elif isinstance(event, Reply):
                self._out.append(event.data)
            else:
                # Quoted, since the reason may hold what the client sent.
                log.warning("connection from %s ended: %r", self._address, event.reason)
                closing = True
        self._in_batch = False
        self._flush()
        if closing:
            self.end()

    def _serve(self, call: Call) -> None:
        try:
            answer = self._server.registry.dispatch(call, self._address)
        except errors.HowdahError as error:
            self._finish(call, error)
        except Exception as error:  # noqa: BLE001 - one call's defect must not end the server
            self._finish(call, _internal(call, error))
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
            self._finish(call, _internal(call, error))
        else:
            asyncio.get_running_loop().call_soon(self._step, call, slices)

    def _finish(self, call: Call, outcome: Message | errors.HowdahError) -> None:
        if isinstance(outcome, Message):
            data = wire.encode_answer(call.call_id, call.client_id, call.retry_count, outcome)
        else:
            data = wire.encode_error(call.call_id, call.client_id, call.retry_count, outcome)
        barrier = self._server.barrier
        if barrier.hold():
            barrier.when_clear(lambda: self._send(data))
        else:
            self._send(data)

    def _send(self, data: bytes) -> None:
        self._out.append(data)
        if not self._in_batch:
            self._flush()

    def _flush(self) -> None:
        if not self._out:
            return
        out, self._out = self._out, []
        if self._transport is not None:
            self._transport.write(out[0] if len(out) == 1 else b"".join(out))


def _internal(call: Call, error: Exception) -> errors.HowdahError:
    log.error("%s of %s failed on a defect", call.method, call.protocol, exc_info=error)
    return errors.RemoteError(
        f"{call.method} failed on an internal error: {type(error).__name__}: {error}",
        java_class="java.lang.RuntimeException",
    )
