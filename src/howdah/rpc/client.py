"""The calling side of Hadoop RPC v9: a pool of blocking connections to one server.

Mirrors what Hadoop's `ipc.Client` puts on the wire and keeps none of its
machinery. A connection carries one call at a time, so there is no reader thread,
no table of calls in flight and nothing that outlives a `call`; concurrent callers
get a connection each. That is what makes the client safe in forked workers: a
child notices that its process id changed and starts with an empty pool and a
client id of its own, and never touches what its parent holds.

Rules:

- Every wait is bounded: connecting by `connect_timeout_s`, a call from its first
  byte to its answer by `call_timeout_s`.
- Status ERROR fails the call and leaves the connection alive, FATAL ends both.
- A pooled connection may have died while it lay idle. A call that finds it dead
  before one byte was answered is sent once more on a fresh connection, under the
  same client id and call id: the server's retry cache makes sure that a call that
  did get through is not executed twice.
- Which server to talk to, and whether to try again, is not decided here
  (`howdah.rpc.retry`). Who knows more may look, while a call waits, whether it is worth
  waiting for (`Meanwhile`).
"""

from __future__ import annotations

import errno
import select
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from howdah import errors
from howdah.forks import PerProcess
from howdah.proto import rpc_pb2
from howdah.rpc import traced, wire
from howdah.rpc.identity import CallIdentity, SeenState
from howdah.rpc.notices import Notice
from howdah.rpc.wrong_port import by_asking, by_first_bytes
from howdah.tracing import spans
from howdah.users.current import process_user
from howdah.users.names import real_user_of

M = TypeVar("M", bound=Message)

DEFAULT_CONNECT_TIMEOUT_S = 20.0
DEFAULT_CALL_TIMEOUT_S = 60.0
DEFAULT_MAX_RESPONSE_BYTES = wire.DEFAULT_MAX_FRAME_BYTES
# Hadoop servers close a connection after 20 s of silence; we let go first, as
# Hadoop's client does (ipc.client.connection.maxidletime).
IDLE_LIMIT_S = 10.0
_RECV_BYTES = 64 * 1024


def _remote_error(header: rpc_pb2.RpcResponseHeaderProto) -> errors.HowdahError:
    """The exception a failed call stands for; a Java stack trace becomes a note."""
    class_name = header.exceptionClassName or "org.apache.hadoop.ipc.RpcServerException"
    message, _, trace = header.errorMsg.partition("\n\tat ")
    error = errors.from_java(class_name, message.rstrip())
    if trace:
        error.add_note(f"Raised by the server: {class_name}\n\tat {trace.rstrip()}")
    return error


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """`look` is called whenever a call has waited for another `every_s`. What it raises ends
    the call, of which then nobody knows whether it happened."""

    every_s: float
    look: Callable[[], None]


class NotConnected(errors.Unreachable):
    """No connection could be made, so the call has certainly not happened."""


class Refused(NotConnected, ConnectionRefusedError):
    """The machine is there, and nobody listens at the port."""

    errno_code = errno.ECONNREFUSED


class NotAccepted(NotConnected, TimeoutError):
    """Nothing answered in time: a machine that is off, or a firewall."""

    errno_code = errno.ETIMEDOUT


class _Dead(Exception):
    """The connection turned out to be gone before anything was answered."""


