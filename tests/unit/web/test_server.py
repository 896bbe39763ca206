"""The HTTP server: answers, exchanges, streams, and bad company."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import http.client
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import h11
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howdah.config import Configuration, keys
from howdah.runtime import background_threads, unexpected_errors
from howdah.testing.waiting import wait_until
from howdah.web import channel as channel_module
from howdah.web import server as server_module
from howdah.web.channel import Channel, Malformed, Patience
from howdah.web.file_response import FileOut, OutgoingFile
from howdah.web.http import Admitted, NeedsBody, Request, Response, answer, text_response
from howdah.web.ports import WebKeys, listen
from howdah.web.server import Handler, HttpServer, Later, on_loop

GET = b"GET %s HTTP/1.1\r\nHost: [::]\r\n\r\n"


@contextmanager
def serving(handler: Handler, **options: Any) -> Iterator[int]:
    timeout_s = options.pop("timeout_s", 10.0)
    server = HttpServer(handler, timeout_s=timeout_s, **options)
    port = server.start("127.0.0.1", 0)
    try:
        yield port
    finally:
        server.stop()


def dial(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def all_of(connection: socket.socket) -> bytes:
    """What comes until the server closes, by force or not."""
    found = bytearray()
    with contextlib.suppress(ConnectionResetError):
        while data := connection.recv(1 << 16):
            found += data
    return bytes(found)


def said(port: int, *pieces: bytes) -> bytes:
    with dial(port) as connection:
        for piece in pieces:
            with contextlib.suppress(ConnectionError):
                connection.sendall(piece)
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_WR)
        return all_of(connection)


def path_of(request: Request) -> Response:
    return text_response(200, request.path)


class Echo:
    """Answers with the body of its request."""

    def __init__(self) -> None:
        self.got: list[bytes] = []
        self.began = threading.Event()

    def run(self, channel: Channel) -> None:
        self.began.set()
        while data := channel.read():
            self.got.append(data)

    def done(self) -> Response:
        return Response(200, {}, b"".join(self.got))


def echo(_: Request) -> Echo:
    return Echo()


# Requests and connections.


def test_request_may_come_in_pieces() -> None:
    with serving(path_of) as port:
        found = said(port, b"GET /a", b" HTTP/1.1\r\nHost: [::]\r", b"\n\r\n")
    assert found.startswith(b"HTTP/1.1 200 OK\r\n")
    assert found.endswith(b"\r\n\r\n/a\n")


def test_a_connection_carries_many_requests() -> None:
    with serving(path_of) as port:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        client.connect()
        first = client.sock
        for number in range(5):
            client.request("GET", f"/{number}")
            assert client.getresponse().read() == b"/%d\n" % number
        assert client.sock is first
        client.close()


@pytest.mark.req("FS-219")
@pytest.mark.kind("caller")
def test_requests_that_come_at_once_are_answered_one_by_one() -> None:
    with serving(path_of) as port:
        found = said(port, b"".join(GET % name for name in (b"/a", b"/b", b"/c")))
    assert found.count(b"HTTP/1.1 200 OK") == 3
    assert found.index(b"/a\n") < found.index(b"/b\n") < found.index(b"/c\n")


def test_connection_ends_where_the_client_wants_it() -> None:
    with serving(path_of) as port, dial(port) as connection:
        connection.sendall(b"GET /a HTTP/1.1\r\nHost: [::]\r\nConnection: close\r\n\r\n")
        assert b"connection: close" in all_of(connection).lower()


def test_head_is_the_same_without_the_body() -> None:
    with serving(path_of) as port:
        full = said(port, GET % b"/a")
        head = said(port, b"HEAD /a HTTP/1.1\r\nHost: [::]\r\n\r\n")
    top, _, body = full.partition(b"\r\n\r\n")
    without_date = [line for line in top.split(b"\r\n") if not line.startswith(b"Date")]
    assert [line for line in head.split(b"\r\n") if line and not line.startswith(b"Date")] == (
        without_date
    )
    assert b"Content-Length: 3" in without_date
    assert b"X-Content-Type-Options: nosniff" in without_date
    assert body == b"/a\n"


def test_who_waits_to_send_a_body_is_told_to() -> None:
    with serving(echo) as port, dial(port) as connection:
        connection.sendall(
            b"PUT / HTTP/1.1\r\nHost: [::]\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"
        )
        assert connection.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"abc")
        connection.shutdown(socket.SHUT_WR)
        assert all_of(connection).endswith(b"\r\n\r\nabc")


def test_who_waits_to_send_a_body_that_nobody_wants_is_told_so_and_closed() -> None:
    with serving(lambda _: text_response(403, "no")) as port, dial(port) as connection:
        connection.sendall(
            b"PUT / HTTP/1.1\r\nHost: [::]\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"
        )
        found = all_of(connection)
    assert found.startswith(b"HTTP/1.1 403 Forbidden\r\n")
    assert b"Connection: close" in found


@pytest.mark.parametrize("size", [10, 8 << 20])
def test_answer_is_seen_though_nobody_read_the_body(size: int) -> None:
    with serving(lambda _: text_response(403, "no")) as port, dial(port) as connection:
        connection.sendall(b"PUT / HTTP/1.1\r\nHost: [::]\r\nContent-Length: %d\r\n\r\n" % size)

        def send() -> None:
            with contextlib.suppress(OSError):
                connection.sendall(b"x" * size)

        sender = threading.Thread(target=send)
        sender.start()
        assert connection.recv(1000).startswith(b"HTTP/1.1 403 Forbidden\r\n")
        connection.shutdown(socket.SHUT_RDWR)
        sender.join()


@settings(max_examples=20, deadline=None)
@given(st.binary(max_size=500), st.lists(st.integers(0, 499), max_size=4))
def test_body_in_chunks_is_joined(content: bytes, cuts: list[int]) -> None:
    at = sorted({0, *(cut % (len(content) + 1) for cut in cuts), len(content)})
    pieces = [content[a:b] for a, b in pairwise(at)]
    framed = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces if piece)
    with serving(echo) as port:
        found = said(
            port,
            b"PUT / HTTP/1.1\r\nHost: [::]\r\nTransfer-Encoding: chunked\r\n\r\n",
            framed + b"0\r\n\r\n",
        )
    assert found.partition(b"\r\n\r\n")[2] == content


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.binary(max_size=300), st.booleans()), min_size=1, max_size=5),
    st.lists(st.integers(1, 1500), max_size=6, unique=True),
)
def test_bodies_of_a_known_length_may_be_cut_anywhere_and_have_requests_behind(
    bodies: list[tuple[bytes, bool]], cuts: list[int]
) -> None:
    """A body is received past the parser from where its first part ends; some nobody reads."""
    sent = b"".join(
        b"PUT /%s HTTP/1.1\r\nHost: [::]\r\nContent-Length: %d\r\n\r\n%s"
        % (b"read" if is_read else b"leave", len(body), body)
        for body, is_read in bodies
    )
    at = [0, *sorted(cut for cut in cuts if cut < len(sent)), len(sent)]
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.settimeout(20)

        def send() -> None:
            for start, end in pairwise(at):
                theirs.sendall(sent[start:end])

        sender = threading.Thread(target=send)
        sender.start()
        channel = Channel(ours, "a peer", 20)
        for body, is_read in bodies:
            request = channel.next_request()
            assert request is not None
            assert request.path == ("/read" if is_read else "/leave")
            if is_read:
                assert b"".join(iter(channel.read, b"")) == body
                assert channel.read() == b""
            channel.respond(text_response(200, "done"))
            assert channel.finish()
        sender.join()


@pytest.mark.parametrize("head", [b"HTTP/1.1\r\nConnection: close", b"HTTP/1.0"])
def test_a_connection_that_its_client_wants_closed_is_closed_behind_a_long_body(
    head: bytes,
) -> None:
    body = b"x" * (1 << 20)
    with serving(echo) as port:
        found = said(
            port,
            b"PUT / %s\r\nHost: [::]\r\nContent-Length: %d\r\n\r\n" % (head, len(body)),
            body,
            GET % b"/never",
        )
    assert found.count(b"HTTP/1.1 200") == 1
    assert found.endswith(b"\r\n\r\n" + body)


def test_one_connection_is_parsed_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop in this process would wait for each of them."""
    parsing: list[int] = []
    most: list[int] = []
    next_event = h11.Connection.next_event

    def watched(self: h11.Connection) -> object:
        parsing.append(1)
        most.append(len(parsing))
        time.sleep(0.001)
        try:
            return next_event(self)
        finally:
            parsing.pop()

    monkeypatch.setattr(h11.Connection, "next_event", watched)
    with serving(path_of) as port:
        found: list[bytes] = []
        asking = [
            threading.Thread(target=lambda: found.append(said(port, GET % b"/a"))) for _ in range(8)
        ]
        for each in asking:
            each.start()
        for each in asking:
            each.join()
    assert all(each.endswith(b"/a\n") for each in found)
    assert (len(found), max(most)) == (8, 1)


