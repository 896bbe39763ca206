"""DIGEST-MD5: the example of RFC 2831, and both sides against each other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.protocol.sasl.digest_layers import CIPHERS, DigestLayer, Side, add_parity
from howdah.protocol.sasl.digest_md5 import (
    Challenge,
    DigestMd5Client,
    credentials_of,
    digest_value,
    parse_directives,
    quoted,
    session_hash,
)
from howdah.protocol.sasl.protection import Protection
from tests.support.security.digest_server import DigestServer

NAME, PASSWORD = credentials_of(b"\0\x05alice", b"secret of twenty byte")


def client(*protections: Protection, password: bytes = PASSWORD, **more: object) -> DigestMd5Client:
    return DigestMd5Client(
        NAME,
        password,
        "/default",
        protections or tuple(Protection),
        cnonce=b"cnonce",
        setting="hadoop.rpc.protection",
        **more,  # type: ignore[arg-type]
    )


def server(*protections: Protection) -> DigestServer:
    return DigestServer({NAME: PASSWORD}.get, protections=protections or tuple(Protection))


def test_the_example_of_rfc_2831() -> None:
    nonce, cnonce, uri = b"OA6MG9tEQGm2hh", b"OA6MHXh6VqTrRk", b"imap/elwood.innosoft.com"
    session = session_hash(b"chris", b"elwood.innosoft.com", b"secret", nonce, cnonce, None)
    parts = session, nonce, cnonce, Protection.AUTHENTICATION, uri
    assert digest_value(*parts, Side.CLIENT) == b"d388dad90d4bbd760a152321f2143af7"
    assert digest_value(*parts, Side.SERVER) == b"ea40f60335c427b5527b84dbabcdfffd"


def test_the_answer_has_the_fields_of_javas_client_in_their_order() -> None:
    answer = client(Protection.PRIVACY).evaluate(server().challenge())
    assert answer is not None
    said = parse_directives(answer)
    assert list(said) == [
        *("charset", "username", "realm", "nonce", "nc", "cnonce", "digest-uri", "maxbuf"),
        *("response", "qop", "cipher", "authzid"),
    ]
    assert said["username"] == said["authzid"] == NAME
    assert b'response="' not in answer
    assert b"qop=auth-conf" in answer
    assert b'cipher="rc4"' in answer


@pytest.mark.parametrize("protection", Protection)
def test_both_sides_agree(protection: Protection) -> None:
    ours, theirs = client(protection), server()
    answer = ours.evaluate(theirs.challenge())
    assert answer is not None
    assert not ours.is_complete
    proof = theirs.check(answer)
    assert proof is not None
    assert ours.evaluate(proof) is None
    assert ours.is_complete
    assert ours.protection is theirs.protection is protection
    assert (ours.layer is None) == (protection is Protection.AUTHENTICATION)


def test_the_first_protection_that_the_server_offers_is_taken() -> None:
    wanted = Protection.PRIVACY, Protection.INTEGRITY
    answer = client(*wanted).evaluate(server(Protection.INTEGRITY).challenge())
    assert answer is not None
    assert b"qop=auth-int" in answer


def test_a_server_without_the_wanted_protection_is_refused_with_the_key_to_set() -> None:
    with pytest.raises(errors.AuthenticationFailed) as caught:
        client(Protection.PRIVACY).evaluate(server(Protection.AUTHENTICATION).challenge())
    assert "the server offers authentication" in str(caught.value)
    assert "hadoop.rpc.protection = privacy here" in str(caught.value)


def test_a_wrong_password_gives_no_proof() -> None:
    answer = client(password=b"wrong").evaluate(server().challenge())
    assert answer is not None
    assert server().check(answer) is None


def test_a_server_that_does_not_know_the_password_is_refused() -> None:
    ours = client(Protection.PRIVACY)
    ours.evaluate(server().challenge())
    with pytest.raises(errors.AuthenticationFailed, match="did not prove"):
        ours.evaluate(b"rspauth=" + b"0" * 32)
    assert ours.layer is None
    assert not ours.is_complete


@pytest.mark.parametrize(
    "challenge",
    [
        b"",
        b"rspauth=00000000000000000000000000000000",
        b'nonce="n",qop="auth"',
        b'nonce="n",algorithm=md5',
        b'nonce="",algorithm=md5-sess',
        b'nonce="n",nonce="m",algorithm=md5-sess',
        b'nonce="n",algorithm=md5-sess,maxbuf=0',
        b'nonce="n",algorithm=md5-sess,maxbuf=x',
        b'nonce="n',
        b"\0\xff",
        b'nonce="n",algorithm=md5-sess,x="' + b"x" * 4096 + b'"',
    ],
)
def test_what_is_no_challenge_is_refused(challenge: bytes) -> None:
    with pytest.raises(errors.AuthenticationFailed):
        client().evaluate(challenge)


def test_no_cipher_in_common_is_refused() -> None:
    challenge = b'realm="0",nonce="n",qop="auth-conf",cipher="des",algorithm=md5-sess'
    with pytest.raises(errors.AuthenticationFailed, match="no common cipher"):
        client(Protection.PRIVACY).evaluate(challenge)


def test_no_representation_has_a_secret() -> None:
    shown = repr(client()) + repr(Challenge.parse(server().challenge()))
    assert "nonce" not in shown.replace("nonce=", "")
    assert PASSWORD.decode() not in shown


@given(
    st.dictionaries(st.sampled_from(["nonce", "qop", "x-y"]), st.binary(max_size=30), max_size=3)
)
def test_directives_come_back(values: dict[str, bytes]) -> None:
    text = b",".join(name.encode() + b"=" + quoted(value) for name, value in values.items())
    assert parse_directives(text) == values


@given(st.binary(max_size=100))
def test_no_message_makes_the_parser_fail_in_another_way(text: bytes) -> None:
    try:
        parse_directives(text)
    except errors.AuthenticationFailed:
        pass


LAYERS = st.sampled_from([None, *CIPHERS])


@given(
    LAYERS,
    st.binary(min_size=16, max_size=16),
    st.lists(st.tuples(st.sampled_from(Side), st.binary(max_size=300)), max_size=6),
)
def test_a_layer_gives_back_what_the_other_side_wrapped(
    cipher: str | None, session: bytes, messages: list[tuple[Side, bytes]]
) -> None:
    sides = {side: DigestLayer(session, side, cipher, 65536) for side in Side}
    for sender, data in messages:
        token = sides[sender].wrap(data)
        assert sides[sender.other].unwrap(token) == data
        if cipher is not None and len(data) > 8:
            assert data not in token


@given(LAYERS, st.binary(max_size=60), st.data())
def test_a_message_that_was_changed_is_refused(
    cipher: str | None, data: bytes, draw: st.DataObject
) -> None:
    session = b"0123456789abcdef"
    token = bytearray(DigestLayer(session, Side.CLIENT, cipher, 65536).wrap(data))
    at = draw.draw(st.integers(0, len(token) - 1))
    token[at] ^= draw.draw(st.integers(1, 255))
    with pytest.raises(errors.ProtocolViolation):
        DigestLayer(session, Side.SERVER, cipher, 65536).unwrap(bytes(token))


@pytest.mark.parametrize("cipher", [None, *CIPHERS])
def test_a_message_that_comes_twice_or_out_of_its_place_is_refused(cipher: str | None) -> None:
    session = b"0123456789abcdef"
    sender = DigestLayer(session, Side.CLIENT, cipher, 65536)
    first, second = sender.wrap(b"first"), sender.wrap(b"second")
    receiver = DigestLayer(session, Side.SERVER, cipher, 65536)
    with pytest.raises(errors.ProtocolViolation):
        receiver.unwrap(second)
    assert receiver.unwrap(first) == b"first"
    with pytest.raises(errors.ProtocolViolation):
        receiver.unwrap(first)


@pytest.mark.parametrize("cipher", [None, *CIPHERS])
def test_a_message_that_comes_back_to_its_sender_is_refused(cipher: str | None) -> None:
    layer = DigestLayer(b"0123456789abcdef", Side.CLIENT, cipher, 65536)
    with pytest.raises(errors.ProtocolViolation):
        layer.unwrap(layer.wrap(b"mirrored"))


@given(st.binary(max_size=40))
def test_no_token_makes_a_layer_fail_in_another_way(token: bytes) -> None:
    for cipher in (None, *CIPHERS):
        layer = DigestLayer(b"0123456789abcdef", Side.SERVER, cipher, 65536)
        with pytest.raises(errors.ProtocolViolation):
            layer.unwrap(token)


def test_parity_is_odd_in_every_byte() -> None:
    key = add_parity(bytes(range(7)))
    assert len(key) == 8
    assert all(byte.bit_count() % 2 for byte in key)


def test_more_than_the_far_end_takes_is_not_wrapped_at_once() -> None:
    layer = DigestLayer(b"0123456789abcdef", Side.CLIENT, "3des", 1024)
    assert len(layer.wrap(bytes(layer.most_clear_bytes))) <= 1024