class _Connection:
    """One socket with the handshake done; not thread-safe, used by one call at a time."""

    def __init__(
        self,
        address: tuple[str, int],
        protocol: str,
        user: str,
        client_id: bytes,
        timeout_s: float,
    ) -> None:
        host, port = address
        try:
            if not 0 <= port <= 65535:
                # The resolver would take what is left of it in 16 bits.
                raise OverflowError(f"there is no port {port}")
            self._socket = socket.create_connection((host, port), timeout=timeout_s)
        except TimeoutError as error:
            raise NotAccepted(
                f"{host}:{port} did not accept a connection within {timeout_s:g} s"
            ) from error
        except socket.gaierror as error:
            raise errors.UnknownHost.named(host, error) from error
        except ConnectionRefusedError as error:
            raise Refused(
                f"Cannot connect to {host}:{port}: {error} (is the namenode up, and is this its "
                f"RPC port?)"
            ) from error
        except (OSError, OverflowError, ValueError) as error:
            # The last two: a port or a name that is none. Both may come from others.
            raise NotConnected(f"Cannot connect to {host}:{port}: {error}").numbered_as(
                error
            ) from error
        self.address = address
        self.name = f"{host}:{port}"
        self.idle_since_s = 0.0
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._readable = select.poll()
        self._readable.register(self._socket, select.POLLIN)
        # Sent together with the first call: a connection costs no round trip.
        context = wire.encode_context(protocol, user, client_id, real_user_of(user))
        self._greeting = wire.preamble() + context

    def looks_dead(self) -> bool:
        """True when the server closed, or sent what nobody asked for, while idle."""
        return bool(self._readable.poll(0))

    def exchange(
        self, request: bytes, deadline_s: float, max_bytes: int, meanwhile: Meanwhile | None = None
    ) -> bytes:
        """Send one framed request and return the frame that answers it."""
        try:
            self._arm(deadline_s)
            self._socket.sendall(self._greeting + request)
            self._greeting = b""
        except TimeoutError:
            raise
        except OSError as error:
            raise _Dead(str(error)) from error
        incoming = wire.FrameBuffer(max_bytes)
        while True:
            reason: OSError | None = None
            try:
                piece = self._receive(deadline_s, meanwhile)
            except TimeoutError:
                raise
            except OSError as error:
                piece, reason = b"", error
            if not piece:
                if incoming.pending_bytes:
                    raise errors.Unreachable(
                        f"{self.name} broke off an answer: {reason or 'end of stream'}"
                    ) from reason
                raise _Dead(str(reason or "end of stream")) from reason
            if not incoming.pending_bytes and (other := by_first_bytes(self.address, piece)):
                raise other
            frames = incoming.feed(piece)
            if frames:
                if len(frames) > 1 or incoming.pending_bytes:
                    raise errors.ProtocolViolation(f"{self.name} sent more than one answer")
                return frames[0]

    def _receive(self, deadline_s: float, meanwhile: Meanwhile | None) -> bytes:
        while meanwhile is not None and deadline_s - time.monotonic() > meanwhile.every_s:
            self._socket.settimeout(meanwhile.every_s)
            try:
                return self._socket.recv(_RECV_BYTES)
            except TimeoutError:
                meanwhile.look()
        self._arm(deadline_s)
        return self._socket.recv(_RECV_BYTES)

    def _arm(self, deadline_s: float) -> None:
        left_s = deadline_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        armed_s = self._socket.gettimeout()
        # Each change is a system call: what is a hundredth too long, or too short, may stay.
        if armed_s is None or abs(armed_s - left_s) > left_s / 100:
            self._socket.settimeout(left_s)

    def close(self) -> None:
        # No shutdown(): after a fork the other process may still use the connection.
        self._socket.close()


