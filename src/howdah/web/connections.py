"""Connections over HTTP/1.1 that are kept, and one request on one of them (shell).

Heads are written and read here, in a tenth of the time that `h11` takes, which reads what comes
in chunks; the body of an answer whose length is known goes from the socket into the caller's
memory. A connection carries one request at a time. Whoever took an `Exchange` closes it; the
connection is kept for the next one if the answer was read to its end, for `IDLE_S` and in one
process alone.
"""

from __future__ import annotations

import re
import select
import socket
import ssl
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

import h11

from howdah import errors
from howdah.runtime.fork_safety import PerProcess
from howdah.runtime.signal_handlers import is_raised_by_handler
from howdah.runtime.tls.client import ClientTls, NotTrusted
from howdah.runtime.tls.http_policy import Place
from howdah.runtime.tls.server import shut_down

IDLE_S: Final = 10.0
"""Servers let go of a silent connection after 30 s (ours) or more."""
KEPT_FOR_EACH: Final = 16
CONTINUE_S: Final = 10.0
"""A server that does not say `100 Continue` in this time gets the body nevertheless."""
_RECEIVE_BYTES: Final = 256 * 1024
_MAX_HEAD_BYTES: Final = 64 * 1024
_AGENT: Final = "howdah"
_TARGET: Final = re.compile(r"[\x21-\x7e]+")
_NAME: Final = re.compile(r"[-!#$%&'*+.^_`|~0-9a-zA-Z]+")
_NOT_IN_A_VALUE: Final = re.compile("[^\t\x20-\x7e]")
_TIMEVAL: Final = struct.Struct("@ll")
_STATUS: Final = re.compile(rb"HTTP/1\.([01]) ([1-9]\d\d)(?: .*)?", re.DOTALL)
_END_OF_HEAD: Final = re.compile(rb"\r?\n\r?\n")
_MOST_SHOWN: Final = 200
_FRAMING: Final = ("content-length", "transfer-encoding")
_LENGTH: Final = re.compile(r"\d{1,19}", re.ASCII)
_HEADER: Final = re.compile(rb"([-!#$%&'*+.^_`|~0-9a-zA-Z]+):([^\0\r\n]*)")


class AnswerLost(errors.HowdahError, ConnectionError):
    """The connection ended after the request was sent: nobody knows whether it was heard, and
    to ask again might do it twice."""

    java_class = "java.net.SocketException"


class BrokenOff(errors.Unreachable):
    """A connection was not made, or ended, before an answer was whole. `host` is the server's."""

    def __init__(self, place: Place, message: str, cause: Exception | None = None) -> None:
        super().__init__(message)
        self.host = place.host
        # The numbers of OpenSSL's errors are its own.
        if cause is not None and not isinstance(cause, ssl.SSLError):
            self.numbered_as(cause)


@dataclass(frozen=True, slots=True)
class Head:
    """The head of an answer; names of `headers` are in lower case."""

    status: int
    headers: Mapping[str, str] = field(repr=False)


def redirection(head: Head, origin: Place) -> tuple[Place, str]:
    """Where an answer sends to, and the target there. Raises ProtocolViolation; what is not as
    secure as `origin` is refused."""
    location = head.headers.get("location", "")
    try:
        parts = urlsplit(location)
        port, host = parts.port, parts.hostname
    except ValueError:
        # Not with its query, nor with what names the error: that may be a token.
        raise errors.ProtocolViolation(f"{origin} sends to {_shown(location)}: no URL") from None
    scheme = origin.scheme
    if parts.scheme != scheme or not host:
        raise errors.ProtocolViolation(
            f"{origin} sends to {_shown(location)}, which is no {scheme} URL"
        )
    target = parts.path or "/"
    place = Place(origin.is_secure, host, port or (443 if origin.is_secure else 80))
    return place, f"{target}?{parts.query}" if parts.query else target


def _shown(target: str) -> str:
    """A URL or a target for messages: without its query, in which a token may be."""
    path, mark, _ = target.partition("?")
    return f"{path[:_MOST_SHOWN]!r}{' (with a query)' if mark else ''}"


