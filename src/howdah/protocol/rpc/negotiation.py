"""The client's side of SASL in Hadoop's RPC (pure): SaslRpcClient in Hadoop.

    NEGOTIATE -->
              <-- NEGOTIATE (offers)   or SUCCESS: the server asks for nothing
    INITIATE (the offer that is taken, a token) -->
              <-- CHALLENGE, RESPONSE --> ...
              <-- SUCCESS (a last token, or none)

Every message is a frame with the call id -33 and no client id. Rules: the client, not the server,
decides what it takes (`choose`); a success ends the exchange only if the mechanism is satisfied
with the server's proof; a server that asks for nothing is believed only where that is allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from google.protobuf.message import DecodeError

from howdah import errors
from howdah.proto import rpc_pb2
from howdah.protocol.rpc import wire
from howdah.protocol.sasl.mechanism import ClientMechanism
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


SIMPLE: Final = "SIMPLE"

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
        return rpc_pb2.RpcSaslProto.FromString(body)
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
        name = rpc_pb2.RpcSaslProto.SaslState.Name(message.state)
        return errors.ProtocolViolation(f"the server sent {name}, which has no place there")
