"""Connections to namenodes on asyncio (shell). Hadoop: ConnectionManager, ConnectionPool.

A connection is made as one user, or by somebody who acts for him, and carries any number of that
user's calls at a time; their answers are told apart by client id and call id, which are those of
the router's clients. The number of connections is bounded; one that nobody has used for a while is
closed.

Where namenodes ask who calls (Kerberos), the router proves who it is, and acts for the user. That
waits for a KDC and for the namenode, on threads beside the loop; then the loop goes on with the
socket.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import socket
import uuid
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar, cast

from google.protobuf.message import DecodeError, Message

from howdah import errors
from howdah.config.value_types import Address
from howdah.proto import rpc_pb2
from howdah.protocol.bounded_cache import cache_short
from howdah.protocol.rpc import wire
from howdah.protocol.rpc.wrapped_stream import WrappedStream
from howdah.protocol.varint import delimited, encode_varint
from howdah.router.state.namenodes.identity import Identity
from howdah.rpc.connection import Connection as ProvenConnection
from howdah.rpc.connection import NotAccepted, NotConnected, Refused
from howdah.runtime.users.names import real_user_of

log = logging.getLogger(__name__)

M = TypeVar("M", bound=Message)

MOST_CONNECTIONS: Final = 4096
UNACKNOWLEDGED_MS: Final = 20_000
"""A connection ends when what was sent is not acknowledged for so long, as where a firewall has
forgotten it. The system's own limit is a quarter of an hour, in which each call would time out.
A call has time left for a new connection. A namenode that is busy, or frozen, acknowledges."""
PROOFS_AT_ONCE: Final = 8
"""Connections to one namenode at whose beginning the router proves who it is, at the same time. One
that does not answer keeps the others from nothing."""
PROOF_LIMIT_S: Final = 10.0
"""How long that may take: a KDC is asked, too."""
_NOT_ALLOWED: Final = "is not allowed to impersonate"
_SUCCESS: Final = rpc_pb2.RpcResponseHeaderProto.SUCCESS
_FATAL: Final = rpc_pb2.RpcResponseHeaderProto.FATAL

_Key = tuple[bytes, int]
_Place = tuple[Address, str, str | None]
"""A namenode's address, the user, and who acts for him."""
Outcome = bytes | errors.HowdahError
Receiver = Callable[[Outcome], None]
"""Is given the answer to a call, or the error that ended it."""


class Broken(errors.Unreachable):
    """The connection ended while a call waited, of which nobody knows whether it happened."""


def encode_call(
    protocol: str, method: str, request: Message, identity: Identity, state_id: int | None = None
) -> bytes:
    """One call as a frame, with the context of the client; `state_id` is the last transaction
    that it has seen."""
    call_id = encode_varint((identity.call_id << 1 ^ identity.call_id >> 31) & 0xFFFFFFFF)
    context = identity.context
    context_length = 0 if context is None else len(context[0]) + len(context[1])
    header_of = _header_behind_id.of(context_length)
    rest = header_of(identity.client_id, identity.retry_count, context)
    if state_id is not None:
        rest += _STATE_ID + encode_varint(state_id)
    length = encode_varint(len(_HEADER_START) + len(call_id) + len(rest))
    return wire.frame(
        length, _HEADER_START, call_id, rest, _name(protocol, method), delimited(request)
    )


_HEADER_START: Final = b"\x08\x02\x10\x00\x18"
"""A call's header up to its id: protocol buffers, a whole packet, the tag of the id."""
_STATE_ID: Final = b"\x40"
"""The tag of a state, which is written last: field 8, a varint."""


@cache_short(4096)
def _header_behind_id(
    client_id: bytes, retry_count: int, context: tuple[str, bytes] | None
) -> bytes:
    """What is the same for all calls of a client."""
    header = rpc_pb2.RpcRequestHeaderProto(
        rpcKind=rpc_pb2.RPC_PROTOCOL_BUFFER,
        rpcOp=rpc_pb2.RpcRequestHeaderProto.RPC_FINAL_PACKET,
        callId=0,
        clientId=client_id,
        retryCount=retry_count,
    )
    if context is not None:
        header.callerContext.context = context[0]
        if context[1]:
            header.callerContext.signature = context[1]
    written = header.SerializeToString()
    assert written.startswith(_HEADER_START + b"\0"), "the call id is written third"
    return written[len(_HEADER_START) + 1 :]


@functools.lru_cache(512)
def _name(protocol: str, method: str) -> bytes:
    return delimited(
        rpc_pb2.RequestHeaderProto(
            methodName=method, declaringClassProtocolName=protocol, clientProtocolVersion=1
        )
    )


