"""The servers' sides of the mechanisms: against this project's clients, and Hadoop's, recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.protocol.rpc.negotiation import decode_sasl
from howdah.protocol.sasl.digest_layers import CIPHERS, STRONG_CIPHERS
from howdah.protocol.sasl.digest_md5 import (
    MOST_RESPONSE_BYTES,
    DigestMd5Client,
    DigestMd5Server,
    credentials_of,
    parse_directives,
)
from howdah.protocol.sasl.gssapi import GssapiClient, GssapiServer
from howdah.protocol.sasl.protection import Protection
from tests.support.security.half_context import HalfContext
from tests.unit.protocol.sasl.test_hadoop_conversations import (
    CALLS,
    RECORDED,
    client_of,
    messages_of,
)

NAME, PASSWORD = credentials_of(b"an identifier", b"secret of the token")
PROTECTIONS: Final = st.lists(st.sampled_from(Protection), min_size=1, unique=True)


def password_of(name: bytes) -> bytes:
    if name != NAME:
        raise errors.InvalidToken("it was not issued here")
    return PASSWORD


def digest_server(
    *protections: Protection, nonce: bytes = b"bm9uY2U=", ciphers: Sequence[str] = STRONG_CIPHERS
) -> DigestMd5Server:
    return DigestMd5Server(
        password_of,
        "default",
        "/default",
        protections or (Protection.AUTHENTICATION,),
        nonce=nonce,
        setting="hadoop.rpc.protection",
        ciphers=ciphers,
    )


def digest_client(
    *protections: Protection, name: bytes = NAME, password: bytes = PASSWORD, uri: str = "/default"
) -> DigestMd5Client:
    return DigestMd5Client(
        name,
        password,
        uri,
        protections or (Protection.AUTHENTICATION,),
        cnonce=b"Y25vbmNl",
        setting="hadoop.rpc.protection",
    )


def exchange(client: DigestMd5Client, server: DigestMd5Server) -> None:
    response = client.evaluate(server.evaluate(b""))
    assert response is not None
    assert client.evaluate(server.evaluate(response)) is None
    assert client.is_complete
    assert server.is_complete


def test_a_response_can_be_looked_at_before_a_password_is_looked_up() -> None:
    client, server = digest_client(), digest_server()
    assert server.name_to_look_up(b"") is None, "the challenge is due"
    response = client.evaluate(server.evaluate(b""))
    assert response is not None
    assert server.name_to_look_up(response) == NAME
    assert server.is_proven_by(response, PASSWORD)
    assert not server.is_proven_by(response, b"another password")
    for refused in (b"", b"nonsense", response.replace(b"bm9uY2U=", b"bm9uY2V=")):
        assert server.name_to_look_up(refused) is None
    # Nothing has changed by that.
    assert client.evaluate(server.evaluate(response)) is None
    assert server.is_complete
    assert server.name_to_look_up(response) is None


@pytest.mark.parametrize("cipher", STRONG_CIPHERS)
@given(messages=st.lists(st.binary(max_size=300), max_size=4), wanted=PROTECTIONS)
def test_a_token_proves_itself_and_layers_fit(
    cipher: str, messages: list[bytes], wanted: list[Protection]
) -> None:
    client, server = digest_client(*wanted), digest_server(*Protection, ciphers=[cipher])
    exchange(client, server)
    assert server.client == NAME.decode()
    assert client.protection is server.protection is wanted[0]
    if wanted[0] is Protection.AUTHENTICATION:
        assert client.layer is server.layer is None
        return
    assert client.layer is not None
    assert server.layer is not None
    for message in messages:
        assert server.layer.unwrap(client.layer.wrap(message)) == message
        assert client.layer.unwrap(server.layer.wrap(message)) == message


@pytest.mark.parametrize("name", CALLS)
def test_hadoops_conversation_is_led_by_this_server_word_for_word(name: str) -> None:
    """With the nonce of the namenode, the same proof; what Java's client chose is taken."""
    recorded = RECORDED[name]
    identifier, password = (bytes.fromhex(recorded[key]) for key in ("identifier", "password"))
    messages = [decode_sasl(payload) for payload in messages_of(name, "S")]
    challenge = parse_directives(messages[0].auths[0].challenge)
    server = DigestMd5Server(
        lambda said: credentials_of(identifier, password)[1],
        "default",
        "/default",
        tuple(Protection),
        nonce=challenge["nonce"],
        setting="hadoop.rpc.protection",
        ciphers=CIPHERS,
    )
    mine = parse_directives(server.evaluate(b""))
    assert {key: mine[key] for key in ("realm", "nonce", "qop", "algorithm", "charset")} == {
        key: challenge[key] for key in ("realm", "nonce", "qop", "algorithm", "charset")
    }
    client = client_of(name, "/default")
    response = client.evaluate(messages[0].auths[0].challenge)
    assert response is not None
    assert server.evaluate(response) == messages[1].token


