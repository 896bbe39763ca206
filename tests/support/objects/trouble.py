"""A proxy before an object store that makes trouble at chosen requests.

Requests count from 1 since `plan` was called. What a trouble does to the one request that it
is planned for:

- `refused`       the connection ends, and the store never hears of it
- `half sent`     the same, with half of the body on its way
- `answer lost`   the store does it, and the connection ends without an answer
- `answer cut`    the store does it, and half of the body of its answer arrives
- `object cut`    the same for an object that is read, and for nothing else
- `500`, `503`, `429`  the store never hears of it, and an error as S3 words it is the answer
- `hangs`         the store never hears of it, and nothing comes until something else is planned
- `object stalls` half of an object that is read arrives, and then nothing for as long
- `range ignored` the whole object comes, from its first byte on
- `slow`          the answer comes late
- `sent damaged`  a byte of what is put is another one; the store says so if it came with a
  checksum
- `answer damaged`  a byte of an object that is read is another one
- an `Answer`     the store never hears of it, and this is what comes back; `unless` it is signed
  for a region
"""

from __future__ import annotations

import base64
import http.client
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Final

import google_crc32c

from tests.support.objects.serving import served

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
_LONGEST_S: Final = 120
_CODES: Final = {"500": "InternalError", "503": "SlowDown", "429": "TooManyRequests"}
_DROPPED: Final = ("connection", "transfer-encoding", "keep-alive", "content-length")


@dataclass(frozen=True)
class Answer:
    """What a store says instead of doing something. `text` is what stands in the body, made of
    code and message if it is not given."""

    status: int
    code: str = ""
    message: str = "planned"
    more: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    text: str | None = None
    unless: str | None = None

    def body(self) -> bytes:
        if self.text is not None:
            return self.text.encode()
        return (
            f"<Error><Code>{self.code}</Code><Message>{self.message}</Message>{self.more}</Error>"
        ).encode()


Trouble = str | Answer


class Proxy:
    """What a test plans, and what it asks afterwards."""

    def __init__(self, port: int, upstream: int) -> None:
        self.port = port
        self.upstream = upstream
        self.domain = ""
        """Requests to BUCKET.DOMAIN, or to the domain itself, go to the store as /BUCKET."""
        self._lock = threading.Lock()
        self._planned: dict[int, Trouble] = {}
        self._always: Trouble | None = None
        self._first: tuple[str, Trouble] | None = None
        self._ended = threading.Event()
        self.seen: list[str] = []
        """Method and target of each request since `plan`."""
        self.headers: list[dict[str, str]] = []
        """Their headers, by names in lower case."""

    def plan(
        self,
        troubles: Mapping[int, Trouble] | None = None,
        *,
        always: Trouble | None = None,
        first: tuple[str, Trouble] | None = None,
    ) -> None:
        """Trouble for requests by number, for every one, or for the first one whose method and
        target begin so."""
        with self._lock:
            self._ended.set()
            self._ended = threading.Event()
            self._planned = dict(troubles or {})
            self._always = always
            self._first = first
            self.seen = []
            self.headers = []

    def hang(self) -> None:
        """Until something else is planned."""
        self._ended.wait(_LONGEST_S)

    def trouble_for(self, what: str, headers: dict[str, str]) -> Trouble | None:
        with self._lock:
            self.seen.append(what)
            self.headers.append(headers)
            if self._first is not None and what.startswith(self._first[0]):
                trouble = self._first[1]
                self._first = None
                return trouble
            return self._always or self._planned.get(len(self.seen))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy: Proxy

    def do_any(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        trouble = self.proxy.trouble_for(f"{self.command} {self.path}", headers)
        length = int(self.headers.get("Content-Length") or 0)
        if trouble in ("refused", "hangs"):
            if trouble == "hangs":
                self.proxy.hang()
            self._cut()
            return
        if trouble == "half sent":
            self.rfile.read(length // 2)
            self._cut()
            return
        body = self.rfile.read(length)
        if isinstance(trouble, Answer) and trouble.unless and trouble.unless in str(headers):
            trouble = None
        if trouble == "sent damaged" and body and self.command == "PUT":
            body = bytes((body[0] ^ 1,)) + body[1:]
            sent = headers.get("x-amz-checksum-crc32c")
            if sent and base64.b64decode(sent) != google_crc32c.value(body).to_bytes(4, "big"):
                trouble = Answer(400, "BadDigest", "The CRC32C you specified did not match")
        if isinstance(trouble, str) and trouble in _CODES:
            trouble = Answer(int(trouble), _CODES[trouble])
        if isinstance(trouble, Answer):
            self._say(trouble)
            return
        if trouble == "slow":
            time.sleep(_SLOW_S)
        status, its_headers, answer = self._forwarded(body, trouble)
        if trouble == "answer lost":
            self._cut()
            return
        self.send_response_only(status)
        announced = "0"
        for name, value in its_headers:
            if name.lower() == "content-length":
                announced = value
            elif name.lower() not in _DROPPED:
                self.send_header(name, value)
        self.send_header(
            "Content-Length", announced if self.command == "HEAD" else str(len(answer))
        )
        self.end_headers()
        is_object = self.command == "GET" and "list-type" not in self.path
        if trouble == "answer cut" or (trouble == "object cut" and is_object):
            self.wfile.write(answer[: len(answer) // 2])
            self._cut()
            return
        if trouble == "object stalls" and is_object:
            self.wfile.write(answer[: len(answer) // 2])
            self.wfile.flush()
            self.proxy.hang()
            self._cut()
            return
        if trouble == "answer damaged" and is_object and answer:
            answer = bytes((answer[0] ^ 1,)) + answer[1:]
        self.wfile.write(answer)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = do_any

    def _forwarded(
        self, body: bytes, trouble: Trouble | None
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        upstream = http.client.HTTPConnection("127.0.0.1", self.proxy.upstream, timeout=60)
        try:
            unsent = ["connection", "expect", "content-length"]
            if trouble == "range ignored":
                unsent.append("range")
            target = self.path
            host, domain = self.headers.get("Host", ""), self.proxy.domain
            if domain and domain in host:
                unsent.append("host")
                bucket = host.partition(domain)[0].rstrip(".")
                target = f"/{bucket}{target}" if bucket else target
            headers = {
                name: value for name, value in self.headers.items() if name.lower() not in unsent
            }
            upstream.request(self.command, target, body, headers | {"Connection": "close"})
            answer = upstream.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            upstream.close()

    def _say(self, answer: Answer) -> None:
        text = answer.body()
        self.send_response_only(answer.status)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(text)))
        for name, value in answer.headers.items():
            self.send_header(name, value)
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
    with served(handler) as own:
        proxy = handler.proxy = Proxy(own, port)
        try:
            yield proxy
        finally:
            proxy.plan()
