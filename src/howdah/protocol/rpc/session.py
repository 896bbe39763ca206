"""The server's side of one Hadoop RPC connection (pure): bytes in, events out.

    PREAMBLE --7 bytes--> CONTEXT --frame -3--> READY --frames--> READY
        \\________________________\\_____________________\\--bad input--> CLOSED

Rules: nothing is a call before the context has said who is calling; a frame's
length is checked before anything is kept for it, and until then it is short; what
breaks the protocol is answered once, in words that the far end can show, and then the
connection ends.
A client that opens with SASL is told that a server that knows nobody is satisfied without it,
as Hadoop tells it when only SIMPLE is enabled. A server with `authentication` takes nothing but
what that offers, which may be SIMPLE beside tokens. Who has proven who he is, is that, whatever
his connection's context says, and behind an exchange that agreed on more than authentication a
frame that is not wrapped ends the connection.
What has to be evaluated (`Evaluate`) goes to the shell, which has `evaluated` told; no message
may come until then.
A connection that acts for another user (`ActsFor`) has its calls behind that event: the shell
finds out whether it may, and otherwise drops them and sends what `refuse` says. The same holds for
each protocol that it speaks (`Speaks`), where the server has lists of who may.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from google.protobuf.message import DecodeError

from howdah import errors
from howdah.proto import rpc_pb2
from howdah.protocol.messages import parse
from howdah.protocol.rpc import protocol_info, wire
from howdah.protocol.rpc.call import Call, Caller
from howdah.protocol.rpc.caller_context import origin_in
from howdah.protocol.rpc.fast_path import NOTHING_ANSWERED, Answered, Clock, Quick, answer_calls
from howdah.protocol.rpc.negotiation import (
    MOST_FRAME_BYTES,
    Evaluate,
    ServerMethods,
    ServerNegotiation,
)
from howdah.protocol.rpc.proven import KERBEROS, SIMPLE, Proven
from howdah.protocol.rpc.wrapped_stream import Wrapping, wrapping_of_server
from howdah.protocol.sasl.auth_to_local import UserOf, simple_user
from howdah.runtime import unexpected_errors
from howdah.runtime.users.names import MOST_CHARACTERS, check_name, display_name
from howdah.runtime.users.service_policy import Speaker

_HTTP_VERBS = (b"GET ", b"POST", b"PUT ", b"HEAD", b"DELE", b"OPTI")
_HTTP_BODY = (
    b"This port speaks Hadoop RPC, not HTTP. "
    b"The namenode's web address is the setting dfs.namenode.http-address.\n"
)
_HTTP_ANSWER = (
    b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nConnection: close\r\n"
    b"Content-Length: " + str(len(_HTTP_BODY)).encode() + b"\r\n\r\n" + _HTTP_BODY
)
# Headers repeat from call to call, but for the call's id; each distinct one is parsed
# once. The bounds keep a client that invents some from filling memory.
_MAX_CACHED_HEADERS = 512
_MAX_CACHED_HEADER_BYTES = 512

MAX_FIRST_FRAME_BYTES: Final = 64 * 1024
"""Before the connection has said who is calling, nobody gets more memory than this."""
LINGER_S: Final = 2.0
"""So long a server that has ended a connection takes, and drops, what the client still sends. One
that is closed before it has read everything is reset, and a client that sends into that never
reads why it ended."""


@dataclass(frozen=True, slots=True)
class ActsFor:
    """The connection is of `real_user`, who wants to act for `user`."""

    real_user: str
    user: str


@dataclass(frozen=True, slots=True)
class Speaks:
    """The connection wants to speak a protocol, by its Java name."""

    protocol: str


@dataclass(frozen=True, slots=True)
class Reply:
    """Bytes that the shell must send as they are."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Close:
    """The connection is over; the shell sends what is queued, then closes."""

    reason: str


@dataclass(frozen=True, slots=True)
class Protect:
    """All that is sent from now on is wrapped by this."""

    wrapping: Wrapping


