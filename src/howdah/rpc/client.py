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
  (`howdah.protocol.rpc.retry`). Who knows more may look, while a call waits, whether it is worth
  waiting for (`Meanwhile`).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol, TypeVar

from google.protobuf.message import DecodeError, Message

from howdah import errors
from howdah.proto import rpc_pb2
from howdah.protocol.rpc import wire
from howdah.rpc import call_pair, tracing, wait_notices
from howdah.rpc.call_pair import PairSlot
from howdah.rpc.connection import (
    Connection,
    Dead,
    Meanwhile,
    NotAccepted,
    Pool,
    PreparedCall,
    Waits,
    port_hint,
)
from howdah.rpc.http_detection import by_asking
from howdah.rpc.identity import CallIdentity, SeenState
from howdah.runtime.fork_safety import PerProcess
from howdah.runtime.signal_handlers import is_raised_by_handler
from howdah.runtime.tracing import spans
from howdah.runtime.users.current import process_user

M = TypeVar("M")
Read = TypeVar("Read", covariant=True)

DEFAULT_CONNECT_TIMEOUT_S = 20.0
DEFAULT_CALL_TIMEOUT_S = 60.0
DEFAULT_MAX_RESPONSE_BYTES = wire.DEFAULT_MAX_FRAME_BYTES
# Hadoop servers close a connection after 20 s of silence; we let go first, as
# Hadoop's client does (ipc.client.connection.maxidletime).
IDLE_LIMIT_S = 10.0
_NOT_SIMPLE = "SIMPLE authentication is not enabled"


class AnswerType(Protocol[Read]):
    """What reads the bytes of an answer: a message's class, or who is quicker with them."""

    def FromString(self, data: bytes, /) -> Read: ...