class Connections:
    """The connections of one client. Thread-safe and fork-safe."""

    def __init__(self, connect_timeout_s: float, read_timeout_s: float, tls: ClientTls) -> None:
        """A time-out of 0 is for ever, as Hadoop's keys have it."""
        self._tls = tls
        self._connect_timeout_s = connect_timeout_s or None
        self.read_timeout_s = read_timeout_s or None
        # Appending to and popping from a list is one step each, so no lock is needed.
        self._idle: PerProcess[dict[Place, list[tuple[float, socket.socket]]]] = PerProcess(dict)
        self._closed = False

    def exchange(self, place: Place, *, fresh: bool = False) -> Exchange:
        """A connection for one request: one that was kept, unless it is to be `fresh`. Raises
        Unreachable."""
        if not fresh:
            kept = self._idle.get().get(place, [])
            while kept:
                try:
                    since_s, connection = kept.pop()
                except IndexError:
                    break
                if time.monotonic() - since_s < IDLE_S and _is_silent(connection):
                    return Exchange(self, place, connection, was_kept=True)
                connection.close()
        return Exchange(self, place, self._connected(place), was_kept=False)

    def _connected(self, place: Place) -> socket.socket:
        try:
            connection = socket.create_connection(
                (place.host, place.port), timeout=self._connect_timeout_s
            )
        except socket.gaierror as error:
            raise errors.UnknownHost.named(place.host, error) from error
        except (OSError, OverflowError, ValueError) as error:
            if is_raised_by_handler(error):
                raise
            # The last two: a port or a name that is none. Both may come from others.
            raise BrokenOff(place, f"Cannot connect to {place}: {error}", error) from error
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if place.is_secure:
                connection = self._tls.wrap(connection, place)
            _wait_at_most(connection, self.read_timeout_s)
        except NotTrusted:
            connection.close()
            raise
        except OSError as error:
            connection.close()
            if is_raised_by_handler(error):
                raise
            raise BrokenOff(place, f"Cannot connect to {place}: {error}", error) from error
        except BaseException:
            connection.close()
            raise
        return connection

    def put_back(self, place: Place, connection: socket.socket) -> None:
        """Another request may go over this connection."""
        kept = self._idle.get().setdefault(place, [])
        if self._closed or len(kept) >= KEPT_FOR_EACH:
            connection.close()
        else:
            kept.append((time.monotonic(), connection))

    def close(self) -> None:
        """Let go of all that is kept. What is under way goes on."""
        self._closed = True
        for kept in self._idle.get().values():
            while kept:
                kept.pop()[1].close()


def _parsed(raw: bytes, place: Place) -> tuple[Head, bool]:
    """Parse a head; return it, and whether it is of HTTP/1.1. Raises ProtocolViolation."""
    first, *lines = raw.splitlines()
    status_line = _STATUS.fullmatch(first)
    if status_line is None:
        raise errors.ProtocolViolation(f"{place} answers no HTTP: {first[:40]!r}")
    headers: dict[str, str] = {}
    for line in lines:
        if not line:
            break
        parts = _HEADER.fullmatch(line)
        if parts is None:
            raise errors.ProtocolViolation(f"{place} answers no HTTP: {line[:40]!r}")
        name, value = parts[1].decode("ascii").lower(), parts[2].strip(b" \t").decode("latin-1")
        if headers.setdefault(name, value) != value and name in _FRAMING:
            raise errors.ProtocolViolation(f"{place} answers no HTTP: {name} twice")
    return Head(int(status_line[2]), headers), status_line[1] == b"1"


def _wait_at_most(connection: socket.socket, timeout_s: float | None) -> None:
    """Have the kernel give up after a time, where it can: Python would poll before each call."""
    if isinstance(connection, ssl.SSLSocket):
        connection.settimeout(timeout_s)
        return
    connection.settimeout(None)
    whole = int(timeout_s or 0)
    value = _TIMEVAL.pack(whole, max(int(((timeout_s or 0) - whole) * 1_000_000), 0))
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        connection.setsockopt(socket.SOL_SOCKET, option, value)


def _is_silent(connection: socket.socket) -> bool:
    """Whether nothing came, which could only be the end of the connection."""
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return not poll.poll(0)