@pytest.mark.parametrize(
    ("client", "words"),
    [
        (digest_client(password=b"another"), "Mismatched response"),
        (digest_client(uri="hdfs/0"), "not for"),
        (digest_client(uri="nn/default"), "not for"),
    ],
)
def test_who_does_not_know_the_password_or_talks_to_another_is_refused(
    client: DigestMd5Client, words: str
) -> None:
    server = digest_server()
    response = client.evaluate(server.evaluate(b""))
    assert response is not None
    with pytest.raises(errors.AuthenticationFailed, match=words):
        server.evaluate(response)
    assert not server.is_complete


def test_an_unknown_token_is_said_to_be_one() -> None:
    server = digest_server()
    response = digest_client(name=b"other").evaluate(server.evaluate(b""))
    assert response is not None
    with pytest.raises(errors.InvalidToken, match="not issued"):
        server.evaluate(response)


def without(field: bytes) -> Callable[[bytes], bytes]:
    def change(response: bytes) -> bytes:
        parts = [part for part in response.split(b",") if not part.startswith(field)]
        assert len(parts) < response.count(b",") + 1
        return b",".join(parts)

    return change


def put(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    def change(response: bytes) -> bytes:
        assert old in response
        return response.replace(old, new)

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (without(b"nonce"), "lacks 'nonce'"),
        (without(b"cnonce"), "lacks 'cnonce'"),
        (without(b"username"), "lacks 'username'"),
        (without(b"response"), "lacks 'response'"),
        (without(b"digest-uri"), "lacks 'digest-uri'"),
        (without(b"nc="), "lacks 'nc'"),
        (put(b"nc=00000001", b"nc=00000002"), "used once"),
        (put(b"bm9uY2U=", b"b3RoZXI="), "another challenge"),
        (put(b"maxbuf=65536", b"maxbuf=16"), "no size"),
        (put(b"maxbuf=65536", b"maxbuf=-1"), "no size"),
        (put(b"maxbuf=65536", b"maxbuf=99999999999"), "no size"),
        (put(b"qop=auth", b"qop=auth-conf"), "chose privacy"),
        (put(b"qop=auth", b"qop=more"), "unknown protection"),
        (put(b'realm="default"', b'realm="0"'), "realm"),
        (put(b"authzid=", b'cipher="rc4",authzid='), "without privacy"),
        (put(b"authzid=" + b'"' + NAME, b'authzid="hdfs'), "another one"),
        (lambda response: response + b',nonce="x"', "twice"),
        (lambda response: response + b"\0", "cannot be understood"),
        (lambda response: response + b"," * MOST_RESPONSE_BYTES, "are allowed"),
        (lambda response: b"", "lacks"),
    ],
)
def test_a_changed_response_is_refused(change: Callable[[bytes], bytes], words: str) -> None:
    server = digest_server(Protection.AUTHENTICATION)
    response = digest_client().evaluate(server.evaluate(b""))
    assert response is not None
    with pytest.raises(errors.AuthenticationFailed, match=words):
        server.evaluate(change(response))
    assert not server.is_complete
    assert server.layer is None


