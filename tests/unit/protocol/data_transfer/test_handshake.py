"""The datanode's side of the handshake on data connections: with this project's client, with what
Hadoop's client said, and with what nobody should say."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.proto import data_transfer_pb2 as pb
from howdah.protocol.data_transfer.handshake import (
    AES_CTR,
    MAGIC,
    REALM,
    REALM_URI,
    ClientHandshake,
    ServerHandshake,
    UnknownEncryptionKey,
    refusal,
)
from howdah.protocol.sasl.digest_layers import CIPHERS
from howdah.protocol.sasl.digest_md5 import (
    DigestMd5Client,
    DigestMd5Server,
    credentials_of,
    parse_directives,
)
from howdah.protocol.sasl.protection import Protection
from howdah.protocol.varint import decode_varint
from tests.unit.protocol.sasl.test_hadoop_conversations import DATA, RECORDED, messages_of

NAME, PASSWORD = credentials_of(b"an identifier", b"secret of the token")
SETTING = "dfs.data.transfer.protection"
Message = pb.DataTransferEncryptorMessageProto


def password_of(name: bytes) -> bytes:
    if name != NAME:
        raise errors.InvalidToken("Block token is unknown")
    return PASSWORD


def server_of(
    protections: Sequence[Protection] = tuple(Protection), suites: tuple[str, ...] = (AES_CTR,)
) -> ServerHandshake:
    mechanism = DigestMd5Server(
        password_of, REALM, REALM_URI, protections, nonce=b"bm9uY2U=", setting=SETTING
    )
    return ServerHandshake(mechanism, suites, random.Random(1).randbytes)


def client_of(
    protection: Protection, suites: tuple[str, ...] = (), password: bytes = PASSWORD
) -> ClientHandshake:
    mechanism = DigestMd5Client(
        NAME, password, REALM_URI, [protection], cnonce=b"Y25vbmNl", setting=SETTING
    )
    return ClientHandshake(mechanism, suites)


def undelimited(data: bytes) -> bytes:
    found = decode_varint(data, 0)
    assert found is not None
    length, at = found
    assert at + length == len(data)
    return data[at:]


def shake(client: ClientHandshake, server: ServerHandshake) -> None:
    said = client.begin()
    assert said.startswith(MAGIC)
    said = said.removeprefix(MAGIC)
    while not client.is_done:
        said = client.receive(undelimited(server.receive(undelimited(said))))
    assert said == b""
    assert server.is_done


@pytest.mark.parametrize("protection", Protection)
@given(messages=st.lists(st.binary(max_size=300), max_size=4))
def test_both_sides_agree(protection: Protection, messages: list[bytes]) -> None:
    client, server = client_of(protection), server_of()
    shake(client, server)
    assert client.keys is server.keys is None
    ours, theirs = client.mechanism.layer, server.mechanism.layer
    assert (ours is None) == (theirs is None) == (protection is Protection.AUTHENTICATION)
    if ours is not None and theirs is not None:
        for message in messages:
            assert theirs.unwrap(ours.wrap(message)) == message
            assert ours.unwrap(theirs.wrap(message)) == message


@pytest.mark.parametrize(
    ("protection", "wanted", "known", "has_keys"),
    [
        (Protection.PRIVACY, (AES_CTR,), (AES_CTR,), True),
        (Protection.PRIVACY, (AES_CTR,), (), False),
        (Protection.PRIVACY, (), (AES_CTR,), False),
        (Protection.INTEGRITY, (AES_CTR,), (AES_CTR,), False),
    ],
)
def test_streams_of_aes_are_agreed_on_with_privacy_alone(
    protection: Protection, wanted: tuple[str, ...], known: tuple[str, ...], has_keys: bool
) -> None:
    client, server = client_of(protection, wanted), server_of(suites=known)
    shake(client, server)
    assert (client.keys is not None) is (server.keys is not None) is has_keys
    if client.keys is not None and server.keys is not None:
        assert (client.keys.send_key, client.keys.send_iv) == (
            server.keys.receive_key,
            server.keys.receive_iv,
        )
        assert (client.keys.receive_key, client.keys.receive_iv) == (
            server.keys.send_key,
            server.keys.send_iv,
        )
        assert client.keys.send_key != client.keys.receive_key
        assert repr(client.keys.send_key) not in repr(server.keys)


@pytest.mark.parametrize("name", DATA)
def test_hadoops_conversation_is_led_word_for_word(name: str) -> None:
    """With the datanode's nonce and its keys: the same proof, and the same message."""
    recorded = RECORDED[name]
    identifier, password = (bytes.fromhex(recorded[key]) for key in ("identifier", "password"))
    challenge, proof = (Message.FromString(data) for data in messages_of(name, "S"))
    mechanism = DigestMd5Server(
        lambda said: credentials_of(identifier, password)[1],
        REALM,
        REALM_URI,
        tuple(Protection),
        nonce=parse_directives(challenge.payload)["nonce"],
        setting=SETTING,
        ciphers=CIPHERS,
    )
    keys = [
        bytes.fromhex(part)
        for kind, *parts in recorded["messages"]
        if kind == "K"
        for part in parts
    ]
    dice = iter([keys[0], keys[2], keys[1], keys[3]] if keys else [])
    suites = (AES_CTR,) if keys else ()
    server = ServerHandshake(mechanism, suites, lambda count: next(dice))
    first, second = messages_of(name, "C")
    mine = Message.FromString(undelimited(server.receive(undelimited(first.removeprefix(MAGIC)))))
    theirs = parse_directives(challenge.payload)
    assert {key: parse_directives(mine.payload)[key] for key in ("realm", "nonce", "qop")} == {
        key: theirs[key] for key in ("realm", "nonce", "qop")
    }
    assert Message.FromString(undelimited(server.receive(undelimited(second)))) == proof
    assert server.is_done


