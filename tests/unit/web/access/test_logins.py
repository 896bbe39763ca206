"""Logins at web ports: names, passwords, cookies, and the form."""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.formats.passwords import Cost, PasswordRecord, record_of
from howdah.protocol.rpc.proven import PASSWORD, Proven
from howdah.protocol.web_authentication.attempts import FREE_OF_ADDRESS
from howdah.protocol.web_authentication.basic import header_of
from howdah.protocol.web_authentication.signed_cookie import (
    CookieScope,
    CookieSigner,
    SignedIdentity,
)
from howdah.security.passwords import PasswordChecker
from howdah.web.access.guard import Administrators, WebGuard
from howdah.web.access.login_pages import place_after
from howdah.web.access.logins import KIND, LoginCookies, PasswordProver, is_private
from howdah.web.access.rules import AccessRules, Rule
from howdah.web.http import Admitted, NeedsBody, Request, Response

SALT = b"0123456789abcdef"
TABLE = {"/page": Rule.PAGE, "/webhdfs/v1": Rule.FILES, "/token": Rule.TOKEN, "/mine": Rule.USER}
FORM = {"content-type": "application/x-www-form-urlencoded", "host": "nn:9871"}


class Known:
    """Records that may change, or be gone."""

    def __init__(self) -> None:
        self.is_broken = False
        self.passwords = {
            user: record_of(user, f"{user}'s password", SALT, Cost(1, 1, 1))
            for user in ("alice", "root")
        }

    def records(self) -> dict[str, PasswordRecord]:
        if self.is_broken:
            raise errors.InvalidConfiguration("line 7")
        return self.passwords


class Server:
    """A guard, and what it is asked."""

    def __init__(self) -> None:
        self.known = Known()
        self.now_ms = 1_000
        signer = CookieSigner(b"key")
        self.prover = PasswordProver(
            PasswordChecker(self.known, lambda: 0.0),
            LoginCookies(signer, 5_000, CookieScope(), KIND, lambda: self.now_ms),
            "namenode",
            AccessRules(TABLE),
        )
        self.guard = WebGuard(self.prover, AccessRules(TABLE), Administrators({"root"}, "hdfs"))

    def ask(
        self,
        path: str,
        who: str | None = None,
        *,
        body: dict[str, str] | None = None,
        method: str = "GET",
        peer: str = "10.0.0.1",
        is_secure: bool = True,
        query: dict[str, str] | None = None,
        **headers: str,
    ) -> Admitted | Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if who is not None:
            named["authorization"] = header_of(who, f"{who}'s password")
        if body is not None:
            method, named = "POST", {**FORM, **named}
        query = query or {}
        target = path + (f"?{urlencode(query)}" if query else "")
        answered = self.guard.admit(
            Request(method, path, query, named, peer, target, is_secure=is_secure)
        )
        if isinstance(answered, NeedsBody):
            assert body is not None
            return answered.answer(urlencode(body).encode())
        return answered

    def status(self, path: str, who: str | None = None, **more: object) -> int:
        answered = self.ask(path, who, **more)  # type: ignore[arg-type]
        return 200 if isinstance(answered, Admitted) else answered.status

    def log_in(self, user: str = "alice", **fields: str) -> Response:
        answered = self.ask(
            "/login", body={"user": user, "password": f"{user}'s password", **fields}
        )
        assert isinstance(answered, Response)
        return answered


@pytest.fixture
def server() -> Server:
    return Server()


def cookie_of(answered: Admitted | Response) -> str:
    return answered.headers["Set-Cookie"].partition(";")[0]


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
    expected = nobody, user, administrator
    assert tuple(server.status(path, who) for who in (None, "alice", "root")) == expected


def test_who_is_let_in_is_known_to_the_page_and_has_a_cookie(server: Server) -> None:
    by_password = server.ask("/mine", "alice")
    assert isinstance(by_password, Admitted)
    assert by_password.request.proven == Proven(PASSWORD, "alice", "alice")
    scope = by_password.headers["Set-Cookie"].partition("; ")[2]
    assert scope == "Path=/; Secure; HttpOnly; SameSite=Strict"
    by_cookie = server.ask("/mine", cookie=cookie_of(by_password))
    assert isinstance(by_cookie, Admitted)
    assert by_cookie.request.proven == by_password.request.proven
    assert by_cookie.headers == {}
    forged = cookie_of(by_password).replace("u=alice", "u=root")
    assert server.status("/mine", cookie=forged) == 401
    server.now_ms = 6_000
    assert server.status("/mine", cookie=cookie_of(by_password)) == 401


