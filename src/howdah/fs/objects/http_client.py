"""Requests to a store that speaks HTTP, one call for one request (shell).

For stores whose own client offers less than a request: nothing of it may be kept, cut or made
again behind our back. `retrying` makes requests again; only a connection that was kept, and ends
without an answer, is replaced here at once, as a server may let go of it at any time.

Targets have tokens in them and headers signatures: neither is in any message.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.fs.objects.parts import Pieces
from howdah.fs.objects.store import Body, in_one
from howdah.runtime.fork_safety import PerProcess
from howdah.web.connections import Connections, Exchange, Head

if TYPE_CHECKING:
    from collections.abc import Iterator

    from howdah.fs.objects.tuning import Tuning
    from howdah.runtime.tls.client import ClientTls
    from howdah.runtime.tls.http_policy import Place

_PIECE_BYTES: Final = 1 << 20
_SHORT_BYTES: Final = 64 << 10
"""A body of no more goes out with its head."""
_DRAIN_BYTES: Final = 64 << 10
"""So much of an answer is read for nothing to keep its connection."""
_MAX_ANSWER_BYTES: Final = 64 << 20
"""A listing of 5,000 keys of 1,024 characters has less."""


@dataclass(frozen=True, slots=True)
class Request:
    """Describes a request. `target` is sent as it is, with its query; `operation` and `where` name
    the request in messages."""

    operation: str
    where: str
    method: str
    target: str
    headers: Mapping[str, str]
    body: Body = b""
    is_repeatable: bool = True
    """Whether it may be made again by who does not know what became of it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Names of `headers` are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _Count:
    """Requests of one process."""

    def __init__(self) -> None:
        self.calls = 0


class Requests:
    """Makes requests to one server. Thread-safe and fork-safe."""

    def __init__(self, tuning: Tuning, tls: ClientTls) -> None:
        self._connections = Connections(tuning.connect_timeout_s, tuning.read_timeout_s, tls)
        self._counts: PerProcess[_Count] = PerProcess(_Count)

    @property
    def calls(self) -> int:
        return self._counts.get().calls

    def close(self) -> None:
        self._connections.close()

    def send(self, place: Place, request: Request) -> Answer:
        """The whole answer, whatever its status. Raises `Unreachable`, `CallTimeout`,
        `ProtocolViolation`."""
        with _named(request.where):
            exchange, head = self._answered(place, request)
            try:
                return Answer(head.status, head.headers, exchange.body(_MAX_ANSWER_BYTES))
            finally:
                exchange.close()

    def open(self, place: Place, request: Request) -> tuple[RestReading | None, Answer]:
        """For an answer with status 200 or 206 its body as it comes, which is the caller's to
        close; else None, and the answer as by `send`."""
        with _named(request.where):
            exchange, head = self._answered(place, request)
            try:
                if head.status in (200, 206):
                    return RestReading(request.where, exchange), Answer(
                        head.status, head.headers, b""
                    )
                answer = Answer(head.status, head.headers, exchange.body(_MAX_ANSWER_BYTES))
            except BaseException:
                exchange.close()
                raise
            exchange.close()
            return None, answer

    def _answered(self, place: Place, request: Request) -> tuple[Exchange, Head]:
        fresh = False
        while True:
            exchange = self._connections.exchange(place, fresh=fresh)
            self._counts.get().calls += 1
            try:
                return exchange, _sent(exchange, request)
            except errors.Unreachable:
                exchange.close()
                if not (exchange.was_kept and request.is_repeatable) or exchange.is_answered:
                    raise
                fresh = True
            except BaseException:
                exchange.close()
                raise


def _sent(exchange: Exchange, request: Request) -> Head:
    headers = dict(request.headers)
    if request.body or request.method in ("PUT", "POST"):
        headers["Content-Length"] = str(len(request.body))
    is_short = len(request.body) <= _SHORT_BYTES
    short = in_one(request.body) if is_short else b""
    exchange.begin(request.method, request.target, headers, short)
    try:
        if not is_short:
            body = request.body
            for piece in body if isinstance(body, Pieces) else (body,):
                with memoryview(piece) as view:
                    for start in range(0, len(view), _PIECE_BYTES):
                        exchange.send(view[start : start + _PIECE_BYTES])
        exchange.end()
    except errors.Unreachable as error:
        # A store that refuses a body may say so and close before it has read it.
        try:
            head = exchange.head()
        except errors.HowdahError:
            raise error from None
        if head.status < 300:
            # It can have taken nothing that it has not read.
            raise
        return head
    return exchange.head()


@contextmanager
def _named(where: str) -> Iterator[None]:
    """Errors of a connection name what was asked for."""
    try:
        yield
    except errors.UnknownHost as error:
        raise errors.UnknownHost(f"{where}: {error}") from error
    except errors.Unreachable as error:
        raise errors.Unreachable(f"{where}: {error}") from error
    except errors.CallTimeout as error:
        raise errors.CallTimeout(f"{where}: {error}") from error
    except errors.ProtocolViolation as error:
        raise errors.ProtocolViolation(f"{where}: {error}") from error


class RestReading:
    """The body of an answer."""

    def __init__(self, where: str, exchange: Exchange) -> None:
        self._where = where
        self._exchange = exchange

    def readinto(self, view: memoryview) -> int:
        """Some bytes; 0 at the end. Raises `Unreachable`, `CallTimeout`."""
        with _named(self._where):
            return self._exchange.readinto(view)

    def close(self, left: int) -> None:
        try:
            if 0 < left <= _DRAIN_BYTES:
                waste = memoryview(bytearray(left))
                while self._exchange.readinto(waste):
                    continue
        except errors.HowdahError:
            logging.getLogger(__name__).debug("an answer ended early, which nobody wanted")
        self._exchange.close()


def check_range(answer: Answer, start: int, end: int, where: str) -> None:
    """Check that an answer has exactly the requested bytes. Raises `ProtocolViolation`."""
    content_range = answer.headers.get("content-range", "")
    length = answer.headers.get("content-length")
    is_all = answer.status == 200 and start == 0 and length == str(end)
    if not is_all and not content_range.startswith(f"bytes {start}-{end - 1}/"):
        raise errors.ProtocolViolation(
            f"{where}: the store was asked for bytes {start} to {end}, and answers "
            f"{content_range or f'{length} bytes from the first on'}"
        )