class _Connection(asyncio.Protocol):
    def __init__(
        self,
        place: str,
        greeting: bytes,
        most_bytes: int,
        saw: Callable[[int], None] | None,
        wrapping: WrappedStream | None = None,
        *,
        acts: bool = False,
    ) -> None:
        """`wrapping` signs or encrypts all, the greeting too. `acts` says that the router acts for
        the user."""
        self._acts = acts
        self._place = place
        self._saw = saw
        self._greeting = greeting
        self._wrapping = wrapping
        if wrapping is not None:
            wrapping.limit(most_bytes)
        self._frames = wrapping or wire.FrameBuffer(most_bytes)
        self._transport: asyncio.Transport | None = None
        self._waiting: dict[_Key, deque[Receiver]] = {}
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._refusal: errors.HowdahError | None = None
        """Why the namenode ended it. It may say so before there is a call to tell."""
        self.is_open = False
        self.used_s = 0.0

    @property
    def is_idle(self) -> bool:
        return not self._waiting

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux
            transport.get_extra_info("socket").setsockopt(
                socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNACKNOWLEDGED_MS
            )
        self.is_open = self._write(self._greeting)

    def _write(self, data: bytes) -> bool:
        """False where it cannot be wrapped, as behind the end of a ticket: then the connection
        ends, and whoever calls does so on another one."""
        assert self._transport is not None, "nothing is written before it is connected"
        if self._wrapping is not None:
            try:
                data = self._wrapping.wrap(data)
            except errors.HowdahError as error:
                log.warning("the connection to %s ends: %s", self._place, error)
                self._end(Broken(f"{self._place} cannot be written to: {error}"))
                self.close()
                return False
        self._transport.write(data)
        return True

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(Broken(f"{self._place} ended the connection: {exc or 'end of stream'}"))

    def _end(self, error: errors.HowdahError) -> None:
        self.is_open = False
        self._may_write.set()
        waiting, self._waiting = self._waiting, {}
        for receivers in waiting.values():
            for receive in receivers:
                receive(error)

    def close(self) -> None:
        self.is_open = False
        if self._transport is not None:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        try:
            while frames := self._frames.feed(data):
                for frame in frames:
                    self._process_frame(frame)
                if not self._frames.pending_bytes:
                    break
                data = b""
        except (errors.ProtocolViolation, errors.AuthenticationFailed, DecodeError) as error:
            log.error("the connection to %s ends: %s", self._place, error)
            self._end(errors.ProtocolViolation(f"{self._place} broke the protocol: {error}"))
            self.close()

    def _process_frame(self, frame: bytes) -> None:
        header, body = wire.decode_answer(frame)
        if self._saw is not None and header.HasField("stateId"):
            self._saw(header.stateId)
        error = None if header.status == _SUCCESS else _error_of(header)
        if header.status == _FATAL:
            assert error is not None
            self._refusal = error = self._explained(error)
            self._end(error)
            self.close()
            return
        key = (header.clientId, header.callId)
        receivers = self._waiting.get(key)
        if not receivers:
            return  # nobody waits any more
        receive = receivers.popleft()
        if not receivers:
            del self._waiting[key]
        receive(body if error is None else error)

    def _explained(self, refusal: errors.HowdahError) -> errors.HowdahError:
        """What is to be set, where a namenode lets this router act for nobody."""
        is_one = self._acts and isinstance(refusal, errors.AuthorizationFailed)
        if not is_one or _NOT_ALLOWED not in refusal.message:
            return refusal
        return errors.AuthorizationFailed(
            f"{refusal.message} (so says the namenode {self._place} of this router: there, "
            "hadoop.proxyuser.ROUTER.hosts and .users or .groups say for whom the user ROUTER of a "
            "router's principal acts)"
        )

    def send(self, frame: bytes, key: _Key, receive: Receiver) -> bool:
        """Write a call, unless the connection is at its end or takes nothing now."""
        if not self.is_open or self._transport is None or not self._may_write.is_set():
            return False
        if not self._write(frame):
            return False
        self._waiting.setdefault(key, deque()).append(receive)
        return True

    async def call(self, frame: bytes, key: _Key) -> bytes:
        await self._may_write.wait()
        if not self.is_open or self._transport is None:
            raise self._refusal or Broken(f"{self._place} ended the connection")
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        def receive(outcome: Outcome) -> None:
            if future.done():
                return
            if isinstance(outcome, errors.HowdahError):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)

        if not self._write(frame):
            raise Broken(f"{self._place} cannot be written to")
        self._waiting.setdefault(key, deque()).append(receive)
        return await future


def _error_of(header: rpc_pb2.RpcResponseHeaderProto) -> errors.HowdahError:
    """What the namenode raised, with its class and its words; a Java stack trace is cut off."""
    name = header.exceptionClassName or "org.apache.hadoop.ipc.RpcServerException"
    return errors.from_java(name, header.errorMsg.partition("\n\tat ")[0].rstrip())


