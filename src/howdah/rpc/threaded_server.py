"""A Hadoop RPC server on blocking sockets, a thread a connection.

For processes that have no event loop and few calls, such as a datanode's data
process: a reader that asks for a visible length now and then. The protocol is
`session.ServerSession`, as in the asyncio shell; this one reads, runs the call
and writes, in that order. Whatever befalls one connection, be it that there is no
thread for it, the next one is accepted.

Nobody is shut out by those who only hold connections, or the memory:

- A connection has to say who is calling within `handshake_timeout_s`, and then to send
  something every `idle_timeout_s`.
- One above the limit takes the place of the one that is missed least: of those that did not
  say yet who is calling the oldest, else the one that has been without a call for longest.
  If all are at work, the new one is refused.
- A frame above the limit is refused before any of it is kept. When all connections together
  hold more than `max_held_bytes` of frames, the one that waits with most is closed.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from google.protobuf.message import Message

from howdah import errors
from howdah.protocol.rpc.answering import AT_ONCE, Answering, Outcome, Turn
from howdah.protocol.rpc.call import Call
from howdah.protocol.rpc.intake import Intake, Refused
from howdah.protocol.rpc.negotiation import ServerMethods
from howdah.protocol.rpc.server_hooks import GoOn, ServerHooks, ServiceAuthorization
from howdah.protocol.rpc.service import Deferred, Registry, attempt, next_slice
from howdah.protocol.rpc.session import LINGER_S, Protect, Reply, ServerSession, State
from howdah.protocol.rpc.wrapped_stream import Wrapping
from howdah.protocol.sasl.auth_to_local import UserOf, simple_user
from howdah.rpc import tracing
from howdah.rpc.proofs import EvaluatedInPlace
from howdah.runtime.metrics.rpc import SharedRpcMetrics

log = logging.getLogger(__name__)

MAX_CONNECTIONS = 256
MAX_FRAME_BYTES = 64 * 1024
IDLE_TIMEOUT_S = 120.0
HANDSHAKE_TIMEOUT_S = 20.0
_RECEIVE_BYTES = 16 * 1024
_ACCEPT_PAUSE_S = 0.1
_FAILURES_A_LOG_LINE = 100
"""Of failures without a success between them, one in so many is logged."""

MayAct = Callable[[str, str, str], None]
"""Of a real user, whom he acts for, and his address; may wait, and raises AuthorizationFailed."""


@dataclass(slots=True, eq=False)
class _Connection:
    sock: socket.socket
    address: str
    since_s: float
    """When it was accepted; once it is known, when the last bytes had been sent to it."""
    is_known: bool = False
    """It has said who is calling."""
    is_busy: bool = False
    """A call is served."""
    held_bytes: int = 0
    """Of frames that came in part, or are served."""
    thread: threading.Thread | None = None
    is_to_be_judged: bool = False
    """Who may speak which protocol was said anew since it was judged."""
    wrapping: Wrapping | None = None
    """Of what is sent, where that was agreed."""


class ThreadedRpcServer:
    """Answers calls on a listening socket from a registry of services."""

    def __init__(
        self,
        listener: socket.socket,
        registry: Registry,
        *,
        max_frame_bytes: int = MAX_FRAME_BYTES,
        max_connections: int = MAX_CONNECTIONS,
        idle_timeout_s: float = IDLE_TIMEOUT_S,
        handshake_timeout_s: float = HANDSHAKE_TIMEOUT_S,
        max_held_bytes: int = 0,
        may_act: MayAct | None = None,
        methods: ServerMethods | None = None,
        authorization: ServiceAuthorization | None = None,
        user_of: UserOf = simple_user,
    ) -> None:
        """`max_held_bytes` is twice the longest frame if it is not given. Without `may_act` nobody
        may act for another user, without `methods` to prove it everybody is who he says, and
        without `authorization`, which may wait, everybody may speak every protocol. `user_of`
        has the users of names that clients give."""
        self._listener = listener
        self._max_frame_bytes = max_frame_bytes
        self._max_connections = max_connections
        self._idle_timeout_s = idle_timeout_s
        self._handshake_timeout_s = handshake_timeout_s
        self._max_held_bytes = max_held_bytes or 2 * max_frame_bytes
        self._lock = threading.Lock()
        self._open: set[_Connection] = set()
        self._closing = False
        self.port = int(listener.getsockname()[1])
        self.figures = SharedRpcMetrics(registry.method_names(), threading.Lock())
        """What is counted of the calls."""
        self.hooks = ServerHooks(
            impersonation=_InPlace(may_act) if may_act else None,
            authentication=EvaluatedInPlace(methods) if methods else None,
            authorization=authorization,
            user_of=user_of,
        )
        self._answering = Answering(
            registry, self.hooks, self.figures, time.perf_counter_ns, tracing.server_span
        )
        self.accepted = 0
        """Connections that came, also those that were refused."""
        self._acceptor = threading.Thread(target=self._accept, name="rpc acceptor", daemon=True)

    @property
    def active(self) -> int:
        """Connections that are open."""
        return len(self._open)

    @property
    def at_work(self) -> int:
        """Connections whose call is served."""
        with self._lock:
            return sum(connection.is_busy for connection in self._open)

    @property
    def held_bytes(self) -> int:
        """Of frames that came in part, or are served."""
        with self._lock:
            return sum(connection.held_bytes for connection in self._open)

    def judge_again(self) -> None:
        """Who may speak which protocol is said anew: judge all connections by that when they call
        again."""
        with self._lock:
            for connection in self._open:
                connection.is_to_be_judged = True

    def start(self) -> None:
        self._acceptor.start()

    def close(self, timeout_s: float = 5.0) -> None:
        """Stop listening, end every connection, wait for the threads.

        A call that is being served is answered first: it may be the one that asks for the end.
        """
        if self._closing:
            return
        self._closing = True
        self._listener.shutdown(socket.SHUT_RDWR)
        self._acceptor.join(timeout_s)
        self._listener.close()
        with self._lock:
            running = list(self._open)
        for connection in running:
            _shutdown(connection.sock, socket.SHUT_RD)
        deadline_s = time.monotonic() + timeout_s
        for connection in running:
            thread = connection.thread
            if thread is None:
                continue
            thread.join(max(deadline_s - time.monotonic(), 0.0))
            if thread.is_alive():
                _shutdown(connection.sock, socket.SHUT_RDWR)

    def _accept(self) -> None:
        failures = 0
        while not self._closing:
            try:
                sock, address = self._listener.accept()
            except (OSError, MemoryError) as error:
                if self._closing:
                    return
                if not failures % _FAILURES_A_LOG_LINE:
                    log.error("cannot accept an RPC connection: %s", str(error) or repr(error))
                failures += 1
                time.sleep(_ACCEPT_PAUSE_S)  # out of descriptors: only waiting helps
                continue
            failures = 0
            connection = _Connection(sock, str(address[0]), time.monotonic())
            try:
                self._begin(connection)
                self.accepted += 1
            except Exception:
                log.exception("the RPC connection of %s is closed: nobody serves it", address)
                self._forget(connection)

    def _begin(self, connection: _Connection) -> None:
        if not self._make_room():
            log.warning(
                "%d RPC connections are at work; that of %s is refused",
                self._max_connections,
                connection.address,
            )
            connection.sock.close()
            return
        connection.thread = threading.Thread(
            target=self._serve, args=(connection,), name="rpc", daemon=True
        )
        with self._lock:
            self._open.add(connection)
        try:
            connection.thread.start()
        except RuntimeError as error:
            log.error(
                "no thread for the RPC connection of %s, which is closed: %s",
                connection.address,
                error,
            )
            self._forget(connection)

    def _make_room(self) -> bool:
        """False if there is none for one more connection."""
        with self._lock:
            if len(self._open) < self._max_connections:
                return True
            waiting = [connection for connection in self._open if not connection.is_busy]
            if not waiting:
                return False
            missed_least = min(
                waiting, key=lambda connection: (connection.is_known, connection.since_s)
            )
        self._close(
            missed_least, f"another one takes its place: {self._max_connections} are the limit"
        )
        return True

    def _close(self, connection: _Connection, why: str) -> None:
        """Of one that waits: its thread ends by itself."""
        log.warning("the RPC connection of %s is closed: %s", connection.address, why)
        with self._lock:
            self._open.discard(connection)
        _shutdown(connection.sock, socket.SHUT_RDWR)

    def _forget(self, connection: _Connection) -> None:
        with self._lock:
            self._open.discard(connection)
        connection.sock.close()

    def _hold(self, connection: _Connection, held_bytes: int) -> None:
        """A connection holds so much, and whoever waits with most of all goes if that is too
        much together."""
        with self._lock:
            connection.held_bytes = held_bytes
            total_bytes = sum(other.held_bytes for other in self._open)
            if total_bytes <= self._max_held_bytes:
                return
            waiting = [other for other in self._open if not other.is_busy]
            most = max(waiting, key=lambda other: other.held_bytes, default=connection)
        self._close(
            most, f"it holds {most.held_bytes} bytes, and all connections {total_bytes} together"
        )

    def _serve(self, connection: _Connection) -> None:
        sock, address = connection.sock, connection.address
        session = ServerSession(
            self._max_frame_bytes,
            address=address,
            server_port=self.port,
            authentication=self.hooks.authentication,
            authorizes=self.hooks.authorization is not None,
            user_of=self.hooks.user_of,
        )
        intake = Intake(session, self._answering, lambda: None)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while data := self._receive(connection):
                came_ns = time.perf_counter_ns()
                self.figures.received(len(data))
                if connection.is_to_be_judged:
                    connection.is_to_be_judged = False
                    intake.judge_again()
                intake.receive(data)
                if intake.held_bytes or connection.held_bytes:
                    self._hold(connection, intake.held_bytes)
                while event := intake.next_event():
                    if isinstance(event, Call):
                        self._run(connection, event, came_ns)
                    elif isinstance(event, Reply):
                        self._send(connection, event.data)
                    elif isinstance(event, Protect):
                        connection.wrapping = event.wrapping
                    elif isinstance(event, Refused):
                        self._reply(connection, Turn(event.call), event.error)
                    else:
                        log.warning("connection from %s ended: %r", address, event.reason)
                        _part(sock)
                        return
                connection.held_bytes = session.pending_bytes
                connection.is_known = session.state is State.READY
        except TimeoutError:
            if connection.is_known:
                log.debug("connection from %s was idle for %g s", address, self._idle_timeout_s)
            else:
                log.warning(
                    "connection from %s did not say who is calling within %g s",
                    address,
                    self._handshake_timeout_s,
                )
        except OSError as error:
            log.debug("connection from %s broke: %s", address, error)
        finally:
            self._forget(connection)

    def _receive(self, connection: _Connection) -> bytes:
        """Raises TimeoutError."""
        timeout_s = self._idle_timeout_s
        if not connection.is_known:
            left_s = connection.since_s + self._handshake_timeout_s - time.monotonic()
            if left_s <= 0:
                raise TimeoutError
            timeout_s = min(timeout_s, left_s)
        connection.sock.settimeout(timeout_s)
        return connection.sock.recv(_RECEIVE_BYTES)

    def _run(self, connection: _Connection, call: Call, came_ns: int) -> None:
        connection.is_known = connection.is_busy = True
        try:
            turn = self._answering.begin(call, came_ns)
            outcome = self._outcome(turn)
        finally:
            connection.is_busy = False
            connection.since_s = time.monotonic()
        self._reply(connection, turn, outcome)

    def _reply(self, connection: _Connection, turn: Turn, outcome: Outcome) -> None:
        response = self._answering.respond(turn, outcome)
        assert isinstance(response, bytes), "nothing is held back here"
        # Whoever does not read the answer has his place until another one wants it.
        connection.sock.settimeout(self._idle_timeout_s)
        self._send(connection, response)

    def _outcome(self, turn: Turn) -> Outcome:
        """Run an answer in slices to its end, wait for one that comes later."""
        answer = self._answering.run(turn)
        if isinstance(answer, AT_ONCE):
            return answer
        if isinstance(answer, Deferred):
            return _settled(answer)
        while (outcome := next_slice(turn.call.method, answer)) is None:
            pass
        return outcome

    def _send(self, connection: _Connection, data: bytes) -> None:
        """By this all bytes leave."""
        wrapping = connection.wrapping
        connection.sock.sendall(data if wrapping is None else wrapping.wrap(data))
        if connection.is_known:  # Until then the time in which it has to say who it is runs.
            connection.since_s = time.monotonic()
        self.figures.sent(len(data))


def _settled(answer: Deferred) -> Message | errors.HowdahError:
    """Wait for an answer that comes later."""
    is_there = threading.Event()
    outcomes: list[Message | errors.HowdahError] = []

    def note(outcome: Message | errors.HowdahError) -> None:
        outcomes.append(outcome)
        is_there.set()

    answer.when_settled(note)
    is_there.wait()
    return outcomes[0]


class _InPlace:
    """Rules of impersonation that are asked on the connection's thread, which waits."""

    def __init__(self, may_act: MayAct) -> None:
        self._may_act = may_act

    def authorize(self, real_user: str, user: str, address: str, done: GoOn) -> None:
        whose = real_user, user, address
        done(attempt("the connection's context", lambda: self._may_act(*whose)))


def _part(sock: socket.socket) -> None:
    """All is said. What still comes is dropped until the client goes, or for `LINGER_S`."""
    sock.shutdown(socket.SHUT_WR)
    end_s = time.monotonic() + LINGER_S
    while (left_s := end_s - time.monotonic()) > 0:
        sock.settimeout(left_s)
        try:
            if not sock.recv(_RECEIVE_BYTES):
                return
        except TimeoutError:
            return


def _shutdown(sock: socket.socket, direction: int) -> None:
    try:
        sock.shutdown(direction)
    except OSError:
        log.debug("a connection was closed already")
