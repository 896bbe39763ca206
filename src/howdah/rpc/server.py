"""The asyncio shell of a Hadoop RPC server.

One `asyncio.Protocol` a connection; a call runs on the loop, its answer waits
for the barrier (the namenode's journal) and goes out. Answers of one batch of
calls leave in one write. A client that sends many calls at once gets so many served
a turn of the loop, and others have theirs in between; of answers that are made in slices a
connection has one slice a turn. A client that does not read its answers, or has too many of them
held back, is not read from either. A call whose caller has
seen more than this server (`Alignment`) waits, and those behind it are served meanwhile.

An answer that comes later has an owner who settles it (`Deferred`). When the connection is
lost the server withdraws from it; when the server stops it answers in the owner's place.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Container
from functools import partial
from time import perf_counter_ns
from typing import Any, Final, cast

from google.protobuf.message import Message

from howdah import errors
from howdah.protocol.rpc import wire
from howdah.protocol.rpc.answering import AT_ONCE, Answering, Outcome, Response, Turn
from howdah.protocol.rpc.call import Call
from howdah.protocol.rpc.intake import Intake, Refused
from howdah.protocol.rpc.server_hooks import (
    Admission,
    Alignment,
    Authentication,
    Impersonation,
    OpenBarrier,
    SendingBarrier,
    ServerHooks,
    ServiceAuthorization,
)
from howdah.protocol.rpc.service import Deferred, Registry, Slices, next_slice
from howdah.protocol.rpc.session import Protect, Reply, ServerSession, State
from howdah.protocol.sasl.auth_to_local import UserOf, simple_user
from howdah.rpc import tracing
from howdah.rpc.answer_queue import AnswerQueue
from howdah.rpc.busy_poll import BusyPoll
from howdah.rpc.farewell import Farewell
from howdah.rpc.response_writer import ResponseWriter
from howdah.runtime.metrics.rpc import RpcMetrics

log = logging.getLogger(__name__)

CALLS_PER_TURN: Final = 100
"""Of one connection, before others have a turn: some milliseconds' work."""

MAX_UNSENT_BYTES: Final = 4 * 1024 * 1024
"""Answers of one connection that wait for the barrier, before it is served no further."""

MOST_SLICED: Final = 1000
"""Long answers of one connection that are under way at a time, before it is served no further. It
has one slice a turn, whatever their number."""


