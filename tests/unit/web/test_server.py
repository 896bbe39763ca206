"""The HTTP server: small answers on the loop, exchanges on threads, and bad company."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from howdah.web import server as module
from howdah.web.http import plain
from howdah.web.server import Handler, HttpServer


@dataclass
class Upload:
    """Reads `wanted` bytes and answers with them; or fails."""

    wanted: int
    error: Exception | None = None
    got: bytes = b""
    began: threading.Event = field(default_factory=threading.Event)

    def run(self, connection: socket.socket, received: bytes) -> None:
        self.began.set()
        if self.error is not None:
            raise self.error
        self.got = received
        while len(self.got) < self.wanted:
            data = connection.recv(10)
            if not data:
                raise ConnectionResetError("gone")
            self.got += data

    def done(self) -> bytes:
        return plain(200, self.got.decode())


def serve(
    handler: Handler,
    act: Callable[[HttpServer, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> None:
    async def main() -> None:
        server = HttpServer(handler, timeout_s=10)
        port = await server.start("127.0.0.1", 0)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            await asyncio.wait_for(act(server, reader, writer), 20)
        finally:
            writer.close()
            server.stop()

    asyncio.run(main())


def test_request_may_come_in_pieces() -> None:
    async def act(
        server: HttpServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        for piece in (b"GET /a", b" HTTP/1.1\r\nHost: x\r", b"\n\r\n"):
            writer.write(piece)
            await asyncio.sleep(0)
        assert (await reader.read()).endswith(b"\r\n\r\n/a\n")

    serve(lambda request: plain(200, request.path if request else "none"), act)


def test_endless_head_is_refused() -> None:
    async def act(
        server: HttpServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 10_000)
        assert (await reader.readline()) == b"HTTP/1.1 400 Bad Request\r\n"

    serve(lambda _: plain(200, "never"), act)


def test_who_says_nothing_is_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HEAD_TIMEOUT_S", 0.01)

    async def act(
        server: HttpServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        # By force, which may be seen as an end.
        with contextlib.suppress(ConnectionResetError):
            assert await reader.read() == b""

    serve(lambda _: plain(200, "never"), act)


def test_exchange_has_what_came_with_the_head_and_behind_it() -> None:
    async def act(
        server: HttpServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(b"PUT / HTTP/1.1\r\n\r\nwith the head,")
        await asyncio.to_thread(upload.began.wait, 10)
        writer.write(b" and behind it")
        assert (await reader.read()).endswith(b"\r\n\r\nwith the head, and behind it\n")

    upload = Upload(len(b"with the head, and behind it"))
    serve(lambda _: upload, act)


@pytest.mark.parametrize("error", [OSError("the disk"), RuntimeError("a defect")])
def test_exchange_that_fails_is_over_and_said(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    async def act(
        server: HttpServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(b"PUT / HTTP/1.1\r\n\r\n")
        assert (await reader.readline()) == b"HTTP/1.1 200 OK\r\n"

    with caplog.at_level("INFO"):
        serve(lambda _: Upload(1, error), act)
    assert "an HTTP transfer" in caplog.text
    assert str(error) in caplog.text


def test_stop_breaks_an_exchange_off() -> None:
    async def act(
        server: HttpServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(b"PUT / HTTP/1.1\r\n\r\n")
        await asyncio.to_thread(upload.began.wait, 10)
        server.stop()
        assert await reader.read() == b""

    upload = Upload(1)
    serve(lambda _: upload, act)


# Streams.


class Counting:
    """Gives out `count` pieces of `size` bytes; the last one is "end"."""

    head = b"HTTP/1.1 200 OK\r\n\r\n"

    def __init__(self, count: int, size: int = 1) -> None:
        self.left = count
        self.size = size
        self.made = 0
        self.stopped = asyncio.Event()

    def next(self, ready: Callable[[bytes, bool], None]) -> None:
        self.made += 1
        if self.made > self.left:
            ready(b"end", True)
        else:
            ready(b"." * self.size, False)

    def stop(self) -> None:
        assert not self.stopped.is_set(), "once only"
        self.stopped.set()


def test_stream_comes_piece_by_piece_and_ends() -> None:
    async def act(
        server: HttpServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        assert await reader.read() == Counting.head + b".....end"
        await stream.stopped.wait()

    stream = Counting(5)
    serve(lambda _: stream, act)


def test_no_piece_is_made_for_a_reader_who_takes_none() -> None:
    async def act(
        server: HttpServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        reader._transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        made = -1
        while made != stream.made:  # until nothing moves any more
            made = stream.made
            for _ in range(50):
                await asyncio.sleep(0)
        assert made < 1000
        reader._transport.resume_reading()  # type: ignore[attr-defined]
        assert len(await reader.read()) == len(Counting.head) + 1000 * (1 << 16) + len(b"end")

    stream = Counting(1000, 1 << 16)
    serve(lambda _: stream, act)


def test_stream_is_stopped_when_its_reader_goes_or_takes_nothing_for_long() -> None:
    async def act(
        server: HttpServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        await reader.readline()
        writer.transport.abort()
        await streams[0].stopped.wait()
        server.timeout_s = 0.01
        slow, asking = await asyncio.open_connection("127.0.0.1", server_port(server))
        slow._transport.pause_reading()  # type: ignore[attr-defined]
        asking.write(b"GET / HTTP/1.1\r\n\r\n")
        await streams[1].stopped.wait()
        asking.transport.abort()

    streams = [Counting(1 << 60, 1 << 16), Counting(1 << 60, 1 << 16)]
    coming = iter(streams)
    serve(lambda _: next(coming), act)


def server_port(server: HttpServer) -> int:
    assert isinstance(server._server, asyncio.Server)
    port: int = server._server.sockets[0].getsockname()[1]
    return port
