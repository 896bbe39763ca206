"""A proxy before an object store that makes trouble at chosen requests.

Requests count from 1 since `plan` was called. What a trouble does to the one request that it
is planned for:

- `refused`       the connection ends, and the store never hears of it
- `half sent`     the same, with half of the body on its way
- `answer lost`   the store does it, and the connection ends without an answer
- `answer cut`    the store does it, and half of the body of its answer arrives
- `500`, `503`, `429`  the store never hears of it, and an error as S3 words it is the answer
- `slow`          the answer comes late
"""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

TROUBLES: Final = (
    "refused",
    "half sent",
    "answer lost",
    "answer cut",
    "500",
    "503",
    "429",
    "slow",
)
_SLOW_S: Final = 0.05
_CODES: Final = {"500": "InternalError", "503": "SlowDown", "429": "TooManyRequests"}
_DROPPED: Final = ("connection", "transfer-encoding", "keep-alive", "content-length")


class Proxy:
    """What a test plans, and what it asks afterwards."""

    def __init__(self, port: int, upstream: int) -> None:
        self.port = port
        self.upstream = upstream
        self._lock = threading.Lock()
        self._planned: dict[int, str] = {}
        self._always: str | None = None
        self.seen: list[str] = []
        """Method and target of each request since `plan`."""

    def plan(self, troubles: Mapping[int, str] | None = None, *, always: str | None = None) -> None:
        """Trouble for requests by number, or for every one."""
        with self._lock:
            self._planned = dict(troubles or {})
            self._always = always
            self.seen = []

    def trouble_for(self, what: str) -> str | None:
        with self._lock:
            self.seen.append(what)
            return self._always or self._planned.get(len(self.seen))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy: Proxy

    def do_any(self) -> None:
        trouble = self.proxy.trouble_for(f"{self.command} {self.path}")
        length = int(self.headers.get("Content-Length") or 0)
        if trouble == "refused":
            self._cut()
            return
        if trouble == "half sent":
            self.rfile.read(length // 2)
            self._cut()
            return
        body = self.rfile.read(length)
        if trouble in _CODES:
            self._refuse(int(trouble), _CODES[trouble])
            return
        if trouble == "slow":
            time.sleep(_SLOW_S)
        status, headers, answer = self._forwarded(body)
        if trouble == "answer lost":
            self._cut()
            return
        self.send_response_only(status)
        announced = "0"
        for name, value in headers:
            if name.lower() == "content-length":
                announced = value
            elif name.lower() not in _DROPPED:
                self.send_header(name, value)
        self.send_header(
            "Content-Length", announced if self.command == "HEAD" else str(len(answer))
        )
        self.end_headers()
        if trouble == "answer cut":
            self.wfile.write(answer[: len(answer) // 2])
            self._cut()
            return
        self.wfile.write(answer)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = do_any

    def _forwarded(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        upstream = http.client.HTTPConnection("127.0.0.1", self.proxy.upstream, timeout=60)
        try:
            headers = {
                name: value
                for name, value in self.headers.items()
                if name.lower() not in ("connection", "expect", "content-length")
            }
            upstream.request(self.command, self.path, body, headers | {"Connection": "close"})
            answer = upstream.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            upstream.close()

    def _refuse(self, status: int, code: str) -> None:
        text = f"<Error><Code>{code}</Code><Message>planned</Message></Error>".encode()
        self.send_response_only(status)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def _cut(self) -> None:
        self.close_connection = True
        try:
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            self.close_connection = True  # the client has gone already

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged: a test asks `seen`."""


@contextmanager
def proxy_before(port: int) -> Iterator[Proxy]:
    """A proxy for the store at a port of this machine."""
    handler: type[_Handler] = type("Handler", (_Handler,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    proxy = Proxy(server.server_address[1], port)
    handler.proxy = proxy
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