def test_path_may_have_characters_that_nobody_escaped() -> None:
    with serving(path_of) as port:
        found = said(port, b"GET /", "ü€".encode(), b" HTTP/1.1\r\nHost: [::]\r\n\r\n")
    assert found.endswith(b"\r\n\r\n/%C3%BC%E2%82%AC\n")


@pytest.mark.parametrize("cut", [1, 3, 10, 17, 27])
def test_a_pipeline_may_be_cut_anywhere(cut: int) -> None:
    with serving(path_of) as port, dial(port) as connection:
        second = GET % b"/b"
        connection.sendall(GET % b"/a" + second[:cut])
        first = b""
        while not first.endswith(b"/a\n"):
            first += connection.recv(1 << 16)
        connection.sendall(second[cut:])
        connection.shutdown(socket.SHUT_WR)
        found = all_of(connection)
    assert found.startswith(b"HTTP/1.1 200 OK\r\n")
    assert found.endswith(b"\r\n\r\n/b\n")


# Bad company.


@pytest.mark.req("FS-219")
@pytest.mark.kind("caller")
def test_a_pipeline_whose_last_head_is_not_whole_makes_room() -> None:
    patience = Patience(head_s=600, idle_s=600)
    with serving(path_of, max_connections=2, patience=patience) as port:
        connections = [dial(port) for _ in range(2)]
        for connection in connections:
            connection.sendall(GET % b"/a" + b"GET")
            assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
        # What was answered last may not be waiting for the next head yet.
        wait_until(lambda: b"/b\n" in said(port, GET % b"/b"), 60)
        for connection in connections:
            connection.close()


