"""One HTTP connection as a server sees it: `h11` and a socket (shell).

`next_request`, then `read` and an answer (`respond`, or `begin`, `send` and `end`), then
`finish`; all on one thread. What `break_off` and `turn_away` do may come from another one.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import select
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from email.utils import formatdate
from functools import lru_cache
from io import FileIO
from typing import Final, NoReturn

import h11

from howdah import __version__
from howdah.runtime.tls.server import (
    NoHandshake,
    ServerTls,
    has_left,
    say_farewell,
    send_plain,
    shake_hands,
    shut_down,
)
from howdah.web.admission.head_limits import MAX_HEAD_LINES, HeadLines, pause_s, written
from howdah.web.http import (
    MAX_HEAD_BYTES,
    Framing,
    Request,
    Response,
    may_be_request,
    reason,
    request_of,
    text_response,
)

log = logging.getLogger(__name__)

RECEIVE_BYTES: Final = 256 * 1024
_HEAD_PIECE_BYTES: Final = 16 * 1024
"""Room that each connection takes while it waits for its head."""
UNREAD_BYTES: Final = 1 << 20
"""So much of a body that nobody wants is read, that its sender sees the answer."""
_UNREAD_PIECES: Final = 1024
"""And in no more pieces than these, which may be of a byte each."""
UNWANTED_S: Final = 10.0
"""So long a body is read that nobody wanted."""
FORM_S: Final = 10.0
"""So long a form is read, of which anybody may send one."""
LINGER_S: Final = 2.0
FOREVER_S: Final = 1e6
COPY_BYTES: Final = 256 * 1024
_SAME_TIMEOUT: Final = 1.01
"""A time-out that is longer by no more than this is as good."""

_HEAD_END: Final = b"\r\n\r\n"
_MOST_KNOWN: Final = 16
_MOST_KNOWN_BYTES: Final = 4096
"""Of heads that one connection remembers, and of each."""
_KNOWN_METHODS: Final = frozenset((b"GET", b"POST", b"PUT", b"DELETE"))
_NOT_KNOWN: Final = frozenset((b"connection", b"expect", b"transfer-encoding", b"upgrade"))
"""Names of headers by which more follows from a head than a request and the length of its body."""

_ALWAYS: Final = (
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
    ("Server", f"howdah/{__version__}"),
)


_PARSING: Final = threading.Lock()
"""One connection at a time. The interpreter lets one thread run anyhow; a loop beside them that
wants its turn waits for one of them then, and not for each. Beside eight heads of 2,000 lines its
turn was 26 ms late at most, and is 7 ms (the machine busy, the process in real time)."""
_BEYOND_ASCII: Final = re.compile(rb"[\x80-\xff]")
"""Java's client writes such characters of a path as they are, which other servers let pass."""