class Connections:
    """All connections of a router to namenodes."""

    def __init__(
        self,
        *,
        connect_timeout_s: float,
        call_timeout_s: float,
        idle_limit_s: float,
        most_bytes: int,
        acts_as: str | None = None,
        caller_for: Callable[[str], str] | None = None,
    ) -> None:
        """`acts_as` is who acts for all other users, whoever acted for them at the router. Where
        namenodes ask who calls, `caller_for` gives as whom to call for a user."""
        self._acts_as = acts_as
        self._caller_for = caller_for
        self._provers: dict[Address, ThreadPoolExecutor] = {}
        self._connect_timeout_s = connect_timeout_s
        self._call_timeout_s = call_timeout_s
        self._idle_limit_s = idle_limit_s
        self._most_bytes = most_bytes
        self._open: dict[_Place, _Connection] = {}
        self._locks: dict[_Place, asyncio.Lock] = {}
        self._client_id = uuid.uuid4().bytes
        self.when_seen: Callable[[Address, int], None] | None = None
        """Told of the state that a namenode's answer was made of; to be set before any call."""

    @property
    def count(self) -> int:
        return len(self._open)

    def by_address(self) -> dict[str, tuple[int, int]]:
        """Return how many connections are open to each namenode, and how many of these are idle."""
        counts: dict[str, tuple[int, int]] = {}
        for ((host, port), *_), connection in self._open.items():
            count, idle = counts.get(f"{host}:{port}", (0, 0))
            counts[f"{host}:{port}"] = count + 1, idle + connection.is_idle
        return counts

    @property
    def being_made(self) -> int:
        return sum(lock.locked() for lock in self._locks.values())

    async def call(
        self,
        address: Address,
        protocol: str,
        method: str,
        request: Message,
        kind: type[M],
        identity: Identity,
        *,
        timeout_s: float | None = None,
        state_id: int | None = None,
    ) -> M:
        """The answer of a namenode. Raises what it raised, and `Unreachable`, `CallTimeout`.

        A connection that turns out to be gone is replaced once; the retry cache answers a call
        that did get through.
        """
        limit_s = timeout_s or self._call_timeout_s
        frame = encode_call(protocol, method, request, identity, state_id)
        key = (identity.client_id, identity.call_id & 0xFFFFFFFF)
        try:
            async with asyncio.timeout(limit_s):
                was_open = self._is_open(address, identity.user)
                connection = await self._connection(address, identity.user)
                try:
                    body = await connection.call(frame, key)
                except Broken:
                    if not was_open:
                        raise
                    connection = await self._connection(address, identity.user)
                    body = await connection.call(frame, key)
        except TimeoutError as error:
            if isinstance(error, errors.HowdahError):
                raise
            raise errors.CallTimeout(
                f"{address[0]}:{address[1]} did not answer {method} within {limit_s:g} s"
            ) from error
        try:
            return kind.FromString(body)
        except DecodeError as error:
            raise errors.ProtocolViolation(
                f"{address[0]}:{address[1]} answered {method} by what is no {kind.__name__}"
            ) from error

    def send(
        self,
        address: Address,
        protocol: str,
        method: str,
        request: Message,
        identity: Identity,
        done: Receiver,
        state_id: int | None = None,
    ) -> bool:
        """Write a call to a connection that is there; False if there is none that takes it.

        `done` is called once: with the answer, with the error that it is, `Broken` where the
        connection ends before, or `CallTimeout`.
        """
        connection = self._open.get(self._slot(address, identity.user))
        if connection is None or not connection.is_open:
            return False
        loop = asyncio.get_running_loop()
        is_over = False

        def receive(outcome: Outcome) -> None:
            nonlocal is_over
            if not is_over:
                is_over = True
                timer.cancel()
                done(outcome)

        frame = encode_call(protocol, method, request, identity, state_id)
        key = (identity.client_id, identity.call_id & 0xFFFFFFFF)
        limit_s = self._call_timeout_s
        timer = loop.call_later(
            limit_s,
            lambda: receive(
                errors.CallTimeout(
                    f"{address[0]}:{address[1]} did not answer {method} within {limit_s:g} s"
                )
            ),
        )
        if not connection.send(frame, key, receive):
            timer.cancel()
            return False
        connection.used_s = loop.time()
        return True

    def _slot(self, address: Address, user: str) -> _Place:
        return address, user, real_user_of(user) if self._caller_for is None else None

    def _is_open(self, address: Address, user: str) -> bool:
        connection = self._open.get(self._slot(address, user))
        return connection is not None and connection.is_open

    async def _connection(self, address: Address, user: str) -> _Connection:
        key = self._slot(address, user)
        connection = self._open.get(key)
        if connection is not None and connection.is_open:
            connection.used_s = asyncio.get_running_loop().time()
            return connection
        async with self._locks.setdefault(key, asyncio.Lock()):
            now_s = asyncio.get_running_loop().time()
            connection = self._open.get(key)
            if connection is None or not connection.is_open:
                self._open.pop(key, None)
                self._make_room()
                connection = self._open[key] = await self._connect(address, user)
            connection.used_s = now_s
            return connection

    async def _connect(self, address: Address, user: str) -> _Connection:
        if self._caller_for is not None:
            return await self._connect_proven(address, self._caller_for(user))
        host, port = address
        place = f"{host}:{port}"
        real_user = real_user_of(user)
        if self._acts_as is not None:
            real_user = None if user == self._acts_as else self._acts_as
        greeting = wire.preamble() + wire.encode_context(
            CLIENT_PROTOCOL, user, self._client_id, real_user
        )
        loop = asyncio.get_running_loop()
        saw = self._saw_at(address)
        try:
            async with asyncio.timeout(self._connect_timeout_s):
                _, connection = await loop.create_connection(
                    lambda: _Connection(
                        place, greeting, self._most_bytes, saw, acts=self._acts_as is not None
                    ),
                    host,
                    port,
                )
        except TimeoutError as error:
            raise NotAccepted(
                f"{place} did not accept a connection within {self._connect_timeout_s:g} s"
            ) from error
        except ConnectionRefusedError as error:
            raise Refused(f"Cannot connect to {place}: {error}") from error
        except OSError as error:
            raise NotConnected(f"Cannot connect to {place}: {error}").numbered_as(error) from error
        return connection

    async def _connect_proven(self, address: Address, caller: str) -> _Connection:
        """As `_connect`, with a proof of who calls.

        A router that cannot prove itself is no fault of its callers: the namenode counts as one
        that cannot be reached.
        """
        place = f"{address[0]}:{address[1]}"
        loop = asyncio.get_running_loop()
        prover = self._provers.get(address)
        if prover is None:
            prover = ThreadPoolExecutor(PROOFS_AT_ONCE, f"proofs for {place}")
            self._provers[address] = prover
        try:
            making = prover.submit(
                ProvenConnection,
                address,
                CLIENT_PROTOCOL,
                caller,
                self._client_id,
                self._connect_timeout_s,
                max(self._connect_timeout_s, PROOF_LIMIT_S),
            )
        except RuntimeError as error:
            raise errors.RetriableError(
                f"this router has no thread to prove at the namenode {place} who it is: try again"
            ) from error
        try:
            made = await asyncio.shield(asyncio.wrap_future(making))
        except asyncio.CancelledError:
            # What has not begun leaves the queue: nobody waits for it.
            if not making.cancel():
                making.add_done_callback(_close_unwanted)
            raise
        except (errors.AuthenticationFailed, errors.LoginFailed) as error:
            raise NotConnected(
                f"this router cannot prove at the namenode {place} who it is: {error}"
            ) from error
        descriptor, greeting, wrapping = made.hand_over()
        saw = self._saw_at(address)
        try:
            _, connection = await loop.create_connection(
                lambda: _Connection(place, greeting, self._most_bytes, saw, wrapping, acts=True),
                sock=descriptor,
            )
        except OSError as error:
            made.close()
            raise NotConnected(f"Cannot connect to {place}: {error}").numbered_as(error) from error
        return connection

    def _saw_at(self, address: Address) -> Callable[[int], None] | None:
        when_seen = self.when_seen
        return None if when_seen is None else functools.partial(when_seen, address)

    def _make_room(self) -> None:
        if len(self._open) < MOST_CONNECTIONS:
            return
        idle = [key for key, connection in self._open.items() if connection.is_idle]
        if not idle:
            raise errors.RetriableError(
                f"all {MOST_CONNECTIONS} connections of the router to namenodes are in use"
            )
        self._drop(min(idle, key=lambda key: self._open[key].used_s))

    def _drop(self, key: _Place) -> None:
        self._open.pop(key).close()
        lock = self._locks.get(key)
        if lock is not None and not lock.locked():
            del self._locks[key]

    def sweep(self) -> None:
        """Close the connections that have been idle for a while."""
        limit_s = asyncio.get_running_loop().time() - self._idle_limit_s
        for key, connection in list(self._open.items()):
            if not connection.is_open or (connection.is_idle and connection.used_s < limit_s):
                self._drop(key)
        # Of connections that were never made.
        for key, lock in list(self._locks.items()):
            if key not in self._open and not lock.locked():
                del self._locks[key]

    def close(self) -> None:
        for key in list(self._open):
            self._drop(key)
        for prover in self._provers.values():
            prover.shutdown(wait=False, cancel_futures=True)


def _close_unwanted(making: Future[ProvenConnection]) -> None:
    """A connection is there, and whoever wanted it waits no longer."""
    if not making.cancelled() and making.exception() is None:
        making.result().close()


CLIENT_PROTOCOL: Final = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