def test_who_is_silent_and_waits_has_not_left() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(GET % b"/a")
        channel = Channel(ours, "a peer", 0.05)  # so long a read may wait: a look may not
        assert channel.next_request() is not None
        assert not channel.has_left()
        theirs.sendall(b"G")
        assert not channel.has_left()


def test_who_has_closed_the_connection_has_left() -> None:
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            theirs.sendall(GET % b"/a")
            channel = Channel(ours, "a peer", 60)
            assert channel.next_request() is not None
        assert channel.has_left()


@pytest.mark.req("FS-219")
@pytest.mark.kind("caller")
def test_a_head_behind_an_answer_has_the_time_of_a_head() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        # All of it is there before anybody waits, however slow the machine.
        theirs.sendall(GET % b"/a" + b"GET")
        channel = Channel(ours, "a peer", 10, Patience(head_s=0.05, idle_s=600))
        assert channel.next_request() is not None
        channel.respond(text_response(200, "first"))
        assert channel.finish()
        with pytest.raises(Malformed, match=r"within 0\.05 s"):
            channel.next_request()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET / HTTP/1.1\r\n" + b"X: yyyyyyyyy\r\n" * 10_000, b"431"),
        (b"GET / HTTP/1.1\r\nHost: [::]\r\n" + b"A: b\r\n" * 200 + b"\r\n", b"431"),
        (GET % b"/" + b"GET / HTTP/1.1\r\nHost: [::]\r\n" + b"A: b\r\n" * 200, b"200"),
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),  # no Host
        (b"hrpc\x09\x00\x00", b"400"),
        (b"\x16\x03\x01\x02\x00\x01", b"400"),
        (b"GET / HTTP/1.1\r\nHost: [::]\r\nContent-Length: -1\r\n\r\n", b"400"),
        (
            b"GET / HTTP/1.1\r\nHost: [::]\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            b"400",
        ),
        (b"GET /\r\nx HTTP/1.1\r\nHost: [::]\r\n\r\n", b"400"),
        (b"GET http://y/ HTTP/1.1\r\nHost: [::]\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: [::]\r\nTransfer-Encoding: gzip\r\n\r\n", b"501"),
        (
            b"PUT / HTTP/1.1\r\nHost: [::]\r\nContent-Length: 4\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
            b"0\r\n\r\n" + GET % b"/smuggled",
            b"400",
        ),
        (b"CONNECT / HTTP/1.1\r\nHost: [::]\r\n\r\n", b"501"),
        (b"CONNECT / HTTP/1.1\r\nHost: [::]\r\n\r\n" + GET % b"/", b"501"),
    ],
)
@pytest.mark.req("FS-219")
@pytest.mark.kind("caller")
def test_what_is_no_request_is_answered_once(sent: bytes, status: bytes) -> None:
    with serving(path_of) as port:
        found = said(port, sent)
    assert found.startswith(b"HTTP/1.1 " + status)
    assert found.count(b"HTTP/1.1 ") == 1 if status != b"200" else b"HTTP/1.1 431" in found
    head, _, body = found.rpartition(b"\r\n\r\n")
    assert b"\r\nContent-Length: %d\r\n" % len(body) in head
    assert head.endswith(b"\r\nConnection: close") or status == b"501"


