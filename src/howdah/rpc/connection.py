"""One socket of the calling side, and those that lie idle (shell): ipc.Client's Connection.

A connection carries one call at a time, nearly always by one step (`howdah.rpc.connection`). Where
an answer has to be looked at, time-outs are the kernel's (SO_RCVTIMEO, SO_SNDTIMEO): Python's own
would poll before each call of the system.

A connection that was used a moment ago is not asked whether it still lives. One that does not
is found out by the call, which is sent once more on another one.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from howdah import errors
from howdah.config.value_types import Address
from howdah.native.loader import kernel
from howdah.native.polling import KERNEL_TIME_OUTS, POLLIN, comes, poll
from howdah.native.socket_io import Ended, Outcome, deadline_ns, receive_some, send_whole
from howdah.protocol.rpc import wire
from howdah.rpc.http_detection import by_first_bytes
from howdah.runtime.signal_handlers import is_raised_by_handler
from howdah.runtime.users.names import ProvenUser, real_user_of

# What only secured clusters need is imported by the first connection to one.
if TYPE_CHECKING:
    from howdah.protocol.rpc.wrapped_stream import WrappedStream

# A call's frame out, the frame that answers it in: one step for whoever waits.
#
# `exchange` is the kernel's where that is there: the interpreter's lock is given away once for a
# call, and taken back once. `exchange_here` is its twin. What is not ordinary (a frame that is
# long, or comes with another one, a far end that says nothing, or ends the connection) is for
# `howdah.rpc.connection` to judge.

FRAME_LENGTH: Final = 4
MOST_FRAME: Final = 1 << 20
"""One that says that it is longer, with its length, is gathered as it comes."""
_FIRST_ROOM: Final = 4096

Exchanged = bytes | tuple[int, int, bytes]
"""The answer's payload; or an `Outcome`, the number of the system's error, what has come."""


def exchange_here(sock: socket.socket, request: bytes, wait_ns: int, limit: int) -> Exchanged:
    """Send `request` and receive a frame, whose length with its prefix is at most `limit`; in
    all that takes at most `wait_ns`."""
    came = bytearray()
    try:
        end_ns = deadline_ns(wait_ns)
        send_whole(sock, request, end_ns)
        room = memoryview(bytearray(_FIRST_ROOM))
        came += room[: receive_some(sock, room, end_ns)]
        if len(came) < FRAME_LENGTH:
            return Outcome.ODD, 0, bytes(came)
        total = FRAME_LENGTH + int.from_bytes(came[:FRAME_LENGTH], "big")
        if total > limit or total > MOST_FRAME or len(came) > total:
            return Outcome.ODD, 0, bytes(came)
        while len(came) < total:
            came += room[: receive_some(sock, room[: total - len(came)], end_ns)]
    except Ended as ended:
        return ended.outcome, ended.code, bytes(came)
    return bytes(came[FRAME_LENGTH:])


exchange: Final[Callable[[socket.socket, bytes, int, int], Exchanged]] = getattr(
    kernel(), "exchange", exchange_here
)


RECV_BYTES: Final = 64 * 1024
LOOK_AFTER_S: Final = 0.1
"""A connection that has been idle for so long may have been closed by its server."""
SURELY_TAKEN_BYTES: Final = 8 * 1024
"""So much fits into any socket that has nothing under way."""
LEAST_TIMEOUT_S: Final = 0.001
"""The kernel takes none at all for one without end."""
_TIMEVAL: Final = struct.Struct("ll")


class Waits(Protocol):
    """Who waits for an answer, and does something meanwhile."""

    @property
    def every_s(self) -> float: ...
    @property
    def begun(self) -> Waits | None:
        """Who waits for the rest, once the answer has begun to come."""

    def check(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """`check` is called whenever a call has waited for another `every_s`. What it raises ends
    the call, of which then nobody knows whether it happened."""

    every_s: float
    check: Callable[[], None]

    @property
    def begun(self) -> Meanwhile:
        return self


class NotConnected(errors.Unreachable):
    """No connection could be made, so the call has certainly not happened."""


class Refused(NotConnected, ConnectionRefusedError):
    """The machine is there, and nobody listens at the port."""

    errno_code = errno.ECONNREFUSED


class NotAccepted(NotConnected, TimeoutError):
    """Nothing answered in time: a machine that is off, or a firewall."""

    errno_code = errno.ETIMEDOUT


class NotProven(NotConnected, TimeoutError):
    """The server took the connection, and did not finish the authentication in time."""

    errno_code = errno.ETIMEDOUT


_SERVERS: Final = {
    "org.apache.hadoop.hdfs.protocol.ClientDatanodeProtocol": ("datanode", "IPC"),
    "org.apache.hadoop.hdfs.protocolPB.RouterAdminProtocol": ("router", "admin"),
    "org.apache.hadoop.hdfs.qjournal.protocol.QJournalProtocol": ("journal node", "RPC"),
    "org.howdah.journalnode.ElectionProtocol": ("journal node", "RPC"),
    "org.apache.hadoop.ha.ZKFCProtocol": ("failover controller", "RPC"),
}
"""Who answers a protocol, and at which of its ports; a namenode answers all others."""


def _connect_hint(protocol: str) -> str:
    server, port = _SERVERS.get(protocol, ("namenode", "RPC"))
    return f"is the {server} up, and is this its {port} port?"


def port_hint(protocol: str) -> str:
    """For a server that does not speak the protocol."""
    server, port = _SERVERS.get(protocol, ("namenode", "RPC"))
    return f"is this the {port} port of a {server}?"


class Dead(Exception):
    """The connection turned out to be gone before anything was answered."""


class Connection:
    """One socket with the handshake done; not thread-safe, used by one call at a time."""

    def __init__(
        self,
        address: Address,
        protocol: str,
        user: str,
        client_id: bytes,
        timeout_s: float,
        prove_timeout_s: float | None = None,
    ) -> None:
        """`prove_timeout_s` is how long an authentication may take, if not `timeout_s`."""
        host, port = address
        try:
            if not 0 <= port <= 65535:
                # The resolver would take what is left of it in 16 bits.
                raise OverflowError(f"there is no port {port}")
            self._socket = socket.create_connection((host, port), timeout=timeout_s)
        except TimeoutError as error:
            if is_raised_by_handler(error):
                raise
            raise NotAccepted(
                f"{host}:{port} did not accept a connection within {timeout_s:g} s"
            ) from error
        except socket.gaierror as error:
            raise errors.UnknownHost.named(host, error) from error
        except ConnectionRefusedError as error:
            raise Refused(
                f"Cannot connect to {host}:{port}: {error} ({_connect_hint(protocol)})"
            ) from error
        except (OSError, OverflowError, ValueError) as error:
            if is_raised_by_handler(error):
                raise
            # The last two: a port or a name that is none. Both may come from others.
            raise NotConnected(f"Cannot connect to {host}:{port}: {error}").numbered_as(
                error
            ) from error
        self.address = address
        self.name = f"{host}:{port}"
        self.idle_since_s = 0.0
        self._socket.setblocking(True)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._told_s = {socket.SO_RCVTIMEO: 0.0, socket.SO_SNDTIMEO: 0.0}
        self._readable = poll()
        self._readable.register(self._socket, POLLIN)
        self._stream: WrappedStream | None = None
        # Sent together with the first call: a connection costs no round trip.
        if isinstance(user, ProvenUser) and user.proves_itself_at(address):
            try:
                self._greeting = self._prove(
                    user, protocol, client_id, prove_timeout_s or timeout_s
                )
            except BaseException:
                self._socket.close()
                raise
        else:
            context = wire.encode_context(protocol, user, client_id, real_user_of(user))
            self._greeting = wire.preamble() + context

    def _prove(self, user: ProvenUser, protocol: str, client_id: bytes, timeout_s: float) -> bytes:
        """Authenticate, and return the context that the first call is sent with.

        Nothing was called by then: what fails here is a connection that was not made.
        """
        from howdah.protocol.rpc.negotiation import MOST_FRAME_BYTES
        from howdah.protocol.rpc.wrapped_stream import WrappedStream
        from howdah.rpc.authentication import authenticate

        deadline_s = time.monotonic() + timeout_s
        self._greeting = wire.preamble(wire.AUTH_SASL)

        def exchange(request: bytes) -> bytes:
            self._send(request, deadline_s)
            begin = self._receive(deadline_s, None)
            return self._gather(begin, deadline_s, MOST_FRAME_BYTES, None)

        try:
            proven = authenticate(
                user,
                protocol,
                self.address,
                timeout_s,
                exchange,
                lambda request: self._send(request, deadline_s),
            )
        except Dead as error:
            raise NotConnected(
                f"{self.name} ended the connection in the middle of the authentication: {error}"
            ) from error
        except TimeoutError as error:
            if isinstance(error, errors.HowdahError) or is_raised_by_handler(error):
                raise
            raise NotProven(
                f"{self.name} did not finish the authentication within {timeout_s:g} s"
            ) from error
        if proven.layer is not None:
            self._stream = WrappedStream(proven.layer)
        return wire.encode_context(protocol, proven.user, client_id, proven.real_user)

    @property
    def is_wrapped(self) -> bool:
        """Whether calls are signed or encrypted on their way, so that nobody else can send them."""
        return self._stream is not None

    def hand_over(self) -> tuple[socket.socket, bytes, WrappedStream | None]:
        """Leave the socket to somebody else who makes calls by it: what is to be sent before the
        first, unwrapped, and what wraps all."""
        greeting, self._greeting = self._greeting, b""
        self._readable.unregister(self._socket)
        return self._socket, greeting, self._stream

    def fileno(self) -> int:
        return self._socket.fileno()

    def looks_dead(self) -> bool:
        """True when the server closed, or sent what nobody asked for, while idle."""
        return bool(self._readable.poll(0))

    def exchange(
        self, request: bytes, deadline_s: float, max_bytes: int, meanwhile: Waits | None = None
    ) -> bytes:
        """Send one framed request and return the frame that answers it."""
        wait_s = deadline_s - time.monotonic()
        if wait_s <= 0:
            raise TimeoutError
        looks = meanwhile is not None and wait_s > meanwhile.every_s
        if looks and meanwhile is not None:
            if len(request) > SURELY_TAKEN_BYTES:
                self._send(request, deadline_s)
                begin = self._receive(deadline_s, meanwhile)
                return self._gather(begin, deadline_s, max_bytes, meanwhile)
            wait_s = meanwhile.every_s
        stream = self._stream
        data = self._outgoing(request)
        longest = max_bytes if stream is None else stream.limit(max_bytes)
        answer = exchange(self._socket, data, int(wait_s * 1e9) or 1, longest)
        if isinstance(answer, bytes):
            if stream is None:
                return answer
            frame = self._only(stream.feed_frame(answer), stream)
            if frame is not None:
                return frame
            return self._gather(b"", deadline_s, max_bytes, meanwhile)
        outcome, code, piece = answer
        if outcome == Outcome.STUCK or (outcome == Outcome.SILENT and not looks):
            raise TimeoutError
        if outcome == Outcome.BROKEN and not piece:
            if code == errno.ETIMEDOUT:
                raise TimeoutError(code, os.strerror(code))
            raise Dead(str(OSError(code, os.strerror(code))) if code else "end of stream")
        if outcome == Outcome.SILENT and meanwhile is not None:
            meanwhile.check()
            piece = piece or self._receive(deadline_s, meanwhile)
        return self._gather(piece, deadline_s, max_bytes, meanwhile)

    def _send(self, request: bytes, deadline_s: float) -> None:
        data = self._outgoing(request)
        try:
            self._bound(socket.SO_SNDTIMEO, deadline_s)
            self._socket.sendall(data)
        except BlockingIOError:
            raise TimeoutError from None
        except TimeoutError:
            raise
        except OSError as error:
            if is_raised_by_handler(error):
                raise
            raise Dead(str(error)) from error

    def _outgoing(self, request: bytes) -> bytes:
        """A request as it is sent, behind what has to be sent before."""
        greeting, self._greeting = self._greeting, b""
        data = greeting + request
        return data if self._stream is None else self._stream.wrap(data)

    def exchange_all(
        self, requests: bytes, answers: int, deadline_s: float, max_bytes: int
    ) -> list[bytes]:
        """Send several framed requests in one piece and return as many frames, as they come."""
        self._send(requests, deadline_s)
        incoming, frames = self._incoming(max_bytes), list[bytes]()
        while len(frames) < answers:
            piece = self._receive(deadline_s, None)
            is_first = not frames and not incoming.pending_bytes
            if is_first and (other := by_first_bytes(self.address, piece)):
                raise other
            frames += incoming.feed(piece)
        if len(frames) > answers or incoming.pending_bytes:
            raise errors.ProtocolViolation(f"{self.name} sent more than {answers} answers")
        return frames

    def _gather(
        self, piece: bytes, deadline_s: float, max_bytes: int, meanwhile: Waits | None
    ) -> bytes:
        """The frame that begins with `piece`."""
        meanwhile = None if meanwhile is None else meanwhile.begun
        incoming = self._incoming(max_bytes)
        while True:
            is_first = piece and not incoming.pending_bytes
            if is_first and (other := by_first_bytes(self.address, piece)):
                raise other
            frame = self._only(incoming.feed(piece), incoming)
            if frame is not None:
                return frame
            try:
                piece = self._receive(deadline_s, meanwhile)
            except Dead as error:
                raise errors.Unreachable(f"{self.name} broke off an answer: {error}") from error

    def _only(
        self, frames: Sequence[bytes], behind: wire.FrameBuffer | WrappedStream
    ) -> bytes | None:
        """The one frame that answers; None if there is none yet."""
        if not frames:
            return None
        if len(frames) > 1 or behind.pending_bytes:
            raise errors.ProtocolViolation(f"{self.name} sent more than one answer")
        return frames[0]

    def _incoming(self, max_bytes: int) -> wire.FrameBuffer | WrappedStream:
        """What takes the frames of answers out of what comes."""
        if self._stream is None:
            return wire.FrameBuffer(max_bytes)
        self._stream.limit(max_bytes)
        return self._stream

    def _receive(self, deadline_s: float, meanwhile: Waits | None) -> bytes:
        """At least one byte. Raises Dead, TimeoutError."""
        while True:
            looks = meanwhile is not None and deadline_s - time.monotonic() > meanwhile.every_s
            if looks and meanwhile is not None:
                self._set_timeout(socket.SO_RCVTIMEO, meanwhile.every_s)
            else:
                self._bound(socket.SO_RCVTIMEO, deadline_s)
            try:
                if not KERNEL_TIME_OUTS:
                    self._wait_for_bytes(deadline_s, meanwhile if looks else None)
                piece = self._socket.recv(RECV_BYTES)
            except BlockingIOError:
                if not looks or meanwhile is None:
                    raise TimeoutError from None
                meanwhile.check()
            except TimeoutError:
                raise
            except OSError as error:
                if is_raised_by_handler(error):
                    raise
                raise Dead(str(error)) from error
            else:
                if not piece:
                    raise Dead("end of stream")
                return piece

    def _wait_for_bytes(self, deadline_s: float, meanwhile: Waits | None) -> None:
        """Raises BlockingIOError when it is time to look, or the time is over."""
        left_s = max(deadline_s - time.monotonic(), LEAST_TIMEOUT_S)
        if not comes(self._socket, left_s if meanwhile is None else meanwhile.every_s):
            raise BlockingIOError

    def _bound(self, option: int, deadline_s: float) -> None:
        left_s = deadline_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        # Each change is a system call: what is a hundredth too long, or too short, may stay.
        if abs(self._told_s[option] - left_s) > left_s / 100:
            self._set_timeout(option, left_s)

    def _set_timeout(self, option: int, timeout_s: float) -> None:
        if self._told_s[option] != timeout_s and KERNEL_TIME_OUTS:
            seconds, rest_s = divmod(max(timeout_s, LEAST_TIMEOUT_S), 1)
            value = _TIMEVAL.pack(int(seconds), int(rest_s * 1_000_000))
            self._socket.setsockopt(socket.SOL_SOCKET, option, value)
            self._told_s[option] = timeout_s

    def close(self) -> None:
        # No shutdown(): after a fork the other process may still use the connection.
        self._socket.close()


class Pool:
    """Idle connections of one process; replaced as a whole after a fork."""

    def __init__(self, idle_limit_s: float) -> None:
        self._idle_limit_s = idle_limit_s
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._closed = False

    def pop(self) -> Connection | None:
        """The connection that was used last, if one is idle and looks alive."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection = self._idle.pop()
            idle_s = time.monotonic() - connection.idle_since_s
            if idle_s <= self._idle_limit_s and (
                idle_s < LOOK_AFTER_S or not connection.looks_dead()
            ):
                return connection
            connection.close()

    def give_back(self, connection: Connection) -> None:
        connection.idle_since_s = now_s = time.monotonic()
        stale: list[Connection] = []
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


@dataclass(slots=True)
class PreparedCall:
    """A call that is made elsewhere: its bytes, and the idle connection that it goes out on.

    Who waits for something else first has the call ready by then, and sends it and hears its answer
    in one step with that. Such a call is for what may happen twice: where its answer is not the
    plain one, of a call that went well, the connection is closed, and the call is to be made as
    always. Ends with `answered`, or with `unused`. Not frozen, for the reason that
    `rpc.call.Call` gives.
    """

    request: bytes
    connection: Connection
    pool: Pool
    call_id: int
    client_id: bytes

    def unused(self) -> None:
        """Nothing of it was sent."""
        self.pool.give_back(self.connection)

    def answered(self, outcome: int, frame: bytes) -> bool:
        """Whether it went well, by the frame that came, or what came instead."""
        if outcome == Outcome.WHOLE:
            body = wire.plain_answer(frame, self.call_id, self.client_id, -1)
            if body is not None:
                self.pool.give_back(self.connection)
                return True
        self.connection.close()
        return False
