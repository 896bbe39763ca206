"""The part of HTTP/1.1 that pages and image transfers need (pure).

A connection carries one request: its head (`parse_request`), its body (`Body`), and one
answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl

from howdah import errors

MAX_REQUEST_BYTES: Final = 16 * 1024
LAST_CHUNK: Final = b"0\r\n\r\n"
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_MAX_LINE_BYTES: Final = 4096

_REASONS: Final = {
    200: "OK",
    400: "Bad Request",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    409: "Conflict",
    410: "Gone",
    500: "Internal Server Error",
}


@dataclass(frozen=True, slots=True)
class Request:
    """The head of a request. Names of `headers` are in lower case; of a name in the
    query that comes twice, the first value counts."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    peer: str = ""
    """The address that it came from."""
    target: str = ""
    """Path and query as they stand in the request."""


def may_be_request(received: bytes) -> bool:
    """Whether these may be the first bytes of a request: a method is letters, then a blank.

    What they are not, such as a call of Hadoop's RPC, never ends with an empty line.
    """
    method, _, _ = received[:16].partition(b" ")
    return method.isalpha() and method.isascii()


def parse_request(head: bytes) -> Request | None:
    """The request of what came before the first empty line; None if it is none."""
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    parts = first.split(" ")
    if len(parts) != 3 or not parts[2].startswith("HTTP/") or not parts[1].startswith("/"):
        return None
    path, _, query = parts[1].partition("?")
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            return None
        headers[name.strip().lower()] = value.strip()
    values = dict(reversed(parse_qsl(query, keep_blank_values=True, errors="replace")))
    return Request(parts[0], path, values, headers, target=parts[1])


def head(status: int, headers: Mapping[str, str | int]) -> bytes:
    """The head of an answer that ends the connection."""
    lines = [f"HTTP/1.1 {status} {_REASONS[status]}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    lines += ["Cache-Control: no-store", "X-Content-Type-Options: nosniff", "Connection: close"]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def answer(status: int, body: bytes, content_type: str, *, with_body: bool = True) -> bytes:
    """A whole answer that ends the connection."""
    top = head(status, {"Content-Type": content_type, "Content-Length": len(body)})
    return top + body if with_body else top


def chunk(data: bytes) -> bytes:
    """A piece, not empty, of a body whose length nobody knows before its end."""
    assert data, "an empty piece would end the body"
    return b"%x\r\n%b\r\n" % (len(data), data)


def plain(status: int, message: str) -> bytes:
    """An answer that says one thing."""
    return answer(status, f"{message}\n".encode(), "text/plain; charset=utf-8")


class Body:
    """The body of a request, out of the bytes behind its head.

    >>> body = Body(request)
    >>> while not body.complete:
    ...     use(body.feed(connection.recv(65536)))
    """

    def __init__(self, request: Request) -> None:
        """Raises ProtocolViolation for a body without a valid length."""
        coding = request.headers.get("transfer-encoding", "").lower()
        if coding not in ("", "identity", "chunked"):
            raise errors.ProtocolViolation(f"bodies in transfer encoding {coding!r} are not read")
        self._chunked = coding == "chunked"
        length = "0" if self._chunked else request.headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit():
            raise errors.ProtocolViolation(f"{length!r} is no length of a body")
        self._left_bytes = int(length)
        """Of the body, or of the chunk."""
        self._line = b""
        self._in_trailer = False
        self._after_chunk = False
        self.complete = not self._chunked and self._left_bytes == 0

    def feed(self, data: bytes) -> bytes:
        """The body's part of what arrived next; what is behind its end is left out.

        Raises ProtocolViolation for what is no chunk.
        """
        if not self._chunked:
            part = data[: self._left_bytes]
            self._left_bytes -= len(part)
            self.complete = self._left_bytes == 0
            return part
        parts = []
        at = 0
        while at < len(data) and not self.complete:
            if self._left_bytes:
                part = data[at : at + self._left_bytes]
                self._left_bytes -= len(part)
                self._after_chunk = self._left_bytes == 0
                parts.append(part)
                at += len(part)
                continue
            end = data.find(b"\n", at)
            stop = len(data) if end < 0 else end + 1
            self._line += data[at:stop]
            at = stop
            if len(self._line) > _MAX_LINE_BYTES:
                raise errors.ProtocolViolation("a line between chunks is too long")
            if end >= 0:
                line, self._line = self._line.strip(), b""
                self._take_line(line)
        return b"".join(parts)

    def _take_line(self, line: bytes) -> None:
        if self._in_trailer:
            self.complete = not line
        elif self._after_chunk:
            if line:
                raise errors.ProtocolViolation("a chunk is longer than it says")
            self._after_chunk = False
        else:
            size = line.partition(b";")[0].strip()
            try:
                self._left_bytes = int(size, 16)
            except ValueError:
                self._left_bytes = -1
            if self._left_bytes < 0 or not size.isalnum():
                raise errors.ProtocolViolation(f"{size[:20]!r} is no length of a chunk")
            self._in_trailer = self._left_bytes == 0
