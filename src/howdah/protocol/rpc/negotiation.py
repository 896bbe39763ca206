"""Both sides of SASL in Hadoop's RPC (pure): SaslRpcClient, and Server.Connection, in Hadoop.

    NEGOTIATE -->
              <-- NEGOTIATE (offers)   or SUCCESS: the server asks for nothing
    INITIATE (the offer that is taken, a token) -->
              <-- CHALLENGE, RESPONSE --> ...
              <-- SUCCESS (a last token, or none)

Every message is a frame with the call id -33 and no client id. Rules: the client, not the server,
decides what it takes (`choose`); a success ends the exchange only if the mechanism is satisfied
with the server's proof; a server that asks for nothing is believed only where that is allowed.
A client may open with INITIATE, where it knows what the server would offer. What a server offers
is what it takes: nothing else that a client names is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from google.protobuf.message import DecodeError

from howdah import errors
from howdah.proto import rpc_pb2
from howdah.protocol.messages import parse
from howdah.protocol.rpc import wire
from howdah.protocol.rpc.proven import SIMPLE, TOKEN, Proven
from howdah.protocol.sasl.mechanism import ClientMechanism, Layer, ServerMechanism
from howdah.protocol.varint import delimited

MOST_FRAME_BYTES: Final = 128 * 1024
"""Of the exchange: a ticket with all groups of its user has up to 64 KiB."""
_State = rpc_pb2.RpcSaslProto


@dataclass(frozen=True, slots=True)
class Offer:
    """A way to authenticate that the server knows."""

    method: str
    mechanism: str
    protocol: str = ""
    server_id: str = ""
    challenge: bytes = field(default=b"", repr=False)

    @classmethod
    def from_proto(cls, proto: rpc_pb2.RpcSaslProto.SaslAuth) -> Offer:
        return cls(proto.method, proto.mechanism, proto.protocol, proto.serverId, proto.challenge)

    def to_proto(self) -> rpc_pb2.RpcSaslProto.SaslAuth:
        """As it is chosen: without the challenge."""
        return rpc_pb2.RpcSaslProto.SaslAuth(
            method=self.method,
            mechanism=self.mechanism,
            protocol=self.protocol,
            serverId=self.server_id,
        )


Choose = Callable[[Sequence[Offer]], tuple[Offer, ClientMechanism] | None]
"""Returns an offer, and what proves itself by it; None to go on without authentication, which the
server offers. Raises AuthenticationFailed where no offer will do."""


def encode_sasl(message: rpc_pb2.RpcSaslProto) -> bytes:
    """A message of the client as a frame."""
    return wire.frame(_HEADER, delimited(message))


_HEADER: Final = delimited(
    rpc_pb2.RpcRequestHeaderProto(
        rpcKind=rpc_pb2.RPC_PROTOCOL_BUFFER,
        rpcOp=rpc_pb2.RpcRequestHeaderProto.RPC_FINAL_PACKET,
        callId=wire.CALL_ID_SASL,
        clientId=b"",
        retryCount=-1,
    )
)
_SASL_ANSWER: Final = wire.CALL_ID_SASL & 0xFFFFFFFF


def decode_sasl(payload: bytes) -> rpc_pb2.RpcSaslProto:
    """A message of the server from its frame.

    Raises the twin of what the server failed with, ProtocolViolation for what is no such message.
    """
    try:
        header, body = wire.decode_answer(payload)
        if header.status != rpc_pb2.RpcResponseHeaderProto.SUCCESS:
            raise wire.remote_error(header)
        if header.callId != _SASL_ANSWER:
            raise errors.ProtocolViolation(
                f"an answer to call {header.callId} came where a message of SASL was due"
            )
        return parse(rpc_pb2.RpcSaslProto, body)
    except DecodeError as error:
        raise errors.ProtocolViolation(f"a message of SASL cannot be decoded: {error}") from error


def encode_sasl_answer(message: rpc_pb2.RpcSaslProto) -> bytes:
    """A message of the server as a frame."""
    return wire.encode_answer(wire.CALL_ID_SASL, b"", -1, message)


def encode_wrapped_answer(message: rpc_pb2.RpcSaslProto) -> bytes:
    """A message of the server that wraps others: its header says no more than has to be said."""
    return wire.frame(_WRAPPED_HEADER, delimited(message))


_WRAPPED_HEADER: Final = delimited(
    rpc_pb2.RpcResponseHeaderProto(
        callId=_SASL_ANSWER, status=rpc_pb2.RpcResponseHeaderProto.SUCCESS
    )
)


def decode_sasl_request(payload: bytes) -> rpc_pb2.RpcSaslProto:
    """A message of a client from its frame.

    Raises ProtocolViolation for what is no such message.
    """
    try:
        raw, position = wire.read_delimited(payload, 0)
        header = parse(rpc_pb2.RpcRequestHeaderProto, raw)
        if header.callId != wire.CALL_ID_SASL:
            raise errors.ProtocolViolation(
                f"call {header.callId} came where a message of SASL was due"
            )
        body, _ = wire.read_delimited(payload, position)
        return parse(rpc_pb2.RpcSaslProto, body)
    except DecodeError as error:
        raise errors.ProtocolViolation(f"a message of SASL cannot be decoded: {error}") from error


class ClientNegotiation:
    """One exchange. Send `begin()`, feed each frame to `receive` and send what it returns, until
    `is_done`. Then `mechanism` has the layer; None where the server asked for nothing."""

    def __init__(self, choose: Choose) -> None:
        self._choose = choose
        self._mechanism: ClientMechanism | None = None
        self.is_done = False

    @property
    def mechanism(self) -> ClientMechanism | None:
        return self._mechanism

    def begin(self) -> bytes:
        """The first frame."""
        return encode_sasl(_State(state=_State.NEGOTIATE))

    def receive(self, payload: bytes) -> bytes:
        """Return what is to be sent, which is nothing at the end.

        Raises AuthenticationFailed, what the server failed with, and ProtocolViolation.
        """
        message = decode_sasl(payload)
        if self._mechanism is None:
            return self._initiate(message)
        if message.state == _State.SUCCESS:
            return self._finish(self._mechanism, message)
        if message.state != _State.CHALLENGE:
            raise self._unexpected(message)
        answer = self._mechanism.evaluate(message.token)
        if answer is None:
            raise errors.AuthenticationFailed("the server challenges behind its own last word")
        return encode_sasl(_State(state=_State.RESPONSE, token=answer))

    def _initiate(self, message: rpc_pb2.RpcSaslProto) -> bytes:
        if message.state == _State.SUCCESS:
            offers: tuple[Offer, ...] = (Offer(SIMPLE, ""),)
        elif message.state == _State.NEGOTIATE:
            offers = tuple([Offer.from_proto(auth) for auth in message.auths])
        else:
            raise self._unexpected(message)
        chosen = self._choose(offers)
        if chosen is None:
            if message.state == _State.SUCCESS:
                self.is_done = True
                return b""
            simple = next(offer for offer in offers if offer.method == SIMPLE)
            self.is_done = True
            return encode_sasl(_State(state=_State.INITIATE, auths=[simple.to_proto()]))
        offer, self._mechanism = chosen
        token = self._mechanism.evaluate(offer.challenge)
        return encode_sasl(
            _State(state=_State.INITIATE, token=token or b"", auths=[offer.to_proto()])
        )

    def _finish(self, mechanism: ClientMechanism, message: rpc_pb2.RpcSaslProto) -> bytes:
        if message.HasField("token") and mechanism.evaluate(message.token) is not None:
            raise errors.AuthenticationFailed("the server ended the exchange with a challenge")
        if not mechanism.is_complete:
            raise errors.AuthenticationFailed(
                "the server ended the exchange before it proved who it is"
            )
        self.is_done = True
        return b""

    @staticmethod
    def _unexpected(message: rpc_pb2.RpcSaslProto) -> errors.ProtocolViolation:
        return errors.ProtocolViolation(f"the server sent {_state_of(message)}, out of place")


def _state_of(message: rpc_pb2.RpcSaslProto) -> str:
    return rpc_pb2.RpcSaslProto.SaslState.Name(message.state)


class ServerMethods(Protocol):
    """How clients may prove themselves at a server."""

    @property
    def offers(self) -> Sequence[Offer]:
        """By preference, without challenges."""

    def begin(self, offer: Offer, address: str, port: int) -> ServerMechanism:
        """A mechanism for one connection, which comes from an IP address to a port of the server.

        Raises HowdahError where there can be none now.
        """

    def proven(self, offer: Offer, mechanism: ServerMechanism) -> Proven:
        """Whom an exchange that is complete has proven.

        Raises AuthenticationFailed, AccessDenied and InvalidToken: there is no such user here.
        """

    def admit(self, proven: Proven, protocol: str, address: str) -> None:
        """Raises AuthorizationFailed for who may not speak a protocol here, by its Java name."""

    def believed(self, user: str, address: str) -> None:
        """Hear of a client that proves nothing, and was let in since that is offered."""

    def speaker_of(self, protocol: str, address: str) -> str | None:
        """The principal, or the pattern of one, that alone may speak a protocol, if there is such.
        `address` is the client's."""