HANDSHAKE_TIMEOUT_S: Final = 20.0
IDLE_TIMEOUT_S: Final = 20.0
"""Twice what Hadoop's clients keep a connection that they do not use."""
IDLE_THRESHOLD: Final = 4000
MAX_UNPROVEN_BYTES: Final = 256 * 1024 * 1024
"""Of frames that came in part from clients that have not said who they are, all together. Each of
them may hold 128 KiB for 20 s, and anybody can dial ten thousand times."""

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
        authentication: Authentication | None = None,
        authorization: ServiceAuthorization | None = None,
        ip_proxy_users: Container[str] = (),
        federated_state: Callable[[], bytes] | None = None,
        user_of: UserOf = simple_user,
        max_frame_bytes: int = wire.DEFAULT_MAX_FRAME_BYTES,
        max_connections: int = 0,
        handshake_timeout_s: float = HANDSHAKE_TIMEOUT_S,
        idle_threshold: int = IDLE_THRESHOLD,
        idle_timeout_s: float = IDLE_TIMEOUT_S,
        max_unproven_bytes: int = MAX_UNPROVEN_BYTES,
    ) -> None:
        """Without `authentication` everybody is believed, without `impersonation` nobody may act
        for another user, and without `authorization` everybody may speak every protocol.
        `ip_proxy_users` are believed what they tell of their clients
        (`howdah.protocol.rpc.caller_context`). `federated_state` is what goes along with each
        answer about the nameservices behind a router. `user_of` has the users of names that
        clients give.
        `max_connections` at once, 0 for any number: what comes above is closed unheard.

        A connection that has not said who is calling within `handshake_timeout_s` is
        closed; above `idle_threshold` of them, so are those that have had nothing to ask
        for `idle_timeout_s`. Where frames of those who have not said it hold more than
        `max_unproven_bytes`, the one goes that has held some for the longest.
        """
        self.registry = registry
        self.hooks = ServerHooks(
            barrier or OpenBarrier(),
            admission,
            alignment,
            impersonation,
            authentication,
            authorization,
            federated_state,
            user_of,
        )
        self.ip_proxy_users = ip_proxy_users
        self.max_frame_bytes = max_frame_bytes
        self.max_connections = max_connections
        self.handshake_timeout_s = handshake_timeout_s
        self.idle_timeout_s = idle_timeout_s
        self.idle_threshold = idle_threshold
        self._next_look_s = 0.0
        self.unproven = UnprovenBytes(max_unproven_bytes)
        self.busy_poll = BusyPoll()
        self.connections: set[_Connection] = set()
        self.figures: dict[int, RpcMetrics] = {}
        """What is counted of the calls, by the port at which it listens."""
        self._listening: list[asyncio.AbstractServer] = []
        self.bound: list[tuple[str, int]] = []
        """IP addresses and ports at which it listens."""

    async def start(self, host: str, port: int, *, backlog: int = 256) -> int:
        """Listen, here too if it does already; the port, which is a free one for port 0."""
        loop = asyncio.get_running_loop()
        entry = Port(self)
        # uvloop's sockets are a list, and no tuple.
        server: Any = await loop.create_server(
            lambda: cast(asyncio.Protocol, Arrival(entry)),
            host,
            port,
            backlog=backlog,
            reuse_address=True,
        )
        self._listening.append(server)
        # Addresses, where `host` may be a name.
        self.bound += [listening.getsockname()[:2] for listening in server.sockets]
        port = int(server.sockets[0].getsockname()[1])
        self.figures[port] = entry.figures
        return port

    @property
    def waiting_calls(self) -> int:
        """Of all connections: calls that have come and have not had their turn."""
        return sum(connection.waiting for connection in list(self.connections))

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

    def judge_again(self) -> None:
        """Who may speak which protocol is said anew: judge all connections by that."""
        for connection in list(self.connections):
            connection.judge_again()

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


class UnprovenBytes:
    """What is held of frames that came in part, of connections that have not said who calls."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.total_bytes = 0
        self._held: dict[_Connection, int] = {}
        """The first one has held some for the longest."""

    def note(self, connection: _Connection, held_bytes: int) -> None:
        """A connection holds so much. Whoever has held some for the longest goes, where all hold
        too much together: a handshake takes a moment."""
        if not held_bytes:
            self.forget(connection)
            return
        self.total_bytes += held_bytes - self._held.get(connection, 0)
        self._held[connection] = held_bytes
        while self.total_bytes > self.most_bytes:
            longest = next(iter(self._held))
            self.forget(longest)
            longest.make_room()

    def forget(self, connection: _Connection) -> None:
        """It holds nothing, or has said who calls, or is lost."""
        self.total_bytes -= self._held.pop(connection, 0)


class Port:
    """One at which a server listens, with figures of its own."""

    def __init__(self, server: RpcServer) -> None:
        self.server: Final = server
        self.figures: Final = RpcMetrics(server.registry.method_names())
        self.answering: Final = Answering(
            server.registry, server.hooks, self.figures, perf_counter_ns, tracing.server_span
        )


class Arrival:
    """A connection of which nothing is known yet: an `asyncio.Protocol` until it is made.

    As `_Connection`, it is one by its methods, and not by its class: mypyc would compile it to a
    class of Python's, of which each attribute is looked up by its name."""

    def __init__(self, port: Port) -> None:
        self._port = port

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are Transports by their methods, not by their class.
        made = cast(asyncio.Transport, transport)
        server = self._port.server
        peer = transport.get_extra_info("peername")
        address, port = (str(peer[0]), int(peer[1])) if peer else ("?", 0)
        most = server.max_connections
        if most and len(server.connections) >= most:
            log.warning("%s is turned away: %d connections are open", address, most)
            self._port.figures.refused_connections += 1
            made.abort()
            return
        connection = _Connection(self._port, made, address, port)
        made.set_protocol(cast(asyncio.Protocol, connection))
        server.make_room(asyncio.get_running_loop().time())
        server.connections.add(connection)

    def connection_lost(self, exc: Exception | None) -> None:
        """It was turned away."""