def test_who_does_not_know_the_tokens_password_is_refused() -> None:
    client, server = client_of(Protection.PRIVACY, password=b"another"), server_of()
    answer = client.receive(
        undelimited(server.receive(undelimited(client.begin().removeprefix(MAGIC))))
    )
    with pytest.raises(errors.AuthenticationFailed, match="Mismatched response"):
        server.receive(undelimited(answer))
    assert not server.is_done


def test_a_protection_that_is_not_offered_is_not_agreed_on() -> None:
    server = server_of([Protection.PRIVACY])
    with pytest.raises(errors.AuthenticationFailed):
        shake(client_of(Protection.AUTHENTICATION), server)


@pytest.mark.parametrize(
    ("error", "back"),
    [
        (errors.InvalidToken("it is over"), errors.InvalidToken),
        (errors.AuthenticationFailed("Mismatched response."), errors.AuthenticationFailed),
        (UnknownEncryptionKey("the key is unknown"), UnknownEncryptionKey),
    ],
)
def test_a_client_hears_why_it_is_refused(
    error: errors.HowdahError, back: type[errors.HowdahError]
) -> None:
    with pytest.raises(back, match=error.message):
        client_of(Protection.PRIVACY).receive(undelimited(refusal(error)))


@pytest.mark.parametrize(
    "message",
    [
        b"\xff",
        Message(status=Message.ERROR).SerializeToString(),
        Message(status=Message.SUCCESS, payload=b"an answer").SerializeToString(),
    ],
)
def test_what_has_no_place_is_refused(message: bytes) -> None:
    with pytest.raises((errors.ProtocolViolation, errors.AuthenticationFailed)):
        server_of().receive(message)


def test_nothing_is_taken_behind_the_proof() -> None:
    server = server_of()
    shake(client_of(Protection.PRIVACY), server)
    with pytest.raises(errors.ProtocolViolation, match="no place"):
        server.receive(Message(status=Message.SUCCESS, payload=b"").SerializeToString())


@given(st.lists(st.binary(max_size=200), min_size=1, max_size=4))
def test_any_messages_prove_nobody(messages: list[bytes]) -> None:
    server = server_of()
    for message in messages:
        try:
            server.receive(message)
        except errors.HowdahError:
            break
    assert not server.is_done
