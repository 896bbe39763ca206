"""The asyncio shell of a Hadoop RPC server.

One `asyncio.Protocol` a connection; a call runs on the loop, its answer waits
for the barrier (the namenode's journal) and goes out. Answers of one batch of
calls leave in one write. A client that sends many calls at once gets so many served
a turn of the loop, and others have theirs in between; one that does not read its
answers, or has too many of them held back, is not read from either. A call whose caller has
seen more than this server (`Alignment`) waits, and those behind it are served meanwhile.

An answer that comes later has an owner who settles it (`Deferred`). When the connection is
lost the server withdraws from it; when the server stops it answers in the owner's place.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections import deque
from collections.abc import Callable, Container
from functools import partial
from time import perf_counter_ns
from typing import Any, Final, cast

from google.protobuf.message import Message

from howdah import errors
from howdah.native.loader import kernel
from howdah.protocol.rpc import wire
from howdah.protocol.rpc.busy_poll import MOMENT_NS, BusyPollPolicy
from howdah.protocol.rpc.caller_context import origin_in
from howdah.protocol.rpc.server_hooks import (
    Admission,
    Alignment,
    Impersonation,
    OpenBarrier,
    SendingBarrier,
)
from howdah.protocol.rpc.service import (
    Deferred,
    Early,
    Encoded,
    Registry,
    Slices,
    WireAnswer,
    defect,
)
from howdah.protocol.rpc.session import LINGER_S, ActsFor, Call, Event, Reply, ServerSession, State
from howdah.rpc import tracing
from howdah.rpc.response_writer import ResponseWriter
from howdah.runtime import unexpected_errors
from howdah.runtime.metrics.rpc import RpcMetrics
from howdah.runtime.tracing import spans
from howdah.runtime.users.names import not_allowed

log = logging.getLogger(__name__)

CALLS_PER_TURN: Final = 100
"""Of one connection, before others have a turn: some milliseconds' work."""

MAX_UNSENT_BYTES: Final = 4 * 1024 * 1024
"""Answers of one connection that wait for the barrier, before it is served no further."""


HANDSHAKE_TIMEOUT_S: Final = 20.0
IDLE_TIMEOUT_S: Final = 20.0
"""Twice what Hadoop's clients keep a connection that they do not use."""
IDLE_THRESHOLD: Final = 4000


_Outcome = Message | Encoded | errors.HowdahError
"""What is sent of a call."""
_AT_ONCE: Final = (Message, Encoded, Early)
"""A union would be made in every call."""

_GONE: Final = errors.Unreachable("the caller ended the connection before it was answered")


class RpcServer:
    """Listens, and answers from a registry of services."""

    def __init__(
        self,
        registry: Registry,
        *,
        barrier: SendingBarrier | None = None,
        admission: Admission | None = None,
        alignment: Alignment | None = None,
        impersonation: Impersonation | None = None,
        ip_proxy_users: Container[str] = (),
        federated_state: Callable[[], bytes] | None = None,
        max_frame_bytes: int = wire.DEFAULT_MAX_FRAME_BYTES,
        max_connections: int = 0,
        handshake_timeout_s: float = HANDSHAKE_TIMEOUT_S,
        idle_threshold: int = IDLE_THRESHOLD,
        idle_timeout_s: float = IDLE_TIMEOUT_S,
    ) -> None:
        """Without `impersonation` nobody may act for another user. `ip_proxy_users` are believed
        what they tell of their clients (`howdah.protocol.rpc.caller_context`). `federated_state`
        is what goes along with each answer about the nameservices behind a router.
        `max_connections` at once, 0 for any number: what comes above is closed unheard.

        A connection that has not said who is calling within `handshake_timeout_s` is
        closed; above `idle_threshold` of them, so are those that have had nothing to ask
        for `idle_timeout_s`.
        """
        self.registry = registry
        self.barrier: SendingBarrier = barrier or OpenBarrier()
        self.admission = admission
        self.alignment = alignment
        self.impersonation = impersonation
        self.ip_proxy_users = ip_proxy_users
        self.federated_state = federated_state
        self.max_frame_bytes = max_frame_bytes
        self.max_connections = max_connections
        self.handshake_timeout_s = handshake_timeout_s
        self.idle_timeout_s = idle_timeout_s
        self.idle_threshold = idle_threshold
        self._next_look_s = 0.0
        native = kernel()
        # On a single processor nobody could ask while the loop is awake.
        self.await_bytes = native.await_bytes if native and _processors() > 1 else None
        self.lone = BusyPollPolicy()
        self.connections: set[_Connection] = set()
        self.figures: dict[int, RpcMetrics] = {}
        """What is counted of the calls, by the port at which it listens."""
        self._listening: list[asyncio.AbstractServer] = []

    async def start(self, host: str, port: int, *, backlog: int = 256) -> int:
        """Listen, here too if it does already; the port, which is a free one for port 0."""
        loop = asyncio.get_running_loop()
        figures = RpcMetrics(self.registry.method_names())
        # uvloop's sockets are a list, and no tuple.
        server: Any = await loop.create_server(
            lambda: cast(asyncio.Protocol, _Connection(self, figures)),
            host,
            port,
            backlog=backlog,
            reuse_address=True,
        )
        self._listening.append(server)
        port = int(server.sockets[0].getsockname()[1])
        self.figures[port] = figures
        return port

    @property
    def waiting_calls(self) -> int:
        """Of all connections: calls that have come and have not had their turn."""
        return sum(each.waiting for each in list(self.connections))

    def make_room(self, now_s: float) -> None:
        """A connection came: where there are many, those that nobody uses go."""
        if len(self.connections) <= self.idle_threshold or now_s < self._next_look_s:
            return
        self._next_look_s = now_s + self.idle_timeout_s / 20
        idle = [c for c in self.connections if c.is_idle(now_s - self.idle_timeout_s)]
        if idle:
            log.info(
                "%d of %d connections are closed: nothing was asked on them for %g s",
                len(idle),
                len(self.connections),
                self.idle_timeout_s,
            )
        for connection in idle:
            connection.end()

    async def stop(self) -> None:
        """Stop listening and end every connection. Calls that wait for something are told
        to try again: those who work on them may be gone."""
        for server in self._listening:
            server.close()
        for connection in list(self.connections):
            connection.refuse_pending(errors.RetriableError("the server stops: try again"))
            connection.end()
        for server in self._listening:
            await server.wait_closed()