def _own_port(transport: asyncio.Transport) -> int:
    """Return the port at which a connection came in."""
    own = transport.get_extra_info("sockname")
    return int(own[1]) if own else 0


class _Connection:
    """One client: its calls have their turns here, and what they wait for."""

    def __init__(
        self, port: Port, transport: asyncio.Transport, address: str, client_port: int
    ) -> None:
        server = port.server
        self._server = server
        self._answering = port.answering
        self._figures = port.figures
        self._transport: asyncio.Transport | None = transport
        self._loop = asyncio.get_running_loop()
        self._session = ServerSession(
            server.max_frame_bytes,
            server.registry.fast_path,
            address=address,
            port=client_port,
            server_port=_own_port(transport),
            ip_proxy_users=server.ip_proxy_users,
            authentication=server.hooks.authentication,
            authorizes=server.hooks.authorization is not None,
            user_of=server.hooks.user_of,
        )
        self._intake = Intake(self._session, port.answering, self._resume)
        self._answers = AnswerQueue(
            ResponseWriter(transport),
            server.hooks,
            port.figures,
            self._released,
            self._give_up,
        )
        self._farewell = Farewell(transport, self._answers, server.hooks, self._is_over)
        socket = transport.get_extra_info("socket")
        self._descriptor = -1 if socket is None else socket.fileno()
        self._pending: dict[Deferred, Turn] = {}
        self._sliced: deque[tuple[Turn, Slices]] = deque()
        """Long answers under way; the first has the next slice."""
        self._will_step = False
        self._in_flight = 0
        self._in_batch = False
        self._writing_paused = False
        self._reading_paused = False
        self._heard_s = self._loop.time()
        self._heard_ns = 0
        self._handshake: asyncio.TimerHandle | None = self._loop.call_later(
            server.handshake_timeout_s, self._too_late
        )

    # -- what the loop says --------------------------------------------------------------------

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._descriptor = -1
        self._server.busy_poll.policy.note_end(self)
        self._answers.lose()
        self._end_handshake()
        self._farewell.cancel()
        self._intake.clear()
        self._server.connections.discard(self)
        pending, self._pending = self._pending, {}
        for answer, turn in pending.items():
            answer.withdraw()
            turn.span.end(_GONE)

    def eof_received(self) -> bool:
        """The connection ends with what the other side has to say."""
        return False

    def pause_writing(self) -> None:
        self._writing_paused = True

    def resume_writing(self) -> None:
        self._writing_paused = False
        self._resume()

    def data_received(self, data: bytes) -> None:
        if self._farewell.has_parted:
            return
        self._receive(data)
        # Of an edit the log's disk takes so much longer that a moment more or less is nothing.
        poll = self._server.busy_poll
        if poll.policy.note_call(self) and self._is_answered:
            transport = self._transport
            if self._descriptor >= 0 and transport is not None and not transport.is_closing():
                poll.wait(self._descriptor)

    # -- what the server asks --------------------------------------------------------------------

    @property
    def waiting(self) -> int:
        """Calls that have not had their turn."""
        return len(self._intake.events)

    @property
    def is_expected(self) -> bool:
        """It is still to say who is calling, and its time runs."""
        return self._handshake is not None

    def is_idle(self, since_s: float) -> bool:
        """Nothing was asked since then, and nothing is to be answered."""
        return self._heard_s < since_s and self._is_answered

    def refuse_pending(self, error: errors.HowdahError) -> None:
        """Answer in the place of those who work on the calls that wait."""
        pending, self._pending = self._pending, {}
        for answer, turn in pending.items():
            answer.withdraw()
            self._respond(turn, error)

    def judge_again(self) -> None:
        """Whether it may speak what it speaks is to be judged before its next call."""
        self._intake.judge_again()
        self._resume()

    def end(self) -> None:
        if self._transport is not None:
            self._transport.close()

    # -- the way of a call -----------------------------------------------------------------------

    @property
    def _is_answered(self) -> bool:
        answers = self._answers
        busy = self._in_flight or self._intake.events or answers.unsent_bytes or answers.lent_bytes
        return not busy

    @property
    def _is_held_up(self) -> bool:
        """True while the client has enough answers before it."""
        is_full = self._answers.unsent_bytes > MAX_UNSENT_BYTES or len(self._sliced) >= MOST_SLICED
        return is_full or self._writing_paused

    def _receive(self, data: bytes) -> None:
        self._heard_ns = perf_counter_ns()
        self._figures.received_bytes += len(data)
        self._heard_s = self._loop.time()
        intake = self._intake
        if self._session.has_quick_calls and not (
            intake.events or intake.is_waiting or self._is_held_up
        ):
            response, data = self._answering.answer_by_bytes(
                self._session, data, CALLS_PER_TURN, self._heard_ns
            )
            if response is not None:
                self._send_or_hold(response)
            if not data:
                return
        intake.receive(data)
        if self._handshake is not None:
            if self._session.state is State.READY:
                self._end_handshake()
            else:
                self._server.unproven.note(self, self._session.pending_bytes)
        self._go_on()

    def _resume(self) -> None:
        """What held the calls up is over."""
        if not self._in_batch:
            self._go_on()

    def _go_on(self) -> None:
        """Serve a turn's worth of what has come."""
        self._in_batch = True
        turns = CALLS_PER_TURN
        intake, answering = self._intake, self._answering
        while intake.events and turns and not self._is_held_up:
            event = intake.next_event()
            if event is None:
                break
            turns -= 1
            if isinstance(event, Call):
                self._in_flight += 1
                if answering.is_aligned(event, self._reached):
                    self._serve(event)
            elif isinstance(event, Reply):
                self._answers.add(event.data)
            elif isinstance(event, Protect):
                self._answers.protect(event.wrapping)
            elif isinstance(event, Refused):
                self._in_flight += 1
                self._respond(Turn(event.call), event.error)
            else:
                # Quoted, since the reason may hold what the client sent.
                log.warning("connection from %s ended: %r", self._session.address, event.reason)
                self._farewell.begin()
        self._in_batch = False
        self._flush()
        is_held_up = intake.is_waiting or self._is_held_up
        if intake.events or self._reading_paused or is_held_up:
            if intake.events and not is_held_up:
                self._loop.call_soon(self._go_on)
            self._read_if_wanted()

    def _reached(self, call: Call, error: errors.HowdahError | None) -> None:
        """A call that had to wait goes on in a turn of its own: many may do so at once. One that
        is refused in its turn is answered in it."""
        if self._in_batch and error is not None:
            self._respond(Turn(call), error)
        elif self._transport is None:
            return
        elif error is None:
            self._loop.call_soon(self._serve, call)
        else:
            self._loop.call_soon(self._respond, Turn(call), error)

    def _serve(self, call: Call) -> None:
        turn = self._answering.begin(call, self._heard_ns)
        answer = self._answering.run(turn)
        if isinstance(answer, AT_ONCE):
            self._respond(turn, answer)
        elif isinstance(answer, Deferred):
            self._pending[answer] = turn
            answer.when_settled(partial(self._settled, answer))
        else:
            self._sliced.append((turn, answer))
            if not self._will_step:
                self._step()

    def _settled(self, answer: Deferred, outcome: Message | errors.HowdahError) -> None:
        self._respond(self._pending.pop(answer), outcome)

    def _step(self) -> None:
        """One slice of a long answer; the next one, of the next answer, when others had their
        turn."""
        if self._transport is None:
            self._give_up_sliced()
            return
        was_held_up = len(self._sliced) >= MOST_SLICED
        turn, slices = self._sliced.popleft()
        # Until the end of this step nobody else begins one.
        self._will_step = True
        outcome = next_slice(turn.call.method, slices)
        if outcome is None:
            self._sliced.append((turn, slices))
        else:
            self._respond(turn, outcome)
            if was_held_up:
                self._loop.call_soon(self._resume)
        self._will_step = bool(self._sliced)
        if self._will_step:
            self._loop.call_soon(self._step)

    def _give_up_sliced(self) -> None:
        """The connection is lost."""
        sliced, self._sliced = self._sliced, deque()
        for turn, slices in sliced:
            slices.close()
            turn.span.end(_GONE)

    def _respond(self, turn: Turn, outcome: Outcome) -> None:
        self._in_flight -= 1
        self._send_or_hold(self._answering.respond(turn, outcome))

    # -- the way of an answer --------------------------------------------------------------------

    def _send_or_hold(self, response: Response) -> None:
        """Now, with the other answers of a batch, or when the barrier lets it through."""
        if not isinstance(response, bytes):
            self._answers.hold(response)
        elif self._in_batch:
            self._answers.add(response)
        else:
            self._answers.send(response)
            if self._farewell.is_begun:
                self._farewell.part_if_all_is_sent()

    def _released(self) -> None:
        """The barrier lets an answer through."""
        if self._in_batch:
            return
        # Where nothing waits to be served or read, nothing is held up.
        intake = self._intake
        was_held_up = (self._reading_paused or bool(intake.events)) and (
            intake.is_waiting or self._is_held_up
        )
        self._flush()
        if was_held_up and not (intake.is_waiting or self._is_held_up):
            self._loop.call_soon(self._go_on)

    def _flush(self) -> None:
        self._answers.flush()
        if self._farewell.is_begun:
            self._farewell.part_if_all_is_sent()

    def _give_up(self) -> None:
        """An answer is never sent, so the connection ends."""
        if self._transport is not None and not self._transport.is_closing():
            log.info(
                "a connection of %s ends: it cannot be answered in time", self._session.address
            )
            self._transport.abort()

    # -- reading, and the end ----------------------------------------------------------------------

    def _read_if_wanted(self) -> None:
        """Read from the client only while there is nothing of it to be served or sent."""
        transport, intake = self._transport, self._intake
        wanted = not (intake.events or intake.is_waiting or self._is_held_up)
        if transport is None or transport.is_closing() or wanted is not self._reading_paused:
            return
        self._reading_paused = not wanted
        if wanted:
            transport.resume_reading()
        else:
            transport.pause_reading()

    def _too_late(self) -> None:
        log.warning(
            "the connection of %s is closed: it did not say who is calling within %g s",
            self._session.address,
            self._server.handshake_timeout_s,
        )
        if self._transport is not None:
            self._transport.abort()

    def make_room(self) -> None:
        """Others that have not said who is calling hold too much together with it."""
        log.warning(
            "the connection of %s is closed: it has not said who is calling, and those that have "
            "not hold more than %d bytes together",
            self._session.address,
            self._server.unproven.most_bytes,
        )
        if self._transport is not None:
            self._transport.abort()

    def _end_handshake(self) -> None:
        if self._handshake is not None:
            self._handshake.cancel()
            self._handshake = None
            self._server.unproven.forget(self)

    def _is_over(self) -> None:
        """All is said. What still comes is read, and dropped."""
        self._end_handshake()
        if self._reading_paused and self._transport is not None:
            self._reading_paused = False
            self._transport.resume_reading()
