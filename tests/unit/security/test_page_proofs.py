"""Questions to the pages of servers: asked with a proof, once more where a cookie has ended, and
answered by whom the configuration means."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.formats.version import NamenodeVersion
from howdah.namenode.journal.checkpoints.primary import Primary
from howdah.protocol.web_authentication.signed_cookie import CookieSigner
from howdah.runtime.tls.client import ClientTls
from howdah.runtime.tls.http_policy import Place
from howdah.security.page_proofs import PageProofs
from howdah.security.server_cookies import SigningServer
from howdah.web.http import Request, Response, answer
from howdah.web.http_client import fetch
from howdah.web.server import HttpServer
from tests.unit.security.test_http import Login, user_with
from tests.unit.security.test_http import answer as proving

COOKIE = 'hadoop.auth="u=alice&s=x="'
VERSION = NamenodeVersion(1, "CID", "BP-1-127.0.0.1-1", 0, -67)


@contextmanager
def serving(page: Callable[[Request], Response]) -> Iterator[Place]:
    server = HttpServer(page, timeout_s=20)
    port = server.start("127.0.0.1", 0)
    try:
        yield Place(False, "127.0.0.1", port)
    finally:
        server.stop()


def said(status: int, headers: Mapping[str, str], body: bytes = b"") -> Response:
    named = {"WWW-Authenticate": headers.get("www-authenticate", "")}
    if headers.get("set-cookie"):
        named["Set-Cookie"] = headers["set-cookie"]
    return answer(status, body, "text/plain", {k: v for k, v in named.items() if v})


class Page:
    """Of a server that takes tickets and cookies, and proves itself unless it is a stranger's."""

    def __init__(self, status: int = 200, *, is_strange: bool = False) -> None:
        self.status = status
        self.is_strange = is_strange
        self.cookie_counts = True
        self.asked: list[str] = []
        """By method, and by what was shown."""

    def __call__(self, request: Request) -> Response:
        by_cookie = "cookie" in request.headers
        by_ticket = "authorization" in request.headers
        shown = "cookie" if by_cookie else "ticket" if by_ticket else "nothing"
        self.asked.append(f"{request.method} {shown}")
        if self.is_strange:
            return said(self.status, {})
        if by_ticket:
            return said(self.status, proving(cookie=f"{COOKIE}; Path=/"))
        if by_cookie and self.cookie_counts:
            return said(self.status, {})
        return said(401, {"www-authenticate": "Negotiate"})


def ask(proofs: PageProofs, place: Place, *, is_open: bool = False) -> int:
    def connect() -> HTTPConnection:
        return HTTPConnection(place.host, place.port, timeout=20)

    with proofs.asked(place, connect, "GET", "/page", is_open=is_open) as found:
        return found.status


def test_a_cookie_takes_the_place_of_a_ticket_until_it_ends() -> None:
    page = Page()
    proofs = PageProofs(user_with(Login()))
    with serving(page) as place:
        assert [ask(proofs, place) for _ in range(2)] == [200, 200]
        page.cookie_counts = False
        assert ask(proofs, place) == 200
    assert page.asked == ["GET ticket", "GET cookie", "GET cookie", "GET ticket"]


def test_a_server_shows_a_ticket_for_each_question() -> None:
    page = Page()
    proofs = PageProofs(user_with(Login()), keeps_cookies=False)
    with serving(page) as place:
        assert [ask(proofs, place) for _ in range(2)] == [200, 200]
        page.is_strange = True
        with pytest.raises(errors.AuthenticationFailed, match="did not prove that it is HTTP/"):
            ask(proofs, place)
    assert page.asked == ["GET ticket"] * 3


def test_a_page_that_may_be_open_is_asked_for_nothing_first() -> None:
    page = Page()
    with serving(page) as place:
        assert ask(PageProofs(user_with(Login())), place, is_open=True) == 200
        assert page.asked == ["GET nothing", "GET ticket"]
        with pytest.raises(errors.AuthenticationFailed, match="not set to prove itself"):
            ask(PageProofs(None), place)


def test_a_server_that_signs_shows_its_cookie_also_where_a_page_may_be_open() -> None:
    page = Page()
    proofs = PageProofs(SigningServer("hdfs", CookieSigner(b"a secret of a cluster")))
    with serving(page) as place:
        assert ask(proofs, place, is_open=True) == 200
    assert page.asked == ["GET cookie"]


@pytest.mark.parametrize("status", [200, 204, 400, 404, 409, 410, 417, 500, 503])
def test_no_answer_is_believed_unproven(status: int) -> None:
    with serving(Page(status, is_strange=True)) as place:
        with pytest.raises(errors.AuthenticationFailed, match="did not prove") as caught:
            ask(PageProofs(user_with(Login())), place)
        assert (f"error {status}" in str(caught.value)) == (status >= 400)
    with serving(Page(status)) as place:
        assert ask(PageProofs(user_with(Login())), place) == status


def test_a_refusal_needs_no_proof() -> None:
    with serving(Page(403, is_strange=True)) as place:
        assert ask(PageProofs(user_with(Login())), place) == 403


def test_a_file_is_not_missing_since_a_stranger_says_so() -> None:
    body: list[bytes] = []
    with (
        serving(Page(404, is_strange=True)) as place,
        pytest.raises(errors.AuthenticationFailed, match="did not prove"),
    ):
        fetch(
            f"http://127.0.0.1:{place.port}/getJournal",
            body.append,
            tls=ClientTls(Configuration()),
            connect_timeout_s=20,
            read_timeout_s=20,
            proofs=PageProofs(user_with(Login())),
        )


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "fsimage_0000000000000000007"
    path.write_bytes(b"the namespace" * 1000)
    return path


def send(image: Path, place: Place) -> bool:
    primary = Primary(
        ("127.0.0.1", 1),
        place,
        tls=ClientTls(Configuration()),
        bytes_per_s=0,
        timeout_s=20,
        go_on=lambda: None,
        user=user_with(Login()),
    )
    md5 = hashlib.md5(image.read_bytes()).hexdigest()
    return primary.send_image(VERSION, 7, image, md5)


@pytest.mark.parametrize("status", [200, 401, 403, 404, 409, 417])
def test_a_stranger_gets_no_image(image: Path, status: int) -> None:
    page = Page(status, is_strange=True)
    with serving(page) as place, pytest.raises(errors.CheckpointFailed, match="was not sent"):
        send(image, place)
    assert page.asked == ["OPTIONS ticket"]


@pytest.mark.parametrize(("status", "is_needed"), [(200, True), (409, False), (417, False)])
def test_an_image_is_sent_to_who_has_proven_himself(
    image: Path, status: int, is_needed: bool
) -> None:
    page = Page(status)
    with serving(page) as place:
        assert send(image, place) == is_needed
    assert page.asked == ["OPTIONS ticket", "PUT ticket"]


def test_who_is_replaced_after_the_proof_is_not_believed(image: Path) -> None:
    page = Page(409)

    def replaced(request: Request) -> Response:
        page.is_strange = request.method == "PUT"
        return page(request)

    with serving(replaced) as place, pytest.raises(errors.CheckpointFailed, match="did not prove"):
        send(image, place)