@pytest.mark.parametrize("cipher", [None, "des", "rc4-40", "none"])
def test_a_weak_cipher_is_refused_though_the_proof_is_good(cipher: str | None) -> None:
    """The list of ciphers is in no proof: who stands between may shorten it."""
    server = digest_server(Protection.PRIVACY)
    challenge = server.evaluate(b"").replace(b"rc4,3des", b"rc4-40")
    response = digest_client(Protection.PRIVACY).evaluate(challenge)
    assert response is not None
    changed = (
        response.replace(b'cipher="rc4-40"', b'cipher="%s"' % cipher.encode())
        if cipher
        else (response.replace(b',cipher="rc4-40"', b""))
    )
    with pytest.raises(errors.AuthenticationFailed, match="one of the ciphers rc4, 3des"):
        server.evaluate(changed)


@pytest.mark.parametrize("protection", [Protection.INTEGRITY, Protection.PRIVACY])
@pytest.mark.parametrize("most_bytes", [17, 1023])
def test_a_client_that_wants_tiny_messages_is_refused(
    protection: Protection, most_bytes: int
) -> None:
    """An answer would go to it a byte at a time, each with a proof of its own."""
    server = digest_server(protection)
    response = digest_client(protection).evaluate(server.evaluate(b""))
    assert response is not None
    with pytest.raises(errors.AuthenticationFailed, match="has to take 1024 or more"):
        server.evaluate(response.replace(b"maxbuf=65536", b"maxbuf=%d" % most_bytes))
    assert server.layer is None


def test_a_client_without_a_layer_takes_messages_of_any_size() -> None:
    server = digest_server(Protection.AUTHENTICATION)
    response = digest_client().evaluate(server.evaluate(b""))
    assert response is not None
    server.evaluate(response.replace(b"maxbuf=65536", b"maxbuf=17"))
    assert server.is_complete


def test_a_server_speaks_first_and_is_used_once() -> None:
    with pytest.raises(errors.AuthenticationFailed, match="first word"):
        digest_server().evaluate(b"username=x")
    client, server = digest_client(), digest_server()
    exchange(client, server)
    with pytest.raises(errors.AuthenticationFailed, match="behind the proof"):
        server.evaluate(b"")


@given(st.binary(max_size=400))
def test_any_response_is_refused_in_words(response: bytes) -> None:
    server = digest_server(*Protection)
    server.evaluate(b"")
    with pytest.raises((errors.AuthenticationFailed, errors.InvalidToken)):
        server.evaluate(response)


# -- GSSAPI ------------------------------------------------------------------------


def gss_pair(
    client: Sequence[Protection], server: Sequence[Protection], last: bytes = b"AP-REP", **can: bool
) -> tuple[GssapiClient, GssapiServer]:
    """Where the server has no last token (`last` is empty) it makes its offer at once."""
    setting = "hadoop.rpc.protection"
    request = b"AP-REQ alice@EXAMPLE.COM"
    mine = HalfContext([request, b""] if last else [request])
    return (
        GssapiClient(mine, client, setting=setting),
        GssapiServer(HalfContext([last], **can), server, setting=setting),
    )


def negotiate(client: GssapiClient, server: GssapiServer) -> None:
    challenge: bytes | None = b""
    for _ in range(4):
        response = client.evaluate(challenge or b"")
        assert response is not None
        challenge = server.evaluate(response)
        if server.is_complete:
            assert challenge is None
            assert client.is_complete
            return
    raise AssertionError("no end")


