"""Logins by OpenID Connect at web ports: the way to the provider and back, cookies, tokens."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from howdah.protocol.rpc.proven import OPENID, Proven
from howdah.protocol.web_authentication.openid.flow import LoginFlow
from howdah.protocol.web_authentication.openid.tokens import ALGORITHMS
from howdah.protocol.web_authentication.signed_cookie import (
    CookieScope,
    CookieSigner,
    SignedIdentity,
)
from howdah.security.openid.provider import Provider
from howdah.security.openid.settings import OpenIdSettings
from howdah.web.access.guard import Administrators, WebGuard
from howdah.web.access.logins import LoginCookies
from howdah.web.access.openid_logins import KIND, OpenIdProver
from howdah.web.access.rules import AccessRules, Rule
from howdah.web.http import Admitted, Request, Response
from tests.support.openid import AUDIENCE, CLIENT, ISSUER, SECRET, FakeProvider

TABLE = {"/page": Rule.PAGE, "/webhdfs/v1": Rule.FILES, "/token": Rule.TOKEN, "/mine": Rule.USER}
SETTINGS = OpenIdSettings(
    ISSUER, CLIENT, SECRET, ("openid",), "preferred_username", (), "", ALGORITHMS, AUDIENCE,
    None, False,
)  # fmt: skip
START = "/login/openid"
BACK = "/login/openid/callback"


class Server:
    """A guard, and what it is asked."""

    def __init__(self, settings: OpenIdSettings = SETTINGS, key: bytes = b"key") -> None:
        self.fake = FakeProvider()
        self.now_ms = 1_000
        signer = CookieSigner(key)
        self.prover = OpenIdProver(
            Provider(settings, self.fake),
            LoginFlow(signer.derived_key("login"), ISSUER, CLIENT, ("openid",), settings.stamp),
            LoginCookies(signer, 5_000_000, CookieScope(), KIND, lambda: self.now_ms),
            "namenode",
            AccessRules(TABLE),
        )
        self.guard = WebGuard(self.prover, AccessRules(TABLE), Administrators({"root"}, "hdfs"))

    def ask(
        self,
        path: str,
        bearer: str | None = None,
        *,
        method: str = "GET",
        peer: str = "10.0.0.1",
        is_secure: bool = True,
        query: dict[str, str] | None = None,
        host: str = "nn:9871",
        **headers: str,
    ) -> Admitted | Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if bearer is not None:
            named["authorization"] = f"Bearer {bearer}"
        query = query or {}
        target = path + (f"?{urlencode(query)}" if query else "")
        answered = self.guard.admit(
            Request(method, path, query, {"host": host, **named}, peer, target, is_secure=is_secure)
        )
        assert isinstance(answered, Admitted | Response)
        return answered

    def status(self, path: str, bearer: str | None = None, **more: Any) -> int:
        answered = self.ask(path, bearer, **more)
        return 200 if isinstance(answered, Admitted) else answered.status

    def refused(self, path: str, bearer: str | None = None, **more: Any) -> Response:
        answered = self.ask(path, bearer, **more)
        assert isinstance(answered, Response)
        return answered

    def bearer(self, user: str) -> str:
        self.fake.user = user
        return self.fake.bearer()

    def begin(self, after: str = "/page?path=/a") -> Response:
        return self.refused(START, query={"next": after})

    def agreed(self, begun: Response) -> dict[str, str]:
        """What the provider leads back with."""
        location = self.fake.authorized(urlsplit(begun.headers["Location"]).query)
        assert location.startswith(f"https://nn:9871{BACK}?")
        return dict(parse_qsl(urlsplit(location).query))

    def log_in(self, after: str = "/page?path=/a") -> Response:
        begun = self.begin(after)
        return self.refused(BACK, query=self.agreed(begun), cookie=cookie_of(begun))


@pytest.fixture
def server() -> Server:
    return Server()


def cookie_of(answered: Admitted | Response) -> str:
    return answered.headers["Set-Cookie"].partition(";")[0]


def text_of(answered: Response) -> str:
    return answered.body.decode()


# -- browsers ------------------------------------------------------------------------


def test_a_browser_logs_in_at_the_provider_and_comes_back_to_its_page(server: Server) -> None:
    closed = server.refused("/page", accept="text/html", query={"path": "/a"})
    assert closed.status == 401
    assert 'href="/login/openid?next=%2Fpage%3Fpath%3D%252Fa"' in text_of(closed)
    assert "Log in at id.example.com" in text_of(closed)
    begun = server.begin()
    assert begun.status == 303
    assert begun.headers["Location"].startswith(f"{ISSUER}/authorize?")
    done = server.refused(BACK, query=server.agreed(begun), cookie=cookie_of(begun))
    assert done.status == 200, text_of(done)
    assert done.headers["Refresh"] == "0; url=/page?path=/a"
    assert 'href="/page?path=/a"' in text_of(done)
    assert "<strong>alice</strong>" in text_of(done)
    assert done.headers["Referrer-Policy"] == "no-referrer", "the address has the code"
    admitted = server.ask("/mine", cookie=cookie_of(done))
    assert isinstance(admitted, Admitted)
    assert admitted.request.proven == Proven(OPENID, "alice", "alice")


def test_cookies_are_shown_where_they_are_needed_and_nowhere_else(server: Server) -> None:
    begun, done = server.begin(), server.log_in()
    pending = begun.headers["Set-Cookie"]
    assert re.fullmatch(
        r"__Host-howdah\.login=[\w.-]+; Path=/; Max-Age=600; Secure; HttpOnly; SameSite=Lax",
        pending,
    )
    scope = done.headers["Set-Cookie"].partition("; ")[2]
    assert scope == "Path=/; Secure; HttpOnly; SameSite=Strict"
    plain = server.refused(START, is_secure=False, peer="127.0.0.1")
    assert re.fullmatch(
        r"howdah\.login=[\w.-]+; Path=/; Max-Age=600; HttpOnly; SameSite=Lax",
        plain.headers["Set-Cookie"],
    )


def test_the_state_of_another_browser_logs_nobody_in(server: Server) -> None:
    mine, others = server.begin(), server.begin()
    answers = server.agreed(others)
    for cookie, said in (
        (cookie_of(mine), "belongs to another login"),
        ("", "has begun no login here"),
        ("__Host-howdah.login=forged.forged", "not begun at this server"),
    ):
        refused = server.refused(BACK, query=answers, cookie=cookie)
        assert refused.status == 401
        assert said in text_of(refused)
        assert "hadoop.auth" not in refused.headers["Set-Cookie"]
    assert "/token" not in server.fake.asked, "no code is spent for it"


def test_a_login_goes_on_once(server: Server) -> None:
    begun = server.begin()
    answers = server.agreed(begun)
    assert server.status(BACK, query=answers, cookie=cookie_of(begun)) == 200
    again = server.refused(BACK, query=answers, cookie=cookie_of(begun))
    assert again.status == 401
    assert "gone on already" in text_of(again)
    assert server.fake.asked.count("/token") == 1


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ({"nonce": None}, "no nonce"),
        ({"aud": "other"}, "and not for howdah"),
        ({"exp": 1}, "clocks is off"),
        ({"preferred_username": "nn/host@R"}, "no name of a user"),
        ({"preferred_username": "<script>"}, "no name of a user"),
    ],
)
def test_a_token_that_is_refused_says_why(
    server: Server, claims: dict[str, Any], said: str
) -> None:
    server.fake.claims = claims
    refused = server.log_in()
    assert refused.status == 401
    assert said in text_of(refused)
    assert "<script>" not in text_of(refused)
    assert refused.headers["Set-Cookie"].startswith("__Host-howdah.login=; ")


@pytest.mark.parametrize(
    ("wanted", "place"),
    [
        ("//evil.example/", "/"),
        ("https://evil.example/", "/"),
        ("/\\evil.example", "/"),
        ("/page\r\nSet-Cookie: a=b", "/"),
        ("/logLevel?log=root&level=DEBUG", "/logLevel"),
        (START, "/"),
        (f"{BACK}?code=1", "/"),
        ("/page?a='b';c=d", "/page?a='b';c=d"),
    ],
)
def test_a_login_leads_to_no_other_server_and_changes_nothing(
    server: Server, wanted: str, place: str
) -> None:
    assert server.log_in(wanted).headers["Refresh"] == f"0; url={place}"


def test_a_login_is_led_back_to_the_server_that_was_asked(server: Server) -> None:
    begun = server.begin()
    answers = server.agreed(begun)
    elsewhere = server.refused(BACK, query=answers, cookie=cookie_of(begun), host="dn:9865")
    assert "began for https://nn:9871" in text_of(elsewhere)
    for host in ("", "nn:9871/evil", "a b", "nn:9871@evil", "nn\r\nX: y"):
        assert server.status(START, host=host) == 400
    assert server.status(START, host="[::1]:9871") == 303


def test_a_cookie_ends_by_its_time_and_with_what_was_agreed(server: Server) -> None:
    cookie = cookie_of(server.log_in())
    assert server.status("/mine", cookie=cookie) == 200
    assert server.status("/mine", cookie=cookie.replace("u=alice", "u=root")) == 401
    changed = Server(replace(SETTINGS, username_claim="sub"))
    assert changed.status("/mine", cookie=cookie) == 401
    server.now_ms += 5_000_000
    assert server.status("/mine", cookie=cookie) == 401


@pytest.mark.parametrize("kind", ["kerberos", "simple", "file"])
def test_a_cookie_of_another_proof_is_none(server: Server, kind: str) -> None:
    identity = SignedIdentity("alice", f"alice#{SETTINGS.stamp}", kind, 9_000_000)
    text = CookieSigner(b"key").sign(identity)
    assert server.status("/mine", cookie=f"hadoop.auth={text}") == 401


def test_a_pending_login_is_no_cookie_of_a_login(server: Server) -> None:
    pending = cookie_of(server.begin()).partition("=")[2]
    assert server.status("/mine", cookie=f"hadoop.auth={pending}") == 401


def test_who_is_logged_in_sees_it_and_can_log_out(server: Server) -> None:
    cookie = cookie_of(server.log_in())
    assert "<strong>alice</strong>" in text_of(server.refused("/login", cookie=cookie))
    assert "Log in at" in text_of(server.refused("/login"))
    for headers in ({"origin": "https://evil"}, {"sec_fetch_site": "cross-site"}):
        assert server.status("/logout", method="POST", cookie=cookie, **headers) == 403
    assert server.status("/logout", cookie=cookie) == 405
    out = server.refused("/logout", method="POST", cookie=cookie, origin="https://nn:9871")
    assert (out.status, out.headers["Location"]) == (303, "/login")
    assert out.headers["Set-Cookie"].startswith("hadoop.auth=; ")


def logout_at_provider(server: Server, **headers: str) -> Response:
    server.fake.metadata["end_session_endpoint"] = f"{ISSUER}/logout?theme=dark"
    cookie = cookie_of(server.log_in())
    return server.refused("/logout", method="POST", cookie=cookie, **headers)


def test_a_log_out_leads_to_the_provider_and_from_there_back(server: Server) -> None:
    out = logout_at_provider(server)
    assert out.status == 200
    assert out.headers["Set-Cookie"].startswith("hadoop.auth=; ")
    there = out.headers["Refresh"].removeprefix("0; url=")
    assert there.startswith(f"{ISSUER}/logout?theme=dark&")
    assert server.fake.logged_out(urlsplit(there).query) == "https://nn:9871/login"
    assert "Log out at id.example.com, too" in text_of(out)
    # A browser would not follow a redirect: the form may lead to this server alone.
    assert "form-action 'self'" in out.headers["Content-Security-Policy"]
    nameless = logout_at_provider(server, host="a b")
    assert "post_logout_redirect_uri" not in nameless.headers["Refresh"]


def test_a_log_out_ends_here_where_the_provider_is_not_to_be_asked(
    caplog: pytest.LogCaptureFixture,
) -> None:
    out = logout_at_provider(Server(replace(SETTINGS, logs_out_at_provider=False)))
    assert (out.status, out.headers["Location"]) == (303, "/login")
    server = Server()
    server.fake.answers["/.well-known/openid-configuration"] = 500, {}, b""
    out = server.refused("/logout", method="POST")
    assert (out.status, out.headers["Location"]) == (303, "/login")
    assert out.headers["Set-Cookie"].startswith("hadoop.auth=; ")
    assert "a log-out from 10.0.0.1 ends here, and not at the provider" in caplog.text


def test_only_a_get_begins_a_login_or_goes_on_with_it(server: Server) -> None:
    begun = server.begin()
    for method in ("HEAD", "POST", "OPTIONS"):
        assert server.status(START, method=method) == 405
        answers = server.agreed(server.begin())
        assert server.status(BACK, method=method, query=answers, cookie=cookie_of(begun)) == 405
    assert server.status("/login", method="POST") == 405


@pytest.mark.parametrize("accept", ["text/html", "*/*"])
def test_nothing_is_taken_over_plain_http_but_from_this_machine(
    server: Server, accept: str
) -> None:
    cookie, token = cookie_of(server.log_in()), server.bearer("alice")
    for path in ("/mine", "/login", "/logout", START, BACK, "/webhdfs/v1/a"):
        plain = server.refused(path, token, is_secure=False, accept=accept, cookie=cookie)
        assert plain.status == 403
        assert b"https" in plain.body
    assert server.status("/mine", token, is_secure=False, peer="127.0.0.1") == 200
    allowed = Server(replace(SETTINGS, allows_plain=True))
    assert allowed.status("/mine", allowed.bearer("alice"), is_secure=False) == 200


def test_a_provider_that_does_not_answer_is_named(server: Server) -> None:
    server.fake.answers["/.well-known/openid-configuration"] = 500, {}, b""
    for path, token in ((START, None), ("/mine", server.bearer("alice"))):
        closed = server.refused(path, token)
        assert (closed.status, closed.headers["Retry-After"]) == (503, "10")
        assert f"{ISSUER} cannot be had" in text_of(closed)
    assert server.status("/health") == 200


# -- programs ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "nobody", "user", "administrator"),
    [
        ("/health", 200, 200, 200),
        ("/login", 200, 200, 200),
        ("/page", 401, 200, 200),
        ("/mine", 401, 200, 200),
        ("/jmx", 401, 200, 200),
        ("/webhdfs/v1/a", 401, 200, 200),
        ("/logs", 401, 403, 200),
        ("/stacks", 401, 403, 200),
        ("/token", 403, 403, 403),
        ("/nowhere", 404, 404, 404),
    ],
)
def test_the_rules_are_those_of_kerberos(
    server: Server, path: str, nobody: int, user: int, administrator: int
) -> None:
    tokens = None, server.bearer("alice"), server.bearer("root")
    assert tuple(server.status(path, token) for token in tokens) == (nobody, user, administrator)


def test_a_token_proves_its_user_and_makes_no_cookie(server: Server) -> None:
    admitted = server.ask("/webhdfs/v1/a", server.bearer("alice"), cookie="hadoop.auth=x")
    assert isinstance(admitted, Admitted)
    assert admitted.request.proven == Proven(OPENID, "alice", "alice")
    assert admitted.headers == {}, "it would outlive the token"


def test_a_token_that_is_refused_is_not_passed_over(server: Server) -> None:
    cookie = cookie_of(server.log_in())
    refused = server.refused("/mine", server.fake.token(aud=CLIENT), cookie=cookie)
    assert refused.status == 401
    assert refused.headers["WWW-Authenticate"] == 'Bearer realm="howdah"'
    assert f"and not for {AUDIENCE}" in text_of(refused)


def test_without_an_audience_no_tokens_are_taken() -> None:
    server = Server(replace(SETTINGS, bearer_audience=None))
    for claims in ({}, {"aud": CLIENT}, {"aud": None}):
        refused = server.refused("/mine", server.fake.bearer(**claims))
        assert refused.status == 401
        assert "WWW-Authenticate" not in refused.headers
        assert "takes none" in text_of(refused)
    assert server.fake.asked == []


def test_passwords_are_not_taken(server: Server) -> None:
    assert server.status("/mine", authorization="Basic YWxpY2U6cGFzc3dvcmQ=") == 401


def test_no_secret_is_shown(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    begun = server.begin()
    answers = server.agreed(begun)
    done = server.refused(BACK, query=answers, cookie=cookie_of(begun))
    token = server.bearer("alice")
    admitted = server.ask("/mine", token)
    server.status("/mine", f"{token}x")
    request = Request("GET", BACK, answers, target=f"{BACK}?{urlencode(answers)}")
    secrets = (SECRET, answers["code"], answers["state"], token, cookie_of(done))
    shown = (
        repr(server.guard), repr(server.prover), repr(admitted), repr(request),
        request.shown_target, caplog.text, text_of(done),
    )  # fmt: skip
    assert "alice logs in from 10.0.0.1" in caplog.text
    for text in shown:
        for secret in secrets:
            assert secret not in text
