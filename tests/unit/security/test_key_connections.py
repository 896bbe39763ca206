"""A connection to a key server: whatever an answer's form is, and however it is cut."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPException
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howdah.security.key_connections import KeyAnswer, KeyConnection, TooLong

MOST = 10_000


@contextmanager
def answering(
    sent: bytes, cuts: Sequence[int] = (), *, ends: bool = True
) -> Iterator[KeyConnection]:
    """A connection whose other side sends this, in these pieces, whatever it is asked."""
    ours, theirs = socket.socketpair()
    ours.settimeout(20)
    at = [0, *sorted({cut for cut in cuts if cut < len(sent)}), len(sent)]

    def send() -> None:
        with contextlib.suppress(OSError):  # Whoever refuses an answer reads no more of it.
            for start, end in pairwise(at):
                theirs.sendall(sent[start:end])
            if ends:
                theirs.shutdown(socket.SHUT_WR)

    sender = threading.Thread(target=send)
    sender.start()
    with ours, theirs:
        yield KeyConnection(ours, "h:9600")
    sender.join()


def ask(connection: KeyConnection) -> KeyAnswer:
    return connection.ask("GET", "/kms/v1/keys/names", {}, None, MOST)


def chunked(body: bytes, sizes: Sequence[int]) -> bytes:
    parts, rest = [], body
    for size in sizes:
        piece, rest = rest[:size], rest[size:]
        if piece:
            parts.append(b"%x;a=b\r\n%s\r\n" % (len(piece), piece))
    if rest:
        parts.append(b"%X\r\n%s\r\n" % (len(rest), rest))
    return b"".join([*parts, b"0\r\nTrailer: x\r\n\r\n"])


@settings(max_examples=60, deadline=None)
@given(
    st.binary(max_size=2000),
    st.lists(st.integers(1, 500), max_size=5),
    st.lists(st.integers(1, 2500), max_size=6),
    st.sampled_from(["length", "chunks"]),
)
def test_two_answers_on_one_connection_come_whole(
    body: bytes, sizes: list[int], cuts: list[int], form: str
) -> None:
    if form == "length":
        one = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nX-A:  b \r\n\r\n%s" % (len(body), body)
    else:
        one = b"HTTP/1.1 200 OK\r\nX-A: b\r\nTransfer-Encoding: chunked\r\n\r\n"
        one += chunked(body, sizes)
    with answering(one + one, cuts) as connection:
        for _ in range(2):
            answer = ask(connection)
            assert (answer.status, answer.reason, answer.body) == (200, "OK", body)
            assert answer.headers["x-a"] == "b"
            assert not answer.is_last


@pytest.mark.parametrize(
    ("sent", "body"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\nall of it", b"all of it"),
        (b"HTTP/1.0 200\r\nContent-Length: 2\r\n\r\nab", b"ab"),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nab", b"ab"),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 204 No Content\r\n\r\n", b""),
    ],
)
def test_an_answer_may_end_its_connection(sent: bytes, body: bytes) -> None:
    with answering(sent) as connection:
        answer = ask(connection)
        assert (answer.body, answer.is_last) == (body, True)


@pytest.mark.parametrize(
    "sent",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno header\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nName : x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n",
    ],
)
def test_what_is_no_answer_is_refused(sent: bytes) -> None:
    with answering(sent) as connection, pytest.raises(HTTPException):
        ask(connection)


@pytest.mark.parametrize(
    "sent",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (MOST + 1),
        b"HTTP/1.1 200 OK\r\n\r\n" + bytes(MOST + 1),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000,
    ],
)
def test_what_is_too_long_is_not_read(sent: bytes) -> None:
    with answering(sent) as connection, pytest.raises(TooLong):
        ask(connection)


def test_a_connection_that_was_closed_says_so() -> None:
    with answering(b"") as connection, pytest.raises(ConnectionResetError):
        ask(connection)


def test_a_request_is_one_piece_with_its_body() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
        KeyConnection(ours, "h:1").ask("POST", "/a?b=%20", {"X-Y": "z"}, b"{}", MOST)
        assert theirs.recv(1000) == (
            b"POST /a?b=%20 HTTP/1.1\r\nHost: h:1\r\nAccept-Encoding: identity\r\nX-Y: z\r\n"
            b"Content-Length: 2\r\n\r\n{}"
        )


@pytest.mark.parametrize(
    ("target", "headers"),
    [("/a b", {}), ("/a\r\nX: y", {}), ("/ä", {}), ("/a", {"X": "y\r\nZ: z"})],
)
def test_nothing_is_smuggled_into_a_request(target: str, headers: dict[str, str]) -> None:
    with answering(b"") as connection, pytest.raises(ValueError, match=r"characters|one line"):
        connection.ask("GET", target, headers, None, MOST)
