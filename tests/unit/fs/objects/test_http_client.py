"""Requests to a store, and what becomes of them on connections that end."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.fs.objects.azure.settings import settings_of
from howdah.fs.objects.http_client import Answer, Request, Requests, check_range
from howdah.runtime.tls.client import ClientTls
from howdah.runtime.tls.http_policy import Place
from howdah.web.connections import Exchange

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def head_of(connection: socket.socket) -> bytes:
    """A request up to the end of its head; empty where there is none."""
    found = b""
    while b"\r\n\r\n" not in found:
        piece = connection.recv(65536)
        if not piece:
            return b""
        found += piece
    return found


@contextmanager
def server(script: Sequence[Callable[[socket.socket], object]]) -> Iterator[Place]:
    """Each connection is handed to the next of the script, and closed behind it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(60)

        def serve() -> None:
            for act in script:
                connection, _ = listener.accept()
                with connection:
                    connection.settimeout(60)
                    act(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield Place(False, "127.0.0.1", listener.getsockname()[1])
        thread.join(60)
        assert not thread.is_alive()


@pytest.fixture
def requests() -> Iterator[Requests]:
    conf = Configuration()
    tuning = replace(settings_of("az", "c@a", conf, {}), connect_timeout_s=60, read_timeout_s=60)
    made = Requests(tuning, ClientTls(conf))
    yield made
    made.close()


def request(method: str = "GET", body: bytes = b"", *, is_repeatable: bool = True) -> Request:
    target = "/x?sig=what-nobody-may-read"
    return Request("it", "az://c@a/x", method, target, {}, body, is_repeatable)


def once_and_then_the_end(connection: socket.socket) -> None:
    assert head_of(connection)
    connection.sendall(OK)
    # The next request comes, and is not answered.
    head_of(connection)


def answers(connection: socket.socket) -> None:
    assert head_of(connection)
    connection.sendall(OK)


@pytest.mark.req("FS-188")
def test_a_connection_that_was_kept_and_ended_is_replaced(requests: Requests) -> None:
    with server([once_and_then_the_end, answers]) as place:
        assert requests.send(place, request()).body == b"ok"
        assert requests.send(place, request()).body == b"ok"
    assert requests.calls == 3


@pytest.mark.req("FS-188")
def test_what_must_not_be_made_twice_is_not_made_again_on_another_connection(
    requests: Requests,
) -> None:
    with server([once_and_then_the_end]) as place:
        assert requests.send(place, request()).body == b"ok"
        with pytest.raises(errors.Unreachable, match="az://c@a/x") as told:
            requests.send(place, request(is_repeatable=False))
        assert "what-nobody-may-read" not in str(told.value)
    assert requests.calls == 2


@pytest.mark.parametrize("status", [412, 200, None])
def test_a_refusal_that_comes_before_the_body_was_read_is_an_answer(
    requests: Requests, monkeypatch: pytest.MonkeyPatch, status: int | None
) -> None:
    def breaks(self: Exchange, data: bytes | memoryview) -> None:
        raise errors.Unreachable("it takes nothing any more")

    def refuses(connection: socket.socket) -> None:
        assert head_of(connection)
        if status is not None:
            connection.sendall(b"HTTP/1.1 %d No\r\nContent-Length: 4\r\n\r\nthis" % status)
            while connection.recv(1 << 20):
                continue

    monkeypatch.setattr(Exchange, "send", breaks)
    with server([refuses]) as place:
        if status == 412:
            answer = requests.send(place, request("PUT", b"body" * 20_000))
            assert (answer.status, answer.body) == (412, b"this")
        else:
            with pytest.raises(errors.Unreachable, match="it takes nothing any more"):
                requests.send(place, request("PUT", b"body" * 20_000))


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_length_that_is_no_number_is_refused(requests: Requests, method: str) -> None:
    def misleads(connection: socket.socket) -> None:
        assert head_of(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n")

    with server([misleads]) as place:
        with pytest.raises(errors.ProtocolViolation, match=r"az://c@a/x: .* 'many' bytes"):
            requests.send(place, request(method))


def test_a_store_that_says_nothing_is_named(requests: Requests) -> None:
    with server([head_of]) as place:
        with pytest.raises(errors.Unreachable, match="az://c@a/x"):
            requests.send(place, request())


def test_a_body_is_read_as_it_comes_and_a_short_rest_keeps_the_connection(
    requests: Requests,
) -> None:
    def twice(connection: socket.socket) -> None:
        for _ in range(2):
            assert head_of(connection)
            connection.sendall(b"HTTP/1.1 206 OK\r\nContent-Length: 10\r\n\r\n0123456789")

    with server([twice]) as place:
        for _ in range(2):
            reading, answer = requests.open(place, request())
            assert answer.status == 206
            assert reading is not None
            found = bytearray(4)
            assert reading.readinto(memoryview(found))
            reading.close(9)


def test_an_answer_that_breaks_off_is_said_with_its_name(requests: Requests) -> None:
    def breaks_off(connection: socket.socket) -> None:
        assert head_of(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0")

    with server([breaks_off, breaks_off]) as place:
        reading, _ = requests.open(place, request())
        assert reading is not None
        view = memoryview(bytearray(10))
        assert reading.readinto(view) == 1
        with pytest.raises(errors.Unreachable, match="az://c@a/x"):
            reading.readinto(view)
        reading.close(9)
        reading, _ = requests.open(place, request())
        assert reading is not None
        reading.close(10)  # nobody wants to know


def test_an_error_is_no_body(requests: Requests) -> None:
    def refuses(connection: socket.socket) -> None:
        assert head_of(connection)
        connection.sendall(b"HTTP/1.1 404 No\r\nContent-Length: 4\r\n\r\nnone")

    with server([refuses]) as place:
        reading, answer = requests.open(place, request())
        assert (reading, answer.status, answer.body) == (None, 404, b"none")


@pytest.mark.parametrize(
    ("status", "headers", "is_right"),
    [
        (206, {"content-range": "bytes 5-9/100"}, True),
        (206, {"content-range": "bytes 0-4/100"}, False),
        (200, {"content-length": "100"}, False),
    ],
)
def test_other_bytes_than_those_that_were_asked_for_are_refused(
    status: int, headers: dict[str, str], is_right: bool
) -> None:
    answer = Answer(status, headers, b"")
    if is_right:
        check_range(answer, 5, 10, "x")
    else:
        with pytest.raises(errors.ProtocolViolation, match="asked for bytes 5 to 10"):
            check_range(answer, 5, 10, "x")


def test_all_of_an_object_may_come_without_a_range() -> None:
    check_range(Answer(200, {"content-length": "10"}, b""), 0, 10, "x")