@pytest.mark.parametrize("last", [b"AP-REP", b""])
@given(wanted=PROTECTIONS, offered=PROTECTIONS, data=st.binary(max_size=100))
def test_a_ticket_proves_itself(
    last: bytes, wanted: list[Protection], offered: list[Protection], data: bytes
) -> None:
    client, server = gss_pair(wanted, offered, last)
    common = [each for each in wanted if each in offered]
    if not common:
        with pytest.raises(errors.AuthenticationFailed, match="No common protection"):
            negotiate(client, server)
        return
    negotiate(client, server)
    assert server.client == "alice@EXAMPLE.COM"
    assert client.protection is server.protection is common[0]
    if common[0] is Protection.AUTHENTICATION:
        assert client.layer is server.layer is None
        return
    assert client.layer is not None
    assert server.layer is not None
    assert server.layer.unwrap(client.layer.wrap(data)) == data
    assert client.layer.unwrap(server.layer.wrap(data)) == data


@pytest.mark.parametrize(
    ("can", "left"),
    [
        ({"is_confidential": False}, [Protection.AUTHENTICATION, Protection.INTEGRITY]),
        ({"is_ordered": False}, [Protection.AUTHENTICATION]),
    ],
)
def test_what_a_context_cannot_do_is_not_offered(
    can: dict[str, bool], left: list[Protection]
) -> None:
    for protection in Protection:
        client, server = gss_pair([protection], list(Protection), b"AP-REP", **can)
        if protection in left:
            negotiate(client, server)
        else:
            with pytest.raises(errors.AuthenticationFailed, match="No common protection"):
                negotiate(client, server)


def test_a_context_that_can_do_nothing_of_what_is_asked_for_is_refused() -> None:
    client, server = gss_pair(list(Protection), [Protection.PRIVACY], is_confidential=False)
    with pytest.raises(errors.AuthenticationFailed, match="cannot do what"):
        negotiate(client, server)


def offered(*protections: Protection) -> GssapiServer:
    """A server that waits for the client's choice."""
    _, server = gss_pair([], protections)
    server.evaluate(b"AP-REQ alice@EXAMPLE.COM")
    assert server.evaluate(b"") is not None
    return server


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (b"\1\0\0", "3 bytes"),
        (b"\4\0\0\0", "chose 0x4"),
        (b"\3\0\0\0", "chose 0x3"),
        (b"\0\0\0\0", "chose 0x0"),
        (b"\1\0\0\0hdfs@EXAMPLE.COM", "asks to be treated as b'hdfs@EXAMPLE.COM'"),
        (b"\2\0\0\0", "messages of 0 bytes at most, and has to take 1024"),
        (b"\2\0\3\xff", "messages of 1023 bytes at most"),
    ],
)
def test_a_bad_choice_is_refused(choice: bytes, words: str) -> None:
    server = offered(Protection.AUTHENTICATION, Protection.INTEGRITY)
    with pytest.raises(errors.AuthenticationFailed, match=words):
        server.evaluate(HalfContext([]).wrap(choice, confidential=False))
    assert not server.is_complete


def test_a_choice_may_name_the_client_itself() -> None:
    server = offered(Protection.AUTHENTICATION)
    choice = HalfContext([]).wrap(b"\1\0\0\0alice@EXAMPLE.COM", confidential=False)
    assert server.evaluate(choice) is None
    assert server.is_complete
    with pytest.raises(errors.AuthenticationFailed, match="behind the last word"):
        server.evaluate(b"")


def test_a_choice_that_was_changed_on_its_way_is_refused() -> None:
    server = offered(*Protection)
    choice = HalfContext([]).wrap(b"\4\1\0\0", confidential=False)
    with pytest.raises(errors.AuthenticationFailed, match="changed"):
        server.evaluate(choice[:-4] + b"\1\1\0\0")


def test_a_token_behind_the_last_one_is_refused() -> None:
    _, server = gss_pair([], list(Protection))
    server.evaluate(b"AP-REQ alice@EXAMPLE.COM")
    with pytest.raises(errors.AuthenticationFailed, match="behind the context's last one"):
        server.evaluate(b"more")