class Exchange:
    """One request and its answer. Not for several threads, but for `break_off`."""

    def __init__(
        self, pool: Connections, place: Place, connection: socket.socket, *, was_kept: bool
    ) -> None:
        self.place = place
        self.was_kept = was_kept
        self.is_answered = False
        """Whether anything of an answer has come."""
        self._pool = pool
        self._socket = connection
        self._h11: h11.Connection | None = None
        """Reads an answer that comes in chunks."""
        self._sends_chunks = False
        self._is_sent = False
        self._received_head = bytearray()
        self._left_bytes: int | None = None
        """Of the answer's body; None where the head does not tell."""
        self._ahead = memoryview(b"")
        self._may_keep = False
        self._is_over = False
        self._has_no_body = False
        self._closed = False

    # The request.

    def begin(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | bytearray = b""
    ) -> None:
        """Send a head, and with it what a short body begins with. Raises Unreachable."""
        self._has_no_body = method == "HEAD"
        if not _TARGET.fullmatch(target):
            raise errors.IllegalArgument(f"{_shown(target)} cannot be asked for")
        lines = [f"{method} {target} HTTP/1.1"]
        for name, value in {"Host": self.place.header, "User-Agent": _AGENT, **headers}.items():
            if not _NAME.fullmatch(name) or _NOT_IN_A_VALUE.search(value):
                raise errors.IllegalArgument(f"{name!r} cannot be a header with that value")
            lines.append(f"{name}: {value}")
            if name.lower() == "transfer-encoding":
                self._sends_chunks = True
        self._send(b"".join(("\r\n".join(lines).encode("ascii"), b"\r\n\r\n", body)))

    def send(self, data: bytes | memoryview) -> None:
        """A piece of the body. Raises Unreachable."""
        if not len(data):
            return
        if self._sends_chunks:
            data = b"".join((b"%x\r\n" % len(data), data, b"\r\n"))
        self._send(data)

    def end(self) -> None:
        """The request is whole. Raises Unreachable."""
        if self._sends_chunks:
            self._send(b"0\r\n\r\n")
        self._is_sent = True

    def _send(self, data: bytes | memoryview) -> None:
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise self._failure(error, "takes nothing any more") from error

    # The answer.

    def refused(self) -> Head | None:
        """Wait for the answer to `Expect: 100-continue`: return None if the body may come,
        otherwise the answer that came instead. Raises Unreachable."""
        _wait_at_most(self._socket, CONTINUE_S)
        try:
            head = self._next_head(until_continue=True)
        except errors.CallTimeout:
            return None
        finally:
            _wait_at_most(self._socket, self._pool.read_timeout_s)
        return head

    def head(self) -> Head:
        """Read the head of the answer. Raises Unreachable, CallTimeout, ProtocolViolation."""
        head = self._next_head(until_continue=False)
        assert head is not None, "an informational answer ends nothing here"
        return head

    def _next_head(self, *, until_continue: bool) -> Head | None:
        while True:
            raw = self._raw_head()
            head, is_newer = _parsed(raw, self.place)
            if head.status >= 200:
                self._begin_body(head, is_newer, raw)
                return head
            if head.status == 100 and until_continue:
                return None

    def _raw_head(self) -> bytes:
        """The next head as it came; what came behind it stays."""
        got = self._received_head
        while (end := _END_OF_HEAD.search(got)) is None:
            if len(got) > _MAX_HEAD_BYTES:
                raise errors.ProtocolViolation(f"{self.place} answers with an endless head")
            data = self._received()
            if not data:
                raise BrokenOff(self.place, f"{self.place} closed the connection without an answer")
            got += data
        raw = bytes(got[: end.end()])
        del got[: end.end()]
        return raw

    def _begin_body(self, head: Head, is_newer: bool, raw: bytes) -> None:
        headers, rest = head.headers, bytes(self._received_head)
        self._may_keep = is_newer and "close" not in headers.get("connection", "").lower()
        coding, length = headers.get("transfer-encoding"), headers.get("content-length")
        if length is not None and not _LENGTH.fullmatch(length):
            # Also where no body follows: of a file that is looked at it is the length.
            raise errors.ProtocolViolation(f"{self.place} answers no HTTP: {length!r} bytes")
        if head.status in (204, 304) or self._has_no_body:
            self._left_bytes, self._is_over = 0, True
        elif coding is not None:
            self._parse_chunks(raw + rest)
        elif length is not None:
            self._left_bytes = int(length)
            self._ahead = memoryview(rest)
            self._is_over = self._left_bytes == 0
        else:
            # Up to the end of the connection.
            self._may_keep = False
            self._ahead = memoryview(rest)

    def _parse_chunks(self, data: bytes) -> None:
        self._h11 = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEAD_BYTES)
        # What was asked matters only as far as an answer may follow.
        self._h11.send(h11.Request(method="GET", target="/", headers=[("Host", "-")]))
        self._h11.send(h11.EndOfMessage())
        self._h11.receive_data(data)
        if not isinstance(self._event(), h11.Response):
            raise errors.ProtocolViolation(f"{self.place} answers no HTTP")

    def _event(self) -> object:
        assert self._h11 is not None
        while True:
            try:
                event = self._h11.next_event()
            except h11.RemoteProtocolError as error:
                raise errors.ProtocolViolation(f"{self.place} answers no HTTP: {error}") from error
            if event is not h11.NEED_DATA:
                return event
            data = self._received()
            if not data:
                raise BrokenOff(self.place, f"{self.place} closed the connection in an answer")
            self._h11.receive_data(data)

    def _received(self) -> bytes:
        try:
            data = self._socket.recv(_RECEIVE_BYTES)
        except OSError as error:
            raise self._failure(error, "does not answer in time") from error
        self.is_answered = self.is_answered or bool(data)
        return data

    def readinto(self, view: memoryview) -> int:
        """What comes next of the answer's body; 0 at its end. Raises Unreachable, CallTimeout,
        also for one that is cut off."""
        if not len(view) or self._is_over:
            return 0
        if self._h11 is not None:
            return self._from_parser(view)
        if self._left_bytes is None:
            return self._up_to_the_end(view)
        view = view[: self._left_bytes]
        if self._ahead:
            count = min(len(view), len(self._ahead))
            view[:count] = self._ahead[:count]
            self._ahead = self._ahead[count:]
        else:
            count = self._into(view)
        self._left_bytes -= count
        self._is_over = self._left_bytes == 0
        return count

    def _up_to_the_end(self, view: memoryview) -> int:
        if self._ahead:
            count = min(len(view), len(self._ahead))
            view[:count] = self._ahead[:count]
            self._ahead = self._ahead[count:]
            return count
        count = self._some_into(view)
        self._is_over = not count
        return count

    def _some_into(self, view: memoryview) -> int:
        try:
            return self._socket.recv_into(view)
        except OSError as error:
            raise self._failure(error, "sends nothing any more") from error

    def _into(self, view: memoryview) -> int:
        count = self._some_into(view)
        if not count:
            raise BrokenOff(
                self.place,
                f"{self.place} closed the connection {self._left_bytes} bytes before the end",
            )
        return count

    def _from_parser(self, view: memoryview) -> int:
        while not self._ahead:
            event = self._event()
            if isinstance(event, h11.EndOfMessage):
                self._is_over = True
                return 0
            if not isinstance(event, h11.Data):
                raise BrokenOff(self.place, f"{self.place} closed the connection in an answer")
            self._ahead = memoryview(bytes(event.data))
        count = min(len(view), len(self._ahead))
        view[:count] = self._ahead[:count]
        self._ahead = self._ahead[count:]
        return count

    def body(self, max_bytes: int) -> bytes:
        """Read the whole body. Raises as `readinto`, and ProtocolViolation for a longer one."""
        content = bytearray()
        piece = memoryview(bytearray(min(_RECEIVE_BYTES, (self._left_bytes or 64 * 1024) + 1)))
        while count := self.readinto(piece):
            content += piece[:count]
            if len(content) > max_bytes:
                raise errors.ProtocolViolation(f"{self.place} answers more than {max_bytes} bytes")
        return bytes(content)

    def _failure(self, error: OSError, if_late: str) -> errors.HowdahError:
        """What an error of the socket comes to. Raises the error itself if a signal handler of
        the program raised it."""
        if is_raised_by_handler(error):
            raise error
        if isinstance(error, TimeoutError | BlockingIOError):
            return errors.CallTimeout(f"{self.place} {if_late}")
        return BrokenOff(self.place, f"the connection to {self.place} ended: {error}", error)

    # The end.

    def break_off(self) -> None:
        """From another thread: end whatever waits for this connection."""
        shut_down(self._socket, socket.SHUT_RDWR)

    def close(self) -> None:
        """The connection is kept, if another request may follow on it."""
        if self._closed:
            return
        self._closed = True
        if self._is_over and self._may_keep and self._is_sent:
            self._pool.put_back(self.place, self._socket)
        else:
            self._socket.close()
