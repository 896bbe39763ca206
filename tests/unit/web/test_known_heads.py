"""A connection that remembers heads answers as one that parses each."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from howdah.web.channel import Channel, Malformed
from howdah.web.http import Request, Response

HEADS = (
    b"POST /read HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n",
    b"POST /read HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
    b"POST /leave HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n",
    b"GET /read?a=b HTTP/1.1\r\nHost: h\r\nX: y\r\n\r\n",
    b"GET /stream HTTP/1.1\r\nHost: h\r\n\r\n",
    b"POST /stream HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n",
    b"POST /read-stream HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n",
    b"GET /words HTTP/1.1\r\nHost: h\r\n\r\n",
    b"GET /nothing HTTP/1.1\r\nHost: h\r\n\r\n",
    b"HEAD /read HTTP/1.1\r\nHost: h\r\n\r\n",
    b"POST /read HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"GET /read HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
    b"GET /read HTTP/1.0\r\nHost: h\r\n\r\n",
    b"POST /read HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n",
)
_DATE = re.compile(rb"[Dd]ate: [^\r]*")


def _body(head: bytes, number: int) -> bytes:
    if b"chunked" in head:
        return b"2\r\nab\r\n0\r\n\r\n"
    return b"%05d" % number if b": 5\r\n" in head else b""


def _answer(channel: Channel, request: Request) -> bytes:
    """Answer as the path says; what was read of the body."""
    body = b""
    if request.path.startswith("/read"):
        body = b"".join(iter(channel.read, b""))
        if body:  # As the cookie of a guard, which differs from one answer to the next.
            channel.added = {"X-Added": body.decode()}
    if request.path.endswith("/stream") or request.path == "/read-stream":
        channel.begin(200, {"X-Kind": "stream"})
        channel.send(b"some ")
        channel.send(body or b"more")
        channel.end()
    elif request.path == "/words":
        channel.respond(Response(200, {}, b"x", reason="Fine words"))
    elif request.path == "/nothing":
        channel.respond(Response(304, {"ETag": '"1"'}))
    else:
        channel.respond(Response(200, {"X-Method": request.method}, b"you said " + body))
    return body


def _conversation(
    pieces: Sequence[bytes], *, remembers: bool
) -> tuple[list[tuple[str, str, bytes]], bytes]:
    """What was asked on a connection, and all that was answered."""
    ours, theirs = socket.socketpair()
    asked: list[tuple[str, str, bytes]] = []
    answered = bytearray()
    with ours, theirs:
        ours.settimeout(20)
        theirs.settimeout(20)
        channel = Channel(ours, "a peer", 20, remembers_heads=remembers)

        def serve() -> None:
            try:
                while request := channel.next_request():
                    asked.append((request.method, request.target, _answer(channel, request)))
                    if not channel.finish():
                        return
            except (Malformed, OSError):
                return
            finally:
                channel.close()

        server = threading.Thread(target=serve)
        server.start()
        for piece in pieces:
            try:
                theirs.sendall(piece)
            except OSError:
                break  # It was closed behind an answer.
        try:
            theirs.shutdown(socket.SHUT_WR)
            while data := theirs.recv(65536):
                answered += data
        except OSError:
            pass
        server.join()
    return asked, _DATE.sub(b"date", bytes(answered))


def _normal(answered: bytes) -> bytes:
    return answered.lower()


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.sampled_from(range(len(HEADS))), min_size=1, max_size=12),
    st.lists(st.integers(1, 900), max_size=3),
)
@example([0, 0, 0, 3, 3, 5, 5, 6, 6, 2, 2, 0], [])
@example([4, 4, 4, 7, 7, 8, 8, 9, 9, 10, 10], [])
def test_it_asks_and_answers_the_same(numbers: list[int], cuts: list[int]) -> None:
    requests = [HEADS[n] + _body(HEADS[n], index) for index, n in enumerate(numbers)]
    if cuts:
        whole = b"".join(requests)
        at = [0, *sorted({cut for cut in cuts if cut < len(whole)}), len(whole)]
        requests = [whole[start:end] for start, end in pairwise(at)]
    plain = _conversation(requests, remembers=False)
    remembering = _conversation(requests, remembers=True)
    assert remembering[0] == plain[0]
    assert _normal(remembering[1]) == _normal(plain[1])


def test_a_head_that_comes_again_is_not_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        channel = Channel(ours, "a peer", 20, remembers_heads=True)
        parsed: list[object] = []
        inner = Channel._parsed

        def noting(self: Channel) -> object:
            event = inner(self)
            parsed.append(event)
            return event

        monkeypatch.setattr(Channel, "_parsed", noting)
        for number in range(5):
            theirs.sendall(HEADS[0] + b"%05d" % number)
            request = channel.next_request()
            assert request is not None
            assert channel.read_form(100) == b"%05d" % number
            channel.respond(Response(200, {}, b"done"))
            assert channel.finish()
            assert theirs.recv(1000).endswith(b"\r\n\r\ndone")
            if not number:
                of_first = len([event for event in parsed if hasattr(event, "target")])
        assert of_first == 1
        assert len([event for event in parsed if hasattr(event, "target")]) == 1


def test_no_more_than_some_heads_are_remembered() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        channel = Channel(ours, "a peer", 20, remembers_heads=True)
        for number in range(50):
            theirs.sendall(b"GET /%d HTTP/1.1\r\nHost: h\r\n\r\n" % number)
            assert channel.next_request() is not None
            channel.respond(Response(200, {}, b"done"))
            assert channel.finish()
            theirs.recv(1000)
        assert channel._heads is not None
        assert len(channel._heads) <= 16


def test_an_answer_of_two_lines_in_a_header_is_refused_as_by_the_parser() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        channel = Channel(ours, "a peer", 20, remembers_heads=True)
        for number in range(2):
            theirs.sendall(HEADS[1])
            assert channel.next_request() is not None
            if number:
                with pytest.raises(Exception, match="header"):
                    channel.respond(Response(200, {"X": "a\r\nY: b"}, b""))
            else:
                channel.respond(Response(200, {}, b""))
                assert channel.finish()
