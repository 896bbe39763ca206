"""Heads and bodies of HTTP as a client writes and reads them, whatever the other side sends."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.runtime.tls.client import ClientTls
from howdah.runtime.tls.http_policy import Place
from howdah.web.connections import Connections, Exchange, _parsed

WAIT_S = 60.0


@contextmanager
def answering(*pieces: bytes) -> Iterator[tuple[Place, list[bytes]]]:
    """A server that answers one request with these pieces, and closes; what it was sent."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(WAIT_S)

        def serve() -> None:
            connection, _ = listener.accept()
            connection.settimeout(WAIT_S)
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                heard.append(connection.recv(1 << 16))
                for piece in pieces:
                    connection.sendall(piece)
                connection.shutdown(socket.SHUT_WR)
                while data := connection.recv(1 << 16):
                    heard.append(data)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield Place(False, *listener.getsockname()), heard
        thread.join(WAIT_S)
        assert not thread.is_alive()


@contextmanager
def exchange(place: Place) -> Iterator[Exchange]:
    connections = Connections(WAIT_S, WAIT_S, ClientTls(Configuration({})))
    made = connections.exchange(place)
    try:
        yield made
    finally:
        made.close()
        connections.close()


def asked(place: Place, method: str = "GET") -> tuple[int, bytes]:
    with exchange(place) as made:
        made.begin(method, "/x?y=1", {})
        made.end()
        head = made.head()
        return head.status, made.body(1 << 20)


@pytest.mark.parametrize(
    ("pieces", "found"),
    [
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"], (200, b"abc")),
        ([b"HTTP/1.1 200\r\ncontent-length:3 \r\n\r\n", b"a", b"bc"], (200, b"abc")),
        ([b"HTTP/1.1 404 Not \xe4\nContent-Length: 1\n\nx"], (404, b"x")),
        ([b"HTTP/1.", b"1 200 OK\r", b"\nContent-Length: 0\r\n\r", b"\n"], (200, b"")),
        ([b"HTTP/1.0 200 OK\r\n\r\nup to ", b"the end"], (200, b"up to the end")),
        ([b"HTTP/1.1 204 No\r\n\r\n"], (204, b"")),
        (
            [b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Made\r\nContent-Length: 1\r\n\r\nx"],
            (201, b"x"),
        ),
        (
            [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab", b"c\r\n0\r\n\r\n"],
            (200, b"abc"),
        ),
        ([b"HTTP/1.1 200 OK\r\nX:\r\nx: 2\r\nContent-Length: 1\r\n\r\ny"], (200, b"y")),
    ],
)
def test_an_answer_is_read_however_it_comes(pieces: list[bytes], found: tuple[int, bytes]) -> None:
    with answering(*pieces) as (place, heard):
        assert asked(place) == found
    head = f"GET /x?y=1 HTTP/1.1\r\nHost: {place.header}\r\nUser-Agent: howdah\r\n\r\n"
    assert b"".join(heard) == head.encode()


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (b"", errors.Unreachable),
        (b"HTTP/1.1 200 OK\r\nContent-Len", errors.Unreachable),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", errors.Unreachable),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc", errors.HowdahError),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", errors.ProtocolViolation),
        (b"HTTP/2 200\r\n\r\n", errors.ProtocolViolation),
        (b"HTTP/1.1 20 OK\r\n\r\n", errors.ProtocolViolation),
        (b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", errors.ProtocolViolation),
        (b"HTTP/1.1 200 OK\r\nA B: c\r\n\r\n", errors.ProtocolViolation),
        (b"HTTP/1.1 200 OK\r\n: c\r\n\r\n", errors.ProtocolViolation),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", errors.ProtocolViolation),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\xb2\r\n\r\n", errors.ProtocolViolation),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 30 + b"\r\n\r\n",
            errors.ProtocolViolation,
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            errors.ProtocolViolation,
        ),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nab", errors.ProtocolViolation),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000, errors.ProtocolViolation),
    ],
)
def test_what_is_no_answer_is_an_error_by_name(
    answer: bytes, kind: type[errors.HowdahError]
) -> None:
    with answering(answer) as (place, _), pytest.raises(kind, match=r"127\.0\.0\.1"):
        asked(place)


def test_a_head_is_not_written_that_would_be_two() -> None:
    with answering() as (place, _), exchange(place) as made:
        for target, headers in (
            ("/a b", {}),
            ("/a\r\nX: y", {}),
            ("/\xe4", {}),
            ("/", {"X": "a\r\nY: b"}),
            ("/", {"X\r\nY": "a"}),
            ("/", {"": "a"}),
            ("/", {"X": "\0"}),
        ):
            with pytest.raises(errors.IllegalArgument):
                made.begin("GET", target, headers)


def test_a_body_goes_out_in_chunks_where_its_length_is_not_said() -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    with answering(answer) as (place, heard), exchange(place) as made:
        made.begin("PUT", "/", {"Transfer-Encoding": "chunked"})
        for piece in (b"abc", b"", b"d" * 20):
            made.send(memoryview(piece))
        made.end()
        assert made.head().status == 200
    assert b"".join(heard).endswith(b"\r\n\r\n3\r\nabc\r\n14\r\n" + b"d" * 20 + b"\r\n0\r\n\r\n")


@pytest.mark.parametrize(
    ("answer", "is_kept"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: Close\r\n\r\nx", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", False),
    ],
)
def test_a_connection_is_kept_if_the_other_side_does_not_end_it(
    answer: bytes, is_kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    connections = Connections(WAIT_S, WAIT_S, ClientTls(Configuration({})))
    kept: list[object] = []
    monkeypatch.setattr(connections, "put_back", lambda place, connection: kept.append(connection))
    with answering(answer) as (place, _):
        made = connections.exchange(place)
        made.begin("GET", "/", {})
        made.end()
        made.head()
        assert made.body(10) == b"x"
        made.close()
        made._socket.close()
    assert bool(kept) is is_kept


def test_a_header_of_blanks_is_read_in_time() -> None:
    """Each of them was tried as the first one behind the value."""
    raw = b"HTTP/1.1 200 OK\r\nX: y" + b" " * (1 << 20) + b"\0\r\n\r\n"
    with pytest.raises(errors.ProtocolViolation, match="answers no HTTP"):
        _parsed(raw, Place(False, "a", 1))
    head, _ = _parsed(raw.replace(b"\0", b"\t"), Place(False, "a", 1))
    assert head.headers == {"x": "y"}
