"""A long text that goes out piece by piece."""

from __future__ import annotations

import gzip
import http.client
import socket
from collections.abc import Iterator

import pytest

from howdah.web.channel import Channel
from howdah.web.http import Request, Response
from howdah.web.server import Exchange, HttpServer
from howdah.web.text_response import TextOut

PIECES = [b"%06d\n" % number * 1000 for number in range(50)]


class Long:
    """An exchange; `/broken` ends after ten pieces in trouble."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.made = 0

    def run(self, channel: Channel) -> None:
        text = TextOut(channel, self.request, "text/plain")
        for piece in PIECES:
            if self.request.path == "/broken" and self.made == 10:
                channel.broken = True
                return
            self.made += 1
            if not text.send(piece):
                break
        text.end()

    def done(self) -> Response | None:
        return None


class Served:
    """A server of long texts, and the last one that was asked for."""

    def __init__(self) -> None:
        self.last: Long | None = None
        self.server = HttpServer(self.answer, timeout_s=60)
        self.port = self.server.start("127.0.0.1", 0)

    def answer(self, request: Request) -> Exchange:
        self.last = Long(request)
        return self.last

    def ask(
        self, method: str = "GET", path: str = "/", **headers: str
    ) -> tuple[http.client.HTTPResponse, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            return answer, answer.read()
        finally:
            connection.close()


@pytest.fixture
def served() -> Iterator[Served]:
    made = Served()
    yield made
    made.server.stop()


def test_pieces_arrive_as_one_text(served: Served) -> None:
    answer, body = served.ask()
    assert answer.headers["Transfer-Encoding"] == "chunked"
    assert answer.headers["Content-Encoding"] is None
    assert body == b"".join(PIECES)


def test_pieces_arrive_as_one_gzip_where_that_is_taken(served: Served) -> None:
    answer, body = served.ask(**{"Accept-Encoding": "gzip"})
    assert (answer.headers["Content-Encoding"], answer.headers["Vary"]) == (
        "gzip",
        "Accept-Encoding",
    )
    assert gzip.decompress(body) == b"".join(PIECES)
    assert len(body) < len(b"".join(PIECES)) / 10


def test_a_head_makes_one_piece_and_sends_none(served: Served) -> None:
    answer, body = served.ask("HEAD")
    assert (answer.status, body) == (200, b"")
    assert served.last is not None
    assert served.last.made == 1


def test_a_text_that_breaks_off_is_not_taken_for_whole(served: Served) -> None:
    with pytest.raises(http.client.IncompleteRead) as raised:
        served.ask(path="/broken")
    assert raised.value.partial == b"".join(PIECES[:10])


def test_an_old_client_gets_all_until_the_connection_ends(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as connection:
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        found = b""
        while data := connection.recv(1 << 16):
            found += data
    assert found.partition(b"\r\n\r\n")[2] == b"".join(PIECES)