@settings(max_examples=50, deadline=None)
@given(st.binary(min_size=1, max_size=300) | st.binary(max_size=200).map(lambda b: b"GET /" + b))
@pytest.mark.req("FS-219")
@pytest.mark.kind("caller")
def test_no_bytes_harm_the_server(sent: bytes) -> None:
    before = sum(unexpected_errors.seen.values())
    with serving(path_of) as port:
        said(port, sent)
        assert b"/alive\n" in said(port, GET % b"/alive")
    assert sum(unexpected_errors.seen.values()) == before


@pytest.mark.parametrize("sent", [b"", b"GET / HT"])
@pytest.mark.req("FS-219")
@pytest.mark.kind("caller")
def test_who_says_too_little_is_sent_away(sent: bytes) -> None:
    with serving(path_of, patience=Patience(head_s=0.05)) as port, dial(port) as connection:
        connection.sendall(sent)
        assert all_of(connection) == b""


def test_idle_connection_is_closed() -> None:
    with serving(path_of, patience=Patience(idle_s=0.05)) as port, dial(port) as connection:
        connection.sendall(GET % b"/a")
        assert all_of(connection).endswith(b"/a\n")


def test_patience_is_configured_and_is_for_dripping_too() -> None:
    assert Patience.of(60) == Patience(head_s=10, idle_s=60)
    assert Patience.of(2) == Patience(head_s=2, idle_s=2)
    assert Patience.of(0).idle_s > 86400
    server = HttpServer(path_of, timeout_s=10)
    conf = Configuration(
        {"hadoop.http.idle_timeout.ms": "1500", "dfs.datanode.http.address": "127.0.0.1:0"}
    )
    listen(server, conf, WebKeys(keys.DFS_DATANODE_HTTP_ADDRESS, keys.DFS_DATANODE_HTTPS_ADDRESS))
    server.stop()
    assert server.patience == Patience(head_s=1.5, idle_s=1.5)


@pytest.mark.req("FS-283")
@pytest.mark.parametrize(
    ("conf", "option", "policy"),
    [
        ({}, "SAMEORIGIN", "img-src 'self'; frame-ancestors 'self'"),
        ({"dfs.xframe.value": "DENY"}, "DENY", "img-src 'self'; frame-ancestors 'none'"),
        ({"dfs.xframe.value": "ALLOW-FROM"}, "ALLOW-FROM", "img-src 'self'"),
        ({"dfs.xframe.enabled": "false", "dfs.xframe.value": "DENY"}, None, "img-src 'self'"),
    ],
)
def test_pages_are_shown_within_those_that_are_configured(
    conf: dict[str, str], option: str | None, policy: str
) -> None:
    server = HttpServer(
        lambda _: Response(200, {"Content-Security-Policy": "img-src 'self'"}), timeout_s=10
    )
    at = {"dfs.datanode.http.address": "127.0.0.1:0"}
    web = WebKeys(keys.DFS_DATANODE_HTTP_ADDRESS, keys.DFS_DATANODE_HTTPS_ADDRESS)
    ports = listen(server, Configuration({**at, **conf}), web)
    connection = http.client.HTTPConnection("127.0.0.1", ports.first[1], timeout=20)
    try:
        connection.request("GET", "/")
        headers = connection.getresponse().headers
    finally:
        connection.close()
        server.stop()
    assert headers["X-Frame-Options"] == option
    assert headers["Content-Security-Policy"] == policy


