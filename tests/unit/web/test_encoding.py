"""Which answers are compressed, and what is said when the other side has them already."""

from __future__ import annotations

import gzip
import http.client
import threading
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.web import server as server_module
from howdah.web.encoding import LEAST_BYTES, encoded, may_be_encoded, takes_gzip, unless_known
from howdah.web.http import Request, Response, answer
from howdah.web.pages import assets
from howdah.web.server import Answer, HttpServer, Later

pytestmark = pytest.mark.req("FS-290")

TEXT = "Überall \N{ELEPHANT} ".encode() * 500


def asked(
    handler: Callable[[Request], Answer], method: str = "GET", path: str = "/", **headers: str
) -> tuple[int, http.client.HTTPMessage, bytes]:
    server = HttpServer(handler, timeout_s=20)
    connection = http.client.HTTPConnection("127.0.0.1", server.start("127.0.0.1", 0), timeout=20)
    try:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, headers={"Accept-Encoding": "", **sent})
        found = connection.getresponse()
        return found.status, found.headers, found.read()
    finally:
        connection.close()
        server.stop()


def page(_: Request) -> Response:
    return answer(200, TEXT, "text/html; charset=utf-8")


def test_text_is_compressed_for_those_who_take_it() -> None:
    _, headers, body = asked(page, Accept_Encoding="br, gzip")
    assert headers["Content-Encoding"] == "gzip"
    assert headers["Vary"] == "Accept-Encoding"
    assert int(headers["Content-Length"]) == len(body) < len(TEXT)
    assert gzip.decompress(body) == TEXT


def test_what_is_made_on_the_connections_thread_is_compressed_too() -> None:
    _, headers, body = asked(lambda request: Later(lambda: page(request)), Accept_Encoding="gzip")
    assert headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(body) == TEXT


def test_others_get_it_as_it_is_and_caches_are_told() -> None:
    _, headers, body = asked(page)
    assert "Content-Encoding" not in headers
    assert headers["Vary"] == "Accept-Encoding"
    assert body == TEXT


def test_head_tells_what_get_tells() -> None:
    _, of_get, _ = asked(page, Accept_Encoding="gzip")
    status, of_head, body = asked(page, "HEAD", Accept_Encoding="gzip")
    assert (status, body) == (200, b"")
    for name in ("Content-Length", "Content-Encoding", "Content-Type", "Vary"):
        assert of_head[name] == of_get[name]


@pytest.mark.parametrize(
    "response",
    [
        answer(200, TEXT, "application/octet-stream"),
        answer(200, TEXT, "image/png"),
        answer(200, TEXT[: LEAST_BYTES - 1], "text/plain"),
        answer(206, TEXT, "text/plain"),
        answer(200, TEXT, "text/plain", {"Content-Encoding": "br"}),
    ],
)
def test_data_parts_and_what_is_short_are_left_alone(response: Response) -> None:
    assert not may_be_encoded(response)
    _, headers, body = asked(lambda _: response, Accept_Encoding="gzip")
    assert headers.get("Content-Encoding") in (None, "br")
    assert body == response.body


@pytest.mark.parametrize("kind", ["text/plain", "application/json", "image/svg+xml", "TEXT/HTML"])
def test_texts_of_every_kind_are_compressed(kind: str) -> None:
    assert may_be_encoded(answer(200, TEXT, kind))


@pytest.mark.parametrize(
    ("accepted", "takes"),
    [
        (None, False),
        ("", False),
        ("identity", False),
        ("gzip", True),
        ("GZIP", True),
        ("deflate, gzip;q=1.0, *;q=0.5", True),
        ("gzip;q=0", False),
        ("gzip; q=0.0, *", False),
        ("*", True),
        ("*;q=0", False),
        ("gzip;q=x", False),
        ("gzipped", False),
    ],
)
def test_header_says_who_takes_it(accepted: str | None, takes: bool) -> None:
    assert takes_gzip(accepted) is takes


@given(st.text(max_size=200))
def test_any_header_is_understood_or_means_no(accepted: str) -> None:
    assert takes_gzip(accepted) in (True, False)


def test_no_more_are_compressed_at_once_than_a_few(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, end = threading.Semaphore(0), threading.Event()

    def slow(response: Response) -> Response:
        begun.release()
        assert end.wait(20)
        return encoded(response)

    monkeypatch.setattr(server_module, "encoded", slow)
    server = HttpServer(page, timeout_s=20)
    port = server.start("127.0.0.1", 0)

    def get(found: list[bool]) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request("GET", "/", headers={"Accept-Encoding": "gzip"})
        response = connection.getresponse()
        found.append(response.headers["Content-Encoding"] == "gzip")
        response.read()
        connection.close()

    first: list[bool] = []
    threads = [threading.Thread(target=get, args=(first,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in threads:
            assert begun.acquire(timeout=20)
        third: list[bool] = []
        get(third)
        assert third == [False]
    finally:
        end.set()
        for thread in threads:
            thread.join(20)
        server.stop()
    assert first == [True, True]


# Conditional requests.


def static(request: Request) -> Response:
    return assets.respond(request)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_static_file_that_is_known_is_not_sent_again(method: str) -> None:
    _, first, _ = asked(static, path="/static/howdah.css", Accept_Encoding="gzip")
    for known in (first["ETag"], first["ETag"].removeprefix("W/"), f'"x", {first["ETag"]}', "*"):
        status, headers, body = asked(
            static, method, "/static/howdah.css", If_None_Match=known, Accept_Encoding="gzip"
        )
        assert (status, body) == (304, b"")
        assert headers["ETag"] == first["ETag"]
        assert "max-age" in headers["Cache-Control"]
        assert "Content-Length" not in headers


def test_static_file_that_is_another_one_is_sent() -> None:
    status, _, body = asked(static, path="/static/howdah.css", If_None_Match='W/"other"')
    assert status == 200
    assert body


def test_connection_goes_on_behind_what_was_known() -> None:
    server = HttpServer(static, timeout_s=20)
    connection = http.client.HTTPConnection("127.0.0.1", server.start("127.0.0.1", 0), timeout=20)
    try:
        for expected in (304, 200):
            headers = {"If-None-Match": "*"} if expected == 304 else {}
            connection.request("GET", "/static/live.js", headers=headers)
            found = connection.getresponse()
            found.read()
            assert found.status == expected
    finally:
        connection.close()
        server.stop()


def test_what_is_no_success_is_not_known() -> None:
    refused = Response(404, {"ETag": '"a"'}, b"none")
    assert unless_known(Request("GET", "/", headers={"if-none-match": "*"}), refused) is refused


@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE"])
def test_a_change_is_not_answered_as_known(method: str) -> None:
    done = Response(200, {"ETag": '"a"'})
    assert unless_known(Request(method, "/", headers={"if-none-match": "*"}), done) is done
