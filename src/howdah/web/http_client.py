"""A file of another server, fetched over HTTP piece by piece, with or without TLS (shell)."""

from __future__ import annotations

import http.client
import socket
import time
from collections.abc import Callable
from typing import Final
from urllib.parse import SplitResult, urlsplit

from howdah import errors
from howdah.runtime.byte_rate import Throttle
from howdah.runtime.signal_handlers import is_raised_by_handler
from howdah.runtime.tls.client import ClientTls, NotTrusted
from howdah.runtime.tls.http_policy import Place
from howdah.security.page_proofs import PageProofs

_MAX_REASON_BYTES: Final = 4096
_NOBODY: Final = PageProofs(None)


def fetch(
    url: str,
    sink: Callable[[bytes], object],
    *,
    tls: ClientTls,
    connect_timeout_s: float,
    read_timeout_s: float,
    bytes_per_s: int = 0,
    max_bytes: int | None = None,
    go_on: Callable[[], object] = lambda: None,
    proofs: PageProofs = _NOBODY,
) -> None:
    """Give all that is at an `http` or `https` address to `sink`. Time-outs are for one wait, not
    for the whole; `bytes_per_s` 0 is without a limit. `go_on` is called now and then, and may
    raise. `proofs` are of who asks; without them nothing is proven.

    Raises PathNotFound where there is no such thing, Unreachable or CallTimeout where nobody
    answers, RemoteError for every other refusal and for what is cut off or too long, NotTrusted
    for a server whose certificate is not believed, AuthenticationFailed for one that wants another
    proof, or gives none itself.
    """
    parts = split_url(url)
    place, target = place_of(parts), parts.path or "/"
    target = f"{target}?{parts.query}" if parts.query else target

    def connect() -> http.client.HTTPConnection:
        connection = tls.http(place, connect_timeout_s)
        _connect(url, connection)
        connection.sock.settimeout(read_timeout_s)
        return connection

    try:
        with proofs.asked(place, connect, "GET", target) as answer:
            if answer.status != 200:
                reason = f"{url}: {answer.status} {_reason(answer)}"
                if answer.status in (404, 410):
                    raise errors.PathNotFound(reason)
                raise errors.RemoteError(reason)
            _pour(url, answer, sink, Throttle(bytes_per_s), max_bytes, go_on)
    except NotTrusted:
        raise
    except TimeoutError as error:
        if is_raised_by_handler(error):
            raise
        raise errors.CallTimeout(f"{url}: no answer in time") from error
    except (ConnectionError, socket.gaierror, http.client.HTTPException, UnicodeError) as error:
        raise errors.Unreachable(f"{url}: {error or repr(error)}") from error


def _connect(url: str, connection: http.client.HTTPConnection) -> None:
    """Not every error of the network is a ConnectionError (`No route to host` is none), and what
    `sink` raises later is of a disk."""
    try:
        connection.connect()
    except (NotTrusted, TimeoutError, ConnectionError):
        raise
    except OSError as error:
        raise errors.Unreachable(f"{url}: {error or repr(error)}") from error


def split_url(url: str) -> SplitResult:
    """The parts of an `http` or `https` address. Raises IllegalArgument."""
    try:
        parts = urlsplit(url)
        is_whole = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # of the port, or of what should be an IPv6 address
        is_whole = False
    if not is_whole:
        raise errors.IllegalArgument(f"{url!r} is no address that can be fetched over HTTP")
    return parts


def place_of(parts: SplitResult) -> Place:
    """The server of an address that `split_url` took apart."""
    is_secure = parts.scheme == "https"
    return Place(is_secure, parts.hostname or "", parts.port or (443 if is_secure else 80))


def _pour(
    url: str,
    answer: http.client.HTTPResponse,
    sink: Callable[[bytes], object],
    throttle: Throttle,
    max_bytes: int | None,
    go_on: Callable[[], object],
) -> None:
    length = answer.getheader("Content-Length", "")
    if not (length.isascii() and length.isdigit()):
        raise errors.RemoteError(f"{url}: the answer has no length")
    left_bytes = int(length)
    if max_bytes is not None and left_bytes > max_bytes:
        raise errors.RemoteError(f"{url}: {left_bytes} bytes are too many")
    while left_bytes:
        go_on()
        data = answer.read(min(left_bytes, throttle.piece_bytes))
        if not data:
            raise errors.RemoteError(f"{url}: {left_bytes} bytes were missing")
        left_bytes -= len(data)
        sink(data)
        time.sleep(throttle.delay_s(len(data), time.monotonic()))


def _reason(answer: http.client.HTTPResponse) -> str:
    """What the other side says: its page is short if it is ours."""
    text = answer.read(_MAX_REASON_BYTES).decode("utf-8", "replace")
    return text.strip() if text and not text.lstrip().startswith("<") else answer.reason