def test_body_that_breaks_off_is_over(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"), serving(echo) as port:
        said(port, b"PUT / HTTP/1.1\r\nHost: [::]\r\nContent-Length: 9\r\n\r\nabc")
        wait_until(lambda: "was broken off" in caplog.text, what="the log line")


@pytest.mark.req("FS-219")
@pytest.mark.kind("caller")
def test_the_longest_silent_connection_makes_room() -> None:
    with serving(path_of, max_connections=2) as port:
        with dial(port) as first, dial(port) as second:
            assert said(port, GET % b"/a").endswith(b"/a\n")
            assert all_of(first) == b""
            second.sendall(GET % b"/b")
            assert second.recv(1000).endswith(b"/b\n")


def test_connections_that_say_nothing_take_no_thread() -> None:
    server = HttpServer(path_of, timeout_s=20)
    port = server.start("127.0.0.1", 0)
    connections: list[socket.socket] = []
    try:
        before = threading.active_count()
        connections += [dial(port) for _ in range(100)]
        wait_until(lambda: len(server._arrivals) == 100, what="all are taken")
        assert threading.active_count() <= before
        connections[50].sendall(b"GET /a HTTP/1.1\r\nHost: [::]\r\nConnection: close\r\n\r\n")
        assert all_of(connections[50]).endswith(b"/a\n")
        assert len(server._arrivals) == 99
    finally:
        for each in connections:
            each.close()
        server.stop()


def test_one_that_goes_without_a_word_is_counted_no_more() -> None:
    server = HttpServer(path_of, timeout_s=20)
    port = server.start("127.0.0.1", 0)
    try:
        dial(port).close()
        with dial(port):
            wait_until(lambda: len(server._arrivals) == 1, what="the one that is left")
    finally:
        server.stop()


def test_stop_ends_those_that_have_said_nothing_and_frees_the_port() -> None:
    server = HttpServer(path_of, timeout_s=20)
    port = server.start("127.0.0.1", 0)
    with dial(port) as silent:
        wait_until(lambda: len(server._arrivals) == 1, what="it is taken")
        server.stop()
        assert all_of(silent) == b""
        socket.create_server(("127.0.0.1", port)).close()


def test_a_connection_that_cannot_be_waited_for_is_dropped_and_the_next_one_is_served(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The system watches so many files, and no more."""
    with serving(path_of) as port:
        register = selectors.DefaultSelector.register

        def full(self: selectors.DefaultSelector, *arguments: Any) -> selectors.SelectorKey:
            monkeypatch.setattr(selectors.DefaultSelector, "register", register)
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(selectors.DefaultSelector, "register", full)
        assert all_of(dial(port)) == b""
        assert "cannot be waited for" in caplog.text
        assert said(port, b"GET /b HTTP/1.1\r\nHost: [::]\r\nConnection: close\r\n\r\n")


@pytest.mark.req("FS-219")
@pytest.mark.kind("caller")
@pytest.mark.parametrize(
    "sent",
    [
        b"GET /\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 2000 + b"\r\n",
        b"PUT /a HTTP/1.1\r\nHost: [::]\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"PUT /a HTTP/1.1\r\nHost: [::]\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_nothing_is_left_of_a_malformed_request(sent: bytes) -> None:
    """No ring of references either: a namenode never looks for old ones."""

    def left() -> int:
        kinds = (Channel, h11.Connection, h11.RemoteProtocolError)
        return sum(type(each) in kinds for each in gc.get_objects())

    gc.collect()
    with serving(path_of) as port:
        gc.disable()
        try:
            before = left()
            assert said(port, sent)
            wait_until(lambda: left() <= before, timeout_s=10, what="all of it is freed")
        finally:
            gc.enable()


def test_an_answer_may_say_more_than_its_status_does() -> None:
    refusal = replace(text_response(400, "why"), reason="Missing Required Header")
    with serving(lambda _: refusal) as port:
        assert said(port, GET % b"/").startswith(b"HTTP/1.1 400 Missing Required Header\r\n")


def test_large_answers_that_nobody_reads_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    size = 16 << 20
    monkeypatch.setattr(server_module, "MAX_UNSENT_BYTES", size * 5 // 2)
    large = answer(200, bytes(size), "application/octet-stream")
    # On a busy machine the readers take more than ten seconds to come to their answers.
    with serving(lambda _: large, timeout_s=60.0) as port:
        readers = [dial(port) for _ in range(3)]
        for reader in readers:
            reader.sendall(GET % b"/")
            assert reader.recv(15) == b"HTTP/1.1 200 OK"  # so they come one after the other
        assert len(all_of(readers[0])) < size
        for reader in readers[1:]:
            reader.shutdown(socket.SHUT_WR)
            assert len(all_of(reader)) > size
        for reader in readers:
            reader.close()


def test_one_answer_may_be_larger_than_all_that_may_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    size = 4 << 20
    monkeypatch.setattr(server_module, "MAX_UNSENT_BYTES", size // 2)
    large = answer(200, bytes(size), "application/octet-stream")
    with serving(lambda _: large) as port:
        assert len(said(port, GET % b"/")) > size


def test_who_finds_all_connections_at_work_is_told_to_come_again() -> None:
    exchange = Echo()
    with serving(lambda _: exchange, max_connections=1) as port, dial(port) as busy:
        busy.sendall(b"PUT / HTTP/1.1\r\nHost: [::]\r\nContent-Length: 9\r\n\r\nabc")
        assert exchange.began.wait(20)
        assert said(port).startswith(b"HTTP/1.1 503 Service Unavailable\r\n")


# Handlers.


@pytest.mark.parametrize("defect", [LookupError("a defect"), FileNotFoundError("a file")])
def test_defect_of_a_handler_is_answered_and_counted(defect: Exception) -> None:
    def broken(request: Request) -> Response:
        raise defect

    before = unexpected_errors.seen["GET /broken"]
    with serving(broken) as port:
        assert said(port, GET % b"/broken").startswith(b"HTTP/1.1 500 ")
    assert unexpected_errors.seen["GET /broken"] == before + 1


def test_defect_of_a_guard_is_answered_and_counted() -> None:
    class Broken:
        def admit(self, request: Request) -> Admitted | Response:
            raise LookupError("nobody thought of this")

    before = unexpected_errors.seen["GET /guarded"]
    server = HttpServer(path_of, timeout_s=10)
    server.guard = Broken()
    port = server.start("127.0.0.1", 0)
    try:
        assert said(port, GET % b"/guarded").startswith(b"HTTP/1.1 500 ")
    finally:
        server.stop()
    assert unexpected_errors.seen["GET /guarded"] == before + 1


@pytest.mark.parametrize("error", [OSError("the disk"), RuntimeError("a defect")])
def test_exchange_that_fails_is_over_and_said(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing(Echo):
        def run(self, channel: Channel) -> None:
            raise error

    with caplog.at_level("INFO"), serving(lambda _: Failing()) as port:
        assert said(port, GET % b"/").startswith(b"HTTP/1.1 200 OK")
        wait_until(lambda: str(error) in caplog.text, what="the log line")


def test_stop_breaks_an_exchange_off() -> None:
    exchange = Echo()
    server = HttpServer(lambda _: exchange, timeout_s=10)
    with dial(server.start("127.0.0.1", 0)) as connection:
        connection.sendall(b"PUT / HTTP/1.1\r\nHost: [::]\r\nContent-Length: 9\r\n\r\n")
        assert exchange.began.wait(20)
        server.stop()
        assert all_of(connection).count(b"HTTP/1.1 2") == 0


def test_handler_on_a_loop_is_called_there_and_long_work_is_not() -> None:
    threads: list[str] = []

    def handler(request: Request) -> Later:
        threads.append(threading.current_thread().name)

        def make() -> Response:
            threads.append(threading.current_thread().name)
            return text_response(200, "made")

        return Later(make)

    async def main() -> bytes:
        loop = asyncio.get_running_loop()
        server = HttpServer(handler, timeout_s=10, run=on_loop(background_threads.poster(loop)))
        port = server.start("127.0.0.1", 0)
        try:
            return await asyncio.to_thread(said, port, GET % b"/")
        finally:
            server.stop()

    assert asyncio.run(main()).endswith(b"made\n")
    assert threads == [threading.main_thread().name, "http 127.0.0.1"]


# Files.


def test_file_goes_out_whole_and_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "edits"
    path.write_bytes(bytes(range(256)))

    def out(request: Request) -> FileOut:
        return FileOut(request, lambda: OutgoingFile(path, 200), 0, 10, missing_status=410)

    with serving(out) as port:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        for header, status, content in (
            ("", 200, bytes(range(200))),
            ("bytes=10-19", 206, bytes(range(10, 20))),
            ("bytes=-5", 206, bytes(range(195, 200))),
            ("bytes=200-", 416, b""),
        ):
            client.request("GET", "/", headers={"Range": header} if header else {})
            answer = client.getresponse()
            body = answer.read()
            assert answer.status == status
            assert status == 416 or body == content
            if status == 206:
                assert (answer.getheader("Content-Range") or "").endswith("/200")
        client.request("HEAD", "/")
        answer = client.getresponse()
        assert (answer.getheader("Content-Length"), answer.read()) == ("200", b"")
        client.close()


# Streams.


class Counting:
    """Gives out `count` pieces of `size` bytes; the last one is "end"."""

    head = Response(200)

    def __init__(self, count: int, size: int = 1, *, breaks: bool = False) -> None:
        self.left = count
        self.size = size
        self.breaks = breaks
        self.made = 0
        self.stopped = threading.Event()

    def next(self, ready: Callable[[bytes | None, bool], None]) -> None:
        self.made += 1
        if self.made > self.left:
            ready(None if self.breaks else b"end", True)
        else:
            ready(b"." * self.size, False)

    def stop(self) -> None:
        assert not self.stopped.is_set(), "once only"
        self.stopped.set()


def test_stream_comes_piece_by_piece_and_ends() -> None:
    stream = Counting(5)
    with serving(lambda _: stream) as port:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        client.request("GET", "/")
        assert client.getresponse().read() == b".....end"
        client.close()
        assert stream.stopped.wait(20)


def test_an_exchange_may_end_in_a_stream() -> None:
    stream = Counting(5)

    class First(Echo):
        def done(self) -> Counting:  # type: ignore[override]  # Echo ends in a response
            return stream

    with serving(lambda _: First()) as port:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        for _ in range(2):
            client.request("GET", "/")
            assert client.getresponse().read() == b".....end"
            assert stream.stopped.wait(20)
            stream = Counting(5)
        client.close()


def test_stream_that_breaks_off_has_no_end() -> None:
    stream = Counting(5, breaks=True)
    with serving(lambda _: stream) as port:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        client.request("GET", "/")
        with pytest.raises(http.client.IncompleteRead):
            client.getresponse().read()
        client.close()
        assert stream.stopped.wait(20)


def test_stream_is_stopped_when_its_reader_goes_or_takes_nothing_for_long() -> None:
    streams = [Counting(1 << 60, 1 << 16), Counting(1 << 60, 1 << 16)]
    coming = iter(streams)
    with serving(lambda _: next(coming), timeout_s=0.2) as port:
        with dial(port) as connection:
            connection.sendall(GET % b"/")
            connection.recv(1000)
        assert streams[0].stopped.wait(20)
        with dial(port) as slow:
            slow.sendall(GET % b"/")
            assert streams[1].stopped.wait(20)
            assert streams[1].made < 1000


@pytest.mark.req("FS-262")
def test_what_lies_beside_a_loop_is_answered_while_the_loop_stands() -> None:
    stands = threading.Event()

    def run(act: Callable[[], Any]) -> Any:
        assert stands.wait(60)
        return act()

    server = HttpServer(
        path_of,
        timeout_s=10.0,
        run=run,
        beside={"/health": lambda _: text_response(503, "it stands")},
    )
    port = server.start("127.0.0.1", 0)
    try:
        with dial(port) as waits:
            waits.sendall(b"GET /x HTTP/1.1\r\nHost: [::]\r\nConnection: close\r\n\r\n")
            told = said(port, b"GET /health HTTP/1.1\r\nHost: [::]\r\nConnection: close\r\n\r\n")
            assert told.startswith(b"HTTP/1.1 503")
            assert b"it stands" in told
            stands.set()
            assert all_of(waits).startswith(b"HTTP/1.1 200")
    finally:
        stands.set()
        server.stop()


@pytest.mark.req("FS-219")
@pytest.mark.kind("caller")
def test_head_that_is_not_whole_for_longest_makes_room() -> None:
    server = HttpServer(path_of, timeout_s=20, max_connections=2)
    port = server.start("127.0.0.1", 0)

    def dripping() -> int:
        return sum(each.head_since_s is not None for each in list(server._connections))

    try:
        with dial(port) as first, dial(port) as second:
            first.sendall(b"GET /first HT")
            wait_until(lambda: dripping() == 1, what="the first head has begun")
            second.sendall(b"GET /second HT")
            wait_until(lambda: dripping() == 2, what="the second head has begun")
            assert said(port, GET % b"/third").endswith(b"/third\n")
            assert all_of(first) == b""
            second.sendall(b"TP/1.1\r\nHost: [::]\r\nConnection: close\r\n\r\n")
            assert all_of(second).endswith(b"/second\n")
    finally:
        server.stop()


@pytest.mark.req("FS-219")
@pytest.mark.kind("caller")
def test_body_that_nobody_wants_and_that_does_not_come_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(channel_module, "LINGER_S", 0.1)
    with serving(path_of, timeout_s=1000.0) as port, dial(port) as connection:
        connection.sendall(b"POST /a HTTP/1.1\r\nHost: [::]\r\nContent-Length: 99999\r\n\r\nab")
        assert all_of(connection).endswith(b"/a\n")


# Names.


def test_who_asks_for_the_host_of_a_stranger_reaches_no_handler() -> None:
    """As a page does whose own name was led to this machine."""
    asked: list[str] = []

    def note(request: Request) -> Response:
        asked.append(request.path)
        return text_response(200, "here")

    head = b"PUT /webhdfs/v1/d?op=MKDIRS HTTP/1.1\r\nHost: %s\r\nContent-Length: 0\r\n\r\n"
    with serving(note, beside={"/beside": note}) as port:
        for host in (b"attacker.example", b"localhost.attacker.example:%d" % port, b""):
            for request in (head % host, b"GET /beside HTTP/1.1\r\nHost: %s\r\n\r\n" % host):
                found = said(port, request)
                assert found.startswith(b"HTTP/1.1 403 "), host
                assert b"howdah.http.hosts" in found
                assert b"attacker" not in found
        assert asked == []
        assert said(port, b"GET /a HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 200")
        assert b" 200 " in said(port, GET % b"/b")
    assert asked == ["/a", "/b"]


DRIPPING = [
    b"Content-Length: 100000\r\n\r\n",
    b"Transfer-Encoding: chunked\r\n\r\n1;x=",
]


@pytest.mark.parametrize("head", DRIPPING)
def test_a_body_that_nobody_wants_and_that_drips_makes_room(head: bytes) -> None:
    def refuse(request: Request) -> Response:
        return text_response(200 if request.method == "GET" else 405, "so it is")

    with serving(refuse, timeout_s=60, max_connections=1) as port, dial(port) as dripping:
        dripping.sendall(b"POST /x HTTP/1.1\r\nHost: [::]\r\n" + head)
        assert b" 405 " in dripping.recv(4096)
        dripping.sendall(b"x")
        # The server may be about to turn from its answer to the rest of the body.
        wait_until(lambda: b" 200 " in said(port, GET % b"/x"))


@pytest.mark.parametrize("head", DRIPPING)
def test_a_body_that_nobody_wants_is_read_for_a_while_only(
    head: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel_module, "UNWANTED_S", 0.3)
    with (
        serving(lambda _: text_response(405, "so it is"), timeout_s=60) as port,
        dial(port) as dripping,
    ):
        dripping.sendall(b"POST /x HTTP/1.1\r\nHost: [::]\r\n" + head)
        assert b" 405 " in dripping.recv(4096)
        with pytest.raises(OSError):  # noqa: PT011, PT012 - the end comes with the one or the other
            for _ in range(600):
                dripping.sendall(b"x")
                time.sleep(0.05)


class FormGuard:
    """Answers each POST by its body, which may have 10 bytes."""

    def admit(self, request: Request) -> Admitted | Response | NeedsBody:
        if request.method != "POST":
            return Admitted(request)
        return NeedsBody(10, lambda body: answer(200, b"form " + body, "text/plain"))


@contextmanager
def asking_for_forms(**options: Any) -> Iterator[tuple[HttpServer, int]]:
    server = HttpServer(path_of, timeout_s=60, **options)
    server.guard = FormGuard()
    try:
        yield server, server.start("127.0.0.1", 0)
    finally:
        server.stop()


POST = b"POST /login HTTP/1.1\r\nHost: [::]\r\n"
DRIPPING_FORMS = [b"Content-Length: 9\r\n\r\na", b"Transfer-Encoding: chunked\r\n\r\n1;x="]


def test_a_form_is_read_to_its_bound_and_not_beyond() -> None:
    with asking_for_forms() as (_, port):
        assert said(port, POST + b"Content-Length: 10\r\n\r\n0123456789").endswith(
            b"form 0123456789"
        )
        assert b" 413 " in said(port, POST + b"Content-Length: 11\r\n\r\n0123456789a")
        chunks = b"Transfer-Encoding: chunked\r\n\r\n6\r\n012345\r\n%s0\r\n\r\n"
        assert said(port, POST + chunks % b"4\r\n6789\r\n").endswith(b"form 0123456789")
        assert b" 413 " in said(port, POST + chunks % b"5\r\n6789a\r\n")


def test_a_form_that_is_too_long_is_refused_before_it_comes() -> None:
    with asking_for_forms() as (_, port), dial(port) as connection:
        connection.sendall(POST + b"Content-Length: 11\r\n\r\n")
        assert b" 413 " in connection.recv(4096)


@pytest.mark.parametrize("head", DRIPPING_FORMS)
def test_a_form_that_drips_makes_room(head: bytes) -> None:
    with asking_for_forms(max_connections=1) as (server, port), dial(port) as dripping:
        dripping.sendall(POST + head)
        wait_until(lambda: [each.head_since_s for each in list(server._connections)] != [])
        wait_until(lambda: b" 200 " in said(port, GET % b"/x"))


@pytest.mark.parametrize("head", DRIPPING_FORMS)
def test_a_form_has_to_come_in_time(
    head: bytes, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(channel_module, "FORM_S", 0.2)
    before = dict(unexpected_errors.seen)
    with caplog.at_level("INFO"), asking_for_forms() as (_, port), dial(port) as dripping:
        dripping.sendall(POST + head)
        assert all_of(dripping) == b""
        wait_until(lambda: "a form did not come within 0.2 s" in caplog.text)
    assert dict(unexpected_errors.seen) == before


def test_a_form_that_is_broken_off_is_no_defect() -> None:
    before = dict(unexpected_errors.seen)
    with asking_for_forms() as (_, port):
        assert said(port, POST + b"Content-Length: 9\r\n\r\na") == b""
    assert dict(unexpected_errors.seen) == before


def test_the_request_behind_a_form_has_its_own_time() -> None:
    with asking_for_forms() as (server, port), dial(port) as connection:
        connection.sendall(POST + b"Content-Length: 1\r\n\r\na")
        assert b" 200 " in connection.recv(4096)
        wait_until(lambda: [each.head_since_s for each in list(server._connections)] == [None])
        connection.sendall(GET % b"/next")
        assert b" 200 " in connection.recv(4096)
