"""The little of HTTP/1.1 that a status page needs (pure): one request, one answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_REQUEST_BYTES: Final = 16 * 1024

_REASONS: Final = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed"}


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str


def parse_request(head: bytes) -> Request | None:
    """The request line of what came before the first empty line; None if it is none."""
    line = head.split(b"\r\n", 1)[0].decode("latin-1")
    parts = line.split(" ")
    if len(parts) != 3 or not parts[2].startswith("HTTP/") or not parts[1].startswith("/"):
        return None
    return Request(parts[0], parts[1].split("?", 1)[0])


def answer(status: int, body: bytes, content_type: str, *, with_body: bool = True) -> bytes:
    """A whole answer that ends the connection."""
    head = (
        f"HTTP/1.1 {status} {_REASONS[status]}\r\n"
        f"Content-Type: {content_type}\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\n"
        "Connection: close\r\n\r\n"
    ).encode("latin-1")
    return head + body if with_body else head
