"""Wrapped connections: any frames, cut in any way, come out as they went in; nothing else does."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howdah import errors
from howdah.proto import rpc_pb2
from howdah.protocol.rpc import wire
from howdah.protocol.rpc.negotiation import ClientNegotiation, Offer
from howdah.protocol.rpc.wrapped_stream import WrappedStream
from howdah.protocol.sasl.digest_layers import CIPHERS, DigestLayer, Side
from howdah.protocol.sasl.digest_md5 import DigestMd5Client
from howdah.protocol.sasl.mechanism import ClientMechanism
from howdah.protocol.sasl.protection import Protection
from howdah.protocol.varint import delimited

Sasl = rpc_pb2.RpcSaslProto
ciphers = st.sampled_from([None, *CIPHERS])
frames = st.lists(st.binary(min_size=1, max_size=300), min_size=1, max_size=5)
cuts = st.lists(st.integers(0, 2000), max_size=6)


def layer(side: Side, cipher: str | None, most_bytes: int = 65536) -> DigestLayer:
    return DigestLayer(b"s" * 16, side, cipher, most_bytes)


def split(data: bytes, at: list[int]) -> list[bytes]:
    places = [0, *sorted(place for place in at if place < len(data)), len(data)]
    return [data[begin:end] for begin, end in pairwise(places)]


def wrapped_by_server(tokens: list[bytes]) -> list[bytes]:
    """Frames as Hadoop's server writes them."""
    header = rpc_pb2.RpcResponseHeaderProto(
        callId=wire.CALL_ID_SASL & 0xFFFFFFFF, status=rpc_pb2.RpcResponseHeaderProto.SUCCESS
    )
    return [
        wire.frame(delimited(header), delimited(Sasl(state=Sasl.WRAP, token=token)))
        for token in tokens
    ]


@settings(max_examples=40)
@given(ciphers, frames, cuts, cuts)
def test_frames_come_out_however_they_are_wrapped_and_however_they_come(
    cipher: str | None, payloads: list[bytes], wraps: list[int], pieces: list[int]
) -> None:
    server = layer(Side.SERVER, cipher)
    clear = b"".join(wire.frame(payload) for payload in payloads)
    tokens = [server.wrap(part) for part in split(clear, wraps)]
    stream = WrappedStream(layer(Side.CLIENT, cipher))
    stream.limit(1 << 20)
    found: list[bytes] = []
    for piece in split(b"".join(wrapped_by_server(tokens)), pieces):
        found += stream.feed(piece)
    assert found == payloads
    assert stream.pending_bytes == 0


@settings(max_examples=40)
@given(ciphers, st.binary(max_size=3000), st.integers(64, 500))
def test_what_a_client_sends_comes_out_at_the_server(
    cipher: str | None, data: bytes, most_bytes: int
) -> None:
    sent = WrappedStream(layer(Side.CLIENT, cipher, most_bytes)).wrap(data)
    server = layer(Side.SERVER, cipher)
    buffer = wire.FrameBuffer()
    clear = b""
    payloads = buffer.feed(sent)
    while payloads:
        for payload in payloads:
            _, position = wire.read_delimited(payload, 0)
            message = Sasl.FromString(wire.read_delimited(payload, position)[0])
            assert message.state == Sasl.WRAP
            assert len(message.token) <= most_bytes
            clear += server.unwrap(message.token)
        payloads = buffer.feed(b"")
    assert clear == data


@settings(max_examples=60)
@given(ciphers, st.permutations(range(3)), st.integers(0, 2))
def test_wraps_that_are_repeated_reordered_or_left_out_are_refused(
    cipher: str | None, order: list[int], left_out: int
) -> None:
    server = layer(Side.SERVER, cipher)
    clear = wire.frame(b"payload of a frame")
    sent = wrapped_by_server([server.wrap(clear) for _ in range(3)])
    for wrong in ([sent[i] for i in order], [*sent[:2], sent[1]], sent[left_out:]):
        stream = WrappedStream(layer(Side.CLIENT, cipher))
        stream.limit(1 << 20)
        if wrong == sent:
            assert stream.feed(b"".join(wrong)) == [b"payload of a frame"] * 3
            continue
        with pytest.raises(errors.ProtocolViolation):
            stream.feed(b"".join(wrong))


@settings(max_examples=60)
@given(st.binary(max_size=200), st.booleans())
def test_no_frame_fails_in_another_way(data: bytes, is_framed: bool) -> None:
    stream = WrappedStream(layer(Side.CLIENT, None))
    stream.limit(1 << 16)
    try:
        assert stream.feed(wire.frame(data) if is_framed else data) == []
    except errors.HowdahError:
        pass


def choose(offers: object) -> tuple[Offer, ClientMechanism]:
    mechanism = DigestMd5Client(
        b"name", b"password", "/default", tuple(Protection), cnonce=b"c", setting="a.key"
    )
    return Offer("TOKEN", "DIGEST-MD5", "", "default", b'nonce="n",algorithm=md5-sess'), mechanism


states = st.sampled_from(list(Sasl.SaslState.values()))
messages = st.builds(
    lambda state, token: delimited(Sasl(state=state, token=token)), states, st.binary(max_size=90)
)


@settings(max_examples=100)
@given(st.lists(messages | st.binary(max_size=60), min_size=1, max_size=4))
def test_no_exchange_ends_well_without_the_servers_proof(bodies: list[bytes]) -> None:
    header = delimited(
        rpc_pb2.RpcResponseHeaderProto(
            callId=wire.CALL_ID_SASL & 0xFFFFFFFF, status=rpc_pb2.RpcResponseHeaderProto.SUCCESS
        )
    )
    negotiation = ClientNegotiation(choose)
    negotiation.begin()
    try:
        for body in bodies:
            negotiation.receive(header + body)
    except errors.HowdahError:
        pass
    assert not negotiation.is_done