def test_a_cookie_ends_with_the_password_and_with_the_user(server: Server) -> None:
    cookie = cookie_of(server.ask("/mine", "alice"))
    server.known.passwords["alice"] = record_of("alice", "another one", SALT, Cost(1, 1, 1))
    assert server.status("/mine", cookie=cookie) == 401
    of_other = cookie_of(server.ask("/mine", "root"))
    del server.known.passwords["root"]
    assert server.status("/mine", cookie=of_other) == 401


@pytest.mark.parametrize("kind", ["kerberos", "simple", "oidc"])
def test_a_cookie_of_another_proof_is_none(server: Server, kind: str) -> None:
    """Servers may share the key that signs them."""
    record = server.known.passwords["alice"]
    identity = SignedIdentity("alice", f"alice#{record.stamp}", kind, 9_000)
    text = CookieSigner(b"key").sign(identity)
    assert server.status("/mine", cookie=f"hadoop.auth={text}") == 401


def test_where_the_file_is_not_as_it_has_to_be_nobody_is_let_in(server: Server) -> None:
    cookie = cookie_of(server.ask("/mine", "alice"))
    server.known.is_broken = True
    assert server.status("/mine", "alice") == 503
    assert server.status("/mine", cookie=cookie) == 503
    assert server.log_in().status == 503
    assert server.status("/health") == 200


@pytest.mark.parametrize("accept", ["text/html", "*/*"])
def test_nothing_is_taken_over_plain_http_but_from_this_machine(
    server: Server, accept: str
) -> None:
    cookie = cookie_of(server.ask("/mine", "alice"))
    for path in ("/mine", "/login", "/logout", "/webhdfs/v1/a"):
        for shown in (cookie, ""):
            plain = server.ask(path, is_secure=False, accept=accept, cookie=shown)
            assert isinstance(plain, Response)
            assert plain.status == 403
            assert b"https" in plain.body
    assert server.status("/mine", "alice", is_secure=False) == 403
    assert server.status("/mine", "alice", is_secure=False, peer="127.0.0.1") == 200
    guard = replace(server.guard, prover=replace(server.prover, allows_plain=True))
    server.guard = guard
    assert server.status("/mine", "alice", is_secure=False) == 200


