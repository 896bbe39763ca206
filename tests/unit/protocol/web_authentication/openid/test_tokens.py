"""Tokens of a provider: which prove a user, and why others do not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.protocol.web_authentication.openid.metadata import MalformedDocument
from howdah.protocol.web_authentication.openid.tokens import (
    ALGORITHMS,
    LEEWAY_S,
    MOST_CHARACTERS,
    SignedToken,
    TokenRefused,
    UnknownKey,
    check_access_token,
    check_id_token,
    keys_of,
    signed_token,
)
from tests.support.openid import (
    AUDIENCE,
    CLIENT,
    ISSUER,
    FakeProvider,
    other_keys,
    signed,
    signed_by_public_key,
    unsigned,
)

NOW_S = 1_800_000_000
CLAIMS = {"iss": ISSUER, "sub": "s", "aud": AUDIENCE, "exp": NOW_S + 300, "iat": NOW_S}


@pytest.fixture(scope="module")
def provider() -> FakeProvider:
    return FakeProvider(now_s=lambda: NOW_S)


def read(
    provider: FakeProvider, text: str, algorithms: tuple[str, ...] = ALGORITHMS
) -> SignedToken:
    return signed_token(text, keys_of({"keys": provider.public_keys()}), algorithms)


def refusal(provider: FakeProvider, text: str, algorithms: tuple[str, ...] = ALGORITHMS) -> str:
    with pytest.raises(TokenRefused) as refused:
        read(provider, text, algorithms)
    assert text[-40:] not in refused.value.message or not text
    return refused.value.message


# -- signatures ----------------------------------------------------------------------


def test_a_token_of_the_provider_says_what_it_signed(provider: FakeProvider) -> None:
    token = read(provider, provider.token(aud="x"))
    assert (token.claims["aud"], token.header["kid"]) == ("x", "rsa")
    assert "subject" not in repr(token)


@pytest.mark.parametrize(("key", "algorithm"), other_keys())
def test_each_kind_of_key_is_taken_by_its_own_algorithm(key: Any, algorithm: str) -> None:
    provider = FakeProvider(key=key, algorithm=algorithm)
    assert read(provider, provider.token()).header["alg"] == algorithm
    others = tuple(each for each in ALGORITHMS if each != algorithm)
    assert f"algorithm '{algorithm}' is not among" in refusal(provider, provider.token(), others)


def test_no_token_chooses_how_it_is_believed(provider: FakeProvider) -> None:
    assert "algorithm 'none' is not among" in refusal(provider, unsigned(CLAIMS))
    assert "algorithm 'HS256' is not among" in refusal(
        provider, signed_by_public_key(provider, CLAIMS)
    )
    # Not even where an administrator lists them.
    for text in (unsigned(CLAIMS), signed_by_public_key(provider, CLAIMS)):
        assert "is not among" in refusal(provider, text, (*ALGORITHMS, "none", "HS256"))


def test_a_key_within_a_token_is_none(provider: FakeProvider) -> None:
    stranger = FakeProvider()
    own_key = dict(stranger.key.as_dict(private=False))
    header = {"alg": "RS256", "kid": "rsa", "jwk": own_key, "jku": "https://evil.example.com/"}
    assert "signature does not hold" in refusal(provider, signed(stranger, header, CLAIMS))


def test_a_token_by_a_key_that_is_not_published_is_known_as_such(provider: FakeProvider) -> None:
    stranger = FakeProvider(header={"kid": "new"})
    with pytest.raises(UnknownKey, match="signed by the key 'new'"):
        read(provider, stranger.token())


def test_a_token_that_names_no_key_is_taken_where_there_is_one_alone() -> None:
    provider = FakeProvider(header={"kid": None})
    assert read(provider, provider.token()).claims["iss"] == ISSUER
    one = provider.public_keys()
    provider.published = [*one, *FakeProvider().public_keys()]
    assert "2 could be it" in refusal(provider, provider.token())


def test_a_changed_token_is_refused(provider: FakeProvider) -> None:
    header, _, mark = provider.token().split(".")
    other = provider.token(preferred_username="root").split(".")[1]
    assert "signature does not hold" in refusal(provider, f"{header}.{other}.{mark}")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, None),
        ({"x5c": ["M" * 2000], "x5t": "x", "word.of.a.provider": 1}, None),
        ({"crit": ["new"], "new": 1}, "signature does not hold"),
        ({"crit": ["b64"], "b64": False}, "signature does not hold"),
        ({"alg": ["RS256"]}, "is not among"),
        ({"kid": 7}, "by no text"),
        ({"kid": {}}, "by no text"),
    ],
)
def test_what_a_header_asks_for_is_known_or_the_token_is_refused(
    provider: FakeProvider, more: dict[str, Any], said: str | None
) -> None:
    text = signed(provider, {"alg": "RS256", "kid": "rsa", **more}, CLAIMS)
    if said is None:
        assert read(provider, text).claims == CLAIMS
    else:
        assert said in refusal(provider, text)


def test_claims_are_an_object_of_json(provider: FakeProvider) -> None:
    malformed: list[Any] = [[], {"exp": float("nan")}, {"exp": float("inf")}]
    for claims in malformed:
        text = signed(provider, {"alg": "RS256", "kid": "rsa"}, claims)
        assert "signature does not hold" in refusal(provider, text)


@pytest.mark.parametrize(
    "text", ["", "a.b.c", "..", "a" * (MOST_CHARACTERS + 1), "é.é.é", "e30.e30.e30", "W10.e30."]
)
def test_what_is_no_token_is_refused(provider: FakeProvider, text: str) -> None:
    assert refusal(provider, text)


@given(st.text())
def test_no_text_meets_a_defect(text: str) -> None:
    keys = keys_of({"keys": _KEYS})
    with pytest.raises(TokenRefused):
        signed_token(text, keys, ALGORITHMS)


_KEYS = FakeProvider().public_keys()


# -- keys ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key",
    [
        {"kty": "oct", "k": "c2VjcmV0c2VjcmV0c2VjcmV0", "kid": "rsa"},
        {"kty": "RSA", "kid": "rsa"},
        {"kty": "RSA", "kid": "rsa", "n": 7, "e": []},
        {"kty": "EC", "crv": "P-999", "x": "", "y": ""},
        {"kty": "new", "kid": "rsa"},
        "rsa",
        None,
    ],
)
def test_a_key_that_cannot_be_used_is_left_out(provider: FakeProvider, key: Any) -> None:
    with pytest.raises(MalformedDocument, match="none of its keys"):
        keys_of({"keys": [key]})
    both = keys_of({"keys": [key, *provider.public_keys()]})
    assert signed_token(provider.token(), both, ALGORITHMS).claims["iss"] == ISSUER


def test_keys_for_other_purposes_sign_nothing(provider: FakeProvider) -> None:
    (key,) = provider.public_keys()
    for changes in ({"use": "enc"}, {"alg": "RS512"}, {"key_ops": ["encrypt"]}):
        given = FakeProvider(key=provider.key, published=[{**key, **changes}])
        with pytest.raises((TokenRefused, MalformedDocument)):
            read(given, given.token())


def test_a_short_key_signs_nothing() -> None:
    from cryptography.hazmat.primitives.asymmetric import rsa
    from joserfc.jwk import RSAKey

    short = RSAKey(rsa.generate_private_key(65537, 1024), None).as_dict(private=False)
    with pytest.raises(MalformedDocument, match="none of its keys"):
        keys_of({"keys": [short]})


@pytest.mark.parametrize("document", [None, [], {}, {"keys": {}}, {"keys": [{}] * 129}])
def test_what_is_no_set_of_keys_is_found(document: object) -> None:
    with pytest.raises(MalformedDocument):
        keys_of(document)


# -- claims --------------------------------------------------------------------------


def id_refusal(claims: Mapping[str, Any], access_token: str | None = None) -> str:
    token = SignedToken({"alg": "RS256"}, claims)
    with pytest.raises(TokenRefused) as refused:
        check_id_token(
            token,
            issuer=ISSUER,
            client_id=CLIENT,
            nonce="n",
            access_token=access_token,
            now_s=NOW_S,
        )
    return refused.value.message


ID_CLAIMS = {**CLAIMS, "aud": CLIENT, "nonce": "n"}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"aud": [CLIENT]},
        {"aud": [CLIENT, "other"], "azp": CLIENT},
        {"exp": NOW_S - LEEWAY_S + 1},
        {"iat": NOW_S + LEEWAY_S},
        {"iat": NOW_S + 0.5},
    ],
)
def test_an_id_token_for_this_login_is_taken(changes: dict[str, Any]) -> None:
    token = SignedToken({"alg": "RS256"}, {**ID_CLAIMS, **changes})
    check_id_token(token, issuer=ISSUER, client_id=CLIENT, nonce="n", access_token="a", now_s=NOW_S)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"iss": "https://evil.example.com"}, f"and not from {ISSUER}"),
        ({"iss": f"{ISSUER}/"}, f"and not from {ISSUER}"),
        ({"iss": None}, "has no iss"),
        ({"aud": "other"}, "it is for 'other', and not for howdah"),
        ({"aud": None}, "has no aud"),
        ({"aud": []}, "and not for howdah"),
        ({"aud": {"howdah": 1}}, "and not for howdah"),
        ({"aud": [CLIENT, "other"]}, "has no azp"),
        ({"azp": "other"}, "issued to 'other'"),
        ({"nonce": "of another login"}, "answers another login"),
        ({"nonce": None}, "has no nonce"),
        ({"exp": NOW_S - LEEWAY_S}, "it ended 60 s ago; if it is new, one of both clocks is off"),
        ({"exp": None}, "has no exp"),
        ({"exp": "soon"}, "its exp is not as it has to be"),
        ({"exp": True}, "its exp is not as it has to be"),
        ({"exp": float("nan")}, "its exp is not as it has to be"),
        ({"exp": -(10**400)}, "it ended 10000000000 s ago"),
        ({"iat": NOW_S + LEEWAY_S + 1}, "begins in 61 s: one of both clocks is off"),
        ({"nbf": NOW_S + 3600}, "begins in 3600 s"),
        ({"sub": None}, "has no sub"),
        ({"sub": 7}, "its sub is not as it has to be"),
        ({"at_hash": "of another one"}, "its at_hash is not as it has to be"),
    ],
)
def test_an_id_token_for_another_one_or_time_says_why(changes: dict[str, Any], said: str) -> None:
    claims = {name: value for name, value in {**ID_CLAIMS, **changes}.items() if value is not None}
    assert said in id_refusal(claims, "an access token")


def bearer_refusal(claims: Mapping[str, Any], **header: Any) -> str:
    token = SignedToken({"alg": "RS256", **header}, claims)
    with pytest.raises(TokenRefused) as refused:
        check_access_token(token, issuer=ISSUER, audience=AUDIENCE, now_s=NOW_S)
    return refused.value.message


@pytest.mark.parametrize("kind", [None, "JWT", "at+jwt", "application/at+jwt"])
def test_an_access_token_for_this_cluster_is_taken(kind: str | None) -> None:
    header = {"alg": "RS256", **({"typ": kind} if kind else {})}
    for audience in (AUDIENCE, ["other", AUDIENCE]):
        claims = {**CLAIMS, "aud": audience}
        check_access_token(
            SignedToken(header, claims), issuer=ISSUER, audience=AUDIENCE, now_s=NOW_S
        )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"aud": CLIENT}, f"it is for 'howdah', and not for {AUDIENCE}"),
        ({"aud": f"{AUDIENCE}2"}, f"and not for {AUDIENCE}"),
        ({"aud": None}, "has no aud"),
        ({"iss": "https://evil.example.com"}, f"and not from {ISSUER}"),
        ({"iss": None}, "has no iss"),
        ({"exp": None}, "has no exp"),
        ({"exp": NOW_S - LEEWAY_S}, "ended 60 s ago"),
        ({"exp": float("inf")}, "its exp is not as it has to be"),
        ({"nbf": NOW_S + 3600}, "begins in 3600 s"),
        ({"cnf": {"jkt": "x"}}, "bound to a key"),
    ],
)
def test_an_access_token_for_another_one_or_time_says_why(
    changes: dict[str, Any], said: str
) -> None:
    claims = {name: value for name, value in {**CLAIMS, **changes}.items() if value is not None}
    assert said in bearer_refusal(claims)


def test_tokens_for_other_purposes_are_no_access_tokens() -> None:
    for kind in ("logout+jwt", "dpop+jwt", 7, ["at+jwt"]):
        assert "another type" in bearer_refusal(CLAIMS, typ=kind)