class _Pool:
    """Idle connections of one process; replaced as a whole after a fork."""

    def __init__(self, idle_limit_s: float) -> None:
        self._idle_limit_s = idle_limit_s
        self._lock = threading.Lock()
        self._idle: list[_Connection] = []
        self._closed = False

    def take(self) -> _Connection | None:
        """The connection that was used last, if one is idle and looks alive."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection = self._idle.pop()
            expired = time.monotonic() - connection.idle_since_s > self._idle_limit_s
            if not expired and not connection.looks_dead():
                return connection
            connection.close()

    def give_back(self, connection: _Connection) -> None:
        connection.idle_since_s = now_s = time.monotonic()
        stale: list[_Connection] = []
        with self._lock:
            if self._closed:
                stale.append(connection)
            else:
                # The list is ordered by time of last use, oldest first.
                limit_s = self._idle_limit_s
                while self._idle and now_s - self._idle[0].idle_since_s > limit_s:
                    stale.append(self._idle.pop(0))
                self._idle.append(connection)
        for old in stale:
            old.close()

    def close(self) -> None:
        with self._lock:
            idle, self._idle, self._closed = self._idle, [], True
        for connection in idle:
            connection.close()


class RpcClient:
    """Calls the methods of one protocol at one server. Thread-safe and fork-safe.

    `protocol` is the Java name under which the server registers it. Responses over
    `max_response_bytes` are refused before anything is allocated for them. Clients of
    several servers that repeat each other's calls share an `identity`. With `seen` each call
    tells the server what this client has seen, and learns what the server is at. For a `user`
    that is a `ProxyUser` somebody else acts. Without one it is the process's: a server acts for
    nobody, whatever `HADOOP_PROXY_USER` says.
    """

    def __init__(
        self,
        address: tuple[str, int],
        protocol: str,
        *,
        user: str | None = None,
        client_id: bytes | None = None,
        identity: CallIdentity | None = None,
        seen: SeenState | None = None,
        connect_timeout_s: float = DEFAULT_CONNECT_TIMEOUT_S,
        call_timeout_s: float = DEFAULT_CALL_TIMEOUT_S,
        max_response_bytes: int = DEFAULT_MAX_RESPONSE_BYTES,
        idle_limit_s: float = IDLE_LIMIT_S,
    ) -> None:
        self.identity = identity or CallIdentity(client_id)
        self._seen = seen
        self.address = address
        self.protocol = protocol
        self.user = user or process_user()
        self._connect_timeout_s = connect_timeout_s
        self._call_timeout_s = call_timeout_s
        self._max_response_bytes = max_response_bytes
        self._pool = PerProcess(lambda: _Pool(idle_limit_s))
        self._closed = False
        self._was_answered = False

    @property
    def client_id(self) -> bytes:
        """The 16 bytes that name this client in the server's retry cache."""
        return self.identity.client_id

    def next_call_id(self) -> int:
        """A call id of its own, for a caller that may have to repeat the call elsewhere."""
        return self.identity.next_call_id()

    def call(
        self,
        method: str,
        request: Message,
        response_type: type[M],
        *,
        timeout_s: float | None = None,
        call_id: int | None = None,
        retry_count: int = -1,
        meanwhile: Meanwhile | None = None,
    ) -> M:
        """Call `method` and wait for its answer.

        Raises the `howdah.errors` twin of what the server raised; `Unreachable` when
        no connection can be made or it breaks, `CallTimeout` when `timeout_s` (default:
        the client's) passes. After a time-out it is unknown whether the call happened.
        """
        if spans.tracer is None:
            return self._call(
                method, request, response_type, timeout_s, call_id, retry_count, meanwhile
            )
        span = traced.asked(self.protocol, method, request, self.address)
        try:
            with span.current():
                answer = self._call(
                    method,
                    request,
                    response_type,
                    timeout_s,
                    call_id,
                    retry_count,
                    meanwhile,
                    span.wire(),
                )
        except BaseException as error:
            span.end(error)
            raise
        span.end()
        return answer

    def _call(
        self,
        method: str,
        request: Message,
        response_type: type[M],
        timeout_s: float | None,
        call_id: int | None,
        retry_count: int,
        meanwhile: Meanwhile | None,
        trace: bytes = b"",
    ) -> M:
        if self._closed:
            raise errors.Unreachable(f"The client of {self.address[0]}:{self.address[1]} is closed")
        limit_s = self._call_timeout_s if timeout_s is None else timeout_s
        deadline_s = time.monotonic() + limit_s
        pool = self._pool.get()
        client_id = self.identity.client_id
        if call_id is None:
            call_id = self.identity.next_call_id()

        def call_on(connection: _Connection) -> M:
            return self._call_on(
                pool,
                connection,
                method,
                self._encode(client_id, method, request, call_id, retry_count, trace),
                call_id,
                response_type,
                deadline_s,
                limit_s,
                meanwhile,
            )

        connection = pool.take()
        if connection is not None:
            try:
                return call_on(connection)
            except _Dead:
                retry_count = max(retry_count, 0) + 1
        # What a call may take includes the time to connect.
        connect_s = min(self._connect_timeout_s, max(deadline_s - time.monotonic(), 0.001))
        place = f"{self.address[0]}:{self.address[1]}"
        with Notice(f"{place} has not answered {method} yet; waiting for up to {limit_s:g} s"):
            connection = self._connect(client_id, connect_s, meanwhile)
            try:
                return call_on(connection)
            except _Dead as error:
                raise self._unanswered(place, method, error) from error

    def _connect(
        self, client_id: bytes, timeout_s: float, meanwhile: Meanwhile | None
    ) -> _Connection:
        deadline_s = time.monotonic() + timeout_s
        while meanwhile is not None and deadline_s - time.monotonic() > meanwhile.every_s:
            try:
                return _Connection(
                    self.address, self.protocol, self.user, client_id, meanwhile.every_s
                )
            except NotAccepted:
                meanwhile.look()
        left_s = max(deadline_s - time.monotonic(), 0.001)
        return _Connection(self.address, self.protocol, self.user, client_id, left_s)

    def _unanswered(self, place: str, method: str, error: _Dead) -> errors.HowdahError:
        """What to say of a server that ended the connection instead of answering."""
        hint = ""
        if not self._was_answered:
            # Once: a namenode that is about to stop does the same.
            self._was_answered = True
            other = by_asking(self.address)
            if other is not None:
                return other
            hint = " (is this the RPC port? fs.defaultFS names it)"
        return errors.Unreachable(
            f"{place} ended the connection before it answered {method}: {error}{hint}"
        )

    def close(self) -> None:
        """Close idle connections; calls under way end normally. Safe to repeat."""
        self._closed = True
        # A forked child leaves the parent's pool alone, whose lock may be held for ever.
        self._pool.get().close()

    def _encode(
        self,
        client_id: bytes,
        method: str,
        request: Message,
        call_id: int,
        retry_count: int,
        trace: bytes,
    ) -> bytes:
        return wire.encode_call(
            protocol=self.protocol,
            method=method,
            request=request,
            call_id=call_id,
            client_id=client_id,
            retry_count=retry_count,
            state_id=None if self._seen is None else self._seen.last_txid,
            trace=trace,
            federated_state=b"" if self._seen is None else self._seen.federated_state,
        )

    def _call_on(
        self,
        pool: _Pool,
        connection: _Connection,
        method: str,
        encoded: bytes,
        call_id: int,
        response_type: type[M],
        deadline_s: float,
        limit_s: float,
        meanwhile: Meanwhile | None,
    ) -> M:
        keep = False
        try:
            frame = connection.exchange(encoded, deadline_s, self._max_response_bytes, meanwhile)
            header, body = wire.decode_answer(frame)
            self._was_answered = True
            if self._seen is not None and header.HasField("stateId"):
                self._seen.saw(header.stateId)
            if self._seen is not None and header.routerFederatedState:
                self._seen.saw_federated(header.routerFederatedState)
            if header.status == rpc_pb2.RpcResponseHeaderProto.FATAL:
                raise _remote_error(header)
            if header.callId != call_id & 0xFFFFFFFF:
                raise errors.ProtocolViolation(
                    f"{connection.name} answered call {header.callId}, asked was call {call_id}"
                )
            if header.status == rpc_pb2.RpcResponseHeaderProto.ERROR:
                keep = True
                raise _remote_error(header)
            response = response_type.FromString(body)
            keep = True
            return response
        except TimeoutError as error:
            if isinstance(error, errors.HowdahError):
                raise
            raise errors.CallTimeout(
                f"{connection.name} did not answer {method} within {limit_s:g} s"
            ) from error
        except DecodeError as error:
            raise errors.ProtocolViolation(
                f"{connection.name} sent an answer to {method} that cannot be decoded: {error}"
            ) from error
        finally:
            if keep:
                pool.give_back(connection)
            else:
                connection.close()
