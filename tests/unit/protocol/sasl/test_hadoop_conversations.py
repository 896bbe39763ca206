"""Conversations with Hadoop 3.5.0, recorded: by tokens, with each protection, for calls and data.

With the same token and the same random bytes this client has to say the same again, and to take
what the servers said: the namenode's proof and its wrapped answer, the datanode's keys of AES.
Messages: C is the client's, S the server's; CW a client's that is wrapped, with what is inside;
SW a server's; K the keys of two streams.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from howdah import errors
from howdah.proto import client_namenode_pb2, rpc_pb2
from howdah.protocol.data_transfer.handshake import AES_CTR, REALM_URI, ClientHandshake
from howdah.protocol.rpc import wire
from howdah.protocol.rpc.negotiation import ClientNegotiation, Offer
from howdah.protocol.rpc.wrapped_stream import WrappedStream
from howdah.protocol.sasl.digest_md5 import DigestMd5Client, credentials_of
from howdah.protocol.sasl.mechanism import ClientMechanism
from howdah.protocol.sasl.protection import Protection

CNONCE: Final = base64.b64encode(bytes(range(30)))
RECORDED: Final[dict[str, Any]] = json.loads(
    Path(__file__).with_name("hadoop_conversations.json").read_text()
)
CALLS: Final = [name for name in RECORDED if name.startswith("rpc")]
DATA: Final = [name for name in RECORDED if name.startswith("data")]


def client_of(name: str, uri: str, password: bytes | None = None) -> DigestMd5Client:
    recorded = RECORDED[name]
    mine = credentials_of(
        bytes.fromhex(recorded["identifier"]), password or bytes.fromhex(recorded["password"])
    )
    protection = Protection[name.split()[1].upper()]
    return DigestMd5Client(*mine, uri, [protection], cnonce=CNONCE, setting="a.key")


def messages_of(name: str, *kinds: str) -> list[bytes]:
    """Without what stands beside them."""
    return [bytes.fromhex(text) for kind, text, *_ in RECORDED[name]["messages"] if kind in kinds]


class Chosen:
    """Takes the offer of a token."""

    def __init__(self, name: str, password: bytes | None = None) -> None:
        self._name = name
        self._password = password

    def __call__(self, offers: Sequence[Offer]) -> tuple[Offer, ClientMechanism]:
        assert [offer.method for offer in offers] == ["TOKEN", "KERBEROS"]
        assert (offers[1].protocol, offers[1].server_id) == ("nn", "localhost")
        offer = offers[0]
        uri = f"{offer.protocol}/{offer.server_id}"
        return offer, client_of(self._name, uri, self._password)


@pytest.mark.parametrize("name", CALLS)
def test_a_client_says_to_a_namenode_what_it_said(name: str) -> None:
    negotiation = ClientNegotiation(Chosen(name))
    said = [negotiation.begin()]
    for payload in messages_of(name, "S"):
        said.append(negotiation.receive(payload))
    assert negotiation.is_done
    assert said[:-1] == messages_of(name, "C")
    assert negotiation.mechanism is not None
    layer = negotiation.mechanism.layer
    if layer is None:
        assert name.endswith("authentication")
        return
    stream = WrappedStream(layer)
    stream.limit(1 << 20)
    for kind, text, *inside in RECORDED[name]["messages"]:
        if kind == "CW":
            assert stream.wrap(bytes.fromhex(inside[0])) == bytes.fromhex(text)
    [payload] = [frame for data in messages_of(name, "SW") for frame in stream.feed(data)]
    header, body = wire.decode_answer(payload)
    assert header.status == rpc_pb2.RpcResponseHeaderProto.SUCCESS
    answer = client_namenode_pb2.GetFileInfoResponseProto.FromString(body)
    assert (answer.fs.owner, answer.fs.group) == ("alice", "users")


@pytest.mark.parametrize("name", CALLS)
def test_a_namenode_that_does_not_know_the_token_is_not_believed(name: str) -> None:
    negotiation = ClientNegotiation(Chosen(name, b"another password"))
    negotiation.begin()
    offers, proof = messages_of(name, "S")
    negotiation.receive(offers)
    with pytest.raises(errors.AuthenticationFailed):
        negotiation.receive(proof)


@pytest.mark.parametrize("name", DATA)
def test_a_client_says_to_a_datanode_what_it_said(name: str) -> None:
    suites = (AES_CTR,) if name.endswith(AES_CTR) else ()
    handshake = ClientHandshake(client_of(name, REALM_URI), suites)
    said = [handshake.begin()]
    for message in messages_of(name, "S"):
        said.append(handshake.receive(message))
    assert handshake.is_done
    assert said[:-1] == messages_of(name, "C")
    keys = handshake.keys
    recorded = [texts for kind, *texts in RECORDED[name]["messages"] if kind == "K"]
    if keys is None:
        assert recorded == []
    else:
        parts = keys.send_key, keys.send_iv, keys.receive_key, keys.receive_iv
        assert recorded == [[part.hex() for part in parts]]
    assert (handshake.mechanism.layer is None) == ("authentication" in name)