@dataclass(frozen=True, slots=True)
class Evaluate:
    """A response that is to be evaluated, which may take time; `ServerNegotiation.evaluated` is
    to be told what came of it."""

    mechanism: ServerMechanism
    response: bytes = field(repr=False)


class ServerNegotiation:
    """One exchange. Feed each message to `receive`, until `proven` says who the client is.

    What it returns is to be sent, or to be evaluated first: then no message may come until
    `evaluated` was called.
    """

    def __init__(self, methods: ServerMethods, address: str, port: int) -> None:
        """`address` is the client's, `port` the server's."""
        self._methods = methods
        self._address = address
        self._port = port
        self._offer: Offer | None = None
        self._mechanism: ServerMechanism | None = None
        self._begun: dict[str, ServerMechanism] = {}
        """By the method: what has challenged already."""
        self._has_offered = False
        self._is_evaluating = False
        self.proven: Proven | None = None
        self.is_simple = False
        """Whether the client proves nothing, which is offered here."""

    @property
    def layer(self) -> Layer | None:
        """Of an exchange that is over."""
        return None if self._mechanism is None else self._mechanism.layer

    def receive(self, message: rpc_pb2.RpcSaslProto) -> bytes | Evaluate:
        """Nothing is to be sent to a client that proves nothing, where that is offered.

        Raises ProtocolViolation, AccessDenied, and what the methods raise."""
        if self._is_evaluating or self.proven is not None:
            raise errors.ProtocolViolation(f"the client sent {_state_of(message)}, out of place")
        if message.state == _State.NEGOTIATE and not self._has_offered and self._offer is None:
            self._has_offered = True
            return encode_sasl_answer(
                _State(state=_State.NEGOTIATE, auths=[self._offered(o) for o in self._offers])
            )
        if message.state == _State.INITIATE and self._offer is None:
            self._offer = self._chosen(message)
            if self._offer.method == SIMPLE:
                self.is_simple = True
                return b""
            mechanism = self._begun.get(self._offer.method)
            self._mechanism = mechanism or self._begin(self._offer)
        elif message.state != _State.RESPONSE or self._mechanism is None:
            raise errors.ProtocolViolation(f"the client sent {_state_of(message)}, out of place")
        if not message.HasField("token"):
            raise errors.AuthenticationFailed("Client did not send a token")
        self._is_evaluating = True
        return Evaluate(self._mechanism, message.token)

    def evaluated(self, answer: bytes | None) -> bytes:
        """What is to be sent: the mechanism has evaluated a response to this.

        Raises what the methods raise.
        """
        assert self._mechanism is not None, "somebody evaluated something"
        assert self._offer is not None, "a mechanism is of an offer"
        self._is_evaluating = False
        if not self._mechanism.is_complete:
            return encode_sasl_answer(_State(state=_State.CHALLENGE, token=answer or b""))
        self.proven = self._methods.proven(self._offer, self._mechanism)
        return encode_sasl_answer(_State(state=_State.SUCCESS, token=answer))

    @property
    def _offers(self) -> Sequence[Offer]:
        return self._methods.offers

    def _begin(self, offer: Offer) -> ServerMechanism:
        return self._methods.begin(offer, self._address, self._port)

    def _offered(self, offer: Offer) -> rpc_pb2.RpcSaslProto.SaslAuth:
        """An offer; where the server has the first word, with that."""
        proto = offer.to_proto()
        if offer.method == TOKEN:
            mechanism = self._begun[TOKEN] = self._begin(offer)
            proto.challenge = mechanism.evaluate(b"") or b""
        return proto

    def _chosen(self, message: rpc_pb2.RpcSaslProto) -> Offer:
        if len(message.auths) != 1:
            raise errors.AuthenticationFailed("Client mechanism is malformed")
        said = message.auths[0]
        for offer in self._offers:
            if (said.method, said.mechanism) == (offer.method, offer.mechanism):
                return offer
        names = ", ".join([offer.method for offer in self._offers])
        raise errors.AccessDenied(
            f"{said.method[:100]} authentication is not enabled.  Available:[{names}]"
        )
