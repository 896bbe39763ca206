"""Connections that wait for a thread or for their address, at a server's door."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from howdah.testing.waiting import wait_until
from howdah.web.admission import pending_connections
from howdah.web.admission.cost_limiter import ALLOWANCE_S, MOST_WAIT_S, OF_ONE
from howdah.web.http import Request, Response, text_response
from howdah.web.server import HttpServer

pytestmark = [pytest.mark.req("FS-219"), pytest.mark.kind("caller")]
GET = b"GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n"
LAST = b"GET /last HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
US = "127.0.0.1"


@contextmanager
def serving(max_connections: int = 100) -> Iterator[tuple[HttpServer, int]]:
    def answer(request: Request) -> Response:
        return text_response(200, request.path)

    server = HttpServer(answer, timeout_s=20, max_connections=max_connections)
    port = server.start(US, 0)
    try:
        yield server, port
    finally:
        server.stop()


def dial(port: int, source: str = US) -> socket.socket:
    return socket.create_connection((US, port), timeout=20, source_address=(source, 0))


def all_of(connection: socket.socket) -> bytes:
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while data := connection.recv(1 << 16):
            found += data
    return found


def owes(server: HttpServer, seconds: float) -> None:
    with server._lock:
        now_s = time.monotonic()
        server._company.settle(server._company.visit(US, now_s), seconds, now_s)


def test_a_malformed_head_is_charged_and_a_request_is_not() -> None:
    with serving() as (server, port):
        with dial(port) as honest:
            honest.sendall(LAST)
            assert all_of(honest).endswith(b"/last\n")
        wait_until(lambda: not server._connections, what="it has ended")
        assert len(server._company) == 0
        with dial(port) as bad:
            bad.sendall(b"hrpc\x09\x00\x00")
            assert all_of(bad).startswith(b"HTTP/1.1 400 ")
        wait_until(lambda: len(server._company) == 1, what="it was charged")


def test_who_owes_is_served_when_its_time_comes_and_who_has_asked_goes_on() -> None:
    with serving() as (server, port), dial(port) as before:
        before.sendall(GET)
        assert before.recv(1000).endswith(b"/a\n")
        owes(server, ALLOWANCE_S + OF_ONE * MOST_WAIT_S / 2)
        with dial(port) as fresh:
            fresh.sendall(LAST)
            (entrance, _), *_ = server._entrances
            wait_until(lambda: len(entrance._held) == 1, what="it waits")
            before.sendall(GET)
            assert before.recv(1000).endswith(b"/a\n")
            assert all_of(fresh).endswith(b"/last\n")


def test_who_owes_much_is_dropped_and_others_are_served() -> None:
    with serving() as (server, port):
        owes(server, 1000.0)
        with dial(port) as bad:
            bad.sendall(GET)
            assert all_of(bad) == b""
        with dial(port, "127.0.0.2") as other:
            other.sendall(LAST)
            assert all_of(other).endswith(b"/last\n")


def test_one_that_waits_may_lose_its_place() -> None:
    with serving(max_connections=1) as (server, port):
        owes(server, ALLOWANCE_S + OF_ONE * 0.5)
        with dial(port) as held:
            held.sendall(GET)
            (entrance, _), *_ = server._entrances
            wait_until(lambda: len(entrance._held) == 1, what="it waits")
            with dial(port, "127.0.0.2") as other:
                other.sendall(LAST)
                assert all_of(other).endswith(b"/last\n")
            assert all_of(held) == b""


def test_others_are_accepted_while_one_waits_for_a_thread() -> None:
    with serving() as (server, port):
        while server._threads.acquire(blocking=False):
            pass
        with dial(port) as first, dial(port) as second:
            first.sendall(LAST)
            (entrance, _), *_ = server._entrances
            wait_until(lambda: len(entrance._held) == 1, what="it waits")
            second.sendall(LAST)
            wait_until(lambda: len(entrance._held) == 2, what="both wait")
            server._threads.release()
            assert all_of(first).endswith(b"/last\n")
            assert all_of(second).endswith(b"/last\n")


def test_who_finds_no_thread_is_dropped(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(pending_connections, "_THREAD_S", 0.1)
    with serving() as (server, port):
        while server._threads.acquire(blocking=False):
            pass
        with dial(port) as late:
            late.sendall(GET)
            assert all_of(late) == b""
        wait_until(lambda: not server._arrivals, what="it counts no more")
    assert "have not ended yet" in caplog.text


def test_whoever_spoke_while_the_thread_was_at_something_else_is_not_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The time of its first byte is over when the thread looks, and the byte is there."""
    with serving() as (server, port):
        (entrance, _), *_ = server._entrances
        going_on, spoken = threading.Event(), threading.Event()
        held = entrance._begin_held

        def busy() -> None:
            if len(entrance._waiting) == 1:
                going_on.set()
                assert spoken.wait(20)
                for each in entrance._waiting:
                    entrance._waiting[each] = 0.0
                monkeypatch.setattr(entrance, "_begin_held", held)
            held()

        monkeypatch.setattr(entrance, "_begin_held", busy)
        with dial(port) as slow:
            assert going_on.wait(20)
            slow.sendall(LAST)
            spoken.set()
            assert all_of(slow).endswith(b"/last\n")


def test_stop_needs_no_help_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """On macOS nobody wakes when a listening socket is shut down."""
    monkeypatch.setattr(pending_connections, "shut_down", lambda *_: None)
    with serving() as (server, _):
        ((_, thread),) = server._entrances
        server.stop()
        assert not thread.is_alive()
        server.stop()


def test_connections_are_taken_after_a_defect_in_taking_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    admit = HttpServer.admit

    def fails_once(server: HttpServer, arrival: pending_connections.Arrival) -> bool:
        monkeypatch.setattr(HttpServer, "admit", admit)
        raise RuntimeError("a defect of this test")

    with serving() as (_, port):
        monkeypatch.setattr(HttpServer, "admit", fails_once)
        with dial(port), dial(port) as second:
            second.sendall(LAST)
            assert b" 200 " in all_of(second)