@pytest.mark.parametrize(
    ("peer", "is_here"),
    [
        ("127.0.0.1", True),
        ("127.8.9.10", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("::ffff:10.0.0.1", False),
        ("10.0.0.1", False),
        ("0.0.0.0", False),
        ("fe80::1%lo", False),
        ("localhost", False),
        ("", False),
    ],
)
def test_this_machine_is_known_by_its_address(peer: str, is_here: bool) -> None:
    assert is_private(Request("GET", "/", peer=peer), allows_plain=False) == is_here


def test_a_browser_gets_the_form_and_a_program_a_challenge(server: Server) -> None:
    page = server.ask("/page", accept="text/html", user_agent="Mozilla/5.0", query={"q": "1"})
    assert isinstance(page, Response)
    assert page.status == 401
    assert "WWW-Authenticate" not in page.headers
    assert b'<form method="post" action="/login">' in page.body
    assert b'name="next" value="/page?q=1"' in page.body
    program = server.ask("/page")
    assert isinstance(program, Response)
    assert program.headers["WWW-Authenticate"] == 'Basic realm="howdah", charset="UTF-8"'
    script = server.ask("/page", user_agent="Mozilla/5.0")
    assert isinstance(script, Response)
    assert "WWW-Authenticate" not in script.headers, "the browser would ask by a window"


def test_the_form_leads_to_the_page_that_was_wanted(server: Server) -> None:
    logged_in = server.log_in(next="/page?path=/a")
    assert (logged_in.status, logged_in.headers["Location"]) == (303, "/page?path=/a")
    assert server.status("/mine", cookie=cookie_of(logged_in)) == 200
    known = server.ask("/login", cookie=cookie_of(logged_in))
    assert isinstance(known, Response)
    assert b"<strong>alice</strong>" in known.body


def test_a_wrong_password_shows_the_form_again_without_it(server: Server) -> None:
    answered = server.ask("/login", body={"user": "<b>", "password": "planted"})
    assert isinstance(answered, Response)
    assert answered.status == 401
    assert b'value="&lt;b&gt;"' in answered.body
    assert b"planted" not in answered.body
    assert "Set-Cookie" not in answered.headers


def test_guessing_is_slowed_by_the_form_and_by_headers_together(server: Server) -> None:
    for _ in range(FREE_OF_ADDRESS):
        assert server.status("/login", body={"user": "alice", "password": "guess"}) == 401
    slowed = server.ask("/login", body={"user": "alice", "password": "alice's password"})
    assert isinstance(slowed, Response)
    assert (slowed.status, slowed.headers["Retry-After"]) == (429, "1")
    assert server.status("/mine", "alice") == 429
    assert server.status("/mine", "alice", peer="10.0.0.2") == 200


def test_another_page_logs_nobody_in_or_out(server: Server) -> None:
    cookie = cookie_of(server.ask("/mine", "alice"))
    body = {"user": "alice", "password": "alice's password"}
    for path in ("/login", "/logout"):
        for headers in ({"origin": "https://evil"}, {"sec_fetch_site": "cross-site"}):
            assert server.status(path, body=body, cookie=cookie, **headers) == 403
        assert server.status(path, body=body, origin="https://nn:9871") == 303
    assert server.status("/login", method="PUT") == 405
    json = server.ask("/login", body=body, content_type="text/plain")
    assert isinstance(json, Response)
    assert json.status == 415


def test_who_logs_out_has_no_cookie_any_more(server: Server) -> None:
    out = server.ask("/logout", body={}, cookie=cookie_of(server.log_in()))
    assert isinstance(out, Response)
    assert (out.status, out.headers["Location"]) == (303, "/login")
    assert out.headers["Set-Cookie"].startswith("hadoop.auth=; ")


CHANGING = "log=root&level=DEBUG"


@pytest.mark.parametrize(
    ("wanted", "place"),
    [
        (f"/logLevel?{CHANGING}", "/logLevel"),
        ("/mine?delete=1", "/mine"),
        ("/nowhere?a=b", "/nowhere"),
        (f"/%6cogLevel?{CHANGING}", "/%6cogLevel"),
        (f"/webhdfs/v1/../../logLevel?{CHANGING}", "/"),
        (f"/webhdfs/v1/%2E%2e/.%2E/logLevel?{CHANGING}", "/"),
        (f"/webhdfs/v1/..\\..\\logLevel?{CHANGING}", "/"),
        ("/webhdfs/v1/a..b/...?op=OPEN", "/webhdfs/v1/a..b/...?op=OPEN"),
        ("/jmx?qry=a", "/jmx?qry=a"),
    ],
)
def test_the_form_leads_to_nothing_that_a_link_would_change(
    server: Server, wanted: str, place: str
) -> None:
    assert server.log_in(next=wanted).headers["Location"] == place


def test_the_form_of_a_page_that_changes_something_leads_to_its_path(server: Server) -> None:
    shown = server.ask("/logLevel", query={"log": "root", "level": "DEBUG"}, accept="text/html")
    assert isinstance(shown, Response)
    assert b'value="/logLevel"' in shown.body
    assert b"DEBUG" not in shown.body


@given(st.text())
def test_no_link_leads_to_another_server(wanted: str) -> None:
    for text in (wanted, f"/{wanted}", f"//{wanted}", f"/\\{wanted}"):
        place = place_after(text, lambda path: True)
        assert re.fullmatch(r"/(?![/\\])[!-~]*|/", place), place
        assert "\\" not in place


def test_no_secret_is_shown(server: Server) -> None:
    admitted = server.ask("/mine", "alice")
    for shown in (repr(server.guard), repr(server.prover), repr(admitted)):
        assert "password'" not in shown
        assert "hadoop.auth" not in shown
        assert "0123456789" not in shown
