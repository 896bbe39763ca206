"""Requests to pages of servers: by a name, by a ticket, and what is not believed."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from functools import partial
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.fs.hdfs.page_requests import PageRequests
from howdah.protocol.sasl.principals import Principal
from howdah.runtime.tls.http_policy import Place
from howdah.runtime.users.names import ProxyUser
from howdah.security.login import LoginSource
from howdah.security.page_proofs import PageProofs
from howdah.security.settings import SecuritySettings
from howdah.security.users import Identity, SecuredUser


class Context:
    """Established by the word "proof"."""

    is_established = False

    def step(self, token: bytes) -> bytes:
        self.is_established = token == b"proof"
        return b"" if token else b"ticket"


class Login:
    """Has a ticket for everybody."""

    def __init__(self) -> None:
        self.targets: list[Principal] = []

    def get(self) -> Login:
        return self

    def context(self, target: Principal, timeout_s: float, *, spnego: bool = False) -> Context:
        assert spnego
        self.targets.append(target)
        return Context()


class Server(HTTPServer):
    """Wants a ticket, unless it is open to all, and proves itself with what it is given."""

    proof = b"proof"
    is_open = False
    refuses_tickets = False
    ignores_tickets = False
    """As a server without Kerberos does."""
    asked: list[tuple[str, str | None]]


class _Answers(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        shown = self.headers.get("Authorization")
        self.server.asked.append((self.path, shown))
        is_let_in = self.server.is_open or (shown and not self.server.refuses_tickets)
        self.send_response(200 if is_let_in else 401)
        if not is_let_in:
            self.send_header("WWW-Authenticate", "Negotiate")
        elif shown and not self.server.ignores_tickets:
            proof = base64.b64encode(self.server.proof).decode()
            self.send_header("WWW-Authenticate", f"Negotiate {proof}")
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"page")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server(("127.0.0.1", 0), _Answers)
    server.asked = []
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join(10)


def secured(
    login: Login | None, real: str | None = None, *, fallback_allowed: bool = False
) -> SecuredUser:
    settings = SecuritySettings(is_enabled=True, fallback_allowed=fallback_allowed)
    identity = Identity(settings, LoginSource(), None, has_login=login is not None)
    user = SecuredUser("alice", identity, real or "alice@R", real)
    if login is not None:
        user._login = login  # type: ignore[assignment]
    return user


def fetch(server: Server, user: str, *, is_open: bool = False) -> bytes:
    place = Place(False, "127.0.0.1", server.server_address[1])
    page = PageRequests(Configuration({}), user).get(
        place, "/page?a=b", connect_timeout_s=10, read_timeout_s=10, is_open=is_open
    )
    with page as answer:
        return answer.read()


def test_without_security_a_page_is_told_the_name() -> None:
    assert PageRequests(Configuration({}), "ann").names == (("ugi", "ann"),)
    acting = PageRequests(Configuration({}), ProxyUser("joe", "hive"))
    assert acting.names == (("ugi", "hive"), ("doas", "joe"))
    assert PageRequests(Configuration({}), secured(Login())).names == ()


def test_after_a_fall_back_a_page_is_told_the_name(server: Server) -> None:
    server.is_open = True
    user = secured(Login())
    user.fell_back()
    assert PageRequests(Configuration({}), user).names == (("ugi", "alice"),)
    assert fetch(server, user) == b"page"
    assert server.asked == [("/page?a=b", None)]


def test_a_ticket_goes_with_the_first_request(server: Server) -> None:
    login = Login()
    assert fetch(server, secured(login)) == b"page"
    assert server.asked == [("/page?a=b", "Negotiate dGlja2V0")]
    assert [target.primary for target in login.targets] == ["HTTP"]


def test_who_is_acted_for_is_said(server: Server) -> None:
    fetch(server, secured(Login(), "oozie@R"))
    assert server.asked[0][0] == "/page?a=b&doas=alice"


@pytest.mark.parametrize(("is_open", "requests"), [(True, 1), (False, 2)])
def test_a_page_that_may_be_open_is_asked_without_a_ticket_first(
    server: Server, is_open: bool, requests: int
) -> None:
    server.is_open = is_open
    assert fetch(server, secured(Login()), is_open=True) == b"page"
    assert [shown for _, shown in server.asked] == [None, "Negotiate dGlja2V0"][:requests]


def test_a_server_that_proves_nothing_is_not_believed(server: Server) -> None:
    server.proof = b"another"
    with pytest.raises(errors.AuthenticationFailed, match="did not prove that it is HTTP/"):
        fetch(server, secured(Login()))


def test_a_refused_ticket_is_told(server: Server) -> None:
    server.refuses_tickets = True
    with pytest.raises(errors.AuthenticationFailed, match="does not take this ticket"):
        fetch(server, secured(Login()))
    assert len(server.asked) == 1


def test_without_a_ticket_nothing_is_sent(server: Server) -> None:
    with pytest.raises(errors.LoginFailed, match="there is no Kerberos ticket"):
        fetch(server, secured(None))
    assert server.asked == []


def test_a_client_without_security_is_told_what_to_set(server: Server) -> None:
    with pytest.raises(errors.AuthenticationFailed, match=r"set hadoop\.security\.authentication"):
        fetch(server, "alice")


def test_a_server_that_asks_for_no_proof_is_taken_where_that_is_allowed(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    server.is_open = server.ignores_tickets = True
    with pytest.raises(errors.AuthenticationFailed, match="asks for no proof"):
        fetch(server, secured(Login()))
    assert fetch(server, secured(Login(), fallback_allowed=True)) == b"page"
    assert "asks for no proof of who a client is, and gives none" in caplog.text
    server.ignores_tickets, server.proof = False, b"other"
    with pytest.raises(errors.AuthenticationFailed):
        fetch(server, secured(Login(), fallback_allowed=True))


def test_after_a_fall_back_a_server_may_ask_for_a_ticket_again(server: Server) -> None:
    """The requests of a server that lives for long: others restart meanwhile."""
    user = secured(Login(), fallback_allowed=True)
    proofs = PageProofs(user, keeps_cookies=False)
    user.fell_back()
    assert not proofs.are_needed
    user.was_proven()
    assert proofs.are_needed
    place = Place(False, "127.0.0.1", server.server_address[1])
    connect = partial(HTTPConnection, place.host, place.port, timeout=10)
    with proofs.asked(place, connect, "GET", "/page") as answer:
        assert answer.read() == b"page"
    assert server.asked == [("/page", "Negotiate dGlja2V0")]
