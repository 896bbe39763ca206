"""An RPC server that authenticates its callers by tokens, and misbehaves as it is told.

It serves one connection after the other, in a thread, and answers each call with the bytes of its
request. The protocol's other end is `howdah.rpc`.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from howdah import errors
from howdah.proto import rpc_pb2
from howdah.protocol.rpc import wire
from howdah.protocol.sasl.digest_layers import DigestLayer
from howdah.protocol.sasl.digest_md5 import credentials_of
from howdah.protocol.sasl.protection import Protection
from howdah.protocol.varint import delimited
from tests.support.security.digest_server import DigestServer

Sasl = rpc_pb2.RpcSaslProto


@dataclass
class Behaviour:
    """What the server does otherwise than it should; and what it has seen."""

    identifier: bytes = b"identifier"
    password: bytes = b"p" * 20
    protections: tuple[Protection, ...] = tuple(Protection)
    asks_for_nothing: bool = False
    """Answers NEGOTIATE with success, as a server that is not secured."""
    refuses: errors.HowdahError | None = None
    """What it says instead of a proof."""
    proof: bytes | None = None
    """What it gives as its proof."""
    refuses_simple: bool = False
    """Says to those who do not authenticate what Hadoop's servers say."""
    answers_plain: bool = False
    plain_after: int | None = None
    """So many answers are protected; those that follow are not."""
    swaps_wraps: bool = False
    """Sends what belongs first behind what follows it."""
    challenge: bytes | None = None
    """What it asks instead of a challenge."""
    token_is_offered: bool = True
    challenges_for_ever: bool = False
    repeats_answers: bool = False
    long_answers: bool = False
    hangs: bool = False
    splits_wraps: bool = False
    contexts: list[rpc_pb2.IpcConnectionContextProto] = field(default_factory=list)
    preambles: list[bytes] = field(default_factory=list)
    wrapped: list[bool] = field(default_factory=list)
    connections: int = 0
    answers: int = 0