@dataclass(slots=True)
class _Asked:
    """A call, whatever connection it is made on; `limit_s` is how long it may take in all. Not
    frozen, for the reason that `rpc.call.Call` gives.

    It is what its caller does while it waits, too: it looks as it is told to, and says a word
    when the answer takes long.
    """

    method: str
    request: Message
    trace: bytes
    meanwhile: Meanwhile | None
    deadline_s: float
    limit_s: float
    place: str
    is_notified: bool = False

    @property
    def waits(self) -> Waits | None:
        """Who looks meanwhile: in servers nobody hears a word."""
        return self if wait_notices.are_wanted() else self.meanwhile

    @property
    def begun(self) -> Waits | None:
        return self.meanwhile

    @property
    def every_s(self) -> float:
        first_s = wait_notices.FIRST_NOTICE_S
        return first_s if self.meanwhile is None else min(self.meanwhile.every_s, first_s)

    def check(self) -> None:
        if not self.is_notified:
            waited_s = self.limit_s - (self.deadline_s - time.monotonic())
            if waited_s >= wait_notices.FIRST_NOTICE_S:
                self.is_notified = True
                wait_notices.show(
                    f"{self.place} has not answered {self.method} yet; waiting for up to "
                    f"{self.limit_s:g} s"
                )
        if self.meanwhile is not None:
            self.meanwhile.check()


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
        self._pool = PerProcess(lambda: Pool(idle_limit_s))
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
        response_type: AnswerType[M],
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
        span = tracing.client_span(self.protocol, method, request, self.address)
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

    def prepare(self, method: str, request: Message) -> PreparedCall | None:
        """A call that others send; None where there is no idle connection, or where calls tell
        more than what is asked."""
        if self._closed or self._seen is not None or spans.tracer is not None:
            return None
        pool = self._pool.get()
        client_id = self.identity.client_id
        call_id = self.identity.next_call_id()
        encoded = wire.encode_call(
            protocol=self.protocol,
            method=method,
            request=request,
            call_id=call_id,
            client_id=client_id,
        )
        connection = pool.pop()
        if connection is None:
            return None
        if connection.is_wrapped:
            pool.give_back(connection)
            return None
        return PreparedCall(encoded, connection, pool, call_id, client_id)

    def _call(
        self,
        method: str,
        request: Message,
        response_type: AnswerType[M],
        timeout_s: float | None,
        call_id: int | None,
        retry_count: int,
        meanwhile: Meanwhile | None,
        trace: bytes = b"",
    ) -> M:
        if self._closed:
            raise errors.FilesystemClosed(
                f"Filesystem closed: its client of {self.address[0]}:{self.address[1]} takes no "
                "more calls"
            )
        limit_s = self._call_timeout_s if timeout_s is None else timeout_s
        place = f"{self.address[0]}:{self.address[1]}"
        deadline_s = time.monotonic() + limit_s
        asked = _Asked(method, request, trace, meanwhile, deadline_s, limit_s, place)
        pool = self._pool.get()
        client_id = self.identity.client_id
        if call_id is None:
            call_id = self.identity.next_call_id()
        seat = call_pair.seat()
        if seat is not None and seat.join(
            method,
            self,
            place,
            call_id,
            lambda: self._connect(client_id, self._connect_s(asked), asked.waits),
        ):
            try:
                return self._call_on(
                    None, seat, asked, response_type, client_id, call_id, retry_count
                )
            except Dead:
                retry_count = max(retry_count, 0) + 1
        connection = pool.pop()
        if connection is not None:
            try:
                return self._call_on(
                    pool, connection, asked, response_type, client_id, call_id, retry_count
                )
            except Dead:
                retry_count = max(retry_count, 0) + 1
        connection = self._connect(client_id, self._connect_s(asked), asked.waits)
        try:
            return self._call_on(
                pool, connection, asked, response_type, client_id, call_id, retry_count
            )
        except Dead as error:
            raise self._unanswered(place, method, error) from error

    def _connect_s(self, asked: _Asked) -> float:
        """What a call may take includes the time to connect."""
        return min(self._connect_timeout_s, max(asked.deadline_s - time.monotonic(), 0.001))

    def _connect(self, client_id: bytes, timeout_s: float, meanwhile: Waits | None) -> Connection:
        try:
            return self._connect_once(client_id, timeout_s, meanwhile)
        except errors.AuthenticationFailed as error:
            if errors.AuthenticationFailed.TICKET_NOT_TAKEN not in error.message:
                raise
        # Two tickets of one instant look like a replay to a server, and one may have ended on its
        # way: a further one tells.
        return self._connect_once(client_id, timeout_s, meanwhile)

    def _connect_once(
        self, client_id: bytes, timeout_s: float, meanwhile: Waits | None
    ) -> Connection:
        deadline_s = time.monotonic() + timeout_s
        while meanwhile is not None and (left_s := deadline_s - time.monotonic()) > (
            meanwhile.every_s
        ):
            try:
                return Connection(
                    self.address, self.protocol, self.user, client_id, meanwhile.every_s, left_s
                )
            except NotAccepted:
                meanwhile.check()
        left_s = max(deadline_s - time.monotonic(), 0.001)
        try:
            return Connection(self.address, self.protocol, self.user, client_id, left_s)
        except NotAccepted as error:
            raise NotAccepted(
                f"{self.address[0]}:{self.address[1]} did not accept a connection within "
                f"{timeout_s:g} s"
            ) from error

    def _unanswered(self, place: str, method: str, error: Dead) -> errors.HowdahError:
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

    def _encode(self, asked: _Asked, client_id: bytes, call_id: int, retry_count: int) -> bytes:
        seen = self._seen
        return wire.encode_call(
            protocol=self.protocol,
            method=asked.method,
            request=asked.request,
            call_id=call_id,
            client_id=client_id,
            retry_count=retry_count,
            state_id=None if seen is None else seen.last_txid,
            trace=asked.trace,
            federated_state=b"" if seen is None else seen.federated_state,
        )

    def _call_on(
        self,
        pool: Pool | None,
        connection: Connection | PairSlot,
        asked: _Asked,
        response_type: AnswerType[M],
        client_id: bytes,
        call_id: int,
        retry_count: int,
    ) -> M:
        keep = False
        try:
            frame = connection.exchange(
                self._encode(asked, client_id, call_id, retry_count),
                asked.deadline_s,
                self._max_response_bytes,
                asked.waits,
            )
            body = wire.plain_answer(frame, call_id, client_id, retry_count)
            if body is None:
                header, body = wire.decode_answer(frame)
                keep = self._look_at(header, connection, call_id)
                if header.status != rpc_pb2.RpcResponseHeaderProto.SUCCESS:
                    raise self._refusal(header)
            self._was_answered = True
            response = response_type.FromString(body)
            keep = True
            return response
        except TimeoutError as error:
            if isinstance(error, errors.HowdahError) or is_raised_by_handler(error):
                raise
            raise errors.CallTimeout(
                f"{connection.name} did not answer {asked.method} within {asked.limit_s:g} s"
            ) from error
        except DecodeError as error:
            raise errors.ProtocolViolation(
                f"{connection.name} sent an answer to {asked.method} that cannot be decoded: "
                f"{error}"
            ) from error
        finally:
            if keep and pool is not None and isinstance(connection, Connection):
                pool.give_back(connection)
            else:
                connection.close()

    def _refusal(self, header: rpc_pb2.RpcResponseHeaderProto) -> errors.HowdahError:
        error = wire.remote_error(header)
        if isinstance(error, errors.AccessDenied) and _NOT_SIMPLE in error.message:
            error.message += (
                f" at {self.address[0]}:{self.address[1]} (the cluster is secured: set "
                "hadoop.security.authentication = kerberos on this side too)"
            )
            error.args = (error.message,)
        if isinstance(error, errors.RpcNoSuchProtocol):
            error.message += f" at {self.address[0]}:{self.address[1]} ({port_hint(self.protocol)})"
            error.args = (error.message,)
        return error

    def _look_at(
        self,
        header: rpc_pb2.RpcResponseHeaderProto,
        connection: Connection | PairSlot,
        call_id: int,
    ) -> bool:
        """Whether the connection may be used for another call; False where the body decides."""
        self._was_answered = True
        if self._seen is not None and header.HasField("stateId"):
            self._seen.saw(header.stateId)
        if self._seen is not None and header.routerFederatedState:
            self._seen.saw_federated(header.routerFederatedState)
        if header.status == rpc_pb2.RpcResponseHeaderProto.FATAL:
            return False
        if header.callId != call_id & 0xFFFFFFFF:
            raise errors.ProtocolViolation(
                f"{connection.name} answered call {header.callId}, asked was call {call_id}"
            )
        return header.status == rpc_pb2.RpcResponseHeaderProto.ERROR