def _escaped(match: re.Match[bytes]) -> bytes:
    return b"%%%02X" % ord(match[0])


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a server waits for requests."""

    head_s: float = 10.0
    """From the first byte of a head to its last one, and for the first one of a connection."""
    idle_s: float = 30.0
    """Between two requests."""

    @classmethod
    def of(cls, idle_s: float) -> Patience:
        """As it is configured; 0 is for ever. Whoever may not be silent for long may not drip."""
        return cls(min(cls().head_s, idle_s or FOREVER_S), idle_s or FOREVER_S)


class Malformed(Exception):
    """The other side does not speak HTTP/1.1. It was told, where that was possible."""


class Gone(ConnectionError):
    """The other side, or this server, has gone before the answer was whole."""


class _Piece:
    """Stands for bytes that go by `sendfile`: `h11` counts them and passes it through."""

    def __init__(self, length: int) -> None:
        self._length = length

    def __len__(self) -> int:
        return self._length


def _parser() -> h11.Connection:
    return h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)


def _length(headers: Mapping[bytes, bytes]) -> int | None:
    """How many bytes a body says it has; the parser has looked at the number."""
    length = headers.get(b"content-length")
    return None if length is None else int(length)


@lru_cache(maxsize=4)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)


@dataclass(frozen=True, slots=True)
class _WrittenHead:
    """The head of an answer, and what it follows from."""

    status: int
    headers: Mapping[str, str]
    added: Mapping[str, str]
    length_bytes: int
    second: int
    written: bytes


@dataclass(frozen=True, slots=True)
class _KnownHead:
    """A head that was parsed, and how long the body behind it is."""

    request: Request
    length_bytes: int


class Channel:
    """A connection and, while one is answered, its request."""

    def __init__(
        self,
        connection: socket.socket,
        peer: str,
        timeout_s: float,
        patience: Patience = Patience(),
        framing: Framing = Framing(),  # noqa: B008 - it does not change
        *,
        remembers_heads: bool = False,
    ) -> None:
        """With `remembers_heads` a request whose head is, byte for byte, that of one before on this
        connection does not pass the parser, which takes most of the time of a small request."""
        self.peer = peer
        self.silent_since_s: float | None = time.monotonic()
        """Since when nothing of a request has come, while none is being answered."""
        self.head_since_s: float | None = None
        """Since when a head is coming, while it is not whole; or a form, or a body that nobody
        wants."""
        self._body_until_s: float | None = None
        """Of such a body: when it has to be whole."""
        self._body_pause_s = LINGER_S
        self.broken = False
        """What was begun cannot be ended: the connection is closed in its middle."""
        self.added: Mapping[str, str] = {}
        """Headers of the answer to this request, beside those that it has itself."""
        self.omitted: frozenset[str] = frozenset()
        """Usual headers that the answer to this request does not have."""
        self._socket = connection
        self._timeout_s = timeout_s
        self._patience = patience
        self._framing = framing
        self._h11 = _parser()
        self._left_bytes: int | None = None
        # Of a body that is received past the parser: the parser is not told, and a request behind
        # it has another one.
        self._is_past_parser = False
        self._heads: dict[bytes, _KnownHead] | None = {} if remembers_heads else None
        self._answer_head: _WrittenHead | None = None
        self._socket_timeout_s: float | None = None
        """The one that the socket has, if it is known: to set it is a call of the system."""
        self._first_piece = b""
        self._unparsed: bytes | None = None
        """A whole request that is answered without the parser having seen it."""
        self._unread = b""
        """Its body, until it is read."""
        self._is_answered = False
        """Whether it has its answer."""
        self._is_first = True
        self._is_head = False
        self._is_broken_off = False
        # Small answers must not wait for the acknowledgement of what went before.
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    # TLS.

    def secure(self, tls: ServerTls) -> None:
        """Begin with TLS, before anything else is read. Raises NoHandshake."""
        self._socket = tls.wrap(self._socket)
        self._socket_timeout_s = None
        if self._is_broken_off:
            raise NoHandshake("it was broken off")
        try:
            shake_hands(self._socket)
        except NoHandshake as error:
            if error.is_plain:
                said = text_response(400, "this port speaks HTTPS: ask it with https://")
                send_plain(self._socket, self._written(said))
                self.linger()
            raise

    @property
    def _secured(self) -> ssl.SSLSocket | None:
        return self._socket if isinstance(self._socket, ssl.SSLSocket) else None

    # Requests.

    def next_request(self) -> Request | None:
        """The next one; None at the end of the connection, or when none comes in time.

        Raises Malformed, OSError.
        """
        now_s = time.monotonic()
        patience = self._patience
        deadline_s = now_s + (patience.head_s if self._is_first else patience.idle_s)
        event: object
        # What came behind the request before, which was sent without waiting for its answer.
        ahead, has_ended = self._h11.trailing_data
        # The parser has nothing to say before anything has come, and is asked nevertheless where
        # that is not certain.
        is_idle = not ahead and not has_ended and self._heads is not None
        received = ahead[:16]
        lines, pieces = HeadLines(), 0
        begun, in_first_line = bool(ahead), b"\n" not in ahead
        if begun:
            self.head_since_s = now_s
            deadline_s = now_s + patience.head_s
        else:
            self.silent_since_s = now_s
        try:
            if ahead and lines.are_too_many(ahead):
                self._refuse_lines()
            while True:
                event = h11.NEED_DATA if is_idle else self._parsed()
                is_idle = False
                if isinstance(event, h11.Request):
                    return self._begun(event)
                if isinstance(event, h11.ConnectionClosed) or event is h11.PAUSED:
                    return None
                # Bytes gather where they come one by one: to look at each costs a turn.
                if pause := pause_s(pieces):
                    self._pause(min(pause, deadline_s - time.monotonic()))
                data = self._receive(deadline_s)
                if not pieces:
                    known = None if ahead else self._known(data)
                    if known is not None:
                        return known
                    self._first_piece = b"" if ahead else data
                pieces += 1
                if data and not begun:
                    begun, self.silent_since_s = True, None
                    self.head_since_s = time.monotonic()
                    deadline_s = self.head_since_s + patience.head_s
                if len(received) < 16:
                    received += data[:16]
                    if data and not may_be_request(received):
                        self._refuse(400, "this port speaks HTTP, and that was something else")
                if lines.are_too_many(data):
                    self._refuse_lines()
                if in_first_line:
                    line, end, rest = data.partition(b"\n")
                    data = _BEYOND_ASCII.sub(_escaped, line) + end + rest
                    in_first_line = not end
                self._h11.receive_data(data)
        except TimeoutError:
            if begun:
                raise Malformed(f"no whole request came within {patience.head_s:g} s") from None
            return None
        except h11.RemoteProtocolError as error:
            self._refuse(error.error_status_hint, str(error))

    def _refuse_lines(self) -> NoReturn:
        self._refuse(431, f"the head of this request has {MAX_HEAD_LINES} lines or more")

    def _pause(self, time_s: float) -> None:
        """Until then, or until the connection is broken off."""
        if time_s > 0:
            poll = select.poll()
            poll.register(self._socket, 0)  # An end is told nevertheless.
            poll.poll(1000 * time_s)

    def _parsed(self) -> object:
        """What comes next of what was received. Raises RemoteProtocolError."""
        try:
            with _PARSING:
                return self._h11.next_event()
        except h11.RemoteProtocolError as error:
            # `h11` raises it in a frame that refers to it, and its trace refers to the frame. A
            # namenode never looks for such rings, and each would keep this connection.
            raise error.with_traceback(None) from None

    def _known(self, data: bytes) -> Request | None:
        """The request that these bytes are, if they are a whole one with a head that was parsed
        before."""
        if not self._heads:
            return None
        end = data.find(_HEAD_END) + len(_HEAD_END)
        known = self._heads.get(data[:end])
        if known is None or len(data) - end != known.length_bytes:
            return None
        self._unparsed, self._unread, self._is_answered = data, data[end:], False
        self._reset(is_head=False)
        self._left_bytes = known.length_bytes
        self._set_timeout(self._timeout_s)
        return known.request

    def _remember(self, event: h11.Request, request: Request) -> None:
        """Keep the head of a request, if nothing follows from it but the request itself."""
        head, end, _ = self._first_piece.partition(_HEAD_END)
        if (
            self._heads is None
            or not end
            or len(head) > _MOST_KNOWN_BYTES
            or not head.isascii()
            or len(self._heads) >= _MOST_KNOWN
            or event.http_version != b"1.1"
            or event.method not in _KNOWN_METHODS
            or any(name in _NOT_KNOWN for name, _ in event.headers)
        ):
            return
        self._heads[head + end] = _KnownHead(request, self._left_bytes or 0)

    def _to_parser(self) -> None:
        """Show the parser a request that it has not seen: its answer is no simple one."""
        if self._unparsed is None:
            return
        whole, self._unparsed = self._unparsed, None
        is_read = not self._unread
        self._h11.receive_data(whole)
        event = self._parsed()
        assert isinstance(event, h11.Request), "it was one before"
        while is_read and not isinstance(event, h11.EndOfMessage):
            event = self._parsed()

    def _reset(self, *, is_head: bool) -> None:
        """Begin with a request."""
        self.silent_since_s = self.head_since_s = None
        self.added, self.omitted = {}, frozenset()
        self._is_first = False
        self._is_head = is_head

    def _begun(self, event: h11.Request) -> Request:
        self._reset(is_head=event.method == b"HEAD")
        headers = dict(event.headers)
        if b"transfer-encoding" in headers and b"content-length" in headers:
            # A proxy before this server may see another end of the request (RFC 9112, 6.1).
            self._refuse(400, "this request says in two ways where it ends")
        if event.method == b"CONNECT":
            self._refuse(501, "this server leads to no other one")
        self._left_bytes = _length(headers)
        self._set_timeout(self._timeout_s)
        request = request_of(event.method, event.target, event.headers, self.peer)
        if request is None:
            self._refuse(400, "the target of this request is no path")
        if self._secured is not None:
            request = replace(request, is_secure=True)
        self._remember(event, request)
        return request

    def read(self) -> bytes:
        """What comes next of the request's body; empty at its end. Raises OSError, also for
        a body that is none."""
        if self._unparsed is not None:
            body, self._unread, self._left_bytes = self._unread, b"", 0
            return body
        if self._h11.they_are_waiting_for_100_continue and not self.has_begun:
            self._write(h11.InformationalResponse(status_code=100, headers=[], reason=b"Continue"))
        if self._is_past_parser:
            return self._read_past_parser()
        while True:
            try:
                event = self._parsed()
            except h11.RemoteProtocolError as error:
                self.broken = self.has_begun
                raise Gone(f"the body of a request: {error}") from error
            if isinstance(event, h11.Data):
                if self._left_bytes is not None:
                    self._left_bytes -= len(event.data)
                return bytes(event.data)
            if isinstance(event, h11.EndOfMessage) or event is h11.PAUSED:
                return b""
            if self._left_bytes is not None:
                return self._read_past_parser()
            self._h11.receive_data(self._received(RECEIVE_BYTES))

    def _read_past_parser(self) -> bytes:
        """A body whose length is known takes no more than its bytes from the socket, and the
        parser would copy them three times."""
        assert self._left_bytes is not None, "only where a length was said"
        self._is_past_parser = True
        if not self._left_bytes:
            return b""
        data = self._received(min(RECEIVE_BYTES, self._left_bytes))
        self._left_bytes -= len(data)
        return data

    def _received(self, most_bytes: int) -> bytes:
        """Raises OSError, also for a body that is cut off."""
        if self._body_until_s is not None:
            left_s = self._body_until_s - time.monotonic()
            if left_s <= 0:
                raise TimeoutError
            self._set_timeout(min(self._body_pause_s, left_s))
        data = self._socket.recv(most_bytes)
        if not data:
            raise Gone("the connection ended within the body of a request")
        return data

    def read_form(self, most_bytes: int) -> bytes | None:
        """A whole body from somebody who may be anybody, within `FORM_S`; None where it has more
        than `most_bytes`. Meanwhile the connection makes room for others, as with a head.

        Raises Gone.
        """
        if self._left_bytes is not None and self._left_bytes > most_bytes:
            return None
        if self._unparsed is not None:
            return self.read()
        data = bytearray()
        with self.form_in_time():
            while piece := self.read():
                data += piece
                if len(data) > most_bytes:
                    return None
        return bytes(data)

    @contextlib.contextmanager
    def form_in_time(self) -> Iterator[None]:
        """What is read of a form meanwhile, of which anybody may send one, comes within `FORM_S`.
        Raises Gone."""
        try:
            with self._in_time(FORM_S, FORM_S):
                yield
        except Gone:
            raise
        except TimeoutError:
            raise Gone(f"a form did not come within {FORM_S:g} s") from None
        except OSError as error:
            raise Gone(f"a form did not come: {error}") from error

    @contextlib.contextmanager
    def _in_time(self, time_s: float, pause_s: float) -> Iterator[None]:
        """Bodies are read within this time, and none waits for longer than `pause_s` for its next
        bytes; otherwise `read` raises TimeoutError. Whoever drips makes room for others."""
        self.head_since_s = time.monotonic()
        self._body_until_s, self._body_pause_s = self.head_since_s + time_s, pause_s
        self._set_timeout(pause_s)
        try:
            yield
        finally:
            self.head_since_s = self._body_until_s = None
            with contextlib.suppress(OSError):  # It may be broken off.
                self._set_timeout(self._timeout_s)

    @property
    def waits_to_send(self) -> bool:
        """Whether the other side waits for a word before it sends its body."""
        return self._h11.they_are_waiting_for_100_continue

    def has_left(self) -> bool:
        """Whether the other side has closed the connection."""
        if self._secured is not None:
            return has_left(self._socket)
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        # A socket that has a time-out waits for so long, whatever the flags of its calls.
        if not poll.poll(0):
            return False
        try:
            return self._socket.recv(1, socket.MSG_PEEK) == b""
        except OSError:
            return True

    # Answers.

    @property
    def has_begun(self) -> bool:
        """Whether the head of an answer is out."""
        if self._unparsed is not None:
            return self._is_answered
        return self._h11.our_state not in (h11.IDLE, h11.SEND_RESPONSE)

    @property
    def wants_body(self) -> bool:
        """Whether an answer has more than a head: not one to HEAD."""
        return not self._is_head

    def respond(self, response: Response) -> None:
        """A whole answer. Raises OSError."""
        if self._unparsed is not None:
            data = self._simple(response)
            if data is not None:
                self._is_answered = True
                self._socket.sendall(data)
                return
            self._to_parser()
        headers = dict(response.headers)
        if response.status != 304:
            # That would be the length of what is not sent.
            headers["Content-Length"] = str(len(response.body))
        data = self._head(response.status, headers, response.reason)
        if response.body and not self._is_head:
            data += self._h11.send(h11.Data(data=response.body)) or b""
        data += self._h11.send(h11.EndOfMessage()) or b""
        self._socket.sendall(data)

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """The head of an answer; without Content-Length it goes in chunks. Raises OSError."""
        self._to_parser()
        self._socket.sendall(self._head(status, headers))

    def send(self, data: bytes | memoryview) -> None:
        """A piece of the answer's body. Raises OSError."""
        if self._is_head or not len(data):
            return
        # h11's types want bytes; whatever has a length passes through as it is.
        for part in self._h11.send_with_data_passthrough(h11.Data(data=data)) or ():  # type: ignore[arg-type]
            self._socket.sendall(part)

    def send_file(self, file: FileIO, offset: int, length_bytes: int) -> int:
        """A piece of a file, without a copy; how much of it there was. Raises OSError. For
        bodies whose length is in their head."""
        if self._is_head:
            return length_bytes
        if self._secured is not None:
            return self._send_copy(file, offset, length_bytes)
        moved = self._socket.sendfile(file, offset, length_bytes)
        # As in `send`.
        self._h11.send_with_data_passthrough(h11.Data(data=_Piece(moved)))  # type: ignore[arg-type]
        return moved

    def _send_copy(self, file: FileIO, offset: int, length_bytes: int) -> int:
        """The same over TLS, where each byte passes through OpenSSL: in pieces of `COPY_BYTES`,
        whatever the file's length."""
        sent = 0
        while sent < length_bytes:
            data = os.pread(file.fileno(), min(COPY_BYTES, length_bytes - sent), offset + sent)
            if not data:
                break
            self.send(data)
            sent += len(data)
        return sent

    def end(self) -> None:
        """The answer is whole. Raises OSError."""
        self._write(h11.EndOfMessage())

    def finish(self) -> bool:
        """The request is answered; whether another one may follow on this connection."""
        if self._unparsed is not None:
            self._unparsed = None
            return self._is_answered and not self.broken
        if self.broken or self._h11.our_state not in (h11.DONE, h11.MUST_CLOSE):
            return False
        if self._h11.their_state is h11.SEND_BODY and not self._discard():
            return False
        if self._h11.our_state is h11.DONE and self._is_past_parser:
            self._h11, self._is_past_parser = _parser(), False
            return True
        if self._h11.our_state is h11.DONE and self._h11.their_state is h11.DONE:
            self._h11.start_next_cycle()
            return True
        self.linger()
        return False

    def _lines(
        self, headers: Mapping[str, str], second: int | None = None
    ) -> list[tuple[str, str]]:
        """The lines of an answer that is made in a second, now by default."""
        headers = self._framing.headers(headers)
        usual = (line for line in _ALWAYS if line[0] not in headers and line[0] not in self.omitted)
        date = ("Date", _date(int(time.time()) if second is None else second))
        return [*headers.items(), *self.added.items(), *usual, date]

    def _simple(self, response: Response) -> bytes | None:
        """An answer to a request that the parser has not seen; None for one that takes it."""
        if response.reason or response.status < 200 or response.status in (204, 304):
            return None
        head, length, second = self._answer_head, len(response.body), int(time.time())
        if (
            head is not None
            and head.status == response.status
            and head.second == second
            and head.length_bytes == length
            and head.headers == response.headers
            and head.added == self.added
            and not self.omitted
        ):
            return head.written + response.body
        headers = {**response.headers, "Content-Length": str(length)}
        lines = self._lines(headers, second)
        if not all(value.isprintable() and value.isascii() for _, value in lines):
            return None
        made = written(response.status, lines, b"", ends=False)
        if not self.omitted:
            self._answer_head = _WrittenHead(
                response.status, dict(response.headers), dict(self.added), length, second, made
            )
        return made + response.body

    def _written(self, response: Response) -> bytes:
        """A whole answer that ends the connection, past the parser: a quarter of its time."""
        headers = {**response.headers, "Content-Length": str(len(response.body))}
        body = b"" if self._is_head else response.body
        return written(response.status, self._lines(headers), body)

    def _head(self, status: int, headers: Mapping[str, str], words: str = "") -> bytes:
        lines = self._lines(headers)
        # Who was to send a body, and was not told to, may send it nevertheless.
        if self._h11.they_are_waiting_for_100_continue:
            lines.append(("Connection", "close"))
        event = h11.Response(
            status_code=status,
            headers=[(name.encode(), value.encode("utf-8")) for name, value in lines],
            reason=(words or reason(status)).encode(),
        )
        return self._h11.send(event) or b""

    def _write(self, event: h11.Event) -> None:
        data = self._h11.send(event)
        if data:
            self._socket.sendall(data)

    def _refuse(self, status: int, why: str) -> NoReturn:
        """Answer what is no request. Raises Malformed."""
        self.silent_since_s = self.head_since_s = None
        if self._h11.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            with contextlib.suppress(OSError):
                self._set_timeout(LINGER_S)
                self._socket.sendall(self._written(text_response(status, why)))
                self.linger()
        raise Malformed(why)

    def _discard(self) -> bool:
        """Read a body that nobody wanted; whether it came to its end."""
        if self.waits_to_send:
            return False
        left_bytes, left_pieces = UNREAD_BYTES, _UNREAD_PIECES
        # Whoever says nothing more for a while has had time to read the answer.
        with contextlib.suppress(TimeoutError), self._in_time(UNWANTED_S, LINGER_S):
            while left_bytes > 0 and left_pieces > 0:
                data = self.read()
                if not data:
                    return True
                left_bytes -= len(data)
                left_pieces -= 1
        self.linger()
        return False

    def linger(self) -> None:
        """Close such that the other side can read the answer before it hears of the end."""
        deadline_s = time.monotonic() + LINGER_S
        if self._secured is not None:
            say_farewell(self._secured)
        with contextlib.suppress(OSError):
            # Of a TLS connection what comes behind it is read as it is, and thrown away.
            self._socket.shutdown(socket.SHUT_WR)
            while self._receive(deadline_s):
                pass

    def _receive(self, deadline_s: float) -> bytes:
        left_s = max(0.001, deadline_s - time.monotonic())
        set_s = self._socket_timeout_s
        if set_s is None or not left_s <= set_s <= _SAME_TIMEOUT * left_s:
            self._set_timeout(left_s)
        return self._socket.recv(_HEAD_PIECE_BYTES)

    def _set_timeout(self, time_s: float) -> None:
        if time_s != self._socket_timeout_s:
            # Unknown while it is set: the socket may be closed.
            self._socket_timeout_s = None
            self._socket.settimeout(time_s)
            self._socket_timeout_s = time_s

    # From other threads.

    def turn_away(self, response: Response) -> None:
        """Answer before anything was asked, without waiting, and close."""
        with contextlib.suppress(OSError):
            self._socket.settimeout(0)
            self._socket.sendall(self._written(response))
        self._socket.close()

    def break_off(self) -> None:
        """End whatever the connection's thread waits for."""
        self._is_broken_off = True
        shut_down(self._socket, socket.SHUT_RDWR)

    def close(self) -> None:
        if self._secured is not None and not self.broken and not self._is_broken_off:
            say_farewell(self._secured)
        self._socket.close()
