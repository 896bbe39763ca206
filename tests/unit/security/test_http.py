"""Proofs over HTTP: a ticket once, then its cookie; a token; a server that proves nothing."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from howdah import errors
from howdah.formats.tokens.credentials import Credentials
from howdah.formats.tokens.token import HDFS_DELEGATION, WEBHDFS_DELEGATION, Token
from howdah.protocol.sasl.principals import Principal
from howdah.security.http import HttpAuthentication
from howdah.security.login import LoginSource
from howdah.security.settings import SecuritySettings
from howdah.security.users import Identity, SecuredUser

ADDRESS = ("127.0.0.1", 9870)


class Context:
    """Established by the word "proof"."""

    is_established = False

    def step(self, token: bytes) -> bytes:
        if token and token != b"proof":
            raise errors.AuthenticationFailed("not the server")
        self.is_established = token == b"proof"
        return b"" if token else b"ticket"


class Login:
    def __init__(self) -> None:
        self.targets: list[Principal] = []

    def get(self) -> Login:
        return self

    def context(self, target: Principal, timeout_s: float, *, spnego: bool = False) -> Context:
        assert spnego
        self.targets.append(target)
        return Context()


def user_with(
    login: Login | None,
    path: Path | None = None,
    real: str | None = None,
    *,
    fallback_allowed: bool = False,
) -> SecuredUser:
    token_file = None if path is None else str(path)
    settings = SecuritySettings(
        is_enabled=True, fallback_allowed=fallback_allowed, rules_mechanism="mit"
    )
    identity = Identity(settings, LoginSource(), token_file, login is not None)
    user = SecuredUser("alice", identity, real or "alice@R", real)
    if login is not None:
        user._login = login  # type: ignore[assignment]
    return user


def answer(text: str = "proof", cookie: str = "") -> dict[str, str]:
    proof = base64.b64encode(text.encode()).decode()
    return {"www-authenticate": f"Negotiate {proof}", "set-cookie": cookie}


def test_a_ticket_is_shown_once_and_then_its_cookie() -> None:
    login = Login()
    ours = HttpAuthentication(user_with(login), None)
    first = ours.proof(ADDRESS)
    assert first.headers["Authorization"] == "Negotiate dGlja2V0"
    assert first.parameters == ()
    ours.check(ADDRESS, first, answer(cookie='hadoop.auth="u=alice&s=x="; Path=/; HttpOnly'))
    second = ours.proof(ADDRESS)
    assert second.headers == {"Cookie": 'hadoop.auth="u=alice&s=x="'}
    assert "s=x" not in repr(second)
    assert len(login.targets) == 1
    assert (login.targets[0].primary, login.targets[0].realm) == ("HTTP", "")
    assert not ours.is_stale(ADDRESS, second, 200)
    assert ours.is_stale(ADDRESS, second, 401)
    assert "Authorization" in ours.proof(ADDRESS).headers


def test_a_server_that_proves_nothing_is_refused() -> None:
    ours = HttpAuthentication(user_with(Login()), None)
    for headers in ({}, {"www-authenticate": "Negotiate"}, {"www-authenticate": "Basic x"}):
        with pytest.raises(errors.AuthenticationFailed, match="did not prove that it is HTTP/"):
            ours.check(ADDRESS, ours.proof(ADDRESS), headers)
    with pytest.raises(errors.AuthenticationFailed, match="fallback-to-simple-auth-allowed = true"):
        ours.check(ADDRESS, ours.proof(ADDRESS), {})
    with pytest.raises(errors.AuthenticationFailed, match="not the server"):
        ours.check(ADDRESS, ours.proof(ADDRESS), answer("other"))
    with pytest.raises(errors.AuthenticationFailed):
        ours.check(ADDRESS, ours.proof(ADDRESS), {"www-authenticate": "Negotiate !!"})


def test_a_token_takes_the_place_of_a_ticket(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    web = Token(b"i", b"p", WEBHDFS_DELEGATION, "127.0.0.1:9870")
    rpc = Token(b"i", b"p", HDFS_DELEGATION, "ha-hdfs:ns")
    path.write_bytes(Credentials({"a": rpc, "b": web}).encode())
    login = Login()
    assert HttpAuthentication(user_with(login, path), None).proof(ADDRESS).parameters == (
        ("delegation", web.url_string),
    )
    other = "10.0.0.1", 9870
    assert HttpAuthentication(user_with(login, path), "ns").proof(other).parameters == (
        ("delegation", rpc.url_string),
    )
    with pytest.raises(errors.LoginFailed, match="no token for it"):
        HttpAuthentication(user_with(None, path), None).proof(other)
    assert login.targets == []


def test_who_is_acted_for_is_said() -> None:
    ours = HttpAuthentication(user_with(Login(), real="oozie@R"), None)
    assert ours.proof(ADDRESS).parameters == (("doas", "alice"),)


def test_a_request_about_a_token_shows_a_ticket(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    web = Token(b"i", b"p", WEBHDFS_DELEGATION, "127.0.0.1:9870")
    path.write_bytes(Credentials({"b": web}).encode())
    ours = HttpAuthentication(user_with(Login(), path), None)
    assert "Authorization" in ours.proof(ADDRESS, of_token=True).headers
    # Who has tokens alone has nothing better: the server says what is wrong.
    alone = HttpAuthentication(user_with(None, path), None)
    assert alone.proof(ADDRESS, of_token=True).parameters == (("delegation", web.url_string),)


def test_a_token_of_rpc_is_good_at_the_same_namenode(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    rpc = Token(b"i", b"p", HDFS_DELEGATION, "127.0.0.1:8020")
    web = Token(b"i", b"p", WEBHDFS_DELEGATION, "127.0.0.1:8020")
    path.write_bytes(Credentials({"a": web, "b": rpc}).encode())
    user = user_with(None, path)
    assert HttpAuthentication(user, None, [("127.0.0.1", 8020)]).proof(ADDRESS).parameters == (
        ("delegation", rpc.url_string),
    )
    with pytest.raises(errors.LoginFailed, match="no token for it"):
        HttpAuthentication(user, None, [("127.0.0.1", 8021)]).proof(ADDRESS)


def test_without_security_a_user_without_a_token_says_his_name(tmp_path: Path) -> None:
    identity = Identity(SecuritySettings(), LoginSource(), None, False)
    ours = HttpAuthentication(SecuredUser("alice", identity, "alice"), None)
    assert ours.proof(ADDRESS).parameters == (("user.name", "alice"),)


def test_a_server_is_met_before_it_is_asked_for_a_change() -> None:
    ours = HttpAuthentication(user_with(Login()), None)
    proof = ours.proof(ADDRESS)
    assert ours.has_to_be_met(ADDRESS, proof, changes=True)
    assert not ours.has_to_be_met(ADDRESS, proof, changes=False)
    with pytest.raises(errors.AuthenticationFailed, match="fallback-to-simple-auth-allowed"):
        ours.meet(ADDRESS, proof, 200, {})
    ours.meet(ADDRESS, proof, 403, {})
    assert ours.has_to_be_met(ADDRESS, ours.proof(ADDRESS), changes=True)
    proof = ours.proof(ADDRESS)
    ours.meet(ADDRESS, proof, 200, answer())
    # It has sent no cookie.
    proof = ours.proof(ADDRESS)
    assert proof.context is not None
    assert not ours.has_to_be_met(ADDRESS, proof, changes=True)


@pytest.mark.parametrize(
    ("status", "headers"), [(200, {}), (401, {"www-authenticate": "PseudoAuth"})]
)
@pytest.mark.parametrize(
    ("real", "said"),
    [
        (None, (("user.name", "alice"),)),
        ("oozie/h@R", (("doas", "alice"), ("user.name", "oozie"))),
    ],
)
def test_a_fall_back_is_taken_where_it_is_allowed_and_told(
    status: int,
    headers: dict[str, str],
    real: str | None,
    said: object,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("howdah.security.http.default_realm", lambda: "R")
    user = user_with(Login(), real=real, fallback_allowed=True)
    ours = HttpAuthentication(user, None)
    proof = ours.proof(ADDRESS)
    assert ours.has_to_be_met(ADDRESS, proof, changes=False)
    with caplog.at_level("WARNING"):
        ours.meet(ADDRESS, proof, status, headers)
    assert "127.0.0.1:9870 asks for no proof" in caplog.text
    assert user.has_fallen_back
    then = ours.proof(ADDRESS)
    assert (then.parameters, then.headers) == (said, {})
    assert not ours.has_to_be_met(ADDRESS, then, changes=True)
    # Another one is not taken for the same.
    assert ours.proof(("127.0.0.1", 9871)).context is not None


def test_a_server_that_asks_for_a_proof_is_no_simple_one() -> None:
    user = user_with(Login(), fallback_allowed=True)
    ours = HttpAuthentication(user, None)
    for headers in ({"www-authenticate": "Negotiate"}, answer("other")):
        with pytest.raises(errors.AuthenticationFailed):
            ours.meet(ADDRESS, ours.proof(ADDRESS), 200, headers)
    ours.meet(ADDRESS, ours.proof(ADDRESS), 401, {"www-authenticate": "Negotiate"})
    ours.meet(ADDRESS, ours.proof(ADDRESS), 403, {})
    assert not user.has_fallen_back
    proof = ours.proof(ADDRESS)
    ours.meet(ADDRESS, proof, 200, answer(cookie="hadoop.auth=x"))
    assert ours.proof(ADDRESS).headers == {"Cookie": 'hadoop.auth="x"'}


def test_a_server_that_was_taken_without_a_proof_may_ask_for_one_later() -> None:
    ours = HttpAuthentication(user_with(Login(), fallback_allowed=True), None)
    ours.meet(ADDRESS, ours.proof(ADDRESS), 200, {})
    simple = ours.proof(ADDRESS)
    assert simple.context is None
    assert not ours.is_stale(ADDRESS, simple, 200)
    assert not ours.is_stale(ADDRESS, simple, 403)
    assert ours.is_stale(ADDRESS, simple, 401)
    again = ours.proof(ADDRESS)
    assert again.context is not None
    assert not ours.is_stale(ADDRESS, again, 401), "there is nothing else to show"


@pytest.mark.parametrize("is_allowed", [True, False])
def test_an_answer_without_a_proof_is_taken_where_that_is_allowed(is_allowed: bool) -> None:
    ours = HttpAuthentication(user_with(Login(), fallback_allowed=is_allowed), None)
    proof = ours.proof(ADDRESS)
    assert ours.may_lack_proof(proof, {}) is is_allowed
    assert not ours.may_lack_proof(proof, answer("other")), "it claims to be somebody"
