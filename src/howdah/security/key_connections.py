"""One kept connection to a key server: requests and answers of HTTP/1.1 (shell).

Each open of a file in an encryption zone waits for such a request, and `http.client` takes longer
to read the head of its answer than the server to decrypt the key. An answer has a length, or comes
in chunks, or ends with its connection (RFC 9112); whatever else is refused.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import BadStatusLine, HTTPException
from typing import Final

MAX_HEAD_BYTES: Final = 64 * 1024
_RECEIVE_BYTES: Final = 64 * 1024
_HEAD_END: Final = b"\r\n\r\n"
_MOST_LINE_BYTES: Final = 1024
"""Of the line that begins a chunk."""
_UNFIT: Final = frozenset("\r\n\0 ")
"""What no part of a request line has."""


class TooLong(HTTPException):
    """An answer of more bytes than a key server has reason to send."""


@dataclass(frozen=True, slots=True)
class KeyAnswer:
    """What a server answered. Names of headers are in lower case."""

    status: int
    reason: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    is_last: bool
    """Whether the connection ends with it."""


class KeyConnection:
    """For one thread at a time. What a call raises ends the connection."""

    def __init__(self, connected: socket.socket, host: str) -> None:
        """`host` is what the header of that name says."""
        self._socket = connected
        self._host = host
        self._received = bytearray()
        self._last_head = b""
        self._last: tuple[str, int, str, Mapping[str, str]] = ("", 0, "", {})

    def ask(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes | None,
        most_bytes: int,
    ) -> KeyAnswer:
        """Send a request, and wait for its answer, whose body has no more than `most_bytes`.

        Raises OSError, ConnectionResetError where nothing came; HTTPException for what is no
        answer, and TooLong.
        """
        self._socket.sendall(_request(method, target, self._host, headers, body))
        while True:
            answer = self._answer(most_bytes)
            if answer.status >= 200:
                return answer

    def close(self) -> None:
        self._socket.close()

    def _answer(self, most_bytes: int) -> KeyAnswer:
        while (end := self._received.find(_HEAD_END)) < 0:
            if len(self._received) > MAX_HEAD_BYTES:
                raise TooLong("the head of an answer")
            self._receive(begun=bool(self._received))
        head = bytes(self._received[:end])
        del self._received[: end + len(_HEAD_END)]
        # Answers to calls of one kind have the same head, but for the second in their date.
        if head != self._last_head:
            self._last = _parsed_head(head)
            self._last_head = head
        version, status, reason, headers = self._last
        is_last = version == "HTTP/1.0" or headers.get("connection", "").lower() == "close"
        if status < 200 or status in (204, 304):
            return KeyAnswer(status, reason, headers, b"", is_last)
        if headers.get("transfer-encoding", "").lower() == "chunked":
            body = self._chunks(most_bytes)
        elif "transfer-encoding" in headers:
            raise HTTPException("an answer in an encoding that nobody asked for")
        elif "content-length" in headers:
            body = self._exactly(_length(headers["content-length"], 10), most_bytes)
        else:
            body, is_last = self._until_end(most_bytes), True
        return KeyAnswer(status, reason, headers, body, is_last)

    def _receive(self, *, begun: bool = True) -> None:
        data = self._socket.recv(_RECEIVE_BYTES)
        if not data:
            if begun:
                raise HTTPException("an answer that breaks off")
            raise ConnectionResetError("the connection was closed")
        self._received += data

    def _exactly(self, length: int, most_bytes: int) -> bytes:
        if length > most_bytes:
            raise TooLong("the body of an answer")
        while len(self._received) < length:
            self._receive()
        data = bytes(self._received[:length])
        del self._received[:length]
        return data

    def _line(self) -> bytes:
        while (end := self._received.find(b"\r\n")) < 0:
            if len(self._received) > _MOST_LINE_BYTES:
                raise HTTPException("a chunk without a length")
            self._receive()
        return self._exactly(end + 2, end + 2)[:-2]

    def _chunks(self, most_bytes: int) -> bytes:
        parts = bytearray()
        while length := _length(self._line().partition(b";")[0].strip().decode("latin-1"), 16):
            parts += self._exactly(length, most_bytes - len(parts))
            if self._line():
                raise HTTPException("a chunk of another length than it says")
        # What comes behind the last chunk are further headers, which nobody looks at.
        trailing = 0
        while line := self._line():
            trailing += len(line)
            if trailing > MAX_HEAD_BYTES:
                raise TooLong("what follows the body of an answer")
        return bytes(parts)

    def _until_end(self, most_bytes: int) -> bytes:
        while len(self._received) <= most_bytes:
            data = self._socket.recv(_RECEIVE_BYTES)
            if not data:
                break
            self._received += data
        else:
            raise TooLong("the body of an answer")
        body = bytes(self._received)
        self._received.clear()
        return body


def _request(
    method: str, target: str, host: str, headers: Mapping[str, str], body: bytes | None
) -> bytes:
    """In one piece: what is sent in two may wait for the acknowledgement of the first."""
    if _UNFIT & set(target) or not target.isascii():
        raise ValueError("the target of a request has characters that no target has")
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", "Accept-Encoding: identity"]
    for name, value in headers.items():
        if "\r" in value or "\n" in value:
            raise ValueError(f"the header {name} of a request has more than one line")
        lines.append(f"{name}: {value}")
    if body is not None or method in ("POST", "PUT"):
        lines.append(f"Content-Length: {len(body or b'')}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + (body or b"")


def _parsed_head(head: bytes) -> tuple[str, int, str, Mapping[str, str]]:
    first, _, rest = head.partition(b"\r\n")
    return *_status(first.decode("latin-1")), _headers(rest.decode("latin-1"))


def _status(line: str) -> tuple[str, int, str]:
    version, _, rest = line.partition(" ")
    status, _, reason = rest.partition(" ")
    if not version.startswith("HTTP/1.") or len(status) != 3 or not status.isdecimal():
        raise BadStatusLine(line[:80])
    return version, int(status), reason.strip()


def _headers(text: str) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in text.split("\r\n") if text else ():
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise HTTPException(f"a header that is none: {line[:80]!r}")
        headers[name.lower()] = value.strip()
    return headers


def _length(text: str, base: int) -> int:
    if not text.isascii() or not text.isalnum() or len(text) > 16:
        raise HTTPException(f"a length that is none: {text[:80]!r}")
    try:
        return int(text, base)
    except ValueError:
        raise HTTPException(f"a length that is none: {text!r}") from None