class _Peer:
    def __init__(self, sock: socket.socket, how: Behaviour) -> None:
        self._sock = sock
        self._how = how
        self._frames = wire.FrameBuffer()
        self._ready: list[bytes] = []
        self._layer: DigestLayer | None = None
        self._clear = wire.FrameBuffer()

    def serve(self) -> None:
        how = self._how
        preamble = self._sock.recv(7, socket.MSG_WAITALL)
        how.preambles.append(preamble)
        if preamble[6] == wire.AUTH_SASL:
            assert self._sasl().state == Sasl.NEGOTIATE
            if how.hangs:
                self._sock.recv(1)
                return
            if how.asks_for_nothing:
                self._answer_sasl(Sasl(state=Sasl.SUCCESS))
            elif not self._negotiate():
                return
        elif how.refuses_simple:
            words = "SIMPLE authentication is not enabled.  Available:[TOKEN, KERBEROS]"
            self._receive()
            error = errors.AccessDenied(words)
            self._sock.sendall(wire.encode_error(-1, b"", -1, error, fatal=True))
            self._sock.recv(65536)
            return
        while True:
            for payload in self._frames_in():
                self._call(payload)

    def _negotiate(self) -> bool:
        how = self._how
        name, password = credentials_of(how.identifier, how.password)
        digest = DigestServer({name: password}.get, protections=how.protections)
        offer = Sasl(state=Sasl.NEGOTIATE)
        if how.token_is_offered:
            offer.auths.add(
                method="TOKEN",
                mechanism="DIGEST-MD5",
                protocol="",
                serverId="default",
                challenge=digest.challenge() if how.challenge is None else how.challenge,
            )
        offer.auths.add(
            method="KERBEROS", mechanism="GSSAPI", protocol="nn", serverId="evil.example.com"
        )
        self._answer_sasl(offer)
        chosen = self._sasl()
        if how.refuses is not None:
            self._sock.sendall(wire.encode_error(-33, b"", -1, how.refuses, fatal=True))
            return False
        assert chosen.state == Sasl.INITIATE
        while how.challenges_for_ever:
            self._answer_sasl(Sasl(state=Sasl.CHALLENGE, token=digest.challenge()))
            self._sasl()
        proof = digest.check(chosen.token)
        if proof is None:
            error = errors.AuthenticationFailed("DIGEST-MD5: digest response format violation.")
            self._sock.sendall(wire.encode_error(-33, b"", -1, error, fatal=True))
            return False
        proof = proof if how.proof is None else how.proof
        self._answer_sasl(Sasl(state=Sasl.SUCCESS, token=proof))
        self._layer = digest.layer
        return True

    def _receive(self) -> bytes:
        while not self._ready:
            data = self._sock.recv(65536)
            if not data:
                raise EOFError
            self._ready += self._frames.feed(data)
        return self._ready.pop(0)

    def _sasl(self) -> rpc_pb2.RpcSaslProto:
        payload = self._receive()
        raw, position = wire.read_delimited(payload, 0)
        assert rpc_pb2.RpcRequestHeaderProto.FromString(raw).callId == wire.CALL_ID_SASL
        return Sasl.FromString(wire.read_delimited(payload, position)[0])

    def _answer_sasl(self, message: rpc_pb2.RpcSaslProto) -> None:
        self._sock.sendall(wire.encode_answer(wire.CALL_ID_SASL, b"", -1, message))

    def _frames_in(self) -> list[bytes]:
        if self._layer is None:
            self._how.wrapped.append(False)
            return [self._receive()]
        message = self._sasl()
        assert message.state == Sasl.WRAP
        self._how.wrapped.append(True)
        return self._clear.feed(self._layer.unwrap(message.token))

    def _call(self, payload: bytes) -> None:
        raw, position = wire.read_delimited(payload, 0)
        header = rpc_pb2.RpcRequestHeaderProto.FromString(raw)
        if header.callId == wire.CALL_ID_CONTEXT:
            body = wire.read_delimited(payload, position)[0]
            self._how.contexts.append(rpc_pb2.IpcConnectionContextProto.FromString(body))
            return
        _, position = wire.read_delimited(payload, position)
        body = wire.read_delimited(payload, position)[0]
        answer = wire.encode_answer_bytes(header.callId, header.clientId, header.retryCount, body)
        how = self._how
        how.answers += 1
        is_late = how.plain_after is not None and how.answers > how.plain_after
        if self._layer is None or how.answers_plain or is_late:
            self._sock.sendall(answer)
            return
        pieces = [answer]
        if how.splits_wraps or how.swaps_wraps:
            pieces = [answer[:3], answer[3:10], answer[10:]]
        tokens = [self._layer.wrap(piece) for piece in pieces]
        for token in reversed(tokens) if how.swaps_wraps else tokens:
            self._wrap(token)
        if how.long_answers:
            self._sock.sendall(struct.pack(">I", 1 << 30))

    def _wrap(self, token: bytes) -> None:
        # Hadoop's server writes no more than this into the header.
        header = rpc_pb2.RpcResponseHeaderProto(
            callId=wire.CALL_ID_SASL & 0xFFFFFFFF, status=rpc_pb2.RpcResponseHeaderProto.SUCCESS
        )
        message = Sasl(state=Sasl.WRAP, token=token)
        frame = wire.frame(delimited(header), delimited(message))
        self._sock.sendall(frame * (2 if self._how.repeats_answers else 1))


@contextmanager
def serving(how: Behaviour) -> Iterator[tuple[str, int]]:
    """The address of a server that behaves like that."""
    listener = socket.create_server(("127.0.0.1", 0))
    peers: list[socket.socket] = []

    def run() -> None:
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            how.connections += 1
            peers.append(sock)
            try:
                with sock:
                    _Peer(sock, how).serve()
            except (OSError, EOFError, errors.ProtocolViolation):
                continue  # The client has had enough.

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for peer in peers:
            peer.close()
        thread.join(10)