class _Connection:
    """An `asyncio.Protocol` by its methods, and not by its class: mypyc would compile it to a
    class of Python's, of which each attribute is looked up by its name."""

    def __init__(self, server: RpcServer, figures: RpcMetrics) -> None:
        self._server = server
        self._figures = figures
        self._queued = figures.queued
        self._session = ServerSession(server.max_frame_bytes, server.registry.fast_path)
        self._transport: asyncio.Transport | None = None
        self._way: ResponseWriter | None = None
        self._descriptor = -1
        self._loop = asyncio.get_running_loop()
        self._backlog: deque[Event] = deque()
        self._out: list[bytes] = []
        self._unsent_bytes = 0
        self._in_batch = False
        self._writing_paused = False
        self._reading_paused = False
        self._closing = False
        self._will_part = False
        self._address = "?"
        self._port = 0
        self._handshake: asyncio.TimerHandle | None = None
        self._parting: asyncio.TimerHandle | None = None
        self._heard_s = 0.0
        self._heard_ns = 0
        self._in_flight = 0
        self._waits = False
        self._pending: dict[Deferred, Call] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are Transports by their methods, not by their class.
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        if peer:
            self._address, self._port = str(peer[0]), int(peer[1])
        most = self._server.max_connections
        if most and len(self._server.connections) >= most:
            log.warning("%s is turned away: %d connections are open", self._address, most)
            self._figures.refused_connections += 1
            self._transport.abort()
            return
        self._way = ResponseWriter(self._transport)
        socket = transport.get_extra_info("socket")
        if socket is not None and self._server.await_bytes is not None:
            self._descriptor = socket.fileno()
        self._server.make_room(self._loop.time())
        self._server.connections.add(self)
        self._heard_s = self._loop.time()
        self._handshake = self._loop.call_later(self._server.handshake_timeout_s, self._too_late)

    def _too_late(self) -> None:
        log.warning(
            "the connection of %s is closed: it did not say who is calling within %g s",
            self._address,
            self._server.handshake_timeout_s,
        )
        if self._transport is not None:
            self._transport.abort()

    @property
    def waiting(self) -> int:
        """Calls that have not had their turn."""
        return len(self._backlog)

    @property
    def is_expected(self) -> bool:
        """It is still to say who is calling, and its time runs."""
        return self._handshake is not None

    def is_idle(self, since_s: float) -> bool:
        """Nothing was asked since then, and nothing is to be answered."""
        return self._heard_s < since_s and self._is_answered

    @property
    def _left_bytes(self) -> int:
        """Of answers that leave without this connection."""
        return 0 if self._way is None else self._way.waiting_bytes

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._descriptor = -1
        self._server.lone.note_end(self)
        if self._way is not None:
            self._way.close()
            self._way = None
        if self._handshake is not None:
            self._handshake.cancel()
        if self._parting is not None:
            self._parting.cancel()
        self._backlog.clear()
        self._server.connections.discard(self)
        pending, self._pending = self._pending, {}
        for answer, call in pending.items():
            answer.withdraw()
            if call.span is not None:
                call.span.end(_GONE)

    def eof_received(self) -> bool:
        """The connection ends with what the other side has to say."""
        return False

    def pause_writing(self) -> None:
        self._writing_paused = True

    def resume_writing(self) -> None:
        self._writing_paused = False
        if not self._in_batch:
            self._go_on()

    def refuse_pending(self, error: errors.HowdahError) -> None:
        """Answer in the place of those who work on the calls that wait."""
        pending, self._pending = self._pending, {}
        for answer, call in pending.items():
            answer.withdraw()
            self._finish(call, error)

    def end(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _give_up(self) -> None:
        """An answer is never sent, so the connection ends."""
        if self._transport is not None and not self._transport.is_closing():
            log.info("a connection of %s ends: it cannot be answered in time", self._address)
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._parting is not None:
            return
        self._receive(data)
        # Of an edit the log's disk takes so much longer that a moment more or less is nothing.
        if self._server.lone.note_call(self) and self._is_answered:
            self._wait_a_moment()

    @property
    def _is_answered(self) -> bool:
        busy = self._in_flight or self._backlog or self._unsent_bytes or self._left_bytes
        return not busy

    def _wait_a_moment(self) -> None:
        """For the next call of the only caller, which has its answers."""
        server, transport = self._server, self._transport
        if server.await_bytes is None or self._descriptor < 0:
            return
        if transport is not None and not transport.is_closing():
            server.lone.waited(server.await_bytes(self._descriptor, MOMENT_NS))

    def _receive(self, data: bytes) -> None:
        self._heard_ns = perf_counter_ns()
        self._figures.received_bytes += len(data)
        self._heard_s = self._loop.time()
        if self._session.has_quick_calls and not self._backlog:
            data = self._answer_by_bytes(data)
            if not data:
                return
        self._backlog.extend(self._session.receive(data))
        if self._handshake is not None and self._session.state is State.READY:
            self._handshake.cancel()
            self._handshake = None
        self._go_on()

    def _answer_by_bytes(self, data: bytes) -> bytes:
        """Answer calls at the beginning of what came, where that is allowed (`rpc.quick`); what
        is left is served as usual."""
        server, session = self._server, self._session
        if self._held_up or server.federated_state is not None or not server.registry.is_open():
            return data
        if server.admission is not None and not server.admission.is_known(session.user):
            return data
        states, alignment = b"", server.alignment
        if alignment is not None:
            if not alignment.holds_nobody():
                return data
            states = wire.answer_states(alignment.state_id())
        began_ns = self._heard_ns
        address = "" if self._is_believed() else self._address
        try:
            answered, answers, end = session.answer(
                data, CALLS_PER_TURN, address, states, perf_counter_ns, began_ns
            )
        except Exception as error:  # noqa: BLE001 - the handlers of these calls are still there
            unexpected_errors.note(
                "a call that is answered by its bytes", error, "it is served as usual"
            )
            return data
        if not answered:
            return data
        figures, now_ns = self._figures, began_ns
        for method, took_ns in answered:
            self._queued.add(now_ns - began_ns)
            figures.answered(method, session.user, took_ns)
            now_ns += took_ns
        barrier = server.barrier
        is_held = barrier.must_wait()
        if is_held and self._hand_over(answers):
            return data[end:]
        self._unsent_bytes += len(answers)
        if is_held:
            barrier.when_clear(partial(self._release, answers), self._give_up)
        else:
            self._out.append(answers)
            self._flush()
        return data[end:]

    def _is_believed(self) -> bool:
        """Whether the caller may say that its client is elsewhere."""
        session, proxies = self._session, self._server.ip_proxy_users
        return bool(proxies) and (session.real_user or session.user) in proxies

    @property
    def _held_up(self) -> bool:
        """True while the client has enough answers before it."""
        return self._unsent_bytes > MAX_UNSENT_BYTES or self._writing_paused or self._waits

    def _go_on(self) -> None:
        """Serve a turn's worth of what has come."""
        self._in_batch = True
        turns = CALLS_PER_TURN
        backlog = self._backlog
        while backlog and turns and not self._held_up:
            turns -= 1
            event = backlog.popleft()
            if isinstance(event, Call):
                if not self._admit(event.user):
                    backlog.appendleft(event)
                    break
                self._in_flight += 1
                if self._server.alignment is None:
                    self._dispatch(event)
                else:
                    self._serve(event, self._server.alignment)
            elif isinstance(event, Reply):
                self._hold_back(event.data)
            elif isinstance(event, ActsFor):
                self._authorize(event)
            else:
                # Quoted, since the reason may hold what the client sent.
                log.warning("connection from %s ended: %r", self._address, event.reason)
                self._closing = True
        self._in_batch = False
        self._flush()
        if self._backlog or self._reading_paused or self._held_up:
            if self._backlog and not self._held_up:
                self._loop.call_soon(self._go_on)
            self._read_if_wanted()

    def _admit(self, user: str) -> bool:
        """False if the call, and all behind it, has to wait: others are served meanwhile."""
        admission = self._server.admission
        if admission is None or admission.is_known(user):
            return True
        self._waits = True
        admission.when_known(user, self._admitted)
        return False

    def _admitted(self, error: errors.HowdahError | None) -> None:
        self._waits = False
        if error is not None and self._backlog:
            call = self._backlog.popleft()
            assert isinstance(call, Call), "it was put back to the front"
            self._in_flight += 1
            self._finish(call, error)
        self._go_on()

    def _authorize(self, wanted: ActsFor) -> None:
        """What is behind it waits until it is known whether the connection may act for its user."""
        self._waits = True
        impersonation = self._server.impersonation
        whose = wanted.real_user, wanted.user
        if impersonation is None:
            self._authorized(not_allowed(*whose))
            return
        try:
            impersonation.authorize(*whose, self._address, self._authorized)
        except Exception as error:  # noqa: BLE001 - the caller is told
            self._authorized(defect("the connection's context", error))

    def _authorized(self, error: errors.HowdahError | None) -> None:
        self._waits = False
        if error is not None:
            self._figures.failed(error.remote_class, 0)
            self._backlog.clear()
            self._backlog.extend(self._session.refuse(error))
        if not self._in_batch:
            self._go_on()

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

    def _serve(self, call: Call, alignment: Alignment) -> None:
        """At once, or when what its caller has seen is there."""
        try:
            if alignment.must_wait(call):
                alignment.when_reached(call, lambda error: self._reached(call, error))
                return
        except errors.HowdahError as error:
            self._finish(call, error)
            return
        self._dispatch(call)

    def _reached(self, call: Call, error: errors.HowdahError | None) -> None:
        """A call that had to wait goes on in a turn of its own: many may do so at once."""
        if self._transport is None:
            return
        if error is None:
            self._loop.call_soon(self._dispatch, call)
        else:
            self._loop.call_soon(self._finish, call, error)

    def _dispatch(self, call: Call) -> None:
        call.began_ns = began_ns = perf_counter_ns()
        self._queued.add(began_ns - self._heard_ns)
        origin = None
        if call.context is not None and self._is_believed():
            origin = origin_in(call.context[0])
        if spans.tracer is not None and call.trace:
            tracing.begin(call, self._address, began_ns - self._heard_ns)
        registry = self._server.registry
        try:
            if call.span is None:
                answer = registry.dispatch_to_wire(call, self._address, self._port, origin)
            else:
                with call.span.current():
                    answer = registry.dispatch_to_wire(call, self._address, self._port, origin)
        except errors.HowdahError as error:
            self._finish(call, error)
        except Exception as error:  # noqa: BLE001 - one call's defect must not end the server
            self._finish(call, defect(call.method, error))
        else:
            self._complete(call, answer)

    def _complete(self, call: Call, answer: WireAnswer) -> None:
        if isinstance(answer, _AT_ONCE):
            self._finish(call, answer)
        elif isinstance(answer, Deferred):
            self._pending[answer] = call
            answer.when_settled(lambda outcome: self._settled(answer, outcome))
        else:
            self._step(call, answer)

    def _settled(self, answer: Deferred, outcome: Message | errors.HowdahError) -> None:
        self._finish(self._pending.pop(answer), outcome)

    def _step(self, call: Call, slices: Slices) -> None:
        """One slice of a long answer; the next one when others had their turn."""
        if self._transport is None:
            slices.close()
            if call.span is not None:
                call.span.end(_GONE)
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
            self._loop.call_soon(self._step, call, slices)

    def _finish(self, call: Call, outcome: _Outcome | Early) -> None:
        self._in_flight -= 1
        # A caller that says what it has seen takes that to other namenodes: they would wait for a
        # transaction that a crash has undone.
        is_early = False
        if isinstance(outcome, Early):
            is_early = call.state_id is None
            outcome = outcome.message
        alignment = self._server.alignment
        state_id = None if alignment is None else alignment.state_id()
        federated = self._server.federated_state
        states = b"" if federated is None else federated()
        try:
            data = _encode(call, outcome, state_id, states)
        except Exception as error:  # noqa: BLE001 - an answer that cannot be sent is a defect
            outcome = defect(call.method, error)
            data = _encode(call, outcome, state_id, states)
        # A call whose turn never came took no time of this server.
        took_ns = perf_counter_ns() - call.began_ns if call.began_ns else 0
        if isinstance(outcome, errors.HowdahError):
            self._figures.failed(outcome.remote_class, took_ns)
        else:
            self._figures.answered(call.method, call.user, took_ns)
        barrier = self._server.barrier
        waits = barrier.must_wait(early=is_early)
        if is_early and not waits:
            barrier.left_early()
        if waits and self._server.registry.shows_state(call.protocol, outcome):
            if call.span is None and self._hand_over(data):
                return
            self._unsent_bytes += len(data)
            if call.span is None:
                barrier.when_clear(partial(self._release, data), self._give_up)
            else:
                self._hold_traced(data, tracing.held_back(call.span, outcome))
        else:
            if call.span is not None:
                call.span.end(tracing.error_of(outcome))
            self._hold_back(data)
            if not self._in_batch:
                self._flush()

    def _hold_traced(self, data: bytes, over: Callable[[errors.HowdahError | None], None]) -> None:
        def send() -> None:
            over(None)
            self._release(data)

        def give_up() -> None:
            over(tracing.GAVE_UP)
            self._give_up()

        self._server.barrier.when_clear(send, give_up)

    def _hand_over(self, data: bytes) -> bool:
        """Leave an answer to the barrier; False if it is not taken. Behind the end none is."""
        way = self._way
        if (
            way is None
            or self._parting is not None
            or not way.hand_over(data, self._server.barrier)
        ):
            return False
        self._figures.sent_bytes += len(data)
        return True

    def _hold_back(self, data: bytes) -> None:
        self._unsent_bytes += len(data)
        self._out.append(data)

    def _release(self, data: bytes) -> None:
        """The barrier lets an answer through."""
        # Where nothing waits to be served or read, nothing is held up.
        was_held_up = (self._reading_paused or bool(self._backlog)) and self._held_up
        self._out.append(data)
        if not self._in_batch:
            self._flush()
            if was_held_up and not self._held_up:
                self._loop.call_soon(self._go_on)

    def _flush(self) -> None:
        if self._out:
            out, self._out = self._out, []
            data = out[0] if len(out) == 1 else b"".join(out)
            self._unsent_bytes -= len(data)
            # Behind the end nothing can be written; an answer that comes so late has no reader.
            if self._way is not None and self._parting is None:
                self._figures.sent_bytes += len(data)
                self._way.write(data)
        if self._closing and not self._unsent_bytes:
            if not self._left_bytes:
                self._part()
            elif not self._will_part:
                self._will_part = True
                self._server.barrier.when_clear(self._part_soon)

    def _part_soon(self) -> None:
        """In a turn of its own: until then the barrier gives back what could not be sent."""
        self._loop.call_soon(self._part_now)

    def _part_now(self) -> None:
        self._will_part = False
        self._flush()

    def _part(self) -> None:
        """All is said. What still comes is dropped until the client goes, or for `LINGER_S`."""
        transport = self._transport
        if transport is None or transport.is_closing() or self._parting is not None:
            return
        if self._handshake is not None:
            self._handshake.cancel()
            self._handshake = None
        self._parting = self._loop.call_later(LINGER_S, transport.abort)
        transport.write_eof()
        if self._reading_paused:
            self._reading_paused = False
            transport.resume_reading()


def _encode(call: Call, outcome: _Outcome, state_id: int | None, states: bytes) -> bytes:
    if isinstance(outcome, errors.HowdahError):
        whose = call.call_id, call.client_id, call.retry_count
        return wire.encode_error(*whose, outcome, state_id=state_id, federated_state=states)
    body = outcome.data if isinstance(outcome, Encoded) else outcome.SerializeToString()
    # Not by `*whose`: a call by a list takes a compiled server as long as all of the rest.
    return wire.encode_answer_bytes(
        call.call_id, call.client_id, call.retry_count, body, state_id, states
    )


def _processors() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