Event = Call | ActsFor | Speaks | Evaluate | Reply | Protect | Close

_Header = tuple[bytes, int, int | None, tuple[str, bytes] | None, bytes, bytes]
"""Of a call's header, without the call's id: the client, retries, state, context, trace, and the
states of nameservices behind a router."""


class State(enum.Enum):
    PREAMBLE = enum.auto()
    CONTEXT = enum.auto()
    READY = enum.auto()
    CLOSED = enum.auto()


class ServerSession:
    """One connection, as the server sees it.

    Example: `events = session.receive(data)`; send each Reply, answer each Call
    with `wire.encode_answer` or `wire.encode_error`, stop at Close.
    """

    __slots__ = (
        "_authentication",
        "_frames",
        "_head",
        "_headers",
        "_ip_proxy_users",
        "_max_frame_bytes",
        "_methods",
        "_negotiation",
        "_proven",
        "_quick_for",
        "_quicks",
        "_spoken",
        "_tails",
        "_user_of",
        "_wrapping",
        "address",
        "is_believed",
        "port",
        "protocol",
        "real_user",
        "state",
        "user",
    )

    def __init__(
        self,
        max_frame_bytes: int = wire.DEFAULT_MAX_FRAME_BYTES,
        quick_for: Callable[[str, int, str], Quick | None] = lambda protocol, version, method: None,
        *,
        address: str = "?",
        port: int = 0,
        server_port: int = 0,
        ip_proxy_users: Container[str] = (),
        authentication: ServerMethods | None = None,
        authorizes: bool = False,
        user_of: UserOf = simple_user,
    ) -> None:
        """`quick_for` has what answers a method by its bytes, if there is such. `address` and
        `port` are the client's, `server_port` is the server's; `ip_proxy_users` are believed what
        they tell of their clients (`howdah.protocol.rpc.caller_context`). Without `authentication`
        a client is whoever it says. With `authorizes` somebody judges who may speak which protocol.
        `user_of` has the user of a name that a client gives, which may be a principal."""
        self._authentication = authentication
        self._negotiation: ServerNegotiation | None = None
        if authentication is not None:
            self._negotiation = ServerNegotiation(authentication, address, server_port)
        self._wrapping: Wrapping | None = None
        self._proven: Proven | None = None
        self.address = address
        self.port = port
        self.is_believed = False
        """Whether the connection may say that the client of a call is elsewhere."""
        self._ip_proxy_users = ip_proxy_users
        self._user_of = user_of
        self.state = State.PREAMBLE
        self.user = ""
        self.real_user: str | None = None
        self.protocol = ""
        self._head = b""
        self._max_frame_bytes = max_frame_bytes
        most_bytes = MAX_FIRST_FRAME_BYTES if authentication is None else MOST_FRAME_BYTES
        self._frames = wire.FrameBuffer(min(max_frame_bytes, most_bytes))
        self._headers: dict[bytes, _Header] = {}
        self._methods: dict[bytes, tuple[str, int, str]] = {}
        # By the same bytes: the ends of the answers' headers, and what answers by its bytes.
        self._tails: dict[bytes, bytes] = {}
        self._quick_for = quick_for
        self._spoken: dict[str, None] | None = {} if authorizes else None
        self._quicks: dict[bytes, tuple[str, Quick]] = {}

    @property
    def pending_bytes(self) -> int:
        """Bytes held of a frame that is not whole yet."""
        wrapping = self._wrapping
        return self._frames.pending_bytes + (wrapping.pending_bytes if wrapping else 0)

    @property
    def has_quick_calls(self) -> bool:
        """Whether a method was called that can be answered by its bytes."""
        return bool(self._quicks)

    def answer(
        self, data: bytes, most_calls: int, states: bytes, clock: Clock, began_ns: int
    ) -> Answered:
        """Answer those calls at the beginning of `data` that can be answered by their bytes; the
        rest is to be received. The arguments are those of `quick.answer_calls`."""
        is_ready = self.state is State.READY and self._wrapping is None
        if not self._quicks or self._frames.pending_bytes or not is_ready:
            return NOTHING_ANSWERED
        return answer_calls(
            data,
            self._frames.max_frame_bytes,
            most_calls,
            self._tails,
            self._quicks,
            self.user,
            "" if self.is_believed else self.address,
            states,
            clock,
            began_ns,
        )

    def receive(self, data: bytes) -> list[Event]:
        """What the next bytes mean. Never raises on what a client sent."""
        if self.state is State.CLOSED:
            return []
        events: list[Event] = []
        try:
            if self._wrapping is not None:
                data = self._wrapping.unwrap(data)
            if self.state is State.PREAMBLE:
                data = self._read_preamble(data, events)
                if not self._is(State.CONTEXT):
                    return events
            elif self._is(State.READY) and not (
                self._frames.pending_bytes or self.real_user or self.is_believed
            ):
                data = self._read_plain(data, events)
                if not data:
                    return events
            while frames := self._frames.feed(data):
                for payload in frames:
                    self._read_frame(payload, events)
                    if self._is(State.CLOSED):
                        return events
                if not self._frames.pending_bytes:
                    break
                data = b""
        except (errors.ProtocolViolation, DecodeError) as error:
            self._fail(events, wire.CALL_ID_INVALID, errors.ProtocolViolation(str(error)))
        return events

    def _read_plain(self, data: bytes, events: list[Event]) -> bytes:
        """Take the calls that look as nearly all do; what is left of `data`."""
        calls, end = wire.split_calls(data, self._frames.max_frame_bytes)
        user, address, port, proven = self.user, self.address, self.port, self._proven
        for call_id, rest, raw, body, start, stop in calls:
            header, method = self._headers.get(rest), self._methods.get(raw)
            if header is None or method is None:
                self._read_frame(data[start:stop], events)
                continue
            client_id, retry_count, state_id, context, _, _ = header
            protocol, version, name = method
            caller = Caller(
                user, client_id, call_id, retry_count, address, port, context, proven=proven
            )
            events.append(Call(caller, protocol, version, name, body, call_id, client_id, state_id))
        return data[end:]

    def speaks_again(self) -> list[Event]:
        """What it speaks, where that is to be judged anew."""
        if self.state is not State.READY:
            return []
        return [Speaks(protocol) for protocol in self._spoken or ()]

    def speaker(self, protocol: str) -> Speaker:
        """Who wants to speak a protocol."""
        proven, user, real_user = self._proven, self.user, self.real_user
        if proven is None:
            return Speaker(protocol, user, display_name(user, real_user), self.address)
        assert self._authentication is not None, "by it something was proven"
        principal = self._authentication.speaker_of(protocol, self.address)
        shown = proven.display_name(user, real_user)
        return Speaker(protocol, user, shown, self.address, principal)

    def refuse(self, error: errors.HowdahError) -> list[Event]:
        """What is sent instead of all answers, where the connection may not act for its user, or
        not speak its protocol."""
        events: list[Event] = []
        self._fail(events, wire.CALL_ID_CONTEXT, error)
        return events

    def evaluated(self, answer: bytes | errors.HowdahError | None) -> list[Event]:
        """What an `Evaluate` came to: what the mechanism answers, or why it does not believe."""
        events: list[Event] = []
        negotiation = self._negotiation
        if self.state is State.CLOSED or negotiation is None:
            return events
        try:
            if isinstance(answer, errors.HowdahError):
                raise answer
            with _foreseen():
                reply = negotiation.evaluated(answer)
            if negotiation.layer is not None and self._frames.pending_bytes:
                # It would be the beginning of what is wrapped, and anybody can have sent it.
                raise errors.ProtocolViolation("bytes that are not wrapped came behind the proof")
            events.append(Reply(reply))
        except errors.HowdahError as error:
            self._fail(events, wire.CALL_ID_SASL, error)
            return events
        if negotiation.proven is not None and negotiation.layer is not None:
            self._wrapping = wrapping_of_server(negotiation.layer)
            self._wrapping.limit(self._frames.max_frame_bytes)
            events.append(Protect(self._wrapping))
        return events

    def _is(self, state: State) -> bool:
        return self.state is state

    def _read_preamble(self, data: bytes, events: list[Event]) -> bytes:
        self._head += data
        head = self._head
        if not wire.MAGIC.startswith(head[:4]):
            if head.startswith(_HTTP_VERBS):
                events.append(Reply(_HTTP_ANSWER))
                self._end(events, "an HTTP request came to the RPC port")
            elif len(head) >= 4 or not any(v.startswith(head) for v in _HTTP_VERBS):
                self._end(events, f"the connection opened with {head[:4]!r}, not {wire.MAGIC!r}")
            return b""
        if len(head) < wire.PREAMBLE_LENGTH:
            return b""
        version, auth = head[4], head[6]
        if version != wire.VERSION:
            self._fail(
                events,
                wire.CALL_ID_INVALID,
                errors.RemoteError(
                    f"Server IPC version {wire.VERSION} cannot communicate with "
                    f"client version {version}",
                    java_class=wire.VERSION_MISMATCH,
                ),
            )
            return b""
        if auth not in (wire.AUTH_NONE, wire.AUTH_SASL):
            self._fail(
                events,
                wire.CALL_ID_INVALID,
                errors.AccessDenied(f"authentication protocol {auth} is not known"),
            )
            return b""
        if auth == wire.AUTH_NONE and self._authentication is not None:
            methods = [offer.method for offer in self._authentication.offers]
            if SIMPLE not in methods:
                names = ", ".join(methods)
                self._fail(
                    events,
                    wire.CALL_ID_INVALID,
                    errors.AccessDenied(
                        f"SIMPLE authentication is not enabled.  Available:[{names}]"
                    ),
                )
                return b""
            self._negotiation = None
        self.state = State.CONTEXT
        self._head = b""
        return head[wire.PREAMBLE_LENGTH :]

    def _read_frame(self, payload: bytes, events: list[Event]) -> None:
        raw, position = wire.read_delimited(payload, 0)
        split = wire.split_call_header(raw)
        if split is not None:
            known = self._headers.get(split[1])
            if known is not None:
                self._read_call(split[0], known, payload, position, events)
                return
        header = rpc_pb2.RpcRequestHeaderProto.FromString(raw)
        if not header.IsInitialized():
            raise errors.ProtocolViolation("a frame's header lacks its call id or client id")
        call_id = header.callId
        if call_id >= 0:
            if self.state is not State.READY:
                raise errors.ProtocolViolation("a call came before the connection's context")
            if header.rpcKind != rpc_pb2.RPC_PROTOCOL_BUFFER or header.rpcOp != 0:
                raise errors.ProtocolViolation(
                    f"call {call_id} is of RPC kind {header.rpcKind}, operation {header.rpcOp}; "
                    "only whole protocol buffer calls are understood"
                )
            state_id = header.stateId if header.HasField("stateId") else None
            trace = header.traceInfo.spanContext if header.HasField("traceInfo") else b""
            federated = header.routerFederatedState
            whose = header.clientId, header.retryCount
            known = (*whose, state_id, _context_of(header), trace, federated)
            # A state, or a trace, is another one in every call.
            changes = state_id is not None or bool(trace) or bool(federated)
            if split is not None and split[0] == call_id and not changes:
                _remember(self._headers, split[1], known)
                if split[1] in self._headers:
                    self._tails[split[1]] = wire.answer_tail(*whose)
            self._read_call(call_id, known, payload, position, events)
        elif call_id == wire.CALL_ID_CONTEXT:
            self._read_context(payload, position, events)
        elif call_id == wire.CALL_ID_SASL:
            self._read_sasl(payload, position, events)
        elif call_id != wire.CALL_ID_PING:
            raise errors.ProtocolViolation(f"call id {call_id} has no meaning")

    def _read_call(
        self,
        call_id: int,
        header: _Header,
        payload: bytes,
        position: int,
        events: list[Event],
    ) -> None:
        raw, position = wire.read_delimited(payload, position)
        method = self._methods.get(raw)
        if method is None:
            said = parse(rpc_pb2.RequestHeaderProto, raw)
            if self._proven is not None and said.declaringClassProtocolName != self.protocol:
                # What was let in to speak one protocol may not speak another.
                try:
                    self._check_admitted(self._proven, said.declaringClassProtocolName)
                except errors.HowdahError as error:
                    self._fail(events, call_id, error)
                    return
            self._note_spoken(said.declaringClassProtocolName, events)
            method = (said.declaringClassProtocolName, said.clientProtocolVersion, said.methodName)
            _remember(self._methods, raw, method)
            quick = self._quick_for(*method)
            if quick is not None and raw in self._methods:
                self._quicks[raw] = method[2], quick
        body, _ = wire.read_delimited(payload, position)
        client_id, retry_count, state_id, context, trace, federated = header
        protocol, version, name = method
        identity, machine = (client_id, call_id), None
        if context is not None and self.is_believed:
            origin = origin_in(context[0])
            machine = origin.machine
            if origin.client_id is not None and origin.call_id is not None:
                identity = origin.client_id, origin.call_id
        caller = Caller(
            self.user,
            identity[0],
            identity[1],
            retry_count,
            self.address,
            self.port,
            context,
            federated_state=federated,
            real_user=self.real_user,
            origin_machine=machine,
            proven=self._proven,
        )
        events.append(
            Call(caller, protocol, version, name, body, call_id, client_id, state_id, trace)
        )

    def _read_context(self, payload: bytes, position: int, events: list[Event]) -> None:
        if self.state is not State.CONTEXT:
            raise errors.ProtocolViolation("a second connection context")
        raw, _ = wire.read_delimited(payload, position)
        # Its texts are bytes where they are no UTF-8, whatever the types of messages say.
        context: Any = rpc_pb2.IpcConnectionContextProto.FromString(raw)
        user = context.userInfo.effectiveUser
        real = context.userInfo.realUser
        if not isinstance(user, str) or not isinstance(real, str):
            raise errors.ProtocolViolation("the connection's context names a user in no UTF-8")
        for name in (user, real):
            if len(name) > MOST_CHARACTERS:
                raise errors.ProtocolViolation(
                    f"a user name of {len(name)} characters; at most {MOST_CHARACTERS} are allowed"
                )
        negotiation = self._negotiation
        try:
            if negotiation is None:
                self._believe(user, real, events)
            elif negotiation.proven is None:
                raise errors.AccessDenied("Connection header sent during SASL negotiation")
            else:
                self._admit(negotiation.proven, user, context.protocol, events)
        except errors.HowdahError as error:
            self._fail(events, wire.CALL_ID_CONTEXT, error)
            return
        self.is_believed = (self.real_user or self.user) in self._ip_proxy_users
        self.protocol = context.protocol
        self.state = State.READY
        self._note_spoken(context.protocol, events)
        self._frames.max_frame_bytes = self._max_frame_bytes
        if self._wrapping is not None:
            self._wrapping.limit(self._max_frame_bytes)

    def _believe(self, user: str, real: str, events: list[Event]) -> None:
        """Without authentication a client is whoever it says. Raises HowdahError."""
        if not user:
            raise errors.AccessDenied("the connection's context names no user")
        user = self._named(user)
        if real:
            check_name(user)
            real = self._named(real)
            self.real_user = real
            events.append(ActsFor(real, user))
        self.user = user
        if self._authentication is not None:
            self._authentication.believed(real or user, self.address)

    def _named(self, name: str) -> str:
        """The user of a name. Raises IllegalArgument for a principal that is nobody here."""
        try:
            return self._user_of(name)
        except errors.AuthenticationFailed as error:
            raise errors.IllegalArgument(
                f"Illegal principal name {name}: {error.message}"
            ) from None

    def _admit(self, proven: Proven, user: str, protocol: str, events: list[Event]) -> None:
        """A client is who it has proven to be, and may say that it acts for another one.

        Raises HowdahError.
        """
        self._check_admitted(proven, protocol)
        self._proven = proven
        self.user, self.real_user = proven.user, proven.real_user
        if user in ("", proven.user, proven.full_name):
            return
        if proven.method != KERBEROS or proven.real_user is not None:
            raise errors.AccessDenied(
                f"Authenticated user ({proven.full_name} (auth:{proven.method})) doesn't match "
                f"what the client claims to be ({user} (auth:SIMPLE))"
            )
        user = self._named(user)
        check_name(user)
        self.user, self.real_user = user, proven.user
        events.append(ActsFor(proven.user, user))

    def _note_spoken(self, protocol: str, events: list[Event]) -> None:
        if protocol == protocol_info.PROTOCOL and protocol != self.protocol:
            return  # It has no lists. Who may speak another one asks by it which calls there are.
        spoken = self._spoken
        if spoken is not None and protocol not in spoken:
            spoken[protocol] = None
            events.append(Speaks(protocol))

    def _check_admitted(self, proven: Proven, protocol: str) -> None:
        """Raises HowdahError for who may not speak a protocol."""
        assert self._authentication is not None, "by it something was proven"
        with _foreseen():
            self._authentication.admit(proven, protocol, self.address)

    def _read_sasl(self, payload: bytes, position: int, events: list[Event]) -> None:
        raw, _ = wire.read_delimited(payload, position)
        message = parse(rpc_pb2.RpcSaslProto, raw)
        if self._negotiation is not None and self.state is State.CONTEXT:
            try:
                with _foreseen():
                    step = self._negotiation.receive(message)
            except errors.ProtocolViolation:
                raise
            except errors.HowdahError as error:
                self._fail(events, wire.CALL_ID_SASL, error)
                return
            if self._negotiation.is_simple:
                self._negotiation = None
            else:
                events.append(Reply(step) if isinstance(step, bytes) else step)
            return
        if self.state is not State.CONTEXT or message.state != rpc_pb2.RpcSaslProto.NEGOTIATE:
            raise errors.ProtocolViolation(
                f"SASL state {message.state} has no place here: only SIMPLE is enabled"
            )
        events.append(
            Reply(
                wire.encode_answer(
                    wire.CALL_ID_SASL,
                    b"",
                    -1,
                    rpc_pb2.RpcSaslProto(state=rpc_pb2.RpcSaslProto.SUCCESS),
                )
            )
        )

    def _fail(self, events: list[Event], call_id: int, error: errors.HowdahError) -> None:
        events.append(Reply(wire.encode_error(call_id, b"", -1, error, fatal=True)))
        self._end(events, error.message)

    def _end(self, events: list[Event], reason: str) -> None:
        self.state = State.CLOSED
        events.append(Close(reason))


@contextmanager
def _foreseen() -> Iterator[None]:
    """A defect of what authenticates is a refusal: who cannot be asked about is not believed."""
    try:
        yield
    except errors.HowdahError:
        raise
    except Exception as error:
        unexpected_errors.note("the proof of a client", error, "its connection ends")
        raise errors.AuthenticationFailed("the server failed on an internal error") from error


def _context_of(header: rpc_pb2.RpcRequestHeaderProto) -> tuple[str, bytes] | None:
    if not header.HasField("callerContext"):
        return None
    # What is no UTF-8 comes out of the parser as bytes, whatever the types of messages say.
    context: Any = header.callerContext
    text: str | bytes = context.context
    shown = text if isinstance(text, str) else text.decode("utf-8", "replace")
    return shown, context.signature


V = TypeVar("V")


def _remember(cache: dict[bytes, V], header: bytes, meaning: V) -> None:
    if len(header) <= _MAX_CACHED_HEADER_BYTES and len(cache) < _MAX_CACHED_HEADERS:
        cache[header] = meaning
