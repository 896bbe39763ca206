"""Requests and answers of HTTP as plain values (pure). The grammar is `h11`'s, not ours.

`howdah.web.server` reads and writes them; whoever answers sees no bytes of the protocol.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final, Protocol
from urllib.parse import parse_qsl, unquote

from howdah.protocol.rpc.proven import Proven

MAX_HEAD_BYTES: Final = 64 * 1024
"""Of a request: Hadoop's hadoop.http.max.request.header.size. A path of 8,000 characters
fits with each of its bytes escaped."""
MAX_QUERY_FIELDS: Final = 256
_SECRETS: Final = frozenset({"code", "delegation", "state", "token"})
"""Fields of a query that are not for logs, in lower case."""

_RANGE: Final = re.compile(
    r"bytes\s{0,9}=\s{0,9}(\d{0,19})\s{0,9}-\s{0,9}(\d{0,19})\s{0,9}\Z", re.ASCII
)
"""With a bound for each run: two that meet may be parted anywhere, and a header has 64 KiB."""


@dataclass(frozen=True, slots=True)
class Request:
    """The head of a request. Names of `headers` are in lower case; of a name in the
    query that comes twice, the first value counts. Parameters of WebHDFS have names in any case,
    and are read from `target` (`howdah.web.webhdfs.parameters`)."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    peer: str = ""
    """The address that it came from."""
    target: str = field(default="", repr=False)
    """Path and query as they stand in the request; these and the headers may have secrets."""
    is_secure: bool = False
    """Whether it came over TLS."""
    proven: Proven | None = None
    """Who asks, as a secured server's guard has found out."""

    @property
    def shown_target(self) -> str:
        """The target for the log, without the tokens that are in it.

        >>> Request("GET", "/a", target="/a?op=OPEN&delegation=KAA&x=1").shown_target
        '/a?op=OPEN&delegation=...&x=1'
        """
        path, mark, query = self.target.partition("?")
        return path + mark + "&".join(map(_without_secret, query.split("&")))


def _without_secret(field: str) -> str:
    """Return a field of a query as it is for logs. Its name may be escaped."""
    name, sign, _ = field.partition("=")
    return f"{name}{sign}..." if sign and unquote(name).lower() in _SECRETS else field


@dataclass(frozen=True, slots=True)
class Response:
    """A whole answer. The server adds the length, and leaves the body out where the
    request is HEAD."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    reason: str = ""
    """The words behind the status, if they are others than usual."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """A request that a guard has let pass, and what its answer says beside its own headers."""

    request: Request
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class NeedsBody:
    """A guard answers a request by its body, as of a form, if that is not longer."""

    most_bytes: int
    answer: Callable[[bytes], Response]


class Guard(Protocol):
    """Stands before all that a server answers, on the threads of connections."""

    def admit(self, request: Request) -> Admitted | Response | NeedsBody: ...


POLICY_HEADER: Final = "Content-Security-Policy"


@dataclass(frozen=True, slots=True)
class Framing:
    """Says whose pages may show a server's pages within theirs: `option` as in X-Frame-Options,
    None for everybody's."""

    option: str | None = "SAMEORIGIN"

    def headers(self, answers: Mapping[str, str]) -> dict[str, str]:
        """Return the headers of an answer that has `answers`, and the one of this option.

        >>> Framing("DENY").headers({})
        {'X-Frame-Options': 'DENY'}
        """
        headers = dict(answers)
        if self.option is None:
            return headers
        ancestors = {"SAMEORIGIN": "'self'", "DENY": "'none'"}.get(self.option)
        # Browsers heed the policy, and the older header where there is none.
        if POLICY_HEADER in headers and ancestors is not None:
            headers[POLICY_HEADER] += f"; frame-ancestors {ancestors}"
        return {**headers, "X-Frame-Options": self.option}


def may_be_request(received: bytes) -> bool:
    """Whether these may be the first bytes of a request: a method is letters, then a blank.

    What they are not, such as a call of Hadoop's RPC, never ends with an empty line.
    """
    method, _, _ = received[:16].partition(b" ")
    return method.isalpha() and method.isascii()


def request_of(
    method: bytes, target: bytes, headers: Iterable[tuple[bytes, bytes]], peer: str = ""
) -> Request | None:
    """The request whose parts a parser has found; None where its target is no path, or its
    query has too many fields."""
    whole = target.decode("latin-1")
    if not whole.startswith("/"):
        return None
    path, _, query = whole.partition("?")
    if query.count("&") >= MAX_QUERY_FIELDS:
        return None
    return Request(
        method.decode("latin-1"),
        path,
        first_values(parse_qsl(query, keep_blank_values=True, errors="replace")),
        {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers},
        peer,
        whole,
    )


def first_values(fields: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the first value of each name, in the order of the fields: where a page takes a name in
    any case, the first one counts.

    >>> first_values([("doAs", "ann"), ("doas", "bob"), ("doAs", "eve")])
    {'doAs': 'ann', 'doas': 'bob'}
    """
    values: dict[str, str] = {}
    for name, value in fields:
        values.setdefault(name, value)
    return values


def reason(status: int) -> str:
    """The words behind a status.

    >>> reason(404)
    'Not Found'
    """
    return HTTPStatus(status).phrase


def answer(
    status: int, body: bytes, content_type: str, headers: Mapping[str, str] | None = None
) -> Response:
    """A whole answer of one type."""
    return Response(status, {"Content-Type": content_type, **(headers or {})}, body)


def text_response(status: int, message: str) -> Response:
    """An answer that says one thing."""
    return answer(status, f"{message}\n".encode(), "text/plain; charset=utf-8")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of something that is `size_bytes` long."""

    offset: int
    length_bytes: int


def part_wanted(header: str | None, size_bytes: int) -> Part | None:
    """Return the part of a body that the header Range asks for. None: all of it, as for every form
    of the header that a server may ignore. Raises ValueError where no byte of it is there (416).

    >>> part_wanted("bytes=10-", 25)
    Part(offset=10, length_bytes=15)
    >>> part_wanted("bytes=-5", 25)
    Part(offset=20, length_bytes=5)
    """
    match = _RANGE.match(header.strip()) if header else None
    if match is None or not (match[1] or match[2]):
        return None
    if not match[1]:
        length = min(int(match[2]), size_bytes)
        first, last = size_bytes - length, size_bytes - 1
    else:
        first = int(match[1])
        last = min(int(match[2]), size_bytes - 1) if match[2] else size_bytes - 1
        if match[2] and int(match[2]) < first:
            return None
    if first > last:
        raise ValueError(f"bytes {header} are not within the {size_bytes} bytes that there are")
    return Part(first, last - first + 1)
