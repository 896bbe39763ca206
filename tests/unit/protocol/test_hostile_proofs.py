"""Everything by which somebody proves who he is, changed at random, very often in torture.

A conversation that would be believed is recorded once. Then one of its messages, or several, are
changed: bits, lengths, parts left out, repeated, exchanged with those of other messages. Whoever
hears it refuses it by an error that is foreseen, keeps no more than a frame of it, and believes
nobody but whom the true conversation proves.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Final

import pytest

from howdah import errors
from howdah.formats.malformed import MalformedRecord
from howdah.formats.tokens.credentials import PROTOBUF, WRITABLE, Credentials
from howdah.formats.tokens.identifiers import BlockTokenIdentifier, DelegationTokenIdentifier
from howdah.formats.tokens.token import Token
from howdah.protocol.data_transfer.handshake import AES_CTR, ClientHandshake, ServerHandshake
from howdah.protocol.rpc.call import Call
from howdah.protocol.rpc.negotiation import ClientNegotiation, Offer
from howdah.protocol.rpc.proven import KERBEROS, TOKEN
from howdah.protocol.rpc.session import Close, Event, Protect, Reply
from howdah.protocol.rpc.wrapped_stream import WrappedStream
from howdah.protocol.sasl.digest_layers import DigestLayer, Side
from howdah.protocol.sasl.digest_md5 import DigestMd5Client
from howdah.protocol.sasl.mechanism import ClientMechanism
from howdah.protocol.sasl.protection import Protection
from howdah.protocol.web_authentication.basic import credentials_in, header_of
from howdah.protocol.web_authentication.negotiation import Known, Negotiation, Ticket
from howdah.protocol.web_authentication.signed_cookie import (
    KERBEROS as COOKIE_KIND,
)
from howdah.protocol.web_authentication.signed_cookie import (
    CookieSigner,
    SignedIdentity,
)
from tests.support.torture import times
from tests.unit.protocol.data_transfer.test_handshake import client_of, server_of, undelimited
from tests.unit.protocol.rpc.test_authenticated_session import (
    Choose,
    answered,
    call,
    context,
    opened,
    payload_of,
)

pytestmark = pytest.mark.timeout(1800)

QUICK: Final = 1_500
HOSTILE: Final = times(100_000)
"""A million of each kind, `HOWDAH_TORTURE=10`, took 1,820 s of a processor, and found nothing."""
MOST_PENDING_BYTES: Final = 1 << 18
NOW_MS: Final = 1_800_000_000_000
REFUSALS: Final = (errors.HowdahError, MalformedRecord)

_MOST_HEARD: Final = 50

Change = Callable[[bytes], bytes]
Attempt = Callable[[Change], None]
"""Plays a conversation whose messages were changed, and asserts what has to hold."""


class Changes:
    """Changes about every second message, in one way or in several."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self._heard: list[bytes] = [b""]

    def __call__(self, message: bytes) -> bytes:
        dice = self._dice
        if len(self._heard) < _MOST_HEARD and message not in self._heard:
            self._heard.append(message)
        if dice.random() < 0.5:
            return message
        data = bytearray(message)
        for _ in range(dice.choice((1, 1, 1, 2, 5))):
            self._change(data)
        return bytes(data)

    def _change(self, data: bytearray) -> None:
        dice = self._dice
        at = dice.randrange(len(data) + 1)
        to = min(len(data), at + dice.choice((0, 1, 2, 4, 20, 1000)))
        kind = dice.randrange(8)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << dice.randrange(8)
        elif kind == 1 and at < len(data):
            data[at] = dice.choice((0, 1, 0x7F, 0x80, 0xFF, 0x22, 0x2C, 0x5C))
        elif kind == 2:
            del data[at:to]
        elif kind == 3:
            data[at:at] = data[at:to]
        elif kind == 4:
            data[at:at] = dice.randbytes(dice.choice((1, 4, 16)))
        elif kind == 5:
            other = dice.choice(self._heard)
            begin = dice.randrange(len(other) + 1)
            data[at:to] = other[begin : begin + dice.choice((1, 8, 64, 1000))]
        elif kind == 6:
            # As a length, whatever reads one here.
            data[at:to] = dice.choice(
                (b"\xff\xff\xff\xff\x0f", b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\0\0\0\0")
            )
        else:
            del data[to:]


# -- RPC ---------------------------------------------------------------------------


def said_to_server(choose: Choose) -> list[bytes]:
    """All that a client says to a namenode, with a call at the end."""
    session, negotiation = opened(), ClientNegotiation(choose)
    said = [negotiation.begin()]
    protect = None
    while not negotiation.is_done:
        events = answered(session, said[-1])
        protect = events[1] if len(events) > 1 else None
        said.append(negotiation.receive(payload_of(events[0])))
    said = [message for message in said if message]
    frames = [context(), call("/a", 0), call("/b", 1)]
    if protect is not None:
        assert isinstance(protect, Protect)
        assert negotiation.mechanism is not None
        assert negotiation.mechanism.layer is not None
        stream = WrappedStream(negotiation.mechanism.layer)
        stream.limit(1 << 20)
        frames = [stream.wrap(frame) for frame in frames]
    return [*said, *frames]


def server_of_calls(choose: Choose, user: str | None, dice: random.Random) -> Attempt:
    """`user` is who alone may be believed; None where the stand-in for a ticket signs no name."""
    said = said_to_server(choose)

    def attempt(change: Change) -> None:
        session = opened()
        events: list[Event] = []
        for message in map(change, said):
            cut = dice.randrange(len(message) + 1)
            for part in (message[:cut], message[cut:]):
                events += answered(session, part)
                assert session.pending_bytes <= MOST_PENDING_BYTES
        for event in events:
            assert isinstance(event, Call | Reply | Protect | Close), event
            if isinstance(event, Call):
                assert user in (None, event.caller.user)
        closes = [number for number, event in enumerate(events) if isinstance(event, Close)]
        assert closes in ([], [len(events) - 1])
        if closes:
            raise errors.ProtocolViolation("the connection was ended")

    attempt(lambda message: message)
    return attempt


def said_by_server(choose: Choose) -> list[bytes]:
    session, negotiation = opened(), ClientNegotiation(choose)
    said: list[bytes] = []
    request = negotiation.begin()
    while not negotiation.is_done:
        said.append(payload_of(answered(session, request)[0]))
        request = negotiation.receive(said[-1])
    return said


def client_of_calls(choose: Choose) -> Attempt:
    said = said_by_server(choose)

    def choose_known(offers: Sequence[Offer]) -> tuple[Offer, ClientMechanism] | None:
        if not any(offer.method in (TOKEN, KERBEROS) for offer in offers):
            raise errors.AuthenticationFailed("nothing that is taken is offered")
        try:
            return choose(offers)
        except StopIteration:
            raise errors.AuthenticationFailed("the method is not offered") from None

    def attempt(change: Change) -> None:
        negotiation = ClientNegotiation(choose_known)
        negotiation.begin()
        for message in said:
            if negotiation.is_done:
                break
            negotiation.receive(change(message))
        if negotiation.is_done:
            assert negotiation.mechanism is not None
            assert negotiation.mechanism.is_complete

    attempt(lambda message: message)
    return attempt


# -- data connections --------------------------------------------------------------


def server_of_data(protection: Protection) -> Attempt:
    client, server = client_of(protection, (AES_CTR,)), server_of()
    said = [undelimited(client.begin()[4:])]
    while not client.is_done:
        answer = client.receive(undelimited(server.receive(said[-1])))
        if answer:
            said.append(undelimited(answer))

    def attempt(change: Change) -> None:
        server: ServerHandshake = server_of()
        for message in said:
            server.receive(change(message))
        assert server.is_done
        assert server.mechanism.is_complete
        if server.keys is not None:
            assert server.mechanism.protection is Protection.PRIVACY

    attempt(lambda message: message)
    return attempt


def client_of_data(protection: Protection) -> Attempt:
    client, server = client_of(protection, (AES_CTR,)), server_of()
    request, said = undelimited(client.begin()[4:]), list[bytes]()
    while not client.is_done:
        said.append(undelimited(server.receive(request)))
        answer = client.receive(said[-1])
        request = undelimited(answer) if answer else b""

    def attempt(change: Change) -> None:
        client: ClientHandshake = client_of(protection, (AES_CTR,))
        client.begin()
        for message in said:
            client.receive(change(message))
        assert client.is_done
        assert client.mechanism.is_complete
        assert client.mechanism.protection is protection

    attempt(lambda message: message)
    return attempt


def layer_of_digests(cipher: str | None) -> Attempt:
    sender = DigestLayer(b"session", Side.CLIENT, cipher, 65536)
    clear = [b"first", b"", b"x" * 300, b"last"]
    sent = [sender.wrap(data) for data in clear]

    def attempt(change: Change) -> None:
        receiver = DigestLayer(b"session", Side.SERVER, cipher, 65536)
        for data, message in zip(clear, sent, strict=True):
            assert receiver.unwrap(change(message)) == data

    attempt(lambda message: message)
    return attempt


# -- HTTP --------------------------------------------------------------------------


def texts(change: Change) -> Callable[[str], str]:
    return lambda text: change(text.encode("latin-1")).decode("latin-1")


def cookies() -> Attempt:
    signer = CookieSigner(b"a secret of some length")
    identity = SignedIdentity("alice", "alice@EXAMPLE.COM", COOKIE_KIND, NOW_MS + 1000)
    negotiation = Negotiation(signer, 1000)
    text = f"a=b; hadoop.auth={signer.sign(identity)}; c=d"

    def attempt(change: Change) -> None:
        found = negotiation.begin({"cookie": texts(change)(text)}, NOW_MS)
        if isinstance(found, Known):
            assert found.identity == identity
        ticket = negotiation.begin({"authorization": texts(change)("Negotiate YWJj")}, NOW_MS)
        assert not isinstance(ticket, Known)
        assert not isinstance(ticket, Ticket) or ticket.token
        if not isinstance(found, Known):
            raise errors.AuthenticationFailed("the cookie is not taken")

    attempt(lambda message: message)
    return attempt


def passwords() -> Attempt:
    header = header_of("alice", "a secret: with a colon")

    def attempt(change: Change) -> None:
        found = credentials_in(texts(change)(header))
        if found is None:
            raise errors.AuthenticationFailed("there is no password")
        assert found.user
        assert ":" not in found.user

    attempt(lambda message: message)
    return attempt


# -- tokens ------------------------------------------------------------------------


def block_tokens(*, protobuf: bool) -> Attempt:
    identifier = BlockTokenIdentifier(
        NOW_MS, 7, "alice", "BP-1", -5, ("READ", "WRITE"), ("DISK",), ("DS-1",), b"secret"
    )
    data = identifier.encode(protobuf=protobuf)

    def attempt(change: Change) -> None:
        found = BlockTokenIdentifier.decode(change(data))
        assert isinstance(found.user, str)
        assert isinstance(found.block_pool_id, str)
        assert all(isinstance(name, str) for name in (*found.modes, *found.storage_ids))

    attempt(lambda message: message)
    return attempt


def delegation_tokens() -> Attempt:
    identifier = DelegationTokenIdentifier("alice@R", "yarn", "hive@R", 5, NOW_MS, 9, 3)
    token = Token(identifier.encode(), b"password", "HDFS_DELEGATION_TOKEN", "ha-hdfs:ns")

    def attempt(change: Change) -> None:
        read = Token.from_url_string(texts(change)(token.url_string))
        found = DelegationTokenIdentifier.decode(read.identifier)
        assert isinstance(found.owner, str)
        DelegationTokenIdentifier.decode(change(identifier.encode()))

    attempt(lambda message: message)
    return attempt


def token_files(version: int) -> Attempt:
    token = Token(b"identifier", b"password", "HDFS_DELEGATION_TOKEN", "127.0.0.1:8020")
    data = Credentials({"nn": token, "other": token}, {"key": b"secret"}).encode(version)

    def attempt(change: Change) -> None:
        found = Credentials.decode(change(data))
        for alias, each in found.tokens.items():
            assert isinstance(alias, str)
            assert isinstance(each.kind, str)
            assert isinstance(each.service, str)

    attempt(lambda message: message)
    return attempt


def digest_client() -> Attempt:
    """Of a server that says anything at all."""

    def attempt(change: Change) -> None:
        client = DigestMd5Client(
            b"name", b"password", "hdfs/0", tuple(Protection), cnonce=b"Yw==", setting="a.key"
        )
        challenge = (
            b'realm="0",nonce="bm9uY2U=",qop="auth,auth-int,auth-conf",charset=utf-8,'
            b'cipher="3des,rc4",algorithm=md5-sess,maxbuf=65536'
        )
        client.evaluate(change(challenge))
        with pytest.raises(errors.AuthenticationFailed):
            client.evaluate(change(b"rspauth=00112233445566778899aabbccddeeff"))
        assert not client.is_complete

    attempt(lambda message: message)
    return attempt


SUBJECTS: Final[dict[str, Callable[[random.Random], Attempt]]] = {
    "namenode by a token": lambda dice: server_of_calls(Choose(TOKEN, "owner"), "owner", dice),
    "namenode by a token, privacy": lambda dice: server_of_calls(
        Choose(TOKEN, "owner", Protection.PRIVACY), "owner", dice
    ),
    "namenode by a ticket, integrity": lambda dice: server_of_calls(
        Choose(KERBEROS, "alice@EXAMPLE.COM", Protection.INTEGRITY), None, dice
    ),
    "client by a token": lambda dice: client_of_calls(Choose(TOKEN, "owner", Protection.PRIVACY)),
    "client by a ticket": lambda dice: client_of_calls(Choose(KERBEROS, "alice@EXAMPLE.COM")),
    "datanode, authentication": lambda dice: server_of_data(Protection.AUTHENTICATION),
    "datanode, privacy": lambda dice: server_of_data(Protection.PRIVACY),
    "client of data, integrity": lambda dice: client_of_data(Protection.INTEGRITY),
    "client of data, privacy": lambda dice: client_of_data(Protection.PRIVACY),
    "client of digests": lambda dice: digest_client(),
    "messages that are signed": lambda dice: layer_of_digests(None),
    "messages by RC4": lambda dice: layer_of_digests("rc4"),
    "messages by Triple DES": lambda dice: layer_of_digests("3des"),
    "cookies and tickets over HTTP": lambda dice: cookies(),
    "passwords over HTTP": lambda dice: passwords(),
    "block tokens": lambda dice: block_tokens(protobuf=False),
    "block tokens as protobuf": lambda dice: block_tokens(protobuf=True),
    "delegation tokens": lambda dice: delegation_tokens(),
    "files of tokens": lambda dice: token_files(WRITABLE),
    "files of tokens as protobuf": lambda dice: token_files(PROTOBUF),
}


def refuse_all(subject: str, seed: int, count: int) -> None:
    dice = random.Random(f"{subject} {seed}")
    attempt = SUBJECTS[subject](dice)
    change = Changes(dice)
    refused = 0
    for number in range(count):
        try:
            attempt(change)
        except REFUSALS:
            refused += 1
        except Exception as error:
            error.add_note(f"{subject}: attempt {number} of seed {seed}")
            raise
    assert refused > count // 10, "hardly anything was refused"


@pytest.mark.parametrize("subject", SUBJECTS)
def test_what_was_changed_is_refused(subject: str) -> None:
    refuse_all(subject, 1, QUICK)


@pytest.mark.torture
@pytest.mark.parametrize("subject", SUBJECTS)
def test_what_was_changed_very_often_is_refused(subject: str) -> None:
    refuse_all(subject, 2, HOSTILE)
