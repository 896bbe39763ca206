"""The way of a browser to a provider and back: what a login goes on by, and what ends it."""

from __future__ import annotations

import base64
import contextlib
import json
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("authlib", reason="authlib is not installed")

from authlib.oauth2.rfc7636 import create_s256_code_challenge

from howdah.protocol.web_authentication.openid.flow import (
    RANDOM_BYTES,
    VALIDITY_MS,
    Begun,
    LoginFlow,
    LoginRefused,
)

FLOW = LoginFlow(b"key", "https://id.example.com", "howdah", ("openid", "profile"), "stamp")
BACK = "https://nn:9871/login/openid/callback"
RANDOM = bytes(range(RANDOM_BYTES))
NOW_MS = 1_000


def begun(flow: LoginFlow = FLOW, random: bytes = RANDOM) -> Begun:
    return flow.begin(
        "https://id.example.com/authorize?a=b", BACK, "/explorer?path=/a", random, NOW_MS
    )


def query_of(login: Begun) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(login.location).query).items()}


def answer_to(login: Begun, **more: str) -> dict[str, str]:
    return {"state": query_of(login)["state"], "code": "c", **more}


def refusal(
    cookie: str | None, query: dict[str, str], *, back: str = BACK, now_ms: int = NOW_MS
) -> str:
    with pytest.raises(LoginRefused) as refused:
        FLOW.resume(cookie, query, back, now_ms)
    return refused.value.message


def test_a_browser_is_sent_to_the_provider_with_all_that_the_flow_needs() -> None:
    login = begun()
    assert login.location.startswith("https://id.example.com/authorize?")
    query = query_of(login)
    assert query.pop("state") != query["nonce"]
    assert len(query.pop("nonce")) == len(query.pop("code_challenge")) == 43
    assert query == {
        "a": "b",
        "response_type": "code",
        "client_id": "howdah",
        "redirect_uri": BACK,
        "scope": "openid profile",
        "code_challenge_method": "S256",
    }


def test_the_answer_is_worth_the_code_and_what_proves_the_login() -> None:
    login = begun()
    resumed = FLOW.resume(login.cookie, answer_to(login), BACK, NOW_MS + VALIDITY_MS - 1)
    assert (resumed.code, resumed.after) == ("c", "/explorer?path=/a")
    assert resumed.nonce == query_of(login)["nonce"]
    assert create_s256_code_challenge(resumed.verifier) == query_of(login)["code_challenge"]


def test_each_login_has_a_state_a_nonce_and_a_challenge_of_its_own() -> None:
    one, other = query_of(begun()), query_of(begun(random=bytes(RANDOM_BYTES)))
    for name in ("state", "nonce", "code_challenge"):
        assert one[name] != other[name]
    by_other_key = query_of(begun(replace(FLOW, key=b"other")))
    assert by_other_key["nonce"] != one["nonce"]


def test_the_cookie_shows_neither_the_nonce_nor_the_verifier() -> None:
    login = begun()
    resumed = FLOW.resume(login.cookie, answer_to(login), BACK, NOW_MS)
    shown = base64.urlsafe_b64decode(login.cookie.partition(".")[0] + "==").decode()
    for secret in (resumed.nonce, resumed.verifier):
        assert secret not in shown
        assert secret not in repr(resumed)
    assert "key" not in repr(FLOW)


def test_the_state_of_another_browser_is_refused() -> None:
    mine, others = begun(), begun(random=bytes(RANDOM_BYTES))
    assert "another login" in refusal(mine.cookie, answer_to(others))
    assert "another login" in refusal(mine.cookie, {"code": "c"})
    assert "begun no login" in refusal(None, answer_to(mine))


def test_a_login_ends_after_ten_minutes() -> None:
    login = begun()
    said = refusal(login.cookie, answer_to(login), now_ms=NOW_MS + VALIDITY_MS)
    assert "ten minutes" in said


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"error": "access_denied", "error_description": "<planted>"}, "has refused"),
        ({"error": "<script>"}, "not in the standard"),
        ({"iss": "https://evil.example.com"}, "is not from https://id.example.com"),
        ({"code": ""}, "has no code"),
        ({"code": "c" * 5000}, "has no code"),
    ],
)
def test_an_answer_without_a_code_says_why_in_our_own_words(
    query: dict[str, str], said: str
) -> None:
    login = begun()
    message = refusal(login.cookie, answer_to(login, **query))
    assert said in message
    assert "<" not in message


def test_an_error_is_not_believed_before_the_state_is() -> None:
    assert "another login" in refusal(begun().cookie, {"error": "access_denied", "state": "x"})


def test_a_login_goes_on_where_it_began_and_by_what_was_agreed_then() -> None:
    login = begun()
    elsewhere = BACK.replace("nn", "dn")
    assert f"began for {BACK}" in refusal(login.cookie, answer_to(login), back=elsewhere)
    changed = begun(replace(FLOW, stamp="other"))
    assert "another provider" in refusal(changed.cookie, answer_to(changed))


def test_a_cookie_of_another_server_or_of_nobody_is_none() -> None:
    login = begun()
    of_other = begun(replace(FLOW, key=b"other"))
    assert "not begun at this server" in refusal(of_other.cookie, answer_to(of_other))
    text, _, mark = login.cookie.partition(".")
    pending = json.loads(base64.urlsafe_b64decode(text + "=="))
    forged = base64.urlsafe_b64encode(json.dumps({**pending, "after": "//evil"}).encode()).decode()
    assert "not begun at this server" in refusal(f"{forged}.{mark}", answer_to(login))


@given(st.text(), st.dictionaries(st.sampled_from(["state", "code", "iss", "error"]), st.text()))
def test_no_cookie_and_no_answer_meets_a_defect(cookie: str, query: dict[str, str]) -> None:
    assert refusal(cookie, query)
    login = begun()
    with contextlib.suppress(LoginRefused):
        FLOW.resume(login.cookie, {**answer_to(login), **query}, BACK, NOW_MS)
